//! The releases of MCP. Those up to 2025-11-25 say hello with `initialize`; later ones say with
//! every request what they speak, in headers and in `_meta`, and look a server up with
//! `server/discover`.

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use tradepost_wire::a2a::error::Code;
use tradepost_wire::json::{Map, Value, json};

use super::{Fail, shown};
use crate::adcp::listing::Style;

/// The releases that say hello, the newest last.
const PLAIN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The one that does not.
const LATER: &str = "2026-07-28";

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

/// Where a request of a later release says which it is.
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Where a result of a later release says who answers.
const SERVER_META: &str = "io.modelcontextprotocol/serverInfo";

const HEADER_MISMATCH: i32 = -32020;
const UNSUPPORTED_VERSION: i32 = -32022;

/// For how long what was discovered holds, in milliseconds.
const FRESH: u64 = 300_000;

/// How a request is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    /// As one of those that say hello.
    Plain,
    /// As a later one.
    Later,
}

/// Who answers.
pub(super) struct Introduction {
    pub(super) capabilities: Value,
    pub(super) server: Value,
    pub(super) instructions: &'static str,
}

impl Release {
    /// The release of a request.
    pub(super) fn of(headers: &HeaderMap, method: &str, params: &Map) -> Result<Self, Fail> {
        let Some(version) = headers.get(VERSION_HEADER) else {
            return Ok(Self::Plain);
        };
        let version = version.to_str().unwrap_or("?").trim();
        if PLAIN.contains(&version) || version == LATER && method == "initialize" {
            return Ok(Self::Plain);
        }
        if version != LATER {
            let message = "the MCP-Protocol-Version header names a release unknown here";
            return Err(Fail {
                code: UNSUPPORTED_VERSION,
                data: Some(json!({"supported": supported(), "requested": shown(version)})),
                ..Fail::new(Code::InvalidRequest, message).with_status(StatusCode::BAD_REQUEST)
            });
        }
        check_later(headers, method, params)?;
        Ok(Self::Later)
    }

    /// A result.
    pub(super) fn result(self, mut members: Map) -> Value {
        if self == Self::Later {
            members.insert("resultType".to_owned(), "complete".into());
        }
        members.into()
    }

    /// How its lists are written.
    pub(super) fn style(self) -> Style {
        match self {
            Self::Plain => Style::Plain,
            Self::Later => Style::Later,
        }
    }

    /// The HTTP status when there is no such method.
    pub(super) fn of_unknown_methods(self) -> StatusCode {
        match self {
            Self::Plain => StatusCode::OK,
            Self::Later => StatusCode::NOT_FOUND,
        }
    }
}

/// What stands in the headers has to stand in the body: what is between us and the caller may have
/// gone by the headers (SEP-2243).
fn check_later(headers: &HeaderMap, method: &str, params: &Map) -> Result<(), Fail> {
    let bad = |fail: Fail| Err(fail.with_status(StatusCode::BAD_REQUEST));
    let differs =
        |message| bad(Fail { code: HEADER_MISMATCH, ..Fail::new(Code::InvalidRequest, message) });
    let is = |name: &str, wanted: &str| {
        headers.get(name).map(HeaderValue::as_bytes) == Some(wanted.as_bytes())
    };
    let meta = params.get("_meta").and_then(|meta| meta.get(VERSION_META));
    match meta.and_then(Value::as_str) {
        None => {
            let message = format!("params._meta must have {VERSION_META}");
            return bad(Fail::new(Code::InvalidParams, message));
        }
        Some(LATER) => {}
        Some(_) => {
            return differs("MCP-Protocol-Version and params._meta name different releases");
        }
    }
    if !is(METHOD_HEADER, method) {
        return differs("the Mcp-Method header must be the method of the body");
    }
    let (member, message) = match method {
        "tools/call" => ("name", "the Mcp-Name header must be the name of the tool in the body"),
        "resources/read" => ("uri", "the Mcp-Name header must be the uri in the body"),
        _ => return Ok(()),
    };
    match params.get(member).and_then(Value::as_str) {
        Some(name) if !is(NAME_HEADER, name) => differs(message),
        Some(_) | None => Ok(()),
    }
}

fn supported() -> Vec<&'static str> {
    PLAIN.into_iter().chain([LATER]).collect()
}

/// The answer to `initialize`: the release that is asked for, or else the newest that says hello.
pub(super) fn initialize(params: &Map, introduction: Introduction) -> Result<Value, Fail> {
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        let message = "protocolVersion must be a release of MCP such as 2025-11-25";
        return Err(Fail::new(Code::InvalidParams, message));
    };
    let newest = PLAIN.last().copied().unwrap_or(LATER);
    let version = PLAIN.into_iter().find(|known| *known == asked).unwrap_or(newest);
    let Introduction { capabilities, server, instructions } = introduction;
    Ok(json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "serverInfo": server,
        "instructions": instructions,
    }))
}

/// The answer to `server/discover`.
pub(super) fn discovered(introduction: Introduction) -> Value {
    let Introduction { capabilities, server, instructions } = introduction;
    json!({
        "resultType": "complete",
        "supportedVersions": supported(),
        "capabilities": capabilities,
        "instructions": instructions,
        "ttlMs": FRESH,
        "cacheScope": "public",
        "_meta": {SERVER_META: server},
    })
}

#[cfg(test)]
mod tests {
    use rmcp::model::ProtocolVersion;

    use super::*;

    #[test]
    fn the_releases_are_those_that_the_library_knows() {
        let known: Vec<_> = ProtocolVersion::KNOWN_VERSIONS.iter().map(|v| v.as_str()).collect();
        assert_eq!(supported(), known);
        assert!(!ProtocolVersion::V_2026_07_28.has_initialize());
    }
}
