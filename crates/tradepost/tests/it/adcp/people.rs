//! What a publisher's people hear, decide and can look up: real servers, receivers and commands, on both
//! stores.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::StaffRole;
use tradepost_document::json::{Value, json};
use tradepost_publisher::account::{Account, AccountStatus};
use tradepost_publisher::agent::Billing;
use tradepost_publisher::staff_event::StaffEventRecorder;
use tradepost_runtime::config::delivery::{PublisherDestination, PublisherDestinations};
use tradepost_runtime::delivery::Deliveries;
use tradepost_server::clock::Clock;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_store::Store;
use tradepost_store::staff::StaffMember;
use tradepost_store::staff_events::NewStaffDelivery;

use super::staff::catalogue;
use crate::process::{Process, data};
use crate::support::client;
use crate::support::mail::{MailBehavior, MailServer, Secured};
use crate::support::postgres::Scratch;
use crate::support::webhook::{Webhook, answer, yes};

/// The key with which messages are signed.
const KEY: &str = "0123456789abcdef0123456789abcdef";

/// A publisher as processes of its own, with a buyer.
pub(super) struct PublisherFixture {
    pub(super) folder: tempfile::TempDir,
    process: Process,
    bearer: String,
}

impl PublisherFixture {
    /// Starts it. `server` is more of the section of the server, `deliveries` the destinations of
    /// messages to people.
    fn start(server: &str, deliveries: &str) -> Self {
        Self::start_as("", server, deliveries)
    }

    /// The same as a publisher that has these keys besides.
    pub(super) fn start_as(publisher: &str, server: &str, deliveries: &str) -> Self {
        Self::start_selling(&offer(), publisher, server, deliveries)
    }

    /// The same that sells this.
    pub(super) fn start_selling(
        offer: &Value,
        publisher: &str,
        server: &str,
        deliveries: &str,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let sold = folder.path().join("catalogue.json");
        std::fs::write(&sold, offer.to_string()).unwrap();
        let config = format!(
            r#"
            [server]
            listen = "127.0.0.1:0"
            {server}

            [[publishers]]
            id = "gazette"
            name = "The Gazette"
            domain = "gazette.example"
            catalogue = {sold:?}
            billing = ["operator"]
            onboarding = {{ review = {{ message = "Sign the contract." }} }}
            {publisher}

            [[publishers.agents]]
            id = "acme"
            credentials = ["acme"]
            {deliveries}
            "#
        );
        let process = Process::configured(folder.path(), &config);
        let mut started = Self { folder, process, bearer: String::new() };
        started.bearer = started.bearer_of("acme");
        started
    }

    /// A new key of an agent, as it is sent.
    fn bearer_of(&self, agent: &str) -> String {
        let made = self.run(&["keys", "create", "--publisher", "gazette", "--name", agent]);
        format!("Bearer {}", made.trim())
    }

    pub(super) fn output(&self, arguments: &[&str]) -> Output {
        tradepost(self.folder.path(), arguments)
    }

    /// What a command says that does what it should.
    pub(super) fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn json(&self, arguments: &[&str]) -> Value {
        let text = self.run(&[&["--json"], arguments].concat());
        tradepost_document::json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub(super) fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.call_at(&self.process, tool, arguments)
    }

    fn call_at(&self, process: &Process, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers =
            [("Content-Type", "application/json"), ("Authorization", self.bearer.as_str())];
        let body = body.to_string();
        let answer = client::request(process.address, "POST", "/mcp", &headers, body.as_bytes());
        answer.json()["result"]["structuredContent"].clone()
    }

    /// Opens an account, which waits for approval. Returns its id.
    pub(super) fn open_account(&self) -> String {
        let opening = json!({"idempotency_key": "open-the-account-1", "accounts": [
            {"brand": {"domain": "acme.example"}, "operator": "acme.example", "billing": "operator"},
        ]});
        let opened = self.call("sync_accounts", &opening);
        let id = opened["accounts"][0]["account_id"].as_str();
        id.unwrap_or_else(|| panic!("{opened}")).to_owned()
    }

    fn buy(&self, account: &str, product: &str, number: u32) -> Value {
        self.call("create_media_buy", &order(account, product, number))
    }

    /// Sends two creatives, which a person has to look at.
    fn send_creatives(&self, account: &str) {
        let creative = |id: &str| {
            json!({
                "creative_id": id, "name": "Banner",
                "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
                "assets": {"image": {
                    "asset_type": "image", "url": "https://cdn.acme.example/a.png", "width": 300,
                    "height": 250,
                }},
            })
        };
        let sent = self.call(
            "sync_creatives",
            &json!({
                "idempotency_key": "send-the-banners-1", "account": {"account_id": account},
                "creatives": [creative("banner-1"), creative("banner-2")],
            }),
        );
        assert_eq!(sent["creatives"][1]["status"], "pending_review", "{sent}");
    }

