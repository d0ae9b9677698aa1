//! Interpretation of a query.

mod alternatives;
mod facts;
mod groups;
mod identifier;
mod languages;
mod likeness;
mod measure;
mod negation;
mod particle;
mod unknown;

use std::cell::OnceCell;

use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_document::catalog::Vocabulary as _;

use super::contact::without_telephone_numbers;
use super::fold::plural_stem;
use super::lexicon::{Attribute, Lexicon};
use super::numbers::{self, NumberPhrase, NumberRange, NumericAttribute};
use super::tokens::{QueryToken, together, tokens};
use super::vocabulary::vocabulary;
use super::{CurrentYear, InventoryLookups, QueryInterpretation, QueryRemark, RequiredPhrase};
use alternatives::OpenSides;
use likeness::Likeness;
use negation::{Negation, PhraseLink, complement};

/// Maximum number of tokens of a phrase.
const LONGEST_PHRASE: usize = 5;

/// Maximum number of words that are read of a query, because each condition is compared with
/// others.
const MAX_WORDS: usize = 500;

/// Maximum number of words of a query that are checked for misspellings, because each is compared
/// with every known word.
const MAX_CORRECTIONS: usize = 4;

/// Interprets a query with the words and numbers of an inventory. Ages are counted back from
/// `this_year`.
pub(crate) fn understand(
    query: &str,
    lexicon: &Lexicon,
    inventory: &dyn InventoryLookups,
    this_year: CurrentYear,
) -> QueryInterpretation {
    let numberless = without_telephone_numbers(query);
    let mut words = tokens(numberless.as_deref().unwrap_or(query));
    let is_long = words.len() > MAX_WORDS;
    words.truncate(MAX_WORDS);
    let language = languages::translate(&mut words, lexicon);
    let mut reader = Interpreter {
        names_both_drives: OnceCell::new(),
        tokens: words,
        lexicon,
        inventory,
        this_year,
        understood: QueryInterpretation::default(),
        negation: Negation::default(),
        links: Vec::new(),
        sides: None,
        likeness: None,
        unknown_words: Vec::new(),
        interior_end: None,
        interior_read: None,
        corrections: 0,
        at: 0,
        has_meaning: false,
    };
    if let Some(language) = language {
        reader.remark(QueryRemark::Language(language));
    }
    if numberless.is_some() {
        reader.remark(QueryRemark::Telephone);
    }
    if is_long {
        reader.remark(QueryRemark::TooLong(MAX_WORDS));
    }
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
    reader.finish_likeness();
    reader.judge_unknown_words();
    reader.understood
}

