//! MCP server: answers messages independently of the transport, over standard input and output, and over HTTP.

use std::io;
use std::sync::Arc;

use axum::Router;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tradepost_a2a::error::A2aCode;
use tradepost_a2a::jsonrpc::{self, RpcIncoming, RpcMessage, RpcReply as ClientReply};
use tradepost_document::json::{Value, json};
use tradepost_mcp::{
    self as mcp, Lifecycle, McpError, McpListing, McpRequest, ServerInfo, ToolResult,
};

pub use super::access::HttpAccess;
use super::person_form::{EventSender, Person, Questions, Sessions};
use super::progress::ProgressNotifier;
use super::{Bridge, BridgeOutcome, CallEnd, access};

/// Path of MCP over HTTP.
pub const PATH: &str = "/mcp";

/// Maximum number of concurrent requests of one client; further ones are read when one is done.
const MAX_REQUESTS: usize = 64;

/// Maximum number of messages to a client that wait to be written.
const MAX_QUEUED_MESSAGES: usize = 16;

/// Session name of the only client on standard input.
const STDIO_SESSION: &str = "";

/// Method with which a client opens a session.
const INITIALIZE: &str = "initialize";

/// Message handler: the bridge, the list of its tools, and the open questions and sessions of its clients.
pub(super) struct BridgeHandler {
    bridge: Arc<Bridge>,
    listing: McpListing,
    pub(super) questions: Questions,
    pub(super) sessions: Sessions,
}

impl BridgeHandler {
    pub(super) fn new(bridge: Arc<Bridge>) -> Self {
        let listing = McpListing::new(&bridge.tools(), bridge.resources());
        let questions = Questions::new(bridge.options.person_patience);
        let sessions = Sessions::new(bridge.options.secret);
        Self { bridge, listing, questions, sessions }
    }

    /// Answers a request with an HTTP status and JSON. `client` can ask the person while the call waits; messages that
    /// precede the answer go to `out`.
    pub(super) async fn answer(
        &self,
        mut request: McpRequest,
        client: Option<&EventSender<'_>>,
        out: Option<&mpsc::Sender<String>>,
    ) -> (u16, String) {
        let introduction = || introduction(&self.bridge);
        let answered = match mcp::answer(&request, introduction, &self.listing) {
            Some(result) => result.map(|result| mcp::body(&request.id, &result)),
            None if request.method == mcp::CALL => {
                match ProgressNotifier::new(&request.params, out) {
                    Some(progress) => {
                        let awaited = || match client {
                            Some(client)
                                if self.questions.is_open(&client.session, &client.call) =>
                            {
                                "waiting for the person"
                            }
                            Some(_) | None => "waiting for dealers or sellers",
                        };
                        progress.during(awaited, self.call(&mut request, client)).await
                    }
                    None => self.call(&mut request, client).await,
                }
            }
            None => {
                let message =
                    "this server has tools/list, tools/call, resources/list and resources/read";
                let fail = McpError::new(A2aCode::MethodNotFound, message);
                Err(fail.with_status(request.lifecycle.of_unknown_methods()))
            }
        };
        answered.map_or_else(|fail| (fail.status, fail.body(&request.id)), |body| (200, body))
    }

    /// Calls the tool that a request names, and returns the JSON-RPC answer.
    async fn call(
        &self,
        request: &mut McpRequest,
        client: Option<&EventSender<'_>>,
    ) -> Result<String, McpError> {
        let invalid = |message: String| McpError::new(A2aCode::InvalidParams, message);
        let Ok(tool) = request.tool(|_| true).map(str::to_owned) else {
            let message = r#"params must be {"name": a tool, "arguments": an object}"#;
            return Err(invalid(message.to_owned()));
        };
        let arguments = Value::Object(request.take_arguments());
        let person = match (request.lifecycle, client) {
            (Lifecycle::Stateless, _) if can_be_asked(request) => {
                let (state, answer) = mcp::state_and_answer(&request.params);
                Person::Returns { state, answer }
            }
            (Lifecycle::Handshake, Some(client)) => Person::Asked(client),
            (Lifecycle::Stateless, _) | (Lifecycle::Handshake, None) => Person::ByModel,
        };
        let outcome = match self.bridge.call_for(person, &tool, &arguments).await {
            Some(CallEnd::Said(outcome)) => outcome,
            Some(CallEnd::Ask { form, state }) => {
                return Ok(mcp::body(&request.id, &form.result(&state)));
            }
            None => {
                let names: Vec<_> = self.listing.names().collect();
                let fail = invalid(format!("no such tool; there are {}", names.join(", ")));
                return Err(McpError { data: Some(json!({"tools": names})), ..fail });
            }
        };
        let BridgeOutcome { document, text, is_error } = outcome;
        // The text is for clients that show nothing else: it says the same in fewer words.
        let document = document.to_string().into();
        let result = ToolResult { document, is_shown: false, text, is_error };
        Ok(result.body(&request.id, request.lifecycle).into())
    }

    /// Takes a client's report of its person's answer.
    pub(super) fn replied(&self, session: &str, reply: ClientReply) {
        if let Some(refusal) = self.questions.answered(session, reply) {
            self.bridge.refuse_late(&refusal);
        }
    }

