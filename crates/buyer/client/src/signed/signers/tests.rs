use std::collections::BTreeMap;
use std::sync::Mutex as Lock;

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use tradepost_adcp::signing::SignedKind;
use tradepost_document::json::json;
use tradepost_keys::encode;

use super::*;

const SELLER: &str = "https://ads.example/mcp";
const BRAND: &str = "https://ads.example/.well-known/brand.json";
const KEYS: &str = "https://ads.example/.well-known/jwks.json";
const LIST: &str = "https://ads.example/.well-known/governance-revocations.json";

/// Five minutes after the list was made.
const NOW: &str = "2026-04-18T14:05:00Z";

/// Published documents, of which `null` fails to load, and the time.
#[derive(Debug, Default)]
struct Site {
    pages: Lock<BTreeMap<String, Value>>,
    elapsed: Lock<Duration>,
}

impl Site {
    fn new(pages: &[(&str, Value)]) -> Arc<Self> {
        let site = Self::default();
        pages.iter().for_each(|(url, page)| site.put(url, page.clone()));
        Arc::new(site)
    }

    fn put(&self, url: &str, page: Value) {
        self.pages.lock().unwrap().insert(url.to_owned(), page);
    }
}

impl PublishedKeys for Site {
    fn get<'a>(&'a self, url: &'a str) -> Fetching<'a> {
        let page = match self.pages.lock().unwrap().get(url) {
            None => Err(DocumentUnread::Absent),
            Some(Value::Null) => Err(DocumentUnread::Unreached),
            Some(Value::String(text)) => Ok(text.clone().into_bytes()),
            Some(page) => Ok(page.to_string().into_bytes()),
        };
        Box::pin(std::future::ready(page))
    }

    fn elapsed(&self) -> Duration {
        *self.elapsed.lock().unwrap()
    }

    fn failed(&self, _: &str, _: SignatureError) {}
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[9; 32]).unwrap()
}

fn jwk(kid: &str) -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": encode(pair().public_key())})
}

fn brand() -> Value {
    json!({"agents": [{"type": "sales", "id": "s", "url": SELLER}]})
}

fn keys(kids: &[&str]) -> Value {
    json!({"keys": kids.iter().map(|kid| jwk(kid)).collect::<Vec<_>>()})
}

fn known(site: &Arc<Site>, brand_json: Option<&str>) -> Signers<()> {
    let source = KeyLocation::Published(brand_json.map(str::to_owned));
    let keys = AgentKeys { source, revoked: Vec::new(), cap: 10 };
    let id = "s".to_owned();
    let url = Some(SELLER.to_owned());
    let agents = vec![SigningAgent { whose: (), id, url, keys }];
    let read: ReadFile = |_| Err(std::io::ErrorKind::Unsupported.into());
    Signers::open(Arc::clone(site) as Arc<dyn PublishedKeys>, agents, read).unwrap()
}

/// Looks a key up: `good`, `revoked`, or the reason why there is none.
fn finds(signers: &Signers<()>, kid: &str, now: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut found = signers.known(kid, at(now));
    found.extend(runtime.block_on(signers.sought(kid, at(now)).collect::<Vec<_>>()));
    match found.as_slice() {
        [] => signers.why().code(SignedKind::Request),
        [found] if found.revoked => "revoked".to_owned(),
        found => format!("good {}", found.len()),
    }
}

#[test]
fn the_brand_leads_to_keys_in_one_step_or_two() {
    let elsewhere = "https://house.example/.well-known/brand.json";
    let site = |pages: &[(&str, Value)]| known(&Site::new(pages), None);
    let twice = json!({"agents": [{"url": SELLER}, {"url": SELLER}]});
    let slash = json!({"agents": [{"url": format!("{SELLER}/")}]});
    let named = json!({"agents": [{"url": SELLER, "jwks_uri": "https://keys.example/k"}]});
    let further = json!({"authoritative_location": BRAND});
    for (pages, said) in [
        (vec![(BRAND, brand()), (KEYS, keys(&["k"]))], "good 1"),
        (vec![(BRAND, named), ("https://keys.example/k", keys(&["k"]))], "good 1"),
        (
            vec![
                (BRAND, json!({"house": "house.example"})),
                (elsewhere, brand()),
                (KEYS, keys(&["k"])),
            ],
            "good 1",
        ),
        (
            vec![(BRAND, json!({"authoritative_location": elsewhere})), (elsewhere, further)],
            "request_signature_agent_not_in_brand_json",
        ),
        (vec![(BRAND, brand()), (KEYS, keys(&["k", "k"]))], "request_signature_key_unknown"),
        (vec![(BRAND, brand())], "request_signature_jwks_unavailable"),
        (vec![(BRAND, twice)], "request_signature_brand_json_ambiguous"),
        (vec![(BRAND, slash)], "request_signature_agent_not_in_brand_json"),
        (vec![(BRAND, json!("{\"a\":1,\"a\":2}"))], "request_signature_brand_json_malformed"),
        (vec![], "request_signature_brand_json_unreachable"),
    ] {
        assert_eq!(finds(&site(&pages), "k", NOW), said, "{pages:?}");
    }
}

