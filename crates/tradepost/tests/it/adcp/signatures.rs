//! Signed requests over HTTP: who is known by a signature, and what those hear whose signature is
//! not believed.

use std::io::Read as _;
use std::sync::Arc;

use jiff::SignedDuration;
use tradepost_adcp::signing::DigestRule;
use tradepost_client::signed::signers::{AgentKeys, KeyLocation};
use tradepost_document::json::{Value, json};
use tradepost_publisher::agent::BuyerAgent;
use tradepost_publisher::profile::RequestSigning;
use tradepost_runtime::config::Config;

use crate::support::Response;
use crate::support::publisher::{Publisher, start, start_with};
use crate::support::signer::{Signer, Site};

/// A call of a tool.
fn call(tool: &str, arguments: Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

fn accounts() -> String {
    call("list_accounts", json!({}))
}

/// Lets an agent sign.
pub(super) fn knows(config: &mut Config, id: &str, url: Option<&str>, source: KeyLocation) {
    let publisher = &mut config.publishers[0];
    publisher.call_loopback = true;
    publisher.profile.signing.requests = Some(RequestSigning {
        required_for: ["create_media_buy".to_owned()].into(),
        methods_required_for: ["tasks/cancel".to_owned()].into(),
        digest: DigestRule::Required,
    });
    let keys = AgentKeys { source, revoked: Vec::new(), cap: 1_000 };
    publisher.signers.insert(id.to_owned(), keys);
    for agent in publisher.profile.agents.iter_mut().filter(|agent| agent.id == id) {
        let url = url.map(ToOwned::to_owned);
        *agent = Arc::new(BuyerAgent { url, ..BuyerAgent::clone(agent) });
    }
}

fn send(
    publisher: &Publisher,
    path: &str,
    headers: &[(&'static str, String)],
    body: &str,
) -> Response {
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = headers.chain([AT]).collect();
    publisher.post("nobody", path, &headers, body)
}

const AT: (&str, &str) = ("Host", "127.0.0.1:8080");

/// Where the publisher is, by its own account.
const HERE: &str = "http://127.0.0.1:8080/mcp";

fn signed(publisher: &Publisher, signer: &Signer, nonce: u8, body: &str) -> Response {
    send(publisher, "/mcp", &signer.sign(HERE, body, nonce), body)
}

/// The status, the challenge, and the code of what came back.
fn said(response: &Response) -> String {
    let challenge = response.header("www-authenticate").unwrap_or("-");
    let body = response.json();
    let code = body["error"]["data"]["adcp_error"]["code"].as_str();
    let code = code.or(body["result"]["structuredContent"]["adcp_error"]["code"].as_str());
    format!("{} {challenge} {}", response.status, code.unwrap_or("-"))
}

struct Files(tempfile::TempDir);

impl Files {
    fn new(signers: &[&Signer]) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        let keys: Vec<_> = signers.iter().map(|signer| signer.public()).collect();
        std::fs::write(files.path(), json!({"keys": keys}).to_string()).unwrap();
        files
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("jwks.json")
    }
}

/// Covers G-2 too.
#[test]
fn b_2_whoever_signs_is_the_agent_of_the_key() {
    let acme = Signer::new("k");
    let paused = Signer::new("k");
    let acme_keys = Files::new(&[&acme]);
    let paused_keys = Files::new(&[&paused]);
    let publisher = start_with(&|config| {
        knows(config, "acme", None, KeyLocation::File(acme_keys.path()));
        knows(config, "paused", None, KeyLocation::File(paused_keys.path()));
    });
    assert_eq!(said(&signed(&publisher, &acme, 1, &accounts())), "200 - -");
    assert_eq!(said(&signed(&publisher, &paused, 1, &accounts())), "200 - AGENT_SUSPENDED");
    let again = signed(&publisher, &acme, 1, &accounts());
    assert_eq!(said(&again), r#"401 Signature error="request_signature_replayed" AUTH_INVALID"#);
    let unknown_signer = signed(&publisher, &Signer::new("k"), 1, &accounts());
    assert_eq!(
        said(&unknown_signer),
        r#"401 Signature error="request_signature_invalid" AUTH_INVALID"#
    );
}

#[test]
fn no_other_credential_makes_a_bad_signature_good() {
    let acme = Signer::new("k");
    let keys = Files::new(&[&acme]);
    let publisher =
        start_with(&|config| knows(config, "acme", None, KeyLocation::File(keys.path())));
    let body = accounts();
    let headers = acme.sign(HERE, &body, 1);
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = headers.chain([AT]).collect();
    let damaged: Vec<_> =
        headers.iter().copied().filter(|(name, _)| *name != "signature").collect();
    for (headers, body, code) in [
        (&damaged[..], body.as_str(), "header_malformed"),
        (&headers[..], &format!("{body} "), "digest_mismatch"),
        (
            &[&headers[..], &[("Content-Type", "application/json, text/plain")]].concat()[..],
            &body,
            "header_malformed",
        ),
    ] {
        let answer = said(&publisher.post("acme", "/mcp", headers, body));
        assert_eq!(
            answer,
            format!("401 Signature error=\"request_signature_{code}\" AUTH_INVALID")
        );
    }
    let elsewhere = publisher.post("acme", "/a2a", &headers, &body);
    assert_eq!(elsewhere.status, 401, "it was made for another path");
    assert_eq!(said(&publisher.post("acme", "/mcp", &headers, &body)), "200 - -");
}

#[test]
fn what_must_be_signed_is_refused_when_nothing_else_vouches() {
    let acme = Signer::new("k");
    let keys = Files::new(&[&acme]);
    let publisher =
        start_with(&|config| knows(config, "acme", None, KeyLocation::File(keys.path())));
    let required = r#"401 Signature error="request_signature_required" AUTH_MISSING"#;
    let buy = call("create_media_buy", json!({}));
    assert_eq!(said(&publisher.post("nobody", "/mcp", &[], &buy)), required);
    assert_eq!(said(&publisher.post("a-wrong-token", "/mcp", &[], &buy)), required);
    let by_bearer = publisher.post("acme", "/mcp", &[], &buy);
    assert_eq!(by_bearer.status, 200, "a credential that is good is enough: {}", said(&by_bearer));
    let cancel = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {}});
    assert_eq!(said(&publisher.post("nobody", "/mcp", &[], &cancel.to_string())), required);
    let hmac = json!({"schemes": ["HMAC-SHA256"], "credentials": "x".repeat(32)});
    let config = json!({"url": "https://buyer.example/", "authentication": hmac});
    let chooses = call("update_media_buy", json!({"push_notification_config": config}));
    assert_eq!(said(&publisher.post("acme", "/mcp", &[], &chooses)), required);
    let read = said(&publisher.post("nobody", "/mcp", &[], &accounts()));
    assert!(read.starts_with("401 Bearer"), "what needs none is as before: {read}");
    let ignored = start();
    let body = accounts();
    let answer = signed(&ignored, &acme, 1, &body);
    assert!(said(&answer).starts_with("401 Bearer"), "where signatures are not believed");
}

#[test]
fn published_keys_are_found_and_asked_for_with_moderation() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let site = Site::default();
    let address = site.serve(&runtime);
    let url = format!("http://{address}/agent");
    let publisher = start_with(&|config| {
        knows(config, "acme", Some(&url), KeyLocation::Published(None));
    });
    let first = Signer::new("first");
    let second = Signer::new("second");
    let code = |signer: &Signer, nonce| {
        let answer = said(&signed(&publisher, signer, nonce, &accounts()));
        answer.split('"').nth(1).unwrap_or(&answer).to_owned()
    };
    assert_eq!(code(&first, 1), "request_signature_brand_json_unreachable");
    assert_eq!(site.asked(), ["/.well-known/brand.json"]);
    let agent = |url: &str| json!({"type": "buying", "id": "acme", "url": url});
    site.put("/.well-known/brand.json", json!({"agents": [agent("https://other.example/")]}));
    assert_eq!(code(&first, 1), "request_signature_brand_json_unreachable");
    assert!(site.asked().is_empty(), "nobody is asked twice in a moment");
    publisher.hand.advance(SignedDuration::from_secs(30));
    assert_eq!(code(&first, 1), "request_signature_agent_not_in_brand_json");
    site.put("/.well-known/brand.json", json!({"agents": [agent(&url), agent(&url)]}));
    publisher.hand.advance(SignedDuration::from_secs(30));
    assert_eq!(code(&first, 1), "request_signature_brand_json_ambiguous");
    site.put("/.well-known/brand.json", json!({"house": {"agents": [agent(&url)]}}));
    site.put("/.well-known/jwks.json", json!({"keys": [first.public()]}));
    publisher.hand.advance(SignedDuration::from_secs(30));
    assert_eq!(code(&first, 1), "200 - -");
    site.asked();
    assert_eq!(code(&first, 2), "200 - -");
    assert!(site.asked().is_empty(), "what is fresh is not asked for");
    assert_eq!(code(&second, 1), "request_signature_key_unknown");
    site.put("/.well-known/jwks.json", json!({"keys": [first.public(), second.public()]}));
    assert_eq!(code(&second, 1), "request_signature_key_unknown", "not twice in a moment");
    publisher.hand.advance(SignedDuration::from_secs(30));
    assert_eq!(code(&second, 1), "200 - -", "a new key is found without waiting for the old ones");
    runtime.shutdown_background();
}

