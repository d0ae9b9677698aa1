//! Signatures of AdCP requests and webhooks: covered components, terms, verification steps, and
//! signing (AdCP 3.1, "Signed requests" and "Webhook callbacks").

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use ring::rand::{SecureRandom as _, SystemRandom};
use tradepost_adcp::signing::{ALGORITHMS, DigestRule, SignatureError, SignedKind};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;

use crate::http_signature::{
    self, HttpSignatureError, SignableRequest, SignatureInput, TargetUri, TargetUriError,
    content_digest,
};
use crate::{Algorithm, SigningKey, sha256};

/// Maximum difference between two clocks.
pub const SKEW: SignedDuration = SignedDuration::from_secs(60);

/// Maximum validity of a signature.
pub const LONGEST: SignedDuration = SignedDuration::from_secs(300);

/// Minimum length of a nonce in bytes.
const NONCE_BYTES: usize = 16;

/// Maximum length of a nonce and of a key id in characters.
const MAX_TEXT: usize = 256;

impl From<HttpSignatureError> for SignatureError {
    fn from(_: HttpSignatureError) -> Self {
        Self::HeaderMalformed
    }
}

/// A signature whose terms satisfy the profile. It is not verified yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedSignature {
    /// Key id.
    pub keyid: String,
    /// Nonce, unique per key.
    pub nonce: String,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// End of its validity.
    pub expires: Timestamp,
    /// Covered components and parameters.
    pub input: SignatureInput,
    /// Bytes of the signature.
    pub signature: Vec<u8>,
}

impl AcceptedSignature {
    /// Reads the signature of a message: steps 1 to 6 of AdCP's checklist. `None` when the message
    /// is not signed.
    ///
    /// # Errors
    /// The first step that fails.
    pub fn from_message(
        message: &SignableRequest<'_>,
        surface: SignedKind,
        digest: DigestRule,
        has_body: bool,
        now: Timestamp,
    ) -> Result<Option<Self>, SignatureError> {
        let Some((input, signature)) = http_signature::pick(message)? else { return Ok(None) };
        single(message, &input)?;
        let text = |term: &Option<String>| term.clone().ok_or(SignatureError::ParamsIncomplete);
        let nonce = text(&input.nonce)?;
        let keyid = text(&input.keyid)?;
        let alg = text(&input.alg)?;
        let tag = text(&input.tag)?;
        let created = input.created.ok_or(SignatureError::ParamsIncomplete)?;
        let expires = input.expires.ok_or(SignatureError::ParamsIncomplete)?;
        let random = URL_SAFE_NO_PAD.decode(&nonce).is_ok_and(|bytes| bytes.len() >= NONCE_BYTES);
        if !random || nonce.len() > MAX_TEXT || !(1..=MAX_TEXT).contains(&keyid.len()) {
            return Err(SignatureError::HeaderMalformed);
        }
        if tag != surface.tag() {
            return Err(SignatureError::TagInvalid);
        }
        let known = Algorithm::from_http_name(&alg).filter(|known| ALGORITHMS.contains(known));
        let algorithm = known.ok_or(SignatureError::AlgNotAllowed)?;
        let moment =
            |seconds| Timestamp::from_second(seconds).map_err(|_| SignatureError::WindowInvalid);
        let created = moment(created)?;
        let expires = moment(expires)?;
        // Clocks may differ in either direction, so a signature is accepted from a minute before
        // its start until a minute after its end.
        if expires <= created
            || expires.duration_since(created) > LONGEST
            || created.duration_since(now) > SKEW
            || now.duration_since(expires) > SKEW
        {
            return Err(SignatureError::WindowInvalid);
        }
        if !["@method", "@target-uri", "@authority"].iter().all(|name| input.covers(name))
            || has_body && !input.covers("content-type")
        {
            return Err(SignatureError::ComponentsIncomplete);
        }
        match (digest, input.covers("content-digest")) {
            (DigestRule::Required, false) if has_body => {
                return Err(SignatureError::ComponentsIncomplete);
            }
            (DigestRule::Forbidden, true) => return Err(SignatureError::ComponentsUnexpected),
            (DigestRule::Required | DigestRule::Forbidden | DigestRule::Either, _) => {}
        }
        Ok(Some(Self { keyid, nonce, algorithm, expires, input, signature }))
    }

    /// Returns the time until which its nonce has to be remembered (step 13).
    #[must_use]
    pub fn remembered_until(&self) -> Timestamp {
        // It is still valid in the last second of the window.
        let after = SKEW.saturating_add(SignedDuration::from_secs(1));
        self.expires.saturating_add(after).unwrap_or(Timestamp::MAX)
    }

    /// Checks the digest of the body (step 11); succeeds when none is covered.
    ///
    /// # Errors
    /// When the digest is another one.
    pub fn body(&self, message: &SignableRequest<'_>, body: &[u8]) -> Result<(), SignatureError> {
        if !self.input.covers("content-digest") {
            return Ok(());
        }
        let field = message.field("content-digest")?.ok_or(SignatureError::DigestMismatch)?;
        let digests = http_signature::digests(&field)?;
        let named = digests.iter().find(|(name, _)| *name == "sha-256");
        match named {
            Some((_, digest)) if *digest == sha256(body) => Ok(()),
            Some(_) | None => Err(SignatureError::DigestMismatch),
        }
    }
}

