//! Marks listings that look too good to be true: a price far below the list price, or one car at two dealers. They are
//! shown last, with the reason, and the user can still ask for them.

use std::collections::{HashMap, HashSet};

use tradepost_document::json::{Map, Value};

/// Member with the reasons, a list of sentences.
pub const DOUBTFUL: &str = "doubtful";

/// Percentage of the list price (without one, of the manufacturer's suggested price) below which a price is doubtful.
/// Mandatory fees are part of the price, so it is usually above the list price, and no honest discount comes near
/// this.
const MIN_PRICE_PERCENT: f64 = 60.0;

/// Marks the doubtful ones among vehicles of several dealers; each vehicle names its `dealer`.
pub fn mark(vehicles: &mut [Value]) {
    let mut dealers_of: HashMap<String, HashSet<String>> = HashMap::new();
    for vehicle in vehicles.iter() {
        if let Some(vin) = vin(vehicle)
            && let Some(dealer) = text(vehicle, "dealer")
        {
            dealers_of.entry(vin).or_default().insert(dealer.to_owned());
        }
    }
    for vehicle in vehicles {
        let mut reasons = Vec::new();
        if let Some(reason) = low_price(vehicle) {
            reasons.push(Value::from(reason));
        }
        let dealers = vin(vehicle).and_then(|vin| dealers_of.get(&vin)).map_or(0, HashSet::len);
        if dealers > 1 {
            reasons.push(format!("{dealers} dealers list this VIN").into());
        }
        put(vehicle, reasons);
    }
}

/// Marks one vehicle that is not compared with those of other dealers.
pub fn mark_one(vehicle: &mut Value) {
    let reasons = low_price(vehicle).map(Value::from).into_iter().collect();
    put(vehicle, reasons);
}

/// Returns true when a vehicle is marked.
#[must_use]
pub fn is_marked(vehicle: &Value) -> bool {
    vehicle.get(DOUBTFUL).is_some()
}

/// Writes the reasons, and removes a member of this name that the dealer sent.
fn put(vehicle: &mut Value, reasons: Vec<Value>) {
    let Some(members) = vehicle.as_object_mut() else { return };
    members.shift_remove(DOUBTFUL);
    if !reasons.is_empty() {
        members.insert(DOUBTFUL.to_owned(), reasons.into());
    }
}

fn low_price(vehicle: &Value) -> Option<String> {
    let members = vehicle.as_object()?;
    let price = number(members, "price")?;
    let (name, list_price) = ["list_price", "msrp"]
        .into_iter()
        .find_map(|name| Some((name, number(members, name).filter(|price| *price > 0.0)?)))?;
    let percent = price / list_price * 100.0;
    (percent < MIN_PRICE_PERCENT)
        .then(|| format!("the price is {:.0} % of the {}", percent.floor(), name.replace('_', " ")))
}

fn number(members: &Map, name: &str) -> Option<f64> {
    members.get(name).and_then(Value::as_f64)
}

fn vin(vehicle: &Value) -> Option<String> {
    text(vehicle, "vin").map(str::to_uppercase).filter(|vin| !vin.is_empty())
}

fn text<'v>(vehicle: &'v Value, name: &str) -> Option<&'v str> {
    vehicle.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn low_prices_and_shared_vins_are_doubtful() {
        let car = |dealer: &str, vin: &str, price: u32| json!({"dealer": dealer, "vin": vin, "price": price, "list_price": 30_000, "doubtful": "no"});
        let mut vehicles = [
            car("a", "V1", 29_000),
            car("b", "v1", 31_000),
            car("a", "V2", 17_999),
            car("a", "V3", 18_000),
            car("a", "V4", 30_000),
            car("a", "V4", 30_000),
            json!({"dealer": "a", "price": 100, "msrp": 40_000}),
            json!({"dealer": "a", "price": 100}),
        ];
        mark(&mut vehicles);
        let reasons: Vec<_> =
            vehicles.iter().map(|vehicle| vehicle[DOUBTFUL].to_string()).collect();
        let expected = [
            r#"["2 dealers list this VIN"]"#,
            r#"["2 dealers list this VIN"]"#,
            r#"["the price is 59 % of the list price"]"#,
            "null",
            "null",
            "null",
            r#"["the price is 0 % of the msrp"]"#,
            "null",
        ];
        assert_eq!(reasons, expected);
    }
}
