//! Cache of answers: the same request gets the same answer while nothing changes that the answer depends on.
//! That is the store, by its version; the profile with the catalogue; the availability at the ad server; and
//! the time, for which a reply says until when it holds ([`ReplyLifetime`]). Caller and arguments have to be equal to
//! the letter.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jiff::Timestamp;
use tradepost_adcp::{AdcpAnswer, AdcpTool};
use tradepost_document::cache::BoundedCache;
use tradepost_document::json::{Value, to_string};

use crate::idempotency;
use crate::profile::PublisherProfile;
use crate::reply::ReplyLifetime;
use crate::tool_call::AdcpToolCall;

/// Maximum number of cached answers for one principal.
const MAX_ANSWERS_PER_PRINCIPAL: usize = 32;

/// Maximum size of all cached answers in bytes.
const BYTES: usize = 16 * 1024 * 1024;

/// Approximate size of an answer without its texts, in bytes.
const BASE_SIZE: usize = 1_024;

/// Maximum ratio of the size of arguments in memory to that of their text: an empty object has it.
const MEMORY_RATIO: usize = 64;

/// Member that belongs to one request, and comes back with its answer.
const CONTEXT: &str = "context";

/// Returns true if the answer to a request may be cached. A request with a key has an effect, one with an
/// address is checked anew, one with the token of a list must not stay in memory, and refining goes on from
/// the last answer. A `context` that is not repeated is checked with everything else.
pub(crate) fn is_for(call: &AdcpToolCall) -> bool {
    const APART: [&str; 4] =
        [idempotency::MEMBER, "property_list", "push_notification_config", "refine"];
    call.tool == AdcpTool::GetProducts
        && call.arguments.iter().all(|(name, value)| match name.as_str() {
            CONTEXT => call.may_repeat(value),
            name => !APART.contains(&name),
        })
}

/// Returns true if two requests ask the same, to the last digit and in the same order.
fn asks_the_same(one: &AdcpToolCall, other: &AdcpToolCall) -> bool {
    fn members(call: &AdcpToolCall) -> impl Iterator<Item = (&String, &Value)> {
        call.arguments.iter().filter(|(name, _)| *name != CONTEXT)
    }
    one.tool == other.tool && one.caller == other.caller && are_same(members(one), members(other))
}

fn are_same<'a>(
    mut some: impl Iterator<Item = (&'a String, &'a Value)>,
    mut others: impl Iterator<Item = (&'a String, &'a Value)>,
) -> bool {
    let is_next =
        |(name, value)| others.next().is_some_and(|(n, v)| name == n && is_same(value, v));
    some.all(is_next) && others.next().is_none()
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => are_same(one.iter(), other.iter()),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    }
}

/// Dependencies of a cached answer, apart from the request and from what the reply says itself.
#[derive(Debug, Clone)]
pub(crate) struct CacheDeps {
    /// Version of the store, from before it was read.
    pub version: u64,
    /// Publisher with its catalogue. The weak pointer keeps its address from being reused.
    pub profile: Weak<PublisherProfile>,
}

/// A cached answer with its dependencies.
#[derive(Debug)]
pub(crate) struct CachedResponse {
    /// Request, without its `context`.
    call: AdcpToolCall,
    deps: CacheDeps,
    lifetime: ReplyLifetime,
    /// Answer, without what belongs to one request.
    pub answer: AdcpAnswer,
    size: usize,
}

impl CachedResponse {
    /// Returns true if it would be the same now, apart from the availability at the ad server.
    pub(crate) fn holds(&self, deps: &CacheDeps, now: Timestamp) -> bool {
        self.deps.version == deps.version
            && self.deps.profile.ptr_eq(&deps.profile)
            // Clocks can be set back, too.
            && (self.call.now..self.lifetime.until).contains(&now)
    }

    /// Returns true if it was given while these products were sold out at the ad server.
    pub(crate) fn is_of(&self, sold_out: &[String]) -> bool {
        self.lifetime.sold_out == sold_out
    }
}

