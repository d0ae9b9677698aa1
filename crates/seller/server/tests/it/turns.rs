//! Whoever asks much takes no place from the others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tradepost_server::a2a::error::{A2aCode, A2aRefusal};
use tradepost_server::http::{self, HttpSettings};
use tradepost_server::memory::MemoryStore;
use tradepost_server::prelude::*;

/// An agent whose answers wait until they are let go.
#[derive(Debug)]
struct GatedAgent {
    card: PublishedCard,
    auth: Authenticator,
    hosts: [String; 1],
    gate: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
}

impl GatedAgent {
    fn new(id: &str) -> Self {
        let card = card::describe(id, "Waits.", &format!("http://{id}.example"));
        Self {
            card: PublishedCard::from_card(&card, Clock::system().now()),
            auth: Authenticator::open_to_all(id),
            hosts: [format!("{id}.example")],
            gate: Arc::new(Semaphore::new(0)),
            running: Arc::default(),
        }
    }
}

impl Agent for GatedAgent {
    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn hosts(&self) -> Option<&[String]> {
        Some(&self.hosts)
    }

    fn requires_version(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, _: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        Box::pin(async {
            self.running.fetch_add(1, Ordering::SeqCst);
            self.gate.acquire().await.unwrap().forget();
            AgentOutcome::Protocol(A2aRefusal::new(A2aCode::UnsupportedOperation, "done"))
        })
    }
}

async fn ask(address: SocketAddr, host: &str) -> String {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":
        {"messageId":"1","role":"ROLE_USER","parts":[{"text":"x"}]}}}"#;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST /a2a HTTP/1.1\r\nHost: {host}.example\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn many_requests_to_one_agent_leave_places_to_another() {
    let noisy = Arc::new(GatedAgent::new("noisy"));
    let quiet = Arc::new(GatedAgent::new("quiet"));
    let settings = HttpSettings {
        max_running_requests: 8,
        request_timeout: Duration::from_mins(10),
        ..HttpSettings::default()
    };
    let health = Arc::new(MemoryStore::default());
    let agents: Vec<Arc<dyn Agent>> = vec![Arc::clone(&noisy) as _, Arc::clone(&quiet) as _];
    let registry = AgentRegistry::new(settings, Clock::system(), health, agents);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(http::serve(listener, registry, pending::<()>()));
    let mut requests = JoinSet::new();
    (0..40).for_each(|_| drop(requests.spawn(ask(address, "noisy"))));
    while noisy.running.load(Ordering::SeqCst) < 2 {
        tokio::task::yield_now().await;
    }
    quiet.gate.add_permits(50);
    for _ in 0..50 {
        assert!(ask(address, "quiet").await.contains("done"));
    }
    assert_eq!(noisy.running.load(Ordering::SeqCst), 2, "a quarter of the places, and no more");
    noisy.gate.add_permits(40);
    while let Some(answer) = requests.join_next().await {
        assert!(answer.unwrap().contains("done"), "nobody of the crowd is forgotten");
    }
}
