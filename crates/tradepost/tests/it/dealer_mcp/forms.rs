//! Forms of clients with a handshake: the person is asked on the stream of the call.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};

use expect_test::expect;
use tradepost_document::json::{Value, json};

use super::leads::{TOOL, arguments, confirmed, leads, refusal};
use super::{call, call_of, post, post_to, rpc};
use crate::process::Process;
use crate::support::{Response, client, start, with};

/// A client of a release with a handshake that shows forms, and its open call.
pub(super) struct FormClient {
    address: SocketAddr,
    host: String,
    session: String,
}

impl FormClient {
    fn new(address: SocketAddr) -> Self {
        Self::on(address, &address.to_string())
    }

    /// A client of this host.
    pub(super) fn on(address: SocketAddr, host: &str) -> Self {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "Assistant", "version": "7"}});
        let greeted = post_to(address, &[("Host", host)], &rpc("initialize", &hello));
        let session = greeted.header("mcp-session-id").unwrap().to_owned();
        Self { address, host: host.to_owned(), session }
    }

    pub(super) fn post(&self, body: &str) -> Response {
        let headers = [("Host", self.host.as_str()), ("Mcp-Session-Id", &self.session)];
        post_to(self.address, &headers, body)
    }

    /// Calls the tool; `reply` answers the form in a session. Returns the result of the call.
    pub(super) fn call(&self, arguments: &Value, reply: impl FnOnce(&Self, &Value)) -> Value {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Session-Id", &self.session),
        ];
        let body = call_of(TOOL, arguments);
        let bytes = client::bytes(&self.host, "POST", "/mcp", &headers, body.as_bytes());
        stream.write_all(&bytes).unwrap();
        let mut events = BufReader::new(stream).lines().map_while(Result::ok).filter_map(|line| {
            let data = line.strip_prefix("data: ")?;
            tradepost_document::json::from_str::<Value>(data).ok()
        });
        let question = events.next().unwrap();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        reply(self, &question);
        let answer = events.next().unwrap();
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"].clone()
    }
}

/// The client's reply to a question.
pub(super) fn reply_to(question: &Value, result: Value) -> String {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()
}

#[test]
fn a_form_is_asked_on_the_stream_of_a_call() {
    let server = start();
    let client = FormClient::new(server.address);
    let agreed = json!({"action": "accept", "content": {"agree": true}});
    let sent = client.call(&arguments(), |client, question| {
        let message = question["params"]["message"].as_str().unwrap();
        assert!(message.starts_with("I agree that the car dealer"), "{message}");
        // The reply of another session has no effect.
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "Assistant", "version": "7"}});
        let other = post(&server, &[], &rpc("initialize", &hello));
        let other = other.header("mcp-session-id").unwrap();
        let declined = reply_to(question, json!({"action": "decline"}));
        let answer = post(&server, &[("Mcp-Session-Id", other)], &declined);
        assert_eq!(answer.status, 409);
        assert_eq!(post(&server, &[], &declined).status, 400);
        assert_eq!(client.post(&reply_to(question, agreed)).status, 202);
    });
    assert_eq!(sent["structuredContent"]["data"]["status"], "received", "{sent}");
    assert_eq!(leads(&server), 1);
}

#[test]
fn a_declined_form_on_a_stream_sends_nothing() {
    let server = start();
    let client = FormClient::new(server.address);
    for answer in [json!({"action": "decline"}), json!({"action": "cancel"})] {
        let result = client.call(&arguments(), |client, question| {
            client.post(&reply_to(question, answer));
        });
        assert_eq!(refusal(&result), ("CONTACT_CONSENT_REQUIRED", "declined"));
    }
    assert_eq!(leads(&server), 0);
}

#[test]
fn a_form_without_an_answer_becomes_two_calls() {
    let server = start();
    let client = FormClient::new(server.address);
    let first = client.call(&arguments(), |client, question| {
        let error = json!({"code": -32601, "message": "no forms here"});
        let refused = json!({"jsonrpc": "2.0", "id": question["id"], "error": error});
        client.post(&refused.to_string());
    });
    assert_eq!(first["structuredContent"]["form_unanswered"], true, "{first}");
    let sent = client.post(&call_of(TOOL, &confirmed(arguments(), &first))).json();
    assert_eq!(sent["result"]["structuredContent"]["data"]["status"], "received", "{sent}");
    // A confirmation that no form has preceded takes nobody's place.
    let other = call(&server, TOOL, &with(arguments(), &[("/message", json!("Hi."))]));
    let sent = with(confirmed(arguments(), &other), &[("/message", json!("Hi."))]);
    let result = client.post(&call_of(TOOL, &sent)).json()["result"].clone();
    assert_eq!(refusal(&result), ("INVALID_CONSENT", "confirmation_invalid"));
    assert_eq!(leads(&server), 1);
}

#[test]
fn a_client_with_forms_reads_as_any_other() {
    let server = start();
    let client = FormClient::new(server.address);
    let answer = client.post(&call_of("aap_inventory_search", &json!({})));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.json()["result"]["isError"], false);
}

#[test]
fn an_answer_that_nobody_waits_for_is_not_lost_silently() {
    let server = start();
    let client = FormClient::new(server.address);
    let mut late = String::new();
    client.call(&arguments(), |client, question| {
        late = reply_to(question, json!({"action": "decline"}));
        assert_eq!(client.post(&late).status, 202);
    });
    // So does an answer that reaches another process.
    let answer = client.post(&late);
    expect!["409 no question of this id waits here: it was answered, its time is up, or another process has asked; wait for the result of the call, which says how to ask the person again, and send the messages of a session to one process"].assert_eq(&format!(
        "{} {}",
        answer.status,
        answer.json()["error"]["message"].as_str().unwrap()
    ));
}

#[test]
fn the_outcome_of_a_question_is_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let client = FormClient::new(process.address);
    let lead = with(arguments(), &[("/vehicle_of_interest", Value::Null)]);
    for (answer, line) in [
        (json!({"action": "decline"}), "code=\"CONTACT_CONSENT_REQUIRED\""),
        (json!({"action": "accept", "content": {"agree": true}}), "answered after a question"),
    ] {
        // Another message, because a refusal counts for the same lead of the same second.
        let lead = with(lead.clone(), &[("/message", json!(line))]);
        client.call(&lead, |client, question| {
            client.post(&reply_to(question, answer));
        });
        let of_question =
            |log: &str| log.lines().any(|of| of.contains("after a question") && of.contains(line));
        process.until(line, || of_question(&process.log()));
    }
}
