//! The sandbox: a dealer who answers as a script wants it, a publisher, or an agent without a profile, and
//! who grades whoever buys from it.
//!
//! True answers come from a [`Dealer`] or a publisher whom the program hands in ([`Cast`]), or from an agent
//! without a profile ([`agent`]), through the same router as in a server. The script ([`script`]) decides for each request
//! what happens instead: a refusal ([`mod@refuse`]), damage ([`damage`]), or nothing at all. Meanwhile
//! [`watch`] compares what the buyer sends with what it has been told before ([`reply`]), and [`report`]
//! tells what it found.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use jiff::Timestamp;
use tokio::sync::watch::{Receiver, Sender};
use tower::ServiceExt as _;
use tradepost_dealer::demo;
use tradepost_dealer::import::Unit;
use tradepost_server::card::ENDPOINT_PATH;
use tradepost_server::clock::Clock;
use tradepost_server::fault::Fault;
use tradepost_server::http::mcp;
use tradepost_wire::a2a::card::WELL_KNOWN_PATH;
use tradepost_wire::json::Value;

pub mod agent;
pub mod damage;
pub mod refuse;
pub mod reply;
pub mod report;
pub mod script;
pub mod sent;
pub mod server;
pub mod watch;

use refuse::Whole;
use reply::Reply;
use script::{Act, Per, Rule, Script, Sell, Seller, Target};
use sent::{Digest, Sent};
use watch::{Finding, Watch};

/// The largest request that is read at all.
const MAX_BODY: usize = 1024 * 1024;

/// The largest true answer.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Where the report is.
pub const REPORT_PATH: &str = "/_sandbox/report";

/// Where redirects lead.
const ELSEWHERE_PATH: &str = "/_sandbox/elsewhere";

/// The demo inventory is the same everywhere.
const SEED: u64 = 20_260_401;

/// The connection ends without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped;

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the script ends the connection")
    }
}

impl std::error::Error for Dropped {}

/// A dealer who speaks AAP and answers truly, at any pace.
pub trait Dealer: fmt::Debug + Send + Sync {
    /// Everything that can be asked of it, under the paths that a server has for it.
    fn router(&self) -> Router;

    /// Offers these vehicles and no others, from now on; those it no longer has are gone. May wait for
    /// a disk.
    ///
    /// # Errors
    /// When that cannot be kept.
    fn offer(&self, units: &[Unit], now: Timestamp) -> Result<(), Fault>;
}

/// Who plays a part, for whichever one a script has.
pub trait Cast {
    /// A dealer, who has nothing to sell yet.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn dealer(&self) -> Result<Arc<dyn Dealer>, Fault>;

    /// Everything that can be asked of a publisher who speaks AdCP, under the paths that a server has for it.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn publisher(&self) -> Result<Router, Fault>;
}

/// A sandbox.
#[derive(Debug)]
pub struct Sandbox {
    script: Script,
    clock: Clock,
    started: Timestamp,
    /// Who answers, where it is a dealer.
    dealer: Option<Arc<dyn Dealer>>,
    router: Router,
    state: Mutex<State>,
    finished: Sender<u64>,
}

/// What changes from request to request.
#[derive(Debug)]
struct State {
    watch: Watch,
    /// How many requests each rule has counted, where it counts them all.
    counted: Vec<u64>,
    units: Vec<Unit>,
}

impl Sandbox {
    /// Sets up whom the script plays; a dealer gets so many vehicles. `address` is where the process
    /// listens.
    ///
    /// # Errors
    /// When whoever is played cannot be set up.
    pub fn open(
        script: Script,
        cast: &dyn Cast,
        size: usize,
        clock: Clock,
        address: SocketAddr,
    ) -> Result<Self, Fault> {
        let started = clock.now();
        let (router, dealer, units) = match script.seller {
            Seller::Dealer => {
                let (dealer, units) = (cast.dealer()?, demo::units(size, SEED, started));
                dealer.offer(&units, started)?;
                (dealer.router(), Some(dealer), units)
            }
            Seller::Agent => (agent::router(clock.clone(), address)?, None, Vec::new()),
            Seller::Publisher => (cast.publisher()?, None, Vec::new()),
        };
        let watch = Watch::new(script.budget, script.seller.has(Target::Card));
        let counted = vec![0; script.rules.len()];
        Ok(Self {
            router,
            state: Mutex::new(State { watch, counted, units }),
            finished: Sender::new(0),
            script,
            clock,
            started,
            dealer,
        })
    }

    /// How many requests have been answered or given up; for whoever waits for a number of them.
    #[must_use]
    pub fn finished(&self) -> Receiver<u64> {
        self.finished.subscribe()
    }

    /// The report so far.
    #[must_use]
    pub fn report(&self) -> report::Report {
        report::Report::of(&self.script, self.started, &self.state().watch)
    }

