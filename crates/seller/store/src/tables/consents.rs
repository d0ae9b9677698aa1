//! Evidence of consent, and its end: revocation, erasure, and the retention period of leads.

use jiff::Timestamp;
use tradepost_dealer::consent::{
    self, ChainChecker, ConsentCheck, ConsentEvidence, ConsentKind, ConsentRecord, START,
    Sha256Hash,
};
use tradepost_dealer::lead_store::NewConsent;
use tradepost_dealer::record::{LeadEventKind, LeadState, StoredConsent};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{Value, json};

use super::leads::word;
use super::privacy::{ADDRESS, BODY, PAYLOAD, SALT, USER_AGENT, payload};
use super::{Database, StoreTransaction};
use crate::Store;
use crate::privacy::{AadContext, readable};
use crate::sql::{Connection, RowResult, SqlRow, params};
use crate::{CustomerLeads, Proof};

/// Total size of the evidence of a network. Rows from before there was a key are in clear; two look-ups, because with
/// `IN` PostgreSQL may read all rows of the dealer.
pub(super) const EVIDENCE: &str =
    "SELECT CAST(coalesce(sum(size), 0) AS BIGINT) AS size, min(at) AS first_at FROM (
         SELECT size, at FROM consent_evidence WHERE dealer_id = $1 AND network = $2 AND at > $3
         UNION ALL SELECT size, at FROM consent_evidence
             WHERE dealer_id = $1 AND network = $4 AND $4 <> $2 AND at > $3) AS kept";

/// The columns of a record.
const RECORD: &str = "r.dealer_id, r.seq, r.lead_id, r.kind, r.at, r.consent_hash, r.body_hash, r.caller_hash, r.hash";

/// Query for records with their evidence.
const PROOF: &str =
    "SELECT r.dealer_id, r.seq, r.lead_id, r.kind, r.at, r.consent_hash, r.body_hash,
        r.caller_hash, r.hash, e.user_agent, e.salt, e.body, s.principal, s.address, s.payload,
        l.state, e.sealed_by AS evidence_sealed_by, s.sealed_by, s.received_at, p.hash AS previous
    FROM consent_log r
    LEFT JOIN consent_log p ON p.dealer_id = r.dealer_id AND p.seq = r.seq - 1
    LEFT JOIN consent_evidence e ON e.dealer_id = r.dealer_id AND e.seq = r.seq
    LEFT JOIN lead_submissions s ON s.seq = e.submission
    LEFT JOIN leads l ON l.lead_id = r.lead_id";

