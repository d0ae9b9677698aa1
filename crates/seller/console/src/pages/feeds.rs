//! Pages of inventory feeds: the state of each feed, its runs, and the result of each row.

use askama::Template;
use jiff::Timestamp;
use tradepost_admin::AdminError;
use tradepost_admin::feeds::{
    FeedHistory, FeedName, FeedRefusal, FeedStanding, ListFeeds, ShowFeed, list_feeds, show_feed,
};
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_runtime::config::feeds::{Extent, FeedConfig};
use tradepost_runtime::feeds::FeedStatus;
use tradepost_runtime::feeds::report::{ReportCount, ReportSkip, RunReport};
use tradepost_store::{FeedOutcome, FeedRun};

use super::{
    Answer, Console, ConsoleReply, Local, PageError, PageFrame, ShownMoment, StateLabel, Visitor,
    ago, headed, link, thousands,
};

/// Maximum number of skipped rows on a page.
const MAX_SKIPS: usize = 200;

#[derive(Debug, Template)]
#[template(path = "feeds.html")]
struct FeedsPage {
    frame: PageFrame,
    dealers: Vec<FeedsDealer>,
}

#[derive(Debug)]
struct FeedsDealer {
    name: String,
    feeds: Vec<FeedRow>,
}

/// A feed in the list.
#[derive(Debug)]
struct FeedRow {
    name: String,
    href: String,
    way: &'static str,
    state: StateLabel,
    taken: Option<ShownMoment>,
    last: Option<(StateLabel, ShownMoment)>,
}

#[derive(Debug, Template)]
#[template(path = "feed.html")]
struct FeedPage {
    frame: PageFrame,
    dealer: String,
    name: String,
    about: String,
    state: StateLabel,
    runs: Vec<FeedRunView>,
    shown: Option<ShownRun>,
}

#[derive(Debug)]
struct FeedRunView {
    href: String,
    source: String,
    outcome: StateLabel,
    when: ShownMoment,
    is_here: bool,
}

/// The run whose report is shown.
#[derive(Debug)]
struct ShownRun {
    outcome: StateLabel,
    when: ShownMoment,
    message: Option<String>,
    hint: Option<String>,
    rows: Vec<(String, String)>,
    changes: Vec<(String, String)>,
    place: String,
    skips: Vec<ReportSkip>,
    more_skips: Option<String>,
    warnings: Vec<ReportCount>,
    ignored: Option<String>,
    id: String,
}

impl Console {
    pub(crate) fn feeds(&self, visitor: &Visitor<'_>) -> Answer {
        let mut dealers = Vec::new();
        for seller in self.dealers(visitor) {
            let here = self.local(std::slice::from_ref(&seller));
            let name = |feed: &FeedConfig| FeedName {
                dealer_id: seller.dealer.terms.id.clone(),
                feed: feed.name.clone(),
            };
            let input = ListFeeds { feeds: seller.dealer.feeds.iter().map(name).collect() };
            let standings = list_feeds(&self.admin(&[]), &visitor.actor(), input);
            let standings = standings.map_err(refused)?;
            let configured = seller.dealer.feeds.iter().zip(standings);
            let row = |status: FeedStatus<'_>| FeedRow {
                name: status.feed.name.clone(),
                href: address(&seller, &status.feed.name, None),
                way: status.feed.from.name(),
                state: state(&status),
                taken: status.standing.state.taken_at.map(|at| here.when(at)),
                last: status
                    .standing
                    .last
                    .as_ref()
                    .map(|run| (outcome(run.outcome), here.when(run.ended_at))),
            };
            let feeds =
                configured.map(|(feed, standing)| row(FeedStatus { feed, standing })).collect();
            dealers.push(FeedsDealer { name: seller.dealer.terms.name.clone(), feeds });
        }
        Ok(ConsoleReply::page(&FeedsPage { frame: self.frame(visitor, "Feeds")?, dealers }))
    }

    pub(crate) fn feed(&self, visitor: &Visitor<'_>) -> Answer {
        let dealer = visitor.asked.asked_for("dealer").ok_or(PageError::NotFound)?;
        let seller = self.dealer(visitor, Some(dealer))?;
        let name = visitor.asked.asked_for("feed").ok_or(PageError::NotFound)?;
        let configured = seller.dealer.feeds.iter().find(|feed| feed.name == name);
        let configured = configured.ok_or(PageError::NotFound)?;
        let input = ShowFeed {
            name: FeedName { dealer_id: dealer.to_owned(), feed: name.to_owned() },
            run_id: visitor.asked.asked_for("run").map(str::to_owned),
        };
        let history = show_feed(&self.admin(&[]), &visitor.actor(), input).map_err(refused)?;
        let FeedHistory { state: feed_state, runs, shown } = history;
        let last = runs.first().cloned();
        let standing = FeedStanding { state: feed_state, last };
        let status = FeedStatus { feed: configured, standing };
        let here = self.local(std::slice::from_ref(&seller));
        let run = |run: &FeedRun| FeedRunView {
            href: address(&seller, name, Some(&run.run_id)),
            source: run.source.clone(),
            outcome: outcome(run.outcome),
            when: here.when(run.ended_at),
            is_here: shown.as_ref().is_some_and(|shown| shown.run_id == run.run_id),
        };
        let from = status.feed.from.name();
        let extent = match status.feed.extent {
            Extent::Full => "whole inventory",
            Extent::Delta => "changes",
        };
        let page = FeedPage {
            frame: self.frame(visitor, "Feeds")?,
            dealer: dealer.to_owned(),
            name: name.to_owned(),
            about: format!("{} of {}, by {from}", headed(extent), seller.dealer.terms.name),
            state: state(&status),
            runs: runs.iter().map(run).collect(),
            shown: shown.as_ref().map(|run| report(run, name, &here)),
        };
        Ok(ConsoleReply::page(&page))
    }
}

