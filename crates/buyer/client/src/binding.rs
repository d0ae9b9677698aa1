//! A2A bindings: JSON-RPC in the releases 1.0 and 0.3, HTTP+JSON and gRPC in 1.0. Each has its own method
//! names and forms of messages and answers. Answers are read in the form of either release, because agents
//! that serve both sometimes mix them up.

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
pub(crate) use tradepost_a2a::A2aRelease;
use tradepost_a2a::older::OlderKind;
use tradepost_a2a::{self as a2a, Operation};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};

use tradepost_a2a::protobuf::{self, schema};

use crate::card::{CardTransport, SellerInterface};
use crate::discover::{Discovered, endpoint};
use crate::failure::{CallFailure, Defect, Unsent};
use crate::grpc;

/// Address, release and binding of an agent.
#[derive(Debug, Clone)]
pub(crate) struct AgentBinding {
    pub(crate) endpoint: Url,
    pub(crate) release: A2aRelease,
    pub(crate) carrier: CardTransport,
    tenant: Option<String>,
}

/// HTTP+JSON request: its address, and its body when it is a POST.
pub(crate) type Addressed = (Url, Option<Vec<u8>>);

/// Operation of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Send,
    Stream,
    Task,
    Subscribe,
    Cancel,
}

/// Conversation and task to which a message belongs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MessageContext<'a> {
    pub(crate) context_id: Option<&'a str>,
    pub(crate) task_id: Option<&'a str>,
}

/// Content of an answer or an event, without its envelope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BindingItem {
    Task(Value),
    Message(Value),
    Status(Value),
    Artifact(Value),
}

/// Builds the headers of a request: release, extension and credential.
pub(crate) fn headers(
    release: A2aRelease,
    extension: Option<&'static str>,
    authorization: Option<&HeaderValue>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    match release {
        A2aRelease::V1_0 => {
            headers.insert(a2a::VERSION_HEADER, HeaderValue::from_static(a2a::VERSION));
        }
        // A request without a version is one of 0.3 (A2A §3.6.2).
        A2aRelease::V0_3 => {}
    }
    if let Some(extension) = extension {
        headers.insert(release.extensions_header(), HeaderValue::from_static(extension));
    }
    headers.extend(authorization.map(|value| (AUTHORIZATION, value.clone())));
    headers
}

impl Method {
    fn operation(self) -> Operation {
        match self {
            Self::Send => Operation::SendMessage,
            Self::Stream => Operation::SendStreamingMessage,
            Self::Task => Operation::GetTask,
            Self::Subscribe => Operation::SubscribeToTask,
            Self::Cancel => Operation::CancelTask,
        }
    }
}

impl AgentBinding {
    /// Uses the first JSON-RPC interface of 1.0, or else of 0.3.
    ///
    /// # Errors
    /// `Unsent`, when the card has neither or its address may not be used.
    pub(crate) fn jsonrpc(discovered: &Discovered) -> Result<Self, CallFailure> {
        Self::from_interface(discovered, discovered.card.any_interface())
    }

    /// Uses JSON-RPC 1.0, or else HTTP+JSON or gRPC 1.0, or else JSON-RPC 0.3.
    ///
    /// # Errors
    /// As [`Self::jsonrpc`].
    pub(crate) fn any(discovered: &Discovered) -> Result<Self, CallFailure> {
        let card = &discovered.card;
        let newer = card.interface().or_else(|| card.http_json_interface());
        let newer = newer.or_else(|| card.grpc_interface());
        Self::from_interface(discovered, newer.or_else(|| card.any_interface()))
    }

    /// Uses the first interface of this binding.
    ///
    /// # Errors
    /// As [`Self::jsonrpc`].
    pub(crate) fn with_card_transport(
        discovered: &Discovered,
        carrier: CardTransport,
    ) -> Result<Self, CallFailure> {
        let card = &discovered.card;
        let interface = match carrier {
            CardTransport::JsonRpc => card.any_interface(),
            CardTransport::HttpJson => card.http_json_interface(),
            CardTransport::Grpc => card.grpc_interface(),
        };
        Self::from_interface(discovered, interface)
    }

    fn from_interface(
        discovered: &Discovered,
        interface: Option<&SellerInterface>,
    ) -> Result<Self, CallFailure> {
        let interface = interface.ok_or(CallFailure::Unsent(Unsent::NoInterface))?;
        let newer = a2a::is_release(&interface.protocol_version, a2a::VERSION);
        let named = |carrier: &CardTransport| interface.is_by(*carrier);
        let carrier =
            CardTransport::ALL.iter().copied().find(named).unwrap_or(CardTransport::JsonRpc);
        let address = match carrier {
            CardTransport::JsonRpc | CardTransport::HttpJson => endpoint,
            CardTransport::Grpc => grpc::address,
        };
        Ok(Self {
            endpoint: address(&discovered.url, interface)?,
            release: if newer { A2aRelease::V1_0 } else { A2aRelease::V0_3 },
            carrier,
            // 0.3 has no tenants.
            tenant: interface.tenant.clone().filter(|_| newer),
        })
    }

