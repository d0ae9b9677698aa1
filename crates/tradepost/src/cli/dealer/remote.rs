//! Operations on dealers over the API of a running server.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, IF_MATCH};
use reqwest::{Client, Method, RequestBuilder, Url};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};
use tradepost_runtime::hosting::HostingErrorCode;
use tradepost_runtime::hosting::api::BASE;
use tradepost_server::egress::client;
use tradepost_store::HostedState;

use super::super::discover::block_on;
use super::super::output::seller::NO_ANSWER;
use super::super::output::{CommandFailure, Output};
use super::super::{Context, Outcome};
use super::{DealerAdmin, PAGE};

/// Environment variable with the administrator's key.
const KEY_VARIABLE: &str = "TRADEPOST_ADMIN_KEY";

/// Maximum time for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// Client of a server's operators' listener.
pub(super) struct Remote {
    base: Url,
    key: String,
    client: Client,
    output: Output,
}

impl Remote {
    pub(super) fn open(
        url: &str,
        key: Option<&str>,
        context: &Context,
    ) -> Result<Self, CommandFailure> {
        let unusable = || {
            CommandFailure::usage("--admin is not a URL")
                .hint("name the server's operator_listen, such as http://127.0.0.1:9080")
        };
        let base = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        let base = base.filter(|url| url.has_host() && url.username().is_empty());
        let base = base.ok_or_else(unusable)?;
        let key = key.or(context.variable(KEY_VARIABLE)).filter(|key| !key.is_empty());
        let key = key.ok_or_else(|| {
            CommandFailure::usage("an administrator key is required").hint(
                "create one with `tradepost keys create --admin`, and set TRADEPOST_ADMIN_KEY",
            )
        })?;
        let client = client::without_guard(RESPONSE_TIMEOUT, base.scheme() == "https")?;
        Ok(Self { base, key: key.to_owned(), client, output: context.output })
    }

    /// Sends a change, and notes when it is not served yet.
    fn changed(&self, request: RequestBuilder) -> Result<Value, CommandFailure> {
        let answer = send(request)?;
        if answer.get("served").and_then(Value::as_bool) == Some(false) {
            self.output.talk(
                "note: the change is stored but not served yet: the server retries every second, \
                 and its log has the cause",
            );
        }
        Ok(answer)
    }

    fn ask(&self, method: Method, path: &str) -> Result<RequestBuilder, CommandFailure> {
        let url = self.base.join(&format!("{BASE}{path}"));
        let url = url.map_err(|_| CommandFailure::usage("this is not a valid id"))?;
        Ok(self.client.request(method, url).bearer_auth(&self.key))
    }
}

impl DealerAdmin for Remote {
    fn add(&self, documents: &[Value], force: bool) -> Result<Vec<String>, CommandFailure> {
        let path = if force { "/dealers?reuse=true" } else { "/dealers" };
        let add = |document| {
            let request = body(self.ask(Method::POST, path)?, "application/json", document);
            let added = self.changed(request)?;
            Ok(added.get("id").and_then(Value::as_str).unwrap_or_default().to_owned())
        };
        documents.iter().map(add).collect()
    }

    fn list(&self, after: &str, all: bool) -> Result<(Vec<Value>, Option<String>), CommandFailure> {
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("after", after)
            .append_pair("limit", &PAGE.to_string())
            .append_pair("all", if all { "true" } else { "false" })
            .finish();
        let page = send(self.ask(Method::GET, &format!("/dealers?{query}"))?)?;
        let dealers = page.get("dealers").and_then(Value::as_array).cloned();
        let dealers = dealers.ok_or_else(|| unreadable("it lists no dealers"))?;
        let next = page.get("next").and_then(Value::as_str).map(str::to_owned);
        // A server that returns the same position again would make the list endless.
        Ok((dealers, next.filter(|next| next.as_str() > after)))
    }

    fn show(&self, id: &str) -> Result<Value, CommandFailure> {
        send(self.ask(Method::GET, &operation_path(id, ""))?)
    }

    fn change(&self, id: &str, said: &Value, patch: bool, expected: Option<i64>) -> Outcome {
        let (method, kind) = if patch {
            (Method::PATCH, "application/merge-patch+json")
        } else {
            (Method::PUT, "application/json")
        };
        let request = when(self.ask(method, &operation_path(id, ""))?, expected);
        self.changed(body(request, kind, said)).map(drop)
    }

    fn set(&self, id: &str, state: HostedState, expected: Option<i64>) -> Outcome {
        let request = match state {
            HostedState::Serving => self.ask(Method::POST, &operation_path(id, "/resume")),
            HostedState::Suspended => self.ask(Method::POST, &operation_path(id, "/suspend")),
            HostedState::Removed => self.ask(Method::DELETE, &operation_path(id, "")),
        };
        self.changed(when(request?, expected)).map(drop)
    }
}

/// Returns the path of a dealer. An id that needs escapes is invalid, and its path leads nowhere.
fn operation_path(id: &str, operation: &str) -> String {
    let id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
    format!("/dealers/{id}{operation}")
}

fn when(request: RequestBuilder, expected: Option<i64>) -> RequestBuilder {
    match expected {
        Some(revision) => request.header(IF_MATCH, format!("\"{revision}\"")),
        None => request,
    }
}

fn body(request: RequestBuilder, kind: &'static str, document: &Value) -> RequestBuilder {
    request.header(CONTENT_TYPE, kind).body(document.to_string())
}

/// Sends a request, and reads the answer or the reason for its failure.
fn send(request: RequestBuilder) -> Result<Value, CommandFailure> {
    let (status, text) = block_on(async {
        let unreachable = |error: reqwest::Error| {
            let failure = CommandFailure::new(NO_ANSWER, format!("no answer: {error}"));
            failure
                .hint("check that the server is running, and that --admin is its operator_listen")
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        Ok::<_, CommandFailure>((status, response.text().await.map_err(unreachable)?))
    })?;
    if status.is_success() && text.is_empty() {
        return Ok(Value::Null);
    }
    let answer: Option<Value> = tradepost_document::json::from_str(&text).ok();
    match answer {
        Some(answer) if status.is_success() => Ok(answer),
        Some(answer) => {
            Err(refused(answer.get("error").and_then(Value::as_object), status.as_u16()))
        }
        None => Err(unreadable("it is not JSON")),
    }
}

fn unreadable(why: &str) -> CommandFailure {
    CommandFailure::new(NO_ANSWER, format!("the answer is not from the API: {why}"))
        .hint("check that --admin is the operator_listen of a server with hosting = true")
}

fn refused(error: Option<&Map>, status: u16) -> CommandFailure {
    let text = |name| error.and_then(|error| error.get(name)?.as_str());
    let Some(code) = text("code").and_then(HostingErrorCode::from_name) else {
        return unreadable(&format!("it has the status {status}"));
    };
    let problems = error.and_then(|error| error.get("problems")?.as_array());
    let line = |problem: &Value| {
        let text = |name| problem.get(name).and_then(Value::as_str).unwrap_or_default();
        format!("{}: {}", text("instanceLocation"), text("error"))
    };
    let failure =
        CommandFailure::new(code.exit(), text("message").unwrap_or_default()).hint(code.hint());
    let data = error.cloned().map(Value::from);
    CommandFailure { data, ..failure.lines(problems.into_iter().flatten().map(line).collect()) }
}
