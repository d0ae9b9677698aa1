//! Rules of AdCP for its error codes: the class that the error states, and the rule of its row.

use fluent_uri::Uri;
use tradepost_adcp::error::{AdcpCode, AdcpError, Recovery, RecoveryRule};
use tradepost_document::catalog::WireName;
use tradepost_document::json::Value;

use super::strategy::{Strategy, credentials, renewal};
use super::{AskReason, FailedAttempt, RequestChange, StopReason};
use crate::refusal::Adcp;
use crate::text::{WORD, bounded, plain};

/// Longest suggestion that is passed on, in bytes.
// Z-3
const MAX_SUGGESTION: usize = 512;

/// Maximum number of fields, versions or ways of billing that are passed on.
const MAX_FIELDS: usize = 100;

pub(super) fn of_adcp(attempt: &FailedAttempt, adcp: &Adcp) -> Strategy {
    let Adcp { error, .. } = adcp;
    let class = error.class();
    let detail = |name: &str| error.details.get(name);
    let word = |name: &str| detail(name).and_then(Value::as_str);
    match error.rule() {
        RecoveryRule::Class => by_class(class, || match error.code {
            WireName::Known(AdcpCode::VersionUnsupported) => versions(adcp),
            WireName::Known(_) | WireName::Other(_) => fix(adcp, RequestChange::Request),
        }),
        RecoveryRule::Throttled => match class {
            Recovery::Transient => Strategy::THROTTLED,
            Recovery::Correctable => fix(adcp, RequestChange::Request),
            Recovery::Terminal => Strategy::Ask(AskReason::Terminal),
        },

        // Not repeated, whatever class the error states.
        RecoveryRule::Gate => Strategy::Ask(AskReason::AgentGate),
        RecoveryRule::Misconfigured => Strategy::Ask(AskReason::SellerMisconfigured),
        RecoveryRule::Leak => {
            let field = error.field.iter().map(|field| plain(field, 2 * WORD));
            Strategy::Ask(AskReason::CredentialInArguments(field.collect()))
        }
        RecoveryRule::Never => Strategy::Ask(AskReason::Done),
        RecoveryRule::Final => Strategy::Stop(StopReason::Final),
        RecoveryRule::Seller => Strategy::Ask(AskReason::SellerDefect),
        RecoveryRule::Advisory => Strategy::Ask(AskReason::Advisory),
        RecoveryRule::Credentials => credentials(attempt),
        RecoveryRule::Renewal => renewal(attempt),
        RecoveryRule::Permission => match word("scope") {
            Some("agent") => Strategy::Ask(AskReason::AgentGate),
            Some(_) => Strategy::Ask(AskReason::Permission),
            None => by_class(class, || fix(adcp, RequestChange::Token)),
        },
        RecoveryRule::AgentBilling => match word("suggested_billing") {
            Some(billing) if !attempt.tried.billing && class != Recovery::Terminal => {
                fix(adcp, RequestChange::Billing(plain(billing, WORD)))
            }
            Some(_) | None => Strategy::Ask(AskReason::Billing),
        },
        RecoveryRule::Strip => match class {
            Recovery::Transient | Recovery::Correctable => fix(adcp, RequestChange::Strip),
            Recovery::Terminal => Strategy::Ask(AskReason::Permission),
        },
        RecoveryRule::InFlight => match class {
            Recovery::Transient => Strategy::AGAIN,
            // With a fresh key it might happen twice.
            Recovery::Correctable | Recovery::Terminal => Strategy::Ask(AskReason::InFlight),
        },
        RecoveryRule::Scope => match class {
            Recovery::Transient | Recovery::Correctable => Strategy::SCOPE,
            Recovery::Terminal => Strategy::Ask(AskReason::Scope(attempt.tried.retries)),
        },
        RecoveryRule::Reread => match class {
            Recovery::Transient | Recovery::Correctable => fix(adcp, RequestChange::Reread),
            Recovery::Terminal => Strategy::Ask(AskReason::Terminal),
        },

        RecoveryRule::NewKey => by_class(class, || fix(adcp, RequestChange::NewKey)),
        RecoveryRule::Reconcile => by_class(class, || fix(adcp, RequestChange::Reconcile)),
        RecoveryRule::Context => by_class(class, || {
            // The only text of a seller that decides something (`X-1`).
            let forgotten = error.message.to_ascii_lowercase().contains("context not found");
            let drop = forgotten && attempt.had_context && !attempt.tried.context;
            fix(adcp, if drop { RequestChange::DropContext } else { RequestChange::Request })
        }),
        RecoveryRule::Billing => {
            by_class(class, || match (word("scope"), first(detail("supported_billing"))) {
                (Some("capability"), None) => Strategy::Ask(AskReason::Billing),
                (Some("capability"), Some(billing)) => fix(adcp, RequestChange::Billing(billing)),
                (Some(_) | None, _) => fix(adcp, RequestChange::OtherBilling),
            })
        }
        RecoveryRule::Setup => by_class(class, || {
            let url = word("setup_url").or_else(|| detail("setup")?.get("url")?.as_str());
            let url = url.and_then(|url| safe(url, attempt.seller.as_deref()));
            Strategy::Ask(AskReason::Setup(url))
        }),
        RecoveryRule::Person => by_class(class, || Strategy::Ask(AskReason::Agreement)),
        RecoveryRule::Action => by_class(class, || match word("reason") {
            Some("not_supported_on_product" | "not_supported_on_buy") => {
                Strategy::Stop(StopReason::NotOffered)
            }
            Some(_) | None => fix(adcp, RequestChange::Request),
        }),
        RecoveryRule::Moved => by_class(class, || match detail("current_account") {
            Some(account) if account.is_object() => {
                fix(adcp, RequestChange::Account(account.clone()))
            }
            Some(_) | None => Strategy::Ask(AskReason::SellerDefect),
        }),
    }
}