impl StoreTransaction<'_> {
    /// Returns the number of bytes stored for a network's leads since a moment, and when the first came.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) fn evidence_of(
        &self,
        dealer_id: &str,
        network: &str,
        since: Timestamp,
    ) -> Result<(u64, Option<Timestamp>), InternalError> {
        let [hashed, plain] = self.0.cipher().forms(network);
        self.0.one(
            "adding up what is kept",
            EVIDENCE,
            params![dealer_id, hashed, since, plain],
            |row| Ok((row.get::<i64>("size")?.unsigned_abs(), row.get("first_at")?)),
        )
    }

    /// Stores the evidence of a consent.
    ///
    /// # Errors
    /// When the database fails.
    pub(super) fn keep_evidence(&self, grant: &NewConsent<'_>) -> Result<(), InternalError> {
        let NewConsent { dealer_id, lead_id, submission, at, payload, evidence, network } = *grant;
        let hashes = [consent::consent_hash(payload), evidence.body_hash(), evidence.caller_hash()];
        let seq = self.log_consent(dealer_id, lead_id, ConsentKind::Granted, at, Some(hashes))?;
        let size = evidence.body.len() + payload.to_string().len();
        let cipher = self.0.cipher();
        let agent = evidence.user_agent.as_ref();
        let agent =
            agent.map(|text| cipher.seal(&AadContext::evidence(USER_AGENT, dealer_id, seq), text));
        let body =
            cipher.seal_bytes(&AadContext::evidence(BODY, dealer_id, seq), &evidence.body)?;
        // Encrypted because with the salt addresses could be tried against the hash.
        let salt =
            cipher.seal_bytes(&AadContext::evidence(SALT, dealer_id, seq), &evidence.salt)?;
        self.0.execute(
            "writing the evidence of a consent",
            "INSERT INTO consent_evidence
                 (submission, dealer_id, seq, at, network, size, user_agent, salt, body, sealed_by)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            params![
                submission,
                dealer_id,
                seq,
                at,
                network.map(|network| cipher.blind(network)),
                i64::try_from(size).unwrap_or(i64::MAX),
                agent.transpose()?,
                salt.as_ref(),
                body.as_ref(),
                cipher.key(),
            ],
        )
    }

    /// Records that the customer has withdrawn the consent of a lead. Returns `false` when there is no lead whose
    /// consent could be withdrawn.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_consent(&self, lead_id: &str, now: Timestamp) -> Result<bool, InternalError> {
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
        // A later submission of the same caller needs a consent of its own, and becomes a lead of its own.
        self.0.execute(
            "forgetting by what a lead is known",
            "DELETE FROM lead_matches WHERE lead_id = $1",
            params![lead_id],
        )?;
        Ok(true)
    }

    /// Erases the customer's data of a lead; returns `false` when there is nothing to erase. The existence of the lead,
    /// its appointment without notes, the vehicle, and the hashes of its consent stay. A future appointment is
    /// cancelled, so that its time is free.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_lead(&self, lead_id: &str, now: Timestamp) -> Result<bool, InternalError> {
        let lead = self.own_lead(lead_id)?.filter(|lead| lead.state != LeadState::Erased);
        let Some(lead) = lead else {
            return Ok(false);
        };
        let cipher = self.0.cipher();
        let submissions: Vec<(i64, AadContext, Option<Value>)> = self.0.all(
            "reading a lead's submissions",
            "SELECT seq, payload, received_at, sealed_by FROM lead_submissions WHERE lead_id = $1",
            params![lead_id],
            |row| {
                let of =
                    AadContext::lead(PAYLOAD, &lead.dealer_id, lead_id, row.get("received_at")?);
                let key: Option<String> = row.get("sealed_by")?;
                let payload = payload(row, "payload", key.as_deref(), &of)?.ok();
                Ok((row.get("seq")?, of, payload))
            },
        )?;
        let key = self.sealing_key(now)?;
        for (submission, of, payload) in submissions {
            if payload.is_none() {
                // The contacts it named are unknown: all that may have been its own are erased.
                self.0.execute(
                    "erasing the contacts of a person",
                    "DELETE FROM lead_contacts WHERE dealer_id = $1 AND person = $2",
                    params![lead.dealer_id, lead.person],
                )?;
            }
            let payload = payload.unwrap_or(Value::Null);
            for contact in contacts(&payload) {
                let [contact, plain] = cipher.forms(&contact);
                self.0.execute(
                    "erasing a contact",
                    "DELETE FROM lead_contacts WHERE dealer_id = $1 AND contact IN ($2, $3)",
                    params![lead.dealer_id, contact, plain],
                )?;
            }
            self.0.execute(
                "erasing a submission",
                "UPDATE lead_submissions SET payload = $2, address = NULL, sealed_by = $3
                 WHERE seq = $1",
                params![
                    submission,
                    cipher.seal(&of, &without_customer(&payload).to_string())?,
                    key,
                ],
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
            // Lead ids are generated here and occur in no reply about another lead.
            "DELETE FROM idempotency_keys WHERE lead_id = $1
                 OR lead_id IS NULL AND replace(reply, '\"' || $1 || '\"', '') <> reply",
            "UPDATE leads SET person = lead_id WHERE lead_id = $1",
        ] {
            self.0.execute("erasing a lead", statement, params![lead_id])?;
        }
        self.erase_notes(lead_id)?;
        self.log_consent(&lead.dealer_id, lead_id, ConsentKind::Erased, now, None)?;
        self.end_deliveries_of(lead_id, now)?;
        let lead = self.end_appointment_of(lead, now)?;
        self.move_lead(lead, LeadState::Erased, LeadEventKind::Erased, now)?;
        Ok(true)
    }

    /// Adds a record to a dealer's chain.
    fn log_consent(
        &self,
        dealer_id: &str,
        lead_id: &str,
        kind: ConsentKind,
        at: Timestamp,
        hashes: Option<[Sha256Hash; 3]>,
    ) -> Result<i64, InternalError> {
        let (seq, previous) = last_consent(self.0, dealer_id)?;
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
    /// Returns a lead's consent records, oldest first.
    pub(crate) fn consents_of(&self, lead_id: &str) -> Result<Vec<StoredConsent>, InternalError> {
        self.0.all(
            "reading a lead's consents",
            &format!(
                "SELECT {RECORD}, e.user_agent, e.sealed_by FROM consent_log r
                 LEFT JOIN consent_evidence e ON e.dealer_id = r.dealer_id AND e.seq = r.seq
                 WHERE r.lead_id = $1 ORDER BY r.seq"
            ),
            params![lead_id],
            |row| {
                let (record, hash) = record(row)?;
                let key: Option<String> = row.get("sealed_by")?;
                let of = AadContext::evidence(USER_AGENT, &record.dealer_id, record.seq);
                let agent = readable(row.opened_if_any("user_agent", key.as_deref(), &of))?;
                Ok(StoredConsent { record, hash, user_agent: agent.unwrap_or_default() })
            },
        )
    }

    /// Checks the consent chain of each dealer, or of one.
    pub(crate) fn check_consents(
        &self,
        dealer_id: Option<&str>,
        expected: Option<Sha256Hash>,
    ) -> Result<Vec<ConsentCheck>, InternalError> {
        let dealers: Vec<String> = self.0.all(
            "reading the dealers",
            "SELECT DISTINCT dealer_id FROM leads WHERE $1 IS NULL OR dealer_id = $1
             ORDER BY dealer_id",
            params![dealer_id],
            |row| row.only(),
        )?;
        let sql = format!("{PROOF} WHERE r.dealer_id = $1 ORDER BY r.seq");
        let mut checks = Vec::new();
        for dealer_id in dealers {
            let mut checker = ChainChecker::new(dealer_id.clone(), expected);
            self.0.each("reading the consents", &sql, params![dealer_id], |row| {
                let (record, hash) = record(row)?;
                let (opened_evidence, payload, state) = proof(row, &record)?;
                // A grant without its submission that was not erased lacks its evidence.
                let is_erased = state.as_deref() == Some(LeadState::Erased.name());
                let lacking = Value::Null;
                let payload = match (&payload, is_erased) {
                    (Some(payload), _) => Some(payload),
                    (None, true) => None,
                    (None, false) => Some(&lacking),
                };
                checker.take(&record, &hash, opened_evidence.as_ref(), payload);
                Ok(true)
            })?;
            checks.push(checker.finish());
        }
        Ok(checks)
    }
}

