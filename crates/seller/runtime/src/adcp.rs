//! AdCP publisher in this process. Its behaviour is in `tradepost-publisher`; this module has its
//! dependencies, the store and outgoing calls, and what is built on it: the agent that callers
//! reach, and its card.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use tradepost_adcp::signing::SignedKind;
use tradepost_client::signed::Checklist;
use tradepost_client::signed::signers::{Signers, SigningAgent};
use tradepost_commands::published::GuardedWeb;
use tradepost_keys::private::SigningKey;
use tradepost_publisher::agent::BuyerAgent;
use tradepost_publisher::profile::{PublisherProfile, ToolEndpoint, ToolTransport};
use tradepost_publisher::publisher::Publisher as Selling;
use tradepost_server::auth::{AuthDeps, Authenticator};
use tradepost_server::card::{ENDPOINT_PATH, PublishedCard};
use tradepost_server::egress::{Egress, Resolver};
use tradepost_server::fault::InternalError;
use tradepost_server::http::mcp;
use tradepost_server::outbox::ClockAndRandom;
use tradepost_server::outbox::sender::HttpSender;
use tradepost_store::Store;

use crate::config::{ListenOrigin, PublisherConfig, WebhookKeyFile};
use seller::PublisherAgent;

pub mod ad_server;
pub mod card;
pub mod catalogue_file;
pub mod exchanges;
pub mod field_errors;
pub mod http;
pub mod identity;
pub mod invocation;
pub mod keys;
pub mod listing;
pub mod notices;
pub mod offline;
pub mod order_check;
pub mod orders;
pub mod product_findings;
pub mod replay;
pub mod sales;
pub mod seller;
pub mod services;
pub mod store;
pub mod upstream;

/// Maximum time for a receiver of notifications to respond.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(15);

