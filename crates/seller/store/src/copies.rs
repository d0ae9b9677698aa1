//! Backup copies of a store that is kept in a file: made while a server uses it, inspected, and restored in place of
//! another store.
//!
//! A copy has everything committed before it was begun, and nothing that was erased before. Snapshots of inventories
//! are left out: they are built again from the rows.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{ErrorCode, OpenFlags};
use tradepost_dealer::consent::ConsentCheck;
use tradepost_dealer::staff::RecordCheck;
use tradepost_document::fault::InternalError;
use tradepost_server::private_file::{create_folder, files_of_database};

use super::privacy::{ColumnCipher, OperatorKeys};
use super::sql::{Connection, SqlBackend};
use super::tables::Database;
use super::{FILE, sqlite};

mod schema;

/// Longest wait for a database that another program has locked.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Contents of a store, as far as they can be counted and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Version of its schema.
    pub schema: usize,
    /// Its tables, by name, each with the number of its rows.
    pub rows: Vec<(String, u64)>,
    /// Differences between its schema and the one of its version, such as a missing trigger or index; empty when there
    /// are none.
    pub schema_differences: Vec<String>,
}

/// Results of checking the hash chains of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chains {
    /// Chains of consents, one for each dealer; `None` where their evidence is encrypted with a key that was not given.
    pub consents: Option<Vec<ConsentCheck>>,
    /// Chains of the audit log, with the actions of the dealers' staff.
    pub records: Vec<RecordCheck>,
}

/// Reason why a store was not restored.
#[derive(Debug)]
pub enum NotPut {
    /// Another program uses the existing database.
    InUse,
    /// Restoring failed.
    Broken(InternalError),
}

