//! Report of a probe, and its JSON form for programs; other modules render it for people.

use jiff::Timestamp;
use serde::ser::{Serialize, SerializeMap, Serializer};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;

use super::check::{Check, CheckVerdict, RequirementLevel};
use super::exchange::RecordedExchange;
use super::grade::{self, Coverage, Grade, Ungraded};
use super::shape::set;

/// Version of the JSON form; it changes when a member is removed or changes its meaning.
pub const FORMAT: u32 = 3;

/// Result of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentReport {
    /// Address that was given.
    pub address: String,
    /// Address of the card.
    pub card_url: String,
    /// Agent's name, from its card.
    pub agent: String,
    /// Agent's version, from its card.
    pub agent_version: String,
    /// Time of the probe.
    pub probed_at: Timestamp,
    /// Grade; `None` when fewer than half of the MUSTs were checked, or the server is no agent.
    pub grade: Option<Grade>,
    /// Description of the server when it is no agent, if known.
    pub no_agent: Option<String>,
    /// Reason for an early end: the run was stopped, or its deadline passed.
    pub stopped: Option<String>,
    /// Number of requests sent.
    pub requests: u32,
    /// Interfaces, error codes and versions that the run did not cover.
    pub left_out: Vec<String>,
    /// Measurements of pairs of requests.
    pub measured: Vec<Measured>,
    /// Finding of each check, in the order in which they were run.
    pub findings: Vec<CheckFinding>,
}

/// Comparison of answers about forbidden ids with answers about absent ids.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Measured {
    /// Tool that was called.
    pub tool: String,
    /// Binding.
    pub on: String,
    /// Number of callers: 2 when the second caller used the ids of the first; 1 when both ids belonged to no one.
    pub callers: u8,
    /// Number of pairs.
    pub pairs: usize,
    /// Number of pairs with equal error objects.
    pub same_error: usize,
    /// Number of pairs with equal bodies, apart from ids and times.
    pub same_body: usize,
    /// Number of pairs with equal statuses.
    pub same_status: usize,
    /// Number of pairs with equal headers.
    pub same_headers: usize,
    /// Median latencies for existing and for absent ids, in microseconds.
    pub median_micros: [u64; 2],
    /// Deviation of the latency ranks from chance (Mann-Whitney), in standard deviations.
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

/// Result of a check.
#[derive(Debug)]
#[non_exhaustive]
pub struct CheckFinding {
    /// Check.
    pub check: &'static Check,
    /// Target: `card`, `JSONRPC`, `HTTP+JSON`, `AAP 1.1`, `seller`, `MCP`, `AdCP over A2A`, or `run` for all recorded
    /// exchanges.
    pub on: String,
    /// Verdict.
    pub verdict: CheckVerdict,
    /// Reason for accepting the failure.
    pub waived: Option<String>,
    /// Requests and answers.
    pub exchanges: Vec<RecordedExchange>,
}

/// Reason why some requirements were not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unjudged<'r> {
    /// Text of the reason.
    pub reason: &'r str,
    /// True when the agent's answers are the reason; false when the operator skipped the checks.
    pub by_agent: bool,
    /// Number of checks with this reason.
    pub checks: usize,
}

/// Describes a finding in words: the meaning of a verdict for a requirement of its level.
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

/// Number of findings by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct FindingCounts {
    /// Satisfied.
    pub pass: usize,
    /// Violated, without a waiver.
    pub fail: usize,
    /// Violated, with a waiver.
    pub waived: usize,
    /// Warnings.
    pub warn: usize,
    /// Not applicable.
    pub not_applicable: usize,
    /// Skipped by the operator.
    pub skipped: usize,
    /// Impossible to check.
    pub not_looked_at: usize,
}

impl AgentReport {
    /// Counts the findings by kind, of one level or of all.
    #[must_use]
    pub fn counts(&self, level: Option<RequirementLevel>) -> FindingCounts {
        let mut counts = FindingCounts::default();
        let findings = self.findings.iter();
        for finding in
            findings.filter(|finding| level.is_none_or(|level| finding.check.level == level))
        {
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

    /// Groups the findings by target, in the order in which the targets were probed.
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

    /// Returns the number of MUSTs by outcome.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        grade::coverage(&self.findings)
    }

    /// Returns the grade in words: `grade A`, or `no grade`.
    #[must_use]
    pub fn verdict(&self) -> String {
        match self.grade {
            Some(grade) => format!("grade {}", grade.letter()),
            None => "no grade".to_owned(),
        }
    }

    /// Returns the reason for a missing grade; `None` when there is a grade.
    #[must_use]
    pub fn ungraded(&self) -> Option<Ungraded> {
        match (self.grade, &self.no_agent) {
            (Some(_), _) => None,
            (None, Some(_)) => Some(Ungraded::NoAgent),
            (None, None) => Some(Ungraded::NotLookedAt),
        }
    }

    /// Explains the grade, or why there is none. May quote text of the agent.
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

    /// Returns the reasons for unchecked requirements, each once with its number of checks. Reasons caused by the
    /// agent come first.
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

    /// Returns the failures that count against the agent, MUSTs first.
    #[must_use]
    pub fn failures(&self) -> Vec<&CheckFinding> {
        let mut failures: Vec<_> =
            self.findings.iter().filter(|finding| finding.is_failure()).collect();
        failures.sort_by_key(|finding| finding.check.level);
        failures
    }
}

impl CheckFinding {
    /// Returns true when the finding counts against the agent.
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
        map.serialize_entry("mend", check.fix)?;
        map.serialize_entry("exchanges", &self.exchanges)?;
        map.end()
    }
}
