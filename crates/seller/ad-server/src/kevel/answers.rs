//! Kevel's objects, as far as they are read. What Kevel may leave out is optional.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Deserialize;
use tradepost_publisher::ad_server::{
    CreativeSize, ExternalId, RemoteId, RemoteLineItemView, RemoteObject, RemoteState,
};

use super::activity::Activity;
use super::targeting::{SITE, ZONE};
use crate::naming;
use crate::port::InventoryItem;

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(super) struct Page<T> {
    #[serde(rename = "totalPages")]
    total_pages: Option<u32>,
    pub(super) items: Vec<T>,
}

impl<T> Page<T> {
    /// Returns true if no page follows.
    pub(super) fn is_last(&self, page: u32) -> bool {
        self.items.is_empty() || self.total_pages.is_none_or(|total| page >= total)
    }
}

/// A campaign: an order.
#[derive(Debug, Deserialize)]
pub(super) struct Campaign {
    #[serde(rename = "Id")]
    pub(super) id: u32,
    #[serde(rename = "AdvertiserId")]
    pub(super) advertiser: u32,
    #[serde(rename = "Name")]
    pub(super) name: String,
    #[serde(rename = "StartDateISO")]
    pub(super) start: Option<String>,
    #[serde(rename = "IsActive", default)]
    pub(super) is_active: bool,
    #[serde(rename = "IsArchived", default)]
    is_archived: Option<bool>,
    #[serde(rename = "IsDeleted", default)]
    is_deleted: Option<bool>,
}

impl Campaign {
    /// Returns what it is doing.
    pub(super) fn activity(&self) -> Activity {
        activity(self.is_active, self.is_archived, self.is_deleted)
    }

    /// Returns its id.
    pub(super) fn id(&self) -> RemoteId {
        RemoteId(self.id.to_string())
    }

    /// Returns it as an object in a state, if the state is known.
    pub(super) fn object(&self, state: Option<RemoteState>) -> RemoteObject {
        let external_id = naming::id_of(&self.name);
        RemoteObject { id: self.id(), external_id, state }
    }
}

/// A flight: a line item.
#[derive(Debug, Deserialize)]
pub(super) struct Flight {
    #[serde(rename = "Id")]
    id: u32,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "IsActive", default)]
    is_active: bool,
    #[serde(rename = "IsArchived", default)]
    is_archived: Option<bool>,
    #[serde(rename = "IsDeleted", default)]
    is_deleted: Option<bool>,
    #[serde(rename = "StartDateISO")]
    start: Option<String>,
    #[serde(rename = "EndDateISO")]
    end: Option<String>,
}

impl Flight {
    /// Returns its id.
    pub(super) fn id(&self) -> RemoteId {
        RemoteId(self.id.to_string())
    }

    /// Returns it with what it shows of what was sent, and the creatives of its ads.
    pub(super) fn view(&self, creatives: BTreeSet<RemoteId>) -> RemoteLineItemView {
        RemoteLineItemView {
            object: self.object(),
            start_time: self.start.as_deref().and_then(utc),
            end_time: self.end.as_deref().and_then(utc),
            budget: None,
            creatives: Some(creatives),
        }
    }

    /// Returns true if it was made under our id.
    pub(super) fn is_ours(&self, id: &ExternalId) -> bool {
        naming::has_id(&self.name, id)
    }

    /// Returns what it is doing.
    pub(super) fn activity(&self) -> Activity {
        activity(self.is_active, self.is_archived, self.is_deleted)
    }

    /// Returns it as an object. A flight that is active delivers once its campaign is.
    pub(super) fn object(&self) -> RemoteObject {
        RemoteObject {
            id: self.id(),
            external_id: naming::id_of(&self.name),
            state: Some(self.activity().state()),
        }
    }

    /// Returns it as the object that was asked for.
    pub(super) fn made(&self, asked: &ExternalId) -> RemoteObject {
        RemoteObject { external_id: Some(asked.clone()), ..self.object() }
    }
}

/// Reads a time of Kevel's, which is UTC with or without saying so.
fn utc(text: &str) -> Option<Timestamp> {
    let stated = text.parse::<Timestamp>().ok();
    stated.or_else(|| format!("{text}Z").parse().ok())
}

