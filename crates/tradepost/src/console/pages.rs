//! The pages: what each shows, as texts. How it is laid out is in the templates, which escape every
//! text.

use askama::Template;
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::local_time::spoken;
use tradepost_dealer::record::LeadState;
use tradepost_dealer::settings::Dealer;
use tradepost_dealer::staff::{Role, Stage};
use tradepost_wire::format::rfc3339;

use super::door::Visitor;
use super::reply::Reply;
use super::request::Asked;
use super::route::Right;
use super::{Console, PATH, Stop, actions};

mod agent;
mod appointments;
mod buyers;
mod chart;
mod feeds;
mod inbox;
mod inventory;
mod lead;
mod leads;
mod people;
mod probe;
mod refusals;

/// The zone of a dealer's first rooftop.
fn zone(terms: &Dealer) -> TimeZone {
    terms.rooftops.first().map_or(TimeZone::UTC, |rooftop| rooftop.time_zone.clone())
}

/// What is around every page.
#[derive(Debug)]
pub(super) struct Frame {
    title: &'static str,
    nav: Vec<Link>,
    who: String,
    role: &'static str,
    dealer: String,
    proof: String,
    done: Option<&'static str>,
}

/// A way to another page.
#[derive(Debug)]
struct Link {
    label: &'static str,
    href: &'static str,
    icon: &'static str,
    is_here: bool,
    count: u32,
}

/// The pages, in the order of their importance: label, address, icon and what they require.
const NAV: [(&str, &str, &str, Right); 11] = [
    ("Inbox", "/console", "inbox", Right::Enter),
    ("Leads", "/console/leads", "leads", Right::Customers),
    ("Appointments", "/console/appointments", "calendar", Right::Customers),
    ("Inventory", "/console/inventory", "car", Right::Enter),
    ("Feeds", "/console/feeds", "feed", Right::Operate),
    ("Buyers", "/console/buyers", "chart", Right::Operate),
    ("Refusals", "/console/refusals", "refusal", Right::Operate),
    ("Card", "/console/card", "card", Right::Operate),
    ("Checklist", "/console/checklist", "check", Right::Operate),
    ("People", "/console/people", "people", Right::Enter),
    ("Audit", "/console/audit", "audit", Right::Decide),
];

/// A moment, as a page shows it.
#[derive(Debug, Clone)]
struct When {
    /// For machines.
    iso: String,
    /// In the rooftop's zone.
    text: String,
    /// How long ago, or how long until.
    ago: String,
}

impl When {
    fn of(at: Timestamp, zone: &TimeZone, now: Timestamp) -> Self {
        Self { iso: rfc3339(at), text: spoken(at, zone, now), ago: ago(at, now) }
    }
}

/// The page on which people sign in.
#[derive(Debug, Template)]
#[template(path = "console/sign-in.html")]
pub(super) struct SignIn {
    pub(super) proof: String,
    pub(super) trouble: Option<&'static str>,
    pub(super) next: String,
    /// With whom people may sign in besides.
    pub(super) provider: Option<String>,
}

/// The page that leads on whoever comes back from a provider.
#[derive(Debug, Template)]
#[template(path = "console/signed-in.html")]
pub(super) struct SignedIn {
    pub(super) target: String,
}

/// A page that says why there is no other.
#[derive(Debug, Template)]
#[template(path = "console/stopped.html")]
struct Stopped {
    title: &'static str,
    text: &'static str,
    error_id: Option<String>,
}

impl Console {
    /// The zone of the first rooftop that somebody sees.
    fn zone(&self, visitor: &Visitor) -> TimeZone {
        let dealers = self.dealers(visitor);
        dealers.first().map_or(TimeZone::UTC, |it| zone(&it.dealer.terms))
    }

