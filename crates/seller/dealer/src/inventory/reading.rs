//! The reading of a query as filters of AAP, which a program can resend: what a filter can say, and
//! the query for the rest. It is checked before it is returned, so that resending it finds the same
//! listings.

use std::ops::Range;

use tradepost_aap::Filters;
use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_aap::vehicle::VehicleCondition;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Map, Value, json};

use super::index::SearchIndex;
use super::matching::spans;
use crate::query::contact::without_telephone_numbers;
use crate::query::{
    Attribute, AttributeValue, CurrentYear, NumberRange, NumericAttribute, Predicate,
    QueryInterpretation, RequiredPhrase, understand,
};

/// Maximum length of a query in characters (AAP 1.1, inventory-search-request schema).
const LONGEST_QUERY: usize = 200;

/// Query that finds nothing.
const NOTHING: &str = "?";

/// A search as it was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueryReading {
    /// Filters, without a query.
    pub filters: Filters,
    /// Order of the answer.
    pub sort: Option<Sort>,
    /// Query for what no filter of AAP can say.
    pub rest: Option<String>,
}

impl QueryReading {
    /// Returns the filters that find the same listings, with the rest as their query.
    #[must_use]
    pub fn to_filters(&self) -> Filters {
        Filters { query: self.rest.clone(), ..self.filters.clone() }
    }

    /// Returns the members `filters` and perhaps `sort` of a request that finds the same listings in the same order.
    #[must_use]
    pub fn to_request(&self) -> Map {
        let mut request = Map::new();
        request.insert("filters".to_owned(), Value::Object(self.to_json()));
        if let Some(sort) = self.sort {
            let sort = json!({"field": sort.field.name(), "order": sort.order.name()});
            request.insert("sort".to_owned(), sort);
        }
        request
    }

    /// Returns the filters as the object `filters` of a request.
    #[must_use]
    pub fn to_json(&self) -> Map {
        let Filters {
            make,
            model,
            trim,
            condition,
            transmission,
            fuel,
            driveline,
            body,
            exterior_color,
            interior_color,
            rooftops,
            year_min,
            year_max,
            price_min,
            price_max,
            mileage_max,
            vin,
            stock,
            query: _,
        } = &self.filters;
        let condition: Vec<String> =
            condition.iter().map(|condition| condition.name().to_owned()).collect();
        let mut object = Map::new();
        for (name, texts) in [
            ("make", make),
            ("model", model),
            ("trim", trim),
            ("condition", &condition),
            ("transmission", transmission),
            ("fuel", fuel),
            ("driveline", driveline),
            ("body", body),
            ("exterior_color", exterior_color),
            ("interior_color", interior_color),
            ("rooftops", rooftops),
        ] {
            if !texts.is_empty() {
                let texts = texts.iter().map(|text| Value::from(text.as_str())).collect();
                object.insert(name.to_owned(), Value::Array(texts));
            }
        }
        for (name, number) in [
            ("year_min", year_min),
            ("year_max", year_max),
            ("price_min", price_min),
            ("price_max", price_max),
            ("mileage_max", mileage_max),
        ] {
            if let Some(number) = number {
                object.insert(name.to_owned(), Value::from(*number));
            }
        }
        for (name, text) in [("vin", vin), ("stock", stock), ("query", &self.rest)] {
            if let Some(text) = text {
                object.insert(name.to_owned(), Value::from(text.as_str()));
            }
        }
        object
    }
}

