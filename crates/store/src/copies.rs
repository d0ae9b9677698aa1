//! Copies of a store that is kept in a file: made while a server uses it, looked through, and put in
//! the place of another one.
//!
//! A copy has what was committed when it was begun, and nothing of what was erased before. Snapshots
//! of inventories are not in it: they are made again from the rows.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{ErrorCode, OpenFlags};
use tradepost_dealer::consent::ConsentCheck;
use tradepost_dealer::staff::RecordCheck;
use tradepost_wire::fault::InternalError;

use super::privacy::{ColumnCipher, OperatorKeys};
use super::sql::{Connection, SqlBackend};
use super::tables::Database;
use super::{FILE, create_private, health, sqlite};

mod schema;

/// How long whoever holds the database is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is in a store, as far as it can be counted and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Of which version its schema is.
    pub schema: usize,
    /// Its tables, by name, each with the number of its rows.
    pub rows: Vec<(String, u64)>,
    /// In what its schema differs from the one that its version has, such as a trigger or an index that
    /// is missing; nothing when it does not.
    pub schema_differences: Vec<String>,
}

/// What the chains of hashes in a store say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chains {
    /// Of consents, one for each dealer; `None` where what they prove is encrypted with a key that was
    /// not given.
    pub consents: Option<Vec<ConsentCheck>>,
    /// Of what the dealers' people did.
    pub records: Vec<RecordCheck>,
}

/// Why a store was not put in the place of another one.
#[derive(Debug)]
pub enum NotPut {
    /// Another program uses the database that is there.
    InUse,
    /// It could not be done.
    Broken(InternalError),
}

