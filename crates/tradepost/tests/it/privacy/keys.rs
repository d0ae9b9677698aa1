//! Keys that are given, take each other's place, and are lost.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tradepost_dealer::record::LeadRecord;

use super::*;
use crate::support::postgres::Scratch;

/// What stands in the leads of [`of`].
const WORDS: [&str; 4] = ["winterberg", "quarzhausen", "ada@example", "14155550123"];

/// Everything that can be asked of what was kept before, whoever has sealed it.
fn all_is_there(server: &TestServer, ada: &str, bob: &str) {
    let history = server.history(&json!(ada));
    assert_eq!(history.lead.submission.payload["customer"]["last_name"], "Winterberg");
    assert_eq!(history.lead.submission.address.as_deref(), Some("127.0.0.1"));
    // The same key, and the same customer and car: whoever it was is known again.
    assert_eq!(send(server, &customer_lead("ada@example.com", "+14155550123")), ada);
    assert_eq!(server.store.leads_of_contact(None, "email:bob@example.com").unwrap().leads, [bob]);
    let checks = server.store.check_consents(None, None).unwrap();
    assert_eq!(checks[0].faults, []);
    let filter = tradepost_store::staff::LeadFilter { limit: 9, ..Default::default() };
    let found = |text| server.store.find_leads(&filter, text).unwrap().leads;
    assert_eq!(found("quarzHAUSEN").len(), 2);
    assert_eq!(found("bob@")[0].lead.lead_id, bob);
    let (_, notes) = server.store.lead_work(ada).unwrap();
    assert_eq!(notes[0].text.as_deref(), Some("Called; comes on Friday."));
}

fn two_leads(server: &TestServer) -> [String; 2] {
    let ada = send(server, &customer_lead("ada@example.com", "+14155550123"));
    let bob = send(server, &customer_lead("bob@example.com", "+14155550199"));
    let note = tradepost_dealer::staff::LeadNote {
        at: at(NOW),
        author: "dora".to_owned(),
        text: Some("Called; comes on Friday.".to_owned()),
    };
    add_note(server, &ada, note);
    [ada, bob]
}

#[test]
fn clear_data_is_encrypted_and_goes_over_to_another_key() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    let server = serve(folder.path(), "");
    let [ada, bob] = two_leads(&server);
    all_is_there(&server, &ada, &bob);
    assert!(!found(folder.path(), &WORDS).is_empty());
    drop(server);

    // A server that has a key reads both; what is new is encrypted.
    let server = serve(folder.path(), FIRST);
    all_is_there(&server, &ada, &bob);
    drop(server);
    let status = said(FIRST, &[&["--json", "privacy", "status"][..], &place].concat());
    let status: Value = tradepost_document::json::from_str(&status).unwrap();
    assert!(status["in_clear"].as_u64().unwrap() > 0, "{status}");
    let done = said(FIRST, &[&["privacy", "rekey"][..], &place].concat());
    assert!(done.contains("rows encrypted with the key "), "{done}");
    assert_eq!(found(folder.path(), &WORDS), [""; 0]);
    let server = serve(folder.path(), FIRST);
    all_is_there(&server, &ada, &bob);
    drop(server);

    // The next key is put before the first, and then the first is thrown away.
    let both = format!("{SECOND}\n{FIRST}");
    let server = serve(folder.path(), &both);
    all_is_there(&server, &ada, &bob);
    // While a server runs that has both.
    let done = said(&both, &[&["privacy", "rekey", "--json"][..], &place].concat());
    let done: Value = tradepost_document::json::from_str(&done).unwrap();
    assert_eq!(done["other_keys"], json!([]), "{done}");
    all_is_there(&server, &ada, &bob);
    drop(server);
    let server = serve(folder.path(), SECOND);
    all_is_there(&server, &ada, &bob);
    assert!(Store::attach(folder.path()).unwrap().unlock(&keys(FIRST), true, at(NOW)).is_err());
    let erased = server.store.erase_customer(None, "email:ada@example.com", "cli:ana", at(NOW));
    assert_eq!(erased.unwrap().leads, [ada.as_str()]);
    assert_ne!(
        send(&server, &customer_lead("ada@example.com", "+14155550123")),
        ada,
        "nobody knows the key now"
    );
    assert_eq!(server.store.check_consents(None, None).unwrap()[0].faults, []);
    let again = said(SECOND, &[&["privacy", "rekey"][..], &place].concat());
    assert!(again.starts_with("0 rows"), "{again}");
}

