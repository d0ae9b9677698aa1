//! Settings for sign-in to the console with an OpenID provider.

use tradepost_dealer::staff::StaffRole;

use super::delivery::ConfigSecret;

/// OpenID provider, and the people whom the console admits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oidc {
    /// Name on the button: `Sign in with …`.
    pub label: String,
    /// Issuer address, exactly as the provider writes it.
    pub issuer: String,
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub secret: ConfigSecret,
    /// Requested scopes, separated by spaces; `openid` is among them.
    pub scope: String,
    /// Claim that identifies the person.
    pub name_claim: String,
    /// Claim with the person's groups or roles.
    pub role_claim: String,
    /// Roles that values of the claim grant; the first match counts.
    pub grants: Vec<RoleGrant>,
}

/// Role that a value of the claim grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleGrant {
    /// Value of the claim.
    pub value: String,
    /// Role of the person.
    pub role: StaffRole,
    /// Dealer or publisher whose staff they are; all dealers of the process when `None`.
    pub dealer_id: Option<String>,
}
