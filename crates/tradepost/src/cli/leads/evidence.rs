//! `tradepost leads evidence`: writes the evidence of a lead's consent to a file.

use std::path::PathBuf;

use tradepost_dealer::consent::hex;
use tradepost_dealer::staff::{AuditAction, NewAuditEntry};
use tradepost_server::clock::Clock;

use super::{StoreOptions, absent};
use crate::cli::output::save;
use crate::cli::{Context, Outcome};
use crate::evidence;

/// Arguments of `tradepost leads evidence`.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Arguments {
    /// Lead id.
    id: String,
    /// File to write, which must not exist; the default is standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: StoreOptions,
}

/// Collects the evidence, records the export in the audit log, and writes the file.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let store = arguments.place.open(None, context)?;
    let now = Clock::system().now();
    let actor = context.actor();
    let gathered = evidence::gather(&store, &arguments.id, &actor, now)?;
    let document = gathered.ok_or_else(absent)?;
    let dealer = document.pointer("/lead/dealer").and_then(|id| id.as_str()).unwrap_or_default();
    // The audit entry has the document's hash, so that a copy can be told from a forgery later.
    let taken = NewAuditEntry {
        detail: Some(hex(&evidence::digest(&document))),
        ..context.entry(dealer, AuditAction::EvidenceTaken, Some(&arguments.id))
    };
    store.record_all(vec![taken])?;
    let is_json = context.output.is_json();
    let text = if is_json { format!("{document:#}\n") } else { evidence::write(&document) };
    save(arguments.out.as_deref(), text.as_bytes(), context.output)?;
    if let Some(name) = arguments.out.as_ref().filter(|_| !is_json).map(|file| file.display()) {
        let hint =
            format!("`tradepost audit verify --evidence {name}` verifies the file on any machine");
        context.output.talk(hint);
    }
    Ok(())
}