/// Sets up a publisher of the configuration, whose answers may take up to `timeout`. `origin` is
/// where the process listens: the card names it when the configuration has no public address.
///
/// # Errors
/// Fails when the store fails, a key cannot be read, or the machine's certificates cannot be read.
pub fn open(
    config: PublisherConfig,
    store: &Arc<Store>,
    means: &AuthDeps,
    origin: ListenOrigin,
    timeout: Duration,
) -> Result<PublisherAgent, InternalError> {
    let clock = &means.clock;
    let mut profile = config.profile;
    let front = config.front;
    let destinations = config.deliveries;
    let has_upstream = config.upstream.is_some();
    let at_hosts = || front.hosts.iter().map(|host| format!("https://{host}")).collect();
    let mut addresses: Vec<_> = config.public_url.map_or_else(at_hosts, |url| vec![url]);
    if addresses.is_empty() {
        addresses.push(origin.to_string());
    }
    let base_url = addresses.first().cloned().unwrap_or_default();
    let egress = Egress::new(Resolver::system(), config.call_loopback);
    let key = Arc::new(match &config.webhook_key {
        Some(file) => keys::WebhookKey(load(file, "reading the key of webhooks")?),
        None => keys::WebhookKey::generate()?,
    });
    let governance = Arc::new(match &config.governance_key {
        Some(file) => keys::GovernanceKey(load(file, "reading the key of decisions")?),
        None => keys::GovernanceKey::generate()?,
    });
    let verifiers = config.verifiers.iter().map(|(url, secret)| {
        let why = |why| InternalError::new("reading the credential for a verifier", why);
        Ok((url.clone(), secret.read().map_err(why)?))
    });
    let verifiers = verifiers.collect::<Result<Vec<_>, InternalError>>()?;
    profile.signing.webhooks = Some(key.0.algorithm());
    // Published keys are trusted only over HTTPS.
    let own = base_url.starts_with("https://").then(|| format!("{base_url}{}", keys::BRAND_PATH));
    profile.signing.brand_json_url = config.brand_json_url.or(own);
    profile.endpoints = endpoints(&base_url);
    if profile.catalogue.agent_url.is_empty() {
        // By default this agent defines what its catalogue contains.
        profile.catalogue.agent_url.clone_from(&base_url);
    }
    let ad_server = config.ad_server.as_ref().map(|wanted| {
        let why = |why: String| InternalError::new("connecting to the ad server", why);
        ad_server::connect(wanted).map_err(why)
    });
    let ad_server = ad_server.transpose()?;
    profile.ad_server = config
        .ad_server
        .as_ref()
        .zip(ad_server.as_ref())
        .map(|(wanted, connected)| ad_server::profile(wanted, connected.as_ref()));
    let profile: Arc<PublisherProfile> = Arc::new(profile);
    let agents = profile.agents.iter().filter_map(|whose| {
        let keys = config.signers.get(&whose.id)?.clone();
        let id = whose.id.clone();
        let url = whose.url.clone();
        Some(SigningAgent { whose: Arc::clone(whose), id, url, keys })
    });
    let web = GuardedWeb::new(egress.apart(), clock.clone());
    let set_up = seller::PublisherSetUp {
        base_url: base_url.clone(),
        destinations: destinations.into_iter().map(|wanted| wanted.delivery).collect(),
        has_upstream,
        ad_server: ad_server.clone(),
        web: GuardedWeb::new(egress.apart(), clock.clone()),
    };
    let identity = identity(&profile, agents.collect(), web, store, clock.now(), &addresses)?;
    let publisher_store = store::SqlPublisherStore::new(Arc::clone(store), &profile.id);
    let deps = notices::NotificationDeps {
        publisher_store: Arc::new(publisher_store.clone()),
        notify: publisher_store.notify(),
        sender: HttpSender::new(egress.apart(), NOTICE_TIMEOUT),
        clock: clock.clone(),
        edge: ClockAndRandom::system(),
        shared: Some(Arc::clone(store)),
    };
    let looked_through = Arc::new(publisher_store.clone());
    let notices = notices::Notices::new(&profile.id, Arc::clone(&key), deps);
    let connection = config.ad_server.as_ref().zip(ad_server.clone());
    let orders = connection.map(|(wanted, connected)| {
        Arc::new(ad_server::carrier(wanted, connected, &profile, &publisher_store, clock))
    });
    let upstream =
        config.upstream.map(|server| upstream::SoldOutClient::new(server, clock)).transpose()?;
    let signer = services::SubscriberSigner {
        key: Arc::clone(&key),
        sender: HttpSender::new(egress.apart(), services::CHALLENGE_TIMEOUT),
        clock: clock.clone(),
        agent_url: format!("{base_url}{}", mcp::PATH),
    };
    let permits = store.permits();
    let mut services = services::PublisherServices::new(
        &profile.id,
        config.rates,
        permits.as_ref(),
        clock,
        egress,
    );
    services.upstream = upstream;
    services.orders = ad_server
        .map(|connected| order_check::OrderChecker::new(&profile.id, connected, clock, timeout));
    services.governance = Some(Arc::clone(&governance));
    services.signer = Some(signer);
    services.verifiers = services::Credentials(verifiers);
    let services = services.answering_within(timeout);
    let publisher =
        Selling::new(Arc::clone(&profile), Arc::new(publisher_store), Arc::new(services));
    let identify = |hash: &str| {
        store.card_identity(&profile.id, hash, uuid::Uuid::now_v7().to_string(), clock.now())
    };
    let describe = |_: &str| card::describe(&publisher, &front, &base_url);
    let card = PublishedCard::new(describe, identify)?;
    let auth = Authenticator::open(&profile.id, front.auth.clone(), means)?;
    let shown = [key.public(), governance.public()];
    Ok(PublisherAgent {
        documents: seller::Documents::new(&profile.name, &shown, &base_url),
        auth: auth.with_tokens(front.tokens.clone()),
        tools: publisher.tools(),
        publisher: RwLock::new(publisher),
        menu: config.catalogue.map(catalogue_file::CatalogueFile::new),
        set_up,
        publisher_store: looked_through,
        notices: Arc::new(notices),
        orders,
        clock: clock.clone(),
        profile,
        front,
        card,
        identity,
        timeout,
        listing: OnceLock::default(),
        exchanges: exchanges::Exchanges::default(),
        cleaned_up_at: AtomicU64::default(),
    })
}

fn load(file: &WebhookKeyFile, doing: &'static str) -> Result<SigningKey, InternalError> {
    let read = SigningKey::load(&file.key_file, file.kid.as_deref());
    read.map_err(|why| InternalError::new(doing, why.to_string()))
}

/// Returns the verification of request signatures, if the publisher has it enabled.
fn identity(
    profile: &PublisherProfile,
    agents: Vec<SigningAgent<Arc<BuyerAgent>>>,
    web: GuardedWeb,
    store: &Arc<Store>,
    now: Timestamp,
    addresses: &[String],
) -> Result<Option<identity::SignatureIdentity>, InternalError> {
    let Some(policy) = profile.signing.requests.clone() else { return Ok(None) };
    let signers = Signers::open(Arc::new(web), agents, |path| std::fs::read_to_string(path))
        .map_err(InternalError::on("reading the file with a buyer agent's keys"))?;
    let (used, replay) = replay::StoredSignatures::open(store, &profile.id, now)?;
    let checklist = Checklist::new(SignedKind::Request, policy.digest, signers, replay);
    Ok(Some(identity::SignatureIdentity::new(policy, checklist, used, addresses)))
}

/// Returns the endpoints of a publisher under `base_url`.
fn endpoints(base_url: &str) -> Vec<ToolEndpoint> {
    [(ToolTransport::Mcp, mcp::PATH), (ToolTransport::A2a, ENDPOINT_PATH)]
        .map(|(transport, path)| ToolEndpoint { transport, url: format!("{base_url}{path}") })
        .into()
}
