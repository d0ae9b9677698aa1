//! JSON Schemas (2020-12) of the requests of AAP 1.1, for programs and models that build requests:
//! complete, without references, with a description of each member.
//!
//! The parsers beside this module are authoritative; a test mutates requests at random and checks
//! that these schemas find the same problems.

use std::collections::HashSet;
use std::sync::LazyLock;

use tradepost_document::json::{Map, Value, json};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

use crate::Skill;
use crate::inventory::{SortField, SortOrder};
use crate::lead::{AppointmentType, Channel, PreferredContact, Scope};
use crate::vehicle::{ListingStatus, TradeInCondition, VehicleCondition, Vocabularies};
use tradepost_document::catalog::Vocabulary;

/// Returns the schema of a request of 1.1: an object without additional members.
#[must_use]
pub fn request(skill: Skill) -> Map {
    let (members, required, any_of): (Members, &[&str], &[&str]) = match skill {
        Skill::DealerInformation => (Vec::new(), &["type"], &[]),
        Skill::InventoryFacets => (vec![("filters", filters())], &["type"], &[]),
        Skill::InventorySearch => (
            vec![
                ("filters", filters()),
                ("pagination", pagination()),
                ("sort", sort()),
                ("privacy", privacy()),
            ],
            &["type"],
            &[],
        ),
        Skill::InventoryVehicle => (
            vec![
                ("vin", vin("Its VIN.")),
                ("stock", text("Its stock number.")),
                ("vehicle_id", text("The dealer's id of it.")),
            ],
            &["type"],
            &["vin", "stock", "vehicle_id"],
        ),
        Skill::LeadSubmit => (lead(), &["type", "customer", "consent", "source_agent"], &[]),
    };
    let kind = json!({"const": skill.request_type(), "description": "The payload's type."});
    let members = [("type", kind)].into_iter().chain(members).collect();
    let mut schema = object(members, required);
    if !any_of.is_empty() {
        schema.insert("anyOf".into(), one_present(any_of));
    }
    schema
}

/// Replaces the members of a lead that programs fill in by those of two calls, between which the user is asked for
/// consent.
pub fn in_two_calls(members: &mut Map) {
    for name in ["source_agent", "submitted_at", "idempotency_key"] {
        members.shift_remove(name);
    }
    let channels = members
        .get("consent")
        .and_then(|consent| consent.pointer("/properties/allowed_channels").cloned());
    let token = |says: &str| json!({"type": "string", "minLength": 1, "maxLength": 200, "description": says});
    let own = json!({
        "consent": {
            "type": "object", "properties": {"allowed_channels": channels},
            "required": ["allowed_channels"], "additionalProperties": false,
            "description": "What the user permits. Ask the user; do not assume it.",
        },
        "confirmation": token("From the first call; leave it out there."),
        "conversation": token(
            "From the receipt of an earlier lead to the same dealer: to choose a proposed time or to \
             move the appointment.",
        ),
        "consent_shown_to_user": {
            "type": "boolean",
            "description": "True when the user has seen the consent text of the first call, word for \
                            word, and has agreed.",
        },
    });
    members.extend(own.as_object().cloned().unwrap_or_default());
}

/// Checks the members that a tool adds for a lead in two calls: the user has seen the text of the first call when its
/// confirmation comes back, and not before.
pub fn check_two_calls(has_confirmation: bool, is_shown: Option<bool>, problems: &mut Problems) {
    let message = match (has_confirmation, is_shown) {
        (true, None | Some(false)) => {
            "must be true: show the user the consent text, word for word, and ask"
        }
        (false, Some(true)) => {
            "the user cannot have seen a text that does not exist yet; call without it and without \
             confirmation first"
        }
        (true, Some(true)) | (false, None | Some(false)) => return,
    };
    let at = DocumentPlace::Root.key("consent_shown_to_user");
    parse::push(&at, problems, Keyword::Const, message, ProblemDetail::None);
}

/// Names of all members of all requests.
static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let mut names = HashSet::default();
    for skill in Skill::ALL {
        collect(&request(*skill).into(), &mut names);
    }
    names
});

