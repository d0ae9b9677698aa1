//! `sync_accounts`: creates accounts by natural key, updates existing ones and closes missing ones. A
//! row that cannot be stored is a failed row of a completed task (AdCP 3.1 `error-handling`, `B-8`).

use std::collections::BTreeSet;

use tradepost_adcp::error::{AdcpCode, AdcpError};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json, object};
use tradepost_document::typed;

use super::{ToolReply, WriteContext, errors, notifications, proof, shown, tally};
use crate::account::{Account, AccountStatus};
use crate::admit::{self, gates};
use crate::agent::Billing;
use crate::buy::{MediaBuy, MediaBuyStatus as BuyStatus};
use crate::forms::accounts::{AccountRow, SyncAccounts};
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::reply::object;
use crate::resolve::NaturalKey;
use crate::store::{Query, Stored};

/// Handles `sync_accounts`.
pub(in crate::tools) fn perform(
    work: &WriteContext<'_>,
    form: &SyncAccounts,
) -> Result<ToolReply, ToolError> {
    let tenant = work.admitted.reach.tenant.clone();
    let query = Query { owner: Some(tenant.clone()), ..Query::default() };
    let mut context = SyncContext {
        work,
        form,
        own: work.reader.all(&query)?,
        tenant,
        done: BTreeSet::new(),
        place: 0,
    };
    context.find_named()?;
    let mut rows = Vec::new();
    for (place, row) in form.accounts.iter().enumerate() {
        context.place = place;
        rows.push(context.row(row)?);
    }
    if form.delete_missing {
        rows.extend(context.close_missing()?);
    }
    let message = tally(&rows, "action");
    let body = object!({"accounts": rows, "dry_run"?: form.dry_run.then_some(true)});
    Ok(ToolReply::completed(message, body))
}

/// State of one request.
struct SyncContext<'a> {
    work: &'a WriteContext<'a>,
    form: &'a SyncAccounts,
    tenant: String,
    /// Accounts of the tenant, including those created by this request.
    own: Vec<Stored<Account>>,
    /// Accounts already handled, by id; in a dry run, new ones by natural key.
    done: BTreeSet<String>,
    /// Index of the current row.
    place: usize,
}

/// Account after its row was handled.
struct SyncedAccount {
    account: Account,
    action: &'static str,
    warnings: Vec<&'static str>,
}

