//! Deliveries of leads. The events of leads are the outbox: an event is written in the transaction that changes the
//! lead, by any process. Each dealer with a destination has a position in them, and the events after it are turned into
//! deliveries in the transaction that moves the position.

use jiff::Timestamp;
use tradepost_dealer::delivery::{DeliveryRecord, DeliverySource, DeliveryState, NewDelivery};
use tradepost_dealer::staff::{AuditAction, DELIVERY, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_server::tasks::log::BlockedPushes;

use super::super::delivery_places::DeliveryPlaces;
use super::super::{Database, StoreTransaction};
use super::word;
use crate::sql::{RowResult, SqlRow, params};

const PLACES: DeliveryPlaces =
    DeliveryPlaces { table: "lead_delivery_places", owner: "dealer_id", event: "event" };

const COLUMNS: &str =
    "d.key, d.source, d.dealer_id, d.lead_id, d.destination, d.event, d.state, d.attempts,
    d.doubtful OR d.source = 'lead' AND EXISTS (SELECT 1 FROM lead_deliveries o
        WHERE o.lead_id = d.lead_id AND o.destination = d.destination AND o.key <> d.key
            AND o.source = 'lead' AND (o.state = 'delivered' OR o.doubtful)) AS may_have_arrived,
    d.answer, d.created_at, d.due_at, d.ended_at FROM lead_deliveries d";

impl StoreTransaction<'_> {
    /// Creates a dealer's position after the existing events, unless it has one. Without destinations the position is
    /// removed, so that a destination configured later gets no past events.
    ///
    /// # Errors
    /// When the database fails.
    pub fn place_deliveries(
        &self,
        dealer_id: &str,
        has_destinations: bool,
    ) -> Result<(), InternalError> {
        let statement = if has_destinations {
            "INSERT INTO lead_delivery_places (dealer_id, event)
             SELECT $1, coalesce(max(seq), 0) FROM lead_events WHERE dealer_id = $1
             ON CONFLICT DO NOTHING"
        } else {
            "DELETE FROM lead_delivery_places WHERE dealer_id = $1"
        };
        self.0.execute("placing a dealer in its leads", statement, params![dealer_id])
    }

    /// Moves a dealer's position forward to an event, and stores the deliveries planned for the events up to it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn plan_deliveries(
        &self,
        dealer_id: &str,
        event: i64,
        planned: &[NewDelivery],
        now: Timestamp,
    ) -> Result<(), InternalError> {
        let Some(known) = self.move_delivery_place(&PLACES, dealer_id, event)? else {
            return Ok(());
        };
        // Another process may have planned the first of them meanwhile.
        let planned = planned.iter().filter(|delivery| delivery.event > known);
        self.put_deliveries(planned, now)
    }

    /// Stores deliveries that were requested, replacing those to the same destinations that wait or were given up.
    ///
    /// # Errors
    /// When the database fails.
    pub fn deliver_again(
        &self,
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<(), InternalError> {
        for delivery in deliveries {
            let lead = &delivery.lead_id;
            let destination = &delivery.destination;
            self.0.execute(
                "ending earlier deliveries",
                "UPDATE lead_deliveries SET state = 'ended', due_at = NULL, ended_at = $3
                 WHERE source = 'lead' AND lead_id = $1 AND destination = $2
                     AND state IN ('due', 'dead')",
                params![lead, destination, now],
            )?;
        }
        self.put_deliveries(deliveries.iter(), now)
    }

    /// Writes deliveries that are due at once.
    fn put_deliveries<'d>(
        &self,
        deliveries: impl Iterator<Item = &'d NewDelivery>,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        for delivery in deliveries {
            let NewDelivery { dealer_id, lead_id, destination, event } = delivery;
            let due = DeliveryState::Due.name();
            self.0.execute(
                "writing a delivery",
                "INSERT INTO lead_deliveries (dealer_id, lead_id, destination, event, state,
                                              created_at, due_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $6)",
                params![dealer_id, lead_id, destination, event, due, now],
            )?;
        }
        Ok(())
    }

    /// Marks a delivery as being sent; without a result until `lost_at` it is sent again. `None` when it is not to be
    /// sent any more, or another process is sending it. An attempt without a recorded result is in doubt.
    ///
    /// # Errors
    /// When the database fails.
    pub fn begin_delivery(
        &self,
        key: i64,
        now: Timestamp,
        lost_at: Timestamp,
    ) -> Result<Option<DeliveryRecord>, InternalError> {
        let begun = self.0.change(
            "beginning a delivery",
            "UPDATE lead_deliveries SET doubtful = doubtful OR state = 'sending',
                 state = 'sending', attempts = attempts + 1, due_at = $3
             WHERE key = $1 AND state IN ('due', 'sending') AND due_at <= $2",
            // It is due again when it counts as lost, so that nothing has to be cleaned up after a crash.
            params![key, now, lost_at],
        )?;
        if begun == 0 {
            return Ok(None);
        }
        self.0.first(
            "reading a delivery",
            &format!("SELECT {COLUMNS} WHERE d.key = $1"),
            params![key],
            delivery_record,
        )
    }

    /// Postpones a delivery that is due, without counting an attempt.
    ///
    /// # Errors
    /// When the database fails.
    pub fn postpone_delivery(
        &self,
        key: i64,
        now: Timestamp,
        again: Timestamp,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "postponing a delivery",
            "UPDATE lead_deliveries SET due_at = $3
             WHERE key = $1 AND state IN ('due', 'sending') AND due_at <= $2",
            params![key, now, again],
        )
    }

    /// Marks a delivery as accepted, also when it was ended meanwhile, and records the destination of a lead in the
    /// audit log. A publisher's event names no customer, so its destination is not recorded.
    ///
    /// # Errors
    /// When the database fails.
    pub fn delivered(&self, key: i64, answer: &str, now: Timestamp) -> Result<(), InternalError> {
        let updated_rows = self.0.change(
            "noting a delivery",
            "UPDATE lead_deliveries SET state = 'delivered', answer = $2, due_at = NULL,
             ended_at = $3 WHERE key = $1 AND state IN ('sending', 'ended')",
            params![key, answer, now],
        )?;
        let entry = self.0.first(
            "reading a delivery",
            "SELECT dealer_id, lead_id, destination FROM lead_deliveries
             WHERE key = $1 AND source = 'lead'",
            params![key],
            |row| {
                Ok(NewAuditEntry {
                    chain: row.get("dealer_id")?,
                    at: now,
                    actor: DELIVERY.to_owned(),
                    action: AuditAction::LeadDelivered,
                    subject: row.get("lead_id")?,
                    detail: row.get("destination")?,
                })
            },
        )?;
        entry.filter(|_| updated_rows > 0).map_or(Ok(()), |entry| self.record(&entry))
    }

    /// Records a failed attempt: the delivery is sent again at `Ok(time)`, or was given up at `Err(time)`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn delivery_failed(
        &self,
        key: i64,
        answer: &str,
        is_doubtful: bool,
        next: Result<Timestamp, Timestamp>,
    ) -> Result<(), InternalError> {
        let (state, due_at, ended_at) = match next {
            Ok(again) => (DeliveryState::Due, Some(again), None),
            Err(dead) => (DeliveryState::Dead, None, Some(dead)),
        };
        // A delivery that was ended meanwhile stays ended: its failure changes nothing.
        self.0.execute(
            "noting a failed delivery",
            "UPDATE lead_deliveries SET state = $2, answer = $3, doubtful = doubtful OR $4,
             due_at = $5, ended_at = $6 WHERE key = $1 AND state = 'sending'",
            params![key, state.name(), answer, is_doubtful, due_at, ended_at],
        )?;
        if next.is_ok() {
            return Ok(());
        }
        // The destination lacks what has changed, so people have to look at the lead.
        self.0.execute(
            "taking a lead back",
            "UPDATE leads SET handled_by = NULL WHERE (lead_id, handled_by) IN
                 (SELECT lead_id, destination FROM lead_deliveries
                  WHERE key = $1 AND source = 'lead' AND state = 'dead')",
            params![key],
        )
    }

    /// Ends a delivery that is no longer to be made.
    ///
    /// # Errors
    /// When the database fails.
    pub fn end_delivery(&self, key: i64, now: Timestamp) -> Result<(), InternalError> {
        self.0.execute(
            "ending a delivery",
            "UPDATE lead_deliveries SET state = 'ended', due_at = NULL, ended_at = $2
             WHERE key = $1 AND state IN ('due', 'sending')",
            params![key, now],
        )
    }

    /// Ends the pending deliveries of a lead, in the transaction that withdraws or erases it. The cancellation of an
    /// appointment is delivered all the same: systems that have it would keep its time otherwise.
    pub(in crate::tables) fn end_deliveries_of(
        &self,
        lead_id: &str,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "ending a lead's deliveries",
            "UPDATE lead_deliveries SET doubtful = doubtful OR state = 'sending',
                 state = 'ended', due_at = NULL, ended_at = $2
             WHERE source = 'lead' AND lead_id = $1 AND state IN ('due', 'sending') AND event NOT IN
                 (SELECT seq FROM lead_events
                  WHERE lead_id = $1 AND kind = 'appointment_cancelled')",
            params![lead_id, now],
        )
    }

    /// Makes deliveries due that an ended process was sending. Does nothing on a shared database, where the attempts of
    /// other processes are due again when they count as lost.
    ///
    /// # Errors
    /// When the database fails.
    pub fn resume_deliveries(&self, now: Timestamp) -> Result<usize, InternalError> {
        // Another process may be alive and sending.
        if self.0.is_shared() {
            return Ok(0);
        }
        self.0.change(
            "resuming deliveries",
            "UPDATE lead_deliveries SET due_at = $1 WHERE state = 'sending'",
            params![now],
        )
    }
}

