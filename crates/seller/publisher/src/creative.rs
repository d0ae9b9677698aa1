//! Creatives of the library, as stored. The record id is made of tenant, account and the id chosen by the
//! caller ([`own_id`](crate::store::own_id)).

use std::collections::BTreeMap;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::json::Value;

use crate::ad_server::ExternalId;
use crate::decision::LastDecision;
use crate::remote_order;
use crate::store::{EntityRecord, FoundBy, IndexField, IndexTerm, StoreTx, kept};

mod address;
mod asset;
pub mod policy;

pub(crate) mod judge;
pub(crate) mod verdict;

pub use asset::GivenCreative;

kept! {
    /// A creative.
    pub struct Creative: Creative by found_by then mark_at_ad_server {
        /// Id chosen by the caller.
        creative_id: String,
        /// Status of its review, apart from what the time decides; see [`status_at`](Self::status_at).
        status: CreativeStatus,
        /// Reason for its rejection, for the caller.
        rejection_reason?: Option<String>,
        /// Start and reason of its impairment, where it once could run or was reviewed.
        offline?: Option<CreativeImpairment>,
        /// Time at which the review ends by itself, with approval; `None` when a person decides.
        review_ends_at?: Option<Timestamp>,
        /// As it was given (`core/creative-asset.json`): name, `format_id`, `assets` and so on.
        given: GivenCreative,
        /// Times at which `sync_creatives` assigned it to packages, by package id.
        assigned?: BTreeMap<String, Timestamp>,
        /// Notes of a provenance verifier for an audit (`creative/audit-observation.json`). Buyers do not see
        /// them.
        observations?: Vec<Value>,
        /// Addresses of verifiers that were asked about its current content. Questions that one left open
        /// were left to a person.
        asked?: Vec<String>,
        /// The latest decision of the publisher's staff about it. Buyers do not see it.
        decision?: Option<LastDecision>,
    }

    /// Start and reason of an impairment of a creative.
    #[derive(Copy, Eq)]
    pub struct CreativeImpairment {
        /// Start.
        since: Timestamp,
        /// Reason.
        reason: ImpairmentReason,
    }
}

tradepost_document::words! {
    /// Reason for which a creative cannot run (`enums/impairment-reason-code.json`, as far as it is about
    /// creatives).
    pub enum ImpairmentReason {
        /// Against a policy of the publisher.
        PolicyViolation = "policy_violation",
        /// Withdrawn by the publisher for another reason.
        SellerRemoved = "seller_removed",
        /// Rejected in review.
        ContentRejected = "content_rejected",
        /// Permission withdrawn by the identity that it shows.
        IdentityAuthorizationRevoked = "identity_authorization_revoked",
        /// Permission of the identity that it shows expired.
        IdentityAuthorizationExpired = "identity_authorization_expired",
        /// Source that it refers to no longer public.
        SourcePrivate = "source_private",
    }
}

impl ImpairmentReason {
    /// Returns the reason for a status in which a creative cannot run, given what happened to it
    /// (`enums/creative-event-reason-code.json`) where that is known.
    fn from_status(status: CreativeStatus, happened: Option<&str>) -> Option<Self> {
        let usual = match status {
            CreativeStatus::Rejected => Self::ContentRejected,
            CreativeStatus::Suspended => Self::SellerRemoved,
            CreativeStatus::Processing
            | CreativeStatus::PendingReview
            | CreativeStatus::Approved
            | CreativeStatus::Archived => {
                return None;
            }
        };
        Some(match happened {
            Some("policy_revocation") => Self::PolicyViolation,
            Some("review_failure" | "seller_rereview" | "content_drift") => Self::ContentRejected,
            // The vocabularies of events and of impairments share some words, which mean the same in both.
            Some(code) => Self::from_name(code).unwrap_or(usual),
            None => usual,
        })
    }
}

tradepost_document::words! {
    /// Review status of a creative (`creative-status`).
    pub enum CreativeStatus {
        /// Being processed.
        Processing = "processing",
        /// Under review by a person.
        PendingReview = "pending_review",
        /// Able to run.
        Approved = "approved",
        /// Able to run, were it not for a dependency that is missing at the moment.
        Suspended = "suspended",
        /// Rejected.
        Rejected = "rejected",
        /// Archived by the buyer.
        Archived = "archived",
    }
}

impl Creative {
    /// Returns our id of it at the ad server. A new revision with the same content, such as an assignment, is
    /// the same object there.
    pub(crate) fn external_id(&self, record: &EntityRecord) -> ExternalId {
        let content = canonical::to_string(&Value::Object(self.given.sent.clone()));
        let digest = Sha256::digest(content);
        let number = digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte));
        ExternalId::from_creative(&record.id, number)
    }
}

