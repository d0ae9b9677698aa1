//! The router inside of an axum server of somebody else.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tradepost_document::json::{Value, json};
use tradepost_server::http;
use tradepost_server::prelude::*;

use crate::scripted::{Scripted, say, set_up};

/// Sends a request on a connection of its own, and returns the status line and the body of the answer.
async fn send(address: SocketAddr, target: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nA2A-Version: 1.0\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer, not a closed connection");
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

async fn ask(address: SocketAddr) -> (String, Value) {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": say("who calls?")});
    let (status, body) = send(address, "POST /agents/a2a", &call.to_string()).await;
    (status, tradepost_document::json::from_str(&body).unwrap())
}

async fn start(knows_peers: bool) -> (SocketAddr, Arc<Scripted>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let plan = |_: &str| Ok(MessagePlan::Answer(vec![Part::text("x")]));
    let (agent, registry) = set_up(address, |_| None, plan, |_| {});
    let site = Router::new().nest("/agents", http::router(registry));
    tokio::spawn(async move {
        if knows_peers {
            let site = site.into_make_service_with_connect_info::<SocketAddr>();
            axum::serve(listener, site).await
        } else {
            axum::serve(listener, site).await
        }
    });
    (address, agent)
}

#[tokio::test]
async fn a_nested_router_knows_callers_by_connect_info() {
    for (knows_peers, expected) in [(true, "127.0.0.1"), (false, "0.0.0.0")] {
        let (address, _) = start(knows_peers).await;
        let (status, answer) = ask(address).await;
        let answer_text = &answer["result"]["message"]["parts"][0]["text"];
        assert_eq!((status.as_str(), answer_text.as_str()), ("HTTP/1.1 200 OK", Some(expected)));
    }
}

#[tokio::test]
async fn a_panic_in_a_nested_router_closes_no_connection() {
    let (address, agent) = start(true).await;
    agent.panic_in("perform");
    let (status, answer) = ask(address).await;
    assert_eq!((status.as_str(), &answer["error"]["code"]), ("HTTP/1.1 200 OK", &json!(-32603)));
    agent.panic_in("card");
    let target = "GET /agents/.well-known/agent-card.json";
    let (status, _) = send(address, target, "").await;
    assert_eq!(status, "HTTP/1.1 500 Internal Server Error");
    agent.panic_in("");
    let (status, _) = send(address, target, "").await;
    assert_eq!(status, "HTTP/1.1 200 OK");
}
