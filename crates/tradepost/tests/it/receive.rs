//! Receiving push deliveries: the binary as a process, and what is left when it is killed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use crate::conformance::Profile;
use tradepost_client::receiver::delivery::ReceivedDelivery;
use tradepost_client::receiver::{Inbox as _, Put};
use tradepost_commands::receive::inbox::DurableInbox;
use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;

use crate::support::client;
use crate::support::conformance::start_conformance;

mod adcp;
mod killed;
mod router;

const TOKEN: &str = "the-token-of-these-tests";

/// A running `tradepost receive`.
struct Receiving {
    child: Child,
    out: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Receiving {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let tokens = folder.join("tokens");
        fs::write(&tokens, format!("an-older-token-of-these-tests\n{TOKEN}\n")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["receive", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder)
            .arg("--token-file")
            .arg(&tokens)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.trim().strip_suffix("/webhook")?.parse().ok());
        let address = address.unwrap_or_else(|| panic!("{line:?} instead of the address"));
        Self { child, out, address }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line
    }

    fn signal(mut self, name: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let script = ["-c", "kill -s \"$1\" \"$2\"", "sh", name, &pid];
        assert!(Command::new("sh").args(script).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const JSON: (&str, &str) = ("Content-Type", "application/a2a+json");

fn post(address: SocketAddr, headers: &[(&str, &str)], body: &str) -> client::Response {
    client::request(address, "POST", "/webhook", headers, body.as_bytes())
}

/// Posts as a seller does that has the token.
fn deliver(address: SocketAddr, body: &str) -> u16 {
    let bearer = format!("Bearer {TOKEN}");
    post(address, &[JSON, ("Authorization", &bearer)], body).status
}

fn update(task: &str, state: &str, second: usize) -> String {
    json!({"statusUpdate": {"taskId": task, "contextId": "c", "status": {
        "state": format!("TASK_STATE_{state}"),
        "timestamp": format!("2026-04-30T12:00:{second:02}.000Z")}}})
    .to_string()
}

/// Runs a subcommand on a folder.
fn receive(folder: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["--json", "receive"])
        .args(arguments)
        .arg("--data")
        .arg(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tradepost_document::json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_answer_has_its_status_and_says_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut receiving = Receiving::start(folder.path(), &[]);
    let bearer = format!("Bearer {TOKEN}");
    let good = ("Authorization", bearer.as_str());
    let one = update("t", "WORKING", 1);
    let large = json!({"message": {"messageId": "m", "text": "x".repeat(1024 * 1024)}}).to_string();
    let text = ("Content-Type", "text/plain");
    let older = ("X-A2A-Notification-Token", "an-older-token-of-these-tests");
    let wrong = ("Authorization", "Bearer the-token-of-these-testz");
    for (headers, body, status) in [
        (vec![JSON], &*one, 401),
        (vec![JSON, wrong], &one, 401),
        (vec![text], &one, 401),
        (vec![wrong], &large, 401),
        (vec![good, JSON], &large, 413),
        (vec![good, text], &one, 415),
        (vec![good], &one, 415),
        (vec![good, JSON], "{", 400),
        (vec![good, JSON], "{\"task\":{}}", 400),
        (vec![good, JSON], &one, 200),
        (vec![good, JSON], &one, 200),
        (vec![older, JSON], &one, 200),
        (vec![good, ("Content-Type", "application/json; charset=utf-8")], &one, 200),
    ] {
        let response = post(receiving.address, &headers, body);
        assert_eq!(response.status, status, "{headers:?}");
        assert!(response.body.is_empty(), "{headers:?}");
        let challenge = (status == 401).then_some("Bearer");
        assert_eq!(response.header("www-authenticate"), challenge);
    }
    let get = |path: &str, headers: &[(&str, &str)]| {
        client::request(receiving.address, "GET", path, headers, b"")
    };
    assert_eq!((get("/webhook", &[]).status, get("/", &[]).status), (405, 404));
    let metrics = String::from_utf8(get("/metrics", &[]).body).unwrap();
    for line in ["kept_total 1", "duplicates_total 3", "unauthentic_total 4", "unreadable_total 5"]
    {
        assert!(metrics.contains(&format!("tradepost_receiver_{line}\n")), "{line} in {metrics}");
    }
    assert_eq!(get("/metrics", &[("X-Forwarded-For", "203.0.113.5")]).status, 404);
    let line = receiving.line();
    assert!(line.ends_with("  1  push  statusUpdate  t  TASK_STATE_WORKING\n"), "{line:?}");
    assert_eq!(receiving.signal("INT"), Some(0));
    let listed = receive(folder.path(), &["list"]);
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 1, "{listed}");
    let kept: Value = tradepost_document::json::from_str(&one).unwrap();
    assert_eq!(listed["deliveries"][0]["delivery"], kept);
    assert_eq!(listed["deliveries"][0]["fate"], "handled");
}

#[test]
fn a_body_that_breaks_off_is_not_called_too_large() {
    let folder = tempfile::tempdir().unwrap();
    let receiving = Receiving::start(folder.path(), &[]);
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\n"
    );
    for rest in [
        // The second chunk has no length.
        "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"ta\"\r\nno\r\n",
        // The sender ends in the middle.
        "Content-Length: 100\r\n\r\n{\"task\"",
    ] {
        let mut stream = TcpStream::connect(receiving.address).unwrap();
        stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?} to {rest:?}");
    }
    let metrics = client::request(receiving.address, "GET", "/metrics", &[], b"").body;
    let metrics = String::from_utf8(metrics).unwrap();
    assert!(metrics.contains("tradepost_receiver_unreadable_total 2\n"), "{metrics}");
    assert_eq!(receiving.signal("INT"), Some(0));
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let receiving = Receiving::start(folder.path(), &[]);
    let address = receiving.address;
    let acknowledged = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for sender in 0..4 {
            let acknowledged = &acknowledged;
            scope.spawn(move || {
                for number in 0.. {
                    let task = format!("t-{sender}-{number}");
                    let body = update(&task, "WORKING", 1);
                    let bearer = format!("Bearer {TOKEN}");
                    let head = format!(
                        "POST /webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
                         Authorization: {bearer}\r\nContent-Type: application/a2a+json\r\n\
                         Content-Length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    match client::raw(address, head.as_bytes()) {
                        Ok(response) => {
                            assert_eq!(response.status, 200);
                            acknowledged.lock().unwrap().insert(task);
                        }
                        // It is dead.
                        Err(_) => return,
                    }
                }
            });
        }
        while acknowledged.lock().unwrap().len() < 40 {
            std::thread::yield_now();
        }
        receiving.signal("KILL");
    });
    let listed = receive(folder.path(), &["list", "--limit", "100000"]);
    let kept = listed["deliveries"].as_array().unwrap();
    let kept: BTreeSet<_> = kept.iter().map(|d| d["task_id"].as_str().unwrap()).collect();
    let acknowledged = acknowledged.into_inner().unwrap();
    let lost: Vec<_> = acknowledged.iter().filter(|task| !kept.contains(task.as_str())).collect();
    assert!(lost.is_empty(), "{lost:?}");
    // The next process hands on what the killed one did not, and knows what it has seen.
    let mut next = Receiving::start(folder.path(), &[]);
    let first = acknowledged.first().unwrap();
    assert_eq!(deliver(next.address, &update(first, "WORKING", 1)), 200);
    assert_eq!(deliver(next.address, &update("last", "WORKING", 1)), 200);
    let last = std::iter::repeat_with(|| next.line()).find(|line| line.contains("  last  "));
    assert!(last.is_some());
    let again = receive(folder.path(), &["list", "--limit", "100000"]);
    assert_eq!(again["deliveries"].as_array().unwrap().len(), kept.len() + 1);
}

