//! The agent that the official conformance kits are run against. What it does is keyed on the
//! prefix of the message's id, as the kit sends it, or of the first part's text, as the kit's
//! successor does (requirements a2a.md §2.3, §2.4).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tradepost_wire::a2a::card::{self as model, AgentCard, Capabilities, Skill};
use tradepost_wire::a2a::error::{Code, Refusal};
use tradepost_wire::a2a::{
    Artifact, Capability, Content, Message, Part, Request, Role, SendMessage, TaskState,
};

use crate::aap::card::{self, PublishedCard};
use crate::auth::{Authenticator, Principal};
use crate::clock::Clock;
use crate::config::Auth;
use crate::desk::{Answer, Incoming};
use crate::egress::{Egress, Resolver};
use crate::fault::Fault;
use crate::gate::Scopes;
use crate::outbox::sender::HttpSender;
use crate::outbox::{Edge, Outbox, Settings};
use crate::signing::{self, key::SigningKey};
use crate::store::{Owner, Store};
use crate::tasks::{Ended, Outcome, Plan, Progress, Tasks, Webhooks};

mod extended;
mod profile;

pub use profile::{ExtendedCard, Extension, Profile};

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
    tasks: Arc<Tasks>,
    webhooks: Webhooks,
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
        clock: &Clock,
        base_url: &str,
    ) -> Result<Self, Fault> {
        let describe = |id: &str| describe(profile, base_url, id);
        let card = card::publish_with(describe, |hash| {
            store.card_identity(Self::ID, hash, uuid::Uuid::now_v7().to_string(), clock.now())
        })?;
        let tasks = Tasks::open(Arc::clone(store), clock.clone(), Self::ID)?;
        let auth = Authenticator::open(Self::ID, policy(profile), store, clock)?;
        let auth = auth.with_tokens(tokens());
        let base_url = base_url.to_owned();
        let egress = Egress::new(Resolver::system(), false);
        let webhooks = Webhooks::new(Arc::clone(&tasks), egress.clone());
        let (key, lenient) = (None, false);
        Ok(Self { card, profile, base_url, key, lenient, tasks, webhooks, egress, auth })
    }

    /// The same agent, with webhooks that go where `egress` permits.
    #[must_use]
    pub fn calling(self, egress: Egress) -> Self {
        let webhooks = Webhooks::new(Arc::clone(&self.tasks), egress.clone());
        Self { webhooks, egress, ..self }
    }

    /// What delivers to its webhooks, if it has any. One of it is to run.
    #[must_use]
    pub fn outbox(&self, settings: Settings, edge: Edge) -> Option<Arc<Outbox>> {
        if !self.has(Capability::Push) {
            return None;
        }
        let sender = Arc::new(HttpSender::new(self.egress.apart(), settings.timeout));
        let tasks = Arc::clone(&self.tasks);
        Some(Arc::new(Outbox::new(Self::ID, tasks, sender, edge, settings)))
    }

    /// Takes over what other processes have changed.
    pub fn refresh(&self) {
        self.auth.tidy();
        // Somebody may have taken a webhook on again.
        self.tasks.stir();
    }

    /// The same agent, with its cards signed.
    ///
    /// # Errors
    /// When the card cannot be signed.
    pub fn signed(self, key: SigningKey, signed_at: jiff::Timestamp) -> Result<Self, Fault> {
        let card = self.card.sign(&key, None, signed_at).map_err(|problems| {
            Fault::new("signing the agent card", signing::describe(&problems).join("; "))
        })?;
        Ok(Self { card, key: Some(key), ..self })
    }

    /// The same agent, for clients that name no version of the protocol (§1.5 row 10).
    #[must_use]
    pub fn lenient(self) -> Self {
        Self { lenient: true, ..self }
    }

    /// Whether a request without a protocol version is refused (V-04).
    #[must_use]
    pub fn requires_version(&self) -> bool {
        !self.lenient
    }

    /// Ends every stream; see [`Tasks::close_streams`].
    pub fn close_streams(&self) {
        self.tasks.close_streams();
    }

    /// How many tasks are worked on or followed.
    #[must_use]
    pub fn live_tasks(&self) -> usize {
        self.tasks.live()
    }

    /// Whether it can.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.profile.has(capability)
    }

    /// The extension of its card.
    #[must_use]
    pub fn extension(&self) -> Extension {
        self.profile.extension()
    }

    /// Performs a request.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn perform(&self, incoming: Incoming<'_>) -> Outcome<Answer> {
        let principal = incoming.caller.principal.name.clone();
        let owner = Owner { agent_id: Self::ID.to_owned(), principal };
        match incoming.request {
            Request::SendMessage(send) => self.send(&owner, send, false).await,
            Request::SendStreamingMessage(send) => self.send(&owner, send, true).await,
            Request::GetTask { id, history_length } => {
                Ok(self.tasks.get(&owner, &id, history_length).await?.map(Answer::Task))
            }
            Request::ListTasks(query) => {
                Ok(self.tasks.list(&owner, query).await?.map(Answer::Tasks))
            }
            Request::CancelTask { id } => {
                Ok(self.tasks.cancel(&owner, &id).await?.map(Answer::Task))
            }
            Request::SubscribeToTask { id } => {
                let stream = self.tasks.subscribe(&owner, &id, incoming.resume_after).await?;
                Ok(stream.map(Answer::Stream))
            }
            Request::CreatePushConfig(config) => {
                Ok(self.webhooks.create(&owner, config).await?.map(Answer::PushConfig))
            }
            Request::GetPushConfig { task_id, id } => {
                Ok(self.webhooks.get(&owner, &task_id, &id)?.map(Answer::PushConfig))
            }
            Request::ListPushConfigs { task_id, page_size, page_token } => {
                let page =
                    self.webhooks.list(&owner, &task_id, page_size, page_token.as_deref())?;
                Ok(page.map(Answer::PushConfigs))
            }
            Request::DeletePushConfig { task_id, id } => {
                let deleted = self.webhooks.delete(&owner, &task_id, &id).await?;
                Ok(deleted.map(|()| Answer::Done))
            }
            Request::GetExtendedAgentCard => self.extended_card(&incoming.caller.principal),
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

    async fn send(&self, owner: &Owner, send: SendMessage, streams: bool) -> Outcome<Answer> {
        let message = &send.message;
        let unreadable = message.parts.iter().any(|part| {
            part.media_type.as_deref().is_some_and(|kind| kind.starts_with("application/x-"))
        });
        if unreadable {
            let message = "a part has a media type that this agent cannot read";
            return Ok(Err(Refusal::new(Code::ContentTypeNotSupported, message)));
        }
        let webhook = match self.webhooks.of_message(&send) {
            Ok(webhook) => webhook,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let continues = match self.tasks.addressed(owner, message)? {
            Ok(continues) => continues,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(webhook) = &webhook
            && let Err(refusal) = self.webhooks.admit(owner, continues.as_ref(), webhook).await?
        {
            return Ok(Err(refusal));
        }
        let scenario = match (named(message), &continues) {
            (Some(scenario), _) => scenario,
            (None, Some(row)) => self.next_turn(owner, &row.task_id, message).await?,
            (None, None) => Scenario::Complete(None),
        };
        let work = match plan(scenario) {
            Plan::Work(work) => work,
            Plan::Answer(parts) => {
                let answer = answer(message, parts);
                return Ok(Ok(if streams {
                    Answer::MessageStream(answer)
                } else {
                    Answer::Message(answer)
                }));
            }
        };
        let begun = match self.tasks.begin(owner, continues, message, webhook, work).await? {
            Ok(begun) => begun,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if streams {
            let stream = self.tasks.stream_begun(owner, &begun, send.history_length).await?;
            return Ok(Ok(Answer::Stream(stream)));
        }
        let task = if send.return_immediately {
            self.tasks.get(owner, &begun.task_id, send.history_length).await?
        } else {
            self.tasks.settled(owner, &begun, send.history_length).await?
        };
        Ok(task.map(Answer::Begun))
    }

    /// What a message means that continues a task and names no scenario of its own: a task of
    /// several turns ends when it hears that it is done, and any other does with its answer.
    async fn next_turn(
        &self,
        owner: &Owner,
        task_id: &str,
        message: &Message,
    ) -> Result<Scenario, Fault> {
        let task = self.tasks.get(owner, task_id, None).await?.ok();
        let first = task.as_ref().and_then(|task| task.history.as_ref()?.first());
        let done = text(message).is_some_and(|text| text.starts_with("done"));
        Ok(match first.and_then(named) {
            Some(Scenario::MultiTurn) if !done => Scenario::MultiTurn,
            Some(_) | None => Scenario::Complete(None),
        })
    }
}

fn answer(question: &Message, parts: Vec<Part>) -> Message {
    let fresh = || uuid::Uuid::now_v7().to_string();
    Message {
        message_id: fresh(),
        context_id: Some(question.context_id.clone().unwrap_or_else(fresh)),
        task_id: None,
        role: Role::Agent,
        parts,
        metadata: None,
        extensions: Vec::new(),
        reference_task_ids: Vec::new(),
    }
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
    Work(Duration),
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
    ("tck-long-running", Scenario::Work(LONG)),
    ("test-resubscribe-message-id", Scenario::Work(LONG)),
    ("tck-cancel", Scenario::Work(PATIENT)),
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

/// The text of a message's first part.
fn text(message: &Message) -> Option<&str> {
    message.parts.first().and_then(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Raw(_) | Content::Url(_) | Content::Data(_) => None,
    })
}

/// The scenario that a message names.
fn named(message: &Message) -> Option<Scenario> {
    let find = |name: &str| {
        let found = SCENARIOS.iter().find(|(prefix, _)| name.starts_with(prefix));
        found.map(|(_, scenario)| *scenario)
    };
    find(&message.message_id).or_else(|| find(text(message)?))
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
    use TaskState::{AuthRequired, Completed, InputRequired, Rejected, Working};
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
        Scenario::Work(time) => {
            let begun = progress.status(Working, None).await;
            tokio::time::sleep(time).await;
            match begun {
                Ok(()) => progress.status(Completed, HELLO).await,
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
    Artifact {
        artifact_id: "artifact-1".to_owned(),
        name: None,
        description: None,
        parts,
        metadata: None,
        extensions: Vec::new(),
    }
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
        supported_interfaces: [
            card::interfaces(base_url, true),
            vec![card::grpc_interface(base_url)],
        ]
        .concat(),
        capabilities: Capabilities {
            streaming: profile.has(Capability::Streaming),
            push_notifications: profile.has(Capability::Push),
            extended_agent_card: profile.has(Capability::ExtendedCard),
            extensions: vec![extension],
        },
        default_input_modes: vec!["text/plain".to_owned(), "application/json".to_owned()],
        default_output_modes: vec!["text/plain".to_owned(), "application/json".to_owned()],
        skills: vec![Skill {
            id: "conformance".to_owned(),
            name: "Conformance".to_owned(),
            description: "Does what the prefix of the message's id asks for.".to_owned(),
            tags: vec!["conformance".to_owned(), "test".to_owned()],
            input_modes: vec!["text/plain".to_owned()],
            output_modes: vec!["text/plain".to_owned()],
        }],
        documentation_url: None,
        security_requirements: card::requirements(&policy(profile)),
        security_schemes: card::schemes(&policy(profile)),
    }
}
