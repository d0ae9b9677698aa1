//! AdCP webhook signatures: by keys that the sellers' `brand.json` names for webhooks only, over the address
//! at which the receiver is reached.

use std::sync::Arc;

use jiff::Timestamp;
use tradepost_adcp::signing::{DigestRule, SignatureError, SignedKind};
use tradepost_keys::http_signature::{SignableRequest, TargetUri};

use super::authentic::DeliveryEnvelope;
use crate::signed::signers::Signers;
use crate::signed::{self, Checklist, SignedContent, fields};
use tradepost_keys::replay::ReplayCache;

/// Maximum number of signatures of one key that are remembered while they are valid, as the profile recommends.
pub const PER_KEY: usize = 100_000;

/// Trusted senders of AdCP webhooks.
#[derive(Debug)]
pub struct TrustedWebhooks {
    checklist: Checklist<Arc<str>>,
    url: Option<TargetUri>,
}

impl TrustedWebhooks {
    /// Trusts these sellers, for webhooks sent to `url`, or to any address when it is `None`.
    #[must_use]
    pub fn new(sellers: Signers<Arc<str>>, url: Option<TargetUri>) -> Self {
        let used = ReplayCache::default();
        let checklist = Checklist::new(SignedKind::Webhook, DigestRule::Required, sellers, used);
        Self { checklist, url }
    }

    /// Returns the signer of a webhook; `None` when it is not signed.
    ///
    /// # Errors
    /// The first step of the published checklist that fails.
    pub(super) async fn verify(
        &self,
        envelope: &DeliveryEnvelope<'_>,
        now: Timestamp,
    ) -> Result<Option<SignedContent<Arc<str>>>, SignatureError> {
        let fields = fields(envelope.headers);
        let method = envelope.method.as_str();
        let target = self.target(envelope)?;
        let message = SignableRequest { method, target: &target, fields: &fields };
        self.checklist.check(&message, envelope.body, now).await
    }

    /// Lets the same webhook come again.
    pub(super) fn release(&self, signed: &SignedContent<Arc<str>>) {
        self.checklist.release(signed);
    }

    /// Returns the address to which the sender sent the webhook. Its path is the configured one, because a
    /// proxy may have shortened it; its query is that of the request, unless one is configured.
    fn target(&self, envelope: &DeliveryEnvelope<'_>) -> Result<TargetUri, SignatureError> {
        let uri = envelope.uri;
        let headers = envelope.headers;
        let Some(url) = &self.url else {
            let path = uri.path_and_query().map_or("/", |path| path.as_str());
            return signed::target(None, "http", path, uri, headers);
        };
        let mut path = url.path().to_owned();
        if let Some(query) = url.query().or(uri.query()) {
            path.push('?');
            path.push_str(query);
        }
        let places = std::slice::from_ref(url);
        signed::target(Some(places), url.scheme(), &path, uri, headers)
    }
}
