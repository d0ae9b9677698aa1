//! Facts in a VIN: the manufacturer, by its first three characters (WMI), and the model year.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use tradepost_document::format;

use super::words::fold;

/// Table with a make and its WMIs on each line.
const TABLE: &str = include_str!("../../data/wmi.csv");

/// Groups of makes that share WMIs, because one company builds them.
const FAMILIES: &[&[&str]] = &[
    &["acura", "honda"],
    &["aston_martin"],
    &["audi", "bentley", "lamborghini", "porsche", "volkswagen"],
    &["bmw", "mini", "rolls_royce"],
    &[
        "buick",
        "cadillac",
        "chevrolet",
        "daewoo",
        "general_motors",
        "geo",
        "gm",
        "gmc",
        "hummer",
        "oldsmobile",
        "pontiac",
        "saab",
        "saturn",
    ],
    &[
        "alfa_romeo",
        "chrysler",
        "dodge",
        "eagle",
        "ferrari",
        "fiat",
        "jeep",
        "maserati",
        "plymouth",
        "ram",
    ],
    &["ford", "lincoln", "mercury"],
    &["genesis", "hyundai", "kia"],
    &["infiniti", "nissan"],
    &["jaguar", "land_rover"],
    &["lexus", "scion", "toyota"],
    &["maybach", "mercedes_benz", "smart"],
    &["polestar", "volvo"],
];

/// Group of each WMI: an entry of [`FAMILIES`], or a single make.
static WMIS: LazyLock<HashMap<&'static str, String>> = LazyLock::new(|| {
    let mut wmis = HashMap::new();
    for line in TABLE.lines().skip(1) {
        if let Some((make, list)) = line.split_once(',') {
            let family = family(make);
            wmis.extend(list.split(' ').map(|wmi| (wmi, family.clone())));
        }
    }
    wmis
});

/// Groups that occur in the table.
static KNOWN: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| WMIS.values().map(String::as_str).collect());

fn family(make: &str) -> String {
    let folded = fold(make);
    FAMILIES
        .iter()
        .find(|members| members.contains(&folded.as_str()))
        .and_then(|members| members.first())
        .map_or(folded, |make| (*make).to_owned())
}

/// Returns the group of a make, when the table has it.
pub(super) fn known_family(make: &str) -> Option<&'static str> {
    KNOWN.get(family(make).as_str()).copied()
}

/// Returns true when a VIN belongs to another manufacturer than this group of makes. Jointly
/// developed cars, an unknown WMI and an unknown make give no evidence.
pub(super) fn contradicts(vin: &str, family: Option<&'static str>) -> bool {
    let of_vin = vin.get(..3).and_then(|wmi| WMIS.get(wmi));
    of_vin.zip(family).is_some_and(|(of_vin, of_make)| *of_vin != of_make)
}

/// Tenth characters of VINs in the order of model years, beginning with 1980 and again with 2010
/// (49 CFR 565.15).
const YEARS: &[u8] = b"ABCDEFGHJKLMNPRSTVWXY123456789";

/// Returns the model year by the tenth character. Each character stands for two years, and the
/// seventh tells which: a digit before the model year 2010, a letter since (49 CFR 565.15, for cars
/// and light trucks). `None` without the check digit that the rule requires, and for a year after
/// `latest`.
pub(super) fn model_year(vin: &str, latest: u16) -> Option<u16> {
    if !format::has_vin_check_digit(vin) {
        return None;
    }
    let letter = vin.as_bytes().get(9)?;
    let place = YEARS.iter().position(|one| one == letter)?;
    let since = if vin.as_bytes().get(6)?.is_ascii_digit() { 1980 } else { 2010 };
    let year = since + u16::try_from(place).ok()?;
    (year <= latest).then_some(year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vin_contradicts_only_makes_of_other_companies() {
        for (vin, make, expected) in [
            ("1HGCV1F30NA123456", "Honda", false),
            ("1HGCV1F30NA123456", "HONDA", false),
            ("1HGCV1F30NA123456", "Ford", true),
            ("1C4HJXEN0NW123456", "Jeep", false),
            ("1C4HJXEN0NW123456", "Toyota", true),
            ("JN1EV7AP0NM123456", "Infiniti", false),
            ("ZZZ00000000000000", "Ford", false),
            ("1HGCV1F30NA123456", "Zephyr Coachworks", false),
            ("", "Ford", false),
        ] {
            assert_eq!(contradicts(vin, known_family(make)), expected, "{vin} {make}");
        }
    }

    #[test]
    fn the_seventh_character_tells_which_of_two_model_years() {
        // The check digit is worked out, so that each row is about its years alone.
        let with_check_digit = |vin: &str| {
            let digit = char::from(format::vin_check_digit(vin).unwrap());
            format!("{}{digit}{}", &vin[..8], &vin[9..])
        };
        for (vin, expected) in [
            ("1HGCV1F30NA000003", Some(2022)),
            ("1HGCV1130NA000003", Some(1992)),
            ("1HGCV1F30AA000003", Some(2010)),
            ("1HGCV1130AA000003", Some(1980)),
            ("1HGCV11309A000003", Some(2009)),
            ("1HGCV1F301A000003", None),
            ("1HGCV1F30VA000003", Some(2027)),
            ("1HGCV1F30WA000003", None),
            ("1HGCV1F300A000003", None),
        ] {
            assert_eq!(model_year(&with_check_digit(vin), 2027), expected, "{vin}");
        }
        assert_eq!(model_year("1HGCV1F30NA000003", 2027), None, "its check digit is wrong");
        assert_eq!(model_year("", 2027), None);
    }
}
