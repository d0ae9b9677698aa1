//! Personal data at rest: encrypted with a key that is not in the database, so that a copied file, a backup or a
//! discarded disk reveals nothing about customers.
//!
//! Each value is encrypted by AES-256-GCM under a key of its own, which is derived from the operator's key and 16
//! random bytes, and is bound to its column, dealer and lead: a value moved to another row cannot be decrypted. Each
//! row names the key that encrypted it, so two keys can be in use while one replaces the other. Values that are looked
//! up (contacts, callers, idempotency keys) are stored as an HMAC under a key that is made once and is itself stored
//! encrypted.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use jiff::Timestamp;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use tradepost_document::fault::InternalError;
use tradepost_document::format::{base64 as from_base64, bytes_from_hex, hex};

use super::sql::{RowError, RowResult};

#[cfg(feature = "sellers")]
pub(crate) mod unlock;

/// Length of a key in bytes.
const KEY: usize = 32;

/// Number of random bytes that give a value a key of its own.
const SALT: usize = 16;

/// Length of a nonce in bytes.
const NONCE: usize = 12;

/// Prefix of values that are stored as an HMAC. No plain value of such a column begins with it.
pub(crate) const BLIND: &str = "hmac:";

/// Key of the operator.
#[derive(Clone)]
struct OperatorKey {
    /// Its name, which reveals nothing about the key.
    id: String,
    sealing: hmac::Key,
}

impl OperatorKey {
    fn new(secret: &[u8; KEY]) -> Self {
        let of = |purpose: &str| hmac::sign(&hmac_key(secret), purpose.as_bytes());
        let id = hex(of("tradepost privacy key id 1").as_ref().iter().take(6));
        Self { id, sealing: hmac_key(of("tradepost privacy sealing 1").as_ref()) }
    }

    fn cipher(&self, salt: &[u8]) -> Result<LessSafeKey, Unopened> {
        let own = hmac::sign(&self.sealing, salt);
        let own = UnboundKey::new(&AES_256_GCM, own.as_ref()).map_err(|_| Unopened::Changed)?;
        Ok(LessSafeKey::new(own))
    }

    /// Encrypts bytes. Returns the salt, the nonce and the ciphertext.
    fn seal(&self, of: &AadContext, bytes: &[u8]) -> Result<Vec<u8>, InternalError> {
        const WHAT: &str = "sealing personal data";
        let fresh: [u8; SALT + NONCE] = random()?;
        let (salt, nonce) = fresh.split_at(SALT);
        let cipher = self.cipher(salt).map_err(InternalError::on(WHAT))?;
        let mut sealed = bytes.to_vec();
        // The key belongs to this value alone, so a nonce cannot repeat under one key by chance.
        Nonce::try_assume_unique_for_key(nonce)
            .and_then(|nonce| cipher.seal_in_place_append_tag(nonce, Aad::from(&of.0), &mut sealed))
            .map_err(|_| InternalError::new(WHAT, "it is too long"))?;
        Ok([&fresh, sealed.as_slice()].concat())
    }

    fn open(&self, of: &AadContext, sealed: &[u8]) -> Result<Vec<u8>, Unopened> {
        let (fresh, bytes) = sealed.split_at_checked(SALT + NONCE).ok_or(Unopened::Changed)?;
        let (salt, nonce) = fresh.split_at(SALT);
        let mut bytes = bytes.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Unopened::Changed)?;
        let opened = self.cipher(salt)?.open_in_place(nonce, Aad::from(&of.0), &mut bytes);
        let length = opened.map_err(|_| Unopened::Changed)?.len();
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// The operator's keys: the first encrypts, the others decrypt older values.
#[derive(Clone, Default)]
pub struct OperatorKeys(Vec<OperatorKey>);

impl fmt::Debug for OperatorKeys {
    /// Shows the names of the keys only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keys").field(&self.ids()).finish()
    }
}

