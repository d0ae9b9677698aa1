//! `tradepost publisher buys`, `packages`, `creatives`, `proposals`, `accounts`, `tasks` and
//! `delivery`: lists, shows and exports them.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use tradepost_dealer::local_time::short;
use tradepost_document::json::{Value, json};
use tradepost_publisher::publisher::Publisher;
use tradepost_publisher::staff::DecisionError;
use tradepost_publisher::staff::list::{Cursor, Filter, Listing, Page, Row, Subject};
use tradepost_publisher::staff::show::NotShown;
use tradepost_publisher::store::PublisherStore;
use tradepost_runtime::adcp::sales::{self, Format};
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_server::clock::Clock;
use tradepost_server::private_file::create_new;

use super::{PublisherOptions, details};
use crate::cli::leads::since;
use crate::cli::output::table::{Cells, TableColumn};
use crate::cli::output::{CommandFailure, explained, unsaved};
use crate::cli::{Context, Outcome};

/// Number of rows that an export reads at once.
const EXPORT_BATCH_SIZE: usize = 500;

/// Subcommands for one kind of records.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// List the records, newest first.
    List {
        #[command(flatten)]
        choice: Choice,
        /// Maximum number of records.
        #[arg(
            long, value_name = "NUMBER", default_value_t = 50,
            value_parser = clap::value_parser!(u16).range(1..=1000)
        )]
        limit: u16,
        /// Continue after this position: the `cursor` of a row, or the cursor that the previous
        /// list printed.
        #[arg(long, value_name = "CURSOR")]
        after: Option<Cursor>,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Show all data of one record.
    Show {
        /// Id of the record.
        id: String,
        /// Account of the record, if several accounts have one with this id.
        #[arg(long, value_name = "ID")]
        account: Option<String>,
        #[command(flatten)]
        place: PublisherOptions,
    },
    /// Export all records for other programs, newest first.
    Export {
        #[command(flatten)]
        choice: Choice,
        /// Output format.
        #[arg(long, value_parser = explained::<Format>(), default_value = "jsonl")]
        format: Format,
        /// File to write, which must not exist; the default is standard output.
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        place: PublisherOptions,
    },
}

/// Filter of the records.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Choice {
    /// Only records in this state.
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only records of this account.
    #[arg(long, value_name = "ID")]
    account: Option<String>,
    /// Only records of the buyer agent with this id in the configuration.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only records of this product. Not for creatives and accounts.
    #[arg(long, value_name = "ID")]
    product: Option<String>,
    /// Only records created since this date (UTC) or time. For delivery: media buys whose flight
    /// ends after it, with the reports since then.
    #[arg(long, value_name = "DATE", value_parser = since)]
    from: Option<Timestamp>,
    /// Only records created before this date (UTC) or time. For delivery: media buys whose flight
    /// begins before it, with the reports before it.
    #[arg(long, value_name = "DATE", value_parser = since)]
    until: Option<Timestamp>,
}

impl Choice {
    fn filter(self) -> Filter {
        let Self { state, account, agent, product, from, until } = self;
        Filter { state, account, agent, product, from, until }
    }
}

/// Runs the command.
///
/// # Errors
/// Fails when the store cannot be used, the filter is invalid, or there is no such record.
pub(super) fn run(subject: Subject, command: Command, context: &Context) -> Outcome {
    let now = Clock::system().now();
    match command {
        Command::List { choice, limit, after, place } => {
            let filter = choice.filter();
            check(subject, &filter)?;
            let page = Page { after, limit: usize::from(limit) };
            let (publisher_store, publisher) = place.only(context)?;
            let listing = read(&publisher_store, &publisher, subject, &filter, page, now)?;
            list(subject, &listing, now, context);
            Ok(())
        }
        Command::Show { id, account, place } => {
            let (publisher_store, publisher) = place.only(context)?;
            let publisher_store: &dyn PublisherStore = &publisher_store;
            // Ids are copied from tables and letters, often with a space at an end.
            let id = id.trim();
            let shown =
                sales::show(publisher_store, &publisher, subject, id, account.as_deref(), now);
            details::write(&shown.map_err(|why| not_shown(why, subject))?, context);
            Ok(())
        }
        Command::Export { choice, format, out, place } => {
            let filter = choice.filter();
            check(subject, &filter)?;
            let (publisher_store, publisher) = place.only(context)?;
            let export = Export { subject, filter: &filter, format, now };
            export.write(&publisher_store, &publisher, out, context)
        }
    }
}

/// Checks a filter before the store is opened.
fn check(subject: Subject, filter: &Filter) -> Outcome {
    let problems = filter.problems(subject);
    if problems.is_empty() { Ok(()) } else { Err(not_listed(DecisionError::Invalid(problems))) }
}

fn read(
    publisher_store: &SqlPublisherStore,
    publisher: &Publisher,
    subject: Subject,
    filter: &Filter,
    page: Page,
    now: Timestamp,
) -> Result<Listing, CommandFailure> {
    sales::list_full(publisher_store, publisher, subject, filter, page, now).map_err(not_listed)
}

fn list(subject: Subject, listing: &Listing, now: Timestamp, context: &Context) {
    let names = sales::table_columns(subject);
    let cells: Vec<_> =
        names.iter().map(|name| move |row: &Row| cell(name, &row.document, now)).collect();
    let columns = names.iter().map(|name| column(name)).zip(&cells);
    let columns: Vec<Cells<'_, Row>> = columns.map(|(column, cell)| (column, cell as _)).collect();
    let document = |row: &Row| {
        let mut document = row.document.clone();
        if let Some(members) = document.as_object_mut() {
            members.insert("cursor".to_owned(), row.cursor.to_string().into());
        }
        document
    };
    context.output.list(&listing.rows, document, &format!("no {subject}"), &columns);
    if let Some(next) = listing.next.filter(|_| !context.output.is_json()) {
        context.output.talk(format!("there are more records: add --after {next}"));
    }
}

