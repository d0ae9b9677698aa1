//! Verification of signed agent cards (A2A §8.4.3).
//!
//! The algorithms are ES256 and EdDSA with Ed25519, which have no parameters. Trust comes from the reader's
//! own keys, never from the card, because a forger writes its `jku`, too. So a `jku` is followed only for a
//! key that is not in the set, and only to hosts that the reader names.
// D-10

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use tradepost_document::json;
use tradepost_document::problem::Problems;
use tradepost_keys::KeySet;
use tradepost_keys::card::{CardSignature, CardVerdict, SignedCard, is_trusted};

use crate::card::SellerCard;
use crate::discover::{Discovered, is_this_machine};
use crate::text::{WORD, decoded, plain};
use crate::transport::HttpTransport;

/// Maximum number of key sets that are fetched for one card.
const MAX_FETCHES: usize = 4;

/// Requirement on a card's signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrustPolicy {
    /// At least one signature is by a trusted key, and none is forged.
    #[default]
    Require,
    /// No signature is forged or by a key that must not be used any more. A card without signatures is
    /// accepted, and so is one whose signatures cannot be verified here, because a forger can leave them out.
    AcceptUnsigned,
    /// Signatures are not verified.
    Ignore,
}

/// Trust settings of a buyer.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// Requirement on signatures.
    pub policy: TrustPolicy,
    /// Trusted keys.
    pub keys: KeySet,
    /// Hosts, as `HOST` or `HOST:PORT`, whose key sets are trusted when a signature names them.
    pub jku_hosts: Vec<String>,
}

/// Signature with its verdict.
#[derive(Debug, Clone)]
pub struct JudgedSignature {
    /// Signature.
    pub signature: CardSignature,
    /// Final verdict.
    pub verdict: CardVerdict,
    /// Result of following its `jku`; `None` when it was not needed, or there is none.
    pub jku: Option<Jku>,
}

/// Result of following the address of a key set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jku {
    /// Not fetched: the host is not allowed, or the connection would not be secure.
    NotAllowed,
    /// Not fetched: the card names too many.
    TooMany,
    /// No keys, for this reason, fit for display.
    Failed(String),
    /// Fetched and used.
    Read,
}

/// Reason why a card is not trusted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Untrusted {
    /// The card has no canonical form that a signature could cover.
    NoForm(Problems),
    /// The card is not signed.
    Unsigned,
    /// A signature is forged or damaged.
    Forged(Vec<JudgedSignature>),
    /// A known key signed it that has expired, is not valid yet or is revoked, and no usable key did.
    UnusableKey(Vec<JudgedSignature>),
    /// No signature is by a trusted key.
    NoTrustedKey(Vec<JudgedSignature>),
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoForm(_) => "the signatures of the card cannot be verified",
            Self::Unsigned => "the card is not signed",
            Self::Forged(_) => "a signature of the card is forged or damaged",
            Self::UnusableKey(_) => "the card is signed by a key that may not be used now",
            Self::NoTrustedKey(_) => "no signature of the card is by a trusted key",
        })
    }
}

impl std::error::Error for Untrusted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let Self::NoForm(problems) = self else { return None };
        problems.as_cause()
    }
}

impl Trust {
    /// Returns the signatures of a card with their verdicts, if the policy accepts it; empty when they are
    /// not verified or there are none.
    ///
    /// # Errors
    /// The reason why the card is not trusted.
    pub async fn check(
        &self,
        transport: &HttpTransport,
        card: &SellerCard,
        now: Timestamp,
    ) -> Result<Vec<JudgedSignature>, Untrusted> {
        if self.policy == TrustPolicy::Ignore {
            return Ok(Vec::new());
        }
        let signed = json::read(card.raw.get()).and_then(|card| SignedCard::read(&card));
        let signed = signed.map_err(Untrusted::NoForm)?;
        let judged = judge_online(&signed, &self.keys, now, transport, &self.jku_hosts).await;
        let any = |is: fn(CardVerdict) -> bool| judged.iter().any(|judged| is(judged.verdict));
        // First, because one forged signature is enough to refuse the card.
        if any(|verdict| matches!(verdict, CardVerdict::Invalid(_))) {
            return Err(Untrusted::Forged(judged));
        }
        if any(|verdict| verdict == CardVerdict::Valid) {
            return Ok(judged);
        }
        if any(|verdict| matches!(verdict, CardVerdict::UnusableKey(_))) {
            return Err(Untrusted::UnusableKey(judged));
        }
        match self.policy {
            TrustPolicy::AcceptUnsigned | TrustPolicy::Ignore => Ok(judged),
            TrustPolicy::Require if judged.is_empty() => Err(Untrusted::Unsigned),
            TrustPolicy::Require => Err(Untrusted::NoTrustedKey(judged)),
        }
    }
}

