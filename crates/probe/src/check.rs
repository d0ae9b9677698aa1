//! What a check is, and what can come of one.

use std::pin::Pin;

use tradepost_wire::catalog;
use tradepost_wire::catalog::Vocabulary;

use super::run::ProbeRun;

catalog! {
    /// How much a requirement weighs, in the words of RFC 2119; the heaviest first.
    pub enum RequirementLevel {}
    /// The specification leaves no choice: only these decide between good and bad.
    Must = "MUST" {}
    /// There may be reasons to do otherwise.
    Should = "SHOULD" {}
    /// A matter of taste; told, and never counted.
    May = "MAY" {}
}

catalog! {
    /// Which specification a check belongs to, as the command line writes it.
    pub enum CheckProfile {}
    /// A2A v1.0.
    A2a = "a2a" {}
    /// The car dealers' profile, v1.0 and v1.1.
    Aap = "aap" {}
    /// The advertising sellers' protocol, 3.1.
    Adcp = "adcp" {}
}

/// What a check is run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The agent card: once.
    Card,
    /// Each binding of A2A that the card offers and that can be probed.
    Binding,
    /// JSON-RPC alone.
    JsonRpc,
    /// HTTP+JSON alone.
    Rest,
    /// gRPC alone.
    Grpc,
    /// Each version of AAP that the card declares.
    Version,
    /// Each way in which an AdCP seller can be asked: MCP, and A2A where the card names AdCP.
    Seller,
    /// MCP alone.
    Mcp,
    /// Everything that was seen: once, at the end.
    End,
}

/// A requirement and how to find out whether it is kept.
pub struct Check {
    /// Its name, which never changes: `a2a.card.etag`.
    pub id: &'static str,
    /// What it is run on.
    pub on: On,
    /// How much it weighs.
    pub level: RequirementLevel,
    /// The ids of the requirements.
    pub requirements: &'static [&'static str],
    /// Where the specification says so.
    pub section: &'static str,
    /// What should be true, as a sentence.
    pub title: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How to mend it.
    pub mend: &'static str,
    pub(super) run: for<'r> fn(&'r mut ProbeRun) -> Judging<'r>,
}

impl Check {
    /// The specification that it belongs to: the first word of its name.
    #[must_use]
    pub fn profile(&self) -> CheckProfile {
        match self.id.split('.').next() {
            Some("aap") => CheckProfile::Aap,
            Some("adcp") => CheckProfile::Adcp,
            Some(_) | None => CheckProfile::A2a,
        }
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Check").field("id", &self.id).field("level", &self.level).finish()
    }
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckVerdict {
    /// The requirement is kept.
    Pass,
    /// It is not: what is wrong.
    Fail(String),
    /// Permitted, and worth a look: what was seen. Never counted.
    Warn(String),
    /// There is nothing here that the requirement is about: why.
    NotApplicable(String),
    /// Was left out by whoever probes, who did not allow it or give what it takes: why.
    Skipped(String),
    /// Could not be looked at, because of what the agent answers: why. Counts against the grade.
    NotLookedAt(String),
}

impl CheckVerdict {
    /// The word of the report.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Warn(_) => "warn",
            Self::NotApplicable(_) => "not_applicable",
            Self::Skipped(_) => "skipped",
            Self::NotLookedAt(_) => "not_looked_at",
        }
    }

    /// What there is to say besides.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Pass => "",
            Self::Fail(text)
            | Self::Warn(text)
            | Self::NotApplicable(text)
            | Self::Skipped(text)
            | Self::NotLookedAt(text) => text,
        }
    }
}

/// A verdict, with `?` for one that comes early.
pub(super) type CheckResult = Result<CheckVerdict, CheckVerdict>;

/// A check that is being run.
pub(super) type Judging<'r> = Pin<Box<dyn Future<Output = CheckResult> + Send + 'r>>;

/// The requirement is not kept.
pub(super) fn fail<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::Fail(why.into()))
}

/// There is nothing that the requirement is about.
pub(super) fn not_here<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::NotApplicable(why.into()))
}

/// Permitted, and worth a look.
pub(super) fn warn(what: impl Into<String>) -> CheckResult {
    Ok(CheckVerdict::Warn(what.into()))
}

/// It could be found out, and whoever probes leaves it out.
pub(super) fn skip<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::Skipped(why.into()))
}

/// Goes on unless this holds: then whoever probes leaves it out.
pub(super) fn skip_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { skip(why) } else { Ok(()) }
}

/// The agent answers so that the requirement cannot be looked at.
pub(super) fn unseen<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::NotLookedAt(why.into()))
}

/// Goes on unless this holds: then the requirement cannot be looked at.
pub(super) fn unseen_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { unseen(why) } else { Ok(()) }
}

/// What the requirement is judged by, where it was seen: without it the requirement cannot be looked at.
pub(super) fn seen<T>(value: Option<T>, otherwise: impl Into<String>) -> Result<T, CheckVerdict> {
    value.map_or_else(|| unseen(otherwise), Ok)
}

/// The requirement is kept where this holds.
pub(super) fn kept(holds: bool, otherwise: impl Into<String>) -> CheckResult {
    if holds { Ok(CheckVerdict::Pass) } else { fail(otherwise) }
}

/// Goes on unless this holds: then the requirement is not kept.
pub(super) fn fail_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { fail(why) } else { Ok(()) }
}

/// Goes on unless this holds: then there is nothing that the requirement is about.
pub(super) fn not_here_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { not_here(why) } else { Ok(()) }
}

/// What has to be there: without it the requirement is not kept.
pub(super) fn needed<T>(value: Option<T>, otherwise: impl Into<String>) -> Result<T, CheckVerdict> {
    value.map_or_else(|| fail(otherwise), Ok)
}

/// What the requirement is about, where it is there.
pub(super) fn found<T>(value: Option<T>, otherwise: impl Into<String>) -> Result<T, CheckVerdict> {
    value.map_or_else(|| not_here(otherwise), Ok)
}

/// Judges whether a refusal has one of these codes; the first is the expected one.
pub(super) fn one_of<C: Vocabulary>(
    codes: &[C],
    code: Option<&str>,
    describe: impl FnOnce() -> String,
) -> CheckResult {
    let names: Vec<_> = codes.iter().map(|code| code.name()).collect();
    if code.is_some_and(|code| names.contains(&code)) {
        return Ok(CheckVerdict::Pass);
    }
    fail(format!("expected {}, and got {}", names.join(" or "), describe()))
}

/// Passes when nothing is wrong.
pub(super) fn judge(wrong: &[String]) -> CheckResult {
    const SHOWN: usize = 5;
    if wrong.is_empty() {
        return Ok(CheckVerdict::Pass);
    }
    let shown: Vec<_> = wrong.iter().take(SHOWN).map(String::as_str).collect();
    let more = wrong.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    fail(format!("{}{more}", shown.join("; ")))
}

/// A table of checks. Each row reads: name, what it is run on, level, requirements, section, title,
/// why it matters, how to mend it, and the function with its arguments.
macro_rules! checks {
    ($(
        $id:literal, $on:ident, $level:ident, [$($requirement:literal),* $(,)?], $section:literal,
        $title:literal, $why:expr, $mend:expr => $run:ident($($argument:expr),* $(,)?);
    )*) => {
        &[$($crate::check::Check {
            id: $id,
            on: $crate::check::On::$on,
            level: $crate::check::RequirementLevel::$level,
            requirements: &[$($requirement),*],
            section: $section,
            title: $title,
            why: $why,
            mend: $mend,
            run: |run| Box::pin($run(run $(, $argument)*)),
        }),*]
    };
}
pub(super) use checks;
