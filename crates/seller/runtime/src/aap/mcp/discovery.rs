//! Documents by which assistants and registries find the endpoint: what they can do here, and what it requires.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};
use tradepost_document::text::{SENTENCE, plain};

use crate::config::DealerConfig;
use crate::gate::{self, KeyScope};

/// Schema of an entry of the MCP registry.
const REGISTRY_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// Maximum length of a description in the MCP registry, in characters.
const MAX_DESCRIPTION: usize = 100;

/// Returns `llms.txt`: what a model can do at this dealer.
pub(super) fn llms_text(dealer: &DealerConfig, address: &str) -> String {
    let base = address.strip_suffix(super::PATH).unwrap_or(address);
    let tools: Vec<_> = dealer.terms.skills.iter().map(|skill| skill.tool_name()).collect();
    let ucp = if dealer.ucp {
        format!("- [UCP profile]({base}/.well-known/ucp): the catalog, without a checkout\n")
    } else {
        String::new()
    };
    let access = if dealer.auth.required {
        "Callers need a credential; the agent card says of which kind."
    } else {
        "Everybody may read. No key is needed."
    };
    format!(
        "# {name}\n\n> {description}\n\n\
         This address is for AI agents and assistants that ask on behalf of people. {access} A contact request is \
         sent only after the person has read a consent text and agreed.\n\n\
         - [MCP]({address}): streamable HTTP; the tools are {tools}\n\
         - [Agent card]({base}/.well-known/agent-card.json): A2A with the Auto Agent Protocol\n{ucp}",
        name = plain(&dealer.terms.name, SENTENCE),
        description = plain(&dealer.description, SENTENCE),
        tools = tools.join(", "),
    )
}

/// Returns the entry for the MCP registry. `None` for a dealer without a domain, which the registry requires.
pub(super) fn registry_entry(dealer: &DealerConfig, address: &str) -> Option<String> {
    let entry = RegistryEntry {
        kind: "dealer",
        title: &dealer.terms.name,
        description: &dealer.description,
        version: &dealer.agent_version,
        website: dealer.documentation_url.as_deref(),
        needs_bearer: dealer.auth.required && dealer.auth.takes_bearer(),
        address,
    };
    entry.write()
}

/// An entry of the MCP registry.
#[derive(Debug, Clone, Copy)]
pub(in crate::aap) struct RegistryEntry<'a> {
    /// Last part of the name, after the domain.
    pub(in crate::aap) kind: &'a str,
    /// Title.
    pub(in crate::aap) title: &'a str,
    /// Description.
    pub(in crate::aap) description: &'a str,
    /// Version of the server.
    pub(in crate::aap) version: &'a str,
    /// Address of its documentation.
    pub(in crate::aap) website: Option<&'a str>,
    /// True when every caller has to send a bearer credential.
    pub(in crate::aap) needs_bearer: bool,
    /// Address of the endpoint.
    pub(in crate::aap) address: &'a str,
}

impl RegistryEntry<'_> {
    /// Writes the entry. `None` for an address without a domain, which the registry requires.
    pub(in crate::aap) fn write(self) -> Option<String> {
        let Self { kind, title, description, version, website, needs_bearer, address } = self;
        let domain = reversed_domain(address)?;
        let header = json!({
            "name": "Authorization", "description": "Bearer and the dealer's API key or access token.",
            "isRequired": true, "isSecret": true,
        });
        let headers = needs_bearer.then(|| json!([header]));
        let entry = object!({
            "$schema": REGISTRY_SCHEMA,
            "name": format!("{domain}/{kind}"),
            "title": plain(title, MAX_DESCRIPTION - 1),
            "description": plain(description, MAX_DESCRIPTION - 1),
            "version": version,
            "websiteUrl"?: website,
            "remotes": [object!({"type": "streamable-http", "url": address, "headers"?: headers})],
        });
        Some(entry.to_string())
    }
}

/// Returns the domain of an address from its end, such as `com.example`. `None` for a host that is no domain.
fn reversed_domain(address: &str) -> Option<String> {
    let host = address.split_once("://")?.1.split(['/', ':']).next()?;
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let labels: Vec<_> = host.split('.').rev().collect();
    let is_domain = labels.len() > 1
        && labels.iter().all(|label| is_label(label))
        && labels.first().is_some_and(|top| top.bytes().all(|byte| byte.is_ascii_alphabetic()));
    is_domain.then(|| labels.join("."))
}

/// Returns the metadata of the protected resource (RFC 9728). `None` where no bearer credential is demanded.
pub(super) fn protected_resource(dealer: &DealerConfig, address: &str) -> Option<String> {
    if !dealer.auth.required || !dealer.auth.takes_bearer() {
        return None;
    }
    let mut scopes: Vec<KeyScope> = Vec::new();
    for skill in &dealer.terms.skills {
        let scope = gate::of_skill(*skill);
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    let scopes: Value = scopes.into_iter().map(|scope| Value::from(scope.name())).collect();
    // Issuers are named by an address in OAuth; another name would lead nowhere.
    let issuer = dealer.auth.jwt.as_ref().map(|jwt| &jwt.issuer);
    let issuer = issuer.filter(|issuer| issuer.starts_with("https://"));
    let metadata = object!({
        "resource": address,
        "resource_name": dealer.terms.name,
        "authorization_servers"?: issuer.map(|issuer| json!([issuer])),
        "scopes_supported": scopes,
        "bearer_methods_supported": ["header"],
        "resource_documentation"?: dealer.documentation_url,
    });
    Some(metadata.to_string())
}
