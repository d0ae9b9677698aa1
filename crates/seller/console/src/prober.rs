//! Runs the prober against one of our dealers from outside, and stores its report. One run at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tradepost_client::HttpTransport;
use tradepost_client::failure::CallFailure;
use tradepost_client::transport::TransportLimits;
use tradepost_document::json::{self, Value, json};
use tradepost_probe::report::AgentReport;
use tradepost_probe::{ProbeOptions, RunProgress, html, probe};
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{ProbeReport, Store};

/// Limits of a request.
const LIMITS: TransportLimits = TransportLimits {
    timeout: Duration::from_secs(30),
    connect: Duration::from_secs(10),
    max_body: 8 * 1024 * 1024,
};

/// Maximum number of requests per second at an agent with rate limits. Delays that it asks for are kept.
const REQUESTS_PER_SECOND: u32 = 10;

/// Maximum duration of a run.
const DEADLINE: Duration = Duration::from_mins(10);

/// Runs the prober in the background.
#[derive(Debug)]
pub(super) struct Prober {
    store: Arc<Store>,
    clock: Clock,
    transport: HttpTransport,
    at_work: Mutex<Option<AtWork>>,
}

/// Progress of the current run.
#[derive(Debug, Clone, Default)]
pub(super) struct AtWork {
    pub(super) dealer_id: String,
    pub(super) done: usize,
    pub(super) total: usize,
    pub(super) requests: u32,
    pub(super) failed: usize,
    /// Title of the current check.
    pub(super) title: &'static str,
}

/// Dealer and address of a run, and the person who began it.
#[derive(Debug, Clone)]
pub(super) struct WantedProbe {
    pub(super) dealer_id: String,
    pub(super) address: String,
    pub(super) by: String,
    /// True when the agent has rate limits.
    pub(super) is_limited: bool,
}

impl Prober {
    pub(super) fn new(store: Arc<Store>, clock: Clock) -> Self {
        Self { store, clock, transport: HttpTransport::new(LIMITS), at_work: Mutex::default() }
    }

    /// Returns the progress of the current run, if there is one.
    pub(super) fn at_work(&self) -> Option<AtWork> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins a run if there is none; the run ends when the returned value is dropped.
    pub(super) fn enter(self: &Arc<Self>, dealer_id: &str) -> Option<ProbeSlot> {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if at_work.is_some() {
            return None;
        }
        let dealer_id = dealer_id.to_owned();
        let title = "The prober reads the agent card.";
        *at_work = Some(AtWork { dealer_id, title, ..AtWork::default() });
        Some(ProbeSlot(Arc::clone(self)))
    }
}

/// The current run.
#[derive(Debug)]
pub(super) struct ProbeSlot(Arc<Prober>);

impl Drop for ProbeSlot {
    fn drop(&mut self) {
        // In `drop`, because a panic would otherwise block all later runs.
        *self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl ProbeSlot {
    /// Runs the prober and stores its report.
    pub(super) async fn run(self, wanted: WantedProbe) {
        let prober = &self.0;
        let now = prober.clock.now();
        let mut options = ProbeOptions::new(now, uuid::Uuid::now_v7().simple().to_string());
        options.rate = if wanted.is_limited { REQUESTS_PER_SECOND } else { 0 };
        options.deadline = Some(DEADLINE);
        let mut report_progress = |progress: &RunProgress<'_>| self.report_progress(progress);
        let found =
            probe(prober.transport.clone(), &wanted.address, options, &mut report_progress).await;
        let report = probe_report(&wanted, now, found);
        let outcome = match report {
            Ok(report) => prober.store.write(move |tx| tx.keep_probe_report(&report)).await,
            Err(fault) => Err(fault),
        };
        if let Err(fault) = outcome {
            tracing::error!(dealer = %wanted.dealer_id, cause = %fault.chain(), "what the prober found could not be kept");
        }
    }

    fn report_progress(&self, progress: &RunProgress<'_>) {
        let mut at_work = self.0.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at_work) = at_work.as_mut() {
            (at_work.done, at_work.total) = (progress.done, progress.total);
            (at_work.requests, at_work.failed) = (progress.requests, progress.failed);
            at_work.title = progress.check.title;
        }
    }
}

/// Creates the report to store: the findings and the page for download, or why the run failed.
fn probe_report(
    wanted: &WantedProbe,
    at: Timestamp,
    found: Result<AgentReport, CallFailure>,
) -> Result<ProbeReport, InternalError> {
    const CONTEXT: &str = "writing what the prober found";
    let (document, page) = match &found {
        Ok(report) => {
            let mut document = json::to_value(report).map_err(InternalError::on(CONTEXT))?;
            // The exchanges are in the page that people download.
            let findings = document.get_mut("findings").and_then(Value::as_array_mut);
            for finding in findings.into_iter().flatten().filter_map(Value::as_object_mut) {
                finding.shift_remove("exchanges");
            }
            (document, Some(html::write(report)))
        }
        Err(failure) => (json!({"address": wanted.address, "trouble": failure.to_string()}), None),
    };
    Ok(ProbeReport {
        dealer_id: wanted.dealer_id.clone(),
        at,
        by: wanted.by.clone(),
        document: document.to_string(),
        page,
    })
}
