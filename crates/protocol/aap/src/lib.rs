#![doc = include_str!("../README.md")]

use std::sync::{Arc, LazyLock, OnceLock};

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use tradepost_document::catalog::{Vocabulary, catalog};
use tradepost_document::format;
use tradepost_document::http::MediaType;
use tradepost_document::json::{Map, RawValue, Value, put};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems, clip};

pub mod caps;
pub mod consent_text;
pub mod dealer;
pub mod display;
pub mod error;
pub mod inventory;
pub mod lead;
pub mod schema;
pub mod vehicle;

pub use dealer::DealerInformation;
pub use error::{AapCode, AapRefusal};
pub use inventory::{Facets, Filters, Search, SearchPage, VehicleQuery};
pub use lead::{LeadReceipt, LeadSubmit};
pub use vehicle::Vehicle;

catalog! {
    /// Versions of AAP, with their differences.
    // They are the differences between the schemas of the two versions.
    pub enum Version {
        /// URI of the extension on the card and in `A2A-Extensions`.
        uri: &'static str,
        /// Full version number.
        full: &'static str,
        /// Base address of the published schemas, with a final slash.
        schema_base_url: &'static str,
        /// Description of the extension on the card.
        description: &'static str,
        /// True when the card's extension entry lists the schema addresses (1.1 and later).
        lists_schemas: bool,
    }
    /// The first version.
    V1_0 = "1.0" {
        uri: "https://autoagentprotocol.org/extensions/a2a-automotive-retail/v1.0",
        full: "1.0.0",
        schema_base_url: "https://autoagentprotocol.org/v1.0/schemas/",
        description: "Auto Agent Protocol v1.0, the A2A automotive retail profile.",
        lists_schemas: false,
    }
    /// JSON-RPC only, every validation error at once, a structured source agent.
    V1_1 = "1.1" {
        uri: "https://autoagentprotocol.org/extensions/aap/v1.1",
        full: "1.1.0",
        schema_base_url: "https://autoagentprotocol.org/v1.1/schemas/",
        description: "Auto Agent Protocol v1.1, the A2A automotive retail profile.",
        lists_schemas: true,
    }
}

impl Version {
    /// Returns true when an extension is AAP in any version, known or not.
    #[must_use]
    pub fn is_profile(uri: &str) -> bool {
        let families = Self::ALL.iter().filter_map(|version| version.uri().rsplit_once("/v"));
        families.into_iter().any(|(family, _)| {
            uri.strip_prefix(family).is_some_and(|version| version.starts_with("/v"))
        })
    }

    /// Selects the version of a message among the supported ones. Extensions of the transport win
    /// over those of the message; where neither names a supported version, all are possible. Of
    /// several possible versions it is 1.0 for a payload of that shape, and otherwise the highest.
    // AAP has no version per message, so this order was chosen (C-34).
    #[must_use]
    pub fn choose(spoken: &[Self], named: [&[String]; 2], data: Option<&Value>) -> Self {
        let spoken_of = |uris: &[String]| -> Vec<Self> {
            let is_named = |version: &&Self| uris.iter().any(|uri| uri == version.uri());
            spoken.iter().filter(is_named).copied().collect()
        };
        let possible = named.into_iter().map(spoken_of).find(|versions| !versions.is_empty());
        let possible = possible.as_deref().unwrap_or(spoken);
        if possible.contains(&Self::V1_0) && data.is_some_and(has_v1_0_shape) {
            return Self::V1_0;
        }
        possible.iter().copied().max().unwrap_or(Self::V1_1)
    }
}

