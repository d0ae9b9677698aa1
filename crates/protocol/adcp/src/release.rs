//! Differences of other AdCP releases from 3.1, in which a publisher's answers are written: one
//! table of members that are renamed, left out or have other values, and one of members that 3.2
//! [adds](added) to requests and that this publisher does not support. A seller passes a finished
//! answer to [`translate`], and a request to [`added::remove_defaults`]; all other code knows one release only.

use super::AdcpTool;
use super::error::AdcpRelease;
use tradepost_document::json::{Map, Value};

pub mod added;

/// Change of a member in a release.
enum Change {
    /// The member has this name there.
    Renamed(&'static str),
    /// Values of a list: those known there are kept, and each of `made_of` is added where all of
    /// its parts are listed.
    Words {
        known: &'static [&'static str],
        made_of: &'static [(&'static str, &'static [&'static str])],
    },
    /// A value that is unknown there is replaced by another one.
    Word(&'static str, &'static str),
    /// Only items of a list with this member are kept.
    With(&'static str),
}

/// A change of some tools' answers. A place is the path of a member, where `[]` means every item of
/// a list.
struct Row {
    tools: &'static [AdcpTool],
    place: &'static str,
    change: Change,
}

const fn row(tools: &'static [AdcpTool], place: &'static str, change: Change) -> Row {
    Row { tools, place, change }
}

/// Actions on a media buy (`enums/media-buy-valid-action.json`); 3.1 distinguishes more.
const ACTIONS: Change = Change::Words {
    known: &["pause", "resume", "cancel", "add_packages", "sync_creatives"],
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
        &[AdcpTool::CreateMediaBuy, AdcpTool::UpdateMediaBuy],
        "media_buy_status",
        Change::Renamed("status"),
    ),
    row(&[AdcpTool::CreateMediaBuy, AdcpTool::UpdateMediaBuy], "valid_actions", ACTIONS),
    row(&[AdcpTool::GetMediaBuys], "media_buys[].valid_actions", ACTIONS),
    row(&[AdcpTool::CheckGovernance], "verdict", Change::Renamed("status")),
    row(&[AdcpTool::ReportPlanOutcome], "outcome_state", Change::Renamed("status")),
    row(&[AdcpTool::GetPlanAuditLogs], "plans[].entries[].verdict", Change::Renamed("status")),
    row(
        &[AdcpTool::GetAdcpCapabilities],
        "specialisms",
        // The values of ours that it has (`enums/specialism.json`).
        Change::Words {
            known: &[
                "sales-non-guaranteed",
                "sales-guaranteed",
                "sales-proposal-mode",
                "governance-aware-seller",
                "signal-owned",
                "property-lists",
                "governance-spend-authority",
                "governance-delivery-monitor",
                "signed-requests",
            ],
            made_of: &[],
        },
    ),
    row(&[AdcpTool::ListCreatives, AdcpTool::SyncCreatives], "creatives[].status", SUSPENDED),
    // In 3.0 a signal has its price with it.
    row(&[AdcpTool::GetSignals], "signals", Change::With("pricing_options")),
    row(
        &[AdcpTool::GetAdcpCapabilities],
        "compliance_testing.scenarios",
        Change::Words {
            known: &[
                "force_creative_status",
                "force_account_status",
                "force_media_buy_status",
                "force_session_status",
                "simulate_delivery",
                "simulate_budget_spend",
            ],
            made_of: &[],
        },
    ),
    row(
        &[AdcpTool::ComplyTestController],
        "scenarios",
        Change::Words {
            known: &[
                "force_creative_status",
                "force_account_status",
                "force_media_buy_status",
                "force_create_media_buy_arm",
                "force_task_completion",
                "force_session_status",
                "simulate_delivery",
                "simulate_budget_spend",
                "seed_product",
                "seed_pricing_option",
                "seed_creative",
                "seed_plan",
                "seed_media_buy",
                "seed_creative_format",
            ],
            made_of: &[],
        },
    ),
];

fn rows(tool: AdcpTool, release: AdcpRelease) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| release == AdcpRelease::V3_0 && row.tools.contains(&tool))
}

/// Returns true when a tool's answers differ in a release.
pub(super) fn differs(tool: AdcpTool, release: AdcpRelease) -> bool {
    rows(tool, release).next().is_some()
}

/// Converts the payload of a tool's answer to a release.
pub fn translate(tool: AdcpTool, release: AdcpRelease, body: &mut Map) {
    for row in rows(tool, release) {
        change(body, row.place, &row.change);
    }
    // The result of a task is an answer of the tool that started it.
    let of = body.get("task_type").and_then(Value::as_str).and_then(AdcpTool::from_any_name);
    if tool == AdcpTool::GetTaskStatus
        && let Some(of) = of
        && let Some(result) = body.get_mut("result").and_then(Value::as_object_mut)
    {
        translate(of, release, result);
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
                words.retain(|word| word.as_str().is_some_and(|word| known.contains(&word)));
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
