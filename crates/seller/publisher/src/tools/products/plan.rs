//! Media plans: creates a plan from products and changes it on request. Requests are read by simple
//! rules: shares in percent, more, less or without, each with the name of a channel. Anything else
//! is reported as not done.

use super::rank::{self, ProductFit};
use crate::account::Account;
use crate::catalogue::{Product, ProductPrice, words};
use crate::money::MoneyAmount;
use crate::proposal::{ProposalAllocation, ProposalEnvelope};

/// Maximum number of products in a plan.
const MOST: usize = 4;

/// Percentage points by which "more" and "less" change a share.
const STEP: f64 = 20.0;

/// Words that remove a channel.
const REMOVAL_WORDS: [&str; 5] = ["drop", "remove", "exclude", "without", "omit"];

/// Words that reduce a share.
const REDUCTION_WORDS: [&str; 4] = ["less", "reduce", "decrease", "fewer"];

/// Words that increase a share.
const INCREASE_WORDS: [&str; 7] =
    ["more", "shift", "increase", "add", "redistribute", "toward", "towards"];

/// Product that a plan can contain: with a fixed price and without approval.
#[derive(Debug, Clone)]
pub(super) struct PlanProduct {
    /// The product.
    pub product: Product,
    /// Match with the brief.
    pub fit: ProductFit,
    /// Rationale for including it.
    rationale: String,
    /// Id of its price.
    pricing_option_id: String,
    /// Minimum budget at that price.
    minimum: MoneyAmount,
}

impl PlanProduct {
    /// Creates the entry with the product's first fixed price in a currency.
    pub(super) fn new(
        product: Product,
        fit: ProductFit,
        account: Option<&Account>,
        wanted: &str,
    ) -> Option<Self> {
        if product.terms.approval {
            return None;
        }
        let option = product.prices_for(account).iter().find(|option| {
            matches!(option.price(), ProductPrice::Fixed(_)) && option.currency() == wanted
        })?;
        let rationale = fit.rationale();
        let pricing_option_id = option.id().to_owned();
        let minimum = product.minimum(option).unwrap_or_default();
        Some(Self { product, fit, rationale, pricing_option_id, minimum })
    }
}

/// Plan before it is stored.
#[derive(Debug, Clone)]
pub(super) struct MediaPlan(Vec<(PlanProduct, f64)>);

impl MediaPlan {
    /// Creates a plan of the best choices, weighted by how well they match; with fewer products
    /// when the budget is below their minimums.
    pub(super) fn balanced(choices: &[PlanProduct], budget: Option<MoneyAmount>) -> Option<Self> {
        let fitting = choices.iter().filter(|choice| !choice.fit.shared.is_empty());
        let mut chosen: Vec<_> = fitting.take(MOST).cloned().collect();
        while !chosen.is_empty() {
            let shares = chosen.iter().map(|choice| (choice.clone(), f64::from(choice.fit.score)));
            let plan = Self::from_shares(shares);
            if budget.is_none_or(|budget| plan.minimum() <= budget) {
                return Some(plan);
            }
            // The product with the highest requirement is removed.
            let dearest = plan.dearest();
            chosen.remove(dearest);
        }
        None
    }

    /// Creates a plan of the best two choices, sixty to forty percent.
    pub(super) fn focused(choices: &[PlanProduct], budget: Option<MoneyAmount>) -> Option<Self> {
        let mut fitting = choices.iter().filter(|choice| !choice.fit.shared.is_empty()).cloned();
        let first = fitting.next()?;
        let second = fitting.next()?;
        let plan = Self::from_shares([(first, 60.0), (second, 40.0)].into_iter());
        budget.is_none_or(|budget| plan.minimum() <= budget).then_some(plan)
    }

    /// Restores the plan of a proposal, without products that are no longer among the choices.
    pub(super) fn from_allocations(
        allocations: &[ProposalAllocation],
        choices: &[PlanProduct],
    ) -> Self {
        let restored = allocations.iter().filter_map(|part| {
            let choice = choices.iter().find(|choice| choice.product.id() == part.product_id)?;
            let choice = PlanProduct { rationale: part.rationale.clone(), ..choice.clone() };
            Some((choice, f64::from(part.percentage)))
        });
        Self::from_shares(restored)
    }

