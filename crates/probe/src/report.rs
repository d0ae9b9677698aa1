//! The report: what was found, for programs as JSON and for people elsewhere.

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::json;

use super::check::{Check, CheckVerdict, RequirementLevel};
use super::exchange::RecordedExchange;
use super::grade::{self, Coverage, Grade, Ungraded};
use super::shape::set;

/// The version of the JSON form; it changes when a member changes its meaning or goes.
pub const FORMAT: u32 = 3;

/// What a run found.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentReport {
    /// The address that was given.
    pub address: String,
    /// Where the card is.
    pub card_url: String,
    /// The agent's name, as its card has it.
    pub agent: String,
    /// Its version, as its card has it.
    pub agent_version: String,
    /// When it was probed.
    pub probed_at: Timestamp,
    /// How good it is; `None` when fewer than half of its MUSTs were looked at, or it is no agent.
    pub grade: Option<Grade>,
    /// What answers at the address in place of an agent, where that is known.
    pub no_agent: Option<String>,
    /// Why the run ended before its checks did, where it did: it was stopped, or its deadline passed.
    pub stopped: Option<String>,
    /// How many requests were sent.
    pub requests: u32,
    /// What the card offers and was not looked at.
    pub left_out: Vec<String>,
    /// What was measured by pairs of requests.
    pub measured: Vec<Measured>,
    /// What came of each check, in the order in which they were run.
    pub findings: Vec<CheckFinding>,
}

/// Answers about what may not be seen, compared with answers about what does not exist.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Measured {
    /// The tool that was asked.
    pub tool: String,
    /// By which way.
    pub on: String,
    /// 2 when the ids of one caller were asked for by another; 1 when both ids were nobody's.
    pub callers: u8,
    /// How many pairs were compared.
    pub pairs: usize,
    /// In how many the error objects were the same.
    pub same_error: usize,
    /// In how many the bodies were the same, apart from ids and moments.
    pub same_body: usize,
    /// In how many the status was the same.
    pub same_status: usize,
    /// In how many the headers were the same.
    pub same_headers: usize,
    /// The median latencies for what exists and for what does not, in microseconds.
    pub median_micros: [u64; 2],
    /// How far the ranks of the latencies are from chance (Mann-Whitney), in standard deviations.
    pub z: f64,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [known, unknown] = self.median_micros;
        write!(
            f,
            "{} on {}, {} {}: of {} pairs {} with the same error, {} body, {} status, {} headers; \
             medians {known} and {unknown} µs, z = {:.1}",
            self.tool,
            self.on,
            self.callers,
            if self.callers == 1 { "caller (baseline only)" } else { "callers" },
            self.pairs,
            self.same_error,
            self.same_body,
            self.same_status,
            self.same_headers,
            self.z,
        )
    }
}

/// What came of a check.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckFinding {
    /// The check.
    pub check: &'static Check,
    /// What it was run on: `card`, `JSONRPC`, `HTTP+JSON`, `AAP 1.1`, `seller`, `MCP`, `AdCP over
    /// A2A`, or `run` for everything seen.
    pub on: String,
    /// What came of it.
    pub verdict: CheckVerdict,
    /// Why the failure is accepted.
    pub waived: Option<String>,
    /// What was sent and what came back.
    pub exchanges: Vec<RecordedExchange>,
}

/// Why some requirements were not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unjudged<'r> {
    /// The reason.
    pub reason: &'r str,
    /// Whether it is of the agent's making; otherwise of whoever probes.
    pub by_agent: bool,
    /// How many checks have it.
    pub checks: usize,
}

/// A finding in words: what a verdict means for a requirement of its level.
pub(super) fn words(finding: &CheckFinding) -> &'static str {
    match (&finding.verdict, &finding.waived, finding.check.level) {
        (CheckVerdict::Pass, _, _) => "kept",
        (CheckVerdict::Fail(_), Some(_), _) => "waived",
        (CheckVerdict::Fail(_), None, RequirementLevel::Must) => "broken",
        (CheckVerdict::Fail(_), None, RequirementLevel::Should) => "not kept",
        (CheckVerdict::Fail(_), None, RequirementLevel::May) => "not done",
        (CheckVerdict::Warn(_), _, _) => "warning",
        (CheckVerdict::NotApplicable(_), _, _) => "does not apply",
        (CheckVerdict::Skipped(_), _, _) => "skipped",
        (CheckVerdict::NotLookedAt(_), _, _) => "not looked at",
    }
}

/// How many findings there are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct FindingCounts {
    /// Kept.
    pub pass: usize,
    /// Not kept, waived ones apart.
    pub fail: usize,
    /// Not kept, and accepted.
    pub waived: usize,
    /// Worth a look.
    pub warn: usize,
    /// Nothing to judge.
    pub not_applicable: usize,
    /// Left out by whoever probes.
    pub skipped: usize,
    /// Could not be looked at.
    pub not_looked_at: usize,
}

impl AgentReport {
    /// How many findings there are of each kind, of one level or of all.
    #[must_use]
    pub fn counts(&self, level: Option<RequirementLevel>) -> FindingCounts {
        let mut counts = FindingCounts::default();
        let findings = self.findings.iter();
        for finding in findings.filter(|it| level.is_none_or(|level| it.check.level == level)) {
            let place = match &finding.verdict {
                CheckVerdict::Pass => &mut counts.pass,
                CheckVerdict::Fail(_) if finding.waived.is_some() => &mut counts.waived,
                CheckVerdict::Fail(_) => &mut counts.fail,
                CheckVerdict::Warn(_) => &mut counts.warn,
                CheckVerdict::NotApplicable(_) => &mut counts.not_applicable,
                CheckVerdict::Skipped(_) => &mut counts.skipped,
                CheckVerdict::NotLookedAt(_) => &mut counts.not_looked_at,
            };
            *place += 1;
        }
        counts
    }

