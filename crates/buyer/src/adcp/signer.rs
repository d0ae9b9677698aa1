//! Requests are signed as AdCP wants it (RFC 9421, "Signed requests"), so that a seller knows which
//! agent calls.

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};
use tradepost_keys::SigningKey;
use tradepost_wire::adcp::signing::{self, Surface, Terms};
use tradepost_wire::http_signature::{Message, Target, content_digest};

use crate::failure::{Failure, Unsent};

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
    /// With this key, whose name is what the seller knows it by. A signature holds for five minutes
    /// from the moment that `clock` tells.
    #[must_use]
    pub fn new(key: SigningKey, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self { key, clock: Box::new(clock), digest: true }
    }

    /// Does not cover the body, for sellers that forbid it (`covers_content_digest`).
    #[must_use]
    pub fn without_digest(mut self) -> Self {
        self.digest = false;
        self
    }

    /// Adds what signs a POST of this body to this address.
    pub(super) fn sign(
        &self,
        url: &Url,
        body: &[u8],
        headers: &mut HeaderMap,
    ) -> Result<(), Failure> {
        let setup = |why: &str| Failure::Unsent(Unsent::Setup(why.to_owned()));
        let target = Target::read(url.as_str())
            .map_err(|bad| setup(&format!("the request cannot be signed: {bad}")))?;
        let mut nonce = [0; 16];
        let random = SystemRandom::new();
        random.fill(&mut nonce).map_err(|_| setup("the machine has no random numbers"))?;
        let terms = Terms {
            surface: Surface::Request,
            keyid: self.key.kid(),
            algorithm: self.key.algorithm(),
            nonce: &nonce,
            now: (self.clock)(),
        };
        let digest = self.digest.then(|| content_digest(&sha256(body)));
        let mut fields = vec![("content-type", "application/json")];
        fields.extend(digest.as_deref().map(|digest| ("content-digest", digest)));
        let message = Message { method: "POST", target: &target, fields: &fields };
        let input = terms.input(self.digest);
        let base = message.base(&input).map_err(|_| setup("the request cannot be signed"))?;
        let signature = self.key.sign(base.as_bytes());
        let signature = signature.map_err(|_| setup("the machine has no random numbers"))?;
        let (input, signature) = signing::headers(&input, &signature);
        let lines = [("signature-input", Some(input)), ("signature", Some(signature))];
        for (name, line) in lines.into_iter().chain([("content-digest", digest)]) {
            let Some(line) = line else { continue };
            let line = HeaderValue::from_str(&line)
                .map_err(|_| setup("the key's name has characters that no header may have"))?;
            headers.insert(HeaderName::from_static(name), line);
        }
        Ok(())
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use tradepost_keys::{Algorithm, PublicKey, generate};
    use tradepost_wire::adcp::signing::{Claim, Digest};
    use tradepost_wire::json::json;

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
    fn a_seller_that_goes_by_the_checklist_believes_a_signature_of_either_algorithm() {
        let target = Target::read("https://seller.example/mcp?a=1").unwrap();
        for (algorithm, covers) in
            [(Algorithm::EdDsa, true), (Algorithm::Es256, true), (Algorithm::EdDsa, false)]
        {
            let (key, headers) = signed(algorithm, covers);
            let lines =
                headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
            let lines: Vec<_> = lines.collect();
            let message = Message { method: "POST", target: &target, fields: &lines };
            let demanded = if covers { Digest::Required } else { Digest::Forbidden };
            let now = "2026-08-01T12:00:30Z".parse().unwrap();
            let claim = Claim::of(&message, Surface::Request, demanded, true, now);
            let claim = claim.unwrap().unwrap();
            assert_eq!((claim.keyid.as_str(), claim.algorithm), ("buyer-1", algorithm));
            claim.body(&message, &sha256(b"{}")).unwrap();
            if covers {
                assert!(claim.body(&message, &sha256(b"[]")).is_err());
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
        let told = json!(signer.sign(&url, b"", &mut headers).map_err(|why| why.to_string()).err());
        assert!(!told.to_string().contains("PRIVATE"), "{told}");
    }
}