impl SyncContext<'_> {
    /// Refuses the whole request when a row's account id does not resolve: its failed row could not
    /// repeat the natural key.
    fn find_named(&self) -> Result<(), ToolError> {
        let mut absent = Vec::new();
        let rights = self.work.admitted.reach.rights();
        for (index, row) in self.form.accounts.iter().enumerate() {
            let reference = row.account.as_ref().filter(|reference| reference.account_id.is_some());
            let field = format!("accounts[{index}].account");
            if let Some(reference) = reference
                && rights.account(&self.tenant, reference, &field, self.work.reader)?.is_none()
            {
                absent.push(refusals::not_found(AdcpCode::AccountNotFound, Some(&field)));
            }
        }
        Ok(AdcpRefusal::of_all(absent)?)
    }

    /// Returns the result of one row.
    fn row(&mut self, row: &AccountRow) -> Result<Value, ToolError> {
        let (mut identity, done) = match &row.account {
            Some(reference) => {
                let rights = self.work.admitted.reach.rights();
                let found = rights.account(&self.tenant, reference, "account", self.work.reader);
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
            // The id does not exist, because nothing was created.
            row.shift_remove("account_id");
        }
        let warnings = (!done.warnings.is_empty()).then(|| json!(done.warnings));
        row.extend(object([("action", Some(done.action.into())), ("warnings", warnings)]));
        Value::Object(row)
    }

    /// Creates an account, or updates the existing one with this natural key.
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
        let known = self.own.iter().find(|stored| !stored.thing.is_over() && key.is(&stored.thing));
        match known.cloned() {
            Some(mut account) => {
                self.work.admitted.reach.rights().permit(Some(&account.record.id))?;
                self.once(&account.record.id)?;
                let before = account.thing.clone();
                account.thing.billing = billing;
                // An account that was declared once is closed by a sync that omits it.
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
        // In a dry run the id only identifies rows of the same account.
        let id = match self.form.dry_run {
            true => format!("unopened:{key:?}"),
            false => {
                let opened = self.work.prepared.proofs.opened.get(&self.place).cloned();
                opened.unwrap_or_else(|| self.work.publisher.services.fresh_id("acc"))
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
            let tx = self.work.tx;
            let now = self.work.call.now;
            let stored = account.clone().open(tx, &self.tenant, now)?;
            self.work.staff_events().note_waiting_account(&stored)?;
            self.own.push(stored);
        }
        Ok(SyncedAccount { account, action: "created", warnings: Vec::new() })
    }

    /// Updates an existing account.
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
        // Changes made by earlier rows of this request are in our own list.
        let known = self.own.iter().find(|stored| stored.record.id == account.record.id);
        let mut account = known.cloned().unwrap_or(account);
        let before = account.thing.clone();
        self.set(&mut account.thing, row)?;
        self.finish(before, account)
    }

    /// Applies the members that both kinds of rows may set.
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
        // Only an account that waits for approval changes later.
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
            self.work.tx.change(&mut account, self.work.call.now)?;
        }
        let action = if changed { "updated" } else { "unchanged" };
        let done = SyncedAccount { account: account.thing.clone(), action, warnings: Vec::new() };
        // Later rows start from the changed account.
        if let Some(known) =
            self.own.iter_mut().find(|stored| stored.record.id == account.record.id)
        {
            *known = account;
        }
        Ok(done)
    }

    /// Refuses a second row for the same account: which of the two applies would be arbitrary.
    fn once(&mut self, id: &str) -> Result<(), ToolError> {
        if self.done.insert(id.to_owned()) {
            return Ok(());
        }
        let message = "this account stands in the request twice; name it once";
        Err(refusals::error(AdcpCode::InvalidRequest, message).into())
    }

    /// Closes the accounts that the request omits (`delete_missing`).
    fn close_missing(&mut self) -> Result<Vec<Value>, ToolError> {
        let mut rows = Vec::new();
        for mut account in self.own.clone() {
            // Accounts that no sync has declared are not missing.
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

    /// Returns true when an account has media buys that have not ended.
    fn is_busy(&self, account: &str) -> Result<bool, ToolError> {
        let open = BuyStatus::ALL.iter().filter(|status| !status.is_terminal());
        let states = open.map(|status| status.name().to_owned()).collect();
        let query = Query { states, limit: 1, ..Query::with_account(account) };
        Ok(!self.work.reader.page::<MediaBuy>(&query, self.work.call.now)?.is_empty())
    }

    /// Returns the problems of the members that both kinds of rows may set.
    fn problems(&self, row: &AccountRow) -> Vec<AdcpError> {
        let mut problems = Vec::new();
        let accepted = &self.work.publisher.profile.payment_terms;
        if row.payment_terms.as_ref().is_some_and(|terms| !accepted.contains(terms)) {
            let message = "the seller does not accept these payment terms; leave them out to be \
                           offered the usual ones";
            problems.push(refusals::at(
                AdcpCode::PaymentTermsNotSupported,
                "payment_terms",
                message,
            ));
        }
        if let Some(configs) = &row.notification_configs {
            problems.extend(notifications::problems(self.work.publisher, configs));
        }
        problems
    }

    /// Returns the reasons for not creating an account.
    fn unprovisionable(&self, key: &NaturalKey, billing: Billing) -> Vec<AdcpError> {
        let profile = &self.work.publisher.profile;
        let mut problems = Vec::new();
        if key.sandbox && !profile.sandbox {
            let message = "this seller has no sandbox accounts";
            problems.push(refusals::at(AdcpCode::UnsupportedFeature, "sandbox", message));
        }
        if key.lacks_brand(&profile.onboarding) {
            let message = "this domain houses several brands; name one in brand.brand_id";
            problems.push(refusals::at(AdcpCode::BrandRequired, "brand.brand_id", message));
        }
        problems.extend(self.unbillable(key, billing));
        problems
    }

    /// Checks who is billed (AdCP 3.1 `error-handling`; `B-1` to `B-4`): the seller's capabilities,
    /// then the agent's terms, then those of the operator. A credential without an identity learns
    /// only the first.
    fn unbillable(&self, key: &NaturalKey, billing: Billing) -> Option<AdcpError> {
        let profile = &self.work.publisher.profile;
        let message = "the seller does not bill that party; ask for another one in billing";
        let error = refusals::at(AdcpCode::BillingNotSupported, "billing", message);
        if !profile.billing.contains(&billing) {
            let error = error.with("scope", "capability");
            return Some(error.with("supported_billing", json!(profile.billing)));
        }
        let served = admit::bills(profile, billing, &key.operator);
        let Some(agent) = self.work.admitted.reach.rights().agent() else {
            // An unidentified caller cannot be billed.
            return (!served || billing == Billing::Agent).then_some(error);
        };
        let permits = |billing: Billing| {
            agent.billing.as_ref().is_none_or(|billings| billings.contains(&billing))
        };
        if !permits(billing) {
            let message = "the seller does not bill that party for what this buyer agent buys";
            let error = refusals::at(AdcpCode::BillingNotPermittedForAgent, "billing", message);
            let error = error.with("rejected_billing", billing.name());
            let mut others = profile.billing.iter().copied().filter(|other| permits(*other));
            let other = others.find(|other| admit::bills(profile, *other, &key.operator));
            return Some(match other {
                Some(other) => error.with("suggested_billing", other.name()),
                None => error,
            });
        }
        (!served).then(|| error.with("scope", "account"))
    }
}

/// Returns the natural key of an account, which its row repeats.
fn identity(account: &Account) -> Map {
    typed::kept(&account.published(), &["brand", "operator", "sandbox"])
}

fn not_provisioned() -> AdcpError {
    let message = "no account of yours fits, and a row with account opens none; open it with brand, \
                   operator and billing";
    refusals::at(AdcpCode::UnsupportedProvisioning, "account", message)
}
