//! A query cut into tokens. What tells amounts, ranges and names apart stays visible: a dollar
//! sign, a plus, and what was joined by a hyphen.

/// A word or a number of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// Lower case letters and digits, and a decimal point between digits.
    pub(super) text: String,
    /// A dollar sign stood before it.
    pub(super) money: bool,
    /// A plus stood behind it.
    pub(super) plus: bool,
    /// A hyphen or the like joins it to the one before.
    pub(super) joined: bool,
}

/// The tokens of a query. `/` between words reads `or`, `&` reads `and`, and `<` and `>` read as
/// the words for them.
pub(super) fn tokens(query: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut text = String::new();
    let (mut money, mut joined) = (false, false);
    // Nobody's address is said back.
    let query = query.split_whitespace().map(|word| if word.contains('@') { "@" } else { word });
    let chars: Vec<char> = query.collect::<Vec<_>>().join(" ").chars().collect();
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    for (at, c) in chars.iter().copied().enumerate() {
        let between_digits = at > 0 && digit(at - 1) && digit(at + 1);
        match c {
            c if c.is_alphanumeric() => {
                text.extend(c.to_lowercase());
                continue;
            }
            '.' if between_digits => {
                text.push('.');
                continue;
            }
            // A thousand: what follows are three digits and no fourth.
            ',' if between_digits && digit(at + 2) && digit(at + 3) && !digit(at + 4) => continue,
            // `don't` and `dealer's` stay one word.
            '\'' | '\u{2019}' if !text.is_empty() => continue,
            _ => {}
        }
        // `SUV/truck` means either; `w/` and `3/4` mean something else.
        let long = text.chars().count() > 2 && !text.ends_with(|c: char| c.is_ascii_digit());
        let ended = push(&mut found, &mut text, &mut money, &mut joined);
        let next_is_word =
            chars.get(at + 1).is_some_and(|next| next.is_alphanumeric() || *next == '$');
        match c {
            '$' => {
                money = true;
                // `$20k-$30k` is one range.
                joined &= chars.get(at.wrapping_sub(1)) == Some(&'-');
            }
            '+' => {
                if let Some(last) = found.last_mut().filter(|_| ended) {
                    last.plus = true;
                }
            }
            '/' if long && next_is_word => word(&mut found, "or"),
            '&' => word(&mut found, "and"),
            '<' => word(&mut found, "under"),
            '>' => word(&mut found, "over"),
            '@' => word(&mut found, "@"),
            '-' | '/' | '.' | '_' | '\u{2010}'..='\u{2015}' => joined = ended && next_is_word,
            _ => {}
        }
    }
    push(&mut found, &mut text, &mut money, &mut joined);
    found
}

/// Tokens as one word.
pub(super) fn together(run: &[Token]) -> String {
    run.iter().map(|token| token.text.as_str()).collect()
}

/// Ends a token; whether there was one.
fn push(found: &mut Vec<Token>, text: &mut String, money: &mut bool, joined: &mut bool) -> bool {
    if text.is_empty() {
        return false;
    }
    found.push(Token {
        text: std::mem::take(text),
        money: std::mem::take(money),
        plus: false,
        joined: std::mem::take(joined),
    });
    true
}

fn word(found: &mut Vec<Token>, text: &str) {
    found.push(Token { text: text.to_owned(), money: false, plus: false, joined: false });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: &[&str]) {
        let shown = tokens(query).into_iter().map(|token| {
            let Token { text, money, plus, joined } = token;
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
        check(" -- $ + ", &[]);
    }
}
