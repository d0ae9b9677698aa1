//! Requests that the checks of A2A share: a harmless message, a task, a completed task, and the scenarios of the
//! official kit.

use tradepost_a2a::Operation;
use tradepost_aap::Skill;
use tradepost_client::text::{WORD, plain};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};

use crate::check::{
    CheckVerdict, fail, not_applicable, not_applicable_if, not_looked_at, not_looked_at_if, skip,
};
use crate::options::MAX_TEXT;
use crate::reply::ProbedAnswer;
use crate::run::{ProbeRun, RequestOverrides};
use crate::shape;

/// Message that requests as little as possible.
const PROBE_TEXT: &str = "This is an automated conformance probe. Please answer with one short \
                     sentence and do nothing else.";

/// Maximum number of examples of the card that are tried.
const MAX_EXAMPLES: usize = 5;

/// Prefix of message ids that have no meaning to the official kit.
pub(super) const PREFIX: &str = "probe";

impl ProbeRun {
    /// Returns a message that the agent should accept: for a dealer a request that changes nothing, for others a
    /// sentence; the part that the agent accepted before is used again.
    pub(super) fn message(&mut self, prefix: &str) -> Value {
        let part = match &self.accepted_part {
            Some(part) => part.clone(),
            None => self.parts_to_try().into_iter().next().unwrap_or_default(),
        };
        json!({"messageId": self.unique_id(prefix), "role": "ROLE_USER", "parts": [part]})
    }

    /// Returns the parts to try, in order: for a dealer one request, for other agents the given text, or else a task
    /// for an AdCP seller, the fixed sentence and the examples of the card.
    fn parts_to_try(&self) -> Vec<Value> {
        if let Some(skill) = self.harmless_skill() {
            return vec![json!({"data": {"type": skill.request_type()}})];
        }
        if let Some(text) = &self.options.text {
            return vec![json!({"text": text})];
        }
        // A seller of AdCP expects tasks by name, and this one only reads.
        let task = json!({"data": {"skill": "get_adcp_capabilities", "input": {}}});
        let task = self.seller.extension.is_some().then_some(task);
        let sentences = std::iter::once(PROBE_TEXT.to_owned()).chain(self.examples());
        task.into_iter().chain(sentences.map(|text| json!({"text": text}))).collect()
    }

    /// Returns the examples of the card, for skills that accept text.
    fn examples(&self) -> Vec<String> {
        let takes_text = |skill: &&Value| {
            let own = skill.get("inputModes").filter(|modes| modes.is_array());
            let modes = own.or_else(|| self.card_json.get("defaultInputModes"));
            let mut modes = modes.and_then(Value::as_array).into_iter().flatten();
            modes
                .any(|mode| matches!(mode.as_str(), Some("text" | "text/plain" | "text/*" | "*/*")))
        };
        let skills = shape::items(&self.card_json, "skills").filter(takes_text);
        let listed = skills.flat_map(|skill| shape::items(skill, "examples"));
        let fits = |text: &&str| !text.trim().is_empty() && text.len() <= MAX_TEXT;
        let mut examples: Vec<String> = Vec::new();
        for text in listed.filter_map(Value::as_str).filter(fits) {
            if examples.len() < MAX_EXAMPLES && !examples.iter().any(|known| known == text) {
                examples.push(text.to_owned());
            }
        }
        examples
    }

