//! Creatives of the library, as they are kept. The id of a record is made of tenant, account and
//! the id that the caller chose ([`own_id`](crate::shelf::own_id)).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::shelf::{Kind, Thing};

/// A creative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Creative {
    /// The id that the caller chose.
    pub creative_id: String,
    /// How its review stands.
    pub status: Status,
    /// Why it was rejected, for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection_reason: Option<String>,
    /// As it was given (`core/creative-asset.json`): name, `format_id`, `assets` and so on.
    pub given: Map<String, Value>,
}

/// How the review of a creative stands (`creative-status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is being taken in.
    Processing,
    /// A person looks at it.
    PendingReview,
    /// It can run.
    Approved,
    /// It cannot.
    Rejected,
    /// The buyer has put it away.
    Archived,
}

impl Thing for Creative {
    const KIND: Kind = Kind::Creative;
}
