//! An agent that does what the text of a message says, and whose methods panic when they are told to.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::TcpListener;
use tradepost_document::json::{Value, json};
use tradepost_server::a2a::card::AgentCard;
use tradepost_server::a2a::error::A2aRefusal;
use tradepost_server::a2a::{A2aRequest, Operation};
use tradepost_server::agent::AgentAnswer;
use tradepost_server::http::{self, HttpSettings, Routes};
use tradepost_server::memory::MemoryStore;
use tradepost_server::permission::Permission;
use tradepost_server::prelude::*;

use crate::client::Client;

/// Decides what comes of a message with this text; `None` makes a task that ends at once.
pub type Script = fn(&str) -> Option<AgentOutcome>;

/// The agent.
#[derive(Debug)]
pub struct Scripted {
    card: PublishedCard,
    auth: Authenticator,
    /// Its tasks.
    pub service: TaskService,
    /// Where its tasks are kept.
    pub memory: Arc<MemoryStore>,
    script: Script,
    plan: fn(&str) -> Result<MessagePlan, A2aRefusal>,
    /// The method that panics.
    faulty: Mutex<&'static str>,
}

impl Scripted {
    /// Lets a method panic from now on; none with an empty name.
    pub fn panic_in(&self, method: &'static str) {
        *self.faulty.lock().unwrap() = method;
    }

    fn enter(&self, method: &str) {
        let is_faulty = *self.faulty.lock().unwrap() == method;
        assert!(!is_faulty, "expected by the test");
    }
}

impl Agent for Scripted {
    fn card(&self) -> &PublishedCard {
        self.enter("card");
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        self.enter("auth");
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        self.enter("perform");
        let outcome = match &incoming.request {
            A2aRequest::SendMessage(send) | A2aRequest::SendStreamingMessage(send) => {
                let text = send.message.text().unwrap_or_default().to_owned();
                if text == "who calls?" {
                    let address = Part::text(incoming.caller.address.to_string());
                    return self
                        .service
                        .perform(incoming, |_, _| Ok(MessagePlan::Answer(vec![address])));
                }
                (self.script)(&text)
            }
            A2aRequest::GetTask { .. }
            | A2aRequest::ListTasks(_)
            | A2aRequest::CancelTask { .. }
            | A2aRequest::SubscribeToTask { .. }
            | A2aRequest::CreatePushConfig(_)
            | A2aRequest::GetPushConfig { .. }
            | A2aRequest::ListPushConfigs { .. }
            | A2aRequest::DeletePushConfig { .. }
            | A2aRequest::GetExtendedAgentCard => None,
        };
        Box::pin(async move {
            if let Some(outcome) = outcome {
                tokio::task::yield_now().await;
                return outcome;
            }
            let plan = |message: &Message, _: Option<&_>| {
                self.enter("plan");
                (self.plan)(message.text().unwrap_or_default())
            };
            let outcome = self.service.perform(incoming, plan).await;
            self.enter("perform, later");
            outcome
        })
    }

    fn requires_version(&self) -> bool {
        self.enter("requires_version");
        true
    }

    fn keeps_tasks(&self) -> bool {
        self.enter("keeps_tasks");
        true
    }

    fn required(&self, _: Operation) -> Option<Permission> {
        self.enter("required");
        None
    }

    fn accepts_part(&self, part: &Part) -> bool {
        self.enter("accepts_part");
        self.card.claims.reads(part)
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.service)
    }

    fn code_of(&self, _: &AgentAnswer) -> &'static str {
        self.enter("code_of");
        "OK"
    }

    fn example(&self, _: &str) -> Option<(String, String)> {
        self.enter("example");
        None
    }
}

/// A running agent.
pub struct Running {
    /// A client of it.
    pub client: Client,
    /// The agent.
    pub agent: Arc<Scripted>,
    /// The process that it is in.
    pub registry: Arc<AgentRegistry>,
}

/// Starts an agent that does nothing but end tasks.
pub async fn start() -> Running {
    start_with(|_| None, |_| Ok(MessagePlan::work(ended)), |_| {}).await
}

async fn ended(
    progress: tradepost_server::tasks::TaskProgress,
) -> Result<(), tradepost_server::tasks::TaskEnded> {
    progress.status(TaskState::Completed, None).await
}

/// Starts an agent with these answers and plans, and with a card that is changed.
pub async fn start_with(
    script: Script,
    plan: fn(&str) -> Result<MessagePlan, A2aRefusal>,
    change: impl FnOnce(&mut AgentCard),
) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (agent, registry) = set_up(address, script, plan, change);
    let site = http::site(Arc::clone(&registry), Routes::default());
    let settings = registry.settings.clone();
    tokio::spawn(async move { http::server::serve(listener, site, &settings, pending()).await });
    Running { client: Client::connect(address).await, agent, registry }
}

/// An agent in a process that nobody serves.
pub fn set_up(
    address: SocketAddr,
    script: Script,
    plan: fn(&str) -> Result<MessagePlan, A2aRefusal>,
    change: impl FnOnce(&mut AgentCard),
) -> (Arc<Scripted>, Arc<AgentRegistry>) {
    let mut card = card::describe("Scripted", "Does as told.", &format!("http://{address}"));
    change(&mut card);
    let clock = Clock::system();
    let memory = Arc::new(MemoryStore::default());
    let service = TaskService::open(Arc::clone(&memory) as _, clock.clone(), "scripted").unwrap();
    let agent = Arc::new(Scripted {
        card: PublishedCard::from_card(&card, clock.now()),
        auth: Authenticator::open_to_all("scripted"),
        service,
        memory: Arc::clone(&memory),
        script,
        plan,
        faulty: Mutex::new(""),
    });
    let agents: Vec<Arc<dyn Agent>> = vec![Arc::clone(&agent) as _];
    let registry = AgentRegistry::new(HttpSettings::default(), clock, memory, agents);
    (agent, Arc::new(registry))
}

/// The parameters of a message with this text.
pub fn say(text: &str) -> Value {
    json!({"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": text}]}})
}

/// What is logged on this thread.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Collects what is logged on this thread for as long as the guard lives.
    pub fn collect() -> (Self, tracing::subscriber::DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .without_time()
            .with_max_level(tracing::Level::INFO)
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// The lines that say that something failed.
    pub fn errors(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with("ERROR"));
        lines.map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
