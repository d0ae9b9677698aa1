//! Download of a feed by SFTP with OpenSSH's `sftp` program. All options are given to it, and it asks no
//! questions: it uses no shell, no user settings and no key agent, and an unknown host key ends the
//! connection.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, absolute};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tradepost_document::format;
use tradepost_document::json::{Value, json};
use tradepost_server::background::piece;

use super::pull::PullAnswer;
use crate::config::feeds::Sftp;

/// Name of the downloaded file in its temporary folder, and key of its mark.
const FETCHED: &str = "feed";
const SUM: &str = "sha256";

/// Interval at which the size of the file is checked.
const SIZE_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Number of bytes that are read at once.
const READ_SIZE: usize = 64 * 1024;

/// Number of bytes of error output that are read, and number of characters that are reported.
const MAX_ERROR_BYTES: u64 = 16 * 1024;
const MAX_REASON_LENGTH: usize = 200;

/// Options of the connection, the same for all servers: only the configured key and host keys count, no
/// question is asked, and a server that stops answering is left.
const OPTIONS: &[&str] = &[
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=none",
    "UpdateHostKeys=no",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "PreferredAuthentications=publickey",
    "ConnectTimeout=20",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "LogLevel=ERROR",
];

/// Parts of the program's error messages, and our messages for them.
const REASONS: &[(&str, &str)] = &[
    (
        "Host key verification failed",
        "the server's host key is not the one in known_hosts; compare it with what the server's \
         operator says before it is added",
    ),
    ("bad permissions", "others may read key_file; chmod 600 it"),
    ("stat remote: No such file", "the file is not there"),
    ("not found.", "the file is not there"),
    ("stat remote: Permission denied", "the server does not let this user read the file"),
    ("open \"", "the server does not let this user read the file"),
    ("not a regular file", "the path is not that of a file"),
    ("Permission denied (", "the server does not take key_file for this user"),
    ("Could not resolve hostname", "the server's name is not known"),
    ("Connection refused", "nothing listens at the server's port"),
    ("timed out", "the server does not answer"),
    (
        "No user exists for uid",
        "ssh needs the user of this process to have an entry in /etc/passwd",
    ),
];

/// Downloads a file. A file with the checksum in `known` has not changed. The checksum decides, because a
/// server lists the minute of the last change and the size, which two files can have in common.
///
/// # Errors
/// The reason why there is no file.
pub async fn fetch(
    sftp: &Sftp,
    timeout: Duration,
    most: u64,
    known: Option<&Value>,
) -> Result<PullAnswer, String> {
    let folder = tempfile::tempdir().map_err(|error| unkept(&error))?;
    let command = format!("get \"{}\" {FETCHED}\n", sftp.path);
    let path = folder.path().join(FETCHED);
    let too_large = || format!("it has more than the {most} bytes of max_bytes");
    let fetched = tokio::time::timeout(timeout, perform(sftp, &command, folder.path()));
    tokio::select! {
        done = fetched => done.map_err(|_| "the server took too long".to_owned())??,
        // The program has no size limit, so the file is checked while it grows.
        () = outgrown(&path, most) => return Err(too_large()),
    }
    let summed = piece("reading a fetched feed", move || sum(folder)).await;
    let (file, size, sum) =
        summed.ok_or_else(|| "it could not be read".to_owned())?.map_err(|error| unkept(&error))?;
    // The file may have passed the limit and ended between two checks.
    if size > most {
        return Err(too_large());
    }
    if known.and_then(|known| known.get(SUM)?.as_str()) == Some(&sum) {
        return Ok(PullAnswer::Unchanged);
    }
    Ok(PullAnswer::Feed(file, json!({SUM: sum}).to_string()))
}

/// Logs in and disconnects.
///
/// # Errors
/// The reason why that failed.
pub async fn test_login(sftp: &Sftp) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| unkept(&error))?;
    perform(sftp, "pwd\n", folder.path()).await
}

