//! Headers and parameters that an MCP client sends over HTTP, with its own description in `_meta` in stateless
//! versions.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::CALL;
use super::elicitation::CAPABILITIES_META;
use super::version::{
    Lifecycle, METHOD_HEADER, NAME_HEADER, VERSION_HEADER, VERSION_META, Version,
};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::text::plain;

/// Member of `_meta` that names the client of a request in stateless versions.
const CLIENT_META: &str = "io.modelcontextprotocol/clientInfo";

/// Keyword by which a tool's schema requests an argument in a header, too (SEP-2243).
const ANNOTATION: &str = "x-mcp-header";

/// A client that cannot show anything to its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientInfo {
    /// Name of the program.
    pub name: &'static str,
    /// Version of the program.
    pub version: &'static str,
}

/// A client as it describes itself to a server. It may say anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredClient {
    /// Name of the program, at most 80 characters.
    pub name: String,
    /// Version of the program, at most 40 characters.
    pub version: Option<String>,
}

impl DeclaredClient {
    /// Reads the description from the parameters of a handshake or, in a stateless version, of any request.
    #[must_use]
    pub fn from_params(lifecycle: Lifecycle, params: &Map) -> Option<Self> {
        const MAX_NAME: usize = 80;
        const MAX_VERSION: usize = 40;
        let client = match lifecycle {
            Lifecycle::Handshake => params.get("clientInfo"),
            Lifecycle::Stateless => params.get("_meta").and_then(|meta| meta.get(CLIENT_META)),
        }?;
        let member = |name: &str, max| {
            let text = client.get(name).and_then(Value::as_str).map(|text| plain(text, max));
            text.filter(|text| !text.is_empty())
        };
        Some(Self { name: member("name", MAX_NAME)?, version: member("version", MAX_VERSION) })
    }
}

/// Writes the name and the version.
impl fmt::Display for DeclaredClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.version.iter().try_for_each(|version| write!(f, " {version}"))
    }
}

/// Headers and parameters of a request, without its id and method.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRequest {
    /// HTTP headers in addition to those of every request.
    pub headers: Vec<(&'static str, String)>,
    /// The parameters.
    pub params: Map,
}

impl ClientInfo {
    /// Returns the parameters of `initialize`, which request the newest version that has a handshake.
    #[must_use]
    pub fn handshake(self) -> Map {
        let version = Version::NEWEST_WITH_HANDSHAKE.name();
        let params =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": self.document()});
        params.as_object().cloned().unwrap_or_default()
    }

    /// Builds a request of this version.
    #[must_use]
    pub fn request(self, version: Version, method: &str, mut params: Map) -> ClientRequest {
        let mut headers = vec![(VERSION_HEADER, version.name().to_owned())];
        if version.lifecycle() == Lifecycle::Stateless {
            headers.push((METHOD_HEADER, method.to_owned()));
            let named = named_by(method).and_then(|member| params.get(member)?.as_str());
            headers
                .extend(named.map(|name| (NAME_HEADER, encoded_header_value(name).into_owned())));
            let meta = json!({
                VERSION_META: version.name(), CLIENT_META: self.document(), CAPABILITIES_META: {},
            });
            params.insert("_meta".to_owned(), meta);
        }
        ClientRequest { headers, params }
    }

    fn document(self) -> Value {
        json!({"name": self.name, "version": self.version})
    }
}

/// Returns the member of a method's parameters that is repeated in the `Mcp-Name` header.
pub(super) fn named_by(method: &str) -> Option<&'static str> {
    match method {
        CALL => Some("name"),
        "resources/read" => Some("uri"),
        _ => None,
    }
}

/// Encodes a text as the value of an MCP header: unchanged, or in Base64 when a header cannot hold it.
pub(super) fn encoded_header_value(text: &str) -> Cow<'_, str> {
    const BEFORE: &str = "=?base64?";
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim() == text
        && !(text.starts_with(BEFORE) && text.ends_with("?="));
    if is_plain {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{BEFORE}{}?=", STANDARD.encode(text)))
}

/// Returns the supported versions that a server offers in the `data` of an error about an unsupported one, oldest
/// first; `None` when it names none at all.
#[must_use]
pub fn offered_versions(data: &Value) -> Option<Vec<Version>> {
    let named: Vec<&str> =
        data.get("supported")?.as_array()?.iter().filter_map(Value::as_str).collect();
    Some(Version::ALL.iter().copied().filter(|version| named.contains(&version.name())).collect())
}

