//! `sync_accounts`: opens accounts by their natural key, changes what may be changed, and closes what
//! is missing. A row that cannot be done is a failed row of a completed task (`B-8`).

use std::collections::BTreeSet;

use tradepost_wire::adcp::error::{AdcpCode, AdcpError};
use tradepost_wire::adcp::rules::typed;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use super::{ToolContext, ToolReply, errors, notifications, proof, shown, tally};
use crate::account::{Account, AccountStatus};
use crate::admit::{self, gates};
use crate::agent::Billing;
use crate::buy::{MediaBuy, MediaBuyStatus as BuyStatus};
use crate::forms::accounts::{AccountRow, SyncAccounts};
use crate::refuse::{self, AdcpRefusal, ToolError};
use crate::reply::object;
use crate::resolve::NaturalKey;
use crate::shelf::{Query, Stored};

/// Replies.
pub(in crate::tools) fn perform(
    work: &ToolContext<'_>,
    form: &SyncAccounts,
) -> Result<ToolReply, ToolError> {
    let tenant = work.admitted.reach.tenant.clone();
    let query = Query { owner: Some(tenant.clone()), ..Query::default() };
    let mut desk = SyncContext {
        work,
        form,
        own: work.shelf.all(&query)?,
        tenant,
        done: BTreeSet::new(),
        place: 0,
    };
    desk.find_named()?;
    let mut rows = Vec::new();
    for (place, row) in form.accounts.iter().enumerate() {
        desk.place = place;
        rows.push(desk.row(row)?);
    }
    if form.delete_missing {
        rows.extend(desk.close_missing()?);
    }
    let message = tally(&rows, "action");
    let body = json!({"accounts": rows, "dry_run"?: form.dry_run.then_some(true)});
    Ok(ToolReply::completed(message, body))
}

/// A request being worked off.
struct SyncContext<'a> {
    work: &'a ToolContext<'a>,
    form: &'a SyncAccounts,
    tenant: String,
    /// The accounts of the tenant, those included that this request opens.
    own: Vec<Stored<Account>>,
    /// Whatever the request has named already, by id, or by natural key while there is none.
    done: BTreeSet<String>,
    /// The place of the row that is being done.
    place: usize,
}

/// An account after its row.
struct SyncedAccount {
    account: Account,
    action: &'static str,
    warnings: Vec<&'static str>,
}

