//! Keys that encrypt personal data, and encrypting rows with another key.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{self, Value};

use super::second_factor::belongs_to;
use super::{Database, StoreTransaction};
use crate::privacy::{AadContext, BLIND, Unopened, readable};
use crate::sql::{RowResult, SqlRow, params};
use crate::verification::Unreadable;

mod lookups;
pub(crate) mod lost;

/// Encrypted column of submissions.
pub(super) const PAYLOAD: &str = "lead_submissions.payload";
/// Encrypted column of submissions.
pub(super) const ADDRESS: &str = "lead_submissions.address";
/// Encrypted column of the evidence of consents.
pub(super) const USER_AGENT: &str = "consent_evidence.user_agent";
/// Encrypted column of the evidence of consents.
pub(super) const BODY: &str = "consent_evidence.body";
/// Encrypted column of the evidence of consents.
pub(super) const SALT: &str = "consent_evidence.salt";
/// Encrypted column of notes.
pub(super) const NOTE: &str = "lead_notes.text";
/// Encrypted column of notes.
pub(super) const NOTE_SALT: &str = "lead_notes.salt";
/// Encrypted column of idempotency keys.
pub(super) const REPLY: &str = "idempotency_keys.reply";

/// Tables with columns that are encrypted, or hashed for look-ups.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SealedTable {
    Submissions,
    Evidence,
    Notes,
    Replies,
    Contacts,
    Matches,
    Tallies,
    Agents,
    SecondFactors,
}

impl SealedTable {
    /// All of them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Submissions,
        Self::Evidence,
        Self::Notes,
        Self::Replies,
        Self::Contacts,
        Self::Matches,
        Self::Tallies,
        Self::Agents,
        Self::SecondFactors,
    ];
}

/// Position at which a batch begins: after a number, or, in tables without one, after the rows that cannot be
/// decrypted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowPosition {
    after: i64,
    unreadable: usize,
}

/// Result for a limited number of rows.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) sealed: u64,
    pub(crate) unreadable: Vec<Unreadable>,
    last: Option<i64>,
}

impl Batch {
    /// Creates the result of a batch in which every row was encrypted or hashed.
    fn whole<T>(rows: &[T]) -> Self {
        Self { sealed: rows.len() as u64, ..Self::default() }
    }

    /// Returns true when no rows were left.
    pub(crate) const fn is_empty(&self) -> bool {
        self.sealed == 0 && self.unreadable.is_empty()
    }

    /// Returns the position at which the next batch begins.
    pub(crate) fn next(&self, place: RowPosition) -> RowPosition {
        RowPosition {
            after: self.last.unwrap_or(place.after),
            unreadable: place.unreadable + self.unreadable.len(),
        }
    }
}

const READING: &str = "reading what is to be sealed anew";

const KEYS: &str = "SELECT key_id, index_key FROM privacy_keys ORDER BY since, key_id";

fn key_row(row: &SqlRow<'_>) -> RowResult<(String, String)> {
    Ok((row.get("key_id")?, row.get("index_key")?))
}

impl Database {
    /// Returns the keys that are needed to read everything, each with the key for look-ups that it encrypts.
    pub(crate) fn privacy_keys(&self) -> Result<Vec<(String, String)>, InternalError> {
        self.0.all("reading which keys there are", KEYS, params![], key_row)
    }

    /// Counts the rows that each key has encrypted, and those in clear.
    pub(crate) fn sealed_rows(&self) -> Result<Vec<(Option<String>, u64)>, InternalError> {
        let clear = |table: &str, column: &str| {
            format!("SELECT NULL FROM {table} WHERE {column} NOT LIKE '{BLIND}%'")
        };
        let sql = format!(
            "SELECT sealed_by, count(*) AS number FROM (
                 SELECT sealed_by FROM lead_submissions UNION ALL
                 SELECT sealed_by FROM consent_evidence UNION ALL
                 SELECT sealed_by FROM lead_notes UNION ALL
                 SELECT sealed_by FROM second_factors UNION ALL
                 SELECT sealed_by FROM idempotency_keys UNION ALL {} UNION ALL {} UNION ALL {}
                 UNION ALL {}
             ) AS counted GROUP BY sealed_by ORDER BY sealed_by",
            clear("lead_contacts", "contact"),
            clear("lead_matches", "proof"),
            clear("lead_tallies", "subject"),
            clear("leads", "agent"),
        );
        self.0.all("counting what is sealed", &sql, params![], |row| {
            Ok((row.get("sealed_by")?, row.get("number")?))
        })
    }
}

