//! Which store a command works on: the same for every command, from options, environment and
//! configuration; and what it says of a configuration that cannot be used.

use std::path::Path;
use std::process::{Command, Output};

use tradepost_document::json::Value;
use tradepost_store::Store;

use crate::support::postgres::Scratch;
use crate::support::{dealer, lead, start_on};

/// A configuration with everything that commands need, and a place for its database.
const CONFIG: &str = r#"
    [server]
    listen = "127.0.0.1:0"
    hosting = true
    database = "DATABASE"

    [[dealers]]
    id = "fixed"
    name = "Fixed Motors"
    hosts = ["fixed.example"]
    auth = { api_keys = true }

    [[dealers.rooftops]]
    name = "Fixed Motors Downtown"

    [[publishers]]
    id = "gazette"
    name = "Gazette"
    domain = "gazette.example"
    hosts = ["gazette.example"]
"#;

/// A database at which nobody answers, by its name.
fn unreachable(name: &str) -> String {
    format!("postgres://nobody@127.0.0.1:1/{name}")
}

/// A time that is blocked.
const BLOCK_TIME: &[&str] = &[
    "appointments",
    "block",
    "--rooftop",
    "Downtown",
    "--department",
    "sales",
    "--from",
    "2026-05-01T11:00",
    "--until",
    "2026-05-01T12:00",
    "--reason",
    "Training",
];

/// Every command that opens the store, with arguments that are good enough to come that far.
const COMMANDS: &[&[&str]] = &[
    &["leads", "assign", "lead_1", "--nobody"],
    &["leads", "stage", "lead_1", "--stage", "working"],
    &["leads", "next", "lead_1", "--done"],
    &["appointments", "list"],
    &["appointments", "confirm", "appt_1"],
    &["appointments", "move", "appt_1", "--version", "1", "--to", "2026-05-01T11:00"],
    &["appointments", "cancel", "appt_1"],
    &["appointments", "no-show", "appt_1"],
    BLOCK_TIME,
    &["appointments", "unblock", "block_1"],
    &["appointments", "feed", "create", "--rooftop", "Fixed Motors Downtown"],
    &["appointments", "feed", "list"],
    &["appointments", "feed", "revoke", "--rooftop", "Fixed Motors Downtown"],
    &["audit", "list"],
    &["audit", "verify"],
    &["audit", "export"],
    &["audit", "export", "--head"],
    &["backup", "copy.backup"],
    &["console", "user", "add", "ada", "--role", "desk", "--all-dealers"],
    &["console", "user", "list"],
    &["console", "user", "set-password", "ada"],
    &["console", "user", "remove", "ada"],
    &["console", "audit"],
    &["console", "audit", "--verify"],
    &["dealer", "add", "dealer.json"],
    &["dealer", "list"],
    &["dealer", "show", "one"],
    &["dealer", "set", "one", "name=Other"],
    &["dealer", "suspend", "one"],
    &["dealer", "resume", "one"],
    &["dealer", "remove", "one"],
    &["doctor", "--timeout", "5"],
    &["feeds", "list"],
    &["feeds", "show", "one"],
    &["feeds", "run", "one"],
    &["import", "feed.csv"],
    &["keys", "create", "--dealer", "fixed", "--name", "agent"],
    &["keys", "create", "--admin", "--name", "ops"],
    &["keys", "list"],
    &["keys", "revoke", "0123456789abcdef"],
    &["leads", "list"],
    &["leads", "show", "lead_1"],
    &["leads", "export"],
    &["leads", "export", "--format", "adf"],
    &["leads", "evidence", "lead_1"],
    &["leads", "release", "lead_1"],
    &["leads", "revoke", "lead_1"],
    &["leads", "erase", "--email", "a@example.com"],
    &["leads", "times"],
    &["leads", "deliveries"],
    &["leads", "resend", "lead_1"],
    &["leads", "test-delivery", "crm"],
    &["leads", "verify"],
    &["migrate"],
    &["migrate-store", "--data", "old"],
    &["privacy", "status"],
    &["privacy", "rekey", "--key-file", "key"],
    &["privacy", "forget-key", "0123", "--key-file", "key"],
    &["privacy", "export", "--email", "a@example.com"],
    &["privacy", "erase", "--email", "a@example.com"],
    &["publisher", "accounts", "list"],
    &["publisher", "accounts", "show", "acc_1"],
    &["publisher", "accounts", "export"],
    &["publisher", "buys", "list"],
    &["publisher", "buys", "show", "mb_1"],
    &["publisher", "buys", "export"],
    &["publisher", "creatives", "list"],
    &["publisher", "creatives", "show", "banner"],
    &["publisher", "creatives", "export"],
    &["publisher", "delivery", "list"],
    &["publisher", "delivery", "show", "mb_1"],
    &["publisher", "delivery", "export"],
    &["publisher", "inventory", "list"],
    &["publisher", "inventory", "export"],
    &["publisher", "inventory", "check"],
    &["publisher", "inventory", "repair"],
    &["publisher", "packages", "list"],
    &["publisher", "packages", "show", "pkg_1"],
    &["publisher", "packages", "export"],
    &["publisher", "proposals", "list"],
    &["publisher", "proposals", "show", "prop_1"],
    &["publisher", "proposals", "export"],
    &["publisher", "tasks", "list"],
    &["publisher", "tasks", "show", "task_1"],
    &["publisher", "tasks", "export"],
    &["publisher", "list", "accounts"],
    &["publisher", "approve", "account", "acc_1"],
    &["publisher", "pause", "buy", "mb_1"],
    &["publisher", "cancel", "buy", "mb_1"],
    &["publisher", "grant", "acc_1", "agent"],
    &["publisher", "ad-server", "check"],
    &["publisher", "ad-server", "status"],
    &["publisher", "ad-server", "reconcile"],
    &["publisher", "ad-server", "retry", "mb_1"],
    &["publisher", "deliveries"],
    &["publisher", "resend"],
    &["push", "list"],
    &["push", "retry", "--all"],
    &["refusals", "list"],
    &["refusals", "show", "err_1"],
    &["restore", "copy.backup"],
    &["serve"],
    &["week"],
    &["week", "--dealer", "fixed", "--week", "2026-W48"],
];

