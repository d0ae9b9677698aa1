//! Page on which people report delivery with a file, and the file to begin with.

use askama::Template;
use axum::http::StatusCode;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use tradepost_admin::delivery::{DeliveryRefusal, ReportDelivery, report_delivery};
use tradepost_admin::{AdminError, AdminOperation};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_publisher::buy::days::PackageDays;
use tradepost_publisher::staff::DecisionSubject;
use tradepost_publisher::staff::list::{Filter, Page, Subject};
use tradepost_publisher::staff::reported::{
    DAYS_AFTER_FLIGHT, MAX_ROWS, ReportField, ReportedBuy, RowProblem,
};
use tradepost_runtime::adcp::sales;
use tradepost_runtime::adcp::seller::PublisherAgent;
use tradepost_runtime::delivery_table::{
    self, DeliveryTable, FieldColumn, HeadingChoice, MAX_LISTED,
};
use tradepost_runtime::spreadsheet::guarded;
use tradepost_runtime::text_table::ColumnMapping;
use tradepost_server::fault::InternalError;

use super::super::{Answer, Console, ConsoleReply, PageError, PageFrame, Visitor, link, thousands};
use super::{Fields, amount, show_link, unlisted};

/// Number of packages, the newest first, among which the file to begin with finds those that deliver.
const MAX_PACKAGES: usize = 500;

#[derive(Debug, Template)]
#[template(path = "publisher/delivery.html")]
struct DeliveryPage {
    frame: PageFrame,
    /// Media buy from whose page the visitor came, with its address.
    buy: Option<(String, String)>,
    template_href: String,
    /// Time zone of the days.
    zone: String,
    most_rows: String,
    may_correct: bool,
    /// What the form had, for another attempt.
    filled: FilledDelivery,
    outcome: DeliveryOutcome,
}

/// Fields of the form.
#[derive(Debug, Default)]
struct FilledDelivery {
    id: Option<String>,
    columns: String,
    is_final: bool,
    is_correction: bool,
}

/// What became of a file.
#[derive(Debug)]
enum DeliveryOutcome {
    /// None was sent yet.
    Unsent,
    /// It cannot be read, or not be stored by this visitor.
    Unusable(String),
    /// Rows have problems, and nothing was stored.
    Refused(RefusedFile),
    /// All rows were stored.
    Stored(StoredFile),
}

/// A file whose rows have problems.
#[derive(Debug)]
struct RefusedFile {
    name: String,
    /// Number of all problems, in words.
    count: String,
    problems: Vec<RefusedCell>,
    not_listed: Option<usize>,
}

#[derive(Debug)]
struct RefusedCell {
    row: usize,
    column: Option<String>,
    message: String,
    hint: String,
}

/// A file whose rows were stored.
#[derive(Debug)]
struct StoredFile {
    name: String,
    buys: Vec<ReportedBuyRow>,
    /// Headings of columns that fill no field.
    ignored_columns: String,
    total_rows: usize,
}

/// What a file has said of a media buy.
#[derive(Debug)]
struct ReportedBuyRow {
    id: String,
    href: String,
    new_days: usize,
    changed_days: usize,
    unchanged_days: usize,
    finalized_days: usize,
    corrected_days: usize,
    impressions: String,
    spend: String,
}

impl Console {
    pub(crate) fn delivery(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let id = visitor.asked.asked_for("id").map(str::to_owned);
        if id.is_some() {
            // One of another publisher looks as if it did not exist.
            self.record(visitor, &agent, Subject::Buys)?;
        }
        let filled = FilledDelivery { id, ..FilledDelivery::default() };
        self.delivery_page(visitor, &agent, filled, DeliveryOutcome::Unsent)
    }

    /// Stores the rows of a file, all or none.
    pub(crate) fn report_delivery(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let filled = FilledDelivery::read(visitor);
        let outcome = match read_file(visitor, &filled) {
            Ok(table) => self.store_file(visitor, &agent, table)?,
            Err(unusable) => DeliveryOutcome::Unusable(unusable),
        };
        let filled = match outcome {
            // The boxes are about one file: the next one must not be declared final by mistake.
            DeliveryOutcome::Stored(_) => {
                FilledDelivery { is_final: false, is_correction: false, ..filled }
            }
            DeliveryOutcome::Unsent
            | DeliveryOutcome::Unusable(_)
            | DeliveryOutcome::Refused(_) => filled,
        };
        self.delivery_page(visitor, &agent, filled, outcome)
    }

