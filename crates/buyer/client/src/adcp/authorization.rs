//! Permissions of a caller on an account (`authorization` of `list_accounts`). A seller that sends none
//! decides at the call. An authorization is used for [`REFRESH`] and then read again.
//

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tradepost_adcp::task::{self, AdcpTask};
use tradepost_document::cache::BoundedCache;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value};

use super::AdcpClient;

use crate::retry::{GaveUp, Recoverer, RetryClock};

/// Time for which an authorization is relied on (AdCP, `core/account-authorization`).
pub const REFRESH: Duration = Duration::from_secs(300);

/// Maximum number of accounts that are remembered; beyond it, the one read longest ago is forgotten.
const MAX_KNOWN: usize = 1_000;

/// Permissions of a caller on an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountAuthorization {
    /// Tasks that the caller may call; others are not permitted.
    pub allowed_tasks: Vec<String>,
    /// True when the caller may only read.
    pub read_only: bool,
}

impl AccountAuthorization {
    /// Reads the object; `None` when it has no list `allowed_tasks`.
    #[must_use]
    pub fn read(authorization: &Value) -> Option<Self> {
        let tasks = authorization.get("allowed_tasks")?.as_array()?;
        Some(Self {
            allowed_tasks: tasks.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            read_only: authorization.get("read_only") == Some(&Value::Bool(true)),
        })
    }

    /// Returns true when the caller may call this task.
    #[must_use]
    pub fn permits(&self, task: &str) -> bool {
        let reads =
            AdcpTask::from_name(task).is_some_and(|task| task.effect() == task::TaskEffect::Read);
        self.allowed_tasks.iter().any(|allowed| allowed == task) && (reads || !self.read_only)
    }
}

/// Authorizations of accounts.
#[derive(Debug)]
pub(super) struct KnownAccounts(Mutex<BoundedCache<String, KnownAccount>>);

/// Authorization of an account, with the moment at which it was read.
#[derive(Debug)]
struct KnownAccount {
    read: Duration,
    authorization: Option<AccountAuthorization>,
}

impl Default for KnownAccounts {
    fn default() -> Self {
        Self(Mutex::new(BoundedCache::new(MAX_KNOWN)))
    }
}

impl KnownAccounts {
    fn fresh(&self, account: &str, now: Duration) -> Option<Option<AccountAuthorization>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(account)?;
        (now.saturating_sub(known.read) < REFRESH).then(|| known.authorization.clone())
    }

    fn remember(
        &self,
        account: String,
        now: Duration,
        authorization: Option<AccountAuthorization>,
    ) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(account, KnownAccount { read: now, authorization });
    }

    /// Forgets an account, so that its authorization is read again before the next use.
    pub(super) fn forget(&self, account: &Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&account.to_string());
    }
}

impl AdcpClient {
    /// Returns the seller's permissions on an account, named as in requests (`account`): those read less than
    /// [`REFRESH`] ago by the loop's clock, else read again. `None` when the seller does not send any.
    ///
    /// # Errors
    /// When the account cannot be read.
    pub async fn authorization<W: RetryClock>(
        &self,
        account: &Value,
        recoverer: &Recoverer<W>,
    ) -> Result<Option<AccountAuthorization>, Box<GaveUp>> {
        let name = account.to_string();
        if let Some(known) = self.authorizations.fresh(&name, recoverer.clock().now()) {
            return Ok(known);
        }
        let mut arguments = Map::new();
        arguments.insert("account".to_owned(), account.clone());

        // The moment before the request, because the answer may be as old as that.
        let read = recoverer.clock().now();
        let listed =
            self.call_with_retries("list_accounts", arguments, recoverer, |_, _, _| false).await?;
        let accounts = listed.answer.payload.get("accounts").and_then(Value::as_array);
        let found = accounts.into_iter().flatten().find(|row| is_of(row, account));
        let authorization =
            found.and_then(|row| row.get("authorization")).and_then(AccountAuthorization::read);
        self.authorizations.remember(name, read, authorization.clone());
        Ok(authorization)
    }
}

/// Returns true when a row is the account that a request names, by its id or by its brand and operator.
fn is_of(row: &Value, account: &Value) -> bool {
    if let Some(id) = account.get("account_id") {
        return row.get("account_id") == Some(id);
    }
    let same = |pointer: &str| match (row.pointer(pointer), account.pointer(pointer)) {
        (Some(named), Some(wanted)) => named == wanted,
        (None, Some(_)) => false,
        (_, None) => true,
    };
    // A request that names neither id nor brand matches no account.
    account.get("brand").is_some() && same("/brand/domain") && same("/operator")
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn what_is_not_listed_is_not_permitted() {
        let tasks = json!(["get_media_buys", "create_media_buy"]);
        let all = AccountAuthorization::read(&json!({"allowed_tasks": tasks})).unwrap();
        assert!(all.permits("get_media_buys") && all.permits("create_media_buy"));
        assert!(!all.permits("sync_creatives"));
        let reads = AccountAuthorization::read(&json!({"allowed_tasks": tasks, "read_only": true}));
        let reads = reads.unwrap();
        assert!(reads.permits("get_media_buys") && !reads.permits("create_media_buy"));
        assert_eq!(AccountAuthorization::read(&json!({"read_only": true})), None);
    }

    #[test]
    fn accounts_are_told_apart_by_id_or_brand_and_operator() {
        let row =
            json!({"account_id": "a", "brand": {"domain": "b.example", "x": 1}, "operator": "o"});
        assert!(is_of(&row, &json!({"account_id": "a"})));
        assert!(!is_of(&row, &json!({"account_id": "b", "operator": "o"})));
        assert!(is_of(&row, &json!({"brand": {"domain": "b.example"}, "operator": "o"})));
        assert!(!is_of(&row, &json!({"brand": {"domain": "c.example"}, "operator": "o"})));
        assert!(!is_of(&row, &json!({})));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_grows_old() {
        let known = KnownAccounts::default();
        for n in 0..=MAX_KNOWN {
            known.remember(n.to_string(), Duration::from_secs(n as u64), None);
        }
        let now = Duration::from_secs(MAX_KNOWN as u64);
        assert_eq!(known.fresh("0", now), None);
        assert_eq!(known.fresh(&MAX_KNOWN.to_string(), now), Some(None));
        assert_eq!(known.fresh(&MAX_KNOWN.to_string(), now + REFRESH), None);
    }
}