/// Runs a command of the program in a folder. The program ends when the future is dropped.
async fn perform(sftp: &Sftp, command: &str, folder: &Path) -> Result<(), String> {
    // The program reports nothing about files that it cannot read.
    for (key, path) in [("key_file", &sftp.key_file), ("known_hosts", &sftp.known_hosts)] {
        File::open(path).map_err(|error| format!("{key} cannot be read: {}", error.kind()))?;
    }
    let ended = run(sftp, command, folder).await;
    let (status, error_output) = ended.map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            "the program sftp is not there; install OpenSSH's client".to_owned()
        } else {
            format!("the program sftp cannot be run: {error}")
        }
    })?;
    if status.success() { Ok(()) } else { Err(why(&error_output)) }
}

async fn run(sftp: &Sftp, command: &str, folder: &Path) -> io::Result<(ExitStatus, String)> {
    let own = [
        format!("IdentityFile=\"{}\"", absolute(&sftp.key_file)?.display()),
        format!("UserKnownHostsFile=\"{}\"", absolute(&sftp.known_hosts)?.display()),
        format!("Port={}", sftp.port),
    ];
    let options = OPTIONS.iter().copied().chain(own.iter().map(String::as_str));
    let mut child = Command::new("sftp")
        .args(["-b", "-", "-F", "none"])
        .args(options.flat_map(|option| ["-o", option]))
        .arg("--")
        .arg(format!("{}@{}", sftp.user, sftp.host))
        .current_dir(folder)
        // The error messages in `REASONS` are English.
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // A process group, so that the `ssh` process that the program starts can be ended with it
        // (`Group`).
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let mut group = Group(child.id());
    if let Some(mut input) = child.stdin.take() {
        // A program that ended before it read the command reports the reason itself.
        let _ = input.write_all(command.as_bytes()).await;
    }
    let mut error_output = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        stderr.take(MAX_ERROR_BYTES).read_to_end(&mut error_output).await?;
    }
    let status = child.wait().await?;
    // The process id may be reused.
    group.0 = None;
    Ok((status, String::from_utf8_lossy(&error_output).into_owned()))
}

/// Process group of the program and of its `ssh` process, which would otherwise outlive it while it waits
/// for the server.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(pid) = pid {
            // An error means that the processes have ended already.
            let _ = rustix::process::kill_process_group(pid, Signal::TERM);
        }
    }
}

/// Resolves when a file exceeds its maximum size.
async fn outgrown(path: &Path, most: u64) {
    while std::fs::metadata(path).map_or(0, |about| about.len()) <= most {
        tokio::time::sleep(SIZE_CHECK_INTERVAL).await;
    }
}

/// Returns the downloaded file with its size and checksum. Its folder is deleted; the content remains as
/// long as the file is open.
fn sum(folder: TempDir) -> io::Result<(File, u64, String)> {
    let path = folder.path().join(FETCHED);
    let mut hasher = Sha256::new();
    let mut size = 0;
    let mut reader = BufReader::with_capacity(READ_SIZE, File::open(&path)?);
    loop {
        let piece = reader.fill_buf()?;
        let count = piece.len();
        if count == 0 {
            break;
        }
        hasher.update(piece);
        size += count as u64;
        reader.consume(count);
    }
    Ok((File::open(path)?, size, format::hex(&hasher.finalize())))
}

fn unkept(error: &io::Error) -> String {
    format!("it cannot be kept: {error}")
}

/// Returns our message for the program's error output, or its last line.
fn why(error_output: &str) -> String {
    let known = REASONS.iter().find(|(pattern, _)| error_output.contains(pattern));
    if let Some((_, ours)) = known {
        return (*ours).to_owned();
    }
    let last = error_output.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last: String = last.unwrap_or("it says nothing").chars().take(MAX_REASON_LENGTH).collect();
    format!("sftp could not fetch it: {}", last.replace(char::is_control, " "))
}
