//! The agent card as we publish it (A2A §4.4.1, §8). Reading someone else's card is the buyer's
//! business and stays with the JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::json::Value;
pub use signing::signing_payload;

mod signing;

/// Where every agent publishes its card.
pub const WELL_KNOWN_PATH: &str = "/.well-known/agent-card.json";

/// Where a host says which agents it knows of (RFC 9727).
pub const DIRECTORY_PATH: &str = "/.well-known/api-catalog";

/// An agent card.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// The agent's name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The agent's own version, not the protocol's.
    pub version: String,
    /// Who operates it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<Provider>,
    /// How it is reached, in order of preference.
    pub supported_interfaces: Vec<Interface>,
    /// What it can do beyond answering messages, and its profiles.
    pub capabilities: Capabilities,
    /// Media types read.
    pub default_input_modes: Vec<String>,
    /// Media types written.
    pub default_output_modes: Vec<String>,
    /// What it can be asked for.
    pub skills: Vec<Skill>,
    /// Documentation for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// How callers can say who they are, by a name of the agent's choice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub security_schemes: BTreeMap<&'static str, SecurityScheme>,
    /// Of these a caller must satisfy one; none means that anybody may call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A way for callers to say who they are. In the JSON of A2A v1.0 the member's name tells the
/// kind (A2A §4.5.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum SecurityScheme {
    /// A credential in the header `Authorization`.
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuth),
    /// A client certificate, shown in the TLS handshake.
    #[serde(rename = "mtlsSecurityScheme")]
    MutualTls(MutualTls),
}

/// A client certificate, shown in the TLS handshake.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MutualTls {
    /// For people.
    pub description: String,
}

/// A credential in the header `Authorization`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAuth {
    /// For people.
    pub description: String,
    /// The name of the HTTP authentication scheme, such as `Bearer`.
    pub scheme: &'static str,
    /// What a bearer credential is, such as `JWT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_format: Option<&'static str>,
}

/// Schemes that have to be satisfied together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecurityRequirement {
    /// By the name of the scheme, what it must grant.
    pub schemes: BTreeMap<&'static str, StringList>,
}

/// A list, as the protocol's definition wraps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StringList {
    /// Its items.
    pub list: Vec<String>,
}

/// Who operates an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Provider {
    /// The organisation.
    pub organization: String,
    /// Its site.
    pub url: String,
}

/// One way to reach an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Interface {
    /// The absolute address; a host and a port for `GRPC`.
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON` or `GRPC`.
    pub protocol_binding: &'static str,
    /// `Major.Minor`.
    pub protocol_version: &'static str,
}

/// What an agent can do beyond answering messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Whether it streams.
    pub streaming: bool,
    /// Whether it pushes.
    pub push_notifications: bool,
    /// Whether authenticated callers get a card of their own; left out when not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extended_agent_card: bool,
    /// The profiles it speaks.
    pub extensions: Vec<Extension>,
}

/// A profile that an agent speaks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extension {
    /// The profile and its version.
    pub uri: String,
    /// For people.
    pub description: String,
    /// Whether a caller must ask for it.
    pub required: bool,
    /// The profile's own facts.
    pub params: Value,
}

/// Something an agent can be asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// The profile's id of the skill.
    pub id: String,
    /// For people.
    pub name: String,
    /// For people and models.
    pub description: String,
    /// Key words; at least one.
    pub tags: Vec<String>,
    /// Media types read.
    pub input_modes: Vec<String>,
    /// Media types written.
    pub output_modes: Vec<String>,
}
