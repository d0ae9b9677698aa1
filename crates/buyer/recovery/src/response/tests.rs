use proptest::prelude::*;
use tradepost_document::catalog::WireName;
use tradepost_document::json::json;

use super::*;

fn raw<'a>(via: Via<'a>, status: u16, body: &'a [u8]) -> RawResponse<'a> {
    RawResponse {
        via,
        status,
        content_type: None,
        retry_after: Some(Duration::from_secs(7)),
        challenges: &[],
        body,
    }
}

/// Returns the failure in one line: protocol, code and layer.
fn found(via: Via<'_>, status: u16, body: &str) -> String {
    match read(&raw(via, status, body.as_bytes())) {
        None => "no failure".to_owned(),
        Some(CallFailure::Garbled(garbled)) => format!("garbled: {}", garbled.defect),
        Some(CallFailure::Refused(refused)) => {
            assert_eq!(refused.kept.length, body.len());
            match &refused.by {
                RefusalForm::Adcp(adcp) => format!("adcp {} {:?}", adcp.error.code, adcp.layer),
                RefusalForm::Aap { error, .. } => format!("aap {}", error.code),
                RefusalForm::Protocol(error) => format!("a2a {} {}", error.code, error.jsonrpc),
                RefusalForm::Grpc { code, message } => format!("grpc {code} {message}"),
                RefusalForm::Http(status) => format!("http {status}"),
                RefusalForm::Words { text, malformed: None } => format!("words {text}"),
                RefusalForm::Words { malformed: Some(malformed), .. } => malformed.why().to_owned(),
            }
        }
        other => panic!("{other:?}"),
    }
}

fn tool(body: Value) -> String {
    found(Via::McpTool, 0, &body.to_string())
}

fn task(body: Value) -> String {
    found(Via::Task, 0, &body.to_string())
}

fn rpc(status: u16, member: &str, value: Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": "i", member: value}).to_string();
    found(Via::JsonRpc { id: "i" }, status, &body)
}

fn error(code: &str) -> Value {
    json!({"code": code, "message": "m", "recovery": "transient"})
}

#[test]
fn t_6_every_place_is_read_the_earlier_wins() {
    let text = |code: &str| json!({"adcp_error": error(code)}).to_string();
    let part = |code: &str| json!({"kind": "data", "data": {"adcp_error": error(code)}});
    let all = json!({"isError": true,
        "content": [{"type": "text", "text": "Sorry."}, {"type": "text", "text": text("B")}],
        "structuredContent": {"adcp_error": error("A"), "errors": [error("C"), error("D")]}});
    assert_eq!(tool(all.clone()), "adcp A Structured");
    let marked = format!("\u{feff}{all}");
    assert_eq!(found(Via::McpTool, 0, &marked), "adcp A Structured");
    let mut without = all;
    without["structuredContent"]["adcp_error"] = Value::Null;
    assert_eq!(tool(without.clone()), "adcp B Text");
    without["content"] = json!([]);
    assert_eq!(tool(without.clone()), "adcp C Payload");
    let nested = without["structuredContent"].take();
    without["structuredContent"] = json!({"payload": nested});
    assert_eq!(tool(without), "adcp C Payload");

    let all = json!({"id": "t", "status": {"state": "failed",
        "message": {"role": "agent", "parts": [part("B")]}},
        "artifacts": [{"parts": [{"kind": "text", "text": "x"}, part("A")]}]});
    assert_eq!(task(all.clone()), "adcp A Artifact");
    assert_eq!(rpc(200, "result", all.clone()), "adcp A Artifact");
    assert_eq!(rpc(200, "result", json!({"task": all.clone()})), "adcp A Artifact");
    let mut without = all;
    without["artifacts"] = json!([]);
    without["status"]["state"] = json!("TASK_STATE_FAILED");
    assert_eq!(task(without), "adcp B StatusMessage");

    let data = json!({"code": -32029, "message": "x", "data": {"adcp_error": error("A")}});
    assert_eq!(rpc(200, "error", data), "adcp A Envelope");
    assert_eq!(found(Via::Text, 0, &text("A")), "adcp A Text");
    let rest = json!({"adcp_error": error("A"), "errors": [error("B")], "status": "failed"});
    assert_eq!(found(Via::HttpJson, 422, &rest.to_string()), "adcp A Envelope");
    let details = json!([{"@type": "type.googleapis.com/google.protobuf.Struct",
        "value": {"adcp_error": error("A")}}]);
    let via = Via::Grpc { code: 8, message: "m" };
    assert_eq!(found(via, 0, &details.to_string()), "adcp A Envelope");
}

