//! How AdCP signs: what a signature of a request or of a webhook has to cover, on which terms it
//! holds, in which order that is looked at, and what it is called when it does not (AdCP 3.1,
//! "Signed requests" and "Webhook callbacks"; the two differ in a tag and in the names of errors).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};

use crate::algorithm::Algorithm;
use crate::catalog::Vocabulary as _;
use crate::http_signature::{self, Input, Malformed, Message};
use crate::json::Value;

/// How far two clocks may differ.
pub const SKEW: SignedDuration = SignedDuration::from_secs(60);

/// The longest time that a signature may hold.
pub const LONGEST: SignedDuration = SignedDuration::from_secs(300);

/// The least that a nonce has, in bytes.
const NONCE_BYTES: usize = 16;

/// The longest nonce and the longest name of a key, in characters.
const MAX_TEXT: usize = 256;

/// What is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// A request to a seller.
    Request,
    /// A webhook of a seller.
    Webhook,
}

impl Surface {
    /// The tag that keeps the two apart.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::Request => "adcp/request-signing/v1",
            Self::Webhook => "adcp/webhook-signing/v1",
        }
    }
}

/// Whether a signature covers the digest of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Digest {
    /// It has to.
    Required,
    /// It must not.
    Forbidden,
    /// As the signer likes.
    #[default]
    Either,
}

impl Digest {
    /// The word on the wire (`covers_content_digest`).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::Forbidden => "forbidden",
            Self::Either => "either",
        }
    }
}

/// The algorithms of the profile.
pub const ALGORITHMS: [Algorithm; 2] = [Algorithm::EdDsa, Algorithm::Es256];

/// Why a signature is not believed, in the words of the published table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// There is none, and one is needed.
    Required,
    /// The headers are not in their form.
    HeaderMalformed,
    /// A term is missing.
    ParamsIncomplete,
    /// It is for something else.
    TagInvalid,
    /// Its algorithm is not allowed.
    AlgNotAllowed,
    /// It does not hold now, or holds too long.
    WindowInvalid,
    /// It does not cover enough.
    ComponentsIncomplete,
    /// It covers what it must not.
    ComponentsUnexpected,
    /// Nobody known has its key.
    KeyUnknown,
    /// Its key is for something else.
    KeyPurposeInvalid,
    /// Its key was revoked.
    KeyRevoked,
    /// Nobody knows whether its key was revoked.
    RevocationStale,
    /// There are too many signatures of its key.
    RateAbuse,
    /// It is not of this request.
    Invalid,
    /// The body is another.
    DigestMismatch,
    /// It was used before.
    Replayed,
    /// The address is not one that can be signed, or names another host.
    TargetMalformed,
    /// The body can be read in two ways.
    BodyMalformed,
    /// The signer's keys cannot be had at the moment.
    JwksUnavailable,
    /// The signer's keys are where nothing may be fetched.
    JwksUntrusted,
    /// The signer says nowhere where its keys are.
    BrandJsonUnreachable,
    /// What says it cannot be read.
    BrandJsonMalformed,
    /// What says it does not know the signer.
    AgentNotInBrandJson,
    /// What says it knows the signer twice.
    BrandJsonAmbiguous,
    /// What says it is somebody else's.
    BrandOriginMismatch,
    /// A webhook shows whose it is in another way than was agreed on.
    ModeMismatch,
}

impl Fault {
    /// Its code on the wire.
    #[must_use]
    pub fn code(self, surface: Surface) -> String {
        let prefix = match surface {
            Surface::Request => "request",
            Surface::Webhook => "webhook",
        };
        let name = match self {
            Self::Required => "signature_required",
            Self::HeaderMalformed => "signature_header_malformed",
            Self::ParamsIncomplete => "signature_params_incomplete",
            Self::TagInvalid => "signature_tag_invalid",
            Self::AlgNotAllowed => "signature_alg_not_allowed",
            Self::WindowInvalid => "signature_window_invalid",
            Self::ComponentsIncomplete => "signature_components_incomplete",
            Self::ComponentsUnexpected => "signature_components_unexpected",
            Self::KeyUnknown => "signature_key_unknown",
            Self::KeyPurposeInvalid => "signature_key_purpose_invalid",
            Self::KeyRevoked => "signature_key_revoked",
            Self::RevocationStale => "signature_revocation_stale",
            Self::RateAbuse => "signature_rate_abuse",
            Self::Invalid => "signature_invalid",
            Self::DigestMismatch => "signature_digest_mismatch",
            Self::Replayed => "signature_replayed",
            Self::TargetMalformed => "target_uri_malformed",
            Self::BodyMalformed => "body_malformed",
            Self::JwksUnavailable => "signature_jwks_unavailable",
            Self::JwksUntrusted => "signature_jwks_untrusted",
            Self::BrandJsonUnreachable => "signature_brand_json_unreachable",
            Self::BrandJsonMalformed => "signature_brand_json_malformed",
            Self::AgentNotInBrandJson => "signature_agent_not_in_brand_json",
            Self::BrandJsonAmbiguous => "signature_brand_json_ambiguous",
            Self::BrandOriginMismatch => "signature_brand_origin_mismatch",
            Self::ModeMismatch => "mode_mismatch",
        };
        format!("{prefix}_{name}")
    }
}

