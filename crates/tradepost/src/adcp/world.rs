//! The world around a publisher: limits, identifiers, and the governance agents of buyers, which
//! are called like any seller of AdCP, where the guard of addresses permits.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tradepost_buyer::CallFailure;
use tradepost_buyer::adcp::AdcpClient;
use tradepost_buyer::refusal::RefusalForm;
use tradepost_buyer::transport::{HttpTransport, TransportLimits};
use tradepost_publisher::world::{
    BoxFuture, CallError, Challenge, LimitWait, NamedGovernanceAgent, RateClass, Services, Supply,
    Unavailable,
};
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, client};
use tradepost_server::fault::{InternalError, chain};
use tradepost_server::limit::{LimitKey, Limiter, Permits, RateLimitExceeded};
use tradepost_server::outbox::sender::HttpSender;
use tradepost_wire::a2a::error::whole_seconds;
use tradepost_wire::json::{Map, Value};

use super::keys::{GovernanceKey, WebhookKey};
use super::upstream::AdServer;
use crate::config::{self, Rates};

/// How long a governance agent may take to decide, at most, with all the requests that it wants for it.
const GOVERNANCE_PATIENCE: Duration = Duration::from_secs(10);

/// The largest decision, in bytes.
const MAX_DECISION: usize = 256 * 1024;

/// How long addresses of subscribers may take to say a challenge back, at most.
pub const CHALLENGE_PATIENCE: Duration = Duration::from_secs(5);

/// With what addresses of subscribers are asked.
#[derive(Debug)]
pub struct SubscriberSigner {
    /// The key of webhooks.
    pub key: Arc<WebhookKey>,
    /// Who sends.
    pub sender: HttpSender,
    /// The time.
    pub clock: Clock,
    /// The address of the agent whose key that is.
    pub agent_url: String,
}

/// Credentials that others accept from us, by their addresses.
pub(super) struct Credentials(pub(super) Vec<(String, String)>);

opaque!(Credentials);

/// The world of one publisher.
#[derive(Debug)]
pub struct Outside {
    publisher: Arc<str>,
    egress: Egress,
    /// With which decisions are signed.
    pub(super) governance: Option<Arc<GovernanceKey>>,
    /// The ad server behind it.
    pub(super) upstream: Option<AdServer>,
    /// By which addresses of subscribers know who asks them.
    pub(super) signer: Option<SubscriberSigner>,
    /// Those that verifiers accept from it.
    pub(super) verifiers: Credentials,
    /// How long a governance agent may take to decide, over all requests to it.
    patience: Duration,
    read: Limiter,
    write: Limiter,
    insert: Limiter,
}

impl Outside {
    /// That of the publisher with this id, which holds its limits together with other processes where
    /// there are permits.
    #[must_use]
    pub fn new(
        publisher: &str,
        rates: Rates,
        permits: Option<&Arc<dyn Permits>>,
        clock: &Clock,
        egress: Egress,
    ) -> Self {
        let limiter = |rate: config::RateLimitConfig, lane: &str| {
            let limiter = Limiter::new(rate.limit(), clock.clone());
            limiter.among(&format!("{publisher} {lane}"), permits.cloned())
        };
        Self {
            publisher: publisher.into(),
            egress,
            governance: None,
            upstream: None,
            signer: None,
            verifiers: Credentials(Vec::new()),
            patience: GOVERNANCE_PATIENCE,
            read: limiter(rates.read, "read"),
            write: limiter(rates.write, "write"),
            insert: limiter(rates.insert, "insert"),
        }
    }

    /// The same for answers that may take so long: what is asked for them takes less, so that
    /// something can still be said about its silence.
    #[must_use]
    pub fn answering_within(self, patience: Duration) -> Self {
        Self { patience: (patience / 5 * 4).min(GOVERNANCE_PATIENCE), ..self }
    }

    /// A client for one agent. Nothing is kept of it: what a caller has named must not be used for
    /// another.
    fn client(&self, agent: &NamedGovernanceAgent) -> Result<AdcpClient, CallError> {
        let silent = |fault: InternalError| {
            tracing::error!(publisher = %self.publisher, cause = %fault.chain(), "no HTTP client");
            CallError::Silent
        };
        // Judged again: the setting that permitted it may have changed since it was kept.
        let destination = self.egress.read(&agent.url).map_err(|_| CallError::Silent)?;
        let build = |secure| client::build(&self.egress, self.patience, secure);
        let plain = build(false).map_err(silent)?;
        // A client with TLS is made only where it is needed: a machine without
        // certificates can still call itself.
        let is_secure = destination.url.scheme() == "https";
        let secure = if is_secure { build(true).map_err(silent)? } else { plain.clone() };
        let limits = TransportLimits {
            timeout: self.patience,
            connect: self.patience,
            max_body: MAX_DECISION,
        };
        let transport = HttpTransport::over(plain, secure, limits);
        let client = AdcpClient::mcp(transport, destination.url.as_str(), fastrand::Rng::new());
        let client = client.map_err(|_| CallError::Silent)?.at_once();
        match &agent.credential {
            Some(credential) => client.with_token(credential).map_err(|_| CallError::Silent),
            None => Ok(client),
        }
    }

