//! `tradepost dealer`: adds, lists, changes, suspends and removes dealers while the server runs, in
//! its folder or database, or with --admin over its API from another machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Subcommand;
use remote::Remote;
use tradepost_document::json::{Map, Value, json};
use tradepost_document::problem::Problems;
use tradepost_document::toml::{self, Variables};
use tradepost_runtime::hosting::{Fixed, HostedDealers, HostingApiRefusal, HostingError};
use tradepost_server::clock::Clock;
use tradepost_store::HostedState;

use super::output::table::{self, Cells, TableColumn, TableWidth};
use super::output::{CommandFailure, unreadable};
use super::store_location::StoreOptions;
use super::{Context, Outcome, dealers, toml_file};
use crate::cli::operator::operator;

mod remote;

/// Number of dealers in a page of the list.
const PAGE: u32 = 500;

/// Subcommands of `tradepost dealer`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add dealers. A running server with hosting = true serves them within one second.
    Add {
        /// Settings of the dealers as in sections [[dealers]]: TOML, or JSON of one dealer or a
        /// list; - reads JSON from standard input. The command adds all dealers of the files or
        /// none. With --admin it sends them one by one and adds those before a mistake.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Add a dealer even if one with this id was removed. The new dealer takes over its leads
        /// and consents.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        to: DealerAdminTarget,
    },
    /// List the dealers, including those of the configuration file.
    List {
        /// Also list removed dealers.
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        to: DealerAdminTarget,
    },
    /// Show a dealer with its settings, without secrets.
    Show {
        /// Dealer id.
        id: String,
        #[command(flatten)]
        to: DealerAdminTarget,
    },
    /// Change settings of a dealer.
    Set {
        /// Dealer id.
        id: String,
        /// Changes, such as name="New name", rate_limit.requests=600 or listed=false. null removes
        /// a key. A value that is not JSON is a text.
        #[arg(value_name = "KEY=VALUE", required_unless_present = "from")]
        changes: Vec<String>,
        /// Replace all settings with those of a file in the format of `add`.
        #[arg(long, value_name = "FILE", conflicts_with = "changes")]
        from: Option<PathBuf>,
        #[command(flatten)]
        when: Unchanged,
        #[command(flatten)]
        to: DealerAdminTarget,
    },
    /// Suspend a dealer: it does not answer requests. It keeps its hosts, and its leads are still
    /// delivered.
    Suspend(One),
    /// Resume a suspended dealer.
    Resume(One),
    /// Remove a dealer, free its hosts and revoke its keys. Its leads and consents stay until they
    /// are erased.
    Remove(One),
}

/// Dealer whose state changes.
#[derive(Debug, clap::Args)]
pub(super) struct One {
    /// Dealer id.
    id: String,
    #[command(flatten)]
    when: Unchanged,
    #[command(flatten)]
    to: DealerAdminTarget,
}

/// Condition of a change.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Unchanged {
    /// Change the dealer only if this is still its revision.
    #[arg(long, value_name = "N")]
    revision: Option<i64>,
}

/// Server or store in which dealers are changed.
#[derive(Debug, clap::Args)]
pub(super) struct DealerAdminTarget {
    /// URL of a server's operator_listen, such as http://127.0.0.1:9080, instead of its folder or
    /// database.
    #[arg(long, value_name = "URL", conflicts_with_all = ["data", "database"])]
    admin: Option<String>,
    /// Administrator key for --admin. Other users of the machine can read this option, but not the
    /// environment variable TRADEPOST_ADMIN_KEY.
    #[arg(long, value_name = "KEY", requires = "admin")]
    key: Option<String>,
    #[command(flatten)]
    source: dealers::ConfigSource,
    #[command(flatten)]
    place: StoreOptions,
}

/// Operations on dealers, in the local store or over the API.
trait DealerAdmin {
    fn add(&self, documents: &[Value], force: bool) -> Result<Vec<String>, CommandFailure>;
    fn list(&self, after: &str, all: bool) -> Result<(Vec<Value>, Option<String>), CommandFailure>;
    fn show(&self, id: &str) -> Result<Value, CommandFailure>;
    fn change(&self, id: &str, document: &Value, patch: bool, expected: Option<i64>) -> Outcome;
    fn set(&self, id: &str, state: HostedState, expected: Option<i64>) -> Outcome;
}

