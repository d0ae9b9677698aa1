//! Damaging a request at random.

use tradepost_document::json::{Value, json};

use super::sample::{Random, pool};

/// A text that no schema knows: it must not be repeated.
pub(super) const MARK: &str = "zqx-sent-by-the-caller";

/// Changes something somewhere; `names` are members that could be added.
pub(super) fn damage(document: &mut Value, names: &[String], random: &mut Random) {
    let mut places = Vec::new();
    collect(document, String::new(), &mut places);
    let place = random.pick(&places).clone();
    let other = document.pointer(random.pick::<String>(&places)).cloned().unwrap_or_default();
    let target = document.pointer_mut(&place).unwrap();
    match random.below(10) {
        0 | 1 => match target {
            Value::Object(members) if !members.is_empty() => {
                let name = members.keys().nth(random.below(members.len())).cloned().unwrap();
                members.shift_remove(&name);
            }
            Value::Array(items) if !items.is_empty() => {
                let index = random.below(items.len());
                items.remove(index);
            }
            _ => *target = garbage(random),
        },
        2 => *target = garbage(random),
        3 | 4 => {
            let alike: Vec<_> =
                pool().into_iter().filter(|v| v.is_string() == target.is_string()).collect();
            if !target.is_object() && !target.is_array() {
                *target = random.pick(&alike).clone();
            }
        }
        5 => *target = other,
        6 | 7 => match target {
            Value::Object(members) => {
                let known = ["extra", "account_id", "type", "ext", "a/b~c"];
                let name = if names.is_empty() || random.below(4) == 0 {
                    (*random.pick(&known)).to_owned()
                } else {
                    random.pick(names).clone()
                };
                members.insert(name, if random.below(2) == 0 { other } else { garbage(random) });
            }
            Value::Array(items) => items.push(garbage(random)),
            _ => *target = garbage(random),
        },
        8 => match target {
            Value::Array(items) if !items.is_empty() => {
                let item = random.pick(items).clone();
                items.push(item);
            }
            Value::Object(members) if !members.is_empty() => {
                let name = members.keys().nth(random.below(members.len())).cloned().unwrap();
                let value = members.shift_remove(&name).unwrap();
                members.insert(format!("{name}s"), value);
            }
            _ => *target = json!([target.clone()]),
        },
        _ => {
            let text = target.as_str().map(|text| format!("{text}{MARK}"));
            *target = text.map_or_else(|| garbage(random), Value::from);
        }
    }
}

fn collect(value: &Value, at: String, places: &mut Vec<String>) {
    let below = |name: &str| format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| collect(value, below(name), places));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, v)| collect(v, below(&n.to_string()), places));
        }
        _ => {}
    }
    places.push(at);
}

fn garbage(random: &mut Random) -> Value {
    let fixed = [
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!(""),
        json!(MARK),
        json!([null, 5]),
        json!(["a", "a"]),
        json!([5, 5.0]),
        json!({"a": [{"b": null}]}),
        json!([[MARK]]),
        json!({"type": MARK}),
        json!(-1),
        json!(1.5),
        tradepost_document::json::from_str("1e400").unwrap(),
        tradepost_document::json::from_str("-123456789012345678901234567890").unwrap(),
    ];
    let all: Vec<_> = fixed.into_iter().chain(pool()).collect();
    random.pick(&all).clone()
}
