//! Evidence of consent: what a dealer can prove about a customer's permission.
//!
//! Each grant, revocation and erasure is a record of a hash chain: its hash covers the hash of the
//! record before, so no record can be changed or removed without breaking all that follow. A record
//! holds hashes and no personal data, so the chain stays whole when a customer is erased, and
//! anyone who kept the sent bytes can still prove them.

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tradepost_document::canonical;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::Value;
use tradepost_document::words;

/// SHA-256.
pub type Sha256Hash = [u8; 32];

/// Hash before the first record of a chain.
pub const START: Sha256Hash = [0; 32];

words! {
    /// Kinds of events of a consent.
    pub enum ConsentKind {
        /// The customer gave consent with a lead.
        Granted = "granted",
        /// The customer withdrew consent.
        Revoked = "revoked",
        /// The stored evidence was erased, except for its hash.
        Erased = "erased",
    }
}

/// A record of a dealer's consent chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentRecord {
    /// The dealer.
    pub dealer_id: String,
    /// Number in the chain, from 1, without gaps.
    pub seq: i64,
    /// The lead.
    pub lead_id: String,
    /// Kind of event.
    pub kind: ConsentKind,
    /// Time, with millisecond precision.
    pub at: Timestamp,
    /// Hash of the consent in canonical form, for a grant.
    pub consent: Option<Sha256Hash>,
    /// Hash of the body as sent, for a grant.
    pub body: Option<Sha256Hash>,
    /// Salted hash of the sender, for a grant.
    pub caller: Option<Sha256Hash>,
}

impl ConsentRecord {
    /// Computes the hash of the record, given the hash of the record before.
    #[must_use]
    pub fn hash(&self, previous: &Sha256Hash) -> Sha256Hash {
        let hash = |hash: &Option<Sha256Hash>| hash.as_ref().map(hex).unwrap_or_default();
        // None of these can hold a line break.
        let text = [
            // A prefix with name and version, so that the hash cannot be mistaken for another.
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

/// Evidence of a consent: who sent the lead, and its bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConsentEvidence {
    /// The caller's credential, or `anonymous`.
    pub principal: String,
    /// The caller's network address.
    pub address: String,
    /// The caller's `User-Agent`.
    pub user_agent: Option<String>,
    /// Random salt, because addresses are few enough to be guessed from a plain hash.
    pub salt: Vec<u8>,
    /// The body as sent.
    pub body: Vec<u8>,
}

impl ConsentEvidence {
    /// Computes the salted hash of the sender.
    #[must_use]
    pub fn caller_hash(&self) -> Sha256Hash {
        let mut hasher = Sha256::new();
        hasher.update(&self.salt);
        let user_agent = self.user_agent.as_deref().unwrap_or_default();
        add_texts(&mut hasher, &[&self.principal, &self.address, user_agent]);
        hasher.finalize().into()
    }

    /// Computes the hash of the body as sent.
    #[must_use]
    pub fn body_hash(&self) -> Sha256Hash {
        sha256(&self.body)
    }
}

/// Computes the hash of the consent in a lead's payload, in canonical form.
#[must_use]
pub fn consent_hash(payload: &Value) -> Sha256Hash {
    let consent = payload.get("consent").unwrap_or(&Value::Null);
    sha256(canonical::to_string(consent).as_bytes())
}

/// A defect of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentFault {
    /// Records before this one are missing.
    Gap,
    /// This record or one before it was changed.
    Changed,
    /// The body as sent is missing without an erasure.
    EvidenceMissing,
    /// The body as sent was changed.
    BodyChanged,
    /// The sender was changed.
    CallerChanged,
    /// The consent in the lead was changed.
    ConsentChanged,
}

impl ConsentFault {
    /// Returns a description for people.
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

/// Result of checking a dealer's consent chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentCheck {
    /// The dealer.
    pub dealer_id: String,
    /// Number of records.
    pub records: usize,
    /// Hash of the last record. Written down elsewhere, it later shows whether records were cut
    /// off.
    pub head: Sha256Hash,
    /// True when the expected hash is in the chain; `None` when no hash was expected.
    pub has_expected: Option<bool>,
    /// Defects, by number of the record.
    pub faults: Vec<(i64, ConsentFault)>,
}

/// Checks a chain record by record.
#[derive(Debug)]
pub struct ChainChecker {
    check: ConsentCheck,
    expected: Option<Sha256Hash>,
    next: i64,
}

impl ChainChecker {
    /// Starts a check of a dealer's chain. `expected` is a hash that should be in it.
    #[must_use]
    pub fn new(dealer_id: String, expected: Option<Sha256Hash>) -> Self {
        // The head of an empty chain is `START`, so that hash is always found.
        let has_expected = expected.map(|hash| hash == START);
        let check =
            ConsentCheck { dealer_id, records: 0, head: START, has_expected, faults: Vec::new() };
        Self { check, expected, next: 1 }
    }

    /// Checks the next record, given the hash stored with it, its stored evidence, and the lead's
    /// payload unless that was erased.
    pub fn take(
        &mut self,
        record: &ConsentRecord,
        stored: &Sha256Hash,
        evidence: Option<&ConsentEvidence>,
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
            match (evidence, payload) {
                (None, Some(_)) => fault(ConsentFault::EvidenceMissing),
                (Some(evidence), _) => {
                    if record.body != Some(evidence.body_hash()) {
                        fault(ConsentFault::BodyChanged);
                    }
                    if record.caller != Some(evidence.caller_hash()) {
                        fault(ConsentFault::CallerChanged);
                    }
                }
                // The evidence was erased with the lead. The hashes remain for anyone who kept the
                // bytes.
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
        // Continues from the stored hash, so that one changed record is one defect and not one for
        // each record that follows.
        self.check.head = *stored;
        self.next = record.seq.saturating_add(1);
    }

    /// Returns the result.
    #[must_use]
    pub fn finish(self) -> ConsentCheck {
        self.check
    }
}

/// Formats a hash as hexadecimal digits.
#[must_use]
pub fn hex(hash: &Sha256Hash) -> String {
    tradepost_document::format::hex(hash)
}

/// Reads a hash that [`hex`] wrote.
#[must_use]
pub fn from_hex(text: &str) -> Option<Sha256Hash> {
    tradepost_document::format::bytes_from_hex(text)
}

/// Adds texts to a hash, each with its length, so that different lists of texts never hash alike.
pub(crate) fn add_texts(hasher: &mut Sha256, texts: &[&str]) {
    for text in texts {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
}

fn sha256(bytes: &[u8]) -> Sha256Hash {
    Sha256::digest(bytes).into()
}
