//! An agent from its parts: card, authentication, tasks, and a function that decides about each message. An agent that
//! needs more implements [`Agent`] itself.

use std::fmt;
use std::sync::Arc;

use tradepost_a2a::card::AgentCard;
use tradepost_a2a::error::A2aRefusal;
use tradepost_a2a::{Message, Task};

use super::{Agent, AgentOutcome, AgentRequest, BoxFuture, CallContext, PageTokens};
use crate::auth::Authenticator;
use crate::auth::agreement::{CardDisagreements, check_card};
use crate::card::{self, PublishedCard};
use crate::clock::Clock;
use crate::egress::Egress;
use crate::fault::InternalError;
use crate::memory::MemoryStore;
use crate::tasks::log::TaskLog;
use crate::tasks::{MessagePlan, TaskService};

/// A message that an agent decides about.
#[derive(Debug)]
#[non_exhaustive]
pub struct MessageCall<'a> {
    /// The message.
    pub message: &'a Message,
    /// The task that it continues, if any.
    pub task: Option<&'a Task>,
    /// What is known of the call beside it.
    pub context: &'a CallContext,
}

/// Decides about a message.
type Decision = dyn Fn(MessageCall<'_>) -> Result<MessagePlan, A2aRefusal> + Send + Sync + 'static;

/// Reason why an agent could not be built.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The card names other security schemes or requirements than the authentication.
    #[error(transparent)]
    Card(#[from] CardDisagreements),
    /// The authentication is that of an agent with another id.
    #[error(
        "the agent has the id {agent}, and its authentication is that of {auth}; use one id for both"
    )]
    OtherId {
        /// Id of the agent.
        agent: String,
        /// Id of the agent of the authentication.
        auth: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] InternalError),
}

/// Builds an agent.
///
/// ```
/// use std::sync::Arc;
///
/// use tradepost_server::agent::AgentBuilder;
/// use tradepost_server::auth::methods::BearerTokens;
/// use tradepost_server::auth::Principal;
/// use tradepost_server::permission::Scopes;
/// use tradepost_server::prelude::*;
///
/// let tokens = BearerTokens::new().allow("secret", Principal::new("acme", Scopes::All));
/// let card = card::describe("Echo", "Says what it hears.", "http://127.0.0.1:8080");
/// let agent = AgentBuilder::new("echo", card)
///     .with_auth(Authenticator::with_required_method("echo", tokens))
///     .with_max_file_bytes(64 * 1024)
///     .build(|call| {
///         let said = call.message.text().unwrap_or_default();
///         let name = &call.context.caller.principal.name;
///         Ok(MessagePlan::Answer(vec![Part::text(format!("{name} says {said}"))]))
///     })?;
/// let agents = AgentRegistry::from_agent(Arc::new(agent));
/// # Ok::<(), tradepost_server::agent::AgentError>(())
/// ```
#[derive(Debug)]
pub struct AgentBuilder {
    id: String,
    card: AgentCard,
    auth: Option<Authenticator>,
    clock: Clock,
    log: Option<Arc<dyn TaskLog>>,
    egress: Option<Egress>,
    max_file_bytes: Option<usize>,
    is_older: bool,
    detects_repeats: bool,
}

impl AgentBuilder {
    /// Creates an agent with an id and a card, which accepts every caller and keeps its tasks in memory. The id is the
    /// owner of its tasks in a store, and its name in the log.
    #[must_use]
    pub fn new(id: &str, card: AgentCard) -> Self {
        Self {
            id: id.to_owned(),
            card,
            auth: None,
            clock: Clock::system(),
            log: None,
            egress: None,
            max_file_bytes: None,
            is_older: false,
            detects_repeats: true,
        }
    }

    /// Sets the authentication of callers, whose agent id has to be that of the agent. A card without security schemes
    /// and requirements gets those of the authentication.
    #[must_use]
    pub fn with_auth(self, auth: Authenticator) -> Self {
        Self { auth: Some(auth), ..self }
    }

    /// Sets the store of tasks and webhooks.
    #[must_use]
    pub fn with_store(self, log: Arc<dyn TaskLog>) -> Self {
        Self { log: Some(log), ..self }
    }

