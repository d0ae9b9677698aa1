//! Data of the pages as texts. The layout is in the templates, which escape every text.

use std::borrow::Cow;
use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::local_time::spoken;
use tradepost_dealer::staff::{StaffRole, StaffStage};
use tradepost_document::format::rfc3339;
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_store::staff::{LeadFilter, WaitingFor};

use super::reply::ConsoleReply;
use super::request::ConsoleRequest;
use super::sign_in::Visitor;
use super::{Answer, Console, PATH, PageError, actions};
use tradepost_admin::StaffPermission;

pub(super) mod account;
mod agent;
pub(super) mod appointments;
mod buyers;
pub(super) mod change_forms;
mod chart;
mod feeds;
mod inbox;
mod inventory;
mod lead;
pub(super) mod lead_query;
pub(super) mod leads;
mod people;
mod preview;
mod probe;
pub(super) mod publisher;
mod refusals;
mod steps;
mod week;

/// Parts that all pages share.
#[derive(Debug)]
pub(super) struct PageFrame {
    title: &'static str,
    nav: Vec<PageLink>,
    who: String,
    role: &'static str,
    dealer: String,
    proof: String,
    done: Option<&'static str>,
}

/// A link in the navigation.
#[derive(Debug)]
struct PageLink {
    label: &'static str,
    href: &'static str,
    icon: &'static str,
    is_here: bool,
    count: u32,
    /// Noun of what is counted.
    counted: &'static str,
}

/// Pages of the navigation, the most important first: label, path, icon and required permission.
const NAV: [(&str, &str, &str, StaffPermission); 18] = [
    ("Inbox", "/console", "inbox", StaffPermission::Enter),
    ("Media buys", "/console/buys", "buy", StaffPermission::ViewPublisher),
    ("Creatives", "/console/creatives", "image", StaffPermission::ViewPublisher),
    ("Accounts", "/console/ad-accounts", "leads", StaffPermission::ViewPublisher),
    ("Agents", "/console/ad-agents", "key", StaffPermission::ViewPublisher),
    ("Products", "/console/products", "card", StaffPermission::ViewPublisher),
    ("Set-up", "/console/set-up", "check", StaffPermission::ViewPublisher),
    ("Leads", "/console/leads", "leads", StaffPermission::Customers),
    ("Appointments", "/console/appointments", "calendar", StaffPermission::Customers),
    ("Inventory", "/console/inventory", "car", StaffPermission::SeeVehicles),
    ("Feeds", "/console/feeds", "feed", StaffPermission::Operate),
    ("Week", "/console/week", "week", StaffPermission::SeeFigures),
    ("Buyers", "/console/buyers", "chart", StaffPermission::Operate),
    ("Refusals", "/console/refusals", "refusal", StaffPermission::SeeRefusals),
    ("Card", "/console/card", "card", StaffPermission::Operate),
    ("Checklist", "/console/checklist", "check", StaffPermission::Operate),
    ("People", "/console/people", "people", StaffPermission::Enter),
    ("Audit", "/console/audit", "audit", StaffPermission::ReadRecord),
];

/// A state as a page shows it.
#[derive(Debug)]
struct StateLabel {
    /// CSS class, which has its colour.
    class: &'static str,
    label: &'static str,
}

/// A time as a page shows it.
#[derive(Debug, Clone)]
pub(super) struct ShownMoment {
    /// In RFC 3339, for machines.
    iso: String,
    /// In the rooftop's time zone.
    text: String,
    /// Distance from now.
    ago: String,
}

/// Time zone of a page, and the time at which it is made.
#[derive(Debug)]
struct Local {
    zone: TimeZone,
    now: Timestamp,
}

impl Local {
    fn when(&self, at: Timestamp) -> ShownMoment {
        ShownMoment { iso: rfc3339(at), text: self.spoken(at), ago: ago(at, self.now) }
    }

    fn spoken(&self, at: Timestamp) -> String {
        spoken(at, &self.zone, self.now)
    }

    /// Returns the day of a time.
    fn date(&self, at: Timestamp) -> Date {
        at.to_zoned(self.zone.clone()).date()
    }
}

/// The sign-in page.
#[derive(Debug, Template)]
#[template(path = "sign-in.html")]
pub(super) struct SignIn {
    pub(super) proof: String,
    pub(super) trouble: Option<&'static str>,
    pub(super) next: String,
    /// Label of the provider, if there is one.
    pub(super) provider: Option<String>,
}