    /// Takes a notification; only the cancellation of a call has an effect.
    pub(super) fn notified(&self, session: &str, message: &RpcMessage) {
        let params = message.params.as_ref().filter(|_| message.method == mcp::CANCELLED);
        if let Some(call) = params.and_then(|params| params.get("requestId")) {
            self.questions.cancelled(session, &call.to_string());
        }
    }
}

/// Returns true when the request shows that its client can show a form.
pub(super) fn can_be_asked(request: &McpRequest) -> bool {
    let says = request.lifecycle == Lifecycle::Stateless || request.method == INITIALIZE;
    says && mcp::can_be_asked(request.lifecycle, &request.params)
}

fn introduction(bridge: &Bridge) -> ServerInfo {
    ServerInfo {
        name: "tradepost",
        title: "Tradepost, a bridge to sellers".to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        instructions: bridge.instructions(),
    }
}

/// Serves one client on standard input and output until it disconnects.
///
/// # Errors
/// When it cannot be read or written to; a client that left is no error.
pub async fn serve_stdio(bridge: Arc<Bridge>) -> io::Result<()> {
    match converse(bridge, tokio::io::stdin(), tokio::io::stdout()).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// Serves one client, one message a line, until its input ends and everything is answered.
///
/// # Errors
/// As [`serve_stdio`].
pub async fn converse(
    bridge: Arc<Bridge>,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let handler = &BridgeHandler::new(bridge);
    let (out, mut outgoing) = mpsc::channel(MAX_QUEUED_MESSAGES);
    let mut client = BridgeClient { handler, out, can_be_asked: false };
    let mut lines = BufReader::new(input).split(b'\n');
    let mut answers = FuturesUnordered::new();
    let mut is_open = true;
    while is_open || !answers.is_empty() {
        let mut written = Vec::new();
        tokio::select! {
            // Messages that are ready are written before more is read.
            biased;
            Some(line) = outgoing.recv() => written.push(line),
            Some(answer) = answers.next(), if !answers.is_empty() => {
                // Messages sent during a call precede its answer.
                written.extend(std::iter::from_fn(|| outgoing.try_recv().ok()));
                written.push(answer);
            }
            line = lines.next_segment(), if is_open && answers.len() < MAX_REQUESTS => match line? {
                Some(line) => match client.read_line(&line) {
                    LineOutcome::Request(request, line) => {
                        let out = client.out.clone();
                        answers.push(async move {
                            handler.answer(request, line.as_ref(), Some(&out)).await.1
                        });
                    }
                    LineOutcome::Answer(answer) => written.push(answer),
                    LineOutcome::Nothing => {}
                },
                None => {
                    is_open = false;
                    // A client whose input has ended cannot answer questions.
                    handler.questions.close();
                }
            },
        }
        for written in written {
            output.write_all(format!("{written}\n").as_bytes()).await?;
            output.flush().await?;
        }
    }
    Ok(())
}

/// Client of a line-based connection.
struct BridgeClient<'h> {
    handler: &'h BridgeHandler,
    out: mpsc::Sender<String>,
    can_be_asked: bool,
}

/// Outcome of a line.
enum LineOutcome<'h> {
    /// Request to process.
    Request(McpRequest, Option<EventSender<'h>>),
    /// Answer to send at once.
    Answer(String),
    /// No answer.
    Nothing,
}

impl<'h> BridgeClient<'h> {
    /// Reads a line. Input that is not JSON is ignored, as all official servers do.
    fn read_line(&mut self, line: &[u8]) -> LineOutcome<'h> {
        let message = match jsonrpc::read_incoming(line) {
            Ok(RpcIncoming::Message(message)) => message,
            Ok(RpcIncoming::Reply(reply)) => {
                self.handler.replied(STDIO_SESSION, reply);
                return LineOutcome::Nothing;
            }
            Err(reject) if reject.id.is_null() => return LineOutcome::Nothing,
            Err(reject) => {
                return LineOutcome::Answer(McpError::from_reject(&reject).body(&reject.id));
            }
        };
        if message.id.is_none() {
            self.handler.notified(STDIO_SESSION, &message);
        }
        let request = match mcp::request(message, |_| None) {
            Ok(Some(request)) => request,
            Ok(None) => return LineOutcome::Nothing,
            Err((id, fail)) => return LineOutcome::Answer(fail.body(&id)),
        };
        let lifecycle = Lifecycle::without_headers(&request.params);
        let request = McpRequest { lifecycle, ..request };
        if request.method == INITIALIZE {
            self.can_be_asked = can_be_asked(&request);
        }
        let line = self.can_be_asked.then(|| EventSender {
            questions: &self.handler.questions,
            session: STDIO_SESSION.to_owned(),
            call: request.id.as_json().to_owned(),
            out: self.out.clone(),
        });
        LineOutcome::Request(request, line)
    }
}

/// Returns the router of MCP over streamable HTTP, at [`PATH`]. Only clients that can show a form get a session,
/// which identifies their answers.
pub fn router(bridge: Arc<Bridge>, access: HttpAccess) -> Router {
    access::router(PATH, BridgeHandler::new(bridge), access)
}
