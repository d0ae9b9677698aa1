//! Who has signed a request (RFC 9421, AdCP "Signed requests"): the checklist in its published
//! order, from headers and raw bytes to the buyer agent whose key it was.
//!
//! [`Identity::judge`] is asked before credentials are looked at. A signature that is there and
//! wrong ends the request, whatever other credential came with it, or else whoever can damage a
//! signature could take it away.

use std::borrow::Cow;
use std::sync::Arc;

use axum::http::{HeaderMap, Method, Uri, header};
use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tradepost_buyer::receiver::authentic::fields;
use tradepost_buyer::trust::keyset::PublicKey;
use tradepost_publisher::profile::{BuyerAgent, RequestSigning};
use tradepost_wire::adcp::signing::{self, Claim, Fault, Surface};
use tradepost_wire::http_signature::{BadTarget, Message, Target};
use tradepost_wire::strict;

use super::replay::{Refused, Replay};
use super::signers::Signers;

/// How many agents' keys of one name are tried.
const MAX_CANDIDATES: usize = 4;

/// A request as it came.
#[derive(Debug, Clone, Copy)]
pub struct Received<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target as the request line has it.
    pub uri: &'r Uri,
    /// The headers.
    pub headers: &'r HeaderMap,
    /// The body, every byte.
    pub body: &'r [u8],
    /// Whether the connection is encrypted.
    pub secure: bool,
}

/// What a request says about its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// An agent has signed it.
    Signed(Arc<BuyerAgent>),
    /// Nobody has signed it.
    Unsigned {
        /// Whether it needs a signature when it has no other credential that is good.
        needed: bool,
    },
}

/// Finds out who signs.
#[derive(Debug)]
pub struct Identity {
    policy: RequestSigning,
    signers: Signers,
    replay: Replay,
    /// Where agents reach us, when that is configured: a proxy may stand in front.
    public: Option<Target>,
}

impl Identity {
    /// On these terms, for what these agents sign. `public_url` is the address under which agents
    /// reach the publisher, if it is another than where the process listens.
    #[must_use]
    pub fn new(policy: RequestSigning, signers: Signers, public_url: Option<&str>) -> Self {
        let public = public_url.and_then(|url| Target::read(url).ok());
        Self { policy, signers, replay: Replay::default(), public }
    }

    /// Forgets signatures that no longer hold.
    pub fn tidy(&self, now: Timestamp) {
        self.replay.tidy(now);
    }

    /// Who has sent a request.
    ///
    /// # Errors
    /// Why its signature is not believed, or that it has none and needs one whatever other
    /// credential it has.
    pub async fn judge(&self, received: &Received<'_>, now: Timestamp) -> Result<Standing, Fault> {
        let headers = received.headers;
        if !headers.contains_key("signature") && !headers.contains_key("signature-input") {
            return self.unsigned(received.body);
        }
        let target = self.target(received)?;
        let fields = fields(headers);
        let method = received.method.as_str();
        let message = Message { method, target: &target, fields: &fields };
        let (digest, has_body) = (self.policy.digest, !received.body.is_empty());
        let claim = Claim::of(&message, Surface::Request, digest, has_body, now)?;
        let claim = claim.ok_or(Fault::HeaderMalformed)?;
        let signer = self.signer(&claim, &message, now).await?;
        let mut hash = [0; 32];
        hash.copy_from_slice(&Sha256::digest(received.body));
        claim.body(&message, &hash)?;
        let (agent, cap) = signer;
        let key = key_of(&agent, &claim);
        let spend = self.replay.take(&key, &claim.nonce, cap, (now, claim.remembered_until()));
        spend.map_err(refused)?;
        // What two readers would read differently is nothing that somebody has signed.
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(received.body).is_ok();
        let plain = std::str::from_utf8(received.body).is_ok_and(|text| strict::read(text).is_ok());
        if is_json && !plain {
            return Err(Fault::BodyMalformed);
        }
        Ok(Standing::Signed(agent))
    }

