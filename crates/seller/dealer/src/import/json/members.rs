//! Members of a vehicle by path: `build.make`, `media.photo_links`.

use std::borrow::Cow;

use tradepost_document::json::{Map, Value};

use crate::import::columns::ITEM;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 32;

/// Maximum number of values of a vehicle.
const MAX_VALUES: usize = 2_000;

/// A member that has content.
#[derive(Debug)]
pub(super) struct JsonMember<'v> {
    /// Path of member names, joined by dots.
    pub(super) path: Cow<'v, str>,
    first: Cow<'v, str>,
    /// Values of a list, each followed by [`ITEM`].
    list: String,
}

impl JsonMember<'_> {
    /// Returns the first value, or all of them.
    pub(super) fn text(&self, keeps_all_values: bool) -> &str {
        if keeps_all_values && !self.list.is_empty() { &self.list } else { &self.first }
    }
}

/// Returns the object that is the vehicle: lists of schema.org wrap it in the member `item`.
pub(super) fn vehicle_of(object: &Map) -> &Map {
    object.get("item").and_then(Value::as_object).unwrap_or(object)
}

/// Returns true when the object's schema.org type is not a vehicle.
pub(super) fn is_something_else(object: &Map) -> bool {
    const VEHICLES: &[&str] =
        &["Vehicle", "Car", "Motorcycle", "MotorizedBicycle", "BusOrCoach", "Product", "ListItem"];
    let is_vehicle = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        VEHICLES.contains(&name.rsplit(['/', ':']).next().unwrap_or_default())
    };
    object.get("@type").is_some_and(|of| match of.as_array() {
        Some(names) => !names.iter().any(is_vehicle),
        None => !is_vehicle(of),
    })
}

/// Returns all members, in the order of the object.
///
/// # Errors
/// When the vehicle exceeds a limit.
pub(super) fn members(object: &Map) -> Result<Vec<JsonMember<'_>>, String> {
    let mut found = FoundMember { members: Vec::new(), values: 0 };
    for (key, value) in object {
        found.add(Cow::Borrowed(key), value, false, MAX_DEPTH)?;
    }
    Ok(found.members)
}

struct FoundMember<'v> {
    members: Vec<JsonMember<'v>>,
    values: usize,
}

impl<'v> FoundMember<'v> {
    fn add(
        &mut self,
        path: Cow<'v, str>,
        value: &'v Value,
        is_item: bool,
        depth: usize,
    ) -> Result<(), String> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(format!("its members are more than {MAX_DEPTH} deep"));
        };
        match value {
            Value::Null => Ok(()),
            Value::Bool(truth) => self.put(path, Cow::Owned(truth.to_string()), is_item),
            Value::Number(number) => self.put(path, Cow::Owned(number.to_string()), is_item),
            Value::String(text) => self.put(path, Cow::Borrowed(text), is_item),
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.add(path.clone(), item, true, depth))
            }
            Value::Object(members) => members.iter().try_for_each(|(key, value)| {
                self.add(Cow::Owned(format!("{path}.{key}")), value, is_item, depth)
            }),
        }
    }

    fn put(&mut self, path: Cow<'v, str>, text: Cow<'v, str>, is_item: bool) -> Result<(), String> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(format!("it has more than {MAX_VALUES} values"));
        }
        let known = self.members.iter().position(|member| member.path == path);
        let place = known.unwrap_or(self.members.len());
        if known.is_none() {
            self.members.push(JsonMember { path, first: text.clone(), list: String::new() });
        }
        if let Some(member) = self.members.get_mut(place).filter(|_| is_item) {
            member.list.push_str(&text);
            member.list.push(ITEM);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn nested_members_have_paths_and_lists_keep_their_items() {
        let text = r#"{"vin": "V", "year": 2024, "none": null, "build": {"make": "Honda",
            "engine": {"cylinders": 4}}, "photos": ["a,1", "b|2"], "images": [{"url": "c", "tag": "x"},
            {"url": "d"}], "empty": [], "is_new": true, "deep": [[1], [2, [3]]]}"#;
        let value = tradepost_document::json::read(text).unwrap();
        let mut out = String::new();
        for member in members(value.as_object().unwrap()).unwrap() {
            let all = member.text(true).replace(ITEM, ";");
            let _ = writeln!(out, "{} = {} ({all})", member.path, member.text(false));
        }
        expect![[r#"
            vin = V (V)
            year = 2024 (2024)
            build.make = Honda (Honda)
            build.engine.cylinders = 4 (4)
            photos = a,1 (a,1;b|2;)
            images.url = c (c;d;)
            images.tag = x (x;)
            is_new = true (true)
            deep = 1 (1;2;3;)
        "#]]
        .assert_eq(&out);
    }

    #[test]
    fn a_vehicle_beyond_all_measure_is_refused() {
        for text in [
            format!("{}1{}", r#"{"a":"#.repeat(40), "}".repeat(40)),
            format!(r#"{{"a":[{}1]}}"#, "1,".repeat(MAX_VALUES)),
        ] {
            let value = tradepost_document::json::read(&text).unwrap();
            assert!(members(value.as_object().unwrap()).is_err());
        }
    }
}
