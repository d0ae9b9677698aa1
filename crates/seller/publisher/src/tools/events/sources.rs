//! `sync_event_sources`: sources of conversion events.

use std::collections::BTreeSet;

use tradepost_document::json::{Value, json, object};

use crate::event::StoredEventSource;
use crate::forms::audiences::SyncEventSources;
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::tool_context::WriteContext;
use crate::tools::buyer_records::{self, Wanted};

pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &SyncEventSources,
) -> Result<ToolReply, ToolError> {
    let account = work.account()?;
    if form.delete_missing && form.event_sources.is_none() {
        let message = "delete_missing without event_sources would remove every source; name those \
                       that stay";
        return Err(refusals::invalid("delete_missing", message).into());
    }
    let wanted = match &form.event_sources {
        Some(given) if !form.delete_missing => {
            Wanted::Named(given.iter().map(|one| one.event_source_id.as_str()).collect())
        }
        Some(_) | None => Wanted::All,
    };
    let known =
        buyer_records::library(account, work.reader, wanted, |source: &StoredEventSource| {
            &source.event_source_id
        })?;
    let mut shown = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, given) in form.event_sources.iter().flatten().enumerate() {
        let id = given.event_source_id.as_str();
        if !seen.insert(id) {
            let field = format!("event_sources[{index}].event_source_id");
            let error = refusals::invalid(&field, "the same source stands in the request twice");
            shown.push(json!({"event_source_id": id, "action": "failed", "errors": [error]}));
            continue;
        }
        let known = known.get(id);
        let mut merged = known.map(|stored| stored.thing.given.clone()).unwrap_or_default();
        merged.extend(given.given.clone());
        let next = StoredEventSource { event_source_id: id.to_owned(), given: merged };
        let action = match known {
            None => "created",
            Some(stored) if stored.thing == next => "unchanged",
            Some(_) => "updated",
        };
        if action != "unchanged" {
            buyer_records::put(work, account, id, known, &next)?;
        }
        shown.push(show(&next, action));
    }
    for (id, stored) in known.iter().filter(|(id, _)| !seen.contains(id.as_str())) {
        // Without a list the request only reads.
        if form.event_sources.is_none() {
            shown.push(show(&stored.thing, "unchanged"));
        } else if form.delete_missing {
            work.tx.remove(stored.record.kind, &stored.record.id)?;
            shown.push(json!({"event_source_id": id, "action": "deleted"}));
        }
    }
    let body = object!({"event_sources": shown, "sandbox"?: work.sandbox()});
    Ok(ToolReply::completed("each event source has its own result", body))
}

fn show(source: &StoredEventSource, action: &str) -> Value {
    let given = |name: &str| source.given.get(name);
    object!({
        "event_source_id": source.event_source_id,
        "action": action,
        "managed_by": "buyer",
        "setup": {
            "snippet_type": "server_only",
            "instructions": "send its events from your server with log_event",
        },
        "name"?: given("name"),
        "event_types"?: given("event_types"),
        "action_source"?: given("action_source"),
        "surface"?: given("surface"),
    })
}
