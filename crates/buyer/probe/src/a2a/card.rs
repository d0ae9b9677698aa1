//! The agent card, with which every client begins.

use reqwest::Method;
use tradepost_a2a::check_version;
use tradepost_client::discover::is_local;
use tradepost_document::json::Value;

use crate::check::{
    Check, CheckResult, CheckVerdict, checks, fail, fail_if, not_applicable, not_applicable_if,
    or_not_applicable, pass_if, skip_if, verdict_of, warn,
};
use crate::exchange::HttpResponse;
use crate::run::{OutgoingRequest, ProbeRun, RequestOverrides};
use crate::shape::{ShapeProblems, items, text};

const WHY_CARD: &str =
    "Buyers know an agent by its card alone; what is missing there does not exist for them.";
const WHY_CACHE: &str =
    "Every buyer reads the card before every conversation; caching spares both sides.";

pub(super) const CHECKS: &[Check] = checks![
    "a2a.card.served", Card, Must, ["D-01"], "A2A §8.2",
    "The agent card is at its well-known address", WHY_CARD,
    "answer GET /.well-known/agent-card.json with 200 and an AgentCard as JSON" => served();
    "a2a.card.content-type", Card, Should, ["D-01", "CT-01"], "A2A §8.2",
    "The card is served as JSON", "Clients refuse or misread a document of another type.",
    "send Content-Type: application/json" => content_type();
    "a2a.card.members", Card, Must, ["E-25", "D-02"], "A2A §4.4.1",
    "The card has every required member", WHY_CARD,
    "add the members; required lists need at least one entry" => members();
    "a2a.card.skills", Card, Must, ["E-25"], "A2A §4.4.5",
    "Every skill has id, name, description and tags", WHY_CARD,
    "complete the skills" => skills();
    "a2a.card.provider", Card, Must, ["E-25"], "A2A §4.4.2",
    "A provider has its organization and url", WHY_CARD,
    "complete the provider, or leave it out" => provider();
    "a2a.card.interfaces", Card, Must, ["D-02"], "A2A §8.3.1",
    "Every interface has an absolute url, a binding and a protocol version",
    "A client takes the first interface that it knows and calls its url.",
    "declare url, protocolBinding and protocolVersion for each interface" => interfaces();
    "a2a.card.reachable", Card, Must, ["D-02", "V-09"], "A2A §8.3.1",
    "An interface of A2A 1.0 over JSON-RPC, HTTP+JSON or gRPC can be used",
    "Without one nobody who speaks A2A 1.0 can call the agent.",
    "offer JSONRPC, HTTP+JSON or GRPC with protocolVersion 1.0 at an address as public as the card" => reachable();
    "a2a.card.version-form", Card, Must, ["V-02", "V-05"], "A2A §3.6",
    "Protocol versions are written Major.Minor", "Clients compare the text.",
    "write 1.0, without a patch number" => version_form();
    "a2a.card.https", Card, Must, ["A-09"], "A2A §7.1",
    "A public agent is reached over TLS", "Leads and credentials travel in the requests.",
    "serve the card and every interface over https" => https();
    "a2a.card.public", Card, Should, ["D-11"], "A2A §14.3",
    "The card names no secrets and no internal addresses", "Everybody can read the card.",
    "remove them, or move them to the extended card" => public();
    "a2a.card.cors", Card, Should, ["D-11"], "A2A §14.3",
    "The card does not let every web page use a visitor's credentials",
    "A reflected Origin with credentials hands cookies to any page.",
    "answer with Access-Control-Allow-Origin: * and without credentials, or with neither" => cors();
    "a2a.card.cache-control", Card, Should, ["D-03"], "A2A §8.6.1",
    "The card says how long it may be kept", WHY_CACHE,
    "send Cache-Control with max-age" => cache_control();
    "a2a.card.etag", Card, Should, ["D-04"], "A2A §8.6.1",
    "The card has an entity tag", WHY_CACHE,
    "send an ETag made of the content" => etag();
    "a2a.card.not-modified", Card, Should, ["D-06"], "A2A §8.6.2",
    "An unchanged card is answered with 304", WHY_CACHE,
    "compare If-None-Match with the entity tag" => not_modified();
    "a2a.card.last-modified", Card, May, ["D-05"], "A2A §8.6.1",
    "The card says when it was changed", "The official kit asks for it.",
    "send Last-Modified" => last_modified();
    "a2a.card.signature", Card, Must, ["D-09"], "A2A §8.4.2",
    "Signatures have a protected header that is base64url and a signature",
    "A signature that nobody can read protects nobody.",
    "write protected and signature as base64url, and alg and kid in the protected header" => signature();
];

