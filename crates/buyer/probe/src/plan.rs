//! Plan of a run: the checks, their targets and their order; and what the run does not cover.

use reqwest::{Method, Url};
use tradepost_a2a::check_version;
use tradepost_aap::Version;
use tradepost_client::card::{SellerCard, SellerInterface};
use tradepost_client::discover::is_local;
use tradepost_client::failure::{BadAddress, CallFailure, Unsent};
use tradepost_client::text::{SENTENCE, WORD, plain};
use tradepost_client::token::check_origin;
use tradepost_document::catalog::Vocabulary as _;

use super::adcp::seller::SellerBinding;
use super::adcp::{ask, mcp};
use super::binding::{Binding, ProbedInterface, address};
use super::check::{Check, CheckProfile, CheckResult, CheckVerdict, On};
use super::exchange::HttpResponse;
use super::run::{Caller, OutgoingRequest, ProbeRun, RequestOverrides};
use super::{a2a, aap, adcp};

/// Returns every check, in the order in which they are run.
pub fn checks() -> impl Iterator<Item = &'static Check> {
    a2a::TABLES.iter().chain(aap::TABLES).chain(adcp::TABLES).flat_map(|table| table.iter())
}

/// Checks of a run with their targets.
pub(super) struct ProbePlan {
    pub(super) steps: Vec<PlanStep>,
    pub(super) versions: Vec<Version>,
    pub(super) with_adcp: bool,
    pub(super) is_seller: bool,
    /// True when the address was searched for MCP.
    pub(super) looked_for_mcp: bool,
}

/// Check with its target.
pub(super) struct PlanStep {
    pub(super) check: &'static Check,
    pub(super) on: String,
    pub(super) binding: Option<Binding>,
    pub(super) version: Option<Version>,
    pub(super) seller_binding: Option<SellerBinding>,
}

/// Searches for a seller of AdCP and makes the plan.
pub(super) async fn make(run: &mut ProbeRun, address: &str) -> ProbePlan {
    run.speaks_aap = run.card_json.to_string().contains("autoagentprotocol.org/extensions/");
    ask::read_card(run);
    if looks_for_mcp(run) {
        mcp::find_endpoint(run, address).await;
        // The search belongs to no check, so its exchanges are dropped.
        run.take_recorded();
    }
    of_what_is_known(run)
}

/// Makes the plan from what is known so far.
pub(super) fn of_what_is_known(run: &ProbeRun) -> ProbePlan {
    let profile = run.options.profile;
    let wants = |one| profile.is_none_or(|wanted| wanted == one);
    let versions = run.card.as_ref().map(SellerCard::versions).unwrap_or_default();
    let with_aap =
        wants(CheckProfile::Aap) && (run.speaks_aap || profile == Some(CheckProfile::Aap));
    let is_seller = !run.seller.bindings().is_empty();
    let with_adcp = wants(CheckProfile::Adcp) && (profile == Some(CheckProfile::Adcp) || is_seller);
    // A seller that speaks only MCP needs no card.
    let mcp_alone = profile.is_none() && run.card.is_none() && is_seller;
    let with_a2a = wants(CheckProfile::A2a) && !mcp_alone;
    let steps = steps(run, [with_a2a, with_aap, with_adcp], &versions);
    ProbePlan { steps, versions, with_adcp, is_seller, looked_for_mcp: looks_for_mcp(run) }
}

/// Returns true when the address has to be searched for MCP.
fn looks_for_mcp(run: &ProbeRun) -> bool {
    match run.options.profile {
        Some(profile) => profile == CheckProfile::Adcp,
        // An agent's card names its protocols.
        None => run.card.is_none() || run.seller.extension.is_some(),
    }
}

