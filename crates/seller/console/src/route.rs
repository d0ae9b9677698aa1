//! Routes of the console, with the permission that each requires.

use std::sync::Arc;

use axum::http::Method;
use futures_util::future::BoxFuture;
use tradepost_admin::{AdminOperation, StaffPermission};
use tradepost_runtime::delivery_table::MAX_BYTES;

use super::request::ConsoleRequest;
use super::sign_in::Visitor;
use super::{Answer, Console};

/// A row of the route table.
#[derive(Debug)]
pub struct ConsoleRoute {
    /// The method: `POST` changes something, and so requires the proof of a form of the console.
    pub method: Method,
    /// Path below the console's; `{id}` stands for any segment.
    pub path: &'static str,
    /// Required permission; `None` when the route is for people who are not signed in.
    pub permission: Option<StaffPermission>,
    /// True when the password must have been given within the last few minutes, and is asked for again
    /// otherwise.
    pub asks_password: bool,
    /// True when the route is also for people who have to set up a second factor first.
    pub before_factor: bool,
    pub(super) act: RouteAction,
}

/// Handler of a route.
#[derive(Debug, Clone, Copy)]
pub(super) enum RouteAction {
    /// A static file: media type and content.
    File(&'static str, &'static str),
    /// A handler for people who are not signed in.
    Outside(fn(&Console, &ConsoleRequest) -> Answer),
    /// A handler for programs that have no session and know a secret, which is the segment in place of the id.
    Secret(fn(&Console, &ConsoleRequest, &str) -> Answer),
    /// A handler that asks another server, without blocking a thread.
    AsksOtherServer(fn(Arc<Console>, Arc<ConsoleRequest>) -> BoxFuture<'static, Answer>),
    /// A handler for people who are signed in.
    Inside(fn(&Console, &Visitor<'_>) -> Answer),
    /// A handler that gives the visitor's session a new id.
    Renewing(fn(&Console, &mut Visitor<'_>) -> Answer),
}

impl ConsoleRoute {
    const fn new(
        method: Method,
        path: &'static str,
        permission: Option<StaffPermission>,
        act: RouteAction,
    ) -> Self {
        Self { method, path, permission, asks_password: false, before_factor: false, act }
    }

    /// Requires the password again, unless it was given a short time ago.
    const fn with_password(mut self) -> Self {
        self.asks_password = true;
        self
    }

    /// Admits people who have to set up a second factor first.
    const fn before_factor(mut self) -> Self {
        self.before_factor = true;
        self
    }
}

const fn file(path: &'static str, media_type: &'static str, text: &'static str) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, None, RouteAction::File(media_type, text))
}

const fn outside(
    method: Method,
    path: &'static str,
    act: fn(&Console, &ConsoleRequest) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(method, path, None, RouteAction::Outside(act))
}

const fn asking_other_server(
    path: &'static str,
    act: fn(Arc<Console>, Arc<ConsoleRequest>) -> BoxFuture<'static, Answer>,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, None, RouteAction::AsksOtherServer(act))
}

const fn secret(
    path: &'static str,
    act: fn(&Console, &ConsoleRequest, &str) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, None, RouteAction::Secret(act))
}

const fn get(
    path: &'static str,
    permission: StaffPermission,
    act: fn(&Console, &Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::GET, path, Some(permission), RouteAction::Inside(act))
}

const fn post(
    path: &'static str,
    permission: StaffPermission,
    act: fn(&Console, &Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::POST, path, Some(permission), RouteAction::Inside(act))
}

const fn renewing(
    path: &'static str,
    permission: StaffPermission,
    act: fn(&Console, &mut Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    ConsoleRoute::new(Method::POST, path, Some(permission), RouteAction::Renewing(act))
}

/// Returns the route of a form that performs an operation.
const fn perform(
    path: &'static str,
    operation: AdminOperation,
    act: fn(&Console, &Visitor<'_>) -> Answer,
) -> ConsoleRoute {
    post(path, operation.permission(), act)
}

/// All routes.
pub const TABLE: &[ConsoleRoute] = &[
    get("", StaffPermission::Enter, Console::inbox),
    file("console.css", "text/css; charset=utf-8", include_str!("assets/console.css")),
    file("console.js", "text/javascript; charset=utf-8", include_str!("assets/console.js")),
    file("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
    outside(Method::GET, "sign-in", |console, asked| console.sign_in_page(asked, None)),
    outside(Method::POST, "sign-in", Console::sign_in),
    outside(Method::GET, "sign-in/code", |console, asked| console.code_page(asked, None)),
    outside(Method::POST, "sign-in/code", Console::sign_in_with_code),
    asking_other_server("sign-in/oidc", |console, asked| {
        Box::pin(console.leave_for_provider(asked))
    }),
    asking_other_server(super::oidc::CALLBACK_PATH, |console, asked| {
        Box::pin(console.back_from_provider(asked))
    }),
    post("sign-out", StaffPermission::Enter, Console::sign_out).before_factor(),
    get("leads", AdminOperation::ListLeads.permission(), Console::leads),
    get("leads/{id}", AdminOperation::ShowLead.permission(), Console::lead),
    perform("leads/{id}/notes", AdminOperation::AddNote, Console::add_note),
    perform("leads/{id}/stage", AdminOperation::SetLeadStage, Console::set_stage),
    perform("leads/{id}/owner", AdminOperation::AssignLead, Console::assign_lead),
    perform("leads/{id}/step", AdminOperation::SetNextStep, Console::set_next_step),
    perform("leads/{id}/step-end", AdminOperation::CompleteNextStep, Console::end_next_step),
    perform("leads/stage", AdminOperation::SetLeadStages, Console::set_stages),
    perform("leads/assign", AdminOperation::AssignLeads, Console::assign_leads),
    perform("leads/export", AdminOperation::ExportLeads, Console::export_leads).with_password(),
    perform("leads/{id}/resend", AdminOperation::ResendLead, Console::resend),
    perform("leads/{id}/release", AdminOperation::ReleaseLead, Console::release),
    perform("leads/{id}/revoke", AdminOperation::RevokeConsent, Console::revoke),
    perform("leads/{id}/evidence", AdminOperation::TakeEvidence, Console::evidence).with_password(),
    get("leads/{id}/erase", AdminOperation::EraseCustomer.permission(), Console::erase_question),
    perform("leads/{id}/erase", AdminOperation::EraseCustomer, Console::erase).with_password(),
    get("appointments", StaffPermission::Customers, Console::appointments),
    perform(
        "appointments/{id}/confirm",
        AdminOperation::ConfirmAppointment,
        Console::confirm_appointment,
    ),
    perform("appointments/{id}/move", AdminOperation::MoveAppointment, Console::move_appointment),
    perform(
        "appointments/{id}/cancel",
        AdminOperation::CancelAppointment,
        Console::cancel_appointment,
    ),
    perform(
        "appointments/{id}/no-show",
        AdminOperation::MissAppointment,
        Console::miss_appointment,
    ),
    perform("blocked-times", AdminOperation::BlockTime, Console::block_time),
    perform("blocked-times/{id}/remove", AdminOperation::UnblockTime, Console::unblock_time),
    perform("calendar-feeds", AdminOperation::CreateCalendarFeed, Console::create_calendar_feed)
        .with_password(),
    perform(
        "calendar-feeds/revoke",
        AdminOperation::RevokeCalendarFeed,
        Console::revoke_calendar_feed,
    ),
    secret("calendar/{id}", Console::calendar_feed),
    get("help", StaffPermission::Enter, Console::help),
    get("inventory", StaffPermission::SeeVehicles, Console::inventory),
    get("inventory/ask", StaffPermission::SeeVehicles, Console::preview_search),
    get("inventory/vehicle", StaffPermission::SeeVehicles, Console::preview_vehicle),
    get("week", AdminOperation::ShowWeek.permission(), Console::week),
    get("feeds", AdminOperation::ListFeeds.permission(), Console::feeds),
    get("feeds/runs", AdminOperation::ShowFeed.permission(), Console::feed),
    get("buyers", StaffPermission::Operate, Console::buyers),
    get("refusals", StaffPermission::SeeRefusals, Console::refusals),
    get("card", StaffPermission::Operate, Console::card),
    get("checklist", StaffPermission::Operate, Console::checklist),
    perform("checklist/test", AdminOperation::TestStep, Console::test_step),
    get("probe", StaffPermission::Operate, Console::probe),
    perform("probe", AdminOperation::StartProbe, Console::run_probe),
    get("probe/report", StaffPermission::Operate, Console::probe_report),
    get("buys", StaffPermission::ViewPublisher, Console::buys),
    get("buys/show", StaffPermission::ViewPublisher, Console::buy),
    get("buys/waiting", StaffPermission::ViewPublisher, Console::waiting_buy),
    perform("buys/approve", AdminOperation::Approve, Console::approve_buy),
    perform("buys/decline", AdminOperation::Decline, Console::decline_buy),
    perform("buys/pause", AdminOperation::PauseBuy, Console::pause_buy),
    perform("buys/resume", AdminOperation::Resume, Console::resume_buy),
    perform("buys/cancel", AdminOperation::CancelBuy, Console::cancel_buy),
    perform("buys/retry", AdminOperation::RetryOrder, Console::retry_order),
    get("delivery", AdminOperation::ReportDelivery.permission(), Console::delivery),
    get(
        "delivery/template",
        AdminOperation::ReportDelivery.permission(),
        Console::delivery_template,
    ),
    perform("delivery", AdminOperation::ReportDelivery, Console::report_delivery),
    get("creatives", StaffPermission::ViewPublisher, Console::creatives),
    get("creatives/show", StaffPermission::ViewPublisher, Console::creative),
    get("creatives/preview", StaffPermission::ViewPublisher, Console::preview_creative),
    perform("creatives/approve", AdminOperation::Approve, Console::approve_creative),
    perform("creatives/decline", AdminOperation::Decline, Console::decline_creative),
    perform("creatives/suspend", AdminOperation::Suspend, Console::suspend_creative),
    perform("creatives/resume", AdminOperation::Resume, Console::resume_creative),
    get("ad-accounts", StaffPermission::ViewPublisher, Console::ad_accounts),
    get("ad-accounts/show", StaffPermission::ViewPublisher, Console::ad_account),
    perform("ad-accounts/approve", AdminOperation::Approve, Console::approve_account),
    perform("ad-accounts/decline", AdminOperation::Decline, Console::decline_account),
    perform("ad-accounts/suspend", AdminOperation::Suspend, Console::suspend_account),
    perform("ad-accounts/resume", AdminOperation::Resume, Console::resume_account),
    perform("ad-accounts/close", AdminOperation::Close, Console::close_account),
    perform("ad-accounts/payment-due", AdminOperation::DemandPayment, Console::demand_payment),
    perform("ad-accounts/payment-settled", AdminOperation::SettlePayment, Console::settle_payment),
    get("ad-agents", AdminOperation::ListBuyerKeys.permission(), Console::ad_agents),
    perform("ad-agents/keys", AdminOperation::CreateBuyerKey, Console::create_agent_key)
        .with_password(),
    perform("ad-agents/keys/revoke", AdminOperation::RevokeBuyerKey, Console::revoke_agent_key)
        .with_password(),
    get("products", StaffPermission::ViewPublisher, Console::products),
    get("set-up", StaffPermission::ViewPublisher, Console::set_up),
    perform("set-up/test", AdminOperation::TestPublisherStep, Console::test_publisher_step),
    get("account", StaffPermission::Enter, Console::account),
    renewing(
        "account/password",
        AdminOperation::ChangeOwnPassword.permission(),
        Console::change_password,
    ),
    get("account/factor", StaffPermission::Enter, Console::factor_page).before_factor(),
    post("account/factor", StaffPermission::Enter, Console::begin_factor)
        .with_password()
        .before_factor(),
    renewing(
        "account/factor/confirm",
        AdminOperation::SetSecondFactor.permission(),
        Console::confirm_factor,
    )
    .with_password()
    .before_factor(),
    perform("account/factor/off", AdminOperation::RemoveOwnSecondFactor, Console::remove_factor)
        .with_password(),
    perform("account/codes", AdminOperation::ReplaceRecoveryCodes, Console::new_recovery_codes)
        .with_password(),
    get("people", StaffPermission::Enter, Console::people),
    perform("members/{id}/factor/reset", AdminOperation::ResetSecondFactor, Console::reset_factor)
        .with_password(),
    perform("sessions/{id}/end", AdminOperation::EndSession, Console::end_session),
    get("audit", AdminOperation::ListRecord.permission(), Console::audit),
];

/// Maximum size in bytes of a form without free text: names, a password, the proof, and what browsers add.
const SMALL_FORM: usize = 4 * 1024;

/// Maximum size in bytes of a form with free text: 4,000 characters of up to four bytes, each of which
/// takes three in a form.
pub(super) const LARGE_FORM: usize = 64 * 1024;

/// Maximum size in bytes of a form with a file: the file, and fields beside it.
pub(super) const FILE_FORM: usize = MAX_BYTES + LARGE_FORM;

/// Returns the part of a path behind `/console/`. `None` for any path that is not exactly `/console`,
/// `/console/` or a plain path below: paths with escapes, empty or dotted segments, or other letter cases
/// would not be recognised by a proxy in front, so they are not accepted as second names.
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
    /// Returns the route of a request, and the segment in place of the id.
    pub(super) fn find<'a>(method: &Method, path: &'a str) -> Option<(&'static Self, &'a str)> {
        // HEAD is handled like GET; the body is removed later (RFC 9110 §9.3.2).
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let mut rows = TABLE.iter().filter(|row| row.method == *method);
        rows.find_map(|row| Some((row, row.matches(path)?)))
    }

    /// Returns the segment in place of the id, which is empty for a route without one. `None` when the
    /// path does not match.
    fn matches<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut steps = path.split('/');
        let mut id = "";
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

    /// Returns the maximum size in bytes of the route's form; 0 when it has none.
    pub(super) fn form_bytes(&self) -> usize {
        if !self.changes() {
            0
        } else if self.takes_file() {
            FILE_FORM
        } else if self.path.ends_with("/notes")
            || matches!(self.path, "leads/stage" | "leads/assign")
        {
            // The latter have the ids of all leads of a page.
            LARGE_FORM
        } else {
            SMALL_FORM
        }
    }

    /// Returns true when the route's form has a file.
    pub(super) fn takes_file(&self) -> bool {
        self.changes() && self.path == "delivery"
    }

    /// Returns true when the route changes something, and so requires the proof of a form.
    pub(super) fn changes(&self) -> bool {
        self.method == Method::POST
    }
}
