//! A small feed of each format with the columns and the notation of real exports. The cars are
//! fictional. Each is read with its preset alone, and every value that AAP has a member for is in
//! the listings.

use std::fmt::Write as _;
use std::io::Cursor;

use expect_test::{Expect, expect};
use jiff::Timestamp;

use crate::import::{FeedRooftop, FeedTarget, Mapping, Preset, PricePolicy, read, read_as};

/// Reads a feed with a preset, and returns its listings and report.
fn listings(preset: Preset, feed: &[u8]) -> String {
    let now: Timestamp = "2026-11-20T17:00:00Z".parse().unwrap();
    let rooftop = |name: &str, feed_name: &str, fees| FeedRooftop {
        name: name.into(),
        feed_names: vec![feed_name.into()],
        fees,
    };
    let target = FeedTarget {
        dealer_id: "acme".into(),
        name: "Acme Group".into(),
        rooftops: vec![rooftop("Acme North", "MP-1", 500), rooftop("Acme South", "MP-2", 700)],
        price_truth: PricePolicy::Warn,
    };
    let mapping = Mapping::from_preset(preset);
    let sorted =
        read_as(Cursor::new(feed), std::slice::from_ref(&target), Some(&mapping), now).unwrap();
    let [feed_of_acme] = sorted.feeds.as_slice() else { panic!("one dealer, one feed") };
    let mut out = String::new();
    for listing in &feed_of_acme.listings {
        let sold = if listing.sold { "sold: " } else { "" };
        let text = tradepost_document::json::to_string_pretty(&listing.vehicle).unwrap();
        let _ = writeln!(out, "{sold}{text}");
    }
    let report = &feed_of_acme.report;
    assert_eq!(report.skipped, 0, "{:?}", report.skips);
    assert!(report.ignored_columns.is_empty(), "{:?}", report.ignored_columns);
    assert!(report.doubts.is_empty(), "{:?}", report.doubts);
    let _ = writeln!(out, "{}, {}", report.encoding, report.delimiter.unwrap_or(report.format));
    for warning in &report.warnings {
        let _ = writeln!(out, "{} × {}", warning.count, warning.kind.summary());
    }
    // Without naming the preset, where the headings identify it.
    if preset != Preset::AutoTrader {
        let guessed = read(Cursor::new(feed), &[target], now).unwrap();
        assert_eq!(guessed.feeds[0].listings, feed_of_acme.listings);
    }
    out
}

fn check(preset: Preset, feed: impl AsRef<[u8]>, expected: &Expect) {
    expected.assert_eq(&listings(preset, feed.as_ref()));
}

