//! Internal errors. A [`InternalError`] is only logged and never serialised; the caller gets the catalog's
//! internal error with the id under which the log has the cause.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Retry-after that callers get with a temporary error, and with every internal error where the protocol declares those
/// retryable: short outages are over by then.
pub const INTERNAL_ERROR_RETRY_AFTER: Duration = Duration::from_secs(5);

/// An internal error with its cause.
#[derive(Debug)]
pub struct InternalError {
    what: &'static str,
    transient: bool,
    wait: Option<Duration>,
    source: Box<dyn Error + Send + Sync>,
}

impl InternalError {
    /// Creates an error with its cause.
    pub fn new(what: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { what, transient: false, wait: None, source: source.into() }
    }

    /// Creates an error from one that several requests share.
    #[must_use]
    pub fn from_shared(what: &'static str, source: &Arc<Self>) -> Self {
        let transient = source.transient;
        let wait = source.wait;
        Self { what, transient, wait, source: Box::new(Arc::clone(source)) }
    }

    /// Marks the error as likely to be over soon, so that the caller may be told to retry.
    // Temporary errors differ from permanent ones (A2A 1.0 §3.3.2, E-14).
    #[must_use]
    pub fn transient(self) -> Self {
        Self { transient: true, ..self }
    }

    /// Marks the error as likely to be over after `wait`, which is told to the caller.
    #[must_use]
    pub fn transient_for(self, wait: Duration) -> Self {
        Self { transient: true, wait: Some(wait), ..self }
    }

    /// Returns the time after which the error is likely to be over, if known.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Returns true if the error is likely to be over soon.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient
    }

    /// Returns a function for `map_err` that names the failed operation.
    pub fn on<E: Into<Box<dyn Error + Send + Sync>>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::new(what, source)
    }

    /// Returns the error with all its causes, for the log.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// Returns an error with all its causes, for the log.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Returns true if an error or one of its causes is a timeout.
#[must_use]
pub fn is_timeout(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<std::io::Error>();
        if io.is_some_and(|error| error.kind() == std::io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Error for InternalError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}
