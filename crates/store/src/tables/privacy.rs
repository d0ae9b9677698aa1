//! Which keys seal personal data, and sealing it anew.

use jiff::Timestamp;
use tradepost_wire::fault::Fault;

use super::{Database, Transaction};
use crate::privacy::{BLIND, Of};
use crate::sql::{Read, Row, params};

pub(crate) const SCHEMA: &str = "
    CREATE TABLE privacy_keys (
        key_id     TEXT PRIMARY KEY,    -- of a key that seals, or has sealed, what is here
        index_key  TEXT NOT NULL,       -- the key of what is looked up, sealed by it
        since      INTEGER NOT NULL
    ) WITHOUT ROWID;
    ALTER TABLE lead_submissions ADD COLUMN sealed_by TEXT;     -- NULL: not at all
    ALTER TABLE consent_evidence ADD COLUMN sealed_by TEXT;
    ALTER TABLE lead_notes ADD COLUMN sealed_by TEXT;
    ALTER TABLE idempotency_keys ADD COLUMN sealed_by TEXT;
    ALTER TABLE idempotency_keys ADD COLUMN lead_id TEXT;       -- NULL: it stands in the reply
    CREATE INDEX idempotency_keys_by_lead ON idempotency_keys (lead_id);
";

/// What of a submission is sealed.
pub(super) const PAYLOAD: &str = "lead_submissions.payload";
/// The same.
pub(super) const ADDRESS: &str = "lead_submissions.address";
/// What of the evidence of a consent is sealed.
pub(super) const USER_AGENT: &str = "consent_evidence.user_agent";
/// The same.
pub(super) const BODY: &str = "consent_evidence.body";
/// The same.
pub(super) const SALT: &str = "consent_evidence.salt";
/// What of a note is sealed.
pub(super) const NOTE: &str = "lead_notes.text";
/// What of an idempotency key is sealed.
pub(super) const REPLY: &str = "idempotency_keys.reply";

/// The tables that hold something sealed, or hashed to be looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sealed {
    Submissions,
    Evidence,
    Notes,
    Replies,
    Contacts,
    Matches,
    Tallies,
}

impl Sealed {
    /// All of them.
    pub(crate) const ALL: [Self; 7] = [
        Self::Submissions,
        Self::Evidence,
        Self::Notes,
        Self::Replies,
        Self::Contacts,
        Self::Matches,
        Self::Tallies,
    ];
}

/// How many rows were done, and the number of the last.
type Done = (u32, i64);

const KEYS: &str = "SELECT key_id, index_key FROM privacy_keys ORDER BY since, key_id";

fn key_row(row: &Row<'_>) -> Read<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}

impl Database {
    /// The keys without which something cannot be read, each with what it seals.
    pub(crate) fn privacy_keys(&self) -> Result<Vec<(String, String)>, Fault> {
        self.0.all("reading which keys there are", KEYS, params![], key_row)
    }

    /// How many rows each key has sealed, and how many are in clear.
    pub(crate) fn sealed_rows(&self) -> Result<Vec<(Option<String>, u64)>, Fault> {
        let clear = |table: &str, column: &str| {
            format!("SELECT NULL FROM {table} WHERE {column} NOT LIKE '{BLIND}%'")
        };
        let sql = format!(
            "SELECT sealed_by, count(*) FROM (
                 SELECT sealed_by FROM lead_submissions UNION ALL
                 SELECT sealed_by FROM consent_evidence UNION ALL
                 SELECT sealed_by FROM lead_notes UNION ALL
                 SELECT sealed_by FROM idempotency_keys UNION ALL {} UNION ALL {} UNION ALL {}
             ) AS counted GROUP BY sealed_by ORDER BY sealed_by",
            clear("lead_contacts", "contact"),
            clear("lead_matches", "proof"),
            clear("lead_tallies", "subject"),
        );
        self.0.all("counting what is sealed", &sql, params![], |row| {
            Ok((row.get(0)?, row.get::<i64>(1)?.unsigned_abs()))
        })
    }
}

