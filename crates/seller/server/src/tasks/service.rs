//! Task operations for agents that turn messages into tasks: the agent decides about each message,
//! and this service implements the rest of A2A.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::request::RequestedPage;
use tradepost_a2a::{A2aRequest, Message, Part, SendMessage, Task};

use super::log::{TaskLog, TaskOwner, TaskRow};
use super::{
    Beginning, StartedTask, TaskEnded, TaskError, TaskMessage, TaskProgress, TaskWork, Tasks,
    Webhooks, replay,
};
use crate::agent::{self, AgentAnswer, AgentRequest, Caller, PageTokens};
use crate::clock::Clock;
use crate::egress::{Egress, Resolver};
use crate::fault::InternalError;
use crate::memory::MemoryStore;
use crate::metrics::Metrics;
use crate::panics;

/// Decision of an agent about a message.
pub enum MessagePlan {
    /// Answers at once, without a task.
    Answer(Vec<Part>),
    /// Starts work on a task.
    Work(TaskWork),
}

impl MessagePlan {
    /// Creates work that ends after it has reported a paused or final state, or when the task has
    /// ended without it.
    pub fn work<F>(work: impl FnOnce(TaskProgress) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), TaskEnded>> + Send + 'static,
    {
        Self::Work(Box::new(move |progress| {
            Box::pin(async move {
                // A cancellation meanwhile is no error.
                let _: Result<(), TaskEnded> = work(progress).await;
                Ok(())
            })
        }))
    }
}

/// The tasks of an agent and their webhooks.
#[derive(Debug)]
pub struct TaskService {
    agent_id: String,
    tasks: Arc<Tasks>,
    webhooks: Webhooks,
    records_once: bool,
}

/// How a message is answered.
struct SendCall<'a> {
    owner: TaskOwner,
    streams: bool,
    /// True when the same message again gets the same task.
    is_once: bool,
    cancellation: CancellationToken,
    metrics: &'a Arc<Metrics>,
}

