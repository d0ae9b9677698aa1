//! Requirements of AAP for the agent card (R-CARD).

use tradepost_a2a::check_version;
use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, not_applicable_if, or_not_applicable, pass_if,
    verdict_of,
};
use crate::run::ProbeRun;
use crate::shape::{ShapeProblems, items, text};

const WHY: &str =
    "A buyer agent recognises a dealer by its card, and calls only what the card lists.";

pub(super) const CHECKS: &[Check] = checks![
    "aap.card.extension", Card, Must, ["R-CARD-02"], "AAP discovery",
    "The card declares an AAP extension by its exact URI", WHY,
    "add https://autoagentprotocol.org/extensions/aap/v1.1 to capabilities.extensions" => extension();
    "aap.card.skills", Card, Must, ["R-CARD-03"], "AAP discovery",
    "The card lists the AAP skills that the dealer has, one at least", WHY,
    "list dealer.information, inventory.facets, inventory.search, inventory.vehicle or lead.submit" => skills();
    "aap.card.recommended", Card, May, ["R-CARD-04"], "AAP discovery",
    "The dealer offers at least inventory.search and lead.submit", "A buyer can neither look nor ask without them.",
    "implement both skills" => recommended();
    "aap.card.interface", Card, Must, ["R-CARD-05"], "AAP discovery",
    "The card has a JSONRPC interface of A2A 1.0", "It is AAP's only required binding.",
    "add an interface with protocolBinding JSONRPC, protocolVersion 1.0 and its url" => interface();
    "aap.card.members", Card, Must, ["R-CARD-06"], "AAP agent-card schema",
    "The card has every member that AAP's schema requires", WHY,
    "add the members; tags need one entry at least" => members();
    "aap.card.schemas-in-params", Card, Must, ["R-CARD-07"], "AAP discovery",
    "Addresses of schemas stand in the extension's params, not on the skills", "Members that A2A does not have are dropped on the way.",
    "move request_schema and response_schema to params.skills of the extension" => schemas_in_params();
    "aap.card.schema-addresses", Card, Must, ["R-CARD-07"], "AAP discovery",
    "params.skills gives both schemas of each skill as absolute addresses", "A buyer that validates fetches them.",
    "write request_schema and response_schema as https addresses" => schema_addresses();
    "aap.card.same-skills", Card, Must, ["R-CARD-10"], "AAP discovery",
    "skills and params.skills list the same skills", "A buyer would call what is not there, or miss what is.",
    "generate both from one list" => same_skills();
    "aap.card.params-id", Card, May, ["R-CARD-08"], "AAP discovery",
    "The extension has an id that changes with the card", "Directories see by it that a card has changed.",
    "set params.id to a UUID, and a new one with each change" => params_id();
];

/// Returns the card's extension entries of known AAP versions.
fn entries(run: &ProbeRun) -> Vec<(Version, Value)> {
    let listed = run.card_json.pointer("/capabilities/extensions").and_then(Value::as_array);
    let entry = |entry: &Value| {
        let uri = text(entry, "uri")?;
        let version = Version::ALL.iter().find(|version| version.uri() == uri)?;
        Some((*version, entry.clone()))
    };
    listed.into_iter().flatten().filter_map(entry).collect()
}

fn is_aap(id: &str) -> bool {
    Skill::from_name(id).is_some()
}

/// Returns the AAP skills of the card.
fn listed(run: &ProbeRun) -> Vec<String> {
    let ids = items(&run.card_json, "skills").filter_map(|skill| text(skill, "id"));
    ids.filter(|id| is_aap(id)).map(str::to_owned).collect()
}

async fn extension(run: &mut ProbeRun) -> CheckResult {
    pass_if(
        !entries(run).is_empty(),
        "capabilities.extensions has no entry with the URI of AAP v1.0 or v1.1",
    )
}

async fn skills(run: &mut ProbeRun) -> CheckResult {
    if listed(run).is_empty() {
        fail("the card lists no AAP skill")
    } else {
        Ok(CheckVerdict::Pass)
    }
}

