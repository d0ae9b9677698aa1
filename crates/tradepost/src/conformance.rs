//! The agent that the official conformance kits are run against. What it does is keyed on the
//! prefix of the message's id, as the kit sends it, or of the first part's text, as the kit's
//! successor does (requirements a2a.md §2.3, §2.4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tradepost_buyer::trust;
use tradepost_keys::private::SigningKey;
use tradepost_server::agent::{self, Agent, Answer, Binding, Incoming};
use tradepost_server::auth::{Auth, Authenticator, Means, Principal};
use tradepost_server::card::{self, PublishedCard};
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::fault::Fault;
use tradepost_server::outbox::sender::HttpSender;
use tradepost_server::outbox::{Edge, Outbox, Settings};
use tradepost_server::permission::{Permission, Scopes};
use tradepost_server::tasks::log::TaskLog;
use tradepost_server::tasks::{Ended, Outcome, Plan, Progress, Service};
use tradepost_store::Store;
use tradepost_wire::a2a::card::{self as model, AgentCard, Capabilities, Skill};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::{
    Artifact, Capability, Content, Message, Operation, Part, Request, SendMessage, Task, TaskState,
};
use tradepost_wire::json::json;

use crate::gate;

mod extended;
mod profile;

pub use profile::{ExtendedCard, Extension, Profile};

/// What the agent reads and writes.
const MEDIA_TYPES: [&str; 2] = ["text/plain", "application/json"];

/// How long the kit's long task works: twice its own patience.
const LONG: Duration = Duration::from_secs(4);

/// How long a task works that is there to be canceled.
const PATIENT: Duration = Duration::from_secs(600);

/// The agent.
#[derive(Debug)]
pub struct Conformance {
    /// Its card.
    pub card: PublishedCard,
    profile: Profile,
    base_url: String,
    key: Option<SigningKey>,
    lenient: bool,
    service: Service,
    egress: Egress,
    /// Lets callers in: those with an API key under its name or a token of the kit, and where the
    /// profile permits it everybody else as nobody.
    pub auth: Authenticator,
}

impl Conformance {
    /// Its id in the store.
    pub const ID: &'static str = "conformance";

    /// Sets the agent up, as reached under `base_url`.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(
        profile: Profile,
        store: &Arc<Store>,
        means: &Means,
        base_url: &str,
    ) -> Result<Self, Fault> {
        let clock = &means.clock;
        let describe = |id: &str| describe(profile, base_url, id);
        let card = PublishedCard::new(describe, |hash| {
            store.card_identity(Self::ID, hash, uuid::Uuid::now_v7().to_string(), clock.now())
        })?;
        let log = Arc::clone(store) as Arc<dyn TaskLog>;
        let auth = Authenticator::open(Self::ID, policy(profile), means)?;
        let auth = auth.with_tokens(tokens());
        let base_url = base_url.to_owned();
        let egress = Egress::new(Resolver::system(), false);
        let service = Service::open(log, clock.clone(), Self::ID)?.calling(egress.clone());
        let (key, lenient) = (None, false);
        Ok(Self { card, profile, base_url, key, lenient, service, egress, auth })
    }

    /// The same agent, with webhooks that go where `egress` permits.
    #[must_use]
    pub fn calling(self, egress: Egress) -> Self {
        let service = self.service.calling(egress.clone());
        Self { service, egress, ..self }
    }

    /// What delivers to its webhooks, if it has any. One of it is to run.
    #[must_use]
    pub fn outbox(&self, settings: Settings, edge: Edge) -> Option<Arc<Outbox>> {
        if !self.has(Capability::Push) {
            return None;
        }
        let sender = Arc::new(HttpSender::new(self.egress.apart(), settings.timeout));
        let tasks = Arc::clone(self.service.tasks());
        Some(Arc::new(Outbox::new(Self::ID, tasks, sender, edge, settings)))
    }

    /// The same agent, with its cards signed.
    ///
    /// # Errors
    /// When the card cannot be signed.
    pub fn signed(self, key: SigningKey, signed_at: jiff::Timestamp) -> Result<Self, Fault> {
        let card = self.card.sign(&key, None, signed_at).map_err(|problems| {
            Fault::new("signing the agent card", trust::describe(&problems).join("; "))
        })?;
        Ok(Self { card, key: Some(key), ..self })
    }

    /// The same agent, for clients that name no version of the protocol (§1.5 row 10).
    #[must_use]
    pub fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    /// How many tasks are worked on or followed.
    #[must_use]
    pub fn live_tasks(&self) -> usize {
        self.service.tasks().live()
    }

    /// Whether it can.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.profile.has(capability)
    }

    async fn answer(&self, incoming: Incoming<'_>) -> Outcome<Answer> {
        match &incoming.request {
            Request::GetExtendedAgentCard => self.extended_card(&incoming.caller.principal),
            Request::SendMessage(send) | Request::SendStreamingMessage(send) => {
                if let Err(refusal) = check_media_types(send) {
                    return Ok(Err(refusal));
                }
                self.service
                    .answer(incoming, |message, task| Ok(plan(scenario(message, task))))
                    .await
            }
            Request::GetTask { .. }
            | Request::ListTasks(_)
            | Request::CancelTask { .. }
            | Request::SubscribeToTask { .. }
            | Request::CreatePushConfig(_)
            | Request::GetPushConfig { .. }
            | Request::ListPushConfigs { .. }
            | Request::DeletePushConfig { .. } => {
                self.service
                    .answer(incoming, |message, task| Ok(plan(scenario(message, task))))
                    .await
            }
        }
    }

    /// The card for a caller that has said who it is; the gate has seen to that.
    fn extended_card(&self, caller: &Principal) -> Outcome<Answer> {
        let missing = |code: Code| Ok(Err(Refusal::new(code, code.title())));
        match self.profile.extended_card() {
            ExtendedCard::Off => missing(Code::UnsupportedOperation),
            ExtendedCard::Unset => missing(Code::ExtendedAgentCardNotConfigured),
            ExtendedCard::Set => {
                let public = describe(self.profile, &self.base_url, &self.card.identity.id);
                let card = extended::card(public, caller, self.key.as_ref())?;
                Ok(Ok(Answer::ExtendedCard(card)))
            }
        }
    }
}

