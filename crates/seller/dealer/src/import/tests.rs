use jiff::Timestamp;
use proptest::prelude::*;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus};

use super::*;

mod cells;
mod mappings;
mod prices;
mod samples;
mod shapes;

fn now() -> Timestamp {
    "2026-11-20T17:00:00Z".parse().unwrap()
}

fn target() -> FeedTarget {
    let rooftop = |name: &str, feed_name: &str, fees| FeedRooftop {
        name: name.into(),
        feed_names: vec![feed_name.into()],
        fees,
    };
    FeedTarget {
        dealer_id: "acme".into(),
        name: "Acme Group".into(),
        rooftops: vec![rooftop("Acme North", "MP-1", 500), rooftop("Acme South", "MP-2", 700)],
        price_truth: PricePolicy::Warn,
    }
}

fn try_read(text: &[u8]) -> Result<DealerFeed, FeedError> {
    let sorted = read(std::io::Cursor::new(text), &[target()], now())?;
    assert_eq!(sorted.unplaced.rows, 0);
    Ok(sorted.feeds.into_iter().next().unwrap())
}

fn feed(text: impl AsRef<[u8]>) -> DealerFeed {
    let feed = try_read(text.as_ref()).unwrap();
    let report = &feed.report;
    assert_eq!(report.rows, report.accepted + report.sold + report.skipped);
    feed
}

/// Builds a row under a heading, with a stock number.
fn row(heading: &str, cells: &str) -> (Vehicle, FeedReport) {
    let feed = feed(format!("Stock,Dealer Name,{heading}\nA1,Acme North,{cells}\n"));
    let vehicle = feed.listings.iter().next().map(|listing| listing.vehicle);
    (vehicle.unwrap_or_default(), feed.report)
}

const VIN: &str = "1HGCV1F33NA000003";

#[test]
fn a_homenet_row_becomes_a_listing() {
    let feed = feed(format!(
        "Type,Stock,VIN,Year,Make,Model,Body,Trim,ExteriorColor,EngineCylinders,EngineDisplacement,\
         Engine_Block_Type,Transmission,Miles,SellingPrice,MSRP,Certified,DateInStock,Options,\
         Dealer Name,Drivetrain,Fuel_Type,CityMPG,Internet_Price,ImageList,Colour of Money\n\
         Used,A-1,{VIN},2022,Honda,Accord,4dr Car,Sport,Red,4,1.5,I,CVT,\"28,450 miles\",30000,32450,\
         True,4/12/2026,\"Alloy Wheels,Bluetooth\",Acme South,Front-wheel Drive,Gasoline Fuel,28,\
         \"$27,995\",https://cdn.example/1.jpg|/2.jpg,x\n"
    ));
    let [listing] = &feed.listings.to_vec()[..] else { panic!("{:?}", feed.report) };
    let v = &listing.vehicle;
    assert_eq!(v.vehicle_id.as_deref(), Some("veh_1hgcv1f33na000003"));
    assert_eq!(v.dealer_id.as_deref(), Some("acme"));
    assert_eq!(v.rooftop.as_deref(), Some("Acme South"));
    assert_eq!(v.condition, Some(AnyCondition::Cpo));
    assert_eq!(v.status, Some(ListingStatus::Available));
    assert_eq!((v.list_price, v.price), (Some(27_995), Some(28_695)));
    assert_eq!((v.msrp, v.mileage), (Some(32_450), Some(28_450)));
    assert_eq!(v.driveline.as_deref(), Some("fwd"));
    assert_eq!(v.transmission.as_deref(), Some("cvt"));
    assert_eq!(v.fuel.as_deref(), Some("gas"));
    assert_eq!(v.body.as_deref(), Some("sedan"));
    assert_eq!(v.engine.as_deref(), Some("1.5L I4"));
    assert_eq!(v.features, ["Alloy Wheels", "Bluetooth"]);
    assert_eq!(v.photos, ["https://cdn.example/1.jpg"]);
    assert_eq!(v.inventory_date.as_deref(), Some("2026-04-12"));
    assert_eq!(v.updated_at, Some(now()));
    assert_eq!(feed.report.ignored_columns, ["Colour of Money"]);
    assert_eq!(feed.report.warned_of(RowWarning::BadPhoto), 1);
}

