use std::io::Cursor;

use expect_test::expect;
use tradepost_document::catalog::Vocabulary as _;

use super::*;
use crate::import::{
    DealerFeed, FeedRooftop, FeedTarget, PricePolicy, RowWarning, SkipReason, read_as,
};

fn target(price_truth: PricePolicy) -> FeedTarget {
    let rooftop =
        |name: &str, fees| FeedRooftop { name: name.into(), feed_names: Vec::new(), fees };
    FeedTarget {
        dealer_id: "acme".into(),
        name: "Acme Group".into(),
        rooftops: vec![rooftop("Acme North", 500), rooftop("Acme South", 700)],
        price_truth,
    }
}

fn read_with(mapping: &str, text: &str, truth: PricePolicy) -> DealerFeed {
    let mapping = Mapping::parse(mapping).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let now = "2026-11-20T17:00:00Z".parse().unwrap();
    let sorted = read_as(Cursor::new(text), &[target(truth)], Some(&mapping), now).unwrap();
    sorted.feeds.into_iter().next().unwrap()
}

#[test]
fn every_preset_is_a_mapping() {
    for preset in Preset::ALL {
        let mapping = Mapping::from_preset(*preset);
        assert_eq!(mapping.preset(), Some(*preset));
        assert!(!mapping.columns.is_empty(), "{preset}");
    }
}