fn by_class(class: Recovery, correct: impl FnOnce() -> Strategy) -> Strategy {
    match class {
        Recovery::Transient => Strategy::AGAIN,
        Recovery::Correctable => correct(),
        Recovery::Terminal => Strategy::Ask(AskReason::Terminal),
    }
}

/// Returns a correction, with the fields of all errors that have the same code.
fn fix(adcp: &Adcp, change: RequestChange) -> Strategy {
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
    Strategy::Fix { change, fields, suggestion: suggestion.filter(|text| !text.is_empty()) }
}

fn versions(adcp: &Adcp) -> Strategy {
    let listed = adcp.error.details.get("supported_versions").and_then(Value::as_array);
    let listed = listed.into_iter().flatten().filter_map(Value::as_str);
    let versions: Vec<_> = listed.take(MAX_FIELDS).map(|version| plain(version, WORD)).collect();
    fix(
        adcp,
        if versions.is_empty() {
            RequestChange::Request
        } else {
            RequestChange::Versions(versions)
        },
    )
}

fn first(list: Option<&Value>) -> Option<String> {
    let words = list?.as_array()?.iter().filter_map(Value::as_str);
    words.map(|word| plain(word, WORD)).find(|word| !word.is_empty())
}

/// Returns the address if a person may be sent there: https, without credentials, at the seller's own host or
/// a subdomain. Only what RFC 3986 permits is an address, so that no browser reads another host in it.
// Z-3
fn safe(address: &str, seller: Option<&str>) -> Option<String> {
    let uri = Uri::parse(address).ok()?;
    let authority = uri.authority()?;
    let host = authority.host().to_ascii_lowercase();
    let seller = seller?.to_ascii_lowercase();
    // Without the dot, another host's name could end with the seller's.
    let at_home =
        host == seller || host.strip_suffix(&seller).is_some_and(|rest| rest.ends_with('.'));
    let is_secure = uri.scheme().as_str().eq_ignore_ascii_case("https");
    let is_safe = is_secure && at_home && !host.is_empty() && !authority.has_userinfo();
    is_safe.then(|| address.to_owned())
}
