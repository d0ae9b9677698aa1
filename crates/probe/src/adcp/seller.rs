//! What is known of a seller: where it is, what it was asked and what was seen of it.

use reqwest::Url;
use tradepost_wire::adcp::error::AdcpCode;
use tradepost_wire::catalog::Vocabulary as _;

use super::answer::TaskAnswer;
use super::pair::Paired;
use crate::exchange::RecordedExchange;
use crate::report::Measured;

/// By which way a seller is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum SellerBinding {
    #[default]
    Mcp,
    A2a,
}

impl SellerBinding {
    /// As the report writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mcp => "MCP",
            Self::A2a => "AdCP over A2A",
        }
    }
}

/// What is known of a seller.
#[derive(Debug, Default)]
pub(crate) struct ProbedSeller {
    /// Where it speaks MCP.
    pub(crate) mcp: Option<Url>,
    /// The URI of the card's extension, where the card names AdCP.
    pub(crate) extension: Option<String>,
    /// By which way it is being asked.
    pub(crate) way: SellerBinding,
    pub(super) sessions: Vec<(String, ProbeSession)>,
    pub(super) seen: Vec<SeenRefusal>,
    pub(super) pairs: Vec<(SellerBinding, Paired)>,
    /// Answers that hold one of our credentials.
    pub(crate) echoes: Vec<RecordedExchange>,
    /// An MCP server at the address that has none of AdCP's tools.
    pub(crate) stranger: Option<Url>,
}

/// How a caller speaks with an MCP server.
#[derive(Debug, Clone)]
pub(super) enum ProbeSession {
    /// After a handshake.
    Handshake {
        /// The session, where the server keeps one.
        id: Option<String>,
        /// The version that the server has named.
        version: String,
    },
    /// In requests that stand by themselves.
    Stateless,
}

/// A refusal that was seen.
#[derive(Debug, Clone)]
pub(super) struct SeenRefusal {
    pub(super) answer: TaskAnswer,
    /// `get_products`; empty where no tool was called.
    pub(super) tool: String,
    pub(super) exchange: RecordedExchange,
}

impl ProbedSeller {
    /// The ways in which it can be asked.
    pub(crate) fn ways(&self) -> Vec<SellerBinding> {
        let mcp = self.mcp.is_some().then_some(SellerBinding::Mcp);
        let a2a = self.extension.is_some().then_some(SellerBinding::A2a);
        mcp.into_iter().chain(a2a).collect()
    }

    /// What was measured.
    pub(crate) fn measured(&self) -> Vec<Measured> {
        self.pairs.iter().map(|(way, paired)| paired.measured(way.name())).collect()
    }

    /// Of the codes of the contract that the official harness never asserts, those that this run
    /// did not see either.
    pub(crate) fn unseen(&self) -> Vec<&'static str> {
        let seen =
            |code: &AdcpCode| self.seen.iter().any(|it| it.answer.code() == Some(code.name()));
        UNASSERTED.iter().filter(|code| !seen(code)).map(|code| code.name()).collect()
    }
}

/// The codes of the contract that no storyboard of the official harness asserts (3.1.18).
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
