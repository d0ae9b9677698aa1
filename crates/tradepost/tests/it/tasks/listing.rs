//! ListTasks (O-06, E-26).

use crate::conformance::Profile;
use jiff::SignedDuration;
use tradepost_document::json::{Value, json};

use crate::support::conformance::{ConformanceServer, message, start_conformance};
use crate::support::with;

fn ids(page: &Value) -> Vec<Value> {
    page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
}

/// Tasks a second apart; the oldest first.
fn stock(server: &ConformanceServer) -> Vec<Value> {
    (0..5)
        .map(|number| {
            server.hand.advance(SignedDuration::from_secs(1));
            let id = if number == 2 { "tck-input-required" } else { "tck-artifact-text" };
            let context = json!(if number < 3 { "c-1" } else { "c-2" });
            let sent = with(message(id), &[("/message/contextId", context)]);
            server.result("SendMessage", &sent)["task"]["id"].clone()
        })
        .collect()
}

#[test]
fn o_06_pages_go_from_newest_to_oldest_state() {
    let server = start_conformance(Profile::Streaming);
    let mut expected = stock(&server);
    expected.reverse();
    let whole = server.result("ListTasks", &json!({}));
    assert_eq!(ids(&whole), expected);
    let rest = (&whole["nextPageToken"], &whole["pageSize"], &whole["totalSize"]);
    assert_eq!(rest, (&json!(""), &json!(50), &json!(5)));
    assert!(whole["tasks"].as_array().unwrap().iter().all(|task| task.get("artifacts").is_none()));

    let mut seen = Vec::new();
    let mut token = json!("");
    let mut pages = 0;
    loop {
        let page = server.result("ListTasks", &json!({"pageSize": 2, "pageToken": token}));
        assert_eq!((&page["totalSize"], &page["pageSize"]), (&json!(5), &json!(2)));
        seen.extend(ids(&page));
        token = page["nextPageToken"].clone();
        pages += 1;
        if token == "" {
            break;
        }
    }
    assert_eq!((seen, pages), (expected, 3));

    let full = server.result("ListTasks", &json!({"includeArtifacts": true, "historyLength": 0}));
    let newest = &full["tasks"][0];
    assert_eq!(newest["artifacts"][0]["parts"][0]["text"], "Generated text content");
    assert_eq!(newest.get("history"), None);
}

#[test]
fn o_06_filters_by_conversation_state_and_moment_inclusively() {
    let server = start_conformance(Profile::Streaming);
    let all = stock(&server);
    let list = |query: Value| {
        let page = server.result("ListTasks", &query);
        assert_eq!(page["totalSize"], ids(&page).len());
        ids(&page)
    };
    let newest_first = |range: std::ops::Range<usize>| -> Vec<Value> {
        all[range].iter().rev().cloned().collect()
    };
    assert_eq!(list(json!({"contextId": "c-1"})), newest_first(0..3));
    assert_eq!(list(json!({"status": "TASK_STATE_INPUT_REQUIRED"})), newest_first(2..3));
    assert_eq!(list(json!({"status": "TASK_STATE_FAILED"})), newest_first(0..0));
    let moment = server.get(&all[3])["status"]["timestamp"].clone();
    assert_eq!(list(json!({"statusTimestampAfter": moment})), newest_first(3..5));
    assert_eq!(list(json!({"contextId": "nobody's"})), newest_first(0..0));
}

#[test]
fn e_26_every_wrong_parameter_is_named() {
    let server = start_conformance(Profile::Streaming);
    for (member, value) in [
        ("pageSize", json!(0)),
        ("pageSize", json!(101)),
        ("pageSize", json!("2")),
        ("pageToken", json!("1000")),
        ("pageToken", json!("-1")),
        ("pageToken", json!("00000000000000000000000000000000.1000.x")),
        ("status", json!("TASK_STATE_DONE")),
        ("status", json!(3.5)),
        ("historyLength", json!(-1)),
        ("statusTimestampAfter", json!("yesterday")),
    ] {
        let answer = server.ask(&[], "ListTasks", &json!({member: value})).json();
        assert_eq!(answer["error"]["code"], -32602, "{member}: {value}");
        assert!(answer["error"]["data"].to_string().contains(member), "{answer}");
    }
    let both = server.ask(&[], "ListTasks", &json!({"pageSize": 0, "status": "x"})).json();
    let details = both["error"]["data"].to_string();
    assert!(details.contains("pageSize") && details.contains("status"), "{both}");
    for size in [1, 100] {
        assert_eq!(server.result("ListTasks", &json!({"pageSize": size}))["pageSize"], size);
    }
}

#[test]
fn page_tokens_are_for_one_owner_and_outlive_the_process() {
    let server = start_conformance(Profile::Streaming);
    stock(&server);
    let query = json!({"contextId": "c-1", "pageSize": 1});
    let token = server.result("ListTasks", &query)["nextPageToken"].clone();
    let text = token.as_str().unwrap();
    let go_on = |changes: &[(&str, Value)]| {
        with(with(query.clone(), &[("/pageToken", token.clone())]), changes)
    };
    let refused = |params: &Value, headers: &[(&str, &str)]| {
        let answer = server.ask(headers, "ListTasks", params).json();
        assert_eq!(answer["error"]["code"], -32602, "{params} {answer}");
    };
    refused(&go_on(&[("/contextId", json!("c-2"))]), &[]);
    refused(&go_on(&[("/contextId", Value::Null)]), &[]);
    refused(&go_on(&[("/status", json!("TASK_STATE_COMPLETED"))]), &[]);
    for position in 0..text.len() {
        let mut changed = text.as_bytes().to_vec();
        changed[position] = if changed[position] == b'0' { b'1' } else { b'0' };
        let changed = String::from_utf8(changed).unwrap();
        refused(&go_on(&[("/pageToken", json!(changed))]), &[]);
    }
    let other = server.caller("other", None);
    refused(&go_on(&[]), &[("Authorization", &other)]);
    let params = go_on(&[]);
    let next = ids(&server.result("ListTasks", &params));
    assert_eq!(next.len(), 1);
    let server = server.restart();
    assert_eq!(ids(&server.result("ListTasks", &params)), next);
}