impl Store {
    /// Returns a lead's consent records with their evidence, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn proofs_of(&self, lead_id: &str) -> Result<Vec<Proof>, InternalError> {
        let sql = format!("{PROOF} WHERE r.lead_id = $1 ORDER BY r.seq");
        self.read_all("reading the evidence of a consent", &sql, params![lead_id], |row| {
            let (record, hash) = record(row)?;
            let (opened_evidence, payload, _) = proof(row, &record)?;
            let previous: Option<Sha256Hash> = row.get("previous")?;
            let previous = previous.unwrap_or(START);
            Ok(Proof { record, previous, hash, kept: opened_evidence, payload })
        })
    }

    /// Returns the hash of a dealer's consent record with this number, if there is one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn consent_hash(
        &self,
        dealer_id: &str,
        seq: i64,
    ) -> Result<Option<Sha256Hash>, InternalError> {
        let sql = "SELECT hash FROM consent_log WHERE dealer_id = $1 AND seq = $2";
        self.read_first("reading a record's hash", sql, params![dealer_id, seq], |row| row.only())
    }

    /// Returns the number and the hash of a dealer's last consent record.
    ///
    /// # Errors
    /// When the database fails.
    pub fn consent_head(&self, dealer_id: &str) -> Result<(i64, Sha256Hash), InternalError> {
        self.read(|db| last_consent(&db.0, dealer_id))
    }

    /// Returns the leads, of one dealer if given, that name a customer by `email:…` or `phone:…`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn leads_of_contact(
        &self,
        dealer_id: Option<&str>,
        contact: &str,
    ) -> Result<CustomerLeads, InternalError> {
        // All leads are read because the database cannot search encrypted values.
        let mut found = CustomerLeads::default();
        let sql = "SELECT lead_id, payload, dealer_id, received_at, sealed_by
             FROM lead_submissions WHERE $1 IS NULL OR dealer_id = $1 ORDER BY seq";
        self.read(|db| {
            db.0.each("looking for a customer's leads", sql, params![dealer_id], |row| {
                let lead_id: String = row.get("lead_id")?;
                let dealer: String = row.get("dealer_id")?;
                let of = AadContext::lead(PAYLOAD, &dealer, &lead_id, row.get("received_at")?);
                let key: Option<String> = row.get("sealed_by")?;
                let is_known =
                    |payload: &Value| contacts(payload).iter().any(|known| known == contact);
                let leads = match payload(row, "payload", key.as_deref(), &of)? {
                    Ok(payload) if !is_known(&payload) => return Ok(true),
                    Ok(_) => &mut found.leads,
                    Err(_) => &mut found.unreadable,
                };
                if !leads.contains(&lead_id) {
                    leads.push(lead_id);
                }
                Ok(true)
            })
        })?;
        Ok(found)
    }
}

