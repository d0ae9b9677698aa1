//! `tradepost publisher catalogue import`: products of a spreadsheet, put into the catalogue of a publisher.
//!
//! All or nothing: the whole table is read and the catalogue that it makes is checked before anything is written.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::path::{Path, PathBuf};

use clap::Subcommand;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{self, Map, Value, json};
use tradepost_document::toml;
use tradepost_publisher::catalogue::{Catalogue, CatalogueMistake};
use tradepost_runtime::config::{PublisherConfig, read};

use super::{only, take_publishers};
use crate::cli::output::table::{TableColumn, TableWidth, rows};
use crate::cli::output::{CommandFailure, Output, word};
use crate::cli::{Context, Outcome, check_config};
use crate::product_table::merge::{MergedCatalogue, Unnamed, merge};
use crate::product_table::{
    self, ColumnChoice, MAX_BYTES, ProductField, ProductTable, TableProblem, TableSettings,
};

/// Domain of a table that is only tried. It is shown nowhere.
const PLACEHOLDER_DOMAIN: &str = "publisher.example";

/// Name of the catalogue of a configuration that names none.
pub(in crate::cli) const CATALOGUE: &str = "catalogue.json";

/// Subcommands of `tradepost publisher catalogue`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Command {
    /// Read products from a CSV file, and put them into the publisher's catalogue.
    Import(Import),
}

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Import {
    /// Table of products: CSV, separated by comma, semicolon, tab or bar; `-` reads standard input.
    #[arg(required_unless_present = "template")]
    file: Option<PathBuf>,
    /// Configuration file of the publisher, whose catalogue gets the products. Without it the table
    /// is only checked.
    #[arg(long, value_name = "CONFIG")]
    into: Option<PathBuf>,
    /// Publisher id; not needed if the configuration has one publisher.
    #[arg(long, value_name = "ID", requires = "into")]
    publisher: Option<String>,
    /// Show the column of each field, and what was understood of each product.
    #[arg(long)]
    explain: bool,
    /// Heading of the column that holds a field, such as "rate=Net price". Repeatable.
    #[arg(long = "column", value_name = "FIELD=HEADING", value_parser = choice)]
    columns: Vec<ColumnChoice>,
    /// Currency of prices that name none, such as USD.
    #[arg(long, value_name = "CODE", value_parser = currency)]
    currency: Option<String>,
    /// Remove the products that the table does not name from the catalogue.
    #[arg(long, requires = "into")]
    remove_others: bool,
    /// Report the changes without making them.
    #[arg(long, requires = "into")]
    dry_run: bool,
    /// Print a table with every column and two examples, to begin with.
    #[arg(long, conflicts_with_all = ["file", "into", "explain", "columns", "currency"])]
    template: bool,
}

/// Catalogue of a configuration, and where it is.
struct CatalogueFile {
    path: PathBuf,
    /// The document; empty when there is no file yet.
    document: Map,
    /// Configuration that has to name the file first, with the new text.
    naming: Option<NamedIn>,
}

/// Configuration with the key that names the catalogue.
struct NamedIn {
    path: PathBuf,
    text: String,
}

/// Runs the command.
///
/// # Errors
/// Fails when the table or the configuration has mistakes, or a file cannot be read or written.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    let Command::Import(arguments) = command;
    if arguments.template {
        let template = product_table::template();
        context.output.raw(template.as_bytes());
        return Ok(());
    }
    let bytes = contents(arguments.file.as_deref().unwrap_or(Path::new("-")), MAX_BYTES)?;
    let Some(config) = &arguments.into else {
        let settings = TableSettings {
            domain: PLACEHOLDER_DOMAIN.to_owned(),
            currency: arguments.currency.clone(),
            columns: arguments.columns.clone(),
            ..TableSettings::default()
        };
        let table = read_table(&bytes, &settings, &arguments, context)?;
        // Whatever a catalogue of its own would refuse, too.
        checked(&merge(Map::new(), &table, "https://publisher.example", Unnamed::Stay), &table)?;
        report_trial(&table, context.output);
        return Ok(());
    };
    let publisher = publisher(config, arguments.publisher.as_deref(), context)?;
    let import = CatalogueImport { bytes: &bytes, arguments: &arguments, config, context };
    import.run(&publisher)
}

