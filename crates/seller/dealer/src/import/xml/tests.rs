use std::io::Cursor;

use proptest::prelude::*;

use crate::import::{
    DealerFeed, FeedError, FeedRooftop, FeedTarget, MAX_ROW, PricePolicy, SkipReason, read,
};

fn try_read(text: &str) -> Result<DealerFeed, FeedError> {
    let rooftop = FeedRooftop { name: "Acme".into(), feed_names: Vec::new(), fees: 0 };
    let target = FeedTarget {
        dealer_id: "acme".into(),
        name: "Acme".into(),
        rooftops: vec![rooftop],
        price_truth: PricePolicy::Warn,
    };
    let sorted = read(Cursor::new(text), &[target], "2026-11-20T17:00:00Z".parse().unwrap())?;
    Ok(sorted.feeds.into_iter().next().unwrap())
}

#[test]
fn values_in_a_vehicle_are_cells_named_by_their_path() {
    let feed = try_read(
        "<?xml version='1.0'?><!-- x --><inventory><dealer><name>Other</name></dealer><vehicle id='7'>\
         <stock>A1</stock><make>Ford</make><model>F&#45;150 &amp; <![CDATA[<b>]]></model>\
         <empty/><mileage><value> 84937 </value><unit>KM</unit></mileage>\
         <image><url>https://a.example/1.jpg</url></image>\
         <image><url>https://a.example/2.jpg?a=1,2</url></image>\
         <g:options xmlns:g='x'>Tow, Roof</g:options></vehicle></inventory>",
    )
    .unwrap();
    let [listing] = &feed.listings.to_vec()[..] else { panic!("{:?}", feed.report) };
    let v = &listing.vehicle;
    assert_eq!(v.model.as_deref(), Some("F-150 & <b>"));
    assert_eq!(v.mileage, Some(52_777));
    assert_eq!(v.photos, ["https://a.example/1.jpg", "https://a.example/2.jpg?a=1,2"]);
    assert_eq!(v.features, ["Tow", "Roof"]);
}

#[test]
fn xml_that_is_no_feed_is_refused_with_a_reason() {
    let deep = format!("<item>{}", "<a>".repeat(40));
    let endless = format!("<item><a>{}", "<b>x</b>".repeat(3_000_000));
    assert!(endless.len() as u64 > MAX_ROW);
    for (text, expected) in [
        ("<!DOCTYPE html><p>Login</p>", "HTML"),
        ("<html><body/></html>", "HTML"),
        (
            "<!DOCTYPE a [<!ENTITY b \"bbbb\"><!ENTITY c \"&b;&b;\">]><item>&c;</item>",
            "document type",
        ),
        ("<item><vin>&lol;</vin></item>", "entity"),
        ("<a><b/></a>", "no vehicles"),
        ("<items><item><vin>1</item></items>", "after item 0"),
        ("<items><item><stock>A1</stock></item><item><sto", "after item 1"),
        ("<items><item>", "in the middle of the XML, after item 0"),
        (&deep, "too deep"),
        (&endless, "more than 16 MiB"),
    ] {
        let error = try_read(text).unwrap_err();
        assert!(error.message.contains(expected), "{expected}: {error}");
    }
    let cut = try_read("<items><item><stock>A1</stock></item><item><stock>A2</stock>").unwrap();
    assert_eq!(cut.report.doubts[0], "the file ends in the middle of the XML, after item 1");
}

#[test]
fn an_oversized_vehicle_is_skipped_and_the_others_are_not() {
    let huge = "x".repeat(crate::import::MAX_CELL + 1);
    let many = "<x>1</x>".repeat(2_001);
    let feed = try_read(&format!(
        "<l><car><stock>A1</stock><notes>{huge}</notes></car><car><stock>A2</stock>{many}</car>\
         <car><stock>A3</stock><make>=HYPERLINK(\"https://evil.example\")</make></car>\
         <car><stock>=\"A4\"</stock><notes>- clean</notes></car></l>"
    ))
    .unwrap();
    assert_eq!(feed.report.skipped_for(SkipReason::OversizedCell), 2);
    assert_eq!(feed.report.skipped_for(SkipReason::Formula), 1);
    assert_eq!(feed.listings.to_vec()[0].vehicle.stock.as_deref(), Some("A4"));
}

proptest! {
    #[test]
    fn random_tags_are_survived(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("<item>"), Just("</item>"), Just("<vin>"), Just("</vin>"), Just("<image>"),
                Just("</image>"), Just("&amp;"), Just("&#0;"), Just("<![CDATA["), Just("]]>"),
                Just("<!--"), Just("-->"), Just("<?x"), Just("?>"), Just("x"), Just("<"), Just("\""),
            ],
            0..60,
        ),
    ) {
        if let Ok(feed) = try_read(&format!("<a>{}", parts.concat())) {
            let report = feed.report;
            prop_assert_eq!(report.rows, report.accepted + report.sold + report.skipped);
        }
    }
}
