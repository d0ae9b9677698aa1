//! Schema and reader of each tool's arguments. `tradepost_aap` describes and reads everything that AAP defines. The
//! additions for several dealers are written twice, in schema and reader; a test of the bridge damages arguments at
//! random to check that both agree.

use jiff::{SignedDuration, Timestamp};
use tradepost_aap::inventory::Sort;
use tradepost_aap::lead::{Channel, PreferredContact};
use tradepost_aap::{self as aap, AapRequest, DealerTerms, LeadSubmit, Skill, Version, schema};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

/// Default number of vehicles that a search returns.
const DEFAULT_LIMIT: usize = 10;

/// Maximum number of vehicles that a search returns; a longer list does not help a model to choose.
const MAX_LIMIT: i64 = 50;

/// Maximum number of matches that a search can skip; every dealer has to send all that come before the page.
pub(super) const MAX_SKIP: usize = 150;

/// Maximum number of dealers that schemas and problems list by name: a model would read them with every call.
pub const MAX_NAMES: usize = 20;

/// The dealers as a schema presents them.
#[derive(Debug, Clone, Copy)]
pub struct DealerChoice<'n> {
    names: &'n [String],
    /// True when dealers can come and go, so that a list of names would become outdated.
    is_changing: bool,
}

impl<'n> DealerChoice<'n> {
    /// Creates the choice among these names.
    #[must_use]
    pub fn new(names: &'n [String], is_changing: bool) -> Self {
        Self { names, is_changing }
    }

    /// Returns the schema of a dealer's name.
    fn schema(self, description: &str) -> Value {
        if self.is_changing || self.names.len() > MAX_NAMES {
            let how =
                "Call aap_dealer_information with names_only true for all names that there are.";
            return json!({"type": "string", "description": format!("{description} {how}")});
        }
        json!({"type": "string", "enum": self.names, "description": description})
    }

    /// Returns true when a tool that calls one dealer requires its name.
    fn is_needed(self) -> bool {
        self.is_changing || self.names.len() > 1
    }
}

/// Returns the whole input schema of a tool for these dealers. Models are shown a part of it; see
/// [`portable`](tradepost_mcp::schema::portable).
#[must_use]
pub fn input_schema(skill: Skill, dealers: DealerChoice<'_>) -> Map {
    let mut schema = schema::request(skill);
    // Models leave the type out, and the readers below supply it.
    schema.shift_remove("required");
    let mut required = Vec::new();
    if let Some(Value::Object(members)) = schema.get_mut("properties") {
        let one = skill == Skill::InventoryVehicle || skill == Skill::LeadSubmit;
        if one {
            if dealers.is_needed() {
                required.push("dealer");
            }
            let dealer = dealers.schema("The dealer, as results name it.");
            members.shift_insert(0, "dealer".into(), dealer);
        } else {
            members.shift_insert(0, "dealers".into(), json!({
                "type": "array", "items": dealers.schema("A dealer, as results name it."), "uniqueItems": true,
                "description": "Which dealers to ask; all of them when left out or empty.",
            }));
        }
        if skill == Skill::DealerInformation {
            members.insert("names_only".into(), json!({
                "type": "boolean",
                "description": "True to list the names of all dealers without asking any of them.",
            }));
        }
        if skill.takes("pagination") {
            // The privacy member is set for the model: the user is anonymous (`R-IS-13`).
            members.shift_remove("privacy");
            members.insert("pagination".into(), pagination());
        }
        if skill == Skill::LeadSubmit {
            required.extend(["customer", "consent"]);
            schema::in_two_calls(members);
        }
    }
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema
}

fn pagination() -> Value {
    json!({
        "type": "object",
        "properties": {
            "skip": {"type": "integer", "minimum": 0, "maximum": MAX_SKIP,
                     "description": "How many matches to leave out at the start."},
            "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT,
                      "default": DEFAULT_LIMIT, "description": "How many to return."},
        },
        "additionalProperties": false,
        "description": "Which part of the matches of all dealers together.",
    })
}

