//! The standard health service of gRPC.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::BodyExt as _;
use hyper::Method;
use tokio::net::TcpListener;
use tradepost_server::agent::BoxFuture;
use tradepost_server::fault::InternalError;
use tradepost_server::health::Health;
use tradepost_server::http::{HttpSettings, Routes};
use tradepost_server::prelude::*;

use crate::client::{Client, FullResponse, framed};

/// Storage that can be broken.
#[derive(Debug, Default)]
struct Storage(AtomicBool);

impl Health for Storage {
    fn check(&self) -> BoxFuture<'_, Result<(), &'static str>> {
        let is_broken = self.0.load(Ordering::SeqCst);
        Box::pin(std::future::ready(if is_broken { Err("it is broken") } else { Ok(()) }))
    }

    fn intact(&self) -> Result<(), InternalError> {
        Ok(())
    }
}

async fn start(has_grpc: bool) -> (Client, Arc<Storage>, Arc<AgentRegistry>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut card = card::describe("Well", "Is well.", &format!("http://{address}"));
    if !has_grpc {
        card.supported_interfaces.retain(|interface| interface.protocol_binding != "GRPC");
    }
    let answer = |_: MessageCall<'_>| Ok(MessagePlan::Answer(vec![Part::text("well")]));
    let agent = Arc::new(AgentBuilder::new("well", card).build(answer).unwrap());
    let storage = Arc::new(Storage::default());
    let health: Arc<dyn Health> = Arc::clone(&storage) as _;
    let settings = HttpSettings::default();
    let registry =
        Arc::new(AgentRegistry::new(settings.clone(), Clock::system(), health, vec![agent]));
    let site = http::site(Arc::clone(&registry), Routes::default());
    tokio::spawn(async move { http::server::serve(listener, site, &settings, pending()).await });
    (Client::connect(address).await, storage, registry)
}

/// The status of gRPC and the body.
fn ended(response: &FullResponse) -> (String, Vec<u8>) {
    let (head, body, trailers) = response;
    let status = trailers.as_ref().unwrap_or(head.headers())["grpc-status"].to_str().unwrap();
    (status.to_owned(), body.to_vec())
}

async fn call(client: &Client, method: &str, service: &str) -> (String, Vec<u8>) {
    let length = u8::try_from(service.len()).unwrap();
    let message = [&[0x0a, length], service.as_bytes()].concat();
    ended(&client.send_grpc_to(&format!("/grpc.health.v1.Health/{method}"), &message).await)
}

/// A message with its prefix whose first field is this number.
fn status(number: u8) -> Vec<u8> {
    vec![0, 0, 0, 0, 2, 0x08, number]
}

#[tokio::test]
async fn the_health_service_says_whether_requests_are_taken() {
    let (client, storage, _) = start(true).await;
    for service in ["", "lf.a2a.v1.A2AService"] {
        assert_eq!(call(&client, "Check", service).await, ("0".to_owned(), status(1)), "{service}");
    }
    // NOT_FOUND, UNIMPLEMENTED
    assert_eq!(call(&client, "Check", "another.Service").await.0, "5");
    assert_eq!(call(&client, "Other", "").await.0, "12");
    storage.0.store(true, Ordering::SeqCst);
    assert_eq!(call(&client, "Check", "").await, ("0".to_owned(), status(2)));
    let list = call(&client, "List", "").await;
    let text = String::from_utf8_lossy(&list.1).into_owned();
    assert!(list.0 == "0" && text.contains("lf.a2a.v1.A2AService"), "{text:?}");
}

#[tokio::test]
async fn who_watches_is_told_of_changes_until_the_process_stops() {
    let (client, storage, registry) = start(true).await;
    let path = "/grpc.health.v1.Health/Watch";
    let answer = client.begin(&[], Method::POST, path, "application/grpc", framed(&[])).await;
    let mut body = answer.into_body();
    let mut next = async || body.frame().await.unwrap().unwrap();
    assert_eq!(*next().await.into_data().unwrap(), status(1));
    storage.0.store(true, Ordering::SeqCst);
    assert_eq!(*next().await.into_data().unwrap(), status(2));
    registry.close_streams();
    let trailers = next().await.into_trailers().unwrap();
    // UNAVAILABLE
    assert_eq!(trailers["grpc-status"], "14");
}

#[tokio::test]
async fn without_the_binding_there_is_no_health_service() {
    let (client, ..) = start(false).await;
    assert_eq!(call(&client, "Check", "").await.0, "12");
    let (client, ..) = start(true).await;
    let unwatched = call(&client, "Check", &"x".repeat(100)).await;
    assert_eq!(unwatched.0, "5");
}
