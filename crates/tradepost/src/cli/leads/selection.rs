//! Selection of leads by their properties.

use std::convert::Infallible;

use clap::ValueEnum;
use jiff::{SignedDuration, Timestamp};
use tradepost_admin::people::stored_name;
use tradepost_dealer::record::LeadState;
use tradepost_dealer::staff::StaffStage;
use tradepost_document::toml::parse_duration;
use tradepost_store::Store;
use tradepost_store::staff::{LeadFilter, ListedLead, OwnerFilter, WaitingFor};

use super::{StoreOptions, known_dealers, since};
use crate::cli::output::{CommandFailure, explained};
use crate::cli::{Context, Outcome};

/// Number of leads read at once.
const PAGE_SIZE: u32 = 500;

/// Leads by their properties.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Selection {
    /// Only leads of this dealer.
    #[arg(long, value_name = "ID")]
    pub(super) dealer: Option<String>,
    /// Only leads that this rooftop handles.
    #[arg(long, value_name = "NAME")]
    pub(super) rooftop: Option<String>,
    /// Only leads in this state.
    #[arg(long, value_enum, default_value_t = LeadStateOption::Received)]
    pub(super) state: LeadStateOption,
    /// Only leads at this stage.
    #[arg(long, value_name = "STAGE", value_parser = explained::<StaffStage>())]
    pub(super) at_stage: Option<StaffStage>,
    /// Only leads that are new or have changed since this date (UTC) or time.
    #[arg(long, value_name = "DATE", value_parser = since)]
    pub(super) since: Option<Timestamp>,
    /// Only leads received longer ago than this, such as 30m, 12h or 7d.
    #[arg(long, value_name = "DURATION", value_parser = age)]
    pub(super) older_than: Option<SignedDuration>,
    /// Only leads of the agent that gives itself this name.
    #[arg(long, value_name = "NAME")]
    pub(super) agent: Option<String>,
    /// Only leads about the listed vehicle with this id.
    #[arg(long, value_name = "ID")]
    pub(super) vehicle: Option<String>,
    /// Only leads of this member.
    #[arg(long, value_name = "NAME", value_parser = member_name, conflicts_with = "unassigned")]
    pub(super) owner: Option<String>,
    /// Only leads that nobody owns.
    #[arg(long)]
    pub(super) unassigned: bool,
    /// Only leads whose next step is due.
    #[arg(long)]
    pub(super) due: bool,
    /// Only leads that wait for an answer: new, and handled by no CRM.
    #[arg(long)]
    pub(super) waiting: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LeadStateOption {
    /// Leads that are not held back.
    Received,
    /// Leads that are held back.
    Held,
    /// Leads whose consent the customer has withdrawn.
    Revoked,
    /// Erased leads.
    Erased,
    /// All leads.
    All,
}

impl LeadStateOption {
    const fn state(self) -> Option<LeadState> {
        match self {
            Self::Received => Some(LeadState::Received),
            Self::Held => Some(LeadState::Held),
            Self::Revoked => Some(LeadState::Revoked),
            Self::Erased => Some(LeadState::Erased),
            Self::All => None,
        }
    }
}

impl Selection {
    /// Checks that the dealer of the selection is known.
    pub(super) fn check_dealer(
        &self,
        store: &Store,
        place: &StoreOptions,
        context: &Context,
    ) -> Outcome {
        known_dealers::check_known(self.dealer.as_deref(), store, place, context)
    }

    /// Returns the filter of the selection, the newest leads first.
    pub(super) fn filter(&self, now: Timestamp) -> LeadFilter<'_> {
        let owner = self.owner.as_deref().map(OwnerFilter::Member);
        let before = self.older_than.and_then(|age| now.checked_sub(age).ok());
        LeadFilter {
            dealer_id: self.dealer.as_deref(),
            state: self.state.state(),
            stage: self.at_stage,
            agent: self.agent.as_deref(),
            rooftop: self.rooftop.as_deref(),
            vehicle_id: self.vehicle.as_deref(),
            owner: if self.unassigned { Some(OwnerFilter::Nobody) } else { owner },
            changed_since: self.since,
            received_before: before,
            due_before: self.due.then_some(now),
            waiting: self.waiting.then_some(WaitingFor::Answer),
            limit: PAGE_SIZE,
            ..LeadFilter::default()
        }
    }

    /// Returns true when an option selects leads. The default state selects none.
    pub(super) const fn is_narrowed(&self) -> bool {
        !matches!(self.state, LeadStateOption::Received)
            || self.dealer.is_some()
            || self.rooftop.is_some()
            || self.at_stage.is_some()
            || self.since.is_some()
            || self.older_than.is_some()
            || self.agent.is_some()
            || self.vehicle.is_some()
            || self.owner.is_some()
            || self.unassigned
            || self.due
            || self.waiting
    }
}

/// Leads that were selected.
pub(super) struct SelectedLeads {
    /// The leads, newest first.
    pub(super) leads: Vec<ListedLead>,
    /// Number of leads that are held back, among all that match otherwise.
    pub(super) held: u32,
}

/// Reads the selected leads, page by page.
pub(super) fn select(
    store: &Store,
    selection: &Selection,
    now: Timestamp,
) -> Result<SelectedLeads, CommandFailure> {
    let mut filter = selection.filter(now);
    let held = LeadFilter { state: Some(LeadState::Held), waiting: None, ..filter };
    let held = store.count_leads(&held)?;
    let mut leads = Vec::new();
    loop {
        let page = store.lead_list(&filter)?;
        let is_last = page.len() < PAGE_SIZE as usize;
        filter.after = page.last().map(ListedLead::cursor);
        leads.extend(page);
        if is_last {
            return Ok(SelectedLeads { leads, held });
        }
    }
}

/// Reads the name of a member.
fn member_name(text: &str) -> Result<String, Infallible> {
    Ok(stored_name(text))
}

/// Reads an age.
fn age(text: &str) -> Result<SignedDuration, String> {
    parse_duration(text).ok_or_else(|| "write a duration such as 30m, 12h or 7d".to_owned())
}