/// Signs a list as its operator does.
fn list(content: &Value, header: &Value) -> Value {
    let protected = encode(header.to_string());
    let payload = encode(content.to_string());
    let signature = pair().sign(format!("{protected}.{payload}").as_bytes());
    json!({"payload": payload,
        "signatures": [{"protected": protected, "signature": encode(signature)}]})
}

fn header() -> Value {
    json!({"alg": "EdDSA", "kid": "k", "typ": "adcp-gov-revocation+jws"})
}

fn content() -> Value {
    json!({"version": 1, "issuer": "https://ads.example", "updated": "2026-04-18T14:00:00Z",
        "next_update": "2026-04-18T14:15:00Z", "revoked_jtis": [], "revoked_kids": ["old"]})
}

fn with(mut document: Value, name: &str, value: Value) -> Value {
    document[name] = value;
    document
}

#[test]
fn lists_revoke_keys_and_those_of_others_count_as_stale() {
    let stale = "request_signature_revocation_stale";
    let flat = |list: Value| {
        let mut flat = list["signatures"][0].clone();
        flat["payload"] = list["payload"].clone();
        flat
    };
    let damaged = |mut list: Value| {
        let other = content().to_string().replace("\"old\"", "\"young\"");
        list["payload"] = json!(encode(other));
        list
    };
    for (page, said) in [
        (list(&content(), &header()), "good 1"),
        (flat(list(&content(), &header())), "good 1"),
        (damaged(list(&content(), &header())), stale),
        (list(&content(), &with(header(), "typ", json!("JOSE"))), stale),
        (list(&content(), &with(header(), "kid", json!("none"))), stale),
        (list(&content(), &with(header(), "alg", json!("ES256"))), stale),
        (list(&content(), &with(header(), "crit", json!(["b64"]))), stale),
        (list(&with(content(), "issuer", json!("https://other.example")), &header()), stale),
        (list(&with(content(), "next_update", json!("2026-04-18T12:00:00Z")), &header()), stale),
        (list(&with(content(), "revoked_kids", json!([1])), &header()), stale),
        (json!({"revoked_kids": ["old"]}), stale),
        (json!("no JSON"), stale),
        (Value::Null, stale),
    ] {
        let pages = [(BRAND, brand()), (KEYS, keys(&["k", "old"])), (LIST, page.clone())];
        let signers = known(&Site::new(&pages), None);
        assert_eq!(finds(&signers, "k", NOW), said, "{page}");
        let old = if said == stale { stale.to_owned() } else { "revoked".to_owned() };
        assert_eq!(finds(&signers, "old", NOW), old, "{page}");
    }
}

#[test]
fn old_lists_and_keys_serve_for_half_an_hour() {
    let pages =
        [(BRAND, brand()), (KEYS, keys(&["k", "old"])), (LIST, list(&content(), &header()))];
    let site = Site::new(&pages);
    let signers = known(&site, None);
    let finds = |kid: &str, now: &str| {
        let since = at(now).duration_since(at(NOW));
        *site.elapsed.lock().unwrap() = Duration::try_from(since).unwrap();
        finds(&signers, kid, now)
    };
    assert_eq!(finds("k", NOW), "good 1");
    // Unknown keys are fetched at most once in thirty seconds.
    site.put(KEYS, keys(&["k", "old", "new"]));
    assert_eq!(finds("new", "2026-04-18T14:05:29Z"), "request_signature_key_unknown");
    assert_eq!(finds("new", "2026-04-18T14:05:30Z"), "good 1");
    assert_eq!(finds("newer", "2026-04-18T14:06:30Z"), "request_signature_key_unknown");
    // The next list is due at 14:15.
    let later = with(content(), "updated", json!("2026-04-18T14:15:00Z"));
    let later = with(later, "next_update", json!("2026-04-18T14:30:00Z"));
    let later = with(later, "revoked_kids", json!(["old", "k"]));
    site.put(LIST, list(&later, &header()));
    assert_eq!(finds("k", "2026-04-18T14:14:59Z"), "good 1");
    assert_eq!(finds("k", "2026-04-18T14:15:00Z"), "revoked");
    assert_eq!(finds("new", "2026-04-18T14:15:00Z"), "good 1");
    // From then on there is no list.
    site.put(LIST, Value::Null);
    assert_eq!(finds("new", "2026-04-18T14:45:00Z"), "good 1");
    assert_eq!(finds("new", "2026-04-18T14:45:31Z"), "request_signature_revocation_stale");
}