/// Runs the command.
///
/// # Errors
/// Returns the failure with its exit code.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Add { files, force, to } => {
            let mut documents = Vec::new();
            for file in &files {
                documents.extend(read(file)?);
            }
            let added = to.open(context)?.add(&documents, force)?;
            print_result(context, &added, |id| format!("{id} was added"))
        }
        Command::List { all, to } => {
            let mut listed = Vec::new();
            let admin = to.open(context)?;
            let mut after = String::new();
            loop {
                let (page, next) = admin.list(&after, all)?;
                listed.extend(page);
                let Some(next) = next else { break };
                after = next;
            }
            list(&listed, context);
            Ok(())
        }
        Command::Show { id, to } => {
            show(&to.open(context)?.show(&id)?, context);
            Ok(())
        }
        Command::Set { id, changes, from, when, to } => {
            let (document, patch) = match from {
                Some(file) => (one(&file)?, false),
                None => (patch(&changes)?, true),
            };
            to.open(context)?.change(&id, &document, patch, when.revision)?;
            print_result(context, &[id], |id| format!("{id} was changed"))
        }
        Command::Suspend(one) => one.set(HostedState::Suspended, "is suspended", context),
        Command::Resume(one) => one.set(HostedState::Serving, "answers requests again", context),
        Command::Remove(one) => {
            let change_text =
                "is removed; its leads and consents stay until `tradepost leads` erases them";
            one.set(HostedState::Removed, change_text, context)
        }
    }
}

impl One {
    fn set(self, state: HostedState, change_text: &str, context: &Context) -> Outcome {
        self.to.open(context)?.set(&self.id, state, self.when.revision)?;
        print_result(context, &[self.id], |id| format!("{id} {change_text}"))
    }
}

impl DealerAdminTarget {
    fn open(&self, context: &Context) -> Result<Box<dyn DealerAdmin>, CommandFailure> {
        if let Some(url) = &self.admin {
            return Ok(Box::new(Remote::open(url, self.key.as_deref(), context)?));
        }
        let config = self.source.load_if_there(&self.place, context)?;
        if config.as_ref().is_some_and(|config| !config.server.hosting) {
            context.output.talk(
                "note: the configuration does not permit hosted dealers yet; set hosting = true in [server]",
            );
        }
        let store = self.place.create(config.as_ref(), context)?;
        Ok(Box::new(HostedDealers {
            store: Arc::new(store),
            fixed: Arc::new(config.as_ref().map(Fixed::from_config).unwrap_or_default()),
            clock: Clock::system(),
            actor: operator(context),
            is_local: true,
        }))
    }
}

impl DealerAdmin for HostedDealers {
    fn add(&self, documents: &[Value], force: bool) -> Result<Vec<String>, CommandFailure> {
        self.add(documents, force).map_err(hosting_failure)
    }

    fn list(&self, after: &str, all: bool) -> Result<(Vec<Value>, Option<String>), CommandFailure> {
        self.list(after, PAGE, all).map_err(hosting_failure)
    }

    fn show(&self, id: &str) -> Result<Value, CommandFailure> {
        self.show(id).map_err(hosting_failure)
    }

    fn change(&self, id: &str, document: &Value, patch: bool, expected: Option<i64>) -> Outcome {
        self.change(id, document, patch, expected).map_err(hosting_failure)
    }

    fn set(&self, id: &str, state: HostedState, expected: Option<i64>) -> Outcome {
        self.set_state(id, state, expected).map_err(hosting_failure)
    }
}

/// Converts an error of hosting to the failure of a command.
fn hosting_failure(error: HostingError) -> CommandFailure {
    match error {
        HostingError::Refused(refusal) => refused(&refusal),
        HostingError::Broken(fault) => CommandFailure::fault(fault),
    }
}

fn refused(refusal: &HostingApiRefusal) -> CommandFailure {
    CommandFailure::new(refusal.code.exit(), refusal.message.clone())
        .hint(refusal.code.hint())
        .lines(refusal.problems.listed().iter().map(ToString::to_string).collect())
        .data(refusal.document())
}

