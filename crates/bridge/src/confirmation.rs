//! Confirmations: what the first call of a lead hands out and the second one brings back. A token
//! is a moment and a keyed hash over everything that the user was asked about, so that whatever
//! changes between the two calls makes it worthless, and nothing has to be kept for those who
//! never come back.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use sha2::Sha256;

/// How long the user may think about it.
pub(super) const LIFETIME: SignedDuration = SignedDuration::from_mins(30);

/// How long a lead that was sent may be sent again with the same token.
pub(super) const REPEATABLE: SignedDuration = SignedDuration::from_hours(24);

/// How many leads are remembered for that.
const MAX_USED: usize = 10_000;

const MOMENT: usize = 8;
const HASH: usize = 32;

type Hash = [u8; HASH];

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejected {
    /// It is not that of this call.
    Invalid,
    /// It was, for too long.
    Expired,
    /// It was, until the person said no.
    Declined,
}

/// What a token that is accepted stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Confirmed {
    /// When the user's agreement first came back: the same for every repetition, because a lead
    /// is the same one only when all of it is.
    pub(super) granted_at: Timestamp,
    /// The key of this lead.
    pub(super) idempotency_key: String,
    /// Whether it came back before.
    pub(super) is_repeated: bool,
}

/// Hands tokens out and takes them back.
pub(super) struct ConfirmationTokens {
    secret: [u8; 32],
    used: Mutex<HashMap<Hash, TokenUse>>,
}

/// What became of a token that came back.
#[derive(Debug, Clone, Copy)]
struct TokenUse {
    /// When it first did.
    first: Timestamp,
    /// Until when it could come back for the first time.
    until: Timestamp,
    /// Whether the person said no.
    declined: bool,
}

