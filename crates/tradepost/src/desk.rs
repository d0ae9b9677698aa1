//! The waist: whatever the binding, a request passes here on its way to an agent, and what comes
//! back is an answer, a refusal with a catalog code, or a fault of ours.

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::Value;
use tradepost_wire::a2a::error::{Code, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::{Capability, Message, Operation, PushConfig, Request, Task, request};
use tradepost_wire::aap::{self, Reply, Version};
use tradepost_wire::adcp;
use tradepost_wire::catalog::Vocabulary as _;

use crate::aap::card::PublishedCard;
use crate::aap::seller::Seller;
use crate::adcp::notices::Notices;
use crate::adcp::seller::PublisherAgent;
use crate::auth::{Authenticator, Denied, Principal};
use crate::clock::Clock;
use crate::config::{Config, Dealer, Server};
use crate::conformance::{Conformance, Extension};
use crate::fault::Fault;
use crate::gate;
use crate::limit::Key;
use crate::store::Store;
use crate::tasks::{PushPage, TaskPage, TaskStream};

/// Everything that runs: the agents on one store.
#[derive(Debug)]
pub struct Desk {
    /// How the process behaves.
    pub server: Server,
    /// The time.
    pub clock: Clock,
    store: Arc<Store>,
    agents: Vec<Agent>,
}

/// Somebody who answers.
#[derive(Debug, Clone)]
pub enum Agent {
    /// A car dealer.
    Dealer(Arc<Seller>),
    /// A publisher that sells advertising.
    Publisher(Arc<PublisherAgent>),
    /// What the official conformance kits are run against.
    Conformance(Arc<Conformance>),
}

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// From where.
    pub address: IpAddr,
    /// Who, as far as it is known.
    pub principal: Principal,
}

impl Caller {
    /// Whose requests are counted together. Whoever has a name is limited by it, wherever it
    /// calls from.
    #[must_use]
    pub fn limit_key(&self) -> Key {
        if self.principal.is_anonymous() {
            Key::address(self.address)
        } else {
            Key::Credential(self.principal.name.clone())
        }
    }
}

/// What a request came to.
#[derive(Debug)]
pub enum Outcome {
    /// A dealer's answer, in a version of its profile.
    Reply(Version, Reply),
    /// The profile says no.
    Refusal(Version, aap::Refusal),
    /// A dealer broke.
    Fault(Version, Fault),
    /// An answer of the protocol itself.
    Answer(Box<Answer>),
    /// The protocol says no.
    Protocol(ProtocolRefusal),
    /// The caller may not.
    Denied(Denied),
    /// We broke.
    Broken(Fault),
}

/// An answer of the protocol itself.
#[derive(Debug)]
pub enum Answer {
    /// A message.
    Message(Message),
    /// The task that came of a message.
    Begun(Task),
    /// A task.
    Task(Task),
    /// Some tasks.
    Tasks(TaskPage),
    /// A webhook.
    PushConfig(PushConfig),
    /// The webhooks of a task.
    PushConfigs(PushPage),
    /// It is done, and there is nothing to say.
    Done,
    /// The card for this caller alone: nobody may keep it for another (A2A §13.3).
    ExtendedCard(Value),
    /// A stream that is one message.
    MessageStream(Message),
    /// A task's events.
    Stream(TaskStream),
}

impl From<Result<Answer, ProtocolRefusal>> for Outcome {
    fn from(answer: Result<Answer, ProtocolRefusal>) -> Self {
        answer.map_or_else(Self::Protocol, |answer| Self::Answer(Box::new(answer)))
    }
}

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    /// As JSON-RPC.
    JsonRpc,
    /// As HTTP+JSON.
    HttpJson,
    /// As gRPC.
    Grpc,
}

impl Binding {
    /// The versions of its profile that a dealer speaks here.
    #[must_use]
    pub fn versions(self, dealer: &Dealer) -> &[Version] {
        match self {
            Self::JsonRpc => &dealer.versions,
            // Later versions have no such binding.
            Self::HttpJson => &[Version::V1_0],
            // AAP has no such binding.
            Self::Grpc => &[],
        }
    }
}

/// A request with what the transport says about it.
#[derive(Debug)]
pub struct Incoming<'a> {
    /// How it came.
    pub binding: Binding,
    /// Who calls.
    pub caller: &'a Caller,
    /// The extensions that the transport names.
    pub activated: &'a [String],
    /// The request.
    pub request: Request,
    /// The last event that the caller has seen of a stream, when it resumes one.
    pub resume_after: Option<i64>,
}

