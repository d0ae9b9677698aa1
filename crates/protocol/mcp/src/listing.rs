//! Lists the tools and resources of a server for MCP, serialised once.

use std::borrow::Cow;

use serde::Serialize;

use tradepost_document::json::{self, Map, RawValue, Value, json, object};

/// A tool in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedTool {
    /// The name for calls.
    pub name: Cow<'static, str>,
    /// The name shown to people.
    pub title: String,
    /// The description for models.
    pub description: String,
    /// The JSON Schema of the arguments, an object.
    pub input_schema: Value,
    /// The JSON Schema of the result, an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// Hints on the tool's effects.
    pub annotations: Annotations,
    /// Further members.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map>,
}

/// Hints on a tool's effects, as far as its owner gives them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// The name shown to people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// True when the tool changes nothing.
    #[serde(rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// True when the tool can destroy data.
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// True when a repeated call has no further effect.
    #[serde(rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// True when the tool reaches other systems.
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// A readable resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The address.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The name shown to people.
    pub title: String,
    /// The description for models.
    pub description: String,
    /// The media type of the text.
    pub mime_type: &'static str,
    /// The text.
    pub text: String,
    /// Further members, for hosts.
    pub meta: Option<Map>,
}

/// The lists and resources of a server, byte for byte the same for every caller.
#[derive(Debug)]
pub struct McpListing {
    names: Vec<Cow<'static, str>>,
    tools: Box<RawValue>,
    resources: Box<RawValue>,
    /// The address and the contents of each resource.
    contents: Vec<(String, Box<RawValue>)>,
}

impl McpListing {
    /// Serialises the lists of these tools and resources.
    #[must_use]
    pub fn new(tools: &[ListedTool], resources: Vec<Resource>) -> Self {
        let listed = |resource: &Resource| {
            let Resource { uri, name, title, description, mime_type, text, meta } = resource;
            object!({
                "uri": uri,
                "name": name,
                "title": title,
                "description": description,
                "mimeType": mime_type,
                "size": text.len(),
                "_meta"?: meta.clone(),
            })
        };
        let contents = |Resource { uri, mime_type, text, meta, .. }: Resource| {
            let contents =
                object!({"uri": uri, "mimeType": mime_type, "text": text, "_meta"?: meta});
            let contents = json!([contents]);
            (uri, written(&contents))
        };
        Self {
            names: tools.iter().map(|tool| tool.name.clone()).collect(),
            tools: written(tools),
            resources: written(&resources.iter().map(listed).collect::<Value>()),
            contents: resources.into_iter().map(contents).collect(),
        }
    }

    /// The names of the tools.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(AsRef::as_ref)
    }

    /// The tools as JSON.
    pub(super) fn tools(&self) -> &str {
        self.tools.get()
    }

    /// The resources as JSON.
    pub(super) fn resources(&self) -> &str {
        self.resources.get()
    }

    /// The contents of a resource as JSON.
    pub(super) fn contents(&self, uri: &str) -> Option<&str> {
        let (_, contents) = self.contents.iter().find(|(known, _)| known == uri)?;
        Some(contents.get())
    }

    /// The server's capabilities with these lists.
    pub(super) fn capabilities(&self) -> Value {
        match self.contents.is_empty() {
            true => json!({"tools": {}}),
            false => json!({"tools": {}, "resources": {}}),
        }
    }
}

fn written(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    json::to_raw_value(value)
        .unwrap_or_else(|_| unreachable!("our own documents have text keys and finite numbers"))
}
