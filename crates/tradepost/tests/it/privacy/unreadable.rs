//! Rows that no key opens any more: what can be done without them is done, and they are named.

use std::sync::Arc;
use std::time::Duration;

use tradepost_dealer::delivery::DeliveryState;
use tradepost_runtime::delivery::Deliveries;
use tradepost_server::clock::Clock;
use tradepost_server::outbox::ClockAndRandom;

use super::*;
use crate::delivery::crm;
use crate::support::postgres::Scratch;
use crate::support::webhook::Webhook;

/// Makes everything that is kept of a lead unreadable: what was sent was cut, and the keys of the rest
/// are lost. Returns how many those are.
fn damage(folder: &Path, lead_id: &str) -> usize {
    let database = rusqlite::Connection::open(folder.join("tradepost.sqlite")).unwrap();
    let of_lead = format!("lead_id = '{lead_id}'");
    let cut = format!("lead_submissions SET payload = substr(payload, 1, 40) WHERE {of_lead}");
    assert_eq!(database.execute(&format!("UPDATE {cut}"), []).unwrap(), 1);
    let lost = [
        format!("lead_notes SET sealed_by = 'lost' WHERE {of_lead}"),
        format!("idempotency_keys SET sealed_by = 'lost' WHERE {of_lead}"),
        format!(
            "consent_evidence SET sealed_by = 'lost' WHERE submission IN
             (SELECT seq FROM lead_submissions WHERE {of_lead})"
        ),
    ];
    let rows = lost.map(|change| database.execute(&format!("UPDATE {change}"), []).unwrap());
    assert!(!rows.contains(&0), "{rows:?}");
    rows.iter().sum()
}

fn note(server: &TestServer, lead_id: &str) {
    let note = tradepost_dealer::staff::LeadNote {
        at: at(NOW),
        author: "dora".to_owned(),
        text: Some("Has a sister.".to_owned()),
    };
    add_note(server, lead_id, note);
}

/// Runs what does what it can: standard output and standard error.
fn partly(key: &str, arguments: &[&str]) -> (String, String) {
    let output = tradepost(key, arguments);
    let [said, talk] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!(output.status.code(), Some(1), "{said}\n{talk}");
    (said, talk)
}

fn json_of(text: &str) -> Value {
    tradepost_document::json::from_str(text).unwrap()
}

