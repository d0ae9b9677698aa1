//! Calendar feeds: who gets an address, what it shows, and when it ends.

use std::process::{Command, Output};

use expect_test::expect;
use tradepost_dealer::calendar::CalendarFeedDetail;

use super::calendar::drive;
use super::*;

const ROOFTOP: &str = "Demo Toyota San Francisco";

const OF: [(&str, &str); 2] = [("dealer", ONE), ("rooftop", ROOFTOP)];

/// The path of the address that a page shows once.
fn address(page: &Response) -> String {
    let page = text(page);
    let (_, rest) = page.split_once("<code class=\"secret\">").unwrap_or_else(|| panic!("{page}"));
    let address = rest.split('<').next().unwrap();
    let (base, path) = address.split_once("/console/").unwrap();
    assert!(base.starts_with("http://127.0.0.1:"), "{address}");
    format!("/console/{path}")
}

/// Creates the feed of the first rooftop. Returns its path.
fn create(maria: &Browser<'_>) -> String {
    let answer = maria.post("/console/calendar-feeds", &OF);
    assert_eq!(answer.status, 200, "{}", text(&answer));
    address(&answer)
}

/// The feed without what changes from run to run.
fn shown(fixture: &Fixture, path: &str) -> String {
    let answer = fixture.get(path);
    assert_eq!(answer.status, 200, "{}", text(&answer));
    assert_eq!(answer.header("content-type"), Some("text/calendar; charset=utf-8"));
    let text = text(&answer).replace("\r\n ", "");
    assert!(text.ends_with("END:VCALENDAR\r\n"), "{text}");
    let kept = text.split("\r\n").filter(|line| {
        let rest = ["UID:", "DTSTAMP:", "LAST-MODIFIED:", "URL:", "TRANSP:", "LOCATION:"];
        !rest.iter().any(|name| line.starts_with(name))
    });
    let kept: Vec<_> = kept.collect();
    let events = kept.join("\n");
    events.split_once("BEGIN:VEVENT").map_or(String::new(), |(_, events)| events.to_owned())
}

/// The lines of a feed that begin with a name.
fn lines(fixture: &Fixture, path: &str, name: &str) -> Vec<String> {
    let text = text(&fixture.get(path)).replace("\r\n ", "");
    let found = text.split("\r\n").filter(|line| line.starts_with(name));
    found.map(str::to_owned).collect()
}

