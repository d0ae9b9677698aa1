//! What A2A refuses before anybody looks into the data: rows E-015 to E-034.

use expect_test::expect;
use tradepost_document::json::{Value, json};

use crate::support::{TestServer, client, compare, envelope, start, start_with, with, with_null};

fn request(method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).to_string()
}

fn dealer_information() -> Value {
    envelope(&json!({"type": "dealer.information.request"}))
}

fn is_answered(server: &TestServer, row: &str, body: &Value) {
    let answer = server.post(body.to_string()).json();
    assert!(answer.get("result").is_some(), "{row} {answer}");
}

#[test]
fn lacking_operations_are_refused_by_the_capability_table() {
    let server = start();
    server.check_body("E-015", request("foo"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found; use SendMessage"}}
    "#]]);
    server.check_body("E-016", request("message/send"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32601,"message":"method not found; A2A 1.0 calls it SendMessage",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"METHOD_NOT_FOUND","domain":"a2a-protocol.org",
                "metadata":{"suggestion":"SendMessage"}}]}}
    "#]]);
    server.check_body("E-017", request("SendStreamingMessage"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32004,"message":"Operation is not supported",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"SendStreamingMessage"}}]}}
    "#]]);
    server.check_body("E-017", request("SubscribeToTask"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32004,"message":"Operation is not supported",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"SubscribeToTask"}}]}}
    "#]]);
    server.check_body("E-018", request("GetTask"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32001,"message":"Task not found",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"operation":"GetTask"}}]}}
    "#]]);
    server.check_body("E-018", request("CancelTask"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32001,"message":"Task not found",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"operation":"CancelTask"}}]}}
    "#]]);
    server.check_body("E-019", request("ListTasks"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32004,"message":"Operation is not supported",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"ListTasks"}}]}}
    "#]]);
    for operation in ["Create", "Get", "Delete"] {
        let method = format!("{operation}TaskPushNotificationConfig");
        let code = server.post(request(&method)).json()["error"]["code"].clone();
        assert_eq!(code, -32003, "E-020 {method}");
    }
    server.check_body("E-020", request("ListTaskPushNotificationConfigs"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32003,"message":"Push notifications are not supported",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PUSH_NOTIFICATION_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"operation":"ListTaskPushNotificationConfigs"}}]}}
    "#]]);
    server.check_body("E-021", request("GetExtendedAgentCard"), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32004,"message":"Operation is not supported",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org",
                "metadata":{"operation":"GetExtendedAgentCard"}}]}}
    "#]]);
}

#[test]
fn protocol_versions_other_than_1_0_are_refused() {
    let server = start();
    let body = dealer_information().to_string();
    let json = ("Content-Type", "application/json");
    let ask = |version: &str| server.post_with(&[json, ("A2A-Version", version)], &body);
    compare(
        "E-022",
        &ask("0.3"),
        &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32009,"message":"this agent speaks A2A 1.0 only; send A2A-Version: 1.0",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"VERSION_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"supportedVersions":"1.0"}}]}}
    "#]],
    );
    for version in ["2.0", "abc", "1.1"] {
        assert_eq!(ask(version).json()["error"]["code"], -32009, "E-022 {version}");
    }
    for version in ["1.0", "1.0.3", ""] {
        assert!(ask(version).json().get("result").is_some(), "E-023 {version}");
    }
    is_answered(&server, "E-023", &dealer_information());
    let query = |target: &str, headers: &[(&str, &str)]| {
        crate::support::client::request(server.address, "POST", target, headers, body.as_bytes())
            .json()
    };
    assert!(query("/a2a?A2A-Version=1.0", &[json]).get("result").is_some());
    assert_eq!(query("/a2a?A2A-Version=0.3", &[json])["error"]["code"], -32009);
    let both = query("/a2a?A2A-Version=0.3", &[json, ("A2A-Version", "1.0")]);
    assert_eq!(both["error"]["code"], -32009);
}

#[test]
fn a_dealer_may_demand_the_version_header() {
    let server = start_with(|config| config.dealers[0].require_version = true);
    let answer = server.post(dealer_information().to_string()).json();
    assert_eq!(answer["error"]["code"], -32009, "C-33 {answer}");
}

