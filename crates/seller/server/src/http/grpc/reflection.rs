//! Server reflection of gRPC (`grpc.reflection.v1`, and `v1alpha`, which is the same), by which tools such as grpcurl
//! learn the definition of A2A. It tells what is published anyway, and asks for no credential.
//!
//! On the host of an agent whose card does not list the gRPC binding, and on unknown hosts, the service is unknown.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::stream;
use http_body_util::BodyExt as _;
use hyper::body::Frame;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_a2a::protobuf::{
    self, FieldDescriptor, FieldLabel, FieldType, FileDescription, MessageDescriptor, descriptors,
};
use tradepost_a2a::status::RpcStatus;
use tradepost_document::json::{Value, json};

use super::call::{PREFIX, framed};
use super::errors::{self, GrpcFailure};
use super::stream::response;
use super::{SERVICE, called_agent};
use crate::registry::AgentRegistry;

/// Paths of the one method, for the router.
pub(in crate::http) const REFLECTION_ROUTES: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Maximum size of a question in bytes: a name.
const MAX_QUESTION_BYTES: usize = 4 * 1024;

/// Longest wait for the next question.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

const fn text(number: u32, name: &'static str) -> FieldDescriptor {
    FieldDescriptor { number, name, kind: FieldType::Text, rule: FieldLabel::Explicit }
}

const fn message(
    number: u32,
    name: &'static str,
    of: &'static MessageDescriptor,
    rule: FieldLabel,
) -> FieldDescriptor {
    FieldDescriptor { number, name, kind: FieldType::Message(of), rule }
}

static REQUEST: MessageDescriptor = MessageDescriptor {
    name: "grpc.reflection.v1.ServerReflectionRequest",
    fields: &[
        text(1, "host"),
        text(3, "fileByFilename"),
        text(4, "fileContainingSymbol"),
        message(5, "fileContainingExtension", &EXTENSION, FieldLabel::Explicit),
        text(6, "allExtensionNumbersOfType"),
        text(7, "listServices"),
    ],
};

static EXTENSION: MessageDescriptor = MessageDescriptor {
    name: "grpc.reflection.v1.ExtensionRequest",
    fields: &[
        text(1, "containingType"),
        FieldDescriptor {
            number: 2,
            name: "extensionNumber",
            kind: FieldType::Int32,
            rule: FieldLabel::Explicit,
        },
    ],
};

static RESPONSE: MessageDescriptor = MessageDescriptor {
    name: "grpc.reflection.v1.ServerReflectionResponse",
    fields: &[
        text(1, "validHost"),
        message(2, "originalRequest", &REQUEST, FieldLabel::Explicit),
        message(4, "fileDescriptorResponse", &FILES, FieldLabel::Explicit),
        message(6, "listServicesResponse", &SERVICES, FieldLabel::Explicit),
        message(7, "errorResponse", &FAILURE, FieldLabel::Explicit),
    ],
};

static FILES: MessageDescriptor = MessageDescriptor {
    name: "grpc.reflection.v1.FileDescriptorResponse",
    fields: &[FieldDescriptor {
        number: 1,
        name: "fileDescriptorProto",
        kind: FieldType::Bytes,
        rule: FieldLabel::Repeated,
    }],
};

static SERVICES: MessageDescriptor = MessageDescriptor {
    name: "grpc.reflection.v1.ListServiceResponse",
    fields: &[message(1, "service", &SERVICE_NAME, FieldLabel::Repeated)],
};

static SERVICE_NAME: MessageDescriptor =
    MessageDescriptor { name: "grpc.reflection.v1.ServiceResponse", fields: &[text(1, "name")] };

static FAILURE: MessageDescriptor = MessageDescriptor {
    name: "grpc.reflection.v1.ErrorResponse",
    fields: &[
        FieldDescriptor {
            number: 1,
            name: "errorCode",
            kind: FieldType::Int32,
            rule: FieldLabel::Explicit,
        },
        text(2, "errorMessage"),
    ],
};

/// Returns a path of this service for the log.
pub(super) fn template(path: &str) -> Option<String> {
    REFLECTION_ROUTES.contains(&path).then(|| path.to_owned())
}

