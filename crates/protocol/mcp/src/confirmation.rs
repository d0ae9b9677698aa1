//! Confirmation tokens: the first call of a tool that needs consent issues one and the second call returns it. A
//! token is an expiry time and an HMAC over everything that the user was asked about. Any change between the two
//! calls makes it invalid, and nothing has to be stored for calls that are never completed. What was used or refused is
//! remembered by the owner of a [`TokenSigner`], or in one process by [`ConfirmationTokens`].

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::{SignedDuration, Timestamp};
use sha2::Sha256;

/// Time that the user has to answer.
pub const LIFETIME: SignedDuration = SignedDuration::from_mins(30);

/// Time within which a sent lead may be sent again with the same token.
pub const REPEATABLE: SignedDuration = SignedDuration::from_hours(24);

/// Maximum number of used tokens that are remembered for that.
const MAX_USED: usize = 10_000;

const MOMENT: usize = 8;
const HASH: usize = 32;

type Hash = [u8; HASH];

/// Reason why a token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenRejected {
    /// The token does not belong to this call.
    Invalid,
    /// The token belongs to this call and has expired.
    Expired,
    /// The token belongs to this call, and the person has refused.
    Declined,
}

/// Agreement that an accepted token stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmed {
    /// Moment at which the token first came back. A repetition keeps it, because a lead counts as the same one only
    /// when all of it is equal.
    pub granted_at: Timestamp,
    /// Idempotency key of this request.
    pub idempotency_key: String,
    /// True when the token was used before.
    pub is_repeated: bool,
}

/// Issues tokens and recognises them. It stores nothing: its owner remembers which token was used or refused, under
/// the token's key.
pub struct TokenSigner {
    secret: [u8; 32],
}

impl fmt::Debug for TokenSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenSigner")
    }
}

/// A genuine token of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    hash: Hash,
    /// Expiry.
    until: Timestamp,
    /// Idempotency key of the request to which the token belongs: the same whenever it comes back.
    pub idempotency_key: String,
}

impl VerifiedToken {
    /// Returns true when the token cannot be used for the first time any more.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.until <= now
    }
}

impl TokenSigner {
    /// Creates the signer with a random secret. Tokens are accepted by every signer with the same one.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// Returns a token for `subject` and its expiry.
    #[must_use]
    pub fn issue(&self, subject: &str, now: Timestamp) -> (String, Timestamp) {
        let until = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
        // Truncated to whole seconds, as in the token.
        let until = Timestamp::from_second(until.as_second()).unwrap_or(until);
        let mut bytes = until.as_second().to_be_bytes().to_vec();
        bytes.extend(self.mac("confirm", until, subject).finalize().into_bytes());
        (URL_SAFE_NO_PAD.encode(bytes), until)
    }

    /// Verifies that a token was issued for `subject`, however long ago.
    ///
    /// # Errors
    /// [`TokenRejected::Invalid`].
    pub fn verify(&self, token: &str, subject: &str) -> Result<VerifiedToken, TokenRejected> {
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| TokenRejected::Invalid)?;
        let (moment, hash) = bytes.split_first_chunk::<MOMENT>().ok_or(TokenRejected::Invalid)?;
        let until = Timestamp::from_second(i64::from_be_bytes(*moment));
        let until = until.map_err(|_| TokenRejected::Invalid)?;
        let hash: Hash = hash.try_into().map_err(|_| TokenRejected::Invalid)?;
        // `verify_slice` compares in constant time.
        let verified = self.mac("confirm", until, subject).verify_slice(&hash);
        verified.map_err(|_| TokenRejected::Invalid)?;
        // Derived from the same values as the token, so that a repetition has the same key.
        let key = self.mac("key", until, subject).finalize().into_bytes();
        let idempotency_key = format!("mcp-{}", URL_SAFE_NO_PAD.encode(key));
        Ok(VerifiedToken { hash, until, idempotency_key })
    }

    fn mac(&self, purpose: &str, until: Timestamp, subject: &str) -> Hmac<Sha256> {
        mac(&self.secret, purpose, until.as_second().to_be_bytes(), subject)
    }
}

