//! Services that a publisher uses: rate limits, identifiers, and the governance agents of buyers,
//! which are called like any AdCP seller, at addresses that the egress guard permits.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use tradepost_client::CallFailure;
use tradepost_client::adcp::AdcpClient;
use tradepost_client::refusal::RefusalForm;
use tradepost_client::transport::{HttpTransport, TransportLimits};
use tradepost_document::json::{Map, Value};
use tradepost_publisher::services::{
    BoxFuture, CallError, LimitWait, NamedGovernanceAgent, OrderAnswer, OrderQuestion, RateClass,
    Services, SubscriberChallenge, Supply, Unavailable,
};
use tradepost_server::clock::Clock;
use tradepost_server::egress::{Egress, client};
use tradepost_server::fault::{InternalError, chain};
use tradepost_server::limit::{LimitKey, Limiter, Permits, RateLimitExceeded};
use tradepost_server::outbox::sender::HttpSender;

use super::keys::{GovernanceKey, WebhookKey};
use super::order_check::OrderChecker;
use super::upstream::SoldOutClient;
use crate::config::{self, Rates};

/// Maximum time for a decision of a governance agent, over all requests that it takes.
const GOVERNANCE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a decision in bytes.
const MAX_DECISION: usize = 256 * 1024;

/// Maximum time for an address of a subscriber to echo a challenge.
pub const CHALLENGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Signer of challenges to addresses of subscribers.
#[derive(Debug)]
pub struct SubscriberSigner {
    /// Key of webhooks.
    pub key: Arc<WebhookKey>,
    /// HTTP sender.
    pub sender: HttpSender,
    /// Clock.
    pub clock: Clock,
    /// Address of the agent that owns the key.
    pub agent_url: String,
}

/// Credentials that others accept from us, by their addresses.
pub(super) struct Credentials(pub(super) Vec<(String, String)>);

opaque!(Credentials);

/// Services of one publisher.
#[derive(Debug)]
pub struct PublisherServices {
    publisher: Arc<str>,
    egress: Egress,
    /// Key that signs decisions.
    pub(super) governance: Option<Arc<GovernanceKey>>,
    /// Ad server behind it.
    pub(super) upstream: Option<SoldOutClient>,
    /// Asks the ad server that its buys are carried into.
    pub(super) orders: Option<OrderChecker>,
    /// Signer by which addresses of subscribers recognise us.
    pub(super) signer: Option<SubscriberSigner>,
    /// Credentials that creative verifiers accept from it.
    pub(super) verifiers: Credentials,
    /// Maximum time for a decision of a governance agent, over all requests to it.
    timeout: Duration,
    read: Limiter,
    write: Limiter,
    insert: Limiter,
}

impl PublisherServices {
    /// Creates the services of the publisher with this id. Its rate limits are shared with other
    /// processes when there are permits.
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
            orders: None,
            signer: None,
            verifiers: Credentials(Vec::new()),
            timeout: GOVERNANCE_TIMEOUT,
            read: limiter(rates.read, "read"),
            write: limiter(rates.write, "write"),
            insert: limiter(rates.insert, "insert"),
        }
    }

    /// Limits outgoing calls to four fifths of the time for an answer, so that a timeout can still
    /// be reported.
    #[must_use]
    pub fn answering_within(self, timeout: Duration) -> Self {
        Self { timeout: (timeout / 5 * 4).min(GOVERNANCE_TIMEOUT), ..self }
    }

    /// Creates a client for one agent. It is not kept: what one caller has named must not be used
    /// for another.
    fn client(&self, agent: &NamedGovernanceAgent) -> Result<AdcpClient, CallError> {
        let silent = |fault: InternalError| {
            tracing::error!(publisher = %self.publisher, cause = %fault.chain(), "no HTTP client");
            CallError::NoAnswer
        };
        // Checked again: the setting that permitted it may have changed since it was stored.
        let destination = self.egress.read(&agent.url).map_err(|_| CallError::NoAnswer)?;
        let build = |secure| client::build(&self.egress, self.timeout, secure);
        let plain = build(false).map_err(silent)?;
        // A TLS client is created only when needed: a machine without root certificates can still
        // call itself.
        let is_secure = destination.url.scheme() == "https";
        let secure = if is_secure { build(true).map_err(silent)? } else { plain.clone() };
        let limits = TransportLimits {
            timeout: self.timeout,
            connect: self.timeout,
            max_body: MAX_DECISION,
        };
        let transport = HttpTransport::with_clients(plain, secure, limits);
        let client = AdcpClient::mcp(transport, destination.url.as_str(), fastrand::Rng::new());
        let client = client.map_err(|_| CallError::NoAnswer)?.at_once();
        match &agent.credential {
            Some(credential) => client.with_token(credential).map_err(|_| CallError::NoAnswer),
            None => Ok(client),
        }
    }

    /// Returns true when an address confirms that it wants our messages.
    async fn is_wanted(&self, challenge: &SubscriberChallenge) -> bool {
        let Some(signer) = &self.signer else {
            return false;
        };
        let headers =
            |url: &Url| signer.key.headers(url.as_str(), &challenge.body, signer.clock.now());
        match signer.sender.ask(&challenge.url, headers, challenge.body.clone()).await {
            // An address on this machine belongs to the operator, who has permitted calls to it.
            Ok(taken) => {
                challenge.is_answered_by(&taken.said) || self.is_own_machine(&challenge.url)
            }
            Err(failed) => {
                let publisher = &self.publisher;
                let why = failed.why;
                tracing::info!(%publisher, %why, "a subscriber's address did not take its challenge");
                false
            }
        }
    }

    /// Calls a task of an agent. An agent that answers each request in time, but takes too long
    /// over all of them, counts as silent.
    async fn asked(
        &self,
        agent: &NamedGovernanceAgent,
        task: &'static str,
        request: Map,
    ) -> Result<Map, CallError> {
        let client = self.client(agent)?;
        let called = tokio::time::timeout(self.timeout, client.call(task, request)).await;
        let Ok(called) = called else {
            tracing::warn!(publisher = %self.publisher, task, "an agent took too long to answer");
            return Err(CallError::NoAnswer);
        };
        let answered = called.map_err(|failure| {
            let code = code_of(&failure);
            tracing::warn!(publisher = %self.publisher, task, code, "an agent did not answer");
            code.map_or(CallError::NoAnswer, |code| CallError::Refused(code.to_owned()))
        })?;
        answered.payload.as_object().cloned().ok_or(CallError::NoAnswer)
    }
}

/// Returns true when two addresses are equal: a credential goes to no other.
fn is_same(known: &str, asked: &str) -> bool {
    let read = |address: &str| Url::parse(address.trim_end_matches('/')).ok();
    read(known).is_some_and(|known| Some(known) == read(asked))
}

/// Returns the code of a refusal.
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

impl Services for PublisherServices {
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
            wait,
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

    fn challenge(&self, challenges: Vec<SubscriberChallenge>) -> BoxFuture<'_, Vec<bool>> {
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
        // Without an ad server only the catalogue counts.
        let supply = Supply { sold_out: Vec::new(), age_seconds: 0, stale: None };
        Box::pin(std::future::ready(Ok(supply)))
    }

    fn check_order<'a>(
        &'a self,
        question: &'a OrderQuestion,
    ) -> BoxFuture<'a, Result<OrderAnswer, Unavailable>> {
        match &self.orders {
            Some(orders) => Box::pin(orders.ask(question)),
            None => Box::pin(std::future::ready(Ok(OrderAnswer::default()))),
        }
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
