//! `tradepost audit`: shows the audit log, which has who saw, changed and erased what, and verifies
//! that it is unchanged.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Subcommand;
use tradepost_admin::AdminError;
use tradepost_admin::audit::{
    ChainChecks, ChainHead, ExportRecord, ListRecord, MissingHead, NotedHeads, RecordRefusal,
    RecordScope, RecordVerdict, VerifyEvidence, VerifyRecord, export_heads, export_record,
    list_record, verify_evidence, verify_record,
};
use tradepost_dealer::consent::{ConsentCheck, ConsentFault, from_hex, hex};
use tradepost_dealer::staff::{AuditEntry, EVERYBODY, RecordCheck};
use tradepost_document::format::rfc3339;
use tradepost_document::json::{Value, json};
use tradepost_runtime::evidence;
use tradepost_server::clock::Clock;
use tradepost_store::Store;

use super::operator::{admin, failure, operator};
use super::output::table::{Cells, TableColumn};
use super::output::{CommandFailure, read_text, save};
use super::store_location::StoreOptions;
use super::{Context, Outcome, console, dealers};

mod stored;

/// First value of a file with the heads of the chains: format name and version.
const HEADS_FORMAT: &str = "tradepost heads 1";

/// Subcommands of `tradepost audit`.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the actions of people, newest first.
    List {
        /// Only the audit log of this dealer or publisher; * is the log of actions that concern all
        /// dealers.
        #[arg(long, visible_alias = "publisher", value_name = "ID")]
        dealer: Option<String>,
        /// Only entries about this lead.
        #[arg(long, value_name = "ID", conflicts_with = "dealer")]
        lead: Option<String>,
        /// Maximum number of entries.
        #[arg(long, value_name = "NUMBER", default_value_t = 100)]
        limit: u32,
        #[command(flatten)]
        place: StoreOptions,
    },
    /// Verify the hash chains of the audit log and of the consents, compare notes and staff with
    /// the audit log, and decrypt all encrypted data; or verify an exported file.
    Verify(Box<Verify>),
    /// Export the audit log: one line of JSON for each entry. `verify --file` checks the exported
    /// file.
    Export {
        /// Only the audit log of this dealer or publisher; * is the log of actions that concern all
        /// dealers.
        #[arg(long, visible_alias = "publisher", value_name = "ID")]
        dealer: Option<String>,
        /// Write the last hash of each chain instead. If you store this file elsewhere, `verify
        /// --head FILE` detects later that entries were cut off.
        #[arg(long, conflicts_with = "dealer")]
        head: bool,
        /// File to write, which must not exist; the default is standard output.
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        place: StoreOptions,
    },
}

#[derive(Debug, clap::Args)]
pub(super) struct Verify {
    /// File that `audit export --head` wrote. Each of its hashes must still be in its chain.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["evidence", "file"])]
    head: Option<PathBuf>,
    /// Verify a file of `leads evidence` instead, without a database.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    evidence: Option<PathBuf>,
    /// Also check that the audit log of this database names the file.
    #[arg(long, requires = "evidence")]
    recorded: bool,
    /// Verify a file of `audit export` instead, without a database.
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: StoreOptions,
}

/// Runs the command.
///
/// # Errors
/// Fails when the store or a file cannot be read; with exit code 1 when something was changed.
pub(super) fn run(command: Command, context: &Context) -> Outcome {
    match command {
        Command::List { dealer, lead, limit, place } => {
            let store = place.open(None, context)?;
            check_chain(dealer.as_deref(), &store, &place, context)?;
            list(&store, dealer.as_deref(), lead.as_deref(), limit, context)
        }
        Command::Verify(verify) => match (&verify.evidence, &verify.file) {
            (Some(file), _) => {
                let store =
                    verify.recorded.then(|| verify.place.open(None, context)).transpose()?;
                check_evidence(file, store.as_ref(), context)
            }
            (None, Some(file)) => check_file(file, context),
            (None, None) => {
                let heads = verify.head.as_deref().map(read_heads).transpose()?;
                check(&verify.place.open(None, context)?, heads.as_ref(), context)
            }
        },
        Command::Export { head: true, out, place, .. } => {
            let heads = heads(&place.open(None, context)?, context)?;
            save(out.as_deref(), format!("{heads:#}\n").as_bytes(), context.output)
        }
        Command::Export { dealer, out, place, .. } => {
            let store = place.open(None, context)?;
            check_chain(dealer.as_deref(), &store, &place, context)?;
            export(&store, dealer.as_deref(), out.as_deref(), context)
        }
    }
}

/// Checks that an audit log of this name can exist: a dealer's, or the one of all dealers.
pub(super) fn check_chain(
    chain: Option<&str>,
    store: &Store,
    place: &StoreOptions,
    context: &Context,
) -> Outcome {
    dealers::check_known(chain.filter(|chain| *chain != EVERYBODY), store, place, context)
}

