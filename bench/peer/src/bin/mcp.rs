//! A bare MCP server on `rmcp`: stateless, answers in JSON, and answers every call with the same
//! result, which it reads from a file at the start. Something to compare a seller with.
//!
//! `tradepost-bench-mcp ANSWER` listens on a free loopback port and says which. ANSWER is a file with a
//! JSON-RPC answer to `tools/call`, whose result is given.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::ServerHandler;

/// Says the same whatever it is asked.
#[derive(Clone)]
struct Echo(Arc<CallToolResult>);

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::clone(&self.0).into())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a file with an answer")?;
    let mut answer: serde_json::Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let result: CallToolResult =
        serde_json::from_value(answer.get_mut("result").ok_or("no result in it")?.take())?;
    let echo = Echo(Arc::new(result));
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(echo.clone()), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    writeln!(std::io::stdout(), "listening on http://{}", listener.local_addr()?)?;
    let listener = listener.tap_io(|connection| {
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}
