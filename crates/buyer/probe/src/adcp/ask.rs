//! Requests to a seller over MCP or A2A, for the checks of AdCP.

use tradepost_a2a::Operation;
use tradepost_document::json::{Value, json};

use super::answer::TaskAnswer;
use super::mcp;
use super::seller::{SeenRefusal, SellerBinding};
use crate::binding::Binding;
use crate::check::{CheckVerdict, not_applicable, not_looked_at_if};
use crate::run::{Caller, HeaderOverride, ProbeRun, RequestOverrides};

/// Release that every request names by default.
pub(super) const PIN: &str = "3.1";

/// Part of an extension URI by which a card declares AdCP.
const EXTENSION: &str = "adcontextprotocol.org/extensions/adcp/";

/// Records the AdCP extension of the card.
pub(crate) fn read_card(run: &mut ProbeRun) {
    let extensions = run.card.iter().flat_map(|card| card.extensions.iter());
    let mut named = extensions
        .filter(|extension| extension.uri.contains(EXTENSION))
        .map(|extension| extension.uri.clone());
    run.seller.extension = named.next();
}

/// Selects the binding of a seller; over A2A also the interface of the card.
pub(crate) fn select_binding(run: &mut ProbeRun, seller_binding: SellerBinding) {
    run.seller.binding = seller_binding;
    let mut over_json = run.endpoints.iter().filter(|endpoint| endpoint.binding != Binding::Grpc);
    if let Some(endpoint) = over_json.next() {
        run.binding = endpoint.binding;
    }
}

impl ProbeRun {
    /// Calls a tool as the first caller.
    pub(super) async fn tool(
        &mut self,
        tool: &str,
        arguments: Value,
    ) -> Result<TaskAnswer, CheckVerdict> {
        self.tool_as(Caller::First, tool, arguments).await
    }

    /// Calls a tool as this caller. Adds the release and a context when `arguments` has none.
    pub(super) async fn tool_as(
        &mut self,
        caller: Caller<'_>,
        tool: &str,
        mut arguments: Value,
    ) -> Result<TaskAnswer, CheckVerdict> {
        if let Some(members) = arguments.as_object_mut() {
            members.entry("adcp_version").or_insert_with(|| PIN.into());
            members.entry("context").or_insert_with(|| self.context());
        }
        let answer = match self.seller.binding {
            SellerBinding::Mcp => mcp::call(self, caller, tool, arguments).await?,
            SellerBinding::A2a => self.skill_of_a2a(caller, tool, arguments).await?,
        };
        if answer.is_refusal()
            && let Some(exchange) = self.last().cloned()
        {
            self.seller.seen.push(SeenRefusal {
                answer: answer.clone(),
                tool: tool.to_owned(),
                exchange,
            });
        }
        Ok(answer)
    }

    /// Returns the context of requests, the same in the whole run so that answers can be compared.
    fn context(&self) -> Value {
        json!({"tradepost_probe": self.options.run_id})
    }

    async fn skill_of_a2a(
        &mut self,
        caller: Caller<'_>,
        skill: &str,
        input: Value,
    ) -> Result<TaskAnswer, CheckVerdict> {
        let mut uris = self.required_extensions();
        let ours = self.seller.extension.clone().unwrap_or_default();
        if !uris.contains(&ours) {
            uris.push(ours);
        }
        let uris = uris.join(", ");
        let overrides = RequestOverrides {
            extensions: HeaderOverride::Text(&uris),
            caller,
            expects_401: caller != Caller::First,
            ..RequestOverrides::default()
        };
        let id = self.unique_id_of_fixed_length("m");
        let parts = json!([{"data": {"skill": skill, "input": input}}]);
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": parts});
        let reply =
            self.ask(overrides, Operation::SendMessage, json!({"message": message})).await?;
        Ok(TaskAnswer::from_a2a(reply))
    }

    /// Returns the names of the tools that the seller offers.
    pub(super) async fn tools(&mut self) -> Result<Vec<String>, CheckVerdict> {
        match self.seller.binding {
            SellerBinding::Mcp => mcp::tools(self).await,
            SellerBinding::A2a => {
                let skills = self.card.iter().flat_map(|card| card.skills.iter());
                Ok(skills.map(|skill| skill.id.clone()).collect())
            }
        }
    }

    /// Returns the first of these tools that the seller offers, with its arguments.
    pub(super) async fn first_of(
        &mut self,
        wanted: &[(&'static str, &str)],
    ) -> Result<(&'static str, Value), CheckVerdict> {
        let offered = self.tools().await?;
        let found = wanted.iter().find(|(tool, _)| offered.iter().any(|name| name == tool));
        match found {
            Some((tool, arguments)) => {
                Ok((tool, tradepost_document::json::from_str(arguments).unwrap_or_default()))
            }
            None => {
                let names: Vec<_> = wanted.iter().map(|(tool, _)| *tool).collect();
                not_applicable(format!("the seller offers none of {}", names.join(", ")))
            }
        }
    }

    /// Calls `get_adcp_capabilities`; the check is impossible when that is refused.
    pub(super) async fn capabilities(&mut self) -> Result<TaskAnswer, CheckVerdict> {
        let answer = self.tool("get_adcp_capabilities", json!({})).await?;
        let holds = answer.is_refusal();
        not_looked_at_if(holds, format!("get_adcp_capabilities gives {}", answer.describe()))?;
        Ok(answer)
    }

    /// Returns the releases that the seller declares, requested once for each binding; empty when it declares none.
    pub(super) async fn releases(&mut self) -> Result<Vec<String>, CheckVerdict> {
        let key = format!("adcp releases {}", self.seller.binding.name());
        if let Some(known) = self.cache.get(&key) {
            let known = known.clone()?;
            return Ok(tradepost_document::json::from_value(known).unwrap_or_default());
        }
        let releases = match self.tool("get_adcp_capabilities", json!({})).await {
            Ok(answer) if answer.is_refusal() => Ok(json!([])),
            Ok(answer) => {
                let listed = answer.payload.pointer("/adcp/supported_versions").cloned();
                let listed: Vec<String> = listed
                    .and_then(|listed| tradepost_document::json::from_value(listed).ok())
                    .unwrap_or_default();
                Ok(json!(listed))
            }
            Err(other) => Err(other),
        };
        self.cache.insert(key, releases.clone());
        Ok(tradepost_document::json::from_value(releases?).unwrap_or_default())
    }

    /// Returns true when the seller declares a release of 3.1 or later.
    pub(super) async fn speaks_3_1(&mut self) -> Result<bool, CheckVerdict> {
        Ok(self.releases().await?.iter().any(|release| !release.starts_with("3.0")))
    }
}
