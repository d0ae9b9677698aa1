//! Conversations with recovery: sends a message and follows the resulting task until it is settled, the time
//! is up or the caller stops. A failure on the way does not lose what is already known of the task.

use std::borrow::Cow;
use std::time::Duration;

use tradepost_a2a::error::A2aCode;
use tradepost_document::backoff::{Backoff, drawn};
use tradepost_document::json::Map;

use super::{AgentClient, AgentReply, AgentTask, Outgoing, TaskEventStream, named};
use crate::binding::{BindingItem, Method};
use crate::card_reader::follow_move;
use crate::client::{seller_of, uuid};
use crate::failure::{CallFailure, KeptResponse};
use crate::recovery::{FailedAttempt, ResendEffect};
use crate::refusal::RefusalForm;
use crate::retry::{GaveUp, IntentSender, Recoverer, RequestKey, RetryClock, Spending};

/// Pauses between two polls of a task.
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(10) };

/// Settings for following a task.
#[derive(Debug)]
pub struct Follower<'r, W> {
    /// Recovery from failures on the way, and the clock.
    pub recoverer: &'r Recoverer<W>,
    /// Time for which a task is followed.
    pub patience: Duration,
}

/// Last answer of an agent, and why it was not followed further.
#[derive(Debug)]
pub struct Followed {
    /// Answer.
    pub reply: AgentReply,
    /// Reason for the end.
    pub end: FollowEnd,
    /// Requests and waiting time that it took to get the first answer.
    pub spent: Spending,
}

/// Reason why an answer is not followed further.
#[derive(Debug)]
pub enum FollowEnd {
    /// Nothing more will happen unless the caller acts.
    Settled,
    /// The time is up; the task goes on.
    TimeUp,
    /// The caller stopped; the task goes on.
    Stopped,
    /// The task cannot be read any more; the last failure and its advice.
    Lost(Box<GaveUp>),
}

impl AgentClient {
    /// Sends a message and follows the resulting task. Calls `watch` with the task after each change.
    ///
    /// # Errors
    /// When there was no answer at all; `doubt` lists the requests that may have acted.
    pub async fn converse<W: RetryClock>(
        &self,
        outgoing: &Outgoing,
        follower: &Follower<'_, W>,
        mut watch: impl FnMut(&AgentTask) + Send,
    ) -> Result<Followed, Box<GaveUp>> {
        let params = self.sending(outgoing, &uuid(&self.ids));
        let timeout = follower.patience;
        let streaming = self.streaming;
        let client = Cow::Borrowed(self);
        let mut message_sender =
            MessageSender { client, outgoing, params, timeout, streaming, begun: false };
        let attempt = FailedAttempt {
            had_context: outgoing.context_id.is_some(),
            ..self.attempt(ResendEffect::Unkeyed)
        };
        let seller = seller_of(&self.binding.endpoint);
        let recovered = follower.recoverer.run(&seller, attempt, &mut message_sender).await?;
        let spent = recovered.spent;
        let (reply, stream) = recovered.answer;
        let client = message_sender.client;
        Ok(match reply {
            AgentReply::Message(_) => Followed { reply, end: FollowEnd::Settled, spent },
            AgentReply::Task(task) => {
                watch(&task);
                let (task, end) = client.follow_until_settled(task, stream, follower, watch).await;
                Followed { reply: AgentReply::Task(task), end, spent }
            }
        })
    }

    /// Follows an existing task.
    ///
    /// # Errors
    /// When the task cannot be read even once.
    pub async fn follow<W: RetryClock>(
        &self,
        task_id: &str,
        follower: &Follower<'_, W>,
        mut watch: impl FnMut(&AgentTask) + Send,
    ) -> Result<Followed, Box<GaveUp>> {
        let seller = seller_of(&self.binding.endpoint);
        let mut task_reader = TaskReader { client: Cow::Borrowed(self), task_id };
        let attempt = self.attempt(ResendEffect::Read);
        let recovered = follower.recoverer.run(&seller, attempt, &mut task_reader).await?;
        let task = recovered.answer;
        let spent = recovered.spent;
        watch(&task);
        let client = task_reader.client;
        let (task, end) = client.follow_until_settled(task, None, follower, watch).await;
        Ok(Followed { reply: AgentReply::Task(task), end, spent })
    }

