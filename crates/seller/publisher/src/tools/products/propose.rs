//! Storage of proposals: drafts for a brief, their next versions, and committed ones.

use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::error::AdcpCode;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::offer::Offer;
use super::plan::MediaPlan;
use crate::catalogue::ProposalTerms;
use crate::exclusive;
use crate::forms::products::GetProducts;
use crate::money::currency::find_money;
use crate::proposal::{Proposal, ProposalEnvelope, ProposalStatus};
use crate::refusals::{self, ToolError};
use crate::store::{IndexTerms, Query, Stored};
use crate::tool_context::{SearchContext, ToolContext, WorkStop, WriteContext};

/// States of stored proposals.
const DRAFT: &str = "draft";
const COMMITTED: &str = "committed";

/// Returns the proposals for a brief; none when the publisher makes none. An equal draft that
/// exists is returned instead of a new one.
pub(super) fn for_brief(
    work: &SearchContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
    words: &[String],
) -> Result<Vec<Value>, WorkStop> {
    let Some(terms) = work.publisher.profile.catalogue.proposals else {
        return Ok(Vec::new());
    };
    let wanted = envelope(form, &offer.preferred_currency());
    let choices = offer.choices(words, &wanted.currency);
    let balanced = MediaPlan::balanced(&choices, wanted.budget);
    // With two products the focused plan would repeat the balanced one.
    let larger = balanced.as_ref().filter(|plan| plan.len() > 2);
    let focused = larger.and_then(|_| MediaPlan::focused(&choices, wanted.budget));
    let even = "The budget over what fits the brief, weighed by how well it fits.";
    let best = "The budget on the two products that fit the brief best.";
    let plans = [("Balanced plan", even, balanced), ("Focused plan", best, focused)];
    let mut proposals = Vec::new();
    for (name, description, plan) in plans {
        let Some(plan) = plan else { continue };
        let draft = Proposal {
            proposal_id: String::new(),
            name: name.to_owned(),
            description: description.to_owned(),
            status: ProposalStatus::Draft,
            expires_at: after(work.call.now, terms.draft_hours)?,
            allocations: plan.allocations(),
            envelope: plan.envelope(wanted.clone()),
            io_id: None,
            bought_as: None,
        };
        let account = work.admitted.account_id();
        let mut known = current(work, &draft)?.into_iter();
        let known = known.find(|stored| {
            stored.thing.says_what(&draft) && stored.record.account.as_deref() == account
        });
        proposals.push(match known {
            Some(stored) => stored.thing.published(),
            None => add(&work.writing()?, draft)?.published(),
        });
    }
    Ok(proposals)
}

/// Stores a new draft.
fn add(work: &WriteContext<'_>, mut draft: Proposal) -> Result<Proposal, InternalError> {
    draft.proposal_id = work.publisher.services.fresh_id("prop");
    work.add(&draft.proposal_id, work.whose(), DRAFT, &draft)?;
    Ok(draft)
}

/// Returns the query for the tenant's drafts.
fn drafts(work: &ToolContext<'_>) -> Query {
    Query { owner: Some(work.admitted.owner().to_owned()), ..Query::with_state(DRAFT) }
}

/// Returns the tenant's unexpired drafts with the same content.
fn current(
    work: &ToolContext<'_>,
    draft: &Proposal,
) -> Result<Vec<Stored<Proposal>>, InternalError> {
    let terms = draft.content().map(IndexTerms::from);
    let mut known: Vec<Stored<Proposal>> = work.reader.all(&Query { terms, ..drafts(work) })?;
    known.retain(|stored| !work.expiry.has_come(stored.thing.expires_at));
    Ok(known)
}

