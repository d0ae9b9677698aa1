//! Google's objects, as far as they are read. What Google may leave out is optional.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tradepost_document::json::Value;
use tradepost_publisher::ad_server::{
    ExternalId, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
};

use super::state;
use super::targeting::{AD_UNIT, PLACEMENT};
use crate::client::{garbled, typed};
use crate::naming;
use crate::port::{AdServerError, InventoryItem};

/// Returns the id at the end of a resource name (`networks/1/orders/5` is order 5).
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or_default()
}

/// Writes a text as a string of a filter (AIP-160).
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// Token of the next page, if there is one.
    pub(super) next: Option<String>,
}

impl<T: DeserializeOwned> Page<T> {
    /// Reads a page, whose member is named by its collection. An empty list has no such member.
    pub(super) fn read(answer: &Value, member: &str) -> Result<Self, AdServerError> {
        let Value::Object(members) = answer else {
            return Err(garbled("it is no page of a list"));
        };
        let items = match members.get(member) {
            Some(items) => typed(items, "page of a list")?,
            None => Vec::new(),
        };
        let next = members.get("nextPageToken").and_then(Value::as_str);
        Ok(Self { items, next: next.filter(|next| !next.is_empty()).map(str::to_owned) })
    }
}

/// The network.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Network {
    #[serde(default)]
    pub(super) display_name: String,
    pub(super) currency_code: String,
    pub(super) time_zone: String,
    #[serde(default)]
    pub(super) test_network: bool,
}

/// An order.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Order {
    name: String,
    #[serde(default)]
    pub(super) display_name: String,
    status: String,
    #[serde(default)]
    archived: bool,
    start_time: Option<Timestamp>,
    end_time: Option<Timestamp>,
}

impl Order {
    /// Returns its id.
    pub(super) fn id(&self) -> RemoteId {
        RemoteId(last_part(&self.name).to_owned())
    }

    /// Returns true if it was made under our id, and not deleted.
    pub(super) fn is_ours(&self, id: &ExternalId) -> bool {
        naming::has_id(&self.display_name, id) && self.status != state::DELETED
    }

    /// Returns its state.
    pub(super) fn state(&self, now: Timestamp) -> Result<RemoteState, AdServerError> {
        state::of_order(&self.status, self.archived, self.start_time, self.end_time, now)
    }

    /// Returns it as an object.
    pub(super) fn object(&self, now: Timestamp) -> Result<RemoteObject, AdServerError> {
        let external_id = naming::id_of(&self.display_name);
        Ok(RemoteObject { id: self.id(), external_id, state: Some(self.state(now)?) })
    }
}

/// A line item.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LineItem {
    name: String,
    #[serde(default)]
    display_name: String,
    external_line_item_id: Option<String>,
    status: String,
    #[serde(default)]
    archived: bool,
    pub(super) line_item_type: Option<String>,
    pub(super) reservation_status: Option<String>,
    /// False once it has what it needs to deliver; absent when Google does not say.
    pub(super) missing_creatives: Option<bool>,
    pub(super) start_time: Option<Timestamp>,
    target_end_time: Option<Timestamp>,
    end_time: Option<Timestamp>,
}

impl LineItem {
    /// Returns its id.
    pub(super) fn id(&self) -> RemoteId {
        RemoteId(last_part(&self.name).to_owned())
    }

    fn external_id(&self) -> Option<ExternalId> {
        let kept = self.external_line_item_id.clone().filter(|id| !id.is_empty());
        kept.map(ExternalId).or_else(|| naming::id_of(&self.display_name))
    }

    /// Returns true if it was made under our id.
    pub(super) fn is_ours(&self, id: &ExternalId) -> bool {
        self.external_id().as_ref() == Some(id)
    }

    /// Returns its state.
    pub(super) fn state(&self) -> Result<RemoteState, AdServerError> {
        state::of_line_item(&self.status, self.archived)
    }

