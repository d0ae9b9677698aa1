//! Reads the JSON-RPC 2.0 envelope: bytes become a [`RpcRequest`] or a [`RpcReject`]. The id is kept as
//! the text that was sent, so that it can be echoed unchanged.
// The id is echoed verbatim (R-ENV-09).

use std::collections::HashSet;
use std::fmt;

use crate::error::{A2aCode, A2aRefusal, FieldViolation};
use crate::request;
use tradepost_document::json::{
    self, JsonReader, RawValue, ReadError, ReadLimits, Value, duplicate_key, json,
};
use tradepost_document::problem::{DocumentPlace, Problem, Problems};

/// The deepest nesting of arrays and objects.
// A body that nests deeper than 64 is a parse error (E-003).
pub const MAX_DEPTH: usize = json::MAX_DEPTH;

/// The largest number of arrays and objects in a body. Each takes two bytes in the body and
/// hundreds in memory, and no message of AAP or A2A has more than some dozens.
pub const MAX_CONTAINERS: usize = 4_096;

/// The id of a request, as the JSON text that was sent.
#[derive(Debug, Clone)]
pub struct Id(Box<RawValue>);

impl Id {
    /// The id `null`, for a response to a request whose id could not be read.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// Creates an id from a text.
    #[must_use]
    pub fn text(id: &str) -> Self {
        json::to_raw_value(id).map_or_else(|_| Self::null(), Self)
    }

    /// Returns true if the id is `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.as_json() == "null"
    }

    /// The id as JSON text.
    #[must_use]
    pub fn as_json(&self) -> &str {
        self.0.get()
    }
}

impl serde::Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// A well-formed request. The method and its parameters are not checked yet.
#[derive(Debug)]
pub struct RpcRequest {
    /// The id to echo.
    pub id: Id,
    /// The method's name.
    pub method: String,
    /// The parameters, if present.
    pub params: Option<Value>,
}

/// A well-formed request or notification.
#[derive(Debug)]
pub struct RpcMessage {
    /// The id to echo, or `None` for a notification, which is not answered.
    pub id: Option<Id>,
    /// The method's name.
    pub method: String,
    /// The parameters, if present.
    pub params: Option<Value>,
}

/// The other side's response to our request.
#[derive(Debug)]
pub struct RpcReply {
    /// The id of our request.
    pub id: Id,
    /// The result, or the error object.
    pub outcome: Result<Value, Value>,
}

/// A message from a peer that both sends and answers requests.
#[derive(Debug)]
pub enum RpcIncoming {
    /// A request or notification.
    Message(RpcMessage),
    /// A response.
    Reply(RpcReply),
}

/// Bytes that are not a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct RpcReject {
    /// The id to echo, or `null` if none could be read.
    pub id: Id,
    /// `ParseError` or `InvalidRequest`.
    pub code: A2aCode,
    /// The problem, without any of the bytes.
    pub message: &'static str,
    /// The duplicate members, by their place in the body.
    pub duplicate_keys: Problems,
}

impl fmt::Display for RpcReject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message)
    }
}

impl std::error::Error for RpcReject {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.duplicate_keys.as_cause()
    }
}

impl RpcReject {
    fn new(code: A2aCode, message: &'static str) -> Self {
        Self { id: Id::null(), code, message, duplicate_keys: Problems::new() }
    }

    fn duplicate_keys(id: Id, duplicate_keys: Problems) -> Self {
        const MESSAGE: &str = "the body has members twice; send each once";
        Self { id, duplicate_keys, ..Self::new(A2aCode::InvalidRequest, MESSAGE) }
    }

    /// Converts to an A2A refusal that lists every duplicate member in A2A's notation.
    #[must_use]
    pub fn refusal(&self) -> A2aRefusal {
        let violations = self.duplicate_keys.listed().iter().map(|problem| {
            let inside =
                problem.pointer.strip_prefix("/params").filter(|rest| rest.starts_with('/'));
            let field = request::path(inside.unwrap_or(&problem.pointer));
            FieldViolation { field, description: problem.message.clone() }
        });
        let violations: Vec<_> = violations.collect();
        let message = match violations.first() {
            Some(first) => format!("{}: {}", self.message, first.field),
            None => self.message.to_owned(),
        };
        A2aRefusal { violations, ..A2aRefusal::new(self.code, message) }
    }
}

/// Lists problems by their place in the body, for the bindings of MCP.
#[must_use]
pub fn places(problems: &Problems) -> Vec<Value> {
    let issue = |problem: &Problem| json!({"pointer": problem.pointer, "message": problem.message});
    problems.listed().iter().map(issue).collect()
}