    /// Builds the address and body of an HTTP+JSON request (A2A §11.3). `id` is the task, if the request is about one.
    pub(crate) fn addressed(&self, method: Method, id: Option<&str>, params: Map) -> Addressed {
        let mut url = self.endpoint.clone();
        let id = id.unwrap_or_default();
        let is_read = method == Method::Task;
        if let Ok(mut path) = url.path_segments_mut() {
            // An address that ends in a slash has an empty last segment.
            path.pop_if_empty();
            path.extend(self.tenant.as_deref().filter(|tenant| !tenant.is_empty()));
            // As segments, so that a task id cannot leave its segment.
            match method {
                Method::Send => path.push("message:send"),
                Method::Stream => path.push("message:stream"),
                Method::Task => path.extend(["tasks", id]),
                Method::Subscribe => path.extend(["tasks", &format!("{id}:subscribe")]),
                Method::Cancel => path.extend(["tasks", &format!("{id}:cancel")]),
            };
        }
        (url, (!is_read).then(|| Value::Object(params).to_string().into_bytes()))
    }

    /// Builds the address and message of a gRPC call (A2A §10).
    ///
    /// # Errors
    /// `Unsent`, when the message cannot be written in protocol buffers.
    pub(crate) fn called(
        &self,
        method: Method,
        params: Map,
    ) -> Result<(Url, Vec<u8>), CallFailure> {
        let operation = method.operation();
        let params = self.with_tenant(params).into();
        let message = protobuf::write(schema::request(operation), &params);
        let unsaid = |_| {
            let why = "the message holds what protocol buffers cannot say".to_owned();
            CallFailure::Unsent(Unsent::Setup(why))
        };
        Ok((grpc::method(&self.endpoint, operation.name()), message.map_err(unsaid)?))
    }

    /// Reads the gRPC message that answers this method.
    pub(crate) fn returned(method: Method, message: &[u8]) -> Result<Value, Defect> {
        let read = protobuf::read(schema::answer(method.operation()), message);
        read.map_err(|_| Defect::NotA2a("the message is not of the type that the method returns"))
    }

    fn with_tenant(&self, params: Map) -> Map {
        let tenant = self.tenant.as_deref().map(|tenant| ("tenant".to_owned(), tenant.into()));
        tenant.into_iter().chain(params).collect()
    }

    /// Builds the headers of every request.
    pub(crate) fn headers(
        &self,
        extension: Option<&'static str>,
        authorization: Option<&HeaderValue>,
    ) -> HeaderMap {
        headers(self.release, extension, authorization)
    }

    /// Builds the body of a JSON-RPC request.
    pub(crate) fn request(&self, id: &str, method: Method, params: Map) -> Vec<u8> {
        let method = self.release.method(method.operation());
        let params = self.with_tenant(params);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        request.to_string().into_bytes()
    }

    /// Builds a message with these parts, which are given in the form of 1.0.
    pub(crate) fn message(
        &self,
        id: &str,
        mut parts: Vec<Value>,
        about: MessageContext<'_>,
    ) -> Value {
        let (kind, role) = match self.release {
            A2aRelease::V1_0 => (None, "ROLE_USER"),
            A2aRelease::V0_3 => {
                parts.iter_mut().filter_map(Value::as_object_mut).for_each(older_part);
                (Some("message"), "user")
            }
        };
        object!({"kind"?: kind, "messageId": id, "role": role, "parts": parts,
            "contextId"?: about.context_id, "taskId"?: about.task_id})
    }

    /// Returns the member of a message's configuration that asks for an immediate answer.
    pub(crate) fn at_once(&self) -> (&'static str, Value) {
        match self.release {
            A2aRelease::V1_0 => ("returnImmediately", true.into()),
            A2aRelease::V0_3 => ("blocking", false.into()),
        }
    }

    /// Returns the name of the configuration member for a webhook.
    pub(crate) fn webhook(&self) -> &'static str {
        match self.release {
            A2aRelease::V1_0 => "taskPushNotificationConfig",
            A2aRelease::V0_3 => "pushNotificationConfig",
        }
    }
}

