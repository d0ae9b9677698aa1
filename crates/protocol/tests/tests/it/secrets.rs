//! No refusal repeats a caller's value. Every text of a request is marked; the answer is searched
//! for the mark. Echoed on purpose, and therefore never marked: member names (clipped, §2.2), the
//! payload's `type` (E-041), and what only the dealer's own data can refuse (identifiers, the
//! idempotency key), which parsing never echoes.

use proptest::test_runner::{TestCaseError, TestRunner};
use tradepost_a2a as a2a;
use tradepost_a2a::jsonrpc;
use tradepost_aap::{self as aap, Skill};
use tradepost_document::catalog::Vocabulary;
use tradepost_document::json::{Value, json};

use crate::equivalence::config;
use crate::mutate::{apply, mutations};
use crate::oracle;
use crate::seeds::{self, Seed};

const MARK: &str = "ANNA-LEE-4085550199";

/// Puts the mark in front of every `step`th text and in the place of some numbers, save for the
/// payload's type.
fn mark(value: &mut Value, step: usize, count: &mut usize) {
    match value {
        Value::String(text) => {
            *count += 1;
            if count.is_multiple_of(step) {
                *text = format!("{MARK}{text}");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, step, count)),
        Value::Object(members) => {
            for (key, member) in members {
                if key != "type" {
                    mark(member, step, count);
                }
            }
        }
        Value::Number(_) => {
            *count += 1;
            if count.is_multiple_of(7) {
                *value = json!(40_855_501_994_567_890_u64);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn leaks(answer: &str) -> bool {
    answer.contains(MARK) || answer.contains("4085550199") || answer.contains("40855501994")
}

#[test]
fn no_refusal_of_a_profile_repeats_a_value() {
    let seeds = seeds::all();
    let mut runner = TestRunner::new(config(1_500));
    let strategy = (0..seeds.len(), 1..5_usize, mutations());
    let result = runner.run(&strategy, |(index, step, mutations)| {
        let Seed { version, skill, mut data, .. } = seeds[index].clone();
        mutations.iter().for_each(|mutation| apply(&mut data, mutation));
        mark(&mut data, step, &mut 0);
        if let Err(refusal) = oracle::parse(version, skill, &data) {
            let object = refusal.stamp(version, "error-1".into(), oracle::terms().now);
            let answer =
                tradepost_document::json::to_string(&object).unwrap() + &object.jsonrpc_message();
            if leaks(&answer) {
                return Err(TestCaseError::fail(format!("{answer}\nfor {data}")));
            }
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn a_marked_request_is_refused_in_every_skill_with_values() {
    // The test above would pass for want of refusals; these are certain ones.
    for Seed { version, skill, mut data, .. } in seeds::rich() {
        mark(&mut data, 1, &mut 0);
        let refusal = oracle::parse(version, skill, &data).unwrap_err();
        assert!(data.to_string().contains(MARK), "{skill}");
        let object = refusal.stamp(version, "error-1".into(), oracle::terms().now);
        assert!(!leaks(&tradepost_document::json::to_string(&object).unwrap()), "{skill}");
    }
}

#[test]
fn no_refusal_of_the_envelope_repeats_a_value() {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "contextId": "c", "taskId": "t",
        "extensions": ["e"], "parts": [{"text": "t"}, {"data": {}, "mediaType": "application/json"}]});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": message, "configuration": {"acceptedOutputModes": ["x"]}}});
    let mut runner = TestRunner::new(config(1_500));
    let result = runner.run(&(1..5_usize, mutations()), |(step, mutations)| {
        let mut request = request.clone();
        mutations.iter().for_each(|mutation| apply(&mut request, mutation));
        mark(&mut request, step, &mut 0);
        let answer = match jsonrpc::read(request.to_string().as_bytes()) {
            Err(reject) => reject.message.to_owned(),
            Ok(request) => match a2a::send_message(request.params.as_ref()) {
                Ok(_) => String::new(),
                Err(refusal) => {
                    refusal.message.clone()
                        + &tradepost_document::json::to_string(&refusal).unwrap()
                }
            },
        };
        if leaks(&answer) {
            return Err(TestCaseError::fail(format!("{answer}\nfor {request}")));
        }
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn only_a_well_formed_payload_type_is_repeated() {
    for (kind, repeated) in [
        (format!("{MARK}.request"), false),
        ("Anna.Lee.request".to_owned(), false),
        ("anna.lee.response".to_owned(), false),
        ("vehicle.reserve.request".to_owned(), true),
    ] {
        let refusal = aap::identify(&json!({"type": kind}), Skill::ALL).unwrap_err();
        let version = aap::Version::V1_1;
        let object = refusal.stamp(version, "error-1".into(), oracle::terms().now);
        let answer = tradepost_document::json::to_string(&object).unwrap();
        assert_eq!(answer.contains(&kind), repeated, "{kind}: {answer}");
    }
}
