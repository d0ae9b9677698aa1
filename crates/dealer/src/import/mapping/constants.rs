//! Validation of a mapping's constants. An invalid one would be wrong in every row.

use tradepost_wire::parse::{did_you_mean, reject};
use tradepost_wire::problem::{DocumentPlace, Problems};
use tradepost_wire::{catalog::Vocabulary as _, format};

use crate::import::columns::{Column, items};
use crate::import::notation::Notation;
use crate::import::numbers::{self, Amount};
use crate::import::text::is_web_address;
use crate::import::words::{self, Availability, Rules};
use crate::import::{currency, dates};

/// Records a problem for every constant that is not a valid value of its field.
pub(super) fn check_constants(
    constants: &[(Column, String)],
    notation: &Notation,
    at: &DocumentPlace<'_>,
    problems: &mut Problems,
) {
    for (column, text) in constants {
        if let Err(message) = check(*column, text, notation) {
            reject(&at.key(column.name()), problems, message);
        }
    }
}

/// Checks one constant.
///
/// # Errors
/// The description of a valid value.
fn check(column: Column, text: &str, notation: &Notation) -> Result<(), String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("must not be empty; take the line out instead".to_owned());
    }
    let sign = notation.sign();
    let is_number = |amount: Amount| matches!(amount, Amount::Is(_));
    match column {
        Column::Vin => rule(format::is_vin(text), "must be a VIN of 17 digits and capital letters"),
        Column::Year => {
            let of_date = || notation.date.as_ref().is_some_and(|form| form.read(text).is_some());
            rule(
                numbers::year(text, sign).is_some() || of_date(),
                "must be a model year such as 2024",
            )
        }
        Column::Type => rule(words::condition(text).is_some(), "must be new, used or cpo"),
        Column::IsNew => rule(words::truth(text).is_some(), "must be yes or no"),
        Column::Certified => rule(words::certified(text).is_some(), "must be yes or no"),
        Column::Status => rule(
            !matches!(words::availability(text), Availability::Unknown),
            "must be available, intransit, pending or sold",
        ),
        Column::Msrp
        | Column::InternetPrice
        | Column::SellingPrice
        | Column::Price
        | Column::ListPrice
        | Column::OutTheDoor => {
            let is_word = !text.bytes().any(|byte| byte.is_ascii_digit());
            let is_price = is_number(numbers::price(text, sign));
            rule(is_word || is_price, "must be a price in whole US dollars, or a word such as Call")
        }
        Column::Fees | Column::AddOns | Column::Rebates => {
            let amount = numbers::amount(text, sign);
            rule(is_number(amount) || amount == Amount::Empty, "must be an amount in US dollars")
        }
        Column::Currency => {
            rule(currency::is_name(text), "must be a currency by its code, such as USD or CAD")
        }
        Column::Mileage => {
            rule(is_number(numbers::mileage(text, notation.unit(), sign).0), "must be a distance")
        }
        Column::MileageUnit => rule(numbers::is_unit_of_distance(text), "must be mi or km"),
        Column::Transmission | Column::TransmissionDescription => known(text, words::TRANSMISSION),
        Column::Drivetrain => known(text, words::DRIVELINE),
        Column::Fuel => known(text, words::FUEL),
        Column::Body => not_misspelled(text, words::BODY),
        Column::CityMpg | Column::HighwayMpg | Column::ElectricRange => {
            rule(is_number(numbers::plain(text, 2_000, sign)), "must be a number")
        }
        Column::Cylinders => rule(is_number(numbers::count(text, 16)), "must be a number up to 16"),
        Column::Displacement => {
            let litres = numbers::litres(text, sign);
            rule(litres.is_some(), "must be a number of litres such as 2.5")
        }
        Column::Seats | Column::Doors => {
            rule(is_number(numbers::count(text, 100)), "must be a number")
        }
        Column::MainPhoto | Column::Photos => {
            rule(items(text).all(is_web_address), "must begin with https:// or http://")
        }
        Column::Link => rule(is_web_address(text), "must begin with https:// or http://"),
        Column::InStockSince => {
            let of_form = || notation.date.as_ref().is_some_and(|form| form.read(text).is_some());
            rule(dates::date(text).is_some() || of_form(), "must be a date such as 2026-04-12")
        }
        Column::VehicleId
        | Column::OfferId
        | Column::Stock
        | Column::Rooftop
        | Column::DealerName
        | Column::DealerId
        | Column::Make
        | Column::Model
        | Column::Trim
        | Column::Engine
        | Column::Block
        | Column::Aspiration
        | Column::ExteriorColor
        | Column::ExteriorGeneric
        | Column::InteriorColor
        | Column::InteriorGeneric
        | Column::Features
        | Column::CategorizedOptions
        | Column::Description
        | Column::Notes => {
            rule(text.chars().any(char::is_alphanumeric), "must have a letter or a digit")
        }
    }
}

fn rule(holds: bool, message: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message.to_owned()) }
}

/// Checks that a text is a value that buyers filter by.
fn known(text: &str, rules: Rules) -> Result<(), String> {
    if words::by_rules(text, rules).is_some_and(|word| word.usual) {
        return Ok(());
    }
    let mut names: Vec<&str> = rules.iter().map(|(word, _)| *word).collect();
    names.sort_unstable();
    names.dedup();
    let guess = did_you_mean(&text.to_lowercase(), &names);
    let guess = guess.map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default();
    Err(format!("must be one of {}{guess}", names.join(", ")))
}

/// Accepts any text except a misspelling of a common value.
fn not_misspelled(text: &str, rules: Rules) -> Result<(), String> {
    let names: Vec<&str> = rules.iter().map(|(word, _)| *word).collect();
    match did_you_mean(&text.to_lowercase(), &names).filter(|word| !text.eq_ignore_ascii_case(word))
    {
        Some(word) => known(text, rules).map_err(|_| format!("did you mean \"{word}\"?")),
        None => Ok(()),
    }
}
