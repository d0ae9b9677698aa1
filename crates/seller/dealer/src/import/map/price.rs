//! Prices of a unit: computes the out-the-door price from the advertised one, or checks the feed's
//! against its other amounts (AAP 1.1, `R-PR-01`).

use tradepost_aap::Vehicle;

use super::RowMapper;
use crate::import::columns::{CellMeaning, items};
use crate::import::currency::{OtherCurrency, other_currency};
use crate::import::mapping::AmountRelation;
use crate::import::numbers::{self, NumberCell};
use crate::import::report::{OtherPrice, RowWarning};
use crate::import::text::quote;
use crate::price;

/// Amounts beside the price of a unit, in whole US dollars.
struct Extras {
    /// Mandatory amounts that are not part of the price.
    surcharge: u32,
    /// Rebates that every buyer gets.
    discount: u32,
    /// Amounts that the price may or may not include.
    unspecified: Vec<&'static str>,
}

impl RowMapper<'_> {
    /// Sets the prices of a listing. Returns the price when it is in another currency; then the
    /// listing gets none.
    ///
    /// # Errors
    /// The reason why the price is incomplete; the listing has the known prices all the same.
    pub(super) fn map_prices(
        &mut self,
        vehicle: &mut Vehicle,
        rooftop_fees: u32,
        sold: bool,
    ) -> Result<Option<OtherPrice>, String> {
        // The price column comes first, so that the report shows it when several amounts are in
        // another currency.
        let places = [CellMeaning::PRICES, &[CellMeaning::OutTheDoor], &[CellMeaning::Msrp]];
        let other = places.into_iter().find_map(|columns| self.other_price(columns));
        if let Some(other) = other {
            let message = format!("\"{}\" is in {}", other.shown, other.currency);
            self.warn(RowWarning::OtherCurrency, message);
            return Ok(Some(other));
        }
        vehicle.msrp = self.price(&[CellMeaning::Msrp]).number();
        let out_the_door = self.price(&[CellMeaning::OutTheDoor]);
        let advertised = self.price(CellMeaning::PRICES);
        vehicle.list_price = advertised.number();
        let extras = self.extras(rooftop_fees);
        let computed = vehicle
            .list_price
            .map(|price| price::out_the_door(price, extras.discount, extras.surcharge));
        // A text such as `Call` is the dealer's decision not to name a price; only an empty cell is
        // computed from the advertised price.
        vehicle.price = match out_the_door {
            NumberCell::Empty => computed.flatten(),
            NumberCell::Is(price) => Some(price),
            NumberCell::Withheld | NumberCell::Unreadable | NumberCell::FarOff => None,
        };
        let is_left_out = [advertised, out_the_door]
            .iter()
            .any(|amount| matches!(amount, NumberCell::Unreadable | NumberCell::FarOff));
        if self.prices_disagree(vehicle) {
            vehicle.msrp = None;
            vehicle.list_price = None;
            vehicle.price = None;
        } else if vehicle.price.is_none() && !sold && !is_left_out && computed != Some(None) {
            self.warn(RowWarning::NotPriced, "buyers who filter by price do not find it");
        }
        self.check_price_complete(vehicle, out_the_door, computed, &extras).map(|()| None)
    }

    /// Returns the first price in a currency other than US dollars.
    fn other_price(&self, columns: &[CellMeaning]) -> Option<OtherPrice> {
        let currency = self.cells.get(CellMeaning::Currency);
        columns.iter().find_map(|column| {
            let text = self.cells.get(*column);
            let OtherCurrency { name, amount } = other_currency(text, currency)?;
            // Zero is no price in any currency.
            let is_price = numbers::price(&amount, self.notation.sign()) != NumberCell::Withheld;
            is_price.then(|| OtherPrice { currency: quote(&name), shown: quote(text) })
        })
    }

    /// Returns the first price whose cell is not empty; zero counts as empty.
    fn price(&mut self, columns: &[CellMeaning]) -> NumberCell {
        let mut found = NumberCell::Empty;
        for column in columns {
            let text = self.cells.get(*column);
            match numbers::price(text, self.notation.sign()) {
                NumberCell::Empty => {}
                NumberCell::Is(price) => return NumberCell::Is(price),
                NumberCell::Withheld => {
                    found = NumberCell::Withheld;
                    // `Call` means that no price is given. Zero means nothing, and the next column
                    // may have a price.
                    if !text.bytes().any(|b| b.is_ascii_digit()) {
                        return found;
                    }
                }
                NumberCell::Unreadable => {
                    self.unreadable(RowWarning::UnreadablePrice, "the price", text);
                    return NumberCell::Unreadable;
                }
                NumberCell::FarOff => {
                    self.unreadable(RowWarning::FarOffPrice, "the price", text);
                    return NumberCell::FarOff;
                }
            }
        }
        found
    }

    /// Returns the amounts beside the price, by the rule of the mapping.
    fn extras(&mut self, rooftop_fees: u32) -> Extras {
        let rule = self.price;
        let of_unit = self.sum(CellMeaning::Fees);
        // The unit's own fees are more exact than those of the rooftop.
        let fees = match rule.fees {
            Some(AmountRelation::Included) => 0,
            Some(AmountRelation::Apart) | None => of_unit.unwrap_or(rooftop_fees),
        };
        let mut extras = Extras { surcharge: fees, discount: 0, unspecified: Vec::new() };
        let add_ons = self.sum(CellMeaning::AddOns).unwrap_or_default();
        let rebates = self.sum(CellMeaning::Rebates).unwrap_or_default();
        match rule.add_ons {
            Some(AmountRelation::Apart) => {
                extras.surcharge = extras.surcharge.saturating_add(add_ons)
            }
            Some(AmountRelation::Included) => {}
            None => extras.unspecified.extend((add_ons > 0).then_some("add_ons")),
        }
        match rule.rebates {
            Some(AmountRelation::Apart) => extras.discount = rebates,
            Some(AmountRelation::Included) => {}
            None => extras.unspecified.extend((rebates > 0).then_some("rebates")),
        }
        extras
    }

    /// Sums the amounts of all columns with this meaning; `None` when there are none.
    fn sum(&mut self, column: CellMeaning) -> Option<u32> {
        let mut sum: Option<u32> = None;
        for text in items(self.cells.get(column)) {
            match numbers::amount(text, self.notation.sign()) {
                NumberCell::Is(number) => {
                    sum = Some(sum.unwrap_or_default().saturating_add(number))
                }
                NumberCell::Empty | NumberCell::Withheld => {}
                NumberCell::Unreadable | NumberCell::FarOff => {
                    self.unreadable(RowWarning::UnreadableAmount, "the amount", text);
                }
            }
        }
        sum
    }

    fn check_price_complete(
        &mut self,
        vehicle: &Vehicle,
        out_the_door: NumberCell,
        computed: Option<Option<u32>>,
        extras: &Extras,
    ) -> Result<(), String> {
        let list = vehicle.list_price;
        let found = match (out_the_door, computed, list) {
            (NumberCell::Empty, Some(None), _) => {
                let message = "the rebates are not less than the price".to_owned();
                Err((RowWarning::RebateTooLarge, message))
            }
            // When the price may include rebates, it may be lower than the fees suggest.
            (NumberCell::Is(price), Some(_), Some(list))
                if !extras.unspecified.contains(&"rebates")
                    && price::omits_fees(price, list, Some(extras.discount), extras.surcharge) =>
            {
                let message = format!(
                    "a price of {price} out of the door, where {list} is advertised and {} must be \
                     paid besides",
                    extras.surcharge
                );
                Err((RowWarning::PriceOmitsFees, message))
            }
            (NumberCell::Empty, Some(Some(_)), _) if !extras.unspecified.is_empty() => {
                let message = format!(
                    "{} beside the price; say in the mapping's [price] whether it has them",
                    extras.unspecified.join(" and ")
                );
                Err((RowWarning::UnsaidAmount, message))
            }
            (
                NumberCell::Empty
                | NumberCell::Is(_)
                | NumberCell::Withheld
                | NumberCell::Unreadable
                | NumberCell::FarOff,
                _,
                _,
            ) => return Ok(()),
        };
        found.map_err(|(kind, message)| {
            self.warn(kind, message.clone());
            message
        })
    }
}
