#![doc = include_str!("../README.md")]

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use tradepost_admin::{AdminContext, AdminError, DealerScope};
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_runtime::adcp::seller::PublisherAgent;
use tradepost_runtime::config::{ConsoleConfig as Settings, SecondFactorPolicy, ServerConfig};
use tradepost_runtime::console_metrics::ConsoleMetrics;
use tradepost_runtime::delivery::Deliveries;
use tradepost_runtime::wiring::{RunningDealers, Wiring};
use tradepost_server::background::piece;
use tradepost_server::clock::Clock;
use tradepost_server::fair_scheduler::FairScheduler;
use tradepost_server::fault::InternalError;
use tradepost_server::http::intake::{self, BodyError, BodyReader};
use tradepost_server::http::{self, HSTS};
use tradepost_server::limit::LimitKey;
use tradepost_store::Store;
use tradepost_store::staff::StaffMember;

pub use attempts::name_bucket;
use confirm::Confirmation;
use reply::ConsoleReply;
use request::ConsoleRequest;
use route::{ConsoleRoute, RouteAction};
use sign_in::{SignInService, Visitor};

mod account;
mod actions;
mod address_places;
mod attempts;
mod browser;
mod calendar;
mod calendar_feeds;
mod calendar_place;
mod confirm;
mod factor;
mod file_form;
mod lead_work;
mod listing_warnings;
mod oidc;
mod pages;
pub mod password;
mod prober;
mod publisher;
mod reply;
pub mod request;
pub mod route;
mod sign_in;
mod step_runs;

/// Path prefix of the console.
pub const PATH: &str = "/console";

/// Timeout for reading a form.
const FORM_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for reading a form with a file, which a phone may send.
const FILE_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum memory in bytes of all requests in progress, and as much again of those with a file.
const MAX_FORMS_BYTES: usize = 16 * 1024 * 1024;

/// Number of requests that are answered concurrently; beyond it, client addresses are scheduled fairly.
const MAX_CONCURRENT_PAGES: usize = 32;

/// Number of sign-in forms that are checked concurrently. They are limited apart from pages, so that a
/// slow store or a password attack does not delay those who are signed in.
const MAX_CONCURRENT_SIGN_INS: usize = 4;

/// Time after which a waiting request is answered with "try again later".
const TURN_TIMEOUT: Duration = Duration::from_secs(10);

/// The console of a process.
#[derive(Debug)]
pub struct Console {
    store: Arc<Store>,
    sellers: Arc<RunningDealers>,
    /// Publishers of the process.
    publishers: Vec<Arc<PublisherAgent>>,
    deliveries: Arc<Deliveries>,
    clock: Clock,
    sign_in: SignInService,
    provider: Option<oidc::OidcProvider>,
    offers: listing_warnings::Offers,
    prober: Arc<prober::Prober>,
    step_runs: Arc<step_runs::StepRuns>,
    metrics: ConsoleMetrics,
    second_factor: SecondFactorPolicy,
    trust_forwarded_for: bool,
    forms: BodyReader,
    file_forms: BodyReader,
    turns: FairScheduler,
    sign_in_turns: FairScheduler,
    /// Address for browsers, without a slash at the end.
    base: String,
}

/// Result of a request.
type Answer = Result<ConsoleReply, PageError>;

