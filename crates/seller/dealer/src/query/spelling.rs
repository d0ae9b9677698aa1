//! Correction of misspelt words.

use std::cmp::Reverse;
use std::sync::LazyLock;

use foldhash::HashSet;

/// Common English words, which are not corrected.
const ENGLISH: &str = include_str!("../../data/words/english.txt");

static ENGLISH_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| listed_words(ENGLISH).collect());

/// Iterates over the words of a list.
fn listed_words(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// Iterates over all words that are not corrected.
#[cfg(test)]
pub(crate) fn uncorrected_words() -> impl Iterator<Item = &'static str> {
    listed_words(ENGLISH)
}

/// Returns true when a word in lower case is in the list of common English words.
pub(super) fn is_listed_english(word: &str) -> bool {
    ENGLISH_WORDS.contains(word)
}

/// Returns true when a word in lower case is a common English word or a regular form of one, and
/// therefore neither a misspelling nor the beginning of a name.
pub(super) fn is_english(word: &str) -> bool {
    let is_known = |word: &str| ENGLISH_WORDS.contains(word);
    let endings = ["s", "es", "ed", "ing", "ly"];
    let stems = endings.iter().filter_map(|ending| word.strip_suffix(ending));
    // `driving` is a form of `drive`, `stopping` one of `stop`.
    let is_base = |stem: &str| {
        let mut letters = stem.chars();
        letters.next_back();
        stem.len() > 2
            && (is_known(stem) || is_known(&format!("{stem}e")) || is_known(letters.as_str()))
    };
    is_known(word) || stems.into_iter().any(is_base)
}

/// Returns the number of wrong letters that are corrected without asking.
fn tolerance(letters: usize) -> usize {
    match letters {
        0..=3 => 0,
        4..=6 => 1,
        _ => 2,
    }
}

/// Returns the candidate nearest to a misspelt word. Of equally near ones, the one with the same
/// first letter wins, and then the lower rank.
pub(super) fn correct<'a>(
    word: &str,
    candidates: impl Iterator<Item = (u8, &'a str)>,
) -> Option<&'a str> {
    let letters = word.chars().count();
    let most = tolerance(letters);
    // Another digit would mean another car.
    if most == 0 || !word.chars().all(char::is_alphabetic) {
        return None;
    }
    let first = word.chars().next();
    let letters_of_word = alphabet(word);
    let distance = |candidate: &'a str| {
        // Most candidates are ruled out without an edit distance.
        let length = candidate.chars().count();
        // A substituted letter counts as one missing and one additional.
        let others = (alphabet(candidate) ^ letters_of_word).count_ones() as usize;
        (length > 3 && length.abs_diff(letters) <= most && others <= 2 * most)
            .then(|| strsim::osa_distance(word, candidate))
            .filter(|distance| *distance <= most)
    };
    let near = candidates.filter_map(|(rank, candidate)| {
        Some((distance(candidate)?, candidate.chars().next() != first, rank, candidate))
    });
    near.min().map(|(.., candidate)| candidate)
}

/// Returns the set of a word's letters, one bit each; other characters share a bit.
fn alphabet(word: &str) -> u32 {
    word.bytes().fold(0, |bits, byte| {
        let letter = byte.wrapping_sub(b'a');
        bits | 1 << if letter < 26 { letter } else { 26 }
    })
}

/// Returns the most similar texts, the nearest first: suggestions, which may differ more than a
/// correction.
pub(crate) fn nearest<'a>(
    wanted: &str,
    texts: &[(&'a str, usize)],
    most: usize,
) -> Vec<(&'a str, usize)> {
    let fold = |text: &str| super::fold::phrase_key(text);
    let wanted = fold(wanted);
    let alike = |text: &str| {
        let text = fold(text);
        if wanted.is_empty() || text.is_empty() {
            return None;
        }
        let distance = strsim::osa_distance(&wanted, &text);
        let letters = wanted.chars().count().max(text.chars().count());
        // A part of a name is similar, however long the name is. Two letters are part of nearly
        // anything.
        let contained = wanted.len() > 2 && (text.contains(&wanted) || wanted.contains(&text));
        (distance * 3 <= letters || contained).then_some(distance)
    };
    let mut found: Vec<(usize, &'a str, usize)> =
        texts.iter().filter_map(|(text, count)| Some((alike(text)?, *text, *count))).collect();
    found.sort_by_key(|(distance, text, count)| (*distance, Reverse(*count), *text));
    found.truncate(most);
    found.into_iter().map(|(_, text, count)| (text, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_corrected_within_reason() {
        let known = ["honda", "hyundai", "toyota", "camry", "cherokee", "chevrolet", "blue", "fit"];
        for (word, expected) in [
            ("hoonda", Some("honda")),
            ("hundai", Some("hyundai")),
            ("toyta", Some("toyota")),
            ("camery", Some("camry")),
            ("chevorlet", Some("chevrolet")),
            ("cheroke", Some("cherokee")),
            ("bleu", Some("blue")),
            ("bluetooth", None),
            ("fir", None),
            ("glue2", None),
            ("spaceship", None),
        ] {
            let known = known.into_iter().map(|known| (0, known));
            assert_eq!(correct(word, known), expected, "{word}");
        }
        let ranked = [(1, "kona"), (0, "kina")];
        assert_eq!(correct("kuna", ranked.into_iter()), Some("kina"));
    }

    #[test]
    fn forms_of_common_words_are_common() {
        for word in ["need", "needs", "driving", "stopped", "wishes", "quickly", "reliable"] {
            assert!(is_english(word), "{word}");
        }
        for word in ["honda", "hoonda", "camry", "blu", "cherokees"] {
            assert!(!is_english(word), "{word}");
        }
    }

    #[test]
    fn values_that_look_alike_are_suggested() {
        let makes = [("Hyundai", 8), ("Honda", 30), ("Land Rover", 2), ("Kia", 5)];
        assert_eq!(nearest("Hundai", &makes, 3), [("Hyundai", 8), ("Honda", 30)]);
        assert_eq!(nearest("Rover", &makes, 3), [("Land Rover", 2)]);
        assert_eq!(nearest("Duesenberg", &makes, 3), []);
        assert_eq!(nearest("-", &makes, 3), []);
    }
}
