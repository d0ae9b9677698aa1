//! Report on all buyers, in every format.

use std::str::FromStr;

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::Response;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::http::MediaType;
use tradepost_document::json::{Value, json};

use super::{SandboxReport, build, means};
use crate::refuse::WholeAnswer;
use crate::watch::{FindingKind, FindingLevel};
use crate::{damage, short, target_name};

/// Format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Text for people, in a terminal.
    Text,
    /// JSON for programs.
    Json,
    /// JUnit XML for continuous integration.
    Junit,
    /// Markdown for people, as the summary of a job or as a comment.
    Markdown,
    /// Annotations of GitHub Actions.
    Github,
}

impl FromStr for Form {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            "junit" => Ok(Self::Junit),
            "markdown" => Ok(Self::Markdown),
            "github" => Ok(Self::Github),
            _ => Err("the forms are text, json, junit, markdown and github"),
        }
    }
}

/// Reports on all buyers, the one without a name first.
#[derive(Debug, Clone)]
pub struct Overview {
    pub(super) reports: Vec<SandboxReport>,
}

impl Overview {
    /// Combines reports. The buyer without a name is left out when named buyers called and it did not.
    #[must_use]
    pub fn new(mut reports: Vec<SandboxReport>) -> Self {
        let has_named_buyers = reports.iter().any(|report| report.buyer.is_some());
        reports.retain(|report| !has_named_buyers || report.buyer.is_some() || report.has_called());
        Self { reports }
    }

    /// Returns the number of findings of this level.
    #[must_use]
    pub fn count(&self, level: FindingLevel) -> u64 {
        self.reports.iter().map(|report| report.count(level)).sum()
    }

    /// Returns true when no buyer did anything wrong. Unwise behaviour does not count.
    #[must_use]
    pub fn is_well_behaved(&self) -> bool {
        self.count(FindingLevel::Wrong) == 0
    }

    /// Renders the report in one of its formats.
    #[must_use]
    pub fn write(&self, form: Form) -> String {
        match form {
            Form::Text => self.text(),
            Form::Json => self.document().to_string(),
            Form::Junit => build::junit(self),
            Form::Markdown => build::markdown(self),
            Form::Github => build::github(self),
        }
    }

    /// Renders the report for programs. Requests are numbered for each buyer, so every entry names its buyer.
    #[must_use]
    pub fn document(&self) -> Value {
        let reports = || self.reports.iter();
        let buyers = reports().map(|report| {
            json!({
                "buyer": report.buyer_name(), "requests": report.requests,
                "well_behaved": report.is_well_behaved(), "wrong": report.count(FindingLevel::Wrong),
                "unwise": report.count(FindingLevel::Unwise), "in_doubt": report.in_doubt.len(),
            })
        });
        let counts = FindingKind::ALL.iter().filter_map(|finding| {
            let counted = reports().flat_map(|report| &report.counts);
            let count: u64 =
                counted.filter(|(known, _)| known == finding).map(|(_, count)| count).sum();
            (count > 0).then(|| {
                json!({
                    "id": finding.name(), "level": finding.level().name(), "count": count,
                    "means": means(*finding), "rule": finding.rule(), "hint": finding.hint(),
                })
            })
        });
        let first = self.reports.first();
        let since = reports().map(|report| report.since).min();
        json!({
            "scenario": first.map(|report| report.script.clone()),
            "since": since.map(rfc3339),
            "requests": reports().map(|report| report.requests).sum::<u64>(),
            "well_behaved": self.is_well_behaved(),
            "wrong": self.count(FindingLevel::Wrong),
            "unwise": self.count(FindingLevel::Unwise),
            "in_doubt": reports().flat_map(SandboxReport::doubt_documents).collect::<Vec<_>>(),
            "counts": counts.collect::<Vec<_>>(),
            "buyers": buyers.collect::<Vec<_>>(),
            "findings": reports().flat_map(SandboxReport::finding_documents).collect::<Vec<_>>(),
            "exchanges": reports().flat_map(SandboxReport::exchange_documents).collect::<Vec<_>>(),
        })
    }

    /// Renders the report for people, buyer by buyer.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.reports.iter().map(SandboxReport::text).collect();
        let mut out = texts.join("\n");
        if self.reports.len() > 1 {
            let all = self.reports.len();
            let badly = self.reports.iter().filter(|report| !report.is_well_behaved()).count();
            out.push_str(&format!(
                "\n{all} buyers: {} well-behaved, {badly} badly behaved\n",
                all - badly
            ));
        }
        out
    }

    /// Answers a request for the report, in the format of `?format=`, as text when `Accept` asks for it first, or as
    /// JSON.
    pub(crate) fn respond(&self, request: &Request) -> Response {
        let query = request.uri().query().unwrap_or_default();
        let format = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "format");
        let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let first = MediaType::listed(accepts).next();
        let wants_text = first.is_some_and(|media_type| media_type.is("text/plain"));
        let form = match format {
            Some((_, format)) => format.parse(),
            None if wants_text => Ok(Form::Text),
            None => Ok(Form::Json),
        };
        let form = match form {
            Ok(form) => form,
            Err(why) => return crate::problem(StatusCode::BAD_REQUEST, why),
        };
        let media_type = match form {
            Form::Json => "application/json",
            Form::Junit => "application/xml",
            Form::Markdown => "text/markdown; charset=utf-8",
            Form::Text | Form::Github => "text/plain; charset=utf-8",
        };
        damage::whole(WholeAnswer::new(StatusCode::OK, media_type, self.write(form)))
    }
}

impl SandboxReport {
    /// Returns true when the buyer has called, or followed a redirect.
    fn has_called(&self) -> bool {
        self.requests > 0 || !self.findings.is_empty()
    }

    fn buyer_name(&self) -> Option<String> {
        self.buyer.as_ref().map(ToString::to_string)
    }

    fn doubt_documents(&self) -> Vec<Value> {
        let doubts = self.in_doubt.iter().map(|doubt| {
            json!({
                "buyer": self.buyer_name(), "exchange": doubt.exchange,
                "intent": short(&doubt.intent), "attempts": doubt.attempts,
                "idempotency_key": doubt.keyed, "taken": doubt.taken,
            })
        });
        doubts.collect()
    }

    fn finding_documents(&self) -> Vec<Value> {
        let findings = self.findings.iter().map(|found| {
            let finding = found.finding;
            json!({
                "id": finding.name(), "level": finding.level().name(),
                "buyer": self.buyer_name(), "exchange": found.exchange,
                "message": found.message,
            })
        });
        findings.collect()
    }

    fn exchange_documents(&self) -> Vec<Value> {
        let exchanges = self.exchanges.iter().map(|exchange| {
            json!({
                "buyer": self.buyer_name(),
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
        exchanges.collect()
    }
}
