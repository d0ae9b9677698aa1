//! `validate_property_delivery`: checks delivery records against a property list.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};

use super::require;
use crate::forms::properties::{PropertyDelivery, ValidatePropertyDelivery};
use crate::property::Membership;
use crate::refusals::ToolError;
use crate::reply::{ToolReply, object};
use crate::tool_context::ToolContext;

tradepost_document::words! {
    /// Result of a record (`property/validation-result.json`). `unidentified` does not occur, because
    /// identifiers of any type are compared.
    enum RecordStatus {
        /// In the list.
        Compliant = "compliant",
        /// Not in the list, or excluded by it.
        NonCompliant = "non_compliant",
        /// Not covered by the list.
        NotCovered = "not_covered",
    }
}

pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &ValidatePropertyDelivery,
) -> Result<ToolReply, ToolError> {
    let list = require(work, &form.list_id)?.thing;
    let membership = list.membership();
    let checked =
        form.records.iter().map(|record| match membership.membership_of(&record.identifier) {
            Membership::Within => (record, RecordStatus::Compliant, None),
            Membership::Outside => (record, RecordStatus::NonCompliant, Some(NOT_IN_LIST)),
            Membership::Excluded => (record, RecordStatus::NonCompliant, Some(EXCLUDED)),
            Membership::Unknown => (record, RecordStatus::NotCovered, None),
        });
    let checked: Vec<_> = checked.collect();
    let mut summary = count("total", checked.iter().map(|(record, ..)| *record));
    for status in RecordStatus::ALL {
        let of_status = checked.iter().filter(|(_, found, _)| found == status);
        summary.extend(count(status.name(), of_status.map(|(record, ..)| *record)));
    }
    summary.extend(count("unidentified", std::iter::empty()));
    let compliant = !checked.iter().any(|(_, status, _)| *status == RecordStatus::NonCompliant);
    let results: Vec<Value> = checked
        .iter()
        .filter(|(_, status, _)| form.include_compliant || *status != RecordStatus::Compliant)
        .map(|(record, status, failed)| show(record, *status, *failed))
        .collect();
    let sold: Vec<_> =
        form.records.iter().filter(|record| record.sales_agent_url.is_some()).collect();
    let body = object!({
        "compliant": compliant,
        "list_id": list.list_id,
        "summary": summary.into_iter().collect::<Value>(),
        "authorization_summary"?: (!sold.is_empty()).then(|| authorizations(&sold)),
        "results": results,
        "validated_at": work.call.now,
        "list_resolved_at": work.call.now,
    });
    Ok(ToolReply::completed("how the delivery stands to the list", body))
}

/// Feature that failed, and the explanation.
type Failed = (&'static str, &'static str);

const NOT_IN_LIST: Failed = ("record:list_membership", "the identifier is not in the list");
const EXCLUDED: Failed = ("record:excluded", "the list excludes the identifier");

fn show(record: &PropertyDelivery, status: RecordStatus, failed: Option<Failed>) -> Value {
    let features = failed.map(|(feature, explanation)| {
        json!([{"feature_id": feature, "status": "failed", "explanation": explanation}])
    });
    // Authorization is declared in documents of other parties, which are not fetched here.
    let seller = record.sales_agent_url.as_ref();
    let authorization = seller.map(|url| json!({"status": "unknown", "sales_agent_url": url}));
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

/// Returns the number of records and impressions as members with this prefix.
fn count<'a>(
    name: &str,
    records: impl Iterator<Item = &'a PropertyDelivery>,
) -> Vec<(String, Value)> {
    let mut count = 0_u64;
    let mut impressions = 0_u64;
    for record in records {
        count += 1;
        impressions = impressions.saturating_add(record.impressions);
    }
    vec![
        (format!("{name}_records"), json!(count)),
        (format!("{name}_impressions"), json!(impressions)),
    ]
}

fn authorizations(sold: &[&PropertyDelivery]) -> Value {
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
