//! Agreements that a person gives to a text of the dealer's own, each with a token. What became of a token is known from
//! the store alone: a lead that was sent has an answer under its key, and a refusal is stored in a scope of its own. So it
//! holds in every process and after a restart, and no caller takes the place of another.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_aap::{AapCode, AapRefusal};
use tradepost_document::fault::InternalError;

use super::{LeadSubmission, before};
use crate::lead_store::{LeadStore, ScopedKey, StoredReply};
use crate::settings::DealerSettings;

/// Scope of the keys of refused agreements. The scopes of leads begin with other words.
const SCOPE: &str = "refused agreement";

/// Reply that is stored for a refused agreement.
const REFUSED: &str = "\"refused\"";

/// Agreement of a person to exactly one lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonAgreement {
    /// Text of everything that the person was asked about. A repeated request is recognised by it in place of the
    /// payload, because each request has another time of the agreement.
    pub subject: String,
    /// Key of the token that stands for the agreement.
    pub token_key: String,
    /// True when the token has expired. Then it only repeats the answer to a lead that was sent.
    pub is_expired: bool,
}

impl PersonAgreement {
    /// Returns the refusal for a person who has not agreed.
    #[must_use]
    pub fn declined() -> AapRefusal {
        let message = "the person has not agreed; nothing was sent";
        AapRefusal::from_reason(AapCode::ContactConsentRequired, message, "declined")
    }

    /// Returns the refusal for an agreement that comes too late.
    #[must_use]
    pub fn expired() -> AapRefusal {
        let message = "the confirmation has expired; call again without it, and ask the user again";
        AapRefusal::from_reason(AapCode::InvalidConsent, message, "confirmation_expired")
    }

    /// Stores that the person has refused. Nothing is sent for this token from then on; what was sent before stays.
    ///
    /// # Errors
    /// When the store fails.
    pub fn refuse(
        &self,
        store: &dyn LeadStore,
        dealer: &DealerSettings,
        now: Timestamp,
    ) -> Result<(), InternalError> {
        // An expired token sends nothing anyway.
        if self.is_expired {
            return Ok(());
        }
        let payload_hash = Sha256::digest(&self.subject).to_vec();
        let reply = StoredReply { payload_hash, reply: REFUSED.to_owned(), first_seen_at: now };
        store.store_reply(&self.claim(dealer, &[SCOPE.to_owned()], now), &reply)
    }

    fn claim<'a>(
        &'a self,
        dealer: &'a DealerSettings,
        scopes: &'a [String],
        now: Timestamp,
    ) -> ScopedKey<'a> {
        let since = before(now, dealer.leads.idempotency_lifetime);
        ScopedKey { dealer_id: &dealer.id, scopes, key: &self.token_key, since }
    }
}

impl LeadSubmission<'_> {
    /// Returns the text by which a repeated request is recognised.
    pub(super) fn request_text(&self) -> String {
        match self.agreed {
            Some(agreed) => agreed.subject.clone(),
            None => self.lead.canonical_payload(),
        }
    }

    /// Returns the refusal of a lead whose agreement does not hold, after a repeated request has been answered.
    pub(super) fn check_agreement(
        &self,
        store: &dyn LeadStore,
    ) -> Result<Option<AapRefusal>, InternalError> {
        let Some(agreement) = self.agreed else { return Ok(None) };
        if agreement.is_expired {
            return Ok(Some(PersonAgreement::expired()));
        }
        let scopes = [SCOPE.to_owned()];
        let refused = store.claimed_replies(&agreement.claim(self.dealer, &scopes, self.now))?;
        Ok((!refused.is_empty()).then(PersonAgreement::declined))
    }
}
