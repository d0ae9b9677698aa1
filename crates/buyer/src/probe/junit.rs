//! The report for continuous integration: JUnit's XML, a suite for each thing probed.

use std::fmt::Write as _;

use super::check::Verdict;
use super::report::{Finding, Report};

/// Writes the report.
#[must_use]
pub fn write(report: &Report) -> String {
    let mut suites: Vec<(&str, Vec<&Finding>)> = Vec::new();
    for finding in &report.findings {
        match suites.iter_mut().find(|(name, _)| *name == finding.on) {
            Some((_, findings)) => findings.push(finding),
            None => suites.push((&finding.on, vec![finding])),
        }
    }
    let counts = report.counts(None);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\">",
        escape(&format!("tradepost probe {}: grade {}", report.address, report.grade.letter())),
        report.findings.len(),
        counts.fail
    );
    for (name, findings) in suites {
        let failures = findings.iter().filter(|finding| finding.is_failure()).count();
        let left = findings.iter().filter(|finding| is_left(finding)).count();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" skipped=\"{left}\">",
            escape(name),
            findings.len(),
        );
        for finding in findings {
            case(&mut out, finding);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn is_left(finding: &Finding) -> bool {
    finding.waived.is_some()
        || matches!(finding.verdict, Verdict::NotApplicable(_) | Verdict::Skipped(_))
}

fn case(out: &mut String, finding: &Finding) {
    let check = finding.check;
    let _ = write!(
        out,
        "    <testcase classname=\"{} {}\" name=\"{}: {}\"",
        check.level.name(),
        escape(&finding.on),
        escape(check.id),
        escape(check.title)
    );
    let text = escape(finding.verdict.text());
    match (&finding.verdict, &finding.waived) {
        (Verdict::Pass, _) => out.push_str("/>\n"),
        (Verdict::Fail(_), None) => {
            let _ = writeln!(
                out,
                "><failure type=\"{}\" message=\"{text}\">{} ({}). {}</failure></testcase>",
                check.level.name(),
                escape(check.section),
                escape(&check.requirements.join(", ")),
                escape(check.mend)
            );
        }
        (Verdict::Fail(_), Some(reason)) => {
            let reason = escape(reason);
            let _ = writeln!(out, "><skipped message=\"waived: {reason}\"/></testcase>");
        }
        (Verdict::Warn(_), _) => {
            let _ = writeln!(out, "><system-out>warning: {text}</system-out></testcase>");
        }
        (Verdict::NotApplicable(_) | Verdict::Skipped(_), _) => {
            let name = finding.verdict.name().replace('_', " ");
            let _ = writeln!(out, "><skipped message=\"{name}: {text}\"/></testcase>");
        }
    }
}

/// Text for XML; what XML cannot hold becomes a question mark.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            other if other.is_control() || matches!(other, '\u{fffe}' | '\u{ffff}') => {
                out.push('?')
            }
            other => out.push(other),
        }
    }
    out
}
