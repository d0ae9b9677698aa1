//! The tools and resources of a server as MCP lists them, written once.

use std::borrow::Cow;

use serde::Serialize;

use crate::json::{self, Map, RawValue, Value, json};

/// A tool as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tool {
    /// By which it is called.
    pub name: Cow<'static, str>,
    /// For people.
    pub title: String,
    /// For models.
    pub description: String,
    /// What it takes: a JSON Schema of an object.
    pub input_schema: Value,
    /// What it gives: a JSON Schema of an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// What it does to the world.
    pub annotations: Annotations,
    /// Anything else.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map>,
}

/// What a tool does to the world, as far as its owner says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Annotations {
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it changes nothing.
    #[serde(rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// Whether it takes something away.
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Whether the same call twice is one.
    #[serde(rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// Whether it reaches others.
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// For people.
    pub title: String,
    /// For models.
    pub description: String,
    /// The media type of its text.
    pub mime_type: &'static str,
    /// What it says.
    pub text: String,
}

/// What is listed and read: the same for every caller, to the byte.
#[derive(Debug)]
pub struct Listing {
    names: Vec<Cow<'static, str>>,
    tools: Box<RawValue>,
    resources: Box<RawValue>,
    /// The address of each resource, and its contents.
    contents: Vec<(String, Box<RawValue>)>,
}

impl Listing {
    /// The lists of these.
    #[must_use]
    pub fn of(tools: &[Tool], resources: Vec<Resource>) -> Self {
        let listed = |Resource { uri, name, title, description, mime_type, text }: &Resource| {
            json!({
                "uri": uri,
                "name": name,
                "title": title,
                "description": description,
                "mimeType": mime_type,
                "size": text.len(),
            })
        };
        let contents = |Resource { uri, mime_type, text, .. }: Resource| {
            let contents = json!([{"uri": uri, "mimeType": mime_type, "text": text}]);
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

    /// The tools: JSON.
    pub(super) fn tools(&self) -> &str {
        self.tools.get()
    }

    /// The resources: JSON.
    pub(super) fn resources(&self) -> &str {
        self.resources.get()
    }

    /// What is in a resource: JSON.
    pub(super) fn contents(&self, uri: &str) -> Option<&str> {
        let (_, contents) = self.contents.iter().find(|(known, _)| known == uri)?;
        Some(contents.get())
    }

    /// What a server with these can do.
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
