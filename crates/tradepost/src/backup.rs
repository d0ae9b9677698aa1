//! Backups of what a server keeps in a folder: one file with a table of contents and the database, in
//! chunks of which each is sealed ([`sealed`]), so that what was cut off or changed is noticed before any
//! of it is used.
//!
//! The file is `docs/operating.md#backups` word for word; whoever changes it counts `FORMAT` up.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tempfile::NamedTempFile;
use tradepost_dealer::consent::{ConsentCheck, hex};
use tradepost_dealer::staff::RecordCheck;
use tradepost_server::fault::InternalError;
use tradepost_store::copies::{self, Chains, Contents};
use tradepost_store::privacy::OperatorKeys;
use tradepost_wire::format::rfc3339;
use tradepost_wire::json::{self, Value, json};

pub mod sealed;

use sealed::{BackupSecret, OpenedReader, SealedWriter};

/// The version of the table of contents.
const FORMAT: u64 = 1;

/// The largest table of contents that is read, in bytes.
const MANIFEST: u32 = 16 * 1024 * 1024;

/// What temporary folders are called that a backup or a restoration has left when it was ended.
const SCRATCH: &str = ".tradepost-copy-";

/// What a backup is called while it is written.
const UNFINISHED: &str = ".tradepost-unfinished-";

/// How the folder of a look at a backup begins.
const CHECKED: &str = ".tradepost-check-";

/// What is said of a file that is not, or no longer, what was written.
const CHANGED: &str = "the backup is cut off or was changed";

/// What a backup says of itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest(Value);

/// Why a backup cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// It is not what was written, or cannot be opened with this secret.
    File(String),
    /// What is in it is not what its table of contents says: the differences.
    Differs(Vec<String>),
    /// This machine failed.
    Machine(InternalError),
}

impl From<InternalError> for Unusable {
    fn from(fault: InternalError) -> Self {
        Self::Machine(fault)
    }
}

impl Manifest {
    fn of(made_at: Timestamp, bytes: u64, contents: &Contents, chains: &Chains) -> Self {
        let rows: Vec<_> = contents
            .rows
            .iter()
            .map(|(table, rows)| json!({"table": table, "rows": rows}))
            .collect();
        Self(json!({
            "format": FORMAT,
            "tradepost": env!("CARGO_PKG_VERSION"),
            "made_at": rfc3339(made_at),
            "schema": contents.schema,
            "database_bytes": bytes,
            "rows": rows,
            "consents": chains.consents.as_ref().map(|all| all.iter().map(consents).collect::<Vec<_>>()),
            "records": chains.records.iter().map(records).collect::<Vec<_>>(),
        }))
    }

    /// What it says, for programs.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.0
    }

    /// How many rows of a table there are.
    #[must_use]
    pub fn rows(&self, table: &str) -> u64 {
        let rows = self.0.get("rows").and_then(Value::as_array);
        let row = rows.into_iter().flatten().find(|row| row["table"] == table);
        row.and_then(|row| row.get("rows")).and_then(Value::as_u64).unwrap_or_default()
    }

    /// Whether the chains of consents were followed: without the key of personal data they are not.
    #[must_use]
    pub fn has_consents(&self) -> bool {
        self.0.get("consents").is_some_and(Value::is_array)
    }

    /// When it was made.
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
        let known = usize::try_from(self.number("schema")).is_ok_and(|it| it <= copies::schema());
        self.number("format") == FORMAT && known
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

/// A folder that is removed when it is no longer needed, on the disk of another one. What earlier ones
/// have left there goes, so whoever calls is alone.
///
/// # Errors
/// When there is no room, or the folder cannot be written.
pub fn scratch(beside: &Path) -> io::Result<tempfile::TempDir> {
    for entry in fs::read_dir(beside)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(SCRATCH)) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    let private = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix(SCRATCH).permissions(private).tempdir_in(beside)
}

/// The same for a look at a backup, beside which there may be others: with its lock.
///
/// # Errors
/// When there is no room, or the folder cannot be written.
pub fn beside(folder: &Path) -> io::Result<(tempfile::TempDir, File)> {
    sweep(folder, CHECKED)?;
    let private = Permissions::from_mode(0o700);
    let made = tempfile::Builder::new().prefix(CHECKED).permissions(private).tempdir_in(folder)?;
    let lock = File::open(made.path())?;
    let _ = lock.try_lock();
    Ok((made, lock))
}

/// Removes what processes that are gone have left under names that begin so. The lock of one that is
/// there ends with it, however that ends. A disk without locks sweeps nothing.
fn sweep(folder: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
        if is_one && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            // Whoever has made it may remove it at the same moment, too.
            let _ = match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            };
        }
    }
    Ok(())
}

/// A file for a backup while it is written, in the folder where it will be: its owner's alone, and removed
/// unless it is kept. What earlier ones have left there goes, unless it is somebody's who still writes:
/// another server may have its backups in the same folder.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn unfinished(folder: &Path) -> io::Result<NamedTempFile> {
    sweep(folder, UNFINISHED)?;
    let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    let _ = file.as_file().try_lock();
    Ok(file)
}

