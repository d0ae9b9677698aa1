//! Access tokens, with keys made here.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use tradepost_document::json::{Value, json};
use tradepost_runtime::config::{AuthSettings, Config, JwtSettings, KeySource};
use tradepost_runtime::wiring;
use tradepost_server::auth::Authenticator;
use tradepost_server::auth::jwks::IssuerKeys;
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use super::{ask, bearer, question, receipt, seconds, whole};
use crate::support::{TestServer, dealer, lead, start_with, with};

const ISSUER: &str = "https://login.example";

/// A token that a throw-away RSA key of 2048 bits has signed, since the tests' library makes
/// none: of the issuer above for `rsa-buyer`, until an hour after the tests' clock starts.
const RSA_TOKEN: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYS0xIn0.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJhd\
     WQiOiJkZW1vIiwic3ViIjoicnNhLWJ1eWVyIiwiZXhwIjoxNzc3NTU0MDAwLCJzY29wZSI6ImRlYWxlcjpyZW\
     FkIn0.afC_jJ01OK0-WW8b41DmmF28b0sbthvBhf65pDxUzTobvT0xenT5_eTjzmYC6xXEt2vO28pyKW0CX7a\
     653QarcFw4oJQY3Hj_T1T84rBXzlQIvYs4HR82dstUJfFDWoN4n923JcCWkPzSPXvDnS1O0ofBxQnKvm_Yw_L\
     l9xkgLYJHD3FJIKhzy2fZKEtXm5iq8UMPyI6tpMo8Q6YDz75nGQTO80xJVlBtNYtp6uLFVws-UgXVPfX7Unx9\
     oJOsLFjnwJknb-2lRMLChtsimPDUQradRBItAJmxpSXimbg1W_lpdmnE7daeqt0mZaxw2tTHU_TSjHmxRST1A\
     pvtbYE3w";
const RSA_MODULUS: &str = "jByeOk8e5hAMj5U2FfD7PGZirBFQLstBnQhOY1d4YxRitKIS0swXVnV3YAnZ4nrGEJSsmKz4EgHpalJln67M4\
     BWvPdqcyX1ei6bEP_O6iHFmknpfgNEPOzIbH2uODdjNKMijE4F-K72c382hTir7E_A6yjSP3t3XPHpmVoR58S\
     721_xfj7QtwZzfCNW1Tgzv_Q7hMg9sBUdRncc4d2iDy5qpgIcCdfMl8diElRDlhnlzSu94911dvPaW1jAAk2o\
     872nCS1nz76IOO0jrWGugqOC7b4TaLyCjoxU4eoZJZYbqJ8WZUjIDRZQabP_W3BtodUKlFi9lip68RB6YqPNC\
     JQ";

fn base64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// An issuer's key pair.
enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
}

impl Pair {
    fn ed25519(seed: u8) -> Self {
        Self::Ed25519(Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap())
    }

    fn p256() -> Self {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random).unwrap())
    }

    fn public(&self, id: &str) -> Value {
        match self {
            Self::Ed25519(pair) => json!({"kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig",
                "x": base64(pair.public_key())}),
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "kid": id, "alg": "ES256",
                    "x": base64(&point[1..33]), "y": base64(&point[33..])})
            }
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Ed25519(_) => "EdDSA",
            Self::P256(_) => "ES256",
        }
    }

    fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", base64(header.to_string()), base64(claims.to_string()));
        let signature = match self {
            Self::Ed25519(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
            Self::P256(pair) => {
                pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec()
            }
        };
        format!("{signed}.{}", base64(signature))
    }

    /// A token as the issuer makes them.
    fn token(&self, id: &str, changes: &[(&str, Value)]) -> String {
        let header = json!({"alg": self.algorithm(), "kid": id, "typ": "at+jwt"});
        self.sign(&header, &claims(changes))
    }
}

fn claims(changes: &[(&str, Value)]) -> Value {
    let now = seconds(crate::support::NOW);
    let usual = json!({"iss": ISSUER, "aud": "demo", "sub": "buyer-1", "exp": now + 3_600,
        "nbf": now, "scope": "openid dealer:read"});
    with(usual, changes)
}

fn rsa() -> Value {
    json!({"kty": "RSA", "kid": "rsa-1", "alg": "RS256", "e": "AQAB", "n": RSA_MODULUS})
}

fn tokens(keys: KeySource) -> impl FnOnce(&mut Config) {
    move |config| {
        let issuer = ISSUER.to_owned();
        let audience = "demo".to_owned();
        let jwt = JwtSettings { issuer, audience, keys, scope_claim: Some("scope".to_owned()) };
        config.dealers[0].auth = AuthSettings {
            required: true,
            api_keys: true,
            jwt: Some(jwt),
            ..AuthSettings::default()
        };
    }
}

