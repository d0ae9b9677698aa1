//! Page tokens: opaque, signed, and bound to their owner and filter, so that callers cannot make
//! them.

use jiff::Timestamp;
use tradepost_a2a::error::A2aRefusal;
use tradepost_a2a::request::{ListScope, RequestedPage, invalid_param};
use tradepost_document::catalog::Vocabulary as _;

use super::log::{TaskFilter, TaskOwner, TaskRow};
use crate::fault::InternalError;
use crate::signed_text::{Seal, Secrets};

/// Signer of page tokens.
#[derive(Debug)]
pub(super) struct PageTokenSigner(Seal);

impl PageTokenSigner {
    /// Opens the log's key, so that tokens outlive the process.
    pub(super) fn open(secrets: &dyn Secrets) -> Result<Self, InternalError> {
        Seal::open(secrets, "page-tokens").map(Self)
    }

    /// Writes the token for the tasks after one.
    pub(super) fn write(&self, owner: &TaskOwner, filter: &TaskFilter, last: &TaskRow) -> String {
        let place = format!("{}.{}", last.status_at.as_millisecond(), last.task_id);
        self.0.write(&of_tasks(owner, filter), &place)
    }

    /// Reads a token, if it was issued for this owner and filter.
    pub(super) fn read(
        &self,
        owner: &TaskOwner,
        filter: &TaskFilter,
        token: &str,
    ) -> Option<(Timestamp, String)> {
        let place = self.0.read(&of_tasks(owner, filter), token)?;
        let (at, task_id) = place.split_once('.')?;
        Some((Timestamp::from_millisecond(at.parse().ok()?).ok()?, task_id.to_owned()))
    }

    /// Returns true when a token was issued for this owner and list. For an unknown list only its
    /// form is checked.
    pub(super) fn is_known(&self, owner: &TaskOwner, page: &RequestedPage) -> bool {
        let token = page.token.as_str();
        match &page.list {
            Some(ListScope::Tasks(query)) => {
                self.read(owner, &TaskFilter::from(query), token).is_some()
            }
            Some(ListScope::PushConfigs { task_id }) => {
                self.read_push(owner, task_id, token).is_some()
            }
            None => Seal::looks_sealed(token),
        }
    }

    /// Writes the token for the webhooks after one.
    pub(super) fn write_push(&self, owner: &TaskOwner, task_id: &str, last: &str) -> String {
        self.0.write(&of_webhooks(owner, task_id), last)
    }

    /// Returns the last webhook of the previous page, if the token was issued for this owner and
    /// task.
    pub(super) fn read_push(
        &self,
        owner: &TaskOwner,
        task_id: &str,
        token: &str,
    ) -> Option<String> {
        self.0.read(&of_webhooks(owner, task_id), token).map(str::to_owned)
    }
}

/// Cuts a list to a page, of which one item more was read, and returns the next token; empty at the
/// end.
pub(super) fn cut<T>(found: &mut Vec<T>, limit: usize, token: impl FnOnce(&T) -> String) -> String {
    let more = found.len() > limit;
    found.truncate(limit);
    found.last().filter(|_| more).map(token).unwrap_or_default()
}

/// Message for a token that was not issued for a list.
pub(crate) const FOREIGN_TOKEN: &str = "must be a nextPageToken of the same list";

/// Returns the refusal of a token that was not issued for a list.
pub(super) fn foreign_token() -> A2aRefusal {
    invalid_param("pageToken", FOREIGN_TOKEN)
}

/// Returns what a token of a list of tasks is bound to.
fn of_tasks(owner: &TaskOwner, filter: &TaskFilter) -> [String; 5] {
    let state = filter.state.map(tradepost_a2a::TaskState::name).unwrap_or_default();
    let since = filter.since.map(|at| at.to_string()).unwrap_or_default();
    let context = filter.context_id.clone().unwrap_or_default();
    [owner.agent_id.clone(), owner.principal.clone(), context, state.to_owned(), since]
}

/// Returns what a token of a list of webhooks is bound to. It has another length than for tasks, so
/// the two cannot be confused.
fn of_webhooks(owner: &TaskOwner, task_id: &str) -> [String; 4] {
    [owner.agent_id.clone(), owner.principal.clone(), "webhooks".to_owned(), task_id.to_owned()]
}
