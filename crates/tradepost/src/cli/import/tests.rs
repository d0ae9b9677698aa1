use std::io::Cursor;

use tradepost_dealer::import::PricePolicy;

use super::*;

fn planned(before: usize, removed: usize) -> Replacement {
    Replacement { before, removed, ..Replacement::default() }
}

fn report(rows: usize, accepted: usize) -> FeedReport {
    FeedReport { rows, accepted, ..FeedReport::default() }
}

/// Parses the arguments of an import, after those that name the feed.
fn arguments(more: &[&str]) -> Arguments {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }
    let line = ["import", "feed.csv"].iter().chain(more);
    <Line as clap::Parser>::try_parse_from(line).unwrap().arguments
}

fn target() -> FeedTarget {
    let rooftop = import::FeedRooftop { name: "Acme".into(), feed_names: Vec::new(), fees: 0 };
    FeedTarget {
        dealer_id: "acme".into(),
        name: "Acme".into(),
        rooftops: vec![rooftop],
        price_truth: PricePolicy::Warn,
    }
}

fn feed(text: &str) -> DealerFeed {
    let now = "2026-11-20T17:00:00Z".parse().unwrap();
    let sorted = import::read(Cursor::new(text), &[target()], now).unwrap();
    sorted.feeds.into_iter().next().unwrap()
}

#[test]
fn only_a_feed_that_exceeds_the_permitted_drop_is_refused() {
    for (before, removed, max_drop, refused) in [
        (0, 0, Some(0), false),
        (100, 25, None, false),
        (100, 26, None, true),
        (100, 50, Some(50), false),
        (100, 51, Some(50), true),
        (3, 2, Some(50), true),
        (100, 1, Some(0), true),
        (100, 100, Some(100), false),
    ] {
        let planned = planned(before, removed);
        let option = max_drop.map(|percent: u8| format!("--max-drop={percent}"));
        let arguments = arguments(&option.iter().map(String::as_str).collect::<Vec<_>>());
        let failure = refusal(&planned, &arguments, &report(9, 9));
        assert_eq!(failure.is_some(), refused, "{planned:?} {max_drop:?}");
        if let Some(failure) = failure {
            assert_eq!(failure.exit, 2);
            assert!(failure.hint.unwrap().contains("--max-drop"));
        }
    }
}

#[test]
fn a_feed_without_an_offer_is_refused_whatever_may_vanish() {
    let arguments = arguments(&["--max-drop=100", "--force"]);
    let failure = refusal(&planned(0, 0), &arguments, &report(9, 0)).unwrap();
    assert_eq!(failure.exit, 2);
    assert!(failure.message.contains("none of the feed's rows"));
    let sold = FeedReport { sold: 9, ..report(9, 0) };
    let failure = refusal(&planned(0, 0), &arguments, &sold).unwrap();
    assert_eq!(failure.lines, ["9 rows marked as sold"]);
    let failure = refusal(&planned(0, 0), &arguments, &report(0, 0)).unwrap();
    assert_eq!(failure.message, "the feed has no rows; nothing was changed");
    let elsewhere = feed("Stock,store_code\nA1,ELSEWHERE\n").report;
    let failure = refusal(&planned(0, 0), &arguments, &elsewhere).unwrap();
    assert!(failure.hint.unwrap().contains("feed_names"), "{:?}", failure.lines);
}

