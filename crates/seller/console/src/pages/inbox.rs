//! Page of everything that waits for a person, the oldest first.

use askama::Template;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::delivery::{DeliveryState, LeadKind, kinds};
use tradepost_dealer::record::{HeldFor, LeadRecord, LeadState};
use tradepost_dealer::staff::StaffStage;
use tradepost_document::catalog;
use tradepost_runtime::feeds::{FeedStatus, unconfirmed_for};
use tradepost_store::staff::{LeadFilter, OwnerFilter, WaitingFor};

use super::super::listing_warnings::ListingWarning;
use super::feeds::{address, last_taken, not_taken_because};
use super::lead_query::{LeadPageRows, ListPlace, NOBODY, cursor_text};
use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageError, PageFrame, ShownMoment, StaffPermission,
    Visitor, counted, duration_text, link, thousands,
};

/// Number of leads on a page.
const PAGE_SIZE: u32 = 50;

/// Waiting times from which a lead is marked as urgent and as late: dealers who answer within minutes
/// sell more.
const URGENT_AFTER: SignedDuration = SignedDuration::from_mins(15);
const LATE: SignedDuration = SignedDuration::from_hours(1);

#[derive(Debug, Template)]
#[template(path = "inbox.html")]
struct InboxPage {
    frame: PageFrame,
    figures: Vec<Figure>,
    tabs: Vec<InboxTab>,
    /// Address of this page, from which its news come.
    here: String,
    items: Vec<InboxItem>,
    due: Option<DueSteps>,
    first: Option<String>,
    previous: Option<String>,
    next: Option<String>,
    last: Option<String>,
    sees_customers: bool,
}

/// A list of the inbox by owner.
#[derive(Debug)]
struct InboxTab {
    label: &'static str,
    href: String,
    is_here: bool,
}

/// Next steps that are due.
#[derive(Debug)]
struct DueSteps {
    text: String,
    href: String,
}

/// Lists by owner: name in the URL, and label.
const OWNERS: [(&str, &str); 3] = [("all", "All"), ("mine", "Mine"), ("unassigned", "Unassigned")];

/// A number at the top of the page.
#[derive(Debug)]
struct Figure {
    number: String,
    label: &'static str,
    kind: &'static str,
}

/// Numbers of waiting leads.
#[derive(Debug, Default)]
struct WaitingLeads {
    new: u32,
    working: u32,
    held: u32,
    /// Number of next steps that are due.
    due: u32,
    /// Time of receipt of the new lead that waits longest.
    oldest: Option<Timestamp>,
}

/// An item that waits.
#[derive(Debug)]
struct InboxItem {
    at: Timestamp,
    kind: InboxItemKind,
    title: String,
    detail: String,
    href: String,
    when: ShownMoment,
    urgency: &'static str,
}

catalog! {
    /// Kind of an item; the name is its label.
    enum InboxItemKind {
        /// CSS class.
        class: &'static str,
    }
    /// A new lead.
    Lead = "New lead" { class: "lead" }
    /// A lead that is held back.
    Held = "Held back" { class: "held" }
    /// A delivery that was given up.
    Failed = "Not delivered" { class: "failed" }
    /// An inventory without recent confirmations.
    Stale = "Stale inventory" { class: "warning" }
    /// A feed whose last run was not stored.
    Feed = "Feed not imported" { class: "warning" }
    /// Prices with a warning.
    Price = "Price warning" { class: "warning" }
}

