//! Carries instructions out: other agents are called with the buyer's library.

use futures_util::future::BoxFuture;
use tradepost_client::agent::{
    AgentClient, AgentMessage, AgentReply, CardTransport, Followed, Follower, Outgoing,
};
use tradepost_client::client::random_ids;
use tradepost_client::discover;
use tradepost_client::retry::{Recoverer, RetryLimits, Sizes, SystemClock};
use tradepost_client::transport::{self, HttpTransport};

use super::instruction::{Behavior, CallAgent, Instruction, Step};
use super::{REQUEST_TIMEOUT, written};

/// What stands behind the results of a task that goes on.
pub(crate) const FINISHED: &str = "task-finished";

/// What comes of an instruction, or why nothing does.
pub(crate) fn carry_out(instruction: &Instruction) -> BoxFuture<'_, Result<Vec<String>, String>> {
    Box::pin(async move {
        match &instruction.step {
            Some(Step::ReturnResponse(said)) => Ok(vec![said.response.clone()]),
            Some(Step::CallAgent(call)) => one(call).await,
            Some(Step::Steps(series)) => {
                let mut found = Vec::new();
                for step in &series.instructions {
                    found.extend(carry_out(step).await?);
                }
                Ok(found)
            }
            None => Err("the instruction is empty".to_owned()),
        }
    })
}

async fn one(call: &CallAgent) -> Result<Vec<String>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", call.agent_card_uri);
    let called = called(call).await;
    let found = called.map_err(|why| failed(&why))?;
    Ok(found.into_iter().filter(|text| !text.is_empty()).collect())
}

async fn called(call: &CallAgent) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let carrier = match call.transport.to_ascii_lowercase().as_str() {
        "jsonrpc" => CardTransport::JsonRpc,
        "http_json" | "http+json" | "rest" => CardTransport::HttpJson,
        "grpc" => CardTransport::Grpc,
        other => return Err(format!("there is no transport {other}").into()),
    };
    let limits = transport::TransportLimits {
        timeout: REQUEST_TIMEOUT,
        ..transport::TransportLimits::default()
    };
    let transport = HttpTransport::new(limits);
    let found = discover(&transport, &call.agent_card_uri, None).await?;
    let client = AgentClient::with_card_transport(carrier, transport, &found, random_ids())?;
    let client = if call.streaming { client } else { client.polling() };
    let inner = call.instruction.as_deref().ok_or("there is nothing to say")?;
    let said = Outgoing::file("instruction.bin", "application/x-protobuf", &written(inner));
    let said = match &call.behavior {
        Some(Behavior::Resubscribe(_)) => return Ok(vec![heard_again(&client, &said).await?]),
        Some(Behavior::PushNotification(push)) => {
            said.calling(&format!("{}/notifications", push.url), "itk-token")
        }
        Some(Behavior::SendMessage(_)) | None => said,
    };
    let recoverer =
        Recoverer::new(SystemClock::new(random_ids()), RetryLimits::default(), Sizes::default());
    let follower = Follower { recoverer: &recoverer, patience: REQUEST_TIMEOUT };
    let Followed { reply, .. } = client.converse(&said, &follower, |_| {}).await?;
    Ok(vec![text(&reply)])
}

/// Hangs up after the first event, listens to the task again until it has said everything, and ends it.
async fn heard_again(
    client: &AgentClient,
    said: &Outgoing,
) -> Result<String, Box<dyn std::error::Error>> {
    let first = client.listen(said, REQUEST_TIMEOUT).await?.next().await?;
    let Some(AgentReply::Task(task)) = first else { return Err("there is no task".into()) };
    let mut listening = client.subscribe(&task.id, REQUEST_TIMEOUT).await?;
    while let Some(reply) = listening.next().await? {
        if let Some(found) = text(&reply).strip_suffix(FINISHED) {
            // It may have ended by itself meanwhile.
            let _ = client.cancel(&task.id).await;
            return Ok(found.trim_end().to_owned());
        }
    }
    Err("the task ended without its results".into())
}

/// What an agent said, in text.
fn text(reply: &AgentReply) -> String {
    let message: Option<&AgentMessage> = match reply {
        AgentReply::Message(message) => Some(message),
        AgentReply::Task(task) => task.said.as_ref(),
    };
    let parts = message.into_iter().flat_map(|message| &message.parts);
    parts.filter_map(|part| part.text()).collect::<Vec<_>>().join("\n")
}
