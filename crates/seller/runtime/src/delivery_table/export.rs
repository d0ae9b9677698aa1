//! Headings and cells of exported delivery, as ad servers write them.

use std::str::FromStr;

use jiff::civil::Date;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::is_date;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::staff::reported::ReportField;

use crate::text_table::cells::{self, CellAmount, CellMistake, compact, is_thousands, quoted};
use crate::text_table::normalised;

/// Heading that is given for a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadingChoice {
    /// The field.
    pub field: ReportField,
    /// The heading, as in the file.
    pub heading: String,
}

impl FromStr for HeadingChoice {
    type Err = String;

    /// Reads `FIELD=HEADING`.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').and_then(|(name, heading)| {
            let field = ReportField::from_name(name.trim())?;
            (!heading.trim().is_empty()).then(|| Self { field, heading: heading.trim().to_owned() })
        });
        let fields = ReportField::NAMES.join(", ");
        named.ok_or_else(|| format!("write FIELD=HEADING with one of the fields {fields}"))
    }
}

/// Meaning of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnMeaning {
    /// Its field.
    pub(super) field: ReportField,
    /// Currency of the whole column, as in "Revenue (EUR)".
    pub(super) currency: Option<String>,
}

/// Field with the headings that exports give it, beside its name: small letters and digits, with single spaces.
struct FieldHeadings {
    field: ReportField,
    headings: &'static [&'static str],
}

const HEADINGS: &[FieldHeadings] = &[
    FieldHeadings { field: ReportField::MediaBuy, headings: &["media buy"] },
    FieldHeadings { field: ReportField::Package, headings: &["package"] },
    FieldHeadings { field: ReportField::LineItem, headings: &["line item", "flight id"] },
    FieldHeadings { field: ReportField::Date, headings: &["day", "report date", "datum"] },
    FieldHeadings {
        field: ReportField::Impressions,
        headings: &[
            "imps",
            "impressionen",
            "ad impressions",
            "ad server impressions",
            "total impressions",
        ],
    },
    FieldHeadings {
        field: ReportField::Clicks,
        headings: &["klicks", "ad server clicks", "total clicks"],
    },
    FieldHeadings {
        field: ReportField::CompletedViews,
        headings: &["completes", "completions", "video completions", "completed video views"],
    },
    FieldHeadings {
        field: ReportField::Spend,
        headings: &[
            "cost",
            "media cost",
            "revenue",
            "total revenue",
            "ad server revenue",
            "ad server cpm and cpc revenue",
            "umsatz",
            "kosten",
        ],
    },
    FieldHeadings { field: ReportField::Currency, headings: &["currency code", "währung"] },
    FieldHeadings { field: ReportField::Final, headings: &["is final", "finality"] },
    FieldHeadings {
        field: ReportField::Correction,
        headings: &["is correction", "is adjusted", "adjusted"],
    },
];

/// Words that begin a row that adds others up.
const TOTAL_WORDS: &[&str] = &["total", "totals", "grand total", "sum", "summe", "gesamt"];

/// Returns true for the first cell of a row that adds others up.
pub(super) fn is_total(cell: &str) -> bool {
    TOTAL_WORDS.contains(&normalised(cell).as_str())
}

/// Returns true for a heading that is recognised or chosen.
pub(super) fn is_known(heading: &str, choices: &[HeadingChoice]) -> bool {
    !heading.is_empty() && meaning_of(heading, choices).is_some()
}

/// Returns the meaning of a heading: the chosen one, or the recognised one unless another column is chosen for it.
pub(super) fn meaning_of(heading: &str, choices: &[HeadingChoice]) -> Option<ColumnMeaning> {
    let words = normalised(heading);
    let recognised = recognised(&words);
    if let Some(choice) = choices.iter().find(|choice| normalised(&choice.heading) == words) {
        let currency = recognised.and_then(|meaning| meaning.currency);
        return Some(ColumnMeaning { field: choice.field, currency });
    }
    recognised.filter(|meaning| choices.iter().all(|choice| choice.field != meaning.field))
}

