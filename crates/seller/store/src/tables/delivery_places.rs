//! Outbox positions: the last event of a dealer or a publisher that has been turned into deliveries.

use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::sql::params;

/// Table of outbox positions.
pub(super) struct DeliveryPlaces {
    /// Name of the table.
    pub(super) table: &'static str,
    /// Column of the position's owner.
    pub(super) owner: &'static str,
    /// Column of the event.
    pub(super) event: &'static str,
}

impl StoreTransaction<'_> {
    /// Moves a position forward to an event and returns the old one: the caller has to deliver the events after it.
    /// `None` when there is no position, or another process has moved it as far.
    pub(super) fn move_delivery_place(
        &self,
        places: &DeliveryPlaces,
        owner_id: &str,
        to: i64,
    ) -> Result<Option<i64>, InternalError> {
        let DeliveryPlaces { table, owner, event } = places;
        let sql = format!("SELECT {event} FROM {table} WHERE {owner} = $1{}", self.0.for_update());
        let known: Option<i64> =
            self.0.first("reading a place in events", &sql, params![owner_id], |row| row.only())?;
        let known = known.filter(|known| *known < to);
        if known.is_some() {
            self.0.execute(
                "moving a place in events",
                &format!("UPDATE {table} SET {event} = $2 WHERE {owner} = $1"),
                params![owner_id, to],
            )?;
        }
        Ok(known)
    }
}
