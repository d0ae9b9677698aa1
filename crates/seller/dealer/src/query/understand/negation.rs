//! Negations: the phrases of a query that `no`, `without` or `anything but` exclude.
//!
//! A vehicle that a shopper excludes is never selected. Where a sentence is ambiguous, the phrase
//! is excluded, and the answer says so.

use super::super::lexicon::Attribute;
use super::super::numbers;
use super::super::vocabulary::vocabulary;
use super::super::{Predicate, RequiredPhrase};
use super::Interpreter;

/// Scope of a negation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NegationScope {
    /// True when it includes what `and` adds: `no trucks and diesels`. `not white and awd` asks for
    /// all-wheel drive.
    over_and: bool,
    /// True when it reaches through unsearchable words to the noun after them: `no ugly trucks`.
    to_noun: bool,
    /// True when it excludes all adjacent phrases together: `anything but a red Honda` finds a red
    /// Ford.
    to_all: bool,
}

/// Scope of `not`, `isn't` and `non`.
const ONE_PHRASE: NegationScope = NegationScope { over_and: false, to_noun: false, to_all: false };

/// Scope of `no`, `without` and `don't want`.
const NOUN_PHRASES: NegationScope = NegationScope { over_and: true, to_noun: true, to_all: false };

/// Scope of `anything but`.
const ALL_BUT: NegationScope = NegationScope { over_and: true, to_noun: true, to_all: true };

/// A negation whose phrase is still to come.
#[derive(Debug, Clone, Copy)]
struct PendingNegation {
    /// First token of the negating words.
    first: usize,
    /// Token after them.
    end: usize,
    reach: NegationScope,
}

/// Connection between two phrases.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhraseLink {
    #[default]
    Nothing,
    Or,
    And,
    Comma,
}

/// State of the interpretation of negations.
#[derive(Debug, Default)]
pub(super) struct Negation {
    pending: Option<PendingNegation>,
    /// Scope of the last exclusion, which may include what is linked to it.
    spread: Option<NegationScope>,
    /// True after `any` or `nothing`: a `but` then excludes, or ends the negation.
    after_any: bool,
    link: PhraseLink,
    /// Token after the last phrase.
    phrase_end: usize,
    /// True after `don't care about`: the next phrase is neither required nor excluded.
    is_indifferent: bool,
}

impl Negation {
    /// Returns what stands between the last phrase and the next.
    pub(super) fn link(&self) -> PhraseLink {
        self.link
    }

    /// Forgets an `or` whose other side was left out.
    pub(super) fn forget_or(&mut self) {
        if self.link == PhraseLink::Or {
            self.link = PhraseLink::And;
        }
    }

    /// Returns the token after the last phrase.
    pub(super) fn phrase_end(&self) -> usize {
        self.phrase_end
    }

    /// Returns true when the shopper does not care about the phrase that is being added, and forgets
    /// it.
    pub(super) fn takes_indifference(&mut self) -> bool {
        std::mem::take(&mut self.is_indifferent)
    }

    /// Returns true when a negation waits for its phrase.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// Forgets what stands before the next phrase.
    pub(super) fn forget_link(&mut self) {
        self.link = PhraseLink::Nothing;
    }

    /// Returns true when a phrase added by `or` may be excluded as well.
    pub(super) fn may_spread(&self) -> bool {
        self.spread.is_some()
    }

    /// Records the end of the last phrase.
    pub(super) fn phrase_ends(&mut self, at: usize) {
        self.phrase_end = at;
    }
}

