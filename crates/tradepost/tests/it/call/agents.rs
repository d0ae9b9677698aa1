//! `tradepost call --text` as a process, before the conformance agent: an agent of A2A that has
//! never heard of dealers, streams or does not, and asks back.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::conformance::Profile;
use expect_test::{Expect, expect};
use tradepost_document::json::Value;

use super::{ended, stop};
use crate::support::conformance::{ConformanceServer, start_conformance};

fn say(server: &ConformanceServer, arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["call", &format!("http://{}", server.address)])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What was said in the end, with names in place of what is different every time.
fn check(server: &ConformanceServer, arguments: &[&str], expected: &Expect) {
    let (exit, shown, said) = ended(say(server, arguments));
    // How often a task is looked at on its way is a matter of time.
    let said: Vec<_> =
        said.lines().filter(|line| !["submitted", "working"].contains(line)).collect();
    let text = format!("{exit}\n{shown}--\n{}\n", said.join("\n"));
    let text = text.replace(&server.address.to_string(), "AGENT");
    expected.assert_eq(&without_ids(&text));
}

fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.matches('-').count() == 4;
    let line = |line: &str| {
        let words = line.split(' ').map(|word| {
            let bare = word.trim_end_matches([':', ',']);
            if is_id(bare) { word.replace(bare, "ID") } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(|text| line(text) + "\n").collect()
}

#[test]
fn a_task_is_followed_by_stream_or_asking_and_shown() {
    let streaming = start_conformance(Profile::Streaming);
    let plain = start_conformance(Profile::Plain);
    check(
        &streaming,
        &["--text", "tck-message-response"],
        &expect![[r#"
            0
            Direct message response
            --
            to continue: --conversation ID
        "#]],
    );
    check(
        &streaming,
        &["--text", "tck-stream-artifact-chunked"],
        &expect![[r#"
            0
            chunk-1 chunk-2
            --
            to continue: --conversation ID
        "#]],
    );
    for (server, more) in [(&plain, &[][..]), (&streaming, &["--poll"][..]), (&streaming, &[])] {
        let arguments = [&["--text", "tck-long-running"][..], more].concat();
        let (exit, shown, said) = ended(say(server, &arguments));
        assert_eq!((exit, shown.as_str()), (0, "Long task result\n\nHello from TCK\n"), "{said}");
    }
    check(
        &streaming,
        &["--text", "tck-artifact-data"],
        &expect![[r#"
            0
            {
              "key": "value",
              "count": 42
            }
            --
            to continue: --conversation ID
        "#]],
    );
    check(
        &streaming,
        &["--text", "tck-artifact-file-url"],
        &expect![[r#"
            0
            file output.txt text/plain: https://example.com/output.txt
            --
            to continue: --conversation ID
        "#]],
    );
}

#[test]
fn every_binding_says_the_same_of_done_refused_and_cancelled() {
    let server = start_conformance(Profile::Streaming);
    let everywhere = |arguments: &[&str]| {
        let said = ["JSONRPC", "http+json", "grpc"].map(|binding| {
            let (exit, shown, said) =
                ended(say(&server, &[arguments, &["--binding", binding]].concat()));
            let said: Vec<_> =
                said.lines().filter(|line| !["submitted", "working"].contains(line)).collect();
            without_ids(&format!("{exit}\n{shown}--\n{}\n", said.join("\n")))
        });
        assert_eq!(said[0], said[1], "{arguments:?}");
        assert_eq!(said[0], said[2], "{arguments:?}");
        said[0].clone()
    };
    for words in ["tck-message-response", "tck-artifact-data", "tck-input-required"] {
        everywhere(&["--text", words]);
        everywhere(&["--text", words, "--poll"]);
    }
    let done = everywhere(&["--text", "tck-stream-artifact-chunked"]);
    assert!(done.starts_with("0\nchunk-1 chunk-2\n"), "{done}");
    let missing = everywhere(&["--task", "6f1c3a52-0d1e-4c57-8f4e-2c8b8a7d9e10"]);
    assert!(missing.contains("TASK_NOT_FOUND"), "{missing}");
    for binding in ["jsonrpc", "http+json", "grpc"] {
        let begun = ["--text", "tck-cancel", "--follow", "1", "--json", "--binding", binding];
        let (_, shown, _) = ended(say(&server, &begun));
        let begun: Value = tradepost_document::json::from_str(&shown).unwrap();
        let id = begun["error"]["task"]["id"].as_str().unwrap();
        let ending = ["--task", id, "--cancel", "--json", "--binding", binding];
        let (_, shown, _) = ended(say(&server, &ending));
        let ended: Value = tradepost_document::json::from_str(&shown).unwrap();
        let task = ended.pointer("/error/task").unwrap_or(&ended["task"]);
        assert_eq!(task["status"]["state"], "TASK_STATE_CANCELED", "{shown}");
    }
    let (exit, _, said) = ended(say(&server, &["--text", "hello", "--binding", "smtp"]));
    assert_eq!(exit, 2, "{said}");
    assert!(said.contains("must be one of JSONRPC, HTTP+JSON, GRPC"), "{said}");
}

#[test]
fn what_an_agent_awaits_is_said_with_the_next_command() {
    let server = start_conformance(Profile::Streaming);
    check(
        &server,
        &["--text", "tck-input-required"],
        &expect![[r#"
            12
            More input is needed
            --
            error: the agent waits for an answer: More input is needed
            hint: answer with tradepost call http://AGENT --task ID --conversation ID --text "…"
        "#]],
    );
    check(
        &server,
        &["--text", "tck-auth-required"],
        &expect![[r#"
            12
            A credential is needed
            --
            error: the agent waits for a credential or a permission: A credential is needed
            hint: provide it, then follow the task with tradepost call http://AGENT --task ID
        "#]],
    );
    let (exit, shown, _) = ended(say(&server, &["--text", "tck-input-required", "--json"]));
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    assert_eq!((exit, &error["next"]["action"]), (12, &"answer".into()));
    assert_eq!(error["agent"]["a2a_version"], "1.0");
    let id = error["task"]["id"].as_str().unwrap();
    let (exit, shown, _) = ended(say(&server, &["--task", id, "--text", "here", "--json"]));
    let answered: Value = tradepost_document::json::from_str(&shown).unwrap();
    assert_eq!((exit, &answered["task"]["id"]), (0, &id.into()));
    assert_eq!(answered["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(answered["next"], Value::Null);
}

#[test]
fn a_task_that_ends_without_a_result_is_a_failure() {
    let server = start_conformance(Profile::Streaming);
    check(
        &server,
        &["--text", "tck-reject-task"],
        &expect![[r#"
            9
            rejected
            --
            error: the seller failed: rejected
              retry: no, the same request would be refused again
              task ID: rejected
            hint: act on the seller's message
        "#]],
    );
    check(
        &server,
        &["--task", "nobody-has-this"],
        &expect![[r#"
            4
            --
            error: TASK_NOT_FOUND: the task does not exist, or is not yours
              taskId: nobody-has-this
              retry: no, the same request would be refused again
            hint: check the task id; this agent might not store tasks
        "#]],
    );
    check(
        &server,
        &["--make", "Honda", "--text", "hello"],
        &expect![[r#"
            2
            --
            error: --make are options for AAP skills
            hint: name the skill, or describe it in --text
        "#]],
    );
    let (exit, _, said) = ended(say(&server, &[]));
    assert_eq!(exit, 2, "{said}");
    let (exit, _, said) = ended(say(&server, &["search", "--text", "hello"]));
    assert_eq!(exit, 2, "{said}");
}

#[test]
fn a_running_task_is_left_with_the_command_to_follow() {
    let server = start_conformance(Profile::Plain);
    let (exit, _, said) = ended(say(&server, &["--text", "tck-cancel", "--follow", "1"]));
    assert_eq!(exit, 13, "{said}");
    let (_, hint) = said.split_once("hint: follow it with ").unwrap();
    let id = hint.trim_end().rsplit(' ').next().unwrap();

    let mut child = say(&server, &["--task", id, "--json"]);
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    assert!(["submitted\n", "working\n"].contains(&line.as_str()), "{line}");
    stop(&child);
    let (exit, shown, _) = ended(child);
    let error = &tradepost_document::json::from_str::<Value>(&shown).unwrap()["error"];
    assert_eq!((exit, &error["task"]["id"]), (130, &id.into()));
    assert_eq!(error["next"]["action"], "follow");
}

#[test]
fn who_has_keys_does_not_speak_to_unsigned_cards() {
    let server = start_conformance(Profile::Plain);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    let jwk = crate::support::signer::Signer::new("k").public();
    std::fs::write(&path, tradepost_document::json::json!({"keys": [jwk]}).to_string()).unwrap();
    let keys = path.to_str().unwrap();
    let (exit, _, said) = ended(say(&server, &["--text", "hello", "--keys", keys]));
    assert_eq!(exit, 11, "{said}");
}
