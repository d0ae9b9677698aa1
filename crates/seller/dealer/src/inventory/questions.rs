//! Questions of shoppers (`questions.txt`) with the cars of `cars.txt` that they must and must not
//! find.

use expect_test::expect;
use jiff::SignedDuration;
use tradepost_aap::inventory::ListedVehicle;
use tradepost_aap::vehicle::{AnyCondition, ListingStatus};
use tradepost_aap::{self as aap, AapReply, AapRequest, DealerTerms, Skill, Version};
use tradepost_document::json::json;

use tradepost_document::catalog::Vocabulary as _;

use super::*;

mod readings;
mod shoppers;

const CARS: &str = include_str!("questions/cars.txt");
const QUESTIONS: &str = include_str!("questions/questions.txt");

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Reads a line of `cars.txt`.
fn car(number: usize, line: &str) -> Vehicle {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [id, name, body, condition, fuel, driveline, transmission, outside, inside, rest @ ..] =
        cells.as_slice()
    else {
        panic!("{line}");
    };
    let [engine, price, miles, rooftop, stock, features] = rest else { panic!("{line}") };
    let (year, name) = name.split_once(' ').unwrap();
    let names: Vec<&str> = name.split('/').map(str::trim).collect();
    let text = |text: &str| Some(text.to_owned());
    Vehicle {
        vehicle_id: text(id),
        status: Some(ListingStatus::Available),
        updated_at: Some(Timestamp::UNIX_EPOCH),
        year: Some(year.parse().unwrap()),
        make: text(names[0]),
        model: text(names[1]),
        trim: text(names[2]),
        body: text(body),
        condition: AnyCondition::from_name(condition),
        fuel: text(fuel),
        driveline: text(driveline),
        transmission: text(transmission),
        exterior_color: text(outside),
        interior_color: text(inside),
        engine: text(engine),
        price: Some(price.parse().unwrap()),
        mileage: Some(miles.parse().unwrap()),
        rooftop: text(rooftop),
        stock: text(stock),
        vin: Some(format!("1HGCM82633A{:06}", number + 1)),
        features: features.split(';').map(|feature| feature.trim().to_owned()).collect(),
        ..Vehicle::default()
    }
}

fn inventory() -> Inventory {
    let cars = lines(CARS).enumerate().map(|(number, line)| car(number, line));
    Inventory::build(cars.collect(), Vec::new()).unwrap()
}

fn found(inventory: &Inventory, query: &str) -> Vec<String> {
    let filters = Filters { query: Some(query.to_owned()), ..Filters::default() };
    let search = Search { filters, ..Search::default() };
    let policy = SearchPolicy { default_limit: 100, max_limit: 100 };
    let (page, _) = inventory.search(&search, policy, CurrentYear::TEST).unwrap();
    let id = |raw: &ListedVehicle| {
        let vehicle: tradepost_document::json::Value =
            tradepost_document::json::from_str(raw.as_json()).unwrap();
        vehicle["vehicle_id"].as_str().unwrap().to_owned()
    };
    page.vehicles.iter().map(id).collect()
}

#[test]
fn shoppers_find_what_they_ask_for_and_nothing_else() {
    let inventory = inventory();
    let mut asked = 0;
    let mut failures = Vec::new();
    for line in lines(QUESTIONS) {
        let mut cells = line.split('|');
        let question = cells.next().unwrap().trim();
        let mut ids = || cells.next().unwrap_or_default().split_whitespace().collect::<Vec<_>>();
        let must = ids();
        let may = ids();
        let found = found(&inventory, question);
        let missing: Vec<_> = must.iter().filter(|id| !found.iter().any(|f| f == *id)).collect();
        let wrong: Vec<_> = found
            .iter()
            .filter(|id| !must.contains(&id.as_str()) && !may.contains(&id.as_str()))
            .collect();
        asked += 1;
        if !missing.is_empty() || !wrong.is_empty() {
            failures.push(format!("{question:?} misses {missing:?} and finds {wrong:?}"));
        }
    }
    assert!(asked >= 80, "{asked} questions");
    let right = asked - failures.len();
    assert!(failures.is_empty(), "{right} of {asked} are answered:\n{}", failures.join("\n"));
}

