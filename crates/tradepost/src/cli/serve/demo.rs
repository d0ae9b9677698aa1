//! Demo publisher: a sandbox for everyone, with public credentials.

use std::path::PathBuf;
use std::sync::Arc;

use tradepost_adcp::AdcpTool;
use tradepost_adcp::signing::DigestRule;
use tradepost_client::signed::signers::{AgentKeys, KeyLocation};
use tradepost_publisher::agent::{AgentStanding, BuyerAgent};
use tradepost_publisher::profile::RequestSigning;
use tradepost_runtime::config::{Config, PublisherConfig};

/// Id of the agent that signs its requests.
const SIGNER: &str = "test-signer";

/// Id of a revoked key of the published test vectors.
const REVOKED: &str = "test-revoked-2026";

/// Maximum number of valid signatures of one key: few, so that the limit can be tried.
const SIGNATURES: usize = 100;

/// Options of the demo publisher.
#[derive(Debug, clap::Args)]
pub(super) struct DemoPublisher {
    /// Use a fictional publisher of advertising instead of a configuration file. It is a sandbox,
    /// whose credentials are not secret.
    #[arg(long, conflicts_with_all = ["demo", "config"])]
    demo_publisher: bool,
    /// https URL of the demo publisher's brand.json, because the server's own address does not have
    /// https.
    #[arg(long, value_name = "URL", requires = "demo_publisher")]
    brand_json_url: Option<String>,
    /// Let the demo publisher accept requests that are signed with keys of this JWK set.
    #[arg(long, value_name = "FILE", requires = "demo_publisher")]
    demo_signers: Option<PathBuf>,
}

impl DemoPublisher {
    /// Returns the demo publisher's configuration, if the demo was requested.
    pub(super) fn config(&self) -> Option<Config> {
        if !self.demo_publisher {
            return None;
        }
        let mut config = crate::demo::publisher();
        for publisher in &mut config.publishers {
            self.furnish(publisher);
        }
        Some(config)
    }

    fn furnish(&self, publisher: &mut PublisherConfig) {
        publisher.brand_json_url.clone_from(&self.brand_json_url);
        let profile = &mut publisher.profile;
        let Some(file) = &self.demo_signers else {
            return;
        };
        profile.signing.requests = Some(RequestSigning {
            required_for: [AdcpTool::CreateMediaBuy.to_string()].into(),
            methods_required_for: ["tasks/cancel".to_owned()].into(),
            // The published test vectors have both.
            digest: DigestRule::Either,
        });
        profile.agents.push(Arc::new(BuyerAgent {
            id: SIGNER.to_owned(),
            url: None,
            principals: [].into(),
            standing: AgentStanding::Active,
            sandbox_only: false,
            live_only: false,
            billing: None,
            scope: None,
            spend_limits: Vec::new(),
        }));
        let keys = AgentKeys {
            source: KeyLocation::File(file.clone()),
            revoked: vec![REVOKED.to_owned()],
            cap: SIGNATURES,
        };
        publisher.signers.insert(SIGNER.to_owned(), keys);
    }
}
