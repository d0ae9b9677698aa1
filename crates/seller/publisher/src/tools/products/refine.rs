//! `refine`: changes an earlier result entry by entry and finalizes proposals. Each entry has its
//! answer at the same index of `refinement_applied`.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, object};

use super::offer::Offer;
use super::plan::{MediaPlan, PlanProgress};
use super::{propose, rank};
use crate::catalogue::Product;
use crate::exclusive;
use crate::forms::products::{GetProducts, RefineAction, RefineEntry};
use crate::inventory::WantedUnits;
use crate::proposal::{self, Proposal};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::store::Stored;
use crate::tool_context::{SearchContext, ToolContext, WorkStop};

impl RefineEntry {
    /// Returns the entry of `refinement_applied`.
    fn applied(&self, status: &str, notes: &str) -> Value {
        let (scope, product, proposal) = match self {
            Self::Request { .. } => ("request", None, None),
            Self::Product { product_id, .. } => ("product", Some(product_id), None),
            Self::Proposal { proposal_id, .. } => ("proposal", None, Some(proposal_id)),
        };
        object!({
            "scope": scope, "product_id"?: product, "proposal_id"?: proposal,
            "status": status, "notes": notes,
        })
    }
}

/// Subject of an entry.
enum RefineSubject {
    Request,
    Product(Box<Product>),
    Proposal(Box<Stored<Proposal>>),
}

/// Result of refining.
#[derive(Debug, Default)]
pub(super) struct Refined {
    /// Products in display order, each with its relevance to a brief.
    pub products: Vec<(Product, Option<String>)>,
    /// Proposals as published.
    pub proposals: Vec<Value>,
    /// `refinement_applied`.
    pub applied: Vec<Value>,
}

impl Refined {
    /// Adds a product, unless it is already there.
    fn push(&mut self, product: &Product) {
        if !self.products.iter().any(|(known, _)| known.id() == product.id()) {
            self.products.push((product.clone(), None));
        }
    }

    /// Adds a proposal and its products.
    fn propose(&mut self, proposal: &Proposal, offer: &Offer<'_>) {
        let products = proposal.allocations.iter().filter_map(|part| offer.find(&part.product_id));
        products.for_each(|product| self.push(product));
        self.proposals.push(proposal.published());
    }
}

/// Applies the entries of `refine`.
pub(super) fn refine(
    work: &SearchContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
) -> Result<Refined, WorkStop> {
    let entries = form.refine.as_deref().unwrap_or_default();
    let found = find(work, entries)?;
    let finalizes = |entry: &RefineEntry| {
        matches!(entry, RefineEntry::Proposal { action: RefineAction::Finalize, .. })
    };
    if entries.iter().any(finalizes) {
        return finalize(work, entries, offer, found);
    }
    let mut refined = Refined::default();
    let mut omitted = Vec::new();
    let mut named = false;
    let mut plans: Vec<(usize, &RefineEntry, Stored<Proposal>)> = Vec::new();
    for (entry, found) in entries.iter().zip(found) {
        let applied = match (entry, found) {
            (RefineEntry::Product { action: RefineAction::Omit, product_id, .. }, _) => {
                omitted.push(product_id.as_str());
                entry.applied("applied", "the product is left out")
            }
            (RefineEntry::Proposal { action: RefineAction::Omit, .. }, _) => {
                entry.applied("applied", "the proposal is left out")
            }
            (RefineEntry::Product { action, ask, .. }, RefineSubject::Product(product)) => {
                named = true;
                include(&mut refined, entry, *action, ask.as_deref(), &product, offer)
            }
            (RefineEntry::Proposal { .. }, RefineSubject::Proposal(stored)) => {
                named = true;
                plans.push((refined.applied.len(), entry, *stored));
                // Filled in below: the result depends on entries about the whole request, which may
                // follow this one.
                Value::Null
            }
            (RefineEntry::Request { .. }, _)
            | (
                _,
                RefineSubject::Request | RefineSubject::Product(_) | RefineSubject::Proposal(_),
            ) => Value::Null,
        };
        refined.applied.push(applied);
    }
    let overall = entries.iter().filter(|entry| matches!(entry, RefineEntry::Request { .. }));
    let overall: Vec<&str> = overall.filter_map(RefineEntry::ask).collect();
    let mut of_request = vec![PlanProgress::default(); overall.len()];
    for (place, entry, stored) in plans {
        let (stored, (status, notes)) =
            replan(work, form, offer, stored, entry.ask(), &overall, &mut of_request)?;
        if let Some(applied) = refined.applied.get_mut(place) {
            *applied = entry.applied(status, notes);
        }
        refined.propose(&stored.thing, offer);
    }
    if !named {
        let words: Vec<_> = overall.iter().flat_map(|ask| rank::meaningful_words(ask)).collect();
        let ranked = offer.ranked(&words, &[]).into_iter();
        refined.products = ranked.map(|(product, _)| (product, None)).collect();
    }
    refined.products.retain(|(product, _)| !omitted.contains(&product.id()));
    let planned = !refined.proposals.is_empty();
    let mut of_request = of_request.into_iter();
    for (entry, applied) in entries.iter().zip(&mut refined.applied) {
        if let RefineEntry::Request { .. } = entry {
            let done = of_request.next().unwrap_or_default();
            let (status, notes) = match (planned, named) {
                (true, _) => done.status(),
                (false, false) => {
                    ("partial", "the products are in the order in which they fit what is asked")
                }
                (false, true) => ("unable", "name a proposal to have its budget divided anew"),
            };
            *applied = entry.applied(status, notes);
        }
    }
    Ok(refined)
}