#[test]
fn every_mistake_is_told_with_its_line() {
    let text = r#"preset = "homnet"
[columns]
"Price" = "prize"
"Lot" = { field = "notes", spilt = ";" }
"" = "vin"
"Miles Driven" = "mileage"
"miles_driven" = "ignore"
[constants]
colour = "red"
year = 2020
[price]
fees = "maybe"
"#;
    let mistakes = Mapping::parse(text).unwrap_err();
    let lines: Vec<String> = mistakes
        .iter()
        .map(|m| format!("{}: {m}", m.line.unwrap_or_default()).chars().take(100).collect())
        .collect();
    expect![[r#"
        1: preset: must be one of homenet, vauto, google-listings, google-ads, meta, autotrader, cargurus, m
        3: columns.Price: there is no field "prize"; did you mean "price"?
        4: columns.Lot.spilt: unknown key; did you mean "split"?
        5: columns."": a heading needs a letter or a digit
        7: columns.miles_driven: is the same heading as "Miles Driven": only letters and digits count
        9: constants.colour: there is no field "colour"; did you mean "exterior_color"?
        10: constants.year: must be a text in "quotes"
        12: price.fees: must be one of apart, included"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_dealers_own_columns_constants_words_and_names_are_understood() {
    let feed = read_with(
        r#"
            in_production = "intransit"
            [columns]
            "Lot No" = "stock"
            "Was" = "msrp"
            "Ask" = { field = "selling_price", remove = ["approx. "] }
            "Paint" = { field = "exterior_color", words = { BLK = "Black", "W/H" = "White" } }
            "Pics" = { field = "photos", split = ";", prepend = "https://cdn.example/", append = ".jpg" }
            "Extras" = { field = "features", split = " / " }
            "Make" = "ignore"
            "Brand" = "make"
            [constants]
            condition = "used"
            fuel = "diesel"
            [names]
            "0417" = "Acme South"
        "#,
        "Lot No;Was;Ask;Paint;Pics;Extras;Make;Brand;Model;Fuel;Dealer Id;Status\n\
         A1;30000;approx. 20000;w h;\"a1;b2\";\"Tow, hitch / Roof\";XX;Ford;F-150;;0417;\n\
         A2;30000;21000;Teal;;;XX;Ford;F-150;gas;0417;In Production\n",
        PricePolicy::Warn,
    );
    let [one, two] = &feed.listings.to_vec()[..] else { panic!("{:?}", feed.report) };
    let v = &one.vehicle;
    assert_eq!((v.list_price, v.price, v.msrp), (Some(20_000), Some(20_700), Some(30_000)));
    assert_eq!(v.exterior_color.as_deref(), Some("White"));
    assert_eq!(v.photos, ["https://cdn.example/a1.jpg", "https://cdn.example/b2.jpg"]);
    assert_eq!(v.features, ["Tow, hitch", "Roof"]);
    assert_eq!((v.make.as_deref(), v.fuel.as_deref()), (Some("Ford"), Some("diesel")));
    assert_eq!(v.rooftop.as_deref(), Some("Acme South"));
    assert_eq!(two.vehicle.fuel.as_deref(), Some("gas"));
    assert_eq!(two.vehicle.exterior_color.as_deref(), Some("Teal"));
    assert_eq!(two.vehicle.status.map(|s| s.to_string()).as_deref(), Some("intransit"));
}

#[test]
fn prices_follow_the_rule_and_incomplete_ones_are_reported() {
    const HEADING: &str = "Stock,Rooftop,Price,OTD Price,Extras,Cash Back,Doc";
    const COLUMNS: &str = r#"
        [columns]
        "Extras" = "add_ons"
        "Cash Back" = "rebates"
        "Doc" = "fees"
        "OTD Price" = "out_the_door_price"
    "#;
    let apart = "[price]\nadd_ons = \"apart\"\nrebates = \"apart\"";
    let included = "[price]\nfees = \"included\"\nadd_ons = \"included\"\nrebates = \"included\"";
    for (rule, cells, price, warning) in [
        ("", "20000,,,,", Some(20_500), None),
        ("", "20000,,,,\"$350.50\"", Some(20_351), None),
        ("", "20000,,1500,,", Some(20_500), Some(RowWarning::UnsaidAmount)),
        ("", "20000,,,-1000,", Some(20_500), Some(RowWarning::UnsaidAmount)),
        (apart, "20000,,1500,1000,", Some(21_000), None),
        (apart, "20000,,,25000,", None, Some(RowWarning::RebateTooLarge)),
        (included, "20000,,1500,1000,", Some(20_000), None),
        ("", "20000,20500,,,", Some(20_500), None),
        ("", "20000,20600,,,", Some(20_600), None),
        ("", "20000,20000,,,", Some(20_000), Some(RowWarning::PriceOmitsFees)),
        (apart, "20000,20600,1500,,", Some(20_600), Some(RowWarning::PriceOmitsFees)),
        (apart, "20000,19500,,1000,", Some(19_500), None),
        ("", "20000,,1 or 2,,", Some(20_500), Some(RowWarning::UnreadableAmount)),
    ] {
        let mapping = format!("{COLUMNS}{rule}");
        let text = format!("{HEADING}\nA1,Acme North,{cells}\n");
        let feed = read_with(&mapping, &text, PricePolicy::Warn);
        assert_eq!(feed.listings.to_vec()[0].vehicle.price, price, "{rule} {cells}");
        let kinds: Vec<RowWarning> = feed.report.warnings.iter().map(|w| w.kind).collect();
        let others = [RowWarning::NoMakeOrModel];
        let kinds: Vec<RowWarning> = kinds.into_iter().filter(|k| !others.contains(k)).collect();
        assert_eq!(kinds, warning.into_iter().collect::<Vec<_>>(), "{rule} {cells}");
        let blocked = read_with(&mapping, &text, PricePolicy::Block);
        let lies = warning.is_some_and(|kind| kind != RowWarning::UnreadableAmount);
        assert_eq!(
            blocked.report.skipped_for(SkipReason::PriceTruth),
            usize::from(lies),
            "{cells}"
        );
    }
}

#[test]
fn a_name_of_nobody_is_told() {
    let feed = read_with("[names]\n\"7\" = \"Acme West\"", "Stock\nA1\n", PricePolicy::Warn);
    assert_eq!(feed.report.warned_of(RowWarning::UnknownName), 1);
}
