//! Signatures of requests as AdCP requires them (RFC 9421, "Signed requests"), so that a seller knows which
//! agent calls.

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tradepost_adcp::signing::SignedKind;
use tradepost_keys::SigningKey;
use tradepost_keys::adcp::{PostToSign, nonce};

use crate::failure::{CallFailure, Unsent};

/// Signs requests with one key.
pub struct RequestSigner {
    key: SigningKey,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    digest: bool,
}

impl fmt::Debug for RequestSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestSigner")
            .field("key", &self.key)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}

impl RequestSigner {
    /// Creates a signer with this key; the seller knows the key by its name. A signature is valid for five
    /// minutes from the moment that `clock` returns.
    #[must_use]
    pub fn new(key: SigningKey, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { key, clock: Box::new(clock), digest: true }
    }

    /// Leaves the body out of the signature, for sellers that forbid it (`covers_content_digest`).
    #[must_use]
    pub fn without_digest(mut self) -> Self {
        self.digest = false;
        self
    }

    /// Adds the headers that sign a POST of this body to this address.
    pub(super) fn sign(
        &self,
        url: &Url,
        body: &[u8],
        headers: &mut HeaderMap,
    ) -> Result<(), CallFailure> {
        let setup = |why: String| CallFailure::Unsent(Unsent::Setup(why));
        let post = PostToSign {
            surface: SignedKind::Request,
            url: url.as_str(),
            content_type: "application/json",
            body,
            covers_body: self.digest,
        };
        let signed = nonce().and_then(|nonce| post.sign(&self.key, &nonce, (self.clock)()));
        for (name, line) in signed.map_err(|why| setup(why.to_string()))? {
            let line = HeaderValue::from_str(&line).map_err(|_| {
                setup("the key's name has characters that no header may have".to_owned())
            })?;
            headers.insert(HeaderName::from_static(name), line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tradepost_adcp::signing::DigestRule;
    use tradepost_document::json::json;
    use tradepost_keys::adcp::AcceptedSignature;
    use tradepost_keys::http_signature::{SignableRequest, TargetUri};
    use tradepost_keys::{Algorithm, PublicKey, generate};

    use super::*;

    fn signed(algorithm: Algorithm, digest: bool) -> (SigningKey, HeaderMap) {
        let pem = generate(algorithm).unwrap();
        let key = || SigningKey::read(&pem, Some("buyer-1")).unwrap();
        let signer = RequestSigner::new(key(), || "2026-08-01T12:00:00Z".parse().unwrap());
        let signer = if digest { signer } else { signer.without_digest() };
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let url = Url::parse("https://Seller.Example:443/mcp?a=1").unwrap();
        signer.sign(&url, b"{}", &mut headers).unwrap();
        (key(), headers)
    }

    #[test]
    fn signatures_of_either_algorithm_pass_the_sellers_checklist() {
        let target = TargetUri::read("https://seller.example/mcp?a=1").unwrap();
        for (algorithm, covers) in
            [(Algorithm::EdDsa, true), (Algorithm::Es256, true), (Algorithm::EdDsa, false)]
        {
            let (key, headers) = signed(algorithm, covers);
            let lines =
                headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
            let lines: Vec<_> = lines.collect();
            let message = SignableRequest { method: "POST", target: &target, fields: &lines };
            let demanded = if covers { DigestRule::Required } else { DigestRule::Forbidden };
            let now = "2026-08-01T12:00:30Z".parse().unwrap();
            let claim =
                AcceptedSignature::from_message(&message, SignedKind::Request, demanded, true, now);
            let claim = claim.unwrap().unwrap();
            assert_eq!((claim.keyid.as_str(), claim.algorithm), ("buyer-1", algorithm));
            claim.body(&message, b"{}").unwrap();
            if covers {
                assert!(claim.body(&message, b"[]").is_err());
            }
            let base = message.base(&claim.input).unwrap();
            let public = PublicKey::read(&key.public_jwk()).unwrap().unwrap();
            assert!(public.verifies(base.as_bytes(), &claim.signature), "{algorithm:?}");
        }
    }

    #[test]
    fn every_signature_has_a_nonce_of_its_own() {
        let input = || signed(Algorithm::EdDsa, true).1["signature-input"].clone();
        assert_ne!(input(), input());
        let key = SigningKey::read(&generate(Algorithm::EdDsa).unwrap(), Some("k\u{e9}")).unwrap();
        let signer = RequestSigner::new(key, || Timestamp::UNIX_EPOCH);
        let url = Url::parse("https://seller.example/mcp").unwrap();
        let mut headers = HeaderMap::new();
        let shown =
            json!(signer.sign(&url, b"", &mut headers).map_err(|why| why.to_string()).err());
        assert!(!shown.to_string().contains("PRIVATE"), "{shown}");
    }
}
