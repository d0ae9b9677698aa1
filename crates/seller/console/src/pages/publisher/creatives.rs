//! Creatives of buyers, and the page on which one is reviewed.

use askama::Template;
use jiff::tz::TimeZone;
use tradepost_admin::AdminOperation;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_publisher::creative::CreativeStatus;
use tradepost_publisher::staff::list::Subject;
use tradepost_publisher::staff::{CreativeChangeReason, DecisionSubject};

use super::super::{
    Answer, Console, ConsoleReply, Local, PageFrame, ShownMoment, Visitor, headed, link,
};
use super::preview::{CreativeAsset, assets};
use super::{
    Fact, Fields, StateTab, TimelineEntry, first_page, next_page, show_link, state_class,
    state_tabs, timeline,
};

#[derive(Debug, Template)]
#[template(path = "publisher/creatives.html")]
struct CreativesPage {
    frame: PageFrame,
    tabs: Vec<StateTab>,
    rows: Vec<CreativeRow>,
    first: Option<String>,
    next: Option<String>,
}

#[derive(Debug)]
struct CreativeRow {
    id: String,
    href: String,
    name: String,
    state: String,
    class: &'static str,
    format: String,
    account: String,
    agent: String,
    made: Option<ShownMoment>,
}

#[derive(Debug, Template)]
#[template(path = "publisher/creative.html")]
struct CreativePage {
    frame: PageFrame,
    id: String,
    account: String,
    name: String,
    about: String,
    state: String,
    class: &'static str,
    seen: String,
    may: CreativeForms,
    codes: Vec<ReasonCode>,
    assets: Vec<CreativeAsset>,
    /// Address of the frame with pictures, sounds and films.
    media: Option<String>,
    /// Address of the frame in which code runs, once the visitor has asked for it.
    running: Option<String>,
    /// Address of this page with code that runs, as long as it does not.
    run: Option<String>,
    facts: Vec<Fact>,
    source: String,
    packages: Vec<String>,
    timeline: Vec<TimelineEntry>,
}

/// Forms that the visitor may use in the creative's present state.
#[derive(Debug)]
struct CreativeForms {
    approve: bool,
    decline: bool,
    suspend: bool,
    resume: bool,
}

/// Code of the reason for which a creative is declined.
#[derive(Debug)]
struct ReasonCode {
    value: &'static str,
    label: String,
}

impl Console {
    pub(crate) fn creatives(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let listing = self.listing(visitor, &agent, Subject::Creatives, None)?;
        let rows = listing.rows.iter().map(|row| {
            let fields = Fields::new(&row.document);
            let id = fields.or_empty("id");
            let state = fields.or_empty("state");
            let account = fields.text("account");
            CreativeRow {
                href: show_link(DecisionSubject::Creative, &id, account.as_deref(), None),
                name: fields.text("name").unwrap_or_else(|| id.clone()),
                class: state_class(&state),
                state: headed(&state),
                format: fields.or_empty("format"),
                account: account.unwrap_or_default(),
                agent: fields.or_empty("agent"),
                made: fields.when("created_at", &here),
                id,
            }
        });
        Ok(ConsoleReply::page(&CreativesPage {
            rows: rows.collect(),
            tabs: state_tabs(visitor, "creatives", &Subject::Creatives.states()),
            first: first_page(visitor, "creatives"),
            next: next_page(visitor, "creatives", &listing),
            frame: self.frame(visitor, "Creatives")?,
        }))
    }

    pub(crate) fn creative(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let document = self.record(visitor, &agent, Subject::Creatives)?;
        let fields = Fields::new(&document);
        let here = Local { zone: TimeZone::UTC, now: self.clock.now() };
        let id = fields.or_empty("id");
        let account = fields.or_empty("account");
        let state = fields.or_empty("state");
        let status = CreativeStatus::from_name(&state);
        let is_in = |states: &[CreativeStatus]| status.is_some_and(|own| states.contains(&own));
        let role = visitor.member.role;
        let may = |operation: AdminOperation| operation.permission().is_of(role);
        let codes = status.map(CreativeChangeReason::of_decline).unwrap_or_default();
        let assets = fields.get("given").map(assets).unwrap_or_default();
        let runs = visitor.asked.asked_for("run") == Some("yes");
        let address = |page: &str, runs: bool| {
            let run = runs.then_some("yes");
            link(page, [("id", Some(&id)), ("account", Some(&account)), ("run", run)])
        };
        let has_media = assets.iter().any(|asset| asset.is_shown);
        let has_code = assets.iter().any(|asset| asset.is_code);
        let packages = fields.items("packages").iter();
        let page = CreativePage {
            name: fields.text("name").unwrap_or_else(|| id.clone()),
            about: about(fields),
            class: state_class(&state),
            state: headed(&state),
            seen: fields.or_empty("revision"),
            may: CreativeForms {
                approve: may(AdminOperation::Approve) && is_in(&[CreativeStatus::PendingReview]),
                decline: may(AdminOperation::Decline)
                    && is_in(&[
                        CreativeStatus::PendingReview,
                        CreativeStatus::Processing,
                        CreativeStatus::Approved,
                        CreativeStatus::Suspended,
                    ]),
                suspend: may(AdminOperation::Suspend) && is_in(&[CreativeStatus::Approved]),
                resume: may(AdminOperation::Resume) && is_in(&[CreativeStatus::Suspended]),
            },
            codes: codes
                .iter()
                .map(|code| ReasonCode { value: code.name(), label: headed(code.name()) })
                .collect(),
            media: has_media.then(|| address("creatives/preview", false)),
            running: (has_code && runs).then(|| address("creatives/preview", true)),
            run: (has_code && !runs).then(|| address("creatives/show", true)),
            assets,
            facts: super::super::known([
                ("Creative", Some(id.clone())),
                ("Format", fields.text("format")),
                ("Account", fields.text("account")),
                ("Agent", fields.text("agent")),
                ("Review ends", fields.at("review_ends_at").map(|at| here.spoken(at))),
                ("Reason", fields.text("reason")),
                ("Verifiers asked", fields.text("verifiers")),
            ]),
            source: fields.get("given").map(|given| format!("{given:#}")).unwrap_or_default(),
            packages: packages.map(|package| Fields::new(package).or_empty("id")).collect(),
            timeline: timeline(fields, &here),
            frame: self.frame(visitor, "Creative")?,
            id,
            account,
        };
        Ok(ConsoleReply::page(&page).with_frame())
    }
}

fn about(fields: Fields<'_>) -> String {
    let agent = fields.text("agent").map(|agent| format!("agent {agent}"));
    let parts = [fields.text("format"), fields.text("account"), agent];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}
