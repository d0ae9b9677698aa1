//! State of a run: sends requests within the rate limit, records them, and stores what checks share.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Method, Url};
use tokio::time::Instant;
use tradepost_a2a::protobuf::{self, schema};
use tradepost_a2a::{EXTENSIONS_HEADER, Operation, VERSION, VERSION_HEADER};
use tradepost_aap as aap;
use tradepost_client::card::SellerCard;
use tradepost_client::token::check_origin;
use tradepost_client::transport::HttpTransport;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use transfer::requested_wait;

use super::adcp::seller::ProbedSeller;
use super::binding::{Binding, ProbedInterface};
use super::check::{
    CheckResult, CheckVerdict, fail, not_applicable, not_looked_at, not_looked_at_if,
    or_not_applicable, skip, verdict_of,
};
use super::exchange::{HttpResponse, RecordedExchange, RecordedRequest, excerpt, redact};
use super::grpc;
use super::options::ProbeOptions;
use super::reply::ProbedAnswer;
use super::rest;
use super::shape::ShapeProblems;

mod transfer;

/// Reason for a missing answer in a dry run.
pub(crate) const REHEARSED: &str = "nothing is sent in a rehearsal";

/// Maximum number of exchanges that are recorded for a check.
const MAX_RECORDED: usize = 8;

/// Maximum number of repetitions for an agent that requests a pause, and maximum length of one pause.
const MAX_WAITS: usize = 4;
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Maximum sum of all pauses for an agent; beyond it the probe stops waiting.
const MAX_TOTAL_WAIT: Duration = Duration::from_secs(300);

/// Value of a header: the usual one, none, or another text.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum HeaderOverride<'a> {
    #[default]
    Usual,
    Absent,
    Text(&'a str),
}

/// Caller of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Caller<'a> {
    /// The first token, or no credential when none was given.
    #[default]
    First,
    /// The second token, or no credential when none was given.
    Second,
    Anonymous,
    Token(&'a str),
}

/// Deviations of a request from the usual form.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestOverrides<'a> {
    pub(crate) version: HeaderOverride<'a>,
    pub(crate) extensions: HeaderOverride<'a>,
    pub(crate) content_type: HeaderOverride<'a>,
    pub(crate) caller: Caller<'a>,
    pub(crate) query: &'a str,
    /// Number of events after which a stream is left.
    pub(crate) leave_after: Option<usize>,
    /// True when the check expects an answer of 401.
    pub(crate) expects_401: bool,
}

/// Request to send.
#[derive(Debug)]
pub(crate) struct OutgoingRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
    /// gRPC call, when the request is one.
    pub(crate) call: Option<GrpcCall>,
}

/// Call of gRPC.
#[derive(Debug, Clone)]
pub(crate) struct GrpcCall {
    /// Operation; `None` for a method that A2A does not define.
    pub(crate) operation: Option<Operation>,
    /// Message in readable form.
    pub(crate) shown: String,
}

/// Error object of AAP in a recorded answer.
#[derive(Debug, Clone)]
pub(crate) struct SeenAapError {
    /// Complete `error` member.
    pub(crate) error: Value,
    pub(crate) version: aap::Version,
    pub(crate) exchange: RecordedExchange,
}

/// Stream with which an agent answered a message.
#[derive(Debug, Clone)]
pub(crate) struct Streamed {
    pub(crate) binding: Binding,
    /// Prefix of the id of the message that caused it.
    pub(crate) prefix: &'static str,
    pub(crate) reply: ProbedAnswer,
    pub(crate) exchange: Option<RecordedExchange>,
}

