//! A conversation to its end: what is said is sent with recovery, and the task that comes of it is
//! followed until it is settled, the time is up or somebody stops. What was learned of a task is
//! never lost to a failure on the way.

use std::borrow::Cow;
use std::time::Duration;

use tradepost_wire::a2a::error::A2aCode;
use tradepost_wire::backoff::{Backoff, drawn};
use tradepost_wire::json::Map;

use super::{AgentClient, AgentReply, AgentTask, Outgoing, TaskEventStream, named};
use crate::binding::{BindingItem, Method};
use crate::card_reader::follow_move;
use crate::client::{seller_of, uuid};
use crate::failure::{CallFailure, KeptResponse};
use crate::recovery::{FailedAttempt, ResendEffect};
use crate::refusal::RefusalForm;
use crate::retry::{GaveUp, IntentSender, Recoverer, RequestKey, RetryClock, Spending};

/// The pauses before a task is asked for again.
const PAUSES: Backoff =
    Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(10) };

/// Follows tasks with this recovery.
#[derive(Debug)]
pub struct Follower<'r, W> {
    /// How failures on the way are recovered from, and the time.
    pub recoverer: &'r Recoverer<W>,
    /// How long a task is followed once there is one.
    pub patience: Duration,
}

/// What an agent answered in the end, or as far as it was followed.
#[derive(Debug)]
pub struct Followed {
    /// The answer.
    pub reply: AgentReply,
    /// Why it was followed no further.
    pub end: FollowEnd,
    /// What it took to be heard.
    pub spent: Spending,
}

/// Why an answer is followed no further.
#[derive(Debug)]
pub enum FollowEnd {
    /// Nothing more will happen, unless the caller does something.
    Settled,
    /// The time was up; the task goes on.
    TimeUp,
    /// The caller stopped; the task goes on.
    Stopped,
    /// The agent says no more about it: why, and what to do about that.
    Lost(Box<GaveUp>),
}

impl AgentClient {
    /// Says something and follows what comes of it. `watch` is shown the task whenever something
    /// was said about it.
    ///
    /// # Errors
    /// When there was no answer at all; what the agent may have done is in `doubt`.
    pub async fn converse<W: RetryClock>(
        &self,
        said: &Outgoing,
        follower: &Follower<'_, W>,
        mut watch: impl FnMut(&AgentTask) + Send,
    ) -> Result<Followed, Box<GaveUp>> {
        let params = self.sending(said, &uuid(&self.ids));
        let patience = follower.patience;
        let streaming = self.streaming;
        let client = Cow::Borrowed(self);
        let mut saying = Saying { client, said, params, patience, streaming, begun: false };
        let attempt = FailedAttempt {
            had_context: said.context_id.is_some(),
            ..self.attempt(ResendEffect::Unkeyed)
        };
        let seller = seller_of(&self.binding.endpoint);
        let recovered = follower.recoverer.run(&seller, attempt, &mut saying).await?;
        let spent = recovered.spent;
        let (reply, stream) = recovered.answer;
        let client = saying.client;
        Ok(match reply {
            AgentReply::Message(_) => Followed { reply, end: FollowEnd::Settled, spent },
            AgentReply::Task(task) => {
                watch(&task);
                let (task, end) = client.follow_on(task, stream, follower, watch).await;
                Followed { reply: AgentReply::Task(task), end, spent }
            }
        })
    }

    /// Follows a task that there is already.
    ///
    /// # Errors
    /// When it cannot be read even once.
    pub async fn follow<W: RetryClock>(
        &self,
        task_id: &str,
        follower: &Follower<'_, W>,
        mut watch: impl FnMut(&AgentTask) + Send,
    ) -> Result<Followed, Box<GaveUp>> {
        let seller = seller_of(&self.binding.endpoint);
        let mut asking = Asking { client: Cow::Borrowed(self), task_id };
        let attempt = self.attempt(ResendEffect::Read);
        let recovered = follower.recoverer.run(&seller, attempt, &mut asking).await?;
        let (task, spent) = (recovered.answer, recovered.spent);
        watch(&task);
        let client = asking.client;
        let (task, end) = client.follow_on(task, None, follower, watch).await;
        Ok(Followed { reply: AgentReply::Task(task), end, spent })
    }

