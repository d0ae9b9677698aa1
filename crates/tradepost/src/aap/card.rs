//! A dealer's agent card (`R-CARD-01` to `R-CARD-10`).

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tradepost_wire::a2a::card::{
    AgentCard, Capabilities, Extension, HttpAuth, Interface, MutualTls, Provider,
    SecurityRequirement, SecurityScheme, Skill, StringList,
};
use tradepost_wire::aap::Version;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::problem::Problems;
use tradepost_wire::strict;

use crate::config::{Auth, Dealer, Jwt};
use crate::signing::{self, key::SigningKey};
use crate::store::CardIdentity;

/// The path of the JSON-RPC endpoint.
pub const ENDPOINT_PATH: &str = "/a2a";

/// Where the paths of the HTTP+JSON binding begin.
pub const HTTP_JSON_PATH: &str = "/rest";

/// A card as it is published.
#[derive(Debug, Clone)]
pub struct PublishedCard {
    /// The document.
    pub body: Vec<u8>,
    /// An entity tag, with its quotes: strong, or weak when the card is signed. Signing the same
    /// card again gives other bytes, with every start and on every replica, that mean the same.
    pub etag: String,
    /// What the card was published as.
    pub identity: CardIdentity,
}

impl PublishedCard {
    /// The card, signed. Its id stays that of the content, because a new signature is no new card
    /// (`R-CARD-08`). Its date becomes that of the signature, because who asks by date must hear
    /// of a new key.
    ///
    /// # Errors
    /// Why the card cannot be signed.
    pub fn sign(
        self,
        key: &SigningKey,
        jku: Option<&str>,
        signed_at: Timestamp,
    ) -> Result<Self, Problems> {
        let mut card = strict::read(&String::from_utf8_lossy(&self.body))?;
        let signature = signing::sign(&card, key, jku)?;
        if let Some(members) = card.as_object_mut() {
            members.insert("signatures".to_owned(), json!([signature]));
        }
        let header = signing::protected_header(key, jku).to_string();
        let content = [self.body.as_slice(), header.as_bytes()].concat();
        let modified_at = self.identity.modified_at.max(signed_at);
        Ok(Self {
            body: card.to_string().into_bytes(),
            etag: format!("W/\"{}\"", hex_hash(&content)),
            identity: CardIdentity { modified_at, ..self.identity },
        })
    }
}

/// Writes a dealer's card, with the identity that belongs to its content: `identify` gets the
/// content's hash.
///
/// # Errors
/// What `identify` returns.
pub fn publish<E>(
    dealer: &Dealer,
    base_url: &str,
    identify: impl FnOnce(&str) -> Result<CardIdentity, E>,
) -> Result<PublishedCard, E> {
    publish_with(|id| card(dealer, base_url, id), identify)
}

/// The same for any card: `describe` gets the id.
///
/// # Errors
/// What `identify` returns.
pub fn publish_with<E, C: Serialize>(
    describe: impl Fn(&str) -> C,
    identify: impl FnOnce(&str) -> Result<CardIdentity, E>,
) -> Result<PublishedCard, E> {
    // The id is part of the card and changes with it, so the hash is taken over a card without.
    let identity = identify(&hex_hash(&write(&describe(""))))?;
    let body = write(&describe(&identity.id));
    let etag = format!("\"{}\"", hex_hash(&body));
    Ok(PublishedCard { body, etag, identity })
}

fn write(card: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(card).unwrap_or_else(|_| unreachable!("a card has only text keys"))
}

