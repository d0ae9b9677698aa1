//! How good is good: one letter.

use serde::Serialize;

use super::check::{Level, Verdict};
use super::report::Finding;

/// The grade of an agent. A and B mean that no MUST is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Nothing failed.
    A,
    /// No MUST failed. A SHOULD did, or more MUSTs were skipped than judged.
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
            Self::B => {
                "keeps every MUST that was checked, but not every SHOULD, or much was skipped"
            }
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

/// What findings add up to. Waived ones do not count; warnings never do. Without anything to go by,
/// `is_known` is false.
pub(super) fn of(findings: &[Finding], is_known: bool) -> Grade {
    let count = |level: Level, wanted: fn(&Verdict) -> bool| {
        let counted = findings.iter().filter(|finding| {
            finding.check.level == level && finding.waived.is_none() && wanted(&finding.verdict)
        });
        counted.count()
    };
    let failed = |verdict: &Verdict| matches!(verdict, Verdict::Fail(_));
    let judged =
        |verdict: &Verdict| matches!(verdict, Verdict::Fail(_) | Verdict::Pass | Verdict::Warn(_));
    let skipped = |verdict: &Verdict| matches!(verdict, Verdict::Skipped(_));
    let (broken, musts) = (count(Level::Must, failed), count(Level::Must, judged));
    if !is_known {
        Grade::F
    } else if broken == 0 {
        let is_thin = count(Level::Must, skipped) > musts;
        if count(Level::Should, failed) > 0 || is_thin { Grade::B } else { Grade::A }
    } else if broken * 20 <= musts {
        Grade::C
    } else if broken * 20 <= musts * 3 {
        Grade::D
    } else if broken * 10 <= musts * 3 {
        Grade::E
    } else {
        Grade::F
    }
}
