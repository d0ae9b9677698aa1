//! HMAC signatures of pushed messages: HMAC-SHA256 over the seconds since 1970, a full stop and the
//! body, in hexadecimal digits.

use std::fmt;

use ring::hmac;

/// A key that both sides have.
pub struct SharedKey(hmac::Key);

impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedKey")
    }
}

impl SharedKey {
    /// Creates a key from its text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()))
    }

    /// Signs a body at a time, and returns hexadecimal digits.
    #[must_use]
    pub fn sign(&self, seconds: &str, body: &[u8]) -> String {
        let tag = hmac::sign(&self.0, &covered(seconds, body));
        tradepost_document::format::hex(tag.as_ref())
    }

    /// Returns true when the digits sign this body at this time.
    #[must_use]
    pub fn verifies(&self, seconds: &str, body: &[u8], digits: &str) -> bool {
        let tag = bytes(digits);
        // Compared in constant time.
        tag.is_some_and(|tag| hmac::verify(&self.0, &covered(seconds, body), &tag).is_ok())
    }
}

fn covered(seconds: &str, body: &[u8]) -> Vec<u8> {
    [seconds.as_bytes(), b".", body].concat()
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some(digit(high)? * 16 + digit(low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_believed_and_nothing_else() {
        let key = SharedKey::new("a key");
        let digits = key.sign("1777550400", b"{}");
        assert!(key.verifies("1777550400", b"{}", &digits));
        assert!(key.verifies("1777550400", b"{}", &digits.to_ascii_uppercase()));
        assert!(!key.verifies("1777550401", b"{}", &digits));
        assert!(!key.verifies("1777550400", b"[]", &digits));
        assert!(!SharedKey::new("another").verifies("1777550400", b"{}", &digits));
        for bad in ["", "0", "zz", digits.get(2..).unwrap_or_default()] {
            assert!(!key.verifies("1777550400", b"{}", bad), "{bad}");
        }
        assert_eq!(format!("{key:?}"), "SharedKey");
    }
}
