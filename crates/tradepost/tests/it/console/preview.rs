//! Answers to agents that staff previews: those of the skills, without counting as a buyer's.

use jiff::tz::TimeZone;
use tradepost_dealer::week::CalendarWeek;

use super::*;

#[test]
fn a_preview_is_the_answer_that_an_agent_gets() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let page = text(&maria.get("/console/inventory/ask?question=honda+suv+under+30k"));
    for part in [
        "<dt>make</dt><dd>Honda</dd>",
        "<dt>price max</dt><dd>30000</dd>",
        "1 vehicle matches; the query was read as",
        "<h2 class=\"section\">1 vehicle</h2>",
        "2023 Honda CR-V EX",
        "$29,495",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    // What the page shows as JSON is what the dealer's agent answers.
    let ask =
        json!({"type": "inventory.search.request", "filters": {"query": "honda suv under 30k"}});
    let headers = [("Host", "one.example"), ("Content-Type", "application/json")];
    let body = envelope(&ask).to_string();
    let address = fixture.server.address;
    let answer = client::request(address, "POST", "/a2a", &headers, body.as_bytes()).json();
    let (_, shown) = page.split_once("<pre tabindex=\"0\">").unwrap();
    let shown = shown.split_once("</pre>").unwrap().0.replace("&#34;", "\"");
    let shown: Value = tradepost_document::json::from_str(&shown).unwrap();
    assert_eq!(shown, answer["result"]["message"]["parts"][0]);
}

#[test]
fn words_that_no_listing_has_are_named() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let page = text(&maria.get("/console/inventory/ask?question=%3Cb%3Ekombobulator"));
    assert!(page.contains("kombobulator") && !page.contains("<b>kombobulator"), "{page}");
    assert!(page.contains("Nothing found") && page.contains("0 vehicles"), "{page}");
    let empty = text(&maria.get("/console/inventory/ask"));
    assert!(empty.contains("Ask a question"), "{empty}");
}

#[test]
fn a_preview_is_no_search_of_a_buyer() {
    let fixture = Fixture::new();
    fixture.enter("maria").get("/console/inventory/ask?question=kombobulator");
    fixture.runtime.block_on(fixture.searches.write()).unwrap();
    let week = CalendarWeek::from_date(at(NOW).to_zoned(TimeZone::UTC).date());
    let figures = fixture.server.store.week_figures(ONE, &week.moments(&TimeZone::UTC)).unwrap();
    assert_eq!(figures.empty_searches.asked, [0; 7]);
}

#[test]
fn a_listing_leads_to_its_answer() {
    let fixture = Fixture::new();
    let maria = fixture.enter("maria");
    let list = text(&maria.get("/console/inventory"));
    let href = format!("/console/inventory/vehicle?dealer={ONE}&#38;vehicle_id=veh_dt_2451");
    assert!(list.contains(&href), "{list}");
    let page = text(&maria.get(&href.replace("&#38;", "&")));
    for part in
        ["<code>inventory.vehicle</code>", "2023 Honda CR-V EX", "inventory.vehicle.response"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    for id in ["veh_dt_0316", "nothing"] {
        let gone = maria.get(&format!("/console/inventory/vehicle?vehicle_id={id}"));
        assert_eq!(gone.status, 404, "{id}");
    }
}
