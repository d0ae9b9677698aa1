//! What tables say, and what is reported of them.

use expect_test::{Expect, expect};
use tradepost::product_table::merge::{Unnamed, merge};
use tradepost::product_table::{
    ColumnChoice, ProductField, ProductTable, TableSettings, read, template,
};
use tradepost_document::json::{self, Map, Value};
use tradepost_publisher::catalogue::Catalogue;

fn settings() -> TableSettings {
    TableSettings { domain: "gazette.example".to_owned(), ..TableSettings::default() }
}

fn table(text: &str) -> ProductTable {
    read(text.as_bytes(), &settings()).unwrap()
}

fn problems(table: &ProductTable) -> String {
    table.problems.iter().map(|problem| format!("{}\n", problem.line())).collect()
}

fn check(text: &str, expected: &Expect) {
    expected.assert_eq(&problems(&table(text)));
}

/// A table with one product, of which one cell is replaced.
fn with(column: &str, cell: &str) -> ProductTable {
    let columns = [
        ("product_id", "news"),
        ("name", "News"),
        ("description", "Banners."),
        ("formats", "300x250"),
        ("pricing_model", "cpm"),
        ("rate", "12"),
        ("floor", ""),
        ("currency", "USD"),
        ("minimum_spend", ""),
        ("impressions_per_day", ""),
        ("delivery_type", ""),
        ("channel", ""),
        ("property", ""),
        ("countries", ""),
        ("expires_at", ""),
        ("exclusive", ""),
    ];
    let headings: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let cells = columns.iter().map(|(name, usual)| if *name == column { cell } else { usual });
    let cells: Vec<String> =
        cells.map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
    table(&format!("{}\n{}\n", headings.join(","), cells.join(",")))
}

fn member<'a>(table: &'a ProductTable, pointer: &str) -> Option<&'a Value> {
    let product = table.products.first()?;
    let (name, rest) =
        pointer.split_once('/').map_or((pointer, None), |(name, rest)| (name, Some(rest)));
    let value = product
        .published
        .get(name)
        .or_else(|| product.terms.get(name))
        .or_else(|| product.initial.get(name))?;
    rest.map_or(Some(value), |rest| value.pointer(&format!("/{rest}")))
}

#[test]
fn cells_are_read_as_people_write_them() {
    for (column, cell, pointer, expected) in [
        ("rate", "$1,200.50", "pricing_options/0/fixed_price", "1200.5"),
        ("rate", "1.200,50", "pricing_options/0/fixed_price", "1200.5"),
        ("rate", "12,50", "pricing_options/0/fixed_price", "12.5"),
        ("rate", "24 USD", "pricing_options/0/fixed_price", "24"),
        ("rate", "0.005", "pricing_options/0/fixed_price", "0.005"),
        ("pricing_model", "Cost per click", "pricing_options/0/pricing_model", "\"cpc\""),
        ("pricing_model", "flat fee", "pricing_options/0/pricing_option_id", "\"flat_rate\""),
        ("impressions_per_day", "200,000", "capacity/per_day", "200000"),
        ("impressions_per_day", "1.5M", "capacity/per_day", "1500000"),
        ("impressions_per_day", "200k", "capacity/per_day", "200000"),
        ("delivery_type", "PMP", "delivery_type", "\"non_guaranteed\""),
        ("delivery_type", "", "delivery_type", "\"guaranteed\""),
        ("channel", "Newsletter", "channels/0", "\"email\""),
        ("channel", "", "channels/0", "\"display\""),
        ("formats", "Banner 300 x 250 px", "format_ids/0/id", "\"display_300x250\""),
        ("formats", "leaderboard", "format_ids/0/id", "\"display_728x90\""),
        ("formats", "15 sec video", "format_ids/0/id", "\"video_15s\""),
        ("formats", "audio 30", "format_ids/0/id", "\"audio_30s\""),
        ("property", "Front page", "publisher_properties/0/property_tags/0", "\"front_page\""),
        (
            "property",
            "other.example:tv",
            "publisher_properties/0/publisher_domain",
            "\"other.example\"",
        ),
        ("property", "", "publisher_properties/0/selection_type", "\"all\""),
        ("countries", "usa, UK; de", "countries", "[\"US\",\"GB\",\"DE\"]"),
        ("expires_at", "2027-12-31", "expires_at", "\"2028-01-01T00:00:00Z\""),
        ("exclusive", "x", "exclusivity", "\"exclusive\""),
    ] {
        let table = with(column, cell);
        assert_eq!(problems(&table), "", "{column}: {cell}");
        let found = member(&table, pointer).map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(expected), "{column}: {cell}");
    }
}