/// Has the ad server follow a creative that was stored, in every media buy that shows it.
fn mark_at_ad_server(
    creative: &Creative,
    record: &EntityRecord,
    tx: &dyn StoreTx,
) -> Result<(), InternalError> {
    let mut orders = remote_order::orders_showing(&creative.creative_id, record, tx)?;
    if orders.is_empty() {
        return Ok(());
    }
    let now = record.updated_at;
    if creative.status_at(now) == CreativeStatus::Approved {
        // Most changes are assignments, which mark the buy itself: the ad server has this content already.
        let id = creative.external_id(record);
        orders.retain(|order| !order.thing.has_creative(&id));
    }
    remote_order::mark_orders(orders, tx, now)
}

/// Returns the index terms of a creative: its status, its format, and the id chosen by its buyer.
fn found_by(creative: &Creative, now: Timestamp) -> FoundBy {
    let is_reviewed = creative.status == CreativeStatus::PendingReview;
    FoundBy {
        state: Some(creative.status_at(now).name()),
        class: creative.format().to_owned(),
        // Also when it has passed: the end of a review is announced when it is stored.
        changes_at: creative.review_ends_at.filter(|_| is_reviewed),
        terms: vec![IndexTerm::new(IndexField::ChosenId, &creative.creative_id)],
    }
}

impl CreativeStatus {
    /// Returns true if a creative may change to another status (the published life of a creative).
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::Processing => matches!(next, Self::PendingReview | Self::Rejected),
            Self::PendingReview => matches!(next, Self::Approved | Self::Rejected),
            Self::Approved => matches!(
                next,
                Self::Suspended | Self::PendingReview | Self::Rejected | Self::Archived
            ),
            Self::Suspended => matches!(next, Self::Approved | Self::Rejected),
            Self::Rejected => matches!(next, Self::Processing),
            Self::Archived => matches!(next, Self::Approved | Self::PendingReview),
        }
    }
}

impl Creative {
    /// Creates a creative without any history.
    pub(crate) fn new(creative_id: &str, given: GivenCreative, status: CreativeStatus) -> Self {
        Self {
            creative_id: creative_id.to_owned(),
            status,
            rejection_reason: None,
            offline: None,
            review_ends_at: None,
            given,
            assigned: BTreeMap::new(),
            observations: Vec::new(),
            asked: Vec::new(),
            decision: None,
        }
    }

    /// Notes its assignment to packages, and returns true if any of them is new. An assignment that is
    /// repeated keeps the time of the first.
    pub(crate) fn assign(&mut self, packages: Vec<String>, now: Timestamp) -> bool {
        let before = self.assigned.len();
        for package in packages {
            self.assigned.entry(package).or_insert(now);
        }
        self.assigned.len() != before
    }

    /// Returns the status of its review at a moment.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> CreativeStatus {
        let over = self.review_ends_at.is_some_and(|end| end <= now);
        if over && self.status == CreativeStatus::PendingReview {
            CreativeStatus::Approved
        } else {
            self.status
        }
    }

    /// Returns the format under which it is counted; empty when it names none.
    #[must_use]
    pub fn format(&self) -> &str {
        let id = self.given.format_id.as_ref().and_then(|format| format.id.as_deref());
        id.or(self.given.format_kind.as_deref()).unwrap_or_default()
    }

    /// Sets its status from now on, because of what happened.
    pub(crate) fn stand(&mut self, next: CreativeStatus, happened: Option<&str>, now: Timestamp) {
        self.status = next;
        self.review_ends_at = None;
        self.offline = ImpairmentReason::from_status(next, happened)
            .map(|reason| CreativeImpairment { since: now, reason });
    }

    /// Returns its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.given.name.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::catalog::Vocabulary as _;

    use super::{CreativeStatus, ImpairmentReason};

    #[test]
    fn why_a_creative_is_offline_follows_from_what_happened() {
        let of = |happened| {
            let reason = ImpairmentReason::from_status(CreativeStatus::Suspended, happened);
            reason.map(ImpairmentReason::name)
        };
        assert_eq!(of(None), Some("seller_removed"));
        assert_eq!(of(Some("policy_revocation")), Some("policy_violation"));
        assert_eq!(of(Some("source_private")), Some("source_private"));
        assert_eq!(of(Some("takedown_request")), Some("seller_removed"));
        assert_eq!(
            ImpairmentReason::from_status(CreativeStatus::Rejected, None),
            Some(ImpairmentReason::ContentRejected)
        );
        assert_eq!(
            ImpairmentReason::from_status(CreativeStatus::Approved, Some("source_private")),
            None
        );
    }

    #[test]
    fn a_creative_moves_as_published_and_in_no_other_way() {
        // Creative protocol specification, "Creative status lifecycle".
        let published = [
            "processing>pending_review",
            "processing>rejected",
            "pending_review>approved",
            "pending_review>rejected",
            "approved>pending_review",
            "approved>suspended",
            "approved>rejected",
            "approved>archived",
            "suspended>approved",
            "suspended>rejected",
            "rejected>processing",
            "archived>pending_review",
            "archived>approved",
        ];
        let mut found = Vec::new();
        for from in CreativeStatus::ALL.iter().copied() {
            for to in CreativeStatus::ALL.iter().copied() {
                if from.may_become(to) {
                    found.push(format!("{}>{}", from.name(), to.name()));
                }
            }
        }
        assert_eq!(found, published);
    }
}
