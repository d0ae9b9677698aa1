//! Tests of how numbers in a question are read.

use super::super::tokens::tokens;
use super::NumericAttribute::{
    CityMpg, CombinedMpg, Doors, ElectricRange, HighwayMpg, Horsepower, Mileage, Owners, Price,
    Rows, Seats, Towing, Year,
};
use super::*;

#[test]
fn amounts_are_read_with_what_stands_around_them() {
    let at_most = |number, value| Some((number, (None, Some(value))));
    let at_least = |number, value| Some((number, (Some(value), None)));
    let within = |number, low, high| Some((number, (Some(low), Some(high))));
    for (query, expected) in [
        ("under 40k", at_most(Price, 40_000)),
        ("under $40,000", at_most(Price, 40_000)),
        ("less than 25 thousand dollars", at_most(Price, 25_000)),
        ("under 30", at_most(Price, 30_000)),
        ("max 22.5k", at_most(Price, 22_500)),
        ("20k", at_most(Price, 20_000)),
        ("$18,500", at_most(Price, 18_500)),
        ("35k or less", at_most(Price, 35_000)),
        ("budget of 20k", at_most(Price, 20_000)),
        ("thirty five grand max", at_most(Price, 35_000)),
        ("over 50k", at_least(Price, 50_000)),
        ("from 20k to 30k", within(Price, 20_000, 30_000)),
        ("between 20 and 30k", within(Price, 20_000, 30_000)),
        ("20-30k", within(Price, 20_000, 30_000)),
        ("$20,000-$30,000", within(Price, 20_000, 30_000)),
        ("around 25k", within(Price, 22_500, 27_500)),
        ("under 40k miles", at_most(Mileage, 40_000)),
        ("less than 60,000 mi", at_most(Mileage, 60_000)),
        ("mileage under 30000", at_most(Mileage, 30_000)),
        ("20k miles", at_most(Mileage, 20_000)),
        ("under 50,000 km", at_most(Mileage, 31_068)),
        ("over 50k kilometers", at_least(Mileage, 31_069)),
        ("20k-30k range", within(Price, 20_000, 30_000)),
        ("price range 20k to 30k", within(Price, 20_000, 30_000)),
        ("no less than 20k", at_least(Price, 20_000)),
        ("no older than 2018", at_least(Year, 2018)),
        ("not newer than 2020", at_most(Year, 2020)),
        ("family of 5", at_least(Seats, 5)),
        ("10k to 20k miles", within(Mileage, 10_000, 20_000)),
        ("2020 or newer", at_least(Year, 2020)),
        ("2020+", at_least(Year, 2020)),
        ("newer than 2020", at_least(Year, 2021)),
        ("since 2020", at_least(Year, 2020)),
        ("from 2018 to 2020", within(Year, 2018, 2020)),
        ("2018-2020", within(Year, 2018, 2020)),
        ("between 2018 and 2020", within(Year, 2018, 2020)),
        ("before 2020", at_most(Year, 2019)),
        ("2019 and older", at_most(Year, 2019)),
        ("under 2020", at_most(Year, 2020)),
        ("7 seater", at_least(Seats, 7)),
        ("seven passenger", at_least(Seats, 7)),
        ("seating for 8", at_least(Seats, 8)),
        ("seats 7", at_least(Seats, 7)),
        ("2 seater", within(Seats, 2, 2)),
        ("3rd row seating", at_least(Rows, 3)),
        ("third row", at_least(Rows, 3)),
        ("three rows", at_least(Rows, 3)),
    ] {
        let tokens = tokens(query);
        let expected =
            expected.map(|(number, bounds)| (tokens.len(), NumberPhrase::Range(number, bounds)));
        assert_eq!(read(&tokens, 0), expected, "{query}");
    }
    for query in
        ["under 5000 lbs", "2000 kg", "20 inch wheels", "8 ft bed", "10 speed", "20000 euros"]
    {
        let tokens = tokens(query);
        let expected = Some((tokens.len(), NumberPhrase::Unsearchable));
        assert_eq!(read(&tokens, 0), expected, "{query}");
    }
    for query in [
        "$300 a month",
        "under 400 dollars a month",
        "$300-400 a month",
        "payments under $350",
        "300/mo",
    ] {
        let tokens = tokens(query);
        assert_eq!(read(&tokens, 0), Some((tokens.len(), NumberPhrase::Payment)), "{query}");
    }
    for query in ["within 50 miles", "25 miles from me", "near 90210"] {
        let tokens = tokens(query);
        assert_eq!(read(&tokens, 0), Some((tokens.len(), NumberPhrase::Distance)), "{query}");
    }
    for (query, expected) in [
        ("3 years old", (Some(3), Some(3))),
        ("less than 5 years old", (None, Some(4))),
        ("up to 5 years old", (None, Some(5))),
        ("no older than 5 years", (None, Some(5))),
        ("under 5 years", (None, Some(4))),
        ("3-5 years old", (Some(3), Some(5))),
        ("age under 5", (None, Some(4))),
    ] {
        let tokens = tokens(query);
        assert_eq!(read(&tokens, 0), Some((tokens.len(), NumberPhrase::Age(expected))), "{query}");
    }
    for query in ["1500", "3 series", "2020", "under the hood", "from toyota", "f 150", "x"] {
        assert_eq!(read(&tokens(query), 0), None, "{query}");
    }
}