/// Stops after each step in turn, and goes on.
fn stopped_anywhere(open: impl Fn() -> Store) {
    let config = dealer::config();
    let store = open();
    dealer::stock(&store, &config);
    let server = start_on(store, config.clone());
    let [ada, bob] = two_leads(&server);
    drop(server);
    let both = format!("{SECOND} {FIRST}");
    for (key, steps) in [(FIRST, 1..8), (&both, 1..8)] {
        for step in steps {
            let store = open();
            store.unlock(&keys(key), true, at(NOW)).unwrap();
            let mut left = step;
            let stop = |_| {
                left -= 1;
                assert!(left > 0, "it is stopped here");
            };
            let _ = catch_unwind(AssertUnwindSafe(|| store.rekey(stop)));
            drop(store);
            let store = open();
            store.unlock(&keys(key), false, at(NOW)).unwrap();
            all_is_there(&start_on(store, config.clone()), &ada, &bob);
        }
        let store = open();
        store.unlock(&keys(key), true, at(NOW)).unwrap();
        store.rekey(|_| {}).unwrap();
        let sealing = store.sealing().unwrap();
        let first = keys(key).ids()[0].to_owned();
        assert_eq!(sealing.keys, std::slice::from_ref(&first));
        assert!(sealing.rows.iter().all(|(by, _)| by.as_ref() == Some(&first)), "{sealing:?}");
    }
}

#[test]
fn a_change_of_keys_can_be_stopped_after_every_step() {
    let folder = tempfile::tempdir().unwrap();
    stopped_anywhere(|| Store::open(folder.path()).unwrap());
}

#[test]
fn a_change_of_keys_can_be_stopped_anywhere_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    stopped_anywhere(|| scratch.store());
    for table in [
        "lead_submissions",
        "consent_evidence",
        "lead_contacts",
        "lead_matches",
        "idempotency_keys",
    ] {
        let rows = scratch.say(&format!("SELECT CAST(t AS TEXT) FROM {table} t"));
        let text = rows.join("\n").to_ascii_lowercase();
        assert!(!rows.is_empty() && !WORDS.iter().any(|word| text.contains(word)), "{text}");
    }
}

#[test]
fn rows_that_were_exchanged_or_changed_do_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), FIRST);
    let [ada, bob] = two_leads(&server);
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    database.execute_batch("CREATE TABLE kept AS SELECT * FROM lead_submissions").unwrap();
    for (change, is_of_consent) in [
        ("payload = (SELECT k.payload FROM kept k WHERE k.seq <> lead_submissions.seq)", true),
        ("lead_id = (SELECT k.lead_id FROM kept k WHERE k.seq <> lead_submissions.seq)", false),
        ("dealer_id = 'other'", false),
        ("address = payload", true),
        // Another first letter, whatever the random one is.
        ("payload = iif(substr(payload, 1, 1) = 'A', 'B', 'A') || substr(payload, 2)", true),
        ("payload = substr(payload, 1, 40)", true),
    ] {
        database.execute_batch(&format!("UPDATE lead_submissions SET {change}")).unwrap();
        let leads = server.store.leads(None).unwrap();
        let why = |lead: &LeadRecord| lead.submission.unreadable.clone();
        let changed = "it was changed, or moved here from another row";
        let whys: Vec<_> = leads.iter().filter_map(why).collect();
        assert!(!whys.is_empty() && whys.iter().all(|why| why == changed), "{change}: {whys:?}");
        for lead in leads.iter().filter(|lead| lead.submission.unreadable.is_some()) {
            assert_eq!(lead.submission.payload, Value::Null);
            assert_eq!(lead.submission.address, None);
        }
        let checks = server.store.check_consents(None, None).unwrap();
        assert_eq!(!checks[0].faults.is_empty(), is_of_consent, "{change}");
        let restored = ["payload", "lead_id", "dealer_id", "address"].map(|column| {
            format!("{column} = (SELECT k.{column} FROM kept k WHERE k.seq = lead_submissions.seq)")
        });
        let restored = format!("UPDATE lead_submissions SET {}", restored.join(", "));
        database.execute_batch(&restored).unwrap();
        all_is_there(&server, &ada, &bob);
    }
}
