//! Audiences: `sync_audiences`.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_wire::adcp::error::{Code, Error};
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Map, Value, json};

use crate::account::Account;
use crate::audience::{Audience, Status, Terms};
use crate::forms::audiences::{self as forms, SyncAudiences};
use crate::refuse::{self, Stop};
use crate::reply::Reply;
use crate::shelf::{Kept, New, Query, own_id};
use crate::work::Work;

/// Does the work.
pub(super) fn perform(work: &Work<'_>, form: &SyncAudiences) -> Result<Reply, Stop> {
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
    match &form.audiences {
        // Without a list, what is there is shown and nothing is changed.
        None => {
            shown.extend(known.values().map(|it| show(&it.thing, "unchanged", 0, work.ask.now)))
        }
        Some(audiences) => {
            let mut seen = BTreeSet::new();
            for (index, given) in audiences.iter().enumerate() {
                let id = &given.audience_id;
                let at = format!("audiences[{index}]");
                shown.push(if seen.insert(id.clone()) {
                    one(work, account, known.get(id), given)?
                } else {
                    let message = "the same audience stands in the request twice";
                    failed(id, &refuse::invalid(&format!("{at}.audience_id"), message))
                });
            }
            let missing = known.iter().filter(|(id, _)| form.delete_missing && !seen.contains(*id));
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
    given: &forms::Audience,
) -> Result<Value, Fault> {
    let (id, now) = (given.audience_id.as_str(), work.ask.now);
    if given.delete {
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
    next.given.extend(given.given.clone());
    let (uploaded, removed) = (given.add.len() as u64, digests(&given.remove));
    // Who stands in both is removed.
    next.members.extend(digests(&given.add));
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
    // Only members have to be taken in; another name or description holds at once.
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
fn digests(members: &[forms::Member]) -> BTreeSet<String> {
    let digest = |member: &forms::Member| {
        let digest = Sha256::digest(member.external_id.as_bytes());
        // Half of a digest tells the members of one audience apart.
        tradepost_wire::format::hex(digest.iter().take(16))
    };
    members.iter().map(digest).collect()
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
