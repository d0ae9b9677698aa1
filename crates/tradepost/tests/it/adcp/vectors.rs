//! The published vectors of AdCP for buyers: webhook signatures by both schemes, webhooks as they are
//! read, and where the data and the errors are in what a seller answers. They lie in a checkout of
//! `adcontextprotocol/adcp`, named by `ADCP_CHECKOUT` or beside the repository's schemas; without it
//! this is skipped, and said so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, Method, Uri};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use tradepost_adcp::error::{AdcpError, Recovery};
use tradepost_adcp::payload;
use tradepost_adcp::signing::SignatureError;
use tradepost_client::failure::CallFailure;
use tradepost_client::receiver::authentic::{
    Authenticity, DeliveryDenied, DeliveryEnvelope, TrustedWebhooks,
};
use tradepost_client::receiver::delivery::{NoDelivery, ReceivedDelivery};
use tradepost_client::response::{RawResponse, Via, read};
use tradepost_client::signed::signers::{
    AgentKeys, DocumentUnread, Fetching, KeyLocation, PublishedKeys, Signers, SigningAgent,
};
use tradepost_document::json::{Value, json};
use tradepost_keys::http_signature::TargetUri;

use crate::beside::published;

/// The folder of a checkout.
fn checkout() -> Option<PathBuf> {
    let named = std::env::var_os("ADCP_CHECKOUT").map(PathBuf::from);
    let is_one = |folder: &PathBuf| folder.join("static/test-vectors").is_dir();
    named.filter(is_one).or_else(|| published("spec/adcp/checkout"))
}

fn document(path: &Path) -> Value {
    tradepost_document::json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn vectors(name: &str) -> Option<Value> {
    Some(document(&checkout()?.join("static/test-vectors").join(name)))
}

/// How many went as they should, and which did not.
#[derive(Default)]
struct Score {
    passed: usize,
    failed: BTreeMap<String, String>,
}

impl Score {
    fn note(&mut self, vector: &Value, found: impl std::fmt::Debug, right: bool) {
        if right {
            self.passed += 1;
        } else {
            let name = vector.get("id").or(vector.get("name")).or(vector.get("description"));
            let name = name.and_then(Value::as_str).unwrap_or_default().to_owned();
            self.failed.insert(name, format!("{found:?}"));
        }
    }

    /// Says how it went. Nothing may fail, and there is as much as there was when this was written.
    fn end(self, what: &str, least: usize) {
        let all = self.passed + self.failed.len();
        println!("{what}: {} of {all}", self.passed);
        assert!(self.failed.is_empty(), "{what}: {:#?}", self.failed);
        assert!(all >= least, "{what}: {all} vectors are fewer than the {least} that were known");
    }
}

fn list<'v>(document: &'v Value, name: &str) -> &'v [Value] {
    document[name].as_array().unwrap()
}

/// What a seller publishes.
#[derive(Debug)]
struct Site {
    pages: BTreeMap<String, Value>,
    /// Since when its list of revoked keys cannot be reached, in seconds; 0 while it can.
    away: AtomicU64,
}

impl PublishedKeys for Site {
    fn get<'a>(&'a self, url: &'a str) -> Fetching<'a> {
        Box::pin(async move {
            if url.ends_with("revocations.json") && self.away.load(Ordering::SeqCst) > 0 {
                return Err(DocumentUnread::Unreached);
            }
            let page = self.pages.get(url).ok_or(DocumentUnread::Absent)?;
            Ok(page.to_string().into_bytes())
        })
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.away.load(Ordering::SeqCst))
    }

    fn failed(&self, _: &str, _: SignatureError) {}
}

