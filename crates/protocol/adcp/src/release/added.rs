//! Members that 3.2 adds to requests and this publisher does not support. Ignoring such a member would change the
//! request, so it is refused; a member with its published default requests nothing and is removed: clients send
//! defaults with everything.

use std::borrow::Cow;

use crate::AdcpTool;
use crate::error::AdcpRelease;
use tradepost_document::json::{Map, Value};

/// Member that 3.2 adds to requests and this publisher does not support.
struct UnsupportedMember {
    /// Path to it, where `[]` is every item of a list.
    place: &'static str,
    /// Its published default.
    default: Option<MemberDefault>,
}

/// Published default of a member.
#[derive(Debug, Clone, Copy)]
enum MemberDefault {
    Flag(bool),
    Number(u32),
    Word(&'static str),
}

impl MemberDefault {
    /// Returns true when a member has this value.
    fn is(self, value: &Value) -> bool {
        match self {
            Self::Flag(flag) => value.as_bool() == Some(flag),
            // Clients that write numbers by way of Protocol Buffers send 50 as 50.0.
            Self::Number(number) => {
                value.as_f64().is_some_and(|given| given.total_cmp(&f64::from(number)).is_eq())
            }
            Self::Word(word) => value.as_str() == Some(word),
        }
    }

    /// Returns it as JSON.
    fn value(self) -> Value {
        match self {
            Self::Flag(flag) => flag.into(),
            Self::Number(number) => u64::from(number).into(),
            Self::Word(word) => word.into(),
        }
    }
}

const fn added(place: &'static str) -> UnsupportedMember {
    UnsupportedMember { place, default: None }
}

const fn with_default(place: &'static str, default: MemberDefault) -> UnsupportedMember {
    UnsupportedMember { place, default: Some(default) }
}

/// Members of the requests of all tools: accounts that are distinguished by more than brand, operator and sandbox.
const OF_ACCOUNTS: &[UnsupportedMember] = &[
    added("account.brand.countries"),
    added("account.currency"),
    added("account.operator_unit"),
    added("account.timezone"),
];

/// Facts about the advertised brand, which change nothing here.
const UNREAD: &[&str] = &["brand.countries", "plans[].brand.countries"];

/// Members of the requests of a tool.
const ADDED: &[(AdcpTool, &[UnsupportedMember])] = &[
    (
        AdcpTool::GetProducts,
        &[
            added("acceptance_context"),
            added("media_buy_frequency_cap"),
            added("required_media_buy_support"),
            added("required_overlay_support"),
            added("targeting_overlay"),
            added("filters.audience_activation_methods"),
            added("filters.audience_evidence_requirements"),
            added("filters.format_kinds"),
            added("filters.format_option_refs"),
            added("filters.pricing_structures"),
        ],
    ),
    (
        AdcpTool::ListCreativeFormats,
        &[
            added("account"),
            added("format_ids[].pixel_ratio"),
            added("input_format_ids[].pixel_ratio"),
            added("output_format_ids[].pixel_ratio"),
        ],
    ),
    (
        AdcpTool::CreateMediaBuy,
        &[
            added("bidding"),
            added("budget_allocation"),
            added("budget_cap_timezone"),
            added("daily_budget_cap"),
            added("frequency_cap"),
            added("name"),
            added("opportunity"),
            added("pacing"),
            added("packages[].audience_evidence_pins"),
            added("packages[].audience_evidence_requirements"),
            added("packages[].bidding"),
            added("packages[].daily_budget_cap"),
            added("packages[].min_spend_target"),
        ],
    ),
    (
        AdcpTool::UpdateMediaBuy,
        &[
            added("bidding"),
            added("budget_allocation"),
            added("budget_cap_timezone"),
            added("daily_budget_cap"),
            added("frequency_cap"),
            added("name"),
            added("pacing"),
            added("total_budget"),
            added("packages[].bidding"),
            added("packages[].daily_budget_cap"),
            added("packages[].min_spend_target"),
            added("new_packages[].audience_evidence_pins"),
            added("new_packages[].audience_evidence_requirements"),
            added("new_packages[].bidding"),
            added("new_packages[].daily_budget_cap"),
            added("new_packages[].min_spend_target"),
        ],
    ),
    (AdcpTool::GetMediaBuys, &[added("indicator_types")]),
    (
        AdcpTool::GetMediaBuyDelivery,
        &[
            added("pagination"),
            added("reporting_revision_id"),
            added("requested_metrics"),
            added("reporting_dimensions.catalog_item"),
            added("reporting_dimensions.collection"),
            added("reporting_dimensions.collection_property"),
            added("reporting_dimensions.creative"),
            added("reporting_dimensions.demographic"),
            added("reporting_dimensions.format"),
            added("reporting_dimensions.installment"),
            added("reporting_dimensions.installment_property"),
            added("reporting_dimensions.keyword"),
            added("reporting_dimensions.placement_property"),
            added("reporting_dimensions.property"),
            added("reporting_dimensions.spot"),
        ],
    ),
    (
        AdcpTool::SyncCreatives,
        &[
            added("assignment_operations"),
            added("creatives[].component_assets"),
            added("creatives[].localization"),
            added("creatives[].representation_selection"),
            added("creatives[].revision_id"),
            added("creatives[].rights"),
        ],
    ),
    (
        AdcpTool::ListCreatives,
        &[
            with_default("assignment_limit", MemberDefault::Number(50)),
            with_default("assignment_projection", MemberDefault::Word("all")),
            added("filters.asset_types"),
            added("filters.format_kinds"),
            added("filters.indicator_types"),
        ],
    ),
    (AdcpTool::SyncAudiences, &[added("audiences[].source")]),
    (AdcpTool::SyncEventSources, &[added("event_sources[].value_currencies")]),
    (
        AdcpTool::SyncAccounts,
        &[
            added("accounts[].currency"),
            added("accounts[].destination_billing_entity"),
            added("accounts[].operator_identity"),
            added("accounts[].operator_unit"),
            added("accounts[].reporting_delivery_configs"),
            added("accounts[].revision"),
            added("accounts[].timezone"),
            added("accounts[].brand.countries"),
            added("accounts[].account.brand.countries"),
            with_default(
                "accounts[].notification_configs[].product_payload_view",
                MemberDefault::Word("legacy"),
            ),
        ],
    ),
    (
        AdcpTool::ListAccounts,
        &[
            with_default("include_webhook_activity", MemberDefault::Flag(false)),
            with_default("webhook_activity_limit", MemberDefault::Number(50)),
        ],
    ),
    (
        AdcpTool::SyncPlans,
        &[with_default("plans[].budget.accounting_mode", MemberDefault::Word("gross_commitment"))],
    ),
    (
        AdcpTool::CheckGovernance,
        &[
            added("consultation_context"),
            added("execution_commitment"),
            added("proposal"),
            added("proposed_commitment"),
            added("runtime_attestations"),
            added("delivery_metrics.currency"),
            added("delivery_metrics.issued_at"),
            added("delivery_metrics.sequence"),
            added("delivery_metrics.statement_digest"),
            added("delivery_metrics.statement_id"),
            added("planned_delivery.bidding"),
            added("planned_delivery.budget_allocation"),
            added("planned_delivery.budget_cap_timezone"),
            added("planned_delivery.daily_budget_cap"),
            added("planned_delivery.media_buy_id"),
            added("planned_delivery.pacing"),
            added("planned_delivery.proposal_id"),
            added("planned_delivery.proposal_terms_digest"),
        ],
    ),
    (
        AdcpTool::ReportPlanOutcome,
        &[
            added("delivery.cumulative_spend"),
            added("delivery.currency"),
            added("delivery.observation_id"),
            added("delivery.observed_at"),
            with_default("delivery.period_closed", MemberDefault::Flag(false)),
            added("delivery.seller_statement_digest"),
            added("delivery.seller_statement_id"),
            added("delivery.source"),
            added("error.classification_source"),
            added("error.details"),
            added("error.ext"),
            added("error.field"),
            added("error.recovery"),
            added("error.suggestion"),
        ],
    ),
];

/// A request as [`remove_defaults`] leaves it.
#[derive(Debug)]
pub struct SettledRequest<'r> {
    /// The request: a copy for 3.2, the same one for older releases.
    pub request: Cow<'r, Value>,
    /// JSON Pointers to members that 3.2 has added and this publisher does not support.
    pub unsupported: Vec<String>,
}

