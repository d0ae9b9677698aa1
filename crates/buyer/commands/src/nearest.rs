//! Suggestions for a misspelt name.

/// Minimum similarity of two names, from 0 to 1.
const LIKELY: f64 = 0.8;

/// Returns the name that is most similar to the wanted one; `None` when none is similar.
pub fn nearest<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = wanted.to_ascii_lowercase();
    let likeness = |name: &str| strsim::jaro_winkler(&name.to_ascii_lowercase(), &wanted);
    let rated = names.into_iter().map(|name| (likeness(name), name));
    let best = rated.max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(likeness, _)| *likeness > LIKELY).map(|(_, name)| name)
}

/// Returns a hint that begins with the suggestion, if there is one.
pub fn hint<'n>(
    wanted: &str,
    names: impl IntoIterator<Item = &'n str>,
    otherwise: impl Into<String>,
) -> String {
    let otherwise = otherwise.into();
    match nearest(wanted, names) {
        Some(name) => format!("did you mean {name}? {otherwise}"),
        None => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_another_word_none() {
        let names = ["get_products", "create_media_buy", "sync_creatives"];
        for (wanted, expected) in [
            ("get_product", Some("get_products")),
            ("GET_PRODUTCS", Some("get_products")),
            ("sync_creative", Some("sync_creatives")),
            ("horoscope", None),
            ("", None),
        ] {
            assert_eq!(nearest(wanted, names), expected, "{wanted}");
        }
        assert_eq!(nearest("x", []), None);
        assert_eq!(
            hint("get_product", names, "see the list"),
            "did you mean get_products? see the list"
        );
    }
}
