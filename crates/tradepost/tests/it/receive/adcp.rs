//! Webhooks of AdCP: our publisher's, from one process to the other, and what others may send.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use expect_test::expect;
use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use tradepost_client::receiver::delivery::ReceivedDelivery;
use tradepost_client::receiver::{Inbox as _, Put};
use tradepost_commands::receive::inbox::DurableInbox;
use tradepost_document::json::{Value, json};
use tradepost_keys::Algorithm;
use tradepost_keys::private as key;
use tradepost_server::clock::Clock;

use super::receive;
use crate::process::{Process, data};
use crate::support::client;

/// A running receiver; what it prints is one document for each delivery.
pub(super) struct Receiving {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Receiving {
    pub(super) fn start(folder: &Path, address: SocketAddr, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["--json", "receive", "--listen", &address.to_string(), "--data"])
            .arg(folder)
            .args(arguments)
            .env_remove("TRADEPOST_TOKEN")
            .env("TRADEPOST_TOKEN", fs::read_to_string(folder.join("token")).unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // With --json the address is talk.
        let mut line = String::new();
        let mut talk = BufReader::new(child.stderr.take().unwrap());
        talk.read_line(&mut line).unwrap();
        assert!(line.contains("listening on "), "{line:?}");
        // Nobody reads what is said besides, and nobody may have to wait for that.
        std::thread::spawn(move || std::io::copy(&mut talk, &mut std::io::sink()));
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    /// The next delivery that is handed on.
    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        tradepost_document::json::from_str(&line)
            .unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The next one of another task. What was handed on when the process before was killed may be
    /// handed on again.
    fn next_but(&mut self, task: &str) -> Value {
        std::iter::repeat_with(|| self.next()).find(|message| message["task_id"] != task).unwrap()
    }

    /// The next one of this task.
    pub(super) fn next_of(&mut self, task: &str) -> Value {
        std::iter::repeat_with(|| self.next()).find(|message| message["task_id"] == task).unwrap()
    }

    /// Kills it; what it had handed on that nobody has read.
    pub(super) fn kill(mut self) -> Vec<Value> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let lines = (&mut self.out).lines().map(Result::unwrap);
        // The last line may be half a line.
        lines.filter_map(|line| tradepost_document::json::from_str(&line).ok()).collect()
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A loopback address that nobody listens at.
pub(super) fn free() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A publisher as a process of its own, with a buyer that has an account.
pub(super) struct Seller {
    folder: tempfile::TempDir,
    address: SocketAddr,
    process: Option<Process>,
    token: String,
    account: Value,
}

impl Seller {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = free();
        let sold = folder.path().join("catalogue.json");
        fs::write(&sold, crate::adcp::staff::catalogue().to_string()).unwrap();
        let pem = folder.path().join("webhooks.pem");
        fs::write(&pem, key::generate(Algorithm::EdDsa).unwrap()).unwrap();
        let mut permissions = fs::metadata(&pem).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
        fs::set_permissions(&pem, permissions).unwrap();
        let config = format!(
            r#"
            [server]
            listen = "{address}"

            [[publishers]]
            id = "gazette"
            name = "The Gazette"
            domain = "gazette.example"
            catalogue = {sold:?}
            billing = ["operator"]
            call_loopback = true
            webhook_key = {{ key_file = {pem:?} }}

            [[publishers.agents]]
            id = "acme"
            credentials = ["acme"]
            "#
        );
        fs::write(folder.path().join("tradepost.toml"), config).unwrap();
        let mut seller =
            Self { folder, address, process: None, token: String::new(), account: Value::Null };
        seller.serve();
        let made =
            seller.tradepost(&["keys", "create", "--publisher", "gazette", "--name", "acme"]);
        seller.token = made.trim().to_owned();
        let opened = seller.call("sync_accounts", json!({
            "idempotency_key": "open-the-account-1", "accounts": [
                {"brand": {"domain": "acme.example"}, "operator": "acme.example", "billing": "operator"},
            ]}));
        seller.account = json!({"account_id": opened["accounts"][0]["account_id"]});
        seller
    }

    pub(super) fn serve(&mut self) {
        let config = self.folder.path().join("tradepost.toml");
        let process = Process::start(self.folder.path(), &["--config", config.to_str().unwrap()]);
        self.process = Some(process);
    }

    pub(super) fn kill(&mut self) {
        let process = self.process.take().unwrap();
        process.signal("KILL");
        process.end();
    }

    fn tradepost(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(arguments)
            .current_dir(self.folder.path())
            .arg("--data")
            .arg(data(self.folder.path()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn call(&self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let bearer = format!("Bearer {}", self.token);
        let headers = [("Content-Type", "application/json"), ("Authorization", bearer.as_str())];
        let body = body.to_string();
        let answer = client::request(self.address, "POST", "/mcp", &headers, body.as_bytes());
        answer.json()["result"]["structuredContent"].clone()
    }

    /// Buys something that a person has to approve of; the task.
    pub(super) fn buy(&self, number: u32, push: &Value) -> String {
        let bought = self.call(
            "create_media_buy",
            json!({
                "idempotency_key": format!("buy-the-front-page-{number}"), "account": self.account,
                "brand": {"domain": "acme.example"}, "start_time": "asap",
                "end_time": "2099-01-31T00:00:00Z",
                "packages": [{"product_id": "front", "pricing_option_id": "cpm", "budget": 1000}],
                "push_notification_config": push,
            }),
        );
        bought["task_id"].as_str().unwrap_or_else(|| panic!("{bought}")).to_owned()
    }

    pub(super) fn approve(&self, task: &str) {
        self.tradepost(&["publisher", "approve", "task", task]);
    }
}

/// A delivery without what differs from run to run.
fn stable(mut delivery: Value, seller: &Seller, task: &str) -> String {
    for name in ["id", "received_at", "key"] {
        assert!(delivery[name].is_string(), "{delivery}");
        delivery[name] = json!(format!("<{name}>"));
    }
    assert_eq!(delivery["delivery"]["task_id"], task);
    assert!(delivery["delivery"]["result"]["media_buy_id"].is_string(), "{delivery}");
    delivery["delivery"] = json!("<delivery>");
    delivery.to_string().replace(task, "<task>").replace(&seller.url(), "<seller>")
}

/// Covers W-4 too.
#[test]
fn w_1_our_publishers_signed_webhooks_arrive_once_despite_kills() {
    let mut seller = Seller::start();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    let hook = format!("http://{address}/webhook");
    let url = seller.url();
    let arguments = ["--seller", &url, "--url", &hook];
    let push = json!({"url": hook, "operation_id": "op-1"});

    let mut receiving = Receiving::start(folder, address, &arguments);
    let first = seller.buy(1, &push);
    seller.approve(&first);
    expect![[r#"{"number":1,"id":"<id>","kind":"webhook","source":"push","sender":"<seller>","key":"<key>","received_at":"<received_at>","task_id":"<task>","state":"completed","fate":"waiting","attempts":0,"problem":null,"delivery":"<delivery>"}"#]]
        .assert_eq(&stable(receiving.next(), &seller, &first));

    // While the receiver is dead, and then the publisher, webhooks wait in the publisher's store.
    receiving.kill();
    let second = seller.buy(2, &push);
    seller.approve(&second);
    seller.kill();
    seller.serve();
    let third = seller.buy(3, &push);
    seller.approve(&third);
    seller.kill();
    let mut receiving = Receiving::start(folder, address, &arguments);
    seller.serve();
    let messages = [receiving.next_but(&first), receiving.next_but(&first)];
    let mut task_ids = messages.map(|message| message["task_id"].clone());
    task_ids.sort_by_key(ToString::to_string);
    let mut bought = [json!(second), json!(third)];
    bought.sort_by_key(ToString::to_string);
    assert_eq!(task_ids, bought);
    let listed = receive(folder, &["list"]);
    let listed = listed["deliveries"].as_array().unwrap();
    assert_eq!(listed.len(), 3, "{listed:?}");
    assert!(listed.iter().all(|delivery| delivery["sender"] == url.as_str()));
}

#[test]
fn w_1_what_never_came_is_asked_for_by_status() {
    let seller = Seller::start();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    fs::write(folder.join("token"), &seller.token).unwrap();
    // The webhook goes where nobody is yet.
    let hook = format!("http://{address}/webhook");
    let push = json!({"url": hook, "operation_id": "op-1"});
    let task = seller.buy(1, &push);
    let elsewhere = free();
    let url = seller.url();
    let watch = ["--seller", &url, "--url", &hook, "--task", &task, "--patience", "1"];
    let mut receiving = Receiving::start(folder, elsewhere, &watch);
    let submitted = receiving.next();
    assert_eq!((&submitted["state"], &submitted["source"]), (&json!("submitted"), &json!("poll")));
    seller.approve(&task);
    let completed = receiving.next();
    assert_eq!(completed["kind"], "taskStatus");
    assert_eq!((&completed["state"], &completed["sender"]), (&json!("completed"), &json!(url)));
    let result = &completed["delivery"]["result"];
    assert!(result["media_buy_id"].is_string(), "{completed}");
    receiving.kill();

    // Now it gets through.
    let other = seller.buy(2, &push);
    let mut receiving = Receiving::start(folder, address, &watch[..4]);
    seller.approve(&other);
    assert_eq!(receiving.next_but(&task)["task_id"], other.as_str());
    let late = || {
        receive(folder, &["list"]);
        let metrics = client::request(address, "GET", "/metrics", &[], b"").body;
        String::from_utf8(metrics).unwrap().contains("duplicates_total 1\n")
    };
    assert!((0..5_000).any(|_| late()), "the late webhook never came");
    let listed = receive(folder, &["list"]);
    let tasks = listed["deliveries"].as_array().unwrap().iter().map(|d| d["task_id"].as_str());
    let known = tasks.filter(|known| *known == Some(task.as_str())).count();
    assert_eq!(known, 2, "{listed}");
}

#[test]
fn an_accounts_subscriber_proves_itself_and_hears_of_creatives() {
    let seller = Seller::start();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    let hook = format!("http://{address}/webhook");
    let url = seller.url();
    let subscribe = |key: &str| {
        let config = json!({
            "subscriber_id": "main", "url": hook, "event_types": ["creative.status_changed"],
        });
        let row = json!({"account": seller.account, "notification_configs": [config]});
        let request = json!({"idempotency_key": key, "accounts": [row]});
        seller.call("sync_accounts", request)["accounts"][0].clone()
    };
    // Nobody is there who could say the challenge back.
    let refused = subscribe("subscribe-to-the-account-1");
    assert_eq!(refused["errors"][0]["code"], "VALIDATION_ERROR", "{refused}");
    assert_eq!(refused["errors"][0]["field"], "notification_configs[0].url");
    // The receiver believes the seller's signature alone, of the challenge as of everything else.
    let mut receiving = Receiving::start(folder, address, &["--seller", &url, "--url", &hook]);
    let accepted = subscribe("subscribe-to-the-account-2");
    assert_eq!(accepted["action"], "updated", "{accepted}");
    let creative = json!({
        "creative_id": "banner", "name": "Banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.acme.example/a.png", "width": 300, "height": 250,
        }},
    });
    let synced = seller.call(
        "sync_creatives",
        json!({"idempotency_key": "send-the-banner-1", "account": seller.account, "creatives": [creative]}),
    );
    assert_eq!(synced["creatives"][0]["action"], "created", "{synced}");
    seller.tradepost(&["publisher", "decline", "creative", "banner", "--reason", "Blurred."]);
    let mut message = receiving.next();
    assert_eq!(message["sender"], url.as_str());
    let body = message["delivery"].take();
    let shown = format!(
        "{} {} {}",
        body["transition"]["from"], body["transition"]["to"], body["reason_detail"]
    );
    expect![[r#""pending_review" "rejected" "Blurred.""#]].assert_eq(&shown);
    // What was sent is looked up where the creative is.
    let listed = || {
        let asked = json!({"account": seller.account, "include_webhook_activity": true});
        seller.call("list_creatives", asked)["creatives"][0]["webhook_activity"][0].take()
    };
    let noted = (0..5_000).map(|_| listed()).find(|sent| sent["status"] != "pending").unwrap();
    let key = &body["idempotency_key"];
    assert_eq!((&noted["status"], &noted["idempotency_key"]), (&json!("success"), key), "{noted}");
}

const SECRET: &str = "kYl1nXq8Zt5bWv0cRm4uHs7eJd2gFa9P";
const OTHER: &str = "pQ3zT7mN1xV9bC5rK8wL2yH6jG4fD0sA";

fn now() -> Timestamp {
    Clock::system().now()
}

fn key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[5; 32]).unwrap()
}

fn jwk(kid: &str, more: &Value) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key().public_key().as_ref());
    let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": kid,
        "x": x, "key_ops": ["verify"], "adcp_use": "request-signing"});
    for (name, value) in more.as_object().unwrap() {
        jwk[name] = value.clone();
    }
    jwk
}

type Headers = Vec<(&'static str, String)>;

/// The headers of a signed webhook.
fn signed(address: SocketAddr, kid: &str, nonce: u8, body: &str) -> Headers {
    let digest = format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body.as_bytes())));
    let created = now().as_second();
    let nonce = URL_SAFE_NO_PAD.encode([nonce; 16]);
    let input = format!(
        r#"("@method" "@target-uri" "@authority" "content-type" "content-digest");created={created};expires={};nonce="{nonce}";keyid="{kid}";alg="ed25519";tag="adcp/webhook-signing/v1""#,
        created + 300
    );
    let base = format!(
        "\"@method\": POST\n\"@target-uri\": http://{address}/webhook\n\
         \"@authority\": {address}\n\"content-type\": application/json\n\
         \"content-digest\": {digest}\n\"@signature-params\": {input}"
    );
    let signature = URL_SAFE_NO_PAD.encode(key().sign(base.as_bytes()));
    vec![
        ("Content-Type", "application/json".to_owned()),
        ("Content-Digest", digest),
        ("Signature-Input", format!("sig1={input}")),
        ("Signature", format!("sig1=:{signature}:")),
    ]
}

