//! The binary as a process: how it starts and stops, what is left when it is killed, and what its
//! log and its data folder give away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use tradepost_document::json::{Value, json};
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use crate::agent;
use crate::support::{client, envelope, h2, lead, with};

/// A dealer who sells nothing, limits nobody and logs everything.
pub const DEALER: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    log_filter = "trace"

    [[dealers]]
    id = "bare"
    name = "Bare Motors"
    rate_limit = { requests = 0 }

    [[dealers.rooftops]]
    name = "Bare Motors Downtown"
"#;

/// A running `tradepost serve`.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
    log: PathBuf,
}

impl Process {
    /// Starts it and waits for the line that says where it listens.
    pub fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
        command.args(["serve", "--data"]).arg(data(folder)).args(arguments);
        let file = File::options().create(true).append(true).open(folder.join("log")).unwrap();
        Self::run(folder, command, file.into())
    }

    /// Starts a command that serves, and waits for the line that says where it listens.
    pub fn run(folder: &Path, mut command: Command, stderr: Stdio) -> Self {
        let log = folder.join("log");
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        // The harness of the tests, where it is the process, says something before.
        let line = lines.find(|line| line.contains("listening on ")).unwrap_or_default();
        let address = line.split_once("listening on ").and_then(|(_, origin)| {
            origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))
        });
        let address = address.and_then(|address| address.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let log = std::fs::read_to_string(log).unwrap_or_default();
            panic!("{line:?} instead of the address; {log}");
        };
        Self { child, address, log }
    }

    /// Starts the conformance agent instead, on a store in the folder.
    pub fn agent(folder: &Path, arguments: &[&str]) -> Self {
        let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
        Self::run(folder, agent::command(&data(folder), arguments), log.into())
    }

    /// Starts it for [`DEALER`].
    pub fn bare(folder: &Path) -> Self {
        Self::configured(folder, DEALER)
    }

    /// Starts it with a configuration.
    pub fn configured(folder: &Path, config: &str) -> Self {
        let path = folder.join("tradepost.toml");
        std::fs::write(&path, config).unwrap();
        Self::start(folder, &["--config", path.to_str().unwrap()])
    }

    /// The other end of its standard error, where that is a pipe.
    pub fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    pub fn signal(&self, name: &str) {
        // The shell's own `kill`: not every machine has it as a program.
        let pid = self.child.id().to_string();
        let script = ["-c", "kill -s \"$1\" \"$2\"", "sh", name, &pid];
        assert!(Command::new("sh").args(script).status().unwrap().success());
    }

    /// Kills it, which it does not notice before (SIGKILL).
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended by itself.
    pub fn end(mut self) -> ExitStatus {
        for _ in 0..1_000 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            pause(Duration::from_millis(20));
        }
        panic!("it did not end within 20 seconds");
    }

    pub fn call(&self, payload: &Value) -> Value {
        self.post("/a2a", &[], &envelope(payload).to_string())
    }

    pub fn post(&self, target: &str, headers: &[(&str, &str)], body: &str) -> Value {
        let json = [("Content-Type", "application/json")];
        let headers = [&json, headers].concat();
        client::request(self.address, "POST", target, &headers, body.as_bytes()).json()
    }

    /// So many KiB of memory, by the name that Linux has for it.
    pub fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
    }

    /// Where its operators ask; it was started with `operator_listen = "127.0.0.1:0"`.
    pub fn operators(&self) -> SocketAddr {
        const LINE: &str = "listening for operators";
        self.until("operators have a place", || self.log().contains(LINE));
        let log = self.log();
        let line = log.lines().find(|line| line.contains(LINE)).unwrap();
        let address = line.split("address=").nth(1).unwrap();
        address.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// What a line of its log says after these words, once it is there.
    pub fn said(&self, words: &str) -> String {
        let found = || {
            let log = self.log();
            let line = log.lines().find_map(|line| Some(line.split_once(words)?.1.to_owned()));
            line.filter(|_| log.ends_with('\n'))
        };
        self.until(words, || found().is_some());
        found().unwrap()
    }

    /// Waits until something is so.
    pub fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        for _ in 0..3_000 {
            if is_so() {
                return;
            }
            pause(Duration::from_millis(20));
        }
        panic!("not within a minute: {what}");
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

pub fn pause(duration: Duration) {
    let (_sender, receiver) = channel::<()>();
    let _ = receiver.recv_timeout(duration);
}

/// The usual lead, consented to just now.
pub fn fresh_lead(changes: &[(&str, Value)]) -> Value {
    let now = Clock::system().now().to_string();
    with(with(lead(), &[("/consent/granted_at", json!(now))]), changes)
}

#[test]
fn it_says_where_it_listens_and_ends_when_asked() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let demo = ["--demo", "--demo-size", "5", "--listen", "127.0.0.1:0"];
        let process = Process::start(folder.path(), &demo);
        assert_ne!(process.address.port(), 0);
        let path = "/.well-known/agent-card.json";
        let card = client::request(process.address, "GET", path, &[], b"").json();
        let endpoint = format!("http://{}/a2a", process.address);
        assert_eq!(card["supportedInterfaces"][0]["url"], json!(endpoint));
        let answer = process.call(&json!({"type": "dealer.information.request"}));
        let payload = &answer["result"]["message"]["parts"][0]["data"];
        assert_eq!(payload["data"]["name"], "Larkspur Motors");
        process.signal(signal);
        assert_eq!(process.end().code(), Some(0), "SIG{signal}");
    }
}