fn recognised(words: &str) -> Option<ColumnMeaning> {
    if let Some(field) = by_heading(words) {
        return Some(ColumnMeaning { field, currency: None });
    }
    let (rest, last) = words.rsplit_once(' ')?;
    let currency = cells::code(last)?;
    let field = by_heading(rest.strip_suffix(" in").unwrap_or(rest))?;
    (field == ReportField::Spend).then_some(ColumnMeaning { field, currency: Some(currency) })
}

fn by_heading(words: &str) -> Option<ReportField> {
    let is_it = |known: &&FieldHeadings| {
        normalised(known.field.name()) == words || known.headings.contains(&words)
    };
    HEADINGS.iter().find(is_it).map(|known| known.field)
}

/// Order of day and month in dates such as 6/1/2026, as the column as a whole shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateOrder {
    /// The day stands first.
    DayFirst,
    /// The month stands first.
    MonthFirst,
    /// No date of the column shows it.
    Unknown,
}

impl DateOrder {
    /// Finds the order that the dates of a column have.
    pub(super) fn from_cells<'c>(cells: impl Iterator<Item = &'c str>) -> Self {
        let mut order = Self::Unknown;
        for cell in cells {
            let Some(parts) = SlashedDate::read(cell) else { continue };
            let shown = match (parts.first > 12, parts.second > 12) {
                (true, false) => Self::DayFirst,
                (false, true) => Self::MonthFirst,
                (true, true) | (false, false) => continue,
            };
            if order != Self::Unknown && order != shown {
                return Self::Unknown;
            }
            order = shown;
        }
        order
    }

    /// Reads a date.
    pub(super) fn read(self, text: &str) -> Result<Date, CellMistake> {
        let mistake = || {
            CellMistake::new(
                format!("{} is no date", quoted(text)),
                "write a date such as 2026-05-03",
            )
        };
        let (day, time) = text.split_at(text.find(['T', ' ']).unwrap_or(text.len()));
        if !is_midnight(time) {
            return Err(CellMistake::new(
                format!("{} is no day", quoted(text)),
                "write the day alone, in the time zone of the publisher, such as 2026-05-03",
            ));
        }
        if is_date(day) {
            return day.parse().map_err(|_| mistake());
        }
        let is_digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if day.len() == 8 && is_digits(day) {
            let (year, rest) = day.split_at(4);
            let (month, day) = rest.split_at(2);
            return format!("{year}-{month}-{day}").parse().map_err(|_| mistake());
        }
        let parts: Vec<&str> = day.split(['.', '/']).collect();
        let [first, second, third] = parts.as_slice() else { return Err(mistake()) };
        if !parts.iter().all(|part| is_digits(part)) {
            return Err(mistake());
        }
        let number = |part: &str| part.parse::<i8>().map_err(|_| mistake());
        if first.len() == 4 {
            let year = first.parse().map_err(|_| mistake())?;
            return super::date(year, number(second)?, number(third)?).ok_or_else(mistake);
        }
        let written: i16 = third.parse().map_err(|_| mistake())?;
        let year = match third.len() {
            2 => 2000 + written,
            4 => written,
            _ => return Err(mistake()),
        };
        let left = number(first)?;
        let middle = number(second)?;
        // With points the day stands first wherever dates are written so.
        let order = if day.contains('.') { Self::DayFirst } else { self };
        let found = match order {
            Self::DayFirst => super::date(year, middle, left),
            Self::MonthFirst => super::date(year, left, middle),
            Self::Unknown => {
                return Err(CellMistake::new(
                    format!("{} can be read in two ways", quoted(text)),
                    "write dates such as 2026-05-03",
                ));
            }
        };
        found.ok_or_else(mistake)
    }
}

/// Returns true for the rest of a date that says nothing more: exports give days as moments at midnight.
fn is_midnight(rest: &str) -> bool {
    let Some(time) = rest.strip_prefix(['T', ' ']) else { return rest.is_empty() };
    let time = time.strip_suffix('Z').unwrap_or(time);
    let is_zero = |fraction: &str| {
        let digits = fraction.strip_prefix('.').unwrap_or_default();
        fraction.is_empty() || (!digits.is_empty() && digits.bytes().all(|digit| digit == b'0'))
    };
    time == "00:00" || time.strip_prefix("00:00:00").is_some_and(is_zero)
}