/// Checks that covered headers without a list have one value, because of two values different
/// readers could take different ones.
fn single(message: &SignableRequest<'_>, input: &SignatureInput) -> Result<(), SignatureError> {
    if input.covers("content-type") {
        let mut quoted = false;
        let listed = |byte: u8| {
            quoted ^= byte == b'"';
            byte == b',' && !quoted
        };
        let field = message.field("content-type")?;
        if field.is_some_and(|field| field.bytes().any(listed)) {
            return Err(SignatureError::HeaderMalformed);
        }
    }
    if input.covers("content-digest")
        && let Some(field) = message.field("content-digest")?
    {
        // The format alone: the value is checked in step 11.
        http_signature::digests(&field)?;
    }
    Ok(())
}

/// Checks that a key may sign here (step 8): its purposes, and the consistency of its members.
///
/// # Errors
/// When it may not.
pub fn purpose(
    jwk: &Value,
    surface: SignedKind,
    algorithm: Algorithm,
) -> Result<(), SignatureError> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let uses = match surface {
        SignedKind::Request => ["request-signing"].as_slice(),
        // The second one is from AdCP 3.0.
        SignedKind::Webhook => ["request-signing", "webhook-signing"].as_slice(),
    };
    let operations = jwk.get("key_ops").and_then(Value::as_array);
    let verifies = operations.is_some_and(|all| all.iter().any(|one| one == "verify"));
    let (kty, crv) = algorithm.key_type();
    let fits = text("use") == Some("sig")
        && verifies
        && text("adcp_use").is_some_and(|purpose| uses.contains(&purpose))
        && text("alg") == Some(algorithm.name())
        && (text("kty"), text("crv")) == (Some(kty), crv);
    if fits { Ok(()) } else { Err(SignatureError::KeyPurposeInvalid) }
}

/// A POST to be signed.
#[derive(Debug, Clone, Copy)]
pub struct PostToSign<'p> {
    /// Request or webhook.
    pub surface: SignedKind,
    /// Address.
    pub url: &'p str,
    /// Media type.
    pub content_type: &'p str,
    /// Body.
    pub body: &'p [u8],
    /// True when the body is covered.
    pub covers_body: bool,
}

/// Reason why a message cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The address is invalid.
    #[error("the request cannot be signed: {0}")]
    Target(TargetUriError),
    /// A header is invalid.
    #[error("the request cannot be signed: {0}")]
    Header(HttpSignatureError),
    /// The machine has no random source.
    #[error("the machine has no random numbers")]
    Random,
}

/// Bytes of a nonce.
pub type Nonce = [u8; NONCE_BYTES];

/// Generates a nonce.
///
/// # Errors
/// When the machine has no random source.
pub fn nonce() -> Result<Nonce, SignError> {
    let mut nonce = [0; NONCE_BYTES];
    SystemRandom::new().fill(&mut nonce).map_err(|_| SignError::Random)?;
    Ok(nonce)
}

impl PostToSign<'_> {
    /// Returns the headers that sign it, with the maximum validity, encoded as in AdCP 3.1.
    ///
    /// # Errors
    /// The reason why it cannot be signed.
    pub fn sign(
        &self,
        key: &SigningKey,
        nonce: &Nonce,
        now: Timestamp,
    ) -> Result<Vec<(&'static str, String)>, SignError> {
        let target = TargetUri::read(self.url).map_err(SignError::Target)?;
        let digest = self.covers_body.then(|| content_digest(&sha256(self.body)));
        let mut fields = vec![("content-type", self.content_type)];
        fields.extend(digest.as_deref().map(|digest| ("content-digest", digest)));
        let message = SignableRequest { method: "POST", target: &target, fields: &fields };
        let input = self.terms(key, nonce, now);
        let base = message.base(&input).map_err(SignError::Header)?;
        let signature = key.sign(base.as_bytes()).map_err(|_| SignError::Random)?;
        let signature = URL_SAFE_NO_PAD.encode(signature);
        let mut headers = vec![
            ("signature-input", format!("sig1={}", input.text)),
            ("signature", format!("sig1=:{signature}:")),
        ];
        headers.extend(digest.map(|digest| ("content-digest", digest)));
        Ok(headers)
    }

    fn terms(&self, key: &SigningKey, nonce: &Nonce, now: Timestamp) -> SignatureInput {
        let mut components = vec!["@method", "@target-uri", "@authority", "content-type"];
        if self.covers_body {
            components.push("content-digest");
        }
        let created = now.as_second();
        let input = SignatureInput {
            text: String::new(),
            components: components.into_iter().map(ToOwned::to_owned).collect(),
            created: Some(created),
            expires: Some(created.saturating_add(LONGEST.as_secs())),
            nonce: Some(URL_SAFE_NO_PAD.encode(nonce)),
            keyid: Some(key.kid().to_owned()),
            alg: Some(key.algorithm().http_name().to_owned()),
            tag: Some(self.surface.tag().to_owned()),
        };
        input.written()
    }
}

#[cfg(test)]
mod tests;
