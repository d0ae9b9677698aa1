//! Accounts of advertisers, and the rights on them.
//!
//! The record of an account belongs to the tenant that opened it, and names itself as its account. What is
//! made on an account belongs to the account's owner, even when another tenant made it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;
use tradepost_document::format::hex;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::kept_whole;
use tradepost_document::typed::Typed as _;
use tradepost_document::typed_struct;

use crate::agent::{AccountRights, Billing};
use crate::buy::MediaBuy;
use crate::decision::LastDecision;
use crate::forms::accounts::NotificationConfig;
use crate::money::MoneyAmount;
use crate::profile::PublisherProfile;
use crate::reply::object;
use crate::spending::{self, DaySpending};
use crate::store::{
    EntityRecord, FoundBy, IndexField, IndexTerm, New, StoreRead, StoreTx, Stored, kept, own_id,
};

kept! {
    /// An account.
    pub struct Account: Account by found_by {
        /// Its id.
        account_id: String,
        /// Its name for people.
        name: String,
        /// Status.
        status: AccountStatus,
        /// The advertiser's brand.
        brand: Option<AccountBrand>,
        /// Domain of the operator, which buys for it.
        operator: String,
        /// Party that is billed.
        billing: Billing,
        /// Payment terms that were asked for, when not the default ones.
        payment_terms?: Option<String>,
        /// True when it is for tests.
        sandbox: bool,
        /// Step that is needed before it can be used (`setup` of an account).
        setup?: Option<Value>,
        /// Governance agent that is asked before money is committed.
        governance?: Option<AccountGovernance>,
        /// Subscribers to notifications about it, as given.
        notification_configs?: Option<Vec<Value>>,
        /// Digests of the proofs of those subscribers that have confirmed their subscription.
        proofs?: BTreeSet<String>,
        /// Total spend limit in the account's currency, if there is one.
        funds?: Option<Funds>,
        /// Commitments of the latest day, where they are limited.
        day?: Option<DaySpending>,
        /// Paying entity, as given (`core/business-entity.json`), with its bank, which is never shown.
        billing_entity?: Option<Value>,
        /// Address for notifications of its status (`push_notification_config`), as given.
        push?: Option<Value>,
        /// True when it was not declared, but opened by the first request for it.
        #[serde(default)]
        implicit: bool,
        /// The latest decision of the publisher's staff about it.
        decision?: Option<LastDecision>,
    }

    /// The governance agent of an account.
    #[derive(Eq)]
    pub struct AccountGovernance {
        /// Its endpoint.
        url: String,
        /// The bearer credential that it accepts from us. Never shown.
        credential?: Option<String>,
    }

    /// Spend limit of an account.
    pub struct Funds {
        /// The limit.
        limit: MoneyAmount,
        /// Amount that is committed already.
        committed: MoneyAmount,
        /// Currency (ISO 4217).
        currency: String,
    }

    /// Rights of a tenant on an account. On another's account it has none without this; on its own it has
    /// none beyond this. The record belongs to the tenant, and names the account.
    #[derive(Eq)]
    pub struct AccountGrant: Grant {
        /// The account.
        account_id: String,
        /// Rights of the tenant.
        authorization: AccountRights,
    }
}

typed_struct! {
    /// A brand, as it was given (`core/brand-ref.json`).
    pub struct AccountBrand {
        /// Its domain, or that of its house.
        domain: Option<String>,
        /// Brand within the house.
        brand_id: Option<String>;
        /// As it was given.
        whole given
    }
}

kept_whole!(AccountBrand.given);

/// A subscriber to events of an account.
impl NotificationConfig {
    /// Returns true unless it is paused.
    pub(crate) fn is_active(&self) -> bool {
        self.active.unwrap_or(true)
    }

    /// Returns its event types in alphabetical order.
    pub(crate) fn events(&self) -> Vec<&String> {
        let mut events: Vec<_> = self.event_types.iter().collect();
        events.sort_unstable();
        events
    }

    /// Returns the authentication that it wants on deliveries.
    pub(crate) fn authentication(&self) -> Option<&Value> {
        self.authentication.as_ref().filter(|authentication| !authentication.is_null())
    }

    /// Returns how deliveries are authenticated (`delivery_auth` of `core/webhook-challenge.json`).
    pub(crate) fn delivery_auth(&self) -> Value {
        let Some(asked) = self.authentication() else {
            return json!({"mode": "rfc9421"});
        };
        let credentials = asked.get("credentials").and_then(Value::as_str).unwrap_or_default();
        let mode = asked.get("schemes").and_then(|schemes| schemes.get(0)).cloned();
        // A digest, because the challenge is sent before its reader is known.
        json!({"mode": mode, "credential_fingerprint": hex(&Sha256::digest(credentials))})
    }

