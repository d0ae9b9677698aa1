//! Backups of a data folder: one file with a manifest and the database, in sealed chunks ([`sealed`]), so
//! that a cut or a change is detected before any of it is used.
//!
//! `docs/operating.md#backups` describes the format; a change of it increments `MANIFEST_VERSION`.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tempfile::NamedTempFile;
use tradepost_dealer::consent::{ConsentCheck, hex};
use tradepost_dealer::staff::RecordCheck;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{self, Value, json};
use tradepost_server::fault::InternalError;
use tradepost_store::copies::{self, Chains, Contents};
use tradepost_store::privacy::OperatorKeys;

pub mod sealed;

use sealed::{BackupSecret, OpenedReader, SealedWriter};

/// Version of the manifest.
const MANIFEST_VERSION: u64 = 1;

/// Maximum size of a manifest in bytes.
const MAX_MANIFEST_BYTES: u32 = 16 * 1024 * 1024;

/// Prefix of temporary folders; one may remain when a backup or a restore was killed.
const TEMPORARY_PREFIX: &str = ".tradepost-copy-";

/// Prefix of a backup that is being written.
const UNFINISHED_PREFIX: &str = ".tradepost-unfinished-";

/// Prefix of the folder in which a backup is checked.
const CHECK_PREFIX: &str = ".tradepost-check-";

/// Message for a file that is not, or no longer, a complete backup.
const DAMAGED_MESSAGE: &str = "the backup is cut off or was changed";

/// Manifest of a backup: its table of contents.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest(Value);

/// Reason why a backup cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// The file is not what was written, or cannot be opened with this secret.
    File(String),
    /// The database is not what the manifest says: the differences.
    Differs(Vec<String>),
    /// An internal error.
    Machine(InternalError),
}

impl From<InternalError> for Unusable {
    fn from(fault: InternalError) -> Self {
        Self::Machine(fault)
    }
}

impl Manifest {
    fn new(made_at: Timestamp, bytes: u64, contents: &Contents, chains: &Chains) -> Self {
        let rows: Vec<_> = contents
            .rows
            .iter()
            .map(|(table, rows)| json!({"table": table, "rows": rows}))
            .collect();
        Self(json!({
            "format": MANIFEST_VERSION,
            "tradepost": env!("CARGO_PKG_VERSION"),
            "made_at": rfc3339(made_at),
            "schema": contents.schema,
            "database_bytes": bytes,
            "rows": rows,
            "consents": chains.consents.as_ref().map(|all| all.iter().map(consents).collect::<Vec<_>>()),
            "records": chains.records.iter().map(records).collect::<Vec<_>>(),
        }))
    }

    /// Returns the manifest as JSON.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.0
    }

    /// Returns the number of rows of a table.
    #[must_use]
    pub fn rows(&self, table: &str) -> u64 {
        let rows = self.0.get("rows").and_then(Value::as_array);
        let row = rows.into_iter().flatten().find(|row| row["table"] == table);
        row.and_then(|row| row.get("rows")).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Returns true when the chains of consents were checked, which needs the key of personal data.
    #[must_use]
    pub fn has_consents(&self) -> bool {
        self.0.get("consents").is_some_and(Value::is_array)
    }

    /// Returns the time of the backup.
    #[must_use]
    pub fn made_at(&self) -> &str {
        self.text("made_at")
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, key: &str) -> u64 {
        self.0.get(key).and_then(Value::as_u64).unwrap_or_default()
    }

    fn is_readable(&self) -> bool {
        let schema = usize::try_from(self.number("schema"));
        let known = schema.is_ok_and(|schema| schema <= copies::schema());
        self.number("format") == MANIFEST_VERSION && known
    }
}

fn consents(check: &ConsentCheck) -> Value {
    json!({"dealer": check.dealer_id, "records": check.records, "head": hex(&check.head),
           "faults": check.faults.len()})
}

fn records(check: &RecordCheck) -> Value {
    json!({"chain": check.chain, "entries": check.entries, "head": hex(&check.head),
           "faults": check.faults.len()})
}

