//! The dealers behind the bridge: their names, connections and calls.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tradepost_a2a::card::WELL_KNOWN_PATH;
use tradepost_aap::Skill;
use tradepost_client::client::random_ids;
use tradepost_client::discover::{Discovered, card_url, discover, discover_anew};
use tradepost_client::failure::{CallFailure, Unsent};
use tradepost_client::recovery::{FailedAttempt, ResendEffect};
use tradepost_client::retry::{GaveUp, IntentSender, RequestKey};
use tradepost_client::{BearerToken, HttpTransport, SkillAnswer, SkillClient};
use tradepost_dealer_tools::arguments::generous_terms;
use tradepost_document::json::Value;

use super::Now;
use super::failures::{BridgeError, BridgeErrorCode};
use super::fan_out::{Askable, SlowMark};
use super::retries::Retries;

/// Lifetime of a cached card before it is read again.
const CARD_LIFETIME: Duration = Duration::from_mins(5);

/// Member of a lead by which a dealer recognises a repetition.
const KEY: &str = "idempotency_key";

/// Settings that all dealers of a bridge share.
#[derive(Clone)]
pub(super) struct DealerSetup {
    /// HTTP transport.
    pub(super) transport: HttpTransport,
    /// Clock, for consents.
    pub(super) now: Now,
    /// Retries of requests.
    pub(super) retries: Arc<Retries>,
}

/// Dealer, identified by its address.
pub(super) struct DealerAddress {
    /// Host, port and path of its address: its name in arguments and results.
    pub(super) id: String,
    /// Address of its agent card.
    pub(super) address: String,
    token: Option<BearerToken>,
    setup: DealerSetup,
    known: Mutex<Option<Arc<DealerConnection>>>,
    slow: SlowMark,
}

/// Connection to a dealer whose card has been read.
pub(super) struct DealerConnection {
    /// Agent card.
    pub(super) found: Discovered,
    /// Client that calls the dealer.
    pub(super) client: SkillClient,
    since: Instant,
}

impl DealerAddress {
    pub(super) fn new(
        address: &str,
        token: Option<BearerToken>,
        setup: &DealerSetup,
    ) -> Result<Self, CallFailure> {
        let url = card_url(address)?;
        Ok(Self {
            id: place_of(url.as_str()),
            address: url.to_string(),
            token,
            setup: setup.clone(),
            known: Mutex::new(None),
            slow: SlowMark::default(),
        })
    }

    /// Returns the connection to the dealer, cached or new. A card that is refused for a while (rate limit, failing
    /// gateway) is requested again before `end`.
    pub(super) async fn connect(&self, end: Instant) -> Result<Arc<DealerConnection>, CallFailure> {
        let failure = match self.connect_once().await {
            Ok(connection) => return Ok(connection),
            // A dealer that cannot be reached at all is not retried, so that the call does not wait for it.
            Err(failure @ CallFailure::Refused(_)) => failure,
            Err(failure) => return Err(failure),
        };
        let mut request = CardRequest { dealer: self, first: Some(failure) };
        let attempt = self.attempt(ResendEffect::Read);
        self.recovered(attempt, end, &mut request).await.map_err(|gave_up| gave_up.failure)
    }

