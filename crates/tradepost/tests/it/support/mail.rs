//! A mail server on the loopback address: it remembers what it was handed, and behaves as it is told.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::tls::Pair;

/// A mail, as it was handed over.
#[derive(Debug, Clone, Default)]
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    /// Headers and body, with line breaks as on Unix.
    pub data: String,
    /// What `AUTH PLAIN` said.
    pub login: Option<String>,
    pub is_secure: bool,
}

impl Mail {
    pub fn body(&self) -> &str {
        self.data.split_once("\n\n").map_or("", |(_, body)| body)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let head = self.data.split_once("\n\n").map_or(self.data.as_str(), |(head, _)| head);
        let value = |line: &'_ str| line.strip_prefix(name)?.strip_prefix(": ").map(str::len);
        head.lines().find_map(|line| value(line).map(|length| &line[line.len() - length..]))
    }
}

/// Behaviour of the server on one connection.
#[derive(Debug, Clone, Copy)]
pub enum MailBehavior {
    /// Takes the mail.
    Take,
    /// Answers the command that begins so in this way.
    Say(&'static str, &'static str),
    /// Answers the message itself in this way.
    Judge(&'static str),
    /// Says nothing any more, after the command that begins so.
    Stall(&'static str),
    /// Takes the message and says nothing of it any more.
    StallAfterData,
    /// Takes the message and hangs up before it says so.
    HangUpAfterData,
    /// Takes the message, and then never says goodbye.
    NoGoodbye,
}

/// How it is reached.
#[derive(Clone)]
pub enum Secured {
    No,
    StartTls(Arc<ServerConfig>),
    FirstByte(Arc<ServerConfig>),
}

/// With this certificate.
pub fn tls(pair: &Pair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![pair.der()], key)
        .unwrap();
    Arc::new(config)
}

trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

type BehaviorOfConnection = dyn Fn(usize) -> MailBehavior + Send + Sync;

/// The server.
pub struct MailServer {
    pub address: SocketAddr,
    arrivals: Receiver<Mail>,
    seen: Vec<Mail>,
}

impl MailServer {
    pub fn start(
        secured: Secured,
        behavior_of: impl Fn(usize) -> MailBehavior + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, arrivals) = channel();
        let behavior_of: Arc<BehaviorOfConnection> = Arc::new(behavior_of);
        let count = Arc::new(Mutex::new(0));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { break };
                let behavior = {
                    let mut count = count.lock().unwrap();
                    *count += 1;
                    behavior_of(*count - 1)
                };
                let sender = sender.clone();
                let secured = secured.clone();
                std::thread::spawn(move || {
                    if let Some(mail) = (Session { behavior, secured }).run(stream) {
                        let _ = sender.send(mail);
                    }
                });
            }
        });
        Self { address, arrivals, seen: Vec::new() }
    }

    /// Waits until there are so many mails in all.
    pub fn wait(&mut self, count: usize) -> &[Mail] {
        while self.seen.len() < count {
            match self.arrivals.recv_timeout(Duration::from_secs(30)) {
                Ok(mail) => self.seen.push(mail),
                Err(error) => panic!("{error} after {:?}", self.seen),
            }
        }
        &self.seen
    }
}

struct Session {
    behavior: MailBehavior,
    secured: Secured,
}

fn line(wire: &mut dyn Wire) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n") {
        let mut byte = [0];
        wire.read_exact(&mut byte).ok()?;
        bytes.push(byte[0]);
    }
    bytes.truncate(bytes.len() - 2);
    String::from_utf8(bytes).ok()
}

fn say(wire: &mut dyn Wire, text: &str) -> Option<()> {
    wire.write_all(format!("{text}\r\n").as_bytes()).ok()?;
    wire.flush().ok()
}

/// Waits until the other side has had enough.
fn stall(mut wire: Box<dyn Wire>) {
    let mut rest = Vec::new();
    let _ = wire.read_to_end(&mut rest);
}

