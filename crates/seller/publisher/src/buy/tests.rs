use tradepost_document::json::from_value;

use super::*;
use crate::remote_order::PackageDeal;

fn buy() -> MediaBuy {
    let moment = |text: &str| text.parse::<Timestamp>().unwrap();
    MediaBuy {
        media_buy_id: "mb".to_owned(),
        status: MediaBuyStatus::PendingStart,
        paused: false,
        hold: None,
        currency: "USD".to_owned(),
        total_budget: MoneyAmount::ZERO,
        start_time: moment("2026-06-02T00:00:00Z"),
        end_time: moment("2026-06-03T00:00:00Z"),
        confirmed_at: None,
        proposal_id: None,
        task_id: None,
        envelope: None,
        cancellation: None,
        rejection_reason: None,
        plan_id: None,
        governance_context: None,
        packages: Vec::new(),
        shown: Map::new(),
        reporting: None,
        history: Vec::new(),
    }
}

#[test]
fn a_buy_stands_as_the_published_states_say() {
    use MediaBuyStatus::{
        Active, Canceled, Completed, Paused, PendingCreatives, PendingStart, Rejected,
    };
    let before = 1;
    let within = 2;
    let after = 3;
    // Stored status, paused by the buyer, day of June, and the expected status.
    let table = [
        (PendingCreatives, false, before, PendingCreatives),
        (PendingCreatives, true, within, PendingCreatives),
        (PendingCreatives, false, after, Completed),
        (PendingStart, false, before, PendingStart),
        (PendingStart, true, before, PendingStart),
        (PendingStart, false, within, Active),
        (PendingStart, true, within, Paused),
        (PendingStart, false, after, Completed),
        (Active, false, before, Active),
        (Active, true, within, Paused),
        (Active, false, after, Completed),
        (Completed, false, before, Completed),
        (Rejected, true, within, Rejected),
        (Canceled, false, after, Canceled),
    ];
    for (status, paused, day, expected) in table {
        let buy = MediaBuy { status, paused, ..buy() };
        let now = format!("2026-06-0{day}T00:00:00Z").parse().unwrap();
        assert_eq!(buy.status_at(now), expected, "{status:?} {paused} {day}");
    }
}

#[test]
fn buyers_extensions_are_kept_but_never_replace_ours() {
    let sent = json!({"acme": {"line": 7}, "tradepost": {"deal_id": "another"}});
    let known = ExternalId("tp-1".to_owned());
    let named = Some(PackageDeal { id: Some(known), auction: None, seats: Vec::new() });
    let deal = Some(PackageDeal { id: None, auction: None, seats: Vec::new() });
    let table = [
        (None, sent.clone(), json!({"acme": {"line": 7}})),
        (deal.clone(), sent, json!({"acme": {"line": 7}, "tradepost": {"deal_id": "mb-p1"}})),
        // One that was sold before ids were noted keeps its own.
        (deal, json!({}), json!({"tradepost": {"deal_id": "mb-p1"}})),
        (named, json!({}), json!({"tradepost": {"deal_id": "tp-1"}})),
        (None, json!({"tradepost": {"deal_id": "another"}}), Value::Null),
    ];
    for (deal, sent, expected) in table {
        let product = json!({
            "package_id": "p1", "product_id": "dealt", "pricing_option_id": "cpm", "budget": 5,
        });
        let mut package: Package = from_value(product).unwrap();
        package.shown.set("ext", sent);
        package.ad_server = Some(PackageInventory {
            deal,
            formats: Vec::new(),
            inventory: Vec::new(),
            is_guaranteed: false,
            sizes: Vec::new(),
        });
        assert_eq!(package.published(&buy())["ext"], expected);
    }
}
