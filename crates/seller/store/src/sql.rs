//! Common interface of both databases: a connection on which a statement is run with values, and rows that are read
//! column by column, each by its name. Statements are written once, in SQL that SQLite and PostgreSQL both understand;
//! where they differ, a [`Connection`] returns the text for its own.

use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::change_notice::ChangeNotice;
use super::postgres::PgSession;
use super::privacy::{AadContext, ColumnCipher, Unopened};
use super::sqlite;

/// Reason why a row could not be read.
pub(crate) type RowError = Box<dyn Error + Send + Sync>;

/// Result of reading from a row.
pub(crate) type RowResult<T> = Result<T, RowError>;

/// Connection to a database, with the keys for encrypted columns. Used by one thread at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    /// The connection itself.
    pub(crate) link: SqlBackend,
    cipher: Arc<ColumnCipher>,
}

/// Database that a connection leads to.
#[derive(Debug)]
pub(crate) enum SqlBackend {
    /// An SQLite file.
    Sqlite(rusqlite::Connection),
    /// A PostgreSQL server.
    Postgres(PgSession),
}

impl Connection {
    /// Creates a connection whose columns these keys encrypt.
    pub(crate) const fn new(link: SqlBackend, cipher: Arc<ColumnCipher>) -> Self {
        Self { link, cipher }
    }

    /// Returns the cipher for personal data.
    pub(crate) fn cipher(&self) -> &ColumnCipher {
        &self.cipher
    }

