//! Sponsored conversations: `si_get_offering`, `si_initiate_session`, `si_send_message` and
//! `si_terminate_session`. What is said is put together from the data of the offering; there is no
//! model that writes.

use tradepost_wire::adcp::error::Code;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use self::offering::Offering;
use crate::buy::MediaBuy;
use crate::forms::sessions::{GetOffering, InitiateSession, Reason, SendMessage, TerminateSession};
use crate::refuse::{self, Stop};
use crate::reply::Reply;
use crate::session::{LIFE, Session, Status};
use crate::shelf::{Kept, New};
use crate::work::Work;

mod offering;

/// For how many seconds what is said of an offering holds.
const FRESH_SECONDS: u32 = 300;

/// How many products of an offering are shown when nothing is asked for.
const PRODUCTS: u64 = 5;

/// Text and links (`si-capabilities`): whatever else a host can show, there is nothing here to fill
/// it with.
pub(super) fn capabilities() -> Value {
    json!({
        "modalities": {"conversational": true},
        "components": {"standard": ["text", "link"]},
    })
}

/// `si_get_offering`.
pub(super) fn show(work: &Work<'_>, form: &GetOffering) -> Result<Reply, Stop> {
    let offering = named(work, &form.offering_id)?;
    let unavailable = offering.unavailable(work.ask.now);
    let mut body = json!({
        "available": unavailable.is_none(),
        "ttl_seconds": FRESH_SECONDS,
        "checked_at": work.ask.now,
        "offering": offering.published(work.ask.now),
        "sponsored_context": offering.sponsored(work),
    });
    if let Some(members) = body.as_object_mut() {
        if let Some(reason) = unavailable {
            members.insert("unavailable_reason".to_owned(), json!(reason));
            let others = Offering::all(work).filter(|it| it.unavailable(work.ask.now).is_none());
            let others: Vec<_> = others.map(|it| it.id().to_owned()).collect();
            if !others.is_empty() {
                members.insert("alternative_offering_ids".to_owned(), json!(others));
            }
        }
        if form.include_products {
            let found = offering.products(form.intent.as_deref().unwrap_or_default());
            let most = form.product_limit.unwrap_or(PRODUCTS);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            members.insert("total_matching".to_owned(), json!(found.len()));
            let found: Vec<_> = found.into_iter().take(most).collect();
            members.insert("matching_products".to_owned(), json!(found));
        }
    }
    Ok(Reply::completed("what is known of the offering", body))
}

/// `si_initiate_session`.
pub(super) fn initiate(work: &Work<'_>, form: &InitiateSession) -> Result<Reply, Stop> {
    if !form.identity.consent_granted && form.identity.user.is_some() {
        let message = "nothing about a person is taken without consent; leave user out, or set \
                       consent_granted when consent was given";
        return Err(refuse::invalid("identity.user", message).into());
    }
    if let Some(id) = &form.media_buy_id {
        let reach = &work.admitted.reach;
        reach.require::<MediaBuy>(work.shelf, id, Code::MediaBuyNotFound, Some("media_buy_id"))?;
    }
    let intent = form.intent.as_str();
    let offering = match &form.offering_id {
        Some(id) => Some(named(work, id)?),
        None => Offering::best(work, intent),
    };
    let session = Session {
        session_id: work.publisher.world.fresh_id("sis"),
        status: Status::Active,
        offering_id: offering.as_ref().map(|offering| offering.id().to_owned()),
        turns: 0,
        spoken_at: work.ask.now,
        reason: None,
    };
    let owner = work.admitted.reach.tenant.as_str();
    let id = session.session_id.as_str();
    work.shelf.add(New { id, owner, account: None, state: "", now: work.ask.now }, &session)?;
    let mut body = json!({
        "session_id": id,
        "session_status": session.status,
        "session_ttl_seconds": LIFE.as_secs(),
        "response": offering::greeting(offering.as_ref(), intent, work.ask.now),
        "negotiated_capabilities": capabilities(),
    });
    add_sponsored(&mut body, offering.as_ref(), work);
    Ok(Reply::completed("the conversation is open", body))
}