/// The page that leads on after a sign-in at a provider.
#[derive(Debug, Template)]
#[template(path = "signed-in.html")]
pub(super) struct SignedIn {
    pub(super) target: String,
}

/// A page that reports an error.
#[derive(Debug, Template)]
#[template(path = "stopped.html")]
struct Stopped {
    title: &'static str,
    text: Cow<'static, str>,
    error_id: Option<String>,
}

impl Console {
    /// Returns the time zone of these dealers' first rooftop, and the present time.
    fn local(&self, dealers: &[Arc<DealerAgent>]) -> Local {
        let rooftop = dealers.first().and_then(|seller| seller.dealer.terms.rooftops.first());
        let zone = rooftop.map_or(TimeZone::UTC, |rooftop| rooftop.time_zone.clone());
        Local { zone, now: self.clock.now() }
    }

    /// Builds the parts that all pages share.
    pub(super) fn frame(
        &self,
        visitor: &Visitor<'_>,
        title: &'static str,
    ) -> Result<PageFrame, PageError> {
        let role = visitor.member.role;
        let asked = visitor.asked;
        let new = if StaffPermission::Customers.is_of(role) {
            self.store.count_leads(&LeadFilter {
                dealer_id: visitor.dealer_id(),
                waiting: Some(WaitingFor::Answer),
                ..LeadFilter::default()
            })?
        } else {
            self.waiting_count(visitor)?
        };
        let permitted = NAV.into_iter().filter(|(.., right)| right.is_of(role));
        let path = format!("{PATH}/{}", asked.path);
        let path = path.trim_end_matches('/');
        let nav = permitted.map(|(label, href, icon, _)| PageLink {
            label,
            href,
            icon,
            // Every path begins with that of the inbox, which is current only when it is the whole path.
            is_here: path == href || href != PATH && path.starts_with(&format!("{href}/")),
            count: if href == PATH { new } else { 0 },
            counted: if role.is_of_publisher() { "waiting" } else { "new leads" },
        });
        let dealers = self.dealers(visitor);
        let dealer = match (dealers.as_slice(), visitor.dealer_id()) {
            ([one], _) => one.dealer.terms.name.clone(),
            (_, Some(publisher)) if role.is_of_publisher() => {
                let agent = self.publisher(visitor).ok();
                agent.map_or(publisher.to_owned(), |agent| agent.profile.name.clone())
            }
            (all, _) => format!("{} dealers", all.len()),
        };
        Ok(PageFrame {
            title,
            nav: nav.collect(),
            who: visitor.member.name.clone(),
            role: role_name(role),
            dealer,
            proof: visitor.proof(),
            done: actions::done(asked),
        })
    }

    /// Returns the response for an error.
    pub(super) fn stopped(&self, asked: &ConsoleRequest, stop: PageError) -> ConsoleReply {
        let mut error_id = None;
        let (status, title, text) = match stop {
            PageError::Conflict(why) => {
                let page = Stopped {
                    title: "Not possible in the present state",
                    text: why.into(),
                    error_id: None,
                };
                return ConsoleReply::page(&page).with_status(StatusCode::CONFLICT);
            }
            PageError::Invalid(why) => {
                let page = Stopped { title: "Not possible", text: why.into(), error_id: None };
                return ConsoleReply::page(&page).with_status(StatusCode::UNPROCESSABLE_ENTITY);
            }
            PageError::FileTooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "The file is too large",
                "A file has at most 4 MiB. Nothing was stored. Go back, and split it into several files.",
            ),
            PageError::Busy => return ConsoleReply::busy(),
            PageError::SignIn => {
                // The action of a form is not repeated after signing in.
                let is_page = asked.method == axum::http::Method::GET && !asked.path.is_empty();
                // Only a plain path is returned to after the sign-in.
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"?=/-_".contains(&b);
                let is_kept = is_page && asked.path.bytes().all(plain);
                let next =
                    if is_kept { format!("?next={PATH}/{}", asked.path) } else { String::new() };
                return ConsoleReply::see(format!("{PATH}/sign-in{next}"));
            }
            PageError::Forbidden => (
                StatusCode::FORBIDDEN,
                "Not permitted",
                "Your role does not permit this. Ask one of your managers if you need it.",
            ),
            PageError::SetUpFactor => return ConsoleReply::see(format!("{PATH}/account/factor")),
            PageError::NotFound => (
                StatusCode::NOT_FOUND,
                "Not found",
                "The page or lead does not exist, or it belongs to another dealer.",
            ),
            PageError::Stale => (
                StatusCode::FORBIDDEN,
                "This form is out of date",
                "You have signed in again since the form was shown, or another site sent it. Go back, \
                 reload the page and repeat the action.",
            ),
            PageError::Unusable(why) => (StatusCode::UNPROCESSABLE_ENTITY, "Not possible", why),
            PageError::Broken(fault) => {
                // The cause may name files and tables, which are not for the visitor.
                let id = format!("err_{}", uuid::Uuid::now_v7().simple());
                tracing::error!(error_id = id, cause = %fault.chain(), "a page could not be shown");
                error_id = Some(id);
                // A transient error is not reported as our fault: it is over soon.
                if fault.is_transient() {
                    (
                        StatusCode::SERVICE_UNAVAILABLE,
                        "Temporarily unavailable",
                        "The store is unavailable. Try again in a few seconds.",
                    )
                } else {
                    (
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "Internal error",
                        "The server failed. An engineer can find the cause in the log, by the error id below.",
                    )
                }
            }
        };
        ConsoleReply::page(&Stopped { title, text: text.into(), error_id }).with_status(status)
    }
}

