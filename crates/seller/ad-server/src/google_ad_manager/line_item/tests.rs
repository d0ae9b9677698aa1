//! Prices of flat rates, times of SOAP, and geography.

use tradepost_document::json::{Map, from_str};
use tradepost_publisher::ad_server::{ExternalId, LineItemGoal};

use super::super::geo::GeoPlace;
use super::super::targeting::Geography;
use super::*;

fn line_item(pricing: LineItemPricing, rate: &str, start: &str, end: &str) -> LineItemSpec {
    LineItemSpec {
        external_id: ExternalId("mb_1/pk_1".to_owned()),
        name: "Spring".to_owned(),
        package_id: "pk_1".to_owned(),
        inventory: vec!["ad_unit/1".to_owned()],
        is_guaranteed: true,
        pricing,
        rate: from_str(rate).unwrap(),
        currency: "USD".to_owned(),
        budget: MoneyAmount::whole(100),
        goal: None,
        start_time: start.parse().unwrap(),
        end_time: end.parse().unwrap(),
        targeting: Map::new(),
        sizes: vec![CreativeSize { width: 300, height: 250 }],
        is_paused: false,
    }
}

fn plan(spec: &LineItemSpec) -> PlannedLineItem<'_> {
    let time_zone = TimeZone::get("America/New_York").unwrap();
    let geo = GeoIds::default();
    PlannedLineItem {
        spec,
        terms: terms(spec).unwrap(),
        geo,
        time_zone,
        earliest_start: Timestamp::MIN,
    }
}

#[test]
fn a_flat_rate_is_shared_among_the_days_of_the_network() {
    // Days end at midnight in New York: five o'clock of UTC in winter, four in summer.
    let cases = [
        ("2026-12-01T05:00:00Z", "2026-12-02T05:00:00Z", 1),
        ("2026-12-01T05:00:00Z", "2026-12-02T05:00:00.000000001Z", 2),
        ("2026-12-01T04:59:59Z", "2026-12-02T05:00:00Z", 2),
        ("2026-10-31T04:00:00Z", "2026-11-03T05:00:00Z", 3),
    ];
    for (start, end, days) in cases {
        let spec = line_item(LineItemPricing::FlatRate, "100", start, end);
        assert_eq!(plan(&spec).days(), days, "{start} to {end}");
    }
    for days in 1..=60_u32 {
        let end = jiff::civil::date(2026, 6, 1).checked_add(i64::from(days).days()).unwrap();
        let end = format!("{end}T04:00:00Z");
        let spec = line_item(LineItemPricing::FlatRate, "999.99", "2026-06-01T04:00:00Z", &end);
        let one = MoneyAmount::whole(1);
        let total = plan(&spec).rate().share(MoneyAmount::whole(days), one);
        assert!(total <= spec.rate, "{total} for {days} days");
        assert!(total + MoneyAmount::CENT > spec.rate, "{total} for {days} days");
    }
}

#[test]
fn a_start_that_has_passed_becomes_the_earliest() {
    let start = "2026-12-01T05:00:00Z";
    let spec = line_item(LineItemPricing::FlatRate, "1", start, "2026-12-02T05:00:00Z");
    let earliest_start: Timestamp = "2026-12-01T09:00:00Z".parse().unwrap();
    let late = PlannedLineItem { earliest_start, ..plan(&spec) };
    assert_eq!(late.start(), earliest_start);
    assert_eq!(plan(&spec).start(), spec.start_time);
}

#[test]
fn times_are_cut_to_whole_seconds() {
    let start = "2026-12-01T05:00:00.75Z";
    let end = "2026-12-02T05:00:00.999999999Z";
    let spec = line_item(LineItemPricing::FlatRate, "1", start, end);
    let plan = plan(&spec);
    assert_eq!(plan.start().to_string(), "2026-12-01T05:00:00Z");
    assert_eq!(plan.end().to_string(), "2026-12-02T05:00:00Z");
}

