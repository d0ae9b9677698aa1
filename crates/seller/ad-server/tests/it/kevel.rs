//! Targeting and places of flights, as a table, and reports. What is made, changed and read back is driven by
//! `interop/ad-server/kevel.js`.

use expect_test::expect;
use jiff::civil::date;
use tradepost_ad_server::{AdServerError, AdServerKind};
use tradepost_document::json::{Map, Value, from_str};
use tradepost_publisher::ad_server::RemoteId;

use crate::server::{PreparedAnswer, PreparedServer, adapter};
use crate::specs;

/// Fits every request: an empty list, and an object.
const ANSWER: &str = r#"{"items": [], "Id": 9, "Name": "n", "AdvertiserId": 3}"#;

/// Returns the geography, places and frequency cap of the flight that is sent for a targeting.
async fn flight(targeting: &str, inventory: &str) -> String {
    let server = PreparedServer::start(PreparedAnswer::new(200, ANSWER)).await;
    let kevel = adapter(AdServerKind::Kevel, &server.url);
    let mut item = specs::line_item(inventory);
    item.targeting = from_str::<Map>(targeting).unwrap();
    let problems = kevel.validate(&specs::order(), std::slice::from_ref(&item)).await.unwrap();
    let made = kevel.create_line_item(&RemoteId("1".to_owned()), &item).await;
    if let Err(error) = &made {
        assert!(matches!(error, AdServerError::Refused { .. }), "{error:?}");
        assert!(!problems.is_empty(), "{error}");
        let texts =
            problems.iter().map(|problem| format!("{}: {}", problem.field, problem.message));
        return texts.collect::<Vec<_>>().join("\n    ");
    }
    let sent = server.seen().pop().unwrap();
    let body: Value = from_str(sent.strip_prefix("POST /v1/flight ").unwrap()).unwrap();
    let cap = &body["FreqCapDuration"];
    format!(
        "{} {}, {} each {cap} of {}",
        body["GeoTargeting"], body["SiteZoneTargeting"], body["FreqCap"], body["FreqCapType"]
    )
}