    /// Sets the clock.
    #[must_use]
    pub fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Sets the guard for webhooks. Without it webhooks have to be at public addresses.
    #[must_use]
    pub fn with_egress(self, egress: Egress) -> Self {
        Self { egress: Some(egress), ..self }
    }

    /// Sets the maximum size of a file in a message, in bytes after decoding.
    #[must_use]
    pub fn with_max_file_bytes(self, bytes: usize) -> Self {
        Self { max_file_bytes: Some(bytes), ..self }
    }

    /// Accepts clients of A2A 0.3 as well, over JSON-RPC.
    #[must_use]
    pub fn with_older_release(self) -> Self {
        Self { is_older: true, ..self }
    }

    /// Treats each message as a new one, for clients that use a `messageId` more than once. A message that is sent again
    /// because its answer was lost begins another task then.
    #[must_use]
    pub fn without_repeat_detection(self) -> Self {
        Self { detects_repeats: false, ..self }
    }

    /// Builds the agent with a function that decides about each message. A message that an authenticated caller repeats
    /// gets the task of the first ([`TaskService::recording_once`]), and the function does not see it again, unless
    /// [`Self::without_repeat_detection`] was called.
    ///
    /// # Errors
    /// Fails when the card and the authentication disagree, and names every difference. Fails when the authentication
    /// is that of an agent with another id. Fails when the store cannot be used.
    pub fn build(
        self,
        decide: impl Fn(MessageCall<'_>) -> Result<MessagePlan, A2aRefusal> + Send + Sync + 'static,
    ) -> Result<BuiltAgent, AgentError> {
        let Self {
            id,
            mut card,
            auth,
            clock,
            log,
            egress,
            max_file_bytes,
            is_older,
            detects_repeats,
        } = self;
        let auth = auth.unwrap_or_else(|| Authenticator::open_to_all(&id));
        if auth.agent_id() != id {
            return Err(AgentError::OtherId { agent: id, auth: auth.agent_id().to_owned() });
        }
        if card.security_schemes.is_empty() && card.security_requirements.is_empty() {
            card.security_schemes = auth.schemes();
            card.security_requirements = auth.requirements();
        }
        let now = clock.now();
        let card = match is_older {
            true => PublishedCard::from_card(&card::for_both_releases(card), now),
            false => PublishedCard::from_card(&card, now),
        };
        check_card(&card, &auth)?;
        let log = log.unwrap_or_else(|| Arc::new(MemoryStore::default()));
        let mut tasks = TaskService::open(log, clock, &id)?;
        if detects_repeats {
            tasks = tasks.recording_once();
        }
        if let Some(egress) = egress {
            tasks = tasks.calling(egress);
        }
        Ok(BuiltAgent { id, card, auth, tasks, max_file_bytes, decide: Box::new(decide) })
    }
}

/// An agent that an [`AgentBuilder`] has built.
pub struct BuiltAgent {
    id: String,
    card: PublishedCard,
    auth: Authenticator,
    tasks: TaskService,
    max_file_bytes: Option<usize>,
    decide: Box<Decision>,
}

impl BuiltAgent {
    /// Returns the tasks, for an [`Outbox`](crate::outbox::Outbox) that calls their webhooks.
    #[must_use]
    pub fn tasks(&self) -> &TaskService {
        &self.tasks
    }
}

impl fmt::Debug for BuiltAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BuiltAgent").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Agent for BuiltAgent {
    fn id(&self) -> &str {
        &self.id
    }

    fn card(&self) -> &PublishedCard {
        &self.card
    }

    fn auth(&self) -> &Authenticator {
        &self.auth
    }

    fn perform<'a>(&'a self, incoming: AgentRequest<'a>) -> BoxFuture<'a, AgentOutcome> {
        let context = incoming.context();
        self.tasks.perform(incoming, move |message, task| {
            (self.decide)(MessageCall { message, task, context: &context })
        })
    }

    fn max_file_bytes(&self) -> Option<usize> {
        self.max_file_bytes
    }

    fn page_tokens(&self) -> Option<&dyn PageTokens> {
        Some(&self.tasks)
    }

    fn close_streams(&self) {
        self.tasks.tasks().close_streams();
    }
}
