//! Facts of a car in a query: words of the trade, colours, makes and models, and the words of
//! listings.

use super::super::concepts::concepts;
use super::super::fold::colour_key;
use super::super::lexicon::{Attribute, AttributeValue, PhraseMeaning, ValuePart};
use super::super::spelling::is_english;
use super::super::tokens::{QueryToken, together};
use super::super::vocabulary::vocabulary;
use super::super::{Predicate, QueryRemark, RequiredPhrase, unique};
use super::Interpreter;

impl Interpreter<'_> {
    /// Interprets a word of the trade, by its class in the vocabulary.
    pub(super) fn read_class(&self, key: &str) -> Option<RequiredPhrase> {
        const ATTRIBUTES: [(&str, Attribute); 5] = [
            ("body", Attribute::Body),
            ("fuel", Attribute::Fuel),
            ("transmission", Attribute::Transmission),
            ("driveline", Attribute::Driveline),
            ("condition", Attribute::Condition),
        ];
        let meanings = vocabulary().meanings(key);
        let class_of = |(kind, attribute)| Some((attribute, meanings.of_kind(kind)?));
        let (attribute, class): (Attribute, _) = ATTRIBUTES.into_iter().find_map(class_of)?;
        let mut values = Vec::new();
        let mut names = vec![class];
        let is_drive = matches!(class, "awd" | "4wd");
        let both = || *self.names_both_drives.get_or_init(|| names_both_drives(&self.tokens));
        if !is_drive || !both() {
            names.extend(vocabulary().also(attribute.field(), class));
        }
        for class in &names {
            values.extend(self.of_class(attribute, class));
            values.extend(self.lexicon.elsewhere(attribute, class));
        }
        let label = format!("{attribute} {}", names.join(" or "));
        Some(RequiredPhrase::values(values, Some(attribute), label))
    }

    /// Interprets a colour family: of the exterior, unless the interior is meant.
    pub(super) fn read_colour(
        &mut self,
        key: &str,
        at: usize,
        length: usize,
    ) -> Option<RequiredPhrase> {
        let family = family(key)?;
        let attribute = self.colour_attribute(at, length);
        Some(self.of_family(attribute, family))
    }

    /// Returns whether a colour is the interior's or the exterior's.
    fn colour_attribute(&mut self, at: usize, length: usize) -> Attribute {
        let follows = self.interior_follows(at + length);
        if follows {
            self.interior_read = Some(at + length);
        }
        if follows || self.is_interior_announced(at) {
            Attribute::InteriorColor
        } else {
            Attribute::ExteriorColor
        }
    }

    pub(super) fn of_family(&self, attribute: Attribute, family: &str) -> RequiredPhrase {
        let values = self.of_class(attribute, family).collect();
        RequiredPhrase::values(values, Some(attribute), format!("{attribute} {family}"))
    }

    pub(super) fn of_class(
        &self,
        attribute: Attribute,
        class: &str,
    ) -> impl Iterator<Item = AttributeValue> {
        let ids = self.lexicon.class(attribute, class).iter();
        ids.map(move |id| AttributeValue { attribute, id: *id })
    }

    /// Interprets a make or a model, by its whole name or its beginning.
    pub(super) fn read_make_or_model(&self, key: &str) -> Option<RequiredPhrase> {
        let meanings = vocabulary().meanings(key);
        let named = self.lexicon.senses(key);
        let aliases = match meanings.of_kind("make") {
            Some(make) => self.lexicon.senses(make),
            None => named,
        };
        // A nickname counts where the inventory has no name of this kind.
        let nickname = meanings.of_kind("nickname").filter(|_| named.is_empty());
        let key = nickname.unwrap_or(key);
        let senses = nickname.map_or(named, |nickname| self.lexicon.senses(nickname));
        let mut any = Vec::new();
        let mut values = Vec::new();
        for sense in senses {
            match sense {
                PhraseMeaning::Pair(make, model) => {
                    any.push(Predicate::Pair { make: *make, model: *model })
                }
                PhraseMeaning::Value(value, part) => {
                    // A word from the middle of a model's name does not name the model.
                    let is_model =
                        value.attribute == Attribute::Model && *part != ValuePart::Middle;
                    if is_model || value.attribute == Attribute::Make {
                        values.push(*value);
                    }
                }
            }
        }
        values.extend(aliases.iter().filter_map(|sense| match sense {
            PhraseMeaning::Value(value, ValuePart::Whole) if value.attribute == Attribute::Make => {
                Some(*value)
            }
            PhraseMeaning::Value(..) | PhraseMeaning::Pair(..) => None,
        }));
        let values = unique(values);
        if any.is_empty() && values.is_empty() {
            return None;
        }
        let attribute = self.common_attribute(&values);
        let label = match any.first() {
            Some(Predicate::Pair { make, model }) if values.is_empty() => {
                let name = |attribute, id| self.lexicon.name(AttributeValue { attribute, id });
                format!(
                    "make {} model {}",
                    name(Attribute::Make, *make),
                    name(Attribute::Model, *model)
                )
            }
            Some(_) | None => self.label(&values, key),
        };
        if !values.is_empty() {
            any.push(Predicate::Values(values));
        }
        Some(RequiredPhrase { any, negated: false, attribute, label })
    }

    /// Interprets a word of a listing: colour, trim, engine, feature, or another part of a model's
    /// name.
    pub(super) fn read_listing_word(&self, key: &str) -> Option<RequiredPhrase> {
        const WORDS: &[Attribute] = &[
            Attribute::ExteriorColor,
            Attribute::Trim,
            Attribute::Feature,
            Attribute::Engine,
            Attribute::Model,
            Attribute::Body,
            Attribute::Fuel,
            Attribute::Driveline,
            Attribute::Transmission,
        ];
        const FABRICS: &[Attribute] =
            &[Attribute::Trim, Attribute::Feature, Attribute::InteriorColor];
        let meanings = vocabulary().meanings(key);
        // `back` is no `Power back door`, unless it is a whole value.
        let is_weak = meanings.of_kind("weak").is_some();
        if is_weak && !self.lexicon.has_whole(key) {
            return None;
        }
        let fabric = meanings.of_kind("word") == Some("fabric");
        let want = self.values_of(key, if fabric { FABRICS } else { WORDS })?;
        // `wind` in a sentence is no `Wind Chill Pearl`.
        let is_paint = want.attribute == Some(Attribute::ExteriorColor)
            && is_english(key)
            && meanings.of_kind("shadename").is_none()
            && meanings.of_kind("word").is_none()
            && !self.lexicon.has_whole(key);
        (!is_paint).then_some(want)
    }

    /// Interprets a phrase as a value of some attributes.
    pub(super) fn values_of(&self, key: &str, attributes: &[Attribute]) -> Option<RequiredPhrase> {
        let values = values_with(self.lexicon.senses(key), attributes).collect();
        self.phrase_of_values(values, key)
    }

    pub(super) fn phrase_of_values(
        &self,
        values: Vec<AttributeValue>,
        key: &str,
    ) -> Option<RequiredPhrase> {
        let values = unique(values);
        if values.is_empty() {
            return None;
        }
        let attribute = self.common_attribute(&values);
        let label = self.label(&values, key);
        Some(RequiredPhrase::values(values, attribute, label))
    }

    /// Interprets words of one feature, in any order and not adjacent: `heated seats` matches
    /// `Heated front seats`, and not a heated wheel with leather seats.
    pub(super) fn read_feature_words(&self, at: usize, length: usize) -> Option<RequiredPhrase> {
        let run = self.tokens.get(at..at + length).filter(|run| run.len() > 1)?;
        let mut common: Option<Vec<AttributeValue>> = None;
        for token in run {
            let word = token.text.as_str();
            let singular = word.strip_suffix('s').unwrap_or(word);
            let senses = self.lexicon.senses(word).iter().chain(self.lexicon.senses(singular));
            let values: Vec<AttributeValue> = values_with(senses, &[Attribute::Feature]).collect();
            let both: Vec<AttributeValue> = match common {
                None => values,
                Some(before) => {
                    let values = unique(values);
                    let is_both = |value: &AttributeValue| values.binary_search(value).is_ok();
                    before.into_iter().filter(is_both).collect()
                }
            };
            if both.is_empty() {
                return None;
            }
            common = Some(both);
        }
        // A word with a meaning of its own is not part of a feature; each such word is a separate
        // condition.
        let is_other = |token: &QueryToken| {
            let word = token.text.as_str();
            let name =
                || vocabulary().name(word).is_some() || self.read_make_or_model(word).is_some();
            self.read_class(word).is_some() || family(word).is_some() || name()
        };
        if run.iter().any(is_other) {
            return None;
        }
        self.phrase_of_values(common?, &self.shown(at, length))
    }

    /// Reads a phrase that names features by concept. Returns true when it is one.
    pub(super) fn read_concepts(&mut self, at: usize, length: usize) -> bool {
        let Some(run) = self.tokens.get(at..at + length) else { return false };
        if !run.first().is_some_and(|first| concepts().may_start(&first.text)) {
            return false;
        }
        let words: Vec<&str> = run.iter().map(|token| token.text.as_str()).collect();
        let mut found: Vec<&'static str> = concepts().of_phrase(&words).into_iter().collect();
        if found.is_empty() {
            found = concepts().of_spread_phrase(&words);
        }
        for concept in &found {
            let values = self.lexicon.concept(concept).to_vec();
            if values.is_empty() {
                self.report_unknown((*concept).to_owned(), at + length);
                // The other side of an `or` is not the phrase after it.
                self.negation.forget_or();
                continue;
            }
            let label = format!("{} {concept}", Attribute::Feature);
            self.push(RequiredPhrase::values(values, Some(Attribute::Feature), label));
        }
        !found.is_empty()
    }

    /// Reads a shade that no listing has as its colour family.
    pub(super) fn read_shade(&mut self, key: &str, at: usize, length: usize) -> bool {
        // `snow`, `army` and other common words are no colours, `ivory` and `navy` are.
        let is_colour = !is_english(key) || vocabulary().meaning_of("shadename", key).is_some();
        let Some(family) = vocabulary().family_of_shade(key).filter(|_| is_colour) else {
            return false;
        };
        self.remark(QueryRemark::Family { said: key.to_owned(), family });
        let attribute = self.colour_attribute(at, length);
        self.push(self.of_family(attribute, family));
        true
    }

    pub(super) fn is_family(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| family(&token.text).is_some())
    }

    /// Returns true when a word for the interior stands before a colour, with nothing but small
    /// words between.
    fn is_interior_announced(&self, at: usize) -> bool {
        let Some(first) = self.interior_end else { return false };
        let mut between = self.tokens.get(first..at).unwrap_or_default().iter();
        let is_small =
            |token: &QueryToken| vocabulary().meaning_of("ignored", &token.text).is_some();
        let pauses = self.tokens.get(first..=at).unwrap_or_default().iter();
        between.all(is_small)
            && !pauses.skip(1).any(|token| token.after_pause)
            && !self.tokens.get(first).is_some_and(|token| token.after_pause)
    }

    /// Returns true when the words after a colour refer to the interior.
    pub(super) fn interior_follows(&self, at: usize) -> bool {
        let word = |at: usize| {
            let token = self.tokens.get(at)?;
            vocabulary().meaning_of("word", &token.text)
        };
        matches!(word(at), Some("interior" | "fabric"))
    }

    /// Returns the attribute of values, if they share one.
    pub(super) fn common_attribute(&self, values: &[AttributeValue]) -> Option<Attribute> {
        let first = values.first()?.attribute;
        values.iter().all(|value| value.attribute == first).then_some(first)
    }

    pub(super) fn label(&self, values: &[AttributeValue], key: &str) -> String {
        let Some(attribute) = self.common_attribute(values) else { return format!("\"{key}\"") };
        match values {
            [value] => format!("{attribute} {}", self.lexicon.name(*value)),
            _ => format!("{attribute} \"{key}\""),
        }
    }
}

/// Filters meanings to values of some attributes. A body counts only as a whole: `sport` does not
/// mean `Sport Utility`.
pub(super) fn values_with<'a>(
    senses: impl IntoIterator<Item = &'a PhraseMeaning>,
    attributes: &'a [Attribute],
) -> impl Iterator<Item = AttributeValue> {
    senses.into_iter().filter_map(|sense| match sense {
        PhraseMeaning::Value(value, part) => {
            let counts = value.attribute != Attribute::Body || *part == ValuePart::Whole;
            (counts && attributes.contains(&value.attribute)).then_some(*value)
        }
        PhraseMeaning::Pair(..) => None,
    })
}

/// Returns the colour family that a phrase key names.
pub(super) fn family(key: &str) -> Option<&'static str> {
    vocabulary().family(&colour_key(key))
}

/// Returns true when a query names all-wheel drive and four-wheel drive, which are one wish
/// otherwise.
fn names_both_drives(tokens: &[QueryToken]) -> bool {
    let names = |drive: &str| {
        (1..=4).any(|length| {
            let mut runs = tokens.windows(length);
            runs.any(|run| vocabulary().meaning_of("driveline", &together(run)) == Some(drive))
        })
    };
    names("awd") && names("4wd")
}