/// Returns the answer to a search.
fn reply(filters: &tradepost_document::json::Value) -> AapReply {
    let terms = DealerTerms {
        now: Timestamp::UNIX_EPOCH,
        clock_skew: SignedDuration::ZERO,
        consent_lifetime: None,
    };
    let data = json!({"type": "inventory.search.request", "filters": filters});
    let request = aap::parse(Skill::InventorySearch, Version::V1_1, &data, &terms).unwrap();
    let AapRequest::InventorySearch(search) = request else { panic!("{data}") };
    let policy = SearchPolicy { default_limit: 100, max_limit: 100 };
    crate::skills::search(&inventory(), &search, policy, CurrentYear::TEST).unwrap()
}

/// Returns the message of the answer to a search.
fn message_of(filters: &tradepost_document::json::Value) -> String {
    reply(filters).message.unwrap()
}

#[test]
fn what_hinders_is_also_told_without_the_number() {
    let no_word = "The query has no word in it, so that nothing can be meant; leave it out to \
                   search without one.";
    for (filters, explained) in [
        (json!({"make": ["Honda"]}), None),
        (
            json!({"make": ["Hundai"]}),
            Some("Without make Hundai 39 match; nearest: Hyundai (1), Honda (7)."),
        ),
        (json!({"year_min": 2025, "year_max": 2020}), Some("year_min is greater than year_max.")),
        (
            json!({"query": "spaceship"}),
            Some("\"spaceship\". Without \"spaceship\" 39 match. No listing has \"spaceship\"."),
        ),
        (json!({"query": "--"}), Some(no_word)),
    ] {
        assert_eq!(reply(&filters).nothing_found.as_deref(), explained, "{filters}");
    }
}

