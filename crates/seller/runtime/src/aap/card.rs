//! A dealer's agent card, with the members that AAP 1.1 requires of it (`discovery`; `R-CARD-01` to
//! `R-CARD-10`).

use tradepost_a2a::card::{
    AgentCapabilities, AgentCard, AgentExtension, AgentProvider, AgentSkill,
};
use tradepost_aap::Version;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, json};
use tradepost_server::agent::Binding;
use tradepost_server::card::{self, CardIdentity, PublishedCard};

use crate::config::{DealerConfig, ListenOrigin};

/// Builds a dealer's card. `identify` gets the hash of the content and returns the identity of the
/// card.
///
/// # Errors
/// Returns the error of `identify`.
pub fn publish<E>(
    dealer: &DealerConfig,
    base_url: &str,
    identify: impl FnOnce(&str) -> Result<CardIdentity, E>,
) -> Result<PublishedCard, E> {
    PublishedCard::new(|id| describe(dealer, base_url, id), identify)
}

/// Returns the address of the agent on its card: the public address, or the first host, or the
/// listen address. A host without a public address has a proxy that speaks TLS on the default port,
/// unless the process does so itself.
pub fn base_url(dealer: &DealerConfig, origin: ListenOrigin) -> String {
    if let Some(url) = &dealer.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let port = origin.address.port();
    match dealer.hosts.first() {
        Some(host) if origin.secure && port != 443 => format!("https://{host}:{port}"),
        Some(host) => format!("https://{host}"),
        // An unspecified address can be listened on, but not called.
        None if origin.address.ip().is_unspecified() => {
            format!("{}://localhost:{port}", if origin.secure { "https" } else { "http" })
        }
        None => origin.to_string(),
    }
}

fn describe(dealer: &DealerConfig, base_url: &str, id: &str) -> AgentCard {
    AgentCard {
        name: dealer.terms.name.clone(),
        description: dealer.description.clone(),
        version: dealer.agent_version.clone(),
        provider: dealer
            .provider
            .clone()
            .map(|(organization, url)| AgentProvider { organization, url }),
        supported_interfaces: card::interfaces(base_url, bindings(dealer)),
        capabilities: AgentCapabilities {
            streaming: false,
            push_notifications: false,
            extended_agent_card: false,
            // The newest version first: buyers that take the first one they know get the best.
            extensions: dealer
                .terms
                .versions
                .iter()
                .rev()
                .map(|version| extension(dealer, *version, id))
                .collect(),
        },
        default_input_modes: vec!["application/json".to_owned()],
        default_output_modes: vec!["application/json".to_owned()],
        skills: dealer
            .terms
            .skills
            .iter()
            .map(|skill| AgentSkill {
                id: skill.name().to_owned(),
                name: skill.title().to_owned(),
                description: skill.docs().split_whitespace().collect::<Vec<_>>().join(" "),
                tags: skill.tags().iter().map(|tag| (*tag).to_owned()).collect(),
                input_modes: vec![skill.request_media_type(), "application/json".to_owned()],
                output_modes: vec![skill.response_media_type(), "application/json".to_owned()],
            })
            .collect(),
        documentation_url: dealer.documentation_url.clone(),
        security_requirements: card::requirements(&dealer.auth),
        security_schemes: card::schemes(&dealer.auth),
    }
}

fn bindings(dealer: &DealerConfig) -> &'static [Binding] {
    if dealer.speaks_http_json() {
        &[Binding::JsonRpc, Binding::HttpJson]
    } else {
        &[Binding::JsonRpc]
    }
}

fn extension(dealer: &DealerConfig, version: Version, id: &str) -> AgentExtension {
    let mut params = json!({"id": id, "version": version.full()});
    if let Some(params) = params.as_object_mut().filter(|_| version.lists_schemas()) {
        let base = version.schema_base_url();
        let schemas: Map = dealer
            .terms
            .skills
            .iter()
            .map(|skill| {
                let address = |kind| format!("{base}{}-{kind}.schema.json", skill.stem());
                let addresses = json!({
                    "request_schema": address("request"),
                    "response_schema": address("response"),
                });
                (skill.name().to_owned(), addresses)
            })
            .collect();
        params.insert("schema_base_url".into(), base.into());
        params.insert("skills".into(), schemas.into());
    }
    AgentExtension {
        uri: version.uri().to_owned(),
        description: version.description().to_owned(),
        // AAP's own examples send no A2A-Extensions header, so it cannot be required (C-32).
        required: false,
        params,
    }
}
