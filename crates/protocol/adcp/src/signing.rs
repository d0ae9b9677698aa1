//! The vocabulary of AdCP signatures: the signed messages, the covered body digest, and the error
//! codes for rejected signatures (AdCP 3.1, "Signed requests" and "Webhook callbacks"; the two
//! profiles differ in a tag and in the names of errors).

use tradepost_document::algorithm::Algorithm;
use tradepost_document::catalog::catalog;

catalog! {
    /// A kind of signed message.
    pub enum SignedKind {
        /// The `tag` parameter that separates the two profiles.
        tag: &'static str,
    }
    /// A request to a seller.
    Request = "request" { tag: "adcp/request-signing/v1" }
    /// A webhook from a seller.
    Webhook = "webhook" { tag: "adcp/webhook-signing/v1" }
}

catalog! {
    /// The rule for covering the digest of the body (`covers_content_digest`).
    pub enum DigestRule {}
    /// The signature must cover it.
    Required = "required" {}
    /// The signature must not cover it.
    Forbidden = "forbidden" {}
    /// The signer decides.
    Either = "either" {}
}

#[expect(clippy::derivable_impls, reason = "a row has no attribute that could say so")]
impl Default for DigestRule {
    fn default() -> Self {
        Self::Either
    }
}

/// The algorithms of the profile.
pub const ALGORITHMS: [Algorithm; 2] = [Algorithm::EdDsa, Algorithm::Es256];

catalog! {
    /// The reasons for rejecting a signature, by the names of the published table.
    pub enum SignatureError {
        /// True when the same signature may be accepted later, because the signer's identity could
        /// not be established for now.
        is_transient: bool,
    }
    /// A signature is needed and absent.
    Required = "signature_required" { is_transient: false }
    /// The headers are malformed.
    HeaderMalformed = "signature_header_malformed" { is_transient: false }
    /// A parameter is missing.
    ParamsIncomplete = "signature_params_incomplete" { is_transient: false }
    /// The tag is that of another profile.
    TagInvalid = "signature_tag_invalid" { is_transient: false }
    /// The algorithm is not allowed.
    AlgNotAllowed = "signature_alg_not_allowed" { is_transient: false }
    /// The signature is not valid at this time, or is valid for too long.
    WindowInvalid = "signature_window_invalid" { is_transient: false }
    /// The signature covers too few components.
    ComponentsIncomplete = "signature_components_incomplete" { is_transient: false }
    /// The signature covers a forbidden component.
    ComponentsUnexpected = "signature_components_unexpected" { is_transient: false }
    /// The key is not known.
    KeyUnknown = "signature_key_unknown" { is_transient: false }
    /// The key is for another purpose.
    KeyPurposeInvalid = "signature_key_purpose_invalid" { is_transient: false }
    /// The key was revoked.
    KeyRevoked = "signature_key_revoked" { is_transient: false }
    /// Revocation of the key cannot be checked.
    RevocationStale = "signature_revocation_stale" { is_transient: false }
    /// The key has made too many signatures.
    RateAbuse = "signature_rate_abuse" { is_transient: false }
    /// The signature does not match the request.
    Invalid = "signature_invalid" { is_transient: false }
    /// The body does not match its digest.
    DigestMismatch = "signature_digest_mismatch" { is_transient: false }
    /// The signature was used before.
    Replayed = "signature_replayed" { is_transient: false }
    /// The address cannot be signed, or names another host.
    TargetMalformed = "target_uri_malformed" { is_transient: false }
    /// The body can be read in two ways.
    BodyMalformed = "body_malformed" { is_transient: false }
    /// The signer's keys cannot be fetched at the moment.
    JwksUnavailable = "signature_jwks_unavailable" { is_transient: true }
    /// The signer's keys are at an address from which nothing may be fetched.
    JwksUntrusted = "signature_jwks_untrusted" { is_transient: false }
    /// The document that names the signer's keys cannot be fetched.
    BrandJsonUnreachable = "signature_brand_json_unreachable" { is_transient: true }
    /// The document that names the signer's keys cannot be read.
    BrandJsonMalformed = "signature_brand_json_malformed" { is_transient: false }
    /// The document that names the signer's keys does not list the signer.
    AgentNotInBrandJson = "signature_agent_not_in_brand_json" { is_transient: false }
    /// The document that names the signer's keys lists the signer twice.
    BrandJsonAmbiguous = "signature_brand_json_ambiguous" { is_transient: false }
    /// The document that names the signer's keys belongs to another party.
    BrandOriginMismatch = "signature_brand_origin_mismatch" { is_transient: false }
    /// A webhook is authenticated in another way than agreed.
    ModeMismatch = "mode_mismatch" { is_transient: false }
}

impl SignatureError {
    /// Returns the error code on the wire, such as `request_signature_invalid`.
    #[must_use]
    pub fn code(self, surface: SignedKind) -> String {
        format!("{surface}_{self}")
    }
}

impl std::error::Error for SignatureError {}
