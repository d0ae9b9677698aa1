//! Forms in versions of MCP with a handshake: the answer to a call is a stream of events that begins with a request to
//! the client (`elicitation/create`) and ends with the result. The person's answer comes with a POST of its own, in the
//! session of the call. A client that declares forms and answers none gets the result that it would get without them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt as _;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tradepost_a2a::jsonrpc::Id;
use tradepost_document::json::{Map, Value};
use tradepost_mcp::{self as mcp, DeclaredClient, Lifecycle};

use super::super::exchange::{LogFields, LoggedResponse};
use super::super::{intake, observe};
use super::written;
use crate::agent::{Caller, SharedAgent};
use crate::fault::InternalError;
use crate::questions::AskedQuestion;
use crate::registry::AgentRegistry;
use crate::tools::{CallOrigin, FormSupport, ToolCall, ToolOutcome};

/// Maximum time for a person to answer. Clients end a call after a minute by default.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(50);

/// Silence after which a comment is written, so that no proxy takes the stream for dead.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// A call that goes on after its request has been read.
#[derive(Debug)]
pub(super) struct PendingCall {
    /// Agents of the process.
    pub(super) registry: Arc<AgentRegistry>,
    /// Agent that is called.
    pub(super) agent: SharedAgent,
    /// Caller.
    pub(super) caller: Caller,
    /// The client, as it describes itself.
    pub(super) client: Option<DeclaredClient>,
    /// Session in which the person's answer comes.
    pub(super) session: String,
    /// Name of the tool.
    pub(super) tool: String,
    /// Arguments, unchecked.
    pub(super) arguments: Map,
    /// Head of the request.
    pub(super) parts: Parts,
    /// Body of the request.
    pub(super) body: Vec<u8>,
    /// Id of the request.
    pub(super) id: Id,
}

impl PendingCall {
    /// Calls the tool. When it shows a form, the person is asked, and it is called again.
    pub(super) async fn answer(self) -> LoggedResponse {
        let first = self.call(FormSupport::Returned { state: None, answer: None }).await;
        let ToolOutcome::Form { form, state, tool } = first else {
            return self.written(first);
        };
        let asked = self.registry.questions.open(&self.session, self.caller.limit_key());
        let Some(AskedQuestion { id, answer }) = asked else {
            let outcome = self.call(FormSupport::Unanswered).await;
            return self.written(outcome);
        };
        // Goes on when the client leaves: what a person has agreed to must not be interrupted.
        let work = tokio::spawn(self.finish(state, answer));
        let stamp = LogFields { skill: Some(tool), ..LogFields::default() };
        (respond(event(&form.request(&id)), work), stamp)
    }

    /// Waits for the person, calls the tool again and returns the last event.
    async fn finish(self, state: String, answer: oneshot::Receiver<Value>) -> String {
        let begun = tokio::time::Instant::now();
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, answer).await;
        let answer = answer.ok().and_then(Result::ok);
        let form = match &answer {
            Some(answer) if mcp::is_answer(answer) => {
                FormSupport::Returned { state: Some(&state), answer: Some(answer) }
            }
            Some(_) | None => FormSupport::Unanswered,
        };
        let outcome = self.call(form).await;
        let (response, stamp) = self.written(outcome);
        let agent = Some(Arc::clone(&self.agent));
        let stamp = LogFields { agent, ..stamp.by(&self.caller) };
        observe::log_end(&self.registry, response.status(), begun.elapsed(), stamp);
        let body = response.into_body().collect().await.map(|body| body.to_bytes());
        event(&String::from_utf8_lossy(&body.unwrap_or_default()))
    }

    fn written(&self, outcome: ToolOutcome) -> LoggedResponse {
        written(&self.agent, self.agent.tools(), &self.id, Lifecycle::Handshake, outcome)
    }

    /// Calls the tool with this support for forms.
    async fn call(&self, form: FormSupport<'_>) -> ToolOutcome {
        let Some(tools) = self.agent.tools() else {
            let fault = InternalError::new("calling a tool", "the agent has no tools any more");
            return ToolOutcome::Broken(fault);
        };
        let call = ToolCall {
            tool: &self.tool,
            arguments: self.arguments.clone(),
            caller: &self.caller,
            client: self.client.clone(),
            form,
            sent: intake::sent(&self.parts, &self.body),
            origin: CallOrigin { registry: &self.registry, parts: &self.parts },
            patience: self.registry.settings.request_timeout,
        };
        self.registry.call(&self.agent, tools, call).await
    }
}

/// Formats an event. Our JSON has no line breaks, so one `data` line is enough.
fn event(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

/// What is still to be written on a stream.
enum StreamStep {
    /// The question, and then the result.
    Question(String, JoinHandle<String>),
    /// The result.
    Result(JoinHandle<String>),
    /// Nothing.
    End,
}

/// Creates the stream: the question, and the result when it is there.
fn respond(question: String, work: JoinHandle<String>) -> Response {
    let events = stream::unfold(StreamStep::Question(question, work), |step| async move {
        let (text, next) = match step {
            StreamStep::Question(question, work) => (question, StreamStep::Result(work)),
            StreamStep::Result(mut work) => {
                match tokio::time::timeout(KEEP_ALIVE_INTERVAL, &mut work).await {
                    Ok(last) => (last.unwrap_or_default(), StreamStep::End),
                    Err(_) => (":\n\n".to_owned(), StreamStep::Result(work)),
                }
            }
            StreamStep::End => return None,
        };
        Some((Ok::<_, Infallible>(Bytes::from(text)), next))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // Proxies that buffer answers would hold back the question.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(events)).into_response()
}
