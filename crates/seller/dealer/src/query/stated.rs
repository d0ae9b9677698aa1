//! What listings state in their own words, because AAP has no member for it: doors, towing
//! capacity, horsepower, owners and accidents. Members of the dealer come first, then features,
//! engine and description.

use tradepost_aap::Vehicle;

use super::fold::{TextKind, words};
use super::vocabulary::vocabulary;

/// Members in which dealers state a number.
const DOORS: [&str; 5] = ["doors", "door_count", "number_of_doors", "num_doors", "doors_count"];
const TOWING: [&str; 6] = [
    "towing_capacity",
    "max_towing_capacity",
    "towing_capacity_lbs",
    "tow_capacity",
    "max_towing",
    "towing",
];
const HORSEPOWER: [&str; 4] = ["horsepower", "hp", "engine_hp", "engine_horsepower"];
const OWNERS: [&str; 5] =
    ["owners", "owner_count", "number_of_owners", "previous_owners", "num_owners"];
const ACCIDENTS: [&str; 3] = ["accidents", "accident_count", "number_of_accidents"];

/// Kilograms in a hundred thousand pounds.
const KILOGRAMS: u64 = 45_359;

/// Numbers that a listing states in its own words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StatedNumbers {
    /// Doors, or those usual for the body.
    pub(crate) doors: Option<u32>,
    /// Towing capacity in pounds.
    pub(crate) towing: Option<u32>,
    /// Horsepower.
    pub(crate) horsepower: Option<u32>,
    /// Owners before.
    pub(crate) owners: Option<u32>,
    /// Accidents.
    pub(crate) accidents: Option<u32>,
}

/// Determines what a listing states.
pub(crate) fn stated_numbers(vehicle: &Vehicle) -> StatedNumbers {
    let member = |names: &[&str]| names.iter().find_map(|name| number(vehicle.others.get(*name)?));
    let mut found = StatedNumbers {
        doors: member(&DOORS).filter(|doors| (1..=6).contains(doors)),
        towing: member(&TOWING).filter(|pounds| (500..=60_000).contains(pounds)),
        horsepower: member(&HORSEPOWER).filter(|power| (30..=2_500).contains(power)),
        owners: member(&OWNERS).filter(|owners| *owners <= 20),
        accidents: member(&ACCIDENTS).filter(|accidents| *accidents <= 20),
    };
    let texts = vehicle.features.iter().chain(&vehicle.description).chain(&vehicle.notes);
    for text in texts.chain(&vehicle.engine).chain(&vehicle.trim) {
        read_text(text, &mut found);
    }
    if found.doors.is_none() {
        let body = vehicle.body.as_deref();
        let class = body.and_then(|body| vocabulary().class(TextKind::Body, body));
        found.doors = class.and_then(|class| vocabulary().doors(class));
    }
    found
}

/// Reads a number of a member, as a number or as the first one of a text.
fn number(value: &tradepost_document::json::Value) -> Option<u32> {
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let text = || digits(&words(&value.as_str()?.replace(',', "")).into_iter().next()?);
    number.or_else(text)
}

/// Reads the digits of a word.
fn digits(word: &str) -> Option<u32> {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    word.get(..end)?.parse().ok()
}

/// Words that show a statement, so that most texts are not split into words.
const MARKS: [&str; 6] = ["tow", "hp", "horsepower", "owner", "accident", "door"];

fn read_text(text: &str, found: &mut StatedNumbers) {
    let lower = text.to_ascii_lowercase();
    if !MARKS.iter().any(|mark| memchr::memmem::find(lower.as_bytes(), mark.as_bytes()).is_some())
        && !lower.contains("clean carfax")
    {
        return;
    }
    let words = words(&lower.replace(',', ""));
    for (place, word) in words.iter().enumerate() {
        let before = |steps: usize| {
            place.checked_sub(steps).and_then(|place| words.get(place)).map(String::as_str)
        };
        match word.as_str() {
            "lb" | "lbs" | "pound" | "pounds" | "kg" => {
                let near = words.get(place.saturating_sub(6)..words.len().min(place + 5));
                let is_towing = near.unwrap_or_default().iter().any(|word| word.starts_with("tow"));
                let amount = before(1).and_then(digits).filter(|_| is_towing);
                let pounds = amount.and_then(|amount| match word.as_str() {
                    "kg" => u32::try_from(u64::from(amount) * 100_000 / KILOGRAMS).ok(),
                    _ => Some(amount),
                });
                let pounds = pounds.filter(|pounds| (500..=60_000).contains(pounds));
                found.towing = found.towing.or(pounds);
            }
            "hp" | "horsepower" | "bhp" => {
                let power = before(1).and_then(digits).filter(|power| (30..=2_500).contains(power));
                found.horsepower = found.horsepower.or(power);
            }
            "owner" | "owners" => {
                found.owners = found.owners.or_else(|| before(1).and_then(counted)).or_else(|| {
                    matches!(before(1), Some("previous" | "prior"))
                        .then(|| before(2).and_then(counted))
                        .flatten()
                });
            }
            "accident" | "accidents" => {
                let none = ["no", "zero", "0", "without"];
                let is_none = [1, 2].into_iter().filter_map(before).any(|w| none.contains(&w))
                    || words.get(place + 1).is_some_and(|word| word == "free");
                if is_none {
                    found.accidents = found.accidents.or(Some(0));
                }
            }
            "carfax" if before(1) == Some("clean") => {
                found.accidents = found.accidents.or(Some(0));
            }
            "door" | "doors" => {
                let doors = before(1).and_then(|word| counted(word).or_else(|| digits(word)));
                found.doors = found.doors.or(doors.filter(|doors| (2..=5).contains(doors)));
            }
            _ => {}
        }
    }
}

/// Reads a small number in words or digits.
fn counted(word: &str) -> Option<u32> {
    match word {
        "one" | "single" | "1" => Some(1),
        "two" | "2" => Some(2),
        "three" | "3" => Some(3),
        "four" | "4" => Some(4),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_the_words_of_listings() {
        let of = |text: &str| {
            let mut found = StatedNumbers::default();
            read_text(text, &mut found);
            let StatedNumbers { doors, towing, horsepower, owners, accidents } = found;
            [doors, towing, horsepower, owners, accidents]
        };
        for (text, expected) in [
            ("One-owner, no accidents reported", [None, None, None, Some(1), Some(0)]),
            ("Clean Carfax, two previous owners", [None, None, None, Some(2), Some(0)]),
            ("Max towing capacity 7,500 lbs.", [None, Some(7_500), None, None, None]),
            ("310 hp and 4 doors", [Some(4), None, Some(310), None, None]),
            ("Owner's manual, door sills", [None; 5]),
            ("Curb weight 4000 lbs", [None; 5]),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }
}
