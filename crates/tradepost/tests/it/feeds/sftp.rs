//! A server of SFTP that is asked: OpenSSH's own, on a port and with keys of this test.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jiff::SignedDuration;
use tempfile::TempDir;
use tradepost_document::json::Value;
use tradepost_runtime::config::feeds::{FeedLocation, Pull, Sftp};
use tradepost_runtime::feeds::pull::{PullAnswer, fetch};
use tradepost_store::FeedState;

use super::{feed, offered, tradepost};
use crate::beside::without;
use crate::process::{Process, pause};
use crate::support::at;

const SSHD: &str = "/usr/sbin/sshd";

/// What Debian's server answers with. What stands behind it lets eight answers through, of which the first
/// tell of the file.
const SUBSYSTEM: &str = "/usr/lib/openssh/sftp-server";

struct Server {
    folder: TempDir,
    sshd: Child,
    port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

impl Server {
    /// One that lets `user` in. Where there is none on this machine, the test has said that it does
    /// without.
    fn start(subsystem: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for key in ["host", "user", "stranger"] {
            let keygen = ["-q", "-t", "ed25519", "-N", "", "-f"];
            if Command::new("ssh-keygen").args(keygen).arg(path(key)).status().is_err() {
                without("ssh (Debian: openssh-client)");
                return None;
            }
        }
        fs::copy(path("user.pub"), path("authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = path("host");
        let authorized = path("authorized");
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nStrictModes no\n\
             Subsystem sftp {subsystem}\n",
            host.display(),
            authorized.display(),
        );
        fs::write(path("sshd_config"), config).unwrap();
        let sshd = |arguments: &[&str]| {
            let mut sshd = Command::new(SSHD);
            sshd.args(arguments).arg("-f").arg(path("sshd_config")).stderr(Stdio::null());
            sshd
        };
        // Root's sshd wants the folder /run/sshd, which its service makes.
        if !sshd(&["-t"]).status().is_ok_and(|status| status.success()) {
            without("sshd (Debian: openssh-server)");
            return None;
        }
        let sshd = sshd(&["-D", "-e"]).spawn().unwrap();
        let server = Self { folder, sshd, port };
        server.know("known", "host.pub");
        server.know("deceived", "stranger.pub");
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            pause(Duration::from_millis(20));
        }
        Some(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file of host keys.
    fn know(&self, name: &str, key: &str) {
        let key = fs::read_to_string(self.path(key)).unwrap();
        fs::write(self.path(name), format!("[127.0.0.1]:{} {key}", self.port)).unwrap();
    }

    fn place(&self) -> Sftp {
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        Sftp {
            user: String::from_utf8(user).unwrap().trim().to_owned(),
            host: "127.0.0.1".to_owned(),
            port: self.port,
            path: self.path("a feed.csv").display().to_string(),
            key_file: self.path("user"),
            known_hosts: self.path("known"),
        }
    }
}

fn ask(
    place: Sftp,
    state: &FeedState,
    timeout: Duration,
    max_bytes: u64,
) -> Result<Option<(String, String)>, String> {
    let every = SignedDuration::from_mins(15);
    let pull = Pull { place: FeedLocation::Sftp(place), every, timeout, max_bytes };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let answer = runtime.block_on(fetch(&pull, state, at("2026-04-30T12:00:00Z")))?;
    Ok(match answer {
        PullAnswer::Unchanged => None,
        PullAnswer::Feed(mut file, mark) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            Some((text, mark))
        }
    })
}

const AMPLE_TIME: Duration = Duration::from_secs(60);
const AMPLE_BYTES: u64 = 1_000_000;

#[test]
fn a_fetched_file_is_new_when_its_content_is() {
    let Some(server) = Server::start("internal-sftp") else { return };
    fs::write(server.path("a feed.csv"), "Stock\nA1\n").unwrap();
    let (text, mark) =
        ask(server.place(), &FeedState::default(), AMPLE_TIME, AMPLE_BYTES).unwrap().unwrap();
    assert_eq!(text, "Stock\nA1\n");
    let state = |taken: &str| FeedState {
        mark: Some(mark.clone()),
        taken_at: Some(at(taken)),
        ..FeedState::default()
    };
    let fresh = state("2026-04-30T11:00:00Z");
    assert_eq!(ask(server.place(), &fresh, AMPLE_TIME, AMPLE_BYTES).unwrap(), None);
    assert!(
        ask(server.place(), &state("2026-04-29T23:59:00Z"), AMPLE_TIME, AMPLE_BYTES)
            .unwrap()
            .is_some()
    );
    // As large as before and of the same minute.
    fs::write(server.path("a feed.csv"), "Stock\nA2\n").unwrap();
    assert_eq!(
        ask(server.place(), &fresh, AMPLE_TIME, AMPLE_BYTES).unwrap().unwrap().0,
        "Stock\nA2\n"
    );
}

#[test]
fn what_keeps_a_file_from_being_fetched_is_told() {
    let Some(server) = Server::start("internal-sftp") else { return };
    fs::write(server.path("a feed.csv"), "x".repeat(1_001)).unwrap();
    fs::copy(server.path("user"), server.path("open")).unwrap();
    let readable: std::fs::Permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(server.path("open"), readable).unwrap();
    let place = || server.place();
    let nowhere = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let folder = server.folder.path().display().to_string();
    for (place, expected) in [
        (Sftp { known_hosts: server.path("deceived"), ..place() }, "host key"),
        (Sftp { known_hosts: server.path("none"), ..place() }, "known_hosts cannot be read"),
        (Sftp { key_file: server.path("stranger"), ..place() }, "does not take key_file"),
        (Sftp { key_file: server.path("none"), ..place() }, "key_file cannot be read"),
        (Sftp { key_file: server.path("open"), ..place() }, "chmod 600"),
        (Sftp { path: format!("{folder}/none.csv"), ..place() }, "the file is not there"),
        (Sftp { path: folder.clone(), ..place() }, "not that of a file"),
        (Sftp { port: nowhere, ..place() }, "nothing listens"),
        (place(), "more than the 1000 bytes"),
    ] {
        let why = ask(place.clone(), &FeedState::default(), AMPLE_TIME, 1_000).unwrap_err();
        assert!(why.contains(expected), "{why}: {place:?}");
    }
}

#[test]
fn a_connection_ended_early_or_silent_is_no_feed() {
    if Path::new(SUBSYSTEM).exists()
        && let Some(server) =
            Server::start(&format!("{SUBSYSTEM} | dd bs=65536 count=8 status=none"))
    {
        fs::write(server.path("a feed.csv"), "x".repeat(4_000_000)).unwrap();
        let why = ask(server.place(), &FeedState::default(), AMPLE_TIME, 10_000_000).unwrap_err();
        assert!(why.contains("could not fetch it: "), "{why}");
    }
    let Some(server) = Server::start("internal-sftp") else { return };
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Sftp { port: silent.local_addr().unwrap().port(), ..server.place() };
    let hasty = Duration::from_millis(500);
    let why = ask(place, &FeedState::default(), hasty, 1_000).unwrap_err();
    assert_eq!(why, "the server took too long");
}

#[test]
fn a_fetched_feed_is_taken_and_doctor_tries_the_login() {
    let Some(sftp) = Server::start("internal-sftp") else { return };
    fs::write(sftp.path("a feed.csv"), feed(3)).unwrap();
    let Sftp { user, path, key_file, known_hosts, .. } = sftp.place();
    let path = path.replace(' ', "%20");
    let config = format!(
        r#"
        [server]
        listen = "127.0.0.1:0"
        operator_listen = "127.0.0.1:0"
        [[dealers]]
        id = "bare"
        name = "Bare Motors"
        rate_limit = {{ requests = 0 }}
        [[dealers.feeds]]
        name = "provider"
        from = "pull"
        url = "sftp://{user}@127.0.0.1:{}{path}"
        key_file = "{}"
        known_hosts = "{}"
        every = "10s"
        [[dealers.rooftops]]
        name = "Bare Motors Downtown"
        "#,
        sftp.port,
        key_file.display(),
        known_hosts.display(),
    );
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = Process::configured(folder, &config);
    server.until("three are on offer", || offered(&server).len() == 3);
    let (_, shown, _) = tradepost(folder, &["feeds", "show", "provider"]);
    assert_eq!(
        (&shown["run"]["outcome"], &shown["run"]["source"]),
        (&"taken".into(), &"pull".into())
    );

    let doctor = || {
        let (_, document, stderr) = tradepost(folder, &["doctor", "--config", "tradepost.toml"]);
        let findings = document["findings"].as_array().unwrap_or_else(|| panic!("{stderr}"));
        let about = |finding: &&Value| finding["subject"] == "bare/provider (its address)";
        findings.iter().find(about).unwrap()["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(doctor(), "its host key is known, and the login succeeded");
    fs::remove_file(sftp.path("authorized")).unwrap();
    assert_eq!(doctor(), "the server does not take key_file for this user");
}
