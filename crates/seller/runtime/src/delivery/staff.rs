//! Messages to a publisher's people: events become deliveries, one for each destination that wants them,
//! and deliveries become messages in the format of the destination.

use jiff::Timestamp;
use tradepost_dealer::adf::one_line;
use tradepost_dealer::delivery::{ChatStyle, DeliveryRecord, MessageFormat, WrittenMessage, chat};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json, object};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::staff_event::{
    BuyChangeKind, StaffEvent, StaffEventKind, StaffEventSubject,
};
use tradepost_server::fault::InternalError;
use tradepost_store::Store;
use tradepost_store::staff_events::{KeptStaffEvent, NewStaffDelivery};

use super::channel::OutgoingMessage;
use super::{DeliveryChannel, Outlet};

/// Number of events in one transaction.
const BATCH_SIZE: u32 = 100;

/// Maximum length in characters of a buyer's text that is repeated: an account's name, a creative's id.
const MAX_TEXT: usize = 120;

/// Plans the deliveries of all events of a publisher since the last call, and logs each event once.
pub(super) fn plan(store: &Store, outlet: &Outlet, now: Timestamp) -> Result<(), InternalError> {
    let publisher = outlet.id();
    loop {
        let events = store.unplanned_staff_events(publisher, BATCH_SIZE)?;
        let Some(last) = events.last().map(|kept| kept.place) else { return Ok(()) };
        let planned: Vec<_> = events.iter().flat_map(|kept| of_event(outlet, kept)).collect();
        let id = publisher.to_owned();
        let is_ours =
            store.write_blocking(move |tx| tx.plan_staff_events(&id, last, &planned, now))?;
        if is_ours {
            events.iter().for_each(|kept| say(publisher, kept));
        }
    }
}

fn of_event(outlet: &Outlet, kept: &KeptStaffEvent) -> Vec<NewStaffDelivery> {
    let wants = |destination: &&DeliveryChannel| {
        destination.events.is_empty() || destination.events.contains(&kept.event.event)
    };
    let channels = outlet.destinations.iter().filter(wants);
    let new = channels.map(|destination| NewStaffDelivery {
        subject: kept.event.id.clone(),
        destination: destination.delivery.destination.name.clone(),
        place: kept.place,
    });
    new.collect()
}

/// Logs an event, without ids from buyers and without budgets.
fn say(publisher: &str, kept: &KeptStaffEvent) {
    let event = &kept.event;
    let place = kept.place;
    let subject = event.subject;
    let sandbox = event.is_for_tests();
    let count = event.count;
    // The tenant of a buyer that is not an agent may be an address.
    let agent = event.tenant.strip_prefix("agent:").unwrap_or_default();
    match event.event {
        StaffEventKind::Sold => {
            tracing::info!(publisher, event = place, %subject, agent, count, sandbox, "sold");
        }
        StaffEventKind::Changed => {
            let changes = words(&event.changes);
            tracing::info!(publisher, event = place, %subject, agent, sandbox, changes, "changed");
        }
        StaffEventKind::Waits => tracing::info!(
            publisher, event = place, %subject, agent, count, sandbox,
            "waits for the approval of a person"
        ),
    }
}

/// Writes the message of a delivery.
pub(super) fn outgoing(
    record: &DeliveryRecord,
    kept: &KeptStaffEvent,
    form: &MessageFormat,
) -> OutgoingMessage {
    let message = StaffMessage {
        publisher: &record.dealer_id,
        event: &kept.event,
        at: kept.at,
        id: &record.id(),
        attempt: record.attempts,
        is_resent: record.may_have_arrived,
    };
    OutgoingMessage { id: record.id(), attempt: record.attempts, written: message.write(form) }
}

/// A message about an event.
#[derive(Debug)]
pub struct StaffMessage<'a> {
    /// The publisher's id.
    pub publisher: &'a str,
    /// The event to be reported.
    pub event: &'a StaffEvent,
    /// Time of the event.
    pub at: Timestamp,
    /// Idempotency key, by which the receiver recognises a repeated message.
    pub id: &'a str,
    /// Number of attempts, this one included.
    pub attempt: u32,
    /// True when the destination may have the message already.
    pub is_resent: bool,
}

