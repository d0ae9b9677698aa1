//! Limits on failed sign-ins, and what is recorded, counted and told of them.

use expect_test::expect;
use tradepost_runtime::alerts::watch::AlertWatch;
use tradepost_runtime::config::AccessThresholds;
use tradepost_runtime::wiring;

use super::*;
use crate::support::postgres::Scratch;

const WRONG: &str = "wrong horse battery";

/// A console behind a proxy, so that each request has the address that it names.
fn proxied() -> Fixture {
    Fixture::with(|config| config.server.trust_forwarded_for = true)
}

/// Tries to sign in from an address, in a browser with these cookies.
fn attempt(
    fixture: &Fixture,
    address: &str,
    cookies: &str,
    name: &str,
    password: &str,
) -> Response {
    let page = fixture.get("/console/sign-in");
    let form = cookie(&page, "tradepost-form").unwrap();
    let fields = [("proof", proof(&page)), ("name", name.into()), ("password", password.into())];
    let cookies = format!("{form}; {cookies}");
    fixture.send("/console/sign-in", &cookies, &[("X-Forwarded-For", address)], &fields)
}

/// The cookie by which a browser is known after a sign-in, as `name=value`.
fn browser_cookie(answer: &Response) -> String {
    let set = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let mut pairs = set.filter_map(|(_, value)| value.split(';').next());
    pairs.find(|pair| pair.starts_with("tradepost-browser-")).unwrap().to_owned()
}

/// What is recorded of failures in a chain: the action, the subject and the detail.
fn failures(fixture: &Fixture, chain: &str) -> Vec<String> {
    let entries = fixture.server.store.entries(chain, i64::MAX, 1_000).unwrap();
    let said = entries.into_iter().rev().map(|entry| entry.said);
    let failed =
        said.filter(|said| said.actor == "sign-in" || said.action.to_string() == "access_refused");
    failed
        .map(|said| {
            let subject = said.subject.unwrap_or_else(|| "-".to_owned());
            format!("{} {} {subject}: {}", said.actor, said.action, said.detail.unwrap())
        })
        .collect()
}

#[test]
fn thirty_right_sign_ins_from_one_office_all_pass() {
    let fixture = Fixture::new();
    for number in 0..30 {
        let name = ["dora", "maria", "egon"][number % 3];
        assert_eq!(fixture.try_to_enter(name, PASSWORD).0.status, 303, "{number}");
    }
    let counted = fixture.metrics.write().unwrap();
    let expected = "tradepost_console_sign_ins_total{outcome=\"signed_in\"} 30";
    assert!(counted.lines().any(|line| line == expected), "{counted}");
}

/// How guesses at a name from sixty addresses are answered, as runs of one status.
fn guess_from_sixty_addresses(fixture: &Fixture, name: &str) -> Vec<(u16, usize)> {
    let mut runs: Vec<(u16, usize)> = Vec::new();
    for number in 0..60 {
        let answer = attempt(fixture, &format!("198.51.{number}.7"), "", name, WRONG);
        assert_eq!(answer.header("retry-after").is_some(), answer.status == 429);
        match runs.last_mut() {
            Some((status, times)) if *status == answer.status => *times += 1,
            _ => runs.push((answer.status, 1)),
        }
    }
    runs
}

#[test]
fn guesses_from_sixty_addresses_stop_without_locking_out() {
    let fixture = proxied();
    let known = browser_cookie(&attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD));
    assert_eq!(guess_from_sixty_addresses(&fixture, "dora"), [(401, 30), (429, 30)]);
    let locked = attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD);
    assert_eq!((locked.status, locked.header("retry-after")), (429, Some("720")));
    assert_eq!(attempt(&fixture, "203.0.113.7", &known, "dora", PASSWORD).status, 303);
    assert_eq!(
        attempt(&fixture, "203.0.113.7", "", "maria", PASSWORD).status,
        303,
        "others are free"
    );
    fixture.hand.advance(SignedDuration::from_mins(12));
    assert_eq!(attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD).status, 303, "it is over");
}

