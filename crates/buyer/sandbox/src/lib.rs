//! The sandbox: plays a dealer or publisher that behaves as a script says, or an agent without a profile, and grades
//! the buyers that call it. Several buyers may use it at once: each named buyer ([`buyer`]) has its own seller
//! (`session`) and its own report.
//!
//! True answers come from a [`TruthfulDealer`] or publisher that the program supplies ([`SellerFactory`]), or from an
//! agent without a profile ([`agent`]), through the same router as in a server. The script ([`script`]) decides for each
//! request what happens instead: a refusal ([`mod@refuse`]), damage ([`damage`]), or nothing. Meanwhile [`watch`]
//! compares the buyer's requests with the answers it has had ([`reply`]), and [`report`] presents the findings.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, Uri};
use axum::response::Response;
use jiff::Timestamp;
use tokio::sync::watch::{Receiver, Sender};
use tradepost_dealer::import::FeedListing;
use tradepost_document::json::json;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;

pub mod agent;
pub mod buyer;
pub mod damage;
pub mod refuse;
pub mod reply;
pub mod report;
pub mod script;
pub mod sent;
pub mod server;
pub mod watch;

mod session;

use buyer::{BuyerName, BuyerPath, Place};
use refuse::WholeAnswer;
use report::overview::Overview;
use script::{AskedFor, Script};
use sent::Digest;
use session::PlayedSeller;

/// Path of the report: at the root on all buyers, below a buyer's base address on that buyer.
pub const REPORT_PATH: &str = "/_sandbox/report";

/// Maximum number of named buyers.
pub const MAX_BUYERS: usize = 50;

/// Error that closes the connection without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the script ends the connection")]
pub struct Dropped;

/// Dealer that speaks AAP and answers truthfully, without limits on the rate of requests.
pub trait TruthfulDealer: fmt::Debug + Send + Sync {
    /// Returns the router, with the same paths as a server.
    fn router(&self) -> Router;

    /// Replaces the offered vehicles; those that are missing are gone. May block on the disk.
    ///
    /// # Errors
    /// When that cannot be kept.
    fn offer(&self, listings: &[FeedListing], now: Timestamp) -> Result<(), InternalError>;
}

/// Creates the sellers that a script can play, separately for each buyer. May block on the disk.
pub trait SellerFactory: fmt::Debug + Send + Sync {
    /// Creates a dealer without vehicles.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn dealer(&self, place: &Place) -> Result<Arc<dyn TruthfulDealer>, InternalError>;

    /// Returns the router of a publisher that speaks AdCP, with the same paths as a server.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn publisher(&self, place: &Place) -> Result<Router, InternalError>;
}

/// Sandbox with all its sellers.
#[derive(Debug)]
pub struct Sandbox {
    script: Arc<Script>,
    factory: Arc<dyn SellerFactory>,
    /// Base address.
    root: String,
    size: usize,
    clock: Clock,
    /// Seller of the buyer without a name.
    unnamed: Arc<PlayedSeller>,
    named: Mutex<BTreeMap<BuyerName, Arc<PlayedSeller>>>,
    /// Held while a seller is created, so that each buyer gets only one.
    opening: tokio::sync::Mutex<()>,
    finished: Sender<u64>,
}

/// Reason why a buyer has no seller.
enum NoSeller {
    /// The maximum number of named buyers is reached.
    TooMany,
    /// The seller could not be created; the cause is in the log.
    Broken,
}

impl Sandbox {
    /// Creates the sandbox and the seller of the buyer without a name; a dealer gets `size` vehicles. `address` is
    /// where the process listens.
    ///
    /// # Errors
    /// When the seller cannot be created.
    pub fn open(
        script: Script,
        factory: Arc<dyn SellerFactory>,
        size: usize,
        clock: Clock,
        address: SocketAddr,
    ) -> Result<Self, InternalError> {
        let root = format!("http://{address}");
        let script = Arc::new(script);
        let place = Place::new(None, &root);
        let unnamed =
            PlayedSeller::open(Arc::clone(&script), &*factory, place, size, clock.clone())?;
        Ok(Self {
            script,
            factory,
            root,
            size,
            clock,
            unnamed: Arc::new(unnamed),
            named: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            finished: Sender::new(0),
        })
    }

