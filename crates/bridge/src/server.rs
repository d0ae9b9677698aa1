//! MCP: what is answered to a message, whatever carried it, standard input and output, and a router for
//! HTTP.

use std::io;
use std::sync::Arc;

use axum::Router;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tradepost_wire::a2a::error::A2aCode;
use tradepost_wire::json::{Value, json};
use tradepost_wire::jsonrpc::{self, RpcIncoming, RpcMessage, RpcReply as ClientReply};
use tradepost_wire::mcp::{
    self, Lifecycle, McpError, McpListing, McpRequest, ServerInfo, ToolResult,
};

use super::asking::{EventSender, Person, Questions, Sessions};
pub use super::door::HttpAccess;
use super::progress::ProgressNotifier;
use super::{Bridge, BridgeOutcome, CallEnd, door};

/// Where MCP is over HTTP.
pub const PATH: &str = "/mcp";

/// How many requests of one client are worked on at once; the next ones are read when one is done.
const AT_ONCE: usize = 64;

/// How many messages to a client may wait to be written.
const UNWRITTEN: usize = 16;

/// What the only client of a line is called.
const ONLY: &str = "";

/// The method with which clients say hello.
const HELLO: &str = "initialize";

/// The bridge with the list of its tools, and what its clients' people are being asked.
pub(super) struct BridgeHandler {
    bridge: Arc<Bridge>,
    listing: McpListing,
    pub(super) questions: Questions,
    pub(super) sessions: Sessions,
}

impl BridgeHandler {
    pub(super) fn new(bridge: Arc<Bridge>) -> Self {
        let listing = McpListing::of(&bridge.tools(), Vec::new());
        let questions = Questions::new(bridge.options.person_patience);
        let sessions = Sessions::new(bridge.options.secret);
        Self { bridge, listing, questions, sessions }
    }

    /// The answer to a request: the status by which HTTP says it, and JSON. The line leads to the
    /// person, where the client can ask them while it waits; what is said before the answer goes `out`.
    pub(super) async fn answer(
        &self,
        mut request: McpRequest,
        line: Option<&EventSender<'_>>,
        out: Option<&mpsc::Sender<String>>,
    ) -> (u16, String) {
        let introduction = || introduction(&self.bridge);
        let answered = match mcp::answer(&request, introduction, &self.listing) {
            Some(result) => result.map(|result| mcp::body(&request.id, &result)),
            None if request.method == mcp::CALL => {
                match ProgressNotifier::new(&request.params, out) {
                    Some(progress) => {
                        let awaited = || match line {
                            Some(line) if self.questions.is_open(&line.whose, &line.call) => {
                                "waiting for the person"
                            }
                            Some(_) | None => "waiting for dealers or sellers",
                        };
                        progress.during(awaited, self.call(&mut request, line)).await
                    }
                    None => self.call(&mut request, line).await,
                }
            }
            None => {
                let message = "this server has tools/list and tools/call";
                let fail = McpError::new(A2aCode::MethodNotFound, message);
                Err(fail.with_status(request.lifecycle.of_unknown_methods()))
            }
        };
        answered.map_or_else(|fail| (fail.status, fail.body(&request.id)), |body| (200, body))
    }

