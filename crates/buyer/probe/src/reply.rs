//! Answer of A2A on any binding: a result, an error, a stream, or no answer of the protocol.

use tradepost_a2a::Operation;
use tradepost_a2a::error::{A2aCode, DOMAIN};
use tradepost_a2a::status::RpcStatus;
use tradepost_client::text::{WORD, plain};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use super::binding::Binding;
use super::check::{CheckResult, CheckVerdict, fail, or_fail, verdict_of, warn};
use super::exchange::HttpResponse;
use super::grpc;
use super::shape::{ShapeProblems, items, member, text};

/// Answer of A2A.
#[derive(Debug, Clone)]
pub(crate) struct ProbedAnswer {
    pub(crate) response: HttpResponse,
    pub(crate) content: AnswerContent,
    binding: Binding,
}

/// Content of an answer.
#[derive(Debug, Clone)]
pub(crate) enum AnswerContent {
    Result(Value),
    Error(ErrorView),
    /// Data of each event as JSON; null for data that is not JSON.
    Stream(Vec<Value>),
    /// No content of the protocol.
    Other,
}

/// Error in a form common to all bindings.
#[derive(Debug, Clone)]
pub(crate) struct ErrorView {
    /// JSON-RPC code, or the HTTP status in the body.
    pub(crate) code: Option<i64>,
    /// Status name, on HTTP+JSON and gRPC.
    pub(crate) status: Option<String>,
    pub(crate) message: Option<String>,
    /// Content of `data` or `details`.
    pub(crate) details: Option<Value>,
    /// Complete error object.
    pub(crate) whole: Value,
}

impl ErrorView {
    fn read(error: &Value, details: &str) -> Self {
        let text = |name| error.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            code: error.get("code").and_then(Value::as_i64),
            status: text("status"),
            message: text("message"),
            details: error.get(details).cloned(),
            whole: error.clone(),
        }
    }

    /// Returns the detail of this google.rpc type.
    pub(crate) fn detail(&self, name: &str) -> Option<&Value> {
        let wanted = format!("type.googleapis.com/google.rpc.{name}");
        let details = self.details.as_ref()?.as_array()?;
        details.iter().find(|detail| detail.get("@type").and_then(Value::as_str) == Some(&wanted))
    }

    /// Returns true when its `BadRequest` names a field whose name contains `part`.
    pub(crate) fn names_field(&self, part: &str) -> bool {
        let violations = self.detail("BadRequest").map(|detail| items(detail, "fieldViolations"));
        let mut fields =
            violations.into_iter().flatten().filter_map(|violation| text(violation, "field"));
        fields.any(|field| field.contains(part))
    }

    /// Checks its `ErrorInfo`.
    pub(crate) fn check_error_info(&self) -> CheckResult {
        let info = or_fail(self.detail("ErrorInfo"), "there is no google.rpc.ErrorInfo")?;
        let domain = member(info, "domain");
        let reason = member(info, "reason");
        let mut wrong = ShapeProblems::default();
        wrong.unless(domain == DOMAIN, format!("its domain is {domain:?}"));
        wrong.unless(A2aCode::from_name(reason).is_some(), format!("its reason is {reason:?}"));
        verdict_of(&wrong.0)
    }

    /// Returns the reason of its `ErrorInfo`.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.detail("ErrorInfo")?.get("reason")?.as_str()
    }
}

impl ProbedAnswer {
    pub(crate) fn jsonrpc(response: HttpResponse) -> Self {
        let content = if response.media_type() == "text/event-stream" {
            AnswerContent::Stream(events(&response))
        } else {
            let body = response.json().unwrap_or_default();
            match (body.get("result"), body.get("error")) {
                // A null error is treated as absent, although JSON-RPC §5 does not allow it.
                (_, Some(error)) if !error.is_null() => {
                    AnswerContent::Error(ErrorView::read(error, "data"))
                }
                (Some(result), _) => AnswerContent::Result(result.clone()),
                (None, _) => AnswerContent::Other,
            }
        };
        Self { response, content, binding: Binding::JsonRpc }
    }

    /// Reads the answer to a gRPC call; `operation` is `None` for a method that A2A does not define.
    pub(crate) fn grpc(response: HttpResponse, operation: Option<Operation>) -> Self {
        let streams = operation.is_some_and(streams);
        let documents = operation.and_then(|operation| grpc::documents(operation, &response.body));
        let documents = documents.unwrap_or_default();
        let end = grpc::end(&response);
        let is_ok = end.as_ref().is_some_and(|end| end.status() == Some(RpcStatus::Ok));
        let content = match (documents.as_slice(), end) {
            // The messages of a stream count even when it was left or broke off.
            ([_, ..], _) if streams => AnswerContent::Stream(documents),
            ([], _) if streams && is_ok => AnswerContent::Stream(documents),
            ([only], _) if is_ok && only.is_object() => AnswerContent::Result(only.clone()),
            (_, Some(end)) if !is_ok => {
                AnswerContent::Error(ErrorView::read(&end.as_error(), "details"))
            }
            (_, Some(_) | None) => AnswerContent::Other,
        };
        Self { response, content, binding: Binding::Grpc }
    }