#[test]
fn an_unreadable_lead_stops_nothing_and_can_be_erased() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    let on = |words: &[&'static str]| -> Vec<String> {
        words.iter().chain(&place).map(|word| (*word).to_owned()).collect()
    };
    let run = |key: &str, words: &[&'static str]| {
        let words = on(words);
        partly(key, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let server = serve(folder.path(), FIRST);
    let ada = send(&server, &customer_lead("ada@example.com", "+14155550123"));
    let bob = send(&server, &customer_lead("bob@example.com", "+14155550199"));
    note(&server, &ada);
    note(&server, &bob);
    drop(server);
    let lost = damage(folder.path(), &bob) as u64;

    let (listed, talk) = run(FIRST, &["leads", "list"]);
    assert!(listed.contains("Adelheid Winterberg") && listed.contains("(unreadable)"), "{listed}");
    assert!(talk.contains(&bob) && talk.contains("leads erase --lead") && !talk.contains(&ada));
    let (listed, _) = run(FIRST, &["--json", "leads", "list"]);
    let why = |lead: &Value| (lead["lead_id"].clone(), lead["unreadable"].clone());
    let changed = "it was changed, or moved here from another row";
    let leads: Vec<_> = json_of(&listed).as_array().unwrap().iter().map(why).collect();
    assert_eq!(leads, [(json!(bob), json!(changed)), (json!(ada), json!(null))]);
    let (adf, _) = run(FIRST, &["leads", "export", "--format=adf"]);
    assert!(adf.contains("ada@example.com") && adf.matches("<prospect").count() == 1, "{adf}");
    let (csv, _) = run(FIRST, &["leads", "export", "--format=csv"]);
    assert!(csv.contains("ada@example.com") && csv.contains(&bob), "{csv}");
    let words = ["leads", "show", &bob, place[0], place[1]];
    let (shown, _) = partly(FIRST, &words);
    assert!(shown.contains(changed), "{shown}");

    // Of whom it is nobody can say, so it is named to everybody who asks.
    let (export, _) = run(FIRST, &["privacy", "export", "--email=ada@example.com"]);
    let export = json_of(&export);
    assert_eq!(export["leads"].as_array().unwrap().len(), 1);
    assert_eq!(export["leads"][0]["lead"]["lead_id"], ada);
    assert_eq!(export["unreadable"], json!([bob]));

    let both = format!("{SECOND}\n{FIRST}");
    let (done, talk) = run(&both, &["privacy", "rekey"]);
    assert!(done.contains("rows encrypted with the key"), "{done}");
    for table in ["lead_submissions", "consent_evidence", "lead_notes", "idempotency_keys"] {
        assert!(talk.contains(&format!("{table}: {bob}")), "{table}: {talk}");
    }
    let status = said(&both, &["--json", "privacy", "status", place[0], place[1]]);
    let status = json_of(&status);
    let [first, second] = [FIRST, SECOND].map(|key| keys(key).ids()[0].to_owned());
    let rows = |key: &str| {
        let of = |row: &&Value| row["key"] == key;
        status["rows"].as_array().unwrap().iter().find(of).unwrap()["rows"].as_u64().unwrap()
    };
    assert_eq!((rows("lost"), rows(&first), status["in_clear"].as_u64()), (lost, 1, Some(0)));
    assert!(rows(&second) >= 4, "{status}");
    let (again, _) = run(&both, &["--json", "privacy", "rekey"]);
    let again = json_of(&again);
    assert_eq!((&again["rows"], &again["other_keys"]), (&json!(0), &json!([first])), "{again}");

    let (erased, _) = run(&both, &["--json", "privacy", "erase", "--email=ada@example.com"]);
    assert_eq!(json_of(&erased), json!({"erased": [ada], "unreadable": [bob]}));
    let erase = ["--json", "privacy", "erase", "--lead", &bob, place[0], place[1]];
    assert_eq!(json_of(&said(&both, &erase)), json!({"erased": [bob], "unreadable": []}));
    said(&both, &["leads", "list", "--state=all", place[0], place[1]]);
    let done = said(&both, &["--json", "privacy", "rekey", place[0], place[1]]);
    assert_eq!(json_of(&done)["other_keys"], json!([]));
    let server = serve(folder.path(), SECOND);
    assert_eq!(server.store.check_consents(None, None).unwrap()[0].faults, []);
    assert_ne!(
        send(&server, &customer_lead("bob@example.com", "+14155550199")),
        bob,
        "nobody knows him"
    );
}

#[test]
fn an_unreadable_lead_waits_and_the_next_is_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiver = Webhook::start();
    let store = Store::open(folder.path()).unwrap();
    assert!(store.unlock(&keys(FIRST), true, at(NOW)).unwrap());
    let mut config = dealer::config();
    config.dealers[0].deliveries = vec![crm(receiver.url())];
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    let bob = send(&server, &customer_lead("bob@example.com", "+14155550199"));
    note(&server, &bob);
    damage(folder.path(), &bob);
    let again = server.error(&customer_lead("bob@example.com", "+14155550199"));
    assert_eq!(again["code"], "INTERNAL_ERROR", "what was answered cannot be said again");
    let ada = send(&server, &customer_lead("ada@example.com", "+14155550123"));

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let dealers: Vec<_> = server.config().dealers.iter().cloned().map(Arc::new).collect();
    let store = Arc::clone(&server.store);
    let deliveries = Deliveries::new(store, Clock::system(), ClockAndRandom::system());
    deliveries.replace(&dealers).unwrap();
    runtime.spawn(Arc::new(deliveries).run(std::future::pending(), Duration::ZERO));
    let [posted] = receiver.wait(1) else { panic!() };
    assert!(posted.body.contains(&ada) && !posted.body.contains(&bob), "{}", posted.body);
    loop {
        let kept = server.store.deliveries(None, Some(&bob), None).unwrap();
        if let [one] = kept.as_slice()
            && let Some(answer) = &one.answer
        {
            assert_eq!(answer, "it was changed, or moved here from another row");
            assert_eq!((one.state, one.may_have_arrived), (DeliveryState::Due, false));
            break;
        }
        std::thread::yield_now();
    }
}

/// A process that has the old key first writes after the other has forgotten it.
fn forgotten_too_early(open: impl Fn() -> Store) {
    let config = dealer::config();
    let late = open();
    dealer::stock(&late, &config);
    late.unlock(&keys(FIRST), true, at(NOW)).unwrap();
    let late = start_on(late, config);
    let ada = send(&late, &customer_lead("ada@example.com", "+14155550123"));
    let both = keys(&format!("{SECOND} {FIRST}"));
    let store = open();
    store.unlock(&both, true, at(NOW)).unwrap();
    store.rekey(|_| {}).unwrap();
    let [first, second] = [FIRST, SECOND].map(|key| keys(key).ids()[0].to_owned());
    assert_eq!(store.privacy_keys().unwrap(), std::slice::from_ref(&second));

    note(&late, &ada);
    let mut known = store.privacy_keys().unwrap();
    known.sort_unstable();
    let mut expected = [first, second];
    expected.sort_unstable();
    assert_eq!(known, expected, "whoever throws the old key away now is told");
    assert!(open().unlock(&keys(SECOND), true, at(NOW)).is_err());
    let (_, notes) = store.lead_work(&ada).unwrap();
    assert_eq!(notes[0].text.as_deref(), Some("Has a sister."));
    assert_eq!(store.rekey(|_| {}).unwrap().rows, 1);
    open().unlock(&keys(SECOND), true, at(NOW)).unwrap();
}

#[test]
fn a_key_that_was_forgotten_too_early_is_known_again() {
    let folder = tempfile::tempdir().unwrap();
    forgotten_too_early(|| {
        Store::attach(folder.path()).or_else(|_| Store::open(folder.path())).unwrap()
    });
    let Some(scratch) = Scratch::new() else { return };
    forgotten_too_early(|| scratch.store());
}