impl From<InternalError> for NotPut {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

/// The version that a store's schema has when it is up to date.
#[must_use]
pub const fn schema() -> usize {
    sqlite::schema::MIGRATIONS.len()
}

/// Copies the store in the folder `data` into a file that must not be there. Whoever uses the store
/// neither waits nor notices.
///
/// # Errors
/// When the store cannot be read, is of another version, or there is no room for the copy.
pub fn copy(data: &Path, to: &Path) -> Result<(), InternalError> {
    let connection = sqlite::schema::open(&data.join(FILE), sqlite::Schema::Keep)?;
    // SQLite takes an empty file, and keeps its mode: nobody else reads customers.
    let private = File::options().write(true).create_new(true).mode(0o600).open(to);
    private.map_err(InternalError::on("creating the copy"))?;
    let name = to
        .to_str()
        .ok_or_else(|| InternalError::new("copying the store", "its path is no text"))?;
    // Unlike SQLite's backup this copies no free pages, in which something erased may stand.
    let copied = connection.execute("VACUUM INTO ?1", [name]);
    copied.map(drop).map_err(InternalError::on("copying the store"))
}

/// Reads a copy through and counts what is in it.
///
/// # Errors
/// That it is damaged, of a newer version, or no store.
pub fn inspect(file: &Path) -> Result<Contents, InternalError> {
    const WHAT: &str = "reading the copy";
    let on = InternalError::on::<rusqlite::Error>;
    let connection = rusqlite::Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.map_err(on(WHAT))?;
    schema::distrust(&connection)?;
    let schema = sqlite::schema::version(&connection)?;
    if schema == 0 {
        return Err(InternalError::new(WHAT, "it is no store of tradepost"));
    }
    // Before anything is read of its tables: what is there under their names may be something else.
    let schema_differences = schema::differences(&connection, schema)?;
    let found: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(on("checking the copy"))?;
    if found != "ok" {
        return Err(InternalError::new("checking the copy", "the database is damaged"));
    }
    let mut dangling = connection.prepare("PRAGMA foreign_key_check").map_err(on(WHAT))?;
    if dangling.exists([]).map_err(on("checking the copy"))? {
        return Err(InternalError::new(
            "checking the copy",
            "a row names another one that is not there",
        ));
    }
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                  ORDER BY name";
    let mut tables = connection.prepare(tables).map_err(on(WHAT))?;
    let names = tables.query_map([], |row| row.get::<_, String>(0)).map_err(on(WHAT))?;
    let mut rows = Vec::new();
    for name in names {
        let name = name.map_err(on(WHAT))?;
        let sql = format!("SELECT count(*) FROM \"{}\"", name.replace('"', "\"\""));
        let count: i64 = connection.query_row(&sql, [], |row| row.get(0)).map_err(on(WHAT))?;
        rows.push((name, u64::try_from(count).unwrap_or_default()));
    }
    Ok(Contents { schema, rows, schema_differences })
}

/// Says in what the schema of the store in the folder `data` differs from the one that its version has: a
/// backup of it could not be restored.
///
/// # Errors
/// When it cannot be read.
pub fn schema_differences(data: &Path) -> Result<Vec<String>, InternalError> {
    let connection = sqlite::schema::open(&data.join(FILE), sqlite::Schema::Keep)?;
    schema::differences(&connection, sqlite::schema::version(&connection)?)
}

/// Brings a copy up to date, where it is of an older version, and follows the chains in it: those
/// of consents where `keys` open what they prove.
///
/// # Errors
/// When it cannot be read.
pub fn follow(file: &Path, keys: &OperatorKeys) -> Result<Chains, InternalError> {
    let vault = Arc::new(ColumnCipher::default());
    let link = SqlBackend::Sqlite(sqlite::schema::open(file, sqlite::Schema::Migrate)?);
    let database = Database(Connection::new(link, Arc::clone(&vault)));
    let is_open = vault.open_by(keys, &database.privacy_keys()?)?;
    // What people did is not encrypted.
    let consents = is_open.then(|| database.check_consents(None, None)).transpose()?;
    Ok(Chains { consents, records: database.check_records()? })
}

/// Whether a folder has something of a store, whole or not.
#[must_use]
pub fn is_begun(data: &Path) -> bool {
    files_of(&data.join(FILE)).iter().any(|file| file.exists())
}

/// Everything that SQLite would take for a part of this database; the database first. One that was ended
/// while it left the write-ahead log has a journal, too, which must not meet another database.
fn files_of(database: &Path) -> [PathBuf; 4] {
    let [file, log, index] = health::files_of(database);
    let mut journal = file.clone().into_os_string();
    journal.push("-journal");
    [file, log, index, journal.into()]
}

/// Puts a copy, which lies on the same disk and which nobody uses, in the place of the store in the
/// folder `data`. What was there is kept in the folder `before`, which it returns when there was
/// something. Whoever calls holds the folder's lock.
///
/// The store is the one file or the other at every moment: the one that was there is closed into a
/// single file first, and then replaced by renaming. Only one that cannot be read is moved away before.
///
/// # Errors
/// When another program uses the store that is there, or files cannot be moved.
pub fn put(data: &Path, copy: &Path, before: &Path) -> Result<Option<PathBuf>, NotPut> {
    const WHAT: &str = "putting the store in its place";
    let target = data.join(FILE);
    let on = InternalError::on::<std::io::Error>;
    // A rename says nothing of what is in a file: that has to be on the disk before.
    let whole = File::open(copy).and_then(|file| file.sync_all());
    whole.map_err(on("writing the store to disk"))?;
    let had = is_begun(data);
    if had {
        keep(&target, before)?;
    }
    fs::rename(copy, &target).map_err(on(WHAT))?;
    sync(data)?;
    Ok(had.then(|| before.to_owned()))
}

/// Keeps what was there under names of its own, and leaves one file at most, which can be replaced.
fn keep(target: &Path, before: &Path) -> Result<(), NotPut> {
    const WHAT: &str = "keeping what was there";
    let files = files_of(target);
    let kept = |file: &Path| before.join(file.file_name().unwrap_or_default());
    create_private(before).map_err(InternalError::on(WHAT))?;
    for file in files.iter().filter(|file| file.exists()) {
        // A second name: nothing is copied, and where it ends here nothing is gone.
        fs::hard_link(file, kept(file)).map_err(InternalError::on(WHAT))?;
    }
    let is_single = is_single(target).inspect_err(|_| {
        // Names only: the files are where they were.
        let _ = fs::remove_dir_all(before);
    })?;
    let [_, beside @ ..] = &files;
    for file in beside {
        // What is in the log of a database that was closed is in the database.
        let spare = if is_single { kept(file) } else { file.clone() };
        if spare.exists() {
            fs::remove_file(spare).map_err(InternalError::on(WHAT))?;
        }
    }
    Ok(sync(before)?)
}

/// Closes a database into a single file. `false` when it cannot be read.
fn is_single(database: &Path) -> Result<bool, NotPut> {
    let settle = || {
        let connection =
            rusqlite::Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(PATIENCE)?;
        // Only whoever is alone can leave the write-ahead log, so that this tells
        // whether somebody else is there.
        connection.query_row("PRAGMA journal_mode = delete", [], |row| row.get::<_, String>(0))
    };
    match settle() {
        Ok(mode) if mode == "delete" => Ok(true),
        Ok(_) => Err(NotPut::InUse),
        Err(error) => match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Err(NotPut::InUse),
            Some(_) | None => Ok(false),
        },
    }
}

