//! Signals: `get_signals`, `activate_signal`.

use tradepost_document::typed_struct;

use super::Pagination;
use crate::money::MoneyAmount;

typed_struct! {
    /// `signals/get-signals-request.json`.
    pub(crate) struct GetSignals {
        signal_spec: Option<String>,
        signal_refs: Vec<SignalRef>,
        signal_ids: Vec<SignalId>,
        destinations: Option<Vec<SignalDestination>>,
        countries: Vec<String>,
        filters: Option<SignalFilters>,
        fields: Option<Vec<String>>,
        /// Page size of requests from before `pagination` existed.
        max_results: Option<u64>,
        pagination: Option<Pagination>,
        if_wholesale_feed_version: Option<String>,
    }

    /// `core/signal-ref.json`.
    pub(crate) struct SignalRef {
        scope: String,
        signal_id: String,
        signal_source_url: Option<String>,
        data_provider_domain: Option<String>,
    }

    /// The older `core/signal-id.json`.
    pub(crate) struct SignalId {
        source: SignalSource,
        id: String,
        agent_url: Option<String>,
    }

    /// `core/destination.json`.
    pub(crate) struct SignalDestination {
        kind: DestinationKind = "type",
        agent_url: Option<String>,
    }

    /// `core/signal-filters.json`.
    pub(crate) struct SignalFilters {
        catalog_types: Option<Vec<String>>,
        data_providers: Option<Vec<String>>,
        max_cpm: Option<MoneyAmount>,
        max_percent: Option<MoneyAmount>,
        min_coverage_percentage: Option<MoneyAmount>,
    }

    /// `signals/activate-signal-request.json`.
    pub(crate) struct ActivateSignal {
        action: Option<SignalAction>,
        signal_agent_segment_id: String,
        destinations: Vec<SignalDestination>,
        pricing_option_id: Option<String>,
        governance_context: Option<String>,
    }
}

tradepost_document::words! {
    /// Definer of a signal, in the older references.
    pub(crate) enum SignalSource {
        /// The catalog of a data provider.
        Catalog = "catalog",
        /// An agent.
        Agent = "agent",
    }

    /// Kind of a destination.
    pub(crate) enum DestinationKind {
        /// A platform.
        Platform = "platform",
        /// An agent.
        Agent = "agent",
    }

    /// Change of a signal's activation.
    pub(crate) enum SignalAction {
        /// Make it usable.
        Activate = "activate",
        /// Make it unusable.
        Deactivate = "deactivate",
    }
}

impl GetSignals {
    /// Returns the requested page, by `pagination` or by the older `max_results`.
    pub(crate) fn page(&self) -> Option<Pagination> {
        let sized = || Some(Pagination { max_results: Some(self.max_results?), cursor: None });
        self.pagination.clone().or_else(sized)
    }
}