#[test]
fn google_vehicle_ads_name_store_and_page_as_exports_do() {
    let feed = feed(format!(
        "Condition,google_product_category,store_code,vehicle_fulfillment(option:store_code),Brand,Model,\
         Year,Color,Mileage,Price,VIN,image_link,link_template\n\
         Used,916,MP-2,in_store:MP-2,Honda,Accord,2022,Red,\"28,450 miles\",27995 USD,{VIN},\
         https://cdn.example/1.jpg,https://acme.example/accord?store={{store_code}}\n"
    ));
    let [listing] = &feed.listings.to_vec()[..] else { panic!("{:?}", feed.report) };
    let v = &listing.vehicle;
    assert_eq!(feed.report.preset.map(|used| used.name), Some(Preset::GoogleAds));
    assert_eq!(v.rooftop.as_deref(), Some("Acme South"));
    assert_eq!((v.list_price, v.mileage), (Some(27_995), Some(28_450)));
    assert_eq!(v.vdp_url.as_deref(), Some("https://acme.example/accord"));
    assert!(feed.report.ignored_columns.is_empty(), "{:?}", feed.report.ignored_columns);
}

#[test]
fn metas_ids_have_two_names_and_its_photos_one_cell() {
    let feed = feed(format!(
        "auto_listing_id\tvin\tmake\tmodel\tmileage.value\tmileage.unit\timage\tprice\tstate_of_vehicle\n\
         i2\t{VIN}\tHonda\tAccord\t1500\tMI\t\"[{{\"\"url\"\":\"\"https://cdn.example/1.jpg\"\"}}]\"\t18000 USD\tUSED\n",
    ));
    let [listing] = &feed.listings.to_vec()[..] else { panic!("{:?}", feed.report) };
    assert_eq!(feed.report.preset.map(|used| used.name), Some(Preset::Meta));
    assert_eq!(listing.vehicle.vehicle_id.as_deref(), Some("i2"));
    assert_eq!(listing.vehicle.photos, ["https://cdn.example/1.jpg"]);
}

#[test]
fn the_price_is_the_internet_or_selling_price_plus_fees() {
    for (cells, list, price) in [
        ("20000,21000", Some(20_000), Some(20_500)),
        (",21000", Some(21_000), Some(21_500)),
        ("0,21000", Some(21_000), Some(21_500)),
        ("Not Priced,21000", None, None),
        ("–,21000", None, None),
        ("0,0", None, None),
        (",", None, None),
        ("20000 or offer,21000", None, None),
    ] {
        let (vehicle, report) = row("Internet_Price,SellingPrice", cells);
        assert_eq!((vehicle.list_price, vehicle.price), (list, price), "{cells}");
        let warned =
            report.warned_of(RowWarning::NotPriced) + report.warned_of(RowWarning::UnreadablePrice);
        assert_eq!(warned, usize::from(price.is_none()), "{cells}");
    }
}

#[test]
fn units_not_offered_are_skipped_with_a_reason_or_sold() {
    for (status, expected) in [
        ("In Transit", None),
        ("In Production", Some(SkipReason::InProduction)),
        ("Inactive", Some(SkipReason::NotForSale)),
        ("Zone 4", Some(SkipReason::UnknownStatus)),
    ] {
        let (_, report) = row("Status", status);
        let reason = report.skips.first().map(|skip| skip.reason);
        assert_eq!(reason, expected, "{status}");
    }
    let sold = feed("Stock,Status\nA1,Sold\n");
    assert!(sold.listings.to_vec()[0].sold);
    assert_eq!((sold.report.sold, sold.report.accepted), (1, 0));
}

