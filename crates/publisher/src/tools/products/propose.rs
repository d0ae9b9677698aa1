//! Keeping proposals: drafts for a brief, their next version, and committed ones.

use jiff::{SignedDuration, Timestamp};
use tradepost_wire::adcp::error::AdcpCode;
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::Value;

use super::offer::Offer;
use super::plan::MediaPlan;
use crate::catalogue::ProposalTerms;
use crate::exclusive;
use crate::forms::products::GetProducts;
use crate::money::currency::find_money;
use crate::proposal::{Proposal, ProposalEnvelope, ProposalStatus};
use crate::refuse::{self, ToolError};
use crate::shelf::{Query, Stored};
use crate::work::ToolContext;

/// The states of records.
const DRAFT: &str = "draft";
const COMMITTED: &str = "committed";

/// The proposals for a brief, as they are published; none when the publisher makes none. A draft
/// that says the same already is proposed again rather than made anew.
pub(super) fn for_brief(
    work: &ToolContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
    words: &[String],
) -> Result<Vec<Value>, ToolError> {
    let Some(terms) = work.publisher.profile.catalogue.proposals else {
        return Ok(Vec::new());
    };
    let wanted = envelope(form, &offer.preferred_currency());
    let choices = offer.choices(words, &wanted.currency);
    let balanced = MediaPlan::balanced(&choices, wanted.budget);
    // Of two products, the focused plan would be about the balanced one once more.
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
            expires_at: after(work.ask.now, terms.draft_hours)?,
            allocations: plan.allocations(),
            envelope: plan.envelope(wanted.clone()),
            io_id: None,
            bought_as: None,
        };
        let account = work.admitted.account_id();
        let mut known = current(work, &draft)?.into_iter();
        let known =
            known.find(|it| it.thing.says_what(&draft) && it.record.account.as_deref() == account);
        proposals.push(match known {
            Some(kept) => kept.thing.published(),
            None => add(work, draft)?.published(),
        });
    }
    Ok(proposals)
}

/// Keeps a new draft.
fn add(work: &ToolContext<'_>, mut draft: Proposal) -> Result<Proposal, InternalError> {
    draft.proposal_id = work.fresh_id("prop")?;
    work.add(&draft.proposal_id, work.whose(), DRAFT, &draft)?;
    Ok(draft)
}

/// A query for drafts of the tenant.
fn drafts(work: &ToolContext<'_>) -> Query {
    Query { owner: Some(work.admitted.owner().to_owned()), ..Query::in_state(DRAFT) }
}

/// The tenant's current drafts that say what another says.
fn current(
    work: &ToolContext<'_>,
    draft: &Proposal,
) -> Result<Vec<Stored<Proposal>>, InternalError> {
    let mut known: Vec<Stored<Proposal>> =
        work.shelf.all(&Query { term: draft.content(), ..drafts(work) })?;
    known.retain(|kept| !work.horizon.has_come(kept.thing.expires_at));
    Ok(known)
}

/// Keeps the next version of a proposal: the same draft, changed. A committed proposal stays as it
/// was agreed, and its next version is a draft of its own.
pub(super) fn replanned(
    work: &ToolContext<'_>,
    form: &GetProducts,
    mut kept: Stored<Proposal>,
    plan: &MediaPlan,
) -> Result<Stored<Proposal>, ToolError> {
    let terms = terms(work)?;
    let allocations = plan.allocations();
    let envelope = plan.envelope(widened(kept.thing.envelope.clone(), form));
    // What says the same keeps the end that it has: asking again does not prolong a price.
    if kept.thing.allocations == allocations && kept.thing.envelope == envelope {
        return Ok(kept);
    }
    let next = Proposal {
        status: ProposalStatus::Draft,
        expires_at: after(work.ask.now, terms.draft_hours)?,
        allocations,
        envelope,
        io_id: None,
        bought_as: None,
        ..kept.thing.clone()
    };
    match kept.thing.status {
        ProposalStatus::Draft => {
            kept.thing = next;
            work.shelf.change(&mut kept, work.ask.now)?;
        }
        ProposalStatus::Committed => {
            let added = add(work, next)?;
            let broken =
                || InternalError::new("reading a proposal that was just kept", "it is not there");
            kept = work.shelf.find(&added.proposal_id)?.ok_or_else(broken)?;
        }
    }
    Ok(kept)
}

/// Commits a proposal, which holds its days of exclusive products until it expires. Whether it was a draft.
pub(super) fn commit(
    work: &ToolContext<'_>,
    kept: &mut Stored<Proposal>,
    offer: &Offer<'_>,
) -> Result<bool, ToolError> {
    if kept.thing.status == ProposalStatus::Committed {
        return Ok(false);
    }
    kept.thing.status = ProposalStatus::Committed;
    kept.thing.expires_at = after(work.ask.now, terms(work)?.hold_hours)?;
    kept.thing.io_id = Some(work.fresh_id("io")?);
    COMMITTED.clone_into(&mut kept.record.state);
    work.shelf.change(kept, work.ask.now)?;
    let proposal = &kept.thing;
    let is_sandbox = work.is_for_tests();
    let days = proposal.exclusive_days(&offer.available, is_sandbox, "proposal_id");
    let expires_at = Some(proposal.expires_at);
    exclusive::book_days(work.shelf, &proposal.proposal_id, &days, expires_at, work.ask.now)?;
    Ok(true)
}

/// A proposal may outlive the publisher's readiness to make more.
fn terms(work: &ToolContext<'_>) -> Result<ProposalTerms, ToolError> {
    work.publisher.profile.catalogue.proposals.ok_or_else(|| {
        let message = "this seller makes no proposals any more; buy products directly";
        refuse::error(AdcpCode::UnsupportedFeature, message).into()
    })
}

fn after(now: Timestamp, hours: u32) -> Result<Timestamp, InternalError> {
    now.checked_add(SignedDuration::from_hours(i64::from(hours)))
        .map_err(|error| InternalError::new("working out when a proposal expires", error))
}

/// What a request is priced against: what its filters say, or else the money in its brief. A request that names
/// no currency is priced in the preferred one.
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

/// An envelope with what the filters of a request say.
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
