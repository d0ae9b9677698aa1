//! Builder of a skill client.

use std::fmt;
use std::sync::Arc;

use tradepost_aap::{DealerTerms, Version};

use super::{SkillClient, random_ids};
use crate::card_reader::CardReader;
use crate::discover::{Discovered, discover};
use crate::failure::{CallFailure, Unsent};
use crate::token::BearerToken;
use crate::transport::{HttpTransport, TransportLimits};

/// Builder of a [`SkillClient`]. The defaults are meant for programs: the limits of
/// [`TransportLimits::default`], the newest version, no credential, and unpredictable ids.
#[derive(Clone, Default)]
pub struct ClientBuilder {
    transport: Option<HttpTransport>,
    version: Option<Version>,
    token: Option<BearerToken>,
    conversation: Option<String>,
    terms: Option<Arc<dyn Fn() -> DealerTerms + Send + Sync>>,
    ids: Option<fastrand::Rng>,
}

impl fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientBuilder").field("version", &self.version).finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// Uses this transport, which other clients may share.
    #[must_use]
    pub fn transport(self, transport: HttpTransport) -> Self {
        Self { transport: Some(transport), ..self }
    }

    /// Uses a transport of its own with these limits.
    #[must_use]
    pub fn limits(self, limits: TransportLimits) -> Self {
        self.transport(HttpTransport::new(limits))
    }

    /// Requires this version of AAP.
    #[must_use]
    pub fn version(self, version: Version) -> Self {
        Self { version: Some(version), ..self }
    }

    /// Sets the token, as [`SkillClient::with_token`].
    #[must_use]
    pub fn token(self, token: impl Into<BearerToken>) -> Self {
        Self { token: Some(token.into()), ..self }
    }

    /// Sets the conversation, as [`SkillClient::within`].
    #[must_use]
    pub fn within(self, conversation: impl Into<String>) -> Self {
        Self { conversation: Some(conversation.into()), ..self }
    }

    /// Checks requests before they are sent, as [`SkillClient::checking`].
    #[must_use]
    pub fn checking(self, terms: impl Fn() -> DealerTerms + Send + Sync + 'static) -> Self {
        Self { terms: Some(Arc::new(terms)), ..self }
    }

    /// Uses this generator for the ids of requests and messages: for tests.
    #[must_use]
    pub fn ids(self, ids: fastrand::Rng) -> Self {
        Self { ids: Some(ids), ..self }
    }

    /// Fetches the card of the agent at an address and creates the client.
    ///
    /// # Errors
    /// The failure to get a card; and as [`Self::client`].
    pub async fn connect(mut self, address: &str) -> Result<SkillClient, CallFailure> {
        let transport =
            self.transport.take().unwrap_or_else(|| HttpTransport::new(TransportLimits::default()));
        let discovered = discover(&transport, address, None).await?;
        let card = CardReader::new_unverified(transport.clone(), discovered.url.clone());
        Ok(self.transport(transport).client(&discovered)?.rereading(card))
    }

    /// Creates the client for an agent that was discovered, for example by a [`CardCache`](crate::CardCache),
    /// and checked by [`Trust`](crate::Trust).
    ///
    /// # Errors
    /// `Unsent`: the agent cannot be used with AAP, or the token may not be sent to it.
    pub fn client(self, discovered: &Discovered) -> Result<SkillClient, CallFailure> {
        let choice = discovered.card.choose(self.version);
        let choice = choice.map_err(|why| CallFailure::Unsent(Unsent::NotAap(why)))?;
        let transport =
            self.transport.unwrap_or_else(|| HttpTransport::new(TransportLimits::default()));
        let ids = self.ids.unwrap_or_else(random_ids);
        let client = SkillClient::new(transport, discovered, choice, ids)?;
        let client = SkillClient { conversation: self.conversation, terms: self.terms, ..client };
        match &self.token {
            Some(token) => client.with_token(token),
            None => Ok(client),
        }
    }
}
