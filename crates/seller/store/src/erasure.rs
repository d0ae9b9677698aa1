//! Rights of customers over their data: access, evidence of consent, and erasure.

use jiff::Timestamp;
use tradepost_dealer::consent::{ConsentEvidence, ConsentRecord, Sha256Hash};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry, RETENTION};
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::Store;
use super::sql::Connection;
use super::tables::StoreTransaction;
use super::tables::consents::leads_unchanged_since;

/// Maximum number of old leads erased in one transaction.
const ERASED_AT_ONCE: u32 = 100;

/// Consent record with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The record.
    pub record: ConsentRecord,
    /// Hash of the record before it in the dealer's chain.
    pub previous: Sha256Hash,
    /// Its own hash.
    pub hash: Sha256Hash,
    /// Evidence of how the lead came; `None` when it is erased, and for records that grant nothing.
    pub kept: Option<ConsentEvidence>,
    /// Payload of the submission.
    pub payload: Option<Value>,
}

/// The leads of a customer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomerLeads {
    /// Leads that name them.
    pub leads: Vec<String>,
    /// Leads that cannot be decrypted any more, so that it is unknown whom they name.
    pub unreadable: Vec<String>,
}

/// Selection of old leads of a dealer.
#[derive(Debug, Clone)]
pub struct OldLeadSelection {
    /// The dealer.
    pub dealer_id: String,
    /// Time since which they have not changed.
    pub unchanged_since: Timestamp,
    /// True when leads that still have deliveries to make are included.
    pub with_undelivered: bool,
    /// Revision of the change that removed the dealer: with it, leads are erased only while that change is the dealer's
    /// last.
    pub removed_by: Option<i64>,
}

impl OldLeadSelection {
    fn leads(&self, connection: &Connection) -> Result<Vec<String>, InternalError> {
        let Self { dealer_id, unchanged_since, with_undelivered, removed_by: _ } = self;
        leads_unchanged_since(
            connection,
            dealer_id,
            *unchanged_since,
            *with_undelivered,
            ERASED_AT_ONCE,
        )
    }
}

impl StoreTransaction<'_> {
    /// Erases leads, records each erasure in the audit log, and returns the ids of those erased.
    fn erase_each(
        &self,
        leads: &[String],
        actor: &str,
        now: Timestamp,
    ) -> Result<Vec<String>, InternalError> {
        let mut erased = Vec::with_capacity(leads.len());
        for lead_id in leads {
            let Some(chain) = self.dealer_of_lead(lead_id)? else { continue };
            // Another process may have erased and recorded it since it was selected.
            if self.erase_lead(lead_id, now)? {
                self.record(&NewAuditEntry {
                    chain,
                    at: now,
                    actor: actor.to_owned(),
                    action: AuditAction::LeadErased,
                    subject: Some(lead_id.clone()),
                    detail: None,
                })?;
                erased.push(lead_id.clone());
            }
        }
        Ok(erased)
    }
}

impl Store {
    /// Erases the data of a customer, known by `email:…` or `phone:…`, and records who did it. Returns the erased
    /// leads, and the leads that cannot be read.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_customer(
        &self,
        dealer_id: Option<&str>,
        contact: &str,
        actor: &str,
        now: Timestamp,
    ) -> Result<CustomerLeads, InternalError> {
        let named = self.leads_of_contact(dealer_id, contact)?;
        Ok(CustomerLeads { leads: self.erase_leads(named.leads, actor, now)?, ..named })
    }

    /// Erases old leads of a dealer, a limited number at once, and records it. Returns their number.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_old_leads(
        &self,
        old: OldLeadSelection,
        now: Timestamp,
    ) -> Result<usize, InternalError> {
        // Mostly there are none, and a read blocks no writer.
        if self.read(|db| old.leads(&db.0))?.is_empty() {
            return Ok(0);
        }
        // Selected again inside the transaction: a lead may have been answered since the first read, and a dealer may
        // have been added again.
        let erased = self.write_blocking(move |tx| {
            tx.0.lock(&old.dealer_id)?;
            if let Some(revision) = old.removed_by
                && !tx.was_removed_by(&old.dealer_id, revision)?
            {
                return Ok(Vec::new());
            }
            tx.erase_each(&old.leads(tx.0)?, RETENTION, now)
        })?;
        if !erased.is_empty() {
            self.read(|db| db.0.empty_log())?;
        }
        Ok(erased.len())
    }

    /// Erases leads, readable or not, and records who did it. Returns the erased ones.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_leads(
        &self,
        leads: Vec<String>,
        actor: &str,
        now: Timestamp,
    ) -> Result<Vec<String>, InternalError> {
        if leads.is_empty() {
            return Ok(leads);
        }
        let actor = actor.to_owned();
        let erased = self.write_blocking(move |tx| tx.erase_each(&leads, &actor, now))?;
        // After the commit: until then the data is in the log.
        self.read(|db| db.0.empty_log())?;
        Ok(erased)
    }
}
