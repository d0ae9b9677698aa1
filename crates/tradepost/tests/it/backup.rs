//! `tradepost backup` and `restore`: beside a running server, into another folder, and with files that
//! were changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::Value;

use crate::process::{Process, data, fresh_lead};

fn tradepost(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).env_remove("TRADEPOST_SERVER__DATABASE");
    command.args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    tradepost_document::json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn leads(folder: &Path, name: &str) -> Vec<String> {
    let listed = tradepost(folder, &["leads", "list", "--json", "--data", name]);
    let listed = json(&listed);
    let ids = listed.as_array().unwrap().iter().map(|lead| lead["lead_id"].to_string());
    let mut ids: Vec<_> = ids.collect();
    ids.sort();
    ids
}

#[test]
fn what_a_server_acknowledged_comes_back_from_its_backup() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    for _ in 0..5 {
        assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null);
    }
    let source = data(folder.path());
    let source = source.to_str().unwrap();
    let backups = folder.path().join("backups");
    fs::create_dir(&backups).unwrap();
    fs::write(folder.path().join("words"), "correct horse battery staple\n").unwrap();
    let backed = ["backup", "backups", "--data", source, "--passphrase-file", "words", "--json"];
    let written = tradepost(folder.path(), &backed);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let written = json(&written);
    assert_eq!(written["encrypted"], true);
    let file = written["path"].as_str().unwrap();
    assert!(file.starts_with("backups/tradepost-2"), "{file}");
    let mode = fs::metadata(folder.path().join(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let bytes = fs::read(folder.path().join(file)).unwrap();
    assert!(!bytes.windows(11).any(|window| window == b"CREATE TABL"), "it is not encrypted");
    assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null, "the server goes on");

    let before = leads(folder.path(), source);
    let words = ["--passphrase-file", "words"];
    let restored =
        tradepost(folder.path(), &[&["restore", file, "--data", "new"][..], &words].concat());
    assert_eq!(restored.status.code(), Some(0), "{restored:?}");
    let after = leads(folder.path(), "new");
    assert_eq!((before.len(), after.len()), (6, 5), "the last one came after the backup");
    assert!(after.iter().all(|id| before.contains(id)));
    let verified = tradepost(folder.path(), &["leads", "verify", "--data", "new"]);
    assert_eq!(verified.status.code(), Some(0), "{verified:?}");

    // Over data only by force, and what was there is kept.
    let again = [&["restore", file, "--data", "new"][..], &words].concat();
    let refused = tradepost(folder.path(), &again);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let in_use = tradepost(
        folder.path(),
        &[&["restore", file, "--force", "--data", source][..], &words].concat(),
    );
    assert_eq!(in_use.status.code(), Some(1), "{in_use:?}");
    assert!(String::from_utf8_lossy(&in_use.stderr).contains("another server uses"), "{in_use:?}");
    drop(process);
    let forced = [&["restore", file, "--force", "--json", "--data", source][..], &words].concat();
    let forced = tradepost(folder.path(), &forced);
    assert_eq!(forced.status.code(), Some(0), "{forced:?}");
    let kept = json(&forced)["before"].as_str().unwrap().to_owned();
    assert_eq!(leads(folder.path(), source), after);
    assert_eq!(leads(folder.path(), &kept), before);
    let process = Process::bare(folder.path());
    assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null, "and it is served");
}

#[test]
fn a_changed_or_foreign_backup_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null);
    drop(process);
    let source = data(folder.path());
    let source = source.to_str().unwrap();
    let run = |arguments: &[&str]| tradepost(folder.path(), arguments);
    let written = run(&["backup", "whole", "--data", source]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    let existing = run(&["backup", "whole", "--data", source]);
    assert_eq!(existing.status.code(), Some(2), "{existing:?}");
    let whole = fs::read(folder.path().join("whole")).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(folder.path().join("key"), "00".repeat(32)).unwrap();
    for (what, bytes, more) in [
        ("changed", flipped, &[][..]),
        ("cut", whole[..whole.len() - 1].to_vec(), &[]),
        ("empty", Vec::new(), &[]),
        ("longer", [whole.as_slice(), b"x"].concat(), &[]),
        ("a database", fs::read(data(folder.path()).join("tradepost.sqlite")).unwrap(), &[]),
        ("with a key that is none", whole.clone(), &["--backup-key-file", "key"]),
    ] {
        fs::write(folder.path().join("given"), bytes).unwrap();
        for place in [&["--data", "new"][..], &["--check"], &["--force", "--data", source]] {
            let arguments = [&["restore", "given"][..], place, more].concat();
            let refused = run(&arguments);
            assert_eq!(refused.status.code(), Some(2), "{what}: {refused:?}");
        }
        assert!(!folder.path().join("new/tradepost.sqlite").exists(), "{what}");
    }
    assert_eq!(leads(folder.path(), source).len(), 1);
    let names = fs::read_dir(data(folder.path())).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names
        .filter(|name| {
            name.to_string_lossy().contains("copy-") || name.to_string_lossy().contains("before")
        })
        .collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(run(&["restore", "whole", "--check"]).status.code(), Some(0));
}

#[test]
fn a_database_server_is_left_to_its_own_tools() {
    let folder = tempfile::tempdir().unwrap();
    let url = "postgres://user:secret@127.0.0.1:1/none";
    for command in [["backup", "x"], ["restore", "x"]] {
        let refused = tradepost(folder.path(), &[&command[..], &["--database", url]].concat());
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("pg_dump") && !said.contains("secret"), "{said}");
    }
}

#[test]
fn a_backup_with_another_schema_is_refused_and_changes_nothing() {
    for (statement, named) in [
        (
            "CREATE TRIGGER spy AFTER INSERT ON leads BEGIN DELETE FROM audit_log; END",
            "the trigger \"spy\" of the table \"leads\" does not belong to tradepost",
        ),
        ("CREATE VIEW spy AS SELECT 1", "the view \"spy\""),
        ("DROP INDEX leads_by_person", "the index \"leads_by_person\" is missing"),
        ("ALTER TABLE staff ADD COLUMN spy TEXT", "the table \"staff\" is not as"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        drop(tradepost_store::Store::open(&source).unwrap());
        let database = rusqlite::Connection::open(source.join("tradepost.sqlite")).unwrap();
        database.execute_batch(statement).unwrap();
        drop(database);
        let written = tradepost(folder.path(), &["backup", "given", "--data", "source"]);
        assert_eq!(written.status.code(), Some(0), "{written:?}");
        let warned = String::from_utf8(written.stderr).unwrap();
        assert!(warned.contains("refuses this backup") && warned.contains(named), "{warned}");
        for place in [&["--data", "new"][..], &["--check"]] {
            let refused = tradepost(folder.path(), &[&["restore", "given"][..], place].concat());
            let said = String::from_utf8(refused.stderr).unwrap();
            assert!(refused.status.code() == Some(2) && said.contains(named), "{said}");
        }
        assert!(!folder.path().join("new/tradepost.sqlite").exists(), "{statement}");
    }
}
