//! The sender of a lead, as the dealer crate knows it.

use tradepost_dealer::consent::ConsentEvidence;
use tradepost_dealer::lead;
use tradepost_server::agent::{Caller, RequestMeta};
use tradepost_server::limit;

/// Maximum length of a user agent's name in characters.
const MAX_USER_AGENT: usize = 500;

/// Returns the evidence that is kept of how a lead was sent.
pub(super) fn evidence(
    caller: &Caller,
    sent: RequestMeta<'_>,
    fresh: uuid::Uuid,
) -> ConsentEvidence {
    ConsentEvidence {
        principal: caller.principal.name.clone(),
        address: caller.address.to_canonical().to_string(),
        user_agent: sent.user_agent.map(|name| name.chars().take(MAX_USER_AGENT).collect()),
        salt: fresh.into_bytes().to_vec(),
        body: sent.body.to_vec(),
    }
}

/// Converts the caller to the form that the dealer crate reads.
pub(super) fn sender(caller: &Caller) -> lead::LeadCaller {
    let principal = &caller.principal;
    let is_anonymous = principal.is_anonymous();
    lead::LeadCaller {
        name: principal.name.clone(),
        // A caller with a credential is known by it, whatever its address.
        network: is_anonymous.then(|| limit::network(caller.address).to_string()),
    }
}