    /// The findings by what they are about, in the order in which that was probed.
    pub(super) fn by_place(&self) -> Vec<(&str, Vec<&CheckFinding>)> {
        let mut places: Vec<(&str, Vec<&CheckFinding>)> = Vec::new();
        for finding in &self.findings {
            match places.iter_mut().find(|(on, _)| *on == finding.on) {
                Some((_, findings)) => findings.push(finding),
                None => places.push((&finding.on, vec![finding])),
            }
        }
        places
    }

    /// How many of the MUSTs could be looked at.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        grade::coverage(&self.findings)
    }

    /// The grade in words: `grade A`, or that there is none.
    #[must_use]
    pub fn verdict(&self) -> String {
        match self.grade {
            Some(grade) => format!("grade {}", grade.letter()),
            None => "no grade".to_owned(),
        }
    }

    /// Why there is no grade; `None` where there is one.
    #[must_use]
    pub fn ungraded(&self) -> Option<Ungraded> {
        match (self.grade, &self.no_agent) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(Ungraded::NoAgent),
            (None, None) => Some(Ungraded::NotLookedAt),
        }
    }

    /// What the grade means, or why there is none. May quote what an agent wrote.
    #[must_use]
    pub fn meaning(&self) -> String {
        let coverage = self.coverage();
        let Coverage { looked_at, not_looked_at, of, .. } = coverage;
        match (self.grade, &self.no_agent) {
            (Some(Grade::B), _) if !coverage.is_enough_for_a() => {
                let kept = if grade::keeps_every_should(&self.findings) {
                    Grade::A.meaning()
                } else {
                    Grade::B.meaning()
                };
                let bound = looked_at + not_looked_at;
                format!(
                    "{kept}; {not_looked_at} of {bound} MUSTs could not be looked at, too many for an A"
                )
            }
            (Some(grade), _) => grade.meaning().to_owned(),
            (None, Some(found)) => format!("there is no agent at the address: {found}"),
            (None, None) => {
                format!(
                    "only {looked_at} of {of} MUSTs were looked at, and a grade needs half of them"
                )
            }
        }
    }

    /// Why requirements were not looked at, by whose doing that may be: each reason once, those of the
    /// agent's making first, with how many checks it is about.
    #[must_use]
    pub fn unjudged(&self) -> Vec<Unjudged<'_>> {
        let mut reasons: Vec<Unjudged<'_>> = Vec::new();
        for finding in &self.findings {
            let (reason, by_agent) = match &finding.verdict {
                CheckVerdict::NotLookedAt(reason) => (reason, true),
                CheckVerdict::Skipped(reason) => (reason, false),
                CheckVerdict::Pass
                | CheckVerdict::Fail(_)
                | CheckVerdict::Warn(_)
                | CheckVerdict::NotApplicable(_) => {
                    continue;
                }
            };
            let is_known =
                |known: &&mut Unjudged<'_>| known.reason == reason && known.by_agent == by_agent;
            match reasons.iter_mut().find(is_known) {
                Some(known) => known.checks += 1,
                None => reasons.push(Unjudged { reason, by_agent, checks: 1 }),
            }
        }
        reasons.sort_by_key(|unjudged| !unjudged.by_agent);
        reasons
    }

    /// The findings that count against the agent, MUSTs first.
    #[must_use]
    pub fn failures(&self) -> Vec<&CheckFinding> {
        let mut failures: Vec<_> = self.findings.iter().filter(|it| it.is_failure()).collect();
        failures.sort_by_key(|finding| finding.check.level);
        failures
    }
}

impl CheckFinding {
    /// Whether it counts against the agent.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self.verdict, CheckVerdict::Fail(_)) && self.waived.is_none()
    }
}

impl Serialize for AgentReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut report = json!({
            "format": FORMAT, "address": self.address, "card_url": self.card_url,
            "agent": {"name": self.agent, "version": self.agent_version},
            "probed_at": self.probed_at.to_string(), "grade": self.grade, "ungraded": self.ungraded(),
            "meaning": self.meaning(), "musts": self.coverage(), "stopped": self.stopped, "breaks_a_must": self.breaks_a_must(),
            "requests": self.requests, "counts": {}, "left_out": self.left_out,
        });
        for level in RequirementLevel::ALL {
            set(&mut report, &format!("/counts/{level}"), json!(self.counts(Some(*level))));
        }
        if !self.measured.is_empty() {
            set(&mut report, "/measured", json!(self.measured));
        }
        set(&mut report, "/findings", json!(self.findings));
        report.serialize(serializer)
    }
}

impl Serialize for CheckFinding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let check = self.check;
        map.serialize_entry("check", check.id)?;
        map.serialize_entry("on", &self.on)?;
        map.serialize_entry("level", check.level.name())?;
        map.serialize_entry("verdict", self.verdict.name())?;
        if !self.verdict.text().is_empty() {
            map.serialize_entry("detail", self.verdict.text())?;
        }
        if let Some(reason) = &self.waived {
            map.serialize_entry("waived", reason)?;
        }
        map.serialize_entry("title", check.title)?;
        map.serialize_entry("requirements", check.requirements)?;
        map.serialize_entry("section", check.section)?;
        map.serialize_entry("why", check.why)?;
        map.serialize_entry("mend", check.mend)?;
        map.serialize_entry("exchanges", &self.exchanges)?;
        map.end()
    }
}
