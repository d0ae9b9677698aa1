//! What the capabilities say of signatures: `request_signing`, `webhook_signing` and where the
//! seller's own keys are (`identity`).

use tradepost_wire::adcp::Tool;
use tradepost_wire::adcp::signing::Surface;
use tradepost_wire::catalog::Vocabulary as _;
use tradepost_wire::json::{Map, Value, json};

use crate::profile::{RequestSigning, Signing};

/// The members that belong there.
pub(super) fn sections(signing: &Signing, tools: &[Tool]) -> Vec<(&'static str, Value)> {
    let mut sections = Vec::new();
    if let Some(requests) = &signing.requests {
        sections.push(("request_signing", request_signing(requests, tools)));
    }
    if let Some(algorithm) = signing.webhooks {
        let webhooks = json!({
            "supported": true,
            "profile": Surface::Webhook.tag(),
            "algorithms": [algorithm.http_name()],
            "legacy_hmac_fallback": true,
        });
        sections.push(("webhook_signing", webhooks));
    }
    if let Some(url) = &signing.brand_json_url {
        sections.push(("identity", identity(signing, url)));
    }
    sections
}

fn request_signing(requests: &RequestSigning, tools: &[Tool]) -> Value {
    let supported: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    let mut section = Map::new();
    let mut put = |name: &str, value: Value| section.insert(name.to_owned(), value);
    put("supported", true.into());
    put("covers_content_digest", requests.digest.name().into());
    put("required_for", json!(requests.required_for));
    put("supported_for", json!(supported));
    let methods = &requests.methods_required_for;
    if !methods.is_empty() {
        put("protocol_methods_required_for", json!(methods));
        put("protocol_methods_supported_for", json!(methods));
    }
    section.into()
}

/// Whoever verifies wants to hear from which origin each kind of key comes.
fn identity(signing: &Signing, url: &str) -> Value {
    let after = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(after..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| after + at);
    match (url.get(..end), signing.webhooks) {
        (Some(origin), Some(_)) => {
            json!({"brand_json_url": url, "key_origins": {"webhook_signing": origin}})
        }
        (Some(_) | None, _) => json!({"brand_json_url": url}),
    }
}

#[cfg(test)]
mod tests {
    use tradepost_wire::algorithm::Algorithm;

    use super::*;

    #[test]
    fn what_is_signed_is_said_and_nothing_else() {
        assert!(sections(&Signing::default(), &[Tool::GetProducts]).is_empty());
        let signing = Signing {
            requests: Some(RequestSigning {
                required_for: ["create_media_buy".to_owned()].into(),
                methods_required_for: ["tasks/cancel".to_owned()].into(),
                ..RequestSigning::default()
            }),
            webhooks: Some(Algorithm::EdDsa),
            brand_json_url: Some("https://ads.example:8443/.well-known/brand.json".to_owned()),
        };
        let said = sections(&signing, &[Tool::GetProducts, Tool::CreateMediaBuy]);
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
        assert_eq!(said.into_iter().collect::<Value>(), expected);
    }
}
