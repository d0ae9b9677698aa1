//! What a client is told while a person or a seller is awaited.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use tokio::net::TcpListener;
use tradepost_bridge::server::{HttpAccess, router};
use tradepost_document::json::{Value, json};

use super::asked::{Exchange, RawClient, answer, yes};
use super::{bridge, fake, lead, time};

fn dealer() -> fake::Fake {
    fake::Fake::start(|_| Ok(json!({"lead_id": "L1", "status": "received"})))
}

/// A dealer that takes the request and never answers, and how often it was asked for its skill.
fn silent_dealer() -> fake::SilentDealer {
    fake::SilentDealer::start()
}

fn call(tool: &str, arguments: Value, token: Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": token}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

#[test]
fn clients_hear_every_ten_seconds_that_their_person_is_awaited() {
    let dealer = dealer();
    time::run_held(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        client.send(call("aap_lead_submit", lead(), json!("t1"))).await;
        let question = client.next().await;
        let mut notifications = String::new();
        for _ in 0..2 {
            tokio::time::advance(Duration::from_secs(10)).await;
            notifications.push_str(&format!("{}\n", client.next().await));
        }
        client.send(answer(&question, yes())).await;
        let last = client.next().await;
        assert_eq!(last["result"]["structuredContent"]["status"], "sent", "{last}");
        expect![[r#"
            {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":10,"message":"waiting for the person (10 s)"}}
            {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":20,"message":"waiting for the person (20 s)"}}
        "#]].assert_eq(&notifications);
    });
}

#[test]
fn over_http_progress_makes_the_answer_a_stream() {
    let silent_dealer = silent_dealer();
    time::run_held(async {
        let (bridge, _) = bridge(&[&silent_dealer.name]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let hosts = Vec::new();
        let origins = Vec::new();
        let patience = Duration::from_secs(600);
        let access = HttpAccess { hosts, origins, max_body: 1 << 20, patience };
        let served = axum::serve(listener, router(Arc::new(bridge), access));
        tokio::spawn(async move { served.await.unwrap() });
        let request = call("aap_inventory_search", json!({}), json!(7));
        let mut call = Exchange::send(&address, None, &request).await;
        time::until(|| silent_dealer.requests() > 0).await;
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(call.line("content-type:").await.unwrap(), "text/event-stream");
        let params = json!({"progressToken": 7, "progress": 10,
            "message": "waiting for dealers or sellers (10 s)"});
        assert_eq!(call.event().await["params"], params);
        let ended = time::hurried(async {
            loop {
                let event = call.event().await;
                if event["id"] == 1 {
                    return event;
                }
            }
        });
        let document = ended.await["result"]["structuredContent"].clone();
        assert_eq!(document["code"], "DEALER_SILENT", "{document}");
    });
}

#[test]
fn a_client_without_a_token_hears_nothing() {
    let dealer = dealer();
    time::run_held(async {
        let mut client = RawClient::start(&[&dealer.name], |_| {}).await;
        client.hello("2025-06-18", json!({"elicitation": {}})).await;
        client.submit(1, lead()).await;
        let question = client.next().await;
        tokio::time::advance(Duration::from_secs(30)).await;
        client.send(answer(&question, yes())).await;
        assert_eq!(client.next().await["result"]["structuredContent"]["status"], "sent");
    });
}