const SELLER: &str = "https://seller.example/mcp";

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// Judges a published request, which comes `times` times; what the last one hears.
fn judged(vector: &Value, keys: &Value, times: usize) -> String {
    let named = |key: &&Value| list(vector, "jwks_ref").contains(&key["kid"]);
    let mut known: Vec<Value> = list(keys, "keys").iter().filter(named).cloned().collect();
    for key in &mut known {
        let kid = key["kid"].as_str().unwrap().to_owned();
        if let Some(other) = vector["jwks_override"].get(&kid) {
            *key = other.clone();
        }
    }
    let brand = json!({"agents": [{"type": "sales", "id": "s", "url": SELLER}]});
    let site = Arc::new(Site {
        pages: BTreeMap::from([
            ("https://seller.example/.well-known/brand.json".to_owned(), brand),
            ("https://seller.example/.well-known/jwks.json".to_owned(), json!({"keys": known})),
        ]),
        away: AtomicU64::new(0),
    });
    let state = &vector["test_harness_state"];
    let revoked = state["revoked_kids"].as_array().into_iter().flatten();
    let revoked = revoked.map(|kid| kid.as_str().unwrap().to_owned()).collect();
    let full = state.get("per_keyid_cap_filled_for").is_some();
    let keys =
        AgentKeys { source: KeyLocation::Published(None), revoked, cap: if full { 1 } else { 10 } };
    let agent = SigningAgent {
        whose: Arc::<str>::from(SELLER),
        id: SELLER.to_owned(),
        url: Some(SELLER.to_owned()),
        keys,
    };
    let signers = Signers::open(Arc::clone(&site) as Arc<dyn PublishedKeys>, vec![agent], |path| {
        std::fs::read_to_string(path)
    })
    .unwrap();
    let now = Timestamp::from_second(vector["reference_now"].as_i64().unwrap()).unwrap();
    if let Some(seconds) = state["revocation_list_stale_seconds"].as_u64() {
        let then = now - Duration::from_secs(seconds);
        let kid = vector["jwks_ref"][0].as_str().unwrap();
        assert_eq!(block_on(signers.sought(kid, then).count()), 1);
        site.away.store(seconds, Ordering::SeqCst);
    }
    let request = &vector["request"];
    let url = TargetUri::read(request["url"].as_str().unwrap()).unwrap();
    let mut headers = HeaderMap::new();
    headers.append("host", url.authority().parse().unwrap());
    for (name, value) in request["headers"].as_object().unwrap() {
        let name: HeaderName = name.to_lowercase().parse().unwrap();
        headers.append(name, value.as_str().unwrap().parse().unwrap());
    }
    let uri: Uri = request["url"].as_str().unwrap().parse().unwrap();
    let uri: Uri = uri.path_and_query().unwrap().as_str().parse().unwrap();
    let method: Method = request["method"].as_str().unwrap().parse().unwrap();
    let body = request["body"].as_str().unwrap().as_bytes();
    let judge = Authenticity::default().with_webhooks(TrustedWebhooks::new(signers, Some(url)));
    let envelope = DeliveryEnvelope { method: &method, uri: &uri, headers: &headers, body };
    let mut outcome = String::new();
    for _ in 0..times {
        outcome = match block_on(judge.check(&envelope, now)) {
            Ok(pass) => pass.sender.to_string(),
            Err(denied) => denied.code().unwrap_or_default(),
        };
    }
    outcome
}

#[test]
fn webhook_signatures_are_judged_as_the_vectors_say() {
    let Some(checkout) = checkout() else { return };
    let folder = checkout.join("static/compliance/source/test-vectors/webhook-signing");
    let keys = document(&folder.join("keys.json"));
    let mut score = Score::default();
    for kind in ["positive", "negative"] {
        let mut files: Vec<_> = fs::read_dir(folder.join(kind)).unwrap().collect();
        files.sort_by_key(|file| file.as_ref().unwrap().path());
        for file in files {
            let vector = document(&file.unwrap().path());
            // The second time the nonce is known, or the room for nonces used up.
            let twice = ["deliver_twice", "pre_fill_per_keyid_cap"]
                .contains(&vector["black_box_behavior"].as_str().unwrap_or_default());
            let outcome = judged(&vector, &keys, if twice { 2 } else { 1 });
            let wanted = vector["expected_outcome"]["error_code"].as_str().unwrap_or(SELLER);
            score.note(&vector, &outcome, outcome == wanted);
        }
    }
    score.end("webhook signing", 29);
}

