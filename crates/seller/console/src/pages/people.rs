//! Pages of staff members, their sessions and the audit log.

use std::collections::BTreeSet;

use askama::Template;
use tradepost_admin::audit::{PageRecord, RecordRefusal, page_record};
use tradepost_dealer::consent::hex;
use tradepost_dealer::staff::{AuditAction, AuditEntry, EVERYBODY, readable_detail};

use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageError, PageFrame, ShownMoment, StaffPermission,
    Visitor, link, role_name,
};

/// Number of entries on a page.
const PAGE_SIZE: u32 = 100;

#[derive(Debug, Template)]
#[template(path = "people.html")]
struct People {
    frame: PageFrame,
    sessions: Vec<PersonRow>,
    members: Vec<MemberRow>,
    decides: bool,
}

/// A staff member.
#[derive(Debug)]
struct MemberRow {
    name: String,
    role: &'static str,
    dealer: String,
    second_factor: &'static str,
    /// True when the visitor can reset the second factor.
    can_reset: bool,
}

#[derive(Debug)]
struct PersonRow {
    id: String,
    name: String,
    browser: String,
    begun: ShownMoment,
    seen: ShownMoment,
    is_this: bool,
}

#[derive(Debug, Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: PageFrame,
    chains: Vec<ChainTab>,
    entries: Vec<AuditLine>,
    head: Option<String>,
    earlier: Option<String>,
}

/// A chain of the audit log for selection.
#[derive(Debug)]
struct ChainTab {
    href: String,
    name: String,
    is_here: bool,
}

#[derive(Debug)]
struct AuditLine {
    seq: i64,
    when: ShownMoment,
    actor: String,
    action: &'static str,
    subject: Option<(String, Option<String>)>,
    detail: Option<String>,
}

impl Console {
    pub(crate) fn people(&self, visitor: &Visitor<'_>) -> Answer {
        let decides = StaffPermission::Decide.is_of(visitor.member.role);
        let here = self.local(&self.dealers(visitor));
        let sessions = self.store.sessions(visitor.dealer_id(), here.now)?;
        // Others only see their own sessions, to end one on another device.
        let shown = sessions
            .into_iter()
            .filter(|(session, _)| decides || session.name == visitor.member.name);
        let members = if decides { self.store.members(visitor.dealer_id())? } else { Vec::new() };
        let with_factor = if decides { self.store.second_factor_names()? } else { BTreeSet::new() };
        let actor = visitor.actor();
        let page = People {
            frame: self.frame(visitor, "People")?,
            sessions: shown
                .map(|(session, _)| PersonRow {
                    is_this: session.id == visitor.session.id,
                    id: session.id,
                    name: session.name,
                    browser: browser(&session.browser).to_owned(),
                    begun: here.when(session.begun_at),
                    seen: here.when(session.seen_at),
                })
                .collect(),
            members: members
                .into_iter()
                .map(|member| {
                    let has_factor = with_factor.contains(&member.name);
                    let is_own = actor.manages(&member);
                    MemberRow {
                        can_reset: has_factor && is_own && member.name != visitor.member.name,
                        second_factor: match (member.password.is_empty(), has_factor) {
                            (true, _) => "at the provider",
                            (false, true) => "on",
                            (false, false) => "off",
                        },
                        name: member.name,
                        role: role_name(member.role),
                        dealer: member.dealer_id.unwrap_or_else(|| "all dealers".to_owned()),
                    }
                })
                .collect(),
            decides,
        };
        Ok(ConsoleReply::page(&page))
    }