    fn store_file(
        &self,
        visitor: &Visitor<'_>,
        agent: &PublisherAgent,
        table: DeliveryTable,
    ) -> Result<DeliveryOutcome, PageError> {
        let name = visitor.asked.file().map(|file| file.name.clone()).unwrap_or_default();
        let publisher = agent.publisher();
        let DeliveryTable { days, problems, columns, ignored_columns, total_rows } = table;
        let input = ReportDelivery { publisher: &publisher, days, problems };
        match report_delivery(&self.admin(&[]), &visitor.actor(), input) {
            Ok(reported) => {
                // Buyers are told of corrections at once.
                agent.notices.wake();
                Ok(DeliveryOutcome::Stored(StoredFile {
                    name,
                    buys: reported.into_iter().map(ReportedBuyRow::new).collect(),
                    ignored_columns: ignored_columns.join(", "),
                    total_rows,
                }))
            }
            Err(AdminError::Refused(DeliveryRefusal::Problems(problems))) => {
                Ok(DeliveryOutcome::Refused(RefusedFile::new(name, &problems, &columns)))
            }
            // Answers 404 to anyone who is not on the publisher's staff, as for an unknown id.
            Err(AdminError::Refused(DeliveryRefusal::Stranger)) => Err(PageError::NotFound),
            // The route has checked the permission to report, so that the one to correct is missing.
            Err(AdminError::Forbidden(_)) => Ok(DeliveryOutcome::Unusable(
                "Only an approver corrects figures that are final: leave out the rows that are marked as corrections, \
                 or have an approver send the file"
                    .to_owned(),
            )),
            Err(AdminError::Broken(fault)) => Err(PageError::Broken(fault)),
        }
    }

    fn delivery_page(
        &self,
        visitor: &Visitor<'_>,
        agent: &PublisherAgent,
        filled: FilledDelivery,
        outcome: DeliveryOutcome,
    ) -> Answer {
        let status = match outcome {
            DeliveryOutcome::Unsent | DeliveryOutcome::Stored(_) => StatusCode::OK,
            DeliveryOutcome::Unusable(_) | DeliveryOutcome::Refused(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
        };
        let id = filled.id.as_deref();
        let zone = time_zone(agent);
        let page = DeliveryPage {
            buy: id.map(|id| (id.to_owned(), show_link(DecisionSubject::Buy, id, None, None))),
            template_href: link("delivery/template", [("id", id)]).trim_end_matches('?').to_owned(),
            zone: zone.iana_name().unwrap_or("UTC").to_owned(),
            most_rows: thousands(MAX_ROWS as u64),
            may_correct: AdminOperation::CorrectDelivery.permission().is_of(visitor.member.role),
            filled,
            outcome,
            frame: self.frame(visitor, "Report delivery")?,
        };
        Ok(ConsoleReply::page(&page).with_status(status))
    }

    /// Returns a table with the columns and a row for each package that delivers, of one media buy or of all. What was
    /// delivered is left empty, so that the table is refused as long as nobody has filled it in.
    pub(crate) fn delivery_template(&self, visitor: &Visitor<'_>) -> Answer {
        let agent = self.publisher(visitor)?;
        let zone = time_zone(&agent);
        let now = self.clock.now();
        let today = now.to_zoned(zone.clone()).date();
        let mut rows = Vec::new();
        if visitor.asked.asked_for("id").is_some() {
            let buy = self.record(visitor, &agent, Subject::Buys)?;
            let buy = Fields::new(&buy);
            let packages = buy.items("packages").iter().map(Fields::new);
            let day_of = |package| last_day(package, &zone, today);
            rows.extend(packages.filter_map(|package| {
                let day = day_of(package)?;
                Some(TemplateRow::new(buy.text("id")?, package, day, buy.text("currency")?))
            }));
        } else {
            let page = Page { after: None, limit: MAX_PACKAGES };
            let publisher = agent.publisher();
            let store = agent.publisher_store();
            let filter = Filter::default();
            let listing =
                sales::list_full(store, &publisher, Subject::Packages, &filter, page, now);
            let listed = listing.map_err(unlisted)?.rows;
            rows.extend(listed.iter().filter_map(|row| {
                let package = Fields::new(&row.document);
                let is_sold =
                    !matches!(package.or_empty("state").as_str(), "rejected" | "canceled");
                let day = last_day(package, &zone, today).filter(|_| is_sold)?;
                let buy = package.text("buy")?;
                Some(TemplateRow::new(buy, package, day, package.text("currency")?))
            }));
        }
        let csv = template(&rows).map_err(InternalError::on("writing a table of delivery"))?;
        let csv =
            String::from_utf8(csv).map_err(InternalError::on("writing a table of delivery"))?;
        Ok(ConsoleReply::download_as("delivery.csv", "text/csv; charset=utf-8", csv))
    }
}

impl FilledDelivery {
    fn read(visitor: &Visitor<'_>) -> Self {
        let asked = visitor.asked;
        let is_ticked = |name: &str| asked.filled_in(name) == Some("yes");
        Self {
            id: asked.filled_in("id").map(str::to_owned),
            columns: asked.filled_in("columns").unwrap_or_default().to_owned(),
            is_final: is_ticked("final"),
            is_correction: is_ticked("correction"),
        }
    }

