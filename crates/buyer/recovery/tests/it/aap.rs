//! Vectors of AAP: every code as a dealer sends it over JSON-RPC, HTTP+JSON and gRPC, and in the place of a result.

use std::time::Duration;

use expect_test::expect_file;
use jiff::Timestamp;
use tradepost_a2a::error::retry_info;
use tradepost_a2a::status::RpcStatus;
use tradepost_aap::error::{AapCode as Aap, DOMAIN, Remedy, SampleRequest};
use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Value, json, object, to_value};

use crate::a2a::grpc_answer;
use crate::hostile;
use crate::vector::{Vector, file};

const SOURCE: &str = "AAP 1.1, Errors";

/// Refusal as a dealer sends it.
struct DealerRefusal {
    object: Value,
    message: String,
    wait: Option<Duration>,
}

fn refusal(code: Aap) -> DealerRefusal {
    let now: Timestamp = "2026-05-04T10:00:00Z".parse().unwrap();
    let asked = SampleRequest {
        skill: Some(Skill::LeadSubmit),
        vehicle: &[("stock", "F10265")],
        appointment_at: Some(now),
        key: "try-1",
        lead_id: "lead_1",
        dealer_id: "larkspur",
        wait: Duration::from_secs(7),
        now,
    };
    let refusal = code.sample()(&asked);
    let wait = refusal.wait;
    let object = refusal.stamp(Version::V1_1, "err_1".to_owned(), now);
    let message = object.jsonrpc_message();
    DealerRefusal { object: to_value(&object).unwrap(), message, wait }
}

/// Returns the next step that the columns of a code leave.
fn expected(code: Aap) -> &'static str {
    match code.remedy() {
        Remedy::NotOffered => "stop:not_offered",
        Remedy::Correct => "fix:request",
        Remedy::SearchAgain => "fix:search_again",
        Remedy::AskConsent => "ask:consent",
        Remedy::AskTime => "ask:other_time",
        Remedy::NewKey => "fix:new_key",
        Remedy::SlowDown | Remedy::TryAgain => "retry",
    }
}

fn error_info(code: Aap, refusal: &DealerRefusal) -> Value {
    json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code.name(),
        "domain": DOMAIN,
        "metadata": {"error_id": "err_1", "retryable": refusal.object["retryable"].to_string()}})
}

fn codes() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for code in Aap::ALL.iter().copied() {
        let name = code.name();
        let refusal = refusal(code);
        assert_eq!(refusal.wait.is_some(), code.retryable(), "{name}");
        let wait = refusal.wait.map(|wait| RetryAfter::new(wait).seconds().to_string());
        let headers = object!({"Content-Type": "application/json", "Retry-After"?: wait});
        let mut push = |vector: Vector| {
            let in_doubt = code == Aap::AppointmentTimeUnavailable;
            let vector = vector.requires(expected(code)).requires_failure("code", name);
            let vector = vector.requires_failure("in_doubt", in_doubt);
            let waits = refusal.wait.is_some();
            vectors.push(if waits { vector.requires_wait(7_000) } else { vector });
        };
        let error = json!({"code": code.jsonrpc(), "message": refusal.message,
            "data": refusal.object});
        let input = json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
            "headers": headers, "body": {"jsonrpc": "2.0", "id": "1", "error": error}});
        push(Vector::new(format!("aap/jsonrpc/{name}"), SOURCE, input));

        let retry = refusal.wait.map(retry_info);
        let mut details = vec![error_info(code, &refusal), refusal.object.clone()];
        details.extend(retry.clone());
        let input = json!({"binding": "http_json", "status": code.http(), "headers": headers,
            "body": {"error": {"code": code.http(), "status": code.grpc(),
                "message": refusal.message, "details": details}}});
        push(Vector::new(format!("aap/http_json/{name}"), "AAP 1.0, HTTP+JSON", input));

        let mut details = vec![error_info(code, &refusal)];
        details.extend(retry);
        let status = RpcStatus::from_name(code.grpc()).unwrap();
        let answer = grpc_answer(status, &refusal.message, details.into());
        let vector =
            Vector::new(format!("aap/grpc/{name}"), "AAP 1.1, Errors; A2A 1.0 §10", answer.input);
        push(vector.decoded(answer.decoded));

        let message = json!({"messageId": "m", "role": "ROLE_AGENT",
            "parts": [{"data": refusal.object}]});
        let input = json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
            "body": {"jsonrpc": "2.0", "id": "1", "result": {"message": message}}});
        let vector = Vector::new(format!("aap/result/{name}"), SOURCE, input);
        push(vector.about("The error object in the place of a result."));
    }
    vectors
}

/// Vectors of codes whose data a gateway has dropped.
fn bare() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for code in Aap::ALL.iter().copied() {
        let name = code.name();
        let error = json!({"code": code.jsonrpc(), "message": format!("{name}: in words")});
        let input = json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
            "body": {"jsonrpc": "2.0", "id": "1", "error": error}});
        let vector = Vector::new(format!("aap/jsonrpc/bare/{name}"), SOURCE, input);
        let vector = vector.requires(expected(code)).requires_failure("code", name);
        vectors.push(vector.about("Only the code at the start of the message is left."));
    }
    vectors
}

#[test]
fn aap_vectors_are_written() {
    let mut vectors = codes();
    vectors.extend(bare());
    vectors.extend(hostile::aap());
    let about = "Errors of the Auto Agent Protocol 1.1 and 1.0.";
    expect_file!["../../../../../vectors/aap.json"].assert_eq(&file("aap", about, &vectors));
}
