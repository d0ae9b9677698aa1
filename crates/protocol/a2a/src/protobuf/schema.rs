//! The messages of A2A and of its errors. Generated from `proto/` by the test
//! `what_is_generated_is_what_the_definition_says`; do not edit.

use super::{FieldLabel, FieldType, MessageDescriptor, field};
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
pub static STATUS: MessageDescriptor = MessageDescriptor { name: "google.rpc.Status", fields: &[
    field(1, "code", FieldType::Int32, FieldLabel::Implicit),
    field(2, "message", FieldType::Text, FieldLabel::Implicit),
    field(3, "details", FieldType::Any, FieldLabel::Repeated),
] };

/// `google.rpc.ErrorInfo`.
pub static ERROR_INFO: MessageDescriptor = MessageDescriptor { name: "google.rpc.ErrorInfo", fields: &[
    field(1, "reason", FieldType::Text, FieldLabel::Implicit),
    field(2, "domain", FieldType::Text, FieldLabel::Implicit),
    field(3, "metadata", FieldType::Text, FieldLabel::Map),
] };

/// `google.rpc.BadRequest`.
pub static BAD_REQUEST: MessageDescriptor = MessageDescriptor { name: "google.rpc.BadRequest", fields: &[
    field(1, "fieldViolations", FieldType::Message(&BAD_REQUEST_FIELD_VIOLATION), FieldLabel::Repeated),
] };

/// `google.rpc.BadRequest.FieldViolation`.
pub static BAD_REQUEST_FIELD_VIOLATION: MessageDescriptor = MessageDescriptor { name: "google.rpc.BadRequest.FieldViolation", fields: &[
    field(1, "field", FieldType::Text, FieldLabel::Implicit),
    field(2, "description", FieldType::Text, FieldLabel::Implicit),
] };

