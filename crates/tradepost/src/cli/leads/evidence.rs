//! `tradepost leads evidence`: what proves a lead's consent, as a file.

use std::path::PathBuf;

use tradepost_dealer::consent::hex;
use tradepost_dealer::staff::{Action, NewEntry};
use tradepost_server::clock::Clock;

use super::Place;
use crate::cli::output::{Failure, save};
use crate::cli::{Context, Outcome};
use crate::evidence;

/// Its arguments.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The lead.
    id: String,
    /// The file to write, which must not exist; standard output without it.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

/// Gathers it, records that it is taken away, and writes it.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let store = arguments.place.open(None, context)?;
    let (now, actor) = (Clock::system().now(), context.actor());
    let gathered = evidence::gather(&store, &arguments.id, &actor, now);
    let document = gathered.map_err(|fault| Failure::fault(&fault))?.ok_or_else(|| {
        Failure::usage("there is no such lead").hint("`tradepost leads list` names them")
    })?;
    let dealer = document.pointer("/lead/dealer").and_then(|it| it.as_str()).unwrap_or_default();
    // The record names the document by its hash: what turns up later can be told from a forgery.
    let taken = NewEntry {
        detail: Some(hex(&evidence::digest(&document))),
        ..context.entry(dealer, Action::EvidenceTaken, Some(&arguments.id))
    };
    store.record_all(vec![taken]).map_err(|fault| Failure::fault(&fault))?;
    if context.output.is_json() {
        let text = format!("{document:#}\n");
        return save(arguments.out.as_deref(), text.as_bytes(), context.output);
    }
    save(arguments.out.as_deref(), evidence::write(&document).as_bytes(), context.output)?;
    if let Some(file) = &arguments.out {
        let name = file.display();
        context
            .output
            .talk(format!("`tradepost audit verify --evidence {name}` checks it anywhere"));
    }
    Ok(())
}
