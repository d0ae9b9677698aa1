//! Events for the publisher's staff: a sale, a buyer's change of it, and something that waits for approval.
//! Each is stored in the transaction in which it becomes true. The delivery decides on recipients and
//! wording.

use std::cmp::Ordering;
use std::fmt;

use jiff::Timestamp;
use tradepost_document::fault::InternalError;

use crate::account::Account;
use crate::buy::{MediaBuy, Package};
use crate::creative::{self, Creative};
use crate::money::MoneyAmount;
use crate::remote_order::RemoteOrder;
use crate::staff::spent_deals::SpentDeal;
use crate::store::{New, StoreTx, Stored, kept};
use crate::task::SubmittedTask;

/// Maximum number of products or creatives that an event names.
const MAX_NAMED: usize = 20;

tradepost_document::words! {
    /// Kind of an event for the staff.
    pub enum StaffEventKind {
        /// A media buy was booked, at once or once it was approved.
        Sold = "sold",
        /// The buyer has changed a media buy that was booked: its cost, its contents, or whether and when it
        /// runs.
        Changed = "changed",
        /// Something waits for the approval of a person.
        Waits = "waits",
    }

    /// Change that a buyer has made to a media buy.
    pub enum BuyChangeKind {
        /// Canceled for good.
        Canceled = "canceled",
        /// Paused.
        Paused = "paused",
        /// Resumed.
        Resumed = "resumed",
        /// Budget raised.
        BudgetRaised = "budget_raised",
        /// Budget lowered.
        BudgetLowered = "budget_lowered",
        /// Same budget divided otherwise between packages.
        BudgetMoved = "budget_moved",
        /// Start or end moved, of the buy or of a package.
        DatesChanged = "dates_changed",
        /// Packages added.
        PackagesAdded = "packages_added",
        /// Packages canceled for good.
        PackagesCanceled = "packages_canceled",
        /// Packages paused.
        PackagesPaused = "packages_paused",
        /// Packages resumed.
        PackagesResumed = "packages_resumed",
    }

    /// Subject of an event.
    pub enum StaffEventSubject {
        /// A media buy; while it waits, the task under which it is approved.
        MediaBuy = "media_buy",
        /// Creatives that were sent in one request.
        Creatives = "creatives",
        /// An advertiser's account.
        Account = "account",
        /// A media buy that does not get ahead at the ad server.
        AdServerOrder = "ad_server_order",
        /// A deal that has spent its budget, which no exchange knows.
        Deal = "deal",
    }
}

kept! {
    /// An event for the publisher's staff.
    pub struct StaffEvent: StaffEvent {
        /// Kind of the event.
        event: StaffEventKind,
        /// Subject of the event.
        subject: StaffEventSubject,
        /// Id by which people find it: that of the media buy that was sold, of the task that waits, of the
        /// first creative, or of the account.
        id: String,
        /// Tenant that has bought or asked, such as `agent:nova`.
        tenant: String,
        /// The account.
        account_id?: Option<String>,
        /// Name of the account for people.
        account_name?: Option<String>,
        /// True when the account is for tests.
        #[serde(default)]
        sandbox: bool,
        /// True when the publisher was a sandbox.
        #[serde(default)]
        sandbox_publisher: bool,
        /// Total cost of the buy.
        budget?: Option<MoneyAmount>,
        /// Total cost before the change.
        budget_before?: Option<MoneyAmount>,
        /// Currency (ISO 4217).
        currency?: Option<String>,
        /// Changes made to it.
        changes?: Vec<BuyChangeKind>,
        /// Start of the buy.
        start_time?: Option<Timestamp>,
        /// End of the buy.
        end_time?: Option<Timestamp>,
        /// Products that are bought, or creatives that wait: the first of them.
        named?: Vec<String>,
        /// Number of packages, or of creatives that wait.
        count: u64,
        /// What is wrong at the ad server, in a sentence.
        problem?: Option<String>,
        /// What has to be done about it, in a sentence.
        remedy?: Option<String>,
    }
}

