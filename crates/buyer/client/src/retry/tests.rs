//! Tests in virtual time: every sleep is asserted, and none takes place.

use std::collections::VecDeque;

use proptest::prelude::*;
use tradepost_document::json::{Value, json};

use super::*;
use crate::failure::Unsent;
use crate::fake::Virtual;
use crate::recovery::{AskReason, ResendEffect, Spent};
use crate::response::{RawResponse, Via, read};

/// Sender that gets these answers, the last one again and again.
struct Script {
    clock: Virtual,
    answers: VecDeque<Option<Value>>,
    /// Time that each request takes.
    takes: Duration,
    /// True when an answer never comes.
    hangs: bool,
    corrects: bool,
    authenticates: bool,
    /// Moment and key of each request.
    log: Vec<(f64, RequestKey)>,
    changes: Vec<RequestChange>,
    asked_for: Vec<CredentialStep>,
    /// True when requests have a key; `key` is that of the latest.
    keyed: bool,
    key: Option<String>,
}

impl Script {
    fn new(clock: &Virtual, answers: impl IntoIterator<Item = Option<Value>>) -> Self {
        Self {
            clock: clock.clone(),
            answers: answers.into_iter().collect(),
            takes: Duration::ZERO,
            hangs: false,
            corrects: true,
            authenticates: true,
            log: Vec::new(),
            changes: Vec::new(),
            asked_for: Vec::new(),
            keyed: true,
            key: None,
        }
    }

    fn keys(&self) -> Vec<RequestKey> {
        self.log.iter().map(|(_, key)| *key).collect()
    }
}

impl IntentSender for Script {
    type Answer = ();

    async fn send(&mut self, key: RequestKey) -> Result<(), CallFailure> {
        self.log.push((self.clock.now().as_secs_f64(), key));
        self.key = match (key, self.keyed) {
            (_, false) => None,
            (RequestKey::First, true) => Some("key 1".to_owned()),
            (RequestKey::Same, true) => self.key.take(),
            (RequestKey::Fresh, true) => Some(format!("key {}", self.log.len())),
        };
        if self.hangs {
            std::future::pending::<()>().await;
        }
        self.clock.pass(self.takes);
        let answer = match self.answers.len() {
            1 => self.answers[0].clone(),
            _ => self.answers.pop_front().unwrap(),
        };
        answer.map_or(Ok(()), |error| Err(failure(&error)))
    }

    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    async fn correct(&mut self, fix: &Fix, _: &CallFailure) -> bool {
        self.changes.push(fix.change.clone());
        self.corrects
    }

    async fn authenticate(&mut self, first: CredentialStep) -> bool {
        self.asked_for.push(first);
        self.authenticates
    }
}

fn failure(error: &Value) -> CallFailure {
    if error.is_null() {
        return CallFailure::Unanswered(Unanswered::Broken("x".into()));
    }
    if error == "away" {
        return CallFailure::Unsent(Unsent::Unreachable("x".into()));
    }
    let body = json!({"isError": true, "structuredContent": {"adcp_error": error}}).to_string();
    let content_type = None;
    let retry_after = None;
    let raw = RawResponse {
        via: Via::McpTool,
        status: 0,
        content_type,
        retry_after,
        challenges: &[],
        body: body.as_bytes(),
    };
    read(&raw).unwrap()
}

fn error(code: &str) -> Option<Value> {
    Some(json!({"code": code, "message": "m"}))
}

fn run(
    recoverer: &Recoverer<Virtual>,
    attempt: FailedAttempt,
    script: &mut Script,
) -> Result<Recovered<()>, Box<GaveUp>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(recoverer.run("seller", attempt, script))
}

fn recoverer(clock: &Virtual) -> Recoverer<Virtual> {
    Recoverer::new(clock.clone(), RetryLimits::default(), Sizes::default())
}

/// Runs one intent with a new clock; returns its end, the sleeps and the script.
fn once(
    draw: f64,
    attempt: FailedAttempt,
    answers: impl IntoIterator<Item = Option<Value>>,
) -> (Result<Recovered<()>, Box<GaveUp>>, Vec<f64>, Script) {
    let clock = Virtual::new(draw);
    let mut script = Script::new(&clock, answers);
    let ended = run(&recoverer(&clock), attempt, &mut script);
    (ended, clock.sleeps(), script)
}

fn advice(ended: Result<Recovered<()>, Box<GaveUp>>) -> RecoveryAdvice {
    ended.unwrap_err().advice
}

