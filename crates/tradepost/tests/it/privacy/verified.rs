//! `audit verify` compares notes and staff with the record, and opens everything that is encrypted.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::staff::{LeadNote, MemberDetail, StaffRole};
use tradepost_store::staff::StaffMember;
use tradepost_store::verification::{NoteFaultKind, StaffFaultKind};

use super::*;
use crate::support::postgres::Scratch;

/// A note that was written so many minutes after the beginning.
fn note(minutes: i64, text: &str) -> LeadNote {
    let at: Timestamp = at(NOW);
    LeadNote {
        at: at + SignedDuration::from_mins(minutes),
        author: "dora".to_owned(),
        text: Some(text.to_owned()),
    }
}

/// Lets somebody in, as the command does.
fn let_in(store: &Store, name: &str, password: &str) {
    let member = StaffMember {
        name: name.to_owned(),
        dealer_id: Some(dealer::ID.to_owned()),
        role: StaffRole::Desk,
        password: password.to_owned(),
        created_at: at(NOW),
    };
    let entry = NewAuditEntry {
        chain: dealer::ID.to_owned(),
        at: at(NOW),
        actor: "cli:ana".to_owned(),
        action: AuditAction::MemberAdded,
        subject: Some(name.to_owned()),
        detail: Some(MemberDetail::new(Some(StaffRole::Desk), Some(password)).to_string()),
    };
    let added = store.write_blocking(move |tx| {
        tx.record(&entry)?;
        tx.add_member(&member)
    });
    assert!(added.unwrap());
}

/// Two leads with three notes, and a member of the staff.
fn stocked(server: &TestServer) -> [String; 2] {
    let ada = send(server, &customer_lead("ada@example.com", "+14155550123"));
    let bob = send(server, &customer_lead("bob@example.com", "+14155550199"));
    add_note(server, &ada, note(1, "Has a sister."));
    add_note(server, &ada, note(2, "Comes on Friday."));
    add_note(server, &bob, note(3, "Wants a van."));
    let_in(&server.store, "dora", "$argon2id$of-dora");
    [ada, bob]
}

#[test]
fn notes_that_were_changed_moved_forged_or_removed_show() {
    for key in ["", FIRST] {
        let folder = tempfile::tempdir().unwrap();
        let server = serve(folder.path(), key);
        let [_, bob] = stocked(&server);
        let check = server.store.check_notes().unwrap();
        assert_eq!((check.verified, check.unverified, check.faults), (3, 0, vec![]));
        let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
        database.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM lead_notes").unwrap();
        let moved = format!("UPDATE lead_notes SET lead_id = '{bob}' WHERE key = 1");
        for (change, unexplained, missing, unreadable) in [
            ("UPDATE lead_notes SET text = 'None.', sealed_by = NULL WHERE key = 1", 1, 1, 0),
            ("UPDATE lead_notes SET author = 'eve' WHERE key = 1", 1, 1, 0),
            (&moved, 1, 1, 0),
            ("DELETE FROM lead_notes WHERE key = 2", 0, 1, 0),
            ("UPDATE lead_notes SET salt = NULL WHERE key = 1", 1, 1, 0),
            (
                "INSERT INTO lead_notes (lead_id, dealer_id, at, author, text)
                 SELECT lead_id, dealer_id, at, author, 'Forged.' FROM lead_notes WHERE key = 1",
                1,
                0,
                0,
            ),
            ("UPDATE lead_notes SET at = at + 1 WHERE key = 1", 1, 1, 0),
            (
                "UPDATE lead_notes SET text = (SELECT text FROM lead_notes WHERE key = 2),
                     salt = (SELECT salt FROM lead_notes WHERE key = 2) WHERE key = 1",
                1,
                1,
                0,
            ),
        ] {
            assert!(database.execute(change, []).unwrap() > 0, "{change}");
            let check = server.store.check_notes().unwrap();
            let count = |wanted: fn(&NoteFaultKind) -> bool| {
                check.faults.iter().filter(|fault| wanted(&fault.kind)).count()
            };
            let found_unreadable = count(|kind| *kind == NoteFaultKind::Unreadable);
            let found_unexplained = count(|kind| matches!(kind, NoteFaultKind::Unexplained { .. }));
            // What is encrypted does not even open where it was moved or changed.
            assert_eq!(
                found_unexplained + found_unreadable,
                unexplained + unreadable,
                "{key} {change}: {check:?}"
            );
            let found_missing = count(|kind| matches!(kind, NoteFaultKind::Missing { .. }));
            assert_eq!(found_missing, missing, "{key} {change}: {check:?}");
            database
                .execute_batch(
                    "DELETE FROM lead_notes; INSERT INTO lead_notes SELECT * FROM temp.kept",
                )
                .unwrap();
        }
        assert_eq!(server.store.check_notes().unwrap().faults, []);
    }
}

