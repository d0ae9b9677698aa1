//! Interpretation of a query.

mod identifier;
mod measure;
mod negation;
mod particle;

use super::fold::TextKind;
use super::lexicon::{Attribute, AttributeValue, Lexicon, PhraseMeaning, ValuePart};
use super::numbers::{self, NumberPhrase, NumberRange, NumericAttribute};
use super::spelling::{self, is_english};
use super::tokens::{QueryToken, together, tokens};
use super::vocabulary::vocabulary;
use super::{Identifiers, Predicate, QueryInterpretation, QueryRemark, RequiredPhrase, unique};
use negation::{Negation, complement};

/// Maximum number of tokens of a phrase.
const LONGEST_PHRASE: usize = 5;

/// Maximum number of words of a query that are checked for misspellings, because each is compared
/// with every known word.
const MAX_CORRECTIONS: usize = 4;

/// Interprets a query with the words and numbers of an inventory.
pub(crate) fn understand(
    query: &str,
    lexicon: &Lexicon,
    identifiers: &dyn Identifiers,
) -> QueryInterpretation {
    let mut reader = Interpreter {
        tokens: tokens(query),
        lexicon,
        identifiers,
        understood: QueryInterpretation::default(),
        negation: Negation::default(),
        is_inside: false,
        corrections: 0,
        at: 0,
        has_meaning: false,
    };
    reader.separate_units();
    if reader.tokens.is_empty() {
        reader.remark(QueryRemark::NoWord);
        reader.push(RequiredPhrase::nothing("query without a word".to_owned()));
    }
    let mut at = 0;
    while at < reader.tokens.len() {
        at += reader.step(at);
    }
    reader.drop_negation(at);
    reader.understood
}

struct Interpreter<'a> {
    tokens: Vec<QueryToken>,
    lexicon: &'a Lexicon,
    identifiers: &'a dyn Identifiers,
    understood: QueryInterpretation,
    /// State of negations and conjunctions.
    negation: Negation,
    /// True when the next colour is the interior's.
    is_inside: bool,
    corrections: usize,
    /// Token at which the current phrase begins.
    at: usize,
    /// True when the current phrase has added a meaning.
    has_meaning: bool,
}