async fn get(
    run: &mut ProbeRun,
    header: Option<(&'static str, String)>,
) -> Result<HttpResponse, CheckVerdict> {
    let caller = run.card_reader;
    let mut headers = run.card_headers(caller);
    headers.extend(header);
    let out = OutgoingRequest {
        method: Method::GET,
        url: run.card_url.clone(),
        headers,
        body: Vec::new(),
        call: None,
    };
    run.send(out, RequestOverrides { caller, expects_401: true, ..RequestOverrides::default() })
        .await
}

/// Returns the card; without one the other checks do not apply.
fn card(run: &ProbeRun) -> Result<Value, CheckVerdict> {
    skip_if(run.card.is_none() && run.card_is_guarded(), guarded(run))?;
    if run.card.is_none() { not_applicable("there is no card") } else { Ok(run.card_json.clone()) }
}

/// Returns the reason why a protected card was not read.
fn guarded(run: &ProbeRun) -> &'static str {
    match run.options.token {
        Some(_) => "the card is not shown for the token",
        None => "the card wants a credential; give one with --token",
    }
}

async fn served(run: &mut ProbeRun) -> CheckResult {
    let response = get(run, None).await?;
    // A card may be restricted to known callers (A2A §14.3).
    skip_if(matches!(response.status, 401 | 403), guarded(run))?;
    fail_if(response.status != 200, format!("the answer is HTTP {}", response.status))?;
    if run.card.is_none() { fail("the answer is no agent card") } else { Ok(CheckVerdict::Pass) }
}

async fn content_type(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    let kind = run.card_answer.media_type();
    pass_if(
        kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")),
        format!("the media type is {kind:?}"),
    )
}

async fn members(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    let mut wrong = ShapeProblems::default();
    for name in ["name", "description", "version"] {
        wrong.text(&card, name, "the card");
    }
    let capable = card.get("capabilities").is_some_and(Value::is_object);
    wrong.unless(capable, "the card has no capabilities");
    // §8.4.1 shows an empty list of skills, so it is accepted.
    wrong.list(&card, "skills", "the card");
    for name in ["supportedInterfaces", "defaultInputModes", "defaultOutputModes"] {
        wrong.unless(items(&card, name).count() > 0, format!("the card has no {name}"));
    }
    verdict_of(&wrong.0)
}

async fn skills(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    not_applicable_if(items(&card, "skills").count() == 0, "the card lists no skills")?;
    let mut wrong = ShapeProblems::default();
    for (index, skill) in items(&card, "skills").enumerate() {
        for name in ["id", "name", "description"] {
            wrong.text(skill, name, &format!("skills[{index}]"));
        }
        wrong.unless(items(skill, "tags").count() > 0, format!("skills[{index}] has no tags"));
    }
    verdict_of(&wrong.0)
}

async fn provider(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    let provider = or_not_applicable(
        card.get("provider").filter(|provider| !provider.is_null()),
        "the card names no provider",
    )?;
    let mut wrong = ShapeProblems::default();
    wrong.text(provider, "organization", "the provider");
    wrong.text(provider, "url", "the provider");
    verdict_of(&wrong.0)
}

async fn interfaces(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    let mut wrong = ShapeProblems::default();
    for (index, interface) in items(&card, "supportedInterfaces").enumerate() {
        let place = format!("supportedInterfaces[{index}]");
        wrong.text(interface, "protocolBinding", &place);
        wrong.text(interface, "protocolVersion", &place);
        wrong.text(interface, "url", &place);
        let binding = text(interface, "protocolBinding").unwrap_or_default();
        let url = text(interface, "url").unwrap_or_default();
        let absolute = reqwest::Url::parse(url).is_ok_and(|url| url.has_host());
        // A gRPC address is host:port.
        wrong.unless(binding == "GRPC" || absolute, format!("{place}.url is not absolute"));
    }
    verdict_of(&wrong.0)
}

async fn reachable(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    pass_if(
        !run.endpoints.is_empty(),
        "the card offers no interface of A2A 1.0 over JSON-RPC, HTTP+JSON or gRPC that a client may use",
    )
}