#[test]
fn adcp_comes_before_aap_and_aap_before_a2a() {
    let aap = |code: &str| json!({"type": "aap.error", "code": code, "message": "m"});
    let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"});
    let of = |data: Value| rpc(200, "error", json!({"code": -32099, "message": "x", "data": data}));
    let mut both = aap("RATE_LIMITED");
    both["adcp_error"] = error("A");
    assert_eq!(of(both), "adcp A Envelope");
    assert_eq!(of(json!([info, aap("RATE_LIMITED")])), "aap RATE_LIMITED");
    assert_eq!(of(json!([info])), "a2a TASK_NOT_FOUND -32099");
    assert_eq!(of(json!("x")), "a2a -32099 -32099");
    assert_eq!(of(json!({"adcp_error": {"code": 5}})), "a2a -32099 -32099");

    let failed = |data: Value| {
        json!({"status": {"state": "failed"}, "artifacts": [
        {"parts": [{"data": data}]}]})
    };
    assert_eq!(task(failed(aap("VEHICLE_NOT_FOUND"))), "aap VEHICLE_NOT_FOUND");
    assert_eq!(tool(json!({"isError": true, "structuredContent": aap("NEW")})), "aap NEW");
    let message = json!({"message": {"parts": [{"data": aap("INVALID_CONSENT")}]}});
    assert_eq!(rpc(200, "result", message), "aap INVALID_CONSENT");
    assert_eq!(found(Via::Text, 0, "RATE_LIMITED: slow down"), "aap RATE_LIMITED");
}

#[test]
fn statuses_are_read_with_their_details_and_without() {
    let info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"});
    let rest = |details: Value| {
        let body = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "m",
            "details": details}});
        found(Via::HttpJson, 404, &body.to_string())
    };
    let aap = json!({"@type": "x", "type": "aap.error", "code": "VEHICLE_NOT_FOUND"});
    assert_eq!(rest(json!([info.clone()])), "a2a TASK_NOT_FOUND -32001");
    assert_eq!(rest(json!([info.clone(), aap])), "aap VEHICLE_NOT_FOUND");
    assert_eq!(rest(json!([])), "http 404");
    let new = json!({"@type": "google.rpc.ErrorInfo", "reason": "NEW", "domain": "x"});
    assert_eq!(rest(json!([new])), "a2a NEW 0");
    let typed = json!({"@type": "google.rpc.ErrorInfo", "reason": "RATE_LIMITED",
        "domain": "autoagentprotocol.org", "metadata": {"retryable": "false", "error_id": "e1"}});
    assert_eq!(rest(json!([typed])), "aap RATE_LIMITED");
    let body = json!({"error": {"code": 429, "message": "m", "details": [typed]}}).to_string();
    let Some(CallFailure::Refused(refused)) = read(&raw(Via::HttpJson, 429, body.as_bytes()))
    else {
        panic!()
    };
    let RefusalForm::Aap { error, .. } = &refused.by else { panic!("{refused:?}") };
    assert_eq!((error.retryable, error.error_id.as_str()), (false, "e1"));
    let within = json!({"@type": "type.googleapis.com/google.protobuf.Struct",
        "value": {"type": "aap.error", "code": "INVALID_CONSENT"}});
    assert_eq!(rest(json!([within])), "aap INVALID_CONSENT");
    let grpc = |body: &str| found(Via::Grpc { code: 5, message: "gone" }, 0, body);
    assert_eq!(grpc(&json!([info]).to_string()), "a2a TASK_NOT_FOUND -32001");
    for body in ["", "[]", "nonsense", "{\"a\":1}", "\u{0}"] {
        assert_eq!(grpc(body), "grpc 5 gone");
    }
    assert_eq!(found(Via::Grpc { code: 0, message: "" }, 0, ""), "no failure");
    assert_eq!(found(Via::HttpJson, 204, ""), "no failure");
    assert_eq!(found(Via::HttpJson, 503, "<html>"), "http 503");
    assert_eq!(found(Via::McpTool, 500, "{}"), "http 500");
}

