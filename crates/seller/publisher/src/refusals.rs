//! Construction of refusals. Every refusal of this crate is made here or with what is here: a code of the
//! catalog, a message that is safe for every caller, and a suggestion.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::{INTERNAL_ERROR_RETRY_AFTER, InternalError};

use crate::services::LimitWait;

/// Error of a tool.
#[derive(Debug)]
pub enum ToolError {
    /// Refusal with a catalog code.
    Refused(AdcpRefusal),
    /// Internal error.
    Broken(InternalError),
}

impl ToolError {
    /// Returns the reasons of a refusal; an internal error is passed on.
    pub(crate) fn reasons(self) -> Result<impl Iterator<Item = AdcpError>, InternalError> {
        match self {
            Self::Refused(refusal) => Ok(refusal.all()),
            Self::Broken(broken) => Err(broken),
        }
    }
}

impl From<InternalError> for ToolError {
    fn from(broken: InternalError) -> Self {
        Self::Broken(broken)
    }
}

impl From<AdcpRefusal> for ToolError {
    fn from(refusal: AdcpRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<AdcpError> for ToolError {
    fn from(error: AdcpError) -> Self {
        Self::Refused(error.into())
    }
}

/// A refusal, with every reason.
#[derive(Debug, Clone, PartialEq)]
pub struct AdcpRefusal {
    /// Reason in the envelope.
    pub first: Box<AdcpError>,
    /// The others.
    pub others: Vec<AdcpError>,
}

impl From<AdcpError> for AdcpRefusal {
    fn from(error: AdcpError) -> Self {
        Self { first: Box::new(error), others: Vec::new() }
    }
}

impl AdcpRefusal {
    /// Returns every reason, first the one in the envelope.
    pub(crate) fn all(self) -> impl Iterator<Item = AdcpError> {
        std::iter::once(*self.first).chain(self.others)
    }

    /// Combines all reasons into one refusal. Where the request is invalid, that is its code, and what this seller does not
    /// support comes last: a mistake in a request may look like a feature that nobody has.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn of_all_invalid_first(mut errors: Vec<AdcpError>) -> Result<(), Self> {
        let is_invalid = |error: &AdcpError| error.code.known() == Some(AdcpCode::InvalidRequest);
        if errors.iter().any(is_invalid) {
            errors.sort_by_key(|error| match error.code.known() {
                Some(AdcpCode::InvalidRequest) => 0,
                Some(AdcpCode::UnsupportedFeature) => 2,
                Some(_) | None => 1,
            });
        }
        Self::of_all(errors)
    }

    /// Combines all reasons into one refusal; `Ok` when there are none.
    ///
    /// # Errors
    /// The refusal.
    pub fn of_all(errors: Vec<AdcpError>) -> Result<(), Self> {
        let mut errors = errors.into_iter();
        match errors.next() {
            None => Ok(()),
            Some(first) => Err(Self { first: Box::new(first), others: errors.collect() }),
        }
    }
}

/// Marks an error as a warning, which comes with an answer and is no reason to refuse (AdCP 3.1
/// `error-handling`, `T-2`).
#[must_use]
pub fn warning(error: AdcpError) -> AdcpError {
    AdcpError { severity: Some("warning".to_owned()), ..error }
}

/// Creates an error with a code and a message; the suggestion is the hint of the code's row.
#[must_use]
pub fn error(code: AdcpCode, message: &str) -> AdcpError {
    AdcpError { suggestion: Some(code.hint().to_owned()), ..AdcpError::new(code, message) }
}

/// Creates an error about one member of the request, in path notation (`packages[0].budget`).
#[must_use]
pub fn at(code: AdcpCode, field: &str, message: &str) -> AdcpError {
    AdcpError { field: Some(field.to_owned()), ..error(code, message) }
}

/// Refuses a value that breaks a business rule which its schema cannot express.
#[must_use]
pub fn invalid(field: &str, message: &str) -> AdcpError {
    at(AdcpCode::InvalidRequest, field, message)
}

/// Refuses an id that is absent or belongs to another: the answer is the same, and never repeats the id
/// (AdCP 3.1 `error-handling`; `U-1`, `U-2`). With a code that does not name the kind of entity, no field
/// is named, either, unless the field's name does not reveal the kind (`U-3`).
#[must_use]
pub fn not_found(code: AdcpCode, field: Option<&str>) -> AdcpError {
    let message = "an identifier in the request does not resolve to anything of yours";
    AdcpError { field: field.map(ToOwned::to_owned), ..error(code, message) }
}

/// Refuses a request beyond a rate limit, with the time to wait.
#[must_use]
pub fn rate_limited(limited: LimitWait, scope: &str) -> AdcpError {
    let error = error(AdcpCode::RateLimited, "too many requests; wait and send the same again");
    let error = error.with("limit", limited.limit).with("remaining", 0);
    let error = error.with("window_seconds", limited.window_seconds).with("scope", scope);
    error.with_wait(limited.wait)
}

/// Creates the answer to an internal error: it says when to retry and nothing more (AdCP 3.1
/// `error-handling`, `Y-5`).
#[must_use]
pub fn internal_error() -> AdcpError {
    let message = "the seller cannot serve this request for the moment";
    error(AdcpCode::ServiceUnavailable, message).with_wait(INTERNAL_ERROR_RETRY_AFTER)
}

/// Refuses a tool that this publisher does not have.
#[must_use]
pub fn unsupported() -> AdcpError {
    let message = "this seller does not have that task; get_adcp_capabilities says what it has";
    error(AdcpCode::UnsupportedFeature, message)
}
