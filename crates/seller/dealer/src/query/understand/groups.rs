//! Groups that shoppers name: the makes of a country, trucks by their class, engines by their
//! cylinders or by the name that a maker gives its diesels.

use super::super::lexicon::{Attribute, AttributeValue, PhraseMeaning, ValuePart};
use super::super::vocabulary::{NameGroup, NameGroupKind, vocabulary};
use super::super::{Predicate, QueryRemark, RequiredPhrase, unique};
use super::Interpreter;

impl Interpreter<'_> {
    /// Interprets the name of a group.
    pub(super) fn read_group(&mut self, key: &str) -> Option<RequiredPhrase> {
        let group = vocabulary().group(key)?;
        let want = match group.kind {
            NameGroupKind::Make => self.members(group, Attribute::Make),
            NameGroupKind::Model => self.members(group, Attribute::Model),
            NameGroupKind::Engine => self.members(group, Attribute::Engine),
            NameGroupKind::Diesel => self.diesel(group),
        };
        if want.any.is_empty() && !self.is_negated() {
            self.remark(QueryRemark::Unknown(group.name.to_owned()));
        }
        Some(want)
    }

    /// Returns the condition that a vehicle has one of the members.
    fn members(&self, group: &NameGroup, attribute: Attribute) -> RequiredPhrase {
        let values = self.values_of_members(group, attribute);
        if values.is_empty() {
            return RequiredPhrase::nothing(format!("{attribute} {}", group.name));
        }
        // Engines have many spellings, makes and models have names.
        let label = if attribute == Attribute::Engine {
            format!("{attribute} {}", group.name)
        } else {
            let names: Vec<&str> = values.iter().map(|value| self.lexicon.name(*value)).collect();
            format!("{attribute} {}", names.join(" or "))
        };
        RequiredPhrase::values(values, Some(attribute), label)
    }

    fn values_of_members(&self, group: &NameGroup, attribute: Attribute) -> Vec<AttributeValue> {
        let senses = group.members.iter().flat_map(|member| self.lexicon.senses(member));
        let values = senses.filter_map(|sense| match sense {
            PhraseMeaning::Value(value, part) if value.attribute == attribute => {
                let is_named = *part == ValuePart::Whole
                    || attribute == Attribute::Engine
                    || attribute == Attribute::Model && *part == ValuePart::Start;
                is_named.then_some(*value)
            }
            PhraseMeaning::Value(..) | PhraseMeaning::Pair(..) => None,
        });
        unique(values.collect())
    }

    /// Returns the condition that a listing names a diesel, or is a diesel of the makes that use
    /// the name.
    fn diesel(&self, group: &NameGroup) -> RequiredPhrase {
        const WORDS: &[Attribute] = &[
            Attribute::Trim,
            Attribute::Engine,
            Attribute::Model,
            Attribute::Feature,
            Attribute::Fuel,
        ];
        let label = format!("{} {}", Attribute::Engine, group.name);
        let named = super::facts::values_with(self.lexicon.senses(group.key.as_str()), WORDS);
        let named: Vec<AttributeValue> = unique(named.collect());
        let makes = self.values_of_members(group, Attribute::Make);
        let fuels: Vec<AttributeValue> = self.of_class(Attribute::Fuel, "diesel").collect();
        let mut any = Vec::new();
        if !named.is_empty() {
            any.push(Predicate::Values(named));
        }
        if !makes.is_empty() && !fuels.is_empty() {
            let both = vec![vec![Predicate::Values(makes)], vec![Predicate::Values(fuels)]];
            any.push(Predicate::All(both));
        }
        RequiredPhrase { any, negated: false, attribute: None, label }
    }
}
