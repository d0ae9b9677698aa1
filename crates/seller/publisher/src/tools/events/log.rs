//! `log_event`: events of a source, each counted once.

use tradepost_adcp::error::AdcpCode;
use tradepost_document::json::{Value, json, object};

use crate::creative::judge;
use crate::event::{StoredEvent, StoredEventSource};
use crate::forms::audiences::{self as forms, LogEvent};
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::store::{Entity as _, IndexField, Query, Stored, own_id};
use crate::tool_context::{ToolContext, WriteContext};

pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &LogEvent,
) -> Result<ToolReply, ToolError> {
    let source = source(work, &form.event_source_id)?;
    let mut processed = 0_u32;
    let mut known = 0_u32;
    let mut failures = Vec::new();
    for event in &form.events {
        if let Some(message) = unfit(&source.thing, event) {
            failures.push(json!({
                "event_id": event.event_id,
                "code": AdcpCode::InvalidRequest.to_string(),
                "message": message,
            }));
        // Test events are validated but not stored.
        } else if form.test_event_code.is_some() || keep(work, &source, event)? {
            processed += 1;
        } else {
            known += 1;
        }
    }
    let warning = || [format!("{known} of the events were known already, and count once")];
    let body = object!({
        "events_received": form.events.len(),
        "events_processed": processed,
        "partial_failures"?: (!failures.is_empty()).then_some(failures),
        "warnings"?: (known > 0).then(warning),
    });
    Ok(ToolReply::completed("the events were taken", body))
}

/// Finds the caller's event source by id, on the named account or on any. The error omits the
/// parameter's name, which would reveal the kind of record (AdCP 3.1 `error-handling`, `U-3`).
fn source(work: &ToolContext<'_>, id: &str) -> Result<Stored<StoredEventSource>, ToolError> {
    if let Some(account) = &work.admitted.account {
        let place = own_id(&account.record.owner, &account.record.id, id);
        if let Some(found) = work.find(&place)? {
            return Ok(found);
        }
    }
    let query = Query::default().led_to_by(IndexField::ChosenId, id);
    let mut found: Vec<Stored<StoredEventSource>> = work.admitted.reach.all(work.reader, &query)?;
    match (found.pop(), found.is_empty()) {
        (None, _) => Err(refusals::not_found(AdcpCode::ReferenceNotFound, None).into()),
        (Some(source), true) => Ok(source),
        (Some(_), false) => {
            let message = "several of your accounts have such a source; name the account";
            Err(refusals::at(AdcpCode::AccountAmbiguous, "account", message).into())
        }
    }
}

/// Returns the reason for rejecting an event.
fn unfit(source: &StoredEventSource, event: &forms::EventRequest) -> Option<&'static str> {
    let list = |name: &str| source.given.get(name).and_then(Value::as_array);
    let kind = &event.event_type;
    if list("event_types").is_some_and(|kinds| !kinds.iter().any(|known| known == kind)) {
        return Some("the source has no events of this type; sync_event_sources says which");
    }
    if let Some(url) = &event.event_source_url
        && let Some(domains) = list("allowed_domains")
    {
        let host = judge::host(url);
        let below =
            |domain: &Value| domain.as_str().is_some_and(|domain| judge::below(&host, domain));
        if !domains.iter().any(below) {
            return Some("event_source_url is on none of the source's allowed_domains");
        }
    }
    None
}

/// Stores an event. Returns false when it is already known.
fn keep(
    work: &WriteContext<'_>,
    source: &Stored<StoredEventSource>,
    event: &forms::EventRequest,
) -> Result<bool, ToolError> {
    let kind = event.event_type.as_str();
    // Source, type and id identify an event: the same order may be viewed and bought.
    let place = own_id(&source.record.id, kind, &event.event_id);
    let owner = source.record.owner.as_str();
    if work.reader.owner_of(StoredEvent::KIND, &place)?.is_some() {
        return Ok(false);
    }
    let data = event.custom_data.as_ref();
    let event = StoredEvent {
        event_type: kind.to_owned(),
        event_time: event.event_time,
        value: data.and_then(|data| data.value.or(data.order_total)),
        currency: data.and_then(|data| data.currency.clone()),
    };
    work.add(&place, (owner, source.record.account.as_deref()), kind, &event)?;
    Ok(true)
}
