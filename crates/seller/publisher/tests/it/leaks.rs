//! What no answer may show (`Z-3`, `Z-4`, `U-2`, `A-10`) and what every one has to have (`T-1`, `T-2`,
//! `O-2`). Every answer of this crate's tests is inspected here.

use tradepost_adcp::error::AdcpRelease;
use tradepost_adcp::{AdcpAnswer, AdcpTool};
use tradepost_document::json::{Map, Value, json};

use crate::support::schemas;

/// The longest `details`, in bytes of JSON (`Z-4`: about 500).
const MAX_DETAILS: usize = 600;

/// Looks at an answer to a request; says everything that is wrong with it.
pub(crate) fn problems(tool: AdcpTool, arguments: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let status = document["status"].as_str().unwrap_or_default();
    // There the status is that of the task that was asked about.
    let asked = tool == AdcpTool::GetTaskStatus && document["adcp_error"].is_null();
    let status = if asked { "completed" } else { status };
    let errors = document["errors"].as_array().cloned().unwrap_or_default();
    if status == "failed" {
        if document["adcp_error"].is_null() || Some(&document["adcp_error"]) != errors.first() {
            found.push("the layers of a failure differ".to_owned());
        }
        if errors.iter().any(|error| !error["severity"].is_null()) {
            found.push("a failure is called a warning".to_owned());
        }
    } else {
        if !document["adcp_error"].is_null() {
            found.push("a success has adcp_error".to_owned());
        }
        if errors.iter().any(|error| error["severity"] != "warning") {
            found.push("an error in a success is not called a warning".to_owned());
        }
    }
    if arguments["context"].is_object() && document["context"] != arguments["context"] {
        found.push("the context did not come back".to_owned());
    }
    let mut given = Given::default();
    given.collect(arguments, "");
    each_error(document, &mut |error| inspect(error, &given, &mut found));
    if status == "failed" {
        let message = document["message"].as_str().unwrap_or_default();
        prose("message", message, &given, &mut found);
    }
    found
}

/// What the published schemas of a release have against an answer's document.
pub(crate) fn schema_problems(
    release: AdcpRelease,
    tool: AdcpTool,
    document: &Value,
) -> Vec<String> {
    let errors = errors_of(document);
    let error = |error: &Value| schemas::against(release, "core/error.json", error);
    let mut found: Vec<String> = errors.iter().flat_map(error).collect();
    let waits = "media-buy/create-media-buy-async-response-input-required.json";
    let submitted = tool.request().replace("-request", "-async-response-submitted.json");
    let is_asked_about =
        matches!(tool, AdcpTool::GetTaskStatus) && document["adcp_error"].is_null();
    found.extend(match document["status"].as_str().unwrap_or_default() {
        _ if is_asked_about => schemas::violations(release, tool, document),
        // The controller's own failures are no failed tasks, so that its arm does not have these.
        "failed" if tool == AdcpTool::ComplyTestController || !schemas::has_arms(release, tool) => {
            Vec::new()
        }
        // Published apart from the response that they take the place of.
        "input-required" => schemas::against(release, waits, document),
        "submitted" if tool != AdcpTool::CreateMediaBuy => {
            schemas::against(release, &submitted, document)
        }
        _ => schemas::violations(release, tool, document),
    });
    found
}

fn errors_of(document: &Value) -> Vec<Value> {
    let mut errors = Vec::new();
    each_error(document, &mut |error| errors.push(Value::Object(error.clone())));
    errors
}

/// Panics when something is wrong with an answer, in the release that it is for or, where nothing
/// was lost on the way to that, in any other.
pub(crate) fn inspect_answer(tool: AdcpTool, arguments: &Value, answer: &AdcpAnswer) {
    let document = answer.document();
    let mut found = problems(tool, arguments, &document);
    for release in schemas::RELEASES {
        if release == answer.release {
            found.extend(schema_problems(release, tool, &document));
        } else if answer.release == AdcpRelease::V3_1 && can_be_said(release, tool, &document) {
            let other = answer.clone().spoken(tool, release).document();
            found.extend(schema_problems(release, tool, &other));
        }
    }
    let shown = tradepost_document::json::to_string_pretty(&document).unwrap();
    assert!(found.is_empty(), "{tool}: {found:#?}\nin {shown}");
}

