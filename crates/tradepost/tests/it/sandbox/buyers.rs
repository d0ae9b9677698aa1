//! Several buyers at once, and the reports on them.

use std::process::{Command, Stdio};

use tradepost_aap::Version;
use tradepost_document::json::{Value, json};

use super::process::{end, post_to, start};
use super::{CARD, Playing, headers, play};
use crate::support::{client, envelope, lead, with};

/// A buyer of this name.
struct Buyer<'s> {
    sandbox: &'s Playing,
    base: String,
}

impl<'s> Buyer<'s> {
    fn new(sandbox: &'s Playing, name: &str) -> Self {
        Self { sandbox, base: format!("/buyers/{name}") }
    }

    fn card(&self) -> Value {
        self.sandbox.send("GET", &format!("{}{CARD}", self.base), &[], "").unwrap().json()
    }

    fn tell(&self, payload: &Value) -> std::io::Result<client::Response> {
        let body = envelope(payload).to_string();
        self.sandbox.send("POST", &format!("{}/a2a", self.base), &headers(Version::V1_1), &body)
    }

    fn report(&self, form: &str) -> String {
        let target = format!("{}/_sandbox/report?format={form}", self.base);
        String::from_utf8(self.sandbox.send("GET", &target, &[], "").unwrap().body).unwrap()
    }
}

fn keyed(key: &str) -> Value {
    with(lead(), &[("/idempotency_key", json!(key))])
}

/// The report of all buyers in one of its forms.
fn written(sandbox: &Playing, form: &str) -> String {
    let target = format!("/_sandbox/report?format={form}");
    String::from_utf8(sandbox.send("GET", &target, &[], "").unwrap().body).unwrap()
}

#[test]
fn each_buyer_meets_its_own_seller_and_own_grade() {
    let sandbox = play("[[rules]]\non = \"lead.submit\"\nfirst = 1\nhttp = 503\n");
    let ada = Buyer::new(&sandbox, "ada");
    let bob = Buyer::new(&sandbox, "bob");
    let endpoint = format!("http://{}/buyers/ada/a2a", sandbox.address);
    assert_eq!(ada.card()["supportedInterfaces"][0]["url"], endpoint);
    bob.card();
    // The rule counts the requests of each by themselves, and so do keys.
    let other = with(keyed("k"), &[("/message", json!("Another."))]);
    for (buyer, payload) in [(&ada, keyed("k")), (&bob, other)] {
        assert_eq!(buyer.tell(&payload).unwrap().status, 503);
        sandbox.hand.advance(jiff::SignedDuration::from_secs(5));
        let taken = buyer.tell(&payload).unwrap().json();
        assert_eq!(taken["result"]["message"]["parts"][0]["data"]["data"]["status"], "received");
    }
    // Bob sends his lead again under another key.
    bob.tell(&with(keyed("l"), &[("/message", json!("Another."))])).unwrap();
    let report = sandbox.report();
    let outline =
        |buyer: &Value| (buyer["buyer"].clone(), buyer["requests"].clone(), buyer["wrong"].clone());
    let outlines: Vec<_> = report["buyers"].as_array().unwrap().iter().map(outline).collect();
    assert_eq!(outlines, [(json!("ada"), json!(3), json!(0)), (json!("bob"), json!(4), json!(1))]);
    assert_eq!((&report["requests"], &report["well_behaved"]), (&json!(7), &json!(false)));
    assert_eq!(report["findings"][0]["buyer"], "bob");
    let of_ada: Value = tradepost_document::json::from_str(&ada.report("json")).unwrap();
    assert_eq!((&of_ada["requests"], &of_ada["well_behaved"]), (&json!(3), &json!(true)));
    let text = written(&sandbox, "text");
    assert!(text.contains("scenario test, buyer ada: 3 requests\n"), "{text}");
    assert!(text.ends_with("\n2 buyers: 1 well-behaved, 1 badly behaved\n"), "{text}");
}

#[test]
fn buyers_that_come_at_once_get_a_seller_each() {
    let sandbox = play("");
    let search = json!({"type": "inventory.search.request"});
    std::thread::scope(|scope| {
        for round in 0..2 {
            for name in ["a", "b", "c", "d"] {
                let sandbox = &sandbox;
                let search = &search;
                scope.spawn(move || {
                    let buyer = Buyer::new(sandbox, name);
                    buyer.card();
                    assert_eq!(buyer.tell(search).unwrap().status, 200, "{name} {round}");
                });
            }
        }
    });
    let report = sandbox.report();
    let requests: Vec<_> =
        report["buyers"].as_array().unwrap().iter().map(|buyer| &buyer["requests"]).collect();
    assert_eq!(requests, [4; 4].map(|count| json!(count)).iter().collect::<Vec<_>>());
}

