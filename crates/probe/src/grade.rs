//! How good is good: one letter, where enough was seen for one.

use serde::Serialize;

use super::check::{CheckVerdict, RequirementLevel};
use super::report::CheckFinding;

/// The grade of an agent. A and B mean that no MUST is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Nothing failed, and the agent let at least nine MUSTs in ten be looked at.
    A,
    /// No MUST failed; a SHOULD did, or too few MUSTs could be looked at.
    B,
    /// At most one MUST in twenty failed.
    C,
    /// At most three MUSTs in twenty failed.
    D,
    /// At most three MUSTs in ten failed.
    E,
    /// More.
    F,
}

/// Why there is no grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ungraded {
    /// Whoever answers at the address is no agent: it has neither an agent card nor MCP.
    NoAgent,
    /// Fewer than half of the MUSTs were looked at.
    NotLookedAt,
}

impl Grade {
    /// Its letter.
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

    /// What it means.
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

    /// Whether a MUST is broken.
    #[must_use]
    pub fn breaks_a_must(self) -> bool {
        self > Self::B
    }
}

/// How many of the MUSTs that the agent is bound by were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// So many were judged.
    pub looked_at: usize,
    /// So many could not be looked at, because of what the agent answers.
    pub not_looked_at: usize,
    /// So many were left out by whoever probes.
    pub skipped: usize,
    /// All of them.
    pub of: usize,
}

impl Coverage {
    /// Whether that is enough for a grade: half of them.
    #[must_use]
    pub fn is_enough(self) -> bool {
        self.of > 0 && self.looked_at * 2 >= self.of
    }

    /// Whether that is enough for an A: nine in ten of those that were not left out.
    #[must_use]
    pub fn is_enough_for_a(self) -> bool {
        self.not_looked_at * 10 <= self.looked_at + self.not_looked_at
    }
}

/// How much of what was to be looked at was.
pub(super) fn coverage(findings: &[CheckFinding]) -> Coverage {
    let musts = || findings.iter().filter(|finding| finding.check.level == RequirementLevel::Must);
    let counted =
        |wanted: fn(&CheckVerdict) -> bool| musts().filter(|it| wanted(&it.verdict)).count();
    let looked_at = counted(is_judged);
    let not_looked_at = counted(|verdict| matches!(verdict, CheckVerdict::NotLookedAt(_)));
    let skipped = counted(|verdict| matches!(verdict, CheckVerdict::Skipped(_)));
    Coverage { looked_at, not_looked_at, skipped, of: looked_at + not_looked_at + skipped }
}

/// How many MUSTs are broken that nobody has waived.
pub(super) fn broken(findings: &[CheckFinding]) -> usize {
    failures(findings, RequirementLevel::Must)
}

/// Whether no SHOULD failed that nobody has waived.
pub(super) fn keeps_every_should(findings: &[CheckFinding]) -> bool {
    failures(findings, RequirementLevel::Should) == 0
}

/// How many findings of a level failed that nobody has waived.
fn failures(findings: &[CheckFinding], level: RequirementLevel) -> usize {
    let failures = findings.iter().filter(|finding| finding.is_failure());
    failures.filter(|finding| finding.check.level == level).count()
}

fn is_judged(verdict: &CheckVerdict) -> bool {
    matches!(verdict, CheckVerdict::Fail(_) | CheckVerdict::Pass | CheckVerdict::Warn(_))
}

/// What findings about an agent add up to. Waived ones do not count; warnings never do. What was not
/// looked at may be broken: it costs the A where it is more than a tenth of the MUSTs.
/// Returns `None` where fewer than half of the MUSTs were looked at: that is too little to judge an
/// agent by.
pub(super) fn of(findings: &[CheckFinding]) -> Option<Grade> {
    let coverage = coverage(findings);
    if !coverage.is_enough() {
        return None;
    }
    let judged = findings.iter().filter(|finding| {
        finding.check.level == RequirementLevel::Must
            && finding.waived.is_none()
            && is_judged(&finding.verdict)
    });
    let (broken, musts) = (broken(findings), judged.count());
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