fn hex_hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().take(16).fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn card(dealer: &Dealer, base_url: &str, id: &str) -> AgentCard {
    AgentCard {
        name: dealer.name.clone(),
        description: dealer.description.clone(),
        version: dealer.agent_version.clone(),
        provider: dealer.provider.clone().map(|(organization, url)| Provider { organization, url }),
        supported_interfaces: interfaces(base_url, dealer.speaks_http_json()),
        capabilities: Capabilities {
            streaming: false,
            push_notifications: false,
            extended_agent_card: false,
            // The newest version first: buyers that take the first they know get the best.
            extensions: dealer.versions.iter().rev().map(|v| extension(dealer, *v, id)).collect(),
        },
        default_input_modes: vec!["application/json".to_owned()],
        default_output_modes: vec!["application/json".to_owned()],
        skills: dealer
            .skills
            .iter()
            .map(|skill| Skill {
                id: skill.name().to_owned(),
                name: skill.title().to_owned(),
                description: skill.docs().split_whitespace().collect::<Vec<_>>().join(" "),
                tags: skill.tags().iter().map(|tag| (*tag).to_owned()).collect(),
                input_modes: vec![skill.request_media_type(), "application/json".to_owned()],
                output_modes: vec![skill.response_media_type(), "application/json".to_owned()],
            })
            .collect(),
        documentation_url: dealer.documentation_url.clone(),
        security_requirements: requirements(&dealer.auth),
        security_schemes: schemes(&dealer.auth),
    }
}

/// Where an agent is reached, the preferred binding first (D-02).
pub(crate) fn interfaces(base_url: &str, http_json: bool) -> Vec<Interface> {
    let interface = |path, protocol_binding| Interface {
        url: format!("{base_url}{path}"),
        protocol_binding,
        protocol_version: tradepost_wire::a2a::VERSION,
    };
    let json_rpc = interface(ENDPOINT_PATH, "JSONRPC");
    let http_json = http_json.then(|| interface(HTTP_JSON_PATH, "HTTP+JSON"));
    std::iter::once(json_rpc).chain(http_json).collect()
}

/// Where an agent is reached by gRPC: a host and a port in place of a URL (A2A §4.4.6).
pub(crate) fn grpc_interface(base_url: &str) -> Interface {
    let (scheme, rest) = base_url.split_once("://").unwrap_or(("https", base_url));
    let host = rest.split('/').next().unwrap_or_default();
    // A colon within brackets belongs to an IPv6 address.
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let port = match (has_port, scheme) {
        (true, _) => "",
        (false, "http") => ":80",
        (false, _) => ":443",
    };
    Interface {
        url: format!("{host}{port}"),
        protocol_binding: "GRPC",
        protocol_version: tradepost_wire::a2a::VERSION,
    }
}

/// The ways to say who calls that a dealer accepts (`R-CARD-15`).
pub(crate) fn schemes(auth: &Auth) -> BTreeMap<&'static str, SecurityScheme> {
    let bearer = |description, bearer_format| {
        SecurityScheme::HttpAuth(HttpAuth { description, scheme: "Bearer", bearer_format })
    };
    let key = auth.api_keys.then(|| {
        ("apiKey", bearer("A key that the seller has issued, as a bearer token.".to_owned(), None))
    });
    let jwt = auth.jwt.as_ref().map(|jwt| {
        let Jwt { issuer, audience, .. } = jwt;
        let description = format!("An access token of {issuer} for the audience {audience}.");
        ("jwt", bearer(description, Some("JWT")))
    });
    let mtls = (!auth.certificates.is_empty()).then(|| {
        let description = "A client certificate that the seller knows, in the TLS handshake.";
        ("mtls", SecurityScheme::MutualTls(MutualTls { description: description.to_owned() }))
    });
    key.into_iter().chain(jwt).chain(mtls).collect()
}

/// Each scheme is enough by itself. What is merely offered is not required.
pub(crate) fn requirements(auth: &Auth) -> Vec<SecurityRequirement> {
    if !auth.required {
        return Vec::new();
    }
    let alone = |name| SecurityRequirement { schemes: [(name, StringList::default())].into() };
    schemes(auth).into_keys().map(alone).collect()
}

fn extension(dealer: &Dealer, version: Version, id: &str) -> Extension {
    let mut params = json!({"id": id, "version": version.full()});
    if let Some(params) = params.as_object_mut().filter(|_| version.lists_schemas()) {
        let base = version.schema_base_url();
        let schemas: Map<String, Value> = dealer
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
    Extension {
        uri: version.uri().to_owned(),
        description: version.description().to_owned(),
        // AAP's own examples send no A2A-Extensions header, so it cannot be demanded (C-32).
        required: false,
        params,
    }
}
