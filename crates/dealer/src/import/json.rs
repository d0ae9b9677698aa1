//! AAP JSON: an array of vehicles, an object with `vehicles`, or an `inventory.search` response.

use std::fmt::{self, Write as _};
use std::io::{BufReader, Read};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tradepost_wire::json;
use tradepost_wire::json::RawValue;
use tradepost_wire::json::Value;

use super::collect::Sorter;
use super::columns::{Cells, ITEM};
use super::preset::Preset;
use super::report::Reason;
use super::{MAX_CELL, Unreadable};

/// The format's name in a report.
const FORMAT: &str = "aap-json";

/// What exports call the list of vehicles.
const LISTS: &[&str] = &["vehicles", "inventory", "listings", "results"];

const HINT: &str = "give an array of vehicles, {\"vehicles\": [...]}, or the payload of an \
                    inventory.search response";

/// Reads AAP JSON, one vehicle at a time.
pub(super) fn read(text: impl Read, sorter: &mut Sorter<'_>) -> Result<(), Unreadable> {
    sorter.format(FORMAT, None);
    sorter.assume(Preset::AapJson);
    let mut taker = Taker { sorter, cells: Cells::new(), items: 0 };
    let mut found = Found::default();
    let mut reader = tradepost_wire::json::Deserializer::from_reader(BufReader::new(text));
    let whole = Document { taker: &mut taker, found: &mut found, is_page: false };
    let done = whole.deserialize(&mut reader).and_then(|()| reader.end());
    let items = taker.items;
    if let Err(error) = done {
        let place = format!("line {}, column {}", error.line(), error.column());
        // What came before the end is good; what is missing is said of the file.
        if error.is_eof() && sorter.has_units() {
            sorter.truncated(format!("the file ends in the middle of the JSON, at {place}"));
            return Ok(());
        }
        return Err(Unreadable::new(format!("the JSON cannot be read at {place}"), HINT));
    }
    match found.total {
        _ if !found.list => Err(Unreadable::new("the JSON has no vehicles", HINT)),
        // A feed is the whole inventory: to import one page would be to remove all the others.
        Some(total) if total > items as u64 => Err(Unreadable::new(
            format!("the response holds {items} of {total} vehicles: it is one page"),
            "put the vehicles of every page into one array",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Takes vehicles as they come.
struct Taker<'s, 'a> {
    sorter: &'s mut Sorter<'a>,
    cells: Cells,
    items: usize,
}

impl Taker<'_, '_> {
    fn take(&mut self, raw: &RawValue) {
        self.items += 1;
        let item = self.items;
        if raw.get().len() > 4 * MAX_CELL {
            let message = format!("the vehicle has more than {} KiB", MAX_CELL >> 8);
            return self.sorter.skip(item, Reason::OversizedCell, message);
        }
        match json::read(raw.get()) {
            Ok(Value::Object(members)) => {
                self.cells.clear();
                for (key, value) in &members {
                    if !value.is_null() {
                        let heading = self.sorter.heading(key);
                        self.cells.fill(&heading, &plain(value));
                    }
                }
                self.sorter.take(item, &mut self.cells);
            }
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))
            | Ok(Value::Array(_)) => {
                let message = "the item is not an object".to_owned();
                self.sorter.skip(item, Reason::Malformed, message);
            }
            Err(problems) => {
                let wrong = problems.into_iter().map(|wrong| {
                    let place = wrong.pointer.trim_start_matches('/').to_owned();
                    format!("{place} {}", wrong.message)
                });
                let message = wrong.collect::<Vec<_>>().join("; ");
                self.sorter.skip(item, Reason::Malformed, message);
            }
        }
    }
}

/// What was found around the vehicles.
#[derive(Default)]
struct Found {
    list: bool,
    total: Option<u64>,
}

/// The document, or the page in its `data`.
struct Document<'d, 's, 'a> {
    taker: &'d mut Taker<'s, 'a>,
    found: &'d mut Found,
    is_page: bool,
}

impl<'de> DeserializeSeed<'de> for Document<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vehicles")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.found.list = true;
        // As text first: what is wrong within one vehicle is that one's alone.
        while let Some(raw) = items.next_element::<Box<RawValue>>()? {
            self.taker.take(&raw);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            let key = key.as_str();
            let is_list = LISTS.contains(&key) || (key == "data" && !self.is_page);
            if is_list && !self.found.list {
                let Self { taker, found, .. } = &mut self;
                members.next_value_seed(Document { taker, found, is_page: true })?;
            } else if key == "total" {
                // A page may have been saved without what was around it.
                let total = members.next_value::<Value>()?.as_u64();
                self.found.total = self.found.total.max(total);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// A member as the text of a cell. What has no text is left out.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Array(items) => {
            let mut out = String::new();
            for item in items.iter().filter_map(Value::as_str) {
                let _ = write!(out, "{item}{ITEM}");
            }
            out
        }
        Value::Null | Value::Object(_) => String::new(),
    }
}
