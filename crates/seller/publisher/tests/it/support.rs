//! A publisher in a test: with a store in memory, at a fixed moment, with identifiers that count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use expect_test::Expect;
use jiff::{SignedDuration, Timestamp};
use tradepost_adcp::{AdcpAnswer, AdcpTool};
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Map, Value};
use tradepost_publisher::agent::{AgentStanding, Billing, BuyerAgent};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::profile::{
    Onboarding, PublisherProfile, Signing, ToolEndpoint, ToolTransport,
};
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::services::{
    BoxFuture, CallError, LimitWait, NamedGovernanceAgent, OrderAnswer, OrderQuestion, RateClass,
    Services, SubscriberChallenge, Supply, Unavailable,
};
use tradepost_publisher::store::memory::MemoryPublisherStore;
use tradepost_publisher::store::{PublisherStore, StoreTx};
use tradepost_publisher::tool_call::{AdcpToolCall, BuyerCaller};

use crate::leaks;

pub(crate) mod schemas;
pub(crate) mod script;
pub(crate) mod shop;

/// The moment at which every test begins.
pub(crate) const NOW: &str = "2026-06-01T12:00:00Z";

/// Callback that runs once.
pub(crate) struct OnceCallback(pub(crate) Box<dyn FnOnce() + Send>);

impl std::fmt::Debug for OnceCallback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnceCallback")
    }
}

/// What the world answers, as a test wants it.
#[derive(Debug, Default)]
pub(crate) struct FakeServices {
    ids: AtomicU64,
    /// The next answers of governance agents, the first first; none left: it is silent.
    pub(crate) governance: Mutex<Vec<Result<Map, CallError>>>,
    /// What governance agents were asked.
    pub(crate) asked: Mutex<Vec<Map>>,
    /// What verifiers answer, the first first; none left: they are silent.
    pub(crate) verifiers: Mutex<Vec<Result<Map, CallError>>>,
    /// What others do while verifiers are asked.
    pub(crate) during_verification: Mutex<Option<OnceCallback>>,
    /// What the ad server says; everything is on offer when `None`.
    pub(crate) supply: Mutex<Option<Result<Supply, Unavailable>>>,
    /// What the ad server says of the next orders; it has nothing against the others.
    pub(crate) order_answers: Mutex<Vec<Result<OrderAnswer, Unavailable>>>,
    /// What the ad server was asked before something was sold.
    pub(crate) order_questions: Mutex<Vec<OrderQuestion>>,
    /// What addresses were asked.
    pub(crate) challenged: Mutex<Vec<SubscriberChallenge>>,
    /// Class of requests whose rate limit is reached.
    pub(crate) full: Mutex<Option<RateClass>>,
    /// How many requests were counted.
    pub(crate) counted: AtomicU64,
}

impl Services for FakeServices {
    fn fresh_id(&self, prefix: &str) -> String {
        let number = self.ids.fetch_add(1, Ordering::Relaxed) + 1;
        // What has to be said back is long.
        let width = if prefix == "challenge" { 32 } else { 1 };
        format!("{prefix}_{number:0width$}")
    }

    fn admit(&self, _: &str, rate_class: RateClass) -> Result<(), LimitWait> {
        if *self.full.lock().unwrap() == Some(rate_class) {
            return Err(LimitWait { wait: Duration::from_secs(7), limit: 60, window_seconds: 60 });
        }
        self.counted.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn may_call(&self, url: &str) -> Result<(), &'static str> {
        if url.starts_with("https://") { Ok(()) } else { Err("must begin with https://") }
    }

    fn tidy(&self) {}

