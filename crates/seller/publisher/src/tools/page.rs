//! Pages of lists. A cursor is valid only for the list that it came from.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::json::{Map, Value, json, object};

use crate::forms::Pagination;
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::ToolReply;
use crate::store::{CountedPage, Entity, Query, Stored, Tally};
use crate::tool_context::ToolContext;

/// Default and maximum page size.
pub(crate) const MOST: usize = 100;

/// Page of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListPage<T> {
    /// Items of the page.
    pub items: Vec<T>,
    /// `pagination` of the reply.
    pub pagination: Value,
}

/// Returns the requested page. `scope` identifies the list, so that a cursor of another list is
/// refused.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor of another list.
pub(crate) fn requested<T>(
    items: Vec<T>,
    asked: Option<&Pagination>,
    scope: &str,
) -> Result<ListPage<T>, AdcpRefusal> {
    sized(items, asked, scope, MOST, MOST)
}

/// Returns the requested page with other page sizes: `usual` by default, `most` at most.
pub(crate) fn sized<T>(
    items: Vec<T>,
    asked: Option<&Pagination>,
    scope: &str,
    usual: usize,
    most: usize,
) -> Result<ListPage<T>, AdcpRefusal> {
    let limit = PageSize { usual, most }.limit(asked);
    let total = items.len();
    let from = begin(asked, scope, total)?;
    let items: Vec<T> = items.into_iter().skip(from).take(limit).collect();
    let pagination = pagination(from + items.len(), total, scope);
    Ok(ListPage { items, pagination })
}

/// Page sizes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSize {
    /// Default size.
    pub usual: usize,
    /// Maximum size.
    pub most: usize,
}

/// Page of stored entities.
#[derive(Debug)]
pub(crate) struct StoredPage<T> {
    /// The page.
    pub page: ListPage<Stored<T>>,
    /// Number of entities in the whole list, by state and class.
    pub tallies: Vec<Tally>,
}

/// Reads a page of stored entities without reading the other pages. `account` limits it to the account of
/// the request.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor of another list.
pub(crate) fn read_stored<T: Entity>(
    work: &ToolContext<'_>,
    account: Option<&str>,
    query: &Query,
    asked: Option<&Pagination>,
    size: PageSize,
) -> Result<StoredPage<T>, ToolError> {
    let reach = &work.admitted.reach;
    let now = work.call.now;
    let scope = scope(&work.call.arguments, work.admitted.account_id());
    let query = query_of_page(query, asked, &scope, size)?;
    let CountedPage { items, tallies } =
        reach.counted_page::<T>(work.reader, account, &query, now)?;
    let PageWithCursor { items, cursor } = PageWithCursor::new(items, query.clone(), &scope);
    let total: u64 = tallies.iter().map(|tally| tally.things).sum();
    let pagination = described(cursor, total);
    Ok(StoredPage { page: ListPage { items, pagination }, tallies })
}

/// Returns the query for the requested page and one record more, which shows that another page follows.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor of another list.
pub(crate) fn query_of_page(
    query: &Query,
    asked: Option<&Pagination>,
    scope: &str,
    size: PageSize,
) -> Result<Query, AdcpRefusal> {
    let limit = size.limit(asked) + 1;
    let Some(cursor) = cursor(asked) else { return Ok(Query { limit, ..query.clone() }) };
    let start = ListStart::from_cursor(cursor, scope).ok_or_else(foreign_cursor)?;
    Ok(Query { from: Some(start.from), skip: start.skip, limit, ..query.clone() })
}

/// Page of stored entities with the cursor of the next one.
#[derive(Debug)]
pub(crate) struct PageWithCursor<T> {
    /// Items of the page.
    pub items: Vec<Stored<T>>,
    /// Cursor of the next page; `None` on the last.
    pub cursor: Option<String>,
}