impl StaffMessage<'_> {
    /// Writes the message in the format of its destination.
    #[must_use]
    pub fn write(&self, form: &MessageFormat) -> WrittenMessage {
        let subject = self.headline();
        let body = match form {
            // A destination by mail, which is configured with ADF for leads, gets text for people here.
            MessageFormat::Adf(_) => self.text(&subject),
            MessageFormat::Event => self.document(&subject).to_string(),
            MessageFormat::Chat { style, .. } => self.chat(*style, &subject).to_string(),
        };
        WrittenMessage { subject, body }
    }

    /// Writes the subject: `Sold: 15000 EUR, acme.example, agent nova`.
    fn headline(&self) -> String {
        let event = self.event;
        let what = match (event.event, event.subject) {
            (StaffEventKind::Sold, _) => "Sold",
            (StaffEventKind::Changed, _) => "Changed by its buyer",
            (StaffEventKind::Waits, StaffEventSubject::MediaBuy) => "A media buy waits for you",
            (StaffEventKind::Waits, StaffEventSubject::Creatives) => match event.count {
                1 => "A creative waits for you",
                _ => "Creatives wait for you",
            },
            (StaffEventKind::Waits, StaffEventSubject::Account) => "An account waits for you",
            (StaffEventKind::Waits, StaffEventSubject::AdServerOrder) => {
                "A media buy does not get ahead at the ad server"
            }
            (StaffEventKind::Waits, StaffEventSubject::Deal) => "A deal has spent its budget",
        };
        // In front, because a sandbox media buy is not delivered, whatever the rest says.
        let test = if event.is_for_tests() { "SANDBOX, nothing is sold. " } else { "" };
        let changes = (!event.changes.is_empty()).then(|| words(&event.changes));
        let agent = Some(format!("agent {}", event.agent()));
        let parts = [changes, self.budget(), self.account(), agent];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        one_line(&format!("{test}{what}: {}", parts.join(", ")))
    }

    fn budget(&self) -> Option<String> {
        self.event.budget.map(|budget| self.money(budget))
    }

    fn money(&self, amount: MoneyAmount) -> String {
        format!("{amount} {}", self.event.currency.as_deref().unwrap_or_default())
    }

    /// Returns the account's name, which the buyer has chosen.
    fn account(&self) -> Option<String> {
        self.event.account_name.as_deref().map(short)
    }

    /// Returns the command that shows the subject or approves it.
    fn command(&self) -> String {
        let publisher = self.publisher;
        let id = short(&self.event.id);
        match (self.event.event, self.event.subject) {
            (StaffEventKind::Sold | StaffEventKind::Changed, _)
            | (StaffEventKind::Waits, StaffEventSubject::Deal) => {
                format!("tradepost publisher buys show {id} --publisher {publisher}")
            }
            (StaffEventKind::Waits, StaffEventSubject::MediaBuy) => {
                format!("tradepost publisher approve task {id} --publisher {publisher}")
            }
            (StaffEventKind::Waits, StaffEventSubject::Creatives) => format!(
                "tradepost publisher list creatives --state pending_review --publisher {publisher}"
            ),
            (StaffEventKind::Waits, StaffEventSubject::Account) => {
                format!("tradepost publisher approve account {id} --publisher {publisher}")
            }
            (StaffEventKind::Waits, StaffEventSubject::AdServerOrder) => {
                format!("tradepost publisher ad-server retry {id} --publisher {publisher}")
            }
        }
    }

    /// Returns the label of the command.
    fn command_label(&self) -> &'static str {
        match (self.event.event, self.event.subject) {
            (StaffEventKind::Sold | StaffEventKind::Changed, _)
            | (StaffEventKind::Waits, StaffEventSubject::Deal) => "Look at it",
            (StaffEventKind::Waits, StaffEventSubject::Creatives) => "Look at what waits",
            (StaffEventKind::Waits, StaffEventSubject::MediaBuy | StaffEventSubject::Account) => {
                "Approve it"
            }
            (StaffEventKind::Waits, StaffEventSubject::AdServerOrder) => "Retry it",
        }
    }

    /// Returns all facts of the event, each with its label.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let event = self.event;
        let id = match (event.event, event.subject) {
            (StaffEventKind::Sold | StaffEventKind::Changed, _)
            | (StaffEventKind::Waits, StaffEventSubject::AdServerOrder | StaffEventSubject::Deal) => {
                Some(("Media buy", short(&event.id)))
            }
            (StaffEventKind::Waits, StaffEventSubject::MediaBuy) => {
                Some(("Task", short(&event.id)))
            }
            // `named` lists them.
            (StaffEventKind::Waits, StaffEventSubject::Creatives | StaffEventSubject::Account) => {
                None
            }
        };
        let account = event.account_id.as_ref().map(|id| match self.account() {
            Some(name) => format!("{name} ({id})"),
            None => id.clone(),
        });
        let dates = event.start_time.zip(event.end_time);
        let dates = dates.map(|(start, end)| format!("{} to {}", rfc3339(start), rfc3339(end)));
        let lines = [
            id,
            account.map(|text| ("Account", text)),
            Some(("Agent", short(event.agent()))),
            (!event.changes.is_empty()).then(|| ("Changes", words(&event.changes))),
            self.budget().map(|text| ("Budget", text)),
            event.budget_before.map(|before| ("Budget before", self.money(before))),
            dates.map(|text| ("Dates", text)),
            self.named(),
            event.problem.as_deref().map(|text| ("Problem", one_line(text))),
            event.remedy.as_deref().map(|text| ("What to do", one_line(text))),
            Some(("Publisher", self.publisher.to_owned())),
            Some((self.command_label(), self.command())),
        ];
        lines.into_iter().flatten().collect()
    }

    /// Lists the products or creatives, and the number of those left out.
    fn named(&self) -> Option<(&'static str, String)> {
        let event = self.event;
        let label = match event.subject {
            StaffEventSubject::MediaBuy
            | StaffEventSubject::AdServerOrder
            | StaffEventSubject::Deal => "Products",
            StaffEventSubject::Creatives => "Creatives",
            StaffEventSubject::Account => return None,
        };
        if event.named.is_empty() {
            return None;
        }
        let mut text = event.named.iter().map(|name| short(name)).collect::<Vec<_>>().join(", ");
        let named = u64::try_from(event.named.len()).unwrap_or(u64::MAX);
        let more = event.count.saturating_sub(named);
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        Some((label, text))
    }

    fn text(&self, subject: &str) -> String {
        let mut text = format!("{subject}\n\n");
        for (label, value) in self.lines() {
            text.push_str(&format!("{label}: {value}\n"));
        }
        if self.is_resent {
            text.push_str("\nYou may have this message already.\n");
        }
        text
    }

    fn document(&self, subject: &str) -> Value {
        let event = self.event;
        let account = event.account_id.as_ref().map(
            |id| json!({"account_id": id, "name": event.account_name, "sandbox": event.sandbox}),
        );
        let (media_buy, task) = match (event.event, event.subject) {
            (StaffEventKind::Sold | StaffEventKind::Changed, _)
            | (StaffEventKind::Waits, StaffEventSubject::AdServerOrder | StaffEventSubject::Deal) => {
                (Some(&event.id), None)
            }
            (StaffEventKind::Waits, StaffEventSubject::MediaBuy) => (None, Some(&event.id)),
            (StaffEventKind::Waits, StaffEventSubject::Creatives | StaffEventSubject::Account) => {
                (None, None)
            }
        };
        let changes: Vec<_> = event.changes.iter().map(|change| change.name()).collect();
        let is_of = |subject| event.subject == subject && !event.named.is_empty();
        object!({
            "type": "tradepost.publisher_event",
            "event": event.event.name(),
            "subject": event.subject.name(),
            "publisher": self.publisher,
            "occurred_at": rfc3339(self.at),
            "summary": subject,
            "delivery": json!({
                "id": self.id, "attempt": self.attempt, "resend": self.is_resent,
            }),
            "media_buy_id"?: media_buy,
            "task_id"?: task,
            "account"?: account,
            "sandbox": event.is_for_tests(),
            "agent": event.agent(),
            "changes"?: (!event.changes.is_empty()).then_some(changes),
            "budget"?: event.budget,
            "budget_before"?: event.budget_before,
            "currency"?: event.currency.as_ref(),
            "start_time"?: event.start_time.map(rfc3339),
            "end_time"?: event.end_time.map(rfc3339),
            "products"?: (is_of(StaffEventSubject::MediaBuy)
                || is_of(StaffEventSubject::AdServerOrder)
                || is_of(StaffEventSubject::Deal))
                .then_some(&event.named),
            "creatives"?: is_of(StaffEventSubject::Creatives).then_some(&event.named),
            "count"?: (event.count > 0).then_some(event.count),
            "problem"?: event.problem.as_ref(),
            "remedy"?: event.remedy.as_ref(),
            "command": self.command(),
        })
    }

    fn chat(&self, style: ChatStyle, subject: &str) -> Value {
        chat::message(style, subject, &self.lines())
    }
}

/// Lists changes as text: `budget raised, paused`.
fn words(changes: &[BuyChangeKind]) -> String {
    let words = changes.iter().map(|change| change.name().replace('_', " "));
    words.collect::<Vec<_>>().join(", ")
}

/// Puts a buyer's text on one line, shortened to [`MAX_TEXT`].
fn short(text: &str) -> String {
    let line = one_line(text);
    if line.chars().count() <= MAX_TEXT {
        return line;
    }
    let kept: String = line.chars().take(MAX_TEXT).collect();
    format!("{kept}…")
}
