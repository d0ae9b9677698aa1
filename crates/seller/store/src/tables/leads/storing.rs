//! Storing leads: the queries before a lead is accepted, and how it is written.

use jiff::Timestamp;
use tradepost_dealer::adf::view::agent_name;
use tradepost_dealer::calendar::{OccupiedPeriod, TimePeriod};
use tradepost_dealer::lead_store::{
    LeadStore, NewConsent, NewLead, RepeatCriteria, ScopedKey, StoredReply,
};
use tradepost_dealer::record::{
    AppointmentRecord, AppointmentState, LeadEventKind, LeadRecord, LeadState,
};
use tradepost_dealer::staff::lead_work::LeadAssignment;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::super::StoreTransaction;
use super::super::privacy::{ADDRESS, PAYLOAD, REPLY, lead_of};
use super::listing::agent_term;
use super::{LEAD_QUERY, lead_record};
use crate::change_notice::ChangeNotice;
use crate::privacy::AadContext;
use crate::sql::{SqlRow, params};

/// Query for the reply to an idempotency key. Two look-ups by the whole primary key, and by nothing else: with `OR`, or
/// with an age that another index has, all keys of the dealer may be read for each lead. PostgreSQL decides by the
/// number of rows when the statement was first planned, and in a new database there were none.
pub(super) const CLAIMED_REPLY: &str =
    "SELECT payload_hash, reply, first_seen_at, scope, key, sealed_by
         FROM idempotency_keys
         WHERE dealer_id = $1 AND scope = $2 AND key = $3
     UNION ALL SELECT payload_hash, reply, first_seen_at, scope, key, sealed_by
         FROM idempotency_keys
         WHERE dealer_id = $1 AND scope = $4 AND key = $5 AND sealed_by IS NULL
     ORDER BY 3 DESC LIMIT 1";

/// Query for the person that a contact belongs to.
pub(super) const PERSON: &str =
    "SELECT person FROM lead_contacts WHERE dealer_id = $1 AND contact = $2
     UNION ALL SELECT person FROM lead_contacts WHERE dealer_id = $1 AND contact = $3";

/// Query for the number of leads of a subject, up to a limit. `at + 0` prevents the use of the index on time, which
/// would read all leads of the dealer in this time.
pub(super) const TALLIED: &str = "SELECT count(*) FROM (SELECT 1 FROM lead_tallies
     WHERE dealer_id = $1 AND subject IN ($2, $5) AND at + 0 > $3 LIMIT $4) AS counted";

/// Query for the first lead that is known by a proof, a contact and a subject; two look-ups, as above.
pub(super) const KNOWN_LEAD: &str = "SELECT lead_id, received_at FROM lead_matches
         WHERE dealer_id = $1 AND proof = $2 AND contact = $3 AND subject = $4 AND received_at > $5
     UNION ALL SELECT lead_id, received_at FROM lead_matches
         WHERE dealer_id = $1 AND proof = $6 AND contact = $7 AND subject = $8 AND received_at > $5
     ORDER BY 2 LIMIT 1";

