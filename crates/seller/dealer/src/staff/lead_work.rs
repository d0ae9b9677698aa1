//! Work on a lead: who has it, why it was lost, and what is to be done next.

use jiff::Timestamp;
use tradepost_document::format::rfc3339;
use tradepost_document::words;

use super::{StaffRole, StaffStage};

words! {
    /// Reasons for which a customer has not bought.
    pub enum LostReason {
        /// The customer bought from another dealer.
        BoughtElsewhere = "bought_elsewhere",
        /// The price was too high.
        Price = "price",
        /// The customer got no loan or lease.
        Financing = "financing",
        /// The vehicle was sold to someone else.
        VehicleSold = "vehicle_sold",
        /// The customer did not answer.
        NoAnswer = "no_answer",
        /// The customer did not mean to buy.
        NotSerious = "not_serious",
        /// The same request is another lead already.
        Duplicate = "duplicate",
        /// Another reason, which a note can say.
        Other = "other",
    }
}

words! {
    /// Kinds of a next step.
    pub enum NextStepKind {
        /// Call the customer.
        Call = "call",
        /// Send the customer a message.
        Message = "message",
        /// Send the customer an offer.
        SendOffer = "send_offer",
        /// Receive or visit the customer.
        Visit = "visit",
        /// Something else, which a note can say.
        Other = "other",
    }
}

words! {
    /// How new leads of a dealer get their owner.
    pub enum LeadAssignment {
        /// People assign them.
        ByHand = "by_hand",
        /// Members of the staff get them in turn, in an order of its own for each rooftop.
        RoundRobin = "round_robin",
    }
}

/// The next step with a lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextStep {
    /// Kind of the step.
    pub kind: NextStepKind,
    /// Time at which it is due.
    pub at: Timestamp,
}

impl NextStep {
    /// Writes the detail of an audit entry about the step.
    #[must_use]
    pub fn detail(&self) -> String {
        format!("{} at {}", self.kind, rfc3339(self.at))
    }
}

/// Result of an attempt to make a member the owner of a lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnerChange {
    /// The lead has the owner now.
    Changed {
        /// Owner that it had.
        before: Option<String>,
    },
    /// It had the owner before.
    Unchanged,
    /// Another than the expected member owns it; `None` for nobody.
    OwnedBy(Option<String>),
}

/// Owner that a lead has to have, so that nobody takes it from a colleague unseen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ExpectedOwner {
    /// Any, or none.
    #[default]
    Anyone,
    /// None.
    Nobody,
    /// This member.
    Member(String),
}

impl ExpectedOwner {
    /// Returns true when a lead with this owner may be assigned.
    #[must_use]
    pub fn is_met(&self, owner: Option<&str>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Nobody => owner.is_none(),
            Self::Member(name) => owner == Some(name),
        }
    }
}

/// Actor that assigns leads by turns.
pub const ROUND_ROBIN: &str = "round-robin";

/// Roles of members who can own leads.
#[must_use]
pub const fn owns_leads(role: StaffRole) -> bool {
    match role {
        StaffRole::Desk | StaffRole::Manager => true,
        StaffRole::Engineer | StaffRole::Seller | StaffRole::Approver | StaffRole::Viewer => false,
    }
}

/// Returns the member whose turn it is after another: the next in the order of names. Members who
/// came or went meanwhile change nothing for the others.
#[must_use]
pub fn next_in_turn<'m>(members: &'m [String], last: Option<&str>) -> Option<&'m String> {
    let mut members: Vec<&String> = members.iter().collect();
    members.sort_unstable();
    let later = members.iter().find(|name| last.is_some_and(|last| name.as_str() > last));
    later.or_else(|| members.first()).copied()
}

/// Writes the detail of an audit entry about a stage.
#[must_use]
pub fn stage_detail(stage: StaffStage, reason: Option<LostReason>) -> String {
    match reason {
        Some(reason) => format!("{stage}: {reason}"),
        None => stage.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_follow_names_also_when_members_come_and_go() {
        let members = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        for (names, last, expected) in [
            (&["cy", "ada", "bob"][..], None, Some("ada")),
            (&["cy", "ada", "bob"], Some("ada"), Some("bob")),
            (&["cy", "ada", "bob"], Some("cy"), Some("ada")),
            // The last one has gone.
            (&["cy", "ada"], Some("bob"), Some("cy")),
            (&["ada"], Some("ada"), Some("ada")),
            (&[], Some("ada"), None),
        ] {
            let members = members(names);
            let next = next_in_turn(&members, last).map(String::as_str);
            assert_eq!(next, expected, "{names:?} after {last:?}");
        }
    }

    #[test]
    fn an_expected_owner_is_compared_with_the_present_one() {
        let ada = ExpectedOwner::Member("ada".to_owned());
        for (expected, owner, is_met) in [
            (&ExpectedOwner::Anyone, Some("bob"), true),
            (&ExpectedOwner::Anyone, None, true),
            (&ExpectedOwner::Nobody, Some("bob"), false),
            (&ExpectedOwner::Nobody, None, true),
            (&ada, Some("ada"), true),
            (&ada, Some("bob"), false),
            (&ada, None, false),
        ] {
            assert_eq!(expected.is_met(owner), is_met, "{expected:?} of {owner:?}");
        }
    }
}
