//! A publisher that sells advertising (AdCP), at work in this process. What it does is in
//! `tradepost-publisher`; here is what it stands on, the store and the world outside, and what
//! stands on it: the agent that callers reach, and its card.

use std::sync::Arc;
use std::time::Duration;

use tradepost_publisher::profile::Profile;

use crate::clock::Clock;
use crate::config::{Origin, Publisher};
use crate::egress::{Egress, Resolver};
use crate::fault::Fault;
use crate::outbox::Edge;
use crate::outbox::sender::HttpSender;
use crate::signing::key::SigningKey;
use crate::store::Store;

pub mod card;
pub mod exchanges;
pub mod identity;
pub mod invocation;
pub mod keys;
pub mod listing;
pub mod notices;
pub mod outside;
pub mod replay;
pub mod seller;
pub mod signers;
pub mod upstream;
pub mod vault;

/// How long a receiver of notifications may take.
const NOTICE_PATIENCE: Duration = Duration::from_secs(15);

/// Sets a publisher of the configuration up. `origin` is where the process listens: the card names
/// it when the configuration names no public address.
///
/// # Errors
/// When the store fails, a key cannot be read, or this machine has no certificates to trust.
pub fn open(
    config: Publisher,
    store: &Arc<Store>,
    clock: &Clock,
    origin: Origin,
) -> Result<seller::PublisherAgent, Fault> {
    let Publisher {
        mut profile,
        front,
        public_url,
        brand_json_url,
        upstream,
        rates,
        call_loopback,
        ..
    } = config;
    let at_host = || front.hosts.first().map(|host| format!("https://{host}"));
    let public_url = public_url.or_else(at_host);
    let base_url = public_url.clone().unwrap_or_else(|| origin.to_string());
    let egress = Egress::new(Resolver::system(), call_loopback);
    let key = match &config.webhook_key {
        Some(file) => keys::WebhookKey::new(
            SigningKey::load(&file.key_file, file.kid.as_deref())
                .map_err(|why| Fault::new("reading the key of webhooks", why.to_string()))?,
        ),
        None => keys::WebhookKey::passing()?,
    };
    let key = Arc::new(key);
    profile.signing.webhooks = Some(key.algorithm());
    let own = base_url.starts_with("https://").then(|| format!("{base_url}{}", keys::BRAND_PATH));
    profile.signing.brand_json_url = brand_json_url.or(own);
    if profile.catalogue.agent_url.is_empty() {
        // Whatever a sandbox puts there is defined by this agent.
        profile.catalogue.agent_url.clone_from(&base_url);
    }
    let profile: Arc<Profile> = Arc::new(profile);
    let identity = profile.signing.requests.clone().map(|policy| {
        let agents = profile.agents.iter();
        let agents = agents.filter_map(|agent| {
            config.signers.get(&agent.id).map(|keys| (Arc::clone(agent), keys.clone()))
        });
        let signers = signers::Signers::open(egress.apart(), agents.collect())?;
        Ok::<_, Fault>(identity::Identity::new(policy, signers, public_url.as_deref()))
    });
    let identity = identity.transpose()?;
    let vault = vault::StoreVault::new(Arc::clone(store), &profile.id);
    let ground = notices::Ground {
        vault: Arc::new(vault.clone()),
        stir: vault.stir(),
        sender: HttpSender::new(egress.apart(), NOTICE_PATIENCE),
        clock: clock.clone(),
        edge: Edge::system(),
    };
    let notices = notices::Notices::new(&profile.id, Arc::clone(&key), ground);
    let upstream = upstream.map(|upstream| upstream::Upstream::new(upstream, clock)).transpose()?;
    let world = outside::Outside::new(&profile.id, rates, clock, egress).behind(upstream);
    let (vault, world) = (Arc::new(vault), Arc::new(world));
    let agent =
        seller::PublisherAgent::open(profile, front, vault, world, (store, clock), &base_url)?;
    Ok(agent.signing(&key, &base_url, Arc::new(notices)).believing(identity))
}
