//! Sponsored conversations: `si_get_offering`, `si_initiate_session`, `si_send_message` and
//! `si_terminate_session`. Answers are assembled from the offering's data; no language model is
//! used.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};

use crate::buy::MediaBuy;
use crate::catalogue::Offering;
use crate::forms::sessions::{
    GetOffering, InitiateSession, SendMessageForm, SessionEndReason, TerminateSession,
};
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::session::{LIFE, SessionStatus, SponsoredSession};
use crate::store::Stored;
use crate::tool_context::{ToolContext, WriteContext};

mod offering;

/// Seconds for which the reply about an offering is valid.
const FRESH_SECONDS: u32 = 300;

/// Default number of products shown of an offering.
const PRODUCTS: u64 = 5;

/// Returns the capabilities (`si-capabilities`): text and links only, because offerings have no
/// other content.
pub(super) fn capabilities() -> Value {
    json!({
        "modalities": {"conversational": true},
        "components": {"standard": ["text", "link"]},
    })
}

/// Handles `si_get_offering`.
pub(super) fn show(work: &ToolContext<'_>, form: &GetOffering) -> Result<ToolReply, ToolError> {
    let offering = named(work, &form.offering_id)?;
    let unavailable = offering.unavailable(work.call.now);
    let others = Offering::all(work).filter(|other| other.unavailable(work.call.now).is_none());
    let others: Vec<_> = others.map(Offering::id).collect();
    let most = usize::try_from(form.product_limit.unwrap_or(PRODUCTS)).unwrap_or(usize::MAX);
    let intent = form.intent.as_deref().unwrap_or_default();
    let found = form.include_products.then(|| offering.products(intent));
    let body = object!({
        "available": unavailable.is_none(),
        "ttl_seconds": FRESH_SECONDS,
        "checked_at": work.call.now,
        "offering": offering.published(work.call.now),
        "sponsored_context": offering.sponsored(work),
        "unavailable_reason"?: unavailable,
        "alternative_offering_ids"?: unavailable.filter(|_| !others.is_empty()).map(|_| others),
        "total_matching"?: found.as_ref().map(Vec::len),
        "matching_products"?: found.map(|found| found.into_iter().take(most).collect::<Vec<_>>()),
    });
    Ok(ToolReply::completed("what is known of the offering", body))
}

/// Handles `si_initiate_session`.
pub(super) fn initiate(
    work: &WriteContext<'_>,
    form: &InitiateSession,
) -> Result<ToolReply, ToolError> {
    if !form.identity.consent_granted && form.identity.user.is_some() {
        let message = "nothing about a person is taken without consent; leave user out, or set \
                       consent_granted when consent was given";
        return Err(refusals::invalid("identity.user", message).into());
    }
    if let Some(id) = &form.media_buy_id {
        work.require::<MediaBuy>(id, AdcpCode::MediaBuyNotFound, Some("media_buy_id"))?;
    }
    let intent = form.intent.as_str();
    let offering = match &form.offering_id {
        Some(id) => Some(named(work, id)?),
        None => Offering::best(work, intent),
    };
    let session = SponsoredSession {
        session_id: work.publisher.services.fresh_id("sis"),
        status: SessionStatus::Active,
        offering_id: offering.map(|offering| offering.id().to_owned()),
        turns: 0,
        spoken_at: work.call.now,
        reason: None,
    };
    work.add(&session.session_id, (&work.admitted.reach.tenant, None), "", &session)?;
    let body = object!({
        "session_id": session.session_id,
        "session_status": session.status,
        "session_ttl_seconds": LIFE.as_secs(),
        "response": offering::answer(offering, intent, work.call.now),
        "negotiated_capabilities": capabilities(),
        "sponsored_context"?: offering.map(|offering| offering.sponsored(work)),
    });
    Ok(ToolReply::completed("the conversation is open", body))
}

/// Handles `si_send_message`.
pub(super) fn send(
    work: &WriteContext<'_>,
    form: &SendMessageForm,
) -> Result<ToolReply, ToolError> {
    let mut stored = require(work, &form.session_id)?;
    if stored.thing.status.is_terminal() {
        let message = "the conversation has ended; open another with si_initiate_session";
        return Err(refusals::at(AdcpCode::SessionTerminated, "session_id", message).into());
    }
    let action = form.action_response.as_ref().and_then(|response| response.action.as_deref());
    let message_text = form.message.as_deref().or(action);
    let offering = offering_of(work, &stored.thing);
    stored.thing.turns = stored.thing.turns.saturating_add(1);
    stored.thing.spoken_at = work.call.now;
    work.tx.change(&mut stored, work.call.now)?;
    let body = object!({
        "session_id": stored.thing.session_id,
        "session_status": stored.thing.status,
        "response": offering::answer(offering, message_text.unwrap_or_default(), work.call.now),
        "sponsored_context"?: offering.map(|offering| offering.sponsored(work)),
    });
    Ok(ToolReply::completed("the answer", body))
}

/// Handles `si_terminate_session`.
pub(super) fn terminate(
    work: &WriteContext<'_>,
    form: &TerminateSession,
) -> Result<ToolReply, ToolError> {
    let mut stored = require(work, &form.session_id)?;
    // Ending a conversation twice changes nothing.
    if !stored.thing.status.is_terminal() {
        let reached = form.reason.is_aim();
        stored.thing.status =
            if reached { SessionStatus::Complete } else { SessionStatus::Terminated };
        stored.thing.reason = Some(form.reason.name().to_owned());
        work.tx.change(&mut stored, work.call.now)?;
    }
    let checkout =
        offering_of(work, &stored.thing).and_then(|offering| offering.checkout_url.as_deref());
    // The first reason counts: ending it again with another reason must not start a purchase.
    let sold = stored.thing.reason.as_deref() == Some(SessionEndReason::HandoffTransaction.name());
    let checkout = checkout.filter(|_| sold);
    let body = object!({
        "session_id": stored.thing.session_id,
        "terminated": true,
        "session_status": stored.thing.status,
        "acp_handoff"?: checkout.map(|url| json!({"checkout_url": url})),
    });
    Ok(ToolReply::completed("the conversation has ended", body))
}

/// Finds the caller's conversation. An expired one counts as absent.
pub(crate) fn find(
    work: &ToolContext<'_>,
    id: &str,
) -> Result<Option<Stored<SponsoredSession>>, InternalError> {
    let found = work.find::<SponsoredSession>(id)?;
    Ok(found.filter(|session| !session.thing.is_expired(work.call.now)))
}

fn require(work: &ToolContext<'_>, id: &str) -> Result<Stored<SponsoredSession>, ToolError> {
    let absent = || refusals::not_found(AdcpCode::SessionNotFound, Some("session_id"));
    find(work, id)?.ok_or_else(|| absent().into())
}

/// Returns the offering of a conversation; `None` when it is no longer in the catalog.
fn offering_of<'a>(work: &'a ToolContext<'_>, session: &SponsoredSession) -> Option<&'a Offering> {
    let id = session.offering_id.as_deref()?;
    Offering::all(work).find(|offering| offering.id() == id)
}

/// Finds an offering by id. The error omits the parameter's name, which would reveal the kind of
/// record (AdCP 3.1 `error-handling`, `U-3`).
fn named<'a>(work: &'a ToolContext<'_>, id: &str) -> Result<&'a Offering, ToolError> {
    let absent = || refusals::not_found(AdcpCode::ReferenceNotFound, None);
    Offering::all(work).find(|offering| offering.id() == id).ok_or_else(|| absent().into())
}
