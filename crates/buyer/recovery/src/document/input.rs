//! Reads the answer, and what is known of its request.

use std::borrow::Cow;
use std::time::Duration;

use tradepost_document::catalog::words;
use tradepost_document::json::{self, Value};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};

use crate::advice::{FailedAttempt, ResendEffect, RetryBudget, Tried};
use crate::challenge::Challenge;
use crate::failure::{
    CallFailure, CertificateProblem, Defect, KeptResponse, ProxyProblem, Unanswered, Unsent,
};
use crate::grpc_status::GrpcEnd;
use crate::refusal::{RefusalForm, header_delay};
use crate::response::{self, RawResponse, Via};

/// Longest time budget that is read, in seconds.
const MAX_SECONDS: i64 = 7 * 24 * 60 * 60;

/// Budgets of a request that says nothing of them.
const BUDGET: RetryBudget = RetryBudget { attempts: 3, time: Duration::from_secs(300), tokens: 10 };

words! {
    /// Transports of an answer.
    pub(super) enum AnswerBinding {
        /// JSON-RPC 2.0: A2A, AAP, AdCP over A2A, and MCP with its envelope.
        JsonRpc = "jsonrpc",
        /// Plain HTTP with JSON.
        HttpJson = "http_json",
        /// gRPC: its headers and trailers.
        Grpc = "grpc",
        /// MCP tool result without its envelope.
        McpTool = "mcp_tool",
        /// A2A task without its envelope.
        Task = "task",
        /// Plain text.
        Text = "text",
    }

    /// Failures without an answer.
    pub(super) enum TransportError {
        /// No connection could be made, so that nothing was sent.
        Unreachable = "unreachable",
        /// The server's certificate is not trusted, so that nothing was sent.
        Certificate = "certificate",
        /// The proxy did not connect to the server, so that nothing was sent.
        Proxy = "proxy",
        /// The request was sent, or may have been, and no answer came.
        Unanswered = "unanswered",
        /// The answer began and did not end.
        Truncated = "truncated",
    }

    /// Effects of sending a request twice.
    pub(super) enum EffectWord {
        /// None.
        Read = "read",
        /// That of sending it once.
        Keyed = "keyed",
        /// It may happen twice.
        Unkeyed = "unkeyed",
    }
}

/// Answer, and what is known of its request.
#[derive(Debug)]
pub(super) struct AdviceRequest<'a> {
    received: Received<'a>,
    pub(super) attempt: FailedAttempt,
    pub(super) budget: RetryBudget,
}

#[derive(Debug)]
enum Received<'a> {
    Nothing(TransportError),
    Answer(ReceivedAnswer<'a>),
}

#[derive(Debug)]
struct ReceivedAnswer<'a> {
    binding: AnswerBinding,
    request_id: Option<String>,
    status: u16,
    headers: Vec<Header<'a>>,
    body: Cow<'a, [u8]>,
}

#[derive(Debug)]
struct Header<'a> {
    name: String,
    value: &'a str,
}

impl<'a> AdviceRequest<'a> {
    pub(super) fn read(document: &'a Value) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let at = &DocumentPlace::Root;
        read_object!(document, at, &mut problems, closed {
            optional "binding" => binding: parse::word::<AnswerBinding>,
            optional "request_id" => request_id: read_request_id,
            optional "status" => status: |value, at, problems| {
                parse::integer(value, at, problems, 0, Some(999))
            },
            optional "headers" => headers: read_headers,
            optional "body" => body: |value, _, _| Some(read_body(value)),
            optional "transport_error" => transport_error: parse::word::<TransportError>,
            optional "attempt" => attempt: read_attempt,
            optional "budget" => budget: read_budget,
        });
        let received = match (transport_error, binding) {
            (Some(error), None) => Some(Received::Nothing(error)),
            (None, Some(binding)) => Some(Received::Answer(ReceivedAnswer {
                binding,
                request_id,
                status: status.and_then(|status| u16::try_from(status).ok()).unwrap_or_default(),
                headers: headers.unwrap_or_default(),
                body: body.unwrap_or_default(),
            })),
            (Some(_), Some(_)) => {
                let message = "has both an answer and a transport_error; leave one of them out";
                parse::reject(at, &mut problems, message);
                None
            }
            (None, None) => {
                if document.is_object() && problems.is_empty() {
                    parse::none_of(at, &mut problems, &["binding", "transport_error"]);
                }
                None
            }
        };
        let request = received.map(|received| Self {
            received,
            attempt: attempt.unwrap_or_default(),
            budget: budget.unwrap_or(BUDGET),
        });
        problems.into_result(request)
    }

    /// Returns the failure; `None` when the answer is none.
    pub(super) fn failure(&self) -> Option<CallFailure> {
        match &self.received {
            Received::Nothing(error) => Some(without_answer(*error)),
            Received::Answer(answer) => answer.failure(),
        }
    }
}

fn without_answer(error: TransportError) -> CallFailure {
    let why = || "no answer".to_owned();
    match error {
        TransportError::Unreachable => CallFailure::Unsent(Unsent::Unreachable(why())),
        TransportError::Certificate => CallFailure::Unsent(Unsent::Certificate {
            host: "the server".to_owned(),
            problem: CertificateProblem::Unusable,
        }),
        TransportError::Proxy => CallFailure::Unsent(Unsent::Proxy {
            proxy: "of this machine".to_owned(),
            why: ProxyProblem::Credentials,
        }),
        TransportError::Unanswered => CallFailure::Unanswered(Unanswered::Broken(why())),
        TransportError::Truncated => {
            CallFailure::garbled(Defect::Truncated, KeptResponse::default())
        }
    }
}

