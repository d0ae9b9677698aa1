//! `tradepost init --wizard`: the dialogue, what it writes, and the way from there to a test lead that arrives.

use std::fs::{self, File};
use std::io::Write as _;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use expect_test::{Expect, expect};
use tradepost_document::json::{self, Value};

use crate::adf::{complaints, validator};
use crate::process::{Process, pause};
use crate::support::mail::{MailServer, Manner, Secured};

/// A feed of two vehicles, one of which has no price.
const FEED: &str = "\
vin,stock,year,make,model,condition,price,mileage,photo
1HGCM82633A004352,A100,2021,Honda,Accord,used,21500,30210,https://photos.example.com/a.jpg
2HGFC2F59KH512345,A101,2019,Honda,Civic,used,16900,41000,https://photos.example.com/b.jpg
";

const PASSWORD: &str = "seekrit-mail-password";

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).env_remove("TRADEPOST_SERVER__DATABASE");
    command.env("TZ", "America/Chicago").args(arguments);
    command
}

/// Answers the questions of the wizard, a line each, through a pipe.
fn wizard(folder: &Path, more: &[&str], answers: &[&str]) -> Output {
    let mut command = command(folder, &[&["init", "--wizard"], more].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = answers.join("\n");
    if !answers.is_empty() {
        lines.push('\n');
    }
    // A wizard that stops early closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    child.wait_with_output().unwrap()
}

/// Compares what was said, without what differs from run to run.
fn said(output: &[u8], folder: &Path, mail: Option<SocketAddr>, expected: &Expect) {
    let folder = folder.canonicalize().unwrap().display().to_string();
    let mut text = String::from_utf8(output.to_vec()).unwrap().replace(&folder, "FOLDER");
    if let Some(mail) = mail {
        text = text.replace(&mail.port().to_string(), "MAILPORT");
    }
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// Answers that lead to a dealer with a feed, a mail server without a login, and a manager.
fn answers(port: &str) -> Vec<&str> {
    let identity = ["Bare Motors", "", "https://www.bare.example"];
    let address = ["1 Main St", "Fairview", "CA", "94542", ""];
    let rooftop = ["Bare Downtown", "+14155550123"];
    let hours = ["America/Los_Angeles", "Mo-Fr 9-18, Sa 10-16", "", "yes", "no"];
    let feed = ["feed.csv", "", "yes"];
    let mail = ["mail", "sales@bare.example", "127.0.0.1", "none", port, "", "", "yes"];
    let server = ["127.0.0.1:0", "", "127.0.0.1:0"];
    let member = ["maria", "correct horse battery", "correct horse battery", "yes"];
    let parts: [&[&str]; 8] =
        [&identity, &rooftop, &address, &hours, &feed, &mail, &server, &member];
    parts.concat()
}

fn furnished() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("feed.csv"), FEED).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_dialogue_explains_checks_and_tries_each_answer() {
    let folder = furnished();
    let mut mail = MailServer::start(Secured::No, |_| Manner::Take);
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    said(&output.stdout, folder.path(), Some(mail.address), &expect![[""]]);
    assert!(!String::from_utf8_lossy(&output.stdout).contains("horse"));
    let config = folder.path().join("tradepost.toml");
    said(&fs::read(&config).unwrap(), folder.path(), Some(mail.address), &expect![[""]]);
    assert_eq!(fs::metadata(&config).unwrap().permissions().mode() & 0o777, 0o600);
    let [sample] = mail.wait(1) else { panic!() };
    assert!(sample.data.contains("TEST, this is no lead"), "{}", sample.data);
    let listed = command(folder.path(), &["console", "user", "list", "--json"]).output().unwrap();
    let listed: Value = json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed[0]["name"], "maria");
    assert_eq!(listed[0]["role"], "manager");
    assert_eq!(listed[0]["dealer"], "bare-motors");
}