    pub(crate) fn audit(&self, visitor: &Visitor<'_>) -> Answer {
        let dealers = self.dealers(visitor);
        let here = self.local(&dealers);
        let terms = dealers.iter().map(|seller| &seller.dealer.terms);
        let mut chains: Vec<_> =
            terms.map(|terms| (terms.id.clone(), terms.name.clone())).collect();
        // The record of a publisher has the publisher's id.
        if let Some(own) = visitor.dealer_id().filter(|_| visitor.member.role.is_of_publisher()) {
            chains.push((own.to_owned(), own.to_owned()));
        }
        if visitor.dealer_id().is_none() {
            chains.push((EVERYBODY.to_owned(), "All dealers".to_owned()));
        }
        let wanted = visitor.asked.asked_for("of");
        let first = chains.first().map(|(id, _)| id.as_str());
        let chain = wanted.or(first).unwrap_or_default().to_owned();
        let now = self.clock.now();
        let summed = self.store.write_blocking(move |tx| tx.sum_up_failures(now));
        match summed {
            Ok(()) => {}
            // The record can be read while the store cannot be written; the sums are written later.
            Err(fault) if fault.is_transient() => {
                tracing::warn!(cause = %fault.chain(), "failures could not be summed up for the audit page");
            }
            Err(fault) => return Err(fault.into()),
        }
        let before = visitor.asked.asked_for("before").and_then(|text| text.parse().ok());
        let input = PageRecord { chain: chain.clone(), before, limit: PAGE_SIZE };
        let scopes = crate::dealer_scopes(&dealers);
        let entries = page_record(&self.admin(&scopes), &visitor.actor(), input);
        let entries = entries.map_err(|error| {
            PageError::from_admin(error, |refusal| match refusal {
                RecordRefusal::UnknownChain(_) => PageError::NotFound,
            })
        })?;
        let last = entries.last().map(|entry| entry.seq).filter(|seq| *seq > 1);
        let address = |id: &str, before: Option<i64>| {
            let before = before.map(|seq| seq.to_string());
            link("audit", [("of", Some(id)), ("before", before.as_deref())])
        };
        let page = AuditPage {
            frame: self.frame(visitor, "Audit")?,
            // Only the first page begins with the last entry, whose hash covers the whole record.
            head: entries.first().filter(|_| before.is_none()).map(|entry| hex(&entry.hash)),
            earlier: last.map(|seq| address(&chain, Some(seq))),
            entries: entries.into_iter().map(|entry| line(entry, &here)).collect(),
            chains: chains
                .into_iter()
                .map(|(id, name)| ChainTab { href: address(&id, None), name, is_here: id == chain })
                .collect(),
        };
        Ok(ConsoleReply::page(&page))
    }
}

fn line(entry: AuditEntry, here: &Local) -> AuditLine {
    let AuditEntry { seq, said, .. } = entry;
    let (action, is_lead) = said_of(said.action);
    // The id of a session means nothing to people.
    let has_subject = !matches!(said.action, AuditAction::SignedIn | AuditAction::SignedOut);
    let subject = said.subject.filter(|_| has_subject).map(|subject| {
        let href = is_lead.then(|| format!("{PATH}/leads/{subject}"));
        (subject, href)
    });
    let detail = said.detail.as_deref().and_then(readable_detail);
    AuditLine { seq, when: here.when(said.at), actor: said.actor, action, subject, detail }
}

