//! Verifies request signatures (RFC 9421, AdCP "Signed requests"): the checklist in its published
//! order, from headers and raw bytes to the buyer agent that owns the key.
//!
//! [`SignatureIdentity::judge`] runs before credentials are checked. A signature that is present
//! but wrong ends the request, whatever other credential came with it; otherwise an attacker could
//! remove a signature by damaging it.

use std::sync::Arc;

use axum::http::{HeaderMap, Method, Uri};
use jiff::Timestamp;
use tradepost_adcp::signing::{SignatureError, SignedKind};
use tradepost_client::signed::{self, Checklist, SignedContent, fields};
use tradepost_document::json::Value;
use tradepost_keys::http_signature::{SignableRequest, TargetUri};
use tradepost_publisher::agent::BuyerAgent;
use tradepost_publisher::profile::RequestSigning;
use tradepost_server::auth::AuthRefusal;

use super::replay::StoredSignatures;

/// Request as it was received.
#[derive(Debug, Clone, Copy)]
pub struct ReceivedRequest<'r> {
    /// Method.
    pub method: &'r Method,
    /// Target as in the request line.
    pub uri: &'r Uri,
    /// Headers.
    pub headers: &'r HeaderMap,
    /// Complete body.
    pub body: &'r [u8],
}

/// Sender of a request according to its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SenderClaim {
    /// Signed by this agent.
    Signed(Arc<BuyerAgent>),
    /// Not signed.
    Unsigned {
        /// True when it needs a signature unless another credential of it is valid.
        needed: bool,
    },
}

/// Reason why the sender of a request is rejected.
#[derive(Debug)]
pub enum SenderRefusal {
    /// Signature is wrong, or missing although it is required whatever other credential there is
    /// (RFC 9421).
    Signature(SignatureError),
    /// Another reason, such as that the signature cannot be checked now.
    Denied(AuthRefusal),
}

impl From<SignatureError> for SenderRefusal {
    fn from(error: SignatureError) -> Self {
        Self::Signature(error)
    }
}

impl From<AuthRefusal> for SenderRefusal {
    fn from(refusal: AuthRefusal) -> Self {
        Self::Denied(refusal)
    }
}

/// Verifier of request signatures.
#[derive(Debug)]
pub struct SignatureIdentity {
    policy: RequestSigning,
    checklist: Checklist<Arc<BuyerAgent>>,
    /// Used signatures, also those from before this process.
    used: StoredSignatures,
    /// Addresses under which agents reach us; a proxy may be in front.
    places: Vec<TargetUri>,
}

impl SignatureIdentity {
    /// Creates a verifier with this policy. `addresses` are those under which agents reach the
    /// publisher: a signature for another address is rejected.
    #[must_use]
    pub fn new(
        policy: RequestSigning,
        checklist: Checklist<Arc<BuyerAgent>>,
        used: StoredSignatures,
        addresses: &[String],
    ) -> Self {
        let places = addresses.iter().filter_map(|address| TargetUri::read(address).ok()).collect();
        Self { policy, checklist, used, places }
    }

    /// Drops expired signatures.
    pub fn tidy(&self, now: Timestamp) {
        self.checklist.tidy(now);
    }

    /// Finds the sender of a request.
    ///
    /// # Errors
    /// Fails when its signature is rejected, when it has none and needs one whatever other
    /// credential it has, or when the check itself fails.
    pub async fn judge(
        &self,
        received: &ReceivedRequest<'_>,
        now: Timestamp,
    ) -> Result<SenderClaim, SenderRefusal> {
        let headers = received.headers;
        // One of the two headers without the other is a wrong signature, not a missing one.
        if !headers.contains_key("signature") && !headers.contains_key("signature-input") {
            return Ok(self.unsigned(received.body)?);
        }
        let signed = self.signed(received, now).await?;
        // Stored before it is accepted, or a crash would allow a replay.
        let is_new = self.used.keep(&signed.used, now).await.map_err(AuthRefusal::unavailable)?;
        if !is_new {
            return Err(SignatureError::Replayed.into());
        }
        // A body that two parsers may read differently does not prove what was signed.
        if signed::is_ambiguous(received.body) {
            return Err(SignatureError::BodyMalformed.into());
        }
        Ok(SenderClaim::Signed(signed.whose))
    }

    /// Verifies the signature and marks it as used.
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

    /// Returns the address that the sender meant, under our own scheme.
    fn target(&self, received: &ReceivedRequest<'_>) -> Result<TargetUri, SignatureError> {
        // A proxy may terminate TLS, so our public address counts and not this connection.
        let scheme = self.places.first().map_or("https", TargetUri::scheme);
        let path = received.uri.path_and_query().map_or("/", |path| path.as_str());
        signed::target(Some(&self.places), scheme, path, received.uri, received.headers)
    }

    fn unsigned(&self, body: &[u8]) -> Result<SenderClaim, SignatureError> {
        // The binding refuses a body that is not JSON.
        let Ok(body) = tradepost_document::json::from_slice::<Value>(body) else {
            return Ok(SenderClaim::Unsigned { needed: false });
        };
        let called = CalledTool::from_body(&body);
        // Otherwise an attacker in transit could choose how webhooks are signed.
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

/// Returns the value of `WWW-Authenticate` for a rejected signature: only the code.
#[must_use]
pub fn challenge(fault: SignatureError) -> String {
    format!("Signature error=\"{}\"", fault.code(SignedKind::Request))
}

/// Call in a request, on any binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CalledTool<'b> {
    /// Tool, when it calls one.
    tool: Option<&'b str>,
    /// Method of the protocol, when it calls no tool.
    method: Option<&'b str>,
    arguments: Option<&'b Value>,
}

impl<'b> CalledTool<'b> {
    fn from_body(body: &'b Value) -> Self {
        let params = body.get("params");
        let method = body.get("method").and_then(Value::as_str);
        let named = |owner: Option<&'b Value>, name: &str| {
            owner.and_then(|owner| owner.get(name)).and_then(Value::as_str)
        };
        if method == Some("tools/call") {
            let arguments = params.and_then(|params| params.get("arguments"));
            return Self { tool: named(params, "name"), method: None, arguments };
        }
        // In an A2A message the data part names the tool.
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

/// Returns true when arguments set the authentication of webhooks.
fn chooses_credentials(arguments: &Value) -> bool {
    let chooses = |config: &Value| {
        config.get("authentication").is_some_and(|authentication| !authentication.is_null())
    };
    let configs = |owner: &Value| {
        let configs = owner.get("notification_configs").and_then(Value::as_array);
        configs.is_some_and(|configs| configs.iter().any(chooses))
    };
    let accounts = arguments.get("accounts").and_then(Value::as_array);
    arguments.get("push_notification_config").is_some_and(chooses)
        || arguments.get("reporting_webhook").is_some_and(chooses)
        || configs(arguments)
        || accounts.is_some_and(|accounts| accounts.iter().any(configs))
}

#[cfg(test)]
mod tests;
