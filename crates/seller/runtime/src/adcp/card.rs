//! Agent card of a publisher, for clients of both A2A 1.0 and 0.3.

use tradepost_a2a::card::{
    AgentCapabilities, AgentCard, AgentExtension, AgentProvider, AgentSkill,
};
use tradepost_adcp as adcp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_publisher::publisher::Publisher;
use tradepost_server::agent::Binding;
use tradepost_server::card;

use crate::config::Front;

/// Returns the card of a publisher under `base_url`.
#[must_use]
pub fn describe(publisher: &Publisher, front: &Front, base_url: &str) -> Value {
    let modes = || vec!["application/json".to_owned(), "text/plain".to_owned()];
    let card = AgentCard {
        name: publisher.profile.name.clone(),
        description: front.description.clone(),
        version: front.agent_version.clone(),
        provider: front
            .provider
            .clone()
            .map(|(organization, url)| AgentProvider { organization, url }),
        supported_interfaces: card::interfaces(base_url, &[Binding::JsonRpc]),
        capabilities: AgentCapabilities {
            streaming: false,
            push_notifications: false,
            extended_agent_card: false,
            extensions: vec![AgentExtension {
                uri: adcp::EXTENSION.to_owned(),
                description: "AdCP structured task invocation profile".to_owned(),
                required: front.require_extension,
                // The seller's abilities are in get_adcp_capabilities.
                params: json!({}),
            }],
        },
        default_input_modes: modes(),
        default_output_modes: modes(),
        skills: publisher
            .tools()
            .into_iter()
            .map(|tool| AgentSkill {
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
    card::for_both_releases(card)
}