/// Rewrites a part in the form of 0.3.
fn older_part(part: &mut Map) {
    let Some(bytes) = part.swap_remove("raw") else {
        let kind = if part.contains_key("text") { "text" } else { "data" };
        part.insert("kind".into(), kind.into());
        return;
    };
    let name = part.swap_remove("filename");
    let media_type = part.swap_remove("mediaType");
    let file = object!({"bytes": bytes, "name"?: name, "mimeType"?: media_type});
    part.insert("file".into(), file);
    part.insert("kind".into(), "file".into());
}

impl BindingItem {
    /// Reads a result. A task, or an event of one, must have the task's id.
    pub(crate) fn read(result: Value) -> Result<Self, Defect> {
        let item = Self::from_result(result)?;
        let id = match &item {
            Self::Task(task) => task.get("id"),
            Self::Status(update) | Self::Artifact(update) => update.get("taskId"),
            Self::Message(_) => return Ok(item),
        };
        match id.and_then(Value::as_str) {
            None | Some("") => Err(Defect::NotA2a("the task has no id")),
            Some(_) => Ok(item),
        }
    }

    fn with_kind(kind: OlderKind, held: Value) -> Self {
        match kind {
            OlderKind::Task => Self::Task(held),
            OlderKind::Message => Self::Message(held),
            OlderKind::StatusUpdate => Self::Status(held),
            OlderKind::ArtifactUpdate => Self::Artifact(held),
        }
    }

    fn from_result(mut result: Value) -> Result<Self, Defect> {
        const NEITHER: Defect = Defect::NotA2a("the result has neither a task nor a message");
        let Some(members) = result.as_object_mut() else { return Err(NEITHER) };
        // 0.3 names the kind in a member; 1.0 wraps the item in a member named after the kind.
        if let Some(kind) = members.get("kind").and_then(Value::as_str) {
            return OlderKind::from_name(kind)
                .map(|kind| Self::with_kind(kind, result))
                .ok_or(NEITHER);
        }
        for kind in OlderKind::ALL.iter().copied() {
            let name = kind.member();
            if members.get(name).is_some_and(Value::is_object) && !members.contains_key("parts") {
                let held = members.swap_remove(name);
                return held.map(|held| Self::with_kind(kind, held)).ok_or(NEITHER);
            }
        }
        if members.get("id").is_some_and(Value::is_string) && members.contains_key("status") {
            Ok(Self::Task(result))
        } else if members.get("parts").is_some_and(Value::is_array) {
            Ok(Self::Message(result))
        } else {
            Err(NEITHER)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_calls_its_task_stays_within_its_segment() {
        let binding = |tenant: Option<&str>| AgentBinding {
            endpoint: Url::parse("https://a.example/rest/").unwrap(),
            release: A2aRelease::V1_0,
            carrier: CardTransport::HttpJson,
            tenant: tenant.map(str::to_owned),
        };
        for (method, tenant, id, expected) in [
            (Method::Send, None, "", "https://a.example/rest/message:send"),
            (Method::Stream, Some("t/x"), "", "https://a.example/rest/t%2Fx/message:stream"),
            (Method::Send, Some(""), "", "https://a.example/rest/message:send"),
            (Method::Task, None, "a b", "https://a.example/rest/tasks/a%20b"),
            (Method::Task, None, "../x?y#z", "https://a.example/rest/tasks/..%2Fx%3Fy%23z"),
            (Method::Subscribe, None, "t", "https://a.example/rest/tasks/t:subscribe"),
        ] {
            let (url, body) = binding(tenant).addressed(method, Some(id), Map::new());
            assert_eq!((url.as_str(), body.is_some()), (expected, method != Method::Task));
        }
    }

    #[test]
    fn what_an_answer_holds_is_told_in_either_form() {
        let task = json!({"id": "t", "status": {"state": "x"}});
        assert_eq!(BindingItem::read(json!({"task": task})), Ok(BindingItem::Task(task.clone())));
        assert_eq!(BindingItem::read(task.clone()), Ok(BindingItem::Task(task)));
        let message = json!({"messageId": "m", "parts": []});
        assert_eq!(
            BindingItem::read(json!({"message": message})),
            Ok(BindingItem::Message(message.clone()))
        );
        assert_eq!(BindingItem::read(message.clone()), Ok(BindingItem::Message(message)));
        let update = json!({"taskId": "t", "status": {}});
        assert_eq!(
            BindingItem::read(json!({"statusUpdate": update})),
            Ok(BindingItem::Status(update))
        );
        let older = json!({"kind": "artifact-update", "taskId": "t", "artifact": {}});
        assert_eq!(BindingItem::read(older.clone()), Ok(BindingItem::Artifact(older)));
        for other in [json!([]), json!({}), json!({"kind": "x", "id": "t", "status": {}}), json!(1)]
        {
            assert!(BindingItem::read(other.clone()).is_err(), "{other}");
        }
    }
}