#[test]
fn a_wrong_answer_is_explained_and_asked_for_again() {
    let folder = furnished();
    let output = wizard(
        folder.path(),
        &["shop"],
        &[
            // No name, an id with capitals, an address without a scheme.
            "",
            "Bare",
            "Bare Motors",
            "bare",
            "www.bare.example",
            "",
            // A number without a country code, no time zone, hours that end before they begin.
            "",
            "555 0123",
            "",
            "",
            "",
            "",
            "",
            "",
            "Mars/Olympus",
            "",
            "Mo-Fr 18-9",
            "Mo-Fr",
            "",
            "",
            "maybe",
            "no",
            // A feed that is not there, and one that is none.
            "nothing.csv",
            "shop.txt",
            "",
            "",
            // A CRM without TLS.
            "fax",
            "crm",
            "http://crm.example.com/leads",
            "https://crm.example.com/leads",
            "",
            "no",
            "8080",
            "",
            "",
            "none",
            "yes",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    said(&output.stdout, folder.path(), None, &expect![[""]]);
    assert_eq!(names(folder.path()), ["feed.csv", "shop"]);
    assert_eq!(names(&folder.path().join("shop")), ["tradepost.toml"]);
}

#[test]
fn input_that_ends_early_leaves_nothing_behind() {
    let folder = furnished();
    let before = names(folder.path());
    let all = answers("25");
    for count in [0, 1, 7, 20, all.len() - 3, all.len() - 1] {
        // The mail is not sent: nobody listens there.
        let mut answers = all[..count].to_vec();
        if let Some(test) = answers.get_mut(22) {
            *test = "no";
        }
        let output = wizard(folder.path(), &["shop"], &answers);
        assert_eq!(output.status.code(), Some(2), "{count}: {output:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("the input ended before the last question"), "{stderr}");
        assert!(stderr.contains("hint: run `tradepost init --wizard` again"), "{stderr}");
        assert_eq!(names(folder.path()), before, "{count}");
    }
}

#[test]
fn an_existing_file_is_replaced_only_when_wanted() {
    let folder = furnished();
    let config = folder.path().join("tradepost.toml");
    fs::write(&config, "# mine").unwrap();
    let output = wizard(folder.path(), &[], &["no"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("nothing was written") && stderr.contains("hint: "), "{stderr}");
    let all = answers("25");
    let mut answers = all.clone();
    answers[25] = "no";
    let output =
        wizard(folder.path(), &[], &[&["yes"], &answers[..all.len() - 1], &["no"]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(fs::read_to_string(&config).unwrap(), "# mine", "the last question decides");
    let output = wizard(folder.path(), &["--force"], &answers);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(fs::read_to_string(&config).unwrap().contains("Bare Motors"));
}

#[test]
fn the_wizard_has_no_output_for_programs() {
    let folder = furnished();
    let output = command(folder.path(), &["init", "--wizard", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let document: Value = json::from_slice(&output.stdout).unwrap();
    let hint = document["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("leave out --json"), "{document}");
}

#[test]
fn a_secret_is_in_a_file_of_its_own_and_nowhere_else() {
    let folder = furnished();
    let mail = MailServer::start(Secured::No, |_| Manner::Take);
    let port = mail.address.port().to_string();
    let all = answers(&port);
    let user = all.iter().position(|answer| *answer == port).unwrap() + 1;
    let answers = [&all[..user], &["leads", PASSWORD], &all[user + 1..]].concat();
    let output = wizard(folder.path(), &["shop"], &answers);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("taken: SMTP 250") && !said.contains(PASSWORD), "{said}");
    let config = fs::read_to_string(folder.path().join("shop/tradepost.toml")).unwrap();
    assert!(config.contains("password_file = ") && !config.contains(PASSWORD), "{config}");
    let secret = folder.path().join("shop/secrets/mail-password");
    assert_eq!(fs::read_to_string(&secret).unwrap().trim(), PASSWORD);
    assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Starts the server on what the wizard has written.
fn serve(folder: &Path) -> Process {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    Process::run(folder, command(folder, &["serve"]), log.into())
}

/// The findings about the steps, as `step: state: message`.
fn steps(folder: &Path, server: &Process) -> Vec<String> {
    let mut doctor = command(folder, &["doctor", "--test-lead", "me@bare.example", "--json"]);
    doctor.env("TRADEPOST_SERVER__LISTEN", server.address.to_string());
    let output = doctor.output().unwrap();
    let document: Value =
        json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let findings = document["findings"].as_array().unwrap();
    let of_steps = findings.iter().filter(|finding| finding["area"] == "steps");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let address = format!("http://{}", server.address);
    let line = |finding: &Value| {
        let [subject, state, says] = ["subject", "state", "message"].map(|key| text(finding, key));
        // The age of the feed depends on the machine.
        let says = says.split(", confirmed ").next().unwrap().replace(&address, "ADDRESS");
        format!("{subject}: {state}: {says}")
    };
    of_steps.map(line).collect()
}

/// Waits until the feed has been read.
fn stocked(folder: &Path) {
    for _ in 0..1_000 {
        let output = command(folder, &["feeds", "show", "inventory", "--json"]).output().unwrap();
        if String::from_utf8_lossy(&output.stdout).contains("\"taken\"") {
            return;
        }
        pause(std::time::Duration::from_millis(20));
    }
    panic!("the feed was not read within 20 seconds");
}

#[test]
fn from_nothing_to_a_test_lead_that_arrives() {
    let folder = furnished();
    let mut mail = MailServer::start(Secured::No, |_| Manner::Take);
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let checked = command(folder.path(), &["check-config"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{checked:?}");
    let server = serve(folder.path());
    stocked(folder.path());
    let expected = [
        "bare-motors: identity: ok: Bare Motors: Bare Downtown",
        "bare-motors: hours: ok: every rooftop has opening hours",
        "bare-motors: feed: ok: 2 vehicles",
        "bare-motors: delivery: ok: taken by mail (SMTP 250), and erased",
        "bare-motors: card: ok: the card is at ADDRESS, which only this machine reaches: set public_url",
        "bare-motors: test-lead: ok: taken by mail (SMTP 250), and erased",
    ];
    assert_eq!(steps(folder.path(), &server), expected);
    let [_, lead] = mail.wait(2) else { panic!() };
    assert!(lead.data.contains("Subject: TEST, this is no lead: inquiry"), "{}", lead.data);
    let document = lead.body();
    assert!(document.contains("me@bare.example") && document.contains("tradepost self-test"));
    if let Some(dtd) = validator() {
        assert_eq!(complaints(document, &dtd), "");
    }
    // It is nobody's, and counts nowhere.
    let leads = command(folder.path(), &["leads", "list", "--state", "all", "--json"]);
    let leads = String::from_utf8({ leads }.output().unwrap().stdout).unwrap();
    assert!(leads.contains("\"erased\"") && !leads.contains("me@bare.example"), "{leads}");
    let times = { command(folder.path(), &["leads", "times", "--json"]) }.output().unwrap();
    let times: Value = json::from_slice(&times.stdout).unwrap();
    let counted = times.as_array().unwrap().iter();
    assert!(counted.clone().all(|step| step["leads"] == 0 && step["waiting"] == 0), "{times}");
    assert!(counted.count() > 0);
}

#[test]
fn a_test_lead_that_is_refused_says_what_to_do_and_is_erased() {
    let folder = furnished();
    // The sample of the wizard is taken, the lead is not.
    let mail = MailServer::start(Secured::No, |number| match number {
        0 => Manner::Take,
        _ => Manner::Say("RCPT TO", "550 no such mailbox"),
    });
    let port = mail.address.port().to_string();
    let output = wizard(folder.path(), &[], &answers(&port));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let server = serve(folder.path());
    let address = server.address.to_string();
    let mut doctor = command(folder.path(), &["doctor", "--test-lead", "me@bare.example"]);
    let output = doctor.env("TRADEPOST_SERVER__LISTEN", &address).output().unwrap();
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("mail did not take it: SMTP 550"), "{stdout}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("tradepost leads test-delivery NAME"), "{stderr}");
    let leads = { command(folder.path(), &["leads", "list", "--state", "all"]) }.output().unwrap();
    assert!(String::from_utf8(leads.stdout).unwrap().contains("erased"));
    drop(server);
    // Nobody answers any more.
    let mut doctor = command(folder.path(), &["doctor", "--test-lead", "me@bare.example"]);
    let output = doctor.env("TRADEPOST_SERVER__LISTEN", &address).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.contains("the lead was not taken"), "{stdout}");
}