#[test]
fn vins_are_upper_cased_and_doubts_about_them_are_warnings() {
    let lower = VIN.to_lowercase();
    for (vin, make, kept, warning) in [
        (VIN, "Honda", true, None),
        (lower.as_str(), "Honda", true, Some(RowWarning::LowerCaseVin)),
        ("1HGCV1F30NA000003", "Honda", true, Some(RowWarning::BadCheckDigit)),
        (VIN, "Ford", true, Some(RowWarning::WmiMismatch)),
        ("1HGCV1F3", "Honda", false, Some(RowWarning::MalformedVin)),
    ] {
        let (vehicle, report) =
            row("VIN,Make,Model,Year,Price", &format!("{vin},{make},Accord,2022,20000"));
        assert_eq!(vehicle.vin.is_some(), kept, "{vin}");
        let kinds: Vec<RowWarning> = report.warnings.iter().map(|w| w.kind).collect();
        assert_eq!(kinds, warning.into_iter().collect::<Vec<_>>(), "{vin}");
    }
}

#[test]
fn among_duplicates_the_fullest_and_then_the_latest_row_stays() {
    let other = "1HGCV1F35NA000004";
    for (rows, kept, reason) in [
        (format!("A1,{VIN},Red\nA2,{VIN},"), "A1", SkipReason::DuplicateVin),
        (format!("A1,{VIN},\nA2,{VIN},Red"), "A2", SkipReason::DuplicateVin),
        (format!("A1,{VIN},Red\nA2,{VIN},Blue"), "A2", SkipReason::DuplicateVin),
        (format!("A 1,{VIN},Red\na-1,{other},"), "A 1", SkipReason::DuplicateStock),
    ] {
        let feed = feed(format!("Stock,VIN,Color\n{rows}\n"));
        assert_eq!(feed.listings.len(), 1, "{rows}");
        assert_eq!(feed.listings.to_vec()[0].vehicle.stock.as_deref(), Some(kept), "{rows}");
        let skip = &feed.report.skips[0];
        assert_eq!(skip.reason, reason);
        assert!(skip.message.contains('2') && skip.message.contains('3'), "{skip:?}");
    }
    let rooftops = feed("Stock,Dealer Name\nA1,Acme North\nA1,Acme South\n");
    assert_eq!(rooftops.report.accepted, 2);
    let sold = feed(format!("Stock,VIN,Status,Color\nA1,{VIN},Sold,\nA1,{VIN},,Red\n"));
    assert_eq!((sold.report.sold, sold.report.accepted), (1, 0));
}