/// Finds the subjects of the entries; reports every problem.
fn find(work: &ToolContext<'_>, entries: &[RefineEntry]) -> Result<Vec<RefineSubject>, ToolError> {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            RefineEntry::Request { .. } => found.push(RefineSubject::Request),
            RefineEntry::Product { product_id, .. } => {
                let field = format!("refine[{index}].product_id");
                match work.publisher.product(work.reader, product_id)? {
                    None => {
                        problems.push(refusals::not_found(AdcpCode::ProductNotFound, Some(&field)))
                    }
                    Some(product) if product.is_expired(work.call.now) => {
                        let message = "the product has left the offer; discover again";
                        problems.push(refusals::at(AdcpCode::ProductExpired, &field, message));
                    }
                    Some(product) => found.push(RefineSubject::Product(Box::new(product))),
                }
            }
            RefineEntry::Proposal { proposal_id, .. } => {
                let field = format!("refine[{index}].proposal_id");
                let reach = &work.admitted.reach;
                match proposal::current(reach, work.reader, proposal_id, &field, work.call.now) {
                    Ok(stored) => found.push(RefineSubject::Proposal(Box::new(stored))),
                    Err(stop) => problems.extend(stop.reasons()?),
                }
            }
        }
    }
    AdcpRefusal::of_all(problems)?;
    Ok(found)
}

/// Includes a product and, with `more_like_this`, products of the same channels.
fn include(
    refined: &mut Refined,
    entry: &RefineEntry,
    action: RefineAction,
    ask: Option<&str>,
    product: &Product,
    offer: &Offer<'_>,
) -> Value {
    let Some(offered) = offer.find(product.id()) else {
        let notes = "the product is sold out, or a filter of this request leaves it out";
        return entry.applied("unable", notes);
    };
    refined.push(offered);
    if action == RefineAction::MoreLikeThis {
        let words: Vec<_> = ask.map(rank::meaningful_words).unwrap_or_default();
        let like = |other: &Product| {
            other.id() != product.id()
                && other.channels().iter().any(|channel| product.channels().contains(channel))
        };
        let ranked = offer.ranked(&words, &[]).into_iter().map(|(other, _)| other);
        let alike: Vec<_> = ranked.filter(like).collect();
        alike.iter().for_each(|other| refined.push(other));
        return match alike.is_empty() {
            false => entry.applied("applied", "products on the same channels follow it"),
            true => entry.applied("partial", "no other product is sold on the same channels"),
        };
    }
    let unchanged = "the product is included as it is sold; it is not changed by asking";
    match ask {
        None => entry.applied("applied", "the product is included"),
        Some(_) => entry.applied("partial", unchanged),
    }
}

/// Divides a proposal's budget again as its entry and the request ask. Returns the entry's status and
/// notes as well.
fn replan(
    work: &SearchContext<'_>,
    form: &GetProducts,
    offer: &Offer<'_>,
    stored: Stored<Proposal>,
    ask: Option<&str>,
    overall: &[&str],
    of_request: &mut [PlanProgress],
) -> Result<(Stored<Proposal>, (&'static str, &'static str)), WorkStop> {
    let asks = ask.into_iter().chain(overall.iter().copied());
    let words: Vec<_> = asks.flat_map(rank::meaningful_words).collect();
    let choices = offer.choices(&words, &stored.thing.envelope.currency);
    let mut plan = MediaPlan::from_allocations(&stored.thing.allocations, &choices);
    let whole = plan.len() == stored.thing.allocations.len();
    let done = ask.map(|ask| plan.ask(ask, &choices));
    for (ask, so_far) in overall.iter().zip(of_request) {
        *so_far = so_far.and(plan.ask(ask, &choices));
    }
    let outcome = match (plan.len(), whole, done) {
        (0, _, _) => ("unable", "none of its products is on offer any more"),
        (_, true, None) => ("applied", "the proposal is included"),
        (_, false, None) => ("partial", "products that are no longer on offer are left out"),
        (_, _, Some(done)) => done.status(),
    };
    if plan.len() == 0 {
        return Ok((stored, outcome));
    }
    Ok((propose::replanned(work, form, stored, &plan)?, outcome))
}