impl LeadStore for StoreTransaction<'_> {
    fn claimed_replies(&self, claim: &ScopedKey<'_>) -> Result<Vec<StoredReply>, InternalError> {
        // Held from the first look-up to the commit: two concurrent submissions must not both be new.
        self.0.lock(claim.dealer_id)?;
        let mut found = Vec::new();
        let cipher = self.0.cipher();
        let [key, plain_key] = cipher.forms(claim.key);
        for scope in claim.scopes {
            let [scope, plain_scope] = cipher.forms(scope);
            // A reply from before there was a key stays in clear until it is encrypted.
            let reply = self.0.first(
                "reading an idempotency key",
                CLAIMED_REPLY,
                params![claim.dealer_id, scope, key, plain_scope, plain_key],
                |row: &SqlRow<'_>| {
                    let scope: String = row.get("scope")?;
                    let key: String = row.get("key")?;
                    let by: Option<String> = row.get("sealed_by")?;
                    let of = AadContext::column(REPLY, &[claim.dealer_id, &scope, &key]);
                    Ok(StoredReply {
                        payload_hash: row.get("payload_hash")?,
                        reply: row.opened("reply", by.as_deref(), &of)?,
                        first_seen_at: row.get("first_seen_at")?,
                    })
                },
            )?;
            found.extend(reply.filter(|reply| reply.first_seen_at > claim.since));
        }
        Ok(found)
    }

    fn store_reply(&self, claim: &ScopedKey<'_>, reply: &StoredReply) -> Result<(), InternalError> {
        self.0.lock(claim.dealer_id)?;
        self.0.execute(
            "forgetting idempotency keys",
            "DELETE FROM idempotency_keys WHERE dealer_id = $1 AND first_seen_at <= $2",
            params![claim.dealer_id, claim.since],
        )?;
        let cipher = self.0.cipher();
        let key = cipher.blind(claim.key);
        let lead_id = lead_of(&reply.reply);
        for scope in claim.scopes {
            let scope = cipher.blind(scope);
            let of = AadContext::column(REPLY, &[claim.dealer_id, &scope, &key]);
            self.0.execute(
                "writing an idempotency key",
                "INSERT INTO idempotency_keys (dealer_id, scope, key, payload_hash, reply,
                                               first_seen_at, sealed_by, lead_id)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                 ON CONFLICT (dealer_id, scope, key) DO UPDATE SET
                     payload_hash = excluded.payload_hash, reply = excluded.reply,
                     first_seen_at = excluded.first_seen_at, sealed_by = excluded.sealed_by,
                     lead_id = excluded.lead_id",
                params![
                    claim.dealer_id,
                    scope,
                    key,
                    reply.payload_hash,
                    cipher.seal(&of, &reply.reply)?,
                    reply.first_seen_at,
                    cipher.key(),
                    lead_id,
                ],
            )?;
        }
        Ok(())
    }

    fn known_lead(&self, known: &RepeatCriteria<'_>) -> Result<Option<LeadRecord>, InternalError> {
        self.0.lock(known.dealer_id)?;
        let cipher = self.0.cipher();
        let [subject, plain_subject] = cipher.forms(known.subject);
        for proof in known.proofs {
            let [proof, plain_proof] = cipher.forms(proof);
            for contact in known.contacts {
                let [contact, plain_contact] = cipher.forms(contact);
                let found: Option<String> = self.0.first(
                    "looking for an equivalent lead",
                    KNOWN_LEAD,
                    params![
                        known.dealer_id,
                        proof,
                        contact,
                        subject,
                        known.since,
                        plain_proof,
                        plain_contact,
                        plain_subject,
                    ],
                    |row| row.get("lead_id"),
                )?;
                if let Some(lead_id) = found {
                    return self.lead(&lead_id);
                }
            }
        }
        Ok(None)
    }

    fn occupied(
        &self,
        dealer_id: &str,
        rooftop: &str,
        department: &str,
        period: TimePeriod,
        except_lead: Option<&str>,
    ) -> Result<Vec<OccupiedPeriod>, InternalError> {
        self.occupied_times(dealer_id, rooftop, department, period, except_lead)
    }

    fn appointment_if_changed(
        &self,
        dealer_id: &str,
        appointment_id: &str,
    ) -> Result<Option<AppointmentRecord>, InternalError> {
        self.changed(dealer_id, appointment_id)
    }

    fn has_reached_submissions(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<bool, InternalError> {
        self.0.lock(dealer_id)?;
        let [subject, plain] = self.0.cipher().forms(subject);
        // Rows beyond the limit are not counted.
        let counted: u32 = self.0.one(
            "counting leads",
            TALLIED,
            params![dealer_id, subject, since, limit, plain],
            |row| row.only(),
        )?;
        Ok(counted >= limit)
    }

    fn has_reached_bookings(
        &self,
        dealer_id: &str,
        subject: &str,
        since: Timestamp,
        limit: u32,
        except_lead: Option<&str>,
    ) -> Result<bool, InternalError> {
        self.0.lock(dealer_id)?;
        let [subject, plain] = self.0.cipher().forms(subject);
        let counted: u32 = self.0.one("counting appointments", "SELECT count(*) FROM (SELECT 1 FROM lead_tallies t
                 JOIN appointments a ON a.submission = t.submission
                 JOIN lead_submissions s ON s.seq = t.submission
                 WHERE t.dealer_id = $1 AND t.subject IN ($2, $6) AND t.at > $3
                     AND a.state = 'confirmed' AND s.lead_id IS DISTINCT FROM $5 LIMIT $4) AS counted", params![dealer_id, subject, since, limit, except_lead, plain], |row| row.only())?;
        Ok(counted >= limit)
    }

    fn store_lead(&self, taken: &NewLead<'_>) -> Result<i64, InternalError> {
        self.0.lock(&taken.lead.dealer_id)?;
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
            | LeadEventKind::Erased
            | LeadEventKind::AppointmentConfirmed
            | LeadEventKind::AppointmentMoved
            | LeadEventKind::AppointmentCancelled
            | LeadEventKind::AppointmentNoShow => self.change_lead(lead, submission)?,
        }
        let booked = lead.submission.appointment.as_ref();
        let is_booked = booked.is_some_and(|appointment| appointment.state.occupies());
        if is_booked && taken.kind == LeadEventKind::Resubmitted {
            self.reopen_lost_lead(&lead.lead_id)?;
        }
        self.put_event(lead, taken.kind, submission)?;
        self.put_matches(taken)?;
        self.put_tallies(taken, submission)?;
        Ok(submission)
    }

    fn stored_bytes(
        &self,
        dealer_id: &str,
        network: &str,
        since: Timestamp,
    ) -> Result<(u64, Option<Timestamp>), InternalError> {
        self.0.lock(dealer_id)?;
        self.evidence_of(dealer_id, network, since)
    }

    fn store_consent(&self, grant: &NewConsent<'_>) -> Result<(), InternalError> {
        self.0.lock(grant.dealer_id)?;
        self.keep_evidence(grant)
    }
}

