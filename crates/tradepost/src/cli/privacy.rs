//! `tradepost privacy`: manages the keys that encrypt personal data, and handles customers'
//! requests.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use tradepost_admin::AdminError;
use tradepost_admin::privacy::{
    ChangeKey, ChangedKey, CustomerData, CustomerLead, ExportCustomer, PrivacyRefusal, change_key,
    export_customer, show_encryption,
};
use tradepost_dealer::staff::LeadNote;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json, object};
use tradepost_runtime::evidence;
use tradepost_runtime::lead_export::{ExportedLead, record};
use tradepost_server::clock::Clock;
use tradepost_store::Store;
use tradepost_store::privacy::OperatorKeys;
use tradepost_store::verification::{RowOwner, Unreadable};

use super::leads::consent::{self, CustomerOptions};
use super::operator::{admin, failure, operator};
use super::output::table::{self, TableColumn, TableWidth};
use super::output::{CommandFailure, save};
use super::serve::lock::lock;
use super::store_location::{StoreOptions, still_locked};
use super::{Context, Outcome, dealers};

mod forget;

/// Subcommands of `tradepost privacy`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Create a key with which the server encrypts personal data.
    Keygen {
        /// File for the key, which must not exist. Only its owner can read it. The default is
        /// standard output.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Show how much personal data is encrypted, and which keys it needs.
    Status {
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Re-encrypt all personal data with the key in the first line of the key file, and encrypt what
    /// is in clear text. The command can be stopped at any time, and continues when it is run again.
    Rekey {
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Continue after the loss of keys: erase all data that only they can decrypt, after you have
    /// typed a confirmation. The server must not run.
    ForgetKey {
        /// Names of all lost keys, as shown by `privacy status` and by the server when it does not
        /// start.
        #[arg(value_name = "KEY", required = true)]
        lost: Vec<String>,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Export all data of a customer, from all their leads at all dealers.
    Export {
        #[command(flatten)]
        customer: CustomerOptions,
        /// Only leads of this dealer.
        #[arg(long, value_name = "ID")]
        dealer: Option<String>,
        /// Output format.
        #[arg(long, value_enum, default_value_t = PrivacyFormat::Json)]
        format: PrivacyFormat,
        /// File to write, which must not exist; the default is standard output.
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Erase all data of a customer, except the hashes of the consents.
    Erase(consent::Erase),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PrivacyFormat {
    /// JSON for programs.
    Json,
    /// Printable page for people.
    Html,
}

/// Runs the command.
///
/// # Errors
/// Fails when the store or a key cannot be used.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::Keygen { out } => {
            let key = OperatorKeys::generate()?;
            save(out.as_deref(), format!("{key}\n").as_bytes(), context.output)?;
            context.output.talk(
                "data that this key encrypts cannot be read without it: store a copy elsewhere, \
                 and not with the backups",
            );
            Ok(())
        }
        Command::Status { place } => status(&place.open(None, context)?, context),
        Command::Rekey { place } => rekey(&place, context),
        Command::ForgetKey { lost, place } => forget::run(&lost, &place, context),
        Command::Export { customer, dealer, format, out, place } => {
            let store = place.open(None, context)?;
            dealers::check_known(dealer.as_deref(), &store, &place, context)?;
            let (document, unreadable) = export(&store, &customer, dealer.as_deref(), context)?;
            let text = match format {
                PrivacyFormat::Json => format!("{document:#}\n"),
                PrivacyFormat::Html => evidence::page("All data of a customer", &document),
            };
            save(out.as_deref(), text.as_bytes(), context.output)?;
            consent::despite(unreadable, context)
        }
        Command::Erase(arguments) => consent::erase(&arguments, context),
    }
}

fn status(store: &Store, context: &Context) -> Outcome {
    let sealing = show_encryption(&admin(store, &[]), &operator(context));
    let sealing = sealing.map_err(not_done)?;
    let clear: u64 = sealing.rows.iter().filter(|(key, _)| key.is_none()).map(|(_, n)| n).sum();
    if context.output.is_json() {
        let row = |(key, rows): &(Option<String>, u64)| json!({"key": key, "rows": rows});
        let rows: Vec<Value> = sealing.rows.iter().map(row).collect();
        context.output.document(&json!({"keys": sealing.keys, "rows": rows, "in_clear": clear}));
        return Ok(());
    }
    if sealing.keys.is_empty() {
        let message = "personal data is not encrypted; `tradepost privacy keygen` creates a key";
        context.output.talk(message);
    }
    let row = |(key, rows): &(Option<String>, u64)| {
        vec![key.clone().unwrap_or_else(|| "not encrypted".to_owned()), rows.to_string()]
    };
    let rows: Vec<_> = sealing.rows.iter().map(row).collect();
    if !rows.is_empty() {
        let columns = [TableColumn::Text("KEY"), TableColumn::Number("ROWS")];
        context.output.line(table::rows(TableWidth::Terminal, &columns, &rows));
    }
    if !sealing.keys.is_empty() && (clear > 0 || sealing.keys.len() > 1) {
        context.output.talk("`tradepost privacy rekey` encrypts all data with the first key");
    }
    Ok(())
}

fn rekey(place: &StoreOptions, context: &Context) -> Outcome {
    let keys = place.keys(None, context)?;
    let Some(first) = keys.ids().first().map(|id| (*id).to_owned()) else {
        return Err(refused(PrivacyRefusal::NoKey));
    };
    let store = place.open(None, context)?;
    let known = store.privacy_keys()?;
    // A server that was started without the new key could not read what it encrypts.
    let is_new = !known.contains(&first) && place.database(None, context)?.is_none();
    let hint =
        "restart the server with the new key in the first line, or stop it while this command runs";
    let _lock = is_new.then(|| lock(place)).transpose().map_err(|failure| failure.hint(hint))?;
    // So far it was opened without starting encryption with the new key.
    drop(store);
    let store = place.connect(None, context)?;
    let mut last_reported = 0;
    let clock = Clock::system();
    let input = ChangeKey { keys: &keys, clock: &|| clock.now() };
    let changed = change_key(&admin(&store, &[]), &operator(context), input, |rows| {
        if rows >= last_reported + 10_000 {
            last_reported = rows;
            context.output.talk(format!("{rows} rows"));
        }
    });
    let ChangedKey { key: first, done, other_keys: others } = changed.map_err(not_done)?;
    let rows = done.rows;
    if context.output.is_json() {
        let row = |row: &Unreadable| object!({"table": row.table, "lead": row.lead(), "member"?: row.member()});
        let unreadable: Vec<Value> = done.unreadable.iter().map(row).collect();
        context.output.document(&json!({
            "key": first, "rows": rows, "other_keys": others, "unreadable": unreadable,
        }));
    } else {
        context.output.line(format!("{rows} rows encrypted with the key {first}"));
        if others.is_empty() {
            context.output.talk("no other key is needed any more");
        } else if done.unreadable.is_empty() {
            let message = "other keys are still in use: a server writes with one of them, so give \
                           it the new key first, and run this command again";
            context.output.talk(message);
        }
    }
    left_behind(&done.unreadable, context)
}

/// Reports rows that could not be encrypted again, because no key decrypts them.
fn left_behind(unreadable: &BTreeSet<Unreadable>, context: &Context) -> Outcome {
    if unreadable.is_empty() {
        return Ok(());
    }
    let message = "some rows cannot be decrypted with these keys, and were not changed";
    let line = |row: &Unreadable| match &row.owner {
        Some(RowOwner::Lead(lead)) => format!("{}: {lead}", row.table),
        Some(RowOwner::Member(name)) => format!("{}: of the member {name}", row.table),
        None => format!("{}: of an unknown lead", row.table),
    };
    let hint = "they are damaged; check a backup, or erase the leads with \
                `tradepost leads erase --lead ID`";
    let failure = CommandFailure::new(1, message).hint(hint);
    let failure = failure.lines(unreadable.iter().map(line).collect());
    // Programs find them in the document.
    Err(CommandFailure { already_shown: context.output.is_json(), ..failure })
}

/// Exports all data of a customer, recorded for each lead. Also returns the ids of leads that cannot
/// be read, which may be this customer's.
fn export(
    store: &Store,
    customer: &CustomerOptions,
    dealer: Option<&str>,
    context: &Context,
) -> Result<(Value, BTreeSet<String>), CommandFailure> {
    let surroundings = admin(store, &[]);
    let input = ExportCustomer {
        lead_ids: customer.leads.clone(),
        contacts: customer.contacts(),
        dealer_id: dealer.map(str::to_owned),
    };
    let data = export_customer(&surroundings, &operator(context), input).map_err(not_done)?;
    let CustomerData { leads, unreadable } = data;
    if leads.is_empty() {
        context.output.talk("no lead names this customer, except erased ones");
    }
    let leads: Vec<Value> = leads.into_iter().map(lead_document).collect();
    let made = json!({"at": rfc3339(surroundings.now), "by": context.actor()});
    let document = json!({
        "customer": customer.contacts(), "leads": leads, "unreadable": unreadable, "made": made,
    });
    Ok((document, unreadable))
}

/// Returns everything that is stored about a lead as JSON.
fn lead_document(lead: CustomerLead) -> Value {
    let CustomerLead { history, progress, notes, deliveries, entries } = lead;
    let submissions = history.submissions.iter().map(|sent| {
        json!({
            "received_at": rfc3339(sent.received_at), "version": sent.version.name(),
            "sent_by": sent.principal, "address": sent.address, "rooftop": sent.rooftop,
            "payload": sent.payload, "unreadable": sent.unreadable,
        })
    });
    let submissions: Vec<Value> = submissions.collect();
    let note =
        |note: &LeadNote| json!({"at": rfc3339(note.at), "author": note.author, "text": note.text});
    json!({
        "lead": record(&ExportedLead::from_history(history, None)),
        "submissions": submissions,
        "stage": progress.stage,
        "notes": notes.iter().map(note).collect::<Vec<_>>(),
        "deliveries": deliveries.iter().map(evidence::delivery).collect::<Vec<_>>(),
        "record": entries.iter().map(evidence::entry).collect::<Vec<_>>(),
    })
}

/// Returns the failure of an operation on personal data that was not done.
fn not_done(error: AdminError<PrivacyRefusal>) -> CommandFailure {
    failure(error, refused)
}

/// Returns the failure of a refused operation on personal data.
fn refused(refusal: PrivacyRefusal) -> CommandFailure {
    match refusal {
        PrivacyRefusal::NoKey => CommandFailure::usage("there is no key to encrypt with")
            .hint("name its file with --key-file, or set TRADEPOST_PRIVACY_KEY"),
        PrivacyRefusal::KeyGiven(given) => CommandFailure::usage(format!(
            "the key {given} was given to the command, so it is not lost"
        ))
        .hint("encrypt with another key by `tradepost privacy rekey`"),
        PrivacyRefusal::UnknownKey { key, known } => {
            let message = format!("no data is encrypted with a key {key}");
            CommandFailure::usage(message).hint(match known.is_empty() {
                true => "no data is encrypted".to_owned(),
                false => format!("the data is encrypted with {}", known.join(" and ")),
            })
        }
        PrivacyRefusal::Locked(locked) => still_locked(&locked),
        PrivacyRefusal::UnknownDealer(id) => {
            CommandFailure::usage(format!("there is no dealer {id:?}"))
        }
    }
}
