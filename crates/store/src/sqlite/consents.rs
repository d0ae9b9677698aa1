//! Evidence of consent, and what ends it: revocation, erasure, and the time for which leads are
//! kept.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};
use tradepost_dealer::consent::{
    self, Checker, ConsentCheck, ConsentKind, ConsentRecord, Evidence, Hash, START,
};
use tradepost_dealer::lot::Grant;
use tradepost_dealer::record::{LeadEventKind, LeadState};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::{Value, json};

use super::leads::word;
use super::{Database, Transaction, moment};

pub(super) const SCHEMA: &str = "
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
        self.0
            .prepare_cached(
                "SELECT coalesce(sum(size), 0), min(at) FROM consent_evidence
                 WHERE dealer_id = ?1 AND network = ?2 AND at > ?3",
            )
            .and_then(|mut statement| {
                let values = params![dealer_id, network, since.as_millisecond()];
                statement.query_row(values, |row| {
                    let first: Option<i64> = row.get(1)?;
                    Ok((row.get::<_, i64>(0)?.unsigned_abs(), first.map(moment)))
                })
            })
            .map_err(Fault::on("adding up what is kept"))
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
        self.0
            .prepare_cached(
                "INSERT INTO consent_evidence
                     (submission, dealer_id, seq, at, network, size, user_agent, salt, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    submission,
                    dealer_id,
                    seq,
                    at.as_millisecond(),
                    network,
                    i64::try_from(size).unwrap_or(i64::MAX),
                    evidence.user_agent,
                    evidence.salt,
                    evidence.body,
                ])
            })
            .map_err(Fault::on("writing the evidence of a consent"))?;
        Ok(())
    }

    /// Notes that the customer has withdrawn the consent of a lead; `false` when there is no lead
    /// whose consent could be withdrawn.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_consent(&self, lead_id: &str, now: Timestamp) -> Result<bool, Fault> {
        let Some(lead) = self.lead(lead_id)? else {
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
        self.0
            .execute("DELETE FROM lead_matches WHERE lead_id = ?1", [lead_id])
            .map_err(Fault::on("forgetting by what a lead is known"))?;
        Ok(true)
    }

    /// Erases what a lead says about its customer; `false` when there is nothing to erase. What
    /// stays is that there was a lead, its appointment without notes, the vehicle, and the hashes
    /// of its consent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_lead(&self, lead_id: &str, now: Timestamp) -> Result<bool, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let lead = self.lead(lead_id)?.filter(|lead| lead.state != LeadState::Erased);
        let Some(lead) = lead else {
            return Ok(false);
        };
        let submissions: Vec<(i64, String)> = self
            .0
            .prepare_cached("SELECT seq, payload FROM lead_submissions WHERE lead_id = ?1")
            .and_then(|mut statement| {
                let rows = statement.query_map([lead_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            })
            .map_err(on("reading a lead's submissions"))?;
        for (submission, payload) in submissions {
            let payload: Value =
                tradepost_wire::json::from_str(&payload).map_err(Fault::on("reading a payload"))?;
            for contact in contacts(&payload) {
                self.0
                    .execute(
                        "DELETE FROM lead_contacts WHERE dealer_id = ?1 AND contact = ?2",
                        params![lead.dealer_id, contact],
                    )
                    .map_err(on("erasing a contact"))?;
            }
            self.0
                .execute(
                    "UPDATE lead_submissions SET payload = ?2, address = NULL WHERE seq = ?1",
                    params![submission, without_customer(&payload).to_string()],
                )
                .map_err(on("erasing a submission"))?;
            for table in ["consent_evidence", "lead_tallies"] {
                self.0
                    .execute(&format!("DELETE FROM {table} WHERE submission = ?1"), [submission])
                    .map_err(on("erasing what belongs to a submission"))?;
            }
        }
        for statement in [
            "DELETE FROM lead_matches WHERE lead_id = ?1",
            "DELETE FROM idempotency_keys WHERE json_extract(reply, '$[0].lead_id') = ?1",
            "UPDATE leads SET person = lead_id WHERE lead_id = ?1",
        ] {
            self.0.execute(statement, [lead_id]).map_err(on("erasing a lead"))?;
        }
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
        let last = self
            .0
            .prepare_cached(
                "SELECT seq, hash FROM consent_log WHERE dealer_id = ?1 ORDER BY seq DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Hash>(1)?));
                statement.query_row([dealer_id], read).optional()
            })
            .map_err(Fault::on("reading the last consent"))?;
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
        self.0
            .prepare_cached(
                "INSERT INTO consent_log (dealer_id, seq, lead_id, kind, at, consent_hash,
                                          body_hash, caller_hash, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    dealer_id,
                    record.seq,
                    lead_id,
                    kind.name(),
                    at.as_millisecond(),
                    record.consent,
                    record.body,
                    record.caller,
                    record.hash(&previous),
                ])
            })
            .map_err(Fault::on("writing a consent's record"))?;
        Ok(record.seq)
    }
}