/// HomeNet: bars with everything in quotation marks, lines that end with `\r\n`, Windows-1252,
/// `N/A`, prices with a sign and cents, dates with the month first and a time, photos between
/// commas or bars, a bar and quotation marks in a text, `C` for certified.
#[test]
fn homenet() {
    let heading = "Type¦Stock¦VIN¦Year¦Make¦Model¦Body¦Trim¦ModelNumber¦Doors¦ExteriorColor¦InteriorColor¦\
EngineCylinders¦EngineDisplacement¦Transmission¦Miles¦SellingPrice¦MSRP¦BookValue¦\
Invoice¦Certified¦DateInStock¦Description¦Options¦Categorized Options¦Dealer Name¦\
Dealer Address¦Dealer City¦Dealer State¦Dealer Zip¦Dealer Phone¦Dealer Fax¦Dealer Email¦\
Comment 1¦Comment 2¦Comment 3¦Comment 4¦Comment 5¦Style_Description¦Ext_Color_Generic¦\
Ext_Color_Code¦Int_Color_Generic¦Int_Color_Code¦Int_Upholstery¦Engine_Block_Type¦\
Engine_Aspiration_Type¦Engine_Description¦Transmission_Speed¦Transmission_Description¦\
Drivetrain¦Fuel_Type¦CityMPG¦HighwayMPG¦EPAClassification¦Wheelbase_Code¦Internet_Price¦\
Misc_Price1¦Misc_Price2¦Misc_Price3¦Factory_Codes¦MarketClass¦PassengerCapacity¦\
ExtColorHexCode¦IntColorHexCode¦EngineDisplacementCubicInches¦ImageList";
    let used = "U¦P1047A¦4T1G11AK9MU410047¦2021¦Toyota¦Camry¦4dr Car¦SE¦2546¦4¦\
Célestial Silver Metallic¦Black¦4¦2.5¦A¦31,204¦$24,995.00¦$27,840.00¦N/A¦¦False¦\
10/3/2026 12:00:00 AM¦One owner, \"\"garage kept\"\" | clean history¦\
Alloy Wheels,Bluetooth,Lane Assist¦¦Acme South¦12 Fictional Way¦Springfield¦IL¦62701¦\
(217) 555-0100¦¦¦¦¦¦¦¦SE Auto¦Silver¦1J9¦Black¦FB20¦Cloth¦I¦¦2.5L I4 203hp¦8¦\
8-Speed Automatic¦FWD¦Gasoline Fuel¦28¦39¦Midsize¦¦$23,995.00¦0¦0¦0¦¦Midsize Sedan¦5¦¦¦\
152¦https://cdn.example/p1047a/1.jpg,https://cdn.example/p1047a/2.jpg";
    let certified = "C¦C2210¦1hgcy1f38pa004512¦2023¦Honda¦Accord¦4dr Car¦EX¦CY1F3P¦4¦N/A¦N/A¦4¦1.5¦CVT¦8120¦\
28500¦0¦¦¦True¦2026-09-28¦¦¦¦Acme North¦¦¦¦¦¦¦¦Still under the maker’s warranty.¦¦¦¦¦¦\
White¦¦Gray¦¦¦I¦Turbo¦¦¦¦Front Wheel Drive¦Gasoline¦29¦37¦¦¦0¦¦¦¦¦¦¦¦¦¦\
https://cdn.example/c2210/a.jpg|https://cdn.example/c2210/b.jpg|";
    let new = "N¦N0099¦5YJ3E1EAXRF700421¦2024¦Tesla¦Model 3¦4dr Car¦Long Range¦¦4¦Red¦White¦¦¦\
1-Speed Automatic¦12¦Call¦$47,740.00¦¦¦¦11/18/26¦¦¦¦Acme South¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦\
AWD¦Electric Fuel System¦¦¦¦¦¦¦¦¦¦¦¦¦¦¦";
    let line = |row: &str| format!("\"{}\"\r\n", row.replace('¦', "\"|\""));
    let text = [heading, used, certified, new].map(line).concat();
    let (bytes, _, lossy) = encoding_rs::WINDOWS_1252.encode(&text);
    assert!(!lossy);
    check(
        Preset::HomeNet,
        bytes.as_ref(),
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_4t1g11ak9mu410047",
          "vin": "4T1G11AK9MU410047",
          "stock": "P1047A",
          "rooftop": "Acme South",
          "year": 2021,
          "make": "Toyota",
          "model": "Camry",
          "trim": "SE",
          "body": "sedan",
          "condition": "used",
          "status": "available",
          "msrp": 27840,
          "list_price": 23995,
          "price": 24695,
          "mileage": 31204,
          "transmission": "automatic",
          "driveline": "fwd",
          "engine": "2.5L I4 203hp",
          "fuel": "gas",
          "city_mpg": 28,
          "highway_mpg": 39,
          "exterior_color": "Célestial Silver Metallic",
          "interior_color": "Black",
          "features": [
            "Alloy Wheels",
            "Bluetooth",
            "Lane Assist"
          ],
          "photos": [
            "https://cdn.example/p1047a/1.jpg",
            "https://cdn.example/p1047a/2.jpg"
          ],
          "description": "One owner, \"garage kept\" | clean history",
          "inventory_date": "2026-10-03",
          "updated_at": "2026-11-20T17:00:00Z",
          "seats": 5,
          "doors": 4
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_1hgcy1f38pa004512",
          "vin": "1HGCY1F38PA004512",
          "stock": "C2210",
          "rooftop": "Acme North",
          "year": 2023,
          "make": "Honda",
          "model": "Accord",
          "trim": "EX",
          "body": "sedan",
          "condition": "cpo",
          "status": "available",
          "list_price": 28500,
          "price": 29000,
          "mileage": 8120,
          "transmission": "cvt",
          "driveline": "fwd",
          "engine": "1.5L Turbo I4",
          "fuel": "gas",
          "city_mpg": 29,
          "highway_mpg": 37,
          "exterior_color": "White",
          "interior_color": "Gray",
          "photos": [
            "https://cdn.example/c2210/a.jpg",
            "https://cdn.example/c2210/b.jpg"
          ],
          "description": "Still under the maker’s warranty.",
          "inventory_date": "2026-09-28",
          "updated_at": "2026-11-20T17:00:00Z",
          "doors": 4
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_5yj3e1eaxrf700421",
          "vin": "5YJ3E1EAXRF700421",
          "stock": "N0099",
          "rooftop": "Acme South",
          "year": 2024,
          "make": "Tesla",
          "model": "Model 3",
          "trim": "Long Range",
          "body": "sedan",
          "condition": "new",
          "status": "available",
          "msrp": 47740,
          "mileage": 12,
          "transmission": "automatic",
          "driveline": "awd",
          "fuel": "bev",
          "exterior_color": "Red",
          "interior_color": "White",
          "inventory_date": "2026-11-18",
          "updated_at": "2026-11-20T17:00:00Z",
          "doors": 4
        }
        windows-1252, pipe
        1 × the VIN was in lower case
        1 × no price
    "#]],
    );
}

