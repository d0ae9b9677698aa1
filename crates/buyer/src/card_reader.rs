//! Reading the card of an agent again, once, when nobody answers where it said (HTTP 404, 405 or 410):
//! the agent may have moved while its old card was kept, here or in a cache on the way.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Url;

use crate::discover::{Discovered, discover_anew};
use crate::transport::Transport;

/// Reads a card anew, and demands of it what was demanded of the first.
#[derive(Clone)]
pub struct CardReader(Arc<dyn Fn() -> BoxFuture<'static, Option<Discovered>> + Send + Sync>);

impl fmt::Debug for CardReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardReader")
    }
}

impl CardReader {
    /// Reads by this, which gives no card where there is none, or none that is trusted.
    pub fn new<F>(read: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Discovered>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(read())))
    }

    /// Reads the card at this address, whoever has signed it.
    #[must_use]
    pub fn unverified(transport: Transport, card: Url) -> Self {
        Self::new(move || {
            let transport = transport.clone();
            let card = card.clone();
            async move { discover_anew(&transport, card.as_str()).await.ok() }
        })
    }

    pub(crate) async fn read(&self) -> Option<Discovered> {
        (self.0)().await
    }
}

/// Goes on with the client of where an agent has moved, if it has. Returns true then.
pub(crate) fn follow_move<C: Clone>(client: &mut Cow<'_, C>, moved: Option<C>) -> bool {
    let Some(moved) = moved else { return false };
    *client = Cow::Owned(moved);
    true
}

/// Whether a client may go on at the address of a card that was read again: it is another one than
/// before, and a credential does not leave the origin that it was given for.
pub(crate) fn may_move(from: &Url, to: &Url, has_credential: bool) -> bool {
    from != to && (!has_credential || from.origin() == to.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_does_not_move_to_another_origin() {
        for (to, without, with) in [
            ("https://a.example/old", false, false),
            ("https://a.example/new", true, true),
            ("https://a.example:8443/old", true, false),
            ("https://b.example/old", true, false),
        ] {
            let to = Url::parse(to).unwrap();
            let from = Url::parse("https://a.example/old").unwrap();
            assert_eq!(may_move(&from, &to, false), without, "{to}");
            assert_eq!(may_move(&from, &to, true), with, "{to}");
        }
    }
}