#[test]
fn a_feed_follows_an_appointment_from_booking_to_erasure() {
    let fixture = Fixture::new();
    let lead = fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    let maria = fixture.enter("maria");
    let path = create(&maria);
    expect![[r#"

        SEQUENCE:0
        DTSTART:20260501T180000Z
        DTEND:20260501T183000Z
        STATUS:CONFIRMED
        SUMMARY:test drive: 2024 Honda CR-V EX-L
        DESCRIPTION:State: confirmed
        END:VEVENT
        END:VCALENDAR
    "#]]
    .assert_eq(&shown(&fixture, &path));
    let ids = lines(&fixture, &path, "UID:");
    let id = fixture.server.history(&json!(lead)).lead.appointment.unwrap().appointment_id;
    assert_eq!(ids, [format!("UID:{id}@tradepost")]);
    let url = lines(&fixture, &path, "URL:");
    assert!(url[0].ends_with(&format!("/console/leads/{lead}")), "{url:?}");
    let before = lines(&fixture, &path, "LAST-MODIFIED:");

    fixture.hand.advance(SignedDuration::from_mins(1));
    let fields = [("version", "1"), ("at", "2026-05-01T12:00")];
    assert_eq!(maria.do_it(&format!("/console/appointments/{id}/move"), &fields), "moved");
    assert_eq!(lines(&fixture, &path, "UID:"), ids, "the id stays");
    assert_eq!(lines(&fixture, &path, "SEQUENCE:"), ["SEQUENCE:1"]);
    assert_eq!(lines(&fixture, &path, "DTSTART:"), ["DTSTART:20260501T190000Z"]);
    let moved = lines(&fixture, &path, "LAST-MODIFIED:");
    assert!(moved > before, "{moved:?}, and before {before:?}");
    assert_eq!(lines(&fixture, &path, "DTSTAMP:")[0][8..], moved[0][14..]);

    let cancel = format!("/console/appointments/{id}/cancel");
    assert_eq!(maria.do_it(&cancel, &[("version", "2")]), "cancelled");
    assert_eq!(lines(&fixture, &path, "STATUS:"), ["STATUS:CANCELLED"]);
    assert_eq!(lines(&fixture, &path, "TRANSP:"), ["TRANSP:TRANSPARENT"]);
    let erase = format!("/console/leads/{lead}/erase");
    assert_eq!(maria.do_it(&erase, &[("sure", "yes")]), "erased");
    assert_eq!(lines(&fixture, &path, "STATUS:"), ["STATUS:CANCELLED"]);
    expect![[r#"DESCRIPTION:State: cancelled\ncustomer erased"#]]
        .assert_eq(&lines(&fixture, &path, "DESCRIPTION:").join("\n"));
}

#[test]
fn a_feed_shows_of_customers_what_the_setting_says() {
    for (detail, summary) in [
        (CalendarFeedDetail::Time, "SUMMARY:test drive"),
        (CalendarFeedDetail::Vehicle, "SUMMARY:test drive: 2024 Honda CR-V EX-L"),
        (CalendarFeedDetail::FirstName, "SUMMARY:test drive: Ada\\, 2024 Honda CR-V EX-L"),
    ] {
        let fixture = Fixture::with(|config| {
            config.dealers[0].terms.rooftops[0].appointments.calendar_feed = detail;
        });
        let message = json!("Call me, Ada Lovelace.");
        let submission = drive("Ada", "2026-05-01T18:00:00Z");
        let lead = fixture.lead("one.example", &with(submission, &[("/message", message)]));
        let maria = fixture.enter("maria");
        let path = create(&maria);
        assert_eq!(lines(&fixture, &path, "SUMMARY:"), [summary], "{detail}");
        let all = text(&fixture.get(&path));
        for personal in ["Lovelace", "ada@example.com", "+1415", "Call me"] {
            assert!(!all.contains(personal), "{detail} shows {personal}: {all}");
        }
        // Whoever has withdrawn the consent is not named any more.
        assert_eq!(maria.do_it(&format!("/console/leads/{lead}/revoke"), &[]), "revoked");
        assert!(!text(&fixture.get(&path)).contains("Ada"), "{detail}");
        assert!(text(&fixture.get(&path)).contains("consent withdrawn"), "{detail}");
    }
}

#[test]
fn a_feed_has_its_rooftops_blocks_and_no_other_rooftop() {
    let fixture = Fixture::new();
    fixture.lead("two.example", &drive("Bob", "2026-05-01T18:00:00Z"));
    let maria = fixture.enter("maria");
    let block = [
        ("dealer", ONE),
        ("rooftop", ROOFTOP),
        ("department", "sales"),
        ("starts", "2026-05-01T12:00"),
        ("ends", "2026-05-01T13:00"),
        ("reason", "Training; all, of it"),
    ];
    assert_eq!(maria.do_it("/console/blocked-times", &block), "blocked");
    let path = create(&maria);
    let summary = lines(&fixture, &path, "SUMMARY:");
    assert_eq!(summary, ["SUMMARY:Blocked (sales): Training\\; all\\, of it"]);
    let ours = text(&fixture.get(&path));
    assert!(ours.contains("X-WR-TIMEZONE:America/Los_Angeles\r\n"), "{ours}");
    assert!(ours.split("\r\n").all(|line| line.len() <= 75), "{ours}");

    let other = fixture.enter("other");
    let theirs = [("dealer", TWO), ("rooftop", ROOFTOP)];
    let theirs = address(&other.post("/console/calendar-feeds", &theirs));
    assert!(!text(&fixture.get(&theirs)).contains("Training"));
    assert!(text(&fixture.get(&theirs)).contains("test drive"));
}

#[test]
fn wrong_renewed_and_revoked_addresses_are_answered_alike() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let first = create(&maria);
    // Nobody gets another address by accident.
    let again = maria.post("/console/calendar-feeds", &OF);
    assert_eq!(again.status, 409, "{}", text(&again));
    let renew = [OF[0], OF[1], ("renew", "yes")];
    let second = address(&maria.post("/console/calendar-feeds", &renew));
    assert_ne!(first, second);
    assert_eq!(fixture.get(&second).status, 200);
    assert_eq!(maria.do_it("/console/calendar-feeds/revoke", &OF), "feed_revoked");
    assert_eq!(maria.post("/console/calendar-feeds/revoke", &OF).status, 404);
    let absent = fixture.get("/console/calendar/AAAA.ics");
    for path in [
        first.as_str(),
        &second,
        first.trim_end_matches(".ics"),
        "/console/calendar/.ics",
        "/console/calendar/feed",
    ] {
        let answer = fixture.get(path);
        assert_eq!((answer.status, &answer.body), (404, &absent.body), "{path}");
    }
    let recorded: Vec<_> = fixture
        .record(ONE)
        .into_iter()
        .filter(|(_, what, _)| what.starts_with("calendar_feed"))
        .map(|(who, what, detail)| format!("{who} {what} {}", detail.unwrap_or_default()))
        .collect();
    expect![[r#"
        maria calendar_feed_created Demo Toyota San Francisco
        maria calendar_feed_renewed Demo Toyota San Francisco
        calendar-feed calendar_feed_read Demo Toyota San Francisco
        maria calendar_feed_revoked Demo Toyota San Francisco"#]]
    .assert_eq(&recorded.join("\n"));
}

#[test]
fn the_store_and_the_record_have_no_secret() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let path = create(&maria);
    let secret = path.rsplit('/').next().unwrap().trim_end_matches(".ics").to_owned();
    // 256 bits in base64url.
    assert_eq!(secret.len(), 43);
    let page = text(&maria.get("/console/appointments"));
    assert!(page.contains("Renew address") && !page.contains(&secret), "{page}");
    let audit = text(&maria.get("/console/audit"));
    assert!(audit.contains("created the calendar feed") && !audit.contains(&secret), "{audit}");
    for entry in std::fs::read_dir(fixture.server.directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!is_there, "{} has the secret", path.display());
    }
}

#[test]
fn wrong_addresses_are_limited_and_sign_ins_are_not() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let path = create(&maria);
    for number in 0..20 {
        let answer = fixture.get(&format!("/console/calendar/wrong{number}.ics"));
        assert_eq!(answer.status, 404, "{number}");
    }
    let limited = fixture.get("/console/calendar/wrong.ics");
    assert_eq!(limited.status, 429);
    assert!(limited.header("retry-after").is_some());
    assert_eq!(fixture.get(&path).status, 429, "nothing is compared");
    fixture.enter("dora");
    fixture.hand.advance(SignedDuration::from_mins(5));
    assert_eq!(fixture.get(&path).status, 200);
    let recorded = fixture.record("*");
    let locked: Vec<_> = recorded.iter().filter(|(_, what, _)| what == "sign_in_locked").collect();
    let [(who, _, Some(detail))] = locked.as_slice() else { panic!("{recorded:?}") };
    assert_eq!(who, "sign-in");
    assert!(detail.starts_with("calendar feeds of this address, from 127."), "{detail}");
}

#[test]
fn a_feed_is_private_and_unchanged_ones_are_not_sent_again() {
    let fixture = Fixture::new();
    fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    let maria = fixture.enter("maria");
    let path = create(&maria);
    let answer = fixture.get(&path);
    assert_eq!(answer.header("cache-control"), Some("private, no-store"));
    assert_eq!(answer.header("set-cookie"), None);
    let etag = answer.header("etag").unwrap().to_owned();
    let ask = |etag: &str| {
        let headers = [("If-None-Match", etag)];
        client::request(fixture.address, "GET", &path, &headers, b"")
    };
    fixture.hand.advance(SignedDuration::from_mins(20));
    let same = ask(&etag);
    assert_eq!((same.status, same.body.len()), (304, 0));
    assert_eq!(same.header("etag"), Some(etag.as_str()));
    fixture.lead("one.example", &drive("Bob", "2026-05-01T19:00:00Z"));
    assert_eq!(ask(&etag).status, 200);
    let head = client::request(fixture.address, "HEAD", &path, &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
    for method in ["POST", "PUT", "DELETE", "PROPFIND"] {
        let answer = client::request(fixture.address, method, &path, &[], b"");
        assert_eq!(answer.status, 404, "{method}");
    }
}

#[test]
fn the_first_reading_of_each_day_is_recorded() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let path = create(&maria);
    let count = || {
        let recorded = fixture.record(ONE);
        recorded.iter().filter(|(_, what, _)| what == "calendar_feed_read").count()
    };
    for _ in 0..3 {
        fixture.get(&path);
    }
    assert_eq!(count(), 1);
    fixture.hand.advance(SignedDuration::from_hours(24));
    fixture.get(&path);
    assert_eq!(count(), 2);
}

#[test]
fn only_managers_of_the_dealer_create_and_revoke_feeds() {
    let fixture = Fixture::new();
    for (name, status) in [("dora", 403), ("egon", 403), ("other", 404), ("group", 200)] {
        let browser = fixture.enter(name);
        let answer = browser.post("/console/calendar-feeds", &OF);
        assert_eq!(answer.status, status, "{name}: {}", text(&answer));
    }
    for (name, status) in [("dora", 403), ("egon", 403), ("other", 404), ("maria", 303)] {
        let browser = fixture.enter(name);
        let answer = browser.post("/console/calendar-feeds/revoke", &OF);
        assert_eq!(answer.status, status, "{name}: {}", text(&answer));
    }
    let desk = text(&fixture.enter("dora").get("/console/appointments"));
    assert!(!desk.contains("Calendar feed"), "{desk}");
    let unknown = [("dealer", ONE), ("rooftop", "Nowhere")];
    let maria = fixture.enter("maria");
    assert_eq!(maria.post("/console/calendar-feeds", &unknown).status, 404);
}

#[test]
fn a_new_address_asks_for_the_password_after_a_while() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    fixture.hand.advance(SignedDuration::from_mins(6));
    let asked = maria.post("/console/calendar-feeds", &OF);
    assert_eq!(asked.status, 401);
    assert!(text(&asked).contains("name=\"rooftop\""), "{}", text(&asked));
    let fields = [OF[0], OF[1], ("confirm_password", PASSWORD)];
    assert_eq!(maria.post("/console/calendar-feeds", &fields).status, 200);
}

#[test]
fn a_feed_of_a_removed_rooftop_is_not_answered() {
    let before = Fixture::new();
    let path = create(&before.enter("maria"));
    let mut config = before.server.config().clone();
    config.dealers[0].terms.rooftops[0].profile.name = "Renamed".to_owned();
    let store = Store::open(before.server.directory.path()).unwrap();
    let fixture = Fixture::serve(support::start_on(store, config));
    assert_eq!(fixture.get(&path).status, 404);
}

/// The configuration of the first dealer, as the command line reads it.
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[server.console]
listen = "127.0.0.1:8090"
public_url = "https://desk.example.com"

[[dealers]]
id = "demo-auto-group"
name = "Demo Auto Group"
public_url = "https://demo-toyota.example.com"

[[dealers.rooftops]]
name = "Demo Toyota San Francisco"
"#;

fn feed(fixture: &Fixture, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(["appointments", "feed"]).args(arguments);
    command.arg("--data").arg(fixture.server.directory.path());
    command.output().unwrap()
}

#[test]
fn the_command_line_creates_lists_renews_and_revokes() {
    let fixture = Fixture::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tradepost.toml");
    std::fs::write(&path, CONFIG).unwrap();
    let config = path.to_str().unwrap();
    let out = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let create = ["create", "--rooftop", "demo toyota san francisco", "--config", config];
    let created = feed(&fixture, &create);
    assert_eq!(created.status.code(), Some(0), "{}", said(&created));
    let first = out(&created);
    let first = first.trim_end();
    let path = first.strip_prefix("https://desk.example.com").unwrap_or_else(|| panic!("{first}"));
    assert_eq!(fixture.get(path).status, 200);
    assert!(said(&created).contains("the address is shown only this time"), "{}", said(&created));

    let exists = feed(&fixture, &create);
    assert_eq!(exists.status.code(), Some(2));
    assert!(said(&exists).contains("--renew"), "{}", said(&exists));
    let wrong = ["create", "--rooftop", "Demo Toyota San Fransisco", "--config", config];
    let wrong = feed(&fixture, &wrong);
    assert!(said(&wrong).contains("did you mean Demo Toyota San Francisco?"), "{}", said(&wrong));

    let renew = [create.as_slice(), &["--renew", "--json"]].concat();
    let renewed = feed(&fixture, &renew);
    let document: Value = tradepost_document::json::from_slice(&renewed.stdout).unwrap();
    let second = document["address"].as_str().unwrap();
    assert_eq!(fixture.get(path).status, 404);
    let second = second.strip_prefix("https://desk.example.com").unwrap();
    assert_eq!(fixture.get(second).status, 200);

    let listed = feed(&fixture, &["list", "--json"]);
    let listed: Value = tradepost_document::json::from_slice(&listed.stdout).unwrap();
    let states: Vec<_> =
        listed.as_array().unwrap().iter().map(|one| one["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["revoked", "active"]);
    assert!(listed[1].get("address").is_none() && listed[1]["last_used_on"].is_string());
    let table = out(&feed(&fixture, &["list", "--rooftop", "Demo Toyota San Francisco"]));
    assert!(table.contains("active") && table.contains("cli:"), "{table}");

    let misspelled = feed(&fixture, &["revoke", "--rooftop", "Demo Toyota San Fransisco"]);
    assert_eq!(misspelled.status.code(), Some(2));
    assert!(
        said(&misspelled).contains("did you mean Demo Toyota San Francisco?"),
        "{}",
        said(&misspelled)
    );
    let revoked = feed(&fixture, &["revoke", "--rooftop", "Demo Toyota San Francisco"]);
    assert_eq!(out(&revoked), "the calendar feed of Demo Toyota San Francisco is revoked\n");
    assert_eq!(fixture.get(second).status, 404);
    let again = feed(&fixture, &["revoke", "--rooftop", "Demo Toyota San Francisco"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn feeds_are_the_same_on_postgresql() {
    let Some(scratch) = crate::support::postgres::Scratch::new() else { return };
    let fixture = Fixture::on(scratch.store());
    fixture.lead("one.example", &drive("Ada", "2026-05-01T18:00:00Z"));
    let maria = fixture.enter("maria");
    let first = create(&maria);
    assert_eq!(lines(&fixture, &first, "DTSTART:"), ["DTSTART:20260501T180000Z"]);
    let renew = [OF[0], OF[1], ("renew", "yes")];
    let second = address(&maria.post("/console/calendar-feeds", &renew));
    assert_eq!(fixture.get(&first).status, 404);
    assert_eq!(fixture.get(&second).status, 200);
    assert_eq!(maria.do_it("/console/calendar-feeds/revoke", &OF), "feed_revoked");
    assert_eq!(fixture.get(&second).status, 404);
}