#[test]
fn signals_without_a_meaning_do_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    for signal in ["USR1", "USR2"] {
        process.signal(signal);
        process.until("the log says that it came", || {
            process.log().contains(&format!("signal=\"SIG{signal}\""))
        });
        let path = "/healthz";
        assert_eq!(client::request(process.address, "GET", path, &[], b"").status, 200);
    }
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}

#[test]
fn a_second_server_is_refused_until_the_first_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let demo = || {
        Command::new(env!("CARGO_BIN_EXE_tradepost"))
            .args(["serve", "--json", "--demo", "--listen", "127.0.0.1:0", "--data"])
            .arg(data(folder.path()))
            .stderr(Stdio::null())
            .output()
            .unwrap()
    };
    let refused = demo();
    assert_eq!(refused.status.code(), Some(1));
    let document: Value = tradepost_document::json::from_slice(&refused.stdout).unwrap();
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("another server uses the data folder"), "{message}");
    assert!(process.log().contains("started"));
    process.signal("KILL");
    process.end();
    let next = Process::bare(folder.path());
    next.signal("TERM");
    assert_eq!(next.end().code(), Some(0));
}

#[test]
fn a_request_that_has_begun_is_answered_after_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let address = process.address;
    let body = envelope(&fresh_lead(&[("/idempotency_key", json!("slow"))])).to_string();
    let (first, rest) = body.as_bytes().split_at(body.len() / 2);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!(
        "POST /a2a HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // Whoever says `100 Continue` has begun to work on the request.
    let mut go_on = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    stream.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(first).unwrap();

    process.signal("TERM");
    let refuses = || TcpStream::connect(address).is_err();
    let stopping = (0..500).any(|_| refuses() || (pause(Duration::from_millis(10)), false).1);
    assert!(stopping, "nobody new is let in");

    stream.write_all(rest).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""status":"received""#), "{answer}");
    assert_eq!(process.end().code(), Some(0));
    let leads = Store::open(&data(folder.path())).unwrap().leads(None).unwrap();
    assert_eq!(leads.len(), 1);
}

/// How often it is killed while leads are on their way.
const KILLS: usize = 50;

/// How many buyers submit leads at the same time.
const BUYERS: u64 = 4;

/// Result of a submission, as the buyer sees it.
enum SubmitOutcome {
    Acknowledged(String),
    /// It was sent, and then the connection broke.
    InDoubt,
    Unsent,
}

fn submit(address: SocketAddr, lead: &Value) -> SubmitOutcome {
    let body = envelope(lead).to_string();
    let request = format!(
        "POST /a2a HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let answer = match client::raw(address, request.as_bytes()) {
        Ok(response) => tradepost_document::json::from_slice::<Value>(&response.body),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return SubmitOutcome::Unsent,
        Err(_) => return SubmitOutcome::InDoubt,
    };
    let Ok(answer) = answer else {
        return SubmitOutcome::InDoubt;
    };
    let receipt = &answer["result"]["message"]["parts"][0]["data"]["data"];
    assert_eq!(receipt["status"], "received", "{answer}");
    SubmitOutcome::Acknowledged(receipt["lead_id"].as_str().unwrap().to_owned())
}

/// The leads of the test, by idempotency key.
#[derive(Default)]
struct ExpectedLeads {
    /// The ids that buyers were told.
    acknowledged: BTreeMap<String, String>,
    /// Sent, perhaps several times, and never answered.
    in_doubt: BTreeSet<String>,
}

