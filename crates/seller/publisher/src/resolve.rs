//! Resolve, then authorize: the only way to an entity by its id. An absent entity and another tenant's are
//! the same value, the same bytes and the same work, so that no caller learns which ids exist (AdCP 3.1
//! `error-handling`; `U-1` to `U-10`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use tradepost_adcp::error::AdcpCode;
use tradepost_adcp::{AccountNeed, AdcpTool};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::fault::InternalError;

use crate::account::{Account, AccountGrant};
use crate::admit::gates;
use crate::agent::{AccountRights, BuyerAgent};
use crate::forms::products::BrandRef;
use crate::profile::Onboarding;
use crate::refusals::{self, ToolError};
use crate::store::index::arranged;
use crate::store::{
    CountedPage, Entity, EntityOwner, EntityRecord, IndexField, Query, StoreRead, Stored, own_id,
};
use crate::tool_call::{AdcpToolCall, BuyerCaller};

/// Entities that a caller can reach with the tool that it calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallerReach {
    /// The tenant.
    pub tenant: String,
    /// Accounts of others with which it may do this.
    pub accounts: Vec<String>,
    /// Its own accounts with which it may not do this.
    restricted: Vec<String>,
    /// Account that the request is for, and whose gates it has passed.
    named: Option<String>,
    /// Rights by account.
    rights: Rights,
}

/// Rights of a caller on accounts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rights {
    tool: AdcpTool,
    need: AccountNeed,
    agent: Option<Arc<BuyerAgent>>,
    grants: BTreeMap<String, AccountRights>,
}

impl Rights {
    /// Reads the rights of the caller of a request. One list is read, whatever the request names.
    pub(crate) fn read(
        call: &AdcpToolCall,
        tenant: &str,
        reader: &dyn StoreRead,
    ) -> Result<Self, InternalError> {
        let need = gates::need(call.tool, &call.arguments);
        let agent = call.caller.agent.clone();
        Ok(Self { tool: call.tool, need, agent, grants: granted(tenant, reader)? })
    }

    /// Reads the rights of a caller for finding out what it may do, whatever it calls.
    pub(crate) fn read_for_caller(
        caller: &BuyerCaller,
        tenant: &str,
        reader: &dyn StoreRead,
    ) -> Result<Self, InternalError> {
        let tool = AdcpTool::ListAccounts;
        let need = AdcpTool::ListAccounts.need();
        let agent = caller.agent.clone();
        let grants = granted(tenant, reader)?;
        Ok(Self { tool, need, agent, grants })
    }

    /// Returns the rights on an account; for `None`, those on accounts without a grant. A result of `None`
    /// permits everything.
    pub(crate) fn on_account(&self, account: Option<&str>) -> Option<&AccountRights> {
        let granted = account.and_then(|id| self.grants.get(id));
        granted.or_else(|| self.agent.as_ref().and_then(|agent| agent.scope.as_ref()))
    }

    /// Returns the agent, when its identity is established.
    pub(crate) fn agent(&self) -> Option<&BuyerAgent> {
        self.agent.as_deref()
    }

    /// Checks that the tool may be called for an account.
    pub(crate) fn permit(&self, account: Option<&str>) -> Result<(), ToolError> {
        gates::scope(self.tool, self.on_account(account), account)
    }

    /// Returns true if the tool may be called for an account without looking at its fields.
    fn permits_freely(&self, account: &str) -> bool {
        let scopes = self.on_account(Some(account)).map(|granted| &granted.field_scopes);
        let narrowed = scopes.is_some_and(|scopes| scopes.contains_key(self.tool.name()));
        self.permit(Some(account)).is_ok() && !narrowed
    }

    /// Checks that an account can be used for the tool. `field` is what named it.
    pub(crate) fn usable(&self, account: &Account, field: &str) -> Result<(), ToolError> {
        gates::sandbox_only(self.agent(), account.sandbox)?;
        gates::status(self.need, account, field)
    }

    /// Returns the account with this id, if it is the caller's or granted to it.
    pub(crate) fn account_by_id(
        &self,
        tenant: &str,
        id: &str,
        reader: &dyn StoreRead,
    ) -> Result<Option<Stored<Account>>, InternalError> {
        let found = reader.owner_of(Account::KIND, id)?;
        let is_there = found.is_some();
        let owner = found.unwrap_or_default();
        // `|` and not `||`: both are evaluated whatever the first gives, also for an absent account, so that
        // the time tells nothing (AdCP 3.1 `error-handling`, `U-9`).
        let permitted = (owner.owner == tenant) | self.grants.contains_key(id);
        if is_there && permitted { reader.find(id) } else { Ok(None) }
    }

