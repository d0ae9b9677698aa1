//! Page of all leads, with filters, search, and changes of many leads.

use askama::Template;
use tradepost_admin::leads::work::{LeadsChanged, MAX_LEADS};
use tradepost_admin::leads::{ListLeads, record_list};
use tradepost_dealer::adf::view::LeadView;
use tradepost_dealer::record::LeadState;
use tradepost_dealer::staff::lead_work::owns_leads;
use tradepost_dealer::staff::{LostReason, StaffStage};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_store::staff::{ListedLead, SEARCHED_LEADS};

use super::super::actions::{refusal_text, refused};
use super::super::reply::origin;
use super::lead_query::{AGES, LeadPageRows, LeadQuery, ListPlace, NOBODY, VIEWS};
use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageError, PageFrame, ShownMoment, StaffPermission,
    StateLabel, Visitor, counted, headed, inbox, lead, stage_name, thousands,
};

/// Number of leads on a page.
const PAGE_SIZE: u32 = 50;

/// Maximum length in characters of the part of a message that a list shows.
const EXCERPT_LENGTH: usize = 140;

#[derive(Debug, Template)]
#[template(path = "leads.html")]
struct LeadsPage {
    frame: PageFrame,
    rows: Vec<LeadRow>,
    filters: LeadFilterForm,
    hidden: Vec<(&'static str, String)>,
    views: Vec<View>,
    total: Option<String>,
    may_change_all: bool,
    may_export: bool,
    stages: Vec<Choice>,
    reasons: Vec<Choice>,
    owners: Vec<String>,
    result: Option<String>,
    newest: Option<String>,
    later: Option<String>,
    earlier: Option<String>,
    oldest: Option<String>,
    /// Number of leads that were searched, if there are more.
    searched: Option<String>,
}

/// Values of the filter form.
#[derive(Debug)]
struct LeadFilterForm {
    text: String,
    view: &'static str,
    agent: String,
    rooftop: String,
    vehicle: String,
    owner: String,
    ages: Vec<Choice>,
    is_due: bool,
    is_narrowed: bool,
}

/// A value for selection.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) value: &'static str,
    pub(super) label: String,
    pub(super) is_here: bool,
}

#[derive(Debug)]
struct LeadRow {
    id: String,
    href: String,
    name: String,
    about: String,
    message: Option<String>,
    contact: String,
    photo: Option<String>,
    agent: Option<(String, String)>,
    owner: Option<String>,
    /// Owner as the form sends it back, so that a colleague's change in the meantime is noticed.
    seen_owner: String,
    step: Option<ShownStep>,
    state: StateLabel,
    when: ShownMoment,
}

/// Next step of a lead.
#[derive(Debug)]
pub(super) struct ShownStep {
    pub(super) label: String,
    pub(super) when: ShownMoment,
    pub(super) is_due: bool,
}

#[derive(Debug)]
struct View {
    label: &'static str,
    href: String,
    is_here: bool,
}

/// The page after a change of many leads of which some were left alone.
#[derive(Debug, Template)]
#[template(path = "leads-changed.html")]
struct LeadsChangedPage {
    frame: PageFrame,
    summary: String,
    refused: Vec<RefusedRow>,
    back: String,
}

#[derive(Debug)]
struct RefusedRow {
    id: String,
    short: String,
    why: String,
}

