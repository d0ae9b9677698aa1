//! Each finding and the behaviour that leads to it, next to behaviour that does not.

use jiff::SignedDuration;
use tradepost_aap::Version;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_sandbox::watch::{FindingKind, FindingLevel};

use super::publisher::{self, KEYS, order};
use super::{CARD, Playing, headers, play};
use crate::support::{lead, with};

/// What a buyer does.
#[derive(Clone)]
enum Step {
    /// Reads the card.
    Card,
    /// Sends a payload as it should be sent.
    Send(Value),
    /// Sends a payload under a message id.
    Named(&'static str, Value),
    /// Sends a payload with a token.
    As(&'static str, Value),
    /// Sends a payload without this header.
    Without(&'static str, Value),
    /// Sends bytes to the endpoint.
    Body(&'static str),
    /// Follows a redirect.
    Elsewhere,
    /// Waits so many milliseconds.
    Wait(i64),
    /// Calls a tool of a publisher.
    Buy(Value),
}
use Step::{As, Body, Buy, Card, Elsewhere, Named, Send, Wait, Without};

impl Step {
    fn take(&self, number: usize, sandbox: &Playing) {
        let mut headers = headers(Version::V1_1);
        let fresh = format!("m-{number}");
        let (id, payload) = match self {
            Card => {
                sandbox.send("GET", CARD, &[], "").unwrap();
                return;
            }
            Elsewhere => {
                sandbox.send("POST", "/_sandbox/elsewhere", &[], "").unwrap();
                return;
            }
            Wait(milliseconds) => {
                sandbox.hand.advance(SignedDuration::from_millis(*milliseconds));
                return;
            }
            Buy(arguments) => {
                publisher::call(sandbox, "create_media_buy", arguments);
                return;
            }
            Body(body) => {
                let _ = sandbox.send("POST", "/a2a", &headers, body);
                return;
            }
            Send(payload) => (fresh.as_str(), payload),
            Named(id, payload) => (*id, payload),
            As(token, payload) => {
                headers.push(("Authorization", token));
                (fresh.as_str(), payload)
            }
            Without(name, payload) => {
                headers.retain(|(known, _)| known != name);
                (fresh.as_str(), payload)
            }
        };
        let body = json!({"jsonrpc": "2.0", "id": number, "method": "SendMessage",
            "params": {"message": {"messageId": id, "role": "ROLE_USER",
                "parts": [{"data": payload}]}}});
        // Some answers never come.
        let _ = sandbox.send("POST", "/a2a", &headers, &body.to_string());
    }
}

fn search(make: &str) -> Value {
    json!({"type": "inventory.search.request", "filters": {"make": [make]}})
}

fn vehicle() -> Value {
    json!({"type": "inventory.vehicle.request", "stock": "F10001"})
}

/// A lead with a key and a message.
fn keyed(key: &str, message: &str) -> Value {
    with(lead(), &[("/idempotency_key", json!(key)), ("/message", json!(message))])
}

fn about(key: &str, stock: &str) -> Value {
    let interest = json!({"stock": stock, "condition": "used"});
    with(keyed(key, "m"), &[("/vehicle_of_interest", interest)])
}

fn permitting(key: &str, channels: &[&str], text: &str) -> Value {
    with(
        keyed(key, key),
        &[
            ("/consent/allowed_channels", json!(channels)),
            ("/consent/consent_text", json!(text)),
            ("/customer/phone", json!("+14155550123")),
        ],
    )
}

const LIMITED: &str = r#"
    [[rules]]
    per = "intent"
    nth = 1
    refuse = "RATE_LIMITED"
    details = { retry_after_ms = 1500 }
"#;
const DOWN: &str = "[[rules]]\nhttp = 503\n";
const DOWN_ONCE: &str = "[[rules]]\nper = \"intent\"\nnth = 1\nhttp = 503\n";
const LOST: &str = "[[rules]]\non = \"lead.submit\"\nper = \"intent\"\nnth = 1\ndrop = \"after\"\n";
const FINAL: &str = "[[rules]]\nrefuse = \"VEHICLE_NOT_FOUND\"\n";
const LOCKED: &str = "[[rules]]\nnth = 1\nprotocol = \"UNAUTHENTICATED\"\n";
const GONE: &str = "[[rules]]\non = \"inventory.vehicle\"\nrefuse = \"VEHICLE_UNAVAILABLE\"\n";
const CONFLICT: &str = "[[rules]]\nnth = 1\nrefuse = \"IDEMPOTENCY_CONFLICT\"\n";
const UNCONSENTED: &str = "[[rules]]\nnth = 1\nrefuse = \"CONTACT_CONSENT_REQUIRED\"\n";
const LOST_MESSAGE: &str = "seller = \"agent\"\n[[rules]]\non = \"SendMessage\"\nper = \"intent\"\n\
                            nth = 1\ndrop = \"after\"\n";
const SHOP: &str = "seller = \"publisher\"\n";
const LOST_BUY: &str = "seller = \"publisher\"\n[[rules]]\non = \"create_media_buy\"\nper = \"intent\"\n\
                        nth = 1\ndrop = \"after\"\n";
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":
    {"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
const HELLO_AGAIN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"SendMessage","params":{"message":
    {"messageId":"m-2","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;
const CALM: &str = "";

/// Script, behaviour, findings in the order of their table.
type Row = (&'static str, &'static str, Vec<Step>, &'static [&'static str]);

fn rows() -> Vec<Row> {
    let retry = |script, wait, findings| -> Row {
        let steps = vec![Card, Send(search("Honda")), Wait(wait), Send(search("Honda"))];
        ("a retry after some time", script, steps, findings)
    };
    let budget = "[budget]\nattempts = 3\nelapsed = \"1m\"\nretries = 2\n";
    let budgeted = |rules: &str| -> &'static str { Box::leak(format!("{budget}{rules}").into()) };
    let times = |n: usize, wait: i64| -> Vec<Step> {
        let one = [Send(search("Honda")), Wait(wait)];
        [vec![Card], std::iter::repeat_n(one, n).flatten().collect()].concat()
    };
    let pair = |script, what, first: Value, second: Value, findings| -> Row {
        (what, script, vec![Card, Send(first), Wait(5_000), Send(second)], findings)
    };
    let a_year = "[[rules]]\nnth = 1\nhttp = 429\nretry_after = 31536000\n";
    let nonsense = "[[rules]]\nnth = 1\nhttp = 429\nretry_after = \"soon\"\n";
    let another_time = "[[rules]]\nnth = 1\nrefuse = \"VEHICLE_NOT_FOUND\"\nretryable = true\n";
    vec![
        // Waiting.
        retry(LIMITED, 1_499, &["retry.early"]),
        retry(LIMITED, 1_500, &[]),
        retry(DOWN_ONCE, 99, &["retry.without_pause"]),
        retry(DOWN_ONCE, 100, &[]),
        retry(a_year, 86_399_999, &["retry.early", "budget.elapsed"]),
        retry(a_year, 86_400_000, &["budget.elapsed"]),
        retry(nonsense, 100, &[]),
        retry(CALM, 0, &[]),
        (
            "another intent does not wait",
            LIMITED,
            vec![Card, Send(search("Honda")), Send(search("Ford"))],
            &[],
        ),
        // For good.
        retry(FINAL, 60_000, &["retry.of_final"]),
        retry(another_time, 60_000, &[]),
        (
            "a token after 401",
            LOCKED,
            vec![Card, Send(search("Honda")), As("Bearer t", search("Honda"))],
            &[],
        ),
        (
            "the same token after 401",
            LOCKED,
            vec![Card, As("Bearer t", search("Honda")), As("Bearer t", search("Honda"))],
            &["retry.of_final"],
        ),
        pair(CONFLICT, "a fresh key after a conflict", keyed("a", "m"), keyed("b", "m"), &[]),
        pair(
            CONFLICT,
            "the same key after a conflict",
            keyed("a", "m"),
            keyed("a", "m"),
            &["retry.of_final"],
        ),
        // Budgets.
        ("three attempts of three", budgeted(DOWN), times(3, 1_000), &[]),
        (
            "four attempts of three",
            budgeted(DOWN),
            times(4, 1_000),
            &["budget.attempts", "budget.retries"],
        ),
        ("an attempt after the time", budgeted(DOWN), times(3, 31_000), &["budget.elapsed"]),
        (
            "three retries of two in all",
            budgeted(DOWN_ONCE),
            ["Honda", "Ford", "Kia"]
                .iter()
                .flat_map(|make| [Send(search(make)), Wait(1_000), Send(search(make))])
                .fold(vec![Card], |steps, step| [steps, vec![step]].concat()),
            &["budget.retries"],
        ),
        // Keys.
        pair(CALM, "two leads, one key", keyed("a", "one"), keyed("a", "two"), &["key.reused"]),
        pair(
            UNCONSENTED,
            "a corrected lead under its key",
            keyed("a", "one"),
            keyed("a", "two"),
            &[],
        ),
        pair(LOST, "a lost lead under its key", keyed("a", "m"), keyed("a", "m"), &[]),
        pair(
            LOST,
            "a lost lead under another key",
            keyed("a", "m"),
            keyed("b", "m"),
            &["lead.doubled"],
        ),
        pair(
            CALM,
            "a taken lead under another key",
            keyed("a", "m"),
            keyed("b", "m"),
            &["lead.doubled"],
        ),
        pair(CALM, "two leads, two keys", keyed("a", "one"), keyed("b", "two"), &[]),
        pair(LOST, "a lost lead without a key", lead(), lead(), &["lead.doubled", "key.missing"]),
        (
            "a lost message to an agent under another id",
            LOST_MESSAGE,
            vec![Card, Body(HELLO), Wait(5_000), Body(HELLO_AGAIN)],
            &["message.doubled"],
        ),
        (
            "a lost message to an agent under its id",
            LOST_MESSAGE,
            vec![Card, Body(HELLO), Wait(5_000), Body(HELLO)],
            &[],
        ),
        // Envelopes.
        (
            "one id for two messages",
            CALM,
            vec![Card, Named("x", search("Honda")), Named("x", search("Ford"))],
            &["message_id.reused"],
        ),
        (
            "one id for a retry",
            DOWN_ONCE,
            vec![Card, Named("x", search("Honda")), Wait(500), Named("x", search("Honda"))],
            &[],
        ),
        (
            "no version",
            CALM,
            vec![Card, Without("A2A-Version", search("Kia"))],
            &["header.version_missing"],
        ),
        (
            "no extension",
            CALM,
            vec![Card, Without("A2A-Extensions", search("Kia"))],
            &["header.extension_missing"],
        ),
        (
            "a mistyped filter",
            CALM,
            vec![Card, Send(json!({"type": "inventory.search.request", "filters": {"maek": []}}))],
            &["request.invalid"],
        ),
        ("no JSON", CALM, vec![Card, Body("{")], &["request.invalid"]),
        (
            "another operation",
            CALM,
            vec![Card, Body(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#)],
            &["request.invalid"],
        ),
        // Consent.
        (
            "a lead without consent",
            CALM,
            vec![Card, Send(with(keyed("a", "m"), &[("/consent", Value::Null)]))],
            &["consent.missing"],
        ),
        (
            "a lead whose consent has expired",
            CALM,
            vec![
                Card,
                Send(with(
                    keyed("a", "m"),
                    &[("/consent/expires_at", json!("2026-04-30T11:30:00Z"))],
                )),
            ],
            &["consent.invalid"],
        ),
        pair(
            UNCONSENTED,
            "more channels by the same words",
            permitting("a", &["email"], "By e-mail."),
            permitting("b", &["email", "phone"], "By e-mail."),
            &["consent.stretched"],
        ),
        pair(
            UNCONSENTED,
            "more channels by other words",
            permitting("a", &["email"], "By e-mail."),
            permitting("b", &["email", "phone"], "By e-mail and telephone."),
            &[],
        ),
        pair(
            CALM,
            "fewer channels by the same words",
            permitting("a", &["email", "phone"], "Do."),
            permitting("b", &["email"], "Do."),
            &[],
        ),
        // The seller's word.
        pair(GONE, "a lead for what is gone", vehicle(), about("a", "F10001"), &["vehicle.gone"]),
        pair(GONE, "a lead for another vehicle", vehicle(), about("a", "F10002"), &[]),
        // A publisher's tasks.
        (
            "a buy again under its key",
            LOST_BUY,
            vec![Buy(order(KEYS[0])), Wait(2_000), Buy(order(KEYS[0]))],
            &[],
        ),
        (
            "a buy again under another key",
            LOST_BUY,
            vec![Buy(order(KEYS[0])), Wait(2_000), Buy(order(KEYS[1]))],
            &["task.doubled"],
        ),
        (
            "another buy under the same key",
            SHOP,
            vec![
                Buy(order(KEYS[0])),
                Buy(with(order(KEYS[0]), &[("/end_time", json!("2091-01-31T00:00:00Z"))])),
            ],
            &["key.reused"],
        ),
        (
            "a buy without a key, and with a credential",
            SHOP,
            vec![Buy(with(
                order(KEYS[0]),
                &[("/idempotency_key", Value::Null), ("/api_key", json!("k"))],
            ))],
            &["credential.sent", "key.missing", "request.invalid"],
        ),
        ("a redirect is followed", CALM, vec![Card, Elsewhere], &["redirect.followed"]),
        ("no card is read", CALM, vec![Send(search("Kia"))], &["card.unread"]),
    ]
}

#[test]
fn only_a_badly_behaved_buyer_is_caught() {
    let mut caught: Vec<&str> = Vec::new();
    for (behaviour, script, steps, expected) in rows() {
        let sandbox = play(script);
        for (number, step) in steps.iter().enumerate() {
            step.take(number, &sandbox);
        }
        let report = sandbox.report();
        let counts = report["counts"].as_array().unwrap();
        let found: Vec<_> = counts.iter().map(|count| count["id"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{behaviour}, {script}: {report:#}");
        let wrong = counts.iter().any(|count| count["level"] == "wrong");
        assert_eq!(report["well_behaved"], !wrong, "{behaviour}");
        caught.extend(expected);
    }
    let missing: Vec<_> = FindingKind::ALL
        .iter()
        .map(|finding| finding.name())
        .filter(|id| !caught.contains(id))
        .collect();
    assert!(missing.is_empty(), "no behaviour leads to {missing:?}");
}

#[test]
fn a_report_holds_nothing_of_a_customer() {
    let sandbox = play(LOST);
    for step in [Card, Send(keyed("secret-key", "a word")), Wait(1), Send(keyed("b", "a word"))] {
        step.take(7, &sandbox);
    }
    let text = sandbox.send("GET", "/_sandbox/report?format=text", &[], "").unwrap();
    let all = format!("{}{}", sandbox.report(), String::from_utf8(text.body).unwrap());
    assert!(all.contains("lead.doubled"));
    for value in ["Ada", "Lovelace", "ada@example.com", "a word", "secret-key", "answer me"] {
        assert!(!all.contains(value), "{value} in {all}");
    }
}

#[test]
fn the_report_reads_well_in_text() {
    let sandbox = play(LIMITED);
    for step in [Card, Send(search("Kia")), Wait(1_000), Send(search("Kia"))] {
        step.take(3, &sandbox);
    }
    let text = sandbox.send("GET", "/_sandbox/report", &[("Accept", "text/plain")], "").unwrap();
    expect_test::expect![[r#"
        scenario test: 3 requests

        wrong retry.early (1): wait for retry_after, rounded up, and add jitter
          The buyer repeated a request before the retry-after of the seller had passed. (AAP R-ER-07, RFC 9110 §10.2.3)
          request 3 inventory.search: after 1s; exchange 2 asked for 1s 500ms

        badly behaved: 1 wrong, 0 unwise
    "#]].assert_eq(&String::from_utf8(text.body).unwrap());
}

#[test]
fn the_sandbox_page_names_every_finding_and_every_scenario() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sandbox.md");
    let page = std::fs::read_to_string(page).unwrap();
    for finding in FindingKind::ALL {
        let line = format!("| `{finding}` | {} |", finding.level());
        assert!(page.contains(&line), "{line}");
    }
    for script in tradepost_sandbox::script::Script::built_in() {
        let line = format!("| `{}` | {} |", script.name, script.description);
        assert!(page.contains(&line), "{line}");
    }
    assert_eq!(FindingLevel::Wrong.name(), "wrong");
}

#[test]
fn a_lead_without_a_final_answer_ends_in_doubt() {
    let doubts = |rules: &str, sent: &[Value]| {
        let sandbox = play(rules);
        for (number, payload) in sent.iter().enumerate() {
            Send(payload.clone()).take(number, &sandbox);
        }
        let report = sandbox.report();
        let text = sandbox.send("GET", "/_sandbox/report?format=text", &[], "").unwrap();
        let text = String::from_utf8(text.body).unwrap();
        let doubts = report["in_doubt"].as_array().unwrap().clone();
        assert_eq!(text.contains("in doubt: request"), !doubts.is_empty(), "{text}");
        let said = |doubt: &Value| {
            (
                doubt["exchange"].clone(),
                doubt["attempts"].clone(),
                doubt["idempotency_key"].clone(),
                doubt["taken"].clone(),
            )
        };
        doubts.iter().map(said).collect::<Vec<_>>()
    };
    let keyed = with(lead(), &[("/idempotency_key", json!("k-1"))]);
    let rule = |nth: &str, act: &str| {
        format!("[[rules]]\non = [\"lead.submit\"]\nper = \"intent\"\n{nth}\n{act}\n")
    };
    let lost = |nth| rule(nth, "drop = \"after\"");
    let one = |taken: bool, attempts: u32, key: bool| {
        vec![(json!(attempts), json!(attempts), json!(key), json!(taken))]
    };
    let twice = [keyed.clone(), keyed.clone()];
    // The buyer gave up: the dealer has it, or has it not.
    assert_eq!(doubts(&lost(""), &twice[..1]), one(true, 1, true));
    assert_eq!(doubts(&rule("", "drop = \"before\""), &[lead()]), one(false, 1, false));
    assert_eq!(doubts(&rule("", "garbage = \"html\""), &twice[..1]), one(true, 1, true));
    assert_eq!(doubts(&rule("", "http = 503"), &twice[..1]), one(false, 1, true));
    // A wait that was asked for later says nothing about the first attempt.
    let limited = lost("nth = [1]") + &rule("nth = [2]", "refuse = \"RATE_LIMITED\"");
    assert_eq!(doubts(&limited, &twice), one(true, 2, true));
    let locked = lost("nth = [1]") + &rule("nth = [2]", "http = 401");
    assert_eq!(doubts(&locked, &twice), one(true, 2, true));
    // The key brought the receipt, or a refusal that the lead itself got.
    assert_eq!(doubts(&lost("nth = [1]"), &twice), []);
    let refused = rule("nth = [1]", "drop = \"before\"")
        + &rule("nth = [2]", "refuse = \"VEHICLE_UNAVAILABLE\"");
    assert_eq!(doubts(&refused, &twice), []);
    // What was refused at once never was in doubt, and reading has no effect.
    assert_eq!(doubts(&rule("", "refuse = \"RATE_LIMITED\""), &twice[..1]), []);
    let search = json!({"type": "inventory.search.request"});
    assert_eq!(doubts("[[rules]]\ndrop = \"after\"\n", &[search]), []);
}
