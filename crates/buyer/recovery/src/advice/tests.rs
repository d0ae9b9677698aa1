//! Tables of advice: every code of the three catalogs, with every recovery class, none, and an unknown one.
//! `decisions.txt` has the decisions; `UPDATE_EXPECT=1` writes it.

use std::fmt::Write as _;

use expect_test::expect_file;
use proptest::prelude::*;
use tradepost_a2a::error::A2aCode as A2a;
use tradepost_aap::AapCode as Aap;
use tradepost_adcp::error::{AdcpCode as Adcp, RecoveryRule};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::json;

use super::*;
use crate::failure::{
    BadAddress, CertificateProblem, Defect, KeptResponse, ProxyProblem, Unanswered, Unsent,
};
use crate::refusal::{RefusalForm, SellerRefusal};
use crate::response::{RawResponse, Via, read};

const PLENTY: RetryBudget = RetryBudget { attempts: 3, time: Duration::from_secs(300), tokens: 10 };

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Returns the failure of an MCP tool result with this error object.
fn adcp(error: Value) -> CallFailure {
    let body = json!({"isError": true, "structuredContent": {"adcp_error": error}}).to_string();
    read_failure(Via::McpTool, 0, &body)
}

/// Returns the failure of a JSON-RPC answer with this error.
fn jsonrpc(error: Value) -> CallFailure {
    let body = json!({"jsonrpc": "2.0", "id": "i", "error": error}).to_string();
    read_failure(Via::JsonRpc { id: "i" }, 200, &body)
}

fn aap(error: Value) -> CallFailure {
    let mut data = error;
    data["type"] = json!("aap.error");
    jsonrpc(json!({"code": -32000, "message": "m", "data": data}))
}

fn read_failure(via: Via<'_>, status: u16, body: &str) -> CallFailure {
    let content_type = None;
    let retry_after = None;
    read(&RawResponse {
        via,
        status,
        content_type,
        retry_after,
        challenges: &[],
        body: body.as_bytes(),
    })
    .unwrap()
}

fn refused(by: RefusalForm, retry_after: Option<Duration>) -> CallFailure {
    CallFailure::Refused(Box::new(SellerRefusal { by, retry_after, kept: KeptResponse::default() }))
}

/// Returns an advice in a few letters, for the table.
fn short(advice: &RecoveryAdvice) -> String {
    let debug = |value: &dyn std::fmt::Debug| {
        let text = format!("{value:?}");
        text.split(['(', '{', ' ']).next().unwrap().to_owned()
    };
    match advice {
        RecoveryAdvice::Retry(Retry { first: CredentialStep::Nothing, .. }) => "retry".to_owned(),
        RecoveryAdvice::Retry(retry) => format!("retry:{}", debug(&retry.first)),
        RecoveryAdvice::Fix(fix) => format!("fix:{}", debug(&fix.change)),
        RecoveryAdvice::Ask(why) => format!("ask:{}", debug(why)),
        RecoveryAdvice::Stop(end) => format!("stop:{}", debug(end)),
    }
}

fn advice(failure: &CallFailure) -> RecoveryAdvice {
    advise(&FailedAttempt::default(), failure, &PLENTY)
}

fn row(out: &mut String, name: &str, cells: impl IntoIterator<Item = String>) {
    let cells = cells.into_iter().map(|cell| format!("{cell:<27}")).collect::<String>();
    let _ = writeln!(out, "{}", format!("{name:<40}{cells}").trim_end());
}

