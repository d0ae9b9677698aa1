//! Pages of a list: a cursor is a place in one list, and is refused in another.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_wire::canonical;
use tradepost_wire::json::{Map, Value, json};

use crate::forms::Pagination;
use crate::refuse::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::shelf::{Entity, Query, Stored, Tally};
use crate::work::ToolContext;

/// How many items a page has at most, and by default.
pub(crate) const MOST: usize = 100;

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListPage<T> {
    /// Its items.
    pub items: Vec<T>,
    /// `pagination` of the answer.
    pub pagination: Value,
}

/// The page that a request asks for. `scope` is what decides about the list besides the cursor: a
/// cursor of another list is refused.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor that is none of this list.
pub(crate) fn of<T>(
    items: Vec<T>,
    asked: Option<&Pagination>,
    scope: &str,
) -> Result<ListPage<T>, AdcpRefusal> {
    sized(items, asked, scope, MOST, MOST)
}

/// The same where a page has another size: `usual` when nothing is asked for, and `most` at most.
pub(crate) fn sized<T>(
    items: Vec<T>,
    asked: Option<&Pagination>,
    scope: &str,
    usual: usize,
    most: usize,
) -> Result<ListPage<T>, AdcpRefusal> {
    let limit = PageSize { usual, most }.of(asked);
    let total = items.len();
    let from = begin(asked, scope, total)?;
    let items: Vec<T> = items.into_iter().skip(from).take(limit).collect();
    let pagination = pagination(from + items.len(), total, scope);
    Ok(ListPage { items, pagination })
}

/// How many items a page has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSize {
    /// When nothing is asked for.
    pub usual: usize,
    /// At most.
    pub most: usize,
}

/// A page of things that are kept.
#[derive(Debug)]
pub(crate) struct KeptPage<T> {
    /// The page.
    pub page: ListPage<Stored<T>>,
    /// How many things there are in all in each state and of each class.
    pub tallies: Vec<Tally>,
}

/// A page of things that are kept, read without the pages before and behind it. `account` narrows it to the
/// account that the request is for.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor that is none of this list.
pub(crate) fn kept<T: Entity>(
    work: &ToolContext<'_>,
    account: Option<&str>,
    query: &Query,
    asked: Option<&Pagination>,
    size: PageSize,
) -> Result<KeptPage<T>, ToolError> {
    let reach = &work.admitted.reach;
    let now = work.ask.now;
    let scope = scope(&work.ask.arguments, work.admitted.account_id());
    let query = query_of_page(query, asked, &scope, size)?;
    let items = reach.page::<T>(work.shelf, account, &query, now)?;
    let PageWithCursor { items, cursor } = PageWithCursor::new(items, query.clone(), &scope);
    let tallies = reach.tallies::<T>(work.shelf, account, &query, now)?;
    let total: u64 = tallies.iter().map(|tally| tally.things).sum();
    let pagination = json!({
        "has_more": cursor.is_some(), "total_count": total, "cursor"?: cursor,
    });
    Ok(KeptPage { page: ListPage { items, pagination }, tallies })
}

/// The query for the page of a list of kept things that a request asks for, and for one thing more, which shows whether
/// another page follows.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor that is none of this list.
pub(crate) fn query_of_page(
    query: &Query,
    asked: Option<&Pagination>,
    scope: &str,
    size: PageSize,
) -> Result<Query, AdcpRefusal> {
    let limit = size.of(asked) + 1;
    let Some(cursor) = cursor(asked) else { return Ok(Query { limit, ..query.clone() }) };
    let start = ListStart::from_cursor(cursor, scope).ok_or_else(foreign_cursor)?;
    Ok(Query { from: Some(start.from), skip: start.skip, limit, ..query.clone() })
}

/// A page of kept things with the cursor of the next one.
#[derive(Debug)]
pub(crate) struct PageWithCursor<T> {
    /// The page.
    pub items: Vec<Stored<T>>,
    /// The cursor of the next page; `None` on the last.
    pub cursor: Option<String>,
}

