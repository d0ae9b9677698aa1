//! `tradepost publisher ad-server` beside a running server, whose ad server is a receiver of deals: what each
//! command prints, for whom, and how it ends.

use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tradepost_document::json::{Value, json};
use tradepost_publisher::ad_server::ExternalId;

use super::people::PublisherFixture;
use super::staff::catalogue;
use crate::process::pause;
use crate::support::webhook::{Webhook, answer};

/// Credential of the receiver, which no output may have.
const SECRET: &str = "a-secret-of-the-receiver";

/// Looks at the store until a server must have done something.
const LOOKS: usize = 200;

/// What is sold: `dealt` as a deal.
fn offer() -> Value {
    let mut offer = catalogue();
    let product = &mut offer["products"][0];
    product["product_id"] = json!("dealt");
    product["terms"] = json!({"ad_server": {"deal": {"seats": ["seat-7"]}}});
    offer
}

/// A publisher with a receiver of deals, which answers with a status.
struct DealFixture {
    publisher: PublisherFixture,
    receiver: Webhook,
    status: Arc<Mutex<&'static str>>,
}

impl DealFixture {
    fn start(status: &'static str) -> Self {
        let status = Arc::new(Mutex::new(status));
        let now = Arc::clone(&status);
        let receiver = Webhook::answering(move |_| answer(*now.lock().unwrap()));
        let ad_server = format!(
            "ad_server = {{ adapter = \"deals\", url = \"http://{}/deals\", credential = \"{SECRET}\", \
             network = \"ssp.example\", timeout = \"2s\" }}",
            receiver.address
        );
        let publisher = PublisherFixture::start_selling(&offer(), &ad_server, "", "");
        for (name, role) in [("vera", "viewer"), ("sam", "seller")] {
            let whose = ["--role", role, "--publisher", "gazette"];
            publisher.run(&[&["console", "user", "add", name], &whose[..]].concat());
        }
        Self { publisher, receiver, status }
    }

    fn answer(&self, status: &'static str) {
        *self.status.lock().unwrap() = status;
    }

    /// Buys a package, and returns the media buy, its package and its deal id.
    fn buy(&self) -> [String; 3] {
        let account = self.publisher.open_account();
        self.publisher.approve_account(&account);
        let made = self.publisher.call(
            "create_media_buy",
            &json!({
                "idempotency_key": "buy-one-deal-of-this-1",
                "account": {"account_id": account}, "brand": {"domain": "acme.example"},
                "start_time": "asap", "end_time": "2099-01-31T00:00:00Z",
                "packages": [{"product_id": "dealt", "pricing_option_id": "cpm", "budget": 15000}],
            }),
        );
        let package = &made["packages"][0];
        let texts = [
            &made["media_buy_id"],
            &package["package_id"],
            &package["ext"]["tradepost"]["deal_id"],
        ];
        texts.map(|text| text.as_str().unwrap_or_else(|| panic!("{made}")).to_owned())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.publisher.json(&[&["publisher", "ad-server"], arguments].concat())
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.publisher.output(&[&["publisher", "ad-server"], arguments].concat())
    }

