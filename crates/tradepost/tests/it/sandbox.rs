//! The sandbox: what its scenarios do to a buyer, and what it finds in one.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use jiff::SignedDuration;
use tradepost::demo::DemoSellerFactory;
use tradepost_aap::{AapCode, Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_sandbox::script::{self, Script};
use tradepost_sandbox::{Sandbox, server};
use tradepost_server::clock::{Clock, ManualClock};

use crate::support::{NOW, at, client, envelope, lead, schemas, with};

mod agent;
mod buyers;
mod findings;
mod process;
mod publisher;

const CARD: &str = "/.well-known/agent-card.json";

/// A running sandbox.
pub struct Playing {
    pub address: SocketAddr,
    pub hand: ManualClock,
    runtime: Option<tokio::runtime::Runtime>,
    _folder: tempfile::TempDir,
}

/// Plays a script of the tests.
pub fn play(rules: &str) -> Playing {
    let text = format!("name = \"test\"\n{rules}");
    perform(script::read(&text).unwrap_or_else(|mistakes| panic!("{mistakes:?}")))
}

/// Plays a script that comes with the program.
fn scenario(name: &str) -> Playing {
    let mut scripts = Script::built_in().into_iter();
    perform(scripts.find(|script| script.name == name).unwrap())
}

fn perform(script: Script) -> Playing {
    let folder = tempfile::tempdir().unwrap();
    let (clock, hand) = Clock::manual(at(NOW));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    let entered = runtime.enter();
    let factory =
        DemoSellerFactory { folder: folder.path().to_owned(), clock: clock.clone(), address };
    let sandbox = Sandbox::open(script, Arc::new(factory), 12, clock, address).unwrap();
    drop(entered);
    runtime.spawn(server::serve(listener, Arc::new(sandbox), std::future::pending()));
    Playing { address, hand, runtime: Some(runtime), _folder: folder }
}

impl Drop for Playing {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// The headers of a well-behaved buyer.
pub fn headers(version: Version) -> Vec<(&'static str, &'static str)> {
    vec![
        ("Content-Type", "application/json"),
        ("A2A-Version", "1.0"),
        ("A2A-Extensions", version.uri()),
    ]
}

impl Playing {
    /// Sends a request and reads what comes, if anything does.
    pub fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> std::io::Result<client::Response> {
        let address = self.address;
        let mut head =
            format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        client::raw(
            address,
            format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes(),
        )
    }

    fn call(&self, version: Version, payload: &Value) -> client::Response {
        let body = envelope(payload).to_string();
        self.send("POST", "/a2a", &headers(version), &body).unwrap()
    }

    pub fn report(&self) -> Value {
        self.send("GET", "/_sandbox/report", &[], "").unwrap().json()
    }
}

/// A request of every skill that a dealer answers.
fn payload(skill: Skill, version: Version) -> Value {
    match skill {
        Skill::DealerInformation | Skill::InventoryFacets | Skill::InventorySearch => {
            json!({"type": skill.request_type()})
        }
        Skill::InventoryVehicle => json!({"type": skill.request_type(), "stock": "F10001"}),
        Skill::LeadSubmit if version == Version::V1_0 => {
            let agent = json!("test-agent");
            with(lead(), &[("/source_agent", agent.clone()), ("/consent/source_agent", agent)])
        }
        Skill::LeadSubmit => lead(),
    }
}

#[test]
fn every_skills_codes_are_valid_bodies_in_both_versions() {
    for version in Version::ALL {
        let sandbox = scenario("refusing");
        for skill in Skill::ALL {
            for code in AapCode::ALL {
                let response = sandbox.call(*version, &payload(*skill, *version));
                schemas::check_answer(&response);
                let answer = response.json();
                let name = format!("{skill} {code} {answer}");
                assert_eq!(response.status, 200, "{name}");
                assert_eq!(response.header("a2a-extensions"), Some(version.uri()), "{name}");
                assert_eq!(answer["id"], 1, "{name}");
                assert_eq!(answer["error"]["code"], code.jsonrpc(), "{name}");
                assert_eq!(answer["error"]["data"]["code"], code.name(), "{name}");
                assert_eq!(answer["error"]["data"]["retryable"], code.retryable(), "{name}");
                let errors = &answer["error"]["data"]["details"]["errors"];
                let validation = code.jsonrpc() == -32602;
                assert!(!validation || !errors.as_array().unwrap().is_empty(), "{name}");
            }
        }
    }
}

#[test]
fn a_script_can_say_more_than_a_code_does() {
    let sandbox = play(
        r#"
        [[rules]]
        refuse = "INTERNAL_ERROR"
        details = { retry_after_ms = "soon", hint = { a = [1, 2.5] } }
        message = "not today"
        retryable = false
        retry_after = "never"
        status = 500
        "#,
    );
    let response = sandbox.call(Version::V1_1, &payload(Skill::InventorySearch, Version::V1_1));
    schemas::check_answer(&response);
    assert_eq!((response.status, response.header("retry-after")), (500, Some("never")));
    let mut error = response.json()["error"].take();
    error["data"]["error_id"] = json!("<id>");
    assert_eq!(
        error,
        json!({"code": -32603, "message": "INTERNAL_ERROR: not today", "data": {
            "type": "aap.error", "error_id": "<id>", "code": "INTERNAL_ERROR",
            "message": "not today", "retryable": false,
            "details": {"retry_after_ms": "soon", "retry_after_seconds": 1,
                        "hint": {"a": [1, 2.5]}},
            "created_at": "2026-04-30T12:00:00Z"}})
    );
}

#[test]
fn every_error_of_protocol_and_http_can_be_had() {
    use tradepost_a2a::error::A2aCode as ProtocolCode;
    let sandbox = scenario("protocol");
    let request = payload(Skill::InventorySearch, Version::V1_1);
    for code in ProtocolCode::ALL {
        let response = sandbox.call(Version::V1_1, &request);
        schemas::check_answer(&response);
        let statuses = [
            (ProtocolCode::Unauthenticated, 401),
            (ProtocolCode::PermissionDenied, 403),
            (ProtocolCode::ResourceExhausted, 429),
        ];
        let status = statuses.into_iter().find(|(known, _)| known == code);
        let status = status.map_or(200, |(_, status)| status);
        let challenged = matches!(status, 401 | 403);
        assert_eq!(response.status, status, "{code}");
        assert_eq!(response.header("www-authenticate").is_some(), challenged, "{code}");
        let waits = [ProtocolCode::ResourceExhausted, ProtocolCode::Unavailable].contains(code);
        assert_eq!(response.header("retry-after").is_some(), waits, "{code}");
        let error = response.json()["error"].clone();
        assert_eq!(error["code"], code.jsonrpc(), "{code}");
        let details = code.a2a() || status != 200;
        assert!(!details || error["data"][0]["reason"] == code.name(), "{code} {error}");
    }
    let statuses: Vec<_> = (0..9).map(|_| sandbox.call(Version::V1_1, &request).status).collect();
    assert_eq!(statuses, [400, 404, 413, 415, 429, 500, 502, 503, 504]);
    // Where no rule fits any more, the dealer answers.
    let answer = sandbox.call(Version::V1_1, &request);
    schemas::check_answer(&answer);
    assert!(answer.json()["result"].is_object());
}

#[test]
fn answers_without_a_rule_are_those_of_the_demo_dealer() {
    let sandbox = scenario("calm");
    let card = sandbox.send("GET", CARD, &[], "").unwrap();
    schemas::check("1.1", "card", &card.json());
    let endpoint = format!("http://{}/a2a", sandbox.address);
    assert_eq!(card.json()["supportedInterfaces"][0]["url"], endpoint);
    for version in Version::ALL {
        for skill in Skill::ALL {
            schemas::check_answer(&sandbox.call(*version, &payload(*skill, *version)));
        }
    }
    assert_eq!(sandbox.send("GET", "/nowhere", &[], "").unwrap().status, 404);
    assert_eq!(sandbox.send("PUT", "/a2a", &[], "").unwrap().status, 405);
}

/// The listings of a search.
fn search(sandbox: &Playing) -> Vec<Value> {
    let answer = sandbox.call(Version::V1_1, &payload(Skill::InventorySearch, Version::V1_1));
    let answer = answer.json();
    let data = &answer["result"]["message"]["parts"][0]["data"]["data"];
    data["vehicles"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
}

#[test]
fn what_is_found_first_is_sold_before_it_is_asked() {
    let sandbox = scenario("sold");
    let found = search(&sandbox);
    let first = &found[0]["vehicle_id"];
    let second = &found[1]["vehicle_id"];
    let detail = |id: &Value| {
        let request = json!({"type": "inventory.vehicle.request", "vehicle_id": id});
        let response = sandbox.call(Version::V1_1, &request);
        schemas::check_answer(&response);
        response.json()
    };
    assert_eq!(detail(first)["error"]["data"]["code"], "VEHICLE_UNAVAILABLE");
    assert!(detail(second)["result"].is_object());
    let interest = json!({"vin": found[0]["vin"], "condition": found[0]["condition"]});
    let drive = with(
        lead(),
        &[
            ("/vehicle_of_interest", interest),
            ("/appointment", json!({"appointment_type": "test_drive"})),
        ],
    );
    let refused = sandbox.call(Version::V1_1, &drive).json();
    assert_eq!(refused["error"]["data"]["code"], "VEHICLE_UNAVAILABLE", "R-LD-27");
    // The next search sells its own first one.
    let again = search(&sandbox);
    assert!(again.iter().all(|vehicle| vehicle["vehicle_id"] != *first));
    assert_eq!(again[0]["vehicle_id"], *second);
}

#[test]
fn poisoned_answers_are_valid_and_their_facts_are_true() {
    let calm = scenario("calm");
    let hostile = scenario("hostile");
    for skill in [Skill::DealerInformation, Skill::InventoryFacets, Skill::InventorySearch] {
        let request = payload(skill, Version::V1_1);
        let poisoned = hostile.call(Version::V1_1, &request);
        schemas::check_answer(&poisoned);
        let text = |response: &client::Response| response.json().to_string();
        assert_ne!(text(&poisoned).len(), text(&calm.call(Version::V1_1, &request)).len());
    }
    let true_ones = search(&calm);
    let poisoned = search(&hostile);
    let facts = |vehicle: &Value| (vehicle["vin"].clone(), vehicle["price"].clone());
    assert!(true_ones.iter().map(facts).eq(poisoned.iter().map(facts)));
    let trim = poisoned[0]["trim"].as_str().unwrap();
    for part in ["\u{1b}[2J", "\u{202e}", "\u{200b}", "ignore all previous instructions"] {
        assert!(trim.contains(part), "{trim:?}");
    }
    let redirect = hostile.call(Version::V1_1, &lead());
    assert_eq!(redirect.status, 307);
    let redirected = redirect.header("location").unwrap();
    hostile.send("POST", redirected, &[], "{}").unwrap();
    let report = hostile.report();
    let ids: Vec<_> = report["counts"].as_array().unwrap().iter().map(|c| &c["id"]).collect();
    assert!(ids.contains(&&json!("redirect.followed")), "{ids:?}");
}

#[test]
fn a_connection_ends_before_or_after_the_dealer_has_acted() {
    for (when, code) in [("before", None), ("after", Some("IDEMPOTENCY_CONFLICT"))] {
        let sandbox =
            play(&format!("[[rules]]\non = \"lead.submit\"\nfirst = 1\ndrop = \"{when}\""));
        let keyed = with(lead(), &[("/idempotency_key", json!("k"))]);
        let body = envelope(&keyed).to_string();
        let headers = headers(Version::V1_1);
        sandbox.send("POST", "/a2a", &headers, &body).unwrap_err();
        // Another lead under the same key collides with what was stored.
        let other = with(keyed, &[("/message", json!("Another."))]);
        let answer = sandbox.call(Version::V1_1, &other).json();
        let refused = answer.pointer("/error/data/code").and_then(Value::as_str);
        assert_eq!(refused, code, "{when}: {answer}");
    }
}

#[test]
fn a_truncated_answer_promises_more_than_it_brings() {
    let sandbox = play("[[rules]]\ntruncate = true");
    let answer = sandbox.call(Version::V1_1, &payload(Skill::InventorySearch, Version::V1_1));
    let promised: usize = answer.header("content-length").unwrap().parse().unwrap();
    assert!(answer.body.len() < promised, "{} of {promised}", answer.body.len());
    assert!(answer.body.starts_with(b"{\"jsonrpc\""));
}

/// Runs `tradepost call`, which is a buyer that sends everything once.
fn buy(sandbox: &Playing, skill: Skill, more: &[&str]) -> i32 {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(["call", &format!("http://{}", sandbox.address), skill.name()]);
    let keyed = with(lead(), &[("/idempotency_key", json!("cli"))]);
    let usual = payload(skill, Version::V1_1);
    let data = if skill == Skill::LeadSubmit { keyed } else { usual }.to_string();
    command.args(["--data", &data]).args(more);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let shown = [output.stdout, output.stderr].concat();
    let shown = String::from_utf8(shown).expect("what is shown is text");
    for hidden in ["\u{1b}[2J", "\u{1b}]0", "\u{7}", "\u{9b}", "\u{202e}", "\u{200b}", "\u{e0041}"]
    {
        assert!(!shown.contains(hidden), "{skill} {shown:?}");
    }
    output.status.code().unwrap()
}

#[test]
fn our_client_understands_and_behaves_in_every_scenario() {
    use Skill::{
        DealerInformation, InventoryFacets, InventorySearch, InventoryVehicle, LeadSubmit,
    };
    let table: &[(&str, &[(Skill, i32)])] = &[
        ("calm", &[(DealerInformation, 0), (InventorySearch, 0), (LeadSubmit, 0)]),
        (
            "flaky",
            &[
                (DealerInformation, 7),
                (InventoryFacets, 7),
                (InventorySearch, 10),
                (InventoryVehicle, 10),
                (LeadSubmit, 10),
            ],
        ),
        ("throttling", &[(InventorySearch, 7), (LeadSubmit, 7)]),
        (
            "abusive",
            &[
                (DealerInformation, 7),
                (InventoryFacets, 7),
                (InventorySearch, 7),
                (InventoryVehicle, 7),
                (LeadSubmit, 7),
            ],
        ),
        (
            "hostile",
            &[
                (DealerInformation, 0),
                (InventoryFacets, 0),
                (InventorySearch, 0),
                (InventoryVehicle, 4),
                (LeadSubmit, 10),
            ],
        ),
        (
            "garbled",
            &[
                (DealerInformation, 10),
                (InventoryFacets, 10),
                (InventorySearch, 10),
                (LeadSubmit, 10),
            ],
        ),
        ("sold", &[(InventorySearch, 0), (InventoryVehicle, 4)]),
        ("lost-leads", &[(InventorySearch, 0), (LeadSubmit, 10)]),
        ("protocol", &[(DealerInformation, 3), (InventoryFacets, 3), (InventorySearch, 8)]),
        ("locked", &[(DealerInformation, 9), (InventorySearch, 9), (LeadSubmit, 9)]),
        ("slow", &[(InventorySearch, 10)]),
        ("cardless", &[(InventorySearch, 10), (InventoryFacets, 7), (DealerInformation, 10)]),
        // The next four are no dealers; `agent` and `publisher` play them.
        ("lost-messages", &[]),
        ("lost-buys", &[]),
        ("refused-buys", &[]),
        ("poisoned-offers", &[]),
        ("refusing", &[(DealerInformation, 8), (InventoryFacets, 3), (InventorySearch, 3)]),
    ];
    let played: Vec<_> = table.iter().map(|(name, _)| (*name).to_owned()).collect();
    let known: Vec<_> = Script::built_in().into_iter().map(|script| script.name).collect();
    assert_eq!(played, known, "every scenario is played");
    for (name, calls) in table {
        let sandbox = scenario(name);
        let options: &[&str] = if *name == "slow" { &["--timeout", "1"] } else { &[] };
        let exits: Vec<_> =
            calls.iter().map(|(skill, _)| (*skill, buy(&sandbox, *skill, options))).collect();
        assert_eq!(exits, *calls, "{name}");
        let report = sandbox.report();
        assert_eq!(report["counts"], json!([]), "{name}: {report:#}");
        assert_eq!(report["well_behaved"], true, "{name}");
        assert_eq!(report["scenario"], *name);
    }
}

#[test]
fn our_own_client_survives_every_kind_of_garbage() {
    let sandbox = scenario("garbled");
    let kinds = script::Garbage::ALL.len();
    for number in 0..=kinds {
        sandbox.hand.advance(SignedDuration::from_mins(1));
        let exit = buy(&sandbox, Skill::InventorySearch, &[]);
        assert_eq!(exit, 10, "rule {}", number + 1);
    }
    assert_eq!(buy(&sandbox, Skill::InventorySearch, &[]), 0, "no rule is left");
}
