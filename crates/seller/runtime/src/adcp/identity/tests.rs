use std::collections::BTreeSet;
use std::path::PathBuf;

use axum::http::HeaderName;
use tradepost_adcp::signing::DigestRule;
use tradepost_client::signed::signers::{AgentKeys, KeyLocation, Signers, SigningAgent};
use tradepost_commands::published::GuardedWeb;
use tradepost_document::json::json;
use tradepost_keys::Algorithm as Jws;
use tradepost_keys::adcp::PostToSign;
use tradepost_keys::private::{self as key, SigningKey};
use tradepost_publisher::agent::AgentStanding as Relation;
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_store::Store;

use super::*;

const NOW: i64 = 1_777_550_400;
const URL: &str = "https://ads.example/mcp";
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_media_buy","arguments":{}}}"#;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

/// Buyer agent that signs.
struct Buyer {
    key: SigningKey,
    /// Public key as the seller has it.
    public: Value,
}

impl Buyer {
    fn new(algorithm: Jws, kid: &str) -> Self {
        let key = SigningKey::read(&key::generate(algorithm).unwrap(), Some(kid)).unwrap();
        let mut public = key.public_jwk();
        public["key_ops"] = json!(["verify"]);
        public["adcp_use"] = json!("request-signing");
        Self { key, public }
    }

    /// Signs a call, and returns its headers and body.
    fn sign(&self, url: &str, body: &str, nonce: u8) -> Sent {
        let target = TargetUri::read(url).unwrap();
        let post = PostToSign {
            surface: SignedKind::Request,
            url,
            content_type: "application/json",
            body: body.as_bytes(),
            covers_body: true,
        };
        let signed = post.sign(&self.key, &[nonce; 16], at(0)).unwrap();
        let plain = [("host", target.authority()), ("content-type", "application/json")];
        let plain = plain.map(|(name, value)| (name, value.to_owned()));
        let headers =
            plain.into_iter().chain(signed).map(|(name, value)| (name.to_owned(), value)).collect();
        Sent { path: target.path().to_owned(), headers, body: body.to_owned() }
    }
}

