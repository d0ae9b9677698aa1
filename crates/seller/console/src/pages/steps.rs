//! The steps that bring a dealer online, as the checklist shows them, and the forms that test them.

use std::sync::Arc;

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format;
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_runtime::feeds::FeedStatus;
use tradepost_runtime::first_steps::trial::{DELIVERED_WITHIN, StepTester, TestContact};
use tradepost_runtime::first_steps::{self, FirstStep, StepFacts, StepState};

use super::super::listing_warnings::Summary;
use super::{Answer, Console, ConsoleReply, Local, PageError, ShownMoment, Visitor, link};

/// A step of a checklist.
#[derive(Debug)]
pub(super) struct StepView {
    pub(super) is_good: bool,
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) text: String,
    pub(super) place: &'static str,
    /// True when the page has a button that tests it.
    pub(super) can_test: bool,
    /// True when the test needs an e-mail address.
    pub(super) asks_email: bool,
    pub(super) is_running: bool,
    pub(super) tested: Option<TestedView>,
}

/// The last test of a step.
#[derive(Debug)]
pub(super) struct TestedView {
    pub(super) by: String,
    pub(super) when: ShownMoment,
}

impl Console {
    /// Returns the steps of a dealer in their order.
    pub(super) fn steps(
        &self,
        seller: &Arc<DealerAgent>,
        summary: &Summary,
        feeds: &[FeedStatus<'_>],
    ) -> Result<Vec<StepView>, PageError> {
        let dealer = &seller.dealer;
        let facts = StepFacts {
            listings: summary.listings,
            latest: summary.latest,
            feeds,
            results: self.store.step_results(&dealer.terms.id)?,
        };
        let running = self.step_runs.running(&dealer.terms.id);
        let here = self.local(std::slice::from_ref(seller));
        let states = first_steps::states(dealer, &facts, here.now);
        let has_destination = !dealer.deliveries.is_empty();
        let view = |state| {
            let mut view = view(state, &here);
            view.is_running = running == Some(view.name);
            let is_possible = view.name != FirstStep::Delivery.name() || has_destination;
            view.can_test &= running.is_none() && is_possible;
            view
        };
        Ok(states.into_iter().map(view).collect())
    }

    /// Begins the test of a step, unless one of the dealer's is running.
    pub(crate) fn test_step(&self, visitor: &Visitor<'_>) -> Answer {
        let id = visitor.asked.filled_in("dealer").ok_or(PageError::NotFound)?;
        let seller = self.dealer(visitor, Some(id))?;
        let step = visitor.asked.filled_in("step").and_then(FirstStep::from_name);
        let step = step.filter(|step| step.is_tested()).ok_or(PageError::NotFound)?;
        let email = visitor.asked.filled_in("email").unwrap_or_default().trim().to_owned();
        if step == FirstStep::TestLead && !format::is_email(&email) {
            let why =
                "Enter your own e-mail address, such as you@example.com: the test lead has it.";
            return Err(PageError::Unusable(why));
        }
        let busy = "A test of this dealer is running. Wait until it is done, then start another.";
        let place = self.step_runs.enter(id, step.name()).ok_or(PageError::Unusable(busy))?;
        let tester = StepTester {
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            dealer: Arc::clone(&seller.dealer),
            base_url: seller.base_url.clone(),
            actor: visitor.actor(),
            timeout: DELIVERED_WITHIN,
        };
        let contact = TestContact { email, token: None };
        tokio::spawn(place.run(async move { tester.test(step, &contact).await }));
        Ok(ConsoleReply::see(link("checklist", [("done", Some("tested"))])))
    }
}

fn view(state: StepState, here: &Local) -> StepView {
    let StepState { step, is_done, says, result } = state;
    let tested = result.map(|result| TestedView { by: result.by, when: here.when(result.at) });
    StepView {
        is_good: is_done,
        name: step.name(),
        title: step.title(),
        text: sentence(&says),
        place: step.place(),
        can_test: step.is_tested(),
        asks_email: step == FirstStep::TestLead,
        is_running: false,
        tested,
    }
}

/// Writes a fragment as a sentence.
pub(super) fn sentence(fragment: &str) -> String {
    let mut letters = fragment.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.map(|first| format!("{first}{}.", letters.as_str())).unwrap_or_default()
}
