//! Webhooks, for agents whose card declares them (A2A §3.1.7 to §3.1.10, §13.2).

use tradepost_a2a::Operation;
use tradepost_a2a::error::A2aCode;
use tradepost_document::json::{Value, json};

use crate::check::{Check, CheckResult, CheckVerdict, checks, fail, not_applicable_if};
use crate::reply::{AnswerContent, ProbedAnswer};
use crate::run::ProbeRun;
use crate::shape::{id_of, set};

const WHY: &str = "A webhook on a task that is not the caller's would send somebody else's events.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.push.create-unknown", Binding, Must, ["E-23"], "A2A §3.1.7",
    "A webhook on a task that nobody has is TaskNotFound", WHY,
    "look the task up first" => unknown_task(Operation::CreateTaskPushNotificationConfig);
    "a2a.push.get-unknown", Binding, Must, ["E-23"], "A2A §3.1.8",
    "Reading a webhook of a task that nobody has is TaskNotFound", WHY,
    "look the task up first" => unknown_task(Operation::GetTaskPushNotificationConfig);
    "a2a.push.list-unknown", Binding, Must, ["E-23"], "A2A §3.1.9",
    "Listing the webhooks of a task that nobody has is TaskNotFound", WHY,
    "look the task up first" => unknown_task(Operation::ListTaskPushNotificationConfigs);
    "a2a.push.delete-unknown", Binding, Must, ["E-23"], "A2A §3.1.10",
    "Deleting a webhook of a task that nobody has is TaskNotFound", WHY,
    "look the task up first" => unknown_task(Operation::DeleteTaskPushNotificationConfig);
    "a2a.push.internal-address", Binding, Should, ["P-04"], "A2A §13.2",
    "A webhook inside the agent's network is refused", "An agent that calls any address is a way into its network.",
    "refuse loopback, private, link-local and metadata addresses, at creation and at the connection" => internal_address();
];

fn declared(run: &ProbeRun) -> Result<(), CheckVerdict> {
    not_applicable_if(!run.can("pushNotifications"), "the card declares no push notifications")
}

/// Calls a webhook operation on a task that does not exist.
pub(super) async fn webhook_of_unknown(
    run: &mut ProbeRun,
    operation: Operation,
) -> Result<ProbedAnswer, CheckVerdict> {
    let mut params = json!({"taskId": run.unknown_id()});
    if operation == Operation::CreateTaskPushNotificationConfig {
        set(&mut params, "/url", json!("https://webhook.example/probe"));
    } else if operation != Operation::ListTaskPushNotificationConfigs {
        set(&mut params, "/id", json!("probe"));
    }
    run.call(operation, params).await
}

async fn unknown_task(run: &mut ProbeRun, operation: Operation) -> CheckResult {
    declared(run)?;
    webhook_of_unknown(run, operation).await?.refused(&[A2aCode::TaskNotFound])
}

async fn internal_address(run: &mut ProbeRun) -> CheckResult {
    declared(run)?;
    // A completed task causes no delivery.
    let task = run.ended_task().await?;
    let url = "http://169.254.169.254/latest/meta-data/";
    let params = json!({"taskId": id_of(&task), "url": url});
    let reply = run.call(Operation::CreateTaskPushNotificationConfig, params).await?;
    let AnswerContent::Result(config) = &reply.content else { return Ok(CheckVerdict::Pass) };
    if let Some(id) = config.get("id").and_then(Value::as_str) {
        let params = json!({"taskId": id_of(&task), "id": id});
        run.call(Operation::DeleteTaskPushNotificationConfig, params).await?;
    }
    fail("the address of a cloud's metadata service was accepted")
}
