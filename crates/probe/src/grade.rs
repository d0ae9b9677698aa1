//! How good is good: one letter, where enough was seen for one.

use serde::Serialize;

use super::check::{Level, Verdict};
use super::report::Finding;

/// The grade of an agent. A and B mean that no MUST is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Nothing failed.
    A,
    /// No MUST failed, and a SHOULD did.
    B,
    /// At most one MUST in twenty failed.
    C,
    /// At most three MUSTs in twenty failed.
    D,
    /// At most three MUSTs in ten failed.
    E,
    /// More, or there is neither an agent card to go by nor an AdCP seller.
    F,
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
            Self::A => "keeps every MUST and every SHOULD that was checked",
            Self::B => "keeps every MUST that was checked, but not every SHOULD",
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

/// How many of the MUSTs that the agent is bound by could be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// So many were judged.
    pub looked_at: usize,
    /// Of so many, which are those that were judged or skipped.
    pub of: usize,
}

impl Coverage {
    /// Whether that is enough for a grade: half of them.
    #[must_use]
    pub fn is_enough(self) -> bool {
        self.of > 0 && self.looked_at * 2 >= self.of
    }
}

/// How much of what was to be looked at could be.
pub(super) fn coverage(findings: &[Finding]) -> Coverage {
    let musts = || findings.iter().filter(|finding| finding.check.level == Level::Must);
    let counted = |wanted: fn(&Verdict) -> bool| musts().filter(|it| wanted(&it.verdict)).count();
    let looked_at = counted(is_judged);
    let skipped = counted(|verdict| matches!(verdict, Verdict::Skipped(_)));
    Coverage { looked_at, of: looked_at + skipped }
}

/// How many MUSTs are broken that nobody has waived.
pub(super) fn broken(findings: &[Finding]) -> usize {
    let failures = findings.iter().filter(|finding| finding.is_failure());
    failures.filter(|finding| finding.check.level == Level::Must).count()
}

fn is_judged(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Fail(_) | Verdict::Pass | Verdict::Warn(_))
}

/// What findings add up to. Waived ones do not count; warnings never do. `None` when fewer than half
/// of the MUSTs could be looked at: whoever sees so little cannot say how good an agent is. Without
/// anything to go by, `is_known` is false.
pub(super) fn of(findings: &[Finding], is_known: bool) -> Option<Grade> {
    let coverage = coverage(findings);
    if !is_known && (coverage.of == 0 || coverage.is_enough()) {
        return Some(Grade::F);
    }
    if !coverage.is_enough() {
        return None;
    }
    let count = |level: Level, wanted: fn(&Verdict) -> bool| {
        let counted = findings.iter().filter(|finding| {
            finding.check.level == level && finding.waived.is_none() && wanted(&finding.verdict)
        });
        counted.count()
    };
    let failed = |verdict: &Verdict| matches!(verdict, Verdict::Fail(_));
    let (broken, musts) = (broken(findings), count(Level::Must, is_judged));
    Some(if broken == 0 {
        if count(Level::Should, failed) > 0 { Grade::B } else { Grade::A }
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
