//! What customers may ask for: what is kept of them, what proves their consent, and that it is erased.

use jiff::Timestamp;
use tradepost_dealer::consent::{ConsentEvidence, ConsentRecord, Sha256Hash};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry, RETENTION};
use tradepost_wire::fault::InternalError;
use tradepost_wire::json::Value;

use super::Store;
use super::sql::Connection;
use super::tables::StoreTransaction;
use super::tables::consents::leads_unchanged_since;

/// How many old leads are erased in one transaction.
const ERASED_AT_ONCE: u32 = 100;

/// A record of a consent with what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The record.
    pub record: ConsentRecord,
    /// The hash of the one before it in the dealer's chain.
    pub previous: Sha256Hash,
    /// Its own hash.
    pub hash: Sha256Hash,
    /// How the lead came; `None` when that is erased, and of what is no grant.
    pub kept: Option<ConsentEvidence>,
    /// The payload of the submission.
    pub payload: Option<Value>,
}

/// The leads of a customer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomerLeads {
    /// Those that name them.
    pub leads: Vec<String>,
    /// Those that cannot be read any more, so that nobody can tell whom they name.
    pub unreadable: Vec<String>,
}

/// Which leads of a dealer are old.
#[derive(Debug, Clone)]
pub struct Old {
    /// The dealer.
    pub dealer_id: String,
    /// They have not changed since then.
    pub unchanged_since: Timestamp,
    /// Whether those are among them that a destination is still to be told of.
    pub with_undelivered: bool,
    /// None, unless it was this change of the hosted dealers that has removed the dealer, and it has
    /// not come back.
    pub removed_by: Option<i64>,
}

impl Old {
    fn leads(&self, connection: &Connection) -> Result<Vec<String>, InternalError> {
        let Self { dealer_id, unchanged_since, with_undelivered, removed_by: _ } = self;
        let bounds = (*unchanged_since, *with_undelivered, ERASED_AT_ONCE);
        leads_unchanged_since(connection, dealer_id, bounds)
    }
}

impl StoreTransaction<'_> {
    fn erase_each(
        &self,
        leads: &[String],
        actor: &str,
        now: Timestamp,
    ) -> Result<Vec<String>, InternalError> {
        let mut erased = Vec::with_capacity(leads.len());
        for lead_id in leads {
            let Some(chain) = self.dealer_of_lead(lead_id)? else { continue };
            // Somebody else may have erased it since it was looked for, and has recorded that.
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
    /// Erases what is kept of a customer, known by `email:…` or `phone:…`, and records who did.
    /// Returns the leads that were, and those of which nobody can tell.
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

    /// Erases old leads of a dealer, a limited number at once, and records it. Returns how many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_old_leads(&self, old: Old, now: Timestamp) -> Result<usize, InternalError> {
        // Mostly there are none, and a look keeps nobody waiting.
        if self.read(|db| old.leads(&db.0))?.is_empty() {
            return Ok(0);
        }
        // Judged where nothing can change: a lead may have been answered since the look, and a dealer
        // may have come back.
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

    /// Erases leads, whether or not they can be read, and records who did. Returns those that were.
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
        // After the commit: until then the log is what has it.
        self.read(|db| db.0.empty_log())?;
        Ok(erased)
    }
}
