//! The calendar: occupied times, and changes by the dealer's staff. One query returns occupied times, both for bookings
//! and for every view of the calendar.

use jiff::Timestamp;
use tradepost_dealer::appointment::change::{ends_with_lead, released};
use tradepost_dealer::calendar::{BlockedTime, Calendar, OccupiedPeriod, TimePeriod, Visit};
use tradepost_dealer::record::{AppointmentRecord, AppointmentState, LeadEventKind, LeadRecord};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use super::super::{Database, StoreTransaction};
use super::staff::{PROGRESS, progress};
use super::{CURRENT, LEAD_COLUMNS, appointment_record, lead_record, word};
use crate::Store;
use crate::sql::{Connection, RowResult, SqlRow, params};

/// Subquery for occupied times: one row for each confirmed appointment and each blocked time.
const OCCUPIED_TIMES: &str =
    "(SELECT a.dealer_id, a.rooftop, a.department, a.starts_at, a.ends_at, 1 AS places,
             a.appointment_id AS held_by, s.lead_id
      FROM appointments a JOIN lead_submissions s ON s.seq = a.submission
      WHERE a.state = 'confirmed'
      UNION ALL
      SELECT b.dealer_id, b.rooftop, b.department, b.starts_at, b.ends_at, b.places,
             b.block_id AS held_by, CAST(NULL AS TEXT) AS lead_id
      FROM blocked_times b) AS o";

/// Returns the query for the occupied times of a department within a period, without one lead's appointments. `<>`
/// would find nothing where there is no lead to leave out, and a blocked time has no lead. Bookings keep the rooftop's
/// name of their time: a name whose case the configuration has changed since is the same rooftop. SQLite folds only
/// ASCII letters.
fn occupied() -> String {
    format!(
        "SELECT o.starts_at, o.ends_at, o.places, o.held_by FROM {OCCUPIED_TIMES}
         WHERE o.dealer_id = $1 AND lower(o.rooftop) = lower($2) AND o.department = $3
             AND o.ends_at > $4 AND o.starts_at < $5
             AND (o.lead_id IS NULL OR o.lead_id IS DISTINCT FROM $6)"
    )
}

/// Returns the query for the ids of occupied times within a period, of one dealer or of all.
fn occupied_ids() -> String {
    format!(
        "SELECT o.held_by FROM {OCCUPIED_TIMES}
         WHERE ($1 IS NULL OR o.dealer_id = $1) AND o.ends_at > $2 AND o.starts_at < $3"
    )
}

/// Tables of [`visit`]: each appointment with its lead.
const VISITS: &str = " FROM appointments a
     JOIN lead_submissions own ON own.seq = a.submission
     JOIN leads l ON l.lead_id = own.lead_id
     JOIN lead_submissions s ON s.seq = l.submission
     LEFT JOIN appointments b ON b.submission = s.seq
     LEFT JOIN lead_progress p ON p.lead_id = l.lead_id";

/// Returns the query for appointments with their leads.
fn visits() -> String {
    format!(
        "SELECT {}, {PROGRESS}, a.rooftop, a.department, l.appointment_id{VISITS}",
        *LEAD_COLUMNS
    )
}

/// Reads an appointment with its lead from a row.
fn visit(row: &SqlRow<'_>) -> RowResult<Visit> {
    let lead = lead_record(row)?;
    let appointment = appointment_record(row, CURRENT)?.ok_or("a visit without an appointment")?;
    let current: Option<String> = row.get("appointment_id")?;
    Ok(Visit {
        is_current: current.as_ref() == Some(&appointment.appointment_id),
        appointment,
        rooftop: row.get("rooftop")?,
        department: row.get("department")?,
        progress: progress(row)?,
        lead,
    })
}

const BLOCK: &str =
    "SELECT k.block_id, k.dealer_id, k.rooftop, k.department, k.starts_at, k.ends_at,
     k.places, k.time_zone, k.reason, k.created_at, k.created_by FROM blocked_times k";

/// Reads a block from a row.
fn block(row: &SqlRow<'_>) -> RowResult<BlockedTime> {
    Ok(BlockedTime {
        block_id: row.get("block_id")?,
        dealer_id: row.get("dealer_id")?,
        rooftop: row.get("rooftop")?,
        department: word(row, "department")?,
        starts_at: row.get("starts_at")?,
        ends_at: row.get("ends_at")?,
        places: row.get("places")?,
        time_zone: row.get("time_zone")?,
        reason: row.get("reason")?,
        created_at: row.get("created_at")?,
        created_by: row.get("created_by")?,
    })
}