#[tokio::test]
async fn targeting_is_said_with_alternatives_or_refused() {
    let mut table = String::new();
    let place = "site/12";
    for targeting in [
        "{}",
        r#"{"geo_countries": ["US", "CA"], "geo_countries_exclude": ["MX"]}"#,
        r#"{"geo_countries": ["US", "CA"], "geo_regions": ["US-CA"]}"#,
        r#"{"geo_countries": ["CA"], "geo_regions": ["US-CA"]}"#,
        r#"{"geo_regions": ["California"], "geo_regions_exclude": ["x"]}"#,
        r#"{"geo_metros": [{"system": "nielsen_dma", "values": ["501", "803"]}]}"#,
        r#"{"geo_metros": [{"system": "uk_itl1", "values": ["TLI"]}]}"#,
        r#"{"geo_regions": ["US-NY"], "geo_metros": [{"system": "nielsen_dma", "values": ["501"]}]}"#,
        r#"{"geo_regions": ["US-NY"], "geo_metros_exclude": [{"system": "nielsen_dma", "values": ["501"]}]}"#,
        r#"{"frequency_cap": {"max_impressions": 3, "per": "devices", "window": {"interval": 6, "unit": "hours"}}}"#,
        r#"{"frequency_cap": {"max_impressions": 3, "per": "devices", "window": {"interval": 1, "unit": "campaign"}}}"#,
        r#"{"frequency_cap": {"max_impressions": 3, "per": "households", "window": {"interval": 1, "unit": "days"}}}"#,
        r#"{"frequency_cap": {"suppress": {"interval": 90, "unit": "seconds"}}}"#,
        r#"{"frequency_cap": {"suppress": {"interval": 120, "unit": "seconds"}}}"#,
        r#"{"frequency_cap": {"suppress": {"interval": 1, "unit": "hours"}, "max_impressions": 3, "per": "devices", "window": {"interval": 1, "unit": "days"}}}"#,
        r#"{"frequency_cap": {"suppress_minutes": 5}}"#,
        r#"{"language": ["de"], "geo_countries": "US"}"#,
        r#"{"ext": {"note": 1}}"#,
    ] {
        table.push_str(&format!("{targeting}\n    {}\n", flight(targeting, place).await));
    }
    expect![[r#"
        {}
            [] [{"SiteId":12,"IsExcluded":false}], null each null of null
        {"geo_countries": ["US", "CA"], "geo_countries_exclude": ["MX"]}
            [{"CountryCode":"US","IsExclude":false},{"CountryCode":"CA","IsExclude":false},{"CountryCode":"MX","IsExclude":true}] [{"SiteId":12,"IsExcluded":false}], null each null of null
        {"geo_countries": ["US", "CA"], "geo_regions": ["US-CA"]}
            [{"CountryCode":"US","Region":"CA","IsExclude":false}] [{"SiteId":12,"IsExcluded":false}], null each null of null
        {"geo_countries": ["CA"], "geo_regions": ["US-CA"]}
            targeting_overlay.geo_regions: A region is outside of the countries.
        {"geo_regions": ["California"], "geo_regions_exclude": ["x"]}
            targeting_overlay.geo_regions: The ad server takes regions such as US-CA.
            targeting_overlay.geo_regions_exclude: The ad server takes regions such as US-CA.
        {"geo_metros": [{"system": "nielsen_dma", "values": ["501", "803"]}]}
            [{"CountryCode":"US","MetroCode":501,"IsExclude":false},{"CountryCode":"US","MetroCode":803,"IsExclude":false}] [{"SiteId":12,"IsExcluded":false}], null each null of null
        {"geo_metros": [{"system": "uk_itl1", "values": ["TLI"]}]}
            targeting_overlay.geo_metros: The ad server has the metro areas of nielsen_dma, which are numbers.
        {"geo_regions": ["US-NY"], "geo_metros": [{"system": "nielsen_dma", "values": ["501"]}]}
            targeting_overlay.geo_metros: The ad server targets regions or metro areas, not both at once.
        {"geo_regions": ["US-NY"], "geo_metros_exclude": [{"system": "nielsen_dma", "values": ["501"]}]}
            [{"CountryCode":"US","Region":"NY","IsExclude":false},{"CountryCode":"US","MetroCode":501,"IsExclude":true}] [{"SiteId":12,"IsExcluded":false}], null each null of null
        {"frequency_cap": {"max_impressions": 3, "per": "devices", "window": {"interval": 6, "unit": "hours"}}}
            [] [{"SiteId":12,"IsExcluded":false}], 3 each 6 of 1
        {"frequency_cap": {"max_impressions": 3, "per": "devices", "window": {"interval": 1, "unit": "campaign"}}}
            [] [{"SiteId":12,"IsExcluded":false}], 3 each 31 of 2
        {"frequency_cap": {"max_impressions": 3, "per": "households", "window": {"interval": 1, "unit": "days"}}}
            targeting_overlay.frequency_cap: The ad server caps by person or device.
        {"frequency_cap": {"suppress": {"interval": 90, "unit": "seconds"}}}
            targeting_overlay.frequency_cap: The ad server counts in whole minutes.
        {"frequency_cap": {"suppress": {"interval": 120, "unit": "seconds"}}}
            [] [{"SiteId":12,"IsExcluded":false}], 1 each 2 of 3
        {"frequency_cap": {"suppress": {"interval": 1, "unit": "hours"}, "max_impressions": 3, "per": "devices", "window": {"interval": 1, "unit": "days"}}}
            targeting_overlay.frequency_cap: The ad server has one cap: a pause or a maximum.
        {"frequency_cap": {"suppress_minutes": 5}}
            targeting_overlay.frequency_cap: Send suppress instead of suppress_minutes.
        {"language": ["de"], "geo_countries": "US"}
            targeting_overlay.language: The ad server cannot apply this targeting.
            targeting_overlay: The targeting is not in AdCP's form.
        {"ext": {"note": 1}}
            [] [{"SiteId":12,"IsExcluded":false}], null each null of null
    "#]].assert_eq(&table);
}

#[tokio::test]
async fn places_are_sites_or_zones() {
    let mut table = String::new();
    for inventory in ["site/12", "site/12/zone/34", "site/x", "zone/34", "site/12/zone/", "12"] {
        table.push_str(&format!("{inventory}: {}\n", flight("{}", inventory).await));
    }
    expect![[r#"
        site/12: [] [{"SiteId":12,"IsExcluded":false}], null each null of null
        site/12/zone/34: [] [{"SiteId":12,"ZoneId":34,"IsExcluded":false}], null each null of null
        site/x: product_id: The inventory is named as site/ID or site/ID/zone/ID.
        zone/34: product_id: The inventory is named as site/ID or site/ID/zone/ID.
        site/12/zone/: product_id: The inventory is named as site/ID or site/ID/zone/ID.
        12: product_id: The inventory is named as site/ID or site/ID/zone/ID.
    "#]]
    .assert_eq(&table);
}

#[tokio::test]
async fn reports_are_read_by_day_and_flight_or_not_at_all() {
    let mut table = String::new();
    for answer in [
        r#"{"Id": "r", "Status": 1}"#,
        r#"{"Id": "r", "Status": 3, "Message": "too\u0007 large"}"#,
        r#"{"Id": "r", "Status": 2}"#,
        r#"{"Id": "r", "Status": 2, "Result": {"Records": []}}"#,
        r#"{"Id": "r", "Status": 2, "Result": {"Records": [{"Date": "2026-12-01T00:00:00Z", "Details": [
            {"Grouping": {"OptionId": 5}, "Impressions": 2, "Clicks": 1, "Revenue": 9.1234567},
            {"Grouping": {"OptionId": 5}, "Impressions": 3, "Clicks": 0, "Revenue": 9, "TrueRevenue": 0.0000004}]}]}}"#,
        r#"{"Id": "r", "Status": 2, "Result": {"Records": [{"Date": "soon", "Details": []}]}}"#,
        r#"{"Id": "r", "Status": 2, "Result": {"Records": [{"Date": "2026-12-01", "Details": [
            {"Grouping": {"FlightId": 5}, "Impressions": -2, "Clicks": 1}]}]}}"#,
    ] {
        let server = PreparedServer::start(PreparedAnswer::new(200, answer)).await;
        let kevel = adapter(AdServerKind::Kevel, &server.url);
        let order = RemoteId("1".to_owned());
        let period = [date(2026, 12, 1), date(2026, 12, 2)];
        let rows = kevel.delivery(&order, period[0], period[1]).await;
        let text = rows.map_or_else(
            |error| format!("{error:?}"),
            |rows| {
                let rows = rows.iter().map(|row| {
                    format!(
                        "{} on {}: {} {} {}",
                        row.line_item.0, row.day, row.impressions, row.clicks, row.spend
                    )
                });
                format!("[{}]", rows.collect::<Vec<_>>().join(", "))
            },
        );
        table.push_str(&text);
        table.push('\n');
    }
    expect![[r#"
        NotYet { retry_after: None }
        Refused { reason: Invalid, detail: "the report failed: too large" }
        Garbled { detail: "the report has no result" }
        []
        [5 on 2026-12-01: 5 1 9.123457]
        Garbled { detail: "a row of the report has no date" }
        Garbled { detail: "a count is no whole number" }
    "#]]
    .assert_eq(&table);
}