#[test]
fn the_command_says_what_fits_or_not_or_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    let verify = [&["audit", "verify"][..], &place].concat();
    let server = serve(folder.path(), FIRST);
    let [ada, bob] = stocked(&server);
    let said_first = said(FIRST, &verify);
    assert!(said_first.contains("notes: 3 as recorded"), "{said_first}");
    assert!(said_first.contains("staff: 1 as recorded"), "{said_first}");
    // Encrypting anew changes no hash, and erasing takes notes away with their lead.
    let both = format!("{SECOND},{FIRST}");
    drop(server);
    said(&both, &[&["privacy", "rekey"][..], &place].concat());
    said(SECOND, &[&["leads", "erase", "--lead", &bob][..], &place].concat());
    let said_then = said(SECOND, &verify);
    assert!(said_then.contains("notes: 2 as recorded"), "{said_then}");

    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    database.execute_batch("DELETE FROM lead_notes WHERE key = 1").unwrap();
    let (code, why) = complaint(SECOND, &verify);
    assert!(code == 1 && why.contains(&format!("{ada}: the note of entry")), "{why}");
    let (code, why) = complaint("", &verify);
    assert!(code == 1 && why.contains("--key-file"), "{why}");
}

#[test]
fn notes_and_passwords_before_the_hashes_are_called_unverifiable() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "");
    let [ada, _] = stocked(&server);
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    // As an older version wrote them: entries without hashes, rows without salts.
    let old = NewAuditEntry {
        chain: dealer::ID.to_owned(),
        at: at(NOW),
        actor: "dora".to_owned(),
        action: AuditAction::NoteAdded,
        subject: Some(ada.clone()),
        detail: None,
    };
    let entries = [
        old.clone(),
        NewAuditEntry {
            action: AuditAction::MemberAdded,
            subject: Some("egon".to_owned()),
            detail: Some("manager".to_owned()),
            ..old
        },
    ];
    server.store.record_all(entries.to_vec()).unwrap();
    let moment = at(NOW).as_millisecond();
    database
        .execute_batch(&format!(
            "INSERT INTO lead_notes (lead_id, dealer_id, at, author, text)
                 VALUES ('{ada}', '{id}', {moment}, 'dora', 'Called.');
             INSERT INTO staff (name, dealer_id, role, password, created_at)
                 VALUES ('egon', '{id}', 'manager', '$argon2id$old', {moment})",
            id = dealer::ID
        ))
        .unwrap();
    let output = tradepost("", &["audit", "verify", "--data", folder.path().to_str().unwrap()]);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains("1 notes cannot be verified"), "{talk}");
    assert!(talk.contains("1 passwords cannot be verified"), "{talk}");
    // Even of an old note it shows that it is gone.
    database.execute_batch("DELETE FROM lead_notes WHERE salt IS NULL").unwrap();
    assert_eq!(server.store.check_notes().unwrap().faults.len(), 1);
}

#[test]
fn staff_that_no_entry_of_the_record_explains_shows() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "");
    stocked(&server);
    let check = server.store.check_staff().unwrap();
    assert_eq!((check.members, check.unverified_passwords, check.faults), (1, 0, vec![]));
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    database.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM staff").unwrap();
    for (change, expected) in [
        ("UPDATE staff SET role = 'manager'", StaffFaultKind::OtherRole),
        ("UPDATE staff SET dealer_id = NULL", StaffFaultKind::OtherDealer),
        ("UPDATE staff SET password = '$argon2id$of-eve'", StaffFaultKind::OtherPassword),
        ("DELETE FROM staff", StaffFaultKind::NotRemoved),
        (
            "INSERT INTO staff SELECT 'eve', dealer_id, role, password, created_at FROM staff",
            StaffFaultKind::NotAdded,
        ),
    ] {
        database.execute(change, []).unwrap();
        let check = server.store.check_staff().unwrap();
        let kinds: Vec<_> = check.faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [expected], "{change}");
        database
            .execute_batch("DELETE FROM staff; INSERT INTO staff SELECT * FROM temp.kept")
            .unwrap();
    }
}

#[test]
fn members_changed_by_commands_are_as_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    drop(Store::open(folder.path()).unwrap());
    let run = |arguments: &[&str]| said("", &[arguments, &place].concat());
    run(&["console", "user", "add", "ada", "--role", "manager", "--all-dealers"]);
    run(&["console", "user", "add", "bob", "--role", "desk", "--all-dealers"]);
    run(&["console", "user", "set-password", "ada"]);
    run(&["console", "user", "remove", "bob"]);
    let verified = run(&["audit", "verify", "--json"]);
    let verified: Value = tradepost_document::json::from_str(&verified).unwrap();
    assert_eq!(verified["staff"], json!({"members": 1, "unverified_passwords": 0, "faults": []}));
    let listed = run(&["console", "audit"]);
    assert!(!listed.contains("password:"), "{listed}");
}

