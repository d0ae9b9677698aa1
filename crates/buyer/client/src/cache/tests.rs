use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::fake::{CannedReply, Fake, transport};

const CARD: &str = r#"{"name": "A", "skills": []}"#;
const OTHER: &str = r#"{"name": "B", "skills": []}"#;

/// Creates a cache whose clock is set by hand, in seconds.
fn cache(bounds: CacheBounds) -> (CardCache, Arc<AtomicI64>) {
    let now = Arc::new(AtomicI64::new(1_000));
    let clock = Arc::clone(&now);
    let cache = CardCache::new(bounds, move || {
        Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap()
    });
    (cache, now)
}

fn card(headers: &[(&str, &str)], body: &str) -> CannedReply {
    CannedReply::http(200, headers, body)
}

/// Asks at each of these seconds; returns the name on the card and its source, or the failure.
fn ask(fake: &Fake, bounds: CacheBounds, seconds: &[i64]) -> (Vec<String>, CardCache) {
    let (cache, now) = cache(bounds);
    let transport = transport();
    let mut outcomes = Vec::new();
    fake.run(async {
        for second in seconds {
            now.store(1_000 + second, Ordering::Relaxed);
            outcomes.push(match cache.discover(&transport, &fake.url).await {
                Err(failure) => failure.to_string(),
                Ok(CachedCard { discovered, how }) => {
                    let how = match how {
                        CardSource::Fetched => "fetched",
                        CardSource::Kept => "kept",
                        CardSource::Confirmed => "confirmed",
                        CardSource::Stale(_) => "stale",
                    };
                    format!("{} {how}", discovered.card.name)
                }
            });
        }
    });
    (outcomes, cache)
}

#[test]
fn d_06_fresh_cards_are_kept_and_stale_ones_revalidated() {
    let headers = [
        ("cache-control", "max-age=60"),
        ("etag", "\"1\""),
        ("last-modified", "Fri, 01 May 2026 11:50:00 GMT"),
    ];
    let fake = Fake::start(vec![
        card(&headers, CARD),
        CannedReply::http(304, &[("etag", "\"1\"")], ""),
        card(&[("cache-control", "max-age=5")], OTHER),
        card(&[], CARD),
    ]);
    let (outcomes, _) = ask(&fake, CacheBounds::default(), &[0, 59, 60, 119, 120, 124, 125]);
    let expected =
        ["A fetched", "A kept", "A confirmed", "A kept", "B fetched", "B kept", "A fetched"];
    assert_eq!(outcomes, expected);
    let requests = fake.requests();
    let conditional = |request: &String| {
        (
            request.contains("if-none-match: \"1\"\r\n"),
            request.contains("if-modified-since: Fri, 01"),
        )
    };
    let expected = [(false, false), (true, true), (true, true), (false, false)];
    assert_eq!(requests.iter().map(conditional).collect::<Vec<_>>(), expected);
}

#[test]
fn any_form_of_date_counts_and_a_mark_is_skipped() {
    // The clock shows 1,000 seconds; each of these dates is second 1,020.
    for date in [
        "Thu, 01 Jan 1970 00:17:00 GMT",
        "Thursday, 01-Jan-70 00:17:00 GMT",
        "Thu Jan  1 00:17:00 1970",
    ] {
        let marked = format!("\u{feff}{CARD}");
        let fake = Fake::start(vec![card(&[("expires", date)], &marked), card(&[], OTHER)]);
        let (outcomes, _) = ask(&fake, CacheBounds::default(), &[0, 19, 20]);
        assert_eq!(outcomes, ["A fetched", "A kept", "B fetched"], "{date}");
    }
}

#[test]
fn a_card_that_must_not_be_kept_is_always_fetched() {
    let no_store = || card(&[("cache-control", "no-store, max-age=60")], CARD);
    let fake = Fake::start(vec![no_store(), no_store()]);
    let (outcomes, cache) = ask(&fake, CacheBounds::default(), &[0, 1]);
    assert_eq!((outcomes, cache.len()), (vec!["A fetched".to_owned(); 2], 0));
}

#[test]
fn a_stale_card_bridges_an_outage_unless_the_seller_forbids() {
    let outage = || CannedReply::http(503, &[], "");
    let bounds = CacheBounds { patience: Duration::from_secs(100), ..CacheBounds::default() };
    let fake = Fake::start(vec![
        card(&[("cache-control", "max-age=10")], CARD),
        outage(),
        CannedReply::Bytes(Vec::new()),
        outage(),
        CannedReply::http(404, &[], ""),
        CannedReply::http(404, &[], ""),
    ]);
    let (outcomes, cache) = ask(&fake, bounds, &[0, 10, 110, 111, 112, 5]);
    let down = "the server answers with HTTP 503";
    let gone = "the server answers with HTTP 404";
    assert_eq!(outcomes, ["A fetched", "A stale", "A stale", down, gone, gone]);
    assert!(cache.is_empty());
    for control in ["max-age=10, must-revalidate", "no-cache"] {
        let fake = Fake::start(vec![card(&[("cache-control", control)], CARD), outage()]);
        let (outcomes, cache) = ask(&fake, bounds, &[0, 11]);
        assert_eq!((outcomes[1].as_str(), cache.len()), (down, 1));
    }
}

#[test]
fn what_is_no_card_replaces_none_and_is_an_error() {
    let fake = Fake::start(vec![
        card(&[("cache-control", "max-age=10"), ("etag", "\"1\"")], CARD),
        card(&[], "<html>"),
        CannedReply::http(304, &[], ""),
    ]);
    let (outcomes, _) = ask(&fake, CacheBounds::default(), &[0, 10, 11]);
    assert_eq!(outcomes, ["A fetched", "the answer is not valid JSON", "A confirmed"]);
}

#[test]
fn a_304_about_another_card_is_not_believed() {
    let fake = Fake::start(vec![
        card(&[("etag", "\"1\"")], CARD),
        CannedReply::http(304, &[("etag", "\"2\"")], ""),
        card(&[("etag", "\"2\"")], OTHER),
        card(&[], CARD),
        CannedReply::http(304, &[], ""),
    ]);
    let (outcomes, _) = ask(&fake, CacheBounds::default(), &[0, 1, 2, 3]);
    let expected = ["A fetched", "B fetched", "A fetched", "the server answers with HTTP 304"];
    assert_eq!(outcomes, expected);
}

#[test]
fn cards_are_bounded_in_number_and_can_be_forgotten() {
    let fresh = || card(&[("cache-control", "max-age=60")], CARD);
    let fake = Fake::start((0..5).map(|_| fresh()).collect());
    let (cache, now) = cache(CacheBounds { cards: 2, ..CacheBounds::default() });
    let transport = transport();
    fake.run(async {
        // The card that is used again outlives the other.
        for (second, path) in [(0, "a"), (1, "b"), (2, "a"), (3, "c"), (4, "a"), (5, "b")] {
            now.store(1_000 + second, Ordering::Relaxed);
            cache.discover(&transport, &format!("{}/{path}", fake.url)).await.unwrap();
        }
        cache.forget(&format!("{}/b", fake.url));
        assert_eq!(cache.len(), 1);
        cache.discover(&transport, &format!("{}/b", fake.url)).await.unwrap();
    });
    assert_eq!(fake.requests().len(), 5);
}
