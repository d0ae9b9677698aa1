//! What the kit tells an agent to do, in protocol buffers (`protos/instruction.proto` of
//! a2aproject/a2a-itk).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use tradepost_server::a2a::{Content, Message};

/// What to do.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Instruction {
    #[prost(oneof = "Step", tags = "1, 2, 3")]
    pub(crate) step: Option<Step>,
}

/// One of three.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Step {
    #[prost(message, tag = "1")]
    CallAgent(Box<CallAgent>),
    #[prost(message, tag = "2")]
    ReturnResponse(ReturnResponse),
    #[prost(message, tag = "3")]
    Steps(SeriesOfSteps),
}

/// Have another agent do something.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CallAgent {
    /// `jsonrpc`, `http_json` or `grpc`.
    #[prost(string, tag = "1")]
    pub(crate) transport: String,
    #[prost(string, tag = "2")]
    pub(crate) agent_card_uri: String,
    #[prost(message, optional, boxed, tag = "3")]
    pub(crate) instruction: Option<Box<Instruction>>,
    #[prost(bool, tag = "4")]
    pub(crate) streaming: bool,
    #[prost(oneof = "Behavior", tags = "5, 6, 7")]
    pub(crate) behavior: Option<Behavior>,
}

/// In which way.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Behavior {
    #[prost(message, tag = "5")]
    SendMessage(SendMessage),
    #[prost(message, tag = "6")]
    PushNotification(PushNotification),
    #[prost(message, tag = "7")]
    Resubscribe(Resubscribe),
}

/// Say it and wait.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct SendMessage {}

/// And have it call a webhook.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct PushNotification {
    #[prost(string, tag = "1")]
    pub(crate) url: String,
}

/// Hang up, and listen to the task again.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Resubscribe {}

/// Say this.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct ReturnResponse {
    #[prost(string, tag = "1")]
    pub(crate) response: String,
    /// Whether the task goes on afterwards.
    #[prost(bool, tag = "2")]
    pub(crate) hold_task: bool,
}

/// One after the other.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SeriesOfSteps {
    #[prost(message, repeated, tag = "1")]
    pub(crate) instructions: Vec<Instruction>,
}

impl Instruction {
    /// Whether the task goes on after what there is to do is done.
    pub(crate) fn is_held(&self) -> bool {
        match &self.step {
            Some(Step::ReturnResponse(said)) => said.hold_task,
            Some(Step::Steps(series)) => series.instructions.iter().any(Self::is_held),
            Some(Step::CallAgent(_)) | None => false,
        }
    }
}

/// The instruction in a message: a file, or base64 in a text.
pub(crate) fn from_message(message: &Message) -> Option<Instruction> {
    message.parts.iter().find_map(|part| {
        let encoded = match &part.content {
            Content::Raw(encoded) | Content::Text(encoded) => encoded.trim(),
            Content::Url(_) | Content::Data(_) => return None,
        };
        let bytes = STANDARD.decode(encoded).ok()?;
        Instruction::decode(bytes.as_slice()).ok()
    })
}
