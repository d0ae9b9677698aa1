//! Rows of docs/requirements/a2a.md, one by one and on every binding: what the official kit
//! does not see and official SDKs get wrong. Rows about many and long streams are in
//! `tasks::load`.

use crate::conformance::Profile;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::support::bindings::Binding;
use crate::support::conformance::{
    ConformanceServer, at_once, follow_up, message, start_conformance,
};
use crate::support::{Response, client, with};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const VERSION: (&str, &str) = ("A2A-Version", "1.0");

/// A server and one binding to it.
struct Seller<'a> {
    server: &'a ConformanceServer,
    binding: Binding,
}

impl Seller<'_> {
    fn ask(&self, operation: &str, params: &Value) -> Response {
        self.binding.ask(self.server.address, &[], operation, params)
    }

    fn ask_with(&self, headers: &[(&str, &str)], operation: &str, params: &Value) -> Response {
        self.binding.ask(self.server.address, headers, operation, params)
    }

    fn result(&self, operation: &str, params: &Value) -> Value {
        self.binding.result(&self.ask(operation, params))
    }

    fn refusal(&self, operation: &str, params: &Value) -> A2aCode {
        self.binding.refusal(&self.ask(operation, params))
    }

    fn task(&self, params: &Value) -> Value {
        self.result("SendMessage", params)["task"].clone()
    }
}

/// Runs a row on every binding, each on a server of its own.
fn on_every_binding(profile: Profile, row: impl Fn(&Seller<'_>)) {
    for binding in Binding::ALL {
        let server = start_conformance(profile);
        row(&Seller { server: &server, binding });
    }
}

fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap()
}

#[test]
fn row_echoes_a2a_extensions() {
    const REQUIRED: &str = "urn:a2a:tck:required-extension";
    on_every_binding(Profile::Strict, |seller| {
        assert_eq!(seller.refusal("ListTasks", &json!({})), A2aCode::ExtensionSupportRequired);
        let list = format!("urn:unknown, {REQUIRED}");
        for headers in [
            &[("A2A-Extensions", list.as_str())][..],
            &[("a2a-extensions", "urn:unknown"), ("A2A-EXTENSIONS", REQUIRED)],
        ] {
            for (operation, params) in [("SendMessage", message("m")), ("ListTasks", json!({}))] {
                let answer = seller.ask_with(headers, operation, &params);
                seller.binding.result(&answer);
                assert_eq!(answer.header("a2a-extensions"), Some(REQUIRED), "X-04, X-05");
            }
            let refused = seller.ask_with(headers, "GetTask", &json!({"id": "absent"}));
            assert_eq!(refused.header("a2a-extensions"), Some(REQUIRED), "X-04, also on an error");
        }
    });
}

#[test]
fn rows_on_versions_by_header_query_and_patch_number() {
    on_every_binding(Profile::Streaming, |seller| {
        let ask = |header: Option<&str>, query: &str| {
            let headers: Vec<_> =
                [JSON].into_iter().chain(header.map(|value| ("A2A-Version", value))).collect();
            let (target, body) = match seller.binding {
                Binding::JsonRpc => ("/a2a", seller.binding.send_body(&message("m").to_string())),
                Binding::HttpJson => ("/rest/message:send", message("m").to_string()),
            };
            let target = format!("{target}{query}");
            let address = seller.server.address;
            client::request(address, "POST", &target, &headers, body.as_bytes())
        };
        for (header, query) in [
            (Some("1.0"), ""),
            (Some("1.0.3"), ""),
            (None, "?A2A-Version=1.0"),
            (Some("1.0"), "?a2a-version=1.0.7"),
        ] {
            seller.binding.result(&ask(header, query));
        }
        for (header, query) in [
            (None, ""),
            (Some(""), ""),
            (None, "?A2A-Version="),
            (Some("1.1"), ""),
            (Some("0.3"), ""),
            (Some("2.0"), ""),
            (Some("1.0"), "?A2A-Version=0.3"),
            (Some("0.3"), "?A2A-Version=1.0"),
        ] {
            let code = seller.binding.refusal(&ask(header, query));
            assert_eq!(code, A2aCode::VersionNotSupported, "V-03 to V-06: {header:?} {query}");
        }
    });
}