async fn version_form(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    let mut wrong = ShapeProblems::default();
    let mut patched = false;
    for interface in items(&card, "supportedInterfaces") {
        let version = text(interface, "protocolVersion").unwrap_or_default();
        let numbers: Vec<_> = version.split('.').collect();
        let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let is_number = numbers.iter().all(digits);
        patched |= is_number && numbers.len() == 3 && check_version(version).is_ok();
        let holds = is_number && matches!(numbers.len(), 2 | 3);
        wrong.unless(holds, format!("protocolVersion {version:?} is not Major.Minor"));
    }
    verdict_of(&wrong.0)?;
    if patched {
        return warn("a protocolVersion has a patch number");
    }
    Ok(CheckVerdict::Pass)
}

async fn https(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    not_applicable_if(is_local(&run.card_url), "the agent is on this machine or in its network")?;
    let mut wrong = ShapeProblems::default();
    wrong.unless(run.card_url.scheme() == "https", "the card is not served over https");
    for interface in items(&card, "supportedInterfaces") {
        let url = text(interface, "url").unwrap_or_default();
        wrong.unless(!url.starts_with("http://"), "an interface is not https");
    }
    verdict_of(&wrong.0)
}

async fn public(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    let whole = card.to_string();
    let mut wrong = ShapeProblems::default();
    let secrets = ["PRIVATE KEY", "client_secret", "password=", "://user:", "AKIA"];
    for sign in secrets.iter().filter(|sign| whole.contains(**sign)) {
        wrong.add(format!("the card contains {sign:?}"));
    }
    if !is_local(&run.card_url) {
        for sign in
            ["://localhost", "://127.", "://10.", "://192.168.", "://169.254.", ".internal/"]
        {
            wrong.unless(!whole.contains(sign), "the card names an internal address");
        }
    }
    verdict_of(&wrong.0)
}

async fn cors(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    let origin = "https://probe.invalid";
    let response = get(run, Some(("origin", origin.to_owned()))).await?;
    let reflected = response.header("access-control-allow-origin") == Some(origin);
    let trusted = response.header("access-control-allow-credentials") == Some("true");
    pass_if(
        !(reflected && trusted),
        "any Origin is reflected together with Access-Control-Allow-Credentials",
    )
}

async fn cache_control(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    match run.card_answer.header("cache-control") {
        Some(value) if value.contains("max-age=") => Ok(CheckVerdict::Pass),
        Some(_) => fail("Cache-Control has no max-age"),
        None => fail("there is no Cache-Control"),
    }
}

async fn etag(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    match run.card_answer.header("etag") {
        Some(tag) if tag.ends_with('"') && tag.contains('"') => Ok(CheckVerdict::Pass),
        Some(_) => fail("the ETag is not quoted (RFC 9110 §8.8.3)"),
        None => fail("there is no ETag"),
    }
}

async fn not_modified(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    let tag = or_not_applicable(
        run.card_answer.header("etag").map(str::to_owned),
        "the card has no entity tag",
    )?;
    let response = get(run, Some(("if-none-match", tag))).await?;
    match response.status {
        304 if response.body.is_empty() => Ok(CheckVerdict::Pass),
        304 => fail("the 304 has a body"),
        status => fail(format!("the answer is HTTP {status}")),
    }
}

async fn last_modified(run: &mut ProbeRun) -> CheckResult {
    card(run)?;
    pass_if(run.card_answer.header("last-modified").is_some(), "there is no Last-Modified")
}

async fn signature(run: &mut ProbeRun) -> CheckResult {
    let card = card(run)?;
    not_applicable_if(items(&card, "signatures").count() == 0, "the card is not signed")?;
    let mut wrong = ShapeProblems::default();
    for (index, signature) in items(&card, "signatures").enumerate() {
        for name in ["protected", "signature"] {
            let value = text(signature, name).unwrap_or_default();
            let is_base64url = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
            wrong.unless(
                !value.is_empty() && value.bytes().all(is_base64url),
                format!("signatures[{index}].{name} is not base64url without padding"),
            );
        }
        // `{"` in base64url begins with `ey`, as every JOSE header does.
        let protected = text(signature, "protected").unwrap_or_default();
        let holds = protected.starts_with("ey");
        wrong.unless(holds, format!("signatures[{index}].protected is no JSON object"));
    }
    verdict_of(&wrong.0)
}