/// Import of a table into a configuration.
struct CatalogueImport<'a> {
    bytes: &'a [u8],
    arguments: &'a Import,
    config: &'a Path,
    context: &'a Context,
}

impl CatalogueImport<'_> {
    fn run(&self, publisher: &PublisherConfig) -> Outcome {
        let Self { arguments, context, .. } = self;
        let file = catalogue_file(self.config, publisher, context)?;
        let settings = TableSettings {
            domain: publisher.profile.domain.clone(),
            currency: arguments.currency.clone(),
            columns: arguments.columns.clone(),
            known_formats: format_ids(&file.document),
        };
        let table = read_table(self.bytes, &settings, arguments, context)?;
        let unnamed = if arguments.remove_others { Unnamed::Go } else { Unnamed::Stay };
        let merged = merge(file.document.clone(), &table, &agent_url(publisher), unnamed);
        let text = checked(&merged, &table)?;
        if !arguments.dry_run {
            replace(&file.path, &text)?;
            if let Some(NamedIn { path, text }) = &file.naming {
                replace(path, text).inspect_err(|_| {
                    // A catalogue that nothing names would be in the way of the next attempt.
                    let _ = fs::remove_file(&file.path);
                })?;
            }
        }
        report(&file, &merged, arguments.dry_run, context.output);
        Ok(())
    }
}

fn choice(text: &str) -> Result<ColumnChoice, String> {
    let pair = text.split_once('=').filter(|(_, heading)| !heading.trim().is_empty());
    let (field, heading) = pair.ok_or("write a field and a heading, such as rate=Net price")?;
    Ok(ColumnChoice { field: word(field)?, heading: heading.trim().to_owned() })
}

fn currency(text: &str) -> Result<String, String> {
    match product_table::is_currency(text) {
        true => Ok(text.to_owned()),
        false => Err("write the three capital letters of ISO 4217, such as USD".to_owned()),
    }
}

/// Reads a file with a table, or standard input, as far as a reader of tables takes it: `most` bytes.
pub(super) fn contents(path: &Path, most: usize) -> Result<Vec<u8>, CommandFailure> {
    let unread = |error: io::Error| {
        CommandFailure::usage(format!("cannot read {}: {}", path.display(), error.kind()))
            .hint("name a readable CSV file, or - for standard input")
    };
    let read = match path == Path::new("-") {
        true => bounded(io::stdin().lock(), most),
        false => fs::File::open(path).and_then(|file| bounded(file, most)),
    };
    read.map_err(unread)
}

/// Reads a file with a table of products, as far as its reader takes it.
pub(in crate::cli) fn table_file(path: &Path) -> io::Result<Vec<u8>> {
    bounded(fs::File::open(path)?, MAX_BYTES)
}