impl Console {
    pub(crate) fn leads(&self, visitor: &Visitor<'_>) -> Answer {
        let asked = visitor.asked;
        let query = LeadQuery::read(|name| asked.asked_for(name))?;
        let place = ListPlace::read(|name| asked.asked_for(name))?;
        let now = self.clock.now();
        let filter = query.filter(visitor.dealer_id(), now);
        let found = LeadPageRows::read(&self.store, &filter, query.text(), place, PAGE_SIZE)?;
        let leads = found.leads.iter().map(|one| &one.lead).collect();
        let context = self.admin(&[]);
        record_list(&context, &visitor.actor(), ListLeads { leads }).map_err(refused)?;
        let rows: Vec<_> = found.leads.iter().map(|one| row(one, &query, now)).collect();
        let total = match query.text() {
            Some(_) => None,
            None => Some(self.store.count_leads(&filter)?),
        };
        let href = |place: &[(&str, &str)]| format!("{PATH}/leads?{}", query.url(place));
        let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
        let photos: Vec<String> = rows.iter().filter_map(|row| row.photo.clone()).collect();
        let page = LeadsPage {
            frame: self.frame(visitor, "Leads")?,
            may_change_all: total.is_some_and(|total| total as usize > rows.len()),
            may_export: StaffPermission::Decide.is_of(visitor.member.role) && !rows.is_empty(),
            rows,
            filters: LeadFilterForm {
                text: text("q"),
                view: query.view(),
                agent: text("agent"),
                rooftop: text("rooftop"),
                vehicle: text("vehicle"),
                owner: text("owner"),
                ages: AGES.iter().map(|age| age_choice(age.name, age.label, &query)).collect(),
                is_due: query.get("due").is_some(),
                is_narrowed: query.is_narrowed(),
            },
            hidden: query.fields(),
            views: VIEWS.iter().map(|view| tab(view.name, view.label, &query)).collect(),
            total: total.map(|total| counted(total as usize, "lead", "leads")),
            stages: StaffStage::ALL.iter().map(|stage| stage_choice(*stage)).collect(),
            reasons: reasons(None),
            owners: self.owners(visitor.dealer_id())?,
            result: summary_of(asked.asked_for("changed"), asked.asked_for("unchanged")),
            newest: found.previous.as_ref().map(|_| href(&[])),
            later: found.previous.as_deref().map(|cursor| href(&[("before", cursor)])),
            earlier: found.next.as_deref().map(|cursor| href(&[("after", cursor)])),
            oldest: found.next.as_ref().map(|_| href(&[("end", "yes")])),
            searched: found.is_cut.then(|| thousands(SEARCHED_LEADS as u64)),
        };
        Ok(ConsoleReply::page(&page).with_photos(photos.iter().map(String::as_str)))
    }

    /// Returns the names of the members who can own leads of a dealer.
    pub(super) fn owners(&self, dealer_id: Option<&str>) -> Result<Vec<String>, PageError> {
        let members = self.store.members(dealer_id)?.into_iter();
        Ok(members.filter(|member| owns_leads(member.role)).map(|member| member.name).collect())
    }

    /// Returns to the list after a change of many leads, or shows which were left alone.
    pub(crate) fn after_changes(
        &self,
        visitor: &Visitor<'_>,
        query: &LeadQuery,
        result: &LeadsChanged,
    ) -> Answer {
        let changed = result.changed.len().to_string();
        let unchanged = result.unchanged.len().to_string();
        let numbers = [("changed", changed.as_str()), ("unchanged", unchanged.as_str())];
        if result.refused.is_empty() && !result.is_cut {
            return Ok(ConsoleReply::see(format!("{PATH}/leads?{}", query.url(&numbers))));
        }
        let mut summary = summary_of(Some(&changed), Some(&unchanged)).unwrap_or_default();
        if result.is_cut {
            summary.push_str(&format!(
                " These were the first {}; repeat the change for the others.",
                thousands(MAX_LEADS.into())
            ));
        }
        let refused = result.refused.iter().map(|one| RefusedRow {
            id: one.lead_id.clone(),
            short: inbox::short_id(&one.lead_id).to_owned(),
            why: refusal_text(&one.refusal),
        });
        let page = LeadsChangedPage {
            frame: self.frame(visitor, "Leads")?,
            summary,
            refused: refused.collect(),
            back: format!("{PATH}/leads?{}", query.url(&[])),
        };
        Ok(ConsoleReply::page(&page))
    }
}

/// Describes the result of a change of many leads, from the numbers in a URL.
fn summary_of(changed: Option<&str>, unchanged: Option<&str>) -> Option<String> {
    let changed: usize = changed?.parse().ok()?;
    let unchanged: usize = unchanged?.parse().ok()?;
    let verb = if changed == 1 { "is" } else { "are" };
    let mut text = format!("{} {verb} changed.", counted(changed, "lead", "leads"));
    if unchanged > 0 {
        let stood = counted(unchanged, "lead stood", "leads stood");
        text.push_str(&format!(" {stood} so already."));
    }
    Some(text)
}