    pub(super) fn approve_account(&self, account: &str) {
        self.run(&["publisher", "approve", "account", account]);
    }
}

fn tradepost(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    let command = command.args(arguments).current_dir(folder).env("USER", "root");
    let command = command.env_remove("SUDO_USER").arg("--data").arg(data(folder));
    command.output().unwrap()
}

/// What is sold: `front` after approval by a person, `soon` by time, `back` at once.
fn offer() -> Value {
    let mut offer = catalogue();
    let front = offer["products"][0].clone();
    for (id, terms) in
        [("soon", json!({"approval": true, "approval_seconds": 0})), ("back", json!({}))]
    {
        let mut product = front.clone();
        product["product_id"] = json!(id);
        product["terms"] = terms;
        offer["products"].as_array_mut().unwrap().push(product);
    }
    offer
}

fn order(account: &str, product: &str, number: u32) -> Value {
    json!({
        "idempotency_key": format!("buy-number-{number}-of-this"),
        "account": {"account_id": account}, "brand": {"domain": "acme.example"},
        "start_time": "asap", "end_time": "2099-01-31T00:00:00Z",
        "packages": [{"product_id": product, "pricing_option_id": "cpm", "budget": 15000}],
    })
}

fn hub(url: &str) -> String {
    format!(
        r#"
        [[publishers.deliveries]]
        name = "hub"
        by = "webhook"
        url = "{url}"
        hmac_key = "{KEY}"
        "#
    )
}

/// What was told, without ids and moments: event and subject.
fn event_and_subject(message: &Value) -> (&str, &str) {
    (message["event"].as_str().unwrap(), message["subject"].as_str().unwrap())
}

