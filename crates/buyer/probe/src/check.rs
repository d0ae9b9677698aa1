//! Checks and their verdicts.

use std::pin::Pin;

use tradepost_document::catalog;
use tradepost_document::catalog::Vocabulary;

use super::run::ProbeRun;

catalog! {
    /// Weight of a requirement, in the words of RFC 2119; the heaviest first.
    pub enum RequirementLevel {}
    /// The specification leaves no choice: only violations of these decide between good and bad.
    Must = "MUST" {}
    /// There may be reasons to deviate.
    Should = "SHOULD" {}
    /// Optional; reported and never counted.
    May = "MAY" {}
}

catalog! {
    /// Specification that a check belongs to, as the command line names it.
    pub enum CheckProfile {}
    /// Agent2Agent protocol, v1.0.
    A2a = "a2a" {}
    /// Car dealers' profile, v1.0 and v1.1.
    Aap = "aap" {}
    /// Advertising sellers' protocol, 3.1.
    Adcp = "adcp" {}
}

/// Target that a check is run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The agent card, once.
    Card,
    /// Each binding of A2A that the card offers and that can be probed.
    Binding,
    /// JSON-RPC only.
    JsonRpc,
    /// HTTP+JSON only.
    Rest,
    /// gRPC only.
    Grpc,
    /// Each version of AAP that the card declares.
    Version,
    /// Each binding of an AdCP seller: MCP, and A2A when the card names AdCP.
    Seller,
    /// MCP only.
    Mcp,
    /// All recorded exchanges, once, at the end.
    End,
}

/// Requirement, with a function that checks it.
pub struct Check {
    /// Name, which never changes: `a2a.card.etag`.
    pub id: &'static str,
    /// Target.
    pub on: On,
    /// Weight.
    pub level: RequirementLevel,
    /// Ids of the requirements.
    pub requirements: &'static [&'static str],
    /// Section of the specification.
    pub section: &'static str,
    /// Expected behaviour, as a sentence.
    pub title: &'static str,
    /// Reason for the requirement.
    pub why: &'static str,
    /// Advice for the agent's developer.
    pub fix: &'static str,
    pub(super) run: for<'r> fn(&'r mut ProbeRun) -> CheckFuture<'r>,
}

impl Check {
    /// Returns the specification that the check belongs to: the first word of its name.
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

/// Verdict of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckVerdict {
    /// The requirement is satisfied.
    Pass,
    /// The requirement is violated: the violations.
    Fail(String),
    /// Permitted, but questionable: the observation. Never counted.
    Warn(String),
    /// The agent has nothing that the requirement applies to: the reason.
    NotApplicable(String),
    /// Skipped because the operator did not allow it or did not provide what it needs: the reason.
    Skipped(String),
    /// Could not be checked because of the agent's answers: the reason. Counts against the grade.
    NotLookedAt(String),
}

impl CheckVerdict {
    /// Returns the name in reports.
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

    /// Returns the verdict's explanation; empty for a pass.
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

/// Verdict; `?` returns early with an `Err`, which is a verdict too.
pub(super) type CheckResult = Result<CheckVerdict, CheckVerdict>;

/// Running check.
pub(super) type CheckFuture<'r> = Pin<Box<dyn Future<Output = CheckResult> + Send + 'r>>;

/// Returns the verdict that the requirement is violated.
pub(super) fn fail<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::Fail(why.into()))
}

/// Returns the verdict that the requirement does not apply.
pub(super) fn not_applicable<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::NotApplicable(why.into()))
}

/// Returns a warning.
pub(super) fn warn(what: impl Into<String>) -> CheckResult {
    Ok(CheckVerdict::Warn(what.into()))
}

/// Returns the verdict that the check is skipped.
pub(super) fn skip<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::Skipped(why.into()))
}

/// Skips the check when `holds`.
pub(super) fn skip_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { skip(why) } else { Ok(()) }
}

/// Returns the verdict that the agent's answers do not allow the check.
pub(super) fn not_looked_at<T>(why: impl Into<String>) -> Result<T, CheckVerdict> {
    Err(CheckVerdict::NotLookedAt(why.into()))
}

/// Ends the check as impossible when `holds`.
pub(super) fn not_looked_at_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { not_looked_at(why) } else { Ok(()) }
}

/// Returns the value, or ends the check as impossible when it is absent.
pub(super) fn or_not_looked_at<T>(
    value: Option<T>,
    otherwise: impl Into<String>,
) -> Result<T, CheckVerdict> {
    value.map_or_else(|| not_looked_at(otherwise), Ok)
}

/// Passes when `holds`, and otherwise fails.
pub(super) fn pass_if(holds: bool, otherwise: impl Into<String>) -> CheckResult {
    if holds { Ok(CheckVerdict::Pass) } else { fail(otherwise) }
}

/// Fails the check when `holds`.
pub(super) fn fail_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { fail(why) } else { Ok(()) }
}

/// Ends the check as not applicable when `holds`.
pub(super) fn not_applicable_if(holds: bool, why: impl Into<String>) -> Result<(), CheckVerdict> {
    if holds { not_applicable(why) } else { Ok(()) }
}

/// Returns the value, or fails the check when it is absent.
pub(super) fn or_fail<T>(
    value: Option<T>,
    otherwise: impl Into<String>,
) -> Result<T, CheckVerdict> {
    value.map_or_else(|| fail(otherwise), Ok)
}

/// Returns the value, or ends the check as not applicable when it is absent.
pub(super) fn or_not_applicable<T>(
    value: Option<T>,
    otherwise: impl Into<String>,
) -> Result<T, CheckVerdict> {
    value.map_or_else(|| not_applicable(otherwise), Ok)
}

/// Checks that a refusal has one of these codes; the first is the expected one.
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

/// Passes when nothing is wrong, and otherwise fails with the first five problems.
pub(super) fn verdict_of(wrong: &[String]) -> CheckResult {
    const SHOWN: usize = 5;
    if wrong.is_empty() {
        return Ok(CheckVerdict::Pass);
    }
    let shown: Vec<_> = wrong.iter().take(SHOWN).map(String::as_str).collect();
    let more = wrong.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    fail(format!("{}{more}", shown.join("; ")))
}

/// Table of checks. Each row has: name, target, level, requirements, section, title, reason, advice, and the function
/// with its arguments.
macro_rules! checks {
    ($(
        $id:literal, $on:ident, $level:ident, [$($requirement:literal),* $(,)?], $section:literal,
        $title:literal, $why:expr, $fix:expr => $run:ident($($argument:expr),* $(,)?);
    )*) => {
        &[$($crate::check::Check {
            id: $id,
            on: $crate::check::On::$on,
            level: $crate::check::RequirementLevel::$level,
            requirements: &[$($requirement),*],
            section: $section,
            title: $title,
            why: $why,
            fix: $fix,
            run: |run| Box::pin($run(run $(, $argument)*)),
        }),*]
    };
}
pub(super) use checks;
