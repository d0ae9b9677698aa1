//! Other languages than English. A language is a table of phrases with their English ones: a query
//! that has a word of a language is translated phrase by phrase, and read as English.

use std::sync::LazyLock;

use foldhash::{HashMap, HashSet};

use super::super::fold::without_accents;
use super::super::lexicon::Lexicon;
use super::super::spelling::is_listed_english;
use super::super::tokens::{QueryToken, tokens};
use super::super::vocabulary::vocabulary;

/// The languages: another one is another file.
static LANGUAGES: LazyLock<Vec<Language>> =
    LazyLock::new(|| vec![Language::read("Spanish", include_str!("../../../data/words/es.txt"))]);

/// Maximum number of words of a phrase.
const LONGEST: usize = 6;

/// A language with its phrases.
#[derive(Debug)]
struct Language {
    name: &'static str,
    /// English words by phrase, whose words are joined by spaces.
    phrases: HashMap<String, Vec<QueryToken>>,
    /// Phrases that count between two numbers only.
    between_numbers: HashSet<String>,
    /// Words that show the language.
    words: HashSet<String>,
    /// Common words, which are never corrected.
    common: HashSet<String>,
}

/// Returns true when a word is a common one of another language.
pub(super) fn is_common(word: &str) -> bool {
    LANGUAGES.iter().any(|language| language.common.contains(word))
}

/// Translates a query where it is written in another language, and returns the name of the
/// language. Accents are dropped from words that the inventory does not write with them.
pub(super) fn translate(asked: &mut Vec<QueryToken>, lexicon: &Lexicon) -> Option<&'static str> {
    for token in asked.iter_mut().filter(|token| !token.text.is_ascii()) {
        let is_known = !lexicon.senses(&token.text).is_empty()
            || vocabulary().is_phrase(&token.text)
            || lexicon.starting_with(&token.text).next().is_some();
        if !is_known {
            token.text = without_accents(&token.text);
        }
    }
    let language = LANGUAGES.iter().find(|language| language.is_spoken(asked, lexicon))?;
    let mut translated: Vec<QueryToken> = Vec::with_capacity(asked.len());
    let mut at = 0;
    while let Some(token) = asked.get(at) {
        let phrase = (1..=LONGEST).rev().find_map(|length| {
            let run = asked.get(at..at + length)?;
            // A pause within a phrase separates two.
            let is_whole = run.iter().skip(1).all(|token| !token.after_pause);
            let words: Vec<String> = run.iter().map(|token| without_accents(&token.text)).collect();
            let key = words.join(" ");
            let is_apt = !language.between_numbers.contains(&key)
                || translated.last().is_some_and(ends_number)
                    && asked.get(at + length).is_some_and(begins_number);
            let english = language.phrases.get(&key).filter(|_| is_whole && is_apt)?;
            Some((length, english))
        });
        match phrase {
            Some((length, english)) => {
                for (place, word) in english.iter().enumerate() {
                    let after_pause = place == 0 && token.after_pause;
                    translated.push(QueryToken { after_pause, ..word.clone() });
                }
                at += length;
            }
            None => {
                translated.push(token.clone());
                at += 1;
            }
        }
    }
    *asked = translated;
    Some(language.name)
}

fn begins_number(token: &QueryToken) -> bool {
    token.text.starts_with(|c: char| c.is_ascii_digit())
}

fn ends_number(token: &QueryToken) -> bool {
    begins_number(token) || vocabulary().meaning_of("unit", &token.text).is_some()
}

impl Language {
    fn read(name: &'static str, table: &'static str) -> Self {
        let mut this = Self {
            name,
            phrases: HashMap::default(),
            between_numbers: HashSet::default(),
            words: HashSet::default(),
            common: HashSet::default(),
        };
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let Some((english, phrases)) = line.split_once(':') else { continue };
            if english == "common" {
                this.common.extend(phrases.split_whitespace().map(without_accents));
                continue;
            }
            // The words of the line `ignored` have no English one.
            let english = if english == "ignored" { "" } else { english };
            for phrase in phrases.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()) {
                let words: Vec<String> = phrase
                    .trim_start_matches('~')
                    .split_whitespace()
                    .map(without_accents)
                    .collect();
                if phrase.starts_with('~') {
                    this.between_numbers.insert(words.join(" "));
                }
                this.words.extend(words.iter().cloned());
                this.phrases.insert(words.join(" "), tokens(english));
            }
        }
        this
    }

    /// Returns true when a query has a word of this language that is neither English nor a name.
    fn is_spoken(&self, tokens: &[QueryToken], lexicon: &Lexicon) -> bool {
        tokens.iter().any(|token| {
            let word = token.text.as_str();
            // Of single letters only those are sure that no name of a car has.
            let is_sure = word.chars().count() > 1 || matches!(word, "o" | "y");
            is_sure
                && self.words.contains(word)
                && !word.starts_with(|c: char| c.is_ascii_digit())
                && !is_listed_english(word)
                && vocabulary().name(word).is_none()
                && lexicon.senses(word).is_empty()
                && vocabulary().meaning_of("ignored", word).is_none()
                && vocabulary().meaning_of("word", word).is_none()
                && vocabulary().meaning_of("unit", word).is_none()
                && !vocabulary().is_class(word)
                && !vocabulary().is_class(word.trim_end_matches('s'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tokens::{together, tokens};
    use super::*;

    #[test]
    fn a_query_is_translated_when_it_is_spanish() {
        for (query, expected) in [
            ("híbridos de menos de 20 mil", "hybrid under 20 thousand"),
            ("de 20 mil a 30 mil", "20 thousand to 30 thousand"),
            ("anything but a azul", "anything but a blue"),
            ("híbrido enchufable", "plug in hybrid"),
            ("asientos con calefacción", "heated seats"),
            ("honda civic or accord", "honda civic or accord"),
        ] {
            let mut words = tokens(query);
            translate(&mut words, &Lexicon::default());
            let words: Vec<String> =
                words.iter().map(|token| together(std::slice::from_ref(token))).collect();
            assert_eq!(words.join(" "), expected, "{query}");
        }
    }
}
