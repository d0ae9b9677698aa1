//! Seller that one buyer meets: its true answers, the script's changes to them, and the grader of the buyer.

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
use tokio::sync::watch::Sender;
use tower::ServiceExt as _;
use tradepost_a2a::card::WELL_KNOWN_PATH;
use tradepost_dealer::import::FeedListing;
use tradepost_demo::dealer as demo;
use tradepost_document::json::Value;
use tradepost_server::card::ENDPOINT_PATH;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_server::http::mcp;

use super::buyer::Place;
use super::refuse::{self, WholeAnswer};
use super::reply::BuyerReply;
use super::report::SandboxReport;
use super::script::{self, AskedFor, Per, RuleAction, Script, ScriptRule, Sell, SellerKind};
use super::sent::SentRequest;
use super::watch::{BuyerGrader, FindingKind};
use super::{Dropped, SellerFactory, TruthfulDealer, agent, damage};

/// Maximum size of a request body, in bytes.
const MAX_BODY: usize = 1024 * 1024;

/// Maximum size of a true answer, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// Path to which redirects lead.
const REDIRECT_TARGET_PATH: &str = "/_sandbox/elsewhere";

/// Seed of the demo inventory, the same for every buyer.
const SEED: u64 = 20_260_401;

/// Seller of one buyer.
#[derive(Debug)]
pub(super) struct PlayedSeller {
    script: Arc<Script>,
    place: Place,
    clock: Clock,
    started: Timestamp,
    /// Dealer that answers, when the script plays one.
    dealer: Option<Arc<dyn TruthfulDealer>>,
    router: Router,
    state: Mutex<SandboxState>,
}

/// State that changes with each request.
#[derive(Debug)]
struct SandboxState {
    grader: BuyerGrader,
    /// Number of requests counted by each rule, for rules that count all of them.
    counted: Vec<u64>,
    listings: Vec<FeedListing>,
}

impl PlayedSeller {
    /// Creates the seller that the script plays for this buyer; a dealer gets `size` vehicles. May block on the disk.
    ///
    /// # Errors
    /// When the seller cannot be created.
    pub(super) fn open(
        script: Arc<Script>,
        factory: &dyn SellerFactory,
        place: Place,
        size: usize,
        clock: Clock,
    ) -> Result<Self, InternalError> {
        let started = clock.now();
        let (router, dealer, listings) = match script.seller {
            SellerKind::Dealer => {
                let dealer = factory.dealer(&place)?;
                let listings = demo::listings(size, SEED, started);
                dealer.offer(&listings, started)?;
                (dealer.router(), Some(dealer), listings)
            }
            SellerKind::Agent => (agent::router(clock.clone(), &place.base_url)?, None, Vec::new()),
            SellerKind::Publisher => (factory.publisher(&place)?, None, Vec::new()),
        };
        let grader = BuyerGrader::new(script.budget, script.seller.has(AskedFor::Card));
        let counted = vec![0; script.rules.len()];
        let state = Mutex::new(SandboxState { grader, counted, listings });
        Ok(Self { script, place, clock, started, dealer, router, state })
    }

    /// Returns the report on its buyer so far.
    pub(super) fn report(&self) -> SandboxReport {
        let buyer = self.place.buyer.clone();
        SandboxReport::new(&self.script, buyer, self.started, &self.state().grader)
    }

