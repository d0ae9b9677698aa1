//! Bad luck and ill will around the process: a log that nobody reads, a database that is locked, lost
//! or damaged, a disk that is full, a configuration that changes, a second server.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use expect_test::expect;
use jiff::SignedDuration;
use rusqlite::Connection;
use tradepost_document::json::{Value, json};

use crate::process::{DEALER, Process, data, fresh_lead, pause};
use crate::support::{TestServer, client, compare, lead, restart, start, start_with, with};

const QUESTION: &str = r#"{"type":"dealer.information.request"}"#;

fn question() -> Value {
    tradepost_document::json::from_str(QUESTION).unwrap()
}

/// Starts it for the bare dealer, with standard error in a pipe.
fn piped(folder: &Path) -> Process {
    let config = folder.join("tradepost.toml");
    fs::write(&config, DEALER).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(["serve", "--data"]).arg(data(folder)).arg("--config").arg(config);
    Process::run(folder, command, Stdio::piped())
}

fn get(process: &Process, path: &str) -> client::Response {
    client::request(process.address, "GET", path, &[], b"")
}

/// Looks until it is so.
fn eventually(what: &str, is: impl Fn() -> bool) {
    let found = (0..1_000).any(|_| is() || (pause(Duration::from_millis(10)), false).1);
    assert!(found, "{what}");
}

#[test]
fn an_unread_log_stops_nobody_and_counts_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = piped(folder.path());
    let mut log = process.stderr();
    // It logs every request; a pipe holds 64 KiB and the queue 4096 lines.
    let each = "GET /healthz HTTP/1.1\r\nHost: x\r\n";
    let last = "Connection: close\r\n\r\n";
    let many = format!("{}{each}{last}", format!("{each}\r\n").repeat(499));
    for _ in 0..12 {
        let answers = client::raw(process.address, many.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(answers.body).unwrap().matches("\"live\"").count(), 500);
    }
    assert_eq!(get(&process, "/healthz").status, 200);
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        text
    });
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
    let text = reading.join().unwrap();
    let missing = "lines of the log could not be written and are missing lines=";
    assert!(text.contains(missing), "{} lines, and none is missing", text.lines().count());
}

#[test]
fn a_log_that_is_closed_ends_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = piped(folder.path());
    drop(process.stderr());
    for _ in 0..3 {
        assert_eq!(process.post("/a2a", &[], "{")["error"]["code"], -32700);
    }
    assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null);
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}

#[test]
fn refusals_beyond_the_limit_are_counted_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let config = DEALER.replace("requests = 0", "requests = 5, window = \"1h\"");
    let process = Process::configured(folder.path(), &config.replace("trace", "info"));
    for number in 0..200 {
        let refused = process.call(&question())["error"]["data"]["code"] == "RATE_LIMITED";
        assert_eq!(refused, number >= 5, "{number}");
    }
    // What reaches no limit of a dealer is no way to fill the log either.
    for _ in 0..200 {
        process.post("/a2a", &[], "{");
    }
    process.signal("TERM");
    let log = folder.path().join("log");
    assert_eq!(process.end().code(), Some(0));
    let log = fs::read_to_string(log).unwrap();
    let counts = |code: &str| {
        let about = log.lines().filter(|line| line.contains(&format!("code=\"{code}\"")));
        let (counted, written): (Vec<_>, Vec<_>) =
            about.partition(|line| line.contains("requests="));
        let number = |line: &str| {
            line.rsplit_once("requests=").and_then(|(_, n)| n.trim().parse::<usize>().ok()).unwrap()
        };
        (written.len(), counted.iter().map(|line| number(line)).sum::<usize>())
    };
    assert_eq!(counts("RATE_LIMITED"), (0, 195), "{log}");
    let (written, counted) = counts("PARSE_ERROR");
    assert_eq!(written + counted, 200, "{log}");
    assert!((60..100).contains(&written), "{written} lines");
}

fn database(server: &TestServer) -> Connection {
    Connection::open(server.directory.path().join("tradepost.sqlite")).unwrap()
}

