//! The HMAC of what is pushed: over the seconds since 1970, a full stop and the body, as receivers of
//! `tradepost receive` check it.

use ring::hmac;

/// HMAC-SHA256 in hexadecimal digits.
#[must_use]
pub fn over(key: &str, seconds: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    let message = [seconds.as_bytes(), b".", body.as_bytes()].concat();
    hmac::sign(&key, &message).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
