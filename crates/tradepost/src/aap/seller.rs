//! A dealer at work: one agent that answers AAP messages, each at once, and keeps no tasks.
//!
//! The order is that of requirements §2.1: the rate limit, the skill and its scope, the consent, the rest of the
//! schema, the channel, the idempotency key, and then the dealer's own data.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use futures_util::FutureExt as _;
use jiff::Timestamp;
use serde_json::Value;
use tradepost_wire::a2a::error::{Code, Refusal as ProtocolRefusal};
use tradepost_wire::a2a::{Content, Operation, SendMessage};
use tradepost_wire::aap::{self, Call, DealerInformation, Reply, Skill, Terms, Version};
use tradepost_wire::catalog::Vocabulary as _;

use super::card::{self, PublishedCard};
use super::inventory::Inventory;
use super::lead::Submission;
use super::skills;
use crate::auth::{Authenticator, Denied};
use crate::clock::Clock;
use crate::config::{Dealer, Origin};
use crate::desk::{Caller, Outcome};
use crate::fault::Fault;
use crate::gate;
use crate::limit::Limiter;
use crate::signing::key::SigningKey;
use crate::store::{Store, Transaction};

/// A dealer at work.
#[derive(Debug)]
pub struct Seller {
    /// Its configuration.
    pub dealer: Dealer,
    /// Its card.
    pub card: PublishedCard,
    store: Arc<Store>,
    clock: Clock,
    profile: Arc<DealerInformation>,
    inventory: RwLock<Arc<Inventory>>,
    generation: AtomicI64,
    limiter: Limiter,
    /// Lets callers in.
    pub auth: Authenticator,
}

/// The profile's yes or no, or a fault.
type Handled = Result<Result<Reply, No>, Fault>;

/// Why a message gets no reply.
enum No {
    /// The profile says so.
    Profile(aap::Refusal),
    /// The caller may not.
    Denied(Denied),
}

impl From<aap::Refusal> for No {
    fn from(refusal: aap::Refusal) -> Self {
        Self::Profile(refusal)
    }
}

