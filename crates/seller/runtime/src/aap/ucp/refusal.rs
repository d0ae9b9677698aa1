//! Refusals of a catalog's requests, in UCP's form for the binding.

use tradepost_a2a::status::RpcStatus;
use tradepost_aap::error::Remedy;
use tradepost_aap::{AapRefusal, Version};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json;
use tradepost_document::parse;
use tradepost_document::problem::{DocumentPlace, ProblemDetail, Problems};
use tradepost_server::agent::{
    ErrorProperties, INTERNAL_ERROR_RETRY_AFTER, ProfileRefusal, ResponsibleParty,
};
use tradepost_server::auth::AuthRefusal;
use tradepost_server::fault::InternalError;
use tradepost_server::refusals::FieldError;
use tradepost_ucp::error::{UcpCode, UcpRefusal};
use tradepost_ucp::{Capability, CatalogOperation};

use super::CatalogTools;
use crate::aap::seller::MessageRefused;

/// Domain of the error codes.
const DOMAIN: &str = "ucp.dev";

/// Error number of JSON-RPC for parameters, the one that is answered with status 200: the request was understood.
const INVALID_PARAMS: i32 = -32602;

/// Members whose names are ours to write into records; every other name is the caller's.
const KNOWN_NAMES: [&str; 26] = [
    "address_country",
    "address_region",
    "attribution",
    "catalog",
    "categories",
    "context",
    "currency",
    "cursor",
    "dev.ucp.buyer_ip",
    "dev.ucp.user_agent",
    "eligibility",
    "filters",
    "id",
    "ids",
    "intent",
    "label",
    "language",
    "limit",
    "max",
    "min",
    "name",
    "pagination",
    "preferences",
    "price",
    "query",
    "selected",
];

/// Binding of a call, with what only that one says about its platform.
#[derive(Debug)]
pub(super) enum CatalogBinding {
    /// REST, with the values of the header `UCP-Agent`.
    Rest(Vec<Vec<u8>>),
    /// MCP.
    Mcp,
}

/// Reason why a request gets no answer.
#[derive(Debug)]
pub(super) enum CatalogError {
    /// Refused.
    Refused(Box<UcpRefusal>),
    /// Internal error.
    Broken(InternalError),
}

impl From<InternalError> for CatalogError {
    fn from(fault: InternalError) -> Self {
        Self::Broken(fault)
    }
}

impl From<MessageRefused> for CatalogError {
    fn from(refused: MessageRefused) -> Self {
        match refused {
            MessageRefused::Profile(refusal) => from_aap(refusal),
            MessageRefused::Denied(denied) => from_denied(&denied, String::new()).into(),
            MessageRefused::Broken(fault) => Self::Broken(fault),
        }
    }
}

/// Converts a refusal of AAP. Reading a catalog has no other than that of the rate limit.
fn from_aap(refusal: AapRefusal) -> CatalogError {
    if refusal.code.remedy() == Remedy::SlowDown {
        let wait = refusal.wait;
        return UcpRefusal { wait, ..UcpRefusal::new(UcpCode::RateLimited, refusal.message) }
            .into();
    }
    CatalogError::Broken(InternalError::new("reading a catalog", refusal.to_string()))
}

/// Converts a refusal of a caller. `message` says what to do, where the agent has such a sentence.
fn from_denied(denied: &AuthRefusal, message: String) -> UcpRefusal {
    match denied {
        AuthRefusal::Missing | AuthRefusal::Invalid { .. } | AuthRefusal::Expired => {
            UcpRefusal::new(UcpCode::Unauthorized, message)
        }
        AuthRefusal::Scope { .. } | AuthRefusal::Page => {
            UcpRefusal::new(UcpCode::InsufficientScope, message)
        }
        AuthRefusal::Limited(exceeded) => {
            let content =
                "too many credentials of this address were wrong; wait and send a valid one";
            let wait = Some(exceeded.wait);
            UcpRefusal { wait, ..UcpRefusal::new(UcpCode::RateLimited, content) }
        }
        AuthRefusal::Unavailable(_) => unavailable(),
    }
}

fn unavailable() -> UcpRefusal {
    let content = "the dealer cannot answer now; send the same request again later";
    UcpRefusal {
        wait: Some(INTERNAL_ERROR_RETRY_AFTER),
        ..UcpRefusal::new(UcpCode::Unavailable, content)
    }
}

/// Returns the refusal of a request without a required member.
pub(super) fn missing(at: &DocumentPlace<'_>, name: &'static str) -> UcpRefusal {
    let mut problems = Problems::new();
    parse::missing(at, &mut problems, name);
    UcpRefusal::from_problems(problems, false)
}