/// A dealer that trusts keys from a file.
fn trusting(folder: &tempfile::TempDir, keys: &[Value]) -> TestServer {
    let path = folder.path().join("keys.json");
    std::fs::write(&path, json!({"keys": keys}).to_string()).unwrap();
    start_with(tokens(KeySource::File(path)))
}

/// Whether a token is let in; failures must not count as too many.
fn status(server: &TestServer, token: &str) -> u16 {
    server.advance(SignedDuration::from_millis(6_000));
    bearer(server, token, &question()).status
}

#[test]
fn tokens_of_every_algorithm_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let edwards = Pair::ed25519(1);
    let curve = Pair::p256();
    let server = trusting(&folder, &[rsa(), edwards.public("ed-1"), curve.public("ec-1")]);
    for token in [&edwards.token("ed-1", &[]), &curve.token("ec-1", &[]), RSA_TOKEN] {
        let answer = bearer(&server, token, &question());
        assert_eq!(receipt(&answer)["name"], "Demo Auto Group");
        // Something else was signed.
        let (head, signature) = token.rsplit_once('.').unwrap();
        let (header, _) = head.split_once('.').unwrap();
        let others = base64(claims(&[("/sub", json!("somebody-else"))]).to_string());
        assert_eq!(status(&server, &format!("{header}.{others}.{signature}")), 401);
    }
    let writer = edwards.token("ed-1", &[("/scope", json!(["lead:write"]))]);
    assert_eq!(receipt(&bearer(&server, &writer, &lead()))["status"], "received");
    assert_eq!(server.store.leads(None).unwrap()[0].submission.principal, "jwt:buyer-1");
}

#[test]
fn claims_are_checked_with_a_minute_of_leeway() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::ed25519(1);
    let server = trusting(&folder, &[pair.public("k")]);
    let now = seconds(crate::support::NOW);
    let later = now + 1_000_000;
    let cases = [
        (200, "/aud", json!(["other", "demo"])),
        (200, "/nbf", Value::Null),
        (200, "/exp", json!(later as f64 + 0.5)),
        (401, "/iss", json!("https://login.example/")),
        (401, "/iss", Value::Null),
        (401, "/aud", json!("other")),
        (401, "/aud", json!([])),
        (401, "/aud", Value::Null),
        (401, "/exp", json!(now - 61)),
        (401, "/exp", json!("soon")),
        (401, "/exp", Value::Null),
        (401, "/nbf", json!(later)),
        (401, "/nbf", json!("then")),
        (401, "/sub", json!("")),
        (401, "/sub", Value::Null),
        (401, "/sub", json!("x".repeat(256))),
        (403, "/scope", json!("lead:write")),
        (403, "/scope", json!("dealer:reader")),
        (403, "/scope", Value::Null),
    ];
    for (expected, pointer, value) in cases {
        let token = pair.token("k", &[(pointer, value.clone())]);
        assert_eq!(status(&server, &token), expected, "{pointer} {value}");
    }
    // Everything but the end looks alike; the end is told, so that the caller fetches a new one.
    let server = trusting(&folder, &[pair.public("k")]);
    let expiring = pair.token("k", &[("/exp", json!(now + 1))]);
    server.advance(SignedDuration::from_secs(60));
    assert_eq!(bearer(&server, &expiring, &question()).status, 200);
    server.advance(SignedDuration::from_secs(1));
    let expired = bearer(&server, &expiring, &question());
    let message = expired.json()["error"]["message"].clone();
    assert_eq!(message, "the credential has expired; get a new one");
    let early = pair.token("k", &[("/nbf", json!(now + 3_000))]);
    let foreign = pair.token("k", &[("/aud", json!("other"))]);
    let refused = bearer(&server, &early, &question());
    assert_eq!(whole(&refused), whole(&bearer(&server, &foreign, &question())));
    assert_eq!(whole(&refused), whole(&bearer(&server, "tp_1_2", &question())));
}

