//! Actions on leads. Each action and its audit entry are one transaction, and leads change state only by
//! the transitions of the store.

use tradepost_dealer::consent::hex;
use tradepost_dealer::delivery::NewDelivery;
use tradepost_dealer::record::{LeadHistory, LeadRecord, LeadState};
use tradepost_dealer::staff::{AuditAction, LeadNote, NewAuditEntry, StaffStage};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_server::fault::InternalError;
use tradepost_store::StoreTransaction;

use super::reply::ConsoleReply;
use super::request::ConsoleRequest;
use super::sign_in::Visitor;
use super::{Answer, Console, PATH, PageError};
use crate::evidence;

/// Maximum length of a note in characters.
const NOTE: usize = 4_000;

/// Messages after an action. The names appear in URLs, the texts on pages.
const DONE: &[(&str, &str)] = &[
    ("note", "Your note is saved."),
    ("stage", "The stage is changed."),
    ("resent", "The lead is being delivered again."),
    ("released", "The lead is released. From now on it is delivered like any other lead."),
    (
        "revoked",
        "The withdrawn consent is recorded. Your staff may no longer contact this customer.",
    ),
    ("erased", "The customer's data of this lead is erased."),
    ("confirmed", "The appointment is confirmed."),
    ("moved", "The appointment is moved."),
    ("cancelled", "The appointment is cancelled. Its time can be booked again."),
    ("missed", "The appointment is marked as a no-show."),
    ("blocked", "The time is blocked and cannot be booked."),
    ("unblocked", "The time is unblocked and can be booked again."),
    ("session", "The session has ended."),
    ("password", "Your password is changed. Your other sessions have ended."),
    ("factor_off", "Your second factor is switched off."),
    ("factor_reset", "The second factor is reset, and this person's sessions have ended."),
    ("probe", "The prober has started. Its report appears here."),
    ("nothing", "Nothing has changed: the change had been made before."),
    ("nowhere", "No configured destination accepts this lead. An engineer can configure one."),
];

/// Returns the message of the action that the URL names.
pub(super) fn done(asked: &ConsoleRequest) -> Option<&'static str> {
    let name = asked.asked_for("done")?;
    DONE.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

impl Console {
    /// Returns the lead in the path. A lead of another dealer is answered as not found.
    pub(super) fn own_lead(&self, visitor: &Visitor<'_>) -> Result<LeadHistory, PageError> {
        let history = self.store.lead_history(visitor.id)?.ok_or(PageError::NotFound)?;
        let is_own = visitor.dealer_id().is_none_or(|own| own == history.lead.dealer_id);
        if is_own { Ok(history) } else { Err(PageError::NotFound) }
    }

    /// Creates an audit entry about a lead.
    pub(super) fn lead_entry(
        &self,
        visitor: &Visitor<'_>,
        lead: &LeadRecord,
        action: AuditAction,
    ) -> NewAuditEntry {
        let subject = Some(lead.lead_id.clone());
        self.entry(&visitor.member, Some(&lead.dealer_id), action, subject)
    }

