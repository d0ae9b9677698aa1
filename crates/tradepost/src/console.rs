//! The console: what a dealer's people look at all day, in a browser.
//!
//! It has a listener of its own, so that neither the crowd of callers nor their ways of asking reach it,
//! and each of its requests is answered on a thread where waiting for the store disturbs nobody. A
//! page is HTML that works without script; nothing of it comes from elsewhere but the photos of the
//! dealer's own listings. Who is let in is in `door`, what there is and who may have it in
//! [`route`].

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use tradepost_dealer::staff::{Action, NewEntry};
use tradepost_server::background::piece;
use tradepost_server::clock::Clock;
use tradepost_server::fault::Fault;
use tradepost_store::Store;
use tradepost_store::staff::Member;

use crate::aap::seller::Seller;
use crate::config::{Console as Settings, Server};
use crate::delivery::Deliveries;
use crate::wiring::{Sellers, Wiring};
use door::{Door, Visitor};
use reply::Reply;
use request::Asked;
use route::{Act, Row};

mod actions;
mod door;
mod offer;
mod oidc;
mod pages;
pub mod password;
mod prober;
mod reply;
pub mod request;
pub mod route;

/// Where it is.
pub const PATH: &str = "/console";

/// The largest form: a note, and what browsers add.
const FORM_BYTES: usize = 64 * 1024;

/// How long a form may take to arrive.
const FORM_TIME: Duration = Duration::from_secs(10);

/// The console.
#[derive(Debug)]
pub struct Console {
    store: Arc<Store>,
    sellers: Arc<Sellers>,
    deliveries: Arc<Deliveries>,
    clock: Clock,
    door: Door,
    provider: Option<oidc::Provider>,
    offers: offer::Offers,
    prober: Arc<prober::Prober>,
    trust_forwarded_for: bool,
}

/// What a request comes to.
type Answer = Result<Reply, Stop>;

/// Why there is no page.
#[derive(Debug)]
enum Stop {
    /// Whoever asks has to sign in first.
    SignIn,
    /// The role has nothing to do there.
    Forbidden,
    /// There is no such thing, or it is another's.
    NotFound,
    /// The form is none of ours, or of a session that is over.
    Stale,
    /// What was filled in cannot be used, and why.
    Unusable(&'static str),
    /// We broke.
    Broken(Fault),
}

from!(Stop { Broken(Fault) });

impl Console {
    /// Sets it up on what a process has. It is reached at the address that the settings name, over
    /// TLS when the server has it.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn open(wiring: &Wiring, settings: &Settings, server: &Server) -> Result<Self, Fault> {
        let clock = wiring.clock.clone();
        let provider = |of| oidc::Provider::open(of, &settings.base(server), wiring.means());
        Ok(Self {
            provider: settings.oidc.clone().map(provider).transpose()?,
            store: Arc::clone(&wiring.store),
            sellers: Arc::clone(&wiring.sellers),
            deliveries: Arc::clone(&wiring.deliveries),
            door: Door::new(settings, server.tls.is_some(), &clock)?,
            prober: Arc::new(prober::Prober::new(Arc::clone(&wiring.store), clock.clone())),
            clock,
            offers: offer::Offers::default(),
            trust_forwarded_for: server.trust_forwarded_for,
        })
    }

    /// What its listener serves.
    pub fn router(self) -> Router {
        Router::new().fallback(handle).with_state(Arc::new(self))
    }

    /// Answers a request.
    fn answer(&self, asked: &Asked) -> Reply {
        let found = Row::of(&asked.method, &asked.path).ok_or(Stop::NotFound);
        let answer = found.and_then(|(row, id)| match row.act {
            Act::File(media_type, text) => Ok(Reply::of(media_type, text.to_owned())),
            Act::Outside(act) => act(self, asked),
            Act::Inside(act) => act(self, &self.admitted(asked, row, id)?),
        });
        answer.unwrap_or_else(|stop| self.stopped(asked, stop))
    }

    /// Whoever asks, if they are in and may have what they ask for.
    fn admitted<'a>(&self, asked: &'a Asked, row: &Row, id: &'a str) -> Result<Visitor<'a>, Stop> {
        let visitor = self.visitor(asked, id)?;
        // Before anything is looked up: what is forbidden looks the same whether it is there or not.
        if !row.right.is_of(visitor.member.role) {
            return Err(Stop::Forbidden);
        }
        // Another site can have a browser send the cookie, and cannot
        // know what stands in our forms.
        if row.changes() && !asked.proves(visitor.secret) {
            return Err(Stop::Stale);
        }
        Ok(visitor)
    }

    /// The dealers whose people somebody is of, in the order of the configuration.
    fn dealers(&self, visitor: &Visitor<'_>) -> Vec<Arc<Seller>> {
        let mut sellers = self.sellers.all();
        if let Some(id) = visitor.dealer_id() {
            sellers.retain(|seller| seller.dealer.terms.id == id);
        }
        sellers
    }

    /// Of these dealers the one with an id, or the first.
    fn dealer(&self, visitor: &Visitor<'_>, id: Option<&str>) -> Result<Arc<Seller>, Stop> {
        let is_meant = |it: &Arc<Seller>| id.is_none_or(|id| it.dealer.terms.id == id);
        self.dealers(visitor).into_iter().find(is_meant).ok_or(Stop::NotFound)
    }

    /// An entry for the record of a dealer, or of what concerns all of them.
    fn entry(
        &self,
        member: &Member,
        dealer_id: Option<&str>,
        action: Action,
        subject: Option<String>,
    ) -> NewEntry {
        NewEntry {
            chain: dealer_id.unwrap_or(tradepost_dealer::staff::EVERYBODY).to_owned(),
            at: self.clock.now(),
            actor: member.name.clone(),
            action,
            subject,
            detail: None,
        }
    }
}

async fn handle(State(console): State<Arc<Console>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let arriving = axum::body::to_bytes(body, FORM_BYTES);
    let Ok(Ok(bytes)) = tokio::time::timeout(FORM_TIME, arriving).await else {
        return bare(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large, or took too long\n");
    };
    let asked = Asked::read(&parts, &bytes, console.trust_forwarded_for);
    let answered = piece("a page of the console", move || console.answer(&asked)).await;
    answered.map_or_else(
        || bare(StatusCode::INTERNAL_SERVER_ERROR, "something broke; it is in the log\n"),
        Reply::into_response,
    )
}

/// An answer where there can be no page.
fn bare(status: StatusCode, text: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    reply::protect(response.headers_mut(), reply::NO_PHOTOS);
    response
}
