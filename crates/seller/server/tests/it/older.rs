//! A2A 0.3 in front of an agent that knows nothing of it but what its card claims.

use std::sync::Arc;

use expect_test::expect;
use tokio::net::TcpListener;
use tradepost_document::json::{Value, json};
use tradepost_server::agent::AgentAnswer;
use tradepost_server::auth::{AuthDeps, AuthSettings, Principal};
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::memory::MemoryStore;
use tradepost_server::permission::Scopes;
use tradepost_server::prelude::*;

use crate::client::{Client, events};

#[derive(Debug)]
struct TestAgent(PublishedCard, Authenticator, TaskService);

impl Agent for TestAgent {
    fn card(&self) -> &PublishedCard {
        &self.0
    }

    fn auth(&self) -> &Authenticator {
        &self.1
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        if let tradepost_a2a::A2aRequest::GetExtendedAgentCard = incoming.request {
            let card = AgentAnswer::ExtendedCard(json!({"name": "for you"}));
            return Box::pin(async { card.into() });
        }
        self.2.perform(incoming, |message, _| {
            let input = message.text().unwrap_or_default().to_owned();
            if input == "hello" {
                return Ok(MessagePlan::Answer(vec![Part::text("good day")]));
            }
            Ok(MessagePlan::work(async move |progress| {
                progress.status(TaskState::Working, None).await?;
                progress
                    .artifact(Artifact::new("a", vec![Part::text(&input)]), false, true)
                    .await?;
                let waits = input == "wait";
                let end = if waits { TaskState::InputRequired } else { TaskState::Completed };
                progress.status(end, Some("so far")).await
            }))
        })
    }
}

async fn start(both: bool) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut card = card::describe("Teller", "Tells.", &format!("http://{address}"));
    card.capabilities.push_notifications = true;
    card.capabilities.extended_agent_card = true;
    let known = Principal { name: "ada".to_owned(), scopes: Scopes::All };
    let deps = AuthDeps::offline(Arc::new(MemoryStore::default()), Clock::system());
    let policy = AuthSettings { api_keys: true, ..AuthSettings::default() };
    let auth = Authenticator::open("teller", policy, &deps).unwrap();
    let auth = auth.with_tokens(vec![("secret", known)]);
    card.security_schemes = auth.schemes();
    let now = Clock::system().now();
    let card = match both {
        true => PublishedCard::from_card(&card::for_both_releases(card), now),
        false => PublishedCard::from_card(&card, now),
    };
    let service = TaskService::new_in_memory("teller").unwrap();
    let service = service.calling(Egress::new(Resolver::system(), true));
    let registry = AgentRegistry::from_agent(Arc::new(TestAgent(card, auth, service)));
    tokio::spawn(http::serve(listener, registry, pending()));
    Client::connect(address).await
}

fn say(text: &str) -> Value {
    let part = json!({"kind": "text", "text": text});
    json!({"message": {"kind": "message", "messageId": "1", "role": "user", "parts": [part]}})
}

/// The only answer, with what is new in every run left out.
fn stable(mut answers: Vec<Value>) -> Value {
    assert_eq!(answers.len(), 1);
    let mut answer = answers.remove(0);
    for (place, name) in [
        ("/result", "id"),
        ("/result", "contextId"),
        ("/result", "messageId"),
        ("/result/status", "timestamp"),
        ("/result/status/message", "messageId"),
        ("/result/status/message", "taskId"),
        ("/result/status/message", "contextId"),
    ] {
        if let Some(member) = answer.pointer_mut(&format!("{place}/{name}")) {
            *member = json!("…");
        }
    }
    answer.as_object_mut().unwrap().shift_remove("jsonrpc");
    answer
        .pointer_mut("/result")
        .and_then(Value::as_object_mut)
        .map(|members| members.shift_remove("history"));
    answer
}

