//! Arguments of the AdCP tools, checked against the published schemas before anything is sent.

use tradepost_adcp::rules::{self, Internals};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, Keyword, ProblemDetail, Problems};

use super::tools::{self, ConsentQuestion, KEY, OWN, SellerTool};
use crate::failures::BridgeError;
use crate::lenient::{self, LenientReading};
use tradepost_dealer_tools::arguments::{chosen, one, several, the_one};

/// Placeholder for the key, which a request gets once everything else is valid.
const NO_KEY: &str = "00000000-0000-0000-0000-000000000000";

/// Maximum number of unknown members in an error.
const MAX_PLACES: usize = 20;

/// Valid arguments.
pub(super) struct CheckedArguments {
    /// Indexes of the sellers in the list of names.
    pub(super) sellers: Vec<usize>,
    /// Members of the request.
    pub(super) payload: Map,
    /// Token from the first call.
    pub(super) confirmation: Option<String>,
}

/// Corrects arguments whose meaning is certain. Published schemas have unions, of which the shown schema has one
/// side: so only values that the published rules refuse are corrected.
pub(crate) fn lenient(row: &SellerTool, names: &[String], arguments: &Value) -> LenientReading {
    let payload = arguments.as_object().map(payload_of).unwrap_or_default();
    let issues =
        rules::check(row.task, &Value::Object(with_key(row, &payload)), Internals::Off).err();
    let is_refused = |at: &str| {
        let mut listed = issues.iter().flat_map(rules::Issues::listed);
        at.starts_with("/sellers") || listed.any(|issue| issue.pointer == at)
    };
    let schema = Value::Object(tools::input_schema(row, names));
    lenient::read(&schema, arguments, is_refused)
}

/// Returns the members of the request, without those of the bridge itself.
fn payload_of(members: &Map) -> Map {
    let mut payload = members.clone();
    payload.retain(|name, _| !OWN.contains(&name.as_str()));
    payload
}

/// Returns the request as it is checked: with a key, where it will get one.
fn with_key(row: &SellerTool, payload: &Map) -> Map {
    let mut whole = payload.clone();
    if row.task.keyed() {
        whole.entry(KEY).or_insert_with(|| NO_KEY.into());
    }
    whole
}

/// Reads and checks arguments.
pub(super) fn read(
    row: &SellerTool,
    arguments: &Value,
    names: &[String],
) -> Result<CheckedArguments, BridgeError> {
    let mut problems = Problems::new();
    let Some(members) = arguments.as_object() else {
        parse::push(
            &DocumentPlace::Root,
            &mut problems,
            Keyword::Type,
            "must be object",
            ProblemDetail::None,
        );
        return Err(BridgeError::arguments(&problems));
    };
    let at = |name: &'static str| DocumentPlace::Root.key(name);
    let sellers = if row.several {
        let listed = members
            .get("sellers")
            .and_then(|value| several(value, &at("sellers"), &mut problems, names));
        chosen(listed, names)
    } else {
        let named =
            members.get("seller").and_then(|value| one(value, &at("seller"), &mut problems, names));
        vec![the_one(arguments, "seller", named, names, &mut problems)]
    };
    let confirmation = members
        .get("confirmation")
        .and_then(|value| parse::text_of(value, &at("confirmation"), &mut problems, 1, Some(200)));
    let agreed = members
        .get("user_has_agreed")
        .and_then(|value| parse::boolean(value, &at("user_has_agreed"), &mut problems));
    if row.asks != ConsentQuestion::NotNeeded && confirmation.is_some() != (agreed == Some(true)) {
        let message = if confirmation.is_some() {
            "must be true: show the person the question, word for word, and ask"
        } else {
            "the person cannot have seen a question that does not exist yet; call without it and \
             without confirmation first"
        };
        parse::push(
            &at("user_has_agreed"),
            &mut problems,
            Keyword::Const,
            message,
            ProblemDetail::None,
        );
    }
    let payload = payload_of(members);
    let mut error = BridgeError::arguments(&problems);
    let schema = Value::Object(tools::input_schema(row, names));
    let mut strange = tools::strangers(&schema, arguments);
    strange.truncate(MAX_PLACES);
    let whole = Value::Object(with_key(row, &payload));
    let issues = rules::check(row.task, &whole, Internals::Off).err();
    let strangers = strange.iter().map(|place| {
        json!({"field": place, "problem": "not taken here", "keyword": "additionalProperties"})
    });
    let listed = issues.iter().flat_map(|issues| issues.listed()).map(
        |issue| json!({"field": issue.pointer, "problem": issue.message, "keyword": issue.keyword}),
    );
    let more: Vec<_> = strangers.chain(listed).collect();
    let total = strange.len() + issues.as_ref().map_or(0, rules::Issues::total);
    if problems.is_empty() && total == 0 {
        return Ok(CheckedArguments { sellers, payload, confirmation });
    }
    error.add_problems(more, total);
    let task = row.task.name();
    Err(error
        .hint(format!("correct every entry of problems and call again; they are those of {task}")))
}