#[test]
fn d_5_go_forever_cannot_loop() {
    let forever = json!({"code": "GO_FOREVER", "recovery": "transient", "retry_after": 1});
    let (ended, sleeps, script) = once(0.0, FailedAttempt::default(), [Some(forever)]);
    assert_eq!(sleeps, [1.0, 1.0, 1.0]);
    assert_eq!(
        script.keys(),
        [RequestKey::First, RequestKey::Same, RequestKey::Same, RequestKey::Same]
    );
    let gave_up = ended.unwrap_err();
    assert_eq!(gave_up.advice, RecoveryAdvice::Ask(AskReason::Spent(Spent::Attempts)));
    assert_eq!(gave_up.spent, Spending { attempts: 4, waited: Duration::from_secs(3) });
}

#[test]
fn f_1_and_h_2_transient_failures_have_growing_pauses() {
    for (draw, expected) in
        [(0.0, [1.5, 3.0, 6.0]), (0.5, [2.0, 4.0, 8.0]), (1.0, [2.5, 5.0, 10.0])]
    {
        for broken in [Some(Value::Null), error("SERVICE_UNAVAILABLE"), error("X_NEW")] {
            let (ended, sleeps, script) = once(draw, FailedAttempt::default(), [broken]);
            assert_eq!(sleeps, expected);
            assert_eq!(script.log.len(), 4);
            assert!(ended.is_err());
        }
    }
    let answers = [Some(Value::Null), error("SERVICE_UNAVAILABLE"), None];
    let (ended, sleeps, _) = once(0.5, FailedAttempt::default(), answers);
    assert_eq!(sleeps, [2.0, 4.0]);
    let recovered = ended.unwrap();
    assert_eq!(recovered.spent, Spending { attempts: 3, waited: Duration::from_secs(6) });
    assert!(!recovered.reread_authorization);
}

#[test]
fn h_1_no_retry_comes_before_the_sellers_moment() {
    let limited = |delay: Value| Some(json!({"code": "RATE_LIMITED", "retry_after": delay}));
    for (draw, expected) in [(0.0, [20.0, 1.0]), (1.0, [25.0, 1.25])] {
        let answers = [limited(json!(19.1)), limited(json!(0)), None];
        let (ended, sleeps, script) = once(draw, FailedAttempt::default(), answers);
        assert!(ended.is_ok());
        assert_eq!(sleeps, expected);
        let times: Vec<_> = script.log.iter().map(|(moment, _)| *moment).collect();
        assert_eq!(times, [0.0, expected[0], expected[0] + expected[1]]);
    }
    // An hour is more than the intent may take, so it does not wait at all.
    let (ended, sleeps, script) = once(0.0, FailedAttempt::default(), [limited(json!(3_600))]);
    assert_eq!((sleeps.len(), script.log.len()), (0, 1));
    assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::Throttled));
}

#[test]
fn e_1_the_time_that_requests_take_counts() {
    let clock = Virtual::new(0.5);
    let mut script = Script::new(&clock, [error("SERVICE_UNAVAILABLE")]);
    script.takes = Duration::from_secs(149);
    let ended = run(&recoverer(&clock), FailedAttempt::default(), &mut script);
    // 149 s, 2 s, 149 s: nothing is left of the 300 s.
    assert_eq!(clock.sleeps(), [2.0]);
    assert_eq!(
        advice(ended),
        RecoveryAdvice::Ask(AskReason::Spent(Spent::Time(Duration::from_secs(3))))
    );
}

