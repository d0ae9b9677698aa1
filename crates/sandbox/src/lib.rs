//! The sandbox: a dealer who answers as a script wants it, a publisher, or an agent without a profile, and
//! who grades whoever buys from it. Several buyers may come at once: each that has a name ([`buyer`]) meets a
//! seller of its own (`played`), and is graded by itself.
//!
//! True answers come from a [`TruthfulDealer`] or a publisher whom the program hands in ([`Cast`]), or from an agent
//! without a profile ([`agent`]), through the same router as in a server. The script ([`script`]) decides for each request
//! what happens instead: a refusal ([`mod@refuse`]), damage ([`damage`]), or nothing at all. Meanwhile
//! [`watch`] compares what the buyer sends with what it has been told before ([`reply`]), and [`report`]
//! tells what it found.

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
use tradepost_dealer::import::FeedUnit;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_wire::json::json;

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

mod played;

use buyer::{BuyerName, OfBuyer, Place};
use played::PlayedSeller;
use refuse::WholeAnswer;
use report::overview::Overview;
use script::{AskedFor, Script};
use sent::Digest;

/// Where the report is: of all buyers, or below the base address of one of that one alone.
pub const REPORT_PATH: &str = "/_sandbox/report";

/// How many buyers may have names.
pub const MAX_BUYERS: usize = 50;

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
pub trait TruthfulDealer: fmt::Debug + Send + Sync {
    /// Everything that can be asked of it, under the paths that a server has for it.
    fn router(&self) -> Router;

    /// Offers these vehicles and no others, from now on; those it no longer has are gone. May wait for
    /// a disk.
    ///
    /// # Errors
    /// When that cannot be kept.
    fn offer(&self, units: &[FeedUnit], now: Timestamp) -> Result<(), InternalError>;
}

/// Who plays a part, for whichever one a script has; anew for each buyer. May wait for a disk.
pub trait Cast: fmt::Debug + Send + Sync {
    /// A dealer, who has nothing to sell yet.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn dealer(&self, place: &Place) -> Result<Arc<dyn TruthfulDealer>, InternalError>;

    /// Everything that can be asked of a publisher who speaks AdCP, under the paths that a server has for it.
    ///
    /// # Errors
    /// When it cannot be set up.
    fn publisher(&self, place: &Place) -> Result<Router, InternalError>;
}

/// A sandbox.
#[derive(Debug)]
pub struct Sandbox {
    script: Arc<Script>,
    cast: Arc<dyn Cast>,
    /// Its base address.
    root: String,
    size: usize,
    clock: Clock,
    /// The seller of the buyer without a name.
    unnamed: Arc<PlayedSeller>,
    named: Mutex<BTreeMap<BuyerName, Arc<PlayedSeller>>>,
    /// Held while a seller is set up, so that each buyer gets one.
    opening: tokio::sync::Mutex<()>,
    finished: Sender<u64>,
}

/// Why a buyer has no seller.
enum NoSeller {
    /// There are as many buyers as there may be.
    TooMany,
    /// It could not be set up; the cause is in the log.
    Broken,
}

impl Sandbox {
    /// Sets up whom the script plays; a dealer gets so many vehicles. `address` is where the process
    /// listens.
    ///
    /// # Errors
    /// When whoever is played cannot be set up.
    pub fn open(
        script: Script,
        cast: Arc<dyn Cast>,
        size: usize,
        clock: Clock,
        address: SocketAddr,
    ) -> Result<Self, InternalError> {
        let root = format!("http://{address}");
        let script = Arc::new(script);
        let place = Place::of(None, &root);
        let unnamed = PlayedSeller::open(Arc::clone(&script), &*cast, place, size, clock.clone())?;
        Ok(Self {
            script,
            cast,
            root,
            size,
            clock,
            unnamed: Arc::new(unnamed),
            named: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            finished: Sender::new(0),
        })
    }

    /// How many requests have been answered or given up, of all buyers; for whoever waits for a number of
    /// them.
    #[must_use]
    pub fn finished(&self) -> Receiver<u64> {
        self.finished.subscribe()
    }

    /// The report on all buyers so far.
    #[must_use]
    pub fn report(&self) -> Overview {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let sellers = std::iter::once(&self.unnamed).chain(named.values());
        Overview::of(sellers.map(|seller| seller.report()).collect())
    }

    /// Answers a request.
    ///
    /// # Errors
    /// [`Dropped`], when the connection is to end instead.
    pub async fn answer(&self, mut request: Request) -> Result<Response, Dropped> {
        let of_buyer = match OfBuyer::read(request.uri().path()) {
            Ok(of_buyer) => of_buyer,
            Err(why) => return Ok(problem(StatusCode::NOT_FOUND, why)),
        };
        let asks_for_report = request.method() == Method::GET
            && of_buyer.rest.strip_suffix('/').unwrap_or(&of_buyer.rest) == REPORT_PATH;
        let Some(name) = of_buyer.buyer else {
            if asks_for_report {
                return Ok(self.report().respond(&request));
            }
            return self.unnamed.answer(request, &self.finished).await;
        };
        if asks_for_report {
            let Some(seller) = self.known(&name) else {
                return Ok(problem(StatusCode::NOT_FOUND, "this buyer has not called"));
            };
            return Ok(Overview::of(vec![seller.report()]).respond(&request));
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
        *request.uri_mut() = below(request.uri(), &of_buyer.rest);
        seller.answer(request, &self.finished).await
    }

    /// The seller of a buyer that has called before.
    fn known(&self, name: &BuyerName) -> Option<Arc<PlayedSeller>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// The seller of a buyer, set up where it is the buyer's first request.
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
        let place = Place::of(Some(name.clone()), &self.root);
        let script = Arc::clone(&self.script);
        let cast = Arc::clone(&self.cast);
        let clock = self.clock.clone();
        let size = self.size;
        let opened = tokio::task::spawn_blocking(move || {
            PlayedSeller::open(script, &*cast, place, size, clock)
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

/// An error of the sandbox itself.
fn problem(status: StatusCode, why: &str) -> Response {
    damage::whole(WholeAnswer::json(status, &json!({"error": why})))
}

/// The address of a request with another path.
fn below(uri: &Uri, path: &str) -> Uri {
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    format!("{path}{query}").parse().unwrap_or_else(|_| Uri::from_static("/"))
}

/// The first bytes of a fingerprint, as people compare them.
fn short(digest: &Digest) -> String {
    tradepost_wire::format::hex(digest.iter().take(6))
}

/// What a request was for, in the report.
fn target_name(target: Option<AskedFor>) -> &'static str {
    target.map_or("(unknown)", AskedFor::name)
}
