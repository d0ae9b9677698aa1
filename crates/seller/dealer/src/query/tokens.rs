//! Splitting of a query into tokens. Marks that distinguish amounts, ranges and names are kept: a
//! dollar sign, a plus, and a joining hyphen.

/// A word or number of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueryToken {
    /// Lower case letters and digits, and a decimal point between digits.
    pub(super) text: String,
    /// True after a dollar sign.
    pub(super) money: bool,
    /// True before a plus.
    pub(super) plus: bool,
    /// True when a hyphen or similar mark joins it to the token before.
    pub(super) joined: bool,
    /// True after a comma or the end of a sentence.
    pub(super) after_pause: bool,
}

impl QueryToken {
    /// Creates a word without marks.
    pub(super) fn plain(text: &str) -> Self {
        let text = text.to_owned();
        Self { text, money: false, plus: false, joined: false, after_pause: false }
    }
}

/// Marks before the token that is being read.
#[derive(Debug, Default)]
struct PrecedingMarks {
    money: bool,
    joined: bool,
    after_pause: bool,
}

/// Splits a query into tokens. `/` between words becomes `or`, `&` becomes `and`, and `<` and `>`
/// become words. A hyphen or exclamation mark after a space and before a word becomes `not`, as in `suv -honda`; marks
/// of feet, inches, percent and other currencies become words.
pub(super) fn tokens(query: &str) -> Vec<QueryToken> {
    let mut found: Vec<QueryToken> = Vec::new();
    let mut text = String::new();
    let mut marks = PrecedingMarks::default();
    let mut quotes = 0_usize;
    // E-mail addresses are not repeated in answers.
    let mut chars: Vec<char> = Vec::with_capacity(query.len());
    for word in query.split_whitespace() {
        if !chars.is_empty() {
            chars.push(' ');
        }
        chars.extend(if word.contains('@') { "@" } else { word }.chars());
    }
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    for (at, c) in chars.iter().copied().enumerate() {
        let between_digits = at > 0 && digit(at - 1) && digit(at + 1);
        match c {
            c if c.is_alphanumeric() && !is_apostrophe(c) => {
                text.extend(c.to_lowercase());
                continue;
            }
            '.' if between_digits => {
                text.push('.');
                continue;
            }
            // A thousands separator is followed by exactly three digits.
            ',' if between_digits && digit(at + 2) && digit(at + 3) && !digit(at + 4) => continue,
            // `don't` and `dealer's` stay one word.
            _ if is_apostrophe(c) && !text.is_empty() && !is_length(&text, &chars, at) => continue,
            _ => {}
        }
        // `SUV/truck` means either; `w/` and `3/4` mean something else.
        let long = text.chars().count() > 2 && !text.ends_with(|c: char| c.is_ascii_digit());
        // A second quotation mark ends the quotation.
        let is_length = quotes.is_multiple_of(2) && is_length(&text, &chars, at);
        let ended = push(&mut found, &mut text, &mut marks);
        let next_is_word =
            chars.get(at + 1).is_some_and(|next| next.is_alphanumeric() || *next == '$');
        match c {
            '$' => {
                marks.money = true;
                // `$20k-$30k` is one range.
                marks.joined &= chars.get(at.wrapping_sub(1)) == Some(&'-');
            }
            _ if is_length && (is_apostrophe(c) || c == '\u{2032}') => word(&mut found, "ft"),
            '"' | '\u{201c}' | '\u{201d}' | '\u{2033}' => {
                if is_length {
                    word(&mut found, "inch");
                } else {
                    quotes += 1;
                }
            }
            '%' => word(&mut found, "percent"),
            '\u{20ac}' => word(&mut found, "euros"),
            '\u{a3}' => word(&mut found, "gbp"),
            '\u{a5}' => word(&mut found, "yen"),
            '-' | '\u{2212}' | '!' if is_minus(&chars, at) => word(&mut found, "not"),
            ',' | ';' | ':' | '!' | '?' | '(' | ')' => marks.after_pause = true,
            '.' if !next_is_word => marks.after_pause = true,
            '+' => {
                if let Some(last) = found.last_mut().filter(|_| ended) {
                    last.plus = true;
                }
            }
            '/' if long && next_is_word && !is_per_100(&chars, at) => word(&mut found, "or"),
            '&' => word(&mut found, "and"),
            '<' => word(&mut found, "under"),
            '>' => word(&mut found, "over"),
            '@' => word(&mut found, "@"),
            '-' | '/' | '.' | '_' | '\u{2010}'..='\u{2015}' => marks.joined = ended && next_is_word,
            _ => {}
        }
    }
    push(&mut found, &mut text, &mut marks);
    found
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}' | '\u{2bc}' | '\u{b4}' | '`')
}

/// Returns true when a mark after a text may mean feet or inches: after a small number, and before
/// no letter.
fn is_length(text: &str, chars: &[char], at: usize) -> bool {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let letter_follows = chars.get(at + 1).is_some_and(|next| next.is_alphabetic());
    is_number
        && text.len() <= 4
        && text.parse().is_ok_and(|value: f32| value < 200.0)
        && !letter_follows
}

/// Returns true when `/100` follows, as in `6.5L/100km`.
fn is_per_100(chars: &[char], at: usize) -> bool {
    chars.get(at + 1..at + 4).is_some_and(|next| next == ['1', '0', '0'])
}

/// Returns true when a hyphen or exclamation mark excludes the word after it, as in web searches.
fn is_minus(chars: &[char], at: usize) -> bool {
    let is_first = at == 0 || chars.get(at - 1) == Some(&' ');
    is_first && chars.get(at + 1).is_some_and(|next| next.is_alphabetic())
}

/// Joins tokens to one word.
pub(super) fn together(run: &[QueryToken]) -> String {
    let mut text = String::with_capacity(run.iter().map(|token| token.text.len()).sum());
    run.iter().for_each(|token| text.push_str(&token.text));
    text
}

/// Ends a token. Returns true when there was one.
fn push(found: &mut Vec<QueryToken>, text: &mut String, marks: &mut PrecedingMarks) -> bool {
    if text.is_empty() {
        return false;
    }
    let PrecedingMarks { money, joined, after_pause } = std::mem::take(marks);
    // A pause before the first word separates nothing.
    let after_pause = after_pause && !found.is_empty();
    found.push(QueryToken { text: std::mem::take(text), money, plus: false, joined, after_pause });
    true
}

fn word(found: &mut Vec<QueryToken>, text: &str) {
    found.push(QueryToken::plain(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let shown = tokens(query).into_iter().map(|token| {
            let QueryToken { text, money, plus, joined, after_pause: _ } = token;
            let marks = [(money, "$"), (joined, "~")];
            let before: String =
                marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect();
            format!("{before}{text}{}", if plus { "+" } else { "" })
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{query}");
    }

    #[test]
    fn a_query_is_cut_where_its_words_end() {
        check("Ford F-150, XLT", &["ford", "f", "~150", "xlt"]);
        check("under $40,000 (or 35.5k)", &["under", "$40000", "or", "35.5k"]);
        check("2018-2020 suv/truck", &["2018", "~2020", "suv", "or", "truck"]);
        check("1,2,345", &["1", "2345"]);
        check("$20k-$30k $5", &["$20k", "$~30k", "$5"]);
        check("300/mo", &["300", "~mo"]);
        check("C/K 2.0T SE+ w/ roof", &["c", "~k", "2.0t", "se+", "w", "roof"]);
        check("<30k & isn't", &["under", "30k", "and", "isnt"]);
        check("ask jo@example.com", &["ask", "@"]);
        check("suv -honda - cheap", &["suv", "not", "honda", "cheap"]);
        check("6.5' bed 20\" wheels", &["6.5", "ft", "bed", "20", "inch", "wheels"]);
        check("\"ford 150\" '90s", &["ford", "150", "90s"]);
        check("don\u{2bc}t \u{20ac}20k 5%", &["dont", "euros", "20k", "5", "percent"]);
        check(" -- $ + ", &[]);
    }
}