/// Creates a temporary folder on the same disk as another one, deleted when it is dropped. Removes
/// earlier ones, so there must be only one caller at a time.
///
/// # Errors
/// When there is no room, or the folder cannot be written.
pub fn scratch(beside: &Path) -> io::Result<tempfile::TempDir> {
    for entry in fs::read_dir(beside)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(TEMPORARY_PREFIX)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let private = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(TEMPORARY_PREFIX).permissions(private).tempdir_in(beside)
}

/// Creates a temporary folder for the check of a backup, with its lock, because other checks may use the
/// same place.
///
/// # Errors
/// When there is no room, or the folder cannot be written.
pub fn beside(folder: &Path) -> io::Result<(tempfile::TempDir, File)> {
    sweep(folder, CHECK_PREFIX)?;
    let private = Permissions::from_mode(0o700);
    let made =
        tempfile::Builder::new().prefix(CHECK_PREFIX).permissions(private).tempdir_in(folder)?;
    let lock = File::open(made.path())?;
    let _ = lock.try_lock();
    Ok((made, lock))
}

/// Removes files and folders with this prefix whose process has ended, which releases their lock. On a
/// disk without locks nothing is removed.
fn sweep(folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
        if is_one && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            // The process that made it may remove it at the same moment, too.
            let _ = match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            };
        }
    }
    Ok(())
}

/// Creates a file for a backup in its final folder. Only its owner can read it, and it is deleted unless
/// it is persisted. Removes earlier ones that no process is writing: another server may have its backups
/// in the same folder.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    sweep(folder, UNFINISHED_PREFIX)?;
    let file = tempfile::Builder::new().prefix(UNFINISHED_PREFIX).tempfile_in(folder)?;
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Writes a backup of the store in a folder. `scratch` holds a copy of the store meanwhile; `keys`
/// decrypt personal data in it, so that its chains can be checked.
///
/// # Errors
/// When the store cannot be read, or the backup cannot be written.
pub fn write(
    data: &Path,
    scratch: &Path,
    secret: &BackupSecret,
    keys: &OperatorKeys,
    now: Timestamp,
    to: &mut impl Write,
) -> Result<Manifest, InternalError> {
    const CONTEXT: &str = "writing the backup";
    let copy = scratch.join("copy.sqlite");
    // From a copy, because the database is still being written, and the manifest must match.
    copies::copy(data, &copy)?;
    let contents = copies::inspect(&copy)?;
    let chains = copies::follow(&copy, keys)?;
    let mut file = File::open(&copy).map_err(InternalError::on(CONTEXT))?;
    let bytes = file.metadata().map_err(InternalError::on(CONTEXT))?.len();
    let manifest = Manifest::new(now, bytes, &contents, &chains);
    let text = json::to_string(&manifest.0).map_err(InternalError::on(CONTEXT))?;
    let put = || {
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        let mut sealed = SealedWriter::new(to, secret)?;
        sealed.write_all(&length.to_be_bytes())?;
        sealed.write_all(text.as_bytes())?;
        io::copy(&mut file, &mut sealed)?;
        sealed.finish()
    };
    put().map_err(InternalError::on(CONTEXT))?;
    Ok(manifest)
}

/// Reads a backup to its end, and writes its database to `database` unchecked.
///
/// # Errors
/// When it is not what was written, when it was sealed with another secret, or when this machine failed.
pub fn read(
    from: impl Read,
    secret: &BackupSecret,
    database: &mut impl Write,
) -> Result<Manifest, Unusable> {
    let mut opened = OpenedReader::new(from, secret).map_err(unreadable)?;
    let mut length = [0; 4];
    opened.read_exact(&mut length).map_err(unreadable)?;
    let length = u32::from_be_bytes(length);
    let mut text = String::new();
    // A forged length must not allocate memory.
    let read = (&mut opened).take(length.min(MAX_MANIFEST_BYTES).into()).read_to_string(&mut text);
    read.map_err(unreadable)?;
    let manifest =
        json::from_str(&text).map(Manifest).map_err(|_| Unusable::File(DAMAGED_MESSAGE.into()))?;
    if !manifest.is_readable() {
        let version = manifest.text("tradepost");
        return Err(Unusable::File(format!("the backup is of a newer version ({version})")));
    }
    // To the end, even after a failure: only the last chunk proves that none was cut off.
    let copied = copy(&mut opened, database)?;
    if copied != manifest.number("database_bytes") {
        return Err(Unusable::File(DAMAGED_MESSAGE.to_owned()));
    }
    Ok(manifest)
}