/// Reads the dealers of a file: the sections of a TOML file, or a JSON document or a list of them.
fn read(path: &Path) -> Result<Vec<Value>, CommandFailure> {
    let name = path.display();
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    let text = text.map_err(unreadable(path))?;
    if path.extension().is_some_and(|extension| extension == "toml") {
        let any = |value: &Value, _: &mut Problems| Some(value.clone());
        let value = toml::read(&text, Variables::default(), any)
            .map_err(|mistakes| toml_file::failure(path, &mistakes))?;
        let dealers = value.get("dealers").and_then(Value::as_array).cloned();
        return dealers.ok_or_else(|| {
            CommandFailure::usage(format!("{name} has no section [[dealers]]"))
                .hint("`tradepost init` writes a file with one and explains every key")
        });
    }
    let value = tradepost_document::json::read(&text).map_err(|problems| {
        let lines = problems.listed().iter().map(ToString::to_string).collect();
        CommandFailure::usage(format!("{name} is not valid JSON")).lines(lines)
    })?;
    Ok(match value {
        Value::Array(all) => all,
        one @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_)) => vec![one],
    })
}

/// Reads the only dealer of a file.
fn one(path: &Path) -> Result<Value, CommandFailure> {
    let mut all = read(path)?;
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        (None | Some(_), _) => Err(CommandFailure::usage(format!(
            "{} does not contain exactly one dealer",
            path.display()
        ))),
    }
}

/// Converts `KEY=VALUE` arguments to a patch.
fn patch(changes: &[String]) -> Result<Value, CommandFailure> {
    let mut patch = Map::new();
    for change in changes {
        let Some((key, value)) = change.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(CommandFailure::usage(format!("{change:?} is not KEY=VALUE"))
                .hint("write name=\"New name\" or rate_limit.requests=600"));
        };
        let value = tradepost_document::json::from_str(value).unwrap_or_else(|_| value.into());
        put(&mut patch, key, value);
    }
    Ok(patch.into())
}

fn put(members: &mut Map, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(members.insert(key.to_owned(), value)),
        Some((first, rest)) => {
            let inner = members.entry(first).or_insert_with(|| Map::new().into());
            if !inner.is_object() {
                *inner = Map::new().into();
            }
            if let Some(inner) = inner.as_object_mut() {
                put(inner, rest, value);
            }
        }
    }
}

fn print_result(context: &Context, ids: &[String], say: impl Fn(&String) -> String) -> Outcome {
    if context.output.is_json() {
        context.output.document(&json!({"dealers": ids}));
    } else {
        ids.iter().for_each(|id| context.output.talk(say(id)));
    }
    Ok(())
}

fn list(listed: &[Value], context: &Context) {
    let headings = ["id", "name", "state", "source", "revision", "hosts"];
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let items = items.iter().filter_map(Value::as_str);
            items.collect::<Vec<_>>().join(" ")
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    };
    let cells = headings.map(|name| move |dealer: &Value| text(dealer.get(name)));
    let columns = headings.map(TableColumn::Text).into_iter().zip(&cells);
    let columns: Vec<Cells<'_, Value>> =
        columns.map(|(column, cell)| (column, cell as _)).collect();
    context.output.list(listed, Value::clone, "no dealers", &columns);
}

fn show(shown: &Value, context: &Context) {
    if context.output.is_json() {
        context.output.document(shown);
        return;
    }
    let members = shown.as_object().into_iter().flatten().filter(|(name, _)| *name != "settings");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let facts: Vec<_> =
        members.map(|(name, value)| (name.replace('_', " "), text(value))).collect();
    context.output.line(table::pairs(TableWidth::Terminal, &facts));
    if let Some(settings) = shown.get("settings") {
        context.output.line("");
        context.output.document(settings);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_a_patch_of_values_and_texts() {
        let changes = [
            "name=New name",
            "rate_limit.requests=600",
            "rate_limit.window=1m",
            "description=null",
            "hosts=[\"a.example\"]",
        ];
        let changes = changes.map(str::to_owned);
        let expected = json!({
            "name": "New name", "rate_limit": {"requests": 600, "window": "1m"},
            "description": null, "hosts": ["a.example"],
        });
        assert_eq!(patch(&changes).unwrap(), expected);
        assert_eq!(patch(&["name".to_owned()]).unwrap_err().exit, 2);
        assert_eq!(patch(&["=1".to_owned()]).unwrap_err().exit, 2);
    }
}