impl SearchIndex {
    /// Returns the reading of a search whose query was interpreted.
    pub(super) fn reading(
        &self,
        filters: &Filters,
        sort: Option<Sort>,
        query: Option<&QueryInterpretation>,
        this_year: CurrentYear,
    ) -> QueryReading {
        let plain = || Filters { query: None, ..filters.clone() };
        let Some(query) = query else {
            return QueryReading { filters: plain(), sort, rest: None };
        };
        // AAP has one order, and breaks its ties by the vehicles' ids.
        let then = query.then.filter(|_| sort.is_none());
        let words_of_orders =
            then.and_then(|then| Some([sort_words(query.order?)?, sort_words(then)?]));
        let sort = if then.is_some() { None } else { sort.or(query.order) };
        let mut reading = QueryReading { filters: plain(), sort, rest: None };
        let mut rest: Vec<&RequiredPhrase> = Vec::new();
        for want in &query.wants {
            if !self.add_filter(&mut reading.filters, want) {
                rest.push(want);
            }
        }
        // AAP has no order by such a number, and the order of a request wins over it.
        let highest = query.highest.filter(|_| sort.is_none());
        if rest.is_empty() && highest.is_none() && then.is_none() {
            return reading;
        }
        let mut orders: Vec<&'static str> = highest.map(order_words).into_iter().collect();
        orders.extend(words_of_orders.into_iter().flatten());
        // Returns the text of the rest, from the texts of its conditions, if it is read as the rest.
        let checked = |conditions: Vec<String>| {
            let conditions = conditions.iter().map(String::as_str);
            let texts: Vec<&str> = conditions.chain(orders.iter().copied()).collect();
            let text = texts.join(", ");
            if text.chars().count() > LONGEST_QUERY {
                return None;
            }
            let again = understand(&text, &self.lexicon, self, this_year);
            let has =
                |want: &RequiredPhrase| again.wants.iter().any(|again| means_the_same(again, want));
            let is_same = again.wants.len() == rest.len()
                && again.highest == highest
                && again.order == query.order.filter(|_| then.is_some())
                && again.then == then
                && rest.iter().all(|want| has(want));
            is_same.then_some(text)
        };
        // Nearly always the words for all conditions are read as them, so only where they are not
        // is each condition checked by itself.
        let all = rest.iter().map(|want| canonical(want)).collect();
        let each = || rest.iter().map(|want| self.words_for(want, this_year)).collect();
        if let Some(text) = checked(all).or_else(|| checked(each())) {
            reading.rest = Some(text);
            return reading;
        }
        // The words of the query are the only certain ones.
        let rest = filters.query.as_deref().map(|text| self.repeatable(text, query, this_year));
        QueryReading { filters: plain(), sort, rest }
    }

    /// Returns the words of a query that an answer may repeat, and that are read as the query is: without e-mail
    /// addresses, and without numbers as long as those of telephones unless they identify a vehicle.
    fn repeatable(
        &self,
        text: &str,
        query: &QueryInterpretation,
        this_year: CurrentYear,
    ) -> String {
        let numberless = without_telephone_numbers(text);
        let text = numberless.as_deref().unwrap_or(text);
        let addressless = words_with(text, |word| !word.contains('@'));
        let short = words_with(&addressless, |word| !is_long_number(word));
        let again = understand(&short, &self.lexicon, self, this_year);
        let is_same = again.wants.len() == query.wants.len()
            && again
                .wants
                .iter()
                .zip(&query.wants)
                .all(|(again, want)| means_the_same(again, want));
        let text = if is_same { short } else { addressless };
        // A query without words finds nothing, and no query would find everything.
        if text.is_empty() { NOTHING.to_owned() } else { text }
    }

    /// Returns words that are read as a condition, or the most likely ones.
    fn words_for(&self, want: &RequiredPhrase, this_year: CurrentYear) -> String {
        let whole = canonical(want);
        // The other names of a class come with the first: `awd or 4wd` is read from `awd`.
        let first = whole.split(" or ").next().unwrap_or_default().to_owned();
        let is_read = |text: &String| {
            let again = understand(text, &self.lexicon, self, this_year);
            matches!(again.wants.as_slice(), [one] if means_the_same(one, want))
        };
        if is_read(&whole) || !is_read(&first) { whole } else { first }
    }

    /// Adds a condition to the filters. Returns false when no filter says the same.
    fn add_filter(&self, filters: &mut Filters, want: &RequiredPhrase) -> bool {
        if want.negated {
            return false;
        }
        match want.any.as_slice() {
            [Predicate::Number(number, bounds)] => add_range(filters, *number, *bounds),
            [Predicate::Pair { make, model }] => {
                let make = AttributeValue { attribute: Attribute::Make, id: *make };
                let model = AttributeValue { attribute: Attribute::Model, id: *model };
                let mut both = filters.clone();
                let is_said = self.add_values(&mut both, Attribute::Make, &[make], &[])
                    && self.add_values(&mut both, Attribute::Model, &[model], &[]);
                if is_said {
                    *filters = both;
                }
                is_said
            }
            any => {
                let mut values = Vec::new();
                for meaning in any {
                    let Predicate::Values(more) = meaning else { return false };
                    values.extend(more.iter().copied());
                }
                values.sort_unstable();
                values.dedup();
                self.add_texts(filters, want, &values)
            }
        }
    }

