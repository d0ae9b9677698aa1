//! The agent card as we publish it (A2A 1.0 §4.4.1, §8). Cards of other agents are read by the
//! buyer as JSON.

use std::borrow::Cow;
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
    pub security_schemes: BTreeMap<Cow<'static, str>, SecurityScheme>,
    /// Requirements of which a caller must satisfy one; none when callers need no credential.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_requirements: Vec<SecurityRequirement>,
}

/// A security scheme. In the JSON of A2A 1.0 the name of the member tells the kind (A2A 1.0
/// §4.5.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum SecurityScheme {
    /// A key in a header, a cookie or the query.
    #[serde(rename = "apiKeySecurityScheme")]
    ApiKey(ApiKeyAuth),
    /// A credential in the header `Authorization`.
    #[serde(rename = "httpAuthSecurityScheme")]
    HttpAuth(HttpAuth),
    /// An access token of an OAuth 2.0 authorization server.
    #[serde(rename = "oauth2SecurityScheme")]
    OAuth2(OAuth2Auth),
    /// An access token of an OpenID Connect provider.
    #[serde(rename = "openIdConnectSecurityScheme")]
    OpenIdConnect(OpenIdConnectAuth),
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
    pub scheme: Cow<'static, str>,
    /// Format of a bearer credential, such as `JWT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer_format: Option<Cow<'static, str>>,
}

/// A key that the agent's operator has issued.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ApiKeyAuth {
    /// Description for people.
    pub description: String,
    /// Where the key is sent.
    pub location: ApiKeyLocation,
    /// Name of the header, the cookie or the parameter.
    pub name: String,
}

/// Where a caller sends an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ApiKeyLocation {
    /// A header of the request.
    Header,
    /// A cookie.
    Cookie,
    /// A parameter of the address.
    Query,
}

/// An access token of an OAuth 2.0 authorization server.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OAuth2Auth {
    /// Description for people.
    pub description: String,
    /// How a caller gets a token.
    pub flows: OAuthFlow,
    /// Address of the server's metadata (RFC 8414).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oauth2_metadata_url: Option<String>,
}

/// How a caller gets an access token. A2A 1.0 deprecates the flows that are not here.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum OAuthFlow {
    /// A person agrees in a browser (RFC 6749 §4.1).
    AuthorizationCode {
        /// Address at which the person agrees.
        authorization_url: String,
        /// Address at which the caller gets tokens.
        token_url: String,
        /// Scopes, by name, each with a description.
        scopes: BTreeMap<String, String>,
        /// True when the caller has to use PKCE (RFC 7636).
        pkce_required: bool,
    },
    /// The caller acts for itself (RFC 6749 §4.4).
    ClientCredentials {
        /// Address at which the caller gets tokens.
        token_url: String,
        /// Scopes, by name, each with a description.
        scopes: BTreeMap<String, String>,
    },
    /// A person agrees on another device (RFC 8628).
    DeviceCode {
        /// Address at which the caller gets a code for the person.
        device_authorization_url: String,
        /// Address at which the caller gets tokens.
        token_url: String,
        /// Scopes, by name, each with a description.
        scopes: BTreeMap<String, String>,
    },
}

/// An access token of an OpenID Connect provider.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenIdConnectAuth {
    /// Description for people.
    pub description: String,
    /// Address of the provider's metadata, which ends in `/.well-known/openid-configuration`.
    pub open_id_connect_url: String,
}

/// Schemes that have to be satisfied together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecurityRequirement {
    /// Required scopes by name of the scheme.
    pub schemes: BTreeMap<Cow<'static, str>, StringList>,
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
