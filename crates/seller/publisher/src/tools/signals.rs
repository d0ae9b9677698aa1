//! Signals: `get_signals` and `activate_signal`. The publisher's signals are its own and can only
//! be activated on this agent.

use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json, object};

use crate::catalogue::SignalTerms;
use crate::forms::signals::{DestinationKind, SignalDestination};
use crate::store::own_id;
use crate::tool_context::ToolContext;

mod activate;
mod find;

use activate::Activation;
pub(super) use activate::perform as activate;
pub(super) use find::perform as find;

/// Returns true when a destination is this agent, the only one where signals can be used.
fn is_here(work: &ToolContext<'_>, destination: &SignalDestination) -> bool {
    let address = destination.agent_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let own = work.publisher.profile.catalogue.agent_url.trim_end_matches('/');
    destination.kind == DestinationKind::Agent && address.eq_ignore_ascii_case(own)
}

/// Returns the record id of a signal's activation for the request's account.
fn record_id(work: &ToolContext<'_>, handle: &str) -> String {
    own_id(work.admitted.owner(), work.admitted.account_id().unwrap_or_default(), handle)
}

/// Returns the deployment of a signal here, as the caller may see it (`core/deployment.json`).
fn deployment(work: &ToolContext<'_>, handle: &str) -> Result<Value, InternalError> {
    let catalogue = &work.publisher.profile.catalogue;
    let activation = work.reader.find::<Activation>(&record_id(work, handle))?;
    let live = activation.filter(|stored| stored.thing.live);
    let signal = catalogue.signals.iter().find(|signal| signal.handle() == handle);
    let terms = signal.map(|signal| &signal.terms).filter(|_| live.is_some());
    let key =
        |terms: &SignalTerms| json!({"type": "key_value", "key": terms.key, "value": terms.value});
    Ok(object!({
        "type": "agent",
        "agent_url": catalogue.agent_url,
        "is_live": live.is_some(),
        "activation_key"?: terms.map(key),
        "deployed_at"?: terms.and(live).map(|live| live.thing.since),
        "estimated_activation_duration_minutes"?: terms.is_none().then_some(0),
    }))
}
