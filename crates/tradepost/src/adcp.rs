//! A publisher that sells advertising (AdCP), at work in this process. What it does is in
//! `tradepost-publisher`; here is what it stands on, the store and the world outside, and what
//! stands on it: the agent that callers reach, and its card.

use std::sync::Arc;

use tradepost_publisher::profile::Profile;

use crate::clock::Clock;
use crate::config::{Origin, Publisher};
use crate::egress::{Egress, Resolver};
use crate::fault::Fault;
use crate::store::Store;

pub mod card;
pub mod exchanges;
pub mod invocation;
pub mod listing;
pub mod outside;
pub mod seller;
pub mod upstream;
pub mod vault;

use upstream::Upstream;

/// Sets a publisher of the configuration up. `origin` is where the process listens: the card names
/// it when the configuration names no public address.
///
/// # Errors
/// When the store fails, or this machine has no certificates to trust.
pub fn open(
    config: Publisher,
    store: &Arc<Store>,
    clock: &Clock,
    origin: Origin,
) -> Result<seller::PublisherAgent, Fault> {
    let Publisher { profile, front, public_url, catalogue: _, upstream, rates, call_loopback } =
        config;
    let at_host = || front.hosts.first().map(|host| format!("https://{host}"));
    let base_url = public_url.or_else(at_host).unwrap_or_else(|| origin.to_string());
    let profile: Arc<Profile> = Arc::new(profile);
    let egress = Egress::new(Resolver::system(), call_loopback);
    let upstream = upstream.map(|upstream| Upstream::new(upstream, clock)).transpose()?;
    let world = outside::Outside::new(&profile.id, rates, clock, egress).behind(upstream);
    let vault = vault::StoreVault::new(Arc::clone(store), &profile.id);
    let (vault, world) = (Arc::new(vault), Arc::new(world));
    seller::PublisherAgent::open(profile, front, vault, world, (store, clock), &base_url)
}
