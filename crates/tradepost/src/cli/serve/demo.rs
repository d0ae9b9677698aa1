//! The demo publisher: a sandbox in which everybody may look around, with credentials that are no
//! secret.

use std::path::PathBuf;
use std::sync::Arc;

use tradepost_buyer::signed::signers::{AgentKeys, KeyLocation};
use tradepost_publisher::agent::{AgentStanding, BuyerAgent};
use tradepost_publisher::profile::RequestSigning;
use tradepost_wire::adcp::AdcpTool;
use tradepost_wire::adcp::signing::DigestRule;

use crate::config::{Config, PublisherConfig};
use crate::wiring;

/// The agent whose requests are signed.
const SIGNER: &str = "test-signer";

/// A key of the published test vectors that has been revoked.
const REVOKED: &str = "test-revoked-2026";

/// How many signatures of one key are taken while they hold: few, so that this can be tried.
const SIGNATURES: usize = 100;

/// Its arguments.
#[derive(Debug, clap::Args)]
pub(super) struct DemoPublisher {
    /// A fictional publisher of advertising instead of a configuration file: a sandbox, whose
    /// credentials are no secret.
    #[arg(long, conflicts_with_all = ["demo", "config"])]
    demo_publisher: bool,
    /// Where the demo publisher's brand.json is reached with https, to which the address here has
    /// none.
    #[arg(long, value_name = "URL", requires = "demo_publisher")]
    brand_json_url: Option<String>,
    /// Lets the demo publisher take requests that are signed with keys of this JWK set.
    #[arg(long, value_name = "FILE", requires = "demo_publisher")]
    demo_signers: Option<PathBuf>,
}

impl DemoPublisher {
    /// The demo publisher's configuration, when it is asked for.
    pub(super) fn config(&self) -> Option<Config> {
        if !self.demo_publisher {
            return None;
        }
        let mut config = wiring::demo::publisher();
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
            // The published vectors have both.
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
