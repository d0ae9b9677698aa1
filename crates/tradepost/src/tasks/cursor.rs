//! Page tokens: opaque, bound to their owner and filter, and signed, so that nobody can make one.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;
use tradepost_wire::catalog::Vocabulary as _;

use crate::fault::Fault;
use crate::store::{Owner, Store, TaskFilter, TaskRow};

/// Signs page tokens.
pub(super) struct Signer(Vec<u8>);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer")
    }
}

impl Signer {
    /// The store's own key, so that tokens outlive the process.
    pub(super) fn open(store: &Store) -> Result<Self, Fault> {
        let fresh = [uuid::Uuid::new_v4(), uuid::Uuid::new_v4()];
        let fresh = fresh.iter().flat_map(|id| *id.as_bytes()).collect();
        store.secret("page-tokens", fresh).map(Self)
    }

    /// The token for what comes after a task.
    pub(super) fn write(&self, owner: &Owner, filter: &TaskFilter, last: &TaskRow) -> String {
        let place = format!("{}.{}", last.status_at.as_millisecond(), last.task_id);
        self.seal(&of_tasks(owner, filter), &place)
    }

    /// What a token says, if it is one of ours for this owner and filter.
    pub(super) fn read(
        &self,
        owner: &Owner,
        filter: &TaskFilter,
        token: &str,
    ) -> Option<(Timestamp, String)> {
        let (at, task_id) = self.open_sealed(&of_tasks(owner, filter), token)?.split_once('.')?;
        Some((Timestamp::from_millisecond(at.parse().ok()?).ok()?, task_id.to_owned()))
    }

    /// The token for what comes after a webhook of a task.
    pub(super) fn write_push(&self, owner: &Owner, task_id: &str, last: &str) -> String {
        self.seal(&of_webhooks(owner, task_id), last)
    }

    /// The webhook after which to go on, if the token is one of ours for this owner and task.
    pub(super) fn read_push(&self, owner: &Owner, task_id: &str, token: &str) -> Option<String> {
        self.open_sealed(&of_webhooks(owner, task_id), token).map(str::to_owned)
    }

    fn seal(&self, list: &[String], place: &str) -> String {
        format!("{}.{place}", self.sign(list, place))
    }

    fn open_sealed<'t>(&self, list: &[String], token: &'t str) -> Option<&'t str> {
        let (signature, place) = token.split_once('.')?;
        let right = self.sign(list, place);
        // How long this takes must not tell how much of a guess is right.
        let differences = right.bytes().zip(signature.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        (right.len() == signature.len() && differences == 0).then_some(place)
    }

    fn sign(&self, list: &[String], place: &str) -> String {
        use std::fmt::Write as _;
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("HMAC takes a key of any length")
        };
        for text in list.iter().map(String::as_str).chain([place]) {
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text.as_bytes());
        }
        mac.finalize().into_bytes().iter().take(16).fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
    }
}

/// What a token of a list of tasks is bound to.
fn of_tasks(owner: &Owner, filter: &TaskFilter) -> [String; 5] {
    let state = filter.state.map(tradepost_wire::a2a::TaskState::name).unwrap_or_default();
    let since = filter.since.map(|at| at.to_string()).unwrap_or_default();
    let context = filter.context_id.clone().unwrap_or_default();
    [owner.agent_id.clone(), owner.principal.clone(), context, state.to_owned(), since]
}

/// What a token of a list of webhooks is bound to: nothing that a list of tasks could be, which
/// names as many things.
fn of_webhooks(owner: &Owner, task_id: &str) -> [String; 4] {
    [owner.agent_id.clone(), owner.principal.clone(), "webhooks".to_owned(), task_id.to_owned()]
}
