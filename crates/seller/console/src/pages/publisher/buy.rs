//! The page of a media buy, and that of one which waits for approval.

use askama::Template;
use jiff::tz::TimeZone;
use tradepost_admin::AdminOperation;
use tradepost_document::json::Value;
use tradepost_publisher::remote_order::RemoteOrder;
use tradepost_publisher::staff::DecisionSubject;
use tradepost_publisher::staff::list::Subject;

use super::super::{
    Answer, Console, ConsoleReply, Local, PageError, PageFrame, ShownMoment, Visitor, headed, link,
};
use super::pace::PaceChart;
use super::remote::{LineItemRow, RemoteSection};
use super::{Fact, Fields, TimelineEntry, amount, flight, show_link, state_class, timeline};

#[derive(Debug, Template)]
#[template(path = "publisher/buy.html")]
struct BuyPage {
    frame: PageFrame,
    id: String,
    about: String,
    state: String,
    class: &'static str,
    /// Revision that the forms are about.
    seen: String,
    held: Option<HeldBuy>,
    may: BuyForms,
    /// Address for reporting its delivery, if the visitor may.
    report_href: Option<String>,
    figures: Vec<Fact>,
    chart: Option<PaceChart>,
    packages: Vec<PackageRow>,
    terms: Vec<(String, String)>,
    facts: Vec<Fact>,
    impairments: Vec<String>,
    remote: Option<RemoteSection>,
    timeline: Vec<TimelineEntry>,
    notices: Vec<NoticeRow>,
}

/// Forms that the visitor may use in the buy's present state.
#[derive(Debug)]
struct BuyForms {
    pause: bool,
    resume: bool,
    cancel: bool,
}

/// Pause by the publisher.
#[derive(Debug)]
struct HeldBuy {
    since: Option<ShownMoment>,
    reason: Option<String>,
}

#[derive(Debug)]
struct PackageRow {
    id: String,
    product: String,
    product_id: String,
    state: Option<String>,
    class: &'static str,
    budget: String,
    flight: String,
    delivered: String,
    targeting: Option<String>,
    creatives: Vec<PackageCreative>,
    line_item: Option<LineItemRow>,
}

#[derive(Debug)]
struct PackageCreative {
    id: String,
    href: String,
    state: Option<String>,
    class: &'static str,
}

/// A message to the publisher's staff.
#[derive(Debug)]
struct NoticeRow {
    when: ShownMoment,
    destination: String,
    state: String,
    answer: Option<String>,
}

#[derive(Debug, Template)]
#[template(path = "publisher/waiting.html")]
struct WaitingBuyPage {
    frame: PageFrame,
    id: String,
    account: String,
    about: String,
    state: String,
    class: &'static str,
    seen: String,
    /// True when the visitor may decide, and a decision is waited for.
    may_decide: bool,
    /// True while somebody has to decide.
    is_open: bool,
    needs_two: bool,
    approvals: Vec<(String, Option<ShownMoment>)>,
    has_approved: bool,
    buy_href: Option<String>,
    figures: Vec<Fact>,
    packages: Vec<PackageRow>,
    terms: Vec<(String, String)>,
    facts: Vec<Fact>,
    errors: Vec<String>,
    timeline: Vec<TimelineEntry>,
    notices: Vec<NoticeRow>,
}

