//! Grade of an agent: one letter, when enough was checked.

use serde::Serialize;

use super::check::{CheckVerdict, RequirementLevel};
use super::report::CheckFinding;

/// Grade of an agent. A and B mean that no MUST is violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Nothing failed, and at least nine in ten MUSTs could be checked.
    A,
    /// No MUST failed; a SHOULD did, or too few MUSTs could be checked.
    B,
    /// At most one MUST in twenty failed.
    C,
    /// At most three MUSTs in twenty failed.
    D,
    /// At most three MUSTs in ten failed.
    E,
    /// More MUSTs failed.
    F,
}

/// Reason for a missing grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ungraded {
    /// The server at the address is no agent: it has neither an agent card nor MCP.
    NoAgent,
    /// Fewer than half of the MUSTs were checked.
    NotLookedAt,
}

impl Grade {
    /// Returns the letter.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
            Self::C => 'C',
            Self::D => 'D',
            Self::E => 'E',
            Self::F => 'F',
        }
    }

    /// Returns the meaning in words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::A => "keeps every MUST and every SHOULD that was looked at",
            Self::B => "keeps every MUST that was looked at, but not every SHOULD",
            Self::C => "breaks a few MUSTs",
            Self::D => "breaks several MUSTs",
            Self::E => "breaks many MUSTs",
            Self::F => "cannot be relied on",
        }
    }

    /// Returns true when a MUST is violated.
    #[must_use]
    pub fn breaks_a_must(self) -> bool {
        self > Self::B
    }
}

/// Number of applicable MUSTs by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Number that were checked.
    pub looked_at: usize,
    /// Number that could not be checked because of the agent's answers.
    pub not_looked_at: usize,
    /// Number that were skipped.
    pub skipped: usize,
    /// Number of all.
    pub of: usize,
}

impl Coverage {
    /// Returns true when at least half were checked, which a grade requires.
    #[must_use]
    pub fn is_enough(self) -> bool {
        self.of > 0 && self.looked_at * 2 >= self.of
    }

    /// Returns true when nine in ten of those that were not skipped were checked, which an A requires.
    #[must_use]
    pub fn is_enough_for_a(self) -> bool {
        self.not_looked_at * 10 <= self.looked_at + self.not_looked_at
    }
}

/// Counts the MUSTs by outcome.
pub(super) fn coverage(findings: &[CheckFinding]) -> Coverage {
    let musts = || findings.iter().filter(|finding| finding.check.level == RequirementLevel::Must);
    let counted = |wanted: fn(&CheckVerdict) -> bool| {
        musts().filter(|finding| wanted(&finding.verdict)).count()
    };
    let looked_at = counted(is_conclusive);
    let not_looked_at = counted(|verdict| matches!(verdict, CheckVerdict::NotLookedAt(_)));
    let skipped = counted(|verdict| matches!(verdict, CheckVerdict::Skipped(_)));
    Coverage { looked_at, not_looked_at, skipped, of: looked_at + not_looked_at + skipped }
}

/// Returns the number of violated MUSTs without a waiver.
pub(super) fn broken(findings: &[CheckFinding]) -> usize {
    failures(findings, RequirementLevel::Must)
}

/// Returns true when no SHOULD failed without a waiver.
pub(super) fn keeps_every_should(findings: &[CheckFinding]) -> bool {
    failures(findings, RequirementLevel::Should) == 0
}

/// Returns the number of failures of a level without a waiver.
fn failures(findings: &[CheckFinding], level: RequirementLevel) -> usize {
    let failures = findings.iter().filter(|finding| finding.is_failure());
    failures.filter(|finding| finding.check.level == level).count()
}

fn is_conclusive(verdict: &CheckVerdict) -> bool {
    matches!(verdict, CheckVerdict::Fail(_) | CheckVerdict::Pass | CheckVerdict::Warn(_))
}

/// Computes the grade of an agent. Waived failures and warnings do not count. MUSTs that could not be checked may be
/// violated: when they are more than a tenth, there is no A. Returns `None` when fewer than half of the MUSTs were
/// checked, which is too little for a grade.
pub(super) fn compute(findings: &[CheckFinding]) -> Option<Grade> {
    let coverage = coverage(findings);
    if !coverage.is_enough() {
        return None;
    }
    let checked = findings.iter().filter(|finding| {
        finding.check.level == RequirementLevel::Must
            && finding.waived.is_none()
            && is_conclusive(&finding.verdict)
    });
    let broken = broken(findings);
    let musts = checked.count();
    Some(if broken == 0 {
        if keeps_every_should(findings) && coverage.is_enough_for_a() { Grade::A } else { Grade::B }
    } else if broken * 20 <= musts {
        Grade::C
    } else if broken * 20 <= musts * 3 {
        Grade::D
    } else if broken * 10 <= musts * 3 {
        Grade::E
    } else {
        Grade::F
    })
}
