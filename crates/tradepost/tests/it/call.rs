//! `tradepost call` as a process, before dealers who take a lead and never say so: whatever ends
//! the call, it says that the lead may have arrived, and with which key it may be sent again.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use tradepost_aap::Version;
use tradepost_document::json::{Value, json};

use crate::support::lead;
use crate::support::proxy::Passing;

mod agents;
mod elsewhere;
mod network;
mod sellers;

/// Behaviour of a dealer after it has taken a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterLead {
    /// Drops the connection and goes down.
    GoDown,
    /// Drops the connection.
    Drop,
    /// Says nothing.
    Wait,
    /// Answers with a completed task.
    Complete,
}

/// A dealer with a card of its own, and the leads that it takes.
struct Dealer {
    address: String,
    taken: Receiver<Value>,
}

fn dealer(after_lead: AfterLead) -> Dealer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let url = format!("{address}/a2a");
    let (sender, taken) = channel();
    std::thread::spawn(move || {
        loop {
            let (mut stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let Some(mut asked) = Passing::read(&mut reader) else { continue };
            asked.read_body(&mut reader).unwrap();
            if asked.first.starts_with("GET") {
                write(&mut stream, &card(&url));
                continue;
            }
            let mut request: Value = tradepost_document::json::from_slice(&asked.body).unwrap();
            let payload = request["params"]["message"]["parts"][0]["data"].take();
            match after_lead {
                AfterLead::GoDown => {
                    // Nobody is there any more when the client sees the connection end.
                    drop(listener);
                    sender.send(payload).unwrap();
                    return;
                }
                AfterLead::Drop => sender.send(payload).unwrap(),
                AfterLead::Wait => {
                    sender.send(payload).unwrap();
                    // Until the client has gone.
                    let _ = reader.read(&mut [0]);
                }
                AfterLead::Complete => {
                    let data = json!({"type": "lead.submit.response",
                        "data": {"lead_id": "L1", "status": "received"}});
                    let task = json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED"},
                        "artifacts": [{"artifactId": "a", "parts": [{"data": data}]}]});
                    let id = request["id"].take();
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"task": task}});
                    write(&mut stream, &answer);
                    sender.send(payload).unwrap();
                }
            }
        }
    });
    Dealer { address, taken }
}

fn write(stream: &mut TcpStream, body: &Value) {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let first = "HTTP/1.1 200 OK".to_owned();
    let body = body.to_string().into_bytes();
    Passing { first, headers, body }.write(stream).unwrap();
}

fn card(url: &str) -> Value {
    json!({
        "name": "D", "description": "d", "version": "1",
        "supportedInterfaces":
            [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"extensions": [{"uri": Version::V1_1.uri()}]},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "lead.submit", "name": "n", "description": "d", "tags": ["t"]}],
    })
}

fn call(dealer: &Dealer, more: &[&str]) -> Child {
    let data = lead().to_string();
    Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["call", &dealer.address, "lead", "--no-check", "--data", &data])
        .args(more)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn stop(child: &Child) {
    let script = ["-c", "kill -s INT \"$1\"", "sh", &child.id().to_string()];
    assert!(Command::new("sh").args(script).status().unwrap().success());
}

/// How a call ended: its exit code, what it wrote for programs and what for people.
fn ended(child: Child) -> (i32, String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn key_of(taken: &Value) -> &str {
    taken["idempotency_key"].as_str().unwrap()
}

#[test]
fn a_dealer_down_after_a_lead_has_perhaps_taken_it() {
    // The key is made for the call: the caller knows it only from what is said at the end.
    let retry = ["--retry", "--overall", "5"];
    let down = dealer(AfterLead::GoDown);
    let (exit, shown, said) = ended(call(&down, &retry));
    let taken = down.taken.recv().unwrap();
    assert_eq!((exit, shown.as_str()), (10, ""));
    assert!(said.contains("error: cannot connect: "), "{said}");
    assert!(said.contains("\n  sent 2 times, with "), "{said}");
    let hint = format!(
        "; it may have happened all the same; send it again only with the idempotency_key {}\n",
        key_of(&taken)
    );
    assert!(said.ends_with(&hint) && said.contains("\nhint: give up for now: "), "{said}");

    let down = dealer(AfterLead::GoDown);
    let (exit, shown, _) = ended(call(&down, &[&retry[..], &["--json"]].concat()));
    let taken = down.taken.recv().unwrap();
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    assert_eq!((exit, &error["kind"], &error["attempts"]), (10, &json!("unsent"), &json!(2)));
    assert_eq!((&error["in_doubt"], &error["may_have_acted"]), (&json!(true), &json!(true)));
    assert_eq!(error["idempotency_key"], key_of(&taken));
}

#[test]
fn the_time_of_all_attempts_ends_a_waiting_call() {
    let silent = dealer(AfterLead::Wait);
    let (exit, _, said) = ended(call(&silent, &["--retry", "--overall", "2"]));
    let taken = silent.taken.recv().unwrap();
    assert_eq!(exit, 10, "{said}");
    // One attempt has all of it, and its own limit would be longer.
    assert!(said.contains("error: no answer within ") && !said.contains("sent 2 times"), "{said}");
    let hint = format!("send it again only with the idempotency_key {}\n", key_of(&taken));
    assert!(said.ends_with(&hint), "{said}");
    assert!(silent.taken.try_recv().is_err());
}

#[test]
fn ctrl_c_ends_a_call_with_what_may_have_happened() {
    for more in [&["--retry"][..], &[]] {
        let silent = dealer(AfterLead::Wait);
        let child = call(&silent, more);
        let taken = silent.taken.recv().unwrap();
        stop(&child);
        let (exit, _, said) = ended(child);
        assert_eq!(exit, 130, "{said}");
        let expected = format!(
            "error: stopped before an answer\nhint: send the same request again to go on; it may \
             have happened all the same; send it again only with the idempotency_key {}\n",
            key_of(&taken)
        );
        assert_eq!(said, expected, "{more:?}");
    }
}

#[test]
fn ctrl_c_between_two_requests_is_no_different() {
    let broken = dealer(AfterLead::Drop);
    let mut child = call(&broken, &["--retry", "--json"]);
    let taken = broken.taken.recv().unwrap();
    let mut waiting = String::new();
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    talk.read_line(&mut waiting).unwrap();
    assert!(waiting.starts_with("retrying in ") && waiting.ends_with(" s\n"));
    stop(&child);
    let (exit, shown, _) = ended(child);
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    assert_eq!((exit, &error["kind"], &error["attempts"]), (130, &json!("unanswered"), &json!(1)));
    assert_eq!(error["in_doubt"], true);
    assert_eq!(error["idempotency_key"], key_of(&taken));
}

#[test]
fn a_task_in_a_messages_place_comes_with_a_warning() {
    let (exit, shown, said) = ended(call(&dealer(AfterLead::Complete), &["--json"]));
    assert_eq!((exit, shown.contains("\"lead_id\":\"L1\"")), (0, true), "{shown}");
    let warning = "warning: the dealer answers with a completed task where AAP has a message\n";
    assert_eq!(said, warning);
}
