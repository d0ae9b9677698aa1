//! Inventories that arrive by themselves: how each feed stands, its runs, and what became of each row.

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_store::{FeedOutcome, FeedRun};

use super::super::door::Visitor;
use super::super::reply::Reply;
use super::super::request::Asked;
use super::super::{Console, PATH, Stop};
use super::{Frame, When, headed, thousands, zone};
use crate::aap::seller::Seller;
use crate::config::feeds::Extent;
use crate::feeds::Standing;
use crate::feeds::report::{Count, RunReport, Skip};

/// How many skipped rows are on a page.
const SKIPS: usize = 200;

/// How many runs are remembered at most; all are listed.
const RUNS: u32 = 50;

#[derive(Debug, Template)]
#[template(path = "console/feeds.html")]
struct Page {
    frame: Frame,
    dealers: Vec<Dealer>,
}

#[derive(Debug)]
struct Dealer {
    name: String,
    feeds: Vec<Row>,
}

/// A feed in the list.
#[derive(Debug)]
struct Row {
    name: String,
    href: String,
    way: &'static str,
    state: Mark,
    taken: Option<When>,
    last: Option<(Mark, When)>,
}

/// A word with a colour.
#[derive(Debug)]
struct Mark {
    class: &'static str,
    label: &'static str,
}

#[derive(Debug, Template)]
#[template(path = "console/feed.html")]
struct FeedPage {
    frame: Frame,
    dealer: String,
    name: String,
    about: String,
    state: Mark,
    runs: Vec<Run>,
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Run {
    href: String,
    source: String,
    outcome: Mark,
    when: When,
    is_here: bool,
}

/// The run whose report is shown.
#[derive(Debug)]
struct Shown {
    outcome: Mark,
    when: When,
    message: Option<String>,
    hint: Option<String>,
    rows: Vec<(String, String)>,
    changes: Vec<(String, String)>,
    place: String,
    skips: Vec<Skip>,
    more_skips: Option<String>,
    warnings: Vec<Count>,
    ignored: Option<String>,
    id: String,
}

impl Console {
    pub(in crate::console) fn feeds(
        &self,
        asked: &Asked,
        visitor: &Visitor,
    ) -> Result<Reply, Stop> {
        let now = self.clock.now();
        let mut dealers = Vec::new();
        for seller in self.dealers(visitor) {
            let zone = zone(&seller.dealer.terms);
            let standings = Standing::of_all(&self.store, &seller.dealer)?;
            let row = |standing: &Standing<'_>| Row {
                name: standing.feed.name.clone(),
                href: address(&seller, &standing.feed.name, None),
                way: standing.feed.from.name(),
                state: state(standing),
                taken: standing.state.taken_at.map(|at| When::of(at, &zone, now)),
                last: standing
                    .last
                    .as_ref()
                    .map(|run| (outcome(run.outcome), When::of(run.ended_at, &zone, now))),
            };
            let feeds = standings.iter().map(row).collect();
            dealers.push(Dealer { name: seller.dealer.terms.name.clone(), feeds });
        }
        Ok(Reply::page(&Page { frame: self.frame(asked, visitor, "Feeds")?, dealers }))
    }

