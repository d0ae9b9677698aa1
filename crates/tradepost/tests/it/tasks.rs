//! Tasks over JSON-RPC, rule by rule (requirements a2a.md §1.3, §1.5, §3), against the conformance
//! agent.

use crate::conformance::Profile;
use clap::ValueEnum as _;
use tradepost_document::json::{Value, json};

use crate::support::conformance::{follow_up, message, start_conformance, versioned};
use crate::support::{client, with};

mod callers;
mod killed;
mod listing;
mod load;
pub mod logs;
mod stopped;
mod streams;

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

#[test]
fn o_04_a_send_waits_unless_told_not_to() {
    let server = start_conformance(Profile::Streaming);
    let task = server.task("tck-complete-task");
    assert_eq!(state(&task), "TASK_STATE_COMPLETED");
    assert_eq!(task["status"]["message"]["parts"][0]["text"], "Hello from TCK");
    assert_eq!(state(&server.task("tck-input-required")), "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(state(&server.task("tck-auth-required")), "TASK_STATE_AUTH_REQUIRED");
    assert_eq!(state(&server.task("tck-reject-task")), "TASK_STATE_REJECTED");
    let begun = server.begin("tck-long-running");
    assert!(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"].contains(&state(&begun)), "{begun}");
}

#[test]
fn o_01_a_message_for_an_answer_leaves_no_task() {
    let server = start_conformance(Profile::Streaming);
    let answer = server.result("SendMessage", &message("tck-message-response"));
    assert_eq!(answer["message"]["parts"][0]["text"], "Direct message response");
    let stream = server.stream(&[], "SendStreamingMessage", &message("tck-message-response"));
    let events = stream.rest();
    assert_eq!(events.len(), 1, "{events:?}");
    assert!(events[0].result["message"].is_object());
    assert_eq!(server.result("ListTasks", &json!({}))["totalSize"], 0);
}

#[test]
fn o_05_history_is_whole_none_or_the_latest() {
    let server = start_conformance(Profile::Streaming);
    let id = server.task("tck-input-required")["id"].clone();
    server.result("SendMessage", &follow_up("tck-complete-task", &id));
    let history = |length: Value| {
        let task = server.result("GetTask", &json!({"id": id, "historyLength": length}));
        task.get("history").map(|said| {
            let ids = said.as_array().unwrap().iter().map(|m| m["messageId"].clone());
            ids.collect::<Vec<_>>()
        })
    };
    let whole = history(Value::Null).unwrap();
    // What was asked, what the agent asked back, and the answer to that.
    assert_eq!(whole.len(), 3, "{whole:?}");
    assert_eq!((&whole[0], &whole[2]), (&json!("tck-input-required"), &json!("tck-complete-task")));
    assert_eq!(history(json!(0)), None);
    assert_eq!(history(json!(2)).unwrap(), whole[1..]);
    assert_eq!(history(json!(100)).unwrap(), whole);
    assert_eq!(server.code("GetTask", &json!({"id": id, "historyLength": -1})), -32602);
}

#[test]
fn e_22_cancel_of_running_paused_ended_and_unknown_tasks() {
    let server = start_conformance(Profile::Streaming);
    for id in ["tck-long-running", "tck-input-required"] {
        let task = server.begin(id);
        let cancel = || server.result("CancelTask", &json!({"id": task["id"]}));
        let first = cancel();
        assert_eq!(state(&first), "TASK_STATE_CANCELED", "{id}");
        server.hand.advance(jiff::SignedDuration::from_secs(1));
        assert_eq!(cancel(), first, "repeating it changes nothing (§1.5 row 13)");
    }
    for id in ["tck-complete-task", "tck-reject-task", "tck-task-failure"] {
        let task = server.task(id);
        assert_eq!(server.code("CancelTask", &json!({"id": task["id"]})), -32002, "{id}");
        assert_eq!(server.get(&task["id"]), task, "{id}");
    }
    assert_eq!(server.code("CancelTask", &json!({"id": "nobody's"})), -32001);
}

/// Covers E-18 and E-19 too.
#[test]
fn e_17_a_message_to_a_task_that_takes_none() {
    let server = start_conformance(Profile::Streaming);
    let ended = server.task("tck-complete-task")["id"].clone();
    let paused = server.task("tck-input-required")["id"].clone();
    let wrong_context =
        with(follow_up("x", &paused), &[("/message/contextId", json!("elsewhere"))]);
    for method in ["SendMessage", "SendStreamingMessage"] {
        assert_eq!(server.code(method, &follow_up("x", &ended)), -32004);
        assert_eq!(server.code(method, &follow_up("x", &json!("unknown"))), -32001);
        let answer = server.ask(&[], method, &wrong_context).json();
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer["error"]["data"].to_string().contains("message.contextId"), "{answer}");
    }
    assert_eq!(server.result("ListTasks", &json!({}))["totalSize"], 2, "none was made for them");
}

#[test]
fn a_07_tasks_a_message_refers_to_must_be_there() {
    let server = start_conformance(Profile::Streaming);
    let known = server.task("tck-complete-task")["id"].clone();
    let refer = |ids: Value| with(message("x"), &[("/message/referenceTaskIds", ids)]);
    let task = server.result("SendMessage", &refer(json!([known])))["task"].clone();
    assert_eq!(task["history"][0]["referenceTaskIds"], json!([known]));
    assert_eq!(server.code("SendMessage", &refer(json!([known, "unknown"]))), -32001);
}

#[test]
fn o_07_contexts_are_kept_inferred_and_made() {
    let server = start_conformance(Profile::Streaming);
    let mine = with(message("tck-input-required"), &[("/message/contextId", json!("c-9"))]);
    let task = server.result("SendMessage", &mine)["task"].clone();
    assert_eq!(task["contextId"], "c-9");
    let next = server.result("SendMessage", &follow_up("tck-complete-task", &task["id"]));
    assert_eq!((&next["task"]["contextId"], &next["task"]["id"]), (&json!("c-9"), &task["id"]));
    let one = server.task("a");
    let other = server.task("b");
    assert_ne!(one["contextId"], other["contextId"]);
    assert_ne!(one["id"], other["id"]);
}

#[test]
fn a_third_turn_with_the_task_alone_is_taken() {
    let server = start_conformance(Profile::Streaming);
    let id = server.task("tck-multi-turn")["id"].clone();
    let say = |text: &str| {
        let said = with(follow_up("x", &id), &[("/message/parts/0/text", json!(text))]);
        server.result("SendMessage", &said)["task"].clone()
    };
    let second = say("here is more input");
    assert_eq!(state(&second), "TASK_STATE_INPUT_REQUIRED", "the task knows its scenario (§2.4)");
    let third = say("done");
    assert_eq!(state(&third), "TASK_STATE_COMPLETED");
    assert_eq!(third["contextId"], second["contextId"], "O-07");
}

#[test]
fn numbers_and_member_order_survive_history_and_a_restart() {
    const DATA: &str = r#"{"z":42,"a":[1,2.50,-0.0],"big":123456789012345678901234567890,"m":{"y":9007199254740993,"x":null}}"#;
    let server = start_conformance(Profile::Streaming);
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{DATA}}}],"metadata":{DATA}}}}}}}"#
    );
    let json = versioned(&[("Content-Type", "application/json")]);
    let sent = client::request(server.address, "POST", "/a2a", &json, body.as_bytes());
    let text = String::from_utf8(sent.body.clone()).unwrap();
    assert_eq!(text.matches(DATA).count(), 2, "{text}");
    let id = sent.json()["result"]["task"]["id"].clone();
    let server = server.restart();
    let again = String::from_utf8(server.ask(&[], "GetTask", &json!({"id": id})).body).unwrap();
    assert_eq!(again.matches(DATA).count(), 2, "{again}");
    let made = server.task("tck-artifact-data");
    let data = &made["artifacts"][0]["parts"][0]["data"];
    assert_eq!(data.to_string(), r#"{"key":"value","count":42}"#);
}

