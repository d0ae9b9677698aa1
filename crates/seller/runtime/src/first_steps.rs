//! Steps from nothing to a dealer online. There is one list of them, which `tradepost doctor --test-lead` and the
//! console's checklist both show; [`trial`] tests those that need somebody else's answer.

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::settings::RooftopSettings;
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_store::step_results::{StepOutcome, StepResult};

use crate::config::DealerConfig;
use crate::feeds::{FeedStatus, unconfirmed_for};

pub mod trial;

catalog! {
    /// A step from nothing to a dealer online, in their order.
    pub enum FirstStep {
        /// Title, as a sentence of what is so when the step is done.
        title: &'static str,
        /// Setting or command that does the step.
        place: &'static str,
        /// True when its test sends something or asks another server.
        is_tested: bool,
    }
    /// Name, telephone number and address.
    Identity = "identity" {
        title: "Customers know who you are", place: "phones and address in [[dealers.rooftops]]",
        is_tested: false,
    }
    /// Opening hours.
    Hours = "hours" {
        title: "Opening hours are configured", place: "[dealers.rooftops.schedules]",
        is_tested: false,
    }
    /// Vehicles on offer, from a feed that is up to date.
    Feed = "feed" {
        title: "Vehicles are on offer",
        place: "[[dealers.feeds]], or tradepost import FILE", is_tested: false,
    }
    /// A destination of leads that takes them.
    Delivery = "delivery" {
        title: "Leads reach your systems", place: "[[dealers.deliveries]]", is_tested: true,
    }
    /// The agent card at its public address.
    Card = "card" {
        title: "Buyers find your agent card", place: "public_url in [[dealers]]", is_tested: true,
    }
    /// A lead that went the whole way.
    TestLead = "test-lead" {
        title: "A test lead has gone the whole way",
        place: "tradepost doctor --test-lead you@example.com", is_tested: true,
    }
}

/// State of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    /// The step.
    pub step: FirstStep,
    /// True when it is done.
    pub is_done: bool,
    /// Description: a lower-case fragment without a full stop.
    pub says: String,
    /// Last test of the step.
    pub result: Option<StepResult>,
}

/// Stored data of a dealer that decide the states.
#[derive(Debug)]
pub struct StepFacts<'a> {
    /// Number of vehicles on offer.
    pub listings: usize,
    /// Time at which a listing was last confirmed.
    pub latest: Option<Timestamp>,
    /// Its feeds.
    pub feeds: &'a [FeedStatus<'a>],
    /// Last tests of its steps.
    pub results: Vec<StepResult>,
}

/// Number of vehicles on offer, and the time at which one was last confirmed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OfferCount {
    /// Number of vehicles.
    pub listings: usize,
    /// Time at which one was last confirmed.
    pub latest: Option<Timestamp>,
}

impl OfferCount {
    /// Counts the vehicles of a dealer.
    ///
    /// # Errors
    /// When the store fails.
    pub fn read(store: &Store, dealer_id: &str) -> Result<Self, InternalError> {
        let mut count = Self::default();
        store.each_listing(dealer_id, |vehicle| {
            count.listings += 1;
            count.latest = count.latest.max(vehicle.updated_at);
        })?;
        Ok(count)
    }
}

/// Returns the states of all steps of a dealer, in their order.
#[must_use]
pub fn states(dealer: &DealerConfig, facts: &StepFacts<'_>, now: Timestamp) -> Vec<StepState> {
    let state = |step: &FirstStep| {
        let result = facts.results.iter().find(|result| result.step == step.name()).cloned();
        let judged = match step {
            FirstStep::Identity => identity(dealer),
            FirstStep::Hours => hours(dealer),
            FirstStep::Feed => feed(facts, now),
            FirstStep::Delivery if dealer.deliveries.is_empty() => DealerStepJudgement::open(
                "no destination is configured: leads are only in the console",
            ),
            FirstStep::Delivery | FirstStep::Card | FirstStep::TestLead => tested(result.as_ref()),
        };
        let DealerStepJudgement { is_done, says } = judged;
        StepState { step: *step, is_done, says, result }
    };
    FirstStep::ALL.iter().map(state).collect()
}

/// Judgement of a step.
struct DealerStepJudgement {
    is_done: bool,
    says: String,
}

impl DealerStepJudgement {
    fn done(says: impl Into<String>) -> Self {
        Self { is_done: true, says: says.into() }
    }

    fn open(says: impl Into<String>) -> Self {
        Self { is_done: false, says: says.into() }
    }
}

