//! Answer of a dealer to a skill call: a JSON-RPC response whose message has one data part of the skill's
//! response type, or a refusal. The payload is kept as it came.

use std::fmt;

use serde::Deserialize;
use tradepost_aap::error::{ReceivedRefusal, TYPE};
use tradepost_aap::vehicle;
use tradepost_aap::{QUERY_READING, Skill};
use tradepost_document::json::RawValue;
use tradepost_document::json::Value;

use crate::failure::{CallFailure, Defect};
use crate::refusal::RefusalForm;
use crate::response::{self, Via};
use crate::transport::Response;

use tradepost_recovery::envelope::{OpenedAnswer, object, open, string};

/// Answer of a dealer to a skill call.
#[derive(Debug)]
pub struct SkillAnswer {
    /// Skill that was called.
    pub skill: Skill,
    /// Payload: `type`, `data` and perhaps `message`; `data` is an object.
    pub payload: Value,
    /// Payload as it came.
    pub raw: Box<RawValue>,
    /// How the dealer read a text query: `filters` and perhaps `sort` of a request that finds the same.
    pub query_reading: Option<Value>,
    /// Dealer's id of the conversation.
    pub context_id: Option<String>,
    /// Departure from the form that AAP requires, when the answer could be read nevertheless.
    pub departure: Option<Departure>,
}

/// Departure from AAP that does not prevent reading the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Departure {
    /// The payload is in a completed task instead of a message.
    Task,
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "the dealer answers with a completed task where AAP has a message",
        })
    }
}

impl SkillAnswer {
    /// Returns the member `data` of the payload.
    #[must_use]
    pub fn data(&self) -> &Value {
        self.payload.get("data").unwrap_or(&Value::Null)
    }

    /// Returns the dealer's message for people.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.payload.get("message").and_then(Value::as_str)
    }

    /// Returns the vehicles of a search that can be bought, and the number of the others. Those have to be
    /// ignored, because their status is missing or none of the three.
    // R-IS-14
    #[must_use]
    pub fn vehicles(&self) -> (Vec<&Value>, usize) {
        let vehicles = self.data().get("vehicles").and_then(Value::as_array);
        let vehicles = vehicles.map(Vec::as_slice).unwrap_or_default();
        let listed: Vec<_> =
            vehicles.iter().filter(|vehicle| vehicle::is_on_sale(vehicle)).collect();
        let ignored = vehicles.len() - listed.len();
        (listed, ignored)
    }
}

/// State of a task that has its result.
const COMPLETED: &str = "TASK_STATE_COMPLETED";

#[derive(Deserialize)]
struct AnswerOutcome<'a> {
    #[serde(borrow)]
    message: Option<AnswerMessage<'a>>,
    task: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerTask<'a> {
    #[serde(borrow)]
    context_id: Option<&'a RawValue>,
    status: AnswerStatus<'a>,
    artifacts: Option<Vec<AnswerParts<'a>>>,
}

#[derive(Deserialize)]
struct AnswerStatus<'a> {
    #[serde(borrow)]
    state: &'a RawValue,
    message: Option<AnswerParts<'a>>,
}

#[derive(Deserialize)]
struct AnswerParts<'a> {
    #[serde(borrow)]
    parts: Option<Vec<AnswerPart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerMessage<'a> {
    #[serde(borrow)]
    context_id: Option<&'a RawValue>,
    parts: Option<Vec<AnswerPart<'a>>>,
}

#[derive(Deserialize)]
struct AnswerPart<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    raw: Option<&'a RawValue>,
    url: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
}

/// Reads the answer to the call of `skill` with this request id.
///
/// # Errors
/// `Refused` for an error in a JSON-RPC answer at any HTTP status, and for a status of refusal;
/// `Garbled` for a success that cannot be understood.
pub fn read(response: &Response, id: &str, skill: Skill) -> Result<SkillAnswer, CallFailure> {
    let raw = response.raw(Via::JsonRpc { id });
    let defect = match open(&response.body, id) {
        Ok(OpenedAnswer::Refused { error }) => return Err(raw.refused_with(&error)),
        Ok(OpenedAnswer::Result(result)) if response.is_success() => {
            match read_result(result, skill) {
                Ok(Read::Answer(answer)) => return Ok(answer),
                Ok(Read::Refused(by)) => return Err(raw.refused(by)),
                Err(defect) => match refused_result(result) {
                    Some(by) => return Err(raw.refused(by)),
                    None => defect,
                },
            }
        }
        Ok(OpenedAnswer::Result(_)) => {
            Defect::NotJsonRpc("a result with an HTTP status of refusal")
        }
        Err(defect) => defect,
    };
    Err(raw.garbled(defect))
}

