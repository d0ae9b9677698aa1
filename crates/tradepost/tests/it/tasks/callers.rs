//! Two callers (A-03 to A-07, E-12, E-13): what is not yours is not there, on every binding.

use crate::conformance::Profile;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};
use tradepost_server::permission::Permission;

use crate::support::Response;
use crate::support::bindings::Binding;
use crate::support::conformance::{ConformanceServer, follow_up, message, start_conformance};
use crate::support::with;

/// The parameters that name a task.
type Params = fn(&Value) -> Value;

const ABSENT: &str = "01970000-0000-7000-8000-000000000000";

/// Everything that a caller can compare: status, headers and body, except the time and the id
/// that it has sent itself.
fn whole(response: &Response, id: &Value) -> (u16, Vec<(String, String)>, String) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
    let body = String::from_utf8(response.body.clone()).unwrap();
    (response.status, headers, body.replace(id.as_str().unwrap(), "<id>"))
}

/// Every operation on a task, with what a webhook is called where it takes one.
const OPERATIONS: &[(&str, Params)] = &[
    ("GetTask", |id| json!({"id": id})),
    ("GetTask", |id| json!({"id": id, "historyLength": 1})),
    ("CancelTask", |id| json!({"id": id})),
    ("SubscribeToTask", |id| json!({"id": id})),
    ("SendMessage", |id| follow_up("x", id)),
    ("SendStreamingMessage", |id| follow_up("x", id)),
    ("SendMessage", |id| with(message("x"), &[("/message/referenceTaskIds", json!([id]))])),
    ("SendStreamingMessage", |id| {
        with(message("x"), &[("/message/referenceTaskIds", json!([id]))])
    }),
    ("SendMessage", |id| with(follow_up("x", id), &[("/message/contextId", json!("c"))])),
    (
        "CreateTaskPushNotificationConfig",
        |id| json!({"taskId": id, "id": "w", "url": "https://example.com/hook"}),
    ),
    ("GetTaskPushNotificationConfig", |id| json!({"taskId": id, "id": "w"})),
    ("ListTaskPushNotificationConfigs", |id| json!({"taskId": id})),
    ("DeleteTaskPushNotificationConfig", |id| json!({"taskId": id, "id": "w"})),
];

/// What another's task is to a caller. Where the card offers no webhooks, that is said first.
fn expected(server: &ConformanceServer, operation: &str) -> A2aCode {
    let pushes = server.card()["capabilities"]["pushNotifications"] == true;
    if operation.contains("Push") && !pushes {
        A2aCode::PushNotificationNotSupported
    } else {
        A2aCode::TaskNotFound
    }
}

#[test]
fn a_04_anothers_task_is_absent_in_every_byte() {
    let server = start_conformance(Profile::Push);
    let ada = server.caller("ada", None);
    let bob = server.caller("bob", None);
    let absent = json!(ABSENT);
    for kind in ["tck-input-required", "tck-complete-task"] {
        let sent = server.ask(&[("Authorization", &ada)], "SendMessage", &message(kind)).json();
        let id = sent["result"]["task"]["id"].clone();
        for (operation, params) in OPERATIONS {
            for binding in Binding::ALL {
                let seen = [("Authorization", bob.as_str()), ("Last-Event-ID", "1")];
                for headers in [&seen[..1], &seen[..], &[]] {
                    let ask = |id| binding.ask(server.address, headers, operation, &params(id));
                    let hers = ask(&id);
                    let nobodys = ask(&absent);
                    let row = format!("{operation} of a task of {kind} on {binding:?}");
                    assert_eq!(whole(&hers, &id), whole(&nobodys, &absent), "{row}");
                    assert_eq!(binding.refusal(&hers), expected(&server, operation), "{row}");
                }
            }
        }
        let still = server.ask(&[("Authorization", &ada)], "GetTask", &json!({"id": id})).json();
        assert_eq!(still["result"], sent["result"]["task"], "nothing has happened to it");
    }
    for query in [json!({}), json!({"status": "TASK_STATE_COMPLETED"})] {
        for binding in Binding::ALL {
            let list = |who: &str| {
                let headers = [("Authorization", who)];
                let page = binding.ask(server.address, &headers, "ListTasks", &query);
                binding.result(&page)["totalSize"].clone()
            };
            assert_eq!(list(&bob), 0, "A-06");
            assert_ne!(list(&ada), 0);
        }
    }
}

#[test]
fn e_12_an_absent_task_is_named_and_clipped() {
    let server = start_conformance(Profile::Streaming);
    for binding in Binding::ALL {
        let named = |id: &str| {
            let response = binding.ask(server.address, &[], "GetTask", &json!({"id": id}));
            assert_eq!(binding.refusal(&response), A2aCode::TaskNotFound);
            binding.details(&response)[0]["metadata"]["taskId"].clone()
        };
        assert_eq!(named(ABSENT), ABSENT, "§1.2");
        assert_eq!(named(&"x".repeat(500)), "x".repeat(64));
    }
}

#[test]
fn a_03_who_lacks_the_scope_hears_only_its_name() {
    let server = start_conformance(Profile::Streaming);
    let reader = server.caller("reader", Some(&[Permission::TASKS_READ]));
    let writer = server.caller("writer", Some(&[Permission::TASKS_WRITE]));
    let all = server.caller("all", None);
    let task = |who: &str| {
        let headers = [("Authorization", who)];
        let sent = server.ask(&headers, "SendMessage", &message("tck-input-required"));
        sent.json()["result"]["task"]["id"].clone()
    };
    for binding in Binding::ALL {
        for (who, operation, missing) in [
            (&reader, "CancelTask", Some("tasks:write")),
            (&reader, "SendMessage", Some("tasks:write")),
            (&reader, "SendStreamingMessage", Some("tasks:write")),
            (&reader, "GetExtendedAgentCard", None),
            (&writer, "GetTask", Some("tasks:read")),
            (&writer, "SubscribeToTask", Some("tasks:read")),
            (&writer, "ListTasks", Some("tasks:read")),
            (&writer, "CancelTask", None),
            (&all, "GetTask", None),
        ] {
            // Whoever may not make one asks for somebody's.
            let id = if who == &reader { task(&all) } else { task(who) };
            let headers = [("Authorization", who.as_str())];
            let ask = |id: &Value| {
                let params = match operation {
                    "SendMessage" | "SendStreamingMessage" => follow_up("x", id),
                    "GetExtendedAgentCard" | "ListTasks" => json!({}),
                    _ => json!({"id": id}),
                };
                binding.ask(server.address, &headers, operation, &params)
            };
            let answer = ask(&id);
            let row = format!("{operation} on {binding:?}");
            assert_eq!(answer.status == 403, missing.is_some(), "{row}");
            if let Some(scope) = missing {
                assert_eq!(binding.refusal(&answer), A2aCode::PermissionDenied);
                assert!(answer.json()["error"].to_string().contains(scope), "{row}");
                let absent = json!("absent");
                assert_eq!(whole(&answer, &id), whole(&ask(&absent), &absent), "E-28: {row}");
            }
        }
    }
}