/// What a message means. One that continues a task and names no scenario of its own: a task of
/// several turns ends when it hears that it is done, and any other does with its answer.
fn scenario(message: &Message, task: Option<&Task>) -> Scenario {
    if let Some(scenario) = named(message) {
        return scenario;
    }
    let first = task.and_then(|task| task.history.as_ref()?.first());
    let done = message.text().is_some_and(|text| text.starts_with("done"));
    match first.and_then(named) {
        Some(Scenario::MultiTurn) if !done => Scenario::MultiTurn,
        Some(_) | None => Scenario::Complete(None),
    }
}

impl Agent for Conformance {
    fn id(&self) -> &str {
        Self::ID
    }

    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: Incoming<'a>) -> BoxFuture<'a, agent::Outcome> {
        Box::pin(async move { self.answer(incoming).await.into() })
    }

    fn requires_version(&self) -> bool {
        !self.lenient
    }

    fn required(&self, operation: Operation) -> Option<Permission> {
        Some(gate::of_operation(operation))
    }

    fn refresh(&self) -> Result<(), Fault> {
        self.auth.tidy();
        // Somebody may have taken a webhook on again.
        self.service.tasks().stir();
        Ok(())
    }

    fn close_streams(&self) {
        self.service.tasks().close_streams();
    }
}

/// Whether the agent reads what it gets, and the caller what it would get, by the card's word.
fn check_media_types(send: &SendMessage) -> Result<(), Refusal> {
    let essence =
        |kind: &str| kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let refuse = |message: &str| {
        Err(Refusal::new(Code::ContentTypeNotSupported, message)
            .with("supportedMediaTypes", MEDIA_TYPES.join(", ")))
    };
    // A part without a type is what its member says: text, data, or a file of no type.
    let mut named = send.message.parts.iter().filter_map(|part| part.media_type.as_deref());
    if named.any(|kind| !kind.is_empty() && !MEDIA_TYPES.contains(&essence(kind).as_str())) {
        return refuse("a part has a media type that this agent cannot read");
    }
    let taken = |mode: &String| {
        let mode = essence(mode);
        let family = mode.strip_suffix('*').filter(|family| family.ends_with('/'));
        mode == "*/*"
            || MEDIA_TYPES.iter().any(|kind| *kind == mode)
            || family.is_some_and(|family| MEDIA_TYPES.iter().any(|kind| kind.starts_with(family)))
    };
    let modes = &send.accepted_output_modes;
    if !modes.is_empty() && !modes.iter().any(taken) {
        return refuse("acceptedOutputModes has no media type that this agent writes");
    }
    Ok(())
}

