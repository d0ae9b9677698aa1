//! Error of transactions that may be refused.

use tradepost_document::fault::InternalError;

/// Error of a transaction that may be refused.
#[derive(Debug)]
pub enum TransactionError<R> {
    /// The job has refused, for this reason.
    Refused(R),
    /// An internal error, of the job or of the database.
    Broken(InternalError),
}

impl<R> From<InternalError> for TransactionError<R> {
    fn from(error: InternalError) -> Self {
        Self::Broken(error)
    }
}
