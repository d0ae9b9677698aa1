//! Signals: `get_signals` and `activate_signal`. The publisher's signals are its own, and can be
//! used where it sells: the only place where one is activated is this agent.

use tradepost_wire::adcp::error::Error;
use tradepost_wire::json::{Value, json};

use crate::forms::signals::{Destination, DestinationKind};
use crate::refuse::Stop;
use crate::shelf::own_id;
use crate::work::Work;

mod activate;
mod find;

use activate::Activation;
pub(super) use activate::perform as activate;
pub(super) use find::perform as find;
use tradepost_wire::fault::Fault;

/// Whether a destination is this agent, the only one where a signal can be used.
fn is_here(work: &Work<'_>, destination: &Destination) -> bool {
    let address = destination.agent_url.as_deref().unwrap_or_default().trim_end_matches('/');
    let own = work.publisher.profile.catalogue.agent_url.trim_end_matches('/');
    destination.kind == DestinationKind::Agent && address.eq_ignore_ascii_case(own)
}

/// The id of the record of a signal's activation for the request's account.
fn record_id(work: &Work<'_>, handle: &str) -> String {
    own_id(work.admitted.owner(), work.admitted.account_id().unwrap_or_default(), handle)
}

/// The signal's deployment here, as the caller may see it (`core/deployment.json`).
fn deployment(work: &Work<'_>, handle: &str) -> Result<Value, Fault> {
    let catalogue = &work.publisher.profile.catalogue;
    let activation = work.shelf.find::<Activation>(&record_id(work, handle))?;
    let live = activation.filter(|kept| kept.thing.live);
    let mut shown = json!({
        "type": "agent", "agent_url": catalogue.agent_url, "is_live": live.is_some(),
    });
    let signal = catalogue.signals.iter().find(|signal| signal.handle() == handle);
    if let (Some(live), Some(signal), Some(members)) = (live, signal, shown.as_object_mut()) {
        let terms = &signal.terms;
        let key = json!({"type": "key_value", "key": terms.key, "value": terms.value});
        members.insert("activation_key".to_owned(), key);
        members.insert("deployed_at".to_owned(), live.thing.since.to_string().into());
    } else if let Some(members) = shown.as_object_mut() {
        members.insert("estimated_activation_duration_minutes".to_owned(), 0.into());
    }
    Ok(shown)
}

/// The first problem for the envelope, the others behind it.
fn refused(errors: Vec<Error>) -> Result<(), Stop> {
    Ok(crate::refuse::Refusal::of_all(errors)?)
}