impl Database {
    /// Returns deliveries, the latest first: of one dealer or publisher, of one lead or subject of a publisher's event,
    /// in one state, or all of a source.
    pub(crate) fn deliveries(
        &self,
        source: DeliverySource,
        dealer_id: Option<&str>,
        lead_id: Option<&str>,
        state: Option<DeliveryState>,
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        self.0.all(
            "reading deliveries",
            &format!(
                "SELECT {COLUMNS} WHERE ($1 IS NULL OR d.dealer_id = $1)
                     AND ($2 IS NULL OR d.lead_id = $2) AND ($3 IS NULL OR d.state = $3)
                     AND d.source = $4
                 ORDER BY d.key DESC"
            ),
            params![dealer_id, lead_id, state.map(DeliveryState::name), source.name()],
            delivery_record,
        )
    }

    /// Counts the deliveries that were given up.
    pub(crate) fn dead_deliveries(&self) -> Result<u64, InternalError> {
        let sql = "SELECT count(*) FROM lead_deliveries WHERE state = 'dead'";
        self.0.one("counting dead deliveries", sql, &[], |row| row.only())
    }

    /// Returns the dealers that have events after their position.
    pub(crate) fn dealers_with_unplanned(&self) -> Result<Vec<String>, InternalError> {
        let sql = "SELECT p.dealer_id FROM lead_delivery_places p WHERE EXISTS
                       (SELECT 1 FROM lead_events e
                        WHERE e.dealer_id = p.dealer_id AND e.seq > p.event)";
        self.0.all("looking for untold events", sql, &[], |row| row.only())
    }