#[test]
fn a_cell_that_cannot_be_read_is_named() {
    let mut said = String::new();
    for (column, cell) in [
        ("product_id", "news display"),
        ("product_id", ""),
        ("name", ""),
        ("rate", "twelve"),
        ("rate", "1.200"),
        ("rate", "-3"),
        ("rate", "12.50 CPM"),
        ("minimum_spend", "NET 500"),
        ("rate", ""),
        ("rate", "12 EUR"),
        ("floor", "3"),
        ("pricing_model", "cpp"),
        ("currency", "dollars"),
        ("currency", "CPM"),
        ("currency", ""),
        ("minimum_spend", "a lot"),
        ("impressions_per_day", "200.5"),
        ("formats", "video"),
        ("formats", "hologram"),
        ("channel", "carrier pigeon"),
        ("delivery_type", "maybe"),
        ("property", "?"),
        ("countries", "Narnia"),
        ("expires_at", "31.12.2027"),
        ("exclusive", "perhaps"),
    ] {
        let table = with(column, cell);
        assert!(table.products.is_empty(), "{column}: {cell}");
        said.push_str(&problems(&table));
    }
    expect![[r#"
        row 2, column "product_id": "news display" is no id; write letters, digits, -, _ and . without spaces, such as news_display
        row 2, column "product_id": is empty; write an id, such as news
        row 2, column "name": is empty; every product needs it; write it, or remove the row
        row 2, column "rate": "twelve" is no amount; write a number such as 12.50
        row 2, column "rate": "1.200" can be read in two ways; write it without separators of thousands, and with two decimals: 1200.00 or 1.20
        row 2, column "rate": "-3" is below zero; write an amount that is not negative
        row 2, column "rate": "12.50 CPM" is in no currency: CPM is none of ISO 4217; write a number such as 12.50, or one with a currency, such as 12.50 USD
        row 2, column "minimum_spend": "NET 500" is in no currency: NET is none of ISO 4217; write a number such as 12.50, or one with a currency, such as 12.50 USD
        row 2: the row has no price; write a rate for a fixed price, or a floor for an auction
        row 2, column "currency": is USD, and an amount of the row is in EUR; write the same currency in both
        row 2, column "floor": is beside a rate; a price is fixed or found by bidding; leave one of the two cells empty, or add a row with the same id for the other price
        row 2, column "pricing_model": "cpp" is no pricing model; write cpm, vcpm, cpc, cpcv or flat_rate; other models need more than one number, and are written into the catalogue by hand
        row 2, column "currency": "dollars" is no currency; write the three letters of ISO 4217, such as USD
        row 2, column "currency": "CPM" is no currency; write the three letters of ISO 4217, such as USD
        row 2, column "currency": the row does not say the currency; write it into a column "Currency", or give one for the whole file: --currency USD
        row 2, column "minimum_spend": "a lot" is no amount; write a number such as 12.50
        row 2, column "impressions_per_day": "200.5" is no whole number; write a number such as 200000
        row 2, column "formats": the format "video" has no length; write the seconds, as in video 30s or audio 15s
        row 2, column "formats": the format "hologram" is not known; write a size such as 300x250, video 30s, audio 15s, native, or the id of a format of the catalogue
        row 2, column "channel": "carrier_pigeon" is no channel; write one of display, olv, social, search, ctv, linear_tv, radio, streaming_audio, podcast, dooh, ooh, print, cinema, email, gaming, retail_media, influencer, affiliate, product_placement, sponsored_intelligence
        row 2, column "delivery_type": "maybe" is no kind of delivery; write guaranteed or non_guaranteed
        row 2, column "property": "?" is no part of a publisher's media; write a tag such as sports, a domain such as gazette.example, or domain:tag
        row 2, column "countries": "Narnia" is no country; write the two letters of ISO 3166-1, such as US; CA; DE
        row 2, column "expires_at": "31.12.2027" is no date; write the year first, as in 2027-12-31
        row 2, column "exclusive": "perhaps" is neither yes nor no; write yes or no
    "#]].assert_eq(&said);
}

#[test]
fn every_problem_of_a_table_is_reported_at_once() {
    check(
        "\
Rate card 2027
Product,Description,Size,CPM (EUR),Avails/day,Remark
News,Banners.,300x250,twelve,,x
,Banners.,301,3,,
\"News
\",Banners.,300x250,3,,

News,Banners of another kind.,300x250,4,,
",
        &expect![[r#"
            row 3, column "CPM (EUR)": "twelve" is no amount; write a number such as 12.50
            row 4, column "Product": is empty; every product needs it; write it, or remove the row
            row 4, column "Size": the format "301" is not known; write a size such as 300x250, video 30s, audio 15s, native, or the id of a format of the catalogue
            row 7, column "Description": differs from row 3, which begins the product with this id; give the product an id of its own, or leave the cell empty: a further row with an id adds a price
        "#]],
    );
}

#[test]
fn headings_are_recognised_below_a_title_and_with_any_separator() {
    for (separator, bytes_before) in [(",", ""), (";", "\u{feff}"), ("\t", ""), ("|", "sep=|\n")] {
        let lines = ["Rate card", "", "Product Name,Description,Ad sizes,Floor CPM USD"];
        let row = "News,Banners.,300x250,2";
        let text = format!("{}\n{row}\n", lines.join("\n")).replace(',', separator);
        let table = table(&format!("{bytes_before}{text}"));
        assert_eq!(problems(&table), "", "{separator:?}");
        let [product] = table.products.as_slice() else { panic!("{table:?}") };
        let row = if bytes_before.starts_with("sep") { 5 } else { 4 };
        assert_eq!((product.id.as_str(), product.row), ("news", row), "{separator:?}");
        let price = member(&table, "pricing_options/0").unwrap();
        assert_eq!(price.get("currency").and_then(Value::as_str), Some("USD"));
        assert_eq!(price.get("floor_price").map(ToString::to_string).as_deref(), Some("2"));
    }
}

#[test]
fn files_that_are_no_table_are_refused_with_a_hint() {
    let mut said = String::new();
    for bytes in [
        &b""[..],
        b"PK\x03\x04workbook",
        b"name,pri\xffce\n",
        b"hello\nworld\n",
        b"{\"products\": []}",
        b"Name,Sizes,CPM\nNews,300x250,12\n\nSports,\"12\"\" x 3,15\n\"Wide\",300x250,4\n",
        b"Name,Sizes,CPM\nNews,300x250,12\nSports,300x250,\"15",
        b"\"Rate card\nName,Sizes,CPM\nNews,300x250,12\n",
    ] {
        let unreadable = read(bytes, &settings()).unwrap_err();
        said.push_str(&format!("{}; {}\n", unreadable.message, unreadable.hint));
    }
    expect![[r#"
        none of the first 20 rows has headings that are recognised; name the columns as in the template, which `tradepost publisher catalogue import --template` prints, or map them with --column FIELD=HEADING
        the file is a workbook of a spreadsheet program; in the spreadsheet, choose "Save as" and "CSV UTF-8"
        the file is no text in UTF-8 or UTF-16; in the spreadsheet, choose "Save as" and "CSV UTF-8"
        none of the first 20 rows has headings that are recognised; name the columns as in the template, which `tradepost publisher catalogue import --template` prints, or map them with --column FIELD=HEADING
        none of the first 20 rows has headings that are recognised; name the columns as in the template, which `tradepost publisher catalogue import --template` prints, or map them with --column FIELD=HEADING
        a cell of row 4 begins with a quotation mark and does not end with one; remove the mark or close the cell; inside of such a cell a mark is written twice: "12"" tablet"
        a cell of row 3 begins with a quotation mark and does not end with one; remove the mark or close the cell; inside of such a cell a mark is written twice: "12"" tablet"
        a cell of row 1 begins with a quotation mark and does not end with one; remove the mark or close the cell; inside of such a cell a mark is written twice: "12"" tablet"
    "#]].assert_eq(&said);
}

#[test]
fn a_heading_can_be_given_for_a_field() {
    let text = "Name,Description,Formats,CPM,Gold rate,Currency\nNews,Banners.,300x250,9,12,USD\n";
    let column = ColumnChoice { field: ProductField::Rate, heading: "gold RATE".to_owned() };
    let given = TableSettings { columns: vec![column], ..settings() };
    let table = read(text.as_bytes(), &given).unwrap();
    assert_eq!(table.ignored_columns, ["CPM"]);
    // What the other column's heading said of the pricing model is gone with it.
    assert_eq!(
        problems(&table),
        "row 2: the row does not say what the price is for; add a column \"Pricing model\" with cpm, cpc or \
         flat_rate\n"
    );
    let absent = ColumnChoice { field: ProductField::Rate, heading: "Silver".to_owned() };
    let given = TableSettings { columns: vec![absent], ..settings() };
    let table = read(text.as_bytes(), &given).unwrap();
    assert!(problems(&table).contains("there is no column \"Silver\""), "{}", problems(&table));
}

#[test]
fn a_further_row_of_a_product_adds_a_price() {
    let text = "Id,Name,Description,Formats,CPM,Currency\n\
                a,A,About.,300x250,12,USD\nb,B,About.,300x250,1,USD\na,,,,11,EUR\na,Other,,,10,GBP\n";
    let table = table(text);
    assert_eq!(
        problems(&table),
        "row 5, column \"Name\": differs from row 2, which begins the product with this id; give the product \
         an id of its own, or leave the cell empty: a further row with an id adds a price\n"
    );
    let sound = read(text.replace("Other", "A").as_bytes(), &settings()).unwrap();
    assert_eq!(problems(&sound), "");
    let ids = member(&sound, "pricing_options").and_then(Value::as_array).unwrap().iter();
    let ids: Vec<_> = ids.filter_map(|price| price.get("pricing_option_id")?.as_str()).collect();
    assert_eq!(ids, ["cpm_fixed", "cpm_fixed_eur", "cpm_fixed_gbp"]);
}

/// Rows of a single product, each with a price; the last one has a name of its own.
fn one_product(rows: usize, last: &str) -> String {
    let row = |number: usize| {
        let name = if number == rows { last } else { "A" };
        format!("a,{name},About.,300x250,{number},USD\n")
    };
    let rows: String = (1..=rows).map(row).collect();
    format!("Id,Name,Description,Formats,CPM,Currency\n{rows}")
}

#[test]
fn a_product_has_a_hundred_prices_at_most() {
    let full = table(&one_product(100, "A"));
    assert_eq!(problems(&full), "");
    let prices = member(&full, "pricing_options").and_then(Value::as_array).unwrap();
    assert_eq!(prices[99]["pricing_option_id"], "cpm_fixed_usd_99");
    let table = table(&one_product(102, "A"));
    assert!(table.products.is_empty());
    expect![[r#"
        row 102: the product that row 2 begins has 101 prices, and at most 100 are taken; remove the row, or give it an id of its own
        row 103: the product that row 2 begins has 102 prices, and at most 100 are taken; remove the row, or give it an id of its own
    "#]]
    .assert_eq(&problems(&table));
}

#[test]
fn many_rows_of_one_product_are_read_in_linear_time() {
    let table = table(&one_product(tradepost::product_table::MAX_ROWS, "B"));
    let last = table.problems.last().unwrap();
    assert_eq!((table.problems.len(), last.row), (19_901, 20_001), "{last:?}");
}

#[test]
fn prices_of_other_models_stay_where_they_are() {
    let text = "Id,Name,Description,Formats,CPM,Currency\na,A,About.,300x250,12,USD\na,,,,11,EUR\n";
    let known =
        TableSettings { known_formats: ["display_300x250".to_owned()].into(), ..settings() };
    let again = |catalogue: &Value, text: &str| {
        let table = read(text.as_bytes(), &known).unwrap();
        merge(catalogue.as_object().cloned().unwrap(), &table, "", Unnamed::Stay)
    };
    let made = merge(Map::new(), &table(text), "https://ads.gazette.example", Unnamed::Stay);
    let mut catalogue = made.document;
    let by_day = json::json!({
        "pricing_option_id": "day", "pricing_model": "time", "currency": "USD", "fixed_price": 900,
        "parameters": {"time_unit": "day"},
    });
    let prices = catalogue.pointer_mut("/products/0/pricing_options").unwrap();
    prices.as_array_mut().unwrap().insert(1, by_day);
    assert!(Catalogue::parse(&catalogue.to_string()).is_ok());
    let same = again(&catalogue, text);
    assert_eq!((same.unchanged, same.document), (vec!["a".to_owned()], catalogue.clone()));

    let ids = |document: &Value| {
        let prices = document.pointer("/products/0/pricing_options").and_then(Value::as_array);
        let id = |price: &Value| Some(price.get("pricing_option_id")?.as_str()?.to_owned());
        prices.into_iter().flatten().filter_map(id).collect::<Vec<_>>()
    };
    // A price of the table that is gone from it goes, too.
    let fewer = again(&catalogue, &text.replace("a,,,,11,EUR\n", ""));
    assert_eq!(ids(&fewer.document), ["cpm_fixed", "day"]);
    let named =
        "Id,Name,Description,Formats,CPM,Currency,price_id\na,A,About.,300x250,12,USD,day\n";
    assert_eq!(ids(&again(&catalogue, named).document), ["day"], "an id is there once");
}

#[test]
fn the_template_is_a_table_without_problems() {
    let table = table(&template());
    assert_eq!(problems(&table), "");
    assert_eq!(table.products.len(), 2);
    let merged = merge(Map::new(), &table, "https://ads.gazette.example", Unnamed::Stay);
    let text = json::to_string(&merged.document).unwrap();
    assert_eq!(Catalogue::parse(&text).map(|catalogue| catalogue.products.len()), Ok(2));
}

/// What the author of a catalogue wrote by hand stays when a table is imported again.
#[test]
fn a_table_changes_only_what_it_says() {
    let first =
        "Id,Name,Description,Formats,CPM,Currency,Countries\na,A,About.,300x250,12,USD,US\n";
    let of = |text: &str, catalogue: &Value, unnamed| {
        let members = catalogue.as_object().cloned().unwrap_or_default();
        merge(members, &table(text), "https://ads.gazette.example", unnamed)
    };
    let made = of(first, &Value::Null, Unnamed::Stay);
    assert_eq!(
        (made.added, made.formats),
        (vec!["a".to_owned()], vec!["display_300x250".to_owned()])
    );
    let mut catalogue = made.document;
    let product = catalogue.pointer_mut("/products/0").and_then(Value::as_object_mut).unwrap();
    product.insert("cancellation_policy".to_owned(), json::json!({"mine": true}));
    let price =
        catalogue.pointer_mut("/products/0/pricing_options/0").and_then(Value::as_object_mut);
    price.unwrap().insert("min_spend_per_package".to_owned(), json::json!(500));
    let before = catalogue.clone();

    let known =
        TableSettings { known_formats: ["display_300x250".to_owned()].into(), ..settings() };
    let again = merge(
        catalogue.as_object().cloned().unwrap(),
        &read(first.as_bytes(), &known).unwrap(),
        "https://other.example",
        Unnamed::Stay,
    );
    assert_eq!((again.unchanged, again.document), (vec!["a".to_owned()], before.clone()));

    let other = "Id,Name,Description,Formats,CPM,Currency,Countries\na,A,About.,300x250,15,USD,\nb,B,B.,native,1,USD,\n";
    let changed = of(other, &before, Unnamed::Stay);
    assert_eq!((changed.changed, changed.added), (vec!["a".to_owned()], vec!["b".to_owned()]));
    let at = |pointer: &str| changed.document.pointer(pointer).map(ToString::to_string);
    assert_eq!(at("/products/0/pricing_options/0/fixed_price").as_deref(), Some("15"));
    assert_eq!(at("/products/0/pricing_options/0/min_spend_per_package").as_deref(), Some("500"));
    assert_eq!(at("/products/0/cancellation_policy/mine").as_deref(), Some("true"));
    assert_eq!(at("/products/0/terms"), None, "an empty cell takes the countries away");

    let only_b = "Id,Name,Description,Formats,CPM,Currency\nb,B,B.,native,1,USD\n";
    assert_eq!(of(only_b, &before, Unnamed::Stay).kept, ["a"]);
    assert_eq!(of(only_b, &before, Unnamed::Go).removed, ["a"]);
}

/// The example that the documentation names has what the demo's catalogue has, as far as a table can say.
#[test]
fn the_gazettes_table_gives_the_demos_products() {
    let csv = include_bytes!("../../../../seller/demo/data/gazette.csv");
    let table = read(csv, &settings()).unwrap();
    assert_eq!(problems(&table), "");
    let merged = merge(Map::new(), &table, "https://ads.gazette.example", Unnamed::Stay);
    let text = json::to_string(&merged.document).unwrap();
    let imported = Catalogue::parse(&text).unwrap().products;
    let demo = tradepost_demo::publisher::catalogue().products;
    assert_eq!(imported.len(), demo.len());
    for (imported, demo) in imported.iter().zip(&demo) {
        let documents = [imported, demo].map(|product| json::to_value(product).unwrap());
        for pointer in [
            "/published/product_id",
            "/published/name",
            "/published/description",
            "/published/publisher_properties",
            "/published/channels",
            "/published/delivery_type",
            "/published/format_ids",
            "/published/exclusivity",
            "/published/forecast/points/0/metrics/impressions/mid",
            "/terms/countries",
            "/terms/keywords",
            "/terms/approval",
            "/terms/sold_out",
            "/terms/expires_at",
        ] {
            let [ours, theirs] = documents.each_ref().map(|document| document.pointer(pointer));
            assert_eq!(ours, theirs, "{} {pointer}", demo.id());
        }
        let prices = |document: &Value| -> Vec<String> {
            let prices = document.pointer("/published/pricing_options").and_then(Value::as_array);
            let members =
                ["pricing_option_id", "pricing_model", "currency", "fixed_price", "floor_price"];
            let price =
                |price: &Value| members.map(|name| price.get(name).map(ToString::to_string));
            prices.into_iter().flatten().map(|one| format!("{:?}", price(one))).collect()
        };
        let [ours, theirs] = documents.each_ref().map(prices);
        assert_eq!(ours, theirs, "{}", demo.id());
    }
}