/// Copies to the end, and tells errors of the backup from errors of this machine.
fn copy(from: &mut impl Read, to: &mut impl Write) -> Result<u64, Unusable> {
    let mut buffer = vec![0; 64 * 1024];
    let mut copied = 0;
    loop {
        let count = from.read(&mut buffer).map_err(unreadable)?;
        let Some(read) = buffer.get(..count).filter(|read| !read.is_empty()) else {
            return Ok(copied);
        };
        to.write_all(read).map_err(InternalError::on("writing the database"))?;
        copied += u64::try_from(count).unwrap_or_default();
    }
}

fn unreadable(error: io::Error) -> Unusable {
    let kind = error.kind();
    if kind == io::ErrorKind::InvalidData {
        Unusable::File(error.to_string())
    } else if kind == io::ErrorKind::UnexpectedEof {
        Unusable::File(DAMAGED_MESSAGE.to_owned())
    } else {
        Unusable::Machine(InternalError::new("reading the backup", error))
    }
}

/// Compares a database with its manifest: it must be intact, with exactly the schema of its version, and
/// with the same numbers of rows, chains of consents and chains of the staff's audit log; chains need
/// `keys` where they are encrypted. The database is migrated. Returns true when the chains of consents
/// could be compared.
///
/// # Errors
/// All differences.
pub fn compare(
    manifest: &Manifest,
    database: &Path,
    keys: &OperatorKeys,
) -> Result<bool, Unusable> {
    let contents = copies::inspect(database)
        .map_err(|fault| Unusable::Differs(vec![format!("the database: {}", fault.chain())]))?;
    // Before it is opened for writing, because a foreign trigger would run then.
    if !contents.schema_differences.is_empty() {
        let line = |what: &String| format!("the schema of the database: {what}");
        return Err(Unusable::Differs(contents.schema_differences.iter().map(line).collect()));
    }
    let chains = copies::follow(database, keys)?;
    let found = Manifest::new(Timestamp::UNIX_EPOCH, 0, &contents, &chains);
    let mut differences = Vec::new();
    for (key, what) in [
        ("schema", "the version of the database"),
        ("rows", "the numbers of rows"),
        ("consents", "the chains of consents"),
        ("records", "the record of what people did"),
    ] {
        let recorded = manifest.0.get(key);
        let found = found.0.get(key);
        // A chain that could not be checked without the key cannot be compared either.
        if recorded != found
            && !recorded.is_some_and(Value::is_null)
            && !found.is_some_and(Value::is_null)
        {
            differences.push(format!("{what} differ from what the backup says"));
        }
    }
    if !differences.is_empty() {
        return Err(Unusable::Differs(differences));
    }
    Ok(manifest.has_consents() && found.has_consents())
}

/// Lists the chains that were broken already when the backup was made.
#[must_use]
pub fn broken_chains(manifest: &Manifest) -> Vec<String> {
    let mut broken = Vec::new();
    for (key, whose, what) in
        [("consents", "dealer", "consents of"), ("records", "chain", "record of")]
    {
        let chains = manifest.0.get(key).and_then(Value::as_array);
        for chain in chains.into_iter().flatten() {
            let name = chain.get(whose).and_then(Value::as_str).unwrap_or_default();
            if chain.get("faults").and_then(Value::as_u64) != Some(0) {
                broken.push(format!("{what} {name}"));
            }
        }
    }
    broken
}

/// Returns the file name of a backup.
#[must_use]
pub fn name(now: Timestamp) -> PathBuf {
    let moment: String = now
        .to_string()
        .chars()
        .take(19)
        .filter(|character| !matches!(character, '-' | ':'))
        .collect();
    format!("tradepost-{moment}Z.backup").into()
}

