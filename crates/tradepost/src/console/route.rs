//! What there is in the console, and who may have it.

use std::sync::Arc;

use axum::http::Method;
use futures_util::future::BoxFuture;
use tradepost_dealer::appointment::change::ChangeKind;
use tradepost_dealer::staff::StaffRole;

use super::door::Visitor;
use super::request::ConsoleRequest;
use super::{Answer, Console};
use crate::appointments::CalendarOperation as Calendar;

/// What somebody has to be permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    /// Nothing: it is for those who are not in yet.
    None,
    /// To come in.
    Enter,
    /// To see customers and work for them.
    Customers,
    /// To decide about leads and see who did what.
    Decide,
    /// To see who did what.
    ReadRecord,
    /// To see how the agent stands.
    Operate,
    /// To see what was refused.
    SeeRefusals,
    /// To see vehicles.
    SeeVehicles,
    /// To see what a publisher has sold, and what waits.
    ViewPublisher,
    /// To hold back for a while what runs for a publisher, and let it go on.
    OperatePublisher,
    /// To decide what a publisher sells, and to whom.
    ApprovePublisher,
}

/// A row of the table of contents.
#[derive(Debug)]
pub struct ConsoleRoute {
    /// The method: `POST` changes something, and so has to prove that it comes of a form of ours.
    pub method: Method,
    /// The path below that of the console; `{id}` stands for anything.
    pub path: &'static str,
    /// What it requires.
    pub right: Right,
    /// Whether the password has to have been given within the last few minutes, and is asked for again
    /// otherwise.
    pub asks_password: bool,
    /// Whether it is for those, too, who have to set up a second factor first.
    pub before_factor: bool,
    pub(super) act: RouteAction,
}

