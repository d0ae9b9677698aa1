//! Idempotency: one key, one effect. A key is claimed while its request is in flight, and stored with the
//! reply in the transaction that has the effect; refusals are not stored. So a crash leaves either both or
//! neither, and keys in flight need no place on disk.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::canonical;
use tradepost_document::json::{Map, Value};

use crate::profile::PublisherProfile;
use crate::refusals::{self, ToolError};
use crate::reply::ToolReply;
use crate::store::{KeyRow, StoreRead, StoreTx, own_id};
use crate::tool_call::AdcpToolCall;

/// Name of the member with the key.
pub(crate) const MEMBER: &str = "idempotency_key";

/// Members that are not part of the request that a key stands for (SEC, "Idempotency").
const APART: [&str; 3] = [MEMBER, "context", "governance_context"];

/// Time for which an expired key is still known as expired.
const EXPIRED_FOR: jiff::SignedDuration = jiff::SignedDuration::from_hours(7 * 24);

/// Tolerated difference of clocks: a key is replayed for so much longer (SEC, rule 6).
const SKEW: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// Pause before a request is repeated whose key is being worked on.
const IN_FLIGHT_PAUSE: Duration = Duration::from_secs(1);

/// A key with its scope and the hash of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdempotencyKey {
    scope: String,
    key: String,
    hash: [u8; 32],
}

impl IdempotencyKey {
    /// Returns true if a request has a key that stands for its effect. A read has none, so that a key is
    /// tolerated there and the read is done again. The test controller reports failures in results, which
    /// must not be stored.
    pub(crate) fn is_taken(call: &AdcpToolCall) -> bool {
        let key = call.arguments.get(MEMBER).and_then(Value::as_str);
        key.is_some_and(is_key) && call.keeps(false) && call.tool != AdcpTool::ComplyTestController
    }

    /// Returns the key of a request, if it has one. Keys are scoped to the tenant and, in a sponsored
    /// conversation, to the session. The account is part of the hash and not of the scope: the same key for
    /// another account is a conflict, and never a second effect.
    pub(crate) fn from_call(call: &AdcpToolCall) -> Option<Self> {
        let key = call.arguments.get(MEMBER)?.as_str()?.to_owned();
        let session = call.arguments.get("session_id").and_then(Value::as_str);
        let session = session.filter(|_| call.tool == AdcpTool::SiSendMessage);
        let scope = own_id(&call.caller.tenant(), "", session.unwrap_or_default());
        Some(Self { scope, key, hash: hash(call) })
    }

    /// Returns the reply to the key's request, if it was done before.
    pub(crate) fn earlier(
        &self,
        profile: &PublisherProfile,
        call: &AdcpToolCall,
        reader: &dyn StoreRead,
    ) -> Result<Option<ToolReply>, ToolError> {
        let Some(row) = reader.key(&self.scope, &self.key)? else {
            return Ok(None);
        };
        let age = call.now.duration_since(row.used_at);
        let life = profile.replay_ttl + SKEW;
        // Checked here as well as by `tidy`, so that the answer does not depend on when that last ran.
        if age > life + EXPIRED_FOR {
            return Ok(None);
        }
        if age > life {
            let message = "this key is older than the seller remembers; look for the effect of its \
                           request before sending it with a fresh key";
            return Err(refusals::error(AdcpCode::IdempotencyExpired, message).into());
        }
        if row.hash != self.hash {
            return Err(conflict().into());
        }
        ToolReply::restore(&row.reply).map(Some).map_err(Into::into)
    }

    /// Returns the moment before which keys are no longer needed.
    pub(crate) fn forgotten_before(profile: &PublisherProfile, now: Timestamp) -> Timestamp {
        now.checked_sub(profile.replay_ttl + SKEW + EXPIRED_FOR).unwrap_or(Timestamp::MIN)
    }

    /// Stores the reply.
    pub(crate) fn remember(
        &self,
        call: &AdcpToolCall,
        tx: &dyn StoreTx,
        reply: &ToolReply,
    ) -> Result<(), ToolError> {
        let row = KeyRow { hash: self.hash, reply: reply.store(), used_at: call.now };
        Ok(tx.remember(&self.scope, &self.key, row)?)
    }
}

/// Returns true if a text can be a key; tools whose schema names keys check that themselves.
fn is_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    (16..=255).contains(&text.len()) && text.bytes().all(plain)
}

fn hash(call: &AdcpToolCall) -> [u8; 32] {
    let mut request: Map = call.arguments.clone();
    for member in APART {
        request.swap_remove(member);
    }
    for webhook in ["push_notification_config", "reporting_webhook"] {
        if let Some(authentication) = request
            .get_mut(webhook)
            .and_then(|config| config.get_mut("authentication"))
            .and_then(Value::as_object_mut)
        {
            authentication.swap_remove("credentials");
        }
    }
    // The tool is part of the hash: one key does not stand for two tools.
    request.insert("\u{0}tool".to_owned(), call.tool.to_string().into());
    Sha256::digest(canonical::to_string(&Value::Object(request))).into()
}

/// Creates a conflict with nothing but code, message and recovery, so that nothing of the first request shows.
fn conflict() -> AdcpError {
    let message = "this key has been used for another request; use a fresh key";
    AdcpError::new(AdcpCode::IdempotencyConflict, message)
}

/// Keys whose requests are in flight. No cache: a key that was forgotten too early could have two effects.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlightKeys(Arc<Mutex<HashMap<Place, [u8; 32]>>>);

/// A scope and a key.
type Place = (String, String);

/// A claimed key, released when this is dropped.
#[derive(Debug)]
pub(crate) struct InFlightKey {
    flights: InFlightKeys,
    place: Place,
}

impl InFlightKeys {
    /// Claims a key.
    ///
    /// # Errors
    /// `IDEMPOTENCY_IN_FLIGHT` when its request is in flight, and `IDEMPOTENCY_CONFLICT` when another request
    /// with this key is.
    pub(crate) fn claim(&self, key: &IdempotencyKey) -> Result<InFlightKey, ToolError> {
        let place = (key.scope.clone(), key.key.clone());
        // Each holder makes a single change, so that the map is consistent even if one of them panicked.
        let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match flights.entry(place.clone()) {
            Entry::Vacant(free) => {
                free.insert(key.hash);
                Ok(InFlightKey { flights: self.clone(), place })
            }
            Entry::Occupied(other) if *other.get() == key.hash => {
                let message = "the request with this key is being worked on; send it again shortly";
                let error = refusals::error(AdcpCode::IdempotencyInFlight, message);
                Err(error.with_wait(IN_FLIGHT_PAUSE).into())
            }
            Entry::Occupied(_) => Err(conflict().into()),
        }
    }
}

impl Drop for InFlightKey {
    fn drop(&mut self) {
        // Also when the caller has hung up and its future is dropped. A job that is on its way to the store
        // does no harm: the key is checked again inside its transaction.
        let mut flights = self.flights.0.lock().unwrap_or_else(PoisonError::into_inner);
        flights.remove(&self.place);
    }
}
