//! `tradepost doctor`: on a server that is well, and on one where everything is amiss at once.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::Value;

use crate::process::{Process, data};
use crate::support::mail::{MailBehavior, MailServer, Secured, tls};
use crate::support::tls::Authority;
use crate::support::webhook::Webhook;

const PASSWORD: &str = "seekrit-mail-password";
const CHAT: &str = "T0-seekrit-chat-address";
const KEY: &str = "seekrit-0123456789abcdef0123456789";

/// The dealer with everything that can be looked at.
fn config(folder: &Path, listen: &str, public_url: &str, mail: u16, hub: u16) -> String {
    let folder = folder.display();
    format!(
        r#"
[server]
listen = "{listen}"
tls = {{ certificate = "{folder}/certificate.pem", key = "{folder}/key.pem" }}

[[dealers]]
id = "bare"
name = "Bare Motors"
public_url = "{public_url}"

[[dealers.rooftops]]
name = "Bare Motors Downtown"

[[dealers.deliveries]]
name = "crm"
by = "smtp"
host = "127.0.0.1"
port = {mail}
tls = "none"
user = "crm"
password_file = "{folder}/password"
from = "leads@dealer.example"
to = ["crm@vendor.example"]

[[dealers.deliveries]]
name = "hub"
by = "webhook"
url = "http://127.0.0.1:{hub}/{CHAT}"
hmac_key = "{KEY}"

[[dealers.feeds]]
name = "drop"
from = "folder"
folder = "{folder}/drop"
"#
    )
}

fn doctor(folder: &Path, config: &str, more: &[&str]) -> Output {
    trusting(&folder.join("ca.pem"), folder, config, more)
}

/// Runs it on a machine whose authorities are those of a file.
fn trusting(authorities: &Path, folder: &Path, config: &str, more: &[&str]) -> Output {
    fs::write(folder.join("doctor.toml"), config).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).env_remove("TRADEPOST_SERVER__DATABASE");
    command.env("SSL_CERT_FILE", authorities).env("SSL_CERT_DIR", folder.join("nothing"));
    command.arg("doctor").arg("--data").arg(data(folder));
    command.args(["--config", "doctor.toml"]).args(more).output().unwrap()
}

/// What was found out.
#[derive(Debug)]
struct Finding {
    /// The area and the subject.
    about: String,
    state: String,
    says: String,
}

fn findings(output: &Output) -> Vec<Finding> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let document: Value = tradepost_document::json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let listed = document["findings"].as_array().unwrap();
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let row = |finding: &Value| {
        assert_eq!(finding["state"] == "ok", finding["hint"].is_null(), "{finding}");
        Finding {
            about: format!("{} {}", text(finding, "area"), text(finding, "subject")),
            state: text(finding, "state"),
            says: text(finding, "message"),
        }
    };
    listed.iter().map(row).collect()
}

fn found<'a>(findings: &'a [Finding], what: &str) -> (&'a str, &'a str) {
    let fits = |finding: &&Finding| finding.about.starts_with(what);
    let finding =
        findings.iter().find(fits).unwrap_or_else(|| panic!("nothing of {what}: {findings:#?}"));
    (&finding.state, &finding.says)
}

fn write_files(folder: &Path) {
    let authority = Authority::new("Somebody");
    fs::write(folder.join("ca.pem"), &authority.pem).unwrap();
    authority.server().write(folder);
    fs::write(folder.join("password"), PASSWORD).unwrap();
    for secret in ["password", "key.pem"] {
        fs::set_permissions(folder.join(secret), Permissions::from_mode(0o600)).unwrap();
    }
    fs::create_dir(folder.join("drop")).unwrap();
}

#[test]
fn a_server_that_is_well_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mail = MailServer::start(Secured::No, |_| MailBehavior::Take);
    let mut hub = Webhook::start();
    let at_mail = mail.address.port();
    let at_hub = hub.address.port();
    let configured = config(folder.path(), "127.0.0.1:0", "https://localhost", at_mail, at_hub);
    let process = Process::configured(folder.path(), &configured);
    let port = process.address.port();
    let listen = format!("127.0.0.1:{port}");
    let public = format!("https://localhost:{port}");
    let known = config(folder.path(), &listen, &public, at_mail, at_hub);
    let output = doctor(folder.path(), &known, &["--json"]);
    let findings = findings(&output);
    for (what, says) in [
        ("store", "readable, and of this version"),
        ("backlog bare", "no delivery was given up"),
        ("dns localhost", "resolves to "),
        ("tls server.tls.certificate", "valid until "),
        ("tls localhost", "valid until "),
        ("card bare", "reached, and it is the card of this server"),
        ("delivery bare/crm", "accepts the configured password"),
        ("delivery bare/hub", "accepts connections"),
        ("permissions server.tls.key", "private to its owner"),
        ("permissions bare/crm: password_file", "private to its owner"),
    ] {
        let (state, said) = found(&findings, what);
        assert!(state == "ok" && said.starts_with(says), "{what}: {state} {said}");
    }
    assert_eq!(found(&findings, "feed bare/drop"), ("warning", "never imported"));
    // The rooftop has nothing but a name, which is warned of.
    assert_eq!(found(&findings, "configuration").0, "warning");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let strict = doctor(folder.path(), &known, &["--strict"]);
    assert_eq!(strict.status.code(), Some(15), "{strict:?}");
    let shown = [strict.stdout, strict.stderr, output.stdout].concat();
    let shown = String::from_utf8(shown).unwrap();
    assert!(shown.contains("hint: feed bare/drop: put a file into its folder"), "{shown}");
    for secret in [PASSWORD, CHAT, KEY] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(hub.quiet().is_empty(), "nothing is sent");
}