impl From<InternalError> for NotPut {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

/// Returns the version of an up-to-date schema.
#[must_use]
pub const fn schema() -> usize {
    sqlite::schema::MIGRATIONS.len()
}

/// Copies the store in the folder `data` into a file that must not exist yet. Programs that use the store are not
/// blocked.
///
/// # Errors
/// When the store cannot be read, is of another version, or there is no room for the copy.
pub fn copy(data: &Path, to: &Path) -> Result<(), InternalError> {
    let connection = sqlite::schema::open(&data.join(FILE), sqlite::Schema::Keep)?;
    // SQLite accepts an empty file and keeps its mode: other users cannot read personal data.
    let private = File::options().write(true).create_new(true).mode(0o600).open(to);
    private.map_err(InternalError::on("creating the copy"))?;
    let name = to
        .to_str()
        .ok_or_else(|| InternalError::new("copying the store", "its path is no text"))?;
    // Unlike SQLite's backup this copies no free pages, which may still hold erased data.
    let copied = connection.execute("VACUUM INTO ?1", [name]);
    copied.map(drop).map_err(InternalError::on("copying the store"))
}

/// Checks a copy and counts its rows.
///
/// # Errors
/// When it is damaged, of a newer version, or not a store.
pub fn inspect(file: &Path) -> Result<Contents, InternalError> {
    const WHAT: &str = "reading the copy";
    let on = InternalError::on::<rusqlite::Error>;
    let connection = rusqlite::Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let connection = connection.map_err(on(WHAT))?;
    schema::distrust_schema(&connection)?;
    let schema = sqlite::schema::version(&connection)?;
    if schema == 0 {
        return Err(InternalError::new(WHAT, "it is no store of tradepost"));
    }
    // Checked before any table is read: a table of that name may be something else.
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

/// Returns the differences between the schema of the store in the folder `data` and the one of its version. With any, a
/// backup of it could not be restored.
///
/// # Errors
/// When it cannot be read.
pub fn schema_differences(data: &Path) -> Result<Vec<String>, InternalError> {
    let connection = sqlite::schema::open(&data.join(FILE), sqlite::Schema::Keep)?;
    schema::differences(&connection, sqlite::schema::version(&connection)?)
}

/// Migrates a copy of an older version and checks the hash chains in it: those of consents only when `keys` decrypt
/// their evidence.
///
/// # Errors
/// When it cannot be read.
pub fn follow(file: &Path, keys: &OperatorKeys) -> Result<Chains, InternalError> {
    let cipher = Arc::new(ColumnCipher::default());
    let link = SqlBackend::Sqlite(sqlite::schema::open(file, sqlite::Schema::Migrate)?);
    let database = Database(Connection::new(link, Arc::clone(&cipher)));
    let is_open = cipher.open_by(keys, &database.privacy_keys()?)?;
    // The audit log is not encrypted.
    let consents = is_open.then(|| database.check_consents(None, None)).transpose()?;
    Ok(Chains { consents, records: database.check_records()? })
}

/// Returns true when a folder has any file of a store, complete or not.
#[must_use]
pub fn is_begun(data: &Path) -> bool {
    files_of(&data.join(FILE)).iter().any(|file| file.exists())
}

/// Returns every file that SQLite would take for a part of this database, the database first. A process that was killed
/// while leaving the write-ahead log also leaves a journal, which must not be applied to another database.
fn files_of(database: &Path) -> [PathBuf; 4] {
    let [file, log, index] = files_of_database(database);
    let mut journal = file.clone().into_os_string();
    journal.push("-journal");
    [file, log, index, journal.into()]
}

/// Replaces the store in the folder `data` by a copy on the same disk that is not in use. The files that were there are
/// kept in the folder `before`, which is returned when there were any. The caller must hold the lock of the folder.
///
/// The store is one file or the other at every moment: the old one is first closed into a single file and then replaced
/// by renaming. Only a database that cannot be read is moved away before.
///
/// # Errors
/// When another program uses the existing store, or files cannot be moved.
pub fn put(data: &Path, copy: &Path, before: &Path) -> Result<Option<PathBuf>, NotPut> {
    const WHAT: &str = "putting the store in its place";
    let target = data.join(FILE);
    let on = InternalError::on::<std::io::Error>;
    // A rename does not flush the content of a file, so it has to be on disk before.
    let whole = File::open(copy).and_then(|file| file.sync_all());
    whole.map_err(on("writing the store to disk"))?;
    let had = is_begun(data);
    if had {
        back_up(&target, before)?;
    }
    fs::rename(copy, &target).map_err(on(WHAT))?;
    sync(data)?;
    Ok(had.then(|| before.to_owned()))
}

/// Links the old files into the folder `before` and leaves at most one file, which a rename can replace.
fn back_up(target: &Path, before: &Path) -> Result<(), NotPut> {
    const WHAT: &str = "keeping what was there";
    let files = files_of(target);
    let backup_path = |file: &Path| before.join(file.file_name().unwrap_or_default());
    create_folder(before).map_err(InternalError::on(WHAT))?;
    for file in files.iter().filter(|file| file.exists()) {
        // A hard link copies nothing, and if the process ends here nothing is lost.
        fs::hard_link(file, backup_path(file)).map_err(InternalError::on(WHAT))?;
    }
    let is_single = is_single(target).inspect_err(|_| {
        // Removes only the links: the files are where they were.
        let _ = fs::remove_dir_all(before);
    })?;
    let [_, side_files @ ..] = &files;
    for file in side_files {
        // The log of a closed database has already been written into the database.
        let obsolete = if is_single { backup_path(file) } else { file.clone() };
        if obsolete.exists() {
            fs::remove_file(obsolete).map_err(InternalError::on(WHAT))?;
        }
    }
    Ok(sync(before)?)
}

/// Closes a database into a single file. Returns `false` when it cannot be read.
fn is_single(database: &Path) -> Result<bool, NotPut> {
    let leave_write_ahead_log = || {
        let connection =
            rusqlite::Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Only the sole user of a database can leave the write-ahead log, so failure shows that another program uses
        // it.
        connection.query_row("PRAGMA journal_mode = delete", [], |row| row.get::<_, String>(0))
    };
    match leave_write_ahead_log() {
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
    use tradepost_demo::dealer as demo;

    use super::*;
    use crate::Store;

    fn stocked(folder: &Path, vehicles: usize) -> Store {
        let store = Store::open(folder).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        store.replace_inventory("one", &demo::listings(vehicles, 7, now), now, false).unwrap();
        store
    }

    fn listings(contents: &Contents) -> u64 {
        contents.rows.iter().find(|(name, _)| name == "listings").unwrap().1
    }

    #[test]
    fn a_store_in_use_is_copied_and_can_replace_another() {
        let one = tempfile::tempdir().unwrap();
        let two = tempfile::tempdir().unwrap();
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
        let one = tempfile::tempdir().unwrap();
        let two = tempfile::tempdir().unwrap();
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
        let one = tempfile::tempdir().unwrap();
        let two = tempfile::tempdir().unwrap();
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
        // A copy has no log beside it from which damaged pages could be read.
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