/// Returns up to `limit` of a dealer's leads that have not changed since a moment and are not erased, the oldest first.
/// Leads with pending deliveries are included only when `with_undelivered` is set.
pub(crate) fn leads_unchanged_since(
    connection: &Connection,
    dealer_id: &str,
    since: Timestamp,
    with_undelivered: bool,
    limit: u32,
) -> Result<Vec<String>, InternalError> {
    connection.all(
        "looking for old leads",
        "SELECT l.lead_id FROM leads l
         WHERE l.dealer_id = $1 AND l.changed_at < $2 AND l.state <> 'erased' AND ($4
             OR NOT EXISTS (SELECT 1 FROM lead_deliveries d WHERE d.source = 'lead'
                            AND d.lead_id = l.lead_id AND d.state IN ('due', 'sending', 'dead'))
             AND NOT EXISTS (SELECT 1 FROM lead_events e
                             JOIN lead_delivery_places p ON p.dealer_id = e.dealer_id
                             WHERE e.lead_id = l.lead_id AND e.seq > p.event))
         ORDER BY l.changed_at LIMIT $3",
        params![dealer_id, since, limit, with_undelivered],
        |row| row.only(),
    )
}

/// Returns the number and the hash of a dealer's last record.
fn last_consent(
    connection: &Connection,
    dealer_id: &str,
) -> Result<(i64, Sha256Hash), InternalError> {
    let sql = "SELECT seq, hash FROM consent_log WHERE dealer_id = $1 ORDER BY seq DESC LIMIT 1";
    let last = connection.first("reading the last consent", sql, params![dealer_id], |row| {
        Ok((row.get("seq")?, row.get("hash")?))
    })?;
    Ok(last.unwrap_or((0, START)))
}

