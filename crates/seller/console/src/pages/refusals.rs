//! Page of refused requests: by code and day, and by the error id that a buyer was given.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use askama::Template;
use tradepost_a2a as a2a;
use tradepost_aap as aap;
use tradepost_adcp as adcp;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_store::refusals::{RefusalCount, RefusalRecord};

use super::chart::{Chart, Counts, DAYS, beginning};
use super::{
    Answer, Console, ConsoleReply, Local, PATH, PageError, PageFrame, ShownMoment, Visitor,
    counted, link, thousands,
};

/// Number of refusals in the list.
const MAX_LISTED: u32 = 20;

/// Number of codes with a colour of their own in the chart.
const COLOURS: usize = 4;

#[derive(Debug, Template)]
#[template(path = "refusals.html")]
struct RefusalsPage {
    frame: PageFrame,
    wanted: String,
    /// Refusal with the requested error id.
    found: Option<RefusalsView>,
    summary: String,
    chart: Chart,
    codes: Vec<CodeCount>,
    only: Option<String>,
    latest: Vec<RefusalRow>,
}

#[derive(Debug)]
struct RefusalsView {
    /// Id of the agent that refused.
    agent: String,
    code: String,
    meaning: String,
    error_id: String,
    when: ShownMoment,
    operation: String,
    caller: &'static str,
    misfits: Vec<(String, String)>,
}

/// Number of refusals with a code.
#[derive(Debug)]
struct CodeCount {
    name: String,
    href: String,
    meaning: String,
    count: String,
    colour: usize,
}

#[derive(Debug)]
struct RefusalRow {
    when: ShownMoment,
    code: String,
    operation: String,
    caller: &'static str,
    error_id: String,
    href: String,
}

impl Console {
    pub(crate) fn refusals(&self, visitor: &Visitor<'_>) -> Answer {
        let here = self.local(&self.dealers(visitor));
        // From the first day of the chart, so that both show the same refusals.
        let dealer = visitor.dealer_id();
        let counts = self.store.refusal_counts(dealer, beginning(&here))?;
        let codes = most_frequent(&counts);
        // Only a counted code is accepted: other text from the URL is not shown as a code.
        let only = visitor.asked.asked_for("code");
        let only = only.filter(|only| codes.iter().any(|(code, _)| code == only));
        let wanted = visitor.asked.asked_for("error_id").unwrap_or_default().to_owned();
        let found = self.refused(visitor, &wanted)?.map(|refusal| shown(refusal, &here));
        let total: u64 = codes.iter().map(|(_, count)| count).sum();
        let latest = self.store.refusals(dealer, only, MAX_LISTED)?;
        let page = RefusalsPage {
            frame: self.frame(visitor, "Refusals")?,
            wanted,
            found,
            summary: format!("{} in {DAYS} days", counted_u64(total)),
            chart: chart(&counts, &codes, &here),
            only: only.map(str::to_owned),
            codes: codes
                .into_iter()
                .enumerate()
                .map(|(place, (name, count))| code(place, name, count))
                .collect(),
            latest: latest.into_iter().map(|refusal| row(refusal, &here)).collect(),
        };
        Ok(ConsoleReply::page(&page))
    }

    /// Returns a refusal that the visitor may see. One of another dealer is answered as not found.
    fn refused(&self, visitor: &Visitor<'_>, id: &str) -> Result<Option<RefusalRecord>, PageError> {
        let found = self.store.refusal(id)?;
        let is_own =
            |refusal: &RefusalRecord| visitor.dealer_id().is_none_or(|own| own == refusal.agent_id);
        Ok(found.filter(is_own))
    }
}

fn counted_u64(total: u64) -> String {
    counted(usize::try_from(total).unwrap_or(usize::MAX), "refusal", "refusals")
}

/// Sums the refusals by code, the most frequent first.
fn most_frequent(counts: &[RefusalCount]) -> Vec<(String, u64)> {
    let mut codes: BTreeMap<&str, u64> = BTreeMap::new();
    for count in counts {
        *codes.entry(&count.code).or_default() += count.refused.unsigned_abs();
    }
    let mut codes: Vec<_> = codes.into_iter().map(|(code, sum)| (code.to_owned(), sum)).collect();
    // Stable: of two codes with the same number the first in the alphabet stays first, and keeps its
    // colour.
    codes.sort_by_key(|(_, sum)| Reverse(*sum));
    codes
}

fn chart(counts: &[RefusalCount], codes: &[(String, u64)], here: &Local) -> Chart {
    let colours = codes.len().min(COLOURS + 1);
    let mut days = Counts::new();
    for count in counts {
        let place = codes.iter().position(|(code, _)| *code == count.code);
        let colour = colour(place.unwrap_or(COLOURS));
        let day = days.entry(here.date(count.hour));
        let day = day.or_insert_with(|| vec![0; colours]);
        if let Some(sum) = day.get_mut(colour) {
            *sum = sum.saturating_add(u32::try_from(count.refused).unwrap_or(u32::MAX));
        }
    }
    Chart::new(&days, here, |counts| {
        let total = counts.iter().map(|count| u64::from(*count)).sum();
        let each = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let each = each.map(|(colour, count)| {
            let name = codes.get(colour).filter(|_| colour < COLOURS);
            format!("{count} {}", name.map_or("others", |(code, _)| code))
        });
        let each = each.collect::<Vec<_>>().join(", ");
        if each.is_empty() { "none".to_owned() } else { format!("{} ({each})", counted_u64(total)) }
    })
}

/// Returns the colour of the code at an index; those after the first ones share one.
fn colour(place: usize) -> usize {
    place.min(COLOURS)
}

fn code(place: usize, name: String, count: u64) -> CodeCount {
    CodeCount {
        href: link("refusals", [("code", Some(&name))]),
        meaning: meaning(&name),
        count: thousands(count),
        colour: colour(place),
        name,
    }
}

fn row(refusal: RefusalRecord, here: &Local) -> RefusalRow {
    RefusalRow {
        when: here.when(refusal.at),
        code: refusal.code,
        operation: refusal.operation.unwrap_or_default(),
        caller: who(&refusal.caller),
        href: format!("{PATH}/refusals?error_id={}", refusal.error_id),
        error_id: refusal.error_id,
    }
}

fn shown(refusal: RefusalRecord, here: &Local) -> RefusalsView {
    let place = |pointer: String| {
        if pointer.is_empty() { "the whole request".to_owned() } else { pointer }
    };
    RefusalsView {
        meaning: meaning(&refusal.code),
        agent: refusal.agent_id,
        code: refusal.code,
        when: here.when(refusal.at),
        operation: refusal.operation.unwrap_or_else(|| "unknown".to_owned()),
        caller: who(&refusal.caller),
        misfits: refusal.misfits.into_iter().map(|(at, keyword)| (place(at), keyword)).collect(),
        error_id: refusal.error_id,
    }
}

/// Returns the meaning of a code from its catalog.
fn meaning(code: &str) -> String {
    let dealers = aap::AapCode::from_name(code).map(aap::AapCode::docs);
    let docs =
        dealers.or_else(|| a2a::error::A2aCode::from_name(code).map(a2a::error::A2aCode::docs));
    let docs =
        docs.or_else(|| adcp::error::AdcpCode::from_name(code).map(adcp::error::AdcpCode::docs));
    docs.unwrap_or_default().replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Describes the caller that was refused.
fn who(caller: &str) -> &'static str {
    match caller {
        "key" => "with a credential",
        "anonymous" => "without a credential",
        _ => "not authenticated",
    }
}