/// Returns the terms that are checked before dealers are asked. Where dealers differ, the most generous ones apply.
#[must_use]
pub fn generous_terms(now: Timestamp) -> DealerTerms {
    DealerTerms { now, clock_skew: SignedDuration::from_mins(5), consent_lifetime: None }
}

/// Valid arguments with the dealers they are for.
#[derive(Debug)]
pub struct CheckedCall<T> {
    /// Indexes of the dealers in the list of names.
    pub dealers: Vec<usize>,
    /// Arguments proper.
    pub what: T,
}

/// Arguments of the tool that lists the dealers.
#[derive(Debug)]
pub struct DealerInformationArguments {
    /// True when the names are enough and no dealer is called.
    pub names_only: bool,
}

/// Arguments of a search.
#[derive(Debug)]
pub struct SearchArguments {
    /// Request without its page.
    pub payload: Map,
    /// Requested order, if any.
    pub sort: Option<Sort>,
    /// Number of merged matches to skip.
    pub skip: usize,
    /// Maximum number of matches to return.
    pub limit: usize,
}

/// Arguments of a lead.
#[derive(Debug)]
pub struct LeadArguments {
    /// `customer` and the other members of the lead as they were given.
    pub parts: Map,
    /// Lead as `tradepost_aap` parsed it.
    pub lead: Box<LeadSubmit>,
    /// Token from the first call.
    pub confirmation: Option<String>,
    /// Id of an earlier conversation with the dealer that this lead continues.
    pub conversation: Option<String>,
}

/// Reads a tool's own members together with those that every tool has: its type, which may be left out, and the
/// dealers or the one dealer, with a reader that is given their names.
macro_rules! read_arguments {
    ($skill:expr, $arguments:expr, $names:expr, $problems:expr,
     $which:literal => $dealers:ident: $reader:ident, { $($members:tt)* }) => {
        read_object!($arguments, &DocumentPlace::Root, $problems, closed {
            optional "type" => kind: |v, at: &DocumentPlace<'_>, p: &mut Problems| {
                parse::constant(v, at, p, $skill.request_type())
            },
            optional $which => $dealers: |v, at: &DocumentPlace<'_>, p: &mut Problems| $reader(v, at, p, $names),
            $($members)*
        });
        let () = kind.unwrap_or_default();
    };
}

/// Reads the arguments of the tool that lists the dealers.
///
/// # Errors
/// Every problem of the arguments.
pub fn read_dealers(
    arguments: &Value,
    names: &[String],
) -> Result<CheckedCall<DealerInformationArguments>, Problems> {
    let mut problems = Problems::new();
    read_arguments!(Skill::DealerInformation, arguments, names, &mut problems,
        "dealers" => dealers: several, {
        optional "names_only" => names_only: parse::boolean,
    });
    let what = DealerInformationArguments { names_only: names_only.unwrap_or_default() };
    problems.into_result(Some(CheckedCall { dealers: chosen(dealers, names), what }))
}

/// Reads the arguments of the facets: a payload.
///
/// # Errors
/// Every problem of the arguments.
pub fn read_facets(
    arguments: &Value,
    names: &[String],
    terms: &DealerTerms,
) -> Result<CheckedCall<Map>, Problems> {
    let skill = Skill::InventoryFacets;
    let mut problems = Problems::new();
    read_arguments!(skill, arguments, names, &mut problems, "dealers" => dealers: several, {
        optional "filters" => filters: as_sent,
    });
    let (what, _) = checked(skill, [("filters", filters)], terms, &mut problems);
    point_to_filters(arguments, &mut problems);
    problems.into_result(Some(CheckedCall { dealers: chosen(dealers, names), what }))
}