    fn from_shares(shares: impl Iterator<Item = (PlanProduct, f64)>) -> Self {
        let mut plan = Self(shares.collect());
        plan.scale();
        plan
    }

    /// Returns the number of products.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the least budget that gives every product its minimum.
    pub(super) fn minimum(&self) -> MoneyAmount {
        let needs = self.percentages().into_iter().zip(&self.0).map(|(percent, (choice, _))| {
            choice.minimum.share(MoneyAmount::whole(100), MoneyAmount::whole(percent.max(1)))
        });
        needs.max().unwrap_or_default().ceil()
    }

    fn dearest(&self) -> usize {
        // Shares are weighted in hundredths of a percent, so that money stays exact.
        let need = |(choice, share): &(PlanProduct, f64)| {
            let weight = MoneyAmount::whole(hundredths(*share));
            choice.minimum.share(MoneyAmount::whole(10_000), weight)
        };
        let places = 0..self.0.len();
        let needs = places.zip(self.0.iter().map(need));
        needs.max_by_key(|(_, need)| *need).map_or(0, |(place, _)| place)
    }

    /// Returns the allocations of the plan.
    pub(super) fn allocations(&self) -> Vec<ProposalAllocation> {
        let shares = self.percentages().into_iter().zip(&self.0);
        let shares = shares.filter(|(percentage, _)| *percentage > 0);
        let allocation =
            |(percentage, (choice, _)): (u32, &(PlanProduct, f64))| ProposalAllocation {
                product_id: choice.product.id().to_owned(),
                pricing_option_id: choice.pricing_option_id.clone(),
                percentage,
                rationale: choice.rationale.clone(),
            };
        shares.map(allocation).collect()
    }

    /// Returns the envelope of a proposal of this plan.
    pub(super) fn envelope(&self, wanted: ProposalEnvelope) -> ProposalEnvelope {
        ProposalEnvelope {
            minimum: Some(self.minimum()).filter(|least| *least > MoneyAmount::ZERO),
            ..wanted
        }
    }

    /// Returns the shares in whole percent with a sum of 100: rounded down, with the rest given to
    /// the largest remainders.
    fn percentages(&self) -> Vec<u32> {
        let floors: Vec<u32> = self.0.iter().map(|(_, share)| whole(*share)).collect();
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        let rest = |place: &usize| self.0.get(*place).map_or(0.0, |(_, share)| share.fract());
        // Equal remainders are ordered by position, so that the same brief always gives the same
        // plan.
        order.sort_by(|one, other| rest(other).total_cmp(&rest(one)).then(one.cmp(other)));
        let lost = 100_u32.saturating_sub(floors.iter().sum());
        let rounded_up: Vec<usize> =
            order.into_iter().take(usize::try_from(lost).unwrap_or_default()).collect();
        let raised = |(place, floor): (usize, u32)| floor + u32::from(rounded_up.contains(&place));
        floors.into_iter().enumerate().map(raised).collect()
    }

    fn scale(&mut self) {
        let sum: f64 = self.0.iter().map(|(_, share)| share).sum();
        for (_, share) in &mut self.0 {
            *share = if sum > 0.0 { *share * 100.0 / sum } else { 0.0 };
        }
    }

    /// Applies a request: removals first, so that requested shares refer to the remaining products.
    /// Products can be added from `choices`.
    pub(super) fn ask(&mut self, ask: &str, choices: &[PlanProduct]) -> PlanProgress {
        let mut done = PlanProgress::default();
        let (removals, others): (Vec<_>, Vec<_>) =
            clauses(ask).into_iter().partition(|clause| has(clause, &REMOVAL_WORDS));
        for clause in removals.into_iter().chain(others) {
            done.count(self.clause(&clause, choices));
        }
        done
    }

    /// Applies one clause. Returns true when it was done, and `None` when it has no content.
    fn clause(&mut self, clause: &[String], choices: &[PlanProduct]) -> Option<bool> {
        let channel = clause.iter().find(|word| rank::is_channel(word));
        if clause.iter().all(|word| rank::meaningful_words(word).is_empty()) {
            return None;
        }
        let Some(channel) = channel else {
            return Some(false);
        };
        let percent = clause.iter().find_map(|word| word.strip_suffix('%')?.parse::<f64>().ok());
        if has(clause, &REMOVAL_WORDS) {
            return Some(self.drop_channel(channel));
        }
        let now = self.share(channel);
        let wanted = match percent {
            Some(percent) if (0.0..=100.0).contains(&percent) => percent,
            Some(_) => return Some(false),
            None if has(clause, &REDUCTION_WORDS) => (now - STEP).max(0.0),
            None if has(clause, &INCREASE_WORDS) => (now + STEP).min(100.0),
            None => return Some(false),
        };
        Some(self.set(channel, wanted, choices))
    }