    /// Returns the headings that are given for fields, one in a line.
    fn choices(&self) -> Result<Vec<HeadingChoice>, String> {
        let lines = self.columns.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(str::parse).collect()
    }
}

/// Reads the file of the form, with what the form says of all rows.
fn read_file(visitor: &Visitor<'_>, filled: &FilledDelivery) -> Result<DeliveryTable, String> {
    let file = visitor.asked.file().ok_or("Choose a file")?;
    if file.bytes.is_empty() {
        return Err(format!("The file {} is empty", file.name));
    }
    let choices = filled
        .choices()
        .map_err(|mistake| format!("A line of the columns cannot be read: {mistake}"))?;
    let table = delivery_table::read_file(&file.bytes, &choices, ColumnMapping::Form);
    let mut table = table.map_err(|unread| {
        format!("{} cannot be read: {}; {}", file.name, unread.message, unread.hint)
    })?;
    for day in &mut table.days {
        day.is_final |= filled.is_final;
        day.is_correction |= filled.is_correction;
    }
    Ok(table)
}

impl RefusedFile {
    fn new(name: String, problems: &[RowProblem], columns: &[FieldColumn]) -> Self {
        let count = problems.len();
        let noun = if count == 1 { "problem" } else { "problems" };
        let row = |problem: &RowProblem| RefusedCell {
            row: problem.row,
            column: problem.field.map(|field| delivery_table::heading_of(field, columns)),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        };
        Self {
            name,
            count: format!("{} {noun}", thousands(count as u64)),
            problems: problems.iter().take(MAX_LISTED).map(row).collect(),
            not_listed: delivery_table::problems_not_listed(problems),
        }
    }
}

impl ReportedBuyRow {
    fn new(reported: ReportedBuy) -> Self {
        let ReportedBuy {
            media_buy_id: id,
            rows,
            changed,
            added,
            finalized,
            corrected,
            impressions,
            spend,
            currency,
        } = reported;
        Self {
            href: show_link(DecisionSubject::Buy, &id, None, None),
            new_days: added,
            changed_days: changed - added,
            unchanged_days: rows.saturating_sub(changed),
            finalized_days: finalized,
            corrected_days: corrected,
            impressions: amount(&impressions.to_string()),
            spend: format!("{} {currency}", amount(&spend.to_string())),
            id,
        }
    }
}

/// Row of the file to begin with.
struct TemplateRow {
    media_buy_id: String,
    package_id: String,
    day: Date,
    currency: String,
}

impl TemplateRow {
    fn new(media_buy_id: String, package: Fields<'_>, day: Date, currency: String) -> Self {
        Self { media_buy_id, package_id: package.or_empty("id"), day, currency }
    }
}

fn time_zone(agent: &PublisherAgent) -> TimeZone {
    agent.publisher().profile.catalogue.inventory.time_zone.clone()
}

/// Returns the latest day that a package has delivered on and that is over, or today on its first day. `None` when it
/// has not begun, or its delivery is not taken any more.
fn last_day(package: Fields<'_>, zone: &TimeZone, today: Date) -> Option<Date> {
    let flight = PackageDays::from_flight(package.at("start_time")?, package.at("end_time")?, zone);
    let is_late =
        today.since(flight.last).is_ok_and(|late| i64::from(late.get_days()) > DAYS_AFTER_FLIGHT);
    let yesterday = today.yesterday().ok()?;
    let last = flight.last.min(yesterday).max(flight.first);
    (flight.first <= today && !is_late).then_some(last)
}

fn template(rows: &[TemplateRow]) -> Result<Vec<u8>, csv::Error> {
    // Line items have ids of the ad server, which packages do without.
    let fields: Vec<ReportField> =
        ReportField::ALL.iter().copied().filter(|field| *field != ReportField::LineItem).collect();
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(fields.iter().map(|field| field.name()))?;
    for row in rows {
        writer.write_record(fields.iter().map(|field| match field {
            ReportField::MediaBuy => guarded(&row.media_buy_id),
            ReportField::Package => guarded(&row.package_id),
            ReportField::Date => row.day.to_string(),
            ReportField::Currency => guarded(&row.currency),
            ReportField::LineItem
            | ReportField::Impressions
            | ReportField::Clicks
            | ReportField::CompletedViews
            | ReportField::Spend
            | ReportField::Final
            | ReportField::Correction => String::new(),
        }))?;
    }
    writer.into_inner().map_err(|unwritten| unwritten.into_error().into())
}
