//! Taking leads: what is asked of the store before one is taken, and how it is written.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, params};
use tradepost_dealer::lot::{Claim, ClaimedReply, Grant, KnownLead, Lot, Period, TakenLead};
use tradepost_dealer::record::{
    AppointmentRecord, AppointmentState, LeadEventKind, LeadRecord, LeadState,
};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::Value;

use super::super::{Transaction, moment};
use super::{LEAD, lead_record};

impl Lot for Transaction<'_> {
    fn claimed_replies(&self, claim: &Claim<'_>) -> Result<Vec<ClaimedReply>, Fault> {
        let mut found = Vec::new();
        for scope in claim.scopes {
            let reply = self
                .0
                .prepare_cached(
                    "SELECT payload_hash, reply, first_seen_at FROM idempotency_keys
                     WHERE dealer_id = ?1 AND scope = ?2 AND key = ?3 AND first_seen_at > ?4",
                )
                .and_then(|mut statement| {
                    let since = claim.since.as_millisecond();
                    let values = params![claim.dealer_id, scope, claim.key, since];
                    let read = |row: &rusqlite::Row<'_>| {
                        Ok(ClaimedReply {
                            payload_hash: row.get(0)?,
                            reply: row.get(1)?,
                            first_seen_at: moment(row.get(2)?),
                        })
                    };
                    statement.query_row(values, read).optional()
                })
                .map_err(Fault::on("reading an idempotency key"))?;
            found.extend(reply);
        }
        Ok(found)
    }

    fn claim(&self, claim: &Claim<'_>, reply: &ClaimedReply) -> Result<(), Fault> {
        self.0
            .prepare_cached(
                "DELETE FROM idempotency_keys WHERE dealer_id = ?1 AND first_seen_at <= ?2",
            )
            .and_then(|mut statement| {
                statement.execute(params![claim.dealer_id, claim.since.as_millisecond()])
            })
            .map_err(Fault::on("forgetting idempotency keys"))?;
        for scope in claim.scopes {
            self.0
                .prepare_cached(
                    "INSERT OR REPLACE INTO idempotency_keys
                         (dealer_id, scope, key, payload_hash, reply, first_seen_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )
                .and_then(|mut statement| {
                    statement.execute(params![
                        claim.dealer_id,
                        scope,
                        claim.key,
                        reply.payload_hash,
                        reply.reply,
                        reply.first_seen_at.as_millisecond()
                    ])
                })
                .map_err(Fault::on("writing an idempotency key"))?;
        }
        Ok(())
    }

    fn known_lead(&self, known: &KnownLead<'_>) -> Result<Option<LeadRecord>, Fault> {
        for proof in known.proofs {
            for contact in known.contacts {
                let found: Option<String> = self
                    .0
                    .prepare_cached(
                        "SELECT lead_id FROM lead_matches
                         WHERE dealer_id = ?1 AND proof = ?2 AND contact = ?3 AND subject = ?4
                             AND received_at > ?5
                         ORDER BY received_at LIMIT 1",
                    )
                    .and_then(|mut statement| {
                        let since = known.since.as_millisecond();
                        let values = params![known.dealer_id, proof, contact, known.subject, since];
                        statement.query_row(values, |row| row.get(0)).optional()
                    })
                    .map_err(Fault::on("looking for an equivalent lead"))?;
                if let Some(lead_id) = found {
                    return self.lead(&lead_id);
                }
            }
        }
        Ok(None)
    }

    fn booked(
        &self,
        dealer_id: &str,
        rooftop: &str,
        department: &str,
        (from, to): Period,
        except_lead: Option<&str>,
    ) -> Result<Vec<Period>, Fault> {
        self.0
            .prepare_cached(
                "SELECT a.starts_at, a.ends_at
                 FROM appointments a JOIN lead_submissions s ON s.seq = a.submission
                 WHERE a.dealer_id = ?1 AND a.rooftop = ?2 AND a.department = ?3 AND a.ends_at > ?4
                     AND a.starts_at < ?5 AND a.state = 'confirmed' AND s.lead_id IS NOT ?6",
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

    fn has_tallied(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<bool, Fault> {
        let counted: u32 = self
            .0
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM lead_tallies
                 WHERE dealer_id = ?1 AND subject = ?2 AND at > ?3 LIMIT ?4)",
            )
            .and_then(|mut statement| {
                let values = params![dealer_id, subject, since.as_millisecond(), limit];
                statement.query_row(values, |row| row.get(0))
            })
            .map_err(Fault::on("counting leads"))?;
        Ok(counted >= limit)
    }

    fn has_booked(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
        except_lead: Option<&str>,
    ) -> Result<bool, Fault> {
        let counted: u32 = self
            .0
            .prepare_cached(
                "SELECT count(*) FROM (SELECT 1 FROM lead_tallies t
                 JOIN appointments a ON a.submission = t.submission
                 JOIN lead_submissions s ON s.seq = t.submission
                 WHERE t.dealer_id = ?1 AND t.subject = ?2 AND t.at > ?3
                     AND a.state = 'confirmed' AND s.lead_id IS NOT ?5 LIMIT ?4)",
            )
            .and_then(|mut statement| {
                let since = since.as_millisecond();
                let values = params![dealer_id, subject, since, limit, except_lead];
                statement.query_row(values, |row| row.get(0))
            })
            .map_err(Fault::on("counting appointments"))?;
        Ok(counted >= limit)
    }

    fn take_lead(&self, taken: &TakenLead<'_>) -> Result<i64, Fault> {
        let lead = taken.lead;
        let submission = self.put_submission(taken)?;
        if let Some(appointment) = &lead.submission.appointment {
            self.put_appointment(lead, appointment, taken.department, submission)?;
        }
        match taken.kind {
            LeadEventKind::Received => self.put_lead(taken, submission)?,
            LeadEventKind::Resubmitted
            | LeadEventKind::Released
            | LeadEventKind::ConsentRevoked
            | LeadEventKind::Erased => self.change_lead(lead, submission)?,
        }
        self.put_event(lead, taken.kind, submission)?;
        self.put_matches(taken)?;
        self.put_tallies(taken, submission)?;
        Ok(submission)
    }

    fn kept_of(
        &self,
        dealer_id: &str,
        network: &str,
        since: Timestamp,
    ) -> Result<(u64, Option<Timestamp>), Fault> {
        self.evidence_of(dealer_id, network, since)
    }

    fn keep_consent(&self, grant: &Grant<'_>) -> Result<(), Fault> {
        self.keep_evidence(grant)
    }
}

