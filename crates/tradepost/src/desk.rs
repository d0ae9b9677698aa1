//! The waist: whatever the binding, a message passes here on its way to a skill, and what comes
//! back is a reply, a refusal with a catalog code, or a fault of ours.
//!
//! The order is that of requirements §2.1: the rate limit, the skill, the consent, the rest of the
//! schema, the channel, the idempotency key, and then the dealer's own data.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use serde_json::Value;
use tradepost_wire::a2a::error::{Code as ProtocolCode, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::{Content, SendMessage};
use tradepost_wire::aap::{self, Call, DealerInformation, Reply, Skill, Terms, Version};
use tradepost_wire::catalog::Vocabulary as _;

use crate::aap::card::{self, PublishedCard};
use crate::aap::inventory::Inventory;
use crate::aap::lead::Submission;
use crate::aap::skills;
use crate::clock::Clock;
use crate::config::{Config, Dealer, Server};
use crate::fault::Fault;
use crate::limit::{Key, Limiter};
use crate::signing::key::SigningKey;
use crate::store::{Store, Transaction};

/// Everything that runs: the dealers on one store.
#[derive(Debug)]
pub struct Desk {
    /// How the process behaves.
    pub server: Server,
    /// The time.
    pub clock: Clock,
    store: Arc<Store>,
    sellers: Vec<Arc<Seller>>,
}

/// A dealer at work.
#[derive(Debug)]
pub struct Seller {
    /// Its configuration.
    pub dealer: Dealer,
    /// Its card.
    pub card: PublishedCard,
    profile: Arc<DealerInformation>,
    inventory: RwLock<Arc<Inventory>>,
    generation: AtomicI64,
    limiter: Limiter,
}

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// From where.
    pub address: IpAddr,
}

impl Caller {
    /// The name under which leads and idempotency keys are kept. Without credentials everybody is
    /// the same nobody.
    fn principal(&self) -> &'static str {
        "anonymous"
    }

    fn limit_key(&self) -> Key {
        Key::address(self.address)
    }
}

/// What a message came to.
#[derive(Debug)]
pub enum Outcome {
    /// The skill's answer, in a version of the profile.
    Reply(Version, Reply),
    /// The profile says no.
    Refusal(Version, aap::Refusal),
    /// The protocol says no.
    Protocol(ProtocolRefusal),
    /// We broke.
    Fault(Version, Fault),
}

/// The profile's yes or no, or a fault.
type Handled = Result<Result<Reply, aap::Refusal>, Fault>;