    /// Returns the events of a dealer's leads after its position, if it has one, oldest first, each with its lead.
    pub(crate) fn unplanned_events(
        &self,
        dealer_id: &str,
        limit: u32,
    ) -> Result<Vec<(i64, String)>, InternalError> {
        self.0.all(
            "reading what is to be told of leads",
            "SELECT seq, lead_id FROM lead_events
             WHERE dealer_id = $1
                 AND seq > (SELECT event FROM lead_delivery_places WHERE dealer_id = $1)
             ORDER BY seq LIMIT $2",
            params![dealer_id, limit],
            |row: &SqlRow<'_>| Ok((row.get("seq")?, row.get("lead_id")?)),
        )
    }

    /// Returns due deliveries, the longest due first, without the busy ones. A destination gets the events of one lead
    /// in their order.
    pub(crate) fn deliveries_due(
        &self,
        now: Timestamp,
        busy: &BlockedPushes,
        limit: usize,
    ) -> Result<Vec<DeliveryRecord>, InternalError> {
        let keys = self.0.elements(2, "BIGINT");
        let texts = |value| self.0.elements(value, "TEXT");
        let hosts = texts(3);
        let owners = texts(4);
        let list = |values: tradepost_document::json::Value| values.to_string();
        self.0.all(
            "reading due deliveries",
            &format!(
                "SELECT {COLUMNS} WHERE d.due_at <= $1 AND d.key NOT IN ({keys})
                     AND d.dealer_id || '/' || d.destination NOT IN ({hosts})
                     AND d.dealer_id NOT IN ({owners})
                     AND NOT EXISTS (SELECT 1 FROM lead_deliveries o
                         WHERE o.lead_id = d.lead_id AND o.destination = d.destination
                             AND o.source = d.source AND o.dealer_id = d.dealer_id
                             AND o.key < d.key AND o.state IN ('due', 'sending'))
                 ORDER BY d.due_at, d.key LIMIT $5"
            ),
            params![
                now,
                list(busy.keys.clone().into()),
                list(busy.hosts.clone().into()),
                list(busy.owners.clone().into()),
                limit,
            ],
            delivery_record,
        )
    }

