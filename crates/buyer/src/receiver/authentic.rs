//! Which deliveries are believed. Every method that is set up is required: if any one were
//! enough, the weakest would decide. Nothing says which one failed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Method, Uri};
use jiff::{SignedDuration, Timestamp};
use ring::{digest, hmac};
use subtle::ConstantTimeEq as _;

pub use super::signature::{Keys, Signatures, fields};

/// The header of a token in A2A before 1.0, which some agents still send.
pub const TOKEN_HEADER: &str = "x-a2a-notification-token";

/// AdCP's headers of an HMAC: `sha256=` and the hex digits, and the seconds since 1970.
pub const ADCP_SIGNATURE: &str = "x-adcp-signature";
/// See [`ADCP_SIGNATURE`].
pub const ADCP_TIMESTAMP: &str = "x-adcp-timestamp";

/// Our own header of an HMAC: `t=` seconds since 1970 `,v1=` hex digits, the latter once for each
/// key of the sender.
pub const SIGNATURE: &str = "x-tradepost-signature";

/// How far a sender's clock may differ, and how old a signature may be.
pub const WINDOW: SignedDuration = SignedDuration::from_mins(5);

/// The shortest token, in characters.
pub const MIN_TOKEN: usize = 16;

/// The shortest key of an HMAC, in characters.
pub const MIN_KEY: usize = 32;

/// How many nonces are remembered; there are no more in five minutes, or else the oldest count as
/// used.
const MAX_NONCES: usize = 100_000;

/// What is known of a request.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'r> {
    /// The method.
    pub method: &'r Method,
    /// The target.
    pub uri: &'r Uri,
    /// The headers.
    pub headers: &'r HeaderMap,
    /// The body, every byte.
    pub body: &'r [u8],
}

/// An authentic request's pass: [`Authenticity::spend`] makes it worthless.
#[derive(Debug)]
pub struct Pass(Option<String>);

/// Which deliveries are believed.
#[derive(Default)]
pub struct Authenticity {
    /// SHA-256 of each token.
    tokens: Vec<[u8; 32]>,
    hmac: Vec<hmac::Key>,
    signatures: Option<Signatures>,
    /// The nonces that were used, and until when they are remembered.
    nonces: Mutex<HashMap<String, Timestamp>>,
}

impl fmt::Debug for Authenticity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The keys are nobody's business.
        f.debug_struct("Authenticity")
            .field("tokens", &self.tokens.len())
            .field("hmac", &self.hmac.len())
            .field("signatures", &self.signatures.is_some())
            .finish_non_exhaustive()
    }
}