#[test]
fn no_token_chooses_how_it_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let pair = Pair::ed25519(1);
    let unknown_signer = Pair::ed25519(2);
    let curve = Pair::p256();
    let server = trusting(&folder, &[pair.public("k"), curve.public("c")]);
    let usual = claims(&[]);
    let headers = [
        json!({"alg": "none"}),
        json!({"alg": "HS256", "kid": "k"}),
        json!({"alg": "ES256", "kid": "k"}),
        json!({"alg": "RS256", "kid": "k"}),
        json!({"alg": "EdDSA", "kid": "unknown"}),
        json!({"alg": "EdDSA", "kid": "c"}),
        json!({"alg": "EdDSA", "kid": 1}),
        json!({"alg": "EdDSA", "kid": "k", "crit": ["exp"]}),
        json!({"kid": "k"}),
        json!([]),
    ];
    for header in &headers {
        assert_eq!(status(&server, &pair.sign(header, &usual)), 401, "{header}");
    }
    assert_eq!(status(&server, &unknown_signer.token("k", &[])), 401, "another key");
    // The key that a token brings along counts for nothing.
    let own = json!({"alg": "EdDSA", "jwk": unknown_signer.public("k")});
    assert_eq!(status(&server, &unknown_signer.sign(&own, &usual)), 401);
    let good = pair.token("k", &[]);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let long = format!("{good}{}", "A".repeat(17 * 1024));
    for broken in [&format!("{signed}."), signed, &format!("{good}=="), "a.b.c", "...", &long] {
        assert_eq!(status(&server, broken), 401);
    }
    let unnamed = pair.sign(&json!({"alg": "EdDSA"}), &usual);
    assert_eq!(status(&server, &unnamed), 200, "without a name every key is tried");
    assert_eq!(ask(&server, &format!("bearer {good}"), &question()).status, 200);
}

#[test]
fn a_changed_file_is_read_again_and_a_broken_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let old = Pair::ed25519(1);
    let new = Pair::ed25519(2);
    let server = trusting(&folder, &[old.public("old")]);
    assert_eq!(status(&server, &old.token("old", &[])), 200);
    std::fs::write(&path, "{").unwrap();
    assert_eq!(status(&server, &old.token("old", &[])), 200);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(status(&server, &old.token("old", &[])), 200);
    std::fs::write(&path, json!({"keys": [new.public("newer")]}).to_string()).unwrap();
    assert_eq!(status(&server, &new.token("newer", &[])), 200);
    assert_eq!(status(&server, &old.token("old", &[])), 401, "a withdrawn key is withdrawn");
}

#[test]
fn a_file_without_usable_keys_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let source = KeySource::File(path.clone());
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let means = wiring::means(&store, &Clock::system());
    let open = |source: &KeySource| IssuerKeys::open(source, &means);
    assert!(open(&source).is_err(), "there is no file");
    let pair = Pair::ed25519(1);
    let usual = pair.public("k");
    let useless = [
        json!({"kty": "oct", "k": "c2VjcmV0"}),
        with(usual.clone(), &[("/use", json!("enc"))]),
        with(usual.clone(), &[("/alg", json!("ES256"))]),
        with(usual.clone(), &[("/crv", json!("X25519"))]),
        with(usual.clone(), &[("/x", json!("not base64!"))]),
        with(rsa(), &[("/alg", json!("RS512"))]),
        with(Pair::p256().public("c"), &[("/x", json!("AQAB"))]),
        json!("key"),
    ];
    for body in [json!({"keys": useless}), json!({"keys": {}}), json!([usual]), json!(1)] {
        std::fs::write(&path, body.to_string()).unwrap();
        assert!(open(&source).is_err(), "{body}");
    }
    let mixed: Vec<_> = useless.into_iter().chain([usual]).collect();
    std::fs::write(&path, json!({"keys": mixed}).to_string()).unwrap();
    assert!(open(&source).is_ok(), "unknown keys are left out (RFC 7517 §5)");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_header_breaks_the_authenticator_and_no_changed_token_passes(
        noise in any::<Vec<u8>>(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let (authenticator, now) = &*AUTHENTICATOR;
        let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let let_in = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert("authorization", value);
            }
            let address = [192, 0, 2, 1].into();
            executor.block_on(authenticator.authenticate(address, &headers, None, *now)).is_ok()
        };
        let good = format!("Bearer {RSA_TOKEN}").into_bytes();
        prop_assert!(let_in(&good));
        prop_assert!(!let_in(&noise));
        prop_assert!(!let_in(&[b"Bearer ", noise.as_slice()].concat()));
        // Beyond the scheme, whose case does not matter, every byte does.
        let mut changed = good.clone();
        let place = 7 + place.index(good.len() - 7);
        changed[place] = byte;
        prop_assert_eq!(let_in(&changed), byte == good[place], "{}", place);
    }
}

/// Trusts the issuer of [`RSA_TOKEN`].
static AUTHENTICATOR: LazyLock<(Authenticator, Timestamp)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, json!({"keys": [rsa()]}).to_string()).unwrap();
    let mut config = dealer::config();
    tokens(KeySource::File(path))(&mut config);
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let (clock, _) = Clock::manual(crate::support::at(crate::support::NOW));
    let now = clock.now();
    let means = wiring::means(&store, &clock);
    {
        let dealer = &config.dealers[0];
        (Authenticator::open(&dealer.terms.id, dealer.auth.clone(), &means).unwrap(), now)
    }
});