/// Returns the refusal in a result that is no AAP answer, such as a failed task.
fn refused_result(result: &str) -> Option<RefusalForm> {
    response::refusal_in(&tradepost_document::json::from_str(result).ok()?)
}

enum Read {
    Answer(SkillAnswer),
    Refused(RefusalForm),
}

fn read_result(result: &str, skill: Skill) -> Result<Read, Defect> {
    let malformed = Defect::NotAap("the result is not {\"message\": ...} with parts");
    let outcome = object::<AnswerOutcome<'_>>(result).ok_or(malformed.clone())?;
    let (parts, context_id, departure) = match (outcome.message, outcome.task) {
        (Some(message), None) => (message.parts.unwrap_or_default(), message.context_id, None),
        (None, Some(task)) => {
            let (parts, context_id) = completed(task.get())?;
            (parts, context_id, Some(Departure::Task))
        }
        (Some(_), Some(_)) => {
            return Err(Defect::NotAap("the result has both a message and a task"));
        }
        (None, None) => return Err(malformed),
    };
    // A2A permits one content for each part; with several, two readers could choose differently.
    if parts.iter().any(|part| {
        let content = [part.data, part.text, part.raw, part.url];
        content.into_iter().flatten().count() > 1
    }) {
        return Err(Defect::NotAap("a part has several contents"));
    }
    let mut found = None;
    let mut others = false;
    for part in &parts {
        let Some(raw) = part.data else { continue };
        // The text is valid JSON, but may be nested too deeply.
        let payload: Value =
            tradepost_document::json::from_str(raw.get()).map_err(|_| Defect::NotJson)?;
        let kind = payload.get("type").and_then(Value::as_str);
        if kind == Some(skill.response_type()) {
            if found.replace((raw, payload, part.metadata)).is_some() {
                return Err(Defect::NotAap("several data parts are of the response type"));
            }
        } else if let Some(error) = ReceivedRefusal::read(&payload).filter(|_| kind == Some(TYPE)) {
            // An error in the place of a result is a refusal.
            return Ok(Read::Refused(RefusalForm::Aap { jsonrpc: 0, error }));
        } else {
            others = true;
        }
    }
    let Some((raw, payload, metadata)) = found else {
        return Err(Defect::NotAap(if others {
            "no data part is of the skill's response type"
        } else {
            "the answer has no data part"
        }));
    };
    if !payload.get("data").is_some_and(Value::is_object) {
        return Err(Defect::NotAap("the payload has no data object"));
    }
    Ok(Read::Answer(SkillAnswer {
        skill,
        payload,
        raw: raw.to_owned(),
        query_reading: metadata.and_then(query_reading),
        context_id: context_id.and_then(string),
        departure,
    }))
}

/// Returns how the dealer read a text query; metadata that is unreadable, or of another form, says nothing.
fn query_reading(metadata: &RawValue) -> Option<Value> {
    let metadata: Value = tradepost_document::json::from_str(metadata.get()).ok()?;
    metadata.get(QUERY_READING).filter(|reading| reading.is_object()).cloned()
}

/// Returns the parts and the conversation of a completed task: the parts of its artifacts, else those of its
/// status message.
fn completed(task: &str) -> Result<(Vec<AnswerPart<'_>>, Option<&RawValue>), Defect> {
    let task = object::<AnswerTask<'_>>(task);
    let task = task.filter(|task| string(task.status.state).as_deref() == Some(COMPLETED));
    let Some(task) = task else {
        return Err(Defect::NotAap(
            "the result has a task that is not completed; AAP has a message",
        ));
    };
    let artifacts = task.artifacts.into_iter().flatten();
    let mut parts: Vec<_> = artifacts.flat_map(|artifact| artifact.parts).flatten().collect();
    if parts.is_empty() {
        parts = task.status.message.and_then(|message| message.parts).unwrap_or_default();
    }
    Ok((parts, task.context_id))
}