impl ConfirmationTokens {
    /// `secret` is random, and new in each process.
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self { secret, used: Mutex::new(HashMap::new()) }
    }

    /// A token for `subject`, and until when it holds.
    pub(super) fn issue(&self, subject: &str, now: Timestamp) -> (String, Timestamp) {
        let until = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        // In whole seconds, as the token has it.
        let until = Timestamp::from_second(until.as_second()).unwrap_or(until);
        let mut bytes = until.as_second().to_be_bytes().to_vec();
        bytes.extend(self.mac("confirm", until, subject).finalize().into_bytes());
        (URL_SAFE_NO_PAD.encode(bytes), until)
    }

    /// Takes a token back.
    pub(super) fn redeem(
        &self,
        token: &str,
        subject: &str,
        now: Timestamp,
    ) -> Result<Confirmed, Rejected> {
        let (hash, until) = self.verified(token, subject)?;
        let (used, is_repeated) =
            self.first_use(hash, until, now, false).ok_or(Rejected::Expired)?;
        if used.declined {
            return Err(Rejected::Declined);
        }
        let granted_at = used.first;
        // Made of the same as the token, so that a repetition has the same key.
        let key = self.mac("key", until, subject).finalize().into_bytes();
        Ok(Confirmed {
            granted_at,
            idempotency_key: format!("mcp-{}", URL_SAFE_NO_PAD.encode(key)),
            is_repeated,
        })
    }

    /// Whether a token could still be taken back; it is not.
    pub(super) fn check_open(
        &self,
        token: &str,
        subject: &str,
        now: Timestamp,
    ) -> Result<(), Rejected> {
        let (hash, until) = self.verified(token, subject)?;
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        match used.get(&hash) {
            Some(known) if known.declined => Err(Rejected::Declined),
            // A yes was given already, and needs no second question.
            Some(_) => Err(Rejected::Invalid),
            None if until <= now => Err(Rejected::Expired),
            None => Ok(()),
        }
    }

    /// Has a token be worth nothing any more: the person said no.
    pub(super) fn decline(&self, token: &str, subject: &str, now: Timestamp) {
        if let Ok((hash, until)) = self.verified(token, subject) {
            self.first_use(hash, until, now, true);
        }
    }

    fn verified(&self, token: &str, subject: &str) -> Result<(Hash, Timestamp), Rejected> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| Rejected::Invalid)?;
        let (moment, hash) = bytes.split_first_chunk::<MOMENT>().ok_or(Rejected::Invalid)?;
        let until = Timestamp::from_second(i64::from_be_bytes(*moment));
        let until = until.map_err(|_| Rejected::Invalid)?;
        let hash: Hash = hash.try_into().map_err(|_| Rejected::Invalid)?;
        // Compares in constant time.
        let verified = self.mac("confirm", until, subject).verify_slice(&hash);
        verified.map_err(|_| Rejected::Invalid)?;
        Ok((hash, until))
    }

    /// What became of this token when it came back first, and whether that was before; `None` when it
    /// would be too late, or nothing more can be remembered.
    fn first_use(
        &self,
        hash: Hash,
        until: Timestamp,
        now: Timestamp,
        declined: bool,
    ) -> Option<(TokenUse, bool)> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, known| now.duration_since(known.first) < REPEATABLE);
        // Before its end is looked at: what came back in time can be repeated later.
        if let Some(known) = used.get(&hash) {
            return Some((*known, true));
        }
        if until <= now {
            return None;
        }
        if used.len() >= MAX_USED {
            // One that is forgotten and comes back has the same key, but another moment of consent.
            // A no that is forgotten would be a yes: it stays until nothing can be had for the token.
            let spare = used.iter().filter(|(_, known)| !known.declined || known.until <= now);
            let oldest = spare.min_by_key(|(_, known)| known.first).map(|(hash, _)| *hash);
            match oldest {
                Some(oldest) => drop(used.remove(&oldest)),
                // A no finds room: tokens end soon.
                None if declined => {}
                None => return None,
            }
        }
        let known = TokenUse { first: now, until, declined };
        used.insert(hash, known);
        Some((known, false))
    }

    fn mac(&self, purpose: &str, until: Timestamp, subject: &str) -> Hmac<Sha256> {
        mac(&self.secret, purpose, until.as_second().to_be_bytes(), subject)
    }
}

