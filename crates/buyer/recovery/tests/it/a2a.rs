//! Vectors of A2A: every error on every binding, HTTP and gRPC without details, and what goes wrong beside them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::time::Duration;

use expect_test::expect_file;
use tradepost_a2a::error::{A2aCode as A2a, A2aRefusal, FieldViolation, StatusDetails};
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::RetryAfter;
use tradepost_document::json::{Map, Value, json, object, to_value};

use crate::hostile;
use crate::vector::{Vector, file};

const SOURCE: &str = "A2A 1.0 §3.3.2 and §5.4";
const CHALLENGE: &str = "Bearer realm=\"agent\", error=\"invalid_token\"";

/// Returns a refusal as a server gives it: with fields, a wait, a scope or a challenge, where the code has one.
fn refusal(code: A2a) -> A2aRefusal {
    let mut refusal = A2aRefusal::new(code, code.title());
    match code {
        A2a::InvalidParams => refusal.violations.push(FieldViolation {
            field: "message.parts[0]".to_owned(),
            description: "has neither text nor data".to_owned(),
        }),
        A2a::Unavailable | A2a::ResourceExhausted => {
            refusal = refusal.with_wait(Duration::from_secs(7));
        }
        A2a::Unauthenticated => refusal = refusal.with_challenge(CHALLENGE),
        A2a::PermissionDenied => refusal = refusal.with("scope", "tasks:write"),
        A2a::ParseError
        | A2a::InvalidRequest
        | A2a::MethodNotFound
        | A2a::InternalError
        | A2a::TaskNotFound
        | A2a::TaskNotCancelable
        | A2a::PushNotificationNotSupported
        | A2a::UnsupportedOperation
        | A2a::ContentTypeNotSupported
        | A2a::InvalidAgentResponse
        | A2a::ExtendedAgentCardNotConfigured
        | A2a::ExtensionSupportRequired
        | A2a::VersionNotSupported => {}
    }
    refusal
}

/// Returns the headers of an answer over HTTP.
fn headers(refusal: &A2aRefusal) -> Map {
    let wait = refusal.wait.map(|wait| RetryAfter::new(wait).seconds().to_string());
    let challenge = refusal.challenge();
    let headers = object!({"Content-Type": "application/json", "Retry-After"?: wait,
        "WWW-Authenticate"?: challenge});
    headers.as_object().unwrap().clone()
}

fn jsonrpc(code: A2a) -> Value {
    let refusal = refusal(code);
    let data = refusal.has_details().then(|| to_value(&refusal).unwrap());
    let error = object!({"code": code.jsonrpc(), "message": refusal.message, "data"?: data});
    json!({"binding": "jsonrpc", "request_id": "1", "status": code.jsonrpc_http(),
        "headers": headers(&refusal), "body": {"jsonrpc": "2.0", "id": "1", "error": error}})
}

fn http_json(code: A2a) -> Value {
    let refusal = refusal(code);
    let details = to_value(StatusDetails(&refusal)).unwrap();
    let error = json!({"code": code.http(), "status": code.grpc(), "message": refusal.message,
        "details": details});
    json!({"binding": "http_json", "status": code.http(), "headers": headers(&refusal),
        "body": {"error": error}})
}

/// Returns the input of a gRPC call that ends with this status, and its details as JSON.
pub(crate) struct GrpcAnswer {
    pub(crate) input: Value,
    pub(crate) decoded: Value,
}

/// Writes the trailers of a call.
pub(crate) fn grpc_answer(status: RpcStatus, message: &str, details: Value) -> GrpcAnswer {
    let decoded = json!({"code": status.number(), "message": message, "details": details});
    let bytes = protobuf::write(&schema::STATUS, &decoded).unwrap();
    let input = json!({"binding": "grpc", "status": 200, "headers": {
        "grpc-status": status.number().to_string(),
        "grpc-message": message,
        "grpc-status-details-bin": STANDARD_NO_PAD.encode(bytes),
    }});
    GrpcAnswer { input, decoded: json!({"grpc-status-details-bin": decoded}) }
}

fn grpc(code: A2a) -> GrpcAnswer {
    let refusal = refusal(code);
    let details = to_value(StatusDetails(&refusal)).unwrap();
    grpc_answer(RpcStatus::from(code), &refusal.message, details)
}

