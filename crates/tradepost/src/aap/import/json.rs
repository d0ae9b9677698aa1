//! AAP JSON: an array of vehicles, an object with `vehicles`, or an `inventory.search` response.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::collect::Collector;
use super::columns::{Cells, Column, ITEM};
use super::map::Source;
use super::report::Reason;
use super::{MAX_CELL, Unreadable};

/// The format's name in a report.
pub(super) const FORMAT: &str = "aap-json";

/// How often progress is told, in items.
const TELL_EVERY: usize = 256;

/// What may be around the vehicles. They stay text until it is their turn, so that memory is
/// bounded by the file and one vehicle.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    vehicles: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    data: Option<Page<'a>>,
}

#[derive(Deserialize)]
struct Page<'a> {
    #[serde(borrow)]
    vehicles: Vec<&'a RawValue>,
    total: Option<usize>,
}

/// Reads AAP JSON.
pub(super) fn read(
    text: &str,
    collector: &mut Collector<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(), Unreadable> {
    collector.report.format = FORMAT;
    let vehicles = vehicles(text)?;
    let mut cells = Cells::new();
    let mut done = 0;
    for (index, raw) in vehicles.iter().enumerate() {
        done += raw.get().len();
        if index % TELL_EVERY == 0 {
            progress(done.min(text.len()), text.len());
        }
        let item = index + 1;
        if raw.get().len() > 4 * MAX_CELL {
            let message = format!("the vehicle has more than {} KiB", MAX_CELL >> 8);
            collector.skip(item, Reason::OversizedCell, message);
            continue;
        }
        match serde_json::from_str::<Value>(raw.get()) {
            Ok(Value::Object(members)) => {
                cells.clear();
                for (key, value) in &members {
                    match Column::named(key) {
                        Some(column) => cells.fill(column, &plain(value)),
                        None if value.is_null() || super::columns::is_silent(key) => {}
                        None => collector.report.ignore(key),
                    }
                }
                collector.take(item, &cells, Source::Aap);
            }
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))
            | Ok(Value::Array(_))
            | Err(_) => {
                let message = "the item is not an object".to_owned();
                collector.skip(item, Reason::Malformed, message);
            }
        }
    }
    progress(text.len(), text.len());
    Ok(())
}

fn vehicles(text: &str) -> Result<Vec<&RawValue>, Unreadable> {
    const HINT: &str = "give an array of vehicles, {\"vehicles\": [...]}, or the payload of an \
                        inventory.search response";
    let broken = |error: serde_json::Error| {
        let message =
            format!("the JSON cannot be read at line {}, column {}", error.line(), error.column());
        Unreadable::new(message, HINT)
    };
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(broken);
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(broken)?;
    if let Some(vehicles) = envelope.vehicles {
        return Ok(vehicles);
    }
    let Some(page) = envelope.data else {
        return Err(Unreadable::new("the JSON has no vehicles", HINT));
    };
    let count = page.vehicles.len();
    match page.total {
        // A feed is the whole inventory: to import one page would be to remove all the others.
        Some(total) if total > count => Err(Unreadable::new(
            format!("the response holds {count} of {total} vehicles: it is one page"),
            "put the vehicles of every page into one array",
        )),
        Some(_) | None => Ok(page.vehicles),
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