#[test]
fn row_absent_version_is_accepted_by_a_lenient_agent_alone() {
    let lenient = crate::support::conformance::start_lenient(Profile::Streaming);
    for binding in Binding::ALL {
        let body = binding.send_body(&message("m").to_string());
        binding.result(&binding.post(lenient.address, &[JSON], &body));
        let other = binding.post(lenient.address, &[JSON, ("A2A-Version", "0.3")], &body);
        assert_eq!(binding.refusal(&other), A2aCode::VersionNotSupported);
    }
}

#[test]
fn row_empty_message_parts_and_ids_are_refused() {
    on_every_binding(Profile::Streaming, |seller| {
        for (params, fields) in [
            (json!({}), &["message"][..]),
            (json!({"message": {}}), &["message.messageId", "message.role", "message.parts"]),
            (with(message("m"), &[("/message/parts", json!([]))]), &["message.parts"]),
            (with(message("m"), &[("/message/parts", json!([{}]))]), &["message.parts[0]"]),
            (with(message(""), &[]), &["message.messageId"]),
            (with(message("m"), &[("/message/role", json!("user"))]), &["message.role"]),
            (with(message("m"), &[("/message/parts/0/data", json!(1))]), &["message.parts[0]"]),
        ] {
            for operation in ["SendMessage", "SendStreamingMessage"] {
                let answer = seller.ask(operation, &params);
                assert_eq!(seller.binding.refusal(&answer), A2aCode::InvalidParams, "E-25");
                let details = seller.binding.details(&answer);
                let violations = details.last().unwrap()["fieldViolations"].as_array().unwrap();
                let named: Vec<_> =
                    violations.iter().map(|v| v["field"].as_str().unwrap()).collect();
                assert_eq!(named, fields, "E-11: {params}");
            }
        }
        assert_eq!(seller.result("ListTasks", &json!({}))["totalSize"], 0, "E-10");
    });
}

#[test]
fn rows_on_batches_and_bodies_that_are_no_request() {
    let server = start_conformance(Profile::Streaming);
    let refusal = |binding: Binding, body: &str| {
        binding.refusal(&binding.post(server.address, &[JSON, VERSION], body))
    };
    let one = Binding::JsonRpc.send_body(&message("m").to_string());
    for body in [format!("[{one}]"), "[]".to_owned(), "42".to_owned(), "{}".to_owned()] {
        assert_eq!(refusal(Binding::JsonRpc, &body), A2aCode::InvalidRequest, "E-07: {body}");
    }
    let batch = format!("[{}]", message("m"));
    assert_eq!(refusal(Binding::HttpJson, &batch), A2aCode::InvalidParams, "E-07");
    for binding in Binding::ALL {
        assert_eq!(refusal(binding, "{\"message\":"), A2aCode::ParseError, "E-07");
    }
}

#[test]
fn row_unknown_route_has_the_body_of_11_6() {
    let server = start_conformance(Profile::Streaming);
    for target in ["/rest/nothing", "/rest", "/nothing", "/a2a/nothing"] {
        let answer = client::request(server.address, "GET", target, &[VERSION], b"");
        let body = answer.json();
        assert_eq!((answer.status, &body["error"]["code"]), (404, &json!(404)), "E-09: {target}");
        assert!(body["error"]["status"].is_string() && body["error"]["message"].is_string());
    }
}

#[test]
fn row_eleven_megabytes_are_refused_in_the_bindings_shape() {
    on_every_binding(Profile::Streaming, |seller| {
        let text = "x".repeat(11 * 1024 * 1024);
        let params = with(message("m"), &[("/message/parts/0/text", json!(text))]);
        let answer = seller.ask("SendMessage", &params);
        assert_eq!(answer.status, 413, "E-27");
        assert_eq!(seller.binding.refusal(&answer), A2aCode::InvalidRequest);
        assert_eq!(seller.result("ListTasks", &json!({}))["totalSize"], 0);
    });
}

