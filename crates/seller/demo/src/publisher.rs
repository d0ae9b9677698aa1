//! A publisher for trying things out: The Gazette, a newspaper that does not exist.

use tradepost_publisher::catalogue::{Catalogue, Product, ProductTerms};

/// Returns the catalogue of The Gazette.
#[must_use]
pub fn catalogue() -> Catalogue {
    let read = Catalogue::parse(include_str!("publisher/catalogue.json"));
    read.expect("the demo's catalogue has no mistakes, as a test shows")
}

/// Returns a product for trying out how a buy is made: the publisher approves a buy of it by itself after a
/// second, so that there is a task to follow and a notification to receive. It is not part of the catalogue.
#[must_use]
pub fn trial() -> Product {
    let published = tradepost_document::json::from_str(include_str!("publisher/trial.json"));
    let published = published.expect("the trial product is an object, as a test shows");
    let terms =
        ProductTerms { approval: true, approval_seconds: Some(1), ..ProductTerms::default() };
    Product::new(published, terms)
}

#[cfg(test)]
mod tests {
    use super::{catalogue, trial};

    #[test]
    fn the_trial_product_has_a_price() {
        assert_eq!(trial().id(), "test-product");
        assert!(trial().pricing("default").is_some());
    }

    #[test]
    fn the_demo_catalogue_has_no_mistakes() {
        let gazette = catalogue();
        assert!(gazette.products.len() >= 8, "products: {}", gazette.products.len());
        assert!(gazette.signals.len() >= 4, "signals: {}", gazette.signals.len());
        assert_eq!(gazette.offerings.len(), 4);
    }
}
