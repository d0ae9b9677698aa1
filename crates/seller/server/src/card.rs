//! Published agent cards (A2A 1.0 §8): bytes, identity, date, and the claims that are enforced.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tradepost_a2a as a2a;
use tradepost_a2a::card::{
    AgentCapabilities, AgentCard, AgentInterface, AgentSkill, HttpAuth, MutualTls,
    SecurityRequirement, SecurityScheme, StringList,
};
use tradepost_a2a::{Content, Part};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::MediaType;
use tradepost_document::json::{self, Value, json};
use tradepost_document::problem::Problems;
use tradepost_document::words;
pub use tradepost_keys::private::SigningKey;

use crate::auth::{AuthSettings, JwtSettings};

mod older;

pub use older::for_both_releases;

words! {
    /// Bindings of the protocol, by their names on cards.
    pub enum Binding {
        /// JSON-RPC.
        JsonRpc = "JSONRPC",
        /// HTTP+JSON.
        HttpJson = "HTTP+JSON",
        /// gRPC.
        Grpc = "GRPC",
    }
}

/// Path of the JSON-RPC endpoint.
pub const ENDPOINT_PATH: &str = "/a2a";

/// Prefix of the paths of the HTTP+JSON binding.
pub const HTTP_JSON_PATH: &str = "/rest";

/// A published agent card.
#[derive(Debug, Clone)]
pub struct PublishedCard {
    /// The JSON document.
    pub body: Vec<u8>,
    /// Entity tag with its quotes: strong, or weak when the card is signed, because each start and
    /// each replica produces other signature bytes with the same meaning.
    pub etag: String,
    /// Identity of the content.
    pub identity: CardIdentity,
    /// Claims of the card.
    pub claims: CardClaims,
}

/// Identity of a card's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardIdentity {
    /// Id that changes exactly when the content changes.
    pub id: String,
    /// Time of the last change.
    pub modified_at: Timestamp,
}

/// Claims of a card, which the server enforces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CardClaims {
    /// True when it supports streaming.
    pub streaming: bool,
    /// True when it supports push notifications.
    pub push: bool,
    /// True when it has an extended card for authenticated callers.
    pub extended_card: bool,
    /// Supported extensions.
    pub extensions: Vec<ClaimedExtension>,
    /// Supported bindings.
    pub bindings: Vec<Binding>,
    /// Media types that the agent or any of its skills accepts, including ranges such as `text/*`.
    pub input_modes: Vec<String>,
    /// True when JSON-RPC in protocol version 0.3 is supported.
    pub older: bool,
    /// True when it is reached over TLS: one of its addresses begins with `https`. Addresses of
    /// gRPC have no scheme.
    pub over_tls: bool,
}

/// An extension on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedExtension {
    /// URI of the extension.
    pub uri: String,
    /// True when every request has to activate it.
    pub required: bool,
}

impl CardClaims {
    /// Reads the claims of a card.
    fn from_card(card: &Value) -> Self {
        let capabilities = card.get("capabilities");
        let list = |owner: Option<&Value>, name: &str| {
            owner.and_then(|owner| owner.get(name)?.as_array()).cloned().unwrap_or_default()
        };
        let is = |owner: Option<&Value>, name: &str| {
            owner.and_then(|owner| owner.get(name)?.as_bool()).unwrap_or_default()
        };
        let extension = |known: &Value| {
            let uri = known.get("uri")?.as_str()?.to_owned();
            Some(ClaimedExtension { uri, required: is(Some(known), "required") })
        };
        let binding =
            |interface: &Value| Binding::from_name(interface.get("protocolBinding")?.as_str()?);
        let interfaces = list(Some(card), "supportedInterfaces");
        let is_older = |interface: &Value| {
            let version = interface.get("protocolVersion").and_then(Value::as_str);
            binding(interface) == Some(Binding::JsonRpc)
                && version.is_some_and(|version| a2a::is_release(version, a2a::OLDER_VERSION))
        };
        let is_over_tls = |interface: &Value| {
            let url = interface.get("url").and_then(Value::as_str);
            url.is_some_and(|url| url.starts_with("https://"))
        };
        Self {
            streaming: is(capabilities, "streaming"),
            push: is(capabilities, "pushNotifications"),
            extended_card: is(capabilities, "extendedAgentCard"),
            extensions: list(capabilities, "extensions").iter().filter_map(extension).collect(),
            bindings: interfaces.iter().filter_map(binding).collect(),
            input_modes: input_modes(card),
            older: interfaces.iter().any(is_older),
            over_tls: interfaces.iter().any(is_over_tls),
        }
    }

