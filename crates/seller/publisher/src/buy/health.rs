//! Impairments of a media buy: dependencies that are missing (`core/impairment.json`).

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::{MediaBuy, Package};
use crate::creative::{Creative, CreativeImpairment, CreativeStatus, ImpairmentReason};
use crate::reply::object;
use crate::store::{Stored, own_id};

/// Returns the impairments of a buy, one for each creative. A package is impaired when one of its creatives
/// is offline and no other can take its place.
pub(crate) fn impairments(
    buy: &MediaBuy,
    library: &[&Stored<Creative>],
    now: Timestamp,
) -> Vec<Value> {
    if buy.status_at(now).is_terminal() {
        return Vec::new();
    }
    let offline = library.iter().filter(|creative| is_offline(creative.thing.status_at(now)));
    let impairment = |creative: &&Stored<Creative>| {
        let id = &creative.thing.creative_id;
        let affected = buy.packages.iter().filter(|package| {
            assigned(package).any(|one| one == id) && !can_run(package, library, now)
        });
        let packages: Vec<_> = affected.map(|package| &package.package_id).collect();
        (!packages.is_empty()).then(|| described(buy, creative, &packages, now))
    };
    offline.filter_map(impairment).collect()
}

const fn is_offline(status: CreativeStatus) -> bool {
    matches!(status, CreativeStatus::Rejected | CreativeStatus::Suspended)
}

/// Returns the ids of the creatives that a package may show.
fn assigned(package: &Package) -> impl Iterator<Item = &str> {
    let live = package.creative_assignments.iter().filter(|_| package.is_live());
    live.filter_map(|assignment| assignment.creative_id.as_deref())
}

/// Returns true if a package has a creative that is available, or may be soon.
fn can_run(package: &Package, library: &[&Stored<Creative>], now: Timestamp) -> bool {
    let known = |id: &str| library.iter().find(|creative| creative.thing.creative_id == id);
    assigned(package).filter_map(known).any(|creative| !is_offline(creative.thing.status_at(now)))
}

/// Describes how an offline creative impairs packages of a media buy.
fn described(
    buy: &MediaBuy,
    creative: &Stored<Creative>,
    packages: &[&String],
    now: Timestamp,
) -> Value {
    let status = creative.thing.status_at(now);
    let is_suspended = status == CreativeStatus::Suspended;
    let usual = if is_suspended {
        ImpairmentReason::SellerRemoved
    } else {
        ImpairmentReason::ContentRejected
    };
    // Creatives stored before time and reason were noted show the time of their last change.
    let earlier = CreativeImpairment { since: creative.record.updated_at, reason: usual };
    let CreativeImpairment { since, reason } = creative.thing.offline.unwrap_or(earlier);
    let remedy = match reason {
        ImpairmentReason::PolicyViolation
        | ImpairmentReason::SellerRemoved
        | ImpairmentReason::ContentRejected => "assign another creative to these packages",
        ImpairmentReason::IdentityAuthorizationRevoked
        | ImpairmentReason::IdentityAuthorizationExpired
        | ImpairmentReason::SourcePrivate => "restore what it depends on",
    };
    let Creative { creative_id, rejection_reason, .. } = &creative.thing;
    let rejection_reason = rejection_reason.as_ref();
    let rejection_reason =
        rejection_reason.map(|reason| reason.chars().take(500).collect::<String>().into());
    // The id stays the same as long as the same creative is offline since the same moment.
    let id = own_id(&buy.media_buy_id, creative_id, &since.to_string());
    Value::Object(object([
        ("impairment_id", Some(id.into())),
        ("resource_type", Some("creative".into())),
        ("resource_id", Some(json!(creative_id))),
        ("package_ids", Some(json!(packages))),
        ("transition", Some(json!({"to": status.name()}))),
        ("reason_code", Some(json!(reason))),
        ("observed_at", Some(json!(since))),
        ("remediation", Some(remedy.into())),
        ("reason", rejection_reason),
    ]))
}