#[test]
fn the_same_delivery_from_many_senders_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let receiving = Receiving::start(folder.path(), &[]);
    let body = update("t", "WORKING", 1);
    let statuses: Vec<_> = std::thread::scope(|scope| {
        let send = || deliver(receiving.address, &body);
        let senders: Vec<_> = (0..8).map(|_| scope.spawn(send)).collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 8]);
    let listed = receive(folder.path(), &["list"]);
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_handled_is_retried_then_dead_then_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let now = Clock::system().now();
    let inbox = DurableInbox::open(folder.path(), now).unwrap();
    for second in 1..=2 {
        let body = update("t", "WORKING", second);
        let read = ReceivedDelivery::read(body.as_bytes(), "", now).unwrap();
        let ReceivedDelivery::Delivery(delivery) = read else { panic!("{read:?}") };
        assert_eq!(inbox.put(&delivery).unwrap(), Put::New);
        assert_eq!(inbox.put(&delivery).unwrap(), Put::Duplicate);
    }
    let later = now + jiff::SignedDuration::from_secs(5);
    inbox.failed(1, "the handler ended with 1", Some(later)).unwrap();
    assert_eq!(inbox.next(now).unwrap().unwrap().seq, 2, "others do not wait for it");
    assert_eq!(inbox.next(later).unwrap().unwrap().seq, 1);
    inbox.failed(1, "the handler ended with 1", None).unwrap();
    inbox.handled(2).unwrap();
    assert_eq!(inbox.next(later).unwrap(), None);

    let dead = receive(folder.path(), &["dead"]);
    let dead = dead["deliveries"].as_array().unwrap();
    assert_eq!(dead.len(), 1);
    assert_eq!((&dead[0]["number"], &dead[0]["attempts"]), (&json!(1), &json!(2)));
    assert_eq!(dead[0]["problem"], "the handler ended with 1");
    assert_eq!(receive(folder.path(), &["replay", "2"])["replayed"], 0);
    assert_eq!(receive(folder.path(), &["replay", "1"])["replayed"], 1);
    assert_eq!(receive(folder.path(), &["dead"])["deliveries"], json!([]));

    // The handler gets the delivery on its standard input.
    let seen = folder.path().join("seen");
    let handler = folder.path().join("handler");
    let script = format!("#!/bin/sh\ncat > {0}.part && mv {0}.part {0}\n", seen.display());
    fs::write(&handler, script).unwrap();
    let mut permissions = fs::metadata(&handler).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    fs::set_permissions(&handler, permissions).unwrap();
    let mut receiving = Receiving::start(folder.path(), &["--handler", handler.to_str().unwrap()]);
    assert!(receiving.line().contains("  1  push  statusUpdate  t  "));
    assert_eq!(fs::read_to_string(seen).unwrap(), update("t", "WORKING", 1));
}

