//! State of the probe of a seller: its addresses, its sessions and its answers.

use reqwest::Url;
use tradepost_adcp::error::AdcpCode;
use tradepost_document::catalog::Vocabulary as _;

use super::answer::TaskAnswer;
use super::pair::Paired;
use crate::exchange::RecordedExchange;
use crate::report::Measured;

/// Binding over which a seller is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SellerBinding {
    #[default]
    Mcp,
    A2a,
}

impl SellerBinding {
    /// Returns the name in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mcp => "MCP",
            Self::A2a => "AdCP over A2A",
        }
    }
}

/// State of the probe of a seller.
#[derive(Debug, Default)]
pub(crate) struct ProbedSeller {
    /// Address of its MCP endpoint.
    pub(crate) mcp: Option<Url>,
    /// URI of the AdCP extension, when the card has it.
    pub(crate) extension: Option<String>,
    /// Binding that is being probed.
    pub(crate) binding: SellerBinding,
    pub(super) sessions: Vec<(String, ProbeSession)>,
    pub(super) seen: Vec<SeenRefusal>,
    pub(super) pairs: Vec<(SellerBinding, Paired)>,
    /// Answers that contain one of our credentials.
    pub(crate) echoes: Vec<RecordedExchange>,
    /// MCP server at the address that has none of AdCP's tools.
    pub(crate) unrelated_mcp: Option<Url>,
}

/// Session of a caller with an MCP server.
#[derive(Debug, Clone)]
pub(super) enum ProbeSession {
    /// Session that began with a handshake.
    Handshake {
        /// Session id, when the server issued one.
        id: Option<String>,
        /// Version that the server selected.
        version: String,
    },
    /// No session: each request is independent.
    Stateless,
}

/// Refusal in a recorded answer.
#[derive(Debug, Clone)]
pub(super) struct SeenRefusal {
    pub(super) answer: TaskAnswer,
    /// Tool name, such as `get_products`; empty when no tool was called.
    pub(super) tool: String,
    pub(super) exchange: RecordedExchange,
}

impl ProbedSeller {
    /// Returns the bindings that the seller offers.
    pub(crate) fn bindings(&self) -> Vec<SellerBinding> {
        let mcp = self.mcp.is_some().then_some(SellerBinding::Mcp);
        let a2a = self.extension.is_some().then_some(SellerBinding::A2a);
        mcp.into_iter().chain(a2a).collect()
    }

    /// Returns the measurements for the report.
    pub(crate) fn measured(&self) -> Vec<Measured> {
        self.pairs.iter().map(|(binding, paired)| paired.measured(binding.name())).collect()
    }

    /// Returns the codes of the contract that neither the official harness asserts nor this run received.
    pub(crate) fn unseen(&self) -> Vec<&'static str> {
        let seen = |code: &AdcpCode| {
            self.seen.iter().any(|refusal| refusal.answer.code() == Some(code.name()))
        };
        UNASSERTED.iter().filter(|code| !seen(code)).map(|code| code.name()).collect()
    }
}

/// Codes of the contract that no storyboard of the official harness asserts (3.1.18).
const UNASSERTED: &[AdcpCode] = &[
    AdcpCode::AuthRequired,
    AdcpCode::AuthMissing,
    AdcpCode::AuthInvalid,
    AdcpCode::RateLimited,
    AdcpCode::ServiceUnavailable,
    AdcpCode::ConfigurationError,
    AdcpCode::PolicyViolation,
    AdcpCode::CreativeRejected,
    AdcpCode::AudienceTooSmall,
    AdcpCode::AccountNotFound,
    AdcpCode::AccountSetupRequired,
    AdcpCode::AccountAmbiguous,
    AdcpCode::AccountPaymentRequired,
    AdcpCode::AccountSuspended,
    AdcpCode::ComplianceUnsatisfied,
    AdcpCode::BudgetExhausted,
    AdcpCode::CreativeNotFound,
    AdcpCode::SignalNotFound,
    AdcpCode::SessionNotFound,
    AdcpCode::PlanNotFound,
    AdcpCode::RequoteRequired,
    AdcpCode::ScopeInsufficient,
    AdcpCode::ReadOnlyScope,
    AdcpCode::FieldNotPermitted,
    AdcpCode::PaymentTermsNotSupported,
    AdcpCode::BrandRequired,
    AdcpCode::AgentSuspended,
    AdcpCode::AgentBlocked,
];