fn tab(name: &'static str, label: &'static str, query: &LeadQuery) -> View {
    let href = format!("{PATH}/leads?{}", query.url(&[("view", name)]));
    View { label, href, is_here: name == query.view() }
}

fn age_choice(value: &'static str, label: &str, query: &LeadQuery) -> Choice {
    Choice { value, label: label.to_owned(), is_here: query.get("older") == Some(value) }
}

fn stage_choice(stage: StaffStage) -> Choice {
    let is_here = stage == StaffStage::Working;
    Choice { value: stage.name(), label: stage_name(stage).to_owned(), is_here }
}

/// Returns the reasons for which a lead is lost, one of them chosen.
pub(super) fn reasons(chosen: Option<LostReason>) -> Vec<Choice> {
    let choice = |reason: &LostReason| Choice {
        value: reason.name(),
        label: headed(reason.name()),
        is_here: Some(*reason) == chosen,
    };
    LostReason::ALL.iter().map(choice).collect()
}

fn row(one: &ListedLead, query: &LeadQuery, now: jiff::Timestamp) -> LeadRow {
    let ListedLead { lead, progress, .. } = one;
    let view = LeadView::new(lead);
    let name = view.customer_name();
    let here = Local { zone: lead.zone(), now };
    let agent = view
        .agent()
        .map(|name| (name.to_owned(), format!("{PATH}/leads?{}", query.url(&[("agent", name)]))));
    LeadRow {
        id: lead.lead_id.clone(),
        href: format!("{PATH}/leads/{}", lead.lead_id),
        name: if name.is_empty() { "–".to_owned() } else { name },
        about: inbox::about(lead),
        message: view.text("/message").map(excerpt).filter(|text| !text.is_empty()),
        contact: lead::permitted_contacts(&view).join(" · "),
        photo: lead.submission.listing.as_ref().and_then(photo),
        agent,
        owner: progress.owner.clone(),
        seen_owner: progress.owner.clone().unwrap_or_else(|| NOBODY.to_owned()),
        step: progress.next_step.map(|step| shown_step(&step, &here)),
        state: shown(lead.state, progress.stage),
        when: here.when(lead.received_at),
    }
}

/// Returns the next step as a page shows it.
pub(super) fn shown_step(step: &tradepost_dealer::staff::NextStep, here: &Local) -> ShownStep {
    ShownStep {
        label: headed(step.kind.name()),
        when: here.when(step.at),
        is_due: step.at <= here.now,
    }
}

/// Returns the beginning of a message, on one line.
fn excerpt(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= EXCERPT_LENGTH {
        return line;
    }
    line.chars().take(EXCERPT_LENGTH).chain(['…']).collect()
}

/// Returns the first photo of a listing that may be shown.
pub(super) fn photo(listing: &Value) -> Option<String> {
    let photos = listing.get("photos")?.as_array()?;
    let photos = photos.iter().filter_map(Value::as_str);
    photos.filter(|photo| origin(photo).is_some()).map(str::to_owned).next()
}

/// Returns the state of a lead as its page and the list show it.
pub(super) fn shown(state: LeadState, stage: StaffStage) -> StateLabel {
    let (class, label) = match state {
        LeadState::Received => (stage.name(), stage_name(stage)),
        LeadState::Held => ("held", "Held back"),
        LeadState::Revoked => ("revoked", "Consent withdrawn"),
        LeadState::Erased => ("erased", "Erased"),
    };
    StateLabel { class, label }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_and_short() {
        assert_eq!(excerpt(" Is it \n there?  "), "Is it there?");
        let long = excerpt(&"word ".repeat(100));
        assert_eq!((long.chars().count(), long.ends_with('…')), (EXCERPT_LENGTH + 1, true));
    }

    #[test]
    fn a_summary_says_what_was_changed() {
        let counted_text = |changed, unchanged| summary_of(Some(changed), Some(unchanged));
        assert_eq!(counted_text("1", "0").unwrap(), "1 lead is changed.");
        assert_eq!(
            counted_text("1200", "1").unwrap(),
            "1,200 leads are changed. 1 lead stood so already."
        );
        assert_eq!(counted_text("<b>", "0"), None);
    }
}
