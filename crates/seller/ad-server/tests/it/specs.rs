//! An order, a line item, a creative and a deal.

use jiff::Timestamp;
use tradepost_document::json::Map;
use tradepost_publisher::ad_server::{
    CreativeContent, CreativeSize, CreativeSpec, DealSpec, ExternalId, GoalUnit, LineItemGoal,
    LineItemPricing, LineItemSpec, OrderSpec,
};
use tradepost_publisher::money::MoneyAmount;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(crate) fn order() -> OrderSpec {
    OrderSpec {
        external_id: ExternalId("mb_1".to_owned()),
        name: "Acme, spring".to_owned(),
        advertiser: None,
        advertiser_name: "Acme".to_owned(),
        budget: MoneyAmount::whole(25_000),
        currency: "USD".to_owned(),
        start_time: time("2026-12-01T05:00:00Z"),
        end_time: time("2026-12-31T05:00:00Z"),
    }
}

/// A line item with the inventory of an adapter.
pub(crate) fn line_item(inventory: &str) -> LineItemSpec {
    LineItemSpec {
        external_id: ExternalId("mb_1/pk_1".to_owned()),
        name: "Acme, spring, display".to_owned(),
        package_id: "pk_1".to_owned(),
        inventory: vec![inventory.to_owned()],
        is_guaranteed: true,
        pricing: LineItemPricing::Cpm,
        rate: MoneyAmount::whole(35),
        currency: "USD".to_owned(),
        budget: MoneyAmount::whole(17_500),
        goal: Some(LineItemGoal { unit: GoalUnit::Impressions, amount: 500_000 }),
        start_time: time("2026-12-01T05:00:00Z"),
        end_time: time("2026-12-31T05:00:00Z"),
        targeting: Map::new(),
        sizes: vec![CreativeSize { width: 300, height: 250 }],
        is_paused: false,
    }
}

pub(crate) fn creative() -> CreativeSpec {
    CreativeSpec {
        external_id: ExternalId("cr_1@1".to_owned()),
        name: "Shoe".to_owned(),
        advertiser: None,
        format_id: "display_300x250".to_owned(),
        size: Some(CreativeSize { width: 300, height: 250 }),
        content: CreativeContent::Image { url: "https://assets.example/shoe.png".to_owned() },
        click_url: Some("https://acme.example/shoes".to_owned()),
    }
}

pub(crate) fn deal() -> DealSpec {
    DealSpec {
        external_id: ExternalId("mb_1/pk_1".to_owned()),
        name: "Spring".to_owned(),
        inventory: Vec::new(),
        price: MoneyAmount::whole(12),
        currency: "EUR".to_owned(),
        auction_type: 3,
        seats: vec!["seat-7".to_owned()],
        advertiser_domains: vec!["acme.example".to_owned()],
        start_time: time("2026-12-01T00:00:00.5Z"),
        end_time: time("2026-12-31T00:00:00Z"),
        is_paused: false,
    }
}
