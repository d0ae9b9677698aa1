//! The words of the trade, read once from the tables in `data/words`.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::fold::{Field, squeeze, words};

const VOCABULARY: &str = include_str!("../../data/words/vocabulary.txt");
const COLOURS: &str = include_str!("../../data/words/colours.txt");
const MODELS: &str = include_str!("../../data/words/models.txt");
const SEATS: &str = include_str!("../../data/words/seats.txt");

static TABLES: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::read);

/// Squeezed phrases and what they mean.
pub(super) type Table = HashMap<String, &'static str>;

/// A phrase that classifies the values it occurs in.
type Mark = (Vec<String>, &'static str);

/// The tables of `data/words`.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    /// By kind of line: what is said.
    said: HashMap<&'static str, Table>,
    /// The squeezed phrases that are written as several words.
    spaced: HashSet<String>,
    /// By kind of line: what a whole value means.
    whole: HashMap<&'static str, Table>,
    /// By kind of line, in the order of the table.
    marks: HashMap<&'static str, Vec<Mark>>,
    /// By kind and meaning: what is meant as well.
    also: HashMap<(&'static str, &'static str), Vec<&'static str>>,
    /// Words that name a family of colours.
    colours: Table,
    /// Phrases that suggest one.
    hints: Vec<Mark>,
    /// Makes and models that exist.
    names: Table,
    /// Make and model of cars with three rows of seats.
    rows: HashSet<(String, String)>,
    /// How many seats a body has at least.
    seats: HashMap<&'static str, u32>,
}

/// The tables of `data/words`.
pub(crate) fn vocabulary() -> &'static Vocabulary {
    &TABLES
}

