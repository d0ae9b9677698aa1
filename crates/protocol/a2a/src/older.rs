//! A2A 0.3, as far as it differs from 1.0: methods with a slash, members called `kind`, states and
//! roles in lower case. Requests are read into the same types, and the same answers are written in
//! the older format. Names that have a catalog elsewhere have a column there: [`Operation::older`],
//! [`TaskState::older`].
//!
//! [`TaskState::older`]: super::TaskState::older

use super::error::A2aRefusal;
use super::model::{Artifact, ArtifactUpdate, Content, Event, Message, Part, Role, StatusUpdate};
use super::request::{self, A2aRequest, AuthenticationInfo, PushConfig, SendMessage, SendOptions};
use super::request::{given, id_text, length, object, or_null};
use super::{Operation, Task, TaskStatus};
use tradepost_document::catalog::{Vocabulary as _, catalog};
use tradepost_document::json::{Value, json, present};
use tradepost_document::parse::{self, read_object};
use tradepost_document::problem::{DocumentPlace, Problems};

catalog! {
    /// Types of answers and events, in the member `kind`.
    pub enum OlderKind {
        /// Name of the corresponding member in 1.0.
        member: &'static str,
    }
    /// A task.
    Task = "task" { member: "task" }
    /// A message.
    Message = "message" { member: "message" }
    /// A change of a task's status.
    StatusUpdate = "status-update" { member: "statusUpdate" }
    /// An artifact, or a part of one.
    ArtifactUpdate = "artifact-update" { member: "artifactUpdate" }
}

/// Returns true when a method has the form of 0.3.
#[must_use]
pub fn is_method(name: &str) -> bool {
    name.contains('/')
}

/// Returns true when a message's parameters ask for push notifications, well-formed or not.
#[must_use]
pub fn asks_for_push(params: &Value) -> bool {
    let configuration = params.get("configuration");
    let push = configuration.and_then(|configuration| configuration.get("pushNotificationConfig"));
    push.is_some_and(|push| !push.is_null())
}

/// Reads the parameters of an operation.
///
/// # Errors
/// `INVALID_PARAMS` with every wrong field.
pub fn read(operation: Operation, params: Option<&Value>) -> Result<A2aRequest, A2aRefusal> {
    let given = params.unwrap_or(&Value::Null);
    let mut problems = Problems::new();
    let p = &mut problems;
    let request = match operation {
        Operation::SendMessage => send(given, p).map(A2aRequest::SendMessage),
        Operation::SendStreamingMessage => send(given, p).map(A2aRequest::SendStreamingMessage),
        Operation::CreateTaskPushNotificationConfig => {
            read_object!(given, &DocumentPlace::Root, p, open {
                required "taskId" => task_id: id_text,
                required "pushNotificationConfig" => config: read_push_config,
            });
            config.zip(task_id).map(|(config, task_id)| {
                A2aRequest::CreatePushConfig(PushConfig { task_id: Some(task_id), ..config })
            })
        }
        Operation::GetTaskPushNotificationConfig => {
            task_and_config(given, p).map(|(task_id, id)| A2aRequest::GetPushConfig { task_id, id })
        }
        Operation::DeleteTaskPushNotificationConfig => task_and_config(given, p)
            .map(|(task_id, id)| A2aRequest::DeletePushConfig { task_id, id }),
        Operation::ListTaskPushNotificationConfigs => {
            read_object!(given, &DocumentPlace::Root, p, open { required "id" => task_id: id_text });
            let page_size = None;
            let page_token = None;
            task_id.map(|task_id| A2aRequest::ListPushConfigs { task_id, page_size, page_token })
        }
        // These have the same parameters in both releases.
        Operation::GetTask
        | Operation::ListTasks
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetExtendedAgentCard => return request::read(operation, params),
    };
    problems.into_result(request).map_err(|problems| request::invalid_params(&problems))
}

fn send(params: &Value, problems: &mut Problems) -> Option<SendMessage> {
    read_object!(params, &DocumentPlace::Root, problems, open {
        required "message" => message: |value, at, p| {
            request::read_message(&modern(value.clone()), at, p)
        },
        optional "configuration" => configuration: or_null(read_configuration),
        optional "metadata" => metadata: or_null(object),
    });
    Some(SendMessage { metadata, ..configuration.unwrap_or_default().with_message(message?) })
}

