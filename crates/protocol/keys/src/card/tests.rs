use proptest::prelude::*;

use super::*;
use crate::keyset::PublicKey;
use crate::private::{KeyError, generate};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn describe(problems: &Problems) -> Vec<String> {
    let listed = problems.listed().iter().map(|problem| {
        let place =
            if problem.pointer.is_empty() { "the document" } else { problem.pointer.as_str() };
        format!("{place}: {}", problem.message)
    });
    listed.collect()
}

fn key(algorithm: Algorithm, kid: &str) -> SigningKey {
    SigningKey::read(&generate(algorithm).unwrap(), Some(kid)).unwrap()
}

fn key_set(keys: &[&SigningKey]) -> KeySet {
    let keys: Vec<_> = keys.iter().map(|key| key.public_jwk()).collect();
    KeySet::read(&json!({"keys": keys}).to_string()).unwrap()
}

fn card() -> Value {
    json!({
        "name": "A", "description": "", "version": "1.0", "iconUrl": "",
        "supportedInterfaces": [
            {"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": false, "extensions": [
            {"uri": "u", "description": "d", "required": true, "params": {"n": 1.5, "x": [null, ""]}}]},
        "defaultInputModes": ["a/b"], "defaultOutputModes": [],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"]}],
        "x-new": {"a": 0},
    })
}

fn with_signatures(mut card: Value, signatures: Vec<Value>) -> Value {
    card.as_object_mut().unwrap().insert("signatures".to_owned(), signatures.into());
    card
}

fn signed_by(keys: &[&SigningKey]) -> Value {
    let card = card();
    let signatures = keys.iter().map(|key| sign(&card, key, None).unwrap()).collect();
    with_signatures(card, signatures)
}

fn verdicts_at(card: &Value, keys: &KeySet, now: Timestamp) -> Vec<CardVerdict> {
    let signed = SignedCard::read(card).unwrap();
    signed.signatures.iter().map(|signature| signed.verdict(signature, keys, now)).collect()
}

fn verdicts(card: &Value, keys: &KeySet) -> Vec<CardVerdict> {
    verdicts_at(card, keys, NOW)
}

/// Makes a signature with this protected header.
fn with_header(key: &SigningKey, header: &str) -> Value {
    let protected = encode(header);
    let payload = encode(signing_payload(&card()).unwrap());
    let signature = encode(key.sign(format!("{protected}.{payload}").as_bytes()).unwrap());
    json!({"protected": protected, "signature": signature})
}

/// Returns every pointer of a value except the root.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    let mut visit = |name: &str, child: &Value| {
        let at = format!("{at}/{name}");
        out.push(at.clone());
        pointers(child, &at, out);
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, item)| visit(&n.to_string(), item));
        }
        Value::Object(members) => members.iter().for_each(|(name, member)| visit(name, member)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_published_vectors_verify_and_their_keys_are_read() {
    // RFC 7515 A.3, RFC 8037 A.1 to A.4.
    for (jwk, thumbprint, message, signature) in [
        (
            r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
                "d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#,
            None,
            "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
        ),
        (
            r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
                "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            Some("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"),
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ] {
        let signer = SigningKey::read(jwk, None).unwrap();
        if let Some(thumbprint) = thumbprint {
            assert_eq!(signer.kid(), thumbprint);
            assert_eq!(encode(signer.sign(message.as_bytes()).unwrap()), signature);
        }
        let public = PublicKey::read(&signer.public_jwk()).unwrap().unwrap();
        assert!(public.verifies(message.as_bytes(), &decode(signature).unwrap()));
        assert!(!public.verifies(&message.as_bytes()[1..], &decode(signature).unwrap()));
        let own = signer.sign(message.as_bytes()).unwrap();
        assert!(public.verifies(message.as_bytes(), &own));
    }
}

#[test]
fn what_is_signed_verifies_whatever_its_order_and_spelling() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let key = key(algorithm, "k");
        let card = signed_by(&[&key]);
        let keys = key_set(&[&key]);
        assert_eq!(verdicts(&card, &keys), [CardVerdict::Valid], "{algorithm:?}");
        let members = card.as_object().unwrap().clone();
        let reversed: Value = Value::Object(members.into_iter().rev().collect());
        assert_eq!(verdicts(&reversed, &keys), [CardVerdict::Valid]);
        let text = reversed.to_string().replace("1.5", "15.0e-1").replace("\"A\"", "\"\\u0041\"");
        assert_ne!(text, reversed.to_string());
        assert_eq!(verdicts(&json::read(&text).unwrap(), &keys), [CardVerdict::Valid]);
        // A card that was parsed and written again still has everything that was signed.
        let text = card.to_string().replace("\"version\"", "\"provider\":null,\"version\"");
        assert_eq!(verdicts(&json::read(&text).unwrap(), &keys), [CardVerdict::Valid]);
    }
}

