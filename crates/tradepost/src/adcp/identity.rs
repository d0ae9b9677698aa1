//! Who has signed a request (RFC 9421, AdCP "Signed requests"): the checklist in its published
//! order, from headers and raw bytes to the buyer agent whose key it was.
//!
//! [`SignatureIdentity::judge`] is asked before credentials are looked at. A signature that is there and
//! wrong ends the request, whatever other credential came with it, or else whoever can damage a
//! signature could take it away.

use std::sync::Arc;

use axum::http::{HeaderMap, Method, Uri};
use jiff::Timestamp;
use tradepost_buyer::signed::{self, Checklist, SignedContent, fields};
use tradepost_keys::http_signature::{SignableRequest, TargetUri};
use tradepost_publisher::agent::BuyerAgent;
use tradepost_publisher::profile::RequestSigning;
use tradepost_server::auth::AuthRefusal;
use tradepost_wire::adcp::signing::{SignatureError, SignedKind};
use tradepost_wire::json::Value;

use super::replay::Lasting;

/// A request as it came.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedRequest<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target as the request line has it.
    pub uri: &'r Uri,
    /// The headers.
    pub headers: &'r HeaderMap,
    /// The body, every byte.
    pub body: &'r [u8],
}

/// What a request says about its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderClaim {
    /// An agent has signed it.
    Signed(Arc<BuyerAgent>),
    /// Nobody has signed it.
    Unsigned {
        /// Whether it needs a signature when it has no other credential that is good.
        needed: bool,
    },
}

/// Why nobody is believed to have sent a request.
#[derive(Debug)]
pub enum Unbelieved {
    /// Its signature is wrong, or it has none and needs one whatever other credential it has (RFC 9421).
    Signature(SignatureError),
    /// Another reason, such as that nobody can tell.
    Denied(AuthRefusal),
}

from!(Unbelieved { Signature(SignatureError), Denied(AuthRefusal) });

/// Finds out who signs.
#[derive(Debug)]
pub struct SignatureIdentity {
    policy: RequestSigning,
    checklist: Checklist<Arc<BuyerAgent>>,
    /// What was used, also before this process.
    used: Lasting,
    /// Where agents reach us; a proxy may stand in front.
    places: Vec<TargetUri>,
}

impl SignatureIdentity {
    /// On these terms, for what these agents sign. `addresses` are those under which agents reach
    /// the publisher: what was signed for another is not taken here.
    #[must_use]
    pub fn new(
        policy: RequestSigning,
        checklist: Checklist<Arc<BuyerAgent>>,
        used: Lasting,
        addresses: &[String],
    ) -> Self {
        let places = addresses.iter().filter_map(|address| TargetUri::read(address).ok()).collect();
        Self { policy, checklist, used, places }
    }

    /// Forgets signatures that no longer hold.
    pub fn tidy(&self, now: Timestamp) {
        self.checklist.tidy(now);
    }

    /// Who has sent a request.
    ///
    /// # Errors
    /// Why its signature is not believed, or that it has none and needs one whatever other
    /// credential it has; or that nobody can tell.
    pub async fn judge(
        &self,
        received: &ReceivedRequest<'_>,
        now: Timestamp,
    ) -> Result<SenderClaim, Unbelieved> {
        let headers = received.headers;
        // One of the two without the other is a signature that is wrong, and not none at all.
        if !headers.contains_key("signature") && !headers.contains_key("signature-input") {
            return Ok(self.unsigned(received.body)?);
        }
        let signed = self.signed(received, now).await?;
        // On disk before it is believed, or a crash would make it good once more.
        let is_new = self.used.keep(&signed.used, now).await.map_err(AuthRefusal::unavailable)?;
        if !is_new {
            return Err(SignatureError::Replayed.into());
        }
        // What two readers would read differently is nothing that somebody has signed.
        if signed::is_ambiguous(received.body) {
            return Err(SignatureError::BodyMalformed.into());
        }
        Ok(SenderClaim::Signed(signed.whose))
    }