    fn add_texts(
        &self,
        filters: &mut Filters,
        want: &RequiredPhrase,
        values: &[AttributeValue],
    ) -> bool {
        let Some(attribute) = values.first().map(|value| value.attribute) else { return false };
        if values.iter().any(|value| value.attribute != attribute) {
            return false;
        }
        // A class says more than the values of today.
        let prefix = format!("{attribute} ");
        let parts = want.label.split(" or ");
        let classes: Vec<String> = parts
            .map(|part| part.strip_prefix(&prefix).unwrap_or(part).trim_matches('"').to_owned())
            .collect();
        self.add_values(filters, attribute, values, &classes)
    }

    /// Adds values of one attribute to the filters, as classes or by their spellings.
    fn add_values(
        &self,
        filters: &mut Filters,
        attribute: Attribute,
        values: &[AttributeValue],
        classes: &[String],
    ) -> bool {
        let mut ids: Vec<u32> = values.iter().map(|value| value.id).collect();
        ids.sort_unstable();
        let wanted: Vec<Range<u32>> = spans(ids);
        let Some(column) = self.text(attribute) else { return false };
        let says_it = |texts: &[String]| {
            !texts.is_empty()
                && self.any_of(attribute, column, texts.iter().map(String::as_str)) == wanted
        };
        let spellings =
            || values.iter().map(|value| self.lexicon.name(*value).to_owned()).collect();
        let texts: Vec<String> = if says_it(classes) { classes.to_vec() } else { spellings() };
        if !says_it(&texts) {
            return false;
        }
        if attribute == Attribute::Condition {
            let conditions: Option<Vec<VehicleCondition>> =
                texts.iter().map(|text| VehicleCondition::from_name(text)).collect();
            return match conditions.filter(|_| filters.condition.is_empty()) {
                Some(conditions) => {
                    filters.condition = conditions;
                    true
                }
                None => false,
            };
        }
        let list = match attribute {
            Attribute::Make => &mut filters.make,
            Attribute::Model => &mut filters.model,
            Attribute::Trim => &mut filters.trim,
            Attribute::Transmission => &mut filters.transmission,
            Attribute::Fuel => &mut filters.fuel,
            Attribute::Driveline => &mut filters.driveline,
            Attribute::Body => &mut filters.body,
            Attribute::ExteriorColor => &mut filters.exterior_color,
            Attribute::InteriorColor => &mut filters.interior_color,
            Attribute::Rooftop => &mut filters.rooftops,
            Attribute::Condition | Attribute::Engine | Attribute::Feature => return false,
        };
        // Two lists of one attribute must both hold, which one filter cannot say.
        if !list.is_empty() {
            return false;
        }
        *list = texts;
        true
    }
}

/// Adds bounds to the filters. Returns false when no filter has them.
fn add_range(filters: &mut Filters, number: NumericAttribute, bounds: NumberRange) -> bool {
    let (min, max) = bounds;
    let highest = |known: Option<u32>| known.max(min);
    let lowest = |known: Option<u32>| match (known, max) {
        (Some(known), Some(max)) => Some(known.min(max)),
        (known, max) => known.or(max),
    };
    match number {
        NumericAttribute::Price => {
            filters.price_min = highest(filters.price_min);
            filters.price_max = lowest(filters.price_max);
        }
        NumericAttribute::Year => {
            filters.year_min = highest(filters.year_min);
            filters.year_max = lowest(filters.year_max);
        }
        NumericAttribute::Mileage if min.is_none() => {
            filters.mileage_max = lowest(filters.mileage_max);
        }
        NumericAttribute::Mileage
        | NumericAttribute::Seats
        | NumericAttribute::Rows
        | NumericAttribute::Doors
        | NumericAttribute::CityMpg
        | NumericAttribute::HighwayMpg
        | NumericAttribute::CombinedMpg
        | NumericAttribute::ElectricRange
        | NumericAttribute::Towing
        | NumericAttribute::Horsepower
        | NumericAttribute::Owners
        | NumericAttribute::Accidents => return false,
    }
    true
}

/// Returns the words of a text that are `wanted`, without control characters.
fn words_with(text: &str, wanted: impl Fn(&str) -> bool) -> String {
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let words = text.split_whitespace().filter(|word| wanted(word));
    words.collect::<Vec<_>>().join(" ").chars().map(plain).collect()
}

/// Returns true for a word with as many digits as a telephone number.
fn is_long_number(word: &str) -> bool {
    const SHORTEST_PHONE_NUMBER: usize = 7;
    word.chars().filter(char::is_ascii_digit).count() >= SHORTEST_PHONE_NUMBER
}

