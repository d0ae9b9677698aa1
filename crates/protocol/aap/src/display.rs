//! Text of vehicles for people. A dealer may send anything: a value of another type than expected is shown as it is,
//! without characters that control a terminal or hide something.

use tradepost_document::display::{dollars, grouped, member, text};
use tradepost_document::json::Value;

/// Returns a vehicle's title, such as `2023 Honda CR-V EX`.
#[must_use]
pub fn title(vehicle: &Value) -> String {
    let parts = ["year", "make", "model", "trim"].map(|name| member(vehicle, name));
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "unnamed vehicle".to_owned() } else { parts.join(" ") }
}

/// Returns a vehicle's member by its name: prices in dollars, the mileage with commas, the rest as [`text`].
#[must_use]
pub fn of_vehicle(name: &str, value: &Value) -> String {
    match name {
        "price" | "list_price" | "msrp" => dollars(Some(value)),
        "mileage" => grouped(Some(value)),
        _ => text(Some(value)),
    }
}

/// Returns the argument by which a vehicle is called, as name and value.
#[must_use]
pub fn identified(vehicle: &Value) -> String {
    let names = ["vin", "stock", "vehicle_id"];
    let found = names.iter().map(|name| (name, member(vehicle, name)));
    let found =
        found.filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name} {value}"));
    found.take(1).collect()
}