#[test]
fn a_redirect_leads_a_buyer_to_its_own_place() {
    let sandbox = play("[[rules]]\non = \"lead.submit\"\nredirect = true\n");
    let buyer = Buyer::new(&sandbox, "ada");
    buyer.card();
    let redirect = buyer.tell(&keyed("k")).unwrap();
    let place = redirect.header("location").unwrap().to_owned();
    assert_eq!(place, "/buyers/ada/_sandbox/elsewhere");
    sandbox.send("POST", &place, &[], "{}").unwrap();
    let report = sandbox.report();
    assert_eq!(report["counts"][0]["id"], "redirect.followed");
    assert_eq!(report["findings"][0]["buyer"], "ada");
}

#[test]
fn some_names_are_forbidden_and_names_come_to_an_end() {
    let sandbox = play("seller = \"agent\"\n");
    for path in ["/buyers//a2a", "/buyers/a%2Fb/a2a", "/buyers/../a2a"] {
        let answer = sandbox.send("GET", path, &[], "").unwrap();
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.json()["error"].as_str().unwrap().contains("letters"), "{path}");
    }
    assert_eq!(sandbox.send("GET", "/buyers/ada/_sandbox/report", &[], "").unwrap().status, 404);
    for number in 0..tradepost_sandbox::MAX_BUYERS {
        let buyer = Buyer::new(&sandbox, &format!("b{number}"));
        assert!(buyer.card()["name"].is_string());
    }
    let late = sandbox.send("GET", &format!("/buyers/late{CARD}"), &[], "").unwrap();
    assert_eq!(late.status, 503);
}

#[test]
fn an_end_in_doubt_is_in_every_form_of_report() {
    let sandbox = play("[[rules]]\non = \"lead.submit\"\ndrop = \"after\"\n");
    let buyer = Buyer::new(&sandbox, "ada");
    buyer.card();
    buyer.tell(&keyed("k")).unwrap_err();
    let text = written(&sandbox, "text");
    assert!(text.ends_with("\nwell-behaved: nothing wrong, 1 in doubt\n"), "{text}");
    assert!(!text.contains("nothing found"), "{text}");
    let junit = written(&sandbox, "junit");
    assert!(junit.contains("<skipped message=\"1 in doubt: request 2 was sent 1 time"), "{junit}");
    assert!(junit.contains("failures=\"0\" errors=\"0\" skipped=\"1\""), "{junit}");
    let markdown = written(&sandbox, "markdown");
    assert!(
        markdown.contains("### In doubt") && markdown.contains("| buyer ada | 2 | 0 | 0 | 1 |")
    );
    let github = written(&sandbox, "github");
    let notice =
        "::notice title=tradepost sandbox::buyer ada: well-behaved: nothing wrong, 1 in doubt";
    assert!(github.contains(notice), "{github}");
    assert!(
        github.starts_with("::notice title=in doubt%3A buyer ada::request 2 was sent"),
        "{github}"
    );
}

#[test]
fn what_is_wrong_is_a_failure_and_unwise_is_not() {
    let sandbox = play("");
    let buyer = Buyer::new(&sandbox, "ada");
    // Without the card first, and one lead under two keys.
    buyer.tell(&keyed("a")).unwrap();
    buyer.tell(&keyed("b")).unwrap();
    let junit = written(&sandbox, "junit");
    let failure = "<failure type=\"wrong\" message=\"once: request 2 lead.submit: the lead of exchange 1 \
                   again, under another key\">";
    assert!(junit.contains(failure), "{junit}");
    assert!(junit.contains("<skipped message=\"unwise, once: request 1 lead.submit: "), "{junit}");
    assert!(junit.contains("failures=\"1\" errors=\"0\" skipped=\"1\""), "{junit}");
    let markdown = written(&sandbox, "markdown");
    assert!(markdown.starts_with("## sandbox test: badly behaved\n"), "{markdown}");
    assert!(markdown.contains("| **wrong** | buyer ada | "), "{markdown}");
    let github = written(&sandbox, "github");
    assert!(github.contains("::error title=wrong%3A lead.doubled of buyer ada::"), "{github}");
    assert!(github.contains("::warning title=unwise%3A card.unread of buyer ada::"), "{github}");
    assert!(github.contains("::error title=tradepost sandbox::buyer ada: badly behaved: 1 wrong"));
    assert_eq!(sandbox.send("GET", "/_sandbox/report?format=pdf", &[], "").unwrap().status, 400);
}

#[test]
fn the_program_writes_reports_in_forms_and_into_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let also = format!("junit={}", file("a.xml"));
    let out = file("b.md");
    let github = format!("github={}", file("c.txt"));
    let arguments =
        ["--until", "2", "--format", "markdown", "--out", &out, "--also", &also, "--also", &github];
    let (child, stdout, address) = start(&arguments);
    for key in ["a", "b"] {
        post_to(address, "/buyers/ada/a2a", &keyed(key));
    }
    let (exit, text) = end(child, stdout);
    assert_eq!((exit, text.as_str()), (Some(3), ""));
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert!(read("a.xml").contains("<testsuite name=\"buyer ada\""));
    assert!(read("b.md").contains("buyer ada") && read("c.txt").contains("::error title=wrong"));
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["sandbox", "--also", "pdf=x"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}
