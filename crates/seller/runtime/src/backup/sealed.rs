//! Format of a sealed backup: a head, and chunks of 64 KiB, each with a tag over the head, its number and
//! whether it is the last. None can be changed, moved, removed or cut off, and nothing of a chunk is
//! returned before its tag is verified.
//!
//! The construction is STREAM (Hoang, Reyhanitabar, Rogaway and Vizár, 2015) as in `age`, with
//! ChaCha20-Poly1305. Its key is derived by HKDF-SHA256 from a salt and either a key file or a
//! passphrase, which Argon2id makes costly to guess. A backup that is not encrypted has SHA-256 digests
//! in place of tags: they detect accidents, not attacks.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

use argon2::{Algorithm, Argon2, Params, Version};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf;
use sha2::{Digest as _, Sha256};

use super::DAMAGED_MESSAGE;

/// First bytes of a backup.
const MAGIC: &[u8; 16] = b"tradepost-backup";

/// Version of the head and the chunks.
const VERSION: u8 = 1;

/// Size of a chunk in bytes, except the last one.
const CHUNK_BYTES: usize = 64 * 1024;

const SALT_BYTES: usize = 16;

/// Size of the head: `MAGIC`, version, kind, salt, memory in KiB and passes.
const HEAD_BYTES: usize = 16 + 1 + 1 + SALT_BYTES + 4 + 4;

/// Cost of a new passphrase: the second recommendation of RFC 9106 §4.
const COST: Cost = Cost { memory: 64 * 1024, passes: 3 };

/// Maximum cost that a file may ask for, because it may be forged.
const MAX_COST: Cost = Cost { memory: 1024 * 1024, passes: 16 };

/// Minimum length of the passphrase of a new backup, in characters.
const MIN_PASSPHRASE_LENGTH: usize = 12;

/// Secret with which a backup is sealed.
#[derive(Clone, PartialEq, Eq)]
pub enum BackupSecret {
    /// No secret: the backup is not encrypted.
    None,
    /// A passphrase.
    Passphrase(String),
    /// A key of 32 random bytes.
    Key([u8; 32]),
}

impl fmt::Debug for BackupSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl BackupSecret {
    /// Reads the first line of a file as a passphrase.
    ///
    /// # Errors
    /// The reason why it is not usable, without any part of it.
    pub fn passphrase(path: &Path) -> Result<Self, String> {
        let text = line(path)?;
        if text.chars().count() < MIN_PASSPHRASE_LENGTH {
            return Err(format!("must have {MIN_PASSPHRASE_LENGTH} characters or more"));
        }
        Ok(Self::Passphrase(text))
    }

    /// Reads a key of 64 hexadecimal digits.
    ///
    /// # Errors
    /// The reason why it is not usable, without any part of it.
    pub fn key(path: &Path) -> Result<Self, String> {
        const HINT: &str = "must be 64 hexadecimal digits, as `openssl rand -hex 32` writes them";
        let text = line(path)?;
        tradepost_dealer::consent::from_hex(&text).map(Self::Key).ok_or_else(|| HINT.to_owned())
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Passphrase(_) => 1,
            Self::Key(_) => 2,
        }
    }
}