impl Console {
    pub(crate) fn inbox(&self, visitor: &Visitor<'_>) -> Answer {
        if visitor.member.role.is_of_publisher() {
            return self.publisher_inbox(visitor);
        }
        let asked = visitor.asked;
        let sees_customers = StaffPermission::Customers.is_of(visitor.member.role);
        let now = self.clock.now();
        let of = asked.asked_for("of").unwrap_or("all");
        let owner = match of {
            "all" => None,
            "mine" => Some(OwnerFilter::Member(&visitor.member.name)),
            "unassigned" => Some(OwnerFilter::Nobody),
            _ => return Err(PageError::NotFound),
        };
        let place = ListPlace::read(|name| asked.asked_for(name))?;
        let own = LeadFilter { dealer_id: visitor.dealer_id(), owner, ..LeadFilter::default() };
        let mut items = Vec::new();
        let mut page = LeadPageRows::default();
        if sees_customers {
            let filter =
                LeadFilter { waiting: Some(WaitingFor::Anything), oldest_first: true, ..own };
            page = LeadPageRows::read(&self.store, &filter, None, place, PAGE_SIZE)?;
            items.extend(page.leads.iter().map(|one| waiting_item(&one.lead, now)));
        }
        // What is not a lead has no owner, and is on the first page.
        if of == "all" && page.previous.is_none() {
            items.extend(self.failed(visitor, now, sees_customers)?);
            items.extend(self.offers_amiss(visitor, now)?);
        }
        items.sort_by_key(|item| item.at);
        let waiting = self.waiting(visitor, &own, now)?;
        let figures = figures(sees_customers.then_some(&waiting), &items, now);
        let href = |place: &[(&str, &str)]| {
            let fields = [("of", of)].into_iter().chain(place.iter().copied());
            let mut query = form_urlencoded::Serializer::new(String::new());
            format!("{PATH}?{}", query.extend_pairs(fields).finish())
        };
        let tabs = OWNERS.into_iter().filter(|_| sees_customers).map(|(name, label)| InboxTab {
            label,
            href: format!("{PATH}?of={name}"),
            is_here: name == of,
        });
        let frame = self.frame(visitor, "Inbox")?;
        Ok(ConsoleReply::page(&InboxPage {
            frame,
            figures,
            tabs: tabs.collect(),
            here: match place {
                ListPlace::Beginning => href(&[]),
                ListPlace::After(cursor) => href(&[("after", &cursor_text(cursor))]),
                ListPlace::Before(cursor) => href(&[("before", &cursor_text(cursor))]),
                ListPlace::End => href(&[("end", "yes")]),
            },
            items,
            due: (waiting.due > 0).then(|| due_steps(waiting.due, owner)),
            first: page.previous.as_ref().map(|_| href(&[])),
            previous: page.previous.as_deref().map(|cursor| href(&[("before", cursor)])),
            next: page.next.as_deref().map(|cursor| href(&[("after", cursor)])),
            last: page.next.as_ref().map(|_| href(&[("end", "yes")])),
            sees_customers,
        }))
    }

    /// Returns deliveries that were given up, one item for each lead.
    fn failed(
        &self,
        visitor: &Visitor<'_>,
        now: Timestamp,
        sees_customers: bool,
    ) -> Result<Vec<InboxItem>, PageError> {
        let state = Some(DeliveryState::Dead);
        let dead = self.store.deliveries(visitor.dealer_id(), None, state)?;
        let mut items: Vec<InboxItem> = Vec::new();
        let here = Local { zone: TimeZone::UTC, now };
        // The store returns the latest first, but the oldest failure of a lead decides its place.
        for delivery in dead.into_iter().rev() {
            // People who may not see customers may not open leads either.
            let href = if sees_customers {
                format!("{PATH}/leads/{}", delivery.lead_id)
            } else {
                format!("{PATH}/checklist")
            };
            let answer = delivery.answer.unwrap_or_else(|| "no answer".to_owned());
            let detail = format!("{}: {answer}", delivery.destination);
            let title = format!("Lead {} was not delivered", short_id(&delivery.lead_id));
            if let Some(known) = items.iter_mut().find(|item| item.title == title) {
                known.detail = format!("{}; {detail}", known.detail);
                continue;
            }
            let at = delivery.ended_at.unwrap_or(delivery.created_at);
            items.push(item(&here, at, InboxItemKind::Failed, title, detail, href));
        }
        Ok(items)
    }