/// Request in transit.
#[derive(Debug, Clone)]
struct Sent {
    path: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Sent {
    /// Creates a request without a signature.
    fn plain(body: &str) -> Self {
        let headers = vec![("host".to_owned(), "ads.example".to_owned())];
        Self { path: "/mcp".to_owned(), headers, body: body.to_owned() }
    }

    fn with(mut self, name: &str, change: impl Fn(&str) -> String) -> Self {
        for (known, value) in &mut self.headers {
            if known == name {
                *value = change(value);
            }
        }
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    fn and(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

fn agent(id: &str) -> Arc<BuyerAgent> {
    Arc::new(BuyerAgent {
        id: id.to_owned(),
        url: None,
        principals: BTreeSet::new(),
        standing: Relation::Active,
        sandbox_only: false,
        live_only: false,
        billing: None,
        scope: None,
        spend_limits: Vec::new(),
    })
}

/// Seller that knows keys of some agents.
struct Seller {
    identity: SignatureIdentity,
    _directory: tempfile::TempDir,
}

impl Seller {
    fn new(
        digest: DigestRule,
        known: &[(&str, &[&Value])],
        terms: &dyn Fn(PathBuf) -> AgentKeys,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let agents = known.iter().map(|(id, keys)| {
            let path = directory.path().join(format!("{id}.json"));
            std::fs::write(&path, json!({"keys": keys}).to_string()).unwrap();
            SigningAgent { whose: agent(id), id: (*id).to_owned(), url: None, keys: terms(path) }
        });
        let web =
            Arc::new(GuardedWeb::new(Egress::new(Resolver::system(), false), Clock::system()));
        let signers =
            Signers::open(web, agents.collect(), |path| std::fs::read_to_string(path)).unwrap();
        let policy = RequestSigning {
            digest,
            required_for: ["create_media_buy".to_owned()].into(),
            methods_required_for: ["tasks/cancel".to_owned()].into(),
        };
        let store = Arc::new(Store::open(directory.path()).unwrap());
        let (used, replay) = StoredSignatures::open(&store, "gazette", at(0)).unwrap();
        let places = ["https://ads.example".to_owned()];
        let checklist = Checklist::new(SignedKind::Request, policy.digest, signers, replay);
        let identity = SignatureIdentity::new(policy, checklist, used, &places);
        Self { identity, _directory: directory }
    }

    /// Returns the result for a request: the agent, `-` for an unsigned one and `!` when a
    /// signature is needed, or the code.
    fn result_of(&self, sent: &Sent, seconds: i64) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in &sent.headers {
            let value = axum::http::HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.append(name.parse::<HeaderName>().unwrap(), value);
        }
        let uri: Uri = sent.path.parse().unwrap();
        let received = ReceivedRequest {
            method: &Method::POST,
            uri: &uri,
            headers: &headers,
            body: sent.body.as_bytes(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        match runtime.block_on(self.identity.judge(&received, at(seconds))) {
            Ok(SenderClaim::Signed(agent)) => agent.id.clone(),
            Ok(SenderClaim::Unsigned { needed: true }) => "!".to_owned(),
            Ok(SenderClaim::Unsigned { needed: false }) => "-".to_owned(),
            Err(SenderRefusal::Signature(fault)) => fault.code(SignedKind::Request),
            Err(denied) => panic!("{denied:?}"),
        }
    }
}

fn usual(path: PathBuf) -> AgentKeys {
    AgentKeys { source: KeyLocation::File(path), revoked: vec!["old".to_owned()], cap: 100 }
}

#[test]
fn b_2_a_signature_establishes_whose_it_is() {
    let ed = Buyer::new(Jws::EdDsa, "ed");
    let ec = Buyer::new(Jws::Es256, "ec");
    // Two agents may have used one key id.
    let rival = Buyer::new(Jws::EdDsa, "ed");
    let known: [(&str, &[&Value]); 2] =
        [("rival", &[&rival.public]), ("acme", &[&ed.public, &ec.public])];
    let seller = Seller::new(DigestRule::Either, &known, &usual);
    assert_eq!(seller.result_of(&ed.sign(URL, CALL, 1), 0), "acme");
    assert_eq!(seller.result_of(&ec.sign(URL, CALL, 2), 0), "acme");
    assert_eq!(seller.result_of(&rival.sign(URL, CALL, 1), 0), "rival");
    let stranger = Buyer::new(Jws::EdDsa, "ed");
    assert_eq!(seller.result_of(&stranger.sign(URL, CALL, 3), 0), "request_signature_invalid");
    let old = Buyer::new(Jws::EdDsa, "old");
    let seller = Seller::new(DigestRule::Either, &[("acme", &[&old.public])], &usual);
    assert_eq!(seller.result_of(&old.sign(URL, CALL, 1), 0), "request_signature_key_revoked");
}

#[test]
fn a_damaged_request_is_told_what_is_wrong_with_it() {
    let buyer = Buyer::new(Jws::EdDsa, "k");
    let mut other_use = Buyer::new(Jws::EdDsa, "governs");
    other_use.public["adcp_use"] = json!("governance-signing");
    let keys: [(&str, &[&Value]); 1] = [("acme", &[&buyer.public, &other_use.public])];
    let seller = Seller::new(DigestRule::Required, &keys, &usual);
    let good = buyer.sign(URL, CALL, 1);
    let input = |change: &dyn Fn(&str) -> String| good.clone().with("signature-input", change);
    let replaced = |from: &'static str, to: &'static str| input(&|value| value.replace(from, to));
    for (damage, sent, code) in [
        ("no signature", good.clone().without("signature"), "signature_header_malformed"),
        ("no terms", good.clone().without("signature-input"), "signature_header_malformed"),
        ("no sense", input(&|_| "sig1=not a list!!!".to_owned()), "signature_header_malformed"),
        ("terms twice", input(&|value| format!("{value}, {value}")), "signature_header_malformed"),
        ("unquoted", replaced("keyid=\"k\"", "keyid=k"), "signature_header_malformed"),
        (
            "no nonce",
            input(&|value| value.replace(";nonce=", ";nonce=\"\";x=")),
            "signature_header_malformed",
        ),
        (
            "no tag",
            input(&|value| value.split(";tag").next().unwrap().to_owned()),
            "signature_params_incomplete",
        ),
        ("another tag", replaced("request-signing", "webhook-signing"), "signature_tag_invalid"),
        ("another algorithm", replaced("ed25519", "rsa-pss-sha512"), "signature_alg_not_allowed"),
        ("no authority", replaced(" \"@authority\"", ""), "signature_components_incomplete"),
        ("no digest", replaced(" \"content-digest\"", ""), "signature_components_incomplete"),
        ("another key", replaced("keyid=\"k\"", "keyid=\"x\""), "signature_key_unknown"),
        ("another purpose", other_use.sign(URL, CALL, 2), "signature_key_purpose_invalid"),
        (
            "another kind",
            replaced("\"ed25519\"", "\"ecdsa-p256-sha256\""),
            "signature_key_purpose_invalid",
        ),
        (
            "other bytes",
            good.clone().with("signature", |value| value.replace("=:", "=:AAAA")),
            "signature_invalid",
        ),
        (
            "another type",
            good.clone().with("content-type", |_| "text/json".to_owned()),
            "signature_invalid",
        ),
        ("two types", good.clone().and("content-type", "text/plain"), "signature_header_malformed"),
        (
            "two digests",
            good.clone().and("content-digest", "sha-256=:AQ:"),
            "signature_header_malformed",
        ),
        ("another path", Sent { path: "/a2a".to_owned(), ..good.clone() }, "signature_invalid"),
        (
            "another body",
            Sent { body: "{}".to_owned(), ..good.clone() },
            "signature_digest_mismatch",
        ),
        (
            "another host",
            good.clone().with("host", |_| "other.example".to_owned()),
            "target_uri_malformed",
        ),
        ("no host", good.clone().with("host", |_| ":443".to_owned()), "target_uri_malformed"),
        (
            "a name in other letters",
            good.clone().with("host", |_| "bücher.example".to_owned()),
            "signature_header_malformed",
        ),
    ] {
        assert_eq!(seller.result_of(&sent, 0), format!("request_{code}"), "{damage}");
    }
    for (seconds, says) in
        [(-61, "request_signature_window_invalid"), (361, "request_signature_window_invalid")]
    {
        assert_eq!(seller.result_of(&good, seconds), says);
    }
    assert_eq!(seller.result_of(&good, 0), "acme", "no damage has used it up");
    assert_eq!(seller.result_of(&good, 1), "request_signature_replayed");
    assert_eq!(seller.result_of(&good, 360), "request_signature_replayed", "as long as it holds");
    let with_port = good.clone().with("host", |_| "ads.example:443".to_owned());
    assert_eq!(seller.result_of(&with_port, 1), "request_signature_replayed", "the same host");
}

#[test]
fn an_ambiguous_body_is_nobodys_and_uses_its_signature_up() {
    let buyer = Buyer::new(Jws::EdDsa, "k");
    let seller = Seller::new(DigestRule::Either, &[("acme", &[&buyer.public])], &usual);
    let twice = buyer.sign(URL, r#"{"id":1,"params":{"a":1,"a":2}}"#, 1);
    assert_eq!(seller.result_of(&twice, 0), "request_body_malformed");
    assert_eq!(seller.result_of(&twice, 0), "request_signature_replayed");
}

#[test]
fn a_key_that_signs_without_end_has_to_wait() {
    let buyer = Buyer::new(Jws::EdDsa, "k");
    let few = |path| AgentKeys { cap: 2, ..usual(path) };
    let seller = Seller::new(DigestRule::Either, &[("acme", &[&buyer.public])], &few);
    let result_of = |nonce, seconds| seller.result_of(&buyer.sign(URL, CALL, nonce), seconds);
    assert_eq!([result_of(1, 0), result_of(2, 0)], ["acme", "acme"]);
    assert_eq!(result_of(3, 0), "request_signature_rate_abuse");
    let forged = buyer.sign(URL, CALL, 4).with("signature", |value| value.replace("=:", "=:AAAA"));
    assert_eq!(
        seller.result_of(&forged, 0),
        "request_signature_rate_abuse",
        "before it is verified"
    );
}

#[test]
fn who_has_not_signed_is_told_whether_it_is_needed() {
    let seller = Seller::new(DigestRule::Either, &[], &usual);
    let call = |tool: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}})
    };
    let message = |data: Value| json!({"method": "SendMessage", "params": {"message": {"parts": [{"text": "a"}, {"data": data}]}}});
    let hmac = json!({"url": "https://b.example/", "authentication": {"schemes": ["HMAC-SHA256"]}});
    let plain = json!({"url": "https://b.example/"});
    for (body, expected) in [
        (call("get_products", json!({})), "-"),
        (call("create_media_buy", json!({})), "!"),
        (json!({"method": "tasks/cancel"}), "!"),
        (json!({"method": "create_media_buy"}), "-"),
        (call("tasks/cancel", json!({})), "-"),
        (message(json!({"skill": "create_media_buy", "input": {}})), "!"),
        (message(json!({"skill": "get_products", "input": {}})), "-"),
        (call("update_media_buy", json!({"push_notification_config": plain})), "-"),
        (
            call("update_media_buy", json!({"push_notification_config": hmac})),
            "request_signature_required",
        ),
        (
            call("update_media_buy", json!({"reporting_webhook": hmac})),
            "request_signature_required",
        ),
        (
            message(
                json!({"skill": "update_media_buy", "input": {"push_notification_config": hmac}}),
            ),
            "request_signature_required",
        ),
        (
            call("sync_accounts", json!({"accounts": [{"notification_configs": [plain, hmac]}]})),
            "request_signature_required",
        ),
        (call("sync_accounts", json!({"accounts": [{"notification_configs": [plain]}]})), "-"),
        (json!("text"), "-"),
    ] {
        assert_eq!(seller.result_of(&Sent::plain(&body.to_string()), 0), expected, "{body}");
    }
    assert_eq!(seller.result_of(&Sent::plain("no JSON"), 0), "-", "the binding says so");
}