    /// Returns the accounts that a natural key may mean, in the order of creation.
    pub(crate) fn accounts_led_to_by(
        &self,
        key: &NaturalKey,
        tenant: &str,
        reader: &dyn StoreRead,
    ) -> Result<Vec<Stored<Account>>, InternalError> {
        let term = Account::natural_key(&key.domain, &key.operator);
        let query = Query::with_owner(tenant).led_to_by(term.field, &term.value);
        let mut accounts = reader.all::<Account>(&query)?;
        accounts.extend(self.granted(tenant, reader)?);
        accounts.retain(|account| key.may_mean(&account.thing));
        accounts.sort_by_key(|account| account.record.place);
        Ok(accounts)
    }

    /// Returns the accounts of others that were granted to the caller.
    pub(crate) fn granted(
        &self,
        tenant: &str,
        reader: &dyn StoreRead,
    ) -> Result<Vec<Stored<Account>>, InternalError> {
        let mut accounts = Vec::new();
        for id in self.grants.keys() {
            let account = reader.find::<Account>(id)?;
            accounts.extend(account.filter(|account| account.record.owner != tenant));
        }
        Ok(accounts)
    }

    /// Returns the account that a reference means (`core/account-ref.json`): by its id, or by brand, operator
    /// and whether it is for tests. `None` when there is none that is the caller's or granted to it.
    ///
    /// # Errors
    /// `ACCOUNT_AMBIGUOUS` at `field`.
    pub(crate) fn account(
        &self,
        tenant: &str,
        reference: &Reference,
        field: &str,
        reader: &dyn StoreRead,
    ) -> Result<Option<Stored<Account>>, ToolError> {
        if let Some(id) = reference.account_id.as_deref() {
            return Ok(self.account_by_id(tenant, id, reader)?);
        }
        let key = NaturalKey::from_reference(reference);
        let mut accounts = self.accounts_led_to_by(&key, tenant, reader)?;
        // Ended accounts are meant only when there is no other.
        if accounts.iter().any(|account| !account.thing.is_over()) {
            accounts.retain(|account| !account.thing.is_over());
        } else {
            // The one that was made last stands for all of them: ended accounts are never ambiguous.
            accounts.drain(..accounts.len().saturating_sub(1));
        }
        // A reference without the brand of a house may mean the account without one, if there is such.
        if accounts.iter().any(|account| key.is(&account.thing)) {
            accounts.retain(|account| key.is(&account.thing));
        }
        let account = accounts.pop();
        if accounts.is_empty() {
            return Ok(account);
        }
        let message = "several accounts fit; name one by its account_id";
        Err(refusals::at(AdcpCode::AccountAmbiguous, field, message).into())
    }
}

/// Returns the rights that a tenant was granted, by account.
fn granted(
    tenant: &str,
    reader: &dyn StoreRead,
) -> Result<BTreeMap<String, AccountRights>, InternalError> {
    let query = Query { owner: Some(tenant.to_owned()), ..Query::default() };
    let grants = reader.all::<AccountGrant>(&query)?.into_iter();
    Ok(grants.map(|stored| (stored.thing.account_id, stored.thing.authorization)).collect())
}

tradepost_document::typed_struct! {
    /// Reference to an account (`core/account-ref.json`): its id, or its natural key.
    pub(crate) struct Reference {
        account_id: Option<String>,
        brand: Option<BrandRef>,
        operator: Option<String>,
        sandbox: Option<bool>;
        keep
        /// Members that name the account, to be repeated.
        identity: ["brand", "operator", "sandbox"];
        whole sent
    }
}

/// Natural key of an account, which names it without its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NaturalKey {
    /// The domain of the brand.
    pub domain: String,
    /// The brand within its house.
    pub brand_id: Option<String>,
    /// The domain of the operator.
    pub operator: String,
    /// True when the account is for tests.
    pub sandbox: bool,
}

