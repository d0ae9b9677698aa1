//! Price of a product.

use crate::money::MoneyAmount;

/// Price: fixed, or the floor of an auction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProductPrice {
    /// Fixed price.
    Fixed(MoneyAmount),
    /// Price found by bidding, from this floor up if there is one.
    Auction(Option<MoneyAmount>),
}
