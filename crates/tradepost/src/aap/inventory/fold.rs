//! What counts as the same text (C-39): spellings that differ in case, white space, punctuation or
//! by a synonym of the table below fold to the same key. Keys are compared and sorted, never shown.

use Field::{Body, Colour, Driveline, Fuel, Make, Transmission};

/// What kind of text a value is; it decides which synonyms hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Field {
    /// Text without synonyms: model, trim, rooftop.
    #[default]
    Plain,
    /// A stock number or VIN: compared without case and surrounding white space, otherwise as is.
    Identifier,
    Make,
    Body,
    Colour,
    Fuel,
    Transmission,
    Driveline,
}

/// Texts that mean the same. All are written as [`squeeze`] leaves them.
struct Synonyms {
    field: Field,
    /// The key.
    key: &'static str,
    /// What means the key wherever it stands, also as a word of a query or of a feature.
    always: &'static [&'static str],
    /// What means the key only as the whole value: `Rear` is a driveline, `rear camera` is not.
    alone: &'static [&'static str],
}

#[rustfmt::skip]
const SYNONYMS: &[Synonyms] = &[
    Synonyms { field: Make, key: "chevrolet", always: &["chevy"], alone: &[] },
    Synonyms { field: Make, key: "volkswagen", always: &["vw"], alone: &[] },
    Synonyms { field: Make, key: "mercedesbenz", always: &["mercedes"], alone: &["benz", "mb"] },
    Synonyms { field: Make, key: "landrover", always: &[], alone: &["rover"] },
    Synonyms { field: Make, key: "alfaromeo", always: &[], alone: &["alfa"] },
    Synonyms { field: Make, key: "rollsroyce", always: &[], alone: &["rolls"] },
    Synonyms { field: Body, key: "suv", always: &["sportutility", "sportutilityvehicle"], alone: &[] },
    Synonyms { field: Body, key: "truck", always: &["pickup", "pickuptruck"], alone: &[] },
    Synonyms { field: Body, key: "sedan", always: &["saloon"], alone: &[] },
    Synonyms { field: Body, key: "wagon", always: &["stationwagon"], alone: &["estate"] },
    Synonyms { field: Body, key: "hatchback", always: &[], alone: &["hatch"] },
    Synonyms { field: Body, key: "convertible", always: &["cabriolet", "cabrio"], alone: &[] },
    // Inside a longer colour `grey` is replaced as well, see `fold`.
    Synonyms { field: Colour, key: "gray", always: &["grey"], alone: &[] },
    Synonyms { field: Fuel, key: "gasoline", always: &["gas", "petrol"], alone: &["regulargasoline", "unleaded"] },
    Synonyms { field: Fuel, key: "electric", always: &["ev", "bev", "batteryelectric", "electricvehicle"], alone: &["electricity"] },
    Synonyms { field: Fuel, key: "hybrid", always: &["hev"], alone: &["gaselectrichybrid", "hybridelectric"] },
    Synonyms { field: Fuel, key: "pluginhybrid", always: &["phev"], alone: &["pluginhybridelectric"] },
    Synonyms { field: Fuel, key: "flexfuel", always: &["ffv", "flexfuelvehicle"], alone: &["flex"] },
    Synonyms { field: Transmission, key: "automatic", always: &["automatictransmission"], alone: &["auto", "a", "at"] },
    Synonyms { field: Transmission, key: "manual", always: &["manualtransmission", "stickshift"], alone: &["m", "mt", "stick", "standard"] },
    Synonyms { field: Transmission, key: "cvt", always: &["continuouslyvariabletransmission"], alone: &["continuouslyvariable"] },
    // Four-wheel and all-wheel drive differ (C-39): one can be switched off.
    Synonyms { field: Driveline, key: "4wd", always: &["4x4", "4wheeldrive", "fourwheeldrive"], alone: &["4wheel", "fourwheel"] },
    Synonyms { field: Driveline, key: "awd", always: &["allwheeldrive"], alone: &["allwheel"] },
    Synonyms { field: Driveline, key: "fwd", always: &["frontwheeldrive"], alone: &["front", "frontwheel"] },
    Synonyms { field: Driveline, key: "rwd", always: &["rearwheeldrive"], alone: &["rear", "rearwheel"] },
    Synonyms { field: Driveline, key: "2wd", always: &["4x2", "2wheeldrive", "twowheeldrive"], alone: &["2wheel", "twowheel"] },
];