#[cfg(test)]
mod tests {
    use tradepost_store::Store;

    use super::*;

    #[test]
    fn a_backup_reads_back_unless_a_byte_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let store = Store::open(&data).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let listings = tradepost_demo::dealer::listings(50, 7, now);
        store.replace_inventory("one", &listings, now, false).unwrap();
        for secret in [BackupSecret::None, BackupSecret::Key([7; 32])] {
            let room = scratch(&data).unwrap();
            let mut bytes = Vec::new();
            let written =
                write(&data, room.path(), &secret, &OperatorKeys::default(), now, &mut bytes)
                    .unwrap();
            let mut database = Vec::new();
            assert_eq!(read(bytes.as_slice(), &secret, &mut database).unwrap(), written);
            let restored = folder.path().join("restored.sqlite");
            fs::write(&restored, &database).unwrap();
            assert!(compare(&written, &restored, &OperatorKeys::default()).unwrap());
            assert!(written.has_consents() && written.rows("listings") >= 50);

            for at in (0..bytes.len()).step_by(bytes.len() / 97) {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                let outcome = read(changed.as_slice(), &secret, &mut io::sink());
                assert!(matches!(outcome, Err(Unusable::File(_))), "{at}: {outcome:?}");
                let outcome = read(&bytes[..at], &secret, &mut io::sink());
                assert!(matches!(outcome, Err(Unusable::File(_))), "cut at {at}: {outcome:?}");
            }
            bytes.push(0);
            let outcome = read(bytes.as_slice(), &secret, &mut io::sink());
            assert!(matches!(outcome, Err(Unusable::File(_))), "{outcome:?}");
        }
    }

    #[test]
    fn broken_chains_are_named_without_an_article() {
        let chains = json!({
            "consents": [{"dealer": "one", "faults": 1}, {"dealer": "two", "faults": 0}],
            "records": [{"chain": "one", "faults": 2}],
        });
        assert_eq!(broken_chains(&Manifest(chains)), ["consents of one", "record of one"]);
    }

    #[test]
    fn a_database_with_another_row_differs_from_the_backup() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let store = Store::open(&data).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let mut bytes = Vec::new();
        let room = scratch(&data).unwrap();
        let written = write(
            &data,
            room.path(),
            &BackupSecret::None,
            &OperatorKeys::default(),
            now,
            &mut bytes,
        )
        .unwrap();
        let listings = tradepost_demo::dealer::listings(1, 7, now);
        store.replace_inventory("one", &listings, now, false).unwrap();
        let later = folder.path().join("later.sqlite");
        copies::copy(&data, &later).unwrap();
        let Err(Unusable::Differs(differences)) =
            compare(&written, &later, &OperatorKeys::default())
        else {
            panic!()
        };
        assert_eq!(differences, ["the numbers of rows differ from what the backup says"]);
    }

    #[test]
    fn leftovers_of_killed_backups_go_and_running_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{UNFINISHED_PREFIX}x"));
        let other = folder.path().join("tradepost-20260430T120000Z.backup");
        fs::write(&left, "half").unwrap();
        fs::write(&other, "whole").unwrap();
        let first = unfinished(folder.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let _second = unfinished(folder.path()).unwrap();
        assert!(first.path().exists());
    }

    #[test]
    fn leftovers_of_killed_checks_go_and_running_ones_stay() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{CHECK_PREFIX}x"));
        fs::create_dir(&left).unwrap();
        fs::write(left.join("checked.sqlite"), "of customers").unwrap();
        let (first, _lock) = beside(folder.path()).unwrap();
        assert!(!left.exists());
        let (second, _other) = beside(folder.path()).unwrap();
        assert!(first.path().exists() && second.path().exists());
    }

    #[test]
    fn a_backup_is_called_by_its_moment() {
        let now: Timestamp = "2026-04-30T12:00:00.25Z".parse().unwrap();
        assert_eq!(name(now), Path::new("tradepost-20260430T120000Z.backup"));
    }
}
