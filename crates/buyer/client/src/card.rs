//! A seller's agent card, read leniently: known members are used, missing ones are listed, and the text is
//! kept as it came.

use reqwest::Url;
use tradepost_a2a as a2a;
use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::RawValue;
use tradepost_document::json::Value;
use tradepost_document::words;

pub use crate::failure::NotAap;

words! {
    /// Binding that this client supports, by its name on cards (A2A §4.4.6).
    pub enum CardTransport {
        /// JSON-RPC 2.0.
        JsonRpc = "JSONRPC",
        /// HTTP with JSON.
        HttpJson = "HTTP+JSON",
        /// gRPC.
        Grpc = "GRPC",
    }
}

/// Maximum number of entries that are read of each list of a card.
const MAX_LISTED: usize = 200;

/// Agent card of a seller.
#[derive(Debug, Clone)]
pub struct SellerCard {
    /// Name of the agent; empty when it has none.
    pub name: String,
    /// Description of the agent.
    pub description: String,
    /// Version of the agent.
    pub version: String,
    /// Organisation and site of the operator.
    pub provider: Option<(String, String)>,
    /// Interfaces, in the agent's order of preference.
    pub interfaces: Vec<SellerInterface>,
    /// Profiles that the agent supports.
    pub extensions: Vec<SellerExtension>,
    /// Skills of the agent.
    pub skills: Vec<ListedSkill>,
    /// True when the agent can stream task events.
    pub streaming: bool,
    /// Card as it came.
    pub raw: Box<RawValue>,
    missing: Vec<String>,
}

/// Interface of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SellerInterface {
    /// Address, as sent.
    pub url: String,
    /// `JSONRPC`, `HTTP+JSON`, `GRPC` or something else.
    pub binding: String,
    /// Version of A2A, as `Major.Minor`.
    pub protocol_version: String,
    /// Tenant, to be sent back exactly as declared.
    // D-07
    pub tenant: Option<String>,
}

/// Profile that an agent supports.
#[derive(Debug, Clone, PartialEq)]
pub struct SellerExtension {
    /// URI of the profile, with its version.
    pub uri: String,
    /// True when every request must name the profile.
    pub required: bool,
    /// Parameters of the profile.
    pub params: Value,
}

/// Skill on a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSkill {
    /// Id of the skill.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// Description for people and models.
    pub description: String,
}

/// Version, interface and skills with which to use AAP at an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AapChoice {
    /// Version of AAP.
    pub version: Version,
    /// First interface that this client supports.
    // D-07
    pub interface: SellerInterface,
    /// AAP skills that the agent offers.
    pub skills: Vec<Skill>,
}

