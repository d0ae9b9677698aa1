//! The report in Markdown, as a summary of a job or a comment: what to mend first, then the counts,
//! and what was not looked at.

use std::fmt::Write as _;

use tradepost_wire::catalog::Vocabulary as _;

use super::check::{Level, Verdict};
use super::html::is_hidden;
use super::report::Report;

/// Writes the report.
#[must_use]
pub fn write(report: &Report) -> String {
    let mut out = String::new();
    let name = if report.agent.is_empty() { &report.address } else { &report.agent };
    let coverage = report.coverage();
    match report.grade {
        Some(grade) => {
            let _ = writeln!(out, "## {}: grade {}\n", cell(name), grade.letter());
            let _ = writeln!(out, "{} {}.", cell(&report.address), grade.meaning());
        }
        None => {
            let _ = writeln!(out, "## {}: no grade\n", cell(name));
            let _ = writeln!(
                out,
                "{}: only {} of {} MUSTs could be looked at, which is too little for a grade.",
                cell(&report.address),
                coverage.looked_at,
                coverage.of
            );
        }
    }
    if let Some(why) = &report.stopped {
        let _ = writeln!(out, "\nEnded early: {}.", cell(why));
    }
    let failures = report.failures();
    if !failures.is_empty() {
        out.push_str("\n### What to mend\n\n| | check | found | mend |\n|---|---|---|---|\n");
    }
    for finding in failures {
        let check = finding.check;
        let _ = writeln!(
            out,
            "| **{}** | {} `{}` on {} ({}) | {} | {} |",
            check.level.name(),
            cell(check.title),
            check.id,
            cell(&finding.on),
            cell(check.section),
            cell(finding.verdict.text()),
            cell(check.mend)
        );
    }
    out.push_str(
        "\n### Counts\n\n| | kept | with a warning | not kept | waived | not looked at | does not apply |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for level in Level::ALL.iter().copied() {
        let counts = report.counts(Some(level));
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            level.name(),
            counts.pass,
            counts.warn,
            counts.fail,
            counts.waived,
            counts.skipped,
            counts.not_applicable
        );
    }
    reasons(&mut out, report);
    let _ = writeln!(out, "\n{} requests.", report.requests);
    out
}

/// Why checks were skipped, and what was left out, each reason once.
fn reasons(out: &mut String, report: &Report) {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for finding in &report.findings {
        if let Verdict::Skipped(why) = &finding.verdict {
            match reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, count)) => *count += 1,
                None => reasons.push((why, 1)),
            }
        }
    }
    if reasons.is_empty() && report.left_out.is_empty() {
        return;
    }
    out.push_str("\n### Not looked at\n\n");
    for (why, count) in reasons {
        let checks = if count == 1 { "check" } else { "checks" };
        let _ = writeln!(out, "- {count} {checks}: {}", cell(why));
    }
    for text in &report.left_out {
        let _ = writeln!(out, "- {}", cell(text));
    }
}

/// Text for a cell of a table: of what an agent wrote nothing is markup, a link or a line of its own.
fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // A mention would call people.
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
    // GitHub makes links of bare addresses.
    out.replace("://", "&#58;//").replace("www.", "www&#46;")
}