fn bounded(source: impl io::Read, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than is taken, so that a file that is too large is noticed.
    source.take(most as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the table, explains it when that is wanted, and fails with all problems.
fn read_table(
    bytes: &[u8],
    settings: &TableSettings,
    arguments: &Import,
    context: &Context,
) -> Result<ProductTable, CommandFailure> {
    let table = product_table::read(bytes, settings).map_err(|unreadable| {
        CommandFailure::usage(format!("{}; nothing was changed", unreadable.message))
            .hint(unreadable.hint)
            .data(json!({"code": "table_unreadable"}))
    })?;
    if arguments.explain && !context.output.is_json() {
        // Before a refusal, because its reason may be a column that was not recognised.
        explain(&table, context.output);
    }
    if table.problems.is_empty() {
        return Ok(table);
    }
    Err(mistaken(&table.problems, &table))
}

/// Returns the failure of a table with problems.
fn mistaken(problems: &[TableProblem], table: &ProductTable) -> CommandFailure {
    let count = problems.len();
    let noun = if count == 1 { "problem" } else { "problems" };
    CommandFailure::usage(format!("the table has {count} {noun}; nothing was changed"))
        .hint("correct the cells and import the file again; --explain shows what each column was taken for")
        .lines(problems.iter().map(TableProblem::line).collect())
        .data(json!({
            "code": "table_mistakes", "problems": problems, "columns": table.columns,
            "ignored_columns": table.ignored_columns,
        }))
}

/// Checks the catalogue that a table makes, and returns its text.
pub(in crate::cli) fn checked(
    merged: &MergedCatalogue,
    table: &ProductTable,
) -> Result<String, CommandFailure> {
    let text = json::to_string_pretty(&merged.document).map_err(CommandFailure::fault)?;
    let Err(mistakes) = Catalogue::parse(&text) else { return Ok(format!("{text}\n")) };
    let problem = |mistake: &CatalogueMistake| {
        let id = merged.product_at(&mistake.pointer);
        let row = table.products.iter().find(|product| Some(product.id.as_str()) == id);
        TableProblem {
            row: row.map_or(1, |product| product.row),
            column: None,
            message: format!("{} {}", mistake.pointer, mistake.message),
            hint: "correct the row, or the product in the catalogue".to_owned(),
        }
    };
    Err(mistaken(&mistakes.iter().map(problem).collect::<Vec<_>>(), table))
}

pub(in crate::cli) fn explain(table: &ProductTable, output: Output) {
    let columns = [
        TableColumn::Text("field"),
        TableColumn::Text("from column"),
        TableColumn::Number("filled"),
        TableColumn::Text("first"),
    ];
    let cells = table.columns.iter().map(|column| {
        vec![
            column.field.to_owned(),
            column.heading.clone(),
            format!("{} of {}", column.filled, table.rows),
            column.example.clone(),
        ]
    });
    output.line(rows(TableWidth::Terminal, &columns, &cells.collect::<Vec<_>>()));
    let has = |field: &&&str| table.columns.iter().any(|column| column.field == **field);
    let absent: Vec<&str> =
        ProductField::NAMES.iter().filter(|field| !has(field)).copied().collect();
    if !absent.is_empty() {
        output.line(format!("no column: {}", absent.join(", ")));
    }
    if !table.ignored_columns.is_empty() {
        output.line(format!("ignored columns: {}", table.ignored_columns.join(", ")));
    }
    let columns =
        ["row", "product", "formats", "channel", "delivery", "prices"].map(TableColumn::Text);
    let cells: Vec<Vec<String>> = table
        .products
        .iter()
        .map(|product| {
            let member =
                |name: &str| product.published.get(name).or_else(|| product.initial.get(name));
            vec![
                product.row.to_string(),
                product.id.clone(),
                names(member("format_ids"), "id"),
                texts(member("channels")),
                member("delivery_type").and_then(Value::as_str).unwrap_or_default().to_owned(),
                prices(member("pricing_options")),
            ]
        })
        .collect();
    if !cells.is_empty() {
        output.line("");
        output.line(rows(TableWidth::Terminal, &columns, &cells));
    }
    output.line("");
}

fn names(list: Option<&Value>, name: &str) -> String {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.get(name)?.as_str()).collect::<Vec<_>>().join(", ")
}

fn texts(list: Option<&Value>) -> String {
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
}

fn prices(list: Option<&Value>) -> String {
    let price = |price: &Value| {
        let text = |name: &str| price.get(name).and_then(Value::as_str).unwrap_or_default();
        let amount = match (price.get("fixed_price"), price.get("floor_price")) {
            (Some(amount), _) => amount.to_string(),
            (None, Some(floor)) => format!("from {floor}"),
            (None, None) => String::new(),
        };
        format!("{amount} {} {}", text("currency"), text("pricing_model"))
    };
    let items = list.and_then(Value::as_array).into_iter().flatten();
    items.map(price).collect::<Vec<_>>().join(", ")
}

/// Reports a table that was only checked.
fn report_trial(table: &ProductTable, output: Output) {
    let count = table.products.len();
    let ids: Vec<&str> = table.products.iter().map(|product| product.id.as_str()).collect();
    let noun = if count == 1 { "product" } else { "products" };
    let document = json!({
        "products": ids, "rows": table.rows, "columns": table.columns,
        "ignored_columns": table.ignored_columns, "written": false,
    });
    output.answer(&document, format!("{count} {noun} without a problem: {}", ids.join(", ")));
    if !output.is_json() {
        output.talk("nothing was written; name the configuration with --into");
    }
}

fn report(file: &CatalogueFile, merged: &MergedCatalogue, is_dry: bool, output: Output) {
    let MergedCatalogue { added, changed, unchanged, kept, removed, formats, .. } = merged;
    if output.is_json() {
        output.document(&json!({
            "catalogue": file.path, "written": !is_dry, "added": added, "changed": changed,
            "unchanged": unchanged, "kept": kept, "removed": removed, "formats": formats,
            "config": file.naming.as_ref().map(|named| &named.path),
        }));
        return;
    }
    let name = file.path.display();
    for (ids, what) in [
        (added, "added"),
        (changed, "changed"),
        (removed, "removed"),
        (unchanged, "the same as before"),
        (kept, "not in the table, and still on offer"),
        (formats, "new formats"),
    ] {
        if !ids.is_empty() {
            output.line(format!("{what}: {}", ids.join(", ")));
        }
    }
    match is_dry {
        true => output.talk("nothing was written, because of --dry-run"),
        false => output.line(format!("wrote {name}")),
    }
    if let Some(NamedIn { path, .. }) = file.naming.as_ref().filter(|_| !is_dry) {
        output.line(format!("wrote {}: catalogue = {:?}", path.display(), file.path));
    }
}

/// Returns the named publisher of a configuration, or the only one.
fn publisher(
    path: &Path,
    id: Option<&str>,
    context: &Context,
) -> Result<PublisherConfig, CommandFailure> {
    let mut config = check_config::load(path, &context.environment)?;
    let is_without = config.publishers.is_empty();
    let found = take_publishers(&mut config, id).map_err(|failure| match is_without {
        true => failure.hint(
            "add one under [[publishers]], or let `tradepost init --publisher --wizard` write it",
        ),
        false => failure,
    })?;
    only(found)
}

/// Reads the catalogue of a publisher, or finds the place of a new one.
fn catalogue_file(
    config: &Path,
    publisher: &PublisherConfig,
    context: &Context,
) -> Result<CatalogueFile, CommandFailure> {
    // A server that is started in another folder finds the file, too.
    let config_path = std::path::absolute(config).map_err(CommandFailure::fault)?;
    if let Some(path) = &publisher.catalogue {
        let beside = config_path.with_file_name("").join(path);
        if !path.exists() && beside.exists() {
            return Err(CommandFailure::usage(format!(
                "the catalogue {} is not in the working directory, but beside the configuration",
                path.display()
            ))
            .hint(format!(
                "a relative path begins at the working directory: run the command in the folder of the \
                 configuration, or write catalogue = {:?} into it",
                beside.display().to_string()
            )));
        }
        return Ok(CatalogueFile { path: path.clone(), document: document(path)?, naming: None });
    }
    let path = config_path.with_file_name(CATALOGUE);
    let by_hand = || {
        let line = format!("catalogue = {:?}", path.display().to_string());
        CommandFailure::usage(format!("publisher {} names no catalogue", publisher.profile.id))
            .hint(format!(
                "write {line} below its [[publishers]]; a file that does not exist is made"
            ))
    };
    if path.exists() {
        return Err(by_hand());
    }
    let text = with_catalogue(config, &publisher.profile.id, &path, context).ok_or_else(by_hand)?;
    let naming = Some(NamedIn { path: config.to_owned(), text });
    Ok(CatalogueFile { path, document: Map::new(), naming })
}

/// Returns the text of a configuration in which a publisher names its catalogue; `None` when there is no line below
/// which the key can be put.
fn with_catalogue(config: &Path, id: &str, catalogue: &Path, context: &Context) -> Option<String> {
    let text = fs::read_to_string(config).ok()?;
    let variables = read::variables(&context.environment);
    let before = read::read(&text, &context.environment).ok()?;
    let index = before.publishers.iter().position(|publisher| publisher.profile.id == id)?;
    let pointer = format!("/publishers/{index}/id");
    let line = (*toml::lines_of(&text, variables, &[&pointer]).first()?)?;
    let key = format!("catalogue = {}", Value::from(catalogue.display().to_string()));
    let mut lines: Vec<&str> = text.split('\n').collect();
    if line > lines.len() {
        return None;
    }
    lines.insert(line, &key);
    let changed = lines.join("\n");
    // The line may be inside of something where the key means something else.
    let after = read::read(&changed, &context.environment).ok()?;
    let named = after.publishers.get(index)?.catalogue.as_deref();
    (named == Some(catalogue)).then_some(changed)
}

/// Reads a catalogue, which may not exist yet.
fn document(path: &Path) -> Result<Map, CommandFailure> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => {
            return Err(CommandFailure::usage(format!(
                "cannot read {}: {}",
                path.display(),
                error.kind()
            )));
        }
    };
    let wrong = |lines: Vec<String>| {
        CommandFailure::usage(format!(
            "the catalogue {} has mistakes; nothing was changed",
            path.display()
        ))
        .hint("correct them first; `tradepost check-config` lists them, too")
        .lines(lines)
    };
    Catalogue::parse(&text)
        .map_err(|mistakes| wrong(mistakes.iter().map(ToString::to_string).collect()))?;
    match json::from_str::<Value>(&text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) | Err(_) => Err(wrong(Vec::new())),
    }
}

