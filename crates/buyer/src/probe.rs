//! The prober: asks an agent what its specifications let everybody ask, judges the answers against
//! a table of checks, and grades the agent.
//!
//! It sends raw HTTP of its own, so that it can send what a client never would, and knows of the
//! agent only what the agent answers. A check accepts every alternative that the specification
//! permits; only a MUST decides between good and bad. It is polite: one request at a time, at a
//! given rate and within a budget, and nothing with an effect that was not allowed.

use jiff::Timestamp;
use reqwest::{Method, Url};
use serde_json::Value;
use tradepost_wire::a2a::check_version;
use tradepost_wire::aap::Version;

use crate::card::{Card, Interface};
use crate::discover::{card_url, endpoint, is_local};
use crate::failure::{BadAddress, Failure, Unsent};
use crate::transport::Transport;

pub mod check;
pub mod exchange;
pub mod grade;
pub mod html;
pub mod junit;
pub mod report;

mod a2a;
mod aap;
mod adcp;
mod leak;
mod reply;
mod rest;
mod run;
mod shape;

use adcp::Way;
use check::{Check, Judged, On, Profile, Verdict};
use report::{Finding, Report};
use run::{Ask, Binding, Endpoint, Out, Run};

/// What to probe, and how gently.
#[derive(Debug, Clone)]
pub struct Options {
    /// The specifications to judge by; `None` judges by those that the card names.
    pub profile: Option<Profile>,
    /// A bearer token.
    pub token: Option<String>,
    /// The bearer token of somebody else, to see whether callers are kept apart.
    pub token_b: Option<String>,
    /// Whether leads may be sent with which somebody could be contacted, and valid ones.
    pub allow_leads: bool,
    /// Whether messages may be sent that a generic agent works on.
    pub allow_messages: bool,
    /// Whether an AdCP seller may be asked to change something: an account in its sandbox.
    pub allow_writes: bool,
    /// Requests in a second at most; 0 is as many as can be.
    pub rate: u32,
    /// Requests in all at most.
    pub budget: u32,
    /// The moment from which consents are dated.
    pub now: Timestamp,
    /// Makes ids that no other run has; letters and digits.
    pub run_id: String,
    /// What is known, and why it is accepted.
    pub waivers: Vec<Waiver>,
}

/// A failure that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// The check.
    pub check: String,
    /// Why it is accepted; never empty.
    pub reason: String,
}

/// How far a run is.
#[derive(Debug)]
pub struct Progress<'a> {
    /// How many checks are done.
    pub done: usize,
    /// How many there are.
    pub total: usize,
    /// The last one.
    pub finding: &'a Finding,
}

/// Every check, in the order in which they are run.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    a2a::TABLES.iter().chain(aap::TABLES).chain(adcp::TABLES).flat_map(|table| table.iter())
}

