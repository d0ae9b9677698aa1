//! One card that clients of A2A 1.0 and of 0.3 both read. What 1.0 calls otherwise stands there
//! twice; readers of either release ignore what they do not know (A2A §5.7).

use tradepost_wire::a2a::OLDER_VERSION;
use tradepost_wire::a2a::card::{AgentCard, Interface};
use tradepost_wire::json::{self, Map, Value, json};

/// The release as cards of its time name it.
const OLDER: &str = "0.3.0";

/// The card of an agent whose JSON-RPC is spoken in 0.3, too: it is what has the server let clients of
/// 0.3 in. Of the bindings of 0.3 there is no other.
#[must_use]
pub fn for_both_releases(mut card: AgentCard) -> Value {
    let is_jsonrpc = |interface: &&Interface| interface.protocol_binding == "JSONRPC";
    let older = card.supported_interfaces.iter().find(is_jsonrpc).cloned();
    let extended = card.capabilities.extended_agent_card;
    card.supported_interfaces.extend(
        older.clone().map(|interface| Interface { protocol_version: OLDER_VERSION, ..interface }),
    );
    let mut document = json::to_value(card)
        .unwrap_or_else(|_| unreachable!("a card has text keys and finite numbers"));
    if let (Some(members), Some(older)) = (document.as_object_mut(), older) {
        add_older(members, &older.url, extended);
    }
    document
}

/// Adds what clients of 0.3 look for (A2A 0.3 §5.5).
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
        // One requirement for each scheme: any of them is enough, as in 1.0.
        security.push(json!({name.as_str(): []}));
    }
    // What is merely offered is not required in 0.3, either.
    if members.contains_key("securityRequirements") {
        members.insert("security".to_owned(), security.into());
    }
}

/// A way of saying who calls, as OpenAPI has it.
fn older_scheme(scheme: &Value) -> Map {
    let mut older = Map::new();
    let mut insert = |name: &str, value: Value| older.insert(name.to_owned(), value);
    let Some(http) = scheme.get("httpAuthSecurityScheme") else {
        // Cards of ours have two kinds of schemes, and this is the other one.
        insert("type", "mutualTLS".into());
        return older;
    };
    insert("type", "http".into());
    insert("scheme", "bearer".into());
    for name in ["description", "bearerFormat"] {
        if let Some(value) = http.get(name) {
            insert(name, value.clone());
        }
    }
    older
}