/// Writes a backup of the store in a folder. `scratch` is where the copy lies in the meantime, which holds
/// what the store holds; `keys` open what is encrypted in it, so that its chains can be followed.
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
    const WHAT: &str = "writing the backup";
    let copy = scratch.join("copy.sqlite");
    // Of a copy: the database goes on being written, and what the table
    // of contents says must stay true.
    copies::copy(data, &copy)?;
    let contents = copies::inspect(&copy)?;
    let chains = copies::follow(&copy, keys)?;
    let mut file = File::open(&copy).map_err(InternalError::on(WHAT))?;
    let bytes = file.metadata().map_err(InternalError::on(WHAT))?.len();
    let manifest = Manifest::of(now, bytes, &contents, &chains);
    let text = json::to_string(&manifest.0).map_err(InternalError::on(WHAT))?;
    let put = || {
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        let mut sealed = SealedWriter::new(to, secret)?;
        sealed.write_all(&length.to_be_bytes())?;
        sealed.write_all(text.as_bytes())?;
        io::copy(&mut file, &mut sealed)?;
        sealed.finish()
    };
    put().map_err(InternalError::on(WHAT))?;
    Ok(manifest)
}

/// Reads a backup to its end. The database, which nobody has looked at yet, goes to `database`.
///
/// # Errors
/// That it is not what was written, that the secret is not the one it was sealed with, or that this
/// machine failed.
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
    // A length that somebody made up takes no memory.
    let read = (&mut opened).take(length.min(MANIFEST).into()).read_to_string(&mut text);
    read.map_err(unreadable)?;
    let manifest =
        json::from_str(&text).map(Manifest).map_err(|_| Unusable::File(CHANGED.into()))?;
    if !manifest.is_readable() {
        let version = manifest.text("tradepost");
        return Err(Unusable::File(format!("the backup is of a newer version ({version})")));
    }
    // To the end, whatever was found before: only the last chunk says that none was cut off.
    let copied = copy(&mut opened, database)?;
    if copied != manifest.number("database_bytes") {
        return Err(Unusable::File(CHANGED.to_owned()));
    }
    Ok(manifest)
}

/// Copies to the end. Whose fault it is when that fails is told apart.
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
        Unusable::File(CHANGED.to_owned())
    } else {
        Unusable::Machine(InternalError::new("reading the backup", error))
    }
}

/// Looks whether a database is what the table of contents of its backup says: whole, with the schema of its
/// version and nothing else in it, with as many rows, and with the same chains of consents and of the people's record, where `keys` open what they prove. It is
/// brought up to date. Returns whether the chains of consents could be compared.
///
/// # Errors
/// Everything in which they differ.
pub fn compare(
    manifest: &Manifest,
    database: &Path,
    keys: &OperatorKeys,
) -> Result<bool, Unusable> {
    let contents = copies::inspect(database)
        .map_err(|fault| Unusable::Differs(vec![format!("the database: {}", fault.chain())]))?;
    // Before it is opened for writing, where a trigger of somebody else's would run.
    if !contents.schema_differences.is_empty() {
        let line = |what: &String| format!("the schema of the database: {what}");
        return Err(Unusable::Differs(contents.schema_differences.iter().map(line).collect()));
    }
    let chains = copies::follow(database, keys)?;
    let found = Manifest::of(Timestamp::UNIX_EPOCH, 0, &contents, &chains);
    let mut differences = Vec::new();
    for (key, what) in [
        ("schema", "the version of the database"),
        ("rows", "the numbers of rows"),
        ("consents", "the chains of consents"),
        ("records", "the record of what people did"),
    ] {
        let (said, found) = (manifest.0.get(key), found.0.get(key));
        // A chain that could not be followed for want of the key cannot be compared either.
        if said != found && !said.is_some_and(Value::is_null) && !found.is_some_and(Value::is_null)
        {
            differences.push(format!("{what} differ from what the backup says"));
        }
    }
    if !differences.is_empty() {
        return Err(Unusable::Differs(differences));
    }
    Ok(manifest.has_consents() && found.has_consents())
}

/// The chains that were broken already when the backup was made.
#[must_use]
pub fn broken_chains(manifest: &Manifest) -> Vec<String> {
    let mut broken = Vec::new();
    for (key, whose, what) in
        [("consents", "dealer", "consents of"), ("records", "chain", "the record of")]
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

/// What a backup is called that is put into a folder.
#[must_use]
pub fn name(now: Timestamp) -> PathBuf {
    let moment: String =
        now.to_string().chars().take(19).filter(|c| !matches!(c, '-' | ':')).collect();
    format!("tradepost-{moment}Z.backup").into()
}

#[cfg(test)]
mod tests {
    use tradepost_store::Store;

    use super::*;

    #[test]
    fn what_is_read_is_what_was_written_and_a_changed_byte_anywhere_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let store = Store::open(&data).unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let units = tradepost_dealer::demo::units(50, 7, now);
        store.replace_inventory("one", &units, now, false).unwrap();
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
    fn a_database_with_another_row_is_not_the_one_of_the_backup() {
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
        let units = tradepost_dealer::demo::units(1, 7, now);
        store.replace_inventory("one", &units, now, false).unwrap();
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
    fn what_a_killed_backup_has_left_goes_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{UNFINISHED}x"));
        let other = folder.path().join("tradepost-20260430T120000Z.backup");
        fs::write(&left, "half").unwrap();
        fs::write(&other, "whole").unwrap();
        let first = unfinished(folder.path()).unwrap();
        assert!(!left.exists() && other.exists());
        let _second = unfinished(folder.path()).unwrap();
        assert!(first.path().exists());
    }

    #[test]
    fn what_a_killed_look_has_left_goes_and_what_others_look_at_stays() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(format!("{CHECKED}x"));
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
