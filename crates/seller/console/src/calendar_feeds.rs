//! Calendar feeds: the answer to calendar programs, which have no session, and the forms by which a manager creates and
//! revokes a feed.

use subtle::ConstantTimeEq as _;
use tradepost_admin::calendar_feeds::{
    CalendarFeedRefusal, CreateCalendarFeed, RevokeCalendarFeed, create_calendar_feed,
    record_calendar_feed_use, revoke_calendar_feed,
};
use tradepost_dealer::calendar::CalendarFeed;
use tradepost_runtime::calendar_feed::{FeedOf, FeedSecret, hash_in_segment};
use tradepost_server::fault::InternalError;

use super::calendar_place::CalendarPlace;
use super::pages::appointments::FeedPage;
use super::reply::ConsoleReply;
use super::request::ConsoleRequest;
use super::sign_in::Visitor;
use super::{Answer, Console, PATH, PageError, dealer_scopes};

/// Text of the answer after too many unknown addresses.
const TOO_OFTEN: &str = "too many unknown addresses; try again later\n";

impl Console {
    /// Answers a calendar program. A wrong, a renewed and a revoked secret, and one whose rooftop is not configured any
    /// more, are answered alike.
    pub(super) fn calendar_feed(&self, asked: &ConsoleRequest, segment: &str) -> Answer {
        let wait = self.feed_wait(asked);
        if wait.is_positive() {
            let reply = ConsoleReply::new("text/plain; charset=utf-8", TOO_OFTEN.to_owned());
            return Ok(reply.limited(wait));
        }
        let Some(feed) = self.feed_with_secret(segment)? else {
            self.count_unknown_feed(asked)?;
            return Err(PageError::NotFound);
        };
        let sellers = self.sellers.all();
        let dealer = sellers.iter().find(|seller| seller.dealer.terms.id == feed.dealer_id);
        let rooftops = dealer.map(|seller| seller.dealer.terms.rooftops.as_slice());
        let rooftop = rooftops.unwrap_or_default().iter().find(|one| one.is_named(&feed.rooftop));
        let rooftop = rooftop.ok_or(PageError::NotFound)?;
        let context = self.admin(&[]);
        record_calendar_feed_use(&context, &feed)?;
        let console = format!("{}{PATH}", self.base);
        let of = FeedOf { dealer_id: &feed.dealer_id, rooftop, console: &console };
        let text = of.write(&self.store, context.now)?;
        Ok(ConsoleReply::calendar(text, asked.if_none_match.as_deref()))
    }

    fn feed_with_secret(&self, segment: &str) -> Result<Option<CalendarFeed>, InternalError> {
        let Some(hash) = hash_in_segment(segment) else { return Ok(None) };
        let found = self.store.calendar_feed(&hash)?;
        // The database found it by an index, whose comparison takes as long as its bytes are equal.
        Ok(found.filter(|feed| bool::from(feed.hash.ct_eq(&hash))))
    }

    /// Creates the feed of a rooftop or renews its address, and shows the address once.
    pub(super) fn create_calendar_feed(&self, visitor: &Visitor<'_>) -> Answer {
        let fresh = FeedSecret::generate()?;
        let sellers = self.sellers.all();
        let dealers = dealer_scopes(&sellers);
        let rooftop = named_rooftop(visitor)?;
        let input = CreateCalendarFeed {
            dealer_id: rooftop.dealer_id,
            rooftop: rooftop.name,
            hash: fresh.hash,
            renew: visitor.asked.filled_in("renew") == Some("yes"),
        };
        let created = create_calendar_feed(&self.admin(&dealers), &visitor.actor(), input);
        let created = created.map_err(|error| PageError::from_admin(error, stop))?;
        let page = FeedPage {
            frame: self.frame(visitor, "Calendar feed")?,
            rooftop: created.feed.rooftop,
            address: format!("{}{PATH}/{}", self.base, fresh.path),
            is_renewed: created.is_renewed,
            back: CalendarPlace::from_form(visitor.asked).unwrap_or_default().address(None),
        };
        Ok(ConsoleReply::page(&page))
    }

    pub(super) fn revoke_calendar_feed(&self, visitor: &Visitor<'_>) -> Answer {
        let rooftop = named_rooftop(visitor)?;
        let input = RevokeCalendarFeed { dealer_id: rooftop.dealer_id, rooftop: rooftop.name };
        let revoked = revoke_calendar_feed(&self.admin(&[]), &visitor.actor(), input);
        revoked.map_err(|error| PageError::from_admin(error, stop))?;
        let place = CalendarPlace::from_form(visitor.asked).unwrap_or_default();
        Ok(ConsoleReply::see(place.address(Some("feed_revoked"))))
    }
}

/// The rooftop that a form names.
struct NamedRooftop {
    dealer_id: String,
    name: String,
}

fn named_rooftop(visitor: &Visitor<'_>) -> Result<NamedRooftop, PageError> {
    let needed = |name: &str, why| {
        visitor.asked.filled_in(name).map(str::to_owned).ok_or(PageError::Unusable(why))
    };
    Ok(NamedRooftop {
        dealer_id: needed("dealer", "Choose a dealer.")?,
        name: needed("rooftop", "Choose a rooftop.")?,
    })
}

/// Returns the page for a refusal.
fn stop(refusal: CalendarFeedRefusal) -> PageError {
    match refusal {
        CalendarFeedRefusal::UnknownRooftop | CalendarFeedRefusal::NoFeed => PageError::NotFound,
        CalendarFeedRefusal::Exists => PageError::Conflict(
            "This rooftop has a calendar feed already. Renew its address, or revoke it.".to_owned(),
        ),
    }
}
