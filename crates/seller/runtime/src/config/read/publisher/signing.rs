//! Readers for the keys a publisher signs with, and the signatures it accepts.

use std::collections::BTreeSet;

use tradepost_adcp::AdcpTool;
use tradepost_adcp::signing::DigestRule;
use tradepost_client::signed::signers::{AgentKeys, KeyLocation};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::parse::read_object;
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_keys::replay;
use tradepost_publisher::profile::RequestSigning;

use super::super::values::{self, line, list, of_text, path, read_table, set, text_that, whole};
use crate::config::WebhookKeyFile;

/// Reads `webhook_key`.
pub(super) fn webhook_key(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<WebhookKeyFile> {
    read_table!(value, at, problems, WebhookKeyFile {
        required "key_file" => key_file: path(1_000),
        optional "kid" => kid: line(200),
    })
}

/// Reads `request_signing`.
pub(super) fn request_signing(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<RequestSigning> {
    read_table!(value, at, problems, RequestSigning {
        // Without a digest, anyone who can change a request in transit chooses what is bought.
        optional "content_digest" => digest:
            text_that("must be required, forbidden or either", DigestRule::from_name)
            => DigestRule::Required,
        optional "required_for" => required_for: set(0, None, tool) => BTreeSet::new(),
        optional "methods_required_for" => methods_required_for:
            set(0, None, method) => BTreeSet::new(),
    })
}

fn tool(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be a task of AdCP, such as create_media_buy";
    of_text((value, at, problems), HINT, |text| {
        AdcpTool::from_name(text).map(|tool| tool.name().to_owned())
    })
}

/// Reads a method name, which has a slash; a tool name is refused here.
fn method(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<String> {
    const HINT: &str = "must be a method of the protocol, such as tasks/cancel";
    of_text((value, at, problems), HINT, |text| {
        let fits = text.contains('/') && text.len() <= 100 && text != "tools/call";
        fits.then(|| text.to_owned())
    })
}

/// Reads `keys` of a buyer agent.
pub(super) fn keys(
    value: &Value,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) -> Option<AgentKeys> {
    read_object!(value, at, problems, closed {
        optional "jwks_file" => jwks_file: path(1_000),
        optional "brand_json_url" => brand_json_url: values::web_page,
        optional "revoked" => revoked: list(0, None, line(200)),
        optional "signatures" => signatures: whole::<u32>(1, 1_000_000),
    });
    let source = match (jwks_file, brand_json_url) {
        (Some(_), Some(_)) => {
            values::reject(at, problems, "must name jwks_file or brand_json_url, not both");
            return None;
        }
        (Some(file), None) => KeyLocation::File(file),
        (None, brand_json_url) => KeyLocation::Published(brand_json_url),
    };
    let cap = signatures.and_then(|cap| usize::try_from(cap).ok()).unwrap_or(replay::PER_KEY);
    Some(AgentKeys { source, revoked: revoked.unwrap_or_default(), cap })
}

/// Default location of an agent's keys: where its operator publishes them.
pub(super) fn published() -> AgentKeys {
    AgentKeys { source: KeyLocation::Published(None), revoked: Vec::new(), cap: replay::PER_KEY }
}