    /// Answers a request.
    ///
    /// # Errors
    /// [`Dropped`], when the connection is to end instead.
    pub async fn answer(&self, request: Request) -> Result<Response, Dropped> {
        let arrived = self.clock.now();
        let path = request.uri().path();
        match (request.method(), path.strip_suffix('/').unwrap_or(path)) {
            (&Method::GET, REPORT_PATH) => return Ok(self.report().respond(&request)),
            (_, ELSEWHERE_PATH) => {
                let message = "the request came to where a redirect led";
                self.state().watch.find_elsewhere(Finding::RedirectFollowed, message);
                let page = refuse::html("You are elsewhere now");
                return Ok(damage::whole(Whole::new(StatusCode::OK, "text/html", page)));
            }
            // A publisher is played over MCP alone, so that nobody is sent to its other interfaces.
            (&Method::GET, WELL_KNOWN_PATH) if !self.script.seller.has(Target::Card) => {
                return Ok(damage::whole(refuse::http(404, script::Page::Json, &<_>::default())));
            }
            (&Method::GET, WELL_KNOWN_PATH) => {
                let (parts, _) = request.into_parts();
                let sent = Sent::card(&parts);
                return self.play(parts, Bytes::new(), sent, arrived).await;
            }
            (&Method::POST, path) if path == self.endpoint() => {}
            _ => return Ok(self.forward(request).await),
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, MAX_BODY).collect().await.map(|body| body.to_bytes())
        else {
            return Ok(damage::whole(refuse::http(413, script::Page::Html, &<_>::default())));
        };
        let sent = match self.script.seller {
            Seller::Dealer => Some(Sent::message(&parts, &body, arrived)),
            Seller::Agent => Some(Sent::call(&parts, &body)),
            Seller::Publisher => Sent::tool(&parts, &body),
        };
        match sent {
            Some(sent) => self.play(parts, body, sent, arrived).await,
            // What MCP says before and beside its calls has no effect, and is no task.
            None => Ok(self.forward(Request::from_parts(parts, Body::from(body))).await),
        }
    }

