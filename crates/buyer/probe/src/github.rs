//! Annotations of GitHub Actions, as workflow commands: [`annotation`] writes a single one, and [`write()`] the
//! report of a probe, with a command for each failure whose severity follows the requirement's level.

use std::fmt::Write as _;

use super::check::RequirementLevel;
use super::report::AgentReport;

/// Severity of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Shown in red.
    Error,
    /// Shown in yellow.
    Warning,
    /// Shown in blue.
    Notice,
}

impl Severity {
    /// Returns the workflow command.
    fn command(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

/// Returns a line with a command that shows a text under a title. Line breaks and delimiters in either are escaped.
#[must_use]
pub fn annotation(severity: Severity, title: &str, text: &str) -> String {
    format!("::{} title={}::{}\n", severity.command(), property(title), data(text))
}

/// Renders the report of a probe.
#[must_use]
pub fn write(report: &AgentReport) -> String {
    let mut out = String::new();
    for finding in report.failures() {
        let check = finding.check;
        let (severity, title) = match check.level {
            RequirementLevel::Must => (Severity::Error, "MUST is broken"),
            RequirementLevel::Should => (Severity::Warning, "SHOULD is not kept"),
            RequirementLevel::May => (Severity::Notice, "MAY is not done"),
        };
        let title = format!("{title}: {} on {}", check.id, finding.on);
        let text = format!(
            "{} ({})\nfound: {}\nfix: {}",
            check.title,
            check.section,
            finding.verdict.text(),
            check.fix
        );
        out.push_str(&annotation(severity, &title, &text));
    }
    let failed = report.breaks_a_must() || report.grade.is_none();
    let severity = if failed { Severity::Error } else { Severity::Notice };
    let mut text = format!("{}: {}: {}", report.address, report.verdict(), report.meaning());
    if let Some(why) = &report.stopped {
        let _ = write!(text, "; {why}");
    }
    out.push_str(&annotation(severity, "tradepost probe", &text));
    out
}

/// Escapes the text of a command as GitHub's own toolkit does (`escapeData`), and removes control characters.
fn data(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            other if other.is_control() => {}
            other => out.push(other),
        }
    }
    out
}

/// Escapes a property of a command (`escapeProperty`).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
