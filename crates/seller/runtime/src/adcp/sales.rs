//! Lists of what a publisher has sold: the columns of tables and files, and their formats. Command
//! line and console share it.

use jiff::Timestamp;
use tradepost_client::text::escape_json;
use tradepost_document::json::Value;
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::staff::list::{self, Filter, Listing, Page, Row, Subject};
use tradepost_publisher::staff::show::{self, NotShown};
use tradepost_publisher::staff::{DecisionError, StaffView};
use tradepost_publisher::store::PublisherStore;

use crate::spreadsheet::guarded;

tradepost_document::words! {
    /// Format of rows for other programs.
    pub enum Format {
        /// A line of JSON for each row.
        Jsonl = "jsonl",
        /// RFC 4180, with a header; safe to open in a spreadsheet.
        Csv = "csv",
    }
}

/// Lists a page of the requested length, unless the list ends.
///
/// # Errors
/// Fails when the filter is wrong, or the store fails.
pub fn list_full(
    publisher_store: &dyn PublisherStore,
    publisher: &Publisher,
    subject: Subject,
    filter: &Filter,
    page: Page,
    now: Timestamp,
) -> Result<Listing, DecisionError> {
    let mut full = Listing::default();
    let mut after = page.after;
    loop {
        let part = Page { after, limit: page.limit - full.rows.len() };
        // Each part is a read of its own, so that a long search blocks no one else.
        let listing = publisher_store.look(|reader| {
            list::list(StaffView { publisher, reader, now }, subject, filter, part)
        })?;
        full.rows.extend(listing.rows);
        full.next = listing.next;
        if full.next.is_none() || full.rows.len() >= page.limit {
            return Ok(full);
        }
        after = full.next;
    }
}

/// Returns all details of one record.
///
/// # Errors
/// Fails when there is none, or several, or the store fails.
pub fn show(
    publisher_store: &dyn PublisherStore,
    publisher: &Publisher,
    subject: Subject,
    id: &str,
    account: Option<&str>,
    now: Timestamp,
) -> Result<Value, NotShown> {
    publisher_store
        .look(|reader| show::show(StaffView { publisher, reader, now }, subject, id, account))
}

/// Returns the members of a row that are columns of a table, in this order.
#[must_use]
pub const fn table_columns(subject: Subject) -> &'static [&'static str] {
    match subject {
        Subject::Buys => &[
            "id",
            "state",
            "account",
            "agent",
            "products",
            "budget",
            "spent",
            "currency",
            "start_time",
            "end_time",
            "created_at",
        ],
        Subject::Packages => &[
            "id",
            "buy",
            "state",
            "agent",
            "product",
            "budget",
            "currency",
            "creatives",
            "start_time",
            "end_time",
            "pace",
        ],
        Subject::Creatives => &["id", "state", "account", "agent", "name", "format", "created_at"],
        Subject::Proposals => &[
            "id",
            "state",
            "account",
            "agent",
            "name",
            "products",
            "budget",
            "currency",
            "expires_at",
        ],
        Subject::Accounts => &["id", "state", "agent", "name", "billing", "sandbox", "created_at"],
        Subject::Tasks => &[
            "id",
            "state",
            "account",
            "asked_by",
            "budget",
            "currency",
            "waits_for",
            "decided",
            "decided_by",
            "media_buy",
            "created_at",
        ],
        Subject::Delivery => &[
            "id",
            "state",
            "account",
            "agent",
            "budget",
            "spent",
            "currency",
            "impressions",
            "clicks",
            "spend",
            "pace",
            "last_report_at",
        ],
    }
}