    /// Returns true for a part with a claimed media type. A part without one has that of its
    /// content: text is `text/plain`, data is `application/json`, and a file can be anything. A
    /// card without input modes accepts all.
    // Used for refusing unreadable parts (A2A 1.0 §3.1.1, E-24).
    #[must_use]
    pub fn reads(&self, part: &Part) -> bool {
        let named = part.media_type.as_deref().map(MediaType::new);
        let named = named.map(MediaType::as_str).filter(|media_type| !media_type.is_empty());
        let media_type = match (named, &part.content) {
            (Some(named), _) => named,
            (None, Content::Text(_)) => "text/plain",
            (None, Content::Data(_)) => "application/json",
            (None, Content::Raw(_) | Content::Url(_)) => return true,
        };
        let covers = |mode: &String| MediaType::new(mode).covers(media_type);
        self.input_modes.is_empty() || self.input_modes.iter().any(covers)
    }
}

/// Returns the media types that a card lists as input, without duplicates.
fn input_modes(card: &Value) -> Vec<String> {
    let skills = card.get("skills").and_then(Value::as_array).into_iter().flatten();
    let lists = card.get("defaultInputModes").into_iter();
    let lists = lists.chain(skills.filter_map(|skill| skill.get("inputModes")));
    let mut modes: Vec<String> = Vec::new();
    for mode in lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str) {
        if !modes.iter().any(|known| known == mode) {
            modes.push(mode.to_owned());
        }
    }
    modes
}

impl PublishedCard {
    /// Serialises a card with the identity of its content: `describe` gets the id, and `identify`
    /// the hash of the content.
    ///
    /// # Errors
    /// Those of `identify`.
    pub fn new<E, C: Serialize>(
        describe: impl Fn(&str) -> C,
        identify: impl FnOnce(&str) -> Result<CardIdentity, E>,
    ) -> Result<Self, E> {
        // The id is part of the card, so the hash is taken over a card without it.
        let identity = identify(&hex_hash(&write(&describe(""))))?;
        let card = json::to_value(describe(&identity.id))
            .unwrap_or_else(|_| unreachable!("a card has only text keys"));
        let body = write(&card);
        let etag = format!("\"{}\"", hex_hash(&body));
        // Claims are read from the published document, so that both cannot differ.
        Ok(Self { body, etag, identity, claims: CardClaims::from_card(&card) })
    }

    /// Creates a card whose identity depends on its content only, in any process; `since` is its
    /// last change.
    #[must_use]
    pub fn from_card(card: &impl Serialize, since: Timestamp) -> Self {
        let identify = |hash: &str| {
            Ok::<_, Infallible>(CardIdentity { id: hash.to_owned(), modified_at: since })
        };
        let Ok(published) = Self::new(|_| card, identify);
        published
    }

    /// Signs the card. Its id stays that of the content, because a new signature is not a new card.
    /// Its date becomes that of the signature, because clients that ask by date must notice a new
    /// key.
    ///
    /// # Errors
    /// The reason why the card cannot be signed.
    // The id changes whenever the content does (AAP 1.1, R-CARD-08).
    pub fn sign(
        self,
        key: &SigningKey,
        jku: Option<&str>,
        signed_at: Timestamp,
    ) -> Result<Self, Problems> {
        let mut card = json::read(&String::from_utf8_lossy(&self.body))?;
        sign(&mut card, key, jku)?;
        // The entity tag covers the header of the signature only: a new key has to be noticed, a
        // new signature does not.
        let header = tradepost_keys::card::protected_header(key, jku).to_string();
        let content = [self.body.as_slice(), header.as_bytes()].concat();
        let modified_at = self.identity.modified_at.max(signed_at);
        Ok(Self {
            body: card.to_string().into_bytes(),
            etag: format!("W/\"{}\"", hex_hash(&content)),
            identity: CardIdentity { modified_at, ..self.identity },
            claims: self.claims,
        })
    }
}

/// Signs a card (A2A 1.0 §8.4); `jku` is the address of the public key.
///
/// # Errors
/// The reason why the card cannot be signed.
pub fn sign(card: &mut Value, key: &SigningKey, jku: Option<&str>) -> Result<(), Problems> {
    let signature = tradepost_keys::card::sign(card, key, jku)?;
    if let Some(members) = card.as_object_mut() {
        members.insert("signatures".to_owned(), json!([signature]));
    }
    Ok(())
}

/// Creates the card of an agent that is reached under `base_url` on every binding, reads and writes
/// text, and streams. The caller adds the rest.
#[must_use]
pub fn describe(name: &str, description: &str, base_url: &str) -> AgentCard {
    let text = || vec!["text/plain".to_owned()];
    AgentCard {
        name: name.to_owned(),
        description: description.to_owned(),
        version: "0.1.0".to_owned(),
        provider: None,
        supported_interfaces: interfaces(base_url, Binding::ALL),
        capabilities: AgentCapabilities {
            streaming: true,
            push_notifications: false,
            extended_agent_card: false,
            extensions: Vec::new(),
        },
        default_input_modes: text(),
        default_output_modes: text(),
        skills: vec![AgentSkill {
            id: "talk".to_owned(),
            name: name.to_owned(),
            description: description.to_owned(),
            tags: vec!["text".to_owned()],
            input_modes: text(),
            output_modes: text(),
        }],
        documentation_url: None,
        security_schemes: BTreeMap::new(),
        security_requirements: Vec::new(),
    }
}

