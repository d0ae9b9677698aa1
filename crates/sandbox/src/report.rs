//! What the sandbox tells about a buyer, for programs and for people.

use std::fmt::Write as _;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use jiff::Timestamp;
use tradepost_buyer::text::{SENTENCE, WORD, plain};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::format::rfc3339;
use tradepost_wire::http::MediaType;
use tradepost_wire::json::{Value, json};

use super::refuse::Whole;
use super::script::Script;
use super::watch::{Doubt, Exchange, Finding, Found, Level, Watch};
use super::{damage, short, target_name};

/// A report.
#[derive(Debug, Clone)]
pub struct Report {
    script: String,
    since: Timestamp,
    requests: u64,
    /// How often each finding was made, in the order of their table.
    counts: Vec<(Finding, u64)>,
    findings: Vec<Found>,
    exchanges: Vec<Exchange>,
    in_doubt: Vec<Doubt>,
}

impl Report {
    /// What has been found so far.
    #[must_use]
    pub fn of(script: &Script, since: Timestamp, watch: &Watch) -> Self {
        Self {
            script: script.name.clone(),
            since,
            requests: watch.requests,
            counts: watch.counts.clone(),
            findings: watch.findings.iter().cloned().collect(),
            exchanges: watch.exchanges.iter().cloned().collect(),
            in_doubt: watch.in_doubt(),
        }
    }

    /// How many findings there are of this level.
    #[must_use]
    pub fn count(&self, level: Level) -> u64 {
        let of_level = self.counts.iter().filter(|(finding, _)| finding.level() == level);
        of_level.map(|(_, count)| count).sum()
    }

    /// Whether the buyer did nothing wrong. What is only unwise does not count.
    #[must_use]
    pub fn is_well_behaved(&self) -> bool {
        self.count(Level::Wrong) == 0
    }

    /// For programs.
    #[must_use]
    pub fn document(&self) -> Value {
        let counts = self.counts.iter().map(|(finding, count)| {
            json!({
                "id": finding.name(), "level": finding.level().name(), "count": count,
                "means": means(*finding), "rule": finding.rule(), "hint": finding.hint(),
            })
        });
        let findings = self.findings.iter().map(|found| {
            let finding = found.finding;
            json!({
                "id": finding.name(), "level": finding.level().name(), "exchange": found.exchange,
                "message": found.message,
            })
        });
        let exchanges = self.exchanges.iter().map(|exchange| {
            json!({
                "number": exchange.number,
                "at": rfc3339(exchange.at),
                "target": target_name(exchange.target),
                "intent": exchange.intent.as_ref().map(short),
                "attempt": exchange.attempt,
                "members": exchange.members,
                "idempotency_key": exchange.keyed,
                "rule": exchange.rule,
                "told": exchange.reply.as_ref().map(|reply| reply.name()),
            })
        });
        let in_doubt = self.in_doubt.iter().map(|doubt| {
            json!({
                "exchange": doubt.exchange, "intent": short(&doubt.intent),
                "attempts": doubt.attempts, "idempotency_key": doubt.keyed, "taken": doubt.taken,
            })
        });
        json!({
            "scenario": self.script,
            "since": rfc3339(self.since),
            "requests": self.requests,
            "well_behaved": self.is_well_behaved(),
            "wrong": self.count(Level::Wrong),
            "unwise": self.count(Level::Unwise),
            "in_doubt": in_doubt.collect::<Vec<_>>(),
            "counts": counts.collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
            "exchanges": exchanges.collect::<Vec<_>>(),
        })
    }

    /// For people. Names and codes may come from a buyer or a script, so they are made plain.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        let script = plain(&self.script, WORD);
        let _ = writeln!(out, "scenario {script}: {} requests", self.requests);
        for (finding, count) in &self.counts {
            let (level, hint) = (finding.level(), finding.hint());
            let _ = writeln!(out, "\n{level} {finding} ({count}): {hint}");
            let _ = writeln!(out, "  {} ({})", means(*finding), finding.rule());
            const SHOWN: usize = 5;
            let all: Vec<_> = self.findings.iter().filter(|f| f.finding == *finding).collect();
            for found in all.iter().take(SHOWN) {
                let target = self.exchanges.iter().find(|e| e.number == found.exchange);
                let target = target.map_or("", |exchange| target_name(exchange.target));
                let message = plain(&found.message, SENTENCE);
                let _ = writeln!(out, "  request {} {target}: {message}", found.exchange);
            }
            if all.len() > SHOWN {
                let _ = writeln!(out, "  and {} more", all.len() - SHOWN);
            }
        }
        self.doubts(&mut out);
        let (wrong, unwise) = (self.count(Level::Wrong), self.count(Level::Unwise));
        let _ = match (wrong, unwise) {
            (0, 0) => writeln!(out, "\nwell-behaved: nothing found"),
            (0, unwise) => writeln!(out, "\nwell-behaved: nothing wrong, {unwise} unwise"),
            (wrong, unwise) => writeln!(out, "\nbadly behaved: {wrong} wrong, {unwise} unwise"),
        };
        out
    }

    /// Says of each lead or message that ended in doubt what its buyer has to find out.
    fn doubts(&self, out: &mut String) {
        for Doubt { exchange, attempts, keyed, taken, .. } in &self.in_doubt {
            let times = if *attempts == 1 { "time" } else { "times" };
            let seller = if *taken { "has" } else { "does not have" };
            let way = if *keyed {
                "send it again under its key, or say that it may have arrived"
            } else {
                "say that it may have arrived; without a key it cannot be sent again safely"
            };
            let _ = writeln!(
                out,
                "\nin doubt: request {exchange} was sent {attempts} {times}, and nothing \
                 final was said\n  the seller {seller} it, which the buyer cannot know; {way}"
            );
        }
    }

    /// As an answer: JSON, or text for who asks for it by `?format=text` or by `Accept`.
    pub(super) fn respond(&self, request: &Request) -> Response {
        let query = request.uri().query().unwrap_or_default();
        let format = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "format");
        let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let wants_text = match format {
            Some((_, format)) => format == "text",
            None => MediaType::listed(accepts).next().is_some_and(|first| first.is("text/plain")),
        };
        damage::whole(if wants_text {
            Whole::new(StatusCode::OK, "text/plain; charset=utf-8", self.text())
        } else {
            Whole::json(StatusCode::OK, &self.document())
        })
    }
}

/// What a finding means, in a sentence.
fn means(finding: Finding) -> &'static str {
    finding.docs().trim()
}