impl StoreTransaction<'_> {
    /// Returns a lead by its id.
    pub(in crate::tables) fn lead(
        &self,
        lead_id: &str,
    ) -> Result<Option<LeadRecord>, InternalError> {
        self.0.first(
            "reading a lead",
            &format!("{} WHERE l.lead_id = $1", *LEAD_QUERY),
            params![lead_id],
            lead_record,
        )
    }

    /// Returns a lead, after locking its dealer's data.
    ///
    /// # Errors
    /// When the database fails.
    pub fn own_lead(&self, lead_id: &str) -> Result<Option<LeadRecord>, InternalError> {
        let Some(dealer) = self.dealer_of_lead(lead_id)? else { return Ok(None) };
        // The dealer never changes; the lead is read under the lock.
        self.0.lock(&dealer)?;
        self.lead(lead_id)
    }

    /// Returns the dealer of a lead.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) fn dealer_of_lead(&self, lead_id: &str) -> Result<Option<String>, InternalError> {
        let sql = "SELECT dealer_id FROM leads WHERE lead_id = $1";
        self.0.first("finding a lead", sql, params![lead_id], |row| row.only())
    }

    /// Releases a lead that is held back. Returns `false` when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn release_lead(&self, lead_id: &str, now: Timestamp) -> Result<bool, InternalError> {
        let held = self.own_lead(lead_id)?.filter(|lead| lead.state == LeadState::Held);
        let Some(lead) = held else {
            return Ok(false);
        };
        self.move_lead(lead, LeadState::Received, LeadEventKind::Released, now)?;
        Ok(true)
    }

    /// Changes the state of a lead, with the event for it.
    pub(in crate::tables) fn move_lead(
        &self,
        lead: LeadRecord,
        state: LeadState,
        kind: LeadEventKind,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        let lead = LeadRecord { state, changed_at: now, ..lead };
        let submission: i64 = self.0.one(
            "reading a lead",
            "SELECT submission FROM leads WHERE lead_id = $1",
            params![&lead.lead_id],
            |row| row.only(),
        )?;
        self.change_lead(&lead, submission)?;
        match state {
            LeadState::Received | LeadState::Held => {}
            // There is nothing left to do with a customer who may not be contacted.
            LeadState::Revoked | LeadState::Erased => {
                self.set_next_step(&lead, None)?;
            }
        }
        self.put_event(&lead, kind, submission)
    }

    /// Writes a submission and returns its number.
    fn put_submission(&self, taken: &NewLead<'_>) -> Result<i64, InternalError> {
        let lead = taken.lead;
        let sent = &taken.lead.submission;
        let cipher = self.0.cipher();
        let of =
            |column| AadContext::lead(column, &lead.dealer_id, &lead.lead_id, sent.received_at);
        let address = sent.address.as_ref().map(|text| cipher.seal(&of(ADDRESS), text));
        self.0.one(
            "writing a submission",
            "INSERT INTO lead_submissions (lead_id, dealer_id, received_at, duplicate, version,
                                           principal, address, payload, rooftop, listing,
                                           sealed_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING seq",
            params![
                lead.lead_id,
                lead.dealer_id,
                sent.received_at,
                taken.kind != LeadEventKind::Received,
                sent.version.name(),
                sent.principal,
                address.transpose()?,
                cipher.seal(&of(PAYLOAD), &sent.payload.to_string())?,
                sent.rooftop,
                sent.listing.as_ref().map(Value::to_string),
                self.sealing_key(lead.changed_at)?,
            ],
            |row| row.only(),
        )
    }

    /// Writes the appointment of a submission.
    fn put_appointment(
        &self,
        lead: &LeadRecord,
        appointment: &AppointmentRecord,
        department: &'static str,
        submission: i64,
    ) -> Result<(), InternalError> {
        let proposed: Vec<_> = appointment.proposed.iter().map(|t| t.as_millisecond()).collect();
        self.0.execute(
            "writing an appointment",
            "INSERT INTO appointments (appointment_id, submission, dealer_id, rooftop,
                 department, kind, state, requested_at, starts_at, ends_at, proposed)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            params![
                appointment.appointment_id,
                submission,
                lead.dealer_id,
                lead.submission.rooftop,
                department,
                appointment.kind.name(),
                appointment.state.name(),
                appointment.requested_at,
                appointment.starts_at,
                appointment.ends_at,
                tradepost_document::json::json!(proposed).to_string(),
            ],
        )
    }

    /// Writes a new lead, finds its person by the contacts, and assigns the owner whose turn it is.
    fn put_lead(&self, taken: &NewLead<'_>, submission: i64) -> Result<(), InternalError> {
        let lead = taken.lead;
        let known = &taken.known;
        let mut person = None;
        // The first known contact decides, if the contacts belong to several people.
        for contact in known.contacts {
            let [contact, plain] = self.0.cipher().forms(contact);
            let found = self.0.first(
                "looking for a person",
                PERSON,
                params![known.dealer_id, contact, plain],
                |row| row.only::<String>(),
            )?;
            person = person.or(found);
        }
        let owner = match taken.assignment {
            // A lead that is held back may be spam, which takes nobody's turn.
            LeadAssignment::RoundRobin if lead.state == LeadState::Received => {
                self.take_turn(lead)?
            }
            LeadAssignment::RoundRobin | LeadAssignment::ByHand => None,
        };
        self.0.execute(
            "writing a lead",
            "INSERT INTO leads (lead_id, dealer_id, received_at, changed_at, state, held_for,
                                person, time_zone, submission, appointment_id, agent, rooftop,
                                vehicle_id, owner)
             VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
            params![
                lead.lead_id,
                lead.dealer_id,
                lead.received_at,
                lead.state.name(),
                lead.held_for.map(|why| why.name()),
                // An unknown person is named after its first lead.
                person.as_ref().unwrap_or(&lead.lead_id),
                lead.time_zone,
                submission,
                lead.appointment.as_ref().map(|current| &current.appointment_id),
                self.stored_agent(lead),
                stored_rooftop(lead),
                vehicle_id(lead),
                owner,
            ],
        )?;
        owner.map_or(Ok(()), |member| self.record_turn(lead, &member))
    }

    /// Returns the name that the agent gives itself, in the form for look-ups.
    fn stored_agent(&self, lead: &LeadRecord) -> Option<String> {
        let name = agent_name(&lead.submission.payload)?;
        Some(self.0.cipher().blind(&agent_term(name)))
    }

    /// Updates a lead. An appointment that is no longer its current one is superseded and frees its time.
    fn change_lead(&self, lead: &LeadRecord, submission: i64) -> Result<(), InternalError> {
        let current = lead.appointment.as_ref().map(|current| &current.appointment_id);
        self.0.execute(
            "superseding an appointment",
            "UPDATE appointments SET state = $3, version = version + 1
             WHERE appointment_id IS DISTINCT FROM $2
                 AND appointment_id = (SELECT appointment_id FROM leads WHERE lead_id = $1)
                 AND state NOT IN ('cancelled', 'no_show')",
            params![lead.lead_id, current, AppointmentState::Superseded.name()],
        )?;
        self.0.execute(
            "changing a lead",
            "UPDATE leads SET changed_at = $2, state = $3, time_zone = $4, submission = $5,
             appointment_id = $6, agent = coalesce($7, agent), rooftop = $8, vehicle_id = $9
             WHERE lead_id = $1",
            params![
                lead.lead_id,
                lead.changed_at,
                lead.state.name(),
                lead.time_zone,
                submission,
                current,
                // A payload that cannot be read names no agent.
                self.stored_agent(lead),
                stored_rooftop(lead),
                vehicle_id(lead),
            ],
        )
    }

    /// Writes an event of a lead, with the lead's current state and appointment.
    fn put_event(
        &self,
        lead: &LeadRecord,
        kind: LeadEventKind,
        submission: i64,
    ) -> Result<(), InternalError> {
        let current = lead.appointment.as_ref();
        self.0.execute(
            "writing a lead's event",
            "INSERT INTO lead_events (lead_id, dealer_id, at, kind, state, submission,
                                      appointment_id, appointment_state, appointment_starts_at,
                                      appointment_ends_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            params![
                lead.lead_id,
                lead.dealer_id,
                lead.changed_at,
                kind.name(),
                lead.state.name(),
                submission,
                current.map(|current| &current.appointment_id),
                current.map(|current| current.state.name()),
                current.and_then(|current| current.starts_at),
                current.and_then(|current| current.ends_at),
            ],
        )?;
        self.0.notify(ChangeNotice::Due);
        Ok(())
    }

    /// Stores the proofs and contacts of this submission, by which the lead is recognised, for as long as those of its
    /// first one.
    fn put_matches(&self, taken: &NewLead<'_>) -> Result<(), InternalError> {
        let lead = taken.lead;
        let known = &taken.known;
        let cipher = self.0.cipher();
        let subject = cipher.blind(known.subject);
        for contact in known.contacts {
            let contact = cipher.blind(contact);
            // A contact stays with the person that it first belonged to.
            self.0.execute(
                "writing a contact",
                "INSERT INTO lead_contacts (dealer_id, contact, person)
                 SELECT dealer_id, $2, person FROM leads WHERE lead_id = $1
                 ON CONFLICT DO NOTHING",
                params![lead.lead_id, contact],
            )?;
            for proof in known.proofs {
                self.0.execute(
                    "writing by what a lead is known",
                    "INSERT INTO lead_matches
                         (dealer_id, proof, contact, subject, received_at, lead_id)
                     VALUES ($1, $2, $3, $4, $5, $6)
                     ON CONFLICT DO NOTHING",
                    params![
                        lead.dealer_id,
                        cipher.blind(proof),
                        contact,
                        subject,
                        lead.received_at,
                        lead.lead_id,
                    ],
                )?;
            }
        }
        Ok(())
    }

    /// Writes the tallies of a submission, and deletes the dealer's expired ones.
    fn put_tallies(&self, taken: &NewLead<'_>, submission: i64) -> Result<(), InternalError> {
        let dealer = &taken.lead.dealer_id;
        self.0.execute(
            "forgetting tallies",
            "DELETE FROM lead_tallies WHERE dealer_id = $1 AND at <= $2",
            params![dealer, taken.tallied_since],
        )?;
        let at = taken.lead.changed_at;
        for subject in taken.tallies {
            self.0.execute(
                "writing a tally",
                "INSERT INTO lead_tallies (dealer_id, subject, at, submission)
                 VALUES ($1, $2, $3, $4)",
                params![dealer, self.0.cipher().blind(subject), at, submission],
            )?;
        }
        Ok(())
    }
}

/// Returns the rooftop of a lead in the form for look-ups.
fn stored_rooftop(lead: &LeadRecord) -> Option<String> {
    Some(lead.submission.rooftop.as_deref()?.to_lowercase())
}

/// Returns the id of the listed vehicle that a lead is about.
fn vehicle_id(lead: &LeadRecord) -> Option<&str> {
    lead.submission.listing.as_ref()?.get("vehicle_id")?.as_str()
}
