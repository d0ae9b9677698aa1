//! Tokens: the assertion, and how long one is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use tokio::net::TcpListener;
use tradepost_document::json::from_slice;

use super::*;

const FILE: &str = include_str!("../../../tests/service-account.json");

fn account(token_uri: &str) -> ServiceAccount {
    ServiceAccount::read(&FILE.replace("TOKEN_URI", token_uri)).unwrap()
}

#[test]
fn an_assertion_is_signed_for_an_hour() {
    let account = account("https://oauth2.example/token");
    let (clock, _) = Clock::manual("2026-11-27T12:00:00Z".parse().unwrap());
    let assertion = account.assertion(&clock).unwrap();
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let key =
        UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, account.key.public_key().as_ref());
    key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
    let (header, claims) = signed.split_once('.').unwrap();
    let part = |text: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        from_slice::<Value>(&bytes).unwrap().to_string()
    };
    assert_eq!(part(header), r#"{"alg":"RS256","typ":"JWT","kid":"key-of-the-tests"}"#);
    assert_eq!(
        part(claims),
        r#"{"iss":"robot@project.example","scope":"https://www.googleapis.com/auth/admanager https://www.googleapis.com/auth/dfp","aud":"https://oauth2.example/token","iat":1795780800,"exp":1795784400}"#
    );
}

/// Gives out `token-1`, `token-2` and so on, for ten minutes each.
async fn give(State(given): State<Arc<AtomicUsize>>) -> String {
    let number = given.fetch_add(1, Ordering::SeqCst) + 1;
    format!(r#"{{"access_token": "token-{number}", "expires_in": 600}}"#)
}

#[tokio::test]
async fn a_token_is_kept_until_shortly_before_its_end() {
    let given = Arc::new(AtomicUsize::new(0));
    let router = Router::new().route("/token", post(give)).with_state(Arc::clone(&given));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/token", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let (clock, hand) = Clock::manual("2026-11-27T12:00:00Z".parse().unwrap());
    let source = TokenSource::new(account(&url), clock);
    let timeout = Duration::from_secs(60);
    let client = tradepost_server::egress::client::without_guard(timeout, false).unwrap();
    let first = source.token(&client, timeout).await.unwrap();
    assert!(first.is_new && first.text == "token-1");
    hand.advance(SignedDuration::from_secs(539));
    let second = source.token(&client, timeout).await.unwrap();
    assert!(!second.is_new && second.text == "token-1");
    hand.advance(SignedDuration::from_secs(1));
    assert_eq!(source.token(&client, timeout).await.unwrap().text, "token-2");
    source.forget(&first);
    assert_eq!(source.token(&client, timeout).await.unwrap().text, "token-2");
    source.forget(&second);
    let third = AccessToken { text: "token-2".to_owned(), is_new: false };
    source.forget(&third);
    assert_eq!(source.token(&client, timeout).await.unwrap().text, "token-3");
    // It is there in place of a refused one, and is new for a minute.
    hand.advance(SignedDuration::from_secs(59));
    assert!(source.token(&client, timeout).await.unwrap().is_new);
    hand.advance(SignedDuration::from_secs(1));
    assert!(!source.token(&client, timeout).await.unwrap().is_new);
}

#[test]
fn only_a_refused_assertion_is_a_credential_problem() {
    let of = |status: u16| {
        let status = reqwest::StatusCode::from_u16(status).unwrap();
        failure(&RawAnswer { status, retry_after: None, body: Vec::new() })
    };
    assert_eq!(of(408), AdServerError::Unsent);
    assert_eq!(of(429), AdServerError::NotYet { retry_after: None });
    assert_eq!(of(503), AdServerError::Unsent);
    let AdServerError::Refused { reason, .. } = of(400) else { panic!() };
    assert_eq!(reason, RefusalReason::Credential);
}
