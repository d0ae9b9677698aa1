//! Authentication of deliveries. Every configured method is required, because otherwise the weakest would
//! decide. The answer does not say which one failed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, Uri};
use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;
use tradepost_adcp::signing::{SignatureError, SignedKind};
use tradepost_keys::hmac::SharedKey;
use tradepost_keys::replay::{self, ReplayCache};
use tradepost_keys::sha256;

pub use super::signature::{Signatures, WebhookKeys};
pub use super::webhooks::TrustedWebhooks;
use crate::signed::SignedContent;

/// Header with the token in A2A before 1.0, which some agents still send.
pub const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// Header with AdCP's HMAC: `sha256=` and the hex digits. [`ADCP_TIMESTAMP`] has its time.
pub const ADCP_SIGNATURE: &str = "x-adcp-signature";
/// Header with the time of [`ADCP_SIGNATURE`], in seconds since 1970.
pub const ADCP_TIMESTAMP: &str = "x-adcp-timestamp";

/// Header with our own HMAC: `t=` seconds since 1970 `,v1=` hex digits, the latter once for each key of the sender.
pub const SIGNATURE: &str = "x-tradepost-signature";

/// Maximum difference to a sender's clock, and maximum age of a signature.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// Minimum length of a token, in characters.
pub const MIN_TOKEN: usize = 16;

/// Minimum length of an HMAC key, in characters.
pub const MIN_KEY: usize = 32;

/// Minimum number of different characters in a token or a key; a text with fewer is not random.
const MIN_DIFFERENT: usize = 8;

/// Maximum number of nonces of one key that are remembered; further requests are denied until some expire.
const MAX_NONCES: usize = 100_000;

/// Request to be checked.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryEnvelope<'r> {
    /// Method.
    pub method: &'r Method,
    /// Target.
    pub uri: &'r Uri,
    /// Headers.
    pub headers: &'r HeaderMap,
    /// Complete body.
    pub body: &'r [u8],
}

/// Proof that a request is authentic.
#[derive(Debug)]
pub struct Pass {
    /// Sender, by the name of its keys or secrets; empty when they have no name, because there is only one sender.
    pub sender: Arc<str>,
    used: Option<ReusedSignature>,
}

/// Used signature, which is not accepted again.
#[derive(Debug)]
enum ReusedSignature {
    Adcp(SignedContent<Arc<str>>),
    Other(replay::UsedSignature),
}

/// Denial of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryDenied {
    /// A proof is missing or wrong; the sender is not told which one.
    Unproven,
    /// The signature is not accepted, for a reason of AdCP's table.
    Signature(SignatureError),
    /// The signer cannot be determined at the moment.
    Later(SignatureError),
}

impl DeliveryDenied {
    /// Returns AdCP's code, for the sender and for the log.
    #[must_use]
    pub fn code(self) -> Option<String> {
        match self {
            Self::Unproven => None,
            Self::Signature(fault) | Self::Later(fault) => Some(fault.code(SignedKind::Webhook)),
        }
    }
}

/// Token or key of a sender.
struct DeliverySecret<T> {
    sender: Arc<str>,
    secret: T,
}

/// Required proofs of a delivery.
#[derive(Default)]
pub struct Authenticity {
    /// SHA-256 of each token.
    tokens: Vec<DeliverySecret<[u8; 32]>>,
    hmac: Vec<DeliverySecret<SharedKey>>,
    signatures: Option<Signatures>,
    webhooks: Option<TrustedWebhooks>,
    nonces: ReplayCache,
}

impl fmt::Debug for Authenticity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the numbers, because the keys are secret.
        f.debug_struct("Authenticity")
            .field("tokens", &self.tokens.len())
            .field("hmac", &self.hmac.len())
            .field("signatures", &self.signatures.is_some())
            .field("webhooks", &self.webhooks.is_some())
            .finish_non_exhaustive()
    }
}

