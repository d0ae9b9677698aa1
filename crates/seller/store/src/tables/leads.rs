//! Reading leads; storing them is in [`taking`].

use jiff::Timestamp;
use tradepost_aap::Version;
use tradepost_dealer::record::{
    AppointmentRecord, AppointmentState, LeadEvent, LeadHistory, LeadRecord, SubmissionRecord,
};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::Database;
use super::privacy::{ADDRESS, PAYLOAD, payload};
use crate::privacy::{AadContext, readable};
use crate::sql::{RowResult, SqlCell, SqlColumn as _, SqlRow, params};

pub(crate) mod calendar;
pub(crate) mod deliveries;
mod schema;
mod search;
pub(crate) mod staff;
mod storing;
#[cfg(test)]
mod tests;

pub(crate) use schema::SCHEMA;

/// Maximum number of other leads of a person that are listed.
const SAME_PERSON: u32 = 50;

/// Columns of an appointment, of the table with this alias.
macro_rules! appointment {
    ($alias:literal) => {
        concat!(
            $alias,
            ".appointment_id, ",
            $alias,
            ".kind, ",
            $alias,
            ".state, ",
            $alias,
            ".requested_at, ",
            $alias,
            ".starts_at, ",
            $alias,
            ".ends_at, ",
            $alias,
            ".proposed, ",
            $alias,
            ".version"
        )
    };
}

/// Columns of a submission, with its appointment.
macro_rules! submission {
    () => {
        concat!(
            "s.received_at, s.version, s.principal, s.address, s.payload, s.rooftop, s.listing, ",
            "s.dealer_id, s.lead_id, s.sealed_by, ",
            appointment!("b")
        )
    };
}

/// Columns of a lead, with an appointment and its latest submission, without the tables.
macro_rules! lead_columns {
    () => {
        concat!(
            "SELECT l.lead_id, l.dealer_id, l.received_at, l.changed_at, l.state, l.held_for,
             l.person, l.time_zone, ",
            appointment!("a"),
            ", ",
            submission!()
        )
    };
}

/// The same columns, for queries with their own tables.
const LEAD_COLUMNS: &str = lead_columns!();

/// Query for leads, each with its current appointment and its latest submission.
const LEAD: &str = concat!(
    lead_columns!(),
    " FROM leads l JOIN lead_submissions s ON s.seq = l.submission
     LEFT JOIN appointments a ON a.appointment_id = l.appointment_id
     LEFT JOIN appointments b ON b.submission = s.seq"
);

impl Database {
    /// Returns leads as they are now, newest first; of one dealer when `dealer_id` is given.
    pub(crate) fn leads(&self, dealer_id: Option<&str>) -> Result<Vec<LeadRecord>, InternalError> {
        self.0.all(
            "reading leads",
            &format!(
                "{LEAD} WHERE $1 IS NULL OR l.dealer_id = $1
                 ORDER BY l.received_at DESC, l.seq DESC"
            ),
            params![dealer_id],
            lead_record,
        )
    }

    pub(crate) fn lead_history(&self, lead_id: &str) -> Result<Option<LeadHistory>, InternalError> {
        let lead = self.0.first(
            "reading a lead",
            &format!("{LEAD} WHERE l.lead_id = $1"),
            params![lead_id],
            lead_record,
        )?;
        let Some(lead) = lead else {
            return Ok(None);
        };
        let submissions = self.submissions(lead_id)?;
        let events = self.lead_events(lead_id)?;
        let same_person = self.same_person(&lead)?;
        let consents = self.consents_of(lead_id)?;
        let first = self.first_deliveries(None, Some(lead_id))?;
        let delivered_at = first.first().map(|(_, at)| *at);
        Ok(Some(LeadHistory { lead, submissions, events, same_person, consents, delivered_at }))
    }

    fn submissions(&self, lead_id: &str) -> Result<Vec<SubmissionRecord>, InternalError> {
        self.0.all(
            "reading a lead's submissions",
            concat!(
                "SELECT ",
                submission!(),
                " FROM lead_submissions s LEFT JOIN appointments b ON b.submission = s.seq
                 WHERE s.lead_id = $1 ORDER BY s.seq"
            ),
            params![lead_id],
            |row| submission_record(row, 0),
        )
    }