    /// Performs an action and records it if it was possible; redirects to the lead's page with the result.
    fn act(
        &self,
        entry: NewAuditEntry,
        word: &str,
        mut job: impl FnMut(&StoreTransaction<'_>) -> Result<bool, InternalError> + Send + 'static,
    ) -> Answer {
        let id = entry.subject.clone().unwrap_or_default();
        // Checked inside of the transaction: the lead may have changed since the page was shown.
        let is_done = self.store.write_blocking(move |tx| {
            let is_done = job(tx)?;
            if is_done {
                tx.record(&entry)?;
            }
            Ok(is_done)
        })?;
        if is_done {
            self.deliveries.wake();
        }
        Ok(back(&id, if is_done { word } else { "nothing" }))
    }

    pub(super) fn add_note(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let text =
            visitor.asked.filled_in("text").ok_or(PageError::Unusable("A note needs a text."))?;
        if text.chars().count() > NOTE {
            return Err(PageError::Unusable("A note can have at most 4,000 characters."));
        }
        let entry = self.lead_entry(visitor, &history.lead, AuditAction::NoteAdded);
        let author = visitor.member.name.clone();
        // Browsers send line breaks as CR LF.
        let note = LeadNote { at: entry.at, author, text: Some(text.replace("\r\n", "\n")) };
        let id = visitor.id.to_owned();
        // The store adds the note's hash to the entry.
        let is_done = self.store.write_blocking(move |tx| tx.add_note(&id, &note, &entry))?;
        Ok(back(visitor.id, if is_done { "note" } else { "nothing" }))
    }

    pub(super) fn set_stage(&self, visitor: &Visitor<'_>) -> Answer {
        let lead = self.own_lead(visitor)?;
        let stage = visitor.asked.filled_in("stage").and_then(StaffStage::from_name);
        let stage =
            stage.ok_or(PageError::Unusable("The stage must be new, working, sold or lost."))?;
        let mut entry = self.lead_entry(visitor, &lead.lead, AuditAction::StageChanged);
        entry.detail = Some(stage.name().to_owned());
        let by = visitor.member.name.clone();
        let now = entry.at;
        let lead = lead.lead;
        self.act(entry, "stage", move |tx| tx.set_stage(&lead, stage, &by, now))
    }

    /// Delivers a lead again, to each destination that wants it.
    pub(super) fn resend(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let lead = &history.lead;
        if lead.state != LeadState::Received {
            return Err(PageError::Unusable("Only a lead that is not held back can be delivered."));
        }
        let sellers = self.sellers.all();
        let seller = sellers.iter().find(|seller| seller.dealer.terms.id == lead.dealer_id);
        let deliveries = seller.map(|seller| seller.dealer.deliveries.as_slice());
        // For its latest event, so that its present state is sent.
        let event = history.events.last().map(|event| event.seq).unwrap_or_default();
        let wanted: Vec<_> = deliveries
            .unwrap_or_default()
            .iter()
            .filter(|delivery| delivery.destination.wants(lead))
            .map(|delivery| NewDelivery {
                dealer_id: lead.dealer_id.clone(),
                lead_id: lead.lead_id.clone(),
                destination: delivery.destination.name.clone(),
                event,
            })
            .collect();
        if wanted.is_empty() {
            return Ok(back(visitor.id, "nowhere"));
        }
        let mut entry = self.lead_entry(visitor, &history.lead, AuditAction::LeadResent);
        let names: Vec<_> = wanted.iter().map(|wanted| wanted.destination.as_str()).collect();
        entry.detail = Some(names.join(", "));
        let now = entry.at;
        self.act(entry, "resent", move |tx| tx.deliver_again(&wanted, now).map(|()| true))
    }

    pub(super) fn release(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let entry = self.lead_entry(visitor, &history.lead, AuditAction::LeadReleased);
        let id = visitor.id.to_owned();
        let now = entry.at;
        self.act(entry, "released", move |tx| tx.release_lead(&id, now))
    }

    pub(super) fn revoke(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let entry = self.lead_entry(visitor, &history.lead, AuditAction::ConsentRevoked);
        let id = visitor.id.to_owned();
        let now = entry.at;
        self.act(entry, "revoked", move |tx| tx.revoke_consent(&id, now))
    }

    /// Returns the evidence of a lead's consent as a download, and records its hash before.
    pub(super) fn evidence(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let mut entry = self.lead_entry(visitor, &history.lead, AuditAction::EvidenceTaken);
        let document = evidence::gather(&self.store, visitor.id, &entry.actor, entry.at)?;
        let document = document.ok_or(PageError::NotFound)?;
        entry.detail = Some(hex(&evidence::digest(&document)));
        self.store.record_all(vec![entry])?;
        let name = format!("evidence-{}.html", history.lead.lead_id);
        Ok(ConsoleReply::download(&name, evidence::write(&document)))
    }

    /// Erases a lead, after the person has ticked the confirmation.
    pub(super) fn erase(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        if visitor.asked.filled_in("sure") != Some("yes") {
            return Err(PageError::Unusable("Tick the box to confirm that you are sure."));
        }
        let entry = self.lead_entry(visitor, &history.lead, AuditAction::LeadErased);
        let is_done = self.store.erase_lead(visitor.id.to_owned(), entry)?;
        Ok(back(visitor.id, if is_done { "erased" } else { "nothing" }))
    }
}

fn back(id: &str, done: &str) -> ConsoleReply {
    ConsoleReply::see(format!("{PATH}/leads/{id}?done={done}"))
}