impl Database {
    /// A lead's records, the first one first, each with its hash and the user agent.
    pub(crate) fn consents_of(
        &self,
        lead_id: &str,
    ) -> Result<Vec<(ConsentRecord, Hash, Option<String>)>, Fault> {
        self.0
            .prepare_cached(&format!(
                "SELECT {RECORD}, e.user_agent FROM consent_log r
                 LEFT JOIN consent_evidence e ON e.dealer_id = r.dealer_id AND e.seq = r.seq
                 WHERE r.lead_id = ?1 ORDER BY r.seq"
            ))
            .and_then(|mut statement| {
                let rows = statement.query_map([lead_id], |row| {
                    let (record, hash) = record(row)?;
                    Ok((record, hash, row.get(9)?))
                })?;
                rows.collect()
            })
            .map_err(Fault::on("reading a lead's consents"))
    }

    /// Looks through the chain of each dealer, or of one.
    pub(crate) fn check_consents(
        &self,
        dealer_id: Option<&str>,
        expected: Option<Hash>,
    ) -> Result<Vec<ConsentCheck>, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let dealers: Vec<String> = self
            .0
            .prepare(
                "SELECT DISTINCT dealer_id FROM leads WHERE ?1 IS NULL OR dealer_id = ?1
                 ORDER BY dealer_id",
            )
            .and_then(|mut statement| {
                statement.query_map([dealer_id], |row| row.get(0)).and_then(Iterator::collect)
            })
            .map_err(on("reading the dealers"))?;
        let mut statement = self
            .0
            .prepare(&format!(
                "SELECT {RECORD}, e.user_agent, e.salt, e.body, s.principal, s.address, s.payload,
                        l.state
                 FROM consent_log r
                 LEFT JOIN consent_evidence e ON e.dealer_id = r.dealer_id AND e.seq = r.seq
                 LEFT JOIN lead_submissions s ON s.seq = e.submission
                 LEFT JOIN leads l ON l.lead_id = r.lead_id
                 WHERE r.dealer_id = ?1 ORDER BY r.seq"
            ))
            .map_err(on("preparing to read the consents"))?;
        let mut checks = Vec::new();
        for dealer_id in dealers {
            let mut rows = statement.query([&dealer_id]).map_err(on("reading the consents"))?;
            let mut checker = Checker::new(dealer_id.clone(), expected);
            while let Some(row) = rows.next().map_err(on("reading the consents"))? {
                let read = || -> rusqlite::Result<_> {
                    let (record, hash) = record(row)?;
                    Ok((
                        record,
                        hash,
                        evidence(row)?,
                        row.get::<_, Option<String>>(14)?,
                        row.get::<_, Option<String>>(15)?,
                    ))
                };
                let (record, hash, kept, payload, state) =
                    read().map_err(on("reading a consent"))?;
                let payload: Option<Value> =
                    payload.and_then(|text| tradepost_wire::json::from_str(&text).ok());
                // Without its submission beside it, a grant that nobody erased lacks its evidence.
                let is_erased = state.as_deref() == Some(LeadState::Erased.name());
                let lacking = Value::Null;
                let payload = match (&payload, is_erased) {
                    (Some(payload), _) => Some(payload),
                    (None, true) => None,
                    (None, false) => Some(&lacking),
                };
                checker.take(&record, &hash, kept.as_ref(), payload);
            }
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
        self.0
            .prepare(
                "SELECT DISTINCT lead_id FROM lead_submissions
                 WHERE (?1 IS NULL OR dealer_id = ?1)
                     AND ?2 IN ('email:' || lower(json_extract(payload, '$.customer.email')),
                                'phone:' || json_extract(payload, '$.customer.phone'))",
            )
            .and_then(|mut statement| {
                let rows = statement.query_map(params![dealer_id, contact], |row| row.get(0))?;
                rows.collect()
            })
            .map_err(Fault::on("looking for a customer's leads"))
    }

    /// A dealer's leads that have not changed since a moment and are not erased, the oldest first.
    pub(crate) fn leads_unchanged_since(
        &self,
        dealer_id: &str,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<String>, Fault> {
        self.0
            .prepare_cached(
                "SELECT lead_id FROM leads
                 WHERE dealer_id = ?1 AND changed_at < ?2 AND state <> 'erased'
                 ORDER BY changed_at LIMIT ?3",
            )
            .and_then(|mut statement| {
                let values = params![dealer_id, since.as_millisecond(), limit];
                statement.query_map(values, |row| row.get(0)).and_then(Iterator::collect)
            })
            .map_err(Fault::on("looking for old leads"))
    }

    /// Moves what was committed into the database file, so that nothing erased stays in the
    /// write-ahead log. Does nothing while others read.
    pub(crate) fn empty_log(&self) -> Result<(), Fault> {
        self.0
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(Fault::on("emptying the write-ahead log"))
    }
}

fn record(row: &Row<'_>) -> rusqlite::Result<(ConsentRecord, Hash)> {
    let record = ConsentRecord {
        dealer_id: row.get(0)?,
        seq: row.get(1)?,
        lead_id: row.get(2)?,
        kind: word(row, 3)?,
        at: moment(row.get(4)?),
        consent: row.get(5)?,
        body: row.get(6)?,
        caller: row.get(7)?,
    };
    Ok((record, row.get(8)?))
}

fn evidence(row: &Row<'_>) -> rusqlite::Result<Option<Evidence>> {
    let Some(body) = row.get(11)? else {
        return Ok(None);
    };
    Ok(Some(Evidence {
        principal: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
        address: row.get::<_, Option<String>>(13)?.unwrap_or_default(),
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