/// The key of a value. It is empty when the value says nothing, such as `-`: the vehicle then
/// counts as without that value.
pub(super) fn fold(field: Field, text: &str) -> String {
    let key = match field {
        Field::Identifier => return lower(text.trim()),
        Field::Colour => squeeze(text).replace("grey", "gray"),
        Field::Plain | Make | Body | Fuel | Transmission | Driveline => squeeze(text),
    };
    SYNONYMS
        .iter()
        .filter(|row| row.field == field)
        .find(|row| row.always.contains(&key.as_str()) || row.alone.contains(&key.as_str()))
        .map_or(key, |row| row.key.to_owned())
}

/// What a word, or some words written as one, also means in free text.
pub(super) fn synonym(word: &str) -> Option<&'static str> {
    SYNONYMS.iter().find(|row| row.always.contains(&word)).map(|row| row.key)
}

/// The words of a text in lower case: what stands between characters that are neither letters nor
/// digits.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(lower).collect()
}

/// A text as it is shown: without surrounding and repeated white space.
pub(super) fn tidy(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Only letters and digits, in lower case, with two exceptions that tell cars apart: a plus
/// (`SE+`) and a decimal point between digits (`2.0T`). `&` reads `and`.
fn squeeze(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    let mut before = None;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
        if c.is_alphanumeric() {
            key.extend(c.to_lowercase());
        } else if c == '+' || c == '.' && digit(before.as_ref()) && digit(rest.peek()) {
            key.push(c);
        } else if c == '&' {
            key.push_str("and");
        }
        before = Some(c);
    }
    key
}

/// Character by character, so that the result does not depend on what stands around it.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(field: Field, spellings: &[&str]) {
        for spelling in spellings {
            assert_eq!(fold(field, spelling), fold(field, spellings[0]), "{spelling}");
        }
    }

    #[test]
    fn spellings_of_one_thing_fold_together_c_39() {
        same(Field::Plain, &["F-150", "F150", "f 150", " F – 150\t"]);
        same(Field::Plain, &["Town & Country", "town and country"]);
        same(Make, &["Chevrolet", "CHEVY", " chevy "]);
        same(Make, &["Volkswagen", "VW", "V.W."]);
        same(Make, &["Mercedes-Benz", "Mercedes", "mercedes benz"]);
        same(Fuel, &["Gasoline", "gas"]);
        same(Fuel, &["Electric", "EV", "BEV", "Battery Electric"]);
        same(Transmission, &["Automatic", "auto", "A"]);
        same(Transmission, &["Manual", "m", "Stick", "stick-shift"]);
        same(Driveline, &["4WD", "4x4", "4-Wheel Drive", "four wheel drive"]);
        same(Driveline, &["FWD", "Front-Wheel Drive", "front wheel drive", "front"]);
        same(Driveline, &["AWD", "All-wheel drive"]);
        same(Driveline, &["RWD", "rear", "Rear-Wheel Drive"]);
        same(Body, &["SUV", "Sport Utility", "sport utility vehicle"]);
        same(Colour, &["Dark Grey", "dark gray"]);
        same(Field::Identifier, &[" A-17 ", "a-17"]);
    }

    #[test]
    fn different_things_stay_apart_c_39() {
        for (field, one, other) in [
            (Driveline, "4WD", "AWD"),
            (Driveline, "4x4", "all-wheel drive"),
            (Field::Plain, "SE", "SE+"),
            (Field::Plain, "2.0T", "20T"),
            (Fuel, "Hybrid", "Plug-in Hybrid"),
            (Field::Identifier, "A-17", "A17"),
        ] {
            assert_ne!(fold(field, one), fold(field, other), "{one} {other}");
        }
    }

    #[test]
    fn the_table_is_consistent() {
        let mut seen: Vec<&str> = Vec::new();
        for row in SYNONYMS {
            assert_eq!(fold(row.field, row.key), row.key, "a key folds to itself");
            for text in row.always.iter().chain(row.alone) {
                assert_eq!(squeeze(text), *text, "written as squeeze leaves it");
                assert_ne!(*text, row.key);
            }
            seen.extend(row.always);
        }
        let all = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), all, "a word has one meaning in free text");
    }

    #[test]
    fn a_value_without_letters_and_digits_says_nothing() {
        assert_eq!(fold(Field::Plain, " - "), "");
        assert_eq!(fold(Colour, "\u{2014}"), "");
        assert_eq!(fold(Field::Identifier, "  "), "");
    }

    #[test]
    fn words_are_split_at_everything_else() {
        assert_eq!(words("Ford F-150 (XLT)"), ["ford", "f", "150", "xlt"]);
        assert!(words(" -- ").is_empty());
    }
}
