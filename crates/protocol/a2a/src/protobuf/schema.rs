//! The messages of A2A and of its errors. Generated from `proto/` by the test
//! `what_is_generated_is_what_the_definition_says`; do not edit.

use super::{Kind, Message, Rule, field};
use crate::Operation;

static ROLE: &[(i32, &str)] = &[
    (0, "ROLE_UNSPECIFIED"),
    (1, "ROLE_USER"),
    (2, "ROLE_AGENT"),
];

static TASK_STATE: &[(i32, &str)] = &[
    (0, "TASK_STATE_UNSPECIFIED"),
    (1, "TASK_STATE_SUBMITTED"),
    (2, "TASK_STATE_WORKING"),
    (3, "TASK_STATE_COMPLETED"),
    (4, "TASK_STATE_FAILED"),
    (5, "TASK_STATE_CANCELED"),
    (6, "TASK_STATE_INPUT_REQUIRED"),
    (7, "TASK_STATE_REJECTED"),
    (8, "TASK_STATE_AUTH_REQUIRED"),
];

/// `google.rpc.Status`.
pub static STATUS: Message = Message { name: "google.rpc.Status", fields: &[
    field(1, "code", Kind::Int32, Rule::Implicit),
    field(2, "message", Kind::Text, Rule::Implicit),
    field(3, "details", Kind::Any, Rule::Repeated),
] };

/// `google.rpc.ErrorInfo`.
pub static ERROR_INFO: Message = Message { name: "google.rpc.ErrorInfo", fields: &[
    field(1, "reason", Kind::Text, Rule::Implicit),
    field(2, "domain", Kind::Text, Rule::Implicit),
    field(3, "metadata", Kind::Text, Rule::Map),
] };

/// `google.rpc.BadRequest`.
pub static BAD_REQUEST: Message = Message { name: "google.rpc.BadRequest", fields: &[
    field(1, "fieldViolations", Kind::Message(&BAD_REQUEST_FIELD_VIOLATION), Rule::Repeated),
] };

/// `google.rpc.BadRequest.FieldViolation`.
pub static BAD_REQUEST_FIELD_VIOLATION: Message = Message { name: "google.rpc.BadRequest.FieldViolation", fields: &[
    field(1, "field", Kind::Text, Rule::Implicit),
    field(2, "description", Kind::Text, Rule::Implicit),
] };

/// `google.rpc.RetryInfo`.
pub static RETRY_INFO: Message = Message { name: "google.rpc.RetryInfo", fields: &[
    field(1, "retryDelay", Kind::Duration, Rule::Explicit),
] };

