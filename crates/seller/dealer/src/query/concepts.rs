//! Concepts of features, read once from `data/words/features.txt`: a sunroof is a moonroof, and a
//! rear view camera is a backup camera. The texts of listings are classified when an index is
//! built, and the words of a question when it is read.

use std::sync::LazyLock;

use foldhash::{HashMap, HashSet};

use super::fold::{plural_stem, words};
use super::vocabulary::vocabulary;

const FEATURES: &str = include_str!("../../data/words/features.txt");

static CONCEPTS: LazyLock<FeatureConcepts> = LazyLock::new(FeatureConcepts::read);

/// Maximum number of words between two words of a phrase: `heated driver and passenger seats`.
const LONGEST_GAP: usize = 3;

/// Words that show a concept in a question, and in a listing only with the exclusions of its line.
const BARE: [&str; 1] = ["leather"];

/// A phrase that shows a concept.
#[derive(Debug)]
struct ConceptPhrase {
    words: Vec<String>,
    /// Words that must not be in the text.
    excluded: Vec<String>,
    concept: &'static str,
}

/// The table of concepts.
#[derive(Debug, Default)]
pub(crate) struct FeatureConcepts {
    phrases: Vec<ConceptPhrase>,
    /// Phrases by their first word.
    by_word: HashMap<String, Vec<usize>>,
    /// Concepts by the phrases of shoppers, without spaces.
    asked: HashMap<String, Vec<&'static str>>,
    /// First words of the phrases of shoppers.
    starts: HashSet<String>,
    /// Nouns that end a phrase: `heated steering wheel and leather seats` has no heated seats.
    nouns: Vec<String>,
}

/// Returns the table of concepts.
pub(crate) fn concepts() -> &'static FeatureConcepts {
    &CONCEPTS
}

/// Returns a word without the ending of a plural.
fn singular(word: &str) -> &str {
    plural_stem(word).unwrap_or(word)
}

fn singulars(text: &str) -> Vec<String> {
    words(text).iter().map(|word| singular(word).to_owned()).collect()
}

impl FeatureConcepts {
    /// Returns the concepts of a text of a listing.
    pub(crate) fn of_text(&self, text: &str) -> Vec<&'static str> {
        let mut found = Vec::new();
        for part in text.split([',', ';', '(', ')', '|']) {
            let words = singulars(part);
            found.extend(self.phrases_in(&words).map(|phrase| phrase.concept));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns true when a phrase of a question may begin with a word. Most words are ruled out by
    /// it.
    pub(super) fn may_start(&self, word: &str) -> bool {
        self.starts.contains(singular(word))
    }

    /// Returns the concept that a phrase of a question names, by its words in lower case. The one
    /// with the fewest other names is the most specific.
    pub(super) fn of_phrase(&self, run: &[&str]) -> Option<&'static str> {
        let key: String = run.iter().map(|word| singular(word)).collect();
        self.asked.get(&key).and_then(|concepts| concepts.first()).copied()
    }

