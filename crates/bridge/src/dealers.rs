//! The dealers behind the bridge: how each is named, reached and called.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use tokio::time::Instant;
use tradepost_buyer::client::random_ids;
use tradepost_buyer::discover::{Discovered, card_url, discover, discover_anew};
use tradepost_buyer::failure::{CallFailure, Unsent};
use tradepost_buyer::recovery::{FailedAttempt, ResendEffect};
use tradepost_buyer::retry::{GaveUp, IntentSender, RequestKey};
use tradepost_buyer::{BearerToken, HttpTransport, SkillAnswer, SkillClient};
use tradepost_wire::a2a::card::WELL_KNOWN_PATH;
use tradepost_wire::aap::{DealerTerms, Skill};
use tradepost_wire::json::Value;

use super::Now;
use super::fan_out::{Askable, SlowMark};
use super::retries::Retries;
use super::trouble::{BridgeError, BridgeErrorCode};

/// How long a card is believed before the dealer is asked whether it still holds.
const CARD_LIFETIME: Duration = Duration::from_mins(5);

/// The member of a lead by which a dealer recognises it.
const KEY: &str = "idempotency_key";

/// What all dealers of a bridge have in common.
#[derive(Clone)]
pub(super) struct DealerSetup {
    /// What requests go by.
    pub(super) transport: HttpTransport,
    /// Tells the time, for consents.
    pub(super) now: Now,
    /// Sends requests again where that helps.
    pub(super) retries: Arc<Retries>,
}

/// A dealer, by its address.
pub(super) struct DealerAddress {
    /// Host, port and path of its address: its name in arguments and results.
    pub(super) id: String,
    /// The address of its card.
    pub(super) address: String,
    token: Option<BearerToken>,
    setup: DealerSetup,
    known: Mutex<Option<Arc<DealerConnection>>>,
    slow: SlowMark,
}

/// A dealer that has been found.
pub(super) struct DealerConnection {
    /// Its card.
    pub(super) found: Discovered,
    /// Calls it.
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

    /// Finds out how to speak to the dealer, or remembers it. A card that is refused for a while (a rate limit,
    /// a gateway that is down) is asked for again before `end`.
    pub(super) async fn connect(&self, end: Instant) -> Result<Arc<DealerConnection>, CallFailure> {
        let failure = match self.connect_once().await {
            Ok(connection) => return Ok(connection),
            // Whoever cannot be reached at all keeps nobody waiting.
            Err(failure @ CallFailure::Refused(_)) => failure,
            Err(failure) => return Err(failure),
        };
        let mut request = CardRequest { dealer: self, first: Some(failure) };
        let attempt = self.attempt(ResendEffect::Read);
        self.recovered(attempt, end, &mut request).await.map_err(|gave_up| gave_up.failure)
    }

    async fn connect_once(&self) -> Result<Arc<DealerConnection>, CallFailure> {
        // Held until the card is here: of several calls at once one asks for it.
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

    /// Reads the card again, past every cache, when nobody answers where it said: the connection to where it
    /// leads now, if that is elsewhere.
    async fn connect_anew(&self, before: &DealerConnection) -> Option<Arc<DealerConnection>> {
        let found = discover_anew(&self.setup.transport, &self.address).await.ok()?;
        let connection = self.connection(found).ok()?;
        let new = connection.client.choice();
        let old = before.client.choice();
        // A request was written for one version, and is not sent in another.
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
        let client = client.checking(move || terms(clock()));
        Ok(Arc::new(DealerConnection { found, client, since: Instant::now() }))
    }

    /// Calls a skill, and calls again before `end` where that helps.
    pub(super) async fn call(
        &self,
        skill: Skill,
        payload: Value,
        end: Instant,
    ) -> Result<SkillAnswer, BridgeError> {
        let connection = self.connect(end).await.map_err(|failure| self.trouble(&failure))?;
        let request = DealerRequest { connection, skill, payload, conversation: None };
        let called = self.send(request, end).await;
        called.map_err(|gave_up| self.trouble(&gave_up.failure))
    }

    /// Sends a request, and sends it again before `end` where that helps: the same one, with the same key.
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
            // The next call begins with the card, and finds out at once whether the dealer is back.
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

    /// What went wrong, with the dealer's name.
    pub(super) fn trouble(&self, failure: &CallFailure) -> BridgeError {
        BridgeError::of(failure).at(&self.id)
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

/// A request to a dealer.
pub(super) struct DealerRequest {
    pub(super) connection: Arc<DealerConnection>,
    pub(super) skill: Skill,
    pub(super) payload: Value,
    /// The conversation that it goes on with.
    pub(super) conversation: Option<String>,
}

/// A request on its way to a dealer.
struct SendingRequest<'d> {
    dealer: &'d DealerAddress,
    request: DealerRequest,
}

impl IntentSender for SendingRequest<'_> {
    type Answer = SkillAnswer;

    async fn send(&mut self, _: RequestKey) -> Result<SkillAnswer, CallFailure> {
        let DealerRequest { connection, skill, payload, conversation } = &self.request;
        // Nothing corrects a request here, so that its key is the same each time.
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

/// A request for a dealer's card.
struct CardRequest<'d> {
    dealer: &'d DealerAddress,
    /// How it failed the first time.
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

/// What an address is called in arguments and results: host, port and path, by that of its card.
pub(super) fn place_of(url: &str) -> String {
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    place.strip_suffix(WELL_KNOWN_PATH).unwrap_or(place).trim_end_matches('/').to_owned()
}

/// What is checked before sending. Where dealers differ, the most generous of them counts.
pub(super) fn terms(now: Timestamp) -> DealerTerms {
    DealerTerms { now, clock_skew: SignedDuration::from_mins(5), consent_lifetime: None }
}
