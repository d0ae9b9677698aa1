//! Lists that are shown page by page. A cursor says how far the reader has come; to the reader it
//! is a word without meaning.

use serde_json::{Value, json};

use super::Work;
use crate::refuse::{self, Refusal};

/// The largest and the usual number of items on a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    /// When nothing is asked for.
    pub usual: usize,
    /// The most, whatever is asked for.
    pub most: usize,
}

/// As published for lists (`core/pagination-request.json`).
pub(super) const USUAL: Size = Size { usual: 50, most: 100 };

/// The page of a list that a request asks for, and `pagination` of the answer.
///
/// # Errors
/// `INVALID_REQUEST` for a cursor that is none of ours.
pub(super) fn cut<T>(work: &Work<'_>, all: Vec<T>, size: Size) -> Result<(Vec<T>, Value), Refusal> {
    let asked = work.ask.arguments.get("pagination");
    let start = match asked.and_then(|asked| asked.get("cursor")).and_then(Value::as_str) {
        None => 0,
        Some(cursor) => read(cursor).ok_or_else(unknown)?,
    };
    let most = asked.and_then(|asked| asked.get("max_results")).and_then(Value::as_u64);
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(size.usual);
    let most = most.clamp(1, size.most);
    let total = all.len();
    let page: Vec<T> = all.into_iter().skip(start).take(most).collect();
    let end = start.saturating_add(page.len());
    let mut pagination = json!({"has_more": end < total, "total_count": total});
    if end < total
        && let Some(members) = pagination.as_object_mut()
    {
        members.insert("cursor".to_owned(), format!("after-{end}").into());
    }
    Ok((page, pagination))
}

fn read(cursor: &str) -> Option<usize> {
    cursor.strip_prefix("after-")?.parse().ok()
}

fn unknown() -> Refusal {
    let message = "this is no cursor of an earlier answer; leave it out";
    refuse::invalid("pagination.cursor", message).into()
}
