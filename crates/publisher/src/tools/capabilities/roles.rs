//! Which protocols are spoken, and what is specialized in: a protocol whose tools have something to
//! work with is claimed, because the clients of buyers call no tool of one that is not.

use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Value, json};

use crate::catalogue::{Product, Signal};
use crate::profile::PublisherProfile;
use crate::tools::sessions;

/// The protocol of conversations.
pub(super) const SPONSORED: &str = "sponsored_intelligence";

/// The protocols that have a section of their own.
pub(super) const SECTIONS: [&str; 5] =
    ["media_buy", "signals", "creative", "governance", SPONSORED];

/// The protocols that are spoken (`enums/adcp-protocol.json`).
pub(super) fn protocols(profile: &PublisherProfile) -> Vec<&'static str> {
    let catalogue = &profile.catalogue;
    claimed([
        ("media_buy", true),
        ("signals", !catalogue.signals.is_empty()),
        ("creative", !catalogue.formats.is_empty()),
        ("governance", true),
        // The claim has to say where conversations are had.
        (SPONSORED, !catalogue.offerings.is_empty() && !profile.endpoints.is_empty()),
    ])
}

/// The names of what there is.
fn claimed<const N: usize>(claims: [(&'static str, bool); N]) -> Vec<&'static str> {
    claims.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

/// Where conversations are had, and what is shown in them.
pub(super) fn conversations(profile: &PublisherProfile) -> Value {
    let endpoints = &profile.endpoints;
    let transports: Vec<_> =
        endpoints.iter().map(|it| json!({"type": it.transport.name(), "url": it.url})).collect();
    let preferred = endpoints.first().map(|first| first.transport.name());
    json!({
        "endpoint": {"transports": transports, "preferred"?: preferred},
        "capabilities": sessions::capabilities(),
    })
}

/// What is specialized in (`enums/specialism.json`).
pub(super) fn specialisms(profile: &PublisherProfile, spoken: &[&str]) -> Vec<&'static str> {
    let catalogue = &profile.catalogue;
    claimed([
        ("sales-non-guaranteed", !catalogue.products.iter().all(Product::is_guaranteed)),
        ("sales-guaranteed", catalogue.products.iter().any(Product::is_guaranteed)),
        ("sales-proposal-mode", catalogue.makes_proposals()),
        ("governance-aware-seller", true),
        ("signal-owned", catalogue.signals.iter().any(Signal::is_owned)),
        ("property-lists", true),
        ("governance-spend-authority", true),
        ("governance-delivery-monitor", true),
        ("sponsored-intelligence", spoken.contains(&SPONSORED)),
        ("signed-requests", profile.signing.requests.is_some()),
    ])
}

/// The experimental surfaces that are there. Whoever has one must say so (AdCP 3.1, "Experimental
/// status").
pub(super) fn experimental(spoken: &[&str]) -> Vec<&'static str> {
    claimed([
        ("governance.campaign", true),
        ("sponsored_intelligence.core", spoken.contains(&SPONSORED)),
    ])
}
