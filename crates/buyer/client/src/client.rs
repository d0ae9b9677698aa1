//! Skill calls: builds, checks and sends the request, and reads the answer.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use reqwest::Url;
use reqwest::header::HeaderMap;
use tradepost_aap::{DealerTerms, Skill};
use tradepost_document::json::{Value, object};
use uuid::Uuid;

use crate::answer::{self, SkillAnswer};
use crate::binding::{A2aRelease, headers};
use crate::card::AapChoice;
use crate::card_reader::{CardReader, may_move};
use crate::discover::{Discovered, endpoint};
use crate::failure::CallFailure;
use crate::token::{BearerToken, EndpointSource, SentToken};
use crate::transport::HttpTransport;

mod builder;
mod recover;
mod skills;

pub use builder::ClientBuilder;
pub use recover::uncorrected;

/// Calls the skills of one agent. Clones share the connections and draw from the same ids.
#[derive(Clone)]
pub struct SkillClient {
    transport: HttpTransport,
    endpoint: Url,
    source: EndpointSource,
    choice: AapChoice,
    token: Option<SentToken>,
    terms: Option<Arc<dyn Fn() -> DealerTerms + Send + Sync>>,
    conversation: Option<String>,
    card: Option<CardReader>,
    ids: Arc<Mutex<fastrand::Rng>>,
}

impl fmt::Debug for SkillClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.endpoint.as_str())
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

impl SkillClient {
    /// Creates a client for the agent at an address: fetches its card and uses the newest version of AAP that
    /// both sides support. [`Self::builder`] has all other settings.
    ///
    /// # Errors
    /// The failure to get a card, or the reason why the agent cannot be used with AAP.
    pub async fn connect(address: &str) -> Result<Self, CallFailure> {
        Self::builder().connect(address).await
    }

    /// Returns a builder with the default settings.
    #[must_use]
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Creates a client for a discovered agent. `ids` makes the ids of requests and messages.
    ///
    /// # Errors
    /// `Unsent`, when the address that the card gives may not be used.
    pub fn new(
        transport: HttpTransport,
        discovered: &Discovered,
        choice: AapChoice,
        ids: fastrand::Rng,
    ) -> Result<Self, CallFailure> {
        Ok(Self {
            endpoint: endpoint(&discovered.url, &choice.interface)?,
            source: EndpointSource::card(discovered),
            transport,
            choice,
            token: None,
            terms: None,
            conversation: None,
            card: None,
            ids: Arc::new(Mutex::new(ids)),
        })
    }

    /// Sends a bearer token with every call, never in clear text over a public network, and to no other origin
    /// than it is for.
    ///
    /// # Errors
    /// `Unsent`, when the card leads to another origin, the token could be read on the way or it cannot be sent in
    /// a header.
    pub fn with_token(mut self, token: impl Into<BearerToken>) -> Result<Self, CallFailure> {
        self.token = Some(SentToken::new(token, &self.endpoint, &self.source)?);
        Ok(self)
    }

    /// Continues a conversation: that of a [`SkillAnswer::context_id`]. A dealer recognises an anonymous
    /// caller by it, for example one that chooses a proposed time or moves a booking.
    #[must_use]
    pub fn within(mut self, conversation: impl Into<String>) -> Self {
        self.conversation = Some(conversation.into());
        self
    }

    /// Checks every request before it is sent: the card must list the skill, and the payload must satisfy its
    /// schema and the rules of consent on these terms.
    // R-CARD-12
    #[must_use]
    pub fn checking(mut self, terms: impl Fn() -> DealerTerms + Send + Sync + 'static) -> Self {
        self.terms = Some(Arc::new(terms));
        self
    }

    /// Reads the card again with this reader, once for each call with recovery, when the address of the card
    /// does not work any more (HTTP 404, 405 or 410), and continues at the new address. A token is sent to no
    /// other origin than it is for.
    #[must_use]
    pub fn rereading(mut self, card: CardReader) -> Self {
        self.card = Some(card);
        self
    }

