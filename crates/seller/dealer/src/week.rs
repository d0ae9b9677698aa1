//! Weeks of the calendar (ISO 8601): Monday to Sunday, in the time zone of a rooftop.

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// Number of days of a week.
pub const DAYS: usize = 7;

/// Years of the weeks that can be named.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=9000;

/// A week of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CalendarWeek {
    monday: Date,
}

/// A text that names no week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a week is named like 2026-W48, and its year has it")]
pub struct WeekError;

impl CalendarWeek {
    /// Creates the week of a day.
    #[must_use]
    pub fn from_date(date: Date) -> Self {
        let after_monday = i64::from(date.weekday().to_monday_zero_offset());
        Self { monday: date.saturating_sub(after_monday.days()) }
    }

    /// Returns the week before.
    #[must_use]
    pub fn previous(self) -> Self {
        Self { monday: self.monday.saturating_sub(1.week()) }
    }

    /// Returns the week after.
    #[must_use]
    pub fn next(self) -> Self {
        Self { monday: self.monday.saturating_add(1.week()) }
    }

    /// Returns its days, Monday first.
    #[must_use]
    pub fn days(self) -> [Date; DAYS] {
        let mut next = self.monday;
        [(); DAYS].map(|()| {
            let day = next;
            next = next.saturating_add(1.day());
            day
        })
    }

    /// Returns the moments at which its days and the next Monday begin in a time zone. A day has 23
    /// or 25 hours when the clocks are changed.
    #[must_use]
    pub fn moments(self, zone: &TimeZone) -> [Timestamp; DAYS + 1] {
        let mut next = self.monday;
        [(); DAYS + 1].map(|()| {
            let day = next;
            next = next.saturating_add(1.day());
            beginning(day, zone)
        })
    }
}

/// Returns the moment at which a day begins in a time zone.
#[must_use]
pub fn beginning(day: Date, zone: &TimeZone) -> Timestamp {
    day.to_zoned(zone.clone()).map_or(Timestamp::MAX, |day| day.timestamp())
}

impl fmt::Display for CalendarWeek {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let week = self.monday.iso_week_date();
        write!(f, "{:04}-W{:02}", week.year(), week.week())
    }
}

impl FromStr for CalendarWeek {
    type Err = WeekError;

    fn from_str(text: &str) -> Result<Self, WeekError> {
        let digits = |text: &str, count| {
            let is_whole = text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
            text.parse::<i16>().ok().filter(|_| is_whole)
        };
        let Some((year, week)) = text.split_once("-W") else { return Err(WeekError) };
        let year = digits(year, 4).filter(|year| YEARS.contains(year)).ok_or(WeekError)?;
        let week = digits(week, 2).and_then(|week| i8::try_from(week).ok()).ok_or(WeekError)?;
        let monday = ISOWeekDate::new(year, week, Weekday::Monday).map_err(|_| WeekError)?;
        Ok(Self { monday: monday.date() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn week(text: &str) -> CalendarWeek {
        text.parse().unwrap()
    }

    #[test]
    fn weeks_have_the_names_of_the_standard() {
        for (date, name) in [
            ("2026-11-26", "2026-W48"),
            ("2026-12-31", "2026-W53"),
            ("2027-01-03", "2026-W53"),
            ("2027-01-04", "2027-W01"),
            ("2024-12-30", "2025-W01"),
        ] {
            let of_date = CalendarWeek::from_date(date.parse().unwrap());
            assert_eq!((of_date.to_string().as_str(), of_date), (name, week(name)), "{date}");
        }
        assert_eq!(week("2026-W53").next(), week("2027-W01"));
        assert_eq!(week("2027-W01").previous(), week("2026-W53"));
    }

    #[test]
    fn other_texts_name_no_week() {
        for text in [
            "",
            "2026",
            "2026-W",
            "2026-W00",
            "2026-W54",
            "2025-W53",
            "2026-W5",
            "2026-w05",
            "26-W05",
            "+026-W05",
            "2026-W+5",
            "9999-W52",
            "2026-W05 ",
            "20260-W5",
        ] {
            assert_eq!(text.parse::<CalendarWeek>(), Err(WeekError), "{text}");
        }
    }

    #[test]
    fn days_begin_at_midnight_of_the_rooftop_in_every_season() {
        let zone = TimeZone::get("America/Los_Angeles").unwrap();
        let hours = |name: &str| {
            let moments = week(name).moments(&zone);
            let days = moments.windows(2);
            days.map(|pair| pair[1].duration_since(pair[0]).as_hours()).collect::<Vec<_>>()
        };
        assert_eq!(hours("2026-W18"), [24; 7]);
        // Clocks change on Sunday, March 8 and November 1, 2026.
        assert_eq!(hours("2026-W10"), [24, 24, 24, 24, 24, 24, 23]);
        assert_eq!(hours("2026-W44"), [24, 24, 24, 24, 24, 24, 25]);
        let first: Timestamp = "2026-03-02T08:00:00Z".parse().unwrap();
        assert_eq!(week("2026-W10").moments(&zone)[0], first);
        let next: Timestamp = "2026-03-09T07:00:00Z".parse().unwrap();
        assert_eq!(week("2026-W10").moments(&zone)[7], next);
    }
}