/// vAuto: a UTF-8 byte order mark, `N` and `U`, `Series` for the trim, photos separated by bars.
#[test]
fn vauto() {
    let feed = "\u{feff}\"DealerId\",\"Dealer Name\",\"VIN\",\"Stock #\",\"New/Used\",\"Year\",\"Make\",\
\"Model\",\"Model Number\",\"Body\",\"Transmission\",\"Series\",\"Body Door Ct\",\"Odometer\",\
\"Engine Cylinder Ct\",\"Engine Displacement\",\"Drivetrain Desc\",\"Color\",\"Interior Color\",\
\"Price\",\"MSRP\",\"Inventory Date\",\"Certified\",\"Description\",\"Features\",\"Photo Url List\",\
\"City MPG\",\"Highway MPG\",\"Photos Last Modified Date\",\"Series Detail\",\"Engine\",\"Fuel\",\"Age\"\r\n\
\"MP-1\",\"Acme North\",\"1FTFW1E89PFB20318\",\"T5520\",\"U\",\"2023\",\"Ford\",\"F-150\",\"W1E\",\
\"4D SuperCrew\",\"10-Speed Automatic\",\"Lariat\",\"4\",\"18250\",\"6\",\"3.5\",\"4WD\",\"Antimatter Blue\",\
\"Black\",\"52,400\",\"61,990\",\"10/21/2026\",\"Yes\",\"Tow package.\r\nNon-smoker, \"\"like new\"\".\",\
\"Max Recline Seats, B&O Sound System by Bang & Olufsen, Twin Panel Moonroof\",\
\"https://img.example/t5520/01.jpg|https://img.example/t5520/02.jpg|https://img.example/t5520/03.jpg\",\
\"16\",\"22\",\"10/22/2026\",\"\",\"3.5L V6 EcoBoost\",\"Gasoline\",\"29\"\r\n\
\"MP-2\",\"Acme South\",\"1C4RJKBG1P8801123\",\"J9001\",\"N\",\"2023\",\"Jeep\",\"Grand Cherokee L\",\"WLJH75\",\
\"4D Sport Utility\",\"8-Speed Automatic\",\"Limited\",\"4\",\"6\",\"6\",\"3.6\",\"4x4\",\"Bright White\",\"Global Black\",\
\"0\",\"55,485\",\"11/2/2026\",\"No\",\"\",\"\",\"\",\"19\",\"26\",\"\",\"\",\"\",\"Gasoline\",\"18\"\r\n";
    check(
        Preset::VAuto,
        feed,
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_1ftfw1e89pfb20318",
          "vin": "1FTFW1E89PFB20318",
          "stock": "T5520",
          "rooftop": "Acme North",
          "year": 2023,
          "make": "Ford",
          "model": "F-150",
          "trim": "Lariat",
          "body": "truck",
          "condition": "cpo",
          "status": "available",
          "msrp": 61990,
          "list_price": 52400,
          "price": 52900,
          "mileage": 18250,
          "transmission": "automatic",
          "driveline": "4wd",
          "engine": "3.5L V6 EcoBoost",
          "fuel": "gas",
          "city_mpg": 16,
          "highway_mpg": 22,
          "exterior_color": "Antimatter Blue",
          "interior_color": "Black",
          "features": [
            "Max Recline Seats",
            "B&O Sound System by Bang & Olufsen",
            "Twin Panel Moonroof"
          ],
          "photos": [
            "https://img.example/t5520/01.jpg",
            "https://img.example/t5520/02.jpg",
            "https://img.example/t5520/03.jpg"
          ],
          "description": "Tow package. Non-smoker, \"like new\".",
          "inventory_date": "2026-10-21",
          "updated_at": "2026-11-20T17:00:00Z",
          "doors": 4
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_1c4rjkbg1p8801123",
          "vin": "1C4RJKBG1P8801123",
          "stock": "J9001",
          "rooftop": "Acme South",
          "year": 2023,
          "make": "Jeep",
          "model": "Grand Cherokee L",
          "trim": "Limited",
          "body": "suv",
          "condition": "new",
          "status": "available",
          "msrp": 55485,
          "mileage": 6,
          "transmission": "automatic",
          "driveline": "4wd",
          "engine": "3.6L 6-cylinder",
          "fuel": "gas",
          "city_mpg": 19,
          "highway_mpg": 26,
          "exterior_color": "Bright White",
          "interior_color": "Global Black",
          "inventory_date": "2026-11-02",
          "updated_at": "2026-11-20T17:00:00Z",
          "doors": 4
        }
        UTF-8, comma
        1 × no price
    "#]],
    );
}

