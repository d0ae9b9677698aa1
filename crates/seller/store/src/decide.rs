//! Transactions that may be refused: the job decides, and nothing stays of one that it refuses.

use std::sync::{Arc, Mutex, PoisonError};

use tradepost_document::fault::InternalError;

use super::Store;
use super::tables::StoreTransaction;
use super::transaction_error::TransactionError;

impl Store {
    /// Does the same as [`Store::write_blocking`] for a job that may refuse; nothing has changed then.
    ///
    /// # Errors
    /// The refusal, or the error of the job or of the database.
    pub fn decide<T: Send + 'static, R: Send + 'static>(
        &self,
        mut job: impl FnMut(&StoreTransaction<'_>) -> Result<T, TransactionError<R>> + Send + 'static,
    ) -> Result<T, TransactionError<R>> {
        let refused = Arc::new(Mutex::new(None));
        let note = Arc::clone(&refused);
        let done = self.write_blocking(move |tx| {
            let (done, refusal) = match job(tx) {
                Ok(value) => (Ok(value), None),
                Err(TransactionError::Broken(error)) => (Err(error), None),
                Err(TransactionError::Refused(refusal)) => (
                    Err(InternalError::new("deciding in a transaction", "it is refused")),
                    Some(refusal),
                ),
            };
            // When the job was run more than once, the last run counts.
            *note.lock().unwrap_or_else(PoisonError::into_inner) = refusal;
            done
        });
        done.map_err(|error| {
            // The refusal is more precise than the error of the rollback.
            let refusal = refused.lock().unwrap_or_else(PoisonError::into_inner).take();
            refusal.map_or(TransactionError::Broken(error), TransactionError::Refused)
        })
    }
}