/// Probes the agent at `address`: a base address, that of its card, or of an MCP endpoint.
///
/// # Errors
/// When the agent cannot be reached at all, or the address or a token cannot be used. An agent
/// without a card is a report with grade F.
pub async fn probe(
    transport: Transport,
    address: &str,
    options: Options,
    progress: &mut (dyn FnMut(&Progress<'_>) + Send),
) -> Result<Report, Failure> {
    let card_url = card_url(address)?;
    let mut run = Run::new(transport, options, card_url);
    read_card(&mut run).await?;
    let profile = run.options.profile;
    let wants = |one| profile.is_none_or(|wanted| wanted == one);
    let versions = run.card.as_ref().map(Card::versions).unwrap_or_default();
    run.speaks_aap = run.card_json.to_string().contains("autoagentprotocol.org/extensions/");
    let with_aap =
        wants(Profile::Aap) && (run.speaks_aap || run.options.profile == Some(Profile::Aap));
    adcp::read_card(&mut run);
    let wants_adcp = run.options.profile == Some(Profile::Adcp);
    // An agent with a card says there what it speaks.
    let may_be_mcp = run.card.is_none() && run.card_answer.status != 200;
    if wants_adcp || wants(Profile::Adcp) && (may_be_mcp || run.seller.extension.is_some()) {
        adcp::mcp::find(&mut run, address).await;
        run.take_recorded();
    }
    let is_seller = !run.seller.ways().is_empty();
    let with_adcp = wants(Profile::Adcp) && (wants_adcp || is_seller);
    // A seller that speaks MCP alone needs no card.
    let mcp_alone = run.options.profile.is_none() && run.card.is_none() && is_seller;
    let with_a2a = wants(Profile::A2a) && !mcp_alone;
    let plan: Vec<Step> = plan(&run, [with_a2a, with_aap, with_adcp], &versions);
    let total = plan.len();
    let mut findings: Vec<Finding> = Vec::with_capacity(total);
    for (index, step) in plan.into_iter().enumerate() {
        let finding = perform(&mut run, step).await;
        progress(&Progress { done: index + 1, total, finding: &finding });
        findings.push(finding);
    }
    let grade = grade::of(&findings, run.card.is_some() || with_adcp && is_seller);
    let names = |what: &str| run.card_json.get(what).and_then(Value::as_str).map(str::to_owned);
    Ok(Report {
        address: address.to_owned(),
        card_url: run.card_url.to_string(),
        agent: names("name").unwrap_or_default(),
        agent_version: names("version").unwrap_or_default(),
        probed_at: run.options.now,
        grade,
        requests: run.spent,
        left_out: left_out(&run, &versions, with_adcp),
        measured: run.seller.measured(),
        findings,
    })
}

/// A check and what it is run on.
struct Step {
    check: &'static Check,
    on: String,
    binding: Option<Binding>,
    version: Option<Version>,
    way: Option<Way>,
}

fn plan(run: &Run, with: [bool; 3], versions: &[Version]) -> Vec<Step> {
    let [with_a2a, with_aap, with_adcp] = with;
    let mut steps = Vec::new();
    let step = |check, on: &str, binding, version| Step {
        check,
        on: on.to_owned(),
        binding,
        version,
        way: None,
    };
    let a2a = || checks().filter(|check| with_a2a && check.profile() == Profile::A2a);
    let aap = || checks().filter(|check| with_aap && check.profile() == Profile::Aap);
    steps.extend(a2a().filter(|it| it.on == On::Card).map(|it| step(it, "card", None, None)));
    for binding in [Binding::JsonRpc, Binding::Rest] {
        // Without an interface there is nothing to run on; that is for the card's checks to say.
        if !run.endpoints.iter().any(|endpoint| endpoint.binding == binding) {
            continue;
        }
        let own = if binding == Binding::JsonRpc { On::JsonRpc } else { On::Rest };
        let on = move |it: &&Check| it.on == On::Binding || it.on == own;
        steps.extend(a2a().filter(on).map(|it| step(it, binding.name(), Some(binding), None)));
    }
    steps.extend(aap().filter(|it| it.on == On::Card).map(|it| step(it, "card", None, None)));
    for version in versions.iter().rev().copied() {
        let on = format!("AAP {version}");
        let rows = aap().filter(|it| it.on == On::Version);
        steps.extend(rows.map(|it| step(it, &on, Some(Binding::JsonRpc), Some(version))));
    }
    let adcp = || checks().filter(|check| with_adcp && check.profile() == Profile::Adcp);
    steps.extend(adcp().filter(|it| it.on == On::Card).map(|it| step(it, "seller", None, None)));
    for way in run.seller.ways() {
        let on = move |it: &&Check| it.on == On::Seller || (it.on == On::Mcp && way == Way::Mcp);
        steps.extend(
            adcp().filter(on).map(|it| Step { way: Some(way), ..step(it, way.name(), None, None) }),
        );
    }
    let last = a2a().chain(aap()).chain(adcp()).filter(|it| it.on == On::End);
    steps.extend(last.map(|it| step(it, "run", None, None)));
    steps
}

async fn perform(run: &mut Run, step: Step) -> Finding {
    run.binding = step.binding.unwrap_or(Binding::JsonRpc);
    run.version = step.version.unwrap_or(Version::V1_1);
    if let Some(way) = step.way {
        adcp::choose(run, way);
    }
    run.take_recorded();
    let judged: Judged = (step.check.run)(run).await;
    let verdict = match judged {
        Ok(verdict) | Err(verdict) => verdict,
    };
    let waiver = run.options.waivers.iter().find(|waiver| waiver.check == step.check.id);
    let waived = waiver.filter(|_| matches!(verdict, Verdict::Fail(_)));
    Finding {
        check: step.check,
        on: step.on,
        verdict,
        waived: waived.map(|waiver| waiver.reason.clone()),
        exchanges: run.take_recorded(),
    }
}

/// Fetches the card and finds the interfaces that can be probed.
async fn read_card(run: &mut Run) -> Result<(), Failure> {
    let url = run.card_url.clone();
    refuse_open_token(run, &url)?;
    let headers = run.headers(&Ask::default(), false);
    let headers = headers.into_iter().filter(|(name, _)| *name == "accept").collect();
    let out = Out { method: Method::GET, url, headers, body: Vec::new() };
    // Nobody there is no finding about an agent.
    let ask = Ask { expects_401: true, ..Ask::default() };
    run.card_answer = match run.send(out, ask).await {
        Ok(got) => got,
        Err(verdict) => {
            return Err(Failure::Unsent(Unsent::Unreachable(verdict.text().to_owned())));
        }
    };
    if run.card_answer.status != 200 {
        return Ok(());
    }
    run.card = Card::read(&run.card_answer.text()).ok();
    if run.card.is_some() {
        run.card_json = run.card_answer.json().unwrap_or_default();
    }
    let interfaces = run.card.iter().flat_map(|card| card.interfaces.iter());
    let usable = |interface: &Interface| check_version(&interface.protocol_version).is_ok();
    for interface in interfaces.filter(|it| usable(it)) {
        let binding = match interface.binding.as_str() {
            "JSONRPC" => Binding::JsonRpc,
            "HTTP+JSON" => Binding::Rest,
            _ => continue,
        };
        let known = run.endpoints.iter().any(|endpoint| endpoint.binding == binding);
        if let (false, Ok(url)) = (known, endpoint(&run.card_url, interface)) {
            // An empty tenant is an absent one (ProtoJSON).
            let tenant = interface.tenant.clone().filter(|tenant| !tenant.is_empty());
            let declared = Interface { tenant, ..interface.clone() };
            run.endpoints.push(Endpoint { binding, url, declared });
        }
    }
    for endpoint in &run.endpoints {
        refuse_open_token(run, &endpoint.url)?;
    }
    Ok(())
}

/// A token does not travel in the open.
fn refuse_open_token(run: &Run, url: &Url) -> Result<(), Failure> {
    let has_token = run.options.token.is_some() || run.options.token_b.is_some();
    if !has_token || url.scheme() == "https" || is_local(url) {
        return Ok(());
    }
    Err(Failure::Unsent(Unsent::Address(BadAddress {
        url: url.to_string(),
        from_card: *url != run.card_url,
        why: "is not https, so the token is not sent",
    })))
}

/// What the card offers and this prober does not look at.
fn left_out(run: &Run, versions: &[Version], with_adcp: bool) -> Vec<String> {
    let mut left_out = Vec::new();
    let interfaces = run.card.iter().flat_map(|card| card.interfaces.iter());
    for interface in interfaces {
        let what = format!("{} {}", interface.binding, interface.protocol_version);
        match interface.binding.as_str() {
            "GRPC" => left_out.push(format!("{what}: gRPC is not probed yet")),
            "JSONRPC" | "HTTP+JSON" => {
                let probed = run.endpoints.iter().any(|endpoint| {
                    endpoint.declared.url == interface.url
                        && endpoint.binding.name() == interface.binding
                });
                if !probed {
                    left_out.push(format!("{what} at {}: not probed", interface.url));
                }
            }
            _ => left_out.push(format!("{what}: an unknown binding")),
        }
    }
    let unseen = run.seller.unseen();
    if with_adcp && !unseen.is_empty() {
        left_out.push(format!(
            "AdCP codes that neither the official harness asserts nor this run provoked: {}",
            unseen.join(", ")
        ));
    }
    if run.speaks_aap && versions.is_empty() {
        left_out.push("AAP in a version that this prober does not know".to_owned());
    }
    left_out
}

impl Report {
    /// Whether a MUST is broken that nobody has waived.
    #[must_use]
    pub fn breaks_a_must(&self) -> bool {
        self.grade.breaks_a_must()
    }
}

#[cfg(test)]
mod tests;
