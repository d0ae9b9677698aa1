//! Reports for continuous integration in JUnit's XML: the document ([`Document`]) for whoever has tests
//! to report, and the report of a probe ([`write()`]), with a suite for each thing probed.
//!
//! A `failure` is what turns a build red, so that only a broken MUST is one, as it is for the exit
//! code. A SHOULD that is not kept, or a MAY that is not done, is a skipped test that says so; and
//! each test has its level as a property. Where there is no grade a suite of its own has the one error.

use std::fmt::Write as _;

use tradepost_wire::catalog::Vocabulary as _;

use super::check::{CheckVerdict, RequirementLevel};
use super::report::{AgentReport, CheckFinding, words};

/// A document: suites of tests under one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// What was tested, and what came of it.
    pub name: String,
    /// The suites, in order.
    pub suites: Vec<Suite>,
}

/// A suite of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Its tests, in order.
    pub cases: Vec<Case>,
}

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// What it belongs to.
    pub class: String,
    /// Its name.
    pub name: String,
    /// How much it weighs, where it has a property `level` for that.
    pub level: Option<&'static str>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Passed,
    /// It succeeded, and there is something to say besides.
    Noted(String),
    /// It failed, which turns a build red.
    Failed {
        /// What kind of failure it is.
        kind: &'static str,
        /// What was found.
        message: String,
        /// What to do about it.
        text: String,
    },
    /// It could not be made, which turns a build red.
    Error {
        /// What kind of error it is.
        kind: &'static str,
        /// Why.
        message: String,
    },
    /// It does not count.
    Skipped {
        /// Why.
        message: String,
        /// What to do about it, where there is something to do.
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
    /// Writes it. Texts of others become neither elements nor attributes.
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

/// Writes the report of a probe.
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
    let said = finding.verdict.text();
    let text = format!("{} ({}). {}", check.section, check.requirements.join(", "), check.mend);
    let words = words(finding);
    let outcome = match (&finding.verdict, &finding.waived) {
        (CheckVerdict::Pass, _) => Outcome::Passed,
        (CheckVerdict::Fail(_), Some(reason)) => {
            Outcome::Skipped { message: format!("waived: {reason}"), text: None }
        }
        (CheckVerdict::Fail(_), None) if check.level == RequirementLevel::Must => {
            Outcome::Failed { kind: level, message: said.to_owned(), text }
        }
        (CheckVerdict::Fail(_), None) => {
            Outcome::Skipped { message: format!("{level} {words}: {said}"), text: Some(text) }
        }
        (CheckVerdict::Warn(_), _) => Outcome::Noted(format!("warning: {said}")),
        (
            CheckVerdict::NotApplicable(_)
            | CheckVerdict::Skipped(_)
            | CheckVerdict::NotLookedAt(_),
            _,
        ) => Outcome::Skipped { message: format!("{words}: {said}"), text: None },
    };
    Case {
        class: format!("{level} {}", finding.on),
        name: format!("{}: {}", check.id, check.title),
        level: Some(level),
        outcome,
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