#[test]
fn model_and_trim_are_separated_when_other_rows_explain_them() {
    let feed = feed(
        "Stock,Make,Model,Trim\n1,Honda,CR-V,EX\n2,Honda,CR-V EX,\n3,Honda,CR-V EX,EX\n\
         4,Honda,CR-V Hybrid,\n5,Kia,CR-V EX,\n",
    );
    let found: Vec<_> = feed
        .listings
        .iter()
        .map(|listing| (listing.vehicle.model.unwrap(), listing.vehicle.trim))
        .collect();
    let expected = ["CR-V EX", "CR-V EX", "CR-V EX", "CR-V Hybrid", "CR-V EX"];
    let expected = expected.into_iter().enumerate().map(|(at, model)| match at {
        0..3 => ("CR-V".to_owned(), Some("EX".to_owned())),
        _ => (model.to_owned(), None),
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
    assert_eq!(feed.report.warned_of(RowWarning::ModelAndTrim), 2);
}

#[test]
fn every_delimiter_encoding_and_heading_style_is_understood() {
    let expected = feed("Stock #,New/Used,Dealer Name,Make\nA1,U,Acme South,Citroën\n").listings;
    assert_eq!(expected.to_vec()[0].vehicle.make.as_deref(), Some("Citroën"));
    for delimiter in ["|", "\t", ";"] {
        let text =
            "STOCK,New/Used,dealer-name,Make\nA1,U,Acme South,Citroën\n".replace(',', delimiter);
        let (windows, _, _) = encoding_rs::WINDOWS_1252.encode(&text);
        let utf_16 = text.encode_utf16().flat_map(u16::to_le_bytes);
        for (bytes, encoding) in [
            (text.clone().into_bytes(), "UTF-8"),
            (format!("\u{feff}{text}").into_bytes(), "UTF-8"),
            (format!("sep={delimiter}\r\n{text}").into_bytes(), "UTF-8"),
            (windows.into_owned(), "windows-1252"),
            ([0xff, 0xfe].into_iter().chain(utf_16).collect(), "UTF-16LE"),
        ] {
            let feed = feed(&bytes);
            assert_eq!(feed.listings, expected, "{delimiter:?} {encoding}");
            assert_eq!(feed.report.encoding, encoding);
        }
    }
}

#[test]
fn aap_json_is_read_in_each_of_its_wrappings() {
    let vehicle = r#"{"stock":"A1","rooftop":"Acme South","condition":"used","status":"pending",
        "list_price":20000,"price":20900.0,"year":2023,"photos":["https://cdn.example/a,b.jpg"],
        "features":["Alarm, remote"],"trim":null}"#;
    let typed = |rest: &str| format!(r#"{{"type":"inventory.search.response",{rest}}}"#);
    let expected = feed(typed(&format!(r#""vehicles":[{vehicle}]"#))).listings;
    let v = &expected.to_vec()[0].vehicle;
    assert_eq!((v.list_price, v.price), (Some(20_000), Some(20_900)));
    assert_eq!(v.status, Some(ListingStatus::Pending));
    assert_eq!((v.photos.len(), v.features.len()), (1, 1));
    for rest in [
        format!(r#""data":{{"total":1,"vehicles":[{vehicle}]}}"#),
        format!(r#""inventory":[{vehicle}],"total":1"#),
    ] {
        assert_eq!(feed(typed(&rest)).listings, expected);
    }
    let unpriced = feed(r#"[{"stock":"A1","list_price":20000}]"#).listings;
    assert_eq!(unpriced.to_vec()[0].vehicle.price, Some(20_500));
    let odd = feed(r#"[1, null, {"stock":"A1"}, {"stock":{}}]"#).report;
    assert_eq!(odd.skipped_for(SkipReason::Malformed), 2);
    assert_eq!(odd.skipped_for(SkipReason::NoIdentifier), 1);
}

#[test]
fn files_that_are_no_feeds_are_refused_with_advice() {
    for (text, expected) in [
        ("", "the feed is empty"),
        (" \n", "the feed is empty"),
        ("PK\u{3}\u{4}....", "the archive cannot be read"),
        ("<html><body>Login</body></html>", "HTML, not a feed"),
        ("{\"a\":1}", "no vehicles"),
        ("[1,", "line 1"),
        ("Make,Model\nHonda,Accord\n", "no column VIN, Stock or vehicle_id"),
        (r#"{"data":{"total":40,"vehicles":[{"stock":"A1"}]}}"#, "1 of 40 vehicles"),
        (r#"{"total":40,"vehicles":[{"stock":"A1"}]}"#, "1 of 40 vehicles"),
        (r#"{"vehicles":[{"stock":"A1"}],"total":40}"#, "1 of 40 vehicles"),
    ] {
        let error = try_read(text.as_bytes()).unwrap_err();
        assert!(error.message.contains(expected), "{text}: {error}");
        assert!(!error.hint.is_empty());
    }
}

#[test]
fn rows_with_shifted_cut_off_or_oversized_cells_are_skipped() {
    let huge = "x".repeat(MAX_CELL + 1);
    let feed = feed(format!(
        "Stock,Make,Model,Description\nA1,Honda,Accord,red, fast\nA2,Honda,Accord\n\
         A3,Honda,Accord,\"{huge}\"\n\n,,,\nA4,Honda,Acc"
    ));
    let reasons: Vec<_> = feed.report.skips.iter().map(|skip| (skip.line, skip.reason)).collect();
    assert_eq!(
        reasons,
        [(2, SkipReason::TooManyCells), (4, SkipReason::OversizedCell), (7, SkipReason::Truncated)]
    );
    assert_eq!(feed.report.warned_of(RowWarning::FewCells), 1);
    assert_eq!(feed.listings.len(), 1);
}

#[test]
fn the_report_stays_small_whatever_the_feed_holds() {
    let mut text = String::from("Stock,Status,Year\n");
    for index in 0..5_000 {
        text.push_str(&format!("A{index},Zone 4,\n,,soon\n"));
    }
    let report = feed(text).report;
    assert_eq!(report.skips.len(), report::MAX_SKIPS);
    assert_eq!(report.skips[0].line, 2);
    assert_eq!(report.skipped, 10_000);
    assert_eq!(report.skipped_for(SkipReason::UnknownStatus), 5_000);
    for warning in &report.warnings {
        assert!(warning.examples.len() <= report::MAX_EXAMPLES);
    }
    let json = tradepost_document::json::to_value(&report).unwrap();
    assert_eq!(json["reasons"][0]["kind"], "no_identifier");
    assert_eq!(json["rows"], 10_000);
}

#[test]
fn messages_repeat_feed_values_shortened_and_without_control_characters() {
    let evil = format!("\u{1b}[31m{}", "x".repeat(500));
    let (_, report) = row("Status", &evil);
    let message = &report.skips[0].message;
    assert!(!message.contains('\u{1b}') && message.chars().count() < 200, "{message}");
}

/// No input causes a panic, the counts add up, and every unit can be indexed and sent.
fn survives(bytes: &[u8]) {
    let Ok(feed) = try_read(bytes) else {
        return;
    };
    let report = &feed.report;
    assert_eq!(report.rows, report.accepted + report.sold + report.skipped);
    let mut ids = std::collections::HashSet::new();
    for FeedListing { vehicle, .. } in &feed.listings {
        assert!(vehicle.status.is_some() && vehicle.updated_at == Some(now()));
        assert!(ids.insert(vehicle.vehicle_id.clone().unwrap()));
        let json = tradepost_document::json::to_value(&vehicle).unwrap();
        let mut problems = tradepost_document::problem::Problems::new();
        let read = Vehicle::read(
            &json,
            &tradepost_document::problem::DocumentPlace::Root,
            &mut problems,
            tradepost_aap::Version::V1_1,
            tradepost_aap::vehicle::Vocabularies::Sale,
        );
        assert!(read.is_some(), "{problems:?} {json}");
    }
}

proptest! {
    #[test]
    fn random_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2_000)) {
        survives(&bytes);
    }

    #[test]
    fn random_cells_are_survived(
        rows in proptest::collection::vec(proptest::collection::vec(".{0,24}", 0..16), 0..12),
        delimiter in prop::sample::select(vec![",", "|", "\t", ";"]),
    ) {
        let heading = [
            "VIN", "Stock", "Year", "Price", "Miles", "DateInStock", "ImageList", "Options", "Type",
            "Transmission", "Drivetrain", "VDP_URL", "EngineDisplacement", "CityMPG", "Electric Range",
        ];
        let mut text = heading.join(delimiter);
        for row in rows {
            text.push('\n');
            text.push_str(&row.join(delimiter));
        }
        survives(text.as_bytes());
    }

    #[test]
    fn numbers_and_odd_signs_are_survived(
        rows in proptest::collection::vec(
            proptest::collection::vec("[0-9 ,.$/kmTZ–é:-]{0,20}", 15), 1..8),
    ) {
        let mut text = String::from(
            "Stock|Year|Price|Miles|DateInStock|MSRP|CityMPG|Electric Range|Cylinders|\
             EngineDisplacement|VIN|Status|ImageList|VDP_URL|List Price",
        );
        for row in rows {
            text.push('\n');
            text.push_str(&row.join("|"));
        }
        survives(text.as_bytes());
    }

    #[test]
    fn random_json_members_are_survived(
        members in proptest::collection::vec(
            ("(vin|stock|price|year|mileage|photos|status|condition|x)", "(null|-?[0-9]{1,30}(\\.[0-9]{1,4})?|\"[a-z0-9 ]{0,20}\"|\\[\"[a-z:/.]{0,20}\"\\]|\\{\\})"),
            0..10),
    ) {
        let members: Vec<String> = members
            .into_iter()
            .map(|(key, value)| format!("\"{key}\":{value}"))
            .collect();
        survives(format!("[{{{}}}]", members.join(",")).as_bytes());
    }
}

#[test]
fn rows_are_told_by_the_line_that_an_editor_shows() {
    for (end, name) in [("\n", "LF"), ("\r\n", "CRLF"), ("\r", "CR")] {
        let lines =
            ["Stock,Status,Notes", "A1,weird,x", "", "\"A2\",odd,\"one", "two\"", "A3,so so,x", ""];
        let report = feed(lines.join(end)).report;
        let skipped: Vec<usize> = report.skips.iter().map(|skip| skip.line).collect();
        assert_eq!(skipped, [2, 4, 6], "{name}");
        let with_separator = format!("sep=,\r\n{}", lines.join(end));
        let report = feed(with_separator).report;
        let skipped: Vec<usize> = report.skips.iter().map(|skip| skip.line).collect();
        assert_eq!(skipped, [3, 5, 7], "{name}");
    }
}

#[test]
fn a_row_of_another_dealer_or_rooftop_is_not_taken() {
    for (row, expected) in [
        // Dealer ID, Dealer Name and Rooftop of a row, the rooftop it is assigned to, and the odd
        // name.
        (",,", Ok(("Acme North", Some(RowWarning::NoRooftop)))),
        ("acme,,", Ok(("Acme North", Some(RowWarning::NoRooftop)))),
        (",Acme Group,", Ok(("Acme North", Some(RowWarning::NoRooftop)))),
        (",ACME  south,", Ok(("Acme South", None))),
        ("mp-2,,", Ok(("Acme South", None))),
        ("MP-2,Acme Group,Acme South", Ok(("Acme South", None))),
        ("4711,,Acme South", Ok(("Acme South", Some(RowWarning::AlsoAnother)))),
        ("MP-2,Acme Motors Inc,", Ok(("Acme South", Some(RowWarning::AlsoAnother)))),
        ("4711,,", Err(SkipReason::AnotherDealer)),
        ("4711,Acme Group,", Err(SkipReason::AnotherDealer)),
        (",Beta Motors,", Err(SkipReason::AnotherDealer)),
        ("acme,Acme East,", Err(SkipReason::AnotherDealer)),
        ("acme,,Acme East", Err(SkipReason::AnotherDealer)),
        ("MP-1,,Acme South", Err(SkipReason::AnotherDealer)),
    ] {
        let feed = feed(format!("Stock,Price,Dealer ID,Dealer Name,Rooftop\nA1,20000,{row}\n"));
        let taken = feed.listings.iter().next().and_then(|listing| listing.vehicle.rooftop);
        let skipped = feed.report.skips.first().map(|skip| skip.reason);
        let warned = feed.report.warnings.iter().map(|entry| entry.kind).collect::<Vec<_>>();
        match expected {
            Ok((rooftop, warning)) => {
                assert_eq!(taken, Some(rooftop.to_owned()), "{row}");
                let more = warned.into_iter().filter(|kind| *kind != RowWarning::NoMakeOrModel);
                assert_eq!(more.collect::<Vec<_>>(), Vec::from_iter(warning), "{row}");
            }
            Err(reason) => assert_eq!((taken, skipped), (None, Some(reason)), "{row}"),
        }
    }
}

#[test]
fn a_dealer_with_one_rooftop_takes_no_rows_of_others() {
    let mut target = target();
    target.rooftops.truncate(1);
    let text = "Stock,Dealer Name\nA1,\nA2,Acme North\nA3,Beta Motors\n";
    let sorted = read(std::io::Cursor::new(text), &[target], now()).unwrap();
    let report = &sorted.feeds[0].report;
    assert_eq!((report.accepted, report.skipped_for(SkipReason::AnotherDealer)), (2, 1));
    assert!(report.skips[0].message.contains("\"Beta Motors\""), "{:?}", report.skips);
}

#[test]
fn a_file_of_several_dealers_is_split_by_its_names() {
    let beta = FeedTarget {
        dealer_id: "beta".into(),
        name: "Beta Motors".into(),
        rooftops: vec![FeedRooftop { name: "Main".into(), feed_names: Vec::new(), fees: 0 }],
        price_truth: PricePolicy::Warn,
    };
    let mut gamma = beta.clone();
    gamma.dealer_id = "gamma".into();
    gamma.name = "Gamma Cars".into();
    let text = "Stock,Dealer ID,Dealer Name,Price\n\
                A1,MP-2,,20000\nA2,beta,,30000\nA3,,Gamma Cars,1000\nA4,beta,Main,1000\n\
                A5,,Main,1000\nA6,,,1000\nA7,9,Delta,1000\nA1,,Acme North,1000,x\n";
    let sorted = read(std::io::Cursor::new(text), &[target(), beta, gamma], now()).unwrap();
    let stocks = |feed: &DealerFeed| {
        let stock = |listing: FeedListing| listing.vehicle.stock.unwrap();
        feed.listings.iter().map(stock).collect::<Vec<_>>().join(" ")
    };
    let found: Vec<_> = sorted.feeds.iter().map(stocks).collect();
    assert_eq!(found, ["A1", "A2 A4", "A3"]);
    let unplaced: Vec<_> =
        sorted.unplaced.skips.iter().map(|skip| (skip.line, skip.reason)).collect();
    assert_eq!(
        unplaced,
        [
            (6, SkipReason::AnotherDealer),
            (7, SkipReason::NoDealer),
            (8, SkipReason::AnotherDealer),
            (9, SkipReason::TooManyCells),
        ]
    );
}

#[test]
fn prices_far_off_are_reported_and_left_out() {
    for (kind, msrp, price, kept) in [
        ("New", "32450", "27995", true),
        ("New", "32450", "2799500", false),
        ("New", "32450", "2799", false),
        ("New", "3245000", "27995", false),
        ("Used", "32450", "995", true),
        ("Used", "60000", "480000", true),
        ("Used", "3245000", "27995", false),
        ("Used", "", "1250000", true),
        ("Used", "", "9,999,999", false),
        ("Used", "", "$999999", false),
        ("Used", "", "99999", true),
        ("Used", "", "5000001", false),
    ] {
        let (vehicle, report) =
            row("Make,Model,Type,MSRP,Price", &format!("BMW,M3,{kind},{msrp},\"{price}\""));
        assert_eq!(vehicle.price.is_some(), kept, "{kind} {msrp} {price}");
        assert_eq!(report.warned_of(RowWarning::FarOffPrice), usize::from(!kept), "{msrp} {price}");
        assert_eq!(report.warned(), usize::from(!kept), "{:?}", report.warnings);
    }
    let (vehicle, report) = row("Price,Currency", "18500,LKR");
    assert_eq!(vehicle.price, None);
    assert_eq!(report.warned_of(RowWarning::OtherCurrency), 1);
}

#[test]
fn a_long_table_is_sorted_in_row_order() {
    const ROWS: usize = 5_000;
    let mut text = "Stock,Make,Model,Year,Status,Miles\n".to_owned();
    for row in 0..ROWS {
        let (status, miles) = match row % 7 {
            0 => ("Inactive", "1"),
            3 => ("", "many 1"),
            _ => ("In Stock", "1"),
        };
        text.push_str(&format!("S{row},Honda,Civic,2024,{status},{miles}\n"));
    }
    // The file ends in the middle of a row.
    text.push_str("S9999,Honda");
    let DealerFeed { listings, report } = feed(text);
    let stocks: Vec<_> = listings.iter().filter_map(|listing| listing.vehicle.stock).collect();
    let kept = (0..ROWS).filter(|row| row % 7 != 0);
    assert_eq!(stocks, kept.map(|row| format!("S{row}")).collect::<Vec<_>>());
    let skipped: Vec<usize> = report.skips.iter().map(|skip| skip.line).collect();
    let expected = (0..ROWS).step_by(7).map(|row| row + 2).chain([ROWS + 2]);
    assert_eq!(skipped, expected.collect::<Vec<_>>());
    assert_eq!((report.rows, report.skipped), (ROWS + 1, skipped.len()));
    let unread = report
        .warnings
        .iter()
        .find(|warning| warning.kind == RowWarning::UnreadableMileage)
        .unwrap();
    let lines: Vec<_> = unread.examples.iter().filter_map(|example| example.line).collect();
    assert_eq!((unread.count, lines.as_slice()), (ROWS / 7, &[5, 12, 19, 26, 33][..]));
    let filled = |name: &str| {
        report.fields.iter().find(|field| field.field == name).unwrap().columns[0].filled
    };
    assert_eq!((filled("stock"), filled("status")), (ROWS, ROWS - ROWS / 7));
    let cut_off = format!("the file ends in the middle of line {}", ROWS + 2);
    assert_eq!(report.doubts.iter().filter(|doubt| **doubt == cut_off).count(), 1);
}

#[test]
fn a_feed_of_any_size_is_read_row_by_row() {
    /// A table that is generated while it is read, and not stored.
    struct GeneratedTable {
        rows: u64,
        at: u64,
    }
    const ROW: &[u8] = b"A1,Beta Motors,a row that is not at all of ours\n";
    const HEADING: &[u8] = b"Stock,Dealer Name,some words which say nothing.\n";
    impl std::io::Read for GeneratedTable {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            assert!(out.len() <= decode::CHUNK);
            let size = HEADING.len() as u64;
            let left = self.rows * size - self.at;
            let count = out.len().min(usize::try_from(left).unwrap());
            for byte in &mut out[..count] {
                let line = if self.at < size { HEADING } else { ROW };
                *byte = line[usize::try_from(self.at % size).unwrap()];
                self.at += 1;
            }
            Ok(count)
        }
    }
    impl std::io::Seek for GeneratedTable {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            assert_eq!(to, std::io::SeekFrom::Start(0));
            self.at = 0;
            Ok(0)
        }
    }
    let rows = 20_000;
    let sorted = read(GeneratedTable { rows, at: 0 }, &[target()], now()).unwrap();
    assert_eq!(sorted.feeds[0].report.skipped as u64, rows - 1);
}

#[test]
fn an_endless_row_is_refused_before_it_fills_the_memory() {
    let mut text = String::from("Stock,Notes\nA1,\"open\n");
    while text.len() as u64 <= MAX_ROW + (1 << 20) {
        text.push_str("A2,and many more rows that are swallowed by the open quotation mark\n");
    }
    let error = try_read(text.as_bytes()).unwrap_err();
    assert!(error.message.starts_with("the row in line 2 cannot be read to its end"), "{error}");
}