/// An issuer on the web, which counts how often it is asked.
struct Issuer {
    url: String,
    body: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
        let body = Arc::new(Mutex::new(None::<String>));
        let asked = Arc::new(AtomicUsize::new(0));
        let shown = Arc::clone(&body);
        let counter = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                counter.fetch_add(1, Ordering::SeqCst);
                let (status, body) = match shown.lock().unwrap().clone() {
                    Some(body) => ("200 OK", body),
                    None => ("503 Service Unavailable", String::new()),
                };
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
                );
            }
        });
        Self { url, body, asked }
    }

    fn publish(&self, keys: &[Value]) {
        *self.body.lock().unwrap() = Some(json!({"keys": keys}).to_string());
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[test]
fn web_keys_are_kept_and_unknown_ones_asked_for_rarely() {
    let issuer = Issuer::start();
    let old = Pair::ed25519(1);
    let new = Pair::ed25519(2);
    let server = start_with(tokens(KeySource::Url(issuer.url.clone())));
    let forever = [("/exp", json!(seconds(crate::support::NOW) + 1_000_000))];
    let first = old.token("old", &forever);
    let second = new.token("new", &forever);
    let ask = |token: &str| bearer(&server, token, &question());

    // While the issuer cannot be reached nobody can tell, and it is not the caller's fault.
    assert_eq!(ask(&first).json()["error"]["data"]["code"], "INTERNAL_ERROR");
    assert_eq!(ask(&first).json()["error"]["data"]["retryable"], true);
    assert_eq!(issuer.asked(), 1, "nobody hammers an issuer that is down");
    issuer.publish(&[old.public("old")]);
    server.advance(SignedDuration::from_secs(30));
    for _ in 0..5 {
        assert_eq!(ask(&first).status, 200);
    }
    assert_eq!(issuer.asked(), 2);

    // Rotation: the new key is found at once, if the issuer was not asked just now.
    issuer.publish(&[old.public("old"), new.public("new")]);
    assert_eq!(ask(&second).status, 401);
    assert_eq!(issuer.asked(), 2);
    server.advance(SignedDuration::from_secs(30));
    assert_eq!(ask(&second).status, 200);
    assert_eq!(issuer.asked(), 3);
    for number in 0..5 {
        assert_eq!(ask(&new.token(&format!("made-up-{number}"), &forever)).status, 401);
    }
    assert_eq!(issuer.asked(), 3);

    // A withdrawn key is gone within the hour.
    issuer.publish(&[new.public("new")]);
    server.advance(SignedDuration::from_mins(59));
    assert_eq!(ask(&first).status, 200);
    server.advance(SignedDuration::from_mins(1));
    assert_eq!(ask(&first).status, 401);
    assert_eq!(issuer.asked(), 4);
}

#[test]
fn a_clock_briefly_ahead_does_not_stop_fetching_keys() {
    let issuer = Issuer::start();
    let pair = Pair::ed25519(1);
    let server = start_with(tokens(KeySource::Url(issuer.url.clone())));
    let forever = [("/exp", json!(seconds(crate::support::NOW) + 1_000_000))];
    let token = pair.token("key", &forever);
    server.hand.set(SignedDuration::from_hours(24));
    assert_eq!(
        bearer(&server, &token, &question()).json()["error"]["data"]["code"],
        "INTERNAL_ERROR"
    );
    server.hand.set(SignedDuration::from_hours(-24));
    issuer.publish(&[pair.public("key")]);
    server.advance(SignedDuration::from_secs(30));
    assert_eq!(bearer(&server, &token, &question()).status, 200);
    assert_eq!(issuer.asked(), 2);
}

#[test]
fn the_card_names_the_issuer() {
    let folder = tempfile::tempdir().unwrap();
    let card = trusting(&folder, &[rsa()]).card().json();
    let scheme = card.pointer("/securitySchemes/jwt/httpAuthSecurityScheme").unwrap();
    assert_eq!((&scheme["scheme"], &scheme["bearerFormat"]), (&json!("Bearer"), &json!("JWT")));
    assert!(scheme["description"].as_str().unwrap().contains(ISSUER));
    let alternatives = json!([
        {"schemes": {"apiKey": {"list": []}}}, {"schemes": {"jwt": {"list": []}}},
    ]);
    assert_eq!(card["securityRequirements"], alternatives);
}
