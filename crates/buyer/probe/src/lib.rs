#![doc = include_str!("../README.md")]

use tradepost_client::discover::card_url;
use tradepost_client::failure::CallFailure;
use tradepost_client::transport::HttpTransport;
use tradepost_document::json::Value;

pub mod badge;
pub mod check;
pub mod exchange;
pub mod github;
pub mod grade;
pub mod html;
pub mod junit;
pub mod markdown;
pub mod rehearsal;
pub mod report;
pub mod sarif;

mod a2a;
mod aap;
mod adcp;
mod binding;
mod ending;
mod grpc;
mod leak;
mod options;
mod plan;
mod reply;
mod rest;
mod run;
mod shape;

use check::{Check, CheckVerdict};
use ending::Ending;
pub use options::{MAX_TEXT, NAME, ProbeOptions, Waiver};
pub use plan::checks;
use plan::{PlanStep, ProbePlan};
pub use rehearsal::rehearse;
use report::{AgentReport, CheckFinding};
use run::ProbeRun;

/// Progress of a run, reported when a check begins and when it is done.
#[derive(Debug)]
pub struct RunProgress<'a> {
    /// Number of finished checks.
    pub done: usize,
    /// Number of all checks.
    pub total: usize,
    /// Number of requests sent.
    pub requests: u32,
    /// Number of failed MUSTs and SHOULDs.
    pub failed: usize,
    /// Current check.
    pub check: &'static Check,
    /// Target of the check.
    pub on: &'a str,
    /// Finding of the check; `None` when it begins.
    pub finding: Option<&'a CheckFinding>,
}

/// Probes the agent at `address`: a base address, that of its card, or of an MCP endpoint.
///
/// # Errors
/// When the agent cannot be reached at all, or the address or a token cannot be used. A server that answers and is no
/// agent yields a report without a grade.
pub async fn probe(
    transport: HttpTransport,
    address: &str,
    options: ProbeOptions,
    progress: &mut (dyn FnMut(&RunProgress<'_>) + Send),
) -> Result<AgentReport, CallFailure> {
    probe_until(transport, address, options, progress, std::future::pending()).await
}

/// Probes like [`probe`] until `stop` resolves; the remaining checks are then reported as skipped.
///
/// # Errors
/// As [`probe`].
pub async fn probe_until(
    transport: HttpTransport,
    address: &str,
    options: ProbeOptions,
    progress: &mut (dyn FnMut(&RunProgress<'_>) + Send),
    stop: impl Future<Output = ()> + Send,
) -> Result<AgentReport, CallFailure> {
    let card_url = card_url(address)?;
    let mut ending = Ending::new(options.deadline, stop);
    let mut run = ProbeRun::new(transport, options, card_url);
    if let Some(read) = ending.unless(plan::read_card(&mut run)).await {
        read?;
    }
    // A seller that was not found before the end is left out of the plan.
    let plan = match ending.unless(plan::make(&mut run, address)).await {
        Some(plan) => plan,
        None => plan::of_what_is_known(&run),
    };
    let total = plan.steps.len();
    let mut findings: Vec<CheckFinding> = Vec::with_capacity(total);
    for (done, step) in plan.steps.iter().enumerate() {
        let mut report_progress =
            |requests, done, finding: Option<&CheckFinding>, findings: &[CheckFinding]| {
                let counts = findings.iter().chain(finding).filter(|finding| finding.is_failure());
                let failed = counts
                    .filter(|failure| failure.check.level != check::RequirementLevel::May)
                    .count();
                let check = step.check;
                let on = step.on.as_str();
                progress(&RunProgress { done, total, requests, failed, check, on, finding });
            };
        // After the end no further check begins; the loop below marks each as skipped.
        if ending.reached().is_none() {
            report_progress(run.spent, done, None, &findings);
        }
        let verdict = ending.unless(plan::perform(&mut run, step)).await;
        let finding = match verdict {
            Some(verdict) => finding(&mut run, step, verdict),
            None => {
                let why = ending.reached().unwrap_or_default().to_owned();
                finding(&mut run, step, CheckVerdict::Skipped(why))
            }
        };
        report_progress(run.spent, done + 1, Some(&finding), &findings);
        findings.push(finding);
    }
    Ok(report(run, address, &plan, findings, ending.reached()))
}

fn report(
    run: ProbeRun,
    address: &str,
    plan: &ProbePlan,
    findings: Vec<CheckFinding>,
    stopped: Option<&str>,
) -> AgentReport {
    let no_agent = plan::no_agent(&run, plan);
    let grade = if no_agent.is_some() { None } else { grade::compute(&findings) };
    let names = |what: &str| run.card_json.get(what).and_then(Value::as_str).map(str::to_owned);
    AgentReport {
        address: address.to_owned(),
        card_url: run.card_url.to_string(),
        agent: names("name").unwrap_or_default(),
        agent_version: names("version").unwrap_or_default(),
        probed_at: run.options.now,
        grade,
        no_agent,
        stopped: stopped.map(str::to_owned),
        requests: run.spent,
        left_out: plan::left_out(&run, plan),
        measured: run.seller.measured(),
        findings,
    }
}

fn finding(run: &mut ProbeRun, step: &PlanStep, verdict: CheckVerdict) -> CheckFinding {
    let waiver = run.options.waivers.iter().find(|waiver| waiver.check == step.check.id);
    let waived = waiver.filter(|_| matches!(verdict, CheckVerdict::Fail(_)));
    CheckFinding {
        check: step.check,
        on: step.on.clone(),
        verdict,
        waived: waived.map(|waiver| waiver.reason.clone()),
        exchanges: run.take_recorded(),
    }
}

impl AgentReport {
    /// Returns true when a MUST is violated without a waiver. An address with neither an agent card nor a seller
    /// violates one.
    #[must_use]
    pub fn breaks_a_must(&self) -> bool {
        grade::broken(&self.findings) > 0
    }
}

#[cfg(test)]
mod tests;