/// Returns the page for an operation on feeds that was not done.
fn refused(error: AdminError<FeedRefusal>) -> PageError {
    PageError::from_admin(error, |refusal| match refusal {
        FeedRefusal::UnknownDealer(_) | FeedRefusal::UnknownRun(_) => PageError::NotFound,
        FeedRefusal::Busy => PageError::Conflict("Another feed is being imported.".to_owned()),
    })
}

/// Returns the link to a feed, or to one of its runs.
pub(super) fn address(seller: &DealerAgent, feed: &str, run: Option<&str>) -> String {
    let dealer = Some(seller.dealer.terms.id.as_str());
    link("feeds/runs", [("dealer", dealer), ("feed", Some(feed)), ("run", run)])
}

fn state(status: &FeedStatus<'_>) -> StateLabel {
    let stored = &status.standing.state;
    let (class, label) = match (stored.stale_since, status.feed.stale_after) {
        (Some(_), _) => ("bad", "stale"),
        // A feed without any run is neither fresh nor stale.
        (None, _) if stored.taken_at.is_none() => ("", "never imported"),
        (None, Some(_)) => ("good", "fresh"),
        (None, None) => ("", "no age limit"),
    };
    StateLabel { class, label }
}

/// Returns why the last run of a feed changed nothing, as the end of a sentence about the feed.
pub(super) const fn not_taken_because(of: FeedOutcome) -> &'static str {
    match of {
        FeedOutcome::Taken => "was imported",
        FeedOutcome::Held => "is held back for review",
        FeedOutcome::Unreadable => "could not be read",
        FeedOutcome::Failed => "could not be fetched",
    }
}

/// Returns when a feed was last stored, as the end of a sentence about the feed.
pub(super) fn last_taken(status: &FeedStatus<'_>, now: Timestamp) -> String {
    match status.standing.state.taken_at {
        Some(at) => format!("was last imported {}.", ago(at, now)),
        None => "has never been imported.".to_owned(),
    }
}

const fn outcome(of: FeedOutcome) -> StateLabel {
    let (class, label) = match of {
        FeedOutcome::Taken => ("good", "imported"),
        FeedOutcome::Held => ("warning", "held back"),
        FeedOutcome::Unreadable => ("bad", "unreadable"),
        FeedOutcome::Failed => ("bad", "failed"),
    };
    StateLabel { class, label }
}

fn report(run: &FeedRun, feed: &str, here: &Local) -> ShownRun {
    let report = RunReport::from_run(run);
    let figures = |all: &[(&str, u64)]| {
        let figure = |(name, number): &(&str, u64)| (thousands(*number), label(name).to_owned());
        all.iter().map(figure).collect::<Vec<_>>()
    };
    let shown = report.skips.len().min(MAX_SKIPS) as u64;
    let more = report.skipped.saturating_sub(shown);
    ShownRun {
        outcome: outcome(run.outcome),
        when: here.when(run.ended_at),
        message: run.message.clone(),
        hint: (run.outcome == FeedOutcome::Held)
            .then(|| format!("tradepost feeds run {feed} --force --max-drop 100")),
        rows: figures(&report.rows),
        changes: figures(&report.changes),
        place: headed(report.place),
        skips: report.skips.into_iter().take(MAX_SKIPS).collect(),
        more_skips: (more > 0).then(|| thousands(more)),
        warnings: report.warnings,
        ignored: (!report.ignored_columns.is_empty()).then(|| report.ignored_columns.join(", ")),
        id: run.run_id.clone(),
    }
}

/// Returns the label of a number in a report.
fn label(name: &str) -> &str {
    match name {
        "accepted" => "on offer",
        "before" => "on offer before",
        other => other,
    }
}