    /// Returns the concepts of a phrase of a question that has other words between, as in `heated
    /// and cooled seats`. Without any, a word of it belongs to no concept.
    pub(super) fn of_spread_phrase(&self, run: &[&str]) -> Vec<&'static str> {
        let is_filler = |word: &str| vocabulary().meaning_of("filler", word).is_some();
        let ends_mean = run.first().zip(run.last());
        if run.len() < 3 || ends_mean.is_none_or(|(one, other)| is_filler(one) || is_filler(other))
        {
            return Vec::new();
        }
        let text: Vec<String> = run.iter().map(|word| singular(word).to_owned()).collect();
        let mut found = Vec::new();
        let mut covered = vec![false; text.len()];
        for phrase in self.phrases_in(&text) {
            let key: String = phrase.words.concat();
            let is_asked =
                self.asked.get(&key).is_some_and(|all| all.first() == Some(&phrase.concept));
            // `button start and remote` is no remote start.
            let places = phrase.words.iter().map(|word| text.iter().position(|mine| mine == word));
            let is_in_order = places.is_sorted();
            if phrase.words.len() < 2 || !is_asked || !is_in_order {
                continue;
            }
            for (word, covered) in text.iter().zip(&mut covered) {
                *covered |= phrase.words.contains(word);
            }
            if !found.contains(&phrase.concept) {
                found.push(phrase.concept);
            }
        }
        let mut words = run.iter().zip(&covered);
        let is_read = words.all(|pair| *pair.1 || is_filler(pair.0));
        if is_read { found } else { Vec::new() }
    }

    /// Iterates over the first words of phrases, for the correction of misspellings.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.by_word.keys().map(String::as_str)
    }

    /// Iterates over the concepts.
    #[cfg(test)]
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let mut names: Vec<&'static str> =
            self.phrases.iter().map(|phrase| phrase.concept).collect();
        names.dedup();
        names.into_iter()
    }

    /// Iterates over the phrases that a text has.
    fn phrases_in<'a>(&'a self, text: &'a [String]) -> impl Iterator<Item = &'a ConceptPhrase> {
        let starting = text.iter().filter_map(|word| self.by_word.get(word)).flatten();
        let phrases = starting.filter_map(|number| self.phrases.get(*number));
        phrases.filter(|phrase| self.has(text, phrase))
    }

    /// Returns true when a text has the words of a phrase near each other.
    fn has(&self, text: &[String], phrase: &ConceptPhrase) -> bool {
        if phrase.excluded.iter().any(|word| text.contains(word)) {
            return false;
        }
        if text.windows(phrase.words.len()).any(|window| window == phrase.words) {
            return true;
        }
        let mut places = Vec::with_capacity(phrase.words.len());
        for word in &phrase.words {
            let Some(place) = text.iter().position(|mine| mine == word) else { return false };
            places.push(place);
        }
        places.sort_unstable();
        places.windows(2).all(|pair| match pair {
            [one, next] => {
                let between = text.get(one + 1..*next).unwrap_or_default();
                one < next
                    && between.len() <= LONGEST_GAP
                    && !between.iter().any(|word| self.nouns.contains(word))
            }
            _ => true,
        })
    }

    fn read() -> Self {
        let mut this = Self::default();
        for line in FEATURES.lines().filter(|line| !line.starts_with('#')) {
            let Some((concept, phrases)) = line.split_once(':') else { continue };
            if concept == "nouns" {
                this.nouns = words(phrases).iter().map(|word| singular(word).to_owned()).collect();
                continue;
            }
            let (asked, listed) = phrases.split_once('|').unwrap_or((phrases, ""));
            this.add(concept, concept, true);
            asked.split(',').for_each(|phrase| this.add(concept, phrase.trim(), true));
            listed.split(',').for_each(|phrase| this.add(concept, phrase.trim(), false));
        }
        this
    }

    fn add(&mut self, concept: &'static str, phrase: &'static str, is_asked: bool) {
        let excluded = phrase.split_whitespace().filter_map(|word| word.strip_prefix('-'));
        let excluded: Vec<String> = excluded.map(|word| singular(word).to_owned()).collect();
        let kept: Vec<&str> =
            phrase.split_whitespace().filter(|word| !word.starts_with('-')).collect();
        let words = singulars(kept.join(" ").trim_start_matches('?'));
        let Some(first) = words.first().cloned() else { return };
        if is_asked {
            self.starts.insert(first.clone());
            let known = self.asked.entry(words.concat()).or_default();
            // A later line is more specific: `panoramic roof` after `sunroof`.
            if !known.contains(&concept) {
                known.insert(0, concept);
            }
        }
        // A fabric alone may be that of a steering wheel, so a line's exclusions decide.
        let is_bare = is_asked && words.len() == 1 && BARE.contains(&first.as_str());
        if !phrase.starts_with('?') && !is_bare {
            self.by_word.entry(first).or_default().push(self.phrases.len());
            self.phrases.push(ConceptPhrase { words, excluded, concept });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_feeds_have_the_concepts_that_shoppers_name() {
        for (text, expected) in [
            ("Heated front seats", vec!["heated seats"]),
            ("Heated & Ventilated Front Seats", vec!["cooled seats", "heated seats"]),
            (
                "Heated steering wheel and leather seats",
                vec!["heated steering wheel", "leather seats"],
            ),
            ("Leather-Wrapped Steering Wheel", vec![]),
            ("Moonroof", vec!["sunroof"]),
            ("Panoramic Vista Roof", vec!["panoramic roof", "sunroof"]),
            ("Rear Vision Camera", vec!["backup camera"]),
            ("Apple CarPlay/Android Auto", vec!["android auto", "apple carplay"]),
            ("Blind-Spot Monitor", vec!["blind spot monitor"]),
            ("Electric parking brake", vec![]),
        ] {
            assert_eq!(concepts().of_text(text), expected, "{text}");
        }
        assert!(concepts().names().count() >= 80);
    }

    #[test]
    fn phrases_of_questions_name_the_nearest_concept() {
        assert_eq!(concepts().of_phrase(&["moonroof"]), Some("sunroof"));
        assert_eq!(concepts().of_phrase(&["panoramic", "roof"]), Some("panoramic roof"));
        assert_eq!(concepts().of_phrase(&["seat", "warmers"]), Some("heated seats"));
        assert_eq!(concepts().of_phrase(&["red"]), None);
        let both = concepts().of_spread_phrase(&["heated", "and", "cooled", "seats"]);
        assert_eq!(both, ["heated seats", "cooled seats"]);
        assert_eq!(concepts().of_spread_phrase(&["heated", "red", "seats"]), [""; 0]);
    }
}
