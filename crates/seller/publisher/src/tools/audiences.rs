//! Audiences: `sync_audiences`.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};

use super::buyer_records::{self, Wanted};
use crate::account::Account;
use crate::audience::{AudienceStatus, StoredAudience};
use crate::forms::audiences::{self as forms, SyncAudiences};
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::store::Stored;
use crate::tool_context::WriteContext;

/// Handles `sync_audiences`.
pub(super) fn perform(
    work: &WriteContext<'_>,
    form: &SyncAudiences,
) -> Result<ToolReply, ToolError> {
    let account = work.account()?;
    let wanted = match &form.audiences {
        Some(given) if !form.delete_missing => {
            Wanted::Named(given.iter().map(|one| one.audience_id.as_str()).collect())
        }
        Some(_) | None => Wanted::All,
    };
    let known =
        buyer_records::library(account, work.reader, wanted, |audience: &StoredAudience| {
            &audience.audience_id
        })?;
    let mut shown = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, given) in form.audiences.iter().flatten().enumerate() {
        let id = given.audience_id.as_str();
        shown.push(if seen.insert(id) {
            one(work, account, known.get(id), given)?
        } else {
            let message = "the same audience stands in the request twice";
            failed(id, &refusals::invalid(&format!("audiences[{index}].audience_id"), message))
        });
    }
    for (id, stored) in known.iter().filter(|(id, _)| !seen.contains(id.as_str())) {
        // Without a list the request only reads.
        if form.audiences.is_none() {
            shown.push(show(&stored.thing, "unchanged", 0, work.call.now));
        } else if form.delete_missing {
            shown.push(remove(work, id, stored)?);
        }
    }
    let body = object!({"audiences": shown, "sandbox"?: work.sandbox()});
    Ok(ToolReply::completed("each audience has its own result", body))
}

/// Creates, changes or deletes one audience, and returns its row.
fn one(
    work: &WriteContext<'_>,
    account: &Stored<Account>,
    known: Option<&Stored<StoredAudience>>,
    given: &forms::AudienceRequest,
) -> Result<Value, InternalError> {
    let id = given.audience_id.as_str();
    let now = work.call.now;
    if given.delete {
        return match known {
            Some(stored) => remove(work, id, stored),
            // The parameter's name would reveal the kind of record (AdCP 3.1 `error-handling`,
            // `U-3`).
            None => Ok(failed(id, &refusals::not_found(AdcpCode::ReferenceNotFound, None))),
        };
    }
    let terms = work.publisher.profile.catalogue.audiences;
    let mut next = known.map(|stored| stored.thing.clone()).unwrap_or_default();
    id.clone_into(&mut next.audience_id);
    next.given.extend(given.given.clone());
    let uploaded = given.add.len() as u64;
    let removed = digests(&given.remove);
    // A member that is both added and removed is removed.
    next.members.extend(digests(&given.add));
    next.members.retain(|member| !removed.contains(member));
    next.minimum_size = terms.minimum_size.max(1);
    let action = match known {
        None => "created",
        Some(stored)
            if stored.thing.members != next.members || stored.thing.given != next.given =>
        {
            "updated"
        }
        Some(_) => "unchanged",
    };
    next.uploaded += uploaded;
    next.synced_at = now;
    // Only changed members need processing; a new name or description applies at once.
    if known.is_none_or(|stored| stored.thing.members != next.members) {
        let processing = SignedDuration::from_secs(terms.processing_seconds.into());
        next.ready_at = now.checked_add(processing).unwrap_or(now);
    }
    buyer_records::put(work, account, id, known, &next)?;
    Ok(show(&next, action, uploaded, now))
}

fn remove(
    work: &WriteContext<'_>,
    id: &str,
    stored: &Stored<StoredAudience>,
) -> Result<Value, InternalError> {
    work.tx.remove(stored.record.kind, &stored.record.id)?;
    Ok(json!({"audience_id": id, "action": "deleted"}))
}

/// Returns digests of the members' ids as the caller sent them.
fn digests(members: &[forms::AudienceMember]) -> BTreeSet<String> {
    let digest = |member: &forms::AudienceMember| {
        let digest = Sha256::digest(member.external_id.as_bytes());
        // Half of a SHA-256 digest identifies a member within one audience.
        tradepost_document::format::hex(digest.iter().take(16))
    };
    members.iter().map(digest).collect()
}

fn show(audience: &StoredAudience, action: &str, uploaded: u64, now: Timestamp) -> Value {
    let status = audience.status_at(now);
    let given = |name: &str| audience.given.get(name);
    object!({
        "audience_id": audience.audience_id,
        "action": action,
        "status": status,
        "uploaded_count": uploaded,
        "total_uploaded_count": audience.uploaded,
        "last_synced_at": audience.synced_at,
        "name"?: given("name"),
        "description"?: given("description"),
        "audience_type"?: given("audience_type"),
        "tags"?: given("tags"),
        "matched_count"?: (status == AudienceStatus::Ready).then(|| audience.size()),
        "minimum_size"?: (status == AudienceStatus::TooSmall).then_some(audience.minimum_size),
    })
}

fn failed(id: &str, error: &AdcpError) -> Value {
    json!({"audience_id": id, "action": "failed", "errors": [error]})
}
