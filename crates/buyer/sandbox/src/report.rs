//! Report on a buyer, for programs and for people; [`overview`] is about all buyers, and `build` is for continuous
//! integration.

use std::fmt::Write as _;

use jiff::Timestamp;
use tradepost_client::text::{SENTENCE, WORD, plain};
use tradepost_document::catalog::Vocabulary as _;

use super::buyer::BuyerName;
use super::script::Script;
use super::target_name;
use super::watch::{
    BuyerGrader, BuyerMistake, FindingKind, FindingLevel, GradedExchange, UnknownResult,
};

pub mod overview;

mod build;

/// Maximum number of findings of one kind that are shown to people.
const SHOWN: usize = 5;

/// Report on one buyer.
#[derive(Debug, Clone)]
pub struct SandboxReport {
    script: String,
    /// Buyer; `None` for the one without a name.
    buyer: Option<BuyerName>,
    since: Timestamp,
    requests: u64,
    /// Number of findings by kind, in the order of the catalog.
    counts: Vec<(FindingKind, u64)>,
    findings: Vec<BuyerMistake>,
    exchanges: Vec<GradedExchange>,
    in_doubt: Vec<UnknownResult>,
}

impl SandboxReport {
    /// Creates the report from everything found so far.
    #[must_use]
    pub fn new(
        script: &Script,
        buyer: Option<BuyerName>,
        since: Timestamp,
        grader: &BuyerGrader,
    ) -> Self {
        Self {
            script: script.name.clone(),
            buyer,
            since,
            requests: grader.requests,
            counts: grader.counts.clone(),
            findings: grader.findings.iter().cloned().collect(),
            exchanges: grader.exchanges.iter().cloned().collect(),
            in_doubt: grader.in_doubt(),
        }
    }

    /// Returns the number of findings of this level.
    #[must_use]
    pub fn count(&self, level: FindingLevel) -> u64 {
        let of_level = self.counts.iter().filter(|(finding, _)| finding.level() == level);
        of_level.map(|(_, count)| count).sum()
    }

    /// Returns true when the buyer did nothing wrong. Unwise behaviour does not count.
    #[must_use]
    pub fn is_well_behaved(&self) -> bool {
        self.count(FindingLevel::Wrong) == 0
    }

    /// Summarises the buyer's behaviour in a few words. Results in doubt are no findings and are mentioned
    /// separately.
    #[must_use]
    pub fn verdict(&self) -> String {
        let mut verdict = match (self.count(FindingLevel::Wrong), self.count(FindingLevel::Unwise))
        {
            (0, 0) if self.in_doubt.is_empty() => "well-behaved: nothing found".to_owned(),
            (0, 0) => "well-behaved: nothing wrong".to_owned(),
            (0, unwise) => format!("well-behaved: nothing wrong, {unwise} unwise"),
            (wrong, unwise) => format!("badly behaved: {wrong} wrong, {unwise} unwise"),
        };
        if !self.in_doubt.is_empty() {
            let _ = write!(verdict, ", {} in doubt", self.in_doubt.len());
        }
        verdict
    }

    /// Returns the findings of one kind.
    fn found(&self, finding: FindingKind) -> impl Iterator<Item = &BuyerMistake> {
        self.findings.iter().filter(move |found| found.finding == finding)
    }

    /// Describes a finding in one line: the request, its target, and the error.
    fn line(&self, found: &BuyerMistake) -> String {
        let exchange = self.exchanges.iter().find(|exchange| exchange.number == found.exchange);
        let target = exchange.map_or("", |exchange| target_name(exchange.target));
        format!("request {} {target}: {}", found.exchange, plain(&found.message, SENTENCE))
    }

    /// Renders the report for people. Names and codes may come from a buyer or a script, so control characters are
    /// removed.
    fn text(&self) -> String {
        let mut out = String::new();
        let script = plain(&self.script, WORD);
        let buyer = self.buyer.as_ref().map(|name| format!(", buyer {name}")).unwrap_or_default();
        let _ = writeln!(out, "scenario {script}{buyer}: {} requests", self.requests);
        for (finding, count) in &self.counts {
            let level = finding.level();
            let hint = finding.hint();
            let _ = writeln!(out, "\n{level} {finding} ({count}): {hint}");
            let _ = writeln!(out, "  {} ({})", means(*finding), finding.rule());
            for found in self.found(*finding).take(SHOWN) {
                let _ = writeln!(out, "  {}", self.line(found));
            }
            let listed = self.found(*finding).count();
            if listed > SHOWN {
                let _ = writeln!(out, "  and {} more", listed - SHOWN);
            }
        }
        for doubt in &self.in_doubt {
            let _ =
                writeln!(out, "\nin doubt: {}\n  {}", describe_doubt(doubt), doubt_advice(doubt));
        }
        let _ = writeln!(out, "\n{}", self.verdict());
        out
    }
}

/// Describes a request in doubt.
fn describe_doubt(doubt: &UnknownResult) -> String {
    let UnknownResult { exchange, attempts, .. } = doubt;
    let times = if *attempts == 1 { "time" } else { "times" };
    format!("request {exchange} was sent {attempts} {times}, and nothing final was said")
}

/// Describes the buyer's next step for a request in doubt.
fn doubt_advice(doubt: &UnknownResult) -> String {
    let seller = if doubt.taken { "has" } else { "does not have" };
    let way = if doubt.keyed {
        "send it again under its key, or say that it may have arrived"
    } else {
        "say that it may have arrived; without a key it cannot be sent again safely"
    };
    format!("the seller {seller} it, which the buyer cannot know; {way}")
}

/// Returns the sentence that explains a kind of finding.
fn means(finding: FindingKind) -> &'static str {
    finding.docs().trim()
}