fn line(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Cost of deriving a key from a passphrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cost {
    /// Memory in KiB.
    memory: u32,
    passes: u32,
}

type Head = [u8; HEAD_BYTES];

fn head(kind: u8, salt: [u8; SALT_BYTES], cost: Cost) -> Head {
    let mut head = [0; HEAD_BYTES];
    let memory = cost.memory.to_be_bytes();
    let passes = cost.passes.to_be_bytes();
    let bytes = MAGIC.iter().chain([&VERSION, &kind]).chain(&salt).chain(&memory).chain(&passes);
    head.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    head
}

/// Makes and verifies the tags of chunks.
enum ChunkSealer {
    Digest,
    Key(Box<LessSafeKey>),
}

impl ChunkSealer {
    fn new(secret: &BackupSecret, salt: &[u8; SALT_BYTES], cost: Cost) -> io::Result<Self> {
        let failed = || io::Error::other("the key cannot be derived");
        let base = match secret {
            BackupSecret::None => return Ok(Self::Digest),
            BackupSecret::Key(key) => *key,
            BackupSecret::Passphrase(text) => {
                let params = Params::new(cost.memory, cost.passes, 1, Some(32));
                let argon =
                    Argon2::new(Algorithm::Argon2id, Version::V0x13, params.map_err(|_| failed())?);
                let mut key = [0; 32];
                let hashed = argon.hash_password_into(text.as_bytes(), salt, &mut key);
                hashed.map_err(|_| failed())?;
                key
            }
        };
        // From the salt of this backup, so that one key file never seals two backups with the same nonces.
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&base);
        let info = [b"tradepost backup 1".as_slice()];
        let okm = derived.expand(&info, &CHACHA20_POLY1305).map_err(|_| failed())?;
        Ok(Self::Key(Box::new(LessSafeKey::new(UnboundKey::from(okm)))))
    }

    const fn tag(&self) -> usize {
        match self {
            Self::Digest => 32,
            Self::Key(_) => 16,
        }
    }

    /// Seals a chunk and appends its tag.
    fn seal(&self, head: &Head, place: &ChunkPosition, chunk: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Digest => {
                let digest = digest(head, place, chunk);
                chunk.extend(digest);
                Ok(())
            }
            Self::Key(key) => key
                .seal_in_place_append_tag(place.nonce(), Aad::from(head), chunk)
                .map_err(|_| io::Error::other("a chunk cannot be sealed")),
        }
    }

    /// Opens a chunk and removes its tag. Returns true when the tag was right.
    fn open(&self, head: &Head, place: &ChunkPosition, chunk: &mut Vec<u8>) -> bool {
        let Some(length) = chunk.len().checked_sub(self.tag()) else { return false };
        let is_right = match self {
            Self::Digest => {
                let tag = chunk.split_off(length);
                digest(head, place, chunk) == tag.as_slice()
            }
            Self::Key(key) => key.open_in_place(place.nonce(), Aad::from(head), chunk).is_ok(),
        };
        chunk.truncate(length);
        is_right
    }
}

fn digest(head: &Head, place: &ChunkPosition, chunk: &[u8]) -> [u8; 32] {
    let hasher = Sha256::new().chain_update(head).chain_update(place.bytes());
    hasher.chain_update(chunk).finalize().into()
}

/// Number of a chunk, and whether it is the last.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkPosition {
    number: u64,
    is_last: bool,
}

impl ChunkPosition {
    /// Writes eleven bytes of the number, and one that is 1 for the last chunk.
    fn bytes(self) -> [u8; 12] {
        let mut bytes = [0; 12];
        let number = self.number.to_be_bytes();
        bytes.iter_mut().skip(3).zip(number).for_each(|(to, from)| *to = from);
        if let Some(last) = bytes.last_mut() {
            *last = self.is_last.into();
        }
        bytes
    }

    fn nonce(self) -> Nonce {
        // Each number is used once, and the key is for this backup alone.
        Nonce::assume_unique_for_key(self.bytes())
    }
}

/// Seals the bytes written to it.
pub struct SealedWriter<W> {
    to: W,
    seal: ChunkSealer,
    head: Head,
    place: ChunkPosition,
    chunk: Vec<u8>,
}

impl<W: Write> SealedWriter<W> {
    /// Writes the head.
    ///
    /// # Errors
    /// When it cannot be written, or this machine has no random numbers.
    pub fn new(mut to: W, secret: &BackupSecret) -> io::Result<Self> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(io::Error::other)?;
        let cost = match secret {
            BackupSecret::Passphrase(_) => COST,
            BackupSecret::None | BackupSecret::Key(_) => Cost { memory: 0, passes: 0 },
        };
        let head = head(secret.kind(), salt, cost);
        let seal = ChunkSealer::new(secret, &salt, cost)?;
        to.write_all(&head)?;
        Ok(Self {
            to,
            seal,
            head,
            place: ChunkPosition::default(),
            chunk: Vec::with_capacity(CHUNK_BYTES + 32),
        })
    }

    fn put(&mut self) -> io::Result<()> {
        self.seal.seal(&self.head, &self.place, &mut self.chunk)?;
        self.to.write_all(&self.chunk)?;
        self.chunk.clear();
        self.place.number += 1;
        Ok(())
    }

    /// Writes the last chunk. Without it the backup is incomplete.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.place.is_last = true;
        self.put()?;
        self.to.flush()
    }
}