impl Authenticity {
    /// Requires one of these tokens, as `Authorization: Bearer` or in [`TOKEN_HEADER`]. A token may be
    /// preceded by the address of the only seller that has it.
    ///
    /// # Errors
    /// When there is none, or one is too short or not random.
    pub fn with_tokens(mut self, tokens: &[&str]) -> Result<Self, &'static str> {
        self.tokens = secrets(tokens, MIN_TOKEN, |token| sha256(token.as_bytes()))
            .ok_or("a token has at least 16 characters, 8 of them different")?;
        Ok(self)
    }

    /// Requires an HMAC-SHA256 with one of these keys, in AdCP's headers or ours. A key may be preceded by
    /// the address of the only seller that has it.
    ///
    /// # Errors
    /// When there is none, or one is too short or not random.
    pub fn with_hmac(mut self, keys: &[&str]) -> Result<Self, &'static str> {
        self.hmac = secrets(keys, MIN_KEY, SharedKey::new)
            .ok_or("a key has at least 32 characters, 8 of them different")?;
        Ok(self)
    }

    /// Requires an RFC 9421 signature.
    #[must_use]
    pub fn with_signatures(mut self, signatures: Signatures) -> Self {
        self.signatures = Some(signatures);
        self
    }

    /// Requires an AdCP webhook signature of one of these sellers.
    #[must_use]
    pub fn with_webhooks(mut self, webhooks: TrustedWebhooks) -> Self {
        self.webhooks = Some(webhooks);
        self
    }

    /// Returns true when nothing is required, so that every delivery is accepted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
            && self.hmac.is_empty()
            && self.signatures.is_none()
            && self.webhooks.is_none()
    }

    /// Returns true when the headers permit reading the body.
    #[must_use]
    pub fn may_send(&self, headers: &HeaderMap) -> bool {
        self.tokens.is_empty() || self.token(headers).is_some()
    }

    /// Returns the sender whose token is in the headers.
    fn token(&self, headers: &HeaderMap) -> Option<&Arc<str>> {
        let bearer = one(headers, AUTHORIZATION.as_str()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let presented = [bearer, one(headers, TOKEN_HEADER)];
        presented.into_iter().flatten().find_map(|token| {
            let presented = sha256(token.as_bytes());
            // Every token is compared, so that the time does not tell which one was similar.
            let tokens = self.tokens.iter();
            tokens.fold(None, |found, known| {
                let is = bool::from(known.secret.ct_eq(&presented));
                if is { Some(&known.sender) } else { found }
            })
        })
    }

    /// Checks that a request is authentic. Its signature is then used up.
    ///
    /// # Errors
    /// The reason for the denial.
    pub async fn check(
        &self,
        envelope: &DeliveryEnvelope<'_>,
        now: Timestamp,
    ) -> Result<Pass, DeliveryDenied> {
        let mut senders = Vec::new();
        if !self.tokens.is_empty() {
            senders.push(self.token(envelope.headers).ok_or(DeliveryDenied::Unproven)?.clone());
        }
        if !self.hmac.is_empty() {
            senders.push(self.by_hmac(envelope, now)?.clone());
        }
        let mut used = None;
        if let Some(signatures) = &self.signatures {
            let (keyid, nonce) =
                signatures.verify(envelope, now).ok_or(DeliveryDenied::Unproven)?;
            // Latest moment at which the signature could still be valid.
            let until = now.saturating_add(WINDOW * 2).unwrap_or(Timestamp::MAX);
            // Only for a valid signature, because otherwise anyone could use up the nonces of a key.
            let taken = self.nonces.take(&keyid, &nonce, MAX_NONCES, now, until);
            used = Some(ReusedSignature::Other(taken.map_err(|_| DeliveryDenied::Unproven)?));
        }
        if let Some(webhooks) = &self.webhooks {
            let signed = self.by_webhooks(webhooks, envelope, now).await?;
            senders.push(signed.whose.clone());
            used = Some(ReusedSignature::Adcp(signed));
        }
        // The strongest proof names the sender.
        let named = senders.into_iter().rev().find(|sender| !sender.is_empty());
        Ok(Pass { sender: named.unwrap_or_default(), used })
    }

    /// Lets the same request come again, because its delivery could not be stored.
    pub fn release(&self, pass: &Pass) {
        match (&pass.used, &self.webhooks) {
            (Some(ReusedSignature::Other(used)), _) => self.nonces.release(used),
            (Some(ReusedSignature::Adcp(signed)), Some(webhooks)) => webhooks.release(signed),
            (Some(ReusedSignature::Adcp(_)), None) | (None, _) => {}
        }
    }

    async fn by_webhooks(
        &self,
        webhooks: &TrustedWebhooks,
        envelope: &DeliveryEnvelope<'_>,
        now: Timestamp,
    ) -> Result<SignedContent<Arc<str>>, DeliveryDenied> {
        let signed = webhooks.verify(envelope, now).await.map_err(|fault| {
            // A sender that is told of a wrong signature gives up, so a transient problem has its own answer.
            if fault.is_transient() {
                DeliveryDenied::Later(fault)
            } else {
                DeliveryDenied::Signature(fault)
            }
        })?;
        let has_hmac = envelope.headers.contains_key(ADCP_SIGNATURE);
        let otherwise =
            if has_hmac { SignatureError::ModeMismatch } else { SignatureError::Required };
        signed.ok_or(DeliveryDenied::Signature(otherwise))
    }

    fn by_hmac(
        &self,
        envelope: &DeliveryEnvelope<'_>,
        now: Timestamp,
    ) -> Result<&Arc<str>, DeliveryDenied> {
        let sender = self.hmac_sender(envelope, now);
        let other = self.signatures.is_none()
            && self.webhooks.is_none()
            && envelope.headers.contains_key("signature-input");
        let why = if other {
            DeliveryDenied::Signature(SignatureError::ModeMismatch)
        } else {
            DeliveryDenied::Unproven
        };
        sender.ok_or(why)
    }

    fn hmac_sender(&self, envelope: &DeliveryEnvelope<'_>, now: Timestamp) -> Option<&Arc<str>> {
        let adcp = || {
            let digits = one(envelope.headers, ADCP_SIGNATURE)?.strip_prefix("sha256=")?;
            Some((one(envelope.headers, ADCP_TIMESTAMP)?, vec![digits]))
        };
        let ours = || {
            let mut parts = one(envelope.headers, SIGNATURE)?.split(',').map(str::trim);
            let moment = parts.next()?.strip_prefix("t=")?;
            // During a change of keys there are two digests; a limit bounds the work for each request.
            let digits: Option<Vec<_>> =
                parts.take(4).map(|part| part.strip_prefix("v1=")).collect();
            Some((moment, digits?))
        };
        let signed = |(moment, digits): (&str, Vec<&str>)| {
            let seconds: i64 = moment.parse().ok()?;
            let distance = Timestamp::from_second(seconds).ok()?.duration_until(now).abs();
            if distance > WINDOW {
                return None;
            }
            let key_of = |digits: &str| {
                self.hmac.iter().find(|key| key.secret.verifies(moment, envelope.body, digits))
            };
            digits.into_iter().find_map(key_of).map(|key| &key.sender)
        };
        [adcp(), ours()].into_iter().flatten().find_map(signed)
    }
}