    /// Whose signature it is, which is used up by that.
    async fn signed(
        &self,
        received: &ReceivedRequest<'_>,
        now: Timestamp,
    ) -> Result<SignedContent<Arc<BuyerAgent>>, SignatureError> {
        let target = self.target(received)?;
        let fields = fields(received.headers);
        let method = received.method.as_str();
        let message = SignableRequest { method, target: &target, fields: &fields };
        let signed = self.checklist.check(&message, received.body, now).await?;
        signed.ok_or(SignatureError::HeaderMalformed)
    }

    /// The address that the sender meant, under our own scheme.
    fn target(&self, received: &ReceivedRequest<'_>) -> Result<TargetUri, SignatureError> {
        // A proxy in front may be who speaks TLS: what counts is our
        // address, and not this connection.
        let scheme = self.places.first().map_or("https", TargetUri::scheme);
        let path = received.uri.path_and_query().map_or("/", |path| path.as_str());
        let message = (received.uri, received.headers);
        signed::target(Some(&self.places), scheme, path, message)
    }

    fn unsigned(&self, body: &[u8]) -> Result<SenderClaim, SignatureError> {
        // What is not JSON is for the binding to refuse.
        let Ok(body) = tradepost_wire::json::from_slice::<Value>(body) else {
            return Ok(SenderClaim::Unsigned { needed: false });
        };
        let called = CalledTool::of(&body);
        // Whoever can change a request on its way could choose how webhooks are signed.
        if called.arguments.is_some_and(chooses_credentials) {
            return Err(SignatureError::Required);
        }
        let needed = match (called.tool, called.method) {
            (Some(tool), _) => self.policy.required_for.contains(tool),
            (None, Some(method)) => self.policy.methods_required_for.contains(method),
            (None, None) => false,
        };
        Ok(SenderClaim::Unsigned { needed })
    }
}

/// The value of `WWW-Authenticate` for a signature that is not believed: the code and nothing else.
#[must_use]
pub fn challenge(fault: SignatureError) -> String {
    format!("Signature error=\"{}\"", fault.code(SignedKind::Request))
}

/// What a request calls, on whichever binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CalledTool<'b> {
    /// The tool, when it calls one.
    tool: Option<&'b str>,
    /// The method of the protocol, when it calls no tool.
    method: Option<&'b str>,
    arguments: Option<&'b Value>,
}

impl<'b> CalledTool<'b> {
    fn of(body: &'b Value) -> Self {
        let params = body.get("params");
        let method = body.get("method").and_then(Value::as_str);
        let named = |owner: Option<&'b Value>, name: &str| {
            owner.and_then(|owner| owner.get(name)).and_then(Value::as_str)
        };
        if method == Some("tools/call") {
            let arguments = params.and_then(|params| params.get("arguments"));
            return Self { tool: named(params, "name"), method: None, arguments };
        }
        // A message of A2A: the part with data names the tool.
        let parts = params.and_then(|params| params.get("message")?.get("parts")?.as_array());
        let data = parts.into_iter().flatten().filter_map(|part| part.get("data"));
        let invoked = data.rev().find(|data| data.get("skill").is_some());
        if let Some(invoked) = invoked {
            let input = invoked.get("input").or_else(|| invoked.get("parameters"));
            return Self { tool: named(Some(invoked), "skill"), method: None, arguments: input };
        }
        Self { method, ..Self::default() }
    }
}

/// Whether arguments say how webhooks are to be authenticated.
fn chooses_credentials(arguments: &Value) -> bool {
    let chooses = |config: &Value| config.get("authentication").is_some_and(|a| !a.is_null());
    let configs = |owner: &Value| {
        let configs = owner.get("notification_configs").and_then(Value::as_array);
        configs.is_some_and(|configs| configs.iter().any(chooses))
    };
    let accounts = arguments.get("accounts").and_then(Value::as_array);
    arguments.get("push_notification_config").is_some_and(chooses)
        || configs(arguments)
        || accounts.is_some_and(|accounts| accounts.iter().any(configs))
}

#[cfg(test)]
mod tests;
