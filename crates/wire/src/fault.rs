//! Something of ours that broke. A [`Fault`] is for the log: it is never serialised, and what the
//! caller reads is the catalog's internal error with the id under which the log has the cause.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What broke, and why.
#[derive(Debug)]
pub struct Fault {
    what: &'static str,
    transient: bool,
    wait: Option<Duration>,
    source: Box<dyn Error + Send + Sync>,
}

impl Fault {
    /// A fault with its cause.
    pub fn new(what: &'static str, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { what, transient: false, wait: None, source: source.into() }
    }

    /// A fault that several hear of.
    #[must_use]
    pub fn shared(what: &'static str, source: &Arc<Self>) -> Self {
        let transient = source.transient;
        let wait = source.wait;
        Self { what, transient, wait, source: Box::new(Arc::clone(source)) }
    }

    /// The same fault, which is likely to be over soon: the caller may hear so.
    // E-14
    #[must_use]
    pub fn transient(self) -> Self {
        Self { transient: true, ..self }
    }

    /// The same fault, which is likely to be over after this time: the caller is told to come back then.
    #[must_use]
    pub fn transient_for(self, wait: Duration) -> Self {
        Self { transient: true, wait: Some(wait), ..self }
    }

    /// After which time it is likely to be over, where that is known.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Whether it is likely to be over soon.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient
    }

    /// For `map_err`: names what was being done.
    pub fn on<E: Into<Box<dyn Error + Send + Sync>>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self::new(what, source)
    }

    /// What broke with all its causes, for the log.
    #[must_use]
    pub fn chain(&self) -> String {
        chain(self)
    }
}

/// An error with all its causes, for the log.
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

/// Whether an error says that something took too long, itself or by one of its causes.
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

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}