fn readiness(server: &TestServer) -> (u16, String) {
    let response = client::request(server.address, "GET", "/readyz", &[], b"");
    let answer = response.json();
    let message = answer.pointer("/error/message").or(answer.get("status"));
    (response.status, message.unwrap().as_str().unwrap().to_owned())
}

#[test]
fn under_a_lock_it_is_unready_and_leads_come_back() {
    let server = start_with(|config| {
        config.server.request_timeout = SignedDuration::from_millis(300);
    });
    let other = database(&server);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let row = "a store that does not answer within server.request_timeout";
    let keyed = with(lead(), &[("/idempotency_key", json!("locked"))]);
    let answer = server.call(&keyed);
    assert_eq!(answer.header("retry-after"), Some("5"));
    compare(
        row,
        &answer,
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32603,"message":"INTERNAL_ERROR: the dealer's agent failed to answer; try again later",
            "data":{"type":"aap.error","error_id":"err_<id>","code":"INTERNAL_ERROR","message":"the dealer's agent failed to answer; try again later",
              "retryable":true,"details":{"retry_after_ms":5000,"retry_after_seconds":5},"created_at":"2026-04-30T12:00:00Z"}}}
    "#]],
    );
    assert_eq!(readiness(&server), (503, "the store does not answer".to_owned()));
    let health = client::request(server.address, "GET", "/healthz", &[], b"");
    assert_eq!(health.status, 200);
    other.execute_batch("ROLLBACK").unwrap();
    eventually("it is ready again", || readiness(&server).0 == 200);
    // It was taken in the meantime, once, and whoever asks again hears so.
    assert_eq!(server.payload(&keyed)["data"]["status"], "received");
    assert_eq!(server.store.leads(None).unwrap().len(), 1);
}

#[test]
fn a_silent_store_is_logged_as_the_reason_of_readyz() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::configured(folder.path(), DEALER);
    let other = Connection::open(data(folder.path()).join("tradepost.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(get(&process, "/readyz").status, 503);
    other.execute_batch("ROLLBACK").unwrap();
    process.signal("TERM");
    let log = folder.path().join("log");
    assert_eq!(process.end().code(), Some(0));
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("not ready why=\"the store does not answer\""), "{log}");
}

#[test]
fn a_lost_database_takes_no_leads_until_a_restart() {
    fn away(path: &Path) {
        fs::rename(path, path.with_extension("away")).unwrap();
    }
    fn another(path: &Path) {
        away(path);
        fs::copy(path.with_extension("away"), path).unwrap();
    }
    let lost = "the database was deleted or replaced; nothing is taken until a restart";
    type LoseDatabase = fn(&Path);
    let ways: [(&str, LoseDatabase); 3] =
        [("tradepost.sqlite", away), ("tradepost.sqlite", another), ("tradepost.sqlite-wal", away)];
    for (file, lose) in ways {
        let server = start();
        assert_eq!(readiness(&server), (200, "ready".to_owned()));
        let path = server.directory.path().join(file);
        lose(&path);
        let refused = server.error(&lead());
        assert_eq!(
            (&refused["code"], &refused["retryable"], &refused["details"]["retry_after_ms"]),
            (&json!("INTERNAL_ERROR"), &json!(true), &json!(5000)),
            "{file}"
        );
        assert_eq!(readiness(&server), (503, lost.to_owned()), "{file}");
        // What only reads is answered.
        server.payload(&question());
        // Being back is not enough: nobody knows what was done to it.
        fs::rename(path.with_extension("away"), &path).unwrap();
        assert_eq!(server.error(&lead())["code"], "INTERNAL_ERROR", "{file}");
        assert_eq!(readiness(&server).0, 503, "{file}");
        let server = restart(server);
        assert_eq!(readiness(&server).0, 200, "{file}");
        let taken = server.payload(&with(lead(), &[("/customer/email", json!("bo@example.com"))]));
        assert_eq!(taken["data"]["status"], "received", "{file}");
    }
}