    async fn follow_on<W: RetryClock>(
        &self,
        mut task: AgentTask,
        mut stream: Option<TaskEventStream>,
        follower: &Follower<'_, W>,
        mut watch: impl FnMut(&AgentTask) + Send,
    ) -> (AgentTask, FollowEnd) {
        let recoverer = follower.recoverer;
        let world = recoverer.world();
        let begun = world.now();
        let left = || follower.patience.saturating_sub(world.now().saturating_sub(begun));
        let seller = seller_of(&self.binding.endpoint);
        let mut streaming = self.streaming;
        let mut pause = PAUSES.after(None);
        loop {
            if let Some(mut open) = stream.take() {
                let before = task.clone();
                if self.hear_out(&mut open, &mut task, world, &left, &mut watch).await {
                    return (task, FollowEnd::Stopped);
                }
                // Something has happened, so that more may happen soon.
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
            // A stream that ends says nothing about the task; only the task itself does.
            // Up to a quarter longer, because others began when this did.
            let drawn = drawn(pause, pause + pause / 4, world.draw());
            if recoverer.sleep(drawn.min(left())).await {
                return (task, FollowEnd::Stopped);
            }
            pause = PAUSES.after(Some(pause));
            let id = task.id.clone();
            let mut asking = Asking { client: Cow::Borrowed(self), task_id: &id };
            match recoverer.run(&seller, self.attempt(ResendEffect::Read), &mut asking).await {
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
                    subscribed = world.within(left(), subscribed) => subscribed,
                    () = world.stopped() => return (task, FollowEnd::Stopped),
                };
                match subscribed {
                    Some(Ok((item, opened))) => {
                        task.take(item);
                        watch(&task);
                        stream = opened;
                    }
                    // It may have ended meanwhile, or the agent cannot do this.
                    Some(Err(_)) => streaming = false,
                    None => {}
                }
            }
        }
    }

    /// Listens until the task is settled, the stream ends or is silent for as long as an answer
    /// may take.
    async fn hear_out<W: RetryClock>(
        &self,
        stream: &mut TaskEventStream,
        task: &mut AgentTask,
        world: &W,
        left: &(impl Fn() -> Duration + Sync),
        watch: &mut (impl FnMut(&AgentTask) + Send),
    ) -> bool {
        while !task.is_settled() {
            let time = left().min(self.transport.limits().timeout);
            let next = tokio::select! {
                // What has come is taken.
                biased;
                next = world.within(time, stream.next()) => next,
                () = world.stopped() => return true,
            };
            let Some(Ok(Some(item))) = next else { break };
            task.take(item);
            watch(task);
        }
        false
    }

    fn attempt(&self, effect: ResendEffect) -> FailedAttempt {
        let has_card = self.card.is_some();
        let attempt =
            FailedAttempt::at(&self.binding.endpoint, effect, self.authorization.is_some());
        FailedAttempt { has_card, ..attempt }
    }
}

/// A snapshot that has left out the artifacts that are known.
fn with_artifacts(mut read: AgentTask, before: AgentTask) -> AgentTask {
    if read.artifacts.is_empty() {
        read.artifacts = before.artifacts;
    }
    read
}

/// Something is said, once or again.
struct Saying<'c> {
    client: Cow<'c, AgentClient>,
    said: &'c Outgoing,
    params: Map,
    patience: Duration,
    streaming: bool,
    begun: bool,
}

fn is_not_offered(failure: &CallFailure) -> bool {
    let CallFailure::Refused(refused) = failure else { return false };
    let RefusalForm::Protocol(error) = &refused.by else { return false };
    matches!(error.code.known(), Some(A2aCode::MethodNotFound | A2aCode::UnsupportedOperation))
}

impl IntentSender for Saying<'_> {
    type Answer = (AgentReply, Option<TaskEventStream>);

    async fn send(&mut self, key: RequestKey) -> Result<Self::Answer, CallFailure> {
        // What was corrected is another message, with an id of its own.
        if self.begun && key == RequestKey::Fresh {
            self.params = self.client.sending(self.said, &uuid(&self.client.ids));
        }
        self.begun = true;
        if self.streaming {
            let params = self.params.clone();
            match self.client.open(Method::Stream, params, self.patience).await {
                Ok((item, stream)) => {
                    let defect = |defect| CallFailure::garbled(defect, KeptResponse::default());
                    return Ok((AgentReply::read(item).map_err(defect)?, stream));
                }
                // The card promises more than the agent has; it has not looked at the message.
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

/// A task is asked for.
struct Asking<'c> {
    client: Cow<'c, AgentClient>,
    task_id: &'c str,
}

impl IntentSender for Asking<'_> {
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
