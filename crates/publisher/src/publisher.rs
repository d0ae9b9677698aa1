//! The publisher: who it is, what it keeps and everything outside.

use std::sync::{Arc, OnceLock};

use tradepost_wire::adcp::AdcpTool;
use tradepost_wire::json::SharedJson;

use crate::catalogue::Catalogue;
use crate::idempotency::InFlightKeys;
use crate::memo::ResponseCache;
use crate::profile::PublisherProfile;
use crate::shelf::PublisherStore;
use crate::shelf::recent::RecentReads;
use crate::world::Services;

/// What a publisher says it can do, as it is sent.
pub(crate) type Sections = Vec<(&'static str, Arc<SharedJson>)>;

/// A publisher.
#[derive(Debug, Clone)]
pub struct Publisher {
    /// Who it is.
    pub profile: Arc<PublisherProfile>,
    /// Everything outside.
    pub world: Arc<dyn Services>,
    pub(crate) vault: Arc<dyn PublisherStore>,
    pub(crate) flights: InFlightKeys,
    /// What searches have read lately, where the vault may be away.
    pub(crate) recent: Arc<RecentReads>,
    /// What was answered lately.
    pub(crate) memo: Arc<ResponseCache>,
    /// What it says it can do: worked out when somebody asks first, because nothing of it changes
    /// as long as the catalogue does not.
    pub(crate) capabilities: Arc<OnceLock<Sections>>,
}

impl Publisher {
    /// A publisher that keeps what it keeps in a vault.
    #[must_use]
    pub fn new(
        profile: Arc<PublisherProfile>,
        vault: Arc<dyn PublisherStore>,
        world: Arc<dyn Services>,
    ) -> Self {
        let (flights, recent, memo, capabilities) = Default::default();
        Self { profile, world, vault, flights, recent, memo, capabilities }
    }

    /// The same, which sells something else; what is under way goes on, and keys hold for both.
    #[must_use]
    pub fn selling(&self, catalogue: Catalogue) -> Self {
        let profile =
            Arc::new(PublisherProfile { catalogue, ..PublisherProfile::clone(&self.profile) });
        Self { profile, capabilities: Arc::default(), ..self.clone() }
    }

    /// The tools that it has, in the order of the table; the same for every caller (`N-4`).
    #[must_use]
    pub fn tools(&self) -> Vec<AdcpTool> {
        use tradepost_wire::catalog::Vocabulary as _;
        AdcpTool::ALL.iter().copied().filter(|tool| self.has(*tool)).collect()
    }

    /// Whether it has a tool: the test controller is in sandboxes alone, and its absence looks like
    /// that of a tool that nobody has.
    pub(crate) fn has(&self, tool: AdcpTool) -> bool {
        tool != AdcpTool::ComplyTestController || self.profile.sandbox
    }
}