    /// Returns a digest of everything that a proof covers: a change of any of it needs a new proof.
    pub(crate) fn proof(&self, account_id: &str) -> String {
        let proven =
            json!([account_id, self.subscriber_id, self.url, self.delivery_auth(), self.events()]);
        hex(&Sha256::digest(canonical::to_string(&proven)))
    }
}

impl AccountGrant {
    /// Grants a tenant these rights on an account, in place of earlier ones.
    ///
    /// # Errors
    /// When the store fails.
    pub fn put(&self, tx: &dyn StoreTx, tenant: &str, now: Timestamp) -> Result<(), InternalError> {
        let id = own_id(tenant, "", &self.account_id);
        let account = Some(self.account_id.as_str());
        tx.add(New { id: &id, owner: tenant, account, state: "", now }, self)
    }
}

tradepost_document::words! {
    /// Status of an account (`account-status`), in the order of its life.
    pub enum AccountStatus {
        /// Waiting for the publisher's approval.
        PendingApproval = "pending_approval",
        /// Ready to be used.
        Active = "active",
        /// Waiting for a payment.
        PaymentRequired = "payment_required",
        /// Paused by the publisher.
        Suspended = "suspended",
        /// Declined by the publisher.
        Rejected = "rejected",
        /// Closed for good.
        Closed = "closed",
    }
}

impl AccountStatus {
    /// Returns true if an account may change to another status (accounts overview, "Account status lifecycle").
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match self {
            Self::PendingApproval => matches!(next, Self::Active | Self::Rejected),
            Self::Active => matches!(next, Self::PaymentRequired | Self::Suspended | Self::Closed),
            Self::PaymentRequired => matches!(next, Self::Active),
            Self::Suspended => matches!(next, Self::Active | Self::Closed),
            Self::Rejected | Self::Closed => false,
        }
    }
}

/// Returns the index terms of an account: its status, whether it is for tests, and its natural key without
/// the brand of a house, which a caller may leave out.
fn found_by(account: &Account, _: Timestamp) -> FoundBy {
    let domain = account.brand_domain().unwrap_or_default();
    FoundBy {
        state: Some(account.status.name()),
        class: if account.sandbox { Account::SANDBOX } else { Account::LIVE }.to_owned(),
        changes_at: None,
        terms: vec![Account::natural_key(domain, &account.operator)],
    }
}

impl Account {
    /// Class of test accounts.
    pub const SANDBOX: &'static str = "sandbox";
    /// Class of all other accounts.
    pub const LIVE: &'static str = "live";

    /// Returns the index term of the accounts of a brand's domain with an operator.
    pub(crate) fn natural_key(domain: &str, operator: &str) -> IndexTerm {
        // Domains have no spaces in them.
        IndexTerm::new(IndexField::NaturalKey, &format!("{domain} {operator}"))
    }

    /// Creates an active account without further data.
    #[must_use]
    pub fn new(account_id: &str, brand: Value, operator: &str, billing: Billing) -> Self {
        let brand = AccountBrand::read(&brand);
        let named = brand.as_ref();
        let domain = named.and_then(|brand| brand.domain.as_deref()).unwrap_or(operator);
        let brand_id = named.and_then(|brand| brand.brand_id.as_deref());
        let brand_name = brand_id.map_or(domain.to_owned(), |id| format!("{id} ({domain})"));
        let direct = domain == operator;
        let name = if direct { brand_name } else { format!("{brand_name} c/o {operator}") };
        Self {
            account_id: account_id.to_owned(),
            name,
            status: AccountStatus::Active,
            brand,
            operator: operator.to_owned(),
            billing,
            payment_terms: None,
            sandbox: false,
            setup: None,
            governance: None,
            notification_configs: None,
            proofs: BTreeSet::new(),
            funds: None,
            day: None,
            billing_entity: None,
            push: None,
            implicit: false,
            decision: None,
        }
    }

    /// Returns the account that a record belongs to.
    pub(crate) fn find_for(
        record: &EntityRecord,
        reader: &dyn StoreRead,
    ) -> Result<Option<Stored<Self>>, InternalError> {
        record.account.as_ref().map_or(Ok(None), |id| reader.find(id))
    }

