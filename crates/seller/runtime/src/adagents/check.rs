//! Checks an `adagents.json`: its form as AdCP publishes it, and whether it lets an agent sell what its catalogue has.

use jiff::Timestamp;
use serde::Serialize;
use tradepost_document::http::web_address::WebAddress;
use tradepost_document::json::{Map, Value};

use super::{SoldProperties, texts};

/// Problem of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdagentsProblem {
    /// JSON Pointer into the file.
    pub pointer: String,
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Agent that the file has to name.
#[derive(Debug, Clone)]
pub struct ExpectedAgent {
    /// Its address.
    pub url: String,
    /// Domain that serves the file.
    pub domain: String,
    /// Media of the domain that it sells.
    pub sold: SoldProperties,
}

/// Kind of authorization, and the list that says for what.
struct Authorization {
    kind: &'static str,
    list: &'static str,
}

const AUTHORIZATIONS: &[Authorization] = &[
    Authorization { kind: "property_ids", list: "property_ids" },
    Authorization { kind: "property_tags", list: "property_tags" },
    Authorization { kind: "inline_properties", list: "properties" },
    Authorization { kind: "publisher_properties", list: "publisher_properties" },
    Authorization { kind: "signal_ids", list: "signal_ids" },
    Authorization { kind: "signal_tags", list: "signal_tags" },
];

/// The property types of `enums/property-type.json`.
const PROPERTY_TYPES: &[&str] = &[
    "website",
    "mobile_app",
    "ctv_app",
    "desktop_app",
    "dooh",
    "podcast",
    "radio",
    "linear_tv",
    "streaming_audio",
    "ai_assistant",
];

/// Lists of which one has to have something in it when no agent is authorized.
const CATALOGS: &[&str] = &["formats", "properties", "placements", "collections", "signals"];

/// Returns every problem of a file. `expected` is the agent that it has to name.
#[must_use]
pub fn problems(
    file: &Value,
    expected: Option<&ExpectedAgent>,
    now: Timestamp,
) -> Vec<AdagentsProblem> {
    let mut found = FoundProblems(Vec::new());
    let Some(members) = file.as_object() else {
        found.add(
            "",
            "must be an object",
            "write the file with `tradepost publisher adagents write`",
        );
        return found.0;
    };
    if members.contains_key("authoritative_location") {
        let is_secure = |url: &str| url.starts_with("https://") && WebAddress::read(url).is_ok();
        if !members.get("authoritative_location").and_then(Value::as_str).is_some_and(is_secure) {
            let hint = "write the whole address of the file that counts";
            found.add(
                "/authoritative_location",
                "must be an address that begins with https://",
                hint,
            );
        } else if expected.is_some() {
            // Only the file that counts can name the agent.
            found.add(
                "/authoritative_location",
                "refers to another file, which is not read from here",
                "let the domain's file name the one that counts directly, and check that one",
            );
        }
        return found.0;
    }
    found.contact(members);
    found.properties(members);
    let agents = found.agents(members);
    if let Some(expected) = expected {
        found.names(members, &agents, expected, now);
    }
    found.0
}

/// Entry of `authorized_agents`, and its JSON Pointer.
struct PlacedAgent<'a> {
    pointer: String,
    members: &'a Map,
}

struct FoundProblems(Vec<AdagentsProblem>);

impl FoundProblems {
    fn add(&mut self, pointer: &str, message: impl Into<String>, hint: impl Into<String>) {
        let pointer = pointer.to_owned();
        self.0.push(AdagentsProblem { pointer, message: message.into(), hint: hint.into() });
    }

    fn contact(&mut self, file: &Map) {
        let Some(contact) = file.get("contact") else { return };
        let name = contact.get("name").and_then(Value::as_str).unwrap_or_default();
        if name.is_empty() || name.chars().count() > 255 {
            self.add(
                "/contact/name",
                "must be a text of 1 to 255 characters",
                "name who keeps the file",
            );
        }
        let email = contact.get("email");
        if email.is_some_and(|email| !email.as_str().is_some_and(|text| text.contains('@'))) {
            self.add(
                "/contact/email",
                "must be an e-mail address",
                "write one, or remove the member",
            );
        }
    }