impl Seller {
    /// Sets a dealer up. `origin` is where the process listens: the card names it when the
    /// configuration names no public address.
    ///
    /// # Errors
    /// When the store fails.
    pub fn open(
        dealer: Dealer,
        store: &Arc<Store>,
        clock: &Clock,
        origin: Origin,
    ) -> Result<Self, Fault> {
        let base_url = base_url(&dealer, origin);
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
            store: Arc::clone(store),
            clock: clock.clone(),
            profile: Arc::new(skills::profile(&dealer)),
            inventory: RwLock::new(Arc::new(inventory)),
            generation: AtomicI64::new(generation),
            limiter: Limiter::new(dealer.rate_limit, clock.clone()),
            auth: Authenticator::open(&dealer.id, dealer.auth.clone(), store, clock)?,
            dealer,
        })
    }

    /// What is on offer now.
    #[must_use]
    pub fn inventory(&self) -> Arc<Inventory> {
        Arc::clone(&self.inventory.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes over an inventory that another process has replaced, and forgets callers that have
    /// gone. To be called now and then.
    ///
    /// # Errors
    /// When the store fails; what was loaded before stays in use.
    pub fn refresh(&self) -> Result<(), Fault> {
        self.limiter.tidy();
        self.auth.tidy();
        let generation = self.store.inventory_generation(&self.dealer.id)?;
        if generation != self.generation.load(Ordering::SeqCst) {
            let inventory = load(&self.store, &self.dealer, self.clock.now())?;
            let listings = inventory.len();
            tracing::info!(dealer = %self.dealer.id, listings, "inventory replaced");
            *self.inventory.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(inventory);
            self.generation.store(generation, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Answers a message in one of these versions. `activated` are the extensions that the
    /// transport names.
    pub async fn answer(
        self: &Arc<Self>,
        caller: &Caller,
        versions: &[Version],
        activated: &[String],
        request: &SendMessage,
    ) -> Outcome {
        if let Err(refusal) = check_envelope(&self.dealer, request) {
            return Outcome::Protocol(refusal);
        }
        let data: Vec<&Value> = request
            .message
            .parts
            .iter()
            .filter_map(|part| match &part.content {
                Content::Data(data) => Some(data),
                Content::Text(_) | Content::Raw(_) | Content::Url(_) => None,
            })
            .collect();
        let named = [activated, &request.message.extensions];
        let version = choose_version(versions, named, data.first().copied());
        // A panic in a skill is a fault like any other: the caller learns an error id.
        let handled = AssertUnwindSafe(self.handle(caller, version, &data))
            .catch_unwind()
            .await
            .unwrap_or_else(|_| Err(Fault::new("answering a message", "a skill panicked")));
        match handled {
            Ok(Ok(reply)) => Outcome::Reply(version, reply),
            Ok(Err(No::Profile(refusal))) => Outcome::Refusal(version, refusal),
            Ok(Err(No::Denied(denied))) => Outcome::Denied(denied),
            Err(fault) => Outcome::Fault(version, fault),
        }
    }

    async fn handle(
        self: &Arc<Self>,
        caller: &Caller,
        version: Version,
        data: &[&Value],
    ) -> Handled {
        if let Err(refusal) = self.limiter.admit(&caller.limit_key()) {
            return Ok(Err(refusal.into()));
        }
        let &[data] = data else {
            return Ok(Err(aap::data_part_problem(data.len()).into()));
        };
        let (dealer, now) = (&self.dealer, self.clock.now());
        let skill = match aap::identify(data, &dealer.skills) {
            Ok(skill) => skill,
            Err(refusal) => return Ok(Err(refusal.into())),
        };
        if let Err(denied) = gate::check(&caller.principal, Operation::SendMessage, Some(skill)) {
            return Ok(Err(No::Denied(denied)));
        }
        match aap::parse(skill, version, data, &terms(dealer, now)) {
            Ok(call) => Ok(self.act(caller, call, now).await?.map_err(No::Profile)),
            Err(refusal) => Ok(Err(refusal.into())),
        }
    }

    async fn act(
        self: &Arc<Self>,
        caller: &Caller,
        call: Call,
        now: Timestamp,
    ) -> Result<Result<Reply, aap::Refusal>, Fault> {
        let inventory = self.inventory();
        Ok(match call {
            Call::DealerInformation => Ok(skills::dealer_information(&self.profile)),
            Call::InventoryFacets(filters) => Ok(skills::facets(&inventory, &filters)),
            Call::InventorySearch(search) => {
                Ok(skills::search(&inventory, &search, self.dealer.search))
            }
            Call::InventoryVehicle(query) => skills::vehicle(&self.dealer, &inventory, &query, now),
            Call::LeadSubmit(lead) => {
                let (seller, principal) = (Arc::clone(self), caller.principal.name.clone());
                let job = move |tx: &Transaction<'_>| {
                    Submission {
                        dealer: &seller.dealer,
                        inventory: &inventory,
                        principal: &principal,
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

fn load(store: &Store, dealer: &Dealer, now: Timestamp) -> Result<Inventory, Fault> {
    let (listings, gone) = store.inventory(&dealer.id, now, dealer.tombstone_lifetime)?;
    Inventory::build(listings, gone).map_err(Fault::on("building the inventory index"))
}

/// The address under which the card says that the agent is: the public one, or the first host, or
/// where the process listens. A host without a public address has a proxy before it, which has to
/// speak TLS on the usual port, unless the process does so itself.
fn base_url(dealer: &Dealer, origin: Origin) -> String {
    if let Some(url) = &dealer.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let port = origin.address.port();
    match dealer.hosts.first() {
        Some(host) if origin.secure && port != 443 => format!("https://{host}:{port}"),
        Some(host) => format!("https://{host}"),
        None if origin.address.ip().is_unspecified() => {
            format!("{}://localhost:{port}", if origin.secure { "https" } else { "http" })
        }
        None => origin.to_string(),
    }
}

fn terms(dealer: &Dealer, now: Timestamp) -> Terms {
    Terms {
        now,
        clock_skew: dealer.leads.clock_skew,
        consent_lifetime: dealer.leads.consent_lifetime,
    }
}

/// What the protocol says about a message before anybody looks into its data (`E-031`, `E-034`,
/// C-25, C-26).
fn check_envelope(dealer: &Dealer, request: &SendMessage) -> Result<(), ProtocolRefusal> {
    if request.message.task_id.is_some() {
        let message = "this agent keeps no tasks; leave taskId out";
        return Err(ProtocolRefusal::new(Code::TaskNotFound, message));
    }
    let unreadable = request.message.parts.iter().any(|part| {
        let media_type = part.media_type.as_deref().unwrap_or_default();
        matches!(part.content, Content::Data(_)) && !aap::accepts_media_type(media_type)
    });
    if unreadable {
        let message = "a data part must have the media type application/json or of an AAP request";
        return Err(ProtocolRefusal::new(Code::ContentTypeNotSupported, message)
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
        return Err(ProtocolRefusal::new(Code::ContentTypeNotSupported, message));
    }
    Ok(())
}

/// The profile version of a message (C-34). What the transport names counts before what the
/// message names; where neither names a version that is spoken here, all of them are possible.
/// Of several possible ones it is v1.0 for a payload of that shape, and else the highest.
pub(crate) fn choose_version(
    versions: &[Version],
    named: [&[String]; 2],
    data: Option<&Value>,
) -> Version {
    let spoken_of = |uris: &[String]| -> Vec<Version> {
        let is_named = |version: &&Version| uris.iter().any(|uri| uri == version.uri());
        versions.iter().filter(is_named).copied().collect()
    };
    let possible = named.into_iter().map(spoken_of).find(|versions| !versions.is_empty());
    let possible = possible.as_deref().unwrap_or(versions);
    if possible.contains(&Version::V1_0) && data.is_some_and(aap::has_v1_0_shape) {
        return Version::V1_0;
    }
    possible.iter().copied().max().unwrap_or(Version::V1_1)
}