fn sync(folder: &Path) -> Result<(), InternalError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(InternalError::on("writing the folder to disk"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use tradepost_dealer::demo;

    use super::*;
    use crate::Store;

    fn stocked(folder: &Path, vehicles: usize) -> Store {
        let store = Store::open(folder).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        store.replace_inventory("one", &demo::units(vehicles, 7, now), now, false).unwrap();
        store
    }

    fn listings(contents: &Contents) -> u64 {
        contents.rows.iter().find(|(name, _)| name == "listings").unwrap().1
    }

    #[test]
    fn a_store_in_use_is_copied_and_the_copy_takes_the_place_of_another() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let _in_use = stocked(one.path(), 40);
        drop(stocked(two.path(), 5));
        let copied = two.path().join("copy.sqlite");
        copy(one.path(), &copied).unwrap();
        let contents = inspect(&copied).unwrap();
        assert!(listings(&contents) >= 40, "{contents:?}");
        assert_eq!(contents.schema, schema());
        assert_eq!(
            follow(&copied, &OperatorKeys::default()).unwrap(),
            Chains { consents: Some(vec![]), records: vec![] }
        );

        let before = two.path().join("before");
        assert_eq!(put(two.path(), &copied, &before).unwrap(), Some(before.clone()));
        assert_eq!(inspect(&two.path().join(FILE)).unwrap().rows, contents.rows);
        assert!(listings(&inspect(&before.join(FILE)).unwrap()) < 40, "the former is kept");
        Store::attach(two.path()).unwrap();
    }

    #[test]
    fn a_store_that_somebody_uses_is_left_alone() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        drop(stocked(one.path(), 3));
        let _in_use = stocked(two.path(), 5);
        let copied = two.path().join("copy.sqlite");
        copy(one.path(), &copied).unwrap();
        let held = inspect(&two.path().join(FILE)).unwrap();
        let put = put(two.path(), &copied, &two.path().join("before"));
        assert!(matches!(put, Err(NotPut::InUse)), "{put:?}");
        assert_eq!(inspect(&two.path().join(FILE)).unwrap(), held);
    }

    #[test]
    fn a_store_that_cannot_be_read_is_moved_away() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        drop(stocked(one.path(), 3));
        fs::write(two.path().join(FILE), "no database at all").unwrap();
        for (end, text) in [("-wal", "nor its log"), ("-journal", "nor its journal")] {
            fs::write(two.path().join(format!("{FILE}{end}")), text).unwrap();
        }
        let copied = two.path().join("copy.sqlite");
        copy(one.path(), &copied).unwrap();
        let before = two.path().join("before");
        put(two.path(), &copied, &before).unwrap();
        assert!(inspect(&two.path().join(FILE)).is_ok());
        assert_eq!(fs::read(before.join(FILE)).unwrap(), b"no database at all");
        for end in ["-wal", "-journal"] {
            assert!(before.join(format!("{FILE}{end}")).exists(), "{end}");
            assert!(!two.path().join(format!("{FILE}{end}")).exists(), "{end}");
        }
    }

    #[test]
    fn what_is_damaged_or_no_store_is_no_copy() {
        let folder = tempfile::tempdir().unwrap();
        let _in_use = stocked(folder.path(), 300);
        // A copy has no log beside it, in which damaged pages would be found whole.
        let file = folder.path().join("copy.sqlite");
        copy(folder.path(), &file).unwrap();
        assert!(inspect(&file).is_ok());
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0xAA);
        fs::write(&file, bytes).unwrap();
        assert!(inspect(&file).is_err());
        let empty = folder.path().join("empty");
        rusqlite::Connection::open(&empty).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
        assert!(inspect(&empty).unwrap_err().chain().contains("no store"));
    }
}