impl StoreTransaction<'_> {
    /// Returns the same keys, after locking them against changes.
    pub(crate) fn privacy_keys(&self) -> Result<Vec<(String, String)>, InternalError> {
        self.0.lock("the keys of personal data")?;
        self.0.all("reading which keys there are", KEYS, params![], key_row)
    }

    /// Records that a key is in use from now on.
    pub(crate) fn put_privacy_key(
        &self,
        id: &str,
        index_key: &str,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        let sql = "INSERT INTO privacy_keys (key_id, index_key, since) VALUES ($1, $2, $3)
                   ON CONFLICT DO NOTHING";
        self.0.execute("writing which key seals", sql, params![id, index_key, now])
    }

    /// Returns the key that encrypts rows of this transaction, and protects it from removal until the end. A key that
    /// was removed because this process had not used it yet is recorded again.
    pub(super) fn sealing_key(&self, now: Timestamp) -> Result<Option<&str>, InternalError> {
        let Some((id, index_key)) = self.0.cipher().key_row() else { return Ok(None) };
        let sql = format!("SELECT 1 FROM privacy_keys WHERE key_id = $1{}", self.0.for_key_share());
        let known: Option<i64> =
            self.0.first("looking for the key that seals", &sql, params![id], |row| row.only())?;
        if known.is_none() {
            self.put_privacy_key(id, index_key, now)?;
        }
        Ok(Some(id))
    }

    /// Deletes the keys that no row is encrypted with any more, except this one.
    pub(crate) fn forget_other_keys(&self, current_key: &str) -> Result<(), InternalError> {
        self.0.lock("the keys of personal data")?;
        // Waits for transactions that write with such a key before its rows are counted.
        let sql =
            format!("SELECT key_id FROM privacy_keys WHERE key_id <> $1{}", self.0.for_update());
        self.0.all("waiting for keys", &sql, params![current_key], |row| row.only::<String>())?;
        self.0.execute(
            "forgetting keys",
            "DELETE FROM privacy_keys WHERE key_id <> $1
                 AND NOT EXISTS (SELECT 1 FROM lead_submissions WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM consent_evidence WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM lead_notes WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM second_factors WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE sealed_by = key_id)",
            params![current_key],
        )
    }

    /// Encrypts with the current key rows that are in clear or encrypted with another, a limited number from a position
    /// on. Rows that cannot be decrypted stay as they are.
    pub(crate) fn seal_anew(
        &self,
        table: SealedTable,
        place: RowPosition,
        limit: u32,
    ) -> Result<Batch, InternalError> {
        match table {
            SealedTable::Submissions => self.seal_submissions(place, limit),
            SealedTable::Evidence => self.seal_evidence(place, limit),
            SealedTable::Notes => self.seal_notes(place, limit),
            SealedTable::Replies => self.seal_replies(place, limit),
            SealedTable::Contacts => self.blind_contacts(limit),
            SealedTable::Matches => self.blind_matches(limit),
            SealedTable::Tallies => self.blind_tallies(limit),
            SealedTable::Agents => self.blind_agents(limit),
            SealedTable::SecondFactors => self.seal_second_factors(place, limit),
        }
    }

    /// Encrypts a batch of submissions with the current key.
    fn seal_submissions(&self, place: RowPosition, limit: u32) -> Result<Batch, InternalError> {
        let cipher = self.0.cipher();
        let key = cipher.key();
        let rows = self.0.all(
            READING,
            &format!(
                "SELECT seq, dealer_id, lead_id, received_at, sealed_by, payload, address
                 FROM lead_submissions WHERE seq > $1 AND sealed_by IS DISTINCT FROM $2
                 ORDER BY seq LIMIT $3{}",
                self.0.for_update()
            ),
            params![place.after, key, limit],
            |row| {
                let dealer: String = row.get("dealer_id")?;
                let lead: String = row.get("lead_id")?;
                let at = row.get("received_at")?;
                let of = |column| AadContext::lead(column, &dealer, &lead, at);
                let by: Option<String> = row.get("sealed_by")?;
                let payload = row.opened("payload", by.as_deref(), &of(PAYLOAD));
                let address = row.opened_if_any("address", by.as_deref(), &of(ADDRESS));
                let opened = readable(payload.and_then(|payload| Ok((payload, address?))))?;
                let places = (of(PAYLOAD), of(ADDRESS));
                Ok((row.get::<i64>("seq")?, lead, places, opened))
            },
        )?;
        let mut batch = Batch::default();
        for (seq, lead, (payload_of, address_of), opened) in rows {
            batch.last = Some(seq);
            let Ok((payload, address)) = opened else {
                batch.unreadable.push(Unreadable::from_lead("lead_submissions", Some(lead)));
                continue;
            };
            let address = address.map(|text| cipher.seal(&address_of, &text)).transpose()?;
            self.0.execute(
                "sealing a submission anew",
                "UPDATE lead_submissions SET payload = $2, address = $3, sealed_by = $4
                 WHERE seq = $1",
                params![seq, cipher.seal(&payload_of, &payload)?, address, key],
            )?;
            batch.sealed += 1;
        }
        Ok(batch)
    }

    /// Encrypts a batch of consent evidence with the current key, and hashes the networks in it.
    fn seal_evidence(&self, place: RowPosition, limit: u32) -> Result<Batch, InternalError> {
        let cipher = self.0.cipher();
        let key = cipher.key();
        let rows = self.0.all(
            READING,
            &format!(
                "SELECT submission, dealer_id, seq, sealed_by, network, user_agent, body, salt,
                     (SELECT lead_id FROM lead_submissions WHERE lead_submissions.seq = submission) AS lead_id
                 FROM consent_evidence WHERE submission > $1 AND sealed_by IS DISTINCT FROM $2
                 ORDER BY submission LIMIT $3{}",
                self.0.for_update()
            ),
            params![place.after, key, limit],
            |row| {
                let dealer: String = row.get("dealer_id")?;
                let seq: i64 = row.get("seq")?;
                let by: Option<String> = row.get("sealed_by")?;
                let of = |column| AadContext::evidence(column, &dealer, seq);
                let bytes = |name, column| {
                    let opened = row.opened_bytes(name, by.as_deref(), &of(column))?;
                    Ok(opened.unwrap_or_default()) as RowResult<Vec<u8>>
                };
                let agent = row.opened_if_any("user_agent", by.as_deref(), &of(USER_AGENT));
                let opened = agent.and_then(|agent| Ok((agent, bytes("body", BODY)?, bytes("salt", SALT)?)));
                let network: Option<String> = row.get("network")?;
                let lead: Option<String> = row.get("lead_id")?;
                Ok((row.get::<i64>("submission")?, lead, (dealer, seq), network, readable(opened)?))
            },
        )?;
        let mut batch = Batch::default();
        for (submission, lead, (dealer, seq), network, opened) in rows {
            batch.last = Some(submission);
            let Ok((agent, body, salt)) = opened else {
                batch.unreadable.push(Unreadable::from_lead("consent_evidence", lead));
                continue;
            };
            let of = |column| AadContext::evidence(column, &dealer, seq);
            let agent = agent.map(|text| cipher.seal(&of(USER_AGENT), &text)).transpose()?;
            // Used for look-ups: once hashed it stays the same under any key.
            let network = network.map(|network| self.blinded(&network));
            self.0.execute(
                "sealing evidence anew",
                "UPDATE consent_evidence SET network = $2, user_agent = $3, body = $4, salt = $5,
                     sealed_by = $6 WHERE submission = $1",
                params![
                    submission,
                    network,
                    agent,
                    cipher.seal_bytes(&of(BODY), &body)?.as_ref(),
                    cipher.seal_bytes(&of(SALT), &salt)?.as_ref(),
                    key
                ],
            )?;
            batch.sealed += 1;
        }
        Ok(batch)
    }

    /// Encrypts a batch of notes with the current key.
    fn seal_notes(&self, place: RowPosition, limit: u32) -> Result<Batch, InternalError> {
        let cipher = self.0.cipher();
        let now = cipher.key();
        let rows = self.0.all(
            READING,
            &format!(
                "SELECT key, dealer_id, lead_id, at, sealed_by, text, salt FROM lead_notes
                 WHERE key > $1 AND sealed_by IS DISTINCT FROM $2 ORDER BY key LIMIT $3{}",
                self.0.for_update()
            ),
            params![place.after, now, limit],
            |row| {
                let dealer: String = row.get("dealer_id")?;
                let lead: String = row.get("lead_id")?;
                let at: Timestamp = row.get("at")?;
                let text_of = AadContext::lead(NOTE, &dealer, &lead, at);
                let salt_of = AadContext::lead(NOTE_SALT, &dealer, &lead, at);
                let by: Option<String> = row.get("sealed_by")?;
                let text = row.opened("text", by.as_deref(), &text_of);
                let salt = row.opened_if_any("salt", by.as_deref(), &salt_of);
                let opened = readable(text.and_then(|text| Ok((text, salt?))))?;
                Ok((row.get::<i64>("key")?, lead, (text_of, salt_of), opened))
            },
        )?;
        let mut batch = Batch::default();
        for (key, lead, (text_of, salt_of), opened) in rows {
            batch.last = Some(key);
            let Ok((text, salt)) = opened else {
                batch.unreadable.push(Unreadable::from_lead("lead_notes", Some(lead)));
                continue;
            };
            let salt = salt.map(|salt| cipher.seal(&salt_of, &salt)).transpose()?;
            self.0.execute(
                "sealing a note anew",
                "UPDATE lead_notes SET text = $2, salt = $3, sealed_by = $4 WHERE key = $1",
                params![key, cipher.seal(&text_of, &text)?, salt, now],
            )?;
            batch.sealed += 1;
        }
        Ok(batch)
    }

    /// Encrypts a batch of second factors with the current key.
    fn seal_second_factors(&self, place: RowPosition, limit: u32) -> Result<Batch, InternalError> {
        let cipher = self.0.cipher();
        let now = cipher.key();
        let rows = self.0.all(
            READING,
            &format!(
                "SELECT name, sealed_by, secret FROM second_factors
                 WHERE sealed_by IS DISTINCT FROM $1 ORDER BY name LIMIT $2 OFFSET $3{}",
                self.0.for_update()
            ),
            params![now, limit, place.unreadable],
            |row| {
                let name: String = row.get("name")?;
                let by: Option<String> = row.get("sealed_by")?;
                let secret = readable(row.opened("secret", by.as_deref(), &belongs_to(&name)))?;
                Ok((name, secret))
            },
        )?;
        let mut batch = Batch::default();
        for (name, secret) in rows {
            let Ok(secret) = secret else {
                batch.unreadable.push(Unreadable::from_second_factor(name));
                continue;
            };
            self.0.execute(
                "sealing a second factor anew",
                "UPDATE second_factors SET secret = $2, sealed_by = $3 WHERE name = $1",
                params![name, cipher.seal(&belongs_to(&name), &secret)?, now],
            )?;
            batch.sealed += 1;
        }
        Ok(batch)
    }

    /// Encrypts a batch of stored replies with the current key, and hashes their scopes and keys where they are in clear.
    fn seal_replies(&self, place: RowPosition, limit: u32) -> Result<Batch, InternalError> {
        let cipher = self.0.cipher();
        let now = cipher.key();
        let rows = self.0.all(
            READING,
            &format!(
                "SELECT dealer_id, scope, key, sealed_by, lead_id, reply FROM idempotency_keys
                 WHERE sealed_by IS DISTINCT FROM $1 ORDER BY dealer_id, scope, key
                 LIMIT $2 OFFSET $3{}",
                self.0.for_update()
            ),
            params![now, limit, place.unreadable],
            |row| {
                let dealer: String = row.get("dealer_id")?;
                let scope: String = row.get("scope")?;
                let key: String = row.get("key")?;
                let by: Option<String> = row.get("sealed_by")?;
                let of = AadContext::column(REPLY, &[&dealer, &scope, &key]);
                let reply = readable(row.opened("reply", by.as_deref(), &of))?;
                let lead: Option<String> = row.get("lead_id")?;
                Ok((dealer, (scope, key), by.is_some(), lead, reply))
            },
        )?;
        let mut batch = Batch::default();
        for (dealer, (scope, key), is_blind, lead, reply) in rows {
            let Ok(reply) = reply else {
                batch.unreadable.push(Unreadable::from_lead("idempotency_keys", lead));
                continue;
            };
            batch.sealed += 1;
            // The values for look-ups are in the table's primary key, so a row in clear has to become another row.
            let (new_scope, new_key) = match is_blind {
                true => (scope.clone(), key.clone()),
                false => (cipher.blind(&scope), cipher.blind(&key)),
            };
            let of = AadContext::column(REPLY, &[&dealer, &new_scope, &new_key]);
            // Erasure finds a reply by its lead, and cannot search encrypted text.
            let lead = lead.or_else(|| lead_of(&reply));
            if is_blind {
                self.0.execute(
                    "sealing a reply anew",
                    "UPDATE idempotency_keys SET reply = $4, sealed_by = $5, lead_id = $6
                     WHERE dealer_id = $1 AND scope = $2 AND key = $3",
                    params![dealer, scope, key, cipher.seal(&of, &reply)?, now, lead],
                )?;
                continue;
            }
            // A reply that was written meanwhile is newer, and stays.
            self.0.execute(
                "sealing a reply",
                "INSERT INTO idempotency_keys (dealer_id, scope, key, payload_hash, reply,
                                               first_seen_at, sealed_by, lead_id)
                 SELECT dealer_id, $4, $5, payload_hash, $6, first_seen_at, $7, $8
                 FROM idempotency_keys WHERE dealer_id = $1 AND scope = $2 AND key = $3
                 ON CONFLICT DO NOTHING",
                params![
                    dealer,
                    scope,
                    key,
                    new_scope,
                    new_key,
                    cipher.seal(&of, &reply)?,
                    now,
                    lead
                ],
            )?;
            self.0.execute(
                "removing a reply in clear",
                "DELETE FROM idempotency_keys WHERE dealer_id = $1 AND scope = $2 AND key = $3",
                params![dealer, scope, key],
            )?;
        }
        Ok(batch)
    }

    /// Returns the hash of a text for look-ups, unless it is hashed already.
    fn blinded(&self, text: &str) -> String {
        if text.starts_with(BLIND) { text.to_owned() } else { self.0.cipher().blind(text) }
    }
}

/// Returns the payload of a submission, or the reason why it cannot be read any more.
pub(super) fn payload(
    row: &SqlRow<'_>,
    column: &str,
    key: Option<&str>,
    of: &AadContext,
) -> RowResult<Result<Value, Unopened>> {
    let parse = |text: String| Ok(json::from_str(&text).map_err(|_| Unopened::Changed)?);
    readable(row.opened(column, key, of).and_then(parse))
}

/// Returns the id of the lead that a stored reply is about.
pub(super) fn lead_of(reply: &str) -> Option<String> {
    let reply: Value = json::from_str(reply).ok()?;
    Some(reply.pointer("/0/lead_id")?.as_str()?.to_owned())
}
