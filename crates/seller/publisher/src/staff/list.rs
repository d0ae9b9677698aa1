//! Lists for the publisher's staff: sold media buys and what preceded them, newest first, in pages.
//! Used by the command line and the console.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use tradepost_adcp::AdcpTaskStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::{DecisionError, StaffView, pace, row};
use crate::account::{self, Account};
use crate::buy::report::Period;
use crate::buy::{self, MediaBuy};
use crate::creative::{self, Creative};
use crate::proposal::{self, Proposal};
use crate::store::{Entity, EntityRecord, Order, Query, Stored};
use crate::task::SubmittedTask;

/// Number of records read from the store at once.
const SLICE: usize = 100;

/// Maximum number of records examined for one page. A filter that few records match gets a short page and
/// a cursor, so that other users of the store do not wait long.
const MOST_LOOKED_AT: usize = 2_000;

/// Statuses that a stored task can have; none of them waits for credentials.
const TASK_STATES: [AdcpTaskStatus; 7] = [
    AdcpTaskStatus::Submitted,
    AdcpTaskStatus::Working,
    AdcpTaskStatus::InputRequired,
    AdcpTaskStatus::Completed,
    AdcpTaskStatus::Failed,
    AdcpTaskStatus::Rejected,
    AdcpTaskStatus::Canceled,
];

tradepost_document::words! {
    /// Subject of a list, by the name of its command.
    pub enum Subject {
        /// Media buys.
        Buys = "buys",
        /// Packages of media buys.
        Packages = "packages",
        /// Creatives of all accounts.
        Creatives = "creatives",
        /// Proposals of media plans.
        Proposals = "proposals",
        /// Accounts of advertisers.
        Accounts = "accounts",
        /// Submitted tasks.
        Tasks = "tasks",
        /// Delivery of media buys.
        Delivery = "delivery",
    }
}

impl Subject {
    /// Returns the name of one item, for messages.
    #[must_use]
    pub const fn singular(self) -> &'static str {
        match self {
            Self::Buys | Self::Delivery => "media buy",
            Self::Packages => "package",
            Self::Creatives => "creative",
            Self::Proposals => "proposal",
            Self::Accounts => "account",
            Self::Tasks => "task",
        }
    }

    /// Returns the states that an item can be in.
    #[must_use]
    pub fn states(self) -> Vec<&'static str> {
        match self {
            Self::Buys | Self::Packages | Self::Delivery => buy::MediaBuyStatus::NAMES.to_vec(),
            Self::Creatives => creative::CreativeStatus::NAMES.to_vec(),
            Self::Proposals => proposal::State::NAMES.to_vec(),
            Self::Accounts => account::AccountStatus::NAMES.to_vec(),
            Self::Tasks => TASK_STATES.iter().map(|state| state.name()).collect(),
        }
    }

    /// Returns true when items can be filtered by product.
    #[must_use]
    pub const fn has_products(self) -> bool {
        match self {
            Self::Buys | Self::Packages | Self::Proposals | Self::Tasks | Self::Delivery => true,
            Self::Creatives | Self::Accounts => false,
        }
    }
}

/// Filter of a list; `None` members do not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only items in this state.
    pub state: Option<String>,
    /// Only items of this account.
    pub account: Option<String>,
    /// Only items of this buyer agent, by its id in the configuration; for a credential that is mapped to
    /// no agent, `principal:` and its name.
    pub agent: Option<String>,
    /// Only items with this product.
    pub product: Option<String>,
    /// Only items created at this moment or later; for delivery, the start of the reported period.
    pub from: Option<Timestamp>,
    /// Only items created before this moment; for delivery, the end of the reported period.
    pub until: Option<Timestamp>,
}

impl Filter {
    /// Returns the problems of the filter with a subject, each as a sentence.
    #[must_use]
    pub fn problems(&self, subject: Subject) -> Vec<String> {
        let mut problems = Vec::new();
        let states = subject.states();
        if let Some(state) = self.state.as_deref().filter(|state| !states.contains(state)) {
            let known = states.join(", ");
            let one = subject.singular();
            problems.push(format!("no {one} is ever {state}; use one of: {known}"));
        }
        if self.product.is_some() && !subject.has_products() {
            problems.push(format!("{subject} are of no product; leave the product out"));
        }
        if let Some(from) = self.from
            && let Some(until) = self.until
            && until <= from
        {
            problems.push("the period ends before it begins".to_owned());
        }
        problems
    }

    /// Returns the period of delivery to report.
    pub(super) fn period(&self) -> Period {
        Period {
            start: self.from.unwrap_or(Timestamp::MIN),
            end: self.until.unwrap_or(Timestamp::MAX),
        }
    }

    fn has_state(&self, state: &str) -> bool {
        self.state.as_ref().is_none_or(|wanted| wanted == state)
    }

