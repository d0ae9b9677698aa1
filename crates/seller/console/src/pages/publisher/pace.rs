//! Delivery of a media buy against its pace, as a chart in inline SVG: the sum of what was spent until each day, and
//! the line on which an even delivery would be.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::{Fields, amount};

/// Width and height of the chart.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 120.0;

/// A chart of the spend of a flight.
#[derive(Debug)]
pub(super) struct PaceChart {
    /// Corners of the line of what was spent.
    pub(super) spent: String,
    /// Where the line of an even delivery ends, at the top.
    pub(super) even_top: String,
    /// Present day, as far as it is in the flight.
    pub(super) now: Option<String>,
    /// First and last day.
    pub(super) start: String,
    pub(super) end: String,
    /// Description for those who do not see it.
    pub(super) words: String,
    /// Spend as a part of what an even delivery would have spent by now, in percent.
    pub(super) pace: Option<String>,
    /// Days on which something was spent.
    pub(super) days: Vec<PaceDay>,
}

/// A day on which something was delivered.
#[derive(Debug)]
pub(super) struct PaceDay {
    pub(super) date: String,
    pub(super) impressions: String,
    pub(super) spend: String,
}

fn day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// Returns a part of a whole, from 0 to 1.
fn part(of: f64, whole: f64) -> f64 {
    if whole > 0.0 { (of / whole).clamp(0.0, 1.0) } else { 0.0 }
}

impl PaceChart {
    /// Creates the chart of a media buy. `None` when it has no flight or no budget.
    pub(super) fn new(fields: Fields<'_>, now: Timestamp) -> Option<Self> {
        let start = fields.at("start_time")?;
        let end = fields.at("end_time")?;
        let budget: f64 = fields.text("budget")?.parse().ok()?;
        let length = end.duration_since(start).as_secs_f64();
        if length <= 0.0 || budget <= 0.0 {
            return None;
        }
        let elapsed = part(now.duration_since(start).as_secs_f64(), length);
        let mut sum = 0.0;
        let mut days = Vec::new();
        let mut points = Vec::new();
        for row in fields.items("days") {
            let row = Fields::new(row);
            let spend: f64 = row.text("spend").and_then(|text| text.parse().ok()).unwrap_or(0.0);
            let Some(date) = row.text("date").and_then(|text| text.parse::<Date>().ok()) else {
                continue;
            };
            sum += spend;
            points.push((date, sum));
            days.push(PaceDay {
                date: date.strftime("%b %-d, %Y").to_string(),
                impressions: amount(&row.or_empty("impressions")),
                spend: amount(&row.or_empty("spend")),
            });
        }
        // What was spent beyond the budget stays visible.
        let most = budget.max(sum);
        let x = |at: Timestamp| part(at.duration_since(start).as_secs_f64(), length) * WIDTH;
        let y = |spent: f64| HEIGHT - part(spent, most) * HEIGHT;
        let mut corners = vec![format!("0,{HEIGHT:.1}")];
        for (date, spent) in &points {
            // A day's spend is complete at its end.
            let next = date.saturating_add(1.day()).to_zoned(TimeZone::UTC).ok()?.timestamp();
            corners.push(format!("{:.1},{:.1}", x(next.min(now)), y(*spent)));
        }
        let expected = budget * elapsed;
        let pace = (expected > 0.0).then(|| format!("{:.0}%", sum / expected * 100.0));
        let words = format!(
            "{} of {} spent, {:.0}% of the flight over; an even delivery would have spent {}.",
            amount(&format!("{sum:.0}")),
            amount(&format!("{budget:.0}")),
            elapsed * 100.0,
            amount(&format!("{expected:.0}")),
        );
        Some(Self {
            spent: corners.join(" "),
            even_top: format!("{:.1}", y(budget)),
            now: (elapsed > 0.0 && elapsed < 1.0).then(|| format!("{:.1}", elapsed * WIDTH)),
            start: day(start).strftime("%b %-d").to_string(),
            end: day(end).strftime("%b %-d").to_string(),
            words,
            pace,
            days,
        })
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::{Value, json};

    use super::*;

    fn chart(buy: &Value, now: &str) -> Option<PaceChart> {
        PaceChart::new(Fields::new(buy), now.parse().unwrap())
    }

    #[test]
    fn a_quarter_spent_by_half_time_is_half_the_pace() {
        let buy = json!({
            "start_time": "2026-06-01T00:00:00Z", "end_time": "2026-06-11T00:00:00Z",
            "budget": 1000, "days": [
                {"date": "2026-06-01", "impressions": 12000, "spend": 100},
                {"date": "2026-06-02", "impressions": 18000, "spend": 150.5},
            ],
        });
        let chart = chart(&buy, "2026-06-06T00:00:00Z").unwrap();
        assert_eq!(chart.spent, "0,120.0 72.0,108.0 144.0,89.9");
        assert_eq!((chart.even_top.as_str(), chart.now.as_deref()), ("0.0", Some("360.0")));
        assert_eq!(chart.pace.as_deref(), Some("50%"));
        assert_eq!(chart.days[0].impressions, "12,000");
        assert!(
            chart.words.starts_with("250 of 1,000 spent, 50% of the flight over"),
            "{}",
            chart.words
        );
    }

    #[test]
    fn a_flight_without_length_or_budget_has_no_chart() {
        let flight = |end: &str, budget: u32| json!({"start_time": "2026-06-01T00:00:00Z", "end_time": end, "budget": budget});
        assert!(chart(&flight("2026-06-01T00:00:00Z", 10), "2026-06-06T00:00:00Z").is_none());
        assert!(chart(&flight("2026-06-02T00:00:00Z", 0), "2026-06-06T00:00:00Z").is_none());
        let early = chart(&flight("2026-06-02T00:00:00Z", 10), "2026-05-06T00:00:00Z").unwrap();
        assert_eq!((early.pace, early.now), (None, None));
    }
}
