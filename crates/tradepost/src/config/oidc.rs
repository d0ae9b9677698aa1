//! How people sign in to the console with an OpenID provider.

use tradepost_dealer::staff::StaffRole;

use super::delivery::ConfigSecret;

/// The provider, and whom of its people the console lets in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oidc {
    /// What the button says: `Sign in with …`.
    pub label: String,
    /// Its address, exactly as it writes itself.
    pub issuer: String,
    /// Who we are to it.
    pub client_id: String,
    /// How we prove that.
    pub secret: ConfigSecret,
    /// What is asked for, with spaces between; `openid` is in it.
    pub scope: String,
    /// The claim that names somebody.
    pub name_claim: String,
    /// The claim that says what somebody belongs to.
    pub role_claim: String,
    /// What that gives; the first that fits counts.
    pub grants: Vec<RoleGrant>,
}

/// What a value of the claim gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    /// The value.
    pub value: String,
    /// What its people are for.
    pub role: StaffRole,
    /// Whose people they are; every dealer's of the process when `None`.
    pub dealer_id: Option<String>,
}