impl Desk {
    /// Sets everything up. `address` is where the process listens: cards name it when the
    /// configuration names no public address.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(
        config: Config,
        store: Arc<Store>,
        clock: Clock,
        address: std::net::SocketAddr,
    ) -> Result<Self, Fault> {
        let sellers = config
            .dealers
            .into_iter()
            .map(|dealer| Seller::open(dealer, &store, &clock, address).map(Arc::new))
            .collect::<Result<_, _>>()?;
        Ok(Self { server: config.server, clock, store, sellers })
    }

    /// The dealer that a `Host` header leads to.
    #[must_use]
    pub fn seller(&self, host: Option<&str>) -> Option<&Arc<Seller>> {
        let host = host.map(host_name).unwrap_or_default();
        self.sellers.iter().find(|seller| {
            let hosts = &seller.dealer.hosts;
            hosts.is_empty() || hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
        })
    }

    /// Whether requests can be answered.
    ///
    /// # Errors
    /// Why not.
    pub async fn check(&self) -> Result<(), Fault> {
        self.store.check().await
    }

    /// Takes over inventories that another process has replaced, and forgets callers that have
    /// gone. To be called now and then.
    ///
    /// # Errors
    /// When the store fails; what was loaded before stays in use.
    pub fn refresh(&self) -> Result<(), Fault> {
        for seller in &self.sellers {
            seller.limiter.tidy();
            let id = &seller.dealer.id;
            let generation = self.store.inventory_generation(id)?;
            if generation != seller.generation.load(Ordering::SeqCst) {
                let inventory = load(&self.store, &seller.dealer, self.clock.now())?;
                tracing::info!(dealer = %id, listings = inventory.len(), "inventory replaced");
                *seller.inventory.write().unwrap_or_else(PoisonError::into_inner) =
                    Arc::new(inventory);
                seller.generation.store(generation, Ordering::SeqCst);
            }
        }
        Ok(())
    }

    /// Answers a message. `activated` are the extensions that the transport names.
    pub async fn answer(
        &self,
        seller: &Arc<Seller>,
        caller: &Caller,
        activated: &[String],
        request: &SendMessage<'_>,
    ) -> Outcome {
        if let Err(refusal) = check_envelope(&seller.dealer, request) {
            return Outcome::Protocol(refusal);
        }
        let data: Vec<&Value> = request
            .message
            .parts
            .iter()
            .filter_map(|part| match part.content {
                Content::Data(data) => Some(data),
                Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
            })
            .collect();
        let named = activated.iter().chain(&request.message.extensions);
        let version = choose_version(&seller.dealer, named, data.first().copied());
        // A panic in a skill is a fault like any other: the caller learns an error id.
        let handled = AssertUnwindSafe(self.handle(seller, caller, version, &data))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Fault::new("answering a message", "a skill panicked")));
        match handled {
            Ok(Ok(reply)) => Outcome::Reply(version, reply),
            Ok(Err(refusal)) => Outcome::Refusal(version, refusal),
            Err(fault) => Outcome::Fault(version, fault),
        }
    }

    async fn handle(
        &self,
        seller: &Arc<Seller>,
        caller: &Caller,
        version: Version,
        data: &[&Value],
    ) -> Handled {
        if let Err(refusal) = seller.limiter.admit(&caller.limit_key()) {
            return Ok(Err(refusal));
        }
        let &[data] = data else {
            return Ok(Err(aap::data_part_problem(data.len())));
        };
        let (dealer, now) = (&seller.dealer, self.clock.now());
        let call = aap::identify(data, &dealer.skills)
            .and_then(|skill| aap::parse(skill, version, data, &terms(dealer, now)));
        match call {
            Ok(call) => self.act(seller, caller, call, now).await,
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    async fn act(
        &self,
        seller: &Arc<Seller>,
        caller: &Caller,
        call: Call,
        now: Timestamp,
    ) -> Handled {
        let inventory = seller.inventory();
        Ok(match call {
            Call::DealerInformation => Ok(skills::dealer_information(&seller.profile)),
            Call::InventoryFacets(filters) => Ok(skills::facets(&inventory, &filters)),
            Call::InventorySearch(search) => {
                Ok(skills::search(&inventory, &search, seller.dealer.search))
            }
            Call::InventoryVehicle(query) => {
                skills::vehicle(&seller.dealer, &inventory, &query, now)
            }
            Call::LeadSubmit(lead) => {
                let (seller, principal) = (Arc::clone(seller), caller.principal());
                let job = move |tx: &Transaction<'_>| {
                    Submission {
                        dealer: &seller.dealer,
                        inventory: &inventory,
                        principal,
                        now,
                        lead: &lead,
                        fresh_id: uuid::Uuid::now_v7,
                    }
                    .submit(tx)
                };
                self.store.write(job).await?
            }
        })
    }
}

impl Seller {
    fn open(
        dealer: Dealer,
        store: &Store,
        clock: &Clock,
        address: std::net::SocketAddr,
    ) -> Result<Self, Fault> {
        let base_url = base_url(&dealer, address);
        let card = card::publish(&dealer, &base_url, |hash| {
            let fresh = uuid::Uuid::now_v7().to_string();
            store.card_identity(&dealer.id, hash, fresh, clock.now())
        })?;
        // Signed once: a signature for every request would cost more than the request.
        let card = match &dealer.card_signing {
            None => card,
            Some(signing) => SigningKey::load(&signing.key_file, signing.kid.as_deref())
                .map_err(|why| why.to_string())
                .and_then(|key| {
                    let signed = card.sign(&key, signing.jku.as_deref(), clock.now());
                    signed.map_err(|problems| crate::signing::describe(&problems).join("; "))
                })
                .map_err(Fault::on("signing the agent card"))?,
        };
        let generation = store.inventory_generation(&dealer.id)?;
        let inventory = load(store, &dealer, clock.now())?;
        Ok(Self {
            card,
            profile: Arc::new(skills::profile(&dealer)),
            inventory: RwLock::new(Arc::new(inventory)),
            generation: AtomicI64::new(generation),
            limiter: Limiter::new(dealer.rate_limit, clock.clone()),
            dealer,
        })
    }