impl OperatorKeys {
    /// Reads keys, each 32 bytes in hexadecimal digits or base64, separated by white space or commas; lines that begin
    /// with `#` are comments.
    ///
    /// # Errors
    /// A description of the problem that quotes nothing of the text.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "must be 32 random bytes in 64 hexadecimal digits or in base64, as \
                            `tradepost privacy keygen` writes them";
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let words = lines.flat_map(|line| line.split([' ', '\t', ',']));
        let mut keys: Vec<OperatorKey> = Vec::new();
        for word in words.map(str::trim).filter(|word| !word.is_empty()) {
            let bytes = bytes_from_hex(word).or_else(|| from_base64(word)?.try_into().ok());
            let key = OperatorKey::new(&bytes.ok_or(FORM)?);
            if !keys.iter().any(|known| known.id == key.id) {
                keys.push(key);
            }
        }
        if keys.is_empty() { Err("holds no key") } else { Ok(Self(keys)) }
    }

    /// Generates a new key, in hexadecimal digits.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn generate() -> Result<String, InternalError> {
        Ok(hex(&random::<KEY>()?))
    }

    /// Returns the names of the keys, that of the encrypting key first. They reveal nothing about the keys.
    #[must_use]
    pub fn ids(&self) -> Vec<&str> {
        self.0.iter().map(|key| key.id.as_str()).collect()
    }

    /// Returns true when there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn named(&self, id: &str) -> Option<&OperatorKey> {
        self.0.iter().find(|key| key.id == id)
    }
}

/// Reason why a value could not be decrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unopened {
    /// No key was given.
    #[error(
        "personal data is encrypted, and its key was not given: name its file with --key-file, \
         or set TRADEPOST_PRIVACY_KEY"
    )]
    Locked,
    /// The key of this name was not given.
    #[error("it is encrypted with the key {0}, which was not given")]
    Unknown(String),
    /// The value, or the row it belongs to, was changed.
    #[error("it was changed, or moved here from another row")]
    Changed,
}

/// Separates values that cannot be decrypted from other errors, so that a damaged row does not hide the others. Without
/// any key, reading fails.
pub(crate) fn readable<T>(opened: RowResult<T>) -> RowResult<Result<T, Unopened>> {
    opened.map(Ok).or_else(|why| match why.downcast::<Unopened>() {
        Ok(why) if *why == Unopened::Locked => Err(why as RowError),
        Ok(why) => Ok(Err(*why)),
        Err(why) => Err(why),
    })
}

/// Context that an encrypted value is bound to: it cannot be decrypted in another.
#[derive(Debug)]
pub(crate) struct AadContext(Vec<u8>);

impl AadContext {
    /// Returns the context of a value in a column, in the row that these values identify.
    pub(crate) fn column(column: &str, row: &[&str]) -> Self {
        let mut bytes = Vec::new();
        for part in ["tradepost sealed 1", column].iter().chain(row) {
            // With lengths, so that another division of the same letters is a different context.
            bytes.extend((part.len() as u64).to_be_bytes());
            bytes.extend(part.as_bytes());
        }
        Self(bytes)
    }

    /// Returns the context of a column in a lead's row that was made at a moment.
    pub(crate) fn lead(column: &str, dealer_id: &str, lead_id: &str, at: Timestamp) -> Self {
        Self::column(column, &[dealer_id, lead_id, &at.as_millisecond().to_string()])
    }

    /// Returns the context of the evidence of a consent, by its number in the dealer's chain.
    pub(crate) fn evidence(column: &str, dealer_id: &str, seq: i64) -> Self {
        Self::column(column, &[dealer_id, &seq.to_string()])
    }
}

/// Encrypts and decrypts columns once it was unlocked; until then values stay in clear.
#[derive(Default)]
pub(crate) struct ColumnCipher(OnceLock<Unlocked>);

struct Unlocked {
    keys: OperatorKeys,
    index: hmac::Key,
    /// The key for look-ups, encrypted by the key that encrypts new values.
    sealed_index: String,
}

