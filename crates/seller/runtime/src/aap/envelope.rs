//! Rules of the message around a request: versions of the profile, media types and tasks.

use tradepost_a2a::SendMessage;
use tradepost_a2a::error::{A2aCode, A2aRefusal};
use tradepost_aap::{Skill, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::http::MediaType;
use tradepost_server::agent::Binding;

use crate::config::DealerConfig;

/// Returns the versions of its profile that a dealer speaks on a binding.
pub(super) fn versions(dealer: &DealerConfig, binding: Binding) -> &[Version] {
    match binding {
        Binding::JsonRpc => &dealer.terms.versions,
        // Later versions have no such binding.
        Binding::HttpJson => &[Version::V1_0],
        // AAP has no such binding.
        Binding::Grpc => &[],
    }
}

/// Checks a message before its data is read: it must not name a task, because AAP has none
/// (`E-031`), and a strict dealer requires that `acceptedOutputModes` include a type of ours
/// (docs/requirements, C-26).
pub(super) fn check_envelope(
    dealer: &DealerConfig,
    request: &SendMessage,
) -> Result<(), A2aRefusal> {
    if request.message.task_id.is_some() {
        let message = "this agent keeps no tasks; leave taskId out";
        return Err(A2aRefusal::new(A2aCode::TaskNotFound, message));
    }
    let modes = &request.accepted_output_modes;
    let readable = |mode: &String| {
        let mode = MediaType::new(mode);
        mode.covers("application/json")
            || Skill::ALL.iter().any(|skill| mode.is(&skill.response_media_type()))
    };
    if dealer.strict_output_modes && !modes.is_empty() && !modes.iter().any(readable) {
        let message = "acceptedOutputModes must include application/json or an AAP response type";
        return Err(A2aRefusal::new(A2aCode::ContentTypeNotSupported, message));
    }
    Ok(())
}

/// Checks that one of the profile's versions that the caller names is spoken here: a caller must
/// not be answered in a version that it has not asked for (A2A §4.6.3, X-03).
pub(super) fn check_named(versions: &[Version], named: [&[String]; 2]) -> Result<(), A2aRefusal> {
    let mut named = named.into_iter().flatten().filter(|uri| Version::is_profile(uri)).peekable();
    let spoken: Vec<_> = versions.iter().map(|version| version.uri()).collect();
    if named.peek().is_none() || named.any(|uri| spoken.contains(&uri.as_str())) {
        return Ok(());
    }
    let spoken = spoken.join(", ");
    let message =
        format!("no version named of the Auto Agent Protocol is spoken here; name {spoken}");
    Err(A2aRefusal::new(A2aCode::ExtensionSupportRequired, message)
        .with("supportedExtensions", spoken))
}
