//! State of a session's transaction.

use std::collections::BTreeSet;

use super::connection::PgCall;
use super::error::PgError;
use crate::change_notice::ChangeNotice;

/// Stage of a transaction.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum TxStage {
    /// There is no transaction.
    #[default]
    None,
    /// BEGIN is sent before the first statement.
    Planned,
    /// The BEGIN of a transaction that only reads is sent together with the first statement.
    PlannedRead,
    /// BEGIN was sent.
    Begun,
}

/// State of the transaction that a session is in.
#[derive(Debug, Default)]
pub(super) struct TxState {
    pub(super) stage: TxStage,
    /// Statements to be sent before any other.
    pub(super) deferred: Vec<PgCall>,
    /// Tenants whose locks it holds.
    pub(super) tenants: BTreeSet<String>,
    /// Its transaction id, once it holds a lock.
    pub(super) number: Option<String>,
    /// Its first error: the server runs nothing more in it.
    pub(super) broken: Option<PgError>,
    /// Notices sent to other processes once it is committed.
    pub(super) notices: Vec<ChangeNotice>,
}