fn events_are_told(server: &str) {
    let mut hook = Webhook::start();
    let mut room = Webhook::start();
    let mut mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let deliveries = format!(
        r#"
        {}
        [[publishers.deliveries]]
        name = "room"
        by = "chat"
        style = "slack"
        url = "{}"
        events = ["sold"]

        [[publishers.deliveries]]
        name = "desk"
        by = "smtp"
        host = "127.0.0.1"
        port = {}
        tls = "none"
        from = "tradepost@gazette.example"
        to = ["sales@gazette.example"]
        events = ["waits"]
        "#,
        hub(&hook.url()),
        room.url(),
        mail.address.port()
    );
    let fixture = PublisherFixture::start(server, &deliveries);
    let account = fixture.open_account();
    hook.wait(1);
    fixture.approve_account(&account);
    let asked = fixture.buy(&account, "front", 1);
    let task = asked["task_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    hook.wait(2);
    fixture.run(&["publisher", "approve", "task", &task]);
    hook.wait(3);
    let booked = fixture.buy(&account, "back", 2);
    let buy = booked["media_buy_id"].as_str().unwrap_or_else(|| panic!("{booked}")).to_owned();
    // The same request again sells nothing again.
    assert_eq!(fixture.buy(&account, "back", 2)["media_buy_id"], json!(buy));
    hook.wait(4);
    fixture.send_creatives(&account);
    let messages: Vec<Value> = hook.wait(5).iter().map(|request| request.json()).collect();
    assert_eq!(
        messages.iter().map(event_and_subject).collect::<Vec<_>>(),
        [
            ("waits", "account"),
            ("waits", "media_buy"),
            ("sold", "media_buy"),
            ("sold", "media_buy"),
            ("waits", "creatives"),
        ]
    );
    assert_eq!(messages[1]["task_id"], json!(task));
    let command = format!("tradepost publisher approve task {task} --publisher gazette");
    assert_eq!(messages[1]["command"], json!(command));
    let sold = &messages[3];
    assert_eq!((&sold["media_buy_id"], &sold["budget"]), (&json!(buy), &json!(15000)));
    assert_eq!((&sold["agent"], &sold["currency"]), (&json!("acme"), &json!("USD")));
    assert_eq!(sold["account"]["account_id"], json!(account));
    assert_eq!(sold["end_time"], json!("2099-01-31T00:00:00Z"));
    assert_eq!(
        (&sold["products"], &sold["type"]),
        (&json!(["back"]), &json!("tradepost.publisher_event"))
    );
    assert_eq!(messages[4]["creatives"], json!(["banner-1", "banner-2"]));
    assert!(hook.wait(5)[0].header("x-tradepost-signature").is_some());

    let said: Vec<Value> = room.wait(2).iter().map(|request| request.json()).collect();
    let said = said[1]["text"].as_str().unwrap();
    assert!(said.starts_with("Sold: 15000 USD, acme.example, agent acme\n"), "{said}");
    assert!(said.contains(&format!("Media buy: {buy}\n")), "{said}");
    let mails = mail.wait(3);
    let subjects: Vec<_> = mails.iter().filter_map(|mail| mail.header("Subject")).collect();
    assert_eq!(
        subjects,
        [
            "An account waits for you: acme.example, agent acme",
            "A media buy waits for you: 15000 USD, acme.example, agent acme",
            "Creatives wait for you: acme.example, agent acme",
        ]
    );
    let body = mails[1].body().replace("=\r\n", "").replace("=\n", "");
    assert!(body.contains(&command), "{body}");

    fixture.process.until("all is noted", || {
        let listed = fixture.json(&["publisher", "deliveries"]);
        let states =
            listed.as_array().unwrap().iter().map(|delivery| delivery["state"].as_str().unwrap());
        states.collect::<Vec<_>>() == ["delivered"; 10]
    });
    assert_eq!((hook.quiet().len(), room.quiet().len()), (5, 2));
    let log = fixture.process.log();
    assert_eq!(log.matches(" sold ").count() + log.matches(" sold\n").count(), 2, "{log}");
    assert_eq!(log.matches("waits for the approval of a person").count(), 3, "{log}");
    let url = hook.url();
    let known = [KEY, fixture.bearer.as_str(), url.as_str(), &account, &buy, "banner-1", "15000"];
    for secret in known {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
    assert_eq!(fixture.json(&["leads", "deliveries"]), json!([]), "they are no leads");
}

#[test]
fn events_are_told_once_by_webhook_chat_and_mail() {
    events_are_told("");
}

#[test]
fn events_are_told_once_by_every_way_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    events_are_told(&format!("database = \"{}\"", scratch.address()));
}

#[test]
fn of_two_processes_one_tells_of_each_event() {
    let Some(scratch) = Scratch::new() else { return };
    let mut hook = Webhook::start();
    let database = format!("database = \"{}\"", scratch.address());
    let fixture = PublisherFixture::start(&database, &hub(&hook.url()));
    let config = fixture.folder.path().join("tradepost.toml");
    let second = tempfile::tempdir().unwrap();
    let other = Process::start(second.path(), &["--config", config.to_str().unwrap()]);
    let account = fixture.open_account();
    fixture.approve_account(&account);
    let mut sold = BTreeSet::new();
    for number in 0..6 {
        let process = if number % 2 == 0 { &fixture.process } else { &other };
        let order = order(&account, "back", number);
        let booked = fixture.call_at(process, "create_media_buy", &order);
        sold.insert(booked["media_buy_id"].as_str().unwrap().to_owned());
    }
    let messages: Vec<Value> = hook.wait(7).iter().map(|request| request.json()).collect();
    let notified =
        messages.iter().filter_map(|message| message["media_buy_id"].as_str().map(str::to_owned));
    assert_eq!(notified.collect::<BTreeSet<_>>(), sold);
    assert_eq!(hook.quiet().len(), 7, "one for the account and one for each buy");
}

#[test]
fn a_server_killed_while_it_tells_tells_again() {
    // The answer to the first attempt waits until the server is dead.
    let (arrive, arrived) = channel();
    let (go, may_go) = channel();
    let may_go = Mutex::new(may_go);
    let mut hook = Webhook::answering(move |number| {
        // 0 is the account.
        if number == 1 {
            arrive.send(()).unwrap();
            may_go.lock().unwrap().recv().unwrap();
        }
        yes()
    });
    let mut fixture = PublisherFixture::start("", &hub(&hook.url()));
    let account = fixture.open_account();
    fixture.approve_account(&account);
    hook.wait(1);
    fixture.process.until("it is noted", || {
        fixture.json(&["publisher", "deliveries"])[0]["state"] == "delivered"
    });
    fixture.buy(&account, "back", 1);
    arrived.recv().unwrap();
    let config = fixture.folder.path().join("tradepost.toml");
    let restart = |fixture: PublisherFixture| {
        fixture.process.signal("KILL");
        fixture.process.end();
        let process =
            Process::start(fixture.folder.path(), &["--config", config.to_str().unwrap()]);
        PublisherFixture { process, ..fixture }
    };
    fixture = restart(fixture);
    go.send(()).unwrap();
    let seen: Vec<Value> = hook.wait(3).iter().map(|request| request.json()).collect();
    let resent: Vec<_> = seen.iter().map(|message| message["delivery"]["resend"].clone()).collect();
    assert_eq!(resent, [json!(false), json!(false), json!(true)]);
    assert_eq!(seen[1]["delivery"]["id"], seen[2]["delivery"]["id"]);
    fixture.process.until("it is noted", || {
        fixture.json(&["publisher", "deliveries"])[0]["state"] == "delivered"
    });
    // What was taken and noted is not told again.
    fixture = restart(fixture);
    fixture.buy(&account, "back", 2);
    hook.wait(4);
    assert_eq!(hook.quiet().len(), 4);
}

/// How far a process has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The event is kept.
    Stored,
    /// It has become a delivery.
    Planned,
    /// An attempt was begun.
    Begun,
    /// It is noted that it was taken.
    Noted,
}

