//! The agent card as we publish it (A2A 1.0 §4.4.1, §8). Cards of other agents are read by the
//! buyer as JSON.

use std::collections::BTreeMap;

use serde::Serialize;

pub use signing::signing_payload;
use tradepost_document::json::Value;

mod signing;

/// Path of an agent's card.
pub const WELL_KNOWN_PATH: &str = "/.well-known/agent-card.json";

/// Path of a host's directory of agents (RFC 9727).
pub const DIRECTORY_PATH: &str = "/.well-known/api-catalog";

/// An agent card.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCard {
    /// Name of the agent.
    pub name: String,
    /// Description of the agent.
    pub description: String,
    /// The agent's own version, not the protocol's.
    pub version: String,
    /// Operator of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<AgentProvider>,
    /// Interfaces in order of preference.
    pub supported_interfaces: Vec<AgentInterface>,
    /// Optional capabilities, and extensions.
    pub capabilities: AgentCapabilities,
    /// Accepted media types.
    pub default_input_modes: Vec<String>,
    /// Produced media types.
    pub default_output_modes: Vec<String>,
    /// Skills.
    pub skills: Vec<AgentSkill>,
    /// Address of the documentation for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documentation_url: Option<String>,
    /// Security schemes by a name of the agent's choice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub security_schemes: BTreeMap<&'static str, SecurityScheme>,
    /// Requirements of which a caller must satisfy one; none when callers need no credential.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A security scheme. In the JSON of A2A 1.0 the name of the member tells the kind (A2A 1.0
/// §4.5.1).
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
    /// Description for people.
    pub description: String,
}

/// A credential in the header `Authorization`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpAuth {
    /// Description for people.
    pub description: String,
    /// Name of the HTTP authentication scheme, such as `Bearer`.
    pub scheme: &'static str,
    /// Format of a bearer credential, such as `JWT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_format: Option<&'static str>,
}

/// Schemes that have to be satisfied together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecurityRequirement {
    /// Required scopes by name of the scheme.
    pub schemes: BTreeMap<&'static str, StringList>,
}

/// A list, wrapped as in the protocol's definition.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct StringList {
    /// Items of the list.
    pub list: Vec<String>,
}

/// The operator of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentProvider {
    /// Name of the organisation.
    pub organization: String,
    /// Address of its website.
    pub url: String,
}

/// An interface of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInterface {
    /// Absolute address; host and port for `GRPC`.
    pub url: String,
    /// Binding: `JSONRPC`, `HTTP+JSON` or `GRPC`.
    pub protocol_binding: &'static str,
    /// Protocol version: `Major.Minor`.
    pub protocol_version: &'static str,
}

/// Optional capabilities of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentCapabilities {
    /// True when it supports streaming.
    pub streaming: bool,
    /// True when it supports push notifications.
    pub push_notifications: bool,
    /// True when authenticated callers get an extended card; left out when false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub extended_agent_card: bool,
    /// Supported extensions.
    pub extensions: Vec<AgentExtension>,
}

/// An extension that an agent supports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentExtension {
    /// URI of the extension with its version.
    pub uri: String,
    /// Description for people.
    pub description: String,
    /// True when callers must activate it.
    pub required: bool,
    /// Parameters of the extension.
    pub params: Value,
}

/// A skill of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSkill {
    /// Id of the skill.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Description for people and models.
    pub description: String,
    /// Key words; at least one.
    pub tags: Vec<String>,
    /// Accepted media types.
    pub input_modes: Vec<String>,
    /// Produced media types.
    pub output_modes: Vec<String>,
}
