//! Reads amounts of money from briefs: an amount beside a currency's sign or its ISO 4217 code.

use super::MoneyAmount;

/// Codes of ISO 4217 that are in use for payments.
pub const CODES: &[&str] = &[
    "AED", "AFN", "ALL", "AMD", "ANG", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT",
    "BGN", "BHD", "BIF", "BMD", "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD",
    "CDF", "CHF", "CLP", "CNY", "COP", "CRC", "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD",
    "EGP", "ERN", "ETB", "EUR", "FJD", "FKP", "GBP", "GEL", "GHS", "GIP", "GMD", "GNF", "GTQ",
    "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR", "IQD", "IRR", "ISK", "JMD", "JOD",
    "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP", "LKR",
    "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR", "MVR",
    "MWK", "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN",
    "PGK", "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR",
    "SDG", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB",
    "TJS", "TMT", "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS",
    "VES", "VND", "VUV", "WST", "XAF", "XCD", "XOF", "XPF", "YER", "ZAR", "ZMW",
];

/// Codes that are English words as well: in a headline in capitals they are read only where the offer is priced in
/// them.
const WORDS: &[&str] =
    &["ALL", "BAM", "COP", "CUP", "GEL", "MAD", "MOP", "PEN", "RON", "SOS", "TOP", "TRY"];

/// Signs of currencies with what they stand for; the longer ones first, because `A$` ends in `$`. A sign that
/// several currencies share has the usual one first.
const SIGNS: &[(&str, &[&str])] = &[
    ("US$", &["USD"]),
    ("CA$", &["CAD"]),
    ("AU$", &["AUD"]),
    ("HK$", &["HKD"]),
    ("NZ$", &["NZD"]),
    ("MX$", &["MXN"]),
    ("NT$", &["TWD"]),
    ("A$", &["AUD"]),
    ("C$", &["CAD"]),
    ("R$", &["BRL"]),
    ("S$", &["SGD"]),
    ("zł", &["PLN"]),
    ("$", &["USD", "CAD", "AUD", "NZD", "SGD", "HKD", "MXN", "TWD", "ARS", "CLP", "COP"]),
    ("€", &["EUR"]),
    ("£", &["GBP"]),
    ("¥", &["JPY", "CNY"]),
    ("₹", &["INR"]),
    ("₩", &["KRW"]),
    ("₪", &["ILS"]),
    ("₺", &["TRY"]),
    ("₴", &["UAH"]),
    ("₦", &["NGN"]),
    ("₱", &["PHP"]),
    ("฿", &["THB"]),
];

/// An amount of money that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedMoney {
    /// Amount.
    pub amount: MoneyAmount,
    /// The currency (ISO 4217).
    pub currency: &'static str,
}

/// Returns the first amount of money in a text: `$50K`, `€ 20.000`, `EUR 1.5m`, `20,000 CHF`. A sign that
/// several currencies share means `preferred`, if that is one of them.
pub(crate) fn find_money(text: &str, preferred: Option<&str>) -> Option<NamedMoney> {
    for (start, letter) in text.char_indices() {
        if !letter.is_ascii_digit() {
            continue;
        }
        let (before, rest) = text.split_at(start);
        // The middle of a number or of a word such as Q3 is not an amount.
        if before.ends_with(|last: char| last.is_ascii_digit() || matches!(last, '.' | ',' | '\''))
        {
            continue;
        }
        let end = number_end(rest);
        let (number, after) = rest.split_at(end);
        let factor = Factor::read(after);
        let currency = currency_before(before, preferred)
            .or_else(|| currency_after(after.get(factor.length..)?, preferred));
        if let Some(currency) = currency
            && let Some(amount) = read_number(number)
        {
            // A share of more than the whole: this is how amounts are multiplied.
            let amount = amount.share(MoneyAmount::whole(factor.value), MoneyAmount::whole(1));
            return Some(NamedMoney { amount, currency });
        }
    }
    None
}

/// Factor that is written after a number, such as `k`.
struct Factor {
    value: u32,
    /// Length of its text in bytes.
    length: usize,
}

impl Factor {
    fn read(after: &str) -> Self {
        let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
        for (letters, value) in [(['k', 'K'], 1_000), (['m', 'M'], 1_000_000)] {
            if let Some(rest) = after.strip_prefix(letters)
                && is_end(rest)
            {
                return Self { value, length: 1 };
            }
        }
        Self { value: 1, length: 0 }
    }
}

/// Returns where a number ends, in bytes: it has digits, and separators between digits.
fn number_end(text: &str) -> usize {
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        if letter.is_ascii_digit() {
            end = at + 1;
        } else if !matches!(letter, '.' | ',' | '\'') || at != end {
            break;
        }
    }
    end
}