/// Keeps an event, and takes its delivery as far as that.
fn go_to(store: &Store, step: Step) {
    let now = Clock::system().now();
    let open = move |tx: &tradepost_store::StoreTransaction<'_>| {
        let brand = json!({"domain": "acme.example"});
        let mut account = Account::new("acc_1", brand, "acme.example", Billing::Operator);
        account.status = AccountStatus::PendingApproval;
        tx.with_publisher("gazette", |tx| {
            let kept = account.open(tx, "agent:acme", now)?;
            StaffEventRecorder { tx, is_sandbox: false, now }.note_waiting_account(&kept)
        })?
    };
    store.write_blocking(open).unwrap();
    let events = store.unplanned_staff_events("gazette", 10).unwrap();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    let place = event.place;
    let planned =
        NewStaffDelivery { subject: event.event.id.clone(), destination: "hub".to_owned(), place };
    let job = move |tx: &tradepost_store::StoreTransaction<'_>| {
        if step == Step::Stored {
            return Ok(());
        }
        assert!(tx.plan_staff_events("gazette", place, std::slice::from_ref(&planned), now)?);
        if step == Step::Planned {
            return Ok(());
        }
        let later = now + SignedDuration::from_hours(1);
        assert!(tx.begin_delivery(1, later, later)?.is_some());
        if step == Step::Noted {
            tx.delivered(1, "taken", now)?;
        }
        Ok(())
    };
    store.write_blocking(job).unwrap();
}

#[test]
fn people_are_told_once_whatever_step_a_process_ended_at() {
    for (step, resent) in [
        (Step::Stored, &[false][..]),
        (Step::Planned, &[false]),
        (Step::Begun, &[true]),
        (Step::Noted, &[]),
    ] {
        let mut hook = Webhook::start();
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let deliveries =
            Deliveries::new(Arc::clone(&store), Clock::system(), ClockAndRandom::system());
        let delivery = crate::delivery::hub(hook.url());
        let destinations = vec![PublisherDestination { delivery, events: Vec::new() }];
        let publisher_id = "gazette".to_owned();
        deliveries.add_publishers(&[PublisherDestinations { publisher_id, destinations }]).unwrap();
        go_to(&store, step);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.spawn(Arc::new(deliveries).run(std::future::pending(), Duration::ZERO));
        let seen: Vec<Value> =
            hook.wait(resent.len()).iter().map(|request| request.json()).collect();
        let said: Vec<_> =
            seen.iter().map(|message| message["delivery"]["resend"] == true).collect();
        assert_eq!(said, resent, "{step:?}");
        assert_eq!(hook.quiet().len(), resent.len(), "{step:?}");
    }
}

fn a_message_is_sent_again(server: &str) {
    let mut hook = Webhook::answering(|number| if number < 2 { answer("400 No") } else { yes() });
    let fixture = PublisherFixture::start(server, &hub(&hook.url()));
    for (name, role) in [("vera", "viewer"), ("sam", "seller")] {
        let whose = ["--role", role, "--publisher", "gazette"];
        fixture.run(&[&["console", "user", "add", name], &whose[..]].concat());
    }
    let account = fixture.open_account();
    let is_given_up = || fixture.json(&["publisher", "deliveries", "--dead"]) != json!([]);
    hook.wait(1);
    fixture.process.until("it is given up", is_given_up);
    assert!(fixture.process.log().contains("tradepost publisher resend"));
    assert_eq!(fixture.json(&["publisher", "resend", &account]), json!({"resent": 1}));
    hook.wait(2);
    fixture.process.until("it is given up again", is_given_up);
    for (name, expected) in [
        ("vera", "vera has the role viewer, which does not permit resend-staff-messages"),
        ("otto", "gazette has no user otto"),
    ] {
        let output = fixture.output(&["publisher", "resend", "--by", name]);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{text}");
    }
    let by_sam = ["publisher", "resend", account.as_str(), "--by", "sam"];
    assert_eq!(fixture.json(&by_sam), json!({"resent": 1}));
    assert_eq!(event_and_subject(&hook.wait(3)[2].json()), ("waits", "account"));
    // With nothing to send, there is no further entry.
    assert_eq!(fixture.json(&["publisher", "resend"]), json!({"resent": 0}));
    let listed = fixture.json(&["audit", "list", "--publisher", "gazette"]);
    let is_resent = |entry: &&Value| entry["action"] == "staff_messages_resent";
    let entries: Vec<_> = listed.as_array().unwrap().iter().filter(is_resent).collect();
    let actors: Vec<_> = entries.iter().map(|entry| &entry["actor"]).collect();
    assert_eq!(actors, ["sam by cli:root", "cli:root"], "{listed}");
    for entry in entries {
        assert_eq!(entry["subject"], account.as_str(), "{entry}");
        assert_eq!(entry["detail"], "1 messages", "{entry}");
    }
    let tried = fixture.run(&["publisher", "test-delivery", "hub"]);
    assert!(tried.starts_with("hub: "), "{tried}");
    assert_eq!(hook.wait(4)[3].json()["account"]["sandbox"], json!(true));
}