    async fn call(
        &self,
        request: &mut McpRequest,
        line: Option<&EventSender<'_>>,
    ) -> Result<String, McpError> {
        let invalid = |message: String| McpError::new(A2aCode::InvalidParams, message);
        let Ok(tool) = request.tool(|_| true).map(str::to_owned) else {
            let message = r#"params must be {"name": a tool, "arguments": an object}"#;
            return Err(invalid(message.to_owned()));
        };
        let arguments = Value::Object(request.take_arguments());
        let person = match (request.lifecycle, line) {
            (Lifecycle::Stateless, _) if can_be_asked(request) => {
                let (state, answer) = mcp::asked_within(&request.params);
                Person::Returns { state, answer }
            }
            (Lifecycle::Handshake, Some(line)) => Person::Asked(line),
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
        // The text is for whoever sees nothing else: it says the same in fewer words.
        let document = document.to_string().into();
        let result = ToolResult { document, is_shown: false, text, is_error };
        Ok(result.body(&request.id, request.lifecycle).into())
    }

    /// Takes what a client says that its person did.
    pub(super) fn replied(&self, whose: &str, reply: ClientReply) {
        if let Some(refusal) = self.questions.answered(whose, reply) {
            self.bridge.refuse_late(&refusal);
        }
    }

    /// Takes a notification, of which one is heeded: that a call is not waited for any longer.
    pub(super) fn notified(&self, whose: &str, message: &RpcMessage) {
        let params = message.params.as_ref().filter(|_| message.method == mcp::CANCELLED);
        if let Some(call) = params.and_then(|params| params.get("requestId")) {
            self.questions.cancelled(whose, &call.to_string());
        }
    }
}

/// Whether the client of this request can show its person a form, as far as the request says so.
pub(super) fn can_be_asked(request: &McpRequest) -> bool {
    let says = request.lifecycle == Lifecycle::Stateless || request.method == HELLO;
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

/// Serves one client on standard input and output until it goes away.
///
/// # Errors
/// When it cannot be read or written to; a client that left is no error.
pub async fn serve_stdio(bridge: Arc<Bridge>) -> io::Result<()> {
    match converse(bridge, tokio::io::stdin(), tokio::io::stdout()).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// Serves one client, a line for each message, until it says nothing more and all is answered.
///
/// # Errors
/// As [`serve_stdio`].
pub async fn converse(
    bridge: Arc<Bridge>,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let handler = &BridgeHandler::new(bridge);
    let (out, mut said) = mpsc::channel(UNWRITTEN);
    let mut client = BridgeClient { handler, out, can_be_asked: false };
    let mut lines = BufReader::new(input).split(b'\n');
    let mut answers = FuturesUnordered::new();
    let mut is_open = true;
    while is_open || !answers.is_empty() {
        let mut written = Vec::new();
        tokio::select! {
            // What is ready to be said goes out before more is heard.
            biased;
            Some(line) = said.recv() => written.push(line),
            Some(answer) = answers.next(), if !answers.is_empty() => {
                // What is said during a call goes before its answer.
                written.extend(std::iter::from_fn(|| said.try_recv().ok()));
                written.push(answer);
            }
            line = lines.next_segment(), if is_open && answers.len() < AT_ONCE => match line? {
                Some(line) => match client.hear(&line) {
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
                    // Who says nothing more gives no answers.
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

/// The client at the other end of a line.
struct BridgeClient<'h> {
    handler: &'h BridgeHandler,
    out: mpsc::Sender<String>,
    can_be_asked: bool,
}

/// What becomes of a line.
enum LineOutcome<'h> {
    /// It wants to be worked on.
    Request(McpRequest, Option<EventSender<'h>>),
    /// It is answered at once.
    Answer(String),
    /// Nobody answers it.
    Nothing,
}

impl<'h> BridgeClient<'h> {
    /// Takes a line. What is not even JSON is passed over, as all official servers do.
    fn hear(&mut self, line: &[u8]) -> LineOutcome<'h> {
        let message = match jsonrpc::read_incoming(line) {
            Ok(RpcIncoming::Message(message)) => message,
            Ok(RpcIncoming::Reply(reply)) => {
                self.handler.replied(ONLY, reply);
                return LineOutcome::Nothing;
            }
            Err(reject) if reject.id.is_null() => return LineOutcome::Nothing,
            Err(reject) => {
                return LineOutcome::Answer(McpError::rejected(&reject).body(&reject.id));
            }
        };
        if message.id.is_none() {
            self.handler.notified(ONLY, &message);
        }
        let request = match mcp::request(message, |_| None) {
            Ok(Some(request)) => request,
            Ok(None) => return LineOutcome::Nothing,
            Err((id, fail)) => return LineOutcome::Answer(fail.body(&id)),
        };
        let lifecycle = Lifecycle::without_headers(&request.params);
        let request = McpRequest { lifecycle, ..request };
        if request.method == HELLO {
            self.can_be_asked = can_be_asked(&request);
        }
        let line = self.can_be_asked.then(|| EventSender {
            questions: &self.handler.questions,
            whose: ONLY.to_owned(),
            call: request.id.as_json().to_owned(),
            out: self.out.clone(),
        });
        LineOutcome::Request(request, line)
    }
}

/// MCP over streamable HTTP, at [`PATH`]. Only clients that can show a form have a session, by which
/// their answers are known.
pub fn router(bridge: Arc<Bridge>, door: HttpAccess) -> Router {
    door::router(PATH, BridgeHandler::new(bridge), door)
}
