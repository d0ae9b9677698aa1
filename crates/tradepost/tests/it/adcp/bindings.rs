//! A2A: messages that call no task, and what 1.0 and 0.3 do alike.

use expect_test::{Expect, expect};
use tradepost_document::json::{Value, json};

use crate::support::client;
use crate::support::publisher::{Binding, Publisher, message, older_message, start, start_with};

#[track_caller]
fn check(response: &crate::support::Response, expected: Expect) {
    expected.assert_eq(&response.snapshot());
}

fn parts(parts: Value) -> Value {
    json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": parts}})
}

#[test]
fn a_wrong_page_token_is_reported_with_every_other_problem() {
    let publisher = start();
    let list = json!({"pageSize": 0, "status": "NO_STATE", "pageToken": "nonsense"});
    let answer = publisher.a2a("acme", "ListTasks", &list).json();
    let fields = &answer["error"]["data"][0]["metadata"]["fields"];
    assert_eq!(fields, "pageSize, status, pageToken", "{answer}");
}

#[test]
fn a_message_without_a_task_is_refused_by_the_protocol() {
    let publisher = start();
    let good = json!({"skill": "get_products", "input": {}});
    for (sent, expected) in [
        (
            json!([{"text": "sell me something"}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts: one data part {\"skill\": …, \"input\": {…}} is required",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.parts"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts","description":"one data part {\"skill\": …, \"input\": {…}} is required"}]}]}}
            "#]],
        ),
        (
            json!([{"data": good}, {"data": good}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts: exactly one data part is permitted; send one task in one message",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.parts"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts","description":"exactly one data part is permitted; send one task in one message"}]}]}}
            "#]],
        ),
        (
            json!([{"data": good}, {"url": "https://a.example/brief.pdf"}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts[1]: files have no place here; refer to them in the task's input",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[1]"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts[1]","description":"files have no place here; refer to them in the task's input"}]}]}}
            "#]],
        ),
        (
            json!([{"data": good}, {"raw": "AAAA", "mediaType": "application/pdf"}]),
            expect![[r#"
            200
            {"jsonrpc":"2.0","id":1,
              "error":{"code":-32005,"message":"a part has a media type that this agent cannot read: message.parts[1]",
                "data":[
                  {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org",
                    "metadata":{"fields":"message.parts[1]","supportedMediaTypes":"application/json, text/plain"}}]}}
        "#]],
        ),
        (
            json!([{"data": good, "mediaType": "image/png"}, {"text": "x", "mediaType": "text/html"}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32005,"message":"a part has a media type that this agent cannot read: message.parts[0], message.parts[1]",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"CONTENT_TYPE_NOT_SUPPORTED","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0], message.parts[1]","supportedMediaTypes":"application/json, text/plain"}}]}}
            "#]],
        ),
        (
            json!([{"data": [1]}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts[0].data: must be an object {\"skill\": …, \"input\": {…}}",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0].data"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts[0].data","description":"must be an object {\"skill\": …, \"input\": {…}}"}]}]}}
            "#]],
        ),
        (
            json!([{"data": {"skill": "get_horses", "input": []}}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,
                    "message":"Invalid parameters: message.parts[0].data.skill: must be the id of a skill of the agent card; message.parts[0].data.input: must be an object with the task's request; it is required",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0].data.skill, message.parts[0].data.input"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[
                          {"field":"message.parts[0].data.skill","description":"must be the id of a skill of the agent card"},
                          {"field":"message.parts[0].data.input","description":"must be an object with the task's request; it is required"}]}]}}
            "#]],
        ),
        (
            json!([{"data": {"skill": "get_products"}}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts[0].data.input: must be an object with the task's request; it is required",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0].data.input"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts[0].data.input","description":"must be an object with the task's request; it is required"}]}]}}
            "#]],
        ),
        (
            json!([{"data": {"skill": "get_products", "parameters": {}}}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,
                    "message":"Invalid parameters: message.parts[0].data.input: must be an object with the task's request; it is required; message.parts[0].data: has members besides skill and input; put the request into input",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0].data.input, message.parts[0].data"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[
                          {"field":"message.parts[0].data.input","description":"must be an object with the task's request; it is required"},
                          {"field":"message.parts[0].data","description":"has members besides skill and input; put the request into input"}]}]}}
            "#]],
        ),
        (
            json!([{"data": {"skill": "get_products", "input": {}, "more": 1}}]),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts[0].data: has members besides skill and input; put the request into input",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0].data"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts[0].data","description":"has members besides skill and input; put the request into input"}]}]}}
            "#]],
        ),
    ] {
        check(&publisher.a2a("acme", "SendMessage", &parts(sent)), expected);
    }
    let message = parts(json!([{"text": "read me"}, {"data": good}]));
    let answer = publisher.a2a("acme", "SendMessage", &message).json();
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_FAILED", "{answer}");
}