#[test]
fn a_payload_that_holds_an_error_alone_is_a_failure() {
    let alone = json!({"adcp_error": error("RATE_LIMITED")});
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"data": alone}]});
    for result in [
        json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"},
            "artifacts": [{"parts": [{"data": alone}]}]}}),
        json!({"id": "t", "status": {"state": "completed"},
            "artifacts": [{"parts": [{"kind": "data", "data": alone}]}]}),
        json!({"message": message}),
        message,
    ] {
        let shown = rpc(200, "result", result.clone());
        assert!(shown.contains("RATE_LIMITED"), "{result}: {shown}");
    }
    let shown = found(Via::HttpJson, 200, &alone.to_string());
    assert!(shown.contains("RATE_LIMITED"), "{shown}");
    // A tool has `isError` for this; without it the code is not relied on.
    for payload in [alone.clone(), json!({"adcp_error": "no"})] {
        let shown = tool(json!({"content": [], "structuredContent": payload}));
        assert!(shown != "no failure" && !shown.contains("RATE_LIMITED"), "{shown}");
    }
    for more in ["context", "errors", "status"] {
        let mut beside = alone.clone();
        beside[more] = json!({});
        assert_eq!(tool(json!({"structuredContent": beside})), "no failure", "{more}");
    }
    assert_eq!(tool(json!({"structuredContent": {"adcp_error": null}})), "no failure");
}

#[test]
fn t_7_a_result_is_never_a_failure() {
    let text = json!({"adcp_error": error("RATE_LIMITED")}).to_string();
    let structured = json!({"adcp_error": error("RATE_LIMITED"), "errors": [error("A")]});
    let results = [
        json!({"content": [{"type": "text", "text": text}]}),
        json!({"isError": false, "structuredContent": structured}),
        json!({"isError": "true", "structuredContent": structured}),
        json!({"structuredContent": {"status": "completed", "errors": [error("A")]}}),
        json!({"structuredContent": {"status": "input-required", "errors": [error("A")]}}),
        json!({"structuredContent": {"status": "failed"}}),
        json!({"structuredContent": {"status": "rejected", "reason": "no"}}),
    ];
    for result in results {
        assert_eq!(tool(result.clone()), "no failure", "{result}");
        assert_eq!(rpc(200, "result", result), "no failure");
    }
    for state in ["completed", "working", "TASK_STATE_COMPLETED", "TASK_STATE_CANCELED", "new"] {
        let done = json!({"status": {"state": state, "message": {"parts": [{"data": structured}]}},
            "artifacts": [{"parts": [{"data": structured}]}]});
        assert_eq!(task(done), "no failure", "{state}");
    }
    let payload = json!({"adcp_error": error("A"), "status": "completed"}).to_string();
    assert_eq!(found(Via::HttpJson, 200, &payload), "no failure");
}

#[test]
fn a_payload_that_calls_itself_failed_is_believed() {
    let payload = json!({"status": "failed", "errors": [
        {"code": "W", "message": "w", "severity": "warning"}, error("A"), error("B")]});
    assert_eq!(tool(json!({"structuredContent": payload})), "adcp A Payload");
    assert_eq!(found(Via::HttpJson, 200, &payload.to_string()), "adcp A Payload");
    let last = json!({"status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [{"parts": [
        {"data": {"progress": 5}}, {"data": payload}, {"text": "done"}]}]});
    assert_eq!(task(last), "adcp A Payload");
    let Some(CallFailure::Refused(refused)) =
        read(&raw(Via::HttpJson, 200, payload.to_string().as_bytes()))
    else {
        panic!()
    };
    let RefusalForm::Adcp(adcp) = &refused.by else { panic!("{refused:?}") };
    let codes: Vec<_> = adcp.listed.iter().map(|error| error.code.name()).collect();
    assert_eq!(codes, ["A", "B"]);
}

