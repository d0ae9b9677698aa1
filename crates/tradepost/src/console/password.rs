//! Passwords: hashed with Argon2id at the cost that OWASP asks for at least (19 MiB, two passes), and
//! compared at the same cost whether anybody has the name or not.

use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use tradepost_server::fault::Fault;

/// How long a password has to be (NIST SP 800-63B §3.1.1.2 has 15 for those that stand alone; 12 is
/// what people keep to who sign in twice a day).
pub const SHORTEST: usize = 12;

/// Beyond that, it would only keep us busy.
pub const LONGEST: usize = 256;

const SALT: usize = 16;

/// Hashes a password.
///
/// # Errors
/// When the operating system has no randomness.
pub fn hash(password: &str) -> Result<String, Fault> {
    let hashed: PasswordHash = Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &random::<SALT>()?)
        .map_err(|error| Fault::new("hashing a password", error.to_string()))?;
    Ok(hashed.to_string())
}

/// Compares passwords with their hashes, one at a time: a crowd that guesses must not have our memory.
#[derive(Debug)]
pub struct Judge {
    /// Nobody's, to be compared with where nobody has the name.
    nobody: String,
    turn: Mutex<()>,
}

impl Judge {
    /// Begins.
    ///
    /// # Errors
    /// When the operating system has no randomness.
    pub fn new() -> Result<Self, Fault> {
        Ok(Self { nobody: hash(&token()?)?, turn: Mutex::default() })
    }

    /// Whether a password is the one with this hash; never when there is none, at the same cost.
    #[must_use]
    pub fn is_right(&self, password: &str, hashed: Option<&str>) -> bool {
        if password.len() > LONGEST {
            return false;
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = hashed.unwrap_or(&self.nobody);
        let same = PasswordHash::new(kept).is_ok_and(|kept| {
            Argon2::default().verify_password(password.as_bytes(), &kept).is_ok()
        });
        same && hashed.is_some()
    }
}

/// Text that nobody can guess: 256 bits.
///
/// # Errors
/// When the operating system has no randomness.
pub fn token() -> Result<String, Fault> {
    use base64::Engine as _;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random::<32>()?))
}

fn random<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Fault::new("reading the operating system's randomness", error.to_string())
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

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