/// Reads a request.
///
/// # Errors
///
/// The problem with the bytes.
// The envelope errors are E-001 to E-013.
pub fn read(bytes: &[u8]) -> Result<RpcRequest, RpcReject> {
    let (envelope, id) = opened(bytes)?;
    let missing = "id is missing; notifications are not supported and not processed";
    let id = id.ok_or_else(|| RpcReject::new(A2aCode::InvalidRequest, missing))?;
    let (method, params) = call(envelope, || id.clone())?;
    Ok(RpcRequest { id, method, params })
}

/// Reads a request, or a notification, which has no id.
///
/// # Errors
///
/// The problem with the bytes.
pub fn read_message(bytes: &[u8]) -> Result<RpcMessage, RpcReject> {
    let (envelope, id) = opened(bytes)?;
    message(envelope, id)
}

/// Reads a request, a notification, or a response to our request.
///
/// # Errors
///
/// The problem with the bytes.
pub fn read_incoming(bytes: &[u8]) -> Result<RpcIncoming, RpcReject> {
    let (mut envelope, id) = opened(bytes)?;
    let known = || id.clone().unwrap_or_else(Id::null);
    let outcome = match (envelope.method.is_none(), envelope.result.take(), envelope.error.take()) {
        (true, Some(result), None) => Ok(result),
        (true, None, Some(error)) => Err(error),
        (false, _, _) | (true, None, None) => {
            return message(envelope, id).map(RpcIncoming::Message);
        }
        (true, Some(_), Some(_)) => {
            return Err(invalid(known(), "an answer has either a result or an error"));
        }
    };
    check_release(&envelope, known)?;
    Ok(RpcIncoming::Reply(RpcReply { id: known(), outcome }))
}

/// Reads the envelope and its id. The id comes first, so that every error can echo it.
fn opened(bytes: &[u8]) -> Result<(Envelope, Option<Id>), RpcReject> {
    let (mut envelope, duplicate_keys) = envelope(bytes)?;
    let id = id(envelope.id.take())?;
    if duplicate_keys.is_empty() {
        return Ok((envelope, id));
    }
    Err(RpcReject::duplicate_keys(id.unwrap_or_else(Id::null), duplicate_keys))
}

fn invalid(id: Id, message: &'static str) -> RpcReject {
    RpcReject { id, ..RpcReject::new(A2aCode::InvalidRequest, message) }
}

fn check_release(envelope: &Envelope, id: impl Fn() -> Id) -> Result<(), RpcReject> {
    match &envelope.jsonrpc {
        Some(release) if release == "2.0" => Ok(()),
        Some(_) | None => Err(invalid(id(), "jsonrpc must be \"2.0\"")),
    }
}

fn message(envelope: Envelope, id: Option<Id>) -> Result<RpcMessage, RpcReject> {
    let (method, params) = call(envelope, || id.clone().unwrap_or_else(Id::null))?;
    Ok(RpcMessage { id, method, params })
}

const BOUNDS: ReadLimits =
    ReadLimits { depth: MAX_DEPTH, containers: MAX_CONTAINERS, reserved: false };

/// Reads the members of the envelope, and the duplicate members of the body.
fn envelope(bytes: &[u8]) -> Result<(Envelope, Problems), RpcReject> {
    let text = text(bytes, "the body is empty; send a JSON-RPC request")?;
    let mut reader = JsonReader::new(text, BOUNDS);
    let mut problems = Problems::new();
    let mut envelope = None;
    if reader.peek() == Some(b'{') {
        envelope = Some(members(&mut reader, &mut problems).map_err(stopped)?);
    } else {
        // Read to the end, because invalid JSON has another error than a wrong type.
        reader.value(&DocumentPlace::Root, &mut problems).map_err(stopped)?;
    }
    reader.end().map_err(stopped)?;
    envelope.map(|envelope| (envelope, problems)).ok_or_else(|| {
        let message = if text.trim_ascii_start().starts_with('[') {
            "batches are not supported; send one JSON-RPC request object"
        } else {
            "the body must be a JSON-RPC request object"
        };
        RpcReject::new(A2aCode::InvalidRequest, message)
    })
}

/// The members of an envelope.
const MEMBERS: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