/// `lf.a2a.v1.SendMessageRequest`.
pub static SEND_MESSAGE_REQUEST: Message = Message { name: "lf.a2a.v1.SendMessageRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "message", Kind::Message(&MESSAGE), Rule::Explicit),
    field(3, "configuration", Kind::Message(&SEND_MESSAGE_CONFIGURATION), Rule::Explicit),
    field(4, "metadata", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.SendMessageConfiguration`.
pub static SEND_MESSAGE_CONFIGURATION: Message = Message { name: "lf.a2a.v1.SendMessageConfiguration", fields: &[
    field(1, "acceptedOutputModes", Kind::Text, Rule::Repeated),
    field(2, "taskPushNotificationConfig", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG), Rule::Explicit),
    field(3, "historyLength", Kind::Int32, Rule::Explicit),
    field(4, "returnImmediately", Kind::Bool, Rule::Implicit),
] };

/// `lf.a2a.v1.GetTaskRequest`.
pub static GET_TASK_REQUEST: Message = Message { name: "lf.a2a.v1.GetTaskRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "id", Kind::Text, Rule::Implicit),
    field(3, "historyLength", Kind::Int32, Rule::Explicit),
] };

/// `lf.a2a.v1.ListTasksRequest`.
pub static LIST_TASKS_REQUEST: Message = Message { name: "lf.a2a.v1.ListTasksRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "contextId", Kind::Text, Rule::Implicit),
    field(3, "status", Kind::Enum(TASK_STATE), Rule::Implicit),
    field(4, "pageSize", Kind::Int32, Rule::Explicit),
    field(5, "pageToken", Kind::Text, Rule::Implicit),
    field(6, "historyLength", Kind::Int32, Rule::Explicit),
    field(7, "statusTimestampAfter", Kind::Timestamp, Rule::Explicit),
    field(8, "includeArtifacts", Kind::Bool, Rule::Explicit),
] };

/// `lf.a2a.v1.CancelTaskRequest`.
pub static CANCEL_TASK_REQUEST: Message = Message { name: "lf.a2a.v1.CancelTaskRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "id", Kind::Text, Rule::Implicit),
    field(3, "metadata", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.SubscribeToTaskRequest`.
pub static SUBSCRIBE_TO_TASK_REQUEST: Message = Message { name: "lf.a2a.v1.SubscribeToTaskRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "id", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.GetTaskPushNotificationConfigRequest`.
pub static GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = Message { name: "lf.a2a.v1.GetTaskPushNotificationConfigRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "taskId", Kind::Text, Rule::Implicit),
    field(3, "id", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.ListTaskPushNotificationConfigsRequest`.
pub static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST: Message = Message { name: "lf.a2a.v1.ListTaskPushNotificationConfigsRequest", fields: &[
    field(1, "taskId", Kind::Text, Rule::Implicit),
    field(2, "pageSize", Kind::Int32, Rule::Implicit),
    field(3, "pageToken", Kind::Text, Rule::Implicit),
    field(4, "tenant", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.DeleteTaskPushNotificationConfigRequest`.
pub static DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: Message = Message { name: "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "taskId", Kind::Text, Rule::Implicit),
    field(3, "id", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.GetExtendedAgentCardRequest`.
pub static GET_EXTENDED_AGENT_CARD_REQUEST: Message = Message { name: "lf.a2a.v1.GetExtendedAgentCardRequest", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.SendMessageResponse`.
pub static SEND_MESSAGE_RESPONSE: Message = Message { name: "lf.a2a.v1.SendMessageResponse", fields: &[
    field(1, "task", Kind::Message(&TASK), Rule::Oneof(0)),
    field(2, "message", Kind::Message(&MESSAGE), Rule::Oneof(0)),
] };

/// `lf.a2a.v1.StreamResponse`.
pub static STREAM_RESPONSE: Message = Message { name: "lf.a2a.v1.StreamResponse", fields: &[
    field(1, "task", Kind::Message(&TASK), Rule::Oneof(0)),
    field(2, "message", Kind::Message(&MESSAGE), Rule::Oneof(0)),
    field(3, "statusUpdate", Kind::Message(&TASK_STATUS_UPDATE_EVENT), Rule::Oneof(0)),
    field(4, "artifactUpdate", Kind::Message(&TASK_ARTIFACT_UPDATE_EVENT), Rule::Oneof(0)),
] };

/// `lf.a2a.v1.ListTasksResponse`.
pub static LIST_TASKS_RESPONSE: Message = Message { name: "lf.a2a.v1.ListTasksResponse", fields: &[
    field(1, "tasks", Kind::Message(&TASK), Rule::Repeated),
    field(2, "nextPageToken", Kind::Text, Rule::Implicit),
    field(3, "pageSize", Kind::Int32, Rule::Implicit),
    field(4, "totalSize", Kind::Int32, Rule::Implicit),
] };

/// `lf.a2a.v1.ListTaskPushNotificationConfigsResponse`.
pub static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE: Message = Message { name: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse", fields: &[
    field(1, "configs", Kind::Message(&TASK_PUSH_NOTIFICATION_CONFIG), Rule::Repeated),
    field(2, "nextPageToken", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.Message`.
pub static MESSAGE: Message = Message { name: "lf.a2a.v1.Message", fields: &[
    field(1, "messageId", Kind::Text, Rule::Implicit),
    field(2, "contextId", Kind::Text, Rule::Implicit),
    field(3, "taskId", Kind::Text, Rule::Implicit),
    field(4, "role", Kind::Enum(ROLE), Rule::Implicit),
    field(5, "parts", Kind::Message(&PART), Rule::Repeated),
    field(6, "metadata", Kind::Object, Rule::Explicit),
    field(7, "extensions", Kind::Text, Rule::Repeated),
    field(8, "referenceTaskIds", Kind::Text, Rule::Repeated),
] };

/// `lf.a2a.v1.Part`.
pub static PART: Message = Message { name: "lf.a2a.v1.Part", fields: &[
    field(1, "text", Kind::Text, Rule::Oneof(0)),
    field(2, "raw", Kind::Bytes, Rule::Oneof(0)),
    field(3, "url", Kind::Text, Rule::Oneof(0)),
    field(4, "data", Kind::Json, Rule::Oneof(0)),
    field(5, "metadata", Kind::Object, Rule::Explicit),
    field(6, "filename", Kind::Text, Rule::Implicit),
    field(7, "mediaType", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.Task`.
pub static TASK: Message = Message { name: "lf.a2a.v1.Task", fields: &[
    field(1, "id", Kind::Text, Rule::Implicit),
    field(2, "contextId", Kind::Text, Rule::Implicit),
    field(3, "status", Kind::Message(&TASK_STATUS), Rule::Explicit),
    field(4, "artifacts", Kind::Message(&ARTIFACT), Rule::Repeated),
    field(5, "history", Kind::Message(&MESSAGE), Rule::Repeated),
    field(6, "metadata", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.TaskStatus`.
pub static TASK_STATUS: Message = Message { name: "lf.a2a.v1.TaskStatus", fields: &[
    field(1, "state", Kind::Enum(TASK_STATE), Rule::Implicit),
    field(2, "message", Kind::Message(&MESSAGE), Rule::Explicit),
    field(3, "timestamp", Kind::Timestamp, Rule::Explicit),
] };

/// `lf.a2a.v1.Artifact`.
pub static ARTIFACT: Message = Message { name: "lf.a2a.v1.Artifact", fields: &[
    field(1, "artifactId", Kind::Text, Rule::Implicit),
    field(2, "name", Kind::Text, Rule::Implicit),
    field(3, "description", Kind::Text, Rule::Implicit),
    field(4, "parts", Kind::Message(&PART), Rule::Repeated),
    field(5, "metadata", Kind::Object, Rule::Explicit),
    field(6, "extensions", Kind::Text, Rule::Repeated),
] };

/// `lf.a2a.v1.TaskStatusUpdateEvent`.
pub static TASK_STATUS_UPDATE_EVENT: Message = Message { name: "lf.a2a.v1.TaskStatusUpdateEvent", fields: &[
    field(1, "taskId", Kind::Text, Rule::Implicit),
    field(2, "contextId", Kind::Text, Rule::Implicit),
    field(3, "status", Kind::Message(&TASK_STATUS), Rule::Explicit),
    field(4, "metadata", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.TaskArtifactUpdateEvent`.
pub static TASK_ARTIFACT_UPDATE_EVENT: Message = Message { name: "lf.a2a.v1.TaskArtifactUpdateEvent", fields: &[
    field(1, "taskId", Kind::Text, Rule::Implicit),
    field(2, "contextId", Kind::Text, Rule::Implicit),
    field(3, "artifact", Kind::Message(&ARTIFACT), Rule::Explicit),
    field(4, "append", Kind::Bool, Rule::Implicit),
    field(5, "lastChunk", Kind::Bool, Rule::Implicit),
    field(6, "metadata", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.TaskPushNotificationConfig`.
pub static TASK_PUSH_NOTIFICATION_CONFIG: Message = Message { name: "lf.a2a.v1.TaskPushNotificationConfig", fields: &[
    field(1, "tenant", Kind::Text, Rule::Implicit),
    field(2, "id", Kind::Text, Rule::Implicit),
    field(3, "taskId", Kind::Text, Rule::Implicit),
    field(4, "url", Kind::Text, Rule::Implicit),
    field(5, "token", Kind::Text, Rule::Implicit),
    field(6, "authentication", Kind::Message(&AUTHENTICATION_INFO), Rule::Explicit),
] };

/// `lf.a2a.v1.AuthenticationInfo`.
pub static AUTHENTICATION_INFO: Message = Message { name: "lf.a2a.v1.AuthenticationInfo", fields: &[
    field(1, "scheme", Kind::Text, Rule::Implicit),
    field(2, "credentials", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.AgentCard`.
pub static AGENT_CARD: Message = Message { name: "lf.a2a.v1.AgentCard", fields: &[
    field(1, "name", Kind::Text, Rule::Implicit),
    field(2, "description", Kind::Text, Rule::Implicit),
    field(3, "supportedInterfaces", Kind::Message(&AGENT_INTERFACE), Rule::Repeated),
    field(4, "provider", Kind::Message(&AGENT_PROVIDER), Rule::Explicit),
    field(5, "version", Kind::Text, Rule::Implicit),
    field(6, "documentationUrl", Kind::Text, Rule::Explicit),
    field(7, "capabilities", Kind::Message(&AGENT_CAPABILITIES), Rule::Explicit),
    field(8, "securitySchemes", Kind::Message(&SECURITY_SCHEME), Rule::Map),
    field(9, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT), Rule::Repeated),
    field(10, "defaultInputModes", Kind::Text, Rule::Repeated),
    field(11, "defaultOutputModes", Kind::Text, Rule::Repeated),
    field(12, "skills", Kind::Message(&AGENT_SKILL), Rule::Repeated),
    field(13, "signatures", Kind::Message(&AGENT_CARD_SIGNATURE), Rule::Repeated),
    field(14, "iconUrl", Kind::Text, Rule::Explicit),
] };

/// `lf.a2a.v1.AgentInterface`.
pub static AGENT_INTERFACE: Message = Message { name: "lf.a2a.v1.AgentInterface", fields: &[
    field(1, "url", Kind::Text, Rule::Implicit),
    field(2, "protocolBinding", Kind::Text, Rule::Implicit),
    field(3, "tenant", Kind::Text, Rule::Implicit),
    field(4, "protocolVersion", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.AgentProvider`.
pub static AGENT_PROVIDER: Message = Message { name: "lf.a2a.v1.AgentProvider", fields: &[
    field(1, "url", Kind::Text, Rule::Implicit),
    field(2, "organization", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.AgentCapabilities`.
pub static AGENT_CAPABILITIES: Message = Message { name: "lf.a2a.v1.AgentCapabilities", fields: &[
    field(1, "streaming", Kind::Bool, Rule::Explicit),
    field(2, "pushNotifications", Kind::Bool, Rule::Explicit),
    field(3, "extensions", Kind::Message(&AGENT_EXTENSION), Rule::Repeated),
    field(4, "extendedAgentCard", Kind::Bool, Rule::Explicit),
] };

/// `lf.a2a.v1.AgentExtension`.
pub static AGENT_EXTENSION: Message = Message { name: "lf.a2a.v1.AgentExtension", fields: &[
    field(1, "uri", Kind::Text, Rule::Implicit),
    field(2, "description", Kind::Text, Rule::Implicit),
    field(3, "required", Kind::Bool, Rule::Implicit),
    field(4, "params", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.AgentSkill`.
pub static AGENT_SKILL: Message = Message { name: "lf.a2a.v1.AgentSkill", fields: &[
    field(1, "id", Kind::Text, Rule::Implicit),
    field(2, "name", Kind::Text, Rule::Implicit),
    field(3, "description", Kind::Text, Rule::Implicit),
    field(4, "tags", Kind::Text, Rule::Repeated),
    field(5, "examples", Kind::Text, Rule::Repeated),
    field(6, "inputModes", Kind::Text, Rule::Repeated),
    field(7, "outputModes", Kind::Text, Rule::Repeated),
    field(8, "securityRequirements", Kind::Message(&SECURITY_REQUIREMENT), Rule::Repeated),
] };

/// `lf.a2a.v1.AgentCardSignature`.
pub static AGENT_CARD_SIGNATURE: Message = Message { name: "lf.a2a.v1.AgentCardSignature", fields: &[
    field(1, "protected", Kind::Text, Rule::Implicit),
    field(2, "signature", Kind::Text, Rule::Implicit),
    field(3, "header", Kind::Object, Rule::Explicit),
] };

/// `lf.a2a.v1.SecurityRequirement`.
pub static SECURITY_REQUIREMENT: Message = Message { name: "lf.a2a.v1.SecurityRequirement", fields: &[
    field(1, "schemes", Kind::Message(&STRING_LIST), Rule::Map),
] };

/// `lf.a2a.v1.StringList`.
pub static STRING_LIST: Message = Message { name: "lf.a2a.v1.StringList", fields: &[
    field(1, "list", Kind::Text, Rule::Repeated),
] };

/// `lf.a2a.v1.SecurityScheme`.
pub static SECURITY_SCHEME: Message = Message { name: "lf.a2a.v1.SecurityScheme", fields: &[
    field(1, "apiKeySecurityScheme", Kind::Message(&API_KEY_SECURITY_SCHEME), Rule::Oneof(0)),
    field(2, "httpAuthSecurityScheme", Kind::Message(&HTTP_AUTH_SECURITY_SCHEME), Rule::Oneof(0)),
    field(3, "oauth2SecurityScheme", Kind::Message(&O_AUTH2_SECURITY_SCHEME), Rule::Oneof(0)),
    field(4, "openIdConnectSecurityScheme", Kind::Message(&OPEN_ID_CONNECT_SECURITY_SCHEME), Rule::Oneof(0)),
    field(5, "mtlsSecurityScheme", Kind::Message(&MUTUAL_TLS_SECURITY_SCHEME), Rule::Oneof(0)),
] };

/// `lf.a2a.v1.APIKeySecurityScheme`.
pub static API_KEY_SECURITY_SCHEME: Message = Message { name: "lf.a2a.v1.APIKeySecurityScheme", fields: &[
    field(1, "description", Kind::Text, Rule::Implicit),
    field(2, "location", Kind::Text, Rule::Implicit),
    field(3, "name", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.HTTPAuthSecurityScheme`.
pub static HTTP_AUTH_SECURITY_SCHEME: Message = Message { name: "lf.a2a.v1.HTTPAuthSecurityScheme", fields: &[
    field(1, "description", Kind::Text, Rule::Implicit),
    field(2, "scheme", Kind::Text, Rule::Implicit),
    field(3, "bearerFormat", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.OAuth2SecurityScheme`.
pub static O_AUTH2_SECURITY_SCHEME: Message = Message { name: "lf.a2a.v1.OAuth2SecurityScheme", fields: &[
    field(1, "description", Kind::Text, Rule::Implicit),
    field(2, "flows", Kind::Message(&O_AUTH_FLOWS), Rule::Explicit),
    field(3, "oauth2MetadataUrl", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.OpenIdConnectSecurityScheme`.
pub static OPEN_ID_CONNECT_SECURITY_SCHEME: Message = Message { name: "lf.a2a.v1.OpenIdConnectSecurityScheme", fields: &[
    field(1, "description", Kind::Text, Rule::Implicit),
    field(2, "openIdConnectUrl", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.MutualTlsSecurityScheme`.
pub static MUTUAL_TLS_SECURITY_SCHEME: Message = Message { name: "lf.a2a.v1.MutualTlsSecurityScheme", fields: &[
    field(1, "description", Kind::Text, Rule::Implicit),
] };

/// `lf.a2a.v1.OAuthFlows`.
pub static O_AUTH_FLOWS: Message = Message { name: "lf.a2a.v1.OAuthFlows", fields: &[
    field(1, "authorizationCode", Kind::Message(&AUTHORIZATION_CODE_O_AUTH_FLOW), Rule::Oneof(0)),
    field(2, "clientCredentials", Kind::Message(&CLIENT_CREDENTIALS_O_AUTH_FLOW), Rule::Oneof(0)),
    field(3, "implicit", Kind::Message(&IMPLICIT_O_AUTH_FLOW), Rule::Oneof(0)),
    field(4, "password", Kind::Message(&PASSWORD_O_AUTH_FLOW), Rule::Oneof(0)),
    field(5, "deviceCode", Kind::Message(&DEVICE_CODE_O_AUTH_FLOW), Rule::Oneof(0)),
] };

/// `lf.a2a.v1.AuthorizationCodeOAuthFlow`.
pub static AUTHORIZATION_CODE_O_AUTH_FLOW: Message = Message { name: "lf.a2a.v1.AuthorizationCodeOAuthFlow", fields: &[
    field(1, "authorizationUrl", Kind::Text, Rule::Implicit),
    field(2, "tokenUrl", Kind::Text, Rule::Implicit),
    field(3, "refreshUrl", Kind::Text, Rule::Implicit),
    field(4, "scopes", Kind::Text, Rule::Map),
    field(5, "pkceRequired", Kind::Bool, Rule::Implicit),
] };

/// `lf.a2a.v1.ClientCredentialsOAuthFlow`.
pub static CLIENT_CREDENTIALS_O_AUTH_FLOW: Message = Message { name: "lf.a2a.v1.ClientCredentialsOAuthFlow", fields: &[
    field(1, "tokenUrl", Kind::Text, Rule::Implicit),
    field(2, "refreshUrl", Kind::Text, Rule::Implicit),
    field(3, "scopes", Kind::Text, Rule::Map),
] };

/// `lf.a2a.v1.ImplicitOAuthFlow`.
pub static IMPLICIT_O_AUTH_FLOW: Message = Message { name: "lf.a2a.v1.ImplicitOAuthFlow", fields: &[
    field(1, "authorizationUrl", Kind::Text, Rule::Implicit),
    field(2, "refreshUrl", Kind::Text, Rule::Implicit),
    field(3, "scopes", Kind::Text, Rule::Map),
] };

/// `lf.a2a.v1.PasswordOAuthFlow`.
pub static PASSWORD_O_AUTH_FLOW: Message = Message { name: "lf.a2a.v1.PasswordOAuthFlow", fields: &[
    field(1, "tokenUrl", Kind::Text, Rule::Implicit),
    field(2, "refreshUrl", Kind::Text, Rule::Implicit),
    field(3, "scopes", Kind::Text, Rule::Map),
] };

/// `lf.a2a.v1.DeviceCodeOAuthFlow`.
pub static DEVICE_CODE_O_AUTH_FLOW: Message = Message { name: "lf.a2a.v1.DeviceCodeOAuthFlow", fields: &[
    field(1, "deviceAuthorizationUrl", Kind::Text, Rule::Implicit),
    field(2, "tokenUrl", Kind::Text, Rule::Implicit),
    field(3, "refreshUrl", Kind::Text, Rule::Implicit),
    field(4, "scopes", Kind::Text, Rule::Map),
] };

/// `google.protobuf.Empty`.
pub static EMPTY: Message = Message { name: "google.protobuf.Empty", fields: &[] };

/// Every message.
pub static ALL: &[&Message] = &[
    &STATUS, &ERROR_INFO, &BAD_REQUEST, &BAD_REQUEST_FIELD_VIOLATION, &RETRY_INFO,
    &SEND_MESSAGE_REQUEST, &SEND_MESSAGE_CONFIGURATION, &GET_TASK_REQUEST, &LIST_TASKS_REQUEST,
    &CANCEL_TASK_REQUEST, &SUBSCRIBE_TO_TASK_REQUEST, &GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
    &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST, &DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
    &GET_EXTENDED_AGENT_CARD_REQUEST, &SEND_MESSAGE_RESPONSE, &STREAM_RESPONSE,
    &LIST_TASKS_RESPONSE, &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE, &MESSAGE, &PART, &TASK,
    &TASK_STATUS, &ARTIFACT, &TASK_STATUS_UPDATE_EVENT, &TASK_ARTIFACT_UPDATE_EVENT,
    &TASK_PUSH_NOTIFICATION_CONFIG, &AUTHENTICATION_INFO, &AGENT_CARD, &AGENT_INTERFACE,
    &AGENT_PROVIDER, &AGENT_CAPABILITIES, &AGENT_EXTENSION, &AGENT_SKILL, &AGENT_CARD_SIGNATURE,
    &SECURITY_REQUIREMENT, &STRING_LIST, &SECURITY_SCHEME, &API_KEY_SECURITY_SCHEME,
    &HTTP_AUTH_SECURITY_SCHEME, &O_AUTH2_SECURITY_SCHEME, &OPEN_ID_CONNECT_SECURITY_SCHEME,
    &MUTUAL_TLS_SECURITY_SCHEME, &O_AUTH_FLOWS, &AUTHORIZATION_CODE_O_AUTH_FLOW,
    &CLIENT_CREDENTIALS_O_AUTH_FLOW, &IMPLICIT_O_AUTH_FLOW, &PASSWORD_O_AUTH_FLOW,
    &DEVICE_CODE_O_AUTH_FLOW, &EMPTY,
];

/// What an operation takes.
#[must_use]
pub fn request(operation: Operation) -> &'static Message {
    match operation {
        Operation::SendMessage => &SEND_MESSAGE_REQUEST,
        Operation::SendStreamingMessage => &SEND_MESSAGE_REQUEST,
        Operation::GetTask => &GET_TASK_REQUEST,
        Operation::ListTasks => &LIST_TASKS_REQUEST,
        Operation::CancelTask => &CANCEL_TASK_REQUEST,
        Operation::SubscribeToTask => &SUBSCRIBE_TO_TASK_REQUEST,
        Operation::CreateTaskPushNotificationConfig => &TASK_PUSH_NOTIFICATION_CONFIG,
        Operation::GetTaskPushNotificationConfig => &GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        Operation::ListTaskPushNotificationConfigs => &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST,
        Operation::DeleteTaskPushNotificationConfig => &DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST,
        Operation::GetExtendedAgentCard => &GET_EXTENDED_AGENT_CARD_REQUEST,
    }
}

/// What an operation tells.
#[must_use]
pub fn answer(operation: Operation) -> &'static Message {
    match operation {
        Operation::SendMessage => &SEND_MESSAGE_RESPONSE,
        Operation::SendStreamingMessage => &STREAM_RESPONSE,
        Operation::GetTask => &TASK,
        Operation::ListTasks => &LIST_TASKS_RESPONSE,
        Operation::CancelTask => &TASK,
        Operation::SubscribeToTask => &STREAM_RESPONSE,
        Operation::CreateTaskPushNotificationConfig => &TASK_PUSH_NOTIFICATION_CONFIG,
        Operation::GetTaskPushNotificationConfig => &TASK_PUSH_NOTIFICATION_CONFIG,
        Operation::ListTaskPushNotificationConfigs => &LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE,
        Operation::DeleteTaskPushNotificationConfig => &EMPTY,
        Operation::GetExtendedAgentCard => &AGENT_CARD,
    }
}
