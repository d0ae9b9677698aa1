//! Moving the rows of a file into another database. The tables and columns are read from the target database.

use sha2::{Digest as _, Sha256};
use tradepost_document::fault::InternalError;

use super::inventory::Bodies;
use super::processes::MOVES;
use super::{Database, StoreTransaction};
use crate::sql::{Bind as _, Connection, RowResult, SqlRow, SqlValue, params};

/// Tables that others refer to are moved before them.
const FIRST: [&str; 5] = ["lead_submissions", "appointments", "leads", "tasks", "staff"];

/// Tables that every database keeps for itself.
const OWN: [&str; 6] =
    ["tradepost_schema", "processes", "permits", "snapshots", "health", "moved_from"];

/// Result of claiming a database as the target of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransferClaim {
    /// The move can begin, or continue.
    Begins,
    /// All rows have arrived before.
    Whole,
    /// The database holds other data; the name of a table.
    Used(String),
    /// Another move to it has begun.
    Other,
    /// A server uses it.
    Served,
}

/// Number of rows fetched at once.
const PAGE_SIZE: usize = 500;

/// Table to be moved.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: String,
    columns: Vec<(String, TransferKind)>,
    /// Columns of its primary key.
    key: Vec<String>,
    /// Column whose numbers the database assigns.
    counted: Option<String>,
}

#[derive(Debug, Clone, Copy)]
enum TransferKind {
    Integer,
    Text,
    Blob,
    Bool,
}

/// Number of rows of a table, and a digest of them that does not depend on their order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) rows: u64,
    digest: [u64; 4],
}

impl Sum {
    /// Adds a row to the sum.
    fn add(&mut self, row: &[SqlValue<'_>]) {
        let mut hash = Sha256::new();
        for value in row {
            let (tag, bytes) = match value {
                SqlValue::Integer(number) => {
                    (b'i', number.map(|number| number.to_be_bytes().to_vec()))
                }
                SqlValue::Text(text) => (b't', text.as_ref().map(|text| text.as_bytes().to_vec())),
                SqlValue::Blob(blob) => (b'b', blob.as_ref().map(|blob| blob.to_vec())),
                SqlValue::Bool(flag) => (b'?', flag.map(|flag| vec![u8::from(flag)])),
            };
            // The length marks the end of each value: `ab` and `c` are not `a` and `bc`. A length that no value has
            // stands for NULL, which is not an empty value.
            let length = bytes.as_ref().map_or(u64::MAX, |bytes| bytes.len() as u64);
            hash.update([tag]);
            hash.update(length.to_be_bytes());
            hash.update(bytes.unwrap_or_default());
        }
        self.rows += 1;
        // Sums do not depend on the order of rows, and two equal rows do not cancel each other out.
        let hash: [u8; 32] = hash.finalize().into();
        for (sum, part) in self.digest.iter_mut().zip(hash.chunks_exact(8)) {
            let part = part.iter().fold(0, |whole: u64, byte| whole << 8 | u64::from(*byte));
            *sum = sum.wrapping_add(part);
        }
    }

    /// Returns it as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        [self.rows].iter().chain(&self.digest).flat_map(|part| part.to_be_bytes()).collect()
    }
}

impl Table {
    fn select(&self) -> String {
        let columns: Vec<_> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        let columns = columns.join(", ");
        let key = self.key.join(", ");
        format!("SELECT {columns} FROM {} ORDER BY {key}", self.name)
    }

    /// Reads the values of a row, with the bodies of listings unpacked.
    fn read(&self, row: &SqlRow<'_>, bodies: &mut Bodies<'_>) -> RowResult<Vec<SqlValue<'static>>> {
        let read = |(name, kind): &(String, TransferKind)| {
            Ok(match kind {
                TransferKind::Text if self.name == "listings" && name == "body" => {
                    let dealer_id: String = row.get("dealer_id")?;
                    SqlValue::Text(Some(bodies.text(&dealer_id, row.get(name)?)?.into()))
                }
                TransferKind::Integer => SqlValue::Integer(row.get(name)?),
                TransferKind::Text => {
                    SqlValue::Text(row.get::<Option<String>>(name)?.map(Into::into))
                }
                TransferKind::Blob => {
                    SqlValue::Blob(row.get::<Option<Vec<u8>>>(name)?.map(Into::into))
                }
                TransferKind::Bool => SqlValue::Bool(row.get(name)?),
            })
        };
        self.columns.iter().map(read).collect()
    }
}

