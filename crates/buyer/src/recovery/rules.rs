//! What AdCP says of its codes: the class that the error states, and the rule of its row.

use tradepost_wire::adcp::error::{AdcpCode, AdcpError, Recovery, RecoveryRule};
use tradepost_wire::catalog::Open;
use tradepost_wire::json::Value;

use super::course::{Course, credentials, renewal};
use super::{Attempt, Change, End, Why};
use crate::refusal::Adcp;
use crate::text::{WORD, bounded, plain};

/// The longest suggestion that is handed on, in bytes.
// Z-3
const MAX_SUGGESTION: usize = 512;

/// How many fields, versions or ways of billing are handed on.
const MAX_FIELDS: usize = 100;

pub(super) fn of_adcp(attempt: &Attempt, adcp: &Adcp) -> Course {
    let Adcp { error, .. } = adcp;
    let class = error.class();
    let detail = |name: &str| error.details.get(name);
    let word = |name: &str| detail(name).and_then(Value::as_str);
    match error.rule() {
        RecoveryRule::Class => by_class(class, || match error.code {
            Open::Known(AdcpCode::VersionUnsupported) => versions(adcp),
            Open::Known(_) | Open::Other(_) => fix(adcp, Change::Request),
        }),
        RecoveryRule::Throttled => match class {
            Recovery::Transient => Course::THROTTLED,
            Recovery::Correctable => fix(adcp, Change::Request),
            Recovery::Terminal => Course::Ask(Why::Terminal),
        },

        // Forbidden, whatever class the error states.
        RecoveryRule::Gate => Course::Ask(Why::AgentGate),
        RecoveryRule::Misconfigured => Course::Ask(Why::SellerMisconfigured),
        RecoveryRule::Leak => {
            let field = error.field.iter().map(|field| plain(field, 2 * WORD));
            Course::Ask(Why::CredentialInArguments(field.collect()))
        }
        RecoveryRule::Never => Course::Ask(Why::Done),
        RecoveryRule::Final => Course::Stop(End::Final),
        RecoveryRule::Seller => Course::Ask(Why::SellerDefect),
        RecoveryRule::Advisory => Course::Ask(Why::Advisory),
        RecoveryRule::Credentials => credentials(attempt),
        RecoveryRule::Renewal => renewal(attempt),
        RecoveryRule::Permission => match word("scope") {
            Some("agent") => Course::Ask(Why::AgentGate),
            Some(_) => Course::Ask(Why::Permission),
            None => by_class(class, || fix(adcp, Change::Token)),
        },
        RecoveryRule::AgentBilling => match word("suggested_billing") {
            Some(billing) if !attempt.tried.billing && class != Recovery::Terminal => {
                fix(adcp, Change::Billing(plain(billing, WORD)))
            }
            Some(_) | None => Course::Ask(Why::Billing),
        },
        RecoveryRule::Strip => match class {
            Recovery::Transient | Recovery::Correctable => fix(adcp, Change::Strip),
            Recovery::Terminal => Course::Ask(Why::Permission),
        },
        RecoveryRule::InFlight => match class {
            Recovery::Transient => Course::AGAIN,
            // A fresh key would have the effect twice.
            Recovery::Correctable | Recovery::Terminal => Course::Ask(Why::InFlight),
        },
        RecoveryRule::Scope => match class {
            Recovery::Transient | Recovery::Correctable => Course::SCOPE,
            Recovery::Terminal => Course::Ask(Why::Scope(attempt.tried.retries)),
        },
        RecoveryRule::Reread => match class {
            Recovery::Transient | Recovery::Correctable => fix(adcp, Change::Reread),
            Recovery::Terminal => Course::Ask(Why::Terminal),
        },

        RecoveryRule::NewKey => by_class(class, || fix(adcp, Change::NewKey)),
        RecoveryRule::Reconcile => by_class(class, || fix(adcp, Change::Reconcile)),
        RecoveryRule::Context => by_class(class, || {
            // The one text of a seller that decides something (`X-1`).
            let forgotten = error.message.to_ascii_lowercase().contains("context not found");
            let drop = forgotten && attempt.had_context && !attempt.tried.context;
            fix(adcp, if drop { Change::DropContext } else { Change::Request })
        }),
        RecoveryRule::Billing => {
            by_class(class, || match (word("scope"), first(detail("supported_billing"))) {
                (Some("capability"), None) => Course::Ask(Why::Billing),
                (Some("capability"), Some(billing)) => fix(adcp, Change::Billing(billing)),
                (Some(_) | None, _) => fix(adcp, Change::OtherBilling),
            })
        }
        RecoveryRule::Setup => by_class(class, || {
            let url = word("setup_url").or_else(|| detail("setup")?.get("url")?.as_str());
            let url = url.and_then(|url| safe(url, attempt.seller.as_deref()));
            Course::Ask(Why::Setup(url))
        }),
        RecoveryRule::Person => by_class(class, || Course::Ask(Why::Agreement)),
        RecoveryRule::Action => by_class(class, || match word("reason") {
            Some("not_supported_on_product" | "not_supported_on_buy") => {
                Course::Stop(End::NotOffered)
            }
            Some(_) | None => fix(adcp, Change::Request),
        }),
        RecoveryRule::Moved => by_class(class, || match detail("current_account") {
            Some(account) if account.is_object() => fix(adcp, Change::Account(account.clone())),
            Some(_) | None => Course::Ask(Why::SellerDefect),
        }),
    }
}

fn by_class(class: Recovery, correct: impl FnOnce() -> Course) -> Course {
    match class {
        Recovery::Transient => Course::AGAIN,
        Recovery::Correctable => correct(),
        Recovery::Terminal => Course::Ask(Why::Terminal),
    }
}

/// A correction, with the fields of all errors that say the same.
fn fix(adcp: &Adcp, change: Change) -> Course {
    let Adcp { error, listed, .. } = adcp;
    let alike = listed.iter().filter(|other| other.code == error.code).flat_map(AdcpError::fields);
    let mut fields: Vec<String> = Vec::new();
    for field in error.fields().into_iter().chain(alike) {
        let field = plain(&field, 2 * WORD);
        if fields.len() < MAX_FIELDS && !fields.contains(&field) {
            fields.push(field);
        }
    }
    let suggestion = error.suggestion.as_deref().map(|text| bounded(text, MAX_SUGGESTION));
    Course::Fix { change, fields, suggestion: suggestion.filter(|text| !text.is_empty()) }
}

fn versions(adcp: &Adcp) -> Course {
    let listed = adcp.error.details.get("supported_versions").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    let versions: Vec<_> = listed.take(MAX_FIELDS).map(|version| plain(version, WORD)).collect();
    fix(adcp, if versions.is_empty() { Change::Request } else { Change::Versions(versions) })
}

fn first(list: Option<&Value>) -> Option<String> {
    let words = list?.as_array()?.iter().filter_map(Value::as_str);
    words.map(|word| plain(word, WORD)).find(|word| !word.is_empty())
}

/// The address, if a person may be sent there: https, without a user, and at the seller's own host
/// or below it.
// Z-3
fn safe(address: &str, seller: Option<&str>) -> Option<String> {
    let url = reqwest::Url::parse(address).ok()?;
    let (host, seller) = (url.host_str()?, seller?);
    // Without the dot it would be another's name that ends alike.
    let at_home =
        host == seller || host.strip_suffix(seller).is_some_and(|rest| rest.ends_with('.'));
    let plain = url.scheme() == "https" && url.username().is_empty() && url.password().is_none();
    (plain && at_home).then(|| url.into())
}
