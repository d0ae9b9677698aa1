//! Signature capabilities: `request_signing`, `webhook_signing` and the location of the seller's
//! keys (`identity`).

use tradepost_adcp::AdcpTool;
use tradepost_adcp::signing::SignedKind;
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json, object};

use crate::profile::{RequestSigning, Signing};

/// Returns the sections about signatures.
pub(super) fn sections(signing: &Signing, tools: &[AdcpTool]) -> Vec<(&'static str, Value)> {
    let requests = signing.requests.as_ref().map(|requests| request_signing(requests, tools));
    let webhooks = signing.webhooks.map(|algorithm| {
        json!({
            "supported": true,
            "profile": SignedKind::Webhook.tag(),
            "algorithms": [algorithm.http_name()],
            "legacy_hmac_fallback": true,
        })
    });
    let identity = signing.brand_json_url.as_ref().map(|url| identity(signing, url));
    let all =
        [("request_signing", requests), ("webhook_signing", webhooks), ("identity", identity)];
    all.into_iter().filter_map(|(name, section)| Some((name, section?))).collect()
}

fn request_signing(requests: &RequestSigning, tools: &[AdcpTool]) -> Value {
    let supported: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    let methods = Some(&requests.methods_required_for).filter(|methods| !methods.is_empty());
    object!({
        "supported": true,
        "covers_content_digest": requests.digest.name(),
        "required_for": requests.required_for,
        "supported_for": supported,
        "protocol_methods_required_for"?: methods,
        "protocol_methods_supported_for"?: methods,
    })
}

/// Returns the seller's identity with the origin of each kind of key, which verifiers need.
fn identity(signing: &Signing, url: &str) -> Value {
    let after = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(after..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| after + at);
    let origin = url.get(..end).filter(|_| signing.webhooks.is_some());
    let origins = origin.map(|origin| json!({"webhook_signing": origin}));
    object!({"brand_json_url": url, "key_origins"?: origins})
}

#[cfg(test)]
mod tests {
    use tradepost_document::algorithm::Algorithm;

    use super::*;

    #[test]
    fn what_is_signed_is_said_and_nothing_else() {
        assert!(sections(&Signing::default(), &[AdcpTool::GetProducts]).is_empty());
        let signing = Signing {
            requests: Some(RequestSigning {
                required_for: ["create_media_buy".to_owned()].into(),
                methods_required_for: ["tasks/cancel".to_owned()].into(),
                ..RequestSigning::default()
            }),
            webhooks: Some(Algorithm::EdDsa),
            brand_json_url: Some("https://ads.example:8443/.well-known/brand.json".to_owned()),
        };
        let found = sections(&signing, &[AdcpTool::GetProducts, AdcpTool::CreateMediaBuy]);
        let expected = json!({
            "request_signing": {
                "supported": true,
                "covers_content_digest": "either",
                "required_for": ["create_media_buy"],
                "supported_for": ["get_products", "create_media_buy"],
                "protocol_methods_required_for": ["tasks/cancel"],
                "protocol_methods_supported_for": ["tasks/cancel"],
            },
            "webhook_signing": {
                "supported": true,
                "profile": "adcp/webhook-signing/v1",
                "algorithms": ["ed25519"],
                "legacy_hmac_fallback": true,
            },
            "identity": {
                "brand_json_url": "https://ads.example:8443/.well-known/brand.json",
                "key_origins": {"webhook_signing": "https://ads.example:8443"},
            },
        });
        assert_eq!(found.into_iter().collect::<Value>(), expected);
    }
}