    fn share(&self, channel: &str) -> f64 {
        let is = |(choice, _): &&(PlanProduct, f64)| rank::names_channel(channel, &choice.product);
        self.0.iter().filter(is).map(|(_, share)| share).sum()
    }

    fn drop_channel(&mut self, channel: &str) -> bool {
        let keeps = |share: &(PlanProduct, f64)| !rank::names_channel(channel, &share.0.product);
        if !self.0.iter().any(keeps) || self.0.iter().all(keeps) {
            return false;
        }
        self.0.retain(keeps);
        self.scale();
        true
    }

    /// Sets the share of a channel; the others keep their proportions.
    fn set(&mut self, channel: &str, wanted: f64, choices: &[PlanProduct]) -> bool {
        let is = |share: &(PlanProduct, f64)| rank::names_channel(channel, &share.0.product);
        if !self.0.iter().any(is) {
            let new = choices.iter().find(|choice| rank::names_channel(channel, &choice.product));
            let Some(new) = new.filter(|_| wanted > 0.0) else {
                return false;
            };
            // A small initial share, because no factor leads from zero to the wanted share.
            self.0.push((new.clone(), 1.0));
        }
        let inside = self.share(channel);
        let outside: f64 = self.0.iter().map(|(_, share)| share).sum::<f64>() - inside;
        if inside <= 0.0 || outside <= 0.0 {
            return wanted >= 100.0;
        }
        for share in &mut self.0 {
            let factor = if is(share) { wanted / inside } else { (100.0 - wanted) / outside };
            share.1 *= factor;
        }
        self.0.retain(|(_, share)| *share > 0.0);
        self.scale();
        true
    }
}

/// Returns true when a clause has one of these words.
fn has(clause: &[String], words: &[&str]) -> bool {
    clause.iter().any(|word| words.contains(&word.as_str()))
}

/// Returns a share in percent, rounded down. Shares are from 0 to 100.
fn whole(share: f64) -> u32 {
    // Tolerates rounding errors: a share just below 40 counts as 40.
    (0..=100_u32).rev().find(|percent| f64::from(*percent) <= share + 1e-9).unwrap_or(0)
}

/// Returns a share in hundredths of a percent, at least one percent.
fn hundredths(share: f64) -> u32 {
    (share.clamp(1.0, 100.0) * 100.0).round() as u32
}

/// Number of clauses done and not done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PlanProgress {
    /// Clauses that were done.
    pub done: u32,
    /// Clauses that were not done.
    pub left: u32,
}

impl PlanProgress {
    fn count(&mut self, done: Option<bool>) {
        match done {
            Some(true) => self.done += 1,
            Some(false) => self.left += 1,
            None => {}
        }
    }

    /// Adds another count.
    pub(super) fn and(self, other: Self) -> Self {
        Self { done: self.done + other.done, left: self.left + other.left }
    }

    /// Returns the status and the notes for `refinement_applied`.
    pub(super) fn status(self) -> (&'static str, &'static str) {
        const RULES: &str = "this seller understands shares in percent, more, less and without, \
                             each with the name of a channel";
        match (self.done, self.left) {
            (0, _) => ("unable", RULES),
            (_, 0) => ("applied", "the budget is divided as asked"),
            (_, _) => ("partial", RULES),
        }
    }
}

/// Splits a request into clauses of lower-case words; a percentage keeps its sign.
fn clauses(ask: &str) -> Vec<Vec<String>> {
    let sentences = ask.split(['.', ';', '\n']).flat_map(|sentence| sentence.split(" and "));
    let spelled = |sentence: &str| -> Vec<String> {
        let spaced = sentence.split_whitespace().flat_map(|word| {
            let trimmed =
                word.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '%');
            if trimmed.ends_with('%') { vec![trimmed.to_owned()] } else { words(trimmed).collect() }
        });
        spaced.collect()
    };
    sentences.map(spelled).filter(|clause| !clause.is_empty()).collect()
}