    /// Whether an address wants what is going to be sent there.
    async fn is_wanted(&self, challenge: &Challenge) -> bool {
        let Some(signer) = &self.signer else {
            return false;
        };
        let headers =
            |url: &Url| signer.key.headers(url.as_str(), &challenge.body, signer.clock.now());
        match signer.sender.ask(&challenge.url, headers, challenge.body.clone()).await {
            // What is on this machine is its operator's, who has said that it may be called.
            Ok(taken) => {
                challenge.is_answered_by(&taken.said) || self.is_own_machine(&challenge.url)
            }
            Err(failed) => {
                let (publisher, why) = (&self.publisher, failed.why);
                tracing::info!(%publisher, %why, "a subscriber's address did not take its challenge");
                false
            }
        }
    }

    /// What an agent answers to a task. One that answers each request in time, and takes too long over all of them,
    /// is as silent as one that does not answer.
    async fn asked(
        &self,
        agent: &NamedGovernanceAgent,
        task: &'static str,
        request: Map,
    ) -> Result<Map, CallError> {
        let client = self.client(agent)?;
        let called = tokio::time::timeout(self.patience, client.call(task, request)).await;
        let Ok(called) = called else {
            tracing::warn!(publisher = %self.publisher, task, "an agent took too long to answer");
            return Err(CallError::Silent);
        };
        let answered = called.map_err(|failure| {
            let code = code_of(&failure);
            tracing::warn!(publisher = %self.publisher, task, code, "an agent did not answer");
            code.map_or(CallError::Silent, |code| CallError::Refused(code.to_owned()))
        })?;
        answered.payload.as_object().cloned().ok_or(CallError::Silent)
    }
}

/// Whether two addresses are one: a credential goes nowhere else.
fn is_same(known: &str, asked: &str) -> bool {
    let read = |address: &str| Url::parse(address.trim_end_matches('/')).ok();
    read(known).is_some_and(|known| Some(known) == read(asked))
}

/// The code of a refusal.
fn code_of(failure: &CallFailure) -> Option<&str> {
    match failure {
        CallFailure::Refused(refused) => match &refused.by {
            RefusalForm::Adcp(adcp) => Some(adcp.error.code.name()),
            RefusalForm::Aap { .. }
            | RefusalForm::Protocol(_)
            | RefusalForm::Grpc { .. }
            | RefusalForm::Http(_)
            | RefusalForm::Words { .. } => None,
        },
        CallFailure::Unsent(_) | CallFailure::Unanswered(_) | CallFailure::Garbled(_) => None,
    }
}

impl Services for Outside {
    fn fresh_id(&self, prefix: &str) -> String {
        format!("{prefix}_{}", uuid::Uuid::new_v4().simple())
    }

    fn admit(&self, principal: &str, lane: RateClass) -> Result<(), LimitWait> {
        let limiter = match lane {
            RateClass::Read => &self.read,
            RateClass::Write => &self.write,
            RateClass::Insert => &self.insert,
        };
        let admitted = limiter.admit(&LimitKey::Credential(principal.to_owned()));
        admitted.map_err(|RateLimitExceeded { wait, limit }| LimitWait {
            seconds: u32::try_from(whole_seconds(wait)).unwrap_or(u32::MAX).max(1),
            limit: limit.requests,
            window_seconds: u32::try_from(limit.window.as_secs()).unwrap_or(u32::MAX).max(1),
        })
    }

    fn may_call(&self, url: &str) -> Result<(), &'static str> {
        self.egress.read(url).map(|_| ()).map_err(|objection| objection.0)
    }

    fn tidy(&self) {
        for limiter in [&self.read, &self.write, &self.insert] {
            limiter.tidy();
        }
    }

    fn check_governance<'a>(
        &'a self,
        agent: &'a NamedGovernanceAgent,
        request: Map,
    ) -> BoxFuture<'a, Result<Map, CallError>> {
        Box::pin(self.asked(agent, "check_governance", request))
    }

    fn creative_features(
        &self,
        questions: Vec<(String, Map)>,
    ) -> BoxFuture<'_, Vec<Result<Map, CallError>>> {
        Box::pin(async move {
            let asked = questions.into_iter().map(|(url, request)| async move {
                let mut known = self.verifiers.0.iter();
                let known = known.find(|(known, _)| is_same(known, &url));
                let credential = known.map(|(_, credential)| credential.clone());
                let agent = NamedGovernanceAgent { url, credential };
                self.asked(&agent, "get_creative_features", request).await
            });
            futures_util::future::join_all(asked).await
        })
    }

    fn agent_url(&self) -> String {
        self.signer.as_ref().map(|signer| signer.agent_url.clone()).unwrap_or_default()
    }

    fn is_own_machine(&self, url: &str) -> bool {
        self.egress.is_own_machine(url)
    }

    fn challenge(&self, challenges: Vec<Challenge>) -> BoxFuture<'_, Vec<bool>> {
        Box::pin(async move {
            let asked = challenges.iter().map(|challenge| self.is_wanted(challenge));
            futures_util::future::join_all(asked).await
        })
    }

    fn attest(&self, claims: &Value, critical: &[&str]) -> Option<String> {
        self.governance.as_ref()?.attest(claims, critical)
    }

    fn inventory(&self) -> BoxFuture<'_, Result<Supply, Unavailable>> {
        if let Some(upstream) = &self.upstream {
            return Box::pin(upstream.supply());
        }
        // The catalogue is all there is.
        let supply = Supply { sold_out: Vec::new(), age_seconds: 0, stale: None };
        Box::pin(std::future::ready(Ok(supply)))
    }

    fn report(&self, broken: &InternalError) -> String {
        let error_id = format!("err_{}", uuid::Uuid::now_v7().simple());
        let cause = chain(broken);
        tracing::error!(publisher = %self.publisher, %error_id, cause, "a request could not be done");
        error_id
    }
}

#[cfg(test)]
mod tests;