    /// What is on offer now.
    #[must_use]
    pub fn inventory(&self) -> Arc<Inventory> {
        Arc::clone(&self.inventory.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn load(store: &Store, dealer: &Dealer, now: Timestamp) -> Result<Inventory, Fault> {
    let (listings, gone) = store.inventory(&dealer.id, now, dealer.tombstone_lifetime)?;
    Inventory::build(listings, gone).map_err(Fault::on("building the inventory index"))
}

/// The address under which the card says that the agent is: the public one, or the first host, or
/// where the process listens.
fn base_url(dealer: &Dealer, address: std::net::SocketAddr) -> String {
    if let Some(url) = &dealer.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    match dealer.hosts.first() {
        Some(host) => format!("https://{host}"),
        None if address.ip().is_unspecified() => format!("http://localhost:{}", address.port()),
        None => format!("http://{address}"),
    }
}

/// A `Host` header without its port.
fn host_name(host: &str) -> &str {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    name.trim_end_matches('.')
}

fn terms(dealer: &Dealer, now: Timestamp) -> Terms {
    Terms {
        now,
        clock_skew: dealer.leads.clock_skew,
        consent_lifetime: dealer.leads.consent_lifetime,
    }
}

/// What the protocol says about a message before anybody looks into its data (`E-031`, `E-032`,
/// `E-034`, C-25, C-26).
fn check_envelope(dealer: &Dealer, request: &SendMessage<'_>) -> Result<(), ProtocolRefusal> {
    if request.message.task_id.is_some() {
        let message = "this agent keeps no tasks; leave taskId out";
        return Err(ProtocolRefusal::new(ProtocolCode::TaskNotFound, message));
    }
    if request.push_notification_config {
        let message = "this agent sends no push notifications; the answer comes at once";
        return Err(ProtocolRefusal::new(ProtocolCode::PushNotificationNotSupported, message));
    }
    let unreadable = request.message.parts.iter().any(|part| {
        let media_type = part.media_type.as_deref().unwrap_or_default();
        matches!(part.content, Content::Data(_)) && !aap::accepts_media_type(media_type)
    });
    if unreadable {
        let message = "a data part must have the media type application/json or of an AAP request";
        return Err(ProtocolRefusal::new(ProtocolCode::ContentTypeNotSupported, message)
            .with("supportedMediaTypes", "application/json, application/*+json"));
    }
    let modes = &request.accepted_output_modes;
    let readable = |mode: &String| {
        let essence = mode.split(';').next().unwrap_or_default().trim();
        matches!(essence, "*/*" | "application/*" | "application/json")
            || Skill::ALL.iter().any(|skill| skill.response_media_type() == essence)
    };
    if dealer.strict_output_modes && !modes.is_empty() && !modes.iter().any(readable) {
        let message = "acceptedOutputModes must include application/json or an AAP response type";
        return Err(ProtocolRefusal::new(ProtocolCode::ContentTypeNotSupported, message));
    }
    Ok(())
}

/// The profile version of a message: the highest that it names, else the one whose shape it has,
/// else the dealer's highest (C-34).
fn choose_version<'a>(
    dealer: &Dealer,
    named: impl Iterator<Item = &'a String>,
    data: Option<&Value>,
) -> Version {
    let spoken = |version: &Version| dealer.versions.contains(version);
    let highest = dealer.versions.last().copied().unwrap_or(Version::V1_1);
    named
        .filter_map(|uri| Version::ALL.iter().copied().find(|version| version.uri() == uri))
        .filter(spoken)
        .max()
        .or_else(|| {
            let old = data.is_some_and(aap::has_v1_0_shape);
            Some(Version::V1_0).filter(|version| old && spoken(version))
        })
        .unwrap_or(highest)
}