#[test]
fn every_code_has_its_advice_for_every_recovery() {
    let mut out = String::new();
    let head = |out: &mut String, name: &str, heads: &[&str]| {
        row(out, name, heads.iter().map(|head| (*head).to_owned()));
    };
    let words = [
        ("absent", json!(null)),
        ("transient", json!("transient")),
        ("correctable", json!("correctable")),
        ("terminal", json!("terminal")),
        ("unknown", json!("deferred")),
    ];
    head(&mut out, "AdCP recovery", &words.each_ref().map(|(name, _)| *name));
    for code in Adcp::NAMES.iter().copied().chain(["GO_FOREVER"]) {
        let cells = words.each_ref().map(|(_, recovery)| {
            short(&advice(&adcp(json!({"code": code, "message": "m", "recovery": recovery}))))
        });
        row(&mut out, code, cells);
    }
    head(&mut out, "\nAAP retryable", &["absent", "true", "false", "unknown"]);
    for code in Aap::NAMES.iter().copied().chain(["NEW_CODE"]) {
        let values = [json!(null), json!(true), json!(false), json!("maybe")];
        let cells = values.map(|retryable| {
            short(&advice(&aap(json!({"code": code, "message": "m", "retryable": retryable}))))
        });
        row(&mut out, code, cells);
    }
    head(&mut out, "\nA2A and JSON-RPC", &["", "with retry_after"]);
    let info = |code: &str| {
        json!({"@type": "google.rpc.ErrorInfo", "reason": code,
        "domain": "a2a-protocol.org"})
    };
    let delay = json!({"@type": "google.rpc.RetryInfo", "retryDelay": "3s"});
    let rows = A2a::ALL.iter().map(|code| (code.name(), code.jsonrpc()));
    for (code, number) in rows.chain([("NEW_CODE", -32_099)]) {
        let error = |data: Value| jsonrpc(json!({"code": number, "message": "m", "data": data}));
        let cells = [json!([info(code)]), json!([info(code), delay])];
        row(&mut out, code, cells.map(|data| short(&advice(&error(data)))));
    }
    head(&mut out, "\nHTTP", &["", "by a card", "by one read again"]);
    for status in [400, 401, 403, 404, 405, 408, 409, 410, 422, 425, 429, 500, 501, 502, 503, 504] {
        let failure = refused(RefusalForm::Http(status), None);
        let reread = Tried { card: true, ..Tried::default() };
        let cells = [(false, Tried::default()), (true, Tried::default()), (true, reread)];
        let cells = cells.map(|(has_card, tried)| {
            let attempt = FailedAttempt { has_card, tried, ..FailedAttempt::default() };
            short(&advise(&attempt, &failure, &PLENTY))
        });
        row(&mut out, &status.to_string(), cells);
    }
    head(&mut out, "\ngRPC", &[""]);
    for code in 1..=17 {
        let by = RefusalForm::Grpc { code, message: String::new() };
        row(&mut out, &code.to_string(), [short(&advice(&refused(by, None)))]);
    }
    expect_file!["decisions.txt"].assert_eq(&out);
}