#[test]
fn everything_that_is_encrypted_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), FIRST);
    stocked(&server);
    let check = server.store.check_sealed().unwrap();
    assert!(check.opened >= 6 && check.faults.is_empty(), "{check:?}");
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    for (table, column) in [
        ("lead_submissions", "payload"),
        ("lead_submissions", "address"),
        ("consent_evidence", "body"),
        ("consent_evidence", "salt"),
        ("idempotency_keys", "reply"),
    ] {
        // Each takes the value of another row: nothing is lost, and nothing opens.
        database
            .execute_batch(&format!(
                "CREATE TEMP TABLE kept AS SELECT * FROM {table};
                 UPDATE {table} SET {column} = (SELECT max({column}) FROM temp.kept
                     WHERE temp.kept.{column} <> {table}.{column})"
            ))
            .unwrap();
        let check = server.store.check_sealed().unwrap();
        assert_eq!(check.faults.len(), 2, "{table}.{column}: {check:?}");
        assert!(
            check.faults.iter().all(|row| row.table == table && row.lead().is_some()),
            "{check:?}"
        );
        database
            .execute_batch(&format!(
                "PRAGMA foreign_keys = OFF; DELETE FROM {table};
                 INSERT INTO {table} SELECT * FROM temp.kept; DROP TABLE temp.kept"
            ))
            .unwrap();
    }
    assert_eq!(server.store.check_sealed().unwrap().faults, []);
}

#[test]
fn exchanged_secrets_of_second_factors_show() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), FIRST);
    for name in ["dora", "egon"] {
        let_in(&server.store, name, "$argon2id$of-somebody");
        let begun = server
            .store
            .write_blocking(move |tx| tx.begin_second_factor(name, "GEZDGNBVGY3TQOJQ", at(NOW)));
        assert!(begun.unwrap());
    }
    let check = server.store.check_sealed().unwrap();
    assert_eq!((check.opened, check.faults.len()), (2, 0));
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    let exchange = "UPDATE second_factors SET secret = (SELECT secret FROM second_factors AS other
                        WHERE other.name = 'egon') WHERE name = 'dora'";
    assert_eq!(database.execute(exchange, []).unwrap(), 1);
    let faults = server.store.check_sealed().unwrap().faults;
    let found: Vec<_> = faults.iter().map(|row| (row.table, row.member())).collect();
    assert_eq!(found, [("second_factors", Some("dora"))]);
    let verify = ["audit", "verify", "--data", folder.path().to_str().unwrap()];
    let (code, why) = complaint(FIRST, &verify);
    assert!(code == 1 && why.contains("member dora: a row of second_factors"), "{why}");
    assert!(!why.contains("unknown lead"), "{why}");
}

#[test]
fn a_note_of_another_type_is_named_beside_all_others() {
    for key in ["", FIRST] {
        let folder = tempfile::tempdir().unwrap();
        let server = serve(folder.path(), key);
        let [ada, bob] = stocked(&server);
        let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
        let change = "UPDATE lead_notes SET text = x'00ff' WHERE key = 1";
        assert_eq!(database.execute(change, []).unwrap(), 1);
        let change = "UPDATE lead_notes SET author = x'00ff' WHERE key = 3";
        assert_eq!(database.execute(change, []).unwrap(), 1);
        let check = server.store.check_notes().unwrap();
        let unreadable =
            check.faults.iter().filter(|broken| broken.kind == NoteFaultKind::Unreadable);
        let leads: BTreeSet<_> = unreadable.map(|fault| fault.lead_id.clone()).collect();
        assert_eq!(leads, BTreeSet::from([ada.clone(), bob]));
        assert_eq!(check.verified, 1);
        let verify = ["audit", "verify", "--data", folder.path().to_str().unwrap()];
        let (code, why) = complaint(key, &verify);
        assert!(code == 1 && why.contains(&format!("{ada}: a note does not open")), "{why}");
    }
}

#[test]
fn a_postgresql_is_verified_like_a_file() {
    let Some(scratch) = Scratch::new() else { return };
    let config = dealer::config();
    let store = scratch.store();
    assert!(store.unlock(&keys(FIRST), true, at(NOW)).unwrap());
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    stocked(&server);
    assert_eq!(server.store.check_notes().unwrap().verified, 3);
    assert_eq!(server.store.check_staff().unwrap().faults, []);
    let sealed = server.store.check_sealed().unwrap();
    assert!(sealed.opened >= 6 && sealed.faults.is_empty(), "{sealed:?}");
    scratch.say("DELETE FROM lead_notes WHERE key = 1");
    scratch.say("UPDATE staff SET role = 'manager'");
    scratch.say("UPDATE idempotency_keys SET reply = 'AAAA'");
    assert_eq!(server.store.check_notes().unwrap().faults.len(), 1);
    assert_eq!(server.store.check_staff().unwrap().faults.len(), 1);
    assert_eq!(server.store.check_sealed().unwrap().faults.len(), 2);
}