#[test]
fn row_a_body_of_another_type_is_refused() {
    on_every_binding(Profile::Streaming, |seller| {
        let headers = [("Content-Type", "text/plain"), VERSION];
        let body = seller.binding.send_body(&message("m").to_string());
        let answer = seller.binding.post(seller.server.address, &headers, &body);
        assert_eq!(seller.binding.refusal(&answer), A2aCode::ContentTypeNotSupported, "§1.5 row 9");
    });
}

#[test]
fn rows_on_a_lists_order_artifacts_and_filters() {
    on_every_binding(Profile::Streaming, |seller| {
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                seller.server.hand.advance(jiff::SignedDuration::from_secs(1));
                seller.task(&message("tck-artifact-text"))
            })
            .collect();
        let ids = |query: Value| {
            let page = seller.result("ListTasks", &query);
            let tasks = page["tasks"].as_array().unwrap();
            assert!(tasks.iter().all(|task| task.get("artifacts").is_none()), "O-06");
            tasks.iter().map(|task| task["id"].clone()).collect::<Vec<_>>()
        };
        let newest_first = |from: usize| -> Vec<_> {
            tasks[from..].iter().rev().map(|task| task["id"].clone()).collect()
        };
        assert_eq!(ids(json!({})), newest_first(0), "O-06: newest first");
        let moment = tasks[1]["status"]["timestamp"].clone();
        assert_eq!(ids(json!({"statusTimestampAfter": moment})), newest_first(1), "O-06: >=");
        let whole = seller.result("ListTasks", &json!({"includeArtifacts": true}));
        assert!(whole["tasks"][0]["artifacts"].is_array());
        for (member, value) in [
            ("pageSize", json!(0)),
            ("pageSize", json!(101)),
            ("pageToken", json!("1000")),
            ("historyLength", json!(-1)),
            ("status", json!("TASK_STATE_DONE")),
            ("status", json!("completed")),
            ("statusTimestampAfter", json!("yesterday")),
        ] {
            let answer = seller.ask("ListTasks", &json!({member: value}));
            assert_eq!(seller.binding.refusal(&answer), A2aCode::InvalidParams, "E-26: {member}");
            let details = json!(seller.binding.details(&answer)).to_string();
            assert!(details.contains(member), "E-11: {details}");
        }
        let history = json!({"id": tasks[0]["id"], "historyLength": -1});
        assert_eq!(seller.refusal("GetTask", &history), A2aCode::InvalidParams, "E-26");
    });
}

#[test]
fn row_a_tenant_is_read_everywhere_and_refused_as_undeclared() {
    on_every_binding(Profile::Streaming, |seller| {
        let without_tenant = seller.task(&with(message("m"), &[("/tenant", json!(""))]));
        let named = with(message("m"), &[("/tenant", json!("acme"))]);
        let read = match seller.binding {
            Binding::JsonRpc => {
                seller.ask("GetTask", &json!({"id": without_tenant["id"], "tenant": "acme"}))
            }
            Binding::HttpJson => {
                let target = format!("/rest/acme/tasks/{}", without_tenant["id"].as_str().unwrap());
                client::request(seller.server.address, "GET", &target, &[VERSION], b"")
            }
        };
        for answer in [seller.ask("SendMessage", &named), read] {
            assert_eq!(seller.binding.refusal(&answer), A2aCode::InvalidParams, "S-04");
            let details = seller.binding.details(&answer);
            assert_eq!(details[0]["metadata"]["fields"], "tenant", "{details:?}");
            assert!(!String::from_utf8_lossy(&answer.body).contains("acme"));
        }
    });
}

