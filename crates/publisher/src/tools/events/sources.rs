//! `sync_event_sources`: where conversion events come from.

use std::collections::{BTreeMap, BTreeSet};

use tradepost_wire::json::{Map, Value, json};

use crate::event::EventSource;
use crate::forms::audiences::SyncEventSources;
use crate::refuse::{self, Stop};
use crate::reply::Reply;
use crate::shelf::{Kept, New, Query, own_id};
use crate::work::Work;

pub(in crate::tools) fn perform(work: &Work<'_>, form: &SyncEventSources) -> Result<Reply, Stop> {
    let account = work.account()?;
    let (owner, of) = (account.record.owner.as_str(), account.record.id.as_str());
    if form.delete_missing && form.event_sources.is_none() {
        let message = "delete_missing without event_sources would remove every source; name those \
                       that stay";
        return Err(refuse::invalid("delete_missing", message).into());
    }
    let query =
        Query { owner: Some(owner.to_owned()), account: Some(of.to_owned()), ..Query::default() };
    let known: Vec<Kept<EventSource>> = work.shelf.all(&query)?;
    let known: BTreeMap<String, Kept<EventSource>> =
        known.into_iter().map(|it| (it.thing.event_source_id.clone(), it)).collect();
    let mut shown = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, given) in form.event_sources.iter().flatten().enumerate() {
        let id = given.event_source_id.as_str();
        if !seen.insert(id.to_owned()) {
            let field = format!("event_sources[{index}].event_source_id");
            let error = refuse::invalid(&field, "the same source stands in the request twice");
            shown.push(json!({"event_source_id": id, "action": "failed", "errors": [error]}));
            continue;
        }
        let mut next = known
            .get(id)
            .map(|kept| kept.thing.clone())
            .unwrap_or_else(|| EventSource { event_source_id: id.to_owned(), given: Map::new() });
        next.given.extend(given.given.clone());
        let action = match known.get(id) {
            None => {
                let place = own_id(owner, of, id);
                let new =
                    New { id: &place, owner, account: Some(of), state: "", now: work.ask.now };
                work.shelf.add(new, &next)?;
                "created"
            }
            Some(kept) if kept.thing == next => "unchanged",
            Some(kept) => {
                let mut kept = Kept { thing: next.clone(), record: kept.record.clone() };
                work.shelf.change(&mut kept, work.ask.now)?;
                "updated"
            }
        };
        shown.push(show(&next, action));
    }
    for (id, kept) in known.iter().filter(|(id, _)| !seen.contains(*id)) {
        // Without a list, what is there is shown and nothing is changed.
        if form.event_sources.is_none() {
            shown.push(show(&kept.thing, "unchanged"));
        } else if form.delete_missing {
            work.shelf.remove(kept.record.kind, &kept.record.id)?;
            shown.push(json!({"event_source_id": id, "action": "deleted"}));
        }
    }
    let mut body = json!({"event_sources": shown});
    if let Some(members) = body.as_object_mut().filter(|_| account.thing.sandbox) {
        members.insert("sandbox".to_owned(), json!(true));
    }
    Ok(Reply::completed("each event source has its own result", body))
}

fn show(source: &EventSource, action: &str) -> Value {
    let mut shown = json!({
        "event_source_id": source.event_source_id,
        "action": action,
        "managed_by": "buyer",
        "setup": {
            "snippet_type": "server_only",
            "instructions": "send its events from your server with log_event",
        },
    });
    if let Some(members) = shown.as_object_mut() {
        for name in ["name", "event_types", "action_source", "surface"] {
            let given = source.given.get(name).cloned();
            members.extend(given.map(|value| (name.to_owned(), value)));
        }
    }
    shown
}