#[test]
fn doubt_is_about_all_requests_and_not_the_last() {
    let broken = || Some(Value::Null);
    let away = || Some(json!("away"));
    let keyed = ResendEffect::Keyed;
    let read = ResendEffect::Read;
    for (effect, answers, doubted) in [
        // The dealer stores the lead, drops the connection and goes down.
        (keyed, vec![broken(), away()], &["key 1"][..]),
        (keyed, vec![broken(), error("RATE_LIMITED")], &["key 1"]),
        (keyed, vec![away(), broken(), away()], &["key 1"]),
        // The seller refuses a request that it may have accepted before, and then goes down.
        (keyed, vec![broken(), error("BUDGET_TOO_LOW"), away()], &["key 1"]),
        (keyed, vec![broken(), error("BUDGET_TOO_LOW"), broken()], &["key 1", "key 3"]),
        (keyed, vec![away()], &[]),
        (keyed, vec![error("RATE_LIMITED"), away()], &[]),
        (read, vec![broken(), away()], &[]),
    ] {
        let shown = format!("{answers:?}");
        let attempt = FailedAttempt { effect, ..FailedAttempt::default() };
        let (ended, ..) = once(0.0, attempt, answers);
        let gave_up = ended.unwrap_err();
        assert_eq!(gave_up.doubt.keys().collect::<Vec<_>>(), doubted, "{shown}");
        assert_eq!(gave_up.doubt.in_doubt(), !doubted.is_empty(), "{shown}");
        let said = gave_up.to_string();
        for key in doubted {
            assert!(said.contains(key), "{said}");
        }
        assert!(gave_up.key.is_some_and(|key| key.starts_with("key ")), "{shown}");
    }
    let clock = Virtual::new(0.0);
    let mut script = Script::new(&clock, [Some(Value::Null)]);
    script.keyed = false;
    let attempt = FailedAttempt { effect: ResendEffect::Unkeyed, ..FailedAttempt::default() };
    let gave_up = run(&recoverer(&clock), attempt, &mut script).unwrap_err();
    assert!(gave_up.doubt.in_doubt() && gave_up.key.is_none());
    assert!(gave_up.to_string().ends_with("may do it twice"), "{gave_up}");
}

#[test]
fn an_answer_settles_doubt_about_its_own_key_alone() {
    let keyed = || FailedAttempt { effect: ResendEffect::Keyed, ..FailedAttempt::default() };
    let recovered = |answers: Vec<_>| once(0.0, keyed(), answers).0.unwrap();
    let repeated = recovered(vec![Some(Value::Null), None]);
    assert_eq!(
        (repeated.key.as_deref(), &repeated.doubt),
        (Some("key 1"), &RequestsInDoubt::default())
    );
    let corrected = recovered(vec![Some(Value::Null), error("BUDGET_TOO_LOW"), None]);
    assert_eq!(corrected.key.as_deref(), Some("key 3"));
    assert_eq!(corrected.doubt.keys().collect::<Vec<_>>(), ["key 1"]);
}

#[test]
fn the_time_of_all_requests_together_is_never_exceeded() {
    let overall = |elapsed, takes, answer: Option<Value>| {
        let clock = Virtual::new(1.0);
        let limits =
            RetryLimits { elapsed: Duration::from_secs(elapsed), ..RetryLimits::default() };
        let recoverer = Recoverer::new(clock.clone(), limits, Sizes::default());
        let mut script = Script::new(&clock, [answer]);
        script.takes = Duration::from_secs(takes);
        let gave_up = run(&recoverer, FailedAttempt::default(), &mut script).unwrap_err();
        (script.log.len(), clock.now().as_secs_f64(), gave_up.failure.to_string(), gave_up.advice)
    };
    let refused = "SERVICE_UNAVAILABLE: m".to_owned();
    let spent = |seconds| {
        RecoveryAdvice::Ask(AskReason::Spent(Spent::Time(Duration::from_secs_f64(seconds))))
    };
    let down = || error("SERVICE_UNAVAILABLE");
    for (elapsed, takes, answer, expected) in [
        // The request is under way when the time is up.
        (10, 20, down(), (1, 10.0, "no answer within 10 s".to_owned(), spent(1.5))),
        // The second request would be, so it is not sent.
        (10, 8, down(), (1, 8.0, refused.clone(), spent(1.5))),
        (10, 7, down(), (2, 10.0, "no answer within 1 s".to_owned(), spent(3.0))),
        (4, 0, down(), (2, 2.5, refused, spent(3.0))),
    ] {
        assert_eq!(overall(elapsed, takes, answer), expected, "{elapsed} {takes}");
    }
}

#[test]
fn whoever_stops_it_hears_what_may_have_happened() {
    let keyed = || FailedAttempt { effect: ResendEffect::Keyed, ..FailedAttempt::default() };
    for (hangs, first, failure, doubted) in [
        (true, None, "stopped before an answer", &["key 1"][..]),
        (false, Some(Value::Null), "the connection broke before an answer: x", &["key 1"]),
        (false, error("RATE_LIMITED"), "RATE_LIMITED: m", &[]),
    ] {
        let clock = Virtual::new(0.0).stopping();
        let mut script = Script::new(&clock, [first]);
        script.hangs = hangs;
        let gave_up = run(&recoverer(&clock), keyed(), &mut script).unwrap_err();
        assert!(gave_up.stopped && script.log.len() == 1);
        assert_eq!(gave_up.failure.to_string(), failure);
        assert_eq!(gave_up.doubt.keys().collect::<Vec<_>>(), doubted);
        assert_eq!(gave_up.key.as_deref(), Some("key 1"));
    }
}

