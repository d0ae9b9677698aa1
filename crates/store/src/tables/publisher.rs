//! What publishers keep: things of every kind in one table, and idempotency keys.

use jiff::Timestamp;
use tradepost_dealer::staff::{Action, NewEntry};
use tradepost_publisher::decision::{DecidedStep, DecisionEntry, Step};
use tradepost_publisher::shelf::{KeyRow, Kind, Order, Query, Record, Shelf, Whose};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::fault::Fault;
use tradepost_wire::json::Value;

use super::{Database, Transaction};
use crate::news::News;
use crate::sql::{self, Bind as _, Connection, Read, Row, params};

/// The tables, as a migration.
pub(crate) const SCHEMA: &str = "
    CREATE TABLE publisher_things (
        place      INTEGER PRIMARY KEY AUTOINCREMENT,   -- the order of making
        publisher  TEXT NOT NULL,
        kind       TEXT NOT NULL,
        id         TEXT NOT NULL,
        owner      TEXT NOT NULL,
        account    TEXT,
        state      TEXT NOT NULL,
        revision   INTEGER NOT NULL,
        created_at INTEGER NOT NULL,    -- microseconds since 1970
        updated_at INTEGER NOT NULL,
        body       TEXT NOT NULL        -- JSON
    );
    CREATE UNIQUE INDEX publisher_things_by_id ON publisher_things (publisher, kind, id);
    CREATE INDEX publisher_things_whose
        ON publisher_things (publisher, kind, id, owner, account);
    CREATE INDEX publisher_things_by_owner ON publisher_things (publisher, kind, owner, place);
    CREATE INDEX publisher_things_by_state ON publisher_things (publisher, kind, state, place);
    CREATE TABLE publisher_keys (
        publisher TEXT NOT NULL,
        scope     TEXT NOT NULL,        -- the tenant, and for messages the conversation
        key       TEXT NOT NULL,
        hash      BLOB NOT NULL,        -- SHA-256 of the canonical request
        reply     TEXT NOT NULL,        -- JSON
        used_at   INTEGER NOT NULL,     -- milliseconds since 1970
        PRIMARY KEY (publisher, scope, key)
    ) WITHOUT ROWID;
    CREATE INDEX publisher_keys_by_age ON publisher_keys (publisher, used_at);
";

const COLUMNS: &str = "place, id, owner, account, state, revision, created_at, updated_at, body";

/// A publisher's shelf in a transaction.
struct Rows<'c> {
    connection: &'c Connection,
    publisher: &'c str,
    writable: bool,
}

impl Database {
    /// Lets a job read a publisher's shelf in one consistent state.
    pub(crate) fn read_shelf(
        &self,
        publisher: &str,
        job: &mut dyn FnMut(&dyn Shelf),
    ) -> Result<(), Fault> {
        self.0.snapshot(|| job(&Rows { connection: &self.0, publisher, writable: false }))
    }
}

impl Transaction<'_> {
    /// Lets a job work on a publisher's shelf.
    ///
    /// # Errors
    /// When the database fails before the job begins.
    pub fn shelf<T>(&self, publisher: &str, job: impl FnOnce(&dyn Shelf) -> T) -> Result<T, Fault> {
        // Before the first look: what a job decides by does not change under it.
        self.0.lock(publisher)?;
        Ok(job(&Rows { connection: self.0, publisher, writable: true }))
    }
}

