use tradepost_document::json::json;

use super::*;
use crate::{PublicKey, generate};

const NOW: i64 = 1_777_550_400;
const NONCE: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const ALL: &str = r#""@method" "@target-uri" "@authority" "content-type" "content-digest""#;

/// Returns the result of verifying a request with these parameters.
fn verdict(components: &str, terms: &str, policy: DigestRule, content_type: &str) -> String {
    let target = TargetUri::read("https://seller.example/mcp").unwrap();
    let input = format!("sig1=({components}){terms}");
    let digest = http_signature::content_digest(&[7; 32]);
    let fields = [
        ("content-type", content_type),
        ("content-digest", &digest),
        ("signature-input", &input),
        ("signature", "sig1=:AQ:"),
    ];
    let message = SignableRequest { method: "POST", target: &target, fields: &fields };
    let now = Timestamp::from_second(NOW).unwrap();
    match AcceptedSignature::from_message(&message, SignedKind::Request, policy, true, now) {
        Ok(claim) => format!("claims {}", claim.unwrap().keyid),
        Err(fault) => fault.code(SignedKind::Request),
    }
}

fn terms(created: i64, expires: i64) -> String {
    format!(
        r#";created={created};expires={expires};nonce="{NONCE}";keyid="k";alg="ed25519";tag="adcp/request-signing/v1""#
    )
}

