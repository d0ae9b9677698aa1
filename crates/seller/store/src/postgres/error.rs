//! Errors of a database server, and what follows from them.

use tokio_postgres::error::SqlState;
use tradepost_document::fault::{InternalError, chain};

/// Reason why the server did not do what it was asked to. Of its error only the message is kept: the details quote
/// values.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum PgError {
    /// Error reported by the server.
    #[error("{1} ({code})", code = .0.code())]
    Refused(SqlState, String),
    /// Server that cannot be reached, or a lost connection.
    #[error("the database cannot be reached: {0}")]
    Gone(String),
    /// No answer within the time limit.
    #[error("the database does not answer")]
    NoAnswer,
    /// A commit was sent and its outcome is unknown.
    #[error("the connection was lost during a commit")]
    InDoubt,
}

impl PgError {
    pub(super) fn from_driver(error: &tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db_error) => Self::Refused(db_error.code().clone(), db_error.message().to_owned()),
            None => Self::Gone(chain(error)),
        }
    }

    /// Returns true when the transaction was aborted for reasons outside of it, so that running it again may succeed.
    pub(super) fn may_be_repeated(&self) -> bool {
        match self {
            Self::Refused(state, _) => {
                [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED]
                    .contains(state)
                    || self.is_gone()
            }
            Self::Gone(_) => true,
            // Work that may still be running is not done a second time.
            Self::NoAnswer | Self::InDoubt => false,
        }
    }

    /// Returns true when the connection is no longer usable.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            // Connections (08), and a server that stops, starts or ends a session (57P).
            Self::Refused(state, _) => {
                ["08", "57P"].iter().any(|class| state.code().starts_with(class))
            }
            Self::Gone(_) | Self::NoAnswer | Self::InDoubt => true,
        }
    }

    /// Returns true when the error is likely to be temporary.
    fn is_transient(&self) -> bool {
        match self {
            // Too few connections, too little memory or disk space; a lock that was waited for in vain; a server that
            // has just become a standby; a database that takes no connections for now (ALLOW_CONNECTIONS false).
            Self::Refused(state, _) => {
                self.may_be_repeated()
                    || state.code().starts_with("53")
                    || [
                        SqlState::QUERY_CANCELED,
                        SqlState::LOCK_NOT_AVAILABLE,
                        SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                        SqlState::READ_ONLY_SQL_TRANSACTION,
                    ]
                    .contains(state)
            }
            Self::Gone(_) | Self::NoAnswer | Self::InDoubt => true,
        }
    }

    /// Converts it into an internal error of the operation `what`.
    pub(super) fn while_doing(self, what: &'static str) -> InternalError {
        let is_transient = self.is_transient();
        let fault = InternalError::new(what, self);
        if is_transient { fault.transient() } else { fault }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_and_what_is_tried_again() {
        for (code, is_transient, may_be_repeated, is_gone) in [
            ("40001", true, true, false),
            ("40P01", true, true, false),
            ("57P01", true, true, true),
            ("57P03", true, true, true),
            ("08006", true, true, true),
            ("53300", true, false, false),
            ("53100", true, false, false),
            ("57014", true, false, false),
            ("55P03", true, false, false),
            ("25006", true, false, false),
            ("55000", true, false, false),
            ("23505", false, false, false),
            ("42P01", false, false, false),
        ] {
            let broken = PgError::Refused(SqlState::from_code(code), "said".to_owned());
            let found = (broken.is_transient(), broken.may_be_repeated(), broken.is_gone());
            assert_eq!(found, (is_transient, may_be_repeated, is_gone), "{code}");
            assert_eq!(broken.while_doing("x").is_transient(), is_transient, "{code}");
        }
        for broken in [PgError::NoAnswer, PgError::InDoubt] {
            assert!(!broken.may_be_repeated(), "it may have been done");
            assert!(broken.while_doing("x").is_transient());
        }
    }
}
