//! Validation of a mapping's constants. An invalid one would be wrong in every row.

use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format;
use tradepost_document::parse::{did_you_mean, reject};
use tradepost_document::problem::{DocumentPlace, Problems};

use crate::import::columns::{CellMeaning, items};
use crate::import::notation::Notation;
use crate::import::numbers::{self, NumberCell};
use crate::import::text::is_web_address;
use crate::import::words::{self, Availability, WordRules};
use crate::import::{currency, dates};

/// Records a problem for every constant that is not a valid value of its field.
pub(super) fn check_constants(
    constants: &[(CellMeaning, String)],
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
fn check(column: CellMeaning, text: &str, notation: &Notation) -> Result<(), String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("must not be empty; take the line out instead".to_owned());
    }
    let sign = notation.sign();
    let is_number = |amount: NumberCell| matches!(amount, NumberCell::Is(_));
    match column {
        CellMeaning::Vin => {
            rule(format::is_vin(text), "must be a VIN of 17 digits and capital letters")
        }
        CellMeaning::Year => {
            let of_date = || notation.date.as_ref().is_some_and(|form| form.read(text).is_some());
            rule(
                numbers::year(text, sign).is_some() || of_date(),
                "must be a model year such as 2024",
            )
        }
        CellMeaning::Type => rule(words::condition(text).is_some(), "must be new, used or cpo"),
        CellMeaning::IsNew => rule(words::truth(text).is_some(), "must be yes or no"),
        CellMeaning::Certified => rule(words::certified(text).is_some(), "must be yes or no"),
        CellMeaning::Status => rule(
            !matches!(words::availability(text), Availability::Unknown),
            "must be available, intransit, pending or sold",
        ),
        CellMeaning::Msrp
        | CellMeaning::InternetPrice
        | CellMeaning::SellingPrice
        | CellMeaning::Price
        | CellMeaning::ListPrice
        | CellMeaning::OutTheDoor => {
            let is_word = !text.bytes().any(|byte| byte.is_ascii_digit());
            let is_price = is_number(numbers::price(text, sign));
            rule(is_word || is_price, "must be a price in whole US dollars, or a word such as Call")
        }
        CellMeaning::Fees | CellMeaning::AddOns | CellMeaning::Rebates => {
            let amount = numbers::amount(text, sign);
            rule(
                is_number(amount) || amount == NumberCell::Empty,
                "must be an amount in US dollars",
            )
        }
        CellMeaning::Currency => {
            rule(currency::is_name(text), "must be a currency by its code, such as USD or CAD")
        }
        CellMeaning::Mileage => {
            rule(is_number(numbers::mileage(text, notation.unit(), sign).0), "must be a distance")
        }
        CellMeaning::MileageUnit => rule(numbers::is_unit_of_distance(text), "must be mi or km"),
        CellMeaning::Transmission | CellMeaning::TransmissionDescription => {
            known(text, words::TRANSMISSION)
        }
        CellMeaning::Drivetrain => known(text, words::DRIVELINE),
        CellMeaning::Fuel => known(text, words::FUEL),
        CellMeaning::Body => not_misspelled(text, words::BODY),
        CellMeaning::CityMpg | CellMeaning::HighwayMpg | CellMeaning::ElectricRange => {
            rule(is_number(numbers::plain(text, 2_000, sign)), "must be a number")
        }
        CellMeaning::Cylinders => {
            rule(is_number(numbers::count(text, 16)), "must be a number up to 16")
        }
        CellMeaning::Displacement => {
            let litres = numbers::litres(text, sign);
            rule(litres.is_some(), "must be a number of litres such as 2.5")
        }
        CellMeaning::Seats | CellMeaning::Doors => {
            rule(is_number(numbers::count(text, 100)), "must be a number")
        }
        CellMeaning::MainPhoto | CellMeaning::Photos => {
            rule(items(text).all(is_web_address), "must begin with https:// or http://")
        }
        CellMeaning::Link => rule(is_web_address(text), "must begin with https:// or http://"),
        CellMeaning::InStockSince => {
            let of_form = || notation.date.as_ref().is_some_and(|form| form.read(text).is_some());
            rule(dates::date(text).is_some() || of_form(), "must be a date such as 2026-04-12")
        }
        CellMeaning::VehicleId
        | CellMeaning::OfferId
        | CellMeaning::Stock
        | CellMeaning::Rooftop
        | CellMeaning::DealerName
        | CellMeaning::DealerId
        | CellMeaning::Make
        | CellMeaning::Model
        | CellMeaning::Trim
        | CellMeaning::Engine
        | CellMeaning::Block
        | CellMeaning::Aspiration
        | CellMeaning::ExteriorColor
        | CellMeaning::ExteriorGeneric
        | CellMeaning::InteriorColor
        | CellMeaning::InteriorGeneric
        | CellMeaning::Features
        | CellMeaning::CategorizedOptions
        | CellMeaning::Description
        | CellMeaning::Notes => {
            rule(text.chars().any(char::is_alphanumeric), "must have a letter or a digit")
        }
    }
}

fn rule(holds: bool, message: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message.to_owned()) }
}

/// Checks that a text is a value that buyers filter by.
fn known(text: &str, rules: WordRules) -> Result<(), String> {
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
fn not_misspelled(text: &str, rules: WordRules) -> Result<(), String> {
    let names: Vec<&str> = rules.iter().map(|(word, _)| *word).collect();
    match did_you_mean(&text.to_lowercase(), &names).filter(|word| !text.eq_ignore_ascii_case(word))
    {
        Some(word) => known(text, rules).map_err(|_| format!("did you mean \"{word}\"?")),
        None => Ok(()),
    }
}
