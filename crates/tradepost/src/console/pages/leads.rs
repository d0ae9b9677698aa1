//! Page of all leads, with search.

use askama::Template;
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::record::LeadState;
use tradepost_dealer::staff::StaffStage;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_store::staff::{FoundLeads, LeadFilter, SEARCHED_LEADS};

use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageError, PageFrame, ShownMoment, Visitor, inbox,
    link, stage_name, thousands,
};

/// Number of leads on a page.
const ON_A_PAGE: u32 = 50;

#[derive(Debug, Template)]
#[template(path = "console/leads.html")]
struct LeadsPage {
    frame: PageFrame,
    rows: Vec<LeadRow>,
    text: String,
    views: Vec<View>,
    view: &'static str,
    earlier: Option<String>,
    later: Option<String>,
    /// Number of leads that were searched, if there are more.
    searched: Option<String>,
}

#[derive(Debug)]
struct LeadRow {
    href: String,
    name: String,
    about: String,
    state: (&'static str, String),
    when: ShownMoment,
}

#[derive(Debug)]
struct View {
    label: &'static str,
    href: String,
    is_here: bool,
}

/// Filters of the page: name, label, state and stage.
const VIEWS: [(&str, &str, Option<LeadState>, Option<StaffStage>); 7] = [
    ("all", "All", None, None),
    ("new", "New", Some(LeadState::Received), Some(StaffStage::New)),
    ("working", "Working", Some(LeadState::Received), Some(StaffStage::Working)),
    ("sold", "Sold", Some(LeadState::Received), Some(StaffStage::Sold)),
    ("lost", "Lost", Some(LeadState::Received), Some(StaffStage::Lost)),
    ("held", "Held back", Some(LeadState::Held), None),
    ("revoked", "Consent withdrawn", Some(LeadState::Revoked), None),
];

impl Console {
    pub(in crate::console) fn leads(&self, visitor: &Visitor<'_>) -> Answer {
        let wanted = visitor.asked.asked_for("view").unwrap_or("all");
        let known = VIEWS.into_iter().find(|(name, ..)| *name == wanted);
        let (view, _, state, stage) = known.ok_or(PageError::NotFound)?;
        let text = visitor.asked.asked_for("q");
        let skip =
            visitor.asked.asked_for("skip").and_then(|skip| skip.parse().ok()).unwrap_or(0_u32);
        let filter = LeadFilter {
            dealer_id: visitor.dealer_id(),
            state,
            stage,
            oldest_first: false,
            // One more than is shown, which tells whether there is a further page.
            limit: ON_A_PAGE + 1,
            skip,
        };
        let FoundLeads { leads: found, is_cut } = match text {
            Some(text) if !text.trim().is_empty() => self.store.find_leads(&filter, text)?,
            Some(_) | None => FoundLeads { leads: self.store.lead_list(&filter)?, is_cut: false },
        };
        let is_more = found.len() > ON_A_PAGE as usize;
        let now = self.clock.now();
        let rows = found.iter().take(ON_A_PAGE as usize).map(|(lead, progress)| {
            let name = LeadView::new(lead).customer_name();
            LeadRow {
                href: format!("{PATH}/leads/{}", lead.lead_id),
                name: if name.is_empty() { "–".to_owned() } else { name },
                about: inbox::about(lead),
                state: shown(lead.state, progress.stage),
                when: Local { zone: lead.zone(), now }.when(lead.received_at),
            }
        });
        let query = |view, skip: u32| {
            let skip = (skip > 0).then(|| skip.to_string());
            link("leads", [("view", Some(view)), ("q", text), ("skip", skip.as_deref())])
        };
        let views = VIEWS.map(|(name, label, ..)| View {
            label,
            href: query(name, 0),
            is_here: name == view,
        });
        let page = LeadsPage {
            frame: self.frame(visitor, "Leads")?,
            rows: rows.collect(),
            text: text.unwrap_or_default().to_owned(),
            views: views.into(),
            view,
            earlier: is_more.then(|| query(view, skip.saturating_add(ON_A_PAGE))),
            later: (skip > 0).then(|| query(view, skip.saturating_sub(ON_A_PAGE))),
            searched: is_cut.then(|| thousands(SEARCHED_LEADS as u64)),
        };
        Ok(ConsoleReply::page(&page))
    }
}

/// Returns the state of a lead as CSS class and label.
pub(super) fn shown(state: LeadState, stage: StaffStage) -> (&'static str, String) {
    match state {
        LeadState::Received => (stage.name(), stage_name(stage).to_owned()),
        LeadState::Held => ("held", "Held back".to_owned()),
        LeadState::Revoked => ("revoked", "Consent withdrawn".to_owned()),
        LeadState::Erased => ("erased", "Erased".to_owned()),
    }
}