#[test]
fn y_3_and_a_9_failures_for_people_end_retries() {
    for code in [
        "CONFIGURATION_ERROR",
        "CREDENTIAL_IN_ARGS",
        "AGENT_BLOCKED",
        "ACCOUNT_SUSPENDED",
        "AUTH_INVALID",
    ] {
        let eager = Some(json!({"code": code, "retry_after": 1}));
        let (ended, sleeps, script) = once(0.0, FailedAttempt::default(), [eager]);
        assert_eq!((sleeps.len(), script.log.len()), (0, 1), "{code}");
        assert_eq!(advice(ended).name(), "ask", "{code}");
    }
}

#[test]
fn e_4_only_a_corrected_request_gets_a_fresh_key() {
    let answers = [error("BUDGET_TOO_LOW"), error("SERVICE_UNAVAILABLE"), None];
    let (ended, sleeps, script) = once(0.5, FailedAttempt::default(), answers);
    assert!(ended.is_ok());
    assert_eq!(script.keys(), [RequestKey::First, RequestKey::Fresh, RequestKey::Same]);
    assert_eq!(sleeps, [2.0]);
    let in_flight = Some(json!({"code": "IDEMPOTENCY_IN_FLIGHT", "retry_after": 3}));
    let (ended, sleeps, script) = once(0.0, FailedAttempt::default(), [in_flight, None]);
    assert!(ended.is_ok());
    assert_eq!((script.keys(), sleeps), (vec![RequestKey::First, RequestKey::Same], vec![3.0]));
}

#[test]
fn f_3_what_nobody_corrects_is_not_sent_again() {
    let clock = Virtual::new(0.0);
    let mut script = Script::new(&clock, [error("VALIDATION_ERROR")]);
    script.corrects = false;
    let ended = run(&recoverer(&clock), FailedAttempt::default(), &mut script);
    assert_eq!((script.log.len(), clock.sleeps().len()), (1, 0));
    assert_eq!(advice(ended).name(), "fix");
}

#[test]
fn corrections_without_end_are_bounded_too() {
    let (ended, sleeps, script) = once(0.0, FailedAttempt::default(), [error("VALIDATION_ERROR")]);
    assert_eq!((script.log.len(), sleeps.len()), (4, 0));
    assert_eq!(advice(ended).name(), "fix");
}

#[test]
fn y_6_a_conflict_is_read_again_after_a_pause() {
    let (ended, sleeps, script) =
        once(0.5, FailedAttempt::default(), [error("CONFLICT"), error("CONFLICT"), None]);
    assert!(ended.is_ok());
    assert_eq!(sleeps, [2.0, 4.0]);
    assert_eq!(script.changes, [RequestChange::Reread, RequestChange::Reread]);
    assert_eq!(script.keys(), [RequestKey::First, RequestKey::Fresh, RequestKey::Fresh]);
}

#[test]
fn a_1_to_a_5_credentials_are_supplied_once() {
    let with = |had_credentials| FailedAttempt {
        had_credentials,
        has_supply: true,
        ..FailedAttempt::default()
    };
    let (ended, sleeps, script) = once(0.0, with(false), [error("AUTH_REQUIRED")]);
    assert_eq!(script.asked_for, [CredentialStep::Supply]);
    assert_eq!((script.log.len(), sleeps.len()), (2, 0));
    assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::CredentialsRejected));
    let (ended, _, script) = once(0.0, with(true), [error("AUTH_REQUIRED")]);
    assert_eq!(script.log.len(), 1);
    assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::CredentialsRejected));
    let (ended, _, script) = once(0.0, with(true), [error("AUTH_INVALID"), None]);
    assert!(ended.is_ok());
    assert_eq!((script.asked_for, script.log.len()), (vec![CredentialStep::Renew], 2));
    let clock = Virtual::new(0.0);
    let mut script = Script::new(&clock, [error("AUTH_MISSING")]);
    script.authenticates = false;
    assert!(run(&recoverer(&clock), with(false), &mut script).is_err());
    assert_eq!(script.log.len(), 1);
}

