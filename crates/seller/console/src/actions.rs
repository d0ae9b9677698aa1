//! Handlers of the forms that change leads. The operations themselves are in [`tradepost_admin::leads`]; here forms
//! are read, and refusals become pages.

use tradepost_admin::AdminError;
use tradepost_admin::leads::{
    AddNote, EraseCustomer, LeadChanged, LeadRefusal, LeadResult, ReleaseLead, ResendLead,
    RevokeConsent, TakeEvidence, add_note, erase_customer, find_lead, record_evidence,
    release_lead, resend_lead, revoke_consent,
};
use tradepost_dealer::record::LeadHistory;
use tradepost_runtime::evidence;

use super::reply::ConsoleReply;
use super::request::ConsoleRequest;
use super::sign_in::Visitor;
use super::{Answer, Console, PATH, PageError, dealer_scopes};

/// Messages after an action. The names appear in URLs, the texts on pages.
const DONE: &[(&str, &str)] = &[
    ("note", "Your note is saved."),
    ("stage", "The stage is changed."),
    ("assigned", "The lead has another owner now."),
    ("step", "The next step is set."),
    ("step_done", "The next step is done."),
    ("step_removed", "The next step is removed."),
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
    ("feed_revoked", "The calendar feed is revoked. Its address no longer works."),
    ("approved", "It is approved."),
    (
        "first_approval",
        "Your approval is recorded. Above this amount another approver has to approve it, too.",
    ),
    ("declined", "It is declined. The buyer is told the reason."),
    ("suspended", "It is suspended."),
    ("resumed", "It goes on."),
    ("closed", "The account is closed."),
    ("payment_demanded", "The account spends nothing until it has paid."),
    ("payment_settled", "The account may spend again."),
    ("paused", "The media buy is paused. Its buyer cannot resume it."),
    ("canceled", "The media buy is canceled."),
    ("retried", "The ad server is asked again."),
    ("key_revoked", "The key is revoked."),
    ("session", "The session has ended."),
    ("password", "Your password is changed. Your other sessions have ended."),
    ("factor_off", "Your second factor is switched off."),
    ("factor_reset", "The second factor is reset, and this person's sessions have ended."),
    ("probe", "The prober has started. Its report appears here."),
    ("tested", "The test has started. Its result appears here."),
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
        find_lead(&self.admin(&[]), &visitor.actor(), visitor.id).map_err(refused)
    }

    /// Redirects to the page of a lead after a change.
    pub(super) fn after_change(&self, outcome: LeadResult<LeadChanged>, word: &str) -> Answer {
        let LeadChanged { lead_id, is_changed } = outcome.map_err(refused)?;
        if is_changed {
            self.deliveries.wake();
        }
        Ok(back(&lead_id, if is_changed { word } else { "nothing" }))
    }

    pub(super) fn add_note(&self, visitor: &Visitor<'_>) -> Answer {
        let text = visitor.asked.filled_in("text").unwrap_or_default().to_owned();
        let input = AddNote { lead_id: visitor.id.to_owned(), text };
        self.after_change(add_note(&self.admin(&[]), &visitor.actor(), input), "note")
    }

    /// Delivers a lead again, to each destination that wants it.
    pub(super) fn resend(&self, visitor: &Visitor<'_>) -> Answer {
        let sellers = self.sellers.all();
        let dealers = dealer_scopes(&sellers);
        let input = ResendLead { lead_id: visitor.id.to_owned(), destination: None };
        match resend_lead(&self.admin(&dealers), &visitor.actor(), input) {
            Ok(_) => {
                self.deliveries.wake();
                Ok(back(visitor.id, "resent"))
            }
            // A dealer that is no longer configured has no destinations.
            Err(AdminError::Refused(
                LeadRefusal::NoDestination(_) | LeadRefusal::UnknownDealer(_),
            )) => Ok(back(visitor.id, "nowhere")),
            Err(error) => Err(refused(error)),
        }
    }

    pub(super) fn release(&self, visitor: &Visitor<'_>) -> Answer {
        let input = ReleaseLead { lead_id: visitor.id.to_owned() };
        self.after_change(release_lead(&self.admin(&[]), &visitor.actor(), input), "released")
    }

    pub(super) fn revoke(&self, visitor: &Visitor<'_>) -> Answer {
        let input = RevokeConsent { lead_id: visitor.id.to_owned() };
        self.after_change(revoke_consent(&self.admin(&[]), &visitor.actor(), input), "revoked")
    }

    /// Returns the evidence of a lead's consent as a download, and records its hash before.
    pub(super) fn evidence(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        let lead_id = history.lead.lead_id;
        let context = self.admin(&[]);
        let actor = visitor.actor();
        let document = evidence::gather(&self.store, &lead_id, actor.name(), context.now)?;
        let document = document.ok_or(PageError::NotFound)?;
        let name = format!("evidence-{lead_id}.html");
        let input = TakeEvidence { lead_id, digest: evidence::digest(&document) };
        record_evidence(&context, &actor, input).map_err(refused)?;
        Ok(ConsoleReply::download(&name, evidence::write(&document)))
    }

    /// Erases a lead, after the person has ticked the confirmation.
    pub(super) fn erase(&self, visitor: &Visitor<'_>) -> Answer {
        let history = self.own_lead(visitor)?;
        if visitor.asked.filled_in("sure") != Some("yes") {
            return Err(PageError::Unusable("Tick the box to confirm that you are sure."));
        }
        let input =
            EraseCustomer { lead_ids: vec![history.lead.lead_id], ..EraseCustomer::default() };
        let erased = erase_customer(&self.admin(&[]), &visitor.actor(), input);
        let erased = erased.map_err(refused)?;
        Ok(back(visitor.id, if erased.leads.is_empty() { "nothing" } else { "erased" }))
    }
}

