//! Reader for XML feeds: RSS, and any XML with an element for each vehicle. Values become cells by
//! the path of their element: `mileage.value`. Only XML's own entities are resolved, and document
//! types are rejected.

use std::cell::Cell;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::collect::RowSorter;
use super::columns::{ITEM_TEXT, RowCells};
use super::report::SkipReason;
use super::{FeedError, MAX_CELL, MAX_ROW};

/// Name of the format in a report.
const FORMAT: &str = "xml";

/// Element names of a vehicle in exports.
const ROWS: &[&str] =
    &["item", "entry", "listing", "vehicle", "car", "auto", "unit", "record", "row"];

/// Maximum nesting depth.
const MAX_DEPTH: usize = 32;

/// Maximum number of values of a vehicle.
const MAX_VALUES: usize = 2_000;

const HINT: &str = "give RSS with an <item> for each vehicle, or XML with a <listing> or <vehicle> for \
                    each";

/// Reads XML one vehicle at a time.
pub(super) fn read(text: impl Read, sorter: &mut RowSorter<'_>) -> Result<(), FeedError> {
    sorter.format(FORMAT, None);
    let since = Rc::new(Cell::new(0));
    let guarded = LimitedXmlReader { text, since: Rc::clone(&since) };
    let mut reader = Reader::from_reader(BufReader::new(guarded));
    let mut walk =
        XmlWalk { sorter, path: Vec::new(), row: None, cells: RowCells::new(), items: 0 };
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer).map_err(|error| {
            let message = format!("the XML cannot be read after item {}: {error}", walk.items);
            FeedError::new(message, HINT)
        })?;
        if matches!(event, Event::Eof) {
            return walk.end();
        }
        if walk.event(event)? {
            since.set(0);
        }
    }
}

/// A reader that limits the size of an item.
struct LimitedXmlReader<R> {
    text: R,
    /// Number of bytes since the last item ended.
    since: Rc<Cell<u64>>,
}

impl<R: Read> Read for LimitedXmlReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.since.get() > MAX_ROW {
            let message = format!("an item has more than {} MiB", MAX_ROW >> 20);
            return Err(io::Error::other(message));
        }
        let count = self.text.read(out)?;
        self.since.set(self.since.get() + count as u64);
        Ok(count)
    }
}

/// The element of a vehicle while it is read.
struct VehicleElement {
    /// Number of enclosing elements.
    depth: usize,
    /// Values in the order of the file.
    values: Vec<ElementValue>,
    /// Reason why it cannot be used.
    trouble: Option<(SkipReason, String)>,
}

/// A value of a vehicle.
struct ElementValue {
    /// Path of element names.
    name: String,
    text: String,
    /// Number in the attribute `sequence`, for ordering values of the same name.
    sequence: Option<u32>,
}

/// An open element.
struct OpenElement {
    name: String,
    /// Text so far.
    text: String,
    /// Number in its attribute `sequence`.
    sequence: Option<u32>,
}

struct XmlWalk<'s, 'a> {
    sorter: &'s mut RowSorter<'a>,
    /// Open elements.
    path: Vec<OpenElement>,
    row: Option<VehicleElement>,
    cells: RowCells,
    items: usize,
}

impl XmlWalk<'_, '_> {
    /// Handles an event. Returns true at the end of a vehicle.
    fn event(&mut self, event: Event<'_>) -> Result<bool, FeedError> {
        match event {
            Event::Start(start) => self.start(&start)?,
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::Eof => {}
            Event::End(_) => return Ok(self.element_ends()),
            Event::Text(text) => self.text(&text),
            Event::CData(text) => self.text(&text),
            Event::GeneralRef(reference) => {
                let text = resolve(&reference).ok_or_else(|| {
                    let message = format!("item {} has an entity of its own", self.items + 1);
                    FeedError::new(message, "write characters as they are, or as &#8364;")
                })?;
                self.text(&text);
            }
            Event::DocType(name) => {
                let is_html = name.to_ascii_lowercase().starts_with("html");
                let what = if is_html { "HTML, not a feed" } else { "XML with a document type" };
                return Err(FeedError::new(format!("the file is {what}"), HINT));
            }
        }
        Ok(false)
    }