impl Vocabulary {
    /// What a whole value of an attribute means, by its squeezed text.
    pub(crate) fn whole(&self, field: Field, key: &str) -> Option<&'static str> {
        self.whole.get(field.kind()?)?.get(key).copied()
    }

    /// What a squeezed phrase means where it is said.
    pub(super) fn said(&self, kind: &str, key: &str) -> Option<&'static str> {
        self.said.get(kind)?.get(key).copied()
    }

    /// Whether a squeezed phrase is written as several words.
    pub(super) fn is_spaced(&self, key: &str) -> bool {
        self.spaced.contains(key)
    }

    /// Every phrase that is said of cars, for telling misspellings.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = &str> {
        let kinds = KINDS.iter().filter_map(|(kind, _)| self.said.get(kind));
        let said = kinds.flat_map(HashMap::keys);
        said.chain(self.colours.keys()).map(String::as_str)
    }

    /// What else is meant by a word for one thing.
    pub(super) fn also(&self, field: Field, meaning: &'static str) -> &[&'static str] {
        let kind = field.kind().unwrap_or_default();
        self.also.get(&(kind, meaning)).map_or(&[], Vec::as_slice)
    }

    /// The class of a value: what it means as a whole, or the first phrase in it that says so.
    pub(crate) fn class(&self, field: Field, text: &str) -> Option<&'static str> {
        self.whole(field, &squeeze(text)).or_else(|| self.mark(field, text))
    }

    /// What a name says of an attribute of the car: never that it burns gas, as hybrids do too.
    pub(super) fn class_in_name(&self, field: Field, name: &str) -> Option<&'static str> {
        self.mark(field, name).filter(|class| *class != "gas")
    }

    fn mark(&self, field: Field, text: &str) -> Option<&'static str> {
        let words = words(text);
        let marks = self.marks.get(field.kind()?)?;
        marks.iter().find(|(mark, _)| contains(&words, mark)).map(|(_, class)| *class)
    }

    /// The families that a colour belongs to: those it names, and only where it names none, the
    /// one it suggests.
    pub(crate) fn families(&self, colour: &str) -> Vec<&'static str> {
        let mut words = words(colour);
        // What stands behind describes the roof.
        words.truncate(words.iter().position(|word| word == "with").unwrap_or(words.len()));
        let named = words.iter().filter_map(|word| self.colours.get(word).copied());
        let mut families: Vec<&'static str> = named.collect();
        if families.is_empty() {
            // Of several phrases the longest says most.
            let hints = self.hints.iter().filter(|(hint, _)| contains(&words, hint));
            // From the back, because of several that are as long `max_by_key` takes the
            // last: the table's first counts.
            let longest = hints.rev().max_by_key(|(hint, _)| hint.len());
            families.extend(longest.map(|(_, family)| *family));
        }
        families.sort_unstable();
        families.dedup();
        families
    }

    /// The family that a word names: the word for it, not a shade of it.
    pub(crate) fn family(&self, key: &str) -> Option<&'static str> {
        self.colours.get(key).copied().filter(|family| *family == key)
    }

    /// The family of a colour that no listing names so.
    pub(super) fn family_of_shade(&self, word: &str) -> Option<&'static str> {
        let named = self.colours.get(word).copied();
        named.or_else(|| {
            let hint =
                self.hints.iter().find(|(hint, _)| matches!(hint.as_slice(), [one] if one == word));
            hint.map(|(_, family)| *family)
        })
    }

    /// A make or model that exists, as it is written.
    pub(crate) fn name(&self, key: &str) -> Option<&'static str> {
        self.names.get(key).copied()
    }

    /// The keys of every make and model that exists.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Whether every version of a model has three rows of seats.
    pub(super) fn has_three_rows(&self, make: &str, model: &str) -> bool {
        self.rows.contains(&(make.to_owned(), model.to_owned()))
    }

    /// How many seats a body has at least.
    pub(super) fn seats(&self, body: &str) -> Option<u32> {
        self.seats.get(body).copied()
    }

    fn read() -> Self {
        let mut this = Self::default();
        for (head, phrases) in lines(VOCABULARY) {
            let (kind, meaning) = head.split_once(' ').unwrap_or((head, head));
            match kind {
                "also" => this.read_also(meaning, phrases),
                _ => this.read_meaning(kind, meaning, phrases),
            }
        }
        this.read_colours();
        for (make, models) in lines(MODELS) {
            for name in std::iter::once(make).chain(list(models)) {
                this.names.insert(squeeze(name), name);
            }
        }
        for (make, models) in lines(SEATS) {
            match make.strip_prefix("body ") {
                Some(body) => {
                    let seats = models.trim().parse().ok();
                    this.seats.extend(seats.map(|seats| (body, seats)));
                }
                None => {
                    let key = this.whole(Field::Make, &squeeze(make)).map(str::to_owned);
                    let key = key.unwrap_or_else(|| squeeze(make));
                    let models = list(models).map(|model| (key.clone(), squeeze(model)));
                    this.rows.extend(models);
                }
            }
        }
        this
    }

    fn read_meaning(&mut self, kind: &'static str, meaning: &'static str, phrases: &'static str) {
        let said = self.said.entry(kind).or_default();
        let whole = self.whole.entry(kind).or_default();
        let marks = self.marks.entry(kind).or_default();
        for phrase in std::iter::once(meaning).chain(list(phrases)) {
            if phrase.contains(' ') {
                self.spaced.insert(squeeze(phrase));
            }
            match phrase.strip_prefix('~') {
                Some(alone) => {
                    whole.insert(squeeze(alone), meaning);
                }
                None => {
                    said.insert(squeeze(phrase), meaning);
                    whole.insert(squeeze(phrase), meaning);
                    marks.push((words(phrase), meaning));
                }
            }
        }
    }

    fn read_also(&mut self, head: &'static str, meanings: &'static str) {
        if let Some((kind, meaning)) = head.split_once(' ') {
            self.also.insert((kind, meaning), list(meanings).collect());
        }
    }

    fn read_colours(&mut self) {
        for (family, phrases) in lines(COLOURS) {
            let (names, hints) = phrases.split_once('|').unwrap_or((phrases, ""));
            self.colours.extend(list(names).map(|name| (squeeze(name), family)));
            self.hints.extend(list(hints).map(|hint| (words(hint), family)));
        }
    }
}

