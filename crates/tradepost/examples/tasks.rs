//! The conformance agent with its tasks in a PostgreSQL that several processes share: what `faults/replicas`
//! does harm to.

use clap::Parser as _;
use tradepost_store::{DatabaseUrl, Store};

#[expect(dead_code, reason = "it is a program of its own, too")]
#[path = "../../seller/server/examples/conformance/main.rs"]
mod conformance;

/// Its arguments.
#[derive(Debug, clap::Parser)]
struct Shared {
    /// The database.
    #[arg(long)]
    database: DatabaseUrl,
    #[command(flatten)]
    agent: conformance::Arguments,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let shared = Shared::parse();
    let store = Store::connect(&shared.database)?;
    conformance::run(shared.agent, conformance::Stores::from_store(store)).await
}
