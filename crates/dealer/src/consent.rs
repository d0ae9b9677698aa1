//! Evidence of consent: what a dealer can show when somebody asks who permitted what.
//!
//! Each grant, revocation and erasure is a record of a chain: its hash covers the hash of the record
//! before it, so none can be changed or taken out without breaking all that follow. A record holds
//! hashes and no personal data, so the chain stays whole when a customer is erased: whoever kept the
//! bytes can still show that they are the ones.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_wire::canonical;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::Value;
use tradepost_wire::words;

/// SHA-256.
pub type Hash = [u8; 32];

/// What stands before the first record of a chain.
pub const START: Hash = [0; 32];

words! {
    /// What happened to a consent.
    pub enum ConsentKind {
        /// The customer gave it, with a lead.
        Granted = "granted",
        /// The customer has withdrawn it.
        Revoked = "revoked",
        /// What was kept of it has been erased, but for its hash.
        Erased = "erased",
    }
}

/// A record of a dealer's chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentRecord {
    /// Whose chain.
    pub dealer_id: String,
    /// Its number in the chain, from 1, without a gap.
    pub seq: i64,
    /// The lead.
    pub lead_id: String,
    /// What happened.
    pub kind: ConsentKind,
    /// When, to the millisecond.
    pub at: Timestamp,
    /// Of a grant: the hash of the consent in canonical form.
    pub consent: Option<Hash>,
    /// Of a grant: the hash of the bytes as they were sent.
    pub body: Option<Hash>,
    /// Of a grant: the hash of a salt and of who sent it.
    pub caller: Option<Hash>,
}

impl ConsentRecord {
    /// The hash of the record after the one with the hash `previous`.
    #[must_use]
    pub fn hash(&self, previous: &Hash) -> Hash {
        let hash = |hash: &Option<Hash>| hash.as_ref().map(hex).unwrap_or_default();
        // None of these can hold a line break.
        let text = [
            // What it is and in which version: nothing else that is hashed begins so.
            "tradepost consent record 1".to_owned(),
            hex(previous),
            self.dealer_id.clone(),
            self.seq.to_string(),
            self.lead_id.clone(),
            self.kind.name().to_owned(),
            self.at.as_millisecond().to_string(),
            hash(&self.consent),
            hash(&self.body),
            hash(&self.caller),
        ];
        sha256(text.join("\n").as_bytes())
    }
}

/// How a lead came: what proves its consent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// The caller's credential, or `anonymous`.
    pub principal: String,
    /// The caller's address in the network.
    pub address: String,
    /// What the caller says that it is.
    pub user_agent: Option<String>,
    /// Random, because addresses are few enough to be tried.
    pub salt: Vec<u8>,
    /// The bytes as they were sent.
    pub body: Vec<u8>,
}

impl Evidence {
    /// The hash of who sent it.
    #[must_use]
    pub fn caller_hash(&self) -> Hash {
        let mut hasher = Sha256::new();
        hasher.update(&self.salt);
        let user_agent = self.user_agent.as_deref().unwrap_or_default();
        add_texts(&mut hasher, &[&self.principal, &self.address, user_agent]);
        hasher.finalize().into()
    }

    /// The hash of the bytes as they were sent.
    #[must_use]
    pub fn body_hash(&self) -> Hash {
        sha256(&self.body)
    }
}

/// The hash of the consent in a lead's payload, in canonical form.
#[must_use]
pub fn consent_hash(payload: &Value) -> Hash {
    let consent = payload.get("consent").unwrap_or(&Value::Null);
    sha256(canonical::to_string(consent).as_bytes())
}

/// What is wrong with a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentFault {
    /// Records before it are missing.
    Gap,
    /// It or a record before it was changed.
    Changed,
    /// The bytes as they were sent are gone, though nobody erased them.
    EvidenceMissing,
    /// The bytes as they were sent were changed.
    BodyChanged,
    /// Who sent them was changed.
    CallerChanged,
    /// The consent in the lead was changed.
    ConsentChanged,
}

