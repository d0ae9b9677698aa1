//! Recent A2A tasks: each holds the answer to a finished request, so that a caller that lost the
//! answer can fetch it.
//!
//! They are in memory, and those of the caller that came longest ago are dropped when it is full. The AdCP work
//! itself is in the store, where `get_task_status` and the tools find it; an A2A task is the envelope of one
//! exchange, and storing it would make refusals leave a trace: a missing record and another tenant's must not
//! differ in side effects, either (AdCP 3.1 `error-handling`, `U-7`).

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tradepost_a2a::request::RequestedPage;
use tradepost_a2a::{ListTasks, Task};
use tradepost_document::cache::BoundedCache;
use tradepost_server::agent::{Caller, PageTokens};
use tradepost_server::tasks::TaskPage;

/// Maximum number of tasks of one caller.
const MAX_TASKS_PER_CALLER: usize = 32;

/// Maximum total bytes of answers.
const MAX_TOTAL_BYTES: usize = 16 * 1024 * 1024;

/// Default page size in tasks (A2A §3.1.4).
const PAGE_SIZE: u32 = 50;

/// Recent tasks of each tenant, the oldest first.
#[derive(Debug)]
pub struct Exchanges(Mutex<BoundedCache<String, VecDeque<KeptExchange>>>);

impl Default for Exchanges {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(MAX_TOTAL_BYTES)))
    }
}

#[derive(Debug)]
struct KeptExchange {
    task: Task,
    size: usize,
}

impl Exchanges {
    /// Stores a task of a tenant, whose answer is about `size` bytes long.
    pub fn keep(&self, tenant: &str, task: Task, size: usize) {
        let mut kept = self.lock();
        // A single answer must not evict those of all other callers.
        if size > MAX_TOTAL_BYTES / MAX_TASKS_PER_CALLER {
            return;
        }
        let mut own = kept.remove(tenant).unwrap_or_default();
        // A busy caller evicts only its own tasks.
        if own.len() >= MAX_TASKS_PER_CALLER {
            own.pop_front();
        }
        own.push_back(KeptExchange { task, size });
        let bytes = own.iter().map(|entry| entry.size).sum();
        kept.insert_weighed(tenant.to_owned(), own, bytes);
    }

    /// Returns a task of the tenant. Another tenant's task is not found.
    #[must_use]
    pub fn get(&self, tenant: &str, id: &str) -> Option<Task> {
        let mut kept = self.lock();
        let found = kept.get(tenant)?.iter().find(|entry| entry.task.id == id);
        found.map(|entry| entry.task.clone())
    }

    /// Returns the tenant's tasks, the newest first. A page token is the number of tasks before.
    #[must_use]
    pub fn list(&self, tenant: &str, query: &ListTasks) -> Option<TaskPage> {
        let before: usize =
            query.page_token.as_ref().map_or(Some(0), |token| token.parse().ok())?;
        let mut kept = self.lock();
        let own = kept.get(tenant).into_iter().flatten().rev();
        let fits = |task: &&Task| {
            query.context_id.as_ref().is_none_or(|id| task.context_id == *id)
                && query.status.is_none_or(|state| task.status.state == state)
                && query.status_timestamp_after.is_none_or(|after| task.status.timestamp >= after)
        };
        let found: Vec<_> = own.map(|entry| &entry.task).filter(fits).collect();
        let page_size = query.page_size.unwrap_or(PAGE_SIZE);
        let size = usize::try_from(page_size).unwrap_or(usize::MAX);
        let after = before.saturating_add(size);
        let next = if after < found.len() { after.to_string() } else { String::new() };
        let shown = |task: &&Task| Task {
            artifacts: task.artifacts.clone().filter(|_| query.include_artifacts),
            ..(*task).clone()
        };
        let tasks = found.iter().skip(before).take(size).map(shown).collect();
        Some(TaskPage { tasks, next_page_token: next, page_size, total_size: found.len() })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BoundedCache<String, VecDeque<KeptExchange>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageTokens for Exchanges {
    fn is_known(&self, _: &Caller, page: &RequestedPage) -> bool {
        page.token.parse::<usize>().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use tradepost_a2a::{TaskState, TaskStatus};

    use super::*;

    fn task(id: &str) -> Task {
        let status = TaskStatus {
            state: TaskState::Completed,
            message: None,
            timestamp: jiff::Timestamp::UNIX_EPOCH,
        };
        Task {
            id: id.to_owned(),
            context_id: "c".to_owned(),
            status,
            artifacts: None,
            history: None,
            metadata: None,
        }
    }

    #[test]
    fn a_task_is_found_by_whom_it_was_told() {
        let exchanges = Exchanges::default();
        exchanges.keep("a", task("1"), 10);
        assert_eq!(exchanges.get("a", "1"), Some(task("1")));
        assert_eq!(exchanges.get("b", "1"), None);
        assert_eq!(exchanges.list("b", &ListTasks::default()).unwrap().total_size, 0);
    }

    #[test]
    fn whoever_says_much_forgets_its_own_and_nobody_elses() {
        let exchanges = Exchanges::default();
        exchanges.keep("quiet", task("q"), 10);
        for number in 0..100 {
            exchanges.keep("loud", task(&number.to_string()), 10);
        }
        assert!(exchanges.get("quiet", "q").is_some());
        assert!(exchanges.get("loud", "67").is_none());
        assert!(exchanges.get("loud", "68").is_some());
        let page = |token: Option<&str>| {
            let page_token = token.map(ToOwned::to_owned);
            let query = ListTasks { page_size: Some(20), page_token, ..ListTasks::default() };
            exchanges.list("loud", &query).unwrap()
        };
        let first = page(None);
        assert_eq!((first.tasks[0].id.as_str(), first.total_size), ("99", 32));
        let last = page(Some(&first.next_page_token));
        assert_eq!((last.tasks.len(), last.next_page_token.as_str()), (12, ""));
    }

    #[test]
    fn memory_is_bounded_by_what_the_answers_weigh() {
        let exchanges = Exchanges::default();
        exchanges.keep("a", task("huge"), MAX_TOTAL_BYTES);
        assert!(exchanges.get("a", "huge").is_none());
        for number in 0..100 {
            exchanges.keep(
                &format!("caller {number}"),
                task(&number.to_string()),
                MAX_TOTAL_BYTES / MAX_TASKS_PER_CALLER,
            );
        }
        assert_eq!(exchanges.lock().len(), MAX_TASKS_PER_CALLER);
        assert!(exchanges.get("caller 99", "99").is_some());
    }
}
