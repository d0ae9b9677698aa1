#![doc = include_str!("../README.md")]

use tradepost_a2a::error::A2aCode;
use tradepost_a2a::jsonrpc::{self, Id};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};

pub mod app;
pub mod confirmation;
pub mod lenient;
pub mod outline;
pub mod sanitize;
pub mod schema;
pub mod summary;

mod client;
mod elicitation;
mod listing;
mod result;
mod version;

pub use client::{ClientInfo, ClientRequest, DeclaredClient, offered_versions, param_headers};
pub use elicitation::{
    AgreementForm, CANCELLED, FormAnswer, can_be_asked, is_answer, state_and_answer,
};
pub use listing::{Annotations, ListedTool, McpListing, Resource};
pub use result::{ToolResult, body};
pub use version::{
    DISCOVER, HEADER_MISMATCH, INITIALIZE, Lifecycle, SERVER_META, UNSUPPORTED_VERSION, Version,
};

/// The method that calls a tool.
pub const CALL: &str = "tools/call";

/// The error code for an unknown resource, up to 2025-11-25; later releases use invalid parameters.
const RESOURCE_NOT_FOUND: i32 = -32002;

const OK: u16 = 200;
const BAD_REQUEST: u16 = 400;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub struct McpError {
    /// The HTTP status.
    pub status: u16,
    /// The JSON-RPC error code.
    pub code: i32,
    /// The name in the log.
    pub name: &'static str,
    /// The problem and what to do about it.
    pub message: String,
    /// The same for programs.
    pub data: Option<Value>,
}

impl McpError {
    /// Creates an error with HTTP status 200.
    #[must_use]
    pub fn new(code: A2aCode, message: impl Into<String>) -> Self {
        let name = code.name();
        let message = message.into();
        Self { status: OK, code: code.jsonrpc(), name, message, data: None }
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// Creates the error for bytes that are not a message.
    #[must_use]
    pub fn from_reject(reject: &jsonrpc::RpcReject) -> Self {
        let issues = (!reject.duplicate_keys.is_empty())
            .then(|| json!({"issues": jsonrpc::places(&reject.duplicate_keys)}));
        Self { data: issues, ..Self::new(reject.code, reject.message).with_status(BAD_REQUEST) }
    }

    /// Writes the response to the request `id` as JSON.
    #[must_use]
    pub fn body(&self, id: &Id) -> String {
        let error = object!({"code": self.code, "message": self.message, "data"?: self.data});
        json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
    }
}

/// A request.
#[derive(Debug)]
pub struct McpRequest {
    /// The id to echo: a text or a number.
    pub id: Id,
    /// The method's name.
    pub method: String,
    /// The parameters, possibly none.
    pub params: Map,
    /// The lifecycle of the request's version.
    pub lifecycle: Lifecycle,
}

/// Reads a message; `None` is a notification, which is not answered. `header` returns HTTP headers,
/// and `None` on other transports.
///
/// # Errors
///
/// The error, with the id of the request.
pub fn request<'h>(
    message: jsonrpc::RpcMessage,
    header: impl Fn(&str) -> Option<&'h [u8]>,
) -> Result<Option<McpRequest>, (Id, McpError)> {
    let jsonrpc::RpcMessage { id, method, params } = message;
    let Some(id) = id else { return Ok(None) };
    if id.is_null() {
        let fail = McpError::new(A2aCode::InvalidRequest, "id must be a string or a number");
        return Err((id, fail.with_status(BAD_REQUEST)));
    }
    let params = match params {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err((id, McpError::new(A2aCode::InvalidParams, "params must be an object")));
        }
    };
    match Lifecycle::from_request(header, &method, &params) {
        Ok(lifecycle) => Ok(Some(McpRequest { id, method, params, lifecycle })),
        Err(fail) => Err((id, fail)),
    }
}

impl McpRequest {
    /// Returns the name of the called tool. `is_tool` tells which names exist.
    ///
    /// # Errors
    ///
    /// If the parameters do not name an existing tool, or its arguments are not an object.
    pub fn tool(&self, is_tool: impl Fn(&str) -> bool) -> Result<&str, McpError> {
        let invalid = |message| Err(McpError::new(A2aCode::InvalidParams, message));
        let Some(name) = self.params.get("name").and_then(Value::as_str) else {
            return invalid("name must be the name of a tool");
        };
        if !is_tool(name) {
            return invalid("there is no tool of this name; tools/list names those there are");
        }
        match self.params.get("arguments") {
            None | Some(Value::Null | Value::Object(_)) => Ok(name),
            Some(_) => invalid("arguments must be an object"),
        }
    }

    /// Takes the arguments out of a tool call.
    pub fn take_arguments(&mut self) -> Map {
        match self.params.swap_remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            Some(_) | None => Map::new(),
        }
    }
}

/// The server's introduction of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// The program's name.
    pub name: &'static str,
    /// The name shown to people.
    pub title: String,
    /// The program's version.
    pub version: &'static str,
    /// The instructions that models get before they see the tools.
    pub instructions: &'static str,
}

impl ServerInfo {
    fn server(&self) -> Value {
        json!({"name": self.name, "title": self.title, "version": self.version})
    }
}

/// The methods, by their names in metrics and logs.
const METHODS: [&str; 8] = [
    INITIALIZE,
    "ping",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    DISCOVER,
    CALL,
    "tools/list",
];

/// Returns the method's name if the method exists.
#[must_use]
pub fn method(name: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == name)
}

/// Answers every method except tool calls, with the result as JSON. `None` if the method does not
/// exist.
#[must_use]
pub fn answer(
    request: &McpRequest,
    introduction: impl FnOnce() -> ServerInfo,
    listing: &McpListing,
) -> Option<Result<String, McpError>> {
    let McpRequest { params, lifecycle, .. } = request;
    let list = |name, list: &str| {
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            let message = "cursor is none that this server has given; the list has one page";
            return Err(McpError::new(A2aCode::InvalidParams, message));
        }
        Ok(lifecycle.list(name, list))
    };
    Some(match request.method.as_str() {
        INITIALIZE => version::initialize(params, &introduction(), listing),
        DISCOVER if *lifecycle == Lifecycle::Stateless => {
            Ok(version::discovered(&introduction(), listing))
        }
        "ping" => Ok(lifecycle.empty().to_owned()),
        "tools/list" => list("tools", listing.tools()),
        "resources/list" => list("resources", listing.resources()),
        "resources/templates/list" => list("resourceTemplates", "[]"),
        "resources/read" => read(request, listing),
        _ => return None,
    })
}

fn read(request: &McpRequest, listing: &McpListing) -> Result<String, McpError> {
    let fail = |message| McpError::new(A2aCode::InvalidParams, message);
    let uri = request.params.get("uri").and_then(Value::as_str);
    let uri = uri.ok_or_else(|| fail("uri must be the address of a resource"))?;
    if let Some(contents) = listing.contents(uri) {
        return Ok(request.lifecycle.list("contents", contents));
    }
    let fail = fail("there is no such resource; resources/list names those there are");
    Err(match request.lifecycle {
        Lifecycle::Handshake => McpError { code: RESOURCE_NOT_FOUND, ..fail },
        Lifecycle::Stateless => fail,
    })
}