fn list(
    store: &Store,
    dealer: Option<&str>,
    lead: Option<&str>,
    limit: u32,
    context: &Context,
) -> Outcome {
    let scope = match (lead, dealer) {
        (Some(lead), _) => RecordScope::Lead(lead.to_owned()),
        (None, Some(dealer)) => RecordScope::Chain(dealer.to_owned()),
        (None, None) => RecordScope::All,
    };
    let input = ListRecord { scope, limit };
    let found = list_record(&admin(store, &[]), &operator(context), input);
    let found = found.map_err(not_done)?;
    let record: Cells<'_, AuditEntry> =
        (TableColumn::Text("RECORD"), &|entry| entry.said.chain.clone());
    let now = Clock::system().now();
    console::entries_of(&[record], &found, evidence::entry, now, context);
    Ok(())
}

/// Exports the audit log, which is an entry itself.
fn export(store: &Store, dealer: Option<&str>, out: Option<&Path>, context: &Context) -> Outcome {
    let mut text = String::new();
    let mut take = |entry: &AuditEntry| {
        text.push_str(&evidence::entry(entry).to_string());
        text.push('\n');
    };
    let input = ExportRecord { chain: dealer.map(str::to_owned) };
    let exported = export_record(&admin(store, &[]), &operator(context), input, &mut take);
    exported.map_err(not_done)?;
    save(out, text.as_bytes(), context.output)
}

/// Returns the failure of an operation on the audit log that was not done.
pub(super) fn not_done(error: AdminError<RecordRefusal>) -> CommandFailure {
    failure(error, |refusal| match refusal {
        RecordRefusal::UnknownChain(chain) => {
            CommandFailure::usage(format!("there is no audit log of {chain:?}"))
        }
    })
}

fn heads(store: &Store, context: &Context) -> Result<Value, CommandFailure> {
    let exported = export_heads(&admin(store, &[]), &operator(context));
    let ChainChecks { records, consents } = exported.map_err(not_done)?;
    Ok(json!({
        "format": HEADS_FORMAT,
        "at": rfc3339(Clock::system().now()),
        "records": records.iter().map(record).collect::<Vec<_>>(),
        "consents": consents.iter().map(chain).collect::<Vec<_>>(),
    }))
}

fn record(check: &RecordCheck) -> Value {
    let of = &check.chain;
    let entries = check.entries;
    let head = hex(&check.head);
    json!({"of": of, "entries": entries, "head": head, "faults": check.faults})
}

fn chain(check: &ConsentCheck) -> Value {
    let fault =
        |(seq, fault): &(i64, ConsentFault)| json!({"record": seq, "fault": fault.summary()});
    json!({
        "of": check.dealer_id,
        "entries": check.records,
        "head": hex(&check.head),
        "faults": check.faults.iter().map(fault).collect::<Vec<_>>(),
    })
}

fn read_heads(file: &Path) -> Result<NotedHeads, CommandFailure> {
    let unusable = || {
        CommandFailure::usage(format!(
            "{} does not contain the last hashes of chains",
            file.display()
        ))
        .hint("`tradepost audit export --head --out FILE` writes them")
    };
    let read: Option<Value> = tradepost_document::json::from_str(&read_text(file)?).ok();
    let read = read
        .filter(|document| document.get("format").and_then(Value::as_str) == Some(HEADS_FORMAT));
    let read = read.ok_or_else(unusable)?;
    let list = |name: &str| -> Option<BTreeMap<String, ChainHead>> {
        let one = |head: &Value| {
            let hash = from_hex(head.get("head")?.as_str()?)?;
            let of = head.get("of")?.as_str()?.to_owned();
            Some((of, ChainHead { seq: head.get("entries")?.as_i64()?, hash }))
        };
        read.get(name)?.as_array()?.iter().map(one).collect()
    };
    let records = list("records").ok_or_else(unusable)?;
    let consents = list("consents").ok_or_else(unusable)?;
    Ok(NotedHeads { records, consents })
}

