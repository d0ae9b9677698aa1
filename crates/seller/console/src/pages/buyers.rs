//! Page of the agents that submit leads, and of the results of these leads.

use std::collections::BTreeMap;

use askama::Template;
use tradepost_dealer::staff::StaffStage;
use tradepost_store::staff::SubmissionOrigin;

use super::chart::{Chart, Counts, DAYS, beginning};
use super::{Answer, Console, ConsoleReply, Local, PageFrame, ShownMoment, Visitor, counted};

#[derive(Debug, Template)]
#[template(path = "buyers.html")]
struct BuyersPage {
    frame: PageFrame,
    chart: Chart,
    summary: String,
    buyers: Vec<BuyerRow>,
}

#[derive(Debug)]
struct BuyerRow {
    name: String,
    proof: String,
    is_proven: bool,
    leads: u32,
    repeated: u32,
    held: u32,
    sold: u32,
    last: ShownMoment,
}

impl Console {
    pub(crate) fn buyers(&self, visitor: &Visitor<'_>) -> Answer {
        let here = self.local(&self.dealers(visitor));
        // From the first day of the chart, so that both show the same leads.
        let origins = self.store.origins(visitor.dealer_id(), beginning(&here))?;
        let leads = |count| counted(count, "lead", "leads");
        let say = |counts: &[u32]| leads(counts.iter().sum::<u32>() as usize);
        let all = origins.iter().filter(|origin| !origin.is_repeated).count();
        let page = BuyersPage {
            frame: self.frame(visitor, "Buyers")?,
            chart: Chart::new(&by_day(&origins, &here), &here, say),
            summary: format!("{} in {DAYS} days", leads(all)),
            buyers: buyers(&origins, &here),
        };
        Ok(ConsoleReply::page(&page))
    }
}

fn by_day(origins: &[SubmissionOrigin], here: &Local) -> Counts {
    let mut days = Counts::new();
    for origin in origins.iter().filter(|origin| !origin.is_repeated) {
        let day = days.entry(here.date(origin.at)).or_insert_with(|| vec![0]);
        day.iter_mut().for_each(|count| *count += 1);
    }
    days
}

fn buyers(origins: &[SubmissionOrigin], here: &Local) -> Vec<BuyerRow> {
    let mut all: BTreeMap<(&str, &str), BuyerRow> = BTreeMap::new();
    for origin in origins {
        let agent = origin.agent.as_deref().unwrap_or("(no name)");
        let is_proven = origin.principal != "anonymous";
        let buyer = all.entry((agent, &origin.principal)).or_insert_with(|| BuyerRow {
            name: agent.to_owned(),
            proof: if is_proven { origin.principal.clone() } else { "not verified".to_owned() },
            is_proven,
            leads: 0,
            repeated: 0,
            held: 0,
            sold: 0,
            last: here.when(origin.at),
        });
        // The origins are ordered by time.
        buyer.last = here.when(origin.at);
        if origin.is_repeated {
            buyer.repeated += 1;
            continue;
        }
        buyer.leads += 1;
        buyer.held += u32::from(origin.held_for.is_some());
        buyer.sold += u32::from(origin.stage == StaffStage::Sold);
    }
    let mut all: Vec<_> = all.into_values().collect();
    all.sort_by_key(|buyer| std::cmp::Reverse(buyer.leads));
    all
}