#[test]
fn unknown_names_are_limited_as_known_ones() {
    let fixture = proxied();
    assert_eq!(guess_from_sixty_addresses(&fixture, "nobody"), [(401, 30), (429, 30)]);
}

#[test]
fn a_known_browser_has_a_budget_of_its_own() {
    let fixture = proxied();
    let known = browser_cookie(&attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD));
    // Colleagues at the same address have used its budget up.
    for number in 0..20 {
        attempt(&fixture, "203.0.113.7", "", &format!("nobody{number}"), WRONG);
    }
    assert_eq!(attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD).status, 429);
    for _ in 0..10 {
        assert_eq!(attempt(&fixture, "203.0.113.7", &known, "dora", WRONG).status, 401);
    }
    assert_eq!(attempt(&fixture, "203.0.113.7", &known, "dora", PASSWORD).status, 429);
    // The budget of everybody else is untouched by it.
    assert_eq!(attempt(&fixture, "203.0.113.8", "", "dora", PASSWORD).status, 303);
}

#[test]
fn a_browser_cookie_is_bound_to_its_name_and_signed() {
    let fixture = proxied();
    let known = browser_cookie(&attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD));
    guess_from_sixty_addresses(&fixture, "maria");
    let (_, value) = known.split_once('=').unwrap();
    let of_maria = browser_cookie_name(&fixture, "egon").replace("egon", "maria");
    // The value under every name that the console may look for.
    let moved = format!("{known}; {of_maria}={value}");
    assert_eq!(attempt(&fixture, "203.0.113.7", &moved, "maria", PASSWORD).status, 429);
    guess_from_sixty_addresses(&fixture, "dora");
    let (name, value) = known.split_once('=').unwrap();
    for forged in [value.replacen('.', ".1", 1), value.to_uppercase(), String::new()] {
        let cookies = format!("{name}={forged}");
        assert_eq!(attempt(&fixture, "203.0.113.7", &cookies, "dora", PASSWORD).status, 429);
    }
    assert_eq!(attempt(&fixture, "203.0.113.7", &known, "dora", PASSWORD).status, 303);
    fixture.hand.advance(SignedDuration::from_hours(24 * 180));
    guess_from_sixty_addresses(&fixture, "dora");
    assert_eq!(attempt(&fixture, "203.0.113.7", &known, "dora", PASSWORD).status, 429, "too old");
}

#[test]
fn a_browser_cookie_from_before_a_new_password_is_unknown() {
    let fixture = proxied();
    let before = browser_cookie(&attempt(&fixture, "203.0.113.7", "", "dora", PASSWORD));
    let new = "another horse battery";
    let hashed = password::hash(new).unwrap();
    fixture.server.store.write_blocking(move |tx| tx.set_password("dora", &hashed)).unwrap();
    let after = browser_cookie(&attempt(&fixture, "203.0.113.7", &before, "dora", new));
    guess_from_sixty_addresses(&fixture, "dora");
    assert_eq!(attempt(&fixture, "203.0.113.7", &before, "dora", new).status, 429);
    assert_eq!(attempt(&fixture, "203.0.113.7", &after, "dora", new).status, 303);
}

#[test]
fn whoever_changes_their_own_password_stays_known() {
    let fixture = proxied();
    let dora = fixture.enter("dora");
    let new = "another horse battery";
    let fields = [("present", PASSWORD), ("new", new), ("again", new)];
    let known = browser_cookie(&dora.post("/console/account/password", &fields));
    guess_from_sixty_addresses(&fixture, "dora");
    assert_eq!(attempt(&fixture, "203.0.113.7", "", "dora", new).status, 429);
    assert_eq!(attempt(&fixture, "203.0.113.7", &known, "dora", new).status, 303);
}

/// The name of the cookie that a sign-in sets.
fn browser_cookie_name(fixture: &Fixture, name: &str) -> String {
    let set = browser_cookie(&attempt(fixture, "203.0.113.99", "", name, PASSWORD));
    set.split_once('=').unwrap().0.to_owned()
}