/// State that checks share.
#[derive(Debug)]
pub(crate) struct ProbeRun {
    pub(crate) options: ProbeOptions,
    pub(crate) card_url: Url,
    pub(crate) card_answer: HttpResponse,
    /// Caller that reads the card: without a credential, unless the card is only shown to authenticated callers.
    pub(crate) card_reader: Caller<'static>,
    pub(crate) card: Option<SellerCard>,
    /// Card as JSON; null when there is none.
    pub(crate) card_json: Value,
    pub(crate) endpoints: Vec<ProbedInterface>,
    /// Binding that is being probed.
    pub(crate) binding: Binding,
    /// Version of AAP that is being probed.
    pub(crate) version: aap::Version,
    pub(crate) speaks_aap: bool,
    /// Message part that the agent accepts; `None` until it has accepted one.
    pub(crate) accepted_part: Option<Value>,
    /// Stream of a message on each binding; requested once, because it creates a task.
    pub(crate) streams: Vec<Streamed>,
    /// Results of earlier checks that later ones need.
    pub(crate) cache: BTreeMap<String, Result<Value, CheckVerdict>>,
    pub(crate) seen: Vec<SeenAapError>,
    /// Answers that reveal details of the agent's implementation.
    pub(crate) leaks: Vec<(&'static str, RecordedExchange)>,
    /// Calls of gRPC that ended with the status UNKNOWN.
    pub(crate) unknown_ends: Vec<RecordedExchange>,
    /// Answer to callers without a credential on each binding; requested once, because agents count failed attempts.
    pub(crate) anonymous_answers: Vec<(Binding, ProbedAnswer, Option<RecordedExchange>)>,
    /// True when an answer demanded a credential that was not given, or rejected the given one.
    pub(crate) wants_credential: bool,
    pub(crate) spent: u32,
    /// State of the probe of an AdCP seller.
    pub(crate) seller: ProbedSeller,
    /// Duration of the last exchange.
    pub(crate) took: Duration,
    /// True when requests are recorded and not sent.
    pub(crate) rehearses: bool,
    transport: HttpTransport,
    recorded: Vec<RecordedExchange>,
    next_at: Option<Instant>,
    counter: u64,
    waited: Duration,
}

impl ProbeRun {
    pub(crate) fn new(transport: HttpTransport, options: ProbeOptions, card_url: Url) -> Self {
        Self {
            options,
            card_url,
            card_answer: HttpResponse::default(),
            card_reader: Caller::Anonymous,
            card: None,
            card_json: Value::Null,
            endpoints: Vec::new(),
            binding: Binding::JsonRpc,
            version: aap::Version::V1_1,
            speaks_aap: false,
            accepted_part: None,
            streams: Vec::new(),
            cache: BTreeMap::new(),
            seen: Vec::new(),
            leaks: Vec::new(),
            unknown_ends: Vec::new(),
            anonymous_answers: Vec::new(),
            wants_credential: false,
            spent: 0,
            seller: ProbedSeller::default(),
            took: Duration::ZERO,
            rehearses: false,
            transport,
            recorded: Vec::new(),
            next_at: None,
            counter: 0,
            waited: Duration::ZERO,
        }
    }

    /// Returns the recorded exchanges and clears the record.
    pub(crate) fn take_recorded(&mut self) -> Vec<RecordedExchange> {
        std::mem::take(&mut self.recorded)
    }

    /// Adds an exchange of an earlier check to the record.
    pub(crate) fn cite(&mut self, exchange: RecordedExchange) {
        if self.recorded.len() < MAX_RECORDED || self.rehearses {
            self.recorded.push(exchange);
        }
    }

    /// Checks the problems of all recorded refusals: each problem counts once, and the first three refusals with
    /// problems are shown.
    pub(crate) fn check_refusals(
        &mut self,
        found: Vec<(RecordedExchange, ShapeProblems)>,
    ) -> CheckResult {
        not_looked_at_if(
            found.is_empty(),
            "nothing was refused, so that no refusal could be looked at",
        )?;
        let mut all: Vec<String> = Vec::new();
        let mut shown = 0;
        for (exchange, ShapeProblems(texts)) in found {
            if !texts.is_empty() && shown < 3 {
                self.cite(exchange);
                shown += 1;
            }
            for text in texts {
                if !all.contains(&text) {
                    all.push(text);
                }
            }
        }
        verdict_of(&all)
    }

    /// Returns the last recorded exchange.
    pub(crate) fn last(&self) -> Option<&RecordedExchange> {
        self.recorded.last()
    }

    /// Returns a text that is unique to this call.
    pub(crate) fn unique_id(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}-{}-{}", self.options.run_id, self.counter)
    }

