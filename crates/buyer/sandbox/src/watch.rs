//! Grades a buyer: every request is compared with earlier requests and answers.
//!
//! One grader grades one buyer, whatever name its requests state. Memory is bounded: of intents, keys, messages,
//! grants and vehicles the entry used longest ago is forgotten, of exchanges and findings the oldest.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use tradepost_aap::Skill;
use tradepost_document::cache::BoundedCache;
use tradepost_document::problem::clip;

use super::reply::BuyerReply;
use super::script::{AskedFor, RequestBudget};
use super::sent::{Digest, SentRequest};

mod doubt;
mod finding;

pub use doubt::UnknownResult;
pub use finding::{FindingKind, FindingLevel};

/// Maximum number of entries each for intents, keys, messages, grants and vehicles.
const MAX_REMEMBERED: usize = 10_000;

/// Maximum number of exchanges, and of findings, in a report.
const MAX_LISTED: usize = 1_000;

/// Grader of one buyer.
#[derive(Debug)]
pub struct BuyerGrader {
    budget: RequestBudget,
    /// Number of requests.
    pub(super) requests: u64,
    retries: u32,
    card_read: bool,
    intents: BoundedCache<Digest, BuyerIntent>,
    /// Intent of each key, and the exchange in which the key was first used.
    keys: BoundedCache<String, (Digest, u64)>,
    messages: BoundedCache<String, Digest>,
    grants: BoundedCache<Digest, BTreeSet<String>>,
    /// Vehicles that the seller has reported as gone.
    unavailable_vehicles: BoundedCache<String, ()>,
    /// Most recent exchanges.
    pub(super) exchanges: VecDeque<GradedExchange>,
    /// Most recent findings.
    pub(super) findings: VecDeque<BuyerMistake>,
    /// Number of findings by kind, in the order of the catalog.
    pub(super) counts: Vec<(FindingKind, u64)>,
}

impl Default for BuyerGrader {
    fn default() -> Self {
        Self {
            budget: RequestBudget::default(),
            requests: 0,
            retries: 0,
            card_read: false,
            intents: BoundedCache::new(MAX_REMEMBERED),
            keys: BoundedCache::new(MAX_REMEMBERED),
            messages: BoundedCache::new(MAX_REMEMBERED),
            grants: BoundedCache::new(MAX_REMEMBERED),
            unavailable_vehicles: BoundedCache::new(MAX_REMEMBERED),
            exchanges: VecDeque::new(),
            findings: VecDeque::new(),
            counts: Vec::new(),
        }
    }
}

/// Request and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GradedExchange {
    /// Number, counted from 1.
    pub number: u64,
    /// Time of arrival.
    pub at: Timestamp,
    /// Target of the request.
    pub target: Option<AskedFor>,
    /// Names of the payload's members.
    pub members: Vec<String>,
    /// Digest that the attempts of one intent share.
    pub intent: Option<Digest>,
    /// Number of the attempt within its intent.
    pub attempt: u32,
    /// True when the request had an idempotency key.
    pub keyed: bool,
    /// Rule that decided, counted from 1.
    pub rule: Option<usize>,
    /// Reply; `None` until the request is answered.
    pub reply: Option<BuyerReply>,
}

/// Mistake of a buyer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuyerMistake {
    /// Kind of mistake.
    pub finding: FindingKind,
    /// Number of the exchange.
    pub exchange: u64,
    /// Details, without personal data.
    pub message: String,
}

/// Intent of a buyer, over all its attempts.
#[derive(Debug)]
struct BuyerIntent {
    attempts: u32,
    first: Timestamp,
    /// Time at which the last attempt was answered, or arrived if it is unanswered.
    last: Timestamp,
    number: u64,
    reply: Option<BuyerReply>,
    circumstances: Digest,
    key: Option<String>,
    /// True when the request has an effect, as a lead has.
    has_effect: bool,
    /// True when the attempt before the last one left the effect in doubt.
    was_in_doubt: bool,
    /// True when the seller has executed the request.
    taken: bool,
}

impl BuyerGrader {
    /// Creates a grader with this budget. With `has_card` the buyer is expected to read the card first.
    #[must_use]
    pub fn new(budget: RequestBudget, has_card: bool) -> Self {
        Self { budget, card_read: !has_card, ..Self::default() }
    }

    /// Grades a request on arrival. Returns its number and the number of the attempt.
    pub fn arrived(&mut self, sent: &SentRequest, at: Timestamp) -> (u64, u32) {
        self.requests += 1;
        let number = self.requests;
        for (finding, message) in &sent.findings {
            self.find(*finding, number, message.clone());
        }
        match sent.target {
            Some(AskedFor::Card) => self.card_read = true,
            Some(AskedFor::Skill(_) | AskedFor::Operation(_)) | None if !self.card_read => {
                // Set so that later messages do not repeat this finding.
                self.card_read = true;
                self.find(
                    FindingKind::CardUnread,
                    number,
                    "a message came before the card was read",
                );
            }
            Some(AskedFor::Skill(_) | AskedFor::Operation(_) | AskedFor::Tool(_)) | None => {}
        }
        let attempt = sent.intent.map_or(1, |intent| self.intent(sent, intent, number, at));
        if sent.wants_key() {
            self.key(sent, number);
        }
        if sent.skill() == Some(Skill::LeadSubmit) {
            self.lead(sent, number);
        }
        let exchange = GradedExchange {
            number,
            at,
            target: sent.target,
            members: sent.members(),
            intent: sent.intent,
            attempt,
            keyed: sent.key.is_some(),
            rule: None,
            reply: None,
        };
        push(&mut self.exchanges, exchange);
        (number, attempt)
    }

