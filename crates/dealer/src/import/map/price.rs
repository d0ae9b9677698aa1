//! Prices of a unit: computes the out-the-door price from the advertised one, or checks the feed's
//! against its other amounts (AAP 1.1, `R-PR-01`).

use tradepost_wire::aap::Vehicle;

use super::Mapper;
use crate::import::columns::{Column, items};
use crate::import::currency::{OtherCurrency, other_currency};
use crate::import::mapping::Part;
use crate::import::numbers::{self, Amount};
use crate::import::report::{OtherPrice, Warning};
use crate::import::text::quote;
use crate::price;

/// Amounts beside the price of a unit, in whole US dollars.
struct Extras {
    /// Mandatory amounts that are not part of the price.
    surcharge: u32,
    /// Rebates that every buyer gets.
    discount: u32,
    /// Amounts that the price may or may not include.
    unsaid: Vec<&'static str>,
}

impl Mapper<'_> {
    /// Sets the prices of a listing. Returns the price when it is in another currency; then the
    /// listing gets none.
    ///
    /// # Errors
    /// The reason why the price is incomplete; the listing has the known prices all the same.
    pub(super) fn what_it_costs(
        &mut self,
        vehicle: &mut Vehicle,
        rooftop_fees: u32,
        sold: bool,
    ) -> Result<Option<OtherPrice>, String> {
        // The price column comes first, so that the report shows it when several amounts are in
        // another currency.
        let places = [Column::PRICES, &[Column::OutTheDoor], &[Column::Msrp]];
        let other = places.into_iter().find_map(|columns| self.other_price(columns));
        if let Some(other) = other {
            let message = format!("\"{}\" is in {}", other.shown, other.currency);
            self.warn(Warning::OtherCurrency, message);
            return Ok(Some(other));
        }
        vehicle.msrp = self.price(&[Column::Msrp]).number();
        let out_the_door = self.price(&[Column::OutTheDoor]);
        let advertised = self.price(Column::PRICES);
        vehicle.list_price = advertised.number();
        let extras = self.extras(rooftop_fees);
        let computed = vehicle
            .list_price
            .map(|price| price::out_the_door(price, extras.discount, extras.surcharge));
        // A text such as `Call` is the dealer's decision not to name a price; only an empty cell is
        // computed from the advertised price.
        vehicle.price = match out_the_door {
            Amount::Empty => computed.flatten(),
            Amount::Is(price) => Some(price),
            Amount::Withheld | Amount::Unreadable | Amount::FarOff => None,
        };
        let is_left_out = [advertised, out_the_door]
            .iter()
            .any(|amount| matches!(amount, Amount::Unreadable | Amount::FarOff));
        if self.prices_disagree(vehicle) {
            (vehicle.msrp, vehicle.list_price, vehicle.price) = (None, None, None);
        } else if vehicle.price.is_none() && !sold && !is_left_out && computed != Some(None) {
            self.warn(Warning::NotPriced, "buyers who filter by price do not find it");
        }
        self.is_whole_truth(vehicle, out_the_door, computed, &extras).map(|()| None)
    }

    /// Returns the first price in a currency other than US dollars.
    fn other_price(&self, columns: &[Column]) -> Option<OtherPrice> {
        let currency = self.cells.get(Column::Currency);
        columns.iter().find_map(|column| {
            let text = self.cells.get(*column);
            let OtherCurrency { name, amount } = other_currency(text, currency)?;
            // Zero is no price in any currency.
            let is_price = numbers::price(&amount, self.notation.sign()) != Amount::Withheld;
            is_price.then(|| OtherPrice { currency: quote(&name), shown: quote(text) })
        })
    }

    /// Returns the first price whose cell is not empty; zero counts as empty.
    fn price(&mut self, columns: &[Column]) -> Amount {
        let mut found = Amount::Empty;
        for column in columns {
            let text = self.cells.get(*column);
            match numbers::price(text, self.notation.sign()) {
                Amount::Empty => {}
                Amount::Is(price) => return Amount::Is(price),
                Amount::Withheld => {
                    found = Amount::Withheld;
                    // `Call` means that no price is given. Zero means nothing, and the next column
                    // may have a price.
                    if !text.bytes().any(|b| b.is_ascii_digit()) {
                        return found;
                    }
                }
                Amount::Unreadable => {
                    self.unreadable(Warning::UnreadablePrice, "the price", text);
                    return Amount::Unreadable;
                }
                Amount::FarOff => {
                    self.unreadable(Warning::FarOffPrice, "the price", text);
                    return Amount::FarOff;
                }
            }
        }
        found
    }

    /// Returns the amounts beside the price, by the rule of the mapping.
    fn extras(&mut self, rooftop_fees: u32) -> Extras {
        let rule = self.price;
        let of_unit = self.sum(Column::Fees);
        // The unit's own fees are more exact than those of the rooftop.
        let fees = match rule.fees {
            Some(Part::Included) => 0,
            Some(Part::Apart) | None => of_unit.unwrap_or(rooftop_fees),
        };
        let mut extras = Extras { surcharge: fees, discount: 0, unsaid: Vec::new() };
        let add_ons = self.sum(Column::AddOns).unwrap_or_default();
        let rebates = self.sum(Column::Rebates).unwrap_or_default();
        match rule.add_ons {
            Some(Part::Apart) => extras.surcharge = extras.surcharge.saturating_add(add_ons),
            Some(Part::Included) => {}
            None => extras.unsaid.extend((add_ons > 0).then_some("add_ons")),
        }
        match rule.rebates {
            Some(Part::Apart) => extras.discount = rebates,
            Some(Part::Included) => {}
            None => extras.unsaid.extend((rebates > 0).then_some("rebates")),
        }
        extras
    }

    /// Sums the amounts of all columns with this meaning; `None` when there are none.
    fn sum(&mut self, column: Column) -> Option<u32> {
        let mut sum: Option<u32> = None;
        for text in items(self.cells.get(column)) {
            match numbers::amount(text, self.notation.sign()) {
                Amount::Is(number) => sum = Some(sum.unwrap_or_default().saturating_add(number)),
                Amount::Empty | Amount::Withheld => {}
                Amount::Unreadable | Amount::FarOff => {
                    self.unreadable(Warning::UnreadableAmount, "the amount", text);
                }
            }
        }
        sum
    }

    fn is_whole_truth(
        &mut self,
        vehicle: &Vehicle,
        out_the_door: Amount,
        computed: Option<Option<u32>>,
        extras: &Extras,
    ) -> Result<(), String> {
        let list = vehicle.list_price;
        let found = match (out_the_door, computed, list) {
            (Amount::Empty, Some(None), _) => {
                let message = "the rebates are not less than the price".to_owned();
                Err((Warning::RebateTooLarge, message))
            }
            // When the price may include rebates, it may be lower than the fees suggest.
            (Amount::Is(price), Some(_), Some(list))
                if !extras.unsaid.contains(&"rebates")
                    && price::omits_fees(price, list, Some(extras.discount), extras.surcharge) =>
            {
                let message = format!(
                    "a price of {price} out of the door, where {list} is advertised and {} must be \
                     paid besides",
                    extras.surcharge
                );
                Err((Warning::PriceOmitsFees, message))
            }
            (Amount::Empty, Some(Some(_)), _) if !extras.unsaid.is_empty() => {
                let message = format!(
                    "{} beside the price; say in the mapping's [price] whether it has them",
                    extras.unsaid.join(" and ")
                );
                Err((Warning::UnsaidAmount, message))
            }
            (
                Amount::Empty
                | Amount::Is(_)
                | Amount::Withheld
                | Amount::Unreadable
                | Amount::FarOff,
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