impl<T> PageWithCursor<T> {
    /// Makes the page of what a query of [`query_of_page`] has found.
    pub(crate) fn new(mut items: Vec<Stored<T>>, mut query: Query, scope: &str) -> Self {
        let size = query.limit.saturating_sub(1);
        let has_more = items.len() > size;
        items.truncate(size);
        query.continue_behind(items.iter().map(|kept| &kept.record));
        let start = query.from.map(|from| ListStart { from, skip: query.skip });
        let cursor = start.filter(|_| has_more).map(|start| start.to_cursor(scope));
        Self { items, cursor }
    }
}

/// Where a later page of a list of kept things begins.
struct ListStart {
    /// The moment at which the last item of the page before was created.
    from: Timestamp,
    /// How many items of that moment the pages before had.
    skip: usize,
}

impl ListStart {
    /// Reads a cursor; `None` for one that is none of the list.
    fn from_cursor(cursor: &str, scope: &str) -> Option<Self> {
        let (list, start) = cursor.split_once('.')?;
        let (from, skip) = start.split_once('.')?;
        let from = Timestamp::from_microsecond(from.parse().ok()?).ok()?;
        let skip = skip.parse().ok()?;
        (list == mark(scope)).then_some(Self { from, skip })
    }

    fn to_cursor(&self, scope: &str) -> String {
        format!("{}.{}.{}", mark(scope), self.from.as_microsecond(), self.skip)
    }
}

impl PageSize {
    /// How many items the page has that is asked for.
    fn of(self, asked: Option<&Pagination>) -> usize {
        let wanted = asked.and_then(|asked| asked.max_results);
        let wanted = wanted.and_then(|size| usize::try_from(size).ok());
        wanted.unwrap_or(self.usual).clamp(1, self.most)
    }
}

/// How many items of a list come before the page that is asked for.
fn begin(asked: Option<&Pagination>, scope: &str, total: usize) -> Result<usize, AdcpRefusal> {
    let Some(cursor) = cursor(asked) else { return Ok(0) };
    place(cursor, scope).filter(|from| *from <= total).ok_or_else(foreign_cursor)
}

/// The cursor of a request.
fn cursor(asked: Option<&Pagination>) -> Option<&str> {
    asked.and_then(|asked| asked.cursor.as_deref())
}

/// The refusal of a cursor that is none of the list.
fn foreign_cursor() -> AdcpRefusal {
    let message = "this cursor is none of this list; begin without one";
    refuse::invalid("pagination.cursor", message).into()
}

/// `pagination` of an answer whose page ends before an item of so many.
fn pagination(next: usize, total: usize, scope: &str) -> Value {
    let cursor = (next < total).then(|| format!("{}.{next}", mark(scope)));
    json!({"has_more": cursor.is_some(), "total_count": total, "cursor"?: cursor})
}

/// How many things of a name fit, in words.
pub(crate) fn fitting(total: usize, name: &str) -> String {
    match total {
        0 => format!("no {name} fits"),
        1 => format!("1 {name} fits"),
        _ => format!("{total} {name}s fit"),
    }
}

/// That the version of a feed that the caller has is the one that there is.
pub(crate) fn unchanged(version: &str, cache_scope: &str) -> ToolReply {
    let body = json!({
        "unchanged": true, "wholesale_feed_version": version, "cache_scope": cache_scope,
    });
    ToolReply::completed("nothing has changed since that version", body)
}

/// A short digest: equal texts have equal ones.
pub(crate) fn mark(text: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(text);
    tradepost_wire::format::hex(digest.iter().take(8))
}

/// What decides about a list: the members of a request that are not about pages or transport.
pub(crate) fn scope(arguments: &Map, account: Option<&str>) -> String {
    const APART: &str = "\
        account adcp_major_version adcp_version context ext fields idempotency_key \
        if_pricing_version if_wholesale_feed_version pagination";
    let members = arguments.iter().filter(|(name, _)| !APART.split(' ').any(|it| it == *name));
    let members: Map = members.map(|(name, value)| (name.clone(), value.clone())).collect();
    format!("{}\n{}", account.unwrap_or_default(), canonical::to_string(&members.into()))
}

fn place(cursor: &str, scope: &str) -> Option<usize> {
    let (known, from) = cursor.split_once('.')?;
    if known == mark(scope) { from.parse().ok() } else { None }
}