/// What the kits ask for, by prefix; a longer one stands before the shorter one it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scenario {
    Message,
    InputRequired,
    MultiTurn,
    AuthRequired,
    Reject,
    Fail,
    Panic,
    /// Works for a while.
    Work(Duration, Option<Product>),
    Complete(Option<Product>),
    Stream {
        working: bool,
        artifact: Option<Product>,
    },
    Flood(u32),
}

/// What a scenario's artifact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Product {
    Text(&'static str),
    File,
    FileUrl,
    Data,
    Chunks,
}

const SCENARIOS: &[(&str, Scenario)] = &[
    ("tck-complete-task", Scenario::Complete(None)),
    ("tck-message-response", Scenario::Message),
    ("tck-input-required", Scenario::InputRequired),
    ("tck-multi-turn", Scenario::MultiTurn),
    ("tck-auth-required", Scenario::AuthRequired),
    ("tck-reject-task", Scenario::Reject),
    ("tck-task-failure", Scenario::Fail),
    ("tradepost-panic", Scenario::Panic),
    ("tradepost-flood-500", Scenario::Flood(500)),
    ("tradepost-flood-40000", Scenario::Flood(40_000)),
    ("tck-long-running", Scenario::Work(LONG, Some(Product::Text("Long task result")))),
    ("test-resubscribe-message-id", Scenario::Work(LONG, None)),
    ("tck-cancel", Scenario::Work(PATIENT, None)),
    ("tck-artifact-file-url", Scenario::Complete(Some(Product::FileUrl))),
    ("tck-artifact-file", Scenario::Complete(Some(Product::File))),
    ("tck-artifact-data", Scenario::Complete(Some(Product::Data))),
    ("tck-artifact-text", Scenario::Complete(Some(Product::Text("Generated text content")))),
    ("tck-stream-001", streaming("Stream hello from TCK")),
    ("tck-stream-002", Scenario::Stream { working: false, artifact: None }),
    ("tck-stream-003", streaming("Stream task lifecycle")),
    ("tck-stream-ordering-001", streaming("Ordered output")),
    ("tck-stream-basic", streaming("Stream hello from TCK")),
    ("tck-stream-artifact-text", streaming("Streamed text content")),
    ("tck-stream-artifact-file", Scenario::Stream { working: true, artifact: Some(Product::File) }),
    (
        "tck-stream-artifact-chunked",
        Scenario::Stream { working: true, artifact: Some(Product::Chunks) },
    ),
    ("tck-stream-chunked", Scenario::Stream { working: true, artifact: Some(Product::Chunks) }),
];

const fn streaming(text: &'static str) -> Scenario {
    Scenario::Stream { working: true, artifact: Some(Product::Text(text)) }
}

/// The scenario that a message names.
fn named(message: &Message) -> Option<Scenario> {
    let find = |name: &str| {
        let found = SCENARIOS.iter().find(|(prefix, _)| name.starts_with(prefix));
        found.map(|(_, scenario)| *scenario)
    };
    find(&message.message_id).or_else(|| find(message.text()?))
}

fn plan(scenario: Scenario) -> Plan {
    if scenario == Scenario::Message {
        return Plan::Answer(vec![Part::text("Direct message response")]);
    }
    Plan::Work(Box::new(move |progress| {
        Box::pin(async move {
            // That the task was canceled meanwhile is nobody's fault.
            let _: Result<(), Ended> = work(scenario, &progress).await?;
            Ok(())
        })
    }))
}

async fn work(scenario: Scenario, progress: &Progress) -> Result<Result<(), Ended>, Fault> {
    use TaskState::{AuthRequired, InputRequired, Rejected, Working};
    const HELLO: Option<&str> = Some("Hello from TCK");
    Ok(match scenario {
        Scenario::Message => Ok(()),
        Scenario::InputRequired | Scenario::MultiTurn => {
            progress.status(InputRequired, Some("More input is needed")).await
        }
        Scenario::AuthRequired => {
            progress.status(AuthRequired, Some("A credential is needed")).await
        }
        Scenario::Reject => progress.status(Rejected, Some("rejected")).await,
        Scenario::Fail => return Err(Fault::new("working on a task", "the kit asked for it")),
        Scenario::Panic => unreachable!("a test asked for it"),
        Scenario::Work(time, artifact) => {
            let begun = progress.status(Working, None).await;
            tokio::time::sleep(time).await;
            match begun {
                Ok(()) => finish(progress, false, artifact, HELLO).await,
                Err(ended) => Err(ended),
            }
        }
        Scenario::Complete(artifact) => {
            finish(progress, false, artifact, HELLO.filter(|_| artifact.is_none())).await
        }
        Scenario::Stream { working, artifact } => finish(progress, working, artifact, None).await,
        Scenario::Flood(events) => flood(progress, events).await,
    })
}

