//! Handlers of the forms for the work of staff on leads: stages, owners, next steps, and exports.

use std::collections::BTreeMap;

use tradepost_admin::leads::work::{
    AssignLead, AssignLeads, CompleteNextStep, LeadSelection, LeadsChanged, MAX_LEADS,
    SetLeadStage, SetLeadStages, SetNextStep, assign_lead, assign_leads, complete_next_step,
    set_lead_stage, set_lead_stages, set_next_step,
};
use tradepost_admin::leads::{ExportLeads, record_export};
use tradepost_dealer::appointment::change::WantedTime;
use tradepost_dealer::record::LeadRecord;
use tradepost_dealer::staff::lead_work::ExpectedOwner;
use tradepost_dealer::staff::{LostReason, NextStep, NextStepKind, StaffStage};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_runtime::lead_export::{self, ExportedLead};
use tradepost_server::fault::InternalError;
use tradepost_store::staff::{HistoryLimits, LeadFilter, LeadHistories, SEARCHED_LEADS};

use super::actions::refused;
use super::pages::lead_query::{LeadQuery, NOBODY};
use super::reply::ConsoleReply;
use super::sign_in::Visitor;
use super::{Answer, Console, PageError};

/// Answer to a form without a known stage.
const NO_STAGE: PageError = PageError::Unusable("The stage must be new, working, sold or lost.");

/// Answer to a form for many leads of which none is selected.
const NO_LEADS: PageError =
    PageError::Unusable("Select leads first, with the boxes in front of them.");

/// Answer to a next step without a usable time.
const NO_TIME: PageError =
    PageError::Unusable("Enter a date and a time, such as 2026-05-03T11:00.");

/// Answer to a change of all leads that were searched for.
const SEARCHED: PageError =
    PageError::Unusable("Leads that were searched for have to be selected one by one.");

/// Answer to the export of a list that is too long.
const TOO_MANY: PageError = PageError::Unusable(
    "More than 10,000 leads are in this list. Narrow it, or use `tradepost leads export`.",
);

const NOT_ALL_SEARCHED: PageError = PageError::Unusable(
    "The search did not reach all leads, so that the file would lack some. Narrow the list by its filters.",
);

/// A stage of a form, with the reason for a lost lead.
struct WantedStage {
    stage: StaffStage,
    lost_reason: Option<LostReason>,
}

/// Reads the stage of a form.
fn wanted_stage(visitor: &Visitor<'_>) -> Result<WantedStage, PageError> {
    let stage = visitor.asked.filled_in("stage").and_then(StaffStage::from_name);
    let stage = stage.ok_or(NO_STAGE)?;
    let lost_reason = visitor.asked.filled_in("reason").and_then(LostReason::from_name);
    // The field is beside all buttons, and counts for one of them.
    let lost_reason = lost_reason.filter(|_| stage == StaffStage::Lost);
    Ok(WantedStage { stage, lost_reason })
}

/// Reads an owner of a form.
fn wanted_owner(visitor: &Visitor<'_>) -> Result<Option<String>, PageError> {
    match visitor.asked.filled_in("to") {
        None => Err(PageError::Unusable("Choose who has the lead from now on.")),
        Some(NOBODY) => Ok(None),
        Some(name) => Ok(Some(name.to_owned())),
    }
}

/// Returns the owner that a page has shown.
fn seen_owner(name: Option<&str>) -> ExpectedOwner {
    match name {
        None => ExpectedOwner::Anyone,
        Some(NOBODY) => ExpectedOwner::Nobody,
        Some(name) => ExpectedOwner::Member(name.to_owned()),
    }
}

impl Console {
    pub(super) fn set_stage(&self, visitor: &Visitor<'_>) -> Answer {
        let WantedStage { stage, lost_reason } = wanted_stage(visitor)?;
        let input = SetLeadStage { lead_id: visitor.id.to_owned(), stage, lost_reason };
        self.after_change(set_lead_stage(&self.admin(&[]), &visitor.actor(), input), "stage")
    }

    pub(super) fn assign_lead(&self, visitor: &Visitor<'_>) -> Answer {
        let input = AssignLead {
            lead_id: visitor.id.to_owned(),
            owner: wanted_owner(visitor)?,
            expected: seen_owner(visitor.asked.filled_in("seen")),
        };
        self.after_change(assign_lead(&self.admin(&[]), &visitor.actor(), input), "assigned")
    }

    pub(super) fn set_next_step(&self, visitor: &Visitor<'_>) -> Answer {
        let lead = self.own_lead(visitor)?.lead;
        let kind = visitor.asked.filled_in("kind").and_then(NextStepKind::from_name);
        let kind = kind.ok_or(PageError::Unusable("Choose what comes next."))?;
        let at = visitor.asked.filled_in("at").and_then(WantedTime::parse);
        let at = at.and_then(|at| at.resolve(&lead.zone()));
        let at = at.ok_or(NO_TIME)?;
        let input = SetNextStep { lead_id: lead.lead_id, step: NextStep { kind, at } };
        self.after_change(set_next_step(&self.admin(&[]), &visitor.actor(), input), "step")
    }

