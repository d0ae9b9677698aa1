//! Changes to tasks by other processes: of a shared log, and of one that a previous process has
//! left.

use std::sync::PoisonError;

use tradepost_a2a::TaskState;

use super::log::{self, EntryKind, LogListener, TaskRow};
use super::{Tasks, replay};
use crate::fault::InternalError;

impl Tasks {
    /// Ends tasks without a worker as failed.
    pub(super) fn fail_abandoned(&self) -> Result<(), InternalError> {
        // Usually there are none, and reading blocks no writer.
        if self.log.unfinished_tasks(&self.agent_id)?.is_empty() {
            return Ok(());
        }
        let agent_id = self.agent_id.clone();
        let now = self.clock.now();
        let ended = log::write_blocking(&*self.log, move |tx| {
            let end = |row: TaskRow| {
                let event = replay::failure(&row, "The agent was restarted during its work.", now)?;
                let failed = Some((TaskState::Failed, now));
                let seq = tx.append(&row.task_id, EntryKind::Status, &event, failed)?;
                Ok(seq.map(|seq| (row.task_id, seq)))
            };
            // Decided in the transaction, because a process may have returned since the read.
            let left = tx.unfinished_tasks(&agent_id)?;
            left.into_iter().map(end).collect::<Result<Vec<_>, InternalError>>()
        })?;
        for (task_id, seq) in ended.into_iter().flatten() {
            self.committed(&task_id, seq);
        }
        Ok(())
    }

    /// Reads what any process has appended to tasks with work or followers here.
    fn catch_up(&self) -> Result<(), InternalError> {
        // Not held while the log is read, because `committed` takes the lock too.
        let live: Vec<String> = {
            let live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
            live.keys().cloned().collect()
        };
        for task_id in live {
            let (seq, ended) = self.log.standing(&task_id)?;
            self.committed(&task_id, seq);
            // The notification of a cancellation may have been missed.
            if ended {
                self.stop(&task_id);
            }
        }
        self.wake();
        self.fail_abandoned()
    }
}

impl LogListener for Tasks {
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
