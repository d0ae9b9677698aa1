//! Two callers (A-03 to A-07, E-12, E-13): what is not yours is not there.

use serde_json::{Value, json};
use tradepost::conformance::Profile;
use tradepost::gate::Scope;

use crate::support::Response;
use crate::support::conformance::{follow_up, message, start_conformance};
use crate::support::with;

/// The parameters that name a task.
type Params<'a> = &'a dyn Fn(&Value) -> Value;

/// Everything that a caller can compare: status, headers and body, except the time.
fn whole(response: &Response) -> (u16, Vec<(String, String)>, String) {
    let mut headers = response.headers.clone();
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
    (response.status, headers, String::from_utf8(response.body.clone()).unwrap())
}

#[test]
fn a_04_anothers_task_is_an_absent_one_in_every_byte() {
    let server = start_conformance(Profile::Streaming);
    let (ada, bob) = (server.caller("ada", None), server.caller("bob", None));
    let absent = json!("01970000-0000-7000-8000-000000000000");
    for kind in ["tck-input-required", "tck-complete-task"] {
        let sent = server.ask(&[("Authorization", &ada)], "SendMessage", &message(kind)).json();
        let id = sent["result"]["task"]["id"].clone();
        let refer = |id: &Value| with(message("x"), &[("/message/referenceTaskIds", json!([id]))]);
        let astray = |id: &Value| with(follow_up("x", id), &[("/message/contextId", json!("c"))]);
        let name = |id: &Value| json!({"id": id});
        let requests: [(&str, Params<'_>); 8] = [
            ("GetTask", &name),
            ("CancelTask", &name),
            ("SubscribeToTask", &name),
            ("SendMessage", &|id| follow_up("x", id)),
            ("SendStreamingMessage", &|id| follow_up("x", id)),
            ("SendMessage", &refer),
            ("SendMessage", &astray),
            ("SendStreamingMessage", &refer),
        ];
        for (method, params) in requests {
            for headers in [&[("Authorization", bob.as_str())][..], &[]] {
                let hers = whole(&server.ask(headers, method, &params(&id)));
                let nobodys = whole(&server.ask(headers, method, &params(&absent)));
                assert_eq!(hers, nobodys, "{method} of a task of {kind}");
                assert!(hers.2.contains("-32001"), "{}", hers.2);
            }
        }
        let seen = [("Authorization", bob.as_str()), ("Last-Event-ID", "1")];
        let hers = whole(&server.ask(&seen, "SubscribeToTask", &name(&id)));
        assert_eq!(hers, whole(&server.ask(&seen, "SubscribeToTask", &name(&absent))));
        let still = server.ask(&[("Authorization", &ada)], "GetTask", &name(&id)).json();
        assert_eq!(still["result"], sent["result"]["task"], "nothing has happened to it");
    }
    for query in [json!({}), json!({"status": "TASK_STATE_COMPLETED"})] {
        let list = |who: &str| server.ask(&[("Authorization", who)], "ListTasks", &query).json();
        assert_eq!(list(&bob)["result"]["totalSize"], 0, "A-06");
        assert_ne!(list(&ada)["result"]["totalSize"], 0);
    }
}

#[test]
fn a_03_who_lacks_the_scope_hears_its_name_and_nothing_of_the_task() {
    let server = start_conformance(Profile::Streaming);
    let reader = server.caller("reader", Some(&[Scope::TasksRead]));
    let writer = server.caller("writer", Some(&[Scope::TasksWrite]));
    let task = |who: &str| {
        let headers = [("Authorization", who)];
        let sent = server.ask(&headers, "SendMessage", &message("tck-input-required"));
        sent.json()["result"]["task"]["id"].clone()
    };
    for (who, denied, method, scope) in [
        (&reader, true, "CancelTask", "tasks:write"),
        (&reader, false, "GetTask", ""),
        (&writer, true, "GetTask", "tasks:read"),
        (&writer, true, "SubscribeToTask", "tasks:read"),
        (&writer, true, "ListTasks", "tasks:read"),
        (&writer, false, "CancelTask", ""),
    ] {
        let headers = [("Authorization", who.as_str())];
        let ask = |id: &Value| server.ask(&headers, method, &json!({"id": id}));
        let answer = ask(&task(who));
        assert_eq!(answer.status, if denied { 403 } else { 200 }, "{method}");
        if denied {
            assert!(answer.json()["error"].to_string().contains(scope), "{method}");
            assert_eq!(whole(&answer), whole(&ask(&json!("absent"))), "E-28: {method}");
        }
    }
}
