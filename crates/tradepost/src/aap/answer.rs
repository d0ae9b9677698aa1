//! A dealer's answers and refusals as what a binding writes.

use bytes::Bytes;
use tradepost_server::agent::{Answer, Blame, ProfileRefusal, Ready, Row, Written};
use tradepost_server::refusals::Misfit;
use tradepost_wire::a2a;
use tradepost_wire::a2a::status::Status;
use tradepost_wire::a2a::{DataPart, MessageResult, Role};
use tradepost_wire::aap::error::{Code, DOMAIN, ErrorObject, TYPE};
use tradepost_wire::aap::{Reply, ReplyData, Version};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::problem::Keyword;

/// A reply as a message in a version of the profile.
pub(super) fn message(version: Version, context_id: String, reply: Reply) -> Answer {
    const SIZE_OF_MESSAGE: usize = 1024;
    const LONG: usize = 4 * 1024;
    let skill = reply.skill;
    // What is long and written already is passed on; for the rest there is room at once, because a buffer that has
    // to grow is copied.
    let shared = if let ReplyData::Written(raw) = &reply.data
        && raw.as_json().len() > LONG
    {
        Some(Bytes::from_owner(raw.clone()))
    } else {
        None
    };
    let copied = if shared.is_some() { 0 } else { reply.data.size_hint() };
    let message = a2a::Answer {
        message_id: uuid::Uuid::now_v7().to_string(),
        context_id,
        role: Role::Agent,
        parts: [DataPart { media_type: skill.response_media_type(), data: reply }],
        extensions: vec![version.uri()],
    };
    let json = Ready::write(&MessageResult { message }, SIZE_OF_MESSAGE + copied, shared)
        .unwrap_or_else(|_| unreachable!("our own replies have text keys and no NaN"));
    Answer::Written(Written { json, extension: version.uri(), skill: skill.name() })
}

/// A refusal with its identity, as what each binding needs. `http_429` is whether whoever comes too
/// often hears so in the status of JSON-RPC, too (C-30).
pub(super) fn refusal(
    version: Version,
    error: ErrorObject,
    http_429: bool,
    blame: Blame,
) -> ProfileRefusal {
    const TOO_MANY_REQUESTS: u16 = 429;
    let summary = error.jsonrpc_message();
    let document = tradepost_wire::json::to_raw_value(&error)
        .unwrap_or_else(|_| unreachable!("an error object has text keys and no NaN"));
    let ErrorObject { error_id, refusal, .. } = error;
    let code = refusal.code;
    let misfit =
        |(pointer, keyword): (String, Keyword)| Misfit { pointer, keyword: keyword.name() };
    let misfits = refusal.misfits().into_iter().map(misfit).collect();
    let row = Row {
        name: code.name(),
        domain: DOMAIN,
        jsonrpc: code.jsonrpc(),
        http: code.http(),
        grpc: Status::from_name(code.grpc()).unwrap_or(Status::Unknown),
    };
    let limited = code == Code::RateLimited;
    let metadata =
        vec![("error_id", error_id.clone()), ("retryable", code.retryable().to_string())];
    ProfileRefusal {
        row,
        skill: None,
        message: refusal.message,
        summary,
        document,
        document_type: TYPE,
        metadata,
        error_id: Some(error_id),
        wait: refusal.wait,
        jsonrpc_status: (limited && http_429).then_some(TOO_MANY_REQUESTS),
        challenge: None,
        extension: Some(version.uri()),
        blame: if limited { Blame::TooOften } else { blame },
        misfits,
    }
}
