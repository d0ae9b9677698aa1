//! Bearer tokens before cards that lead to another host, and before servers that send requests on: every command that
//! sends a token keeps it at the origin that it is for.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use tradepost_aap::Version;
use tradepost_adcp::EXTENSION;
use tradepost_document::json::{Value, json};

use super::ended;
use crate::support::proxy::Passing;

const TOKEN: &str = "s3cret-of-the-caller";

/// A server that notes what it is asked.
struct Noting {
    address: String,
    asked: Receiver<Passing>,
}

impl Noting {
    /// `answer` gives the answer to a request, after the address of the server.
    fn start(answer: impl Fn(&str, &Passing) -> Passing + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (sender, asked) = channel();
        let own = address.clone();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let Some(mut asked) = Passing::read(&mut reader) else { continue };
                if asked.read_body(&mut reader).is_some() {
                    let answer = answer(&own, &asked);
                    // Before the caller can have ended.
                    let _ = sender.send(asked);
                    let _ = answer.write(&mut stream);
                }
            }
        });
        Self { address, asked }
    }

    /// How many requests had the token since the last time, and how many had none.
    fn counts(&self) -> (usize, usize) {
        let bearer = format!("Bearer {TOKEN}");
        let asked: Vec<_> = self.asked.try_iter().collect();
        let with =
            asked.iter().filter(|passing| passing.header("authorization") == Some(&bearer)).count();
        (with, asked.len() - with)
    }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &Value) -> Passing {
    let mut answer = Passing { body: body.to_string().into_bytes(), ..Passing::default() };
    answer.set_status(status);
    answer.set_header("content-type", "application/json");
    for (name, value) in headers {
        answer.set_header(name, value);
    }
    answer
}

