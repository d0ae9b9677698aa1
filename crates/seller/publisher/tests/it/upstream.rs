//! An outage that the test controller has feigned.

use tradepost_adcp::AdcpTool;
use tradepost_document::json::{Value, json};
use tradepost_publisher::availability::Outage;
use tradepost_publisher::store::New;

use crate::products::{fitting, gazette};
use crate::support::Harness;

fn simulate_outage(harness: &Harness, tool: &str) {
    let outage = Outage {
        upstream: "inventory-service".to_owned(),
        tool: tool.to_owned(),
        since: "2026-06-01T11:59:56Z".parse().unwrap(),
    };
    harness.put(move |tx| {
        let id = Outage::id("agent:acme");
        let new = New { id: &id, owner: "agent:acme", account: None, state: "", now: outage.since };
        tx.add(new, &outage)
    });
}

fn ask_brief(harness: &Harness) -> Value {
    fitting(
        harness,
        AdcpTool::GetProducts,
        json!({"buying_mode": "brief", "brief": "Display advertising"}),
    )
}

#[test]
fn a_feigned_outage_gives_its_author_stale_answers_and_passes() {
    let mut harness = gazette();
    assert!(ask_brief(&harness).get("errors").is_none());
    simulate_outage(&harness, "get_products");
    let document = ask_brief(&harness);
    assert!(document.get("adcp_error").is_none());
    assert!(!document["products"].as_array().unwrap().is_empty());
    let warning = &document["errors"][0];
    assert_eq!(warning["code"], "STALE_RESPONSE");
    assert_eq!(
        warning["details"],
        json!({
            "served_from_cache": true,
            "cache_age_seconds": 4,
            "upstream": {"name": "inventory-service"},
        }),
    );
    let asked = json!({"buying_mode": "wholesale"});
    let other = harness.ask_as(&harness.caller("nova"), AdcpTool::GetProducts, asked).document();
    assert!(other.get("errors").is_none());
    harness.now = "2026-06-01T12:00:06Z".parse().unwrap();
    assert!(ask_brief(&harness).get("errors").is_none());
}

#[test]
fn an_outage_of_another_tool_says_nothing_about_this_one() {
    let harness = gazette();
    simulate_outage(&harness, "get_signals");
    assert!(ask_brief(&harness).get("errors").is_none());
    let signals = fitting(&harness, AdcpTool::GetSignals, json!({"discovery_mode": "wholesale"}));
    assert_eq!(signals["errors"][0]["code"], "STALE_RESPONSE");
}
