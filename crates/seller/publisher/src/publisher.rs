//! The publisher: its profile, its store and the services outside.

use std::sync::{Arc, OnceLock};

use tradepost_adcp::AdcpTool;
use tradepost_document::json::SharedJson;

use crate::catalogue::Catalogue;
use crate::idempotency::InFlightKeys;
use crate::profile::PublisherProfile;
use crate::response_cache::ResponseCache;
use crate::services::Services;
use crate::store::PublisherStore;
use crate::store::stale_reads::RecentReads;

/// Sections of the capabilities, as sent.
pub(crate) type Sections = Vec<(&'static str, Arc<SharedJson>)>;

/// A publisher.
#[derive(Debug, Clone)]
pub struct Publisher {
    /// Its profile.
    pub profile: Arc<PublisherProfile>,
    /// Everything outside that is not the store.
    pub services: Arc<dyn Services>,
    pub(crate) store: Arc<dyn PublisherStore>,
    pub(crate) flights: InFlightKeys,
    /// Recent reads of searches, used while the store is unavailable.
    pub(crate) recent: Arc<RecentReads>,
    /// Recent answers.
    pub(crate) response_cache: Arc<ResponseCache>,
    /// Capabilities, computed at the first request for them: they change only with the catalogue.
    pub(crate) capabilities: Arc<OnceLock<Sections>>,
}

impl Publisher {
    /// Creates a publisher on a store.
    #[must_use]
    pub fn new(
        profile: Arc<PublisherProfile>,
        store: Arc<dyn PublisherStore>,
        services: Arc<dyn Services>,
    ) -> Self {
        let flights = InFlightKeys::default();
        let recent = Arc::default();
        let response_cache = Arc::default();
        let capabilities = Arc::default();
        Self { profile, services, store, flights, recent, response_cache, capabilities }
    }

    /// Returns the same publisher with another catalogue. Work in progress goes on, and idempotency keys hold
    /// for both.
    #[must_use]
    pub fn selling(&self, catalogue: Catalogue) -> Self {
        let profile =
            Arc::new(PublisherProfile { catalogue, ..PublisherProfile::clone(&self.profile) });
        Self { profile, capabilities: Arc::default(), ..self.clone() }
    }

    /// Returns its tools, in the order of the table. Every caller gets the same list (AdCP 3.1
    /// `error-handling`, `N-4`).
    #[must_use]
    pub fn tools(&self) -> Vec<AdcpTool> {
        use tradepost_document::catalog::Vocabulary as _;
        AdcpTool::ALL.iter().copied().filter(|tool| self.has(*tool)).collect()
    }

    /// Returns true if it has a tool. Only a sandbox has the test controller; elsewhere its absence looks
    /// like that of an unknown tool.
    pub(crate) fn has(&self, tool: AdcpTool) -> bool {
        tool != AdcpTool::ComplyTestController || self.profile.sandbox
    }
}