fn limits_hold_over_processes(stores: [Store; 2]) {
    let [one, two] = stores.map(|store| {
        let mut config = configured(|config| config.server.trust_forwarded_for = true);
        config.server.trust_forwarded_for = true;
        Fixture::serve(support::start_on(store, config))
    });
    one.add_people();
    let known = browser_cookie(&attempt(&one, "203.0.113.7", "", "dora", PASSWORD));
    for number in 0..30 {
        let fixture = if number % 2 == 0 { &one } else { &two };
        let answer = attempt(fixture, &format!("198.51.{number}.7"), "", "dora", WRONG);
        assert_eq!(answer.status, 401, "{number}");
    }
    for fixture in [&one, &two] {
        let answer = attempt(fixture, "203.0.113.7", "", "dora", PASSWORD);
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("720")));
    }
    // A browser that one process knows is known to the other, and its budget is one.
    for number in 0..10 {
        let fixture = if number % 2 == 0 { &one } else { &two };
        assert_eq!(attempt(fixture, "203.0.113.7", &known, "dora", WRONG).status, 401, "{number}");
    }
    assert_eq!(attempt(&two, "203.0.113.7", &known, "dora", PASSWORD).status, 429);
    // What both have counted is bounded in the record, and summed up once, by whoever comes first.
    assert_eq!(
        failures(&one, ONE).iter().filter(|line| line.contains("sign_in_failed")).count(),
        10
    );
    for fixture in [&one, &two, &one] {
        let later = at(NOW) + SignedDuration::from_hours(1);
        fixture.server.store.write_blocking(move |tx| tx.sum_up_failures(later)).unwrap();
    }
    let failed: Vec<_> = failures(&two, ONE).into_iter().skip(10).collect();
    let summed = failed.iter().filter(|line| line.contains("more in the hour"));
    assert_eq!(
        summed.collect::<Vec<_>>(),
        ["sign-in sign_in_failed dora: 30 more in the hour from 2026-04-30T12:00:00Z"]
    );
    // Nothing of it is kept for longer than it counts.
    let much_later = at(NOW) + SignedDuration::from_hours(24 * 3);
    one.server.store.write_blocking(move |tx| tx.forget_failures(much_later)).unwrap();
    assert!(two.server.store.access_counts(at(NOW)).unwrap().is_empty());
}

#[test]
fn limits_hold_over_processes_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    limits_hold_over_processes([scratch.store(), scratch.store()]);
}