/// The card of an agent at this address.
fn card(address: &str) -> Value {
    json!({
        "name": "D", "description": "d", "version": "1",
        "supportedInterfaces": [{"url": format!("{address}/a2a"),
            "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "capabilities": {"extensions": [{"uri": Version::V1_1.uri()}, {"uri": EXTENSION}]},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "inventory.search", "name": "n", "description": "d", "tags": ["t"]}],
    })
}

/// A server with nothing but this card.
fn host(card: Value) -> Noting {
    Noting::start(move |_, asked| match asked.target() {
        "/.well-known/agent-card.json" => answer(200, &[], &card),
        _ => answer(404, &[], &json!({})),
    })
}

/// An agent that refuses everything, and does not ask for the caller's patience.
fn agent() -> Noting {
    Noting::start(|_, _| {
        let error = json!({"code": -32601, "message": "no"});
        answer(200, &[], &json!({"jsonrpc": "2.0", "id": null, "error": error}))
    })
}

fn tradepost(arguments: &[&str]) -> (i32, String, String) {
    tradepost_reading(arguments, "")
}

/// The same with this on its standard input, which is a pipe.
fn tradepost_reading(arguments: &[&str], input: &str) -> (i32, String, String) {
    let child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(arguments)
        .env("TRADEPOST_TOKEN", TOKEN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    // One that does not read it may have ended.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    ended(child)
}

/// Each command that sends a token, before the agent at this address.
fn commands(address: &str) -> [Vec<&str>; 4] {
    [
        vec!["call", address, "search", "--no-check"],
        vec!["call", address, "--text", "hello"],
        vec!["adcp", "call", address, "get_products", "--no-check"],
        vec!["probe", address, "--rate", "0", "--budget", "20", "--no-messages"],
    ]
}

#[test]
fn a_card_that_leads_elsewhere_gets_no_token() {
    let agent = agent();
    let host = host(card(&agent.address));
    for command in commands(&host.address) {
        let (exit, _, said) = tradepost(&command);
        assert_eq!(exit, 11, "{command:?}: {said}");
        let expected = format!(
            "not sent: the token is for {}, and the request would go to {}",
            host.address, agent.address
        );
        assert!(said.contains(&expected), "{command:?}: {said}");
        let hint = format!("--token-for {}", agent.address);
        assert!(said.contains(&hint) && !said.contains(TOKEN), "{command:?}: {said}");
        assert_eq!(agent.counts(), (0, 0), "{command:?}");
    }
}

#[test]
fn a_token_goes_where_its_owner_says_not_the_card() {
    let agent = agent();
    let host = host(card(&agent.address));
    for command in commands(&host.address) {
        host.counts();
        tradepost(&[&command[..], &["--token-for", &agent.address]].concat());
        let (with, without) = agent.counts();
        assert!(with > 0, "{command:?}: {with} {without}");
        assert_eq!(host.counts().0, 0, "{command:?}");
    }
    let (exit, _, said) = tradepost(&["call", &host.address, "search", "--token-for", "a/b"]);
    assert_eq!(exit, 2, "{said}");
}

/// A key that signs cards.
struct CardSigner {
    folder: tempfile::TempDir,
    public: String,
}

impl CardSigner {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = folder.path().join("key.pem").to_str().unwrap().to_owned();
        let (exit, public, said) = tradepost(&["card", "keygen", "--alg", "eddsa", "--out", &key]);
        assert_eq!(exit, 0, "{said}");
        std::fs::write(folder.path().join("keys.json"), &public).unwrap();
        Self { folder, public }
    }

    fn place(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The card of an agent at this address, signed.
    fn card(&self, address: &str) -> Value {
        let file = self.place("card.json");
        std::fs::write(&file, card(address).to_string()).unwrap();
        let (exit, signed, said) =
            tradepost(&["card", "sign", &file, "--key", &self.place("key.pem")]);
        assert_eq!(exit, 0, "{said}");
        tradepost_document::json::from_str(&signed).unwrap()
    }
}

#[test]
fn a_trusted_signed_card_says_where_the_token_goes() {
    let signer = CardSigner::new();
    let keys = signer.place("keys.json");
    let agent = agent();
    let host = host(signer.card(&agent.address));
    for command in [["search", "--no-check"], ["--text", "hello"]] {
        let call = [&["call", &host.address][..], &command, &["--keys", &keys]].concat();
        tradepost(&call);
        assert_eq!(agent.counts(), (1, 0), "{call:?}");
    }
    // Nobody has looked at the signature.
    let (exit, _, said) = tradepost(&["call", &host.address, "search", "--no-check"]);
    assert_eq!((exit, agent.counts()), (11, (0, 0)), "{said}");
    let (_, shown, _) = tradepost(&["discover", &host.address]);
    let hint = format!("a token goes there only with --token-for {}", agent.address);
    assert!(shown.contains(&hint), "{shown}");
    let (_, shown, _) = tradepost(&["discover", &host.address, "--keys", &keys]);
    assert!(shown.contains("another origin than the card's)"), "{shown}");
}

/// A host whose card leads to one agent first, and to another when it is read again, as often as is called.
fn moving_host(first: Value, then: Value) -> Noting {
    let reads = std::cell::Cell::new(0);
    Noting::start(move |_, asked| match asked.target() {
        "/.well-known/agent-card.json" => {
            reads.set(reads.get() + 1);
            answer(200, &[], if reads.get() % 2 == 1 { &first } else { &then })
        }
        _ => answer(404, &[], &json!({})),
    })
}

/// An agent that is not there any more.
fn gone_agent() -> Noting {
    Noting::start(|_, _| answer(404, &[], &json!({})))
}

#[test]
fn a_move_is_followed_with_the_new_origins_token() {
    let old = gone_agent();
    let new = agent();
    let host = moving_host(card(&old.address), card(&new.address));
    for command in &commands(&host.address)[..3] {
        let for_old = [&command[..], &["--token-for", &old.address]].concat();
        tradepost(&for_old);
        assert_eq!((old.counts(), new.counts()), ((1, 0), (0, 0)), "{for_old:?}");
        let for_both = [&for_old[..], &["--token-for", &new.address]].concat();
        let (_, _, said) = tradepost(&for_both);
        assert_eq!((old.counts(), new.counts()), ((1, 0), (1, 0)), "{for_both:?}: {said}");
    }
}

#[test]
fn keys_from_a_pipe_hold_for_a_card_read_again() {
    let signer = CardSigner::new();
    let old = gone_agent();
    let new = agent();
    let host = moving_host(signer.card(&old.address), signer.card(&new.address));
    for command in &commands(&host.address)[..3] {
        let call = [&command[..], &["--keys", "/dev/stdin"]].concat();
        let (_, _, said) = tradepost_reading(&call, &signer.public);
        assert_eq!((old.counts(), new.counts()), ((1, 0), (1, 0)), "{call:?}: {said}");
    }
}

#[test]
fn a_redirect_takes_no_token_along() {
    let other_agent = agent();
    let location = format!("{}/a2a", other_agent.address);
    let host = Noting::start(move |own, asked| match asked.target() {
        "/.well-known/agent-card.json" => answer(200, &[], &card(own)),
        _ => answer(307, &[("location", location.as_str())], &json!({})),
    });
    let mcp = format!("{}/mcp", host.address);
    let of_mcp = vec!["adcp", "call", &mcp, "get_products", "--no-check"];
    for command in commands(&host.address).into_iter().chain([of_mcp]) {
        tradepost(&command);
        assert!(host.counts().0 > 0, "{command:?}");
        assert_eq!(other_agent.counts(), (0, 0), "{command:?}");
    }
}