fn members(reader: &mut JsonReader<'_>, problems: &mut Problems) -> Result<Envelope, ReadError> {
    let mut envelope = Envelope::default();
    // Envelope members have a bit each; the set is for unknown members.
    let mut seen = 0_u8;
    let mut others = HashSet::new();
    reader.members(&DocumentPlace::Root, problems, |reader, name, problems| {
        let at = DocumentPlace::Root.key(&name);
        let first = match MEMBERS.iter().position(|known| *known == name) {
            Some(known) => {
                let before = seen;
                seen |= 1 << known;
                seen != before
            }
            None => others.insert(name.clone()),
        };
        if !first {
            duplicate_key(&at, problems);
        }
        if name == "id" {
            // Skip white space, which is not part of the id.
            reader.peek();
            // Of two ids, neither is echoed.
            envelope.id = Some(reader.raw()?.to_owned()).filter(|_| first);
        } else {
            let value = reader.value(&at, problems)?;
            match name.as_ref() {
                "jsonrpc" => envelope.jsonrpc = Some(value),
                "method" => envelope.method = Some(value),
                "params" => envelope.params = Some(value),
                "result" => envelope.result = Some(value),
                "error" => envelope.error = Some(value),
                _ => {}
            }
        }
        Ok(())
    })?;
    Ok(envelope)
}

fn id(sent: Option<Box<RawValue>>) -> Result<Option<Id>, RpcReject> {
    let Some(id) = sent else {
        return Ok(None);
    };
    match id.get().as_bytes().first() {
        // The id is echoed, so every reader must be able to decode it.
        Some(b'"') if json::from_str::<String>(id.get()).is_err() => {
            Err(RpcReject::new(A2aCode::ParseError, "id is not a valid JSON string"))
        }
        Some(b'"' | b'-' | b'0'..=b'9' | b'n') => Ok(Some(Id(id))),
        Some(_) | None => {
            Err(RpcReject::new(A2aCode::InvalidRequest, "id must be a string, a number or null"))
        }
    }
}

/// Reads the method and its parameters.
fn call(envelope: Envelope, id: impl Fn() -> Id) -> Result<(String, Option<Value>), RpcReject> {
    check_release(&envelope, &id)?;
    let Some(Value::String(method)) = envelope.method else {
        return Err(invalid(id(), "method must be a string"));
    };
    Ok((method, envelope.params))
}

/// Reads a body without an envelope, with the same limits, for bindings that name the operation
/// elsewhere.
///
/// # Errors
///
/// The problem with the bytes.
pub fn document(bytes: &[u8]) -> Result<Value, RpcReject> {
    let text = text(bytes, "the body is empty; send a JSON object")?;
    let (value, duplicate_keys) = json::document(text, BOUNDS).map_err(stopped)?;
    if duplicate_keys.is_empty() {
        Ok(value)
    } else {
        Err(RpcReject::duplicate_keys(Id::null(), duplicate_keys))
    }
}

fn text<'b>(bytes: &'b [u8], empty: &'static str) -> Result<&'b str, RpcReject> {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Err(RpcReject::new(A2aCode::ParseError, "the body is not valid UTF-8"));
    };
    if text.trim_ascii().is_empty() {
        return Err(RpcReject::new(A2aCode::ParseError, empty));
    }
    Ok(text)
}

fn stopped(why: ReadError) -> RpcReject {
    let (code, message) = match why {
        ReadError::Syntax => (A2aCode::ParseError, "the body is not valid JSON"),
        ReadError::Deep => (A2aCode::ParseError, "the body nests deeper than 64 levels"),
        ReadError::Many => {
            (A2aCode::InvalidRequest, "the body has more than 4096 arrays and objects")
        }
        ReadError::Reserved => {
            (A2aCode::InvalidRequest, "the body has a member whose name is reserved; rename it")
        }
    };
    RpcReject::new(code, message)
}

#[derive(Default)]
struct Envelope {
    jsonrpc: Option<Value>,
    id: Option<Box<RawValue>>,
    method: Option<Value>,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(body: &str) -> String {
        match read(body.as_bytes()) {
            Ok(request) => format!("{} {}", request.id.as_json(), request.method),
            Err(reject) => format!("{} {}", reject.id.as_json(), reject.code.jsonrpc()),
        }
    }