#[test]
fn an_overwritten_database_is_noticed_before_anybody_writes() {
    let server = start();
    let path = server.directory.path().join("tradepost.sqlite");
    // What is in the log of the database would be read instead.
    let mode = "PRAGMA wal_checkpoint(TRUNCATE)";
    database(&server).query_row(mode, [], |row| row.get::<_, i64>(0)).unwrap();
    let length = fs::metadata(&path).unwrap().len();
    let inode = fs::metadata(&path).unwrap().ino();
    fs::write(&path, vec![0x5a; usize::try_from(length).unwrap()]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode, "the file is the same");
    let damaged = "the database is damaged; nothing is taken until a restart";
    assert_eq!(readiness(&server), (503, damaged.to_owned()));
    assert_eq!(server.error(&lead())["code"], "INTERNAL_ERROR");
}

#[test]
fn below_the_free_space_leads_are_refused_questions_answered() {
    let server = start_with(|config| config.server.min_free_space = 1 << 50);
    assert_eq!(readiness(&server), (503, "there is too little free space".to_owned()));
    let refused = server.error(&lead());
    assert_eq!(
        (&refused["code"], &refused["retryable"], &refused["details"]["retry_after_seconds"]),
        (&json!("INTERNAL_ERROR"), &json!(true), &json!(5))
    );
    assert!(server.store.leads(None).unwrap().is_empty());
    server.payload(&question());
}

#[test]
fn a_store_is_not_ready_until_it_can_commit() {
    let server = start();
    assert_eq!(readiness(&server).0, 200);
    let breaks =
        "CREATE TABLE boom (seq INTEGER REFERENCES leads (seq) DEFERRABLE INITIALLY DEFERRED);
                  CREATE TRIGGER boom_too AFTER UPDATE ON health
                  BEGIN INSERT INTO boom VALUES (-1); END;
                  CREATE TRIGGER boom_three AFTER INSERT ON leads
                  BEGIN INSERT INTO boom VALUES (-1); END;";
    database(&server).execute_batch(breaks).unwrap();
    assert_eq!(server.error(&lead())["code"], "INTERNAL_ERROR");
    // Although it was ready a moment ago.
    assert_eq!(readiness(&server), (503, "the store cannot be written".to_owned()));
    let mends = "DROP TRIGGER boom_too; DROP TRIGGER boom_three;";
    database(&server).execute_batch(mends).unwrap();
    eventually("it is ready again", || readiness(&server).0 == 200);
}

#[test]
fn the_log_has_the_cause_under_the_callers_id() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let database = Connection::open(data(folder.path()).join("tradepost.sqlite")).unwrap();
    // The commit fails, of which several callers may hear.
    let breaks =
        "CREATE TABLE boom (seq INTEGER REFERENCES leads (seq) DEFERRABLE INITIALLY DEFERRED);
                  CREATE TRIGGER boom_too AFTER INSERT ON leads
                  BEGIN INSERT INTO boom VALUES (-1); END;";
    database.execute_batch(breaks).unwrap();
    let answer = process.call(&fresh_lead(&[]));
    let error_id = answer["error"]["data"]["error_id"].as_str().unwrap();
    let cause = "FOREIGN KEY constraint failed";
    eventually("the cause is in the log", || {
        process.log().lines().any(|line| line.contains(error_id) && line.contains(cause))
    });
}

#[test]
fn a_publishers_fault_is_logged_with_its_whole_cause() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path(), &["--demo-publisher", "--listen", "127.0.0.1:0"]);
    let database = Connection::open(data(folder.path()).join("tradepost.sqlite")).unwrap();
    database.execute_batch("ALTER TABLE publisher_things RENAME TO mislaid").unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "list_accounts", "arguments": {},
    }});
    let headers = [("Authorization", "Bearer demo-acme-outdoor-v1")];
    let answer = process.post("/mcp", &headers, &call.to_string());
    let error = &answer["result"]["structuredContent"]["adcp_error"];
    assert_eq!((&error["code"], &error["retry_after"]), (&json!("SERVICE_UNAVAILABLE"), &json!(5)));
    let error_id = error["details"]["error_id"].as_str().unwrap();
    eventually("the cause is in the log", || {
        process.log().lines().any(|line| line.contains(error_id) && line.contains("no such table"))
    });
}