#[test]
fn an_optional_member_that_appears_or_vanishes_is_noticed() {
    let key = key(Algorithm::EdDsa, "k");
    let card = signed_by(&[&key]);
    let keys = key_set(&[&key]);
    for (pointer, name, value) in
        [("", "documentationUrl", json!("")), ("/capabilities", "pushNotifications", json!(false))]
    {
        let mut changed = card.clone();
        let parent = changed.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        parent.insert(name.to_owned(), value);
        assert!(matches!(verdicts(&changed, &keys)[..], [CardVerdict::Invalid(_)]), "{name}");
    }
    let mut changed = card;
    changed.as_object_mut().unwrap().shift_remove("iconUrl").unwrap();
    assert!(matches!(verdicts(&changed, &keys)[..], [CardVerdict::Invalid(_)]));
}

#[test]
fn a_change_anywhere_in_the_card_is_noticed() {
    let key = key(Algorithm::EdDsa, "k");
    let card = signed_by(&[&key]);
    let keys = key_set(&[&key]);
    let mut all = Vec::new();
    pointers(&self::card(), "", &mut all);
    assert!(all.len() > 30, "{}", all.len());
    for pointer in all {
        let mut changed = card.clone();
        *changed.pointer_mut(&pointer).unwrap() = json!("tampered");
        let found = verdicts(&changed, &keys);
        assert!(matches!(found[..], [CardVerdict::Invalid(_)]), "{pointer}: {found:?}");
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let mut changed = card.clone();
        match changed.pointer_mut(parent).unwrap() {
            Value::Object(members) => {
                members.shift_remove(name).unwrap();
                members.insert(format!("{name}2"), json!(1));
            }
            Value::Array(items) => items.push(json!("more")),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => unreachable!(),
        }
        let found = verdicts(&changed, &keys);
        assert!(matches!(found[..], [CardVerdict::Invalid(_)]), "{pointer}: {found:?}");
    }
}

#[test]
fn several_signatures_are_judged_one_by_one() {
    let old = key(Algorithm::Es256, "old");
    let new = key(Algorithm::EdDsa, "new");
    let foreign = key(Algorithm::Es256, "x");
    let card = signed_by(&[&old, &new, &foreign]);
    let found = verdicts(&card, &key_set(&[&old, &new]));
    assert_eq!(found, [CardVerdict::Valid, CardVerdict::Valid, CardVerdict::UnknownKey]);
    assert!(is_trusted(&found));
    assert!(!is_trusted(&verdicts(&card, &KeySet::default())));
    assert!(!is_trusted(&[]));
    // A forged signature spoils the others.
    let impostor = key(Algorithm::Es256, "old");
    let found = verdicts(&signed_by(&[&new, &impostor]), &key_set(&[&old, &new]));
    assert_eq!(
        found,
        [CardVerdict::Valid, CardVerdict::Invalid("the signature does not match the card")]
    );
    assert!(!is_trusted(&found));
}

#[test]
fn two_keys_of_one_name_are_both_tried() {
    let one = key(Algorithm::Es256, "k");
    let other = key(Algorithm::Es256, "k");
    let third = key(Algorithm::EdDsa, "k");
    let keys = key_set(&[&one, &other, &third]);
    let card = signed_by(&[&one, &other, &third]);
    assert_eq!(verdicts(&card, &keys), [CardVerdict::Valid; 3]);
}

