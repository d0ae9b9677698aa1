//! Accounts, creatives, sponsored conversations and the ad server made to stand as a test wants them.

use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;

use super::{At, Done, Failed, need};
use crate::account::{Account, Status as Standing};
use crate::announce::{Herald, Reason, Turn};
use crate::creative::{Creative, Status as Review};
use crate::session::{Session, Status as Course};
use crate::shelf::{Kept, Kind, New, Query};
use crate::supply::Outage;

/// `force_account_status`.
pub(super) fn account(at: &At<'_>) -> Result<Done, Failed> {
    let (work, id) = (at.work, need("account_id", &at.params.account_id)?);
    let found = work.admitted.reach.find::<Account>(work.shelf, id)?;
    let mut kept = found.ok_or(Failed::NotFound)?;
    if !kept.thing.sandbox {
        return Err(Failed::Forbidden("the account is a live one; name one for tests"));
    }
    let next = at.params.status.as_deref().and_then(Standing::from_name);
    let unknown = || Failed::InvalidParams("params.status is no status of an account".into());
    let next = next.ok_or_else(unknown)?;
    let before = kept.thing.status;
    if before != next {
        if !before.may_become(next) {
            return Err(Failed::InvalidTransition(before.name().to_owned()));
        }
        kept.thing.status = next;
        let (world, now) = (&*work.publisher.world, work.ask.now);
        Herald { world, shelf: work.shelf, now }.account(&mut kept)?;
        work.shelf.change(&mut kept, now)?;
    }
    Ok(Done::Moved { before: before.name().to_owned(), after: next.name().to_owned() })
}

/// `force_creative_status`.
pub(super) fn creative(at: &At<'_>) -> Result<Done, Failed> {
    let (work, id) = (at.work, need("creative_id", &at.params.creative_id)?);
    let next = Review::from_name(need("status", &at.params.status)?);
    let next = next.ok_or(Failed::InvalidParams("params.status is none of a creative".into()))?;
    let mut kept = found(at, id)?;
    let now = work.ask.now;
    let before = kept.thing.status_at(now);
    if before != next {
        if !before.may_become(next) {
            return Err(Failed::InvalidTransition(before.name().to_owned()));
        }
        let reason = match next {
            Review::Rejected => {
                Some(need("rejection_reason", &at.params.rejection_reason)?.to_owned())
            }
            Review::Processing
            | Review::PendingReview
            | Review::Approved
            | Review::Suspended
            | Review::Archived => None,
        };
        kept.thing.stand(next, at.params.reason_code.as_deref(), now);
        kept.thing.rejection_reason = reason;
        kept.record.state = kept.thing.state().to_owned();
        work.shelf.change(&mut kept, now)?;
        let herald = Herald { world: &*work.publisher.world, shelf: work.shelf, now };
        herald.creative(&kept, &turn(at, before)?)?;
    }
    Ok(Done::Moved { before: before.name().to_owned(), after: next.name().to_owned() })
}

/// `query_provenance_audit_observations`.
pub(super) fn observations(at: &At<'_>) -> Result<Done, Failed> {
    let kept = found(at, need("creative_id", &at.params.creative_id)?)?;
    let Creative { creative_id, observations, .. } = kept.thing;
    Ok(Done::Observed { creative_id, observations })
}

/// The creative with an id of the caller's.
fn found(at: &At<'_>, id: &str) -> Result<Kept<Creative>, Failed> {
    let work = at.work;
    let mut all: Vec<Kept<Creative>> = work.admitted.reach.all(work.shelf, &Query::default())?;
    all.retain(|creative| creative.thing.creative_id == id);
    // Several accounts may have one; the named account's comes first, then what changed last.
    let named = work.admitted.account_id();
    all.sort_by_key(|it| (it.record.account.as_deref() == named, it.record.updated_at));
    all.pop().ok_or(Failed::NotFound)
}

/// Why a creative is forced to another status, as the test says it.
fn turn(at: &At<'_>, from: Review) -> Result<Turn, Failed> {
    let text = |name: &str| at.params.sent.get(name).and_then(Value::as_str);
    let reason = match text("reason_code").map(Reason::from_name) {
        Some(None) => {
            return Err(Failed::InvalidParams("params.reason_code is none of a creative".into()));
        }
        Some(reason) => reason,
        None => None,
    };
    let detail = text("reason_detail").map(|detail| detail.chars().take(500).collect());
    Ok(Turn { from, reason, detail, by_itself: false })
}

/// `force_session_status`.
pub(super) fn session(at: &At<'_>) -> Result<Done, Failed> {
    let (work, id) = (at.work, need("session_id", &at.params.session_id)?);
    let found = work.admitted.reach.find::<Session>(work.shelf, id)?;
    let alive = found.filter(|session| !session.thing.is_expired(work.ask.now));
    let mut kept = alive.ok_or(Failed::NotFound)?;
    let next = match need("status", &at.params.status)? {
        "complete" => Course::Complete,
        "terminated" => Course::Terminated,
        _ => return Err(Failed::InvalidParams("params.status is complete or terminated".into())),
    };
    let before = kept.thing.status;
    if before != next {
        if before.is_terminal() {
            return Err(Failed::InvalidTransition(before.name().to_owned()));
        }
        kept.thing.status = next;
        kept.thing.reason.clone_from(&at.params.termination_reason);
        work.shelf.change(&mut kept, work.ask.now)?;
    }
    Ok(Done::Moved { before: before.name().to_owned(), after: next.name().to_owned() })
}

/// `force_upstream_unavailable`: for the caller alone, and for a moment.
pub(super) fn upstream(at: &At<'_>) -> Result<Done, Failed> {
    let (work, tool) = (at.work, need("tool", &at.params.tool)?);
    if tool != "*" && tool != "get_products" {
        let detail = "no other tool than get_products asks anything behind the publisher";
        return Err(Failed::InvalidParams(detail.into()));
    }
    let name = at.params.upstream_name.clone();
    let outage = Outage {
        upstream: name.unwrap_or_else(|| "ad server".to_owned()),
        tool: tool.to_owned(),
        since: work.ask.now,
    };
    let (owner, id) = (at.tenant(), Outage::id(at.tenant()));
    work.shelf.remove(Kind::Directive, &id)?;
    let new = New { id: &id, owner, account: None, state: "", now: work.ask.now };
    work.shelf.add(new, &outage)?;
    Ok(Done::Moved { before: "available".to_owned(), after: "unavailable".to_owned() })
}
