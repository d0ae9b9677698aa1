//! Page of the prober: the report on a dealer, the progress of a run, and the button that begins one.

use std::sync::Arc;

use askama::Template;
use tradepost_admin::probes::{ProbeRefusal, StartProbe, start_probe};
use tradepost_document::json::{self, Value};
use tradepost_runtime::aap::seller::DealerAgent;
use tradepost_store::ProbeReport;

use super::super::prober::{AtWork, WantedProbe};
use super::{
    Answer, Console, ConsoleReply, PageError, PageFrame, ShownMoment, Visitor, counted, link,
};

#[derive(Debug, Template)]
#[template(path = "probe.html")]
struct ProbePage {
    frame: PageFrame,
    dealers: Vec<(String, String, bool)>,
    dealer_id: String,
    here: String,
    address: String,
    at_work: ProbeWork,
    report: Option<ShownReport>,
}

/// State of the prober.
#[derive(Debug)]
enum ProbeWork {
    None,
    /// A run on this agent, with its progress.
    Here(AtWork),
    /// A run on another agent, which the visitor may not be allowed to see.
    Elsewhere,
}

/// Shown part of a report.
#[derive(Debug)]
struct ShownReport {
    when: ShownMoment,
    by: String,
    grade: Option<String>,
    meaning: String,
    trouble: Option<String>,
    figures: Vec<(String, &'static str)>,
    failed: Vec<FindingView>,
    warned: Vec<FindingView>,
    kept: Vec<FindingView>,
    download: Option<String>,
}

#[derive(Debug)]
struct FindingView {
    title: String,
    level: String,
    class: &'static str,
    detail: String,
    fix: String,
    section: String,
}

impl Console {
    pub(crate) fn probe(&self, visitor: &Visitor<'_>) -> Answer {
        let seller = self.dealer(visitor, visitor.asked.asked_for("dealer"))?;
        let dealer_id = seller.dealer.terms.id.clone();
        let report = self.store.probe_report(&dealer_id)?;
        let at_work = match self.prober.at_work() {
            None => ProbeWork::None,
            Some(at_work) if at_work.dealer_id == dealer_id => ProbeWork::Here(at_work),
            Some(_) => ProbeWork::Elsewhere,
        };
        let choice = |seller: &Arc<DealerAgent>| {
            let terms = &seller.dealer.terms;
            (address(&terms.id), terms.name.clone(), terms.id == dealer_id)
        };
        let page = ProbePage {
            frame: self.frame(visitor, "Prober")?,
            dealers: self.dealers(visitor).iter().map(choice).collect(),
            here: address(&dealer_id),
            address: seller.base_url.clone(),
            at_work,
            report: report.map(|report| self.shown(&report, &seller)),
            dealer_id,
        };
        Ok(ConsoleReply::page(&page))
    }

    /// Begins a run, unless one is in progress.
    pub(crate) fn run_probe(&self, visitor: &Visitor<'_>) -> Answer {
        let id = visitor.asked.filled_in("dealer").ok_or(PageError::NotFound)?;
        let seller = self.dealer(visitor, Some(id))?;
        let busy = "The prober is running. Wait until it is done, then start it again.";
        // The run is reserved first, so that only runs that begin are recorded. If the record fails, the
        // reservation ends.
        let place = self.prober.enter(id).ok_or(PageError::Unusable(busy))?;
        let input = StartProbe { dealer_id: id.to_owned() };
        start_probe(&self.admin(&[]), &visitor.actor(), input).map_err(|error| {
            PageError::from_admin(error, |refusal| match refusal {
                ProbeRefusal::UnknownDealer(_) => PageError::NotFound,
            })
        })?;
        let wanted = WantedProbe {
            dealer_id: id.to_owned(),
            address: seller.base_url.clone(),
            by: visitor.member.name.clone(),
            is_limited: seller.dealer.rate_limit.requests > 0,
        };
        tokio::spawn(place.run(wanted));
        Ok(ConsoleReply::see(link("probe", [("dealer", Some(id)), ("done", Some("probe"))])))
    }

    /// Returns the whole report, with requests and responses, as a download.
    pub(crate) fn probe_report(&self, visitor: &Visitor<'_>) -> Answer {
        let id = visitor.asked.asked_for("dealer").ok_or(PageError::NotFound)?;
        // Checked before the report is read: a report of another dealer is answered as not found.
        self.dealer(visitor, Some(id))?;
        let page = self
            .store
            .probe_report(id)?
            .and_then(|report| report.page)
            .ok_or(PageError::NotFound)?;
        Ok(ConsoleReply::download("probe.html", page))
    }

    fn shown(&self, report: &ProbeReport, seller: &Arc<DealerAgent>) -> ShownReport {
        let here = self.local(std::slice::from_ref(seller));
        let document: Value = json::from_str(&report.document).unwrap_or_default();
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let found = |verdict: &str| findings(&document, verdict);
        let failed = found("fail");
        let warned = found("warn");
        let kept = found("pass");
        let requests = document.get("requests").and_then(Value::as_u64).unwrap_or_default();
        let download = link("probe/report", [("dealer", Some(&report.dealer_id))]);
        ShownReport {
            when: here.when(report.at),
            by: report.by.clone(),
            grade: text("grade"),
            meaning: text("meaning").unwrap_or_default(),
            trouble: text("trouble"),
            figures: vec![
                (kept.len().to_string(), "passed"),
                (failed.len().to_string(), "failed"),
                (warned.len().to_string(), "warnings"),
                (requests.to_string(), "requests sent"),
            ],
            failed,
            warned,
            kept,
            download: report.page.is_some().then_some(download),
        }
    }
}

/// Returns the link to the page for a dealer.
fn address(dealer_id: &str) -> String {
    link("probe", [("dealer", Some(dealer_id))])
}

fn findings(document: &Value, verdict: &str) -> Vec<FindingView> {
    let all = document.get("findings").and_then(Value::as_array).into_iter().flatten();
    let meant = all.filter(|found| found.get("verdict").and_then(Value::as_str) == Some(verdict));
    let mut meant: Vec<_> = meant.map(finding).collect();
    // The order of the levels is not alphabetical.
    meant.sort_by_key(|finding| match finding.level.as_str() {
        "MUST" => 0,
        "SHOULD" => 1,
        _ => 2,
    });
    meant
}

fn finding(found: &Value) -> FindingView {
    let text = |name: &str| found.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let level = text("level");
    FindingView {
        class: if level == "MUST" { "bad" } else { "warning" },
        title: format!("{} ({})", text("title"), text("on")),
        detail: text("detail"),
        fix: text("mend"),
        section: text("section"),
        level,
    }
}

impl AtWork {
    fn progress(&self) -> String {
        let failed = counted(self.failed, "check failed", "checks failed");
        let Self { done, total, requests, .. } = self;
        format!("{done} of {total} checks done, {requests} requests, {failed}")
    }
}
