//! Reports in JUnit's XML for continuous integration: [`Document`] is the general format, and [`write()`] renders the
//! report of a probe, with a suite for each target.
//!
//! A `failure` turns a build red, so only a violated MUST is one, as for the exit code. A violated SHOULD or MAY is a
//! skipped test with an explanation; each test has its level as a property. A missing grade is the one error of a
//! suite of its own.

use std::fmt::Write as _;

use tradepost_document::catalog::Vocabulary as _;

use super::check::{CheckVerdict, RequirementLevel};
use super::report::{AgentReport, CheckFinding, words};

/// Document with suites of tests under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Subject and overall result.
    pub name: String,
    /// Suites, in order.
    pub suites: Vec<Suite>,
}

/// Suite of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Name.
    pub name: String,
    /// Tests, in order.
    pub cases: Vec<Case>,
}

/// Test case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Class name, which groups tests.
    pub class: String,
    /// Name.
    pub name: String,
    /// Value of the property `level`, if the test has one.
    pub level: Option<&'static str>,
    /// Outcome.
    pub outcome: Outcome,
}

/// Outcome of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The test succeeded.
    Passed,
    /// The test succeeded, with a note.
    Noted(String),
    /// The test failed, which turns a build red.
    Failed {
        /// Kind of failure.
        kind: &'static str,
        /// Finding.
        message: String,
        /// Advice.
        text: String,
    },
    /// The test could not be run, which turns a build red.
    Error {
        /// Kind of error.
        kind: &'static str,
        /// Reason.
        message: String,
    },
    /// The test does not count.
    Skipped {
        /// Reason.
        message: String,
        /// Advice, if there is any.
        text: Option<String>,
    },
}

impl Outcome {
    fn is_failure(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }

    fn is_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }

    fn is_skipped(&self) -> bool {
        matches!(self, Self::Skipped { .. })
    }
}

impl Suite {
    fn count(&self, wanted: fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| wanted(&case.outcome)).count()
    }
}

impl Document {
    /// Renders the document. Text of other parties is escaped.
    #[must_use]
    pub fn write(&self) -> String {
        let count = |wanted: fn(&Outcome) -> bool| -> usize {
            self.suites.iter().map(|suite| suite.count(wanted)).sum()
        };
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let _ = writeln!(
            out,
            "<testsuites name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
            escape(&self.name),
            count(|_| true),
            count(Outcome::is_failure),
            count(Outcome::is_error),
        );
        for suite in &self.suites {
            let _ = writeln!(
                out,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
                escape(&suite.name),
                suite.cases.len(),
                suite.count(Outcome::is_failure),
                suite.count(Outcome::is_error),
                suite.count(Outcome::is_skipped),
            );
            for case in &suite.cases {
                case.write(&mut out);
            }
            out.push_str("  </testsuite>\n");
        }
        out.push_str("</testsuites>\n");
        out
    }
}

impl Case {
    fn write(&self, out: &mut String) {
        let class = escape(&self.class);
        let name = escape(&self.name);
        let _ = write!(out, "    <testcase classname=\"{class}\" name=\"{name}\">");
        if let Some(level) = self.level {
            let _ = write!(
                out,
                "<properties><property name=\"level\" value=\"{}\"/></properties>",
                escape(level)
            );
        }
        match &self.outcome {
            Outcome::Passed => {}
            Outcome::Noted(text) => {
                let _ = write!(out, "<system-out>{}</system-out>", escape(text));
            }
            Outcome::Failed { kind, message, text } => {
                let _ = write!(
                    out,
                    "<failure type=\"{}\" message=\"{}\">{}</failure>",
                    escape(kind),
                    escape(message),
                    escape(text)
                );
            }
            Outcome::Error { kind, message } => {
                let kind = escape(kind);
                let message = escape(message);
                let _ = write!(out, "<error type=\"{kind}\" message=\"{message}\"/>");
            }
            Outcome::Skipped { message, text } => {
                let _ = write!(out, "<skipped message=\"{}\"/>", escape(message));
                if let Some(text) = text {
                    let _ = write!(out, "<system-out>{}</system-out>", escape(text));
                }
            }
        }
        out.push_str("</testcase>\n");
    }
}

/// Renders the report of a probe.
#[must_use]
pub fn write(report: &AgentReport) -> String {
    let mut suites = Vec::new();
    if report.grade.is_none() {
        let name = "enough could be looked at for a grade".to_owned();
        let outcome = Outcome::Error { kind: "no grade", message: report.meaning() };
        let case = Case { class: "grade".to_owned(), name, level: None, outcome };
        suites.push(Suite { name: "grade".to_owned(), cases: vec![case] });
    }
    suites.extend(report.by_place().into_iter().map(|(name, findings)| Suite {
        name: name.to_owned(),
        cases: findings.into_iter().map(case).collect(),
    }));
    let name = format!("tradepost probe {}: {}", report.address, report.verdict());
    Document { name, suites }.write()
}

fn case(finding: &CheckFinding) -> Case {
    let check = finding.check;
    let level = check.level.name();
    let found = finding.verdict.text();
    let text = format!("{} ({}). {}", check.section, check.requirements.join(", "), check.fix);
    let words = words(finding);
    let outcome = match (&finding.verdict, &finding.waived) {
        (CheckVerdict::Pass, _) => Outcome::Passed,
        (CheckVerdict::Fail(_), Some(reason)) => {
            Outcome::Skipped { message: format!("waived: {reason}"), text: None }
        }
        (CheckVerdict::Fail(_), None) if check.level == RequirementLevel::Must => {
            Outcome::Failed { kind: level, message: found.to_owned(), text }
        }
        (CheckVerdict::Fail(_), None) => {
            Outcome::Skipped { message: format!("{level} {words}: {found}"), text: Some(text) }
        }
        (CheckVerdict::Warn(_), _) => Outcome::Noted(format!("warning: {found}")),
        (
            CheckVerdict::NotApplicable(_)
            | CheckVerdict::Skipped(_)
            | CheckVerdict::NotLookedAt(_),
            _,
        ) => Outcome::Skipped { message: format!("{words}: {found}"), text: None },
    };
    Case {
        class: format!("{level} {}", finding.on),
        name: format!("{}: {}", check.id, check.title),
        level: Some(level),
        outcome,
    }
}

/// Escapes text for XML; characters that XML does not permit become question marks.
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
