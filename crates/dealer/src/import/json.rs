//! JSON: an array of vehicles, or an object that has one, such as an `inventory.search` response of AAP,
//! an `ItemList` of schema.org or the answer of a search for vehicles.

use std::fmt;
use std::io::{BufReader, Read};

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use tradepost_wire::aap::Skill;
use tradepost_wire::json;
use tradepost_wire::json::RawValue;
use tradepost_wire::json::Value;

use super::collect::Sorter;
use super::columns::Cells;
use super::preset::Preset;
use super::report::{Reason, Warning};
use super::{MAX_CELL, Unreadable};
use members::{Member, is_something_else, members, vehicle_of};

mod members;

/// The format's name in a report.
const FORMAT: &str = "json";

/// The name of AAP's format in a report.
const AAP_FORMAT: &str = "aap-json";

/// What exports call the list of vehicles.
const LISTS: &[&str] =
    &["vehicles", "inventory", "listings", "results", "cars", "items", "itemListElement", "@graph"];

/// What stands around the object that has the list.
const WRAPPINGS: &[&str] = &["data", "mainEntity"];

/// What exports call the number of all vehicles, of which the list may be one page.
const TOTALS: &[&str] = &["total", "num_found", "numberOfItems"];

const HINT: &str = "give an array of vehicles, {\"vehicles\": [...]}, an ItemList of schema.org, or the \
                    payload of an inventory.search response";

/// Whether the text is an `inventory.search` response of AAP, which its member `type` says wherever it
/// stands. Only then is `price` what the customer pays; in any other JSON it is a price as in tables.
pub(super) fn is_aap_response(text: impl Read) -> bool {
    let mut reader = json::Deserializer::from_reader(BufReader::new(text));
    let mut kind = None;
    // It fails where the type is known, and where the JSON cannot be read, which is told later.
    let _ = TypeMember { kind: &mut kind }.deserialize(&mut reader);
    kind.as_deref() == Some(Skill::InventorySearch.response_type())
}

/// Reads JSON, one vehicle at a time.
pub(super) fn read(
    text: impl Read,
    is_aap: bool,
    sorter: &mut Sorter<'_>,
) -> Result<(), Unreadable> {
    sorter.format(if is_aap { AAP_FORMAT } else { FORMAT }, None);
    if is_aap {
        sorter.assume(Preset::AapJson);
    }
    let mut taker = Taker { sorter, cells: Cells::new(), items: 0, is_known: is_aap };
    let mut found = Found::default();
    let mut reader = json::Deserializer::from_reader(BufReader::new(text));
    let whole = Document { taker: &mut taker, found: &mut found, is_wrapped: false };
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
    /// Whether it is known which format it is.
    is_known: bool,
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
            // A graph of schema.org has the dealer and the page beside the vehicles.
            Ok(Value::Object(object)) if is_something_else(vehicle_of(&object)) => {}
            Ok(Value::Object(object)) => match members(vehicle_of(&object)) {
                Ok(members) => self.take_members(item, &members),
                Err(message) => self.sorter.skip(item, Reason::OversizedCell, message),
            },
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

    fn take_members(&mut self, item: usize, members: &[Member<'_>]) {
        // JSON has no heading: the names in the first vehicle tell which format it is.
        if !std::mem::replace(&mut self.is_known, true) {
            self.warn_of_untyped_aap(members);
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

/// The members of AAP that no export has by itself, where one of the two is the price with fees.
const OF_AAP: [&str; 3] = ["vehicle_id", "list_price", "price"];

impl Taker<'_, '_> {
    /// Tells whoever saved vehicles of AAP without what says that they are.
    fn warn_of_untyped_aap(&mut self, members: &[Member<'_>]) {
        let has = |name: &&str| members.iter().any(|member| member.path == **name);
        if self.sorter.mapping.is_none() && OF_AAP.iter().all(has) {
            let message = "if their price has the fees in it, name --preset aap-json, or keep the type \
                           \"inventory.search.response\" in the file";
            self.sorter.warn_of_file(Warning::UntypedAap, message);
        }
    }
}

/// What was found around the vehicles.
#[derive(Default)]
struct Found {
    list: bool,
    total: Option<u64>,
}

/// The document, or what it is wrapped in.
struct Document<'d, 's, 'a> {
    taker: &'d mut Taker<'s, 'a>,
    found: &'d mut Found,
    is_wrapped: bool,
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
            let is_list = LISTS.contains(&key) || (WRAPPINGS.contains(&key) && !self.is_wrapped);
            if is_list && !self.found.list {
                let Self { taker, found, .. } = &mut self;
                members.next_value_seed(Document { taker, found, is_wrapped: true })?;
            } else if TOTALS.contains(&key) {
                // A page may have been saved without what was around it.
                let total = members.next_value::<Value>()?.as_u64();
                self.found.total = self.found.total.max(total);
            } else {
                members.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    // A member that is called like a list may be a number or a name.

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

/// The member `type` of a document.
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
