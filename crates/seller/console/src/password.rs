//! Passwords, hashed with Argon2id at the minimum cost that OWASP recommends (19 MiB, two passes). A
//! comparison costs the same for unknown names.

use std::collections::HashSet;
use std::io::Read as _;
use std::sync::{LazyLock, Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use flate2::read::GzDecoder;
use tradepost_runtime::random;
use tradepost_server::fault::InternalError;

/// Minimum length of a password in characters. NIST SP 800-63B §3.1.1.2 requires 15 for a single factor;
/// 12 is what people accept who sign in twice a day.
pub const MIN_CHARS: usize = 12;

/// Maximum length of a password in bytes; a longer one would only cost time.
pub const MAX_BYTES: usize = 256;

/// The 10,000 most common passwords, one per line, in lower case, compressed with gzip. They are the
/// first of the list of passwords in zxcvbn 3.1.1 (`common-passwords.LICENSE`), in its order.
const COMMON: &[u8] = include_bytes!("assets/common-passwords.txt.gz");

/// Lists the reasons why a person cannot have this password; empty when they can.
#[must_use]
pub fn problems(password: &str, name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if password.chars().count() < MIN_CHARS || password.len() > MAX_BYTES {
        problems.push(format!(
            "a password must have at least {MIN_CHARS} characters and at most {MAX_BYTES} bytes"
        ));
    }
    let plain = plain_forms(password);
    let is_name = |(form, name): (&String, &String)| is_repeated(form, name);
    if plain.iter().zip(&plain_forms(name)).any(is_name) {
        let message = "a password must not be the name, also not repeated or with digits and signs";
        problems.push(message.to_owned());
    }
    if plain.iter().any(|form| is_common(form)) {
        problems.push("it is one of the most common passwords".to_owned());
    }
    problems
}

/// Returns a password in lower case: as it is, and without the digits and signs that people add to
/// make a word longer, around it and between its repetitions.
fn plain_forms(password: &str) -> [String; 4] {
    let lower = password.to_lowercase();
    let word = lower.trim_matches(|c: char| !c.is_alphabetic()).to_owned();
    let unsigned = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let letters = lower.chars().filter(|c| c.is_alphabetic()).collect();
    [lower, word, unsigned, letters]
}

/// Returns true when a password is a common one, or a repetition of one.
fn is_common(password: &str) -> bool {
    if password.is_empty() {
        return false;
    }
    let common = common();
    // A repetition of a common password is as easy to guess.
    let ends = password.char_indices().map(|(end, c)| end + c.len_utf8());
    let mut starts = ends.filter_map(|end| password.get(..end));
    starts.any(|start| is_repeated(password, start) && common.contains(start))
}

/// Returns true when a text is `part`, once or repeated.
fn is_repeated(text: &str, part: &str) -> bool {
    !part.is_empty() && !text.is_empty() && text.replace(part, "").is_empty()
}

/// Returns the common passwords.
fn common() -> &'static HashSet<String> {
    static UNPACKED: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let mut text = String::new();
        let read = GzDecoder::new(COMMON).read_to_string(&mut text);
        debug_assert!(read.is_ok(), "the list is part of the program");
        text.lines().map(str::to_owned).collect()
    });
    &UNPACKED
}

const SALT: usize = 16;

/// Hashes a password.
///
/// # Errors
/// When the operating system has no randomness.
pub fn hash(password: &str) -> Result<String, InternalError> {
    let hashed: PasswordHash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &random::bytes::<SALT>()?)
        .map_err(|error| InternalError::new("hashing a password", error.to_string()))?;
    Ok(hashed.to_string())
}

/// Compares passwords with their hashes, one at a time, to limit the memory that an attack can use.
#[derive(Debug)]
pub struct Judge {
    /// Hash of a random password, for comparisons with unknown names.
    nobody: String,
    turn: Mutex<()>,
}

impl Judge {
    /// Creates the checker.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn new() -> Result<Self, InternalError> {
        Ok(Self { nobody: hash(&random::token()?)?, turn: Mutex::default() })
    }

    /// Returns true when a password has this hash; without a hash false, at the same cost.
    #[must_use]
    pub fn is_right(&self, password: &str, hashed: Option<&str>) -> bool {
        if password.len() > MAX_BYTES {
            return false;
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // People who sign in with a provider have no hash. The comparison takes the same time, so that
        // the time does not reveal which names exist.
        let known = hashed.and_then(|hashed| PasswordHash::new(hashed).ok());
        let Some(kept) = known.clone().or_else(|| PasswordHash::new(&self.nobody).ok()) else {
            return false;
        };
        let same = Argon2::default().verify_password(password.as_bytes(), &kept).is_ok();
        same && known.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_and_the_own_name_are_refused() {
        assert_eq!(common().len(), 10_000);
        for (password, name, refused) in [
            ("correct horse battery", "dora", 0),
            ("short", "dora", 1),
            ("qwerty123456", "dora", 1),
            ("Password1234!", "dora", 1),
            ("passwordpassword", "dora", 1),
            ("1111111111111111", "dora", 1),
            ("dora.larkspur", "dora.larkspur", 1),
            ("DoraLarkspur2026", "doralarkspur", 1),
            ("doradoradora", "dora", 1),
            ("dora", "dora", 2),
            ("iloveyouiloveyou99", "dora", 1),
            ("superman!superman!", "dora", 1),
            ("Password123!Password123!", "dora", 1),
            ("sunshine-sunshine", "dora", 1),
            ("let me in, let me in", "dora", 1),
            ("123456-123456-123456", "dora", 1),
            ("dora-dora-dora", "dora", 1),
            ("Dora1 Larkspur2 Dora3 Larkspur4", "dora.larkspur", 1),
            ("sunshine-on-a-green-kettle", "dora", 0),
            ("superman.sunshine.dragon.kettle", "dora", 0),
            ("8391-x-4471-k-2290", "dora", 0),
            ("correct horse battery", "", 0),
            ("dora and a green kettle", "dora", 0),
        ] {
            assert_eq!(problems(password, name).len(), refused, "{password} {name}");
        }
    }

    #[test]
    fn a_password_is_right_for_its_own_hash_alone() {
        let judge = Judge::new().unwrap();
        let kept = hash("correct horse battery").unwrap();
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert!(judge.is_right("correct horse battery", Some(&kept)));
        assert!(!judge.is_right("correct horse batterY", Some(&kept)));
        assert!(!judge.is_right("correct horse battery", None));
        assert!(!judge.is_right("correct horse battery", Some("no hash")));
        assert_ne!(kept, hash("correct horse battery").unwrap(), "each has its own salt");
    }
}
