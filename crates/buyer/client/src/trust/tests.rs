use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use tradepost_a2a::card::signing_payload;
use tradepost_document::json::{Value, json};
use tradepost_keys::encode;

use super::*;
use crate::fake::{CannedReply, Fake, transport};

/// Creates a key, and its public part with this name and more members.
fn key(kid: &str, more: &Value) -> (Ed25519KeyPair, Value) {
    let der = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(der.as_ref()).unwrap();
    let x = encode(pair.public_key().as_ref());
    let mut jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x});
    jwk.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    (pair, jwk)
}

fn set(keys: &[&Value]) -> String {
    json!({"keys": keys}).to_string()
}

fn signature(pair: &Ed25519KeyPair, header: &Value) -> Value {
    let protected = encode(header.to_string());
    let payload = encode(signing_payload(&json!({"name": "A", "skills": []})).unwrap());
    let signed = pair.sign(format!("{protected}.{payload}").as_bytes());
    json!({"protected": protected, "signature": encode(signed)})
}

fn card(name: &str, signatures: &[&Value]) -> SellerCard {
    let card = json!({"name": name, "skills": [], "signatures": signatures});
    SellerCard::read(&card.to_string()).unwrap()
}

/// Checks a card under each of the three policies: `ok` with the verdicts, or the reason why not.
fn check(trust: &Trust, card: &SellerCard, fake: &Fake) -> [String; 3] {
    [TrustPolicy::Require, TrustPolicy::AcceptUnsigned, TrustPolicy::Ignore].map(|policy| {
        let trust = Trust { policy, ..trust.clone() };
        match fake.run(trust.check(&transport(), card, Timestamp::UNIX_EPOCH)) {
            Ok(judged) => {
                let names = judged.iter().map(|judged| judged.verdict.name());
                format!("ok {}", names.collect::<Vec<_>>().join(" "))
            }
            Err(untrusted) => untrusted.to_string(),
        }
    })
}

