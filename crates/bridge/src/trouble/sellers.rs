//! What went wrong with a seller of advertising.

use std::time::Duration;

use tradepost_buyer::Failure;
use tradepost_buyer::failure::Unsent;
use tradepost_buyer::refusal::By;
use tradepost_buyer::text::{SENTENCE, WORD, plain};
use tradepost_wire::adcp::error::{Error, Issue};
use tradepost_wire::json::{Value, json};
use tradepost_wire::problem::MAX_LISTED;

use super::{Code, Trouble, of_protocol};
use crate::clean::Cleaner;

impl Trouble {
    /// What a call to a seller of advertising failed with.
    pub(crate) fn of_seller(failure: &Failure) -> Self {
        let message = plain(&failure.to_string(), SENTENCE);
        match failure {
            Failure::Unsent(unsent) => match unsent {
                Unsent::Unreachable(_) => Self::new(Code::SellerUnreachable, message),
                Unsent::Arguments(error) => {
                    let mut trouble = Self::new(Code::InvalidArguments, message);
                    trouble.add_problems(problems_of(error), error.issues.len());
                    trouble
                }
                Unsent::Address(_)
                | Unsent::NotAap(_)
                | Unsent::NoInterface
                | Unsent::SkillNotOffered { .. } => Self::new(Code::SellerUnusable, message),
                Unsent::Invalid(_)
                | Unsent::NotPermitted { .. }
                | Unsent::Credential(_)
                | Unsent::Setup(_) => Self::new(Code::BridgeFault, message),
            },
            Failure::Unanswered(_) => Self::new(Code::SellerSilent, message),
            Failure::Garbled(_) => Self::new(Code::SellerGarbled, message),
            Failure::Refused(refused) => {
                let mut trouble = match &refused.by {
                    By::Adcp(adcp) => of_adcp(&adcp.error, message),
                    By::Protocol(error) => of_protocol(error, message),
                    By::Aap { .. } | By::Grpc { .. } | By::Http(_) | By::Words { .. } => {
                        Self::new(Code::SellerRefused, message)
                    }
                };
                trouble.retryable = refused.is_retryable();
                trouble.retry_after = refused.retry_after;
                trouble
            }
        }
    }

    /// A seller that took longer than the tool may wait.
    pub(crate) fn seller_too_slow(limit: Duration) -> Self {
        Self { code: Code::SellerSilent.name().into(), ..Self::too_slow(limit) }
    }

    /// No seller answered; of a single one it is the seller's own trouble.
    pub(crate) fn all_sellers(errors: Vec<Self>) -> Self {
        let is_one = errors.len() == 1;
        let all = Self::all(errors);
        if is_one {
            return all;
        }
        let message = all.message.replace("dealers", "sellers").into();
        let code = Code::AllSellersFailed;
        Self { code: code.name().into(), hint: code.hint().into(), message, ..all }
    }
}

fn problems_of(error: &Error) -> Vec<Value> {
    let problem = |issue: &Issue| {
        json!({
            "field": plain(&issue.pointer, 2 * WORD), "problem": plain(&issue.message, SENTENCE),
            "keyword": plain(&issue.keyword, WORD),
        })
    };
    error.issues.iter().take(MAX_LISTED).map(problem).collect()
}

/// What a seller says, with the field at fault.
fn of_adcp(error: &Error, message: String) -> Trouble {
    let hint = match error.suggestion.as_deref().filter(|said| !said.is_empty()) {
        Some(said) => format!("the seller suggests: \"{}\"", plain(said, SENTENCE)),
        None => "act on what the seller says".to_owned(),
    };
    let mut problems = problems_of(error);
    if let (true, Some(field)) = (problems.is_empty(), &error.field) {
        problems.push(json!({
            "field": plain(field, 2 * WORD), "problem": plain(&error.message, SENTENCE),
        }));
    }
    let details = Value::Object(error.details.clone());
    Trouble {
        code: plain(error.code.name(), WORD).into(),
        by_dealer: true,
        total: problems.len(),
        problems,
        details: (!error.details.is_empty()).then(|| Box::new(Cleaner::brief().clean(&details))),
        ..Trouble::new(Code::SellerRefused, message).hint(hint)
    }
}
