//! AdCP signatures of messages (RFC 9421): requests to a seller, or its webhooks. Both follow one published
//! checklist, in its order; they differ in a tag, in what must be covered, and in the codes of failed steps.

use std::pin::pin;
use std::sync::Arc;

use axum::http::{HeaderMap, Uri, header};
use futures_util::stream::{self, StreamExt as _};
use jiff::Timestamp;
use tradepost_adcp::signing::{DigestRule, SignatureError, SignedKind};
use tradepost_document::json;
use tradepost_keys::PublicKey;
use tradepost_keys::adcp::{self, AcceptedSignature};
use tradepost_keys::http_signature::{SignableRequest, TargetUri, TargetUriError};
use tradepost_keys::replay::{ReplayCache, ReplayRefusal, UsedSignature};

pub mod signers;

use signers::{ClaimedKey, Signer, Signers, SigningAgent};

/// Maximum number of agents with a key of the same name that are tried.
const MAX_CANDIDATES: usize = 4;

/// Verifies signatures by the published checklist.
#[derive(Debug)]
pub struct Checklist<W> {
    surface: SignedKind,
    digest: DigestRule,
    signers: Signers<W>,
    replay: ReplayCache,
}

/// Message with a verified signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedContent<W> {
    /// Signer.
    pub whose: W,
    /// Signature.
    pub used: UsedSignature,
}

impl<W: Clone + Send + Sync + 'static> Checklist<W> {
    /// Creates the checklist for messages of one kind by these signers.
    #[must_use]
    pub fn new(
        surface: SignedKind,
        digest: DigestRule,
        signers: Signers<W>,
        replay: ReplayCache,
    ) -> Self {
        Self { surface, digest, signers, replay }
    }

    /// Returns the signer of a message; `None` when it is not signed. The signature is then used up. The last
    /// step, checking that the body [is not ambiguous](is_ambiguous), is left to the caller, who may have to
    /// store the signature first.
    ///
    /// # Errors
    /// The first step that fails.
    pub async fn check(
        &self,
        message: &SignableRequest<'_>,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Option<SignedContent<W>>, SignatureError> {
        let claim = AcceptedSignature::from_message(
            message,
            self.surface,
            self.digest,
            !body.is_empty(),
            now,
        )?;
        let Some(claim) = claim else { return Ok(None) };
        let signer = self.signer(&claim, message, now).await?;
        claim.body(message, body)?;
        let agent = &signer.agent;
        let key = key_of(agent, &claim);
        let cap = agent.keys.cap;
        let until = claim.remembered_until();
        // Last, so that only a message that is valid in every other step uses up its signature.
        let used = self.replay.take(&key, &claim.nonce, cap, now, until).map_err(refused)?;
        Ok(Some(SignedContent { whose: agent.whose.clone(), used }))
    }

    /// Lets the same message come again, because its content could not be stored.
    pub fn release(&self, signed: &SignedContent<W>) {
        self.replay.release(&signed.used);
    }

    /// Forgets signatures that are no longer valid.
    pub fn tidy(&self, now: Timestamp) {
        self.replay.tidy(now);
    }

    /// Finds the signer: steps 7 to 10. Known keys are tried first, without waiting; operators are asked only
    /// when none of them fits.
    async fn signer(
        &self,
        claim: &AcceptedSignature,
        message: &SignableRequest<'_>,
        now: Timestamp,
    ) -> Result<Arc<Signer<W>>, SignatureError> {
        let begun = self.signers.elapsed();
        let base = message.base(&claim.input)?;
        let mut first = None;
        let known = stream::iter(self.signers.known(&claim.keyid, now));
        let sought = self.signers.sought(&claim.keyid, now);
        let mut candidates = pin!(known.chain(sought).take(MAX_CANDIDATES));
        while let Some(found) = candidates.next().await {
            match self.verify(&found, claim, &base, now) {
                Ok(()) => return Ok(found.signer),
                Err(fault) => first = first.or(Some(fault)),
            }
        }
        Err(first.unwrap_or_else(|| match (self.surface, self.signers.why()) {
            // The sender of a request can retry after a refusal. A refused webhook is not sent again,
            // although its key may have just been published.
            (SignedKind::Webhook, SignatureError::KeyUnknown)
                if !self.signers.is_current(begun) =>
            {
                SignatureError::JwksUnavailable
            }
            (SignedKind::Webhook | SignedKind::Request, why) => why,
        }))
    }

    /// Verifies the signature with a key.
    fn verify(
        &self,
        found: &ClaimedKey<W>,
        claim: &AcceptedSignature,
        base: &str,
        now: Timestamp,
    ) -> Result<(), SignatureError> {
        adcp::purpose(&found.jwk, self.surface, claim.algorithm)?;
        if found.revoked {
            return Err(SignatureError::KeyRevoked);
        }
        let agent = &found.signer.agent;
        self.replay.room(&key_of(agent, claim), agent.keys.cap, now).map_err(refused)?;
        let key =
            PublicKey::read(&found.jwk).ok().flatten().ok_or(SignatureError::KeyPurposeInvalid)?;
        let right = key.verifies(base.as_bytes(), &claim.signature);
        if right { Ok(()) } else { Err(SignatureError::Invalid) }
    }
}