fn collect(schema: &Value, names: &mut HashSet<String>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    names.extend(properties.into_iter().flatten().map(|(name, _)| name.clone()));
    match schema {
        Value::Object(members) => members.values().for_each(|member| collect(member, names)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Masks every name in a JSON Pointer that no request has as `*`, because the caller chose it and
/// it may contain anything.
#[must_use]
pub fn known_pointer(pointer: &str) -> String {
    let known = |step: &str| {
        // More than three digits are no index, and may be a telephone number.
        let is_index = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        is_index && step.len() < 4 || NAMES.contains(step)
    };
    let mut place = String::with_capacity(pointer.len());
    for step in pointer.split('/').skip(1) {
        place.push('/');
        place.push_str(if known(step) { step } else { "*" });
    }
    place
}

type Members = Vec<(&'static str, Value)>;

fn object(members: Members, required: &[&str]) -> Map {
    let properties: Map =
        members.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

fn described(mut schema: Map, description: &str) -> Value {
    schema.insert("description".into(), description.into());
    schema.into()
}

fn one_present(names: &[&str]) -> Value {
    names.iter().map(|name| json!({"required": [name]})).collect()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn long_text(max: usize, description: &str) -> Value {
    json!({"type": "string", "maxLength": max, "description": description})
}

fn texts(description: &str) -> Value {
    list(json!({"type": "string"}), description)
}

fn list(items: Value, description: &str) -> Value {
    json!({"type": "array", "items": items, "description": description})
}

fn formatted(format: &str, description: &str) -> Value {
    json!({"type": "string", "format": format, "description": description})
}

fn count(description: &str) -> Value {
    json!({"type": "integer", "minimum": 0, "description": description})
}

fn year(description: &str) -> Value {
    json!({"type": "integer", "minimum": 1900, "maximum": 2100, "description": description})
}

fn word<T: Vocabulary>(description: &str) -> Value {
    json!({"type": "string", "enum": T::NAMES, "description": description})
}

fn vin(description: &str) -> Value {
    json!({"type": "string", "pattern": "^[A-HJ-NPR-Z0-9]{17}$", "description": description})
}

fn filters() -> Value {
    let condition = json!({"type": "string", "enum": VehicleCondition::NAMES});
    let members = vec![
        ("make", texts("Makes, such as Honda.")),
        ("model", texts("Models, such as CR-V.")),
        ("trim", texts("Trim lines.")),
        ("condition", list(condition, "New, pre-owned, certified pre-owned.")),
        ("transmission", texts("Transmissions, as the facets name them.")),
        ("fuel", texts("Fuels, as the facets name them.")),
        ("driveline", texts("Driven wheels, as the facets name them.")),
        ("body", texts("Body styles, as the facets name them.")),
        ("exterior_color", texts("Colours outside.")),
        ("interior_color", texts("Colours inside.")),
        ("rooftops", texts("Names of the dealer's stores.")),
        ("year_min", year("First model year.")),
        ("year_max", year("Last model year.")),
        ("price_min", count("Lowest price, whole US dollars.")),
        ("price_max", count("Highest price, whole US dollars.")),
        ("mileage_max", count("Highest mileage.")),
        ("vin", vin("This VIN.")),
        ("stock", text("This stock number.")),
        ("query", long_text(200, "What the vehicle must be, in words: AWD hybrid SUV under 40k.")),
    ];
    let about = "What vehicles must satisfy: all filters, and of a list at least one entry.";
    described(object(members, &[]), about)
}

fn pagination() -> Value {
    let limit = json!({
        "type": "integer", "minimum": 1, "maximum": 1000, "description": "How many to return.",
    });
    let members = vec![("skip", count("How many to leave out at the start.")), ("limit", limit)];
    described(object(members, &[]), "Which part of all matches.")
}

fn sort() -> Value {
    let members = vec![
        ("field", word::<SortField>("By what; price is the one out of the door.")),
        ("order", word::<SortOrder>("Smallest or largest first.")),
    ];
    described(object(members, &["field", "order"]), "The order of the matches.")
}

fn privacy() -> Value {
    let anonymous =
        json!({"type": "boolean", "description": "Whether the customer stays unknown."});
    described(object(vec![("anonymous", anonymous)], &[]), "What the dealer may know.")
}

fn lead() -> Members {
    let sale = "The vehicle it is about; its VIN or stock number is enough.";
    let trade_in = "The vehicle given in exchange: year, make and model.";
    let key = json!({
        "type": "string", "minLength": 1, "maxLength": 128,
        "description": "The same for every attempt to send this lead.",
    });
    vec![
        ("customer", customer()),
        ("consent", consent()),
        ("vehicle_of_interest", vehicle(Vocabularies::Sale, sale)),
        ("trade_in", vehicle(Vocabularies::TradeIn, trade_in)),
        ("appointment", appointment()),
        ("message", long_text(4000, "To the dealer, in the customer's words.")),
        ("source_agent", source_agent()),
        ("submitted_at", formatted("date-time", "When it was sent.")),
        ("idempotency_key", key),
    ]
}

fn customer() -> Value {
    let address = object(
        vec![
            ("country", text("The country.")),
            ("state", text("The state.")),
            ("city", text("The city.")),
            ("address_line_1", text("Street and number.")),
            ("address_line_2", text("What else is needed to find it.")),
            ("zip", text("The postal code.")),
        ],
        &[],
    );
    let phone = json!({
        "type": "string", "pattern": r"^\+[1-9]\d{1,14}$",
        "description": "Telephone number in E.164, such as +14155550123.",
    });
    let members = vec![
        ("first_name", text("Given name.")),
        ("last_name", text("Family name.")),
        ("email", formatted("email", "E-mail address.")),
        ("phone", phone),
        ("preferred_contact", word::<PreferredContact>("The channel that suits best.")),
        ("address", described(address, "Postal address.")),
    ];
    let mut schema = object(members, &["first_name", "last_name"]);
    schema.insert("anyOf".into(), one_present(&["email", "phone"]));
    described(schema, "Who asks; an e-mail address, a telephone number or both.")
}

fn consent() -> Value {
    let channels = json!({
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": {"type": "string", "enum": Channel::NAMES},
        "description": "How the dealer may contact the customer.",
    });
    let scope = json!({
        "type": "array", "minItems": 1, "maxItems": 1, "uniqueItems": true,
        "items": {"type": "string", "enum": Scope::NAMES},
        "description": "What the grant permits.",
    });
    let words = json!({
        "type": "string", "minLength": 1, "description": "What the customer agreed to, verbatim.",
    });
    let members = vec![
        ("granted_at", formatted("date-time", "When it was given.")),
        ("allowed_channels", channels),
        ("consent_text", words),
        ("scope", scope),
        ("expires_at", formatted("date-time", "Until when it holds.")),
    ];
    let required = ["granted_at", "allowed_channels", "consent_text", "scope"];
    described(object(members, &required), "The customer's permission.")
}

fn appointment() -> Value {
    let duration =
        json!({"type": "integer", "minimum": 15, "description": "How long, in minutes."});
    let members = vec![
        ("appointment_type", word::<AppointmentType>("What for.")),
        (
            "appointment_at",
            formatted("date-time", "When, with its offset: 2026-05-03T11:00:00-07:00."),
        ),
        ("duration_minutes", duration),
        ("notes", long_text(2000, "Remarks.")),
    ];
    described(object(members, &["appointment_type"]), "A request for an appointment.")
}

fn source_agent() -> Value {
    let name = json!({"type": "string", "minLength": 1, "description": "Its name."});
    let members = vec![
        ("name", name),
        ("url", formatted("uri", "Its site.")),
        ("agent_card_url", formatted("uri", "Its agent card.")),
    ];
    described(object(members, &["name"]), "The agent that acts for the customer.")
}

/// Returns the schema of a vehicle, the only open object of AAP.
fn vehicle(vocabulary: Vocabularies, about: &str) -> Value {
    let condition = match vocabulary {
        Vocabularies::Sale => word::<VehicleCondition>("New, pre-owned, certified pre-owned."),
        Vocabularies::TradeIn => word::<TradeInCondition>("The condition it is in."),
    };
    let range = json!({"type": "number", "minimum": 0, "description": "Electric range in miles."});
    let photo = json!({"type": "string", "format": "uri"});
    let rooftop = json!({"type": ["string", "null"], "description": "The store that has it."});
    let members = vec![
        ("vin", vin("Its VIN.")),
        ("stock", text("Its stock number.")),
        ("vehicle_id", text("The dealer's id of it.")),
        ("dealer_id", text("The dealer's own id.")),
        ("rooftop", rooftop),
        ("year", year("Model year.")),
        ("make", text("The make.")),
        ("model", text("The model.")),
        ("trim", text("The trim line.")),
        ("body", text("The body style.")),
        ("condition", condition),
        ("status", word::<ListingStatus>("Whether it can be bought.")),
        ("msrp", count("Manufacturer's suggested price, whole US dollars.")),
        ("list_price", count("Advertised price before fees, whole US dollars.")),
        ("price", count("Price out of the door, whole US dollars.")),
        ("mileage", count("Miles driven.")),
        ("transmission", text("The transmission.")),
        ("driveline", text("The driven wheels.")),
        ("engine", text("The engine.")),
        ("fuel", text("The fuel.")),
        ("city_mpg", count("Miles per gallon in town.")),
        ("highway_mpg", count("Miles per gallon on the road.")),
        ("electric_range_mi", range),
        ("exterior_color", text("The colour outside.")),
        ("interior_color", text("The colour inside.")),
        ("features", texts("Equipment.")),
        ("photos", list(photo, "Addresses of pictures.")),
        ("vdp_url", formatted("uri", "Its page.")),
        ("description", text("Text for people.")),
        ("notes", text("Remarks.")),
        ("inventory_date", formatted("date", "Since when it is in stock.")),
        ("updated_at", formatted("date-time", "When the listing was last confirmed.")),
    ];
    let mut schema = object(members, &[]);
    schema.shift_remove("additionalProperties");
    described(schema, about)
}