impl Database {
    /// Returns the tables to be moved, those first that others refer to.
    pub(crate) fn tables(&self) -> Result<Vec<Table>, InternalError> {
        const WHAT: &str = "reading the tables";
        let columns = self.0.all(
            WHAT,
            "SELECT table_name::TEXT AS table_name, column_name::TEXT AS column_name,
                    data_type::TEXT AS data_type, is_identity = 'YES' AS is_identity
             FROM information_schema.columns WHERE table_schema = current_schema()
               AND table_name IN (SELECT table_name FROM information_schema.tables
                                  WHERE table_schema = current_schema() AND table_type = 'BASE TABLE')
             ORDER BY table_name, ordinal_position",
            &[],
            |row| {
                let kind = match row.get::<String>("data_type")?.as_str() {
                    "bigint" => TransferKind::Integer,
                    "bytea" => TransferKind::Blob,
                    "boolean" => TransferKind::Bool,
                    _ => TransferKind::Text,
                };
                let table: String = row.get("table_name")?;
                let column: String = row.get("column_name")?;
                Ok((table, column, kind, row.get::<bool>("is_identity")?))
            },
        )?;
        let mut tables: Vec<Table> = Vec::new();
        for (name, column, kind, counted) in columns {
            if OWN.contains(&name.as_str()) {
                continue;
            }
            if tables.last().is_none_or(|last| last.name != name) {
                let key = self.key_of(&name)?;
                tables.push(Table { name, columns: Vec::new(), key, counted: None });
            }
            if let Some(table) = tables.last_mut() {
                table.counted = table.counted.take().or(counted.then(|| column.clone()));
                table.columns.push((column, kind));
            }
        }
        let place = |table: &Table| FIRST.iter().position(|first| *first == table.name);
        tables.sort_by_key(|table| place(table).unwrap_or(FIRST.len()));
        Ok(tables)
    }

    /// Returns the columns of a table's primary key.
    fn key_of(&self, table: &str) -> Result<Vec<String>, InternalError> {
        self.0.all(
            "reading the key of a table",
            "SELECT column_name::TEXT FROM information_schema.key_column_usage
             JOIN information_schema.table_constraints
                 USING (constraint_schema, constraint_name, table_name)
             WHERE constraint_type = 'PRIMARY KEY' AND table_name = $1
                 AND constraint_schema = current_schema()
             ORDER BY ordinal_position",
            params![table],
            |row| row.only(),
        )
    }

    /// Passes the rows of a table to `take`, in the order of its key.
    pub(crate) fn each_row(
        &self,
        table: &Table,
        mut take: impl FnMut(Vec<SqlValue<'static>>) -> Result<(), InternalError>,
    ) -> Result<(), InternalError> {
        let mut bodies = Bodies::new(&self.0);
        // The result of `take` is kept separately: a row's reader has another error type, and reading ends with the
        // first error.
        let mut outcome = Ok(());
        let mut hand_over = |row: &SqlRow<'_>| {
            outcome = take(table.read(row, &mut bodies)?);
            Ok(outcome.is_ok())
        };
        let mut read = Ok(());
        self.0.snapshot(|| read = read_pages(&self.0, table, &mut hand_over))?;
        read.and(outcome)
    }

    /// Returns the number and the digest of a table's rows.
    pub(crate) fn sum(&self, table: &Table) -> Result<Sum, InternalError> {
        let mut sum = Sum::default();
        self.each_row(table, |row| {
            sum.add(&row);
            Ok(())
        })?;
        Ok(sum)
    }

    /// Returns the number of rows of a table.
    pub(crate) fn count(&self, table: &Table) -> Result<u64, InternalError> {
        count(&self.0, table)
    }
}

