//! Words that hold sentences together and are names by chance, such as `is`.

use super::super::lexicon::{Attribute, PhraseMeaning, ValuePart};
use super::super::numbers;
use super::super::tokens::QueryToken;
use super::super::vocabulary::vocabulary;
use super::Interpreter;

impl Interpreter<'_> {
    /// Returns true for a particle with the number of an amount behind it.
    pub(super) fn is_particle_of_amount(&self, at: usize, length: usize) -> bool {
        let Some(first) = self.tokens.get(at).filter(|_| length > 1) else { return false };
        vocabulary().meaning_of("particle", &first.text).is_some()
            && numbers::read(&self.tokens, at + 1).is_some()
    }

    /// Returns false for a word that holds sentences together and is a name only by chance: `is` means the Lexus IS
    /// before a number, and nowhere else. With its make it is a phrase of two words (`Lexus IS`).
    pub(super) fn may_be_name(&self, key: &str, at: usize, length: usize) -> bool {
        if vocabulary().meaning_of("particle", key).is_none() {
            return true;
        }
        let is_make = |token: &QueryToken| {
            let make = vocabulary().meaning_of("make", &token.text).unwrap_or(&token.text);
            self.lexicon.senses(make).iter().any(|sense| {
                matches!(sense, PhraseMeaning::Value(value, ValuePart::Whole)
                    if value.attribute == Attribute::Make)
            })
        };
        let before = at.checked_sub(1).and_then(|before| self.tokens.get(before));
        let after = self.tokens.get(at + length).filter(|token| !token.after_pause);
        let is_number = |token: &QueryToken| {
            token.text.len() == 3 && token.text.bytes().all(|b| b.is_ascii_digit())
        };
        after.is_some_and(is_number)
            && numbers::read(&self.tokens, at + length).is_none()
            && before.is_none_or(|token| is_make(token) || numbers::is_year(token))
    }
}