/// Returns the members of a row that are columns of a file, in this order.
#[must_use]
pub const fn file_columns(subject: Subject) -> &'static [&'static str] {
    match subject {
        Subject::Buys => &[
            "publisher",
            "id",
            "state",
            "account",
            "agent",
            "products",
            "currency",
            "budget",
            "spent",
            "start_time",
            "end_time",
            "proposal",
            "task",
            "confirmed_at",
            "revision",
            "created_at",
            "updated_at",
        ],
        Subject::Packages => &[
            "publisher",
            "id",
            "buy",
            "state",
            "account",
            "agent",
            "product",
            "pricing_option",
            "currency",
            "budget",
            "start_time",
            "end_time",
            "paused",
            "creatives",
            "targeting",
            "units",
            "expected_units",
            "delivered_units",
            "expected_spend",
            "pace",
            "created_at",
            "updated_at",
        ],
        Subject::Creatives => &[
            "publisher",
            "id",
            "state",
            "account",
            "agent",
            "name",
            "format",
            "reason",
            "review_ends_at",
            "created_at",
            "updated_at",
        ],
        Subject::Proposals => &[
            "publisher",
            "id",
            "state",
            "account",
            "agent",
            "name",
            "products",
            "currency",
            "budget",
            "expires_at",
            "media_buy",
            "created_at",
            "updated_at",
        ],
        Subject::Accounts => &[
            "publisher",
            "id",
            "state",
            "agent",
            "name",
            "brand",
            "operator",
            "billing",
            "sandbox",
            "created_at",
            "updated_at",
        ],
        Subject::Tasks => &[
            "publisher",
            "id",
            "state",
            "account",
            "agent",
            "asked_by",
            "type",
            "products",
            "currency",
            "budget",
            "start_time",
            "end_time",
            "waits_for",
            "decides_at",
            "decided",
            "decided_at",
            "decider",
            "decided_by",
            "reason",
            "media_buy",
            "created_at",
            "updated_at",
        ],
        Subject::Delivery => &[
            "publisher",
            "id",
            "state",
            "account",
            "agent",
            "currency",
            "budget",
            "spent",
            "start_time",
            "end_time",
            "impressions",
            "clicks",
            "spend",
            "views",
            "completed_views",
            "conversions",
            "conversion_value",
            "units",
            "expected_units",
            "delivered_units",
            "expected_spend",
            "pace",
            "reports",
            "last_report_at",
            "final_reports",
            "pushed_reports",
        ],
    }
}

/// Converts a value to text: items of a list with spaces between them, and objects as JSON.
#[must_use]
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(" "),
        Value::Object(_) => value.to_string(),
    }
}

/// Columns of a file with counted inventory, in this order.
pub const INVENTORY_COLUMNS: &[&str] = &[
    "publisher",
    "product",
    "pool",
    "unit",
    "date",
    "capacity",
    "booked",
    "held",
    "left",
    "oversold",
    "delivered",
    "sandbox",
];

/// Encodes rows for other programs; a header precedes them when the format has one and
/// `with_header` is set.
///
/// # Errors
/// Fails when a row cannot be encoded.
pub fn encode(
    format: Format,
    subject: Subject,
    rows: &[Row],
    with_header: bool,
) -> Result<Vec<u8>, csv::Error> {
    let documents = rows.iter().map(|row| &row.document);
    encode_documents(format, file_columns(subject), documents, with_header)
}

/// Does the same with documents and the members that are columns.
///
/// # Errors
/// Fails when a document cannot be encoded.
pub fn encode_documents<'d>(
    format: Format,
    columns: &[&str],
    documents: impl Iterator<Item = &'d Value>,
    with_header: bool,
) -> Result<Vec<u8>, csv::Error> {
    match format {
        Format::Jsonl => {
            let lines =
                documents.map(|document| format!("{}\n", escape_json(&document.to_string())));
            Ok(lines.collect::<String>().into_bytes())
        }
        Format::Csv => {
            let mut writer =
                csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
            if with_header {
                writer.write_record(columns)?;
            }
            for document in documents {
                let cells = columns.iter().map(|name| document.get(*name).map(text));
                writer.write_record(cells.map(|text| guarded(&text.unwrap_or_default())))?;
            }
            writer.into_inner().map_err(|error| error.into_error().into())
        }
    }
}

#[cfg(test)]
mod tests {
    use tradepost_document::json::json;

    use super::*;

    #[test]
    fn cells_of_files_calculate_nothing() {
        let document = json!({"id": "=1+1", "name": "+cmd", "brand": {"domain": "a.example"}});
        let row = Row { cursor: "0.1".parse().unwrap(), document };
        let file = encode(Format::Csv, Subject::Accounts, &[row], true).unwrap();
        let file = String::from_utf8(file).unwrap();
        let line = file.lines().nth(1).unwrap();
        assert_eq!(line, r#",'=1+1,,,'+cmd,"{""domain"":""a.example""}",,,,,"#);
    }
}
