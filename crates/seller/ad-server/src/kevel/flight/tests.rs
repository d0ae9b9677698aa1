//! Goals, caps and rates, as a table.

use expect_test::expect;
use jiff::Timestamp;
use tradepost_document::json::{Map, from_str};
use tradepost_publisher::ad_server::{ExternalId, LineItemGoal};

use super::*;

fn amount(text: &str) -> MoneyAmount {
    from_str(text).unwrap()
}

fn line_item(
    pricing: LineItemPricing,
    rate: &str,
    budget: &str,
    goal: Option<LineItemGoal>,
) -> LineItemSpec {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    LineItemSpec {
        external_id: ExternalId("mb_1/pk_1".to_owned()),
        name: "Spring".to_owned(),
        package_id: "pk_1".to_owned(),
        inventory: vec!["site/1".to_owned()],
        is_guaranteed: goal.is_some(),
        pricing,
        rate: amount(rate),
        currency: "USD".to_owned(),
        budget: amount(budget),
        goal,
        start_time: time("2026-12-01T00:00:00Z"),
        end_time: time("2026-12-31T00:00:00Z"),
        targeting: Map::new(),
        sizes: Vec::new(),
        is_paused: false,
    }
}

#[test]
fn a_flight_never_delivers_more_than_was_sold() {
    let goal = |unit, amount| Some(LineItemGoal { unit, amount });
    let cases = [
        (LineItemPricing::Cpm, "35", "17500.25", goal(GoalUnit::Impressions, 500_007)),
        (LineItemPricing::Cpm, "35", "100", None),
        (LineItemPricing::Cpm, "0.3", "0.1", None),
        (LineItemPricing::Cpm, "35", "0.03", None),
        (LineItemPricing::Cpc, "0.25", "10", None),
        (LineItemPricing::Cpc, "0.25", "10", goal(GoalUnit::Clicks, 40)),
        (LineItemPricing::FlatRate, "5000", "5000", None),
        (LineItemPricing::FlatRate, "5000", "5000", goal(GoalUnit::Impressions, 7)),
        (LineItemPricing::Vcpm, "35", "100", None),
        (LineItemPricing::Cpm, "35", "100", goal(GoalUnit::ViewableImpressions, 7)),
        (LineItemPricing::Cpm, "35", "100", goal(GoalUnit::Impressions, 2_147_483_648)),
        (LineItemPricing::Cpm, "0", "100", None),
    ];
    let mut table = String::new();
    for (pricing, rate, budget, goal) in cases {
        let item = line_item(pricing, rate, budget, goal);
        let result = match terms(&item) {
            Ok(terms) => {
                let cap = terms
                    .cap
                    .map_or("none".to_owned(), |cap| format!("{}x{}", cap.kind, cap.amount));
                format!(
                    "goal {}x{}, cap {cap}, rate {}",
                    terms.goal.kind, terms.goal.amount, terms.rate
                )
            }
            Err(message) => message.to_owned(),
        };
        table.push_str(&format!("{pricing} {rate} of {budget}: {result}\n"));
    }
    expect![[r#"
        cpm 35 of 17500.25: goal 1x500007, cap 1x500007, rate 2
        cpm 35 of 100: goal 2x100, cap 1x2857, rate 2
        cpm 0.3 of 0.1: goal 2x100, cap 1x333, rate 2
        cpm 35 of 0.03: The budget buys nothing.
        cpc 0.25 of 10: goal 2x100, cap 2x40, rate 3
        cpc 0.25 of 10: goal 3x40, cap 2x40, rate 3
        flat_rate 5000 of 5000: goal 2x100, cap none, rate 1
        flat_rate 5000 of 5000: goal 1x7, cap 1x7, rate 1
        vcpm 35 of 100: The ad server bills by CPM, CPC or a flat rate.
        cpm 35 of 100: The ad server paces by impressions or clicks.
        cpm 35 of 100: A goal at the ad server is at most 2147483647.
        cpm 0 of 100: The budget buys nothing.
    "#]]
    .assert_eq(&table);
}

#[test]
fn what_the_budget_buys_costs_no_more_than_the_budget() {
    for cents in 1..2_000_u32 {
        let rate = format!("{}.{:02}", cents / 100, cents % 100);
        let item = line_item(LineItemPricing::Cpm, &rate, "99.99", None);
        let units = affordable(&item).unwrap().amount;
        let price = |units: u64| {
            let units = MoneyAmount::whole(u32::try_from(units).unwrap());
            item.rate.share(units, MoneyAmount::whole(1000))
        };
        assert!(price(units) <= item.budget, "{units} at {rate}");
        assert!(price(units + 1) > item.budget, "{units} at {rate}");
    }
}
