//! The releases of MCP. Those up to 2025-11-25 say hello with `initialize`; later ones say with
//! every request what they speak, in `_meta` and in the headers of HTTP, and look a server up with
//! `server/discover`.

use super::{BAD_REQUEST, CALL, Fail, Introduction, Listing, OK};
use crate::a2a::error::Code;
use crate::json::{Map, Value, json};
use crate::problem::clip;

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

/// The number of an error about a release that is none of these.
pub const UNSUPPORTED_VERSION: i32 = -32022;

const NOT_FOUND: u16 = 404;

/// For how long what was discovered or listed holds, in milliseconds.
const FRESH: u64 = 300_000;

/// How a request is to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// As one of those that say hello.
    Plain,
    /// As a later one.
    Later,
}

impl Release {
    /// The release of a request, by the headers that it came with.
    pub(super) fn of<'h>(
        header: impl Fn(&str) -> Option<&'h [u8]>,
        method: &str,
        params: &Map,
    ) -> Result<Self, Fail> {
        let Some(version) = header(VERSION_HEADER) else {
            return Ok(Self::Plain);
        };
        let version = std::str::from_utf8(version).unwrap_or("?").trim();
        // Who says hello is answered as those are who do, whatever the header names.
        if PLAIN.contains(&version) || version == LATER && method == "initialize" {
            return Ok(Self::Plain);
        }
        if version != LATER {
            let message = "the MCP-Protocol-Version header names a release unknown here";
            return Err(Fail {
                code: UNSUPPORTED_VERSION,
                data: Some(json!({"supported": supported(), "requested": clip(version)})),
                ..Fail::new(Code::InvalidRequest, message).with_status(BAD_REQUEST)
            });
        }
        check_later(header, method, params)?;
        Ok(Self::Later)
    }

    /// The release of a request that came without headers.
    #[must_use]
    pub fn without_headers(params: &Map) -> Self {
        if said(params) == Some(LATER) { Self::Later } else { Self::Plain }
    }

    /// The result with a list: JSON.
    pub(super) fn list(self, name: &str, list: &str) -> String {
        match self {
            Self::Plain => format!(r#"{{"{name}":{list}}}"#),
            Self::Later => format!(
                r#"{{"{name}":{list},"resultType":"complete","ttlMs":{FRESH},"cacheScope":"public"}}"#
            ),
        }
    }

    /// A result that says nothing: JSON.
    pub(super) const fn empty(self) -> &'static str {
        match self {
            Self::Plain => "{}",
            Self::Later => r#"{"resultType":"complete"}"#,
        }
    }

    /// The HTTP status when there is no such method.
    #[must_use]
    pub const fn of_unknown_methods(self) -> u16 {
        match self {
            Self::Plain => OK,
            Self::Later => NOT_FOUND,
        }
    }
}

/// Whether this is a release in which a server may ask the person by a request of its own.
pub(super) fn asks(version: &str) -> bool {
    matches!(version, "2025-06-18" | "2025-11-25")
}

/// The release that a client which says hello gets: the one that it asks for, or else the newest.
pub(super) fn negotiated(asked: &str) -> &'static str {
    let newest = PLAIN.last().copied().unwrap_or(LATER);
    PLAIN.into_iter().find(|known| *known == asked).unwrap_or(newest)
}

/// The release that a request names in itself.
fn said(params: &Map) -> Option<&str> {
    params.get("_meta")?.get(VERSION_META)?.as_str()
}

/// What stands in the headers has to stand in the body: what is between us and the caller may have
/// gone by the headers (SEP-2243).
fn check_later<'h>(
    header: impl Fn(&str) -> Option<&'h [u8]>,
    method: &str,
    params: &Map,
) -> Result<(), Fail> {
    let bad = |fail: Fail| Err(fail.with_status(BAD_REQUEST));
    let differs =
        |message| bad(Fail { code: HEADER_MISMATCH, ..Fail::new(Code::InvalidRequest, message) });
    let is = |name: &str, wanted: &str| header(name) == Some(wanted.as_bytes());
    match said(params) {
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
        CALL => ("name", "the Mcp-Name header must be the name of the tool in the body"),
        "resources/read" => ("uri", "the Mcp-Name header must be the uri in the body"),
        _ => return Ok(()),
    };
    match params.get(member).and_then(Value::as_str) {
        Some(name) if !is(NAME_HEADER, name) => differs(message),
        Some(_) | None => Ok(()),
    }
}

/// The releases that are spoken, the newest last.
#[must_use]
pub fn supported() -> Vec<&'static str> {
    PLAIN.into_iter().chain([LATER]).collect()
}

/// The result of `initialize`: the release that is asked for, or else the newest that says hello.
pub(super) fn initialize(
    params: &Map,
    introduction: &Introduction,
    listing: &Listing,
) -> Result<String, Fail> {
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        let message = "protocolVersion must be a release of MCP such as 2025-11-25";
        return Err(Fail::new(Code::InvalidParams, message));
    };
    let version = negotiated(asked);
    let result = json!({
        "protocolVersion": version,
        "capabilities": listing.capabilities(),
        "serverInfo": introduction.server(),
        "instructions": introduction.instructions,
    });
    Ok(result.to_string())
}

/// The result of `server/discover`.
pub(super) fn discovered(introduction: &Introduction, listing: &Listing) -> String {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": supported(),
        "capabilities": listing.capabilities(),
        "instructions": introduction.instructions,
        "ttlMs": FRESH,
        "cacheScope": "public",
        "_meta": {SERVER_META: introduction.server()},
    });
    result.to_string()
}
