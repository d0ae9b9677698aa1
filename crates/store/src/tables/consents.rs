//! Evidence of consent, and what ends it: revocation, erasure, and the time for which leads are
//! kept.

use jiff::Timestamp;
use tradepost_dealer::consent::{
    self, Checker, ConsentCheck, ConsentKind, ConsentRecord, Evidence, Hash, START,
};
use tradepost_dealer::lot::Grant;
use tradepost_dealer::record::{LeadEventKind, LeadState};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Value, json};

use super::leads::word;
use super::{Database, Transaction};
use crate::sql::{Read, Row, params};

pub(crate) const SCHEMA: &str = "
    CREATE TABLE consent_log (
        dealer_id    TEXT NOT NULL,
        seq          INTEGER NOT NULL,      -- from 1, without a gap
        lead_id      TEXT NOT NULL,
        kind         TEXT NOT NULL,
        at           INTEGER NOT NULL,
        consent_hash BLOB,
        body_hash    BLOB,
        caller_hash  BLOB,
        hash         BLOB NOT NULL,         -- of all this and the hash before it
        PRIMARY KEY (dealer_id, seq)
    ) WITHOUT ROWID;
    CREATE INDEX consent_log_by_lead ON consent_log (lead_id);
    CREATE TABLE consent_evidence (         -- goes when the customer is erased
        submission INTEGER PRIMARY KEY REFERENCES lead_submissions (seq),
        dealer_id  TEXT NOT NULL,
        seq        INTEGER NOT NULL,        -- of the record
        at         INTEGER NOT NULL,
        network    TEXT,                    -- of a caller without credentials, for its quota
        size       INTEGER NOT NULL,
        user_agent TEXT,
        salt       BLOB NOT NULL,
        body       BLOB NOT NULL
    );
    CREATE UNIQUE INDEX consent_evidence_by_record ON consent_evidence (dealer_id, seq);
    CREATE INDEX consent_evidence_by_network ON consent_evidence (dealer_id, network, at, size);
    CREATE INDEX leads_by_age ON leads (dealer_id, changed_at) WHERE state <> 'erased';
";

/// The columns of a record.
const RECORD: &str = "r.dealer_id, r.seq, r.lead_id, r.kind, r.at, r.consent_hash, r.body_hash, r.caller_hash, r.hash";