impl Unlocked {
    fn new(keys: &OperatorKeys, index: &[u8; KEY]) -> Result<Self, InternalError> {
        let sealed = keys.0.first().map(|key| key.seal(&of_index(&key.id), index)).transpose()?;
        let sealed_index = STANDARD_NO_PAD.encode(sealed.unwrap_or_default());
        Ok(Self { keys: keys.clone(), index: hmac_key(index), sealed_index })
    }
}

impl fmt::Debug for ColumnCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnCipher").field(&self.key()).finish()
    }
}

impl ColumnCipher {
    /// Returns the name of the key that encrypts new values; `None` when nothing is encrypted.
    pub(crate) fn key(&self) -> Option<&str> {
        self.current().map(|key| key.id.as_str())
    }

    /// Returns the same name with the encrypted key for look-ups.
    pub(crate) fn key_row(&self) -> Option<(&str, &str)> {
        Some((self.key()?, &self.0.get()?.sealed_index))
    }

    fn current(&self) -> Option<&OperatorKey> {
        self.0.get()?.keys.0.first()
    }

    /// Encrypts bytes, where there is a key.
    pub(crate) fn seal_bytes<'b>(
        &self,
        of: &AadContext,
        bytes: &'b [u8],
    ) -> Result<Cow<'b, [u8]>, InternalError> {
        match self.current() {
            Some(key) => key.seal(of, bytes).map(Cow::Owned),
            None => Ok(Cow::Borrowed(bytes)),
        }
    }

    /// Encrypts a text, where there is a key.
    pub(crate) fn seal(&self, of: &AadContext, text: &str) -> Result<String, InternalError> {
        match self.current() {
            Some(key) => Ok(STANDARD_NO_PAD.encode(key.seal(of, text.as_bytes())?)),
            None => Ok(text.to_owned()),
        }
    }

    /// Decrypts bytes that `key` has encrypted; without a key they are returned unchanged.
    pub(crate) fn open_bytes(
        &self,
        key: Option<&str>,
        of: &AadContext,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>, Unopened> {
        let Some(id) = key else { return Ok(bytes) };
        let unlocked = self.0.get().ok_or(Unopened::Locked)?;
        let key = unlocked.keys.named(id).ok_or_else(|| Unopened::Unknown(id.to_owned()))?;
        key.open(of, &bytes)
    }

    /// Decrypts a text in the same way.
    pub(crate) fn open(
        &self,
        key: Option<&str>,
        of: &AadContext,
        text: String,
    ) -> Result<String, Unopened> {
        if key.is_none() {
            return Ok(text);
        }
        let bytes = STANDARD_NO_PAD.decode(text).map_err(|_| Unopened::Changed)?;
        String::from_utf8(self.open_bytes(key, of, bytes)?).map_err(|_| Unopened::Changed)
    }

    /// Returns the stored form of a text that is looked up: its HMAC, where there is a key.
    pub(crate) fn blind(&self, text: &str) -> String {
        match self.0.get() {
            Some(unlocked) => {
                let tag = hmac::sign(&unlocked.index, text.as_bytes());
                format!("{BLIND}{}", hex(tag.as_ref()))
            }
            None => text.to_owned(),
        }
    }

    /// Returns the forms in which a text may be stored: the current one, and the plain one from before there was a key.
    pub(crate) fn forms(&self, text: &str) -> [String; 2] {
        [self.blind(text), text.to_owned()]
    }

    /// Unlocks it with keys. Returns `false` when a known key is not among them.
    pub(crate) fn open_by(
        &self,
        keys: &OperatorKeys,
        known: &[KeyRow],
    ) -> Result<bool, InternalError> {
        if known.is_empty() {
            return Ok(true);
        }
        if !missing(keys, known).is_empty() {
            return Ok(false);
        }
        let Some(index) = unwrap(keys, known)? else { return Ok(false) };
        // An earlier caller has the same keys: they come from one place in a process.
        let _ = self.0.set(Unlocked::new(keys, &index)?);
        Ok(true)
    }
}

