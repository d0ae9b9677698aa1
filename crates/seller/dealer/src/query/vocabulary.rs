//! The vocabulary of the trade, read once from the tables in `data/words`.

use std::sync::LazyLock;

use foldhash::{HashMap, HashSet};

use super::fold::{TextKind, phrase_key, words};

const VOCABULARY: &str = include_str!("../../data/words/vocabulary.txt");
const COLOURS: &str = include_str!("../../data/words/colours.txt");
const MODELS: &str = include_str!("../../data/words/models.txt");
const SEATS: &str = include_str!("../../data/words/seats.txt");
const GROUPS: &str = include_str!("../../data/words/groups.txt");

static TABLES: LazyLock<QueryVocabulary> = LazyLock::new(QueryVocabulary::read);

/// Squeezed phrases with their meanings.
pub(super) type PhraseTable = HashMap<String, &'static str>;

/// A meaning of a phrase in a query, with the kind of its line.
#[derive(Debug, Clone, Copy)]
struct KindMeaning {
    kind: &'static str,
    meaning: &'static str,
}

/// The meanings of one phrase key in a query; none for most words.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeyMeanings<'a>(&'a [KindMeaning]);

impl KeyMeanings<'_> {
    /// Returns true when the phrase key means nothing.
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the meaning of a kind.
    pub(super) fn of_kind(self, kind: &str) -> Option<&'static str> {
        let mut meanings = self.0.iter();
        meanings.find(|meaning| meaning.kind == kind).map(|meaning| meaning.meaning)
    }
}

/// A phrase that classifies the values it occurs in.
type ClassifyingPhrase = (Vec<String>, &'static str);

/// What the members of a group are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameGroupKind {
    /// Makes.
    Make,
    /// Models.
    Model,
    /// Words of engines.
    Engine,
    /// Makes that call their diesels by this name.
    Diesel,
}

/// A group that shoppers name.
#[derive(Debug)]
pub(crate) struct NameGroup {
    pub(super) kind: NameGroupKind,
    pub(super) name: &'static str,
    /// The name as a phrase key.
    pub(super) key: String,
    /// Squeezed names of its members.
    pub(super) members: Vec<String>,
}

/// The tables of `data/words`.
#[derive(Debug, Default)]
pub(crate) struct QueryVocabulary {
    /// Meanings of phrase keys in queries. Most words of a query have none, so that one lookup
    /// answers for all kinds.
    meanings: HashMap<String, Vec<KindMeaning>>,
    /// Phrase keys that a phrase with a number may begin with, in text order.
    number_starts: Vec<String>,
    /// Squeezed phrases that are written as several words.
    spaced: HashSet<String>,
    /// Meanings of whole values, by kind of line.
    whole: HashMap<&'static str, PhraseTable>,
    /// Classifying phrases by kind of line, in the order of the table.
    marks: HashMap<&'static str, Vec<ClassifyingPhrase>>,
    /// Additional meanings by kind and meaning.
    also: HashMap<(&'static str, &'static str), Vec<&'static str>>,
    /// Words that name a colour family.
    colours: PhraseTable,
    /// Phrases that suggest a colour family.
    hints: Vec<ClassifyingPhrase>,
    /// Existing makes and models.
    names: PhraseTable,
    /// Make and model of cars with three rows of seats.
    rows: HashSet<(String, String)>,
    /// Minimum number of seats by body.
    seats: HashMap<&'static str, u32>,
    /// Usual number of doors by body.
    doors: HashMap<&'static str, u32>,
    groups: Vec<NameGroup>,
    /// Places in `groups` by the phrase key of the name.
    group_names: HashMap<String, usize>,
}

/// Returns the tables of `data/words`.
pub(crate) fn vocabulary() -> &'static QueryVocabulary {
    &TABLES
}

