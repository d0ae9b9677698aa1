//! Translation of values in feeds to those of AAP.

use tradepost_aap::vehicle::{ListingStatus, VehicleCondition};

/// Folds a text: lower case, with every run of characters other than letters and digits as one `_`.
pub(super) fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            out.push(character.to_ascii_lowercase());
        } else if character.is_alphanumeric() {
            out.extend(character.to_lowercase());
        } else if !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
    }
    if out.ends_with('_') {
        out.pop();
    }
    out
}

/// Availability of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Availability {
    /// On offer, with this status.
    Offered(ListingStatus),
    /// Sold.
    Sold,
    /// Not built, or not in transit yet.
    InProduction,
    /// Listed and not for sale.
    NotForSale,
    /// An unknown value.
    Unknown,
}

/// Reads a status. Feeds without one list vehicles in stock.
pub(super) fn availability(text: &str) -> Availability {
    let folded = fold(text);
    let is = |words: &[&str]| words.contains(&folded.as_str());
    let begins = |words: &[&str]| {
        words.iter().any(|word| {
            folded.strip_prefix(*word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    };
    if text.is_empty()
        || is(&["available", "active", "live", "ready", "for_sale", "on_lot"])
        || begins(&["in_stock", "instock", "on_the_lot"])
    {
        Availability::Offered(ListingStatus::Available)
    } else if begins(&["in_transit", "intransit", "transit", "en_route", "arriving", "coming_soon"])
    {
        Availability::Offered(ListingStatus::InTransit)
    } else if begins(&["sold", "retailed", "wholesaled"]) {
        Availability::Sold
    } else if begins(&[
        "sale_pending",
        "pending",
        "deal_pending",
        "deposit",
        "on_hold",
        "hold",
        "reserved",
    ]) {
        Availability::Offered(ListingStatus::Pending)
    } else if begins(&["in_production", "on_order", "ordered", "allocated", "being_built", "build"])
    {
        Availability::InProduction
    } else if begins(&[
        "inactive",
        "unavailable",
        "not_available",
        "not_for_sale",
        "out_of_stock",
        "removed",
        "deleted",
        "archived",
    ]) {
        Availability::NotForSale
    } else {
        Availability::Unknown
    }
}

/// Reads a condition: `BMW Certified` and similar values are certified.
pub(super) fn condition(text: &str) -> Option<VehicleCondition> {
    let folded = fold(text);
    let has = |word: &str| folded.split('_').any(|part| part == word);
    let certified = has("certified") || has("cpo");
    // `Not Certified` means used.
    if folded == "c" || (certified && !has("not") && !has("non") && !has("uncertified")) {
        return Some(VehicleCondition::Cpo);
    }
    // A demonstrator is used by the FTC's Used Car Rule (16 CFR 455.1).
    if certified
        || has("used")
        || has("preowned")
        || (has("pre") && has("owned"))
        || has("demo")
        || has("loaner")
        || folded == "u"
    {
        return Some(VehicleCondition::Used);
    }
    (has("new") || folded == "n").then_some(VehicleCondition::New)
}

/// Reads a `Certified` cell; `None` when the value is unknown.
pub(super) fn certified(text: &str) -> Option<bool> {
    // Most exports fill the cell only for certified vehicles.
    if matches!(fold(text).as_str(), "" | "none") {
        return Some(false);
    }
    truth(text).or_else(|| condition(text).map(|condition| condition == VehicleCondition::Cpo))
}

/// Reads yes or no.
pub(super) fn truth(text: &str) -> Option<bool> {
    match fold(text).as_str() {
        "false" | "0" | "no" | "n" | "f" => Some(false),
        "true" | "1" | "yes" | "y" | "t" => Some(true),
        _ => None,
    }
}

/// A value for a listing, and true when it is a common one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WordValue {
    pub(super) text: String,
    pub(super) usual: bool,
}

/// Values, each with the folded phrases that mean it.
pub(super) type WordRules = &'static [(&'static str, &'static [&'static str])];

