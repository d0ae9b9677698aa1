//! `tradepost console`, beside a server that runs or has not run yet, and the demo's.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::expect;

use super::{cookie, proof};
use crate::process::Process;
use crate::support::client;

/// Writes a configuration with one dealer.
fn configure(folder: &Path, dealer: &str) {
    let text = format!(
        "[[dealers]]\nid = \"{dealer}\"\nname = \"A dealer\"\n[[dealers.rooftops]]\nname = \"One\"\n"
    );
    std::fs::write(folder.join("tradepost.toml"), text).unwrap();
}

/// Runs a command with something on standard input; its exit code and what it writes.
fn tradepost(folder: &Path, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(arguments)
        .current_dir(folder)
        .env("USER", "ana")
        .env_remove("SUDO_USER")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn people_are_added_listed_removed_and_all_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], input: &str| {
        let all = [&["console"], arguments].concat();
        tradepost(folder.path(), &all, input)
    };
    let add = ["user", "add", "Dora", "--role", "desk"];
    let of = |more: &[&'static str]| [&add[..], more].concat();
    assert_eq!(run(&of(&[]), "").0, Some(2), "whose people they are has to be said");
    configure(folder.path(), "larkspur");
    let one = of(&["--dealer", "larkspur", "--password-stdin"]);
    let (code, _, said) = run(&one, "short\n");
    assert_eq!(code, Some(2));
    expect![[r#"
        error: a password must have at least 12 characters and at most 256 bytes
        hint: use three or four unrelated words
    "#]]
    .assert_eq(&said);
    assert_eq!(run(&one, "correct horse battery\n"), (Some(0), String::new(), String::new()));
    let (code, _, said) = run(&one, "correct horse battery\n");
    assert_eq!(code, Some(2));
    expect![[r#"
        error: another user has this name
        hint: `tradepost console user list` lists all users
    "#]]
    .assert_eq(&said);
    let (code, made_up, _) =
        run(&["user", "add", "egon", "--role", "engineer", "--all-dealers"], "");
    assert_eq!((code, made_up.trim().len()), (Some(0), 43));
    let (_, listed, _) = run(&["user", "list"], "");
    expect![[r#"
        NAME  ROLE      OF
        dora  desk      larkspur
        egon  engineer  every one
    "#]]
    .assert_eq(&listed);
    for (password, said) in [
        ("Password1234!", "it is one of the most common passwords"),
        (
            "doradoradora1",
            "a password must not be the name, also not repeated or with digits and signs",
        ),
    ] {
        let set = ["user", "set-password", "dora", "--password-stdin"];
        let (code, _, refused) = run(&set, password);
        assert_eq!(code, Some(2));
        assert!(refused.contains(said), "{refused}");
    }
    assert_eq!(run(&["user", "set-password", "dora"], "").0, Some(0));
    assert_eq!(run(&["user", "remove", "egon"], "").0, Some(0));
    assert_eq!(run(&["user", "remove", "egon"], "").0, Some(2));
    let actions = |chain: &str| {
        let (_, listed, _) = run(&["--json", "audit", "--dealer", chain], "");
        let listed: tradepost_document::json::Value =
            tradepost_document::json::from_str(&listed).unwrap();
        let action = |entry: &tradepost_document::json::Value| {
            format!("{} {} {}", entry["actor"], entry["action"], entry["subject"]).replace('"', "")
        };
        listed.as_array().unwrap().iter().map(action).collect::<Vec<_>>()
    };
    assert_eq!(actions("larkspur"), ["cli:ana password_set dora", "cli:ana member_added dora"]);
    assert_eq!(actions("*"), ["cli:ana member_removed egon", "cli:ana member_added egon"]);
    let verify = ["audit", "--verify"];
    let (code, said, _) = run(&verify, "");
    assert_eq!((code, said.lines().count()), (Some(0), 2));
    // Somebody with a shell covers something up.
    let database = folder.path().join("tradepost-data/tradepost.sqlite");
    let database = rusqlite::Connection::open(database).unwrap();
    let cover_up = "UPDATE audit_log SET subject = 'maria' WHERE chain = 'larkspur' AND seq = 1";
    assert_eq!(database.execute(cover_up, []).unwrap(), 1);
    let (code, _, said) = run(&verify, "");
    assert_eq!(code, Some(1));
    assert!(said.contains("larkspur: entry 1 or one before it"), "{said}");
}

#[test]
fn people_of_unknown_dealers_are_not_added() {
    let folder = tempfile::tempdir().unwrap();
    let add = |dealer: &str, more: &[&str]| {
        let named = ["console", "user", "add", "dora", "--role", "desk", "--dealer", dealer];
        tradepost(folder.path(), &[&named[..], more].concat(), "correct horse battery")
    };
    let refused = |dealer: &str, more: &[&str]| {
        let (code, output, said) = add(dealer, &[more, &["--password-stdin"]].concat());
        assert_eq!((code, output.as_str()), (Some(2), ""), "{said}");
        format!("{dealer} {}\n{said}", more.join(" "))
    };
    let unconfigured = refused("larkspur", &[]);
    configure(folder.path(), "larkspur");
    let said = [unconfigured, refused("larkspurr", &[]), refused("acme", &[])];
    expect![[r#"
        larkspur 
        error: there is no dealer "larkspur"
        hint: no dealer is known here; name the configuration with --config
        larkspurr 
        error: there is no dealer "larkspurr"
        hint: did you mean larkspur?
        acme 
        error: there is no dealer "acme"
        hint: the known dealers are larkspur; name the configuration with --config
    "#]]
    .assert_eq(&said.concat());
    let (_, listed, _) = tradepost(folder.path(), &["--json", "console", "user", "list"], "");
    assert_eq!(listed.trim(), "[]", "nobody was added");
    std::fs::remove_file(folder.path().join("tradepost.toml")).unwrap();
    // A server that has run with a dealer knows it without a configuration.
    let server =
        Process::start(folder.path(), &["--demo", "--demo-size", "5", "--listen", "127.0.0.1:0"]);
    let data = crate::process::data(folder.path());
    let (code, password, said) = add("larkspur", &["--data", data.to_str().unwrap()]);
    assert_eq!((code, password.trim().len()), (Some(0), 43), "{said}");
    drop(server);
}

#[test]
fn a_second_factor_is_listed_and_reset_by_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let all = [&["--json", "console", "user"], arguments].concat();
        tradepost(folder.path(), &all, "")
    };
    configure(folder.path(), "d");
    assert_eq!(run(&["add", "dora", "--role", "desk", "--dealer", "d"]).0, Some(0));
    let (code, shown, said) = run(&["reset-second-factor", "dora"]);
    assert_eq!(code, Some(2));
    let said = shown + &said;
    assert!(said.contains("dora has no second factor"), "{said}");
    let store = tradepost_store::Store::open(&folder.path().join("tradepost-data")).unwrap();
    let now = jiff::Timestamp::UNIX_EPOCH;
    let kept = store.write_blocking(move |tx| {
        tx.begin_second_factor("dora", "GEZDGNBVGY3TQOJQ", now)?;
        tx.confirm_second_factor("dora", 1, &[[7; 32]], now)
    });
    assert!(kept.unwrap());
    let listed = |expected: bool| {
        let (_, listed, _) = run(&["list"]);
        let listed: tradepost_document::json::Value =
            tradepost_document::json::from_str(&listed).unwrap();
        assert_eq!(listed[0]["second_factor"], tradepost_document::json::json!(expected));
    };
    listed(true);
    assert_eq!(run(&["reset-second-factor", "Dora"]).0, Some(0));
    listed(false);
    assert!(store.second_factor("dora").unwrap().is_none());
    let entries = store.entries("d", i64::MAX, 1).unwrap();
    let said = &entries[0].said;
    assert_eq!(
        (said.actor.as_str(), said.action.to_string().as_str()),
        ("cli:ana", "second_factor_reset")
    );
    assert_eq!(run(&["reset-second-factor", "nobody"]).0, Some(2));
}

#[test]
fn the_demo_says_how_to_get_in() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Process::start(folder.path(), &["--demo", "--demo-size", "5", "--listen", "127.0.0.1:0"]);
    // The log names a module of this name, too.
    let said = server.said("console: http://");
    let (url, rest) = said.split_once(" (name demo, password ").unwrap();
    let password = rest.trim_end().trim_end_matches(')');
    assert_eq!(password.len(), 43, "nobody guesses it");
    let address: std::net::SocketAddr = url.strip_suffix("/console").unwrap().parse().unwrap();
    assert!(address.ip().is_loopback());
    let page = client::request(address, "GET", "/console/sign-in", &[], b"");
    let fields = [("proof", &*proof(&page)), ("name", "demo"), ("password", password)];
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let cookie = cookie(&page, "tradepost-form").unwrap();
    let headers = [("Cookie", cookie.as_str())];
    let answer = client::request(address, "POST", "/console/sign-in", &headers, form.as_bytes());
    assert_eq!((answer.status, answer.header("location")), (303, Some("/console")));
    // Nothing of it is on the listener that buyers reach.
    let elsewhere = client::request(server.address, "GET", "/console/sign-in", &[], b"");
    assert_eq!(elsewhere.status, 404);
}