impl Interpreter<'_> {
    /// Handles a function word about negation. Returns true when it is one.
    pub(super) fn negating_word(&mut self, kind: &str, at: usize, length: usize) -> bool {
        let end = at + length;
        match kind {
            "not" => self.negate(at, end, ONE_PHRASE),
            "no" => self.negate(at, end, NOUN_PHRASES),
            // `not without a sunroof` asks for one; `don't want no trucks` does not ask for trucks.
            "except" if self.negation.after_any => self.negate_or_undo(at, end, ALL_BUT),
            "except" | "without" => self.negate_or_undo(at, end, NOUN_PHRASES),
            "non" => self.negate_or_undo(at, end, ONE_PHRASE),
            "nothing" => {
                self.negate(at, end, NOUN_PHRASES);
                self.negation.after_any = true;
            }
            "any" => {
                self.negation.after_any = true;
                self.extend_to_noun();
            }
            "article" => self.extend_to_noun(),
            "but" => self.but(at, end),
            "excluded" => self.exclude_last(),
            // A new wish begins: `no trucks, I want a Honda`.
            "wish" => self.negation.spread = None,
            "indifferent" => self.negation.is_indifferent = true,
            "or" => self.negation.link = PhraseLink::Or,
            "and" => {
                if self.negation.link != PhraseLink::Or {
                    self.negation.link = PhraseLink::And;
                }
            }
            _ => return false,
        }
        true
    }

    fn negate(&mut self, first: usize, end: usize, reach: NegationScope) {
        let first = self.negation.pending.map_or(first, |pending| pending.first);
        self.negation.pending = Some(PendingNegation { first, end, reach });
    }

    fn negate_or_undo(&mut self, first: usize, end: usize, reach: NegationScope) {
        match self.negation.pending.take() {
            Some(_) => self.negation.after_any = false,
            None => self.negate(first, end, reach),
        }
    }

    /// Extends a negation to the noun after an article: `not a small truck`.
    fn extend_to_noun(&mut self) {
        if let Some(pending) = &mut self.negation.pending {
            pending.reach.to_noun = true;
        }
    }

    /// Handles `but`: `anything but a Honda` excludes, `nothing but Hondas` asks for them, `not red
    /// but blue` ends the negation, and `cheap but good` means nothing.
    fn but(&mut self, first: usize, end: usize) {
        self.negation.spread = None;
        let after_any = std::mem::take(&mut self.negation.after_any);
        if self.negation.pending.is_some() {
            if after_any {
                self.negation.pending = None;
            } else {
                self.drop_negation(first);
            }
        } else if after_any && self.phrase_follows(end, true) {
            self.negate(first, end, ALL_BUT);
        }
    }

    /// Excludes the last phrase: `trucks excluded`.
    fn exclude_last(&mut self) {
        if let Some(last) = self.understood.wants.last_mut() {
            last.negated = true;
            complement(last);
        }
    }

    /// Returns the word after `no`, `not` or `non` in one that is written together, as in `notruck`, if it is known.
    pub(super) fn glued_negation(&self, word: &str) -> Option<String> {
        let rest = [3, 2].into_iter().find_map(|letters| {
            let (start, rest) = word.split_at_checked(letters)?;
            vocabulary().meaning_of("glued", start)?;
            let is_known = |key: &str| {
                self.read_class(key).is_some()
                    || self.read_make_or_model(key).is_some()
                    || super::facts::family(key).is_some()
            };
            let singular = rest.strip_suffix('s').unwrap_or(rest);
            (rest.len() > 2 && (is_known(rest) || is_known(singular))).then(|| rest.to_owned())
        });
        rest.filter(|_| !super::super::spelling::is_english(word))
    }

    /// Returns true when nothing but articles and words such as `like` stands between two tokens.
    fn are_articles(&self, from: usize, to: usize) -> bool {
        let mut between = self.tokens.get(from..to).unwrap_or_default().iter();
        between.all(|token| {
            matches!(vocabulary().meaning_of("word", &token.text), Some("article" | "wish"))
        })
    }

    /// Returns true when nothing but politeness stands between two tokens.
    fn is_courtesy(&self, from: usize, to: usize) -> bool {
        let between = self.tokens.get(from..to).unwrap_or_default().iter();
        between
            .map(|token| &token.text)
            .all(|text| vocabulary().meaning_of("courtesy", text).is_some())
    }

    /// Excludes the phrase before a negation that has none after it: `Honda? No`, `trucks, no thanks`. Returns true
    /// when it did.
    fn excludes_before(&mut self, end: usize) -> bool {
        let Some(pending) = self.negation.pending else { return false };
        let is_behind = self.negation.phrase_end > 0
            && self.is_courtesy(self.negation.phrase_end, pending.first)
            && self.negation.link != PhraseLink::Or;
        if !is_behind || !self.is_courtesy(pending.end, end) {
            return false;
        }
        self.negation.pending = None;
        self.exclude_last();
        true
    }

    /// Returns true when a phrase begins at a token: no function word, no number, and no pause
    /// before it.
    pub(super) fn phrase_follows(&self, mut at: usize, past_articles: bool) -> bool {
        let meaning_of = |kind: &str, at: usize| {
            self.tokens.get(at).and_then(|token| vocabulary().meaning_of(kind, &token.text))
        };
        while past_articles && meaning_of("word", at) == Some("article") {
            at += 1;
        }
        let Some(token) = self.tokens.get(at) else { return false };
        let is_task =
            !matches!(meaning_of("word", at), None | Some("fabric" | "interior" | "shade"));
        let says_nothing = is_task || meaning_of("ignored", at).is_some();
        !token.after_pause
            && (!says_nothing || self.read_make_or_model(&token.text).is_some())
            && numbers::read(&self.tokens, at).is_none()
    }

    /// Handles a pause before a token.
    pub(super) fn pause(&mut self, at: usize) {
        if !self.tokens.get(at).is_some_and(|token| token.after_pause) {
            return;
        }
        self.negation.is_indifferent = false;
        if self.excludes_before(at) {
            return;
        }
        match self.negation.pending {
            // As in `I don't drive much, I want a Honda`. `No, trucks` and `not a, truck` still exclude them.
            Some(pending) if !self.are_articles(pending.end, at) => self.drop_negation(at),
            Some(_) => {}
            None if self.negation.link == PhraseLink::Nothing => {
                self.negation.link = PhraseLink::Comma
            }
            None => {}
        }
    }

    /// Records that a negation was left out, because no phrase follows it.
    pub(super) fn drop_negation(&mut self, end: usize) {
        if self.excludes_before(end) {
            return;
        }
        if let Some(pending) = self.negation.pending.take() {
            let phrase = self.shown(pending.first, end.saturating_sub(pending.first));
            self.remark(super::super::QueryRemark::LeftOut(phrase));
        }
    }

    /// Describes a phrase that is left out, with the negation before it, if there is one. The
    /// negation remains when its noun is still to come.
    pub(super) fn with_negation(&mut self, phrase: String, end: usize) -> String {
        let Some(pending) = self.negation.pending else { return phrase };
        if pending.reach.to_noun && self.phrase_follows(end, false) {
            return phrase;
        }
        self.negation.pending = None;
        // As in `no spaceships or trucks`.
        self.negation.spread = Some(ONE_PHRASE);
        format!("not {phrase}")
    }

    /// Returns true when a negation waits for its phrase.
    pub(super) fn is_negated(&self) -> bool {
        self.negation.pending.is_some()
    }

    /// Decides whether a phrase that begins at a token is excluded, and consumes the negation.
    pub(super) fn is_excluded(&mut self, want: &RequiredPhrase, at: usize) -> bool {
        let link = std::mem::take(&mut self.negation.link);
        if let Some(pending) = self.negation.pending.take() {
            self.negation.spread = Some(pending.reach);
            self.negation.after_any = false;
            return true;
        }
        let Some(reach) = self.negation.spread.take() else { return false };
        let last = self.understood.wants.last().and_then(|last| last.attribute);
        let is_same = last.is_some() && last == want.attribute;
        let is_number = matches!(want.any.as_slice(), [Predicate::Number(..)]);
        let is_continued = match link {
            PhraseLink::Or => true,
            PhraseLink::And => is_same || reach.over_and && !is_number,
            PhraseLink::Comma => is_same || reach.over_and && self.is_enumeration_open(at),
            PhraseLink::Nothing => false,
        };
        if is_continued {
            self.negation.spread = Some(reach);
        }
        is_continued
    }

    /// Returns true when an `or` ends the enumeration that a token is part of: `no trucks, diesels
    /// or Hondas`.
    fn is_enumeration_open(&self, at: usize) -> bool {
        for next in at + 1..self.tokens.len() {
            let Some(token) = self.tokens.get(next) else { return false };
            match vocabulary().meaning_of("word", &token.text) {
                Some("or" | "not") => return true,
                Some("article") | None => {}
                Some(_) => return false,
            }
            if numbers::read(&self.tokens, next).is_some() {
                return false;
            }
        }
        false
    }

    /// Narrows the last exclusion by a phrase that directly follows it: `no Honda Civic` excludes
    /// this model and no other Honda. Returns true when it did.
    pub(super) fn narrows_excluded(&mut self, want: &RequiredPhrase, at: usize) -> bool {
        let is_next = self.negation.phrase_end == at && self.negation.link == PhraseLink::Nothing;
        let is_number = matches!(want.any.as_slice(), [Predicate::Number(..)]);
        let spread = self.negation.spread;
        let Some(last) = self.understood.wants.last_mut() else { return false };
        if !is_next || !last.negated || self.negation.pending.is_some() {
            return false;
        }
        if last.attribute == Some(Attribute::Make) && want.attribute == Some(Attribute::Model) {
            return narrow_make(last, want);
        }
        let is_part = !is_number && (want.attribute != last.attribute || want.attribute.is_none());
        if !is_part || !spread.is_some_and(|reach| reach.to_all) {
            return false;
        }
        let mut groups = match std::mem::take(&mut last.any).as_mut_slice() {
            [Predicate::All(groups)] => std::mem::take(groups),
            any => vec![any.to_vec()],
        };
        groups.push(want.any.clone());
        last.any = vec![Predicate::All(groups)];
        last.attribute = None;
        last.label = format!("({} and {})", last.label.trim_matches(['(', ')']), want.label);
        true
    }
}

