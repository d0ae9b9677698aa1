//! Values that are planted wherever a caller can write, and looked for wherever something is kept or said.

use super::*;
use crate::process::{Process, data, fresh_lead};
use crate::support::client;

const CONFIG: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    operator_listen = "127.0.0.1:0"
    log_filter = "trace"

    [privacy]
    key_file = "KEY"

    [[dealers]]
    id = "bare"
    name = "Bare Motors"
    rate_limit = { requests = 0 }

    [[dealers.rooftops]]
    name = "Bare Motors Downtown"
"#;

/// What is looked for.
const WORDS: [&str; 3] = ["planted", "14155550142", "9.9.9.77"];

fn planted() -> Value {
    fresh_lead(&[
        ("/customer/first_name", json!("Marguerite-Planted")),
        ("/customer/last_name", json!("Featherstonehaugh-Planted")),
        ("/customer/email", json!("planted.address@mail.example")),
        ("/customer/phone", json!("+14155550142")),
        ("/customer/address", json!({"address_line_1": "17 Planted Lane", "city": "Plantedville"})),
        ("/consent/consent_text", json!("Planted words of consent.")),
        ("/message", json!("Planted question about my divorce.")),
        ("/vehicle_of_interest", json!({"make": "Planted", "model": "planted.model"})),
        ("/trade_in", json!({"vin": "1HGCM82633A004352", "description": "Planted dents"})),
        ("/source_agent", json!({"name": "planted-agent"})),
        ("/idempotency_key", json!("planted-key")),
    ])
}

/// Sends what is planted in every way that is taken or refused, and kills the server in the middle.
fn story(folder: &Path) -> (String, String) {
    let config = CONFIG.replace("KEY", folder.join("key").to_str().unwrap());
    let process = Process::configured(folder, &config);
    let headers = [("User-Agent", "planted-browser")];
    let envelope = |payload: &Value| crate::support::envelope(payload).to_string();
    let planted = planted();
    let answer = process.post("/a2a", &headers, &envelope(&planted));
    let receipt = answer["result"]["message"]["parts"][0]["data"]["data"].clone();
    assert_eq!(receipt["status"], "received", "{answer}");
    let again = process.post("/a2a", &headers, &envelope(&planted));
    assert_eq!(again["result"]["message"]["parts"][0]["data"]["data"], receipt, "a replay");
    let conflict = with(planted, &[("/message", json!("Planted otherwise."))]);
    let refused =
        process.post("/a2a?email=planted.address@mail.example", &headers, &envelope(&conflict));
    assert_eq!(refused["error"]["data"]["code"], "IDEMPOTENCY_CONFLICT", "{refused}");
    let operators = process.operators();
    let ask = |path: &str| {
        let answer = client::request(operators, "GET", path, &[], b"");
        String::from_utf8_lossy(&answer.body).into_owned()
    };
    let shown = [answer.to_string(), again.to_string(), refused.to_string()];
    // A conflict names the caller's own key.
    let shown = shown.join("\n").replace("planted-key", "");
    let shown = [shown, ask("/metrics"), ask("/readyz"), ask("/planted")].join("\n");
    process.signal("KILL");
    let log = process.log();
    process.end();
    (receipt["lead_id"].as_str().unwrap().to_owned(), format!("{shown}\n{log}"))
}

#[test]
fn what_is_planted_is_nowhere_and_opens_with_the_key() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), format!("# of May\n{FIRST}\n")).unwrap();
    let (id, shown) = story(folder.path());
    for word in WORDS {
        assert!(!shown.to_ascii_lowercase().contains(word), "{word}: {shown}");
    }
    // It was killed, so the write-ahead log is still there.
    let data = data(folder.path());
    assert!(std::fs::metadata(data.join("tradepost.sqlite-wal")).unwrap().len() > 0);
    assert_eq!(found(folder.path(), &WORDS), [""; 0]);

    let place = ["--data", data.to_str().unwrap()];
    let show = said(FIRST, &[&["leads", "show", &id][..], &place].concat());
    for part in ["planted.address@mail.example", "17 Planted Lane", "planted-browser"] {
        assert!(show.contains(part), "{part}: {show}");
    }
    let file = folder.path().join("key");
    let file = ["--key-file", file.to_str().unwrap()];
    assert!(said("", &[&["leads", "list"][..], &place, &file].concat()).contains("Marguerite"));
    for (key, exit, words) in [
        ("", 1, "its key was not given"),
        (SECOND, 2, "which is not the one given"),
        ("nonsense", 2, "must be 32 random bytes"),
    ] {
        let (code, why) = complaint(key, &[&["leads", "show", &id][..], &place].concat());
        assert!(code == exit && why.contains(words), "{key}: {code} {why}");
        assert!(!why.contains("nonsense") && !why.contains(SECOND), "{why}");
    }
    // What needs no customer needs no key.
    said("", &[&["keys", "list"][..], &place].concat());
    assert_eq!(found(folder.path(), &WORDS), [""; 0]);
}

#[test]
fn without_the_key_or_with_another_no_server_starts() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("key"), FIRST).unwrap();
    story(folder.path());
    let data = data(folder.path());
    let config = folder.path().join("tradepost.toml");
    let serve = ["serve", "--config", config.to_str().unwrap(), "--data", data.to_str().unwrap()];
    std::fs::write(folder.path().join("key"), SECOND).unwrap();
    let (code, why) = complaint("", &serve);
    assert!(
        code == 2 && why.contains("which is not the one given") && why.contains("rekey"),
        "{why}"
    );
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        text.lines().filter(|l| !l.contains("key_file")).collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let (code, why) = complaint("", &serve);
    assert!(code == 2 && why.contains("no key was given") && why.contains("hint:"), "{why}");
    std::fs::write(folder.path().join("key"), "short").unwrap();
    std::fs::write(&config, &text).unwrap();
    let (code, why) = complaint("", &["check-config", config.to_str().unwrap()]);
    assert!(code == 2 && why.contains("64 hexadecimal digits") && !why.contains("short"), "{why}");
}
