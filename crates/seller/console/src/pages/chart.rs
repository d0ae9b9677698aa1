//! Bar charts of the last days and of a week as inline SVG, each bar stacked by kind.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::ToSpan as _;
use jiff::civil::Date;
use tradepost_dealer::week::DAYS as DAYS_OF_WEEK;

use super::Local;

/// Number of days.
pub(super) const DAYS: i64 = 30;

/// Height of the chart, and width of a day in it.
const HEIGHT: u32 = 120;
/// Minimum height of a part, so that it is visible.
const MIN_PART_HEIGHT: u32 = 2;
const DAY: usize = 24;
/// Width of a day in the chart of a week.
const WEEK_DAY_WIDTH: usize = 100;

/// Counts by day, one for each kind.
pub(super) type Counts = BTreeMap<Date, Vec<u32>>;

/// A chart of the last days.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) width: usize,
    pub(super) days: Vec<ChartDay>,
}

#[derive(Debug)]
pub(super) struct ChartDay {
    pub(super) x: usize,
    pub(super) label: String,
    pub(super) tick: Option<String>,
    pub(super) parts: Vec<ChartPart>,
}

/// Part of a bar: one kind on one day.
#[derive(Debug)]
pub(super) struct ChartPart {
    pub(super) kind: usize,
    pub(super) y: u32,
    pub(super) height: u32,
}

/// Returns the beginning of the first day of a chart that ends today.
pub(super) fn beginning(here: &Local) -> Timestamp {
    let first = here.date(here.now).saturating_sub((DAYS - 1).days());
    first.to_zoned(here.zone.clone()).map_or(here.now, |day| day.timestamp())
}