impl Agent {
    /// The id in the store and in the log.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Dealer(seller) => &seller.dealer.id,
            Self::Publisher(publisher) => publisher.id(),
            Self::Conformance(_) => Conformance::ID,
        }
    }

    /// The card.
    #[must_use]
    pub fn card(&self) -> &PublishedCard {
        match self {
            Self::Dealer(seller) => &seller.card,
            Self::Publisher(publisher) => &publisher.card,
            Self::Conformance(agent) => &agent.card,
        }
    }

    /// Whether a request without a protocol version is refused (V-04, C-33).
    #[must_use]
    pub fn requires_version(&self) -> bool {
        match self {
            Self::Dealer(seller) => seller.dealer.require_version,
            // A method's name tells the releases of A2A apart.
            Self::Publisher(_) => false,
            Self::Conformance(agent) => agent.requires_version(),
        }
    }

    /// Whether a refusal for the rate is HTTP 429 (C-30).
    #[must_use]
    pub fn answers_429(&self) -> bool {
        match self {
            Self::Dealer(seller) => seller.dealer.rate_limit.http_429,
            Self::Publisher(_) | Self::Conformance(_) => false,
        }
    }

    /// The extensions of the card.
    #[must_use]
    pub fn extensions(&self) -> Vec<&str> {
        match self {
            Self::Dealer(seller) => seller.dealer.versions.iter().map(|v| v.uri()).collect(),
            Self::Publisher(_) => vec![adcp::EXTENSION],
            Self::Conformance(agent) => vec![agent.extension().uri],
        }
    }

    /// Lets callers in.
    #[must_use]
    pub fn auth(&self) -> &Authenticator {
        match self {
            Self::Dealer(seller) => &seller.auth,
            Self::Publisher(publisher) => &publisher.auth,
            Self::Conformance(agent) => &agent.auth,
        }
    }

    /// Whether it answers on the HTTP+JSON binding.
    #[must_use]
    pub fn speaks_http_json(&self) -> bool {
        match self {
            Self::Dealer(seller) => seller.dealer.speaks_http_json(),
            Self::Publisher(_) => false,
            Self::Conformance(_) => true,
        }
    }

    /// Whether it answers on the gRPC binding.
    #[must_use]
    pub fn speaks_grpc(&self) -> bool {
        match self {
            Self::Dealer(_) | Self::Publisher(_) => false,
            Self::Conformance(_) => true,
        }
    }

    fn answers_on(&self, host: &str) -> bool {
        let known = |hosts: &[String]| {
            hosts.is_empty() || hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
        };
        match self {
            Self::Dealer(seller) => known(&seller.dealer.hosts),
            Self::Publisher(publisher) => known(&publisher.front.hosts),
            Self::Conformance(_) => true,
        }
    }

    fn has(&self, capability: Capability) -> bool {
        match self {
            // AAP uses SendMessage alone (`R-ENV-02`).
            Self::Dealer(_) => false,
            Self::Publisher(_) => capability == Capability::Tasks,
            Self::Conformance(agent) => agent.has(capability),
        }
    }

    /// Reads a request that this agent performs for a caller that activates these extensions.
    /// What the agent cannot do is said before what is wrong with the parameters (A2A §3.3.4,
    ///
    ///
    /// # Errors
    /// The error of the missing extension or capability, or every wrong parameter.
    pub fn accept(
        &self,
        operation: Operation,
        activated: &[String],
        params: Option<&Value>,
    ) -> Result<Request, ProtocolRefusal> {
        let required = match self {
            Self::Dealer(_) => None,
            Self::Publisher(_) => Some(Extension { uri: adcp::EXTENSION, required: true }),
            Self::Conformance(agent) => Some(agent.extension()).filter(|known| known.required),
        };
        if let Some(Extension { uri, .. }) = required
            && !activated.iter().any(|known| known == uri)
        {
            let message = format!("name the extension {uri} in A2A-Extensions");
            return Err(ProtocolRefusal::new(Code::ExtensionSupportRequired, message)
                .with("extensionUri", uri));
        }
        if let Some((capability, code)) = operation.needs()
            && !self.has(capability)
        {
            let refusal = ProtocolRefusal::new(code, code.title());
            return Err(refusal.with("operation", operation.name()));
        }
        if params.is_some_and(request::asks_for_push) && !self.has(Capability::Push) {
            let message = "this agent sends no push notifications; leave the webhook out";
            return Err(ProtocolRefusal::new(Code::PushNotificationNotSupported, message));
        }
        request::read(operation, params)
    }
}