    /// Answers a request of its buyer; the buyer's prefix is already removed from the path.
    ///
    /// # Errors
    /// [`Dropped`], when the connection is to end instead.
    pub(super) async fn answer(
        &self,
        request: Request,
        finished: &Sender<u64>,
    ) -> Result<Response, Dropped> {
        let arrived = self.clock.now();
        let path = request.uri().path();
        match (request.method(), path.strip_suffix('/').unwrap_or(path)) {
            (_, REDIRECT_TARGET_PATH) => {
                let message = "the request came to where a redirect led";
                self.state().grader.find_elsewhere(FindingKind::RedirectFollowed, message);
                let page = refuse::html("You are elsewhere now");
                return Ok(damage::whole(WholeAnswer::new(StatusCode::OK, "text/html", page)));
            }
            // A publisher is played over MCP only, so its card with other interfaces is withheld.
            (&Method::GET, WELL_KNOWN_PATH) if !self.script.seller.has(AskedFor::Card) => {
                return Ok(damage::whole(refuse::http(
                    404,
                    script::BodyKind::Json,
                    &<_>::default(),
                )));
            }
            (&Method::GET, WELL_KNOWN_PATH) => {
                let (parts, _) = request.into_parts();
                let sent = SentRequest::card(&parts);
                return self.play(parts, Bytes::new(), sent, arrived, finished).await;
            }
            (&Method::POST, path) if path == self.endpoint() => {}
            _ => return Ok(self.forward(request).await),
        }
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, MAX_BODY).collect().await.map(|body| body.to_bytes())
        else {
            return Ok(damage::whole(refuse::http(413, script::BodyKind::Html, &<_>::default())));
        };
        let sent = match self.script.seller {
            SellerKind::Dealer => Some(SentRequest::message(&parts, &body, arrived)),
            SellerKind::Agent => Some(SentRequest::call(&parts, &body)),
            SellerKind::Publisher => SentRequest::tool(&parts, &body),
        };
        match sent {
            Some(sent) => self.play(parts, body, sent, arrived, finished).await,
            // MCP messages other than tool calls have no effect and are forwarded.
            None => Ok(self.forward(Request::from_parts(parts, Body::from(body))).await),
        }
    }

    /// Returns the path whose requests the script decides about.
    fn endpoint(&self) -> &'static str {
        match self.script.seller {
            SellerKind::Dealer | SellerKind::Agent => ENDPOINT_PATH,
            SellerKind::Publisher => mcp::PATH,
        }
    }

    /// Returns a redirect to another path of this buyer.
    fn redirect(&self) -> WholeAnswer {
        let page = refuse::html("Moved");
        let mut whole = WholeAnswer::new(StatusCode::TEMPORARY_REDIRECT, "text/html", page);
        let location = format!("{}{REDIRECT_TARGET_PATH}", self.place.path());
        if let Ok(location) = HeaderValue::from_str(&location) {
            whole.headers.insert(header::LOCATION, location);
        }
        whole
    }

    /// Applies the first rule that fits.
    async fn play(
        &self,
        parts: Parts,
        body: Bytes,
        sent: SentRequest,
        arrived: Timestamp,
        finished: &Sender<u64>,
    ) -> Result<Response, Dropped> {
        let (number, rule) = self.begin(&sent, arrived);
        // Counts the request also when the buyer disconnects during the wait.
        let _finished = Finished(finished);
        // Without a rule the request is executed and answered.
        let answer = ScriptRule { acted: true, ..ScriptRule::default() };
        let rule = rule.unwrap_or(&answer);
        // Executed first, even when the answer is a refusal: a lead can be stored without its buyer being told.
        let real = if rule.acted {
            let real = self.true_answer(Request::from_parts(parts, Body::from(body))).await;
            let is_card = sent.target == Some(AskedFor::Card);
            Some(if is_card { self.without_unplayed_bindings(real) } else { real })
        } else {
            None
        };
        let now = self.clock.now();
        let taken = real.as_ref().is_some_and(|real| {
            BuyerReply::read(real.status, &real.headers, &real.body, now) == BuyerReply::Success
        });
        let words = &rule.words;
        let outcome = match (&rule.act, real) {
            (RuleAction::Refuse(code), _) => {
                SentOutcome::Whole(refuse::profile(*code, words, &sent, now))
            }
            (RuleAction::Fail(code), _) => SentOutcome::Whole(refuse::task(*code, words, &sent)),
            (RuleAction::Protocol(code), _) => {
                SentOutcome::Whole(refuse::protocol(*code, words, &sent))
            }
            (RuleAction::Http(status, page), _) => {
                SentOutcome::Whole(refuse::http(*status, *page, words))
            }
            (RuleAction::Redirect, _) => SentOutcome::Whole(self.redirect()),
            (RuleAction::Truncate, Some(real)) => SentOutcome::Malformed(damage::truncated(real)),
            (RuleAction::Garbage(kind), Some(real)) => {
                SentOutcome::Malformed(damage::garbage(*kind, real, &sent))
            }
            (RuleAction::Inject(poison), Some(real)) => {
                SentOutcome::Whole(damage::inject(*poison, real))
            }
            (RuleAction::Sell(which), Some(real)) => {
                self.sell(*which, &real.body, now).await;
                SentOutcome::Whole(real)
            }
            (RuleAction::Answer, Some(real)) => SentOutcome::Whole(real),
            (RuleAction::Drop, _)
            | (
                RuleAction::Answer
                | RuleAction::Truncate
                | RuleAction::Garbage(_)
                | RuleAction::Inject(_)
                | RuleAction::Sell(_),
                None,
            ) => SentOutcome::Nothing,
        };
        // Only the answer is delayed. A buyer that gives up waiting cannot know that the request was executed.
        if let Ok(latency) = Duration::try_from(rule.latency)
            && !latency.is_zero()
        {
            tokio::time::sleep(latency).await;
        }
        let now = self.clock.now();
        let reply = match &outcome {
            SentOutcome::Whole(WholeAnswer { status, headers, body }) => {
                BuyerReply::read(*status, headers, body, now)
            }
            SentOutcome::Malformed(_) | SentOutcome::Nothing => BuyerReply::Nothing,
        };
        // Recorded before it is sent, because the buyer's next request may arrive at once.
        self.state().grader.answered(number, &sent, &reply, taken, now);
        match outcome {
            SentOutcome::Whole(whole) => Ok(damage::whole(whole)),
            SentOutcome::Malformed(response) => Ok(response),
            SentOutcome::Nothing => Err(Dropped),
        }
    }

    /// Grades a request and finds its rule. Every rule counts the requests that concern it, even when another rule
    /// decides.
    fn begin(&self, sent: &SentRequest, arrived: Timestamp) -> (u64, Option<&ScriptRule>) {
        let mut state = self.state();
        let (number, attempt) = state.grader.arrived(sent, arrived);
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
            state.grader.decided(number, index);
        }
        (number, chosen.map(|(_, rule)| rule))
    }

    /// Returns the true answer.
    async fn forward(&self, request: Request) -> Response {
        self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {})
    }

    async fn true_answer(&self, request: Request) -> WholeAnswer {
        let (parts, body) = self.forward(request).await.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map(|body| body.to_bytes()).unwrap_or_default();
        let mut headers = parts.headers;
        // Removed because damage changes the length of the body.
        headers.remove(header::CONTENT_LENGTH);
        WholeAnswer { status: parts.status, headers, body }
    }

    /// Removes the bindings that the sandbox does not play from an agent's card.
    fn without_unplayed_bindings(&self, card: WholeAnswer) -> WholeAnswer {
        let mut document: Value =
            tradepost_document::json::from_slice(&card.body).unwrap_or_default();
        let interfaces = document.get_mut("supportedInterfaces").and_then(Value::as_array_mut);
        match (self.script.seller, interfaces) {
            (SellerKind::Agent, Some(interfaces)) => {
                interfaces.retain(|interface| {
                    interface.get("protocolBinding") == Some(&"JSONRPC".into())
                });
                WholeAnswer { body: document.to_string().into(), ..card }
            }
            (SellerKind::Agent | SellerKind::Dealer | SellerKind::Publisher, _) => card,
        }
    }

    /// Marks vehicles of a search result as sold; from now on the dealer itself reports this.
    async fn sell(&self, which: Sell, answer: &[u8], now: Timestamp) {
        let document: Value = tradepost_document::json::from_slice(answer).unwrap_or_default();
        let offered = document.pointer("/result/message/parts/0/data/data/vehicles");
        let offered = offered.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let ids = offered.iter().filter_map(|vehicle| vehicle.get("vehicle_id")?.as_str());
        let ids: Vec<_> = match which {
            Sell::First => ids.take(1).collect(),
            Sell::All => ids.collect(),
        };
        let Some(dealer) = self.dealer.clone() else { return };
        if ids.is_empty() {
            return;
        }
        // Locked only for the marks, so that other requests continue while the index is built.
        let listings = {
            let mut state = self.state();
            for listing in &mut state.listings {
                let id = listing.vehicle.vehicle_id.as_deref().unwrap_or_default();
                listing.sold |= ids.contains(&id);
            }
            state.listings.clone()
        };
        // On a blocking thread, because building an index takes a while.
        let sold = tokio::task::spawn_blocking(move || dealer.offer(&listings, now));
        if let Ok(Err(fault)) = sold.await {
            tracing::error!(cause = %fault.chain(), "vehicles could not be sold");
        }
    }

    fn state(&self) -> MutexGuard<'_, SandboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answer to send.
enum SentOutcome {
    /// Well-formed answer.
    Whole(WholeAnswer),
    /// Answer that cannot be understood.
    Malformed(Response),
    /// No answer.
    Nothing,
}

/// Guard that counts a request as finished when it is dropped.
struct Finished<'s>(&'s Sender<u64>);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count += 1);
    }
}
