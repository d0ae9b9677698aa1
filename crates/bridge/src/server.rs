//! MCP: what is answered to a message, whatever carried it, standard input and output, and a router for
//! HTTP.

use std::io;
use std::sync::Arc;

use axum::Router;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tradepost_wire::a2a::error::Code;
use tradepost_wire::json::{Value, json};
use tradepost_wire::jsonrpc;
use tradepost_wire::mcp::{self, Fail, Introduction, Listing, Release, Request, ToolResult};

pub use super::door::Door;
use super::tools::INSTRUCTIONS;
use super::{Bridge, Outcome, door};

/// Where MCP is over HTTP.
pub const PATH: &str = "/mcp";

/// How many requests of one client are worked on at once; the next ones are read when one is done.
const AT_ONCE: usize = 64;

/// The bridge with the list of its tools.
pub(super) struct Handler {
    bridge: Arc<Bridge>,
    listing: Listing,
}

impl Handler {
    pub(super) fn new(bridge: Arc<Bridge>) -> Self {
        let listing = Listing::of(&bridge.tools(), Vec::new());
        Self { bridge, listing }
    }

    /// The answer to a request: the status by which HTTP says it, and JSON.
    pub(super) async fn answer(&self, mut request: Request) -> (u16, String) {
        let answered = match mcp::answer(&request, introduction, &self.listing) {
            Some(result) => result.map(|result| mcp::body(&request.id, &result)),
            None if request.method == mcp::CALL => self.call(&mut request).await,
            None => {
                let message = "this server has tools/list and tools/call";
                let fail = Fail::new(Code::MethodNotFound, message);
                Err(fail.with_status(request.release.of_unknown_methods()))
            }
        };
        answered.map_or_else(|fail| (fail.status, fail.body(&request.id)), |body| (200, body))
    }

    async fn call(&self, request: &mut Request) -> Result<String, Fail> {
        let invalid = |message: String| Fail::new(Code::InvalidParams, message);
        let Ok(tool) = request.tool(|_| true).map(str::to_owned) else {
            let message = r#"params must be {"name": a tool, "arguments": an object}"#;
            return Err(invalid(message.to_owned()));
        };
        let arguments = Value::Object(request.take_arguments());
        let Some(outcome) = self.bridge.call(&tool, &arguments).await else {
            let names: Vec<_> = self.listing.names().collect();
            let fail = invalid(format!("no such tool; there are {}", names.join(", ")));
            return Err(Fail { data: Some(json!({"tools": names})), ..fail });
        };
        let Outcome { document, text, is_error } = outcome;
        // The text is for whoever sees nothing else: it says the same in fewer words.
        let document = document.to_string();
        let result = ToolResult { document, is_shown: false, text, is_error };
        Ok(result.body(&request.id, request.release))
    }

    /// The answer to a line, where it wants one. What is not even JSON is passed over, as all official
    /// servers do.
    async fn hear(&self, line: &[u8]) -> Option<String> {
        let heard = match jsonrpc::read_message(line) {
            Ok(message) => mcp::request(message, |_| None),
            Err(reject) if reject.id.is_null() => Ok(None),
            Err(reject) => Err((reject.id.clone(), Fail::rejected(&reject))),
        };
        match heard {
            Ok(Some(request)) => {
                let release = Release::without_headers(&request.params);
                Some(self.answer(Request { release, ..request }).await.1)
            }
            Ok(None) => None,
            Err((id, fail)) => Some(fail.body(&id)),
        }
    }
}

fn introduction() -> Introduction {
    Introduction {
        name: "tradepost",
        title: "Tradepost, a bridge to car dealers".to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        instructions: INSTRUCTIONS,
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
    let handler = &Handler::new(bridge);
    let mut lines = BufReader::new(input).split(b'\n');
    let mut answers = FuturesUnordered::new();
    let mut is_open = true;
    while is_open || !answers.is_empty() {
        tokio::select! {
            line = lines.next_segment(), if is_open && answers.len() < AT_ONCE => match line? {
                Some(line) => answers.push(async move { handler.hear(&line).await }),
                None => is_open = false,
            },
            Some(answer) = answers.next(), if !answers.is_empty() => {
                if let Some(answer) = answer {
                    output.write_all(format!("{answer}\n").as_bytes()).await?;
                    output.flush().await?;
                }
            }
        }
    }
    Ok(())
}

/// MCP over streamable HTTP, without sessions, at [`PATH`].
pub fn router(bridge: Arc<Bridge>, door: Door) -> Router {
    door::router(PATH, Handler::new(bridge), door)
}
