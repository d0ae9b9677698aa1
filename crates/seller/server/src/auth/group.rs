//! Authentication for an agent that passes calls on to a group of others.

use std::fmt;
use std::sync::Arc;

use super::method::{AuthRequest, stronger};
use super::{AuthDeps, AuthRefusal, AuthSettings, Authenticator, Principal, key};
use crate::clock::Clock;
use crate::permission::Scopes;

/// An agent of a group, to which another passes calls on.
pub trait GroupMember: fmt::Debug + Send + Sync {
    /// Returns the authenticator for its callers.
    fn authenticator(&self) -> &Authenticator;
}

impl Authenticator {
    /// Creates an authenticator for an agent that passes calls on to a group of others: it accepts a credential that
    /// one of them accepts, and refuses callers without any where all of them do. Each of the group authenticates the
    /// call again for itself.
    #[must_use]
    pub fn of_group(agent_id: &str, group: Vec<Arc<dyn GroupMember>>, clock: Clock) -> Self {
        let policies = || group.iter().map(|agent| &agent.authenticator().policy);
        let policy = AuthSettings {
            required: policies().all(|policy| policy.required),
            // For the challenge; the keys are those of the group.
            api_keys: policies().any(AuthSettings::takes_bearer),
            jwt: None,
            certificates: policies().flat_map(|policy| policy.certificates.clone()).collect(),
        };
        let means = AuthDeps::offline(Arc::new(key::NoKeys), clock);
        let open = Self::open(agent_id, policy, &means);
        let open = open.unwrap_or_else(|_| unreachable!("without tokens there is no file to read"));
        Self { group, ..open }
    }

    /// Authenticates a request by the agents of the group that accept a credential of its kind; `None` when it has
    /// none. Whoever accepts it first gives the caller its name.
    pub(super) async fn authenticate_by_group(
        &self,
        request: AuthRequest<'_>,
    ) -> Option<Result<Principal, AuthRefusal>> {
        let mut refused: Option<AuthRefusal> = None;
        let members = self.group.iter().map(|agent| agent.authenticator());
        let is_shown = |auth: &&Self| auth.is_shown(request.headers, request.certificate);
        for auth in members.filter(is_shown) {
            // Boxed, because a member may have a group of its own.
            match Box::pin(auth.judge(request)).await {
                Ok(principal) => {
                    let name = format!("{}:{}", auth.agent_id(), principal.name);
                    return Some(Ok(Principal::new(name, Scopes::All)));
                }
                Err(other) => {
                    refused = Some(match refused {
                        Some(earlier) => stronger(earlier, other),
                        None => other,
                    });
                }
            }
        }
        refused.map(Err)
    }
}