impl SellerCard {
    /// Reads a card.
    ///
    /// # Errors
    /// The reason why the text is no card; `None` when it is not even JSON.
    pub fn read(text: &str) -> Result<Self, Option<&'static str>> {
        let raw: Box<RawValue> = tradepost_document::json::from_str(text).map_err(|_| None)?;
        let json: Value = tradepost_document::json::from_str(raw.get()).map_err(|_| None)?;
        if !json.is_object() {
            return Err(Some("it is not a JSON object"));
        }
        // Error answers of web servers are JSON objects, too.
        let known = ["name", "supportedInterfaces", "capabilities", "skills"];
        if !known.iter().any(|name| json.get(name).is_some()) {
            return Err(Some("it has no member of an agent card"));
        }
        let card = Self {
            name: text_of(&json, "name"),
            description: text_of(&json, "description"),
            version: text_of(&json, "version"),
            provider: json
                .get("provider")
                .filter(|provider| provider.is_object())
                .map(|provider| (text_of(provider, "organization"), text_of(provider, "url"))),
            interfaces: interfaces(&json),
            extensions: list(json.pointer("/capabilities/extensions"), |extension| {
                SellerExtension {
                    uri: text_of(extension, "uri"),
                    required: extension
                        .get("required")
                        .and_then(Value::as_bool)
                        .unwrap_or_default(),
                    params: extension.get("params").cloned().unwrap_or_default(),
                }
            }),
            skills: list(json.get("skills"), |skill| ListedSkill {
                id: text_of(skill, "id"),
                name: text_of(skill, "name"),
                description: text_of(skill, "description"),
            }),
            streaming: json.pointer("/capabilities/streaming") == Some(&Value::Bool(true)),
            missing: Vec::new(),
            raw,
        };
        let missing = card.find_missing(&json);
        Ok(Self { missing, ..card })
    }

    /// Returns the versions of AAP that the card lists, in its order.
    #[must_use]
    pub fn versions(&self) -> Vec<Version> {
        let known = self.extensions.iter().filter_map(|extension| version_of(&extension.uri));
        let mut versions = Vec::new();
        for version in known {
            if !versions.contains(&version) {
                versions.push(version);
            }
        }
        versions
    }

    /// Returns the AAP skills that the card lists.
    #[must_use]
    pub fn aap_skills(&self) -> Vec<Skill> {
        let listed = |skill: &Skill| self.skills.iter().any(|entry| entry.id == skill.name());
        Skill::ALL.iter().copied().filter(listed).collect()
    }

    /// Returns the first JSON-RPC interface of A2A 1.0.
    // D-07
    #[must_use]
    pub fn interface(&self) -> Option<&SellerInterface> {
        self.interfaces
            .iter()
            .find(|interface| interface.speaks(CardTransport::JsonRpc, a2a::VERSION))
    }

    /// Returns the first JSON-RPC interface of A2A 1.0, or else of 0.3.
    #[must_use]
    pub fn any_interface(&self) -> Option<&SellerInterface> {
        let older = |interface: &&SellerInterface| {
            interface.speaks(CardTransport::JsonRpc, a2a::OLDER_VERSION)
        };
        self.interface().or_else(|| self.interfaces.iter().find(older))
    }

    /// Returns the first HTTP+JSON interface of A2A 1.0.
    #[must_use]
    pub fn http_json_interface(&self) -> Option<&SellerInterface> {
        self.interfaces
            .iter()
            .find(|interface| interface.speaks(CardTransport::HttpJson, a2a::VERSION))
    }

    /// Returns the first gRPC interface of A2A 1.0.
    #[must_use]
    pub fn grpc_interface(&self) -> Option<&SellerInterface> {
        self.interfaces.iter().find(|interface| interface.speaks(CardTransport::Grpc, a2a::VERSION))
    }

    /// Chooses the version wanted, else the highest that both sides support, with an interface and the skills.
    ///
    /// # Errors
    /// The reason why the agent cannot be used with AAP.
    // R-CARD-14
    pub fn choose(&self, wanted: Option<Version>) -> Result<AapChoice, NotAap> {
        let ours = self.versions();
        let version = match wanted {
            Some(version) => ours.into_iter().find(|offered| *offered == version),
            // Versions are ordered as in their table.
            None => ours.into_iter().max(),
        };
        let Some(version) = version else {
            let offered: Vec<_> = self.aap_uris().map(str::to_owned).collect();
            return Err(if offered.is_empty() {
                NotAap::NoExtension
            } else {
                NotAap::OtherVersions { wanted, offered }
            });
        };
        Ok(AapChoice {
            version,
            interface: self.interface().ok_or(NotAap::NoInterface)?.clone(),
            skills: self.aap_skills(),
        })
    }

    /// Returns what the card lacks for AAP, as sentences for its operator.
    // R-CARD-02 to R-CARD-10
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    fn aap_uris(&self) -> impl Iterator<Item = &str> {
        let uris = self.extensions.iter().map(|extension| extension.uri.as_str());
        uris.filter(|uri| uri.starts_with("https://autoagentprotocol.org/extensions/"))
    }

    fn find_missing(&self, json: &Value) -> Vec<String> {
        let mut missing = Vec::new();
        for name in ["name", "description", "version"] {
            if json.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
                missing.push(format!("{name} is missing or empty"));
            }
        }
        for name in ["defaultInputModes", "defaultOutputModes"] {
            if json.get(name).and_then(Value::as_array).is_none_or(Vec::is_empty) {
                missing.push(format!("{name} is missing or empty"));
            }
        }
        if self.aap_uris().next().is_none() {
            let uri = Version::V1_1.uri();
            missing.push(format!("capabilities.extensions has no AAP entry such as {uri}"));
        } else if self.versions().is_empty() {
            missing.push("capabilities.extensions has no AAP version that we know".to_owned());
        }
        if self.interface().is_none() {
            let text = "supportedInterfaces has no entry with an absolute http or https url, \
                        protocolBinding JSONRPC and protocolVersion 1.0";
            missing.push(text.to_owned());
        }
        if self.provider.as_ref().is_some_and(|(name, url)| name.is_empty() || url.is_empty()) {
            missing.push("provider lacks organization or url".to_owned());
        }
        let skills = self.aap_skills();
        if skills.is_empty() {
            missing.push("skills has no AAP skill such as inventory.search".to_owned());
        }
        let entries = json.get("skills").and_then(Value::as_array);
        for (index, entry) in entries.into_iter().flatten().take(MAX_LISTED).enumerate() {
            let has_text = |name: &&str| !text_of(entry, name).is_empty();
            let absent: Vec<_> =
                ["id", "name", "description"].into_iter().filter(|name| !has_text(name)).collect();
            if !absent.is_empty() {
                missing.push(format!("skills[{index}] lacks {}", absent.join(", ")));
            }
            if entry.get("tags").and_then(Value::as_array).is_none_or(Vec::is_empty) {
                missing.push(format!("skills[{index}] has no tags"));
            }
        }
        for extension in &self.extensions {
            if let Some(version) = version_of(&extension.uri)
                && let Some(described) = extension.params.get("skills")
            {
                let differs =
                    |skill: &Skill| described.get(skill.name()).is_some() != skills.contains(skill);
                for skill in Skill::ALL.iter().copied().filter(differs) {
                    missing.push(format!(
                        "skills and the params.skills of AAP {version} disagree on {skill}"
                    ));
                }
            }
        }
        missing
    }
}

