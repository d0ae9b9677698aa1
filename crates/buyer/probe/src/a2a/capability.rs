//! Checks that the agent refuses operations whose capability it does not declare, with the error that the
//! specification names (A2A §3.3.4).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::json;

use super::push::webhook_of_unknown;
use crate::check::{Check, CheckResult, checks, not_applicable_if};
use crate::run::ProbeRun;

const WHY: &str =
    "A client that did not read the card has to learn that it never will work, not that it failed.";
const PUSH: &str = "answer PushNotificationNotSupported (-32003) where the card does not declare pushNotifications";
const STREAM: &str =
    "answer UnsupportedOperation (-32004) where the card does not declare streaming";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.capability.push-create", Binding, Must, ["E-16"], "A2A §3.3.4",
    "Without push notifications, creating a webhook is PushNotificationNotSupported", WHY, PUSH => push(Operation::CreateTaskPushNotificationConfig);
    "a2a.capability.push-get", Binding, Must, ["E-16"], "A2A §3.3.4",
    "Without push notifications, reading a webhook is PushNotificationNotSupported", WHY, PUSH => push(Operation::GetTaskPushNotificationConfig);
    "a2a.capability.push-list", Binding, Must, ["E-16"], "A2A §3.3.4",
    "Without push notifications, listing webhooks is PushNotificationNotSupported", WHY, PUSH => push(Operation::ListTaskPushNotificationConfigs);
    "a2a.capability.push-delete", Binding, Must, ["E-16"], "A2A §3.3.4",
    "Without push notifications, deleting a webhook is PushNotificationNotSupported", WHY, PUSH => push(Operation::DeleteTaskPushNotificationConfig);
    "a2a.capability.stream-send", Binding, Must, ["E-16"], "A2A §3.3.4",
    "Without streaming, SendStreamingMessage is UnsupportedOperation", WHY, STREAM => stream(Operation::SendStreamingMessage);
    "a2a.capability.stream-subscribe", Binding, Must, ["E-16"], "A2A §3.3.4",
    "Without streaming, SubscribeToTask is UnsupportedOperation", WHY, STREAM => stream(Operation::SubscribeToTask);
    "a2a.capability.extended-card", Binding, Must, ["E-16", "D-12"], "A2A §3.3.4",
    "Without an extended card, asking for it is UnsupportedOperation", WHY,
    "answer UnsupportedOperation (-32004) where the card does not declare extendedAgentCard" => extended_card();
];

async fn push(run: &mut ProbeRun, operation: Operation) -> CheckResult {
    not_applicable_if(run.can("pushNotifications"), "the card declares push notifications")?;
    webhook_of_unknown(run, operation).await?.refused(&[A2aCode::PushNotificationNotSupported])
}

async fn stream(run: &mut ProbeRun, operation: Operation) -> CheckResult {
    not_applicable_if(run.can("streaming"), "the card declares streaming")?;
    let params = if operation == Operation::SendStreamingMessage {
        json!({"message": run.message("probe")})
    } else {
        json!({"id": run.unknown_id()})
    };
    let reply = run.call(operation, params).await?;
    reply.refused(&[A2aCode::UnsupportedOperation])
}

async fn extended_card(run: &mut ProbeRun) -> CheckResult {
    not_applicable_if(run.can("extendedAgentCard"), "the card declares an extended card")?;
    let reply = run.call(Operation::GetExtendedAgentCard, json!({})).await?;
    reply.refused(&[A2aCode::UnsupportedOperation])
}