    /// What is around a page.
    fn frame(&self, asked: &Asked, visitor: &Visitor, title: &'static str) -> Result<Frame, Stop> {
        let role = visitor.member.role;
        let new = if Right::Customers.is_of(role) {
            let (dealer, received) = (visitor.dealer_id(), LeadState::Received);
            self.store.count_leads(dealer, received, Some(Stage::New))?
        } else {
            0
        };
        let permitted = NAV.into_iter().filter(|(.., right)| right.is_of(role));
        let path = format!("{PATH}/{}", asked.path);
        let path = path.trim_end_matches('/');
        let nav = permitted.map(|(label, href, icon, _)| Link {
            label,
            href,
            icon,
            // Every address begins with that of the inbox, which is here
            // only when it is the whole one.
            is_here: path == href || href != PATH && path.starts_with(&format!("{href}/")),
            count: if href == PATH { new } else { 0 },
        });
        let dealers = self.dealers(visitor);
        let dealer = match dealers.as_slice() {
            [one] => one.dealer.terms.name.clone(),
            all => format!("{} dealers", all.len()),
        };
        Ok(Frame {
            title,
            nav: nav.collect(),
            who: visitor.member.name.clone(),
            role: role_name(role),
            dealer,
            proof: visitor.proof(),
            done: actions::done(asked),
        })
    }

    /// The page that says why there is no other.
    pub(super) fn stopped(&self, asked: &Asked, stop: Stop) -> Reply {
        let (status, title, text) = match &stop {
            Stop::SignIn => {
                let path = format!("{PATH}/{}", asked.path);
                // What was to be done by a form is not done again after signing in.
                let next = if asked.method == axum::http::Method::GET && !asked.path.is_empty() {
                    format!("?next={path}")
                } else {
                    String::new()
                };
                let is_plain =
                    next.bytes().all(|b| b.is_ascii_alphanumeric() || b"?=/-_".contains(&b));
                // An address that could hold more than a path is not gone back to.
                let next = if is_plain { next } else { String::new() };
                return Reply::see(format!("{PATH}/sign-in{next}"));
            }
            Stop::Forbidden => (
                StatusCode::FORBIDDEN,
                "Not for your role",
                "This page belongs to another role. Ask a manager of yours if you need it.",
            ),
            Stop::NotFound => (
                StatusCode::NOT_FOUND,
                "Nothing is here",
                "There is no such page or lead, or it belongs to another dealer.",
            ),
            Stop::Stale => (
                StatusCode::FORBIDDEN,
                "This form is out of date",
                "You signed in anew since it was shown, or it came from elsewhere. Go back, load the \
                 page again, and repeat what you did.",
            ),
            Stop::Unusable(why) => (StatusCode::UNPROCESSABLE_ENTITY, "That cannot be done", *why),
            Stop::Broken(_) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "Something broke",
                "It is our fault. An engineer finds the cause in the log, by the number below.",
            ),
        };
        let error_id = match stop {
            Stop::Broken(fault) => {
                // The cause may name files and tables, which are none of the visitor's business.
                let id = format!("err_{}", uuid::Uuid::now_v7().simple());
                tracing::error!(error_id = id, cause = %fault.chain(), "a page could not be shown");
                Some(id)
            }
            Stop::SignIn | Stop::Forbidden | Stop::NotFound | Stop::Stale | Stop::Unusable(_) => {
                None
            }
        };
        Reply::page(&Stopped { title, text, error_id }).with_status(status)
    }
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Desk => "Sales desk",
        Role::Manager => "Manager",
        Role::Engineer => "Engineer",
    }
}

const fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::New => "New",
        Stage::Working => "Working",
        Stage::Sold => "Sold",
        Stage::Lost => "Lost",
    }
}

/// `12 min`, `3 h 5 min`, `2 days`.
fn lasting(time: SignedDuration) -> String {
    let minutes = time.abs().as_mins();
    let (hours, days) = (minutes / 60, minutes / (24 * 60));
    match (days, hours, minutes) {
        (0, 0, 0) => "< 1 min".to_owned(),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) if minutes % 60 == 0 => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (1, ..) => "1 day".to_owned(),
        (days, ..) => format!("{days} days"),
    }
}

/// `3 h 5 min ago`, or `in 2 days`.
fn ago(at: Timestamp, now: Timestamp) -> String {
    let since = now.duration_since(at);
    if since.is_negative() && since.abs().as_mins() > 0 {
        format!("in {}", lasting(since))
    } else if since.as_mins() == 0 {
        "just now".to_owned()
    } else {
        format!("{} ago", lasting(since))
    }
}

/// A number with commas between the thousands.
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

/// `1 lead`, `2 leads`.
fn counted(count: usize, one: &str, several: &str) -> String {
    let noun = if count == 1 { one } else { several };
    format!("{} {noun}", thousands(count as u64))
}

/// A word of a vocabulary as people read it: `test drive`.
fn plain(word: &str) -> String {
    word.replace('_', " ")
}

/// The same at the beginning of a line.
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