impl<T> PageWithCursor<T> {
    /// Creates the page from the records that a query of [`query_of_page`] has found.
    pub(crate) fn new(mut items: Vec<Stored<T>>, mut query: Query, scope: &str) -> Self {
        let size = query.limit.saturating_sub(1);
        let has_more = items.len() > size;
        items.truncate(size);
        query.continue_behind(items.iter().map(|stored| &stored.record));
        let start = query.from.map(|from| ListStart { from, skip: query.skip });
        let cursor = start.filter(|_| has_more).map(|start| start.to_cursor(scope));
        Self { items, cursor }
    }
}

/// Start of a later page of stored entities.
struct ListStart {
    /// Creation time of the previous page's last item.
    from: Timestamp,
    /// Number of items of that time on the previous pages.
    skip: usize,
}

impl ListStart {
    /// Reads a cursor; `None` when it belongs to another list.
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
    /// Returns the size of the requested page.
    fn limit(self, asked: Option<&Pagination>) -> usize {
        let wanted = asked.and_then(|asked| asked.max_results);
        let wanted = wanted.and_then(|size| usize::try_from(size).ok());
        wanted.unwrap_or(self.usual).clamp(1, self.most)
    }
}

/// Returns the number of items before the requested page.
fn begin(asked: Option<&Pagination>, scope: &str, total: usize) -> Result<usize, AdcpRefusal> {
    let Some(cursor) = cursor(asked) else { return Ok(0) };
    place(cursor, scope).filter(|from| *from <= total).ok_or_else(foreign_cursor)
}

/// Returns the cursor of a request.
fn cursor(asked: Option<&Pagination>) -> Option<&str> {
    asked.and_then(|asked| asked.cursor.as_deref())
}

/// Returns the refusal of a cursor of another list.
fn foreign_cursor() -> AdcpRefusal {
    let message = "this cursor is none of this list; begin without one";
    refusals::invalid("pagination.cursor", message).into()
}

/// Returns `pagination` of a page that ends before item `next` of `total`.
fn pagination(next: usize, total: usize, scope: &str) -> Value {
    let cursor = (next < total).then(|| format!("{}.{next}", mark(scope)));
    described(cursor, u64::try_from(total).unwrap_or(u64::MAX))
}

/// Returns `pagination` of a page with the cursor of the next one.
fn described(cursor: Option<String>, total: u64) -> Value {
    object!({"has_more": cursor.is_some(), "total_count": total, "cursor"?: cursor})
}

/// Returns the number of matches as text.
pub(crate) fn fitting(total: usize, name: &str) -> String {
    match total {
        0 => format!("no {name} fits"),
        1 => format!("1 {name} fits"),
        _ => format!("{total} {name}s fit"),
    }
}

/// Returns the reply when the caller's feed version is current.
pub(crate) fn unchanged(version: &str, cache_scope: &str) -> ToolReply {
    let body = json!({
        "unchanged": true, "wholesale_feed_version": version, "cache_scope": cache_scope,
    });
    ToolReply::completed("nothing has changed since that version", body)
}

/// Returns a short digest of a text.
pub(crate) fn mark(text: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(text);
    tradepost_document::format::hex(digest.iter().take(8))
}

/// Returns the text that identifies a list: the account and the members of a request other than
/// paging and transport.
pub(crate) fn scope(arguments: &Map, account: Option<&str>) -> String {
    const APART: &[&str] = &[
        "account",
        "adcp_major_version",
        "adcp_version",
        "context",
        "ext",
        "fields",
        "idempotency_key",
        "if_pricing_version",
        "if_wholesale_feed_version",
        "pagination",
    ];
    let members = arguments.iter().filter(|(name, _)| !APART.contains(&name.as_str()));
    let members: Map = members.map(|(name, value)| (name.clone(), value.clone())).collect();
    format!("{}\n{}", account.unwrap_or_default(), canonical::to_string(&members.into()))
}

fn place(cursor: &str, scope: &str) -> Option<usize> {
    let (known, from) = cursor.split_once('.')?;
    if known == mark(scope) { from.parse().ok() } else { None }
}