/// Returns the value of the first rule with a phrase that occurs as whole words.
pub(super) fn by_rules(text: &str, rules: WordRules) -> Option<WordValue> {
    let folded = fold(text);
    if folded.is_empty() {
        return None;
    }
    let found =
        rules.iter().find(|(_, phrases)| phrases.iter().any(|phrase| has_phrase(&folded, phrase)));
    Some(match found {
        Some((word, _)) => WordValue { text: (*word).to_owned(), usual: true },
        None => WordValue {
            text: text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase(),
            usual: false,
        },
    })
}

fn has_phrase(folded: &str, phrase: &str) -> bool {
    folded.match_indices(phrase).any(|(start, _)| {
        let before = folded.get(..start).unwrap_or_default();
        let after = folded.get(start + phrase.len()..).unwrap_or_default();
        (before.is_empty() || before.ends_with('_')) && (after.is_empty() || after.starts_with('_'))
    })
}

/// Values of the driveline.
pub(super) const DRIVELINE: WordRules = &[
    ("awd", &["awd", "all_wheel", "4matic", "xdrive", "quattro", "4motion"]),
    ("4wd", &["4wd", "4x4", "four_wheel", "4_wheel"]),
    ("fwd", &["fwd", "front_wheel", "front"]),
    ("rwd", &["rwd", "rear_wheel", "rear"]),
];

/// Values of the transmission.
pub(super) const TRANSMISSION: WordRules = &[
    // First, because many feeds write `Automatic CVT`.
    ("cvt", &["cvt", "ecvt", "e_cvt", "ivt", "continuously", "variable", "c"]),
    (
        "automatic",
        &[
            "automatic",
            "auto",
            "automated",
            "a",
            "a_t",
            "at",
            "dct",
            "dual_clutch",
            "dsg",
            "pdk",
            "tiptronic",
            "steptronic",
            "geartronic",
            "shiftable",
            "single_speed",
            "1_speed",
            "direct_drive",
        ],
    ),
    ("manual", &["manual", "m", "m_t", "mt", "stick", "stick_shift", "6mt", "5mt"]),
];

/// Values of the fuel.
pub(super) const FUEL: WordRules = &[
    // First, because a plug-in hybrid is called a hybrid as well.
    ("phev", &["phev", "plug_in", "plugin"]),
    // A mild hybrid never drives on electricity alone, so its fuel is the engine's.
    ("gas", &["mild_hybrid", "mhev"]),
    ("hybrid", &["hybrid", "hev", "gas_electric", "gasoline_electric"]),
    ("hydrogen", &["hydrogen", "fuel_cell"]),
    ("cng", &["cng", "natural_gas"]),
    ("diesel", &["diesel", "biodiesel", "d"]),
    (
        "gas",
        &[
            "gas", "gasoline", "unleaded", "regular", "premium", "petrol", "flex", "e85", "ffv",
            "flexible", "g",
        ],
    ),
    // Last, because hybrids name electricity too.
    ("bev", &["bev", "ev", "electric", "electricity", "battery"]),
];

