//! The record of who saw and did what, and files that are checked without us.

use super::*;

#[test]
fn what_commands_do_is_recorded_before_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    let run = |arguments: &[&str]| said("", &[arguments, &place].concat());
    let server = serve(folder.path(), "");
    let ada = send(&server, &customer_lead("ada@example.com", "+14155550123"));
    run(&["leads", "list"]);
    run(&["leads", "show", &ada]);
    run(&["leads", "export", "--format=csv"]);
    run(&["--json", "leads", "list"]);
    run(&["leads", "revoke", &ada]);
    run(&["leads", "erase", "--email", "ada@example.com"]);
    let listed = run(&["--json", "audit", "list"]);
    let listed: Value = tradepost_document::json::from_str(&listed).unwrap();
    let shown: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .map(|entry| {
            format!(
                "{} {} {} {}",
                entry["actor"],
                entry["action"],
                entry["subject"] == ada,
                entry["detail"]
            )
        })
        .collect();
    let ana = |rest: &str| format!("\"cli:ana\" {rest}");
    assert_eq!(
        shown,
        [
            ana("\"leads_listed\" false \"1\""),
            ana("\"lead_seen\" true null"),
            ana("\"lead_exported\" true \"csv\""),
            ana("\"lead_exported\" true \"json\""),
            ana("\"consent_revoked\" true null"),
            ana("\"lead_erased\" true null"),
        ]
    );
    // What cannot be recorded is not shown.
    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    let bob = send(&server, &customer_lead("bob@example.com", "+14155550199"));
    database.execute_batch("ALTER TABLE audit_log RENAME TO mislaid").unwrap();
    for arguments in [
        &["leads", "show", &bob][..],
        &["leads", "list"],
        &["leads", "export"],
        &["leads", "evidence", &bob],
    ] {
        let output = tradepost("", &[arguments, &place].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn changed_entries_are_named_and_cut_off_ones_missed() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    let server = serve(folder.path(), "");
    let ada = send(&server, &customer_lead("ada@example.com", "+14155550123"));
    for _ in 0..4 {
        said("", &[&["leads", "show", &ada][..], &place].concat());
    }
    let heads = folder.path().join("heads.json");
    let heads = heads.to_str().unwrap();
    said("", &[&["audit", "export", "--head", "--out", heads][..], &place].concat());
    let record = folder.path().join("record.jsonl");
    let record = record.to_str().unwrap();
    said("", &[&["audit", "export", "--dealer", dealer::ID, "--out", record][..], &place].concat());
    let verify = [&["audit", "verify"][..], &place].concat();
    let against = [&["audit", "verify", "--head", heads][..], &place].concat();
    assert!(said("", &verify).contains("5 entries, head "));
    said("", &against);
    assert!(said("", &["audit", "verify", "--file", record]).contains("5 entries, head "));
    let text = std::fs::read_to_string(record).unwrap();
    std::fs::write(record, text.replacen("lead_seen", "lead_erased", 1)).unwrap();
    let (code, why) = complaint("", &["audit", "verify", "--file", record]);
    assert!(code == 1 && why.contains("entry 1"), "{why}");

    let database = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    let chain = dealer::ID;
    for (change, undo, entry) in [
        ("actor = 'eve' WHERE seq = 3", "actor = 'cli:ana' WHERE seq = 3", "entry 3"),
        ("deed = 'nothing' WHERE seq = 2", "deed = 'lead_seen' WHERE seq = 2", "entry 2"),
        ("at = at - 1 WHERE seq = 1", "at = at + 1 WHERE seq = 1", "entry 1"),
        (
            "subject = NULL WHERE seq > 1",
            &format!("subject = '{ada}' WHERE seq BETWEEN 2 AND 4"),
            "entry 2",
        ),
    ] {
        database.execute_batch(&format!("UPDATE audit_log SET {change}")).unwrap();
        let (code, why) = complaint("", &verify);
        let first = why.lines().next().unwrap();
        assert!(code == 1 && first.contains(&format!("{chain}: {entry} ")), "{change}: {why}");
        let output = tradepost("", &[&["--json"][..], &verify].concat());
        let document: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["error"]["intact"], false, "{document}");
        database.execute_batch(&format!("UPDATE audit_log SET {undo}")).unwrap();
    }
    said("", &verify);
    database.execute_batch("DELETE FROM audit_log WHERE seq >= 4").unwrap();
    said("", &verify);
    let (code, why) = complaint("", &against);
    assert!(
        code == 1 && why.contains("entry 4 of the audit log, whose hash was exported"),
        "{why}"
    );
    database.execute_batch("DELETE FROM audit_log").unwrap();
    assert_eq!(complaint("", &against).0, 1);
    database.execute_batch("DELETE FROM consent_log").unwrap();
    let (_, why) = complaint("", &against);
    assert!(why.contains("record 1 of the consents, whose hash was exported"), "{why}");
    let (code, why) = complaint("", &[&["audit", "verify", "--head", record][..], &place].concat());
    assert!(code == 2 && why.contains("does not contain the last hashes"), "{why}");
}

