//! Numbers with a unit: `300hp` is read as `300 hp`, and a measure is searched in the words of
//! listings before it is left out.

use super::super::lexicon::Attribute;
use super::super::numbers::is_unit;
use super::super::tokens::QueryToken;
use super::super::vocabulary::vocabulary;
use super::Interpreter;

impl Interpreter<'_> {
    /// Separates numbers from units, and negating words from what a hyphen joins to them, unless
    /// the whole is a word of the inventory or the name of a car.
    pub(super) fn separate_units(&mut self) {
        let tokens = std::mem::take(&mut self.tokens);
        let mut separated: Vec<QueryToken> = Vec::with_capacity(tokens.len());
        let mut tokens = tokens.into_iter().peekable();
        while let Some(mut token) = tokens.next() {
            let next = tokens.peek().map(|next| next.text.as_str());
            let before = separated.last();
            let follows_number =
                before.is_some_and(|before| before.text.bytes().all(|byte| byte.is_ascii_digit()));
            if token.joined && token.text == "in" && follows_number {
                // In `20-in wheels` it means inches; elsewhere `in` is a preposition.
                token.text = "inch".to_owned();
            }
            let negates = |before: &QueryToken| {
                matches!(vocabulary().meaning_of("word", &before.text), Some("no" | "non" | "not"))
            };
            let is_article = |before: &QueryToken| {
                vocabulary().meaning_of("word", &before.text) == Some("article")
            };
            let second = separated.len().checked_sub(2).and_then(|place| separated.get(place));
            if token.joined
                && (before.is_some_and(negates)
                    || before.is_some_and(is_article) && second.is_some_and(negates))
            {
                token.joined = false;
            }
            match self.number_and_unit(&token.text, next) {
                Some((number, unit)) => {
                    let plus = token.plus;
                    separated.push(QueryToken { text: number, plus: false, ..token });
                    separated.push(QueryToken { plus, ..QueryToken::plain(&unit) });
                }
                None => separated.push(token),
            }
        }
        self.tokens = separated;
    }

    /// Splits `40kmi` into 40k and mi. `4runner`, `330i` and stock numbers stay whole.
    fn number_and_unit(&self, text: &str, next: Option<&str>) -> Option<(String, String)> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0)?;
        let (number, unit) = text.split_at_checked(end)?;
        // In `7l/100km` the `l` is a unit; alone it is part of an engine's name.
        let is_consumption = unit == "l" && next.is_some_and(|next| next.starts_with("100"));
        let (number, unit) = if unit == "in" {
            (number.to_owned(), "inch")
        } else if is_consumption || unit.len() > 1 && is_unit(unit) {
            (number.to_owned(), unit)
        } else {
            let unit = unit.strip_prefix('k').filter(|unit| unit.len() > 1 && is_unit(unit))?;
            (format!("{number}k"), unit)
        };
        let is_name = !self.lexicon.senses(text).is_empty()
            || vocabulary().name(text).is_some()
            || vocabulary().is_phrase(text)
            || self.inventory.has_stock(text);
        (!is_name).then(|| (number, unit.to_owned()))
    }

    /// Interprets a number with a unit that no filter has: as a feature or engine of a listing, or
    /// as a phrase that is left out.
    pub(super) fn measured(&mut self, at: usize, length: usize) {
        let key = super::together(self.tokens.get(at..at + length).unwrap_or_default());
        if let Some(want) = self.read_group(&key) {
            self.push(want);
            return;
        }
        // `3.5 liter` means the engine 3.5L.
        let unit = self.tokens.get(at + length - 1).map(|token| token.text.as_str());
        let unit = unit.filter(|unit| vocabulary().meaning_of("liter", unit).is_some());
        let engine = unit.and_then(|unit| key.strip_suffix(unit));
        let engine = engine.map(|number| format!("{number}l"));
        let engine =
            engine.and_then(|key| self.values_of(&key, &[Attribute::Engine, Attribute::Trim]));
        let want = engine
            .or_else(|| self.values_of(&key, &[Attribute::Feature]))
            .or_else(|| self.read_feature_words(at, length));
        match want {
            Some(want) => self.push(want),
            None => {
                let phrase = self.shown(at, length);
                self.leave_out(phrase, at + length);
            }
        }
    }
}