impl Transaction<'_> {
    /// How many bytes are kept of a network's leads since a moment, and when the first came.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) fn evidence_of(
        &self,
        dealer_id: &str,
        network: &str,
        since: Timestamp,
    ) -> Result<(u64, Option<Timestamp>), Fault> {
        self.0.one(
            "adding up what is kept",
            "SELECT CAST(coalesce(sum(size), 0) AS BIGINT), min(at) FROM consent_evidence
             WHERE dealer_id = $1 AND network = $2 AND at > $3",
            params![dealer_id, network, since],
            |row| Ok((row.get::<i64>(0)?.unsigned_abs(), row.get(1)?)),
        )
    }

    /// Keeps the evidence of a consent.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) fn keep_evidence(&self, grant: &Grant<'_>) -> Result<(), Fault> {
        let Grant { dealer_id, lead_id, submission, at, payload, evidence, network } = *grant;
        let hashes = [consent::consent_hash(payload), evidence.body_hash(), evidence.caller_hash()];
        let seq = self.log_consent(dealer_id, lead_id, ConsentKind::Granted, at, Some(hashes))?;
        let size = evidence.body.len() + payload.to_string().len();
        self.0.execute(
            "writing the evidence of a consent",
            "INSERT INTO consent_evidence
                 (submission, dealer_id, seq, at, network, size, user_agent, salt, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            params![
                submission,
                dealer_id,
                seq,
                at,
                network,
                i64::try_from(size).unwrap_or(i64::MAX),
                evidence.user_agent,
                evidence.salt,
                evidence.body,
            ],
        )?;
        Ok(())
    }

    /// Notes that the customer has withdrawn the consent of a lead; `false` when there is no lead
    /// whose consent could be withdrawn.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_consent(&self, lead_id: &str, now: Timestamp) -> Result<bool, Fault> {
        let Some(lead) = self.own_lead(lead_id)? else {
            return Ok(false);
        };
        match lead.state {
            LeadState::Received | LeadState::Held => {}
            LeadState::Revoked | LeadState::Erased => return Ok(false),
        }
        self.log_consent(&lead.dealer_id, lead_id, ConsentKind::Revoked, now, None)?;
        self.move_lead(lead, LeadState::Revoked, LeadEventKind::ConsentRevoked, now)?;
        self.end_deliveries_of(lead_id, now)?;
        // The same caller has to come with a consent of its own, which makes a lead of its own.
        self.0.execute(
            "forgetting by what a lead is known",
            "DELETE FROM lead_matches WHERE lead_id = $1",
            params![lead_id],
        )?;
        Ok(true)
    }

    /// Erases what a lead says about its customer; `false` when there is nothing to erase. What
    /// stays is that there was a lead, its appointment without notes, the vehicle, and the hashes
    /// of its consent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_lead(&self, lead_id: &str, now: Timestamp) -> Result<bool, Fault> {
        let lead = self.own_lead(lead_id)?.filter(|lead| lead.state != LeadState::Erased);
        let Some(lead) = lead else {
            return Ok(false);
        };
        let submissions: Vec<(i64, String)> = self.0.all(
            "reading a lead's submissions",
            "SELECT seq, payload FROM lead_submissions WHERE lead_id = $1",
            params![lead_id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        for (submission, payload) in submissions {
            let payload: Value =
                tradepost_wire::json::from_str(&payload).map_err(Fault::on("reading a payload"))?;
            for contact in contacts(&payload) {
                self.0.execute(
                    "erasing a contact",
                    "DELETE FROM lead_contacts WHERE dealer_id = $1 AND contact = $2",
                    params![lead.dealer_id, contact],
                )?;
            }
            self.0.execute(
                "erasing a submission",
                "UPDATE lead_submissions SET payload = $2, address = NULL WHERE seq = $1",
                params![submission, without_customer(&payload).to_string()],
            )?;
            for table in ["consent_evidence", "lead_tallies"] {
                self.0.execute(
                    "erasing what belongs to a submission",
                    &format!("DELETE FROM {table} WHERE submission = $1"),
                    params![submission],
                )?;
            }
        }
        for statement in [
            "DELETE FROM lead_matches WHERE lead_id = $1",
            // Leads' ids are ours and stand in no answer about another.
            "DELETE FROM idempotency_keys WHERE replace(reply, '\"' || $1 || '\"', '') <> reply",
            "UPDATE leads SET person = lead_id WHERE lead_id = $1",
        ] {
            self.0.execute("erasing a lead", statement, params![lead_id])?;
        }
        self.erase_notes(lead_id)?;
        self.log_consent(&lead.dealer_id, lead_id, ConsentKind::Erased, now, None)?;
        self.move_lead(lead, LeadState::Erased, LeadEventKind::Erased, now)?;
        self.end_deliveries_of(lead_id, now)?;
        Ok(true)
    }

    /// Adds a record to a dealer's chain.
    fn log_consent(
        &self,
        dealer_id: &str,
        lead_id: &str,
        kind: ConsentKind,
        at: Timestamp,
        hashes: Option<[Hash; 3]>,
    ) -> Result<i64, Fault> {
        let last = self.0.first(
            "reading the last consent",
            "SELECT seq, hash FROM consent_log WHERE dealer_id = $1 ORDER BY seq DESC LIMIT 1",
            params![dealer_id],
            |row: &Row<'_>| Ok((row.get::<i64>(0)?, row.get::<Hash>(1)?)),
        )?;
        let (seq, previous) = last.unwrap_or((0, START));
        let record = ConsentRecord {
            dealer_id: dealer_id.to_owned(),
            seq: seq + 1,
            lead_id: lead_id.to_owned(),
            kind,
            at,
            consent: hashes.map(|[hash, _, _]| hash),
            body: hashes.map(|[_, hash, _]| hash),
            caller: hashes.map(|[_, _, hash]| hash),
        };
        self.0.execute(
            "writing a consent's record",
            "INSERT INTO consent_log (dealer_id, seq, lead_id, kind, at, consent_hash,
                                      body_hash, caller_hash, hash)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            params![
                dealer_id,
                record.seq,
                lead_id,
                kind.name(),
                at,
                record.consent,
                record.body,
                record.caller,
                record.hash(&previous),
            ],
        )?;
        Ok(record.seq)
    }
}

impl Database {
    /// A lead's records, the first one first, each with its hash and the user agent.
    pub(crate) fn consents_of(
        &self,
        lead_id: &str,
    ) -> Result<Vec<(ConsentRecord, Hash, Option<String>)>, Fault> {
        self.0.all(
            "reading a lead's consents",
            &format!(
                "SELECT {RECORD}, e.user_agent FROM consent_log r
                 LEFT JOIN consent_evidence e ON e.dealer_id = r.dealer_id AND e.seq = r.seq
                 WHERE r.lead_id = $1 ORDER BY r.seq"
            ),
            params![lead_id],
            |row| {
                let (record, hash) = record(row)?;
                Ok((record, hash, row.get(9)?))
            },
        )
    }