#[test]
fn headers_that_lie_are_caught() {
    let key = key(Algorithm::Es256, "k");
    let keys = key_set(&[&key]);
    let check = |entry: Value, expected: &str| {
        let found = verdicts(&with_signatures(card(), vec![entry.clone()]), &keys);
        let found = format!("{}: {}", found[0].name(), found[0].why());
        assert_eq!(found, expected, "{entry}");
    };
    let header = |header: &str| with_header(&key, header);
    check(header(r#"{"alg":"ES256","kid":"k"}"#), "valid: made by a trusted key, for this card");
    check(header(r#"{"alg":"none","kid":"k"}"#), "invalid: its alg is none: it is no signature");
    for alg in ["None", "HS256", "RS256", "ES256 ", "es256", "ES512", ""] {
        check(
            header(&format!(r#"{{"alg":"{alg}","kid":"k"}}"#)),
            "unsupported_algorithm: neither ES256 nor EdDSA",
        );
    }
    check(
        header(r#"{"alg":"EdDSA","kid":"k"}"#),
        "invalid: the key with this kid is for another algorithm",
    );
    check(header(r#"{"alg":"ES256","kid":"K"}"#), "unknown_key: no trusted key has this kid");
    check(header(r#"{"alg":"ES256","kid":""}"#), "unknown_key: no trusted key has this kid");
    check(header(r#"{"alg":"ES256"}"#), "invalid: its protected header names no kid");
    check(header(r#"{"alg":"ES256","kid":5}"#), "invalid: its protected header names no kid");
    check(header(r#"{"kid":"k"}"#), "invalid: its protected header names no alg");
    let not_json = "invalid: its protected header is not a JSON object in base64url";
    for text in ["", "[]", "{", r#"{"alg":"ES256","kid":"k","kid":"k"}"#] {
        check(header(text), not_json);
    }
    let crit = r#"{"alg":"ES256","kid":"k","crit":["b64"],"b64":false}"#;
    check(header(crit), "invalid: its header has extensions that must be understood and are not");
    let with = |name: &str, value: Value| {
        let mut entry = header(r#"{"alg":"ES256","kid":"k"}"#);
        entry.as_object_mut().unwrap().insert(name.to_owned(), value);
        entry
    };
    check(with("header", json!({"x": 1})), "valid: made by a trusted key, for this card");
    check(with("header", json!(null)), "valid: made by a trusted key, for this card");
    check(with("header", json!({"kid": "k"})), "invalid: its two headers have members in common");
    check(with("header", json!([])), "invalid: its unprotected header is not an object");
    check(with("signature", json!(5)), "invalid: its signature is not base64url");
    check(with("signature", json!("")), "invalid: the signature does not match the card");
    check(with("signature", json!("AAAA")), "invalid: the signature does not match the card");
    let zeros = encode([0; 64]);
    check(with("signature", json!(zeros)), "invalid: the signature does not match the card");
    check(with("protected", json!(null)), "invalid: it has no protected header");
    for entry in [json!(null), json!([]), json!("x"), json!({})] {
        check(entry, "invalid: it has no protected header");
    }
}

#[test]
fn a_signature_has_one_spelling() {
    let key = key(Algorithm::Es256, "k");
    let keys = key_set(&[&key]);
    let entry = sign(&card(), &key, None).unwrap();
    let text = entry["signature"].as_str().unwrap();
    // 64 bytes leave four bits of the last letter unused.
    let (start, last) = text.split_at(text.len() - 1);
    assert!("AQgw".contains(last));
    let other = ["B", "R", "h", "x"]["AQgw".find(last).unwrap()];
    for spelling in [format!("{start}{other}"), format!("{text}=="), format!("{text} ")] {
        let mut entry = entry.clone();
        entry.as_object_mut().unwrap().insert("signature".to_owned(), spelling.into());
        let found = verdicts(&with_signatures(card(), vec![entry]), &keys);
        assert_eq!(found, [CardVerdict::Invalid("its signature is not base64url")]);
    }
}

#[test]
fn keys_are_used_only_while_they_may_be() {
    let key = key(Algorithm::EdDsa, "k");
    let card = signed_by(&[&key]);
    let at = |second| Timestamp::from_second(second).unwrap();
    let check = |members: Value, second, expected: CardVerdict| {
        let mut jwk = key.public_jwk();
        jwk.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let keys = KeySet::read(&json!({"keys": [jwk]}).to_string()).unwrap();
        assert_eq!(verdicts_at(&card, &keys, at(second)), [expected], "{members} at {second}");
    };
    check(json!({"exp": 100, "nbf": 50}), 50, CardVerdict::Valid);
    check(json!({"exp": 100}), 99, CardVerdict::Valid);
    check(json!({"exp": 100}), 100, CardVerdict::UnusableKey("the key has expired"));
    check(json!({"nbf": 50}), 49, CardVerdict::UnusableKey("the key is not valid yet"));
    check(json!({"exp": 1e12}), 100, CardVerdict::Valid);
    let revoked = json!({"revoked": {"revoked_at": 1}});
    check(revoked, 100, CardVerdict::UnusableKey("the key is revoked"));
    check(json!({"use": "enc"}), 100, CardVerdict::UnknownKey);
    check(json!({"key_ops": ["sign"]}), 100, CardVerdict::UnknownKey);
    check(json!({"key_ops": ["verify"]}), 100, CardVerdict::Valid);
}

#[test]
fn mistaken_key_sets_are_refused_and_unused_kinds_passed_over() {
    let problems = |text: &str| describe(&KeySet::read(text).unwrap_err());
    let set = r#"{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"},{"kty":"OKP","crv":"Ed25519"},
        {"kty":"oct","k":"c2VjcmV0"},{"crv":"P-256"},5]}"#;
    assert_eq!(
        problems(set),
        [
            "/keys/0: must have x and y, 32 bytes each in base64url",
            "/keys/1: must have x, 32 bytes in base64url",
            "/keys/2: holds a private key; keep it secret, and give its public part",
            "/keys/3: must have kty",
            "/keys/4: must have kty",
        ]
    );
    let mut private = key(Algorithm::EdDsa, "k").public_jwk();
    private.as_object_mut().unwrap().insert("d".to_owned(), json!("c2VjcmV0"));
    assert!(problems(&private.to_string())[0].contains("private key"));
    let mut confused = key(Algorithm::EdDsa, "k").public_jwk();
    confused.as_object_mut().unwrap().insert("alg".to_owned(), json!("ES256"));
    assert!(problems(&confused.to_string())[0].contains("does not belong"));
    for text in ["{}", "[]", "5", "{\"keys\":{}}", "", "{\"keys\":[],\"keys\":[]}"] {
        assert_eq!(problems(text).len(), 1, "{text}");
    }
    let many = json!({"keys": vec![json!({"kty": "RSA"}); 1_001]}).to_string();
    assert_eq!(problems(&many), ["/keys: has more than 1000 keys"]);
    let others = r#"{"keys":[{"kty":"RSA","n":"x"},{"kty":"EC","crv":"P-384"}]}"#;
    assert!(KeySet::read(others).unwrap().is_empty());
    let one = key(Algorithm::Es256, "k").public_jwk().to_string();
    assert_eq!(KeySet::read(&one).unwrap().len(), 1);
}

#[test]
fn unusable_key_files_say_why_and_quote_nothing() {
    let why = |text: &str| {
        let error: KeyError = SigningKey::read(text, None).unwrap_err();
        assert!(!error.to_string().contains("c2VjcmV0"), "{error}");
        error.to_string()
    };
    let pem = |name: &str| format!("-----BEGIN {name}-----\nc2VjcmV0\n-----END {name}-----\n");
    assert!(why(&pem("PRIVATE KEY")).contains("neither of P-256 nor of Ed25519"));
    assert!(why(&pem("ENCRYPTED PRIVATE KEY")).contains("encrypted"));
    assert!(why(&pem("EC PRIVATE KEY")).contains("openssl pkcs8"));
    assert!(why(&pem("PUBLIC KEY")).contains("public key"));
    assert!(why("-----BEGIN PRIVATE KEY-----\n*\n-----END PRIVATE KEY-----").contains("base64"));
    assert!(why("-----BEGIN PRIVATE KEY-----\nc2VjcmV0").contains("neither a PEM block"));
    assert!(why("").contains("neither a PEM block"));
    assert!(why("{").contains("not plain JSON"));
    assert!(why(r#"{"kty":"RSA","d":"c2VjcmV0"}"#).contains("P-256"));
    let one = key(Algorithm::EdDsa, "k").public_jwk();
    let other = key(Algorithm::Es256, "k");
    assert!(why(&one.to_string()).contains("private part"));
    for mut jwk in [one, other.public_jwk()] {
        jwk.as_object_mut().unwrap().insert("d".to_owned(), encode([7; 32]).into());
        assert!(why(&jwk.to_string()).contains("do not belong together"));
    }
}

#[test]
fn a_generated_key_is_read_again_under_the_same_name() {
    for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
        let pem = generate(algorithm).unwrap();
        assert!(pem.lines().all(|line| line.len() <= 64), "{pem}");
        let one = SigningKey::read(&pem, None).unwrap();
        let other = SigningKey::read(&pem, None).unwrap();
        assert_eq!((one.algorithm(), one.kid().len()), (algorithm, 43));
        assert_eq!(one.public_jwk(), other.public_jwk());
        assert_ne!(generate(algorithm).unwrap(), pem);
        // Text around the block is a comment.
        let commented = format!("Key of 2026\n{}trailer", pem.replace('\n', "\r\n"));
        assert_eq!(SigningKey::read(&commented, Some("n")).unwrap().kid(), "n");
    }
}

#[test]
fn hostile_cards_are_refused_and_do_no_harm() {
    let key = key(Algorithm::EdDsa, "k");
    let keys = key_set(&[&key]);
    let entry = sign(&card(), &key, None).unwrap();
    let many = with_signatures(card(), vec![entry.clone(); 33]);
    assert_eq!(
        describe(&SignedCard::read(&many).unwrap_err()),
        ["/signatures: has more than 32 signatures"]
    );
    let mut odd = card();
    odd.as_object_mut().unwrap().insert("signatures".to_owned(), json!({"0": entry}));
    assert_eq!(describe(&SignedCard::read(&odd).unwrap_err()), ["/signatures: must be an array"]);
    // A member that another reader would take from elsewhere.
    let text = with_signatures(card(), vec![entry.clone()]).to_string();
    let twice = text.replacen('{', r#"{"name":"Other","#, 1);
    assert!(describe(&json::read(&twice).unwrap_err())[0].contains("twice"));
    // A number that our own parser would read as the signed one.
    let smuggled = text.replacen("1.5", r#"{"$serde_json::private::Number":"1.5"}"#, 1);
    assert_ne!(smuggled, text);
    let found = verdicts(&json::read(&smuggled).unwrap(), &keys);
    assert!(matches!(found[..], [CardVerdict::Invalid(_)]), "{found:?}");
    // Large cards only cost work.
    let mut large = card();
    large.as_object_mut().unwrap().insert("x".to_owned(), "x".repeat(4_000_000).into());
    let found = verdicts(&with_signatures(large, vec![entry]), &keys);
    assert!(matches!(found[..], [CardVerdict::Invalid(_)]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_a_reader_panic(text in r#"[\[\]{}":,0-9eE.\-a-z\\ ]{0,60}"#) {
        let _ = KeySet::read(&text);
        let _ = SigningKey::read(&text, None);
        if let Ok(card) = json::read(&text) {
            let _ = SignedCard::read(&card);
        }
        let entry = json!({"protected": text, "signature": text, "header": text});
        let card = with_signatures(card(), vec![entry]);
        prop_assert!(matches!(verdicts(&card, &KeySet::default())[..], [CardVerdict::Invalid(_)]));
    }
}