/// Returns the ids of the formats of a catalogue.
fn format_ids(document: &Map) -> std::collections::BTreeSet<String> {
    let formats = document.get("formats").and_then(Value::as_array).into_iter().flatten();
    let ids = formats.filter_map(|format| format.pointer("/format_id/id")?.as_str());
    ids.map(str::to_owned).collect()
}

/// Returns the address of the agent, for a catalogue that names none.
fn agent_url(publisher: &PublisherConfig) -> String {
    let host = publisher.front.hosts.first().unwrap_or(&publisher.profile.domain);
    publisher.public_url.clone().unwrap_or_else(|| format!("https://{host}"))
}

/// Reason why a file was not replaced.
enum Unwritten {
    File(io::Error),
    /// The new file cannot be given to the owner of the old one.
    Owner(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// Replaces a file in one step, so that no reader sees a half of it. It keeps its owner, group and permissions.
fn replace(path: &Path, text: &str) -> Result<(), CommandFailure> {
    // A link stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let write = || -> Result<(), Unwritten> {
        let mut next = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        next.write_all(text.as_bytes())?;
        next.as_file().sync_all()?;
        let permissions = match fs::metadata(&target) {
            Ok(before) => {
                let now = next.as_file().metadata()?;
                if (now.uid(), now.gid()) != (before.uid(), before.gid()) {
                    let owned = fchown(next.as_file(), Some(before.uid()), Some(before.gid()));
                    owned.map_err(Unwritten::Owner)?;
                }
                before.permissions()
            }
            Err(_) => std::os::unix::fs::PermissionsExt::from_mode(0o644),
        };
        fs::set_permissions(next.path(), permissions)?;
        next.persist(&target).map_err(|failed| failed.error)?;
        Ok(())
    };
    write().map_err(|unwritten| match unwritten {
        Unwritten::File(error) => {
            CommandFailure::usage(format!("cannot write {}: {}", path.display(), error.kind()))
                .hint("check that you may write to its folder")
        }
        // Its readers, such as the server, might not be able to read it any more.
        Unwritten::Owner(error) => CommandFailure::usage(format!(
            "cannot write {} for its owner and group: {}; nothing was changed",
            path.display(),
            error.kind()
        ))
        .hint("run the command as the owner of the file"),
    })
}