catalog! {
    /// Skills, by their ids on the card.
    pub enum Skill {
        /// Payload type of a request.
        request_type: &'static str,
        /// Payload type of the answer.
        response_type: &'static str,
        /// Stem of the media types and schema names.
        // `inventory.vehicle` has the stem `vehicle-detail` (AAP 1.1 skills.yaml, R-ENV-08).
        stem: &'static str,
        /// Name on the card.
        title: &'static str,
        /// Key words on the card.
        tags: &'static [&'static str];
        /// True when it changes the dealer's data; the others are read-only.
        has_effect: bool = false,
    }
    /// Tells who the dealer is: rooftops with address, opening hours, contacts and services.
    DealerInformation = "dealer.information" {
        request_type: "dealer.information.request", response_type: "dealer.information.response",
        stem: "dealer-information", title: "Dealer information",
        tags: &["dealer", "dealership", "profile", "hours", "contact", "locations", "automotive"],
    }
    /// Counts the inventory, or a filtered part of it, by make, model, year, price and more.
    InventoryFacets = "inventory.facets" {
        request_type: "inventory.facets.request", response_type: "inventory.facets.response",
        stem: "inventory-facets", title: "Inventory facets",
        tags: &["inventory", "facets", "aggregation", "filters", "automotive"],
    }
    /// Finds vehicles on offer by make, model, year, condition, price, mileage, words and more.
    InventorySearch = "inventory.search" {
        request_type: "inventory.search.request", response_type: "inventory.search.response",
        stem: "inventory-search", title: "Inventory search",
        tags: &["inventory", "vehicles", "search", "cars", "automotive"],
    }
    /// Gives everything known about one vehicle, by VIN, stock number or vehicle id.
    InventoryVehicle = "inventory.vehicle" {
        request_type: "inventory.vehicle.request", response_type: "inventory.vehicle.response",
        stem: "vehicle-detail", title: "Vehicle detail",
        tags: &["inventory", "vehicle", "vin", "stock", "detail", "automotive"],
    }
    /// Takes a consented lead with vehicle of interest, trade-in and appointment.
    LeadSubmit = "lead.submit" {
        request_type: "lead.submit.request", response_type: "lead.submit.response",
        stem: "lead-submit", title: "Submit a lead",
        tags: &["lead", "contact", "consent", "sales", "appointment", "automotive"];
        has_effect: true,
    }
}

impl Skill {
    /// Reads the payload type of its request.
    fn read_type(
        self,
        value: &Value,
        at: &DocumentPlace<'_>,
        problems: &mut Problems,
    ) -> Option<()> {
        parse::constant(value, at, problems, self.request_type())
    }

    /// Returns true when a request may have this member at its top level, beside its type.
    #[must_use]
    pub fn takes(self, member: &str) -> bool {
        schema::request(self).get("properties").is_some_and(|all| all.get(member).is_some())
    }

    /// Returns the name of its tool over MCP: `aap_` and its own name.
    #[must_use]
    pub fn tool_name(self) -> String {
        format!("aap_{}", self.name().replace('.', "_"))
    }

    /// Returns the media type of a request.
    #[must_use]
    pub fn request_media_type(self) -> String {
        format!("application/vnd.autoagent.{}-request+json", self.stem())
    }

    /// Returns the media type of the answer.
    #[must_use]
    pub fn response_media_type(self) -> String {
        format!("application/vnd.autoagent.{}-response+json", self.stem())
    }

    /// Returns the skill whose requests have this payload type.
    #[must_use]
    pub fn from_request_type(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|skill| skill.request_type() == name)
    }
}

/// Payload types of requests.
static REQUEST_TYPES: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| Skill::ALL.iter().map(|skill| skill.request_type()).collect());

/// A valid request. Nothing in it needs another check, except against the dealer's own data.
#[derive(Debug)]
pub enum AapRequest {
    /// Asks for the dealer's profile.
    DealerInformation,
    /// Counts vehicles.
    InventoryFacets(Filters),
    /// Searches vehicles.
    InventorySearch(Search),
    /// Reads a vehicle.
    InventoryVehicle(VehicleQuery),
    /// Submits a lead.
    LeadSubmit(Box<LeadSubmit>),
}

impl AapRequest {
    /// Returns the skill.
    #[must_use]
    pub fn skill(&self) -> Skill {
        match self {
            Self::DealerInformation => Skill::DealerInformation,
            Self::InventoryFacets(_) => Skill::InventoryFacets,
            Self::InventorySearch(_) => Skill::InventorySearch,
            Self::InventoryVehicle(_) => Skill::InventoryVehicle,
            Self::LeadSubmit(_) => Skill::LeadSubmit,
        }
    }
}