#[test]
fn the_version_that_is_named_decides_which_a2a_it_is() {
    let publisher = start();
    let newer = "SendMessage";
    let older = "message/send";
    let other = "this agent speaks A2A 1.0 and 0.3; send A2A-Version: 1.0 or 0.3";
    let unknown_older = "method not found; A2A 0.3 has message/send, and 1.0 SendMessage";
    for (versions, method, expected) in [
        (&[][..], newer, "task"),
        (&[], older, "kind"),
        (&["1.0"], newer, "task"),
        (&["0.3"], older, "kind"),
        (&["0.3.0"], older, "kind"),
        // A method of the other release is none of this one.
        (&["0.3"], newer, "method not found; did you mean message/send?"),
        (&["0.3"], "tasks/list", unknown_older),
        (&["0.3"], "Dance", unknown_older),
        (&["1.0"], older, "method not found; A2A 1.0 calls it SendMessage"),
        (&["0.2"], older, other),
        (&["0.2"], newer, other),
        (&["0.30"], older, other),
        (&["0.3", "1.0"], older, other),
    ] {
        let tool = "get_adcp_capabilities";
        let params = if method == newer {
            message(tool, &json!({}))
        } else {
            older_message(tool, &json!({}))
        };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers: Vec<_> = versions.iter().map(|named| ("A2A-Version", *named)).collect();
        headers.push(("A2A-Extensions", crate::support::publisher::EXTENSION));
        let answer = publisher.post("acme", "/a2a", &headers, &body.to_string()).json();
        let result = &answer["result"];
        if result.is_null() {
            assert_eq!(answer["error"]["message"], expected, "{versions:?} {method}");
        } else {
            assert!(result.get(expected).is_some(), "{versions:?} {method}: {answer}");
        }
    }
}

#[test]
fn the_profile_is_activated_and_named_in_the_answer() {
    let publisher = start();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": message("get_adcp_capabilities", &json!({}))});
    let bare = publisher.post("acme", "/a2a", &[("A2A-Version", "1.0")], &body.to_string());
    check(
        &bare,
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32008,"message":"name the extension https://adcontextprotocol.org/extensions/adcp/v3 in A2A-Extensions",
            "data":[
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXTENSION_SUPPORT_REQUIRED","domain":"a2a-protocol.org",
                "metadata":{"extensionUri":"https://adcontextprotocol.org/extensions/adcp/v3"}}]}}
    "#]],
    );
    let good = publisher.a2a("acme", "SendMessage", &message("get_adcp_capabilities", &json!({})));
    assert_eq!(good.header("a2a-extensions"), Some(crate::support::publisher::EXTENSION));
}