    #[test]
    fn ids_are_kept_as_they_were_written() {
        for id in ["1", "1.0", "-7e2", "\"a\\u0062\"", "null", "123456789012345678901234567890"] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
            assert_eq!(outcome(&body), format!("{id} m"));
        }
    }

    #[test]
    fn an_answer_is_no_message_and_is_one_thing() {
        let outcome = |body: &str| match read_incoming(body.as_bytes()) {
            Ok(RpcIncoming::Message(message)) => format!("message {}", message.method),
            Ok(RpcIncoming::Reply(RpcReply { id, outcome: Ok(_) })) => {
                format!("result {}", id.as_json())
            }
            Ok(RpcIncoming::Reply(RpcReply { id, outcome: Err(_) })) => {
                format!("error {}", id.as_json())
            }
            Err(reject) => format!("{} {}", reject.id.as_json(), reject.message),
        };
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":"a","result":{}}"#, r#"result "a""#),
            (r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#, "error 7"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"m","result":{}}"#, "message m"),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, "message m"),
            (r#"{"jsonrpc":"2.0","id":7}"#, "7 method must be a string"),
            (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, "7 jsonrpc must be \"2.0\""),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
                "7 an answer has either a result or an error",
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}"#,
                "7 the body has members twice; send each once",
            ),
        ] {
            assert_eq!(outcome(body), expected, "{body}");
        }
    }

    #[test]
    fn a_document_without_an_envelope_has_the_same_limits() {
        let deep = "[".repeat(MAX_DEPTH + 1);
        for (text, code) in [
            ("", -32700),
            ("{", -32700),
            (deep.as_str(), -32700),
            (r#"{"$serde_json::private::RawValue":"[]"}"#, -32600),
        ] {
            let reject = document(text.as_bytes()).unwrap_err();
            assert_eq!(reject.code.jsonrpc(), code, "{text}");
        }
        let kept = r#"{"z":1.0,"a":123456789012345678901234567890}"#;
        assert_eq!(document(kept.as_bytes()).unwrap().to_string(), kept);
    }

    #[test]
    fn members_that_are_there_twice_are_named_with_their_place() {
        for (body, id, fields) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#, "1", vec!["method"]),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","id":2}"#, "null", vec!["id"]),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","x":{"y":1,"y":1}}"#, "1", vec!["x.y"]),
            (r#"{"jsonrpc":"2.0","id":1,"method":"a","x":1,"\u0078":1}"#, "1", vec!["x"]),
            (
                r#"{"id":"a","params":{"m":[0,{"a":1,"b":2,"a":3}],"m":0},"method":5}"#,
                "\"a\"",
                vec!["m[1].a", "m"],
            ),
        ] {
            let reject = read(body.as_bytes()).unwrap_err();
            let refusal = reject.refusal();
            let named: Vec<_> = refusal.violations.iter().map(|v| v.field.as_str()).collect();
            assert_eq!((reject.id.as_json(), named), (id, fields), "{body}");
            assert_eq!(refusal.code, A2aCode::InvalidRequest);
        }
        let reject = document(br#"{"a":{"b":1,"b":2}}"#).unwrap_err();
        assert_eq!(reject.refusal().message, "the body has members twice; send each once: a.b");
    }

    #[test]
    fn names_the_parser_reserves_are_refused_values_are_not() {
        let smuggled = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"\u0024serde_json::private::RawValue" : "{}1{}"}}}}"#,
            "[".repeat(100),
            "]".repeat(100)
        );
        let number = r#"{"jsonrpc":"2.0","id":1,"method":"m",
            "params":{"a":{"$serde_json::private::Number":"5"}}}"#;
        let value = r#"{"jsonrpc":"2.0","id":1,"method":"m",
            "params":["$serde_json::private::Number", "\u0024"]}"#;
        assert_eq!(outcome(&smuggled), "null -32600");
        assert_eq!(outcome(number), "null -32600");
        assert_eq!(outcome(value), "1 m");
    }

    #[test]
    fn what_is_no_request_is_rejected_with_the_right_code() {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let deep_enough = format!("{}{}", "[".repeat(64), "]".repeat(64));
        let of = |n: usize| format!(r#"{{"x":[{}0]}}"#, "[],".repeat(n - 2));
        let many = of(MAX_CONTAINERS);
        let too_many = of(MAX_CONTAINERS + 1);
        assert!(read(many.as_bytes()).unwrap_err().message.starts_with("id is missing"));
        assert!(read(too_many.as_bytes()).unwrap_err().message.contains("4096"));
        for (body, expected) in [
            ("", "null -32700"),
            (" \n", "null -32700"),
            ("{", "null -32700"),
            (r#"{"jsonrpc":"2.0"} x"#, "null -32700"),
            (r#"{"id":"\ud800","jsonrpc":"2.0","method":"m"}"#, "null -32700"),
            (deep.as_str(), "null -32700"),
            (deep_enough.as_str(), "null -32600"),
            ("[]", "null -32600"),
            ("[1, x]", "null -32700"),
            ("5", "null -32600"),
            ("1e400", "null -32600"),
            ("\"text\"", "null -32600"),
            ("null", "null -32600"),
            ("true", "null -32600"),
            (r#"{"id":1,"method":"m"}"#, "1 -32600"),
            (r#"{"jsonrpc":"1.0","id":"x","method":"m"}"#, "\"x\" -32600"),
            (r#"{"jsonrpc":"2.0","method":"m"}"#, "null -32600"),
            (r#"{"jsonrpc":"2.0","id":[1],"method":"m"}"#, "null -32600"),
            (r#"{"jsonrpc":"2.0","id":true,"method":"m"}"#, "null -32600"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "1 -32600"),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "1 -32600"),
        ] {
            assert_eq!(outcome(body), expected, "{body}");
        }
    }
}