/// An answer, in the format of the skill's response schema.
#[derive(Debug)]
pub struct AapReply {
    /// The called skill.
    pub skill: Skill,
    /// Data of the answer.
    pub data: ReplyData,
    /// Message for people, at most 2,000 characters.
    pub message: Option<String>,
    /// How a text query was read: `filters` and perhaps `sort` of a request that finds the same. It is no member of
    /// the payload, whose schema is closed, but metadata of the part, under [`QUERY_READING`].
    pub reading: Option<Map>,
    /// For a search that found no vehicle: how it was read, and what is in the way of its matches. It is not
    /// written.
    pub nothing_found: Option<String>,
    /// Place for a text about an answer that is given again, written by whoever needs it first;
    /// `None` for other answers.
    pub summary: Option<Arc<OnceLock<String>>>,
}

/// Member of a part's metadata that says how a text query was read.
pub const QUERY_READING: &str = "query_reading";

/// Data of an answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ReplyData {
    /// The dealer's profile.
    Dealer(Arc<DealerInformation>),
    /// Counts of vehicles.
    Facets(Arc<Facets>),
    /// A page of vehicles.
    Page(SearchPage),
    /// A vehicle, as stored.
    Vehicle(RawJson),
    /// Receipt of a lead.
    Lead(LeadReceipt),
    /// Any answer, already serialised.
    Written(RawJson),
}

impl ReplyData {
    /// Returns the approximate size in bytes, as far as it is known without serialising.
    #[must_use]
    pub fn size_hint(&self) -> usize {
        match self {
            Self::Page(page) => {
                page.vehicles.iter().map(|vehicle| vehicle.as_json().len() + 1).sum()
            }
            Self::Vehicle(json) | Self::Written(json) => json.as_json().len(),
            Self::Dealer(_) | Self::Facets(_) | Self::Lead(_) => 0,
        }
    }
}

impl Serialize for AapReply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut payload = serializer.serialize_map(None)?;
        payload.serialize_entry("type", self.skill.response_type())?;
        payload.serialize_entry("data", &self.data)?;
        put(&mut payload, "message", self.message.as_ref())?;
        payload.end()
    }
}

/// Serialised JSON, cheap to clone.
#[derive(Debug, Clone)]
pub struct RawJson(Arc<RawValue>);

impl RawJson {
    /// Serialises a value.
    ///
    /// # Errors
    /// When the value cannot be serialised.
    pub fn new<T: Serialize>(value: &T) -> tradepost_document::json::Result<Self> {
        tradepost_document::json::to_raw_value(value).map(|raw| Self(raw.into()))
    }

    /// Wraps JSON text.
    ///
    /// # Errors
    /// When it is not valid JSON.
    pub fn from_text(json: String) -> tradepost_document::json::Result<Self> {
        RawValue::from_string(json).map(|raw| Self(raw.into()))
    }

    /// Returns the JSON text for a document that it is a part of.
    #[must_use]
    pub fn shared(&self) -> Arc<RawValue> {
        Arc::clone(&self.0)
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }
}

