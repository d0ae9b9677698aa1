//! Calendar feeds: the secret addresses, and the calendar of a rooftop as calendar programs read it.
//!
//! Whoever knows an address reads the feed, and calendar services store it for longer than we do. So a
//! feed has no contacts, no messages and no text that a customer wrote; a first name only where the
//! dealer's setting `calendar_feed` says so, and as long as the dealer may use it.

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::calendar::{BlockedTime, CalendarFeedDetail, Visit};
use tradepost_dealer::consent::Sha256Hash;
use tradepost_dealer::record::LeadState;
use tradepost_dealer::settings::RooftopSettings;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_store::Store;

use crate::icalendar::{self, CalendarEvent, CalendarSource, EventStatus};
use crate::random::token;

/// Number of past days in a feed.
const PAST_DAYS: i64 = 30;

/// End of the path of a feed. Calendar programs recognise it.
const PATH_SUFFIX: &str = ".ics";

/// The secret of a new feed, which is shown once.
#[derive(Debug)]
pub struct FeedSecret {
    /// Path of the feed below the console's, with the secret.
    pub path: String,
    /// Hash to be stored.
    pub hash: Sha256Hash,
}

impl FeedSecret {
    /// Generates a secret of 256 bits.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn generate() -> Result<Self, InternalError> {
        let secret = token()?;
        Ok(Self { path: format!("calendar/{secret}{PATH_SUFFIX}"), hash: hash(&secret) })
    }
}

/// Returns the hash by which the store knows the secret in the last segment of a path; `None` when it
/// is no such segment.
#[must_use]
pub fn hash_in_segment(segment: &str) -> Option<Sha256Hash> {
    segment.strip_suffix(PATH_SUFFIX).map(hash)
}

fn hash(secret: &str) -> Sha256Hash {
    let mut hasher = Sha256::new();
    hasher.update("tradepost calendar feed\n");
    hasher.update(secret);
    hasher.finalize().into()
}

/// A rooftop whose calendar is written.
#[derive(Debug, Clone, Copy)]
pub struct FeedOf<'a> {
    /// Id of the dealer.
    pub dealer_id: &'a str,
    /// The rooftop.
    pub rooftop: &'a RooftopSettings,
    /// Address of the console, for links to leads.
    pub console: &'a str,
}

impl FeedOf<'_> {
    /// Reads and writes the calendar, from the last weeks on. It is the same as long as nothing has
    /// changed.
    ///
    /// # Errors
    /// When the store fails.
    pub fn write(&self, store: &Store, now: Timestamp) -> Result<String, InternalError> {
        let back = SignedDuration::from_hours(24 * PAST_DAYS);
        let from = now.saturating_sub(back).unwrap_or(Timestamp::MIN);
        let calendar = store.calendar(Some(self.dealer_id), from, Timestamp::MAX)?;
        let waiting = store.waiting_visits(Some(self.dealer_id))?;
        let settled = store.settled_visits_between(self.dealer_id, from, Timestamp::MAX)?;
        let visits = calendar.visits.iter().chain(&waiting).chain(&settled);
        let here = visits.filter(|visit| {
            visit.rooftop.as_deref().is_some_and(|name| self.rooftop.is_named(name))
        });
        let blocks = calendar.blocks.iter().filter(|block| self.rooftop.is_named(&block.rooftop));
        let mut events: Vec<CalendarEvent> = here.filter_map(|visit| self.visit(visit)).collect();
        events.extend(blocks.map(|block| self.block(block)));
        events.sort_by(|one, other| (one.starts_at, &one.id).cmp(&(other.starts_at, &other.id)));
        let source = CalendarSource::Feed {
            name: &self.rooftop.profile.name,
            time_zone: self.rooftop.time_zone.iana_name(),
        };
        Ok(icalendar::write(source, &events))
    }

    /// Returns the event of an appointment; `None` when no time was named.
    fn visit(&self, visit: &Visit) -> Option<CalendarEvent> {
        let appointment = &visit.appointment;
        let lead = &visit.lead;
        let starts_at = appointment.starts_at.or(appointment.requested_at)?;
        let state = appointment.state.name().replace('_', " ");
        let mut lines = vec![format!("State: {state}")];
        lines.extend(visit.remark().map(str::to_owned));
        Some(CalendarEvent {
            id: appointment.appointment_id.clone(),
            sequence: appointment.version - 1,
            // The time of the last change and not the present one, so that the text stays the same.
            stamp: lead.changed_at,
            modified_at: Some(lead.changed_at),
            starts_at,
            ends_at: appointment.ends_at,
            status: EventStatus::from_visit(visit),
            is_busy: appointment.state.occupies(),
            summary: self.summary(visit),
            location: self.rooftop.profile.name.clone(),
            description: lines.join("\n"),
            url: Some(format!("{}/leads/{}", self.console, lead.lead_id)),
        })
    }

    fn summary(&self, visit: &Visit) -> String {
        let view = LeadView::new(&visit.lead);
        let detail = self.rooftop.appointments.calendar_feed;
        let may_name = match visit.lead.state {
            LeadState::Received => true,
            LeadState::Held | LeadState::Revoked | LeadState::Erased => false,
        };
        let name = match detail {
            CalendarFeedDetail::FirstName if may_name => view.text("/customer/first_name"),
            CalendarFeedDetail::FirstName
            | CalendarFeedDetail::Vehicle
            | CalendarFeedDetail::Time => None,
        };
        let vehicle = match detail {
            // Of the listing alone: what a caller sends may name the customer.
            CalendarFeedDetail::Vehicle | CalendarFeedDetail::FirstName => view.listed(),
            CalendarFeedDetail::Time => None,
        };
        let known = [name.map(str::to_owned), vehicle.map(|vehicle| vehicle.title())];
        let known: Vec<String> =
            known.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
        let kind = visit.appointment.kind.name().replace('_', " ");
        if known.is_empty() { kind } else { format!("{kind}: {}", known.join(", ")) }
    }

    fn block(&self, block: &BlockedTime) -> CalendarEvent {
        let reason = match self.rooftop.appointments.calendar_feed {
            CalendarFeedDetail::Time => String::new(),
            CalendarFeedDetail::Vehicle | CalendarFeedDetail::FirstName => {
                format!(": {}", block.reason)
            }
        };
        let places = match block.places {
            Some(1) => "1 place".to_owned(),
            Some(places) => format!("{places} places"),
            None => "all places".to_owned(),
        };
        CalendarEvent {
            id: block.block_id.clone(),
            sequence: 0,
            stamp: block.created_at,
            modified_at: Some(block.created_at),
            starts_at: block.starts_at,
            ends_at: Some(block.ends_at),
            status: EventStatus::Confirmed,
            is_busy: true,
            summary: format!("Blocked ({}){reason}", block.department),
            location: self.rooftop.profile.name.clone(),
            description: places,
            url: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_long_and_known_by_its_hash_alone() {
        let one = FeedSecret::generate().unwrap();
        let other = FeedSecret::generate().unwrap();
        let segment = one.path.strip_prefix("calendar/").unwrap();
        assert_eq!(segment.len(), 43 + PATH_SUFFIX.len());
        assert_eq!(hash_in_segment(segment), Some(one.hash));
        assert_ne!(one.hash, other.hash);
        assert_eq!(hash_in_segment("calendar"), None);
    }
}