/// Handles the one method, whose caller sends questions and gets an answer to each.
pub(in crate::http) async fn handle(
    State(registry): State<Arc<AgentRegistry>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refused) = called_agent(&registry, &parts).await {
        return *refused;
    }
    let questions = Questions { body, bytes: Vec::new() };
    response(stream::unfold(Some((registry, questions)), async |state| {
        let (registry, mut questions) = state?;
        let next = tokio::select! {
            next = tokio::time::timeout(IDLE_TIMEOUT, questions.next()) => {
                next.unwrap_or_else(|_| Err(errors::deadline_exceeded()))
            }
            () = registry.closing().cancelled() => Err(errors::stopping()),
        };
        let answered = match next {
            Ok(Some(question)) => answer(&question),
            Ok(None) => return Some((Ok(Frame::trailers(errors::ok())), None)),
            Err(failure) => Err(failure),
        };
        match answered {
            Ok(bytes) => Some((Ok(Frame::data(framed(&bytes))), Some((registry, questions)))),
            Err(failure) => Some((Ok(Frame::trailers(failure.into_trailers())), None)),
        }
    }))
}

/// Questions of a caller.
struct Questions {
    body: Body,
    /// Bytes that were received and not read yet.
    bytes: Vec<u8>,
}

fn invalid(message: &str) -> GrpcFailure {
    GrpcFailure::from(&A2aRefusal::new(A2aCode::InvalidRequest, message))
}

impl Questions {
    /// Returns the next question; `None` when there are no more.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, GrpcFailure> {
        loop {
            if let Some((prefix, rest)) = self.bytes.split_first_chunk::<PREFIX>() {
                let [flag, length @ ..] = *prefix;
                let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                if flag != 0 {
                    return Err(errors::compressed());
                }
                if length > MAX_QUESTION_BYTES {
                    let failure = invalid("the message is too large for a question");
                    return Err(failure.with_status(RpcStatus::ResourceExhausted));
                }
                if let Some(question) = rest.get(..length) {
                    let question = question.to_vec();
                    self.bytes.drain(..PREFIX + length);
                    return Ok(Some(question));
                }
            }
            match self.body.frame().await {
                None if self.bytes.is_empty() => return Ok(None),
                None | Some(Err(_)) => return Err(invalid("the message ended early")),
                Some(Ok(frame)) => {
                    self.bytes.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
                }
            }
        }
    }
}

/// Answers one request of the reflection service.
fn answer(question: &[u8]) -> Result<Vec<u8>, GrpcFailure> {
    let asked = protobuf::read(&REQUEST, question).map_err(|reject| invalid(reject.message))?;
    let text = |name: &str| asked.get(name).and_then(Value::as_str);
    let file = |found: Option<&FileDescription>| match found {
        Some(file) => {
            let files = json!({"fileDescriptorProto": [STANDARD.encode(file.bytes)]});
            ("fileDescriptorResponse", files)
        }
        None => failure(RpcStatus::NotFound, "no file has this name or symbol"),
    };
    let (name, answer) = if let Some(name) = text("fileByFilename") {
        file(descriptors::ALL.iter().find(|file| file.name == name))
    } else if let Some(symbol) = text("fileContainingSymbol") {
        file(descriptors::ALL.iter().find(|file| file.symbols.contains(&symbol)))
    } else if text("listServices").is_some() {
        let services = json!({"service": [{"name": SERVICE.trim_matches('/')}]});
        ("listServicesResponse", services)
    } else {
        failure(RpcStatus::NotFound, "the definition has no extensions")
    };
    let host = text("host").unwrap_or_default();
    let mut response = json!({"validHost": host, "originalRequest": asked});
    if let Some(members) = response.as_object_mut() {
        members.insert(name.to_owned(), answer);
    }
    let written = protobuf::write(&RESPONSE, &response);
    Ok(written.unwrap_or_else(|_| unreachable!("an answer has the types of its table")))
}

fn failure(status: RpcStatus, message: &str) -> (&'static str, Value) {
    ("errorResponse", json!({"errorCode": status.number(), "errorMessage": message}))
}