fn read_visit(
    connection: &Connection,
    appointment_id: &str,
) -> Result<Option<Visit>, InternalError> {
    let sql = format!("{} WHERE a.appointment_id = $1", visits());
    connection.first("reading an appointment", &sql, params![appointment_id], visit)
}

impl StoreTransaction<'_> {
    /// Returns an appointment with its lead, after locking its dealer's data.
    ///
    /// # Errors
    /// When the database fails.
    pub fn visit(&self, appointment_id: &str) -> Result<Option<Visit>, InternalError> {
        let sql = "SELECT dealer_id FROM appointments WHERE appointment_id = $1";
        let dealer =
            self.0.first("finding an appointment", sql, params![appointment_id], |row| {
                row.only::<String>()
            })?;
        let Some(dealer) = dealer else { return Ok(None) };
        // The dealer never changes; the appointment is read under the lock.
        self.0.lock(&dealer)?;
        read_visit(self.0, appointment_id)
    }

    /// Returns the occupied times of a department within a period, without one lead's appointments, after locking its
    /// dealer's data.
    ///
    /// # Errors
    /// When the database fails.
    pub fn occupied_times(
        &self,
        dealer_id: &str,
        rooftop: &str,
        department: &str,
        period: TimePeriod,
        except_lead: Option<&str>,
    ) -> Result<Vec<OccupiedPeriod>, InternalError> {
        self.0.lock(dealer_id)?;
        let TimePeriod { start, end } = period;
        self.0.all(
            "reading what is occupied",
            &occupied(),
            params![dealer_id, rooftop, department, start, end, except_lead],
            |row| {
                Ok(OccupiedPeriod {
                    starts_at: row.get("starts_at")?,
                    ends_at: row.get("ends_at")?,
                    places: row.get("places")?,
                    held_by: row.get("held_by")?,
                })
            },
        )
    }

    /// Returns an appointment in its current state when the dealer's staff or the end of its lead have changed it, or
    /// the lead's current appointment when that has replaced it. `None` when no such change has happened.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) fn changed(
        &self,
        dealer_id: &str,
        appointment_id: &str,
    ) -> Result<Option<AppointmentRecord>, InternalError> {
        self.0.lock(dealer_id)?;
        let found = read_visit(self.0, appointment_id)?;
        let Some(found) = found.filter(|visit| visit.lead.dealer_id == dealer_id) else {
            return Ok(None);
        };
        let appointment = found.appointment;
        match appointment.state {
            AppointmentState::Requested
            | AppointmentState::Proposed
            | AppointmentState::Confirmed
            | AppointmentState::Rejected => Ok(Some(appointment).filter(|one| one.version > 1)),
            AppointmentState::Cancelled | AppointmentState::NoShow if found.is_current => {
                Ok(Some(appointment))
            }
            AppointmentState::Cancelled | AppointmentState::NoShow => {
                let lead = self.lead(&found.lead.lead_id)?;
                Ok(lead.and_then(|lead| lead.appointment).or(Some(appointment)))
            }
            // The agent has moved it and already knows.
            AppointmentState::Superseded => {
                let lead = self.lead(&found.lead.lead_id)?;
                Ok(lead.and_then(|lead| lead.appointment).filter(|current| current.version > 1))
            }
        }
    }

    /// Stores a changed appointment with its event, and the change of its lead. `lead` is the lead as it was read in
    /// this transaction.
    ///
    /// # Errors
    /// When the database fails.
    pub fn change_appointment(
        &self,
        lead: LeadRecord,
        changed: AppointmentRecord,
        kind: LeadEventKind,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        self.0.execute(
            "changing an appointment",
            "UPDATE appointments SET state = $2, starts_at = $3, ends_at = $4, version = $5
             WHERE appointment_id = $1",
            params![
                changed.appointment_id,
                changed.state.name(),
                changed.starts_at,
                changed.ends_at,
                changed.version,
            ],
        )?;
        let state = lead.state;
        self.move_lead(LeadRecord { appointment: Some(changed), ..lead }, state, kind, now)
    }

    /// Cancels the current appointment of a lead that is erased or lost, if there is one to cancel. Returns the updated
    /// lead.
    pub(in crate::tables) fn end_appointment_of(
        &self,
        lead: LeadRecord,
        now: Timestamp,
    ) -> Result<LeadRecord, InternalError> {
        let ending = lead.appointment.as_ref().filter(|current| ends_with_lead(current, now));
        let Some(current) = ending else { return Ok(lead) };
        let cancelled = released(current, AppointmentState::Cancelled);
        let kind = LeadEventKind::AppointmentCancelled;
        self.change_appointment(lead.clone(), cancelled.clone(), kind, now)?;
        Ok(LeadRecord { appointment: Some(cancelled), changed_at: now, ..lead })
    }

    /// Blocks a time.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_block(&self, block: &BlockedTime) -> Result<(), InternalError> {
        self.0.lock(&block.dealer_id)?;
        self.0.execute(
            "blocking a time",
            "INSERT INTO blocked_times (block_id, dealer_id, rooftop, department, starts_at, ends_at,
                 places, time_zone, reason, created_at, created_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            params![
                block.block_id,
                block.dealer_id,
                block.rooftop,
                block.department.name(),
                block.starts_at,
                block.ends_at,
                block.places,
                block.time_zone,
                block.reason,
                block.created_at,
                block.created_by,
            ],
        )
    }

    /// Returns a blocked time, after locking its dealer's data.
    ///
    /// # Errors
    /// When the database fails.
    pub fn block(&self, block_id: &str) -> Result<Option<BlockedTime>, InternalError> {
        let sql = format!("{BLOCK} WHERE k.block_id = $1");
        let read = || self.0.first("reading a blocked time", &sql, params![block_id], block);
        let Some(found) = read()? else { return Ok(None) };
        self.0.lock(&found.dealer_id)?;
        // Another process may have removed it before the lock was taken.
        read()
    }

    /// Removes a blocked time. Returns `false` when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove_block(&self, block_id: &str) -> Result<bool, InternalError> {
        let sql = "DELETE FROM blocked_times WHERE block_id = $1";
        self.0.changes("taking a blocked time back", sql, params![block_id])
    }
}