    /// Runs a statement whose result is not needed. It may be sent to a server with the next statement that is waited
    /// for; use [`Connection::change`] to learn the number of changed rows.
    pub(crate) fn execute(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<(), InternalError> {
        match &self.link {
            SqlBackend::Sqlite(_) => self.change(what, sql, values).map(drop),
            SqlBackend::Postgres(session) => session.execute(what, sql, values),
        }
    }

    /// Runs a statement and returns the number of rows it has changed.
    pub(crate) fn change(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<usize, InternalError> {
        match &self.link {
            SqlBackend::Sqlite(connection) => {
                sqlite::execute(connection, sql, values).map_err(InternalError::on(what))
            }
            SqlBackend::Postgres(session) => session.change(what, sql, values),
        }
    }

    /// Runs a statement and returns true when it has changed any row.
    pub(crate) fn changes(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
    ) -> Result<bool, InternalError> {
        Ok(self.change(what, sql, values)? > 0)
    }

    /// Reads every row of a query.
    pub(crate) fn all<T>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> RowResult<T>,
    ) -> Result<Vec<T>, InternalError> {
        let mut found = Vec::new();
        self.each(what, sql, values, |row| {
            found.push(read(row)?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Reads the first row, if there is one.
    pub(crate) fn first<T>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        mut read: impl FnMut(&SqlRow<'_>) -> RowResult<T>,
    ) -> Result<Option<T>, InternalError> {
        let mut found = None;
        self.each(what, sql, values, |row| {
            found = Some(read(row)?);
            Ok(false)
        })?;
        Ok(found)
    }

    /// Reads the row of a query that always has one.
    pub(crate) fn one<T>(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl FnMut(&SqlRow<'_>) -> RowResult<T>,
    ) -> Result<T, InternalError> {
        let found = self.first(what, sql, values, read)?;
        found.ok_or_else(|| InternalError::new(what, "there is no row"))
    }

    /// Passes row after row to `take` until it returns `false`.
    pub(crate) fn each(
        &self,
        what: &'static str,
        sql: &str,
        values: &[SqlValue<'_>],
        mut take: impl FnMut(&SqlRow<'_>) -> RowResult<bool>,
    ) -> Result<(), InternalError> {
        match &self.link {
            SqlBackend::Sqlite(connection) => {
                sqlite::each(connection, &self.cipher, sql, values, take)
                    .map_err(InternalError::on(what))
            }
            SqlBackend::Postgres(session) => {
                for row in &session.query(what, sql, values)? {
                    let row = SqlRow::new(RowSource::Postgres(row), &self.cipher);
                    if !take(&row).map_err(InternalError::on(what))? {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Locks everything that belongs to this dealer, publisher or agent until the transaction ends, after waiting for
    /// transactions that hold the lock. SQLite has one writer at a time anyway.
    pub(crate) fn lock(&self, tenant: &str) -> Result<(), InternalError> {
        match &self.link {
            SqlBackend::Sqlite(_) => Ok(()),
            SqlBackend::Postgres(session) => session.lock(tenant),
        }
    }

    /// Runs `read` in one consistent snapshot.
    pub(crate) fn snapshot(&self, read: impl FnOnce()) -> Result<(), InternalError> {
        match &self.link {
            SqlBackend::Sqlite(connection) => sqlite::snapshot(connection, read),
            SqlBackend::Postgres(session) => session.snapshot(read),
        }
    }

    /// Returns a number that changes once others have changed anything in the file; `None` for a server.
    pub(crate) fn version(&self) -> Result<Option<u64>, InternalError> {
        match &self.link {
            SqlBackend::Sqlite(connection) => sqlite::version(connection).map(Some),
            SqlBackend::Postgres(_) => Ok(None),
        }
    }

    /// Returns true when other processes may be doing the same as this one.
    pub(crate) const fn is_shared(&self) -> bool {
        match &self.link {
            SqlBackend::Sqlite(_) => false,
            SqlBackend::Postgres(_) => true,
        }
    }

    /// Notifies other processes once the transaction is committed.
    pub(crate) fn notify(&self, notice: ChangeNotice) {
        match &self.link {
            SqlBackend::Sqlite(_) => {}
            SqlBackend::Postgres(session) => session.notify(notice),
        }
    }

    /// Returns the name of this process for the others, where there are others.
    pub(crate) fn process(&self) -> Option<&str> {
        match &self.link {
            SqlBackend::Sqlite(_) => None,
            SqlBackend::Postgres(session) => Some(session.process()),
        }
    }

    /// Removes erased data from the write-ahead log, so that it remains no longer than necessary.
    pub(crate) fn empty_log(&self) -> Result<(), InternalError> {
        match &self.link {
            SqlBackend::Sqlite(connection) => sqlite::empty_log(connection),
            SqlBackend::Postgres(_) => Ok(()),
        }
    }

    /// Returns a suffix of a query that keeps other transactions from changing the rows it finds.
    pub(crate) const fn for_update(&self) -> &'static str {
        match &self.link {
            SqlBackend::Sqlite(_) => "",
            SqlBackend::Postgres(_) => " FOR UPDATE",
        }
    }

    /// Returns a suffix of a query that keeps other transactions from deleting the rows it finds.
    pub(crate) const fn for_key_share(&self) -> &'static str {
        match &self.link {
            SqlBackend::Sqlite(_) => "",
            SqlBackend::Postgres(_) => " FOR KEY SHARE",
        }
    }

    /// Returns a query for the elements of a JSON array, which is the value with this number.
    pub(crate) fn elements(&self, value: usize, kind: &'static str) -> String {
        let each = match &self.link {
            SqlBackend::Sqlite(_) => format!("json_each(${value})"),
            SqlBackend::Postgres(_) => format!("json_array_elements_text(CAST(${value} AS JSON))"),
        };
        format!("SELECT CAST(value AS {kind}) FROM {each}")
    }

    /// Returns a suffix of a table that names the index to use. PostgreSQL accepts no such hint.
    pub(crate) fn indexed_by(&self, index: &str) -> String {
        match &self.link {
            SqlBackend::Sqlite(_) => format!("INDEXED BY {index}"),
            SqlBackend::Postgres(_) => String::new(),
        }
    }
}

/// Value of a statement. A missing value has a type, too.
#[derive(Debug, Clone)]
pub(crate) enum SqlValue<'a> {
    /// A number, or a timestamp in milliseconds.
    Integer(Option<i64>),
    /// A text.
    Text(Option<Cow<'a, str>>),
    /// Bytes.
    Blob(Option<Cow<'a, [u8]>>),
    /// A boolean.
    Bool(Option<bool>),
}

/// Types that can be values of a statement.
pub(crate) trait Bind {
    /// Value of a missing one.
    const NONE: SqlValue<'static>;

    /// Converts it into a value.
    fn bind(&self) -> SqlValue<'_>;
}

/// Builds the values of a statement: `$1` is the first.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::sql::Bind::bind(&$value)),*][..]
    };
}
pub(crate) use params;

/// Implements [`Bind`] for types: each with its kind, and the expression for its value.
macro_rules! bind {
    ($($type:ty: $kind:ident, $own:ident => $value:expr;)*) => {
        $(impl Bind for $type {
            const NONE: SqlValue<'static> = SqlValue::$kind(None);

            fn bind(&self) -> SqlValue<'_> {
                let $own = self;
                SqlValue::$kind(Some($value))
            }
        })*
    };
}

bind! {
    i64: Integer, number => *number;
    u32: Integer, number => i64::from(*number);
    // A limit above what a database can count is no limit.
    usize: Integer, number => i64::try_from(*number).unwrap_or(i64::MAX);
    bool: Bool, flag => *flag;
    Timestamp: Integer, moment => moment.as_millisecond();
    str: Text, text => text.into();
    String: Text, text => text.into();
    [u8]: Blob, bytes => bytes.into();
    Vec<u8>: Blob, bytes => bytes.into();
}

impl<const N: usize> Bind for [u8; N] {
    const NONE: SqlValue<'static> = SqlValue::Blob(None);

    fn bind(&self) -> SqlValue<'_> {
        self.as_slice().bind()
    }
}

impl<T: Bind> Bind for Option<T> {
    const NONE: SqlValue<'static> = T::NONE;

    fn bind(&self) -> SqlValue<'_> {
        self.as_ref().map_or(T::NONE, T::bind)
    }
}

impl<T: Bind + ?Sized> Bind for &T {
    const NONE: SqlValue<'static> = T::NONE;

    fn bind(&self) -> SqlValue<'_> {
        (**self).bind()
    }
}

/// Row of a result, with the keys for encrypted columns.
pub(crate) struct SqlRow<'r> {
    cells: RowSource<'r>,
    cipher: &'r ColumnCipher,
}

/// Row as its database returned it.
pub(crate) enum RowSource<'r> {
    /// Row of SQLite, with the names of its columns, which are read once for each statement.
    Sqlite { row: &'r rusqlite::Row<'r>, names: &'r [String] },
    /// Row of PostgreSQL.
    Postgres(&'r tokio_postgres::Row),
}

/// Error of reading a column.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ColumnError {
    /// The result has no column of this name.
    #[error("the result has no column {0:?}")]
    Absent(String),
    /// The result has this many columns, and its only one was asked for.
    #[error("the result has {0} columns instead of one")]
    NotOne(usize),
    /// The column holds something else.
    #[error("the column {name:?} cannot be read")]
    Unreadable {
        /// Name of the column.
        name: String,
        /// The reason.
        #[source]
        cause: RowError,
    },
}

impl<'r> SqlRow<'r> {
    /// Creates a row with the cipher for its encrypted columns.
    pub(crate) const fn new(cells: RowSource<'r>, cipher: &'r ColumnCipher) -> Self {
        Self { cells, cipher }
    }
}

impl SqlRow<'_> {
    /// Returns the text in a column, decrypted when `key` names the key it is encrypted with; `of` is the context that
    /// it is bound to.
    pub(crate) fn opened(
        &self,
        column: &str,
        key: Option<&str>,
        of: &AadContext,
    ) -> RowResult<String> {
        Ok(self.cipher.open(key, of, self.written(column)?)?)
    }

    /// Does the same for a column that may be empty.
    pub(crate) fn opened_if_any(
        &self,
        column: &str,
        key: Option<&str>,
        of: &AadContext,
    ) -> RowResult<Option<String>> {
        let text: Option<String> = self.written(column)?;
        Ok(text.map(|text| self.cipher.open(key, of, text)).transpose()?)
    }

    /// Does the same for bytes.
    pub(crate) fn opened_bytes(
        &self,
        column: &str,
        key: Option<&str>,
        of: &AadContext,
    ) -> RowResult<Option<Vec<u8>>> {
        let bytes: Option<Vec<u8>> = self.written(column)?;
        Ok(bytes.map(|bytes| self.cipher.open_bytes(key, of, bytes)).transpose()?)
    }

    /// Returns the value of a column by its name.
    pub(crate) fn get<T: SqlColumn>(&self, column: &str) -> RowResult<T> {
        self.read(self.place(column)?, column)
    }

    /// Returns the value of a column in a row that must not hide the others: a value that cannot be read, such as one of
    /// another type, is one that was changed, because we never write it (SQLite accepts any).
    pub(crate) fn written<T: SqlColumn>(&self, column: &str) -> RowResult<T> {
        let place = self.place(column)?;
        Ok(self.read(place, column).map_err(|_| Unopened::Changed)?)
    }

    fn place(&self, column: &str) -> RowResult<usize> {
        let place = match &self.cells {
            RowSource::Sqlite { names, .. } => place_of(column, names.iter().map(String::as_str)),
            RowSource::Postgres(row) => {
                place_of(column, row.columns().iter().map(|column| column.name()))
            }
        };
        Ok(place.ok_or_else(|| ColumnError::Absent(column.to_owned()))?)
    }

    /// Returns the value of the only column of a result.
    pub(crate) fn only<T: SqlColumn>(&self) -> RowResult<T> {
        let columns = match &self.cells {
            RowSource::Sqlite { names, .. } => names.len(),
            RowSource::Postgres(row) => row.len(),
        };
        if columns != 1 {
            return Err(ColumnError::NotOne(columns).into());
        }
        self.read(0, "the only one")
    }

    fn read<T: SqlColumn>(&self, place: usize, name: &str) -> RowResult<T> {
        let cell = match &self.cells {
            RowSource::Sqlite { row, .. } => sqlite::cell(row, place),
            RowSource::Postgres(row) => super::postgres::cell(row, place),
        };
        let value = cell.and_then(T::from_cell);
        value.map_err(|cause| ColumnError::Unreadable { name: name.to_owned(), cause }.into())
    }
}

/// Returns the place of the column of this name.
fn place_of<'n>(column: &str, mut names: impl Iterator<Item = &'n str>) -> Option<usize> {
    let place = names.position(|name| name == column);
    // The first of two would be read, whichever was meant.
    debug_assert!(names.all(|name| name != column), "two columns are called {column}");
    place
}

/// Value of a column.
#[derive(Debug)]
pub(crate) enum SqlCell<'r> {
    /// NULL.
    Empty,
    /// A number; 0 and 1 are false and true.
    Integer(i64),
    /// A text.
    Text(Cow<'r, str>),
    /// Bytes.
    Blob(&'r [u8]),
}

/// Types that can be read from a column.
pub(crate) trait SqlColumn: Sized {
    /// Converts a cell.
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self>;
}

impl SqlColumn for i64 {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        match cell {
            SqlCell::Integer(number) => Ok(number),
            SqlCell::Empty | SqlCell::Text(_) | SqlCell::Blob(_) => {
                Err("it holds no number".into())
            }
        }
    }
}

impl SqlColumn for u32 {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        Ok(i64::from_cell(cell)?.try_into()?)
    }
}

impl SqlColumn for u64 {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        Ok(i64::from_cell(cell)?.try_into()?)
    }
}

impl SqlColumn for usize {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        Ok(i64::from_cell(cell)?.try_into()?)
    }
}

