//! Checks that each interface of the card answers (A2A §8.3.1): a client uses the first one it supports, which may be
//! any of them.

use reqwest::Method;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::status::RpcStatus;
use tradepost_a2a::{Operation, check_version};
use tradepost_client::card::SellerInterface;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{json, object};

use crate::binding::{Binding, address};
use crate::check::{
    Check, CheckResult, CheckVerdict, checks, not_applicable, not_applicable_if, verdict_of,
};
use crate::exchange::HttpResponse;
use crate::grpc;
use crate::rest::join;
use crate::run::{Caller, GrpcCall, HeaderOverride, OutgoingRequest, ProbeRun, RequestOverrides};

pub(super) const CHECKS: &[Check] = checks![
    "a2a.card.interfaces-alive", Card, Must, ["D-02"], "A2A §8.3.1",
    "Every interface that the card lists answers in its protocol",
    "A client takes the first interface that it knows; behind a dead one the agent does not exist.",
    "take interfaces that are not served off the card, or serve them" => alive();
];

async fn alive(run: &mut ProbeRun) -> CheckResult {
    let Some(card) = &run.card else { return not_applicable("there is no card") };
    let mut interfaces: Vec<SellerInterface> = Vec::new();
    for interface in &card.interfaces {
        if !interfaces.contains(interface) {
            interfaces.push(interface.clone());
        }
    }
    let mut wrong = Vec::new();
    let mut asked = 0;
    for interface in interfaces {
        let Some(binding) = Binding::from_name(&interface.binding) else { continue };
        // An address that a client may not use is reported by other checks.
        let Ok(base) = address(&run.card_url, binding, &interface) else { continue };
        asked += 1;
        let is_older = check_version(&interface.protocol_version).is_err();
        let out = request(run, binding, base, &interface, is_older);
        let place =
            format!("{} {} at {}", interface.binding, interface.protocol_version, interface.url);
        match run.send(out, asking(&interface)).await {
            Ok(response) if is_of(binding, &response) => {}
            Ok(HttpResponse { status, .. }) => {
                wrong.push(format!("{place}: HTTP {status} that is no answer of the protocol"));
            }
            Err(CheckVerdict::Fail(why)) => wrong.push(format!("{place}: {why}")),
            Err(other) => return Err(other),
        }
    }
    not_applicable_if(asked == 0, "the card lists no interface that could be asked")?;
    verdict_of(&wrong)
}

/// Calls without a credential, so that none is sent to an address that is not probed otherwise.
fn asking(interface: &SellerInterface) -> RequestOverrides<'_> {
    let version = HeaderOverride::Text(&interface.protocol_version);
    RequestOverrides {
        version,
        caller: Caller::Anonymous,
        expects_401: true,
        ..RequestOverrides::default()
    }
}

/// Builds a request for a task that does not exist.
fn request(
    run: &mut ProbeRun,
    binding: Binding,
    base: reqwest::Url,
    interface: &SellerInterface,
    is_older: bool,
) -> OutgoingRequest {
    let id = run.unknown_id();
    let tenant = interface.tenant.as_deref().filter(|tenant| !tenant.is_empty());
    let params = object!({"id": id, "tenant"?: tenant});
    let overrides = asking(interface);
    match binding {
        Binding::JsonRpc => {
            let method = if is_older { "tasks/get" } else { Operation::GetTask.name() };
            let body = json!({"jsonrpc": "2.0", "id": run.unique_id("q"), "method": method, "params": params});
            let headers = run.headers(&overrides, true);
            let body = body.to_string().into_bytes();
            OutgoingRequest { method: Method::POST, url: base, headers, body, call: None }
        }
        Binding::HttpJson => {
            // A2A 0.3 has its paths below `v1`.
            let path: &[&str] = if is_older { &["v1", "tasks", &id] } else { &["tasks", &id] };
            let headers = run.headers(&overrides, false);
            let url = join(&base, tenant, path);
            OutgoingRequest { method: Method::GET, url, headers, body: Vec::new(), call: None }
        }
        Binding::Grpc => {
            let message = protobuf::write(schema::request(Operation::GetTask), &params);
            let headers = run.grpc_headers(overrides);
            let url = grpc::method(&base, Operation::GetTask.name());
            let body = grpc::framed(&message.unwrap_or_default());
            let call = GrpcCall { operation: Some(Operation::GetTask), shown: params.to_string() };
            OutgoingRequest { method: Method::POST, url, headers, body, call: Some(call) }
        }
    }
}

/// Returns true when an answer shows a server that speaks the binding, whichever answer it is. A server that demands
/// authentication may do so before it reads the request.
fn is_of(binding: Binding, response: &HttpResponse) -> bool {
    if matches!(response.status, 401 | 403 | 429) {
        return true;
    }
    let body = response.json();
    match binding {
        Binding::JsonRpc => body.as_ref().is_some_and(|body| body.get("jsonrpc").is_some()),
        // A framework's own page about a missing path may be JSON too.
        Binding::HttpJson => body.as_ref().is_some_and(|body| {
            let known = ["error", "message", "code", "status", "type", "title"];
            response.status < 500 && known.iter().any(|name| body.get(name).is_some())
        }),
        Binding::Grpc => grpc::end(response).is_some_and(|end| !reached_no_service(&end)),
    }
}

/// Returns true when the call reached no such service: no status, UNIMPLEMENTED or UNAVAILABLE.
fn reached_no_service(end: &grpc::GrpcEnd) -> bool {
    matches!(end.status(), None | Some(RpcStatus::Unimplemented | RpcStatus::Unavailable))
}