/// Reason why a request is not answered with its page.
#[derive(Debug)]
enum PageError {
    /// The person has to sign in first.
    SignIn,
    /// The role does not have the permission.
    Forbidden,
    /// There is no such page or item, or it belongs to another dealer.
    NotFound,
    /// The person has to set up a second factor first.
    SetUpFactor,
    /// The form is not from the console, or belongs to a session that has ended.
    Stale,
    /// The input is not usable, with the reason.
    Unusable(&'static str),
    /// The file of a form is larger than what is read.
    FileTooLarge,
    /// The input has problems, which depend on it.
    Invalid(String),
    /// The present state, such as another person's change, prevents it, with the reason.
    Conflict(String),
    /// The request waited too long for its turn.
    Busy,
    /// An internal error.
    Broken(InternalError),
}

impl From<InternalError> for PageError {
    fn from(error: InternalError) -> Self {
        Self::Broken(error)
    }
}

impl PageError {
    /// Creates the page for an operation that was not done. `refused` has the pages of its refusals.
    fn from_admin<R>(error: AdminError<R>, refused: impl FnOnce(R) -> Self) -> Self {
        match error {
            AdminError::Forbidden(_) => Self::Forbidden,
            AdminError::Refused(refusal) => refused(refusal),
            AdminError::Broken(fault) => Self::Broken(fault),
        }
    }
}

impl Console {
    /// Creates the console with the parts of a process. Its address comes from the settings; it uses TLS
    /// when the server does.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn open(
        wiring: &Wiring,
        settings: &Settings,
        server: &ServerConfig,
    ) -> Result<Self, InternalError> {
        let clock = wiring.clock.clone();
        wiring.console_metrics.begin();
        let base = settings.base(server);
        let provider = |of| oidc::OidcProvider::open(of, &base, wiring.means());
        let limits = http::HttpSettings {
            max_pending_bytes: MAX_FORMS_BYTES,
            read_timeout: FORM_TIMEOUT,
            trust_forwarded_for: server.trust_forwarded_for,
            ..http::HttpSettings::default()
        };
        let file_limits = http::HttpSettings { read_timeout: FILE_TIMEOUT, ..limits.clone() };
        Ok(Self {
            provider: settings.oidc.clone().map(provider).transpose()?,
            store: Arc::clone(&wiring.store),
            sellers: Arc::clone(&wiring.sellers),
            publishers: wiring.publishers.clone(),
            deliveries: Arc::clone(&wiring.deliveries),
            sign_in: SignInService::new(settings, server.tls.is_some(), &clock, &*wiring.store)?,
            prober: Arc::new(prober::Prober::new(Arc::clone(&wiring.store), clock.clone())),
            step_runs: Arc::default(),
            clock,
            metrics: wiring.console_metrics.clone(),
            second_factor: settings.second_factor,
            offers: listing_warnings::Offers::default(),
            trust_forwarded_for: server.trust_forwarded_for,
            forms: BodyReader::new(&limits, route::LARGE_FORM),
            file_forms: BodyReader::new(&file_limits, route::FILE_FORM),
            turns: FairScheduler::new(MAX_CONCURRENT_PAGES),
            sign_in_turns: FairScheduler::new(MAX_CONCURRENT_SIGN_INS),
            base,
        })
    }

    /// Returns the router for its listener.
    pub fn router(self) -> Router {
        Router::new().fallback(handle).with_state(Arc::new(self))
    }

    /// Checks a request by its head, before its form is read. Returns true when the form has to be read.
    fn needs_form(
        &self,
        asked: &ConsoleRequest,
        row: &ConsoleRoute,
        id: &str,
    ) -> Result<bool, PageError> {
        match row.act {
            RouteAction::Inside(_) | RouteAction::Renewing(_) => {
                self.permitted(asked, row, id).map(|_| true)
            }
            // A sign-in form without its cookie is refused without reading it.
            RouteAction::Outside(_) => Ok(asked.has_cookies()),
            RouteAction::File(..) | RouteAction::AsksOtherServer(_) | RouteAction::Secret(_) => {
                Ok(false)
            }
        }
    }

    /// Answers a request, except those that need another server.
    fn answer(&self, asked: &ConsoleRequest, row: &ConsoleRoute, id: &str) -> ConsoleReply {
        let answer = match row.act {
            RouteAction::File(media_type, text) => {
                Ok(ConsoleReply::new(media_type, text.to_owned()))
            }
            RouteAction::Outside(act) => act(self, asked),
            RouteAction::Secret(act) => act(self, asked, id),
            RouteAction::AsksOtherServer(_) => Err(PageError::NotFound),
            RouteAction::Inside(act) => self.admitted(asked, row, id).and_then(|mut visitor| {
                self.act_confirmed(&mut visitor, row, |visitor| act(self, visitor))
            }),
            RouteAction::Renewing(act) => self.admitted(asked, row, id).and_then(|mut visitor| {
                self.act_confirmed(&mut visitor, row, |visitor| act(self, visitor))
            }),
        };
        answer.unwrap_or_else(|stop| self.stopped(asked, stop))
    }

    /// Performs an action, after asking for the password again where the route requires it.
    fn act_confirmed<'a>(
        &self,
        visitor: &mut Visitor<'a>,
        row: &ConsoleRoute,
        act: impl FnOnce(&mut Visitor<'a>) -> Answer,
    ) -> Answer {
        if !row.asks_password {
            return act(visitor);
        }
        match self.confirm_identity(visitor)? {
            Confirmation::Recent => act(visitor),
            Confirmation::Asked(reply) => Ok(reply),
            Confirmation::Renewed(cookie) => {
                // Also after a failure: the cookie from before the confirmation is no longer valid.
                let reply = act(visitor).unwrap_or_else(|stop| self.stopped(visitor.asked, stop));
                Ok(reply.with_earlier_cookie(cookie))
            }
        }
    }