#[test]
fn failures_are_recorded_by_network_and_bounded() {
    let fixture = proxied();
    attempt(&fixture, "203.0.113.77", "", "dora", WRONG);
    attempt(&fixture, "2001:db8:1:2::3", "", "group", WRONG);
    for number in 0..40 {
        let address = format!("198.51.100.{number}");
        attempt(&fixture, &address, "", &format!("stranger{number}"), WRONG);
    }
    expect![[r#"
        [
            "sign-in sign_in_failed dora: password from 203.0.113.0/24",
        ]
    "#]]
    .assert_debug_eq(&failures(&fixture, ONE));
    // Names that nobody has share the entries of an hour: nobody fills the record with them.
    let common = failures(&fixture, "*");
    assert_eq!(common.len(), 11, "{common:#?}");
    assert_eq!(common[0], "sign-in sign_in_failed group: password from 2001:db8:1::/48");
    assert_eq!(common[1], "sign-in sign_in_failed -: password from 198.51.100.0/24");
    fixture.hand.advance(SignedDuration::from_hours(1));
    let page = text(&fixture.enter("group").get("/console/audit?of=*"));
    assert!(page.contains("30 more in the hour from 2026-04-30T12:00:00Z"), "{page}");
    for whole in ["203.0.113.77", "2001:db8:1:2", "198.51.100.3", "stranger", WRONG] {
        assert!(!page.contains(whole), "{whole}");
        for chain in [ONE, "*"] {
            assert!(
                !failures(&fixture, chain).iter().any(|entry| entry.contains(whole)),
                "{whole}"
            );
        }
    }
    assert!(
        fixture.server.store.check_records().unwrap().iter().all(|check| check.faults.is_empty())
    );
}

#[test]
fn locks_and_refused_rights_are_recorded_and_counted() {
    let fixture = proxied();
    for _ in 0..12 {
        attempt(&fixture, "203.0.113.7", "", "dora", WRONG);
    }
    let egon = fixture.enter("egon");
    for path in ["/console/leads/lead_1", "/console/audit", "/console/audit"] {
        assert_eq!(egon.get(path).status, 403);
    }
    let recorded = failures(&fixture, ONE);
    expect![[r#"
        [
            "sign-in sign_in_failed dora: password from 203.0.113.0/24",
            "sign-in sign_in_locked dora: this name at this address, from 203.0.113.0/24",
            "egon access_refused -: GET /console/leads/{id}",
            "egon access_refused -: GET /console/audit",
            "egon access_refused -: GET /console/audit",
        ]
    "#]]
    .assert_debug_eq(&recorded[9..].to_vec());
    let counted = fixture.metrics.write().unwrap();
    for line in [
        "tradepost_console_sign_ins_total{outcome=\"wrong_password\"} 10",
        "tradepost_console_sign_ins_total{outcome=\"limited\"} 2",
        "tradepost_console_sign_ins_total{outcome=\"signed_in\"} 1",
        "tradepost_console_refused_actions_total{role=\"engineer\"} 3",
        "tradepost_console_refused_actions_total{role=\"desk\"} 0",
    ] {
        assert!(counted.lines().any(|counted| counted == line), "{line}\n{counted}");
    }
    for personal in ["dora", "203.0.113"] {
        assert!(!counted.contains(personal), "{counted}");
    }
}

#[test]
fn failures_above_a_threshold_are_told_until_over() {
    let fixture = proxied();
    let (clock, _hand) = Clock::manual(at(NOW));
    let watch = |access| AlertWatch {
        registry: wiring::registry(
            &fixture.server.config().server,
            &fixture.server.store,
            clock.clone(),
            vec![],
        )
        .0,
        store: Arc::clone(&fixture.server.store),
        agents: Box::new(Vec::new),
        answer_times: Box::new(Vec::new),
        identity: None,
        orders: None,
        disk: None,
        access,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let alerts_for = |access, hours| {
        let now = at(NOW) + SignedDuration::from_hours(hours);
        let found = runtime.block_on(watch(access).problems(now));
        let said = |problem: tradepost_runtime::alerts::watch::AlertProblem| {
            format!("{} {}: {}", problem.key, problem.level, problem.what)
        };
        found.problems.into_iter().map(said).collect::<Vec<_>>()
    };
    let few = AccessThresholds { failed_sign_ins: 10, locked_sign_ins: 1, refused_actions: 2 };
    for number in 0..9 {
        attempt(&fixture, &format!("198.51.{number}.7"), "", "nobody", WRONG);
    }
    assert!(alerts_for(few, 0).is_empty());
    for number in 9..24 {
        attempt(&fixture, &format!("198.51.{number}.7"), "", "nobody", WRONG);
    }
    for _ in 0..10 {
        attempt(&fixture, "203.0.113.7", "", "dora", WRONG);
    }
    let egon = fixture.enter("egon");
    (0..2).for_each(|_| drop(egon.get("/console/audit")));
    expect![[r#"
        [
            "access/access_refused 0: 2 requests to the console that the role does not permit in the last hour; the console's audit has the details",
            "access/sign_in_failed 1: 34 failed sign-ins to the console in the last hour; the console's audit has the details",
            "access/sign_in_locked 0: 1 sign-in locks of the console after failures in the last hour; the console's audit has the details",
        ]
    "#]]
    .assert_debug_eq(&alerts_for(few, 0));
    let never = AccessThresholds { failed_sign_ins: 0, locked_sign_ins: 0, refused_actions: 0 };
    assert!(alerts_for(never, 0).is_empty());
    assert!(alerts_for(few, 3).is_empty());
}
