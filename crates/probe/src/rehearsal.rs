//! What a run would send, without sending it: the card is read, as every client reads it, and
//! nothing else.

use serde::{Serialize, Serializer};
use tradepost_buyer::discover::card_url;
use tradepost_buyer::failure::CallFailure;
use tradepost_buyer::transport::HttpTransport;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::json;

use super::check::{Check, CheckVerdict};
use super::exchange::RecordedRequest;
use super::options::ProbeOptions;
use super::plan;
use super::run::{ProbeRun, REHEARSED};

/// What would be sent.
#[derive(Debug, Serialize)]
pub struct Rehearsal {
    /// The address that was given.
    pub address: String,
    /// Where the card is.
    pub card_url: String,
    /// How every request names who sends it.
    pub user_agent: String,
    /// Requests in a second at most; 0 is as many as can be.
    pub rate: u32,
    /// Requests in all at most.
    pub budget: u32,
    /// What the card offers and would not be looked at.
    pub left_out: Vec<String>,
    /// Each check, in order.
    pub steps: Vec<Rehearsed>,
}

/// What a check would send.
#[derive(Debug)]
pub struct Rehearsed {
    /// The check.
    pub check: &'static Check,
    /// What it is run on.
    pub on: String,
    /// What it sends first. What it sends once there is an answer depends on the answer.
    pub requests: Vec<RecordedRequest>,
    /// Why it sends nothing of its own.
    pub nothing: Option<String>,
}

/// Reads the card of the agent at `address`, and says what [`probe`](super::probe) would send besides.
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
        let requests: Vec<_> = run.take_recorded().into_iter().map(|it| it.request).collect();
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