    /// Whose signature it is: steps 7 to 10.
    async fn signer(
        &self,
        claim: &Claim,
        message: &Message<'_>,
        now: Timestamp,
    ) -> Result<(Arc<BuyerAgent>, usize), Fault> {
        let found = self.signers.find(&claim.keyid, now).await?;
        let base = message.base(&claim.input)?;
        let mut first = None;
        for (signer, jwk) in found.into_iter().take(MAX_CANDIDATES) {
            let verdict = signing::purpose(&jwk, Surface::Request, claim.algorithm)
                .and_then(|()| {
                    let revoked = signer.keys.revoked.contains(&claim.keyid)
                        || jwk.get("revoked").is_some_and(|revoked| revoked != false)
                        || jwk.get("status").is_some_and(|status| status == "revoked");
                    if revoked { Err(Fault::KeyRevoked) } else { Ok(()) }
                })
                .and_then(|()| {
                    let key = key_of(&signer.agent, claim);
                    self.replay.room(&key, signer.keys.cap, now).map_err(refused)
                })
                .and_then(|()| {
                    let key = PublicKey::read(&jwk).ok().flatten();
                    let key = key.ok_or(Fault::KeyPurposeInvalid)?;
                    let right = key.verifies(base.as_bytes(), &claim.signature);
                    if right { Ok(()) } else { Err(Fault::Invalid) }
                });
            match verdict {
                Ok(()) => return Ok((Arc::clone(&signer.agent), signer.keys.cap)),
                Err(fault) => first = first.or(Some(fault)),
            }
        }
        Err(first.unwrap_or(Fault::KeyUnknown))
    }

    /// The address that the sender meant: the host that it named, under our own scheme. When our
    /// address is configured, the two have to name one host, so that what was signed for another
    /// is not taken here.
    fn target(&self, received: &Received<'_>) -> Result<Target, Fault> {
        let mut hosts = received.headers.get_all(header::HOST).iter();
        let named = match (received.uri.authority(), hosts.next()) {
            (Some(authority), _) => Cow::Borrowed(authority.as_str()),
            (None, Some(host)) => {
                // A name that is not ASCII was put there by no client that follows the rules.
                Cow::Borrowed(host.to_str().map_err(|_| Fault::HeaderMalformed)?)
            }
            (None, None) => return Err(Fault::TargetMalformed),
        };
        let scheme = match (&self.public, received.secure) {
            (Some(public), _) => public.scheme(),
            (None, true) => "https",
            (None, false) => "http",
        };
        let path = received.uri.path_and_query().map_or("/", |path| path.as_str());
        let target =
            Target::read(&format!("{scheme}://{named}{path}")).map_err(|bad| match bad {
                BadTarget::Characters => Fault::HeaderMalformed,
                BadTarget::Authority | BadTarget::Shape => Fault::TargetMalformed,
            })?;
        let ours = self.public.as_ref().is_none_or(|us| us.authority() == target.authority());
        if ours { Ok(target) } else { Err(Fault::TargetMalformed) }
    }

    fn unsigned(&self, body: &[u8]) -> Result<Standing, Fault> {
        // What is not JSON is for the binding to refuse.
        let Ok(body) = serde_json::from_slice::<Value>(body) else {
            return Ok(Standing::Unsigned { needed: false });
        };
        let called = Called::of(&body);
        // Whoever can change a request on its way could choose how webhooks are signed.
        if called.arguments.is_some_and(chooses_credentials) {
            return Err(Fault::Required);
        }
        let needed = match (called.tool, called.method) {
            (Some(tool), _) => self.policy.required_for.contains(tool),
            (None, Some(method)) => self.policy.methods_required_for.contains(method),
            (None, None) => false,
        };
        Ok(Standing::Unsigned { needed })
    }
}

/// Under which name signatures are counted: keys of two agents may have one.
fn key_of(agent: &BuyerAgent, claim: &Claim) -> String {
    format!("{} {}", agent.id, claim.keyid)
}

fn refused(refused: Refused) -> Fault {
    match refused {
        Refused::Replayed => Fault::Replayed,
        Refused::Full => Fault::RateAbuse,
    }
}

/// The value of `WWW-Authenticate` for a signature that is not believed: the code and nothing else.
#[must_use]
pub fn challenge(fault: Fault) -> String {
    format!("Signature error=\"{}\"", fault.code(Surface::Request))
}

/// What a request calls, on whichever binding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Called<'b> {
    /// The tool, when it calls one.
    tool: Option<&'b str>,
    /// The method of the protocol, when it calls no tool.
    method: Option<&'b str>,
    arguments: Option<&'b Value>,
}

impl<'b> Called<'b> {
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