/// Row of a key: its name, and the key for look-ups encrypted by it.
type KeyRow = (String, String);

const UNLOCKING: &str = "unlocking personal data";

fn of_index(id: &str) -> AadContext {
    AadContext::column("privacy_keys.index_key", &[id])
}

/// Returns the ids of known keys that are not given.
fn missing(keys: &OperatorKeys, known: &[KeyRow]) -> Vec<String> {
    known.iter().map(|(id, _)| id.clone()).filter(|id| keys.named(id).is_none()).collect()
}

/// Returns the key for look-ups, decrypted by the first given key that is known.
fn unwrap(keys: &OperatorKeys, known: &[KeyRow]) -> Result<Option<[u8; KEY]>, InternalError> {
    let Some((key, sealed)) = known.iter().find_map(|(id, sealed)| Some((keys.named(id)?, sealed)))
    else {
        return Ok(None);
    };
    let bytes = STANDARD_NO_PAD.decode(sealed).map_err(|_| Unopened::Changed);
    let index = bytes.and_then(|bytes| key.open(&of_index(&key.id), &bytes));
    let index = index.map_err(InternalError::on(UNLOCKING))?;
    index.try_into().map(Some).map_err(|_| InternalError::new(UNLOCKING, Unopened::Changed))
}

fn hmac_key(secret: &[u8]) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, secret)
}

/// Returns random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], InternalError> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| {
        InternalError::new("making a key", "the operating system has no randomness")
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> OperatorKey {
        OperatorKey::new(&[byte; KEY])
    }

    #[test]
    fn what_is_sealed_opens_where_it_was_and_nowhere_else() {
        let of = |lead: &str| {
            AadContext::lead("lead_submissions.payload", "north", lead, Timestamp::UNIX_EPOCH)
        };
        let sealed = key(1).seal(&of("lead_1"), b"Ada").unwrap();
        assert!(!sealed.windows(3).any(|part| part == b"Ada"));
        assert_eq!(key(1).open(&of("lead_1"), &sealed).unwrap(), b"Ada");
        for (key, of) in [
            (key(1), of("lead_2")),
            (key(2), of("lead_1")),
            (key(1), AadContext::lead("lead_notes.text", "north", "lead_1", Timestamp::UNIX_EPOCH)),
            (key(1), AadContext::column("lead_submissions.payload", &["northl", "ead_1", "0"])),
        ] {
            assert_eq!(key.open(&of, &sealed), Err(Unopened::Changed));
        }
        for place in 0..sealed.len() {
            let mut other = sealed.clone();
            other[place] ^= 1;
            assert!(key(1).open(&of("lead_1"), &other).is_err(), "byte {place}");
        }
        assert!(key(1).open(&of("lead_1"), &sealed[..20]).is_err());
        assert_ne!(sealed, key(1).seal(&of("lead_1"), b"Ada").unwrap(), "never twice the same");
    }

    #[test]
    fn keys_are_read_from_lines_and_named_without_being_shown() {
        let first = OperatorKeys::generate().unwrap();
        let second = "//////////////////////////////////////////8=";
        let keys = OperatorKeys::read(&format!("# of May\n{first}\n\n{second} {first}\n")).unwrap();
        assert_eq!(keys.ids().len(), 2);
        assert_eq!(OperatorKeys::read(&first.to_uppercase()).unwrap().ids(), [keys.ids()[0]]);
        let shown = format!("{keys:?}");
        assert!(!shown.contains(&first) && shown.contains(keys.ids()[1]), "{shown}");
        for bad in ["", "# nothing\n", "secret", &first[1..], "AAAA"] {
            assert!(OperatorKeys::read(bad).is_err(), "{bad}");
        }
    }
}