/// `google.rpc.RetryInfo`.
pub static RETRY_INFO: MessageDescriptor = MessageDescriptor { name: "google.rpc.RetryInfo", fields: &[
    field(1, "retryDelay", FieldType::Duration, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.SendMessageRequest`.
pub static SEND_MESSAGE_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.SendMessageRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "message", FieldType::Message(&MESSAGE), FieldLabel::Explicit),
    field(3, "configuration", FieldType::Message(&SEND_MESSAGE_CONFIGURATION), FieldLabel::Explicit),
    field(4, "metadata", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.SendMessageConfiguration`.
pub static SEND_MESSAGE_CONFIGURATION: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.SendMessageConfiguration", fields: &[
    field(1, "acceptedOutputModes", FieldType::Text, FieldLabel::Repeated),
    field(2, "taskPushNotificationConfig", FieldType::Message(&TASK_PUSH_NOTIFICATION_CONFIG), FieldLabel::Explicit),
    field(3, "historyLength", FieldType::Int32, FieldLabel::Explicit),
    field(4, "returnImmediately", FieldType::Bool, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.GetTaskRequest`.
pub static GET_TASK_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.GetTaskRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "id", FieldType::Text, FieldLabel::Implicit),
    field(3, "historyLength", FieldType::Int32, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.ListTasksRequest`.
pub static LIST_TASKS_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.ListTasksRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "contextId", FieldType::Text, FieldLabel::Implicit),
    field(3, "status", FieldType::Enum(TASK_STATE), FieldLabel::Implicit),
    field(4, "pageSize", FieldType::Int32, FieldLabel::Explicit),
    field(5, "pageToken", FieldType::Text, FieldLabel::Implicit),
    field(6, "historyLength", FieldType::Int32, FieldLabel::Explicit),
    field(7, "statusTimestampAfter", FieldType::Timestamp, FieldLabel::Explicit),
    field(8, "includeArtifacts", FieldType::Bool, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.CancelTaskRequest`.
pub static CANCEL_TASK_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.CancelTaskRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "id", FieldType::Text, FieldLabel::Implicit),
    field(3, "metadata", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.SubscribeToTaskRequest`.
pub static SUBSCRIBE_TO_TASK_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.SubscribeToTaskRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "id", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.GetTaskPushNotificationConfigRequest`.
pub static GET_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.GetTaskPushNotificationConfigRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(3, "id", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.ListTaskPushNotificationConfigsRequest`.
pub static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.ListTaskPushNotificationConfigsRequest", fields: &[
    field(1, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(2, "pageSize", FieldType::Int32, FieldLabel::Implicit),
    field(3, "pageToken", FieldType::Text, FieldLabel::Implicit),
    field(4, "tenant", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.DeleteTaskPushNotificationConfigRequest`.
pub static DELETE_TASK_PUSH_NOTIFICATION_CONFIG_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.DeleteTaskPushNotificationConfigRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(3, "id", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.GetExtendedAgentCardRequest`.
pub static GET_EXTENDED_AGENT_CARD_REQUEST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.GetExtendedAgentCardRequest", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.SendMessageResponse`.
pub static SEND_MESSAGE_RESPONSE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.SendMessageResponse", fields: &[
    field(1, "task", FieldType::Message(&TASK), FieldLabel::Oneof(0)),
    field(2, "message", FieldType::Message(&MESSAGE), FieldLabel::Oneof(0)),
] };

/// `lf.a2a.v1.StreamResponse`.
pub static STREAM_RESPONSE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.StreamResponse", fields: &[
    field(1, "task", FieldType::Message(&TASK), FieldLabel::Oneof(0)),
    field(2, "message", FieldType::Message(&MESSAGE), FieldLabel::Oneof(0)),
    field(3, "statusUpdate", FieldType::Message(&TASK_STATUS_UPDATE_EVENT), FieldLabel::Oneof(0)),
    field(4, "artifactUpdate", FieldType::Message(&TASK_ARTIFACT_UPDATE_EVENT), FieldLabel::Oneof(0)),
] };

/// `lf.a2a.v1.ListTasksResponse`.
pub static LIST_TASKS_RESPONSE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.ListTasksResponse", fields: &[
    field(1, "tasks", FieldType::Message(&TASK), FieldLabel::Repeated),
    field(2, "nextPageToken", FieldType::Text, FieldLabel::Implicit),
    field(3, "pageSize", FieldType::Int32, FieldLabel::Implicit),
    field(4, "totalSize", FieldType::Int32, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.ListTaskPushNotificationConfigsResponse`.
pub static LIST_TASK_PUSH_NOTIFICATION_CONFIGS_RESPONSE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.ListTaskPushNotificationConfigsResponse", fields: &[
    field(1, "configs", FieldType::Message(&TASK_PUSH_NOTIFICATION_CONFIG), FieldLabel::Repeated),
    field(2, "nextPageToken", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.Message`.
pub static MESSAGE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.Message", fields: &[
    field(1, "messageId", FieldType::Text, FieldLabel::Implicit),
    field(2, "contextId", FieldType::Text, FieldLabel::Implicit),
    field(3, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(4, "role", FieldType::Enum(ROLE), FieldLabel::Implicit),
    field(5, "parts", FieldType::Message(&PART), FieldLabel::Repeated),
    field(6, "metadata", FieldType::Object, FieldLabel::Explicit),
    field(7, "extensions", FieldType::Text, FieldLabel::Repeated),
    field(8, "referenceTaskIds", FieldType::Text, FieldLabel::Repeated),
] };

/// `lf.a2a.v1.Part`.
pub static PART: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.Part", fields: &[
    field(1, "text", FieldType::Text, FieldLabel::Oneof(0)),
    field(2, "raw", FieldType::Bytes, FieldLabel::Oneof(0)),
    field(3, "url", FieldType::Text, FieldLabel::Oneof(0)),
    field(4, "data", FieldType::Json, FieldLabel::Oneof(0)),
    field(5, "metadata", FieldType::Object, FieldLabel::Explicit),
    field(6, "filename", FieldType::Text, FieldLabel::Implicit),
    field(7, "mediaType", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.Task`.
pub static TASK: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.Task", fields: &[
    field(1, "id", FieldType::Text, FieldLabel::Implicit),
    field(2, "contextId", FieldType::Text, FieldLabel::Implicit),
    field(3, "status", FieldType::Message(&TASK_STATUS), FieldLabel::Explicit),
    field(4, "artifacts", FieldType::Message(&ARTIFACT), FieldLabel::Repeated),
    field(5, "history", FieldType::Message(&MESSAGE), FieldLabel::Repeated),
    field(6, "metadata", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.TaskStatus`.
pub static TASK_STATUS: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.TaskStatus", fields: &[
    field(1, "state", FieldType::Enum(TASK_STATE), FieldLabel::Implicit),
    field(2, "message", FieldType::Message(&MESSAGE), FieldLabel::Explicit),
    field(3, "timestamp", FieldType::Timestamp, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.Artifact`.
pub static ARTIFACT: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.Artifact", fields: &[
    field(1, "artifactId", FieldType::Text, FieldLabel::Implicit),
    field(2, "name", FieldType::Text, FieldLabel::Implicit),
    field(3, "description", FieldType::Text, FieldLabel::Implicit),
    field(4, "parts", FieldType::Message(&PART), FieldLabel::Repeated),
    field(5, "metadata", FieldType::Object, FieldLabel::Explicit),
    field(6, "extensions", FieldType::Text, FieldLabel::Repeated),
] };

/// `lf.a2a.v1.TaskStatusUpdateEvent`.
pub static TASK_STATUS_UPDATE_EVENT: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.TaskStatusUpdateEvent", fields: &[
    field(1, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(2, "contextId", FieldType::Text, FieldLabel::Implicit),
    field(3, "status", FieldType::Message(&TASK_STATUS), FieldLabel::Explicit),
    field(4, "metadata", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.TaskArtifactUpdateEvent`.
pub static TASK_ARTIFACT_UPDATE_EVENT: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.TaskArtifactUpdateEvent", fields: &[
    field(1, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(2, "contextId", FieldType::Text, FieldLabel::Implicit),
    field(3, "artifact", FieldType::Message(&ARTIFACT), FieldLabel::Explicit),
    field(4, "append", FieldType::Bool, FieldLabel::Implicit),
    field(5, "lastChunk", FieldType::Bool, FieldLabel::Implicit),
    field(6, "metadata", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.TaskPushNotificationConfig`.
pub static TASK_PUSH_NOTIFICATION_CONFIG: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.TaskPushNotificationConfig", fields: &[
    field(1, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(2, "id", FieldType::Text, FieldLabel::Implicit),
    field(3, "taskId", FieldType::Text, FieldLabel::Implicit),
    field(4, "url", FieldType::Text, FieldLabel::Implicit),
    field(5, "token", FieldType::Text, FieldLabel::Implicit),
    field(6, "authentication", FieldType::Message(&AUTHENTICATION_INFO), FieldLabel::Explicit),
] };

/// `lf.a2a.v1.AuthenticationInfo`.
pub static AUTHENTICATION_INFO: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AuthenticationInfo", fields: &[
    field(1, "scheme", FieldType::Text, FieldLabel::Implicit),
    field(2, "credentials", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.AgentCard`.
pub static AGENT_CARD: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentCard", fields: &[
    field(1, "name", FieldType::Text, FieldLabel::Implicit),
    field(2, "description", FieldType::Text, FieldLabel::Implicit),
    field(3, "supportedInterfaces", FieldType::Message(&AGENT_INTERFACE), FieldLabel::Repeated),
    field(4, "provider", FieldType::Message(&AGENT_PROVIDER), FieldLabel::Explicit),
    field(5, "version", FieldType::Text, FieldLabel::Implicit),
    field(6, "documentationUrl", FieldType::Text, FieldLabel::Explicit),
    field(7, "capabilities", FieldType::Message(&AGENT_CAPABILITIES), FieldLabel::Explicit),
    field(8, "securitySchemes", FieldType::Message(&SECURITY_SCHEME), FieldLabel::Map),
    field(9, "securityRequirements", FieldType::Message(&SECURITY_REQUIREMENT), FieldLabel::Repeated),
    field(10, "defaultInputModes", FieldType::Text, FieldLabel::Repeated),
    field(11, "defaultOutputModes", FieldType::Text, FieldLabel::Repeated),
    field(12, "skills", FieldType::Message(&AGENT_SKILL), FieldLabel::Repeated),
    field(13, "signatures", FieldType::Message(&AGENT_CARD_SIGNATURE), FieldLabel::Repeated),
    field(14, "iconUrl", FieldType::Text, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.AgentInterface`.
pub static AGENT_INTERFACE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentInterface", fields: &[
    field(1, "url", FieldType::Text, FieldLabel::Implicit),
    field(2, "protocolBinding", FieldType::Text, FieldLabel::Implicit),
    field(3, "tenant", FieldType::Text, FieldLabel::Implicit),
    field(4, "protocolVersion", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.AgentProvider`.
pub static AGENT_PROVIDER: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentProvider", fields: &[
    field(1, "url", FieldType::Text, FieldLabel::Implicit),
    field(2, "organization", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.AgentCapabilities`.
pub static AGENT_CAPABILITIES: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentCapabilities", fields: &[
    field(1, "streaming", FieldType::Bool, FieldLabel::Explicit),
    field(2, "pushNotifications", FieldType::Bool, FieldLabel::Explicit),
    field(3, "extensions", FieldType::Message(&AGENT_EXTENSION), FieldLabel::Repeated),
    field(4, "extendedAgentCard", FieldType::Bool, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.AgentExtension`.
pub static AGENT_EXTENSION: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentExtension", fields: &[
    field(1, "uri", FieldType::Text, FieldLabel::Implicit),
    field(2, "description", FieldType::Text, FieldLabel::Implicit),
    field(3, "required", FieldType::Bool, FieldLabel::Implicit),
    field(4, "params", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.AgentSkill`.
pub static AGENT_SKILL: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentSkill", fields: &[
    field(1, "id", FieldType::Text, FieldLabel::Implicit),
    field(2, "name", FieldType::Text, FieldLabel::Implicit),
    field(3, "description", FieldType::Text, FieldLabel::Implicit),
    field(4, "tags", FieldType::Text, FieldLabel::Repeated),
    field(5, "examples", FieldType::Text, FieldLabel::Repeated),
    field(6, "inputModes", FieldType::Text, FieldLabel::Repeated),
    field(7, "outputModes", FieldType::Text, FieldLabel::Repeated),
    field(8, "securityRequirements", FieldType::Message(&SECURITY_REQUIREMENT), FieldLabel::Repeated),
] };

/// `lf.a2a.v1.AgentCardSignature`.
pub static AGENT_CARD_SIGNATURE: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AgentCardSignature", fields: &[
    field(1, "protected", FieldType::Text, FieldLabel::Implicit),
    field(2, "signature", FieldType::Text, FieldLabel::Implicit),
    field(3, "header", FieldType::Object, FieldLabel::Explicit),
] };

/// `lf.a2a.v1.SecurityRequirement`.
pub static SECURITY_REQUIREMENT: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.SecurityRequirement", fields: &[
    field(1, "schemes", FieldType::Message(&STRING_LIST), FieldLabel::Map),
] };

/// `lf.a2a.v1.StringList`.
pub static STRING_LIST: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.StringList", fields: &[
    field(1, "list", FieldType::Text, FieldLabel::Repeated),
] };

/// `lf.a2a.v1.SecurityScheme`.
pub static SECURITY_SCHEME: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.SecurityScheme", fields: &[
    field(1, "apiKeySecurityScheme", FieldType::Message(&API_KEY_SECURITY_SCHEME), FieldLabel::Oneof(0)),
    field(2, "httpAuthSecurityScheme", FieldType::Message(&HTTP_AUTH_SECURITY_SCHEME), FieldLabel::Oneof(0)),
    field(3, "oauth2SecurityScheme", FieldType::Message(&O_AUTH2_SECURITY_SCHEME), FieldLabel::Oneof(0)),
    field(4, "openIdConnectSecurityScheme", FieldType::Message(&OPEN_ID_CONNECT_SECURITY_SCHEME), FieldLabel::Oneof(0)),
    field(5, "mtlsSecurityScheme", FieldType::Message(&MUTUAL_TLS_SECURITY_SCHEME), FieldLabel::Oneof(0)),
] };

/// `lf.a2a.v1.APIKeySecurityScheme`.
pub static API_KEY_SECURITY_SCHEME: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.APIKeySecurityScheme", fields: &[
    field(1, "description", FieldType::Text, FieldLabel::Implicit),
    field(2, "location", FieldType::Text, FieldLabel::Implicit),
    field(3, "name", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.HTTPAuthSecurityScheme`.
pub static HTTP_AUTH_SECURITY_SCHEME: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.HTTPAuthSecurityScheme", fields: &[
    field(1, "description", FieldType::Text, FieldLabel::Implicit),
    field(2, "scheme", FieldType::Text, FieldLabel::Implicit),
    field(3, "bearerFormat", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.OAuth2SecurityScheme`.
pub static O_AUTH2_SECURITY_SCHEME: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.OAuth2SecurityScheme", fields: &[
    field(1, "description", FieldType::Text, FieldLabel::Implicit),
    field(2, "flows", FieldType::Message(&O_AUTH_FLOWS), FieldLabel::Explicit),
    field(3, "oauth2MetadataUrl", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.OpenIdConnectSecurityScheme`.
pub static OPEN_ID_CONNECT_SECURITY_SCHEME: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.OpenIdConnectSecurityScheme", fields: &[
    field(1, "description", FieldType::Text, FieldLabel::Implicit),
    field(2, "openIdConnectUrl", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.MutualTlsSecurityScheme`.
pub static MUTUAL_TLS_SECURITY_SCHEME: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.MutualTlsSecurityScheme", fields: &[
    field(1, "description", FieldType::Text, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.OAuthFlows`.
pub static O_AUTH_FLOWS: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.OAuthFlows", fields: &[
    field(1, "authorizationCode", FieldType::Message(&AUTHORIZATION_CODE_O_AUTH_FLOW), FieldLabel::Oneof(0)),
    field(2, "clientCredentials", FieldType::Message(&CLIENT_CREDENTIALS_O_AUTH_FLOW), FieldLabel::Oneof(0)),
    field(3, "implicit", FieldType::Message(&IMPLICIT_O_AUTH_FLOW), FieldLabel::Oneof(0)),
    field(4, "password", FieldType::Message(&PASSWORD_O_AUTH_FLOW), FieldLabel::Oneof(0)),
    field(5, "deviceCode", FieldType::Message(&DEVICE_CODE_O_AUTH_FLOW), FieldLabel::Oneof(0)),
] };

/// `lf.a2a.v1.AuthorizationCodeOAuthFlow`.
pub static AUTHORIZATION_CODE_O_AUTH_FLOW: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.AuthorizationCodeOAuthFlow", fields: &[
    field(1, "authorizationUrl", FieldType::Text, FieldLabel::Implicit),
    field(2, "tokenUrl", FieldType::Text, FieldLabel::Implicit),
    field(3, "refreshUrl", FieldType::Text, FieldLabel::Implicit),
    field(4, "scopes", FieldType::Text, FieldLabel::Map),
    field(5, "pkceRequired", FieldType::Bool, FieldLabel::Implicit),
] };

/// `lf.a2a.v1.ClientCredentialsOAuthFlow`.
pub static CLIENT_CREDENTIALS_O_AUTH_FLOW: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.ClientCredentialsOAuthFlow", fields: &[
    field(1, "tokenUrl", FieldType::Text, FieldLabel::Implicit),
    field(2, "refreshUrl", FieldType::Text, FieldLabel::Implicit),
    field(3, "scopes", FieldType::Text, FieldLabel::Map),
] };

/// `lf.a2a.v1.ImplicitOAuthFlow`.
pub static IMPLICIT_O_AUTH_FLOW: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.ImplicitOAuthFlow", fields: &[
    field(1, "authorizationUrl", FieldType::Text, FieldLabel::Implicit),
    field(2, "refreshUrl", FieldType::Text, FieldLabel::Implicit),
    field(3, "scopes", FieldType::Text, FieldLabel::Map),
] };

/// `lf.a2a.v1.PasswordOAuthFlow`.
pub static PASSWORD_O_AUTH_FLOW: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.PasswordOAuthFlow", fields: &[
    field(1, "tokenUrl", FieldType::Text, FieldLabel::Implicit),
    field(2, "refreshUrl", FieldType::Text, FieldLabel::Implicit),
    field(3, "scopes", FieldType::Text, FieldLabel::Map),
] };

/// `lf.a2a.v1.DeviceCodeOAuthFlow`.
pub static DEVICE_CODE_O_AUTH_FLOW: MessageDescriptor = MessageDescriptor { name: "lf.a2a.v1.DeviceCodeOAuthFlow", fields: &[
    field(1, "deviceAuthorizationUrl", FieldType::Text, FieldLabel::Implicit),
    field(2, "tokenUrl", FieldType::Text, FieldLabel::Implicit),
    field(3, "refreshUrl", FieldType::Text, FieldLabel::Implicit),
    field(4, "scopes", FieldType::Text, FieldLabel::Map),
] };

/// `google.protobuf.Empty`.
pub static EMPTY: MessageDescriptor = MessageDescriptor { name: "google.protobuf.Empty", fields: &[] };

/// Every message.
pub static ALL: &[&MessageDescriptor] = &[
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
pub fn request(operation: Operation) -> &'static MessageDescriptor {
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
pub fn answer(operation: Operation) -> &'static MessageDescriptor {
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
