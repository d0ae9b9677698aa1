//! Currencies of prices. AAP's prices are whole US dollars.

use std::borrow::Cow;

/// Marks of prices in US dollars.
const DOLLARS: &[&str] = &["USD", "US$"];

/// Currency symbols, longer ones first. A dollar sign alone says nothing.
const SIGNS: &[(&str, &str)] = &[
    ("CDN$", "CAD"),
    ("CA$", "CAD"),
    ("AU$", "AUD"),
    ("NZ$", "NZD"),
    ("HK$", "HKD"),
    ("MX$", "MXN"),
    ("C$", "CAD"),
    ("A$", "AUD"),
    ("R$", "BRL"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "JPY"),
    ("₹", "INR"),
    ("₩", "KRW"),
    ("₽", "RUB"),
    ("₺", "TRY"),
    ("ZŁ", "PLN"),
];

/// ISO 4217 codes of currencies in which vehicles are sold.
const CODES: &[&str] = &[
    "AED", "ARS", "AUD", "BGN", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "EUR",
    "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "ISK", "JPY", "KRW", "KWD", "LKR", "MXN", "MYR",
    "NOK", "NZD", "PEN", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "RUB", "SAR", "SEK", "SGD",
    "THB", "TRY", "TWD", "UAH", "VND", "ZAR",
];

/// A price in a currency other than US dollars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OtherCurrency {
    /// ISO 4217 code, or what the feed has in its place.
    pub(super) name: String,
    /// Amount without the currency.
    pub(super) amount: String,
}

/// Returns true for an empty name or one of US dollars.
fn is_dollars(name: &str) -> bool {
    name.is_empty() || name == "$" || DOLLARS.iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Returns true when a text can be the name of a currency.
pub(super) fn is_name(text: &str) -> bool {
    let upper = text.to_uppercase();
    is_dollars(text)
        || CODES.contains(&upper.as_str())
        || SIGNS.iter().any(|(sign, _)| *sign == upper)
}

/// Finds the foreign currency of a price: from the text beside its number, or else from the row's
/// currency column.
pub(super) fn other_currency(price: &str, column: &str) -> Option<OtherCurrency> {
    if !price.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let is_bare = price.bytes().all(|b| b.is_ascii() && !b.is_ascii_alphabetic());
    if is_bare && !price.contains('$') {
        return named(column, price);
    }
    let upper: Cow<'_, str> = price.to_uppercase().into();
    let upper = upper.trim();
    if DOLLARS.iter().any(|own| beside(upper, own).is_some()) {
        return None;
    }
    let signs = SIGNS.iter().map(|(sign, code)| (*sign, *code));
    let codes = CODES.iter().map(|code| (*code, *code));
    for (mark, code) in signs.chain(codes) {
        if let Some(amount) = beside(upper, mark) {
            return Some(OtherCurrency { name: code.to_owned(), amount: amount.to_owned() });
        }
    }
    named(column, price)
}

/// Reads the currency from its column.
fn named(column: &str, price: &str) -> Option<OtherCurrency> {
    if column.is_empty() {
        return None;
    }
    let upper = column.trim().to_uppercase();
    let of_sign = SIGNS.iter().find(|(sign, _)| *sign == upper).map(|(_, code)| (*code).to_owned());
    let other = (!is_dollars(column.trim())).then(|| of_sign.unwrap_or(upper))?;
    Some(OtherCurrency { name: other, amount: price.trim_matches(['$', ' ']).to_owned() })
}

/// Returns the price without a mark before or after it, unless the mark is part of a word.
fn beside<'p>(price: &'p str, mark: &str) -> Option<&'p str> {
    let behind = price.strip_prefix(mark).filter(|rest| !rest.starts_with(char::is_alphabetic));
    let before = || price.strip_suffix(mark).filter(|rest| !rest.ends_with(char::is_alphabetic));
    behind.or_else(before).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_price_is_known_by_its_mark_or_column() {
        for (price, column, expected) in [
            ("9000 CAD", "", Some("CAD 9000")),
            ("CAD 9,000.00", "", Some("CAD 9,000.00")),
            ("C$9000", "", Some("CAD 9000")),
            ("9.000,00 €", "", Some("EUR 9.000,00")),
            ("£9,000", "", Some("GBP 9,000")),
            ("9000 zł", "", Some("PLN 9000")),
            ("18500", "lkr", Some("LKR 18500")),
            ("$18500", "CAD", Some("CAD 18500")),
            ("18500", "€", Some("EUR 18500")),
            ("18500 USD", "CAD", None),
            ("US$18500", "CAD", None),
            ("$18500", "", None),
            ("18500", "usd", None),
            ("18500", "$", None),
            ("18500 OBO", "", None),
            ("Call", "CAD", None),
            ("", "CAD", None),
        ] {
            let found = other_currency(price, column);
            let found = found.map(|other| format!("{} {}", other.name, other.amount));
            assert_eq!(found.as_deref(), expected, "{price} {column}");
        }
    }
}