    /// Follows a task by its stream; after a stream has ended, polls and subscribes again. Ends when the task is settled,
    /// it cannot be read any more, the time is up, or the program is stopped.
    async fn follow_until_settled<W: RetryClock>(
        &self,
        mut task: AgentTask,
        mut stream: Option<TaskEventStream>,
        follower: &Follower<'_, W>,
        mut watch: impl FnMut(&AgentTask) + Send,
    ) -> (AgentTask, FollowEnd) {
        let recoverer = follower.recoverer;
        let clock = recoverer.clock();
        let begun = clock.now();
        let left = || follower.patience.saturating_sub(clock.now().saturating_sub(begun));
        let seller = seller_of(&self.binding.endpoint);
        let mut streaming = self.streaming;
        let mut pause = PAUSES.after(None);
        loop {
            if let Some(mut open) = stream.take() {
                let before = task.clone();
                if self.read_events(&mut open, &mut task, clock, &left, &mut watch).await {
                    return (task, FollowEnd::Stopped);
                }
                // After a change more may follow soon, so the pauses start again.
                if task != before {
                    pause = PAUSES.after(None);
                }
            }
            if task.is_settled() {
                return (task, FollowEnd::Settled);
            }
            if left().is_zero() {
                return (task, FollowEnd::TimeUp);
            }
            // The end of a stream says nothing about the task, so the task is polled. The pause is up to a
            // quarter longer, because other callers may have started at the same moment.
            let drawn = drawn(pause, pause + pause / 4, clock.draw());
            if recoverer.sleep(drawn.min(left())).await {
                return (task, FollowEnd::Stopped);
            }
            pause = PAUSES.after(Some(pause));
            let id = task.id.clone();
            let mut task_reader = TaskReader { client: Cow::Borrowed(self), task_id: &id };
            match recoverer.run(&seller, self.attempt(ResendEffect::Read), &mut task_reader).await {
                Ok(read) => {
                    if read.answer != task {
                        task = with_artifacts(read.answer, task);
                        watch(&task);
                    }
                }
                Err(gave_up) if gave_up.stopped => return (task, FollowEnd::Stopped),
                Err(gave_up) => return (task, FollowEnd::Lost(gave_up)),
            }
            if streaming && !task.is_settled() && !left().is_zero() {
                let subscribed = self.open(Method::Subscribe, named(&id), left());
                let subscribed = tokio::select! {
                    biased;
                    subscribed = clock.within(left(), subscribed) => subscribed,
                    () = clock.stopped() => return (task, FollowEnd::Stopped),
                };
                match subscribed {
                    Some(Ok((item, opened))) => {
                        task.take(item);
                        watch(&task);
                        stream = opened;
                    }
                    // The task may have ended meanwhile, or the agent does not support it.
                    Some(Err(_)) => streaming = false,
                    None => {}
                }
            }
        }
    }

    /// Reads events until the task is settled, the stream ends, or it is silent for as long as an answer may
    /// take. Returns true when the caller stopped.
    async fn read_events<W: RetryClock>(
        &self,
        stream: &mut TaskEventStream,
        task: &mut AgentTask,
        clock: &W,
        left: &(impl Fn() -> Duration + Sync),
        watch: &mut (impl FnMut(&AgentTask) + Send),
    ) -> bool {
        while !task.is_settled() {
            let time = left().min(self.transport.limits().timeout);
            let next = tokio::select! {
                // An event that has arrived is taken before a stop.
                biased;
                next = clock.within(time, stream.next()) => next,
                () = clock.stopped() => return true,
            };
            let Some(Ok(Some(item))) = next else { break };
            task.take(item);
            watch(task);
        }
        false
    }

    fn attempt(&self, effect: ResendEffect) -> FailedAttempt {
        let has_card = self.card.is_some();
        let attempt = FailedAttempt::with_host(
            self.binding.endpoint.host_str(),
            effect,
            self.token.is_some(),
        );
        FailedAttempt { has_card, ..attempt }
    }
}

/// Keeps the known artifacts when a snapshot leaves them out.
fn with_artifacts(mut read: AgentTask, before: AgentTask) -> AgentTask {
    if read.artifacts.is_empty() {
        read.artifacts = before.artifacts;
    }
    read
}

/// Sender of a message.
struct MessageSender<'c> {
    client: Cow<'c, AgentClient>,
    outgoing: &'c Outgoing,
    params: Map,
    timeout: Duration,
    streaming: bool,
    begun: bool,
}

fn is_not_offered(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let RefusalForm::Protocol(error) = &refused.by else { return false };
    matches!(error.code.known(), Some(A2aCode::MethodNotFound | A2aCode::UnsupportedOperation))
}

impl IntentSender for MessageSender<'_> {
    type Answer = (AgentReply, Option<TaskEventStream>);

    async fn send(&mut self, key: RequestKey) -> Result<Self::Answer, CallFailure> {
        // A corrected message is another one, with its own id.
        if self.begun && key == RequestKey::Fresh {
            self.params = self.client.sending(self.outgoing, &uuid(&self.client.ids));
        }
        self.begun = true;
        if self.streaming {
            let params = self.params.clone();
            match self.client.open(Method::Stream, params, self.timeout).await {
                Ok((item, stream)) => {
                    let defect = |defect| CallFailure::garbled(defect, KeptResponse::default());
                    return Ok((AgentReply::read(item).map_err(defect)?, stream));
                }
                // The card promises a stream that the agent does not have; it has not processed the message.
                Err(failure) if is_not_offered(&failure) => self.streaming = false,
                Err(failure) => return Err(failure),
            }
        }
        let reply = self.client.one(Method::Send, self.params.clone(), AgentReply::read).await?;
        Ok((reply, None))
    }

    async fn read_card(&mut self) -> bool {
        let moved = self.client.moved().await;
        follow_move(&mut self.client, moved)
    }
}

/// Reader of a task.
struct TaskReader<'c> {
    client: Cow<'c, AgentClient>,
    task_id: &'c str,
}

impl IntentSender for TaskReader<'_> {
    type Answer = AgentTask;

    async fn send(&mut self, _: RequestKey) -> Result<AgentTask, CallFailure> {
        let read = |item: BindingItem| AgentTask::read(item);
        self.client.one(Method::Task, named(self.task_id), read).await
    }

    async fn read_card(&mut self) -> bool {
        let moved = self.client.moved().await;
        follow_move(&mut self.client, moved)
    }
}
