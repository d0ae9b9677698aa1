//! Searches that found no vehicle, as they are remembered: without the personal parts of their
//! texts.

use tradepost_aap::Filters;
use tradepost_document::json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::inventory::QueryReading;

/// Maximum length of a remembered question, in characters.
const LONGEST_QUESTION: usize = 120;

/// Maximum length of a remembered reading, in characters.
const LONGEST_READING: usize = 240;

/// Maximum length of what is looked at, in characters.
const LONGEST_READ: usize = 2_000;

/// Maximum length of a word, in characters. Longer ones are keys and addresses.
const LONGEST_WORD: usize = 40;

/// Number of digits from which on a number may be that of a telephone.
const SHORTEST_PHONE_NUMBER: usize = 7;

/// Number of words behind a phrase of [`NAMING`] that may be a name.
const WORDS_OF_A_NAME: usize = 2;

/// Pairs of words after which people give their name, in English and Spanish.
const NAMING: [[&str; 2]; 3] = [["name", "is"], ["me", "llamo"], ["nombre", "es"]];

/// Stands for what was removed.
const REMOVED: &str = "…";

/// Text about a search that may be stored: short, on one line, and without words that contain an
/// `@` or a link, without numbers that are as long as those of telephones, and without names behind
/// a phrase that announces one. It can be made in no other way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmptySearchText(String);

impl EmptySearchText {
    /// Creates the text of a question: its words in lower case, and its filters. `None` for a search
    /// that names nothing.
    #[must_use]
    pub fn from_filters(filters: &Filters) -> Option<Self> {
        let plain = Filters { query: None, ..filters.clone() };
        let named = QueryReading { filters: plain, sort: None, rest: None }.to_json();
        let mut parts: Vec<String> = filters.query.iter().map(|text| text.to_lowercase()).collect();
        parts.extend(named.iter().map(|(name, value)| format!("{name} {}", in_words(value))));
        let text = shortened(&impersonal(&parts.join(" · ")), LONGEST_QUESTION);
        (!text.is_empty()).then_some(Self(text))
    }

    /// Creates the text of how a search was read, which the agent was told.
    #[must_use]
    pub fn from_reading(reading: &str) -> Self {
        Self(shortened(&impersonal(reading), LONGEST_READING))
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A word of a text.
struct Word<'t> {
    text: &'t str,
    is_personal: bool,
}

impl Word<'_> {
    fn digits(&self) -> usize {
        self.text.chars().filter(|c| c.is_numeric()).count()
    }

    /// Returns true for a number, and for what may stand between its parts.
    fn is_of_number(&self) -> bool {
        !self.text.chars().any(char::is_alphabetic)
    }
}