    fn offers_amiss(
        &self,
        visitor: &Visitor<'_>,
        now: Timestamp,
    ) -> Result<Vec<InboxItem>, PageError> {
        let mut items = Vec::new();
        for seller in self.dealers(visitor) {
            let terms = &seller.dealer.terms;
            let summary = self.offers.summary(&self.store, terms)?;
            let here = self.local(std::slice::from_ref(&seller));
            let latest = summary.latest.unwrap_or(now);
            let feeds = FeedStatus::read_all(&self.store, &seller.dealer)?;
            for status in &feeds {
                let name = &status.feed.name;
                let href = if StaffPermission::Operate.is_of(visitor.member.role) {
                    address(&seller, name, None)
                } else {
                    format!("{PATH}/inventory")
                };
                if let Some(since) = status.standing.state.stale_since {
                    let title = format!("The feed {name} of {} is stale", terms.name);
                    let detail = format!("It {}", last_taken(status, now));
                    let href = href.clone();
                    items.push(item(&here, since, InboxItemKind::Stale, title, detail, href));
                }
                if let Some(run) = status.not_taken() {
                    let how = not_taken_because(run.outcome);
                    let title = format!("The feed {name} of {} {how}", terms.name);
                    let detail = run.message.clone().unwrap_or_default();
                    let at = run.ended_at;
                    items.push(item(&here, at, InboxItemKind::Feed, title, detail, href));
                }
            }
            if let Some(age) = unconfirmed_for(summary.latest, &feeds, now) {
                let title = format!("The inventory of {} is stale", terms.name);
                let detail = format!("The last listing was confirmed {} ago.", duration_text(age));
                let href = format!("{PATH}/inventory");
                items.push(item(&here, latest, InboxItemKind::Stale, title, detail, href));
            }
            let wrong = summary.count(ListingWarning::is_price);
            if wrong > 0 {
                let title =
                    format!("{} to correct at {}", counted(wrong, "price", "prices"), terms.name);
                let detail = "Buyers do not see the true out-the-door price.".to_owned();
                let href = format!("{PATH}/inventory?amiss=price");
                items.push(item(&here, latest, InboxItemKind::Price, title, detail, href));
            }
        }
        Ok(items)
    }

    /// Counts all waiting leads of a filter, also those that are not shown.
    fn waiting(
        &self,
        visitor: &Visitor<'_>,
        own: &LeadFilter<'_>,
        now: Timestamp,
    ) -> Result<WaitingLeads, PageError> {
        if !StaffPermission::Customers.is_of(visitor.member.role) {
            return Ok(WaitingLeads::default());
        }
        let count = |filter: LeadFilter<'_>| self.store.count_leads(&filter);
        let oldest =
            LeadFilter { waiting: Some(WaitingFor::Answer), oldest_first: true, limit: 1, ..*own };
        let received = Some(LeadState::Received);
        let stage = Some(StaffStage::Working);
        Ok(WaitingLeads {
            new: count(LeadFilter { waiting: Some(WaitingFor::Answer), ..*own })?,
            working: count(LeadFilter { state: received, stage, ..*own })?,
            held: count(LeadFilter { state: Some(LeadState::Held), ..*own })?,
            due: count(LeadFilter { due_before: Some(now), ..*own })?,
            oldest: self.store.lead_list(&oldest)?.first().map(|one| one.lead.received_at),
        })
    }
}

/// Returns the link to the leads whose next step is due.
fn due_steps(number: u32, owner: Option<OwnerFilter<'_>>) -> DueSteps {
    let owner = match owner {
        None => None,
        Some(OwnerFilter::Nobody) => Some(NOBODY),
        Some(OwnerFilter::Member(name)) => Some(name),
    };
    DueSteps {
        text: counted(number as usize, "next step is due", "next steps are due"),
        href: link("leads", [("due", Some("yes")), ("owner", owner)]),
    }
}

