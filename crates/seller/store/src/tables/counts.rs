//! Counts of the rows that operators have to watch.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_publisher::store::EntityKind;
use tradepost_publisher::task::QueuedNotification;

use super::Database;
use crate::sql::params;

/// Numbers of rows, by agent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct AgentRowCounts {
    /// Tasks by agent and state.
    pub(crate) tasks: Vec<(String, String, i64)>,
    /// Webhooks and notifications with something to deliver, and deliveries of leads.
    pub(crate) pending: Vec<(String, i64)>,
    /// Deliveries, webhooks and notifications that were given up.
    pub(crate) dead: Vec<(String, i64)>,
    /// Feeds with the time at which each was last the inventory, in seconds since 1970, and true when stale.
    pub(crate) feeds: Vec<(String, String, i64, bool)>,
}

impl Database {
    /// Counts the rows of these agents.
    pub(crate) fn rows(&self, agents: &[String]) -> Result<AgentRowCounts, InternalError> {
        const TASKS: &str = "
            SELECT state, count(*) AS number FROM tasks WHERE agent_id = $1 GROUP BY state
            UNION ALL
            SELECT state, count(*) FROM publisher_things
            WHERE publisher = $1 AND kind = $2 GROUP BY state ORDER BY 1";
        let mut counted = self.waiting(agents)?;
        for agent in agents {
            let states: Vec<(String, i64)> = self.0.all(
                "counting tasks",
                TASKS,
                params![agent, EntityKind::Task.name()],
                |row| Ok((row.get("state")?, row.get("number")?)),
            )?;
            let states = states.into_iter();
            counted.tasks.extend(states.map(|(state, number)| (agent.clone(), state, number)));
        }
        Ok(counted)
    }

    /// Counts the same without tasks, which are many: pending and dead deliveries, and feeds.
    pub(crate) fn waiting(&self, agents: &[String]) -> Result<AgentRowCounts, InternalError> {
        const DELIVERIES: &str = "
            SELECT (SELECT count(*) FROM push_configs WHERE agent_id = $1 AND due_at IS NOT NULL)
                 + (SELECT count(*) FROM publisher_things
                    WHERE publisher = $1 AND kind = $2 AND state = $3)
                 + (SELECT count(*) FROM lead_deliveries WHERE dealer_id = $1 AND state = 'due') AS pending,
                   (SELECT count(*) FROM push_configs WHERE off_at IS NOT NULL AND agent_id = $1)
                 + (SELECT count(*) FROM publisher_things
                    WHERE publisher = $1 AND kind = $2 AND state = $4)
                 + (SELECT count(*) FROM lead_deliveries WHERE dealer_id = $1 AND state = 'dead') AS dead";
        let mut counted = AgentRowCounts::default();
        for agent in agents {
            let (pending, dead) = self.0.one(
                "counting deliveries",
                DELIVERIES,
                params![
                    agent,
                    EntityKind::Notice.name(),
                    QueuedNotification::DUE,
                    QueuedNotification::DEAD
                ],
                |row| Ok((row.get("pending")?, row.get("dead")?)),
            )?;
            let feeds = self.feed_ages(agent)?.into_iter();
            counted.feeds.extend(feeds.map(|(feed, at, stale)| (agent.clone(), feed, at, stale)));
            counted.pending.push((agent.clone(), pending));
            counted.dead.push((agent.clone(), dead));
        }
        Ok(counted)
    }
}
