//! Reading leads; storing them is in [`storing`].

use std::sync::LazyLock;

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
mod listing;
mod search;
pub(crate) mod staff;
mod storing;
#[cfg(test)]
mod tests;
mod work;

/// Maximum number of other leads of a person that are listed.
const MAX_RELATED_LEADS: u32 = 50;

/// Columns of an appointment. A row may have two, told apart by the prefixes [`CURRENT`] and [`SENT`].
const APPOINTMENT: [&str; 8] = [
    "appointment_id",
    "kind",
    "state",
    "requested_at",
    "starts_at",
    "ends_at",
    "proposed",
    "version",
];

/// Columns of a submission.
const SUBMISSION: [&str; 10] = [
    "received_at",
    "version",
    "principal",
    "address",
    "payload",
    "rooftop",
    "listing",
    "dealer_id",
    "lead_id",
    "sealed_by",
];

/// Prefix of the columns of the current appointment, in the table with the alias `a`.
const CURRENT: &str = "current";

/// Prefix of the columns of a submission's own appointment, in the table with the alias `b`.
const SENT: &str = "sent";

/// Tables joined to a lead `l`: its latest submission, and its current appointment.
const LEAD_JOINS: &str = "
     JOIN lead_submissions s ON s.seq = l.submission
     LEFT JOIN appointments a ON a.appointment_id = l.appointment_id
     LEFT JOIN appointments b ON b.submission = s.seq";

/// Returns columns of the table with an alias, each under its name behind a prefix.
fn prefixed(alias: &str, prefix: &str, columns: &[&str]) -> String {
    let named = columns.iter().map(|column| format!("{alias}.{column} AS {prefix}_{column}"));
    named.collect::<Vec<_>>().join(", ")
}

/// Returns the columns of a submission, with its appointment.
fn submission_columns() -> String {
    let submission = prefixed("s", "submission", &SUBMISSION);
    format!("{submission}, {}", prefixed("b", SENT, &APPOINTMENT))
}

/// Columns of a lead, with its current appointment and its latest submission.
static LEAD_COLUMNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "l.lead_id, l.dealer_id, l.received_at, l.changed_at, l.state, l.held_for, l.person, l.time_zone,
         {}, {}",
        prefixed("a", CURRENT, &APPOINTMENT),
        submission_columns()
    )
});

/// Query for leads.
static LEAD_QUERY: LazyLock<String> =
    LazyLock::new(|| format!("SELECT {} FROM leads l{LEAD_JOINS}", *LEAD_COLUMNS));

impl Database {
    /// Returns leads as they are now, newest first; of one dealer when `dealer_id` is given.
    pub(crate) fn leads(&self, dealer_id: Option<&str>) -> Result<Vec<LeadRecord>, InternalError> {
        self.0.all(
            "reading leads",
            &format!(
                "{} WHERE $1 IS NULL OR l.dealer_id = $1
                 ORDER BY l.received_at DESC, l.seq DESC",
                *LEAD_QUERY
            ),
            params![dealer_id],
            lead_record,
        )
    }

    pub(crate) fn lead_history(&self, lead_id: &str) -> Result<Option<LeadHistory>, InternalError> {
        let lead = self.0.first(
            "reading a lead",
            &format!("{} WHERE l.lead_id = $1", *LEAD_QUERY),
            params![lead_id],
            lead_record,
        )?;
        lead.map(|lead| self.history_of(lead)).transpose()
    }

    /// Returns the full history of a lead that has been read in the same transaction.
    pub(crate) fn history_of(&self, lead: LeadRecord) -> Result<LeadHistory, InternalError> {
        let lead_id = &lead.lead_id;
        let submissions = self.submissions(lead_id)?;
        let events = self.lead_events(lead_id)?;
        let same_person = self.same_person(&lead)?;
        let consents = self.consents_of(lead_id)?;
        let first = self.first_deliveries(None, Some(lead_id))?;
        let delivered_at = first.first().map(|(_, at)| *at);
        let progress = self.progress(lead_id)?;
        Ok(LeadHistory { lead, submissions, events, same_person, consents, delivered_at, progress })
    }

    fn submissions(&self, lead_id: &str) -> Result<Vec<SubmissionRecord>, InternalError> {
        self.0.all(
            "reading a lead's submissions",
            &format!(
                "SELECT {} FROM lead_submissions s LEFT JOIN appointments b ON b.submission = s.seq
                 WHERE s.lead_id = $1 ORDER BY s.seq",
                submission_columns()
            ),
            params![lead_id],
            submission_record,
        )
    }

