//! A publisher for trying things out: The Gazette, a newspaper that does not exist.

use crate::catalogue::Catalogue;

/// What The Gazette has to sell.
#[must_use]
pub fn catalogue() -> Catalogue {
    let read = Catalogue::parse(include_str!("demo/catalogue.json"));
    read.expect("the demo's catalogue has no mistakes, as a test shows")
}

#[cfg(test)]
mod tests {
    use super::catalogue;

    #[test]
    fn the_demo_catalogue_has_no_mistakes() {
        let gazette = catalogue();
        assert!(gazette.products.len() >= 8, "products: {}", gazette.products.len());
        assert!(gazette.signals.len() >= 4, "signals: {}", gazette.signals.len());
        assert_eq!(gazette.offerings.len(), 2);
    }
}