/// The name of the session of this number.
pub(super) fn session(secret: &[u8; 32], number: u64) -> String {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend(mac(secret, "session", number.to_be_bytes(), "").finalize().into_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The number of the session of this name, when it is one.
pub(super) fn session_number(secret: &[u8; 32], name: &str) -> Option<u64> {
    let bytes = URL_SAFE_NO_PAD.decode(name).ok()?;
    let (number, hash) = bytes.split_first_chunk::<MOMENT>()?;
    mac(secret, "session", *number, "").verify_slice(hash).ok()?;
    Some(u64::from_be_bytes(*number))
}

fn mac(secret: &[u8; 32], purpose: &str, number: [u8; 8], subject: &str) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(secret);
    let mut mac = mac.unwrap_or_else(|_| unreachable!("HMAC takes keys of every length"));
    mac.update(purpose.as_bytes());
    // The purpose ends here, so that nothing of one kind is taken for another.
    mac.update(b"\0");
    mac.update(&number);
    mac.update(subject.as_bytes());
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_777_000_000 + minutes * 60).unwrap()
    }

    #[test]
    fn a_token_is_for_one_subject_and_one_time() {
        let confirmations = ConfirmationTokens::new([7; 32]);
        let (token, until) = confirmations.issue("this", at(0));
        assert_eq!(until, at(30));
        let redeem = |token: &str, subject, minutes| {
            confirmations.redeem(token, subject, at(minutes)).map(|confirmed| confirmed.granted_at)
        };
        assert_eq!(redeem(&token, "that", 1), Err(Rejected::Invalid));
        assert_eq!(redeem(&token, "this", 30), Err(Rejected::Expired));
        for damaged in ["", "x", "AAAA", &token[1..], &format!("{token}A"), &"A".repeat(54)] {
            assert_eq!(redeem(damaged, "this", 1), Err(Rejected::Invalid), "{damaged}");
        }
        let elsewhere = ConfirmationTokens::new([8; 32]);
        assert_eq!(elsewhere.redeem(&token, "this", at(1)), Err(Rejected::Invalid));
        assert_eq!(redeem(&token, "this", 1), Ok(at(1)));
    }

    #[test]
    fn what_was_declined_is_not_agreed_to_later() {
        let confirmations = ConfirmationTokens::new([7; 32]);
        let (token, _) = confirmations.issue("this", at(0));
        // A no to something else is none to this.
        confirmations.decline(&token, "that", at(1));
        confirmations.decline(&token, "this", at(2));
        assert_eq!(confirmations.redeem(&token, "this", at(3)), Err(Rejected::Declined));
        let (token, _) = confirmations.issue("this", at(4));
        assert!(confirmations.redeem(&token, "this", at(5)).is_ok());
        // What has been sent is not undone.
        confirmations.decline(&token, "this", at(6));
        assert!(confirmations.redeem(&token, "this", at(7)).is_ok());
    }

    /// As many others as are remembered, which came back at 2 and could until 30.
    fn fill(confirmations: &ConfirmationTokens, declined: bool) {
        let mut used = confirmations.used.lock().unwrap();
        for number in used.len()..MAX_USED {
            let mut hash = [0; HASH];
            hash[..8].copy_from_slice(&(number as u64).to_be_bytes());
            used.insert(hash, TokenUse { first: at(2), until: at(30), declined });
        }
    }

    #[test]
    fn a_no_is_remembered_however_many_others_come_back() {
        let confirmations = ConfirmationTokens::new([7; 32]);
        let (refused, _) = confirmations.issue("this", at(0));
        confirmations.decline(&refused, "this", at(1));
        fill(&confirmations, false);
        let (other, _) = confirmations.issue("that", at(2));
        assert!(confirmations.redeem(&other, "that", at(3)).is_ok());
        assert_eq!(confirmations.redeem(&refused, "this", at(4)), Err(Rejected::Declined));
        // Where everything that is remembered is a no, nothing more is agreed to.
        let confirmations = ConfirmationTokens::new([7; 32]);
        fill(&confirmations, true);
        let (token, _) = confirmations.issue("this", at(2));
        assert_eq!(confirmations.redeem(&token, "this", at(3)), Err(Rejected::Expired));
        assert!(confirmations.redeem(&token, "this", at(31)).is_ok(), "those are over by then");
    }

    #[test]
    fn a_session_is_one_that_was_given() {
        let secret = [7; 32];
        let name = session(&secret, 5);
        assert_eq!(session_number(&secret, &name), Some(5));
        for other in ["", "x", &name[1..], &session(&[8; 32], 5)] {
            assert_eq!(session_number(&secret, other), None, "{other}");
        }
    }

    #[test]
    fn a_repetition_is_the_same_lead() {
        let confirmations = ConfirmationTokens::new([7; 32]);
        let (token, _) = confirmations.issue("this", at(0));
        let first = confirmations.redeem(&token, "this", at(1)).unwrap();
        let again = Confirmed { is_repeated: true, ..first.clone() };
        assert_eq!(confirmations.redeem(&token, "this", at(600)), Ok(again));
        assert!(!first.is_repeated);
        let a_day_later = confirmations.redeem(&token, "this", at(1 + 24 * 60));
        assert_eq!(a_day_later, Err(Rejected::Expired));
        let (other, _) = confirmations.issue("this", at(5));
        let other = confirmations.redeem(&other, "this", at(6)).unwrap();
        assert_ne!(other.idempotency_key, first.idempotency_key);
        assert!((1..=128).contains(&first.idempotency_key.len()));
    }
}