    /// Returns a unique text of constant length.
    pub(crate) fn unique_id_of_fixed_length(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}-{}-{:08}", self.options.run_id, self.counter)
    }

    /// Returns an id that does not exist.
    pub(crate) fn unknown_id(&mut self) -> String {
        self.counter += 1;
        let hex: String = self.options.run_id.chars().filter(char::is_ascii_hexdigit).collect();
        let tail: String = hex.chars().rev().take(8).collect();
        // Formatted as a UUID, because some agents refuse other ids before looking them up.
        format!("00000000-0000-4000-8000-{:04x}{tail:0>8}", self.counter & 0xffff)
    }

    /// Returns the endpoint that is being probed.
    pub(crate) fn endpoint(&self) -> Result<&ProbedInterface, CheckVerdict> {
        let wanted = |endpoint: &&ProbedInterface| endpoint.binding == self.binding;
        let endpoint = self.endpoints.iter().find(wanted);
        or_not_applicable(endpoint, format!("the card offers no {} interface", self.binding))
    }

    /// Returns the URIs of the extensions that the agent requires.
    pub(crate) fn required_extensions(&self) -> Vec<String> {
        let extensions = self.card.iter().flat_map(|card| card.extensions.iter());
        extensions
            .filter(|extension| extension.required)
            .map(|extension| extension.uri.clone())
            .collect()
    }

    /// Returns true when the card declares this capability.
    pub(crate) fn can(&self, capability: &str) -> bool {
        let value = self.card_json.pointer("/capabilities").and_then(|all| all.get(capability));
        value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// Calls an operation on the binding that is being probed.
    pub(crate) async fn call(
        &mut self,
        operation: Operation,
        params: Value,
    ) -> Result<ProbedAnswer, CheckVerdict> {
        self.ask(RequestOverrides::default(), operation, params).await
    }

    /// Calls an operation with deviations from the usual request.
    pub(crate) async fn ask(
        &mut self,
        overrides: RequestOverrides<'_>,
        operation: Operation,
        params: Value,
    ) -> Result<ProbedAnswer, CheckVerdict> {
        match self.binding {
            Binding::JsonRpc => {
                let id = self.unique_id("q");
                let params = self.with_tenant(params)?;
                let body = json!({"jsonrpc": "2.0", "id": id, "method": operation.name(), "params": params});
                self.post(overrides, body.to_string().into_bytes()).await
            }
            Binding::HttpJson => {
                let tenant = self.endpoint()?.declared.tenant.clone();
                let base = self.endpoint()?.url.clone();
                let routes = rest::routes(&base, tenant.as_deref(), operation, &params);
                let mut reply = not_applicable("no route for it");
                for route in routes {
                    if reply.as_ref().is_ok_and(|reply: &ProbedAnswer| !reply.is_no_route()) {
                        break;
                    }
                    let headers = self.headers(&overrides, !route.body.is_empty());
                    let mut url = route.url;
                    add_query(&mut url, overrides.query);
                    let out = OutgoingRequest {
                        method: route.method,
                        url,
                        headers,
                        body: route.body,
                        call: None,
                    };
                    reply = Ok(ProbedAnswer::rest(self.send(out, overrides).await?));
                }
                reply
            }
            Binding::Grpc => {
                let params = self.with_tenant(params)?;
                let Ok(message) = protobuf::write(schema::request(operation), &params) else {
                    return not_applicable("protocol buffers cannot say what the check would send");
                };
                let call = GrpcCall { operation: Some(operation), shown: params.to_string() };
                self.call_grpc(overrides, operation.name(), &grpc::framed(&message), call).await
            }
        }
    }

    fn with_tenant(&self, mut params: Value) -> Result<Value, CheckVerdict> {
        let tenant = self.endpoint()?.declared.tenant.clone();
        if let Some(tenant) = tenant
            && let Some(members) = params.as_object_mut()
        {
            members.entry("tenant").or_insert_with(|| tenant.into());
        }
        Ok(params)
    }

    /// Posts bytes to the JSON-RPC endpoint.
    pub(crate) async fn post(
        &mut self,
        overrides: RequestOverrides<'_>,
        body: Vec<u8>,
    ) -> Result<ProbedAnswer, CheckVerdict> {
        let mut url = self.endpoint()?.url.clone();
        add_query(&mut url, overrides.query);
        let headers = self.headers(&overrides, true);
        let out = OutgoingRequest { method: Method::POST, url, headers, body, call: None };
        let response = self.send(out, overrides).await?;
        Ok(ProbedAnswer::jsonrpc(response))
    }

    /// Posts a body to a method of the gRPC interface.
    pub(crate) async fn call_grpc(
        &mut self,
        overrides: RequestOverrides<'_>,
        method: &str,
        body: &[u8],
        call: GrpcCall,
    ) -> Result<ProbedAnswer, CheckVerdict> {
        let url = grpc::method(&self.endpoint()?.url, method);
        let headers = self.grpc_headers(overrides);
        let operation = call.operation;
        let out = OutgoingRequest {
            method: Method::POST,
            url,
            headers,
            body: body.to_vec(),
            call: Some(call),
        };
        let response = self.send(out, overrides).await?;
        Ok(ProbedAnswer::grpc(response, operation))
    }

    /// Returns the headers of a request.
    pub(crate) fn headers(
        &self,
        overrides: &RequestOverrides<'_>,
        has_body: bool,
    ) -> Vec<(&'static str, String)> {
        let mut headers =
            vec![("accept", "application/json, text/event-stream, */*;q=0.1".to_owned())];
        let mut add = |name, field: HeaderOverride<'_>, usual: Option<String>| match field {
            HeaderOverride::Usual => headers.extend(usual.map(|value| (name, value))),
            HeaderOverride::Absent => {}
            HeaderOverride::Text(text) => headers.push((name, text.to_owned())),
        };
        add(
            "content-type",
            overrides.content_type,
            has_body.then(|| "application/json".to_owned()),
        );
        add(VERSION_HEADER, overrides.version, Some(VERSION.to_owned()));
        let required = self.required_extensions();
        let usual = (!required.is_empty()).then(|| required.join(", "));
        add(EXTENSIONS_HEADER, overrides.extensions, usual);
        if let Some(token) = self.token(overrides.caller) {
            headers.push(("authorization", format!("Bearer {token}")));
        }
        headers
    }

    /// Returns true when the card is only shown to authenticated callers.
    pub(crate) fn card_is_guarded(&self) -> bool {
        matches!(self.card_answer.status, 401 | 403)
    }

    /// Returns the headers of a request for the card.
    pub(crate) fn card_headers(&self, caller: Caller<'_>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("accept", "application/json".to_owned())];
        if let Some(token) = self.token(caller) {
            headers.push(("authorization", format!("Bearer {token}")));
        }
        headers
    }

    /// Returns the headers of a gRPC call.
    pub(crate) fn grpc_headers(
        &self,
        overrides: RequestOverrides<'_>,
    ) -> Vec<(&'static str, String)> {
        let usual = RequestOverrides {
            content_type: HeaderOverride::Text("application/grpc"),
            ..overrides
        };
        let mut headers = self.headers(&usual, true);
        headers.retain(|(name, _)| *name != "accept");
        headers.push(("te", "trailers".to_owned()));
        headers
    }

    pub(crate) fn token<'a>(&'a self, caller: Caller<'a>) -> Option<&'a str> {
        match caller {
            Caller::First => self.options.token.as_deref(),
            Caller::Second => self.options.token_b.as_deref(),
            Caller::Anonymous => None,
            Caller::Token(token) => Some(token),
        }
    }

    /// Returns true when a token was given, which must not be sent to other origins.
    pub(crate) fn has_token(&self) -> bool {
        self.options.token.is_some() || self.options.token_b.is_some()
    }

    fn secrets(&self) -> Vec<String> {
        [&self.options.token, &self.options.token_b].into_iter().flatten().cloned().collect()
    }

    /// Sends a request within the rate limit, and again when the agent requests a pause.
    pub(crate) async fn send(
        &mut self,
        mut out: OutgoingRequest,
        overrides: RequestOverrides<'_>,
    ) -> Result<HttpResponse, CheckVerdict> {
        if matches!(overrides.caller, Caller::First | Caller::Second) {
            self.remove_token_for_foreign_origin(&mut out);
        }
        let mut waits = 0;
        loop {
            let response = self.send_once(&out, overrides.leave_after).await?;
            let wait = requested_wait(&response).filter(|_| waits < MAX_WAITS);
            let Some(wait) = wait else {
                if overrides.expects_401 || !response.wants_credential() {
                    return Ok(response);
                }
                self.wants_credential = true;
                return match &self.options.token {
                    Some(_) => skip("the agent does not accept the token"),
                    None => skip("the agent wants a credential; give one with --token"),
                };
            };
            waits += 1;
            // Removed, because an answer that only requests a pause would take the place of one worth showing.
            self.recorded.pop();
            let wait = wait.min(LONGEST_WAIT);
            self.waited += wait;
            if self.waited > MAX_TOTAL_WAIT {
                return not_looked_at("the agent limits our requests");
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Removes the token from a request to an origin that it is not for.
    fn remove_token_for_foreign_origin(&self, out: &mut OutgoingRequest) {
        let origins = self.options.token_origins(&self.card_url);
        if check_origin(&out.url, &origins, false).is_err() {
            out.headers.retain(|(name, _)| *name != "authorization");
        }
    }

    async fn send_once(
        &mut self,
        out: &OutgoingRequest,
        leave_after: Option<usize>,
    ) -> Result<HttpResponse, CheckVerdict> {
        if self.spent >= self.options.budget {
            return skip(format!("the budget of {} requests is used up", self.options.budget));
        }
        let secrets = self.secrets();
        let body = out.call.as_ref().map_or(&*out.body, |call| call.shown.as_bytes());
        let agent = ("user-agent", self.options.user_agent());
        let headers = out.headers.iter().chain([&agent]).map(|(name, value)| {
            let hidden = *name == "authorization";
            let value = if hidden { "Bearer ***".to_owned() } else { redact(value, &secrets) };
            ((*name).to_owned(), value)
        });
        let request = RecordedRequest {
            method: out.method.to_string(),
            url: redact(out.url.as_str(), &secrets),
            headers: headers.collect(),
            body: excerpt(body, &secrets),
        };
        let mut exchange = RecordedExchange { request, answer: None, failure: None };
        if self.rehearses {
            self.cite(exchange);
            return skip(REHEARSED);
        }
        self.spent += 1;
        self.wait_for_rate_limit().await;
        let started = Instant::now();
        let transferred = self.transfer(out, leave_after).await;
        self.took = started.elapsed();
        match transferred {
            Ok(response) => {
                exchange.answer = Some(response.shown(&secrets));
                if let Some(sign) = super::leak::sign(&response.text()) {
                    self.leaks.push((sign, exchange.clone()));
                }
                // The status UNKNOWN, which many servers send for an uncaught exception.
                if response.metadata("grpc-status") == Some("2") {
                    self.unknown_ends.push(exchange.clone());
                }
                if contains_secret(&response, &secrets) {
                    self.seller.echoes.push(exchange.clone());
                }
                self.cite(exchange);
                Ok(response)
            }
            Err(why) => {
                let why = redact(&why, &secrets);
                exchange.failure = Some(why.clone());
                self.cite(exchange);
                fail(format!("no answer: {why}"))
            }
        }
    }

    async fn wait_for_rate_limit(&mut self) {
        let Some(rate) = std::num::NonZeroU32::new(self.options.rate) else { return };
        let now = Instant::now();
        let at = self.next_at.unwrap_or(now).max(now);
        self.next_at = Some(at + Duration::from_secs(1) / rate.get());
        tokio::time::sleep_until(at).await;
    }
}

/// Returns true when an answer contains one of our credentials of eight or more bytes; a shorter one may be there by
/// chance.
fn contains_secret(response: &HttpResponse, secrets: &[String]) -> bool {
    let mut long = secrets.iter().filter(|secret| secret.len() >= 8);
    long.any(|secret| response.text().contains(secret.as_str()))
}

fn add_query(url: &mut Url, query: &str) {
    if !query.is_empty() {
        let joined = url.query().map_or(query.to_owned(), |known| format!("{known}&{query}"));
        url.set_query(Some(&joined));
    }
}