/// Reads the arguments of a search.
///
/// # Errors
/// Every problem of the arguments.
pub fn read_search(
    arguments: &Value,
    names: &[String],
    terms: &DealerTerms,
) -> Result<CheckedCall<SearchArguments>, Problems> {
    let skill = Skill::InventorySearch;
    let mut problems = Problems::new();
    read_arguments!(skill, arguments, names, &mut problems, "dealers" => dealers: several, {
        optional "filters" => filters: as_sent,
        optional "pagination" => page: read_page,
        optional "sort" => sort: as_sent,
    });
    let (skip, limit) = page.unwrap_or((0, DEFAULT_LIMIT));
    let members = [("filters", filters), ("sort", sort)];
    let (payload, call) = checked(skill, members, terms, &mut problems);
    let sort = match call {
        Some(AapRequest::InventorySearch(search)) => search.sort,
        Some(_) | None => None,
    };
    point_to_filters(arguments, &mut problems);
    let what = SearchArguments { payload, sort, skip, limit };
    problems.into_result(Some(CheckedCall { dealers: chosen(dealers, names), what }))
}

/// Rewords the problem of a filter that stands beside `filters`, to say where it belongs.
fn point_to_filters(arguments: &Value, problems: &mut Problems) {
    let schema = Value::Object(schema::request(Skill::InventoryFacets));
    let filters = schema.pointer("/properties/filters/properties").and_then(Value::as_object);
    for name in arguments.as_object().into_iter().flatten().map(|(name, _)| name) {
        if filters.is_some_and(|filters| filters.contains_key(name)) {
            let message = format!("unknown property \"{name}\"; did you mean filters.{name}?");
            let pointer = DocumentPlace::Root.key(name).pointer();
            problems.reword(&pointer, Keyword::AdditionalProperties, &message);
        }
    }
}

/// Reads the arguments of the vehicle tool: a payload.
///
/// # Errors
/// Every problem of the arguments.
pub fn read_vehicle(
    arguments: &Value,
    names: &[String],
    terms: &DealerTerms,
) -> Result<CheckedCall<Map>, Problems> {
    let skill = Skill::InventoryVehicle;
    let mut problems = Problems::new();
    read_arguments!(skill, arguments, names, &mut problems, "dealer" => dealer: one, {
        optional "vin" => vin: as_sent,
        optional "stock" => stock: as_sent,
        optional "vehicle_id" => vehicle_id: as_sent,
    });
    let dealer = the_one(arguments, "dealer", dealer, names, &mut problems);
    let members = [("vin", vin), ("stock", stock), ("vehicle_id", vehicle_id)];
    let (what, _) = checked(skill, members, terms, &mut problems);
    problems.into_result(Some(CheckedCall { dealers: vec![dealer], what }))
}

