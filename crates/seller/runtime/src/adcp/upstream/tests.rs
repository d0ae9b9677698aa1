//! Tests against a real server with scripted responses, and a clock that is advanced by hand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::SignedDuration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tradepost_publisher::services::{Supply, Unavailable};
use tradepost_server::clock::{Clock, ManualClock};

use super::{FAILURE_BACKOFF, NAME, SETTING, SoldOutClient};
use crate::config;

/// Responses to come, the first one first; without any, the connection is closed.
type Script = Arc<Mutex<Vec<String>>>;

fn answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

/// Starts an ad server with this script, freshness 60 s and keep 600 s.
async fn serve(script: &[String]) -> (SoldOutClient, Script, ManualClock) {
    let script: Script = Arc::new(Mutex::new(script.to_vec()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/inventory", listener.local_addr().unwrap());
    let answers = Arc::clone(&script);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 2048];
            let _ = stream.read(&mut request).await;
            let next = {
                let mut answers = answers.lock().unwrap();
                (!answers.is_empty()).then(|| answers.remove(0))
            };
            if let Some(next) = next {
                let _ = stream.write_all(next.as_bytes()).await;
            }
        }
    });
    let (clock, hand) = Clock::manual("2026-06-01T12:00:00Z".parse().unwrap());
    let settings = config::UpstreamConfig {
        url,
        timeout: SignedDuration::from_secs(2),
        freshness: SignedDuration::from_secs(60),
        keep: SignedDuration::from_secs(600),
    };
    (SoldOutClient::new(settings, &clock).unwrap(), script, hand)
}

fn gone(supply: &Result<Supply, Unavailable>) -> (String, u64, bool) {
    let supply = supply.as_ref().unwrap();
    (supply.sold_out.join(" "), supply.age_seconds, supply.stale.is_some())
}

#[tokio::test]
async fn an_answer_is_asked_for_again_once_it_has_aged() {
    let fresh = |ids: &str| answer("200 OK", &format!(r#"{{"sold_out": [{ids}], "more": 1}}"#));
    let (upstream, script, hand) = serve(&[fresh(r#""a""#), fresh(r#""b", "c""#)]).await;
    assert_eq!(gone(&upstream.supply().await), ("a".to_owned(), 0, false));
    hand.advance(SignedDuration::from_secs(59));
    assert_eq!(gone(&upstream.supply().await), ("a".to_owned(), 59, false));
    assert_eq!(script.lock().unwrap().len(), 1);
    hand.advance(SignedDuration::from_secs(1));
    assert_eq!(gone(&upstream.supply().await), ("b c".to_owned(), 0, false));
}

#[tokio::test]
async fn a_clock_once_a_day_ahead_prolongs_no_pause() {
    let day = SignedDuration::from_hours(24);
    let (upstream, script, hand) = serve(&[]).await;
    hand.set(day);
    assert_eq!(
        upstream.supply().await.unwrap_err(),
        Unavailable::Down { retry_after: Some(Duration::from_secs(1)) }
    );
    hand.set(-day);
    script.lock().unwrap().push(answer("200 OK", r#"{"sold_out": ["a"]}"#));
    hand.advance(SignedDuration::from_secs(1));
    assert_eq!(gone(&upstream.supply().await), ("a".to_owned(), 0, false));
}

#[tokio::test]
async fn while_it_fails_a_stale_answer_serves_until_too_old() {
    let script = [answer("200 OK", r#"{"sold_out": ["a"]}"#)];
    let (upstream, script, hand) = serve(&script).await;
    upstream.supply().await.unwrap();
    hand.advance(SignedDuration::from_secs(100));
    let supply = upstream.supply().await;
    assert_eq!(gone(&supply), ("a".to_owned(), 100, true));
    let stale = supply.unwrap().stale.unwrap();
    assert_eq!((stale.upstream.as_str(), stale.freshness_target_seconds), (NAME, 60));
    // During the backoff it is not requested, even if it could answer now.
    script.lock().unwrap().push(answer("200 OK", r#"{"sold_out": ["b"]}"#));
    assert_eq!(gone(&upstream.supply().await), ("a".to_owned(), 100, true));
    hand.advance(SignedDuration::from_secs(1));
    assert_eq!(gone(&upstream.supply().await), ("b".to_owned(), 0, false));
    hand.advance(SignedDuration::from_secs(600));
    let down = upstream.supply().await.unwrap_err();
    assert_eq!(down, Unavailable::Down { retry_after: Some(Duration::from_secs(1)) });
}

#[tokio::test]
async fn each_way_of_not_answering_is_told_from_being_refused() {
    let down = Unavailable::Down { retry_after: Some(Duration::from_secs(1)) };
    let refused = Unavailable::Misconfigured { setting: SETTING };
    let large = format!(r#"{{"sold_out": ["{}"]}}"#, "x".repeat(super::MAX_ANSWER));
    let table = [
        (answer("500 Internal Server Error", "SELECT * FROM orders"), down),
        (answer("200 OK", "no JSON"), down),
        (answer("200 OK", r#"{"sold_out": "all"}"#), down),
        (answer("200 OK", &large), down),
        (answer("302 Found", ""), down),
        (answer("401 Unauthorized", ""), refused),
        (answer("403 Forbidden", ""), refused),
        (answer("404 Not Found", ""), refused),
    ];
    for (scripted, expected) in table {
        let (upstream, _, _) = serve(std::slice::from_ref(&scripted)).await;
        assert_eq!(upstream.supply().await, Err(expected), "{}", &scripted[..20]);
    }
}

#[test]
fn each_pause_is_longer_and_none_exceeds_a_minute() {
    let failures = [1, 2, 3, 6, 7, 8, u32::MAX];
    let seconds: Vec<_> =
        failures.map(|number| FAILURE_BACKOFF.pause(number - 1).as_secs()).to_vec();
    assert_eq!(seconds, [1, 2, 4, 32, 60, 60, 60]);
}