    /// Returns true if Google waits for it to be activated.
    pub(super) fn is_inactive(&self) -> bool {
        self.status == state::INACTIVE && self.missing_creatives == Some(false)
    }

    /// Returns it as an object.
    pub(super) fn object(&self) -> Result<RemoteObject, AdServerError> {
        let external_id = self.external_id();
        Ok(RemoteObject { id: self.id(), external_id, state: Some(self.state()?) })
    }

    /// Returns it as the object that was asked for.
    pub(super) fn made(&self, asked: &ExternalId) -> Result<RemoteObject, AdServerError> {
        Ok(RemoteObject { external_id: Some(asked.clone()), ..self.object()? })
    }

    /// Returns it with what it shows of what was sent, and its creatives. A start that has come is not compared with
    /// what was sold: what had to start at once has a later one. What is inactive is shown as not paused, because it
    /// delivers as soon as it has creatives or is activated.
    pub(super) fn view(
        &self,
        creatives: BTreeSet<RemoteId>,
        earliest_start: Timestamp,
    ) -> Result<RemoteLineItemView, AdServerError> {
        let object = self.object()?;
        let state = match object.state {
            Some(RemoteState::Ready) => Some(RemoteState::Delivering),
            other => other,
        };
        Ok(RemoteLineItemView {
            object: RemoteObject { state, ..object },
            start_time: self.start_time.filter(|start| *start > earliest_start),
            end_time: self.target_end_time.or(self.end_time),
            // Google computes it of goal and rate, and rounds.
            budget: None,
            creatives: Some(creatives),
        })
    }
}

/// A creative of a line item.
#[derive(Debug, Deserialize)]
pub(super) struct Association {
    creative: String,
    status: Option<String>,
}

impl Association {
    /// Returns the creative.
    pub(super) fn creative(&self) -> RemoteId {
        RemoteId(last_part(&self.creative).to_owned())
    }

    /// Returns true unless it has ended.
    pub(super) fn is_active(&self) -> bool {
        self.status.as_deref() != Some("INACTIVE")
    }
}

/// A creative.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Creative {
    name: String,
    #[serde(default)]
    display_name: String,
    advertiser: Option<String>,
}

impl Creative {
    /// Returns its id.
    pub(super) fn id(&self) -> RemoteId {
        RemoteId(last_part(&self.name).to_owned())
    }

    /// Returns true if it is an advertiser's, or does not say whose it is.
    pub(super) fn is_of(&self, advertiser: &str) -> bool {
        self.advertiser.as_deref().is_none_or(|own| last_part(own) == advertiser)
    }

    /// Returns true if it was made under our id.
    pub(super) fn is_ours(&self, id: &ExternalId) -> bool {
        naming::has_id(&self.display_name, id)
    }

    /// Returns it as the object that was asked for.
    pub(super) fn object(&self, asked: &ExternalId) -> RemoteObject {
        RemoteObject { id: self.id(), external_id: Some(asked.clone()), state: None }
    }
}

/// An ad unit or a placement.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inventory {
    name: String,
    #[serde(default)]
    display_name: String,
    status: Option<String>,
}

impl Inventory {
    /// Returns it as products name it, unless it is not in use.
    fn into_item(self, prefix: &str, kind: &str) -> Option<InventoryItem> {
        let is_used = self.status.as_deref().is_none_or(|status| status == "ACTIVE");
        let id = RemoteId(format!("{prefix}{}", last_part(&self.name)));
        is_used.then(|| InventoryItem { id, name: self.display_name, kind: kind.to_owned() })
    }

    /// Returns an ad unit as products name it, unless it is not in use.
    pub(super) fn into_ad_unit(self) -> Option<InventoryItem> {
        self.into_item(AD_UNIT, "ad_unit")
    }

    /// Returns a placement as products name it, unless it is not in use.
    pub(super) fn into_placement(self) -> Option<InventoryItem> {
        self.into_item(PLACEMENT, "placement")
    }
}
