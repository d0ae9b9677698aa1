//! Dry run: reads the card, as every client does, and lists the requests that a probe would send.

use serde::{Serialize, Serializer};
use tradepost_client::discover::card_url;
use tradepost_client::failure::CallFailure;
use tradepost_client::transport::HttpTransport;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::json;

use super::check::{Check, CheckVerdict};
use super::exchange::RecordedRequest;
use super::options::ProbeOptions;
use super::plan;
use super::run::{ProbeRun, REHEARSED};

/// Result of a dry run.
#[derive(Debug, Serialize)]
pub struct Rehearsal {
    /// Address that was given.
    pub address: String,
    /// Address of the card.
    pub card_url: String,
    /// `User-Agent` of every request.
    pub user_agent: String,
    /// Maximum number of requests per second; 0 means no limit.
    pub rate: u32,
    /// Maximum number of requests in all.
    pub budget: u32,
    /// Interfaces and versions that the run would not cover.
    pub left_out: Vec<String>,
    /// Checks, in order.
    pub steps: Vec<Rehearsed>,
}

/// Requests of one check.
#[derive(Debug)]
pub struct Rehearsed {
    /// Check.
    pub check: &'static Check,
    /// Target.
    pub on: String,
    /// First requests of the check. Later ones depend on the answers.
    pub requests: Vec<RecordedRequest>,
    /// Reason why the check sends no request of its own.
    pub nothing: Option<String>,
}

/// Reads the card of the agent at `address` and returns the requests that [`probe`](super::probe) would send.
///
/// # Errors
/// As [`probe`](super::probe).
pub async fn rehearse(
    transport: HttpTransport,
    address: &str,
    options: ProbeOptions,
) -> Result<Rehearsal, CallFailure> {
    let card_url = card_url(address)?;
    let mut run = ProbeRun::new(transport, options, card_url);
    plan::read_card(&mut run).await?;
    run.rehearses = true;
    let plan = plan::make(&mut run, address).await;
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let verdict = plan::perform(&mut run, step).await;
        let requests: Vec<_> =
            run.take_recorded().into_iter().map(|exchange| exchange.request).collect();
        let nothing = requests.is_empty().then(|| match &verdict {
            CheckVerdict::Skipped(why) if why == REHEARSED => {
                "looks at the answer to an earlier request".to_owned()
            }
            CheckVerdict::Skipped(why)
            | CheckVerdict::NotApplicable(why)
            | CheckVerdict::NotLookedAt(why) => why.clone(),
            CheckVerdict::Pass | CheckVerdict::Fail(_) | CheckVerdict::Warn(_) => {
                "looks at what is known by then".to_owned()
            }
        });
        let on = step.on.clone();
        steps.push(Rehearsed { check: step.check, on, requests, nothing });
    }
    Ok(Rehearsal {
        address: address.to_owned(),
        card_url: run.card_url.to_string(),
        user_agent: run.options.user_agent(),
        rate: run.options.rate,
        budget: run.options.budget,
        left_out: plan::left_out(&run, &plan),
        steps,
    })
}

impl Serialize for Rehearsed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { check, on, requests, nothing } = self;
        let level = check.level.name();
        let step = json!({
            "check": check.id, "on": on, "level": level, "requests": requests, "nothing": nothing,
        });
        step.serialize(serializer)
    }
}