/// Whether somebody who speaks another release can come to an answer like this one.
fn can_be_said(release: AdcpRelease, tool: AdcpTool, document: &Value) -> bool {
    match release {
        // Nobody says there which version of a feed they have, and the published words for tasks
        // (`enums/task-type.json`) lack one whose tasks are published.
        AdcpRelease::V3_0 => {
            let of = |task: &Value| task["task_type"] == "get_products";
            let mut tasks = document["tasks"].as_array().into_iter().flatten().chain([document]);
            document["unchanged"] != true && !tasks.any(of)
        }
        AdcpRelease::V3_1 => true,
        // Who demands less of signatures than 3.2 does not speak it.
        AdcpRelease::V3_2 => {
            let listed = &document["adcp"]["supported_versions"];
            tool != AdcpTool::GetAdcpCapabilities || listed.to_string().contains("\"3.2\"")
        }
    }
}

/// The texts that a caller has sent, and which of them are ids.
#[derive(Default)]
struct Given {
    texts: Vec<String>,
    ids: Vec<String>,
}

impl Given {
    /// Texts of eight characters and more. Words of the protocol (`creative.purged`, `net_30`,
    /// `operator`) are nobody's secret.
    fn collect(&mut self, value: &Value, name: &str) {
        match value {
            Value::String(text) => {
                let is_id = name.ends_with("_id") || name.ends_with("_ids") || name == "cursor";
                if is_id {
                    self.ids.push(text.clone());
                } else if text.chars().count() >= 8 && !is_word(text) {
                    self.texts.push(text.clone());
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, name)),
            Value::Object(members) => {
                for (member, value) in members {
                    if name.is_empty() && member == "context" {
                        continue;
                    }
                    self.collect(value, member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

fn is_word(text: &str) -> bool {
    let plain = |letter: char| {
        letter.is_ascii_lowercase() || letter == '_' || letter == '.' || letter.is_ascii_digit()
    };
    !text.contains("..")
        && text.chars().all(plain)
        && text.split('.').count() <= 2
        && !text.ends_with(".example")
        && !text.ends_with(".com")
}

/// Every error object of an answer, also those of rows; a failure's stand in two layers.
fn each_error(value: &Value, look: &mut impl FnMut(&Map)) {
    match value {
        Value::Object(members) => {
            if let Some(error) = members.get("adcp_error").and_then(Value::as_object) {
                look(error);
            }
            for error in members.get("errors").and_then(Value::as_array).into_iter().flatten() {
                error.as_object().into_iter().for_each(&mut *look);
            }
            for (name, value) in members {
                if name != "context" {
                    each_error(value, look);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_error(item, look)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn inspect(error: &Map, given: &Given, found: &mut Vec<String>) {
    let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
    let code = text("code");
    if code.is_empty() || code.len() > 64 {
        found.push("an error has no code".to_owned());
    }
    if !matches!(text("recovery"), "transient" | "correctable" | "terminal") {
        found.push(format!("{code} has no recovery"));
    }
    let size = tradepost_document::json::to_string(error).unwrap().len();
    if size > 4096 {
        found.push(format!("{code} is of {size} bytes"));
    }
    if text("message").is_empty() || text("message").len() > 256 || text("suggestion").len() > 512 {
        found.push(format!("the message or the suggestion of {code} is empty or too long"));
    }
    prose("message", text("message"), given, found);
    prose("suggestion", text("suggestion"), given, found);
    for issue in error.get("issues").and_then(Value::as_array).into_iter().flatten() {
        prose("message of an issue", issue["message"].as_str().unwrap_or_default(), given, found);
    }
    let field = text("field");
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.[]-\"'".contains(letter);
    if !field.chars().all(plain) || field.starts_with('.') {
        found.push(format!("the field of {code} is no path: {field}"));
    }
    if let Some(details) = error.get("details") {
        let written = details.to_string();
        // What can be done instead is published as a list (`action-not-allowed.json`).
        let listed = code == "ACTION_NOT_ALLOWED";
        if written.len() > MAX_DETAILS && !listed {
            found.push(format!("the details of {code} are of {} bytes", written.len()));
        }
        find_internals("details", &written, found);
        let echo = given.texts.iter().find(|text| written.contains(text.as_str()));
        found.extend(echo.map(|text| format!("the details of {code} repeat {text}")));
    }
}

/// A sentence for people: it repeats nothing of what was sent, ids included.
fn prose(what: &str, sentence: &str, given: &Given, found: &mut Vec<String>) {
    find_internals(what, sentence, found);
    let long = given.ids.iter().filter(|id| id.chars().count() >= 8);
    let echo = given.texts.iter().chain(long).find(|text| sentence.contains(text.as_str()));
    found.extend(echo.map(|text| format!("the {what} repeats {text}")));
}

/// Adds a finding for paths, code, SQL, secrets, local addresses, invisible characters and long tokens.
fn find_internals(what: &str, text: &str, found: &mut Vec<String>) {
    let inside = [
        "/home/",
        "/usr/",
        "/tmp/",
        "/var/",
        "/work/",
        "/etc/",
        "C:\\",
        ".rs:",
        "src/",
        "SELECT ",
        "INSERT ",
        "UPDATE ",
        "DELETE ",
        "UNIQUE constraint",
        "sqlite",
        "panicked",
        "backtrace",
        "thread '",
        "unwrap()",
        "serde",
        "missing field",
        "-----BEGIN",
        "PRIVATE KEY",
        "Bearer ",
        "Basic ",
        "eyJ",
        "sk-",
        "localhost",
        "127.0.0.1",
        "0.0.0.0",
        "::1",
        "postgres://",
        "\u{0}",
        "\u{200b}",
        "\u{202e}",
        "\n",
    ];
    for part in inside {
        if text.contains(part) {
            found.push(format!("{what} shows {part:?}"));
        }
    }
    let token = |word: &str| {
        word.len() >= 32
            && word
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_')
            && word.chars().any(|letter| letter.is_ascii_digit())
            && !word.contains("__")
    };
    let split = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '-' || letter == '_');
    found.extend(
        text.split(split).find(|word| token(word)).map(|word| format!("{what} shows {word:?}")),
    );
}

/// What the scanner finds in an answer, as lines.
fn found(arguments: &Value, document: &Value) -> String {
    problems(AdcpTool::GetAdcpCapabilities, arguments, document).join("\n")
}

#[test]
fn the_scanner_finds_what_an_answer_must_not_show() {
    let arguments = json!({
        "context": {"trace": "trace-1234"}, "brief": "Sneakers for Jane Roe", "media_buy_id": "mb_12345678",
        "account": {"brand": {"domain": "acmeoutdoor.example"}},
    });
    let error = |error: Value| {
        json!({"status": "failed", "message": "no", "adcp_error": error, "errors": [error],
            "context": {"trace": "trace-1234"}})
    };
    let check = |document: Value, expected: expect_test::Expect| {
        expected.assert_eq(&found(&arguments, &document));
    };
    use expect_test::expect;
    let fine = json!({"code": "X", "message": "no", "recovery": "terminal"});
    check(error(fine.clone()), expect![""]);
    let one_layer = json!({"status": "failed", "errors": [fine], "context": {}});
    check(
        one_layer,
        expect![[r#"
        the layers of a failure differ
        the context did not come back"#]],
    );
    check(
        error(json!({"code": "X", "message": "no buy mb_12345678 of Sneakers for Jane Roe"})),
        expect![[r#"
            X has no recovery
            the message repeats Sneakers for Jane Roe
            X has no recovery
            the message repeats Sneakers for Jane Roe"#]],
    );
    check(
        error(json!({"code": "X", "message": "no buy mb_12345678", "recovery": "terminal"})),
        expect![[r#"
            the message repeats mb_12345678
            the message repeats mb_12345678"#]],
    );
    check(
        error(json!({"code": "X", "message": "at /home/a/src/x.rs:3: UNIQUE constraint failed",
            "recovery": "terminal", "field": "a b",
            "details": {"of": "acmeoutdoor.example", "key": "0123456789abcdef0123456789abcdef"}})),
        expect![[r#"
            message shows "/home/"
            message shows ".rs:"
            message shows "src/"
            message shows "UNIQUE constraint"
            the field of X is no path: a b
            details shows "0123456789abcdef0123456789abcdef"
            the details of X repeat acmeoutdoor.example
            message shows "/home/"
            message shows ".rs:"
            message shows "src/"
            message shows "UNIQUE constraint"
            the field of X is no path: a b
            details shows "0123456789abcdef0123456789abcdef"
            the details of X repeat acmeoutdoor.example"#]],
    );
    let row = json!({"status": "completed", "message": "Jane Roe is fine in a result",
        "accounts": [{"errors": [{"code": "X", "message": "no", "details": {"a": "b".repeat(700)}}]}],
        "errors": [{"code": "Y", "message": "stale", "recovery": "transient"}],
        "context": {"trace": "trace-1234"}});
    let lines = found(&arguments, &row);
    for expected in [
        "an error in a success is not called a warning",
        "X has no recovery",
        "the details of X are of 708 bytes",
    ] {
        assert!(lines.contains(expected), "{expected} is not in\n{lines}");
    }
}