    fn lead_events(&self, lead_id: &str) -> Result<Vec<LeadEvent>, InternalError> {
        self.0.all(
            "reading a lead's events",
            concat!(
                "SELECT e.seq, e.at, e.kind, e.state, e.appointment_state,
                 (SELECT count(*) FROM lead_submissions s
                  WHERE s.lead_id = e.lead_id AND s.seq < e.submission), ",
                appointment!("a"),
                ", e.appointment_starts_at, e.appointment_ends_at FROM lead_events e LEFT JOIN appointments a
                     ON a.appointment_id = e.appointment_id
                 WHERE e.lead_id = $1 ORDER BY e.seq"
            ),
            params![lead_id],
            |row| {
                let mut appointment = appointment_record(row, 6)?;
                // As it was then: the appointment may have been superseded, moved or cancelled since.
                if let Some(appointment) = &mut appointment {
                    appointment.state = word(row, 4)?;
                    let starts_at: Option<Timestamp> = row.get(14)?;
                    let ends_at: Option<Timestamp> = row.get(15)?;
                    let is_noted = match appointment.state {
                        // Events from before times were recorded have none; a booking has one.
                        AppointmentState::Confirmed | AppointmentState::Superseded => {
                            starts_at.is_some()
                        }
                        // Without a time it had none then, even if one was agreed on since.
                        AppointmentState::Requested
                        | AppointmentState::Proposed
                        | AppointmentState::Rejected
                        | AppointmentState::Cancelled
                        | AppointmentState::NoShow => true,
                    };
                    if is_noted {
                        appointment.starts_at = starts_at;
                        appointment.ends_at = ends_at;
                    }
                }
                Ok(LeadEvent {
                    seq: row.get(0)?,
                    at: row.get(1)?,
                    kind: word(row, 2)?,
                    state: word(row, 3)?,
                    appointment,
                    submission: row.get(5)?,
                })
            },
        )
    }

    fn same_person(&self, lead: &LeadRecord) -> Result<Vec<String>, InternalError> {
        self.0.all(
            "reading the leads of a person",
            "SELECT lead_id FROM leads WHERE dealer_id = $1 AND person = $2 AND lead_id <> $3
             ORDER BY seq LIMIT $4",
            params![lead.dealer_id, lead.person, lead.lead_id, SAME_PERSON],
            |row| row.get(0),
        )
    }
}

fn lead_record(row: &SqlRow<'_>) -> RowResult<LeadRecord> {
    Ok(LeadRecord {
        lead_id: row.get(0)?,
        dealer_id: row.get(1)?,
        received_at: row.get(2)?,
        changed_at: row.get(3)?,
        state: word(row, 4)?,
        held_for: row.get::<Option<String>>(5)?.map(|_| word(row, 5)).transpose()?,
        person: row.get(6)?,
        time_zone: row.get(7)?,
        appointment: appointment_record(row, 8)?,
        submission: submission_record(row, 16)?,
    })
}

fn submission_record(row: &SqlRow<'_>, first: usize) -> RowResult<SubmissionRecord> {
    let version: String = row.get(first + 1)?;
    let listing: Option<String> = row.get(first + 6)?;
    let received_at: Timestamp = row.get(first)?;
    let dealer: String = row.get(first + 7)?;
    let lead: String = row.get(first + 8)?;
    let key: Option<String> = row.get(first + 9)?;
    let of = |column| AadContext::lead(column, &dealer, &lead, received_at);
    let payload = payload(row, first + 4, key.as_deref(), &of(PAYLOAD))?;
    let address = readable(row.opened_if_any(first + 3, key.as_deref(), &of(ADDRESS)))?;
    let (payload, address, unreadable) = match payload.and_then(|sent| Ok((sent, address?))) {
        Ok((payload, address)) => (payload, address, None),
        Err(why) => (Value::Null, None, Some(why.to_string())),
    };
    Ok(SubmissionRecord {
        received_at,
        // A newer Tradepost may have written it; the customer is read all the same.
        version: Version::from_name(&version).unwrap_or(Version::V1_1),
        principal: row.get(first + 2)?,
        address,
        payload,
        unreadable,
        rooftop: row.get(first + 5)?,
        listing: listing.map(|text| tradepost_document::json::from_str(&text)).transpose()?,
        appointment: appointment_record(row, first + 10)?,
    })
}

fn appointment_record(row: &SqlRow<'_>, first: usize) -> RowResult<Option<AppointmentRecord>> {
    let Some(appointment_id) = row.get::<Option<String>>(first)? else {
        return Ok(None);
    };
    let proposed: Vec<i64> = tradepost_document::json::from_str(&row.get::<String>(first + 6)?)?;
    Ok(Some(AppointmentRecord {
        appointment_id,
        kind: word(row, first + 1)?,
        state: word(row, first + 2)?,
        requested_at: row.get(first + 3)?,
        starts_at: row.get(first + 4)?,
        ends_at: row.get(first + 5)?,
        proposed: proposed.into_iter().map(moment).collect::<RowResult<_>>()?,
        version: row.get(first + 7)?,
    }))
}

/// Reads a column that holds a name of a vocabulary.
pub(super) fn word<T: Vocabulary>(row: &SqlRow<'_>, column: usize) -> RowResult<T> {
    let name: String = row.get(column)?;
    T::from_name(&name).ok_or_else(|| format!("{name} is none of {}", T::NAMES.join(", ")).into())
}

fn moment(milliseconds: i64) -> RowResult<Timestamp> {
    Timestamp::from_cell(SqlCell::Integer(milliseconds))
}
