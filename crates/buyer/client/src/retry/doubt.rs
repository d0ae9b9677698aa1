//! Requests that may have had an effect without an answer that says so.

use std::fmt;

use crate::text::{WORD, plain};

/// Requests of one intent after which the seller may have acted, by their idempotency keys. Only an answer to
/// the same key settles one: a later refusal or failed connection says nothing about an earlier request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestsInDoubt {
    keys: Vec<String>,
    /// True when a request without a key is among them.
    unkeyed: bool,
    /// True when the seller does not promise to recognise the keys.
    unpromised: bool,
}

impl RequestsInDoubt {
    /// Returns true when the seller may have acted.
    #[must_use]
    pub fn in_doubt(&self) -> bool {
        self.unkeyed || !self.keys.is_empty()
    }

    /// Returns the keys of the requests that may have had an effect. A request that is sent again with its
    /// key has it only once, if [`Self::may_repeat`] and as long as the seller remembers the key.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// Returns true when nothing known forbids sending the request again with its key.
    #[must_use]
    pub fn may_repeat(&self) -> bool {
        !self.unkeyed && !self.unpromised
    }

    pub(super) fn unpromised(self) -> Self {
        Self { unpromised: true, ..self }
    }

    pub(super) fn cast(&mut self, key: Option<&str>) {
        match key {
            Some(key) if self.keys().any(|known| known == key) => {}
            Some(key) => self.keys.push(key.to_owned()),
            None => self.unkeyed = true,
        }
    }

    pub(crate) fn add(&mut self, more: &Self) {
        more.keys().for_each(|key| self.cast(Some(key)));
        self.unkeyed |= more.unkeyed;
        self.unpromised |= more.unpromised;
    }

    /// Removes the requests with this key, which the seller has answered.
    pub(super) fn settle(&mut self, answered: Option<&str>) {
        // An answer never settles a request without a key, because it may be to another one.
        self.keys.retain(|key| Some(key.as_str()) != answered);
    }
}

impl fmt::Display for RequestsInDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.in_doubt() {
            return f.write_str("nothing has happened");
        }
        f.write_str("it may have happened all the same")?;
        let keys: Vec<_> = self.keys().map(|key| plain(key, 2 * WORD)).collect();
        if !keys.is_empty() {
            let keys = keys.join(" or ");
            if self.unpromised {
                write!(
                    f,
                    "; the seller does not promise to know its idempotency_key {keys} again"
                )?;
            } else {
                write!(f, "; send it again only with the idempotency_key {keys}")?;
            }
        }
        if self.unkeyed {
            f.write_str("; it had no idempotency key, so that sending it again may do it twice")?;
        }
        Ok(())
    }
}
