//! API keys.

use jiff::Timestamp;
use jiff::civil::Date;
use tradepost_document::fault::InternalError;
use tradepost_server::permission::Permission;

use super::{Database, StoreTransaction};
use crate::ApiKey;
use crate::Store;
use crate::sql::{RowResult, SqlRow, params};

const COLUMNS: &str = "id, dealer_id, name, hash, scopes, created_at, expires_at, revoked_at, \
                       last_used_on";

impl Database {
    pub(crate) fn api_key(
        &self,
        dealer_id: &str,
        id: &str,
    ) -> Result<Option<ApiKey>, InternalError> {
        let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE id = $1 AND dealer_id = $2");
        self.0.first("reading an API key", &sql, params![id, dealer_id], read)
    }
}

impl Store {
    /// Returns all keys, the newest last; of one dealer when `dealer_id` is given.
    ///
    /// # Errors
    /// When the database fails.
    pub fn api_keys(&self, dealer_id: Option<&str>) -> Result<Vec<ApiKey>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM api_keys WHERE $1 IS NULL OR dealer_id = $1
             ORDER BY created_at, id"
        );
        self.read_all("reading the API keys", &sql, params![dealer_id], read)
    }
}

impl StoreTransaction<'_> {
    /// Stores a new key. Without `same_caller` its name must never have been used by another key of the dealer. Returns
    /// true when it was stored.
    ///
    /// # Errors
    /// When the database fails.
    pub fn add_api_key(&self, key: &ApiKey, same_caller: bool) -> Result<bool, InternalError> {
        let scopes = key
            .scopes
            .as_ref()
            .map(|scopes| scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" "));
        // Under the lock only one of two concurrent calls finds the name free.
        self.0.lock(&key.agent_id)?;
        self.0.changes(
            "writing an API key",
            "INSERT INTO api_keys
                     (id, dealer_id, name, hash, scopes, created_at, expires_at)
                 SELECT $1, $2, $3, $4, $5, $6, $7
                 WHERE $8 OR NOT EXISTS
                     (SELECT 1 FROM api_keys WHERE dealer_id = $2 AND name = $3)",
            params![
                key.id,
                key.agent_id,
                key.name,
                key.hash,
                scopes,
                key.created_at,
                key.expires_at,
                same_caller
            ],
        )
    }

    /// Revokes a key now. Returns the key as it was before; `None` when there is no such key.
    ///
    /// # Errors
    /// When the database fails.
    pub fn revoke_api_key(
        &self,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<ApiKey>, InternalError> {
        // Locked, so that one of two revocations at the same time is the first.
        let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE id = $1{}", self.0.for_update());
        let before = self.0.first("reading an API key", &sql, params![id], read)?;
        self.0.execute(
            "revoking an API key",
            "UPDATE api_keys SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL",
            params![id, now],
        )?;
        Ok(before)
    }

    pub(crate) fn note_api_key_use(&self, id: &str, day: Date) -> Result<(), InternalError> {
        self.0.execute(
            // A day and no time of day: otherwise each request would be a write.
            "noting the use of an API key",
            "UPDATE api_keys SET last_used_on = $2
                 WHERE id = $1 AND (last_used_on IS NULL OR last_used_on < $2)",
            params![id, day.to_string()],
        )
    }
}

/// Reads an API key from a row.
fn read(row: &SqlRow<'_>) -> RowResult<ApiKey> {
    let scopes: Option<String> = row.get("scopes")?;
    let day: Option<String> = row.get("last_used_on")?;
    Ok(ApiKey {
        id: row.get("id")?,
        agent_id: row.get("dealer_id")?,
        name: row.get("name")?,
        hash: row.get("hash")?,
        // An unknown name permits nothing.
        scopes: scopes
            .map(|names| names.split(' ').map(|name| Permission::from(name.to_owned())).collect()),
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        last_used_on: day.and_then(|day| day.parse().ok()),
    })
}
