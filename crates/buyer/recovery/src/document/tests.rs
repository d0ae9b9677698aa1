use proptest::prelude::*;
use tradepost_document::json::json;

use super::*;

fn advised(text: &str) -> Value {
    json::from_str(&advise_json(text.as_bytes())).unwrap()
}

#[test]
fn an_answer_becomes_advice() {
    let answer = advise_document(&json!({
        "binding": "jsonrpc", "request_id": 7, "status": 503, "headers": {"Retry-After": "3"},
        "body": "<html>", "attempt": {"effect": "keyed"},
    }));
    assert_eq!(
        answer,
        json!({
            "failure": {"kind": "refused", "protocol": "http", "code": "503", "is_known": true,
                "class": "transient", "in_doubt": true, "retry_after_ms": 3000,
                "message": "the server answers with HTTP 503"},
            "advice": {"action": "retry", "key": "same",
                "wait_ms": {"at_least": 3000, "at_most": 3750},
                "text": "send the same request again, unchanged, in 3 to 3.75 s"},
        })
    );
}

#[test]
fn a_result_has_no_failure_and_no_advice() {
    let nothing = json!({"failure": null, "advice": null});
    for answer in [
        json!({"binding": "jsonrpc", "request_id": 7, "status": 200,
            "body": {"jsonrpc": "2.0", "id": 7, "result": {}}}),
        json!({"binding": "jsonrpc", "body": {"jsonrpc": "2.0", "id": "x", "result": {}}}),
        json!({"binding": "grpc", "headers": {"grpc-status": "0"}}),
        json!({"binding": "http_json", "status": 204}),
    ] {
        assert_eq!(advise_document(&answer), nothing, "{answer}");
    }
}

#[test]
fn an_answer_to_another_request_is_garbled() {
    for (asked, answered) in
        [(json!(7), json!(8)), (json!("7"), json!("8")), (json!("a"), json!(1))]
    {
        let answer = advise_document(&json!({"binding": "jsonrpc", "request_id": asked,
            "body": {"jsonrpc": "2.0", "id": answered, "result": {}}}));
        assert_eq!(answer.pointer("/failure/kind"), Some(&json!("garbled")), "{answer}");
    }
}

#[test]
fn every_problem_of_a_request_is_listed() {
    let answer = advise_document(&json!({
        "binding": "soap", "stauts": 200, "headers": {"Retry-After": 3}, "request_id": [],
        "attempt": {"effect": 1, "tried": {"retries": -1}}, "budget": {"seconds": "long"},
    }));
    let problems = answer["problems"].as_array().unwrap();
    let pointers = problems.iter().map(|problem| problem["pointer"].as_str().unwrap());
    assert_eq!(
        pointers.collect::<Vec<_>>(),
        [
            "/binding",
            "/stauts",
            "/headers/Retry-After",
            "/request_id",
            "/attempt/effect",
            "/attempt/effect",
            "/attempt/tried/retries",
            "/budget/seconds",
        ]
    );
    for text in ["{}", "[]", "{", "\"\"", r#"{"binding": "text", "transport_error": "unanswered"}"#]
    {
        assert!(advised(text)["problems"].as_array().is_some_and(|list| list.len() == 1), "{text}");
    }
}

proptest! {
    #[test]
    fn every_text_has_an_answer(text in "\\PC{0,200}") {
        prop_assert!(advised(&text).is_object());
    }

    #[test]
    fn every_body_has_an_answer(
        body in "\\PC{0,200}",
        status in 0_u16..700,
        binding in prop::sample::select(vec!["jsonrpc", "http_json", "grpc", "mcp_tool", "task", "text"]),
    ) {
        let answer = advise_document(&json!({"binding": binding, "status": status, "body": body}));
        prop_assert!(answer.get("failure").is_some() && answer.get("advice").is_some());
    }
}