    pub(in crate::console) fn feed(&self, asked: &Asked, visitor: &Visitor) -> Result<Reply, Stop> {
        let dealers = self.dealers(visitor);
        let dealer = asked.asked_for("dealer").ok_or(Stop::NotFound)?;
        let seller = dealers.iter().find(|seller| seller.dealer.terms.id == dealer);
        let seller = seller.ok_or(Stop::NotFound)?;
        let name = asked.asked_for("feed").ok_or(Stop::NotFound)?;
        let standings = Standing::of_all(&self.store, &seller.dealer)?;
        let standing = standings.iter().find(|standing| standing.feed.name == name);
        let standing = standing.ok_or(Stop::NotFound)?;
        let runs = self.store.feed_runs(dealer, name, RUNS)?;
        let shown = match asked.asked_for("run") {
            Some(id) => Some(runs.iter().find(|run| run.run_id == id).ok_or(Stop::NotFound)?),
            None => runs.first(),
        };
        let (now, zone) = (self.clock.now(), zone(&seller.dealer.terms));
        let run = |run: &FeedRun| Run {
            href: address(seller, name, Some(&run.run_id)),
            source: run.source.clone(),
            outcome: outcome(run.outcome),
            when: When::of(run.ended_at, &zone, now),
            is_here: shown.is_some_and(|shown| shown.run_id == run.run_id),
        };
        let extent = match standing.feed.extent {
            Extent::Full => "the whole inventory",
            Extent::Delta => "changes",
        };
        let page = FeedPage {
            frame: self.frame(asked, visitor, "Feeds")?,
            dealer: dealer.to_owned(),
            name: name.to_owned(),
            about: format!(
                "{} of {}, by {}",
                headed(extent),
                seller.dealer.terms.name,
                standing.feed.from.name()
            ),
            state: state(standing),
            runs: runs.iter().map(run).collect(),
            shown: shown.map(|run| report(run, name, &zone, now)),
        };
        Ok(Reply::page(&page))
    }
}

/// The page of a feed, or of one of its runs.
pub(super) fn address(seller: &Seller, feed: &str, run: Option<&str>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("dealer", &seller.dealer.terms.id).append_pair("feed", feed);
    if let Some(run) = run {
        query.append_pair("run", run);
    }
    format!("{PATH}/feeds/runs?{}", query.finish())
}

fn state(standing: &Standing<'_>) -> Mark {
    let (class, label) = match (standing.state.stale_since, standing.feed.stale_after) {
        (Some(_), _) => ("bad", "stale"),
        // Nothing can be fresh or stale that has never been there.
        (None, _) if standing.state.taken_at.is_none() => ("", "never taken"),
        (None, Some(_)) => ("good", "fresh"),
        (None, None) => ("", "of any age"),
    };
    Mark { class, label }
}

pub(super) const fn outcome_label(outcome: FeedOutcome) -> &'static str {
    match outcome {
        FeedOutcome::Taken => "taken",
        FeedOutcome::Held => "held back",
        FeedOutcome::Unreadable => "unreadable",
        FeedOutcome::Failed => "failed",
    }
}

const fn outcome(of: FeedOutcome) -> Mark {
    let class = match of {
        FeedOutcome::Taken => "good",
        FeedOutcome::Held => "warning",
        FeedOutcome::Unreadable | FeedOutcome::Failed => "bad",
    };
    Mark { class, label: outcome_label(of) }
}

fn report(run: &FeedRun, feed: &str, zone: &TimeZone, now: Timestamp) -> Shown {
    let report = RunReport::of(run);
    let figures = |all: &[(&str, u64)]| {
        let figure = |(name, number): &(&str, u64)| (thousands(*number), label(name).to_owned());
        all.iter().map(figure).collect::<Vec<_>>()
    };
    let shown = report.skips.len().min(SKIPS) as u64;
    let more = report.skipped.saturating_sub(shown);
    Shown {
        outcome: outcome(run.outcome),
        when: When::of(run.ended_at, zone, now),
        message: run.message.clone(),
        hint: (run.outcome == FeedOutcome::Held)
            .then(|| format!("tradepost feeds run {feed} --force --max-drop 100")),
        rows: figures(&report.rows),
        changes: figures(&report.changes),
        place: headed(report.place),
        skips: report.skips.into_iter().take(SKIPS).collect(),
        more_skips: (more > 0).then(|| thousands(more)),
        warnings: report.warnings,
        ignored: (!report.ignored_columns.is_empty()).then(|| report.ignored_columns.join(", ")),
        id: run.run_id.clone(),
    }
}

/// What a number of a report counts, in words.
fn label(name: &str) -> &str {
    match name {
        "accepted" => "on offer",
        "before" => "on offer before",
        other => other,
    }
}