#[test]
fn a_message_given_up_is_counted_and_sent_again() {
    a_message_is_sent_again("");
}

#[test]
fn a_message_given_up_is_sent_again_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    a_message_is_sent_again(&format!("database = \"{}\"", scratch.address()));
}

fn decisions_are_recorded(server: &str) {
    let fixture = PublisherFixture::start(server, "");
    for (name, role) in [("vera", "viewer"), ("sam", "seller"), ("amy", "approver")] {
        let whose = ["--role", role, "--publisher", "gazette"];
        fixture.run(&[&["console", "user", "add", name], &whose[..]].concat());
    }
    let refused = |arguments: &[&str], expected: &str| {
        let output = fixture.output(&[&["publisher"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(expected), "{arguments:?}: {text}");
    };
    let account = fixture.open_account();
    let account = account.as_str();
    for name in ["vera", "sam"] {
        let role = if name == "vera" { "viewer" } else { "seller" };
        let expected = format!(
            "{name} has the role {role}, which does not permit approve hint: roles that permit it: approver"
        );
        refused(&["approve", "account", account, "--by", name], &expected);
    }
    refused(&["approve", "account", account, "--by", "otto"], "gazette has no user otto");
    let decided = |arguments: &[&str]| fixture.run(&[&["publisher"], arguments].concat());
    let why = "the contract is signed";
    decided(&["approve", "account", account, "--by", "amy", "--why", why]);
    // To decide what is decided already changes nothing, and is no second entry.
    decided(&["approve", "account", account, "--by", "amy"]);
    let task = |number| {
        let asked = fixture.buy(account, "front", number);
        asked["task_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned()
    };
    let first = task(1);
    let second = task(2);
    decided(&["approve", "task", &first, "--by", "AMY", "--why", "within the budget of May"]);
    decided(&["decline", "task", &second, "--reason", "no shoes on the front page"]);
    fixture.send_creatives(account);
    decided(&["approve", "creative", "banner-1"]);
    decided(&["suspend", "creative", "banner-1", "--by", "sam", "--why", "complaint 17"]);
    decided(&["resume", "creative", "banner-1", "--by", "sam"]);
    decided(&["payment-due", "account", account, "--by", "sam"]);
    decided(&["payment-settled", "account", account, "--by", "sam"]);
    decided(&["grant", account, "acme", "--read-only", "--by", "amy"]);
    decided(&["grant", account, "acme", "--revoke", "--by", "amy"]);
    refused(&["close", "account", account, "--by", "sam"], "roles that permit it: approver");
    decided(&["close", "account", account, "--by", "amy", "--why", "out of business"]);
    refused(&["decline", "account", account, "--by", "amy", "--why", "a\nb"], "one line of text");

    let listed = fixture.json(&["audit", "list", "--publisher", "gazette"]);
    let mut entries: Vec<&Value> = listed.as_array().unwrap().iter().collect();
    entries.reverse();
    let line = |entry: &&Value| {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let subject = text("subject");
        let detail = text("detail");
        let detail = detail.replace(account, "ACCOUNT");
        let detail = match detail.split_once("sold ") {
            Some((before, after)) => {
                format!("{before}sold {}", after.split_once(' ').unwrap().1)
            }
            None => detail,
        };
        let subject = match subject.as_str() {
            id if id == account => "ACCOUNT".to_owned(),
            id if id == first => "FIRST".to_owned(),
            id if id == second => "SECOND".to_owned(),
            _ => subject,
        };
        format!("{} {} {subject} | {detail}", text("actor"), text("action"))
    };
    let is_decision = |entry: &String| {
        !["member_added", "api_key_created"].iter().any(|action| entry.contains(action))
    };
    let lines: Vec<String> = entries.iter().map(line).filter(is_decision).collect();
    assert_eq!(
        lines,
        [
            "vera by cli:root access_refused  | approve needs another role than viewer",
            "sam by cli:root access_refused  | approve needs another role than seller",
            "amy by cli:root approved ACCOUNT | account: pending_approval -> active; \
             why: the contract is signed",
            "amy by cli:root approved FIRST | task of ACCOUNT: submitted -> completed (sold \
             for 15000 USD); why: within the budget of May",
            "cli:root declined SECOND | task of ACCOUNT: submitted -> failed; \
             why: no shoes on the front page",
            "cli:root approved banner-1 | creative of ACCOUNT: pending_review -> approved",
            "sam by cli:root suspended banner-1 | creative of ACCOUNT: approved -> suspended; \
             why: complaint 17",
            "sam by cli:root resumed banner-1 | creative of ACCOUNT: suspended -> approved",
            "sam by cli:root payment_demanded ACCOUNT | account: active -> payment_required",
            "sam by cli:root payment_settled ACCOUNT | account: payment_required -> active",
            "amy by cli:root rights_granted ACCOUNT | account: nothing special -> all tasks, read \
             only (agent acme)",
            "amy by cli:root rights_revoked ACCOUNT | account: all tasks, read only -> nothing \
             special (agent acme)",
            "sam by cli:root access_refused  | close needs another role than seller",
            "amy by cli:root closed ACCOUNT | account: active -> closed; why: out of business",
        ]
    );
    let verified = fixture.json(&["audit", "verify"]);
    assert_eq!(verified["intact"], json!(true), "{verified}");
    assert_eq!(verified["staff"]["members"], json!(3), "{verified}");
}

#[test]
fn every_decision_is_recorded_with_who_and_why() {
    decisions_are_recorded("");
}

#[test]
fn every_decision_is_recorded_with_who_and_why_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    decisions_are_recorded(&format!("database = \"{}\"", scratch.address()));
}

#[test]
fn a_reason_is_refused_where_no_entry_would_have_it() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &["delivery", "import", "delivery.csv"][..],
        &["ad-server", "retry", "mb_1"],
        &["inventory", "repair"],
        &["resend"],
    ] {
        let arguments = [&["publisher"], command, &["--why", "complaint 17"]].concat();
        let output = tradepost(folder.path(), &arguments);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {output:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("unexpected argument '--why'"), "{command:?}: {text}");
    }
}

