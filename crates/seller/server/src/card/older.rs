//! Agent cards for clients of both A2A 1.0 and 0.3. Members with another name in 0.3 are written
//! twice; readers of either release ignore unknown members (A2A 1.0 §5.7).

use tradepost_a2a::OLDER_VERSION;
use tradepost_a2a::card::{AgentCard, AgentInterface};
use tradepost_document::json::{self, Map, Value, json};

/// Protocol version in cards of 0.3.
const OLDER: &str = "0.3.0";

/// Converts a card for an agent that also supports JSON-RPC of 0.3. The server accepts clients of
/// 0.3 by this declaration. Other bindings of 0.3 are not supported.
#[must_use]
pub fn for_both_releases(mut card: AgentCard) -> Value {
    let is_jsonrpc = |interface: &&AgentInterface| interface.protocol_binding == "JSONRPC";
    let older = card.supported_interfaces.iter().find(is_jsonrpc).cloned();
    let extended = card.capabilities.extended_agent_card;
    card.supported_interfaces.extend(
        older
            .clone()
            .map(|interface| AgentInterface { protocol_version: OLDER_VERSION, ..interface }),
    );
    let mut document = json::to_value(card)
        .unwrap_or_else(|_| unreachable!("a card has text keys and finite numbers"));
    if let Some(members) = document.as_object_mut()
        && let Some(older) = older
    {
        add_older(members, &older.url, extended);
    }
    document
}

/// Adds the members of 0.3 (A2A 0.3 §5.5).
fn add_older(members: &mut Map, url: &str, extended: bool) {
    let transport = json!([{"url": url, "transport": "JSONRPC"}]);
    for (name, value) in [
        ("url", url.into()),
        ("protocolVersion", OLDER.into()),
        ("preferredTransport", "JSONRPC".into()),
        ("additionalInterfaces", transport),
        ("supportsAuthenticatedExtendedCard", extended.into()),
    ] {
        members.insert(name.to_owned(), value);
    }
    let Some(Value::Object(schemes)) = members.get_mut("securitySchemes") else {
        return;
    };
    let mut security = Vec::new();
    for (name, scheme) in schemes.iter_mut() {
        let older = older_scheme(scheme);
        let Some(scheme) = scheme.as_object_mut() else {
            continue;
        };
        scheme.extend(older);
        // One requirement per scheme, so that any of them is sufficient, as in 1.0.
        security.push(json!({name.as_str(): []}));
    }
    // Optional schemes are not required in 0.3 either.
    if members.contains_key("securityRequirements") {
        members.insert("security".to_owned(), security.into());
    }
}

/// Returns a security scheme in the OpenAPI form of 0.3. Its members have the same names as in 1.0, except those of a
/// kind's own.
fn older_scheme(scheme: &Value) -> Map {
    let mut older = Map::new();
    let Some((kind, members)) = scheme.as_object().and_then(|scheme| scheme.iter().next()) else {
        return older;
    };
    let kind_of_older = match kind.as_str() {
        "apiKeySecurityScheme" => "apiKey",
        "httpAuthSecurityScheme" => "http",
        "oauth2SecurityScheme" => "oauth2",
        "openIdConnectSecurityScheme" => "openIdConnect",
        _ => "mutualTLS",
    };
    older.insert("type".to_owned(), kind_of_older.into());
    let Some(members) = members.as_object().filter(|_| kind_of_older != "mutualTLS") else {
        return older;
    };
    // Names of schemes are compared without case (RFC 9110 §11.1), and 0.3 shows them in lower case.
    if let Some(scheme) = members.get("scheme").and_then(Value::as_str) {
        older.insert("scheme".to_owned(), scheme.to_ascii_lowercase().into());
    }
    for (name, value) in members.iter().filter(|(name, _)| *name != "scheme") {
        let name = if name == "location" { "in" } else { name.as_str() };
        older.insert(name.to_owned(), value.clone());
    }
    older
}
