//! Data of publishers: entities of every kind in one table, and idempotency keys.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::{self, Value};
use tradepost_publisher::decision::{DecidedStep, DecisionEntry, DecisionStep};
use tradepost_publisher::store::{
    EntityKind, EntityOwner, EntityRecord, IndexTerm, KeyRow, Query, StoreRead, StoreTx, Tally,
};

use super::{Database, StoreTransaction};
use crate::change_notice::ChangeNotice;
use crate::sql::{self, Bind as _, Connection, RowResult, SqlRow, params};

mod listing;

use listing::{COLUMNS, Listing, any_of, narrow};

/// Store of a publisher in a transaction. A job that reads gets it as [`StoreRead`] alone.
struct PublisherTx<'c> {
    connection: &'c Connection,
    publisher: &'c str,
}

impl Database {
    /// Runs a job that reads a publisher's data in one consistent snapshot.
    pub(crate) fn read_for_publisher(
        &self,
        publisher: &str,
        job: &mut dyn FnMut(&dyn StoreRead),
    ) -> Result<(), InternalError> {
        self.0.snapshot(|| job(&PublisherTx { connection: &self.0, publisher }))
    }
}

impl StoreTransaction<'_> {
    /// Runs a job on a publisher's data.
    ///
    /// # Errors
    /// When the database fails before the job begins.
    pub fn with_publisher<T>(
        &self,
        publisher: &str,
        job: impl FnOnce(&dyn StoreTx) -> T,
    ) -> Result<T, InternalError> {
        // Locked before the first read, so that the data a job decides by does not change.
        self.0.lock(publisher)?;
        Ok(job(&PublisherTx { connection: self.0, publisher }))
    }
}

