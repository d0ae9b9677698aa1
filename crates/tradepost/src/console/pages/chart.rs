//! Days side by side, each a bar of its parts, as inline SVG.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// How many days there are.
pub(super) const DAYS: i64 = 30;

/// How high the chart is, and how wide a day is in it.
const HEIGHT: u32 = 120;
const DAY: usize = 24;

/// How many of each kind there were, by day.
pub(super) type Counts = BTreeMap<Date, Vec<u32>>;

/// A chart of the last days.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) width: usize,
    pub(super) days: Vec<Day>,
}

#[derive(Debug)]
pub(super) struct Day {
    pub(super) x: usize,
    pub(super) label: String,
    pub(super) tick: Option<String>,
    pub(super) parts: Vec<Part>,
}

/// What there was of a kind on a day.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: usize,
    pub(super) y: u32,
    pub(super) height: u32,
}

impl Chart {
    /// A chart that ends with today. `say` puts the counts of a day into words.
    pub(super) fn new(
        counts: &Counts,
        zone: &TimeZone,
        now: Timestamp,
        say: impl Fn(&[u32]) -> String,
    ) -> Self {
        let today = now.to_zoned(zone.clone()).date();
        let most = counts.values().map(|of| of.iter().sum()).max().unwrap_or(0).max(1);
        let dates = (0..DAYS).rev().filter_map(|ago| today.checked_sub(ago.days()).ok());
        let days = dates.enumerate().map(|(place, date)| {
            let counts = counts.get(&date).map(Vec::as_slice).unwrap_or_default();
            let shown = date.strftime("%b %-d").to_string();
            Day {
                x: place * DAY,
                label: format!("{shown}: {}", say(counts)),
                tick: (place % 7 == 0).then_some(shown),
                parts: parts(counts, most),
            }
        });
        let days: Vec<_> = days.collect();
        Self { width: days.len() * DAY, days }
    }
}

/// One above the other. What there is at all is seen.
fn parts(counts: &[u32], most: u32) -> Vec<Part> {
    let mut below = 0_u32;
    let mut parts = Vec::new();
    for (kind, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let scaled = u64::from(*count) * u64::from(HEIGHT) / u64::from(most);
        let height = u32::try_from(scaled).unwrap_or(HEIGHT).max(2);
        below = (below + height).min(HEIGHT);
        parts.push(Part { kind, y: HEIGHT - below, height });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_a_bar_of_its_parts_and_the_largest_is_as_high_as_the_chart() {
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let day = |text: &str| text.parse::<Date>().unwrap();
        let counts = Counts::from([
            (day("2026-04-30"), vec![30, 10]),
            (day("2026-04-29"), vec![0, 1]),
            (day("2026-03-01"), vec![500, 0]),
        ]);
        let chart = Chart::new(&counts, &TimeZone::UTC, now, |counts| format!("{counts:?}"));
        let seen = |day: &Day| {
            let parts = day.parts.iter().map(|part| (part.kind, part.y, part.height));
            (day.label.clone(), parts.collect::<Vec<_>>())
        };
        let [.., before, last] = chart.days.as_slice() else { unreachable!("there are 30") };
        // The day that is not shown counts for the scale all the same.
        assert_eq!(seen(last), ("Apr 30: [30, 10]".into(), vec![(0, 113, 7), (1, 111, 2)]));
        assert_eq!(seen(before), ("Apr 29: [0, 1]".into(), vec![(1, 118, 2)]));
        assert_eq!((chart.days.len(), chart.days[0].label.as_str()), (30, "Apr 1: []"));
    }
}