/// Removes members that request nothing: published defaults of members that this publisher does not support, and
/// facts that it does not read. Lists the members that request something it does not support. A request of an older
/// release stays as it is.
#[must_use]
pub fn remove_defaults(
    tool: AdcpTool,
    release: AdcpRelease,
    request: &Value,
) -> SettledRequest<'_> {
    let mut unsupported = Vec::new();
    if release < AdcpRelease::V3_2 {
        return SettledRequest { request: Cow::Borrowed(request), unsupported };
    }
    let mut request = request.clone();
    for place in UNREAD {
        walk(&mut request, place, "", &mut |members, name, _| {
            members.shift_remove(name);
        });
    }
    for row in rows(tool) {
        walk(&mut request, row.place, "", &mut |members, name, pointer| {
            let asks = members
                .get(name)
                .filter(|value| !row.default.is_some_and(|default| default.is(value)));
            match asks {
                Some(_) => unsupported.push(pointer),
                None => {
                    members.shift_remove(name);
                }
            }
        });
    }
    SettledRequest { request: Cow::Owned(request), unsupported }
}

/// Returns the paths of a tool's requests that [`remove_defaults`] lists as unsupported.
pub fn places(tool: AdcpTool) -> impl Iterator<Item = &'static str> {
    rows(tool).map(|row| row.place)
}

/// Returns the paths of a tool's requests that have a default, with it.
pub fn defaults(tool: AdcpTool) -> impl Iterator<Item = (&'static str, Value)> {
    rows(tool).filter_map(|row| Some((row.place, row.default?.value())))
}

fn rows(tool: AdcpTool) -> impl Iterator<Item = &'static UnsupportedMember> {
    let of_tool = ADDED.iter().filter(move |(with, _)| *with == tool);
    of_tool.flat_map(|(_, rows)| *rows).chain(OF_ACCOUNTS)
}

/// Passes each object that has the member at a path to `found`, with the member's name and its JSON Pointer.
fn walk(
    value: &mut Value,
    place: &str,
    pointer: &str,
    found: &mut dyn FnMut(&mut Map, &str, String),
) {
    let Some(members) = value.as_object_mut() else { return };
    let Some((first, rest)) = place.split_once('.') else {
        if members.contains_key(place) {
            found(members, place, format!("{pointer}/{place}"));
        }
        return;
    };
    let name = first.trim_end_matches("[]");
    let Some(member) = members.get_mut(name) else { return };
    let pointer = format!("{pointer}/{name}");
    if first == name {
        walk(member, rest, &pointer, found);
        return;
    }
    for (index, item) in member.as_array_mut().into_iter().flatten().enumerate() {
        walk(item, rest, &format!("{pointer}/{index}"), found);
    }
}