#[test]
fn e_28_a_failed_handler_ends_its_task_telling_nothing() {
    let server = start_conformance(Profile::Streaming);
    for id in ["tck-task-failure", "tradepost-panic"] {
        let task = server.task(id);
        assert_eq!(state(&task), "TASK_STATE_FAILED", "{id}");
        let text = task["status"]["message"]["parts"][0]["text"].as_str().unwrap();
        let generic = "The agent failed to work on this task. Error id: err_";
        let error_id = text.strip_prefix(generic).unwrap_or_else(|| panic!("{text}"));
        assert!(error_id.len() == 32 && error_id.bytes().all(|b| b.is_ascii_hexdigit()));
        let whole = server.get(&task["id"]).to_string();
        for secret in ["kit asked", "a test asked", "panicked", ".rs"] {
            assert!(!whole.contains(secret), "{whole}");
        }
    }
}

#[test]
fn snake_case_is_read_and_camel_case_is_written() {
    let server = start_conformance(Profile::Streaming);
    let params = json!({
        "message": {"message_id": "tck-input-required", "context_id": "c-5", "role": "ROLE_USER",
                    "parts": [{"text": "x", "media_type": "text/plain"}]},
        "configuration": {"return_immediately": false, "history_length": 0},
    });
    let task = server.result("SendMessage", &params)["task"].clone();
    assert_eq!((&task["contextId"], task.get("history")), (&json!("c-5"), None));
    let listed = server.result("ListTasks", &json!({"context_id": "c-5", "page_size": 1}));
    assert_eq!((&listed["totalSize"], &listed["pageSize"]), (&json!(1), &json!(1)));
}