    /// What a command says that is refused, in one line.
    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert_eq!(output.stdout, b"", "{arguments:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(!text.contains(SECRET), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The row of the only media buy, once it is in this phase.
    fn row(&self, phase: &str) -> Value {
        for _ in 0..LOOKS {
            let rows = self.json(&["status"]);
            assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
            if rows[0]["phase"] == phase {
                return rows[0].clone();
            }
            pause(Duration::from_millis(100));
        }
        panic!("{}", self.json(&["status"]));
    }
}

/// The message of a list without rows: it is no data.
fn nothing(output: &Output) -> String {
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn people_see_mend_and_retry_a_deal() {
    let mut fixture = DealFixture::start("401 Unauthorized");
    assert_eq!(fixture.json(&["status"]), json!([]));
    assert_eq!(nothing(&fixture.output(&["status"])), "no media buys at an ad server\n");
    let [buy, package, deal] = fixture.buy();
    assert_eq!(deal, ExternalId::from_deal(&buy, &package).0);

    // The receiver does not accept the credential: the order stops, and says what to do.
    let row = fixture.row("stopped");
    assert_eq!(row["media_buy_id"], buy.as_str(), "{row}");
    assert_eq!(row["deals"], json!([]), "it was not made: {row}");
    assert!(row["problem"].as_str().unwrap().starts_with("put_deal: "), "{row}");
    assert!(row["remedy"].as_str().unwrap().starts_with("check the credential"), "{row}");
    assert!(!row.to_string().contains(SECRET), "{row}");
    let table = text(&fixture.output(&["status", "--phase", "stopped"]));
    assert!(table.contains(&buy) && table.contains("check the credential"), "{table}");
    assert_eq!(fixture.json(&["status", "--phase", "settled"]), json!([]));
    let said = fixture.refused(&["status", "--phase", "lost"]);
    assert!(said.contains("due") && said.contains("settled"), "{said}");
    let said = fixture.refused(&["check"]);
    assert!(said.contains("the ad server deals cannot be used"), "{said}");
    assert!(said.contains("hint: check url, credential and network"), "{said}");

    // What differs, for one media buy and for all.
    let missing = json!([{
        "media_buy_id": buy, "difference": "missing", "object": "deal", "id": deal, "sold": "a deal",
        "found": null,
    }]);
    assert_eq!(fixture.json(&["reconcile"]), missing);
    assert_eq!(fixture.json(&["reconcile", &buy]), missing);
    let table = text(&fixture.output(&["reconcile"]));
    assert!(table.contains("missing") && table.contains(&deal), "{table}");
    let said = fixture.refused(&["reconcile", "mb_of_nobody"]);
    assert!(said.contains("no media buy of this id is carried into the ad server"), "{said}");

    // A viewer and a stranger may not have it tried again, and nothing changes.
    let said = fixture.refused(&["retry", &buy, "--by", "vera"]);
    assert!(said.contains("vera has the role viewer"), "{said}");
    let said = fixture.refused(&["retry", &buy, "--by", "otto"]);
    assert!(said.contains("gazette has no user otto"), "{said}");
    let said = fixture.refused(&["retry", "mb_of_nobody", "--by", "sam"]);
    assert!(said.contains("no media buy of this id"), "{said}");
    assert_eq!(fixture.row("stopped")["problem"], row["problem"]);

    // Somebody has mended the credential, and a seller has it tried again.
    fixture.answer("200 OK");
    let retried = fixture.json(&["retry", &buy, "--by", "sam"]);
    assert_eq!(retried, json!({"media_buy_id": buy, "before": "stopped"}));
    let row = fixture.row("settled");
    let sent = json!([{"id": deal, "package_id": package, "state": "sent", "refusal": null}]);
    assert_eq!(row["deals"], sent, "{row}");
    assert_eq!(row["problem"], Value::Null, "{row}");
    assert_eq!(fixture.json(&["reconcile"]), json!([]));
    assert_eq!(nothing(&fixture.output(&["reconcile"])), "the ad server has what was sold\n");
    let checked = fixture.json(&["check"]);
    assert_eq!(checked["adapter"], "deals", "{checked}");
    assert!(nothing(&fixture.output(&["check"])).starts_with("deals answers: "));
    let shown = fixture.publisher.json(&["publisher", "buys", "show", &buy]);
    let shown = &shown["packages"][0];
    let budget = &shown["budget"];
    assert_eq!(
        shown["deal"],
        json!({
            "id": deal, "state": "sent", "refusal": null, "budget": budget, "spent": 0,
            "budget_spent": false,
        }),
        "{shown}"
    );
    let page = fixture.publisher.run(&["publisher", "buys", "show", &buy]);
    assert!(page.contains("deal id") && page.contains(&deal), "{page}");

    // It is on record who had it tried again, and who was refused.
    let listed = fixture.publisher.json(&["audit", "list", "--publisher", "gazette"]);
    let entries = listed.as_array().unwrap().iter();
    let entries: Vec<String> = entries
        .filter(|entry| {
            entry["action"] == "order_retried"
                || entry["detail"].as_str().is_some_and(|detail| detail.contains("retry-order"))
        })
        .map(|entry| format!("{} {}", entry["actor"], entry["action"]))
        .collect();
    let expected =
        [r#""sam by cli:root" "order_retried""#, r#""vera by cli:root" "access_refused""#];
    assert_eq!(entries, expected, "{listed}");

    // What the receiver got: each time the whole deal under its id.
    let posts: Vec<_> = fixture
        .receiver
        .quiet()
        .iter()
        .filter(|seen| seen.line.starts_with("POST"))
        .cloned()
        .collect();
    assert!(posts.len() >= 2, "{posts:#?}");
    for post in &posts {
        assert_eq!(post.line, "POST /deals HTTP/1.1");
        assert_eq!(post.header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
        let body = post.json();
        assert_eq!(body["id"], deal.as_str(), "{body}");
        assert_eq!(body["terms"]["dealfloor"], 8, "{body}");
        assert_eq!(body["ext"]["openrtb"]["at"], 3, "{body}");
        assert_eq!(body["ext"]["openrtb"]["wadomain"], json!(["acme.example"]), "{body}");
        assert_eq!(body["wseat"], json!(["seat-7"]), "{body}");
    }
    // A pause by the publisher's people, and the end.
    fixture.publisher.run(&["publisher", "pause", "buy", &buy, "--reason", "A complaint."]);
    let paused = |fixture: &DealFixture| {
        let deals = fixture.json(&["status"])[0]["deals"].clone();
        deals[0]["state"].as_str().unwrap_or_default().to_owned()
    };
    let becomes = |fixture: &DealFixture, state: &str| {
        let is_so = (0..LOOKS).any(|_| {
            pause(Duration::from_millis(100));
            paused(fixture) == state
        });
        assert!(is_so, "{}", fixture.json(&["status"]));
    };
    becomes(&fixture, "paused");
    fixture.publisher.run(&["publisher", "cancel", "buy", &buy, "--reason", "Withdrawn."]);
    becomes(&fixture, "closed");
    let seen = fixture.receiver.quiet();
    let seen: Vec<Value> =
        seen.iter().filter(|one| !one.body.is_empty()).map(|one| one.json()).collect();
    let statuses: Vec<&Value> = seen.iter().rev().take(2).map(|one| &one["sellerstatus"]).collect();
    assert_eq!(statuses, [4, 1]);
}

#[test]
fn a_publisher_without_an_ad_server_is_told_so() {
    let publisher = PublisherFixture::start_as("", "", "");
    for command in ["check", "reconcile"] {
        let output = publisher.output(&["publisher", "ad-server", command]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("gazette has no ad server"), "{said}");
        assert!(said.contains("hint: configure one in [publishers.ad_server]"), "{said}");
    }
    assert_eq!(publisher.json(&["publisher", "ad-server", "status"]), json!([]));
}

#[test]
fn check_config_says_what_products_lack_for_deals() {
    let folder = tempfile::tempdir().unwrap();
    let mut offer = offer();
    let known = offer["products"][0].clone();
    for (id, ad_server) in
        [("everybody", json!({"deal": {}})), ("line", json!({"inventory": ["unit-1"]}))]
    {
        let mut product = known.clone();
        product["product_id"] = json!(id);
        product["terms"] = json!({"ad_server": ad_server});
        offer["products"].as_array_mut().unwrap().push(product);
    }
    std::fs::write(folder.path().join("catalogue.json"), offer.to_string()).unwrap();
    let warnings = |adapter: &str| {
        let config = format!(
            r#"
            [[publishers]]
            id = "gazette"
            name = "The Gazette"
            domain = "gazette.example"
            catalogue = "catalogue.json"
            {adapter}
            "#
        );
        let path = folder.path().join("tradepost.toml");
        std::fs::write(&path, config).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tradepost"));
        let command = command.current_dir(folder.path()).args(["check-config", "tradepost.toml"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let about = said.lines().filter_map(|line| line.split_once("publisher gazette: product "));
        about.map(|(_, said)| said.to_owned()).collect::<Vec<_>>()
    };
    let url = "url = \"http://127.0.0.1:9/deals\"";
    let connected = |adapter: &str| {
        warnings(&format!("ad_server = {{ {adapter}, {url}, credential = \"{SECRET}\" }}"))
    };
    let found = connected("adapter = \"deals\", network = \"ssp.example\"");
    assert_eq!(
        found,
        [
            "everybody is sold as a deal without terms.ad_server.deal.seats: every seat may bid for the \
             buyer's domain",
            "line cannot be bought: the adapter deals makes deals only; add terms.ad_server.deal, or leave \
             out terms.ad_server and set its buys up by hand",
        ]
    );
    let found = connected("adapter = \"kevel\", priority = 5");
    let cannot =
        "cannot be bought: the adapter kevel makes no deals; leave out terms.ad_server.deal";
    assert_eq!(found, [format!("dealt {cannot}"), format!("everybody {cannot}")]);
    let nothing = "is sold as a deal, and nothing makes deals: set ad_server with the adapter deals, or make \
                   them by hand under the ids that buyers read";
    assert_eq!(warnings(""), [format!("dealt {nothing}"), format!("everybody {nothing}")]);
}