fn encrypted(stream: TcpStream, config: &Arc<ServerConfig>) -> Box<dyn Wire> {
    Box::new(StreamOwned::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream))
}

impl Session {
    /// The mail, when one was handed over to the last byte.
    fn run(&self, stream: TcpStream) -> Option<Mail> {
        let again = stream.try_clone().ok()?;
        let mut mail = Mail::default();
        let mut wire: Box<dyn Wire> = match &self.secured {
            Secured::FirstByte(config) => {
                mail.is_secure = true;
                encrypted(stream, config)
            }
            Secured::No | Secured::StartTls(_) => Box::new(stream),
        };
        say(&mut *wire, "220 mail.example ready")?;
        loop {
            let command = line(&mut *wire)?;
            let verb = command.split([' ', ':']).next().unwrap_or_default().to_uppercase();
            match self.behavior {
                MailBehavior::Say(at, answer) if command.starts_with(at) => {
                    say(&mut *wire, answer)?;
                    continue;
                }
                MailBehavior::Stall(at) if command.starts_with(at) => {
                    stall(wire);
                    return None;
                }
                MailBehavior::Take
                | MailBehavior::Say(..)
                | MailBehavior::Judge(_)
                | MailBehavior::Stall(_)
                | MailBehavior::StallAfterData
                | MailBehavior::HangUpAfterData
                | MailBehavior::NoGoodbye => {}
            }
            match verb.as_str() {
                "EHLO" => {
                    let offers = matches!(self.secured, Secured::StartTls(_)) && !mail.is_secure;
                    let offer = if offers { "250-STARTTLS\r\n" } else { "" };
                    say(&mut *wire, &format!("250-mail.example\r\n{offer}250 AUTH PLAIN LOGIN"))?;
                }
                "STARTTLS" => {
                    let Secured::StartTls(config) = &self.secured else { return None };
                    say(&mut *wire, "220 go ahead")?;
                    wire = encrypted(again.try_clone().ok()?, config);
                    mail.is_secure = true;
                }
                "AUTH" => {
                    let text = command.rsplit(' ').next().unwrap_or_default();
                    let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
                    mail.login = Some(String::from_utf8(bytes).ok()?.replace('\0', "|"));
                    say(&mut *wire, "235 welcome")?;
                }
                "MAIL" => {
                    mail.from = command;
                    say(&mut *wire, "250 ok")?;
                }
                "RCPT" => {
                    mail.to.push(command);
                    say(&mut *wire, "250 ok")?;
                }
                "DATA" => {
                    say(&mut *wire, "354 go on")?;
                    return self.take(wire, mail);
                }
                "QUIT" => {
                    say(&mut *wire, "221 goodbye")?;
                    return None;
                }
                _ => say(&mut *wire, "502 what?")?,
            }
        }
    }

    fn take(&self, mut wire: Box<dyn Wire>, mut mail: Mail) -> Option<Mail> {
        loop {
            let text = line(&mut *wire)?;
            if text == "." {
                break;
            }
            mail.data.push_str(text.strip_prefix('.').unwrap_or(&text));
            mail.data.push('\n');
        }
        match self.behavior {
            MailBehavior::Judge(answer) => {
                say(&mut *wire, answer)?;
                return None;
            }
            MailBehavior::HangUpAfterData => {}
            MailBehavior::StallAfterData => {
                std::thread::spawn(move || stall(wire));
            }
            MailBehavior::NoGoodbye => {
                say(&mut *wire, "250 taken")?;
                std::thread::spawn(move || stall(wire));
            }
            MailBehavior::Take | MailBehavior::Say(..) | MailBehavior::Stall(_) => {
                say(&mut *wire, "250 taken")?;
                // The goodbye is not waited for by the test.
                std::thread::spawn(move || {
                    let _ = line(&mut *wire).and_then(|_| say(&mut *wire, "221 goodbye"));
                });
            }
        }
        Some(mail)
    }
}