impl SqlColumn for bool {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        Ok(i64::from_cell(cell)? != 0)
    }
}

impl SqlColumn for Timestamp {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        let milliseconds = i64::from_cell(cell)?;
        // A number out of range affects its own row only, and does not make the whole table unreadable.
        let saturated = if milliseconds < 0 { Self::MIN } else { Self::MAX };
        Ok(Self::from_millisecond(milliseconds).unwrap_or(saturated))
    }
}

impl SqlColumn for String {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        match cell {
            SqlCell::Text(text) => Ok(text.into_owned()),
            SqlCell::Empty | SqlCell::Integer(_) | SqlCell::Blob(_) => {
                Err("it holds no text".into())
            }
        }
    }
}

impl SqlColumn for Vec<u8> {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        match cell {
            SqlCell::Blob(bytes) => Ok(bytes.to_vec()),
            SqlCell::Empty | SqlCell::Integer(_) | SqlCell::Text(_) => {
                Err("it holds no bytes".into())
            }
        }
    }
}

impl<const N: usize> SqlColumn for [u8; N] {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        Vec::from_cell(cell)?.try_into().map_err(|_| "it holds another number of bytes".into())
    }
}

impl<T: SqlColumn> SqlColumn for Option<T> {
    fn from_cell(cell: SqlCell<'_>) -> RowResult<Self> {
        match cell {
            SqlCell::Empty => Ok(None),
            SqlCell::Integer(_) | SqlCell::Text(_) | SqlCell::Blob(_) => {
                T::from_cell(cell).map(Some)
            }
        }
    }
}
