//! Cells, as people write them: amounts, counts, currencies, yes and no, lists.

use tradepost_document::json::{self, Value};
use tradepost_publisher::money::CURRENCIES;

/// Mistake in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellMistake {
    /// Description: a lower-case fragment without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl CellMistake {
    /// Creates a mistake with what to do about it.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Maximum characters of a cell that a message repeats.
const MAX_SHOWN_CHARS: usize = 40;

/// Returns a cell in quotation marks, shortened.
pub fn quoted(text: &str) -> String {
    let short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{:?}", format!("{short}{more}"))
}

/// Amount of money in a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct CellAmount {
    /// The amount, as a number of JSON.
    pub number: Value,
    /// Currency that the cell names, too.
    pub currency: Option<String>,
}

/// Signs of currencies that mean one currency. A dollar sign is one of several.
const CURRENCY_SIGNS: &[CurrencySign] = &[
    CurrencySign { sign: "US$", currency: Some("USD") },
    CurrencySign { sign: "C$", currency: Some("CAD") },
    CurrencySign { sign: "A$", currency: Some("AUD") },
    CurrencySign { sign: "€", currency: Some("EUR") },
    CurrencySign { sign: "£", currency: Some("GBP") },
    CurrencySign { sign: "$", currency: None },
];

struct CurrencySign {
    sign: &'static str,
    currency: Option<&'static str>,
}

/// Reads an amount such as 12.50, $1,200.50, 12,50 € or 24 USD.
pub fn amount(text: &str) -> Result<CellAmount, CellMistake> {
    amount_with(text, None)
}

/// Reads an amount. `mark` is the decimal mark of its column, where one is known.
pub fn amount_with(text: &str, mark: Option<char>) -> Result<CellAmount, CellMistake> {
    let mistake = || {
        CellMistake::new(format!("{} is no amount", quoted(text)), "write a number such as 12.50")
    };
    let mut rest = text.trim().to_owned();
    let mut currency = None;
    for CurrencySign { sign, currency: named } in CURRENCY_SIGNS {
        if let Some(inner) = rest.strip_prefix(sign).or_else(|| rest.strip_suffix(sign)) {
            currency = named.map(str::to_owned);
            rest = inner.trim().to_owned();
            break;
        }
    }
    let letters: String = rest.chars().filter(char::is_ascii_alphabetic).collect();
    if letters.len() == 3 {
        let without =
            rest.strip_prefix(letters.as_str()).or_else(|| rest.strip_suffix(letters.as_str()));
        rest = without.ok_or_else(mistake)?.trim().to_owned();
        currency = Some(code(&letters).ok_or_else(|| {
            CellMistake::new(
                format!("{} is in no currency: {letters} is none of ISO 4217", quoted(text)),
                "write a number such as 12.50, or one with a currency, such as 12.50 USD",
            )
        })?);
    }
    let compact = compact(&rest);
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    if compact.starts_with('-') {
        return Err(CellMistake::new(
            format!("{} is below zero", quoted(text)),
            "write an amount that is not negative",
        ));
    }
    if !compact.chars().all(is_number) || !compact.chars().any(|c| c.is_ascii_digit()) {
        return Err(mistake());
    }
    let doubtful = |beside: &str| {
        CellMistake::new(
            format!("{} can be read in two ways{beside}", quoted(text)),
            "write it without separators of thousands, and with two decimals: 1200.00 or 1.20",
        )
    };
    let plain = match mark {
        None => plain_number(&compact),
        Some(mark) if !is_grouped(&compact, mark) => {
            return Err(doubtful(", beside the others of the column"));
        }
        Some(mark) => {
            let (whole, decimals) = compact.split_once(mark).unwrap_or((compact.as_str(), ""));
            canonical(&whole.replace(['.', ','], ""), decimals)
        }
    };
    let plain = plain.ok_or_else(|| doubtful(""))?;
    let number = json::from_str(&plain).map_err(|_| mistake())?;
    Ok(CellAmount { number, currency })
}

/// Returns a number without the spaces and apostrophes that separate thousands.
pub fn compact(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '\'').collect()
}

/// Returns true if what stands before the decimal mark has separators of thousands where they belong, or none.
fn is_grouped(number: &str, mark: char) -> bool {
    let other = if mark == '.' { ',' } else { '.' };
    let (whole, decimals) = number.split_once(mark).unwrap_or((number, ""));
    !decimals.contains(['.', ',']) && is_thousands(whole, other)
}

/// Returns true if the separators of a whole number, if it has any, stand before three digits each.
pub fn is_thousands(whole: &str, separator: char) -> bool {
    let groups: Vec<&str> = whole.split(separator).collect();
    let [first, rest @ ..] = groups.as_slice() else { return true };
    let begins = (1..=3).contains(&first.len()) && !first.starts_with('0');
    rest.is_empty() || (begins && rest.iter().all(|group| group.len() == 3))
}