    fn properties(&mut self, file: &Map) {
        let Some(listed) = file.get("properties") else { return };
        let Some(listed) = listed.as_array().filter(|listed| !listed.is_empty()) else {
            let hint = "list what belongs to the domain, or remove the member";
            return self.add("/properties", "must be a list with something in it", hint);
        };
        for (index, property) in listed.iter().enumerate() {
            let at = format!("/properties/{index}");
            let kind = property.get("property_type").and_then(Value::as_str).unwrap_or_default();
            if !PROPERTY_TYPES.contains(&kind) {
                let message = format!("must be one of {}", PROPERTY_TYPES.join(", "));
                self.add(&format!("{at}/property_type"), message, "website is the usual one");
            }
            if property.get("name").and_then(Value::as_str).is_none() {
                self.add(&format!("{at}/name"), "must be a text", "name it as people know it");
            }
            let identifiers = property.get("identifiers").and_then(Value::as_array);
            let is_whole = |one: &Value| {
                ["type", "value"].iter().all(|name| one.get(name).is_some_and(Value::is_string))
            };
            if !identifiers.is_some_and(|all| !all.is_empty() && all.iter().all(is_whole)) {
                let message = "must be a list of objects with type and value";
                let hint =
                    "for a web site: [{\"type\": \"domain\", \"value\": \"gazette.example\"}]";
                self.add(&format!("{at}/identifiers"), message, hint);
            }
            let id = property.get("property_id");
            if id.is_some_and(|id| !id.as_str().is_some_and(is_name)) {
                self.add(&format!("{at}/property_id"), NAME, "such as gazette_site");
            }
            for (number, tag) in
                property.get("tags").and_then(Value::as_array).into_iter().flatten().enumerate()
            {
                if !tag.as_str().is_some_and(is_name) {
                    self.add(&format!("{at}/tags/{number}"), NAME, "such as sports");
                }
            }
        }
    }