    /// Records the rule that decided about a request.
    pub fn decided(&mut self, number: u64, rule: usize) {
        if let Some(exchange) = self.exchange(number) {
            exchange.rule = Some(rule + 1);
        }
    }

    /// Records the reply to a request; `taken` is true when the seller has executed it.
    pub fn answered(
        &mut self,
        number: u64,
        sent: &SentRequest,
        reply: &BuyerReply,
        taken: bool,
        at: Timestamp,
    ) {
        if let Some(exchange) = self.exchange(number) {
            exchange.reply = Some(reply.clone());
        }
        if let Some(intent) = sent.intent.and_then(|intent| self.intents.get(&intent))
            && intent.number == number
        {
            (intent.reply, intent.last) = (Some(reply.clone()), at);
            intent.taken |= taken;
        }
        let refused_for_good = matches!(reply, BuyerReply::Refusal { retryable: false, .. });
        // Only an executed request binds a key: a refused one is corrected and sent again under the same key.
        if let Some(key) = sent.key.as_ref().filter(|_| refused_for_good)
            && self.keys.get(key).is_some_and(|(_, since)| *since == number)
        {
            self.keys.remove(key);
        }
        let unavailable = matches!(reply, BuyerReply::Refusal { code, .. }
            if code == "VEHICLE_UNAVAILABLE" || code == "VEHICLE_NOT_FOUND");
        for (name, id) in sent.vehicle() {
            let vehicle = format!("{name} {id}");
            if unavailable {
                self.unavailable_vehicles.insert(vehicle, ());
            } else if *reply == BuyerReply::Success && sent.skill() == Some(Skill::InventoryVehicle)
            {
                // A vehicle that the seller offers again may be requested again.
                self.unavailable_vehicles.remove(&vehicle);
            }
        }
    }

    /// Records a finding that belongs to no message.
    pub fn find_elsewhere(&mut self, finding: FindingKind, message: &str) {
        let number = self.requests;
        self.find(finding, number, message);
    }

    fn intent(&mut self, sent: &SentRequest, digest: Digest, number: u64, at: Timestamp) -> u32 {
        if let Some(id) = &sent.message_id {
            match self.messages.get(id) {
                Some(known) if *known != digest => {
                    let message = "another message had this id";
                    self.find(FindingKind::MessageIdReused, number, message);
                }
                Some(_) => {}
                None => self.messages.insert(id.clone(), digest),
            }
        }
        let new_intent = BuyerIntent {
            attempts: 1,
            first: at,
            last: at,
            number,
            reply: None,
            circumstances: sent.circumstances,
            key: sent.key.clone(),
            has_effect: sent.has_effect(),
            was_in_doubt: false,
            taken: false,
        };
        let Some(known) = self.intents.get(&digest) else {
            self.intents.insert(digest, new_intent);
            return 1;
        };
        let previous = std::mem::replace(known, new_intent);
        let (is_new_intent, found) = grade_repetition(&previous, sent, self.budget, at);
        if !is_new_intent {
            (known.attempts, known.first) = (previous.attempts + 1, previous.first);
            (known.was_in_doubt, known.taken) = (previous.is_in_doubt(), previous.taken);
            self.retries = self.retries.saturating_add(1);
        }
        let attempts = known.attempts;
        let elapsed = known.first.duration_until(at);
        for (finding, message) in found {
            self.find(finding, number, message);
        }
        let RequestBudget { attempts: most, elapsed: longest, retries, .. } = self.budget;
        if !is_new_intent && attempts > most {
            let message = format!("attempt {attempts} of an intent; {most} are permitted");
            self.find(FindingKind::BudgetAttempts, number, message);
        }
        if !is_new_intent && elapsed > longest {
            let message = format!("{elapsed:#} after the first attempt; {longest:#} are permitted");
            self.find(FindingKind::BudgetElapsed, number, message);
        }
        if !is_new_intent && self.retries > retries {
            let message = format!("retry {} in all; {retries} are permitted", self.retries);
            self.find(FindingKind::BudgetRetries, number, message);
        }
        attempts
    }

    fn key(&mut self, sent: &SentRequest, number: u64) {
        let noun = sent.noun();
        match (&sent.key, sent.intent) {
            (Some(key), Some(intent)) => match self.keys.get(key) {
                Some((known, since)) if *known != intent => {
                    let message = format!("exchange {since} used this key for another {noun}");
                    self.find(FindingKind::KeyReused, number, message);
                }
                Some(_) => {}
                None => self.keys.insert(key.clone(), (intent, number)),
            },
            (None, _) => {
                let message = format!("the {noun} has no idempotency_key");
                self.find(FindingKind::KeyMissing, number, message);
            }
            (Some(_), None) => {}
        }
    }

