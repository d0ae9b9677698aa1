//! Parsing of the parts of a message.

use super::{object, or_null};
use crate::model::{Content, Part};
use tradepost_document::json::Value;
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

/// Reads the role of a message of a caller.
pub(super) fn read_role(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<()> {
    // ProtoJSON accepts the number of an enum: ROLE_USER is 1.
    if value.as_str() == Some("ROLE_USER") || value.as_u64() == Some(1) {
        return Some(());
    }
    let message = "must be ROLE_USER in a request";
    parse::push(at, problems, Keyword::Enum, message, ProblemDetail::Allowed(&["ROLE_USER"]));
    None
}

const CONTENT_NAMES: &[&str] = &["text", "raw", "url", "data"];

/// Reads a part of a message.
pub(super) fn read_part(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<Part> {
    read_object!(value, at, problems, open {
        optional "text" => text: or_null(parse::text),
        optional "raw" => raw: or_null(parse::base64),
        optional "url" => url: or_null(parse::text),
        optional "data" => data: |v, _, _| Some(v.clone()),
        optional "metadata" => metadata: or_null(object),
        optional "filename" => filename: or_null(parse::text),
        optional "mediaType" | "media_type" => media_type: or_null(parse::text),
    });
    let members = value.as_object()?;
    // For `data` null is a value; for any other member it means absent.
    let present =
        |name: &&&str| members.get(**name).is_some_and(|v| **name == "data" || !v.is_null());
    let present = CONTENT_NAMES.iter().filter(present).count();
    if present != 1 {
        let message = "must have exactly one of text, raw, url, data";
        parse::push(at, problems, Keyword::AnyOf, message, ProblemDetail::AnyOf(CONTENT_NAMES));
        return None;
    }
    let content = text
        .map(Content::Text)
        .or(raw.map(Content::Raw))
        .or(url.map(Content::Url))
        .or(data.map(Content::Data))?;
    Some(Part { content, metadata, filename, media_type })
}
