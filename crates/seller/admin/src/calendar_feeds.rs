//! Calendar feeds: secret addresses at which calendar programs read the calendar of a rooftop.

use jiff::tz::TimeZone;
use tradepost_dealer::calendar::CalendarFeed;
use tradepost_dealer::consent::Sha256Hash;
use tradepost_dealer::staff::{AuditAction, CALENDAR_FEED, NewAuditEntry};
use tradepost_document::fault::InternalError;
use tradepost_store::TransactionError;

use crate::actor::Actor;
use crate::appointments::find_rooftop;
use crate::context::{AdminContext, AdminError};
use crate::operation::AdminOperation;

/// Refusal of an operation on calendar feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarFeedRefusal {
    /// The configuration has no rooftop of this name, or it is another dealer's.
    UnknownRooftop,
    /// The rooftop has a feed, and its address was not to be renewed.
    Exists,
    /// The rooftop has no feed, or it is another dealer's.
    NoFeed,
}

impl From<CalendarFeedRefusal> for AdminError<CalendarFeedRefusal> {
    fn from(refusal: CalendarFeedRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Result of an operation on calendar feeds.
pub type CalendarFeedResult<T> = Result<T, AdminError<CalendarFeedRefusal>>;

/// Calendar feed to create.
#[derive(Debug, Clone)]
pub struct CreateCalendarFeed {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the rooftop, in any case.
    pub rooftop: String,
    /// Hash of the secret in the address. The secret itself is not stored.
    pub hash: Sha256Hash,
    /// True when the new address replaces that of an existing feed.
    pub renew: bool,
}

/// A calendar feed that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedCalendarFeed {
    /// The feed.
    pub feed: CalendarFeed,
    /// True when the rooftop had a feed, whose address is not answered any more.
    pub is_renewed: bool,
}

/// Creates the calendar feed of a rooftop, or gives it a new address.
///
/// # Errors
/// Fails when the actor lacks the permission, the feed is refused, or the store fails.
pub fn create_calendar_feed(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: CreateCalendarFeed,
) -> CalendarFeedResult<CreatedCalendarFeed> {
    context.permit(actor, AdminOperation::CreateCalendarFeed)?;
    let CreateCalendarFeed { dealer_id, rooftop, hash, renew } = input;
    let dealers = context.dealers.iter().map(|dealer| dealer.settings);
    let found = find_rooftop(dealers, &dealer_id, &rooftop);
    let found = found.filter(|_| actor.sees_dealer(&dealer_id));
    let rooftop = found.ok_or(CalendarFeedRefusal::UnknownRooftop)?;
    let feed = CalendarFeed {
        feed_id: format!("calfeed_{}", uuid::Uuid::now_v7().simple()),
        dealer_id,
        rooftop: rooftop.profile.name.clone(),
        hash,
        created_at: context.now,
        created_by: actor.name().to_owned(),
        revoked_at: None,
        last_used_on: None,
    };
    let now = context.now;
    let action = AuditAction::CalendarFeedCreated;
    let mut entry = context.entry(actor, &feed.dealer_id, action, Some(&feed.feed_id));
    entry.detail = Some(feed.rooftop.clone());
    let created = context.store.decide(move |tx| {
        let earlier = tx.active_calendar_feed(&feed.dealer_id, &feed.rooftop)?;
        let is_renewed = earlier.is_some();
        if is_renewed && !renew {
            return Err(TransactionError::Refused(CalendarFeedRefusal::Exists));
        }
        if let Some(earlier) = earlier {
            tx.revoke_calendar_feed(&earlier.feed_id, now)?;
        }
        tx.add_calendar_feed(&feed)?;
        let action = match is_renewed {
            true => AuditAction::CalendarFeedRenewed,
            false => AuditAction::CalendarFeedCreated,
        };
        tx.record(&NewAuditEntry { action, ..entry.clone() })?;
        Ok(CreatedCalendarFeed { feed: feed.clone(), is_renewed })
    })?;
    Ok(created)
}

/// Selection of calendar feeds.
#[derive(Debug, Clone, Default)]
pub struct ListCalendarFeeds {
    /// Id of the dealer; those of all dealers that the actor sees when `None`.
    pub dealer_id: Option<String>,
}

/// Returns calendar feeds, also revoked ones, the newest last.
///
/// # Errors
/// Fails when the actor lacks the permission, or the store fails.
pub fn list_calendar_feeds(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: ListCalendarFeeds,
) -> CalendarFeedResult<Vec<CalendarFeed>> {
    context.permit(actor, AdminOperation::ListCalendarFeeds)?;
    let mut feeds = context.store.calendar_feeds(input.dealer_id.as_deref())?;
    feeds.retain(|feed| actor.sees_dealer(&feed.dealer_id));
    Ok(feeds)
}

/// Calendar feed to revoke. Its rooftop need not be configured any more.
#[derive(Debug, Clone)]
pub struct RevokeCalendarFeed {
    /// Id of the dealer.
    pub dealer_id: String,
    /// Name of the rooftop, in any case.
    pub rooftop: String,
}

/// Revokes the calendar feed of a rooftop: its address is not answered any more. Returns the feed.
///
/// # Errors
/// Fails when the actor lacks the permission, the rooftop has no feed, or the store fails.
pub fn revoke_calendar_feed(
    context: &AdminContext<'_>,
    actor: &Actor,
    input: RevokeCalendarFeed,
) -> CalendarFeedResult<CalendarFeed> {
    context.permit(actor, AdminOperation::RevokeCalendarFeed)?;
    let RevokeCalendarFeed { dealer_id, rooftop } = input;
    if !actor.sees_dealer(&dealer_id) {
        return Err(CalendarFeedRefusal::NoFeed.into());
    }
    let now = context.now;
    let entry = context.entry(actor, &dealer_id, AuditAction::CalendarFeedRevoked, None);
    let revoked = context.store.write_blocking(move |tx| {
        let Some(feed) = tx.active_calendar_feed(&dealer_id, &rooftop)? else { return Ok(None) };
        tx.revoke_calendar_feed(&feed.feed_id, now)?;
        let subject = Some(feed.feed_id.clone());
        let detail = Some(feed.rooftop.clone());
        tx.record(&NewAuditEntry { subject, detail, ..entry.clone() })?;
        Ok(Some(CalendarFeed { revoked_at: Some(now), ..feed }))
    })?;
    Ok(revoked.ok_or(CalendarFeedRefusal::NoFeed)?)
}

/// Records that a calendar program reads a feed, once for each day.
///
/// # Errors
/// When the store fails; then the feed must not be shown.
pub fn record_calendar_feed_use(
    context: &AdminContext<'_>,
    feed: &CalendarFeed,
) -> Result<(), InternalError> {
    let today = context.now.to_zoned(TimeZone::UTC).date();
    if feed.last_used_on.is_some_and(|day| day >= today) {
        return Ok(());
    }
    let feed_id = feed.feed_id.clone();
    let entry = NewAuditEntry {
        chain: feed.dealer_id.clone(),
        at: context.now,
        actor: CALENDAR_FEED.to_owned(),
        action: AuditAction::CalendarFeedRead,
        subject: Some(feed.feed_id.clone()),
        detail: Some(feed.rooftop.clone()),
    };
    context.store.write_blocking(move |tx| {
        if tx.note_calendar_feed_use(&feed_id, today)? {
            tx.record(&entry)?;
        }
        Ok(())
    })
}
