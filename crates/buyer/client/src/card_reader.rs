//! Reads an agent's card again, once, when its address does not work any more (HTTP 404, 405 or 410): the
//! agent may have moved while its old card was cached here or on the way.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::Url;

use crate::discover::{Discovered, discover_anew};
use crate::token::{EndpointSource, SentToken};
use crate::transport::HttpTransport;

/// Reads a card again, with the same checks as the first time.
#[derive(Clone)]
pub struct CardReader(Arc<dyn Fn() -> BoxFuture<'static, Option<Discovered>> + Send + Sync>);

impl fmt::Debug for CardReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CardReader")
    }
}

impl CardReader {
    /// Creates a reader from this function, which returns `None` when there is no card or no trusted one.
    pub fn new<F>(read: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Option<Discovered>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(read())))
    }

    /// Creates a reader of the card at this address that does not check signatures.
    #[must_use]
    pub fn new_unverified(transport: HttpTransport, card: Url) -> Self {
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

/// Replaces the client if the agent has moved. Returns true when it has.
pub(crate) fn follow_move<C: Clone>(client: &mut Cow<'_, C>, moved: Option<C>) -> bool {
    let Some(moved) = moved else { return false };
    *client = Cow::Owned(moved);
    true
}

/// Returns true when a client may continue at the address of a card that was read again: the address is a new
/// one, and the token may be sent there.
pub(crate) fn may_move(
    from: &Url,
    to: &Url,
    token: Option<&SentToken>,
    source: &EndpointSource,
) -> bool {
    let may_go = |token: &SentToken| from.origin() == to.origin() || token.may_go_to(to, source);
    from != to && token.is_none_or(may_go)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::BearerToken;

    #[test]
    fn a_token_moves_only_to_origins_that_it_is_for() {
        let from = Url::parse("https://a.example/old").unwrap();
        let source = EndpointSource::caller(&from);
        let usual = BearerToken::new("s3cret");
        let origins =
            ["https://a.example", "https://b.example"].map(|origin| origin.parse().unwrap());
        let for_both = usual.clone().only_for(origins);
        let [usual, for_both] =
            [usual, for_both].map(|token| SentToken::new(token, &from, &source).unwrap());
        for (to, without, with_usual, with_both) in [
            ("https://a.example/old", false, false, false),
            ("https://a.example/new", true, true, true),
            ("https://a.example:8443/old", true, false, false),
            ("https://b.example/old", true, false, true),
            ("http://b.example/old", true, false, false),
        ] {
            let to = Url::parse(to).unwrap();
            for (token, expected) in
                [(None, without), (Some(&usual), with_usual), (Some(&for_both), with_both)]
            {
                assert_eq!(may_move(&from, &to, token, &source), expected, "{to} {token:?}");
            }
        }
    }
}