#[test]
fn a_member_of_a_sign_in_provider_decides_by_name() {
    let fixture = PublisherFixture::start("", "");
    let member = StaffMember {
        name: "oidc:Ada".to_owned(),
        dealer_id: Some("gazette".to_owned()),
        role: StaffRole::Approver,
        password: String::new(),
        created_at: Timestamp::UNIX_EPOCH,
    };
    let store = Store::open(&data(fixture.folder.path())).unwrap();
    assert!(store.write_blocking(move |tx| tx.add_member(&member)).unwrap());
    let account = fixture.open_account();
    fixture.run(&["publisher", "approve", "account", &account, "--by", "oidc:Ada"]);
    let listed = fixture.json(&["audit", "list", "--publisher", "gazette"]);
    let mut entries = listed.as_array().unwrap().iter();
    let approved = entries.find(|entry| entry["action"] == "approved");
    assert_eq!(approved.unwrap()["actor"], "oidc:Ada by cli:root", "{listed}");
}

#[test]
fn what_the_time_approves_is_told_as_sold_and_recorded() {
    let mut hook = Webhook::start();
    let fixture = PublisherFixture::start("", &hub(&hook.url()));
    let account = fixture.open_account();
    fixture.approve_account(&account);
    let asked = fixture.buy(&account, "soon", 1);
    let messages: Vec<Value> = hook.wait(2).iter().map(|request| request.json()).collect();
    assert_eq!(
        event_and_subject(&messages[1]),
        ("sold", "media_buy"),
        "nobody has to decide about it"
    );
    let listed = fixture.json(&["audit", "list", "--publisher", "gazette"]);
    let entry = &listed[0];
    assert_eq!((&entry["actor"], &entry["action"]), (&json!("schedule"), &json!("approved")));
    assert_eq!(entry["subject"], asked["task_id"]);
    assert_eq!(hook.quiet().len(), 2);
}

#[test]
fn what_a_buyer_changes_about_a_buy_is_told_once() {
    let mut hook = Webhook::start();
    let fixture = PublisherFixture::start("", &hub(&hook.url()));
    let account = fixture.open_account();
    hook.wait(1);
    fixture.approve_account(&account);
    let mut buy = fixture.buy(&account, "back", 1);
    hook.wait(2);
    let package = buy["packages"][0]["package_id"].clone();
    let mut number = 0;
    let mut change = |changes: &Value| {
        number += 1;
        let mut request = json!({
            "idempotency_key": format!("change-number-{number}-of-this"),
            "account": {"account_id": account}, "media_buy_id": buy["media_buy_id"],
            "revision": buy["revision"],
        });
        let members = changes.as_object().unwrap().clone();
        request.as_object_mut().unwrap().extend(members);
        let changed = fixture.call("update_media_buy", &request);
        assert_eq!(changed["status"], "completed", "{changed}");
        // The same request again changes nothing again.
        let again = fixture.call("update_media_buy", &request);
        assert_eq!(again["revision"], changed["revision"], "{again}");
        buy["revision"] = changed["revision"].clone();
    };
    change(&json!({"packages": [{"package_id": package, "budget": 20000}]}));
    hook.wait(3);
    // What is so already is no change, and pacing is not told.
    change(&json!({"packages": [{"package_id": package, "budget": 20000}]}));
    change(&json!({"packages": [{"package_id": package, "pacing": "asap"}]}));
    change(&json!({"paused": true}));
    hook.wait(4);
    change(&json!({"paused": false, "end_time": "2099-02-28T00:00:00Z"}));
    hook.wait(5);
    change(&json!({"canceled": true}));
    let messages: Vec<Value> = hook.wait(6).iter().map(|request| request.json()).collect();
    let notified: Vec<_> = messages
        .iter()
        .skip(1)
        .map(|message| (event_and_subject(message).0, &message["changes"]))
        .collect();
    assert_eq!(
        notified,
        [
            ("sold", &Value::Null),
            ("changed", &json!(["budget_raised"])),
            ("changed", &json!(["paused"])),
            ("changed", &json!(["resumed", "dates_changed"])),
            ("changed", &json!(["canceled"])),
        ]
    );
    let raised = &messages[2];
    assert_eq!((&raised["budget"], &raised["budget_before"]), (&json!(20000), &json!(15000)));
    assert_eq!(raised["media_buy_id"], messages[1]["media_buy_id"]);
    let summary = "Changed by its buyer: budget raised, 20000 USD, acme.example, agent acme";
    assert_eq!(raised["summary"], json!(summary));
    assert_eq!(hook.quiet().len(), 6);
}