    fn start(&mut self, start: &BytesStart<'_>) -> Result<(), FeedError> {
        if self.path.len() >= MAX_DEPTH {
            let message = format!("item {} has elements too deep", self.items + 1);
            return Err(FeedError::new(message, HINT));
        }
        let name = start.local_name().as_ref().to_lowercase();
        if self.path.is_empty() && name == "html" {
            return Err(FeedError::new("the file is HTML, not a feed", HINT));
        }
        // Within a vehicle such a name belongs to a value.
        if self.row.is_none() && ROWS.contains(&name.as_str()) {
            let row = VehicleElement { depth: self.path.len(), values: Vec::new(), trouble: None };
            self.row = Some(row);
        }
        let sequence = self.row.as_ref().and_then(|_| sequence(start));
        self.path.push(OpenElement { name, text: String::new(), sequence });
        Ok(())
    }

    fn text(&mut self, text: &str) {
        // Text outside the vehicles is ignored, to save memory.
        let Some(row) = &mut self.row else { return };
        let Some(OpenElement { text: so_far, .. }) = self.path.last_mut() else { return };
        if so_far.len() + text.len() > MAX_CELL {
            let message = format!("a value has more than {} KiB", MAX_CELL >> 10);
            row.trouble.get_or_insert((SkipReason::OversizedCell, message));
            return;
        }
        so_far.push_str(text);
    }

    fn element_ends(&mut self) -> bool {
        let Some(OpenElement { name, text, sequence }) = self.path.pop() else { return false };
        let Some(row) = &mut self.row else { return false };
        if self.path.len() == row.depth {
            self.take();
            return true;
        }
        let text = text.trim();
        if text.is_empty() {
            return false;
        }
        if row.values.len() == MAX_VALUES {
            let message = format!("it has more than {MAX_VALUES} values");
            row.trouble.get_or_insert((SkipReason::OversizedCell, message));
            return false;
        }
        // The path leaves out the vehicle's own element, whose name differs between exports.
        let around = self.path.get(row.depth + 1..).unwrap_or_default();
        let mut names: Vec<&str> = around.iter().map(|open| open.name.as_str()).collect();
        names.push(&name);
        let text = text.to_owned();
        row.values.push(ElementValue { name: names.join("."), text, sequence });
        false
    }

    /// Takes the vehicle that has just ended.
    fn take(&mut self) {
        self.items += 1;
        let Some(row) = self.row.take() else { return };
        if let Some((reason, message)) = row.trouble {
            return self.sorter.skip(self.items, reason, message);
        }
        let mut values: Vec<(&str, Vec<&ElementValue>)> = Vec::new();
        for value in &row.values {
            match values.iter_mut().find(|(other, _)| *other == value.name) {
                Some((_, of_name)) => of_name.push(value),
                None => values.push((&value.name, vec![value])),
            }
        }
        for (_, of_name) in &mut values {
            // Values without a number keep their order, after the others.
            of_name.sort_by_key(|value| value.sequence.unwrap_or(u32::MAX));
        }
        // XML has no heading: the element names of the first vehicle determine the format.
        if self.items == 1 {
            self.sorter.guess(values.iter().map(|(name, _)| *name));
        }
        self.cells.clear();
        for (name, of_name) in &values {
            let heading = self.sorter.heading(name);
            match of_name.as_slice() {
                // Repeated elements form a list, whatever characters they contain.
                [_, _, ..] if heading.keeps_all_values() => {
                    let items = of_name.iter().flat_map(|value| [value.text.as_str(), ITEM_TEXT]);
                    self.cells.fill(&heading, &items.collect::<String>());
                }
                // The first of several values counts when the field takes one.
                [first, ..] => self.cells.fill(&heading, &first.text),
                [] => {}
            }
        }
        self.sorter.take(self.items, &mut self.cells);
    }

    fn end(self) -> Result<(), FeedError> {
        if !self.path.is_empty() {
            let seen = format!("the file ends in the middle of the XML, after item {}", self.items);
            // Without any vehicle the file is unreadable, not truncated.
            if !self.sorter.has_listings() {
                return Err(FeedError::new(seen, HINT));
            }
            self.sorter.truncated(seen);
        } else if self.items == 0 {
            return Err(FeedError::new("the XML has no vehicles", HINT));
        }
        Ok(())
    }
}

/// Returns the number in an element's attribute `sequence`, by which CarGurus orders photos.
fn sequence(start: &BytesStart<'_>) -> Option<u32> {
    let attributes = start.attributes().flatten();
    let found = attributes.into_iter().find(|one| one.key.as_ref() == "sequence")?;
    found.value.trim().parse().ok()
}

/// Resolves a character reference, or one of XML's five entities.
fn resolve(reference: &BytesRef<'_>) -> Option<String> {
    if reference.is_char_ref() {
        return reference.resolve_char_ref().ok().flatten().map(String::from);
    }
    quick_xml::escape::resolve_xml_entity(reference).map(str::to_owned)
}

#[cfg(test)]
mod tests;
