//! Performing of parsed requests, which all A2A bindings share.

use axum::response::Response;
use tokio_util::sync::{CancellationToken, DropGuard};
use tradepost_a2a::error::A2aRefusal;
use tradepost_a2a::{A2aRelease, A2aRequest};

use super::answers::{self, ErrorWriter};
use super::exchange::{LoggedResponse, RawRequest};
use super::{answer_check, denied, intake};
use crate::agent::{AgentAnswer, AgentOutcome, AgentRequest, Caller, RequestHeaders};
use crate::fault::InternalError;

/// Performs a request, unless parsing refused it. `activated` are the extensions that the caller
/// activates in its release, and `write` serialises an answer for the binding.
pub(super) async fn perform(
    RawRequest { registry, agent, parts, bytes }: RawRequest<'_>,
    caller: &Caller,
    release: A2aRelease,
    activated: &[String],
    read: Result<A2aRequest, A2aRefusal>,
    dialect: &impl ErrorWriter,
    write: impl FnOnce(AgentAnswer) -> Result<Response, InternalError>,
) -> LoggedResponse {
    let request = match read {
        Ok(request) => request,
        Err(refusal) => return dialect.protocol(&refusal, None),
    };
    let binding = dialect.binding();
    let sent = intake::sent(parts, bytes);
    let resume_after = intake::resume_after(&parts.headers);
    let cancellation = CancellationToken::new();
    // Gives the signal when this future is dropped, which is how a server learns that its caller has gone.
    let cancel_guard = cancellation.clone().drop_guard();
    let incoming = AgentRequest {
        binding,
        release,
        caller,
        activated,
        request,
        headers: RequestHeaders::new(&parts.headers),
        cancellation,
        sent,
        resume_after,
        patience: registry.settings.request_timeout,
        metrics: &registry.metrics,
    };
    let outcome = registry.perform(agent, incoming).await;
    let outcome = hold_guard(outcome, cancel_guard);
    let agent = &**agent;
    let (mut response, stamp) = match outcome {
        AgentOutcome::Profile(refusal) => dialect.profile(*refusal),
        AgentOutcome::Denied(denied) => denied::respond(agent, dialect, denied),
        AgentOutcome::Protocol(refusal) => {
            let refusal = answers::with_default_challenge(agent, refusal);
            dialect.protocol(&refusal, None)
        }
        AgentOutcome::Broken(fault) => dialect.internal_error(agent, &fault),
        AgentOutcome::Answer(answer) => {
            let stamp = answers::stamp_answer(agent, &answer);
            match answer_check::checked(agent, *answer).and_then(write) {
                Ok(response) => (response, stamp),
                Err(fault) => dialect.internal_error(agent, &fault),
            }
        }
    };
    // A caller that activates extensions is told which ones are in use (A2A extension guide,
    // "Activation"; X-04).
    answers::echo_extensions(&mut response, agent, activated, binding, release);
    (response, stamp)
}

/// Moves the guard into a stream, which cancels when it is dropped before its end; disarms it for any other answer.
fn hold_guard(mut outcome: AgentOutcome, cancel_guard: DropGuard) -> AgentOutcome {
    if let AgentOutcome::Answer(answer) = &mut outcome
        && let AgentAnswer::Stream(events) = &mut **answer
    {
        events.cancel_on_drop(cancel_guard);
    } else {
        cancel_guard.disarm();
    }
    outcome
}