/// Google vehicle listings, by their specification: `n` and `u`, prices and mileages with their
/// units, inches in quotation marks, more photos in a list.
#[test]
fn google_listings() {
    let feed = "vin,id,store_code,place_id,maps_url,dealership_name,dealership_address,\
tracking_phone_number,image_link,additional_image_link,link,date_in_stock,price,vehicle_msrp,condition,\
certified_pre_owned,make,model,trim,year,mileage,exterior_color,interior_color,body_style,engine,\
transmission,drivetrain,fuel_type,vehicle_option,description\n\
JTMB1RFV8RD540019,H7712,MP-1,ChIJfictional,,Acme North,\"1 Acme Rd, Springfield, IL 62701, US\",\
+12175550100,https://cdn.example/h7712-1.jpg,\"https://cdn.example/h7712-2.jpg,https://cdn.example/h7712-3.jpg\",\
https://www.acme.example/new/H7712?utm_source=google,2026-11-05,\"39,215.00 USD\",\"40,110.00 USD\",n,0,Toyota,\
RAV4 Hybrid,XLE,2024,5 miles,Blueprint,Ash,SUV,2.5L I4 Hybrid,CVT,AWD,Hybrid,\"Wheels 17\"\" Alloy,Moonroof\",\
\"Quiet, thrifty, ready to go.\"\n\
KNDPU3AF8P7066210,K3330,MP-2,,,Acme South,\"2 Acme Rd, Springfield, IL 62701, US\",,\
https://cdn.example/k3330.jpg,,https://www.acme.example/used/K3330,2026-10-11T09:30:00-06:00,27995 USD,,u,yes,Kia,\
Sportage,EX,2023,\"22,777 miles\",Gravity Gray,Black,SUV,2.5L I4,8-Speed Automatic,AWD,Gasoline,,\n";
    check(
        Preset::GoogleListings,
        feed,
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_jtmb1rfv8rd540019",
          "vin": "JTMB1RFV8RD540019",
          "stock": "H7712",
          "rooftop": "Acme North",
          "year": 2024,
          "make": "Toyota",
          "model": "RAV4 Hybrid",
          "trim": "XLE",
          "body": "suv",
          "condition": "new",
          "status": "available",
          "msrp": 40110,
          "list_price": 39215,
          "price": 39715,
          "mileage": 5,
          "transmission": "cvt",
          "driveline": "awd",
          "engine": "2.5L I4 Hybrid",
          "fuel": "hybrid",
          "exterior_color": "Blueprint",
          "interior_color": "Ash",
          "features": [
            "Wheels 17\" Alloy",
            "Moonroof"
          ],
          "photos": [
            "https://cdn.example/h7712-1.jpg",
            "https://cdn.example/h7712-2.jpg",
            "https://cdn.example/h7712-3.jpg"
          ],
          "vdp_url": "https://www.acme.example/new/H7712?utm_source=google",
          "description": "Quiet, thrifty, ready to go.",
          "inventory_date": "2026-11-05",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_kndpu3af8p7066210",
          "vin": "KNDPU3AF8P7066210",
          "stock": "K3330",
          "rooftop": "Acme South",
          "year": 2023,
          "make": "Kia",
          "model": "Sportage",
          "trim": "EX",
          "body": "suv",
          "condition": "cpo",
          "status": "available",
          "list_price": 27995,
          "price": 28695,
          "mileage": 22777,
          "transmission": "automatic",
          "driveline": "awd",
          "engine": "2.5L I4",
          "fuel": "gas",
          "exterior_color": "Gravity Gray",
          "interior_color": "Black",
          "photos": [
            "https://cdn.example/k3330.jpg"
          ],
          "vdp_url": "https://www.acme.example/used/K3330",
          "inventory_date": "2026-10-11",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        UTF-8, comma
    "#]],
    );
}

