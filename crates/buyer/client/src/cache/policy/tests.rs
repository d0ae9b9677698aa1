use reqwest::header::HeaderValue;

use super::*;

const DAY: &str = "Fri, 01 May 2026 ";

fn at(second: i64) -> Timestamp {
    let noon: Timestamp = "2026-05-01T12:00:00Z".parse().unwrap();
    Timestamp::from_second(noon.as_second() + second).unwrap()
}

fn headers(lines: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        let value = value.replace("DAY ", DAY);
        headers.append(name, HeaderValue::from_str(&value).unwrap());
    }
    headers
}

/// Reads the terms of an answer requested and received at noon.
fn terms(lines: &[&str]) -> CacheTerms {
    CacheTerms::read(&headers(lines), at(0), at(0))
}

#[test]
fn d_06_how_long_an_answer_is_fresh() {
    // Headers, and the number of seconds from noon for which the answer is fresh.
    let table: &[(&[&str], u64)] = &[
        (&[], 0),
        (&["cache-control: max-age=60"], 60),
        (&["cache-control: public, MAX-AGE=60, s-maxage=5"], 60),
        (&["cache-control: private, max-age=\"60\""], 60),
        (&["cache-control: max-age=60", "cache-control: max-age=30"], 30),
        (&["cache-control: max-age=60, max-age=x"], 0),
        (&["cache-control: max-age=-1"], 0),
        (&["cache-control: x=\"a, no-cache, max-age=5\", max-age=60"], 60),
        (&["cache-control: max-age=60, no-cache"], 0),
        (&["cache-control: max-age=60, no-cache=\"set-cookie\""], 0),
        (&["cache-control: max-age=60, must-revalidate"], 60),
        (&["cache-control: max-age=60", "age: 20"], 40),
        (&["cache-control: max-age=60", "age: 20, 50"], 40),
        (&["cache-control: max-age=60", "age: soon"], 60),
        (&["cache-control: max-age=60", "age: 60"], 0),
        // A date tells an age, too; one in the future tells none.
        (&["cache-control: max-age=60", "date: DAY 11:59:50 GMT"], 50),
        (&["cache-control: max-age=60", "date: DAY 11:59:50 GMT", "age: 30"], 30),
        (&["cache-control: max-age=60", "date: DAY 12:00:30 GMT"], 60),
        (&["expires: DAY 12:01:00 GMT", "date: DAY 12:00:00 GMT"], 60),
        (&["expires: DAY 12:01:00 GMT"], 60),
        (&["expires: DAY 12:01:00 GMT", "cache-control: max-age=10"], 10),
        (&["expires: 0"], 0),
        (&["expires: DAY 11:00:00 GMT"], 0),
        // A tenth of the time since the last change, when no lifetime is stated; at most a day.
        (&["last-modified: DAY 11:50:00 GMT"], 60),
        (&["last-modified: Fri, 01 May 2020 12:00:00 GMT"], 86_400),
        (&["last-modified: DAY 11:50:00 GMT", "expires: 0"], 0),
        (&["last-modified: yesterday"], 0),
    ];
    for (lines, expected) in table {
        let terms = terms(lines);
        let fresh_at = |second| terms.at(at(second), Duration::ZERO) == CacheUse::Fresh;
        let seconds = i64::try_from(*expected).unwrap();
        assert_eq!(fresh_at(0), *expected > 0, "{lines:?}");
        assert!(seconds == 0 || fresh_at(seconds - 1), "{lines:?} at {}", seconds - 1);
        assert!(!fresh_at(seconds), "{lines:?} at {seconds}");
    }
    let beyond = terms(&["cache-control: max-age=99999999999999999999999"]);
    assert_eq!(beyond.at(at(MAX_SECONDS as i64 - 1), Duration::ZERO), CacheUse::Fresh);
}

#[test]
fn time_on_the_way_counts_and_clocks_may_go_back() {
    let header = headers(&["cache-control: max-age=60", "age: 5"]);
    let slow = CacheTerms::read(&header, at(-10), at(0));
    assert_eq!(slow.at(at(44), Duration::ZERO), CacheUse::Fresh);
    assert_eq!(slow.at(at(45), Duration::ZERO), CacheUse::Check { usable: true });
    assert_eq!(slow.at(at(-1), Duration::MAX), CacheUse::Check { usable: false });
}

#[test]
fn stale_cards_are_used_only_when_buyer_or_seller_permits() {
    // Headers, the buyer's patience, the second, and true when the stale answer may be used.
    let table: &[(&[&str], u64, i64, bool)] = &[
        (&["cache-control: max-age=60"], 0, 60, true),
        (&["cache-control: max-age=60"], 0, 61, false),
        (&["cache-control: max-age=60"], 100, 160, true),
        (&["cache-control: max-age=60"], 100, 161, false),
        (&["cache-control: max-age=60, stale-if-error=500"], 100, 560, true),
        (&["cache-control: max-age=60, stale-if-error=500"], 100, 561, false),
        (&["cache-control: max-age=60, must-revalidate, stale-if-error=500"], 100, 61, false),
        (&["cache-control: max-age=60, no-cache"], 100, 1, false),
        (&[], 100, 50, true),
    ];
    for (lines, patience, second, usable) in table {
        let found = terms(lines).at(at(*second), Duration::from_secs(*patience));
        assert_eq!(found, CacheUse::Check { usable: *usable }, "{lines:?} at {second}");
    }
}

#[test]
fn what_must_not_be_kept_is_not() {
    let table: &[(&[&str], bool)] = &[
        (&[], true),
        (&["cache-control: no-store"], false),
        (&["cache-control: max-age=60, No-Store"], false),
        (&["vary: accept, *"], false),
        (&["vary: accept-encoding"], true),
    ];
    for (lines, kept) in table {
        assert_eq!(terms(lines).may_be_kept(), *kept, "{lines:?}");
    }
}

#[test]
fn a_304_renews_what_it_names() {
    let kept = terms(&["cache-control: max-age=60", "etag: \"1\"", "age: 30", "last-modified: x"]);
    let renewed = kept.renewed(&headers(&["etag: W/\"1\""]), at(100), at(100));
    assert_eq!(renewed.validators(), (Some("W/\"1\""), Some("x")));
    assert_eq!(renewed.at(at(159), Duration::ZERO), CacheUse::Fresh);
    let renewed = kept.renewed(&headers(&["cache-control: no-store"]), at(100), at(100));
    assert!(!renewed.may_be_kept());
    for (tags, confirmed) in
        [(&["etag: W/\"1\""][..], true), (&["etag: \"2\""], false), (&[], true)]
    {
        assert_eq!(kept.is_confirmed_by(&headers(tags)), confirmed, "{tags:?}");
    }
    assert!(!terms(&[]).is_confirmed_by(&headers(&["etag: \"1\""])));
}
