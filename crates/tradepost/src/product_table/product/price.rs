//! The price of a row.

use std::collections::BTreeSet;

use tradepost_document::json::{Map, Value};
use tradepost_runtime::text_table::TextRow;
use tradepost_runtime::text_table::cells::{self, CellAmount, CellMistake, quoted};

use super::super::field::ProductField;
use super::super::words;
use super::TableReader;

/// Hint for a pricing model that a table cannot say.
const PRICING_MODEL_HINT: &str = "write cpm, vcpm, cpc, cpcv or flat_rate; other models need more than one number, and are written \
                      into the catalogue by hand";

impl<'s> TableReader<'s, '_> {
    /// Reads the price of a row.
    pub(super) fn price(&mut self, row: &'s TextRow) -> Option<Map> {
        let rate = self.parsed(row, ProductField::Rate, cells::amount);
        let floor = self.parsed(row, ProductField::Floor, cells::amount);
        let minimum = self.parsed(row, ProductField::MinimumSpend, cells::amount);
        let priced = if self.text(row, ProductField::Rate).is_some() {
            ProductField::Rate
        } else {
            ProductField::Floor
        };
        let has_both = self.text(row, ProductField::Rate).is_some()
            && self.text(row, ProductField::Floor).is_some();
        if has_both {
            let message = "is beside a rate; a price is fixed or found by bidding";
            let hint = "leave one of the two cells empty, or add a row with the same id for the other price";
            self.problem(row, ProductField::Floor, CellMistake::new(message, hint));
        }
        let has_none = self.text(row, ProductField::Rate).is_none()
            && self.text(row, ProductField::Floor).is_none();
        if has_none {
            let message = "the row has no price";
            let hint = "write a rate for a fixed price, or a floor for an auction";
            self.problem_of_row(row, message, hint);
        }
        let model = self.model(row, priced);
        let named = [&rate, &floor, &minimum].into_iter().flatten();
        let named: Vec<String> = named.filter_map(|amount| amount.currency.clone()).collect();
        let currency = self.currency(row, priced, &named);
        let id = self.parsed(row, ProductField::PriceId, |text| {
            let is_plain =
                text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
            match is_plain && text.len() <= 100 {
                true => Ok(text.to_owned()),
                false => Err(CellMistake::new(
                    format!("{} is no id", quoted(text)),
                    "write letters, digits, -, _ and . without spaces",
                )),
            }
        });
        if has_both || has_none {
            return None;
        }
        let is_fixed = rate.is_some();
        let CellAmount { number, .. } = rate.or(floor)?;
        let model = model?;
        let kind = if is_fixed { "fixed" } else { "auction" };
        let usual = match model {
            "flat_rate" => model.to_owned(),
            model => format!("{model}_{kind}"),
        };
        let mut price = Map::new();
        price.insert("pricing_option_id".to_owned(), id.unwrap_or(usual).into());
        price.insert("pricing_model".to_owned(), model.into());
        price.insert("currency".to_owned(), currency?.into());
        price.insert(if is_fixed { "fixed_price" } else { "floor_price" }.to_owned(), number);
        if let Some(CellAmount { number, .. }) = minimum {
            price.insert("min_spend_per_package".to_owned(), number);
        }
        Some(price)
    }

    fn model(&mut self, row: &'s TextRow, priced: ProductField) -> Option<&'static str> {
        if self.text(row, ProductField::Model).is_some() {
            return self.parsed(row, ProductField::Model, |text| {
                words::pricing_model(text).ok_or_else(|| {
                    CellMistake::new(
                        format!("{} is no pricing model", quoted(text)),
                        PRICING_MODEL_HINT,
                    )
                })
            });
        }
        let of_heading = self.sheet.columns.iter().filter_map(|column| column.meaning.as_ref());
        let of_heading =
            of_heading.filter(|meaning| meaning.field == priced).find_map(|meaning| meaning.model);
        if of_heading.is_none() {
            let message = "the row does not say what the price is for";
            match self.has_column(ProductField::Model) {
                true => self.problem(
                    row,
                    ProductField::Model,
                    CellMistake::new(message, PRICING_MODEL_HINT),
                ),
                false => self.problem_of_row(
                    row,
                    message,
                    "add a column \"Pricing model\" with cpm, cpc or flat_rate",
                ),
            }
        }
        of_heading
    }

    /// Returns the currency of a price: of its cell, of the amounts, of the heading, or the given one.
    fn currency(
        &mut self,
        row: &'s TextRow,
        priced: ProductField,
        named: &[String],
    ) -> Option<String> {
        if self.text(row, ProductField::Currency).is_some() {
            let currency = self.parsed(row, ProductField::Currency, cells::currency)?;
            if let Some(other) = named.iter().find(|other| **other != currency) {
                let message = format!("is {currency}, and an amount of the row is in {other}");
                let hint = "write the same currency in both";
                self.problem(row, ProductField::Currency, CellMistake::new(message, hint));
                return None;
            }
            return Some(currency);
        }
        if let Some((first, rest)) = named.split_first() {
            if let Some(other) = rest.iter().find(|other| *other != first) {
                let message = format!("the amounts of the row are in {first} and in {other}");
                self.problem_of_row(row, &message, "write all amounts of a row in one currency");
                return None;
            }
            return Some(first.clone());
        }
        let of_heading = self.sheet.columns.iter().filter_map(|column| column.meaning.as_ref());
        let of_heading = of_heading
            .filter(|meaning| meaning.field == priced)
            .find_map(|meaning| meaning.currency.clone());
        let found = of_heading.or_else(|| self.settings.currency.clone());
        if found.is_none() {
            let message = "the row does not say the currency";
            let hint = "write it into a column \"Currency\", or give one for the whole file: --currency USD";
            match self.has_column(ProductField::Currency) {
                true => self.problem(row, ProductField::Currency, CellMistake::new(message, hint)),
                false => self.problem_of_row(row, message, hint),
            }
        }
        found
    }

    pub(super) fn problem_of_row(&mut self, row: &TextRow, message: &str, hint: &str) {
        self.table.problems.push(super::super::TableProblem {
            row: row.number,
            column: None,
            message: message.to_owned(),
            hint: hint.to_owned(),
        });
    }
}

/// Adds a price to a product, under an id of its own.
pub(super) fn add(published: &mut Map, mut price: Map) {
    let listed = published.entry("pricing_options").or_insert_with(|| Value::Array(Vec::new()));
    let Some(listed) = listed.as_array_mut() else { return };
    let text = |price: &Map, name: &str| {
        price.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let id = text(&price, "pricing_option_id");
    let ids = listed.iter().filter_map(|known| known.get("pricing_option_id")?.as_str());
    let taken: BTreeSet<&str> = ids.collect();
    if taken.contains(id.as_str()) {
        let by_currency = format!("{id}_{}", text(&price, "currency").to_lowercase());
        let numbered = (2_usize..).map(|number| format!("{by_currency}_{number}"));
        let mut names = std::iter::once(by_currency.clone()).chain(numbered);
        let free = names.find(|id| !taken.contains(id.as_str()));
        price.insert("pricing_option_id".to_owned(), free.unwrap_or(by_currency).into());
    }
    listed.push(Value::Object(price));
}
