//! What Google's errors mean. REST has `google.rpc.Status` with the API's own errors in its details, SOAP has a
//! list of errors in a fault; both name them by the same words (`NO_FORECAST_YET`).

use std::time::Duration;

use reqwest::StatusCode;
use tradepost_document::json::Value;
use tradepost_document::text;

use crate::client::{by_status, plain};
use crate::port::{AdServerError, RefusalReason};

/// Meaning of an error of Google's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorMeaning {
    /// Not now; it did nothing.
    NotYet,
    /// It may have acted.
    Unknown,
    /// Refused for a reason.
    Refused(RefusalReason),
}

/// A word at the end of an error's name, with what it means.
struct ErrorWord {
    ending: &'static str,
    meaning: ErrorMeaning,
}

const fn word(ending: &'static str, meaning: ErrorMeaning) -> ErrorWord {
    ErrorWord { ending, meaning }
}

const NOT_YET: ErrorMeaning = ErrorMeaning::NotYet;

/// Words of the errors that do not mean that a value is invalid (`ForecastError`, `QuotaError`, `ServerError`,
/// `PermissionError`, `AuthenticationError`, `CommonError` of v202511).
const WORDS: &[ErrorWord] = &[
    word("NO_FORECAST_YET", NOT_YET),
    word("SERVER_NOT_AVAILABLE", NOT_YET),
    word("SERVER_BUSY", NOT_YET),
    word("EXCEEDED_QUOTA", NOT_YET),
    word("REPORT_JOB_LIMIT", NOT_YET),
    word("CONCURRENT_MODIFICATION", NOT_YET),
    word("SERVER_ERROR", ErrorMeaning::Unknown),
    word("INTERNAL_ERROR", ErrorMeaning::Unknown),
    word("NOT_ENOUGH_INVENTORY", ErrorMeaning::Refused(RefusalReason::NoInventory)),
    word("PERMISSION_DENIED", ErrorMeaning::Refused(RefusalReason::Permission)),
    word("NETWORK_API_ACCESS_DISABLED", ErrorMeaning::Refused(RefusalReason::Permission)),
    word("AUTHENTICATION_FAILED", ErrorMeaning::Refused(RefusalReason::Credential)),
    word("MISSING_AUTHENTICATION", ErrorMeaning::Refused(RefusalReason::Credential)),
    word("NO_NETWORKS_TO_ACCESS", ErrorMeaning::Refused(RefusalReason::Credential)),
    word("NOT_FOUND", ErrorMeaning::Refused(RefusalReason::Missing)),
    word("ALREADY_EXISTS", ErrorMeaning::Refused(RefusalReason::Conflict)),
    word("DUPLICATE_OBJECT", ErrorMeaning::Refused(RefusalReason::Conflict)),
    word("UNSUPPORTED_OPERATION", ErrorMeaning::Refused(RefusalReason::Unsupported)),
];

/// Returns what an error's name means; `None` for one that only says that a value is invalid.
fn of_name(name: &str) -> Option<ErrorMeaning> {
    let name = name.to_ascii_uppercase();
    // Google's own failures leave open how far it got; only a busy server says that it did nothing.
    let is_of_server = name.starts_with("INTERNALAPIERROR.") || name.starts_with("SERVERERROR.");
    if (is_of_server && !name.ends_with("SERVER_BUSY")) || name.ends_with(".UNKNOWN") {
        return Some(ErrorMeaning::Unknown);
    }
    if let Some(reason) = name.strip_prefix("AUTHENTICATIONERROR.") {
        let is_lost = reason == "CONNECTION_ERROR";
        let refused = ErrorMeaning::Refused(RefusalReason::Credential);
        return Some(if is_lost { ErrorMeaning::Unknown } else { refused });
    }
    WORDS.iter().find(|word| name.ends_with(word.ending)).map(|word| word.meaning)
}