/// `si_send_message`.
pub(super) fn send(work: &Work<'_>, form: &SendMessage) -> Result<Reply, Stop> {
    let mut kept = require(work, &form.session_id)?;
    if kept.thing.status.is_terminal() {
        let message = "the conversation has ended; open another with si_initiate_session";
        return Err(refuse::at(Code::SessionTerminated, "session_id", message).into());
    }
    let action = form.action_response.as_ref().and_then(|response| response.action.as_deref());
    let said = form.message.as_deref().or(action);
    let id = kept.thing.offering_id.clone();
    // It may have left the catalogue since the conversation began.
    let offering = id.and_then(|id| Offering::all(work).find(|offering| offering.id() == id));
    kept.thing.turns = kept.thing.turns.saturating_add(1);
    kept.thing.spoken_at = work.ask.now;
    work.shelf.change(&mut kept, work.ask.now)?;
    let mut body = json!({
        "session_id": kept.thing.session_id,
        "session_status": kept.thing.status,
        "response": offering::answer(offering.as_ref(), said.unwrap_or_default(), work.ask.now),
    });
    add_sponsored(&mut body, offering.as_ref(), work);
    Ok(Reply::completed("the answer", body))
}

/// `si_terminate_session`.
pub(super) fn terminate(work: &Work<'_>, form: &TerminateSession) -> Result<Reply, Stop> {
    let mut kept = require(work, &form.session_id)?;
    // Ending what has ended changes nothing.
    if !kept.thing.status.is_terminal() {
        let reached = form.reason.is_aim();
        kept.thing.status = if reached { Status::Complete } else { Status::Terminated };
        kept.thing.reason = Some(form.reason.name().to_owned());
        work.shelf.change(&mut kept, work.ask.now)?;
    }
    let mut body = json!({
        "session_id": kept.thing.session_id,
        "terminated": true,
        "session_status": kept.thing.status,
    });
    let id = kept.thing.offering_id.clone();
    let offering = id.and_then(|id| Offering::all(work).find(|offering| offering.id() == id));
    let checkout = offering.as_ref().and_then(|offering| offering.checkout_url());
    // By the reason that ended it first: to end it again for another one sells nothing.
    let sold = kept.thing.reason.as_deref() == Some(Reason::HandoffTransaction.name());
    if let (Some(url), Some(members)) = (checkout.filter(|_| sold), body.as_object_mut()) {
        members.insert("acp_handoff".to_owned(), json!({"checkout_url": url}));
    }
    Ok(Reply::completed("the conversation has ended", body))
}

/// The caller's conversation. One that has expired is not found, like one that never was.
fn require(work: &Work<'_>, id: &str) -> Result<Kept<Session>, Stop> {
    let absent = || refuse::not_found(Code::SessionNotFound, Some("session_id"));
    let found = work.admitted.reach.find::<Session>(work.shelf, id)?;
    let alive = found.filter(|session| !session.thing.is_expired(work.ask.now));
    alive.ok_or_else(|| absent().into())
}

/// The offering with this id. The parameter's name would say what was looked for (`U-3`).
fn named<'a>(work: &'a Work<'_>, id: &str) -> Result<Offering<'a>, Stop> {
    let absent = || refuse::not_found(Code::ReferenceNotFound, None);
    Offering::all(work).find(|offering| offering.id() == id).ok_or_else(|| absent().into())
}

fn add_sponsored(body: &mut Value, offering: Option<&Offering<'_>>, work: &Work<'_>) {
    if let (Some(offering), Some(members)) = (offering, body.as_object_mut()) {
        members.insert("sponsored_context".to_owned(), offering.sponsored(work));
    }
}
