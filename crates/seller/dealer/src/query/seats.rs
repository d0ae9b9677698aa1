//! Seats of a vehicle. AAP has no member for them: dealers state them in members of their own,
//! among the features or in the trim, or leave them to model and body.

use tradepost_aap::Vehicle;

use super::fold::{TextKind, fold, words};
use super::vocabulary::vocabulary;

/// Members in which dealers state the seats.
const MEMBERS: [&str; 6] =
    ["seats", "seating", "seating_capacity", "passenger_capacity", "passengers", "number_of_seats"];

/// Seats and rows of seats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seats {
    /// Number of seats.
    pub(crate) seats: Option<u32>,
    /// Number of rows: 3, 2 where the seats are at most six, or unknown.
    pub(crate) rows: Option<u32>,
}

/// Determines the seats of a vehicle.
pub(crate) fn seats(vehicle: &Vehicle) -> Seats {
    let body = vehicle.body.as_deref().and_then(|body| vocabulary().class(TextKind::Body, body));
    let texts = || vehicle.features.iter().chain(&vehicle.trim).map(|text| words(text));
    let has_row = |words: &Vec<String>| {
        words
            .windows(2)
            .any(|pair| matches!(pair, [a, b] if (a == "third" || a == "3rd") && b == "row"))
    };
    let known = |make: &str, model: &str| {
        vocabulary().has_three_rows(&fold(TextKind::Make, make), &fold(TextKind::Plain, model))
    };
    let model = vehicle.make.as_deref().zip(vehicle.model.as_deref());
    let three = body == Some("minivan")
        || model.is_some_and(|(make, model)| known(make, model))
        || texts().any(|words| has_row(&words));
    let stated = stated(vehicle).or_else(|| texts().find_map(|words| in_words(&words)));
    let usual = if three { Some(7) } else { body.and_then(|body| vocabulary().seats(body)) };
    let seats = stated.or(usual);
    let two = seats.filter(|seats| (4..=6).contains(seats)).map(|_| 2);
    Seats { seats, rows: if three { Some(3) } else { two } }
}

fn stated(vehicle: &Vehicle) -> Option<u32> {
    let value = MEMBERS.iter().find_map(|name| vehicle.others.get(*name))?;
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let text = || value.as_str().and_then(|text| words(text).first()?.parse().ok());
    number.or_else(text).filter(is_likely)
}

/// Reads seats from a text: `7-Passenger Seating`, `Seats 8`, `Seating for 5`.
fn in_words(words: &[String]) -> Option<u32> {
    let is_seats = |word: &String| vocabulary().meaning_of("unit", word) == Some("seats");
    let before = words.windows(2).find_map(|pair| match pair {
        [number, unit] if is_seats(unit) => number.parse().ok().filter(is_likely),
        _ => None,
    });
    // Elsewhere in a text a number is that of a seat's adjustments.
    let leads = words.first().is_some_and(|word| word == "seats" || word == "seating");
    let after = || words.iter().skip(1).take(2).find_map(|word| word.parse().ok());
    before.or_else(|| after().filter(|seats| leads && is_likely(seats)))
}

fn is_likely(seats: &u32) -> bool {
    (2..=15).contains(seats)
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn seats_are_stated_or_those_of_the_model_or_body() {
        let of = |members: tradepost_document::json::Value| {
            let text = |name: &str| members[name].as_str().map(str::to_owned);
            let features = members["features"].as_array().into_iter().flatten();
            let others = members["others"].as_object().cloned().unwrap_or_default();
            let vehicle = Vehicle {
                make: text("make"),
                model: text("model"),
                body: text("body"),
                trim: text("trim"),
                features: features.map(|feature| feature.as_str().unwrap().to_owned()).collect(),
                others,
                ..Vehicle::default()
            };
            let Seats { seats, rows } = seats(&vehicle);
            (seats, rows)
        };
        for (members, expected) in [
            (json!({"others": {"seating_capacity": "8"}}), (Some(8), None)),
            (json!({"others": {"seats": 6}, "features": ["3rd Row Seat"]}), (Some(6), Some(3))),
            (json!({"features": ["Third row seating"]}), (Some(7), Some(3))),
            (json!({"features": ["12-Passenger Seating"]}), (Some(12), None)),
            (json!({"features": ["Seating for 5", "Sunroof"]}), (Some(5), Some(2))),
            (json!({"trim": "Touring 7 Passenger"}), (Some(7), None)),
            (json!({"make": "Kia", "model": "Telluride", "body": "suv"}), (Some(7), Some(3))),
            (json!({"body": "Minivan"}), (Some(7), Some(3))),
            (json!({"body": "Sport Utility"}), (Some(5), Some(2))),
            (json!({"body": "coupe", "features": ["6-way power driver seat"]}), (None, None)),
            (json!({"features": ["Power seats 8-way", "Memory seat 2"]}), (None, None)),
            (json!({"others": {"seats": 4000}}), (None, None)),
        ] {
            assert_eq!(of(members.clone()), expected, "{members}");
        }
    }
}
