//! The tools of a publisher as MCP lists them, and the whole schema of each as a resource. All of it
//! is written once: it is the same for every caller, to the byte (`N-4`).
//!
//! A model reads the list, so that it is an outline of a few kilobytes in words that all providers
//! take; who wants to know everything that a tool takes reads the resource.

use tradepost_wire::adcp::{Tool, rules};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::RawValue;
use tradepost_wire::json::{Value, json};

/// For how long a client need not ask again, in milliseconds.
const FRESH: u64 = 300_000;

/// What the addresses of the schemas begin with; the name of the tool follows.
const SCHEMAS: &str = "tradepost://schemas/";

/// The lists that MCP knows and we have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// `tools/list`
    Tools,
    /// `resources/list`
    Resources,
    /// `resources/templates/list`, which is empty.
    Templates,
}

/// For whom a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Clients that say hello.
    Plain,
    /// Those of later releases of MCP, who do not (2026-07-28).
    Later,
}

/// What is listed and read, written.
#[derive(Debug)]
pub struct Listing {
    tools: Box<RawValue>,
    resources: Box<RawValue>,
    /// The address of each schema, and the contents of that resource.
    schemas: Vec<(String, Box<RawValue>)>,
}

impl Listing {
    /// The lists of these tools.
    #[must_use]
    pub fn of(tools: &[Tool]) -> Self {
        let schemas: Vec<_> = tools.iter().copied().map(schema).collect();
        let sized = schemas.iter().map(|(_, text)| text.len());
        let resources: Vec<_> =
            tools.iter().copied().zip(sized).map(|(tool, size)| resource(tool, size)).collect();
        let contents = |(uri, text): (String, String)| {
            let contents = json!([{"uri": uri, "mimeType": MIME, "text": text}]);
            (uri, written(&contents))
        };
        Self {
            tools: written(&tools.iter().copied().map(tool).collect()),
            resources: written(&resources.into()),
            schemas: schemas.into_iter().map(contents).collect(),
        }
    }

    /// The result of a list: JSON.
    #[must_use]
    pub fn list(&self, list: List, style: Style) -> String {
        match list {
            List::Tools => result("tools", self.tools.get(), style),
            List::Resources => result("resources", self.resources.get(), style),
            List::Templates => result("resourceTemplates", "[]", style),
        }
    }

    /// The result of `resources/read`: JSON. `None` when there is no such resource.
    #[must_use]
    pub fn read(&self, uri: &str, style: Style) -> Option<String> {
        let (_, contents) = self.schemas.iter().find(|(known, _)| known == uri)?;
        Some(result("contents", contents.get(), style))
    }
}

const MIME: &str = "application/schema+json";

fn result(name: &str, value: &str, style: Style) -> String {
    match style {
        Style::Plain => format!(r#"{{"{name}":{value}}}"#),
        Style::Later => format!(
            r#"{{"{name}":{value},"resultType":"complete","ttlMs":{FRESH},"cacheScope":"public"}}"#
        ),
    }
}

fn tool(tool: Tool) -> Value {
    let annotations = if tool.mutates() {
        // What has a key is done once, however often it is sent.
        json!({"readOnlyHint": false, "idempotentHint": tool.keyed()})
    } else {
        json!({"readOnlyHint": true})
    };
    json!({
        "name": tool.name(),
        "title": tool.title(),
        "description": sentence(tool),
        "inputSchema": rules::outline(tool),
        "annotations": annotations,
    })
}

fn resource(tool: Tool, size: usize) -> Value {
    json!({
        "uri": uri(tool),
        "name": tool.name(),
        "title": format!("{}: what it takes", tool.title()),
        "description": format!("The JSON Schema of everything that {} takes.", tool.name()),
        "mimeType": MIME,
        "size": size,
    })
}

fn uri(tool: Tool) -> String {
    format!("{SCHEMAS}{}", tool.name())
}

fn schema(tool: Tool) -> (String, String) {
    (uri(tool), rules::json_schema(tool).to_string())
}

fn sentence(tool: Tool) -> String {
    tool.docs().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn written(value: &Value) -> Box<RawValue> {
    tradepost_wire::json::to_raw_value(value)
        .unwrap_or_else(|_| unreachable!("our own documents have text keys and finite numbers"))
}