/// Returns a number with a decimal point and no other separator; `None` when it can be read in two ways.
fn plain_number(text: &str) -> Option<String> {
    let last = text.rfind(['.', ',']);
    let (whole, decimals) = match last {
        None => return canonical(text, ""),
        Some(at) => text.split_at(at),
    };
    let separator = decimals.chars().next().unwrap_or('.');
    let decimals = decimals.get(1..).unwrap_or_default();
    let is_repeated = whole.contains(separator);
    let other = if separator == '.' { ',' } else { '.' };
    if is_repeated {
        // 1,200,000: separators of thousands alone.
        let groups: Vec<&str> = text.split(separator).collect();
        let is_grouped =
            groups.iter().skip(1).all(|group| group.len() == 3) && !whole.contains(other);
        return if is_grouped { canonical(&groups.concat(), "") } else { None };
    }
    if whole.contains(other) {
        // 1,200.50: both kinds, of which the last is the decimal one.
        let groups: Vec<&str> = whole.split(other).collect();
        let is_grouped = groups.iter().skip(1).all(|group| group.len() == 3);
        return if is_grouped { canonical(&groups.concat(), decimals) } else { None };
    }
    // 1.200 and 1,200 are a thousand to some and one to others.
    let is_doubtful = decimals.len() == 3 && !whole.is_empty() && whole != "0";
    if is_doubtful { None } else { canonical(whole, decimals) }
}

/// Writes a number as JSON has it, without zeros that say nothing.
fn canonical(whole: &str, decimals: &str) -> Option<String> {
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let decimals = decimals.trim_end_matches('0');
    // More digits than millionths would be refused later, with no word of the row.
    if whole.len() > 12 || decimals.len() > 6 {
        return None;
    }
    Some(if decimals.is_empty() { whole.to_owned() } else { format!("{whole}.{decimals}") })
}

/// Reads a count such as 200000, 200,000, 200k or 1.5M.
pub fn count(text: &str) -> Result<u64, CellMistake> {
    let mistake = || {
        CellMistake::new(
            format!("{} is no whole number", quoted(text)),
            "write a number such as 200000",
        )
    };
    let compact = compact(text);
    let lower = compact.to_lowercase();
    for CountSuffix { suffix, factor } in COUNT_SUFFIXES {
        let Some(number) = lower.strip_suffix(suffix) else { continue };
        let plain = plain_number(number).ok_or_else(mistake)?;
        let decimals = plain.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let digits: u64 = plain.replace('.', "").parse().map_err(|_| mistake())?;
        let scale = 10_u64.checked_pow(u32::try_from(decimals).unwrap_or(u32::MAX));
        let scaled = digits.checked_mul(*factor).zip(scale);
        let (units, scale) = scaled.ok_or_else(mistake)?;
        return if units % scale == 0 { Ok(units / scale) } else { Err(mistake()) };
    }
    let groups: Vec<&str> = compact.split([',', '.']).collect();
    let is_grouped = groups.iter().skip(1).all(|group| group.len() == 3);
    let digits = groups.concat();
    if !is_grouped || digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(mistake());
    }
    digits.parse().map_err(|_| mistake())
}

const COUNT_SUFFIXES: &[CountSuffix] = &[
    CountSuffix { suffix: "mio", factor: 1_000_000 },
    CountSuffix { suffix: "mm", factor: 1_000_000 },
    CountSuffix { suffix: "m", factor: 1_000_000 },
    CountSuffix { suffix: "k", factor: 1_000 },
];

struct CountSuffix {
    suffix: &'static str,
    factor: u64,
}

/// Reads yes or no.
pub fn truth(text: &str) -> Result<bool, CellMistake> {
    match text.to_lowercase().as_str() {
        "yes" | "y" | "true" | "1" | "x" | "required" | "exclusive" => Ok(true),
        "no" | "n" | "false" | "0" | "-" | "none" => Ok(false),
        _ => Err(CellMistake::new(
            format!("{} is neither yes nor no", quoted(text)),
            "write yes or no",
        )),
    }
}

/// Returns the items of a list, which semicolons, commas, bars or line breaks separate.
pub fn items(text: &str) -> Vec<&str> {
    let items = text.split([';', ',', '|', '\n']).map(str::trim);
    items.filter(|item| !item.is_empty()).collect()
}

/// Reads a currency.
pub fn currency(text: &str) -> Result<String, CellMistake> {
    let named = match text {
        "€" => Some("EUR"),
        "£" => Some("GBP"),
        _ => None,
    };
    named.map(str::to_owned).or_else(|| code(text)).ok_or_else(|| {
        CellMistake::new(
            format!("{} is no currency", quoted(text)),
            "write the three letters of ISO 4217, such as USD",
        )
    })
}

/// Returns a currency of ISO 4217 in capital letters.
pub fn code(text: &str) -> Option<String> {
    let upper = text.to_uppercase();
    CURRENCIES.contains(&upper.as_str()).then_some(upper)
}