    /// Returns the parameters of an operation on a task: a message to it, or its id.
    pub(super) fn about(&mut self, operation: Operation, task: &str) -> Value {
        if !matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage) {
            return json!({"id": task});
        }
        let mut message = self.message("probe");
        shape::set(&mut message, "/taskId", json!(task));
        json!({"message": message})
    }

    /// Calls an operation on a task that does not exist.
    pub(super) async fn call_unknown(
        &mut self,
        operation: Operation,
    ) -> Result<ProbedAnswer, CheckVerdict> {
        let id = self.unknown_id();
        let params = self.about(operation, &id);
        self.call(operation, params).await
    }

    /// Returns a skill of a dealer that only reads.
    fn harmless_skill(&self) -> Option<Skill> {
        let harmless = [Skill::DealerInformation, Skill::InventoryFacets, Skill::InventorySearch];
        let offers = |skill: &Skill| {
            let mut skills = self.card.iter().flat_map(|card| card.skills.iter());
            self.speaks_aap && skills.any(|listed| listed.id == skill.name())
        };
        harmless.into_iter().find(offers)
    }

    /// Checks that messages which the agent acts on may be sent.
    pub(super) fn may_send(&self) -> Result<(), CheckVerdict> {
        let holds = self.speaks_aap && self.harmless_skill().is_none();
        not_looked_at_if(
            holds,
            "the dealer offers no skill that only reads, and nothing else was sent",
        )?;
        if self.speaks_aap || self.options.allow_messages {
            return Ok(());
        }
        skip("messages to the agent were not allowed")
    }

    /// Returns the agent's answer to a harmless message, the result of `SendMessage`. Requested once for each
    /// binding. When every text is refused, checks that depend on a message are impossible.
    pub(super) async fn sample(&mut self) -> Result<Value, CheckVerdict> {
        self.may_send()?;
        let key = format!("sample {}", self.binding);
        if let Some(known) = self.cache.get(&key) {
            return known.clone();
        }
        let sample = self.first_taken().await;
        self.cache.insert(key, sample.clone());
        sample
    }

    /// Tries the parts until the agent accepts one. A task that it rejected counts as an answer when there is no
    /// better one.
    async fn first_taken(&mut self) -> Result<Value, CheckVerdict> {
        // The part that the agent accepted on another binding comes first.
        let mut parts: Vec<Value> = self.accepted_part.clone().into_iter().collect();
        let others = self
            .parts_to_try()
            .into_iter()
            .filter(|part| Some(part) != self.accepted_part.as_ref());
        parts.extend(others);
        let mut rejected: Option<(Value, Value)> = None;
        let mut refusal = String::new();
        for part in parts {
            let id = self.unique_id(PREFIX);
            let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [part]});
            let params = json!({"message": message});
            let reply = self.call(Operation::SendMessage, params).await?;
            match reply.result() {
                Ok(result) if is_rejected(result) => {
                    rejected.get_or_insert((message, result.clone()));
                }
                Ok(result) => return Ok(self.take(message, result.clone())),
                Err(_) if refusal.is_empty() => refusal = reply.describe(),
                Err(_) => {}
            }
        }
        match rejected {
            Some((message, result)) => Ok(self.take(message, result)),
            None => not_looked_at(format!(
                "the agent takes none of the prober's messages ({refusal}); give a sentence that it \
                 takes with --text"
            )),
        }
    }

    /// Remembers a message that the agent accepted.
    fn take(&mut self, message: Value, result: Value) -> Value {
        self.accepted_part = message.pointer("/parts/0").cloned();
        self.cache.insert(format!("asked {}", self.binding), Ok(message));
        result
    }

    /// Returns a task of the agent, if it keeps tasks.
    pub(super) async fn task(&mut self) -> Result<Value, CheckVerdict> {
        let sample = self.sample().await?;
        match sample.get("task") {
            Some(task) if shape::text(task, "id").is_some() => Ok(task.clone()),
            Some(_) => not_looked_at("the agent's task has no id, by which it could be looked at"),
            None if self.has_tasks().await? => not_looked_at(
                "the agent answers with a message, and has tasks; give a sentence that makes one \
                 with --text",
            ),
            None => not_applicable("the agent answers with a message and keeps no task"),
        }
    }

    /// Returns true when the agent lists tasks that it created before.
    async fn has_tasks(&mut self) -> Result<bool, CheckVerdict> {
        let key = format!("has tasks {}", self.binding);
        if let Some(known) = self.cache.get(&key) {
            return Ok(known.clone()?.as_bool().unwrap_or_default());
        }
        let reply = self.call(Operation::ListTasks, json!({"pageSize": 1})).await?;
        let has = reply.result().is_ok_and(|page| shape::items(page, "tasks").count() > 0);
        self.cache.insert(key, Ok(json!(has)));
        Ok(has)
    }

    /// Returns a task in a terminal state.
    pub(super) async fn ended_task(&mut self) -> Result<Value, CheckVerdict> {
        let key = format!("ended {}", self.binding);
        if let Some(Err(known)) = self.cache.get(&key) {
            return Err(known.clone());
        }
        let ended = self.followed().await;
        self.cache.insert(key, ended.clone());
        ended
    }

    async fn followed(&mut self) -> Result<Value, CheckVerdict> {
        // Polls for five seconds in all.
        const MAX_POLLS: usize = 20;
        let mut task = self.task().await?;
        let id = shape::text(&task, "id").unwrap_or_default().to_owned();
        for _ in 0..MAX_POLLS {
            match shape::state(&task) {
                state if shape::is_terminal(state) => return Ok(task),
                "TASK_STATE_INPUT_REQUIRED" | "TASK_STATE_AUTH_REQUIRED" => {
                    return not_looked_at(
                        "the agent's task waits for another message and does not end; give a \
                         sentence whose task ends with --text",
                    );
                }
                "TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING" => {}
                // The next state after an unknown one cannot be predicted.
                other => {
                    let state = plain(other, WORD);
                    return not_looked_at(format!(
                        "the agent's task is in the state {state:?}, which is none of A2A's"
                    ));
                }
            }
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
            let reply = self.call(Operation::GetTask, json!({"id": id})).await?;
            task = reply.result()?.clone();
        }
        not_looked_at("the agent's task does not end within five seconds")
    }

    /// Returns true when the card shows an agent that reacts to the message prefixes of the official kit.
    pub(super) fn knows_the_kit(&self) -> bool {
        let Some(card) = &self.card else { return false };
        let known = ["urn:tradepost:conformance", "urn:a2a:tck:"];
        let by_extension = card
            .extensions
            .iter()
            .any(|extension| known.iter().any(|start| extension.uri.starts_with(start)));
        let skills = shape::items(&self.card_json, "skills");
        let is_keyed = |tag: &Value| matches!(tag.as_str(), Some("conformance" | "tck" | "acts"));
        by_extension || skills.flat_map(|skill| shape::items(skill, "tags")).any(is_keyed)
    }

    /// Sends a message of a scenario, which the agent recognises by its prefix, and returns the result.
    pub(super) async fn scenario(
        &mut self,
        prefix: &str,
        more: Value,
    ) -> Result<Value, CheckVerdict> {
        self.may_send()?;
        let holds = !self.knows_the_kit();
        not_applicable_if(holds, "needs an agent that does as the official kit's messages ask")?;
        let params = self.scenario_params(prefix, more);
        let reply = self.ask(RequestOverrides::default(), Operation::SendMessage, params).await?;
        Ok(reply.result()?.clone())
    }

    /// Returns the parameters of such a message; the members of `more` are merged into them.
    pub(super) fn scenario_params(&mut self, prefix: &str, more: Value) -> Value {
        let mut message = self.message(prefix);
        // The kit's successor reads the text instead of the id.
        shape::set(&mut message, "/parts", json!([{"text": prefix}]));
        let mut params = json!({"message": message});
        if let Some(params) = params.as_object_mut()
            && let Value::Object(more) = more
        {
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

    /// Sends a message of a scenario and returns its task.
    pub(super) async fn scenario_task(
        &mut self,
        prefix: &str,
        more: Value,
    ) -> Result<Value, CheckVerdict> {
        let result = self.scenario(prefix, more).await?;
        match result.get("task") {
            Some(task) => Ok(task.clone()),
            None => fail(format!("{prefix} gave no task")),
        }
    }
}

/// Returns true when a result is a task that the agent rejected.
fn is_rejected(result: &Value) -> bool {
    result.get("task").is_some_and(|task| shape::state(task) == "TASK_STATE_REJECTED")
}