    /// Returns a counter of the requests of all buyers that were answered or abandoned.
    #[must_use]
    pub fn finished(&self) -> Receiver<u64> {
        self.finished.subscribe()
    }

    /// Returns the report on all buyers so far.
    #[must_use]
    pub fn report(&self) -> Overview {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let sellers = std::iter::once(&self.unnamed).chain(named.values());
        Overview::new(sellers.map(|seller| seller.report()).collect())
    }

    /// Answers a request.
    ///
    /// # Errors
    /// [`Dropped`], when the connection is to end instead.
    pub async fn answer(&self, mut request: Request) -> Result<Response, Dropped> {
        let buyer_path = match BuyerPath::read(request.uri().path()) {
            Ok(buyer_path) => buyer_path,
            Err(why) => return Ok(problem(StatusCode::NOT_FOUND, why)),
        };
        let asks_for_report = request.method() == Method::GET
            && buyer_path.rest.strip_suffix('/').unwrap_or(&buyer_path.rest) == REPORT_PATH;
        let Some(name) = buyer_path.buyer else {
            if asks_for_report {
                return Ok(self.report().respond(&request));
            }
            return self.unnamed.answer(request, &self.finished).await;
        };
        if asks_for_report {
            let Some(seller) = self.known(&name) else {
                return Ok(problem(StatusCode::NOT_FOUND, "this buyer has not called"));
            };
            return Ok(Overview::new(vec![seller.report()]).respond(&request));
        }
        let seller = match self.seller(name).await {
            Ok(seller) => seller,
            Err(NoSeller::TooMany) => {
                let why = format!("there are {MAX_BUYERS} buyers already; start another sandbox");
                return Ok(problem(StatusCode::SERVICE_UNAVAILABLE, &why));
            }
            Err(NoSeller::Broken) => {
                let why = "a seller for this buyer could not be set up; the log says why";
                return Ok(problem(StatusCode::INTERNAL_SERVER_ERROR, why));
            }
        };
        *request.uri_mut() = below(request.uri(), &buyer_path.rest);
        seller.answer(request, &self.finished).await
    }

    /// Returns the seller of a buyer that has called before.
    fn known(&self, name: &BuyerName) -> Option<Arc<PlayedSeller>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Returns the seller of a buyer, created at the buyer's first request.
    async fn seller(&self, name: BuyerName) -> Result<Arc<PlayedSeller>, NoSeller> {
        if let Some(known) = self.known(&name) {
            return Ok(known);
        }
        let _opening = self.opening.lock().await;
        if let Some(known) = self.known(&name) {
            return Ok(known);
        }
        let count = self.named.lock().unwrap_or_else(PoisonError::into_inner).len();
        if count >= MAX_BUYERS {
            return Err(NoSeller::TooMany);
        }
        let place = Place::new(Some(name.clone()), &self.root);
        let script = Arc::clone(&self.script);
        let factory = Arc::clone(&self.factory);
        let clock = self.clock.clone();
        let size = self.size;
        let opened = tokio::task::spawn_blocking(move || {
            PlayedSeller::open(script, &*factory, place, size, clock)
        });
        let seller = match opened.await {
            Ok(Ok(seller)) => Arc::new(seller),
            Ok(Err(fault)) => {
                tracing::error!(cause = %fault.chain(), "a seller could not be set up");
                return Err(NoSeller::Broken);
            }
            Err(_) => return Err(NoSeller::Broken),
        };
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.insert(name, Arc::clone(&seller));
        Ok(seller)
    }
}

/// Returns an error answer of the sandbox itself.
fn problem(status: StatusCode, why: &str) -> Response {
    damage::whole(WholeAnswer::json(status, &json!({"error": why})))
}

/// Returns the URI of a request with another path.
fn below(uri: &Uri, path: &str) -> Uri {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{path}{query}").parse().unwrap_or_else(|_| Uri::from_static("/"))
}

/// Returns the first six bytes of a digest in hexadecimal.
fn short(digest: &Digest) -> String {
    tradepost_document::format::hex(digest.iter().take(6))
}

/// Returns the name of a request's target for the report.
fn target_name(target: Option<AskedFor>) -> &'static str {
    target.map_or("(unknown)", AskedFor::name)
}
