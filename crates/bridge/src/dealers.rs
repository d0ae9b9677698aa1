//! The dealers behind the bridge: how each is named and reached, and asking several at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tradepost_buyer::client::random_ids;
use tradepost_buyer::discover::{Discovered, card_url, discover};
use tradepost_buyer::failure::{Failure, Unsent};
use tradepost_buyer::transport::Limits;
use tradepost_buyer::{Answer, Client, Transport};
use tradepost_wire::a2a::card::WELL_KNOWN_PATH;
use tradepost_wire::aap::{Skill, Terms};
use tradepost_wire::json::Value;

use super::Now;
use super::trouble::Trouble;

/// How long a card is believed before the dealer is asked whether it still holds.
const CARD_LIFETIME: Duration = Duration::from_mins(5);

/// How many dealers are asked at the same time.
const AT_ONCE: usize = 16;

/// A dealer, by its address.
pub(super) struct Dealer {
    /// Host, port and path of its address: its name in arguments and results.
    pub(super) id: String,
    /// The address of its card.
    pub(super) address: String,
    token: Option<String>,
    limits: Limits,
    transport: Transport,
    now: Now,
    known: Mutex<Option<Arc<Connection>>>,
}

/// A dealer that has been found.
pub(super) struct Connection {
    /// Its card.
    pub(super) found: Discovered,
    /// Calls it.
    pub(super) client: Client,
    since: Instant,
}

impl Dealer {
    pub(super) fn new(
        address: &str,
        token: Option<String>,
        limits: Limits,
        now: &Now,
    ) -> Result<Self, Failure> {
        let url = card_url(address)?;
        Ok(Self {
            id: place_of(url.as_str()),
            address: url.to_string(),
            token,
            limits,
            transport: Transport::new(limits),
            now: Arc::clone(now),
            known: Mutex::new(None),
        })
    }

    /// Finds out how to speak to the dealer, or remembers it.
    pub(super) async fn connect(&self) -> Result<Arc<Connection>, Failure> {
        // Held until the card is here: of several calls at once one asks for it.
        let mut known = self.known.lock().await;
        let now = Instant::now();
        let is_fresh =
            |connection: &&Arc<Connection>| now.duration_since(connection.since) < CARD_LIFETIME;
        if let Some(connection) = known.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(connection));
        }
        let before = known.as_ref().map(|connection| &connection.found);
        let found = discover(&self.transport, &self.address, before).await?;
        let choice = found.card.choose(None);
        let choice = choice.map_err(|why| Failure::Unsent(Unsent::NotAap(why)))?;
        let clock = Arc::clone(&self.now);
        let transport = Transport::new(self.limits);
        let mut client = Client::new(transport, &found, choice, random_ids())?;
        if let Some(token) = &self.token {
            client = client.with_token(token)?;
        }
        let client = client.checking(move || terms(clock()));
        let connection = Arc::new(Connection { found, client, since: now });
        *known = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Calls a skill.
    pub(super) async fn call(&self, skill: Skill, payload: Value) -> Result<Answer, Trouble> {
        let answer = async { self.connect().await?.client.call(skill, payload).await }.await;
        answer.map_err(|failure| self.trouble(&failure))
    }

    /// What went wrong, with the dealer's name.
    pub(super) fn trouble(&self, failure: &Failure) -> Trouble {
        Trouble::of(failure).at(&self.id)
    }
}

/// What an address is called in arguments and results: host, port and path, by that of its card.
pub(super) fn place_of(url: &str) -> String {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    place.strip_suffix(WELL_KNOWN_PATH).unwrap_or(place).trim_end_matches('/').to_owned()
}

/// What is checked before sending. Where dealers differ, the most generous of them counts.
pub(super) fn terms(now: Timestamp) -> Terms {
    Terms { now, clock_skew: SignedDuration::from_mins(5), consent_lifetime: None }
}

/// Asks several at once, so many at a time, and all of them for no longer than `patience`; `late` is said
/// of those that take too long. The outcomes are in the order of those who are asked.
pub(super) async fn ask_all<W, T, F>(
    asked: Vec<Arc<W>>,
    patience: Duration,
    ask: impl Fn(Arc<W>) -> F,
    late: impl Fn(&W) -> Trouble,
) -> Vec<(Arc<W>, Result<T, Trouble>)>
where
    F: Future<Output = Result<T, Trouble>>,
{
    // One deadline for all, so that whoever has to wait for a turn has less of it.
    let deadline = Instant::now() + patience;
    let asked = asked.into_iter().map(|one| {
        let answer = tokio::time::timeout_at(deadline, ask(Arc::clone(&one)));
        let late = &late;
        async move {
            let outcome = match answer.await {
                Ok(outcome) => outcome,
                Err(_) => Err(late(&one)),
            };
            (one, outcome)
        }
    });
    futures_util::stream::iter(asked).buffered(AT_ONCE).collect().await
}
