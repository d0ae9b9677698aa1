//! Refusals: stored by id for a while, and counted by code and hour.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;
use tradepost_document::json;

use super::StoreTransaction;
use crate::Store;
use crate::refusals::{RefusalCount, RefusalRecord};
use crate::sql::{RowResult, SqlRow, params};

const COLUMNS: &str = "error_id, agent_id, at, code, operation, caller, misfits";

impl StoreTransaction<'_> {
    /// Stores refusals, and adds to their counts.
    ///
    /// # Errors
    /// When the database fails.
    pub fn keep_refusals(
        &self,
        refusals: &[RefusalRecord],
        counts: &[RefusalCount],
    ) -> Result<(), InternalError> {
        for refusal in refusals {
            let misfits = json::to_string(&refusal.misfits)
                .map_err(InternalError::on("writing a refusal"))?;
            self.0.execute(
                "writing a refusal",
                "INSERT INTO refusals (error_id, agent_id, at, code, operation, caller, misfits)
                 VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
                params![
                    refusal.error_id,
                    refusal.agent_id,
                    refusal.at,
                    refusal.code,
                    refusal.operation,
                    refusal.caller,
                    misfits
                ],
            )?;
        }
        for count in counts {
            self.0.execute(
                "counting refusals",
                "INSERT INTO refusal_counts (agent_id, hour, code, refused) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (agent_id, hour, code)
                 DO UPDATE SET refused = refusal_counts.refused + excluded.refused",
                params![count.agent_id, count.hour, count.code, count.refused],
            )?;
        }
        Ok(())
    }

    /// Deletes refusals and counts from before a moment, and of each agent all but the latest refusals.
    ///
    /// # Errors
    /// When the database fails.
    pub fn forget_refusals(&self, since: Timestamp, each: u32) -> Result<(), InternalError> {
        const WHAT: &str = "forgetting refusals";
        self.0.execute(WHAT, "DELETE FROM refusals WHERE at < $1", params![since])?;
        self.0.execute(WHAT, "DELETE FROM refusal_counts WHERE hour < $1", params![since])?;
        let agents: Vec<String> = self.0.all(
            WHAT,
            "SELECT agent_id FROM refusals GROUP BY agent_id HAVING count(*) > $1",
            params![each],
            |row| row.only(),
        )?;
        // By the time of the first one beyond the limit. All with that same time are deleted, even if fewer than
        // allowed remain.
        for agent in agents {
            self.0.execute(
                WHAT,
                "DELETE FROM refusals WHERE agent_id = $1 AND at <= (
                     SELECT at FROM refusals WHERE agent_id = $1 ORDER BY at DESC LIMIT 1 OFFSET $2)",
                params![agent, each],
            )?;
        }
        Ok(())
    }
}

impl Store {
    /// Returns the refusal with an error id.
    ///
    /// # Errors
    /// When the database fails.
    pub fn refusal(&self, error_id: &str) -> Result<Option<RefusalRecord>, InternalError> {
        let sql = format!("SELECT {COLUMNS} FROM refusals WHERE error_id = $1");
        self.read_first("reading a refusal", &sql, params![error_id], read)
    }

    /// Returns refusals of an agent, or of all, the latest first; with this code, where one is given.
    ///
    /// # Errors
    /// When the database fails.
    pub fn refusals(
        &self,
        agent_id: Option<&str>,
        code: Option<&str>,
        limit: u32,
    ) -> Result<Vec<RefusalRecord>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM refusals
             WHERE ($1 IS NULL OR agent_id = $1) AND ($2 IS NULL OR code = $2)
             ORDER BY at DESC, error_id DESC LIMIT $3"
        );
        self.read_all("reading refusals", &sql, params![agent_id, code, limit], read)
    }

    /// Returns the numbers of refusals of an agent, or of all, since a moment, by hour and code.
    ///
    /// # Errors
    /// When the database fails.
    pub fn refusal_counts(
        &self,
        agent_id: Option<&str>,
        since: Timestamp,
    ) -> Result<Vec<RefusalCount>, InternalError> {
        self.read_all(
            "reading how much was refused",
            "SELECT agent_id, hour, code, refused FROM refusal_counts
             WHERE hour >= $2 AND ($1 IS NULL OR agent_id = $1) ORDER BY hour, agent_id, code",
            params![agent_id, since],
            |row| {
                Ok(RefusalCount {
                    agent_id: row.get("agent_id")?,
                    hour: row.get("hour")?,
                    code: row.get("code")?,
                    refused: row.get("refused")?,
                })
            },
        )
    }
}

/// Reads a refusal from a row.
fn read(row: &SqlRow<'_>) -> RowResult<RefusalRecord> {
    let misfits: String = row.get("misfits")?;
    Ok(RefusalRecord {
        error_id: row.get("error_id")?,
        agent_id: row.get("agent_id")?,
        at: row.get("at")?,
        code: row.get("code")?,
        operation: row.get("operation")?,
        caller: row.get("caller")?,
        misfits: json::from_str(&misfits)?,
    })
}