    fn has_product<'p>(&self, mut products: impl Iterator<Item = &'p str>) -> bool {
        self.product.as_ref().is_none_or(|wanted| products.any(|product| product == wanted))
    }

    /// Returns true when an item was created in the period.
    fn has_moment(&self, made_at: Timestamp) -> bool {
        self.from.is_none_or(|from| made_at >= from)
            && self.until.is_none_or(|until| made_at < until)
    }

    /// Returns true when the item and all older ones are before the period.
    fn is_before_all(&self, made_at: Timestamp) -> bool {
        self.from.is_some_and(|from| made_at < from)
    }
}

/// Returns the tenant of an agent id as staff write it.
pub(super) fn tenant_named(agent: &str) -> String {
    if agent.starts_with("agent:") || agent.starts_with("principal:") {
        return agent.to_owned();
    }
    format!("agent:{agent}")
}

/// Position of a row in a list, as the cursor of the next page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    created_at: Timestamp,
    /// Number that the store gave the record.
    place: u64,
    /// Index of the package in the media buy; `None` for the whole record.
    package: Option<u32>,
}

impl Cursor {
    /// Returns the position of a record including all its rows.
    fn from_record(record: &EntityRecord) -> Self {
        Self { created_at: record.created_at, place: record.place, package: None }
    }

    /// Returns true when the position comes after another one in the list.
    fn is_behind(self, other: Self) -> bool {
        let is_later_package = match (self.package, other.package) {
            (Some(own), Some(done)) => own > done,
            (Some(_) | None, None) | (None, Some(_)) => false,
        };
        match self.created_at.cmp(&other.created_at).then(self.place.cmp(&other.place)) {
            Ordering::Less => true,
            Ordering::Equal => is_later_package,
            Ordering::Greater => false,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_at.as_microsecond(), self.place)?;
        self.package.map_or(Ok(()), |package| write!(f, ".{package}"))
    }
}

impl FromStr for Cursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let mut parts = text.splitn(3, '.');
            let created_at = Timestamp::from_microsecond(parts.next()?.parse().ok()?).ok()?;
            let place = parts.next()?.parse().ok()?;
            let package = parts.next().map(str::parse).transpose().ok()?;
            Some(Self { created_at, place, package })
        };
        read().ok_or("is no cursor of a list; copy it from a row, or from where the list ended")
    }
}

/// Requested part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Only rows after this cursor.
    pub after: Option<Cursor>,
    /// Maximum number of rows.
    pub limit: usize,
}

/// Row of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Position of the row.
    pub cursor: Cursor,
    /// Content of the row.
    pub document: Value,
}

/// Page of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Listing {
    /// Rows, newest first. They may be fewer than requested although more follow.
    pub rows: Vec<Row>,
    /// Cursor of the next page; `None` at the end.
    pub next: Option<Cursor>,
}

/// Lists a page.
///
/// # Errors
/// The problems of the filter, or an error of the store.
pub fn list(
    view: StaffView<'_>,
    subject: Subject,
    filter: &Filter,
    page: Page,
) -> Result<Listing, DecisionError> {
    let problems = filter.problems(subject);
    if !problems.is_empty() {
        return Err(DecisionError::Invalid(problems));
    }
    let now = view.now;
    let walk = Walk { view, subject, filter, page };
    let listing = match subject {
        Subject::Buys => walk.over(|stored: &Stored<MediaBuy>| {
            let buy = &stored.thing;
            let is_wanted = filter.has_state(buy.status_at(now).name())
                && filter.has_product(row::products(buy));
            Ok(vec![if is_wanted { Some(row::buy(&view, stored)?) } else { None }])
        }),
        Subject::Packages => walk.over(|stored: &Stored<MediaBuy>| {
            let delivery = row::delivered(&view, stored)?;
            let paces = pace::of_packages(&view, stored, &delivery)?;
            let packages = stored.thing.packages.iter().zip(paces).map(|(package, pace)| {
                let is_wanted = filter
                    .has_state(row::package_state(&stored.thing, package, now).name())
                    && filter.has_product(std::iter::once(package.product_id.as_str()));
                is_wanted.then(|| row::paced(row::package(&view, stored, package), pace))
            });
            Ok(packages.collect())
        }),
        Subject::Creatives => walk.over(|stored: &Stored<Creative>| {
            let is_wanted = filter.has_state(stored.thing.status_at(now).name());
            Ok(vec![is_wanted.then(|| row::creative(&view, stored))])
        }),
        Subject::Proposals => walk.over(|stored: &Stored<Proposal>| {
            let proposal = &stored.thing;
            let products = proposal.allocations.iter().map(|part| part.product_id.as_str());
            let is_wanted =
                filter.has_state(proposal.state_at(now).name()) && filter.has_product(products);
            Ok(vec![is_wanted.then(|| row::proposal(&view, stored))])
        }),
        Subject::Accounts => walk.over(|stored: &Stored<Account>| {
            let is_wanted = filter.has_state(stored.thing.status.name());
            Ok(vec![is_wanted.then(|| row::account(&view, stored))])
        }),
        Subject::Tasks => walk.over(|stored: &Stored<SubmittedTask>| {
            if !filter.has_state(stored.thing.status.name()) {
                return Ok(vec![None]);
            }
            let asked = row::asked(&view, &stored.thing)?;
            let is_wanted = filter.has_product(asked.iter().flat_map(row::products));
            Ok(vec![is_wanted.then(|| row::task(&view, stored, asked.as_ref()))])
        }),
        Subject::Delivery => walk.over(|stored: &Stored<MediaBuy>| {
            let buy = &stored.thing;
            let period = filter.period();
            let is_wanted = filter.has_state(buy.status_at(now).name())
                && filter.has_product(row::products(buy))
                && buy.start_time < period.end
                && buy.end_time > period.start;
            Ok(vec![if is_wanted { Some(row::delivery(&view, stored, period)?) } else { None }])
        }),
    };
    Ok(listing?)
}