    /// Records a request that the role does not permit.
    fn record_refused(
        &self,
        visitor: &Visitor<'_>,
        row: &ConsoleRoute,
    ) -> Result<(), InternalError> {
        self.metrics.count_refused_action(visitor.member.role);
        let mut entry =
            self.entry(&visitor.member, visitor.dealer_id(), AuditAction::AccessRefused, None);
        entry.detail = Some(format!("{} {PATH}/{}", row.method, row.path));
        self.store.write_blocking(move |tx| tx.record_failure(&entry))
    }

    /// Returns the visitor if signed in and permitted to use the route.
    fn permitted<'a>(
        &self,
        asked: &'a ConsoleRequest,
        row: &ConsoleRoute,
        id: &'a str,
    ) -> Result<Visitor<'a>, PageError> {
        let visitor = self.visitor(asked, id)?;
        // Before anything is read: a forbidden item looks the same whether it exists or not.
        let role = visitor.member.role;
        if row.permission.is_some_and(|permission| !permission.is_of(role)) {
            self.record_refused(&visitor, row)?;
            return Err(PageError::Forbidden);
        }
        Ok(visitor)
    }

    /// Returns the permitted visitor if the form was issued to this session.
    fn admitted<'a>(
        &self,
        asked: &'a ConsoleRequest,
        row: &ConsoleRoute,
        id: &'a str,
    ) -> Result<Visitor<'a>, PageError> {
        let visitor = self.permitted(asked, row, id)?;
        // Another site can make a browser send the cookie, but cannot know the proof in our forms.
        if row.changes() && !asked.proves(&visitor.secret) {
            return Err(PageError::Stale);
        }
        if !row.before_factor && self.must_set_up_factor(&visitor)? {
            return Err(PageError::SetUpFactor);
        }
        Ok(visitor)
    }

    /// Runs work on a thread that may block, when it is the turn of the client's address. The work
    /// continues and keeps its place when the browser disconnects.
    ///
    /// # Errors
    /// When no turn came in time, or the work panicked; the log has the cause.
    async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        asked: &Arc<ConsoleRequest>,
        work: impl FnOnce(&Self, &ConsoleRequest) -> T + Send + 'static,
    ) -> Result<T, PageError> {
        let console = Arc::clone(self);
        let asked = Arc::clone(asked);
        let task = tokio::spawn(async move {
            let turns =
                if asked.is_sign_in_form() { &console.sign_in_turns } else { &console.turns };
            let turn = turns.turn("console", LimitKey::address(asked.address));
            let Ok(_turn) = tokio::time::timeout(TURN_TIMEOUT, turn).await else {
                return Err(PageError::Busy);
            };
            let worker = Arc::clone(&console);
            let done = piece("a page of the console", move || work(&worker, &asked)).await;
            done.ok_or_else(no_result)
        });
        task.await.unwrap_or_else(|_| Err(no_result()))
    }

    /// Returns the visitor's dealers, in the order of the configuration.
    fn dealers(&self, visitor: &Visitor<'_>) -> Vec<Arc<DealerAgent>> {
        let mut sellers = self.sellers.all();
        if let Some(id) = visitor.dealer_id() {
            sellers.retain(|seller| seller.dealer.terms.id == id);
        }
        sellers
    }

    /// Returns the visitor's dealer with this id, or the first one.
    fn dealer(
        &self,
        visitor: &Visitor<'_>,
        id: Option<&str>,
    ) -> Result<Arc<DealerAgent>, PageError> {
        let is_meant = |seller: &Arc<DealerAgent>| id.is_none_or(|id| seller.dealer.terms.id == id);
        self.dealers(visitor).into_iter().find(is_meant).ok_or(PageError::NotFound)
    }

    /// Returns the surroundings of an operation now.
    fn admin<'a>(&'a self, dealers: &'a [DealerScope<'a>]) -> AdminContext<'a> {
        AdminContext { store: &self.store, dealers, now: self.clock.now() }
    }

    /// Creates an audit entry of a dealer, or of all dealers together.
    fn entry(
        &self,
        member: &StaffMember,
        dealer_id: Option<&str>,
        action: AuditAction,
        subject: Option<String>,
    ) -> NewAuditEntry {
        NewAuditEntry {
            chain: dealer_id.unwrap_or(tradepost_dealer::staff::EVERYBODY).to_owned(),
            at: self.clock.now(),
            actor: member.name.clone(),
            action,
            subject,
            detail: None,
        }
    }
}

