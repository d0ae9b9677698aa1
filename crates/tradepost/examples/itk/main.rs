//! An agent that is told to call other agents, on the server's library and the buyer's: what the
//! integration test kit of A2A drives beside those of the official libraries (`interop/itk`).
//!
//! `cargo run -p tradepost --example itk -- --httpPort 8080 --grpcPort 8081`

use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::Uri;
use clap::Parser as _;
use prost::Message as _;
use tokio::net::TcpListener;
use tower::util::MapRequest;
use tradepost_server::agent::Agent;
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::memory::MemoryStore;
use tradepost_server::outbox::sender::HttpSender;
use tradepost_server::outbox::{ClockAndRandom, Outbox, OutboxSettings};
use tradepost_server::prelude::*;

mod instruction;
mod traversal;

use instruction::Instruction;

/// As the kit starts every agent.
#[derive(Debug, clap::Parser)]
#[command(rename_all = "camelCase")]
struct Arguments {
    /// Where everything listens.
    #[arg(long)]
    http_port: u16,
    /// Not used: gRPC is at the same port, as the card says.
    #[arg(long)]
    grpc_port: u16,
}

/// The agent.
#[derive(Debug)]
struct Itk(PublishedCard, Authenticator, TaskService);

/// Its name.
const ID: &str = "itk";

/// How long a request may take that visits several agents.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(100);

/// How often a held task says that it goes on, and how long after the last time.
const REMINDERS: (u32, Duration) = (5, Duration::from_secs(2));

impl Agent for Itk {
    fn card(&self) -> &PublishedCard {
        &self.0
    }

    fn auth(&self) -> &Authenticator {
        &self.1
    }

    /// The kit's agents send instructions under media types of their own.
    fn accepts_part(&self, _: &Part) -> bool {
        true
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.2)
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        self.2.perform(incoming, |message, _| Ok(plan(instruction::from_message(message))))
    }
}

/// Carries the instruction out and says what came of it, each line one result.
fn plan(instruction: Option<Instruction>) -> MessagePlan {
    MessagePlan::work(async move |progress| {
        progress.status(TaskState::Working, None).await?;
        let Some(instruction) = instruction else {
            let why = Some("there is no instruction in the message");
            return progress.status(TaskState::Failed, why).await;
        };
        let found = match traversal::carry_out(&instruction).await {
            Ok(found) => found.join("\n"),
            Err(why) => return progress.status(TaskState::Failed, Some(&why)).await,
        };
        if instruction.is_held() {
            let text = format!("{found}\n{}", traversal::FINISHED);
            progress.status(TaskState::Working, Some(&text)).await?;
            for _ in 0..REMINDERS.0 {
                tokio::time::sleep(REMINDERS.1).await;
                progress.status(TaskState::Working, None).await?;
            }
        }
        progress.status(TaskState::Completed, Some(&found)).await
    })
}

/// The kit posts JSON-RPC to a path that it does not read from the card.
fn at_our_paths(mut request: Request) -> Request {
    let theirs = request.uri().path_and_query().map_or("", |target| target.as_str());
    let ours = theirs.strip_prefix("/jsonrpc").map(|rest| format!("/a2a{rest}"));
    if let Some(uri) = ours.and_then(|ours| ours.parse::<Uri>().ok()) {
        *request.uri_mut() = uri;
    }
    request
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let listener = TcpListener::bind(("127.0.0.1", arguments.http_port)).await?;
    let base_url = format!("http://{}", listener.local_addr()?);
    let mut card = card::describe("ITK", "Calls agents as it is told.", &base_url);
    card.capabilities.push_notifications = true;
    // Clients of 0.3 among the kit's agents are let in, too.
    let card = PublishedCard::from_card(&card::for_both_releases(card), Clock::system().now());
    // The kit's webhooks are on this machine.
    let egress = Egress::new(Resolver::system(), true);
    let service = TaskService::new_in_memory(ID)?.calling(egress.clone());
    let settings = OutboxSettings::default();
    let sender = Arc::new(HttpSender::new(egress.apart(), settings.timeout));
    let outbox =
        Outbox::new(ID, Arc::clone(service.tasks()), sender, ClockAndRandom::system(), settings);
    tokio::spawn(Arc::new(outbox).run(pending(), Duration::ZERO));
    let agent = Itk(card, Authenticator::open_to_all(ID), service);
    let settings =
        http::HttpSettings { request_timeout: REQUEST_TIMEOUT, ..http::HttpSettings::default() };
    let health = Arc::new(MemoryStore::default());
    let agents = vec![Arc::new(agent) as _];
    let registry = Arc::new(AgentRegistry::new(settings.clone(), Clock::system(), health, agents));
    let site = MapRequest::new(http::router(registry), at_our_paths);
    writeln!(io::stdout(), "listening on {base_url}")?;
    let site = Router::new().fallback_service(site);
    http::server::serve(listener, site, &settings, pending()).await;
    Ok(())
}

/// The instruction as the bytes of a message.
fn written(instruction: &Instruction) -> Vec<u8> {
    instruction.encode_to_vec()
}
