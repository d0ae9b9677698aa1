//! What becomes of personal data: nothing of it is to be found where it is encrypted, keys take each
//! other's place, and people get what they may ask for.

mod audit;
mod customers;
mod forgotten;
mod keys;
mod planted;
mod search;
mod unreadable;
mod verified;

use std::path::Path;
use std::process::{Command, Output};

use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_document::json::{Value, json};
use tradepost_store::Store;
use tradepost_store::privacy::OperatorKeys;

use crate::support::dealer::LISTED_VIN;
use crate::support::{NOW, TestServer, at, dealer, lead, start_on, with};

/// Two keys.
const FIRST: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn keys(text: &str) -> OperatorKeys {
    OperatorKeys::read(text).unwrap()
}

/// Runs `tradepost` with these keys in the environment.
fn tradepost(key: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.args(arguments).env("USER", "ana").env_remove("SUDO_USER");
    command.env_remove("TRADEPOST_PRIVACY_KEY");
    if !key.is_empty() {
        command.env("TRADEPOST_PRIVACY_KEY", key);
    }
    command.output().unwrap()
}

/// The same for what has to succeed: standard output.
fn said(key: &str, arguments: &[&str]) -> String {
    let output = tradepost(key, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The same for what has to fail: the exit code, and standard error.
fn complaint(key: &str, arguments: &[&str]) -> (i32, String) {
    let output = tradepost(key, arguments);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The usual server on a store in a folder, with these keys.
fn serve(folder: &Path, key: &str) -> TestServer {
    let config = dealer::config();
    let store = Store::open(folder).unwrap();
    if !key.is_empty() {
        assert!(store.unlock(&keys(key), true, at(NOW)).unwrap());
    }
    dealer::stock(&store, &config);
    start_on(store, config)
}

/// A lead of a customer, with a key that is the e-mail address.
fn customer_lead(email: &str, phone: &str) -> Value {
    let changes = [
        ("/customer/first_name", json!("Adelheid")),
        ("/customer/last_name", json!("Winterberg")),
        ("/customer/email", json!(email)),
        ("/customer/phone", json!(phone)),
        ("/vehicle_of_interest", json!({"vin": LISTED_VIN})),
        ("/message", json!("Call me at my sister's in Quarzhausen.")),
        ("/idempotency_key", json!(email)),
    ];
    with(lead(), &changes)
}

fn send(server: &TestServer, payload: &Value) -> String {
    let answer = server.payload(payload);
    answer["data"]["lead_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Writes a note about a lead, as the console does.
fn add_note(server: &TestServer, lead_id: &str, note: tradepost_dealer::staff::LeadNote) {
    let entry = NewAuditEntry {
        chain: dealer::ID.to_owned(),
        at: note.at,
        actor: note.author.clone(),
        action: AuditAction::NoteAdded,
        subject: Some(lead_id.to_owned()),
        detail: None,
    };
    let id = lead_id.to_owned();
    assert!(server.store.write_blocking(move |tx| tx.add_note(&id, &note, &entry)).unwrap());
}

/// In which files below a folder one of these words stands, whatever its case.
fn found(folder: &Path, words: &[&str]) -> Vec<String> {
    let mut places = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            places.extend(found(&path, words));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default().to_ascii_lowercase();
        for word in words {
            let word = word.to_ascii_lowercase();
            if bytes.windows(word.len()).any(|part| part == word.as_bytes()) {
                places.push(format!("{word} in {}", path.display()));
            }
        }
    }
    places
}