#[test]
fn units_are_converted_to_those_of_listings() {
    let at_most = |number, value| (number, (None, Some(value)));
    let at_least = |number, value| (number, (Some(value), None));
    for (query, expected) in [
        ("30 mpg", at_least(CombinedMpg, 30)),
        ("30 miles per gallon", at_least(CombinedMpg, 30)),
        ("mpg over 30", at_least(CombinedMpg, 30)),
        ("under 30 mpg", at_most(CombinedMpg, 30)),
        ("35 city mpg", at_least(CityMpg, 35)),
        ("over 35 mpg highway", at_least(HighwayMpg, 35)),
        ("under 7 l/100km", at_least(CombinedMpg, 34)),
        ("6.5 l/100km", at_least(CombinedMpg, 36)),
        ("300 miles of range", at_least(ElectricRange, 300)),
        ("range over 250 miles", at_least(ElectricRange, 250)),
        ("over 250 mile electric range", at_least(ElectricRange, 250)),
        ("400 km range", at_least(ElectricRange, 249)),
        ("towing capacity of 5,000", at_least(Towing, 5_000)),
        ("tow 2000 kg", at_least(Towing, 4_409)),
        ("over 300 hp", at_least(Horsepower, 300)),
        ("horsepower over 300", at_least(Horsepower, 300)),
        ("100 kw", at_least(Horsepower, 134)),
        ("between 200 and 300 hp", (Horsepower, (Some(200), Some(300)))),
        ("4 door", (Doors, (Some(4), Some(5)))),
        ("2 owners", (Owners, (Some(2), Some(2)))),
    ] {
        let tokens = tokens(query);
        let (number, bounds) = expected;
        let expected = Some((tokens.len(), NumberPhrase::Range(number, bounds)));
        assert_eq!(read(&tokens, 0), expected, "{query}");
    }
}

#[test]
fn no_amount_is_too_large() {
    for query in ["under 4294967295k", "over 99999999999", "4294967295.9k", "k", ".5k miles"] {
        assert!(read(&tokens(query), 0).is_none_or(|(length, _)| length > 0), "{query}");
    }
}

#[test]
fn no_beginning_of_a_number_is_ruled_out() {
    for query in [
        "40k",
        "2.5 l",
        "fivek",
        "twenty five",
        "under 30",
        "budget of 20k",
        "km under 40k",
        // A phrase that is one word in the table, in two.
        "sea ting for 7",
        "mile age under 40k",
    ] {
        assert!(may_start(&tokens(query)[0]), "{query}");
    }
    for query in ["toyota", "camry 2020", "heated seats", "x5"] {
        assert!(!may_start(&tokens(query)[0]), "{query}");
    }
}