impl Chart {
    /// Creates a chart that ends today. `say` describes the counts of a day.
    pub(super) fn new(counts: &Counts, here: &Local, say: impl Fn(&[u32]) -> String) -> Self {
        let today = here.date(here.now);
        let most = counts.values().map(|of| of.iter().sum()).max().unwrap_or(0).max(1);
        let dates = (0..DAYS).rev().filter_map(|ago| today.checked_sub(ago.days()).ok());
        let days = dates.enumerate().map(|(place, date)| {
            let counts = counts.get(&date).map(Vec::as_slice).unwrap_or_default();
            let shown = date.strftime("%b %-d").to_string();
            ChartDay {
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

/// Counts of a day of a week, one for each kind.
#[derive(Debug)]
pub(super) struct WeekDay {
    pub(super) date: Date,
    pub(super) counts: Vec<u32>,
}

/// Chart of a week.
#[derive(Debug)]
pub(super) struct WeekChart {
    /// Prefix of the ids of its title and description.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// What it shows, for those who do not see it.
    pub(super) description: String,
    pub(super) width: usize,
    pub(super) days: Vec<ChartDay>,
}

impl WeekChart {
    /// Creates the chart of a week, with the counts of each kind for each day. `say` describes the counts
    /// of a day.
    pub(super) fn new(
        id: &'static str,
        title: &'static str,
        days: &[WeekDay; DAYS_OF_WEEK],
        say: impl Fn(&[u32]) -> String,
    ) -> Self {
        let most = days.iter().map(|day| day.counts.iter().sum()).max().unwrap_or(0).max(1);
        let days = days.iter().enumerate().map(|(place, WeekDay { date, counts })| ChartDay {
            x: place * WEEK_DAY_WIDTH,
            label: format!("{}: {}", date.strftime("%a %b %-d"), say(counts)),
            tick: Some(date.strftime("%a %-d").to_string()),
            parts: parts(counts, most),
        });
        let days: Vec<_> = days.collect();
        let labels: Vec<_> = days.iter().map(|day| day.label.as_str()).collect();
        let description = format!("{}.", labels.join("; "));
        Self { id, title, description, width: days.len() * WEEK_DAY_WIDTH, days }
    }

    /// Returns true when something is drawn.
    pub(super) fn has_bars(&self) -> bool {
        self.days.iter().any(|day| !day.parts.is_empty())
    }
}

/// Stacks the parts of a bar. Each count above zero is visible; the highest part gives up the height for
/// it.
fn parts(counts: &[u32], most: u32) -> Vec<ChartPart> {
    let scaled = |count: u32| {
        let scaled = u64::from(count) * u64::from(HEIGHT) / u64::from(most);
        u32::try_from(scaled).unwrap_or(HEIGHT).clamp(MIN_PART_HEIGHT, HEIGHT)
    };
    let there = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let mut parts: Vec<_> =
        there.map(|(kind, count)| ChartPart { kind, y: 0, height: scaled(*count) }).collect();
    let all = |parts: &[ChartPart]| parts.iter().map(|part| part.height).sum::<u32>();
    while all(&parts) > HEIGHT {
        let over = all(&parts) - HEIGHT;
        let Some(highest) = parts.iter_mut().max_by_key(|part| part.height) else { break };
        // With more kinds than fit, the bar is cut at its full height.
        if highest.height <= MIN_PART_HEIGHT {
            break;
        }
        highest.height -= over.min(highest.height - MIN_PART_HEIGHT);
    }
    let mut below = 0_u32;
    for part in &mut parts {
        below = (below + part.height).min(HEIGHT);
        part.y = HEIGHT - below;
    }
    parts
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    #[test]
    fn days_are_bars_and_the_largest_fills_the_chart() {
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let day = |text: &str| text.parse::<Date>().unwrap();
        let counts = Counts::from([
            (day("2026-04-30"), vec![30, 10]),
            (day("2026-04-29"), vec![0, 1]),
            (day("2026-03-01"), vec![500, 0]),
        ]);
        let chart = Chart::new(&counts, &Local { zone: TimeZone::UTC, now }, |counts| {
            format!("{counts:?}")
        });
        let seen = |day: &ChartDay| {
            let parts = day.parts.iter().map(|part| (part.kind, part.y, part.height));
            (day.label.clone(), parts.collect::<Vec<_>>())
        };
        let [.., before, last] = chart.days.as_slice() else { unreachable!("there are 30") };
        // The day that is not shown affects the scale all the same.
        assert_eq!(seen(last), ("Apr 30: [30, 10]".into(), vec![(0, 113, 7), (1, 111, 2)]));
        assert_eq!(seen(before), ("Apr 29: [0, 1]".into(), vec![(1, 118, 2)]));
        assert_eq!((chart.days.len(), chart.days[0].label.as_str()), (30, "Apr 1: []"));
    }

    #[test]
    fn a_week_has_seven_bars_and_says_them_in_words() {
        let monday: Date = "2026-04-27".parse().unwrap();
        let mut date = monday;
        let days = [3, 0, 1, 0, 0, 0, 0].map(|count| {
            let day = date;
            date = date.tomorrow().unwrap();
            WeekDay { date: day, counts: vec![count] }
        });
        let chart = WeekChart::new("leads", "Leads", &days, |counts| format!("{}", counts[0]));
        let seen: Vec<_> = chart.days.iter().map(|day| (day.x, day.parts.len())).collect();
        assert_eq!(seen, [(0, 1), (100, 0), (200, 1), (300, 0), (400, 0), (500, 0), (600, 0)]);
        assert_eq!(chart.days[0].tick.as_deref(), Some("Mon 27"));
        assert!(chart.description.starts_with("Mon Apr 27: 3; Tue Apr 28: 0; Wed Apr 29: 1; "));
    }

    #[test]
    fn bars_stay_within_the_chart_and_parts_do_not_overlap() {
        for (counts, expected) in [
            (vec![1_000, 1, 1], vec![(4, 116), (2, 2), (0, 2)]),
            (vec![1, 1_000, 1_000], vec![(118, 2), (59, 59), (0, 59)]),
            (vec![7], vec![(0, 120)]),
        ] {
            let parts = parts(&counts, counts.iter().sum());
            let seen: Vec<_> = parts.iter().map(|part| (part.y, part.height)).collect();
            assert_eq!(seen, expected, "{counts:?}");
            assert!(seen.iter().map(|(_, height)| height).sum::<u32>() <= HEIGHT);
        }
    }

    #[test]
    fn counts_begin_with_the_first_day_that_is_shown() {
        let zone = TimeZone::get("America/Los_Angeles").unwrap();
        let now: Timestamp = "2026-04-30T12:00:00Z".parse().unwrap();
        let first: Timestamp = "2026-04-01T07:00:00Z".parse().unwrap();
        let here = Local { zone, now };
        assert_eq!(beginning(&here), first);
        let chart = Chart::new(&Counts::new(), &here, |_| String::new());
        assert_eq!(chart.days[0].label, "Apr 1: ");
    }
}