#[test]
fn a_sandbox_publishers_messages_say_so_whatever_the_account() {
    let mut hook = Webhook::start();
    let fixture = PublisherFixture::start_as("sandbox = true", "", &hub(&hook.url()));
    let account = fixture.open_account();
    hook.wait(1);
    fixture.approve_account(&account);
    fixture.buy(&account, "front", 1);
    hook.wait(2);
    fixture.buy(&account, "back", 2);
    hook.wait(3);
    fixture.buy(&account, "soon", 3);
    hook.wait(4);
    fixture.send_creatives(&account);
    let messages: Vec<Value> = hook.wait(5).iter().map(|request| request.json()).collect();
    for message in &messages {
        let summary = message["summary"].as_str().unwrap();
        assert!(summary.starts_with("SANDBOX, nothing is sold. "), "{message}");
        assert_eq!(message["sandbox"], json!(true), "{message}");
        assert_eq!(message["account"]["sandbox"], json!(false), "{message}");
    }
    fixture.process.until("the log says so, too", || {
        fixture.process.log().matches("sandbox=true").count() == messages.len()
    });
}

#[test]
fn a_sale_that_waited_is_told_with_its_agent() {
    let mut hook = Webhook::start();
    let nova = "[[publishers.agents]]\nid = \"nova\"\ncredentials = [\"nova\"]\n";
    let fixture = PublisherFixture::start("", &format!("{nova}{}", hub(&hook.url())));
    let account = fixture.open_account();
    hook.wait(1);
    fixture.approve_account(&account);
    fixture.run(&["publisher", "grant", &account, "nova"]);
    let nova = PublisherFixture { bearer: fixture.bearer_of("nova"), ..fixture };
    let asked = nova.buy(&account, "front", 1);
    let task = asked["task_id"].as_str().unwrap_or_else(|| panic!("{asked}"));
    hook.wait(2);
    nova.run(&["publisher", "approve", "task", task]);
    let messages: Vec<Value> = hook.wait(3).iter().map(|request| request.json()).collect();
    let agents: Vec<_> =
        messages.iter().map(|message| (event_and_subject(message).0, &message["agent"])).collect();
    let acme = json!("acme");
    let nova = json!("nova");
    assert_eq!(agents, [("waits", &acme), ("waits", &nova), ("sold", &nova)]);
}

