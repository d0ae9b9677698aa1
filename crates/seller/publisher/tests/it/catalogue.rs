//! Reading a catalogue: every mistake at once, each with its place.

use expect_test::expect;
use tradepost_demo::publisher as demo;
use tradepost_document::json::{Value, json};
use tradepost_publisher::catalogue::{Catalogue, ProductPrice};
use tradepost_publisher::money::MoneyAmount;

fn mistakes(document: &str) -> String {
    let mistakes = Catalogue::parse(document).unwrap_err();
    mistakes.iter().map(|mistake| format!("{mistake}\n")).collect()
}

fn product() -> Value {
    json!({
        "product_id": "one", "name": "One", "description": "The first.",
        "publisher_properties": [{"selection_type": "all", "publisher_domain": "gazette.example"}],
        "delivery_type": "guaranteed",
        "format_ids": [{"id": "banner"}],
        "pricing_options": [
            {"pricing_option_id": "cpm", "pricing_model": "cpm", "currency": "USD", "fixed_price": 5},
        ],
        "reporting_capabilities": {
            "available_reporting_frequencies": ["daily"], "expected_delay_minutes": 60,
            "timezone": "UTC", "supports_webhooks": false, "available_metrics": [],
            "date_range_support": "date_range",
        },
    })
}

fn catalogue(product: &Value) -> Value {
    json!({
        "agent_url": "https://ads.gazette.example",
        "formats": [{"format_id": {"id": "banner"}, "name": "Banner"}],
        "products": [product],
    })
}

#[test]
fn a_small_catalogue_is_read_with_its_formats_addresses() {
    let read = Catalogue::parse(&catalogue(&product()).to_string()).unwrap();
    let product = read.product("one").unwrap();
    let format = &product.formats()[0];
    assert_eq!(format.agent_url.as_deref(), Some("https://ads.gazette.example"));
    assert_eq!(product.pricing("cpm").unwrap().price(), ProductPrice::Fixed(MoneyAmount::whole(5)));
    assert!(product.is_guaranteed() && read.product("two").is_none());
}