#[test]
fn an_empty_answer_says_what_hinders_and_what_there_is() {
    let asked = [
        json!({"make": ["Hundai"]}),
        json!({"make": ["Hundai"], "price_max": 20000}),
        json!({"make": ["Honda"], "body": ["convertible"]}),
        json!({"make": ["Honda"], "price_max": 5000}),
        json!({"model": ["Camrey", "Corola"], "exterior_color": ["teal"]}),
        json!({"condition": ["new"], "fuel": ["diesel"]}),
        json!({"rooftops": ["Lakeside Hyundai"]}),
        json!({"stock": "N9999", "make": ["Ford"]}),
        json!({"year_min": 2025, "year_max": 2020}),
        json!({"query": "nissan rogue"}),
        json!({"query": "red honda minivan"}),
        json!({"query": "spaceship"}),
        json!({"query": "--"}),
        json!({"query": "hoonda under 10k"}),
        json!({"query": "jane@example.com 4155550134"}),
    ];
    let answers = asked.iter().map(|filters| format!("{filters}\n  {}\n", message_of(filters)));
    expect![[r#"
        {"make":["Hundai"]}
          No vehicle matches. Without make Hundai 39 match; nearest: Hyundai (1), Honda (7).
        {"make":["Hundai"],"price_max":20000}
          No vehicle matches. Without make Hundai 5 match; nearest: Hyundai (1), Honda (1).
        {"make":["Honda"],"body":["convertible"]}
          No vehicle matches. Without make Honda 1 matches; there is Ford (1). Without body convertible 7 match; there is suv (3), sedan (2), hatchback (1).
        {"make":["Honda"],"price_max":5000}
          No vehicle matches. Without price_max 5000 7 match; price there is 18900 to 38450.
        {"model":["Camrey","Corola"],"exterior_color":["teal"]}
          No vehicle matches. No single filter is in the way. Each alone finds: model Camrey or Corola (0); nearest: Camry (1), exterior_color teal (0); there is Oxford White (2), Alpine White (1), Antimatter Blue (1).
        {"condition":["new"],"fuel":["diesel"]}
          No vehicle matches. Without fuel diesel 4 match; there is hybrid (3), gas (1). Without condition new 2 match; there is used (2).
        {"rooftops":["Lakeside Hyundai"]}
          No vehicle matches. Without rooftops Lakeside Hyundai 39 match; nearest: Lakeside Honda (7).
        {"stock":"N9999","make":["Ford"]}
          No vehicle matches. Without stock N9999 7 match.
        {"year_min":2025,"year_max":2020}
          No vehicle matches: year_min is greater than year_max.
        {"query":"nissan rogue"}
          No vehicle matches; the query was read as: Nissan, Rogue. No single filter is in the way. Each alone finds: Nissan (0), Rogue (0). There is no Nissan here. There is no Rogue here.
        {"query":"red honda minivan"}
          No vehicle matches; the query was read as: exterior_color red, make Honda, body minivan. Without exterior_color red 1 matches; there is Lunar Silver Metallic (1). Without body minivan 1 matches; there is sedan (1).
        {"query":"spaceship"}
          No vehicle matches; the query was read as: "spaceship". Without "spaceship" 39 match. No listing has "spaceship".
        {"query":"--"}
          No vehicle matches. The query has no word in it, so that nothing can be meant; leave it out to search without one.
        {"query":"hoonda under 10k"}
          No vehicle matches; the query was read as: make Honda, price_max 10000. Without price_max 10000 7 match; price there is 18900 to 38450. "hoonda" was read as Honda.
        {"query":"jane@example.com 4155550134"}
          No vehicle matches; the query was read as: "...". Without "..." 39 match. No listing has "...".
    "#]].assert_eq(&answers.collect::<String>());
}

#[test]
fn an_answer_to_a_query_says_how_it_was_read() {
    let asked = [
        "AWD hybrid SUV under 40k",
        "hoonda",
        "toyta camry",
        "navy suv",
        "7 seater with low miles",
        "not red sedan under 21k",
        "mazda 3",
        "show me something nice",
        "$300 a month honda civic",
        "heated seats",
        "red or blue toyota since 2022",
    ];
    let answers =
        asked.iter().map(|query| format!("{query}\n  {}\n", message_of(&json!({"query": query}))));
    expect![[r#"
        AWD hybrid SUV under 40k
          1 vehicle matches; the query was read as: driveline awd or 4wd, fuel hybrid or pluginhybrid, body suv, price_max 40000.
        hoonda
          7 vehicles match; the query was read as: make Honda. "hoonda" was read as Honda.
        toyta camry
          2 vehicles match; the query was read as: make Toyota, model "camry". "toyta" was read as Toyota.
        navy suv
          2 vehicles match; the query was read as: exterior_color blue, body suv. No listing has the color "navy"; it was read as blue.
        7 seater with low miles
          8 vehicles match; the query was read as: 7 or more seats, order mileage asc. Seats are those of the listing, or those usual for the model where it states none.
        not red sedan under 21k
          2 vehicles match; the query was read as: not exterior_color red, body sedan, price_max 21000.
        mazda 3
          1 vehicle matches; the query was read as: model Mazda3.
        show me something nice
          39 vehicles match.
        $300 a month honda civic
          2 vehicles match; the query was read as: make Honda, model "civic". AAP has no payments; price_min and price_max find a price. Left out: $300 a month.
        heated seats
          12 vehicles match; the query was read as: feature heated seats.
        red or blue toyota since 2022
          3 vehicles match; the query was read as: exterior_color red or exterior_color blue, make Toyota, year_min 2022.
    "#]].assert_eq(&answers.collect::<String>());
}

#[test]
fn no_sentence_is_longer_than_the_schema_allows() {
    let long = "x".repeat(200);
    let texts: Vec<&str> = vec![&long; 50];
    let filters = json!({
        "make": texts, "model": texts, "trim": texts, "body": texts, "fuel": texts,
        "driveline": texts, "transmission": texts, "exterior_color": texts,
        "interior_color": texts, "rooftops": texts, "query": "a1 b2 ".repeat(33),
    });
    assert!(message_of(&filters).chars().count() <= 2000);
}