/// Reads a number with separators in the English or in the continental way: a last separator that is not
/// followed by exactly three digits, or that differs from the one before, is the decimal one.
fn read_number(text: &str) -> Option<MoneyAmount> {
    let last = text.rfind(['.', ',']);
    let decimal = last.filter(|&at| {
        let (before, after) = text.split_at(at);
        let separator = after.chars().next();
        let has_other =
            before.chars().any(|one| matches!(one, '.' | ',') && Some(one) != separator);
        let repeats = before.chars().any(|one| Some(one) == separator);
        !repeats && (has_other || after.len() != 4)
    });
    let digits = |part: &str| part.chars().filter(char::is_ascii_digit).collect::<String>();
    let plain = match decimal {
        Some(at) => {
            let (whole, fraction) = text.split_at(at);
            format!("{}.{}", digits(whole), digits(fraction))
        }
        None => {
            let whole = digits(text);
            let significant = whole.trim_start_matches('0');
            if significant.is_empty() { "0".to_owned() } else { significant.to_owned() }
        }
    };
    plain.parse().ok().and_then(|number| MoneyAmount::from_number(&number))
}

/// Returns the currency in front of a number, with or without a space between.
fn currency_before(before: &str, preferred: Option<&str>) -> Option<&'static str> {
    let before = before.trim_end();
    let signed = SIGNS.iter().find(|(sign, _)| before.ends_with(sign));
    if let Some((_, currencies)) = signed {
        return pick_currency(currencies, preferred);
    }
    let word = before.rsplit(|letter: char| !letter.is_ascii_alphabetic()).next()?;
    known_code(word, preferred)
}

/// Returns the currency after a number, with or without a space between.
fn currency_after(after: &str, preferred: Option<&str>) -> Option<&'static str> {
    let after = after.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let signed = SIGNS.iter().find(|(sign, _)| after.starts_with(sign));
    if let Some((sign, currencies)) = signed {
        // A sign that another number follows belongs to that number.
        let rest = after.get(sign.len()..).unwrap_or_default().trim_start();
        let is_free = !rest.starts_with(|next: char| next.is_ascii_digit());
        return is_free.then(|| pick_currency(currencies, preferred)).flatten();
    }
    let word = after.split(|letter: char| !letter.is_ascii_alphabetic()).next()?;
    known_code(word, preferred)
}

/// Returns the preferred one of the currencies that share a sign, otherwise the first.
fn pick_currency(
    currencies: &'static [&'static str],
    preferred: Option<&str>,
) -> Option<&'static str> {
    let wanted = currencies.iter().find(|one| Some(**one) == preferred);
    wanted.or_else(|| currencies.first()).copied()
}

/// Finds a code. It is read in capital letters only: `all` and `try` are words.
fn known_code(word: &str, preferred: Option<&str>) -> Option<&'static str> {
    let code = CODES.iter().find(|code| **code == word).copied()?;
    (!WORDS.contains(&code) || preferred == Some(code)).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, preferred: Option<&str>) -> Option<(String, &'static str)> {
        find_money(text, preferred).map(|money| (money.amount.to_string(), money.currency))
    }

    #[test]
    fn money_is_read_beside_its_sign_or_code() {
        for (text, expected) in [
            ("Q2 flight, $50K budget", Some(("50000", "USD"))),
            ("about €20,000.", Some(("20000", "EUR"))),
            ("about 20.000 €", Some(("20000", "EUR"))),
            ("£1.5m in all", Some(("1500000", "GBP"))),
            ("$ 900, then $5", Some(("900", "USD"))),
            ("EUR 12.500,50 for May", Some(("12500.5", "EUR"))),
            ("CHF 1'200'000", Some(("1200000", "CHF"))),
            ("20000 SEK", Some(("20000", "SEK"))),
            ("250k NOK over 30 days", Some(("250000", "NOK"))),
            ("for 30 days, 5,000 PLN", Some(("5000", "PLN"))),
            ("A$ 7,000", Some(("7000", "AUD"))),
            ("R$10.000", Some(("10000", "BRL"))),
            ("¥1000000", Some(("1000000", "JPY"))),
            ("FIFA WORLD CUP 2026, $50K", Some(("50000", "USD"))),
            ("TOP 10 DMAs with $50K", Some(("50000", "USD"))),
            ("ALL 50 states", None),
            ("adults 25-54, all of June", None),
            ("50K dollars", None),
            ("a $ign", None),
            ("try 3 of all 5", None),
        ] {
            let expected = expected.map(|(amount, currency)| (amount.to_owned(), currency));
            assert_eq!(found(text, None), expected, "{text}");
        }
    }

    #[test]
    fn shared_signs_mean_the_preferred_currency() {
        assert_eq!(found("$5,000", Some("CAD")), Some(("5000".into(), "CAD")));
        assert_eq!(found("$5,000", Some("EUR")), Some(("5000".into(), "USD")));
        assert_eq!(found("9.000 TRY", Some("TRY")), Some(("9000".into(), "TRY")));
        assert_eq!(found("US$5,000", Some("CAD")), Some(("5000".into(), "USD")));
    }
}