/// Returns the table column of a member.
fn column(name: &'static str) -> TableColumn<'static> {
    match name {
        "budget" | "spent" | "impressions" | "clicks" | "spend" => TableColumn::Number(name),
        "pace" => TableColumn::Number("pace %"),
        "start_time" => TableColumn::Text("start"),
        "end_time" => TableColumn::Text("end"),
        "created_at" => TableColumn::Text("created"),
        "expires_at" => TableColumn::Text("expires"),
        "last_report_at" => TableColumn::Text("last report"),
        "asked_by" => TableColumn::Text("asked by"),
        "waits_for" => TableColumn::Text("waits for"),
        "decided_by" => TableColumn::Text("decided by"),
        "media_buy" => TableColumn::Text("media buy"),
        _ => TableColumn::Text(name),
    }
}

/// Formats a member of a row for people.
fn cell(name: &str, row: &Value, now: Timestamp) -> String {
    // A decision without a person's name shows the kind of decision instead.
    let unnamed = row.get("decider").filter(|_| name == "decided_by");
    let named = row.get(name).filter(|value| !value.is_null());
    let Some(value) = named.or(unnamed) else { return String::new() };
    let is_moment = name.ends_with("_at") || name.ends_with("_time");
    let moment = value.as_str().filter(|_| is_moment).and_then(|text| text.parse().ok());
    match (moment, value) {
        (Some(moment), _) => short(moment, &TimeZone::UTC, now),
        (None, Value::Bool(yes)) => if *yes { "yes" } else { "no" }.to_owned(),
        (None, value) => sales::text(value),
    }
}

/// Export of records.
struct Export<'e> {
    subject: Subject,
    filter: &'e Filter,
    format: Format,
    now: Timestamp,
}

impl Export<'_> {
    /// Writes the export page by page, to a file or to standard output.
    fn write(
        &self,
        publisher_store: &SqlPublisherStore,
        publisher: &Publisher,
        out: Option<PathBuf>,
        context: &Context,
    ) -> Outcome {
        export_to(out, context, |take| self.each(publisher_store, publisher, take))
    }

    fn each(
        &self,
        publisher_store: &SqlPublisherStore,
        publisher: &Publisher,
        take: &mut dyn FnMut(&[u8]) -> Outcome,
    ) -> Outcome {
        let mut page = Page { after: None, limit: EXPORT_BATCH_SIZE };
        loop {
            let listing =
                read(publisher_store, publisher, self.subject, self.filter, page, self.now)?;
            let is_first = page.after.is_none();
            let part = sales::encode(self.format, self.subject, &listing.rows, is_first);
            take(&part.map_err(CommandFailure::fault)?)?;
            if listing.next.is_none() {
                return Ok(());
            }
            page.after = listing.next;
        }
    }
}

/// Has an export written part by part, to a file or to standard output. An incomplete file is
/// deleted.
pub(super) fn export_to(
    out: Option<PathBuf>,
    context: &Context,
    each: impl FnOnce(&mut dyn FnMut(&[u8]) -> Outcome) -> Outcome,
) -> Outcome {
    let Some(path) = out else {
        return each(&mut |part| context.output.hand_over(part));
    };
    let unsaved = unsaved(&path);
    let mut file: File = create_new(&path).map_err(&unsaved)?;
    let written = each(&mut |part| file.write_all(part).map_err(&unsaved))
        .and_then(|()| file.sync_all().map_err(&unsaved));
    if written.is_err() {
        // The first failure is the one to report; a partial export would be taken for a
        // complete one.
        let _ = std::fs::remove_file(&path);
    }
    written
}

/// Returns the failure of a list.
pub(super) fn not_listed(denied: DecisionError) -> CommandFailure {
    match denied {
        DecisionError::Broken(broken) => CommandFailure::fault(broken),
        DecisionError::Invalid(mut problems) if problems.len() == 1 => {
            CommandFailure::usage(problems.pop().unwrap_or_default())
        }
        DecisionError::Invalid(problems) => CommandFailure::usage("this cannot be listed")
            .data(json!({"problems": problems}))
            .lines(problems),
        DecisionError::Absent
        | DecisionError::Ambiguous(_)
        | DecisionError::Impossible { .. }
        | DecisionError::Changed { .. }
        | DecisionError::SamePerson(_)
        | DecisionError::Objections(_) => CommandFailure::usage("this cannot be listed"),
    }
}

/// Returns the failure to show a record.
fn not_shown(why: NotShown, subject: Subject) -> CommandFailure {
    let one = subject.singular();
    match why {
        NotShown::Absent => CommandFailure::usage(format!("there is no such {one}"))
            .hint(format!("`tradepost publisher {subject} list` lists them")),
        NotShown::SeveralAccounts(accounts) => {
            CommandFailure::usage(format!("several accounts have a {one} with this id"))
                .hint("name one of them with --account")
                .data(json!({"accounts": accounts}))
                .lines(accounts)
        }
        NotShown::SeveralBuys(buys) => {
            CommandFailure::usage("several media buys have a package with this id")
                .hint("`tradepost publisher buys show ID` shows each with its packages")
                .data(json!({"buys": buys}))
                .lines(buys)
        }
        NotShown::Broken(broken) => CommandFailure::fault(broken),
    }
}
