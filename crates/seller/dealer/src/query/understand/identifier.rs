//! Stock numbers and VINs, or parts of VINs, with and without a word that announces them.

use super::super::numbers;
use super::super::tokens::together;
use super::super::vocabulary::vocabulary;
use super::super::{Predicate, RequiredPhrase};
use super::Interpreter;

impl Interpreter<'_> {
    /// Interprets a stock number, a VIN or its end, without an announcing word.
    pub(super) fn read_identifier(&self, key: &str) -> Option<RequiredPhrase> {
        let has_digit = key.bytes().any(|b| b.is_ascii_digit());
        let letters = key.chars().count();
        // Ordinary words may occur among stock numbers, and two characters at the end of many VINs.
        if !has_digit || letters < 3 {
            return None;
        }
        if self.inventory.has_stock(key) {
            return Some(RequiredPhrase::identifier(Predicate::Stock, "stock", key));
        }
        if letters >= 4 && self.inventory.vin_ends(key) {
            return Some(RequiredPhrase::identifier(Predicate::VinEnd, "vin ending", key));
        }
        // Digits alone are more likely an amount.
        let has_letter = key.bytes().any(|b| b.is_ascii_alphabetic());
        (letters >= 5 && has_letter && self.inventory.vin_starts(key))
            .then(|| RequiredPhrase::identifier(Predicate::VinStart, "vin beginning", key))
    }

    /// Interprets an announced number: `stock N2150`, `vin ending in 000023`, whether such a unit
    /// exists or not.
    pub(super) fn identifier_named(&mut self, at: usize) -> Option<usize> {
        let (length, kind) = (1..=4).rev().find_map(|length| {
            let key = together(self.tokens.get(at..at + length)?);
            let kind = vocabulary().meaning_of("word", &key)?;
            matches!(kind, "vin" | "stock").then_some((length, kind))
        })?;
        let first = at + length;
        let mut end = first;
        let mut key = String::new();
        while let Some(token) = self.tokens.get(end).filter(|token| end == first || token.joined) {
            key.push_str(&token.text);
            end += 1;
        }
        // `in stock under 40k` announces no number.
        let is_number = key.bytes().any(|b| b.is_ascii_digit()) && key.chars().count() > 2;
        if !is_number || kind == "stock" && numbers::read(&self.tokens, first).is_some() {
            return None;
        }
        let want = match kind {
            "stock" => RequiredPhrase::identifier(Predicate::Stock, "stock", &key),
            _ if key.len() < 17
                && !self.inventory.vin_ends(&key)
                && self.inventory.vin_starts(&key) =>
            {
                RequiredPhrase::identifier(Predicate::VinStart, "vin beginning", &key)
            }
            _ => RequiredPhrase::identifier(Predicate::VinEnd, "vin ending", &key),
        };
        self.push(want);
        Some(end - at)
    }
}