#[test]
fn d_10_cards_are_believed_by_signatures_and_policy() {
    let (known, jwk) = key("k", &json!({}));
    let (stranger, _) = key("s", &json!({}));
    let (former, gone) = key("f", &json!({"exp": -5}));
    let keys = KeySet::read(&set(&[&jwk, &gone])).unwrap();
    let trust = Trust { keys, ..Trust::default() };
    let by = |pair, kid: &str| signature(pair, &json!({"alg": "EdDSA", "kid": kid}));
    let good = by(&known, "k");
    let strange = by(&stranger, "s");
    let former = by(&former, "f");
    let stolen = by(&stranger, "k");
    let fake = Fake::start(vec![]);
    let forged = "a signature of the card is forged or damaged";
    let none = "no signature of the card is by a trusted key";
    let over = "the card is signed by a key that may not be used now";
    let table: &[(&str, &[&Value], [&str; 2])] = &[
        ("A", &[], ["the card is not signed", "ok "]),
        ("A", &[&good], ["ok valid", "ok valid"]),
        ("A", &[&strange, &good], ["ok unknown_key valid", "ok unknown_key valid"]),
        ("A", &[&former, &good], ["ok unusable_key valid", "ok unusable_key valid"]),
        ("A", &[&strange], [none, "ok unknown_key"]),
        ("A", &[&former], [over, over]),
        ("A", &[&good, &stolen], [forged, forged]),
        ("B", &[&good], [forged, forged]),
    ];
    for (name, signatures, [require, accept]) in table {
        let found = check(&trust, &card(name, signatures), &fake);
        assert_eq!(found, [*require, *accept, "ok "], "{name} {signatures:?}");
    }
    let twice = SellerCard::read(r#"{"name":"A","name":"B","skills":[]}"#).unwrap();
    let unclear = "the signatures of the card cannot be verified";
    assert_eq!(check(&trust, &twice, &fake), [unclear, unclear, "ok "]);
}

#[test]
fn only_unknown_keys_on_named_hosts_are_read_by_jku() {
    let (pair, jwk) = key("k", &json!({}));
    let replies = [set(&[&jwk]), "<html>".to_owned()].map(|body| CannedReply::http(200, &[], body));
    let fake = Fake::start(replies.into());
    let host = fake.url.strip_prefix("http://").unwrap().to_owned();
    let jku = |path: &str| {
        let jku = format!("{}{path}", fake.url);
        signature(&pair, &json!({"alg": "EdDSA", "kid": "k", "jku": jku}))
    };
    let first = jku("/1");
    let second = jku("/2");
    let ask = |trust: &Trust, signature: &Value| {
        let card = card("A", &[signature]);
        fake.run(trust.check(&transport(), &card, Timestamp::UNIX_EPOCH))
    };
    let open = Trust { jku_hosts: vec![host], ..Trust::default() };
    let jku_of = |result: Result<Vec<JudgedSignature>, Untrusted>| match result {
        Ok(judged) | Err(Untrusted::NoTrustedKey(judged)) => judged[0].jku.clone(),
        Err(other) => panic!("{other:?}"),
    };
    // The trusted keys come first, and nothing is fetched.
    let keys = KeySet::read(&set(&[&jwk])).unwrap();
    assert_eq!(jku_of(ask(&Trust { keys, ..open.clone() }, &first)), None);
    assert_eq!(jku_of(ask(&Trust::default(), &first)), Some(Jku::NotAllowed));
    assert_eq!(fake.requests().len(), 0);
    assert_eq!(jku_of(ask(&open, &first)), Some(Jku::Read));
    let why = "it is no set of public keys".to_owned();
    assert_eq!(jku_of(ask(&open, &second)), Some(Jku::Failed(why)));
    assert_eq!(fake.requests().len(), 2);
}

#[test]
fn one_card_makes_us_fetch_few_key_sets() {
    let (pair, jwk) = key("other", &json!({}));
    let replies = (0..MAX_FETCHES).map(|_| CannedReply::http(200, &[], set(&[&jwk])));
    let fake = Fake::start(replies.collect());
    let signatures: Vec<_> = (0..MAX_FETCHES + 2)
        .map(|n| {
            let jku = format!("{}/{}", fake.url, n.min(MAX_FETCHES));
            signature(&pair, &json!({"alg": "EdDSA", "kid": "k", "jku": jku}))
        })
        .collect();
    let card = card("A", &signatures.iter().collect::<Vec<_>>());
    let host = fake.url.strip_prefix("http://").unwrap().to_owned();
    let trust = Trust { jku_hosts: vec![host], ..Trust::default() };
    match fake.run(trust.check(&transport(), &card, Timestamp::UNIX_EPOCH)) {
        Err(Untrusted::NoTrustedKey(judged)) => {
            let too_many = judged.iter().filter(|judged| judged.jku == Some(Jku::TooMany));
            assert_eq!(too_many.count(), 2);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fake.requests().len(), MAX_FETCHES);
}

#[test]
fn a_jku_is_followed_only_to_hosts_that_are_named() {
    let allowed = ["Keys.example".to_owned(), "127.0.0.1:81".to_owned(), "[::1]:81".to_owned()];
    for jku in [
        "https://keys.example/jwks.json",
        "https://KEYS.example:443/x?y#z",
        "http://127.0.0.1:81/",
        "http://[::1]:81/",
    ] {
        assert!(allowed_url(jku, &allowed).is_some(), "{jku}");
    }
    for jku in [
        "http://keys.example/",
        "https://keys.example:8443/",
        "https://keys.example.evil.example/",
        "https://evil.example/keys.example",
        "https://keys.example@evil.example/",
        "https://u:p@keys.example/",
        "http://127.0.0.1/",
        "file:///etc/passwd",
        "keys.example",
        "",
    ] {
        assert_eq!(allowed_url(jku, &allowed), None, "{jku}");
    }
    assert_eq!(allowed_url("https://keys.example/", &[]), None);
}

#[test]
fn a_card_is_signed_by_trusted_keys_with_none_forged() {
    let (known, jwk) = key("k", &json!({}));
    let (stranger, _) = key("s", &json!({}));
    let by = |pair, kid: &str| signature(pair, &json!({"alg": "EdDSA", "kid": kid}));
    let good = by(&known, "k");
    let strange = by(&stranger, "s");
    let stolen = by(&stranger, "k");
    let keys = KeySet::read(&set(&[&jwk])).unwrap();
    for (signatures, expected) in [
        (vec![&good], true),
        (vec![&strange, &good], true),
        (vec![&strange], false),
        (vec![&good, &stolen], false),
        (vec![], false),
    ] {
        let card = card("A", &signatures);
        let signed = json::read(card.raw.get()).and_then(|card| SignedCard::read(&card)).unwrap();
        let judged = judge(&signed, &keys, Timestamp::UNIX_EPOCH);
        let url = Url::parse("https://a.example/card.json").unwrap();
        let discovered = Discovered { url, etag: None, card, is_signed: !expected };
        assert_eq!(discovered.with_verdicts(&judged).is_signed, expected, "{judged:?}");
    }
}
