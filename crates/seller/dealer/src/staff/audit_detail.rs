//! Texts in the detail of audit entries that are read again: those about members and about notes. Each format is
//! written and read here alone, because stored entries can never be rewritten.

use std::fmt;

use sha2::{Digest as _, Sha256};
use tradepost_document::catalog::Vocabulary as _;

use super::StaffRole;
use crate::consent::{Sha256Hash, from_hex, hex};

/// Prefix of a note's hash in the detail of an entry.
const NOTE_MARK: &str = "sha256:";

/// Prefix of a password's hash in the detail of an entry.
const PASSWORD_MARK: &str = "password:";

/// Writes the detail of an entry about a note: `sha256:` and the hash in hexadecimal digits.
#[must_use]
pub fn note_detail(digest: &Sha256Hash) -> String {
    format!("{NOTE_MARK}{}", hex(digest))
}

/// Reads the hash of a note from the detail of its entry; `None` for older entries without one.
#[must_use]
pub fn note_digest_of(detail: Option<&str>) -> Option<Sha256Hash> {
    from_hex(detail?.strip_prefix(NOTE_MARK)?)
}

/// Detail of an entry about a member whose role or password was set. Its text has up to two words with a blank between
/// them: the name of the role, if that was set, and `password:` with a hash of the stored password hash, if that was
/// set. An example is `desk password:0cc175b9c0f1b6a831c399e269772661`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberDetail {
    /// Role, if it was set.
    pub role: Option<StaffRole>,
    /// Hash of the stored password hash, if it was set and recorded; it shows when the password changes.
    pub password_print: Option<String>,
}

impl MemberDetail {
    /// Creates the detail. `password` is the stored salted hash, of which only a hash becomes part of the detail.
    #[must_use]
    pub fn new(role: Option<StaffRole>, password: Option<&str>) -> Self {
        Self { role, password_print: password.map(password_print) }
    }

    /// Parses the detail of an entry about a member. Refuses no text, because the entry counts without it too: a word
    /// that is not a role means that the role is unknown, and of two roles or two passwords the last one counts.
    #[must_use]
    pub fn parse(detail: Option<&str>) -> Self {
        let mut parsed = Self::default();
        for word in detail.unwrap_or_default().split_whitespace() {
            match word.strip_prefix(PASSWORD_MARK) {
                Some(print) => parsed.password_print = Some(print.to_owned()),
                None => parsed.role = StaffRole::from_name(word),
            }
        }
        parsed
    }
}

impl fmt::Display for MemberDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(role) = self.role {
            f.write_str(role.name())?;
        }
        let Some(print) = &self.password_print else { return Ok(()) };
        let blank = if self.role.is_some() { " " } else { "" };
        write!(f, "{blank}{PASSWORD_MARK}{print}")
    }
}

/// Returns the hash of a stored password hash: 32 hexadecimal digits.
#[must_use]
pub fn password_print(password: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"tradepost kept password 1\n");
    hasher.update(password);
    let digest: Sha256Hash = hasher.finalize().into();
    hex(&digest).chars().take(32).collect()
}

/// Returns the detail of an entry of any kind for people, without the hashes; `None` when nothing remains.
#[must_use]
pub fn readable_detail(detail: &str) -> Option<String> {
    let is_hash = |word: &str| word.starts_with(NOTE_MARK) || word.starts_with(PASSWORD_MARK);
    let is_marked = detail.split_whitespace().any(is_hash);
    if !is_marked {
        return Some(detail.to_owned());
    }
    let words: Vec<&str> = detail.split_whitespace().filter(|word| !is_hash(word)).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the text of a detail, and returns its role and its hash.
    fn read(text: &str) -> (Option<StaffRole>, Option<String>) {
        let MemberDetail { role, password_print } = MemberDetail::parse(Some(text));
        (role, password_print)
    }

    #[test]
    fn a_member_is_read_as_written() {
        for role in StaffRole::ALL.iter().copied().map(Some).chain([None]) {
            for password in [Some("$argon2id$v=19$one"), Some(""), None] {
                let detail = MemberDetail::new(role, password);
                assert_eq!(MemberDetail::parse(Some(&detail.to_string())), detail);
            }
        }
        assert_eq!(MemberDetail::parse(None), MemberDetail::default());
    }

    #[test]
    fn the_format_of_a_member_stays_as_it_is_stored() {
        let print = password_print("first");
        assert_eq!(print.len(), 32);
        let written = |role| MemberDetail::new(role, Some("first")).to_string();
        assert_eq!(written(Some(StaffRole::Desk)), format!("desk password:{print}"));
        assert_eq!(written(None), format!("password:{print}"));
        assert_eq!(MemberDetail::new(Some(StaffRole::Viewer), None).to_string(), "viewer");
        assert_eq!(MemberDetail::default().to_string(), "");
    }

    #[test]
    fn a_malformed_member_has_what_can_be_read() {
        let print = |text: &str| Some(text.to_owned());
        assert_eq!(read(""), (None, None));
        assert_eq!(read("Desk"), (None, None), "another case");
        assert_eq!(read("owner password:ab"), (None, print("ab")), "no role");
        assert_eq!(read("desk owner"), (None, None), "the last word counts");
        assert_eq!(read("desk manager"), (Some(StaffRole::Manager), None));
        assert_eq!(read("password:ab desk"), (Some(StaffRole::Desk), print("ab")), "other order");
        assert_eq!(read("password:ab password:cd"), (None, print("cd")));
        assert_eq!(read("desk\tpassword:"), (Some(StaffRole::Desk), print("")), "no hash");
        assert_eq!(read("desk password: ab"), (None, print("")), "a blank in the hash");
        assert_eq!(read("password:no hexadecimal digits"), (None, print("no")));
    }

    #[test]
    fn a_note_is_read_as_written() {
        let digest: Sha256Hash = Sha256::digest("a note").into();
        assert_eq!(note_digest_of(Some(&note_detail(&digest))), Some(digest));
        for malformed in ["", "sha256:", "sha256:00", "password:ab", &hex(&digest)] {
            assert_eq!(note_digest_of(Some(malformed)), None, "{malformed}");
        }
        assert_eq!(note_digest_of(None), None);
    }

    #[test]
    fn people_see_no_hash() {
        let written = |role| MemberDetail::new(role, Some("first")).to_string();
        assert_eq!(readable_detail(&written(None)), None);
        assert_eq!(readable_detail(&written(Some(StaffRole::Desk))).as_deref(), Some("desk"));
        assert_eq!(readable_detail(&note_detail(&[0; 32])), None);
        assert_eq!(readable_detail("a  b password:ab").as_deref(), Some("a b"));
        assert_eq!(readable_detail("two  blanks").as_deref(), Some("two  blanks"), "no hash");
        assert_eq!(readable_detail("").as_deref(), Some(""));
    }
}