/// Commits the named proposals, all or none: everything is checked before the first change, and all
/// is one transaction.
fn finalize(
    work: &SearchContext<'_>,
    entries: &[RefineEntry],
    offer: &Offer<'_>,
    found: Vec<RefineSubject>,
) -> Result<Refined, WorkStop> {
    let proposal = |found| match found {
        RefineSubject::Proposal(stored) => Some(*stored),
        RefineSubject::Request | RefineSubject::Product(_) => None,
    };
    let mut stored: Vec<Stored<Proposal>> = found.into_iter().filter_map(proposal).collect();
    AdcpRefusal::of_all(finalize_problems(work, offer, &stored)?)?;
    let mut refined = Refined::default();
    for (entry, stored) in entries.iter().zip(&mut stored) {
        let fresh = propose::commit(work, stored, offer)?;
        let notes = if fresh {
            "committed: it can be bought until expires_at"
        } else {
            "the proposal had been committed before; its hold is as it was"
        };
        refined.applied.push(entry.applied("applied", notes));
        refined.propose(&stored.thing, offer);
    }
    Ok(refined)
}

/// Returns the reasons why proposals cannot be committed, each alone or all together.
fn finalize_problems(
    work: &ToolContext<'_>,
    offer: &Offer<'_>,
    stored: &[Stored<Proposal>],
) -> Result<Vec<AdcpError>, InternalError> {
    let mut problems = Vec::new();
    // `get_products` counts as reading, except for this part, which commits the seller.
    let granted = work.admitted.reach.rights().on_account(work.admitted.account_id());
    if granted.is_some_and(|granted| granted.read_only) {
        let message = "the caller may read this account and commit to nothing";
        problems.push(refusals::error(AdcpCode::ReadOnlyScope, message));
    }
    for (index, one) in stored.iter().enumerate() {
        let field = format!("refine[{index}].proposal_id");
        let mut before = stored.iter().take(index);
        if before.any(|other| other.thing.proposal_id == one.thing.proposal_id) {
            let message = "the same proposal is named twice; name each once";
            problems.push(refusals::invalid(&field, message));
            continue;
        }
        if one.thing.allocations.iter().any(|part| offer.available(&part.product_id).is_none()) {
            let message = "a product of the proposal is no longer on offer; refine it first";
            problems.push(refusals::at(AdcpCode::ProductUnavailable, &field, message));
        }
        let days = one.thing.exclusive_days(&offer.available, work.is_for_tests(), &field);
        let own = [one.thing.proposal_id.as_str()];
        problems.extend(exclusive::taken_days(work.reader, &days, &own, work.call.now)?);
        let inventory = offer.inventory(work);
        let account = work.admitted.account.as_ref().map(|account| &account.thing);
        let wanted = WantedUnits::from_proposal(&inventory, &one.thing, account, &field);
        problems.extend(inventory.shortages(
            work.reader,
            &wanted,
            None,
            Some(&one.thing.proposal_id),
        )?);
        // Two holds of the same guaranteed or exclusive inventory compete; both cannot be promised at once.
        let is_held = |product: &Product| {
            product.is_guaranteed() || product.is_exclusive() || product.pool().is_some()
        };
        let guaranteed = |proposal: &Proposal| -> Vec<String> {
            let ids = proposal.allocations.iter().map(|part| part.product_id.clone());
            ids.filter(|id| offer.available(id).is_some_and(is_held)).collect()
        };
        let wanted = guaranteed(&one.thing);
        let mut before = stored.iter().take(index);
        if before.any(|other| guaranteed(&other.thing).iter().any(|id| wanted.contains(id))) {
            let message = "these proposals hold the same guaranteed inventory, which cannot be \
                           promised in one request; finalize one at a time";
            problems.push(refusals::at(AdcpCode::MultiFinalizeUnsupported, "refine", message));
        }
    }
    Ok(problems)
}
