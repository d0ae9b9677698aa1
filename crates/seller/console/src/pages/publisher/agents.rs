//! Buyer agents of a publisher with their keys, and the page that shows a new key once.

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_admin::keys::{KeyRefusal, list_buyer_keys};
use tradepost_admin::{AdminError, AdminOperation};
use tradepost_publisher::agent::BuyerAgent;
use tradepost_store::ApiKey;

use super::super::{Answer, Console, ConsoleReply, Local, PageError, PageFrame, Visitor, headed};
use super::state_class;

#[derive(Debug, Template)]
#[template(path = "publisher/agents.html")]
struct AgentsPage {
    frame: PageFrame,
    agents: Vec<AgentView>,
    /// Keys of names that no agent lists.
    others: Vec<KeyRow>,
    /// Names for which a key can be created.
    names: Vec<String>,
    may_change: bool,
    takes_keys: bool,
}

#[derive(Debug)]
struct AgentView {
    id: String,
    standing: String,
    class: &'static str,
    facts: Vec<(&'static str, String)>,
    keys: Vec<KeyRow>,
}

#[derive(Debug)]
struct KeyRow {
    id: String,
    name: String,
    state: &'static str,
    class: &'static str,
    made: String,
    used: String,
    can_revoke: bool,
}

/// The page of a new key.
#[derive(Debug, Template)]
#[template(path = "publisher/key.html")]
pub(crate) struct KeyPage {
    pub(crate) frame: PageFrame,
    pub(crate) name: String,
    pub(crate) key: String,
}

impl Console {
    pub(crate) fn ad_agents(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let profile = &agent.profile;
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let keys = list_buyer_keys(&self.admin(&[]), &visitor.actor(), &profile.id);
        let keys = keys.map_err(|error: AdminError<KeyRefusal>| {
            PageError::from_admin(error, |_| PageError::NotFound)
        })?;
        let may_change = AdminOperation::CreateBuyerKey.permission().is_of(visitor.member.role);
        let rows = |is_meant: &dyn Fn(&str) -> bool| -> Vec<KeyRow> {
            let meant = keys.iter().rev().filter(|key| is_meant(&key.name));
            meant.map(|key| row(key, &here, may_change)).collect()
        };
        let agents = profile.agents.iter().map(|known| AgentView {
            id: known.id.clone(),
            class: state_class(&known.standing.to_string()),
            standing: headed(&known.standing.to_string()),
            facts: facts(known),
            keys: rows(&|name| known.principals.contains(name)),
        });
        let listed =
            |name: &str| profile.agents.iter().any(|known| known.principals.contains(name));
        let names = profile.agents.iter().flat_map(|known| &known.principals);
        Ok(ConsoleReply::page(&AgentsPage {
            agents: agents.collect(),
            others: rows(&|name| !listed(name)),
            // Tokens and certificates have no key here.
            names: names.filter(|name| !name.contains(':')).cloned().collect(),
            may_change,
            takes_keys: agent.front.auth.api_keys,
            frame: self.frame(visitor, "Agents")?,
        }))
    }
}

fn facts(agent: &BuyerAgent) -> Vec<(&'static str, String)> {
    let joined = |names: &mut dyn Iterator<Item = String>| names.collect::<Vec<_>>().join(", ");
    let credentials = joined(&mut agent.principals.iter().cloned());
    let billing = agent.billing.iter().flatten().map(ToString::to_string);
    let limits = agent.spend_limits.iter();
    let limits = limits.map(|limit| format!("{} {} a day", limit.per_day, limit.currency));
    let scope = agent.scope.as_ref();
    let tasks = scope
        .and_then(|scope| scope.allowed_tasks.as_ref())
        .map(|tasks| tasks.iter().cloned().collect::<Vec<_>>().join(", "));
    let only = match (agent.sandbox_only, agent.live_only) {
        (true, _) => Some("sandbox accounts".to_owned()),
        (false, true) => Some("live accounts".to_owned()),
        (false, false) => None,
    };
    let facts = super::super::known([
        ("Credentials", Some(credentials)),
        ("Address", agent.url.clone()),
        ("Billed to", Some(joined(&mut billing.into_iter()))),
        ("Tasks", tasks),
        ("Limits", Some(joined(&mut limits.into_iter()))),
        ("Only", only),
    ]);
    facts.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

fn row(key: &ApiKey, here: &Local, may_change: bool) -> KeyRow {
    let is_expired = key.expires_at.is_some_and(|end| end <= here.now);
    let (state, class) = match (key.revoked_at.is_some(), is_expired) {
        (true, _) => ("Revoked", "bad"),
        (false, true) => ("Expired", "bad"),
        (false, false) => ("Valid", "good"),
    };
    let day = |at: Timestamp| here.date(at).strftime("%b %-d, %Y").to_string();
    KeyRow {
        id: key.id.clone(),
        name: key.name.clone(),
        state,
        class,
        made: day(key.created_at),
        used: key.last_used_on.map_or("never".to_owned(), |day| day.to_string()),
        can_revoke: may_change && key.revoked_at.is_none(),
    }
}
