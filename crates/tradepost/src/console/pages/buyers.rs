//! From whom leads come, and what becomes of them.

use std::collections::BTreeMap;

use askama::Template;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::staff::Stage;
use tradepost_store::staff::Origin;

use super::super::door::Visitor;
use super::super::reply::Reply;
use super::super::request::Asked;
use super::super::{Console, Stop};
use super::chart::{Chart, Counts, DAYS, beginning};
use super::{Frame, When, counted};

#[derive(Debug, Template)]
#[template(path = "console/buyers.html")]
struct Page {
    frame: Frame,
    chart: Chart,
    summary: String,
    buyers: Vec<Buyer>,
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
        let zone = self.zone(visitor);
        // The days of the chart, so that it shows all that is counted.
        let origins = self.store.origins(visitor.dealer_id(), beginning(&zone, now))?;
        let say = |counts: &[u32]| counted(counts.iter().sum::<u32>() as usize, "lead", "leads");
        let chart = Chart::new(&by_day(&origins, &zone), &zone, now, say);
        let page = Page {
            frame: self.frame(asked, visitor, "Buyers")?,
            chart,
            summary: format!(
                "{} in {DAYS} days",
                counted(origins.iter().filter(|it| !it.is_repeated).count(), "lead", "leads")
            ),
            buyers: buyers(&origins, &zone, now),
        };
        Ok(Reply::page(&page))
    }
}

fn by_day(origins: &[Origin], zone: &TimeZone) -> Counts {
    let mut days = Counts::new();
    for origin in origins.iter().filter(|origin| !origin.is_repeated) {
        let day = days.entry(origin.at.to_zoned(zone.clone()).date()).or_insert_with(|| vec![0]);
        day.iter_mut().for_each(|count| *count += 1);
    }
    days
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
