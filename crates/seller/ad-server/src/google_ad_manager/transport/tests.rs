//! A token that SOAP refuses.

use axum::Router;
use tokio::net::TcpListener;
use tradepost_server::clock::Clock;

use super::super::credentials::ServiceAccount;
use super::*;
use crate::settings::AdServerKind;

const FILE: &str = include_str!("../../../tests/service-account.json");

const FAULT: &str = "<E><Body><Fault><detail><ApiExceptionFault><errors><errorString>AuthenticationError.AUTHENTICATION_FAILED\
    </errorString></errors></ApiExceptionFault></detail></Fault></Body></E>";

#[tokio::test]
async fn only_a_new_token_that_is_refused_is_the_credential_s() {
    let token = r#"{"access_token": "t", "expires_in": 3599}"#;
    let router = Router::new()
        .route("/token", axum::routing::post(move || async move { token }))
        .fallback(|| async { (axum::http::StatusCode::INTERNAL_SERVER_ERROR, FAULT) });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let account =
        ServiceAccount::read(&FILE.replace("TOKEN_URI", &format!("{url}/token"))).unwrap();
    let (clock, _) = Clock::manual("2026-11-27T12:00:00Z".parse().unwrap());
    let settings = AdServerSettings {
        soap_url: format!("{url}/v202511"),
        ..AdServerSettings::new(AdServerKind::GoogleAdManager, &*url, "")
    };
    let client = tradepost_server::egress::client::without_guard(settings.timeout, false).unwrap();
    let tokens = TokenSource::new(account, clock);
    let google = GoogleClient::new(&settings, client.clone(), "12345".to_owned(), tokens);
    let mut refusals = Vec::new();
    for _ in 0..2 {
        // Another request of the same operation has made the token.
        google.tokens.token(&client, google.timeout).await.unwrap();
        refusals.push(google.soap("CreativeService", XmlElement::new("call")).await.unwrap_err());
    }
    assert_eq!(refusals[0], AdServerError::NotYet { retry_after: None });
    let AdServerError::Refused { reason, .. } = refusals[1] else { panic!("{refusals:?}") };
    assert_eq!(reason, RefusalReason::Credential);
}
