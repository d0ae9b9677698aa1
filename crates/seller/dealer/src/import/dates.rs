//! Dates as people type them into feeds, and the date formats of a mapping.

use jiff::civil::Date;

/// Years that a date may have.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2100;

/// Reads a date such as `2026-04-12`, `4/12/2026`, `04-12-26` (month first, as in the US) or
/// `20260412`; a time after it is ignored.
pub(super) fn date(text: &str) -> Option<Date> {
    let day = text.trim().split([' ', 'T']).next()?;
    let mut parts = day.split(['-', '/', '.']);
    let first = parts.next()?;
    let second = parts.next();
    let third = parts.next();
    let number = |part: &str| {
        (!part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit()))
            .then(|| part.parse::<i16>().ok())
            .flatten()
    };
    let (year, month, day) = match (second, third) {
        (None, None) if first.len() == 8 => {
            (number(first.get(..4)?)?, number(first.get(4..6)?)?, number(first.get(6..)?)?)
        }
        (Some(second), Some(third)) if parts.next().is_none() => {
            if first.len() == 4 {
                (number(first)?, number(second)?, number(third)?)
            } else {
                let year = match third.len() {
                    2 => 2000 + number(third)?,
                    4 => number(third)?,
                    _ => return None,
                };
                (year, number(first)?, number(second)?)
            }
        }
        (None | Some(_), None | Some(_)) => return None,
    };
    if !YEARS.contains(&year) {
        return None;
    }
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// A part of a date format.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DatePart {
    /// A year of four digits.
    Year,
    /// The last two digits of a year of this century.
    ShortYear,
    /// A month of one or two digits.
    Month,
    /// A day of the month of one or two digits.
    Day,
    /// A literal character.
    Sign(char),
}

/// A date format of a feed: `MM.YYYY`, `DD/MM/YY`. A missing part counts as 1: `03.2018` is 1 March
/// 2018.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateForm {
    text: String,
    parts: Vec<DatePart>,
}

impl DateForm {
    /// Explanation for a format that cannot be read.
    pub(super) const RULE: &'static str =
        "must be made of YYYY or YY, MM and DD, such as MM.YYYY or DD/MM/YY";

    /// Reads a format; `None` when it has no year, the same part twice, or other letters or digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        const NAMES: [(&str, DatePart); 4] = [
            ("YYYY", DatePart::Year),
            ("YY", DatePart::ShortYear),
            ("MM", DatePart::Month),
            ("DD", DatePart::Day),
        ];
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let named =
                NAMES.iter().find_map(|(name, part)| Some((part, rest.strip_prefix(name)?)));
            let (part, left) = match named {
                Some((part, left)) if !parts.contains(part) => (part.clone(), left),
                Some(_) => return None,
                None if first.is_alphanumeric() || text.len() > 20 => return None,
                None => (DatePart::Sign(first), rest.strip_prefix(first)?),
            };
            parts.push(part);
            rest = left;
        }
        let years = parts
            .iter()
            .filter(|part| matches!(part, DatePart::Year | DatePart::ShortYear))
            .count();
        (years == 1).then(|| Self { text: text.to_owned(), parts })
    }

    /// Returns the format as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Reads a date in this format.
    pub(super) fn read(&self, text: &str) -> Option<Date> {
        let mut rest = text.trim();
        let mut year = 0;
        let mut month = 1;
        let mut day = 1;
        for (place, part) in self.parts.iter().enumerate() {
            // Between adjacent digit groups, only the number of digits tells where a part ends.
            let is_before_digits =
                self.parts.get(place + 1).is_some_and(|next| !matches!(next, DatePart::Sign(_)));
            let mut digits = |least: usize, most: usize| {
                let least = if is_before_digits { most } else { least };
                let found = rest.bytes().take(most).take_while(u8::is_ascii_digit).count();
                let (number, left) = rest.split_at_checked(found)?;
                rest = left;
                number.parse::<i16>().ok().filter(|_| found >= least)
            };
            match part {
                DatePart::Year => year = digits(4, 4)?,
                DatePart::ShortYear => year = 2000 + digits(2, 2)?,
                DatePart::Month => month = i8::try_from(digits(1, 2)?).ok()?,
                DatePart::Day => day = i8::try_from(digits(1, 2)?).ok()?,
                DatePart::Sign(sign) => rest = rest.strip_prefix(*sign)?,
            }
        }
        let is_whole = rest.is_empty() && YEARS.contains(&year);
        is_whole.then(|| Date::new(year, month, day).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_month_first() {
        for (text, expected) in [
            ("2026-04-12", Some("2026-04-12")),
            ("4/12/2026", Some("2026-04-12")),
            ("04-12-26 13:00", Some("2026-04-12")),
            ("20260412", Some("2026-04-12")),
            ("2026-04-12T00:00:00Z", Some("2026-04-12")),
            ("13/12/2026", None),
            ("2026-02-30", None),
            ("0000-00-00", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(date(text).map(|d| d.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_date_is_read_in_the_form_that_is_said() {
        for (form, text, expected) in [
            ("MM.YYYY", "03.2018", Some("2018-03-01")),
            ("MM.YYYY", "3.2018", Some("2018-03-01")),
            ("MM.YYYY", "13.2018", None),
            ("MM.YYYY", "2018", None),
            ("DD/MM/YY", "31/12/21", Some("2021-12-31")),
            ("DD.MM.YYYY", "31.12.2021 10:00", None),
            ("YYYYMMDD", "20260412", Some("2026-04-12")),
            ("YYYYMMDD", "2026412", None),
            ("YYYY", "2019", Some("2019-01-01")),
            ("YYYY", "1019", None),
        ] {
            let read = DateForm::parse(form).unwrap().read(text);
            assert_eq!(read.map(|date| date.to_string()).as_deref(), expected, "{form} {text}");
        }
    }

    #[test]
    fn a_form_without_one_year_is_none() {
        for form in ["", "MM.DD", "YYYY.YYYY", "YYYY YY", "yyyy", "MMM YYYY", "YYYY年"] {
            assert!(DateForm::parse(form).is_none(), "{form}");
        }
    }
}