    fn lead(&mut self, sent: &SentRequest, number: u64) {
        if let Some(consent) = &sent.consent {
            match self.grants.get(&consent.grant) {
                Some(before) if !consent.channels.is_subset(before) => {
                    // Counted as permitted from now on, so that one extension is one finding.
                    before.extend(consent.channels.iter().cloned());
                    let message = "the same words of the same moment permit more than before";
                    self.find(FindingKind::ConsentStretched, number, message);
                }
                Some(_) => {}
                None => self.grants.insert(consent.grant, consent.channels.clone()),
            }
        }
        let unavailable = sent.vehicle().into_iter().find_map(|(name, id)| {
            self.unavailable_vehicles
                .get(&format!("{name} {id}"))
                .map(|()| format!("{name} {}", clip(id)))
        });
        if let Some(vehicle) = unavailable {
            let message = format!("the seller has said that {vehicle} is gone");
            self.find(FindingKind::VehicleGone, number, message);
        }
    }

    fn exchange(&mut self, number: u64) -> Option<&mut GradedExchange> {
        self.exchanges.iter_mut().rev().find(|exchange| exchange.number == number)
    }

    fn find(&mut self, finding: FindingKind, exchange: u64, message: impl Into<String>) {
        push(&mut self.findings, BuyerMistake { finding, exchange, message: message.into() });
        match self.counts.iter_mut().find(|(known, _)| *known == finding) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((finding, 1)),
        }
        self.counts.sort_unstable();
    }

    /// Returns the leads, messages to an agent, and tasks in doubt: the buyer cannot know whether the seller has
    /// them. The oldest comes first.
    #[must_use]
    pub fn in_doubt(&self) -> Vec<UnknownResult> {
        let intents = self.intents.iter();
        let open = intents.filter(|(_, intent)| intent.has_effect && intent.is_in_doubt());
        let mut doubts: Vec<_> =
            open.map(|(digest, intent)| UnknownResult::new(*digest, intent)).collect();
        doubts.sort_unstable_by_key(|doubt| doubt.exchange);
        doubts
    }
}

/// Returns true when a request begins a new intent, and the mistakes of sending it again.
fn grade_repetition(
    previous: &BuyerIntent,
    sent: &SentRequest,
    budget: RequestBudget,
    at: Timestamp,
) -> (bool, Vec<(FindingKind, String)>) {
    let mut found = Vec::new();
    let before = previous.number;
    let changed = sent.circumstances != previous.circumstances;
    let other_key = sent.key != previous.key || sent.key.is_none();
    let passed = previous.last.duration_until(at);
    let (is_new_intent, wait) = match &previous.reply {
        None | Some(BuyerReply::Nothing) => (false, None),
        Some(BuyerReply::Success) => (true, None),
        Some(BuyerReply::Refusal { retryable: true, wait, .. }) => (false, *wait),
        Some(BuyerReply::Refusal { code, .. }) => {
            let excused = changed || code == "IDEMPOTENCY_CONFLICT" && sent.key != previous.key;
            if !excused {
                let message = format!("exchange {before} was refused with {code}, for good");
                found.push((FindingKind::RetryOfFinal, message));
            }
            (excused, None)
        }
    };
    let refused_for_good =
        matches!(previous.reply, Some(BuyerReply::Refusal { retryable: false, .. }));
    if sent.skill() == Some(Skill::LeadSubmit) && other_key && !refused_for_good {
        let message = match (&previous.key, &sent.key) {
            (None, None) => format!("the lead of exchange {before} again, without a key"),
            _ => format!("the lead of exchange {before} again, under another key"),
        };
        found.push((FindingKind::LeadDoubled, message));
    }
    let doubled = match sent.target {
        Some(AskedFor::Operation(_)) => Some((FindingKind::MessageDoubled, "message", "id")),
        Some(AskedFor::Tool(_)) => Some((FindingKind::TaskDoubled, "task", "key")),
        Some(AskedFor::Skill(_) | AskedFor::Card) | None => None,
    };
    if let Some((finding, noun, name)) = doubled
        && sent.has_effect()
        && other_key
        && previous.is_in_doubt()
    {
        let message = format!("the {noun} of exchange {before} again, under another {name}");
        found.push((finding, message));
    }
    if is_new_intent || refused_for_good {
        return (is_new_intent, found);
    }
    let required_wait = wait.unwrap_or_default().min(budget.patience);
    if passed < required_wait {
        let message = format!("after {passed:#}; exchange {before} asked for {required_wait:#}");
        found.push((FindingKind::RetryEarly, message));
    } else if passed < budget.pause {
        let message = format!("{passed:#} after exchange {before}");
        found.push((FindingKind::RetryWithoutPause, message));
    }
    (false, found)
}

/// Appends to a list and drops its oldest item when it is full.
fn push<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == MAX_LISTED {
        list.pop_front();
    }
    list.push_back(item);
}
