//! Inbox of a publisher: what waits for a person, and messages to the staff that were not delivered.

use askama::Template;
use tradepost_dealer::delivery::DeliveryState;
use tradepost_publisher::staff::spent_deals::{SpentDeal, list_spent_deals};
use tradepost_publisher::staff::waiting::{WaitingCursor, WaitingItem, WaitingPage, waiting};
use tradepost_publisher::staff::{DecisionSubject, StaffView};

use super::super::{
    Answer, Console, ConsoleReply, Local, PageError, PageFrame, ShownMoment, Visitor, counted, link,
};
use super::remote::StoppedBuy;
use super::{Fields, PAGE_SIZE, amount, flight, show_link};
use jiff::tz::TimeZone;

#[derive(Debug, Template)]
#[template(path = "publisher/inbox.html")]
struct PublisherInboxPage {
    frame: PageFrame,
    items: Vec<WaitingRow>,
    failed: Vec<FailedMessage>,
    stopped: Vec<StoppedBuy>,
    spent_deals: Vec<SpentDealRow>,
    first: Option<String>,
    next: Option<String>,
    /// Address of this page, from which its news come.
    here: String,
}

/// Something that waits.
#[derive(Debug)]
struct WaitingRow {
    kind: &'static str,
    title: String,
    detail: String,
    href: String,
    when: ShownMoment,
}

/// A deal that has spent its budget and still runs.
#[derive(Debug)]
struct SpentDealRow {
    id: String,
    href: String,
    text: String,
}

/// Message to the staff that was given up.
#[derive(Debug)]
struct FailedMessage {
    title: String,
    detail: String,
    when: ShownMoment,
}

impl SpentDealRow {
    fn new(deal: SpentDeal) -> Self {
        let SpentDeal { media_buy_id, deal_id, budget, spent, currency, .. } = deal;
        let spent = amount(&spent.to_string());
        let budget = amount(&budget.to_string());
        Self {
            href: show_link(DecisionSubject::Buy, &media_buy_id, None, None),
            text: format!("{spent} of {budget} {currency} spent · Pause the deal at the exchange"),
            id: deal_id.0,
        }
    }
}

impl Console {
    pub(crate) fn publisher_inbox(&self, visitor: &Visitor<'_>) -> Answer {
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let after = visitor.asked.asked_for("after").map(str::parse::<WaitingCursor>).transpose();
        let after = after.map_err(|_| PageError::NotFound)?;
        let mut page = WaitingPage::default();
        let mut stopped = Vec::new();
        let mut spent_deals = Vec::new();
        // The staff of a publisher that is not configured any more still signs in.
        if let Ok(agent) = self.publisher(visitor) {
            let publisher = agent.publisher();
            let now = here.now;
            page = agent.publisher_store().look(|reader| {
                waiting(StaffView { publisher: &publisher, reader, now }, after, PAGE_SIZE)
            })?;
            if after.is_none() {
                stopped = self.stopped_buys(visitor, &publisher, &here)?;
                let spent = agent.publisher_store().look(|reader| {
                    list_spent_deals(StaffView { publisher: &publisher, reader, now })
                })?;
                spent_deals = spent.into_iter().map(SpentDealRow::new).collect();
            }
        }
        let failed =
            if after.is_none() { self.failed_messages(visitor, &here)? } else { Vec::new() };
        let cursor = |cursor: WaitingCursor| Some(cursor.to_string());
        let address = |after: Option<String>| {
            link("", [("after", after.as_deref())])
                .replace("/?", "?")
                .trim_end_matches('?')
                .to_owned()
        };
        Ok(ConsoleReply::page(&PublisherInboxPage {
            frame: self.frame(visitor, "Inbox")?,
            items: page.items.iter().map(|item| row(item, &here)).collect(),
            failed,
            stopped,
            spent_deals,
            first: after.map(|_| address(None)),
            next: page.next.map(|next| address(cursor(next))),
            here: address(after.and_then(cursor)),
        }))
    }

    /// Returns messages to the staff that were given up, the oldest first, one item for each subject.
    fn failed_messages(
        &self,
        visitor: &Visitor<'_>,
        here: &Local,
    ) -> Result<Vec<FailedMessage>, PageError> {
        let state = Some(DeliveryState::Dead);
        let dead = self.store.publisher_deliveries(visitor.dealer_id(), None, state)?;
        let mut messages: Vec<FailedMessage> = Vec::new();
        for delivery in dead.into_iter().rev() {
            let answer = delivery.answer.unwrap_or_else(|| "no answer".to_owned());
            let detail = format!("{}: {answer}", delivery.destination);
            let title = format!("The message about {} was not delivered", delivery.lead_id);
            if let Some(known) = messages.iter_mut().find(|message| message.title == title) {
                known.detail = format!("{}; {detail}", known.detail);
                continue;
            }
            let when = here.when(delivery.ended_at.unwrap_or(delivery.created_at));
            messages.push(FailedMessage { title, detail, when });
        }
        Ok(messages)
    }
}

fn row(item: &WaitingItem, here: &Local) -> WaitingRow {
    let fields = Fields::new(&item.document);
    let id = fields.or_empty("id");
    let account = fields.text("account");
    let agent = fields.text("asked_by").or_else(|| fields.text("agent"));
    let agent = agent.map(|agent| format!("agent {agent}"));
    let (kind, title, parts) = match item.matter {
        DecisionSubject::Task | DecisionSubject::Buy => {
            let products = fields.items("products").len();
            let title = fields.money("budget").unwrap_or_else(|| id.clone());
            let products = Some(counted(products, "product", "products"));
            ("Media buy", title, vec![products, Some(flight(fields)), agent])
        }
        DecisionSubject::Creative => {
            let name = fields.text("name").unwrap_or_else(|| id.clone());
            ("Creative", name, vec![fields.text("format"), agent])
        }
        DecisionSubject::Account => {
            let name = fields.text("name").unwrap_or_else(|| id.clone());
            let billing = fields.text("billing").map(|billing| format!("billed to the {billing}"));
            ("Account", name, vec![billing, agent])
        }
    };
    let parts: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let href = match item.matter {
        DecisionSubject::Account => show_link(item.matter, &id, None, None),
        DecisionSubject::Task | DecisionSubject::Buy | DecisionSubject::Creative => {
            show_link(item.matter, &id, account.as_deref(), None)
        }
    };
    WaitingRow { kind, title, detail: parts.join(" · "), href, when: here.when(item.since) }
}