#[test]
fn a_profile_that_is_not_required_is_spoken_and_named() {
    let publisher = start_with(&|config| config.publishers[0].front.require_extension = false);
    let card =
        client::request(publisher.address, "GET", "/.well-known/agent-card.json", &[], b"").json();
    assert_eq!(card["capabilities"]["extensions"][0]["required"], false);
    let profile = Some(crate::support::publisher::EXTENSION);
    let post = |method: &str, params: Value, named: &[(&str, &str)]| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [&[("A2A-Version", "1.0")], named].concat();
        publisher.post("acme", "/a2a", &headers, &body.to_string())
    };
    // What comes back is what whoever names the extension gets, but for the task's ids.
    for (task, input) in [
        ("list_accounts", json!({})),
        ("get_products", json!({"buying_mode": "barter"})),
        ("get_products", json!({"buying_mode": "wholesale", "account": {"account_id": "x"}})),
    ] {
        let bare = post("SendMessage", message(task, &input), &[]);
        let named = publisher.a2a("acme", "SendMessage", &message(task, &input));
        assert_eq!(
            (bare.header("a2a-extensions"), named.header("a2a-extensions")),
            (profile, profile)
        );
        let artifacts = |answer: &Value| answer["result"]["task"]["artifacts"].clone();
        assert!(artifacts(&bare.json()).is_array(), "{task}");
        assert_eq!(artifacts(&bare.json()), artifacts(&named.json()), "{task}");
    }
    // Clients that do not name the profile say `parameters`, and more; those that do are held to it.
    let loose = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [
        {"data": {"skill": "list_accounts", "parameters": {}, "more": 1}}]}});
    let bare = post("SendMessage", loose.clone(), &[]).json();
    let named = publisher.a2a("acme", "SendMessage", &message("list_accounts", &json!({}))).json();
    assert_eq!(bare["result"]["task"]["artifacts"], named["result"]["task"]["artifacts"]);
    assert_eq!(publisher.a2a("acme", "SendMessage", &loose).json()["error"]["code"], -32602);
    // The protocol's own errors, and another extension, which nobody has here.
    let other = [("A2A-Extensions", "https://example.com/other")];
    for refused in [
        post("SendMessage", message("no_such_task", &json!({})), &[]),
        post("GetTask", json!({"id": "x"}), &other),
    ] {
        assert_eq!(refused.header("a2a-extensions"), profile);
        assert!(refused.json()["error"]["code"].is_number());
    }
    let whole = |version| {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send",
            "params": older_message("get_adcp_capabilities", &json!({}))});
        publisher.post("acme", "/a2a", &[("A2A-Version", version)], &body.to_string())
    };
    // A2A 0.3 has no such header.
    assert_eq!(whole("0.3").header("a2a-extensions"), None);
}

#[test]
fn a_task_not_offered_is_answered_alike_on_every_binding() {
    let publisher = start();
    for task in ["preview_creative", "get_creative_features"] {
        let input = json!({"context": {"trace": "t-1"}});
        let [mcp, newer, older] = [
            publisher.call(Binding::Mcp, "acme", task, &input).json()["result"]["structuredContent"]
                .clone(),
            publisher.call(Binding::A2a, "acme", task, &input).json()["result"]["task"]["artifacts"]
                [0]["parts"][1]["data"]
                .clone(),
            publisher.call(Binding::Older, "acme", task, &input).json()["result"]["artifacts"][0]
                ["parts"][1]["data"]
                .clone(),
        ];
        assert_eq!(mcp["adcp_error"]["code"], "UNSUPPORTED_FEATURE", "{task}: {mcp}");
        assert_eq!(mcp["context"]["trace"], "t-1", "{task}");
        assert_eq!((&newer, &older), (&mcp, &mcp), "{task}");
    }
}