/// What becomes of a webhook with these headers.
fn by_hmac(secret: &str, vector: &Value, signature: &Value) -> &'static str {
    let body = vector["raw_body"].as_str().unwrap();
    let stamp = &vector["timestamp"];
    let stamp = stamp.as_str().map_or_else(|| stamp.to_string(), ToOwned::to_owned);
    let now = vector["current_time"].as_i64().or(vector["timestamp"].as_i64());
    let now = Timestamp::from_second(now.unwrap_or(1_700_000_000)).unwrap();
    let mut headers = HeaderMap::new();
    headers.insert("x-adcp-timestamp", stamp.parse().unwrap());
    if let Some(signature) = signature.as_str() {
        headers.insert("x-adcp-signature", signature.parse().unwrap());
    }
    let judge = Authenticity::default().with_hmac(&[secret]).unwrap();
    let uri = Uri::from_static("/");
    let body = body.as_bytes();
    let envelope = DeliveryEnvelope { method: &Method::POST, uri: &uri, headers: &headers, body };
    match block_on(judge.check(&envelope, now)) {
        Err(DeliveryDenied::Unproven) => "reject",
        Err(DeliveryDenied::Signature(_) | DeliveryDenied::Later(_)) => "another reason",
        Ok(_) => match ReceivedDelivery::read(body, "", now) {
            Err(NoDelivery::Ambiguous) => "reject-malformed",
            Ok(_) | Err(_) => "accept",
        },
    }
}

#[test]
fn hmacs_fit_the_vectors_and_guessable_secrets_are_refused() {
    let Some(file) = vectors("webhook-hmac-sha256.json") else { return };
    let secret = file["secret"].as_str().unwrap();
    let mut score = Score::default();
    for vector in list(&file, "vectors") {
        let found = by_hmac(secret, vector, &vector["expected_signature"]);
        let wanted = vector["expected_verifier_action"].as_str().unwrap_or("accept");
        score.note(vector, found, found == wanted);
    }
    for vector in list(&file, "rejection_vectors") {
        let found = by_hmac(secret, vector, &vector["signature"]);
        score.note(vector, found, found == "reject");
    }
    for vector in list(&file, "secret_rejection_vectors") {
        let taken = Authenticity::default().with_hmac(&[vector["secret"].as_str().unwrap()]);
        score.note(vector, &taken, taken.is_err());
    }
    score.end("webhook HMAC", 29);
}

#[test]
fn webhooks_are_read_as_the_vectors_say() {
    let extraction = vectors("webhook-payload-extraction.json");
    let envelopes = vectors("webhook-receiver-envelope.json");
    let Some(extraction) = extraction else { return };
    let Some(envelopes) = envelopes else { return };
    let mut score = Score::default();
    for vector in list(&extraction, "vectors") {
        let found = payload::of_webhook(&vector["payload"]).unwrap();
        let found = found.cloned().unwrap_or_default();
        score.note(vector, &found, found == vector["expected_data"]);
    }
    score.end("webhook payload extraction", 12);
    let code = |vector: &Value| {
        let body = vector["payload"].to_string();
        match ReceivedDelivery::read(body.as_bytes(), "", Timestamp::UNIX_EPOCH) {
            Ok(_) => "",
            Err(NoDelivery::Webhook(no)) => no.code(),
            Err(NoDelivery::Ambiguous | NoDelivery::Other(_)) => "no webhook",
        }
    };
    let mut score = Score::default();
    for vector in list(&envelopes, "positive") {
        score.note(vector, code(vector), code(vector).is_empty());
    }
    for vector in list(&envelopes, "negative") {
        score.note(vector, code(vector), code(vector) == vector["expected_error"]);
    }
    // Three payloads lack what `missing-idempotency-key` of the later vectors says a receiver must
    // not do without; their data is found all the same.
    let older = ["mcp-missing-result", "mcp-null-result", "mcp-canceled"];
    for vector in list(&extraction, "vectors") {
        let is_older = older.contains(&vector["id"].as_str().unwrap());
        let wanted = if is_older { "missing_envelope_fields" } else { "" };
        if is_older {
            assert_eq!(code(vector), wanted, "{vector}");
        } else {
            score.note(vector, code(vector), code(vector) == wanted);
        }
    }
    score.end("webhook receiver envelope and payloads", 14);
}

