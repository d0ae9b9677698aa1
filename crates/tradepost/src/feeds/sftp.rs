//! A feed from a server of SFTP, fetched by the `sftp` of OpenSSH, which knows its protocol better than we
//! would. It is told everything and asks nobody: no shell, no settings of a user, no agent with keys, and
//! a host key that is not known is the end.

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
use tradepost_server::background::piece;
use tradepost_wire::format;
use tradepost_wire::json::{Value, json};

use super::pull::PullAnswer;
use crate::config::feeds::Sftp;

/// What the fetched file is called in a folder of its own, and the key of its mark.
const FETCHED: &str = "feed";
const SUM: &str = "sha256";

/// How often it is looked at whether the file has become too large.
const LOOK: Duration = Duration::from_millis(100);

/// How much of it is read at once.
const PIECE: usize = 64 * 1024;

/// How much is read of what the program says is wrong, and how much of it is told.
const MOST_SAID: u64 = 16 * 1024;
const LONGEST_REASON: usize = 200;

/// Options of the connection that are the same for all servers: only the named key and the named host keys
/// count, nothing is asked, and a server that falls silent is left.
const OPTIONS: &str = "StrictHostKeyChecking=yes GlobalKnownHostsFile=none UpdateHostKeys=no \
                       IdentitiesOnly=yes IdentityAgent=none PreferredAuthentications=publickey \
                       ConnectTimeout=20 ServerAliveInterval=15 ServerAliveCountMax=4 LogLevel=ERROR";

/// How the program says what is wrong, and how we say it.
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

/// Fetches a file. One whose sum is that of `known` has not changed: what a server lists of a file says
/// the minute of its last change and its size, which two files can have in common.
///
/// # Errors
/// Why there is none.
pub async fn fetch(
    sftp: &Sftp,
    (timeout, most): (Duration, u64),
    known: Option<&Value>,
) -> Result<PullAnswer, String> {
    let folder = tempfile::tempdir().map_err(|error| unkept(&error))?;
    let command = format!("get \"{}\" {FETCHED}\n", sftp.path);
    let path = folder.path().join(FETCHED);
    let too_large = || format!("it has more than the {most} bytes of max_bytes");
    let fetched = tokio::time::timeout(timeout, perform(sftp, &command, folder.path()));
    tokio::select! {
        done = fetched => done.map_err(|_| "the server took too long".to_owned())??,
        // The program knows no limit, so that the file is watched while it grows.
        () = outgrown(&path, most) => return Err(too_large()),
    }
    let summed = piece("reading a fetched feed", move || sum(folder)).await;
    let (file, size, sum) =
        summed.ok_or_else(|| "it could not be read".to_owned())?.map_err(|error| unkept(&error))?;
    // It may have passed the limit and ended between two looks.
    if size > most {
        return Err(too_large());
    }
    if known.and_then(|known| known.get(SUM)?.as_str()) == Some(&sum) {
        return Ok(PullAnswer::Unchanged);
    }
    Ok(PullAnswer::Feed(file, json!({SUM: sum}).to_string()))
}

/// Logs in and leaves again.
///
/// # Errors
/// Why that was not possible.
pub async fn knock(sftp: &Sftp) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| unkept(&error))?;
    perform(sftp, "pwd\n", folder.path()).await
}

/// Has the program do something in a folder. It ends with whoever waits for it.
async fn perform(sftp: &Sftp, command: &str, folder: &Path) -> Result<(), String> {
    // The program is silent about files that it cannot read.
    for (key, path) in [("key_file", &sftp.key_file), ("known_hosts", &sftp.known_hosts)] {
        File::open(path).map_err(|error| format!("{key} cannot be read: {}", error.kind()))?;
    }
    let ended = run(sftp, command, folder).await;
    let (status, said) = ended.map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            "the program sftp is not there; install OpenSSH's client".to_owned()
        } else {
            format!("the program sftp cannot be run: {error}")
        }
    })?;
    if status.success() { Ok(()) } else { Err(why(&said)) }
}

async fn run(sftp: &Sftp, command: &str, folder: &Path) -> io::Result<(ExitStatus, String)> {
    let own = [
        format!("IdentityFile=\"{}\"", absolute(&sftp.key_file)?.display()),
        format!("UserKnownHostsFile=\"{}\"", absolute(&sftp.known_hosts)?.display()),
        format!("Port={}", sftp.port),
    ];
    let options = OPTIONS.split(' ').chain(own.iter().map(String::as_str));
    let mut child = Command::new("sftp")
        .args(["-b", "-", "-F", "none"])
        .args(options.flat_map(|option| ["-o", option]))
        .arg("--")
        .arg(format!("{}@{}", sftp.user, sftp.host))
        .current_dir(folder)
        // What is said on errors is known in English alone (`REASONS`).
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        // A group of its own, by which the `ssh` that it runs can be ended with it (`Group`).
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let mut group = Group(child.id());
    if let Some(mut input) = child.stdin.take() {
        // What has ended before it was told anything says why.
        let _ = input.write_all(command.as_bytes()).await;
    }
    let mut said = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        stderr.take(MOST_SAID).read_to_end(&mut said).await?;
    }
    let status = child.wait().await?;
    // The number may soon be another's.
    group.0 = None;
    Ok((status, String::from_utf8_lossy(&said).into_owned()))
}

/// The program with the `ssh` that it runs, which would outlive it: it waits for the server.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(pid) = pid {
            // Those that have ended already are none.
            let _ = rustix::process::kill_process_group(pid, Signal::TERM);
        }
    }
}

/// Resolves when a file is larger than it may be.
async fn outgrown(path: &Path, most: u64) {
    while std::fs::metadata(path).map_or(0, |about| about.len()) <= most {
        tokio::time::sleep(LOOK).await;
    }
}

/// The file that was fetched, its size and its sum. Its folder goes, and what is in it with whoever holds it.
fn sum(folder: TempDir) -> io::Result<(File, u64, String)> {
    let path = folder.path().join(FETCHED);
    let (mut hasher, mut size) = (Sha256::new(), 0);
    let mut reader = BufReader::with_capacity(PIECE, File::open(&path)?);
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

/// What went wrong in our words, or in the last ones of the program.
fn why(said: &str) -> String {
    let known = REASONS.iter().find(|(theirs, _)| said.contains(theirs));
    if let Some((_, ours)) = known {
        return (*ours).to_owned();
    }
    let last = said.lines().rev().map(str::trim).find(|line| !line.is_empty());
    let last: String = last.unwrap_or("it says nothing").chars().take(LONGEST_REASON).collect();
    format!("sftp could not fetch it: {}", last.replace(char::is_control, " "))
}
