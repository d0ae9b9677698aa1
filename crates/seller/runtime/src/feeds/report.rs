//! Reports of runs, read back for people from the JSON that is stored.

use tradepost_dealer::import::{RowWarning, SkipReason};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_store::FeedRun;

/// The report of a run; all fields are empty when the feed was not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Numbers of rows by result.
    pub rows: Vec<(&'static str, u64)>,
    /// Numbers of units by change of the inventory, made or planned.
    pub changes: Vec<(&'static str, u64)>,
    /// Unit in which skipped rows are counted: `line` or `item`.
    pub place: &'static str,
    /// The first skipped rows.
    pub skips: Vec<ReportSkip>,
    /// Number of skipped rows.
    pub skipped: u64,
    /// Warnings about accepted rows, by kind.
    pub warnings: Vec<ReportCount>,
    /// Objections to the file as a whole.
    pub doubts: Vec<String>,
    /// Column headings that are not recognised.
    pub ignored_columns: Vec<String>,
}

/// A skipped row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportSkip {
    /// Number of the line or item.
    pub line: u64,
    /// Reason code.
    pub reason: String,
    /// Reason in a few words.
    pub summary: String,
    /// Reason for people.
    pub message: String,
}

/// Warnings of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportCount {
    /// Code of the kind.
    pub kind: String,
    /// Kind in a few words.
    pub summary: String,
    /// Number of warnings.
    pub count: u64,
    /// The first warnings: line or item, and text.
    pub examples: Vec<(Option<u64>, String)>,
}

const ROWS: [&str; 4] = ["rows", "accepted", "sold", "skipped"];
const CHANGES: [&str; 5] = ["before", "added", "changed", "unchanged", "removed"];

impl RunReport {
    /// Reads the report of a run.
    #[must_use]
    pub fn from_run(run: &FeedRun) -> Self {
        let whole: Value = tradepost_document::json::from_str(&run.report).unwrap_or_default();
        let Some(report) = whole.get("report") else { return Self::default() };
        let format = text(report, "format");
        Self {
            rows: numbers(Some(report), &ROWS),
            changes: numbers(whole.get("inventory"), &CHANGES),
            place: if format == "table" { "line" } else { "item" },
            skips: list(report, "skips").map(skip).collect(),
            skipped: number(report, "skipped").unwrap_or_default(),
            warnings: list(report, "warnings").map(count).collect(),
            doubts: texts(report, "doubts"),
            ignored_columns: texts(report, "ignored_columns"),
        }
    }
}

fn skip(value: &Value) -> ReportSkip {
    let reason = text(value, "reason");
    // Another version may have written the run: an unknown reason is shown by its code.
    let known = SkipReason::from_name(&reason);
    ReportSkip {
        line: number(value, "line").unwrap_or_default(),
        summary: known.map_or(reason.as_str(), |known| known.summary()).to_owned(),
        message: text(value, "message"),
        reason,
    }
}

fn count(value: &Value) -> ReportCount {
    let kind = text(value, "kind");
    let known = RowWarning::from_name(&kind);
    let example = |value: &Value| (number(value, "line"), text(value, "message"));
    ReportCount {
        summary: known.map_or(kind.as_str(), |known| known.summary()).to_owned(),
        count: number(value, "count").unwrap_or_default(),
        examples: list(value, "examples").map(example).collect(),
        kind,
    }
}

fn numbers(value: Option<&Value>, names: &[&'static str]) -> Vec<(&'static str, u64)> {
    let found = |name: &&'static str| Some((*name, number(value?, name)?));
    names.iter().filter_map(found).collect()
}

fn number(value: &Value, name: &str) -> Option<u64> {
    value.get(name).and_then(Value::as_u64)
}

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn list<'v>(value: &'v Value, name: &str) -> impl Iterator<Item = &'v Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn texts(value: &Value, name: &str) -> Vec<String> {
    list(value, name).filter_map(Value::as_str).map(str::to_owned).collect()
}