/// Returns the page for an operation on a lead that was not done.
pub(super) fn refused(error: AdminError<LeadRefusal>) -> PageError {
    PageError::from_admin(error, |refusal| match refusal {
        LeadRefusal::NotFound(_) | LeadRefusal::UnknownDealer(_) => PageError::NotFound,
        LeadRefusal::OwnedBy(_) => PageError::Conflict(refusal_text(&refusal)),
        LeadRefusal::EmptyNote
        | LeadRefusal::LongNote
        | LeadRefusal::NotDeliverable(_)
        | LeadRefusal::NoDestination(_)
        | LeadRefusal::UnknownDestination(_)
        | LeadRefusal::NoLostReason
        | LeadRefusal::ReasonWithoutLost
        | LeadRefusal::NotOpen(_)
        | LeadRefusal::UnknownOwner(_)
        | LeadRefusal::PastStep
        | LeadRefusal::TooManyLeads => PageError::Unusable(fixed_text(&refusal)),
    })
}

/// Returns why an operation on a lead was not done.
pub(super) fn refusal_text(refusal: &LeadRefusal) -> String {
    let LeadRefusal::OwnedBy(owner) = refusal else { return fixed_text(refusal).to_owned() };
    match owner {
        Some(owner) => {
            format!("{owner} has this lead now. Speak to {owner}, or open the lead and assign it again.")
        }
        None => {
            "Nobody has this lead now: it was taken from its owner. Open the lead and assign it again."
                .to_owned()
        }
    }
}

/// Returns the text of a refusal that is the same for all leads and members.
const fn fixed_text(refusal: &LeadRefusal) -> &'static str {
    match refusal {
        LeadRefusal::NotFound(_) | LeadRefusal::UnknownDealer(_) => {
            "The lead does not exist, or it belongs to another dealer."
        }
        LeadRefusal::EmptyNote => "A note needs a text.",
        LeadRefusal::LongNote => "A note can have at most 4,000 characters.",
        LeadRefusal::NotDeliverable(_) => "Only a lead that is not held back can be delivered.",
        LeadRefusal::NoDestination(_) | LeadRefusal::UnknownDestination(_) => {
            "No configured destination accepts this lead."
        }
        LeadRefusal::NoLostReason => "Choose the reason for which the lead is lost.",
        LeadRefusal::ReasonWithoutLost => "Only a lost lead has a reason.",
        LeadRefusal::NotOpen(_) => {
            "The customer of this lead may not be contacted, so nothing is to be done with it."
        }
        LeadRefusal::OwnedBy(_) => "Another person has this lead now.",
        LeadRefusal::UnknownOwner(_) => {
            "The dealer has nobody of this name at its sales desk or among its managers."
        }
        LeadRefusal::PastStep => "The time of the next step has passed. Enter a time to come.",
        LeadRefusal::TooManyLeads => "At most 10,000 leads can be changed at once.",
    }
}

pub(super) fn back(id: &str, done: &str) -> ConsoleReply {
    ConsoleReply::see(format!("{PATH}/leads/{id}?done={done}"))
}
