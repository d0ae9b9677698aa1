//! Reader for JSON feeds: an array of vehicles, or an object that contains one, such as an
//! `inventory.search` response of AAP, an `ItemList` of schema.org or a search response.

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use tradepost_aap::Skill;
use tradepost_document::json;
use tradepost_document::json::RawValue;
use tradepost_document::json::Value;

use super::collect::RowSorter;
use super::columns::RowCells;
use super::preset::Preset;
use super::report::{RowWarning, SkipReason};
use super::{FeedError, MAX_CELL};
use members::{JsonMember, is_something_else, members, vehicle_of};

mod members;

/// Name of the format in a report.
const FORMAT: &str = "json";

/// Name of AAP's format in a report.
const AAP_FORMAT: &str = "aap-json";

/// Member names of the list of vehicles in exports.
const LISTS: &[&str] =
    &["vehicles", "inventory", "listings", "results", "cars", "items", "itemListElement", "@graph"];

/// Members that may wrap the object with the list.
const WRAPPINGS: &[&str] = &["data", "mainEntity"];

/// Member names of the total number of vehicles, of which the list may be one page.
const TOTALS: &[&str] = &["total", "num_found", "numberOfItems"];

const HINT: &str = "give an array of vehicles, {\"vehicles\": [...]}, an ItemList of schema.org, or the \
                    payload of an inventory.search response";

/// Returns true for an `inventory.search` response of AAP, recognised by its member `type` at any
/// position. Only then is `price` what the customer pays; in other JSON it is a price as in tables.
pub(super) fn is_aap_response(text: impl Read) -> bool {
    let mut reader = json::Deserializer::from_reader(BufReader::new(text));
    let mut kind = None;
    // The parser stops with an error once the type is known. Invalid JSON is reported later.
    let _ = TypeMember { kind: &mut kind }.deserialize(&mut reader);
    kind.as_deref() == Some(Skill::InventorySearch.response_type())
}