fn steps(run: &ProbeRun, with: [bool; 3], versions: &[Version]) -> Vec<PlanStep> {
    let [with_a2a, with_aap, with_adcp] = with;
    let mut steps = Vec::new();
    let step = |check, on: &str, binding, version| PlanStep {
        check,
        on: on.to_owned(),
        binding,
        version,
        seller_binding: None,
    };
    let a2a = || checks().filter(|check| with_a2a && check.profile() == CheckProfile::A2a);
    let aap = || checks().filter(|check| with_aap && check.profile() == CheckProfile::Aap);
    steps.extend(
        a2a().filter(|check| check.on == On::Card).map(|check| step(check, "card", None, None)),
    );
    for binding in Binding::ALL.iter().copied() {
        // Without an interface there is no target; the checks of the card report that.
        if !run.endpoints.iter().any(|endpoint| endpoint.binding == binding) {
            continue;
        }
        let own = match binding {
            Binding::JsonRpc => On::JsonRpc,
            Binding::HttpJson => On::Rest,
            Binding::Grpc => On::Grpc,
        };
        let on = move |check: &&Check| check.on == On::Binding || check.on == own;
        steps
            .extend(a2a().filter(on).map(|check| step(check, binding.name(), Some(binding), None)));
    }
    steps.extend(
        aap().filter(|check| check.on == On::Card).map(|check| step(check, "card", None, None)),
    );
    for version in versions.iter().rev().copied() {
        let on = format!("AAP {version}");
        let rows = aap().filter(|check| check.on == On::Version);
        steps.extend(rows.map(|check| step(check, &on, Some(Binding::JsonRpc), Some(version))));
    }
    let adcp = || checks().filter(|check| with_adcp && check.profile() == CheckProfile::Adcp);
    steps.extend(
        adcp().filter(|check| check.on == On::Card).map(|check| step(check, "seller", None, None)),
    );
    for seller_binding in run.seller.bindings() {
        let on = move |check: &&Check| {
            check.on == On::Seller || (check.on == On::Mcp && seller_binding == SellerBinding::Mcp)
        };
        steps.extend(adcp().filter(on).map(|check| PlanStep {
            seller_binding: Some(seller_binding),
            ..step(check, seller_binding.name(), None, None)
        }));
    }
    let last = a2a().chain(aap()).chain(adcp()).filter(|check| check.on == On::End);
    steps.extend(last.map(|check| step(check, "run", None, None)));
    steps
}

/// Fetches the card and determines the interfaces that can be probed.
pub(super) async fn read_card(run: &mut ProbeRun) -> Result<(), CallFailure> {
    let url = run.card_url.clone();
    refuse_open_token(run, &url)?;
    // First without a credential, because most cards are public.
    run.card_answer = get_card(run, &url, Caller::Anonymous).await?;
    if run.card_is_guarded() && run.options.token.is_some() {
        run.card_reader = Caller::First;
        run.card_answer = get_card(run, &url, Caller::First).await?;
    }
    if run.card_answer.status != 200 {
        return Ok(());
    }
    let document = run.card_answer.json().unwrap_or_default();
    // A name alone does not make a card: answers of other services have one too.
    let is_card = ["supportedInterfaces", "capabilities", "skills", "url"]
        .iter()
        .any(|name| document.get(name).is_some());
    run.card = SellerCard::read(&run.card_answer.text()).ok().filter(|_| is_card);
    if run.card.is_some() {
        run.card_json = document;
    }
    let interfaces = run.card.iter().flat_map(|card| card.interfaces.iter());
    let usable = |interface: &SellerInterface| check_version(&interface.protocol_version).is_ok();
    for interface in interfaces.filter(|interface| usable(interface)) {
        let Some(binding) = Binding::from_name(&interface.binding) else { continue };
        // Of several interfaces of one binding the first is used.
        let known = run.endpoints.iter().any(|endpoint| endpoint.binding == binding);
        if !known && let Ok(url) = address(&run.card_url, binding, interface) {
            // An empty tenant is equivalent to an absent one (ProtoJSON).
            let tenant = interface.tenant.clone().filter(|tenant| !tenant.is_empty());
            let declared = SellerInterface { tenant, ..interface.clone() };
            run.endpoints.push(ProbedInterface { binding, url, declared });
        }
    }
    for endpoint in &run.endpoints {
        refuse_open_token(run, &endpoint.url)?;
        refuse_foreign_token(run, &endpoint.url)?;
    }
    Ok(())
}

/// Fetches the card as this caller. A server that cannot be reached is an error, not a finding.
async fn get_card(
    run: &mut ProbeRun,
    url: &Url,
    caller: Caller<'static>,
) -> Result<HttpResponse, CallFailure> {
    let headers = run.card_headers(caller);
    let out = OutgoingRequest {
        method: Method::GET,
        url: url.clone(),
        headers,
        body: Vec::new(),
        call: None,
    };
    let overrides = RequestOverrides { caller, expects_401: true, ..RequestOverrides::default() };
    let response = run.send(out, overrides).await;
    response.map_err(|verdict| CallFailure::Unsent(Unsent::Unreachable(verdict.text().to_owned())))
}