#[test]
fn parameters_of_the_wrong_shape_are_refused_with_every_field() {
    let server = start();
    let check = |row: &str, body: Value, expected: expect_test::Expect| {
        server.check_body(row, body.to_string(), &expected);
    };
    let good = dealer_information();
    check(
        "E-025",
        with(good.clone(), &[("/params", Value::Null)]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: params: must be object",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"params"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"params","description":"must be object"}]}]}}
        "#]],
    );
    check(
        "E-025",
        with(good.clone(), &[("/params", json!([1]))]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: params: must be object",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"params"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"params","description":"must be object"}]}]}}
        "#]],
    );
    check(
        "E-025",
        with(good.clone(), &[("/params", json!("x"))]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: params: must be object",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"params"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"params","description":"must be object"}]}]}}
        "#]],
    );
    check(
        "E-026",
        with(good.clone(), &[("/params/message", Value::Null)]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message: missing required property \"message\"",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"message","description":"missing required property \"message\""}]}]}}
        "#]],
    );
    check(
        "E-026",
        with_null(good.clone(), "/params/message"),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message: must be object",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message","description":"must be object"}]}]}}
        "#]],
    );
    check(
        "E-027",
        with(good.clone(), &[("/params/message/messageId", Value::Null)]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message.messageId: missing required property \"messageId\"",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.messageId"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"message.messageId","description":"missing required property \"messageId\""}]}]}}
        "#]],
    );
    check(
        "E-027",
        with(good.clone(), &[("/params/message/messageId", json!(""))]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message.messageId: must not be empty",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.messageId"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.messageId","description":"must not be empty"}]}]}}
        "#]],
    );
    for role in [Value::Null, json!("user"), json!("ROLE_AGENT"), json!(99)] {
        let answer =
            server.post(with(good.clone(), &[("/params/message/role", role)]).to_string()).json();
        assert_eq!(answer["error"]["code"], -32602, "E-028 {answer}");
    }
    check(
        "E-028",
        with(good.clone(), &[("/params/message/role", json!("user"))]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message.role: must be ROLE_USER in a request",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.role"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.role","description":"must be ROLE_USER in a request"}]}]}}
        "#]],
    );
    check(
        "E-029",
        with(good.clone(), &[("/params/message/parts", Value::Null)]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message.parts: missing required property \"parts\"",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.parts"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[{"field":"message.parts","description":"missing required property \"parts\""}]}]}}
        "#]],
    );
    check(
        "E-029",
        with(good.clone(), &[("/params/message/parts", json!({}))]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message.parts: must be array",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.parts"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts","description":"must be array"}]}]}}
        "#]],
    );
    check(
        "E-029",
        with(good.clone(), &[("/params/message/parts", json!([]))]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,"message":"Invalid parameters: message.parts: must have at least 1 item",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.parts"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts","description":"must have at least 1 item"}]}]}}
        "#]],
    );
    let parts = json!([{"mediaType": "text/plain"}, {"text": "a", "data": {}}]);
    check(
        "E-030",
        with(good.clone(), &[("/params/message/parts", parts)]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"Invalid parameters: message.parts[0]: must have exactly one of text, raw, url, data; message.parts[1]: must have exactly one of text, raw, url, data",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.parts[0], message.parts[1]"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[
                      {"field":"message.parts[0]","description":"must have exactly one of text, raw, url, data"},
                      {"field":"message.parts[1]","description":"must have exactly one of text, raw, url, data"}]}]}}
        "#]],
    );
    let several = json!({"role": 2, "parts": [{"text": 1}], "contextId": 5});
    check(
        "E-027",
        with(good, &[("/params/message", several)]),
        expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32602,
                "message":"Invalid parameters: message.role: must be ROLE_USER in a request; message.parts[0].text: must be string; message.contextId: must be string; message.messageId: missing required property \"messageId\"",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.role, message.parts[0].text, message.contextId, message.messageId"}},
                  {"@type":"type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations":[
                      {"field":"message.role","description":"must be ROLE_USER in a request"},
                      {"field":"message.parts[0].text","description":"must be string"},
                      {"field":"message.contextId","description":"must be string"},
                      {"field":"message.messageId","description":"missing required property \"messageId\""}]}]}}
        "#]],
    );
}

#[test]
fn tasks_and_webhooks_are_not_supported() {
    let server = start();
    let task = with(dealer_information(), &[("/params/message/taskId", json!("t-1"))]);
    server.check_body("E-031", task.to_string(), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32001,"message":"this agent keeps no tasks; leave taskId out",
            "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]]);
    let configuration = json!({"taskPushNotificationConfig": {"url": "https://x.example"}});
    let push = with(dealer_information(), &[("/params/configuration", configuration)]);
    server.check_body("E-032", push.to_string(), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32003,"message":"this agent sends no push notifications; leave the webhook out",
            "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"PUSH_NOTIFICATION_NOT_SUPPORTED","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]]);
}