async fn recommended(run: &mut ProbeRun) -> CheckResult {
    let listed = listed(run);
    let wanted = [Skill::InventorySearch, Skill::LeadSubmit];
    let absent = wanted.iter().filter(|skill| !listed.iter().any(|id| id == skill.name()));
    let absent: Vec<_> = absent.map(|skill| format!("{skill} is not listed")).collect();
    verdict_of(&absent)
}

async fn interface(run: &mut ProbeRun) -> CheckResult {
    let mut interfaces = items(&run.card_json, "supportedInterfaces");
    let fits = |interface: &Value| {
        text(interface, "protocolBinding") == Some("JSONRPC")
            && check_version(text(interface, "protocolVersion").unwrap_or_default()).is_ok()
            && text(interface, "url").is_some()
    };
    pass_if(interfaces.any(fits), "there is no such interface")
}

async fn members(run: &mut ProbeRun) -> CheckResult {
    let card = &run.card_json;
    let mut wrong = ShapeProblems::default();
    for name in ["name", "description", "version"] {
        wrong.unless(text(card, name).is_some(), format!("the card has no {name}"));
    }
    for name in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes", "skills"] {
        wrong.list(card, name, "the card");
    }
    for (index, skill) in items(card, "skills").enumerate() {
        for name in ["id", "name", "description"] {
            wrong.unless(text(skill, name).is_some(), format!("skills[{index}] has no {name}"));
        }
        wrong.unless(items(skill, "tags").count() > 0, format!("skills[{index}] has no tags"));
    }
    verdict_of(&wrong.0)
}

async fn schemas_in_params(run: &mut ProbeRun) -> CheckResult {
    let mut wrong = ShapeProblems::default();
    for (index, skill) in items(&run.card_json, "skills").enumerate() {
        for name in ["request_schema", "response_schema", "requestSchema", "responseSchema"] {
            wrong.unless(skill.get(name).is_none(), format!("skills[{index}] has {name}"));
        }
    }
    verdict_of(&wrong.0)
}

/// Returns the skills that an entry of v1.1 describes.
fn described(run: &ProbeRun) -> Result<Value, CheckVerdict> {
    let entries = entries(run);
    let entry = entries.iter().find(|(version, _)| *version == Version::V1_1);
    let skills = entry.and_then(|(_, entry)| entry.pointer("/params/skills"));
    or_not_applicable(skills.cloned(), "the card has no entry of v1.1 with params.skills")
}

async fn schema_addresses(run: &mut ProbeRun) -> CheckResult {
    let described = described(run)?;
    let mut wrong = ShapeProblems::default();
    for (id, skill) in described.as_object().into_iter().flatten() {
        for name in ["request_schema", "response_schema"] {
            let address = text(skill, name).unwrap_or_default();
            let absolute = reqwest::Url::parse(address).is_ok();
            wrong.unless(absolute, format!("{id} has no absolute {name}"));
        }
    }
    verdict_of(&wrong.0)
}

async fn same_skills(run: &mut ProbeRun) -> CheckResult {
    let described = described(run)?;
    let listed = listed(run);
    let mut wrong = ShapeProblems::default();
    for id in described.as_object().into_iter().flatten().map(|(id, _)| id) {
        wrong.unless(listed.contains(id), format!("skills does not list {id}"));
    }
    for id in &listed {
        wrong.unless(described.get(id).is_some(), format!("params.skills does not list {id}"));
    }
    verdict_of(&wrong.0)
}

async fn params_id(run: &mut ProbeRun) -> CheckResult {
    let entries = entries(run);
    not_applicable_if(entries.is_empty(), "the card has no entry of AAP")?;
    let has_id = |(_, entry): &(Version, Value)| {
        entry.pointer("/params/id").and_then(Value::as_str).is_some_and(|id| !id.is_empty())
    };
    pass_if(entries.iter().all(has_id), "params.id is missing")
}