#[test]
fn a_signature_made_for_another_seller_is_not_believed() {
    let acme = Signer::new("k");
    let keys = Files::new(&[&acme]);
    let publisher =
        start_with(&|config| knows(config, "acme", None, KeyLocation::File(keys.path())));
    let body = accounts();
    let other = acme.sign("http://other.example/mcp", &body, 1);
    let headers = other.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = headers.chain([("Host", "other.example")]).collect();
    let answer = said(&publisher.post("nobody", "/mcp", &headers, &body));
    let malformed = r#"401 Signature error="request_target_uri_malformed" AUTH_INVALID"#;
    assert_eq!(answer, malformed);
}

#[test]
fn a_signature_that_was_used_before_a_restart_stays_used() {
    let acme = Signer::new("k");
    let keys = Files::new(&[&acme]);
    let publisher =
        start_with(&|config| knows(config, "acme", None, KeyLocation::File(keys.path())));
    let body = accounts();
    assert_eq!(said(&signed(&publisher, &acme, 1, &body)), "200 - -");
    let publisher = publisher.restart();
    let replayed = r#"401 Signature error="request_signature_replayed" AUTH_INVALID"#;
    assert_eq!(said(&signed(&publisher, &acme, 1, &body)), replayed);
    assert_eq!(said(&signed(&publisher, &acme, 2, &body)), "200 - -");
}