impl Database {
    /// Returns the appointments and blocks that occupy a period, in the order of their start.
    fn calendar(
        &self,
        dealer_id: Option<&str>,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Calendar, InternalError> {
        let sql = format!(
            "{} WHERE a.appointment_id IN ({}) ORDER BY a.starts_at, a.appointment_id",
            visits(),
            occupied_ids()
        );
        let period = params![dealer_id, from, until];
        let visits = self.0.all("reading appointments", &sql, period, visit)?;
        let sql = format!(
            "{BLOCK} WHERE k.block_id IN ({}) ORDER BY k.starts_at, k.block_id",
            occupied_ids()
        );
        let blocks = self.0.all("reading blocked times", &sql, period, block)?;
        Ok(Calendar { visits, blocks })
    }
}

impl Store {
    /// Returns the calendar of a period, of one dealer or of all: the appointments with their leads, and the blocked
    /// times.
    ///
    /// # Errors
    /// When the database fails.
    pub fn calendar(
        &self,
        dealer_id: Option<&str>,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Calendar, InternalError> {
        self.read(|db| db.calendar(dealer_id, from, until))
    }

    /// Returns the current appointments of leads for which a time is still to be agreed on, the longest waiting first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn waiting_visits(&self, dealer_id: Option<&str>) -> Result<Vec<Visit>, InternalError> {
        let sql = format!(
            "{} WHERE ($1 IS NULL OR l.dealer_id = $1) AND l.appointment_id = a.appointment_id
                 AND l.state = 'received' AND a.state IN ('requested', 'proposed')
                 AND l.stage IN ('new', 'working')
             ORDER BY l.received_at, l.seq",
            visits()
        );
        self.read_all("reading who waits for a time", &sql, params![dealer_id], visit)
    }

    /// Returns current appointments that neither wait nor occupy a time: cancelled, missed, or not offered; of one
    /// dealer or of all, the latest change first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn settled_visits(&self, dealer_id: Option<&str>) -> Result<Vec<Visit>, InternalError> {
        let sql = format!(
            "{} WHERE ($1 IS NULL OR l.dealer_id = $1) AND l.appointment_id = a.appointment_id
                 AND a.state IN ('cancelled', 'no_show', 'rejected')
             ORDER BY l.changed_at DESC, l.seq DESC",
            visits()
        );
        self.read_all("reading settled appointments", &sql, params![dealer_id], visit)
    }

