//! One key, one effect. The key is claimed while its request is being worked on, and remembered
//! with the reply in the transaction that has the effect; refusals are not remembered. So a crash
//! leaves either both or neither, and what is in flight needs no place on disk.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_wire::adcp::AdcpTool;
use tradepost_wire::adcp::error::{AdcpCode, AdcpError};
use tradepost_wire::canonical;
use tradepost_wire::json::{Map, Value};

use crate::ask::ToolCall;
use crate::profile::PublisherProfile;
use crate::refuse::{self, ToolError};
use crate::reply::ToolReply;
use crate::shelf::{KeyRow, StoreTx, own_id};

/// The member with the key.
pub(crate) const MEMBER: &str = "idempotency_key";

/// What is no part of the request that a key stands for (SEC, "Idempotency").
const APART: [&str; 3] = [MEMBER, "context", "governance_context"];

/// For how long the key of a request that is gone is still known to be gone, beyond its life.
const EXPIRED_FOR: jiff::SignedDuration = jiff::SignedDuration::from_hours(7 * 24);

/// How far clocks may differ: for so long a key is still replayed (SEC, rule 6).
const SKEW: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// A key with its scope and the hash of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IdempotencyKey {
    scope: String,
    key: String,
    hash: [u8; 32],
}

impl IdempotencyKey {
    /// Whether a request has a key that stands for its effect. Looking has none, so that a key is
    /// tolerated there and looking again looks again; and the test controller reports failures in
    /// results, which must not be remembered.
    pub(crate) fn is_taken(ask: &ToolCall) -> bool {
        let key = ask.arguments.get(MEMBER).and_then(Value::as_str);
        key.is_some_and(is_key) && ask.keeps(false) && ask.tool != AdcpTool::ComplyTestController
    }

    /// The key of a request, if it has one. Keys of one tenant and, in a sponsored conversation,
    /// session mean nothing elsewhere. The account is part of what the key stands for and not of its
    /// scope: the same key for another account is a conflict, and never a second effect.
    pub(crate) fn of(ask: &ToolCall) -> Option<Self> {
        let key = ask.arguments.get(MEMBER)?.as_str()?.to_owned();
        let session = ask.arguments.get("session_id").and_then(Value::as_str);
        let session = session.filter(|_| ask.tool == AdcpTool::SiSendMessage);
        let scope = own_id(&ask.caller.tenant(), "", session.unwrap_or_default());
        Some(Self { scope, key, hash: hash(ask) })
    }

    /// What the key's request came to, if it was done.
    pub(crate) fn earlier(
        &self,
        profile: &PublisherProfile,
        ask: &ToolCall,
        shelf: &dyn StoreTx,
    ) -> Result<Option<ToolReply>, ToolError> {
        let Some(row) = shelf.key(&self.scope, &self.key)? else {
            return Ok(None);
        };
        let age = ask.now.duration_since(row.used_at);
        let life = profile.replay_ttl + SKEW;
        // Asked here as well as by `tidy`, so that the answer does
        // not depend on when that last ran.
        if age > life + EXPIRED_FOR {
            return Ok(None);
        }
        if age > life {
            let message = "this key is older than the seller remembers; look for the effect of its \
                           request before sending it with a fresh key";
            return Err(refuse::error(AdcpCode::IdempotencyExpired, message).into());
        }
        if row.hash != self.hash {
            return Err(conflict().into());
        }
        ToolReply::restore(&row.reply).map(Some).map_err(Into::into)
    }

    /// The moment before which nobody needs to know of a key any more.
    pub(crate) fn forgotten_before(profile: &PublisherProfile, now: Timestamp) -> Timestamp {
        now.checked_sub(profile.replay_ttl + SKEW + EXPIRED_FOR).unwrap_or(Timestamp::MIN)
    }

    /// Remembers the reply.
    pub(crate) fn remember(
        &self,
        ask: &ToolCall,
        shelf: &dyn StoreTx,
        reply: &ToolReply,
    ) -> Result<(), ToolError> {
        let row = KeyRow { hash: self.hash, reply: reply.store(), used_at: ask.now };
        Ok(shelf.remember(&self.scope, &self.key, row)?)
    }
}

/// Whether a text can be a key; where the schema of a tool names keys, it says so itself.
fn is_key(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    (16..=255).contains(&text.len()) && text.bytes().all(plain)
}

fn hash(ask: &ToolCall) -> [u8; 32] {
    let mut request: Map = ask.arguments.clone();
    for member in APART {
        request.swap_remove(member);
    }
    if let Some(authentication) = request
        .get_mut("push_notification_config")
        .and_then(|config| config.get_mut("authentication"))
        .and_then(Value::as_object_mut)
    {
        authentication.swap_remove("credentials");
    }
    // The tool is part of it: one key does not stand for two.
    request.insert("\u{0}tool".to_owned(), ask.tool.to_string().into());
    Sha256::digest(canonical::to_string(&Value::Object(request))).into()
}

/// Carries nothing but code, message and recovery, so that nothing of the first request shows.
fn conflict() -> AdcpError {
    let message = "this key has been used for another request; use a fresh key";
    AdcpError::new(AdcpCode::IdempotencyConflict, message)
}

/// The keys whose requests are being worked on.
#[derive(Debug, Clone, Default)]
pub(crate) struct InFlightKeys(Arc<Mutex<HashMap<Place, [u8; 32]>>>);

/// A scope and a key.
type Place = (String, String);

/// A key that is being worked on, until this is dropped.
#[derive(Debug)]
pub(crate) struct InFlightKey {
    flights: InFlightKeys,
    place: Place,
}

impl InFlightKeys {
    /// Claims a key.
    ///
    /// # Errors
    /// `IDEMPOTENCY_IN_FLIGHT` when its request is being worked on, and `IDEMPOTENCY_CONFLICT` when
    /// that is another one.
    pub(crate) fn claim(&self, key: &IdempotencyKey) -> Result<InFlightKey, ToolError> {
        let place = (key.scope.clone(), key.key.clone());
        // Each holder makes a single change, so that the map is whole
        // even if one of them panicked.
        let mut flights = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match flights.entry(place.clone()) {
            Entry::Vacant(free) => {
                free.insert(key.hash);
                Ok(InFlightKey { flights: self.clone(), place })
            }
            Entry::Occupied(other) if *other.get() == key.hash => {
                let message = "the request with this key is being worked on; send it again shortly";
                let error = refuse::error(AdcpCode::IdempotencyInFlight, message);
                Err(AdcpError { retry_after: Some(1), ..error }.into())
            }
            Entry::Occupied(_) => Err(conflict().into()),
        }
    }
}

impl Drop for InFlightKey {
    fn drop(&mut self) {
        // Also when the caller has hung up and its future is dropped. A job that
        // is on its way to the store nevertheless is no danger: the key is looked
        // for again inside its transaction.
        let mut flights = self.flights.0.lock().unwrap_or_else(PoisonError::into_inner);
        flights.remove(&self.place);
    }
}
