// Generated from proto/ by the test beside; do not edit.

pub(crate) mod a2a {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct SendMessageRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "2")]
        pub(crate) message: ::core::option::Option<Message>,
        #[prost(message, optional, tag = "3")]
        pub(crate) configuration: ::core::option::Option<SendMessageConfiguration>,
        #[prost(message, optional, tag = "4")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct SendMessageConfiguration {
        #[prost(string, repeated, tag = "1")]
        pub(crate) accepted_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(message, optional, tag = "2")]
        pub(crate) task_push_notification_config: ::core::option::Option<
            TaskPushNotificationConfig,
        >,
        #[prost(int32, optional, tag = "3")]
        pub(crate) history_length: ::core::option::Option<i32>,
        #[prost(bool, tag = "4")]
        pub(crate) return_immediately: bool,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct GetTaskRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) id: ::prost::alloc::string::String,
        #[prost(int32, optional, tag = "3")]
        pub(crate) history_length: ::core::option::Option<i32>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct ListTasksRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) context_id: ::prost::alloc::string::String,
        #[prost(enumeration = "TaskState", tag = "3")]
        pub(crate) status: i32,
        #[prost(int32, optional, tag = "4")]
        pub(crate) page_size: ::core::option::Option<i32>,
        #[prost(string, tag = "5")]
        pub(crate) page_token: ::prost::alloc::string::String,
        #[prost(int32, optional, tag = "6")]
        pub(crate) history_length: ::core::option::Option<i32>,
        #[prost(message, optional, tag = "7")]
        pub(crate) status_timestamp_after: ::core::option::Option<::prost_types::Timestamp>,
        #[prost(bool, optional, tag = "8")]
        pub(crate) include_artifacts: ::core::option::Option<bool>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct CancelTaskRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) id: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "3")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct SubscribeToTaskRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) id: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct GetTaskPushNotificationConfigRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) id: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct ListTaskPushNotificationConfigsRequest {
        #[prost(string, tag = "1")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(int32, tag = "2")]
        pub(crate) page_size: i32,
        #[prost(string, tag = "3")]
        pub(crate) page_token: ::prost::alloc::string::String,
        #[prost(string, tag = "4")]
        pub(crate) tenant: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct DeleteTaskPushNotificationConfigRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) id: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct GetExtendedAgentCardRequest {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct SendMessageResponse {
        #[prost(oneof = "send_message_response::Payload", tags = "1, 2")]
        pub(crate) payload: ::core::option::Option<send_message_response::Payload>,
    }
    pub(crate) mod send_message_response {
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub(crate) enum Payload {
            #[prost(message, tag = "1")]
            Task(super::Task),
            #[prost(message, tag = "2")]
            Message(super::Message),
        }
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct StreamResponse {
        #[prost(oneof = "stream_response::Payload", tags = "1, 2, 3, 4")]
        pub(crate) payload: ::core::option::Option<stream_response::Payload>,
    }
    pub(crate) mod stream_response {
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub(crate) enum Payload {
            #[prost(message, tag = "1")]
            Task(super::Task),
            #[prost(message, tag = "2")]
            Message(super::Message),
            #[prost(message, tag = "3")]
            StatusUpdate(super::TaskStatusUpdateEvent),
            #[prost(message, tag = "4")]
            ArtifactUpdate(super::TaskArtifactUpdateEvent),
        }
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct ListTasksResponse {
        #[prost(message, repeated, tag = "1")]
        pub(crate) tasks: ::prost::alloc::vec::Vec<Task>,
        #[prost(string, tag = "2")]
        pub(crate) next_page_token: ::prost::alloc::string::String,
        #[prost(int32, tag = "3")]
        pub(crate) page_size: i32,
        #[prost(int32, tag = "4")]
        pub(crate) total_size: i32,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct ListTaskPushNotificationConfigsResponse {
        #[prost(message, repeated, tag = "1")]
        pub(crate) configs: ::prost::alloc::vec::Vec<TaskPushNotificationConfig>,
        #[prost(string, tag = "2")]
        pub(crate) next_page_token: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct Message {
        #[prost(string, tag = "1")]
        pub(crate) message_id: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) context_id: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(enumeration = "Role", tag = "4")]
        pub(crate) role: i32,
        #[prost(message, repeated, tag = "5")]
        pub(crate) parts: ::prost::alloc::vec::Vec<Part>,
        #[prost(message, optional, tag = "6")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
        #[prost(string, repeated, tag = "7")]
        pub(crate) extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, repeated, tag = "8")]
        pub(crate) reference_task_ids: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct Part {
        #[prost(message, optional, tag = "5")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
        #[prost(string, tag = "6")]
        pub(crate) filename: ::prost::alloc::string::String,
        #[prost(string, tag = "7")]
        pub(crate) media_type: ::prost::alloc::string::String,
        #[prost(oneof = "part::Content", tags = "1, 2, 3, 4")]
        pub(crate) content: ::core::option::Option<part::Content>,
    }
    pub(crate) mod part {
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub(crate) enum Content {
            #[prost(string, tag = "1")]
            Text(::prost::alloc::string::String),
            #[prost(bytes, tag = "2")]
            Raw(::prost::alloc::vec::Vec<u8>),
            #[prost(string, tag = "3")]
            Url(::prost::alloc::string::String),
            #[prost(message, tag = "4")]
            Data(::prost_types::Value),
        }
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct Task {
        #[prost(string, tag = "1")]
        pub(crate) id: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) context_id: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "3")]
        pub(crate) status: ::core::option::Option<TaskStatus>,
        #[prost(message, repeated, tag = "4")]
        pub(crate) artifacts: ::prost::alloc::vec::Vec<Artifact>,
        #[prost(message, repeated, tag = "5")]
        pub(crate) history: ::prost::alloc::vec::Vec<Message>,
        #[prost(message, optional, tag = "6")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct TaskStatus {
        #[prost(enumeration = "TaskState", tag = "1")]
        pub(crate) state: i32,
        #[prost(message, optional, tag = "2")]
        pub(crate) message: ::core::option::Option<Message>,
        #[prost(message, optional, tag = "3")]
        pub(crate) timestamp: ::core::option::Option<::prost_types::Timestamp>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct Artifact {
        #[prost(string, tag = "1")]
        pub(crate) artifact_id: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) name: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(message, repeated, tag = "4")]
        pub(crate) parts: ::prost::alloc::vec::Vec<Part>,
        #[prost(message, optional, tag = "5")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
        #[prost(string, repeated, tag = "6")]
        pub(crate) extensions: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct TaskStatusUpdateEvent {
        #[prost(string, tag = "1")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) context_id: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "3")]
        pub(crate) status: ::core::option::Option<TaskStatus>,
        #[prost(message, optional, tag = "4")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct TaskArtifactUpdateEvent {
        #[prost(string, tag = "1")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) context_id: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "3")]
        pub(crate) artifact: ::core::option::Option<Artifact>,
        #[prost(bool, tag = "4")]
        pub(crate) append: bool,
        #[prost(bool, tag = "5")]
        pub(crate) last_chunk: bool,
        #[prost(message, optional, tag = "6")]
        pub(crate) metadata: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct TaskPushNotificationConfig {
        #[prost(string, tag = "1")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) id: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) task_id: ::prost::alloc::string::String,
        #[prost(string, tag = "4")]
        pub(crate) url: ::prost::alloc::string::String,
        #[prost(string, tag = "5")]
        pub(crate) token: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "6")]
        pub(crate) authentication: ::core::option::Option<AuthenticationInfo>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct AuthenticationInfo {
        #[prost(string, tag = "1")]
        pub(crate) scheme: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) credentials: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct AgentCard {
        #[prost(string, tag = "1")]
        pub(crate) name: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(message, repeated, tag = "3")]
        pub(crate) supported_interfaces: ::prost::alloc::vec::Vec<AgentInterface>,
        #[prost(message, optional, tag = "4")]
        pub(crate) provider: ::core::option::Option<AgentProvider>,
        #[prost(string, tag = "5")]
        pub(crate) version: ::prost::alloc::string::String,
        #[prost(string, optional, tag = "6")]
        pub(crate) documentation_url: ::core::option::Option<::prost::alloc::string::String>,
        #[prost(message, optional, tag = "7")]
        pub(crate) capabilities: ::core::option::Option<AgentCapabilities>,
        #[prost(map = "string, message", tag = "8")]
        pub(crate) security_schemes: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            SecurityScheme,
        >,
        #[prost(message, repeated, tag = "9")]
        pub(crate) security_requirements: ::prost::alloc::vec::Vec<SecurityRequirement>,
        #[prost(string, repeated, tag = "10")]
        pub(crate) default_input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, repeated, tag = "11")]
        pub(crate) default_output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(message, repeated, tag = "12")]
        pub(crate) skills: ::prost::alloc::vec::Vec<AgentSkill>,
        #[prost(message, repeated, tag = "13")]
        pub(crate) signatures: ::prost::alloc::vec::Vec<AgentCardSignature>,
        #[prost(string, optional, tag = "14")]
        pub(crate) icon_url: ::core::option::Option<::prost::alloc::string::String>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct AgentInterface {
        #[prost(string, tag = "1")]
        pub(crate) url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) protocol_binding: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) tenant: ::prost::alloc::string::String,
        #[prost(string, tag = "4")]
        pub(crate) protocol_version: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct AgentProvider {
        #[prost(string, tag = "1")]
        pub(crate) url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) organization: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct AgentCapabilities {
        #[prost(bool, optional, tag = "1")]
        pub(crate) streaming: ::core::option::Option<bool>,
        #[prost(bool, optional, tag = "2")]
        pub(crate) push_notifications: ::core::option::Option<bool>,
        #[prost(message, repeated, tag = "3")]
        pub(crate) extensions: ::prost::alloc::vec::Vec<AgentExtension>,
        #[prost(bool, optional, tag = "4")]
        pub(crate) extended_agent_card: ::core::option::Option<bool>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct AgentExtension {
        #[prost(string, tag = "1")]
        pub(crate) uri: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(bool, tag = "3")]
        pub(crate) required: bool,
        #[prost(message, optional, tag = "4")]
        pub(crate) params: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct AgentSkill {
        #[prost(string, tag = "1")]
        pub(crate) id: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) name: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(string, repeated, tag = "4")]
        pub(crate) tags: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, repeated, tag = "5")]
        pub(crate) examples: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, repeated, tag = "6")]
        pub(crate) input_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(string, repeated, tag = "7")]
        pub(crate) output_modes: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
        #[prost(message, repeated, tag = "8")]
        pub(crate) security_requirements: ::prost::alloc::vec::Vec<SecurityRequirement>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct AgentCardSignature {
        #[prost(string, tag = "1")]
        pub(crate) protected: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) signature: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "3")]
        pub(crate) header: ::core::option::Option<::prost_types::Struct>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct SecurityRequirement {
        #[prost(map = "string, message", tag = "1")]
        pub(crate) schemes: ::std::collections::HashMap<::prost::alloc::string::String, StringList>,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct StringList {
        #[prost(string, repeated, tag = "1")]
        pub(crate) list: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct SecurityScheme {
        #[prost(oneof = "security_scheme::Scheme", tags = "1, 2, 3, 4, 5")]
        pub(crate) scheme: ::core::option::Option<security_scheme::Scheme>,
    }
    pub(crate) mod security_scheme {
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub(crate) enum Scheme {
            #[prost(message, tag = "1")]
            ApiKeySecurityScheme(super::ApiKeySecurityScheme),
            #[prost(message, tag = "2")]
            HttpAuthSecurityScheme(super::HttpAuthSecurityScheme),
            #[prost(message, tag = "3")]
            Oauth2SecurityScheme(super::OAuth2SecurityScheme),
            #[prost(message, tag = "4")]
            OpenIdConnectSecurityScheme(super::OpenIdConnectSecurityScheme),
            #[prost(message, tag = "5")]
            MtlsSecurityScheme(super::MutualTlsSecurityScheme),
        }
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct ApiKeySecurityScheme {
        #[prost(string, tag = "1")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) location: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) name: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct HttpAuthSecurityScheme {
        #[prost(string, tag = "1")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) scheme: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) bearer_format: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct OAuth2SecurityScheme {
        #[prost(string, tag = "1")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(message, optional, tag = "2")]
        pub(crate) flows: ::core::option::Option<OAuthFlows>,
        #[prost(string, tag = "3")]
        pub(crate) oauth2_metadata_url: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct OpenIdConnectSecurityScheme {
        #[prost(string, tag = "1")]
        pub(crate) description: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) open_id_connect_url: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct MutualTlsSecurityScheme {
        #[prost(string, tag = "1")]
        pub(crate) description: ::prost::alloc::string::String,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct OAuthFlows {
        #[prost(oneof = "o_auth_flows::Flow", tags = "1, 2, 3, 4, 5")]
        pub(crate) flow: ::core::option::Option<o_auth_flows::Flow>,
    }
    pub(crate) mod o_auth_flows {
        #[derive(Clone, PartialEq, ::prost::Oneof)]
        pub(crate) enum Flow {
            #[prost(message, tag = "1")]
            AuthorizationCode(super::AuthorizationCodeOAuthFlow),
            #[prost(message, tag = "2")]
            ClientCredentials(super::ClientCredentialsOAuthFlow),
            #[deprecated]
            #[prost(message, tag = "3")]
            Implicit(super::ImplicitOAuthFlow),
            #[deprecated]
            #[prost(message, tag = "4")]
            Password(super::PasswordOAuthFlow),
            #[prost(message, tag = "5")]
            DeviceCode(super::DeviceCodeOAuthFlow),
        }
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct AuthorizationCodeOAuthFlow {
        #[prost(string, tag = "1")]
        pub(crate) authorization_url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) token_url: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) refresh_url: ::prost::alloc::string::String,
        #[prost(map = "string, string", tag = "4")]
        pub(crate) scopes: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            ::prost::alloc::string::String,
        >,
        #[prost(bool, tag = "5")]
        pub(crate) pkce_required: bool,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct ClientCredentialsOAuthFlow {
        #[prost(string, tag = "1")]
        pub(crate) token_url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) refresh_url: ::prost::alloc::string::String,
        #[prost(map = "string, string", tag = "3")]
        pub(crate) scopes: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            ::prost::alloc::string::String,
        >,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct ImplicitOAuthFlow {
        #[prost(string, tag = "1")]
        pub(crate) authorization_url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) refresh_url: ::prost::alloc::string::String,
        #[prost(map = "string, string", tag = "3")]
        pub(crate) scopes: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            ::prost::alloc::string::String,
        >,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct PasswordOAuthFlow {
        #[prost(string, tag = "1")]
        pub(crate) token_url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) refresh_url: ::prost::alloc::string::String,
        #[prost(map = "string, string", tag = "3")]
        pub(crate) scopes: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            ::prost::alloc::string::String,
        >,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct DeviceCodeOAuthFlow {
        #[prost(string, tag = "1")]
        pub(crate) device_authorization_url: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) token_url: ::prost::alloc::string::String,
        #[prost(string, tag = "3")]
        pub(crate) refresh_url: ::prost::alloc::string::String,
        #[prost(map = "string, string", tag = "4")]
        pub(crate) scopes: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            ::prost::alloc::string::String,
        >,
    }
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
    #[repr(i32)]
    pub(crate) enum Role {
        Unspecified = 0,
        User = 1,
        Agent = 2,
    }
    impl Role {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub(crate) fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "ROLE_UNSPECIFIED",
                Self::User => "ROLE_USER",
                Self::Agent => "ROLE_AGENT",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub(crate) fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "ROLE_UNSPECIFIED" => Some(Self::Unspecified),
                "ROLE_USER" => Some(Self::User),
                "ROLE_AGENT" => Some(Self::Agent),
                _ => None,
            }
        }
    }
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
    #[repr(i32)]
    pub(crate) enum TaskState {
        Unspecified = 0,
        Submitted = 1,
        Working = 2,
        Completed = 3,
        Failed = 4,
        Canceled = 5,
        InputRequired = 6,
        Rejected = 7,
        AuthRequired = 8,
    }
    impl TaskState {
        /// String value of the enum field names used in the ProtoBuf definition.
        ///
        /// The values are not transformed in any way and thus are considered stable
        /// (if the ProtoBuf definition does not change) and safe for programmatic use.
        pub(crate) fn as_str_name(&self) -> &'static str {
            match self {
                Self::Unspecified => "TASK_STATE_UNSPECIFIED",
                Self::Submitted => "TASK_STATE_SUBMITTED",
                Self::Working => "TASK_STATE_WORKING",
                Self::Completed => "TASK_STATE_COMPLETED",
                Self::Failed => "TASK_STATE_FAILED",
                Self::Canceled => "TASK_STATE_CANCELED",
                Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
                Self::Rejected => "TASK_STATE_REJECTED",
                Self::AuthRequired => "TASK_STATE_AUTH_REQUIRED",
            }
        }
        /// Creates an enum from field names used in the ProtoBuf definition.
        pub(crate) fn from_str_name(value: &str) -> ::core::option::Option<Self> {
            match value {
                "TASK_STATE_UNSPECIFIED" => Some(Self::Unspecified),
                "TASK_STATE_SUBMITTED" => Some(Self::Submitted),
                "TASK_STATE_WORKING" => Some(Self::Working),
                "TASK_STATE_COMPLETED" => Some(Self::Completed),
                "TASK_STATE_FAILED" => Some(Self::Failed),
                "TASK_STATE_CANCELED" => Some(Self::Canceled),
                "TASK_STATE_INPUT_REQUIRED" => Some(Self::InputRequired),
                "TASK_STATE_REJECTED" => Some(Self::Rejected),
                "TASK_STATE_AUTH_REQUIRED" => Some(Self::AuthRequired),
                _ => None,
            }
        }
    }
}
pub(crate) mod rpc {
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct Status {
        #[prost(int32, tag = "1")]
        pub(crate) code: i32,
        #[prost(string, tag = "2")]
        pub(crate) message: ::prost::alloc::string::String,
        #[prost(message, repeated, tag = "3")]
        pub(crate) details: ::prost::alloc::vec::Vec<::prost_types::Any>,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct ErrorInfo {
        #[prost(string, tag = "1")]
        pub(crate) reason: ::prost::alloc::string::String,
        #[prost(string, tag = "2")]
        pub(crate) domain: ::prost::alloc::string::String,
        #[prost(map = "string, string", tag = "3")]
        pub(crate) metadata: ::std::collections::HashMap<
            ::prost::alloc::string::String,
            ::prost::alloc::string::String,
        >,
    }
    #[derive(Clone, PartialEq, ::prost::Message)]
    pub(crate) struct BadRequest {
        #[prost(message, repeated, tag = "1")]
        pub(crate) field_violations: ::prost::alloc::vec::Vec<bad_request::FieldViolation>,
    }
    pub(crate) mod bad_request {
        #[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
        pub(crate) struct FieldViolation {
            #[prost(string, tag = "1")]
            pub(crate) field: ::prost::alloc::string::String,
            #[prost(string, tag = "2")]
            pub(crate) description: ::prost::alloc::string::String,
        }
    }
    #[derive(Clone, Copy, PartialEq, Eq, Hash, ::prost::Message)]
    pub(crate) struct RetryInfo {
        #[prost(message, optional, tag = "1")]
        pub(crate) retry_delay: ::core::option::Option<::prost_types::Duration>,
    }
}