/// Returns a text on one line without its personal parts.
fn impersonal(text: &str) -> String {
    // Compatible forms are one: a full-width `＠` is an `@`, and a full-width digit a digit.
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = beginning(text).nfkc().map(plain).collect();
    let words = text.split_whitespace();
    let mut words: Vec<_> = words.map(|text| Word { text, is_personal: false }).collect();
    mark_words(&mut words);
    mark_names(&mut words);
    mark_numbers(&mut words);
    let runs = words.chunk_by(|one, next| one.is_personal == next.is_personal);
    let runs = runs.map(|run| match run {
        [Word { is_personal: true, .. }, ..] => REMOVED.to_owned(),
        run => run.iter().map(|word| word.text).collect::<Vec<_>>().join(" "),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// Returns the whole words at the beginning of a text.
fn beginning(text: &str) -> &str {
    match text.char_indices().nth(LONGEST_READ) {
        None => text,
        // The rest of a word that is cut could not be recognised.
        Some((end, _)) => {
            let cut = text.get(..end).unwrap_or_default();
            cut.rsplit_once(char::is_whitespace).map_or("", |(whole, _)| whole)
        }
    }
}

/// Marks addresses, links, and words that are too long. What stands beside a lone `@` is a part of
/// the address.
fn mark_words(words: &mut [Word<'_>]) {
    for place in 0..words.len() {
        let Some(word) = words.get_mut(place) else { continue };
        let text = word.text;
        let is_link = text.contains("://") || text.to_lowercase().starts_with("www.");
        word.is_personal |= text.contains('@') || is_link || text.chars().count() > LONGEST_WORD;
        let before = place.checked_sub(1).filter(|_| text.starts_with('@'));
        let after = Some(place + 1).filter(|_| text.ends_with('@'));
        for beside in before.into_iter().chain(after) {
            if let Some(word) = words.get_mut(beside) {
                word.is_personal = true;
            }
        }
    }
}

/// Marks the words behind a phrase that announces a name.
fn mark_names(words: &mut [Word<'_>]) {
    for place in 0..words.len() {
        let pair = words.get(place..place + 2).unwrap_or_default();
        let pair: Vec<String> = pair.iter().map(|word| word.text.to_lowercase()).collect();
        if NAMING.iter().any(|naming| *naming == *pair) {
            let name = words.iter_mut().skip(place + 2).take(WORDS_OF_A_NAME);
            name.for_each(|word| word.is_personal = true);
        }
    }
}

/// Marks numbers as long as those of telephones, also with spaces in them.
fn mark_numbers(words: &mut [Word<'_>]) {
    for run in words.chunk_by_mut(|one, next| one.is_of_number() && next.is_of_number()) {
        if run.iter().map(Word::digits).sum::<usize>() >= SHORTEST_PHONE_NUMBER {
            run.iter_mut().for_each(|word| word.is_personal = true);
        }
    }
}

/// Shortens a text to whole words.
fn shortened(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let cut: String = text.chars().take(longest - 1).collect();
    let whole = cut.rsplit_once(' ').map_or(cut.as_str(), |(whole, _)| whole);
    format!("{whole}{REMOVED}")
}

/// Writes the value of a filter.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(query: &str) -> String {
        let filters = Filters { query: Some(query.to_owned()), ..Filters::default() };
        let text = EmptySearchText::from_filters(&filters);
        text.map(|text| text.as_str().to_owned()).unwrap_or_default()
    }

    #[test]
    fn addresses_numbers_links_and_names_are_removed() {
        for (query, kept) in [
            ("Red  Rivian\tunder $40,000", "red rivian under $40,000"),
            ("suv, mail ada@example.com please", "suv, mail … please"),
            ("suv ada @ example.com", "suv …"),
            ("suv ada＠example.com", "suv …"),
            ("call 303-555-0123 about the suv", "call … about the suv"),
            ("call +1 (303) 555 - 0123", "call …"),
            ("call ３０３５５５０１２３", "call …"),
            ("call ٣٠٣٥٥٥٠١٢٣", "call …"),
            ("vin 1HGCM82633A004352", "vin …"),
            ("My name is Ada Lovelace, hybrid", "my name is … hybrid"),
            ("me llamo Ada Lovelace camioneta", "me llamo … camioneta"),
            ("see https://example.com/ada or www.example.com", "see … or …"),
            ("between 20k and 30k, 2020 or newer", "between 20k and 30k, 2020 or newer"),
            (&"x".repeat(41), "…"),
            ("", ""),
            (" \u{7} ", ""),
        ] {
            assert_eq!(asked(query), kept, "{query}");
        }
    }

    #[test]
    fn a_question_is_one_short_line_with_its_filters() {
        let long = asked(&"kombobulator ".repeat(15));
        assert!(long.ends_with("kombobulator…") && long.chars().count() <= LONGEST_QUESTION);
        let filters = Filters {
            query: Some("Sunroof".to_owned()),
            make: vec!["Nissan".to_owned(), "Kia".to_owned()],
            price_max: Some(20_000),
            ..Filters::default()
        };
        let text = EmptySearchText::from_filters(&filters).unwrap();
        assert_eq!(text.as_str(), "sunroof · make Nissan, Kia · price_max 20000");
        assert_eq!(EmptySearchText::from_filters(&Filters::default()), None);
    }

    proptest! {
        #[test]
        fn no_long_number_and_no_address_is_kept(
            text in "([a-z0-9@＠٣３ .()+-]|\\PC){0,300}",
            make in "([0-9@ -]|\\PC){0,60}",
        ) {
            let filters = Filters {
                query: Some(text.clone()),
                make: vec![make],
                ..Filters::default()
            };
            let kept = EmptySearchText::from_filters(&filters);
            let kept = kept.iter().map(EmptySearchText::as_str);
            let reading = EmptySearchText::from_reading(&text);
            for kept in kept.chain([reading.as_str()]) {
                prop_assert!(!kept.contains(['@', '＠', '﹫']), "{kept}");
                let mut run = 0;
                for c in kept.chars() {
                    run = if c.is_numeric() { run + 1 } else { 0 };
                    prop_assert!(run < SHORTEST_PHONE_NUMBER, "{kept}");
                }
                prop_assert!(kept.chars().count() <= LONGEST_READING);
                prop_assert!(!kept.chars().any(char::is_control));
            }
        }
    }
}