/// Describes an action. The second value is true when its subject is a lead.
const fn said_of(action: AuditAction) -> (&'static str, bool) {
    match action {
        AuditAction::SignedIn => ("signed in", false),
        AuditAction::SignedOut => ("signed out", false),
        AuditAction::SessionEnded => ("ended a session of", false),
        AuditAction::LeadSeen => ("viewed", true),
        AuditAction::NoteAdded => ("added a note to", true),
        AuditAction::StageChanged => ("changed the stage of", true),
        AuditAction::LeadAssigned => ("assigned", true),
        AuditAction::NextStepSet => ("set the next step with", true),
        AuditAction::NextStepDone => ("did the next step with", true),
        AuditAction::NextStepRemoved => ("removed the next step with", true),
        AuditAction::LeadResent => ("delivered again", true),
        AuditAction::LeadReleased => ("released", true),
        AuditAction::ConsentRevoked => ("recorded the withdrawn consent of", true),
        AuditAction::LeadErased => ("erased", true),
        AuditAction::AppointmentConfirmed => ("confirmed an appointment of", true),
        AuditAction::AppointmentMoved => ("moved an appointment of", true),
        AuditAction::AppointmentCancelled => ("cancelled an appointment of", true),
        AuditAction::AppointmentNoShow => ("recorded a no-show of", true),
        AuditAction::TimeBlocked => ("blocked a time:", false),
        AuditAction::TimeUnblocked => ("unblocked a time:", false),
        AuditAction::CalendarFeedCreated => ("created the calendar feed", false),
        AuditAction::CalendarFeedRenewed => ("renewed the calendar feed", false),
        AuditAction::CalendarFeedRevoked => ("revoked the calendar feed", false),
        AuditAction::CalendarFeedRead => ("read the calendar feed", false),
        AuditAction::LeadsListed => ("listed leads:", false),
        AuditAction::LeadExported => ("exported", true),
        AuditAction::EvidenceTaken => ("downloaded the evidence of", true),
        AuditAction::LeadDelivered => ("delivered", true),
        AuditAction::AgentProbed => ("probed the agent", false),
        AuditAction::StepTested => ("tested a step of the checklist:", false),
        AuditAction::KeyChanged => ("changed the key of personal data", false),
        AuditAction::KeyForgotten => ("discarded a lost key of personal data:", false),
        AuditAction::RecordExported => ("exported this record", false),
        AuditAction::MemberAdded => ("added the member", false),
        AuditAction::PasswordSet => ("set the password of", false),
        AuditAction::MemberRemoved => ("removed the member", false),
        AuditAction::SignInFailed => ("sign-in failed:", false),
        AuditAction::SignInLocked => ("sign-in temporarily locked:", false),
        AuditAction::AccessRefused => ("was refused", false),
        AuditAction::IdentityConfirmed => ("confirmed the password", false),
        AuditAction::SecondFactorSet => ("switched on the second factor of", false),
        AuditAction::SecondFactorRemoved => ("switched off the second factor of", false),
        AuditAction::SecondFactorReset => ("reset the second factor of", false),
        AuditAction::RecoveryCodesMade => ("created new recovery codes of", false),
        AuditAction::RecoveryCodeUsed => ("used a recovery code of", false),
        AuditAction::Approved => ("approved", false),
        AuditAction::Declined => ("declined", false),
        AuditAction::Paused => ("paused", false),
        AuditAction::Canceled => ("canceled", false),
        AuditAction::Suspended => ("suspended", false),
        AuditAction::Resumed => ("resumed", false),
        AuditAction::Closed => ("closed", false),
        AuditAction::PaymentDemanded => ("demanded payment of", false),
        AuditAction::PaymentSettled => ("recorded the payment of", false),
        AuditAction::RightsGranted => ("granted permissions on", false),
        AuditAction::OrderRetried => ("retried at the ad server", false),
        AuditAction::RightsRevoked => ("revoked permissions on", false),
        AuditAction::InventoryRepaired => ("repaired the inventory books", false),
        AuditAction::DeliveryReported => ("reported the delivery of", false),
        AuditAction::StaffMessagesResent => ("sent messages to the staff again:", false),
        AuditAction::ApiKeyCreated => ("created the API key", false),
        AuditAction::ApiKeyRevoked => ("revoked the API key", false),
        AuditAction::FeedRun => ("ran the feed", false),
        AuditAction::InventoryImported => ("replaced the inventory with the file", false),
        AuditAction::WebhooksRetried => ("retried webhooks:", false),
        AuditAction::DealerAdded => ("added the dealer", false),
        AuditAction::DealerChanged => ("changed the settings of the dealer", false),
        AuditAction::DealerSuspended => ("suspended the dealer", false),
        AuditAction::DealerResumed => ("resumed the dealer", false),
        AuditAction::DealerRemoved => ("removed the dealer", false),
    }
}

/// Returns the name of a browser from its user agent.
fn browser(said: &str) -> &str {
    // In this order, because Edge also names Chrome, and both name Safari.
    let known =
        [("Edg/", "Edge"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari")];
    let found = known.iter().find(|(sign, _)| said.contains(sign)).map(|(_, name)| *name);
    found.unwrap_or(if said.is_empty() { "unknown browser" } else { said })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_of_repaired_inventory_is_no_lead() {
        let (_, is_lead) = said_of(AuditAction::InventoryRepaired);
        assert!(!is_lead);
    }
}
