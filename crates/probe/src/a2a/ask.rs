//! What the checks of A2A ask in common: a message that does no harm, a task, one that has ended, and
//! what the official kit has agents do.

use tradepost_buyer::text::{WORD, plain};
use tradepost_wire::a2a::Operation;
use tradepost_wire::aap::Skill;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use crate::check::{Verdict, fail, found, not_here, not_here_if, skip};
use crate::reply::Reply;
use crate::run::{Ask, Run};
use crate::shape;

/// The message that asks for as little as can be.
const HELLO: &str = "This is an automated conformance probe. Please answer with one short \
                     sentence and do nothing else.";

impl Run {
    /// A message that the agent should take: a question that changes nothing, to a dealer, and a
    /// greeting to others.
    pub(super) fn message(&mut self, prefix: &str) -> Value {
        let part = match self.harmless_skill() {
            Some(skill) => json!({"data": {"type": skill.request_type()}}),
            None => json!({"text": HELLO}),
        };
        json!({"messageId": self.fresh(prefix), "role": "ROLE_USER", "parts": [part]})
    }

    /// The parameters by which an operation is about a task: a message to it, or its id.
    pub(super) fn about(&mut self, operation: Operation, task: &str) -> Value {
        if !matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage) {
            return json!({"id": task});
        }
        let mut message = self.message("probe");
        shape::set(&mut message, "/taskId", json!(task));
        json!({"message": message})
    }

    /// Does something about a task that nobody has.
    pub(super) async fn call_unknown(&mut self, operation: Operation) -> Result<Reply, Verdict> {
        let id = self.unknown_id();
        let params = self.about(operation, &id);
        self.call(operation, params).await
    }

    /// A skill of a dealer's that only reads.
    fn harmless_skill(&self) -> Option<Skill> {
        let harmless = [Skill::DealerInformation, Skill::InventoryFacets, Skill::InventorySearch];
        let offers = |skill: &Skill| {
            let mut skills = self.card.iter().flat_map(|card| card.skills.iter());
            self.speaks_aap && skills.any(|listed| listed.id == skill.name())
        };
        harmless.into_iter().find(offers)
    }

    /// Whether messages may be sent that the agent works on.
    pub(super) fn may_send(&self) -> Result<(), Verdict> {
        let holds = self.speaks_aap && self.harmless_skill().is_none();
        not_here_if(holds, "the dealer offers no skill that only reads")?;
        if self.speaks_aap || self.options.allow_messages {
            return Ok(());
        }
        skip("messages to the agent were not allowed")
    }

    /// What the agent answers to a harmless message: the result of `SendMessage`. Asked once for
    /// each binding.
    pub(super) async fn sample(&mut self) -> Result<Value, Verdict> {
        self.may_send()?;
        let key = format!("sample {}", self.binding);
        if let Some(known) = self.memo.get(&key) {
            return known.clone();
        }
        let message = self.message("probe");
        let made = self.call(Operation::SendMessage, json!({"message": message})).await;
        let sample = made.and_then(|reply| {
            let taken = reply.result().ok().cloned();
            found(taken, format!("the agent does not take our message: {}", reply.describe()))
        });
        if sample.is_ok() {
            self.memo.insert(format!("asked {}", self.binding), Ok(message));
        }
        self.memo.insert(key, sample.clone());
        sample
    }

    /// A task of the agent's, when it keeps tasks.
    pub(super) async fn task(&mut self) -> Result<Value, Verdict> {
        let sample = self.sample().await?;
        match sample.get("task") {
            Some(task) if shape::text(task, "id").is_some() => Ok(task.clone()),
            Some(_) => not_here("the agent's task has no id"),
            None => not_here("the agent answers with a message and keeps no task"),
        }
    }

    /// A task that has ended.
    pub(super) async fn ended_task(&mut self) -> Result<Value, Verdict> {
        let key = format!("ended {}", self.binding);
        if let Some(Err(known)) = self.memo.get(&key) {
            return Err(known.clone());
        }
        let ended = self.followed().await;
        self.memo.insert(key, ended.clone());
        ended
    }

    async fn followed(&mut self) -> Result<Value, Verdict> {
        // Five seconds in all.
        const PATIENCE: usize = 20;
        let mut task = self.task().await?;
        let id = shape::text(&task, "id").unwrap_or_default().to_owned();
        for _ in 0..PATIENCE {
            match shape::state(&task) {
                state if shape::is_terminal(state) => return Ok(task),
                "TASK_STATE_INPUT_REQUIRED" | "TASK_STATE_AUTH_REQUIRED" => {
                    return not_here("the agent's task waits for us and does not end");
                }
                "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" => {}
                // Nobody knows what would come after it.
                other => {
                    let state = plain(other, WORD);
                    return not_here(format!(
                        "the agent's task is in the state {state:?}, which is none of A2A's"
                    ));
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
            let reply = self.call(Operation::GetTask, json!({"id": id})).await?;
            task = reply.result()?.clone();
        }
        not_here("the agent's task does not end soon")
    }

    /// Whether the card shows an agent whose behaviour is keyed on the prefixes of the official
    /// kit.
    // requirements §2.3
    fn knows_the_kit(&self) -> bool {
        let Some(card) = &self.card else { return false };
        let known = ["urn:tradepost:conformance", "urn:a2a:tck:"];
        let by_extension =
            card.extensions.iter().any(|it| known.iter().any(|start| it.uri.starts_with(start)));
        let skills = shape::items(&self.card_json, "skills");
        let is_keyed = |tag: &Value| matches!(tag.as_str(), Some("conformance" | "tck" | "acts"));
        by_extension || skills.flat_map(|skill| shape::items(skill, "tags")).any(is_keyed)
    }

    /// Sends a message that the agent understands by its prefix; the result.
    pub(super) async fn scenario(&mut self, prefix: &str, more: Value) -> Result<Value, Verdict> {
        self.may_send()?;
        let holds = !self.knows_the_kit();
        not_here_if(holds, "needs an agent that does as the official kit's messages ask")?;
        let params = self.scenario_params(prefix, more);
        let reply = self.ask(Ask::default(), Operation::SendMessage, params).await?;
        Ok(reply.result()?.clone())
    }

    /// The parameters of such a message; `more` is laid over them.
    pub(super) fn scenario_params(&mut self, prefix: &str, more: Value) -> Value {
        let mut message = self.message(prefix);
        // The kit's successor reads the text.
        shape::set(&mut message, "/parts", json!([{"text": prefix}]));
        let mut params = json!({"message": message});
        if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
            for (name, value) in more {
                match (params.get_mut(&name), value) {
                    (Some(Value::Object(known)), Value::Object(value)) => known.extend(value),
                    (_, value) => {
                        params.insert(name, value);
                    }
                }
            }
        }
        params
    }

    /// The same where the answer must be a task.
    pub(super) async fn scenario_task(
        &mut self,
        prefix: &str,
        more: Value,
    ) -> Result<Value, Verdict> {
        let result = self.scenario(prefix, more).await?;
        match result.get("task") {
            Some(task) => Ok(task.clone()),
            None => fail(format!("{prefix} gave no task")),
        }
    }
}