fn count(connection: &Connection, table: &Table) -> Result<u64, InternalError> {
    let sql = format!("SELECT count(*) FROM {}", table.name);
    let rows = connection.one("counting rows", &sql, &[], |row| row.only::<usize>())?;
    Ok(rows as u64)
}

/// Reads in pages where a query would load a whole table into memory.
fn read_pages(
    connection: &Connection,
    table: &Table,
    take: &mut impl FnMut(&SqlRow<'_>) -> RowResult<bool>,
) -> Result<(), InternalError> {
    const WHAT: &str = "reading rows";
    if !connection.is_shared() {
        return connection.each(WHAT, &table.select(), &[], take);
    }
    let cursor = format!("rows_of_{}", table.name);
    let declare = format!("DECLARE {cursor} NO SCROLL CURSOR FOR {}", table.select());
    connection.execute(WHAT, &declare, &[])?;
    let fetch = format!("FETCH {PAGE_SIZE} FROM {cursor}");
    loop {
        let mut found = 0;
        connection.each(WHAT, &fetch, &[], |row| {
            found += 1;
            take(row)
        })?;
        if found < PAGE_SIZE {
            return connection.execute(WHAT, &format!("CLOSE {cursor}"), &[]);
        }
    }
}

impl StoreTransaction<'_> {
    /// Records the move to this database, unless it is used for something else. From here on no server starts until all
    /// rows have arrived.
    pub(crate) fn claim_for_move(
        &self,
        tables: &[Table],
        digest: &[u8],
    ) -> Result<TransferClaim, InternalError> {
        self.0.lock(MOVES)?;
        if let Some((known, is_whole)) = self.moved_from()? {
            return Ok(match (known == digest, is_whole) {
                (false, _) => TransferClaim::Other,
                (true, true) => TransferClaim::Whole,
                (true, false) => TransferClaim::Begins,
            });
        }
        // Checked before the tables: a server that is running may write to them.
        if self.is_served()? {
            return Ok(TransferClaim::Served);
        }
        for table in tables {
            if count(self.0, table)? > 0 {
                return Ok(TransferClaim::Used(table.name.clone()));
            }
        }
        let sql = "INSERT INTO moved_from (one, digest, is_whole) VALUES (1, $1, FALSE)";
        self.0.execute("noting what is moved", sql, params![digest])?;
        Ok(TransferClaim::Begins)
    }

    /// Records that all rows have arrived.
    pub(crate) fn note_moved(&self) -> Result<(), InternalError> {
        let sql = "UPDATE moved_from SET is_whole = TRUE";
        self.0.execute("noting what was moved", sql, &[])
    }

    /// Adds rows to a table, unless it has more or fewer rows than `after`.
    pub(crate) fn add_rows(
        &self,
        table: &Table,
        after: u64,
        rows: &[Vec<SqlValue<'static>>],
    ) -> Result<(), InternalError> {
        const WHAT: &str = "moving rows";
        // Counting and adding are two statements: without the lock two concurrent moves could find the same number.
        self.0.lock(MOVES)?;
        if count(self.0, table)? != after {
            return Err(InternalError::new(WHAT, "somebody else writes to the database"));
        }
        let columns: Vec<_> = table.columns.iter().map(|(name, _)| name.as_str()).collect();
        // Numbers are kept, also where the database would assign its own: other rows refer to them.
        let values: Vec<_> = (1..=columns.len()).map(|number| format!("${number}")).collect();
        let sql = format!(
            "INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
            table.name,
            columns.join(", "),
            values.join(", ")
        );
        rows.iter().try_for_each(|row| self.0.execute(WHAT, &sql, row))
    }

    /// Makes the database assign numbers after those that were moved.
    pub(crate) fn count_on(&self, table: &Table) -> Result<(), InternalError> {
        // For an empty table the third value makes 1 the next number.
        let Some(column) = &table.counted else { return Ok(()) };
        let sql = format!(
            "SELECT setval(pg_get_serial_sequence($1, $2), GREATEST(1, max({column})), max({column}) IS NOT NULL)
             FROM {}",
            table.name
        );
        let values = [table.name.bind(), column.bind()];
        self.0.one("counting on", &sql, &values, |row| row.only::<i64>()).map(drop)
    }
}