async fn finish(
    progress: &Progress,
    working: bool,
    artifact: Option<Product>,
    says: Option<&str>,
) -> Result<(), Ended> {
    if working {
        progress.status(TaskState::Working, None).await?;
    }
    match artifact {
        Some(Product::Chunks) => {
            progress.artifact(result(vec![Part::text("chunk-1 ")]), false, false).await?;
            progress.artifact(result(vec![Part::text("chunk-2")]), true, true).await?;
        }
        Some(other) => progress.artifact(result(vec![part(other)]), false, true).await?,
        None => {}
    }
    progress.status(TaskState::Completed, says).await
}

async fn flood(progress: &Progress, events: u32) -> Result<(), Ended> {
    progress.status(TaskState::Working, None).await?;
    for number in 0..events {
        let part = Part::from(Content::Data(json!({"number": number})));
        progress.artifact(result(vec![part]), number > 0, number + 1 == events).await?;
    }
    progress.status(TaskState::Completed, None).await
}

fn result(parts: Vec<Part>) -> Artifact {
    Artifact::new("artifact-1", parts)
}

fn part(result: Product) -> Part {
    let file = |content, media_type: &str| Part {
        content,
        metadata: None,
        filename: Some("output.txt".to_owned()),
        media_type: Some(media_type.to_owned()),
    };
    match result {
        Product::Text(text) => Part::text(text),
        // "Generated file content", in base64.
        Product::File => {
            file(Content::Raw("R2VuZXJhdGVkIGZpbGUgY29udGVudA==".to_owned()), "text/plain")
        }
        Product::FileUrl => {
            file(Content::Url("https://example.com/output.txt".to_owned()), "text/plain")
        }
        Product::Data => Content::Data(json!({"key": "value", "count": 42})).into(),
        Product::Chunks => Part::text("chunk-1 chunk-2"),
    }
}

/// Who has an API key is somebody, and everybody else is nobody in particular.
fn policy(profile: Profile) -> Auth {
    Auth { required: profile.requires_credential(), api_keys: true, ..Auth::default() }
}

/// The credentials that the kit's successor sends: everybody knows them, and what they open is
/// this agent alone (requirements a2a.md §2.4).
fn tokens() -> Vec<(&'static str, Principal)> {
    let caller = |name: &str, scopes| Principal { name: name.to_owned(), scopes };
    vec![
        ("itk-valid-token", caller("itk", Scopes::All)),
        ("itk-insufficient-token", caller("itk-insufficient", Scopes::Only(BTreeSet::new()))),
    ]
}

fn media_types() -> Vec<String> {
    MEDIA_TYPES.map(ToOwned::to_owned).into()
}

fn describe(profile: Profile, base_url: &str, id: &str) -> AgentCard {
    let Extension { uri, required } = profile.extension();
    let extension = model::Extension {
        uri: uri.to_owned(),
        description: "Lets the kit see how extensions are handled.".to_owned(),
        required,
        params: json!({"id": id}),
    };
    AgentCard {
        name: "Tradepost conformance agent".to_owned(),
        description: "Answers the official conformance kits of A2A.".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: None,
        supported_interfaces: card::interfaces(
            base_url,
            &[Binding::JsonRpc, Binding::HttpJson, Binding::Grpc],
        ),
        capabilities: Capabilities {
            streaming: profile.has(Capability::Streaming),
            push_notifications: profile.has(Capability::Push),
            extended_agent_card: profile.has(Capability::ExtendedCard),
            extensions: vec![extension],
        },
        default_input_modes: media_types(),
        default_output_modes: media_types(),
        skills: vec![Skill {
            id: "conformance".to_owned(),
            name: "Conformance".to_owned(),
            description: "Does what the prefix of the message's id asks for.".to_owned(),
            tags: vec!["conformance".to_owned(), "test".to_owned()],
            input_modes: media_types(),
            output_modes: media_types(),
        }],
        documentation_url: None,
        security_requirements: card::requirements(&policy(profile)),
        security_schemes: card::schemes(&policy(profile)),
    }
}
