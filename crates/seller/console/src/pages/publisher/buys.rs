//! List of a publisher's media buys.

use askama::Template;
use jiff::tz::TimeZone;
use tradepost_admin::AdminOperation;
use tradepost_publisher::staff::DecisionSubject;
use tradepost_publisher::staff::list::Subject;

use super::super::{Answer, Console, ConsoleReply, Local, PageFrame, ShownMoment, Visitor, headed};
use super::{Fields, StateTab, first_page, flight, next_page, show_link, state_class, state_tabs};

#[derive(Debug, Template)]
#[template(path = "publisher/buys.html")]
struct BuysPage {
    frame: PageFrame,
    tabs: Vec<StateTab>,
    rows: Vec<BuyRow>,
    may_report: bool,
    first: Option<String>,
    next: Option<String>,
}

#[derive(Debug)]
struct BuyRow {
    id: String,
    href: String,
    state: String,
    class: &'static str,
    agent: String,
    products: String,
    budget: String,
    spent: String,
    flight: String,
    made: Option<ShownMoment>,
}

impl Console {
    pub(crate) fn buys(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let listing = self.listing(visitor, &agent, Subject::Buys, None)?;
        let rows = listing.rows.iter().map(|row| {
            let fields = Fields::new(&row.document);
            let id = fields.or_empty("id");
            let state = fields.or_empty("state");
            BuyRow {
                href: show_link(DecisionSubject::Buy, &id, None, None),
                class: state_class(&state),
                state: headed(&state),
                agent: fields.or_empty("agent"),
                products: fields.or_empty("products"),
                budget: fields.money("budget").unwrap_or_default(),
                spent: fields.money("spent").unwrap_or_default(),
                flight: flight(fields),
                made: fields.when("created_at", &here),
                id,
            }
        });
        Ok(ConsoleReply::page(&BuysPage {
            rows: rows.collect(),
            may_report: AdminOperation::ReportDelivery.permission().is_of(visitor.member.role),
            tabs: state_tabs(visitor, "buys", &Subject::Buys.states()),
            first: first_page(visitor, "buys"),
            next: next_page(visitor, "buys", &listing),
            frame: self.frame(visitor, "Media buys")?,
        }))
    }
}