    fn lead_events(&self, lead_id: &str) -> Result<Vec<LeadEvent>, InternalError> {
        self.0.all(
            "reading a lead's events",
            &format!(
                "SELECT e.seq, e.at, e.kind, e.state, e.appointment_state,
                 (SELECT count(*) FROM lead_submissions s
                  WHERE s.lead_id = e.lead_id AND s.seq < e.submission) AS submission,
                 e.appointment_starts_at, e.appointment_ends_at, {}
                 FROM lead_events e LEFT JOIN appointments a ON a.appointment_id = e.appointment_id
                 WHERE e.lead_id = $1 ORDER BY e.seq",
                prefixed("a", CURRENT, &APPOINTMENT)
            ),
            params![lead_id],
            |row| {
                let mut appointment = appointment_record(row, CURRENT)?;
                // As it was then: the appointment may have been superseded, moved or cancelled since.
                if let Some(appointment) = &mut appointment {
                    appointment.state = word(row, "appointment_state")?;
                    let starts_at: Option<Timestamp> = row.get("appointment_starts_at")?;
                    let ends_at: Option<Timestamp> = row.get("appointment_ends_at")?;
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
                    seq: row.get("seq")?,
                    at: row.get("at")?,
                    kind: word(row, "kind")?,
                    state: word(row, "state")?,
                    appointment,
                    submission: row.get("submission")?,
                })
            },
        )
    }

    fn same_person(&self, lead: &LeadRecord) -> Result<Vec<String>, InternalError> {
        self.0.all(
            "reading the leads of a person",
            "SELECT lead_id FROM leads WHERE dealer_id = $1 AND person = $2 AND lead_id <> $3
             ORDER BY seq LIMIT $4",
            params![lead.dealer_id, lead.person, lead.lead_id, MAX_RELATED_LEADS],
            |row| row.only(),
        )
    }
}

fn lead_record(row: &SqlRow<'_>) -> RowResult<LeadRecord> {
    Ok(LeadRecord {
        lead_id: row.get("lead_id")?,
        dealer_id: row.get("dealer_id")?,
        received_at: row.get("received_at")?,
        changed_at: row.get("changed_at")?,
        state: word(row, "state")?,
        held_for: word_if_any(row, "held_for")?,
        person: row.get("person")?,
        time_zone: row.get("time_zone")?,
        appointment: appointment_record(row, CURRENT)?,
        submission: submission_record(row)?,
    })
}

fn submission_record(row: &SqlRow<'_>) -> RowResult<SubmissionRecord> {
    let version: String = row.get("submission_version")?;
    let listing: Option<String> = row.get("submission_listing")?;
    let received_at: Timestamp = row.get("submission_received_at")?;
    let dealer: String = row.get("submission_dealer_id")?;
    let lead: String = row.get("submission_lead_id")?;
    let key: Option<String> = row.get("submission_sealed_by")?;
    let of = |column| AadContext::lead(column, &dealer, &lead, received_at);
    let payload = payload(row, "submission_payload", key.as_deref(), &of(PAYLOAD))?;
    let address = readable(row.opened_if_any("submission_address", key.as_deref(), &of(ADDRESS)))?;
    let (payload, address, unreadable) = match payload.and_then(|sent| Ok((sent, address?))) {
        Ok((payload, address)) => (payload, address, None),
        Err(why) => (Value::Null, None, Some(why.to_string())),
    };
    Ok(SubmissionRecord {
        received_at,
        // A newer Tradepost may have written it; the customer is read all the same.
        version: Version::from_name(&version).unwrap_or(Version::V1_1),
        principal: row.get("submission_principal")?,
        address,
        payload,
        unreadable,
        rooftop: row.get("submission_rooftop")?,
        listing: listing.map(|text| tradepost_document::json::from_str(&text)).transpose()?,
        appointment: appointment_record(row, SENT)?,
    })
}

/// Reads the appointment whose columns have this prefix.
fn appointment_record(row: &SqlRow<'_>, prefix: &str) -> RowResult<Option<AppointmentRecord>> {
    let column = |name: &str| format!("{prefix}_{name}");
    let Some(appointment_id) = row.get::<Option<String>>(&column("appointment_id"))? else {
        return Ok(None);
    };
    let proposed: String = row.get(&column("proposed"))?;
    let proposed: Vec<i64> = tradepost_document::json::from_str(&proposed)?;
    Ok(Some(AppointmentRecord {
        appointment_id,
        kind: word(row, &column("kind"))?,
        state: word(row, &column("state"))?,
        requested_at: row.get(&column("requested_at"))?,
        starts_at: row.get(&column("starts_at"))?,
        ends_at: row.get(&column("ends_at"))?,
        proposed: proposed.into_iter().map(moment).collect::<RowResult<_>>()?,
        version: row.get(&column("version"))?,
    }))
}

/// Reads a column that holds a name of a vocabulary.
pub(super) fn word<T: Vocabulary>(row: &SqlRow<'_>, column: &str) -> RowResult<T> {
    from_stored_name(&row.get::<String>(column)?)
}

/// Reads a column that holds a name of a vocabulary, or NULL.
pub(super) fn word_if_any<T: Vocabulary>(row: &SqlRow<'_>, column: &str) -> RowResult<Option<T>> {
    let name: Option<String> = row.get(column)?;
    name.map(|name| from_stored_name(&name)).transpose()
}

fn from_stored_name<T: Vocabulary>(name: &str) -> RowResult<T> {
    T::from_name(name).ok_or_else(|| format!("{name} is none of {}", T::NAMES.join(", ")).into())
}

fn moment(milliseconds: i64) -> RowResult<Timestamp> {
    Timestamp::from_cell(SqlCell::Integer(milliseconds))
}
