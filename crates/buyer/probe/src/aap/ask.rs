//! Requests to a dealer and their answers, for the checks of AAP.

use tradepost_a2a::Operation;
use tradepost_aap::error::AapCode;
use tradepost_aap::{Skill, Version};
use tradepost_client::text::{WORD, plain};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};

use crate::check::{CheckResult, CheckVerdict, not_applicable_if, not_looked_at, one_of, or_fail};
use crate::reply::{AnswerContent, ProbedAnswer};
use crate::run::{Caller, HeaderOverride, ProbeRun, RequestOverrides, SeenAapError};
use crate::shape::{items, text};

/// Answer of a dealer to a payload.
#[derive(Debug, Clone)]
pub(super) struct DealerAnswer {
    pub(super) reply: ProbedAnswer,
    /// Payload of the answer.
    pub(super) payload: Option<Value>,
    /// The `aap.error` object.
    pub(super) refusal: Option<Value>,
}

impl DealerAnswer {
    fn read(reply: ProbedAnswer) -> Self {
        let mut payload = None;
        let mut refusal = None;
        match &reply.content {
            AnswerContent::Result(result) => {
                let message = result.get("message").unwrap_or(result);
                payload = items(message, "parts").find_map(|part| part.get("data")).cloned();
            }
            AnswerContent::Error(error) => {
                let is_aap = |data: &&Value| text(data, "type") == Some("aap.error");
                refusal = error.details.as_ref().filter(is_aap).cloned();
            }
            AnswerContent::Stream(_) | AnswerContent::Other => {}
        }
        Self { reply, payload, refusal }
    }

    /// Returns the `data` of the answer's payload, or fails the check.
    pub(super) fn data(&self) -> Result<Value, CheckVerdict> {
        let data = self.payload.as_ref().and_then(|payload| payload.get("data")).cloned();
        or_fail(data, format!("expected an answer with data, and got {}", self.describe()))
    }

    /// Returns the id of the conversation that the answer belongs to.
    pub(super) fn conversation(&self) -> Option<&str> {
        match &self.reply.content {
            AnswerContent::Result(result) => {
                text(result.get("message").unwrap_or(result), "contextId")
            }
            AnswerContent::Error(_) | AnswerContent::Stream(_) | AnswerContent::Other => None,
        }
    }

    /// Returns the code of the refusal.
    pub(super) fn code(&self) -> Option<&str> {
        text(self.refusal.as_ref()?, "code")
    }

    pub(super) fn describe(&self) -> String {
        match self.code() {
            Some(code) => format!("{} {}", plain(code, WORD), self.reply.describe()),
            None => self.reply.describe(),
        }
    }

    /// Returns the entries of `details.errors`.
    pub(super) fn problems(&self) -> Vec<&Value> {
        let details = self.refusal.as_ref().and_then(|refusal| refusal.get("details"));
        details.map(|details| items(details, "errors").collect()).unwrap_or_default()
    }

    /// Checks that the answer is a refusal with one of these codes; the first is the expected one.
    pub(super) fn refused(&self, codes: &[AapCode]) -> CheckResult {
        one_of(codes, self.code(), || self.describe())
    }

    /// Returns true when a problem is listed for this place: at it, below it, or above it for members that are
    /// missing or unknown.
    pub(super) fn lists(&self, pointer: &str) -> bool {
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.problems().iter().any(|problem| {
            let place = text(problem, "instanceLocation").unwrap_or("?");
            let keyword = text(problem, "keyword").unwrap_or_default();
            let above = matches!(keyword, "required" | "additionalProperties" | "anyOf" | "if");
            place == pointer
                || pointer.is_empty()
                || place.starts_with(&format!("{pointer}/"))
                || (above && place == parent)
        })
    }
}

impl ProbeRun {
    /// Checks that the dealer offers a skill.
    pub(super) fn offers(&self, skill: Skill) -> Result<(), CheckVerdict> {
        let mut skills = self.card.iter().flat_map(|card| card.skills.iter());
        let is_listed = skills.any(|listed| listed.id == skill.name());
        not_applicable_if(!is_listed, format!("the dealer does not offer {skill}"))
    }

    /// Returns the extension URIs that activate the version being probed.
    fn activation(&self) -> String {
        let mut uris = self.required_extensions();
        let ours = self.version.uri();
        if !uris.iter().any(|uri| uri == ours) {
            uris.retain(|uri| !Version::ALL.iter().any(|version| version.uri() == uri));
            uris.insert(0, ours.to_owned());
        }
        uris.join(", ")
    }

    /// Sends a payload.
    pub(super) async fn send_payload(
        &mut self,
        payload: &Value,
    ) -> Result<DealerAnswer, CheckVerdict> {
        let parts = json!([self.part(payload)]);
        self.send_parts(parts, Caller::First).await
    }

    /// Returns the part that carries a payload.
    pub(super) fn part(&self, payload: &Value) -> Value {
        match text(payload, "type").and_then(Skill::from_request_type) {
            Some(skill) => json!({"data": payload, "mediaType": skill.request_media_type()}),
            None => json!({"data": payload}),
        }
    }