/// Recent answers.
#[derive(Debug)]
pub(crate) struct ResponseCache(Mutex<ResponseCacheState>);

/// Answers of each principal, the oldest first. The principal that came longest ago makes room for others.
type ResponseCacheState = BoundedCache<String, VecDeque<Arc<CachedResponse>>>;

impl Default for ResponseCache {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(BYTES)))
    }
}

impl ResponseCache {
    fn with<T>(&self, work: impl FnOnce(&mut ResponseCacheState) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the latest answer to the same request.
    pub(crate) fn find(&self, call: &AdcpToolCall) -> Option<Arc<CachedResponse>> {
        self.with(|state| {
            let mut own = state.get(&call.caller.principal)?.iter();
            own.find(|cached| asks_the_same(&cached.call, call)).cloned()
        })
    }

    /// Keeps the answer to a request, in place of an earlier one.
    pub(crate) fn keep(
        &self,
        mut call: AdcpToolCall,
        deps: CacheDeps,
        lifetime: ReplyLifetime,
        answer: &AdcpAnswer,
    ) {
        let Some(answer) = answer.begun() else { return };
        call.arguments.shift_remove(CONTEXT);
        let text = answer.beginning.as_ref().map_or(0, |text| text.size());
        let asked = to_string(&call.arguments).map_or(0, |text| text.len());
        let size = BASE_SIZE + text + MEMORY_RATIO * asked;
        // A single answer must not push out those of all others.
        if size > BYTES / MAX_ANSWERS_PER_PRINCIPAL {
            return;
        }
        let cached = CachedResponse { call, deps, lifetime, answer, size };
        self.with(|state| insert(state, cached));
    }
}

fn insert(state: &mut ResponseCacheState, cached: CachedResponse) {
    let principal = cached.call.caller.principal.clone();
    let mut own = state.remove(&principal).unwrap_or_default();
    let before = own.iter().position(|other| asks_the_same(&other.call, &cached.call));
    // A busy caller pushes out its own answers and no others.
    let before = before.or_else(|| (own.len() >= MAX_ANSWERS_PER_PRINCIPAL).then_some(0));
    before.and_then(|place| own.remove(place));
    own.push_back(Arc::new(cached));
    let bytes = own.iter().map(|cached| cached.size).sum();
    state.insert_weighed(principal, own, bytes);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tradepost_adcp::AdcpTaskStatus;
    use tradepost_document::json::{Map, json};

    use super::*;
    use crate::tool_call::BuyerCaller;

    fn call(principal: &str, arguments: &str) -> AdcpToolCall {
        let arguments: Map = tradepost_document::json::from_str(arguments).unwrap();
        let caller = BuyerCaller { principal: principal.to_owned(), agent: None };
        let credential = None;
        let now = Timestamp::UNIX_EPOCH;
        AdcpToolCall {
            tool: AdcpTool::GetProducts,
            arguments,
            caller,
            credential,
            now,
            elapsed: Duration::ZERO,
        }
    }

    fn question(principal: &str, brief: &str) -> AdcpToolCall {
        call(principal, &json!({"buying_mode": "brief", "brief": brief}).to_string())
    }

    fn keep(cache: &ResponseCache, call: AdcpToolCall, message: &str) {
        let deps = CacheDeps { version: 1, profile: Weak::new() };
        let lifetime = ReplyLifetime { until: Timestamp::MAX, sold_out: Vec::new() };
        let mut answer = AdcpAnswer::failed(crate::refusals::unsupported(), Vec::new());
        answer.standing = AdcpTaskStatus::Completed;
        answer.errors.clear();
        answer.message = message.to_owned();
        cache.keep(call, deps, lifetime, &answer);
    }

    #[test]
    fn requests_are_the_same_but_for_their_context() {
        let plain = call("a", r#"{"brief":"x","n":[1,{"a":1,"b":2}]}"#);
        let asks_it = |principal, arguments| {
            let one = &plain;
            let other = call(principal, arguments);
            assert_eq!(asks_the_same(one, &other), asks_the_same(&other, one));
            is_for(&other) && asks_the_same(one, &other)
        };
        assert!(asks_it("a", r#"{"brief":"x","n":[1,{"a":1,"b":2}]}"#));
        assert!(asks_it("a", r#"{"context":{"c":1},"brief":"x","n":[1,{"a":1,"b":2}]}"#));
        assert!(!asks_it("b", r#"{"brief":"x","n":[1,{"a":1,"b":2}]}"#));
        for other in [
            r#"{"brief":"x","n":[1.0,{"a":1,"b":2}]}"#,
            r#"{"brief":"x","n":[1,{"b":2,"a":1}]}"#,
            r#"{"brief":"x","n":[1,{"a":1}]}"#,
            r#"{"brief":"x","n":[1]}"#,
            r#"{"n":[1,{"a":1,"b":2}],"brief":"x"}"#,
            r#"{"brief":"x"}"#,
            r#"{"brief":"x","n":[1,{"a":1,"b":2}],"m":null}"#,
            r#"{"brief":"X","n":[1,{"a":1,"b":2}]}"#,
        ] {
            assert!(!asks_it("a", other), "{other}");
        }
    }

    #[test]
    fn what_has_effect_or_names_a_secret_is_not_kept() {
        assert!(is_for(&call("a", r#"{"context":{"c":"d"}}"#)));
        for apart in [
            r#"{"context":"c"}"#,
            r#"{"context":{"api_key":"c"}}"#,
            r#"{"idempotency_key":"k"}"#,
            r#"{"push_notification_config":{}}"#,
            r#"{"property_list":{"auth_token":"t"}}"#,
            r#"{"refine":[]}"#,
        ] {
            assert!(!is_for(&call("a", apart)), "{apart}");
        }
        assert!(!is_for(&AdcpToolCall { tool: AdcpTool::GetSignals, ..call("a", "{}") }));
    }

    #[test]
    fn a_busy_caller_pushes_out_only_its_own_answers() {
        let cache = ResponseCache::default();
        let find = |principal, brief: &str| {
            cache.find(&question(principal, brief)).map(|cached| cached.answer.message.clone())
        };
        keep(&cache, question("quiet", "q"), "1");
        for number in 0..MAX_ANSWERS_PER_PRINCIPAL + 5 {
            keep(&cache, question("loud", &number.to_string()), "2");
        }
        assert_eq!(find("quiet", "q").as_deref(), Some("1"));
        assert_eq!((find("loud", "4"), find("loud", "5").as_deref()), (None, Some("2")));
        keep(&cache, question("loud", "5"), "3");
        assert_eq!(find("loud", "5").as_deref(), Some("3"), "the newer one stands for the older");
        assert_eq!(find("loud", "6").as_deref(), Some("2"), "and pushes nothing out");
        let (sum, bytes) = cache.with(|state| {
            let cached = state.iter().flat_map(|(_, own)| own).map(|cached| cached.size);
            (cached.sum::<usize>(), state.weight())
        });
        assert_eq!(sum, bytes);
    }

    #[test]
    fn memory_is_bounded_by_what_the_answers_weigh() {
        let cache = ResponseCache::default();
        keep(&cache, question("a", "huge"), &"x".repeat(BYTES / MAX_ANSWERS_PER_PRINCIPAL));
        assert!(cache.find(&question("a", "huge")).is_none());
        let large = "x".repeat(BYTES / MAX_ANSWERS_PER_PRINCIPAL / 4);
        for number in 0..200 {
            keep(&cache, question(&number.to_string(), "b"), &large);
            assert!(cache.with(|state| state.weight()) <= BYTES);
        }
        assert!(cache.find(&question("199", "b")).is_some());
        assert!(cache.find(&question("0", "b")).is_none());
    }
}
