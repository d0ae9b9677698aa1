//! The report for continuous integration: JUnit's XML, a suite for each thing probed.
//!
//! A `failure` is what turns a build red, so that only a broken MUST is one, as it is for the exit
//! code. A SHOULD that is not kept, or a MAY that is not done, is a skipped test that says so; and
//! each test has its level as a property. Where too little could be looked at for a grade, and no
//! MUST is known to be broken, a suite of its own has the one error.

use std::fmt::Write as _;

use tradepost_wire::catalog::Vocabulary as _;

use super::check::{Level, Verdict};
use super::report::{Finding, Report, words};

/// Writes the report.
#[must_use]
pub fn write(report: &Report) -> String {
    let failures = report.findings.iter().filter(|finding| breaks(finding)).count();
    let errors = usize::from(report.grade.is_none());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\">",
        escape(&format!("tradepost probe {}: {}", report.address, report.verdict())),
        report.findings.len() + errors,
    );
    if errors > 0 {
        let why = escape(&report.meaning());
        let _ = writeln!(
            out,
            "  <testsuite name=\"grade\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
             <testcase classname=\"grade\" name=\"enough could be looked at for a grade\">\
             <error type=\"no grade\" message=\"{why}\"/></testcase>\n  </testsuite>"
        );
    }
    for (name, findings) in report.by_place() {
        let failures = findings.iter().filter(|finding| breaks(finding)).count();
        let left = findings.iter().filter(|finding| is_left(finding)).count();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" \
             skipped=\"{left}\">",
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

/// Whether it turns the build red.
fn breaks(finding: &Finding) -> bool {
    finding.is_failure() && finding.check.level == Level::Must
}

fn is_left(finding: &Finding) -> bool {
    match finding.verdict {
        Verdict::Pass | Verdict::Warn(_) => false,
        Verdict::Fail(_) => !breaks(finding),
        Verdict::NotApplicable(_) | Verdict::Skipped(_) => true,
    }
}

fn case(out: &mut String, finding: &Finding) {
    let check = finding.check;
    let level = check.level.name();
    let _ = write!(
        out,
        "    <testcase classname=\"{level} {}\" name=\"{}: {}\"><properties><property \
         name=\"level\" value=\"{level}\"/></properties>",
        escape(&finding.on),
        escape(check.id),
        escape(check.title)
    );
    let text = escape(finding.verdict.text());
    let source = format!("{} ({})", check.section, check.requirements.join(", "));
    let (source, mend) = (escape(&source), escape(check.mend));
    let words = words(finding);
    let _ = match (&finding.verdict, &finding.waived) {
        (Verdict::Pass, _) => Ok(()),
        (Verdict::Fail(_), None) if breaks(finding) => {
            write!(out, "<failure type=\"{level}\" message=\"{text}\">{source}. {mend}</failure>")
        }
        (Verdict::Fail(_), None) => write!(
            out,
            "<skipped message=\"{level} {words}: {text}\"/><system-out>{source}. {mend}</system-out>"
        ),
        (Verdict::Fail(_), Some(reason)) => {
            write!(out, "<skipped message=\"waived: {}\"/>", escape(reason))
        }
        (Verdict::Warn(_), _) => write!(out, "<system-out>warning: {text}</system-out>"),
        (Verdict::NotApplicable(_) | Verdict::Skipped(_), _) => {
            write!(out, "<skipped message=\"{words}: {text}\"/>")
        }
    };
    out.push_str("</testcase>\n");
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
