//! Times for people: in the rooftop's zone, with the year when it is not the current one.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats a time: `Friday May 1, 11:00 AM PDT`.
#[must_use]
pub fn spoken(at: Timestamp, zone: &TimeZone, now: Timestamp) -> String {
    shown(at, zone, now, ["%A %B %-d, %-I:%M %p %Z", "%A %B %-d, %Y, %-I:%M %p %Z"])
}

/// Formats a time for tables: `May 1, 11:00 AM PDT`.
#[must_use]
pub fn short(at: Timestamp, zone: &TimeZone, now: Timestamp) -> String {
    shown(at, zone, now, ["%b %-d, %-I:%M %p %Z", "%b %-d, %Y, %-I:%M %p %Z"])
}

fn shown(at: Timestamp, zone: &TimeZone, now: Timestamp, [plain, with_year]: [&str; 2]) -> String {
    let at = at.to_zoned(zone.clone());
    let now = now.to_zoned(zone.clone());
    let form = if at.year() == now.year() { plain } else { with_year };
    at.strftime(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_is_named_unless_current_at_the_rooftop() {
        let zone = TimeZone::get("America/Los_Angeles").unwrap();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let say = |moment: &str, now: &str| spoken(at(moment), &zone, at(now));
        for (moment, now, said) in [
            ("2026-05-01T18:00:00Z", "2026-04-30T12:00:00Z", "Friday May 1, 11:00 AM PDT"),
            (
                "2027-01-02T18:00:00Z",
                "2026-12-30T12:00:00Z",
                "Saturday January 2, 2027, 10:00 AM PST",
            ),
            // In UTC it is already the next year, and in the rooftop's zone it is not.
            ("2027-01-01T04:00:00Z", "2026-12-30T12:00:00Z", "Thursday December 31, 8:00 PM PST"),
            ("2026-12-31T18:00:00Z", "2027-01-01T04:00:00Z", "Thursday December 31, 10:00 AM PST"),
        ] {
            assert_eq!(say(moment, now), said);
        }
        let shown = short(at("2027-01-02T18:00:00Z"), &TimeZone::UTC, at("2026-12-30T12:00:00Z"));
        assert_eq!(shown, "Jan 2, 2027, 6:00 PM UTC");
    }
}
