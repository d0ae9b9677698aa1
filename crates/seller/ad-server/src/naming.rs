//! Names of objects at an ad server, cut to the length that it accepts. Where an ad server keeps no id of
//! ours, the name ends with it, and a repeated creation finds the first object by that ending.

use tradepost_publisher::ad_server::ExternalId;

/// Maximum number of characters of a name at ad servers that say nothing else.
pub(crate) const MAX_NAME: usize = 255;

/// Returns at most `max` characters of a name.
pub(crate) fn cut(name: &str, max: usize) -> String {
    name.chars().take(max).collect()
}

/// Returns a name of at most `max` characters that ends with our id. The id is never cut.
pub(crate) fn with_id(name: &str, id: &ExternalId, max: usize) -> String {
    let ending = ending(id);
    let room = max.saturating_sub(ending.chars().count());
    format!("{}{ending}", cut(name, room))
}

/// Returns true if a name ends with our id.
pub(crate) fn has_id(name: &str, id: &ExternalId) -> bool {
    name.ends_with(&ending(id))
}

/// Returns our id at the end of a name.
pub(crate) fn id_of(name: &str) -> Option<ExternalId> {
    let rest = name.strip_suffix(']')?;
    let (_, id) = rest.rsplit_once(" [")?;
    Some(ExternalId(id.to_owned()))
}

fn ending(id: &ExternalId) -> String {
    format!(" [{}]", id.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_at_characters_and_keep_the_id() {
        let id = ExternalId("mb_1/p_2".to_owned());
        let long = "ä".repeat(300);
        let name = with_id(&long, &id, 255);
        assert_eq!(name.chars().count(), 255);
        assert_eq!(id_of(&name), Some(id.clone()));
        assert!(has_id(&name, &id));
        assert_eq!(with_id("Spring", &id, 255), "Spring [mb_1/p_2]");
        assert_eq!(cut(&long, 200).chars().count(), 200);
    }

    #[test]
    fn an_id_is_not_found_in_one_that_contains_it() {
        let id = ExternalId("mb_1".to_owned());
        assert!(!has_id("Spring [mb_11]", &id));
        assert!(!has_id("Spring [xmb_1]", &id));
        assert!(!has_id("mb_1", &id));
        assert_eq!(id_of("a name without an id"), None);
    }
}