/// Reads JSON one vehicle at a time.
pub(super) fn read(
    text: impl Read,
    is_aap: bool,
    sorter: &mut RowSorter<'_>,
) -> Result<(), FeedError> {
    sorter.format(if is_aap { AAP_FORMAT } else { FORMAT }, None);
    if is_aap {
        sorter.assume(Preset::AapJson);
    }
    // A guess from the headings sets a mapping, too, so the caller's is asked for before.
    let is_warned = is_aap || sorter.mapping.is_some();
    let mut taker =
        VehicleVisitor { sorter, cells: RowCells::new(), items: 0, is_known: is_aap, is_warned };
    let mut found = DocumentFindings::default();
    let mut reader = json::Deserializer::from_reader(BufReader::new(text));
    let whole = DocumentVisitor { taker: &mut taker, found: &mut found, is_wrapped: false };
    let done = whole.deserialize(&mut reader).and_then(|()| reader.end());
    let items = taker.items;
    if let Err(error) = done {
        let place = format!("line {}, column {}", error.line(), error.column());
        // Vehicles before the end are kept, and the report says that the file is incomplete.
        if error.is_eof() && sorter.has_listings() {
            sorter.truncated(format!("the file ends in the middle of the JSON, at {place}"));
            return Ok(());
        }
        return Err(FeedError::new(format!("the JSON cannot be read at {place}"), HINT));
    }
    match found.total {
        _ if !found.list => Err(FeedError::new("the JSON has no vehicles", HINT)),
        // A feed is the whole inventory: importing one page would remove all other vehicles.
        Some(total) if total > items as u64 => Err(FeedError::new(
            format!("the response holds {items} of {total} vehicles: it is one page"),
            "put the vehicles of every page into one array",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Passes vehicles to the sorter as they are read.
struct VehicleVisitor<'s, 'a> {
    sorter: &'s mut RowSorter<'a>,
    cells: RowCells,
    items: usize,
    /// True when the format has been determined.
    is_known: bool,
    /// True when the file needs no warning about a missing type of AAP any more.
    is_warned: bool,
}

impl VehicleVisitor<'_, '_> {
    fn take(&mut self, raw: &RawValue) {
        self.items += 1;
        let item = self.items;
        if raw.get().len() > 4 * MAX_CELL {
            let message = format!("the vehicle has more than {} KiB", MAX_CELL >> 8);
            return self.sorter.skip(item, SkipReason::OversizedCell, message);
        }
        match json::read(raw.get()) {
            // A graph of schema.org has the dealer and the page beside the vehicles.
            Ok(Value::Object(object)) if is_something_else(vehicle_of(&object)) => {}
            Ok(Value::Object(object)) => match members(vehicle_of(&object)) {
                Ok(members) => self.take_members(item, &members),
                Err(message) => self.sorter.skip(item, SkipReason::OversizedCell, message),
            },
            Ok(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_))
            | Ok(Value::Array(_)) => {
                let message = "the item is not an object".to_owned();
                self.sorter.skip(item, SkipReason::Malformed, message);
            }
            Err(problems) => {
                let wrong = problems.into_iter().map(|wrong| {
                    let place = wrong.pointer.trim_start_matches('/').to_owned();
                    format!("{place} {}", wrong.message)
                });
                let message = wrong.collect::<Vec<_>>().join("; ");
                self.sorter.skip(item, SkipReason::Malformed, message);
            }
        }
    }

    fn take_members(&mut self, item: usize, members: &[JsonMember<'_>]) {
        // JSON has no heading: the member names of the first vehicle determine the format.
        if !std::mem::replace(&mut self.is_known, true) {
            let has = |name: &&str| members.iter().any(|member| member.path == **name);
            if OF_AAP.iter().all(has) {
                self.warn_of_untyped_aap();
            }
            self.sorter.guess(members.iter().map(|member| member.path.as_ref()));
        }
        self.cells.clear();
        for member in members {
            let heading = self.sorter.heading(&member.path);
            self.cells.fill(&heading, member.text(heading.keeps_all_values()));
        }
        self.sorter.take(item, &mut self.cells);
    }
}

/// Members that together occur only in AAP, where `price` includes the fees.
const OF_AAP: [&str; 3] = ["vehicle_id", "list_price", "price"];

impl VehicleVisitor<'_, '_> {
    /// Warns once about vehicles of AAP in a file without AAP's type at its top.
    fn warn_of_untyped_aap(&mut self) {
        if !std::mem::replace(&mut self.is_warned, true) {
            let message = "if their price has the fees in it, name --preset aap-json, or keep the type \
                           \"inventory.search.response\" at the top of the file";
            self.sorter.warn_of_file(RowWarning::UntypedAap, message);
        }
    }
}

/// Findings outside the vehicles.
#[derive(Default)]
struct DocumentFindings {
    list: bool,
    total: Option<u64>,
}

/// Visitor for the document, or for the object inside a wrapping.
struct DocumentVisitor<'d, 's, 'a> {
    taker: &'d mut VehicleVisitor<'s, 'a>,
    found: &'d mut DocumentFindings,
    is_wrapped: bool,
}

impl<'de> DeserializeSeed<'de> for DocumentVisitor<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DocumentVisitor<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vehicles")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.found.list = true;
        // Parsed as raw text first, so that an error within one vehicle affects only that vehicle.
        while let Some(raw) = items.next_element::<Box<RawValue>>()? {
            self.taker.take(&raw);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            let key = key.as_str();
            let is_list = LISTS.contains(&key) || (WRAPPINGS.contains(&key) && !self.is_wrapped);
            if is_list && !self.found.list {
                let Self { taker, found, .. } = &mut self;
                members.next_value_seed(DocumentVisitor { taker, found, is_wrapped: true })?;
            } else if TOTALS.contains(&key) {
                // A page may have been saved without its surrounding members.
                let total = members.next_value::<Value>()?.as_u64();
                self.found.total = self.found.total.max(total);
            } else if self.is_wrapped && key == "type" {
                // The type stands one level too deep to count.
                let kind = members.next_value::<Value>()?;
                if kind.as_str() == Some(Skill::InventorySearch.response_type()) {
                    self.taker.warn_of_untyped_aap();
                }
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    // A member named like a list may be a number or a string.

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Visitor that finds the member `type` of a document.
struct TypeMember<'k> {
    kind: &'k mut Option<String>,
}

impl<'de> DeserializeSeed<'de> for TypeMember<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TypeMember<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(key) = members.next_key::<String>()? {
            if key == "type" {
                *self.kind = members.next_value::<Value>()?.as_str().map(str::to_owned);
                return Err(A::Error::custom("nothing else is looked for"));
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
}