impl ConsentFault {
    /// What to say of it.
    #[must_use]
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Gap => "records before it are missing",
            Self::Changed => "it was changed, or a record before it",
            Self::EvidenceMissing => "the bytes as sent are gone, and nobody erased them",
            Self::BodyChanged => "the bytes as sent were changed",
            Self::CallerChanged => "the caller's address or user agent was changed",
            Self::ConsentChanged => "the consent in the lead was changed",
        }
    }
}

/// What looking through a dealer's chain has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentCheck {
    /// Whose chain.
    pub dealer_id: String,
    /// How many records it has.
    pub records: usize,
    /// The hash of the last one: whoever writes it down elsewhere can tell later that none was cut
    /// off.
    pub head: Hash,
    /// Whether the hash that was asked for is one of the chain.
    pub has_expected: Option<bool>,
    /// What is wrong, by number of the record.
    pub faults: Vec<(i64, ConsentFault)>,
}

/// Looks through a chain, record by record.
#[derive(Debug)]
pub struct Checker {
    check: ConsentCheck,
    expected: Option<Hash>,
    next: i64,
}

impl Checker {
    /// For a dealer's chain. `expected` is a hash that should be in it.
    #[must_use]
    pub fn new(dealer_id: String, expected: Option<Hash>) -> Self {
        // Who wrote the head down while the chain was empty has this one.
        let has_expected = expected.map(|hash| hash == START);
        let check =
            ConsentCheck { dealer_id, records: 0, head: START, has_expected, faults: Vec::new() };
        Self { check, expected, next: 1 }
    }

    /// Takes the next record with the hash that is stored with it, what is kept of its evidence,
    /// and the lead's payload unless that was erased.
    pub fn take(
        &mut self,
        record: &ConsentRecord,
        stored: &Hash,
        kept: Option<&Evidence>,
        payload: Option<&Value>,
    ) {
        let mut fault = |fault| self.check.faults.push((record.seq, fault));
        if record.seq != self.next {
            fault(ConsentFault::Gap);
        }
        if record.hash(&self.check.head) != *stored {
            fault(ConsentFault::Changed);
        }
        if record.kind == ConsentKind::Granted {
            match (kept, payload) {
                (None, Some(_)) => fault(ConsentFault::EvidenceMissing),
                (Some(kept), _) => {
                    if record.body != Some(kept.body_hash()) {
                        fault(ConsentFault::BodyChanged);
                    }
                    if record.caller != Some(kept.caller_hash()) {
                        fault(ConsentFault::CallerChanged);
                    }
                }
                // Erased with the lead. The hashes stay, for whoever kept the bytes.
                (None, None) => {}
            }
            if payload.is_some_and(|payload| record.consent != Some(consent_hash(payload))) {
                fault(ConsentFault::ConsentChanged);
            }
        }
        if self.expected == Some(*stored) {
            self.check.has_expected = Some(true);
        }
        self.check.records += 1;
        // Of what is stored: a record that was changed is one fault, and
        // not one for each that follows.
        self.check.head = *stored;
        self.next = record.seq.saturating_add(1);
    }

    /// What was found.
    #[must_use]
    pub fn finish(self) -> ConsentCheck {
        self.check
    }
}

/// A hash as people write it.
#[must_use]
pub fn hex(hash: &Hash) -> String {
    tradepost_wire::format::hex(hash)
}

/// Reads a hash that [`hex`] wrote.
#[must_use]
pub fn from_hex(text: &str) -> Option<Hash> {
    let text = text.trim();
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..32).map(byte).collect();
    bytes?.try_into().ok()
}

/// Adds texts to what is hashed, each with its length, so that none can begin where another ends.
pub(crate) fn add_texts(hasher: &mut Sha256, texts: &[&str]) {
    for text in texts {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
}

fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}
