//! From whom leads come, and what becomes of them.

use std::collections::BTreeMap;

use askama::Template;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};
use tradepost_dealer::staff::Stage;
use tradepost_store::staff::Origin;

use super::super::door::Visitor;
use super::super::reply::Reply;
use super::super::request::Asked;
use super::super::{Console, Stop};
use super::{Frame, When, counted, zone};

/// How many days are counted.
const DAYS: i64 = 30;

/// How high the chart is, and how wide a day is in it.
const HEIGHT: u32 = 120;
const DAY: usize = 24;

#[derive(Debug, Template)]
#[template(path = "console/buyers.html")]
struct Page {
    frame: Frame,
    bars: Vec<Bar>,
    width: usize,
    summary: String,
    buyers: Vec<Buyer>,
}

/// A day of the chart.
#[derive(Debug)]
struct Bar {
    x: usize,
    y: u32,
    height: u32,
    label: String,
    tick: Option<String>,
}

#[derive(Debug)]
struct Buyer {
    name: String,
    proof: String,
    is_proven: bool,
    leads: u32,
    repeated: u32,
    held: u32,
    sold: u32,
    last: When,
}

impl Console {
    pub(in crate::console) fn buyers(
        &self,
        asked: &Asked,
        visitor: &Visitor,
    ) -> Result<Reply, Stop> {
        let now = self.clock.now();
        let since = now.saturating_sub(SignedDuration::from_hours(24 * DAYS));
        let since = since.unwrap_or(Timestamp::MIN);
        let origins = self.store.origins(visitor.dealer_id(), since)?;
        let dealers = self.dealers(visitor);
        let zone = dealers.first().map_or(TimeZone::UTC, |it| zone(&it.dealer.terms));
        let bars = bars(&origins, &zone, now);
        let page = Page {
            frame: self.frame(asked, visitor, "Buyers")?,
            width: bars.len() * DAY,
            bars,
            summary: format!(
                "{} in {DAYS} days",
                counted(origins.iter().filter(|it| !it.is_repeated).count(), "lead", "leads")
            ),
            buyers: buyers(&origins, &zone, now),
        };
        Ok(Reply::page(&page))
    }
}

fn bars(origins: &[Origin], zone: &TimeZone, now: Timestamp) -> Vec<Bar> {
    let mut days: BTreeMap<Date, u32> = BTreeMap::new();
    for origin in origins.iter().filter(|origin| !origin.is_repeated) {
        *days.entry(origin.at.to_zoned(zone.clone()).date()).or_default() += 1;
    }
    let today = now.to_zoned(zone.clone()).date();
    let most = days.values().copied().max().unwrap_or(0).max(1);
    let dates = (0..DAYS).rev().filter_map(|ago| today.checked_sub(ago.days()).ok());
    dates
        .enumerate()
        .map(|(place, date)| {
            let count = days.get(&date).copied().unwrap_or(0);
            let height = count * HEIGHT / most;
            let shown = date.strftime("%b %-d").to_string();
            Bar {
                x: place * DAY,
                y: HEIGHT - height,
                height,
                label: format!("{shown}: {}", counted(count as usize, "lead", "leads")),
                tick: (place % 7 == 0).then_some(shown),
            }
        })
        .collect()
}

fn buyers(origins: &[Origin], zone: &TimeZone, now: Timestamp) -> Vec<Buyer> {
    let mut all: BTreeMap<(&str, &str), Buyer> = BTreeMap::new();
    for origin in origins {
        let agent = origin.agent.as_deref().unwrap_or("(no name)");
        let is_proven = origin.principal != "anonymous";
        let buyer = all.entry((agent, &origin.principal)).or_insert_with(|| Buyer {
            name: agent.to_owned(),
            proof: if is_proven { origin.principal.clone() } else { "only claimed".to_owned() },
            is_proven,
            leads: 0,
            repeated: 0,
            held: 0,
            sold: 0,
            last: When::of(origin.at, zone, now),
        });
        // They come in the order of time.
        buyer.last = When::of(origin.at, zone, now);
        if origin.is_repeated {
            buyer.repeated += 1;
            continue;
        }
        buyer.leads += 1;
        buyer.held += u32::from(origin.held_for.is_some());
        buyer.sold += u32::from(origin.stage == Some(Stage::Sold));
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_by_key(|buyer| std::cmp::Reverse(buyer.leads));
    all
}
