//! Whether a signed agent card is to be believed (A2A §8.4.3).
//!
//! Two algorithms, the two that need no choices: ES256 and EdDSA with Ed25519. Trust comes from a
//! set of keys that the reader has, never from the card: whoever forges a card writes its `jku`,
//! too. So a `jku` is followed only for a key that the set does not know, and only to hosts that
//! the reader names.
// D-10

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use tradepost_keys::KeySet;
use tradepost_keys::card::{CardSignature, CardVerdict, SignedCard, is_trusted};
use tradepost_wire::json;
use tradepost_wire::problem::Problems;

use crate::card::SellerCard;
use crate::discover::{Discovered, is_this_machine};
use crate::text::{WORD, decoded, plain};
use crate::transport::HttpTransport;

/// How many key sets one card can make us fetch.
const MAX_FETCHES: usize = 4;

/// What is asked of a card's signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrustPolicy {
    /// One is by a trusted key, and none is forged.
    #[default]
    Require,
    /// None is forged or by a key that may not be used any more; a card without a signature is
    /// taken, and so is one whose signatures nobody here can judge: whoever forges a card can
    /// leave them out.
    AcceptUnsigned,
    /// Nothing: nobody looks.
    Ignore,
}

/// Whom a buyer trusts.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// What is asked.
    pub policy: TrustPolicy,
    /// The keys that are trusted.
    pub keys: KeySet,
    /// Hosts, `HOST` or `HOST:PORT`, on which any key set that a signature names is trusted.
    pub jku_hosts: Vec<String>,
}

/// What became of one signature.
#[derive(Debug, Clone)]
pub struct JudgedSignature {
    /// The signature.
    pub signature: CardSignature,
    /// The verdict, in the end.
    pub verdict: CardVerdict,
    /// What became of its `jku`; `None` when there was no need of it, or it has none.
    pub jku: Option<Jku>,
}

/// What became of the address of a key set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Jku {
    /// It is not on a host that is allowed, nor safe on the way: it was not asked.
    NotAllowed,
    /// The card names too many.
    TooMany,
    /// It gave no keys: why, fit for display.
    Failed(String),
    /// Its keys were looked at.
    Read,
}

/// Why a card is not to be believed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Untrusted {
    /// It has no definite form that a signature could cover.
    NoForm(Problems),
    /// It is not signed.
    Unsigned,
    /// A signature is forged or damaged.
    Forged(Vec<JudgedSignature>),
    /// A known key signed it that has expired, is not valid yet or is revoked, and no other did.
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
    /// What became of the signatures of a card, when it is to be taken on these terms; empty when
    /// nobody looked or there are none.
    ///
    /// # Errors
    /// Why it is not.
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
        let judged = judge_online(&signed, &self.keys, now, (transport, &self.jku_hosts)).await;
        let any = |is: fn(CardVerdict) -> bool| judged.iter().any(|judged| is(judged.verdict));
        // Before what is good about the card: one forged signature is enough.
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
    /// The same, with what became of the card's signatures: whether one is by a trusted key, and none forged.
    #[must_use]
    pub fn with_verdicts(self, judged: &[JudgedSignature]) -> Self {
        let verdicts: Vec<_> = judged.iter().map(|judged| judged.verdict).collect();
        Self { is_signed: is_trusted(&verdicts), ..self }
    }
}

/// Judges the signatures with these keys alone.
#[must_use]
pub fn judge(signed: &SignedCard, keys: &KeySet, now: Timestamp) -> Vec<JudgedSignature> {
    let judge = |signature: &CardSignature| JudgedSignature {
        signature: signature.clone(),
        verdict: signed.verdict(signature, keys, now),
        jku: None,
    };
    signed.signatures.iter().map(judge).collect()
}

/// Judges the signatures with these keys, and where they know nothing of a signature with those
/// that it leads to, on hosts that are allowed.
pub async fn judge_online(
    signed: &SignedCard,
    keys: &KeySet,
    now: Timestamp,
    (transport, allowed): (&HttpTransport, &[String]),
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

/// The address of a key set, when its host is allowed and nobody can change it on the way: https,
/// or this very machine.
fn allowed_url(jku: &str, allowed: &[String]) -> Option<Url> {
    let mut url = Url::parse(jku).ok()?;
    url.set_fragment(None);
    let host = url.host_str()?;
    let safe = url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(host));
    let with_port = format!("{host}:{}", url.port_or_known_default()?);
    let named = |name: &String| {
        let name = name.to_ascii_lowercase();
        // A host without a port means the usual one.
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

/// The problems of a card or a key set, for people.
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

/// Where a problem is, made safe to show: members have the names that a stranger gave them.
fn clip_pointer(pointer: &str) -> String {
    let shown = plain(pointer, 2 * WORD);
    if shown.is_empty() { "the document".to_owned() } else { shown }
}

#[cfg(test)]
mod tests;
