//! Authentication for an agent that passes calls on to a group of others.

use std::fmt;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;

use super::method::{AuthRequest, strongest};
use super::{AuthDeps, AuthRefusal, AuthSettings, Authenticator, Principal, key};
use crate::clock::Clock;
use crate::limit::LimitKey;
use crate::permission::Scopes;

/// Maximum number of agents of a group that are asked about a credential.
const MAX_ASKED: usize = 1000;

/// Number of agents that are asked at the same time: a token issuer that is slow delays no other agent.
const CONCURRENT: usize = 16;

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
    pub fn from_group(agent_id: &str, group: Vec<Arc<dyn GroupMember>>, clock: Clock) -> Self {
        let policies = || group.iter().map(|agent| &agent.authenticator().policy);
        let policy = AuthSettings {
            required: policies().all(|policy| policy.required),
            // For the challenge; the keys are those of the group.
            api_keys: policies().any(AuthSettings::takes_bearer),
            jwt: None,
            certificates: policies().flat_map(|policy| policy.certificates.clone()).collect(),
        };
        let deps = AuthDeps::offline(Arc::new(key::NoKeys), clock);
        let open = Self::open(agent_id, policy, &deps);
        let open = open.unwrap_or_else(|_| unreachable!("without tokens there is no file to read"));
        Self { group, ..open }
    }

    /// Authenticates a request by the agents of the group that accept a credential of its kind; `None` when it has
    /// none. Whoever accepts it first gives the caller its name. An address that has used up its failures is refused
    /// before any agent looks the credential up, because each guess would be one look-up for each agent.
    // Boxed, because a member may have a group of its own.
    pub(super) fn authenticate_by_group<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Option<Result<Principal, AuthRefusal>>> {
        Box::pin(async move {
            let members = self.group.iter().map(|agent| agent.authenticator());
            let is_shown = |auth: &&Self| auth.is_shown(request.headers, request.certificate);
            let asked: Vec<&Self> = members.filter(is_shown).take(MAX_ASKED).collect();
            if !asked.is_empty()
                && let Some(exceeded) = self.exhausted.find(&LimitKey::address(request.address))
            {
                return Some(Err(AuthRefusal::Limited(exceeded)));
            }
            let judged = asked.into_iter().map(|auth| auth.judge_named(request));
            // Collected, because the compiler does not find out that the closure takes every lifetime.
            let judged: Vec<BoxFuture<'a, _>> = judged.collect();
            let mut judged = futures_util::stream::iter(judged).buffer_unordered(CONCURRENT);
            let mut refused: Option<AuthRefusal> = None;
            while let Some(outcome) = judged.next().await {
                match outcome {
                    Ok(principal) => return Some(Ok(principal)),
                    Err(other) => refused = Some(strongest(refused, other)),
                }
            }
            refused.map(Err)
        })
    }

    /// Authenticates a request, and puts the id of the agent before the name of the caller.
    fn judge_named<'a>(
        &'a self,
        request: AuthRequest<'a>,
    ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
        Box::pin(async move {
            let principal = self.judge(request).await?;
            let name = format!("{}:{}", self.agent_id(), principal.name);
            Ok(Principal::new(name, Scopes::All))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::{HeaderMap, header};
    use jiff::Timestamp;

    use super::super::method::{AuthMethod, NamedScheme};
    use super::*;
    use crate::fault::InternalError;
    use crate::limit::FAILURES;

    /// A store of keys that counts what it is asked.
    #[derive(Debug, Default)]
    struct CountedKeys(AtomicUsize);

    impl key::KeyLookup for CountedKeys {
        fn find(&self, _: &str, _: &str) -> Result<Option<key::ApiKey>, InternalError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(None)
        }

        fn note_use(&self, _: &str, _: jiff::civil::Date) {}
    }

    #[derive(Debug)]
    struct Member(Authenticator);

    impl GroupMember for Member {
        fn authenticator(&self) -> &Authenticator {
            &self.0
        }
    }

    fn headers() -> HeaderMap {
        let shown = key::NewApiKey::generate().unwrap().text;
        HeaderMap::from_iter([(header::AUTHORIZATION, format!("Bearer {shown}").parse().unwrap())])
    }

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    #[tokio::test]
    async fn guesses_beyond_the_failure_limit_are_not_looked_up() {
        const MEMBERS: usize = 5;
        let keys = Arc::new(CountedKeys::default());
        let (clock, manual_clock) = Clock::manual(Timestamp::UNIX_EPOCH);
        let deps = AuthDeps::offline(Arc::clone(&keys) as _, clock.clone());
        let member = |id: usize| {
            let policy = AuthSettings { api_keys: true, ..AuthSettings::default() };
            let auth = Authenticator::open(&format!("dealer{id}"), policy, &deps).unwrap();
            Arc::new(Member(auth)) as Arc<dyn GroupMember>
        };
        let group = Authenticator::from_group("(all)", (0..MEMBERS).map(member).collect(), clock);
        let headers = headers();
        let guess = async || {
            let judged = group.authenticate(ADDRESS, &headers, None, Timestamp::UNIX_EPOCH).await;
            judged.unwrap_err()
        };
        let allowed = usize::try_from(FAILURES.requests).unwrap();
        for _ in 0..allowed {
            assert!(matches!(guess().await, AuthRefusal::Invalid { .. }));
        }
        for _ in 0..100 {
            assert!(matches!(guess().await, AuthRefusal::Limited(_)));
        }
        let looked = || keys.0.load(Ordering::Relaxed);
        assert_eq!(looked(), (allowed + 1) * MEMBERS, "only the first refusal was looked up");
        manual_clock.advance(FAILURES.window);
        assert!(matches!(guess().await, AuthRefusal::Invalid { .. }));
        assert_eq!(looked(), (allowed + 2) * MEMBERS);
    }

    /// A method for every request.
    #[derive(Debug)]
    enum AnyRequest {
        /// Never finds out who calls.
        Silent,
        /// Accepts everybody.
        Friendly,
    }

    impl AuthMethod for AnyRequest {
        fn schemes(&self) -> Vec<NamedScheme> {
            Vec::new()
        }

        fn is_shown(&self, _: &HeaderMap) -> bool {
            true
        }

        fn authenticate<'a>(
            &'a self,
            _: AuthRequest<'a>,
        ) -> BoxFuture<'a, Result<Principal, AuthRefusal>> {
            match self {
                Self::Silent => Box::pin(std::future::pending()),
                Self::Friendly => {
                    Box::pin(std::future::ready(Ok(Principal::new("friend", Scopes::All))))
                }
            }
        }

        fn challenge(&self, _: &str, _: Option<&str>) -> String {
            String::new()
        }
    }

    #[tokio::test]
    async fn a_silent_agent_of_a_group_delays_no_other() {
        let member = |auth| Arc::new(Member(auth)) as Arc<dyn GroupMember>;
        let group = vec![
            member(Authenticator::with_required_method("silent", AnyRequest::Silent)),
            member(Authenticator::with_required_method("friendly", AnyRequest::Friendly)),
        ];
        let group = Authenticator::from_group("(all)", group, Clock::system());
        let headers = HeaderMap::new();
        let found = group.authenticate(ADDRESS, &headers, None, Timestamp::UNIX_EPOCH);
        assert_eq!(found.await.unwrap().name, "friendly:friend");
    }
}