#[test]
fn a_malformed_error_object_is_no_structured_error() {
    let large = json!({"code": "A", "message": "x".repeat(5_000)});
    for (object, expected) in [
        (json!({"message": "m"}), "has no code"),
        (json!({"code": 429}), "has no code"),
        (json!("RATE_LIMITED"), "is not an object"),
        (json!({"code": ""}), "has a code that is empty or longer than 64 characters"),
        (large, "is larger than 4096 bytes"),
    ] {
        let result = json!({"isError": true, "content": [{"type": "text", "text": "Sorry."}],
            "structuredContent": {"adcp_error": object}});
        assert_eq!(tool(result), expected);
    }
    let words = json!({"isError": true, "content": [{"type": "text", "text": "Sorry."}]});
    assert_eq!(tool(words), "words Sorry.");
    let other = json!({"isError": true, "structuredContent": {"error_info": {"code": "A"}},
        "content": [{"type": "text", "text": "{\"error\":\"x\"}"}]});
    assert_eq!(tool(other), "words ");
    let legacy = json!({"status": {"state": "failed", "message": {"parts": [
        {"kind": "text", "text": "Authentication failed"}]}}});
    assert_eq!(task(legacy), "words Authentication failed");
}

#[test]
fn bad_input_is_garbled_and_said_to_be_so() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let huge = "x".repeat(MAX_READ + 1);
    for via in [Via::JsonRpc { id: "i" }, Via::HttpJson, Via::McpTool, Via::Task] {
        for (body, expected) in [
            ("", "garbled: the answer is empty"),
            ("<html>hello</html>", "garbled: the answer is not valid JSON"),
            (huge.as_str(), "garbled: the answer is larger than 8388608 bytes"),
        ] {
            assert_eq!(found(via, 200, body), expected, "{via:?}");
            assert_eq!(found(via, 502, body), "http 502", "{via:?}");
        }
        let answer = read(&raw(via, 200, deep.as_bytes()));
        assert!(matches!(answer, Some(CallFailure::Garbled(_))), "{via:?}");
        let answer = read(&raw(via, 200, b"{\"a\":\"\xff\"}"));
        let Some(CallFailure::Garbled(garbled)) = answer else { panic!("{via:?}") };
        assert_eq!(garbled.defect, Defect::NotUtf8);
    }
    for (body, expected) in [
        (r#"{"jsonrpc":"2.0","id":"j","result":{}}"#, "the answer has the id of another request"),
        (
            r#"{"jsonrpc":"2.0","id":"i","result":{},"error":{"code":1}}"#,
            "the answer is not JSON-RPC 2.0: it has both a result and an error",
        ),
        (
            r#"{"jsonrpc":"2.0","id":"i","error":"x"}"#,
            "the answer is not JSON-RPC 2.0: its error has no whole number as code",
        ),
    ] {
        assert_eq!(found(Via::JsonRpc { id: "i" }, 200, body), format!("garbled: {expected}"));
    }
    assert_eq!(found(Via::Text, 0, " \n"), "garbled: the answer is empty");
    assert_eq!(found(Via::Text, 0, "out of order"), "words out of order");
    assert_eq!(found(Via::Text, 502, "<html>"), "http 502");
}

