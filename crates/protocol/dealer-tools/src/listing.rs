//! The dealer tools: names, descriptions and schemas. A tool is a skill of AAP, named as AAP's MCP page names it
//! (`R-MCP-01`).

use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_mcp::{Annotations, ListedTool, app, schema};

use super::arguments::{self, DealerChoice};

/// Returns the tool of a skill.
#[must_use]
pub fn tool(skill: Skill, dealers: DealerChoice<'_>) -> ListedTool {
    let description = match skill {
        Skill::DealerInformation => {
            "Lists the dealers and what each says of itself. Use it when the user asks about a dealer (address, \
             opening hours, telephone), when a call failed because a dealer cannot do something, or, with names_only \
             true, to learn the names of all dealers without asking any of them. Do not use it before a search: a \
             search asks all dealers by itself. Returns for each dealer its name, versions of AAP, skills and stores; \
             those that cannot be reached are in errors, with the reason."
        }
        Skill::InventoryFacets => {
            "Counts what the dealers have: makes, models, years, conditions, price and mileage ranges, added up over \
             all dealers asked. Use it to learn which values filters can have, or to answer how many there are. Do not \
             use it to find vehicles: that is aap_inventory_search. Returns counts for each value, and no vehicle."
        }
        Skill::InventorySearch => {
            "Finds vehicles at all dealers at once. Use it first whenever the user looks for a car; put everything \
             that is wanted into filters. Do not use it for a vehicle that is known by its vin, stock or vehicle_id: \
             that is aap_inventory_vehicle. Returns one page of vehicles with dealer, identifier, price (out of the \
             door, mandatory fees included) and status, and next_skip when there are more. Without sort the dealers \
             take turns. Vehicles with a member doubtful come last on their page: tell the user the reason. Dealers \
             that failed or were not asked are in errors."
        }
        Skill::InventoryVehicle => {
            "Tells everything that one dealer says about one vehicle. Use it when the user is interested in a vehicle \
             of a search. Name it by vin, stock or vehicle_id, as the search shows it; at least one is needed. Do not \
             use it to look for vehicles. Returns all members of the listing, such as equipment, mileage and page."
        }
        Skill::LeadSubmit => {
            "Sends the user's request to a dealer: contact, vehicle, trade-in, appointment. Use it only when the user \
             wants to be put in touch with this dealer. Do not use it to ask about a vehicle: that sends nobody's \
             personal data. Where the client can ask the user itself, it does; otherwise this takes two calls. The \
             first one, without confirmation, sends nothing and returns a consent text and a confirmation. Show the \
             user that text word for word; when they agree, call again with exactly the same arguments, the \
             confirmation and consent_shown_to_user true. Never agree for the user. Give only what a permitted channel \
             needs: an e-mail address for email, a telephone number for phone or sms. Calling twice with the same \
             confirmation does not send a second lead. Returns the dealer's receipt."
        }
    };
    let published =
        format!("{}{}-request.schema.json", Version::V1_1.schema_base_url(), skill.stem());
    let meta = [
        ("autoagentprotocol.org/skill", Value::from(skill.name())),
        ("autoagentprotocol.org/requestSchema", published.into()),
    ];
    let owned = |(name, value): (&str, Value)| (name.to_owned(), value);
    let title = skill.title();
    ListedTool {
        name: skill.tool_name().into(),
        title: title.to_owned(),
        description: description.to_owned(),
        input_schema: schema::portable(&arguments::input_schema(skill, dealers)).into(),
        output_schema: Some(output_schema(skill).into()),
        // A lead adds to the dealer's data, and the same lead sent twice counts once.
        annotations: Annotations {
            title: Some(title.to_owned()),
            read_only: Some(!skill.has_effect()),
            destructive: Some(false),
            idempotent: Some(true),
            open_world: Some(true),
        },
        meta: Some(
            meta.into_iter().map(owned).chain(app::SHOP.tool_meta(&skill.tool_name())).collect(),
        ),
    }
}

/// Returns the schema of a result. Clients check results against it, those of failed calls too, and some pass it to a
/// model provider: so it uses the same keywords as the input schema, and requires nothing.
fn output_schema(skill: Skill) -> Map {
    let of = |kind: &str, says: &str| json!({"type": kind, "description": says});
    let objects =
        |says: &str| json!({"type": "array", "items": {"type": "object"}, "description": says});
    let data = match skill {
        Skill::InventorySearch => search_data(),
        Skill::DealerInformation
        | Skill::InventoryFacets
        | Skill::InventoryVehicle
        | Skill::LeadSubmit => of("object", "The answer, as AAP defines it."),
    };
    let known = [
        ("status", json!({"type": "string", "enum": ["confirmation_required", "sent"]})),
        ("data", data),
        ("dealer", of("string", "The dealer.")),
        ("dealers", objects("The dealers that answered.")),
        ("errors", objects("The dealers that failed, each like the object of a failed call.")),
        (
            "truncated",
            of("boolean", "Whether something a dealer sent was cut to a reasonable size."),
        ),
        ("next_skip", of("integer", "The pagination.skip of the next page; absent at the end.")),
        ("consent_text", of("string", "To be shown to the user, word for word.")),
        ("confirmation", of("string", "For the second call, when the user has agreed.")),
        ("conversation", of("string", "For a further lead of the same customer to this dealer.")),
    ];
    let members: &[&str] = match skill {
        Skill::DealerInformation => &["dealers", "errors", "truncated"],
        Skill::InventoryFacets => &["data", "dealers", "errors", "truncated"],
        Skill::InventorySearch => &["data", "dealers", "errors", "truncated", "next_skip"],
        Skill::InventoryVehicle => &["data", "dealer", "truncated"],
        Skill::LeadSubmit => {
            &["status", "dealer", "consent_text", "confirmation", "conversation", "data"]
        }
    };
    let schema = |name: &&str| known.iter().find(|(known, _)| known == name).cloned();
    let of_success = members.iter().filter_map(schema);
    let of_failure = [
        ("code", of("string", "Of a failed call: what went wrong.")),
        ("message", of("string", "Of a failed call, or from the dealer: a sentence.")),
        ("problems", objects("Of a failed call: every problem, with its field.")),
        ("retryable", of("boolean", "Of a failed call: whether the same call may succeed later.")),
        ("hint", of("string", "Of a failed call: what to do.")),
    ];
    let properties = of_success.chain(of_failure).map(|(name, schema)| (name.to_owned(), schema));
    let properties: Map = properties.collect();
    Map::from_iter([
        ("type".to_owned(), Value::from("object")),
        ("properties".to_owned(), properties.into()),
    ])
}

fn search_data() -> Value {
    json!({
        "type": "object",
        "description": "Also total: the matches of all dealers, null when one does not say.",
        "properties": {
            "skip": {"type": "integer"},
            "limit": {"type": "integer"},
            "vehicles": {"type": "array", "description": "Each with the dealer that has it.",
                "items": {"type": "object", "properties": {"dealer": {"type": "string"}}}},
        },
    })
}
