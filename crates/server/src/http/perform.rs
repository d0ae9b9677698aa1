//! What the bindings of A2A do alike with a request that was read: it is performed, and each says in its own
//! way what came of it.

use axum::response::Response;
use tradepost_wire::a2a::error::Refusal;
use tradepost_wire::a2a::{Release, Request};

use super::answers::{self, Dialect};
use super::exchange::{Parcel, Posted};
use super::{answer_check, denied, intake};
use crate::agent::{Answer, Caller, Incoming, Outcome};
use crate::fault::Fault;

/// Has a request performed, unless it was refused when it was read. In its release a caller activates these
/// extensions, and `write` is how the binding writes an answer.
pub(super) async fn perform(
    Posted { desk, agent, parts, bytes }: Posted<'_>,
    caller: &Caller,
    (release, activated): (Release, &[String]),
    read: Result<Request, Refusal>,
    dialect: &impl Dialect,
    write: impl FnOnce(Answer) -> Result<Response, Fault>,
) -> Parcel {
    let request = match read {
        Ok(request) => request,
        Err(refusal) => return dialect.protocol(&refusal, None),
    };
    let (binding, sent) = (dialect.binding(), intake::sent(parts, bytes));
    let resume_after = intake::resume_after(&parts.headers);
    let incoming = Incoming {
        binding,
        release,
        caller,
        activated,
        request,
        sent,
        resume_after,
        patience: desk.settings.request_timeout,
        metrics: &desk.metrics,
    };
    let outcome = desk.perform(agent, incoming).await;
    let agent = &**agent;
    let (mut response, stamp) = match outcome {
        Outcome::Profile(refusal) => dialect.profile(*refusal),
        Outcome::Denied(denied) => denied::respond(agent, dialect, denied),
        Outcome::Protocol(refusal) => {
            let refusal = answers::with_usual_challenge(agent, refusal);
            dialect.protocol(&refusal, None)
        }
        Outcome::Broken(fault) => dialect.broken(agent, &fault),
        Outcome::Answer(answer) => {
            let stamp = answers::stamp_answer(agent, &answer);
            match answer_check::checked(agent, *answer).and_then(write) {
                Ok(response) => (response, stamp),
                Err(fault) => dialect.broken(agent, &fault),
            }
        }
    };
    // Who activates an extension is told which ones are in use.
    answers::echo_extensions(&mut response, agent, activated, (binding, release));
    (response, stamp)
}