#[test]
fn an_answers_data_is_found_where_the_vectors_say() {
    let tools = vectors("mcp-response-extraction.json");
    let tasks = vectors("a2a-response-extraction.json");
    let Some(tools) = tools else { return };
    let Some(tasks) = tasks else { return };
    let mut score = Score::default();
    for vector in list(&tools, "vectors") {
        let found = payload::of_tool(&vector["response"]).map(std::borrow::Cow::into_owned);
        let found = found.unwrap_or_default();
        score.note(vector, &found, found == vector["expected_data"]);
    }
    score.end("MCP response extraction", 16);
    let mut score = Score::default();
    for vector in list(&tasks, "vectors") {
        let found = payload::of_task(&vector["response"]);
        let right = match vector.get("expected_error_type") {
            Some(_) => found.is_err(),
            None => {
                found.is_ok_and(|found| found.unwrap_or(&Value::Null) == &vector["expected_data"])
            }
        };
        score.note(vector, found, right);
    }
    score.end("A2A response extraction", 31);
}

/// What a caller does about an error, in the words of the vectors.
fn action(error: Option<&AdcpError>) -> &'static str {
    match error.map(AdcpError::class) {
        Some(Recovery::Transient) => "retry",
        Some(Recovery::Correctable) => "surface_to_caller",
        Some(Recovery::Terminal) => "escalate_to_human",
        None => "generic_error",
    }
}

/// The one vector that another text contradicts: "Forward-compatible decoding" of the error handling
/// page, and `error_code_policy.default_unknown_recovery` of the manifest, say transient (`D-3`).
const CONTRADICTED: &str = "mcp-missing-recovery-unknown-code";

#[test]
fn errors_are_found_and_followed_as_the_vectors_say() {
    let Some(file) = vectors("transport-error-mapping.json") else { return };
    let mut score = Score::default();
    for vector in list(&file, "vectors") {
        let body = vector["response"].to_string();
        let id = vector["response"]["id"].as_str().unwrap_or_default();
        let via = match vector["path"].as_str().unwrap() {
            "jsonrpc_error" => Via::JsonRpc { id },
            _ if vector["transport"] == "a2a" => Via::Task,
            _ => Via::McpTool,
        };
        let status = 200;
        let content_type = None;
        let retry_after = None;
        let raw = RawResponse {
            via,
            status,
            content_type,
            retry_after,
            challenges: &[],
            body: body.as_bytes(),
        };
        let failure = read(&raw);
        let found = failure.as_ref().and_then(CallFailure::adcp);
        let code = found.map(|error| error.code.name().to_owned());
        let wanted = vector["expected_error"]["code"].as_str().map(str::to_owned);
        // Without a failure there must be no data either: nothing that anybody could use.
        let unusable = failure.is_some() || payload::of_tool(&vector["response"]).is_none();
        if vector["id"] == CONTRADICTED {
            assert_eq!(action(found), "retry");
            continue;
        }
        let right = code == wanted && action(found) == vector["expected_action"] && unusable;
        score.note(vector, (code, action(found)), right);
    }
    score.end("transport errors without the contradicted one", 31);
}
