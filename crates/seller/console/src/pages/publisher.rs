//! Pages of publishers: what waits for a person, media buys, creatives, accounts, agents, products and the set-up.
//! They show what the lists of [`tradepost_publisher::staff`] return, as the command line does.

use jiff::Timestamp;
use tradepost_document::format::timestamp;
use tradepost_document::json::Value;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::staff::list::{Cursor, Filter, Listing, Page, Subject};
use tradepost_publisher::staff::show::NotShown;
use tradepost_publisher::staff::waiting::waiting;
use tradepost_publisher::staff::{DecisionError, DecisionSubject, StaffView};
use tradepost_runtime::adcp::sales;
use tradepost_runtime::adcp::seller::PublisherAgent;

use super::{Console, Local, PageError, ShownMoment, Visitor, ago, link, plain, thousands};

mod accounts;
pub(crate) mod agents;
mod buy;
mod buys;
mod creatives;
mod delivery;
mod inbox;
mod pace;
mod preview;
mod products;
mod remote;
mod set_up;

/// Number of rows on a page.
const PAGE_SIZE: usize = 50;

/// Form of a day.
const DAY_FORMAT: &str = "%b %-d, %Y";

/// Maximum number that is counted for the navigation.
const MAX_COUNTED: usize = 99;

/// Filters of a list by state, with its rows.
#[derive(Debug)]
struct StateTab {
    label: String,
    href: String,
    is_here: bool,
}

/// A fact with its label.
type Fact = (&'static str, String);

/// An entry of a timeline.
#[derive(Debug)]
struct TimelineEntry {
    when: Option<ShownMoment>,
    what: String,
    by: Option<String>,
    text: Option<String>,
}

/// A document of a list or of a record, as texts.
#[derive(Debug, Clone, Copy)]
struct Fields<'d> {
    document: &'d Value,
}

impl<'d> Fields<'d> {
    const fn new(document: &'d Value) -> Self {
        Self { document }
    }

    fn get(self, name: &str) -> Option<&'d Value> {
        self.document.get(name).filter(|value| !value.is_null())
    }

    /// Returns a member as text; `None` when it is absent or empty.
    fn text(self, name: &str) -> Option<String> {
        self.get(name).map(sales::text).filter(|text| !text.is_empty())
    }

    fn or_empty(self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    fn is(self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    fn items(self, name: &str) -> &'d [Value] {
        self.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn at(self, name: &str) -> Option<Timestamp> {
        timestamp(self.get(name)?.as_str()?)
    }

    fn when(self, name: &str, here: &Local) -> Option<ShownMoment> {
        self.at(name).map(|at| here.when(at))
    }

    /// Returns an amount with its currency: `12,500 USD`.
    fn money(self, name: &str) -> Option<String> {
        let amount = amount(&self.text(name)?);
        Some(match self.text("currency") {
            Some(currency) => format!("{amount} {currency}"),
            None => amount,
        })
    }
}

/// Writes a number with commas between the thousands; a fraction stays.
fn amount(digits: &str) -> String {
    let whole = digits.split('.').next().unwrap_or_default();
    let Ok(number) = whole.parse::<u64>() else { return digits.to_owned() };
    format!("{}{}", thousands(number), digits.get(whole.len()..).unwrap_or_default())
}

/// Returns the start and the end of a flight.
fn flight(fields: Fields<'_>) -> String {
    let start = fields.at("start_time");
    let end = fields.at("end_time");
    let year = |at: Option<Timestamp>| at.map(|at| at.strftime("%Y").to_string());
    // The year is written once where both are in it.
    let begins = if year(start) == year(end) { "%b %-d" } else { DAY_FORMAT };
    let day = |at: Option<Timestamp>, form: &str| at.map(|at| at.strftime(form).to_string());
    match (day(start, if end.is_some() { begins } else { DAY_FORMAT }), day(end, DAY_FORMAT)) {
        (Some(start), Some(end)) => format!("{start} – {end}"),
        (Some(day), None) | (None, Some(day)) => day,
        (None, None) => String::new(),
    }
}

/// Returns the CSS class of a state's badge.
fn state_class(state: &str) -> &'static str {
    match state {
        "active" | "approved" | "completed" | "delivering" | "ready" => "good",
        "pending_approval" | "pending_review" | "pending_creatives" | "pending_start"
        | "submitted" | "processing" | "paused" | "suspended" | "payment_required" => "warning",
        "rejected" | "failed" | "canceled" | "closed" | "blocked" => "bad",
        _ => "",
    }
}

/// Returns the entries of a record's history, the latest first.
fn timeline(fields: Fields<'_>, here: &Local) -> Vec<TimelineEntry> {
    let entry = |value: &Value| {
        let change = Fields::new(value);
        let what = change.or_empty("what");
        TimelineEntry {
            when: change.when("at", here),
            what: super::headed(&what),
            by: change.text("by").or_else(|| change.text("decider")),
            text: change.text("reason").or_else(|| change.text("summary")),
        }
    };
    fields.items("history").iter().rev().map(entry).collect()
}

