//! Supported protocols and specialisms. A protocol is claimed only when the publisher has data for
//! its tools, because buyers' clients call no tool of an unclaimed protocol.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};

use crate::catalogue::{Product, Signal};
use crate::profile::PublisherProfile;
use crate::tools::sessions;

/// Name of the sponsored intelligence protocol.
pub(super) const SPONSORED: &str = "sponsored_intelligence";

/// Protocols with a section of their own.
pub(super) const SECTIONS: [&str; 5] =
    ["media_buy", "signals", "creative", "governance", SPONSORED];

/// Returns the supported protocols (`enums/adcp-protocol.json`).
pub(super) fn protocols(profile: &PublisherProfile) -> Vec<&'static str> {
    let catalogue = &profile.catalogue;
    claimed([
        ("media_buy", true),
        ("signals", !catalogue.signals.is_empty()),
        ("creative", !catalogue.formats.is_empty()),
        ("governance", true),
        // Its section has to name endpoints.
        (SPONSORED, !catalogue.offerings.is_empty() && !profile.endpoints.is_empty()),
    ])
}

/// Returns the names of the true claims.
fn claimed<const N: usize>(claims: [(&'static str, bool); N]) -> Vec<&'static str> {
    claims.into_iter().filter_map(|(name, is_there)| is_there.then_some(name)).collect()
}

/// Returns the endpoints of conversations and what can be shown in them.
pub(super) fn conversations(profile: &PublisherProfile) -> Value {
    let endpoints = &profile.endpoints;
    let transports = endpoints
        .iter()
        .map(|endpoint| json!({"type": endpoint.transport.name(), "url": endpoint.url}));
    let transports: Vec<_> = transports.collect();
    let preferred = endpoints.first().map(|first| first.transport.name());
    object!({
        "endpoint": {"transports": transports, "preferred"?: preferred},
        "capabilities": sessions::capabilities(),
    })
}

/// Returns the specialisms (`enums/specialism.json`).
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

/// Returns the experimental features, which have to be declared (AdCP 3.1, "Experimental status").
pub(super) fn experimental(spoken: &[&str]) -> Vec<&'static str> {
    claimed([
        ("governance.campaign", true),
        ("sponsored_intelligence.core", spoken.contains(&SPONSORED)),
    ])
}
