//! What customers may ask for: what is kept of them, what proves their consent, and that it is erased.

use jiff::Timestamp;
use tradepost_dealer::consent::{ConsentRecord, Evidence, Hash};
use tradepost_dealer::staff::{Action, NewEntry, RETENTION};
use tradepost_wire::fault::Fault;
use tradepost_wire::json::Value;

use super::Store;

/// How many old leads are erased in one transaction.
const ERASED_AT_ONCE: u32 = 100;

/// A record of a consent with what proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The record.
    pub record: ConsentRecord,
    /// The hash of the one before it in the dealer's chain.
    pub previous: Hash,
    /// Its own hash.
    pub hash: Hash,
    /// How the lead came; `None` when that is erased, and of what is no grant.
    pub kept: Option<Evidence>,
    /// The payload of the submission.
    pub payload: Option<Value>,
}

/// The leads of a customer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Those that name them.
    pub leads: Vec<String>,
    /// Those that cannot be read any more, so that nobody can tell whom they name.
    pub unreadable: Vec<String>,
}

impl Store {
    /// The leads, of one dealer if given, that name a customer by `email:…` or `phone:…`.
    ///
    /// # Errors
    /// When the database fails, here as everywhere.
    pub fn leads_of_contact(&self, dealer_id: Option<&str>, contact: &str) -> Result<Named, Fault> {
        self.read(|db| db.leads_of_contact(dealer_id, contact))
    }

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
    ) -> Result<Named, Fault> {
        let named = self.leads_of_contact(dealer_id, contact)?;
        Ok(Named { leads: self.erase_leads(named.leads, actor, now)?, ..named })
    }

    /// Erases a dealer's leads that have not changed since a moment, a limited number at once, and
    /// records it. Those that a destination is still to be told of stay, unless it is said otherwise.
    /// Returns how many.
    ///
    /// # Errors
    /// When the database fails.
    pub fn erase_old_leads(
        &self,
        dealer_id: &str,
        unchanged_since: Timestamp,
        with_undelivered: bool,
        now: Timestamp,
    ) -> Result<usize, Fault> {
        let leads = self.read(|db| {
            db.leads_unchanged_since(dealer_id, unchanged_since, with_undelivered, ERASED_AT_ONCE)
        })?;
        Ok(self.erase_leads(leads, RETENTION, now)?.len())
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
    ) -> Result<Vec<String>, Fault> {
        if leads.is_empty() {
            return Ok(leads);
        }
        let actor = actor.to_owned();
        let erased = self.write_blocking(move |tx| {
            let mut erased = Vec::with_capacity(leads.len());
            for lead_id in &leads {
                let Some(chain) = tx.dealer_of_lead(lead_id)? else { continue };
                // Somebody else may have erased it since it was looked for, and has recorded that.
                if tx.erase_lead(lead_id, now)? {
                    tx.record(&NewEntry {
                        chain,
                        at: now,
                        actor: actor.clone(),
                        action: Action::LeadErased,
                        subject: Some(lead_id.clone()),
                        detail: None,
                    })?;
                    erased.push(lead_id.clone());
                }
            }
            Ok(erased)
        })?;
        // After the commit: until then the log is what has it.
        self.read(|db| db.0.empty_log())?;
        Ok(erased)
    }

    /// A lead's records of consent with what proves them, the first one first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn proofs_of(&self, lead_id: &str) -> Result<Vec<Proof>, Fault> {
        self.read(|db| db.proofs_of(lead_id))
    }

    /// The hash of a dealer's record of consent with a number, if there is one.
    ///
    /// # Errors
    /// When the database fails.
    pub fn consent_hash(&self, dealer_id: &str, seq: i64) -> Result<Option<Hash>, Fault> {
        self.read(|db| db.consent_hash(dealer_id, seq))
    }

    /// The number and the hash of a dealer's last record of consent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn consent_head(&self, dealer_id: &str) -> Result<(i64, Hash), Fault> {
        self.read(|db| db.consent_head(dealer_id))
    }
}