/// Returns the address of a record's page.
pub(crate) fn show_link(
    matter: DecisionSubject,
    id: &str,
    account: Option<&str>,
    done: Option<&str>,
) -> String {
    let page = match matter {
        DecisionSubject::Account => "ad-accounts/show",
        DecisionSubject::Creative => "creatives/show",
        DecisionSubject::Task => "buys/waiting",
        DecisionSubject::Buy => "buys/show",
    };
    link(page, [("id", Some(id)), ("account", account), ("done", done)])
}

/// Formats a time relative to now.
pub(crate) fn ago_text(at: Timestamp, now: Timestamp) -> String {
    ago(at, now)
}

impl Console {
    /// Returns how many things wait for a person of the visitor's publisher, up to a maximum.
    pub(crate) fn waiting_count(&self, visitor: &Visitor<'_>) -> Result<u32, PageError> {
        if !visitor.member.role.is_of_publisher() {
            return Ok(0);
        }
        let Ok(agent) = self.publisher(visitor) else { return Ok(0) };
        let publisher = agent.publisher();
        let now = self.clock.now();
        let page = agent.publisher_store().look(|reader| {
            waiting(StaffView { publisher: &publisher, reader, now }, None, MAX_COUNTED)
        })?;
        let stopped = self.stopped_count(visitor, &publisher)?;
        let waiting = (page.items.len() + stopped).min(MAX_COUNTED);
        Ok(u32::try_from(waiting).unwrap_or(u32::MAX))
    }

    /// Lists a page of a publisher's records, in the state that the address names.
    fn listing(
        &self,
        visitor: &Visitor<'_>,
        agent: &PublisherAgent,
        subject: Subject,
        account: Option<&str>,
    ) -> Result<Listing, PageError> {
        let asked = visitor.asked;
        let state = asked.asked_for("state").map(str::to_owned);
        if state.as_deref().is_some_and(|state| !subject.states().contains(&state)) {
            return Err(PageError::NotFound);
        }
        let after = asked.asked_for("after").map(str::parse::<Cursor>).transpose();
        let after = after.map_err(|_| PageError::NotFound)?;
        let account = account.map(str::to_owned);
        let filter = Filter { state, account, ..Filter::default() };
        let page = Page { after, limit: PAGE_SIZE };
        let publisher = agent.publisher();
        let now = self.clock.now();
        let store = agent.publisher_store();
        sales::list_full(store, &publisher, subject, &filter, page, now).map_err(unlisted)
    }

    /// Returns everything about the record that the address names.
    fn record(
        &self,
        visitor: &Visitor<'_>,
        agent: &PublisherAgent,
        subject: Subject,
    ) -> Result<Value, PageError> {
        let id = visitor.asked.asked_for("id").ok_or(PageError::NotFound)?;
        let account = visitor.asked.asked_for("account");
        let publisher: Publisher = agent.publisher();
        let now = self.clock.now();
        let store = agent.publisher_store();
        sales::show(store, &publisher, subject, id, account, now).map_err(unshown)
    }
}

/// Returns the tabs of a list: all records, and those in each state.
fn state_tabs(visitor: &Visitor<'_>, page: &str, states: &[&'static str]) -> Vec<StateTab> {
    let chosen = visitor.asked.asked_for("state");
    let all = StateTab {
        label: "All".to_owned(),
        href: link(page, [("state", None)]).trim_end_matches('?').to_owned(),
        is_here: chosen.is_none(),
    };
    let states = states.iter().map(|state| StateTab {
        label: super::headed(&plain(state)),
        href: link(page, [("state", Some(state))]),
        is_here: chosen == Some(state),
    });
    std::iter::once(all).chain(states).collect()
}

/// Returns the address of the next page of a list.
fn next_page(visitor: &Visitor<'_>, page: &str, listing: &Listing) -> Option<String> {
    let next = listing.next?.to_string();
    let state = visitor.asked.asked_for("state");
    Some(link(page, [("state", state), ("after", Some(&next))]))
}

/// Returns the address of the first page of a list, on a later one.
fn first_page(visitor: &Visitor<'_>, page: &str) -> Option<String> {
    visitor.asked.asked_for("after")?;
    let state = visitor.asked.asked_for("state");
    Some(link(page, [("state", state)]))
}

fn unlisted(error: DecisionError) -> PageError {
    match error {
        DecisionError::Broken(fault) => PageError::Broken(fault),
        DecisionError::Absent
        | DecisionError::Ambiguous(_)
        | DecisionError::Impossible { .. }
        | DecisionError::Changed { .. }
        | DecisionError::SamePerson(_)
        | DecisionError::Objections(_)
        | DecisionError::Invalid(_) => PageError::NotFound,
    }
}

fn unshown(why: NotShown) -> PageError {
    match why {
        NotShown::Absent | NotShown::SeveralBuys(_) => PageError::NotFound,
        NotShown::SeveralAccounts(_) => PageError::Conflict(
            "Several accounts have a record with this id. Open it from its list.".to_owned(),
        ),
        NotShown::Broken(fault) => PageError::Broken(fault),
    }
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn amounts_have_commas_and_keep_their_fraction() {
        for (digits, expected) in [
            ("0", "0"),
            ("5001", "5,001"),
            ("1234567.5", "1,234,567.5"),
            ("-3", "-3"),
            ("many", "many"),
        ] {
            assert_eq!(amount(digits), expected);
        }
    }
}