    /// Stores it as new, and returns it as stored.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(
        self,
        tx: &dyn StoreTx,
        owner: &str,
        now: Timestamp,
    ) -> Result<Stored<Self>, InternalError> {
        let id = self.account_id.clone();
        tx.add(New { id: &id, owner, account: Some(&id), state: "", now }, &self)?;
        tx.find(&id)?.ok_or_else(|| InternalError::new("opening an account", "it is not there"))
    }

    /// Returns its public view (`core/account.json`).
    #[must_use]
    pub fn published(&self) -> Map {
        let is_pending = self.status == AccountStatus::PendingApproval;
        let agent = self.governance.as_ref();
        let configs = self.notification_configs.iter().flatten();
        // Credentials and bank details are never shown again.
        let configs = configs.map(|config| without(config, "/authentication", "credentials"));
        let bankless = |entity| without(entity, "", "bank");
        let mut shown = object([
            ("account_id", Some(json!(self.account_id))),
            ("name", Some(json!(self.name))),
            ("status", Some(json!(self.status))),
            ("brand", Some(json!(self.brand))),
            ("operator", Some(json!(self.operator))),
            ("billing", Some(json!(self.billing))),
            ("billing_entity", self.billing_entity.as_ref().map(bankless)),
            ("payment_terms", Some(json!(self.payment_terms))),
            ("account_scope", Some(self.scope().into())),
            ("setup", self.setup.clone().filter(|_| is_pending)),
            ("governance_agents", agent.map(|agent| json!([{"url": agent.url}]))),
            ("sandbox", Some(self.sandbox.into())),
            ("notification_configs", self.notification_configs.as_ref().map(|_| configs.collect())),
        ]);
        shown.retain(|_, value| !value.is_null());
        shown
    }

    /// Commits more for a buy, or gives something back when the amount is negative. Returns true if any of
    /// that is counted here.
    pub(crate) fn charge(
        &mut self,
        profile: &PublisherProfile,
        buy: &MediaBuy,
        more: MoneyAmount,
        now: Timestamp,
    ) -> bool {
        let limited = more != MoneyAmount::ZERO && spending::is_limited(profile, &buy.currency);
        if limited {
            spending::note(self, &buy.media_buy_id, more, &buy.currency, now);
        }
        if let Some(funds) = &mut self.funds {
            // What is given back may never have been counted, where the limit is newer than the buy.
            funds.committed = (funds.committed + more).max(MoneyAmount::ZERO);
            return true;
        }
        limited
    }

    /// Returns the subscribers to an event, without those that are paused or have proven nothing.
    pub(crate) fn subscribers(&self, event: &str) -> impl Iterator<Item = NotificationConfig> {
        let configs = self.notification_configs.iter().flatten();
        configs.filter_map(NotificationConfig::read).filter(move |subscriber| {
            subscriber.is_active()
                && subscriber.event_types.iter().any(|known| known == event)
                && self.proofs.contains(&subscriber.proof(&self.account_id))
        })
    }

    /// Returns the domain of its brand.
    #[must_use]
    pub fn brand_domain(&self) -> Option<&str> {
        self.brand.as_ref()?.domain.as_deref()
    }

    /// Returns `account_scope`: whether the brand buys by itself, or an operator for it.
    fn scope(&self) -> &'static str {
        if self.brand_domain() == Some(self.operator.as_str()) { "brand" } else { "operator_brand" }
    }

    /// Returns true if it has ended for good, and counts as absent.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.status, AccountStatus::Rejected | AccountStatus::Closed)
    }
}

/// Returns a value without a member of an object in it.
fn without(value: &Value, pointer: &str, name: &str) -> Value {
    let mut value = value.clone();
    if let Some(members) = value.pointer_mut(pointer).and_then(Value::as_object_mut) {
        members.swap_remove(name);
    }
    value
}

#[cfg(test)]
mod tests {
    use tradepost_document::catalog::Vocabulary as _;

    use super::AccountStatus;

    #[test]
    fn an_account_moves_as_published_and_in_no_other_way() {
        let published = [
            "pending_approval>active",
            "pending_approval>rejected",
            "active>payment_required",
            "active>suspended",
            "active>closed",
            "payment_required>active",
            "suspended>active",
            "suspended>closed",
        ];
        let mut found = Vec::new();
        for from in AccountStatus::ALL.iter().copied() {
            for to in AccountStatus::ALL.iter().copied() {
                if from.may_become(to) {
                    found.push(format!("{}>{}", from.name(), to.name()));
                }
            }
        }
        assert_eq!(found, published);
    }
}