impl Shelf for Rows<'_> {
    fn whose(&self, kind: Kind, id: &str) -> Result<Option<Whose>, Fault> {
        // The index has all that is asked for: a hit reads no more than a miss. A miss reads a row as
        // well, one that stands for nothing, so that it does not take less time than another's thing.
        let sql = format!(
            "SELECT TRUE, owner, account FROM publisher_things {}
             WHERE publisher = $1 AND kind = $2 AND id = $3
             UNION ALL SELECT FALSE, 'agent:nobody', 'acc_00000000000000000000000000000000'",
            self.connection.indexed_by("publisher_things_whose")
        );
        let mut found = None;
        let kind = kind.name();
        let values = params![self.publisher, kind, id];
        self.connection.each("finding out whose a thing is", &sql, values, |row| {
            let (is_there, whose) =
                (row.get(0)?, Whose { owner: row.get(1)?, account: row.get(2)? });
            if is_there {
                found = Some(whose);
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    fn get(&self, kind: Kind, id: &str) -> Result<Option<Record>, Fault> {
        let sql = format!(
            "SELECT {COLUMNS} FROM publisher_things
             WHERE publisher = $1 AND kind = $2 AND id = $3"
        );
        let row = self.connection.first(
            "reading a thing",
            &sql,
            params![self.publisher, kind.name(), id],
            |row| read(kind, row),
        )?;
        row.map(Unread::parse).transpose()
    }

    fn list(&self, kind: Kind, query: &Query) -> Result<Vec<Record>, Fault> {
        let mut sql =
            format!("SELECT {COLUMNS} FROM publisher_things WHERE publisher = $1 AND kind = $2");
        // No limit is more than there can be.
        let limit = if query.limit == 0 { usize::MAX } else { query.limit };
        let after = i64::try_from(query.after).unwrap_or(i64::MAX);
        let behind = match (query.order, query.after) {
            (Order::Oldest, _) => "place > $3 ORDER BY place",
            // The place is a value of the statement in any case.
            (Order::Newest, 0) => "place > $3 ORDER BY place DESC",
            (Order::Newest, _) => "place < $3 ORDER BY place DESC",
        };
        let name = kind.name();
        let mut values = vec![self.publisher.bind(), name.bind(), after.bind(), limit.bind()];
        let conditions =
            [("owner", &query.owner), ("account", &query.account), ("state", &query.state)];
        for (column, wanted) in conditions {
            if let Some(wanted) = wanted {
                values.push(wanted.bind());
                sql.push_str(&format!(" AND {column} = ${}", values.len()));
            }
        }
        // The planner looks at a bare parameter after LIMIT, and would plan the statement anew each time
        // that it is bound.
        sql.push_str(&format!(" AND {behind} LIMIT $4 + 0"));
        // Bodies are parsed once the rows are let go, so that no read is held open by that.
        let rows: Vec<Unread> =
            self.connection.all("listing things", &sql, &values, |row| read(kind, row))?;
        rows.into_iter().map(Unread::parse).collect()
    }

    fn key(&self, scope: &str, key: &str) -> Result<Option<KeyRow>, Fault> {
        let row: Option<([u8; 32], String, Timestamp)> = self.connection.first(
            "looking an idempotency key up",
            "SELECT hash, reply, used_at FROM publisher_keys
             WHERE publisher = $1 AND scope = $2 AND key = $3",
            params![self.publisher, scope, key],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        row.map(|(hash, reply, used_at)| Ok(KeyRow { hash, reply: json(&reply)?, used_at }))
            .transpose()
    }

    fn check_writable(&self) -> Result<(), Fault> {
        if self.writable {
            return Ok(());
        }
        Err(Fault::new("writing to the store", "the transaction is for reading alone"))
    }

    fn put(&self, record: Record) -> Result<(), Fault> {
        self.check_writable()?;
        let revision = i64::try_from(record.revision).unwrap_or(i64::MAX);
        self.connection.execute(
            "writing a thing",
            "INSERT INTO publisher_things
                     (publisher, kind, id, owner, account, state, revision, created_at,
                      updated_at, body)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                 ON CONFLICT (publisher, kind, id) DO UPDATE SET owner = excluded.owner,
                     account = excluded.account, state = excluded.state,
                     revision = excluded.revision, created_at = excluded.created_at,
                     updated_at = excluded.updated_at, body = excluded.body",
            params![
                self.publisher,
                record.kind.name(),
                record.id,
                record.owner,
                record.account,
                record.state,
                revision,
                record.created_at.as_microsecond(),
                record.updated_at.as_microsecond(),
                record.body.to_string(),
            ],
        )?;
        if matches!(record.kind, Kind::Notice | Kind::StaffEvent) {
            self.connection.tell(News::Due);
        }
        Ok(())
    }

    fn remove(&self, kind: Kind, id: &str) -> Result<bool, Fault> {
        self.check_writable()?;
        self.connection.changes(
            "removing a thing",
            "DELETE FROM publisher_things WHERE publisher = $1 AND kind = $2 AND id = $3",
            params![self.publisher, kind.name(), id],
        )
    }

    fn remember(&self, scope: &str, key: &str, row: KeyRow) -> Result<(), Fault> {
        self.check_writable()?;
        self.connection.execute(
            "remembering an idempotency key",
            "INSERT INTO publisher_keys (publisher, scope, key, hash, reply, used_at)
                 VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (publisher, scope, key) DO UPDATE SET hash = excluded.hash,
                     reply = excluded.reply, used_at = excluded.used_at",
            params![self.publisher, scope, key, row.hash, row.reply.to_string(), row.used_at,],
        )
    }

    fn record(&self, entry: DecisionEntry) -> Result<(), Fault> {
        self.check_writable()?;
        let entry = NewEntry {
            chain: self.publisher.to_owned(),
            at: entry.at,
            actor: entry.by.clone(),
            action: action(entry.step),
            detail: Some(entry.detail()),
            subject: Some(entry.id),
        };
        Transaction(self.connection).record(&entry)
    }

    fn forget_keys(&self, before: Timestamp) -> Result<(), Fault> {
        self.check_writable()?;
        self.connection.execute(
            "forgetting idempotency keys",
            "DELETE FROM publisher_keys WHERE publisher = $1 AND used_at < $2",
            params![self.publisher, before],
        )
    }
}

/// By which word a decision stands in the record.
const fn action(step: DecidedStep) -> Action {
    match step {
        DecidedStep::Step(Step::Approve) => Action::Approved,
        DecidedStep::Step(Step::Decline) => Action::Declined,
        DecidedStep::Step(Step::Suspend) => Action::Suspended,
        DecidedStep::Step(Step::Resume) => Action::Resumed,
        DecidedStep::Step(Step::Close) => Action::Closed,
        DecidedStep::Step(Step::PaymentDue) => Action::PaymentDemanded,
        DecidedStep::Step(Step::PaymentSettled) => Action::PaymentSettled,
        DecidedStep::Grant => Action::RightsGranted,
        DecidedStep::Revoke => Action::RightsRevoked,
    }
}

/// A row whose body is still text.
struct Unread {
    record: Record,
    body: String,
}

impl Unread {
    fn parse(self) -> Result<Record, Fault> {
        Ok(Record { body: json(&self.body)?, ..self.record })
    }
}

fn read(kind: Kind, row: &Row<'_>) -> Read<Unread> {
    let count = |column| Ok::<_, sql::Unread>(u64::try_from(row.get::<i64>(column)?).unwrap_or(0));
    let at = |column| {
        let micros = row.get(column)?;
        Ok::<_, sql::Unread>(Timestamp::from_microsecond(micros).unwrap_or(Timestamp::MAX))
    };
    let record = Record {
        kind,
        id: row.get(1)?,
        owner: row.get(2)?,
        account: row.get(3)?,
        state: row.get(4)?,
        revision: count(5)?,
        body: Value::Null,
        created_at: at(6)?,
        updated_at: at(7)?,
        place: count(0)?,
    };
    Ok(Unread { record, body: row.get(8)? })
}

fn json(text: &str) -> Result<Value, Fault> {
    tradepost_wire::json::from_str(text).map_err(|error| Fault::new("reading what was kept", error))
}