impl Authenticity {
    /// Requires one of these tokens, as `Authorization: Bearer` or in [`TOKEN_HEADER`].
    ///
    /// # Errors
    /// When there is none, or one is too short.
    pub fn with_tokens(mut self, tokens: &[&str]) -> Result<Self, &'static str> {
        if tokens.is_empty() || tokens.iter().any(|token| token.chars().count() < MIN_TOKEN) {
            return Err("a token has at least 16 characters");
        }
        self.tokens = tokens.iter().map(|token| sha256(token.as_bytes())).collect();
        Ok(self)
    }

    /// Requires an HMAC-SHA256 with one of these keys, in AdCP's headers or ours.
    ///
    /// # Errors
    /// When there is none, or one is too short.
    pub fn with_hmac(mut self, keys: &[&str]) -> Result<Self, &'static str> {
        if keys.is_empty() || keys.iter().any(|key| key.chars().count() < MIN_KEY) {
            return Err("a key has at least 32 characters");
        }
        let read = |key: &&str| hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        self.hmac = keys.iter().map(read).collect();
        Ok(self)
    }

    /// Requires an RFC 9421 signature.
    #[must_use]
    pub fn with_signatures(mut self, signatures: Signatures) -> Self {
        self.signatures = Some(signatures);
        self
    }

    /// Whether nothing is required, so that everybody is believed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty() && self.hmac.is_empty() && self.signatures.is_none()
    }

    /// Whether the headers permit to read a body at all.
    #[must_use]
    pub fn may_send(&self, headers: &HeaderMap) -> bool {
        if self.tokens.is_empty() {
            return true;
        }
        let bearer = one(headers, AUTHORIZATION.as_str()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        let presented = [bearer, one(headers, TOKEN_HEADER)];
        presented.into_iter().flatten().any(|token| {
            let presented = sha256(token.as_bytes());
            // Every token is compared, so that the time does not tell which one was near.
            let matches = self.tokens.iter().map(|known| known.ct_eq(&presented).unwrap_u8());
            matches.fold(0, |any, matches| any | matches) == 1
        })
    }

    /// Whether a request is authentic.
    #[must_use]
    pub fn check(&self, envelope: &Envelope<'_>, now: Timestamp) -> Option<Pass> {
        if !self.may_send(envelope.headers) {
            return None;
        }
        if !self.hmac.is_empty() && !self.has_hmac(envelope, now) {
            return None;
        }
        let Some(signatures) = &self.signatures else { return Some(Pass(None)) };
        let nonce = signatures.verify(envelope, now)?;
        let nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        let full = nonces.len() >= MAX_NONCES && nonces.values().all(|until| *until > now);
        (!full && nonces.get(&nonce).is_none_or(|until| *until <= now)).then_some(Pass(Some(nonce)))
    }

    /// Remembers that a request was taken: the same one again is a replay.
    pub fn spend(&self, pass: Pass, now: Timestamp) {
        let Pass(Some(nonce)) = pass else { return };
        let mut nonces = self.nonces.lock().unwrap_or_else(PoisonError::into_inner);
        if nonces.len() >= MAX_NONCES {
            nonces.retain(|_, until| *until > now);
        }
        // The latest moment at which its signature could still be in force.
        let until = now.saturating_add(WINDOW * 2).unwrap_or(Timestamp::MAX);
        nonces.insert(nonce, until);
    }

    fn has_hmac(&self, envelope: &Envelope<'_>, now: Timestamp) -> bool {
        let adcp = || {
            let digits = one(envelope.headers, ADCP_SIGNATURE)?.strip_prefix("sha256=")?;
            Some((one(envelope.headers, ADCP_TIMESTAMP)?, vec![digits]))
        };
        let ours = || {
            let mut parts = one(envelope.headers, SIGNATURE)?.split(',').map(str::trim);
            let moment = parts.next()?.strip_prefix("t=")?;
            let digits: Option<Vec<_>> =
                parts.take(4).map(|part| part.strip_prefix("v1=")).collect();
            Some((moment, digits?))
        };
        let signed = |(moment, digits): (&str, Vec<&str>)| {
            let seconds: i64 = moment.parse().ok()?;
            let distance = Timestamp::from_second(seconds).ok()?.duration_until(now).abs();
            let message = [moment.as_bytes(), b".", envelope.body].concat();
            let fits = |tag: &Vec<u8>| {
                self.hmac.iter().any(|key| hmac::verify(key, &message, tag).is_ok())
            };
            Some(distance <= WINDOW && digits.into_iter().filter_map(unhex).any(|tag| fits(&tag)))
        };
        [adcp(), ours()].into_iter().flatten().any(|parts| signed(parts) == Some(true))
    }
}

/// The value of a header that occurs once.
pub(super) fn one<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok().map(str::trim)
}

pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? * 16 + digit(low)?),
        _ => None,
    };
    pairs.map(byte).collect()
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
        let envelope = Envelope { method: &Method::POST, uri: &uri, headers: &map, body };
        authenticity.check(&envelope, Timestamp::from_second(NOW).unwrap()).is_some()
    }

    fn tag(key: &str, text: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
        hmac::sign(&key, text.as_bytes()).as_ref().iter().map(|b| format!("{b:02x}")).collect()
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
    fn an_hmac_is_over_the_moment_and_the_body_and_holds_five_minutes() {
        let required = Authenticity::default().with_hmac(&["f".repeat(32).as_str(), KEY]).unwrap();
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
        assert!(Authenticity::default().with_hmac(&["short"]).is_err());
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