#[test]
fn r_8_and_r_10_a_returned_scope_is_reread() {
    for (draw, expected) in [(0.0, 1.0), (1.0, 5.0)] {
        let (ended, sleeps, script) =
            once(draw, FailedAttempt::default(), [error("READ_ONLY_SCOPE")]);
        assert_eq!(sleeps, [expected; 3]);
        assert_eq!(script.log.len(), 4);
        assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::Scope(3)));
    }
    let (ended, _, _) = once(0.0, FailedAttempt::default(), [error("SCOPE_INSUFFICIENT"), None]);
    assert!(ended.unwrap().reread_authorization);
}

#[test]
fn b_5_billing_and_x_1_context_are_tried_once() {
    let billing = Some(json!({"code": "BILLING_NOT_PERMITTED_FOR_AGENT",
        "details": {"rejected_billing": "agent", "suggested_billing": "operator"}}));
    let (ended, _, script) = once(0.0, FailedAttempt::default(), [billing]);
    assert_eq!(script.changes, [RequestChange::Billing("operator".into())]);
    assert_eq!(script.log.len(), 2);
    assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::Billing));
    let forgotten = Some(json!({"code": "INVALID_REQUEST", "message": "context not found"}));
    let attempt = FailedAttempt { had_context: true, ..FailedAttempt::default() };
    let (_, _, script) = once(0.0, attempt, [forgotten]);
    assert_eq!(script.changes[..2], [RequestChange::DropContext, RequestChange::Request]);
}

#[test]
fn an_effect_without_a_key_is_not_repeated_in_doubt() {
    let attempt = FailedAttempt { effect: ResendEffect::Unkeyed, ..FailedAttempt::default() };
    let (ended, _, script) = once(0.0, attempt, [Some(Value::Null)]);
    assert_eq!(script.log.len(), 1);
    assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::InDoubt));
}

#[test]
fn a_seller_has_ten_retries_refilled_every_six_seconds() {
    let clock = Virtual::new(0.0);
    let recoverer = recoverer(&clock);
    let soon = json!({"code": "GO_FOREVER", "recovery": "correctable"});
    let mut sent = Vec::new();
    for _ in 0..5 {
        let mut script = Script::new(&clock, [Some(soon.clone())]);
        assert!(run(&recoverer, FailedAttempt::default(), &mut script).is_err());
        sent.push(script.log.len());
    }
    // Three retries for each of three intents, one for the fourth, none for the fifth.
    assert_eq!(sent, [4, 4, 4, 2, 1]);
    assert_eq!(recoverer.sellers().tokens("seller", clock.now()), 0);
    clock.pass(Duration::from_millis(11_999));
    assert_eq!(recoverer.sellers().tokens("seller", clock.now()), 1);
    clock.pass(Duration::from_millis(1));
    assert_eq!(recoverer.sellers().tokens("seller", clock.now()), 2);
    let mut script = Script::new(&clock, [error("SERVICE_UNAVAILABLE")]);
    let ended = run(&recoverer, FailedAttempt::default(), &mut script);
    // 1.5 s and 3 s: too short for another token.
    assert_eq!(script.log.len(), 3);
    assert_eq!(advice(ended), RecoveryAdvice::Ask(AskReason::Spent(Spent::Tokens)));
    assert_eq!(recoverer.sellers().tokens("other", clock.now()), 10);
    clock.pass(Duration::from_secs(1_000_000));
    assert_eq!(recoverer.sellers().tokens("seller", clock.now()), 10);
}

#[test]
fn y_4_setup_errors_that_come_together_are_an_outage() {
    let clock = Virtual::new(0.0);
    let recoverer = recoverer(&clock);
    let fail = |code: &str| {
        let mut script = Script::new(&clock, [error(code)]);
        run(&recoverer, FailedAttempt::default(), &mut script).unwrap_err().outage
    };
    assert_eq!([fail("CONFIGURATION_ERROR"), fail("ACCOUNT_SUSPENDED")], [false, false]);
    clock.pass(Duration::from_secs(200));
    assert!(!fail("CONFIGURATION_ERROR"));
    clock.pass(Duration::from_secs(101));
    assert!(!fail("CONFIGURATION_ERROR"), "the first is too old");
    assert!(fail("CONFIGURATION_ERROR"));
    assert!(recoverer.sellers().is_out("seller", clock.now()));
    clock.pass(Duration::from_secs(301));
    assert!(!recoverer.sellers().is_out("seller", clock.now()));
}

