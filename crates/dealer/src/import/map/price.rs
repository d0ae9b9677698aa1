//! What a unit costs: the price out of the door is worked out from the advertised one, and a feed
//! that names it is compared with what it names besides (`R-PR-01`).

use tradepost_wire::aap::Vehicle;

use super::Mapper;
use crate::import::columns::{Column, items};
use crate::import::currency::{OtherCurrency, other_currency};
use crate::import::mapping::Part;
use crate::import::numbers::{self, Amount};
use crate::import::report::{OtherPrice, Warning};
use crate::import::text::quote;
use crate::price;

/// What stands beside the price of a unit, whole US dollars.
struct Extras {
    /// What has to be paid on top.
    surcharge: u32,
    /// What everybody gets off.
    discount: u32,
    /// Amounts of which nobody says whether the price has them.
    unsaid: Vec<&'static str>,
}

impl Mapper<'_> {
    /// Works out the prices. Returns the price where it is in another currency: then the listing has none.
    ///
    /// # Errors
    /// Why the price is not the whole truth; what is known of it is in the listing all the same.
    pub(super) fn what_it_costs(
        &mut self,
        vehicle: &mut Vehicle,
        rooftop_fees: u32,
        sold: bool,
    ) -> Result<Option<OtherPrice>, String> {
        // The price first, so that of several amounts in another currency the report shows it.
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
        // A word such as `Call` in the place of the price is the dealer's decision not to name
        // one; only an empty place is filled from the advertised price.
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

    /// The first of some prices that is in another currency than US dollars.
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

    /// The first of some prices whose cell is not empty; zero counts as empty.
    fn price(&mut self, columns: &[Column]) -> Amount {
        let mut found = Amount::Empty;
        for column in columns {
            let text = self.cells.get(*column);
            match numbers::price(text, self.notation.sign()) {
                Amount::Empty => {}
                Amount::Is(price) => return Amount::Is(price),
                Amount::Withheld => {
                    found = Amount::Withheld;
                    // `Call` says that nobody is told. Zero says nothing, and the
                    // next column may have a price.
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

    /// What stands beside the price, by the rule of the mapping.
    fn extras(&mut self, rooftop_fees: u32) -> Extras {
        let rule = self.price;
        let of_unit = self.sum(Column::Fees);
        // What the feed says of this unit is more exact than what the rooftop takes in general.
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

    /// The sum of the amounts of all columns that are about the same; `None` when there is none.
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
            // With rebates that may be in it, less may be the truth.
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
