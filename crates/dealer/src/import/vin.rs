//! Whether a VIN can belong to a make: its first three characters name the manufacturer.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::words::fold;

/// One line for each make: its name and its WMIs.
const TABLE: &str = include_str!("../../data/wmi.csv");

/// Makes whose vehicles carry each other's WMIs, because one company builds them.
const FAMILIES: &[&str] = &[
    "acura honda",
    "aston_martin",
    "audi bentley lamborghini porsche volkswagen",
    "bmw mini rolls_royce",
    "buick cadillac chevrolet daewoo general_motors geo gm gmc hummer oldsmobile pontiac \
     saab saturn",
    "alfa_romeo chrysler dodge eagle ferrari fiat jeep maserati plymouth ram",
    "ford lincoln mercury",
    "genesis hyundai kia",
    "infiniti nissan",
    "jaguar land_rover",
    "lexus scion toyota",
    "maybach mercedes_benz smart",
    "polestar volvo",
];

/// The family of each WMI: a place in [`FAMILIES`], or a make of its own.
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

/// The families that the table knows at all.
static KNOWN: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| WMIS.values().map(String::as_str).collect());

fn family(make: &str) -> String {
    let folded = fold(make);
    FAMILIES
        .iter()
        .find(|members| members.split(' ').any(|member| member == folded))
        .and_then(|members| members.split(' ').next())
        .map_or(folded, str::to_owned)
}

/// The family of a make, where the table knows it.
pub(super) fn known_family(make: &str) -> Option<&'static str> {
    KNOWN.get(family(make).as_str()).copied()
}

/// Whether a VIN is known to belong to another manufacturer than a make of this family. Cars that
/// were developed together, an unknown WMI and an unknown make speak neither for nor against it.
pub(super) fn contradicts(vin: &str, family: Option<&'static str>) -> bool {
    let of_vin = vin.get(..3).and_then(|wmi| WMIS.get(wmi));
    of_vin.zip(family).is_some_and(|(of_vin, of_make)| *of_vin != of_make)
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
}