impl NaturalKey {
    /// Returns the natural key of a reference.
    pub(crate) fn from_reference(reference: &Reference) -> Self {
        let Reference { brand, operator, sandbox, .. } = reference;
        Self::new(brand.as_ref(), operator.as_deref(), *sandbox)
    }

    /// Creates a natural key of these members, as references and rows about accounts have them.
    pub(crate) fn new(
        brand: Option<&BrandRef>,
        operator: Option<&str>,
        sandbox: Option<bool>,
    ) -> Self {
        Self {
            domain: brand.and_then(|brand| brand.domain.clone()).unwrap_or_default(),
            brand_id: brand.and_then(|brand| brand.brand_id.clone()),
            operator: operator.unwrap_or_default().to_owned(),
            sandbox: sandbox.unwrap_or_default(),
        }
    }

    /// Returns true if it names a house of several brands, and none of them: no account is opened
    /// for it (`BRAND_REQUIRED`; AdCP 3.1 `error-handling`, `B-7`).
    pub(crate) fn lacks_brand(&self, onboarding: &Onboarding) -> bool {
        self.brand_id.is_none() && onboarding.houses.contains(&self.domain)
    }

    /// Returns true if it is exactly the account's own.
    pub(crate) fn is(&self, account: &Account) -> bool {
        let brand_id = account.brand.as_ref().and_then(|brand| brand.brand_id.as_ref());
        self.may_mean(account) && self.brand_id.as_ref() == brand_id
    }

    /// Returns true if it may mean the account: without the brand of a house it means any.
    pub(crate) fn may_mean(&self, account: &Account) -> bool {
        let brand_id = account.brand.as_ref().and_then(|brand| brand.brand_id.as_ref());
        account.brand_domain() == Some(self.domain.as_str())
            && (self.brand_id.is_none() || self.brand_id.as_ref() == brand_id)
            && account.operator == self.operator
            && account.sandbox == self.sandbox
    }
}

impl CallerReach {
    /// Creates the reach of a caller with these rights from the account that it names, if any.
    pub(crate) fn new(tenant: String, rights: Rights, named: Option<&Stored<Account>>) -> Self {
        let named_id = named.map(|account| account.record.id.clone());
        let foreign = named.filter(|account| account.record.owner != tenant);
        let foreign_id = foreign.map(|account| account.record.id.clone());
        let mut accounts: Vec<_> = foreign_id.into_iter().collect();
        let mut restricted = Vec::new();
        for id in rights.grants.keys().filter(|id| Some(*id) != named_id.as_ref()) {
            // The owner does not matter: the caller's own are reached anyway, unless they are restricted.
            let list = if rights.permits_freely(id) { &mut accounts } else { &mut restricted };
            list.push(id.clone());
        }
        Self { tenant, accounts, restricted, named: named_id, rights }
    }

    /// Returns the rights of the caller.
    pub(crate) fn rights(&self) -> &Rights {
        &self.rights
    }

    /// Returns true if an entity is the caller's. Called for absent entities too, so that they cost the same
    /// decision.
    fn permits(&self, owner: &EntityOwner) -> bool {
        let within = |ids: &[String]| owner.account.as_ref().is_some_and(|id| ids.contains(id));
        let is_own = owner.owner == self.tenant;
        let is_shared = within(&self.accounts);
        let is_restricted = within(&self.restricted);
        // All are computed before any decides.
        (is_own | is_shared) & !is_restricted
    }

