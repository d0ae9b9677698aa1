//! The report as annotations of GitHub Actions: a workflow command for each failure, of the level
//! that its requirement has.

use std::fmt::Write as _;

use super::check::Level;
use super::report::Report;

/// Writes the report. Nothing that an agent wrote begins a line or ends a command.
#[must_use]
pub fn write(report: &Report) -> String {
    let mut out = String::new();
    for finding in report.failures() {
        let check = finding.check;
        let (command, title) = match check.level {
            Level::Must => ("error", "MUST is broken"),
            Level::Should => ("warning", "SHOULD is not kept"),
            Level::May => ("notice", "MAY is not done"),
        };
        let title = format!("{title}: {} on {}", check.id, finding.on);
        let text = format!(
            "{} ({})\nfound: {}\nmend: {}",
            check.title,
            check.section,
            finding.verdict.text(),
            check.mend
        );
        let _ = writeln!(out, "::{command} title={}::{}", property(&title), data(&text));
    }
    let coverage = report.coverage();
    let outcome = match report.grade {
        Some(grade) => format!("grade {}: {}", grade.letter(), grade.meaning()),
        None => {
            format!("no grade: {} of {} MUSTs could be looked at", coverage.looked_at, coverage.of)
        }
    };
    let stopped = report.stopped.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
    let command = if report.breaks_a_must() || report.grade.is_none() { "error" } else { "notice" };
    let text = format!("{}: {outcome}{stopped}", report.address);
    let _ = writeln!(out, "::{command} title=tradepost probe::{}", data(&text));
    out
}

/// The text of a command. What has a meaning to whoever reads the log is escaped as GitHub's own
/// toolkit does it (`escapeData`), and characters that steer a terminal are left out.
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

/// A property of a command (`escapeProperty`).
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