impl StaffEvent {
    /// Returns the agent, without the prefix of the tenant.
    #[must_use]
    pub fn agent(&self) -> &str {
        self.tenant.split_once(':').map_or(self.tenant.as_str(), |(_, id)| id)
    }

    /// Returns true if nothing is sold by it: the account is for tests, or the publisher was a sandbox.
    #[must_use]
    pub fn is_for_tests(&self) -> bool {
        self.sandbox || self.sandbox_publisher
    }

    /// Creates a sample event on a test account, to try a destination.
    #[must_use]
    pub fn sample() -> Self {
        let kind = StaffEventKind::Sold;
        let subject = StaffEventSubject::MediaBuy;
        Self {
            account_id: Some("acc_test".to_owned()),
            account_name: Some("TEST".to_owned()),
            sandbox: true,
            ..Self::new(kind, subject, "mb_test", "agent:test")
        }
    }

    fn new(event: StaffEventKind, subject: StaffEventSubject, id: &str, tenant: &str) -> Self {
        Self {
            event,
            subject,
            id: id.to_owned(),
            tenant: tenant.to_owned(),
            account_id: None,
            account_name: None,
            sandbox: false,
            sandbox_publisher: false,
            budget: None,
            budget_before: None,
            currency: None,
            changes: Vec::new(),
            start_time: None,
            end_time: None,
            named: Vec::new(),
            count: 0,
            problem: None,
            remedy: None,
        }
    }

    fn of_account(self, account: Option<&Account>) -> Self {
        Self {
            account_id: account.map(|account| account.account_id.clone()),
            account_name: account.map(|account| account.name.clone()),
            sandbox: account.is_some_and(|account| account.sandbox),
            ..self
        }
    }

    fn of_buy(self, buy: &MediaBuy) -> Self {
        let products = buy.packages.iter().map(|package| package.product_id.clone());
        Self {
            budget: Some(buy.total_budget),
            currency: Some(buy.currency.clone()),
            start_time: Some(buy.start_time),
            end_time: Some(buy.end_time),
            count: u64::try_from(buy.packages.len()).unwrap_or(u64::MAX),
            named: products.take(MAX_NAMED).collect(),
            ..self
        }
    }
}

/// What has to be done about a deal that has spent its budget.
const SPENT_DEAL_REMEDY: &str = "Pause the deal at the exchange: pausing the media buy does that. Or agree with the buyer on a larger budget.";

/// Recorder of the events of one publisher at a moment.
#[derive(Clone, Copy)]
pub struct StaffEventRecorder<'s> {
    /// Transaction in which they are stored.
    pub tx: &'s dyn StoreTx,
    /// True when the publisher is a sandbox.
    pub is_sandbox: bool,
    /// Time of the events.
    pub now: Timestamp,
}