    pub(super) fn end_next_step(&self, visitor: &Visitor<'_>) -> Answer {
        let is_done = visitor.asked.filled_in("how") == Some("done");
        let input = CompleteNextStep { lead_id: visitor.id.to_owned(), is_done };
        let done = complete_next_step(&self.admin(&[]), &visitor.actor(), input);
        self.after_change(done, if is_done { "step_done" } else { "step_removed" })
    }

    /// Sets the stage of the selected leads, or of all of the list.
    pub(super) fn set_stages(&self, visitor: &Visitor<'_>) -> Answer {
        let WantedStage { stage, lost_reason } = wanted_stage(visitor)?;
        let query = LeadQuery::read(|name| visitor.asked.filled_in(name))?;
        let context = self.admin(&[]);
        let leads = match self.all_of_list(visitor, &query)? {
            Some(filter) => LeadSelection::Filter(filter),
            None => LeadSelection::Ids(selected(visitor)?.into_values().flatten().collect()),
        };
        let input = SetLeadStages { leads, stage, lost_reason };
        let result = set_lead_stages(&context, &visitor.actor(), input).map_err(refused)?;
        self.deliveries.wake();
        self.after_changes(visitor, &query, &result)
    }

    /// Gives the selected leads, or all of the list, an owner.
    pub(super) fn assign_leads(&self, visitor: &Visitor<'_>) -> Answer {
        let owner = wanted_owner(visitor)?;
        let query = LeadQuery::read(|name| visitor.asked.filled_in(name))?;
        let context = self.admin(&[]);
        let actor = visitor.actor();
        let assign = |leads: LeadSelection<'_>, expected| {
            let input = AssignLeads { leads, owner: owner.clone(), expected };
            assign_leads(&context, &actor, input).map_err(refused)
        };
        let result = match self.all_of_list(visitor, &query)? {
            Some(filter) => assign(LeadSelection::Filter(filter), ExpectedOwner::Anyone)?,
            None => {
                let mut result = LeadsChanged::default();
                // Leads of the same owner together: each is expected to be as the page has shown it.
                for (seen, ids) in selected(visitor)? {
                    let more = assign(LeadSelection::Ids(ids), seen_owner(Some(&seen)))?;
                    result.changed.extend(more.changed);
                    result.unchanged.extend(more.unchanged);
                    result.refused.extend(more.refused);
                }
                result
            }
        };
        self.after_changes(visitor, &query, &result)
    }

    /// Returns the filter of the list when the form is for all of it.
    fn all_of_list<'q>(
        &self,
        visitor: &'q Visitor<'_>,
        query: &'q LeadQuery,
    ) -> Result<Option<LeadFilter<'q>>, PageError> {
        if visitor.asked.filled_in("all") != Some("yes") {
            return Ok(None);
        }
        if query.text().is_some() {
            return Err(SEARCHED);
        }
        Ok(Some(query.filter(visitor.dealer_id(), self.clock.now())))
    }

    /// Returns the leads of the list as CSV, and records it before.
    pub(super) fn export_leads(&self, visitor: &Visitor<'_>) -> Answer {
        let query = LeadQuery::read(|name| visitor.asked.filled_in(name))?;
        let filter = query.filter(visitor.dealer_id(), self.clock.now());
        let limits = HistoryLimits { returned: MAX_LEADS, searched: SEARCHED_LEADS };
        let found = match self.store.lead_histories(&filter, query.text(), limits)? {
            LeadHistories::All(found) => found,
            LeadHistories::TooMany => return Err(TOO_MANY),
            LeadHistories::NotAllSearched => return Err(NOT_ALL_SEARCHED),
        };
        let entries: Vec<ExportedLead> =
            found.into_iter().map(|history| ExportedLead::from_history(history, None)).collect();
        let leads: Vec<&LeadRecord> = entries.iter().map(ExportedLead::lead).collect();
        let input = ExportLeads { leads, format: "csv" };
        record_export(&self.admin(&[]), &visitor.actor(), input).map_err(refused)?;
        let csv = lead_export::csv(&entries);
        let csv = csv.map_err(InternalError::on("writing leads as CSV"))?;
        let csv = String::from_utf8(csv).map_err(InternalError::on("writing leads as CSV"))?;
        Ok(ConsoleReply::download_as("leads.csv", "text/csv; charset=utf-8", csv))
    }
}

/// Returns the ids of the selected leads by the owner that the page has shown.
fn selected(visitor: &Visitor<'_>) -> Result<BTreeMap<String, Vec<String>>, PageError> {
    let mut by_owner: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for id in visitor.asked.all_filled_in("lead").filter(|id| !id.is_empty()) {
        let seen = visitor.asked.filled_in(&format!("seen-{id}")).unwrap_or(NOBODY);
        by_owner.entry(seen.to_owned()).or_default().push(id.to_owned());
    }
    if by_owner.is_empty() { Err(NO_LEADS) } else { Ok(by_owner) }
}
