//! The agent of the README does on every binding what its some fifty lines say, and nothing else.

use tokio::net::TcpListener;
use tradepost_document::json::{Value, json};
use tradepost_server::a2a::Operation;
use tradepost_server::agent::Binding;

use crate::client::Client;
use crate::echo;

const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

pub async fn start() -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { echo::serve(listener).await.map_err(|error| error.to_string()) });
    Client::connect(address).await
}

fn say(text: &str) -> Value {
    json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// The state that an event shows.
fn state(event: &Value) -> &str {
    let status = event.pointer("/task/status").or_else(|| event.pointer("/statusUpdate/status"));
    status.map_or("an artifact", |status| status["state"].as_str().unwrap())
}

#[tokio::test]
async fn a_message_is_answered_with_a_message() {
    let client = start().await;
    for binding in BINDINGS {
        let answers = client.ask(binding, Operation::SendMessage, say("hello")).await.unwrap();
        assert_eq!(answers.len(), 1, "{binding:?}");
        assert_eq!(answers[0]["message"]["parts"], json!([{"text": "hello"}]), "{binding:?}");
        assert_eq!(answers[0]["message"]["role"], "ROLE_AGENT", "{binding:?}");
    }
}

#[tokio::test]
async fn a_message_becomes_a_task_readable_on_every_binding() {
    let client = start().await;
    for binding in BINDINGS {
        let answers = client.ask(binding, Operation::SendMessage, say("task one")).await.unwrap();
        let task = &answers[0]["task"];
        assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{binding:?}");
        let id = json!({"id": task["id"]});
        for other in BINDINGS {
            let read = client.ask(other, Operation::GetTask, id.clone()).await.unwrap();
            assert_eq!(read[0]["artifacts"][0]["parts"], json!([{"text": "task one"}]));
        }
        let code = match binding {
            Binding::JsonRpc => "-32002",
            Binding::HttpJson => "400",
            // FAILED_PRECONDITION
            Binding::Grpc => "9",
        };
        let canceled = client.ask(binding, Operation::CancelTask, id).await;
        assert_eq!(canceled, Err(code.to_owned()), "{binding:?}: what has ended stays");
    }
}

#[tokio::test]
async fn a_task_that_waits_can_be_canceled() {
    let client = start().await;
    for binding in BINDINGS {
        let answers = client.ask(binding, Operation::SendMessage, say("task or not?")).await;
        let task = answers.unwrap()[0]["task"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{binding:?}");
        let id = json!({"id": task["id"]});
        let canceled = client.ask(binding, Operation::CancelTask, id).await.unwrap();
        assert_eq!(canceled[0]["status"]["state"], "TASK_STATE_CANCELED", "{binding:?}");
    }
}

#[tokio::test]
async fn a_stream_shows_a_task_until_it_ends() {
    let client = start().await;
    for binding in BINDINGS {
        let operation = Operation::SendStreamingMessage;
        let events = client.ask(binding, operation, say("task streamed")).await.unwrap();
        let states: Vec<_> = events.iter().map(state).collect();
        let expected =
            ["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "an artifact", "TASK_STATE_COMPLETED"];
        assert_eq!(states, expected, "{binding:?}");
    }
}

#[tokio::test]
async fn what_is_missing_is_not_found_in_each_bindings_words() {
    let client = start().await;
    for (binding, code) in
        [(Binding::JsonRpc, "-32001"), (Binding::HttpJson, "404"), (Binding::Grpc, "5")]
    {
        for operation in [Operation::GetTask, Operation::CancelTask] {
            let answer = client.ask(binding, operation, json!({"id": "nobody"})).await;
            assert_eq!(answer, Err(code.to_owned()), "{binding:?} {operation:?}");
        }
    }
    let (status, _) = client.get("/nothing").await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn the_card_names_the_bindings_and_what_is_let_through() {
    let client = start().await;
    let (status, card) = client.get("/.well-known/agent-card.json").await;
    let bindings = card["supportedInterfaces"].as_array().unwrap();
    let bindings: Vec<_> =
        bindings.iter().map(|one| one["protocolBinding"].as_str().unwrap()).collect();
    assert_eq!((status, bindings), (200, vec!["JSONRPC", "HTTP+JSON", "GRPC"]));
    assert_eq!(card["capabilities"]["streaming"], true);
    assert_eq!(card["capabilities"]["pushNotifications"], false);
}