/// A folder with what the commands name, and a store in `tradepost-data` that none of them is to read.
fn workplace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("key", "1111111111111111111111111111111111111111111111111111111111111111"),
        ("feed.csv", "VIN\n"),
        ("dealer.json", "{}"),
        ("copy.backup", "no backup"),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    for name in ["tradepost-data", "old"] {
        drop(Store::open(&folder.path().join(name)).unwrap());
    }
    folder
}

fn run(folder: &Path, arguments: &[&str], more: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    command.current_dir(folder).env_remove("TRADEPOST_SERVER__DATABASE").env_remove("SUDO_USER");
    command.env_remove("TRADEPOST_PRIVACY_KEY").envs(environment.iter().copied());
    command.args(arguments).args(more).output().unwrap()
}

fn text(output: &Output) -> String {
    let streams = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    String::from_utf8(streams).unwrap()
}

/// Where a connection that fails shows in what a command says.
fn names(output: &Output, database: &str) -> bool {
    !output.status.success() && text(output).contains(&format!("postgres://127.0.0.1/{database}"))
}

#[test]
fn every_command_reads_the_configured_database_here_and_elsewhere() {
    let folder = workplace();
    let config = folder.path().join("tradepost.toml");
    std::fs::write(&config, CONFIG.replace("DATABASE", &unreachable("here"))).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("shop.toml");
    std::fs::write(&other, CONFIG.replace("DATABASE", &unreachable("elsewhere"))).unwrap();
    let mut wrong = Vec::new();
    for command in COMMANDS {
        let here = run(folder.path(), command, &[], &[]);
        let there = run(folder.path(), command, &["--config", other.to_str().unwrap()], &[]);
        for (output, database) in [(here, "here"), (there, "elsewhere")] {
            if !names(&output, database) {
                wrong.push(format!("{command:?} ({database}): {}", text(&output)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_says_the_same_of_an_unusable_configuration() {
    let folder = workplace();
    std::fs::write(folder.path().join("wrong.toml"), "[server]\nlisten = 1\n").unwrap();
    let mut wrong = Vec::new();
    for command in COMMANDS {
        for (file, code) in
            [("missing.toml", "config_unreadable"), ("wrong.toml", "config_invalid")]
        {
            let output = run(folder.path(), command, &["--config", file, "--json"], &[]);
            let said: Option<Value> = tradepost_document::json::from_slice(&output.stdout).ok();
            let error = said.and_then(|said| said.get("error").cloned()).unwrap_or_default();
            let is_typed = error["code"] == code && error["hint"].as_str().is_some();
            if output.status.code() != Some(2) || !is_typed {
                wrong.push(format!("{command:?} ({file}): {}", text(&output)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn options_come_before_the_environment_and_that_before_the_configuration() {
    let folder = workplace();
    let option = unreachable("option");
    let variable = [("TRADEPOST_SERVER__DATABASE", &*unreachable("variable"))];
    let configured = CONFIG.replace("DATABASE", &unreachable("configured"));
    let file = folder.path().join("tradepost.toml");
    let commands: &[&[&str]] = &[
        &["leads", "list"],
        &["keys", "list"],
        &["console", "user", "list"],
        &["audit", "verify"],
        &["push", "list"],
    ];
    for command in commands {
        std::fs::write(&file, &configured).unwrap();
        let by_option = run(folder.path(), command, &["--database", &option], &variable);
        assert!(names(&by_option, "option"), "{command:?}: {}", text(&by_option));
        let by_variable = run(folder.path(), command, &[], &variable);
        assert!(names(&by_variable, "variable"), "{command:?}: {}", text(&by_variable));
        let by_file = run(folder.path(), command, &["--data", "old"], &[]);
        assert!(names(&by_file, "configured"), "{command:?}: {}", text(&by_file));
        assert!(text(&by_file).contains("--data is not used"), "{}", text(&by_file));
        std::fs::remove_file(&file).unwrap();
        let by_variable = run(folder.path(), command, &[], &variable);
        assert!(names(&by_variable, "variable"), "{command:?}: {}", text(&by_variable));
        let by_default = run(folder.path(), command, &[], &[]);
        assert!(by_default.status.success(), "{command:?}: {}", text(&by_default));
    }
}

#[test]
fn what_a_configured_postgresql_keeps_is_what_commands_show() {
    let Some(scratch) = Scratch::new() else { return };
    let config = dealer::config();
    let store = scratch.store();
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    let answer = server.payload(&lead());
    let lead_id = answer["data"]["lead_id"].as_str().unwrap().to_owned();
    drop(server);
    let folder = workplace();
    let text_of = CONFIG.replace("DATABASE", &scratch.address());
    std::fs::write(folder.path().join("tradepost.toml"), text_of).unwrap();
    let made: &[&[&str]] = &[
        &["console", "user", "add", "petra", "--role", "manager", "--dealer", "fixed"],
        &["keys", "create", "--dealer", "fixed", "--name", "shopper"],
    ];
    for command in made {
        let output = run(folder.path(), command, &[], &[]);
        assert!(output.status.success(), "{command:?}: {}", text(&output));
    }
    let shown: &[(&[&str], &str)] = &[
        (&["leads", "list"], lead_id.as_str()),
        (&["leads", "export"], &lead_id),
        (&["leads", "export", "--format", "csv"], &lead_id),
        (&["leads", "times", "--json"], "\"waiting\": 1"),
        (&["leads", "verify"], "1 record"),
        (&["console", "user", "list"], "petra"),
        (&["console", "audit", "--dealer", "fixed"], "petra"),
        (&["audit", "list"], "petra"),
        (&["audit", "verify"], "audit log of fixed: 2 entries"),
        (&["audit", "export"], &lead_id),
        (&["audit", "export", "--head"], "fixed"),
        (&["keys", "list"], "shopper"),
        (&["dealer", "list"], "fixed"),
        (&["privacy", "status"], "not encrypted"),
        (&["push", "list"], "no webhooks to list"),
        (&["refusals", "list"], "no refusals in the last 30 days"),
        (&["feeds", "list"], "no feeds are configured"),
        (&["publisher", "list", "accounts"], "no accounts"),
        (&["migrate"], "is up to date"),
    ];
    for (command, expected) in shown {
        let output = run(folder.path(), command, &[], &[]);
        let said = text(&output);
        assert!(output.status.success() && said.contains(expected), "{command:?}: {said}");
    }
    let show = run(folder.path(), &["leads", "show", &lead_id], &[], &[]);
    assert!(text(&show).contains(&lead_id), "{}", text(&show));
}

#[test]
fn an_unknown_dealer_is_an_error_of_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let config = dealer::config();
    let store = Store::open(&folder.path().join("tradepost-data")).unwrap();
    dealer::stock(&store, &config);
    drop(store);
    let text_of = CONFIG.replace("database = \"DATABASE\"", "");
    std::fs::write(folder.path().join("tradepost.toml"), text_of).unwrap();
    std::fs::write(folder.path().join("feed.csv"), "VIN\n").unwrap();
    let commands: &[&[&str]] = &[
        &["appointments", "list"],
        BLOCK_TIME,
        &["leads", "list"],
        &["leads", "export"],
        &["leads", "times"],
        &["leads", "deliveries"],
        &["leads", "verify"],
        &["leads", "erase", "--email", "a@example.com"],
        &["leads", "test-delivery", "crm"],
        &["privacy", "export", "--email", "a@example.com"],
        &["privacy", "erase", "--email", "a@example.com"],
        &["audit", "list"],
        &["audit", "export"],
        &["console", "audit"],
        &["keys", "create", "--name", "agent"],
        &["keys", "list"],
        &["feeds", "show", "one"],
        &["feeds", "run", "one"],
        &["import", "feed.csv"],
    ];
    for command in commands {
        let output = run(folder.path(), command, &["--dealer", "fixde", "--json"], &[]);
        let said: Value = tradepost_document::json::from_slice(&output.stdout).unwrap_or_default();
        let error = &said["error"];
        assert_eq!(output.status.code(), Some(2), "{command:?}: {}", text(&output));
        assert_eq!(error["code"], "unknown_dealer", "{command:?}: {said}");
        assert_eq!(error["message"], "there is no dealer \"fixde\"", "{command:?}");
        assert_eq!(error["hint"], "did you mean fixed?", "{command:?}");
    }
    let output = run(folder.path(), &["leads", "list"], &["--dealer", "nobody", "--json"], &[]);
    let said: Value = tradepost_document::json::from_slice(&output.stdout).unwrap();
    let hint = said["error"]["hint"].as_str().unwrap();
    assert!(
        hint.starts_with("the known dealers are ")
            && hint.contains(dealer::ID)
            && hint.contains("fixed"),
        "{hint}"
    );
    for known in ["fixed", dealer::ID] {
        let output = run(folder.path(), &["leads", "list"], &["--dealer", known], &[]);
        assert!(output.status.success(), "{known}: {}", text(&output));
    }
}
