//! Admission of a request: the caller's standing, the account, and the caller's rights on that account.
//! Checked once for reading and again inside the transaction that changes something. The status of the
//! account is checked after the idempotency key: what was done is replayed, whatever became of the account.

use tradepost_adcp::AdcpTool;
use tradepost_adcp::error::AdcpCode;
use tradepost_document::canonical;
use tradepost_document::json::{Map, object};
use tradepost_document::typed::Typed as _;

use crate::account::{Account, AccountStatus};
use crate::agent::{Billing, BuyerAgent};
use crate::profile::{AccountReview, PublisherProfile};
use crate::publisher::Publisher;
use crate::refusals::{self, AdcpRefusal, ToolError};
use crate::resolve::{CallerReach, NaturalKey, Reference, Rights};
use crate::staff_event::StaffEventRecorder;
use crate::store::{EntityRecord, New, StoreRead, StoreTx, Stored};
use crate::tool_call::{AdcpToolCall, BuyerCaller};

pub(crate) mod gates;

/// An admitted request.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// Account that it is for, when it names one.
    pub account: Option<Stored<Account>>,
    /// Entities that the caller can reach.
    pub reach: CallerReach,
}

/// Transaction in which a request is admitted, by what the request does in it.
#[derive(Clone, Copy)]
pub(crate) enum StorePhase<'s> {
    /// Reading.
    Look(&'s dyn StoreRead),
    /// Changing something.
    Act(&'s dyn StoreTx),
}

impl<'s> StorePhase<'s> {
    /// Returns the transaction, to read in it.
    pub(crate) fn reader(self) -> &'s dyn StoreRead {
        match self {
            Self::Look(reader) => reader,
            Self::Act(tx) => tx,
        }
    }
}

impl Admitted {
    /// Returns the owner of what the request makes: the owner of the account, even when another tenant asks.
    pub(crate) fn owner(&self) -> &str {
        self.account.as_ref().map_or(&self.reach.tenant, |account| &account.record.owner)
    }

    /// Returns the id of the account that the request is for.
    pub(crate) fn account_id(&self) -> Option<&str> {
        self.account.as_ref().map(|account| account.record.id.as_str())
    }

    /// Checks that the account can be used for the tool in its status, and for the brand that the request
    /// names.
    pub(crate) fn usable(
        &self,
        profile: &PublisherProfile,
        call: &AdcpToolCall,
    ) -> Result<(), ToolError> {
        let Some(account) = &self.account else { return Ok(()) };
        self.reach.rights().usable(&account.thing, "account")?;
        // Only where money is committed: the official harness searches and buys for one brand on another's
        // account, and nothing is sold in a sandbox.
        let is_test = profile.sandbox || account.thing.sandbox;
        let commits = call.tool == AdcpTool::CreateMediaBuy && !is_test;
        if commits { gates::brand(&account.thing, &call.arguments) } else { Ok(()) }
    }
}

/// Admits or refuses a request. Checked in this order: standing, account, the agent's provisioning, tool,
/// fields.
pub(crate) fn admit(
    publisher: &Publisher,
    call: &AdcpToolCall,
    phase: StorePhase<'_>,
) -> Result<Admitted, ToolError> {
    let agent = call.caller.agent.as_deref();
    // The capabilities of a seller are public.
    if call.tool != AdcpTool::GetAdcpCapabilities {
        gates::standing(agent, publisher.profile.onboarding.strangers)?;
    }
    let tenant = call.caller.tenant();
    let rights = Rights::read(call, &tenant, phase.reader())?;
    // A refusal of the account waits: a tool that this seller does not have is refused as such, whatever
    // account the request names.
    let reference = call.arguments.get("account").and_then(Reference::read);
    let found = reference
        .filter(|reference| names_one(call.tool, reference))
        .map(|reference| account(publisher, call, &rights, &reference, "account", phase))
        .transpose();
    if !publisher.has(call.tool) {
        // A caller without permission for the tool is told so, because a permission can be granted
        // and a missing tool cannot (AdCP 3.1 `error-handling`, `R-5`).
        let account = found.ok().flatten();
        rights.permit(account.as_ref().and_then(known_id))?;
        return Err(refusals::unsupported().into());
    }
    let account = found?;
    if let Some(account) = &account {
        gates::sandbox_only(rights.agent(), account.thing.sandbox)?;
    }
    let id = account.as_ref().and_then(known_id);
    rights.permit(id)?;
    AdcpRefusal::of_all(gates::fields(call.tool, rights.on_account(id), &call.arguments))?;
    let reach = CallerReach::new(tenant, rights, account.as_ref());
    Ok(Admitted { account, reach })
}

