//! MCP, as whoever has tools needs it, whatever carries the messages: how a message is read and in which
//! [`Release`], what is said of oneself, the lists of tools and resources, and what a tool answers.
//! There are neither sessions nor streams here: every message is answered by itself. What a server says to
//! have the person behind a client asked is here, too.

use crate::a2a::error::Code;
use crate::catalog::Vocabulary as _;
use crate::json::{Map, Value, json};
use crate::jsonrpc::{self, Id};

mod elicitation;
mod listing;
mod release;
mod result;

pub use elicitation::{CANCELLED, Elicited, Form, asked_within, can_be_asked};
pub use listing::{Annotations, Listing, Resource, Tool};
pub use release::{Release, UNSUPPORTED_VERSION, supported};
pub use result::{ToolResult, body};

/// The method that calls a tool.
pub const CALL: &str = "tools/call";

/// That there is no such resource, up to 2025-11-25; later it is an invalid parameter.
const RESOURCE_NOT_FOUND: i32 = -32002;

const OK: u16 = 200;
const BAD_REQUEST: u16 = 400;

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub struct Fail {
    /// The status by which HTTP says it.
    pub status: u16,
    /// The number in JSON-RPC.
    pub code: i32,
    /// What the log calls it.
    pub name: &'static str,
    /// What is wrong and what to do.
    pub message: String,
    /// The same for programs.
    pub data: Option<Value>,
}

impl Fail {
    /// An error that HTTP has no status for.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let (name, message) = (code.name(), message.into());
        Self { status: OK, code: code.jsonrpc(), name, message, data: None }
    }

    /// The same with a status of HTTP.
    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    /// What is said to bytes that are no message.
    #[must_use]
    pub fn rejected(reject: &jsonrpc::Reject) -> Self {
        let issues =
            (!reject.twice.is_empty()).then(|| json!({"issues": jsonrpc::places(&reject.twice)}));
        Self { data: issues, ..Self::new(reject.code, reject.message).with_status(BAD_REQUEST) }
    }

    /// The answer to the request with this id: JSON.
    #[must_use]
    pub fn body(&self, id: &Id) -> String {
        let mut error = json!({"code": self.code, "message": self.message});
        if let (Some(error), Some(data)) = (error.as_object_mut(), &self.data) {
            error.insert("data".to_owned(), data.clone());
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string()
    }
}

/// A request.
#[derive(Debug)]
pub struct Request {
    /// The id to echo: a text or a number.
    pub id: Id,
    /// The method's name.
    pub method: String,
    /// The parameters, or none.
    pub params: Map,
    /// How it is to be understood.
    pub release: Release,
}

/// Reads a message; `None` is a notification, which nobody answers. `header` finds those of HTTP, and
/// nothing where there are none.
///
/// # Errors
/// What is wrong with it, for the request with this id.
pub fn request<'h>(
    message: jsonrpc::Message,
    header: impl Fn(&str) -> Option<&'h [u8]>,
) -> Result<Option<Request>, (Id, Fail)> {
    let jsonrpc::Message { id, method, params } = message;
    let Some(id) = id else { return Ok(None) };
    if id.is_null() {
        let fail = Fail::new(Code::InvalidRequest, "id must be a string or a number");
        return Err((id, fail.with_status(BAD_REQUEST)));
    }
    let params = match params {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err((id, Fail::new(Code::InvalidParams, "params must be an object"))),
    };
    match Release::of(header, &method, &params) {
        Ok(release) => Ok(Some(Request { id, method, params, release })),
        Err(fail) => Err((id, fail)),
    }
}

impl Request {
    /// The tool that is called. `is_tool` knows those that there are.
    ///
    /// # Errors
    /// That this is no call of one of them, with an object as its arguments.
    pub fn tool(&self, is_tool: impl Fn(&str) -> bool) -> Result<&str, Fail> {
        let invalid = |message| Err(Fail::new(Code::InvalidParams, message));
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

    /// Takes the arguments out of a call of a tool.
    pub fn take_arguments(&mut self) -> Map {
        match self.params.swap_remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            Some(_) | None => Map::new(),
        }
    }
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The program.
    pub name: &'static str,
    /// For people.
    pub title: String,
    /// The program's version.
    pub version: &'static str,
    /// For models, before they see the tools.
    pub instructions: &'static str,
}

impl Introduction {
    fn server(&self) -> Value {
        json!({"name": self.name, "title": self.title, "version": self.version})
    }
}

/// The methods, as numbers and logs name them.
const METHODS: [&str; 8] = [
    "initialize",
    "ping",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    CALL,
    "tools/list",
];

/// A method's name, where there is such a method.
#[must_use]
pub fn method(name: &str) -> Option<&'static str> {
    METHODS.into_iter().find(|known| *known == name)
}

/// The result of whatever is no call of a tool: JSON. `None` where there is no such method.
#[must_use]
pub fn answer(
    request: &Request,
    introduction: impl FnOnce() -> Introduction,
    listing: &Listing,
) -> Option<Result<String, Fail>> {
    let Request { params, release, .. } = request;
    let list = |name, list: &str| {
        if params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            let message = "cursor is none that this server has given; the list has one page";
            return Err(Fail::new(Code::InvalidParams, message));
        }
        Ok(release.list(name, list))
    };
    Some(match request.method.as_str() {
        "initialize" => release::initialize(params, &introduction(), listing),
        "server/discover" if *release == Release::Later => {
            Ok(release::discovered(&introduction(), listing))
        }
        "ping" => Ok(release.empty().to_owned()),
        "tools/list" => list("tools", listing.tools()),
        "resources/list" => list("resources", listing.resources()),
        "resources/templates/list" => list("resourceTemplates", "[]"),
        "resources/read" => read(request, listing),
        _ => return None,
    })
}

fn read(request: &Request, listing: &Listing) -> Result<String, Fail> {
    let fail = |message| Fail::new(Code::InvalidParams, message);
    let uri = request.params.get("uri").and_then(Value::as_str);
    let uri = uri.ok_or_else(|| fail("uri must be the address of a resource"))?;
    if let Some(contents) = listing.contents(uri) {
        return Ok(request.release.list("contents", contents));
    }
    let fail = fail("there is no such resource; resources/list names those there are");
    Err(match request.release {
        Release::Plain => Fail { code: RESOURCE_NOT_FOUND, ..fail },
        Release::Later => fail,
    })
}
