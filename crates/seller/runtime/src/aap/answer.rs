//! Converts a dealer's replies and refusals to the form that a binding writes.

use std::io::{self, Write};

use bytes::Bytes;
use serde::Serialize;
use tradepost_a2a as a2a;
use tradepost_a2a::status::RpcStatus;
use tradepost_a2a::{DataPart, MessageResult, Role};
use tradepost_aap::error::{DOMAIN, ErrorObject, Remedy, TYPE};
use tradepost_aap::{AapReply, QUERY_READING, RawJson, ReplyData, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};
use tradepost_document::problem::Keyword;
use tradepost_server::agent::{
    AgentAnswer, ErrorProperties, ProfileRefusal, ResponsibleParty, SerializedResponse,
};
use tradepost_server::refusals::FieldError;

/// Converts a reply to a message in a version of the profile.
pub(super) fn message(version: Version, context_id: String, mut reply: AapReply) -> AgentAnswer {
    const SIZE_OF_MESSAGE: usize = 1024;
    let skill = reply.skill;
    let (shared, room) = if let ReplyData::Written(raw) = &reply.data {
        (Some(raw.clone()), 0)
    } else {
        (None, reply.data.size_hint())
    };
    let metadata = reply
        .reading
        .take()
        .map(|reading| Map::from([(QUERY_READING.to_owned(), Value::Object(reading))]));
    let message = a2a::AgentMessage {
        message_id: uuid::Uuid::now_v7().to_string(),
        context_id,
        role: Role::Agent,
        parts: [DataPart { media_type: skill.response_media_type(), metadata, data: reply }],
        extensions: vec![version.uri()],
    };
    let json = pieces(&MessageResult { message }, SIZE_OF_MESSAGE + room, shared);
    AgentAnswer::Written(SerializedResponse { json, extension: version.uri(), skill: skill.name() })
}

/// Serializes a document into a buffer of capacity `room`, because a buffer that has to grow is
/// copied. `shared` occurs in the document and becomes a chunk of its own.
fn pieces<T: Serialize>(document: &T, room: usize, shared: Option<RawJson>) -> Vec<Bytes> {
    let shared = shared.map(Bytes::from_owner);
    let mut writer = Around { text: Vec::with_capacity(room), shared, place: None };
    tradepost_document::json::to_writer(&mut writer, document)
        .unwrap_or_else(|_| unreachable!("our own replies have text keys and no NaN"));
    let Around { mut text, shared, place } = writer;
    match shared.zip(place) {
        Some((shared, place)) => {
            let rest = text.split_off(place);
            vec![text.into(), shared, rest.into()]
        }
        None => vec![text.into()],
    }
}

/// Writer that leaves one text out, which it recognises by its address in memory, and notes its
/// position.
struct Around {
    text: Vec<u8>,
    shared: Option<Bytes>,
    place: Option<usize>,
}

impl Write for Around {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let is_shared = |shared: &Bytes| std::ptr::eq(shared.as_ref(), bytes);
        if self.place.is_none() && self.shared.as_ref().is_some_and(is_shared) {
            self.place = Some(self.text.len());
        } else {
            self.text.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Converts a refusal to what each binding needs. When `http_429` is true, a rate limit sets the
/// HTTP status under JSON-RPC too (C-30).
pub(super) fn refusal(
    version: Version,
    error: ErrorObject,
    http_429: bool,
    blame: ResponsibleParty,
) -> ProfileRefusal {
    const TOO_MANY_REQUESTS: u16 = 429;
    let summary = error.jsonrpc_message();
    let document = tradepost_document::json::to_raw_value(&error)
        .unwrap_or_else(|_| unreachable!("an error object has text keys and no NaN"));
    let ErrorObject { error_id, refusal, .. } = error;
    let code = refusal.code;
    let field_error =
        |(pointer, keyword): (String, Keyword)| FieldError { pointer, keyword: keyword.name() };
    let misfits = refusal.field_errors().into_iter().map(field_error).collect();
    let row = ErrorProperties {
        name: code.name(),
        domain: DOMAIN,
        jsonrpc: code.jsonrpc(),
        http: code.http(),
        grpc: RpcStatus::from_name(code.grpc()).unwrap_or(RpcStatus::Unknown),
    };
    let limited = code.remedy() == Remedy::SlowDown;
    let metadata =
        vec![("error_id", error_id.clone()), ("retryable", code.retryable().to_string())];
    ProfileRefusal {
        row,
        skill: None,
        message: refusal.message,
        summary,
        document,
        document_type: TYPE,
        metadata,
        error_id: Some(error_id),
        wait: refusal.wait,
        jsonrpc_status: (limited && http_429).then_some(TOO_MANY_REQUESTS),
        challenge: None,
        extension: Some(version.uri()),
        blame: if limited { ResponsibleParty::TooOften } else { blame },
        misfits,
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::{json, to_string};

    use super::*;

    #[test]
    fn what_is_shared_is_written_in_place_and_not_copied() {
        let raw = RawJson::from_text(r#"{"long": [1, 2.50]}"#.to_owned()).unwrap();
        let value = ("é", &raw, [&raw], 1);
        let found = pieces(&value, 0, Some(raw.clone()));
        assert_eq!(found.concat(), to_string(&value).unwrap().as_bytes());
        assert!(found.iter().any(|piece| std::ptr::eq(piece.as_ref(), raw.as_ref())));
        // The same text elsewhere has another address in memory.
        let found = pieces(&json!({"a": 1}), 0, Some(raw));
        assert_eq!(found, [&br#"{"a":1}"#[..]]);
    }
}