    /// Returns the client for the address that the card names now; `None` when the client may not or need not move.
    async fn moved(&self) -> Option<Self> {
        let discovered = self.card.as_ref()?.read().await?;
        let choice = discovered.card.choose(Some(self.choice.version)).ok()?;
        let endpoint = endpoint(&discovered.url, &choice.interface).ok()?;
        let source = EndpointSource::card(&discovered);
        may_move(&self.endpoint, &endpoint, self.token.as_ref(), &source).then(|| Self {
            endpoint,
            source,
            choice,
            ..self.clone()
        })
    }

    /// Returns the version, interface and skills in use.
    #[must_use]
    pub fn choice(&self) -> &AapChoice {
        &self.choice
    }

    /// Calls a skill. Adds `type` to a payload without it.
    ///
    /// # Errors
    /// The failure, by how far the request got.
    pub async fn call(&self, skill: Skill, payload: Value) -> Result<SkillAnswer, CallFailure> {
        self.call_within(self.conversation.as_deref(), skill, payload).await
    }

    /// Calls a skill in this conversation; see [`Self::within`].
    ///
    /// # Errors
    /// The failure, by how far the request got.
    pub async fn call_within(
        &self,
        conversation: Option<&str>,
        skill: Skill,
        payload: Value,
    ) -> Result<SkillAnswer, CallFailure> {
        let payload = with_type(skill, payload);
        self.check(skill, &payload)?;
        let id = self.new_id();
        let request = self.request(conversation, skill, payload, &id);
        let response = self.transport.post(&self.endpoint, self.headers(), request).await?;
        answer::read(&response, &id, skill)
    }

    fn check(&self, skill: Skill, payload: &Value) -> Result<(), CallFailure> {
        self.terms.as_ref().map_or(Ok(()), |terms| self.check_on(&terms(), skill, payload))
    }

    fn headers(&self) -> HeaderMap {
        let extension = self.choice.version.uri();
        headers(A2aRelease::V1_0, Some(extension), self.token.as_ref().map(SentToken::header))
    }

    fn request(
        &self,
        conversation: Option<&str>,
        skill: Skill,
        payload: Value,
        id: &str,
    ) -> Vec<u8> {
        let request = object!({"jsonrpc": "2.0", "id": id, "method": "SendMessage", "params": {
            "tenant"?: self.choice.interface.tenant,
            "message": {
                "messageId": self.new_id(), "role": "ROLE_USER",
                "parts": [{"data": payload, "mediaType": skill.request_media_type()}],
                "contextId"?: conversation,
            },
            "configuration": {"acceptedOutputModes": [skill.response_media_type()]},
        }});
        request.to_string().into_bytes()
    }

    fn new_id(&self) -> String {
        uuid(&self.ids)
    }
}

/// Returns the name under which requests to a seller are counted: host and port.
pub(crate) fn seller_of(endpoint: &Url) -> String {
    let host = endpoint.host_str().unwrap_or_default();
    match endpoint.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Returns a random UUID.
pub(crate) fn uuid(ids: &Mutex<fastrand::Rng>) -> String {
    let mut bytes = [0; 16];
    ids.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// Creates a generator of ids with an unpredictable seed: for programs; tests choose their own seed.
#[must_use]
pub fn random_ids() -> fastrand::Rng {
    // The lower half of a version 7 UUID is random.
    fastrand::Rng::with_seed(Uuid::now_v7().as_u64_pair().1)
}

/// Adds the skill's request type in front of a payload that is an object without one.
fn with_type(skill: Skill, mut payload: Value) -> Value {
    if let Some(members) = payload.as_object_mut().filter(|m| !m.contains_key("type")) {
        members.shift_insert(0, "type".into(), skill.request_type().into());
    }
    payload
}

#[cfg(test)]
mod tests;