impl ExpectedLeads {
    /// Writes down what became of a lead. A lead that was acknowledged keeps its id for ever.
    fn record(&mut self, key: String, outcome: SubmitOutcome) {
        match outcome {
            SubmitOutcome::Acknowledged(id) => {
                self.in_doubt.remove(&key);
                let known = self.acknowledged.entry(key).or_insert_with(|| id.clone());
                assert_eq!(*known, id, "the same lead, another id");
            }
            SubmitOutcome::InDoubt => {
                self.in_doubt.insert(key);
            }
            SubmitOutcome::Unsent => {}
        }
    }

    /// Compares it with what is stored: everything acknowledged, nothing twice, nothing else.
    fn compare_with_store(&self, folder: &Path) -> usize {
        let leads = Store::open(&data(folder)).unwrap().leads(None).unwrap();
        let mut stored = BTreeMap::new();
        for lead in &leads {
            let key = lead.submission.payload["idempotency_key"].as_str().unwrap();
            let twice = stored.insert(key, lead.lead_id.as_str());
            assert_eq!(twice, None, "{key} is stored twice");
            assert!(self.acknowledged.contains_key(key) || self.in_doubt.contains(key), "{key}");
        }
        for (key, id) in &self.acknowledged {
            assert_eq!(stored.get(key.as_str()), Some(&id.as_str()), "{key} was acknowledged");
        }
        leads.len()
    }
}

/// Submits leads until the server is gone: mostly new ones, sometimes one that is in doubt.
fn buy(
    address: SocketAddr,
    seed: u64,
    old: &[String],
    lead: &impl Fn(&str) -> Value,
) -> Vec<(String, SubmitOutcome)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut sent = Vec::new();
    for number in 0..200 {
        let key = match rng.choice(old) {
            Some(key) if rng.u8(0..3) == 0 => key.clone(),
            _ => format!("buyer-{seed}-{number}"),
        };
        let outcome = submit(address, &lead(&key));
        let over = !matches!(outcome, SubmitOutcome::Acknowledged(_));
        sent.push((key, outcome));
        if over {
            break;
        }
    }
    sent
}

#[test]
fn an_acknowledged_lead_is_stored_exactly_once_despite_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = fastrand::Rng::with_seed(0x1ead);
    let consented = fresh_lead(&[]);
    let lead = |key: &str| {
        let changes = [
            ("/idempotency_key", json!(key)),
            // Each lead is another customer's, so that none of them is a duplicate of another.
            ("/customer/email", json!(format!("{key}@example.com"))),
        ];
        with(consented.clone(), &changes)
    };
    let mut expected = ExpectedLeads::default();
    let mut kills = 0;
    // On a busy machine few requests are answered before the kill, so that it takes more rounds.
    for round in 0..4 * KILLS as u64 {
        let mut process = Process::bare(folder.path());
        let address = process.address;
        let old: Vec<_> = expected.in_doubt.iter().cloned().collect();
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let buyer = |n| {
                scope.spawn({
                    let old = &old;
                    let lead = &lead;
                    move || buy(address, round * BUYERS + n, old, lead)
                })
            };
            let buyers: Vec<_> = (0..BUYERS).map(buyer).collect();
            pause(Duration::from_micros(rng.u64(500..120_000)));
            process.kill();
            buyers.into_iter().flat_map(|buyer| buyer.join().unwrap()).collect()
        });
        kills += usize::from(
            outcomes.iter().any(|(_, outcome)| matches!(outcome, SubmitOutcome::InDoubt)),
        );
        for (key, outcome) in outcomes {
            expected.record(key, outcome);
        }
        if kills >= KILLS && expected.acknowledged.len() > KILLS {
            break;
        }
    }
    assert!(kills >= KILLS, "too few requests were on their way when it was killed");
    let before = expected.compare_with_store(folder.path());
    assert!(expected.acknowledged.len() > KILLS, "{} acknowledged", expected.acknowledged.len());
    println!(
        "{kills} kills: {} leads acknowledged, {} in doubt, {before} stored",
        expected.acknowledged.len(),
        expected.in_doubt.len()
    );

    // Every buyer asks once more: those who had an answer get the same, the others get theirs.
    let process = Process::bare(folder.path());
    let keys: Vec<_> = expected.acknowledged.keys().chain(&expected.in_doubt).cloned().collect();
    for key in keys {
        let outcome = submit(process.address, &lead(&key));
        expected.record(key, outcome);
    }
    assert_eq!(expected.in_doubt.len(), 0, "everybody was answered");
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
    assert_eq!(expected.compare_with_store(folder.path()), expected.acknowledged.len());
}