/// Describes the server at the address when it is no agent; `None` for an agent, or when this could not be
/// determined.
pub(super) fn no_agent(run: &ProbeRun, plan: &ProbePlan) -> Option<String> {
    let is_agent = run.card.is_some() || plan.with_adcp && plan.is_seller;
    // The address was not called yet, or it demands authentication first.
    let is_unknown = run.card_answer.status == 0 || run.card_is_guarded() || run.wants_credential;
    if is_agent || is_unknown {
        return None;
    }
    let status = run.card_answer.status;
    let kind = run.card_answer.media_type();
    let kind = if kind.is_empty() { "no media type" } else { kind.as_str() };
    let kind = plain(kind, WORD);
    let path = plain(run.card_url.path(), SENTENCE);
    let mcp = match (&run.seller.unrelated_mcp, plan.looked_for_mcp) {
        (Some(_), _) => ", and the MCP server there is no AdCP seller",
        (None, true) => ", and nothing there answers MCP",
        (None, false) => "",
    };
    Some(format!("{path} gives HTTP {status} with {kind} and no agent card{mcp}"))
}

/// Refuses an interface at an origin that the token is not for: the author of a card must not redirect the token.
fn refuse_foreign_token(run: &ProbeRun, url: &Url) -> Result<(), CallFailure> {
    if !run.has_token() {
        return Ok(());
    }
    check_origin(url, &run.options.token_origins(&run.card_url), false)
}

/// Refuses to send a token over an unencrypted connection.
fn refuse_open_token(run: &ProbeRun, url: &Url) -> Result<(), CallFailure> {
    if !run.has_token() || url.scheme() == "https" || is_local(url) {
        return Ok(());
    }
    Err(CallFailure::Unsent(Unsent::Address(BadAddress {
        url: url.to_string(),
        from_card: *url != run.card_url,
        why: "is not https, so the token is not sent",
    })))
}

/// Prepares the run for a check and runs it.
pub(super) async fn perform(run: &mut ProbeRun, step: &PlanStep) -> CheckVerdict {
    run.binding = step.binding.unwrap_or(Binding::JsonRpc);
    run.version = step.version.unwrap_or(Version::V1_1);
    if let Some(seller_binding) = step.seller_binding {
        ask::select_binding(run, seller_binding);
    }
    // Earlier exchanges belong to no check.
    run.take_recorded();
    let result: CheckResult = (step.check.run)(run).await;
    match result {
        Ok(verdict) | Err(verdict) => verdict,
    }
}

/// Lists what the run does not cover: interfaces of the card, AdCP error codes, and unknown AAP versions.
pub(super) fn left_out(run: &ProbeRun, plan: &ProbePlan) -> Vec<String> {
    let mut left_out = Vec::new();
    let interfaces = run.card.iter().flat_map(|card| card.interfaces.iter());
    for interface in interfaces {
        let what = format!("{} {}", interface.binding, interface.protocol_version);
        match Binding::from_name(&interface.binding) {
            Some(_) => {
                let probed = run.endpoints.iter().any(|endpoint| {
                    endpoint.declared.url == interface.url
                        && endpoint.binding.name() == interface.binding
                });
                if !probed {
                    left_out.push(format!("{what} at {}: not probed", interface.url));
                }
            }
            None => left_out.push(format!("{what}: an unknown binding")),
        }
    }
    if let Some(url) = &run.seller.unrelated_mcp {
        left_out
            .push(format!("MCP at {url}: it lists none of AdCP's tools, and is no AdCP seller"));
    }
    let unseen = run.seller.unseen();
    if plan.with_adcp && !run.rehearses && !unseen.is_empty() {
        left_out.push(format!(
            "AdCP codes that neither the official harness asserts nor this run provoked: {}",
            unseen.join(", ")
        ));
    }
    if run.speaks_aap && plan.versions.is_empty() {
        left_out.push("AAP in a version that this prober does not know".to_owned());
    }
    left_out
}