/// Search through a list.
#[derive(Clone, Copy)]
struct Walk<'a> {
    view: StaffView<'a>,
    subject: Subject,
    filter: &'a Filter,
    page: Page,
}

impl Walk<'_> {
    /// Reads records in batches until the page is full. `rows` returns the rows of a record, with `None` for
    /// each that the filter excludes.
    fn over<T: Entity>(
        &self,
        rows: impl Fn(&Stored<T>) -> Result<Vec<Option<Value>>, InternalError>,
    ) -> Result<Listing, InternalError> {
        let mut listing = Listing::default();
        let mut query = Query { from: self.begin(), ..self.query() };
        let mut looked_at = 0;
        loop {
            let slice = self.view.reader.page::<T>(&query, self.view.now)?;
            for stored in &slice {
                if self.is_by_creation() && self.filter.is_before_all(stored.record.created_at) {
                    return Ok(listing);
                }
                if !self.is_of_period(&stored.record) {
                    continue;
                }
                if !self.take(Cursor::from_record(&stored.record), rows(stored)?, &mut listing) {
                    return Ok(listing);
                }
            }
            // Records of the first moment that precede the page do not count, so that each page makes
            // progress.
            looked_at += slice.iter().filter(|stored| self.is_of_page(&stored.record)).count();
            if slice.len() < query.limit {
                return Ok(listing);
            }
            if looked_at >= MOST_LOOKED_AT {
                listing.next = slice.last().map(|last| Cursor::from_record(&last.record));
                return Ok(listing);
            }
            query.continue_behind(slice.iter().map(|stored| &stored.record));
        }
    }

    /// Adds the matching rows of a record to the page. Returns false when the page is full; the cursor of
    /// the next page is then set.
    fn take(&self, thing: Cursor, rows: Vec<Option<Value>>, listing: &mut Listing) -> bool {
        let is_single = rows.len() == 1;
        for (index, document) in (0_u32..).zip(rows) {
            let package = if is_single { None } else { Some(index) };
            let cursor = Cursor { package, ..thing };
            let is_behind = self.page.after.is_none_or(|after| cursor.is_behind(after));
            let Some(document) = document.filter(|_| is_behind) else { continue };
            if listing.rows.len() == self.page.limit {
                listing.next = listing.rows.last().map(|last| last.cursor).or(self.page.after);
                return false;
            }
            listing.rows.push(Row { cursor, document });
        }
        true
    }

    /// Returns true when a record comes after the previous page.
    fn is_of_page(&self, record: &EntityRecord) -> bool {
        self.page.after.is_none_or(|after| Cursor::from_record(record).is_behind(after))
    }

    /// Returns true when the period filters by creation time.
    fn is_by_creation(&self) -> bool {
        self.subject != Subject::Delivery
    }

    fn is_of_period(&self, record: &EntityRecord) -> bool {
        !self.is_by_creation() || self.filter.has_moment(record.created_at)
    }

    fn query(&self) -> Query {
        Query {
            owner: self.filter.agent.as_deref().map(tenant_named),
            account: self.filter.account.clone(),
            states: self.states(),
            order: Order::Newest,
            limit: SLICE,
            ..Query::default()
        }
    }

    /// Returns the stored states that can contain the wanted one; empty for all.
    fn states(&self) -> Vec<String> {
        let Some(state) = self.filter.state.as_deref() else { return Vec::new() };
        let known: &[&str] = match (self.subject, state) {
            // A package can be canceled or paused independently of its media buy.
            (Subject::Packages, "canceled") => &[],
            (Subject::Packages, "paused") => &["active", "paused"],
            // Expiry and purchase of a proposal are not stored as states.
            (Subject::Proposals, "expired" | "bought") => &[],
            (
                Subject::Buys
                | Subject::Packages
                | Subject::Creatives
                | Subject::Proposals
                | Subject::Accounts
                | Subject::Tasks
                | Subject::Delivery,
                state,
            ) => &[state],
        };
        known.iter().map(|state| (*state).to_owned()).collect()
    }

    /// Returns the creation time at which the page starts; `None` for the start of the list. Rows of that moment that
    /// precede the page are excluded by their cursors.
    fn begin(&self) -> Option<Timestamp> {
        let after = self.page.after.map(|after| after.created_at);
        let until = self.filter.until.filter(|_| self.is_by_creation());
        after.into_iter().chain(until).min()
    }
}