    fn check_governance<'a>(
        &'a self,
        _: &'a NamedGovernanceAgent,
        request: Map,
    ) -> BoxFuture<'a, Result<Map, CallError>> {
        self.asked.lock().unwrap().push(request);
        let mut answers = self.governance.lock().unwrap();
        let answer = if answers.is_empty() { Err(CallError::NoAnswer) } else { answers.remove(0) };
        Box::pin(std::future::ready(answer))
    }

    fn creative_features(
        &self,
        questions: Vec<(String, Map)>,
    ) -> BoxFuture<'_, Vec<Result<Map, CallError>>> {
        if let Some(OnceCallback(callback)) = self.during_verification.lock().unwrap().take() {
            callback();
        }
        let mut answers = self.verifiers.lock().unwrap();
        let mut next =
            || if answers.is_empty() { Err(CallError::NoAnswer) } else { answers.remove(0) };
        let results = questions.iter().map(|_| next()).collect();
        self.asked.lock().unwrap().extend(questions.into_iter().map(|(_, request)| request));
        Box::pin(std::future::ready(results))
    }

    fn agent_url(&self) -> String {
        "https://gazette.example/mcp".to_owned()
    }

    fn is_own_machine(&self, _: &str) -> bool {
        false
    }

    fn challenge(&self, challenges: Vec<SubscriberChallenge>) -> BoxFuture<'_, Vec<bool>> {
        let answers = challenges.iter().map(|challenge| {
            let echo = format!("{{\"challenge\": \"{}\"}}", challenge.word);
            challenge.is_answered_by(echo.as_bytes()) && !challenge.url.contains("mute.example")
        });
        let answers = answers.collect();
        self.challenged.lock().unwrap().extend(challenges);
        Box::pin(std::future::ready(answers))
    }

    /// The claims themselves, so that a test sees them.
    fn attest(&self, claims: &Value, critical: &[&str]) -> Option<String> {
        Some(format!("{} {claims}", critical.join(",")))
    }

    fn inventory(&self) -> BoxFuture<'_, Result<Supply, Unavailable>> {
        let fresh = Supply { sold_out: Vec::new(), age_seconds: 0, stale: None };
        let supply = self.supply.lock().unwrap().clone().unwrap_or(Ok(fresh));
        Box::pin(std::future::ready(supply))
    }

    fn check_order<'a>(
        &'a self,
        question: &'a OrderQuestion,
    ) -> BoxFuture<'a, Result<OrderAnswer, Unavailable>> {
        self.order_questions.lock().unwrap().push(question.clone());
        let mut answers = self.order_answers.lock().unwrap();
        let answer =
            if answers.is_empty() { Ok(OrderAnswer::default()) } else { answers.remove(0) };
        Box::pin(std::future::ready(answer))
    }

    fn report(&self, broken: &InternalError) -> String {
        // A test that breaks something by accident is to say what.
        eprintln!("broken: {}", broken.chain());
        "err_1".to_owned()
    }
}

/// A publisher with everything around it.
pub(crate) struct Harness {
    /// It.
    pub(crate) publisher: Publisher,
    /// Everything outside.
    pub(crate) services: Arc<FakeServices>,
    /// What it keeps.
    pub(crate) store: Arc<dyn PublisherStore>,
    /// The moment.
    pub(crate) now: Timestamp,
}

impl Harness {
    /// The usual publisher.
    pub(crate) fn new() -> Self {
        Self::from_profile(profile())
    }

    /// A publisher like this.
    pub(crate) fn from_profile(profile: PublisherProfile) -> Self {
        Self::on(profile, Arc::new(MemoryPublisherStore::default()))
    }

    /// A publisher like this that keeps what it keeps there.
    pub(crate) fn on(profile: PublisherProfile, store: Arc<dyn PublisherStore>) -> Self {
        let services = Arc::new(FakeServices::default());
        let publisher = Publisher::new(Arc::new(profile), Arc::clone(&store), services.clone());
        Self { publisher, services, store, now: NOW.parse().unwrap() }
    }

    /// The answer to a request of the buyer agent `acme`.
    pub(crate) fn ask(&self, tool: AdcpTool, arguments: Value) -> AdcpAnswer {
        self.ask_as(&self.caller("acme"), tool, arguments)
    }

