//! Words that are no phrase: numbers alone, beginnings of words, misspellings and unknown words.

use super::super::concepts::concepts;
use super::super::lexicon::{Attribute, PhraseMeaning, ValuePart};
use super::super::numbers;
use super::super::spelling::{self, is_english};
use super::super::tokens::QueryToken;
use super::super::vocabulary::vocabulary;
use super::super::{QueryInterpretation, QueryRemark, RequiredPhrase};
use super::facts::values_with;
use super::{Interpreter, MAX_CORRECTIONS, languages};

impl Interpreter<'_> {
    /// Reads a word that is no phrase: a number alone, the beginning of a word, a misspelling, or
    /// an unknown word. Returns the number of tokens; 0 when a correction is to be read again.
    pub(super) fn unknown(&mut self, at: usize) -> usize {
        let joined = self.tokens.iter().skip(at + 1).take_while(|token| token.joined).count();
        let length = if self.splits_name(at, 1) { 1 + joined } else { 1 };
        let Some(token) = self.tokens.get(at) else { return 1 };
        if length == 1 {
            if let Some((number, bounds)) = numbers::bare_number(token) {
                self.number(number, bounds, at, 1);
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
        let text = self.shown(at, length);
        self.report_unknown(text, at + length);
        length
    }

    /// Reports what no listing has; `end` is the token after it.
    pub(super) fn report_unknown(&mut self, text: String, end: usize) {
        if self.negation.takes_indifference() {
            self.remark(QueryRemark::Indifferent(text));
        } else if self.is_negated() {
            // Excluding what no listing has excludes nothing.
            self.leave_out(text, end);
        } else {
            self.remark(QueryRemark::Unknown(text.clone()));
            self.unknown_words.push(text);
        }
    }

    /// Adds a condition that no vehicle satisfies when a query has unknown words only. Where
    /// anything else was understood, unknown words are reported and not counted.
    pub(super) fn judge_unknown_words(&mut self) {
        let is_understood = |remark: &QueryRemark| match remark {
            QueryRemark::LeftOut(_)
            | QueryRemark::Unstated(_)
            | QueryRemark::Payment(_)
            | QueryRemark::TradeIn(_)
            | QueryRemark::Indifferent(_)
            | QueryRemark::Place(_) => true,
            QueryRemark::NoWord
            | QueryRemark::Corrected { .. }
            | QueryRemark::Unknown(_)
            | QueryRemark::Absent(_)
            | QueryRemark::Family { .. }
            | QueryRemark::UsualSeats
            | QueryRemark::UsualDoors
            | QueryRemark::Similar(_)
            | QueryRemark::Telephone
            | QueryRemark::ReadAs { .. }
            | QueryRemark::StatedBy { .. }
            | QueryRemark::ChildSeats { .. }
            | QueryRemark::Relaxed(_)
            | QueryRemark::Language(_)
            | QueryRemark::TooLong(_) => false,
        };
        let QueryInterpretation { wants, order, then: _, highest, remarks } = &self.understood;
        if !wants.is_empty()
            || order.is_some()
            || highest.is_some()
            || remarks.iter().any(is_understood)
        {
            return;
        }
        for text in std::mem::take(&mut self.unknown_words) {
            let want = RequiredPhrase::nothing(format!("\"{text}\""));
            if !self.understood.wants.contains(&want) {
                self.understood.wants.push(want);
            }
        }
    }

    /// Finds the words that a word begins, names first.
    pub(super) fn beginning(&self, word: &str) -> Option<RequiredPhrase> {
        const TIERS: [&[Attribute]; 4] = [
            &[Attribute::Make, Attribute::Model],
            &[Attribute::ExteriorColor, Attribute::Trim, Attribute::Feature, Attribute::Engine],
            &[Attribute::Rooftop],
            &[Attribute::InteriorColor],
        ];
        // `BMW 330` is a 330i.
        if word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit()) {
            let senses = self.lexicon.starting_with(word).flatten();
            let names = values_with(senses, &[Attribute::Model, Attribute::Trim]);
            return self.phrase_of_values(names.collect(), word);
        }
        if word.chars().count() < 3 || !word.chars().all(char::is_alphabetic) {
            return None;
        }
        let senses = || self.lexicon.starting_with(word).flatten();
        // `high` is no Highlander, and `heat` may mean heated seats.
        if is_english(word) {
            if vocabulary().meaning_of("weak", word).is_some() {
                return None;
            }
            return self
                .phrase_of_values(values_with(senses(), &[Attribute::Feature]).collect(), word);
        }
        TIERS
            .iter()
            .find_map(|tier| self.phrase_of_values(values_with(senses(), tier).collect(), word))
    }

    pub(super) fn correction(&mut self, word: &str) -> Option<String> {
        // `keep` is no misspelt Jeep.
        if is_english(word) || languages::is_common(word) || self.corrections >= MAX_CORRECTIONS {
            return None;
        }
        self.corrections += 1;
        // Words of vehicles on offer win over others.
        // Names win over other words of listings: `camery` is a Camry and no camera.
        let listed = self.lexicon.words().map(|word| (u8::from(!self.lexicon.is_name(word)), word));
        let phrases = vocabulary().phrases().map(|word| (2, word));
        let names = vocabulary().names().map(|word| (3, word));
        let features = concepts().words().map(|word| (2, word));
        spelling::correct(word, listed.chain(phrases).chain(features).chain(names))
            .map(str::to_owned)
    }

    /// Returns the spelling of a corrected word for display.
    pub(super) fn spelt(&self, key: &str) -> String {
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
}
