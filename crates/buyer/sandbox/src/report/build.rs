//! Reports for continuous integration, with the writers of the `probe` crate: JUnit with a test for each kind of
//! mistake, a summary in Markdown, and annotations of GitHub Actions.

use tradepost_client::text::{SENTENCE, plain as plain_text};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_probe::github::{Severity, annotation};
use tradepost_probe::junit::{Case, Document, Outcome, Suite};
use tradepost_probe::markdown::{plain, table};

use super::overview::Overview;
use super::{SHOWN, SandboxReport, describe_doubt, doubt_advice, means};
use crate::watch::{FindingKind, FindingLevel};

impl Overview {
    /// Returns the title: the script, and how all buyers behaved.
    fn title(&self) -> String {
        let script = self.reports.first().map(|report| report.script.as_str()).unwrap_or_default();
        let behaved = if self.is_well_behaved() { "well-behaved" } else { "badly behaved" };
        format!("sandbox {}: {behaved}", plain_text(script, SENTENCE))
    }
}

impl SandboxReport {
    /// Returns the heading for the buyer.
    fn heading(&self) -> String {
        match &self.buyer {
            Some(name) => format!("buyer {name}"),
            None => "buyer".to_owned(),
        }
    }

    /// Returns the number of findings of a kind and the first of them.
    fn lines(&self, finding: FindingKind) -> String {
        let count = self.counts.iter().find(|(known, _)| *known == finding);
        let count = count.map_or(0, |(_, count)| *count);
        let lines: Vec<String> =
            self.found(finding).take(SHOWN).map(|found| self.line(found)).collect();
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        format!("{times}: {}", lines.join("; "))
    }
}

/// Renders the report as JUnit XML. A wrong finding is a failure; unwise findings and requests in doubt are skipped
/// tests with an explanation.
pub(super) fn junit(overview: &Overview) -> String {
    let suites = overview.reports.iter().map(suite).collect();
    Document { name: format!("tradepost {}", overview.title()), suites }.write()
}

fn suite(report: &SandboxReport) -> Suite {
    let name = report.heading();
    let case = |level: &'static str, name: String, outcome: Outcome| Case {
        class: format!("{level} {}", report.heading()),
        name,
        level: Some(level),
        outcome,
    };
    if report.requests == 0 && report.counts.is_empty() {
        let outcome = Outcome::Skipped { message: "no request came".to_owned(), text: None };
        return Suite { name, cases: vec![case("wrong", "a request came".to_owned(), outcome)] };
    }
    let mut cases: Vec<Case> = Vec::new();
    for finding in FindingKind::ALL.iter().copied() {
        let level = finding.level().name();
        let was_made = report.counts.iter().any(|(known, _)| *known == finding);
        let text = format!("{}. {}", finding.rule(), finding.hint());
        let outcome = match (was_made, finding.level()) {
            (false, _) => Outcome::Passed,
            (true, FindingLevel::Wrong) => {
                Outcome::Failed { kind: level, message: report.lines(finding), text }
            }
            (true, FindingLevel::Unwise) => {
                let message = format!("{level}, {}", report.lines(finding));
                Outcome::Skipped { message, text: Some(text) }
            }
        };
        // The sentence of a finding describes the mistake, so the test is named after its absence.
        cases.push(case(level, format!("not {finding}: {}", means(finding)), outcome));
    }
    let ended = "every lead, message and task that was sent ended in an answer".to_owned();
    let outcome = match report.in_doubt.as_slice() {
        [] => Outcome::Passed,
        doubts => {
            let open: Vec<_> = doubts.iter().take(SHOWN).map(describe_doubt).collect();
            let message = format!("{} in doubt: {}", doubts.len(), open.join("; "));
            let text = doubts.first().map(doubt_advice);
            Outcome::Skipped { message, text }
        }
    };
    cases.push(case("in doubt", ended, outcome));
    Suite { name, cases }
}

/// Renders the report as Markdown.
pub(super) fn markdown(overview: &Overview) -> String {
    let mut out = format!("## {}\n\n", plain(&overview.title()));
    let row = |report: &SandboxReport| {
        vec![
            plain(&report.heading()),
            report.requests.to_string(),
            report.count(FindingLevel::Wrong).to_string(),
            report.count(FindingLevel::Unwise).to_string(),
            report.in_doubt.len().to_string(),
        ]
    };
    let rows: Vec<_> = overview.reports.iter().map(row).collect();
    out.push_str(&table(&["", "requests", "wrong", "unwise", "in doubt"], &rows));
    let mut rows = Vec::new();
    for report in &overview.reports {
        for (finding, _) in &report.counts {
            rows.push(vec![
                format!("**{}**", finding.level()),
                plain(&report.heading()),
                format!("{} `{finding}` ({})", plain(means(*finding)), plain(finding.rule())),
                plain(&report.lines(*finding)),
                plain(finding.hint()),
            ]);
        }
    }
    if !rows.is_empty() {
        out.push_str("\n### What to do better\n\n");
        out.push_str(&table(&["", "who", "what", "where", "instead"], &rows));
    }
    let mut rows = Vec::new();
    for report in &overview.reports {
        for doubt in &report.in_doubt {
            rows.push(vec![
                plain(&report.heading()),
                plain(&describe_doubt(doubt)),
                plain(&doubt_advice(doubt)),
            ]);
        }
    }
    if !rows.is_empty() {
        out.push_str("\n### In doubt\n\n");
        out.push_str(&table(&["who", "what", "then"], &rows));
    }
    out
}

/// Renders the report as annotations of GitHub Actions: errors for wrong findings, warnings for unwise ones, notices
/// for requests in doubt.
pub(super) fn github(overview: &Overview) -> String {
    let mut out = String::new();
    for report in &overview.reports {
        for (finding, _) in &report.counts {
            let (severity, title) = match finding.level() {
                FindingLevel::Wrong => (Severity::Error, "wrong"),
                FindingLevel::Unwise => (Severity::Warning, "unwise"),
            };
            let title = format!("{title}: {finding} of {}", report.heading());
            let text = format!(
                "{} ({})\n{}\ninstead: {}",
                means(*finding),
                finding.rule(),
                report.lines(*finding),
                finding.hint()
            );
            out.push_str(&annotation(severity, &title, &text));
        }
        for doubt in &report.in_doubt {
            let title = format!("in doubt: {}", report.heading());
            let text = format!("{}\n{}", describe_doubt(doubt), doubt_advice(doubt));
            out.push_str(&annotation(Severity::Notice, &title, &text));
        }
    }
    for report in &overview.reports {
        let severity = if report.is_well_behaved() { Severity::Notice } else { Severity::Error };
        let text = format!("{}: {}", report.heading(), report.verdict());
        out.push_str(&annotation(severity, "tradepost sandbox", &text));
    }
    out
}
