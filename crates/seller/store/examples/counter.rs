//! A whole agent on a store in a file: it counts slowly, for callers with an API key, and keeps its tasks over a restart.
//!
//! ```sh
//! cargo run -p tradepost-store --example counter -- data 127.0.0.1:8080
//! ```
//!
//! It prints a new key at each start; the callers of one name are the same caller. `5` counts to five, and a message
//! without a number is asked for one.

use std::error::Error;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tradepost_server::a2a::error::{A2aCode, A2aRefusal};
use tradepost_server::a2a::request::invalid_param;
use tradepost_server::auth::key::NewApiKey;
use tradepost_server::auth::{AuthDeps, AuthSettings};
use tradepost_server::prelude::*;
use tradepost_store::Store;

/// Maximum number to which the agent counts.
const MAX_NUMBER: u32 = 1_000;

/// Decides about a message.
fn decide(call: &MessageCall<'_>) -> Result<MessagePlan, A2aRefusal> {
    let text = call.message.text().unwrap_or_default().trim().to_owned();
    if text == "stop" {
        return Err(A2aRefusal::new(A2aCode::UnsupportedOperation, "cancel the task to stop it"));
    }
    let Ok(most) = text.parse::<u32>() else {
        return Ok(MessagePlan::work(async move |progress| {
            progress.status(TaskState::InputRequired, Some("up to which number?")).await
        }));
    };
    if most > MAX_NUMBER {
        return Err(invalid_param("message.parts[0].text", "must be at most 1000"));
    }
    let caller = call.context.caller.principal.name.clone();
    Ok(MessagePlan::work(async move |progress| {
        for number in 1..=most {
            progress.status(TaskState::Working, Some(&format!("{number} of {most}"))).await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let result = Artifact::new("count", vec![Part::text(most.to_string())]);
        progress.artifact(result, false, true).await?;
        let parts = vec![Part::text(format!("counted for {caller}"))];
        progress.status_with(TaskState::Completed, parts).await
    }))
}

/// Issues a key for a caller, and prints it.
fn issue_key(store: &Store, clock: &Clock) -> Result<(), Box<dyn Error>> {
    let key = NewApiKey::generate()?;
    store.add_api_key(key.for_caller("counter", "acme", None, clock.now()), true)?;
    writeln!(io::stdout(), "Authorization: Bearer {}", key.text)?;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "data".to_owned());
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(address).await?;
    let base_url = format!("http://{}", listener.local_addr()?);

    let clock = Clock::system();
    let store = Arc::new(Store::open(Path::new(&folder))?);
    issue_key(&store, &clock)?;
    let settings = AuthSettings { required: true, api_keys: true, ..AuthSettings::default() };
    let deps = AuthDeps::offline(Arc::clone(&store) as _, clock.clone());
    let auth = Authenticator::open("counter", settings, &deps)?;

    let card = card::describe("Counter", "Counts slowly.", &base_url);
    let agent = AgentBuilder::new("counter", card)
        .with_auth(auth)
        .with_store(Arc::clone(&store) as _)
        .build(|call| decide(&call))?;
    let settings = http::HttpSettings::default();
    let agents = AgentRegistry::new(settings, clock, store, vec![Arc::new(agent)]);
    writeln!(io::stdout(), "listening on {base_url}")?;
    http::serve(listener, agents, pending()).await?;
    Ok(())
}