fn read_configuration(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<SendOptions> {
    read_object!(value, at, problems, open {
        optional "acceptedOutputModes" => modes: or_null(parse::texts),
        optional "pushNotificationConfig" => push_config: or_null(read_push_config),
        optional "historyLength" => history_length: or_null(length),
        optional "blocking" => blocking: or_null(parse::boolean),
    });
    Some(SendOptions {
        accepted_output_modes: modes.unwrap_or_default(),
        push_config,
        history_length,
        // The default is to wait, as in 1.0.
        return_immediately: blocking == Some(false),
    })
}

fn read_push_config(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<PushConfig> {
    read_object!(value, at, problems, open {
        optional "id" => id: given,
        required "url" => url: parse::uri,
        optional "token" => token: given,
        optional "authentication" => authentication: or_null(read_authentication),
    });
    Some(PushConfig { id, task_id: None, url: url?, token, authentication })
}

/// Reads the authentication of a webhook. The first of several schemes is used, because there is
/// one credential.
fn read_authentication(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AuthenticationInfo> {
    read_object!(value, at, problems, open {
        required "schemes" => schemes: |value, at, p| parse::list(value, at, p, (1, None), id_text),
        optional "credentials" => credentials: or_null(parse::text),
    });
    let scheme = schemes?.into_iter().next()?;
    Some(AuthenticationInfo { scheme, credentials })
}

fn task_and_config(params: &Value, problems: &mut Problems) -> Option<(String, String)> {
    read_object!(params, &DocumentPlace::Root, problems, open {
        required "id" => task_id: id_text,
        required "pushNotificationConfigId" => id: id_text,
    });
    task_id.zip(id)
}

/// Converts a message to the form of 1.0. Values with neither form stay unchanged, and are refused
/// by the parser.
fn modern(mut message: Value) -> Value {
    if let Some(role) = message.get_mut("role") {
        match role.as_str() {
            Some("user") => *role = Role::User.name().into(),
            Some("agent") => *role = Role::Agent.name().into(),
            Some(_) | None => {}
        }
    }
    let parts = message.get_mut("parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten().filter_map(Value::as_object_mut) {
        // In 0.3 a file is an object of its own; in 1.0 its members are in the part.
        let Some(Value::Object(file)) = part.swap_remove("file") else { continue };
        let names =
            [("uri", "url"), ("bytes", "raw"), ("name", "filename"), ("mimeType", "mediaType")];
        for (name, value) in file {
            if let Some((_, newer)) = names.iter().find(|(older, _)| *older == name) {
                part.insert((*newer).to_owned(), value);
            }
        }
    }
    message
}

/// Writes an event of a stream, or an answer that is one; `is_last` means that no event follows.
#[must_use]
pub fn event(event: &Event, is_last: bool) -> Value {
    match event {
        Event::Task(current) => task(current),
        Event::Message(answer) => message(answer),
        Event::StatusUpdate(StatusUpdate { task_id, context_id, status: standing }) => json!({
            "kind": OlderKind::StatusUpdate.name(),
            "taskId": task_id,
            "contextId": context_id,
            "status": status(standing),
            "final": is_last,
        }),
        Event::ArtifactUpdate(update) => {
            let ArtifactUpdate { task_id, context_id, artifact: piece, append, last_chunk } =
                update;
            json!({
                "kind": OlderKind::ArtifactUpdate.name(),
                "taskId": task_id,
                "contextId": context_id,
                "artifact": artifact(piece),
                "append": append,
                "lastChunk": last_chunk,
            })
        }
    }
}

/// Writes a task.
#[must_use]
pub fn task(task: &Task) -> Value {
    let Task { id, context_id, status: standing, artifacts, history, metadata } = task;
    present([
        ("kind", Some(OlderKind::Task.name().into())),
        ("id", Some(id.as_str().into())),
        ("contextId", Some(context_id.as_str().into())),
        ("status", Some(status(standing))),
        ("artifacts", artifacts.as_ref().map(|all| all.iter().map(artifact).collect())),
        ("history", history.as_ref().map(|all| all.iter().map(message).collect())),
        ("metadata", metadata.clone().map(Value::from)),
    ])
}

/// Writes a message.
#[must_use]
pub fn message(message: &Message) -> Value {
    let Message { message_id, context_id, task_id, role, parts, .. } = message;
    let role = match role {
        Role::User => "user",
        Role::Agent => "agent",
    };
    present([
        ("kind", Some(OlderKind::Message.name().into())),
        ("messageId", Some(message_id.as_str().into())),
        ("contextId", context_id.as_deref().map(Value::from)),
        ("taskId", task_id.as_deref().map(Value::from)),
        ("role", Some(role.into())),
        ("parts", Some(parts.iter().map(part).collect())),
        ("metadata", message.metadata.clone().map(Value::from)),
        ("extensions", texts(&message.extensions)),
        ("referenceTaskIds", texts(&message.reference_task_ids)),
    ])
}

/// Writes a webhook of a task.
#[must_use]
pub fn push_config(config: &PushConfig) -> Value {
    let PushConfig { id, task_id, url, token, authentication } = config;
    let authentication = authentication.as_ref().map(|known| {
        present([
            ("schemes", Some(json!([known.scheme]))),
            ("credentials", known.credentials.as_deref().map(Value::from)),
        ])
    });
    let config = present([
        ("id", id.as_deref().map(Value::from)),
        ("url", Some(url.as_str().into())),
        ("token", token.as_deref().map(Value::from)),
        ("authentication", authentication),
    ]);
    json!({"taskId": task_id, "pushNotificationConfig": config})
}

fn status(status: &TaskStatus) -> Value {
    present([
        ("state", Some(status.state.older().into())),
        ("message", status.message.as_ref().map(message)),
        ("timestamp", Some(format!("{:.3}", status.timestamp).into())),
    ])
}

fn artifact(artifact: &Artifact) -> Value {
    let Artifact { artifact_id, name, description, parts, metadata, extensions } = artifact;
    present([
        ("artifactId", Some(artifact_id.as_str().into())),
        ("name", name.as_deref().map(Value::from)),
        ("description", description.as_deref().map(Value::from)),
        ("parts", Some(parts.iter().map(part).collect())),
        ("metadata", metadata.clone().map(Value::from)),
        ("extensions", texts(extensions)),
    ])
}

fn part(part: &Part) -> Value {
    let file = |(name, content): (&str, &str)| {
        let file = present([
            ("name", part.filename.as_deref().map(Value::from)),
            ("mimeType", part.media_type.as_deref().map(Value::from)),
            (name, Some(content.into())),
        ]);
        ("file", "file", file)
    };
    let (kind, name, content) = match &part.content {
        Content::Text(text) => ("text", "text", text.as_str().into()),
        Content::Data(data) => ("data", "data", data.clone()),
        Content::Raw(bytes) => file(("bytes", bytes)),
        Content::Url(url) => file(("uri", url)),
    };
    present([
        ("kind", Some(kind.into())),
        (name, Some(content)),
        ("metadata", part.metadata.clone().map(Value::from)),
    ])
}

fn texts(texts: &[String]) -> Option<Value> {
    (!texts.is_empty()).then(|| texts.iter().map(|text| Value::from(text.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_releases_ask_for_the_same_request() {
        let message =
            |part: Value, role: &str| json!({"messageId": "m", "role": role, "parts": [part]});
        let auth = json!({"schemes": ["Bearer", "Basic"], "credentials": "c"});
        let newer_auth = json!({"scheme": "Bearer", "credentials": "c"});
        for (operation, older, newer) in [
            (
                Operation::SendMessage,
                json!({"message": message(json!({"kind": "text", "text": "x", "metadata": {"a": 1}}), "user"),
                    "configuration": {"blocking": false, "historyLength": 2,
                        "acceptedOutputModes": ["text/plain"],
                        "pushNotificationConfig": {"url": "https://b.example", "authentication": auth}}}),
                json!({"message": message(json!({"text": "x", "metadata": {"a": 1}}), "ROLE_USER"),
                    "configuration": {"returnImmediately": true, "historyLength": 2,
                        "acceptedOutputModes": ["text/plain"],
                        "taskPushNotificationConfig": {"url": "https://b.example", "authentication": newer_auth}}}),
            ),
            (
                Operation::SendStreamingMessage,
                json!({"message": message(json!({"kind": "file", "file": {"bytes": "eA==", "name": "f.txt",
                    "mimeType": "text/plain"}}), "user"), "configuration": {"blocking": true}}),
                json!({"message": message(json!({"raw": "eA==", "filename": "f.txt",
                    "mediaType": "text/plain"}), "ROLE_USER")}),
            ),
            (
                Operation::CreateTaskPushNotificationConfig,
                json!({"taskId": "t", "pushNotificationConfig": {"id": "c", "url": "https://b.example",
                    "token": "s", "authentication": auth}}),
                json!({"taskId": "t", "id": "c", "url": "https://b.example", "token": "s",
                    "authentication": newer_auth}),
            ),
            (
                Operation::DeleteTaskPushNotificationConfig,
                json!({"id": "t", "pushNotificationConfigId": "c"}),
                json!({"taskId": "t", "id": "c"}),
            ),
            (
                Operation::ListTaskPushNotificationConfigs,
                json!({"id": "t"}),
                json!({"taskId": "t"}),
            ),
            (
                Operation::GetTask,
                json!({"id": "t", "historyLength": 1}),
                json!({"id": "t", "historyLength": 1}),
            ),
        ] {
            let shown = |request: Result<A2aRequest, A2aRefusal>| format!("{:?}", request.unwrap());
            let older = read(operation, Some(&older));
            let newer = request::read(operation, Some(&newer));
            assert_eq!(shown(older), shown(newer), "{operation}");
        }
    }

    #[test]
    fn every_wrong_field_is_named_as_0_3_calls_it() {
        let push = |config: Value| {
            json!({"message": {"messageId": "m", "role": "user", "parts": [{"kind": "text"}]},
                "configuration": {"blocking": 1, "pushNotificationConfig": config}})
        };
        let set = Operation::CreateTaskPushNotificationConfig;
        let get = Operation::GetTaskPushNotificationConfig;
        for (operation, params, wrong) in [
            (
                Operation::SendMessage,
                push(json!({"url": 5, "authentication": {"schemes": []}})),
                concat!(
                    "message.parts[0], configuration.blocking, ",
                    "configuration.pushNotificationConfig.url, ",
                    "configuration.pushNotificationConfig.authentication.schemes"
                ),
            ),
            (set, json!({"pushNotificationConfig": {}}), "pushNotificationConfig.url, taskId"),
            (get, json!({"id": "t"}), "pushNotificationConfigId"),
            (get, json!(null), "params"),
        ] {
            let refusal = read(operation, Some(&params)).unwrap_err();
            let fields: Vec<_> = refusal.violations.iter().map(|v| v.field.as_str()).collect();
            assert_eq!(fields.join(", "), wrong, "{params}");
        }
        assert!(asks_for_push(&push(json!("anything"))) && !asks_for_push(&push(json!(null))));
    }

    #[test]
    fn answers_and_events_have_the_older_form() {
        let newer = json!({"id": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-04-30T12:00:00.000Z",
                "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "?"}]}},
            "artifacts": [{"artifactId": "a", "name": "n", "parts": [
                {"url": "https://b.example/x", "filename": "x", "mediaType": "text/plain"},
                {"data": {"big": 123456789012345678901234567890u128}, "metadata": {"k": 1}}]}],
            "history": [{"messageId": "q", "role": "ROLE_USER", "parts": [{"raw": "eA=="}],
                "extensions": ["https://e.example"], "taskId": "t"}], "metadata": {"z": 1}});
        let newer: Task = tradepost_document::json::from_value(newer).unwrap();
        let expected = concat!(
            r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"input-required","#,
            r#""message":{"kind":"message","messageId":"m","role":"agent","#,
            r#""parts":[{"kind":"text","text":"?"}]},"timestamp":"2026-04-30T12:00:00.000Z"},"#,
            r#""artifacts":[{"artifactId":"a","name":"n","parts":[{"kind":"file","#,
            r#""file":{"name":"x","mimeType":"text/plain","uri":"https://b.example/x"}},"#,
            r#"{"kind":"data","data":{"big":123456789012345678901234567890},"metadata":{"k":1}}]}],"#,
            r#""history":[{"kind":"message","messageId":"q","taskId":"t","role":"user","#,
            r#""parts":[{"kind":"file","file":{"bytes":"eA=="}}],"#,
            r#""extensions":["https://e.example"]}],"metadata":{"z":1}}"#
        );
        assert_eq!(task(&newer).to_string(), expected);
        let update = StatusUpdate {
            task_id: "t".to_owned(),
            context_id: "c".to_owned(),
            status: TaskStatus { message: None, ..newer.status.clone() },
        };
        let update = event(&Event::StatusUpdate(update), true);
        assert_eq!((&update["kind"], &update["final"]), (&json!("status-update"), &json!(true)));
        assert_eq!(update["status"]["state"], "input-required");
    }
}