/// Reads the arguments of a lead. Refuses contact data that no permitted channel needs, and a channel for which the
/// contact data is missing.
///
/// # Errors
/// Every problem of the arguments.
pub fn read_lead(
    arguments: &Value,
    names: &[String],
    terms: &DealerTerms,
) -> Result<CheckedCall<LeadArguments>, Problems> {
    fn consent(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Value> {
        read_object!(value, at, problems, closed {
            required "allowed_channels" => channels: as_sent,
        });
        channels
    }
    fn token(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
        parse::text_of(value, at, problems, 1, Some(200))
    }
    let skill = Skill::LeadSubmit;
    let mut problems = Problems::new();
    read_arguments!(skill, arguments, names, &mut problems, "dealer" => dealer: one, {
        required "customer" => customer: as_sent,
        required "consent" => channels: consent,
        optional "vehicle_of_interest" => vehicle_of_interest: as_sent,
        optional "trade_in" => trade_in: as_sent,
        optional "appointment" => appointment: as_sent,
        optional "message" => message: as_sent,
        optional "confirmation" => confirmation: token,
        optional "conversation" => conversation: token,
        optional "consent_shown_to_user" => shown: parse::boolean,
    });
    let dealer = the_one(arguments, "dealer", dealer, names, &mut problems);
    schema::check_two_calls(confirmation.is_some(), shown, &mut problems);
    let has_channels = channels.is_some();
    let parts = [
        ("customer", customer),
        ("vehicle_of_interest", vehicle_of_interest),
        ("trade_in", trade_in),
        ("appointment", appointment),
        ("message", message),
    ];
    let mut draft = payload(skill, parts);
    let mut parts = draft.clone();
    parts.shift_remove("type");
    // Placeholders for members that are filled in once the rest is valid.
    draft.insert(
        "consent".into(),
        json!({
            "granted_at": terms.now.to_string(), "consent_text": "-", "scope": ["lead_submission"],
            "allowed_channels": channels.unwrap_or_else(|| json!(Channel::NAMES)),
        }),
    );
    draft.insert("source_agent".into(), json!({"name": "-"}));
    if has_channels {
        check_channels(&draft, &mut problems);
    }
    match check(skill, &draft, terms, &mut problems) {
        Some(AapRequest::LeadSubmit(lead)) => {
            let what = LeadArguments { parts, lead, confirmation, conversation };
            problems.into_result(Some(CheckedCall { dealers: vec![dealer], what }))
        }
        Some(_) | None => Err(problems),
    }
}

/// Checks the rules about channels that no schema states, and reports each at the member that has to change.
fn check_channels(draft: &Map, problems: &mut Problems) {
    let member = |parent: &str, name: &str| draft.get(parent).and_then(|v| v.get(name));
    let is_text = |name: &str| member("customer", name).is_some_and(Value::is_string);
    let Some(granted) = member("consent", "allowed_channels").and_then(Value::as_array) else {
        return;
    };
    let granted: Vec<_> =
        granted.iter().filter_map(Value::as_str).filter_map(Channel::from_name).collect();
    if granted.is_empty() {
        return;
    }
    let by_email = granted.contains(&Channel::Email);
    let by_phone = granted.contains(&Channel::Phone) || granted.contains(&Channel::Sms);
    let preferred = member("customer", "preferred_contact").and_then(Value::as_str);
    let preferred = preferred.and_then(PreferredContact::from_name);
    let is_refused = preferred.is_some_and(|preferred| match preferred {
        PreferredContact::Email => !by_email,
        PreferredContact::Phone => !granted.contains(&Channel::Phone),
        PreferredContact::Sms => !granted.contains(&Channel::Sms),
        PreferredContact::Any => false,
    });
    let customer = DocumentPlace::Root.key("customer");
    let consent = DocumentPlace::Root.key("consent");
    let channels = "allowed_channels";
    for (is_wrong, at, message) in [
        (
            is_text("email") && !by_email,
            customer.key("email"),
            "the user has not permitted email: leave the address out, or ask for the channel",
        ),
        (
            is_text("phone") && !by_phone,
            customer.key("phone"),
            "the user has permitted neither phone nor sms: leave the number out, or ask for one",
        ),
        (
            by_email && member("customer", "email").is_none(),
            consent.key(channels),
            "email is permitted, but the customer has no email: ask, or leave it out",
        ),
        (
            by_phone && member("customer", "phone").is_none(),
            consent.key(channels),
            "phone or sms is permitted, but the customer has no phone: ask, or leave them out",
        ),
        (
            is_refused,
            customer.key("preferred_contact"),
            "the user has not permitted this channel: choose another, or ask for it",
        ),
    ] {
        if is_wrong {
            parse::push(&at, problems, Keyword::Const, message, ProblemDetail::None);
        }
    }
}

/// Parses a payload with `tradepost_aap` and adds its problems.
fn check(
    skill: Skill,
    payload: &Map,
    terms: &DealerTerms,
    problems: &mut Problems,
) -> Option<AapRequest> {
    match aap::parse(skill, Version::V1_1, &Value::Object(payload.clone()), terms) {
        Ok(call) => Some(call),
        Err(refusal) => {
            if refusal.problems.is_empty() && problems.is_empty() {
                let message = refusal.message.clone();
                parse::push(
                    &DocumentPlace::Root,
                    problems,
                    Keyword::Const,
                    message,
                    ProblemDetail::None,
                );
            }
            // `Problems::push` drops what the tool's own reader has already reported.
            for problem in refusal.problems.listed() {
                problems.push(problem.clone());
            }
            None
        }
    }
}

/// Builds a payload of these members and parses it.
fn checked<const N: usize>(
    skill: Skill,
    members: [(&'static str, Option<Value>); N],
    terms: &DealerTerms,
    problems: &mut Problems,
) -> (Map, Option<AapRequest>) {
    let payload = payload(skill, members);
    let call = check(skill, &payload, terms, problems);
    (payload, call)
}

fn payload<const N: usize>(skill: Skill, members: [(&'static str, Option<Value>); N]) -> Map {
    let kind = ("type".to_owned(), Value::from(skill.request_type()));
    let given = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    std::iter::once(kind).chain(given).collect()
}

/// Accepts any value; `tradepost_aap` checks it later.
fn as_sent(value: &Value, _: &DocumentPlace<'_>, _: &mut Problems) -> Option<Value> {
    Some(value.clone())
}

fn read_page(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<(usize, usize)> {
    read_object!(value, at, problems, closed {
        optional "skip" => skip: |v, at: &DocumentPlace<'_>, p: &mut Problems| parse::integer(v, at, p, 0, i64::try_from(MAX_SKIP).ok()),
        optional "limit" => limit: |v, at: &DocumentPlace<'_>, p: &mut Problems| parse::integer(v, at, p, 1, Some(MAX_LIMIT)),
    });
    let number = |number: Option<i64>, default| {
        number.and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
    };
    Some((number(skip, 0), number(limit, DEFAULT_LIMIT)))
}

/// Returns the index of a dealer or seller in `names`.
pub fn one(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    names: &[String],
) -> Option<usize> {
    let text = parse::str(value, at, problems);
    let place = text.and_then(|text| names.iter().position(|name| name == text));
    if place.is_none() {
        let message = if names.len() > MAX_NAMES {
            format!("must be one of {} names, as results give them", names.len())
        } else {
            format!("must be one of {}", names.join(", "))
        };
        parse::push(at, problems, Keyword::Enum, message, ProblemDetail::None);
    }
    place
}

/// Returns the indexes of dealers or sellers in `names`.
pub fn several(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
    names: &[String],
) -> Option<Vec<usize>> {
    // A list that is too long has a name twice, and is not read: it can be as long as a request.
    if value.as_array().is_some_and(|list| list.len() > names.len()) {
        let message = format!("must have at most {} items, each once", names.len());
        parse::push(at, problems, Keyword::MaxItems, message, ProblemDetail::None);
        return None;
    }
    let list = parse::list(value, at, problems, (0, None), |v, at, p| one(v, at, p, names));
    parse::unique(value, at, problems);
    list
}

/// Returns the chosen dealers or sellers: all of them where none is named.
#[must_use]
pub fn chosen(dealers: Option<Vec<usize>>, names: &[String]) -> Vec<usize> {
    dealers.filter(|dealers| !dealers.is_empty()).unwrap_or_else(|| (0..names.len()).collect())
}

/// Returns the index of the one dealer or seller of a tool; reports its member, by name, when it is needed and
/// absent.
pub fn the_one(
    arguments: &Value,
    member: &'static str,
    place: Option<usize>,
    names: &[String],
    problems: &mut Problems,
) -> usize {
    let absent = arguments.as_object().is_some_and(|members| !members.contains_key(member));
    if absent && names.len() > 1 {
        parse::missing(&DocumentPlace::Root, problems, member);
    }
    place.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_longer_than_the_names_is_not_read() {
        let names = ["one.example".to_owned(), "two.example".to_owned()];
        let given = json!({"dealers": vec!["elsewhere"; 5000]});
        let problems = read_dealers(&given, &names).unwrap_err();
        assert_eq!(problems.total(), 1);
        let problem = problems.listed().first().unwrap().clone();
        assert_eq!(problem.keyword, Keyword::MaxItems);
        let given = json!({"dealers": ["two.example", "one.example"]});
        assert_eq!(read_dealers(&given, &names).unwrap().dealers, [1, 0]);
    }
}