    /// Looks through the chain of each dealer, or of one.
    pub(crate) fn check_consents(
        &self,
        dealer_id: Option<&str>,
        expected: Option<Hash>,
    ) -> Result<Vec<ConsentCheck>, Fault> {
        let dealers: Vec<String> = self.0.all(
            "reading the dealers",
            "SELECT DISTINCT dealer_id FROM leads WHERE $1 IS NULL OR dealer_id = $1
             ORDER BY dealer_id",
            params![dealer_id],
            |row| row.get(0),
        )?;
        let sql = format!(
            "SELECT {RECORD}, e.user_agent, e.salt, e.body, s.principal, s.address, s.payload,
                    l.state
             FROM consent_log r
             LEFT JOIN consent_evidence e ON e.dealer_id = r.dealer_id AND e.seq = r.seq
             LEFT JOIN lead_submissions s ON s.seq = e.submission
             LEFT JOIN leads l ON l.lead_id = r.lead_id
             WHERE r.dealer_id = $1 ORDER BY r.seq"
        );
        let mut checks = Vec::new();
        for dealer_id in dealers {
            let mut checker = Checker::new(dealer_id.clone(), expected);
            self.0.each("reading the consents", &sql, params![dealer_id], |row| {
                let (record, hash) = record(row)?;
                let kept = evidence(row)?;
                let payload: Option<String> = row.get(14)?;
                let payload: Option<Value> =
                    payload.and_then(|text| tradepost_wire::json::from_str(&text).ok());
                // Without its submission beside it, a grant that nobody erased lacks its evidence.
                let state: Option<String> = row.get(15)?;
                let is_erased = state.as_deref() == Some(LeadState::Erased.name());
                let lacking = Value::Null;
                let payload = match (&payload, is_erased) {
                    (Some(payload), _) => Some(payload),
                    (None, true) => None,
                    (None, false) => Some(&lacking),
                };
                checker.take(&record, &hash, kept.as_ref(), payload);
                Ok(true)
            })?;
            checks.push(checker.finish());
        }
        Ok(checks)
    }

    /// The leads, of one dealer if given, in which a customer is named by this contact.
    pub(crate) fn leads_of_contact(
        &self,
        dealer_id: Option<&str>,
        contact: &str,
    ) -> Result<Vec<String>, Fault> {
        let mut found = Vec::new();
        self.0.each(
            "looking for a customer's leads",
            "SELECT lead_id, payload FROM lead_submissions WHERE $1 IS NULL OR dealer_id = $1
             ORDER BY seq",
            params![dealer_id],
            |row| {
                let lead_id: String = row.get(0)?;
                let payload = tradepost_wire::json::from_str(&row.get::<String>(1)?)?;
                if contacts(&payload).iter().any(|known| known == contact)
                    && !found.contains(&lead_id)
                {
                    found.push(lead_id);
                }
                Ok(true)
            },
        )?;
        Ok(found)
    }

    /// A dealer's leads that have not changed since a moment and are not erased, the oldest first.
    pub(crate) fn leads_unchanged_since(
        &self,
        dealer_id: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<String>, Fault> {
        self.0.all(
            "looking for old leads",
            "SELECT lead_id FROM leads
             WHERE dealer_id = $1 AND changed_at < $2 AND state <> 'erased'
             ORDER BY changed_at LIMIT $3",
            params![dealer_id, since, limit],
            |row| row.get(0),
        )
    }
}

fn record(row: &Row<'_>) -> Read<(ConsentRecord, Hash)> {
    let record = ConsentRecord {
        dealer_id: row.get(0)?,
        seq: row.get(1)?,
        lead_id: row.get(2)?,
        kind: word(row, 3)?,
        at: row.get(4)?,
        consent: row.get(5)?,
        body: row.get(6)?,
        caller: row.get(7)?,
    };
    Ok((record, row.get(8)?))
}

fn evidence(row: &Row<'_>) -> Read<Option<Evidence>> {
    let Some(body) = row.get(11)? else {
        return Ok(None);
    };
    Ok(Some(Evidence {
        principal: row.get::<Option<String>>(12)?.unwrap_or_default(),
        address: row.get::<Option<String>>(13)?.unwrap_or_default(),
        user_agent: row.get(9)?,
        salt: row.get(10)?,
        body,
    }))
}

/// A customer's contacts in the form in which they are compared.
fn contacts(payload: &Value) -> Vec<String> {
    let of = |name: &str| payload.pointer(&format!("/customer/{name}")).and_then(Value::as_str);
    let email = of("email").map(|email| format!("email:{}", email.to_lowercase()));
    let phone = of("phone").map(|phone| format!("phone:{phone}"));
    email.into_iter().chain(phone).collect()
}

/// What of a payload says nothing about the customer. The consent's text often names people.
fn without_customer(payload: &Value) -> Value {
    let of = |pointer: &str| payload.pointer(pointer).cloned();
    let mut kept = json!({"type": of("/type"), "erased": true});
    for (name, members) in [
        ("consent", &["granted_at", "expires_at", "allowed_channels", "scope"][..]),
        ("appointment", &["appointment_type", "appointment_at", "duration_minutes"]),
        (
            "vehicle_of_interest",
            &[
                "vin",
                "stock",
                "vehicle_id",
                "year",
                "make",
                "model",
                "trim",
                "condition",
                "rooftop",
            ],
        ),
        ("source_agent", &["name"]),
    ] {
        let part: tradepost_wire::json::Map = members
            .iter()
            .filter_map(|member| Some(((*member).to_owned(), of(&format!("/{name}/{member}"))?)))
            .collect();
        if let Some(kept) = kept.as_object_mut().filter(|_| !part.is_empty()) {
            kept.insert(name.to_owned(), Value::Object(part));
        }
    }
    kept
}
