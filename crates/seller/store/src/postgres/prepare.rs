//! Preparation of a database when it is opened: its locks have to work, and its schema has to be up to date.

use tradepost_document::fault::InternalError;

use super::{PgSession, schema};
use crate::sql::params;
use crate::sqlite::Schema;

/// Checks that a lock of one session excludes another. Some databases that speak PostgreSQL's protocol have the
/// functions but grant every lock; poolers that share sessions give both the same one.
pub(crate) fn check_locks(one: &PgSession, other: &PgSession) -> Result<(), InternalError> {
    const WHAT: &str = "trying the database's locks";
    const LOCK: &str = "SELECT pg_try_advisory_lock(hashtextextended($1, 20260401))";
    const UNLOCK: &str = "SELECT pg_advisory_unlock(hashtextextended($1, 20260401))";
    // A name of this process alone: others may be testing theirs.
    let name = one.process().to_owned();
    let ask = |session: &PgSession, sql| {
        let rows = session.query(WHAT, sql, params![name])?;
        Ok::<bool, InternalError>(rows.first().is_some_and(|row| row.try_get(0).unwrap_or(false)))
    };
    let first = ask(one, LOCK)?;
    let second = ask(other, LOCK)?;
    // A pooler of transactions may have released it on another session than the one that took it.
    let released = ask(one, UNLOCK)?;
    if first && !second && released {
        return Ok(());
    }
    let cause = "its advisory locks keep nobody out, so that one thing could happen twice: connect to a \
                 PostgreSQL, and to it or a pooler that keeps sessions";
    Err(InternalError::new("opening the database", cause))
}

/// Migrates the schema, or returns why it cannot be used. Processes that start together do so one after the other.
pub(crate) fn prepare(session: &PgSession, schema: Schema) -> Result<(), InternalError> {
    let mut outcome = Ok(());
    session.transaction(|| {
        outcome = migrate(session, schema);
        outcome.is_ok()
    })?;
    outcome
}

/// Applies the migrations that the database lacks. With [`Schema::Keep`] only an empty database gets them, and an
/// older one is an error.
fn migrate(session: &PgSession, schema: Schema) -> Result<(), InternalError> {
    const WHAT: &str = "opening the database";
    session.lock("the schema of tradepost")?;
    // Checked before the table is created: a role without CREATE can use tables that are up to date.
    let found = session.query(WHAT, "SELECT to_regclass('tradepost_schema') IS NOT NULL", &[])?;
    if !found.first().is_some_and(|row| row.try_get(0).unwrap_or(false)) {
        session.execute(WHAT, schema::VERSIONS, &[])?;
    }
    let known = session.query(WHAT, "SELECT max(version) FROM tradepost_schema", &[])?;
    let done: Option<i64> = known.first().and_then(|row| row.try_get(0).ok()).flatten();
    let done = usize::try_from(done.unwrap_or_default()).unwrap_or(usize::MAX);
    if done > schema::MIGRATIONS.len() {
        return Err(InternalError::new(WHAT, "it was written by a newer version of tradepost"));
    }
    if done == schema::MIGRATIONS.len() {
        return Ok(());
    }
    if schema == Schema::Keep && done > 0 {
        let cause = "it is of an older version of tradepost; `tradepost serve` or `tradepost migrate` \
                     brings it up to date";
        return Err(InternalError::new(WHAT, cause));
    }
    for step in schema::MIGRATIONS.iter().skip(done) {
        session.batch(step).map_err(|broken| broken.while_doing("migrating the database"))?;
    }
    let version = schema::MIGRATIONS.len();
    session.execute(
        WHAT,
        "INSERT INTO tradepost_schema (version) VALUES ($1)",
        params![version],
    )?;
    Ok(())
}
