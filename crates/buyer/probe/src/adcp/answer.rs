//! Answers of a seller in a form common to MCP and A2A: the payload, the layers in which an error may appear, and the
//! transport's own status.

use tradepost_adcp::error::AdcpCode;
use tradepost_client::text::{WORD, plain};
use tradepost_document::json::{Map, Value};

use super::seller::SellerBinding;
use crate::check::{CheckResult, one_of};
use crate::exchange::HttpResponse;
use crate::reply::{AnswerContent, ProbedAnswer};
use crate::shape::{items, state, text};

/// Answer to a task.
#[derive(Debug, Clone, Default)]
pub(super) struct TaskAnswer {
    pub(super) response: HttpResponse,
    pub(super) binding: SellerBinding,
    /// Payload with its envelope; null when there is none.
    pub(super) payload: Value,
    /// True when it came as structured content, or as a data part.
    pub(super) is_structured: bool,
    /// Texts beside the payload.
    pub(super) texts: Vec<String>,
    /// True when the transport reports a failure: `isError`, or a failed task.
    pub(super) is_failed: bool,
    /// Error of JSON-RPC, or of HTTP+JSON.
    pub(super) protocol: Option<Value>,
}

impl TaskAnswer {
    /// Reads the answer to an MCP request: `message` is the JSON-RPC message, from the body or a stream.
    pub(super) fn from_mcp(response: HttpResponse, message: Option<Value>) -> Self {
        let mut answer = Self { response, binding: SellerBinding::Mcp, ..Self::default() };
        let message = message.unwrap_or_default();
        if let Some(error) = message.get("error").filter(|error| error.is_object()) {
            answer.protocol = Some(error.clone());
        } else if let Some(result) = message.get("result") {
            answer.read_result(result);
        } else if message.get("adcp_error").is_some() {
            // A gateway in front of MCP may answer with the envelope alone.
            answer.payload = message;
        }
        answer
    }

    fn read_result(&mut self, result: &Value) {
        self.is_failed = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        let texts = items(result, "content").filter_map(|item| text(item, "text"));
        self.texts = texts.map(str::to_owned).collect();
        match result.get("structuredContent").filter(|structured| structured.is_object()) {
            Some(structured) => {
                self.payload = structured.clone();
                self.is_structured = true;
            }
            None => self.payload = self.text_layer().unwrap_or_default(),
        }
    }

    /// Reads the answer to an A2A message.
    pub(super) fn from_a2a(reply: ProbedAnswer) -> Self {
        let mut answer =
            Self { response: reply.response, binding: SellerBinding::A2a, ..Self::default() };
        match reply.content {
            AnswerContent::Result(result) => {
                let task = result.get("task");
                answer.is_failed = task.is_some_and(|task| state(task) == "TASK_STATE_FAILED");
                let holder = task.or(result.get("message")).unwrap_or(&result);
                let artifacts = items(holder, "artifacts");
                let status = holder.pointer("/status/message").into_iter();
                let mut data = Map::new();
                for place in status.chain(artifacts).chain(std::iter::once(holder)) {
                    for part in items(place, "parts") {
                        answer.texts.extend(text(part, "text").map(str::to_owned));
                        let object = part.get("data").and_then(Value::as_object);
                        data.extend(object.cloned().unwrap_or_default());
                    }
                }
                answer.is_structured = !data.is_empty();
                if answer.is_structured {
                    answer.payload = Value::Object(data);
                }
            }
            AnswerContent::Error(error) => answer.protocol = Some(error.whole),
            AnswerContent::Stream(_) | AnswerContent::Other => {}
        }
        answer
    }

    /// Returns the first text that is a JSON object.
    pub(super) fn text_layer(&self) -> Option<Value> {
        let mut read =
            self.texts.iter().filter_map(|text| tradepost_document::json::from_str(text).ok());
        read.find(Value::is_object)
    }

    /// Returns the envelope's error, from the payload or from the protocol's error.
    pub(super) fn envelope_error(&self) -> Option<&Value> {
        let of_protocol = || self.protocol.as_ref()?.pointer("/data/adcp_error");
        self.payload.get("adcp_error").filter(|error| !error.is_null()).or_else(of_protocol)
    }

    /// Returns the errors of the payload, also when it is nested in a member `payload`.
    pub(super) fn listed(&self) -> Vec<&Value> {
        let nested = self.payload.get("payload").filter(|payload| payload.get("errors").is_some());
        items(nested.unwrap_or(&self.payload), "errors").collect()
    }

    /// Returns the error, from the envelope or else the first of the list.
    pub(super) fn error(&self) -> Option<&Value> {
        let listed = || self.is_refusal().then(|| self.listed().into_iter().next()).flatten();
        self.envelope_error().or_else(listed)
    }

    /// Returns every error object.
    pub(super) fn errors(&self) -> Vec<&Value> {
        self.envelope_error().into_iter().chain(self.listed()).collect()
    }

    /// Returns the code of the error.
    pub(super) fn code(&self) -> Option<&str> {
        text(self.error()?, "code")
    }

    /// Returns true when any layer reports a failure.
    pub(super) fn is_refusal(&self) -> bool {
        self.is_failed
            || self.protocol.is_some()
            || !(200..300).contains(&self.response.status)
            || self.payload.get("adcp_error").is_some_and(|error| !error.is_null())
            || text(&self.payload, "status") == Some("failed")
    }

    /// Returns true when the task returned a result.
    pub(super) fn is_success(&self) -> bool {
        !self.is_refusal() && self.payload.is_object()
    }

    /// Describes the answer in a few words.
    pub(super) fn describe(&self) -> String {
        let status = self.response.status;
        let number = self.protocol.as_ref().and_then(|error| error.get("code")?.as_i64());
        match (self.code(), number) {
            (Some(code), _) => format!("HTTP {status} with {}", plain(code, WORD)),
            (None, Some(number)) => format!("HTTP {status} with the JSON-RPC error {number}"),
            (None, None) if self.is_failed => {
                format!("HTTP {status} with a failure that has no AdCP error")
            }
            (None, None) if self.is_success() => format!("HTTP {status} with a result"),
            (None, None) => format!("HTTP {status} with nothing of AdCP"),
        }
    }
}

/// Checks that a refusal has one of these codes; the first is the expected one.
pub(super) fn refused(answer: &TaskAnswer, codes: &[AdcpCode]) -> CheckResult {
    one_of(codes, answer.code(), || answer.describe())
}