#[test]
fn row_media_types_are_those_of_the_card() {
    on_every_binding(Profile::Streaming, |seller| {
        let card = seller.server.card();
        let listed = json!(["text/plain", "application/json"]);
        assert_eq!(card["defaultInputModes"], listed);
        assert_eq!(card["skills"][0]["outputModes"], listed);
        let sent_as =
            |kind: &str| with(message("m"), &[("/message/parts/0/mediaType", json!(kind))]);
        let wanted = |modes: Value| {
            with(message("m"), &[("/configuration", json!({"acceptedOutputModes": modes}))])
        };
        for good in [
            sent_as("text/plain; charset=utf-8"),
            sent_as("Application/JSON"),
            sent_as(""),
            wanted(json!(["image/png", "text/*"])),
            wanted(json!(["*/*"])),
            wanted(json!(["application/json"])),
            wanted(json!([])),
        ] {
            assert_eq!(state(&seller.task(&good)), "TASK_STATE_COMPLETED", "{good}");
        }
        for bad in [
            sent_as("image/png"),
            sent_as("text/html"),
            sent_as("text/*"),
            wanted(json!(["image/png"])),
            wanted(json!(["text"])),
        ] {
            let answer = seller.ask("SendMessage", &bad);
            assert_eq!(seller.binding.refusal(&answer), A2aCode::ContentTypeNotSupported, "{bad}");
            let supported = &seller.binding.details(&answer)[0]["metadata"]["supportedMediaTypes"];
            assert_eq!(supported, "text/plain, application/json");
        }
    });
}

#[test]
fn row_a_long_task_ends_with_an_artifact() {
    on_every_binding(Profile::Streaming, |seller| {
        let task = seller.task(&message("tck-long-running"));
        assert_eq!(state(&task), "TASK_STATE_COMPLETED");
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "Long task result", "{task}");
    });
}

#[test]
fn row_a_waiting_tasks_subscription_lives_until_it_ends() {
    on_every_binding(Profile::Streaming, |seller| {
        let id = seller.task(&message("tck-input-required"))["id"].clone();
        let address = seller.server.address;
        let binding = seller.binding;
        let params = json!({"id": id});
        let reader = std::thread::spawn(move || {
            let answer = binding.ask(address, &[], "SubscribeToTask", &params);
            binding.events(&answer)
        });
        // The subscription is there when the task is followed.
        while seller.server.live() == 0 {
            std::thread::yield_now();
        }
        seller.task(&follow_up("tck-complete-task", &id));
        let events = reader.join().unwrap();
        assert_eq!(state(&events[0]["task"]), "TASK_STATE_INPUT_REQUIRED", "O-02");
        assert_eq!(state(&events.last().unwrap()["statusUpdate"]), "TASK_STATE_COMPLETED");
    });
}

#[test]
fn row_a_third_turn_needs_the_task_alone() {
    on_every_binding(Profile::Streaming, |seller| {
        let first = seller.task(&message("tck-multi-turn"));
        let second = seller.task(&follow_up("more", &first["id"]));
        assert_eq!(state(&second), "TASK_STATE_INPUT_REQUIRED");
        let third = seller.task(&follow_up("tck-complete-task", &first["id"]));
        assert_eq!(state(&third), "TASK_STATE_COMPLETED");
        assert_eq!(third["contextId"], first["contextId"], "O-07");
    });
}

#[test]
fn row_a_repeated_cancel_returns_the_canceled_task() {
    on_every_binding(Profile::Streaming, |seller| {
        let id = seller.task(&message("tck-input-required"))["id"].clone();
        let first = seller.result("CancelTask", &json!({"id": id}));
        assert_eq!(state(&first), "TASK_STATE_CANCELED");
        assert_eq!(seller.result("CancelTask", &json!({"id": id})), first, "§1.5 row 13");
        let done = seller.task(&message("tck-complete-task"))["id"].clone();
        assert_eq!(seller.refusal("CancelTask", &json!({"id": done})), A2aCode::TaskNotCancelable);
    });
}

#[test]
fn rows_on_a_handler_that_fails_or_panics() {
    on_every_binding(Profile::Streaming, |seller| {
        for id in ["tck-task-failure", "tradepost-panic"] {
            let answer = seller.ask("SendMessage", &message(id));
            assert_eq!(state(&seller.binding.result(&answer)["task"]), "TASK_STATE_FAILED");
            let text = String::from_utf8(answer.body).unwrap();
            for secret in ["kit asked", "a test asked", "panicked", ".rs"] {
                assert!(!text.contains(secret), "E-28: {text}");
            }
            let stream = seller.ask("SendStreamingMessage", &message(id));
            let events = seller.binding.events(&stream);
            assert_eq!(state(&events.last().unwrap()["statusUpdate"]), "TASK_STATE_FAILED");
        }
    });
}

