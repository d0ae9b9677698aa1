//! API keys.

use std::collections::BTreeSet;

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
        let scopes = key.scopes.as_ref().map(|scopes| StoredScopes::from_set(scopes).0);
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
        scopes: scopes.map(|names| StoredScopes(names).into_set()),
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        revoked_at: row.get("revoked_at")?,
        last_used_on: day.and_then(|day| day.parse().ok()),
    })
}

/// Permissions of a key as the column `scopes` stores them: their names in ascending order, with one blank between
/// them. A key that has all permissions has no text there.
struct StoredScopes(String);

impl StoredScopes {
    /// Writes a set of permissions.
    fn from_set(scopes: &BTreeSet<Permission>) -> Self {
        Self(scopes.iter().map(Permission::name).collect::<Vec<_>>().join(" "))
    }

    /// Reads the set. Refuses no text, because an unknown name permits nothing; nor does the empty name, which an empty
    /// text and a blank too many stand for.
    fn into_set(self) -> BTreeSet<Permission> {
        self.0.split(' ').map(|name| Permission::from(name.to_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &[&'static str]) -> BTreeSet<Permission> {
        names.iter().copied().map(Permission::new).collect()
    }

    #[test]
    fn scopes_are_read_as_they_were_written() {
        for names in [&["lead:write"][..], &["tasks:write", "inventory:read", "tasks:read"]] {
            let scopes = set(names);
            assert_eq!(StoredScopes::from_set(&scopes).into_set(), scopes);
        }
        let stored = StoredScopes::from_set(&set(&["tasks:write", "inventory:read"]));
        assert_eq!(stored.0, "inventory:read tasks:write");
    }

    #[test]
    fn a_malformed_text_permits_nothing_more() {
        let read = |text: &str| StoredScopes(text.to_owned()).into_set();
        // The empty set comes back with the empty name in it, which permits nothing either.
        assert_eq!(read(""), set(&[""]));
        assert_eq!(read(" "), set(&[""]));
        assert_eq!(StoredScopes::from_set(&set(&[])).into_set(), set(&[""]));
        assert_eq!(read(" lead:write  tasks:read "), set(&["", "lead:write", "tasks:read"]));
        assert_eq!(read("lead:write lead:write"), set(&["lead:write"]));
        assert_eq!(read("lead:write,tasks:read"), set(&["lead:write,tasks:read"]));
        assert_eq!(read("lead:write\ttasks:read"), set(&["lead:write\ttasks:read"]));
        assert_eq!(read("Lead:Write none:such"), set(&["Lead:Write", "none:such"]));
    }
}