/// Returns the next step that the columns of a code leave.
fn expected(code: A2a) -> &'static str {
    match code {
        A2a::InternalError | A2a::Unavailable | A2a::ResourceExhausted => "retry",
        A2a::InvalidRequest | A2a::InvalidParams | A2a::TaskNotFound => "fix:request",
        A2a::TaskNotCancelable => "stop:final",
        A2a::ParseError | A2a::InvalidAgentResponse => "ask:seller_defect",
        A2a::Unauthenticated => "ask:credentials_missing",
        A2a::PermissionDenied => "ask:permission",
        A2a::MethodNotFound
        | A2a::PushNotificationNotSupported
        | A2a::UnsupportedOperation
        | A2a::ContentTypeNotSupported
        | A2a::ExtendedAgentCardNotConfigured
        | A2a::ExtensionSupportRequired
        | A2a::VersionNotSupported => "stop:not_offered",
    }
}

fn codes() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for code in A2a::ALL.iter().copied() {
        let name = code.name();
        let mut push = |vector: Vector| {
            let vector = vector.requires(expected(code)).requires_failure("code", name);
            let waits = refusal(code).wait.is_some();
            vectors.push(if waits { vector.requires_wait(7_000) } else { vector });
        };
        push(Vector::new(format!("a2a/jsonrpc/{name}"), SOURCE, jsonrpc(code)));
        push(Vector::new(format!("a2a/http_json/{name}"), SOURCE, http_json(code)));
        let answer = grpc(code);
        let vector = Vector::new(format!("a2a/grpc/{name}"), SOURCE, answer.input);
        push(vector.decoded(answer.decoded));
        if !code.by_reason() {
            let error = json!({"code": code.jsonrpc(), "message": code.title()});
            let input = json!({"binding": "jsonrpc", "request_id": "1", "status": 200,
                "body": {"jsonrpc": "2.0", "id": "1", "error": error}});
            let vector = Vector::new(format!("a2a/jsonrpc/bare/{name}"), SOURCE, input);
            push(vector.about("The number alone, as many servers send it."));
        }
    }
    vectors
}

fn statuses() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for status in [
        400, 401, 403, 404, 405, 407, 408, 409, 410, 413, 415, 422, 425, 429, 431, 500, 501, 502,
        503, 504, 505, 511,
    ] {
        let next = match status {
            401 | 407 => "ask:credentials_missing",
            403 => "ask:permission",
            404 | 405 | 410 => "stop:no_agent",
            408 | 425 | 429 | 500 | 502 | 503 | 504 => "retry",
            _ => "ask:unclear",
        };
        let input = json!({"binding": "jsonrpc", "request_id": "1", "status": status,
            "headers": {"Content-Type": "text/html"}, "body": "<html>a gateway</html>"});
        let vector = Vector::new(format!("a2a/http/{status}"), "RFC 9110 §15", input);
        let is_in_doubt = status >= 500 && !matches!(status, 501 | 505 | 511);
        let vector = vector.requires(next).requires_failure("in_doubt", is_in_doubt);
        vectors.push(vector.about("A page of a gateway in the place of an answer."));
    }
    for status in RpcStatus::ALL.iter().copied().filter(|status| *status != RpcStatus::Ok) {
        let next = match status {
            RpcStatus::InvalidArgument => "fix:request",
            RpcStatus::DeadlineExceeded
            | RpcStatus::Aborted
            | RpcStatus::Unavailable
            | RpcStatus::ResourceExhausted => "retry",
            RpcStatus::PermissionDenied => "ask:permission",
            RpcStatus::Unimplemented => "stop:not_offered",
            RpcStatus::Unauthenticated => "ask:credentials_missing",
            RpcStatus::Ok
            | RpcStatus::Cancelled
            | RpcStatus::Unknown
            | RpcStatus::NotFound
            | RpcStatus::AlreadyExists
            | RpcStatus::FailedPrecondition
            | RpcStatus::OutOfRange
            | RpcStatus::Internal
            | RpcStatus::DataLoss => "ask:unclear",
        };
        let input = json!({"binding": "grpc", "status": 200,
            "headers": {"grpc-status": status.number().to_string(), "grpc-message": "a%20proxy"}});
        let vector = Vector::new(format!("a2a/grpc/bare/{}", status.name()), SOURCE, input);
        let vector = vector.requires(next);
        vectors.push(vector.about("A status without details, as a proxy sends it."));
    }
    vectors
}

#[test]
fn a2a_vectors_are_written() {
    let mut vectors = codes();
    vectors.extend(statuses());
    vectors.extend(hostile::a2a());
    vectors.extend(hostile::requests());
    let about = "Errors of A2A 1.0 and of HTTP, gRPC and JSON-RPC below it.";
    expect_file!["../../../../../vectors/a2a.json"].assert_eq(&file("a2a", about, &vectors));
}
