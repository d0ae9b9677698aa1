//! A key that is lost for good: what it alone could read is given up, and the rest goes on.

use std::io::Write as _;
use std::process::Stdio;

use super::*;
use crate::support::postgres::Scratch;

/// Has a key forgotten, and types this.
fn forget(folder: &Path, key: &str, lost: &[&str], typed: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(["--json", "privacy", "forget-key", "--data", folder.to_str().unwrap()]);
    command.args(lost);
    command.env("USER", "ana").env_remove("SUDO_USER").env_remove("TRADEPOST_PRIVACY_KEY");
    if !key.is_empty() {
        command.env("TRADEPOST_PRIVACY_KEY", key);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let _ = process.stdin.take().unwrap().write_all(typed.as_bytes());
    process.wait_with_output().unwrap()
}

fn name(key: &str) -> String {
    keys(key).ids()[0].to_owned()
}

const ADA: (&str, &str) = ("ada@example.com", "+14155550123");
const BOB: (&str, &str) = ("bob@example.com", "+14155550199");

#[test]
fn with_the_only_key_leads_are_lost_and_it_reopens() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), FIRST);
    let ada = send(&server, &customer_lead(ADA.0, ADA.1));
    let bob = send(&server, &customer_lead(BOB.0, BOB.1));
    drop(server);
    let first = name(FIRST);
    let place = ["--data", folder.path().to_str().unwrap()];
    let (code, says) = complaint(SECOND, &[&["leads", "list"][..], &place].concat());
    assert_eq!(code, 2);
    assert!(says.contains(&first) && says.contains("forget-key"), "{says}");

    // What is not meant does nothing.
    for (key, lost, typed, code, why) in [
        (SECOND, first.as_str(), "", 1, "nothing was erased"),
        (SECOND, &first, "yes\n", 1, "nothing was erased"),
        (SECOND, &first, "erase 1 leads\n", 1, "nothing was erased"),
        (SECOND, "000000000000", "erase 2 leads\n", 2, "no data is encrypted with"),
        (FIRST, &first, "erase 2 leads\n", 2, "was given to the command"),
        ("", &first, "erase 2 leads\n", 2, "there is no key to continue with"),
    ] {
        let output = forget(folder.path(), key, &[lost], typed);
        let says = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{typed:?}: {says}");
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(says.contains(why) || out.contains(why), "{typed:?}: {says}{out}");
    }
    let server = serve(folder.path(), FIRST);
    assert_eq!(send(&server, &customer_lead(ADA.0, ADA.1)), ada, "all is as it was");
    drop(server);

    let output = forget(folder.path(), SECOND, &[&first], "erase 2 leads\n");
    let says = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{says}");
    assert!(says.contains("2 leads, 0 notes, "), "{says}");
    let done: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
    let mut leads = [ada.as_str(), bob.as_str()];
    leads.sort_unstable();
    assert_eq!(done["leads"], json!(leads));
    assert_eq!((&done["index_lost"], &done["forgotten"]), (&json!(true), &json!([first])));

    // A server with the new key, and everything that is in the record.
    let server = serve(folder.path(), SECOND);
    assert_eq!(server.store.privacy_keys().unwrap(), [name(SECOND)]);
    let sealing = server.store.sealing().unwrap();
    assert!(sealing.rows.iter().all(|(by, _)| *by == Some(name(SECOND))), "{sealing:?}");
    for lead in server.store.leads(None).unwrap() {
        assert_eq!(lead.state, tradepost_dealer::record::LeadState::Erased);
        assert_eq!(lead.submission.unreadable, None);
    }
    assert_eq!(server.store.check_consents(None, None).unwrap()[0].faults, []);
    assert_ne!(send(&server, &customer_lead(ADA.0, ADA.1)), ada, "nobody knows the customer again");
    drop(server);
    let record = said(SECOND, &[&["audit", "list", "--json"][..], &place].concat());
    assert!(record.contains("key_forgotten") && record.contains("2 leads, 0 notes"), "{record}");
    assert_eq!(record.matches("lead_erased").count(), 2, "{record}");
    said(SECOND, &[&["audit", "verify"][..], &place].concat());
    let again = forget(folder.path(), SECOND, &[&first], "erase 0 leads\n");
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn several_lost_keys_are_forgotten_together() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), FIRST);
    let ada = send(&server, &customer_lead(ADA.0, ADA.1));
    drop(server);
    let server = serve(folder.path(), &format!("{SECOND} {FIRST}"));
    let bob = send(&server, &customer_lead(BOB.0, BOB.1));
    drop(server);
    let third = "3".repeat(64);
    let first = name(FIRST);
    let second = name(SECOND);
    // One alone is not enough to go on, and nothing changes.
    let output = forget(folder.path(), &third, &[&first], "erase 1 leads\n");
    let says = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{says}");
    assert!(says.contains(&second) && says.contains("name all lost keys"), "{says}");

    let output = forget(folder.path(), &third, &[&first, &second], "erase 2 leads\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
    assert_eq!(done["forgotten"], json!([first, second]));
    let mut leads = [ada, bob];
    leads.sort_unstable();
    assert_eq!(done["leads"], json!(leads));
    let server = serve(folder.path(), &third);
    assert_eq!(server.store.privacy_keys().unwrap(), [name(&third)]);
}

