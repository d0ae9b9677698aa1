//! The four operations on webhooks (A2A §3.1.7 to §3.1.10); what receivers see is in `push`.

use expect_test::expect;
use tradepost_a2a::status::RpcStatus;
use tradepost_document::json::{Value, json};
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::outbox::{ClockAndRandom, OutboxSettings};

use super::check;
use super::client::Client;
use crate::support::conformance::start_pushing;

/// Nobody listens there.
const HOOK: &str = "http://127.0.0.1:9/hook";

#[test]
fn e_23_webhooks_are_kept_listed_read_and_removed() {
    let egress = Egress::new(Resolver::system(), true);
    let server = start_pushing(egress, OutboxSettings::default(), ClockAndRandom::system());
    let client = Client::connect(server.address);
    let id = server.task("tck-input-required")["id"].clone();
    let create = |id: &Value, name: &str| {
        let config = json!({"taskId": id, "id": name, "url": HOOK, "token": "seen",
                            "authentication": {"scheme": "Bearer", "credentials": "secret"}});
        client.ask("CreateTaskPushNotificationConfig", &config)
    };
    let name = |name: &str| json!({"taskId": id, "id": name});
    check(
        "P-05",
        &create(&id, "one"),
        &expect![[r#"
        OK

        {"id":"one","taskId":"<id>","url":"http://127.0.0.1:9/hook","authentication":{"scheme":"Bearer"}}
    "#]],
    );
    assert_eq!(create(&id, "two").status, RpcStatus::Ok);
    let read = client.ask("GetTaskPushNotificationConfig", &name("one"));
    check(
        "P-05: read",
        &read,
        &expect![[r#"
        OK

        {"id":"one","taskId":"<id>","url":"http://127.0.0.1:9/hook","authentication":{"scheme":"Bearer"}}
    "#]],
    );
    let on_json = server.result("GetTaskPushNotificationConfig", &name("one"));
    assert_eq!(read.one(), &on_json, "O-08");
    let list = |query: Value| client.ask("ListTaskPushNotificationConfigs", &query).one().clone();
    let page = list(json!({"taskId": id, "pageSize": 1}));
    assert_eq!(page["configs"].as_array().unwrap().len(), 1);
    let rest = list(json!({"taskId": id, "pageToken": page["nextPageToken"]}));
    assert_eq!(rest["configs"].as_array().unwrap().len(), 1);
    for _ in 0..2 {
        let deleted = client.ask("DeleteTaskPushNotificationConfig", &name("one"));
        assert_eq!(deleted.one(), &json!({}), "also when it is gone");
    }
    check(
        "E-23",
        &client.ask("GetTaskPushNotificationConfig", &name("one")),
        &expect![[r#"
        NOT_FOUND
        no task of yours has this webhook
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"<id>"}}]
    "#]],
    );
    check(
        "E-23",
        &create(&json!("absent"), "one"),
        &expect![[r#"
        NOT_FOUND
        the task does not exist, or is not yours
        [{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"absent"}}]
    "#]],
    );
    let empty = client.ask("CreateTaskPushNotificationConfig", &json!({}));
    check(
        "E-25",
        &empty,
        &expect![[r#"
            INVALID_ARGUMENT
            Invalid parameters: url: missing required property "url"; taskId: missing required property "taskId"
            [
              {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"fields":"url, taskId"}},
              {"@type":"type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations":[
                  {"field":"url","description":"missing required property \"url\""},
                  {"field":"taskId","description":"missing required property \"taskId\""}]}]
        "#]],
    );
}