impl SellerInterface {
    /// Returns true for an interface of this binding and release of A2A with a usable address.
    pub(crate) fn speaks(&self, carrier: CardTransport, release: &str) -> bool {
        let absolute = match carrier {
            CardTransport::JsonRpc | CardTransport::HttpJson => Url::parse(&self.url),
            // For gRPC a host and a port are enough.
            CardTransport::Grpc if self.url.contains("://") => Url::parse(&self.url),
            CardTransport::Grpc => Url::parse(&format!("http://{}", self.url)),
        };
        absolute.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            && self.is_by(carrier)
            && a2a::is_release(&self.protocol_version, release)
    }

    /// Returns true for an interface of this binding.
    #[must_use]
    pub fn is_by(&self, carrier: CardTransport) -> bool {
        self.binding.eq_ignore_ascii_case(carrier.name())
    }
}

/// Reads the interfaces of a card. A card of A2A 0.3 has them in other members, the preferred one first.
fn interfaces(json: &Value) -> Vec<SellerInterface> {
    // A card of both releases lists its interfaces twice; only the list of 1.0 is read.
    if json.get("supportedInterfaces").is_some() {
        return list(json.get("supportedInterfaces"), |interface| SellerInterface {
            url: text_of(interface, "url"),
            binding: text_of(interface, "protocolBinding"),
            protocol_version: text_of(interface, "protocolVersion"),
            tenant: interface.get("tenant").and_then(Value::as_str).map(str::to_owned),
        });
    }
    let version = text_of(json, "protocolVersion");
    let older = |url: String, binding: String| SellerInterface {
        url,
        binding,
        protocol_version: version.clone(),
        tenant: None,
    };
    if !a2a::is_release(&version, a2a::OLDER_VERSION) {
        return Vec::new();
    }
    let preferred = json.get("preferredTransport").and_then(Value::as_str).unwrap_or("JSONRPC");
    let mut found = vec![older(text_of(json, "url"), preferred.to_owned())];
    found.extend(list(json.get("additionalInterfaces"), |interface| {
        older(text_of(interface, "url"), text_of(interface, "transport"))
    }));
    // The preferred interface is often listed again.
    let again = found.iter().skip(1).position(|interface| found.first() == Some(interface));
    if let Some(index) = again {
        found.remove(index + 1);
    }
    found
}

fn version_of(uri: &str) -> Option<Version> {
    Version::ALL.iter().copied().find(|version| version.uri() == uri)
}

