//! The transaction that a session is in.

use std::collections::BTreeSet;

use super::broken::Broken;
use super::link::Call;
use crate::news::News;

/// How far a transaction is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
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
pub(super) struct Turn {
    pub(super) stage: Stage,
    /// What is to be sent before anything else.
    pub(super) kept_back: Vec<Call>,
    /// Whose locks it has.
    pub(super) tenants: BTreeSet<String>,
    /// Its number, once it has a lock.
    pub(super) number: Option<String>,
    /// What went wrong in it first: the server does nothing more in it.
    pub(super) broken: Option<Broken>,
    /// What others are told once it is committed.
    pub(super) news: Vec<News>,
}