#[test]
fn row_a_message_to_a_running_task_is_taken() {
    on_every_binding(Profile::Streaming, |seller| {
        let begun = seller.task(&at_once("tck-cancel"));
        let next = with(at_once("more"), &[("/message/taskId", begun["id"].clone())]);
        let said = seller.task(&next);
        assert_eq!((&said["id"], state(&said)), (&begun["id"], "TASK_STATE_WORKING"), "§3.3.3");
        let history = said["history"].as_array().unwrap();
        assert_eq!(history.last().unwrap()["messageId"], "more");
        seller.result("CancelTask", &json!({"id": begun["id"]}));
        // Its work is stopped, and the message's is never begun.
        seller.server.forgets();
    });
}

#[test]
fn row_an_answer_that_is_a_message_leaves_no_task() {
    on_every_binding(Profile::Streaming, |seller| {
        let answer = seller.result("SendMessage", &message("tck-message-response"));
        assert!(answer["message"].is_object() && answer.get("task").is_none(), "O-01");
        let stream = seller.ask("SendStreamingMessage", &message("tck-message-response"));
        assert_eq!(seller.binding.events(&stream).len(), 1, "O-01");
        assert_eq!(seller.result("ListTasks", &json!({}))["totalSize"], 0);
        assert_eq!(seller.server.live(), 0);
    });
}

#[test]
fn rows_on_the_card_revalidated_and_open_to_scripts() {
    const CARD: &str = "/.well-known/agent-card.json";
    let server = start_conformance(Profile::Streaming);
    let get = |headers: &[(&str, &str)]| client::request(server.address, "GET", CARD, headers, b"");
    let card = get(&[("Origin", "https://elsewhere.example")]);
    assert_eq!(card.status, 200);
    assert_eq!(card.header("access-control-allow-origin"), Some("*"));
    assert_eq!(card.header("access-control-allow-credentials"), None);
    let etag = card.header("etag").unwrap();
    let again = get(&[("If-None-Match", etag)]);
    assert_eq!((again.status, again.body.len()), (304, 0), "D-06");
    assert_eq!(get(&[("If-None-Match", "\"other\"")]).status, 200);
}

#[test]
fn row_numbers_of_a_data_part_stay_as_they_are() {
    const DATA: &str =
        r#"{"int":42,"zero":1.50,"big":9007199254740993,"huge":123456789012345678901234567890}"#;
    on_every_binding(Profile::Streaming, |seller| {
        let params = format!(
            r#"{{"message":{{"messageId":"m","role":"ROLE_USER","parts":[{{"data":{DATA}}}]}}}}"#
        );
        let body = seller.binding.send_body(&params);
        let sent = seller.binding.post(seller.server.address, &[JSON, VERSION], &body);
        let text = String::from_utf8(sent.body.clone()).unwrap();
        assert!(text.contains(DATA), "{text}");
        let id = seller.binding.result(&sent)["task"]["id"].clone();
        let read = seller.ask("GetTask", &json!({"id": id}));
        assert!(String::from_utf8(read.body).unwrap().contains(DATA));
        let made = seller.ask("SendMessage", &message("tck-artifact-data"));
        let text = String::from_utf8(made.body).unwrap();
        assert!(text.contains(r#"{"key":"value","count":42}"#), "{text}");
    });
}

#[test]
fn e_27_who_fails_too_often_hears_when_to_return() {
    on_every_binding(Profile::Streaming, |seller| {
        let headers = [("Authorization", "Bearer nonsense")];
        let ask = || seller.ask_with(&headers, "ListTasks", &json!({}));
        for _ in 0..10 {
            assert_eq!(seller.binding.refusal(&ask()), A2aCode::Unauthenticated);
        }
        let answer = ask();
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("6")));
        assert_eq!(seller.binding.refusal(&answer), A2aCode::ResourceExhausted);
        let details = seller.binding.details(&answer);
        assert_eq!(details[0]["metadata"], json!({"retryAfterSeconds": "6"}));
        seller.result("ListTasks", &json!({}));
    });
}
