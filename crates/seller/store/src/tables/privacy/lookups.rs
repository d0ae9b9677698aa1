//! Hashing the values that are looked up, in rows from before there was a key.

use tradepost_document::fault::InternalError;

use super::super::StoreTransaction;
use super::Batch;
use crate::privacy::BLIND;
use crate::sql::params;

impl StoreTransaction<'_> {
    /// Replaces a batch of contacts in clear by their hashes.
    pub(super) fn blind_contacts(&self, limit: u32) -> Result<Batch, InternalError> {
        let rows = self.plain_rows("lead_contacts", "contact", "person", "''", limit)?;
        for [dealer, contact, person, _] in &rows {
            // A newer lead may have stored it in this form already.
            self.0.execute(
                "hashing a contact",
                "INSERT INTO lead_contacts (dealer_id, contact, person) VALUES ($1, $2, $3)
                 ON CONFLICT DO NOTHING",
                params![dealer, self.0.cipher().blind(contact), person],
            )?;
            self.0.execute(
                "removing a contact in clear",
                "DELETE FROM lead_contacts WHERE dealer_id = $1 AND contact = $2",
                params![dealer, contact],
            )?;
        }
        Ok(Batch::whole(&rows))
    }

    /// Replaces the proofs, contacts and subjects of a batch of lead matches in clear by their hashes.
    pub(super) fn blind_matches(&self, limit: u32) -> Result<Batch, InternalError> {
        let rows = self.plain_rows("lead_matches", "proof", "contact", "subject", limit)?;
        for [dealer, proof, contact, subject] in &rows {
            let blind = |text: &String| self.0.cipher().blind(text);
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
        Ok(Batch::whole(&rows))
    }

    /// Replaces the subjects of a batch of tallies in clear by their hashes.
    pub(super) fn blind_tallies(&self, limit: u32) -> Result<Batch, InternalError> {
        let rows = self.plain_rows("lead_tallies", "subject", "''", "''", limit)?;
        for [dealer, subject, ..] in &rows {
            self.0.execute(
                "hashing a tally",
                "INSERT INTO lead_tallies (dealer_id, subject, at, submission)
                 SELECT dealer_id, $3, at, submission FROM lead_tallies
                 WHERE dealer_id = $1 AND subject = $2 ON CONFLICT DO NOTHING",
                params![dealer, subject, self.0.cipher().blind(subject)],
            )?;
            self.0.execute(
                "removing a tally in clear",
                "DELETE FROM lead_tallies WHERE dealer_id = $1 AND subject = $2",
                params![dealer, subject],
            )?;
        }
        Ok(Batch::whole(&rows))
    }

    /// Replaces a batch of agent names in clear by their hashes.
    pub(super) fn blind_agents(&self, limit: u32) -> Result<Batch, InternalError> {
        let rows = self.plain_rows("leads", "agent", "''", "''", limit)?;
        for [dealer, agent, ..] in &rows {
            self.0.execute(
                "hashing the name of an agent",
                "UPDATE leads SET agent = $3 WHERE dealer_id = $1 AND agent = $2",
                params![dealer, agent, self.0.cipher().blind(agent)],
            )?;
        }
        Ok(Batch::whole(&rows))
    }

    /// Returns rows whose first column is not hashed yet: the dealer and three columns.
    fn plain_rows(
        &self,
        table: &str,
        first: &str,
        second: &str,
        third: &str,
        limit: u32,
    ) -> Result<Vec<[String; 4]>, InternalError> {
        self.0.all(
            "reading what is to be hashed",
            &format!(
                "SELECT DISTINCT dealer_id, {first} AS value1, {second} AS value2, {third} AS value3
                 FROM {table}
                 WHERE {first} NOT LIKE '{BLIND}%' LIMIT $1"
            ),
            params![limit],
            |row| {
                Ok([
                    row.get("dealer_id")?,
                    row.get("value1")?,
                    row.get("value2")?,
                    row.get("value3")?,
                ])
            },
        )
    }
}