#[test]
fn what_is_no_json_object_is_said_to_be_none() {
    expect![[r#"
        : must be an object
        : is not JSON at line 1 column 1
        /agent_url: must be a text that is not empty
    "#]]
    .assert_eq(&(mistakes("[]") + &mistakes("{") + &mistakes("{}")));
    expect![[r#"
        /products/0/name: is there twice; readers differ in which they take
    "#]]
    .assert_eq(&mistakes(r#"{"products":[{"name":"a","name":"b"}]}"#));
}

#[test]
fn every_mistake_is_named_with_its_place() {
    let mut broken = product();
    broken["delivery_type"] = "sometimes".into();
    broken["channels"] = json!(["display", "hologram"]);
    broken["publisher_properties"] = json!([]);
    broken["format_ids"] = json!([{"id": "banner"}, {"id": "unknown"}, {"agent_url": "x"}, 7]);
    broken["pricing_options"] = json!([
        {"pricing_option_id": "a", "pricing_model": "cpm", "currency": "USD", "fixed_price": -5},
        {"pricing_option_id": "a", "pricing_model": "barter", "currency": "dollars"},
        {"pricing_option_id": "b", "pricing_model": "cpm"},
        {"pricing_option_id": "c", "pricing_model": "cpm", "currency": "EUR",
            "fixed_price": 5, "floor_price": 4},
    ]);
    broken["reporting_capabilities"] = json!({"timezone": "UTC"});
    broken["terms"] = json!({"sold_out": "perhaps"});
    let mut document = catalogue(&product());
    document["products"] = json!([product(), product(), broken, "no object"]);
    document["formats"] = json!([
        {"format_id": {"id": "banner"}, "name": "Banner"},
        {"format_id": {"id": "banner"}},
    ]);
    document["signals"] = json!([
        {"signal_agent_segment_id": "s", "name": "S", "description": "D", "signal_type": "rented"},
        {"signal_agent_segment_id": "s", "name": "S", "description": "D", "signal_type": "owned"},
    ]);
    document["offerings"] = json!([{"offering_id": "o", "name": "O"}, {"offering_id": "o"}]);
    document["policies"] = json!([{"policy_id": "p", "rule": "No.", "words": []}]);
    document["proposals"] = json!({"draft_hours": 1});
    document["prices"] = json!([]);
    expect![[r#"
        /prices: is not known; known are agent_url, portfolio, inventory, proposals, policies, products, formats, signals, offerings, creatives, audiences, targeting
        /proposals: missing field `hold_hours`
        /policies/0/words: must have at least one word, and none that is empty
        /formats/1/name: must be a text that is not empty
        /formats/1/format_id: is the id of another format too
        /products/3: must be an object
        /products/1/product_id: is the id of another product too
        /products/2/terms: invalid type: string "perhaps", expected a boolean
        /products/2/product_id: is the id of another product too
        /products/2/delivery_type: must be one of guaranteed, non_guaranteed
        /products/2: must have at least one of publisher_properties
        /products/2/channels/1: must be one of display, olv, social, search, ctv, linear_tv, radio, streaming_audio, podcast, dooh, ooh, print, cinema, email, gaming, retail_media, influencer, affiliate, product_placement, sponsored_intelligence
        /products/2/reporting_capabilities: lacks available_reporting_frequencies
        /products/2/reporting_capabilities: lacks expected_delay_minutes
        /products/2/reporting_capabilities: lacks supports_webhooks
        /products/2/reporting_capabilities: lacks available_metrics
        /products/2/reporting_capabilities: lacks date_range_support
        /products/2/format_ids/1: is no format of this catalogue
        /products/2/format_ids/2/id: must be a text that is not empty
        /products/2/format_ids/3: must be an object with an id
        /products/2/pricing_options/0/fixed_price: must be an amount that is not negative
        /products/2/pricing_options/1/pricing_option_id: is the id of another price too
        /products/2/pricing_options/1/pricing_model: must be one of cpm, vcpm, cpc, cpcv, cpv, cpp, cpa, flat_rate, time
        /products/2/pricing_options/1/currency: must be a currency in three capital letters (ISO 4217)
        /products/2/pricing_options/2/currency: must be a currency in three capital letters (ISO 4217)
        /products/2/pricing_options/3: has fixed_price and floor_price; a price is fixed or found by bidding
        /signals/0/signal_type: must be one of marketplace, custom, owned
        /signals/1/signal_agent_segment_id: is the handle of another signal too
        /offerings/1/name: must be a text that is not empty
        /offerings/1/offering_id: is the id of another offering too
    "#]].assert_eq(&mistakes(&document.to_string()));
}

#[test]
fn products_may_name_formats_of_other_agents() {
    let mut foreign = product();
    foreign["format_ids"] = json!([{"agent_url": "https://creative.example", "id": "anything"}]);
    assert!(Catalogue::parse(&catalogue(&foreign).to_string()).is_ok());
}

#[test]
fn policies_find_whole_words_and_phrases() {
    let gazette = demo::catalogue();
    let found = |text: &str| {
        let found = gazette.forbids(text);
        found.iter().map(|policy| policy.policy_id.as_str()).collect::<Vec<_>>().join(" ")
    };
    let table = [
        ("Sports betting and VAPING", "tobacco gambling"),
        ("a pay day loan", ""),
        ("Payday-loans for everybody", "payday_loans"),
        ("cigarettes?", "tobacco"),
        ("cigaretteholder", ""),
        ("", ""),
    ];
    for (text, expected) in table {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn words_of_policies_are_found_however_they_are_written() {
    let mut document = catalogue(&product());
    document["policies"] =
        json!([{"policy_id": "p", "rule": "No.", "words": ["E-Cigarettes", "Payday  Loan"]}]);
    let gazette = Catalogue::parse(&document.to_string()).unwrap();
    for (text, found) in [
        ("E-Cigarettes for grown-ups", true),
        ("e cigarettes", true),
        ("a payday loan", true),
        ("cigarettes", false),
    ] {
        assert_eq!(!gazette.forbids(text).is_empty(), found, "{text}");
    }
    // What has no letters would be found nowhere.
    document["policies"][0]["words"] = json!(["vape", "--"]);
    let mistakes = Catalogue::parse(&document.to_string()).unwrap_err();
    expect![[r#"[CatalogueMistake { pointer: "/policies/0/words", message: "must have at least one word, and none that is empty" }]"#]].assert_eq(&format!("{mistakes:?}"));
}
