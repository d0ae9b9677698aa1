//! The tools of a dealer as models read them. Schemas use only the part of JSON Schema that all model providers take
//! ([`schema::portable`]); the readers check everything all the same.

use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_mcp::{app, schema};
use tradepost_server::tools::{Annotations, ListedTool, McpListing};

/// Returns the list of the tools of these skills.
pub(super) fn of_skills(skills: &[Skill]) -> McpListing {
    let tools: Vec<_> = skills.iter().map(|skill| tool(*skill)).collect();
    McpListing::new(&tools, vec![app::SHOP.resource()])
}

fn tool(skill: Skill) -> ListedTool {
    let description = match skill {
        Skill::DealerInformation => {
            "Tells who the dealer is: stores with address, opening hours, telephone numbers and services. Use it when \
             the user asks about the dealer. Do not use it before a search."
        }
        Skill::InventoryFacets => {
            "Counts what the dealer has: makes, models, years, conditions, price and mileage ranges. Use it to learn \
             which values filters can have, or to answer how many there are. Do not use it to find vehicles: that is \
             aap_inventory_search."
        }
        Skill::InventorySearch => {
            "Finds vehicles at this dealer. Use it first whenever the user looks for a car; put everything that is \
             wanted into filters, or the user's own words into filters.query. Do not use it for a vehicle that is \
             known by its vin, stock or vehicle_id: that is aap_inventory_vehicle. Returns one page of vehicles with \
             identifier, price (out of the door, mandatory fees included), status and link."
        }
        Skill::InventoryVehicle => {
            "Tells everything that the dealer says about one vehicle. Use it when the user is interested in a vehicle \
             of a search. Name it by vin, stock or vehicle_id, as the search shows it; at least one is needed. Do not \
             use it to look for vehicles."
        }
        Skill::LeadSubmit => {
            "Sends the user's request to the dealer: contact, vehicle, trade-in, appointment. Use it only when the \
             user wants to be put in touch with the dealer. Do not use it to ask about a vehicle: that sends nobody's \
             personal data. Where the client can ask the user itself, it does; otherwise this takes two calls. The \
             first one, without confirmation, sends nothing and returns a consent text and a confirmation. Show the \
             user that text word for word; when they agree, call again with exactly the same arguments, the \
             confirmation and consent_shown_to_user true. Never agree for the user. Give only what a permitted \
             channel needs: an e-mail address for email, a telephone number for phone or sms. Calling twice with the \
             same confirmation does not send a second lead. Returns the dealer's receipt."
        }
    };
    let published = |kind: &str| {
        format!("{}{}-{kind}.schema.json", Version::V1_1.schema_base_url(), skill.stem())
    };
    let meta = [
        ("autoagentprotocol.org/skill", Value::from(skill.name())),
        ("autoagentprotocol.org/requestSchema", published("request").into()),
        ("autoagentprotocol.org/responseSchema", published("response").into()),
    ];
    let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
    let title = skill.title();
    ListedTool {
        name: skill.tool_name().into(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: schema::portable(&input_schema(skill)).into(),
        output_schema: None,
        // A lead adds to the dealer's data, and the same lead sent twice counts once.
        annotations: Annotations {
            title: Some(title.to_owned()),
            read_only: Some(!skill.has_effect()),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(false),
        },
        meta: Some(
            meta.into_iter().map(owned).chain(app::SHOP.tool_meta(&skill.tool_name())).collect(),
        ),
    }
}

/// Returns the whole schema of a tool's arguments.
fn input_schema(skill: Skill) -> Map {
    let mut schema = tradepost_aap::schema::request(skill);
    // The tool has said it already, and models leave it out.
    schema.shift_remove("required");
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        members.shift_remove("type");
        if skill == Skill::LeadSubmit {
            tradepost_aap::schema::in_two_calls(members);
        }
    }
    if skill == Skill::LeadSubmit {
        schema.insert("required".into(), json!(["customer", "consent"]));
    }
    schema
}
