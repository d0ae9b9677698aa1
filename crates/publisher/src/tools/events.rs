//! Conversion events: `sync_event_sources` and `log_event`.

use serde_json::{Map, Value};
use tradepost_wire::adcp::Tool;

use super::{Reply, Work};
use crate::refuse::Stop;

mod log;
mod sources;

/// Does the work of these tools.
pub(super) fn perform(work: &Work<'_>) -> Result<Reply, Stop> {
    if work.ask.tool == Tool::LogEvent { log::perform(work) } else { sources::perform(work) }
}

fn text<'a>(given: &'a Map<String, Value>, name: &str) -> &'a str {
    given.get(name).and_then(Value::as_str).unwrap_or_default()
}