/// Covers X-04 too.
#[test]
fn x_01_required_extensions_are_enforced_and_active_ones_named() {
    const REQUIRED: &str = "urn:a2a:tck:required-extension";
    let server = start_conformance(Profile::Strict);
    for method in ["SendMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask"] {
        let answer = server.ask(&[], method, &json!({})).json();
        assert_eq!(answer["error"]["code"], -32008, "{method}");
    }
    let headers = [("a2a-extensions", "urn:unknown"), ("A2A-Extensions", REQUIRED)];
    let answer = server.ask(&headers, "SendMessage", &message("m"));
    assert_eq!(state(&answer.json()["result"]["task"]), "TASK_STATE_COMPLETED");
    assert_eq!(answer.header("a2a-extensions"), Some(REQUIRED), "X-02: the unknown one is ignored");
    let lenient = start_conformance(Profile::Streaming);
    assert_eq!(lenient.ask(&[], "ListTasks", &json!({})).header("a2a-extensions"), None);
}

#[test]
fn e_16_what_is_not_offered_is_refused_before_parameters() {
    for profile in Profile::value_variants() {
        let server = start_conformance(*profile);
        let headers = [("A2A-Extensions", "urn:a2a:tck:required-extension")];
        let card = server.card();
        let caller = server.caller("ada", None);
        let headers = [headers[0], ("Authorization", caller.as_str())];
        for (operation, flag, refusal) in [
            ("SendStreamingMessage", "streaming", -32004),
            ("SubscribeToTask", "streaming", -32004),
            ("CreateTaskPushNotificationConfig", "pushNotifications", -32003),
            ("GetTaskPushNotificationConfig", "pushNotifications", -32003),
            ("ListTaskPushNotificationConfigs", "pushNotifications", -32003),
            ("DeleteTaskPushNotificationConfig", "pushNotifications", -32003),
            ("GetExtendedAgentCard", "extendedAgentCard", -32004),
        ] {
            let offered = card["capabilities"][flag] == true;
            let answer = server.ask(&headers, operation, &json!({})).json();
            let refused = answer["error"]["code"] == refusal;
            assert_eq!(refused, !offered, "{profile:?} {operation}: {answer}");
        }
    }
}

/// Covers V-05 and V-06 too.
#[test]
fn v_03_versions_by_header_and_by_query() {
    let server = start_conformance(Profile::Streaming);
    let header = |version: &str| {
        let answer = server.ask(&[("A2A-Version", version)], "ListTasks", &json!({})).json();
        answer["error"]["code"].as_i64()
    };
    assert_eq!((header("1.0"), header("1.0.3")), (None, None));
    for other in ["", "0.3", "1.1", "2.0", "one"] {
        assert_eq!(header(other), Some(-32009), "{other}");
    }
    let query = |target: &str, headers: &[(&str, &str)]| {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#;
        let answer = client::request(server.address, "POST", target, &headers, body).json();
        answer["error"]["code"].as_i64()
    };
    assert_eq!(query("/a2a?A2A-Version=1.0", &[]), None);
    assert_eq!(query("/a2a", &[]), Some(-32009), "V-04, §1.5 row 10: no version is 0.3");
    assert_eq!(query("/a2a?A2A-Version=", &[]), Some(-32009));
    assert_eq!(query("/a2a?A2A-Version=0.3", &[]), Some(-32009));
    let both = query("/a2a?A2A-Version=0.3", &[("A2A-Version", "1.0")]);
    assert_eq!(both, Some(-32009), "both, and different (§1.5 row 5)");
}

#[test]
fn e_24_unreadable_types_are_refused_in_part_and_body() {
    let server = start_conformance(Profile::Streaming);
    let strange = json!("application/x-unheard-of");
    let part = with(message("m"), &[("/message/parts/0/mediaType", strange)]);
    assert_eq!(server.code("SendMessage", &part), -32005);
    let text = [("Content-Type", "text/plain")];
    let answer = client::request(server.address, "POST", "/a2a", &text, b"hello");
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (415, &json!(-32005)));
    assert_eq!(server.result("ListTasks", &json!({}))["totalSize"], 0);
}
