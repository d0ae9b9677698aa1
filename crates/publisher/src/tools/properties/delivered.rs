//! `validate_property_delivery`: whether what was delivered stayed within a list of properties.

use tradepost_wire::json::{Value, json};

use super::require;
use crate::forms::properties::{DeliveryRecord, ValidatePropertyDelivery};
use crate::property::Membership;
use crate::refuse::Stop;
use crate::reply::{Reply, object};
use crate::work::Work;

/// How a record stands to the list (`property/validation-result.json`). Nothing is `unidentified`:
/// identifiers are compared, whatever their type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Compliant,
    NonCompliant,
    NotCovered,
}

impl Status {
    const ALL: [Self; 3] = [Self::Compliant, Self::NonCompliant, Self::NotCovered];

    fn name(self) -> &'static str {
        match self {
            Self::Compliant => "compliant",
            Self::NonCompliant => "non_compliant",
            Self::NotCovered => "not_covered",
        }
    }
}

pub(in crate::tools) fn perform(
    work: &Work<'_>,
    form: &ValidatePropertyDelivery,
) -> Result<Reply, Stop> {
    let list = require(work, &form.list_id)?.thing;
    let membership = list.membership();
    let judged: Vec<_> =
        form.records.iter().map(|record| (record, membership.of(&record.identifier))).collect();
    let judged: Vec<_> = judged
        .into_iter()
        .map(|(record, member)| {
            let (status, failed) = match member {
                Membership::Within => (Status::Compliant, None),
                Membership::Outside => (Status::NonCompliant, Some(OUTSIDE)),
                Membership::Excluded => (Status::NonCompliant, Some(EXCLUDED)),
                Membership::Unknown => (Status::NotCovered, None),
            };
            (record, status, failed)
        })
        .collect();
    let mut summary = count("total", judged.iter().map(|(record, ..)| *record));
    for status in Status::ALL {
        let of_status = judged.iter().filter(|(_, it, _)| *it == status);
        summary.extend(count(status.name(), of_status.map(|(record, ..)| *record)));
    }
    summary.extend(count("unidentified", std::iter::empty()));
    let compliant = !judged.iter().any(|(_, status, _)| *status == Status::NonCompliant);
    let results: Vec<Value> = judged
        .iter()
        .filter(|(_, status, _)| form.include_compliant || *status != Status::Compliant)
        .map(|(record, status, failed)| show(record, *status, *failed))
        .collect();
    let sold: Vec<_> =
        form.records.iter().filter(|record| record.sales_agent_url.is_some()).collect();
    Ok(Reply::completed(
        "how the delivery stands to the list",
        Value::Object(object([
            ("compliant", Some(compliant.into())),
            ("list_id", Some(json!(list.list_id))),
            ("summary", Some(summary.into_iter().collect())),
            ("authorization_summary", (!sold.is_empty()).then(|| authorizations(&sold))),
            ("results", Some(results.into())),
            ("validated_at", Some(json!(work.ask.now))),
            ("list_resolved_at", Some(json!(work.ask.now))),
        ])),
    ))
}

/// The check that failed, and why.
type Failed = (&'static str, &'static str);

const OUTSIDE: Failed = ("record:list_membership", "the identifier is not in the list");
const EXCLUDED: Failed = ("record:excluded", "the list excludes the identifier");

fn show(record: &DeliveryRecord, status: Status, failed: Option<Failed>) -> Value {
    let features = failed.map(|(feature, explanation)| {
        json!([{"feature_id": feature, "status": "failed", "explanation": explanation}])
    });
    // Who may sell there is said by documents of others, which nobody fetches here.
    let authorization = record
        .sales_agent_url
        .as_ref()
        .map(|url| json!({"status": "unknown", "sales_agent_url": url}));
    let mut shown = record.given.clone();
    shown.extend(object([
        ("record_id", record.record_id.as_ref().map(|id| json!(id))),
        ("status", Some(status.name().into())),
        ("impressions", Some(record.impressions.into())),
        ("features", features),
        ("authorization", authorization),
    ]));
    shown.into()
}

/// How many records and impressions.
fn count<'a>(
    name: &str,
    records: impl Iterator<Item = &'a DeliveryRecord>,
) -> Vec<(String, Value)> {
    let (mut count, mut impressions) = (0_u64, 0_u64);
    for record in records {
        count += 1;
        impressions = impressions.saturating_add(record.impressions);
    }
    vec![
        (format!("{name}_records"), json!(count)),
        (format!("{name}_impressions"), json!(impressions)),
    ]
}

fn authorizations(sold: &[&DeliveryRecord]) -> Value {
    let mut summary: Vec<(String, Value)> = Vec::new();
    let all = || sold.iter().copied();
    for (name, value) in count("checked", all()) {
        let (what, of) = name.split_once('_').unwrap_or((&name, ""));
        summary.push((format!("{of}_{what}"), value));
    }
    summary.extend(count("authorized", std::iter::empty()));
    summary.extend(count("unauthorized", std::iter::empty()));
    summary.extend(count("unknown", all()));
    summary.into_iter().collect()
}
