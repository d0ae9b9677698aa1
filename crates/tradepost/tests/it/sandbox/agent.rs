//! The sandbox as an agent of A2A without a profile.

use tradepost_document::json::{Value, json};

use super::{CARD, Playing, play, scenario};

const HEADERS: &[(&str, &str)] = &[("Content-Type", "application/json"), ("A2A-Version", "1.0")];

fn call(sandbox: &Playing, method: &str, params: &Value) -> Option<Value> {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let answer = sandbox.send("POST", "/a2a", HEADERS, &body.to_string()).ok()?;
    tradepost_document::json::from_slice(&answer.body).ok()
}

fn say(sandbox: &Playing, id: &str, text: &str) -> Option<Value> {
    let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]});
    call(sandbox, "SendMessage", &json!({"message": message}))
}

/// The findings and the doubts of the report.
fn graded(sandbox: &Playing) -> (Vec<String>, Value) {
    let report = sandbox.report();
    let counts = report["counts"].as_array().unwrap().iter();
    let ids = counts.map(|count| count["id"].as_str().unwrap().to_owned()).collect();
    (ids, report["in_doubt"].clone())
}

#[test]
fn an_agent_answers_truly_and_offers_what_is_played() {
    let sandbox = play("seller = \"agent\"\n");
    let card = sandbox.send("GET", CARD, &[], "").unwrap().json();
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    assert_eq!(interfaces.len(), 1, "{card}");
    assert_eq!(interfaces[0]["protocolBinding"], "JSONRPC");
    assert_eq!(interfaces[0]["url"], format!("http://{}/a2a", sandbox.address));
    let task = say(&sandbox, "m-1", "hello").unwrap()["result"]["task"].take();
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED");
    let read = call(&sandbox, "GetTask", &json!({"id": task["id"]})).unwrap();
    assert_eq!(read["result"]["id"], task["id"]);
    // Saying the same again is another message.
    assert!(say(&sandbox, "m-2", "hello").is_some());
    assert_eq!(graded(&sandbox), (vec![], json!([])));
}

#[test]
fn a_lost_message_is_sent_again_under_its_id() {
    let sandbox = scenario("lost-messages");
    sandbox.send("GET", CARD, &[], "").unwrap();
    assert!(say(&sandbox, "m-1", "hello").is_none(), "the answer is lost");
    let (found, doubts) = graded(&sandbox);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!((&doubts[0]["exchange"], &doubts[0]["taken"]), (&json!(2), &json!(true)));
    for _ in 0..2 {
        sandbox.hand.advance(jiff::SignedDuration::from_secs(2));
        say(&sandbox, "m-1", "hello");
    }
    assert_eq!(graded(&sandbox), (vec![], json!([])));

    let sandbox = scenario("lost-messages");
    sandbox.send("GET", CARD, &[], "").unwrap();
    say(&sandbox, "m-1", "hello");
    sandbox.hand.advance(jiff::SignedDuration::from_secs(2));
    say(&sandbox, "m-2", "hello");
    let (found, doubts) = graded(&sandbox);
    assert_eq!(found, ["message.doubled"]);
    assert_eq!((&doubts[0]["attempts"], &doubts[0]["taken"]), (&json!(2), &json!(true)));
}

#[test]
fn what_is_wrong_with_an_agents_request_is_found() {
    let sandbox = play("seller = \"agent\"\n");
    sandbox.send("GET", CARD, &[], "").unwrap();
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}});
    sandbox.send("POST", "/a2a", &HEADERS[..1], &bare.to_string()).unwrap();
    let (found, _) = graded(&sandbox);
    assert_eq!(found, ["header.version_missing", "request.invalid"]);
    say(&sandbox, "m-1", "hello");
    say(&sandbox, "m-1", "good-bye");
    let (found, _) = graded(&sandbox);
    assert_eq!(found, ["message_id.reused", "header.version_missing", "request.invalid"]);
}
