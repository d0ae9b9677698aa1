//! Reports in Markdown, for the summary of a job or a comment: [`plain`] escapes text of other parties, [`table`]
//! renders tables, and [`write()`] renders the report of a probe: failures, counts, and what could not be checked.

use std::fmt::Write as _;

use tradepost_document::catalog::Vocabulary as _;

use super::check::RequirementLevel;
use super::html::is_hidden;
use super::report::AgentReport;

/// Renders the report of a probe.
#[must_use]
pub fn write(report: &AgentReport) -> String {
    let mut out = String::new();
    let name = if report.agent.is_empty() { &report.address } else { &report.agent };
    let _ = writeln!(out, "## {}: {}\n", plain(name), report.verdict());
    let colon = if report.grade.is_some() { "" } else { ":" };
    let _ = writeln!(out, "{}{colon} {}.", plain(&report.address), plain(&report.meaning()));
    if let Some(why) = &report.stopped {
        let _ = writeln!(out, "\nEnded early: {}.", plain(why));
    }
    let failures = report.failures();
    if !failures.is_empty() {
        out.push_str("\n### What to fix\n\n");
        let row = |finding: &&super::report::CheckFinding| {
            let check = finding.check;
            let what = format!(
                "{} `{}` on {} ({})",
                plain(check.title),
                check.id,
                plain(&finding.on),
                plain(check.section)
            );
            let level = format!("**{}**", check.level.name());
            vec![level, what, plain(finding.verdict.text()), plain(check.fix)]
        };
        let rows: Vec<_> = failures.iter().map(row).collect();
        out.push_str(&table(&["", "check", "found", "fix"], &rows));
    }
    out.push_str("\n### Counts\n\n");
    let row = |level: &RequirementLevel| {
        let counts = report.counts(Some(*level));
        let figures = [
            counts.pass,
            counts.warn,
            counts.fail,
            counts.waived,
            counts.not_looked_at,
            counts.skipped,
            counts.not_applicable,
        ];
        let figures = figures.into_iter().map(|figure| figure.to_string());
        std::iter::once(level.name().to_owned()).chain(figures).collect()
    };
    let rows: Vec<_> = RequirementLevel::ALL.iter().map(row).collect();
    let head = [
        "",
        "kept",
        "with a warning",
        "not kept",
        "waived",
        "not looked at",
        "skipped",
        "does not apply",
    ];
    out.push_str(&table(&head, &rows));
    reasons(&mut out, report);
    let _ = writeln!(out, "\n{} requests.", report.requests);
    out
}

/// Renders the reasons for unchecked requirements, each once, and what the run did not cover.
fn reasons(out: &mut String, report: &AgentReport) {
    let unjudged = report.unjudged();
    if unjudged.is_empty() && report.left_out.is_empty() {
        return;
    }
    out.push_str("\n### Not looked at\n\n");
    for reason in unjudged {
        let checks = if reason.checks == 1 { "check" } else { "checks" };
        let skipped = if reason.by_agent { "" } else { " skipped" };
        let _ = writeln!(out, "- {} {checks}{skipped}: {}", reason.checks, plain(reason.reason));
    }
    for text in &report.left_out {
        let _ = writeln!(out, "- {}", plain(text));
    }
}

/// Renders a table. Cells are written unchanged: text of other parties must be escaped with [`plain`] before.
#[must_use]
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    let line = |out: &mut String, cells: &mut dyn Iterator<Item = &str>| {
        out.push('|');
        for cell in cells {
            let _ = if cell.is_empty() { write!(out, " |") } else { write!(out, " {cell} |") };
        }
        out.push('\n');
    };
    line(&mut out, &mut head.iter().copied());
    let _ = writeln!(out, "|{}", "---|".repeat(head.len()));
    for row in rows {
        line(&mut out, &mut row.iter().map(String::as_str));
    }
    out
}

/// Escapes a text so that it contains no markup, link, mention or line break.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A mention would notify people.
            '@' => out.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '(' | ')' | '|' | '#' | '!' | '~' => {
                out.push('\\');
                out.push(character);
            }
            '\n' | '\r' | '\t' => out.push(' '),
            other if is_hidden(other) => {
                let _ = write!(out, "\\\\u{:04x}", u32::from(other));
            }
            other => out.push(other),
        }
    }
    // GitHub turns bare addresses into links.
    out.replace("://", "&#58;//").replace("www.", "www&#46;")
}
