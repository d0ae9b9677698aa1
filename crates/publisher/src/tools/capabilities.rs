//! `get_adcp_capabilities`: what this seller can do.

use serde_json::json;

use super::{Reply, Work};
use crate::refuse::Stop;
use crate::version;

mod signing;

/// Replies.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    let profile = &work.publisher.profile;
    let billing: Vec<_> = profile.billing.iter().map(|billing| billing.name()).collect();
    let mut body = json!({
        "adcp": {
            "major_versions": [3],
            "supported_versions": version::SUPPORTED,
            "idempotency": {
                "supported": true,
                "replay_ttl_seconds": profile.replay_ttl.as_secs(),
            },
        },
        "supported_protocols": ["media_buy"],
        "account": {"supported_billing": billing},
    });
    if let Some(members) = body.as_object_mut() {
        members.extend(signing::sections(&profile.signing, &work.publisher.tools()));
    }
    Ok(Reply::completed("what this seller can do", body))
}

/// Whether this seller has a feature of `core/media-buy-features.json`.
pub(super) fn has_feature(_name: &str) -> bool {
    false
}
