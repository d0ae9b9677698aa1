//! Several requests in a row, and all of their answers as one text.

use expect_test::Expect;
use tradepost_adcp::AdcpTool;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::profile::{Onboarding, PublisherProfile};

use super::{Harness, profile};

/// A publisher in its harness, and the transcript so far.
pub(crate) struct Script {
    /// Harness with the publisher.
    pub(crate) harness: Harness,
    transcript: String,
    keys: u32,
}

/// What `sync_creatives` is sent of a banner.
pub(crate) fn banner(id: &str) -> Value {
    json!({"creatives": [{
        "creative_id": id, "name": "A banner",
        "format_id": {"agent_url": "https://ads.gazette.example", "id": "display_300x250"},
        "assets": {"image": {
            "asset_type": "image", "url": "https://cdn.example/a.png", "width": 300, "height": 250,
        }},
    }]})
}

impl Script {
    /// The usual publisher with the demo's catalogue; accounts are opened by the first request.
    pub(crate) fn new() -> Self {
        Self::from_catalogue(demo::catalogue())
    }

    /// The same with another catalogue.
    pub(crate) fn from_catalogue(catalogue: Catalogue) -> Self {
        let onboarding = Onboarding { implicit: true, ..Onboarding::default() };
        let harness =
            Harness::from_profile(PublisherProfile { catalogue, onboarding, ..profile() });
        Self::at(harness)
    }

    /// In a harness that is set up.
    pub(crate) fn at(harness: Harness) -> Self {
        Self { harness, transcript: String::new(), keys: 0 }
    }

    /// The answer of somebody's request, which is completed with a fresh key and, where there is
    /// none, with the account of Acme Outdoor.
    pub(crate) fn ask_as(&mut self, principal: &str, tool: AdcpTool, arguments: Value) -> Value {
        let mut arguments = arguments;
        let members = arguments.as_object_mut().unwrap();
        if tool.keyed() {
            self.keys += 1;
            let key = format!("script-key-{:08}", self.keys);
            members.entry("idempotency_key").or_insert(json!(key));
        }
        let account = json!({
            "brand": {"domain": "acmeoutdoor.example"}, "operator": "pinnacle.example",
        });
        let accountless = matches!(
            tool,
            AdcpTool::SyncPlans
                | AdcpTool::CheckGovernance
                | AdcpTool::ReportPlanOutcome
                | AdcpTool::GetPlanAuditLogs
                | AdcpTool::SiGetOffering
                | AdcpTool::SiInitiateSession
                | AdcpTool::SiSendMessage
                | AdcpTool::SiTerminateSession
        );
        if tool == AdcpTool::ComplyTestController {
            members.entry("account").or_insert(json!({"sandbox": true}));
        } else if !accountless {
            members.entry("account").or_insert(account);
        }
        self.harness.ask_as(&self.harness.caller(principal), tool, arguments).document()
    }

    /// The same for `acme`.
    pub(crate) fn ask(&mut self, tool: AdcpTool, arguments: Value) -> Value {
        self.ask_as("acme", tool, arguments)
    }

    /// Has the test controller do something, which it can.
    pub(crate) fn control(&mut self, scenario: &str, params: Value) {
        let request = json!({"scenario": scenario, "params": params});
        let answer = self.ask(AdcpTool::ComplyTestController, request);
        assert_eq!(answer["success"], true, "{answer}");
    }

    /// Puts a product with one price beside the catalogue.
    pub(crate) fn seed_product(&mut self, id: &str, fixture: Value) {
        self.control("seed_product", json!({"product_id": id, "fixture": fixture}));
        let price = json!({
            "product_id": id, "pricing_option_id": "fixed",
            "fixture": {"currency": "USD", "fixed_price": 8},
        });
        self.control("seed_pricing_option", price);
    }

    /// Asks as `acme`, and notes the whole answer under a title.
    pub(crate) fn note(&mut self, title: &str, tool: AdcpTool, arguments: Value) -> Value {
        self.note_as("acme", title, tool, arguments)
    }

    /// Asks as somebody, and notes the whole answer under a title.
    pub(crate) fn note_as(
        &mut self,
        principal: &str,
        title: &str,
        tool: AdcpTool,
        arguments: Value,
    ) -> Value {
        let answer = self.ask_as(principal, tool, arguments);
        let shown = tradepost_document::json::to_string_pretty(&answer).unwrap();
        self.transcript.push_str(&format!("# {title}\n{shown}\n"));
        answer
    }

    /// Compares everything that was noted.
    pub(crate) fn check(&self, expected: &Expect) {
        expected.assert_eq(&self.transcript);
    }
}