    async fn connect_once(&self) -> Result<Arc<DealerConnection>, CallFailure> {
        // Held until the card is read, so that concurrent calls request it only once.
        let mut known = self.known.lock().await;
        let now = Instant::now();
        let is_fresh = |connection: &&Arc<DealerConnection>| {
            now.duration_since(connection.since) < CARD_LIFETIME
        };
        if let Some(connection) = known.as_ref().filter(is_fresh) {
            return Ok(Arc::clone(connection));
        }
        let before = known.as_ref().map(|connection| &connection.found);
        let found = discover(&self.setup.transport, &self.address, before).await?;
        let connection = self.connection(found)?;
        *known = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Reads the card again, past every cache, when the known interface does not answer. Returns the new connection
    /// when the card names another interface of the same version.
    async fn connect_anew(&self, before: &DealerConnection) -> Option<Arc<DealerConnection>> {
        let found = discover_anew(&self.setup.transport, &self.address).await.ok()?;
        let connection = self.connection(found).ok()?;
        let new = connection.client.choice();
        let old = before.client.choice();
        // The request was written for one version and is not sent in another.
        let is_elsewhere = new.interface != old.interface && new.version == old.version;
        *self.known.lock().await = Some(Arc::clone(&connection));
        is_elsewhere.then_some(connection)
    }

    fn connection(&self, found: Discovered) -> Result<Arc<DealerConnection>, CallFailure> {
        let choice = found.card.choose(None);
        let choice = choice.map_err(|why| CallFailure::Unsent(Unsent::NotAap(why)))?;
        let clock = Arc::clone(&self.setup.now);
        let transport = self.setup.transport.clone();
        let mut client = SkillClient::new(transport, &found, choice, random_ids())?;
        if let Some(token) = &self.token {
            client = client.with_token(token)?;
        }
        let client = client.checking(move || generous_terms(clock()));
        Ok(Arc::new(DealerConnection { found, client, since: Instant::now() }))
    }

    /// Calls a skill, with retries until `end`.
    pub(super) async fn call(
        &self,
        skill: Skill,
        payload: Value,
        end: Instant,
    ) -> Result<SkillAnswer, BridgeError> {
        let connection = self.connect(end).await.map_err(|failure| self.to_error(&failure))?;
        let request = DealerRequest { connection, skill, payload, conversation: None };
        let called = self.send(request, end).await;
        called.map_err(|gave_up| self.to_error(&gave_up.failure))
    }

    /// Sends a request, with retries until `end`; each attempt has the same payload and key.
    pub(super) async fn send(
        &self,
        request: DealerRequest,
        end: Instant,
    ) -> Result<SkillAnswer, Box<GaveUp>> {
        let effect =
            if request.skill.has_effect() { ResendEffect::Keyed } else { ResendEffect::Read };
        let attempt = FailedAttempt { has_card: true, ..self.attempt(effect) };
        let mut sending = SendingRequest { dealer: self, request };
        let sent = self.recovered(attempt, end, &mut sending).await;
        if let Err(gave_up) = &sent
            && matches!(gave_up.failure, CallFailure::Unsent(Unsent::Unreachable(_)))
        {
            // The next call reads the card first, and so finds out at once whether the dealer can be reached again.
            *self.known.lock().await = None;
        }
        sent
    }

    fn attempt(&self, effect: ResendEffect) -> FailedAttempt {
        FailedAttempt { effect, had_credentials: self.token.is_some(), ..FailedAttempt::default() }
    }

    async fn recovered<S: IntentSender>(
        &self,
        attempt: FailedAttempt,
        end: Instant,
        sender: &mut S,
    ) -> Result<S::Answer, Box<GaveUp>> {
        let retries = &self.setup.retries;
        let limits = retries.limits_until(end);
        let recovered = retries.recoverer().run_within(limits, &self.id, attempt, sender).await;
        recovered.map(|recovered| recovered.answer)
    }

    /// Returns the error of a failed call, with the dealer's name.
    pub(super) fn to_error(&self, failure: &CallFailure) -> BridgeError {
        BridgeError::from_failure(failure).at(&self.id)
    }
}

impl Askable for DealerAddress {
    fn slow_mark(&self) -> &SlowMark {
        &self.slow
    }

    fn too_slow(&self, time: Duration) -> BridgeError {
        BridgeError::too_slow(time).at(&self.id)
    }

    fn not_asked(&self) -> BridgeError {
        BridgeError::new(
            BridgeErrorCode::DealerNotAsked,
            "the time of the call was up before its turn came",
        )
        .at(&self.id)
    }
}

/// Request to a dealer.
pub(super) struct DealerRequest {
    pub(super) connection: Arc<DealerConnection>,
    pub(super) skill: Skill,
    pub(super) payload: Value,
    /// Id of the conversation that it continues.
    pub(super) conversation: Option<String>,
}

/// Request that is being sent to a dealer.
struct SendingRequest<'d> {
    dealer: &'d DealerAddress,
    request: DealerRequest,
}

impl IntentSender for SendingRequest<'_> {
    type Answer = SkillAnswer;

    async fn send(&mut self, _: RequestKey) -> Result<SkillAnswer, CallFailure> {
        let DealerRequest { connection, skill, payload, conversation } = &self.request;
        // The payload is not corrected between attempts, so its key stays the same.
        let payload = payload.clone();
        connection.client.call_within(conversation.as_deref(), *skill, payload).await
    }

    fn key(&self) -> Option<&str> {
        self.request.payload.get(KEY).and_then(Value::as_str)
    }

    async fn read_card(&mut self) -> bool {
        match self.dealer.connect_anew(&self.request.connection).await {
            Some(connection) => {
                self.request.connection = connection;
                true
            }
            None => false,
        }
    }
}

/// Request for a dealer's card.
struct CardRequest<'d> {
    dealer: &'d DealerAddress,
    /// Failure of the first attempt, made before this request was created.
    first: Option<CallFailure>,
}

impl IntentSender for CardRequest<'_> {
    type Answer = Arc<DealerConnection>;

    async fn send(&mut self, _: RequestKey) -> Result<Arc<DealerConnection>, CallFailure> {
        match self.first.take() {
            Some(failure) => Err(failure),
            None => self.dealer.connect_once().await,
        }
    }
}

/// Returns the name of an address in arguments and results: host, port and path, without the well-known path of the
/// card.
pub(super) fn place_of(url: &str) -> String {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    place.strip_suffix(WELL_KNOWN_PATH).unwrap_or(place).trim_end_matches('/').to_owned()
}
