//! What requests may have done although nobody said so.

use std::fmt;

use crate::text::{WORD, plain};

/// The requests of one intent after which the seller may have acted, by their idempotency keys.
/// Nothing but an answer to the same key settles one: a later refusal, or a seller who cannot be
/// reached any more, says nothing of what became of the request before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestsInDoubt {
    keys: Vec<String>,
    /// Whether a request without a key is among them.
    unkeyed: bool,
    /// Whether the seller does not promise to know the keys again.
    unpromised: bool,
}

impl RequestsInDoubt {
    /// Whether it is unknown if the seller has acted.
    #[must_use]
    pub fn in_doubt(&self) -> bool {
        self.unkeyed || !self.keys.is_empty()
    }

    /// The keys of the requests that may have had an effect: one that is sent again with its key
    /// cannot have it twice, where [`Self::may_repeat`] and while the seller knows the key.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }

    /// Whether nothing is known that speaks against sending the request again with its key.
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

    pub(super) fn settle(&mut self, answered: Option<&str>) {
        // A request without a key is settled by nothing: an answer may be to another one.
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