    /// Returns a dealer's current appointments that were to take place within a period, and were cancelled, missed or
    /// not offered; by start.
    ///
    /// # Errors
    /// When the database fails.
    pub fn settled_visits_between(
        &self,
        dealer_id: &str,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<Visit>, InternalError> {
        let sql = format!(
            "{} WHERE l.dealer_id = $1 AND l.appointment_id = a.appointment_id
                 AND a.state IN ('cancelled', 'no_show', 'rejected')
                 AND a.ends_at > $2 AND a.starts_at < $3
             ORDER BY a.starts_at, a.appointment_id",
            visits()
        );
        let period = params![dealer_id, from, until];
        self.read_all("reading settled appointments of a period", &sql, period, visit)
    }

    /// Returns an appointment with its lead.
    ///
    /// # Errors
    /// When the database fails.
    pub fn visit(&self, appointment_id: &str) -> Result<Option<Visit>, InternalError> {
        self.read(|db| read_visit(&db.0, appointment_id))
    }

    /// Returns a blocked time.
    ///
    /// # Errors
    /// When the database fails.
    pub fn block(&self, block_id: &str) -> Result<Option<BlockedTime>, InternalError> {
        let sql = format!("{BLOCK} WHERE k.block_id = $1");
        self.read_first("reading a blocked time", &sql, params![block_id], block)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection as File;

    use super::*;
    use crate::sqlite::Schema;
    use crate::sqlite::schema::steps::CALENDAR;
    use crate::sqlite::schema::{MIGRATIONS, open};

    #[test]
    fn the_query_and_the_states_agree_on_what_occupies() {
        for state in AppointmentState::ALL {
            let named = occupied().contains(&format!("a.state = '{}'", state.name()));
            assert_eq!(named, state.occupies(), "{state}");
        }
    }

    /// Returns the states of the appointments of five leads after the migration, by their names.
    fn migrated(path: &std::path::Path) -> Vec<(String, String, i64)> {
        let before = MIGRATIONS.iter().position(|step| *step == CALENDAR).unwrap();
        let file = File::open(path).unwrap();
        MIGRATIONS[..before].iter().for_each(|step| file.execute_batch(step).unwrap());
        file.pragma_update(None, "user_version", before as i64).unwrap();
        // A time in the past, and one far in the future.
        let over = 1_000_i64;
        let ahead = 32_503_680_000_000_i64;
        for (number, (lead, stage, state, ends_at)) in [
            ("received", "new", "confirmed", ahead),
            ("erased", "new", "confirmed", ahead),
            ("received", "lost", "confirmed", ahead),
            ("erased", "new", "confirmed", over),
            ("received", "lost", "requested", over),
        ]
        .into_iter()
        .enumerate()
        {
            file.execute_batch(&format!(
                "INSERT INTO lead_submissions (seq, lead_id, dealer_id, received_at, duplicate,
                     version, principal, payload, rooftop)
                 VALUES ({number}, 'lead_{number}', 'd', 1, 0, '1.1', 'anonymous', '{{}}', 'r');
                 INSERT INTO appointments VALUES ('appt_{number}', {number}, 'd', 'r', 'sales',
                     'sales', '{state}', 1, 1, {ends_at}, '[]');
                 INSERT INTO leads (lead_id, dealer_id, received_at, changed_at, state, person,
                     submission, appointment_id)
                 VALUES ('lead_{number}', 'd', 1, 1, '{lead}', 'p', {number}, 'appt_{number}');
                 INSERT INTO lead_progress (lead_id, dealer_id, stage)
                 VALUES ('lead_{number}', 'd', '{stage}');"
            ))
            .unwrap();
        }
        drop(file);
        let file = open(path, Schema::Migrate).unwrap();
        let sql = "SELECT appointment_id, state, version FROM appointments ORDER BY 1";
        let mut statement = file.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| {
            Ok((row.get("appointment_id")?, row.get("state")?, row.get("version")?))
        });
        rows.unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn the_migration_frees_what_erased_and_lost_leads_held() {
        let folder = tempfile::tempdir().unwrap();
        let states = migrated(&folder.path().join("database"));
        let states: Vec<_> =
            states.iter().map(|(_, state, version)| (state.as_str(), *version)).collect();
        let expected = [
            ("confirmed", 1),
            ("cancelled", 2),
            ("cancelled", 2),
            ("confirmed", 1),
            ("cancelled", 2),
        ];
        assert_eq!(states, expected);
    }

    #[test]
    fn a_booking_reads_its_department_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("database"), Schema::Migrate).unwrap();
        let mut plan = file.prepare(&format!("EXPLAIN QUERY PLAN {}", occupied())).unwrap();
        let null: Option<i64> = None;
        let values = rusqlite::params![null, null, null, null, null, null];
        let rows = plan.query_map(values, |row| row.get::<_, String>(3)).unwrap();
        let plan: Vec<_> = rows.map(Result::unwrap).collect();
        for index in ["appointments_by_time", "blocked_times_by_time"] {
            let whole = format!("{index} (dealer_id=? AND <expr>=? AND department=?");
            assert!(plan.iter().any(|step| step.contains(&whole)), "{index}: {plan:?}");
        }
    }
}
