//! Push notifications (A2A §3.1.7 to §3.1.10, §4.3, §13.2): the operations on both bindings, what
//! receivers see, and where nothing may go.

mod delivery;
mod guard;
mod killed;
mod operations;

use tradepost_document::json::{Value, json};
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::outbox::{ClockAndRandom, OutboxSettings};

use crate::support::conformance::{ConformanceServer, start_pushing};

/// A resolver that knows these names and no other.
fn names(known: &'static [(&'static str, &'static [&'static str])]) -> Resolver {
    Resolver::new(move |host| {
        Box::pin(async move {
            let found = known.iter().find(|(name, _)| *name == host);
            let (_, addresses) = found.ok_or(std::io::ErrorKind::NotFound)?;
            Ok(addresses.iter().map(|text| text.parse().unwrap()).collect())
        })
    })
}

/// Names of buyers that are public, as far as anybody can tell.
const PUBLIC: &[(&str, &[&str])] =
    &[("buyer.example.com", &["8.8.8.8"]), ("other.example.com", &["2606:4700:4700::1111"])];

/// An agent as it runs in production, but for its resolver.
fn strict() -> ConformanceServer {
    start_pushing(
        Egress::new(names(PUBLIC), false),
        OutboxSettings::default(),
        ClockAndRandom::system(),
    )
}

/// An agent that may call this machine.
fn lenient() -> ConformanceServer {
    start_pushing(
        Egress::new(Resolver::system(), true),
        OutboxSettings::default(),
        ClockAndRandom::system(),
    )
}

/// A webhook at an address.
fn hook(task_id: &Value, id: &str, url: &str) -> Value {
    json!({"taskId": task_id, "id": id, "url": url})
}
