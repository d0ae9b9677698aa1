//! `tradepost restore`: puts a verified backup into a data folder.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tradepost_document::json::json;
use tradepost_runtime::backup::sealed::BackupSecret;
use tradepost_runtime::backup::{self, Manifest, Unusable};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::copies::{self, NotPut};
use tradepost_store::privacy::OperatorKeys;

use super::backup::{Encryption, UNCHECKED, folder_of, held, refuse_database};
use super::dealers::ConfigSource;
use super::output::{CommandFailure, unreadable};
use super::serve::lock::{lock, lock_copies};
use super::store_location::StoreOptions;
use super::{Context, Outcome};

/// Folder beside the database for the data that was there before.
const PREVIOUS_DATA_FOLDER: &str = "before-restore";

/// Arguments of `tradepost restore`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Backup file.
    #[arg(value_name = "FILE")]
    from: PathBuf,
    #[command(flatten)]
    place: StoreOptions,
    #[command(flatten)]
    source: ConfigSource,
    #[command(flatten)]
    encryption: Encryption,
    /// Only check that the backup can be used, and change nothing.
    #[arg(long, conflicts_with = "force")]
    check: bool,
    /// Replace the data in the data folder. The replaced data is kept in a subfolder.
    #[arg(long)]
    force: bool,
}

/// Runs the command.
///
/// # Errors
/// Fails when the backup cannot be used, the folder has data, or a server uses it.
pub fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let Arguments { from, place, .. } = arguments;
    let config = arguments.source.load_if_there(place, context)?;
    refuse_database(place, config.as_ref(), context)?;
    let secret = arguments.encryption.secret()?;
    let keys = place.keys(config.as_ref(), context)?;
    let hint = "name a file that `tradepost backup` has written";
    let file = File::open(from).map_err(|error| unreadable(from)(error).hint(hint))?;
    if arguments.check {
        // The copy may be large and have personal data: it goes beside the backup if possible, and
        // not into the shared temporary folder.
        let (scratch, _lock) = backup::beside(folder_of(from))
            .or_else(|_| backup::beside(&place.data))
            .or_else(|_| backup::beside(&std::env::temp_dir()))
            .map_err(CommandFailure::fault)?;
        let unpacked = unpack(file, from, &secret, &keys, &scratch.path().join("checked.sqlite"))?;
        print_result(&unpacked, None, None, context);
        return Ok(());
    }
    let _server = lock(place)?;
    let _copies = lock_copies(place)?;
    let data = &place.data;
    // Under the locks, so that no other process starts to use the folder meanwhile.
    if copies::is_begun(data) && !arguments.force {
        return Err(CommandFailure::usage(format!("{} contains data already", data.display())).hint(
            "name an empty folder with --data; --force replaces the data and keeps it in a subfolder",
        ));
    }
    let scratch = backup::scratch(data)
        .map_err(|error| place.unusable(&InternalError::new("restoring", error)))?;
    // On the target's disk, so that one rename puts it in place.
    let copy = scratch.path().join("restored.sqlite");
    let unpacked = unpack(file, from, &secret, &keys, &copy)?;
    let moment = backup::name(Clock::system().now()).with_extension("");
    let moment = moment.to_string_lossy().replace("tradepost-", "");
    let before = data.join(format!("{PREVIOUS_DATA_FOLDER}-{moment}"));
    let before = copies::put(data, &copy, &before).map_err(|not| match not {
        NotPut::InUse => CommandFailure::new(1, format!("another program uses {}", data.display()))
            .hint("stop it and try again; nothing has changed"),
        NotPut::Broken(fault) => place.unusable(&fault),
    })?;
    print_result(&unpacked, Some(data), before.as_deref(), context);
    Ok(())
}

/// Contents of a backup.
struct Unpacked {
    manifest: Manifest,
    /// True when the chains of consents were compared.
    has_consents: bool,
}

/// Unpacks a backup to a file and verifies it.
fn unpack(
    from: File,
    name: &Path,
    secret: &BackupSecret,
    keys: &OperatorKeys,
    to: &Path,
) -> Result<Unpacked, CommandFailure> {
    let file = File::options().write(true).create_new(true).mode(0o600).open(to);
    let file = file.map_err(CommandFailure::fault)?;
    let mut writer = BufWriter::new(file);
    let unpacked = backup::read(BufReader::new(from), secret, &mut writer).and_then(|manifest| {
        writer.flush().map_err(InternalError::on("writing the database"))?;
        let has_consents = backup::compare(&manifest, to, keys)?;
        Ok(Unpacked { manifest, has_consents })
    });
    unpacked.map_err(|why| {
        // It may contain unverified data.
        let _ = fs::remove_file(to);
        let name = name.display();
        match why {
            Unusable::File(why) => CommandFailure::usage(format!("cannot use {name}: {why}"))
                .hint("nothing has changed; try another backup"),
            Unusable::Differs(lines) => {
                let failure =
                    CommandFailure::usage(format!("{name} does not match its own description"))
                        .hint("nothing has changed; try another backup");
                failure.data(json!({"differences": lines})).lines(lines)
            }
            Unusable::Machine(fault) => CommandFailure::fault(fault).hint("nothing has changed"),
        }
    })
}

/// Prints the result of a restoration or of a check, and warnings about the backup.
fn print_result(
    unpacked: &Unpacked,
    data: Option<&Path>,
    before: Option<&Path>,
    context: &Context,
) {
    let Unpacked { manifest, has_consents } = unpacked;
    let broken = backup::broken_chains(manifest);
    if context.output.is_json() {
        context.output.document(&json!({
            "restored": data,
            "before": before,
            "checked": true,
            "consents_checked": has_consents,
            "broken_chains": broken,
            "backup": manifest.document(),
        }));
    } else {
        context.output.line(match data {
            Some(data) => format!("restored {}", data.display()),
            None => "the backup can be used".to_owned(),
        });
        context.output.line(held(manifest));
        if let Some(before) = before {
            context.output.talk(format!(
                "the previous data is in {}; delete it when it is no longer needed, because it \
                 contains personal data",
                before.display()
            ));
        }
    }
    if !has_consents {
        context.output.talk(UNCHECKED);
    }
    for whose in broken {
        context.output.talk(format!(
            "warning: the hashes of the {whose} did not match when the backup was made"
        ));
    }
}