    pub(crate) fn rest(response: HttpResponse) -> Self {
        let body = response.json();
        let content = if response.media_type() == "text/event-stream" {
            AnswerContent::Stream(events(&response))
        } else if (200..300).contains(&response.status) {
            // An empty body is a result too, that of a deletion.
            AnswerContent::Result(body.unwrap_or_default())
        } else {
            let error =
                body.as_ref().and_then(|body| body.get("error")).filter(|error| error.is_object());
            error.map_or(AnswerContent::Other, |error| {
                AnswerContent::Error(ErrorView::read(error, "details"))
            })
        };
        Self { response, content, binding: Binding::HttpJson }
    }

    /// Returns the error, if the answer is one.
    pub(crate) fn error(&self) -> Option<&ErrorView> {
        match &self.content {
            AnswerContent::Error(error) => Some(error),
            AnswerContent::Result(_) | AnswerContent::Stream(_) | AnswerContent::Other => None,
        }
    }

    /// Returns the result, or fails the check.
    pub(crate) fn result(&self) -> Result<&Value, CheckVerdict> {
        match &self.content {
            AnswerContent::Result(result) => Ok(result),
            AnswerContent::Error(_) | AnswerContent::Stream(_) | AnswerContent::Other => {
                fail(format!("expected a result, and got {}", self.describe()))
            }
        }
    }

    /// Returns true when the address, or the method at it, seems not to exist.
    pub(crate) fn is_no_route(&self) -> bool {
        // A missing task has the same status as a missing address.
        let reason = self.error().and_then(ErrorView::reason);
        matches!(self.response.status, 404 | 405 | 501)
            && reason != Some(A2aCode::TaskNotFound.name())
    }

    /// Describes the answer in a few words.
    pub(crate) fn describe(&self) -> String {
        let status = self.response.status;
        match &self.content {
            AnswerContent::Result(_) => format!("HTTP {status} with a result"),
            AnswerContent::Stream(events) => {
                format!("HTTP {status} with a stream of {} events", events.len())
            }
            AnswerContent::Error(error) => {
                let code = error.code.map(|code| code.to_string()).unwrap_or_default();
                let what = match self.binding {
                    Binding::JsonRpc | Binding::HttpJson => {
                        format!("HTTP {status} with error {code}")
                    }
                    Binding::Grpc => error.status.clone().unwrap_or("an unknown status".to_owned()),
                };
                let message = plain(error.message.as_deref().unwrap_or_default(), WORD);
                let reason = error.reason().map(|reason| format!(" ({})", plain(reason, WORD)));
                format!("{what}{} \"{message}\"", reason.unwrap_or_default())
            }
            AnswerContent::Other if self.response.body.is_empty() => {
                format!("HTTP {status} without a body")
            }
            AnswerContent::Other => {
                let kind = self.response.media_type();
                let kind = if kind.is_empty() { "no media type" } else { kind.as_str() };
                format!("HTTP {status} with {} that is no answer of A2A", plain(kind, WORD))
            }
        }
    }

    /// Returns true when the answer is this error, by the values that must be exact on its binding.
    pub(crate) fn is(&self, code: A2aCode) -> bool {
        let Some(error) = self.error() else { return false };
        let status = error.status.as_deref();
        let fits = match self.binding {
            Binding::JsonRpc => return error.code == Some(code.jsonrpc().into()),
            Binding::HttpJson => {
                self.response.status == code.http()
                    && status.is_none_or(|status| status == code.grpc())
            }
            Binding::Grpc => status == Some(code.grpc()),
        };
        fits && error.reason().is_none_or(|reason| reason == code.name() || !code.a2a())
    }

    /// Checks that the answer is one of these errors; the first is the expected one.
    pub(crate) fn refused(&self, codes: &[A2aCode]) -> CheckResult {
        if codes.iter().any(|code| self.is(*code)) {
            return Ok(CheckVerdict::Pass);
        }
        if let Some(older) = codes.iter().find(|code| self.is_of_1_0_0(**code)) {
            let old = self.response.status;
            let new = older.http();
            return warn(format!("HTTP {old} is the status of A2A 1.0.0; 1.0.1 says {new}"));
        }
        let names: Vec<_> = codes.iter().map(|code| self.name(*code)).collect();
        fail(format!("expected {}, and got {}", names.join(" or "), self.describe()))
    }

    /// Returns true for the older HTTP status of three errors, which A2A 1.0.0 defined differently (A2A §5.4).
    fn is_of_1_0_0(&self, code: A2aCode) -> bool {
        let old = [
            (A2aCode::TaskNotCancelable, 409),
            (A2aCode::ContentTypeNotSupported, 415),
            (A2aCode::InvalidAgentResponse, 502),
        ];
        self.binding == Binding::HttpJson
            && self.error().is_some()
            && old.contains(&(code, self.response.status))
    }

    fn name(&self, code: A2aCode) -> String {
        match self.binding {
            Binding::JsonRpc => format!("{} ({})", code.jsonrpc(), code.name()),
            Binding::HttpJson => format!("HTTP {} {} ({})", code.http(), code.grpc(), code.name()),
            Binding::Grpc => format!("{} ({})", code.grpc(), code.name()),
        }
    }
}

/// Returns true when an operation is answered with a stream.
pub(crate) fn streams(operation: Operation) -> bool {
    matches!(operation, Operation::SendStreamingMessage | Operation::SubscribeToTask)
}

fn events(response: &HttpResponse) -> Vec<Value> {
    let events = response.events();
    events.iter().map(|data| tradepost_document::json::from_str(data).unwrap_or_default()).collect()
}
