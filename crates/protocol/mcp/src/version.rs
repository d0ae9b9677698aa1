//! The versions of MCP. Those up to 2025-11-25 begin with a handshake (`initialize`); in later ones every
//! request says by itself what it speaks, in `_meta` and in the headers of HTTP, and a server is looked up
//! with `server/discover`. Servers, clients, the bridge and the prober read this one table.

use super::client::{encoded_header_value, named_by};
use super::{BAD_REQUEST, CALL, McpError, McpListing, OK, ServerInfo};
use tradepost_a2a::error::A2aCode;
use tradepost_document::catalog::{Vocabulary as _, catalog};
use tradepost_document::json::{Map, Value, json};
use tradepost_document::problem::clip;

catalog! {
    /// Supported version of MCP, in order of age.
    pub enum Version {
        /// Lifecycle of its requests.
        lifecycle: Lifecycle,
        /// True when a server may ask the user of a client by a request of its own.
        has_elicitation: bool,
    }
    /// The first version.
    V2024_11_05 = "2024-11-05" { lifecycle: Lifecycle::Handshake, has_elicitation: false }
    /// Brought streamable HTTP.
    V2025_03_26 = "2025-03-26" { lifecycle: Lifecycle::Handshake, has_elicitation: false }
    /// Brought structured results of tools, and elicitation.
    V2025_06_18 = "2025-06-18" { lifecycle: Lifecycle::Handshake, has_elicitation: true }
    /// The last with a handshake.
    V2025_11_25 = "2025-11-25" { lifecycle: Lifecycle::Handshake, has_elicitation: true }
    /// The first without.
    V2026_07_28 = "2026-07-28" { lifecycle: Lifecycle::Stateless, has_elicitation: false }
}

impl Version {
    /// Newest version that begins with a handshake.
    pub const NEWEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    /// Newest version of all.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// Returns the version for a client that sends `initialize`: the requested one, or else the newest with a
    /// handshake.
    #[must_use]
    pub fn negotiate(asked: &str) -> Self {
        let known = Self::from_name(asked);
        let with_handshake = known.filter(|version| version.lifecycle() == Lifecycle::Handshake);
        with_handshake.unwrap_or(Self::NEWEST_WITH_HANDSHAKE)
    }
}

pub(super) const VERSION_HEADER: &str = "mcp-protocol-version";
pub(super) const METHOD_HEADER: &str = "mcp-method";
pub(super) const NAME_HEADER: &str = "mcp-name";

/// Member of `_meta` that names the version of a request in stateless versions.
pub(super) const VERSION_META: &str = "io.modelcontextprotocol/protocolVersion";

/// Member of `_meta` that names the server of a result in stateless versions.
pub const SERVER_META: &str = "io.modelcontextprotocol/serverInfo";

/// Method of the handshake.
pub const INITIALIZE: &str = "initialize";

/// Method that describes a server in stateless versions.
pub const DISCOVER: &str = "server/discover";

/// Error code for headers that contradict the body.
pub const HEADER_MISMATCH: i32 = -32020;

/// Error code for an unsupported version.
pub const UNSUPPORTED_VERSION: i32 = -32022;

const NOT_FOUND: u16 = 404;

/// Time in milliseconds for which a client may cache results of discovery and lists.
const FRESH: u64 = 300_000;

/// Lifecycle that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// Requests follow a handshake.
    Handshake,
    /// Each request stands alone.
    Stateless,
}