impl Transaction<'_> {
    /// The same keys, once nobody else is changing them.
    pub(crate) fn privacy_keys(&self) -> Result<Vec<(String, String)>, Fault> {
        self.0.lock("the keys of personal data")?;
        self.0.all("reading which keys there are", KEYS, params![], key_row)
    }

    /// Notes that a key seals from now on.
    pub(crate) fn put_privacy_key(
        &self,
        id: &str,
        index_key: &str,
        now: Timestamp,
    ) -> Result<(), Fault> {
        let sql = "INSERT INTO privacy_keys (key_id, index_key, since) VALUES ($1, $2, $3)";
        self.0.execute("writing which key seals", sql, params![id, index_key, now])?;
        Ok(())
    }

    /// Forgets the keys by which nothing is sealed any more, but for this one.
    pub(crate) fn forget_other_keys(&self, kept: &str) -> Result<(), Fault> {
        self.0.lock("the keys of personal data")?;
        self.0.execute(
            "forgetting keys",
            "DELETE FROM privacy_keys WHERE key_id <> $1
                 AND NOT EXISTS (SELECT 1 FROM lead_submissions WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM consent_evidence WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM lead_notes WHERE sealed_by = key_id)
                 AND NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE sealed_by = key_id)",
            params![kept],
        )?;
        Ok(())
    }

    /// Seals by the key of now what is sealed by another or not at all: rows after a number, a limited
    /// number of them.
    pub(crate) fn seal_anew(&self, table: Sealed, after: i64, limit: u32) -> Result<Done, Fault> {
        match table {
            Sealed::Submissions => self.seal_submissions(after, limit),
            Sealed::Evidence => self.seal_evidence(after, limit),
            Sealed::Notes => self.seal_notes(after, limit),
            // These have no number. What is done is not found by its query any more, so that each
            // call goes on where the last one ended.
            Sealed::Replies => self.seal_replies(limit),
            Sealed::Contacts => self.blind_contacts(limit),
            Sealed::Matches => self.blind_matches(limit),
            Sealed::Tallies => self.blind_tallies(limit),
        }
    }

    fn seal_submissions(&self, after: i64, limit: u32) -> Result<Done, Fault> {
        let (vault, key) = (self.0.vault(), self.0.vault().key());
        let rows = self.0.all(
            "reading what is to be sealed anew",
            &format!(
                "SELECT seq, dealer_id, lead_id, received_at, sealed_by, payload, address
                 FROM lead_submissions WHERE seq > $1 AND sealed_by IS DISTINCT FROM $2
                 ORDER BY seq LIMIT $3{}",
                self.0.for_update()
            ),
            params![after, key, limit],
            |row| {
                let (dealer, lead): (String, String) = (row.get(1)?, row.get(2)?);
                let of = |column| Ok(Of::lead(column, &dealer, &lead, row.get(3)?)) as Read<Of>;
                let by: Option<String> = row.get(4)?;
                let (payload_of, address_of) = (of(PAYLOAD)?, of(ADDRESS)?);
                let payload = row.opened(5, by.as_deref(), &payload_of)?;
                let address = row.opened_if_any(6, by.as_deref(), &address_of)?;
                Ok((row.get::<i64>(0)?, (payload_of, payload), (address_of, address)))
            },
        )?;
        for (seq, (payload_of, payload), (address_of, address)) in &rows {
            let address = address.as_ref().map(|text| vault.seal(address_of, text)).transpose()?;
            self.0.execute(
                "sealing a submission anew",
                "UPDATE lead_submissions SET payload = $2, address = $3, sealed_by = $4
                 WHERE seq = $1",
                params![seq, vault.seal(payload_of, payload)?, address, key],
            )?;
        }
        Ok(done(&rows, |(seq, ..)| *seq, after))
    }

    fn seal_evidence(&self, after: i64, limit: u32) -> Result<Done, Fault> {
        let (vault, key) = (self.0.vault(), self.0.vault().key());
        let rows = self.0.all(
            "reading what is to be sealed anew",
            &format!(
                "SELECT submission, dealer_id, seq, sealed_by, network, user_agent, body, salt
                 FROM consent_evidence WHERE submission > $1 AND sealed_by IS DISTINCT FROM $2
                 ORDER BY submission LIMIT $3{}",
                self.0.for_update()
            ),
            params![after, key, limit],
            |row| {
                let (dealer, seq): (String, i64) = (row.get(1)?, row.get(2)?);
                let by: Option<String> = row.get(3)?;
                let of = |column| Of::evidence(column, &dealer, seq);
                let agent = row.opened_if_any(5, by.as_deref(), &of(USER_AGENT))?;
                let body = row.opened_bytes(6, by.as_deref(), &of(BODY))?.unwrap_or_default();
                let salt = row.opened_bytes(7, by.as_deref(), &of(SALT))?.unwrap_or_default();
                let network: Option<String> = row.get(4)?;
                Ok((row.get::<i64>(0)?, (dealer, seq), network, agent, [body, salt]))
            },
        )?;
        for (submission, (dealer, seq), network, agent, [body, salt]) in &rows {
            let of = |column| Of::evidence(column, dealer, *seq);
            let agent = agent.as_ref().map(|text| vault.seal(&of(USER_AGENT), text)).transpose()?;
            // It is looked up: hashed once, it stays as it is under whatever key.
            let network = network.as_ref().map(|network| self.blinded(network));
            self.0.execute(
                "sealing evidence anew",
                "UPDATE consent_evidence SET network = $2, user_agent = $3, body = $4, salt = $5,
                     sealed_by = $6 WHERE submission = $1",
                params![
                    submission,
                    network,
                    agent,
                    vault.seal_bytes(&of(BODY), body)?.as_ref(),
                    vault.seal_bytes(&of(SALT), salt)?.as_ref(),
                    key
                ],
            )?;
        }
        Ok(done(&rows, |(submission, ..)| *submission, after))
    }

    fn seal_notes(&self, after: i64, limit: u32) -> Result<Done, Fault> {
        let (vault, now) = (self.0.vault(), self.0.vault().key());
        let rows = self.0.all(
            "reading what is to be sealed anew",
            &format!(
                "SELECT key, dealer_id, lead_id, at, sealed_by, text FROM lead_notes
                 WHERE key > $1 AND sealed_by IS DISTINCT FROM $2 ORDER BY key LIMIT $3{}",
                self.0.for_update()
            ),
            params![after, now, limit],
            |row| {
                let (dealer, lead): (String, String) = (row.get(1)?, row.get(2)?);
                let of = Of::lead(NOTE, &dealer, &lead, row.get(3)?);
                let by: Option<String> = row.get(4)?;
                let text = row.opened(5, by.as_deref(), &of)?;
                Ok((row.get::<i64>(0)?, of, text))
            },
        )?;
        for (key, of, text) in &rows {
            self.0.execute(
                "sealing a note anew",
                "UPDATE lead_notes SET text = $2, sealed_by = $3 WHERE key = $1",
                params![key, vault.seal(of, text)?, now],
            )?;
        }
        Ok(done(&rows, |(key, ..)| *key, after))
    }

    fn seal_replies(&self, limit: u32) -> Result<Done, Fault> {
        let (vault, now) = (self.0.vault(), self.0.vault().key());
        let rows = self.0.all(
            "reading what is to be sealed anew",
            &format!(
                "SELECT dealer_id, scope, key, sealed_by, lead_id, reply FROM idempotency_keys
                 WHERE sealed_by IS DISTINCT FROM $1 LIMIT $2{}",
                self.0.for_update()
            ),
            params![now, limit],
            |row| {
                let (dealer, scope): (String, String) = (row.get(0)?, row.get(1)?);
                let (key, by): (String, Option<String>) = (row.get(2)?, row.get(3)?);
                let of = Of::column(REPLY, &[&dealer, &scope, &key]);
                let reply = row.opened(5, by.as_deref(), &of)?;
                let lead: Option<String> = row.get(4)?;
                Ok((dealer, (scope, key), by.is_some(), lead, reply))
            },
        )?;
        for (dealer, (scope, key), is_blind, lead, reply) in &rows {
            // What is looked up is in the table's key, so that a row in
            // clear has to become another row.
            let (new_scope, new_key) = match is_blind {
                true => (scope.clone(), key.clone()),
                false => (vault.blind(scope), vault.blind(key)),
            };
            let of = Of::column(REPLY, &[dealer, &new_scope, &new_key]);
            // Erasure finds a reply by its lead, and cannot look into what is sealed.
            let lead = lead.clone().or_else(|| lead_of(reply));
            if *is_blind {
                self.0.execute(
                    "sealing a reply anew",
                    "UPDATE idempotency_keys SET reply = $4, sealed_by = $5, lead_id = $6
                     WHERE dealer_id = $1 AND scope = $2 AND key = $3",
                    params![dealer, scope, key, vault.seal(&of, reply)?, now, lead],
                )?;
                continue;
            }
            // One that was written in the meantime is newer, and stays.
            self.0.execute(
                "sealing a reply",
                "INSERT INTO idempotency_keys (dealer_id, scope, key, payload_hash, reply,
                                               first_seen_at, sealed_by, lead_id)
                 SELECT dealer_id, $4, $5, payload_hash, $6, first_seen_at, $7, $8
                 FROM idempotency_keys WHERE dealer_id = $1 AND scope = $2 AND key = $3
                 ON CONFLICT DO NOTHING",
                params![dealer, scope, key, new_scope, new_key, vault.seal(&of, reply)?, now, lead],
            )?;
            self.0.execute(
                "removing a reply in clear",
                "DELETE FROM idempotency_keys WHERE dealer_id = $1 AND scope = $2 AND key = $3",
                params![dealer, scope, key],
            )?;
        }
        Ok(done(&rows, |_| 0, 0))
    }

    fn blind_contacts(&self, limit: u32) -> Result<Done, Fault> {
        let rows = self.plain_rows("lead_contacts", "contact", "person", "''", limit)?;
        for [dealer, contact, person, _] in &rows {
            // It may be there in this form from a newer lead.
            self.0.execute(
                "hashing a contact",
                "INSERT INTO lead_contacts (dealer_id, contact, person) VALUES ($1, $2, $3)
                 ON CONFLICT DO NOTHING",
                params![dealer, self.0.vault().blind(contact), person],
            )?;
            self.0.execute(
                "removing a contact in clear",
                "DELETE FROM lead_contacts WHERE dealer_id = $1 AND contact = $2",
                params![dealer, contact],
            )?;
        }
        Ok(done(&rows, |_| 0, 0))
    }

    fn blind_matches(&self, limit: u32) -> Result<Done, Fault> {
        let rows = self.plain_rows("lead_matches", "proof", "contact", "subject", limit)?;
        for [dealer, proof, contact, subject] in &rows {
            let blind = |text: &String| self.0.vault().blind(text);
            self.0.execute(
                "hashing by what a lead is known",
                "INSERT INTO lead_matches
                     (dealer_id, proof, contact, subject, received_at, lead_id)
                 SELECT dealer_id, $5, $6, $7, received_at, lead_id FROM lead_matches
                 WHERE dealer_id = $1 AND proof = $2 AND contact = $3 AND subject = $4
                 ON CONFLICT DO NOTHING",
                params![
                    dealer,
                    proof,
                    contact,
                    subject,
                    blind(proof),
                    blind(contact),
                    blind(subject)
                ],
            )?;
            self.0.execute(
                "removing by what a lead is known in clear",
                "DELETE FROM lead_matches
                 WHERE dealer_id = $1 AND proof = $2 AND contact = $3 AND subject = $4",
                params![dealer, proof, contact, subject],
            )?;
        }
        Ok(done(&rows, |_| 0, 0))
    }

    fn blind_tallies(&self, limit: u32) -> Result<Done, Fault> {
        let rows = self.plain_rows("lead_tallies", "subject", "''", "''", limit)?;
        for [dealer, subject, ..] in &rows {
            self.0.execute(
                "hashing a tally",
                "INSERT INTO lead_tallies (dealer_id, subject, at, submission)
                 SELECT dealer_id, $3, at, submission FROM lead_tallies
                 WHERE dealer_id = $1 AND subject = $2 ON CONFLICT DO NOTHING",
                params![dealer, subject, self.0.vault().blind(subject)],
            )?;
            self.0.execute(
                "removing a tally in clear",
                "DELETE FROM lead_tallies WHERE dealer_id = $1 AND subject = $2",
                params![dealer, subject],
            )?;
        }
        Ok(done(&rows, |_| 0, 0))
    }

    /// Rows whose first column is not hashed yet: the dealer and three columns.
    fn plain_rows(
        &self,
        table: &str,
        first: &str,
        second: &str,
        third: &str,
        limit: u32,
    ) -> Result<Vec<[String; 4]>, Fault> {
        self.0.all(
            "reading what is to be hashed",
            &format!(
                "SELECT DISTINCT dealer_id, {first}, {second}, {third} FROM {table}
                 WHERE {first} NOT LIKE '{BLIND}%' LIMIT $1"
            ),
            params![limit],
            |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]),
        )
    }

    /// The form in which a text is looked up, unless it has it already.
    fn blinded(&self, text: &str) -> String {
        if text.starts_with(BLIND) { text.to_owned() } else { self.0.vault().blind(text) }
    }
}

fn done<T>(rows: &[T], number: impl Fn(&T) -> i64, after: i64) -> Done {
    // Without a row the caller stops, so that any number is good.
    let last = rows.last().map_or(after, number);
    (u32::try_from(rows.len()).unwrap_or(u32::MAX), last)
}

/// The lead that a remembered answer is about.
pub(super) fn lead_of(reply: &str) -> Option<String> {
    let reply: tradepost_wire::json::Value = tradepost_wire::json::from_str(reply).ok()?;
    Some(reply.pointer("/0/lead_id")?.as_str()?.to_owned())
}