/// Returns the item of a lead that is new or held back.
fn waiting_item(lead: &LeadRecord, now: Timestamp) -> InboxItem {
    if lead.state == LeadState::Held {
        let why = lead.held_for.map(why_held).unwrap_or("held back");
        let detail = format!("{why} · {}", about(lead));
        return lead_item(lead, InboxItemKind::Held, detail, now);
    }
    lead_item(lead, InboxItemKind::Lead, about(lead), now)
}

fn figures(waiting: Option<&WaitingLeads>, items: &[InboxItem], now: Timestamp) -> Vec<Figure> {
    let number = |count: u32| thousands(count.into());
    let figure = |number, label, kind| Figure { number, label, kind };
    let mut figures = Vec::new();
    if let Some(waiting) = waiting {
        let waits =
            waiting.oldest.map_or("–".to_owned(), |at| duration_text(now.duration_since(at)));
        figures.extend([
            figure(number(waiting.new), "new leads", "lead"),
            figure(waits, "longest wait", ""),
            figure(number(waiting.working), "being worked on", ""),
            figure(number(waiting.held), "held back", "held"),
        ]);
    }
    let failed = items.iter().filter(|item| item.kind == InboxItemKind::Failed).count();
    figures.push(figure(thousands(failed as u64), "not delivered", "failed"));
    figures
}

fn lead_item(lead: &LeadRecord, kind: InboxItemKind, detail: String, now: Timestamp) -> InboxItem {
    let name = LeadView::new(lead).customer_name();
    let title = if name.is_empty() { "Customer without a name".to_owned() } else { name };
    let href = format!("{PATH}/leads/{}", lead.lead_id);
    let here = Local { zone: lead.zone(), now };
    let item = item(&here, lead.received_at, kind, title, detail, href);
    let waits = now.duration_since(lead.received_at);
    let urgency = match kind {
        InboxItemKind::Lead if waits >= LATE => "late",
        InboxItemKind::Lead if waits >= URGENT_AFTER => "soon",
        InboxItemKind::Lead
        | InboxItemKind::Held
        | InboxItemKind::Failed
        | InboxItemKind::Stale
        | InboxItemKind::Feed
        | InboxItemKind::Price => "",
    };
    InboxItem { urgency, ..item }
}

fn item(
    here: &Local,
    at: Timestamp,
    kind: InboxItemKind,
    title: String,
    detail: String,
    href: String,
) -> InboxItem {
    InboxItem { at, kind, title, detail, href, when: here.when(at), urgency: "" }
}

/// Describes a lead in one line.
pub(super) fn about(lead: &LeadRecord) -> String {
    let view = LeadView::new(lead);
    let car = view.vehicle().map(|vehicle| vehicle.title()).filter(|title| !title.is_empty());
    let names: Vec<_> = kinds(lead).into_iter().map(kind_name).collect();
    let rooftop = lead.submission.rooftop.clone();
    let parts = [Some(names.join(" and ")), car, rooftop];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

const fn kind_name(kind: LeadKind) -> &'static str {
    match kind {
        LeadKind::Sales => "Visit",
        LeadKind::Service => "Service",
        LeadKind::TestDrive => "Test drive",
        LeadKind::TradeIn => "Trade-in",
        LeadKind::Inquiry => "Inquiry",
    }
}

/// Returns the reason for which a lead is held back, in a few words.
pub(super) const fn why_held(why: HeldFor) -> &'static str {
    match why {
        HeldFor::DeniedAgent => "agent is denied",
        HeldFor::UnlistedAgent => "agent is not on your list",
        HeldFor::Velocity => "too many leads at once",
        HeldFor::Quota => "agent's quota is used up",
    }
}

/// Returns the end of an id, which is the part that differs.
pub(super) fn short_id(id: &str) -> &str {
    id.char_indices().rev().nth(7).and_then(|(start, _)| id.get(start..)).unwrap_or(id)
}