#[tokio::test]
async fn messages_and_tasks_have_kinds_and_states_in_lower_case() {
    let client = start(true).await;
    let answer = stable(client.older("message/send", say("hello")).await);
    expect![[r#"{"id":1,"result":{"kind":"message","messageId":"…","contextId":"…","role":"agent","parts":[{"kind":"text","text":"good day"}]}}"#]]
        .assert_eq(&answer.to_string());
    let sent = client.older("message/send", say("work")).await;
    let id = sent[0]["result"]["id"].clone();
    let sent = stable(sent);
    assert_eq!(sent["result"]["kind"], "task", "{sent}");
    assert_eq!(sent["result"]["status"]["state"], "completed");
    let read = stable(client.older("tasks/get", json!({"id": id, "historyLength": 0})).await);
    assert_eq!(read["result"], sent["result"]);
    assert_eq!(read["result"]["artifacts"][0]["parts"][0]["kind"], "text");
}

#[tokio::test]
async fn streams_say_which_event_is_the_last() {
    let client = start(true).await;
    for (text, last) in [("work", "completed"), ("wait", "input-required")] {
        let events = client.older("message/stream", say(text)).await;
        let shown = |event: &Value| {
            let event = &event["result"];
            let state = event.pointer("/status/state").and_then(Value::as_str);
            format!("{} {} {}", event["kind"], state.unwrap_or("-"), event["final"])
        };
        let shown: Vec<_> = events.iter().map(shown).collect();
        let end = format!(r#""status-update" {last} true"#);
        let expected = [
            r#""task" submitted null"#,
            r#""status-update" working false"#,
            r#""artifact-update" - null"#,
            &end,
        ];
        assert_eq!(shown, expected);
    }
}

#[tokio::test]
async fn a_task_that_waits_is_followed_again_and_canceled() {
    let client = start(true).await;
    let sent = client.older("message/send", say("wait")).await;
    let id = json!({"id": sent[0]["result"]["id"]});
    let stream = client.older_begun("tasks/resubscribe", id.clone()).await;
    let canceled = client.older("tasks/cancel", id).await;
    assert_eq!(canceled[0]["result"]["status"]["state"], "canceled", "{canceled:?}");
    // The answer begins with the task, and ends when the task does.
    let events = events(stream).await;
    assert_eq!(events[0]["result"]["kind"], "task");
    let last = &events.last().unwrap()["result"];
    assert_eq!((&last["status"]["state"], &last["final"]), (&json!("canceled"), &json!(true)));
}

#[tokio::test]
async fn webhooks_are_set_read_listed_and_deleted() {
    let client = start(true).await;
    let sent = client.older("message/send", say("wait")).await;
    let task = sent[0]["result"]["id"].clone();
    let config = json!({"id": "c", "url": "http://127.0.0.1:9/hook", "token": "t",
        "authentication": {"schemes": ["Bearer"], "credentials": "s"}});
    let params = json!({"taskId": task, "pushNotificationConfig": config});
    let set = client.older("tasks/pushNotificationConfig/set", params).await;
    let expected = json!({"taskId": task, "pushNotificationConfig":
        {"id": "c", "url": "http://127.0.0.1:9/hook", "authentication": {"schemes": ["Bearer"]}}});
    assert_eq!(set[0]["result"], expected, "{set:?}");
    let one = json!({"id": task, "pushNotificationConfigId": "c"});
    let read = client.older("tasks/pushNotificationConfig/get", one.clone()).await;
    assert_eq!(read[0]["result"], expected);
    let listed = client.older("tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(listed[0]["result"], json!([expected]));
    let deleted = client.older("tasks/pushNotificationConfig/delete", one).await;
    assert_eq!(deleted[0]["result"], Value::Null);
    assert!(deleted[0].get("error").is_none());
    let listed = client.older("tasks/pushNotificationConfig/list", json!({"id": task})).await;
    assert_eq!(listed[0]["result"], json!([]));
}

#[tokio::test]
async fn the_extended_card_is_read_in_0_3() {
    let client = start(true).await;
    let method = "agent/getAuthenticatedExtendedCard";
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method}).to_string();
    for (headers, status) in [(&[][..], 401), (&[("authorization", "Bearer secret")], 200)] {
        let post = hyper::Method::POST;
        let (head, bytes, _) =
            client.send_as(headers, post, "/a2a", "application/json", body.clone()).await;
        let answer: Value = tradepost_document::json::from_slice(&bytes).unwrap();
        assert_eq!(head.status(), status, "{answer}");
        assert_eq!(answer["result"]["name"] == "for you", status == 200, "{answer}");
    }
}

#[tokio::test]
async fn refusals_have_0_3_numbers_and_releases_are_told_apart() {
    let client = start(true).await;
    for (method, params, code) in [
        ("tasks/get", json!({"id": "nobody"}), -32001),
        ("message/send", json!({}), -32602),
        ("tasks/list", json!({}), -32601),
        // Without a version it is a request of 0.3, which has no such method.
        ("SendMessage", json!({}), -32601),
    ] {
        let answer = client.older(method, params).await;
        assert_eq!(answer[0]["error"]["code"], code, "{method}");
    }
    let (status, card) = client.get("/.well-known/agent-card.json").await;
    assert_eq!((status, &card["protocolVersion"]), (200, &json!("0.3.0")));
    assert_eq!(card["supportsAuthenticatedExtendedCard"], true);
    // Whose card does not claim 0.3 speaks 1.0 alone.
    let newer = start(false).await;
    let answer = newer.older("message/send", say("hello")).await;
    assert_eq!(answer[0]["error"]["code"], -32009);
}