fn identity(dealer: &DealerConfig) -> DealerStepJudgement {
    let rooftops = &dealer.terms.rooftops;
    let unreachable = names(rooftops, |rooftop| rooftop.profile.phones.is_empty());
    let placeless = names(rooftops, |rooftop| rooftop.profile.address.is_none());
    let missing = [("telephone number", unreachable), ("address", placeless)];
    let missing = missing.into_iter().filter(|(_, names)| !names.is_empty());
    let missing: Vec<_> =
        missing.map(|(what, names)| format!("without a {what}: {names}")).collect();
    if missing.is_empty() {
        let all = names(rooftops, |_| true);
        return DealerStepJudgement::done(format!("{}: {all}", dealer.terms.name));
    }
    DealerStepJudgement::open(missing.join("; "))
}

fn hours(dealer: &DealerConfig) -> DealerStepJudgement {
    let closed = names(&dealer.terms.rooftops, |rooftop| rooftop.profile.schedules.is_empty());
    if closed.is_empty() {
        return DealerStepJudgement::done("every rooftop has opening hours");
    }
    DealerStepJudgement::open(format!("without opening hours: {closed}"))
}

fn names(rooftops: &[RooftopSettings], is_meant: impl Fn(&RooftopSettings) -> bool) -> String {
    let meant = rooftops.iter().filter(|rooftop| is_meant(rooftop));
    meant.map(|rooftop| rooftop.profile.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn feed(facts: &StepFacts<'_>, now: Timestamp) -> DealerStepJudgement {
    let StepFacts { listings, latest, feeds, .. } = facts;
    if let Some(held) = feeds.iter().find_map(|status| status.not_taken()) {
        let reason = held.message.as_deref().unwrap_or("it could not be read");
        return DealerStepJudgement::open(format!("feed {} was not taken: {reason}", held.feed));
    }
    if let Some(stale) = feeds.iter().find(|status| status.standing.state.stale_since.is_some()) {
        return DealerStepJudgement::open(format!("feed {} is stale", stale.feed.name));
    }
    let Some(latest) = latest.filter(|_| *listings > 0) else {
        return DealerStepJudgement::open("no vehicle is on offer");
    };
    let noun = if *listings == 1 { "vehicle" } else { "vehicles" };
    let minutes = SignedDuration::from_mins(now.duration_since(latest).as_mins().max(0));
    let says = format!("{listings} {noun}, confirmed {minutes:#} ago");
    match unconfirmed_for(Some(latest), feeds, now) {
        Some(_) => DealerStepJudgement::open(says),
        None => DealerStepJudgement::done(says),
    }
}

fn tested(result: Option<&StepResult>) -> DealerStepJudgement {
    match result {
        None => DealerStepJudgement::open("not tested yet"),
        Some(result) => match result.outcome {
            StepOutcome::Passed => DealerStepJudgement::done(&result.says),
            StepOutcome::Failed => DealerStepJudgement::open(&result.says),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::read;

    fn done(facts: &StepFacts<'_>) -> Vec<&'static str> {
        let demo = read::demo();
        let now = "2026-05-10T12:00:00Z".parse().unwrap();
        let states = states(&demo.dealers[0], facts, now);
        let done = states.iter().filter(|state| state.is_done);
        done.map(|state| state.step.name()).collect()
    }

    #[test]
    fn steps_are_done_by_settings_vehicles_and_tests() {
        let result = |step: FirstStep, outcome| StepResult {
            dealer_id: "larkspur".to_owned(),
            step: step.name().to_owned(),
            at: Timestamp::UNIX_EPOCH,
            by: "ada".to_owned(),
            outcome,
            says: "said".to_owned(),
        };
        let mut facts = StepFacts { listings: 0, latest: None, feeds: &[], results: Vec::new() };
        assert_eq!(done(&facts), ["identity", "hours"]);
        facts.listings = 2;
        facts.latest = Some("2026-05-10T11:00:00Z".parse().unwrap());
        facts.results = vec![
            result(FirstStep::Card, StepOutcome::Passed),
            result(FirstStep::TestLead, StepOutcome::Failed),
            // There is no destination, so an earlier test of one does not count.
            result(FirstStep::Delivery, StepOutcome::Passed),
        ];
        assert_eq!(done(&facts), ["identity", "hours", "feed", "card"]);
        facts.latest = Some("2026-05-07T11:00:00Z".parse().unwrap());
        assert_eq!(done(&facts), ["identity", "hours", "card"]);
    }
}