impl fmt::Debug for StaffEventRecorder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaffEventRecorder")
            .field("is_sandbox", &self.is_sandbox)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl StaffEventRecorder<'_> {
    /// Records that a media buy was booked, which this tenant has asked for.
    pub(crate) fn note_sold(
        &self,
        stored: &Stored<MediaBuy>,
        tenant: &str,
    ) -> Result<(), InternalError> {
        let buy = &stored.thing;
        let account = Account::find_for(&stored.record, self.tx)?;
        let kind = StaffEventKind::Sold;
        let subject = StaffEventSubject::MediaBuy;
        let event = StaffEvent::new(kind, subject, &buy.media_buy_id, tenant).of_buy(buy);
        let event = event.of_account(account.as_ref().map(|account| &account.thing));
        self.keep(event, &buy.media_buy_id)
    }

    /// Records what a tenant has changed about a booked media buy, if the staff is told of any of it.
    pub(crate) fn note_changed(
        &self,
        before: &MediaBuy,
        stored: &Stored<MediaBuy>,
        tenant: &str,
    ) -> Result<(), InternalError> {
        let buy = &stored.thing;
        let changes = changes_of(before, buy);
        if changes.is_empty() {
            return Ok(());
        }
        let account = Account::find_for(&stored.record, self.tx)?;
        let kind = StaffEventKind::Changed;
        let subject = StaffEventSubject::MediaBuy;
        let event = StaffEvent::new(kind, subject, &buy.media_buy_id, tenant).of_buy(buy);
        let event = event.of_account(account.as_ref().map(|account| &account.thing));
        let budget_before =
            (before.total_budget != buy.total_budget).then_some(before.total_budget);
        let event = StaffEvent { changes, budget_before, ..event };
        self.keep(event, &format!("{}:{}", stored.record.revision, buy.media_buy_id))
    }

    /// Records that the media buy of a task waits for a person, which this tenant has asked for.
    pub(crate) fn note_waiting_buy(
        &self,
        task: &Stored<SubmittedTask>,
        tenant: &str,
    ) -> Result<(), InternalError> {
        let Some(buy) = &task.thing.draft else { return Ok(()) };
        let account = Account::find_for(&task.record, self.tx)?;
        let kind = StaffEventKind::Waits;
        let subject = StaffEventSubject::MediaBuy;
        let event = StaffEvent::new(kind, subject, &task.thing.task_id, tenant).of_buy(buy);
        let event = event.of_account(account.as_ref().map(|account| &account.thing));
        self.keep(event, &task.record.id)
    }

    /// Records that creatives of one request of a tenant wait for a person; those whose review ends by itself
    /// are left out.
    pub(crate) fn note_waiting_creatives(
        &self,
        account: &Account,
        sent: &[Stored<Creative>],
        tenant: &str,
    ) -> Result<(), InternalError> {
        let waits = |stored: &&Stored<Creative>| {
            let creative = &stored.thing;
            creative.status == creative::CreativeStatus::PendingReview
                && creative.review_ends_at.is_none()
        };
        let waiting: Vec<&Stored<Creative>> = sent.iter().filter(waits).collect();
        let Some(first) = waiting.first() else { return Ok(()) };
        let kind = StaffEventKind::Waits;
        let subject = StaffEventSubject::Creatives;
        let id = &first.thing.creative_id;
        let event = StaffEvent::new(kind, subject, id, tenant);
        let named = waiting.iter().take(MAX_NAMED).map(|stored| stored.thing.creative_id.clone());
        let event = StaffEvent {
            named: named.collect(),
            count: u64::try_from(waiting.len()).unwrap_or(u64::MAX),
            ..event.of_account(Some(account))
        };
        // The same creative waits again once its buyer has changed it, or has removed it and sent it again.
        let at = self.now.as_microsecond();
        let known_by = format!("{at}:{}:{}", first.record.revision, first.record.id);
        self.keep(event, &known_by)
    }

    /// Records that a media buy does not get ahead at the ad server, with what is wrong and what has to be
    /// done about it.
    ///
    /// # Errors
    /// When the store fails.
    pub fn note_remote_problem(
        &self,
        order: &Stored<RemoteOrder>,
        problem: &str,
        remedy: &str,
    ) -> Result<(), InternalError> {
        let Some(buy) = self.tx.find::<MediaBuy>(&order.record.id)? else { return Ok(()) };
        let account = Account::find_for(&buy.record, self.tx)?;
        let kind = StaffEventKind::Waits;
        let subject = StaffEventSubject::AdServerOrder;
        let id = &buy.thing.media_buy_id;
        let event = StaffEvent::new(kind, subject, id, &buy.record.owner).of_buy(&buy.thing);
        let event = event.of_account(account.as_ref().map(|account| &account.thing));
        let problem = Some(problem.to_owned());
        let remedy = Some(remedy.to_owned());
        let event = StaffEvent { problem, remedy, ..event };
        self.keep(event, &format!("{}:{}", self.now.as_microsecond(), order.record.id))
    }

    /// Records that a deal of a media buy has spent its budget, as far as its delivery is reported.
    pub(crate) fn note_spent_deal(
        &self,
        stored: &Stored<MediaBuy>,
        deal: &SpentDeal,
    ) -> Result<(), InternalError> {
        let buy = &stored.thing;
        let account = Account::find_for(&stored.record, self.tx)?;
        let kind = StaffEventKind::Waits;
        let subject = StaffEventSubject::Deal;
        let event = StaffEvent::new(kind, subject, &buy.media_buy_id, &stored.record.owner);
        let event = event.of_buy(buy).of_account(account.as_ref().map(|account| &account.thing));
        let SpentDeal { package_id, deal_id, budget, spent, currency, .. } = deal;
        let problem = format!(
            "The deal {} of the package {package_id} has spent {spent} of {budget} {currency}.",
            deal_id.0
        );
        let problem = Some(problem);
        let remedy = Some(SPENT_DEAL_REMEDY.to_owned());
        let event = StaffEvent { problem, remedy, ..event };
        let at = self.now.as_microsecond();
        self.keep(event, &format!("{at}:{package_id}:{}", buy.media_buy_id))
    }

    /// Records that an account waits for approval, if it does.
    ///
    /// # Errors
    /// When the store fails.
    pub fn note_waiting_account(&self, stored: &Stored<Account>) -> Result<(), InternalError> {
        let account = &stored.thing;
        if account.status != crate::account::AccountStatus::PendingApproval {
            return Ok(());
        }
        let kind = StaffEventKind::Waits;
        let subject = StaffEventSubject::Account;
        let event = StaffEvent::new(kind, subject, &account.account_id, &stored.record.owner);
        self.keep(event.of_account(Some(account)), &account.account_id)
    }

    /// Stores an event under an id that is the same whenever the same has happened.
    fn keep(&self, event: StaffEvent, known_by: &str) -> Result<(), InternalError> {
        let event = StaffEvent { sandbox_publisher: self.is_sandbox, ..event };
        let id = format!("{}:{}:{known_by}", event.event, event.subject);
        // It belongs to the publisher: buyers do not read it.
        self.tx.add(New { id: &id, owner: "", account: None, state: "", now: self.now }, &event)
    }
}

