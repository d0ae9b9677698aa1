//! What waits for a person of the publisher: media buys, creatives and accounts, the oldest first, in pages.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use tradepost_adcp::AdcpTaskStatus;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use super::{StaffView, row};
use crate::account::{Account, AccountStatus};
use crate::creative::{Creative, CreativeStatus};
use crate::decision::DecisionSubject;
use crate::store::{Entity, EntityRecord, Order, Query, Stored};
use crate::task::SubmittedTask;

/// Number of records read from the store at once.
const SLICE: usize = 100;

/// Maximum number of records of a kind that are examined for one page, so that other users of the store do not
/// wait long. Those that are not on the list end by themselves, after a time that the catalogue sets.
const MOST_LOOKED_AT: usize = 2_000;

/// Position in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct WaitingCursor {
    created_at: Timestamp,
    /// Number that the store gave the record, unique over all kinds.
    place: u64,
}

impl WaitingCursor {
    fn from_record(record: &EntityRecord) -> Self {
        Self { created_at: record.created_at, place: record.place }
    }
}

impl fmt::Display for WaitingCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.created_at.as_microsecond(), self.place)
    }
}

impl FromStr for WaitingCursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = || {
            let (created_at, place) = text.split_once('.')?;
            let created_at = Timestamp::from_microsecond(created_at.parse().ok()?).ok()?;
            Some(Self { created_at, place: place.parse().ok()? })
        };
        read().ok_or("is no cursor of this list")
    }
}

/// Something that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingItem {
    /// Position in the list.
    pub cursor: WaitingCursor,
    /// Kind of the subject.
    pub matter: DecisionSubject,
    /// Time of its creation.
    pub since: Timestamp,
    /// Row of the subject, as in its own list.
    pub document: Value,
}

/// Page of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WaitingPage {
    /// Items, the oldest first.
    pub items: Vec<WaitingItem>,
    /// Cursor of the next page; `None` at the end.
    pub next: Option<WaitingCursor>,
}

/// Returns what waits for a person behind a position, up to `limit` items.
///
/// # Errors
/// When the store fails.
pub fn waiting(
    view: StaffView<'_>,
    after: Option<WaitingCursor>,
    limit: usize,
) -> Result<WaitingPage, InternalError> {
    let walk = Walk { view, after, limit };
    let tasks = walk.over::<SubmittedTask>(
        DecisionSubject::Task,
        AdcpTaskStatus::Submitted.name(),
        |stored| waits_for_person(&stored.thing),
        |stored| {
            let asked = row::asked(&view, &stored.thing)?;
            Ok(row::task(&view, stored, asked.as_ref()))
        },
    )?;
    let creatives = walk.over::<Creative>(
        DecisionSubject::Creative,
        CreativeStatus::PendingReview.name(),
        |stored| stored.thing.review_ends_at.is_none(),
        |stored| Ok(row::creative(&view, stored)),
    )?;
    let accounts = walk.over::<Account>(
        DecisionSubject::Account,
        AccountStatus::PendingApproval.name(),
        |_| true,
        |stored| Ok(row::account(&view, stored)),
    )?;
    let mut page = WaitingPage::default();
    let parts = [tasks, creatives, accounts];
    // Where one kind was not read to its end, items of the others behind that point are for the next page.
    let cut = parts.iter().filter_map(|part| part.ended_at).min();
    page.items = parts.into_iter().flat_map(|part| part.items).collect();
    page.items.sort_by_key(|item| item.cursor);
    page.items.retain(|item| cut.is_none_or(|cut| item.cursor <= cut));
    page.next = cut;
    if page.items.len() > limit {
        page.items.truncate(limit);
        page.next = page.items.last().map(|item| item.cursor);
    }
    Ok(page)
}

/// Returns true when a person has to decide about a task.
fn waits_for_person(task: &SubmittedTask) -> bool {
    task.draft.is_some() && task.due_at.is_none()
}

/// Items of one kind.
struct WaitingPart {
    items: Vec<WaitingItem>,
    /// Position up to which the kind was read; `None` when it was read to the end of the page.
    ended_at: Option<WaitingCursor>,
}

/// Search through one kind.
#[derive(Clone, Copy)]
struct Walk<'a> {
    view: StaffView<'a>,
    after: Option<WaitingCursor>,
    limit: usize,
}

impl Walk<'_> {
    fn over<T: Entity>(
        &self,
        matter: DecisionSubject,
        state: &str,
        waits: impl Fn(&Stored<T>) -> bool,
        document: impl Fn(&Stored<T>) -> Result<Value, InternalError>,
    ) -> Result<WaitingPart, InternalError> {
        let mut part = WaitingPart { items: Vec::new(), ended_at: None };
        let mut query = Query {
            order: Order::Oldest,
            from: self.after.map(|after| after.created_at),
            limit: SLICE,
            ..Query::with_state(state)
        };
        let mut looked_at = 0;
        loop {
            let slice = self.view.reader.page::<T>(&query, self.view.now)?;
            for stored in &slice {
                let cursor = WaitingCursor::from_record(&stored.record);
                if self.after.is_some_and(|after| cursor <= after) || !waits(stored) {
                    continue;
                }
                let since = stored.record.created_at;
                let document = document(stored)?;
                part.items.push(WaitingItem { cursor, matter, since, document });
                // One more than fits says that there is a next page.
                if part.items.len() > self.limit {
                    return Ok(part);
                }
            }
            if slice.len() < query.limit {
                return Ok(part);
            }
            looked_at += slice.len();
            if looked_at >= MOST_LOOKED_AT {
                part.ended_at = slice.last().map(|last| WaitingCursor::from_record(&last.record));
                return Ok(part);
            }
            query.continue_behind(slice.iter().map(|stored| &stored.record));
        }
    }
}
