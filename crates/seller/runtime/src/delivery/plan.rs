//! Plans deliveries: turns each event of a lead into one delivery for each destination that is to receive
//! it.

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryAudience, DeliveryState, NewDelivery, audience};
use tradepost_dealer::record::LeadHistory;
use tradepost_server::fault::InternalError;
use tradepost_store::Store;

use super::Outlet;

/// Number of events in one transaction.
const BATCH_SIZE: u32 = 100;

/// Plans the deliveries of all events of a dealer's leads since the last call.
pub(super) fn plan(store: &Store, outlet: &Outlet, now: Timestamp) -> Result<(), InternalError> {
    if outlet.destinations.is_empty() {
        return Ok(());
    }
    let dealer_id = outlet.id();
    loop {
        let events = store.unplanned_events(dealer_id, BATCH_SIZE)?;
        let Some((last, _)) = events.last() else { return Ok(()) };
        let last = *last;
        let mut planned = Vec::new();
        for (event, lead_id) in &events {
            // A lead that was erased since is not delivered, and its event is skipped.
            if let Some(history) = store.lead_history(lead_id)? {
                planned.extend(of_event(store, outlet, &history, *event)?);
            }
        }
        let dealer_id = dealer_id.to_owned();
        store.write_blocking(move |tx| tx.plan_deliveries(&dealer_id, last, &planned, now))?;
    }
}

fn of_event(
    store: &Store,
    outlet: &Outlet,
    history: &LeadHistory,
    number: i64,
) -> Result<Vec<NewDelivery>, InternalError> {
    let Some((event, lead)) = tradepost_dealer::delivery::as_of(history, number) else {
        return Ok(Vec::new());
    };
    let informed = match audience(&history.lead, event) {
        DeliveryAudience::Nobody => return Ok(Vec::new()),
        DeliveryAudience::All => None,
        DeliveryAudience::Informed => Some(store.deliveries(None, Some(&lead.lead_id), None)?),
    };
    let destinations = outlet.destinations.iter().map(|channel| &channel.delivery.destination);
    let informed_of = destinations.filter(|destination| match &informed {
        None => destination.wants(&lead),
        Some(earlier) => earlier.iter().any(|earlier| {
            earlier.destination == destination.name
                // An attempt in doubt counts: a destination that may have the lead has to get this event,
                // too.
                && (earlier.state == DeliveryState::Delivered || earlier.may_have_arrived)
        }),
    });
    let new = informed_of.map(|destination| NewDelivery {
        dealer_id: lead.dealer_id.clone(),
        lead_id: lead.lead_id.clone(),
        destination: destination.name.clone(),
        event: number,
    });
    Ok(new.collect())
}
