//! Health of the agents' storage.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::fault::InternalError;

/// Health checks of the agents' storage.
pub trait Health: fmt::Debug + Send + Sync {
    /// Checks that new data can be stored. Returns soon in any case.
    ///
    /// # Errors
    /// The reason why not, for everyone to read. The cause has been logged.
    fn check(&self) -> BoxFuture<'_, Result<(), &'static str>>;

    /// Checks that the stored data is still in place. Call it periodically, because without writes
    /// the loss would go unnoticed.
    ///
    /// # Errors
    /// When it is not.
    fn intact(&self) -> Result<(), InternalError>;

    /// Returns warnings for operators: names with counts. May block on a disk.
    fn remarks(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