/// Values of the body style.
pub(super) const BODY: WordRules = &[
    ("minivan", &["minivan", "mini_van"]),
    (
        "truck",
        &[
            "truck",
            "pickup",
            "pick_up",
            "crew_cab",
            "crewmax",
            "supercrew",
            "supercab",
            "quad_cab",
            "double_cab",
            "regular_cab",
            "extended_cab",
            "access_cab",
            "king_cab",
            "mega_cab",
        ],
    ),
    ("suv", &["suv", "sport_utility", "crossover", "cuv", "sav"]),
    ("convertible", &["convertible", "cabriolet", "roadster", "spyder", "spider"]),
    ("hatchback", &["hatchback", "hatch", "liftback"]),
    ("wagon", &["wagon", "estate"]),
    ("coupe", &["coupe", "coupé", "2dr_car", "2_door_car"]),
    ("sedan", &["sedan", "saloon", "4dr_car", "4_door_car"]),
    ("van", &["van", "cargo_van", "passenger_van"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_real_feeds_are_told_apart() {
        use Availability::{InProduction, NotForSale, Offered, Sold, Unknown};
        for (text, expected) in [
            ("", Offered(ListingStatus::Available)),
            ("In Stock", Offered(ListingStatus::Available)),
            ("in-stock", Offered(ListingStatus::Available)),
            ("In Transit", Offered(ListingStatus::InTransit)),
            ("intransit", Offered(ListingStatus::InTransit)),
            ("Coming Soon", Offered(ListingStatus::InTransit)),
            ("Sale Pending - Deposit", Offered(ListingStatus::Pending)),
            ("pending", Offered(ListingStatus::Pending)),
            ("In Production", InProduction),
            ("SOLD - awaiting delivery", Sold),
            ("Inactive", NotForSale),
            ("Soldered", Unknown),
            ("–", Unknown),
        ] {
            assert_eq!(availability(text), expected, "{text}");
        }
    }

    #[test]
    fn certified_by_anybody_is_certified() {
        for (text, expected) in [
            ("New", Some(VehicleCondition::New)),
            ("N", Some(VehicleCondition::New)),
            ("Used", Some(VehicleCondition::Used)),
            ("Pre-Owned", Some(VehicleCondition::Used)),
            ("BMW Certified", Some(VehicleCondition::Cpo)),
            ("Certified Pre-Owned", Some(VehicleCondition::Cpo)),
            ("CPO", Some(VehicleCondition::Cpo)),
            ("C", Some(VehicleCondition::Cpo)),
            ("Non-Certified", Some(VehicleCondition::Used)),
            ("renewed", None),
            ("", None),
        ] {
            assert_eq!(condition(text), expected, "{text}");
        }
        for (text, expected) in [
            ("True", Some(true)),
            ("", Some(false)),
            ("Not Certified", Some(false)),
            ("Honda Certified", Some(true)),
            ("perhaps", None),
        ] {
            assert_eq!(certified(text), expected, "{text}");
        }
    }

    #[test]
    fn words_become_those_of_the_published_examples() {
        type Rows = &'static [(&'static str, &'static str, bool)];
        let tables: [(WordRules, Rows); 4] = [
            (
                DRIVELINE,
                &[
                    ("FWD", "fwd", true),
                    ("Front-wheel Drive", "fwd", true),
                    ("All Wheel Drive", "awd", true),
                    ("4x4", "4wd", true),
                    ("RWD", "rwd", true),
                    ("2WD", "2wd", false),
                ],
            ),
            (
                TRANSMISSION,
                &[
                    ("8-Speed Automatic", "automatic", true),
                    ("Automatic with Manual Mode", "automatic", true),
                    ("Continuously Variable", "cvt", true),
                    ("Automatic (variable gear ratios)", "cvt", true),
                    ("6-Speed Manual", "manual", true),
                    ("A", "automatic", true),
                    ("warp", "warp", false),
                ],
            ),
            (
                FUEL,
                &[
                    ("Gasoline Fuel", "gas", true),
                    ("Plug-In Hybrid", "phev", true),
                    ("Gas/Electric Hybrid", "hybrid", true),
                    ("Mild Hybrid", "gas", true),
                    ("Electric Fuel System", "bev", true),
                    ("Diesel Fuel", "diesel", true),
                    ("Compressed Natural Gas", "cng", true),
                ],
            ),
            (
                BODY,
                &[
                    ("Sport Utility", "suv", true),
                    ("4dr Car", "sedan", true),
                    ("Crew Cab Pickup", "truck", true),
                    ("Mini-van, Passenger", "minivan", true),
                    ("Spaceship", "spaceship", false),
                ],
            ),
        ];
        for (rules, table) in tables {
            for (text, word, usual) in table {
                let expected = WordValue { text: (*word).into(), usual: *usual };
                assert_eq!(by_rules(text, rules), Some(expected), "{text}");
            }
            assert_eq!(by_rules(" - ", rules), None);
        }
    }
}