impl<W: Write> Write for SealedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk is written when another byte follows: only then it is not the last.
        if self.chunk.len() == CHUNK_BYTES && !bytes.is_empty() {
            self.put()?;
        }
        let taken = bytes.len().min(CHUNK_BYTES - self.chunk.len());
        self.chunk.extend(bytes.iter().take(taken));
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Reads a sealed backup.
pub struct OpenedReader<R> {
    from: R,
    seal: ChunkSealer,
    head: Head,
    place: ChunkPosition,
    chunk: Vec<u8>,
    /// Number of bytes of the chunk that were returned.
    given: usize,
    /// First bytes of the next chunk.
    ahead: Vec<u8>,
    is_done: bool,
}

impl<R: Read> OpenedReader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// When it is no backup, or is sealed in another way (`InvalidData`), or when it cannot be read.
    pub fn new(mut from: R, secret: &BackupSecret) -> io::Result<Self> {
        let mut head = [0; HEAD_BYTES];
        let read = from.read_exact(&mut head);
        let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        let (magic, rest) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return wrong("this is no backup of tradepost");
        }
        // Only now: a short file that begins with other bytes is no backup at all.
        read?;
        let (is_known, kind) = match rest {
            [VERSION, kind, ..] => (true, *kind),
            [_, kind, ..] => (false, *kind),
            [_] | [] => (false, 0),
        };
        if !is_known {
            return wrong("the backup is of a newer version");
        }
        match (kind, secret) {
            (0, BackupSecret::None)
            | (1, BackupSecret::Passphrase(_))
            | (2, BackupSecret::Key(_)) => {}
            (0, _) => return wrong("the backup is not encrypted; leave the secret out"),
            (1, _) => return wrong("the backup is encrypted: name its --passphrase-file"),
            (2, _) => return wrong("the backup is encrypted: name its --backup-key-file"),
            _ => return wrong("the backup is encrypted in a way that is not known"),
        }
        let mut numbers = rest.iter().skip(2);
        let mut salt = [0; SALT_BYTES];
        salt.iter_mut().zip(numbers.by_ref()).for_each(|(to, from)| *to = *from);
        let mut number =
            || numbers.by_ref().take(4).fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
        let cost = Cost { memory: number(), passes: number() };
        if cost.memory > MAX_COST.memory || cost.passes > MAX_COST.passes {
            return wrong(DAMAGED_MESSAGE);
        }
        let seal = ChunkSealer::new(secret, &salt, cost)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, DAMAGED_MESSAGE))?;
        Ok(Self {
            from,
            seal,
            head,
            place: ChunkPosition::default(),
            chunk: Vec::new(),
            given: 0,
            ahead: Vec::new(),
            is_done: false,
        })
    }

    /// Reads the next chunk and one byte more, which shows whether it is the last.
    fn advance(&mut self) -> io::Result<()> {
        let whole = CHUNK_BYTES + self.seal.tag();
        let mut read = std::mem::take(&mut self.ahead);
        let wanted = u64::try_from(whole + 1 - read.len()).unwrap_or_default();
        (&mut self.from).take(wanted).read_to_end(&mut read)?;
        self.place.is_last = read.len() <= whole;
        if !self.place.is_last {
            self.ahead = read.split_off(whole);
        }
        if !self.seal.open(&self.head, &self.place, &mut read) {
            let what = match (&self.seal, self.place.number) {
                (ChunkSealer::Key(_), 0) => {
                    "the key or passphrase is not the one of this backup, or the backup was changed"
                }
                (ChunkSealer::Key(_) | ChunkSealer::Digest, _) => DAMAGED_MESSAGE,
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        self.is_done = self.place.is_last;
        self.place.number += 1;
        (self.chunk, self.given) = (read, 0);
        Ok(())
    }
}

impl<R: Read> Read for OpenedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.chunk.len() {
            if self.is_done {
                return Ok(0);
            }
            self.advance()?;
        }
        let left = self.chunk.iter().skip(self.given);
        let count = left.len().min(buffer.len());
        buffer.iter_mut().zip(left).for_each(|(to, from)| *to = *from);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(secret: &BackupSecret, text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sealed = SealedWriter::new(&mut bytes, secret).unwrap();
        sealed.write_all(text).unwrap();
        sealed.finish().unwrap();
        bytes
    }

    fn opened(secret: &BackupSecret, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        let mut opened = OpenedReader::new(bytes, secret).map_err(|error| error.to_string())?;
        opened.read_to_end(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    #[test]
    fn texts_of_every_length_return_and_a_key_hides_them() {
        let key = BackupSecret::Key([1; 32]);
        for length in [
            0,
            1,
            CHUNK_BYTES - 1,
            CHUNK_BYTES,
            CHUNK_BYTES + 1,
            2 * CHUNK_BYTES,
            3 * CHUNK_BYTES + 17,
        ] {
            let text = vec![b'x'; length];
            for (secret, tag) in [(&BackupSecret::None, 32), (&key, 16)] {
                let bytes = sealed(secret, &text);
                assert_eq!(
                    bytes.len(),
                    HEAD_BYTES + length + tag * length.div_ceil(CHUNK_BYTES).max(1)
                );
                assert_eq!(opened(secret, &bytes).unwrap(), text, "{length}");
            }
            assert!(!sealed(&key, &text).windows(8).any(|bytes| bytes == b"xxxxxxxx"));
        }
    }

    #[test]
    fn chunks_cannot_be_cut_off_swapped_repeated_or_exchanged() {
        let text: Vec<u8> =
            (0..3 * CHUNK_BYTES + 5).map(|place| (place / CHUNK_BYTES) as u8).collect();
        for secret in [BackupSecret::None, BackupSecret::Key([1; 32])] {
            let bytes = sealed(&secret, &text);
            let step = CHUNK_BYTES + if secret == BackupSecret::None { 32 } else { 16 };
            let cut = |number: usize| HEAD_BYTES + number * step;
            let chunk = |number: usize| &bytes[cut(number)..cut(number + 1).min(bytes.len())];
            let other = sealed(&secret, &text);
            let head = &bytes[..HEAD_BYTES];
            for (what, changed) in [
                ("the last is missing", bytes[..cut(3)].to_vec()),
                ("one is missing", [head, chunk(0), chunk(2), chunk(3)].concat()),
                ("two are swapped", [head, chunk(1), chunk(0), chunk(2), chunk(3)].concat()),
                ("one is there twice", [head, chunk(0), chunk(0), chunk(1)].concat()),
                ("the last is there twice", [&bytes, chunk(3)].concat()),
                ("the head is another's", [&other[..HEAD_BYTES], &bytes[HEAD_BYTES..]].concat()),
                ("one is another's", [&bytes[..cut(1)], &other[cut(1)..]].concat()),
            ] {
                assert!(opened(&secret, &changed).is_err(), "{what}");
            }
        }
    }

    #[test]
    fn another_secret_opens_nothing_and_says_what_is_wanted() {
        let key = sealed(&BackupSecret::Key([1; 32]), b"text");
        let word = BackupSecret::Passphrase("correct horse battery".into());
        let words = sealed(&word, b"text");
        assert_eq!(opened(&word, &words).unwrap(), b"text");
        for (secret, bytes, said) in [
            (BackupSecret::Key([2; 32]), &key, "is not the one of this backup"),
            (
                BackupSecret::Passphrase("incorrect horse".into()),
                &words,
                "is not the one of this backup",
            ),
            (BackupSecret::None, &key, "--backup-key-file"),
            (BackupSecret::None, &words, "--passphrase-file"),
            (word, &key, "--backup-key-file"),
            (BackupSecret::Key([1; 32]), &sealed(&BackupSecret::None, b"text"), "not encrypted"),
            (BackupSecret::None, &b"SQLite format 3".to_vec(), "no backup"),
        ] {
            let why = opened(&secret, bytes).unwrap_err();
            assert!(why.contains(said), "{why}");
        }
    }

    #[test]
    fn a_head_cannot_ask_for_more_than_a_machine_has() {
        let secret = BackupSecret::Passphrase("correct horse battery".into());
        let mut bytes = sealed(&secret, b"text");
        bytes[HEAD_BYTES - 8..HEAD_BYTES].copy_from_slice(&[0xff; 8]);
        assert_eq!(opened(&secret, &bytes).unwrap_err(), DAMAGED_MESSAGE);
    }
}
