//! Leads, their appointments, and the keys under which they were sent.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};
use serde_json::Value;
use tradepost_wire::aap::Version;
use tradepost_wire::catalog::Vocabulary as _;

use super::{Database, Transaction, moment};
use crate::fault::Fault;
use crate::store::{AppointmentRecord, LeadRecord};

/// A submission to be stored.
#[derive(Debug)]
pub struct NewLead<'a> {
    /// The record itself.
    pub record: &'a LeadRecord,
    /// The department that the appointment occupies.
    pub department: &'static str,
    /// The customer's addresses, normalised.
    pub contacts: &'a [String],
    /// What equivalent leads have in common besides the customer (C-19).
    pub subject: &'a str,
}

/// What was answered to the first request with an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedReply {
    /// Hash of the canonical payload.
    pub payload_hash: Vec<u8>,
    /// The answer, as JSON.
    pub reply: String,
    /// When.
    pub first_seen_at: Timestamp,
}

impl Transaction<'_> {
    /// What was answered under this key, if it was used after `since`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn claimed_reply(
        &self,
        dealer_id: &str,
        principal: &str,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<ClaimedReply>, Fault> {
        self.0
            .prepare_cached(
                "SELECT payload_hash, reply, first_seen_at FROM idempotency_keys
                 WHERE dealer_id = ?1 AND principal = ?2 AND key = ?3 AND first_seen_at > ?4",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![dealer_id, principal, key, since.as_millisecond()], |row| {
                        Ok(ClaimedReply {
                            payload_hash: row.get(0)?,
                            reply: row.get(1)?,
                            first_seen_at: moment(row.get(2)?),
                        })
                    })
                    .optional()
            })
            .map_err(Fault::on("reading an idempotency key"))
    }

    /// Remembers the answer under its key, and forgets the dealer's keys from before `since`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn claim(
        &self,
        dealer_id: &str,
        principal: &str,
        key: &str,
        reply: &ClaimedReply,
        since: Timestamp,
    ) -> Result<(), Fault> {
        self.0
            .prepare_cached(
                "DELETE FROM idempotency_keys WHERE dealer_id = ?1 AND first_seen_at <= ?2",
            )
            .and_then(|mut statement| statement.execute(params![dealer_id, since.as_millisecond()]))
            .map_err(Fault::on("forgetting idempotency keys"))?;
        self.0
            .prepare_cached(
                "INSERT OR REPLACE INTO idempotency_keys
                     (dealer_id, principal, key, payload_hash, reply, first_seen_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    dealer_id,
                    principal,
                    key,
                    reply.payload_hash,
                    reply.reply,
                    reply.first_seen_at.as_millisecond()
                ])
            })
            .map_err(Fault::on("writing an idempotency key"))?;
        Ok(())
    }

    /// The lead that the same customer sent about the same subject after `since`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn equivalent_lead(
        &self,
        dealer_id: &str,
        contacts: &[String],
        subject: &str,
        since: Timestamp,
    ) -> Result<Option<String>, Fault> {
        for contact in contacts {
            let found = self
                .0
                .prepare_cached(
                    "SELECT lead_id FROM lead_subjects
                     WHERE dealer_id = ?1 AND contact = ?2 AND subject = ?3 AND received_at > ?4
                     ORDER BY received_at LIMIT 1",
                )
                .and_then(|mut statement| {
                    let since = since.as_millisecond();
                    statement
                        .query_row(params![dealer_id, contact, subject, since], |row| row.get(0))
                        .optional()
                })
                .map_err(Fault::on("looking for an equivalent lead"))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// When a department's confirmed appointments take place that overlap a period, without those
    /// of one lead.
    ///
    /// # Errors
    /// When the database fails.
    pub fn booked(
        &self,
        dealer_id: &str,
        rooftop: &str,
        department: &str,
        (from, to): (Timestamp, Timestamp),
        except_lead: Option<&str>,
    ) -> Result<Vec<(Timestamp, Timestamp)>, Fault> {
        self.0
            .prepare_cached(
                "SELECT a.starts_at, a.ends_at FROM appointments a JOIN leads l ON l.seq = a.lead_seq
                 WHERE a.dealer_id = ?1 AND a.rooftop = ?2 AND a.department = ?3 AND a.ends_at > ?4
                     AND a.starts_at < ?5 AND a.status = 'confirmed' AND l.lead_id IS NOT ?6",
            )
            .and_then(|mut statement| {
                let (from, to) = (from.as_millisecond(), to.as_millisecond());
                let values = params![dealer_id, rooftop, department, from, to, except_lead];
                statement
                    .query_map(values, |row| Ok((moment(row.get(0)?), moment(row.get(1)?))))
                    .and_then(Iterator::collect)
            })
            .map_err(Fault::on("reading appointments"))
    }

    /// Frees what a lead had booked, because it has booked something else.
    ///
    /// # Errors
    /// When the database fails.
    pub fn supersede_appointments(&self, lead_id: &str) -> Result<(), Fault> {
        self.0
            .prepare_cached(
                "UPDATE appointments SET status = 'superseded' WHERE status = 'confirmed'
                     AND lead_seq IN (SELECT seq FROM leads WHERE lead_id = ?1)",
            )
            .and_then(|mut statement| statement.execute(params![lead_id]))
            .map_err(Fault::on("superseding appointments"))?;
        Ok(())
    }

    /// Stores a submission with its appointment.
    ///
    /// # Errors
    /// When the database fails.
    pub fn put_lead(&self, lead: &NewLead<'_>) -> Result<(), Fault> {
        let record = lead.record;
        let on = Fault::on::<rusqlite::Error>;
        self.0
            .prepare_cached(
                "INSERT INTO leads (lead_id, dealer_id, received_at, duplicate, version, principal,
                                    payload, rooftop, listing)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    record.lead_id,
                    record.dealer_id,
                    record.received_at.as_millisecond(),
                    record.duplicate,
                    record.version.name(),
                    record.principal,
                    record.payload.to_string(),
                    record.rooftop,
                    record.listing.as_ref().map(Value::to_string),
                ])
            })
            .map_err(on("writing a lead"))?;
        let seq = self.0.last_insert_rowid();
        self.put_subjects(lead)?;
        let Some(appointment) = &record.appointment else {
            return Ok(());
        };
        let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
        let proposed: Vec<_> = appointment.proposed.iter().map(|t| t.as_millisecond()).collect();
        self.0
            .prepare_cached(
                "INSERT INTO appointments (appointment_id, lead_seq, dealer_id, rooftop, department,
                     kind, status, requested_at, starts_at, ends_at, proposed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    appointment.appointment_id,
                    seq,
                    record.dealer_id,
                    record.rooftop,
                    lead.department,
                    appointment.kind,
                    appointment.status,
                    millis(appointment.requested_at),
                    millis(appointment.starts_at),
                    millis(appointment.ends_at),
                    serde_json::json!(proposed).to_string(),
                ])
            })
            .map_err(on("writing an appointment"))?;
        Ok(())
    }

    /// Makes a lead findable by its customer's addresses. An address that only a duplicate has
    /// belongs to the same customer, and finds the first submission for as long as that one's own
    /// addresses do.
    fn put_subjects(&self, lead: &NewLead<'_>) -> Result<(), Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let record = lead.record;
        for contact in lead.contacts {
            if !record.duplicate {
                let received_at = record.received_at.as_millisecond();
                self.0
                    .prepare_cached(
                        "INSERT OR IGNORE INTO lead_subjects
                             (dealer_id, contact, subject, received_at, lead_id)
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    )
                    .and_then(|mut statement| {
                        let (dealer, lead_id) = (&record.dealer_id, &record.lead_id);
                        statement.execute(params![
                            dealer,
                            contact,
                            lead.subject,
                            received_at,
                            lead_id
                        ])
                    })
                    .map_err(on("writing a lead's subject"))?;
                continue;
            }
            for known in lead.contacts.iter().filter(|known| *known != contact) {
                self.0
                    .prepare_cached(
                        "INSERT OR IGNORE INTO lead_subjects
                             (dealer_id, contact, subject, received_at, lead_id)
                         SELECT dealer_id, ?2, subject, received_at, lead_id FROM lead_subjects
                         WHERE dealer_id = ?1 AND contact = ?3 AND subject = ?4 AND lead_id = ?5",
                    )
                    .and_then(|mut statement| {
                        let (dealer, lead_id) = (&record.dealer_id, &record.lead_id);
                        statement.execute(params![dealer, contact, known, lead.subject, lead_id])
                    })
                    .map_err(on("writing a duplicate's subject"))?;
            }
        }
        Ok(())
    }
}

