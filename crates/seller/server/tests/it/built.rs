//! An agent from the builder: what it knows of a call, messages that are sent twice, files, and the signal that work is
//! no longer wanted.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Method;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tradepost_document::json::{Value, json};
use tradepost_server::a2a::{Content, Operation};
use tradepost_server::agent::{AgentError, Binding};
use tradepost_server::auth::methods::BearerTokens;
use tradepost_server::prelude::*;

use crate::client::Client;

const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

/// Time limit of a wait.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Calls that the agent has received.
#[derive(Default)]
struct ObservedCalls {
    /// Signals of the messages, in their order.
    signals: Mutex<Vec<CancellationToken>>,
    decisions: Mutex<u32>,
}

/// Starts an agent that accepts two callers and everybody else.
async fn start() -> (Client, Arc<ObservedCalls>) {
    start_with(|builder| builder).await
}

/// As [`start`], with further settings.
async fn start_with(
    settings: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (Client, Arc<ObservedCalls>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut card = card::describe("Built", "Does as told.", &format!("http://{address}"));
    card.default_input_modes.push("application/pdf".to_owned());
    let tokens = BearerTokens::new()
        .allow("of ada", Principal::new("ada", Scopes::All))
        .allow("of bob", Principal::new("bob", Scopes::All));
    let observed = Arc::new(ObservedCalls::default());
    let agent_observed = Arc::clone(&observed);
    let builder = AgentBuilder::new("built", card)
        .with_auth(Authenticator::open_to_all("built").with_method(tokens))
        .with_max_file_bytes(4);
    let agent = settings(builder)
        .build(move |call| {
            *agent_observed.decisions.lock().unwrap() += 1;
            agent_observed.signals.lock().unwrap().push(call.context.cancellation.clone());
            let input = call.message.text().unwrap_or_default().to_owned();
            if input == "context" {
                let header = call.context.headers.get("x-trace").map(|it| it.to_str().unwrap());
                let data = json!({
                    "caller": call.context.caller.principal.name,
                    "header": header,
                    "metadata": call.context.metadata.clone().map(Value::from),
                    "binding": format!("{:?}", call.context.binding),
                });
                return Ok(MessagePlan::Answer(vec![Part::data(data)]));
            }
            Ok(MessagePlan::work(async move |progress| match input.as_str() {
                "wait" => {
                    progress.status(TaskState::Working, None).await?;
                    std::future::pending().await
                }
                "ask" => progress.status(TaskState::InputRequired, None).await,
                "parts" => {
                    let parts = vec![
                        Part::text("see"),
                        Part::data(json!({"big": 1})),
                        Part::file(Content::Raw("aGk=".to_owned()), "a", "text/plain"),
                    ];
                    progress.status_with(TaskState::Completed, parts).await
                }
                "no parts" => progress.status_with(TaskState::Completed, Vec::new()).await,
                _ => progress.status(TaskState::Completed, Some(&input)).await,
            }))
        })
        .unwrap();
    tokio::spawn(http::serve(listener, AgentRegistry::from_agent(Arc::new(agent)), pending()));
    (Client::connect(address).await, observed)
}

fn say(id: &str, text: &str) -> Value {
    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// Sends a message over JSON-RPC as a caller; without a name, as nobody.
async fn send(client: &Client, caller: Option<&str>, params: &Value) -> Value {
    let token = caller.map(|name| format!("Bearer of {name}"));
    let mut headers = vec![("a2a-version", "1.0"), ("x-trace", "of a header")];
    headers.extend(token.as_deref().map(|token| ("authorization", token)));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let answer =
        client.send_as(&headers, Method::POST, "/a2a", "application/json", body.to_string()).await;
    tradepost_document::json::from_slice(&answer.1).unwrap()
}

#[tokio::test]
async fn the_context_has_caller_headers_and_metadata() {
    let (client, _) = start().await;
    let mut params = say("1", "context");
    params.as_object_mut().unwrap().insert("metadata".to_owned(), json!({"k": [1]}));
    let answer = send(&client, Some("ada"), &params).await;
    let expected = json!({
        "caller": "ada", "header": "of a header", "metadata": {"k": [1]}, "binding": "JsonRpc",
    });
    assert_eq!(answer["result"]["message"]["parts"][0]["data"], expected);
    for binding in BINDINGS {
        let answer = client.ask(binding, Operation::SendMessage, params.clone()).await.unwrap();
        let data = &answer[0]["message"]["parts"][0]["data"];
        assert_eq!(data["metadata"]["k"][0].as_f64(), Some(1.0), "{binding:?}: {data}");
        assert_eq!(data["caller"], "anonymous", "{binding:?}");
        assert_eq!(data["binding"], format!("{binding:?}"));
    }
}

#[tokio::test]
async fn a_message_sent_twice_gets_one_task() {
    let (client, observed) = start().await;
    let id = |answer: &Value| answer["result"]["task"]["id"].as_str().map(str::to_owned);
    let first = send(&client, Some("ada"), &say("m", "hello")).await;
    let again = send(&client, Some("ada"), &say("m", "hello")).await;
    assert!(id(&first).is_some());
    assert_eq!(first, again);
    assert_eq!(*observed.decisions.lock().unwrap(), 1, "it is decided once");
    let other = send(&client, Some("ada"), &say("m", "other")).await;
    let field = &other["error"]["data"][1]["fieldViolations"][0]["field"];
    assert_eq!((&other["error"]["code"], field), (&json!(-32602), &json!("message.messageId")));
    let of_bob = send(&client, Some("bob"), &say("m", "hello")).await;
    assert_ne!(id(&of_bob), id(&first), "another caller's message is another");
    let anonymous = send(&client, None, &say("m", "hello")).await;
    let anonymous_again = send(&client, None, &say("m", "hello")).await;
    assert_ne!(id(&anonymous), id(&anonymous_again), "nobody knows who is the same");
}

#[tokio::test]
async fn each_message_is_new_without_repeat_detection() {
    let (client, observed) = start_with(AgentBuilder::without_repeat_detection).await;
    let mut ids = BTreeSet::new();
    for text in ["hello", "hello", "something else"] {
        let answer = send(&client, Some("ada"), &say("m", text)).await;
        let id = answer["result"]["task"]["id"].as_str().map(str::to_owned);
        assert!(ids.insert(id.unwrap()), "{answer}");
    }
    assert_eq!((ids.len(), *observed.decisions.lock().unwrap()), (3, 3));
}

#[tokio::test]
async fn a_continuing_message_sent_twice_continues_once() {
    let (client, observed) = start().await;
    let begun = send(&client, Some("ada"), &say("m", "ask")).await;
    let mut more = say("n", "answer");
    let message = more["message"].as_object().cloned().unwrap();
    let task_id = begun["result"]["task"]["id"].clone();
    let message: tradepost_document::json::Map =
        message.into_iter().chain([("taskId".to_owned(), task_id)]).collect();
    more.as_object_mut().unwrap().insert("message".to_owned(), message.into());
    let first = send(&client, Some("ada"), &more).await;
    assert_eq!(first["result"]["task"]["status"]["state"], "TASK_STATE_COMPLETED", "{first}");
    let again = send(&client, Some("ada"), &more).await;
    assert_eq!(first, again, "although the task has ended");
    assert_eq!(*observed.decisions.lock().unwrap(), 2);
}

#[tokio::test]
async fn many_of_one_message_at_once_begin_one_task() {
    let (client, _) = start().await;
    let params = say("m", "hello");
    let sent = (0..16).map(|_| send(&client, Some("ada"), &params));
    let answers = futures_util::future::join_all(sent).await;
    let first = &answers[0]["result"]["task"]["id"];
    assert!(first.is_string(), "{}", answers[0]);
    assert!(answers.iter().all(|answer| answer["result"]["task"]["id"] == *first), "{answers:?}");
}

#[tokio::test]
async fn every_file_that_is_too_large_is_reported() {
    let (client, _) = start().await;
    let raw = |bytes: &str| json!({"raw": bytes, "mediaType": "application/pdf"});
    // Four bytes, five, three with padding, and six without.
    let parts = [raw("AAAAAA=="), raw("AAAAAAA="), raw("AAAA"), raw("AAAAAAAA")];
    let params = json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": parts}});
    let answer = send(&client, Some("ada"), &params).await;
    assert_eq!(
        answer["error"]["message"],
        "Invalid parameters: message.parts[1].raw: must have at most 4 bytes; \
         message.parts[3].raw: must have at most 4 bytes"
    );
}

#[tokio::test]
async fn a_state_has_a_message_of_any_parts() {
    let (client, _) = start().await;
    let answer = send(&client, Some("ada"), &say("m", "parts")).await;
    let parts = &answer["result"]["task"]["status"]["message"]["parts"];
    assert_eq!(
        parts,
        &json!([{"text": "see"}, {"data": {"big": 1}}, {"raw": "aGk=", "filename": "a", "mediaType": "text/plain"}])
    );
    let answer = send(&client, Some("ada"), &say("n", "no parts")).await;
    assert_eq!(answer["result"]["task"]["status"]["state"], "TASK_STATE_FAILED");
}

/// Waits for the signal of the first message.
async fn signal(observed: &ObservedCalls) -> CancellationToken {
    let found = async {
        loop {
            let first = observed.signals.lock().unwrap().first().cloned();
            match first {
                Some(signal) => break signal,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(TIMEOUT, found).await.unwrap()
}

#[tokio::test]
async fn the_signal_is_given_when_the_task_is_canceled() {
    let (client, observed) = start().await;
    let mut params = say("m", "wait");
    let now = json!({"returnImmediately": true});
    params.as_object_mut().unwrap().insert("configuration".to_owned(), now);
    let begun = client.ask(Binding::JsonRpc, Operation::SendMessage, params).await.unwrap();
    let signal = signal(&observed).await;
    assert!(!signal.is_cancelled(), "the answer has come, so the caller has not gone");
    let id = json!({"id": begun[0]["task"]["id"]});
    client.ask(Binding::JsonRpc, Operation::CancelTask, id).await.unwrap();
    tokio::time::timeout(TIMEOUT, signal.cancelled()).await.unwrap();
}

#[tokio::test]
async fn the_signal_is_given_when_the_caller_has_gone() {
    for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
        let (client, observed) = start().await;
        let calling =
            tokio::spawn(
                async move { client.ask(Binding::JsonRpc, operation, say("m", "wait")).await },
            );
        let signal = signal(&observed).await;
        assert!(!signal.is_cancelled());
        calling.abort();
        let _ = calling.await;
        tokio::time::timeout(TIMEOUT, signal.cancelled()).await.unwrap();
    }
}

#[tokio::test]
async fn the_signal_is_not_given_when_all_went_well() {
    for operation in [Operation::SendMessage, Operation::SendStreamingMessage] {
        let (client, observed) = start().await;
        client.ask(Binding::JsonRpc, operation, say("m", "hello")).await.unwrap();
        assert!(!signal(&observed).await.is_cancelled(), "{operation:?}");
    }
}

#[tokio::test]
async fn an_agent_whose_card_says_otherwise_is_not_built() {
    let card = card::describe("Built", "Does as told.", "http://127.0.0.1:1");
    let card = tradepost_server::a2a::card::AgentCard {
        security_schemes: Authenticator::with_required_method("built", BearerTokens::new())
            .schemes(),
        ..card
    };
    let answer = |_: MessageCall<'_>| Ok(MessagePlan::Answer(vec![Part::text("never")]));
    let refused = AgentBuilder::new("built", card.clone()).build(answer).unwrap_err();
    assert!(matches!(&refused, AgentError::Card(found) if found.differences.len() == 1));
    assert_eq!(
        refused.to_string(),
        "the card of built disagrees with its authentication: securitySchemes.bearer declares a \
         credential of the HTTP scheme bearer, which the agent does not accept"
    );
    let auth = Authenticator::open_to_all("another");
    let refused = AgentBuilder::new("built", card).with_auth(auth).build(answer).unwrap_err();
    assert!(matches!(refused, AgentError::OtherId { .. }));
}
