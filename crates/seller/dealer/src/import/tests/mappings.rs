//! Rules of a mapping other than the headings of a feed.

use std::io::Cursor;

use expect_test::expect;

use super::*;

fn read_with(mapping: &str, text: &str) -> Result<DealerFeed, FeedError> {
    let mapping = Mapping::parse(mapping).unwrap_or_else(|wrong| panic!("{wrong:?}"));
    let sorted = read_as(Cursor::new(text), &[target()], Some(&mapping), now())?;
    Ok(sorted.feeds.into_iter().next().unwrap())
}

#[test]
fn a_line_that_matches_no_column_is_an_error() {
    const CSV: &str = "Stock,Asking Price,Photo 1,Photo 2\nA1,20000,,\n";
    const JSON: &str = r#"[{"stock": "A1"}, {"stock": "A2", "build": {"make": "Kia"}}]"#;
    const XML: &str = "<a><car><stock>A1</stock><dealer><name>Acme North</name></dealer></car></a>";
    for (line, feed, lost) in [
        (r#""Asking Price" = "price""#, CSV, None),
        (r#""asking_price" = "price""#, CSV, None),
        (r#""Photo *" = "photos""#, CSV, None),
        (r#""Photo 2" = "ignore""#, CSV, None),
        (
            r#""Asking Prise" = "price""#,
            CSV,
            Some("\"Asking Prise\"; the nearest is \"Asking Price\""),
        ),
        (r#""Asking Prise" = "ignore""#, CSV, Some("Asking Prise")),
        (r#""Foto *" = "photos""#, CSV, Some("\"Foto *\"; the nearest is \"Photo 1\"")),
        (r#""Asking Prise" = { field = "price", optional = true }"#, CSV, None),
        (r#""build.make" = "make""#, JSON, None),
        (r#""build.maek" = "make""#, JSON, Some("\"build.maek\"; the nearest is \"build.make\"")),
        (r#""make" = "make""#, JSON, Some("\"make\"")),
        (r#""dealer.name" = "rooftop""#, XML, None),
        (r#""dealer.nam" = "rooftop""#, XML, Some("the nearest is \"dealer.name\"")),
    ] {
        let read = read_with(&format!("[columns]\n{line}\n"), feed);
        let lines = read.err().map(|error| error.lines).unwrap_or_default();
        assert_eq!(lines.is_empty(), lost.is_none(), "{line}: {lines:?}");
        let first = lines.first().cloned().unwrap_or_default();
        assert!(first.contains(lost.unwrap_or_default()), "{line}: {first}");
    }
}

#[test]
fn lost_lines_are_told_and_those_of_presets_are_not() {
    let mapping =
        "preset = \"homenet\"\n[columns]\n\"Colour\" = \"exterior_color\"\n\"Lot\" = \"notes\"\n";
    let error = read_with(mapping, "Stock,DateInStock,Miles,ExteriorColor\nA1,,,\n").unwrap_err();
    expect![[r#"
        2 lines of the mapping are about no column of the feed; no column is called "Colour"; the nearest is "ExteriorColor"; no column is called "Lot"; the nearest is "ExteriorColor"
        write the column as the feed has it, take the line out, or add optional = true to a line whose column is not in every feed
    "#]].assert_eq(&format!("{error}\n{}\n", error.hint));
}

#[test]
fn a_line_is_compared_before_the_heading_is_refused() {
    let error =
        read_with("[columns]\n\"Lot No\" = \"stock\"\n", "Lot Nr,Make\nA1,Kia\n").unwrap_err();
    assert_eq!(error.lines, ["no column is called \"Lot No\"; the nearest is \"Lot Nr\""]);
}

#[test]
fn constants_that_are_no_values_are_mistakes_with_their_lines() {
    let text = r#"
[format]
decimal = "comma"
[constants]
condition = "pre-loved"
year = "24"
price = "27.99"
msrp = "Call"
fees = "some"
currency = "dollars"
mileage = "far"
mileage_unit = "leagues"
transmission = "automatik"
driveline = "all wheels"
fuel = "dieesel"
body = "sedann"
status = "maybe"
certified = "perhaps"
vin = "123"
photos = "/1.jpg"
vdp_url = "acme.example"
inventory_date = "soon"
seats = "many"
displacement = "2,5"
make = "–"
notes = ""
trim = "Sport"
"#;
    let mistakes = Mapping::parse(text).unwrap_err();
    let lines: Vec<String> =
        mistakes.iter().map(|m| format!("{}: {m}", m.line.unwrap_or_default())).collect();
    expect![[r#"
        5: constants.condition: must be new, used or cpo
        6: constants.year: must be a model year such as 2024
        7: constants.price: must be a price in whole US dollars, or a word such as Call
        9: constants.fees: must be an amount in US dollars
        10: constants.currency: must be a currency by its code, such as USD or CAD
        11: constants.mileage: must be a distance
        12: constants.mileage_unit: must be mi or km
        13: constants.transmission: must be one of automatic, cvt, manual; did you mean "automatic"?
        14: constants.driveline: must be one of 4wd, awd, fwd, rwd
        15: constants.fuel: must be one of bev, cng, diesel, gas, hybrid, hydrogen, phev; did you mean "diesel"?
        16: constants.body: did you mean "sedan"?
        17: constants.status: must be available, intransit, pending or sold
        18: constants.certified: must be yes or no
        19: constants.vin: must be a VIN of 17 digits and capital letters
        20: constants.photos: must begin with https:// or http://
        21: constants.vdp_url: must begin with https:// or http://
        22: constants.inventory_date: must be a date such as 2026-04-12
        23: constants.seats: must be a number
        25: constants.make: must have a letter or a digit
        26: constants.notes: must not be empty; take the line out instead"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn constants_that_are_values_are_taken() {
    for constant in [
        "condition = \"used\"",
        "condition = \"CPO\"",
        "status = \"In Transit\"",
        "price = \"$27,995\"",
        "price = \"Call\"",
        "fees = \"0\"",
        "currency = \"CAD\"",
        "mileage_unit = \"km\"",
        "driveline = \"4x4\"",
        "fuel = \"Gasoline\"",
        "body = \"motorcycle\"",
        "photos = \"https://a.example/1.jpg,https://a.example/2.jpg\"",
        "inventory_date = \"4/12/2026\"",
        "year = \"2024\"",
        "seats = \"5\"",
    ] {
        let text = format!("[constants]\n{constant}\n");
        assert!(Mapping::parse(&text).is_ok(), "{constant}: {:?}", Mapping::parse(&text));
    }
}

#[test]
fn a_misspelled_field_is_told_with_the_one_meant() {
    for (field, meant) in [
        ("prise", Some("price")),
        ("exterior_colour", Some("exterior_color")),
        ("Stock Number", Some("stock")),
        ("ignor", Some("ignore")),
        ("warp_drive", None),
    ] {
        let text = format!("[columns]\n\"A\" = \"{field}\"\n");
        let message = Mapping::parse(&text).unwrap_err()[0].message.clone();
        let expected = meant.map(|meant| format!("did you mean \"{meant}\"?"));
        assert!(
            message.contains(&expected.unwrap_or("must be \"ignore\" or one of".into())),
            "{message}"
        );
    }
}

#[test]
fn a_mapping_sets_the_format_of_numbers_dates_and_distances() {
    const HEADING: &str = "Stock;Price;Km;Since;Registered;Engine L;EV Range;City MPG;Rooftop";
    const COLUMNS: &str = "[columns]\nKm = \"mileage\"\nSince = \"inventory_date\"\n\
                           Registered = { field = \"year\", date = \"MM.YYYY\" }\n\
                           \"Engine L\" = \"displacement\"\n";
    let format = "[format]\ndecimal = \"comma\"\ndistance = \"km\"\ndate = \"DD.MM.YYYY\"\n";
    let row = "A1;9.000,50;17.555;31.12.2025;03.2018;2,0;400;7,8;Acme North";
    let feed = read_with(&format!("{format}{COLUMNS}"), &format!("{HEADING}\n{row}\n")).unwrap();
    let v = feed.listings.to_vec()[0].vehicle.clone();
    assert_eq!((v.list_price, v.price, v.mileage), (Some(9_001), Some(9_501), Some(10_908)));
    assert_eq!(v.inventory_date.as_deref(), Some("2025-12-31"));
    assert_eq!((v.year, v.engine.as_deref()), (Some(2018), Some("2.0L")));
    assert_eq!((v.electric_range_mi, v.city_mpg), (Some(249.0), Some(7)));
    // Without the rule the same row is read in the default notation, or left out with a warning.
    let feed = read_with(COLUMNS, &format!("{HEADING}\n{row}\n")).unwrap();
    let v = feed.listings.to_vec()[0].vehicle.clone();
    assert_eq!((v.list_price, v.mileage, v.inventory_date), (None, None, None));
}

#[test]
fn a_wrong_format_is_a_mistake() {
    for (text, expected) in [
        ("[format]\ndecimal = \"dot\"", "format.decimal: must be one of point, comma"),
        ("[format]\ndistance = \"m\"", "format.distance: must be one of mi, km"),
        ("[format]\ndate = \"MM\"", "format.date: must be made of YYYY or YY"),
        ("[format]\ndeciml = \"comma\"", "format.deciml: unknown key; did you mean \"decimal\"?"),
        (
            "[columns]\nA = { field = \"price\", date = \"YYYY\" }",
            "columns.A.date: belongs to the fields year and inventory_date",
        ),
    ] {
        let message = Mapping::parse(text).unwrap_err()[0].to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_mapping_with_everything_is_written_as_it_is_read() {
    let text = r#"
        preset = "meta"
        without_prices = true
        [columns]
        "Since" = { field = "inventory_date", date = "DD.MM.YYYY", optional = true }
        "Rare" = { field = "ignore", optional = true }
        [constants]
        condition = "used"
        [format]
        decimal = "comma"
        distance = "km"
        date = "MM.YYYY"
    "#;
    let mapping = Mapping::parse(text).unwrap();
    let written = mapping.to_toml();
    assert_eq!(Mapping::parse(&written).unwrap(), mapping, "{written}");
    expect![[r##"
        # How the columns of a feed are understood; see docs/feeds.md. A heading counts by its
        # letters and digits, and "ignore" leaves a column alone.
        preset = "meta"
        without_prices = true

        [columns]
        "Rare" = { field = "ignore", optional = true }
        "Since" = { field = "inventory_date", date = "DD.MM.YYYY", optional = true }

        [constants]
        condition = "used"

        [format]
        decimal = "comma"
        distance = "km"
        date = "MM.YYYY"
    "##]]
    .assert_eq(&written);
}

#[test]
fn constants_are_among_what_fed_a_field() {
    let mapping = "[constants]\ncondition = \"used\"\nmake = \"Kia\"\n";
    let feed = read_with(mapping, "Stock,Type\nA1,\nA2,New\n").unwrap();
    let uses = feed.report.fields.iter().filter(|used| ["condition", "make"].contains(&used.field));
    let shown: Vec<String> = uses
        .flat_map(|used| used.columns.iter().map(move |column| (used.field, column)))
        .map(|(field, column)| format!("{field} {} {}", column.column, column.filled))
        .collect();
    assert_eq!(
        shown,
        ["make constant \"Kia\" 2", "condition Type 1", "condition constant \"used\" 1",]
    );
}

#[test]
fn a_feed_without_years_or_photos_is_told() {
    const HEADING: &str = "VIN,Stock,Make,Model,Type,Price,Year,ImageList";
    const CAR: &str = "Honda,Accord,Used,20000";
    const PHOTO: &str = "https://a.example/1.jpg";
    for (rows, expected) in [
        (vec![format!("{VIN},A1,{CAR},2022,{PHOTO}")], vec![]),
        // The year of the VIN is valid.
        (vec![format!("{VIN},A1,{CAR},,{PHOTO}")], vec![]),
        (
            vec![format!("WVWZZZ1KZAW000001,A1,{CAR},,{PHOTO}")],
            vec!["1 of 1 units have no model year, from \"Year\""],
        ),
        (
            vec![
                format!("{VIN},A1,{CAR},2022,"),
                format!("1HGCV1F35NA000004,A2,{CAR},2022,/2.jpg"),
            ],
            vec!["2 of 2 units have no photo, from \"ImageList\""],
        ),
        (
            vec![
                format!("{VIN},A1,{CAR},2022,"),
                format!("1HGCV1F35NA000004,A2,{CAR},2022,{PHOTO}"),
            ],
            vec![],
        ),
    ] {
        let report = feed(format!("{HEADING}\n{}\n", rows.join("\n"))).report;
        assert_eq!(report.doubts, expected, "{rows:?}");
        let without_photos = report.of_a_part().doubts;
        assert!(without_photos.iter().all(|doubt| !doubt.contains("photo")));
    }
    let report =
        feed("VIN,Stock,Make,Model,Type,Price\nWVWZZZ1KZAW000001,A1,Kia,Rio,Used,20000\n").report;
    assert_eq!(
        report.doubts,
        ["no column is understood as the model year", "no column is understood as the photo"]
    );
}

#[test]
fn the_vins_year_is_taken_with_a_warning_without_another() {
    for (year, expected, kinds) in [
        ("2021", Some(2021), vec![]),
        ("", Some(2022), vec![RowWarning::YearFromVin]),
        ("soon", None, vec![RowWarning::UnreadableYear]),
    ] {
        let (vehicle, report) =
            row("VIN,Make,Model,Year,Price", &format!("{VIN},Honda,Accord,{year},20000"));
        let warned: Vec<RowWarning> = report.warnings.iter().map(|entry| entry.kind).collect();
        assert_eq!((vehicle.year, warned), (expected, kinds), "{year}");
    }
}

#[test]
fn a_passenger_van_of_a_minivan_model_is_a_minivan() {
    for (cells, expected) in [
        ("Toyota,Sienna,4D Passenger Van", "minivan"),
        ("Dodge,Grand Caravan,Van", "minivan"),
        ("Ram,C/V,Cargo Van", "van"),
        ("Ford,Transit,4D Passenger Van", "van"),
        ("Toyota,Sienna,Minivan", "minivan"),
    ] {
        let (vehicle, _) = row("Make,Model,Body", cells);
        assert_eq!(vehicle.body.as_deref(), Some(expected), "{cells}");
    }
}

#[test]
fn seats_and_doors_are_told_by_whatever_they_are_called() {
    for (heading, cell, expected) in [
        ("PassengerCapacity", "5", Some(5)),
        ("seating_capacity", "8 passengers", Some(8)),
        ("maximum_seating", "7", Some(7)),
        ("vehicle_seating_capacity", "2", Some(2)),
        ("Seats", "0", None),
        ("Seats", "leather", None),
    ] {
        let (vehicle, report) = row(heading, cell);
        let seats = vehicle.others.get("seats").and_then(tradepost_document::json::Value::as_u64);
        assert_eq!(seats, expected, "{heading} {cell}");
        let is_odd = report.warned_of(RowWarning::UnreadableNumber) == 1;
        assert_eq!(is_odd, cell == "leather", "{heading} {cell}");
    }
    let (vehicle, _) =
        row("Doors,main_picture_url,Photos", "4dr,https://a.example/2.jpg,https://a.example/1.jpg");
    assert_eq!(
        vehicle.others.get("doors").and_then(tradepost_document::json::Value::as_u64),
        Some(4)
    );
    assert_eq!(vehicle.photos, ["https://a.example/2.jpg", "https://a.example/1.jpg"]);
}

#[test]
fn lists_may_be_nested() {
    let feed = feed(
        "<a><car><stock>A1</stock><options><option>Roof, black</option><option>Tow bar</option></options>\
         <photos><photo>https://a.example/1.jpg</photo><photo>https://a.example/2.jpg</photo></photos></car></a>",
    );
    let v = &feed.listings.to_vec()[0].vehicle;
    assert_eq!(v.features, ["Roof, black", "Tow bar"]);
    assert_eq!(v.photos.len(), 2);
}
