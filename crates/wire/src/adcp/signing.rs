//! How AdCP speaks of signatures: what is signed, what of it, and what a signature is called that is
//! not believed (AdCP 3.1, "Signed requests" and "Webhook callbacks"; the two differ in a tag and in
//! the names of errors).

use crate::algorithm::Algorithm;
use crate::catalog::catalog;

catalog! {
    /// What is signed.
    pub enum Surface {
        /// The tag that keeps the two apart.
        tag: &'static str,
    }
    /// A request to a seller.
    Request = "request" { tag: "adcp/request-signing/v1" }
    /// A webhook of a seller.
    Webhook = "webhook" { tag: "adcp/webhook-signing/v1" }
}

catalog! {
    /// Whether a signature covers the digest of the body (`covers_content_digest`).
    pub enum Digest {}
    /// It has to.
    Required = "required" {}
    /// It must not.
    Forbidden = "forbidden" {}
    /// As the signer likes.
    Either = "either" {}
}

#[expect(clippy::derivable_impls, reason = "a row has no attribute that could say so")]
impl Default for Digest {
    fn default() -> Self {
        Self::Either
    }
}

/// The algorithms of the profile.
pub const ALGORITHMS: [Algorithm; 2] = [Algorithm::EdDsa, Algorithm::Es256];

catalog! {
    /// Why a signature is not believed, in the words of the published table.
    pub enum Fault {
        /// Whether the same signature may be believed later: whose it is could not be found out.
        is_passing: bool,
    }
    /// There is none, and one is needed.
    Required = "signature_required" { is_passing: false }
    /// The headers are not in their form.
    HeaderMalformed = "signature_header_malformed" { is_passing: false }
    /// A term is missing.
    ParamsIncomplete = "signature_params_incomplete" { is_passing: false }
    /// It is for something else.
    TagInvalid = "signature_tag_invalid" { is_passing: false }
    /// Its algorithm is not allowed.
    AlgNotAllowed = "signature_alg_not_allowed" { is_passing: false }
    /// It does not hold now, or holds too long.
    WindowInvalid = "signature_window_invalid" { is_passing: false }
    /// It does not cover enough.
    ComponentsIncomplete = "signature_components_incomplete" { is_passing: false }
    /// It covers what it must not.
    ComponentsUnexpected = "signature_components_unexpected" { is_passing: false }
    /// Nobody known has its key.
    KeyUnknown = "signature_key_unknown" { is_passing: false }
    /// Its key is for something else.
    KeyPurposeInvalid = "signature_key_purpose_invalid" { is_passing: false }
    /// Its key was revoked.
    KeyRevoked = "signature_key_revoked" { is_passing: false }
    /// Nobody knows whether its key was revoked.
    RevocationStale = "signature_revocation_stale" { is_passing: false }
    /// There are too many signatures of its key.
    RateAbuse = "signature_rate_abuse" { is_passing: false }
    /// It is not of this request.
    Invalid = "signature_invalid" { is_passing: false }
    /// The body is another.
    DigestMismatch = "signature_digest_mismatch" { is_passing: false }
    /// It was used before.
    Replayed = "signature_replayed" { is_passing: false }
    /// The address is not one that can be signed, or names another host.
    TargetMalformed = "target_uri_malformed" { is_passing: false }
    /// The body can be read in two ways.
    BodyMalformed = "body_malformed" { is_passing: false }
    /// The signer's keys cannot be had at the moment.
    JwksUnavailable = "signature_jwks_unavailable" { is_passing: true }
    /// The signer's keys are where nothing may be fetched.
    JwksUntrusted = "signature_jwks_untrusted" { is_passing: false }
    /// The signer says nowhere where its keys are.
    BrandJsonUnreachable = "signature_brand_json_unreachable" { is_passing: true }
    /// What says it cannot be read.
    BrandJsonMalformed = "signature_brand_json_malformed" { is_passing: false }
    /// What says it does not know the signer.
    AgentNotInBrandJson = "signature_agent_not_in_brand_json" { is_passing: false }
    /// What says it knows the signer twice.
    BrandJsonAmbiguous = "signature_brand_json_ambiguous" { is_passing: false }
    /// What says it is somebody else's.
    BrandOriginMismatch = "signature_brand_origin_mismatch" { is_passing: false }
    /// A webhook shows whose it is in another way than was agreed on.
    ModeMismatch = "mode_mismatch" { is_passing: false }
}

impl Fault {
    /// Its code on the wire.
    #[must_use]
    pub fn code(self, surface: Surface) -> String {
        format!("{surface}_{self}")
    }
}

impl std::error::Error for Fault {}
