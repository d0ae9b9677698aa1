//! The steps that bring a publisher online, as its checklist shows them, and the form that tests one.

use std::sync::Arc;

use askama::Template;
use jiff::tz::TimeZone;
use tradepost_admin::AdminOperation;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_runtime::publisher_steps::trial::PublisherStepTester;
use tradepost_runtime::publisher_steps::{PublisherStep, PublisherStepFacts, states};
use tradepost_store::step_results::StepResult;

use super::super::steps::sentence;
use super::super::{
    Answer, Console, ConsoleReply, Local, PageError, PageFrame, ShownMoment, Visitor,
};

#[derive(Debug, Template)]
#[template(path = "publisher/set-up.html")]
struct SetUpPage {
    frame: PageFrame,
    is_testing: bool,
    done: usize,
    steps: Vec<SetUpStep>,
}

#[derive(Debug)]
struct SetUpStep {
    is_good: bool,
    name: &'static str,
    title: &'static str,
    text: String,
    place: &'static str,
    can_test: bool,
    is_running: bool,
    tested: Option<(String, ShownMoment)>,
}

impl Console {
    pub(crate) fn set_up(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let id = agent.profile.id.as_str();
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let facts = PublisherStepFacts {
            members: self.store.members(Some(id))?,
            keys: self.store.api_keys(Some(id))?,
            results: self.store.step_results(id)?,
        };
        let running = self.step_runs.running(id);
        let may = AdminOperation::TestPublisherStep.permission().is_of(visitor.member.role);
        let steps = states(&agent, &facts, here.now).into_iter().map(|state| {
            let tested = state.result.map(|StepResult { by, at, .. }| (by, here.when(at)));
            SetUpStep {
                is_good: state.is_done,
                name: state.step.name(),
                title: state.step.title(),
                text: sentence(&state.says),
                place: state.step.place(),
                can_test: may && state.step.is_tested() && state.can_test && running.is_none(),
                is_running: running == Some(state.step.name()),
                tested,
            }
        });
        let steps: Vec<_> = steps.collect();
        Ok(ConsoleReply::page(&SetUpPage {
            is_testing: running.is_some(),
            done: steps.iter().filter(|step| step.is_good).count(),
            steps,
            frame: self.frame(visitor, "Set-up")?,
        }))
    }

    /// Begins the test of a step, unless one of the publisher's is running.
    pub(crate) fn test_publisher_step(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let step = visitor.asked.filled_in("step").and_then(PublisherStep::from_name);
        let step = step.filter(|step| step.is_tested()).ok_or(PageError::NotFound)?;
        let busy =
            "A test of this publisher is running. Wait until it is done, then start another.";
        let place = self.step_runs.enter(&agent.profile.id, step.name());
        let place = place.ok_or(PageError::Unusable(busy))?;
        let tester = PublisherStepTester {
            store: Arc::clone(&self.store),
            clock: self.clock.clone(),
            agent,
            actor: visitor.actor(),
        };
        tokio::spawn(place.run(async move { tester.test(step).await }));
        Ok(ConsoleReply::see(super::link("set-up", [("done", Some("tested"))])))
    }
}
