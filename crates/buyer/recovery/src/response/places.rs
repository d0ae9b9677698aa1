//! Places where an AdCP error object may stand, in the order of the search.

use std::borrow::Cow;

use tradepost_adcp::error::{AdcpError, ErrorFormatError, MAX_LISTED};
use tradepost_document::json::Value;

use crate::refusal::Adcp;

/// Layer of an answer in which an error stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorLayer {
    /// `structuredContent` of an MCP tool result.
    Structured,
    /// Data part of a task's artifact.
    Artifact,
    /// Data part of a task's status message.
    StatusMessage,
    /// `data` of a JSON-RPC error, details of a status, or the body itself.
    Envelope,
    /// JSON in a text.
    Text,
    /// `errors[]` of a payload.
    Payload,
}

/// Result of the search.
#[derive(Debug)]
pub(crate) enum FoundError {
    /// Error object.
    Adcp(Box<Adcp>),
    /// Malformed error object; the search ends there.
    // T-6
    Malformed(ErrorFormatError),
    /// No AdCP error.
    Nothing,
}

/// Places of one answer.
#[derive(Debug, Default)]
pub(crate) struct Places<'v> {
    /// Objects with their layers, in the order of the search; those parsed from a text are owned.
    objects: Vec<(ErrorLayer, Cow<'v, Value>)>,
    /// Texts for people.
    texts: Vec<&'v str>,
}

impl<'v> Places<'v> {
    /// Collects the places of an MCP tool result with `isError`.
    pub(super) fn tool(result: &'v Value) -> Self {
        let mut places = Self::default();
        if let Some(structured) = result.get("structuredContent") {
            places.push(ErrorLayer::Structured, structured);
        }
        let content = result.get("content").and_then(Value::as_array);
        for item in content.into_iter().flatten().take(MAX_LISTED) {
            if let Some(text) = item.get("text").and_then(Value::as_str) {
                places.push_text(text);
            }
        }
        places
    }

    /// Collects the places of a failed task.
    pub(super) fn task(task: &'v Value) -> Self {
        let mut places = Self::default();
        let artifacts = task.get("artifacts").and_then(Value::as_array);
        let of_artifact = |artifact: &'v Value| artifact.get("parts").and_then(Value::as_array);
        for part in artifacts.into_iter().flatten().filter_map(of_artifact).flatten() {
            places.push_part(ErrorLayer::Artifact, part);
        }
        let parts = task.pointer("/status/message/parts").and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            places.push_part(ErrorLayer::StatusMessage, part);
        }
        places
    }

    /// Collects the places of a JSON-RPC error's `data`, the details of a status, or a refused body.
    pub(crate) fn data(data: &'v Value) -> Self {
        let mut places = Self::default();
        places.push(ErrorLayer::Envelope, data);
        for detail in data.as_array().into_iter().flatten().take(MAX_LISTED) {
            places.push(ErrorLayer::Envelope, detail);
            // A google.protobuf.Struct in JSON has its members in `value`.
            if let Some(value) = detail.get("value") {
                places.push(ErrorLayer::Envelope, value);
            }
        }
        places
    }

    /// Collects the places of a payload that calls itself failed.
    pub(super) fn payload(payload: &'v Value) -> Self {
        let mut places = Self::default();
        places.push(ErrorLayer::Payload, payload);
        places
    }

    /// Collects the places of a text.
    pub(super) fn text(text: &'v str) -> Self {
        let mut places = Self::default();
        places.push_text(text);
        places
    }

    /// Returns the payloads of a result that the transport does not call failed.
    pub(super) fn payloads(result: &'v Value, task: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![result];
        found.extend(result.get("structuredContent"));
        let artifacts = task.get("artifacts").and_then(Value::as_array);
        let parts = artifacts.and_then(|artifacts| artifacts.last()?.get("parts")?.as_array());
        // The last data part is the one that counts.
        found.extend(parts.into_iter().flatten().rev().find_map(|part| part.get("data")));
        found
    }

    fn push(&mut self, layer: ErrorLayer, value: &'v Value) {
        if value.is_object() {
            self.objects.push((layer, Cow::Borrowed(value)));
        }
    }

    fn push_part(&mut self, layer: ErrorLayer, part: &'v Value) {
        if let Some(data) = part.get("data") {
            self.push(layer, data);
        }
        self.texts.extend(part.get("text").and_then(Value::as_str));
    }

    fn push_text(&mut self, text: &'v str) {
        self.texts.push(text);
        // Texts may be long, so only one that looks like an object is parsed.
        if text.trim_ascii_start().starts_with('{')
            && let Ok(value @ Value::Object(_)) = tradepost_document::json::from_str(text)
        {
            self.objects.push((ErrorLayer::Text, Cow::Owned(value)));
        }
    }

    /// Returns all objects, in which another profile's error may be.
    pub(super) fn data_values(&self) -> impl Iterator<Item = &Value> {
        self.objects.iter().map(|(_, candidate)| &**candidate)
    }

    /// Returns the text for people: the first that is no JSON object.
    pub(super) fn words(&self) -> &'v str {
        let mut texts = self.texts.iter().copied();
        let is_json = |text: &&str| text.trim_ascii_start().starts_with('{');
        texts.find(|text| !is_json(text)).unwrap_or_default()
    }

    /// Searches for AdCP's error object.
    pub(crate) fn find(&self) -> FoundError {
        let mut envelope = None;
        for (layer, candidate) in &self.objects {
            // Null stands for no error.
            let Some(error) = candidate.get("adcp_error").filter(|error| !error.is_null()) else {
                continue;
            };
            match AdcpError::read(error) {
                Ok(error) => envelope = Some((*layer, error)),
                Err(malformed) => return FoundError::Malformed(malformed),
            }
            break;
        }
        match Adcp::from_errors(envelope, self.listed()) {
            Some(adcp) => FoundError::Adcp(Box::new(adcp)),
            None => FoundError::Nothing,
        }
    }

    /// Returns the first list of errors, at the top or within `payload`.
    fn listed(&self) -> Vec<AdcpError> {
        let lists = self.objects.iter().flat_map(|(_, candidate)| {
            [candidate.get("errors"), candidate.pointer("/payload/errors")]
        });
        let lists = lists.flatten().map(AdcpError::read_list);
        let failures = |mut list: Vec<AdcpError>| {
            // Warnings are in the same list (`T-2`).
            list.retain(|error| error.severity.as_deref() != Some("warning"));
            list
        };
        lists.map(failures).find(|list| !list.is_empty()).unwrap_or_default()
    }
}