    /// Returns the earliest time after `after` at which a delivery is due.
    pub(crate) fn deliveries_next_due(
        &self,
        after: Timestamp,
    ) -> Result<Option<Timestamp>, InternalError> {
        self.0.one(
            "reading when a delivery is due",
            "SELECT min(due_at) FROM lead_deliveries WHERE due_at > $1",
            params![after],
            |row| row.only(),
        )
    }

    /// Returns the time at which each lead was first accepted by a destination, for leads that were.
    pub(crate) fn first_deliveries(
        &self,
        dealer_id: Option<&str>,
        lead_id: Option<&str>,
    ) -> Result<Vec<(String, Timestamp)>, InternalError> {
        self.0.all(
            "reading when leads were delivered",
            "SELECT lead_id, min(ended_at) AS delivered_at FROM lead_deliveries
             WHERE source = 'lead' AND state = 'delivered' AND ($1 IS NULL OR dealer_id = $1)
                 AND ($2 IS NULL OR lead_id = $2) GROUP BY lead_id",
            params![dealer_id, lead_id],
            |row: &SqlRow<'_>| Ok((row.get("lead_id")?, row.get("delivered_at")?)),
        )
    }
}

/// Reads a delivery from a row.
fn delivery_record(row: &SqlRow<'_>) -> RowResult<DeliveryRecord> {
    Ok(DeliveryRecord {
        key: row.get("key")?,
        source: word(row, "source")?,
        dealer_id: row.get("dealer_id")?,
        lead_id: row.get("lead_id")?,
        destination: row.get("destination")?,
        event: row.get("event")?,
        state: word(row, "state")?,
        attempts: row.get("attempts")?,
        may_have_arrived: row.get("may_have_arrived")?,
        answer: row.get("answer")?,
        created_at: row.get("created_at")?,
        due_at: row.get("due_at")?,
        ended_at: row.get("ended_at")?,
    })
}
