//! Findings about the products of a catalogue: what `check-config` warns of, and the mistakes in a changed file,
//! each with its product.

use jiff::Timestamp;
use tradepost_publisher::catalogue::{Catalogue, ProposalObstacle};

/// Prefix of the JSON Pointer of a mistake in a product.
const PRODUCTS: &str = "/products/";

/// Finding about a product, or about the catalogue as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductFinding {
    /// Product that it is about; `None` for the catalogue.
    pub product_id: Option<String>,
    /// Problem, as a fragment.
    pub message: String,
}

/// Returns the products that no proposal can contain, although the catalogue describes proposals.
#[must_use]
pub fn without_proposals(catalogue: &Catalogue) -> Vec<ProductFinding> {
    if catalogue.proposals.is_none() {
        return Vec::new();
    }
    let finding = |product: &tradepost_publisher::catalogue::Product| {
        let reason = match product.proposal_obstacle()? {
            ProposalObstacle::Approval => "a person approves each purchase of it",
            ProposalObstacle::NoFixedPrice => "it has no fixed price",
        };
        let product_id = Some(product.id().to_owned());
        Some(ProductFinding { product_id, message: format!("is in no proposal, because {reason}") })
    };
    catalogue.products.iter().filter_map(finding).collect()
}

/// Returns all findings: the warnings of `check-config`, products that are not on offer any more, and the mistakes
/// in the file as it is now, with the products in whose place they are.
#[must_use]
pub fn findings(catalogue: &Catalogue, mistakes: &[String], now: Timestamp) -> Vec<ProductFinding> {
    let mut all = without_proposals(catalogue);
    let expired = catalogue.products.iter().filter(|product| product.is_expired(now));
    all.extend(expired.map(|product| ProductFinding {
        product_id: Some(product.id().to_owned()),
        message: "is not on offer any more: its expires_at has passed".to_owned(),
    }));
    all.extend(mistakes.iter().map(|mistake| {
        let place = mistake.strip_prefix(PRODUCTS).and_then(|rest| {
            let index = rest.split(['/', ':']).next()?;
            index.parse::<usize>().ok()
        });
        // The file may have another order by now; the mistake names its place nevertheless.
        let product = place.and_then(|index| catalogue.products.get(index));
        ProductFinding {
            product_id: product.map(|product| product.id().to_owned()),
            message: format!("in the changed file: {mistake}"),
        }
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_beside_the_product_in_their_place() {
        let catalogue = tradepost_demo::publisher::catalogue();
        let first = catalogue.products.first().map(|product| product.id().to_owned());
        let mistakes = [
            "/products/0/name: is missing",
            "/products/999: is no product",
            "/policies: is no list",
        ];
        let mistakes = mistakes.map(str::to_owned);
        let found = findings(&catalogue, &mistakes, Timestamp::UNIX_EPOCH);
        let of_file: Vec<_> =
            found.iter().filter(|one| one.message.starts_with("in the changed file")).collect();
        let products: Vec<_> = of_file.iter().map(|one| one.product_id.clone()).collect();
        assert_eq!(products, [first, None, None]);
    }
}