/// Returns true when two conditions hold for the same vehicles.
fn means_the_same(one: &RequiredPhrase, other: &RequiredPhrase) -> bool {
    one.any == other.any && one.negated == other.negated
}

/// Returns words for a condition. Whether they are read as it is checked afterwards.
fn canonical(want: &RequiredPhrase) -> String {
    let text = match want.any.as_slice() {
        [Predicate::Number(number, bounds)] => number_words(*number, *bounds),
        _ => value_words(&want.label),
    };
    if want.negated { format!("not {text}") } else { text }
}

/// Returns words for an order that shoppers name; `None` for others.
fn sort_words(sort: Sort) -> Option<&'static str> {
    match (sort.field, sort.order) {
        (SortField::Price, SortOrder::Asc) => Some("cheapest"),
        (SortField::Price, SortOrder::Desc) => Some("most expensive"),
        (SortField::Mileage, SortOrder::Asc) => Some("lowest mileage"),
        (SortField::Mileage, SortOrder::Desc) => Some("highest mileage"),
        (SortField::Year, SortOrder::Desc) => Some("newest"),
        (SortField::Year, SortOrder::Asc) => Some("oldest"),
        (
            SortField::ListPrice
            | SortField::Msrp
            | SortField::Make
            | SortField::Model
            | SortField::Stock
            | SortField::UpdatedAt,
            SortOrder::Asc | SortOrder::Desc,
        ) => None,
    }
}

/// Returns words for the order of a number.
fn order_words(number: NumericAttribute) -> &'static str {
    match number {
        NumericAttribute::ElectricRange => "longest range",
        NumericAttribute::Towing => "highest towing capacity",
        NumericAttribute::Horsepower => "most horsepower",
        NumericAttribute::CombinedMpg
        | NumericAttribute::CityMpg
        | NumericAttribute::HighwayMpg
        | NumericAttribute::Price
        | NumericAttribute::Mileage
        | NumericAttribute::Year
        | NumericAttribute::Seats
        | NumericAttribute::Rows
        | NumericAttribute::Doors
        | NumericAttribute::Owners
        | NumericAttribute::Accidents => "best gas mileage",
    }
}

fn number_words(number: NumericAttribute, bounds: NumberRange) -> String {
    let unit = match number {
        NumericAttribute::Price => "dollars",
        NumericAttribute::Mileage => "miles",
        NumericAttribute::Year => "year",
        NumericAttribute::Seats => "seats",
        NumericAttribute::Rows => "rows",
        NumericAttribute::Doors => "doors",
        NumericAttribute::CityMpg => "mpg city",
        NumericAttribute::HighwayMpg => "mpg highway",
        NumericAttribute::CombinedMpg => "mpg",
        NumericAttribute::ElectricRange => "miles of range",
        NumericAttribute::Towing => "lbs towing capacity",
        NumericAttribute::Horsepower => "hp",
        NumericAttribute::Owners => "owners",
        NumericAttribute::Accidents => return "no accidents".to_owned(),
    };
    match bounds {
        (Some(1), Some(1)) if number == NumericAttribute::Owners => "one owner".to_owned(),
        (Some(min), Some(max)) if min == max && number == NumericAttribute::Year => min.to_string(),
        (Some(min), Some(max)) if min == max => format!("{min} {unit}"),
        (Some(min), Some(max)) => format!("between {min} and {max} {unit}"),
        (Some(min), None) => format!("at least {min} {unit}"),
        (None, Some(max)) => format!("at most {max} {unit}"),
        (None, None) => unit.to_owned(),
    }
}

/// Returns the words of a label without the names of attributes.
fn value_words(label: &str) -> String {
    let mut words = Vec::new();
    let mut is_interior = false;
    for word in label.replace(['"', '(', ')'], "").split_whitespace() {
        match Attribute::from_name(word) {
            Some(Attribute::InteriorColor) => is_interior = true,
            Some(_) => is_interior = false,
            None => {
                words.push(word.to_owned());
                if is_interior && word != "or" {
                    words.push("interior".to_owned());
                }
            }
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_telephone_numbers_are_not_repeated() {
        let kept =
            |text: &str| words_with(text, |word| !word.contains('@') && !is_long_number(word));
        assert_eq!(
            kept("suv a@b.example 303-555-0123 under\t20000\u{7}"),
            "suv under 20000\u{fffd}"
        );
        assert_eq!(kept("  "), "");
    }
}