#[test]
fn what_a_rule_forbids_is_forbidden_whatever_the_seller_writes() {
    let attempts = [
        FailedAttempt::default(),
        FailedAttempt { had_credentials: true, has_supply: true, ..FailedAttempt::default() },
        FailedAttempt {
            had_context: true,
            effect: ResendEffect::Keyed,
            ..FailedAttempt::default()
        },
    ];
    for code in Adcp::ALL.iter().copied() {
        for recovery in [json!(null), json!("transient"), json!("correctable"), json!("new")] {
            let failure = adcp(json!({"code": code.name(), "message": "context not found",
                "recovery": recovery, "retry_after": 1, "field": "a",
                "details": {"suggested_billing": "x", "setup_url": "https://evil.example"}}));
            for attempt in &attempts {
                let advice = advise(attempt, &failure, &PLENTY);
                let retried = matches!(advice, RecoveryAdvice::Retry(_));
                let sent = retried || matches!(advice, RecoveryAdvice::Fix(_));
                assert!(!retried || code.rule().permits_repeating(), "{code} {advice:?}");
                match code.rule() {
                    // A person has to act, and nothing is sent (Y-3, A-9, G-8).
                    RecoveryRule::Gate
                    | RecoveryRule::Misconfigured
                    | RecoveryRule::Leak
                    | RecoveryRule::Never
                    | RecoveryRule::Final
                    | RecoveryRule::Seller
                    | RecoveryRule::Advisory => assert!(!sent, "{code} {advice:?}"),
                    // The same request is never sent again (R-9, Y-6, B-5).
                    RecoveryRule::Strip | RecoveryRule::Reread | RecoveryRule::AgentBilling => {
                        assert!(!retried, "{code} {advice:?}");
                    }
                    // A fresh key is never used (E-4).
                    RecoveryRule::InFlight => {
                        assert!(!matches!(advice, RecoveryAdvice::Fix(_)), "{advice:?}")
                    }
                    // A rejected credential is not sent again.
                    RecoveryRule::Credentials => assert!(!(retried && attempt.had_credentials)),
                    RecoveryRule::Renewal => assert!(matches!(
                        advice,
                        RecoveryAdvice::Retry(Retry { first: CredentialStep::Renew, .. })
                            | RecoveryAdvice::Ask(_)
                    )),
                    RecoveryRule::Class
                    | RecoveryRule::Context
                    | RecoveryRule::Throttled
                    | RecoveryRule::NewKey
                    | RecoveryRule::Reconcile
                    | RecoveryRule::Scope
                    | RecoveryRule::Permission
                    | RecoveryRule::Billing
                    | RecoveryRule::Setup
                    | RecoveryRule::Person
                    | RecoveryRule::Action
                    | RecoveryRule::Moved => {
                        // An unknown class counts as terminal (D-4).
                        assert!(!(recovery == "new" && sent), "{code} {advice:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_1_to_a_5_rejected_credentials_are_never_repeated() {
    let tried = Tried { credentials: true, ..Tried::default() };
    let none = FailedAttempt::default();
    let supply = FailedAttempt { has_supply: true, ..none.clone() };
    let fixed = FailedAttempt { had_credentials: true, ..none.clone() };
    let renewable = FailedAttempt { had_credentials: true, has_supply: true, ..none.clone() };
    let again = FailedAttempt { tried, ..renewable.clone() };
    let failures = |code: &str| adcp(json!({"code": code, "message": "m"}));
    for (attempt, missing, invalid) in [
        (&none, "ask:CredentialsMissing", "ask:CredentialsRejected"),
        (&supply, "retry:Supply", "ask:CredentialsRejected"),
        (&fixed, "ask:CredentialsRejected", "ask:CredentialsRejected"),
        (&renewable, "ask:CredentialsRejected", "retry:Renew"),
        (&again, "ask:CredentialsRejected", "ask:CredentialsRejected"),
    ] {
        let short = |failure: &CallFailure| short(&advise(attempt, failure, &PLENTY));
        assert_eq!(short(&failures("AUTH_REQUIRED")), missing);
        assert_eq!(short(&failures("AUTH_MISSING")), missing);
        assert_eq!(short(&failures("AUTH_INVALID")), invalid);
        assert_eq!(short(&refused(RefusalForm::Http(401), None)), missing);
        assert_eq!(
            short(&refused(RefusalForm::Grpc { code: 16, message: "m".into() }, None)),
            missing
        );
    }
}

#[test]
fn e_2_and_e_3_transient_failures_wait_long_enough() {
    let wait = |failure: &CallFailure| match advice(failure) {
        RecoveryAdvice::Retry(retry) => Some((retry.wait.at_least, retry.wait.at_most)),
        RecoveryAdvice::Fix(_) | RecoveryAdvice::Ask(_) | RecoveryAdvice::Stop(_) => None,
    };
    let limited = |delay: Value| adcp(json!({"code": "RATE_LIMITED", "retry_after": delay}));
    assert_eq!(wait(&limited(json!(8))), Some((seconds(8), seconds(10))));
    assert_eq!(wait(&limited(json!(7.2))), Some((seconds(8), seconds(10))));
    assert_eq!(wait(&limited(json!(0))), Some((seconds(1), Duration::from_millis(1_250))));
    // The span ends with the time that is left, but does not begin earlier.
    assert_eq!(wait(&limited(json!(280))), Some((seconds(280), seconds(300))));
    for (delay, expected) in
        [(None, (1_500, 2_500)), (Some(250), (1_000, 1_250)), (Some(4_000), (4_000, 5_000))]
    {
        let delay = delay.map(Duration::from_millis);
        let expected = (Duration::from_millis(expected.0), Duration::from_millis(expected.1));
        assert_eq!(wait(&refused(RefusalForm::Http(503), delay)), Some(expected));
        assert_eq!(wait(&refused(RefusalForm::Http(400), delay)), None);
    }
    for code in ["INVALID_REQUEST", "CREATIVE_REJECTED", "ACCOUNT_SUSPENDED"] {
        assert_eq!(wait(&adcp(json!({"code": code, "retry_after": 1}))), None, "{code}");
    }
    let aap = aap(json!({"code": "RATE_LIMITED", "details": {"retry_after_ms": 2500}}));
    assert_eq!(wait(&aap), Some((Duration::from_millis(2_500), Duration::from_millis(3_125))));
}

#[test]
fn h_2_unasked_pauses_double_up_to_a_minute() {
    let wait = |retries| {
        let tried = Tried { retries, ..Tried::default() };
        let attempt = FailedAttempt { tried, ..FailedAttempt::default() };
        let RecoveryAdvice::Retry(Retry { wait, .. }) =
            advise(&attempt, &refused(RefusalForm::Http(503), None), &PLENTY)
        else {
            panic!()
        };
        (wait.at_least.as_millis(), wait.at_most.as_millis())
    };
    let waits: Vec<_> = [0, 1, 2, 4, 5, 6, 1_000, u32::MAX].into_iter().map(wait).collect();
    let longest = (45_000, 60_000);
    assert_eq!(
        waits,
        [
            (1_500, 2_500),
            (3_000, 5_000),
            (6_000, 10_000),
            (24_000, 40_000),
            longest,
            longest,
            longest,
            longest
        ]
    );
}

#[test]
fn a_budget_that_is_spent_goes_to_a_person() {
    let limited = adcp(json!({"code": "RATE_LIMITED"}));
    let down = adcp(json!({"code": "SERVICE_UNAVAILABLE", "retry_after": 400}));
    let down_soon = adcp(json!({"code": "SERVICE_UNAVAILABLE"}));
    let of = |failure: &CallFailure, budget: RetryBudget| {
        advise(&FailedAttempt::default(), failure, &budget)
    };
    let no_attempts = RetryBudget { attempts: 0, ..PLENTY };
    let no_tokens = RetryBudget { tokens: 0, ..PLENTY };
    let no_time = RetryBudget { time: seconds(1), ..PLENTY };
    assert_eq!(of(&down_soon, no_attempts), RecoveryAdvice::Ask(AskReason::Spent(Spent::Attempts)));
    assert_eq!(of(&down_soon, no_tokens), RecoveryAdvice::Ask(AskReason::Spent(Spent::Tokens)));
    assert_eq!(of(&down, PLENTY), RecoveryAdvice::Ask(AskReason::Spent(Spent::Time(seconds(400)))));
    // The operator has to know of repeated throttling (H-4).
    for budget in [no_attempts, no_tokens, no_time] {
        assert_eq!(of(&limited, budget), RecoveryAdvice::Ask(AskReason::Throttled));
        assert_eq!(
            of(&refused(RefusalForm::Http(429), None), budget),
            RecoveryAdvice::Ask(AskReason::Throttled)
        );
        let exhausted = jsonrpc(json!({"code": -32000, "message": "m", "data": [
            {"@type": "google.rpc.ErrorInfo", "reason": "RESOURCE_EXHAUSTED",
             "domain": "a2a-protocol.org"}]}));
        assert_eq!(of(&exhausted, budget), RecoveryAdvice::Ask(AskReason::Throttled));
    }
    // A correction is still advised, because a person can make it.
    let fix = adcp(json!({"code": "BUDGET_TOO_LOW"}));
    assert_eq!(short(&of(&fix, no_attempts)), "fix:Request");
}

#[test]
fn r_8_scopes_are_requested_thrice_within_fifteen_seconds() {
    let failure = |delay: Value| adcp(json!({"code": "SCOPE_INSUFFICIENT", "retry_after": delay}));
    let of = |retries, delay| {
        let tried = Tried { retries, ..Tried::default() };
        advise(&FailedAttempt { tried, ..FailedAttempt::default() }, &failure(delay), &PLENTY)
    };
    for retries in 0..3 {
        let wait = RetryWait { at_least: seconds(1), at_most: seconds(5) };
        assert_eq!(
            of(retries, json!(null)),
            RecoveryAdvice::Retry(Retry { wait, first: CredentialStep::Nothing })
        );
    }
    assert_eq!(of(3, json!(null)), RecoveryAdvice::Ask(AskReason::Scope(3)));
    let wait = RetryWait { at_least: seconds(4), at_most: seconds(5) };
    assert_eq!(
        of(0, json!(4)),
        RecoveryAdvice::Retry(Retry { wait, first: CredentialStep::Nothing })
    );
    assert_eq!(of(0, json!(6)), RecoveryAdvice::Ask(AskReason::Scope(0)));
}

#[test]
fn the_details_that_rules_read() {
    let of = |error: Value| {
        let attempt =
            FailedAttempt { seller: Some("s.example".into()), ..FailedAttempt::default() };
        advise(&attempt, &adcp(error), &PLENTY)
    };
    let change = |code: &str, details: Value| {
        let advice = of(json!({"code": code, "details": details}));
        let RecoveryAdvice::Fix(fix) = advice else { panic!("{code} {advice:?}") };
        fix.change
    };
    let why = |code: &str, details: Value| {
        let advice = of(json!({"code": code, "details": details}));
        let RecoveryAdvice::Ask(why) = advice else { panic!("{code} {advice:?}") };
        why
    };
    // Ways of billing (B-5, B-6).
    let plain = "BILLING_NOT_SUPPORTED";
    let agent = "BILLING_NOT_PERMITTED_FOR_AGENT";
    let billing = |name: &str| RequestChange::Billing(name.into());
    let gate = |list: Value| json!({"scope": "capability", "supported_billing": list});
    assert_eq!(change(plain, gate(json!(["operator", "agent"]))), billing("operator"));
    assert_eq!(why(plain, gate(json!([]))), AskReason::Billing);
    assert_eq!(change(plain, json!({"scope": "account"})), RequestChange::OtherBilling);
    assert_eq!(change(plain, json!({})), RequestChange::OtherBilling);
    assert_eq!(change(agent, json!({"suggested_billing": "operator"})), billing("operator"));
    assert_eq!(why(agent, json!({})), AskReason::Billing);
    // Scope of a missing permission (G-8).
    for (details, expected) in [
        (json!({"scope": "agent", "reason": "sandbox_only"}), AskReason::AgentGate),
        (json!({"scope": "elsewhere"}), AskReason::Permission),
    ] {
        assert_eq!(why("PERMISSION_DENIED", details), expected);
    }
    assert_eq!(change("PERMISSION_DENIED", json!({})), RequestChange::Token);
    // Only safe addresses are passed on (Z-3).
    let setup = |url: &str| why("ACCOUNT_SETUP_REQUIRED", json!({"setup_url": url}));
    for safe in ["https://s.example/setup", "https://pay.s.example/"] {
        assert_eq!(setup(safe), AskReason::Setup(Some(safe.into())));
    }
    for unsafe_ in [
        "http://s.example/",
        "https://evil.example/",
        "https://evils.example/",
        "https://s.example@evil.example/",
        "https://u:p@s.example/",
        "javascript:alert(1)",
        "setup",
    ] {
        assert_eq!(setup(unsafe_), AskReason::Setup(None), "{unsafe_}");
    }
    let versions = json!({"supported_versions": ["3.0", "3.1"]});
    let expected = RequestChange::Versions(vec!["3.0".into(), "3.1".into()]);
    assert_eq!(change("VERSION_UNSUPPORTED", versions), expected);
    let account = json!({"account_id": "a"});
    let moved = json!({"current_account": account});
    assert_eq!(change("ACCOUNT_MOVED", moved), RequestChange::Account(account));
    assert_eq!(why("ACCOUNT_MOVED", json!({})), AskReason::SellerDefect);
    let action = |reason: &str| {
        short(&of(json!({"code": "ACTION_NOT_ALLOWED", "details": {"reason": reason}})))
    };
    assert_eq!(action("wrong_status"), "fix:Request");
    assert_eq!(action("not_supported_on_buy"), "stop:NotOffered");
}

#[test]
fn b_5_a_suggested_way_of_billing_is_taken_once() {
    let failure = adcp(json!({"code": "BILLING_NOT_PERMITTED_FOR_AGENT",
        "details": {"rejected_billing": "agent", "suggested_billing": "operator"}}));
    let tried = Tried { billing: true, ..Tried::default() };
    let advice = advise(&FailedAttempt { tried, ..FailedAttempt::default() }, &failure, &PLENTY);
    assert_eq!(advice, RecoveryAdvice::Ask(AskReason::Billing));
}

#[test]
fn x_1_a_forgotten_context_is_left_behind_once() {
    let change = |attempt: &FailedAttempt, message: &str| {
        let failure = adcp(json!({"code": "INVALID_REQUEST", "message": message}));
        let advice = advise(attempt, &failure, &PLENTY);
        let RecoveryAdvice::Fix(fix) = advice else { panic!("{advice:?}") };
        fix.change
    };
    let with = FailedAttempt { had_context: true, ..FailedAttempt::default() };
    let tried = Tried { context: true, ..Tried::default() };
    let again = FailedAttempt { tried, ..with.clone() };
    assert_eq!(change(&with, "Context not found: c1"), RequestChange::DropContext);
    assert_eq!(change(&with, "no such thing"), RequestChange::Request);
    assert_eq!(change(&again, "context not found"), RequestChange::Request);
    assert_eq!(change(&FailedAttempt::default(), "context not found"), RequestChange::Request);
}

#[test]
fn r_1_fields_of_like_errors_are_listed_and_bounded() {
    let error = |field: &str| {
        json!({"code": "FIELD_NOT_PERMITTED", "field": field,
        "suggestion": format!("\u{202e}drop\n{}", "x".repeat(2_000))})
    };
    let other = json!({"code": "BUDGET_TOO_LOW", "field": "elsewhere"});
    let body = json!({"isError": true, "structuredContent": {"adcp_error": error("packages[0].budget"),
        "errors": [error("packages[0].budget"), error("end\u{1b}_time"), other]}});
    let failure = read_failure(Via::McpTool, 0, &body.to_string());
    let RecoveryAdvice::Fix(fix) = advice(&failure) else { panic!() };
    assert_eq!(fix.change, RequestChange::Strip);
    assert_eq!(fix.fields, ["packages[0].budget", "end_time"]);
    let suggestion = fix.suggestion.as_deref().unwrap();
    assert!(suggestion.starts_with("drop x") && suggestion.len() <= 512);
}

#[test]
fn a_card_is_read_again_without_an_attempt_being_left() {
    let attempt = FailedAttempt { has_card: true, ..FailedAttempt::default() };
    let failure = refused(RefusalForm::Http(404), None);
    for (attempts, time, tokens, expected) in
        [(0, 300, 10, "retry:ReadCard"), (3, 0, 10, "stop:NoAgent"), (3, 300, 0, "stop:NoAgent")]
    {
        let budget = RetryBudget { attempts, time: seconds(time), tokens };
        assert_eq!(short(&advise(&attempt, &failure, &budget)), expected);
    }
}

#[test]
fn the_stricter_layer_decides_where_they_disagree() {
    let both = |envelope: Value, listed: Value| {
        let body = json!({"isError": true,
            "structuredContent": {"adcp_error": envelope, "errors": listed}});
        short(&advice(&read_failure(Via::McpTool, 0, &body.to_string())))
    };
    let error = |code: &str, recovery: &str| json!({"code": code, "recovery": recovery});
    let busy = || error("SERVICE_UNAVAILABLE", "transient");
    let wrong = || error("VALIDATION_ERROR", "correctable");
    let ended = || error("ACCOUNT_SUSPENDED", "terminal");
    let leak = || error("CREDENTIAL_IN_ARGS", "transient");
    let note = || error("STALE_RESPONSE", "transient");
    let warning = json!({"code": "X", "recovery": "terminal", "severity": "warning"});
    for (envelope, listed, expected) in [
        (busy(), json!([]), "retry"),
        (busy(), json!([busy()]), "retry"),
        (busy(), json!([wrong()]), "fix:Request"),
        (wrong(), json!([busy()]), "fix:Request"),
        (busy(), json!([wrong(), ended()]), "ask:Terminal"),
        (ended(), json!([busy()]), "ask:Terminal"),
        (error("A", "transient"), json!([error("A", "terminal")]), "ask:Terminal"),
        (ended(), json!([leak()]), "ask:CredentialInArguments"),
        (note(), json!([busy()]), "retry"),
        (Value::Null, json!([busy(), ended()]), "ask:Terminal"),
        // A warning decides nothing.
        (busy(), json!([warning]), "retry"),
    ] {
        assert_eq!(both(envelope.clone(), listed.clone()), expected, "{envelope} {listed}");
    }
}

#[test]
fn a_lead_without_its_appointment_may_have_been_received() {
    for (code, retryable, unkeyed, in_doubt) in [
        ("APPOINTMENT_TIME_UNAVAILABLE", false, "ask:OtherTime", true),
        // A lead that was received must not be sent twice.
        ("APPOINTMENT_TIME_UNAVAILABLE", true, "ask:InDoubt", true),
        ("VEHICLE_UNAVAILABLE", false, "fix:SearchAgain", false),
    ] {
        let failure = aap(json!({"code": code, "retryable": retryable}));
        assert_eq!(failure.in_doubt(), in_doubt, "{code}");
        let attempt = FailedAttempt { effect: ResendEffect::Unkeyed, ..FailedAttempt::default() };
        assert_eq!(short(&advise(&attempt, &failure, &PLENTY)), unkeyed, "{code}");
    }
    let text = advice(&aap(json!({"code": "APPOINTMENT_TIME_UNAVAILABLE"}))).to_string();
    assert!(text.contains("the lead itself may have been received"), "{text}");
}

#[test]
fn how_far_a_request_got_decides_where_no_answer_is() {
    let garbled = |defect| CallFailure::garbled(defect, KeptResponse::default());
    let unsent = CallFailure::Unsent;
    let address = BadAddress { url: "x".into(), from_card: true, why: "y" };
    let broken = || CallFailure::Unanswered(Unanswered::Broken("x".into()));
    let proxy = |why| CallFailure::Unsent(Unsent::Proxy { proxy: "p:1".into(), why });
    let certificate = || {
        let problem = CertificateProblem::Expired;
        CallFailure::Unsent(Unsent::Certificate { host: "a.example".into(), problem })
    };
    let refusal = tradepost_aap::AapRefusal::internal_error(Duration::from_secs(5));
    for (failure, read, unkeyed) in [
        (unsent(Unsent::Unreachable("x".into())), "retry", "retry"),
        (unsent(Unsent::Address(address)), "stop:Address", "stop:Address"),
        (certificate(), "stop:Certificate", "stop:Certificate"),
        (proxy(ProxyProblem::NoTunnel("x".into())), "retry", "retry"),
        (proxy(ProxyProblem::Credentials), "stop:Proxy", "stop:Proxy"),
        (proxy(ProxyProblem::NoHttp2), "stop:Proxy", "stop:Proxy"),
        (unsent(Unsent::Setup("x".into())), "stop:Local", "stop:Local"),
        (unsent(Unsent::Invalid(Box::new(refusal))), "fix:Request", "fix:Request"),
        (broken(), "retry", "ask:InDoubt"),
        (CallFailure::Unanswered(Unanswered::TimedOut(seconds(1))), "retry", "ask:InDoubt"),
        (garbled(Defect::Empty), "retry", "ask:InDoubt"),
        (garbled(Defect::Truncated), "retry", "ask:InDoubt"),
        (garbled(Defect::WrongId), "retry", "ask:InDoubt"),
        (garbled(Defect::TooLarge(1)), "ask:SellerDefect", "ask:SellerDefect"),
        (garbled(Defect::Redirect { location: None }), "ask:SellerDefect", "ask:SellerDefect"),
        (refused(RefusalForm::Http(502), None), "retry", "ask:InDoubt"),
        (refused(RefusalForm::Http(429), None), "retry", "retry"),
        (
            refused(RefusalForm::Grpc { code: 14, message: "m".into() }, None),
            "retry",
            "ask:InDoubt",
        ),
        (jsonrpc(json!({"code": -32603, "message": "m"})), "retry", "ask:InDoubt"),
        (adcp(json!({"code": "RATE_LIMITED"})), "retry", "retry"),
        (aap(json!({"code": "INTERNAL_ERROR", "retryable": true})), "retry", "retry"),
    ] {
        let short = |effect| {
            short(&advise(&FailedAttempt { effect, ..FailedAttempt::default() }, &failure, &PLENTY))
        };
        assert_eq!(short(ResendEffect::Read), read, "{failure:?}");
        assert_eq!(short(ResendEffect::Keyed), read, "{failure:?}");
        assert_eq!(short(ResendEffect::Unkeyed), unkeyed, "{failure:?}");
    }
}

#[test]
fn small_nets_override_large_ones() {
    let at = |status: u16, error: Value| {
        let body = json!({"jsonrpc": "2.0", "id": "i", "error": error}).to_string();
        short(&advice(&read_failure(Via::JsonRpc { id: "i" }, status, &body)))
    };
    let unknown = json!({"code": -32050, "message": "m"});
    assert_eq!(at(200, unknown.clone()), "ask:Unclear");
    assert_eq!(at(503, unknown.clone()), "retry");
    assert_eq!(at(401, unknown), "ask:CredentialsMissing");
    assert_eq!(at(503, json!({"code": -32602, "message": "m"})), "fix:Request");
    let data = |error: Value| json!({"code": -32602, "message": "m", "data": error});
    let adcp = json!({"adcp_error": {"code": "ACCOUNT_SUSPENDED", "recovery": "transient"}});
    assert_eq!(at(403, data(adcp)), "retry");
    let refusal = json!({"type": "aap.error", "code": "RATE_LIMITED", "retryable": false});
    assert_eq!(at(503, data(refusal)), "ask:NotRetryable");
    let unknown = json!({"type": "aap.error", "code": "NEW", "retryable": true});
    assert_eq!(at(403, data(unknown)), "retry");
}

#[test]
fn a_9_a_credential_among_the_arguments_is_not_sent() {
    assert_eq!(preflight(&json!({"brief": "cars"})), Ok(()));
    let advice = preflight(&json!({"ext": {"acme_access_token": "s3cret"}})).unwrap_err();
    assert_eq!(advice.name(), "ask");
    assert!(advice.to_string().contains("/ext/acme_access_token"), "{advice}");
    assert!(!advice.to_string().contains("s3cret"), "{advice}");
}

#[test]
fn a_draw_lies_within_its_span_whatever_is_drawn() {
    let wait = RetryWait { at_least: seconds(4), at_most: seconds(5) };
    for (draw, expected) in [
        (0.0, 4_000),
        (0.5, 4_500),
        (1.0, 5_000),
        (7.0, 5_000),
        (-1.0, 4_000),
        (f64::NAN, 4_000),
        (f64::INFINITY, 5_000),
    ] {
        assert_eq!(wait.drawn(draw), Duration::from_millis(expected), "{draw}");
    }
}

proptest! {
    /// No retry comes earlier than the seller asks, later than the time that is left, or without a budget,
    /// whatever the failure (H-1, E-2).
    #[test]
    fn no_retry_is_earlier_than_told(
        code in prop::sample::select(Adcp::NAMES.to_vec()),
        recovery in prop::sample::select(vec!["transient", "correctable", "terminal", "x"]),
        delay in prop::option::of(-10.0_f64..5_000.0),
        retries in 0_u32..50,
        attempts in 0_u32..3,
        time in 0_u64..4_000,
        tokens in 0_u32..3,
        draw in any::<f64>(),
    ) {
        let failure = adcp(json!({"code": code, "recovery": recovery, "retry_after": delay}));
        let attempt = FailedAttempt {
            has_supply: true,
            tried: Tried { retries, ..Tried::default() },
            ..FailedAttempt::default()
        };
        let budget = RetryBudget { attempts, time: seconds(time), tokens };
        let (wait, retried) = match advise(&attempt, &failure, &budget) {
            RecoveryAdvice::Retry(retry) => (retry.wait, true),
            RecoveryAdvice::Fix(fix) => (fix.wait, false),
            RecoveryAdvice::Ask(_) | RecoveryAdvice::Stop(_) => return Ok(()),
        };
        prop_assert!(wait.at_least <= wait.at_most);
        if retried {
            prop_assert!(attempts > 0 && tokens > 0);
            prop_assert!(wait.drawn(draw) <= seconds(time));
            if let Some(delay_asked) = delay {
                prop_assert!(wait.drawn(draw).as_secs_f64() >= delay_asked.clamp(1.0, 3_600.0));
            }
        }
    }

    #[test]
    fn every_advice_can_be_said(
        code in prop::sample::select([Adcp::NAMES, Aap::NAMES].concat()),
        details in "[a-z\u{202e}\u{1b}]{0,40}",
    ) {
        let error = json!({"code": code, "retryable": true, "field": details, "suggestion": details,
            "details": {"suggested_billing": details, "supported_versions": [details]}});
        for failure in [adcp(error.clone()), aap(error)] {
            let text = advice(&failure).to_string();
            prop_assert!(!text.is_empty() && !text.ends_with('.'));
            let unsafe_ = text.contains(['\u{202e}', '\u{1b}']);
            prop_assert!(!unsafe_);
        }
    }
}