#[test]
fn an_incomplete_feed_is_refused_with_its_findings_unless_forced() {
    const HEADING: &str = "Stock,VIN,Make,Model,Type,Price,Year,Photo\n";
    const ROW: &str = "A1,1HGCV1F33NA000003,Honda,Accord,Used,20000,2022,https://a.example/1.jpg\n";
    const OTHER: &str =
        "A2,1HGCV1F35NA000004,Honda,Accord,Used,20000,2022,https://a.example/2.jpg\n";
    for (text, found) in [
        (format!("{HEADING}{ROW}"), ""),
        (format!("{HEADING}{ROW}A2,1HGCV1F35NA000004,Hon"), "ends in the middle of line 3"),
        (format!("{HEADING}{ROW}A2,,Honda,\"Accord,Used,1\n"), "opens in line 3 is never closed"),
        (format!("{}{}", HEADING.replace("Type", "Kind"), ROW), "understood as the condition"),
        (format!("{}{}", HEADING.replace("VIN", "Frame"), ROW), "understood as the VIN"),
        (
            format!("{HEADING}{}{}", ROW.replace("Honda", ""), OTHER.replace("Honda", "")),
            "2 of 2 units have no make, from \"Make\"",
        ),
        (format!("{HEADING}{}{OTHER}", ROW.replace("Honda", "")), ""),
        (format!("{HEADING}{}", ROW.replace("Accord", " - ")), "1 of 1 units have no model"),
        (format!("{HEADING}{}", ROW.replace("20000", "0")), "1 of 1 units have no price"),
        (format!("{HEADING}{}", ROW.replace("20000", "20000 EUR")), "have a price in EUR"),
        (format!("{HEADING}{}", ROW.replace("https:", "")), "1 of 1 units have no photo"),
        (format!("{HEADING}{}", ROW.replace("2022", "soon")), "1 of 1 units have no model year"),
        (format!("{HEADING}{}", ROW.replace("20000", "Call us")), ""),
        (
            r#"[{"stock":"A1","vin":"1HGCV1F33NA000003","make":"Honda","model":"Accord",
                "condition":"used","price":1000,"year":2022,"photos":["https://a.example/1.jpg"]},
                {"stock":"A2""#
                .to_owned(),
            "middle of the JSON, at line 3",
        ),
    ] {
        let feed = feed(&text);
        let failure = refusal(&planned(0, 0), &arguments(&[]), &feed.report);
        let told = failure.map(|failure| {
            let first = failure.lines.first().cloned().unwrap_or_default();
            format!("{}: {first}", failure.message)
        });
        assert_eq!(told.is_none(), found.is_empty(), "{text}: {told:?}");
        let told = told.unwrap_or_default();
        assert!(told.contains(found), "{text}: {told}");
        let forced = refusal(&planned(0, 0), &arguments(&["--force"]), &feed.report);
        assert!(forced.is_none(), "{text}");
    }
}

#[test]
fn people_read_counts_first_skipped_rows_and_each_warning_kind() {
    let mut text = String::from("Stock,Status,Year,Price\nA1,,soon,20000\n");
    for index in 0..MAX_SHOWN_SKIPS + 5 {
        text.push_str(&format!("B{index},In Production,,\n"));
    }
    let text = tables(TableWidth::Unbounded, planned(7, 3), &feed(&text).report);
    let [summary, changes, skips, warnings] = text.as_slice() else { panic!("{text:?}") };
    assert!(summary.contains("26") && summary.contains("25"), "{summary}");
    assert!(changes.contains('7') && changes.contains('3'), "{changes}");
    assert_eq!(skips.matches("in_production").count(), MAX_SHOWN_SKIPS, "{skips}");
    assert!(warnings.contains("line 2") && warnings.contains("model year"), "{warnings}");
}

#[test]
fn an_explanation_shows_each_fields_columns_and_the_unused_ones() {
    let feed = feed(
        "Stock,Type,Internet_Price,SellingPrice,Invoice,Paint,Image[0].URL,Photo 2\n\
         A1,Used,,20000,1,Red,https://a.example/1.jpg,https://a.example/2.jpg\n\
         A2,N/A,NULL,21000,2,,,\n",
    );
    assert_eq!(feed.listings.to_vec()[0].vehicle.photos.len(), 2);
    let text = explanation(TableWidth::Unbounded, &feed.report).join("\n\n");
    expect_test::expect![[r#"
        FIELD       FULL  UNITS  FROM COLUMN (ROWS)
        stock       100%      2  Stock (2)
        vehicle_id  100%      2
        rooftop     100%      2
        condition    50%      1  Type (1)
        status      100%      2
        price       100%      2  Internet_Price (0), SellingPrice (2)
        photos       50%      1  Image[0].URL (1), Photo 2 (1)

        ROWS  COLUMN THAT FED NOTHING
           2  Invoice
           1  Paint"#]]
    .assert_eq(&text);
}
