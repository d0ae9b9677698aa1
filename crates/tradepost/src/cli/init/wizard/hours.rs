//! Opening hours as people write them: `Mo-Fr 9-18, Sa 10-16`. They are only spelled out here; the reader of the
//! configuration decides whether they are hours.

use tradepost_document::json::{Map, Value};

/// Days as the configuration names them. The first two letters are enough.
const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Advice for hours that cannot be read.
pub(super) const HINT: &str =
    "write days and hours, such as Mo-Fr 9-18, Sa 10:30am-4pm; days without hours are closed";

/// Spells out a week as a table of the configuration.
///
/// # Errors
/// Says which part has no day or no hours.
pub(super) fn week(text: &str) -> Result<Value, String> {
    let mut week = Map::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let Some((days, hours)) = part.split_once(char::is_whitespace) else {
            return Err(format!("\"{part}\" needs a day and its hours"));
        };
        for day in named_days(days)? {
            week.insert(day.to_owned(), Value::String(spelled_out(hours)));
        }
    }
    Ok(Value::Object(week))
}

/// Returns the days of `Mo` or `Mo-Fr`; `Sa-Mo` goes over the end of the week.
fn named_days(text: &str) -> Result<Vec<&'static str>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = place(first)?;
    let last = place(last)?;
    let count = (last + DAYS.len() - first) % DAYS.len() + 1;
    Ok(DAYS.iter().cycle().skip(first).take(count).copied().collect())
}

/// Returns the place of a day in the week.
fn place(text: &str) -> Result<usize, String> {
    let name = text.trim().to_lowercase();
    let found = DAYS.iter().position(|day| name.len() >= 2 && day.starts_with(&name));
    found.ok_or_else(|| format!("\"{text}\" is no day: write Mo, Tu, We, Th, Fr, Sa or Su"))
}

/// Writes `9-18` as `09:00-18:00`. Anything else stays as it is, for the reader of the configuration to refuse.
fn spelled_out(hours: &str) -> String {
    let hours: String = hours.split_whitespace().collect();
    let Some((open, close)) = hours.split_once('-') else { return hours };
    format!("{}-{}", time(open), time(close))
}

/// Writes `9`, `9:30` and `6pm` as a time of 24 hours.
fn time(text: &str) -> String {
    let text = text.to_lowercase();
    let morning = text.strip_suffix("am");
    let afternoon = text.strip_suffix("pm");
    let number = morning.or(afternoon).unwrap_or(&text);
    let (hour, minute) = number.split_once(':').unwrap_or((number, "00"));
    let has_half = morning.is_some() || afternoon.is_some();
    match hour.parse::<u32>() {
        // Noon is 12 pm, and midnight 12 am.
        Ok(hour @ 1..=12) if has_half => {
            let offset = if afternoon.is_some() { 12 } else { 0 };
            format!("{:02}:{minute}", hour % 12 + offset)
        }
        Ok(_) | Err(_) => format!("{hour:0>2}:{minute}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_hours_are_spelled_out_for_the_configuration() {
        let written = |text: &str| week(text).map(|week| week.to_string());
        let expected =
            r#"{"monday":"09:00-18:30","tuesday":"09:00-18:30","saturday":"10:00-16:00"}"#;
        assert_eq!(written("Mo-Tu 9-18:30, Saturday 10 - 16").as_deref(), Ok(expected));
        let expected = r#"{"sunday":"11:00-15:00","monday":"11:00-15:00"}"#;
        assert_eq!(written("su-mo 11-15").as_deref(), Ok(expected));
        let expected = r#"{"monday":"09:00-18:30","tuesday":"00:00-12:00"}"#;
        assert_eq!(written("Mon 9am-6:30 PM, Tue 12am-12pm").as_deref(), Ok(expected));
        assert_eq!(written("Mo 13pm-14").as_deref(), Ok(r#"{"monday":"13:00-14:00"}"#));
        assert_eq!(written("").as_deref(), Ok("{}"));
        // No hours, which the reader of the configuration says.
        assert_eq!(written("Mo noon").as_deref(), Ok(r#"{"monday":"noon"}"#));
    }

    #[test]
    fn a_part_without_day_or_hours_is_named() {
        assert_eq!(week("Mo-Fr").unwrap_err(), "\"Mo-Fr\" needs a day and its hours");
        let no_day = "\"Xy\" is no day: write Mo, Tu, We, Th, Fr, Sa or Su";
        assert_eq!(week("Mo-Xy 9-18").unwrap_err(), no_day);
        assert!(week("T 9-18").is_err(), "Tuesday or Thursday");
    }
}