/// Returns what a list of errors means together: a refusal counts more than a request to wait, because waiting
/// does not mend it.
pub(super) fn of_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<ErrorMeaning> {
    let invalid = ErrorMeaning::Refused(RefusalReason::Invalid);
    let mut meanings = names.into_iter().map(|name| of_name(name).unwrap_or(invalid));
    let first = meanings.next()?;
    Some(meanings.fold(first, |sum, next| match (sum, next) {
        (ErrorMeaning::Unknown, _) | (_, ErrorMeaning::Unknown) => ErrorMeaning::Unknown,
        (ErrorMeaning::Refused(reason), ErrorMeaning::Refused(other)) => {
            // The more telling reason stays.
            let is_vague = reason == RefusalReason::Invalid;
            ErrorMeaning::Refused(if is_vague { other } else { reason })
        }
        (ErrorMeaning::Refused(reason), ErrorMeaning::NotYet)
        | (ErrorMeaning::NotYet, ErrorMeaning::Refused(reason)) => ErrorMeaning::Refused(reason),
        (ErrorMeaning::NotYet, ErrorMeaning::NotYet) => ErrorMeaning::NotYet,
    }))
}

impl ErrorMeaning {
    /// Returns it as an error of the port.
    pub(super) fn with(self, detail: String, retry_after: Option<Duration>) -> AdServerError {
        match self {
            Self::NotYet => AdServerError::NotYet { retry_after },
            Self::Unknown => AdServerError::Unanswered,
            Self::Refused(reason) => AdServerError::Refused { reason, detail },
        }
    }
}

/// Returns what an answer of REST without success means. After 5xx the request may have acted, whatever the
/// body says.
pub(super) fn of_rest(
    status: StatusCode,
    retry_after: Option<Duration>,
    body: Option<&Value>,
    secret: &str,
) -> AdServerError {
    let error = body.and_then(|body| body.get("error"));
    let explanation = error.and_then(|error| error.get("message")).and_then(Value::as_str);
    // Some proxies answer in another form.
    let explanation = explanation.or_else(|| body?.get("message")?.as_str()).unwrap_or_default();
    let names = own_names(error);
    let named: Vec<&str> = names.iter().map(String::as_str).collect();
    let explanation = match named.as_slice() {
        [] => explanation.to_owned(),
        names => format!("{}: {explanation}", names.join(", ")),
    };
    let detail = plain(&explanation, secret, status);
    let retry_after = retry_after.or_else(|| delay(error));
    if status.is_server_error() || status.is_redirection() {
        return by_status(status, retry_after, detail);
    }
    match of_names(named) {
        // A status that says more than "a value is invalid" counts.
        None | Some(ErrorMeaning::Refused(RefusalReason::Invalid)) => {
            let stated = error.and_then(|error| error.get("status")).and_then(Value::as_str);
            // google.rpc.Code: another change of the object came between.
            if stated == Some("ABORTED") {
                return AdServerError::NotYet { retry_after };
            }
            by_status(status, retry_after, detail)
        }
        Some(meaning) => meaning.with(detail, retry_after),
    }
}

/// Returns the names of the API's own errors (`AdManagerError.error_code`, `ErrorInfo.reason`).
fn own_names(error: Option<&Value>) -> Vec<String> {
    let details = error.and_then(|error| error.get("details")).and_then(Value::as_array);
    let details = details.into_iter().flatten();
    let named = |detail: &Value| {
        let name = detail.get("errorCode").or_else(|| detail.get("reason"))?;
        Some(text::plain(name.as_str()?, text::WORD))
    };
    let mut names: Vec<String> = details.filter_map(named).collect();
    names.dedup();
    names
}

/// Returns the time to wait of `google.rpc.RetryInfo`, rounded up to a second.
fn delay(error: Option<&Value>) -> Option<Duration> {
    let details = error?.get("details")?.as_array()?;
    let text = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = text.strip_suffix('s')?;
    let whole = seconds.split('.').next()?.parse::<u64>().ok()?;
    Some(Duration::from_secs(whole.saturating_add(u64::from(seconds.contains('.')))))
}

#[cfg(test)]
mod tests;