/// Returns the header lines in the form that a signature covers.
#[must_use]
pub fn fields(headers: &HeaderMap) -> Vec<(&str, &str)> {
    // A value that is not text is replaced by one that cannot be signed.
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or("\u{fffd}")))
        .collect()
}

/// Returns the address to which a sender sent a message: the host that it named, with this scheme and this
/// path with its query. With `places`, the host must be that of one of them, so that a message signed for
/// another host is not accepted.
///
/// # Errors
/// When the message names no host, two hosts, or another one.
pub fn target(
    places: Option<&[TargetUri]>,
    scheme: &str,
    path: &str,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<TargetUri, SignatureError> {
    let read = |named: &str| {
        TargetUri::read(&format!("{scheme}://{named}{path}")).map_err(|bad| match bad {
            TargetUriError::Characters => SignatureError::HeaderMalformed,
            TargetUriError::Authority | TargetUriError::Shape => SignatureError::TargetMalformed,
        })
    };
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().map(|host| {
        // A valid client sends only ASCII here.
        host.to_str().map_err(|_| SignatureError::HeaderMalformed)
    });
    let host = host.transpose()?;
    let authority = uri.authority().map(|authority| authority.as_str());
    let target = match (authority, host) {
        (Some(named), None) | (None, Some(named)) => read(named)?,
        (Some(authority), Some(host)) => {
            let target = read(authority)?;
            if read(host)?.authority() != target.authority() {
                return Err(SignatureError::TargetMalformed);
            }
            target
        }
        (None, None) => return Err(SignatureError::TargetMalformed),
    };
    let is_there = |place: &TargetUri| place.authority() == target.authority();
    let ours = places.is_none_or(|places| places.iter().any(is_there));
    if ours && hosts.next().is_none() { Ok(target) } else { Err(SignatureError::TargetMalformed) }
}

/// Returns true when a body is JSON that two readers may read differently, for example with a repeated member.
#[must_use]
pub fn is_ambiguous(body: &[u8]) -> bool {
    let is_json = tradepost_document::json::from_slice::<serde::de::IgnoredAny>(body).is_ok();
    is_json && !std::str::from_utf8(body).is_ok_and(|text| json::read(text).is_ok())
}

/// Returns the name under which signatures are counted; keys of two agents may have the same name.
fn key_of<W>(agent: &SigningAgent<W>, claim: &AcceptedSignature) -> String {
    format!("{} {}", agent.id, claim.keyid)
}

fn refused(refused: ReplayRefusal) -> SignatureError {
    match refused {
        ReplayRefusal::Replayed => SignatureError::Replayed,
        ReplayRefusal::Full => SignatureError::RateAbuse,
    }
}