impl Interpreter<'_> {
    /// Reads the phrase at a token, and returns the number of tokens it took.
    fn step(&mut self, at: usize) -> usize {
        self.at = at;
        self.has_meaning = false;
        self.pause(at);
        // Before amounts, because a number after `stock` is not a price.
        if let Some(length) = self.identifier_named(at) {
            return length;
        }
        if let Some((length, said)) = numbers::read(&self.tokens, at) {
            match said {
                NumberPhrase::Range(number, bounds) => self.number(number, bounds),
                NumberPhrase::Unsearchable => self.measured(at, length),
                NumberPhrase::Age => {
                    let said = self.shown(at, length);
                    self.leave_out(said, hint("year"), at + length);
                }
            }
            return length;
        }
        for length in (1..=LONGEST_PHRASE.min(self.tokens.len() - at)).rev() {
            if self.splits_name(at, length) {
                continue;
            }
            if self.phrase(at, length) {
                if self.has_meaning {
                    self.negation.phrase_ends(at + length);
                }
                return length;
            }
        }
        self.unknown(at)
    }

    /// Reads a phrase of `length` tokens, if it is one.
    fn phrase(&mut self, at: usize, length: usize) -> bool {
        let Some(run) = self.tokens.get(at..at + length) else { return false };
        // The `is 350` of `it is 350 a month` is no Lexus.
        if self.is_particle_of_amount(at, length) {
            return false;
        }
        let key = together(run);
        // A model with a year as its name wins.
        if let [token] = run
            && numbers::is_year(token)
            && let Some((number, bounds)) = numbers::alone(token)
            && self.named(&key).is_none()
        {
            self.number(number, bounds);
            return true;
        }
        if run.last().is_some_and(|token| token.plus) {
            // `SE+` is another trim than `SE`.
            let key = format!("{key}+");
            if let Some(want) = self.named(&key).or_else(|| self.worded(&key)) {
                self.push(want);
                return true;
            }
        }
        // The exact word first, because Lexus and Prius are no plurals.
        let singular = key.strip_suffix('s').filter(|key| key.chars().count() > 2);
        std::iter::once(key.as_str()).chain(singular).any(|key| self.read_key(key, at, length))
    }

    /// Reads a phrase by its key.
    fn read_key(&mut self, key: &str, at: usize, length: usize) -> bool {
        if let Some(wish) = vocabulary().said("vague", key) {
            let said = self.shown(at, length);
            // A wish for few miles gets a hint about the filter.
            let hint = if self.is_negated() { "" } else { hint(wish) };
            self.leave_out(said, hint, at + length);
            return true;
        }
        let want = self
            .classed(key)
            .or_else(|| self.coloured(key, at, length))
            .or_else(|| self.named(key).filter(|_| self.may_be_name(key, at, length)));
        if let Some(want) = want {
            self.push(want);
            return true;
        }
        if self.function_word(key, at, length) {
            return true;
        }
        let want = self
            .worded(key)
            .filter(|_| self.may_be_name(key, at, length))
            .or_else(|| self.featured(at, length))
            .or_else(|| self.identified(key))
            .or_else(|| self.valued(key, &[Attribute::Rooftop]))
            .or_else(|| self.valued(key, &[Attribute::InteriorColor]));
        if let Some(want) = want {
            self.push(want);
            return true;
        }
        if let Some(name) = vocabulary().name(key) {
            self.remark(QueryRemark::Absent(name));
            self.push(RequiredPhrase::nothing(name.to_owned()));
            return true;
        }
        self.shaded(key)
    }

    /// Reads a function word, or a word that is ignored.
    fn function_word(&mut self, key: &str, at: usize, length: usize) -> bool {
        // `the SE` is not `these`.
        let rest = self.tokens.get(at + 1..at + length).unwrap_or_default();
        if !vocabulary().is_spaced(key) && !rest.iter().all(|token| token.joined) {
            return false;
        }
        match vocabulary().said("word", key) {
            // Without anything before it, it has no other side.
            Some("or") if self.understood.wants.is_empty() && !self.negation.may_spread() => {}
            Some("interior") => self.is_inside = true,
            // A number after it has been read already.
            Some("vin" | "stock") => {}
            Some("shade") if self.is_family(at + length) => {}
            Some(kind) if self.negating_word(kind, at, length) => {}
            // `hybrid or not` asks for nothing; `Toyota or not Honda` excludes.
            Some(_) | None if self.is_negated() && vocabulary().said("courtesy", key).is_some() => {
            }
            Some(_) | None if key == "ornot" && self.phrase_follows(at + length, true) => {
                return false;
            }
            Some(_) | None => return vocabulary().said("ignored", key).is_some(),
        }
        true
    }

    /// Interprets a word of the trade, by its class in the vocabulary.
    fn classed(&self, key: &str) -> Option<RequiredPhrase> {
        const ATTRIBUTES: [(&str, Attribute); 5] = [
            ("body", Attribute::Body),
            ("fuel", Attribute::Fuel),
            ("transmission", Attribute::Transmission),
            ("driveline", Attribute::Driveline),
            ("condition", Attribute::Condition),
        ];
        let said = |(kind, attribute)| Some((attribute, vocabulary().said(kind, key)?));
        let (attribute, class): (Attribute, _) = ATTRIBUTES.into_iter().find_map(said)?;
        let mut values = Vec::new();
        let mut names = vec![class];
        names.extend(vocabulary().also(attribute.field(), class));
        for class in &names {
            values.extend(self.of_class(attribute, class));
            values.extend(self.lexicon.elsewhere(attribute, class));
        }
        let label = format!("{attribute} {}", names.join(" or "));
        Some(RequiredPhrase::values(values, Some(attribute), label))
    }

    /// Interprets a colour family: of the exterior, unless the interior is meant.
    fn coloured(&mut self, key: &str, at: usize, length: usize) -> Option<RequiredPhrase> {
        let family = family(key)?;
        let inside = std::mem::take(&mut self.is_inside) || self.interior_follows(at + length);
        let attribute = if inside { Attribute::InteriorColor } else { Attribute::ExteriorColor };
        Some(self.of_family(attribute, family))
    }

    fn of_family(&self, attribute: Attribute, family: &str) -> RequiredPhrase {
        let values = self.of_class(attribute, family).collect();
        RequiredPhrase::values(values, Some(attribute), format!("{attribute} {family}"))
    }

    fn of_class(&self, attribute: Attribute, class: &str) -> impl Iterator<Item = AttributeValue> {
        let ids = self.lexicon.class(attribute, class).iter();
        ids.map(move |id| AttributeValue { attribute, id: *id })
    }

    /// Interprets a make or a model, by its whole name or its beginning.
    fn named(&self, key: &str) -> Option<RequiredPhrase> {
        let make = vocabulary().said("make", key).unwrap_or(key);
        let senses = self.lexicon.senses(key);
        let aliases = self.lexicon.senses(make);
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
    fn worded(&self, key: &str) -> Option<RequiredPhrase> {
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
        let fabric = vocabulary().said("word", key) == Some("fabric");
        self.valued(key, if fabric { FABRICS } else { WORDS })
    }

    /// Interprets a phrase as a value of some attributes.
    fn valued(&self, key: &str, attributes: &[Attribute]) -> Option<RequiredPhrase> {
        let values = wanted(self.lexicon.senses(key), attributes).collect();
        self.found(values, key)
    }

    fn found(&self, values: Vec<AttributeValue>, key: &str) -> Option<RequiredPhrase> {
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
    fn featured(&self, at: usize, length: usize) -> Option<RequiredPhrase> {
        let run = self.tokens.get(at..at + length).filter(|run| run.len() > 1)?;
        let mut common: Option<Vec<AttributeValue>> = None;
        for token in run {
            let word = token.text.as_str();
            let singular = word.strip_suffix('s').unwrap_or(word);
            let senses = self.lexicon.senses(word).iter().chain(self.lexicon.senses(singular));
            let values: Vec<AttributeValue> = wanted(senses, &[Attribute::Feature]).collect();
            let both: Vec<AttributeValue> = match common {
                None => values,
                Some(before) => before.into_iter().filter(|value| values.contains(value)).collect(),
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
            let name = || vocabulary().name(word).is_some() || self.named(word).is_some();
            self.classed(word).is_some() || family(word).is_some() || name()
        };
        if run.iter().any(is_other) {
            return None;
        }
        self.found(common?, &self.shown(at, length))
    }

    /// Reads a shade that no listing has as its colour family.
    fn shaded(&mut self, key: &str) -> bool {
        // `snow`, `army` and other common words are no colours, `ivory` and `navy` are.
        let is_colour = !is_english(key) || vocabulary().said("shadename", key).is_some();
        let Some(family) = vocabulary().family_of_shade(key).filter(|_| is_colour) else {
            return false;
        };
        self.remark(QueryRemark::Family { said: key.to_owned(), family });
        self.push(self.of_family(Attribute::ExteriorColor, family));
        true
    }

    /// Reads a word that is no phrase: a number alone, the beginning of a word, a misspelling, or
    /// an unknown word. Returns the number of tokens; 0 when a correction is to be read again.
    fn unknown(&mut self, at: usize) -> usize {
        let joined = self.tokens.iter().skip(at + 1).take_while(|token| token.joined).count();
        let length = if self.splits_name(at, 1) { 1 + joined } else { 1 };
        let Some(token) = self.tokens.get(at) else { return 1 };
        if length == 1 {
            if let Some((number, bounds)) = numbers::alone(token) {
                self.number(number, bounds);
                return 1;
            }
            let word = token.text.clone();
            if let Some(excluded) = self.glued_negation(&word) {
                let rest = QueryToken { text: excluded, ..token.clone() };
                self.tokens.splice(at..=at, [QueryToken::plain("not"), rest]);
                return 0;
            }
            if let Some(want) = self.beginning(&word) {
                self.push(want);
                return 1;
            }
            if let Some(correction) = self.correction(&word) {
                let read = self.spelt(&correction);
                self.remark(QueryRemark::Corrected { said: word, read });
                if let Some(token) = self.tokens.get_mut(at) {
                    token.text = correction;
                }
                return 0;
            }
        }
        let said = self.shown(at, length);
        if self.is_negated() {
            // Excluding an unknown word excludes nothing.
            self.leave_out(said, "", at + length);
        } else {
            self.remark(QueryRemark::Unknown(said.clone()));
            self.push(RequiredPhrase::nothing(format!("\"{said}\"")));
        }
        length
    }

    /// Finds the words that a word begins, names first.
    fn beginning(&self, word: &str) -> Option<RequiredPhrase> {
        const TIERS: [&[Attribute]; 4] = [
            &[Attribute::Make, Attribute::Model],
            &[Attribute::ExteriorColor, Attribute::Trim, Attribute::Feature, Attribute::Engine],
            &[Attribute::Rooftop],
            &[Attribute::InteriorColor],
        ];
        if word.chars().count() < 3 || !word.chars().all(char::is_alphabetic) {
            return None;
        }
        let senses = || self.lexicon.starting_with(word).flatten();
        // `high` is no Highlander, and `heat` may mean heated seats.
        if is_english(word) {
            return self.found(wanted(senses(), &[Attribute::Feature]).collect(), word);
        }
        TIERS.iter().find_map(|tier| self.found(wanted(senses(), tier).collect(), word))
    }

    fn correction(&mut self, word: &str) -> Option<String> {
        // `keep` is no misspelt Jeep.
        if is_english(word) || self.corrections >= MAX_CORRECTIONS {
            return None;
        }
        self.corrections += 1;
        // Words of vehicles on offer win over others.
        let here = self.lexicon.words().map(|word| (0, word));
        let said = vocabulary().phrases().map(|word| (1, word));
        let elsewhere = vocabulary().names().map(|word| (2, word));
        spelling::correct(word, here.chain(said).chain(elsewhere)).map(str::to_owned)
    }

    /// Returns the spelling of a corrected word for display.
    fn spelt(&self, key: &str) -> String {
        let named = self.lexicon.senses(key).iter().find_map(|sense| match sense {
            PhraseMeaning::Value(value, ValuePart::Whole) => {
                Some(self.lexicon.name(*value).to_owned())
            }
            PhraseMeaning::Value(_, ValuePart::Start | ValuePart::Middle)
            | PhraseMeaning::Pair(..) => None,
        });
        named
            .or_else(|| vocabulary().name(key).map(str::to_owned))
            .unwrap_or_else(|| key.to_owned())
    }

    fn number(&mut self, number: NumericAttribute, bounds: NumberRange) {
        if matches!(number, NumericAttribute::Seats | NumericAttribute::Rows) {
            self.remark(QueryRemark::UsualSeats);
        }
        let label = number.in_filters(bounds);
        let any = vec![Predicate::Number(number, bounds)];
        self.push(RequiredPhrase { any, negated: false, attribute: None, label });
    }

    /// Records that a phrase was left out; `end` is the token after it, `hint` says how to ask
    /// instead.
    fn leave_out(&mut self, said: String, hint: &str, end: usize) {
        let said = self.with_negation(said, end);
        self.remark(QueryRemark::LeftOut(format!("{said}{hint}")));
    }

    fn remark(&mut self, remark: QueryRemark) {
        if !self.understood.remarks.contains(&remark) {
            self.understood.remarks.push(remark);
        }
    }

    /// Adds a condition, or an alternative to the one before.
    fn push(&mut self, mut want: RequiredPhrase) {
        self.has_meaning = true;
        if self.narrows_excluded(&want, self.at) {
            return;
        }
        let is_alternative = self.negation.is_alternative();
        want.negated = self.is_excluded(&want, self.at);
        if want.negated {
            complement(&mut want);
        }
        if let Some(last) = self.understood.wants.last_mut()
            && last.attribute == want.attribute
            && want.attribute.is_some()
            && last.negated == want.negated
            // No car has two makes or bodies, so two of them are alternatives.
            && (is_alternative || last.excludes(&want))
        {
            last.any.append(&mut want.any);
            last.label = format!("{} or {}", last.label, want.label);
            return;
        }
        if !self.understood.wants.contains(&want) {
            self.understood.wants.push(want);
        }
    }

    /// Returns true when a phrase ends within a name such as `F-150` or `CR-V`, whose parts mean
    /// nothing.
    fn splits_name(&self, at: usize, length: usize) -> bool {
        let ends_within = self.tokens.get(at + length).is_some_and(|token| token.joined);
        let first = (0..at + length)
            .rev()
            .find(|at| self.tokens.get(*at).is_none_or(|token| !token.joined));
        let name = self.tokens.get(first.unwrap_or_default()..).unwrap_or_default().iter();
        let mut name = name.enumerate().take_while(|(place, token)| *place == 0 || token.joined);
        ends_within && name.any(|(_, token)| token.text.chars().count() < 3)
    }

    fn is_family(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| family(&token.text).is_some())
    }

    /// Returns true when the words after a colour refer to the interior.
    fn interior_follows(&self, at: usize) -> bool {
        let word = |at: usize| {
            let token = self.tokens.get(at)?;
            vocabulary().said("word", &token.text)
        };
        matches!(word(at), Some("interior" | "fabric"))
    }

    /// Returns the attribute of values, if they share one.
    fn common_attribute(&self, values: &[AttributeValue]) -> Option<Attribute> {
        let first = values.first()?.attribute;
        values.iter().all(|value| value.attribute == first).then_some(first)
    }

    fn label(&self, values: &[AttributeValue], key: &str) -> String {
        let Some(attribute) = self.common_attribute(values) else { return format!("\"{key}\"") };
        match values {
            [value] => format!("{attribute} {}", self.lexicon.name(*value)),
            _ => format!("{attribute} \"{key}\""),
        }
    }

    /// Returns tokens approximately as they were written.
    fn shown(&self, at: usize, length: usize) -> String {
        let mut shown = String::new();
        for token in self.tokens.iter().skip(at).take(length) {
            if !shown.is_empty() {
                shown.push(if token.joined { '-' } else { ' ' });
            }
            shown.push_str(if token.money { "$" } else { "" });
            // Addresses and telephone numbers are not repeated.
            let is_number = token.text.chars().all(|c| c.is_ascii_digit());
            if token.text == "@" || is_number && token.text.len() > 6 {
                shown.push_str("...");
            } else {
                shown.extend(token.text.chars().take(24));
            }
        }
        shown
    }
}

/// Filters meanings to values of some attributes. A body counts only as a whole: `sport` does not
/// mean `Sport Utility`.
fn wanted<'a>(
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

/// Returns the filter for a wish without a number.
fn hint(wish: &str) -> &'static str {
    match wish {
        "miles" => " (mileage_max finds it)",
        "price" => " (price_max finds it)",
        "year" => " (year_min finds it)",
        _ => "",
    }
}

fn family(word: &str) -> Option<&'static str> {
    vocabulary().family(&super::fold::fold(TextKind::Colour, word))
}
