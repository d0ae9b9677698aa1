//! Activation and deactivation of signals.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::object;

use super::{deployment, is_here, record_id};
use crate::catalogue::Signal;
use crate::forms::signals::{ActivateSignal, SignalAction};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::store::{Entity, EntityKind};
use crate::tool_context::{ToolContext, WriteContext};

/// Activation of a signal by an account. It is kept after deactivation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Activation {
    /// Handle of the signal.
    pub handle: String,
    /// Agreed price; `None` when the signal is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pricing_option_id: Option<String>,
    /// Time of the last change.
    pub since: Timestamp,
    /// True while the signal can be used.
    pub live: bool,
}

impl Entity for Activation {
    const KIND: EntityKind = EntityKind::Activation;
}

/// Handles `activate_signal`.
pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &ActivateSignal,
) -> Result<ToolReply, ToolError> {
    let handle = form.signal_agent_segment_id.as_str();
    let signals = &work.publisher.profile.catalogue.signals;
    let signal = signals.iter().find(|signal| signal.handle() == handle);
    // The member's name would reveal the kind of record and is omitted (AdCP 3.1 `error-handling`,
    // `U-3`).
    let signal = signal.ok_or_else(|| refusals::not_found(AdcpCode::ReferenceNotFound, None))?;
    AdcpRefusal::of_all(problems(work, form, signal))?;
    let live = form.action != Some(SignalAction::Deactivate);
    let id = record_id(work, handle);
    let activation = Activation {
        handle: handle.to_owned(),
        pricing_option_id: form.pricing_option_id.clone(),
        since: work.call.now,
        live,
    };
    let state = if live { "live" } else { "over" };
    match work.reader.find::<Activation>(&id)? {
        // An active signal keeps its agreed terms.
        Some(stored) if stored.thing.live == live => {}
        Some(mut stored) => {
            stored.thing = activation;
            state.clone_into(&mut stored.record.state);
            work.tx.change(&mut stored, work.call.now)?;
        }
        None if live => work.add(&id, work.whose(), state, &activation)?,
        None => {}
    }
    let message = if live { "the signal can be used" } else { "the signal is no longer used" };
    let body = object!({"deployments": [deployment(work, handle)?], "sandbox"?: work.sandbox()});
    Ok(ToolReply::completed(message, body))
}

/// Returns the problems beyond the schema.
fn problems(work: &ToolContext<'_>, form: &ActivateSignal, signal: &Signal) -> Vec<AdcpError> {
    let mut problems = Vec::new();
    for (index, destination) in form.destinations.iter().enumerate() {
        if !is_here(work, destination) {
            let message = "this seller's signals are used where it sells, and nowhere else; name \
                           the agent that get_signals shows in deployments";
            let field = format!("destinations[{index}]");
            problems.push(refusals::at(AdcpCode::UnsupportedFeature, &field, message));
        }
    }
    // Deactivation is free and needs neither a price nor an approval.
    if form.action == Some(SignalAction::Deactivate) {
        return problems;
    }
    let prices = &signal.published.pricing_options;
    let known =
        |id: &str| prices.iter().any(|price| price.pricing_option_id.as_deref() == Some(id));
    let message = match form.pricing_option_id.as_deref() {
        None if !prices.is_empty() => "the signal has a price; name one of its pricing_options",
        Some(id) if !known(id) => "the signal has no such price; name one of its pricing_options",
        None | Some(_) => "",
    };
    if !message.is_empty() {
        problems.push(refusals::invalid("pricing_option_id", message));
    }
    let account = work.admitted.account.as_ref();
    let governed = account.is_some_and(|account| account.thing.governance.is_some());
    if governed && !prices.is_empty() && form.governance_context.is_none() {
        let message = "the account's governance agent has to approve what costs money; call \
                       check_governance and send its governance_context";
        problems.push(refusals::at(AdcpCode::PermissionDenied, "governance_context", message));
    }
    problems
}