#[test]
fn unknown_members_of_the_envelope_are_ignored() {
    let server = start();
    let mut body = dealer_information();
    body["params"]["message"]["kind"] = json!("message");
    body["params"]["message"]["metadata"] = json!({"a": [1]});
    body["params"]["message"]["parts"][0]["kind"] = json!("data");
    body["params"]["extra"] = json!(1);
    body["extra"] = json!(1);
    is_answered(&server, "E-033", &body);
}

#[test]
fn data_parts_are_json_whatever_else_their_media_type_says() {
    let server = start();
    let typed = |media_type: &str| {
        let mut body = dealer_information();
        body["params"]["message"]["parts"][0]["mediaType"] = json!(media_type);
        body
    };
    server.check_body("E-034", typed("text/plain").to_string(), &expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32005,"message":"a part has a media type that this agent cannot read: message.parts[0]",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org",
                "metadata":{"fields":"message.parts[0]",
                  "supportedMediaTypes":"application/json, application/vnd.autoagent.dealer-information-request+json, application/vnd.autoagent.inventory-facets-request+json, application/vnd.autoagent.inventory-search-request+json, application/vnd.autoagent.vehicle-detail-request+json, application/vnd.autoagent.lead-submit-request+json"}}]}}
    "#]]);
    assert_eq!(server.post(typed("image/png").to_string()).json()["error"]["code"], -32005);
    for accepted in [
        "application/json",
        "application/json; charset=utf-8",
        "application/vnd.autoagent.dealer-information-request+json",
        "application/vnd.autoagent.inventory-search-request+json",
        "",
    ] {
        is_answered(&server, accepted, &typed(accepted));
    }
}

#[test]
fn files_of_other_types_are_refused_and_text_ignored() {
    let server = start_with(|config| config.dealers[0].http_json = true);
    let beside = |part: Value| {
        let mut body = dealer_information();
        body["params"]["message"]["parts"].as_array_mut().unwrap().push(part);
        body
    };
    for (part, is_read) in [
        (json!({"raw": "AAAA", "mediaType": "image/png"}), false),
        (json!({"url": "https://a.example/x.pdf", "mediaType": "application/pdf"}), false),
        (json!({"raw": "e30=", "mediaType": "application/json"}), true),
        (json!({"raw": "AAAA"}), true),
        (json!({"url": "https://a.example/x"}), true),
        (json!({"text": "hello"}), true),
        (json!({"text": "# hello", "mediaType": "text/markdown"}), true),
    ] {
        let body = beside(part);
        let answer = server.post(body.to_string()).json();
        let refused = answer["error"]["code"] == -32005;
        assert_eq!((refused, answer.get("result").is_some()), (!is_read, is_read), "{answer}");
        let headers = [("Content-Type", "application/a2a+json"), ("A2A-Version", "1.0")];
        let params = body["params"].to_string();
        let target = "/rest/message:send";
        let answer = client::request(server.address, "POST", target, &headers, params.as_bytes());
        let refused =
            answer.json()["error"]["details"][0]["reason"] == "CONTENT_TYPE_NOT_SUPPORTED";
        let expected = if is_read { (200, false) } else { (400, true) };
        assert_eq!((answer.status, refused), expected, "{}", answer.json());
    }
}

#[test]
fn output_modes_matter_only_to_a_strict_dealer() {
    let asking = |modes: Value| {
        with(
            dealer_information(),
            &[("/params/configuration", json!({"acceptedOutputModes": modes}))],
        )
    };
    is_answered(&start(), "C-26", &asking(json!(["image/png"])));
    let strict = start_with(|config| config.dealers[0].strict_output_modes = true);
    let answer = strict.post(asking(json!(["image/png"])).to_string()).json();
    assert_eq!(answer["error"]["code"], -32005, "C-26 {answer}");
    is_answered(&strict, "C-26", &asking(json!([])));
    is_answered(&strict, "C-26", &asking(json!(["text/html", "application/*"])));
    let own = "application/vnd.autoagent.dealer-information-response+json";
    is_answered(&strict, "C-26", &asking(json!([own])));
}
