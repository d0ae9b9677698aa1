//! A publisher's agent card: one document that clients of A2A 1.0 and of 0.3 both read. What 1.0
//! calls otherwise stands there twice; readers of either release ignore what they do not know
//! (A2A §5.7).

use tradepost_publisher::publisher::Publisher;
use tradepost_server::agent::Binding;
use tradepost_server::card::{self, ENDPOINT_PATH};
use tradepost_wire::a2a::card::{AgentCard, Capabilities, Extension, Provider, Skill};
use tradepost_wire::adcp;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use super::seller::Front;

/// The release of the older interface.
const OLDER: &str = "0.3.0";

/// Its `Major.Minor`.
const OLDER_SHORT: &str = "0.3";

/// The card of a publisher that is reached under `base_url`.
#[must_use]
pub fn describe(publisher: &Publisher, front: &Front, base_url: &str) -> Value {
    let modes = || vec!["application/json".to_owned(), "text/plain".to_owned()];
    let interfaces = card::interfaces(base_url, &[Binding::JsonRpc]);
    let older = interfaces.iter().cloned().map(|mut interface| {
        interface.protocol_version = OLDER_SHORT;
        interface
    });
    let card = AgentCard {
        name: publisher.profile.name.clone(),
        description: front.description.clone(),
        version: front.agent_version.clone(),
        provider: front.provider.clone().map(|(organization, url)| Provider { organization, url }),
        supported_interfaces: interfaces.iter().cloned().chain(older).collect(),
        capabilities: Capabilities {
            streaming: false,
            push_notifications: false,
            extended_agent_card: false,
            extensions: vec![Extension {
                uri: adcp::EXTENSION.to_owned(),
                description: "AdCP structured task invocation profile".to_owned(),
                required: front.require_extension,
                // What the seller can do is for get_adcp_capabilities to say.
                params: json!({}),
            }],
        },
        default_input_modes: modes(),
        default_output_modes: modes(),
        skills: publisher
            .tools()
            .into_iter()
            .map(|tool| Skill {
                id: tool.name().to_owned(),
                name: tool.title().to_owned(),
                description: tool.docs().split_whitespace().collect::<Vec<_>>().join(" "),
                tags: vec!["adcp".to_owned(), "advertising".to_owned()],
                input_modes: modes(),
                output_modes: modes(),
            })
            .collect(),
        documentation_url: front.documentation_url.clone(),
        security_schemes: card::schemes(&front.auth),
        security_requirements: card::requirements(&front.auth),
    };
    let mut document = tradepost_wire::json::to_value(card)
        .unwrap_or_else(|_| unreachable!("a card has text keys and finite numbers"));
    if let Some(members) = document.as_object_mut() {
        add_older(members, base_url);
    }
    document
}

/// Adds what clients of 0.3 look for (A2A 0.3 §5.5).
fn add_older(members: &mut Map, base_url: &str) {
    let url = format!("{base_url}{ENDPOINT_PATH}");
    let transport = json!([{"url": url, "transport": "JSONRPC"}]);
    for (name, value) in [
        ("url", url.into()),
        ("protocolVersion", OLDER.into()),
        ("preferredTransport", "JSONRPC".into()),
        ("additionalInterfaces", transport),
        ("supportsAuthenticatedExtendedCard", false.into()),
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
        security.push(json!({name.as_str(): []}));
    }
    if members.contains_key("securityRequirements") {
        members.insert("security".to_owned(), security.into());
    }
}

/// A way of saying who calls, as OpenAPI has it.
fn older_scheme(scheme: &Value) -> Map {
    let mut older = Map::new();
    let mut insert = |name: &str, value: Value| older.insert(name.to_owned(), value);
    let Some(http) = scheme.get("httpAuthSecurityScheme") else {
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
