//! Last reports of the prober on dealers.

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use super::StoreTransaction;
use crate::Store;
use crate::sql::params;

/// Report of the prober on a dealer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeReport {
    /// Dealer whose agent was checked.
    pub dealer_id: String,
    /// Time at which the run began.
    pub at: Timestamp,
    /// Name of the person who requested it.
    pub by: String,
    /// Results, as JSON.
    pub document: String,
    /// The results as a page, with requests and answers; `None` when no agent was reached.
    pub page: Option<String>,
}

impl StoreTransaction<'_> {
    /// Stores a report in place of the former one.
    ///
    /// # Errors
    /// When the database fails.
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
    /// Returns the last report of the prober on a dealer.
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
                    at: row.get("at")?,
                    by: row.get("wanted_by")?,
                    document: row.get("document")?,
                    page: row.get("page")?,
                })
            },
        )
    }
}