#[test]
fn everything_that_is_amiss_is_said_at_once() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let mail = MailServer::start(Secured::No, |_| {
        MailBehavior::Say("AUTH", "535 seekrit words of the server")
    });
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    drop(Process::bare(folder.path()));
    for (path, mode) in [("data", 0o755), ("password", 0o644)] {
        fs::set_permissions(folder.path().join(path), Permissions::from_mode(mode)).unwrap();
    }
    fs::remove_dir(folder.path().join("drop")).unwrap();
    let listen = format!("127.0.0.1:{closed}");
    let known = {
        let public = "https://no-such-name.invalid";
        let mail = mail.address.port();
        config(folder.path(), &listen, public, mail, closed)
    };
    let known = known.replace("[server]", "[server]\nmin_free_space = 1000000000000000");
    let output = doctor(folder.path(), &known, &["--json"]);
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    let findings = findings(&output);
    for (what, state, says) in [
        ("disk", "bad", " MiB are free of "),
        ("permissions /", "warning", "others can access it (mode 755)"),
        ("permissions bare/crm: password_file", "warning", "can be read by others (mode 644)"),
        ("dns no-such-name.invalid", "bad", "does not resolve"),
        ("card bare", "bad", ""),
        ("delivery bare/crm", "bad", "SMTP 535"),
        ("delivery bare/hub", "bad", "no connection"),
        ("feed bare/drop", "bad", "its folder does not exist"),
    ] {
        let (found, said) = found(&findings, what);
        assert!(found == state && said.contains(says), "{what}: {found} {said}");
    }
    let shown = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    for secret in [PASSWORD, CHAT, KEY, "seekrit words"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn an_untrusted_certificate_and_another_card_are_bad() {
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let ours = Process::bare(folder.path());
    let other = tempfile::tempdir().unwrap();
    let theirs = crate::process::DEALER.replace("Bare Motors", "Other Motors");
    let theirs = Process::configured(other.path(), &theirs);
    let listen = format!("\"{}\"", ours.address);
    let known = crate::process::DEALER.replace("\"127.0.0.1:0\"", &listen);
    let public = format!("id = \"bare\"\npublic_url = \"http://{}\"", theirs.address);
    let output = doctor(folder.path(), &known.replace("id = \"bare\"", &public), &["--json"]);
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    let (state, says) = {
        let findings = findings(&output);
        let (state, says) = found(&findings, "card bare");
        (state.to_owned(), says.to_owned())
    };
    assert_eq!(state, "bad");
    assert!(says.contains("Other Motors") && says.contains("than this server has"), "{says}");

    // The authority in ca.pem did not issue it.
    let other_folder = tempfile::tempdir().unwrap();
    write_files(other_folder.path());
    let tls = format!(
        "tls = {{ certificate = {:?}, key = {:?} }}\n[[dealers]]",
        other_folder.path().join("certificate.pem"),
        other_folder.path().join("key.pem")
    );
    let config = crate::process::DEALER.replace("[[dealers]]", &tls);
    let served = Process::configured(other_folder.path(), &config);
    let port = served.address.port();
    let public = format!("id = \"bare\"\npublic_url = \"https://localhost:{port}\"");
    let known = config.replace("127.0.0.1:0", &format!("127.0.0.1:{port}"));
    let output = doctor(folder.path(), &known.replace("id = \"bare\"", &public), &["--json"]);
    let findings = findings(&output);
    let (state, says) = found(&findings, "tls localhost");
    assert_eq!(state, "bad");
    assert!(says.starts_with("not trusted: "), "{says}");
    assert_eq!(found(&findings, "card bare").0, "bad");
}

#[test]
fn authorities_that_are_named_and_missing_are_not_replaced() {
    const NAMED: &str = "SSL_CERT_FILE names no certificate that can be read";
    let folder = tempfile::tempdir().unwrap();
    write_files(folder.path());
    let pair = Authority::new("Somebody").server();
    let mail = MailServer::start(Secured::FirstByte(tls(&pair)), |_| MailBehavior::Take);
    let public = "https://localhost";
    let served = config(folder.path(), "127.0.0.1:0", public, mail.address.port(), 1);
    let served = Process::configured(folder.path(), &served);
    let port = served.address.port();
    let listen = format!("127.0.0.1:{port}");
    let public = format!("https://localhost:{port}");
    let known = config(folder.path(), &listen, &public, mail.address.port(), port)
        .replace("tls = \"none\"", "tls = \"required\"")
        .replace("url = \"http:", "url = \"https:");
    // Mozilla's in their place would be more than the operator wants.
    let output = trusting(&folder.path().join("nothing"), folder.path(), &known, &["--json"]);
    let findings = findings(&output);
    for (what, says) in [
        ("tls localhost", NAMED),
        ("card bare", NAMED),
        ("delivery bare/hub", ""),
        ("delivery bare/crm", ""),
    ] {
        let (found, said) = found(&findings, what);
        assert!(found == "bad" && said.contains(says), "{what}: {found} {said}");
    }
}
