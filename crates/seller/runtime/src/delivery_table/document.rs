//! Delivery as a JSON document: `{"rows": [...]}`, each row with the members of [`ReportField`].

use jiff::civil::Date;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::is_date;
use tradepost_document::json::{self, ReadLimits, Value};
use tradepost_document::parse::{boolean, integer, of_text, read_object, text_of, wrong_type};
use tradepost_document::problem::{DocumentPlace, Problems};
use tradepost_publisher::money::MoneyAmount;
use tradepost_publisher::staff::reported::{
    MAX_COUNT, MAX_ROWS, ReportField, ReportedDay, RowProblem,
};

use super::DeliveryTable;

/// Maximum length of an id in characters.
const MAX_ID: usize = 255;

/// Limits of a document.
const LIMITS: ReadLimits =
    ReadLimits { depth: json::MAX_DEPTH, containers: 100_000, reserved: false };

/// Reads a file with a document.
///
/// # Errors
/// Fails when it is no JSON that can be read in one way, or as [`read`] does.
pub fn read_file(bytes: &[u8]) -> Result<DeliveryTable, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())?;
    let read = json::document(text, LIMITS);
    let (value, problems) = read.map_err(|_| "the file is no JSON that can be read".to_owned())?;
    if !problems.is_empty() {
        return Err("the file has members twice, and can be read in two ways".to_owned());
    }
    self::read(&value)
}

/// Reads a document. Its rows are counted from 1, and it has no columns.
///
/// # Errors
/// Fails when it is no object with a list of rows, or has too many. Problems of rows are in the result.
pub fn read(document: &Value) -> Result<DeliveryTable, String> {
    let members = document.as_object();
    let rows = members.and_then(|members| members.get("rows")?.as_array());
    let (Some(members), Some(rows)) = (members, rows) else {
        return Err("the body has to be an object with a list rows".to_owned());
    };
    if members.len() > 1 {
        return Err("the body has one member, rows".to_owned());
    }
    if rows.len() > MAX_ROWS {
        return Err(format!("there are {} rows, and at most {MAX_ROWS} are taken", rows.len()));
    }
    let mut read = DeliveryTable::default();
    for (place, row) in rows.iter().enumerate() {
        let number = place + 1;
        let mut problems = Problems::new();
        let day = day(number, row, &mut problems);
        read.problems.extend(problems.listed().iter().map(|problem| {
            let name = problem.pointer.trim_start_matches('/');
            RowProblem {
                row: number,
                field: ReportField::from_name(name),
                message: problem.message.clone(),
                hint: "correct the row, and send all of them again".to_owned(),
            }
        }));
        read.days.extend(day.filter(|_| problems.is_empty()));
    }
    Ok(read)
}

fn day(number: usize, row: &Value, problems: &mut Problems) -> Option<ReportedDay> {
    let at = DocumentPlace::Root;
    let id = |value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems| {
        text_of(value, at, problems, 1, Some(MAX_ID))
    };
    let count = |value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems| {
        let count = integer(value, at, problems, 0, i64::try_from(MAX_COUNT).ok())?;
        u64::try_from(count).ok()
    };
    read_object!(row, &at, problems, closed {
        optional "media_buy_id" => media_buy_id: id,
        optional "package_id" => package_id: id,
        optional "line_item_id" => line_item_id: id,
        required "date" => day: date,
        required "impressions" => impressions: count,
        optional "clicks" => clicks: count,
        optional "completed_views" => completed_views: count,
        required "spend" => spend: amount,
        optional "currency" => currency: id,
        optional "final" => is_final: boolean,
        optional "correction" => is_correction: boolean,
    });
    Some(ReportedDay {
        row: number,
        media_buy_id,
        package_id,
        line_item_id,
        day: day?,
        impressions: impressions?,
        clicks,
        completed_views,
        spend: spend?,
        currency,
        is_final: is_final.unwrap_or_default(),
        is_correction: is_correction.unwrap_or_default(),
    })
}

fn date(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<Date> {
    let read = |text: &str| text.parse().ok().filter(|_| is_date(text));
    of_text((value, at, problems), "must be a date such as 2026-05-03", read)
}

fn amount(value: &Value, at: &DocumentPlace<'_>, problems: &mut Problems) -> Option<MoneyAmount> {
    let amount = value.as_number().and_then(MoneyAmount::from_number);
    if amount.is_none() {
        wrong_type(at, problems, "number");
    }
    amount
}
