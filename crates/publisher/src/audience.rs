//! Audiences, as they are kept. The id of a record is made of tenant, account and the id that the
//! caller chose. Of a member nothing is kept by which it could be found: a digest that tells it from
//! the others.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tradepost_wire::json::Map;

use crate::shelf::{FoundBy, IndexField, IndexTerm, kept};

/// On which terms a publisher takes audiences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AudienceTerms {
    /// The smallest audience that can be targeted; at least 1.
    pub minimum_size: u64,
    /// For how long an audience that has changed is being processed.
    pub processing_seconds: u32,
}

impl Default for AudienceTerms {
    /// Every audience that has a member, at once.
    fn default() -> Self {
        Self { minimum_size: 1, processing_seconds: 0 }
    }
}

kept! {
    /// An audience.
    #[derive(Default)]
    pub struct StoredAudience: Audience by found_by {
        /// The id that the caller chose.
        audience_id: String,
        /// Its name, description, tags and so on, as they were given.
        given: Map,
        /// Digests of its members.
        members: BTreeSet<String>,
        /// How many members were ever sent for it.
        uploaded: u64,
        /// The smallest audience that can be targeted.
        minimum_size: u64,
        /// When what has changed last is processed.
        ready_at: Timestamp,
        /// When it was synced last.
        synced_at: Timestamp,
    }
}

/// By what an audience is found: the id that its buyer chose.
fn found_by(audience: &StoredAudience, _: Timestamp) -> FoundBy {
    let term = IndexTerm::new(IndexField::ChosenId, &audience.audience_id);
    FoundBy { terms: vec![term], ..FoundBy::default() }
}

/// How an audience stands (`audience-status`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AudienceStatus {
    /// It is being taken in.
    Processing,
    /// It can be targeted.
    Ready,
    /// It is smaller than what can be targeted (`AUDIENCE_TOO_SMALL`).
    TooSmall,
}

impl StoredAudience {
    /// How many members it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.members.len() as u64
    }

    /// How it stands now.
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