impl Desk {
    /// Sets the dealers of a configuration up. `address` is where the process listens: cards name
    /// it when the configuration names no public address.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(
        config: Config,
        store: Arc<Store>,
        clock: Clock,
        address: std::net::SocketAddr,
    ) -> Result<Self, Fault> {
        let origin = config.server.origin(address);
        let dealers = config.dealers.into_iter().map(|dealer| {
            Seller::open(dealer, &store, &clock, origin).map(Arc::new).map(Agent::Dealer)
        });
        let publishers = config.publishers.into_iter().map(|publisher| {
            let opened = crate::adcp::open(publisher, &store, &clock, origin);
            opened.map(Arc::new).map(Agent::Publisher)
        });
        let agents = dealers.chain(publishers).collect::<Result<_, _>>()?;
        Ok(Self { server: config.server, clock, store, agents })
    }

    /// The same process with these agents, of which the first that answers on a host is reached
    /// there.
    #[must_use]
    pub fn of(server: Server, store: Arc<Store>, clock: Clock, agents: Vec<Agent>) -> Self {
        Self { server, clock, store, agents }
    }

    /// The same process with the conformance agent alone.
    pub fn open_conformance(
        server: Server,
        store: Arc<Store>,
        clock: Clock,
        agent: Conformance,
    ) -> Self {
        Self::of(server, store, clock, vec![Agent::Conformance(Arc::new(agent))])
    }

    /// The agent that a `Host` header leads to.
    #[must_use]
    pub fn agent(&self, host: Option<&str>) -> Option<&Agent> {
        let host = host.map(host_name).unwrap_or_default();
        self.agents.iter().find(|agent| agent.answers_on(host))
    }

    /// Whether requests can be answered.
    ///
    /// # Errors
    /// Why not.
    pub async fn check(&self) -> Result<(), Fault> {
        self.store.check().await
    }

    /// What delivers the notifications of publishers, once somebody runs it.
    #[must_use]
    pub fn notices(&self) -> Vec<Arc<Notices>> {
        let of = |agent: &Agent| match agent {
            Agent::Publisher(publisher) => publisher.notices.clone(),
            Agent::Dealer(_) | Agent::Conformance(_) => None,
        };
        self.agents.iter().filter_map(of).collect()
    }

    /// Lets every agent take over what other processes have changed. To be called now and then, and
    /// not where requests are answered: it waits for the disk.
    ///
    /// # Errors
    /// When the store fails, with the first failure. What was loaded before stays in use, and one
    /// agent's failure keeps no other from being refreshed.
    pub fn refresh(&self) -> Result<(), Fault> {
        let refresh = |agent: &Agent| match agent {
            Agent::Dealer(seller) => seller.refresh(),
            Agent::Publisher(publisher) => {
                publisher.refresh();
                Ok(())
            }
            Agent::Conformance(agent) => {
                agent.refresh();
                Ok(())
            }
        };
        let refreshed: Vec<_> = self.agents.iter().map(refresh).collect();
        refreshed.into_iter().collect()
    }

    /// Lets publishers do what has come due without anybody asking. To be called every second or so.
    pub async fn tick(&self) {
        for agent in &self.agents {
            match agent {
                Agent::Publisher(publisher) => publisher.tick().await,
                Agent::Dealer(_) | Agent::Conformance(_) => {}
            }
        }
    }

    /// Ends streams, which nobody could wait for when the process stops. What else is in progress
    /// goes on.
    pub fn close_streams(&self) {
        for agent in &self.agents {
            match agent {
                // They have no tasks that could be followed.
                Agent::Dealer(_) | Agent::Publisher(_) => {}
                Agent::Conformance(agent) => agent.close_streams(),
            }
        }
    }

    /// Performs a request that was admitted.
    pub async fn perform(&self, agent: &Agent, incoming: Incoming<'_>) -> Outcome {
        let (principal, operation) = (&incoming.caller.principal, incoming.request.operation());
        let permitted = match agent {
            // A message's skill is known only when the dealer has read it, and is checked there.
            Agent::Dealer(_) => gate::check(principal, operation, None),
            // What a credential permits depends on the account (AdCP R-4).
            Agent::Publisher(_) => Ok(()),
            Agent::Conformance(_) => gate::check_tasks(principal, operation),
        };
        if let Err(denied) = permitted {
            return Outcome::Denied(denied);
        }
        match agent {
            Agent::Dealer(seller) => match &incoming.request {
                Request::SendMessage(send) => {
                    let versions = incoming.binding.versions(&seller.dealer);
                    seller.answer(incoming.caller, versions, incoming.activated, send).await
                }
                Request::SendStreamingMessage(_)
                | Request::GetTask { .. }
                | Request::ListTasks(_)
                | Request::CancelTask { .. }
                | Request::SubscribeToTask { .. }
                | Request::CreatePushConfig(_)
                | Request::GetPushConfig { .. }
                | Request::ListPushConfigs { .. }
                | Request::DeletePushConfig { .. }
                | Request::GetExtendedAgentCard => Outcome::Protocol(ProtocolRefusal::new(
                    Code::UnsupportedOperation,
                    Code::UnsupportedOperation.title(),
                )),
            },
            Agent::Publisher(publisher) => {
                publisher.perform(incoming.caller, &incoming.request).await
            }
            Agent::Conformance(agent) => {
                agent.perform(incoming).await.map_or_else(Outcome::Broken, Outcome::from)
            }
        }
    }
}

/// A `Host` header without its port.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    name.trim_end_matches('.')
}
