//! Out-the-door prices and their completeness (AAP 1.1, `R-PR-01`). Whole US dollars.

/// Computes the out-the-door price from an advertised one, the rebates that every buyer gets and
/// the mandatory amounts; `None` when the rebates use up the price.
#[must_use]
pub fn out_the_door(advertised: u32, discount: u32, surcharge: u32) -> Option<u32> {
    let left = advertised.checked_sub(discount).filter(|left| *left > 0)?;
    left.checked_add(surcharge)
}

/// Returns true when an out-the-door price is less than what has to be paid. With an unknown
/// discount, a price below the advertised one is not judged.
#[must_use]
pub fn omits_fees(price: u32, advertised: u32, discount: Option<u32>, surcharge: u32) -> bool {
    let least = out_the_door(advertised, discount.unwrap_or_default(), surcharge);
    let is_judged = discount.is_some() || price >= advertised;
    is_judged && least.is_some_and(|least| price < least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_has_to_hold_what_must_be_paid() {
        for (price, discount, expected) in [
            (20_499, None, false),
            (20_498, None, true),
            (20_000, None, true),
            (19_999, None, false),
            (19_499, Some(1_000), false),
            (19_498, Some(1_000), true),
            (1, Some(20_000), false),
        ] {
            assert_eq!(omits_fees(price, 20_000, discount, 499), expected, "{price} {discount:?}");
        }
        assert_eq!(out_the_door(20_000, 20_000, 499), None);
        assert_eq!(out_the_door(u32::MAX, 0, 1), None);
    }
}