#[test]
fn prices_keep_their_digits() {
    let start = "2026-12-01T05:00:00Z";
    let mut spec = line_item(LineItemPricing::Cpm, "12.345678", start, "2026-12-02T05:00:00Z");
    spec.goal = Some(LineItemGoal { unit: GoalUnit::Impressions, amount: 5 });
    let document = plan(&spec).rate_document().to_string();
    assert_eq!(document, r#"{"currencyCode":"USD","units":"12","nanos":345678000}"#);
    assert_eq!(micros(spec.rate), 12_345_678);
}

#[test]
fn the_geography_leaves_out_what_the_rest_implies() {
    let geography = |targeting: &str| {
        let mut spec = line_item(
            LineItemPricing::FlatRate,
            "1",
            "2026-12-01T05:00:00Z",
            "2026-12-02T05:00:00Z",
        );
        spec.targeting = from_str::<Map>(targeting).unwrap();
        targeting::geography(&spec)
    };
    let country = |code: &str| GeoPlace::Country(code.to_owned());
    let region = |code: &str| GeoPlace::Region(code.to_owned());
    let metro = |number| GeoPlace::Metro(number);
    let dma = r#"[{"system": "nielsen_dma", "values": ["501"]}]"#;
    let cases = [
        ("{}".to_owned(), vec![], vec![]),
        (
            r#"{"geo_countries": ["US", "CA"], "geo_countries_exclude": ["MX"]}"#.to_owned(),
            vec![country("US"), country("CA")],
            vec![],
        ),
        (r#"{"geo_countries_exclude": ["MX"]}"#.to_owned(), vec![], vec![country("MX")]),
        (
            r#"{"geo_countries": ["US"], "geo_regions": ["US-CA"], "geo_regions_exclude": ["US-NY"]}"#.to_owned(),
            vec![region("US-CA")],
            vec![],
        ),
        (
            r#"{"geo_countries": ["US"], "geo_regions_exclude": ["US-NY", "CA-ON"]}"#.to_owned(),
            vec![country("US")],
            vec![region("US-NY")],
        ),
        (
            r#"{"geo_countries_exclude": ["US"], "geo_regions_exclude": ["US-NY", "CA-ON"]}"#.to_owned(),
            vec![],
            vec![country("US"), region("CA-ON")],
        ),
        (
            format!(r#"{{"geo_regions": ["US-NJ"], "geo_metros_exclude": {dma}}}"#),
            vec![region("US-NJ")],
            vec![metro(501)],
        ),
        (
            format!(r#"{{"geo_countries": ["CA"], "geo_metros_exclude": {dma}}}"#),
            vec![country("CA")],
            vec![],
        ),
        (format!(r#"{{"geo_metros": {dma}, "geo_countries": ["US"]}}"#), vec![metro(501)], vec![]),
        (
            format!(r#"{{"geo_metros": {dma}, "geo_regions_exclude": ["US-NY", "CA-ON"]}}"#),
            vec![metro(501)],
            vec![region("US-NY")],
        ),
        (
            format!(r#"{{"geo_regions": ["CA-ON"], "geo_metros_exclude": {dma}}}"#),
            vec![region("CA-ON")],
            vec![],
        ),
    ];
    for (targeting, included, excluded) in cases {
        let wanted = Geography { included, excluded };
        assert_eq!(geography(&targeting), Ok(wanted), "{targeting}");
    }
    for targeting in [
        format!(r#"{{"geo_metros": {dma}, "geo_metros_exclude": {dma}}}"#),
        format!(r#"{{"geo_metros": {dma}, "geo_countries_exclude": ["US"]}}"#),
        format!(r#"{{"geo_metros": {dma}, "geo_regions": ["US-NY"]}}"#),
        r#"{"geo_regions": ["US-NY"], "geo_regions_exclude": ["US-NY"]}"#.to_owned(),
        r#"{"geo_regions": ["US-NY"], "geo_countries": ["CA"]}"#.to_owned(),
        r#"{"geo_regions_exclude": ["New York"]}"#.to_owned(),
    ] {
        assert!(geography(&targeting).is_err(), "{targeting}");
    }
}