/// Runs a command on the folder of a server.
fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(arguments).arg("--data").arg(data(folder)).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn nobody_changes_the_schema_under_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let database = Connection::open(data(folder.path()).join("tradepost.sqlite")).unwrap();
    let version =
        || database.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap();
    let newest = version();
    // A database that says that it is of the version before; nothing else is looked at first.
    let say = |version| database.pragma_update(None, "user_version", version).unwrap();
    say(newest - 1);
    let second = ["serve", "--demo", "--listen", "127.0.0.1:0"];
    for arguments in [&second[..], &["migrate"]] {
        let refused = run(folder.path(), arguments);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains("another server uses the data folder"), "{said}");
        assert_eq!((refused.status.code(), version()), (Some(1), newest - 1), "{arguments:?}");
    }
    let refused = run(folder.path(), &["leads", "list"]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("`tradepost serve` or `tradepost migrate` brings it up to date"),
        "{said}"
    );
    assert_eq!((refused.status.code(), version()), (Some(1), newest - 1));
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
    say(newest);
    assert_eq!(run(folder.path(), &["migrate"]).status.code(), Some(0));
    assert_eq!(run(folder.path(), &["leads", "list"]).status.code(), Some(0));
}

#[test]
fn commands_beside_a_running_server_wait_for_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null);
    let database = Connection::open(data(folder.path()).join("tradepost.sqlite")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    // One that shows no customers: who looks at those is recorded, and that is a change.
    let listed = run(folder.path(), &["leads", "deliveries", "--json"]);
    assert_eq!(listed.status.code(), Some(0), "{}", String::from_utf8_lossy(&listed.stderr));
}

#[test]
fn files_are_their_owners_whatever_folder_and_mask_permit() {
    let folder = tempfile::tempdir().unwrap();
    let data = data(folder.path());
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
    // One that an earlier version has left for everybody to read.
    fs::write(data.join("tradepost.sqlite"), "").unwrap();
    fs::set_permissions(data.join("tradepost.sqlite"), Permissions::from_mode(0o644)).unwrap();
    let config = folder.path().join("tradepost.toml");
    fs::write(&config, DEALER).unwrap();
    let mut command = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_tradepost");
    command.args(["-c", "umask 0; exec \"$0\" \"$@\"", program, "serve", "--data"]).arg(&data);
    command.arg("--config").arg(config);
    let process = Process::run(folder.path(), command, Stdio::null());
    assert_eq!(process.call(&fresh_lead(&[]))["error"], Value::Null);
    let mode = |name: &str| fs::metadata(data.join(name)).unwrap().permissions().mode() & 0o777;
    for name in ["", "-wal", "-shm"].map(|end| format!("tradepost.sqlite{end}")) {
        assert_eq!(mode(&name), 0o600, "{name}");
    }
    assert_eq!(mode("tradepost.lock"), 0o600);
}

#[test]
fn a_hangup_rereads_the_configuration_and_ends_no_process() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::configured(folder.path(), &DEALER.replace("trace", "info"));
    let config = folder.path().join("tradepost.toml");
    let name = || {
        let answer = process.call(&question());
        answer["result"]["message"]["parts"][0]["data"]["data"]["name"].as_str().unwrap().to_owned()
    };
    assert_eq!(name(), "Bare Motors");
    let other = DEALER.replace("Bare Motors\"", "Dressed Motors\"");
    let other = other.replace("[server]", "[server]\n    max_connections = 7");
    fs::write(&config, other).unwrap();
    process.signal("HUP");
    eventually("the dealer has the new name", || name() == "Dressed Motors");
    let waits = "what is new there waits";
    eventually("the log says what waits", || {
        process.log().lines().any(|l| l.contains(waits) && l.contains("server.max_connections"))
    });
    // The filter of the log is the new one.
    eventually("more is logged", || {
        process.call(&question());
        process.log().contains("answered")
    });
    fs::write(&config, "[server]\nlisten = 1\n").unwrap();
    process.signal("HUP");
    eventually("the log says why nothing changes", || {
        let log = process.log();
        log.contains("the configuration stays as it was") && log.contains("server.listen")
    });
    assert_eq!(name(), "Dressed Motors");
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}