/// Google vehicle ads: tabs, `brand` for the make, the page only as a template, the store in
/// `vehicle_fulfillment`, words with underscores.
#[test]
fn google_ads() {
    let heading = "id¦vin¦title¦description¦google_product_category¦brand¦model¦trim¦year¦condition¦\
certified_pre-owned¦mileage¦color¦body_style¦engine¦vehicle_option¦availability¦price¦\
vehicle_msrp¦image_link¦additional_image_link¦link_template¦mobile_link_template¦\
vehicle_fulfillment¦electric_range¦legal_disclaimer¦custom_label_0";
    let used = "acme-5521¦2T3P1RFV4NC266001¦2022 Toyota RAV4 XLE¦Clean, one owner.¦916¦Toyota¦RAV4¦XLE¦\
2022¦used¦false¦30,115 miles¦Magnetic Gray¦SUV¦gasoline¦Apple CarPlay,Heated Seats¦\
in_stock¦27450.00 USD¦¦https://cdn.example/5521/1.jpg¦\
https://cdn.example/5521/2.jpg,https://cdn.example/5521/3.jpg¦\
https://www.acme.example/vdp/5521?store={store_code}¦¦in_store:MP-1¦¦¦SUV";
    let new = "acme-9008¦5YJ3E1EAXRF700421¦2024 Tesla Model 3 Long Range¦Goes far.¦916¦Tesla¦Model 3¦\
Long Range¦2024¦new¦¦9 miles¦Red¦4dr_car¦electric¦¦in stock¦46,870.00 USD¦47,740 USD¦\
https://cdn.example/9008/1.jpg¦¦https://www.acme.example/vdp/9008?store={store_code}¦¦\
in_store:MP-2¦341 miles¦Plus tax and title.¦Sedan";
    let rows = [heading, used, new].map(|row| row.replace('¦', "\t"));
    check(
        Preset::GoogleAds,
        rows.join("\n"),
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "acme-5521",
          "vin": "2T3P1RFV4NC266001",
          "stock": "acme-5521",
          "rooftop": "Acme North",
          "year": 2022,
          "make": "Toyota",
          "model": "RAV4",
          "trim": "XLE",
          "body": "suv",
          "condition": "used",
          "status": "available",
          "list_price": 27450,
          "price": 27950,
          "mileage": 30115,
          "fuel": "gas",
          "exterior_color": "Magnetic Gray",
          "features": [
            "Apple CarPlay",
            "Heated Seats"
          ],
          "photos": [
            "https://cdn.example/5521/1.jpg",
            "https://cdn.example/5521/2.jpg",
            "https://cdn.example/5521/3.jpg"
          ],
          "vdp_url": "https://www.acme.example/vdp/5521",
          "description": "Clean, one owner.",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "acme-9008",
          "vin": "5YJ3E1EAXRF700421",
          "stock": "acme-9008",
          "rooftop": "Acme South",
          "year": 2024,
          "make": "Tesla",
          "model": "Model 3",
          "trim": "Long Range",
          "body": "sedan",
          "condition": "new",
          "status": "available",
          "msrp": 47740,
          "list_price": 46870,
          "price": 47570,
          "mileage": 9,
          "fuel": "bev",
          "electric_range_mi": 341,
          "exterior_color": "Red",
          "photos": [
            "https://cdn.example/9008/1.jpg"
          ],
          "vdp_url": "https://www.acme.example/vdp/9008",
          "description": "Goes far.",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        UTF-8, tab
    "#]],
    );
}

