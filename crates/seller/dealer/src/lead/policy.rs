//! A dealer's limits for automatic handling: which leads are held for a person to look at, and how
//! many appointments are confirmed to callers without credentials.

use jiff::Timestamp;
use tradepost_aap::LeadSubmit;
use tradepost_document::fault::InternalError;

use super::{LeadCaller, before};
use crate::lead_store::LeadStore;
use crate::record::HeldFor;
use crate::settings::{DealerSettings, LeadPolicy};

/// Longest window in which submissions and bookings are counted.
pub(super) const DAY: jiff::SignedDuration = jiff::SignedDuration::from_hours(24);

/// Limits for a submission, and the subjects under which it is counted.
pub(super) struct SubmissionLimits<'a> {
    rules: &'a LeadPolicy,
    dealer_id: &'a str,
    now: Timestamp,
    is_anonymous: bool,
    /// Names of the agent: by its credential and by the lead.
    agents: Vec<&'a str>,
    /// Sender for the purpose of quotas.
    agent: String,
    address: String,
    contacts: &'a [String],
    vehicle: Option<String>,
}

impl<'a> SubmissionLimits<'a> {
    pub(super) fn new(
        dealer: &'a DealerSettings,
        caller: &'a LeadCaller,
        lead: &'a LeadSubmit,
        contacts: &'a [String],
        vehicle: &str,
        now: Timestamp,
    ) -> Self {
        let is_anonymous = caller.is_anonymous();
        let stated = lead.source_agent.name.trim();
        let named = (!is_anonymous).then_some(caller.name.as_str());
        // A credential's name cannot be chosen by the caller, so it wins over the stated one.
        let agent = match named {
            Some(name) => format!("caller {name}"),
            None => format!("agent {}", stated.to_lowercase()),
        };
        Self {
            rules: &dealer.leads,
            dealer_id: &dealer.id,
            now,
            is_anonymous,
            agents: named.into_iter().chain([stated]).collect(),
            agent,
            address: format!("address {}", caller.network.as_deref().unwrap_or_default()),
            contacts,
            vehicle: Some(vehicle).filter(|v| !v.is_empty()).map(|v| format!("vehicle {v}")),
        }
    }

    /// Returns the reason why the lead is held, if it is.
    pub(super) fn held_for(&self, store: &dyn LeadStore) -> Result<Option<HeldFor>, InternalError> {
        let agents = &self.rules.agents;
        let is_named = |list: &[String]| {
            let is = |known: &String| self.agents.iter().any(|agent| same(known, agent));
            list.iter().any(is)
        };
        // First, because an agent on both lists is denied.
        if is_named(&agents.deny) {
            return Ok(Some(HeldFor::DeniedAgent));
        }
        if !agents.allow.is_empty() && !is_named(&agents.allow) {
            return Ok(Some(HeldFor::UnlistedAgent));
        }
        if self.is_anonymous {
            let velocity = self.rules.velocity;
            let since = before(self.now, velocity.window);
            let limits = self.limits(velocity.per_address, velocity.per_contact, velocity.all);
            for (subject, limit) in limits {
                if store.has_reached_submissions(
                    self.dealer_id,
                    &format!("sent {subject}"),
                    since,
                    limit,
                )? {
                    return Ok(Some(HeldFor::Velocity));
                }
            }
        }
        if let Some(quota) = agents.quota {
            let subject = format!("sent {}", self.agent);
            let since = before(self.now, DAY);
            if store.has_reached_submissions(self.dealer_id, &subject, since, quota)? {
                return Ok(Some(HeldFor::Quota));
            }
        }
        Ok(None)
    }

    /// Returns true when an appointment may be confirmed without a person. `lead_id` is its lead:
    /// moving an appointment is not another booking.
    pub(super) fn may_confirm(
        &self,
        store: &dyn LeadStore,
        lead_id: Option<&str>,
    ) -> Result<bool, InternalError> {
        if !self.is_anonymous {
            return Ok(true);
        }
        let caps = self.rules.confirmations;
        let since = before(self.now, DAY);
        let mut limits = self.limits(caps.per_address, caps.per_contact, caps.all);
        limits.extend(self.vehicle.clone().map(|vehicle| (vehicle, caps.per_vehicle)));
        for (subject, limit) in limits {
            let subject = format!("booked {subject}");
            if store.has_reached_bookings(self.dealer_id, &subject, since, limit, lead_id)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the subjects under which the submission is counted.
    pub(super) fn tallies(&self, is_booked: bool) -> Vec<String> {
        let common = if self.is_anonymous { self.subjects() } else { Vec::new() };
        let quota = self.rules.agents.quota.map(|_| format!("sent {}", self.agent));
        let sent = common.iter().map(|subject| format!("sent {subject}"));
        let booked = common.iter().chain(&self.vehicle).map(|subject| format!("booked {subject}"));
        let booked = booked.filter(|_| is_booked && self.is_anonymous);
        sent.chain(booked).chain(quota).collect()
    }

    fn limits(&self, per_address: u32, per_contact: u32, all: u32) -> Vec<(String, u32)> {
        // In the order of `subjects`: address, all, and one for each contact.
        let limits = [per_address, all].into_iter().chain(std::iter::repeat(per_contact));
        self.subjects().into_iter().zip(limits).collect()
    }

    /// Returns the subjects of a caller without credentials: its address, all callers, and the
    /// customer's contacts.
    fn subjects(&self) -> Vec<String> {
        let first = [self.address.clone(), "all".to_owned()];
        first.into_iter().chain(self.contacts.iter().cloned()).collect()
    }
}

fn same(one: &str, other: &str) -> bool {
    one.trim().to_lowercase() == other.trim().to_lowercase()
}
