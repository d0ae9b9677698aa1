//! Instructions of A2A's integration test kit to an agent, as protocol buffers
//! (`protos/instruction.proto` of a2aproject/a2a-itk).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message as _;
use tradepost_server::a2a::{Content, Message};

/// An instruction.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Instruction {
    #[prost(oneof = "Step", tags = "1, 2, 3")]
    pub(crate) step: Option<Step>,
}

/// What the agent has to do.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Step {
    #[prost(message, tag = "1")]
    CallAgent(Box<CallAgent>),
    #[prost(message, tag = "2")]
    ReturnResponse(ReturnResponse),
    #[prost(message, tag = "3")]
    Steps(SeriesOfSteps),
}

/// Send an instruction to another agent.
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

/// Way in which the other agent is called.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(crate) enum Behavior {
    #[prost(message, tag = "5")]
    SendMessage(SendMessage),
    #[prost(message, tag = "6")]
    PushNotification(PushNotification),
    #[prost(message, tag = "7")]
    Resubscribe(Resubscribe),
}

/// Send a message and wait for its end.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct SendMessage {}

/// Send a message with a webhook for the other agent to call.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct PushNotification {
    #[prost(string, tag = "1")]
    pub(crate) url: String,
}

/// Send a message, close the stream after the first event, and subscribe to the task.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(crate) struct Resubscribe {}

/// Answer with this text.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct ReturnResponse {
    #[prost(string, tag = "1")]
    pub(crate) response: String,
    /// True when the task continues after the answer.
    #[prost(bool, tag = "2")]
    pub(crate) hold_task: bool,
}

/// Carry out these instructions in order.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SeriesOfSteps {
    #[prost(message, repeated, tag = "1")]
    pub(crate) instructions: Vec<Instruction>,
}

impl Instruction {
    /// Returns true when the task continues after the instruction was carried out.
    pub(crate) fn is_held(&self) -> bool {
        match &self.step {
            Some(Step::ReturnResponse(said)) => said.hold_task,
            Some(Step::Steps(series)) => series.instructions.iter().any(Self::is_held),
            Some(Step::CallAgent(_)) | None => false,
        }
    }
}

/// Returns the instruction in a message: a file, or base64 in a text.
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