#[test]
fn roles_at_a_publisher_and_a_dealer_do_not_mix() {
    let fixture = PublisherFixture::start("", "");
    for (arguments, expected) in [
        (["--role", "desk", "--publisher", "gazette"], "desk is not a role at a publisher"),
        (["--role", "approver", "--dealer", "gazette"], "approver is not a role at a dealer"),
        (["--role", "seller", "--publisher", "herald"], "its publishers are: gazette"),
    ] {
        let output =
            fixture.output(&[&["console", "user", "add", "dora"], &arguments[..]].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{arguments:?}: {text}");
    }
    assert_eq!(fixture.json(&["console", "user", "list"]), json!([]));
}

#[test]
fn a_publishers_refusals_are_kept_without_the_buyers_words() {
    let fixture = PublisherFixture::start("", "");
    let account = json!({"account_id": "acc_planted_word"});
    let refused = fixture.call("get_media_buys", &json!({"account": account}));
    assert_eq!(refused["adcp_error"]["code"], "ACCOUNT_NOT_FOUND", "{refused}");
    let wrong = json!({"account": account, "packages": "planted_word", "idempotency_key": 7});
    let refused = fixture.call("create_media_buy", &wrong);
    assert_eq!(refused["status"], "failed", "{refused}");
    let part = json!({"data": {"skill": "get_media_buys", "input": {"account": account}}});
    let message = json!({"messageId": "m-1", "role": "ROLE_USER", "parts": [part]});
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": json!({"message": message}),
    });
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", fixture.bearer.as_str()),
        ("A2A-Version", "1.0"),
        ("A2A-Extensions", crate::support::publisher::EXTENSION),
    ];
    let address = fixture.process.address;
    client::request(address, "POST", "/a2a", &headers, body.to_string().as_bytes());
    // Nobody whose credential is known.
    let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer planted_word")];
    client::request(address, "POST", "/a2a", &headers, body.to_string().as_bytes());
    let PublisherFixture { folder, process, .. } = fixture;
    // What waits is written before it ends.
    process.signal("TERM");
    assert!(process.end().success());
    let output = tradepost(folder.path(), &["--json", "refusals", "list", "--agent", "gazette"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(!text.contains("planted_word"), "{text}");
    let listed: Value = tradepost_document::json::from_str(&text).unwrap();
    let mut lines: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|refusal| {
            let places = refusal["problems"].as_array().unwrap().iter();
            let places =
                places.map(|problem| format!("{} {}", problem["pointer"], problem["keyword"]));
            format!(
                "{} {} {} {}",
                refusal["code"].as_str().unwrap(),
                refusal["operation"].as_str().unwrap_or_default(),
                refusal["caller"].as_str().unwrap(),
                places.collect::<Vec<_>>().join(", ")
            )
        })
        .collect();
    lines.sort();
    let wrong = [
        "\"/brand\" \"required\"",
        "\"/start_time\" \"required\"",
        "\"/end_time\" \"required\"",
        "\"/packages\" \"type\"",
        "\"/idempotency_key\" \"type\"",
    ];
    let not_found =
        "ACCOUNT_NOT_FOUND get_media_buys key \"/account\" \"ACCOUNT_NOT_FOUND\"".to_owned();
    assert_eq!(
        lines,
        [
            not_found.clone(),
            not_found,
            "AUTH_INVALID  unproven ".to_owned(),
            format!("VALIDATION_ERROR create_media_buy key {}", wrong.join(", ")),
        ]
    );
    let id = listed[0]["error_id"].as_str().unwrap();
    let shown = tradepost(folder.path(), &["refusals", "show", id]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("gazette"), "{shown}");
}

fn two_people_approve(server: &str) {
    let limit = "approvals = { four_eyes_above = [{ currency = \"USD\", amount = 10000 }] }";
    let fixture = PublisherFixture::start_as(limit, server, "");
    for name in ["amy", "ben"] {
        fixture.run(&[
            "console",
            "user",
            "add",
            name,
            "--role",
            "approver",
            "--publisher",
            "gazette",
        ]);
    }
    let account = fixture.open_account();
    fixture.run(&["publisher", "approve", "account", &account]);
    // Nobody approves purchases of this product, and the time those of the other.
    for (number, product) in (1_u32..).zip(["back", "soon"]) {
        let task = fixture.buy(&account, product, number);
        let task = task["task_id"].as_str().unwrap_or_else(|| panic!("{task}"));
        let approve = |by: &[&str]| {
            let output = fixture.output(&[&["publisher", "approve", "task", task], by].concat());
            let said = [output.stdout, output.stderr].concat();
            format!("{:?} {}", output.status.code(), String::from_utf8(said).unwrap())
        };
        assert!(approve(&[]).contains("two named persons approve"));
        let first = approve(&["--by", "amy"]);
        assert!(first.starts_with("Some(0)") && first.contains("awaits another one"), "{first}");
        let again = approve(&["--by", "amy"]);
        assert!(
            again.starts_with("Some(2)") && again.contains("has approved it already"),
            "{again}"
        );
        let second = approve(&["--by", "ben"]);
        assert!(second.contains("was submitted and is completed now"), "{second}");
    }
    let listed = fixture.json(&["publisher", "buys", "list"]);
    let id = listed[0]["id"].as_str().unwrap();
    let paused = fixture.json(&["publisher", "pause", "buy", id, "--reason", "A complaint."]);
    // Without creatives it does not run anyway.
    assert_eq!(paused["after"], "pending_creatives", "{paused}");
    let shown = fixture.json(&["publisher", "buys", "show", id]);
    assert_eq!(shown["held_because"], "A complaint.", "{shown}");
    let refused = fixture.output(&["publisher", "cancel", "buy", id]);
    assert_eq!(refused.status.code(), Some(2), "without a reason");
    let canceled = fixture.json(&["publisher", "cancel", "buy", id, "--reason", "Withdrawn."]);
    assert_eq!(canceled["after"], "canceled", "{canceled}");
    let asked = json!({"account": {"account_id": account}, "media_buy_ids": [id]});
    let shown = fixture.call("get_media_buys", &asked);
    assert_eq!(shown["media_buys"][0]["cancellation"]["canceled_by"], "seller", "{shown}");
}

#[test]
fn two_named_people_approve_above_the_amount() {
    two_people_approve("");
}

#[test]
fn two_named_people_approve_above_the_amount_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    two_people_approve(&format!("database = \"{}\"", scratch.address()));
}
