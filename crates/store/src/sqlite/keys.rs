//! API keys.

use jiff::Timestamp;
use jiff::civil::Date;
use rusqlite::{OptionalExtension as _, Row, params};
use tradepost_server::permission::Permission;
use tradepost_wire::fault::Fault;

use super::{Database, Transaction, moment};
use crate::ApiKey;

/// The table, as a migration.
pub(super) const SCHEMA: &str = "
    CREATE TABLE api_keys (
        id           TEXT PRIMARY KEY,
        dealer_id    TEXT NOT NULL,
        name         TEXT NOT NULL,
        hash         BLOB NOT NULL,     -- SHA-256 of the whole key
        scopes       TEXT,              -- with spaces between; NULL: all
        created_at   INTEGER NOT NULL,
        expires_at   INTEGER,
        revoked_at   INTEGER,
        last_used_on TEXT               -- a day, UTC
    ) WITHOUT ROWID;
    CREATE INDEX api_keys_by_name ON api_keys (dealer_id, name);
";

const COLUMNS: &str = "id, dealer_id, name, hash, scopes, created_at, expires_at, revoked_at, \
                       last_used_on";

impl Database {
    pub(crate) fn api_key(&self, dealer_id: &str, id: &str) -> Result<Option<ApiKey>, Fault> {
        let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE id = ?1 AND dealer_id = ?2");
        self.0
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([id, dealer_id], read).optional())
            .map_err(Fault::on("reading an API key"))
    }

    pub(crate) fn api_keys(&self, dealer_id: Option<&str>) -> Result<Vec<ApiKey>, Fault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM api_keys WHERE ?1 IS NULL OR dealer_id = ?1
             ORDER BY created_at, id"
        );
        self.0
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_map([dealer_id], read)?.collect())
            .map_err(Fault::on("reading the API keys"))
    }
}

impl Transaction<'_> {
    pub(crate) fn add_api_key(&self, key: &ApiKey, same_caller: bool) -> Result<bool, Fault> {
        let scopes = key
            .scopes
            .as_ref()
            .map(|scopes| scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(" "));
        self.0
            .execute(
                "INSERT INTO api_keys
                     (id, dealer_id, name, hash, scopes, created_at, expires_at)
                 SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7
                 WHERE ?8 OR NOT EXISTS
                     (SELECT 1 FROM api_keys WHERE dealer_id = ?2 AND name = ?3)",
                params![
                    key.id,
                    key.agent_id,
                    key.name,
                    key.hash,
                    scopes,
                    key.created_at.as_millisecond(),
                    key.expires_at.map(Timestamp::as_millisecond),
                    same_caller
                ],
            )
            .map(|rows| rows > 0)
            .map_err(Fault::on("writing an API key"))
    }

    pub(crate) fn revoke_api_key(&self, id: &str, now: Timestamp) -> Result<Option<ApiKey>, Fault> {
        let on = Fault::on::<rusqlite::Error>;
        let sql = format!("SELECT {COLUMNS} FROM api_keys WHERE id = ?1");
        let before = self.0.query_row(&sql, [id], read).optional();
        let before = before.map_err(on("reading an API key"))?;
        self.0
            .execute(
                "UPDATE api_keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                params![id, now.as_millisecond()],
            )
            .map_err(on("revoking an API key"))?;
        Ok(before)
    }

    pub(crate) fn note_api_key_use(&self, id: &str, day: Date) -> Result<(), Fault> {
        self.0
            .execute(
                "UPDATE api_keys SET last_used_on = ?2
                 WHERE id = ?1 AND (last_used_on IS NULL OR last_used_on < ?2)",
                params![id, day.to_string()],
            )
            .map(|_| ())
            .map_err(Fault::on("noting the use of an API key"))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ApiKey> {
    let scopes: Option<String> = row.get("scopes")?;
    let day: Option<String> = row.get("last_used_on")?;
    let optional =
        |name: &str| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(name)?.map(moment));
    Ok(ApiKey {
        id: row.get("id")?,
        agent_id: row.get("dealer_id")?,
        name: row.get("name")?,
        hash: row.get("hash")?,
        // A name that this version does not know permits nothing.
        scopes: scopes
            .map(|names| names.split(' ').map(|name| Permission::from(name.to_owned())).collect()),
        created_at: moment(row.get("created_at")?),
        expires_at: optional("expires_at")?,
        revoked_at: optional("revoked_at")?,
        last_used_on: day.and_then(|day| day.parse().ok()),
    })
}
