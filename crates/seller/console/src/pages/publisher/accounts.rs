//! Accounts of advertisers.

use askama::Template;
use jiff::tz::TimeZone;
use tradepost_admin::AdminOperation;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_publisher::account::AccountStatus;
use tradepost_publisher::staff::DecisionSubject;
use tradepost_publisher::staff::list::{Page, Subject};
use tradepost_runtime::adcp::sales;

use super::super::{Answer, Console, ConsoleReply, Local, PageFrame, ShownMoment, Visitor, headed};
use super::{
    Fact, Fields, StateTab, TimelineEntry, first_page, flight, next_page, show_link, state_class,
    state_tabs, timeline,
};
use tradepost_publisher::staff::list::Filter;

/// Number of media buys on the page of an account.
const MAX_BUYS: usize = 10;

#[derive(Debug, Template)]
#[template(path = "publisher/accounts.html")]
struct AccountsPage {
    frame: PageFrame,
    tabs: Vec<StateTab>,
    rows: Vec<AccountRow>,
    first: Option<String>,
    next: Option<String>,
}

#[derive(Debug)]
struct AccountRow {
    href: String,
    name: String,
    id: String,
    state: String,
    class: &'static str,
    agent: String,
    billing: String,
    is_test: bool,
    made: Option<ShownMoment>,
}

#[derive(Debug, Template)]
#[template(path = "publisher/account.html")]
struct AdAccountPage {
    frame: PageFrame,
    id: String,
    name: String,
    about: String,
    state: String,
    class: &'static str,
    /// Status that the forms are about.
    seen: String,
    is_test: bool,
    forms: Vec<AccountForm>,
    may_close: bool,
    facts: Vec<Fact>,
    grants: Vec<String>,
    buys: Vec<AccountBuy>,
    timeline: Vec<TimelineEntry>,
}

/// Form with one button.
#[derive(Debug)]
struct AccountForm {
    action: &'static str,
    label: &'static str,
    class: &'static str,
}

#[derive(Debug)]
struct AccountBuy {
    href: String,
    id: String,
    state: String,
    class: &'static str,
    budget: String,
    flight: String,
}

impl Console {
    pub(crate) fn ad_accounts(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let listing = self.listing(visitor, &agent, Subject::Accounts, None)?;
        let rows = listing.rows.iter().map(|row| {
            let fields = Fields::new(&row.document);
            let id = fields.or_empty("id");
            let state = fields.or_empty("state");
            AccountRow {
                href: show_link(DecisionSubject::Account, &id, None, None),
                name: fields.text("name").unwrap_or_else(|| id.clone()),
                class: state_class(&state),
                state: headed(&state),
                agent: fields.or_empty("agent"),
                billing: fields.or_empty("billing"),
                is_test: fields.is("sandbox"),
                made: fields.when("created_at", &here),
                id,
            }
        });
        Ok(ConsoleReply::page(&AccountsPage {
            rows: rows.collect(),
            tabs: state_tabs(visitor, "ad-accounts", &Subject::Accounts.states()),
            first: first_page(visitor, "ad-accounts"),
            next: next_page(visitor, "ad-accounts", &listing),
            frame: self.frame(visitor, "Accounts")?,
        }))
    }

    pub(crate) fn ad_account(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let document = self.record(visitor, &agent, Subject::Accounts)?;
        let fields = Fields::new(&document);
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let id = fields.or_empty("id");
        let state = fields.or_empty("state");
        let role = visitor.member.role;
        let may = |operation: AdminOperation| operation.permission().is_of(role);
        let status = AccountStatus::from_name(&state);
        let filter = Filter { account: Some(id.clone()), ..Filter::default() };
        let page = Page { after: None, limit: MAX_BUYS };
        let store = agent.publisher_store();
        let buys =
            sales::list_full(store, &agent.publisher(), Subject::Buys, &filter, page, here.now);
        let buys = buys.map_err(super::unlisted)?;
        Ok(ConsoleReply::page(&AdAccountPage {
            name: fields.text("name").unwrap_or_else(|| id.clone()),
            about: about(fields),
            class: state_class(&state),
            state: headed(&state),
            is_test: fields.is("sandbox"),
            forms: forms(status, may),
            may_close: may(AdminOperation::Close)
                && matches!(status, Some(AccountStatus::Active | AccountStatus::Suspended)),
            facts: super::super::known([
                ("Account", Some(id.clone())),
                ("Agent", fields.text("agent")),
                ("Brand", brand(fields)),
                ("Operator", fields.text("operator")),
                ("Billed to", fields.text("billing")),
                ("Payment terms", fields.text("payment_terms")),
                ("Paying entity", fields.text("billing_entity")),
                ("To be done first", fields.text("setup")),
                ("Funds", fields.text("funds")),
                ("Governance", fields.text("governance_agents")),
            ]),
            grants: fields.items("grants").iter().map(grant).collect(),
            buys: buys.rows.iter().map(|row| buy(Fields::new(&row.document))).collect(),
            timeline: timeline(fields, &here),
            frame: self.frame(visitor, "Account")?,
            seen: state,
            id,
        }))
    }
}

/// Returns the brand: its domain, and its id in a house of several.
fn brand(fields: Fields<'_>) -> Option<String> {
    let brand = Fields::new(fields.get("brand")?);
    let parts = [brand.text("domain"), brand.text("brand_id")];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

fn about(fields: Fields<'_>) -> String {
    let agent = fields.text("agent").map(|agent| format!("agent {agent}"));
    let operator = fields.text("operator").map(|operator| format!("operator {operator}"));
    [operator, agent].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Returns the buttons for the steps that lead on from a status.
fn forms(status: Option<AccountStatus>, may: impl Fn(AdminOperation) -> bool) -> Vec<AccountForm> {
    let form = |action, label, class| AccountForm { action, label, class };
    let found = match status {
        Some(AccountStatus::PendingApproval) => vec![
            (AdminOperation::Approve, form("approve", "Approve", "")),
            (AdminOperation::Decline, form("decline", "Decline", "danger")),
        ],
        Some(AccountStatus::Active) => vec![
            (AdminOperation::Suspend, form("suspend", "Suspend", "plain")),
            (AdminOperation::DemandPayment, form("payment-due", "Demand a payment", "plain")),
        ],
        Some(AccountStatus::PaymentRequired) => {
            let settled = form("payment-settled", "Payment received", "");
            vec![(AdminOperation::SettlePayment, settled)]
        }
        Some(AccountStatus::Suspended) => {
            vec![(AdminOperation::Resume, form("resume", "Resume", ""))]
        }
        Some(AccountStatus::Rejected | AccountStatus::Closed) | None => Vec::new(),
    };
    found.into_iter().filter_map(|(operation, form)| may(operation).then_some(form)).collect()
}

fn grant(grant: &Value) -> String {
    let fields = Fields::new(grant);
    let tasks = fields.text("tasks").unwrap_or_else(|| "all tasks".to_owned());
    let only = if fields.is("read_only") { ", read only" } else { "" };
    format!("{}: {tasks}{only}", fields.or_empty("agent"))
}

fn buy(fields: Fields<'_>) -> AccountBuy {
    let id = fields.or_empty("id");
    let state = fields.or_empty("state");
    AccountBuy {
        href: show_link(DecisionSubject::Buy, &id, None, None),
        class: state_class(&state),
        state: headed(&state),
        budget: fields.money("budget").unwrap_or_default(),
        flight: flight(fields),
        id,
    }
}
