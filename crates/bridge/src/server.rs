//! MCP itself: the handler that `rmcp` calls, standard input and output, and a router for HTTP.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, JsonObject, ListToolsResult, MetaObject,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError, ServiceExt as _};
use rmcp::{ServerHandler, transport};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tradepost_wire::json::{self, json};

pub use super::door::Door;
use super::tools::INSTRUCTIONS;
use super::{Bridge, Outcome, door, tools};

/// Where MCP is over HTTP.
pub const PATH: &str = "/mcp";

/// The bridge as `rmcp` sees it.
#[derive(Clone)]
pub(super) struct Handler(pub(super) Arc<Bridge>);

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let implementation = Implementation::new("tradepost", env!("CARGO_PKG_VERSION"))
            .with_title("Tradepost, a bridge to car dealers");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.tools().into_iter().map(listed).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools().into_iter().find(|tool| tool.name == name).map(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = converted(&request.arguments.unwrap_or_default());
        match self.0.call(&request.name, &arguments).await {
            Some(outcome) => Ok(result(outcome).into()),
            None => {
                let names: Vec<_> = self.0.tools().iter().map(|tool| tool.name).collect();
                let message = format!("no such tool; there are {}", names.join(", "));
                Err(ErrorData::invalid_params(message, Some(converted(&json!({"tools": names})))))
            }
        }
    }

    /// Whatever `rmcp` could not read as a request that it knows: another method, or one of its
    /// own with parameters that do not fit.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let expected = match request.method.as_str() {
            "tools/call" => "{\"name\": a tool, \"arguments\": an object}",
            "tools/list" => "an object, or none",
            "initialize" => "protocolVersion, capabilities and clientInfo",
            _ => {
                let message = "this server has tools/list and tools/call";
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
            }
        };
        Err(ErrorData::invalid_params(format!("params must be {expected}"), None))
    }
}

/// A document of ours as one of `serde_json`, or the other way round: their text is the same.
fn converted<T: DeserializeOwned + Default>(document: &impl Serialize) -> T {
    json::to_string(document).and_then(|text| json::from_str(&text)).unwrap_or_default()
}

fn listed(tool: tools::Tool) -> Tool {
    let tools::Tool {
        skill: _,
        name,
        title,
        description,
        read_only,
        input_schema,
        output_schema,
        meta,
    } = tool;
    // A lead adds to what the dealer knows, and the same one twice is one.
    let annotations = ToolAnnotations::with_title(title)
        .read_only(read_only)
        .destructive(false)
        .idempotent(true)
        .open_world(true);
    let input: JsonObject = converted(&input_schema);
    Tool::new(Cow::Borrowed(name), Cow::Borrowed(description), input)
        .with_title(title)
        .with_raw_output_schema(Arc::new(converted(&output_schema)))
        .with_annotations(annotations)
        .with_meta(MetaObject(converted(&meta)))
}

fn result(outcome: Outcome) -> CallToolResult {
    let Outcome { document, text, is_error } = outcome;
    let document = converted(&document);
    let mut result = if is_error {
        CallToolResult::structured_error(document)
    } else {
        CallToolResult::structured(document)
    };
    // The text is for whoever sees nothing else: it says the same in fewer words.
    result.content = vec![ContentBlock::text(text)];
    result
}

/// Serves one client on standard input and output until it goes away.
///
/// # Errors
/// When the conversation broke; a client that left is no error.
pub async fn serve_stdio(bridge: Arc<Bridge>) -> Result<(), Box<dyn std::error::Error>> {
    match Handler(bridge).serve(transport::io::stdio()).await {
        Ok(service) => service.waiting().await.map(|_| ()).map_err(Into::into),
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// MCP over streamable HTTP, without sessions, at [`PATH`].
pub fn router(bridge: Arc<Bridge>, door: Door) -> Router {
    door::router(PATH, Handler(bridge), door)
}
