//! Headings and cells of exported delivery, as ad servers write them.

use std::str::FromStr;

use jiff::civil::Date;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::is_date;
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::staff::reported::ReportField;

use crate::product_table::cells::{self, CellAmount, CellMistake, quoted};
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
const TOTALS: &[&str] = &["total", "totals", "grand total", "sum", "summe", "gesamt"];

/// Returns true for the first cell of a row that adds others up.
pub(super) fn is_total(cell: &str) -> bool {
    TOTALS.contains(&normalised(cell).as_str())
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
    pub(super) fn of<'c>(cells: impl Iterator<Item = &'c str>) -> Self {
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
        // Exports give days as moments at midnight.
        let day = text.split(['T', ' ']).next().unwrap_or_default();
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
    let pointed = match mark {
        Some('.') => text.replace(',', ""),
        Some(_) => text.replace('.', "").replace(',', "."),
        None => text.to_owned(),
    };
    // A point with three digits is no doubt any more.
    let plain = match (mark, pointed.rsplit_once('.')) {
        (Some(_), Some((whole, decimals))) if digits_of(decimals) == 3 => {
            format!("{whole}.{}", padded(decimals))
        }
        (Some(_) | None, Some(_) | None) => pointed,
    };
    let read = cells::amount(&plain).map_err(|mistake| CellMistake {
        message: mistake.message.replace(&quoted(&plain), &quoted(text)),
        hint: mistake.hint,
    })?;
    let CellAmount { number, currency } = read;
    let amount = super::money(&number).unwrap_or_default();
    Ok(SpentAmount { amount, currency })
}

fn digits_of(text: &str) -> usize {
    text.chars().filter(char::is_ascii_digit).count()
}

/// Adds a zero behind the last digit of decimals.
fn padded(decimals: &str) -> String {
    let end = decimals.rfind(|c: char| c.is_ascii_digit()).map_or(0, |at| at + 1);
    let (digits, rest) = decimals.split_at(end);
    format!("{digits}0{rest}")
}

/// Reads a count such as 12000, 12,000 or 12000.0.
pub(super) fn count(text: &str) -> Result<u64, CellMistake> {
    if text.trim_start().starts_with('-') {
        return Err(CellMistake::new(
            format!("{} is below zero", quoted(text)),
            "write what there was on the day, and not the difference",
        ));
    }
    let whole = [".00", ",00", ".0", ",0"].iter().find_map(|zeros| text.strip_suffix(zeros));
    cells::count(whole.unwrap_or(text))
}

/// Reads whether figures are final.
pub(super) fn finality(text: &str) -> Result<bool, CellMistake> {
    match normalised(text).as_str() {
        "final" | "finalized" | "closed" => Ok(true),
        "provisional" | "preliminary" | "estimated" | "open" => Ok(false),
        _ => cells::truth(text),
    }
}