/// Issues tokens and redeems them, and remembers in this process which were used.
pub struct ConfirmationTokens {
    signer: TokenSigner,
    used: Mutex<HashMap<Hash, TokenUse>>,
}

impl fmt::Debug for ConfirmationTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConfirmationTokens")
    }
}

/// First use of a token.
#[derive(Debug, Clone, Copy)]
struct TokenUse {
    /// Moment of the first use.
    first: Timestamp,
    /// Expiry of the token.
    until: Timestamp,
    /// True when the person refused.
    declined: bool,
}

impl ConfirmationTokens {
    /// Creates the issuer with a random secret. Tokens are accepted by every issuer with the same one.
    pub fn new(secret: [u8; 32]) -> Self {
        Self { signer: TokenSigner::new(secret), used: Mutex::new(HashMap::new()) }
    }

    /// Returns a token for `subject` and its expiry.
    #[must_use]
    pub fn issue(&self, subject: &str, now: Timestamp) -> (String, Timestamp) {
        self.signer.issue(subject, now)
    }

    /// Redeems a token.
    ///
    /// # Errors
    /// The reason why it is rejected.
    pub fn redeem(
        &self,
        token: &str,
        subject: &str,
        now: Timestamp,
    ) -> Result<Confirmed, TokenRejected> {
        let token = self.signer.verify(token, subject)?;
        let (used, is_repeated) =
            self.first_use(&token, now, false).ok_or(TokenRejected::Expired)?;
        if used.declined {
            return Err(TokenRejected::Declined);
        }
        let granted_at = used.first;
        Ok(Confirmed { granted_at, idempotency_key: token.idempotency_key, is_repeated })
    }

    /// Checks that a token could still be redeemed, without redeeming it.
    ///
    /// # Errors
    /// The reason why it would be rejected.
    pub fn check_open(
        &self,
        token: &str,
        subject: &str,
        now: Timestamp,
    ) -> Result<(), TokenRejected> {
        let token = self.signer.verify(token, subject)?;
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        match used.get(&token.hash) {
            Some(known) if known.declined => Err(TokenRejected::Declined),
            // The person has already agreed and is not asked again.
            Some(_) => Err(TokenRejected::Invalid),
            None if token.is_expired(now) => Err(TokenRejected::Expired),
            None => Ok(()),
        }
    }

    /// Makes a token invalid because the person refused.
    pub fn decline(&self, token: &str, subject: &str, now: Timestamp) {
        if let Ok(token) = self.signer.verify(token, subject) {
            self.first_use(&token, now, true);
        }
    }

    /// Returns the first use of this token, and true when that was an earlier call. `None` when the token has
    /// expired.
    fn first_use(
        &self,
        token: &VerifiedToken,
        now: Timestamp,
        declined: bool,
    ) -> Option<(TokenUse, bool)> {
        let VerifiedToken { hash, until, .. } = *token;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.retain(|_, known| now.duration_since(known.first) < REPEATABLE);
        // Looked up before the expiry check: a token that was redeemed in time can be repeated later.
        if let Some(known) = used.get(&hash) {
            return Some((*known, true));
        }
        if until <= now {
            return None;
        }
        let known = TokenUse { first: now, until, declined };
        if used.len() >= MAX_USED {
            // A forgotten refusal would become an agreement, so it is kept until its token has expired.
            let spare = used.iter().filter(|(_, known)| !known.declined || known.until <= now);
            let oldest = spare.min_by_key(|(_, known)| known.first).map(|(hash, _)| *hash);
            match oldest {
                Some(oldest) => drop(used.remove(&oldest)),
                // A refusal is always stored: tokens expire soon.
                None if declined => {}
                // An agreement counts all the same, or others' refusals would end everything. When it comes back, it
                // has the same key and another moment of consent.
                None => return Some((known, false)),
            }
        }
        used.insert(hash, known);
        Some((known, false))
    }
}

