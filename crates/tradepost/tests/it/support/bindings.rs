//! One request in the words of every binding, and what every binding answers in one form: for
//! rules that hold on all of them (O-08).

use std::net::SocketAddr;

use tradepost_a2a::error::A2aCode;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};

use super::Response;
use super::client;
use super::conformance::{self, versioned};

/// A binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    HttpJson,
}

impl Binding {
    /// Those that there are.
    pub const ALL: [Self; 2] = [Self::JsonRpc, Self::HttpJson];

    /// The whole answer to a request with these headers besides. `params` are those of JSON-RPC.
    pub fn ask(
        self,
        address: SocketAddr,
        headers: &[(&str, &str)],
        operation: &str,
        params: &Value,
    ) -> Response {
        match self {
            Self::JsonRpc => conformance::ask(address, headers, operation, params),
            Self::HttpJson => {
                let (method, target, body) = http(operation, params);
                let json = [("Content-Type", "application/a2a+json")];
                let headers = versioned(&[&json[..body.len().min(1)], headers].concat());
                client::request(address, method, &target, &headers, body.as_bytes())
            }
        }
    }

    /// Sends this body to where messages are sent.
    pub fn post(self, address: SocketAddr, headers: &[(&str, &str)], body: &str) -> Response {
        let target = match self {
            Self::JsonRpc => "/a2a",
            Self::HttpJson => "/rest/message:send",
        };
        client::request(address, "POST", target, headers, body.as_bytes())
    }

    /// A `SendMessage` as it is written, so that its numbers stay as they are.
    pub fn send_body(self, params: &str) -> String {
        match self {
            Self::JsonRpc => {
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":{params}}}"#)
            }
            Self::HttpJson => params.to_owned(),
        }
    }

    /// What a request came to.
    pub fn result(self, response: &Response) -> Value {
        let body = response.json();
        assert!(body.get("error").is_none(), "{self:?}: {body}");
        match self {
            Self::JsonRpc => body["result"].clone(),
            Self::HttpJson => body,
        }
    }

    /// The catalog row of an error, whose shape is checked on the way (E-01, E-02, E-09).
    pub fn refusal(self, response: &Response) -> A2aCode {
        let body = response.json();
        let error = &body["error"];
        assert!(error["message"].as_str().is_some_and(|text| !text.is_empty()), "{body}");
        let details = self.details(response);
        assert!(details.iter().all(|detail| detail["@type"].is_string()), "{body}");
        let reason = details.iter().find_map(|detail| detail["reason"].as_str());
        match self {
            Self::JsonRpc => {
                let number = error["code"].as_i64().unwrap();
                let known = A2aCode::from_jsonrpc(number).or_else(|| A2aCode::from_name(reason?));
                let code = known.unwrap_or_else(|| panic!("{body}"));
                assert_eq!(i64::from(code.jsonrpc()), number);
                code
            }
            Self::HttpJson => {
                let code = A2aCode::from_name(reason.unwrap_or_else(|| panic!("{body}"))).unwrap();
                assert_eq!(error["code"], response.status, "E-09");
                assert_eq!(error["status"], code.grpc());
                code
            }
        }
    }

    /// The details of an error.
    pub fn details(self, response: &Response) -> Vec<Value> {
        let body = response.json();
        let details = match self {
            Self::JsonRpc => &body["error"]["data"],
            Self::HttpJson => &body["error"]["details"],
        };
        details.as_array().cloned().unwrap_or_default()
    }

    /// The events of a stream.
    pub fn events(self, response: &Response) -> Vec<Value> {
        assert_eq!(response.header("content-type"), Some("text/event-stream"));
        let chunked = response.header("transfer-encoding") == Some("chunked");
        let body = if chunked { unchunk(&response.body) } else { response.body.clone() };
        let text = String::from_utf8(body).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| {
            let event: Value = tradepost_document::json::from_str(data).unwrap();
            match self {
                Self::JsonRpc => event["result"].clone(),
                Self::HttpJson => event,
            }
        })
        .collect()
    }
}

/// Method, target and body of a request of the HTTP+JSON binding (A2A §11.3).
fn http(operation: &str, params: &Value) -> (&'static str, String, String) {
    let mut rest = params.as_object().cloned().unwrap_or_default();
    let mut take = |name: &str| {
        let text = rest.shift_remove(name).and_then(|id| id.as_str().map(str::to_owned));
        encode(&text.unwrap_or_default())
    };
    let (method, path) = match operation {
        "SendMessage" => ("POST", "message:send".to_owned()),
        "SendStreamingMessage" => ("POST", "message:stream".to_owned()),
        "GetTask" => ("GET", format!("tasks/{}", take("id"))),
        "ListTasks" => ("GET", "tasks".to_owned()),
        "CancelTask" => ("POST", format!("tasks/{}:cancel", take("id"))),
        "SubscribeToTask" => ("GET", format!("tasks/{}:subscribe", take("id"))),
        "CreateTaskPushNotificationConfig" => {
            ("POST", format!("tasks/{}/pushNotificationConfigs", take("taskId")))
        }
        "ListTaskPushNotificationConfigs" => {
            ("GET", format!("tasks/{}/pushNotificationConfigs", take("taskId")))
        }
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            let method = if operation.starts_with("Get") { "GET" } else { "DELETE" };
            (method, format!("tasks/{}/pushNotificationConfigs/{}", take("taskId"), take("id")))
        }
        "GetExtendedAgentCard" => ("GET", "extendedAgentCard".to_owned()),
        other => panic!("{other}"),
    };
    if method == "POST" {
        let bare = operation == "CancelTask" && rest.is_empty();
        let body = if bare { String::new() } else { Value::Object(rest).to_string() };
        return (method, format!("/rest/{path}"), body);
    }
    (method, format!("/rest/{path}{}", query(&rest)), String::new())
}

fn query(members: &Map) -> String {
    let pairs = members.iter().map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={}", encode(&text))
    });
    let pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

fn encode(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        whole.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
        if size == 0 {
            break;
        }
    }
    whole
}
