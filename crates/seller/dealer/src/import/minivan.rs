//! Minivan models, which feeds often call vans: `4D Passenger Van` is the body of a Sienna, and not
//! of a Transit.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::words::fold;

/// Table with make and model on each line.
const TABLE: &str = include_str!("../../data/minivans.csv");

/// Folded makes and models.
static MODELS: LazyLock<HashSet<(String, String)>> = LazyLock::new(|| {
    let lines = TABLE.lines().skip(1).filter_map(|line| line.split_once(','));
    lines.map(|(make, model)| (fold(make), fold(model))).collect()
});

/// Returns true when a model is a minivan. `Sienna Hybrid` counts as a Sienna.
pub(super) fn is_minivan(make: &str, model: &str) -> bool {
    let make = fold(make);
    let model = fold(model);
    let ends = model.match_indices('_').map(|(at, _)| at).chain([model.len()]);
    let names = ends.filter_map(|end| model.get(..end));
    let mut of_make = names.map(|name| (make.clone(), name.to_owned()));
    of_make.any(|named| MODELS.contains(&named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minivans_are_told_from_vans_by_their_models() {
        for (make, model, expected) in [
            ("Toyota", "Sienna", true),
            ("TOYOTA", "Sienna Hybrid", true),
            ("Chrysler", "Town & Country", true),
            ("Honda", "Odyssey", true),
            ("Dodge", "Grand Caravan", true),
            ("Ford", "Transit", false),
            ("Ford", "Transit Connect", false),
            ("Honda", "Sienna", false),
            ("", "", false),
        ] {
            assert_eq!(is_minivan(make, model), expected, "{make} {model}");
        }
    }
}