impl Transaction<'_> {
    pub(in crate::sqlite) fn lead(&self, lead_id: &str) -> Result<Option<LeadRecord>, Fault> {
        self.0
            .prepare_cached(&format!("{LEAD} WHERE l.lead_id = ?1"))
            .and_then(|mut statement| statement.query_row([lead_id], lead_record).optional())
            .map_err(Fault::on("reading a lead"))
    }

    /// Releases a lead that is held back; `false` when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn release_lead(&self, lead_id: &str, now: Timestamp) -> Result<bool, Fault> {
        let held = self.lead(lead_id)?.filter(|lead| lead.state == LeadState::Held);
        let Some(lead) = held else {
            return Ok(false);
        };
        self.move_lead(lead, LeadState::Received, LeadEventKind::Released, now)?;
        Ok(true)
    }

    /// Brings a lead into another state, with the event that says so.
    pub(in crate::sqlite) fn move_lead(
        &self,
        lead: LeadRecord,
        state: LeadState,
        kind: LeadEventKind,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let lead = LeadRecord { state, changed_at: now, ..lead };
        let submission: i64 = self
            .0
            .query_row("SELECT submission FROM leads WHERE lead_id = ?1", [&lead.lead_id], |row| {
                row.get(0)
            })
            .map_err(Fault::on("reading a lead"))?;
        self.change_lead(&lead, submission)?;
        self.put_event(&lead, kind, submission)
    }

    fn put_submission(&self, taken: &TakenLead<'_>) -> Result<i64, Fault> {
        let (lead, sent) = (taken.lead, &taken.lead.submission);
        self.0
            .prepare_cached(
                "INSERT INTO lead_submissions (lead_id, dealer_id, received_at, duplicate, version,
                                               principal, address, payload, rooftop, listing)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    lead.lead_id,
                    lead.dealer_id,
                    sent.received_at.as_millisecond(),
                    taken.kind != LeadEventKind::Received,
                    sent.version.name(),
                    sent.principal,
                    sent.address,
                    sent.payload.to_string(),
                    sent.rooftop,
                    sent.listing.as_ref().map(Value::to_string),
                ])
            })
            .map_err(Fault::on("writing a submission"))?;
        Ok(self.0.last_insert_rowid())
    }

    fn put_appointment(
        &self,
        lead: &LeadRecord,
        appointment: &AppointmentRecord,
        department: &'static str,
        submission: i64,
    ) -> Result<(), Fault> {
        let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
        let proposed: Vec<_> = appointment.proposed.iter().map(|t| t.as_millisecond()).collect();
        self.0
            .prepare_cached(
                "INSERT INTO appointments (appointment_id, submission, dealer_id, rooftop,
                     department, kind, state, requested_at, starts_at, ends_at, proposed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    appointment.appointment_id,
                    submission,
                    lead.dealer_id,
                    lead.submission.rooftop,
                    department,
                    appointment.kind.name(),
                    appointment.state.name(),
                    millis(appointment.requested_at),
                    millis(appointment.starts_at),
                    millis(appointment.ends_at),
                    tradepost_wire::json::json!(proposed).to_string(),
                ])
            })
            .map_err(Fault::on("writing an appointment"))?;
        Ok(())
    }

    fn put_lead(&self, taken: &TakenLead<'_>, submission: i64) -> Result<(), Fault> {
        let (lead, known) = (taken.lead, &taken.known);
        let mut person = None;
        for contact in known.contacts {
            let query = "SELECT person FROM lead_contacts WHERE dealer_id = ?1 AND contact = ?2";
            let found = self
                .0
                .prepare_cached(query)
                .and_then(|mut statement| {
                    let values = params![known.dealer_id, contact];
                    statement.query_row(values, |row| row.get::<_, String>(0)).optional()
                })
                .map_err(Fault::on("looking for a person"))?;
            person = person.or(found);
        }
        self.0
            .prepare_cached(
                "INSERT INTO leads (lead_id, dealer_id, received_at, changed_at, state, held_for,
                                    person, time_zone, submission, appointment_id)
                 VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    lead.lead_id,
                    lead.dealer_id,
                    lead.received_at.as_millisecond(),
                    lead.state.name(),
                    lead.held_for.map(|why| why.name()),
                    person.as_ref().unwrap_or(&lead.lead_id),
                    lead.time_zone,
                    submission,
                    lead.appointment.as_ref().map(|current| &current.appointment_id),
                ])
            })
            .map_err(Fault::on("writing a lead"))?;
        Ok(())
    }

    /// Makes a lead what it is from now on. What was its current appointment and no longer is
    /// makes room.
    fn change_lead(&self, lead: &LeadRecord, submission: i64) -> Result<(), Fault> {
        let current = lead.appointment.as_ref().map(|current| &current.appointment_id);
        self.0
            .prepare_cached(
                "UPDATE appointments SET state = ?3 WHERE appointment_id IS NOT ?2
                     AND appointment_id = (SELECT appointment_id FROM leads WHERE lead_id = ?1)",
            )
            .and_then(|mut statement| {
                let superseded = AppointmentState::Superseded.name();
                statement.execute(params![lead.lead_id, current, superseded])
            })
            .map_err(Fault::on("superseding an appointment"))?;
        self.0
            .prepare_cached(
                "UPDATE leads SET changed_at = ?2, state = ?3, time_zone = ?4, submission = ?5,
                     appointment_id = ?6 WHERE lead_id = ?1",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    lead.lead_id,
                    lead.changed_at.as_millisecond(),
                    lead.state.name(),
                    lead.time_zone,
                    submission,
                    current,
                ])
            })
            .map_err(Fault::on("changing a lead"))?;
        Ok(())
    }

    fn put_event(
        &self,
        lead: &LeadRecord,
        kind: LeadEventKind,
        submission: i64,
    ) -> Result<(), Fault> {
        let current = lead.appointment.as_ref();
        self.0
            .prepare_cached(
                "INSERT INTO lead_events (lead_id, dealer_id, at, kind, state, submission,
                                          appointment_id, appointment_state)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    lead.lead_id,
                    lead.dealer_id,
                    lead.changed_at.as_millisecond(),
                    kind.name(),
                    lead.state.name(),
                    submission,
                    current.map(|current| &current.appointment_id),
                    current.map(|current| current.state.name()),
                ])
            })
            .map_err(Fault::on("writing a lead's event"))?;
        Ok(())
    }

    /// Makes the lead known again by what this submission shows, for as long as by its first one.
    fn put_matches(&self, taken: &TakenLead<'_>) -> Result<(), Fault> {
        let (lead, known) = (taken.lead, &taken.known);
        for contact in known.contacts {
            self.0
                .prepare_cached(
                    "INSERT OR IGNORE INTO lead_contacts (dealer_id, contact, person)
                     SELECT dealer_id, ?2, person FROM leads WHERE lead_id = ?1",
                )
                .and_then(|mut statement| statement.execute(params![lead.lead_id, contact]))
                .map_err(Fault::on("writing a contact"))?;
            for proof in known.proofs {
                self.0
                    .prepare_cached(
                        "INSERT OR IGNORE INTO lead_matches
                             (dealer_id, proof, contact, subject, received_at, lead_id)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )
                    .and_then(|mut statement| {
                        statement.execute(params![
                            lead.dealer_id,
                            proof,
                            contact,
                            known.subject,
                            lead.received_at.as_millisecond(),
                            lead.lead_id,
                        ])
                    })
                    .map_err(Fault::on("writing by what a lead is known"))?;
            }
        }
        Ok(())
    }

    fn put_tallies(&self, taken: &TakenLead<'_>, submission: i64) -> Result<(), Fault> {
        let dealer = &taken.lead.dealer_id;
        self.0
            .prepare_cached("DELETE FROM lead_tallies WHERE dealer_id = ?1 AND at <= ?2")
            .and_then(|mut statement| {
                statement.execute(params![dealer, taken.tallied_since.as_millisecond()])
            })
            .map_err(Fault::on("forgetting tallies"))?;
        let at = taken.lead.changed_at.as_millisecond();
        for subject in taken.tallies {
            self.0
                .prepare_cached(
                    "INSERT INTO lead_tallies (dealer_id, subject, at, submission)
                     VALUES (?1, ?2, ?3, ?4)",
                )
                .and_then(|mut statement| {
                    statement.execute(params![dealer, subject, at, submission])
                })
                .map_err(Fault::on("writing a tally"))?;
        }
        Ok(())
    }
}