    /// Finds the caller's entity with this id, to read it. To change it, [`require`](Self::require) it.
    pub(crate) fn find<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        id: &str,
    ) -> Result<Option<Stored<T>>, InternalError> {
        let found = reader.owner_of(T::KIND, id)?;
        let is_there = found.is_some();
        let permitted = self.permits(&found.unwrap_or_default());
        if is_there && permitted { reader.find(id) } else { Ok(None) }
    }

    /// Finds the caller's entities with these ids, to read them, by one look into the store. For ids from
    /// records that the caller reaches; see [`get_many`](StoreRead::get_many).
    pub(crate) fn find_many<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        ids: &BTreeSet<String>,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        let mut found = reader.find_many::<T>(ids)?;
        found.retain(|stored| {
            let EntityRecord { owner, account, .. } = &stored.record;
            self.permits(&EntityOwner { owner: owner.clone(), account: account.clone() })
        });
        Ok(found)
    }

    /// Finds the caller's entity with this id, or refuses with this code. `field` is the member that named
    /// it; see [`refusals::not_found`]. When it belongs to another account than the one that the request names,
    /// that account has to be usable for the tool too.
    pub(crate) fn require<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        id: &str,
        code: AdcpCode,
        field: Option<&str>,
    ) -> Result<Stored<T>, ToolError> {
        let found: Stored<T> =
            self.find(reader, id)?.ok_or_else(|| refusals::not_found(code, field))?;
        if let Some(id) =
            found.record.account.as_ref().filter(|id| self.named.as_ref() != Some(*id))
            && let Some(account) = reader.find::<Account>(id)?
        {
            self.rights.usable(&account.thing, "account")?;
        }
        Ok(found)
    }

    /// Returns a page of what the caller reaches as it is at a moment, of one account when it is named. The
    /// owner and the account of the query are filled in here.
    pub(crate) fn page<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        account: Option<&str>,
        query: &Query,
        now: Timestamp,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        let queries = self.queries(reader, account, query)?;
        if let [only] = queries.as_slice() {
            return reader.page(only, now);
        }
        let mut found = Vec::new();
        for query in queries {
            found.extend(reader.page::<T>(&query.whole_beginning(), now)?);
        }
        Ok(arranged(found, query))
    }

    /// Returns a page likewise, with the counts of the whole list by state and class.
    pub(crate) fn counted_page<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        account: Option<&str>,
        query: &Query,
        now: Timestamp,
    ) -> Result<CountedPage<T>, InternalError> {
        let queries = self.queries(reader, account, query)?;
        if let [only] = queries.as_slice() {
            return reader.counted_page(only, now);
        }
        let mut found = Vec::new();
        let mut tallies = Vec::new();
        for query in queries {
            let part = reader.counted_page::<T>(&query.whole_beginning(), now)?;
            found.extend(part.items);
            tallies.extend(part.tallies);
        }
        Ok(CountedPage { items: arranged(found, query), tallies })
    }

    /// Returns the queries that together find what the caller reaches, each entity in one of them: what its
    /// tenant owns, and what belongs to each account of others that was granted to it.
    fn queries(
        &self,
        reader: &dyn StoreRead,
        account: Option<&str>,
        query: &Query,
    ) -> Result<Vec<Query>, InternalError> {
        let own = Query {
            owner: Some(self.tenant.clone()),
            account: account.map(ToOwned::to_owned),
            except_accounts: self.restricted.clone(),
            ..query.clone()
        };
        let mut queries = vec![own];
        for id in self.accounts.iter().filter(|id| account.is_none_or(|account| account == *id)) {
            // An entity on an account belongs to the owner of the account.
            let found = reader.owner_of(Account::KIND, id)?;
            if let Some(found) = found.filter(|found| found.owner != self.tenant) {
                let owner = Some(found.owner);
                let account = Some(id.clone());
                let except_accounts = Vec::new();
                queries.push(Query { owner, account, except_accounts, ..query.clone() });
            }
        }
        Ok(queries)
    }

    /// Finds the caller's entity by the id that its buyer chose, on any account: first on that of `near`, and
    /// then on every other. A miss looks for it among everything that the caller reaches.
    pub(crate) fn chosen<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        near: Option<&EntityRecord>,
        id: &str,
    ) -> Result<Option<Stored<T>>, InternalError> {
        if let Some(near) = near
            && let Some(account) = &near.account
            && let Some(found) = self.find::<T>(reader, &own_id(&near.owner, account, id))?
        {
            return Ok(Some(found));
        }
        let query = Query::default().led_to_by(IndexField::ChosenId, id);
        Ok(self.all(reader, &query)?.into_iter().next())
    }

    /// Returns all entities of a type that the caller reaches, in the order of creation: what its tenant
    /// owns, and what belongs to accounts that were granted to it. The owner and the account of the query are
    /// filled in here.
    pub(crate) fn all<T: Entity>(
        &self,
        reader: &dyn StoreRead,
        query: &Query,
    ) -> Result<Vec<Stored<T>>, InternalError> {
        let mut found = Vec::new();
        // Each query names its owner, so that nothing of others is read.
        for query in self.queries(reader, None, query)? {
            found.extend(reader.all::<T>(&query)?);
        }
        found.sort_by_key(|stored| stored.record.place);
        Ok(found)
    }
}