/// Address on which a process listens. Displays as the beginning of a web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenOrigin {
    /// True over TLS.
    pub secure: bool,
    /// Address and port.
    pub address: SocketAddr,
}

impl fmt::Display for ListenOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.secure { "https" } else { "http" }, self.address)
    }
}

impl Binding {
    /// Returns true when the library was built with this binding: gRPC is a feature of it.
    #[must_use]
    pub fn is_built_in(self) -> bool {
        cfg!(feature = "grpc") || self != Self::Grpc
    }
}

/// Returns the interfaces of an agent, the preferred binding first, without bindings that were not built in.
// All interfaces are declared in order of preference (A2A 1.0 §5.2, §8.3.1; D-02).
#[must_use]
pub fn interfaces(base_url: &str, bindings: &[Binding]) -> Vec<AgentInterface> {
    let of = |binding: &Binding| AgentInterface {
        url: match binding {
            Binding::JsonRpc => format!("{base_url}{ENDPOINT_PATH}"),
            Binding::HttpJson => format!("{base_url}{HTTP_JSON_PATH}"),
            Binding::Grpc => grpc_address(base_url),
        },
        protocol_binding: binding.name(),
        protocol_version: a2a::VERSION,
    };
    bindings.iter().filter(|binding| binding.is_built_in()).map(of).collect()
}

/// Returns the gRPC address: host and port in place of a URL (A2A 1.0 §4.4.6).
fn grpc_address(base_url: &str) -> String {
    let (scheme, rest) = base_url.split_once("://").unwrap_or(("https", base_url));
    let host = rest.split('/').next().unwrap_or_default();
    // A colon within brackets belongs to an IPv6 address.
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let port = match (has_port, scheme) {
        (true, _) => "",
        (false, "http") => ":80",
        (false, _) => ":443",
    };
    format!("{host}{port}")
}

/// Returns the security schemes that an agent accepts by these settings (A2A 1.0 §4.5).
/// [`Authenticator::schemes`](crate::auth::Authenticator::schemes) has those of its methods as well.
#[must_use]
pub fn schemes(auth: &AuthSettings) -> BTreeMap<Cow<'static, str>, SecurityScheme> {
    let bearer = |description, bearer_format: Option<&'static str>| {
        let scheme = "Bearer".into();
        let bearer_format = bearer_format.map(Cow::Borrowed);
        SecurityScheme::HttpAuth(HttpAuth { description, scheme, bearer_format })
    };
    let key = auth.api_keys.then(|| {
        ("apiKey", bearer("A key that the seller has issued, as a bearer token.".to_owned(), None))
    });
    let jwt = auth.jwt.as_ref().map(|jwt| {
        let JwtSettings { issuer, audience, .. } = jwt;
        let description = format!("An access token of {issuer} for the audience {audience}.");
        ("jwt", bearer(description, Some("JWT")))
    });
    let mtls = (!auth.certificates.is_empty()).then(|| {
        let description = "A client certificate that the seller knows, in the TLS handshake.";
        ("mtls", SecurityScheme::MutualTls(MutualTls { description: description.to_owned() }))
    });
    let all = key.into_iter().chain(jwt).chain(mtls);
    all.map(|(name, scheme)| (Cow::Borrowed(name), scheme)).collect()
}

/// Returns the security requirements of these settings: any one scheme is sufficient. Optional
/// schemes are not listed.
#[must_use]
pub fn requirements(auth: &AuthSettings) -> Vec<SecurityRequirement> {
    if auth.required { any_of(schemes(auth).into_keys()) } else { Vec::new() }
}

/// Returns the requirement of any one of these schemes.
pub(crate) fn any_of(names: impl Iterator<Item = Cow<'static, str>>) -> Vec<SecurityRequirement> {
    let alone = |name| SecurityRequirement { schemes: [(name, StringList::default())].into() };
    names.map(alone).collect()
}

fn write(card: &impl Serialize) -> Vec<u8> {
    json::to_vec(card).unwrap_or_else(|_| unreachable!("a card has only text keys"))
}

fn hex_hash(bytes: &[u8]) -> String {
    tradepost_document::format::hex(Sha256::digest(bytes).iter().take(16))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bindings_that_are_built_in_are_listed() {
        let listed = interfaces("https://agent.example", Binding::ALL);
        let listed: Vec<_> = listed.iter().map(|interface| interface.protocol_binding).collect();
        let mut expected = vec!["JSONRPC", "HTTP+JSON"];
        if cfg!(feature = "grpc") {
            expected.push("GRPC");
        }
        assert_eq!(listed, expected);
    }
}