impl AsRef<[u8]> for RawJson {
    fn as_ref(&self) -> &[u8] {
        self.as_json().as_bytes()
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// Rules of a dealer for requests, beyond the schema.
#[derive(Debug, Clone)]
pub struct DealerTerms {
    /// Time of the request.
    pub now: Timestamp,
    /// Tolerance for consent grants in the future.
    pub clock_skew: SignedDuration,
    /// Validity of a grant without `expires_at`; unlimited when `None`.
    // A dealer may have its own default (AAP 1.1 behavior-rules, R-LD-07).
    pub consent_lifetime: Option<SignedDuration>,
}

/// Returns the skill that a payload calls.
///
/// # Errors
/// `SCHEMA_VALIDATION_FAILED` when the payload's type is missing or malformed, `UNSUPPORTED_SKILL`
/// when it is well-formed and not among `offered`.
// Problems of the payload's type come before all others (AAP 1.1 errors; E-037 to E-042, C-24).
pub fn identify(data: &Value, offered: &[Skill]) -> Result<Skill, AapRefusal> {
    let root = DocumentPlace::Root;
    let mut problems = Problems::new();
    read_object!(data, &root, &mut problems, open { required "type" => name: parse::str });
    let Some(name) = name else { return Err(AapRefusal::schema_validation_failed(problems)) };
    let at = root.key("type");
    match Skill::from_request_type(name) {
        Some(skill) if offered.contains(&skill) => return Ok(skill),
        None if !format::is_payload_type(name) => {
            const PATTERN: &str = r"^[a-z_]+(\.[a-z_]+){1,2}$";
            let message = "must be a payload type such as inventory.search.request";
            parse::push(
                &at,
                &mut problems,
                Keyword::Pattern,
                message,
                ProblemDetail::Pattern(PATTERN),
            );
        }
        None if !name.ends_with(".request") => {
            parse::not_one_of(&at, &mut problems, &REQUEST_TYPES);
        }
        Some(_) | None => return Err(AapRefusal::unsupported_skill(clip(name), offered)),
    }
    Err(AapRefusal::schema_validation_failed(problems))
}

/// Parses the payload of a request.
///
/// # Errors
/// The error code that the rules of precedence select, with every problem found.
// The order of checks is that of docs/requirements/aap.md, "Which code wins", 5 to 7.
pub fn parse(
    skill: Skill,
    version: Version,
    data: &Value,
    terms: &DealerTerms,
) -> Result<AapRequest, AapRefusal> {
    let mut problems = Problems::new();
    let call =
        match skill {
            Skill::DealerInformation => {
                read_object!(data, &DocumentPlace::Root, &mut problems, closed {
                    required "type" => kind: |v, at, p| skill.read_type(v, at, p),
                });
                kind.map(|()| AapRequest::DealerInformation)
            }
            Skill::InventoryFacets => {
                inventory::read_facets(data, &mut problems).map(AapRequest::InventoryFacets)
            }
            Skill::InventorySearch => inventory::read_search(data, version, &mut problems)
                .map(AapRequest::InventorySearch),
            Skill::InventoryVehicle => inventory::read_vehicle(data, version, &mut problems)
                .map(AapRequest::InventoryVehicle),
            Skill::LeadSubmit => {
                return lead::read(data, version, terms)
                    .map(|lead| AapRequest::LeadSubmit(Box::new(lead)));
            }
        };
    problems.into_result(call).map_err(AapRefusal::from_problems)
}

/// Returns true when a request has the shape of 1.0, for messages that name no version.
// AAP has no version per message, so the shape decides (C-34).
#[must_use]
pub fn has_v1_0_shape(data: &Value) -> bool {
    let member = |value: &Value, name: &str| value.get(name).is_some();
    // Only 1.1 has an object here. Then a ZIP code of a vehicle is no sign of 1.0, because a
    // vehicle may have any member there.
    if data.get("source_agent").is_some_and(Value::is_object) {
        return false;
    }
    data.get("source_agent").is_some_and(Value::is_string)
        || data.get("consent").is_some_and(|consent| member(consent, "source_agent"))
        || ["zip", "offered_price"].iter().any(|name| member(data, name))
        || data.pointer("/sort/field").and_then(Value::as_str) == Some("offered_price")
        || ["vehicle_of_interest", "trade_in"]
            .iter()
            .filter_map(|name| data.get(name))
            .any(|vehicle| member(vehicle, "offered_price") || member(vehicle, "zip"))
}

/// Returns true when a data part may have this media type.
// The payload's type decides, so only other media types than JSON are refused (C-25).
#[must_use]
pub fn accepts_media_type(media_type: &str) -> bool {
    let kind = MediaType::new(media_type);
    kind.is("") || kind.is("application/json") || kind.has_json_suffix()
}

/// Returns the refusal of a message without an AAP data part, or with several.
// Exactly one AAP data part is required (E-035, E-036).
#[must_use]
pub fn data_part_problem(found: usize) -> AapRefusal {
    let mut problems = Problems::new();
    let (keyword, message, extra) = if found == 0 {
        let message = "the message has no data part; send exactly one with an AAP payload";
        (Keyword::Required, message, ProblemDetail::Property("data"))
    } else {
        let message = "the message has several data parts; send exactly one AAP payload";
        (Keyword::MaxItems, message, ProblemDetail::Limit(1))
    };
    parse::push(&DocumentPlace::Root, &mut problems, keyword, message, extra);
    AapRefusal::schema_validation_failed(problems)
}