struct Interpreter<'a> {
    tokens: Vec<QueryToken>,
    lexicon: &'a Lexicon,
    inventory: &'a dyn InventoryLookups,
    this_year: CurrentYear,
    understood: QueryInterpretation,
    /// State of negations and conjunctions.
    negation: Negation,
    /// For each condition, what stands between it and the one before.
    links: Vec<PhraseLink>,
    /// The sides of an `or` whose last side may go on.
    sides: Option<OpenSides>,
    /// A comparison whose car is being named.
    likeness: Option<Likeness>,
    /// Words that mean nothing here.
    unknown_words: Vec<String>,
    /// True when the query names all-wheel drive and four-wheel drive.
    names_both_drives: OnceCell<bool>,
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
        if let Some((length, meaning)) = numbers::read(&self.tokens, at) {
            match meaning {
                NumberPhrase::Range(number, bounds) => self.number(number, bounds, at, length),
                NumberPhrase::Unsearchable => self.measured(at, length),
                // `my 16 year old` is a person.
                NumberPhrase::Age(_) if self.is_of_person(at) => {}
                NumberPhrase::ChildSeats(children) => self.child_seats(children, at, length),
                NumberPhrase::Age((least, most)) => {
                    let year = |age: u32| self.this_year.years_ago(age);
                    let bounds = (most.map(year), least.map(year));
                    self.number(NumericAttribute::Year, bounds, at, length);
                }
                NumberPhrase::Payment => {
                    self.answer_without_condition(at, length, QueryRemark::Payment)
                }
                NumberPhrase::Distance => {
                    self.answer_without_condition(at, length, QueryRemark::Place)
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
        let key = together(run);
        // The `is 350` of `it is 350 a month` is no Lexus; `one owner, under 25k` is one owner.
        if vocabulary().meanings(&key).is_empty() && self.is_particle_of_amount(at, length) {
            return false;
        }
        // A model with a year as its name wins.
        if let [token] = run
            && numbers::is_year(token)
            && let Some((number, bounds)) = numbers::bare_number(token)
            && self.read_make_or_model(&key).is_none()
        {
            self.number(number, bounds, at, length);
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
        let singular = plural_stem(&key);
        std::iter::once(key.as_str()).chain(singular).any(|key| self.read_key(key, at, length))
    }

    /// Reads a phrase by its key.
    fn read_key(&mut self, key: &str, at: usize, length: usize) -> bool {
        if self.read_wish(key, at, length) {
            return true;
        }
        let want = self
            .read_group(key)
            .or_else(|| self.read_class(key))
            .or_else(|| self.read_colour(key, at, length))
            .or_else(|| self.read_make_or_model(key).filter(|_| self.may_be_name(key, at, length)));
        if let Some(want) = want {
            self.push(want);
            return true;
        }
        if self.read_concepts(at, length) || self.function_word(key, at, length) {
            return true;
        }
        // `and heated seats` is no `Ventilated and heated seats`.
        let is_small = length > 1 && self.has_small_ends(at, length);
        let want = self
            .read_listing_word(key)
            .filter(|_| !is_small && self.may_be_name(key, at, length))
            .or_else(|| self.read_feature_words(at, length).filter(|_| !is_small))
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
        self.read_shade(key, at, length)
    }

    /// Reads a wish that is no condition: an order, a comparison, a place, a payment, or a wish
    /// that no listing can be found by.
    fn read_wish(&mut self, key: &str, at: usize, length: usize) -> bool {
        let meanings = vocabulary().meanings(key);
        if meanings.is_empty() {
            return false;
        }
        let meaning = |kind: &str| meanings.of_kind(kind);
        if meaning("vague").is_some() {
            let text = self.shown(at, length);
            self.leave_out(text, at + length);
        } else if let Some(order) = meaning("order") {
            self.read_order(order, at, length);
        } else if meaning("owners").is_some() {
            self.number(NumericAttribute::Owners, (Some(1), Some(1)), at, length);
        } else if meaning("accidents").is_some() {
            self.number(NumericAttribute::Accidents, (Some(0), Some(0)), at, length);
        } else if meaning("history").is_some() {
            let said = "clean history";
            self.remark(QueryRemark::ReadAs { said, read: "no accidents" });
            self.number(NumericAttribute::Accidents, (Some(0), Some(0)), at, length);
        } else if meaning("payment").is_some() {
            self.answer_without_condition(at, length, QueryRemark::Payment);
        } else if meaning("place").is_some() {
            self.answer_without_condition(at, length, QueryRemark::Place);
        } else if meaning("othermake").is_some() {
            self.ask_for_other_makes(at, length);
        } else if meaning("tradein").is_some() {
            let text = self.shown(at, length);
            self.begin_trade_in(text);
        } else if meaning("similar").is_some() || key == "like" && self.is_comparison(at) {
            self.begin_likeness();
        } else {
            return false;
        }
        true
    }

    /// Returns true when a phrase begins or ends with a word that holds sentences together.
    fn has_small_ends(&self, at: usize, length: usize) -> bool {
        let is_small = |at: usize| {
            let text = self.tokens.get(at).map_or("", |token| token.text.as_str());
            let kind = vocabulary().meaning_of("word", text);
            matches!(kind, Some("and" | "or" | "article" | "but" | "wish" | "any" | "no" | "not"))
                || vocabulary().meaning_of("hold", text).is_some()
        };
        is_small(at) || is_small(at + length - 1)
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
            // The `or` that follows separates the sides.
            Some("either") => {}
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

    /// Adds a condition on a number, or says that no listing states it.
    fn number(&mut self, number: NumericAttribute, bounds: NumberRange, at: usize, length: usize) {
        if !number.has_filter() && !self.inventory.states(number) {
            self.answer_without_condition(at, length, QueryRemark::Unstated);
            return;
        }
        if number.is_seldom_stated() {
            let listings = self.inventory.stated_by(number);
            let all = self.inventory.listings();
            if listings < all {
                self.remark(QueryRemark::StatedBy { number, listings, all });
            }
        }
        if matches!(number, NumericAttribute::Seats | NumericAttribute::Rows) {
            self.remark(QueryRemark::UsualSeats);
        }
        if number == NumericAttribute::Doors {
            self.remark(QueryRemark::UsualDoors);
        }
        self.push(RequiredPhrase::number(number, bounds));
    }

    /// Adds a condition on the seats that so many seats for children need beside each other, and
    /// the seats in front.
    fn child_seats(&mut self, children: u32, at: usize, length: usize) {
        let seats = children.saturating_add(2);
        let said = self.shown(at, length);
        self.remark(QueryRemark::ChildSeats { said, seats });
        self.number(NumericAttribute::Seats, (Some(seats), None), at, length);
    }

    /// Returns true when an age is of a person: `my 16 year old`.
    fn is_of_person(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        before.is_some_and(|token| vocabulary().meaning_of("possessor", &token.text).is_some())
    }

    /// Records a phrase that is answered by a remark, because no listing can be found by it.
    fn answer_without_condition(
        &mut self,
        at: usize,
        length: usize,
        remark: impl FnOnce(String) -> QueryRemark,
    ) {
        let text = self.shown(at, length);
        let text = self.with_negation(text, at + length);
        self.remark(remark(text));
        self.negation.forget_or();
    }

    /// Records the order that a query asks for, and a second one for the vehicles that are equal in
    /// the first.
    fn read_order(&mut self, order: &str, at: usize, length: usize) {
        let end = at + length;
        let text = self.shown(at, length);
        let highest = order.split_once(' ').and_then(|(field, _)| highest(field));
        if highest.is_some_and(|number| !self.inventory.states(number)) {
            let text = self.with_negation(text, end);
            self.remark(QueryRemark::Unstated(text));
            return;
        }
        let sort = order.split_once(' ').and_then(|(field, direction)| {
            Some(Sort {
                field: SortField::from_name(field)?,
                order: SortOrder::from_name(direction)?,
            })
        });
        let QueryInterpretation { order: known, then, highest: known_highest, .. } =
            &mut self.understood;
        let is_same =
            *known == sort && *known_highest == highest || sort.is_some() && *then == sort;
        let is_first = known.is_none() && known_highest.is_none();
        let field = sort.map(|sort| sort.field);
        let is_second = then.is_none()
            && field.is_some()
            && known.is_some_and(|known| Some(known.field) != field);
        if is_second && !self.negation.is_pending() {
            *then = sort;
            return;
        }
        if self.negation.is_pending() || !is_first && !is_same {
            self.leave_out(text, end);
            return;
        }
        if is_same {
            return;
        }
        *known = sort;
        *known_highest = highest;
    }

    /// Records that a phrase was left out; `end` is the token after it.
    fn leave_out(&mut self, text: String, end: usize) {
        let text = self.with_negation(text, end);
        self.remark(QueryRemark::LeftOut(text));
    }

    fn remark(&mut self, remark: QueryRemark) {
        if !self.understood.remarks.contains(&remark) {
            self.understood.remarks.push(remark);
        }
    }

    /// Adds a condition, or an alternative to the one before.
    fn push(&mut self, want: RequiredPhrase) {
        self.has_meaning = true;
        if self.negation.takes_indifference() {
            self.remark(QueryRemark::Indifferent(want.label));
            return;
        }
        let Some(mut want) = self.compare_with(want) else { return };
        if self.narrows_excluded(&want, self.at) {
            return;
        }
        let link = self.negation.link();
        want.negated = self.is_excluded(&want, self.at);
        if want.negated {
            complement(&mut want);
        }
        let Some(want) = self.join_sides(want, link) else { return };
        let is_alternative = link == PhraseLink::Or;
        let is_other_name = is_alternative && self.is_other_name(&want);
        if let Some(last) = self.understood.wants.last_mut()
            && last.attribute == want.attribute
            && want.attribute.is_some()
            && last.negated == want.negated
            && !is_other_name
            // No car has two makes or bodies, so two of them are alternatives.
            && (is_alternative || last.excludes(&want))
        {
            last.any.extend(want.any);
            last.label = format!("{} or {}", last.label, want.label);
            if is_alternative {
                self.join_enumeration();
            }
            return;
        }
        if is_alternative && self.open_sides(&want) {
            return;
        }
        if !self.understood.wants.contains(&want) {
            self.understood.wants.push(want);
            self.links.push(link);
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

/// Returns the number that an order of the vocabulary is about, where AAP has no such order.
fn highest(field: &str) -> Option<NumericAttribute> {
    match field {
        "mpg" => Some(NumericAttribute::CombinedMpg),
        "range" => Some(NumericAttribute::ElectricRange),
        "towing" => Some(NumericAttribute::Towing),
        "horsepower" => Some(NumericAttribute::Horsepower),
        _ => None,
    }
}