impl Console {
    pub(crate) fn buy(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let document = self.record(visitor, &agent, Subject::Buys)?;
        let fields = Fields::new(&document);
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let id = fields.or_empty("id");
        let state = fields.or_empty("state");
        let role = visitor.member.role;
        let is_over = matches!(state.as_str(), "completed" | "rejected" | "canceled");
        let is_held = fields.get("held_since").is_some();
        let may = |operation: AdminOperation| operation.permission().is_of(role) && !is_over;
        let reports =
            AdminOperation::ReportDelivery.permission().is_of(role) && state != "rejected";
        let chart = PaceChart::new(fields, here.now);
        let delivery = fields.get("delivery").map(Fields::new);
        let impressions = delivery.and_then(|delivery| delivery.text("impressions"));
        let mut figures = vec![
            ("budget", fields.money("budget").unwrap_or_default()),
            ("spent", fields.money("spent").unwrap_or_default()),
            ("impressions", amount(&impressions.unwrap_or_else(|| "0".to_owned()))),
        ];
        let pace = chart.as_ref().and_then(|chart| chart.pace.clone());
        figures.extend(pace.map(|pace| ("of an even pace", pace)));
        let impairments = fields.items("impairments").iter().map(|one| {
            let one = Fields::new(one);
            let id = one.or_empty("resource_id");
            format!(
                "The creative {id} cannot run: {}.",
                one.or_empty("reason_code").replace('_', " ")
            )
        });
        let task = fields.text("task");
        let remote = self.remote_order(visitor, &agent.publisher(), &id)?;
        Ok(ConsoleReply::page(&BuyPage {
            about: about(fields),
            class: state_class(&state),
            state: headed(&state),
            seen: fields.or_empty("revision"),
            held: is_held.then(|| HeldBuy {
                since: fields.when("held_since", &here),
                reason: fields.text("held_because"),
            }),
            may: BuyForms {
                pause: may(AdminOperation::PauseBuy) && !is_held,
                resume: may(AdminOperation::Resume) && is_held,
                cancel: may(AdminOperation::CancelBuy),
            },
            report_href: reports.then(|| link("delivery", [("id", Some(id.as_str()))])),
            figures,
            chart,
            packages: packages(fields, remote.as_ref()),
            remote: remote.as_ref().map(|order| {
                let packages = fields.items("packages").iter().map(Fields::new);
                let needs_order = { packages }.any(|package| package.get("deal").is_none());
                RemoteSection::new(order, needs_order, visitor, &here)
            }),
            terms: terms(fields.get("terms")),
            facts: known_facts([
                ("Media buy", Some(id.clone())),
                ("Account", fields.text("account")),
                ("Agent", fields.text("agent")),
                ("Flight", Some(flight(fields))),
                ("Confirmed", fields.at("confirmed_at").map(|at| here.spoken(at))),
                ("Task", task.clone()),
                ("Proposal", fields.text("proposal")),
                ("Plan", fields.text("plan")),
                ("Rejected because", fields.text("rejection_reason")),
                ("Canceled by", canceled(fields)),
                ("Revision", fields.text("revision")),
            ]),
            impairments: impairments.collect(),
            timeline: timeline(fields, &here),
            notices: self.notices(visitor, &[Some(id.as_str()), task.as_deref()], &here)?,
            frame: self.frame(visitor, "Media buy")?,
            id,
        }))
    }

    pub(crate) fn waiting_buy(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let document = self.record(visitor, &agent, Subject::Tasks)?;
        let fields = Fields::new(&document);
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let id = fields.or_empty("id");
        let state = fields.or_empty("state");
        let is_open = fields.get("waits_for").is_some();
        let may = AdminOperation::Approve.permission().is_of(visitor.member.role);
        let approvals: Vec<_> = fields.items("approvals").iter().map(Fields::new).collect();
        let own = |one: &Fields<'_>| one.text("by").is_some_and(|by| is_person(&by, visitor));
        let errors =
            fields.items("errors").iter().map(|error| Fields::new(error).or_empty("message"));
        Ok(ConsoleReply::page(&WaitingBuyPage {
            account: fields.or_empty("account"),
            about: about(fields),
            class: state_class(&state),
            state: headed(&state),
            seen: fields.or_empty("revision"),
            may_decide: may && is_open,
            is_open,
            needs_two: fields.is("needs_two_approvals"),
            has_approved: approvals.iter().any(own),
            approvals: approvals
                .iter()
                .map(|one| (one.or_empty("by"), one.when("at", &here)))
                .collect(),
            buy_href: fields
                .text("media_buy")
                .map(|buy| show_link(DecisionSubject::Buy, &buy, None, None)),
            figures: vec![
                ("budget", fields.money("budget").unwrap_or_default()),
                ("packages", fields.items("packages").len().to_string()),
            ],
            packages: packages(fields, None),
            terms: terms(fields.get("terms")),
            facts: known_facts([
                ("Task", Some(id.clone())),
                ("Account", fields.text("account")),
                ("Asked by", fields.text("asked_by")),
                ("Flight", Some(flight(fields))),
                ("Decides by itself", fields.at("decides_at").map(|at| here.spoken(at))),
                ("Reason", fields.text("reason")),
                ("Tells the buyer at", fields.text("notifies")),
            ]),
            errors: errors.collect(),
            timeline: timeline(fields, &here),
            notices: self.notices(visitor, &[Some(id.as_str())], &here)?,
            frame: self.frame(visitor, "Media buy to approve")?,
            id,
        }))
    }