#[test]
fn a_claim_is_looked_at_in_the_published_order() {
    let usual = terms(NOW, NOW + 300);
    let json = "application/json";
    let without = |what: &str| {
        let kept = usual.split(';').filter(|term| !term.starts_with(what)).collect::<Vec<_>>();
        kept.join(";")
    };
    let with = |from: &str, to: &str| usual.replace(from, to);
    for (terms, code) in [
        (usual.clone(), "claims k"),
        (without("created"), "request_signature_params_incomplete"),
        (without("expires"), "request_signature_params_incomplete"),
        (without("nonce"), "request_signature_params_incomplete"),
        (without("keyid"), "request_signature_params_incomplete"),
        (without("alg"), "request_signature_params_incomplete"),
        (without("tag"), "request_signature_params_incomplete"),
        (with("request-signing/v1", "webhook-signing/v1"), "request_signature_tag_invalid"),
        (with("request-signing/v1", "Request-signing/v1"), "request_signature_tag_invalid"),
        (with("ed25519", "rsa-pss-sha512"), "request_signature_alg_not_allowed"),
        (with(NONCE, "AAAAAAAAAAAAAAAAAAAA"), "request_signature_header_malformed"),
        (with(NONCE, "AAAAAAAAAAAAAAAAAAAAAA=="), "request_signature_header_malformed"),
        (with(r#"keyid="k""#, "keyid=k"), "request_signature_header_malformed"),
        (with(";tag", ";tag=\"a\";tag"), "request_signature_header_malformed"),
    ] {
        assert_eq!(verdict(ALL, &terms, DigestRule::Either, json), code, "{terms}");
    }
    for (components, policy, code) in [
        (r#""@target-uri" "@authority" "content-type""#, DigestRule::Either, "incomplete"),
        (r#""@method" "@authority" "content-type""#, DigestRule::Either, "incomplete"),
        (r#""@method" "@target-uri" "content-type""#, DigestRule::Either, "incomplete"),
        (r#""@method" "@target-uri" "@authority""#, DigestRule::Either, "incomplete"),
        (r#""@method" "@target-uri" "@authority" "content-type""#, DigestRule::Either, "claims k"),
        (
            r#""@method" "@target-uri" "@authority" "content-type""#,
            DigestRule::Forbidden,
            "claims k",
        ),
        (
            r#""@method" "@target-uri" "@authority" "content-type""#,
            DigestRule::Required,
            "incomplete",
        ),
        (ALL, DigestRule::Required, "claims k"),
        (ALL, DigestRule::Forbidden, "unexpected"),
    ] {
        let verdict = verdict(components, &usual, policy, json);
        assert!(verdict.ends_with(code), "{components} {policy:?}: {verdict}");
    }
    let listed = verdict(ALL, &usual, DigestRule::Either, "application/json, text/plain");
    assert_eq!(listed, "request_signature_header_malformed");
    let quoted = verdict(ALL, &usual, DigestRule::Either, r#"application/json; a="b, c""#);
    assert_eq!(quoted, "claims k");
}

#[test]
fn a_signature_holds_five_minutes_and_clocks_may_differ() {
    for (created, expires, holds) in [
        (0, 300, true),
        (0, 301, false),
        (0, 0, false),
        (0, -1, false),
        (60, 300, true),
        (61, 300, false),
        (-300, -60, true),
        (-300, -61, false),
    ] {
        let verdict = verdict(ALL, &terms(NOW + created, NOW + expires), DigestRule::Either, "a/b");
        let expected = if holds { "claims k" } else { "request_signature_window_invalid" };
        assert_eq!(verdict, expected, "{created} {expires}");
    }
}

#[test]
fn a_key_signs_only_what_all_its_members_permit() {
    let good = json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
        "key_ops": ["verify"], "adcp_use": "request-signing", "x": "…"});
    let with = |name: &str, value: Value| {
        let mut key = good.clone();
        key[name] = value;
        key
    };
    let both = |key: &Value, algorithm| {
        [SignedKind::Request, SignedKind::Webhook].map(|s| purpose(key, s, algorithm).is_ok())
    };
    let ed = Algorithm::EdDsa;
    assert_eq!(both(&good, ed), [true, true]);
    assert_eq!(both(&with("adcp_use", json!("webhook-signing")), ed), [false, true]);
    for (name, value) in [
        ("adcp_use", json!("governance-signing")),
        ("adcp_use", json!(null)),
        ("use", json!("enc")),
        ("key_ops", json!(["sign"])),
        ("key_ops", json!("verify")),
        ("alg", json!("ES256")),
        ("crv", json!("P-256")),
        ("kty", json!("EC")),
    ] {
        assert_eq!(both(&with(name, value.clone()), ed), [false, false], "{name} {value}");
    }
    assert_eq!(both(&good, Algorithm::Es256), [false, false], "it signs in another way");
}

#[test]
fn the_body_is_the_one_that_is_covered() {
    let target = TargetUri::read("https://seller.example/mcp").unwrap();
    let now = Timestamp::from_second(NOW).unwrap();
    let says = |digest: &str| {
        let input = format!("sig1=({ALL}){}", terms(NOW, NOW + 60));
        let fields = [
            ("content-type", "application/json"),
            ("content-digest", digest),
            ("signature-input", &input),
            ("signature", "sig1=:AQ:"),
        ];
        let fields: Vec<_> = fields.into_iter().filter(|(_, value)| !value.is_empty()).collect();
        let message = SignableRequest { method: "POST", target: &target, fields: &fields };
        let kind = SignedKind::Request;
        let claim = AcceptedSignature::from_message(&message, kind, DigestRule::Either, true, now)?;
        claim.unwrap().body(&message, b"{}")
    };
    let right = http_signature::content_digest(&sha256(b"{}"));
    assert_eq!(says(&right), Ok(()));
    assert_eq!(says(&format!("sha-512=:AQ:, {right}")), Ok(()));
    assert_eq!(
        says(&http_signature::content_digest(&[8; 32])),
        Err(SignatureError::DigestMismatch)
    );
    assert_eq!(
        says("sha-512=:AQ:"),
        Err(SignatureError::DigestMismatch),
        "one that we know is needed"
    );
    assert_eq!(says(""), Err(SignatureError::DigestMismatch));
    assert_eq!(says(&format!("{right}, {right}")), Err(SignatureError::HeaderMalformed));
    assert_eq!(says("sha-256"), Err(SignatureError::HeaderMalformed));
}

#[test]
fn what_we_sign_is_what_the_profile_demands() {
    const URL: &str = "https://buyer.example/hook";
    let now = Timestamp::from_second(NOW).unwrap();
    let key = SigningKey::read(&generate(Algorithm::Es256).unwrap(), Some("k")).unwrap();
    let post = PostToSign {
        surface: SignedKind::Webhook,
        url: URL,
        content_type: "application/json",
        body: b"{}",
        covers_body: true,
    };
    let signed = post.sign(&key, &[255; 16], now).unwrap();
    let lines = signed.iter().map(|(name, value)| (*name, value.as_str()));
    let fields: Vec<_> = lines.chain([("content-type", "application/json")]).collect();
    let target = TargetUri::read(URL).unwrap();
    let message = SignableRequest { method: "POST", target: &target, fields: &fields };
    let bytes = message.field("signature").unwrap().unwrap();
    let bytes = bytes.strip_prefix("sig1=").unwrap();
    assert!(!bytes.contains(['+', '/', '=']), "{bytes}");
    let kind = SignedKind::Webhook;
    let claim = AcceptedSignature::from_message(&message, kind, DigestRule::Required, true, now);
    let claim = claim.unwrap().unwrap();
    assert_eq!((claim.keyid.as_str(), claim.algorithm), ("k", Algorithm::Es256));
    assert_eq!(claim.remembered_until(), Timestamp::from_second(NOW + 361).unwrap());
    assert_eq!(claim.body(&message, b"{}"), Ok(()));
    let public = PublicKey::read(&key.public_jwk()).unwrap().unwrap();
    let base = message.base(&claim.input).unwrap();
    assert!(public.verifies(base.as_bytes(), &claim.signature));
    let nowhere = PostToSign { url: "/hook", ..post };
    let shape = Err(SignError::Target(TargetUriError::Shape));
    assert_eq!(nowhere.sign(&key, &[255; 16], now), shape);
    let script = PostToSign { content_type: "text/\u{fc}", ..post };
    assert!(matches!(script.sign(&key, &[255; 16], now), Err(SignError::Header(_))));
    assert_ne!(nonce().unwrap(), nonce().unwrap());
}