impl TaskService {
    /// Opens an agent's tasks in a log, with webhooks at public addresses.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub fn open(
        log: Arc<dyn TaskLog>,
        clock: Clock,
        agent_id: &str,
    ) -> Result<Self, InternalError> {
        let tasks = Tasks::open(log, clock, agent_id)?;
        Ok(Self::new(agent_id, tasks, Egress::new(Resolver::system(), false)))
    }

    /// Sets the guard for webhooks.
    #[must_use]
    pub fn calling(self, egress: Egress) -> Self {
        let records_once = self.records_once;
        Self { records_once, ..Self::new(&self.agent_id, self.tasks, egress) }
    }

    /// Gives a message that a caller repeats the task of the first: the same `messageId` with the same content gets the
    /// same task, without another decision, and with another content it is refused. A message that was answered without
    /// a task is decided again.
    ///
    /// Ids are compared among the messages that begin tasks, and among those of one task.
    ///
    /// Messages of callers without a credential are not compared: those callers have one name, and ids of two clients
    /// may be the same by chance.
    #[must_use]
    pub fn recording_once(self) -> Self {
        Self { records_once: true, ..self }
    }

    fn new(agent_id: &str, tasks: Arc<Tasks>, egress: Egress) -> Self {
        let webhooks = Webhooks::new(Arc::clone(&tasks), egress);
        Self { agent_id: agent_id.to_owned(), tasks, webhooks, records_once: false }
    }

    /// Returns the tasks.
    #[must_use]
    pub fn tasks(&self) -> &Arc<Tasks> {
        &self.tasks
    }

    /// Creates an agent's tasks in memory, with the machine's clock.
    ///
    /// # Errors
    /// When the machine has no random source.
    pub fn new_in_memory(agent_id: &str) -> Result<Self, InternalError> {
        Self::open(Arc::new(MemoryStore::default()), Clock::system(), agent_id)
    }

    fn owner(&self, caller: &Caller) -> TaskOwner {
        let principal = caller.principal.name.clone();
        TaskOwner { agent_id: self.agent_id.clone(), principal }
    }

    /// Performs a request, for [`Agent::perform`](crate::agent::Agent::perform); see
    /// [`Self::answer`].
    pub fn perform<'a>(
        &'a self,
        incoming: AgentRequest<'a>,
        plan: impl FnOnce(&Message, Option<&Task>) -> Result<MessagePlan, A2aRefusal> + Send + 'a,
    ) -> BoxFuture<'a, agent::AgentOutcome> {
        Box::pin(async move { self.answer(incoming, plan).await.into() })
    }

    /// Performs a request. `plan` decides about a message, with the task that it continues. The
    /// extended card is not handled here.
    ///
    /// # Errors
    /// When the request is refused, or the log cannot be read or written.
    pub async fn answer(
        &self,
        incoming: AgentRequest<'_>,
        plan: impl FnOnce(&Message, Option<&Task>) -> Result<MessagePlan, A2aRefusal> + Send,
    ) -> Result<AgentAnswer, TaskError> {
        let owner = &self.owner(incoming.caller);
        let tasks = &self.tasks;
        let webhooks = &self.webhooks;
        let call = |streams| SendCall {
            owner: owner.clone(),
            streams,
            is_once: self.records_once && !incoming.caller.principal.is_anonymous(),
            cancellation: incoming.cancellation.clone(),
            metrics: incoming.metrics,
        };
        Ok(match incoming.request {
            A2aRequest::SendMessage(send) => self.send(call(false), send, plan).await?,
            A2aRequest::SendStreamingMessage(send) => self.send(call(true), send, plan).await?,
            A2aRequest::GetTask { id, history_length } => {
                AgentAnswer::Task(tasks.get(owner, &id, history_length).await?)
            }
            A2aRequest::ListTasks(query) => AgentAnswer::Tasks(tasks.list(owner, query).await?),
            A2aRequest::CancelTask { id } => AgentAnswer::Task(tasks.cancel(owner, &id).await?),
            A2aRequest::SubscribeToTask { id } => {
                AgentAnswer::Stream(tasks.subscribe(owner, &id, incoming.resume_after).await?)
            }
            A2aRequest::CreatePushConfig(config) => {
                AgentAnswer::PushConfig(webhooks.create(owner, config).await?)
            }
            A2aRequest::GetPushConfig { task_id, id } => {
                AgentAnswer::PushConfig(webhooks.get(owner, &task_id, &id)?)
            }
            A2aRequest::ListPushConfigs { task_id, page_size, page_token } => {
                let page = webhooks.list(owner, &task_id, page_size, page_token.as_deref())?;
                AgentAnswer::PushConfigs(page)
            }
            A2aRequest::DeletePushConfig { task_id, id } => {
                webhooks.delete(owner, &task_id, &id).await?;
                AgentAnswer::Done
            }
            A2aRequest::GetExtendedAgentCard => {
                let code = A2aCode::ExtendedAgentCardNotConfigured;
                return Err(A2aRefusal::new(code, code.title()).into());
            }
        })
    }

    /// Performs `SendMessage`, with or without a stream.
    async fn send(
        &self,
        call: SendCall<'_>,
        send: SendMessage,
        plan: impl FnOnce(&Message, Option<&Task>) -> Result<MessagePlan, A2aRefusal> + Send,
    ) -> Result<AgentAnswer, TaskError> {
        let message = &send.message;
        let owner = &call.owner;
        let webhook = self.webhooks.of_message(&send)?;
        // Before the task is looked at, which may have ended since the first time.
        if call.is_once
            && let Some(row) = self.tasks.repeated(owner, message).await?
        {
            return self.answer_again(&call, &send, row).await;
        }
        let continues = self.tasks.addressed(owner, message)?;
        // After all checks that need no network.
        if let Some(webhook) = &webhook {
            self.webhooks.admit(owner, continues.as_ref(), webhook).await?;
        }
        let earlier = match &continues {
            Some(row) => match self.tasks.get(owner, &row.task_id, None).await {
                Ok(task) => Some(task),
                Err(TaskError::Refused(_)) => None,
                Err(broken) => return Err(broken),
            },
            None => None,
        };
        let work = match plan(message, earlier.as_ref())? {
            MessagePlan::Work(work) => self.counted(Arc::clone(call.metrics), work),
            MessagePlan::Answer(parts) => {
                // Without a task, a webhook would get nothing.
                let reply = reply(message, parts);
                let answer =
                    if call.streams { AgentAnswer::MessageStream } else { AgentAnswer::Message };
                return Ok(answer(reply));
            }
        };
        let cancellation = call.cancellation.clone();
        let sent = TaskMessage { message, webhook, is_once: call.is_once, cancellation };
        match self.tasks.begin(owner, continues, sent, work).await? {
            Beginning::Started(begun) => self.answer_begun(&call, &send, begun).await,
            // The same message has arrived at the same time.
            Beginning::Repeated => match self.tasks.repeated(owner, message).await? {
                Some(row) => self.answer_again(&call, &send, row).await,
                None => {
                    let fault = InternalError::new("beginning a task", "its id is taken");
                    Err(fault.transient().into())
                }
            },
        }
    }

    /// Answers a message that was sent before with its task as it is now.
    async fn answer_again(
        &self,
        call: &SendCall<'_>,
        send: &SendMessage,
        row: TaskRow,
    ) -> Result<AgentAnswer, TaskError> {
        let begun = StartedTask { task_id: row.task_id, seq: row.last_seq };
        self.answer_begun(call, send, begun).await
    }

    /// Answers with a task that has begun: as a stream, at once, or when it settles.
    async fn answer_begun(
        &self,
        call: &SendCall<'_>,
        send: &SendMessage,
        begun: StartedTask,
    ) -> Result<AgentAnswer, TaskError> {
        let owner = &call.owner;
        if call.streams {
            let stream = self.tasks.stream_begun(owner, &begun, send.history_length).await?;
            return Ok(AgentAnswer::Stream(stream));
        }
        let task = if send.return_immediately {
            self.tasks.get(owner, &begun.task_id, send.history_length).await?
        } else {
            self.tasks.settled(owner, &begun, send.history_length).await?
        };
        Ok(AgentAnswer::Begun(task))
    }

    /// Wraps work so that a panic is counted and fails the task.
    fn counted(&self, metrics: Arc<Metrics>, work: TaskWork) -> TaskWork {
        let agent_id = self.agent_id.clone();
        Box::new(move |progress| {
            Box::pin(async move {
                // Inside the guard, because the closure may panic before it returns its future.
                let worked = panics::catch("working on a task", async { work(progress).await });
                worked.await.unwrap_or_else(|fault| {
                    metrics.count_panic(&agent_id);
                    Err(fault)
                })
            })
        })
    }
}

impl PageTokens for TaskService {
    fn is_known(&self, caller: &Caller, page: &RequestedPage) -> bool {
        self.tasks.cursors.is_known(&self.owner(caller), page)
    }
}

fn reply(question: &Message, parts: Vec<Part>) -> Message {
    let new_id = || uuid::Uuid::now_v7().to_string();
    replay::by_agent(question.context_id.clone().unwrap_or_else(new_id), None, parts)
}