/// Meta's table: nested values flattened or as JSON, words in capitals, `NONE` and `OTHER`, prices with a
/// currency behind them, `auto_listing_id` as the one id.
#[test]
fn meta_table() {
    let feed = "auto_listing_id,title,description,url,make,model,year,mileage,image,transmission,\
fuel_type,body_style,drivetrain,vin,price,sale_price,exterior_color,interior_color,state_of_vehicle,condition,\
availability,address,latitude,longitude,trim,stock_number,date_first_on_lot,features,dealer_name\n\
AL-1,2022 Nissan Rogue SV,\"Room for five, and a dog.\",https://www.acme.example/rogue,Nissan,Rogue,2022,\
\"{\"\"value\"\":\"\"19880\"\",\"\"unit\"\":\"\"MI\"\"}\",\
\"[{\"\"url\"\":\"\"https://cdn.example/rogue/1.jpg\"\",\"\"tag\"\":[\"\"Exterior\"\"]},\
{\"\"url\"\":\"\"https://cdn.example/rogue/2,wide.jpg\"\",\"\"tag\"\":[]}]\",\
AUTOMATIC,GASOLINE,SUV,AWD,5N1AT3BB2NC712345,\"26,495 USD\",25995 USD,Gun Metallic,Charcoal,USED,EXCELLENT,\
AVAILABLE,\"{\"\"addr1\"\":\"\"1 Acme Rd\"\",\"\"city\"\":\"\"Springfield\"\"}\",39.78,-89.65,SV,R2201,2026-08-14,\
\"[{\"\"type\"\":\"\"Comfort\"\",\"\"value\"\":\"\"Heated Seats\"\"},{\"\"type\"\":\"\"Safety\"\",\"\"value\"\":\"\"Blind Spot Warning\"\"}]\",\
Acme North\n\
AL-2,2021 Volkswagen Taos S,,https://www.acme.example/taos,Volkswagen,Taos,2021,\
\"{\"\"value\"\":64000,\"\"unit\"\":\"\"KM\"\"}\",\
\"{\"\"url\"\":\"\"https://cdn.example/taos/1.jpg\"\"}\",OTHER,NONE,CROSSOVER,4X4,3VV2B7AX4MM018822,18990 USD,,\
Pyrite Silver,Black,CPO,GOOD,available,,,,S,T77,,,Acme South\n";
    check(
        Preset::Meta,
        feed,
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "AL-1",
          "vin": "5N1AT3BB2NC712345",
          "stock": "R2201",
          "rooftop": "Acme North",
          "year": 2022,
          "make": "Nissan",
          "model": "Rogue",
          "trim": "SV",
          "body": "suv",
          "condition": "used",
          "status": "available",
          "list_price": 25995,
          "price": 26495,
          "mileage": 19880,
          "transmission": "automatic",
          "driveline": "awd",
          "fuel": "gas",
          "exterior_color": "Gun Metallic",
          "interior_color": "Charcoal",
          "features": [
            "Heated Seats",
            "Blind Spot Warning"
          ],
          "photos": [
            "https://cdn.example/rogue/1.jpg",
            "https://cdn.example/rogue/2,wide.jpg"
          ],
          "vdp_url": "https://www.acme.example/rogue",
          "description": "Room for five, and a dog.",
          "inventory_date": "2026-08-14",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "AL-2",
          "vin": "3VV2B7AX4MM018822",
          "stock": "T77",
          "rooftop": "Acme South",
          "year": 2021,
          "make": "Volkswagen",
          "model": "Taos",
          "trim": "S",
          "body": "suv",
          "condition": "cpo",
          "status": "available",
          "list_price": 18990,
          "price": 19690,
          "mileage": 39768,
          "driveline": "4wd",
          "exterior_color": "Pyrite Silver",
          "interior_color": "Black",
          "photos": [
            "https://cdn.example/taos/1.jpg"
          ],
          "vdp_url": "https://www.acme.example/taos",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        UTF-8, comma
        1 × kilometres, converted to miles
    "#]],
    );
}

