//! What other processes do to tasks: of a log that is shared, and of one that another process has left.

use std::sync::PoisonError;

use tradepost_wire::a2a::TaskState;

use super::log::{self, Ear, EntryKind, TaskRow};
use super::{Tasks, fold};
use crate::fault::Fault;

impl Tasks {
    /// Ends tasks as failed on which nobody works any more.
    pub(super) fn end_left(&self) -> Result<(), Fault> {
        // Mostly there are none, and a look keeps nobody waiting.
        if self.log.unfinished_tasks(&self.agent_id)?.is_empty() {
            return Ok(());
        }
        let (agent_id, now) = (self.agent_id.clone(), self.clock.now());
        let ended = log::write_blocking(&*self.log, move |tx| {
            let end = |row: TaskRow| {
                let event = fold::failure(&row, "The agent was restarted during its work.", now)?;
                let failed = Some((TaskState::Failed, now));
                let seq = tx.append(&row.task_id, EntryKind::Status, &event, failed)?;
                Ok(seq.map(|seq| (row.task_id, seq)))
            };
            // Judged here, and not by the look: whoever has gone on meanwhile, goes on.
            let left = tx.unfinished_tasks(&agent_id)?;
            left.into_iter().map(end).collect::<Result<Vec<_>, Fault>>()
        })?;
        for (task_id, seq) in ended.into_iter().flatten() {
            self.committed(&task_id, seq);
        }
        Ok(())
    }

    /// Finds out what was appended to the tasks that are worked on or followed here, by whomever.
    fn catch_up(&self) -> Result<(), Fault> {
        // Not held while the log is read: `committed` takes the lock, too.
        let live: Vec<String> = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.keys().cloned().collect()
        };
        for task_id in live {
            let (seq, ended) = self.log.standing(&task_id)?;
            self.committed(&task_id, seq);
            // Who canceled it has told us, and may not have been heard.
            if ended {
                self.stop(&task_id);
            }
        }
        self.stir();
        self.end_left()
    }
}

impl Ear for Tasks {
    fn appended(&self, task_id: &str, seq: i64, ended: bool) {
        self.committed(task_id, seq);
        if ended {
            self.stop(task_id);
        }
    }

    fn look(&self) {
        if let Err(fault) = self.catch_up() {
            tracing::warn!(cause = %fault.chain(), "what other processes did to tasks is not known");
        }
    }
}