/// Returns what operations of staff need to know of each dealer.
fn dealer_scopes(dealers: &[Arc<DealerAgent>]) -> Vec<DealerScope<'_>> {
    dealers.iter().map(|dealer| dealer.dealer.scope()).collect()
}

async fn handle(State(console): State<Arc<Console>>, request: Request) -> Response {
    // Browsers connect by TLS, here or at a proxy.
    let is_over_tls = console.base.starts_with("https://");
    let mut response = respond(console, request).await;
    if is_over_tls {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

async fn respond(console: Arc<Console>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let Some(path) = route::path(parts.uri.path()) else {
        return early(bare(StatusCode::NOT_FOUND, "not found\n"), &parts, body);
    };
    let mut asked = Arc::new(ConsoleRequest::from_head(&parts, path, console.trust_forwarded_for));
    let Some((row, id)) = ConsoleRoute::find(&parts.method, path) else {
        return early(console.stopped(&asked, PageError::NotFound).into_response(), &parts, body);
    };
    let id: Arc<str> = id.into();
    // Counted until the answer is there, because files are limited in all.
    let mut held = None;
    if row.form_bytes() > 0 {
        // Checked again after the form is read: the session may have ended in the meantime.
        let named = Arc::clone(&id);
        let judge = move |console: &Console, asked: &ConsoleRequest| {
            let needs_form = console.needs_form(asked, row, &named);
            needs_form.map_err(|stop| console.stopped(asked, stop).into_response())
        };
        let judged = console.in_turn(&asked, judge).await;
        let judged =
            judged.unwrap_or_else(|stop| Err(console.stopped(&asked, stop).into_response()));
        match judged {
            Ok(true) if row.takes_file() => {
                match console.file_forms.read(&parts, &mut body, row.form_bytes()).await {
                    Ok(form) => {
                        asked = Arc::new(asked.with_file_form(&form));
                        held = Some(form);
                    }
                    Err(BodyError::TooLarge(_)) => {
                        let reply = console.stopped(&asked, PageError::FileTooLarge);
                        return early(reply.into_response(), &parts, body);
                    }
                    Err(unread) => return early(unreadable(unread), &parts, body),
                }
            }
            Ok(true) => match console.forms.read(&parts, &mut body, row.form_bytes()).await {
                Ok(form) => asked = Arc::new(asked.with_form(&form)),
                Err(unread) => return early(unreadable(unread), &parts, body),
            },
            Ok(false) => {}
            Err(answer) => return early(answer, &parts, body),
        }
    }
    let response = if let RouteAction::AsksOtherServer(act) = row.act {
        let answer = act(Arc::clone(&console), Arc::clone(&asked)).await;
        answer.unwrap_or_else(|stop| console.stopped(&asked, stop)).into_response()
    } else {
        let answer =
            move |console: &Console, asked: &ConsoleRequest| console.answer(asked, row, &id);
        let answered = console.in_turn(&asked, answer).await;
        answered.unwrap_or_else(|stop| console.stopped(&asked, stop)).into_response()
    };
    drop(held);
    early(response, &parts, body)
}

/// Returns the response to a request whose body was not read to its end. The rest is discarded while the
/// response is sent.
fn early(mut response: Response, parts: &Parts, body: Body) -> Response {
    if !body.is_end_stream() {
        // The rest of the body would be read as the next request.
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        intake::discard(&parts.headers, body);
    }
    response
}

/// Returns the response to a form that could not be read.
fn unreadable(unread: BodyError) -> Response {
    let text = match unread {
        BodyError::TooLarge(_) => "the form is too large\n",
        BodyError::OtherType | BodyError::Encoded => "send the form without a content encoding\n",
        BodyError::Broken => "the form ended early\n",
        BodyError::Late(_) | BodyError::Slow => "the form took too long\n",
        BodyError::NoRoom => "too many forms are in progress; send it again in a moment\n",
    };
    let mut response = bare(unread.status(), text);
    unread.mark(&mut response);
    response
}

/// Returns the error of work that ended without a result; the log has the cause.
fn no_result() -> PageError {
    InternalError::new("answering a request to the console", "the work came to no result").into()
}

/// Returns a plain text response for cases without a page.
fn bare(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    reply::protect(response.headers_mut(), reply::NO_PHOTOS);
    response
}
