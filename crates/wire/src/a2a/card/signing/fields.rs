//! The members of an agent card as `a2a.proto` declares them, as far as their presence goes: which
//! are always written, which only when set, and what counts as not set. `signatures` is absent on
//! purpose, as it is no part of what is signed.

use crate::json::Value;

/// The members of a message.
pub(super) type Message = &'static [Field];

/// A member.
pub(super) struct Field {
    /// Its name in ProtoJSON.
    pub(super) name: &'static str,
    pub(super) presence: Presence,
    pub(super) kind: Kind,
}

/// When a member is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    /// `REQUIRED`: always.
    Required,
    /// `optional`, or a member of a `oneof`: when it was set, also to its default.
    Explicit,
    /// Neither: when it differs from its default.
    Implicit,
}

/// What a member holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    Flag,
    Texts,
    TextMap,
    Message(Message),
    Messages(Message),
    MessageMap(Message),
    /// `google.protobuf.Struct`: any object.
    Free,
}

impl Kind {
    /// Whether a value is what the member has when nobody set it. A message has no such value: it
    /// is there or not.
    pub(super) fn is_default(self, value: &Value) -> bool {
        match self {
            Self::Text => value.as_str().is_some_and(str::is_empty),
            Self::Flag => value.as_bool() == Some(false),
            Self::Texts | Self::Messages(_) => value.as_array().is_some_and(Vec::is_empty),
            Self::TextMap | Self::MessageMap(_) => {
                value.as_object().is_some_and(crate::json::Map::is_empty)
            }
            Self::Message(_) | Self::Free => false,
        }
    }
}

const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, presence: Presence::Required, kind }
}

const fn explicit(name: &'static str, kind: Kind) -> Field {
    Field { name, presence: Presence::Explicit, kind }
}

const fn implicit(name: &'static str, kind: Kind) -> Field {
    Field { name, presence: Presence::Implicit, kind }
}

/// `AgentCard`
pub(super) const CARD: Message = &[
    required("name", Kind::Text),
    required("description", Kind::Text),
    required("supportedInterfaces", Kind::Messages(INTERFACE)),
    implicit("provider", Kind::Message(PROVIDER)),
    required("version", Kind::Text),
    explicit("documentationUrl", Kind::Text),
    required("capabilities", Kind::Message(CAPABILITIES)),
    implicit("securitySchemes", Kind::MessageMap(SECURITY_SCHEME)),
    implicit("securityRequirements", Kind::Messages(SECURITY_REQUIREMENT)),
    required("defaultInputModes", Kind::Texts),
    required("defaultOutputModes", Kind::Texts),
    required("skills", Kind::Messages(SKILL)),
    explicit("iconUrl", Kind::Text),
];

const INTERFACE: Message = &[
    required("url", Kind::Text),
    required("protocolBinding", Kind::Text),
    implicit("tenant", Kind::Text),
    required("protocolVersion", Kind::Text),
];

const PROVIDER: Message = &[required("url", Kind::Text), required("organization", Kind::Text)];

const CAPABILITIES: Message = &[
    explicit("streaming", Kind::Flag),
    explicit("pushNotifications", Kind::Flag),
    implicit("extensions", Kind::Messages(EXTENSION)),
    explicit("extendedAgentCard", Kind::Flag),
];

const EXTENSION: Message = &[
    implicit("uri", Kind::Text),
    implicit("description", Kind::Text),
    implicit("required", Kind::Flag),
    implicit("params", Kind::Free),
];

const SKILL: Message = &[
    required("id", Kind::Text),
    required("name", Kind::Text),
    required("description", Kind::Text),
    required("tags", Kind::Texts),
    implicit("examples", Kind::Texts),
    implicit("inputModes", Kind::Texts),
    implicit("outputModes", Kind::Texts),
    implicit("securityRequirements", Kind::Messages(SECURITY_REQUIREMENT)),
];

const SECURITY_REQUIREMENT: Message = &[implicit("schemes", Kind::MessageMap(STRING_LIST))];

const STRING_LIST: Message = &[implicit("list", Kind::Texts)];

const SECURITY_SCHEME: Message = &[
    explicit("apiKeySecurityScheme", Kind::Message(API_KEY)),
    explicit("httpAuthSecurityScheme", Kind::Message(HTTP_AUTH)),
    explicit("oauth2SecurityScheme", Kind::Message(OAUTH2)),
    explicit("openIdConnectSecurityScheme", Kind::Message(OPEN_ID_CONNECT)),
    explicit("mtlsSecurityScheme", Kind::Message(MUTUAL_TLS)),
];

const API_KEY: Message = &[
    implicit("description", Kind::Text),
    required("location", Kind::Text),
    required("name", Kind::Text),
];

const HTTP_AUTH: Message = &[
    implicit("description", Kind::Text),
    required("scheme", Kind::Text),
    implicit("bearerFormat", Kind::Text),
];

const OAUTH2: Message = &[
    implicit("description", Kind::Text),
    required("flows", Kind::Message(FLOWS)),
    implicit("oauth2MetadataUrl", Kind::Text),
];

const OPEN_ID_CONNECT: Message =
    &[implicit("description", Kind::Text), required("openIdConnectUrl", Kind::Text)];

const MUTUAL_TLS: Message = &[implicit("description", Kind::Text)];

const FLOWS: Message = &[
    explicit("authorizationCode", Kind::Message(AUTHORIZATION_CODE)),
    explicit("clientCredentials", Kind::Message(CLIENT_CREDENTIALS)),
    explicit("implicit", Kind::Message(WITHOUT_CODE)),
    explicit("password", Kind::Message(WITHOUT_CODE)),
    explicit("deviceCode", Kind::Message(DEVICE_CODE)),
];

const AUTHORIZATION_CODE: Message = &[
    required("authorizationUrl", Kind::Text),
    required("tokenUrl", Kind::Text),
    implicit("refreshUrl", Kind::Text),
    required("scopes", Kind::TextMap),
    implicit("pkceRequired", Kind::Flag),
];

const CLIENT_CREDENTIALS: Message = &[
    required("tokenUrl", Kind::Text),
    implicit("refreshUrl", Kind::Text),
    required("scopes", Kind::TextMap),
];

/// The two flows that are deprecated. Each declares one of the addresses, with the same presence.
const WITHOUT_CODE: Message = &[
    implicit("authorizationUrl", Kind::Text),
    implicit("tokenUrl", Kind::Text),
    implicit("refreshUrl", Kind::Text),
    implicit("scopes", Kind::TextMap),
];

const DEVICE_CODE: Message = &[
    required("deviceAuthorizationUrl", Kind::Text),
    required("tokenUrl", Kind::Text),
    implicit("refreshUrl", Kind::Text),
    required("scopes", Kind::TextMap),
];