/// Stores the next version of a proposal. A draft is changed; a committed proposal stays as agreed,
/// and its next version is a new draft.
pub(super) fn replanned(
    work: &SearchContext<'_>,
    form: &GetProducts,
    mut stored: Stored<Proposal>,
    plan: &MediaPlan,
) -> Result<Stored<Proposal>, WorkStop> {
    let terms = terms(work)?;
    let allocations = plan.allocations();
    let envelope = plan.envelope(widened(stored.thing.envelope.clone(), form));
    // An unchanged proposal keeps its expiry: repeating a request does not prolong a price.
    if stored.thing.allocations == allocations && stored.thing.envelope == envelope {
        return Ok(stored);
    }
    let next = Proposal {
        status: ProposalStatus::Draft,
        expires_at: after(work.call.now, terms.draft_hours)?,
        allocations,
        envelope,
        io_id: None,
        bought_as: None,
        ..stored.thing.clone()
    };
    match stored.thing.status {
        ProposalStatus::Draft => {
            stored.thing = next;
            work.writing()?.tx.change(&mut stored, work.call.now)?;
        }
        ProposalStatus::Committed => {
            let added = add(&work.writing()?, next)?;
            let broken =
                || InternalError::new("reading a proposal that was just kept", "it is not there");
            stored = work.reader.find(&added.proposal_id)?.ok_or_else(broken)?;
        }
    }
    Ok(stored)
}

/// Commits a proposal, which holds its days of exclusive products until it expires. Returns true when it
/// was a draft.
pub(super) fn commit(
    work: &SearchContext<'_>,
    stored: &mut Stored<Proposal>,
    offer: &Offer<'_>,
) -> Result<bool, WorkStop> {
    if stored.thing.status == ProposalStatus::Committed {
        return Ok(false);
    }
    let writing = work.writing()?;
    stored.thing.status = ProposalStatus::Committed;
    stored.thing.expires_at = after(work.call.now, terms(work)?.hold_hours)?;
    stored.thing.io_id = Some(writing.publisher.services.fresh_id("io"));
    COMMITTED.clone_into(&mut stored.record.state);
    writing.tx.change(stored, work.call.now)?;
    let proposal = &stored.thing;
    let is_sandbox = work.is_for_tests();
    let days = proposal.exclusive_days(&offer.available, is_sandbox, "proposal_id");
    let expires_at = Some(proposal.expires_at);
    exclusive::book_days(writing.tx, &proposal.proposal_id, &days, expires_at, work.call.now)?;
    let account = work.admitted.account.as_ref().map(|account| &account.thing);
    offer.inventory(work).hold_proposal(writing.tx, proposal, account)?;
    Ok(true)
}

/// Returns the terms of proposals. A proposal may outlive the publisher's setting to make them.
fn terms(work: &ToolContext<'_>) -> Result<ProposalTerms, ToolError> {
    work.publisher.profile.catalogue.proposals.ok_or_else(|| {
        let message = "this seller makes no proposals any more; buy products directly";
        refusals::error(AdcpCode::UnsupportedFeature, message).into()
    })
}

fn after(now: Timestamp, hours: u32) -> Result<Timestamp, InternalError> {
    now.checked_add(SignedDuration::from_hours(i64::from(hours)))
        .map_err(|error| InternalError::new("working out when a proposal expires", error))
}

/// Returns the envelope of a request: from its filters, otherwise from the money in its brief. The default is
/// the preferred currency.
fn envelope(form: &GetProducts, preferred: &str) -> ProposalEnvelope {
    let brief = form.brief.as_deref().unwrap_or_default();
    let named = find_money(brief, Some(preferred));
    let from_brief = ProposalEnvelope {
        currency: named.map_or(preferred, |money| money.currency).to_owned(),
        budget: named.map(|money| money.amount),
        ..ProposalEnvelope::default()
    };
    widened(from_brief, form)
}

/// Applies the filters of a request to an envelope.
fn widened(mut envelope: ProposalEnvelope, form: &GetProducts) -> ProposalEnvelope {
    let Some(filters) = &form.filters else {
        return envelope;
    };
    if let Some(budget) = &filters.budget_range {
        envelope.currency.clone_from(&budget.currency);
        envelope.budget = budget.max.or(budget.min);
    }
    envelope.start_date = filters.start_date.clone().or(envelope.start_date);
    envelope.end_date = filters.end_date.clone().or(envelope.end_date);
    envelope.countries = filters.countries.clone().unwrap_or(envelope.countries);
    envelope
}
