use axum::http::{HeaderMap, HeaderName, Method};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use tradepost_document::json::json;

use super::*;
use tradepost_keys::sha256;

const NOW: i64 = 1_777_550_400;

/// Verifies the signature of RFC 9421 appendix B.2.6 on its request.
#[test]
fn the_published_example_is_verified() {
    let headers = map(&[
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("content-type", "application/json"),
        ("content-length", "18"),
        (
            "content-digest",
            "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:",
        ),
    ]);
    let fields = fields(&headers);
    let target = TargetUri::read("https://example.com/foo?param=Value&Pet=dog").unwrap();
    let message = SignableRequest { method: "POST", target: &target, fields: &fields };
    assert!(digest_matches(&message, br#"{"hello": "world"}"#), "RFC 9530");
    assert!(!digest_matches(&message, br#"{"hello": "World"}"#), "RFC 9530");
    let text = r#"("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519""#;
    let key = json!({"kty": "OKP", "crv": "Ed25519", "kid": "test-key-ed25519",
        "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"});
    let keys = WebhookKeys::read(&key).unwrap();
    let base = message.base(&SignatureInput::read(text).unwrap()).unwrap();
    let signature =
        "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    let signature = STANDARD.decode(signature).unwrap();
    let (_, key) = &keys.0[0];
    assert!(key.verifies(base.as_bytes(), &signature));
}

fn map(headers: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    map
}

/// Sender with a key of each type.
struct Sender {
    ed25519: Ed25519KeyPair,
    p256: EcdsaKeyPair,
}

/// Variations of a signed request.
struct Signed<'a> {
    kid: &'a str,
    components: &'a str,
    terms: String,
    sent_body: &'a str,
    content_type: &'a str,
}

const COMPONENTS: &str = r#""@method" "@target-uri" "content-type" "content-digest""#;
const BODY: &str = "{}";

fn usual() -> Signed<'static> {
    Signed {
        kid: "ed",
        components: COMPONENTS,
        terms: format!(r#";created={NOW};expires={};nonce="n";keyid="ed""#, NOW + 60),
        sent_body: BODY,
        content_type: "application/a2a+json",
    }
}

impl Sender {
    fn new() -> Self {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        let p256 = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap();
        Self { ed25519: Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap(), p256 }
    }

    fn keys(&self) -> WebhookKeys {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let point = self.p256.public_key().as_ref();
        let ed25519 = encode(self.ed25519.public_key().as_ref());
        WebhookKeys::read(&json!({"keys": [
            {"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": ed25519},
            {"kty": "EC", "crv": "P-256", "kid": "ec", "x": encode(&point[1..33]), "y": encode(&point[33..])},
            {"kty": "RSA", "kid": "rsa", "n": "AQAB", "e": "AQAB"},
        ]}))
        .unwrap()
    }

    /// Signs as `signed` says and sends; returns true when the signature is accepted.
    fn sends(&self, signed: &Signed<'_>, tag: Option<&str>) -> bool {
        let url = Uri::from_static("https://buyer.example/hook");
        let signatures =
            Signatures { keys: self.keys(), url: Some(url), tag: tag.map(str::to_owned) };
        let digest = format!("sha-256=:{}:", STANDARD.encode(sha256(BODY.as_bytes())));
        let input = format!("({}){}", signed.components, signed.terms);
        let mut base = String::new();
        for name in signed.components.split(' ') {
            let value = match name.trim_matches('"') {
                "@method" => "POST",
                "@target-uri" => "https://buyer.example/hook",
                "@authority" => "buyer.example",
                "@path" => "/hook",
                "content-type" => "application/a2a+json",
                "content-digest" => &digest,
                other => panic!("{other}"),
            };
            base.push_str(&format!("{name}: {value}\n"));
        }
        base.push_str(&format!("\"@signature-params\": {input}"));
        let signature = match signed.kid {
            "ec" => {
                self.p256.sign(&SystemRandom::new(), base.as_bytes()).unwrap().as_ref().to_vec()
            }
            _ => self.ed25519.sign(base.as_bytes()).as_ref().to_vec(),
        };
        let headers = map(&[
            ("host", "127.0.0.1:1"),
            ("content-type", signed.content_type),
            ("content-digest", &digest),
            ("signature-input", &format!("sig1={input}")),
            ("signature", &format!("sig1=:{}:", STANDARD.encode(signature))),
        ]);
        let uri = Uri::from_static("/inside/another/path");
        let body = signed.sent_body.as_bytes();
        let envelope =
            DeliveryEnvelope { method: &Method::POST, uri: &uri, headers: &headers, body };
        signatures.verify(&envelope, Timestamp::from_second(NOW).unwrap()).is_some()
    }
}

#[test]
fn signatures_count_when_they_cover_enough_and_are_valid() {
    let sender = Sender::new();
    assert!(sender.sends(&usual(), None));
    let ec = format!(r#";created={NOW};nonce="n";keyid="ec";alg="ecdsa-p256-sha256""#);
    assert!(sender.sends(&Signed { kid: "ec", terms: ec, ..usual() }, None));
    let parts = r#""@method" "@authority" "@path" "content-type" "content-digest""#;
    assert!(sender.sends(&Signed { components: parts, ..usual() }, None));
    for components in [
        r#""@target-uri" "content-type" "content-digest""#,
        r#""@method" "content-type" "content-digest""#,
        r#""@method" "@authority" "content-type" "content-digest""#,
        r#""@method" "@target-uri" "content-digest""#,
        r#""@method" "@target-uri" "content-type""#,
        r#""@method" "@target-uri" "content-type" "content-digest" "@method""#,
    ] {
        assert!(!sender.sends(&Signed { components, ..usual() }, None), "{components}");
    }
    for (terms, expected) in [
        (format!(r#";created={};nonce="n";keyid="ed""#, NOW - 300), true),
        (format!(r#";created={};nonce="n";keyid="ed""#, NOW - 301), false),
        (format!(r#";created={};nonce="n";keyid="ed""#, NOW + 60), true),
        (format!(r#";created={};nonce="n";keyid="ed""#, NOW + 61), false),
        (format!(r#";created={};expires={NOW};nonce="n";keyid="ed""#, NOW - 60), false),
        (format!(r#";created={NOW};keyid="ed""#), false),
        (format!(r#";created={NOW};nonce="";keyid="ed""#), false),
        (format!(r#";created={NOW};nonce="{}";keyid="ed""#, "n".repeat(129)), false),
        (format!(r#";created={NOW};nonce="n""#), false),
        (r#";nonce="n";keyid="ed""#.to_owned(), false),
        (format!(r#";created={NOW};nonce="n";keyid="ec""#), false),
        (format!(r#";created={NOW};nonce="n";keyid="other""#), false),
        (format!(r#";created={NOW};nonce="n";keyid="ed";alg="hmac-sha256""#), false),
        (format!(r#";created={NOW};nonce="n";keyid="ed";alg="ed25519""#), true),
        (format!(r#"; created={NOW};nonce="n";keyid="ed""#), false),
        (format!(r#";created="{NOW}";nonce="n";keyid="ed""#), false),
        (format!(r#";created={NOW};nonce="n";keyid="ed";new=1"#), false),
    ] {
        let signed = Signed { terms: terms.clone(), ..usual() };
        assert_eq!(sender.sends(&signed, None), expected, "{terms}");
    }
    assert!(!sender.sends(&Signed { sent_body: "{ }", ..usual() }, None), "another body");
    assert!(!sender.sends(&Signed { content_type: "application/json", ..usual() }, None));
}

#[test]
fn a_tag_is_required_where_one_is_named() {
    let sender = Sender::new();
    let tagged = |tag: &str| format!(r#";created={NOW};nonce="n";keyid="ed"{tag}"#);
    for (tag, expected) in [(r#";tag="ours""#, true), (r#";tag="Ours""#, false), ("", false)] {
        let signed = Signed { terms: tagged(tag), ..usual() };
        assert_eq!(sender.sends(&signed, Some("ours")), expected, "{tag}");
    }
}

#[test]
fn key_sets_with_mistakes_are_refused() {
    let ed =
        json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": URL_SAFE_NO_PAD.encode([1; 32])});
    for (document, expected) in [
        (ed.clone(), true),
        (json!({"keys": [ed]}), true),
        (json!({"keys": [ed, ed]}), false),
        (json!({"keys": []}), false),
        (json!({"keys": 5}), false),
        (json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": "AQAB"}), false),
        (json!({"kty": "OKP", "crv": "Ed25519", "x": ed["x"]}), false),
        (json!({"kty": "RSA", "kid": "k"}), false),
        (json!(null), false),
    ] {
        assert_eq!(WebhookKeys::read(&document).is_ok(), expected, "{document}");
    }
}