/// First and second number of a date with slashes.
struct SlashedDate {
    first: u32,
    second: u32,
}

impl SlashedDate {
    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let first: &str = parts.next()?;
        let second = parts.next()?;
        parts.next()?;
        if first.len() > 2 {
            return None;
        }
        Some(Self { first: first.parse().ok()?, second: second.parse().ok()? })
    }
}

/// Returns the decimal mark that the amounts of a column have, if some show it and all agree.
pub(super) fn decimal_mark<'c>(cells: impl Iterator<Item = &'c str>) -> Option<char> {
    let mut mark = None;
    for cell in cells {
        let Some(place) = cell.rfind(['.', ',']) else { continue };
        let (whole, rest) = cell.split_at(place);
        let last = if rest.starts_with('.') { '.' } else { ',' };
        let digits = rest.chars().filter(char::is_ascii_digit).count();
        let other = if last == '.' { ',' } else { '.' };
        let shown = if whole.contains(last) {
            // 1,200,000 has separators of thousands alone.
            other
        } else if digits != 3 || whole.contains(other) {
            last
        } else {
            continue;
        };
        if mark.is_some_and(|known| known != shown) {
            return None;
        }
        mark = Some(shown);
    }
    mark
}

/// Amount in a cell, with the currency that it names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpentAmount {
    pub(super) amount: MoneyAmount,
    pub(super) currency: Option<String>,
}

/// Reads an amount. `mark` is the decimal mark of the column, where one is known.
pub(super) fn amount(text: &str, mark: Option<char>) -> Result<SpentAmount, CellMistake> {
    let CellAmount { number, currency } = cells::amount_with(text, mark)?;
    let amount = super::money(&number).unwrap_or_default();
    Ok(SpentAmount { amount, currency })
}

/// Returns a count without decimals that are all zeros; `None` when it may be a number with decimals.
fn without_decimals(text: &str) -> Option<&str> {
    let Some(place) = text.rfind(['.', ',']) else { return Some(text) };
    let (whole, rest) = text.split_at(place);
    let mark = if rest.starts_with('.') { '.' } else { ',' };
    let other = if mark == '.' { ',' } else { '.' };
    let zeros = rest.strip_prefix(mark).unwrap_or_default();
    let is_zero = !zeros.is_empty() && zeros.bytes().all(|digit| digit == b'0');
    // 1.000 is a thousand, and 12000.000 and 1,200.000 are no millions.
    let is_decimal = zeros.len() != 3 || whole.len() > 3 || whole == "0" || whole.contains(other);
    if is_zero && is_decimal && !whole.contains(mark) {
        return is_thousands(whole, other).then_some(whole);
    }
    (!whole.contains(other) && is_thousands(text, mark)).then_some(text)
}

/// Reads a count such as 12000, 12,000, 12000.0 or 12k.
pub(super) fn count(text: &str) -> Result<u64, CellMistake> {
    if text.trim_start().starts_with('-') {
        return Err(CellMistake::new(
            format!("{} is below zero", quoted(text)),
            "write what there was on the day, and not the difference",
        ));
    }
    let mistake = || {
        CellMistake::new(
            format!("{} is no whole number", quoted(text)),
            "write a number such as 200000",
        )
    };
    let compact = compact(text);
    let has_suffix = compact.ends_with(|c: char| c.is_ascii_alphabetic());
    let whole = if has_suffix { Some(compact.as_str()) } else { without_decimals(&compact) };
    whole.and_then(|whole| cells::count(whole).ok()).ok_or_else(mistake)
}

/// Reads whether figures are final.
pub(super) fn finality(text: &str) -> Result<bool, CellMistake> {
    match normalised(text).as_str() {
        "final" | "finalized" | "closed" => Ok(true),
        "provisional" | "preliminary" | "estimated" | "open" => Ok(false),
        _ => cells::truth(text),
    }
}