/// Returns the headers for arguments of a call that the tool's schema requests there (`Mcp-Param-…`).
#[must_use]
pub fn param_headers(input_schema: &Value, arguments: &Map) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let mut open = vec![(input_schema, arguments)];
    while let Some((schema, arguments)) = open.pop() {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let Some(argument) = arguments.get(name) else { continue };
            if let Some(members) = argument.as_object() {
                open.push((property, members));
            }
            let wanted =
                property.get(ANNOTATION).and_then(Value::as_str).filter(|name| is_token(name));
            let text = match argument {
                Value::String(text) => Some(text.clone()),
                Value::Bool(flag) => Some(flag.to_string()),
                Value::Number(number) => Some(number.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => None,
            };
            if let Some(wanted) = wanted
                && let Some(text) = text
            {
                let value = encoded_header_value(&text).into_owned();
                headers.push((format!("mcp-param-{}", wanted.to_ascii_lowercase()), value));
            }
        }
    }
    headers
}

/// Returns true when a text can be part of a header's name (RFC 9110 §5.6.2).
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: ClientInfo = ClientInfo { name: "c", version: "1" };

    fn map(value: Value) -> Map {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn the_server_reads_what_is_sent_as_its_version() {
        for version in Version::ALL.iter().copied() {
            for (method, params) in [
                ("tools/list", json!({})),
                (CALL, json!({"name": "get_products", "arguments": {}})),
                (CALL, json!({"name": " pr\u{f6}dukte", "arguments": {}})),
                ("resources/read", json!({"uri": "a:b"})),
            ] {
                let sent = CLIENT.request(version, method, map(params));
                let header = |name: &str| {
                    let found = sent.headers.iter().find(|(known, _)| *known == name);
                    found.map(|(_, value)| value.as_bytes())
                };
                let read = Lifecycle::from_request(header, method, &sent.params);
                assert_eq!(read, Ok(version.lifecycle()), "{version:?} {method}");
                assert!(sent.headers.iter().all(|(_, value)| value.is_ascii()), "{sent:?}");
            }
        }
    }

    #[test]
    fn a_stateless_request_says_who_asks_and_what_it_shows() {
        let sent = CLIENT.request(Version::V2026_07_28, "tools/list", Map::new());
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        assert_eq!(sent.params, map(json!({"_meta": meta})));
        let sent = CLIENT.request(Version::V2025_06_18, "tools/list", Map::new());
        assert_eq!(sent.params, Map::new());
        assert_eq!(CLIENT.handshake()["protocolVersion"], "2025-11-25");
    }

    #[test]
    fn arguments_go_into_the_headers_that_the_schema_names() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "city": {"type": "string", "x-mcp-header": "City"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "absent": {"type": "string", "x-mcp-header": "Absent"},
            "bad": {"type": "string", "x-mcp-header": "a b"},
            "list": {"type": "array", "x-mcp-header": "List"},
            "plain": {"type": "string"},
            "account": {"type": "object", "properties": {
                "sandbox": {"type": "boolean", "x-mcp-header": "Sandbox"},
            }},
        }});
        let arguments = map(json!({
            "region": "eu", "city": "K\u{f6}ln", "count": 3, "bad": "x", "list": ["x"], "plain": "x",
            "account": {"sandbox": true},
        }));
        let mut headers = param_headers(&schema, &arguments);
        headers.sort();
        let expected = [
            ("mcp-param-city", "=?base64?S8O2bG4=?="),
            ("mcp-param-count", "3"),
            ("mcp-param-region", "eu"),
            ("mcp-param-sandbox", "true"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(headers, expected);
    }

    #[test]
    fn a_server_names_the_versions_that_it_speaks() {
        let offered = |data: Value| offered_versions(&data);
        assert_eq!(
            offered(json!({"supported": ["2027-01-01", "2026-07-28", "2025-06-18"]})),
            Some(vec![Version::V2025_06_18, Version::V2026_07_28])
        );
        assert_eq!(offered(json!({"supported": ["2027-01-01"]})), Some(vec![]));
        assert_eq!(offered(json!({"supported": "2026-07-28"})), None);
        assert_eq!(offered(json!(null)), None);
    }
}
