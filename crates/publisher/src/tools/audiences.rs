//! Audiences: `sync_audiences`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tradepost_wire::adcp::error::{Code, Error};

use super::{Reply, Work};
use crate::account::Account;
use crate::audience::{Audience, Status, Terms};
use crate::refuse::{self, Stop};
use crate::shelf::{Broken, Kept, New, Query, own_id};

/// Members that are kept as they were given.
const GIVEN: [&str; 5] = ["name", "description", "audience_type", "tags", "consent_basis"];

#[derive(Debug, Deserialize)]
struct Args {
    audiences: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    delete_missing: bool,
}

/// Does the work.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    let args: Args = work.arguments()?;
    let account = work.account()?;
    let query = Query {
        owner: Some(account.record.owner.clone()),
        account: Some(account.record.id.clone()),
        ..Query::default()
    };
    let known: Vec<Kept<Audience>> = work.shelf.all(&query)?;
    let known: BTreeMap<String, Kept<Audience>> =
        known.into_iter().map(|it| (it.thing.audience_id.clone(), it)).collect();
    let mut shown = Vec::new();
    match &args.audiences {
        // Without a list, what is there is shown and nothing is changed.
        None => {
            shown.extend(known.values().map(|it| show(&it.thing, "unchanged", 0, work.ask.now)))
        }
        Some(audiences) => {
            let mut seen = BTreeSet::new();
            for (index, given) in audiences.iter().enumerate() {
                let id = text(given, "audience_id");
                let at = format!("audiences[{index}]");
                shown.push(if seen.insert(id.to_owned()) {
                    one(work, account, known.get(id), given)?
                } else {
                    let message = "the same audience stands in the request twice";
                    failed(id, &refuse::invalid(&format!("{at}.audience_id"), message))
                });
            }
            let missing = known.iter().filter(|(id, _)| args.delete_missing && !seen.contains(*id));
            for (id, kept) in missing {
                work.shelf.remove(kept.record.kind, &kept.record.id)?;
                shown.push(json!({"audience_id": id, "action": "deleted"}));
            }
        }
    }
    let mut body = json!({"audiences": shown});
    if let Some(members) = body.as_object_mut().filter(|_| account.thing.sandbox) {
        members.insert("sandbox".to_owned(), json!(true));
    }
    Ok(Reply::completed("each audience has its own result", body))
}

fn one(
    work: &Work<'_>,
    account: &Kept<Account>,
    known: Option<&Kept<Audience>>,
    given: &Map<String, Value>,
) -> Result<Value, Broken> {
    let (id, now) = (text(given, "audience_id"), work.ask.now);
    if given.get("delete").and_then(Value::as_bool) == Some(true) {
        return match known {
            Some(kept) => {
                work.shelf.remove(kept.record.kind, &kept.record.id)?;
                Ok(json!({"audience_id": id, "action": "deleted"}))
            }
            // The name of the parameter would say what it was looked for as (`U-3`).
            None => Ok(failed(id, &refuse::not_found(Code::ReferenceNotFound, None))),
        };
    }
    let terms = work.publisher.profile.catalogue.audiences;
    let mut next = known.map_or_else(|| fresh(id, terms, now), |kept| kept.thing.clone());
    for name in GIVEN {
        next.given.extend(given.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    let (added, removed) = (members(given, "add"), members(given, "remove"));
    let uploaded = given.get("add").and_then(Value::as_array).map_or(0, Vec::len) as u64;
    // Who stands in both is removed.
    next.members.extend(added);
    next.members.retain(|member| !removed.contains(member));
    next.minimum_size = terms.minimum_size.max(1);
    let action = match known {
        None => "created",
        Some(kept) if kept.thing.members != next.members || kept.thing.given != next.given => {
            "updated"
        }
        Some(_) => "unchanged",
    };
    next.uploaded += uploaded;
    next.synced_at = now;
    if known.is_none_or(|kept| kept.thing.members != next.members) {
        let processing = SignedDuration::from_secs(terms.processing_seconds.into());
        next.ready_at = now.checked_add(processing).unwrap_or(now);
    }
    match known {
        None => {
            let (owner, of) = (account.record.owner.as_str(), account.record.id.as_str());
            let place = own_id(owner, of, id);
            work.shelf.add(New { id: &place, owner, account: Some(of), state: "", now }, &next)?;
        }
        Some(kept) => {
            let mut kept = Kept { thing: next.clone(), record: kept.record.clone() };
            work.shelf.change(&mut kept, now)?;
        }
    }
    Ok(show(&next, action, uploaded, now))
}

fn fresh(id: &str, terms: Terms, now: Timestamp) -> Audience {
    Audience {
        audience_id: id.to_owned(),
        given: Map::new(),
        members: BTreeSet::new(),
        uploaded: 0,
        minimum_size: terms.minimum_size.max(1),
        ready_at: now,
        synced_at: now,
    }
}

/// Digests of the members of a list: of the caller's own id for each, which tells them apart.
fn members(given: &Map<String, Value>, list: &str) -> BTreeSet<String> {
    let digest = |member: &Value| {
        let id = member.get("external_id").and_then(Value::as_str)?;
        let digest = Sha256::digest(id.as_bytes());
        Some(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    };
    given.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(digest).collect()
}

fn show(audience: &Audience, action: &str, uploaded: u64, now: Timestamp) -> Value {
    let status = audience.status_at(now);
    let mut shown = json!({
        "audience_id": audience.audience_id,
        "action": action,
        "status": status,
        "uploaded_count": uploaded,
        "total_uploaded_count": audience.uploaded,
        "last_synced_at": audience.synced_at,
    });
    if let Some(members) = shown.as_object_mut() {
        for name in ["name", "description", "audience_type", "tags"] {
            let given = audience.given.get(name).cloned();
            members.extend(given.map(|value| (name.to_owned(), value)));
        }
        match status {
            Status::Processing => {}
            Status::Ready => {
                members.insert("matched_count".to_owned(), json!(audience.size()));
            }
            Status::TooSmall => {
                members.insert("minimum_size".to_owned(), json!(audience.minimum_size));
            }
        }
    }
    shown
}

fn failed(id: &str, error: &Error) -> Value {
    json!({"audience_id": id, "action": "failed", "errors": [error]})
}

fn text<'a>(given: &'a Map<String, Value>, name: &str) -> &'a str {
    given.get(name).and_then(Value::as_str).unwrap_or_default()
}