fn started(publisher: &Publisher, who: &str) -> String {
    let sent = publisher.a2a(who, "SendMessage", &message("get_products", &json!({})));
    sent.json()["result"]["task"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn another_callers_task_is_as_if_it_were_not_there() {
    let publisher = start();
    let id = started(&publisher, "acme");
    let own = publisher.a2a("acme", "GetTask", &json!({"id": id})).json();
    assert_eq!(own["result"]["id"], *id);
    let older = publisher.older("acme", "tasks/get", &json!({"id": id})).json();
    assert_eq!(older["result"]["kind"], "task");
    assert_eq!(older["result"]["status"]["state"], "failed");
    for (method, older) in [("GetTask", "tasks/get"), ("CancelTask", "tasks/cancel")] {
        for other in ["nova", "stranger", "paused"] {
            let seen = |id: &str| {
                let new = publisher.a2a(other, method, &json!({"id": id})).snapshot();
                [new, publisher.older(other, older, &json!({"id": id})).snapshot()]
            };
            assert_eq!(seen(&id), seen("0196f0aa-0000-7000-8000-000000000000"), "{method}");
        }
    }
    check(
        &publisher.a2a("nova", "GetTask", &json!({"id": id})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32001,"message":"Task not found",
            "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    check(
        &publisher.a2a("acme", "CancelTask", &json!({"id": id})),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32002,"message":"Task cannot be canceled",
            "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    let list =
        |who| publisher.a2a(who, "ListTasks", &json!({})).json()["result"]["totalSize"].clone();
    assert_eq!((list("acme"), list("nova")), (json!(1), json!(0)));
    let mut more = message("get_products", &json!({}));
    more["message"]["taskId"] = id.into();
    check(
        &publisher.a2a("acme", "SendMessage", &more),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32004,"message":"this task has ended; leave taskId out",
            "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
    check(
        &publisher.a2a("nova", "SendMessage", &more),
        expect![[r#"
        200
        {"jsonrpc":"2.0","id":1,
          "error":{"code":-32001,"message":"Task not found",
            "data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{}}]}}
    "#]],
    );
}

#[test]
fn what_is_not_offered_is_unsupported_on_both_releases() {
    let publisher = start();
    for (method, older) in [
        ("SendStreamingMessage", "message/stream"),
        ("SubscribeToTask", "tasks/resubscribe"),
        ("CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"),
        ("GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"),
        ("DoSomething", "do/something"),
    ] {
        let code = |answer: Value| answer["error"]["code"].clone();
        let new = code(publisher.a2a("acme", method, &json!({})).json());
        assert_eq!(new, code(publisher.older("acme", older, &json!({})).json()), "{method}");
        assert!(new.is_i64(), "{method}");
    }
}

#[test]
fn clients_of_0_3_are_understood_and_answered_in_kind() {
    let publisher = start();
    let mut sent = older_message("get_products", &json!({"context": {"n": 1}}));
    sent["message"]["contextId"] = "c-1".into();
    let mut answer = publisher.older("acme", "message/send", &sent).json();
    answer["result"]["id"] = "<id>".into();
    expect![[r#"
        {"jsonrpc":"2.0","id":1,
          "result":{"kind":"task","id":"<id>","contextId":"c-1","status":{"state":"failed","timestamp":"2026-04-30T12:00:00.000Z"},
            "artifacts":[
              {"artifactId":"error-result",
                "parts":[
                  {"kind":"text","text":"The arguments have 1 problem; correct it and send the request again."},
                  {"kind":"data",
                    "data":{"status":"failed","message":"The arguments have 1 problem; correct it and send the request again.",
                      "adcp_error":{"code":"VALIDATION_ERROR","message":"The arguments have 1 problem; correct it and send the request again.",
                        "recovery":"correctable","field":"buying_mode","suggestion":"correct every entry of issues and send again",
                        "issues":[{"pointer":"/buying_mode","message":"\"buying_mode\" is required","keyword":"required"}]},
                      "errors":[
                        {"code":"VALIDATION_ERROR","message":"The arguments have 1 problem; correct it and send the request again.","recovery":"correctable",
                          "field":"buying_mode","suggestion":"correct every entry of issues and send again",
                          "issues":[{"pointer":"/buying_mode","message":"\"buying_mode\" is required","keyword":"required"}]}],"context":{"n":1},
                      "adcp_version":"3.1"}}]}]}}"#]].assert_eq(&crate::support::layout::lay_out(&answer));
    // The name that 1.0 has for the arguments is good, too.
    sent["message"]["parts"][0]["data"] = json!({"skill": "get_products", "input": {}});
    let answer = publisher.older("acme", "message/send", &sent).json();
    assert_eq!(answer["result"]["status"]["state"], "failed", "{answer}");
    for (part, expected) in [
        (
            json!({"kind": "text", "text": "hello"}),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts: one data part {\"skill\": …, \"input\": {…}} is required",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"message.parts"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts","description":"one data part {\"skill\": …, \"input\": {…}} is required"}]}]}}
            "#]],
        ),
        (
            json!({"kind": "file", "file": {"uri": "https://a.example/x"}}),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,
                    "message":"Invalid parameters: message.parts[0]: files have no place here; refer to them in the task's input; message.parts: one data part {\"skill\": …, \"input\": {…}} is required",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0], message.parts"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[
                          {"field":"message.parts[0]","description":"files have no place here; refer to them in the task's input"},
                          {"field":"message.parts","description":"one data part {\"skill\": …, \"input\": {…}} is required"}]}]}}
            "#]],
        ),
        (
            json!({"kind": "data", "data": {"skill": "get_products", "input": {}, "parameters": {}}}),
            expect![[r#"
                200
                {"jsonrpc":"2.0","id":1,
                  "error":{"code":-32602,"message":"Invalid parameters: message.parts[0].data.parameters: must not stand beside input; send one of them",
                    "data":[
                      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org",
                        "metadata":{"fields":"message.parts[0].data.parameters"}},
                      {"@type":"type.googleapis.com/google.rpc.BadRequest",
                        "fieldViolations":[{"field":"message.parts[0].data.parameters","description":"must not stand beside input; send one of them"}]}]}}
            "#]],
        ),
    ] {
        sent["message"]["parts"] = json!([part]);
        check(&publisher.older("acme", "message/send", &sent), expected);
    }
    sent["message"]["role"] = "ROLE_USER".into();
    check(
        &publisher.older("acme", "message/send", &json!({})),
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
}
