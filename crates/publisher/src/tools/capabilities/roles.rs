//! Which protocols are spoken, and what is specialized in: a protocol whose tools are served is
//! claimed, because the clients of buyers call no tool of one that is not.

use tradepost_wire::adcp::Tool;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use crate::plan;
use crate::profile::{Endpoint, Profile};
use crate::tools::sessions;

/// The protocols that have a section of their own.
pub(super) const SECTIONS: [&str; 5] =
    ["media_buy", "signals", "creative", "governance", "sponsored_intelligence"];

/// The tools by which plans are kept and actions are held against them.
const CAMPAIGNS: [Tool; 4] =
    [Tool::SyncPlans, Tool::CheckGovernance, Tool::ReportPlanOutcome, Tool::GetPlanAuditLogs];

/// The tools for lists of properties.
const LISTS: [Tool; 6] = [
    Tool::CreatePropertyList,
    Tool::GetPropertyList,
    Tool::ListPropertyLists,
    Tool::UpdatePropertyList,
    Tool::DeletePropertyList,
    Tool::ValidatePropertyDelivery,
];

/// The tools of sponsored conversations.
const CONVERSATIONS: [Tool; 4] =
    [Tool::SiGetOffering, Tool::SiInitiateSession, Tool::SiSendMessage, Tool::SiTerminateSession];

/// The protocols that are spoken (`enums/adcp-protocol.json`).
pub(super) fn protocols(profile: &Profile, tools: &[Tool]) -> Vec<&'static str> {
    let has = |needed: &[Tool]| needed.iter().all(|tool| tools.contains(tool));
    let catalogue = &profile.catalogue;
    let signals = has(&[Tool::GetSignals, Tool::ActivateSignal]) && !catalogue.signals.is_empty();
    let creative = has(&[Tool::ListCreativeFormats, Tool::SyncCreatives, Tool::ListCreatives])
        && !catalogue.formats.is_empty();
    let governance = has(&CAMPAIGNS) || has(&LISTS);
    // The claim has to say where conversations are had.
    let conversations =
        has(&CONVERSATIONS) && !catalogue.offerings.is_empty() && !profile.endpoints.is_empty();
    claimed([
        ("media_buy", true),
        ("signals", signals),
        ("creative", creative),
        ("governance", governance),
        ("sponsored_intelligence", conversations),
    ])
}

/// The names of what there is.
fn claimed<const N: usize>(claims: [(&'static str, bool); N]) -> Vec<&'static str> {
    claims.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

/// The sections of the roles beside selling, and what is specialized in.
pub(super) fn sections(profile: &Profile, tools: &[Tool]) -> Vec<(&'static str, Value)> {
    let spoken = protocols(profile, tools);
    let mut sections = Vec::new();
    if spoken.contains(&"governance") {
        sections.push(("governance", json!({"aggregation_window_days": plan::WINDOW_DAYS})));
    }
    if spoken.contains(&"sponsored_intelligence") {
        sections.push(("sponsored_intelligence", conversations(&profile.endpoints)));
    }
    for (name, claims) in [
        ("specialisms", specialisms(profile, tools)),
        ("experimental_features", experimental(&spoken, tools)),
    ] {
        if !claims.is_empty() {
            sections.push((name, json!(claims)));
        }
    }
    sections
}

/// Where conversations are had, and what is shown in them.
fn conversations(endpoints: &[Endpoint]) -> Value {
    let transports: Vec<_> =
        endpoints.iter().map(|it| json!({"type": it.transport.name(), "url": it.url})).collect();
    let preferred = endpoints.first().map(|first| first.transport.name());
    json!({
        "endpoint": {"transports": transports, "preferred"?: preferred},
        "capabilities": sessions::capabilities(),
    })
}

/// What is specialized in (`enums/specialism.json`).
fn specialisms(profile: &Profile, tools: &[Tool]) -> Vec<&'static str> {
    let has = |needed: &[Tool]| needed.iter().all(|tool| tools.contains(tool));
    let catalogue = &profile.catalogue;
    let auction = catalogue.products.iter().any(|product| !product.is_guaranteed());
    let guaranteed = catalogue.products.iter().any(|product| product.is_guaranteed());
    let owned = catalogue.signals.iter().any(|signal| signal.is_owned());
    claimed([
        ("sales-non-guaranteed", auction),
        ("sales-guaranteed", guaranteed),
        ("sales-proposal-mode", catalogue.proposals.is_some()),
        ("governance-aware-seller", has(&[Tool::SyncGovernance, Tool::CreateMediaBuy])),
        ("signal-owned", owned && has(&[Tool::GetSignals])),
        ("property-lists", has(&LISTS)),
        ("governance-spend-authority", has(&CAMPAIGNS)),
        ("governance-delivery-monitor", has(&CAMPAIGNS)),
        ("sponsored-intelligence", protocols(profile, tools).contains(&"sponsored_intelligence")),
        ("signed-requests", profile.signing.requests.is_some()),
    ])
}

/// The experimental surfaces that are there. Whoever has one must say so (AdCP 3.1, "Experimental
/// status").
fn experimental(spoken: &[&str], tools: &[Tool]) -> Vec<&'static str> {
    claimed([
        ("governance.campaign", CAMPAIGNS.iter().all(|tool| tools.contains(tool))),
        ("sponsored_intelligence.core", spoken.contains(&"sponsored_intelligence")),
    ])
}