impl StoreRead for PublisherTx<'_> {
    fn owner_of(&self, kind: EntityKind, id: &str) -> Result<Option<EntityOwner>, InternalError> {
        // The index has all columns: a hit reads no more than a miss. A miss reads a constant row as well, so that it
        // does not take less time than another owner's entity.
        let sql = format!(
            "SELECT TRUE AS is_there, owner, account FROM publisher_things {}
             WHERE publisher = $1 AND kind = $2 AND id = $3
             UNION ALL SELECT FALSE, 'agent:nobody', 'acc_00000000000000000000000000000000'",
            self.connection.indexed_by("publisher_things_whose")
        );
        let mut found = None;
        let kind = kind.name();
        let values = params![self.publisher, kind, id];
        self.connection.each("finding out whose a thing is", &sql, values, |row| {
            let is_there = row.get("is_there")?;
            let owner = EntityOwner { owner: row.get("owner")?, account: row.get("account")? };
            if is_there {
                found = Some(owner);
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    fn get(&self, kind: EntityKind, id: &str) -> Result<Option<EntityRecord>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM publisher_things t
             WHERE t.publisher = $1 AND t.kind = $2 AND t.id = $3"
        );
        let row = self.connection.first(
            "reading a thing",
            &sql,
            params![self.publisher, kind.name(), id],
            |row| read(kind, row),
        )?;
        row.map(UnparsedRow::parse).transpose()
    }

    fn get_many(
        &self,
        kind: EntityKind,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<EntityRecord>, InternalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM publisher_things t
             WHERE t.publisher = $1 AND t.kind = $2 AND t.id IN ({}) ORDER BY t.place",
            self.connection.elements(3, "TEXT")
        );
        let ids = json::to_string(ids).map_err(InternalError::on("naming things"))?;
        let rows: Vec<UnparsedRow> = self.connection.all(
            "reading things",
            &sql,
            params![self.publisher, kind.name(), ids],
            |row| read(kind, row),
        )?;
        rows.into_iter().map(UnparsedRow::parse).collect()
    }

    fn list(&self, kind: EntityKind, query: &Query) -> Result<Vec<EntityRecord>, InternalError> {
        let Listing { sql, values } = Listing::new(self.connection, self.publisher, kind, query);
        // Bodies are parsed after the rows are released, so that parsing holds no read open.
        let rows: Vec<UnparsedRow> =
            self.connection.all("listing things", &sql, &values, |row| read(kind, row))?;
        rows.into_iter().map(UnparsedRow::parse).collect()
    }

    fn count(&self, kind: EntityKind, query: &Query) -> Result<Vec<Tally>, InternalError> {
        let name = kind.name();
        let mut values = vec![self.publisher.bind(), name.bind()];
        let mut sql =
            "SELECT state, class, CAST(SUM(things) AS BIGINT) AS number FROM publisher_counts
             WHERE publisher = $1 AND kind = $2"
                .to_owned();
        let one_account = query.account.as_ref();
        narrow(&mut sql, &mut values, "owner", query.owner.as_ref());
        narrow(&mut sql, &mut values, "account", one_account);
        narrow(&mut sql, &mut values, "class", query.class.as_ref());
        for account in &query.except_accounts {
            values.push(account.bind());
            sql.push_str(&format!(" AND account <> ${}", values.len()));
        }
        any_of(&mut sql, &mut values, "state", &query.states);
        sql.push_str(" AND things > 0 GROUP BY state, class ORDER BY state, class");
        self.connection.all("counting things", &sql, &values, |row| {
            Ok(Tally {
                state: row.get("state")?,
                class: row.get("class")?,
                things: row.get("number")?,
            })
        })
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, InternalError> {
        let row: Option<([u8; 32], String, Timestamp)> = self.connection.first(
            "looking an idempotency key up",
            "SELECT hash, reply, used_at FROM publisher_keys
             WHERE publisher = $1 AND scope = $2 AND key = $3",
            params![self.publisher, scope, key],
            |row| Ok((row.get("hash")?, row.get("reply")?, row.get("used_at")?)),
        )?;
        row.map(|(hash, reply, used_at)| Ok(KeyRow { hash, reply: read_json(&reply)?, used_at }))
            .transpose()
    }
}

impl StoreTx for PublisherTx<'_> {
    fn put(&self, record: EntityRecord) -> Result<(), InternalError> {
        let known = self.counted(record.kind, &record.id)?;
        let now = Counted {
            place: 0,
            owner: record.owner.clone(),
            account: record.account.clone(),
            state: record.state.clone(),
            class: record.class.clone(),
        };
        let place = match &known {
            Some(known) => {
                self.replace(known.place, &record)?;
                known.place
            }
            None => self.insert(&record)?,
        };
        if !known.as_ref().is_some_and(|known| known.is_like(&now)) {
            if let Some(known) = &known {
                self.tally(record.kind, known, -1)?;
            }
            self.tally(record.kind, &now, 1)?;
        }
        self.write_terms(record.kind, place, known.is_some(), &record.owner, &record.terms)?;
        if matches!(record.kind, EntityKind::Notice | EntityKind::StaffEvent) {
            self.connection.notify(ChangeNotice::Due);
        }
        Ok(())
    }

    fn remove(&self, kind: EntityKind, id: &str) -> Result<bool, InternalError> {
        let Some(known) = self.counted(kind, id)? else { return Ok(false) };
        let sql = "DELETE FROM publisher_things WHERE place = $1";
        self.connection.execute("removing a thing", sql, params![known.place])?;
        self.tally(kind, &known, -1)?;
        self.write_terms(kind, known.place, true, &known.owner, &[])?;
        Ok(true)
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), InternalError> {
        self.connection.execute(
            "remembering an idempotency key",
            "INSERT INTO publisher_keys (publisher, scope, key, hash, reply, used_at)
                 VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (publisher, scope, key) DO UPDATE SET hash = excluded.hash,
                     reply = excluded.reply, used_at = excluded.used_at",
            params![self.publisher, scope, key, row.hash, row.reply.to_string(), row.used_at,],
        )
    }

    fn record(&self, entry: DecisionEntry) -> Result<(), InternalError> {
        let entry = NewAuditEntry {
            chain: self.publisher.to_owned(),
            at: entry.at,
            actor: entry.by.clone(),
            action: action(entry.step),
            detail: Some(entry.detail()),
            subject: Some(entry.id),
        };
        StoreTransaction(self.connection).record(&entry)
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), InternalError> {
        self.connection.execute(
            "forgetting idempotency keys",
            "DELETE FROM publisher_keys WHERE publisher = $1 AND used_at < $2",
            params![self.publisher, before],
        )
    }
}

