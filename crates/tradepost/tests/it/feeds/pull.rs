//! A web address that is asked.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use jiff::SignedDuration;
use tradepost_runtime::config::feeds::{FeedAddress, FeedLocation, Pull};
use tradepost_runtime::feeds::pull::{PullAnswer, fetch};
use tradepost_store::FeedState;

use crate::support::at;

/// Answers every request: with 304 whoever knows the tag, and the others as it is told.
fn serve(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/feed.csv?token=secret", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> =
                lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
            let knows = head.iter().any(|line| line.eq_ignore_ascii_case("if-none-match: \"v1\""));
            let said = if knows {
                "HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n"
            } else {
                answer
            };
            stream.write_all(said.as_bytes()).unwrap();
        }
    });
    url
}

const FEED: &str =
    "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 9\r\nConnection: close\r\n\r\nStock\nA1\n";

fn ask(url: &str, state: &FeedState, max_bytes: u64) -> Result<Option<(String, String)>, String> {
    let pull = Pull {
        place: FeedLocation::Web(FeedAddress { url: url.to_owned(), bearer: None, login: None }),
        every: SignedDuration::from_mins(15),
        timeout: Duration::from_secs(20),
        max_bytes,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(fetch(&pull, state, at("2026-04-30T12:00:00Z")))?;
    Ok(match answer {
        PullAnswer::Unchanged => None,
        PullAnswer::Feed(mut file, mark) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            Some((text, mark))
        }
    })
}

#[test]
fn an_unchanged_feed_is_sent_only_to_confirm_it() {
    let url = serve(FEED);
    let (text, mark) = ask(&url, &FeedState::default(), 1_000).unwrap().unwrap();
    assert_eq!(text, "Stock\nA1\n");
    let state = |taken: &str| FeedState {
        mark: Some(mark.clone()),
        taken_at: Some(at(taken)),
        ..FeedState::default()
    };
    assert_eq!(ask(&url, &state("2026-04-30T11:00:00Z"), 1_000).unwrap(), None);
    assert!(ask(&url, &state("2026-04-29T23:59:00Z"), 1_000).unwrap().is_some());
}

#[test]
fn what_is_no_feed_is_told_without_the_address() {
    const MOVED: &str = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const BROKEN: &str = "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const CUT: &str =
        "HTTP/1.1 200 OK\r\nContent-Length: 90\r\nConnection: close\r\n\r\nStock\nA1\n";
    for (answer, max_bytes, expected) in [
        (MOVED, 1_000, "redirects are not followed"),
        (BROKEN, 1_000, "the status 500"),
        (FEED, 8, "more than the 8 bytes"),
        (CUT, 1_000, "cannot be fetched"),
    ] {
        let why = ask(&serve(answer), &FeedState::default(), max_bytes).unwrap_err();
        assert!(why.contains(expected), "{why}");
        assert!(!why.contains("secret") && !why.contains("127.0.0.1"), "{why}");
    }
}