/// What answers.
#[derive(Debug, Clone, Copy)]
pub(super) enum RouteAction {
    /// A file of ours: its media type, and what is in it.
    File(&'static str, &'static str),
    /// What is for those who are not in yet, too.
    Outside(fn(&Console, &ConsoleRequest) -> Answer),
    /// The same where another server is asked: no thread waits for it.
    Abroad(fn(Arc<Console>, Arc<ConsoleRequest>) -> BoxFuture<'static, Answer>),
    /// What is for whoever is in.
    Inside(fn(&Console, &Visitor<'_>) -> Answer),
    /// The same where the visitor's session goes on under another id.
    Renewing(fn(&Console, &mut Visitor<'_>) -> Answer),
}

impl ConsoleRoute {
    const fn new(method: Method, path: &'static str, right: Right, act: RouteAction) -> Self {
        Self { method, path, right, asks_password: false, before_factor: false, act }
    }

    /// The same, which asks for the password again unless it was given a short while ago.
    const fn with_password(mut self) -> Self {
        self.asks_password = true;
        self
    }

    /// The same, which is also for those who have to set up a second factor first.
    const fn before_factor(mut self) -> Self {
        self.before_factor = true;
        self
    }
}

const fn file(path: &'static str, media_type: &'static str, text: &'static str) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, Right::None, RouteAction::File(media_type, text))
}

const fn outside(
    method: Method,
    path: &'static str,
    act: fn(&Console, &ConsoleRequest) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(method, path, Right::None, RouteAction::Outside(act))
}

const fn abroad(
    path: &'static str,
    act: fn(Arc<Console>, Arc<ConsoleRequest>) -> BoxFuture<'static, Answer>,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, Right::None, RouteAction::Abroad(act))
}

const fn get(
    path: &'static str,
    right: Right,
    act: fn(&Console, &Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, right, RouteAction::Inside(act))
}

const fn post(
    path: &'static str,
    right: Right,
    act: fn(&Console, &Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::POST, path, right, RouteAction::Inside(act))
}

const fn renewing(
    path: &'static str,
    right: Right,
    act: fn(&Console, &mut Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::POST, path, right, RouteAction::Renewing(act))
}

/// Everything that there is.
pub const TABLE: &[ConsoleRoute] = &[
    get("", Right::Enter, Console::inbox),
    file("console.css", "text/css; charset=utf-8", include_str!("assets/console.css")),
    file("console.js", "text/javascript; charset=utf-8", include_str!("assets/console.js")),
    file("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    outside(Method::GET, "sign-in", |console, asked| console.sign_in_page(asked, None)),
    outside(Method::POST, "sign-in", Console::sign_in),
    outside(Method::GET, "sign-in/code", |console, asked| console.code_page(asked, None)),
    outside(Method::POST, "sign-in/code", Console::sign_in_with_code),
    abroad("sign-in/oidc", |console, asked| Box::pin(console.leave_for_provider(asked))),
    abroad(super::oidc::BACK, |console, asked| Box::pin(console.back_from_provider(asked))),
    post("sign-out", Right::Enter, Console::sign_out).before_factor(),
    get("leads", Right::Customers, Console::leads),
    get("leads/{id}", Right::Customers, Console::lead),
    post("leads/{id}/notes", Right::Customers, Console::add_note),
    post("leads/{id}/stage", Right::Customers, Console::set_stage),
    post("leads/{id}/resend", Right::Customers, Console::resend),
    post("leads/{id}/release", Right::Decide, Console::release),
    post("leads/{id}/revoke", Right::Decide, Console::revoke),
    post("leads/{id}/evidence", Right::Decide, Console::evidence).with_password(),
    get("leads/{id}/erase", Right::Decide, Console::erase_question),
    post("leads/{id}/erase", Right::Decide, Console::erase).with_password(),
    get("appointments", Right::Customers, Console::appointments),
    post(
        "appointments/{id}/confirm",
        Calendar::Change(ChangeKind::Confirm).right(),
        Console::confirm_appointment,
    ),
    post(
        "appointments/{id}/move",
        Calendar::Change(ChangeKind::Move).right(),
        Console::move_appointment,
    ),
    post(
        "appointments/{id}/cancel",
        Calendar::Change(ChangeKind::Cancel).right(),
        Console::cancel_appointment,
    ),
    post(
        "appointments/{id}/no-show",
        Calendar::Change(ChangeKind::NoShow).right(),
        Console::miss_appointment,
    ),
    post("blocked-times", Calendar::Block.right(), Console::block_time),
    post("blocked-times/{id}/remove", Calendar::Unblock.right(), Console::unblock_time),
    get("inventory", Right::SeeVehicles, Console::inventory),
    get("feeds", Right::Operate, Console::feeds),
    get("feeds/runs", Right::Operate, Console::feed),
    get("buyers", Right::Operate, Console::buyers),
    get("refusals", Right::SeeRefusals, Console::refusals),
    get("card", Right::Operate, Console::card),
    get("checklist", Right::Operate, Console::checklist),
    get("probe", Right::Operate, Console::probe),
    post("probe", Right::Operate, Console::run_probe),
    get("probe/report", Right::Operate, Console::probe_report),
    get("account", Right::Enter, Console::account),
    renewing("account/password", Right::Enter, Console::change_password),
    get("account/factor", Right::Enter, Console::factor_page).before_factor(),
    post("account/factor", Right::Enter, Console::begin_factor).with_password().before_factor(),
    renewing("account/factor/confirm", Right::Enter, Console::confirm_factor)
        .with_password()
        .before_factor(),
    post("account/factor/off", Right::Enter, Console::remove_factor).with_password(),
    post("account/codes", Right::Enter, Console::new_recovery_codes).with_password(),
    get("people", Right::Enter, Console::people),
    post("members/{id}/factor/reset", Right::Decide, Console::reset_factor).with_password(),
    post("sessions/{id}/end", Right::Enter, Console::end_session),
    get("audit", Right::ReadRecord, Console::audit),
];

/// Largest form in bytes but for those that have a text: names, a password, the proof, and what
/// browsers add.
const SMALL_FORM: usize = 4 * 1024;

/// Largest form in bytes with a text: 4,000 characters, each of up to four bytes that take three in
/// a form.
pub(super) const LARGE_FORM: usize = 64 * 1024;

/// Finds what a path asks the console for: what stands behind `/console/`. `None` for everything
/// that is not exactly `/console`, `/console/` or a plain path below, because a proxy in front would
/// not know it for the console's, or for another page's: escapes, empty and dotted steps, and other
/// cases are no second names.
#[must_use]
pub fn path(path: &str) -> Option<&str> {
    let below = match path.strip_prefix(super::PATH)? {
        "" | "/" => return Some(""),
        below => below.strip_prefix('/')?,
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
    let is_step = |step: &str| !matches!(step, "" | "." | "..") && step.bytes().all(plain);
    below.split('/').all(is_step).then_some(below)
}

impl ConsoleRoute {
    /// What is asked for, if there is such a thing, and what stands in the place of the id.
    pub(super) fn of<'a>(method: &Method, path: &'a str) -> Option<(&'static Self, &'a str)> {
        // The same as GET to whoever answers; the body is left out on the way (RFC 9110 §9.3.2).
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let mut rows = TABLE.iter().filter(|row| row.method == *method);
        rows.find_map(|row| Some((row, row.matches(path)?)))
    }

    /// What stands in the place of the id; nothing where none is meant.
    fn matches<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (mut steps, mut id) = (path.split('/'), "");
        for wanted in self.path.split('/') {
            let step = steps.next()?;
            if wanted == "{id}" {
                id = step;
            } else if wanted != step {
                return None;
            }
        }
        steps.next().is_none().then_some(id)
    }

    /// Largest form in bytes that is read for it; nothing is read of what has none.
    pub(super) fn form_bytes(&self) -> usize {
        if !self.changes() {
            0
        } else if self.path.ends_with("/notes") {
            LARGE_FORM
        } else {
            SMALL_FORM
        }
    }

    /// Whether it changes something, and so has to prove that it comes of a form of ours.
    pub(super) fn changes(&self) -> bool {
        self.method == Method::POST
    }
}

impl Right {
    /// Whether a role has it.
    #[must_use]
    pub const fn is_of(self, role: StaffRole) -> bool {
        match self {
            Self::None | Self::Enter => true,
            Self::Customers => matches!(role, StaffRole::Desk | StaffRole::Manager),
            Self::Decide => matches!(role, StaffRole::Manager),
            Self::ReadRecord => matches!(role, StaffRole::Manager | StaffRole::Approver),
            Self::Operate => matches!(role, StaffRole::Manager | StaffRole::Engineer),
            Self::SeeRefusals => !matches!(role, StaffRole::Desk),
            Self::SeeVehicles => !role.is_of_publisher(),
            Self::ViewPublisher => role.is_of_publisher(),
            Self::OperatePublisher => matches!(role, StaffRole::Seller | StaffRole::Approver),
            Self::ApprovePublisher => matches!(role, StaffRole::Approver),
        }
    }
}