    /// The answer to a request of somebody; it shows nothing that it must not show.
    pub(crate) fn ask_as(
        &self,
        caller: &BuyerCaller,
        tool: AdcpTool,
        arguments: Value,
    ) -> AdcpAnswer {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let call = self.request(caller, tool, arguments.clone());
        let answer = runtime.block_on(self.publisher.answer(call));
        leaks::inspect_answer(tool, &arguments, &answer);
        answer
    }

    /// A request of somebody.
    pub(crate) fn request(
        &self,
        caller: &BuyerCaller,
        tool: AdcpTool,
        arguments: Value,
    ) -> AdcpToolCall {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let caller = caller.clone();
        let since_1970 = self.now.duration_since(Timestamp::UNIX_EPOCH);
        let elapsed = Duration::try_from(since_1970).unwrap();
        AdcpToolCall { tool, arguments, caller, credential: None, now: self.now, elapsed }
    }

    /// Puts something in the store, past the publisher.
    pub(crate) fn put(
        &self,
        job: impl FnOnce(&dyn StoreTx) -> Result<(), InternalError> + Send + 'static,
    ) {
        let store: &dyn PublisherStore = &*self.store;
        // A store in memory runs a job once.
        let job = Mutex::new(Some(job));
        let job = move |tx: &dyn StoreTx| job.lock().unwrap().take().unwrap()(tx);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.act(job)).unwrap();
    }

    /// Who has a credential of this name: the agent that it is mapped to, if any.
    pub(crate) fn caller(&self, principal: &str) -> BuyerCaller {
        let mut agents = self.publisher.profile.agents.iter();
        let agent = agents.find(|agent| agent.principals.contains(principal)).cloned();
        BuyerCaller { principal: principal.to_owned(), agent }
    }

    /// Compares the whole answer to a request of `acme`.
    pub(crate) fn check(&self, tool: AdcpTool, arguments: Value, expected: &Expect) {
        compare(&self.ask(tool, arguments), expected);
    }

    /// Compares the whole answer to a request of somebody.
    pub(crate) fn check_as(
        &self,
        principal: &str,
        tool: AdcpTool,
        arguments: Value,
        expected: &Expect,
    ) {
        compare(&self.ask_as(&self.caller(principal), tool, arguments), expected);
    }
}

/// Compares a whole answer.
pub(crate) fn compare(answer: &AdcpAnswer, expected: &Expect) {
    expected.assert_eq(&tradepost_document::json::to_string_pretty(&answer.document()).unwrap());
}

/// The usual publisher: a sandbox that knows `acme` and `nova` as active agents, `paused`,
/// `banned` and `tester` (sandbox accounts alone), and has nothing to sell.
pub(crate) fn profile() -> PublisherProfile {
    let agent = |id: &str, standing, sandbox_only| {
        Arc::new(BuyerAgent {
            id: id.to_owned(),
            url: None,
            principals: [id.to_owned()].into(),
            standing,
            sandbox_only,
            live_only: id == "live",
            billing: None,
            scope: None,
            spend_limits: Vec::new(),
        })
    };
    PublisherProfile {
        id: "gazette".to_owned(),
        name: "The Gazette".to_owned(),
        domain: "gazette.example".to_owned(),
        sandbox: true,
        billing: vec![Billing::Operator, Billing::Agent],
        payment_terms: vec!["net_30".to_owned()],
        agents: vec![
            agent("acme", AgentStanding::Active, false),
            agent("nova", AgentStanding::Active, false),
            agent("paused", AgentStanding::Suspended, false),
            agent("banned", AgentStanding::Blocked, false),
            agent("tester", AgentStanding::Active, true),
            agent("live", AgentStanding::Active, false),
        ],
        onboarding: Onboarding::default(),
        replay_ttl: SignedDuration::from_hours(24),
        catalogue: Catalogue::default(),
        spend_limits: Vec::new(),
        four_eyes: Vec::new(),
        internals: false,
        signing: Signing::default(),
        endpoints: vec![ToolEndpoint {
            transport: ToolTransport::Mcp,
            url: "https://gazette.example/mcp".to_owned(),
        }],
        ad_server: None,
    }
}