    /// Checks the agents, and returns those that are objects.
    fn agents<'a>(&mut self, file: &'a Map) -> Vec<PlacedAgent<'a>> {
        let Some(listed) = file.get("authorized_agents").and_then(Value::as_array) else {
            let hint = "list your agent there; `tradepost publisher adagents write` does";
            self.add("/authorized_agents", "is missing, or no list", hint);
            return Vec::new();
        };
        let has = |name: &&str| {
            file.get(*name).and_then(Value::as_array).is_some_and(|list| !list.is_empty())
        };
        if listed.is_empty() && !CATALOGS.iter().any(has) {
            let hint = "list your agent there; `tradepost publisher adagents write` does";
            self.add(
                "/authorized_agents",
                "authorizes nobody, and the file says nothing else",
                hint,
            );
        }
        let ids: Vec<String> =
            properties_of(file).filter_map(|one| text(one, "property_id")).collect();
        let tags: Vec<String> =
            properties_of(file).flat_map(|one| texts(one.get("tags"))).collect();
        let mut agents = Vec::new();
        for (index, agent) in listed.iter().enumerate() {
            let pointer = format!("/authorized_agents/{index}");
            let Some(members) = agent.as_object() else {
                self.add(
                    &pointer,
                    "must be an object",
                    "with url, authorized_for and authorization_type",
                );
                continue;
            };
            self.agent(members, &pointer);
            for (list, known, what) in
                [("property_ids", &ids, "id"), ("property_tags", &tags, "tag")]
            {
                for (number, name) in texts(members.get(list)).enumerate() {
                    if !known.contains(&name) {
                        let message = format!("{name:?} is the {what} of no property in this file");
                        let hint = format!("give a property this {what}, or correct it");
                        self.add(&format!("{pointer}/{list}/{number}"), message, hint);
                    }
                }
            }
            agents.push(PlacedAgent { pointer, members });
        }
        agents
    }

    fn agent(&mut self, agent: &Map, at: &str) {
        let url = agent.get("url").and_then(Value::as_str).unwrap_or_default();
        if WebAddress::read(url).is_err() {
            let hint = "write the whole address of the agent, such as https://ads.gazette.example";
            self.add(&format!("{at}/url"), "must be a web address", hint);
        }
        let label = agent.get("authorized_for").and_then(Value::as_str).unwrap_or_default();
        if label.is_empty() || label.chars().count() > 500 {
            let hint = "say in a sentence what the agent sells";
            self.add(
                &format!("{at}/authorized_for"),
                "must be a text of 1 to 500 characters",
                hint,
            );
        }
        let kind = agent.get("authorization_type").and_then(Value::as_str).unwrap_or_default();
        let Some(known) = AUTHORIZATIONS.iter().find(|known| known.kind == kind) else {
            let kinds: Vec<&str> = AUTHORIZATIONS.iter().map(|known| known.kind).collect();
            let message = format!("must be one of {}", kinds.join(", "));
            self.add(&format!("{at}/authorization_type"), message, "property_ids is the usual one");
            return;
        };
        let list = agent.get(known.list).and_then(Value::as_array);
        if list.is_none_or(|list| list.is_empty()) {
            let message = format!("must be a list with something in it, because of {kind}");
            self.add(&format!("{at}/{}", known.list), message, "list what the agent may sell");
        }
    }

    /// Checks that an agent may sell what its catalogue has.
    fn names(
        &mut self,
        file: &Map,
        agents: &[PlacedAgent<'_>],
        expected: &ExpectedAgent,
        now: Timestamp,
    ) {
        let ExpectedAgent { url, domain, sold } = expected;
        let revoked = file.get("revoked_publisher_domains").and_then(Value::as_array);
        for (index, one) in revoked.into_iter().flatten().enumerate() {
            if one.get("publisher_domain").and_then(Value::as_str) == Some(domain) {
                let at = format!("/revoked_publisher_domains/{index}");
                self.add(
                    &at,
                    format!("revokes {domain}"),
                    "remove the entry, or sell on another domain",
                );
            }
        }
        let is_ours = |agent: &&PlacedAgent<'_>| {
            is_at(agent.members.get("url").and_then(Value::as_str).unwrap_or_default(), url)
        };
        let ours: Vec<&PlacedAgent<'_>> = agents.iter().filter(is_ours).collect();
        if ours.is_empty() {
            let hint =
                "add an entry with this url; `tradepost publisher adagents write` prints one";
            return self.add("/authorized_agents", format!("does not name {url}"), hint);
        }
        let mut is_valid = false;
        for PlacedAgent { pointer, members } in &ours {
            let time = |name: &str| members.get(name)?.as_str()?.parse::<Timestamp>().ok();
            if time("effective_until").is_some_and(|end| end <= now) {
                let hint = "set a later time, or remove it";
                self.add(&format!("{pointer}/effective_until"), "is over", hint);
            } else if time("effective_from").is_some_and(|start| start > now) {
                let hint = "until then buyers find no authorization; set an earlier time, or wait";
                self.add(&format!("{pointer}/effective_from"), "has not come yet", hint);
            } else {
                is_valid = true;
            }
        }
        if is_valid {
            self.covers(file, &ours, sold);
        }
    }

    /// Checks that an agent may sell the properties that products select.
    fn covers(&mut self, file: &Map, ours: &[&PlacedAgent<'_>], sold: &SoldProperties) {
        let permits = |property: &&Value| {
            ours.iter().any(|agent| {
                let has =
                    |list: &str, name: &str| texts(agent.members.get(list)).any(|one| one == name);
                match agent.members.get("authorization_type").and_then(Value::as_str) {
                    Some("property_ids") => {
                        text(property, "property_id").is_some_and(|id| has("property_ids", &id))
                    }
                    Some("property_tags") => {
                        texts(property.get("tags")).any(|tag| has("property_tags", &tag))
                    }
                    _ => false,
                }
            })
        };
        let inline =
            ours.iter().filter_map(|agent| agent.members.get("properties")?.as_array()).flatten();
        let permitted: Vec<&Value> = properties_of(file).filter(permits).chain(inline).collect();
        let by_selector =
            ours.iter().any(|agent| agent.members.contains_key("publisher_properties"));
        if by_selector {
            // What it may sell is in the files of other domains.
            return;
        }
        for tag in &sold.tags {
            if !permitted.iter().any(|property| texts(property.get("tags")).any(|one| one == *tag))
            {
                let message =
                    format!("no property with the tag {tag:?} is one that the agent may sell");
                let hint =
                    "products select it: give a property this tag, and authorize the agent for it";
                self.add("/properties", message, hint);
            }
        }
        for id in &sold.ids {
            if !permitted.iter().any(|property| text(property, "property_id").as_ref() == Some(id))
            {
                let message =
                    format!("no property with the id {id:?} is one that the agent may sell");
                let hint =
                    "products select it: give a property this id, and authorize the agent for it";
                self.add("/properties", message, hint);
            }
        }
    }
}

/// Description of a name of a property or tag.
const NAME: &str = "must be small letters, digits and _";

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    !text.is_empty() && text.chars().all(plain)
}

fn properties_of(file: &Map) -> impl Iterator<Item = &Value> {
    file.get("properties").and_then(Value::as_array).into_iter().flatten()
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// Returns true when an address is an agent's, whatever its path. Case of the host and the usual port do not count.
pub(super) fn is_at(address: &str, base: &str) -> bool {
    let origin = |text: &str| {
        let origin = reqwest::Url::parse(text).ok()?.origin();
        origin.is_tuple().then_some(origin)
    };
    origin(base).is_some_and(|ours| origin(address) == Some(ours))
}
