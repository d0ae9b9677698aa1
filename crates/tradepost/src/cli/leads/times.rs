//! `tradepost leads times`: time from the arrival of leads until they were delivered, seen and
//! answered.

use jiff::{SignedDuration, Timestamp};
use tradepost_dealer::record::{LeadRecord, LeadState};
use tradepost_dealer::staff::StaffProgress;
use tradepost_document::json::{Value, json};
use tradepost_store::staff::LeadFilter;

use super::{StoreOptions, since};
use crate::cli::output::table::Cells;
use crate::cli::output::table::TableColumn::{Number, Text};
use crate::cli::{Context, Outcome, dealers};

/// Arguments of `tradepost leads times`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// Only leads of this dealer.
    #[arg(long, value_name = "ID")]
    dealer: Option<String>,
    /// Only leads that were received since this date (UTC) or time.
    #[arg(long, value_name = "DATE", value_parser = since)]
    since: Option<Timestamp>,
    #[command(flatten)]
    place: StoreOptions,
}

/// Step that every lead should reach.
struct TimedStep {
    name: &'static str,
    /// Times of the leads that reached it, the shortest first.
    took: Vec<SignedDuration>,
    waiting: usize,
}

impl TimedStep {
    fn new(name: &'static str, took: impl Iterator<Item = Option<SignedDuration>>) -> Self {
        let (done, waiting): (Vec<_>, Vec<_>) = took.partition(Option::is_some);
        let mut took: Vec<_> = done.into_iter().flatten().collect();
        took.sort_unstable();
        Self { name, took, waiting: waiting.len() }
    }

    /// Returns the percentile of the times, by the nearest rank.
    fn within(&self, percent: usize) -> Option<SignedDuration> {
        let rank = (self.took.len() * percent).div_ceil(100);
        self.took.get(rank.checked_sub(1)?).copied()
    }

    fn document(&self) -> Value {
        let seconds = |percent| self.within(percent).map(|took| took.as_secs());
        json!({
            "step": self.name, "leads": self.took.len(), "waiting": self.waiting,
            "median_seconds": seconds(50), "of_90_percent_seconds": seconds(90),
            "longest_seconds": seconds(100),
        })
    }

    /// Returns the percentile as text for people.
    fn shown(&self, percent: usize) -> String {
        match self.within(percent) {
            Some(took) => format!("{:#}", SignedDuration::from_secs(took.as_secs())),
            None => "-".to_owned(),
        }
    }
}

/// Computes and prints the times. Held leads wait only for the dealer, and are left out; so are leads that were erased
/// before anybody saw them, such as tests.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let store = arguments.place.open(None, context)?;
    let dealer_id = arguments.dealer.as_deref();
    dealers::check_known(dealer_id, &store, &arguments.place, context)?;
    let filter = LeadFilter {
        dealer_id,
        received_since: arguments.since,
        limit: u32::MAX,
        ..LeadFilter::default()
    };
    let mut leads = store.lead_list(&filter)?;
    leads.retain(|one| {
        let is_unseen = one.progress.seen_at.is_none();
        one.lead.state != LeadState::Held && !(one.lead.state == LeadState::Erased && is_unseen)
    });
    let delivered = store.first_deliveries(dealer_id)?;
    let step = |name, at: &dyn Fn(&LeadRecord, &StaffProgress) -> Option<Timestamp>| {
        let took = leads
            .iter()
            .map(|one| Some(at(&one.lead, &one.progress)?.duration_since(one.lead.received_at)));
        TimedStep::new(name, took)
    };
    let steps = [
        step("delivered", &|lead, _| delivered.get(&lead.lead_id).copied()),
        step("seen", &|_, progress| progress.seen_at),
        step("answered", &|_, progress| progress.answered_at),
    ];
    let columns: [Cells<'_, TimedStep>; 6] = [
        (Text("STEP"), &|step| step.name.to_owned()),
        (Number("LEADS"), &|step| step.took.len().to_string()),
        (Number("NOT YET"), &|step| step.waiting.to_string()),
        (Number("MEDIAN"), &|step| step.shown(50)),
        (Number("90 OF 100"), &|step| step.shown(90)),
        (Number("LONGEST"), &|step| step.shown(100)),
    ];
    context.output.list(&steps, TimedStep::document, "", &columns);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_those_of_leads_that_were() {
        let of = |minutes: &[i64]| {
            let took = minutes.iter().map(|time| Some(SignedDuration::from_mins(*time)));
            TimedStep::new("seen", took.chain([None]))
        };
        let minutes = |step: &TimedStep| {
            [50, 90, 100].map(|percent| step.within(percent).map(|took| took.as_mins()))
        };
        assert_eq!(minutes(&of(&[])), [None; 3]);
        assert_eq!(minutes(&of(&[7])), [Some(7); 3]);
        assert_eq!(minutes(&of(&[9, 1, 3])), [Some(3), Some(9), Some(9)]);
        let ten: Vec<i64> = (1..=10).rev().collect();
        assert_eq!(minutes(&of(&ten)), [Some(5), Some(9), Some(10)]);
        assert_eq!(of(&ten).waiting, 1);
    }
}