#[test]
fn the_longest_wait_counts_wherever_it_stands() {
    let wait = |body: Value| {
        let body = json!({"jsonrpc": "2.0", "id": "i", "error": body}).to_string();
        match read(&raw(Via::JsonRpc { id: "i" }, 200, body.as_bytes())) {
            Some(CallFailure::Refused(refused)) => refused.retry_after,
            other => panic!("{other:?}"),
        }
    };
    let adcp = |delay: Value| {
        json!({"code": 1, "data": {"adcp_error":
        {"code": "RATE_LIMITED", "retry_after": delay}}})
    };
    assert_eq!(wait(adcp(json!(2.5))), Some(Duration::from_secs(7)));
    assert_eq!(wait(adcp(json!(7.5))), Some(Duration::from_secs(8)));
    assert_eq!(wait(adcp(json!(86_400))), Some(Duration::from_secs(3_600)));
    assert_eq!(wait(adcp(json!("soon"))), Some(Duration::from_secs(7)));
    let info = |delay: &str| {
        json!({"code": 1, "data": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}]})
    };
    assert_eq!(wait(info("1.0001s")), Some(Duration::from_secs(7)));
    assert_eq!(wait(info("8.0001s")), Some(Duration::from_millis(8_001)));
    assert_eq!(wait(info("1e99s")), Some(refusal::MAX_DELAY));
    for nonsense in ["5", "-1s", "NaNs", "infs", ""] {
        assert_eq!(wait(info(nonsense)), Some(Duration::from_secs(7)), "{nonsense}");
    }
}

#[test]
fn d_1_codes_of_any_catalog_are_kept_as_sent() {
    for code in ["X_ACME_FLOOR", "go forever", "\u{202e}", "ÄÖÜ"] {
        let body = json!({"isError": true, "structuredContent": {"adcp_error": {"code": code}}});
        let Some(CallFailure::Refused(refused)) =
            read(&raw(Via::McpTool, 0, body.to_string().as_bytes()))
        else {
            panic!()
        };
        let RefusalForm::Adcp(adcp) = &refused.by else { panic!("{refused:?}") };
        assert_eq!(adcp.error.code, WireName::Other(code.into()));
        assert!(!refused.to_string().contains('\u{202e}'));
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "adcp_error",
        "errors",
        "code",
        "message",
        "recovery",
        "retry_after",
        "data",
        "details",
        "status",
        "state",
        "failed",
        "artifacts",
        "parts",
        "isError",
        "structuredContent",
        "content",
        "text",
        "payload",
        "error",
        "result",
        "jsonrpc",
        "2.0",
        "id",
        "i",
        "task",
        "type",
        "aap.error",
        "RATE_LIMITED",
        "transient",
        "issues",
        "@type",
        "field",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((words.clone(), inner), 0..6).prop_map(|members| Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

fn vias() -> Vec<Via<'static>> {
    vec![
        Via::JsonRpc { id: "i" },
        Via::HttpJson,
        Via::Grpc { code: 14, message: "m" },
        Via::McpTool,
        Via::Task,
        Via::Text,
    ]
}

fn holds(body: &[u8], status: u16) -> Result<(), TestCaseError> {
    for via in vias() {
        let kept = match read(&raw(via, status, body)) {
            None => continue,
            Some(CallFailure::Refused(refused)) => {
                prop_assert!(!refused.to_string().is_empty());
                refused.kept
            }
            Some(CallFailure::Garbled(garbled)) => garbled.kept,
            Some(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
        };
        prop_assert!(kept.body.len() <= MAX_KEPT && kept.length == body.len());
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_bytes_are_more_than_a_failure(
        body in prop::collection::vec(any::<u8>(), 0..300),
        status in prop::sample::select(vec![0_u16, 200, 204, 302, 400, 401, 429, 503]),
    ) {
        holds(&body, status)?;
    }

    #[test]
    fn no_json_is_more_than_a_failure(
        value in json_value(),
        status in prop::sample::select(vec![0_u16, 200, 500]),
    ) {
        holds(value.to_string().as_bytes(), status)?;
        let wrapped = json!({"jsonrpc": "2.0", "id": "i", "error": value});
        holds(wrapped.to_string().as_bytes(), status)?;
        let wrapped = json!({"jsonrpc": "2.0", "id": "i", "result": value});
        holds(wrapped.to_string().as_bytes(), status)?;
        let wrapped = json!({"isError": true, "structuredContent": value, "content": [value]});
        holds(wrapped.to_string().as_bytes(), status)?;
        let wrapped = json!({"status": {"state": "failed", "message": {"parts": [{"data": value}]}},
            "artifacts": [{"parts": [{"data": value}]}]});
        holds(wrapped.to_string().as_bytes(), status)?;
    }
}
