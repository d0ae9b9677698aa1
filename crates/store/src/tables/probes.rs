//! What the prober last found at each dealer.

use jiff::Timestamp;
use tradepost_wire::fault::InternalError;

use super::StoreTransaction;
use crate::Store;
use crate::sql::params;

/// What the prober found at a dealer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Whose agent it is about.
    pub dealer_id: String,
    /// When the run began.
    pub at: Timestamp,
    /// Who wanted it.
    pub by: String,
    /// What was found, as JSON.
    pub document: String,
    /// The same for people, with what was sent and what came back; nothing when nobody was found.
    pub page: Option<String>,
}

impl StoreTransaction<'_> {
    /// Keeps a report in the place of the one before.
    ///
    /// # Errors
    /// When the database fails, here as everywhere.
    pub fn keep_probe_report(&self, report: &ProbeReport) -> Result<(), InternalError> {
        self.0.execute(
            "keeping a report of the prober",
            "INSERT INTO probe_reports (dealer_id, at, wanted_by, document, page)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (dealer_id) DO UPDATE SET at = excluded.at, wanted_by = excluded.wanted_by,
                 document = excluded.document, page = excluded.page",
            params![report.dealer_id, report.at, report.by, report.document, report.page],
        )
    }
}

impl Store {
    /// What the prober last found at a dealer.
    ///
    /// # Errors
    /// When the database fails.
    pub fn probe_report(&self, dealer_id: &str) -> Result<Option<ProbeReport>, InternalError> {
        self.read_first(
            "reading a report of the prober",
            "SELECT at, wanted_by, document, page FROM probe_reports WHERE dealer_id = $1",
            params![dealer_id],
            |row| {
                Ok(ProbeReport {
                    dealer_id: dealer_id.to_owned(),
                    at: row.get(0)?,
                    by: row.get(1)?,
                    document: row.get(2)?,
                    page: row.get(3)?,
                })
            },
        )
    }
}