/// Reads tokens or keys; `None` when there is none, or one can be guessed.
fn secrets<T>(
    lines: &[&str],
    least: usize,
    read: impl Fn(&str) -> T,
) -> Option<Vec<DeliverySecret<T>>> {
    let secret = |line: &&str| {
        let (sender, secret) = match line.split_once([' ', '\t']) {
            Some((url, secret)) if url.starts_with("https://") || url.starts_with("http://") => {
                (url, secret.trim())
            }
            Some(_) | None => ("", *line),
        };
        let different = secret.chars().collect::<BTreeSet<_>>().len();
        let is_strong = secret.chars().count() >= least && different >= MIN_DIFFERENT;
        is_strong.then(|| DeliverySecret { sender: sender.into(), secret: read(secret) })
    };
    let read: Option<Vec<_>> = lines.iter().map(secret).collect();
    read.filter(|secrets| !secrets.is_empty())
}

/// Returns the value of a header that occurs once.
pub(super) fn one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    // With two values, readers could choose different ones.
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_777_550_400;
    const KEY: &str = "0123456789abcdef0123456789abcdef";
    const TOKEN: &str = "a-token-of-some-length";

    fn passes(authenticity: &Authenticity, headers: &[(&str, String)], body: &str) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let uri = Uri::from_static("/");
        let body = body.as_bytes();
        let envelope = DeliveryEnvelope { method: &Method::POST, uri: &uri, headers: &map, body };
        let now = Timestamp::from_second(NOW).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(authenticity.check(&envelope, now)).is_ok()
    }

    fn tag(key: &str, text: &str) -> String {
        use ring::hmac;

        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        tradepost_document::format::hex(hmac::sign(&key, text.as_bytes()).as_ref())
    }

    #[test]
    fn a_token_is_believed_in_either_header_and_only_whole() {
        let required =
            Authenticity::default().with_tokens(&["another-token-of-ours", TOKEN]).unwrap();
        for (name, value, expected) in [
            ("authorization", format!("Bearer {TOKEN}"), true),
            ("authorization", format!("bearer  {TOKEN}"), true),
            (TOKEN_HEADER, TOKEN.to_owned(), true),
            ("authorization", TOKEN.to_owned(), false),
            ("authorization", format!("Basic {TOKEN}"), false),
            ("authorization", format!("Bearer {TOKEN}x"), false),
            ("authorization", "Bearer a-token".to_owned(), false),
            ("authorization", "Bearer ".to_owned(), false),
            ("x-token", TOKEN.to_owned(), false),
        ] {
            assert_eq!(passes(&required, &[(name, value.clone())], ""), expected, "{name} {value}");
        }
        let twice = [("authorization", format!("Bearer {TOKEN}")), ("authorization", "x".into())];
        assert!(!passes(&required, &twice, ""));
        assert!(Authenticity::default().with_tokens(&["short"]).is_err());
        assert!(Authenticity::default().with_tokens(&[]).is_err());
    }

    #[test]
    fn an_hmac_covers_moment_and_body_for_five_minutes() {
        let required =
            Authenticity::default().with_hmac(&["fedcba9876543210fedcba9876543210", KEY]).unwrap();
        let adcp = |key: &str, at: i64, body: &str| {
            vec![
                (ADCP_SIGNATURE, format!("sha256={}", tag(key, &format!("{at}.{body}")))),
                (ADCP_TIMESTAMP, at.to_string()),
            ]
        };
        let ours = |key: &str, at: i64, body: &str| {
            vec![(SIGNATURE, format!("t={at},v1={}", tag(key, &format!("{at}.{body}"))))]
        };
        for (at, expected) in [(0, true), (-300, true), (300, true), (-301, false), (301, false)] {
            assert_eq!(passes(&required, &adcp(KEY, NOW + at, "{}"), "{}"), expected, "{at}");
            assert_eq!(passes(&required, &ours(KEY, NOW + at, "{}"), "{}"), expected, "{at}");
        }
        assert!(!passes(&required, &adcp(KEY, NOW, "{}"), "{} "));
        assert!(!passes(&required, &ours(TOKEN, NOW, "{}"), "{}"));
        assert!(!passes(&required, &adcp(KEY, NOW, "{}")[..1], "{}"));
        assert!(!passes(&required, &[], "{}"));
        let two = format!("t={NOW},v1=00,v1={}", tag(KEY, &format!("{NOW}.{{}}")));
        assert!(passes(&required, &[(SIGNATURE, two)], "{}"), "keys are changed one after another");
        for weak in ["short", "", &"0".repeat(32), &"ab".repeat(40), "https://a.example/ short"] {
            assert!(Authenticity::default().with_hmac(&[weak]).is_err(), "{weak}");
        }
    }

    #[test]
    fn every_method_that_is_set_up_is_required() {
        let both = Authenticity::default().with_tokens(&[TOKEN]).unwrap();
        let both = both.with_hmac(&[KEY]).unwrap();
        let token = ("authorization", format!("Bearer {TOKEN}"));
        let signature = format!("t={NOW},v1={}", tag(KEY, &format!("{NOW}.x")));
        let signature = (SIGNATURE, signature);
        assert!(passes(&both, &[token.clone(), signature.clone()], "x"));
        assert!(!passes(&both, &[token], "x"));
        assert!(!passes(&both, &[signature], "x"));
    }
}
