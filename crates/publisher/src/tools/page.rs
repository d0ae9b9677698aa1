//! Pages of a list: a cursor is a place in one list, and useless in another.

use sha2::{Digest as _, Sha256};
use tradepost_wire::canonical;
use tradepost_wire::json::{Map, Value, json};

use crate::forms::Pagination;
use crate::refuse::{self, Refusal};
use crate::reply::Reply;

/// How many items a page has at most, and by default.
pub(crate) const MOST: usize = 100;

/// A page of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Page<T> {
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
) -> Result<Page<T>, Refusal> {
    sized(items, asked, scope, MOST, MOST)
}

/// The same where a page has another size: `usual` when nothing is asked for, and `most` at most.
pub(crate) fn sized<T>(
    items: Vec<T>,
    asked: Option<&Pagination>,
    scope: &str,
    usual: usize,
    most: usize,
) -> Result<Page<T>, Refusal> {
    let size = asked.and_then(|asked| asked.max_results);
    let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or(usual).clamp(1, most);
    let cursor = asked.and_then(|asked| asked.cursor.as_deref());
    let total = items.len();
    let from = match cursor {
        None => 0,
        Some(cursor) => place(cursor, scope).filter(|from| *from <= total).ok_or_else(|| {
            let message = "this cursor is none of this list; begin without one";
            refuse::invalid("pagination.cursor", message)
        })?,
    };
    let items: Vec<T> = items.into_iter().skip(from).take(size).collect();
    let next = from + items.len();
    let cursor = (next < total).then(|| format!("{}.{next}", mark(scope)));
    let pagination = json!({"has_more": cursor.is_some(), "total_count": total, "cursor"?: cursor});
    Ok(Page { items, pagination })
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
pub(crate) fn unchanged(version: &str, cache_scope: &str) -> Reply {
    let body = json!({
        "unchanged": true, "wholesale_feed_version": version, "cache_scope": cache_scope,
    });
    Reply::completed("nothing has changed since that version", body)
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