const fn role_name(role: StaffRole) -> &'static str {
    match role {
        StaffRole::Desk => "Sales desk",
        StaffRole::Manager => "Manager",
        StaffRole::Engineer => "Engineer",
        StaffRole::Seller => "Ad sales",
        StaffRole::Approver => "Approver",
        StaffRole::Viewer => "Viewer",
    }
}

const fn stage_name(stage: StaffStage) -> &'static str {
    match stage {
        StaffStage::New => "New",
        StaffStage::Working => "Working",
        StaffStage::Sold => "Sold",
        StaffStage::Lost => "Lost",
    }
}

/// Formats a duration: `12 min`, `3 h 5 min`, `2 days`.
fn duration_text(time: SignedDuration) -> String {
    let minutes = time.abs().as_mins();
    let hours = minutes / 60;
    let days = minutes / (24 * 60);
    match (days, hours, minutes) {
        (0, 0, 0) => "< 1 min".to_owned(),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) if minutes % 60 == 0 => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (1, ..) => "1 day".to_owned(),
        (days, ..) => format!("{days} days"),
    }
}

/// Formats a time relative to now: `3 h 5 min ago`, or `in 2 days`.
fn ago(at: Timestamp, now: Timestamp) -> String {
    let since = now.duration_since(at);
    if since.is_negative() && since.abs().as_mins() > 0 {
        format!("in {}", duration_text(since))
    } else if since.as_mins() == 0 {
        "just now".to_owned()
    } else {
        format!("{} ago", duration_text(since))
    }
}

/// Returns the facts that are known.
fn known<const N: usize>(
    facts: [(&'static str, Option<String>); N],
) -> Vec<(&'static str, String)> {
    facts.into_iter().filter_map(|(label, text)| Some((label, text?))).collect()
}

/// Returns the URL of a page with query parameters.
fn link<const N: usize>(page: &str, query: [(&str, Option<&str>); N]) -> String {
    let asked = query.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(asked).finish();
    format!("{PATH}/{page}?{query}")
}

/// Formats a number with commas between the thousands.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with its noun: `1 lead`, `2 leads`.
fn counted(count: usize, one: &str, several: &str) -> String {
    let noun = if count == 1 { one } else { several };
    format!("{} {noun}", thousands(count as u64))
}

/// Writes a wire name as people read it: `test drive`.
fn plain(word: &str) -> String {
    word.replace('_', " ")
}

/// Writes a wire name with a capital letter.
fn headed(word: &str) -> String {
    let word = plain(word);
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string());
    first.map(|first| first + letters.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_are_written_as_people_do() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-04-30T12:00:00Z");
        for (moment, said) in [
            ("2026-04-30T11:59:30Z", "just now"),
            ("2026-04-30T12:00:30Z", "just now"),
            ("2026-04-30T11:48:00Z", "12 min ago"),
            ("2026-04-30T09:00:00Z", "3 h ago"),
            ("2026-04-30T08:55:00Z", "3 h 5 min ago"),
            ("2026-04-29T11:00:00Z", "1 day ago"),
            ("2026-05-02T13:00:00Z", "in 2 days"),
        ] {
            assert_eq!(ago(at(moment), now), said);
        }
        assert_eq!(
            [0, 999, 1_000, 26_780, 1_234_567].map(thousands),
            ["0", "999", "1,000", "26,780", "1,234,567"]
        );
        assert_eq!(headed("test_drive"), "Test drive");
    }
}