/// Narrows an excluded make to a model of this make. Returns true when it could.
fn narrow_make(last: &mut RequiredPhrase, want: &RequiredPhrase) -> bool {
    let ids = |any: &[Predicate], of: Attribute| -> Option<Vec<u32>> {
        let [Predicate::Values(values)] = any else { return None };
        let same = values.iter().all(|value| value.attribute == of);
        same.then(|| values.iter().map(|value| value.id).collect())
    };
    let Some(makes) = ids(&last.any, Attribute::Make) else { return false };
    let Some(models) = ids(&want.any, Attribute::Model) else { return false };
    let pairs = makes
        .iter()
        .flat_map(|make| models.iter().map(|model| Predicate::Pair { make: *make, model: *model }));
    last.any = pairs.collect();
    last.attribute = want.attribute;
    last.label = format!("{} {}", last.label, want.label);
    true
}

/// Replaces an excluded half-open range of prices, miles or years by its complement: `not over 20k`
/// is a maximum price. Ranges with two ends stay excluded.
pub(super) fn complement(want: &mut RequiredPhrase) {
    let [Predicate::Number(number, bounds)] = want.any.as_mut_slice() else { return };
    let number = *number;
    // Vehicles that do not state such a number are not excluded.
    if !number.has_filter() {
        return;
    }
    let left = match *bounds {
        (None, Some(max)) => (Some(max.saturating_add(1)), None),
        (Some(min), None) if min > 0 => (None, Some(min - 1)),
        (_, _) => return,
    };
    *bounds = left;
    want.label = number.in_filters(left);
    want.negated = false;
}