/// Returns the name of the session with this number.
pub fn session_name(secret: &[u8; 32], number: u64) -> String {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.extend(mac(secret, "session", number.to_be_bytes(), "").finalize().into_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the number of the session with this name, or `None` when the name is not genuine.
pub fn session_number(secret: &[u8; 32], name: &str) -> Option<u64> {
    let bytes = URL_SAFE_NO_PAD.decode(name).ok()?;
    let (number, hash) = bytes.split_first_chunk::<MOMENT>()?;
    mac(secret, "session", *number, "").verify_slice(hash).ok()?;
    Some(u64::from_be_bytes(*number))
}

fn mac(secret: &[u8; 32], purpose: &str, number: [u8; 8], subject: &str) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(secret);
    let mut mac = mac.unwrap_or_else(|_| unreachable!("HMAC takes keys of every length"));
    mac.update(purpose.as_bytes());
    // Separates the purpose from the rest, so that a token of one kind is not accepted as another.
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
        assert_eq!(redeem(&token, "that", 1), Err(TokenRejected::Invalid));
        assert_eq!(redeem(&token, "this", 30), Err(TokenRejected::Expired));
        for damaged in ["", "x", "AAAA", &token[1..], &format!("{token}A"), &"A".repeat(54)] {
            assert_eq!(redeem(damaged, "this", 1), Err(TokenRejected::Invalid), "{damaged}");
        }
        let elsewhere = ConfirmationTokens::new([8; 32]);
        assert_eq!(elsewhere.redeem(&token, "this", at(1)), Err(TokenRejected::Invalid));
        assert_eq!(redeem(&token, "this", 1), Ok(at(1)));
    }

    #[test]
    fn what_was_declined_is_not_agreed_to_later() {
        let confirmations = ConfirmationTokens::new([7; 32]);
        let (token, _) = confirmations.issue("this", at(0));
        // A refusal of another subject does not affect this one.
        confirmations.decline(&token, "that", at(1));
        confirmations.decline(&token, "this", at(2));
        assert_eq!(confirmations.redeem(&token, "this", at(3)), Err(TokenRejected::Declined));
        let (token, _) = confirmations.issue("this", at(4));
        assert!(confirmations.redeem(&token, "this", at(5)).is_ok());
        // A refusal cannot undo what has been sent.
        confirmations.decline(&token, "this", at(6));
        assert!(confirmations.redeem(&token, "this", at(7)).is_ok());
    }

    /// Fills the memory with uses of other tokens, first used at minute 2 and expiring at minute 30.
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
        assert_eq!(confirmations.redeem(&refused, "this", at(4)), Err(TokenRejected::Declined));
        // Any number of refusals leaves the agreements of others alone.
        let confirmations = ConfirmationTokens::new([7; 32]);
        fill(&confirmations, true);
        let (token, _) = confirmations.issue("this", at(2));
        let first = confirmations.redeem(&token, "this", at(3)).unwrap();
        let again = confirmations.redeem(&token, "this", at(3)).unwrap();
        assert_eq!(again.idempotency_key, first.idempotency_key);
        let (refused, _) = confirmations.issue("that", at(3));
        confirmations.decline(&refused, "that", at(4));
        assert_eq!(confirmations.redeem(&refused, "that", at(5)), Err(TokenRejected::Declined));
    }

    #[test]
    fn a_session_is_one_that_was_given() {
        let secret = [7; 32];
        let name = session_name(&secret, 5);
        assert_eq!(session_number(&secret, &name), Some(5));
        for other in ["", "x", &name[1..], &session_name(&[8; 32], 5)] {
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
        assert_eq!(a_day_later, Err(TokenRejected::Expired));
        let (other, _) = confirmations.issue("this", at(5));
        let other = confirmations.redeem(&other, "this", at(6)).unwrap();
        assert_ne!(other.idempotency_key, first.idempotency_key);
        assert!((1..=128).contains(&first.idempotency_key.len()));
    }
}
