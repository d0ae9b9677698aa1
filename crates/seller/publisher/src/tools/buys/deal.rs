//! What a package that is sold as a deal does not have here: the buyer's side shows its own creatives, and nobody
//! promises impressions.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::Map;

use crate::refusals::at;

/// Returns an error for each part of a request that a deal does not have. `sent` are the other members of the
/// package, `place` is its path.
pub(super) fn problems(has_creatives: bool, sent: &Map, place: &str) -> Vec<AdcpError> {
    let mut problems = Vec::new();
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
