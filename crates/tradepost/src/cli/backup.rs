//! `tradepost backup`: writes the data of a folder to one file, and reads it again to verify it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use tradepost_document::json::json;
use tradepost_runtime::backup::sealed::BackupSecret;
use tradepost_runtime::backup::{self, Manifest, Unusable};
use tradepost_runtime::config::Config;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::copies;

use super::dealers::ConfigSource;
use super::output::CommandFailure;
use super::serve::lock::lock_copies;
use super::store_location::StoreOptions;
use super::{Context, Outcome};

/// Warning when the chains of consents were not checked.
pub(super) const UNCHECKED: &str = "warning: the consents were not checked because the key of personal data is missing; name its file with \
     --key-file or privacy.key_file";

/// Arguments of `tradepost backup`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// File to write, or a folder, in which the file is named after the current time.
    #[arg(value_name = "FILE|FOLDER")]
    to: PathBuf,
    #[command(flatten)]
    place: StoreOptions,
    #[command(flatten)]
    source: ConfigSource,
    #[command(flatten)]
    encryption: Encryption,
    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

/// Encryption of a backup.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
pub struct Encryption {
    /// Encrypt or decrypt the backup with the passphrase in the first line of this file: at least
    /// 12 characters.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Encrypt or decrypt the backup with the key in this file: 64 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    backup_key_file: Option<PathBuf>,
}

impl Encryption {
    /// Reads the secret.
    ///
    /// # Errors
    /// Fails when the file has no valid secret.
    pub fn secret(&self) -> Result<BackupSecret, CommandFailure> {
        let (option, path, secret) = match (&self.passphrase_file, &self.backup_key_file) {
            (Some(path), _) => ("--passphrase-file", path, BackupSecret::passphrase(path)),
            (None, Some(path)) => ("--backup-key-file", path, BackupSecret::key(path)),
            (None, None) => return Ok(BackupSecret::None),
        };
        secret.map_err(|why| CommandFailure::usage(format!("{option} {}: {why}", path.display())))
    }
}

/// Refuses a PostgreSQL database, which has backup tools of its own.
pub(super) fn refuse_database(
    place: &StoreOptions,
    config: Option<&Config>,
    context: &Context,
) -> Result<(), CommandFailure> {
    let Some(url) = place.database(config, context)? else { return Ok(()) };
    Err(CommandFailure::usage(format!(
        "{url} is a PostgreSQL database, which has its own backup tools"
    ))
    .hint("use pg_dump --format=custom and pg_restore, or the snapshots of the database's operator")
    .data(json!({"code": "store_is_database"})))
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be read, or the backup cannot be written or read again.
pub fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let place = &arguments.place;
    let config = arguments.source.load_if_there(place, context)?;
    refuse_database(place, config.as_ref(), context)?;
    let secret = arguments.encryption.secret()?;
    let keys = place.keys(config.as_ref(), context)?;
    place.check_folder()?;
    let now = Clock::system().now();
    let to = match &arguments.to {
        folder if folder.is_dir() => folder.join(backup::name(now)),
        file => file.clone(),
    };
    if !arguments.force && to.exists() {
        return Err(exists(&to));
    }
    // Only against other copies: the server may keep running.
    let _lock = lock_copies(place)?;
    let scratch = backup::scratch(&place.data)
        .map_err(|error| place.unusable(&InternalError::new("making a copy", error)))?;
    let folder = folder_of(&to);
    let unwritable = |error: io::Error| {
        CommandFailure::new(1, format!("cannot write {}: {error}", to.display()))
            .hint("name a file in an existing folder with enough free space")
    };
    // An unfinished file is hidden, and only its owner can read it.
    let mut file = backup::unfinished(folder).map_err(unwritable)?;
    let written = {
        let mut writer = BufWriter::new(file.as_file_mut());
        let written = backup::write(&place.data, scratch.path(), &secret, &keys, now, &mut writer)
            .map_err(|fault| CommandFailure::fault(fault).hint("the backup was not written"))?;
        writer.flush().map_err(unwritable)?;
        written
    };
    // Before the rename: a crash leaves a complete backup, or none.
    file.as_file().sync_all().map_err(unwritable)?;
    check(file.path(), &secret, &written)?;
    let size = file.as_file().metadata().map_err(unwritable)?.len();
    // The rename checks again: another file may have been created there while this one was written.
    let kept = if arguments.force { file.persist(&to) } else { file.persist_noclobber(&to) };
    kept.map_err(|error| {
        let is_there = error.error.kind() == io::ErrorKind::AlreadyExists;
        if is_there { exists(&to) } else { unwritable(error.error) }
    })?;
    // The name is on the disk only when its folder is.
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(unwritable)?;
    print_result(&to, size, &secret, &written, context);
    let differences = copies::schema_differences(&place.data).map_err(CommandFailure::fault)?;
    if !differences.is_empty() {
        context.output.talk(format!(
            "warning: the schema of the store differs from the schema of this version, and \
             `tradepost restore` refuses this backup until they match: {}",
            differences.join("; ")
        ));
    }
    Ok(())
}

/// Returns the folder of a file.
pub(super) fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn exists(to: &Path) -> CommandFailure {
    CommandFailure::usage(format!("{} exists already", to.display()))
        .hint("name another file or a folder, or replace it with --force")
}

/// Reads the backup back, because a disk may accept data and lose it.
fn check(path: &Path, secret: &BackupSecret, written: &Manifest) -> Result<(), CommandFailure> {
    let file = File::open(path).map_err(CommandFailure::fault)?;
    match backup::read(BufReader::new(file), secret, &mut io::sink()) {
        Ok(read) if read == *written => Ok(()),
        Ok(_) => {
            Err(CommandFailure::new(1, "the backup differs from the data written; it was deleted"))
        }
        Err(Unusable::Machine(fault)) => Err(CommandFailure::fault(fault)),
        Err(Unusable::File(why)) => Err(CommandFailure::new(1, format!("{why}; it was deleted"))),
        Err(Unusable::Differs(lines)) => {
            Err(CommandFailure::new(1, "the backup differs from the data written").lines(lines))
        }
    }
}

/// Prints path, size and contents of the backup that was written, and warnings about it.
fn print_result(
    to: &Path,
    size: u64,
    secret: &BackupSecret,
    written: &Manifest,
    context: &Context,
) {
    let is_encrypted = *secret != BackupSecret::None;
    let broken = backup::broken_chains(written);
    let document = json!({
        "path": to, "bytes": size, "encrypted": is_encrypted, "backup": written.document(),
    });
    let how = if is_encrypted { "encrypted" } else { "not encrypted" };
    let summary = format!("wrote {} ({size} bytes, {how})\n{}", to.display(), held(written));
    context.output.answer(&document, summary);
    for whose in broken {
        context.output.talk(format!(
            "warning: the hashes of the {whose} do not match; `tradepost leads verify` and \
             `tradepost console audit --verify` show where"
        ));
    }
    if !written.has_consents() {
        context.output.talk(UNCHECKED);
    }
    if !is_encrypted {
        context.output.talk(
            "hint: the backup contains personal data that everyone with the file can read; encrypt \
             it with --passphrase-file or --backup-key-file",
        );
    }
}

/// Describes the contents for people.
pub(super) fn held(manifest: &Manifest) -> String {
    format!(
        "of {}: {} leads, {} records of consent, {} audit entries, {} listings",
        manifest.made_at(),
        manifest.rows("leads"),
        manifest.rows("consent_log"),
        manifest.rows("audit_log"),
        manifest.rows("listings"),
    )
}
