//! Differences of other AdCP releases from 3.1, in which a publisher's answers are written: one
//! table of members that are renamed, left out or have other values, and one of additions of 3.2
//! that this publisher does not support. A seller passes a finished answer to [`translate`], and
//! checks a request with [`undone`]; all other code knows one release only.

use super::Tool;
use super::error::Release;
use crate::json::{Map, Value};

/// Change of a member in a release.
enum Change {
    /// The member has this name there.
    Renamed(&'static str),
    /// Values of a list: those known there are kept, and each of `made_of` is added where all of
    /// its parts are listed.
    Words { known: &'static str, made_of: &'static [(&'static str, &'static [&'static str])] },
    /// A value that is unknown there is replaced by another one.
    Word(&'static str, &'static str),
    /// Only items of a list with this member are kept.
    With(&'static str),
}

/// A change of some tools' answers. A place is the path of a member, where `[]` means every item of
/// a list.
struct Row {
    tools: &'static [Tool],
    place: &'static str,
    change: Change,
}

const fn row(tools: &'static [Tool], place: &'static str, change: Change) -> Row {
    Row { tools, place, change }
}

/// Actions on a media buy (`enums/media-buy-valid-action.json`); 3.1 distinguishes more.
const ACTIONS: Change = Change::Words {
    known: "pause resume cancel add_packages sync_creatives",
    made_of: &[
        ("update_budget", &["increase_budget", "decrease_budget"]),
        ("update_dates", &["update_flight_dates"]),
        ("update_packages", &["update_targeting", "update_pacing"]),
    ],
};

/// A suspended creative is not delivered and may be again, which 3.0 expresses as `pending_review`.
const SUSPENDED: Change = Change::Word("suspended", "pending_review");

/// Differences of 3.0. 3.2 is compatible with 3.1, so it has no rows.
const ROWS: &[Row] = &[
    row(
        &[Tool::CreateMediaBuy, Tool::UpdateMediaBuy],
        "media_buy_status",
        Change::Renamed("status"),
    ),
    row(&[Tool::CreateMediaBuy, Tool::UpdateMediaBuy], "valid_actions", ACTIONS),
    row(&[Tool::GetMediaBuys], "media_buys[].valid_actions", ACTIONS),
    row(&[Tool::CheckGovernance], "verdict", Change::Renamed("status")),
    row(&[Tool::ReportPlanOutcome], "outcome_state", Change::Renamed("status")),
    row(&[Tool::GetPlanAuditLogs], "plans[].entries[].verdict", Change::Renamed("status")),
    row(
        &[Tool::GetAdcpCapabilities],
        "specialisms",
        // The values of ours that it has (`enums/specialism.json`).
        Change::Words {
            known: "sales-non-guaranteed sales-guaranteed sales-proposal-mode \
                    governance-aware-seller signal-owned property-lists \
                    governance-spend-authority governance-delivery-monitor signed-requests",
            made_of: &[],
        },
    ),
    row(&[Tool::ListCreatives, Tool::SyncCreatives], "creatives[].status", SUSPENDED),
    // In 3.0 a signal has its price with it.
    row(&[Tool::GetSignals], "signals", Change::With("pricing_options")),
    row(
        &[Tool::GetAdcpCapabilities],
        "compliance_testing.scenarios",
        Change::Words {
            known: "force_creative_status force_account_status force_media_buy_status \
                    force_session_status simulate_delivery simulate_budget_spend",
            made_of: &[],
        },
    ),
    row(
        &[Tool::ComplyTestController],
        "scenarios",
        Change::Words {
            known: "force_creative_status force_account_status force_media_buy_status \
                    force_create_media_buy_arm force_task_completion force_session_status \
                    simulate_delivery simulate_budget_spend seed_product seed_pricing_option \
                    seed_creative seed_plan seed_media_buy seed_creative_format",
            made_of: &[],
        },
    ),
];

fn rows(tool: Tool, release: Release) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| release == Release::V3_0 && row.tools.contains(&tool))
}

/// Returns true when a tool's answers differ in a release.
pub(super) fn differs(tool: Tool, release: Release) -> bool {
    rows(tool, release).next().is_some()
}

/// Converts the payload of a tool's answer to a release.
pub fn translate(tool: Tool, release: Release, body: &mut Map) {
    for row in rows(tool, release) {
        change(body, row.place, &row.change);
    }
    // The result of a task is an answer of the tool that started it.
    let of = body.get("task_type").and_then(Value::as_str).and_then(Tool::of_name);
    if let (Tool::GetTaskStatus, Some(of)) = (tool, of)
        && let Some(result) = body.get_mut("result").and_then(Value::as_object_mut)
    {
        translate(of, release, result);
    }
}

/// Additions of 3.2 to the requests of all tools that this publisher does not support: accounts
/// that differ in more than brand, operator and sandbox.
const OF_ACCOUNTS: &str = "account.currency account.operator_unit account.timezone";

/// Additions of 3.2 to a tool's requests that this publisher does not support.
const ADDED: &[(Tool, &str)] = &[
    (
        Tool::GetProducts,
        "acceptance_context media_buy_frequency_cap required_media_buy_support \
         required_overlay_support targeting_overlay filters.audience_activation_methods \
         filters.audience_evidence_requirements filters.format_kinds filters.format_option_refs \
         filters.pricing_structures",
    ),
    (
        Tool::ListCreativeFormats,
        "account format_ids[].pixel_ratio input_format_ids[].pixel_ratio \
         output_format_ids[].pixel_ratio",
    ),
    (
        Tool::CreateMediaBuy,
        "bidding budget_allocation budget_cap_timezone daily_budget_cap frequency_cap \
         governance_context name opportunity pacing packages[].audience_evidence_pins \
         packages[].audience_evidence_requirements packages[].bidding packages[].daily_budget_cap \
         packages[].min_spend_target",
    ),
    (
        Tool::UpdateMediaBuy,
        "bidding budget_allocation budget_cap_timezone daily_budget_cap frequency_cap \
         governance_context name pacing total_budget packages[].bidding \
         packages[].daily_budget_cap packages[].min_spend_target \
         new_packages[].audience_evidence_pins new_packages[].audience_evidence_requirements \
         new_packages[].bidding new_packages[].daily_budget_cap new_packages[].min_spend_target",
    ),
    (Tool::GetMediaBuys, "indicator_types"),
    (
        Tool::GetMediaBuyDelivery,
        "pagination reporting_revision_id requested_metrics reporting_dimensions.catalog_item \
         reporting_dimensions.collection reporting_dimensions.collection_property \
         reporting_dimensions.creative reporting_dimensions.demographic \
         reporting_dimensions.format reporting_dimensions.installment \
         reporting_dimensions.installment_property reporting_dimensions.keyword \
         reporting_dimensions.placement_property reporting_dimensions.property \
         reporting_dimensions.spot",
    ),
    (
        Tool::SyncCreatives,
        "assignment_operations creatives[].component_assets creatives[].localization \
         creatives[].representation_selection creatives[].revision_id creatives[].rights",
    ),
    (
        Tool::ListCreatives,
        "assignment_limit assignment_projection filters.asset_types filters.format_kinds \
         filters.indicator_types",
    ),
    (Tool::SyncAudiences, "audiences[].source"),
    (Tool::SyncEventSources, "event_sources[].value_currencies"),
    (
        Tool::SyncAccounts,
        "accounts[].currency accounts[].destination_billing_entity accounts[].operator_identity \
         accounts[].operator_unit accounts[].reporting_delivery_configs accounts[].revision \
         accounts[].timezone",
    ),
    (Tool::ListAccounts, "include_webhook_activity webhook_activity_limit"),
    (
        Tool::CheckGovernance,
        "consultation_context execution_commitment proposal proposed_commitment \
         runtime_attestations target_agent delivery_metrics.currency delivery_metrics.issued_at \
         delivery_metrics.sequence delivery_metrics.statement_digest \
         delivery_metrics.statement_id planned_delivery.bidding \
         planned_delivery.budget_allocation planned_delivery.budget_cap_timezone \
         planned_delivery.daily_budget_cap planned_delivery.media_buy_id planned_delivery.pacing \
         planned_delivery.proposal_id planned_delivery.proposal_terms_digest",
    ),
    (
        Tool::ReportPlanOutcome,
        "delivery.cumulative_spend delivery.currency delivery.observation_id delivery.observed_at \
         delivery.period_closed delivery.seller_statement_digest delivery.seller_statement_id \
         delivery.source error.classification_source error.details error.ext error.field \
         error.recovery error.suggestion",
    ),
];

/// Returns JSON Pointers to unsupported additions of its release in a request. Older releases have
/// none, because their requests cannot contain them.
#[must_use]
pub fn undone(tool: Tool, release: Release, request: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if release < Release::V3_2 {
        return found;
    }
    places(tool).for_each(|place| seek(request, place, "", &mut found));
    found
}

/// Returns the paths of [`undone`] in a tool's requests.
pub fn places(tool: Tool) -> impl Iterator<Item = &'static str> {
    let added = ADDED.iter().filter(move |(with, _)| *with == tool).map(|(_, places)| *places);
    added.chain([OF_ACCOUNTS]).flat_map(|places| places.split(' '))
}

fn seek(value: &Value, place: &str, pointer: &str, found: &mut Vec<String>) {
    let (first, rest) =
        place.split_once('.').map_or((place, None), |(one, rest)| (one, Some(rest)));
    let name = first.strip_suffix("[]").unwrap_or(first);
    let Some(member) = value.get(name) else {
        return;
    };
    let pointer = format!("{pointer}/{name}");
    match rest {
        None => found.push(pointer),
        Some(rest) if first != name => {
            for (index, item) in member.as_array().into_iter().flatten().enumerate() {
                seek(item, rest, &format!("{pointer}/{index}"), found);
            }
        }
        Some(rest) => seek(member, rest, &pointer, found),
    }
}

fn change(members: &mut Map, place: &str, how: &Change) {
    if let Some((list, rest)) = place.split_once("[].") {
        let items = members.get_mut(list).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
            change(item, rest, how);
        }
    } else if let Some((parent, rest)) = place.split_once('.') {
        if let Some(parent) = members.get_mut(parent).and_then(Value::as_object_mut) {
            change(parent, rest, how);
        }
    } else {
        apply(members, place, how);
    }
}

fn apply(members: &mut Map, name: &str, how: &Change) {
    match how {
        Change::Renamed(other) => {
            if let Some(value) = members.shift_remove(name) {
                members.insert((*other).to_owned(), value);
            }
        }
        Change::Word(word, other) => {
            if let Some(value) = members.get_mut(name).filter(|value| value.as_str() == Some(word))
            {
                *value = (*other).into();
            }
        }
        Change::Words { known, made_of } => {
            if let Some(words) = members.get_mut(name).and_then(Value::as_array_mut) {
                let listed = |word: &&str| words.iter().any(|one| one.as_str() == Some(word));
                let made = made_of.iter().filter(|(_, parts)| parts.iter().all(&listed));
                let made: Vec<Value> = made.map(|(word, _)| Value::from(*word)).collect();
                words.retain(|word| {
                    word.as_str().is_some_and(|word| known.split(' ').any(|one| one == word))
                });
                words.extend(made);
            }
        }
        Change::With(member) => {
            if let Some(items) = members.get_mut(name).and_then(Value::as_array_mut) {
                items.retain(|item| item.get(member).is_some());
            }
        }
    }
}
