//! Webhooks that are signed as AdCP's sellers sign them: with keys that their `brand.json` leads to, for
//! webhooks and nothing else, over the address at which we are reached.

use std::sync::Arc;

use jiff::Timestamp;
use tradepost_keys::http_signature::{SignableRequest, TargetUri};
use tradepost_wire::adcp::signing::{DigestRule, SignatureError, SignedKind};

use super::authentic::DeliveryEnvelope;
use crate::signed::signers::Signers;
use crate::signed::{self, Checklist, SignedContent, fields};
use tradepost_keys::replay::ReplayCache;

/// How many signatures of one key are remembered while they hold, as the profile recommends.
pub const PER_KEY: usize = 100_000;

/// Which webhooks are believed.
#[derive(Debug)]
pub struct TrustedWebhooks {
    checklist: Checklist<Arc<str>>,
    url: Option<TargetUri>,
}

impl TrustedWebhooks {
    /// Those of these sellers, sent to `url`; to whatever they name when it is `None`.
    #[must_use]
    pub fn new(sellers: Signers<Arc<str>>, url: Option<TargetUri>) -> Self {
        let used = ReplayCache::default();
        let checklist = Checklist::new(SignedKind::Webhook, DigestRule::Required, sellers, used);
        Self { checklist, url }
    }

    /// Who has signed a webhook; `None` when nobody claims that.
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

    /// Where the sender meant to send it. A proxy may have shortened the path; the query is the
    /// sender's.
    fn target(&self, envelope: &DeliveryEnvelope<'_>) -> Result<TargetUri, SignatureError> {
        let sent = (envelope.uri, envelope.headers);
        let Some(url) = &self.url else {
            let path = envelope.uri.path_and_query().map_or("/", |path| path.as_str());
            return signed::target(None, "http", path, sent);
        };
        let mut path = url.path().to_owned();
        if let Some(query) = url.query().or(envelope.uri.query()) {
            path.push('?');
            path.push_str(query);
        }
        signed::target(Some(std::slice::from_ref(url)), url.scheme(), &path, sent)
    }
}