impl CatalogTools<'_> {
    /// Writes a refusal for the binding.
    pub(super) fn refuse(
        &self,
        operation: Option<CatalogOperation>,
        refusal: UcpRefusal,
    ) -> ProfileRefusal {
        let capability = operation.map_or(Capability::Search, CatalogOperation::capability);
        let document = match &self.binding {
            CatalogBinding::Rest(_) => refusal.rest_body(capability),
            CatalogBinding::Mcp => refusal.mcp_data(),
        };
        let document = json::to_raw_value(&document)
            .unwrap_or_else(|_| unreachable!("our own documents have text keys and no NaN"));
        let code = refusal.code;
        let http = refusal.http_status();
        let is_limited = code == UcpCode::RateLimited;
        let blame = if is_limited { ResponsibleParty::TooOften } else { ResponsibleParty::Caller };
        ProfileRefusal {
            row: ErrorProperties {
                name: code.name(),
                domain: DOMAIN,
                jsonrpc: code.jsonrpc(),
                http,
                grpc: RpcStatus::Unknown,
            },
            skill: operation.map(CatalogOperation::name),
            misfits: field_errors(&refusal.problems),
            message: refusal.content.clone(),
            summary: refusal.content,
            document,
            document_type: DOMAIN,
            metadata: Vec::new(),
            error_id: None,
            wait: refusal.wait,
            jsonrpc_status: (code.jsonrpc() != INVALID_PARAMS).then_some(http),
            challenge: None,
            extension: None,
            blame,
        }
    }

    /// Writes the refusal of a caller, with the challenge of the dealer's authentication.
    pub(super) fn denial(&self, denied: &AuthRefusal) -> ProfileRefusal {
        let auth = &self.agent.auth;
        let message = auth.refusal(denied).map(|refusal| refusal.message).unwrap_or_default();
        if let AuthRefusal::Unavailable(fault) = denied {
            tracing::error!(agent = %auth.agent_id(), cause = %fault.chain(), "a caller could not be checked");
        }
        let refusal = self.refuse(None, from_denied(denied, message));
        ProfileRefusal { challenge: auth.challenge(denied), ..refusal }
    }

    /// Writes an internal error, whose cause is only in the log.
    pub(super) fn internal_error(
        &self,
        operation: CatalogOperation,
        fault: &InternalError,
    ) -> ProfileRefusal {
        // Logs the cause under a new error id.
        let logged = self.agent.internal_error(Version::V1_1, fault);
        let error_id = logged.error_id.unwrap_or_default();
        let refusal = if fault.is_transient() {
            let UcpRefusal { content, .. } = unavailable();
            UcpRefusal { content: format!("{content} (error id {error_id})"), ..unavailable() }
        } else {
            let content = format!(
                "the dealer's agent failed; quote the error id {error_id} to whoever runs it"
            );
            UcpRefusal::new(UcpCode::InternalError, content)
        };
        let refusal = self.refuse(Some(operation), refusal);
        ProfileRefusal { error_id: Some(error_id), blame: logged.blame, ..refusal }
    }
}

/// Returns the places of problems for records, with the caller's own names masked.
fn field_errors(problems: &Problems) -> Vec<FieldError> {
    let known = |step: &str| {
        let is_index = step.len() < 4 && step.bytes().all(|byte| byte.is_ascii_digit());
        !step.is_empty() && is_index || KNOWN_NAMES.contains(&step)
    };
    let masked = |pointer: &str| {
        let steps = pointer.split('/').skip(1);
        let steps = steps.map(|step| format!("/{}", if known(step) { step } else { "*" }));
        steps.collect::<String>()
    };
    let of_problem = |problem: &tradepost_document::problem::Problem| {
        let place = masked(&problem.pointer);
        let pointer = match problem.extra {
            ProblemDetail::Property(absent) => format!("{place}/{absent}"),
            ProblemDetail::None
            | ProblemDetail::Allowed(_)
            | ProblemDetail::Only(_)
            | ProblemDetail::OtherVocabulary(_)
            | ProblemDetail::Expected(_)
            | ProblemDetail::Limit(_)
            | ProblemDetail::Pattern(_)
            | ProblemDetail::Format(_)
            | ProblemDetail::AnyOf(_) => place,
        };
        FieldError { pointer, keyword: problem.keyword.name() }
    };
    problems.listed().iter().map(of_problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_hold_no_name_of_the_callers() {
        let mut problems = Problems::new();
        let root = DocumentPlace::Root;
        parse::wrong_type(&root.key("ids").index(3), &mut problems, "string");
        parse::wrong_type(&root.key("signals").key("ada@example.com"), &mut problems, "string");
        parse::missing(&root.key("catalog"), &mut problems, "ids");
        let places: Vec<_> =
            field_errors(&problems).into_iter().map(|error| error.pointer).collect();
        assert_eq!(places, ["/ids/3", "/*/*", "/catalog/ids"]);
    }
}