fn with_hmac(secret: &str, body: &str) -> Headers {
    let seconds = now().as_second().to_string();
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    let digits: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    vec![
        ("Content-Type", "application/json".to_owned()),
        ("X-ADCP-Timestamp", seconds),
        ("X-ADCP-Signature", format!("sha256={digits}")),
    ]
}

/// Posts; the status, the challenge and the code of what comes back.
fn post(address: SocketAddr, headers: &Headers, body: &str) -> String {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let answer = client::request(address, "POST", "/webhook", &headers, body.as_bytes());
    let challenge = answer.header("www-authenticate").unwrap_or("-");
    let body: Value = tradepost_document::json::from_slice(&answer.body).unwrap_or_default();
    let word = body["code"].as_str().or(body["challenge"].as_str()).unwrap_or("-");
    format!("{} {challenge} {word}", answer.status)
}

fn envelope(key: &str, state: &str, result: &Value) -> Value {
    json!({"idempotency_key": format!("whk_{key}_0123456789"), "operation_id": "o",
        "task_id": "t", "task_type": "create_media_buy", "status": state,
        "timestamp": "2026-04-30T12:00:00Z", "result": result})
}

#[test]
fn w_4_a_key_belongs_to_one_sender_and_webhook() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    let file = folder.join("secrets");
    fs::write(&file, format!("https://a.example/mcp {SECRET}\nhttps://b.example/mcp {OTHER}\n"))
        .unwrap();
    let arguments = ["--hmac-key-file", file.to_str().unwrap()];
    let receiving = Receiving::start(folder, address, &arguments);
    let sends = |secret: &str, body: &str| post(address, &with_hmac(secret, body), body);
    let done = envelope("1", "completed", &json!({"n": 1}));
    let compact = done.to_string();
    let pretty = tradepost_document::json::to_string_pretty(&done).unwrap();
    let other = envelope("1", "completed", &json!({"n": 2})).to_string();
    let again = envelope("2", "completed", &json!({"n": 1})).to_string();
    for (secret, body, expected_status) in [
        (SECRET, &compact, "200 - -"),
        (SECRET, &compact, "200 - -"),
        (SECRET, &pretty, "200 - -"),
        (SECRET, &other, "409 - -"),
        (SECRET, &compact, "200 - -"),
        (OTHER, &other, "200 - -"),
        (OTHER, &compact, "409 - -"),
        (SECRET, &again, "200 - -"),
    ] {
        assert_eq!(sends(secret, body), expected_status, "{body}");
    }
    drop(receiving);
    let listed = receive(folder, &["list"]);
    let kept = listed["deliveries"].as_array().unwrap().iter();
    let kept: Vec<_> = kept
        .map(|d| format!("{} {} {} {}", d["sender"], d["key"], d["state"], d["delivery"]["result"]))
        .collect();
    expect![[r#"
        "https://a.example/mcp" "whk_1_0123456789" "completed" {"n":1}
        "https://b.example/mcp" "whk_1_0123456789" "completed" {"n":2}"#]]
    .assert_eq(&kept.join("\n"));
}

#[test]
fn both_a2a_versions_are_taken_and_no_webhook_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    let file = folder.join("secrets");
    fs::write(&file, SECRET).unwrap();
    let arguments = ["--hmac-key-file", file.to_str().unwrap()];
    let receiving = Receiving::start(folder, address, &arguments);
    let status = json!({"state": "completed", "timestamp": "2026-04-30T12:00:00Z"});
    let good = envelope("1", "completed", &json!({}));
    let mut keyless = good.clone();
    keyless.as_object_mut().unwrap().swap_remove("idempotency_key");
    let challenge = "example-challenge-token-000000000000";
    for (body, expected_status) in [
        (json!({"id": "old", "contextId": "c", "kind": "task", "status": status}), "200 - -"),
        (
            json!({"taskId": "old", "contextId": "c", "kind": "status-update", "final": true, "status": status}),
            "200 - -",
        ),
        (
            json!({"taskId": "old", "contextId": "c", "kind": "artifact-update", "artifact": {"artifactId": "a", "parts": []}}),
            "200 - -",
        ),
        (json!({"kind": "message", "messageId": "m", "role": "agent", "parts": []}), "200 - -"),
        (
            json!({"id": "new", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}),
            "200 - -",
        ),
        (
            json!({"task": {"id": "new", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}),
            "200 - -",
        ),
        (
            json!({"idempotency_key": "whk_event_0123456789", "notification_type": "creative.status_changed"}),
            "200 - -",
        ),
        (
            json!({"type": "webhook.challenge", "challenge": challenge}),
            "200 - example-challenge-token-000000000000",
        ),
        (json!({"type": "webhook.challenge", "challenge": "x"}), "400 - invalid_envelope"),
        (
            json!({"notification_type": "scheduled", "media_buy_deliveries": []}),
            "400 - missing_envelope_fields",
        ),
        (keyless, "400 - missing_idempotency_key"),
        (envelope("2", "active", &json!({})), "400 - invalid_envelope_status"),
        (json!({"task": {"status": status}}), "400 - -"),
        (json!([good]), "400 - invalid_envelope"),
    ] {
        let body = body.to_string();
        assert_eq!(post(address, &with_hmac(SECRET, &body), &body), expected_status, "{body}");
    }
    let twice = good.to_string().replace("\"completed\"", "\"completed\",\"status\":\"failed\"");
    let malformed = r#"401 Signature error="webhook_body_malformed" -"#;
    assert_eq!(post(address, &with_hmac(SECRET, &twice), &twice), malformed);
    let body = good.to_string();
    let mut other = with_hmac(SECRET, &body);
    other[0].1 = "text/plain".to_owned();
    assert_eq!(post(address, &other, &body), "415 - -");
    let mismatch = r#"401 Signature error="webhook_mode_mismatch" -"#;
    assert_eq!(post(address, &signed(address, "k", 1, &body), &body), mismatch);
    drop(receiving);
    let listed = receive(folder, &["list"]);
    let kept = listed["deliveries"].as_array().unwrap().iter();
    let kept: Vec<_> =
        kept.map(|d| format!("{} {} {}", d["kind"], d["task_id"], d["state"])).collect();
    expect![[r#"
        "task" "old" "completed"
        "artifactUpdate" "old" null
        "message" null null
        "task" "new" "TASK_STATE_WORKING"
        "task" "new" "TASK_STATE_COMPLETED"
        "event" null "creative.status_changed""#]]
    .assert_eq(&kept.join("\n"));
}

#[test]
fn signatures_are_judged_by_adcps_checklist_with_reasons() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let address = free();
    let file = folder.join("jwks.json");
    let keys = [
        jwk("k", &json!({})),
        jwk("older", &json!({"adcp_use": "webhook-signing"})),
        jwk("governs", &json!({"adcp_use": "governance-signing"})),
        jwk("nameless", &json!({"adcp_use": null})),
        jwk("signs", &json!({"key_ops": ["sign"]})),
        jwk("encrypts", &json!({"use": "enc"})),
        jwk("gone", &json!({"revoked": {"revoked_at": 1}})),
        jwk("gone-and-governs", &json!({"revoked": true, "adcp_use": "governance-signing"})),
    ];
    fs::write(&file, json!({"keys": keys}).to_string()).unwrap();
    let hook = format!("http://{address}/webhook");
    let tag = "adcp/webhook-signing/v1";
    let arguments = ["--jwks", file.to_str().unwrap(), "--tag", tag, "--url", &hook];
    let receiving = Receiving::start(folder, address, &arguments);
    let body = envelope("1", "working", &json!({"percentage": 1})).to_string();
    let said = |code: &str| format!("401 Signature error=\"webhook_{code}\" -");
    let mut nonce = 0;
    for (kid, expected_status) in [
        ("k", "200 - -".to_owned()),
        ("older", "200 - -".to_owned()),
        ("governs", said("signature_key_purpose_invalid")),
        ("nameless", said("signature_key_purpose_invalid")),
        ("signs", said("signature_key_purpose_invalid")),
        ("encrypts", said("signature_key_purpose_invalid")),
        ("gone", said("signature_key_revoked")),
        // The purpose is looked at first (steps 8 and 9).
        ("gone-and-governs", said("signature_key_purpose_invalid")),
        ("stranger", said("signature_key_unknown")),
    ] {
        nonce += 1;
        assert_eq!(
            post(address, &signed(address, kid, nonce, &body), &body),
            expected_status,
            "{kid}"
        );
    }
    let good = signed(address, "k", 100, &body);
    let changed = |name: &str, value: &str| {
        let change = |(known, old): &(&'static str, String)| {
            (*known, if *known == name { value.to_owned() } else { old.clone() })
        };
        good.iter().map(change).collect::<Headers>()
    };
    let without =
        |name: &str| good.iter().filter(|(known, _)| *known != name).cloned().collect::<Headers>();
    let elsewhere = [good.clone(), vec![("Host", "other.example".to_owned())]].concat();
    for (headers, sent, code) in [
        (without("Signature"), &*body, "signature_header_malformed"),
        (vec![good[0].clone()], &body, "signature_required"),
        (with_hmac(SECRET, &body), &body, "mode_mismatch"),
        (changed("Signature", "sig1=:AAAA:"), &body, "signature_invalid"),
        (good.clone(), "{}", "signature_digest_mismatch"),
        (elsewhere, &body, "target_uri_malformed"),
    ] {
        assert_eq!(post(address, &headers, sent), said(code));
    }
    assert_eq!(post(address, &good, &body), "200 - -", "no damage has used it up");
    assert_eq!(post(address, &good, &body), said("signature_replayed"));
    drop(receiving);
    assert_eq!(receive(folder, &["list"])["deliveries"].as_array().unwrap().len(), 1);
}

#[test]
fn an_inbox_from_before_adcp_is_taken_over_whole() {
    let folder = tempfile::tempdir().unwrap();
    let body = json!({"message": {"messageId": "m"}}).to_string();
    let Ok(ReceivedDelivery::Delivery(known)) = ReceivedDelivery::read(body.as_bytes(), "", now())
    else {
        panic!()
    };
    let old = rusqlite::Connection::open(folder.path().join("inbox.sqlite")).unwrap();
    old.execute_batch(
        "CREATE TABLE deliveries (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
             kind TEXT NOT NULL, source TEXT NOT NULL, received_at INTEGER NOT NULL, task_id TEXT,
             state TEXT, status TEXT, artifacts TEXT NOT NULL, body TEXT NOT NULL,
             fate TEXT NOT NULL, attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, problem TEXT);
         PRAGMA user_version = 1;",
    )
    .unwrap();
    let insert = "INSERT INTO deliveries VALUES
        (1, ?1, 'message', 'push', 4000000000000, NULL, NULL, NULL, '[]', ?2, 'handled', 1, 0, NULL)";
    old.execute(insert, [&known.id, &body]).unwrap();
    drop(old);
    let inbox = DurableInbox::open(folder.path(), now()).unwrap();
    assert_eq!(inbox.put(&known).unwrap(), Put::Duplicate);
    drop(inbox);
    let listed = receive(folder.path(), &["list"]);
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&listed["deliveries"][0]["sender"], &listed["deliveries"][0]["key"]),
        (&json!(""), &json!(null))
    );
}