/// The kinds of lines that are attributes of a car.
pub(super) const KINDS: &[(&str, Field)] = &[
    ("make", Field::Make),
    ("body", Field::Body),
    ("fuel", Field::Fuel),
    ("transmission", Field::Transmission),
    ("driveline", Field::Driveline),
    ("condition", Field::Condition),
];

impl Field {
    fn kind(self) -> Option<&'static str> {
        KINDS.iter().find(|(_, field)| *field == self).map(|(kind, _)| *kind)
    }
}

/// The lines of a table: what stands before and after the first colon.
fn lines(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(':'))
}

fn list(texts: &'static str) -> impl Iterator<Item = &'static str> {
    texts.split(',').map(str::trim).filter(|text| !text.is_empty())
}

/// Whether some words stand next to each other among others.
pub(super) fn contains(words: &[String], phrase: &[String]) -> bool {
    words.windows(phrase.len().max(1)).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phrase_of_an_attribute_means_two_things() {
        for (kind, _) in KINDS {
            let mut seen: HashMap<String, &str> = HashMap::new();
            for (head, phrases) in lines(VOCABULARY) {
                let Some(meaning) = head.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' '))
                else {
                    continue;
                };
                for phrase in std::iter::once(meaning).chain(list(phrases)) {
                    let key = squeeze(phrase.trim_start_matches('~'));
                    // `mini van` and `minivan` are two phrases where values are searched for them.
                    let before = seen.insert(key, meaning).unwrap_or(meaning);
                    assert_eq!(before, meaning, "{kind}: {phrase}");
                }
            }
            assert!(!seen.is_empty(), "{kind}");
        }
    }

    #[test]
    fn no_word_for_a_colour_is_in_two_families() {
        let mut seen: HashMap<String, &str> = HashMap::new();
        for (family, phrases) in lines(COLOURS) {
            assert_eq!(vocabulary().family(family), Some(family), "it names itself");
            for phrase in phrases.split(['|', ',']).map(squeeze).filter(|key| !key.is_empty()) {
                let before = seen.insert(phrase.clone(), family).unwrap_or(family);
                assert_eq!(before, family, "{phrase}");
            }
        }
    }

    /// Names as real feeds have them.
    const COLOURS_OF_FEEDS: &str = include_str!("colours.txt");

    #[test]
    fn colours_of_real_feeds_are_in_the_families_where_shoppers_look() {
        let mut names = 0;
        let mut failures = Vec::new();
        for (families, colours) in lines(COLOURS_OF_FEEDS) {
            let mut expected: Vec<&str> = families.split(' ').collect();
            expected.sort_unstable();
            for colour in colours.split(';').map(str::trim) {
                names += 1;
                let found = vocabulary().families(colour);
                // A name with the words of two families is looked for in both.
                let says = |family: &&&str| words(colour).iter().any(|word| word == **family);
                let extra = found.iter().filter(|family| !expected.contains(family));
                let is_right = extra.clone().count() == extra.filter(says).count();
                if !is_right || !expected.iter().all(|family| found.contains(family)) {
                    failures.push(format!("{colour} is {found:?} and not {families}"));
                }
            }
        }
        assert!(names >= 300, "{names} colours");
        assert!(failures.is_empty(), "{} of {names}:\n{}", failures.len(), failures.join("\n"));
    }

    #[test]
    fn what_is_meant_as_well_exists() {
        for ((kind, meaning), others) in &vocabulary().also {
            for other in others.iter().chain([meaning]) {
                assert_eq!(vocabulary().said(kind, other), Some(*other), "{kind} {meaning}");
            }
        }
    }
}