impl SyncContext<'_> {
    /// A row for an account says whose it is, so that an id without an account has none: such ids
    /// refuse the request as a whole.
    fn find_named(&self) -> Result<(), ToolError> {
        let mut absent = Vec::new();
        let rights = self.work.admitted.reach.rights();
        for (index, row) in self.form.accounts.iter().enumerate() {
            let reference = row.account.as_ref().filter(|it| it.account_id.is_some());
            let field = format!("accounts[{index}].account");
            if let Some(reference) = reference
                && rights.account(&self.tenant, reference, &field, self.work.shelf)?.is_none()
            {
                absent.push(refuse::not_found(AdcpCode::AccountNotFound, Some(&field)));
            }
        }
        Ok(AdcpRefusal::of_all(absent)?)
    }

    /// The answer to a row.
    fn row(&mut self, row: &AccountRow) -> Result<Value, ToolError> {
        let (mut identity, done) = match &row.account {
            Some(reference) => {
                let rights = self.work.admitted.reach.rights();
                let found = rights.account(&self.tenant, reference, "account", self.work.shelf);
                match found {
                    Ok(Some(account)) => (identity(&account.thing), self.settings(account, row)),
                    Ok(None) => (reference.identity.clone(), Err(not_provisioned().into())),
                    Err(stop) => (reference.identity.clone(), Err(stop)),
                }
            }
            None => {
                let operator = row.operator.as_deref();
                let key = NaturalKey::new(row.brand.as_ref(), operator, row.sandbox);
                (row.identity.clone(), self.provision(&key, row))
            }
        };
        match done {
            Ok(done) => Ok(self.show(&done)),
            Err(stop) => {
                identity.extend(object([
                    ("action", Some("failed".into())),
                    ("status", Some("rejected".into())),
                    ("errors", Some(errors(self.work, stop)?)),
                ]));
                Ok(Value::Object(identity))
            }
        }
    }

    fn show(&self, done: &SyncedAccount) -> Value {
        let mut row = shown(self.work, &done.account);
        if self.form.dry_run && done.action == "created" {
            // There is no such id: nothing was opened.
            row.shift_remove("account_id");
        }
        let warnings = (!done.warnings.is_empty()).then(|| json!(done.warnings));
        row.extend(object([("action", Some(done.action.into())), ("warnings", warnings)]));
        Value::Object(row)
    }

    /// Opens an account, or brings the one with this key to what the row says.
    fn provision(
        &mut self,
        key: &NaturalKey,
        row: &AccountRow,
    ) -> Result<SyncedAccount, ToolError> {
        let billing =
            row.billing.unwrap_or_else(|| unreachable!("the schema names who can be billed"));
        gates::sandbox_only(self.work.admitted.reach.rights().agent(), key.sandbox)?;
        let mut problems = self.problems(row);
        problems.extend(self.unprovisionable(key, billing));
        AdcpRefusal::of_all(problems)?;
        let known = self.own.iter().find(|it| !it.thing.is_over() && key.is(&it.thing));
        match known.cloned() {
            Some(mut account) => {
                self.work.admitted.reach.rights().permit(Some(&account.record.id))?;
                self.once(&account.record.id)?;
                let before = account.thing.clone();
                account.thing.billing = billing;
                // Declared from now on, and so closed by a sync that leaves it out.
                account.thing.implicit = false;
                self.set(&mut account.thing, row)?;
                self.finish(before, account)
            }
            None => self.create(key, billing, row),
        }
    }

    fn create(
        &mut self,
        key: &NaturalKey,
        billing: Billing,
        row: &AccountRow,
    ) -> Result<SyncedAccount, ToolError> {
        let profile = &self.work.publisher.profile;
        // In a rehearsal the id only tells rows apart that are about one account.
        let id = match self.form.dry_run {
            true => format!("unopened:{key:?}"),
            false => {
                let opened = self.work.prepared.proofs.opened.get(&self.place).cloned();
                opened.unwrap_or_else(|| self.work.publisher.world.fresh_id("acc"))
            }
        };
        self.once(&id)?;
        let brand = row.identity.get("brand").cloned().unwrap_or_default();
        let mut account = Account::new(&id, brand, &key.operator, billing);
        account.sandbox = key.sandbox;
        account.payment_terms = profile.payment_terms.first().cloned();
        admit::await_review(&mut account, profile.onboarding.review.as_ref());
        self.set(&mut account, row)?;
        if !self.form.dry_run {
            let (shelf, now) = (self.work.shelf, self.work.ask.now);
            let kept = account.clone().open(shelf, &self.tenant, now)?;
            self.work.staff_events().note_waiting_account(&kept)?;
            self.own.push(kept);
        }
        Ok(SyncedAccount { account, action: "created", warnings: Vec::new() })
    }

    /// Changes what can be changed of an account that is there.
    fn settings(
        &mut self,
        account: Stored<Account>,
        row: &AccountRow,
    ) -> Result<SyncedAccount, ToolError> {
        let rights = self.work.admitted.reach.rights();
        gates::sandbox_only(rights.agent(), account.thing.sandbox)?;
        rights.permit(Some(&account.record.id))?;
        AdcpRefusal::of_all(self.problems(row))?;
        self.once(&account.record.id)?;
        // What this request has done to it already is in our own list.
        let known = self.own.iter().find(|it| it.record.id == account.record.id);
        let mut account = known.cloned().unwrap_or(account);
        let before = account.thing.clone();
        self.set(&mut account.thing, row)?;
        self.finish(before, account)
    }

    /// What may be set in either way of naming an account.
    fn set(&self, account: &mut Account, row: &AccountRow) -> Result<(), AdcpRefusal> {
        account.payment_terms = row.payment_terms.clone().or(account.payment_terms.take());
        account.billing_entity = row.billing_entity.clone().or(account.billing_entity.take());
        if let Some(configs) = &row.notification_configs {
            if !self.form.dry_run {
                let (proven, missing) = proof::shown(account, configs, &self.work.prepared.proofs);
                AdcpRefusal::of_all(missing)?;
                account.proofs = proven.into_iter().collect();
            }
            let sent = configs.iter().map(|config| Value::Object(config.sent.clone()));
            account.notification_configs = Some(sent.collect());
        }
        // Only of an account that waits is there anything to be told later.
        if account.status == AccountStatus::PendingApproval
            && let Some(push) = &self.form.push_notification_config
        {
            account.push = Some(push.clone());
        }
        Ok(())
    }

    fn finish(
        &mut self,
        before: Account,
        mut account: Stored<Account>,
    ) -> Result<SyncedAccount, ToolError> {
        let changed = account.thing != before;
        if changed && !self.form.dry_run {
            self.work.shelf.change(&mut account, self.work.ask.now)?;
        }
        let action = if changed { "updated" } else { "unchanged" };
        let done = SyncedAccount { account: account.thing.clone(), action, warnings: Vec::new() };
        // The rows after this one work with it as it is now.
        if let Some(known) = self.own.iter_mut().find(|it| it.record.id == account.record.id) {
            *known = account;
        }
        Ok(done)
    }

    /// An account can stand in a request once: which of two rows holds would be chance.
    fn once(&mut self, id: &str) -> Result<(), ToolError> {
        if self.done.insert(id.to_owned()) {
            return Ok(());
        }
        let message = "this account stands in the request twice; name it once";
        Err(refuse::error(AdcpCode::InvalidRequest, message).into())
    }

    /// Closes what the request does not name (`delete_missing`).
    fn close_missing(&mut self) -> Result<Vec<Value>, ToolError> {
        let mut rows = Vec::new();
        for mut account in self.own.clone() {
            // What no sync has ever declared is not missing from this one.
            let known = account.thing.is_over()
                || account.thing.implicit
                || self.done.contains(&account.record.id);
            if known {
                continue;
            }
            let before = account.thing.clone();
            let mut warnings = Vec::new();
            if self.work.admitted.reach.rights().permit(Some(&account.record.id)).is_err() {
                warnings.push("not closed: the caller may not change this account");
            } else if self.is_busy(&account.record.id)? {
                warnings.push("not closed: media buys of this account are not over; cancel them");
            } else {
                account.thing.status = AccountStatus::Closed;
            }
            let done = self.finish(before, account)?;
            rows.push(self.show(&SyncedAccount { warnings, ..done }));
        }
        Ok(rows)
    }

    /// Whether media buys of an account still have something before them.
    fn is_busy(&self, account: &str) -> Result<bool, ToolError> {
        let open = BuyStatus::ALL.iter().filter(|status| !status.is_terminal());
        let states = open.map(|status| status.name().to_owned()).collect();
        let query = Query { states, limit: 1, ..Query::of_account(account) };
        Ok(!self.work.shelf.page::<MediaBuy>(&query, self.work.ask.now)?.is_empty())
    }

    /// What is wrong with what may be set in either way of naming an account.
    fn problems(&self, row: &AccountRow) -> Vec<AdcpError> {
        let mut problems = Vec::new();
        let accepted = &self.work.publisher.profile.payment_terms;
        if row.payment_terms.as_ref().is_some_and(|terms| !accepted.contains(terms)) {
            let message = "the seller does not accept these payment terms; leave them out to be \
                           offered the usual ones";
            problems.push(refuse::at(AdcpCode::PaymentTermsNotSupported, "payment_terms", message));
        }
        if let Some(configs) = &row.notification_configs {
            problems.extend(notifications::problems(self.work.publisher, configs));
        }
        problems
    }

    /// What keeps an account from being opened.
    fn unprovisionable(&self, key: &NaturalKey, billing: Billing) -> Vec<AdcpError> {
        let profile = &self.work.publisher.profile;
        let mut problems = Vec::new();
        if key.sandbox && !profile.sandbox {
            let message = "this seller has no sandbox accounts";
            problems.push(refuse::at(AdcpCode::UnsupportedFeature, "sandbox", message));
        }
        if key.lacks_brand(&profile.onboarding) {
            let message = "this domain houses several brands; name one in brand.brand_id";
            problems.push(refuse::at(AdcpCode::BrandRequired, "brand.brand_id", message));
        }
        problems.extend(self.unbillable(key, billing));
        problems
    }

    /// The billing gates (`B-1` to `B-4`): what the seller can do at all, what it does for this agent,
    /// what it does for this operator. A credential that establishes no identity learns nothing of
    /// the latter two.
    fn unbillable(&self, key: &NaturalKey, billing: Billing) -> Option<AdcpError> {
        let profile = &self.work.publisher.profile;
        let message = "the seller does not bill that party; ask for another one in billing";
        let error = refuse::at(AdcpCode::BillingNotSupported, "billing", message);
        if !profile.billing.contains(&billing) {
            let error = error.with("scope", "capability");
            return Some(error.with("supported_billing", json!(profile.billing)));
        }
        let served = admit::bills(profile, billing, &key.operator);
        let Some(agent) = self.work.admitted.reach.rights().agent() else {
            // Nobody can be billed of whom nobody knows who it is.
            return (!served || billing == Billing::Agent).then_some(error);
        };
        let permits = |billing: Billing| {
            agent.billing.as_ref().is_none_or(|billings| billings.contains(&billing))
        };
        if !permits(billing) {
            let message = "the seller does not bill that party for what this buyer agent buys";
            let error = refuse::at(AdcpCode::BillingNotPermittedForAgent, "billing", message);
            let error = error.with("rejected_billing", billing.name());
            let mut others = profile.billing.iter().copied().filter(|other| permits(*other));
            let other = others.find(|it| admit::bills(profile, *it, &key.operator));
            return Some(match other {
                Some(other) => error.with("suggested_billing", other.name()),
                None => error,
            });
        }
        (!served).then(|| error.with("scope", "account"))
    }
}

/// What a row repeats: whose account it is.
fn identity(account: &Account) -> Map {
    typed::kept(&account.published(), &["brand", "operator", "sandbox"])
}

fn not_provisioned() -> AdcpError {
    let message = "no account of yours fits, and a row with account opens none; open it with brand, \
                   operator and billing";
    refuse::at(AdcpCode::UnsupportedProvisioning, "account", message)
}
