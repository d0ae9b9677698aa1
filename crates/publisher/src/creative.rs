//! Creatives of the library, as they are kept. The id of a record is made of tenant, account and
//! the id that the caller chose ([`own_id`](crate::shelf::own_id)).

use std::collections::BTreeMap;

use jiff::Timestamp;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;

use crate::shelf::{FoundBy, IndexField, IndexTerm, kept};

mod address;
mod asset;
pub mod policy;

pub(crate) mod judge;
pub(crate) mod verdict;

pub use asset::GivenCreative;

kept! {
    /// A creative.
    pub struct Creative: Creative by found_by {
        /// The id that the caller chose.
        creative_id: String,
        /// How its review stands, apart from what the time decides: ask for it by
        /// [`status_at`](Self::status_at).
        status: CreativeStatus,
        /// Why it was rejected, for the caller.
        rejection_reason?: Option<String>,
        /// Since when and why it cannot run, where it once could or was looked at.
        offline?: Option<CreativeImpairment>,
        /// When the review ends by itself, with approval; `None` when a person decides.
        review_ends_at?: Option<Timestamp>,
        /// As it was given (`core/creative-asset.json`): name, `format_id`, `assets` and so on.
        given: GivenCreative,
        /// When `sync_creatives` assigned it to packages, by the id of the package.
        assigned?: BTreeMap<String, Timestamp>,
        /// What a verifier of provenance has noted for an audit (`creative/audit-observation.json`). No
        /// buyer is shown it.
        observations?: Vec<Value>,
        /// The addresses of verifiers that were asked about it as it is. What one did not say was left to a
        /// person.
        asked?: Vec<String>,
    }

    /// Why a creative cannot run, and since when.
    #[derive(Copy, Eq)]
    pub struct CreativeImpairment {
        /// Since when.
        since: Timestamp,
        /// Why.
        reason: ImpairmentReason,
    }
}

tradepost_wire::words! {
    /// Why a creative cannot run (`enums/impairment-reason-code.json`, as far as it is about creatives).
    pub enum ImpairmentReason {
        /// A policy of the publisher.
        PolicyViolation = "policy_violation",
        /// The publisher has withdrawn it for another reason.
        SellerRemoved = "seller_removed",
        /// It was reviewed and rejected.
        ContentRejected = "content_rejected",
        /// Whoever it shows permits it no longer.
        IdentityAuthorizationRevoked = "identity_authorization_revoked",
        /// And the permission is over.
        IdentityAuthorizationExpired = "identity_authorization_expired",
        /// What it refers to is not public any more.
        SourcePrivate = "source_private",
    }
}

impl ImpairmentReason {
    /// That of a status in which a creative cannot run, and of what happened to it
    /// (`enums/creative-event-reason-code.json`) where that is known.
    fn of(status: CreativeStatus, happened: Option<&str>) -> Option<Self> {
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
            // The vocabularies of events and of impairments share some
            // words; those mean the same in both.
            Some(code) => Self::from_name(code).unwrap_or(usual),
            None => usual,
        })
    }
}

tradepost_wire::words! {
    /// How the review of a creative stands (`creative-status`).
    pub enum CreativeStatus {
        /// It is being taken in.
        Processing = "processing",
        /// A person looks at it.
        PendingReview = "pending_review",
        /// It can run.
        Approved = "approved",
        /// It could run, and something that it depends on is gone for the moment.
        Suspended = "suspended",
        /// It cannot.
        Rejected = "rejected",
        /// The buyer has put it away.
        Archived = "archived",
    }
}

/// By what a creative is found: its status, its format, and the id that its buyer chose.
fn found_by(creative: &Creative, now: Timestamp) -> FoundBy {
    let is_reviewed = creative.status == CreativeStatus::PendingReview;
    FoundBy {
        state: Some(creative.status_at(now).name()),
        class: creative.format().to_owned(),
        // Also one that has come already: the end of a review is announced when it is written down.
        changes_at: creative.review_ends_at.filter(|_| is_reviewed),
        terms: vec![IndexTerm::new(IndexField::ChosenId, &creative.creative_id)],
    }
}

impl CreativeStatus {
    /// Whether a creative may go from here to another status (the published life of a creative).
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
    /// One of which nothing else is known.
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
        }
    }

    /// Notes that it was assigned to packages, and says whether to any anew: assigned again, it has been
    /// there since the first time.
    pub(crate) fn assign(&mut self, packages: Vec<String>, now: Timestamp) -> bool {
        let before = self.assigned.len();
        for package in packages {
            self.assigned.entry(package).or_insert(now);
        }
        self.assigned.len() != before
    }

    /// How its review stands now.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> CreativeStatus {
        let over = self.review_ends_at.is_some_and(|end| end <= now);
        if over && self.status == CreativeStatus::PendingReview {
            CreativeStatus::Approved
        } else {
            self.status
        }
    }

    /// The format that it is counted under; empty when it names none.
    #[must_use]
    pub fn format(&self) -> &str {
        let id = self.given.format_id.as_ref().and_then(|format| format.id.as_deref());
        id.or(self.given.format_kind.as_deref()).unwrap_or_default()
    }

    /// Has it stand like this from now on, because of what happened.
    pub(crate) fn stand(&mut self, next: CreativeStatus, happened: Option<&str>, now: Timestamp) {
        self.status = next;
        self.review_ends_at = None;
        self.offline = ImpairmentReason::of(next, happened)
            .map(|reason| CreativeImpairment { since: now, reason });
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.given.name.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tradepost_wire::catalog::Vocabulary as _;

    use super::{CreativeStatus, ImpairmentReason};

    #[test]
    fn why_a_creative_is_offline_follows_from_what_happened() {
        let of = |happened| {
            ImpairmentReason::of(CreativeStatus::Suspended, happened).map(ImpairmentReason::name)
        };
        assert_eq!(of(None), Some("seller_removed"));
        assert_eq!(of(Some("policy_revocation")), Some("policy_violation"));
        assert_eq!(of(Some("source_private")), Some("source_private"));
        assert_eq!(of(Some("takedown_request")), Some("seller_removed"));
        assert_eq!(
            ImpairmentReason::of(CreativeStatus::Rejected, None),
            Some(ImpairmentReason::ContentRejected)
        );
        assert_eq!(ImpairmentReason::of(CreativeStatus::Approved, Some("source_private")), None);
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