/// Checks every chain, and that each head noted earlier is still part of its chain.
fn check(store: &Store, heads: Option<&NotedHeads>, context: &Context) -> Outcome {
    let input = VerifyRecord { heads };
    let verdict = verify_record(&admin(store, &[]), &operator(context), input);
    let verdict = verdict.map_err(not_done)?;
    let RecordVerdict { chains, missing_entries, missing_consents, contents } = verdict;
    let ChainChecks { records, consents } = chains;
    let mut faults: Vec<String> = Vec::new();
    for RecordCheck { chain, faults: found, .. } in &records {
        let what = "of the audit log does not match, or one before it is missing";
        faults.extend(found.iter().map(|seq| format!("{chain}: entry {seq} {what}")));
    }
    for ConsentCheck { dealer_id, faults: found, .. } in &consents {
        let describe_fault = |(seq, fault): &(i64, ConsentFault)| {
            format!("{dealer_id}: record {seq} of the consents: {}", fault.summary())
        };
        faults.extend(found.iter().map(describe_fault));
    }
    let gone = "whose hash was exported, is missing or different";
    for MissingHead { chain, seq } in missing_entries {
        faults.push(format!("{chain}: entry {seq} of the audit log, {gone}"));
    }
    for MissingHead { chain, seq } in missing_consents {
        faults.push(format!("{chain}: record {seq} of the consents, {gone}"));
    }
    let contents = stored::ContentsCheck::from(contents);
    faults.extend(contents.fault_lines());
    let mut document = json!({
        "intact": faults.is_empty(),
        "records": records.iter().map(record).collect::<Vec<_>>(),
        "consents": consents.iter().map(chain).collect::<Vec<_>>(),
    });
    if let Some(members) = document.as_object_mut()
        && let Value::Object(more) = contents.document()
    {
        members.extend(more);
    }
    conclude(faults, document, context, || {
        print_lengths(&records, context);
        for ConsentCheck { dealer_id, records, head, .. } in &consents {
            let head = hex(head);
            context.output.line(format!("consents of {dealer_id}: {records} records, head {head}"));
        }
        contents.print(context);
        if heads.is_none() {
            context.output.talk(
                "a person with access to the database can cut off the end of a chain: `tradepost audit \
                 export --head` writes the hashes that detect it",
            );
        }
    })
}

/// Reports the result: a failure with the first mismatch in its message, or a document for programs
/// and lines for people.
fn conclude(
    faults: Vec<String>,
    document: Value,
    context: &Context,
    print: impl FnOnce(),
) -> Outcome {
    if let Some(first) = faults.first() {
        return Err(CommandFailure::new(1, format!("verification failed: {first}"))
            .hint("compare with a backup, and do not change the data that you have")
            .data(document)
            .lines(faults));
    }
    if context.output.is_json() {
        context.output.document(&document)
    } else {
        print()
    }
    Ok(())
}

/// Prints the lengths of the audit logs for people.
fn print_lengths<'c>(records: impl IntoIterator<Item = &'c RecordCheck>, context: &Context) {
    for RecordCheck { chain, entries, head, .. } in records {
        context.output.line(format!("audit log of {chain}: {entries} entries, head {}", hex(head)));
    }
}

fn check_file(file: &Path, context: &Context) -> Outcome {
    let mut checks: BTreeMap<String, RecordCheck> = BTreeMap::new();
    let mut unread = Vec::new();
    for (number, line) in read_text(file)?.lines().enumerate() {
        let value: Option<Value> = tradepost_document::json::from_str(line).ok();
        match value.as_ref().and_then(evidence::read_entry) {
            Some(entry) => {
                let of = entry.said.chain.clone();
                let check = checks.entry(of.clone()).or_insert_with(|| RecordCheck::new(of));
                check.take(&entry);
            }
            None => unread.push(format!("line {} is not an entry of an audit log", number + 1)),
        }
    }
    let chain_faults = |RecordCheck { chain, faults, .. }: &RecordCheck| {
        let what = "does not match, or one before it is missing";
        faults.iter().map(|seq| format!("{chain}: entry {seq} {what}")).collect::<Vec<_>>()
    };
    let faults: Vec<String> =
        unread.into_iter().chain(checks.values().flat_map(chain_faults)).collect();
    let document = json!({
        "intact": faults.is_empty(),
        "records": checks.values().map(record).collect::<Vec<_>>(),
    });
    conclude(faults, document, context, || print_lengths(checks.values(), context))
}

fn check_evidence(file: &Path, store: Option<&Store>, context: &Context) -> Outcome {
    let checked = evidence::check(&read_text(file)?).map_err(|why| {
        CommandFailure::usage(format!("{} {why}", file.display()))
            .hint("`tradepost leads evidence ID --out FILE` writes one")
    })?;
    let mut faults = checked.faults.clone();
    let digest = hex(&checked.digest);
    if let Some(store) = store {
        let lead_id = checked.lead_id.clone();
        let input = VerifyEvidence { lead_id, digest: checked.digest };
        let is_recorded = verify_evidence(&admin(store, &[]), &operator(context), input);
        if !is_recorded.map_err(not_done)? {
            faults.push("the audit log names no file with this content".to_owned());
        }
    }
    let (consents, entries) = checked.counts;
    let document = json!({
        "intact": faults.is_empty(), "lead_id": checked.lead_id, "dealer": checked.dealer_id,
        "sha256": digest, "consents": consents, "entries": entries,
        "recorded": store.map(|_| faults.is_empty()),
    });
    let id = &checked.lead_id;
    let summary = format!(
        "evidence of {id}: {consents} records of consents and {entries} entries match, sha256 {digest}"
    );
    conclude(faults, document, context, || context.output.line(summary))
}