#[test]
fn what_cannot_be_noted_as_used_is_not_believed() {
    let acme = Signer::new("k");
    let keys = Files::new(&[&acme]);
    let publisher =
        start_with(&|config| knows(config, "acme", None, KeyLocation::File(keys.path())));
    publisher.damage("DROP TABLE used_signatures");
    let answer = signed(&publisher, &acme, 1, &accounts());
    assert_eq!(said(&answer), "503 - SERVICE_UNAVAILABLE");
}

#[test]
fn nobody_waits_for_the_site_of_another_agent() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
    let site = Site::default();
    let url = format!("http://{}/agent", site.serve(&runtime));
    // It takes connections and answers nothing.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_url = format!("http://{}/agent", silent.local_addr().unwrap());
    let publisher = start_with(&|config| {
        knows(config, "acme", Some(&url), KeyLocation::Published(None));
        knows(config, "nova", Some(&silent_url), KeyLocation::Published(None));
    });
    let acme = Signer::new("k");
    site.put("/.well-known/brand.json", json!({"agents": [{"url": url}]}));
    site.put("/.well-known/jwks.json", json!({"keys": [acme.public()]}));
    assert_eq!(said(&signed(&publisher, &acme, 1, &accounts())), "200 - -");
    // The other was asked, and is still being waited for.
    let (mut asked, _) = silent.accept().unwrap();
    asked.set_nonblocking(true).unwrap();
    let mut request = [0; 4096];
    let waiting = loop {
        match asked.read(&mut request) {
            Ok(0) => break false,
            Ok(_) => {}
            Err(error) => break error.kind() == std::io::ErrorKind::WouldBlock,
        }
    };
    assert!(waiting, "the answer came only when the other site had been given up");
    runtime.shutdown_background();
}

#[test]
fn a_signed_body_with_a_member_twice_is_malformed() {
    let acme = Signer::new("k");
    let keys = Files::new(&[&acme]);
    let publisher =
        start_with(&|config| knows(config, "acme", None, KeyLocation::File(keys.path())));
    let twice = accounts().replacen('{', r#"{"id":2,"#, 1);
    let answer = said(&signed(&publisher, &acme, 1, &twice));
    assert_eq!(answer, r#"401 Signature error="request_body_malformed" AUTH_INVALID"#);
}

#[test]
fn receivers_of_webhooks_find_our_keys() {
    let publisher = start();
    let get = |path| crate::support::client::request(publisher.address, "GET", path, &[], b"");
    let brand = get("/.well-known/brand.json").json();
    let agents = brand["agents"].as_array().unwrap();
    let urls: Vec<_> = agents.iter().map(|agent| agent["url"].as_str().unwrap()).collect();
    assert_eq!(urls, ["http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/a2a"]);
    let jwks = "http://127.0.0.1:8080/.well-known/jwks.json";
    assert!(agents.iter().all(|agent| agent["jwks_uri"] == jwks && agent["type"] == "sales"));
    let keys = get("/.well-known/jwks.json").json();
    let key = &keys["keys"][0];
    assert_eq!(
        (&key["adcp_use"], &key["key_ops"], &key["use"], &key["alg"]),
        (&json!("request-signing"), &json!(["verify"]), &json!("sig"), &json!("EdDSA"))
    );
    assert!(key.get("d").is_none(), "the private part stays here");
}
