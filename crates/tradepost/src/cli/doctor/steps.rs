//! The steps that bring a dealer online, on the command line: their tests, and a finding for each.

use std::sync::Arc;

use tradepost_admin::steps::StepRefusal;
use tradepost_runtime::aap::card::base_url;
use tradepost_runtime::config::{Config, DealerConfig};
use tradepost_runtime::feeds::FeedStatus;
use tradepost_runtime::first_steps::trial::{DELIVERED_WITHIN, StepTester, TestContact};
use tradepost_runtime::first_steps::{self, FirstStep, OfferCount, StepFacts, StepState};
use tradepost_runtime::step_test::StepVerdict;
use tradepost_server::clock::Clock;
use tradepost_store::step_results::StepOutcome;

use crate::cli::context::runtime;
use crate::cli::operator::{failure, operator};
use crate::cli::output::CommandFailure;
use crate::cli::store_location::StoreOptions;
use crate::cli::token::TOKEN_VARIABLE;
use crate::cli::{Context, import};
use crate::doctor::{Area, DoctorFinding, FindingState, on_this_machine};

/// Steps that are tested, in their order. The test lead also tests the destinations.
const TESTED: [FirstStep; 2] = [FirstStep::Card, FirstStep::TestLead];

/// A step and the result of its test.
struct TestedStep {
    step: FirstStep,
    verdict: StepVerdict,
}

/// Tests the steps of a dealer with a lead from this address, and returns a finding for each step.
pub(super) fn examine(
    config: &Config,
    dealer: Option<&str>,
    email: &str,
    place: &StoreOptions,
    context: &Context,
) -> Result<Vec<DoctorFinding>, CommandFailure> {
    let dealer = Arc::new(import::pick(config, dealer)?.clone());
    let store = match place.open(Some(config), context) {
        Ok(store) => Arc::new(store),
        // The other checks say why, so they have to run.
        Err(_) => return Ok(vec![untested(&dealer)]),
    };
    let clock = Clock::system();
    let here = on_this_machine(config.server.listen);
    let tester = StepTester {
        store: Arc::clone(&store),
        clock: clock.clone(),
        base_url: base_url(&dealer, config.server.origin(here)),
        dealer: Arc::clone(&dealer),
        actor: operator(context),
        timeout: DELIVERED_WITHIN,
    };
    let token = context.filled(TOKEN_VARIABLE).map(str::to_owned);
    let contact = TestContact { email: email.to_owned(), token };
    let runtime = runtime(tokio::runtime::Builder::new_multi_thread())?;
    let mut tested = Vec::new();
    for step in TESTED {
        context.output.talk(format!("testing {step} …"));
        let verdict = runtime.block_on(tester.test(step, &contact));
        let verdict = verdict.map_err(|error| failure(error, refused))?;
        tested.push(TestedStep { step, verdict });
    }
    // DNS lookups run on threads that cannot be stopped.
    runtime.shutdown_background();
    let id = &dealer.terms.id;
    let count = OfferCount::read(&store, id)?;
    let feeds = FeedStatus::read_all(&store, &dealer)?;
    let facts = StepFacts {
        listings: count.listings,
        latest: count.latest,
        feeds: &feeds,
        results: store.step_results(id)?,
    };
    let states = first_steps::states(&dealer, &facts, clock.now());
    Ok(states.iter().map(|state| finding(&dealer, state, &tested)).collect())
}

/// Returns the finding of a dealer whose steps could not be tested without the store.
fn untested(dealer: &DealerConfig) -> DoctorFinding {
    DoctorFinding {
        area: Area::Steps,
        subject: dealer.terms.id.clone(),
        state: FindingState::Bad,
        says: "no step was tested, because the store cannot be opened".to_owned(),
        hint: Some("correct what the store's findings name, and test again".to_owned()),
    }
}

fn refused(refusal: StepRefusal) -> CommandFailure {
    match refusal {
        StepRefusal::UnknownDealer(id) => CommandFailure::usage(format!("there is no dealer {id}")),
        StepRefusal::NoTestLead(id) => CommandFailure::usage(format!("the lead {id} is no test")),
    }
}

/// Returns the finding of a step, with the advice of its test.
fn finding(dealer: &DealerConfig, state: &StepState, tested: &[TestedStep]) -> DoctorFinding {
    let StepState { step, is_done, says, .. } = state;
    let verdict = tested.iter().find(|tested| tested.step == *step).map(|tested| &tested.verdict);
    let failed = verdict.filter(|verdict| verdict.outcome == StepOutcome::Failed);
    let open = match step {
        FirstStep::Identity | FirstStep::Hours => FindingState::Warning,
        FirstStep::Feed | FirstStep::Delivery | FirstStep::Card | FirstStep::TestLead => {
            FindingState::Bad
        }
    };
    let hint = failed.and_then(|verdict| verdict.hint).unwrap_or_else(|| step.place());
    DoctorFinding {
        area: Area::Steps,
        subject: format!("{}: {step}", dealer.terms.id),
        state: if *is_done { FindingState::Ok } else { open },
        says: failed.map_or_else(|| says.clone(), |verdict| verdict.says.clone()),
        hint: (!is_done).then(|| hint.to_owned()),
    }
}