#[test]
fn neither_the_log_nor_the_folder_gives_away_who_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let secrets = [
        ("/customer/first_name", "Marguerite-Planted"),
        ("/customer/last_name", "Featherstonehaugh-Planted"),
        ("/customer/email", "planted.address@mail.example"),
        ("/customer/phone", "+14155550142"),
        ("/customer/address", "17 Planted Lane"),
        ("/consent/consent_text", "Planted words of consent."),
        ("/message", "Planted question about my divorce."),
        ("/idempotency_key", "planted-key"),
    ];
    let mut secretive = fresh_lead(&[]);
    for (pointer, secret) in secrets {
        let value = if pointer == "/customer/address" {
            json!({"address_line_1": secret})
        } else {
            json!(secret)
        };
        secretive = with(secretive, &[(pointer, value)]);
    }
    let first = process.call(&secretive);
    let receipt = first["result"]["message"]["parts"][0]["data"]["data"].clone();
    assert_eq!(receipt["status"], "received", "{first}");

    // Refusals of every kind, with the same values in wrong places.
    let swapped = with(
        secretive.clone(),
        &[
            ("/customer/email", json!("+14155550142")),
            ("/customer/phone", json!("planted.address@mail.example")),
        ],
    );
    let conflict = with(secretive.clone(), &[("/message", json!("Planted words of consent."))]);
    let bad_consent = with(
        secretive.clone(),
        &[("/consent/allowed_channels", json!(["Planted words of consent."]))],
    );
    let refused: Vec<_> = [&swapped, &conflict, &bad_consent]
        .map(|payload| process.call(payload))
        .iter()
        .map(|answer| answer["error"]["data"]["code"].clone())
        .collect();
    let codes = ["SCHEMA_VALIDATION_FAILED", "IDEMPOTENCY_CONFLICT", "INVALID_CONSENT"];
    assert_eq!(refused, codes);
    let broken = format!("{{\"params\": {secretive}");
    assert_eq!(process.post("/a2a", &[], &broken)["error"]["code"], -32700);
    let headers = [("User-Agent", "Featherstonehaugh-Planted"), ("X-Forwarded-For", "17 Planted")];
    let target = "/a2a?email=planted.address@mail.example";
    process.post(target, &headers, &envelope(&swapped).to_string());
    let headers =
        [("content-type", "application/json"), ("user-agent", "featherstonehaugh-planted")];
    let connection = h2::Connection::open(process.address);
    connection.request("POST", target, &headers, envelope(&swapped).to_string());

    // The store breaks under the server, and is mended.
    let database =
        rusqlite::Connection::open(data(folder.path()).join("tradepost.sqlite")).unwrap();
    database.execute_batch("ALTER TABLE leads RENAME TO mislaid").unwrap();
    let other = with(secretive.clone(), &[("/idempotency_key", json!("planted-key-2"))]);
    let answer = process.call(&other);
    let error = &answer["error"]["data"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("INTERNAL_ERROR"), &json!(true)));
    assert_eq!(error["details"]["retry_after_seconds"], 5, "{answer}");
    let text = answer.to_string();
    assert!(!text.contains("leads") && !text.contains("mislaid"), "{text}");
    database.execute_batch("ALTER TABLE mislaid RENAME TO leads").unwrap();
    let again = process.call(&other);
    let status = &again["result"]["message"]["parts"][0]["data"]["data"]["status"];
    assert_eq!(status, "received", "nothing of the failed attempt was kept: {again}");

    let log = process.log();
    for (pointer, secret) in secrets {
        assert!(!log.contains(secret), "{pointer} is in the log:\n{log}");
    }
    assert!(!log.to_lowercase().contains("planted"), "{log}");
    // The log has the cause that the buyer was not told, under the id that it was told.
    let error_id = error["error_id"].as_str().unwrap();
    let line = log.lines().find(|line| line.contains(error_id) && line.contains("no such table"));
    assert!(line.is_some(), "{error_id} is not in the log:\n{log}");
    for code in codes {
        assert!(log.contains(code), "{code} is not in the log:\n{log}");
    }

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(data(folder.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "only the owner can look into the data folder");
    }
    process.signal("TERM");
    assert_eq!(process.end().code(), Some(0));
}