fn text_of(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<T>(value: Option<&Value>, read: impl Fn(&Value) -> T) -> Vec<T> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter(|item| item.is_object()).take(MAX_LISTED).map(read).collect()
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    fn card(interfaces: &Value, extensions: &Value) -> SellerCard {
        let card = json!({
            "name": "A", "description": "d", "version": "1", "supportedInterfaces": interfaces,
            "capabilities": {"extensions": extensions}, "defaultInputModes": ["application/json"],
            "defaultOutputModes": ["application/json"],
            "skills": [{"id": "inventory.search", "name": "n", "description": "d", "tags": ["t"]}],
        });
        SellerCard::read(&card.to_string()).unwrap()
    }

    fn interface(url: &str, binding: &str, version: &str) -> Value {
        json!({"url": url, "protocolBinding": binding, "protocolVersion": version, "tenant": "t1"})
    }

    #[test]
    fn the_first_usable_interface_and_highest_common_version_are_chosen() {
        let interfaces = json!([
            interface("https://a/grpc", "GRPC", "1.0"),
            interface("https://a/old", "JSONRPC", "0.3"),
            interface("/relative", "JSONRPC", "1.0"),
            interface("https://a/one", "JSONRPC", "1.0"),
            interface("https://a/two", "JSONRPC", "1.0"),
            5,
        ]);
        let future = "https://autoagentprotocol.org/extensions/aap/v9.0";
        let extensions = json!([
            {"uri": Version::V1_1.uri()}, {"uri": future}, {"uri": Version::V1_0.uri()}, null,
        ]);
        let card = card(&interfaces, &extensions);
        let choice = card.choose(None).unwrap();
        assert_eq!(choice.version, Version::V1_1);
        assert_eq!(choice.interface.url, "https://a/one");
        assert_eq!(choice.interface.tenant.as_deref(), Some("t1"));
        assert_eq!(choice.skills, [Skill::InventorySearch]);
        assert_eq!(card.choose(Some(Version::V1_0)).unwrap().version, Version::V1_0);
        assert!(card.missing().is_empty(), "{:?}", card.missing());
    }

    #[test]
    fn agents_without_aap_and_of_other_versions_are_told_apart() {
        let interfaces = json!([interface("https://a/one", "JSONRPC", "1.0")]);
        let generic = card(&interfaces, &json!([{"uri": "https://example.com/other"}]));
        assert_eq!(generic.choose(None), Err(NotAap::NoExtension));
        let old = card(&interfaces, &json!([{"uri": Version::V1_0.uri()}]));
        let wanted = Some(Version::V1_1);
        let offered = vec![Version::V1_0.uri().to_owned()];
        assert_eq!(old.choose(wanted), Err(NotAap::OtherVersions { wanted, offered }));
        let grpc = json!([interface("https://a/grpc", "GRPC", "1.0")]);
        let unreachable = card(&grpc, &json!([{"uri": Version::V1_0.uri()}]));
        assert_eq!(unreachable.choose(None), Err(NotAap::NoInterface));
    }

    #[test]
    fn cards_of_0_3_say_how_the_agent_is_reached() {
        let card = |more: Value| {
            let mut card = json!({"name": "A", "protocolVersion": "0.3.0", "url": "https://a/rpc",
                "capabilities": {"streaming": true}});
            card.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            SellerCard::read(&card.to_string()).unwrap()
        };
        let found = card(json!({}));
        assert_eq!((found.interface(), found.streaming), (None, true));
        assert_eq!(found.any_interface().unwrap().url, "https://a/rpc");
        let rest = json!({"preferredTransport": "HTTP+JSON", "additionalInterfaces": [
            {"url": "https://a/rpc", "transport": "HTTP+JSON"},
            {"url": "https://a/two", "transport": "JSONRPC"}]});
        let found = card(rest.clone());
        assert_eq!(found.any_interface().unwrap().url, "https://a/two");
        assert_eq!(found.interfaces.len(), 2);
        // Only the list of 1.0 is read.
        let both = json!([interface("https://a/one", "JSONRPC", "1.0")]);
        let mut more = rest;
        more["supportedInterfaces"] = both;
        assert_eq!(card(more).any_interface().unwrap().url, "https://a/one");
        assert!(card(json!({"protocolVersion": "0.2.5"})).any_interface().is_none());
    }

    #[test]
    fn everything_that_a_card_lacks_is_listed() {
        let text = r#"{"name": "", "provider": {}, "skills": [{"id": "x"}, 5],
            "capabilities": {"extensions": {}}, "supportedInterfaces": "none"}"#;
        let missing = SellerCard::read(text).unwrap().missing().join("\n");
        for expected in [
            "name is",
            "description is",
            "version is",
            "defaultInputModes",
            "defaultOutputModes",
            "capabilities.extensions",
            "supportedInterfaces",
            "provider lacks",
            "no AAP skill",
            "skills[0] lacks name, description",
            "skills[0] has no tags",
            "skills[1] lacks id",
        ] {
            assert!(missing.contains(expected), "{expected} is not in:\n{missing}");
        }
    }

    #[test]
    fn what_is_no_card_is_refused() {
        assert!(matches!(SellerCard::read("<html>"), Err(None)));
        assert!(matches!(SellerCard::read(&"[".repeat(100_000)), Err(None)));
        assert!(matches!(SellerCard::read("[]"), Err(Some(_))));
        assert!(matches!(SellerCard::read("{\"error\": 1}"), Err(Some(_))));
    }
}