impl QueryVocabulary {
    /// Returns the meaning of a whole value of an attribute, by its phrase key.
    pub(crate) fn whole(&self, field: TextKind, key: &str) -> Option<&'static str> {
        self.whole.get(field.kind()?)?.get(key).copied()
    }

    /// Returns the meaning of a phrase key in a query.
    pub(crate) fn meaning_of(&self, kind: &str, key: &str) -> Option<&'static str> {
        self.meanings(key).of_kind(kind)
    }

    /// Returns all meanings of a phrase key in a query.
    pub(super) fn meanings(&self, key: &str) -> KeyMeanings<'_> {
        KeyMeanings(self.meanings.get(key).map_or(&[], Vec::as_slice))
    }

    /// Returns true when a phrase with a number may begin with a word. Most words are ruled out by it.
    pub(super) fn may_start_number(&self, word: &str) -> bool {
        let next = self.number_starts.partition_point(|key| key.as_str() < word);
        self.number_starts.get(next).is_some_and(|key| key.starts_with(word))
    }

    /// Returns true when a phrase key stands for what is written as several words.
    pub(super) fn is_spaced(&self, key: &str) -> bool {
        self.spaced.contains(key)
    }

    /// Iterates over every phrase about cars, for the correction of misspellings.
    pub(crate) fn phrases(&self) -> impl Iterator<Item = &str> {
        let classes = self.meanings.keys().filter(|key| self.is_class(key));
        classes.chain(self.colours.keys()).map(String::as_str)
    }

    /// Returns true when a phrase key is a phrase about cars.
    pub(super) fn is_phrase(&self, key: &str) -> bool {
        self.is_class(key) || self.colours.contains_key(key)
    }

    /// Returns true when a phrase key is a word of the trade, other than a colour.
    pub(super) fn is_class(&self, key: &str) -> bool {
        let meanings = self.meanings(key);
        KINDS.iter().any(|(kind, _)| meanings.of_kind(kind).is_some())
    }

    /// Returns additional meanings of a word.
    pub(super) fn also(&self, field: TextKind, meaning: &'static str) -> &[&'static str] {
        let kind = field.kind().unwrap_or_default();
        self.also.get(&(kind, meaning)).map_or(&[], Vec::as_slice)
    }

    /// Returns the class of a value: of the whole text, or of the first classifying phrase in it.
    pub(crate) fn class(&self, field: TextKind, text: &str) -> Option<&'static str> {
        self.whole(field, &phrase_key(text)).or_else(|| self.mark(field, text))
    }

    /// Returns the class that a model's name implies: never gas, because hybrids burn it too.
    pub(super) fn class_in_name(&self, field: TextKind, name: &str) -> Option<&'static str> {
        self.mark(field, name).filter(|class| *class != "gas")
    }

    fn mark(&self, field: TextKind, text: &str) -> Option<&'static str> {
        let words = words(text);
        let marks = self.marks.get(field.kind()?)?;
        marks.iter().find(|(mark, _)| contains(&words, mark)).map(|(_, class)| *class)
    }

    /// Returns the families of a colour: those it names, or else the one it suggests.
    pub(crate) fn families(&self, colour: &str) -> Vec<&'static str> {
        let mut words = words(colour);
        // The words after `with` describe the roof.
        words.truncate(words.iter().position(|word| word == "with").unwrap_or(words.len()));
        let named = words.iter().filter_map(|word| self.colours.get(word).copied());
        let mut families: Vec<&'static str> = named.collect();
        if families.is_empty() {
            // The longest phrase is the most specific.
            let hints = self.hints.iter().filter(|(hint, _)| contains(&words, hint));
            // `max_by_key` takes the last of equally long ones, so the reversed order finds the
            // table's first.
            let longest = hints.rev().max_by_key(|(hint, _)| hint.len());
            families.extend(longest.map(|(_, family)| *family));
        }
        families.sort_unstable();
        families.dedup();
        families
    }

    /// Returns the colour family that a word names itself, not as a shade.
    pub(crate) fn family(&self, key: &str) -> Option<&'static str> {
        self.colours.get(key).copied().filter(|family| *family == key)
    }

    /// Returns the colour family of a shade.
    pub(super) fn family_of_shade(&self, word: &str) -> Option<&'static str> {
        let named = self.colours.get(word).copied();
        named.or_else(|| {
            let hint =
                self.hints.iter().find(|(hint, _)| matches!(hint.as_slice(), [one] if one == word));
            hint.map(|(_, family)| *family)
        })
    }

    /// Returns the spelling of an existing make or model.
    pub(crate) fn name(&self, key: &str) -> Option<&'static str> {
        self.names.get(key).copied()
    }

    /// Iterates over the keys of existing makes and models.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }

    /// Returns true when every version of a model has three rows of seats.
    pub(super) fn has_three_rows(&self, make: &str, model: &str) -> bool {
        self.rows.contains(&(make.to_owned(), model.to_owned()))
    }

    /// Returns the minimum number of seats of a body.
    pub(super) fn seats(&self, body: &str) -> Option<u32> {
        self.seats.get(body).copied()
    }

    /// Returns the usual number of doors of a body.
    pub(super) fn doors(&self, body: &str) -> Option<u32> {
        self.doors.get(body).copied()
    }

    /// Returns the group of a name by its phrase key.
    pub(crate) fn group(&self, key: &str) -> Option<&NameGroup> {
        self.groups.get(*self.group_names.get(key)?)
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
        this.number_starts = this.keys_of(&NUMBER_KINDS);
        this.read_colours();
        this.read_groups();
        for (make, models) in lines(MODELS) {
            for name in std::iter::once(make).chain(list(models)) {
                this.names.insert(phrase_key(name), name);
            }
        }
        for (make, models) in lines(SEATS) {
            if let Some(body) = make.strip_prefix("doors ") {
                let doors = models.trim().parse().ok();
                this.doors.extend(doors.map(|doors| (body, doors)));
                continue;
            }
            match make.strip_prefix("body ") {
                Some(body) => {
                    let seats = models.trim().parse().ok();
                    this.seats.extend(seats.map(|seats| (body, seats)));
                }
                None => {
                    let key = this.whole(TextKind::Make, &phrase_key(make)).map(str::to_owned);
                    let key = key.unwrap_or_else(|| phrase_key(make));
                    let models = list(models).map(|model| (key.clone(), phrase_key(model)));
                    this.rows.extend(models);
                }
            }
        }
        this
    }

    /// Returns the phrase keys with a meaning of some kinds, in text order.
    fn keys_of(&self, kinds: &[&str]) -> Vec<String> {
        let wanted = self
            .meanings
            .iter()
            .filter(|(_, meanings)| meanings.iter().any(|meaning| kinds.contains(&meaning.kind)));
        let mut keys: Vec<String> = wanted.map(|(key, _)| key.clone()).collect();
        keys.sort_unstable();
        keys
    }

    fn read_meaning(&mut self, kind: &'static str, meaning: &'static str, phrases: &'static str) {
        let whole = self.whole.entry(kind).or_default();
        let marks = self.marks.entry(kind).or_default();
        for phrase in std::iter::once(meaning).chain(list(phrases)) {
            if phrase.contains(' ') {
                self.spaced.insert(phrase_key(phrase));
            }
            match phrase.strip_prefix('~') {
                Some(alone) => {
                    whole.insert(phrase_key(alone), meaning);
                }
                None => {
                    let meanings = self.meanings.entry(phrase_key(phrase)).or_default();
                    // Of two lines of a kind the later counts.
                    meanings.retain(|known| known.kind != kind);
                    meanings.push(KindMeaning { kind, meaning });
                    whole.insert(phrase_key(phrase), meaning);
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

    fn read_groups(&mut self) {
        for (head, members) in lines(GROUPS) {
            let (kind, names) = head.split_once(' ').unwrap_or((head, head));
            let kind = match kind {
                "make" => NameGroupKind::Make,
                "model" => NameGroupKind::Model,
                "engine" => NameGroupKind::Engine,
                _ => NameGroupKind::Diesel,
            };
            let (name, others) = names.split_once('|').unwrap_or((names, ""));
            let name = name.trim();
            for name in std::iter::once(name).chain(list(others)) {
                self.group_names.insert(phrase_key(name), self.groups.len());
            }
            let members = list(members).map(phrase_key).collect();
            self.groups.push(NameGroup { kind, name, key: phrase_key(name), members });
        }
    }

    fn read_colours(&mut self) {
        for (family, phrases) in lines(COLOURS) {
            let (names, hints) = phrases.split_once('|').unwrap_or((phrases, ""));
            self.colours.extend(list(names).map(|name| (phrase_key(name), family)));
            self.hints.extend(list(hints).map(|hint| (words(hint), family)));
        }
    }
}

/// Kinds of lines whose phrases may begin a phrase with a number: what it counts, a bound, and the
/// number itself.
const NUMBER_KINDS: [&str; 4] = ["before", "heading", "number", "unit"];

/// Kinds of lines that are attributes of a car.
pub(super) const KINDS: &[(&str, TextKind)] = &[
    ("make", TextKind::Make),
    ("body", TextKind::Body),
    ("fuel", TextKind::Fuel),
    ("transmission", TextKind::Transmission),
    ("driveline", TextKind::Driveline),
    ("condition", TextKind::Condition),
];

impl TextKind {
    fn kind(self) -> Option<&'static str> {
        KINDS.iter().find(|(_, field)| *field == self).map(|(kind, _)| *kind)
    }
}

/// Iterates over the lines of a table, split at the first colon.
fn lines(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(':'))
}

fn list(texts: &'static str) -> impl Iterator<Item = &'static str> {
    texts.split(',').map(str::trim).filter(|text| !text.is_empty())
}

/// Returns true when the words of a phrase are adjacent in a text.
pub(super) fn contains(words: &[String], phrase: &[String]) -> bool {
    words.windows(phrase.len().max(1)).any(|window| window == phrase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_phrase_of_an_attribute_means_two_things() {
        for (kind, _) in KINDS {
            let mut seen: HashMap<String, &str> = HashMap::default();
            for (head, phrases) in lines(VOCABULARY) {
                let Some(meaning) = head.strip_prefix(kind).and_then(|rest| rest.strip_prefix(' '))
                else {
                    continue;
                };
                for phrase in std::iter::once(meaning).chain(list(phrases)) {
                    let key = phrase_key(phrase.trim_start_matches('~'));
                    // `mini van` and `minivan` are two phrases in values.
                    let before = seen.insert(key, meaning).unwrap_or(meaning);
                    assert_eq!(before, meaning, "{kind}: {phrase}");
                }
            }
            assert!(!seen.is_empty(), "{kind}");
        }
    }

    #[test]
    fn no_word_for_a_colour_is_in_two_families() {
        let mut seen: HashMap<String, &str> = HashMap::default();
        for (family, phrases) in lines(COLOURS) {
            assert_eq!(vocabulary().family(family), Some(family), "it names itself");
            for phrase in phrases.split(['|', ',']).map(phrase_key).filter(|key| !key.is_empty()) {
                let before = seen.insert(phrase.clone(), family).unwrap_or(family);
                assert_eq!(before, family, "{phrase}");
            }
        }
    }

    /// Colour names from real feeds.
    const COLOURS_OF_FEEDS: &str = include_str!("colours.txt");

    #[test]
    fn real_colours_are_in_the_families_where_shoppers_look() {
        let mut names = 0;
        let mut failures = Vec::new();
        for (families, colours) in lines(COLOURS_OF_FEEDS) {
            let mut expected: Vec<&str> = families.split(' ').collect();
            expected.sort_unstable();
            for colour in colours.split(';').map(str::trim) {
                names += 1;
                let found = vocabulary().families(colour);
                // A name with the words of two families is searched in both.
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
                assert_eq!(vocabulary().meaning_of(kind, other), Some(*other), "{kind} {meaning}");
            }
        }
    }
}