/// Returns the audit action of a decision.
const fn action(step: DecidedStep) -> AuditAction {
    match step {
        DecidedStep::Step(DecisionStep::Approve) => AuditAction::Approved,
        DecidedStep::Step(DecisionStep::Decline) => AuditAction::Declined,
        DecidedStep::Step(DecisionStep::Suspend) => AuditAction::Suspended,
        DecidedStep::Step(DecisionStep::Resume) => AuditAction::Resumed,
        DecidedStep::Step(DecisionStep::Close) => AuditAction::Closed,
        DecidedStep::Step(DecisionStep::PaymentDue) => AuditAction::PaymentDemanded,
        DecidedStep::Step(DecisionStep::PaymentSettled) => AuditAction::PaymentSettled,
        DecidedStep::Step(DecisionStep::Pause) => AuditAction::Paused,
        DecidedStep::Step(DecisionStep::Cancel) => AuditAction::Canceled,
        DecidedStep::Grant => AuditAction::RightsGranted,
        DecidedStep::Revoke => AuditAction::RightsRevoked,
    }
}

/// Columns by which an entity is counted.
struct Counted {
    place: i64,
    owner: String,
    account: Option<String>,
    state: String,
    class: String,
}

impl Counted {
    /// Returns true when both are counted in the same row.
    fn is_like(&self, other: &Self) -> bool {
        self.owner == other.owner
            && self.account == other.account
            && self.state == other.state
            && self.class == other.class
    }
}