impl Lifecycle {
    /// Returns the lifecycle of a request, by its headers.
    pub(super) fn from_request<'h>(
        header: impl Fn(&str) -> Option<&'h [u8]>,
        method: &str,
        params: &Map,
    ) -> Result<Self, McpError> {
        let Some(named) = header(VERSION_HEADER) else {
            return Ok(Self::Handshake);
        };
        let named = std::str::from_utf8(named).unwrap_or("?").trim();
        let Some(version) = Version::from_name(named) else {
            let message = "the MCP-Protocol-Version header names a version unknown here";
            return Err(McpError {
                code: UNSUPPORTED_VERSION,
                data: Some(json!({"supported": Version::NAMES, "requested": clip(named)})),
                ..McpError::new(A2aCode::InvalidRequest, message).with_status(BAD_REQUEST)
            });
        };
        // A handshake is answered as one, whatever the header names.
        if version.lifecycle() == Self::Handshake || method == INITIALIZE {
            return Ok(Self::Handshake);
        }
        check_stateless(header, version, method, params)?;
        Ok(Self::Stateless)
    }

    /// Returns the lifecycle of a request that came without headers.
    #[must_use]
    pub fn without_headers(params: &Map) -> Self {
        named_version(params)
            .and_then(Version::from_name)
            .map_or(Self::Handshake, Version::lifecycle)
    }

    /// Returns the result with a list, as JSON.
    pub(super) fn list(self, name: &str, list: &str) -> String {
        match self {
            Self::Handshake => format!(r#"{{"{name}":{list}}}"#),
            Self::Stateless => format!(
                r#"{{"{name}":{list},"resultType":"complete","ttlMs":{FRESH},"cacheScope":"public"}}"#
            ),
        }
    }

    /// Returns an empty result, as JSON.
    pub(super) const fn empty(self) -> &'static str {
        match self {
            Self::Handshake => "{}",
            Self::Stateless => r#"{"resultType":"complete"}"#,
        }
    }

    /// Returns the HTTP status for an unknown method.
    #[must_use]
    pub const fn of_unknown_methods(self) -> u16 {
        match self {
            Self::Handshake => OK,
            Self::Stateless => NOT_FOUND,
        }
    }
}

/// Returns the version that a request names in its parameters.
fn named_version(params: &Map) -> Option<&str> {
    params.get("_meta")?.get(VERSION_META)?.as_str()
}

/// Checks that the headers equal the body, because intermediaries may have decided by the headers (SEP-2243).
fn check_stateless<'h>(
    header: impl Fn(&str) -> Option<&'h [u8]>,
    version: Version,
    method: &str,
    params: &Map,
) -> Result<(), McpError> {
    let bad = |fail: McpError| Err(fail.with_status(BAD_REQUEST));
    let differs = |message| {
        bad(McpError { code: HEADER_MISMATCH, ..McpError::new(A2aCode::InvalidRequest, message) })
    };
    let is = |name: &str, wanted: &str| {
        let encoded = encoded_header_value(wanted);
        header(name).is_some_and(|value| {
            [wanted, &encoded].iter().any(|spelling| spelling.as_bytes() == value)
        })
    };
    match named_version(params) {
        None => {
            let message = format!("params._meta must have {VERSION_META}");
            return bad(McpError::new(A2aCode::InvalidParams, message));
        }
        Some(named) if named == version.name() => {}
        Some(_) => {
            return differs("MCP-Protocol-Version and params._meta name different versions");
        }
    }
    if !is(METHOD_HEADER, method) {
        return differs("the Mcp-Method header must be the method of the body");
    }
    let name = named_by(method).and_then(|member| params.get(member)?.as_str());
    match name {
        Some(name) if !is(NAME_HEADER, name) => differs(match method {
            CALL => "the Mcp-Name header must be the name of the tool in the body",
            _ => "the Mcp-Name header must be the uri in the body",
        }),
        Some(_) | None => Ok(()),
    }
}

/// The result of `initialize`.
pub(super) fn initialize(
    params: &Map,
    introduction: &ServerInfo,
    listing: &McpListing,
) -> Result<String, McpError> {
    let Some(asked) = params.get("protocolVersion").and_then(Value::as_str) else {
        let message = "protocolVersion must be a version of MCP such as 2025-11-25";
        return Err(McpError::new(A2aCode::InvalidParams, message));
    };
    let version = Version::negotiate(asked).name();
    let result = json!({
        "protocolVersion": version,
        "capabilities": listing.capabilities(),
        "serverInfo": introduction.server(),
        "instructions": introduction.instructions,
    });
    Ok(result.to_string())
}

/// The result of `server/discover`.
pub(super) fn discovered(introduction: &ServerInfo, listing: &McpListing) -> String {
    let result = json!({
        "resultType": "complete",
        "supportedVersions": Version::NAMES,
        "capabilities": listing.capabilities(),
        "instructions": introduction.instructions,
        "ttlMs": FRESH,
        "cacheScope": "public",
        "_meta": {SERVER_META: introduction.server()},
    });
    result.to_string()
}
