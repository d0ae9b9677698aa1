//! MCP binding of a publisher: its tools, and refusals before one is reached.
//!
//! Requests that introduce the seller (`initialize`, the lists of tools and of resources) and its
//! capabilities need no credential and answer every caller alike (AdCP 3.1 `error-handling`,
//! `N-4`); a credential that is sent is checked all the same.

use futures_util::future::BoxFuture;
use tradepost_adcp::error::AdcpCode;
use tradepost_adcp::{AdcpAnswer, AdcpTool, tool};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_mcp as mcp;
use tradepost_server::agent::Caller;
use tradepost_server::auth::Principal;
use tradepost_server::http::intake as shared;
use tradepost_server::tools::{
    self, AuthRejected, McpListing, ServerInfo, ToolAuth, ToolCall, ToolOutcome, ToolResult, Tools,
};

use super::denial::Denial;
use super::intake;
use crate::adcp::seller::PublisherAgent;
use crate::adcp::{field_errors, listing};

/// Instructions to models.
const INSTRUCTIONS: &str = "An AdCP seller. Call get_adcp_capabilities first; every failed call \
                            says in adcp_error what to do. The list of tools names what most calls \
                            need; all that a tool takes is in its resource, tradepost://schemas/ \
                            and its name.";

impl Tools for PublisherAgent {
    fn introduction(&self) -> ServerInfo {
        ServerInfo {
            name: "tradepost",
            title: self.profile.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            instructions: INSTRUCTIONS,
        }
    }

    fn listing(&self) -> &McpListing {
        self.listing.get_or_init(|| listing::of_tools(&self.tools))
    }

    /// Returns true also for AdCP tasks that only other agents have: calls to them get an AdCP
    /// answer.
    fn has(&self, name: &str) -> bool {
        self.tool(name).is_some() || tool::is_unsupported_task(name)
    }

    fn origins(&self) -> &[String] {
        &self.front.origins
    }

    fn admit<'a>(
        &'a self,
        knock: ToolAuth<'a>,
    ) -> Option<BoxFuture<'a, Result<Caller, AuthRejected>>> {
        Some(Box::pin(admit(self, knock)))
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let tool = self.tool(call.tool);
            let answer = match tool {
                Some(tool) => self.answer(call.caller, tool, call.arguments).await,
                None => self.lacking(call.caller, call.tool, &call.arguments),
            };
            let error = answer.errors.first().filter(|_| answer.is_failure());
            let code = error.and_then(|error| error.code.known()).map_or("OK", AdcpCode::name);
            let refused = error.map_or(&[][..], |_| answer.errors.as_slice());
            // An internal error has the id that its caller got.
            let given = error.and_then(|error| error.details.get("error_id")?.as_str());
            let error_id = error.map(|_| given.map_or_else(field_errors::fresh_id, str::to_owned));
            ToolOutcome::Answer(Box::new(tools::ToolAnswer {
                result: written(&answer),
                code,
                tool: tool.map(AdcpTool::name),
                too_often: code == AdcpCode::RateLimited.name(),
                error_id,
                misfits: field_errors::of_errors(refused),
            }))
        })
    }
}

/// Admits a caller in the order of AdCP: its signature, its credential, its rate limit.
async fn admit(publisher: &PublisherAgent, knock: ToolAuth<'_>) -> Result<Caller, AuthRejected> {
    let ToolAuth { registry, parts, bytes, request, .. } = knock;
    let Some(request) = request else {
        // A signed body that can be parsed in two ways gets the refusal for signatures.
        let signed = intake::signed(registry, publisher, parts, bytes).await;
        signed.map_err(|refused| Denial::refused(publisher, refused).refusal(None))?;
        let address = shared::address(registry, parts);
        return Ok(Caller { address, principal: Principal::anonymous(), credential: None });
    };
    let named = request.params.get("name").and_then(Value::as_str);
    let calls = request.method == mcp::CALL;
    let is_open = !calls || named == Some(AdcpTool::GetAdcpCapabilities.name());
    let caller = intake::caller(registry, publisher, parts, bytes, is_open).await;
    let caller = caller.map_err(|refused| {
        let arguments = request.params.get("arguments").and_then(Value::as_object);
        Denial::refused(publisher, refused).refusal(arguments)
    })?;
    // A call that reaches a tool is counted there.
    let is_counted = calls && request.tool(|name| publisher.tool(name).is_some()).is_ok();
    if !is_counted {
        publisher.admit(&caller).map_err(|wait| Denial::too_often(wait).refusal(None))?;
    }
    Ok(caller)
}

/// Converts an answer to a tool result: the document, the same as text for clients that read
/// nothing else, and a sentence.
fn written(answer: &AdcpAnswer) -> ToolResult {
    ToolResult {
        document: answer.text(),
        is_shown: true,
        text: sentence(answer),
        is_error: answer.is_failure(),
    }
}

/// Returns one sentence for people and models.
fn sentence(answer: &AdcpAnswer) -> String {
    let Some(error) = answer.errors.first().filter(|_| answer.is_failure()) else {
        return answer.message.clone();
    };
    let mut sentence = format!("{}: {}", error.code, error.message);
    if let Some(seconds) = error.retry_after {
        sentence.push_str(&format!(" (retry in {seconds} s)"));
    }
    sentence
}
