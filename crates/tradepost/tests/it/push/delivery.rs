//! What receivers see: everything that streams show, in order, with the credentials that were
//! asked for (P-01 to P-03, CT-04).

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::Duration;

use tradepost_document::json::{Value, json};
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::outbox::backoff::RetrySchedule;
use tradepost_server::outbox::{ClockAndRandom, OutboxSettings};

use super::{hook, lenient};
use crate::support::conformance::{
    ConformanceServer, at_once, follow_up, message, start_pushing, start_pushing_in_virtual_time,
};
use crate::support::webhook::{Webhook, answer, yes};
use crate::support::with;

const CREATE: &str = "CreateTaskPushNotificationConfig";

/// A message that brings a webhook along.
fn with_hook(params: Value, url: &str) -> Value {
    with(params, &[("/configuration", json!({"taskPushNotificationConfig": {"url": url}}))])
}

fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..500 {
        if is() {
            return;
        }
        let (_sender, receiver) = std::sync::mpsc::channel::<()>();
        let _ = receiver.recv_timeout(Duration::from_millis(20));
    }
    panic!("never {what}");
}

#[test]
fn c_04_a_webhook_tells_what_a_stream_shows() {
    let server = lenient();
    let mut webhook = Webhook::start();
    let params = with_hook(message("tradepost-flood-500"), &webhook.url());
    let stream = server.stream(&[], "SendStreamingMessage", &params).rest();
    let shown: Vec<_> = stream.iter().map(|event| event.result.clone()).collect();
    let posts = webhook.wait_for("TASK_STATE_COMPLETED").to_vec();
    let bodies: Vec<_> = posts.iter().map(|notified| notified.json()).collect();
    assert_eq!(bodies.len(), 503, "the task, two states and 500 artifacts");
    assert_eq!(bodies, shown);
    let id = shown[0]["task"]["id"].as_str().unwrap();
    for (notified, event) in posts.iter().zip(&stream) {
        assert_eq!(notified.line, "POST /hook HTTP/1.1");
        assert_eq!(notified.header("content-type"), Some("application/a2a+json"));
        assert_eq!(notified.header("authorization"), None);
        assert_eq!(notified.header("x-a2a-notification-token"), None);
        let key = format!("{id}-{}", event.id);
        assert_eq!(notified.header("idempotency-key"), Some(key.as_str()), "P-06");
    }
    assert_eq!(webhook.quiet().len(), 503, "nothing twice");
    until("counted", || server.outbox.as_ref().unwrap().counts().delivered() == 503);
}

#[test]
fn p_01_the_credentials_are_those_of_the_webhook() {
    let server = lenient();
    let task = server.task("tck-input-required")["id"].clone();
    for (authentication, token, authorization) in [
        (json!({"scheme": "Bearer", "credentials": "c-1"}), json!("t-1"), Some("Bearer c-1")),
        (json!({"scheme": "basic", "credentials": "dTpw"}), Value::Null, Some("basic dTpw")),
        (json!({"scheme": "Custom"}), json!("t 3"), Some("Custom")),
        (Value::Null, json!("t-4"), None),
    ] {
        let mut webhook = Webhook::start();
        let changes = [("/authentication", authentication), ("/token", token.clone())];
        server.result(CREATE, &with(hook(&task, "x", &webhook.url()), &changes));
        let posts = webhook.wait(1)[0].clone();
        assert_eq!(posts.header("authorization"), authorization);
        assert_eq!(posts.header("x-a2a-notification-token"), token.as_str());
        assert_eq!(posts.state().as_deref(), Some("TASK_STATE_INPUT_REQUIRED"), "P-02");
    }
}

