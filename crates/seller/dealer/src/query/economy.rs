//! Economy and range of a vehicle in whole numbers.

/// Combines the miles per gallon in the city and on the highway, as the EPA does: 55 % of the miles
/// are in the city. One of them alone is no combination.
pub(crate) fn combined_mpg(city: Option<u32>, highway: Option<u32>) -> Option<u32> {
    let city = city.filter(|mpg| *mpg > 0).map(u64::from)?;
    let highway = highway.filter(|mpg| *mpg > 0).map(u64::from)?;
    let gallons = 55 * highway + 45 * city;
    // Rounded to the nearest whole number, which is what labels show.
    let combined = (100 * city * highway + gallons / 2) / gallons;
    u32::try_from(combined).ok()
}

/// Returns whole miles of electric range; a range of 0 is that of a car without one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of the target before"
)]
pub(crate) fn whole_miles(range: Option<f64>) -> Option<u32> {
    let miles = range.filter(|miles| *miles > 0.0)?;
    Some(miles.clamp(0.0, 100_000.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn city_and_highway_are_combined_as_labels_do() {
        assert_eq!(combined_mpg(Some(28), Some(39)), Some(32));
        assert_eq!(combined_mpg(Some(43), Some(36)), Some(40));
        assert_eq!(combined_mpg(Some(20), None), None);
        assert_eq!(combined_mpg(Some(0), Some(30)), None);
        assert_eq!(whole_miles(Some(42.9)), Some(42));
        assert_eq!(whole_miles(Some(0.0)), None);
    }
}