impl Discovered {
    /// Sets `is_signed` by the verdicts: true when a signature is by a trusted key, and none is forged.
    #[must_use]
    pub fn with_verdicts(self, judged: &[JudgedSignature]) -> Self {
        let verdicts: Vec<_> = judged.iter().map(|judged| judged.verdict).collect();
        Self { is_signed: is_trusted(&verdicts), ..self }
    }
}

/// Verifies the signatures with these keys alone.
#[must_use]
pub fn judge(signed: &SignedCard, keys: &KeySet, now: Timestamp) -> Vec<JudgedSignature> {
    let judge = |signature: &CardSignature| JudgedSignature {
        signature: signature.clone(),
        verdict: signed.verdict(signature, keys, now),
        jku: None,
    };
    signed.signatures.iter().map(judge).collect()
}

/// Verifies the signatures with these keys. For a signature by an unknown key, the key set that it names is
/// fetched, if its host is allowed.
pub async fn judge_online(
    signed: &SignedCard,
    keys: &KeySet,
    now: Timestamp,
    transport: &HttpTransport,
    allowed: &[String],
) -> Vec<JudgedSignature> {
    let mut all = judge(signed, keys, now);
    let mut fetched: Vec<(Url, Result<KeySet, String>)> = Vec::new();
    for judged in all.iter_mut().filter(|judged| judged.verdict == CardVerdict::UnknownKey) {
        let Some(jku) = judged.signature.jku.as_deref() else {
            continue;
        };
        let Some(url) = allowed_url(jku, allowed) else {
            judged.jku = Some(Jku::NotAllowed);
            continue;
        };
        if !fetched.iter().any(|(known, _)| *known == url) {
            if fetched.len() >= MAX_FETCHES {
                judged.jku = Some(Jku::TooMany);
                continue;
            }
            let keys = fetch(transport, &url).await;
            fetched.push((url.clone(), keys));
        }
        match fetched.iter().find(|(known, _)| *known == url) {
            Some((_, Ok(keys))) => {
                judged.verdict = signed.verdict(&judged.signature, keys, now);
                judged.jku = Some(Jku::Read);
            }
            Some((_, Err(why))) => judged.jku = Some(Jku::Failed(why.clone())),
            None => {}
        }
    }
    all
}

/// Returns the address of a key set, when its host is allowed and the connection is secure: https, or this machine.
fn allowed_url(jku: &str, allowed: &[String]) -> Option<Url> {
    let mut url = Url::parse(jku).ok()?;
    url.set_fragment(None);
    let host = url.host_str()?;
    let safe = url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(host));
    let with_port = format!("{host}:{}", url.port_or_known_default()?);
    let named = |name: &String| {
        let name = name.to_ascii_lowercase();
        // A host without a port means the default port.
        name == with_port || (name == host && url.port().is_none())
    };
    let anonymous = url.username().is_empty() && url.password().is_none();
    (safe && anonymous && allowed.iter().any(named)).then_some(url)
}

async fn fetch(transport: &HttpTransport, url: &Url) -> Result<KeySet, String> {
    let response = transport.get(url, None).await.map_err(|failure| failure.to_string())?;
    if !response.is_success() {
        return Err(format!("the server answers with HTTP {}", response.status));
    }
    let text = decoded(&response.body).ok_or("it is not UTF-8")?;
    KeySet::read(text).map_err(|_| "it is no set of public keys".to_owned())
}

/// Returns the problems of a card or a key set, for people.
#[must_use]
pub fn describe(problems: &Problems) -> Vec<String> {
    let listed = problems.listed().iter().map(|problem| {
        let place = clip_pointer(&problem.pointer);
        format!("{place}: {}", problem.message)
    });
    let more = problems.total() - problems.listed().len();
    let more = (more > 0).then(|| format!("and {more} more"));
    listed.chain(more).collect()
}

/// Returns the place of a problem, made fit for display, because member names are untrusted.
fn clip_pointer(pointer: &str) -> String {
    let shown = plain(pointer, 2 * WORD);
    if shown.is_empty() { "the document".to_owned() } else { shown }
}

#[cfg(test)]
mod tests;
