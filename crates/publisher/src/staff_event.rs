//! Events of which the publisher's people are told: that something was sold, and that something waits for
//! their approval. Each is kept in the transaction in which it becomes true. Who is told, and in which
//! words, is for whoever delivers them.

use jiff::Timestamp;
use tradepost_wire::fault::Fault;

use crate::account::Account;
use crate::buy::MediaBuy;
use crate::creative::{self, Creative};
use crate::money::Amount;
use crate::shelf::{Kept, New, Shelf, kept};
use crate::task::Task;

/// Maximum number of products or creatives that an event names.
const MAX_NAMED: usize = 20;

tradepost_wire::words! {
    /// What people are told.
    pub enum StaffEventKind {
        /// A media buy was booked, at once or once it was approved.
        Sold = "sold",
        /// Something waits for the approval of a person.
        Waits = "waits",
    }

    /// What an event is about.
    pub enum StaffEventSubject {
        /// A media buy; while it waits, the task under which it is approved.
        MediaBuy = "media_buy",
        /// Creatives that were sent in one request.
        Creatives = "creatives",
        /// An advertiser's account.
        Account = "account",
    }
}

kept! {
    /// An event.
    pub struct StaffEvent: StaffEvent {
        /// What has happened.
        event: StaffEventKind,
        /// What it is about.
        subject: StaffEventSubject,
        /// By which people find it: the id of the media buy that was sold, of the task that waits, of
        /// the first creative, or of the account.
        id: String,
        /// The tenant who has bought or asked, such as `agent:nova`.
        tenant: String,
        /// The account.
        account_id?: Option<String>,
        /// Its name for people.
        account_name?: Option<String>,
        /// Whether the account is for tests.
        #[serde(default)]
        sandbox: bool,
        /// What the buy costs in all.
        budget?: Option<Amount>,
        /// ISO 4217.
        currency?: Option<String>,
        /// When the buy begins.
        start_time?: Option<Timestamp>,
        /// When it ends.
        end_time?: Option<Timestamp>,
        /// The products that are bought, or the creatives that wait: the first of them.
        named?: Vec<String>,
        /// How many there are of these.
        count: u64,
    }
}

impl StaffEvent {
    /// The agent, without the word that tells tenants apart.
    #[must_use]
    pub fn agent(&self) -> &str {
        self.tenant.split_once(':').map_or(self.tenant.as_str(), |(_, id)| id)
    }

    /// An event of nothing, on an account for tests: to try a destination.
    #[must_use]
    pub fn sample() -> Self {
        let (kind, subject) = (StaffEventKind::Sold, StaffEventSubject::MediaBuy);
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
            budget: None,
            currency: None,
            start_time: None,
            end_time: None,
            named: Vec::new(),
            count: 0,
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

    /// Keeps it under an id that is the same whenever the same has happened.
    fn keep(&self, shelf: &dyn Shelf, known_by: &str, now: Timestamp) -> Result<(), Fault> {
        let id = format!("{}:{}:{known_by}", self.event, self.subject);
        // It is the publisher's own: no buyer reads it.
        shelf.add(New { id: &id, owner: "", account: None, state: "", now }, self)
    }
}

/// Notes that a media buy was booked, which this tenant has asked for.
pub(crate) fn note_sold(
    shelf: &dyn Shelf,
    kept: &Kept<MediaBuy>,
    tenant: &str,
    now: Timestamp,
) -> Result<(), Fault> {
    let buy = &kept.thing;
    let account = Account::of(&kept.record, shelf)?;
    let (kind, subject) = (StaffEventKind::Sold, StaffEventSubject::MediaBuy);
    let event = StaffEvent::new(kind, subject, &buy.media_buy_id, tenant).of_buy(buy);
    let event = event.of_account(account.as_ref().map(|account| &account.thing));
    event.keep(shelf, &buy.media_buy_id, now)
}

/// Notes that the media buy of a task waits for a person, which this tenant has asked for.
pub(crate) fn note_waiting_buy(
    shelf: &dyn Shelf,
    task: &Kept<Task>,
    tenant: &str,
    now: Timestamp,
) -> Result<(), Fault> {
    let Some(buy) = &task.thing.draft else { return Ok(()) };
    let account = Account::of(&task.record, shelf)?;
    let (kind, subject) = (StaffEventKind::Waits, StaffEventSubject::MediaBuy);
    let event = StaffEvent::new(kind, subject, &task.thing.task_id, tenant).of_buy(buy);
    let event = event.of_account(account.as_ref().map(|account| &account.thing));
    event.keep(shelf, &task.record.id, now)
}

/// Notes that those of the creatives of one request of a tenant wait for a person whose review ends by
/// nothing else.
pub(crate) fn note_waiting_creatives(
    shelf: &dyn Shelf,
    account: &Account,
    sent: &[Kept<Creative>],
    tenant: &str,
    now: Timestamp,
) -> Result<(), Fault> {
    let waits = |kept: &&Kept<Creative>| {
        kept.thing.status == creative::Status::PendingReview && kept.thing.review_ends_at.is_none()
    };
    let waiting: Vec<&Kept<Creative>> = sent.iter().filter(waits).collect();
    let Some(first) = waiting.first() else { return Ok(()) };
    let (kind, subject) = (StaffEventKind::Waits, StaffEventSubject::Creatives);
    let id = &first.thing.creative_id;
    let event = StaffEvent::new(kind, subject, id, tenant);
    let event = StaffEvent {
        named: waiting.iter().take(MAX_NAMED).map(|it| it.thing.creative_id.clone()).collect(),
        count: u64::try_from(waiting.len()).unwrap_or(u64::MAX),
        ..event.of_account(Some(account))
    };
    // The same creative waits again once its buyer has changed it, or has removed it and sent it again.
    let known_by =
        format!("{}:{}:{}", now.as_microsecond(), first.record.revision, first.record.id);
    event.keep(shelf, &known_by, now)
}

/// Notes that an account waits for approval, if it does.
///
/// # Errors
/// When the store fails.
pub fn note_waiting_account(
    shelf: &dyn Shelf,
    kept: &Kept<Account>,
    now: Timestamp,
) -> Result<(), Fault> {
    let account = &kept.thing;
    if account.status != crate::account::Status::PendingApproval {
        return Ok(());
    }
    let (kind, subject) = (StaffEventKind::Waits, StaffEventSubject::Account);
    let event = StaffEvent::new(kind, subject, &account.account_id, &kept.record.owner);
    event.of_account(Some(account)).keep(shelf, &account.account_id, now)
}
