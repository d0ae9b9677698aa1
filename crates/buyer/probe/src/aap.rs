//! Checks of AAP v1.0 and v1.1, by subject.
//!
//! Where the specification allows several answers, each of them is accepted.
// Covers the requirements and the decision table of docs/requirements/aap.md, with the resolutions C-06, C-07, C-09, C-15 and C-20.

use super::check::Check;

mod answer;
mod ask;
mod card;
mod consent;
mod dealer;
mod error;
mod facets;
mod input;
mod lead;
mod receipt;
mod search;
mod typing;
mod vehicle;

/// All tables, in the order in which they are run.
pub(super) const TABLES: &[&[Check]] = &[
    card::CHECKS,
    answer::CHECKS,
    typing::CHECKS,
    dealer::CHECKS,
    facets::CHECKS,
    search::CHECKS,
    input::CHECKS,
    vehicle::CHECKS,
    lead::CHECKS,
    consent::CHECKS,
    receipt::CHECKS,
    error::CHECKS,
];