#[test]
fn evidence_is_checked_without_database_and_every_change_shows() {
    let folder = tempfile::tempdir().unwrap();
    let place = ["--data", folder.path().to_str().unwrap()];
    let server = serve(folder.path(), FIRST);
    let words = "You may call me.</script><script>alert(1)</script> \u{202e}Really & \"truly\".";
    let payload = with(
        customer_lead("ada@example.com", "+14155550123"),
        &[("/consent/consent_text", json!(words))],
    );
    let ada = send(&server, &payload);
    send(&server, &customer_lead("bob@example.com", "+14155550199"));
    let file = folder.path().join("evidence.html");
    let file = file.to_str().unwrap();
    said(FIRST, &[&["leads", "show", &ada][..], &place].concat());
    said(FIRST, &[&["leads", "evidence", &ada, "-o", file][..], &place].concat());
    let verify = ["audit", "verify", "--evidence", file];
    let checked = said("", &verify);
    assert!(
        checked.contains(&ada) && checked.contains("1 records of consents and 1 entries match"),
        "{checked}"
    );
    said("", &[&verify[..], &["--recorded"], &place].concat());

    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains("<script>") && !text.contains('\u{202e}'), "nothing of it is markup");
    assert!(text.contains("You may call me.&lt;/script&gt;"), "{text}");
    for (from, to, why) in [
        ("You may call me.&lt;", "You may not call me.&lt;", "what the page shows"),
        ("127.0.0.1", "192.0.2.1", "who sent it"),
        ("You may call me.", "You may not call me.", "the consent is not"),
        ("\"body\":\"{", "\"body\":\" {", "the bytes as sent"),
        ("\"actor\":\"cli:ana\"", "\"actor\":\"cli:eve\"", "entry 1 of the record"),
        (&ada, "lead_of_somebody_else", "its hash does not fit"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        std::fs::write(file, changed).unwrap();
        let (code, said) = complaint("", &verify);
        assert!(code == 1 && said.contains(why), "{from}: {said}");
    }
    // A whole new page of changed data fits itself where no hash is of it; the record knows it is another.
    let mut document: Value = {
        let data = text.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        tradepost_document::json::from_str(data).unwrap()
    };
    document["lead"]["rooftop"] = json!("Elsewhere");
    std::fs::write(file, tradepost_runtime::evidence::write(&document)).unwrap();
    said("", &verify);
    let (code, why) = complaint(FIRST, &[&verify[..], &["--recorded"], &place].concat());
    assert!(code == 1 && why.contains("the audit log names no file"), "{why}");
    std::fs::write(file, "<p>nothing").unwrap();
    assert_eq!(complaint("", &verify).0, 2);

    // Of an erased lead the hashes are left.
    said(FIRST, &[&["privacy", "erase", "--email", "ada@example.com"][..], &place].concat());
    std::fs::remove_file(file).unwrap();
    said(FIRST, &[&["leads", "evidence", &ada, "-o", file][..], &place].concat());
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains("You may call") && text.contains("erased"));
    said("", &verify);
}
