//! Steps from nothing to a publisher online, as the console's checklist shows them; [`trial`] tests those that need
//! somebody else's answer.

use jiff::Timestamp;
use tradepost_dealer::staff::StaffRole;
use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_store::ApiKey;
use tradepost_store::staff::StaffMember;
use tradepost_store::step_results::{StepOutcome, StepResult};

use crate::adcp::seller::PublisherAgent;

pub mod trial;

catalog! {
    /// A step from nothing to a publisher online, in their order.
    pub enum PublisherStep {
        /// Title, as a sentence of what is so when the step is done.
        title: &'static str,
        /// Setting or command that does the step.
        place: &'static str,
        /// True when its test sends something or asks another server.
        is_tested: bool,
    }
    /// Products on offer, from a file without mistakes.
    Catalogue = "catalogue" {
        title: "Products are on offer",
        place: "tradepost publisher catalogue import FILE --into CONFIG, and tradepost check-config",
        is_tested: false,
    }
    /// People who approve.
    Approvers = "approvers" {
        title: "Your people can approve",
        place: "tradepost console user add NAME --role approver --publisher ID", is_tested: false,
    }
    /// A buyer agent with a credential.
    Agents = "agents" {
        title: "A buyer agent can sign in", place: "[[publishers.agents]], and a key of the agents' page",
        is_tested: false,
    }
    /// A destination of messages to the staff that takes them.
    Messages = "messages" {
        title: "Your people are told what waits", place: "[[publishers.deliveries]]", is_tested: true,
    }
    /// The agent at its public address.
    Endpoint = "endpoint" {
        title: "Buyers reach your agent", place: "public_url in [[publishers]]", is_tested: true,
    }
    /// The declaration of the domain that this agent sells its inventory.
    Adagents = "adagents" {
        title: "Your domain names this agent", place: "tradepost publisher adagents write, and /.well-known/adagents.json of your domain",
        is_tested: true,
    }
    /// The ad server behind the publisher.
    AdServer = "ad-server" {
        title: "The ad server answers", place: "ad_server and upstream in [[publishers]]", is_tested: true,
    }
}

/// State of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherStepState {
    /// The step.
    pub step: PublisherStep,
    /// True when it is done.
    pub is_done: bool,
    /// True when there is something to test.
    pub can_test: bool,
    /// Description: a lower-case fragment without a full stop.
    pub says: String,
    /// Last test of the step.
    pub result: Option<StepResult>,
}

/// Stored data of a publisher that decide the states.
#[derive(Debug)]
pub struct PublisherStepFacts {
    /// Its staff.
    pub members: Vec<StaffMember>,
    /// Keys of its buyer agents.
    pub keys: Vec<ApiKey>,
    /// Last tests of its steps.
    pub results: Vec<StepResult>,
}

/// Judgement of a step.
struct PublisherStepJudgement {
    is_done: bool,
    says: String,
}

fn done(says: impl Into<String>) -> PublisherStepJudgement {
    PublisherStepJudgement { is_done: true, says: says.into() }
}

fn open(says: impl Into<String>) -> PublisherStepJudgement {
    PublisherStepJudgement { is_done: false, says: says.into() }
}

/// Returns the states of all steps of a publisher, in their order. Blocks on the disk.
#[must_use]
pub fn states(
    agent: &PublisherAgent,
    facts: &PublisherStepFacts,
    now: Timestamp,
) -> Vec<PublisherStepState> {
    let state = |step: &PublisherStep| {
        let result = facts.results.iter().find(|result| result.step == step.name()).cloned();
        let has_destinations = !agent.set_up.destinations.is_empty();
        let judged = match step {
            PublisherStep::Catalogue => catalogue(agent),
            PublisherStep::Approvers => approvers(agent, &facts.members),
            PublisherStep::Agents => agents(agent, &facts.keys, now),
            PublisherStep::Messages if !has_destinations => {
                open("no destination is configured: what waits is only in the console")
            }
            PublisherStep::AdServer if !agent.set_up.has_ad_server() => {
                done("none is configured: the catalogue says what is sold out")
            }
            PublisherStep::Messages
            | PublisherStep::Endpoint
            | PublisherStep::Adagents
            | PublisherStep::AdServer => tested(result.as_ref()),
        };
        let can_test = match step {
            PublisherStep::Messages => has_destinations,
            PublisherStep::AdServer => agent.set_up.has_ad_server(),
            PublisherStep::Catalogue
            | PublisherStep::Approvers
            | PublisherStep::Agents
            | PublisherStep::Endpoint
            | PublisherStep::Adagents => true,
        };
        let PublisherStepJudgement { is_done, says } = judged;
        PublisherStepState { step: *step, is_done, can_test, says, result }
    };
    PublisherStep::ALL.iter().map(state).collect()
}

fn catalogue(agent: &PublisherAgent) -> PublisherStepJudgement {
    let mistakes = agent.catalogue_mistakes();
    if let Some(first) = mistakes.first() {
        let more = match mistakes.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        return open(format!(
            "the file has mistakes, and what was sold before still is: {first}{more}"
        ));
    }
    match agent.publisher().profile.catalogue.products.len() {
        0 => open("the catalogue has no product"),
        1 => done("1 product"),
        count => done(format!("{count} products")),
    }
}

fn approvers(agent: &PublisherAgent, members: &[StaffMember]) -> PublisherStepJudgement {
    let approvers: Vec<_> = members
        .iter()
        .filter(|member| member.role == StaffRole::Approver)
        .filter(|member| member.dealer_id.as_deref() == Some(agent.profile.id.as_str()))
        .map(|member| member.name.as_str())
        .collect();
    match approvers.as_slice() {
        [] => open("nobody can approve in the console"),
        [only] if !agent.profile.four_eyes.is_empty() => {
            open(format!("only {only}, and above an amount two people have to approve"))
        }
        all => done(format!("approvers: {}", all.join(", "))),
    }
}

fn agents(agent: &PublisherAgent, keys: &[ApiKey], now: Timestamp) -> PublisherStepJudgement {
    let profile = &agent.profile;
    if profile.agents.is_empty() {
        return open("no buyer agent is configured");
    }
    let is_valid =
        |key: &&ApiKey| key.revoked_at.is_none() && key.expires_at.is_none_or(|end| end > now);
    let has_key = |name: &String| keys.iter().filter(is_valid).any(|key| key.name == *name);
    // Tokens, certificates and signatures are checked against what their issuers publish.
    let ready = profile.agents.iter().filter(|agent| {
        agent.url.is_some()
            || agent.principals.iter().any(|name| name.contains(':') || has_key(name))
    });
    let ready: Vec<_> = ready.map(|agent| agent.id.as_str()).collect();
    if ready.is_empty() {
        return open("no buyer agent has a key, a token or a signature");
    }
    done(format!("agents: {}", ready.join(", ")))
}

fn tested(result: Option<&StepResult>) -> PublisherStepJudgement {
    match result {
        None => open("not tested yet"),
        Some(result) => match result.outcome {
            StepOutcome::Passed => done(&result.says),
            StepOutcome::Failed => open(&result.says),
        },
    }
}
