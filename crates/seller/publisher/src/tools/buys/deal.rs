//! What a package that is sold as a deal does not have here: the buyer's side shows its own creatives, and nobody
//! promises impressions. It does not depend on the ad server, since one may be configured later.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::Map;

use crate::refusals::at;

/// Returns an error for each part of a request that a deal does not have. `sent` are the other members of the
/// package, `targeting` the paths of the targeting in it (see [`targeting`]), `place` is its path.
pub(super) fn problems(
    has_creatives: bool,
    sent: &Map,
    targeting: Vec<String>,
    place: &str,
) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    for path in targeting {
        let message =
            "the package is sold as a deal, whose targeting your bidder applies; leave it out";
        problems.push(at(AdcpCode::UnsupportedFeature, &format!("{place}.{path}"), message));
    }
    if has_creatives {
        let message =
            "the package is sold as a deal, whose creatives your bidder serves; leave them out";
        let field = format!("{place}.creative_assignments");
        problems.push(at(AdcpCode::UnsupportedFeature, &field, message));
    }
    if sent.contains_key("impressions") {
        let message =
            "the package is sold as a deal, which promises no impressions; leave them out";
        problems.push(at(AdcpCode::UnsupportedFeature, &format!("{place}.impressions"), message));
    }
    problems
}

/// Returns the paths of what a targeting overlay asks for in a package that has another one so far.
pub(super) fn targeting(wanted: Option<&Map>, before: Option<&Map>) -> Vec<String> {
    let members = wanted.into_iter().flat_map(|wanted| wanted.iter()).filter(|(name, value)| {
        let known = before.and_then(|before| before.get(name.as_str()));
        *name != "ext" && known != Some(*value)
    });
    members.map(|(name, _)| format!("targeting_overlay.{name}")).collect()
}
