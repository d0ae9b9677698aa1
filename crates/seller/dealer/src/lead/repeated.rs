//! Answers to repeated requests whose appointment staff have changed meanwhile.

use tradepost_aap::lead::AppointmentRequest;
use tradepost_aap::{AapRefusal, LeadReceipt};
use tradepost_document::fault::InternalError;

use super::{LeadAnswer, LeadSubmission, appointment_receipt, is_booked, messages, reply};
use crate::lead_store::{LeadStore, ScopedKey, StoredReply};
use crate::record::{AppointmentRecord, AppointmentState};
use crate::settings::RooftopSettings;

impl LeadSubmission<'_> {
    /// Returns the answer to an earlier request with the same key. A scope in which the key has
    /// this payload wins over one in which it has another.
    ///
    /// The answer is the same, except that an appointment that staff have changed since is
    /// described as it is now: a cancelled booking must not be promised to a customer
    /// (`docs/decisions/0020-one-calendar.md`).
    pub(super) fn replay(
        &self,
        store: &dyn LeadStore,
        claim: &ScopedKey<'_>,
        hash: &[u8],
    ) -> Result<Option<LeadAnswer>, InternalError> {
        let claimed = store.claimed_replies(claim)?;
        let Some(same) = claimed.iter().find(|claimed| claimed.payload_hash == hash) else {
            let conflict = |other: &StoredReply| {
                LeadAnswer::Refused(AapRefusal::idempotency_conflict(
                    claim.key,
                    other.first_seen_at,
                ))
            };
            return Ok(claimed.first().map(conflict));
        };
        let stored: (LeadReceipt, String) = tradepost_document::json::from_str(&same.reply)
            .map_err(InternalError::on("reading a stored answer"))?;
        let (receipt, message) = stored;
        let Some(answered) = &receipt.appointment else {
            return Ok(Some(LeadAnswer::Taken(reply(receipt, message))));
        };
        let changed = store.appointment_if_changed(&self.dealer.id, &answered.appointment_id)?;
        let Some(changed) = changed else {
            return Ok(Some(LeadAnswer::Taken(reply(receipt, message))));
        };
        let name = receipt.dealer.as_ref().and_then(|dealer| dealer.name.clone());
        let named = |rooftop: &&RooftopSettings| Some(&rooftop.profile.name) == name.as_ref();
        let rooftop = self.dealer.rooftops.iter().find(named);
        let message = match rooftop {
            Some(rooftop) => messages::standing(rooftop, &changed, self.now),
            None => message,
        };
        let receipt = LeadReceipt { appointment: appointment_receipt(&changed), ..receipt };
        Ok(Some(LeadAnswer::Taken(reply(receipt, message))))
    }
}

/// Returns true for a repeated request for an appointment that staff have changed since: at the
/// time requested then, or at the new one. A repetition does not undo their decision; another time
/// is a new request.
pub(super) fn is_settled(current: &AppointmentRecord, request: &AppointmentRequest) -> bool {
    let is_by_staff = current.version > 1
        && match current.state {
            AppointmentState::Confirmed
            | AppointmentState::Cancelled
            | AppointmentState::NoShow => true,
            AppointmentState::Requested
            | AppointmentState::Proposed
            | AppointmentState::Rejected
            | AppointmentState::Superseded => false,
        };
    let is_moved_there = is_booked(current) && request.at == current.starts_at;
    is_by_staff
        && current.kind == request.kind
        && (request.at == current.requested_at || is_moved_there)
}
