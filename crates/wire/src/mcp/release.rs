//! The releases of MCP. Those up to 2025-11-25 begin with `initialize`; later ones state the
//! release in `_meta` and the HTTP headers of every request, and describe a server by
//! `server/discover`.

use super::{BAD_REQUEST, CALL, Fail, Introduction, Listing, OK};
use crate::a2a::error::Code;
use crate::json::{Map, Value, json};
use crate::problem::clip;

/// The releases with `initialize`, the newest last.
const PLAIN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The release without `initialize`.
const LATER: &str = "2026-07-28";

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
const NAME_HEADER: &str = "mcp-name";

/// The member in which a request of the later release names it.
const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// The member in which a result of the later release names the server.
const SERVER_META: &str = "io.modelcontextprotocol/serverInfo";

const HEADER_MISMATCH: i32 = -32020;

/// The error code for an unsupported release.
pub const UNSUPPORTED_VERSION: i32 = -32022;

const NOT_FOUND: u16 = 404;

/// The time for which a list or discovery may be cached, in milliseconds.
const FRESH: u64 = 300_000;

/// The kind of release of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// A release with `initialize`.
    Plain,
    /// The later release.
    Later,
}

impl Release {
    /// Returns the release of a request from its headers.
    pub(super) fn of<'h>(
        header: impl Fn(&str) -> Option<&'h [u8]>,
        method: &str,
        params: &Map,
    ) -> Result<Self, Fail> {
        let Some(version) = header(VERSION_HEADER) else {
            return Ok(Self::Plain);
        };
        let version = std::str::from_utf8(version).unwrap_or("?").trim();
        // `initialize` is answered in the way of the releases that have it, whatever the header
        // names.
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

    /// Returns the release of a request that came without headers.
    #[must_use]
    pub fn without_headers(params: &Map) -> Self {
        if said(params) == Some(LATER) { Self::Later } else { Self::Plain }
    }

    /// Writes a result with a list as JSON.
    pub(super) fn list(self, name: &str, list: &str) -> String {
        match self {
            Self::Plain => format!(r#"{{"{name}":{list}}}"#),
            Self::Later => format!(
                r#"{{"{name}":{list},"resultType":"complete","ttlMs":{FRESH},"cacheScope":"public"}}"#
            ),
        }
    }

    /// An empty result as JSON.
    pub(super) const fn empty(self) -> &'static str {
        match self {
            Self::Plain => "{}",
            Self::Later => r#"{"resultType":"complete"}"#,
        }
    }

    /// The HTTP status for an unknown method.
    #[must_use]
    pub const fn of_unknown_methods(self) -> u16 {
        match self {
            Self::Plain => OK,
            Self::Later => NOT_FOUND,
        }
    }
}

/// Returns true if a server may ask the person by a request of its own in this release.
pub(super) fn asks(version: &str) -> bool {
    matches!(version, "2025-06-18" | "2025-11-25")
}

/// Returns the release for a client's `initialize`: the requested one, or the newest.
pub(super) fn negotiated(asked: &str) -> &'static str {
    let newest = PLAIN.last().copied().unwrap_or(LATER);
    PLAIN.into_iter().find(|known| *known == asked).unwrap_or(newest)
}

/// Returns the release that the parameters name.
fn said(params: &Map) -> Option<&str> {
    params.get("_meta")?.get(VERSION_META)?.as_str()
}

/// Checks that the headers agree with the body, because intermediaries may have acted on the
/// headers (SEP-2243).
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

/// The supported releases, the newest last.
#[must_use]
pub fn supported() -> Vec<&'static str> {
    PLAIN.into_iter().chain([LATER]).collect()
}

/// Writes the result of `initialize`, with the requested release or the newest that has
/// `initialize`.
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

/// Writes the result of `server/discover`.
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
