//! Audiences, as stored. The record id is made of tenant, account and the id chosen by the caller. Of each
//! member only a digest is stored, which tells it from the others and does not identify it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_document::json::Map;

use crate::store::{FoundBy, IndexField, IndexTerm, kept};

/// Terms on which a publisher takes audiences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AudienceTerms {
    /// Minimum number of members of an audience that can be targeted; at least 1.
    pub minimum_size: u64,
    /// Seconds for which a changed audience is being processed.
    pub processing_seconds: u32,
}

impl Default for AudienceTerms {
    /// Returns terms that take every audience with a member, at once.
    fn default() -> Self {
        Self { minimum_size: 1, processing_seconds: 0 }
    }
}

kept! {
    /// An audience.
    #[derive(Default)]
    pub struct StoredAudience: Audience by found_by {
        /// Id chosen by the caller.
        audience_id: String,
        /// Name, description, tags and so on, as given.
        given: Map,
        /// Digests of its members.
        members: BTreeSet<String>,
        /// Number of members ever sent for it.
        uploaded: u64,
        /// Minimum number of members for targeting.
        minimum_size: u64,
        /// Time at which its latest change is processed.
        ready_at: Timestamp,
        /// Time of the last sync.
        synced_at: Timestamp,
    }
}

/// Returns the index term of an audience: the id chosen by its buyer.
fn found_by(audience: &StoredAudience, _: Timestamp) -> FoundBy {
    let term = IndexTerm::new(IndexField::ChosenId, &audience.audience_id);
    FoundBy { terms: vec![term], ..FoundBy::default() }
}

/// Status of an audience (`audience-status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudienceStatus {
    /// Being processed.
    Processing,
    /// Ready to be targeted.
    Ready,
    /// Smaller than the minimum for targeting (`AUDIENCE_TOO_SMALL`).
    TooSmall,
}

impl StoredAudience {
    /// Returns the number of its members.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.members.len() as u64
    }

    /// Returns its status at a moment.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> AudienceStatus {
        if now < self.ready_at {
            AudienceStatus::Processing
        } else if self.size() < self.minimum_size {
            AudienceStatus::TooSmall
        } else {
            AudienceStatus::Ready
        }
    }
}