impl PublisherTx<'_> {
    /// Reads the columns by which an existing entity is counted.
    fn counted(&self, kind: EntityKind, id: &str) -> Result<Option<Counted>, InternalError> {
        self.connection.first(
            "looking a thing up",
            "SELECT place, owner, account, state, class FROM publisher_things
             WHERE publisher = $1 AND kind = $2 AND id = $3",
            params![self.publisher, kind.name(), id],
            |row| {
                Ok(Counted {
                    place: row.get("place")?,
                    owner: row.get("owner")?,
                    account: row.get("account")?,
                    state: row.get("state")?,
                    class: row.get("class")?,
                })
            },
        )
    }

    /// Inserts a new entity and returns its number.
    fn insert(&self, record: &EntityRecord) -> Result<i64, InternalError> {
        self.connection.one(
            "writing a thing",
            "INSERT INTO publisher_things
                     (publisher, kind, id, owner, account, state, revision, created_at,
                      updated_at, body, class, changes_at)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING place",
            params![
                self.publisher,
                record.kind.name(),
                record.id,
                record.owner,
                record.account,
                record.state,
                i64::try_from(record.revision).unwrap_or(i64::MAX),
                record.created_at.as_microsecond(),
                record.updated_at.as_microsecond(),
                record.body.to_string(),
                record.class,
                record.changes_at.map(Timestamp::as_microsecond),
            ],
            |row| row.only(),
        )
    }

    /// Updates an existing entity.
    fn replace(&self, place: i64, record: &EntityRecord) -> Result<(), InternalError> {
        self.connection.execute(
            "writing a thing",
            "UPDATE publisher_things SET owner = $2, account = $3, state = $4, revision = $5,
                 created_at = $6, updated_at = $7, body = $8, class = $9, changes_at = $10
             WHERE place = $1",
            params![
                place,
                record.owner,
                record.account,
                record.state,
                i64::try_from(record.revision).unwrap_or(i64::MAX),
                record.created_at.as_microsecond(),
                record.updated_at.as_microsecond(),
                record.body.to_string(),
                record.class,
                record.changes_at.map(Timestamp::as_microsecond),
            ],
        )
    }

    /// Adds an entity to its count, or removes it. Writers of one publisher are serialized, so no count is lost.
    fn tally(&self, kind: EntityKind, counted: &Counted, change: i64) -> Result<(), InternalError> {
        self.connection.execute(
            "counting a thing",
            "INSERT INTO publisher_counts (publisher, kind, owner, account, state, class, things)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (publisher, kind, owner, account, state, class)
                 DO UPDATE SET things = publisher_counts.things + excluded.things",
            params![
                self.publisher,
                kind.name(),
                counted.owner,
                counted.account.as_deref().unwrap_or_default(),
                counted.state,
                counted.class,
                change,
            ],
        )
    }

    /// Makes these the only terms of an entity.
    fn write_terms(
        &self,
        kind: EntityKind,
        place: i64,
        was_there: bool,
        owner: &str,
        terms: &[IndexTerm],
    ) -> Result<(), InternalError> {
        let mut known: Vec<KnownTerm> = Vec::new();
        if was_there {
            known = self.connection.all(
                "reading terms",
                "SELECT field, value, owner FROM publisher_terms WHERE thing = $1",
                params![place],
                |row| {
                    Ok(KnownTerm {
                        field: row.get("field")?,
                        value: row.get("value")?,
                        owner: row.get("owner")?,
                    })
                },
            )?;
        }
        for term in known.iter().filter(|known| !terms.iter().any(|term| known.is(term, owner))) {
            self.connection.execute(
                "removing a term",
                "DELETE FROM publisher_terms WHERE publisher = $1 AND kind = $2 AND field = $3
                     AND value = $4 AND owner = $5 AND thing = $6",
                params![self.publisher, kind.name(), term.field, term.value, term.owner, place],
            )?;
        }
        for term in terms.iter().filter(|term| !known.iter().any(|known| known.is(term, owner))) {
            self.connection.execute(
                "writing a term",
                "INSERT INTO publisher_terms (publisher, kind, field, value, owner, thing)
                     VALUES ($1, $2, $3, $4, $5, $6)",
                params![self.publisher, kind.name(), term.field.name(), term.value, owner, place],
            )?;
        }
        Ok(())
    }
}

/// Stored term of an entity.
struct KnownTerm {
    field: String,
    value: String,
    owner: String,
}

impl KnownTerm {
    /// Returns true when it is this term of an entity of this owner.
    fn is(&self, term: &IndexTerm, owner: &str) -> bool {
        self.field == term.field.name() && self.value == term.value && self.owner == owner
    }
}

/// Row whose body is not parsed yet.
struct UnparsedRow {
    record: EntityRecord,
    body: String,
}

impl UnparsedRow {
    fn parse(self) -> Result<EntityRecord, InternalError> {
        Ok(EntityRecord { body: read_json(&self.body)?, ..self.record })
    }
}

/// Reads an entity from a row, without parsing its body.
fn read(kind: EntityKind, row: &SqlRow<'_>) -> RowResult<UnparsedRow> {
    let count =
        |column| Ok::<_, sql::RowError>(u64::try_from(row.get::<i64>(column)?).unwrap_or(0));
    let at = |column| {
        let micros = row.get(column)?;
        Ok::<_, sql::RowError>(Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX))
    };
    let changes_at: Option<i64> = row.get("changes_at")?;
    let record = EntityRecord {
        kind,
        id: row.get("id")?,
        owner: row.get("owner")?,
        account: row.get("account")?,
        state: row.get("state")?,
        class: row.get("class")?,
        changes_at: changes_at
            .map(|micros| Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX)),
        terms: Vec::new(),
        revision: count("revision")?,
        body: Value::Null,
        created_at: at("created_at")?,
        updated_at: at("updated_at")?,
        place: count("place")?,
    };
    Ok(UnparsedRow { record, body: row.get("body")? })
}

fn read_json(text: &str) -> Result<Value, InternalError> {
    json::from_str(text).map_err(|error| InternalError::new("reading what was kept", error))
}

#[cfg(test)]
mod tests;
