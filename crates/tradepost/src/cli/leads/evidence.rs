//! `tradepost leads evidence`: writes the evidence of a lead's consent to a file.

use std::path::PathBuf;

use tradepost_admin::leads::{TakeEvidence, record_evidence};
use tradepost_runtime::evidence;

use super::{StoreOptions, absent, refused};
use crate::cli::operator::{admin, failure, operator};
use crate::cli::output::save;
use crate::cli::{Context, Outcome};

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
    let admin = admin(&store, &[]);
    let actor = operator(context);
    let gathered = evidence::gather(&store, &arguments.id, actor.name(), admin.now)?;
    let document = gathered.ok_or_else(absent)?;
    let lead_id = arguments.id.clone();
    let input = TakeEvidence { lead_id, digest: evidence::digest(&document) };
    record_evidence(&admin, &actor, input).map_err(|error| failure(error, refused))?;
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
