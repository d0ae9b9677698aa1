//! Property lists: `create_property_list`, `get_property_list`, `list_property_lists`,
//! `update_property_list`, `delete_property_list` and `validate_property_delivery`.

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::json::{Map, json};
use tradepost_document::typed;

use super::page::{self, ListPage, PageSize};
use crate::forms::properties::{
    CreatePropertyList, DeletePropertyList, GetPropertyList, ListPropertyLists, UpdatePropertyList,
};
use crate::property::{PropertyList, published};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::{ToolReply, object};
use crate::store::{Query, Stored};
use crate::tool_context::{ToolContext, WriteContext};

mod delivered;

pub(super) use delivered::perform as validate;

/// Default and maximum page size of identifiers (`property/get-property-list-request.json`).
const IDENTIFIERS: PageSize = PageSize { usual: 1000, most: 10_000 };

/// Hours for which a resolved list may be cached.
const FRESH_HOURS: i64 = 24;

/// Handles `create_property_list`.
pub(super) fn create(
    work: &WriteContext<'_>,
    form: &CreatePropertyList,
) -> Result<ToolReply, ToolError> {
    AdcpRefusal::of_all(unapplied(&form.filters, form.webhook_url.as_deref()))?;
    let services = &work.publisher.services;
    let list_id = services.fresh_id("pl");
    let given = typed::read(form.given.clone()).unwrap_or_default();
    let mut thing = PropertyList { list_id, given, property_count: 0 };
    thing.property_count = thing.resolve().len() as u64;
    work.add(&thing.list_id, work.whose(), "", &thing)?;
    let stored = require(work, &thing.list_id)?;
    // The token is shown only once.
    let body = json!({"list": published(&stored), "auth_token": services.fresh_id("plt")});
    Ok(ToolReply::completed("the property list is there", body))
}

/// Handles `get_property_list`.
pub(super) fn get(work: &ToolContext<'_>, form: &GetPropertyList) -> Result<ToolReply, ToolError> {
    let stored = require(work, &form.list_id)?;
    let mut body = object([("list", Some(published(&stored)))]);
    if form.resolve.unwrap_or(true) {
        let PageSize { usual, most } = IDENTIFIERS;
        // Includes the revision: a cursor is a position and would skip items of a changed list.
        let scope = format!("{} {}", stored.thing.list_id, stored.record.revision);
        let found = stored.thing.resolve();
        let asked = form.pagination.as_ref();
        let ListPage { items, pagination } = page::sized(found, asked, &scope, usual, most)?;
        let fresh = jiff::SignedDuration::from_hours(FRESH_HOURS);
        let until = work.call.now.checked_add(fresh).unwrap_or(work.call.now);
        body.extend(object([
            ("identifiers", Some(items.into())),
            ("pagination", Some(pagination)),
            ("resolved_at", Some(json!(work.call.now))),
            ("cache_valid_until", Some(json!(until))),
        ]));
    }
    Ok(ToolReply::completed("the property list", body.into()))
}

/// Handles `list_property_lists`.
pub(super) fn list(
    work: &ToolContext<'_>,
    form: &ListPropertyLists,
) -> Result<ToolReply, ToolError> {
    let size = PageSize { usual: 50, most: page::MOST };
    let account = work.admitted.account_id();
    let asked = form.pagination.as_ref();
    let ListPage { items, pagination } = match &form.name_contains {
        None => {
            page::read_stored::<PropertyList>(work, account, &Query::default(), asked, size)?.page
        }
        Some(part) => {
            let part = part.to_lowercase();
            let mut lists: Vec<Stored<PropertyList>> = work.all_of_account()?;
            lists.retain(|list| list.thing.name().to_lowercase().contains(&part));
            let scope = page::scope(&work.call.arguments, account);
            page::sized(lists, asked, &scope, size.usual, size.most)?
        }
    };
    let body = json!({
        "lists": items.iter().map(published).collect::<Vec<_>>(),
        "pagination": pagination,
    });
    Ok(ToolReply::completed("the property lists", body))
}

/// Handles `update_property_list`.
pub(super) fn update(
    work: &WriteContext<'_>,
    form: &UpdatePropertyList,
) -> Result<ToolReply, ToolError> {
    let mut stored = require(work, &form.list_id)?;
    AdcpRefusal::of_all(unapplied(&form.filters, form.webhook_url.as_deref()))?;
    let mut given = stored.thing.given.members;
    given.extend(form.given.clone());
    stored.thing.given = typed::read(given).unwrap_or_default();
    stored.thing.property_count = stored.thing.resolve().len() as u64;
    work.tx.change(&mut stored, work.call.now)?;
    Ok(ToolReply::completed("the property list is changed", json!({"list": published(&stored)})))
}

/// Handles `delete_property_list`.
pub(super) fn delete(
    work: &WriteContext<'_>,
    form: &DeletePropertyList,
) -> Result<ToolReply, ToolError> {
    let stored = require(work, &form.list_id)?;
    work.tx.remove(stored.record.kind, &stored.record.id)?;
    let body = json!({"deleted": true, "list_id": stored.thing.list_id});
    Ok(ToolReply::completed("the property list is gone", body))
}

/// Finds the caller's list. The error names neither the kind of record nor the field (AdCP 3.1
/// `error-handling`, `U-3`).
fn require(work: &ToolContext<'_>, id: &str) -> Result<Stored<PropertyList>, ToolError> {
    work.require(id, AdcpCode::ReferenceNotFound, None)
}

/// Returns errors for unsupported members: filters that need more than a property's identifier,
/// because ignoring them would include what the caller excluded; and an address for change
/// notifications, which are not sent.
fn unapplied(filters: &Map, webhook: Option<&str>) -> Vec<AdcpError> {
    let error = |field: &str, message: &str, suggestion: &str| {
        let error = refusals::at(AdcpCode::UnsupportedFeature, field, message);
        AdcpError { suggestion: Some(suggestion.to_owned()), ..error }
    };
    let filters = filters.keys().filter(|name| *name != "exclude_identifiers").map(|name| {
        let message = "this seller knows properties by their identifiers alone and cannot apply \
                       this filter; exclude_identifiers it can";
        error(&format!("filters.{name}"), message, "leave this filter out")
    });
    let unsent = webhook.filter(|address| !address.is_empty()).map(|_| {
        let message = "this seller does not announce changes of property lists";
        let suggestion = "leave it out, and read the list again when it is needed";
        error("webhook_url", message, suggestion)
    });
    filters.chain(unsent).collect()
}
