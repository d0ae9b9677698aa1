//! Health of the agents' storage.

use std::fmt;

use futures_util::future::BoxFuture;

use crate::fault::InternalError;

tradepost_document::catalog! {
    /// Warning of `/readyz` about our certificate.
    pub enum CertificateRemark {
        /// Advice for operators.
        hint: &'static str,
    }
    /// The server's own certificate expires soon, or has expired. The server stays ready.
    EndsSoon = "certificate_ends_soon" {
        hint: "renew the certificate; a running server reads new files at SIGHUP",
    }
    /// The server orders its certificate, and does not have one yet. The server stays ready.
    Missing = "certificate_missing" { hint: "see the log for the last failed order" }
    /// Number of consecutive orders of a certificate that have failed. The server stays ready.
    FailedOrders = "failed_certificate_orders" {
        hint: "see the log for the cause and the time of the next order",
    }
}

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