const LEAD_COLUMNS: &str = "l.lead_id, l.dealer_id, l.received_at, l.duplicate, l.version,
    l.principal, l.payload, l.rooftop, l.listing, a.appointment_id, a.kind, a.status,
    a.requested_at, a.starts_at, a.ends_at, a.proposed
    FROM leads l LEFT JOIN appointments a ON a.lead_seq = l.seq";

impl Database {
    pub(in crate::store) fn leads(
        &self,
        dealer_id: Option<&str>,
    ) -> Result<Vec<LeadRecord>, Fault> {
        self.0
            .prepare(&format!(
                "SELECT {LEAD_COLUMNS} WHERE NOT l.duplicate AND (?1 IS NULL OR l.dealer_id = ?1)
                 ORDER BY l.received_at DESC, l.seq DESC"
            ))
            .and_then(|mut statement| {
                statement.query_map(params![dealer_id], lead_record).and_then(Iterator::collect)
            })
            .map_err(Fault::on("reading leads"))
    }

    pub(in crate::store) fn lead(&self, lead_id: &str) -> Result<Vec<LeadRecord>, Fault> {
        self.0
            .prepare(&format!("SELECT {LEAD_COLUMNS} WHERE l.lead_id = ?1 ORDER BY l.seq"))
            .and_then(|mut statement| {
                statement.query_map(params![lead_id], lead_record).and_then(Iterator::collect)
            })
            .map_err(Fault::on("reading a lead"))
    }
}

fn lead_record(row: &Row<'_>) -> rusqlite::Result<LeadRecord> {
    let version: String = row.get(4)?;
    let time = |index| row.get::<_, Option<i64>>(index).map(|at| at.map(moment));
    let appointment = match row.get::<_, Option<String>>(9)? {
        Some(appointment_id) => {
            let proposed: Vec<i64> = json(&row.get::<_, String>(15)?, 15)?;
            Some(AppointmentRecord {
                appointment_id,
                kind: row.get(10)?,
                status: row.get(11)?,
                requested_at: time(12)?,
                starts_at: time(13)?,
                ends_at: time(14)?,
                proposed: proposed.into_iter().map(moment).collect(),
            })
        }
        None => None,
    };
    Ok(LeadRecord {
        lead_id: row.get(0)?,
        dealer_id: row.get(1)?,
        received_at: moment(row.get(2)?),
        duplicate: row.get(3)?,
        version: Version::from_name(&version).unwrap_or(Version::V1_1),
        principal: row.get(5)?,
        payload: json(&row.get::<_, String>(6)?, 6)?,
        rooftop: row.get(7)?,
        listing: row.get::<_, Option<String>>(8)?.map(|text| json(&text, 8)).transpose()?,
        appointment,
    })
}

fn json<T: serde::de::DeserializeOwned>(text: &str, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}