/// Meta's XML: nested elements, several pictures with tags, an address that is not a vehicle's,
/// entities and CDATA, an empty element.
#[test]
fn meta_xml() {
    let feed = r#"<?xml version="1.0" encoding="UTF-8"?>
<listings>
  <title>Acme Group &amp; friends</title>
  <link rel="self" href="https://www.acme.example"/>
  <listing>
    <vehicle_id>ACME-31</vehicle_id>
    <title>2023 BMW X5 xDrive40i</title>
    <description><![CDATA[Serviced & detailed. <b>Call today!</b>]]></description>
    <url>https://www.acme.example/vdp?id=31&amp;ref=meta</url>
    <make>BMW</make><model>330i</model><year>2023</year>
    <mileage><value>12,410</value><unit>MI</unit></mileage>
    <image><url>https://cdn.example/31/front.jpg</url><tag>Front</tag><tag>Exterior</tag></image>
    <image><url>https://cdn.example/31/back.jpg</url><tag>Rear</tag></image>
    <transmission>Automatic</transmission>
    <fuel_type>PLUGIN_HYBRID</fuel_type>
    <body_style>SEDAN</body_style>
    <drivetrain>RWD</drivetrain>
    <vin>WBA53BJ03PWX51234</vin>
    <condition>Excellent</condition>
    <price>41,900.00 USD</price>
    <address format="simple">
      <component name="addr1">2 Acme Rd</component>
      <component name="city">Springfield</component>
      <component name="region">IL</component>
      <component name="country">United States</component>
    </address>
    <exterior_color>Portimao Blue</exterior_color>
    <interior_color/>
    <state_of_vehicle>Used</state_of_vehicle>
    <availability>PENDING</availability>
    <latitude>39.78</latitude><longitude>-89.65</longitude>
    <features><type>Comfort</type><value>Massage Seats</value></features>
    <features><type>Sound</type><value>Harman Kardon&#174; Audio</value></features>
    <dealer_id>MP-2</dealer_id>
    <stock_number>B31</stock_number>
    <trim>M Sport</trim>
  </listing>
</listings>
"#;
    check(
        Preset::Meta,
        feed,
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "ACME-31",
          "vin": "WBA53BJ03PWX51234",
          "stock": "B31",
          "rooftop": "Acme South",
          "year": 2023,
          "make": "BMW",
          "model": "330i",
          "trim": "M Sport",
          "body": "sedan",
          "condition": "used",
          "status": "pending",
          "list_price": 41900,
          "price": 42600,
          "mileage": 12410,
          "transmission": "automatic",
          "driveline": "rwd",
          "fuel": "phev",
          "exterior_color": "Portimao Blue",
          "features": [
            "Massage Seats",
            "Harman Kardon® Audio"
          ],
          "photos": [
            "https://cdn.example/31/front.jpg",
            "https://cdn.example/31/back.jpg"
          ],
          "vdp_url": "https://www.acme.example/vdp?id=31&ref=meta",
          "description": "Serviced & detailed. <b>Call today!</b>",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        UTF-8, xml
    "#]],
    );
}