#[test]
fn a_failing_handler_leaves_the_delivery_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let receiving = Receiving::start(folder.path(), &["--handler", "/bin/false"]);
    assert_eq!(deliver(receiving.address, &update("t", "WORKING", 1)), 200);
    let failed = || {
        let listed = receive(folder.path(), &["list"]);
        let delivery = &listed["deliveries"][0];
        assert_eq!(delivery["fate"], "waiting");
        delivery["problem"].as_str().is_some_and(|problem| problem.starts_with("the handler ended"))
    };
    assert!((0..200).any(|_| failed()), "no attempt was recorded");
}

#[test]
fn what_was_not_printed_goes_to_the_next_receiver() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    fs::write(&tokens, TOKEN).unwrap();
    let now = Clock::system().now();
    let inbox = DurableInbox::open(folder.path(), now).unwrap();
    let read = ReceivedDelivery::read(update("t", "WORKING", 1).as_bytes(), "", now).unwrap();
    let ReceivedDelivery::Delivery(delivery) = read else { panic!("{read:?}") };
    assert_eq!(inbox.put(&delivery).unwrap(), Put::New);
    let (reader, nobody_reads) = std::io::pipe().unwrap();
    drop(reader);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    for out in [Stdio::from(full), Stdio::from(nobody_reads)] {
        let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["receive", "--json", "--listen", "127.0.0.1:0", "--data"])
            .arg(folder.path())
            .arg("--token-file")
            .arg(&tokens)
            .stdout(out)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("error: cannot write to standard output: "), "{said}");
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(receive(folder.path(), &["list"])["deliveries"][0]["fate"], "waiting");
    }
    let line = Receiving::start(folder.path(), &[]).line();
    assert!(line.contains("  1  push  statusUpdate  t  "), "{line}");
}

#[test]
fn a_task_whose_deliveries_stay_away_is_asked_for() {
    let agent = start_conformance(Profile::Streaming);
    let id = agent.task("tck-complete-task")["id"].as_str().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let endpoint = format!("http://{}/a2a", agent.address);
    let arguments = ["--endpoint", &endpoint, "--task", &id, "--patience", "1"];
    let mut receiving = Receiving::start(folder.path(), &arguments);
    let line = receiving.line();
    assert!(line.ends_with(&format!("  1  poll  task  {id}  TASK_STATE_COMPLETED\n")), "{line:?}");
    // The late delivery says nothing new.
    let status = agent.get(&json!(id))["status"].clone();
    let late = json!({"statusUpdate": {"taskId": id, "contextId": "c", "status": status}});
    assert_eq!(deliver(receiving.address, &late.to_string()), 200);
    let listed = receive(folder.path(), &["list"]);
    assert_eq!(listed["deliveries"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn it_does_not_start_believing_everybody_or_short_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("short");
    fs::write(&short, "hunter2\n").unwrap();
    let weak = folder.path().join("weak");
    fs::write(&weak, "hunter2hunter2".repeat(9).replace(['n', 't', 'e', 'r'], "2")).unwrap();
    let weak = weak.to_str().unwrap();
    let jwks = folder.path().join("jwks");
    fs::write(&jwks, "{\"keys\": []}").unwrap();
    let short = short.to_str().unwrap();
    let jwks = jwks.to_str().unwrap();
    for (arguments, words) in [
        (&[][..], "the receiver would accept deliveries from everyone"),
        (&["--token-file", short], "a token has at least 16 characters, 8 of them different"),
        (&["--hmac-key-file", short], "a key has at least 32 characters, 8 of them different"),
        (&["--hmac-key-file", weak], "a key has at least 32 characters, 8 of them different"),
        (
            &["--seller", "seller.example"],
            "the address of a seller must be an absolute web address",
        ),
        (
            &["--seller", "http://seller.example/mcp"],
            "the address of a seller must begin with https",
        ),
        (&["--jwks", jwks], "it has no key of Ed25519 or P-256"),
        (&["--token-file", "/nonexistent/x"], "cannot read /nonexistent/x"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["receive", "--json", "--data"])
            .arg(folder.path())
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(words) && !shown.contains("hunter2"), "{shown}");
    }
}
