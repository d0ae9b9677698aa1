//! Connections that only read.

use std::sync::{Mutex, PoisonError};

use tradepost_document::fault::InternalError;

use crate::sql::Connection;
use crate::tables::Database;

/// Connections for reading. A job takes one that is free, or waits for the first.
#[derive(Debug)]
pub(crate) struct Readers(Vec<Mutex<Database>>);

impl Readers {
    /// Creates readers from connections.
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        Self(connections.into_iter().map(|connection| Mutex::new(Database(connection))).collect())
    }

    /// Runs a job on one of them.
    pub(crate) fn any<T>(
        &self,
        job: impl FnOnce(&Database) -> Result<T, InternalError>,
    ) -> Result<T, InternalError> {
        let free = self.0.iter().find_map(|reader| reader.try_lock().ok());
        let waited = || Some(self.0.first()?.lock().unwrap_or_else(PoisonError::into_inner));
        let reader = free.or_else(waited);
        reader.map_or_else(
            || Err(InternalError::new("reading", "nobody reads")),
            |reader| job(&reader),
        )
    }
}