/// Returns the changes between two states of a media buy of which the staff is told.
fn changes_of(before: &MediaBuy, after: &MediaBuy) -> Vec<BuyChangeKind> {
    if before.cancellation.is_none() && after.cancellation.is_some() {
        // Other changes do not matter: nothing of it runs.
        return vec![BuyChangeKind::Canceled];
    }
    // New packages are at the end of the list.
    let pairs = || before.packages.iter().zip(&after.packages);
    let any = |differs: fn(&Package, &Package) -> bool| pairs().any(|(was, is)| differs(was, is));
    let budget = after.total_budget.cmp(&before.total_budget);
    let is_canceled = any(|was, is| was.is_live() && !is.is_live());
    let found = [
        (BuyChangeKind::Paused, !before.paused && after.paused),
        (BuyChangeKind::Resumed, before.paused && !after.paused),
        (BuyChangeKind::BudgetRaised, budget == Ordering::Greater),
        (BuyChangeKind::BudgetLowered, budget == Ordering::Less),
        (
            BuyChangeKind::BudgetMoved,
            budget == Ordering::Equal && any(|was, is| was.budget != is.budget),
        ),
        (
            BuyChangeKind::DatesChanged,
            (before.start_time, before.end_time) != (after.start_time, after.end_time)
                || any(|was, is| (was.start_time, was.end_time) != (is.start_time, is.end_time)),
        ),
        (BuyChangeKind::PackagesAdded, after.packages.len() > before.packages.len()),
        (BuyChangeKind::PackagesCanceled, is_canceled),
        (BuyChangeKind::PackagesPaused, any(|was, is| !was.paused && is.paused)),
        (BuyChangeKind::PackagesResumed, any(|was, is| was.paused && !is.paused)),
    ];
    found.into_iter().filter_map(|(change, is_so)| is_so.then_some(change)).collect()
}
