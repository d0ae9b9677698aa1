//! The transaction that a session is in.

use std::collections::BTreeSet;

use super::broken::PgError;
use super::link::PgCall;
use crate::news::ChangeNotice;

/// How far a transaction is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum TxStage {
    /// There is none.
    #[default]
    None,
    /// The server is told of it before its first statement.
    Planned,
    /// The server knows of it.
    Begun,
}

/// The transaction that a session is in.
#[derive(Debug, Default)]
pub(super) struct TxState {
    pub(super) stage: TxStage,
    /// What is to be sent before anything else.
    pub(super) kept_back: Vec<PgCall>,
    /// Whose locks it has.
    pub(super) tenants: BTreeSet<String>,
    /// Its number, once it has a lock.
    pub(super) number: Option<String>,
    /// What went wrong in it first: the server does nothing more in it.
    pub(super) broken: Option<PgError>,
    /// What others are told once it is committed.
    pub(super) news: Vec<ChangeNotice>,
}