    /// Sends parts.
    pub(super) async fn send_parts(
        &mut self,
        parts: Value,
        caller: Caller<'_>,
    ) -> Result<DealerAnswer, CheckVerdict> {
        self.send_in_conversation(None, parts, caller).await
    }

    /// Sends a payload in the conversation of an earlier answer.
    pub(super) async fn send_follow_up(
        &mut self,
        earlier: &DealerAnswer,
        payload: &Value,
    ) -> Result<DealerAnswer, CheckVerdict> {
        let parts = json!([self.part(payload)]);
        self.send_in_conversation(earlier.conversation(), parts, Caller::First).await
    }

    async fn send_in_conversation(
        &mut self,
        conversation: Option<&str>,
        parts: Value,
        caller: Caller<'_>,
    ) -> Result<DealerAnswer, CheckVerdict> {
        let activation = self.activation();
        let overrides = RequestOverrides {
            extensions: HeaderOverride::Text(&activation),
            caller,
            ..RequestOverrides::default()
        };
        self.send_with_overrides(overrides, conversation, parts).await
    }

    pub(super) async fn send_with_overrides(
        &mut self,
        overrides: RequestOverrides<'_>,
        conversation: Option<&str>,
        parts: Value,
    ) -> Result<DealerAnswer, CheckVerdict> {
        let id = self.unique_id("m");
        let message = object!({"messageId": id, "role": "ROLE_USER", "parts": parts,
            "contextId"?: conversation});
        let modes = json!({"acceptedOutputModes": ["application/json"]});
        let params = json!({"message": message, "configuration": modes});
        let reply = self.ask(overrides, Operation::SendMessage, params).await?;
        if let AnswerContent::Error(error) = &reply.content
            && let Some(exchange) = self.last().cloned()
        {
            let error = error.whole.clone();
            // A2A's own errors carry a list; any other data should be an AAP error.
            if !error.get("data").is_some_and(Value::is_array) {
                self.seen.push(SeenAapError { error, version: self.version, exchange });
            }
        }
        Ok(DealerAnswer::read(reply))
    }

    /// Calls a skill with its type and the members of `text`.
    pub(super) async fn skill(
        &mut self,
        skill: Skill,
        members: &str,
    ) -> Result<DealerAnswer, CheckVerdict> {
        self.offers(skill)?;
        self.send_payload(&request(skill, members)).await
    }

    /// Calls a skill that has to answer, and returns the data.
    pub(super) async fn data(
        &mut self,
        skill: Skill,
        members: &str,
    ) -> Result<Value, CheckVerdict> {
        self.skill(skill, members).await?.data()
    }

    /// Calls a skill once for each version and returns the data.
    pub(super) async fn known(
        &mut self,
        skill: Skill,
        members: &str,
    ) -> Result<Value, CheckVerdict> {
        let key = format!("{} {skill} {members}", self.version);
        if let Some(known) = self.cache.get(&key) {
            return known.clone();
        }
        let data = match self.data(skill, members).await {
            // A skill that does not answer is reported by a single check.
            Err(CheckVerdict::Fail(why)) => {
                not_looked_at(format!("there is no answer to look at: {why}"))
            }
            other => other,
        };
        self.cache.insert(key, data.clone());
        data
    }

    /// Returns the offered vehicles from a search.
    pub(super) async fn vehicles(&mut self) -> Result<Vec<Value>, CheckVerdict> {
        let page = self.known(Skill::InventorySearch, r#"{"pagination": {"limit": 100}}"#).await?;
        let vehicles: Vec<Value> = items(&page, "vehicles").cloned().collect();
        if vehicles.is_empty() {
            not_looked_at("the dealer offers no vehicle now")
        } else {
            Ok(vehicles)
        }
    }

    /// Returns the total of a search.
    pub(super) async fn total(&mut self, members: &str) -> Result<u64, CheckVerdict> {
        let page = self.data(Skill::InventorySearch, members).await?;
        or_fail(page.get("total").and_then(Value::as_u64), "the answer has no total")
    }
}

/// Builds a request with the members of a JSON text.
pub(super) fn request(skill: Skill, members: &str) -> Value {
    let mut payload = json!({"type": skill.request_type()});
    if let Some(payload) = payload.as_object_mut()
        && let Ok(Value::Object(members)) = tradepost_document::json::from_str(members)
    {
        payload.extend(members);
    }
    payload
}

/// Returns the first value of a member among vehicles.
pub(super) fn first<'v>(vehicles: &'v [Value], name: &str) -> Option<&'v Value> {
    vehicles.iter().find_map(|vehicle| vehicle.get(name)).filter(|value| !value.is_null())
}

/// Returns an integer member of a vehicle.
pub(super) fn number(vehicle: &Value, name: &str) -> Option<i64> {
    vehicle.get(name)?.as_i64()
}