impl ReceivedAnswer<'_> {
    fn failure(&self) -> Option<CallFailure> {
        let stated = self.headers.iter().filter(|header| header.name == "www-authenticate");
        let challenges = Challenge::read_all(stated.map(|header| header.value));
        let id = self.id();
        let carrier = RawResponse {
            via: Via::HttpJson,
            status: self.status,
            content_type: self.header("content-type"),
            retry_after: header_delay(|name| self.header(name).map(ToOwned::to_owned)),
            challenges: &challenges,
            body: &self.body,
        };
        if response::is_redirect(self.status) {
            let location = self.header("location").map(ToOwned::to_owned);
            return Some(CallFailure::garbled(Defect::Redirect { location }, carrier.kept()));
        }
        let via = match self.binding {
            AnswerBinding::JsonRpc => Via::JsonRpc { id: &id },
            AnswerBinding::HttpJson => Via::HttpJson,
            AnswerBinding::Grpc => return self.grpc_failure(&carrier),
            AnswerBinding::McpTool => Via::McpTool,
            AnswerBinding::Task => Via::Task,
            AnswerBinding::Text => Via::Text,
        };
        response::read(&RawResponse { via, ..carrier })
    }

    fn grpc_failure(&self, carrier: &RawResponse<'_>) -> Option<CallFailure> {
        match GrpcEnd::from_metadata(|name| self.header(name)) {
            Some(end) if end.number == 0 => None,
            Some(end) => Some(end.failure(carrier)),
            // A gateway has answered in the place of the server.
            None if !matches!(self.status, 0 | 200..=299) => {
                Some(carrier.refused(RefusalForm::Http(self.status)))
            }
            None => Some(CallFailure::garbled(Defect::Truncated, carrier.kept())),
        }
    }

    /// Returns the id that the answer must have: that of the request, else whatever it has.
    fn id(&self) -> String {
        self.request_id.clone().unwrap_or_else(|| {
            let answer = json::from_slice::<Value>(&self.body).unwrap_or_default();
            answer.get("id").map(id_text).unwrap_or_default()
        })
    }

    /// Returns the first value of a header, by its lower-case name.
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.name == name).map(|header| header.value)
    }
}

fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), ToOwned::to_owned)
}

fn read_request_id(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<String> {
    if value.is_string() || value.as_number().is_some() {
        return Some(id_text(value));
    }
    parse::wrong_type(at, problems, "string or number");
    None
}

/// Returns the bytes of a body: a text is taken as it came, any other value is its JSON.
fn read_body(value: &Value) -> Cow<'_, [u8]> {
    match value.as_str() {
        Some(text) => Cow::Borrowed(text.as_bytes()),
        None => Cow::Owned(value.to_string().into_bytes()),
    }
}

/// Reads headers by name, each with one value or a list of them.
fn read_headers<'a>(
    value: &'a Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Vec<Header<'a>>> {
    let Some(members) = value.as_object() else {
        parse::wrong_type(at, problems, "object");
        return None;
    };
    let mut found = Vec::new();
    for (name, value) in members {
        let at = at.key(name);
        let values = match value.as_array() {
            Some(_) => parse::list(value, &at, problems, (0, None), parse::str).unwrap_or_default(),
            None => parse::str(value, &at, problems).into_iter().collect(),
        };
        let name = name.to_ascii_lowercase();
        found.extend(values.into_iter().map(|value| Header { name: name.clone(), value }));
    }
    Some(found)
}

fn read_attempt(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<FailedAttempt> {
    read_object!(value, at, problems, closed {
        optional "effect" => effect: parse::word::<EffectWord>,
        optional "had_credentials" => had_credentials: parse::boolean,
        optional "has_supply" => has_supply: parse::boolean,
        optional "had_context" => had_context: parse::boolean,
        optional "has_card" => has_card: parse::boolean,
        optional "seller" => seller: parse::text,
        optional "tried" => tried: read_tried,
    });
    Some(FailedAttempt {
        effect: match effect {
            None | Some(EffectWord::Read) => ResendEffect::Read,
            Some(EffectWord::Keyed) => ResendEffect::Keyed,
            Some(EffectWord::Unkeyed) => ResendEffect::Unkeyed,
        },
        had_credentials: had_credentials.unwrap_or_default(),
        has_supply: has_supply.unwrap_or_default(),
        had_context: had_context.unwrap_or_default(),
        has_card: has_card.unwrap_or_default(),
        seller,
        tried: tried.unwrap_or_default(),
    })
}

fn read_tried(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Tried> {
    read_object!(value, at, problems, closed {
        optional "retries" => retries: parse::count,
        optional "credentials" => credentials: parse::boolean,
        optional "context" => context: parse::boolean,
        optional "card" => card: parse::boolean,
        optional "billing" => billing: parse::boolean,
    });
    Some(Tried {
        retries: retries.unwrap_or_default(),
        credentials: credentials.unwrap_or_default(),
        context: context.unwrap_or_default(),
        card: card.unwrap_or_default(),
        billing: billing.unwrap_or_default(),
    })
}

fn read_budget(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<RetryBudget> {
    read_object!(value, at, problems, closed {
        optional "attempts" => attempts: parse::count,
        optional "seconds" => seconds: |value, at, problems| {
            parse::number(value, at, problems, 0, Some(MAX_SECONDS))
        },
        optional "tokens" => tokens: parse::count,
    });
    Some(RetryBudget {
        attempts: attempts.unwrap_or(BUDGET.attempts),
        time: seconds.map_or(BUDGET.time, Duration::from_secs_f64),
        tokens: tokens.unwrap_or(BUDGET.tokens),
    })
}