fn activity(is_active: bool, is_archived: Option<bool>, is_deleted: Option<bool>) -> Activity {
    let is_archived = is_archived.unwrap_or_default() || is_deleted.unwrap_or_default();
    Activity { is_active, is_archived }
}

/// A creative.
#[derive(Debug, Deserialize)]
pub(super) struct Creative {
    #[serde(rename = "Id")]
    id: u32,
    #[serde(rename = "Title")]
    title: Option<String>,
    #[serde(rename = "IsDeleted", default)]
    is_deleted: Option<bool>,
}

impl Creative {
    /// Returns true if it was made under our id.
    pub(super) fn is_ours(&self, id: &ExternalId) -> bool {
        let title = self.title.as_deref().unwrap_or_default();
        naming::has_id(title, id) && !self.is_deleted.unwrap_or_default()
    }

    /// Returns it as the object that was asked for.
    pub(super) fn object(&self, asked: &ExternalId) -> RemoteObject {
        let external_id = Some(asked.clone());
        RemoteObject { id: RemoteId(self.id.to_string()), external_id, state: None }
    }
}

/// An ad: a creative of a flight.
#[derive(Debug, Deserialize)]
pub(super) struct Ad {
    #[serde(rename = "Id")]
    pub(super) id: u32,
    #[serde(rename = "Creative")]
    creative: AdCreative,
    #[serde(rename = "IsDeleted", default)]
    is_deleted: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct AdCreative {
    #[serde(rename = "Id")]
    id: u32,
}

impl Ad {
    /// Returns the creative that it shows, unless it was deleted.
    pub(super) fn creative(&self) -> Option<RemoteId> {
        let is_deleted = self.is_deleted.unwrap_or_default();
        (!is_deleted).then(|| RemoteId(self.creative.id.to_string()))
    }

    /// Returns true if it shows a creative.
    pub(super) fn shows(&self, creative: u32) -> bool {
        self.creative.id == creative && !self.is_deleted.unwrap_or_default()
    }
}

/// An ad that was made just now.
#[derive(Debug, Deserialize)]
pub(super) struct NewAd {
    #[serde(rename = "Id")]
    _id: u32,
}

/// An ad type: a size.
#[derive(Debug, Deserialize)]
pub(super) struct AdType {
    #[serde(rename = "Id")]
    pub(super) id: u32,
    #[serde(rename = "Width")]
    width: Option<u32>,
    #[serde(rename = "Height")]
    height: Option<u32>,
}

impl AdType {
    /// Returns true if it has a size.
    pub(super) fn has(&self, size: CreativeSize) -> bool {
        self.width == Some(size.width) && self.height == Some(size.height)
    }
}

/// A priority.
#[derive(Debug, Deserialize)]
pub(super) struct Priority {
    #[serde(rename = "Name")]
    pub(super) name: String,
}

/// A site.
#[derive(Debug, Deserialize)]
pub(super) struct Site {
    #[serde(rename = "Id")]
    id: u32,
    #[serde(rename = "Title", default)]
    title: String,
    #[serde(rename = "IsDeleted", default)]
    is_deleted: Option<bool>,
}

impl Site {
    /// Returns it as products name it, unless it was deleted.
    pub(super) fn into_item(self) -> Option<InventoryItem> {
        let id = format!("{SITE}{}", self.id);
        (!self.is_deleted.unwrap_or_default()).then(|| item(id, self.title, "site"))
    }
}

/// A zone of a site.
#[derive(Debug, Deserialize)]
pub(super) struct Zone {
    #[serde(rename = "Id")]
    id: u32,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "SiteId")]
    site: u32,
    #[serde(rename = "IsDeleted", default)]
    is_deleted: Option<bool>,
}

impl Zone {
    /// Returns it as products name it, unless it was deleted.
    pub(super) fn into_item(self) -> Option<InventoryItem> {
        let id = format!("{SITE}{}{ZONE}{}", self.site, self.id);
        (!self.is_deleted.unwrap_or_default()).then(|| item(id, self.name, "zone"))
    }
}

fn item(id: String, name: String, kind: &str) -> InventoryItem {
    InventoryItem { id: RemoteId(id), name, kind: kind.to_owned() }
}