/// Reads a consent record and its hash from a row.
fn record(row: &SqlRow<'_>) -> RowResult<(ConsentRecord, Sha256Hash)> {
    let record = ConsentRecord {
        dealer_id: row.get("dealer_id")?,
        seq: row.get("seq")?,
        lead_id: row.get("lead_id")?,
        kind: word(row, "kind")?,
        at: row.get("at")?,
        consent: row.get("consent_hash")?,
        body: row.get("body_hash")?,
        caller: row.get("caller_hash")?,
    };
    Ok((record, row.get("hash")?))
}

/// Returns the evidence of a record, the payload, and the state of the lead.
fn proof(
    row: &SqlRow<'_>,
    record: &ConsentRecord,
) -> RowResult<(Option<ConsentEvidence>, Option<Value>, Option<String>)> {
    let by: Option<String> = row.get("sealed_by")?;
    let at: Option<Timestamp> = row.get("received_at")?;
    let at = at.unwrap_or(record.at);
    let of = |column| AadContext::lead(column, &record.dealer_id, &record.lead_id, at);
    // A value that cannot be decrypted does not match the hash.
    let opened_evidence = readable(evidence(row, record, by.as_deref(), &of(ADDRESS)))?;
    let opened_evidence = opened_evidence.unwrap_or_else(|_| Some(ConsentEvidence::default()));
    let payload = readable(row.opened_if_any("payload", by.as_deref(), &of(PAYLOAD)))?;
    let payload = payload.unwrap_or_else(|_| Some("null".to_owned()));
    let payload = payload.and_then(|text| tradepost_document::json::from_str(&text).ok());
    Ok((opened_evidence, payload, row.get("state")?))
}

/// Reads and decrypts the evidence of a consent record, where the row has any.
fn evidence(
    row: &SqlRow<'_>,
    record: &ConsentRecord,
    address_key: Option<&str>,
    address_of: &AadContext,
) -> RowResult<Option<ConsentEvidence>> {
    let key: Option<String> = row.get("evidence_sealed_by")?;
    let of = |column| AadContext::evidence(column, &record.dealer_id, record.seq);
    let Some(body) = row.opened_bytes("body", key.as_deref(), &of(BODY))? else {
        return Ok(None);
    };
    let address = row.opened_if_any("address", address_key, address_of)?;
    Ok(Some(ConsentEvidence {
        principal: row.get::<Option<String>>("principal")?.unwrap_or_default(),
        address: address.unwrap_or_default(),
        user_agent: row.opened_if_any("user_agent", key.as_deref(), &of(USER_AGENT))?,
        salt: row.opened_bytes("salt", key.as_deref(), &of(SALT))?.unwrap_or_default(),
        body,
    }))
}

/// Returns a customer's contacts in the form in which they are compared.
fn contacts(payload: &Value) -> Vec<String> {
    let of = |name: &str| payload.pointer(&format!("/customer/{name}")).and_then(Value::as_str);
    let email = of("email").map(|email| format!("email:{}", email.to_lowercase()));
    let phone = of("phone").map(|phone| format!("phone:{phone}"));
    email.into_iter().chain(phone).collect()
}

/// Returns the parts of a payload that do not identify the customer. The consent's text often names people.
fn without_customer(payload: &Value) -> Value {
    let of = |pointer: &str| payload.pointer(pointer).cloned();
    let mut remaining = json!({"type": of("/type"), "erased": true});
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
        let part: tradepost_document::json::Map = members
            .iter()
            .filter_map(|member| Some(((*member).to_owned(), of(&format!("/{name}/{member}"))?)))
            .collect();
        if let Some(object) = remaining.as_object_mut().filter(|_| !part.is_empty()) {
            object.insert(name.to_owned(), Value::Object(part));
        }
    }
    remaining
}
