//! Folding of texts to keys (C-39): spellings that differ in case, white space, punctuation or by a
//! synonym of the vocabulary have the same key. Keys are compared and sorted, never displayed.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::vocabulary::vocabulary;

/// Kind of text; it determines the synonyms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// Text without synonyms: model, trim, rooftop.
    #[default]
    Plain,
    /// A stock number or VIN: compared without case and surrounding white space, otherwise as is.
    Identifier,
    Make,
    Body,
    Colour,
    Fuel,
    Transmission,
    Driveline,
    Condition,
}

/// Returns the key of a value. It is empty for a text without content, such as `-`: the vehicle
/// then counts as without that value.
pub(crate) fn fold(field: TextKind, text: &str) -> String {
    let key = match field {
        TextKind::Identifier => return lower(text.trim()),
        TextKind::Colour => colour_key(&phrase_key(text)).into_owned(),
        TextKind::Plain
        | TextKind::Make
        | TextKind::Body
        | TextKind::Fuel
        | TextKind::Transmission
        | TextKind::Driveline
        | TextKind::Condition => phrase_key(text),
    };
    vocabulary().whole(field, &key).map_or(key, str::to_owned)
}

/// Returns the key of a colour for its phrase key, which has one spelling of gray.
pub(super) fn colour_key(key: &str) -> Cow<'_, str> {
    if key.contains("grey") { key.replace("grey", "gray").into() } else { key.into() }
}

/// Splits a text into words in lower case, at characters other than letters and digits.
pub(crate) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(lower).collect()
}

/// Returns a text in lower case without the accents of its letters.
pub(crate) fn without_accents(text: &str) -> String {
    lower(text).nfd().filter(|letter| !is_combining_mark(*letter)).nfc().collect()
}

/// Returns a word without the `s` of a plural, unless little remains of it.
pub(super) fn plural_stem(word: &str) -> Option<&str> {
    word.strip_suffix('s').filter(|stem| stem.chars().count() > 2)
}

/// Trims a text and collapses repeated white space, for display.
pub(crate) fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Keeps letters and digits in lower case, with two exceptions that distinguish cars: a plus
/// (`SE+`) and a decimal point between digits (`2.0T`). `&` becomes `and`.
pub(crate) fn phrase_key(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
        if c.is_alphanumeric() {
            key.extend(c.to_lowercase());
        } else if c == '+' || c == '.' && digit(before.as_ref()) && digit(rest.peek()) {
            key.push(c);
        } else if c == '&' {
            key.push_str("and");
        }
        before = Some(c);
    }
    key
}

/// Converts to lower case character by character, so that the result does not depend on the
/// context.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::TextKind::{Body, Colour, Driveline, Fuel, Make, Transmission};
    use super::*;

    #[track_caller]
    fn same(field: TextKind, spellings: &[&str]) {
        for spelling in spellings {
            assert_eq!(fold(field, spelling), fold(field, spellings[0]), "{spelling}");
        }
    }

    #[test]
    fn spellings_of_one_thing_fold_together_c_39() {
        same(TextKind::Plain, &["F-150", "F150", "f 150", " F – 150\t"]);
        same(TextKind::Plain, &["Town & Country", "town and country"]);
        same(Make, &["Chevrolet", "CHEVY", " chevy "]);
        same(Make, &["Volkswagen", "VW", "V.W."]);
        same(Make, &["Mercedes-Benz", "Mercedes", "mercedes benz"]);
        same(Fuel, &["Gasoline", "gas"]);
        same(Fuel, &["Electric", "EV", "BEV", "Battery Electric"]);
        same(Transmission, &["Automatic", "auto", "A"]);
        same(Transmission, &["Manual", "m", "Stick", "stick-shift"]);
        same(Driveline, &["4WD", "4x4", "4-Wheel Drive", "four wheel drive"]);
        same(Driveline, &["FWD", "Front-Wheel Drive", "front wheel drive", "front"]);
        same(Driveline, &["AWD", "All-wheel drive"]);
        same(Driveline, &["RWD", "rear", "Rear-Wheel Drive"]);
        same(Body, &["SUV", "Sport Utility", "sport utility vehicle"]);
        same(Colour, &["Dark Grey", "dark gray"]);
        same(TextKind::Identifier, &[" A-17 ", "a-17"]);
    }

    #[test]
    fn different_things_stay_apart_c_39() {
        for (field, one, other) in [
            (Driveline, "4WD", "AWD"),
            (Driveline, "4x4", "all-wheel drive"),
            (TextKind::Plain, "SE", "SE+"),
            (TextKind::Plain, "2.0T", "20T"),
            (Fuel, "Hybrid", "Plug-in Hybrid"),
            (TextKind::Identifier, "A-17", "A17"),
        ] {
            assert_ne!(fold(field, one), fold(field, other), "{one} {other}");
        }
    }

    #[test]
    fn a_value_without_letters_and_digits_says_nothing() {
        assert_eq!(fold(TextKind::Plain, " - "), "");
        assert_eq!(fold(Colour, "\u{2014}"), "");
        assert_eq!(fold(TextKind::Identifier, "  "), "");
    }

    #[test]
    fn words_are_split_at_everything_else() {
        assert_eq!(words("Ford F-150 (XLT)"), ["ford", "f", "150", "xlt"]);
        assert!(words(" -- ").is_empty());
    }
}