impl Fault {
    /// Whether the same signature may be believed later: whose it is could not be found out.
    #[must_use]
    pub const fn is_passing(self) -> bool {
        match self {
            Self::JwksUnavailable | Self::BrandJsonUnreachable => true,
            Self::Required
            | Self::HeaderMalformed
            | Self::ParamsIncomplete
            | Self::TagInvalid
            | Self::AlgNotAllowed
            | Self::WindowInvalid
            | Self::ComponentsIncomplete
            | Self::ComponentsUnexpected
            | Self::KeyUnknown
            | Self::KeyPurposeInvalid
            | Self::KeyRevoked
            | Self::RevocationStale
            | Self::RateAbuse
            | Self::Invalid
            | Self::DigestMismatch
            | Self::Replayed
            | Self::TargetMalformed
            | Self::BodyMalformed
            | Self::JwksUntrusted
            | Self::BrandJsonMalformed
            | Self::AgentNotInBrandJson
            | Self::BrandJsonAmbiguous
            | Self::BrandOriginMismatch
            | Self::ModeMismatch => false,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.code(Surface::Request))
    }
}

impl std::error::Error for Fault {}

impl From<Malformed> for Fault {
    fn from(_: Malformed) -> Self {
        Self::HeaderMalformed
    }
}

/// A signature that says of itself what the profile demands. Whether it is one is still to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The name of its key.
    pub keyid: String,
    /// What makes it different from every other of its key.
    pub nonce: String,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Until when it holds.
    pub expires: Timestamp,
    /// Its terms.
    pub input: Input,
    /// The signature.
    pub signature: Vec<u8>,
}

impl Claim {
    /// What is signed, by the message's own account: steps 1 to 6 of the published checklist.
    /// `None` when the message is not signed.
    ///
    /// # Errors
    /// The first step that fails.
    pub fn of(
        message: &Message<'_>,
        surface: Surface,
        digest: Digest,
        has_body: bool,
        now: Timestamp,
    ) -> Result<Option<Self>, Fault> {
        let Some((input, signature)) = http_signature::pick(message)? else { return Ok(None) };
        single(message, &input)?;
        let text = |term: &Option<String>| term.clone().ok_or(Fault::ParamsIncomplete);
        let (nonce, keyid) = (text(&input.nonce)?, text(&input.keyid)?);
        let (alg, tag) = (text(&input.alg)?, text(&input.tag)?);
        let created = input.created.ok_or(Fault::ParamsIncomplete)?;
        let expires = input.expires.ok_or(Fault::ParamsIncomplete)?;
        let random = URL_SAFE_NO_PAD.decode(&nonce).is_ok_and(|bytes| bytes.len() >= NONCE_BYTES);
        if !random || nonce.len() > MAX_TEXT || !(1..=MAX_TEXT).contains(&keyid.len()) {
            return Err(Fault::HeaderMalformed);
        }
        if tag != surface.tag() {
            return Err(Fault::TagInvalid);
        }
        let known = Algorithm::of_http(&alg).filter(|known| ALGORITHMS.contains(known));
        let algorithm = known.ok_or(Fault::AlgNotAllowed)?;
        let moment = |seconds| Timestamp::from_second(seconds).map_err(|_| Fault::WindowInvalid);
        let (created, expires) = (moment(created)?, moment(expires)?);
        if expires <= created
            || expires.duration_since(created) > LONGEST
            || created.duration_since(now) > SKEW
            || now.duration_since(expires) > SKEW
        {
            return Err(Fault::WindowInvalid);
        }
        if !["@method", "@target-uri", "@authority"].iter().all(|name| input.covers(name))
            || has_body && !input.covers("content-type")
        {
            return Err(Fault::ComponentsIncomplete);
        }
        match (digest, input.covers("content-digest")) {
            (Digest::Required, false) if has_body => return Err(Fault::ComponentsIncomplete),
            (Digest::Forbidden, true) => return Err(Fault::ComponentsUnexpected),
            (Digest::Required | Digest::Forbidden | Digest::Either, _) => {}
        }
        Ok(Some(Self { keyid, nonce, algorithm, expires, input, signature }))
    }

