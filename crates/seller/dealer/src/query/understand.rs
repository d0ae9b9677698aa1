//! Interpretation of a query.

mod facts;
mod identifier;
mod measure;
mod negation;
mod particle;
mod unknown;

use super::lexicon::{Attribute, Lexicon};
use super::numbers::{self, NumberPhrase, NumberRange, NumericAttribute};
use super::tokens::{QueryToken, together, tokens};
use super::vocabulary::vocabulary;
use super::{Identifiers, Predicate, QueryInterpretation, QueryRemark, RequiredPhrase};
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
        interior_end: None,
        interior_read: None,
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
    /// Token after a word for the interior: a colour there is the interior's.
    interior_end: Option<usize>,
    /// Token of a word for the interior that a colour before it has used.
    interior_read: Option<usize>,
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
            && let Some((number, bounds)) = numbers::bare_number(token)
            && self.read_make_or_model(&key).is_none()
        {
            self.number(number, bounds);
            return true;
        }
        if run.last().is_some_and(|token| token.plus) {
            // `SE+` is another trim than `SE`.
            let key = format!("{key}+");
            if let Some(want) =
                self.read_make_or_model(&key).or_else(|| self.read_listing_word(&key))
            {
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
        if let Some(wish) = vocabulary().meaning_of("vague", key) {
            let said = self.shown(at, length);
            // A wish for few miles gets a hint about the filter.
            let hint = if self.is_negated() { "" } else { hint(wish) };
            self.leave_out(said, hint, at + length);
            return true;
        }
        let want = self
            .read_class(key)
            .or_else(|| self.read_colour(key, at, length))
            .or_else(|| self.read_make_or_model(key).filter(|_| self.may_be_name(key, at, length)));
        if let Some(want) = want {
            self.push(want);
            return true;
        }
        if self.function_word(key, at, length) {
            return true;
        }
        let want = self
            .read_listing_word(key)
            .filter(|_| self.may_be_name(key, at, length))
            .or_else(|| self.read_feature_words(at, length))
            .or_else(|| self.read_identifier(key))
            .or_else(|| self.values_of(key, &[Attribute::Rooftop]))
            .or_else(|| self.values_of(key, &[Attribute::InteriorColor]));
        if let Some(want) = want {
            self.push(want);
            return true;
        }
        if let Some(name) = vocabulary().name(key) {
            self.remark(QueryRemark::Absent(name));
            self.push(RequiredPhrase::nothing(name.to_owned()));
            return true;
        }
        self.read_shade(key)
    }

    /// Reads a function word, or a word that is ignored.
    fn function_word(&mut self, key: &str, at: usize, length: usize) -> bool {
        // `the SE` is not `these`.
        let rest = self.tokens.get(at + 1..at + length).unwrap_or_default();
        if !vocabulary().is_spaced(key) && !rest.iter().all(|token| token.joined) {
            return false;
        }
        match vocabulary().meaning_of("word", key) {
            // Without anything before it, it has no other side.
            Some("or") if self.understood.wants.is_empty() && !self.negation.may_spread() => {}
            Some("interior") if self.interior_read == Some(at) => {}
            Some("interior") => self.interior_end = Some(at + length),
            // A number after it has been read already.
            Some("vin" | "stock") => {}
            Some("shade") if self.is_family(at + length) => {}
            Some(kind) if self.negating_word(kind, at, length) => {}
            // `hybrid or not` asks for nothing; `Toyota or not Honda` excludes.
            Some(_) | None
                if self.is_negated() && vocabulary().meaning_of("courtesy", key).is_some() => {}
            Some(_) | None if key == "ornot" && self.phrase_follows(at + length, true) => {
                return false;
            }
            Some(_) | None => return vocabulary().meaning_of("ignored", key).is_some(),
        }
        true
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

/// Returns the filter for a wish without a number.
fn hint(wish: &str) -> &'static str {
    match wish {
        "miles" => " (mileage_max finds it)",
        "price" => " (price_max finds it)",
        "year" => " (year_min finds it)",
        _ => "",
    }
}
