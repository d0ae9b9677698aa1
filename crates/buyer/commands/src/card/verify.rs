//! `tradepost card verify`: checks the signatures of a card.

use std::path::{Path, PathBuf};

use tradepost_client::discover::discover;
use tradepost_document::json::json;
use tradepost_server::clock::Clock;

use super::read;
use super::trust::{self, TrustReport};
use crate::discover::block_on;
use crate::network::NetworkArguments;
use crate::output::CommandFailure;
use crate::output::table::{self, TableColumn, TableWidth};
use crate::{Context, Outcome};

/// Arguments of `tradepost card verify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Card: a file, or a URL with https:// or http://.
    #[arg(value_name = "FILE|URL")]
    card: String,
    /// Trusted public keys: a JWK set, or one JWK.
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Host whose key sets are trusted when a signature names them (jku). Repeatable.
    #[arg(long, value_name = "HOST[:PORT]")]
    allow_jku: Vec<String>,
    /// Timeout of each answer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Runs the command.
///
/// # Errors
/// Fails when the card cannot be read, or is not trusted.
pub(super) fn run(arguments: &Arguments, context: &Context) -> Outcome {
    let keys = arguments.keys.as_deref().map(trust::keys).transpose()?.unwrap_or_default();
    let transport = arguments.network.transport(context, arguments.timeout)?;
    let text = if arguments.card.contains("://") {
        let found = block_on(discover(&transport, &arguments.card, None))?;
        found.card.raw.get().to_owned()
    } else {
        read(Path::new(&arguments.card))
            .map_err(|failure| failure.hint("for a card on the web, give its URL with https://"))?
    };
    let signed = trust::signed(&text)?;
    let now = Clock::system().now();
    let online = TrustReport::verify_online(&signed, &keys, now, &transport, &arguments.allow_jku);
    let report = block_on(async { Ok::<_, CommandFailure>(online.await) })?;
    report.judge()?;
    let document = json!({"trusted": true, "signatures": report.document()});
    let columns = ["kid", "alg", "verdict", "why"].map(TableColumn::Text);
    let table = table::rows(TableWidth::Terminal, &columns, &report.cells());
    context.output.answer(&document, format!("{table}\nthe card is trusted"));
    Ok(())
}