/// Two keys of which one is lost, after `rekey` has not been done.
fn with_one_of_two(open: impl Fn() -> Store, servers: Option<&Scratch>) {
    let config = dealer::config();
    let serve = |key: &str| {
        let store = open();
        store.unlock(&keys(key), true, at(NOW)).unwrap();
        dealer::stock(&store, &config);
        start_on(store, config.clone())
    };
    let server = serve(FIRST);
    let ada = send(&server, &customer_lead(ADA.0, ADA.1));
    drop(server);
    let server = serve(&format!("{SECOND} {FIRST}"));
    let bob = send(&server, &customer_lead(BOB.0, BOB.1));
    let note = |text: &str| tradepost_dealer::staff::LeadNote {
        at: at(NOW),
        author: "dora".to_owned(),
        text: Some(text.to_owned()),
    };
    add_note(&server, &bob, note("Called."));
    drop(server);

    let store = open();
    let lost = [name(FIRST)];
    let found = store.only_by(&lost, &keys(SECOND)).unwrap();
    assert_eq!(
        (found.leads.as_slice(), found.notes, found.is_last),
        (&[ada.clone()][..], 0, false)
    );
    let entry = tradepost_dealer::staff::NewAuditEntry {
        chain: tradepost_dealer::staff::EVERYBODY.to_owned(),
        at: at(NOW),
        actor: "cli:ana".to_owned(),
        action: tradepost_dealer::staff::AuditAction::KeyForgotten,
        subject: Some(lost[0].clone()),
        detail: None,
    };
    if let Some(servers) = servers {
        // The one above was there a moment ago.
        let refused = store.forget_keys(&lost, &keys(SECOND), entry.clone()).unwrap_err();
        assert!(refused.to_string().contains("a server uses the database"), "{refused}");
        assert_eq!(store.only_by(&lost, &keys(SECOND)).unwrap(), found, "nothing was erased");
        servers.say("DELETE FROM processes");
    }
    store.forget_keys(&lost, &keys(SECOND), entry).unwrap();
    drop(store);

    let server = serve(SECOND);
    assert_eq!(send(&server, &customer_lead(BOB.0, BOB.1)), bob, "known by its key, as before");
    let history = server.history(&json!(bob));
    assert_eq!(history.lead.submission.payload["customer"]["last_name"], "Winterberg");
    let (_, notes) = server.store.lead_work(&bob).unwrap();
    assert_eq!(notes[0].text.as_deref(), Some("Called."));
    assert_eq!(server.history(&json!(ada)).lead.state, tradepost_dealer::record::LeadState::Erased);
    assert_eq!(server.store.check_consents(None, None).unwrap()[0].faults, []);
}

#[test]
fn with_one_of_two_keys_only_its_own_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    with_one_of_two(|| Store::open(folder.path()).unwrap(), None);
}

#[test]
fn with_one_key_only_its_own_is_lost_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    with_one_of_two(|| scratch.store(), Some(&scratch));
}