    /// Until when its nonce has to be remembered (step 13).
    #[must_use]
    pub fn remembered_until(&self) -> Timestamp {
        // It still holds in the last second of the window.
        let after = SKEW.saturating_add(SignedDuration::from_secs(1));
        self.expires.saturating_add(after).unwrap_or(Timestamp::MAX)
    }

    /// Whether the body is the one that is covered (step 11); also when none is. `sha256` is that
    /// of the body.
    ///
    /// # Errors
    /// That it is another.
    pub fn body(&self, message: &Message<'_>, sha256: &[u8; 32]) -> Result<(), Fault> {
        if !self.input.covers("content-digest") {
            return Ok(());
        }
        let field = message.field("content-digest")?.ok_or(Fault::DigestMismatch)?;
        let digests = http_signature::digests(&field)?;
        let named = digests.iter().find(|(name, _)| *name == "sha-256");
        match named {
            Some((_, digest)) if digest == sha256 => Ok(()),
            Some(_) | None => Err(Fault::DigestMismatch),
        }
    }
}

/// What is covered and is no list has one value: of two, two readers could take different ones.
fn single(message: &Message<'_>, input: &Input) -> Result<(), Fault> {
    if input.covers("content-type") {
        let mut quoted = false;
        let listed = |byte: u8| {
            quoted ^= byte == b'"';
            byte == b',' && !quoted
        };
        let field = message.field("content-type")?;
        if field.is_some_and(|field| field.bytes().any(listed)) {
            return Err(Fault::HeaderMalformed);
        }
    }
    if input.covers("content-digest")
        && let Some(field) = message.field("content-digest")?
    {
        http_signature::digests(&field)?;
    }
    Ok(())
}

/// Whether a key may sign here (step 8): its purposes, and that its parts belong together.
///
/// # Errors
/// That it may not.
pub fn purpose(jwk: &Value, surface: Surface, algorithm: Algorithm) -> Result<(), Fault> {
    let text = |name: &str| jwk.get(name).and_then(Value::as_str);
    let uses = match surface {
        Surface::Request => ["request-signing"].as_slice(),
        // The second is what AdCP 3.0 wanted.
        Surface::Webhook => ["request-signing", "webhook-signing"].as_slice(),
    };
    let operations = jwk.get("key_ops").and_then(Value::as_array);
    let verifies = operations.is_some_and(|all| all.iter().any(|one| one == "verify"));
    let (kty, crv) = algorithm.key_type();
    let fits = text("use") == Some("sig")
        && verifies
        && text("adcp_use").is_some_and(|purpose| uses.contains(&purpose))
        && text("alg") == Some(algorithm.name())
        && (text("kty"), text("crv")) == (Some(kty), crv);
    if fits { Ok(()) } else { Err(Fault::KeyPurposeInvalid) }
}

/// What is to be signed of a message of our own.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'t> {
    /// What it is.
    pub surface: Surface,
    /// The name of the key.
    pub keyid: &'t str,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// At least 128 random bits.
    pub nonce: &'t [u8],
    /// Now.
    pub now: Timestamp,
}

impl Terms<'_> {
    /// The terms as they are sent.
    #[must_use]
    pub fn input(&self, digest: bool) -> Input {
        let mut components = vec!["@method", "@target-uri", "@authority", "content-type"];
        if digest {
            components.push("content-digest");
        }
        let created = self.now.as_second();
        let input = Input {
            text: String::new(),
            components: components.into_iter().map(ToOwned::to_owned).collect(),
            created: Some(created),
            expires: Some(created.saturating_add(LONGEST.as_secs())),
            nonce: Some(URL_SAFE_NO_PAD.encode(self.nonce)),
            keyid: Some(self.keyid.to_owned()),
            alg: Some(self.algorithm.http_name().to_owned()),
            tag: Some(self.surface.tag().to_owned()),
        };
        input.written()
    }
}

/// The values of `Signature-Input` and `Signature`. The bytes are written as AdCP 3.1 does.
#[must_use]
pub fn headers(input: &Input, signature: &[u8]) -> (String, String) {
    let signature = URL_SAFE_NO_PAD.encode(signature);
    (format!("sig1={}", input.text), format!("sig1=:{signature}:"))
}

#[cfg(test)]
mod tests;