/// AutoTrader: bars, no heading, no quotation marks, photos separated by commas, the last cells
/// missing.
#[test]
fn autotrader() {
    let feed = "MP-1|A100|2023|Honda|Accord|EX|1HGCY1F38PA004512|8,120|28500|Platinum White|Gray|CVT|14|\
Still under warranty, 1 owner.|Sedan|1.5L Turbo I4|FWD|Gasoline|Moonroof,Heated Seats,Remote Start|\
https://cdn.example/a100/1.jpg,https://cdn.example/a100/2.jpg|||U|Y|31,005\r\n\
MP-2|A101|2024|Toyota|RAV4 Hybrid|XLE|JTMB1RFV8RD540019|5|$39,215|Blueprint|Ash|Automatic CVT|0||SUV|2.5L I4|\
AWD|Hybrid|||||N\r\n";
    check(
        Preset::AutoTrader,
        feed,
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_1hgcy1f38pa004512",
          "vin": "1HGCY1F38PA004512",
          "stock": "A100",
          "rooftop": "Acme North",
          "year": 2023,
          "make": "Honda",
          "model": "Accord",
          "trim": "EX",
          "body": "sedan",
          "condition": "cpo",
          "status": "available",
          "msrp": 31005,
          "list_price": 28500,
          "price": 29000,
          "mileage": 8120,
          "transmission": "cvt",
          "driveline": "fwd",
          "engine": "1.5L Turbo I4",
          "fuel": "gas",
          "exterior_color": "Platinum White",
          "interior_color": "Gray",
          "features": [
            "Moonroof",
            "Heated Seats",
            "Remote Start"
          ],
          "photos": [
            "https://cdn.example/a100/1.jpg",
            "https://cdn.example/a100/2.jpg"
          ],
          "description": "Still under warranty, 1 owner.",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        {
          "dealer_id": "acme",
          "vehicle_id": "veh_jtmb1rfv8rd540019",
          "vin": "JTMB1RFV8RD540019",
          "stock": "A101",
          "rooftop": "Acme South",
          "year": 2024,
          "make": "Toyota",
          "model": "RAV4 Hybrid",
          "trim": "XLE",
          "body": "suv",
          "condition": "new",
          "status": "available",
          "list_price": 39215,
          "price": 39915,
          "mileage": 5,
          "transmission": "cvt",
          "driveline": "awd",
          "engine": "2.5L I4",
          "fuel": "hybrid",
          "exterior_color": "Blueprint",
          "interior_color": "Ash",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        UTF-8, pipe
        1 × fewer cells than columns
    "#]],
    );
}

/// AAP's own vehicles, as in an agent's answer, with every member that AAP defines.
#[test]
fn aap_json() {
    let feed = r#"{"type": "inventory.search.response", "data": {"total": 1, "skip": 0, "limit": 50, "vehicles": [{
        "dealer_id": "acme", "vehicle_id": "v-1", "vin": "4T1G11AK9MU410047", "stock": "P1047A",
        "rooftop": "Acme South", "year": 2021, "make": "Toyota", "model": "Camry", "trim": "SE",
        "body": "sedan", "condition": "cpo", "status": "pending", "msrp": 27840, "list_price": 23995,
        "price": 24695.00, "mileage": 31204, "transmission": "automatic", "driveline": "fwd",
        "engine": "2.5L I4", "fuel": "hybrid", "city_mpg": 51, "highway_mpg": 53, "electric_range_mi": 2,
        "exterior_color": "Celestial Silver", "interior_color": "Black", "features": ["Alloy, 18\"", "A|B"],
        "photos": ["https://cdn.example/p1047a/1,2.jpg"], "vdp_url": "https://www.acme.example/P1047A",
        "description": "Grüße — one owner.", "notes": null, "inventory_date": "2026-10-03",
        "updated_at": "2026-11-19T09:00:00Z"
    }]}}"#;
    check(
        Preset::AapJson,
        feed,
        &expect![[r#"
        {
          "dealer_id": "acme",
          "vehicle_id": "v-1",
          "vin": "4T1G11AK9MU410047",
          "stock": "P1047A",
          "rooftop": "Acme South",
          "year": 2021,
          "make": "Toyota",
          "model": "Camry",
          "trim": "SE",
          "body": "sedan",
          "condition": "cpo",
          "status": "pending",
          "msrp": 27840,
          "list_price": 23995,
          "price": 24695,
          "mileage": 31204,
          "transmission": "automatic",
          "driveline": "fwd",
          "engine": "2.5L I4",
          "fuel": "hybrid",
          "city_mpg": 51,
          "highway_mpg": 53,
          "electric_range_mi": 2,
          "exterior_color": "Celestial Silver",
          "interior_color": "Black",
          "features": [
            "Alloy, 18\"",
            "A|B"
          ],
          "photos": [
            "https://cdn.example/p1047a/1,2.jpg"
          ],
          "vdp_url": "https://www.acme.example/P1047A",
          "description": "Grüße — one owner.",
          "inventory_date": "2026-10-03",
          "updated_at": "2026-11-20T17:00:00Z"
        }
        UTF-8, aap-json
    "#]],
    );
}
