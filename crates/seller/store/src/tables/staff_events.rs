//! Deliveries of events to a publisher's staff. The publisher's events are the outbox: an event is stored in the
//! transaction that causes it, by any process. Each publisher has a position in them, and the events after it are
//! turned into deliveries in the transaction that moves the position.

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliverySource, DeliveryState};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json;
use tradepost_publisher::staff_event::StaffEvent;
use tradepost_publisher::store::EntityKind;

use super::delivery_places::DeliveryPlaces;
use super::{Database, StoreTransaction};
use crate::Store;
use crate::sql::{RowResult, SqlRow, params};
use crate::staff_events::{KeptStaffEvent, NewStaffDelivery};

const EVENT: &str = "place, created_at, body FROM publisher_things
    WHERE publisher = $1 AND kind = $2 AND owner = ''";

const PLACES: DeliveryPlaces =
    DeliveryPlaces { table: "staff_event_places", owner: "publisher", event: "place" };

impl StoreTransaction<'_> {
    /// Creates a publisher's position before its first event, unless it has one. So events that a command has stored
    /// before the first server ran are delivered, too.
    ///
    /// # Errors
    /// When the database fails.
    pub fn place_staff_events(&self, publisher: &str) -> Result<(), InternalError> {
        self.0.execute(
            "placing a publisher in its events",
            "INSERT INTO staff_event_places (publisher, place) VALUES ($1, 0) ON CONFLICT DO NOTHING",
            params![publisher],
        )
    }

    /// Moves a publisher's position forward to an event, and stores the deliveries planned for the events up to it.
    /// Returns `false` when another process has done so.
    ///
    /// # Errors
    /// When the database fails.
    pub fn plan_staff_events(
        &self,
        publisher: &str,
        place: i64,
        planned: &[NewStaffDelivery],
        now: Timestamp,
    ) -> Result<bool, InternalError> {
        let Some(known) = self.move_delivery_place(&PLACES, publisher, place)? else {
            return Ok(false);
        };
        // Another process may have planned the first of them meanwhile.
        let planned = planned.iter().filter(|delivery| delivery.place > known);
        for NewStaffDelivery { subject, destination, place } in planned {
            self.0.execute(
                "writing a delivery to people of a publisher",
                "INSERT INTO lead_deliveries (source, dealer_id, lead_id, destination, event, state,
                                              created_at, due_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $7)",
                params![
                    DeliverySource::Publisher.name(),
                    publisher,
                    subject,
                    destination,
                    place,
                    DeliveryState::Due.name(),
                    now,
                ],
            )?;
        }
        Ok(true)
    }

    /// Makes deliveries of a publisher that were given up due again: those about one subject, or all. Returns how many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn retry_staff_deliveries(
        &self,
        publisher: &str,
        subject: Option<&str>,
        now: Timestamp,
    ) -> Result<usize, InternalError> {
        self.0.change(
            // Treated as new: the time after which it is given up begins again.
            "reviving deliveries to people of a publisher",
            "UPDATE lead_deliveries SET state = 'due', attempts = 0, created_at = $3, due_at = $3,
                 ended_at = NULL
             WHERE source = 'publisher' AND dealer_id = $1 AND state = 'dead'
                 AND ($2 IS NULL OR lead_id = $2)",
            params![publisher, subject, now],
        )
    }
}

impl Database {
    /// Returns the publishers that have events after their position.
    pub(crate) fn publishers_with_unplanned(&self) -> Result<Vec<String>, InternalError> {
        let sql = "SELECT s.publisher FROM staff_event_places s WHERE EXISTS
                       (SELECT 1 FROM publisher_things t
                        WHERE t.publisher = s.publisher AND t.kind = $1 AND t.owner = ''
                            AND t.place > s.place)";
        let kind = EntityKind::StaffEvent.name();
        self.0.all("looking for untold sales", sql, params![kind], |row| row.only())
    }

    /// Returns the events of a publisher after its position, oldest first.
    pub(crate) fn unplanned_staff_events(
        &self,
        publisher: &str,
        limit: u32,
    ) -> Result<Vec<KeptStaffEvent>, InternalError> {
        let sql = format!(
            "SELECT {EVENT} AND place > (SELECT place FROM staff_event_places WHERE publisher = $1)
             ORDER BY place LIMIT $3"
        );
        let kind = EntityKind::StaffEvent.name();
        let values = params![publisher, kind, limit];
        self.0.all("reading what people of a publisher are to be told", &sql, values, read)
    }
}

impl Store {
    /// Returns an event of a publisher by its number; `None` when it was deleted.
    ///
    /// # Errors
    /// When the database fails.
    pub fn staff_event(
        &self,
        publisher: &str,
        place: i64,
    ) -> Result<Option<KeptStaffEvent>, InternalError> {
        let sql = format!("SELECT {EVENT} AND place = $3");
        let kind = EntityKind::StaffEvent.name();
        let values = params![publisher, kind, place];
        self.read_first("reading an event of a publisher", &sql, values, read)
    }
}

fn read(row: &SqlRow<'_>) -> RowResult<KeptStaffEvent> {
    let micros: i64 = row.get("created_at")?;
    let body: String = row.get("body")?;
    let event: StaffEvent = json::from_str(&body)?;
    let at = Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX);
    Ok(KeptStaffEvent { place: row.get("place")?, at, event })
}