#[test]
fn the_memory_of_sellers_is_bounded() {
    let sizes = Sizes { sellers: 3, ..Sizes::default() };
    let sellers = SellerMemory::new(sizes);
    assert!(sellers.is_empty());
    for n in 0..50_u64 {
        let broken = CallFailure::Unanswered(Unanswered::Broken("x".into()));
        sellers.record_failure(&n.to_string(), &broken, Duration::from_secs(n));
        assert!(sellers.take(&n.to_string(), Duration::from_secs(n)));
    }
    assert_eq!(sellers.len(), 3);
    let now = Duration::from_secs(49);
    assert_eq!((sellers.tokens("49", now), sellers.tokens("0", now)), (9, 10));
}

proptest! {
    /// A seller gets no more requests and no more time than the budget has, whatever it answers.
    #[test]
    fn a_hostile_seller_never_gets_more_than_the_budget(
        answers in prop::collection::vec((
            prop::sample::select(vec![
                "GO_FOREVER", "RATE_LIMITED", "CONFLICT", "AUTH_MISSING", "AUTH_INVALID",
                "SCOPE_INSUFFICIENT", "INVALID_REQUEST", "IDEMPOTENCY_IN_FLIGHT",
                "BILLING_NOT_SUPPORTED", "FIELD_NOT_PERMITTED", "STALE_RESPONSE",
            ]),
            prop::sample::select(vec!["transient", "correctable", "terminal", "x"]),
            prop::option::of(-1.0_f64..400.0),
        ), 1..40),
        draw in 0.0_f64..1.0,
        takes in 0_u64..100,
    ) {
        let clock = Virtual::new(draw);
        let recoverer = recoverer(&clock);
        let answers = answers.into_iter().map(|(code, recovery, delay)| Some(json!({
            "code": code, "recovery": recovery, "retry_after": delay,
            "message": "context not found"})));
        let mut script = Script::new(&clock, answers);
        script.takes = Duration::from_secs(takes);
        let attempt = FailedAttempt { has_supply: true, had_context: true, ..FailedAttempt::default() };
        let mut sent = 0;
        for _ in 0..8 {
            let begun = clock.now();
            script.log.clear();
            let ended = run(&recoverer, attempt.clone(), &mut script);
            prop_assert!(ended.is_err());
            prop_assert!(script.log.len() <= 4);
            let last = script.log.last().map_or(0.0, |(moment, _)| *moment);
            prop_assert!(last - begun.as_secs_f64() <= 300.0 + 1e-6);
            sent += script.log.len();
        }
        let refilled = clock.now().as_secs() / 6 + 1;
        prop_assert!(sent as u64 <= 8 + 10 + refilled);
    }
}

/// Collects the messages of an error and of its causes.
fn walk(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect()
}

#[test]
fn causes_are_found_and_none_repeats_what_stands_above() {
    let terms = tradepost_aap::DealerTerms {
        now: jiff::Timestamp::UNIX_EPOCH,
        clock_skew: jiff::SignedDuration::ZERO,
        consent_lifetime: None,
    };
    let payload = json!({"type": "inventory.search.request", "filters": {"x": 1}});
    let skill = tradepost_aap::Skill::InventorySearch;
    let refusal =
        || tradepost_aap::parse(skill, tradepost_aap::Version::V1_1, &payload, &terms).unwrap_err();
    let problem = refusal().problems.to_string();
    assert!(problem.starts_with("/filters/x: "), "{problem}");
    let unsent = || CallFailure::Unsent(Unsent::Invalid(Box::new(refusal())));
    let form = crate::trust::Untrusted::NoForm(refusal().problems);
    let webhook = tradepost_adcp::webhook::read(&json!({})).unwrap_err();
    let gave_up = GaveUp::from_failure(unsent());
    let chains: [(&dyn std::error::Error, bool); 8] = [
        (&refusal(), true),
        (&unsent(), true),
        (&gave_up, true),
        (&form, true),
        (&webhook, true),
        (&crate::receiver::delivery::NoDelivery::Webhook(webhook.clone()), true),
        (&CallFailure::address("x", "is no web address"), false),
        (&Unanswered::Stopped, false),
    ];
    for (error, has_cause) in chains {
        let said = walk(error);
        assert_eq!(said.len() > 1, has_cause, "{said:?}");
        let mut sorted = said.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), said.len(), "{said:?}");
        assert!(said.iter().all(|words| !words.is_empty()), "{said:?}");
    }
}