/// Checks that a caller may call a task that this seller does not have, by its standing and by the tasks that
/// it was granted.
pub(crate) fn foreign(
    publisher: &Publisher,
    task: &str,
    caller: &BuyerCaller,
    arguments: &Map,
    reader: &dyn StoreRead,
) -> Result<(), ToolError> {
    gates::standing(caller.agent.as_deref(), publisher.profile.onboarding.strangers)?;
    let tenant = caller.tenant();
    let rights = Rights::read_for_caller(caller, &tenant, reader)?;
    let reference = arguments.get("account").and_then(Reference::read);
    // A missing account does not change which tasks this seller has.
    let account = reference.and_then(|reference| {
        rights.account(&tenant, &reference, "account", reader).ok().flatten()
    });
    let id = account.as_ref().and_then(known_id);
    gates::task(task, rights.on_account(id), id)
}

/// Returns true if a reference names an account to work with.
fn names_one(tool: AdcpTool, reference: &Reference) -> bool {
    // In a list it is a filter, and a missing account is not shown. The test controller is told of a sandbox
    // without a name.
    let names = ["account_id", "brand"].iter().any(|name| reference.sent.contains_key(*name));
    tool != AdcpTool::ListAccounts && names
}

/// Returns the account that a reference means; one that was not declared is opened where that is the policy.
///
/// # Errors
/// `ACCOUNT_NOT_FOUND` and `ACCOUNT_AMBIGUOUS` at `field`.
pub(crate) fn account(
    publisher: &Publisher,
    call: &AdcpToolCall,
    rights: &Rights,
    reference: &Reference,
    field: &str,
    phase: StorePhase<'_>,
) -> Result<Stored<Account>, ToolError> {
    let tenant = call.caller.tenant();
    if let Some(account) = rights.account(&tenant, reference, field, phase.reader())? {
        return Ok(account);
    }
    let implied = implied(&publisher.profile, rights.agent(), reference);
    let mut account =
        implied.ok_or_else(|| refusals::not_found(AdcpCode::AccountNotFound, Some(field)))?;
    // A read opens nothing: a refused request leaves no account behind. The account will be opened by the
    // first request that changes something; until then its id is internal, and keeps the idempotency keys of
    // such requests apart.
    let StorePhase::Act(tx) = phase else {
        let id = format!("unopened:{}", canonical::to_string(&reference.sent.clone().into()));
        account.account_id.clone_from(&id);
        let new = New { id: &id, owner: &tenant, account: Some(&id), state: "", now: call.now };
        let record = EntityRecord { revision: 0, ..new.record(&account)? };
        return Ok(Stored { thing: account, record });
    };
    account.account_id = publisher.services.fresh_id("acc");
    let stored = account.open(tx, &tenant, call.now)?;
    let is_sandbox = publisher.profile.sandbox;
    StaffEventRecorder { tx, is_sandbox, now: call.now }.note_waiting_account(&stored)?;
    Ok(stored)
}

/// Returns the id of an account, when callers can know it: one that is not open yet has none for them.
pub(crate) fn known_id(account: &Stored<Account>) -> Option<&str> {
    (account.record.place > 0).then_some(account.record.id.as_str())
}

/// Returns the account for a natural key that was not declared.
fn implied(
    profile: &PublisherProfile,
    agent: Option<&BuyerAgent>,
    reference: &Reference,
) -> Option<Account> {
    let onboarding = &profile.onboarding;
    let agent = agent?;
    let key = NaturalKey::from_reference(reference);
    let whole = reference.account_id.is_none() && !key.lacks_brand(onboarding);
    if !(onboarding.implicit && profile.sandbox && whole) {
        return None;
    }
    // The billed party was not declared, so it is the first in the publisher's own order that this agent and
    // this operator may have.
    let billing = profile.billing.iter().copied().find(|billing| {
        let of_agent = agent.billing.as_ref().is_none_or(|billings| billings.contains(billing));
        of_agent && bills(profile, *billing, &key.operator)
    })?;
    let brand = reference.identity.get("brand").cloned().unwrap_or_default();
    let mut account = Account::new("", brand, &key.operator, billing);
    account.sandbox = key.sandbox;
    account.implicit = true;
    account.payment_terms = profile.payment_terms.first().cloned();
    await_review(&mut account, onboarding.review.as_ref());
    Some(account)
}

/// Returns true if the publisher bills this party of an account of this operator.
pub(crate) fn bills(profile: &PublisherProfile, billing: Billing, operator: &str) -> bool {
    let operators = profile.onboarding.operators.as_ref();
    match billing {
        Billing::Operator => operators.is_none_or(|known| known.contains(operator)),
        Billing::Agent | Billing::Advertiser => true,
    }
}

/// Makes a new account wait for its review, if one is needed.
pub(crate) fn await_review(account: &mut Account, review: Option<&AccountReview>) {
    let Some(review) = review.filter(|_| !account.sandbox) else {
        return;
    };
    account.setup = Some(object!({"url"?: review.url, "message": review.message}));
    account.status = AccountStatus::PendingApproval;
}