    /// Where requests are played.
    fn endpoint(&self) -> &'static str {
        match self.script.seller {
            Seller::Dealer | Seller::Agent => ENDPOINT_PATH,
            Seller::Publisher => mcp::PATH,
        }
    }

    /// Plays the rule that fits.
    async fn play(
        &self,
        parts: Parts,
        body: Bytes,
        sent: Sent,
        arrived: Timestamp,
    ) -> Result<Response, Dropped> {
        let (number, rule) = self.begin(&sent, arrived);
        // It counts also when the buyer goes away while it waits.
        let _finished = Finished(&self.finished);
        // Without a rule it is done, and answered.
        let answer = Rule { acted: true, ..Rule::default() };
        let rule = rule.unwrap_or(&answer);
        // Done first, also where a refusal is told: a lead can be taken
        // without its buyer hearing of it.
        let real = if rule.acted {
            let real = self.really(Request::from_parts(parts, Body::from(body))).await;
            let is_card = sent.target == Some(Target::Card);
            Some(if is_card { self.with_what_is_played(real) } else { real })
        } else {
            None
        };
        let now = self.clock.now();
        let taken = real.as_ref().is_some_and(|real| {
            Reply::read(real.status, &real.headers, &real.body, now) == Reply::Success
        });
        let words = &rule.words;
        let outcome = match (&rule.act, real) {
            (Act::Refuse(code), _) => Outcome::Whole(refuse::profile(*code, words, &sent, now)),
            (Act::Fail(code), _) => Outcome::Whole(refuse::task(*code, words, &sent)),
            (Act::Protocol(code), _) => Outcome::Whole(refuse::protocol(*code, words, &sent)),
            (Act::Http(status, page), _) => Outcome::Whole(refuse::http(*status, *page, words)),
            (Act::Redirect, _) => Outcome::Whole(elsewhere()),
            (Act::Truncate, Some(real)) => Outcome::Senseless(damage::truncated(real)),
            (Act::Garbage(kind), Some(real)) => {
                Outcome::Senseless(damage::garbage(*kind, real, &sent))
            }
            (Act::Inject(poison), Some(real)) => Outcome::Whole(damage::inject(*poison, real)),
            (Act::Sell(which), Some(real)) => {
                self.sell(*which, &real.body, now).await;
                Outcome::Whole(real)
            }
            (Act::Answer, Some(real)) => Outcome::Whole(real),
            (Act::Drop, _)
            | (
                Act::Answer | Act::Truncate | Act::Garbage(_) | Act::Inject(_) | Act::Sell(_),
                None,
            ) => Outcome::Nothing,
        };
        // Only the answer is kept back. Whoever gives up waiting
        // cannot know that everything is done.
        if let Ok(latency) = Duration::try_from(rule.latency)
            && !latency.is_zero()
        {
            tokio::time::sleep(latency).await;
        }
        let now = self.clock.now();
        let reply = match &outcome {
            Outcome::Whole(Whole { status, headers, body }) => {
                Reply::read(*status, headers, body, now)
            }
            Outcome::Senseless(_) | Outcome::Nothing => Reply::Nothing,
        };
        // Before it is sent: the buyer's next request may be there at once.
        self.state().watch.answered(number, &sent, &reply, taken, now);
        match outcome {
            Outcome::Whole(whole) => Ok(damage::whole(whole)),
            Outcome::Senseless(response) => Ok(response),
            Outcome::Nothing => Err(Dropped),
        }
    }

    /// Grades a request and finds its rule. Every rule counts what it concerns, also when
    /// another one decides.
    fn begin(&self, sent: &Sent, arrived: Timestamp) -> (u64, Option<&Rule>) {
        let mut state = self.state();
        let (number, attempt) = state.watch.arrived(sent, arrived);
        let passed = self.started.duration_until(arrived);
        let mut chosen = None;
        for (index, rule) in self.script.rules.iter().enumerate() {
            if !rule.when.concerns(sent.target) {
                continue;
            }
            let all = state.counted.get_mut(index).map_or(1, |count| {
                *count += 1;
                *count
            });
            let count = match rule.when.per {
                Some(Per::Seller) | None => all,
                Some(Per::Intent) => u64::from(attempt),
            };
            if chosen.is_none() && rule.when.fits(count, passed) {
                chosen = Some((index, rule));
            }
        }
        if let Some((index, _)) = chosen {
            state.watch.decided(number, index);
        }
        (number, chosen.map(|(_, rule)| rule))
    }

    /// The true answer.
    async fn forward(&self, request: Request) -> Response {
        self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }

    async fn really(&self, request: Request) -> Whole {
        let (parts, body) = self.forward(request).await.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let mut headers = parts.headers;
        // Damage changes the length of a body.
        headers.remove(header::CONTENT_LENGTH);
        Whole { status: parts.status, headers, body }
    }

    /// An agent's card without the bindings that the sandbox does not play.
    fn with_what_is_played(&self, card: Whole) -> Whole {
        let mut document: Value = tradepost_wire::json::from_slice(&card.body).unwrap_or_default();
        let interfaces = document.get_mut("supportedInterfaces").and_then(Value::as_array_mut);
        match (self.script.seller, interfaces) {
            (Seller::Agent, Some(interfaces)) => {
                interfaces.retain(|it| it.get("protocolBinding") == Some(&"JSONRPC".into()));
                Whole { body: document.to_string().into(), ..card }
            }
            (Seller::Agent | Seller::Dealer | Seller::Publisher, _) => card,
        }
    }

    /// Sells vehicles that a search has just offered: from now on the dealer itself says so.
    async fn sell(&self, which: Sell, answer: &[u8], now: Timestamp) {
        let document: Value = tradepost_wire::json::from_slice(answer).unwrap_or_default();
        let offered = document.pointer("/result/message/parts/0/data/data/vehicles");
        let offered = offered.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let ids = offered.iter().filter_map(|vehicle| vehicle.get("vehicle_id")?.as_str());
        let ids: Vec<_> = match which {
            Sell::First => ids.take(1).collect(),
            Sell::All => ids.collect(),
        };
        let (Some(dealer), false) = (self.dealer.clone(), ids.is_empty()) else { return };
        // Locked for the marks alone: other requests go on while the inventory is made.
        let units = {
            let mut state = self.state();
            for unit in &mut state.units {
                let id = unit.vehicle.vehicle_id.as_deref().unwrap_or_default();
                unit.sold |= ids.contains(&id);
            }
            state.units.clone()
        };
        // Building an index takes a while.
        let sold = tokio::task::spawn_blocking(move || dealer.offer(&units, now));
        if let Ok(Err(fault)) = sold.await {
            tracing::error!(cause = %fault.chain(), "vehicles could not be sold");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is sent.
enum Outcome {
    /// An answer that can be understood.
    Whole(Whole),
    /// One that cannot.
    Senseless(Response),
    /// None.
    Nothing,
}

/// Counts a request as finished when it goes.
struct Finished<'s>(&'s Sender<u64>);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count += 1);
    }
}

fn elsewhere() -> Whole {
    let mut whole = Whole::new(StatusCode::TEMPORARY_REDIRECT, "text/html", refuse::html("Moved"));
    whole.headers.insert(header::LOCATION, HeaderValue::from_static(ELSEWHERE_PATH));
    whole
}

/// The first bytes of a fingerprint, as people compare them.
fn short(digest: &Digest) -> String {
    tradepost_wire::format::hex(digest.iter().take(6))
}

/// What a request was for, in the report.
fn target_name(target: Option<Target>) -> &'static str {
    target.map_or("(unknown)", Target::name)
}
