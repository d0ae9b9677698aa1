//! What proves a webhook's sender: the headers of a signature, and what the sender publishes of its
//! keys. Nobody here has a private key, so that nobody is believed.

#![no_main]

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use jiff::Timestamp;
use libfuzzer_sys::fuzz_target;
use tradepost_adcp::signing::SignatureError;
use tradepost_client::receiver::authentic::{Authenticity, DeliveryEnvelope, TrustedWebhooks};
use tradepost_client::signed::signers::{
    AgentKeys, DocumentUnread, Fetching, KeyLocation, PublishedKeys, Signers, SigningAgent,
};
use tradepost_keys::http_signature::TargetUri;

const SELLER: &str = "https://s.example/mcp";

/// What is published, at whichever address it is asked for.
#[derive(Debug)]
struct Site([Vec<u8>; 3]);

impl PublishedKeys for Site {
    fn get<'a>(&'a self, url: &'a str) -> Fetching<'a> {
        let [brand, keys, revoked] = &self.0;
        let page = match url {
            "https://s.example/.well-known/brand.json" if brand.is_empty() => {
                br#"{"agents":[{"url":"https://s.example/mcp"}]}"#
            }
            "https://s.example/.well-known/brand.json" => brand.as_slice(),
            "https://s.example/.well-known/governance-revocations.json" => revoked,
            _ => keys,
        };
        let page = if page.is_empty() { Err(DocumentUnread::Absent) } else { Ok(page.to_vec()) };
        Box::pin(std::future::ready(page))
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn failed(&self, _: &str, _: SignatureError) {}
}

type Bytes<'b> = &'b [u8];

fuzz_target!(|input: (i32, [Bytes<'_>; 3], [Bytes<'_>; 5], Bytes<'_>)| {
    let (seconds, published, values, body) = input;
    let site = Arc::new(Site(published.map(<[u8]>::to_vec)));
    let keys = AgentKeys { source: KeyLocation::Published(None), revoked: Vec::new(), cap: 10 };
    let url = Some(SELLER.to_owned());
    let agent = SigningAgent { whose: Arc::<str>::from(SELLER), id: SELLER.to_owned(), url, keys };
    let Ok(signers) = Signers::open(site, vec![agent], |_| unreachable!("there is no file")) else {
        unreachable!("there is no file")
    };
    let target = TargetUri::read("https://b.example/hook").expect("an address");
    let judge = Authenticity::default().with_webhooks(TrustedWebhooks::new(signers, Some(target)));
    let mut headers = HeaderMap::new();
    let names = ["signature-input", "signature", "content-digest", "content-type", "host"];
    for (name, value) in names.into_iter().zip(values) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            headers.append(HeaderName::from_static(name), value);
        }
    }
    headers.entry("host").or_insert(HeaderValue::from_static("b.example"));
    let uri = Uri::from_static("/hook");
    let envelope = DeliveryEnvelope { method: &Method::POST, uri: &uri, headers: &headers, body };
    let now = Timestamp::from_second(i64::from(seconds)).expect("a moment");
    // The keys are asked for by a task of its own.
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    match runtime.block_on(judge.check(&envelope, now)) {
        Err(denied) => assert!(denied.code().is_some()),
        Ok(pass) => panic!("{pass:?} without a key"),
    }
});