    /// Returns the messages to the staff about these subjects, the latest first.
    fn notices(
        &self,
        visitor: &Visitor<'_>,
        subjects: &[Option<&str>],
        here: &Local,
    ) -> Result<Vec<NoticeRow>, PageError> {
        let mut rows = Vec::new();
        for subject in subjects.iter().flatten() {
            let found =
                self.store.publisher_deliveries(visitor.dealer_id(), Some(subject), None)?;
            rows.extend(found.into_iter().map(|record| NoticeRow {
                when: here.when(record.ended_at.unwrap_or(record.created_at)),
                destination: record.destination,
                state: record.state.to_string(),
                answer: record.answer,
            }));
        }
        Ok(rows)
    }
}

/// Returns true when a name of the record is the visitor's, also where an operator has named the visitor.
fn is_person(by: &str, visitor: &Visitor<'_>) -> bool {
    by == visitor.member.name || by.starts_with(&format!("{} by ", visitor.member.name))
}

/// Returns account and agent in one line.
fn about(fields: Fields<'_>) -> String {
    let account = fields.text("account_name").or_else(|| fields.text("account"));
    let agent = fields.text("asked_by").or_else(|| fields.text("agent"));
    let agent = agent.map(|agent| format!("agent {agent}"));
    [account, agent].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn canceled(fields: Fields<'_>) -> Option<String> {
    let canceled = Fields::new(fields.get("cancellation")?);
    let by = canceled.text("canceled_by")?;
    Some(match canceled.text("reason") {
        Some(reason) => format!("{by}: {reason}"),
        None => by,
    })
}

/// Returns the packages, with their line items where there is an order at the ad server.
fn packages(fields: Fields<'_>, remote: Option<&RemoteOrder>) -> Vec<PackageRow> {
    let currency = fields.or_empty("currency");
    let account = fields.text("account");
    let row = |document: &Value| {
        let package = Fields::new(document);
        let state = package.text("state");
        let delivery = package.get("delivery").map(Fields::new);
        let delivered = delivery.map(|delivery| {
            let impressions = amount(&delivery.or_empty("impressions"));
            format!("{impressions} impressions, {} {currency}", amount(&delivery.or_empty("spend")))
        });
        let creatives = package.items("creatives").iter().map(|creative| {
            let creative = Fields::new(creative);
            let id = creative.text("id").or_else(|| creative.text("creative_id"));
            let id = id.unwrap_or_default();
            let state = creative.text("state");
            PackageCreative {
                href: show_link(DecisionSubject::Creative, &id, account.as_deref(), None),
                class: state.as_deref().map(state_class).unwrap_or_default(),
                state: state.map(|state| headed(&state)),
                id,
            }
        });
        PackageRow {
            id: package.or_empty("id"),
            product: package.text("product_name").unwrap_or_else(|| package.or_empty("product")),
            product_id: package.or_empty("product"),
            class: state.as_deref().map(state_class).unwrap_or_default(),
            state: state.map(|state| headed(&state)),
            budget: format!("{} {currency}", amount(&package.or_empty("budget"))),
            flight: flight(package),
            delivered: delivered.unwrap_or_default(),
            targeting: package.text("targeting"),
            creatives: creatives.collect(),
            line_item: LineItemRow::from_deal(package, &currency).or_else(|| {
                remote.and_then(|order| LineItemRow::from_package(order, &package.or_empty("id")))
            }),
        }
    };
    fields.items("packages").iter().map(row).collect()
}

/// Returns the terms of a purchase as the buyer sent them.
fn terms(terms: Option<&Value>) -> Vec<(String, String)> {
    let members = terms.and_then(Value::as_object);
    let members = members.into_iter().flatten();
    let terms =
        members.map(|(name, value)| (headed(name), tradepost_runtime::adcp::sales::text(value)));
    terms.filter(|(_, text)| !text.is_empty()).collect()
}

/// Returns the facts that are known.
fn known_facts<const N: usize>(facts: [(&'static str, Option<String>); N]) -> Vec<Fact> {
    super::super::known(facts).into_iter().filter(|(_, text)| !text.is_empty()).collect()
}
