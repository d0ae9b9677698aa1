//! Scenarios that force the state of accounts, creatives, sponsored conversations and the ad server.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use super::{
    ScenarioContext, ScenarioFailed, invalid, moved, need, no_way_from, not_for_tests, not_found,
};
use crate::account::{Account, AccountStatus as Standing};
use crate::availability::Outage;
use crate::creative::{Creative, CreativeStatus as Review};
use crate::notifications::{CreativeChange, CreativeChangeReason};
use crate::session::SessionStatus as Course;
use crate::store::{EntityKind, IndexField, Query, Stored};
use crate::tools::sessions;

/// `force_account_status`.
pub(super) fn account(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let id = need("account_id", &at.params.account_id)?;
    let mut stored = work.find::<Account>(id)?.ok_or_else(not_found)?;
    if !stored.thing.sandbox {
        return Err(not_for_tests("the account is a live one; name one for tests"));
    }
    let next = at.params.status.as_deref().and_then(Standing::from_name);
    let next = next.ok_or_else(|| invalid("params.status is no status of an account"))?;
    let before = stored.thing.status;
    if before != next {
        if !before.may_become(next) {
            return Err(no_way_from(before));
        }
        stored.thing.status = next;
        at.finisher().announce_account(&mut stored)?;
        work.tx.change(&mut stored, work.call.now)?;
    }
    Ok(moved(before, next))
}

/// `force_creative_status`.
pub(super) fn creative(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let id = need("creative_id", &at.params.creative_id)?;
    let next = Review::from_name(need("status", &at.params.status)?);
    let next = next.ok_or_else(|| invalid("params.status is none of a creative"))?;
    let mut stored = found(at, id)?;
    let now = work.call.now;
    let before = stored.thing.status_at(now);
    if before != next {
        if !before.may_become(next) {
            return Err(no_way_from(before));
        }
        let mut reason = None;
        if next == Review::Rejected {
            reason = Some(need("rejection_reason", &at.params.rejection_reason)?.to_owned());
        }
        stored.thing.stand(next, at.params.reason_code.as_deref(), now);
        stored.thing.rejection_reason = reason;
        work.tx.change(&mut stored, now)?;
        at.finisher().announce_creative(&stored, &turn(at, before)?)?;
    }
    Ok(moved(before, next))
}

/// `query_provenance_audit_observations`.
pub(super) fn observations(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let creative = found(at, need("creative_id", &at.params.creative_id)?)?.thing;
    let id = creative.creative_id;
    let observations = creative.observations;
    Ok(json!({"success": true, "creative_id": id, "audit_observations": observations}))
}

/// Finds the caller's creative by its chosen id.
fn found(at: &ScenarioContext<'_>, id: &str) -> Result<Stored<Creative>, ScenarioFailed> {
    let query = Query::default().led_to_by(IndexField::ChosenId, id);
    let mut all: Vec<Stored<Creative>> = at.work.admitted.reach.all(at.work.reader, &query)?;
    // Several accounts may have one: the named account's comes first, then the latest change.
    let named = at.work.admitted.account_id();
    all.sort_by_key(|stored| (stored.record.account.as_deref() == named, stored.record.updated_at));
    all.pop().ok_or_else(not_found)
}

/// Returns the reason of a forced status change as the test gives it.
fn turn(at: &ScenarioContext<'_>, from: Review) -> Result<CreativeChange, ScenarioFailed> {
    let text = |name: &str| at.params.sent.get(name).and_then(Value::as_str);
    let unknown = || invalid("params.reason_code is none of a creative");
    let known = |code| CreativeChangeReason::from_name(code).ok_or_else(unknown);
    let reason = text("reason_code").map(known).transpose()?;
    let detail = text("reason_detail").map(|detail| detail.chars().take(500).collect());
    Ok(CreativeChange { from, reason, detail, by_itself: false })
}

/// `force_session_status`.
pub(super) fn session(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let id = need("session_id", &at.params.session_id)?;
    let mut stored = sessions::find(work, id)?.ok_or_else(not_found)?;
    let next = match need("status", &at.params.status)? {
        "complete" => Course::Complete,
        "terminated" => Course::Terminated,
        _ => return Err(invalid("params.status is complete or terminated")),
    };
    let before = stored.thing.status;
    if before != next {
        if before.is_terminal() {
            return Err(no_way_from(before));
        }
        stored.thing.status = next;
        stored.thing.reason.clone_from(&at.params.termination_reason);
        work.tx.change(&mut stored, work.call.now)?;
    }
    Ok(moved(before, next))
}

/// `force_upstream_unavailable`: affects only this caller, for a short time.
pub(super) fn upstream(at: &ScenarioContext<'_>) -> Result<Value, ScenarioFailed> {
    let work = at.work;
    let tool = need("tool", &at.params.tool)?.to_owned();
    if tool != "*" && tool != "get_products" {
        return Err(invalid("no other tool than get_products asks anything behind the publisher"));
    }
    let upstream = at.params.upstream_name.clone().unwrap_or_else(|| "ad server".to_owned());
    let outage = Outage { upstream, tool, since: work.call.now };
    let id = Outage::id(at.tenant());
    work.tx.remove(EntityKind::Directive, &id)?;
    work.add(&id, (at.tenant(), None), "", &outage)?;
    let before = "available";
    let after = "unavailable";
    Ok(json!({"success": true, "previous_state": before, "current_state": after}))
}