#[test]
fn p_02_a_task_is_told_once_to_its_end() {
    let server = lenient();
    let mut webhook = Webhook::start();
    let ended = server.task("tck-artifact-text");
    server.result(CREATE, &hook(&ended["id"], "x", &webhook.url()));
    assert_eq!(webhook.wait(1)[0].json(), json!({"task": ended}));
    assert_eq!(webhook.quiet().len(), 1);

    let mut webhook = Webhook::start();
    let params = with_hook(message("tck-multi-turn"), &webhook.url());
    let id = server.result("SendMessage", &params)["task"]["id"].clone();
    server.result("SendMessage", &follow_up("tck-multi-turn", &id));
    server.result("SendMessage", &follow_up("tck-complete-task", &id));
    let posts = webhook.wait_for("TASK_STATE_COMPLETED");
    let states: Vec<_> = posts.iter().filter_map(|notified| notified.state()).collect();
    let [submitted, working, asking, completed] =
        ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "COMPLETED"].map(|s| format!("TASK_STATE_{s}"));
    let expected = [&submitted, &asking, &working, &asking, &working, &completed];
    assert_eq!(states.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn every_webhook_of_a_task_is_told_everything_for_itself() {
    let server = lenient();
    let task = server.task("tck-input-required")["id"].clone();
    let mut webhooks: Vec<_> = (0..5).map(|_| Webhook::start()).collect();
    for (number, webhook) in webhooks.iter().enumerate() {
        server.result(CREATE, &hook(&task, &format!("w{number}"), &webhook.url()));
    }
    server.result("SendMessage", &follow_up("tradepost-flood-500", &task));
    let posts: Vec<Vec<Value>> = webhooks
        .iter_mut()
        .map(|webhook| webhook.wait_for("TASK_STATE_COMPLETED").iter().map(|n| n.json()).collect())
        .collect();
    assert_eq!(posts[0].len(), 504);
    for other in &posts {
        // They were added while the task stood still.
        assert_eq!(*other, posts[0]);
    }
}

#[test]
fn p_03_a_failing_receiver_is_retried_then_given_up() {
    let schedule = RetrySchedule { attempts: 3, ..RetrySchedule::default() };
    let settings = OutboxSettings { schedule, ..OutboxSettings::default() };
    let egress = Egress::new(Resolver::system(), true);
    let server = start_pushing_in_virtual_time(egress, settings);
    let start = server.hand.clone();
    let mut webhook = Webhook::answering(|number| match number {
        0 => "HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 3\r\n\r\nno!".to_owned(),
        1 => "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
            .to_owned(),
        2 => yes(),
        _ => answer("500 Internal Server Error"),
    });
    let params = with_hook(message("tck-complete-task"), &webhook.url());
    server.result("SendMessage", &params);
    let outbox = server.outbox.as_ref().unwrap();
    until("given up", || outbox.counts().given_up() == 1);
    drop(start);
    let posts = webhook.quiet().to_vec();
    let states: Vec<_> = posts.iter().filter_map(|notified| notified.state()).collect();
    let first = "TASK_STATE_SUBMITTED";
    let last = "TASK_STATE_COMPLETED";
    assert_eq!(states, [first, first, first, last, last, last], "no redirect was followed");
    assert_eq!((outbox.counts().delivered(), outbox.counts().failed()), (1, 5));
    let off = server.store.push_troubled(false).unwrap();
    assert_eq!(off[0].failure.as_deref(), Some("HTTP 500"));
    // 60 seconds that were asked for, 4 after the second failure; then 2 and 4 anew.
    let passed = off[0].off_at.unwrap().duration_since(crate::support::at(crate::support::NOW));
    assert_eq!(passed.as_secs(), 60 + 4 + 2 + 4);
}

#[test]
fn a_silent_receiver_delays_no_other_and_no_request() {
    let server = lenient();
    let mut slow: Vec<_> = (0..6).map(|_| Webhook::answering(|_| String::new())).collect();
    let task = server.task("tck-input-required")["id"].clone();
    for (number, webhook) in slow.iter().enumerate() {
        server.result(CREATE, &hook(&task, &format!("slow{number}"), &webhook.url()));
    }
    // 127.0.0.1 is at its bound now; another host is not.
    slow[0].wait(1);
    let mut quick = Webhook::on(TcpListener::bind("127.0.0.2:0").unwrap(), |_| yes());
    server.result(CREATE, &hook(&task, "quick", &quick.url()));
    server.result("SendMessage", &follow_up("tck-complete-task", &task));
    let posts = quick.wait_for("TASK_STATE_COMPLETED").len();
    assert_eq!(posts, 3);
    let asked: usize = slow.iter_mut().map(|webhook| webhook.quiet().len()).sum();
    assert!(asked <= 4, "{asked} deliveries to one host at once");
}

#[test]
fn an_endless_answer_and_a_broken_one_are_survived() {
    let settings = OutboxSettings { timeout: Duration::from_secs(2), ..OutboxSettings::default() };
    let egress = Egress::new(Resolver::system(), true);
    let server = start_pushing_in_virtual_time(egress, settings);
    let mut webhook = Webhook::answering(|number| match number {
        // More than anybody reads, and it is promised that there is more to come.
        0 => format!("HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n{}", "x".repeat(100_000)),
        1 => "this is not HTTP\r\n\r\n".to_owned(),
        _ => yes(),
    });
    let params = with_hook(message("tck-stream-001"), &webhook.url());
    server.result("SendMessage", &params);
    let posts = webhook.wait_for("TASK_STATE_COMPLETED").to_vec();
    let bodies: Vec<_> = posts.iter().map(|notified| notified.body.as_str()).collect();
    assert_eq!(bodies[1], bodies[2], "what was not taken is sent again");
    assert_eq!(bodies.len(), 5);
}

#[test]
fn nothing_is_sent_once_a_webhook_is_deleted() {
    let server = lenient();
    let mut webhook = Webhook::start();
    let id = server.begin("tck-input-required")["id"].clone();
    server.result(CREATE, &hook(&id, "x", &webhook.url()));
    webhook.wait(1);
    let named = json!({"taskId": id, "id": "x"});
    until("at rest", || webhook_rests(&server, &id));
    server.result("DeleteTaskPushNotificationConfig", &named);
    let before = webhook.quiet().len();
    server.result("SendMessage", &follow_up("tck-complete-task", &id));
    assert_eq!(webhook.quiet().len(), before);
}

/// Whether everything has been delivered.
fn webhook_rests(server: &ConformanceServer, id: &Value) -> bool {
    use crate::conformance::Conformance;
    use tradepost_store::{TaskLog as _, TaskOwner};
    let agent_id = Conformance::ID.to_owned();
    let owner = TaskOwner { agent_id, principal: "anonymous".to_owned() };
    let id = id.as_str().unwrap();
    let found = server.store.push_configs(&owner, id, None, "", 10).unwrap();
    !found.is_empty() && found.iter().all(|place| place.due_at.is_none())
}

#[test]
fn many_tasks_at_once_are_all_told_to_their_ends() {
    let server = start_pushing(
        Egress::new(Resolver::system(), true),
        OutboxSettings::default(),
        ClockAndRandom::system(),
    );
    let mut webhook = Webhook::start();
    let ids: Vec<Value> = (0..30)
        .map(|_| {
            let params = at_once("tck-stream-001");
            let config = json!({"url": webhook.url()});
            let params = with(params, &[("/configuration/taskPushNotificationConfig", config)]);
            server.result("SendMessage", &params)["task"]["id"].clone()
        })
        .collect();
    let posts = webhook.wait(30 * 4);
    let mut by_task: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for notified in posts {
        let body = notified.json();
        let (kind, event) = body.as_object().unwrap().iter().next().unwrap();
        let id = event.get("taskId").unwrap_or(&event["id"]).as_str().unwrap();
        by_task.entry(id.to_owned()).or_default().push(kind.clone());
    }
    let order = ["task", "statusUpdate", "artifactUpdate", "statusUpdate"];
    for id in ids {
        assert_eq!(by_task[id.as_str().unwrap()], order);
    }
    assert_eq!(webhook.quiet().len(), 30 * 4);
}
