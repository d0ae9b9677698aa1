//! Errors of sellers of advertising.

use std::time::Duration;

use tradepost_adcp::error::{AdcpError, Issue};
use tradepost_client::CallFailure;
use tradepost_client::failure::Unsent;
use tradepost_client::refusal::RefusalForm;
use tradepost_client::text::{SENTENCE, WORD};
use tradepost_document::json::{Value, json};
use tradepost_document::problem::MAX_LISTED;

use super::{
    BridgeError, BridgeErrorCode, CERTIFICATE_HINT, PROXY_HINT, WantedCredentials, Wording,
    counted, late, of_protocol, refusal_message, token_hint,
};
use crate::sanitize::{Cleaner, dealer_text, identifier, quoted};

impl BridgeError {
    /// Creates the error of a failed call to a seller of advertising.
    pub(crate) fn from_seller_failure(failure: &CallFailure) -> Self {
        let message = dealer_text(&failure.to_string(), SENTENCE);
        match failure {
            CallFailure::Unsent(unsent) => match unsent {
                Unsent::Unreachable(_) => Self::new(BridgeErrorCode::SellerUnreachable, message),
                Unsent::Certificate { .. } => {
                    let bridge_error = Self::new(BridgeErrorCode::SellerUnreachable, message);
                    Self { retryable: false, ..bridge_error }.hint(CERTIFICATE_HINT)
                }
                Unsent::Proxy { .. } => {
                    Self::new(BridgeErrorCode::BridgeFault, message).hint(PROXY_HINT)
                }
                Unsent::Arguments(error) => {
                    let mut bridge_error = Self::new(BridgeErrorCode::InvalidArguments, message);
                    bridge_error.add_problems(problems_of(error), error.issues.len());
                    bridge_error
                }
                Unsent::TokenForOther { endpoint, .. } => {
                    Self::new(BridgeErrorCode::SellerUnusable, message).hint(token_hint(endpoint))
                }
                Unsent::Address(_)
                | Unsent::NotAap(_)
                | Unsent::NoInterface
                | Unsent::SkillNotOffered { .. } => {
                    Self::new(BridgeErrorCode::SellerUnusable, message)
                }
                Unsent::Invalid(_)
                | Unsent::NotPermitted { .. }
                | Unsent::Credential(_)
                | Unsent::Setup(_) => Self::new(BridgeErrorCode::BridgeFault, message),
            },
            CallFailure::Unanswered(_) => Self::new(BridgeErrorCode::SellerSilent, message),
            CallFailure::Garbled(_) => Self::new(BridgeErrorCode::SellerGarbled, message),
            CallFailure::Refused(refused) => {
                let mut bridge_error = match &refused.by {
                    RefusalForm::Adcp(adcp) => of_adcp(&adcp.error),
                    RefusalForm::Protocol(error) => of_protocol(error),
                    RefusalForm::Http(_) => Self::new(BridgeErrorCode::SellerRefused, message),
                    RefusalForm::Aap { .. }
                    | RefusalForm::Grpc { .. }
                    | RefusalForm::Words { .. } => Self {
                        wording: Wording::TheirMessage,
                        ..Self::new(BridgeErrorCode::SellerRefused, message)
                    },
                };
                bridge_error.retryable = refused.is_retryable();
                bridge_error.retry_after = refused.retry_after;
                bridge_error.wanted = WantedCredentials::from_refusal(refused);
                bridge_error
            }
        }
    }

    /// Creates the error of a seller that took longer than the tool may wait.
    pub(crate) fn seller_too_slow(limit: Duration) -> Self {
        Self::new(BridgeErrorCode::SellerSilent, late(limit))
    }

    /// Creates the error of a call that no seller answered; with a single seller it is that seller's error.
    pub(crate) fn all_sellers(errors: Vec<Self>) -> Self {
        Self::none_of(errors, BridgeErrorCode::AllSellersFailed, "sellers")
    }

    /// Marks a call as in doubt: it may have acted. Sent again with its key within `window`, it cannot act twice.
    pub(crate) fn in_doubt_within(self, window: Duration, key: Option<String>) -> Self {
        let Some(key) = key else { return self.in_doubt_for_good(None) };
        let hint = format!(
            "it may have been done all the same; call again within {} s with exactly the same arguments \
             and idempotency_key {key}, which cannot do it twice",
            window.as_secs(),
        );
        Self { is_in_doubt: true, retryable: true, key: Some(key.into()), ..self }.hint(hint)
    }

    /// Marks a call as in doubt that the seller would not recognise when repeated.
    pub(crate) fn in_doubt_for_good(self, key: Option<String>) -> Self {
        let hint = match &key {
            None => "it may have been done all the same, and had no idempotency_key".to_owned(),
            Some(key) => format!(
                "it may have been done all the same, and the seller does not promise to know its \
                 idempotency_key {key} again"
            ),
        };
        let key = key.map(Into::into);
        Self { is_in_doubt: true, retryable: false, key, ..self }
            .hint(format!("{hint}: check whether it was done before calling again"))
    }

    /// Creates the error of a repetition that was not sent because the seller may not recognise it.
    pub(crate) fn forgotten() -> Self {
        let message = "this yes was used before, and the seller does not promise to know the request \
                       again: if it was done, it might be done twice";
        Self::new(BridgeErrorCode::Forgotten, message)
    }
}

fn problems_of(error: &AdcpError) -> Vec<Value> {
    let problem = |issue: &Issue| {
        json!({
            "field": dealer_text(&issue.pointer, 2 * WORD), "problem": dealer_text(&issue.message, SENTENCE),
            "keyword": identifier(&issue.keyword),
        })
    };
    error.issues.iter().take(MAX_LISTED).map(problem).collect()
}

/// Converts an AdCP error of a seller, with the field it names.
fn of_adcp(error: &AdcpError) -> BridgeError {
    let hint = match error.suggestion.as_deref().filter(|text| !text.is_empty()) {
        Some(suggestion) => {
            format!(
                "the seller suggests: \"{}\"",
                quoted(&dealer_text(suggestion, SENTENCE), SENTENCE)
            )
        }
        None => "act on what the seller says".to_owned(),
    };
    let mut problems = problems_of(error);
    if problems.is_empty()
        && let Some(field) = &error.field
    {
        problems.push(json!({
            "field": dealer_text(field, 2 * WORD), "problem": dealer_text(&error.message, SENTENCE),
        }));
    }
    let details = Value::Object(error.details.clone());
    BridgeError {
        code: identifier(error.code.name()).into(),
        wording: Wording::Theirs,
        total: counted(problems.len()),
        problems,
        details: (!error.details.is_empty())
            .then(|| Box::new(Cleaner::brief().of_seller().clean(&details))),
        ..BridgeError::new(BridgeErrorCode::SellerRefused, refusal_message(&error.message))
            .hint(hint)
    }
}
