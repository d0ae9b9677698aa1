//! Questions of shoppers in their own words, in English and Spanish, each with the cars that it
//! must find as a condition on `cars.txt` and `facts.txt`. `questions_tuned.txt` and
//! `public_tuned.txt` guide the work on the reading of questions; `questions_held_out.txt` and
//! `public_held_out.txt` only measure it.

use std::collections::BTreeMap;

use super::*;

const FACTS: &str = include_str!("facts.txt");
const TUNED: &str = include_str!("questions_tuned.txt");
const HELD_OUT: &str = include_str!("questions_held_out.txt");
const PUBLIC_TUNED: &str = include_str!("public_tuned.txt");
const PUBLIC_HELD_OUT: &str = include_str!("public_held_out.txt");

const POLICY: SearchPolicy = SearchPolicy { default_limit: 100, max_limit: 100 };

/// What is true of a car, by hand.
#[derive(Debug, Default)]
struct CarFacts {
    id: String,
    /// Texts by name: `make`, `body`, `out`.
    texts: BTreeMap<&'static str, String>,
    /// Numbers by name: `price`, `mpg`, `tow`.
    numbers: BTreeMap<&'static str, f64>,
    labels: Vec<String>,
}

/// Reads a number, and nothing where there is none.
fn number_of(facts: &mut CarFacts, name: &'static str, text: &str) {
    if let Ok(number) = text.parse::<f64>()
        && number > 0.0
    {
        facts.numbers.insert(name, number);
    }
}

/// Reads the line of a car in `facts.txt`, and adds what it says to the listing.
fn labelled(vehicle: &mut Vehicle, line: &str) -> CarFacts {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [id, colours, room, economy, labels, features, members, description] = cells.as_slice()
    else {
        panic!("{line}");
    };
    assert_eq!(vehicle.vehicle_id.as_deref(), Some(*id));
    let mut facts = CarFacts { id: (*id).to_owned(), ..CarFacts::default() };
    facts.labels = labels.split_whitespace().map(str::to_owned).collect();
    let plain = |text: &Option<String>| {
        text.as_deref().unwrap_or_default().to_lowercase().replace(' ', "_")
    };
    for (name, text) in [
        ("make", &vehicle.make),
        ("body", &vehicle.body),
        ("fuel", &vehicle.fuel),
        ("drv", &vehicle.driveline),
        ("trans", &vehicle.transmission),
        ("store", &vehicle.rooftop),
    ] {
        facts.texts.insert(name, plain(text));
    }
    let condition = vehicle.condition.map(|condition| condition.name().to_owned());
    facts.texts.insert("cond", plain(&condition));
    for (name, colour) in ["out", "in"].into_iter().zip(colours.split(' ')) {
        facts.texts.insert(name, colour.to_owned());
    }
    for (name, text) in ["doors", "seats", "rows"].into_iter().zip(room.split(' ')) {
        number_of(&mut facts, name, text);
    }
    for (name, text) in ["city", "hwy", "range"].into_iter().zip(economy.split(' ')) {
        number_of(&mut facts, name, text);
    }
    let city = facts.numbers.get("city").copied();
    if let Some((city, highway)) = city.zip(facts.numbers.get("hwy").copied()) {
        facts.numbers.insert("mpg", (1.0 / (0.55 / city + 0.45 / highway)).round());
        vehicle.city_mpg = Some(city as u32);
        vehicle.highway_mpg = Some(highway as u32);
    }
    vehicle.electric_range_mi = facts.numbers.get("range").copied();
    facts.numbers.insert("price", f64::from(vehicle.price.unwrap()));
    facts.numbers.insert("miles", f64::from(vehicle.mileage.unwrap()));
    facts.numbers.insert("year", f64::from(vehicle.year.unwrap()));
    if facts.labels.iter().any(|label| label == "oneowner") {
        facts.numbers.insert("owners", 1.0);
    }
    for member in members.split(';').filter(|member| !member.is_empty()) {
        let (name, value) = member.trim().split_once('=').unwrap();
        let number: u32 = value.parse().unwrap();
        vehicle.others.insert(name.to_owned(), json!(number));
        let known = [("towing_capacity", "tow"), ("horsepower", "hp"), ("owners", "owners")];
        for (member, name_of_fact) in known {
            if member == name {
                facts.numbers.insert(name_of_fact, f64::from(number));
            }
        }
    }
    let features = features.split(';').map(str::trim).filter(|feature| !feature.is_empty());
    vehicle.features.extend(features.map(str::to_owned));
    vehicle.description = (!description.is_empty()).then(|| (*description).to_owned());
    facts
}

/// Returns true when a car satisfies a term of an expectation, such as `!body:suv`, `price<=20000`
/// or `#sunroof`.
fn satisfies(facts: &CarFacts, term: &str) -> bool {
    if let Some(term) = term.strip_prefix('!') {
        return !satisfies(facts, term);
    }
    if term == "all" || term == "none" {
        return term == "all";
    }
    if let Some(label) = term.strip_prefix('#') {
        return facts.labels.iter().any(|mine| mine == label);
    }
    let number = |name: &str| facts.numbers.get(name).copied();
    if let Some((name, most)) = term.split_once("<=") {
        return number(name).is_some_and(|number| number <= most.parse().unwrap());
    }
    if let Some((name, least)) = term.split_once(">=") {
        return number(name).is_some_and(|number| number >= least.parse().unwrap());
    }
    let (name, values) = term.split_once(':').unwrap();
    values.split(',').any(|value| match name {
        "id" => facts.id == value,
        "sort" => true,
        "store" => facts.texts["store"].contains(value),
        _ => match facts.texts.get(name) {
            Some(text) => text == value,
            None => number(name) == Some(value.parse().unwrap()),
        },
    })
}

/// Returns the terms of a side of an expectation that has alternatives.
fn is_expected(facts: &CarFacts, expectation: &str) -> bool {
    let mut sides = expectation.split(" / ");
    sides.any(|side| side.split_whitespace().all(|term| satisfies(facts, term)))
}

/// Returns true when cars are in the order that an expectation demands, if it demands one.
fn is_in_order(cars: &[&CarFacts], expectation: &str) -> bool {
    let order = expectation.split_whitespace().find_map(|term| term.strip_prefix("sort:"));
    let Some(order) = order else { return true };
    let (name, direction) = order.split_at(order.len() - 1);
    let number = |facts: &&CarFacts| facts.numbers.get(name).copied();
    let numbers: Vec<f64> = cars.iter().filter_map(number).collect();
    match direction {
        "+" => numbers.is_sorted(),
        _ => numbers.iter().rev().is_sorted(),
    }
}

/// Builds the inventory of the questions.
pub(super) fn labelled_inventory() -> (Inventory, impl Fn(&str, &str) -> Option<String>) {
    let mut cars: Vec<Vehicle> =
        lines(CARS).enumerate().map(|(number, line)| car(number, line)).collect();
    let facts: Vec<CarFacts> =
        cars.iter_mut().zip(lines(FACTS)).map(|(car, line)| labelled(car, line)).collect();
    let inventory = Inventory::build(cars, Vec::new()).unwrap();
    let check = move |found: &str, expectation: &str| {
        let found: Vec<&CarFacts> = found
            .split_whitespace()
            .map(|id| facts.iter().find(|facts| facts.id == id).unwrap())
            .collect();
        let ids = |facts: Vec<&CarFacts>| {
            facts.iter().map(|facts| facts.id.as_str()).collect::<Vec<_>>().join(" ")
        };
        let is_found = |facts: &CarFacts| found.iter().any(|found| found.id == facts.id);
        let missing = facts.iter().filter(|f| is_expected(f, expectation) && !is_found(f));
        let missing = ids(missing.collect());
        let wrong = found.iter().copied().filter(|facts| !is_expected(facts, expectation));
        let wrong = ids(wrong.collect());
        let in_order = is_in_order(&found, expectation);
        (!missing.is_empty() || !wrong.is_empty() || !in_order)
            .then(|| format!("misses [{missing}] and finds [{wrong}], in order: {in_order}"))
    };
    (inventory, check)
}

/// Returns the failures among some questions, and the number of questions.
fn failures(questions: &'static str) -> (Vec<String>, usize) {
    let (inventory, check) = labelled_inventory();
    let mut failures = Vec::new();
    let mut asked = 0;
    for line in lines(questions) {
        let (question, expectation) = line.split_once(" | ").unwrap();
        asked += 1;
        let found = found(&inventory, question).join(" ");
        if let Some(problem) = check(&found, expectation) {
            let filters = Filters { query: Some(question.to_owned()), ..Filters::default() };
            let search = Search { filters, ..Search::default() };
            let reply = crate::skills::search(&inventory, &search, POLICY, CurrentYear::TEST);
            let message = reply.unwrap().message.unwrap();
            failures.push(format!("{question:?} {problem}: {message}"));
        }
    }
    (failures, asked)
}

/// A set of questions, and the right answers that it must have at least.
struct QuestionSet {
    name: &'static str,
    questions: &'static str,
    /// True for questions whose failures are printed.
    is_tuned: bool,
    least_right: usize,
}

const SETS: [QuestionSet; 4] = [
    QuestionSet { name: "tuned", questions: TUNED, is_tuned: true, least_right: 246 },
    QuestionSet { name: "held out", questions: HELD_OUT, is_tuned: false, least_right: 120 },
    QuestionSet { name: "public tuned", questions: PUBLIC_TUNED, is_tuned: true, least_right: 108 },
    QuestionSet {
        name: "public held out",
        questions: PUBLIC_HELD_OUT,
        is_tuned: false,
        least_right: 43,
    },
];

#[test]
fn shoppers_are_understood_in_their_own_words() {
    let mut asked = 0;
    for set in SETS {
        let (failures, questions) = failures(set.questions);
        let right = questions - failures.len();
        let shown = if set.is_tuned { failures.join("\n") } else { String::new() };
        println!("{}: {right} of {questions}\n{shown}", set.name);
        assert!(right >= set.least_right, "{}: {right} of {questions}\n{shown}", set.name);
        asked += questions;
    }
    assert!(asked >= 500, "{asked}");
}

#[test]
fn a_reading_that_is_resent_finds_the_same_cars() {
    let (inventory, _) = labelled_inventory();
    let all = SETS.map(|set| set.questions).into_iter().chain([QUESTIONS]).flat_map(lines);
    let readings = include_str!("readings.txt").lines().filter(|line| !line.starts_with("  "));
    let mut asked = 0;
    let mut unreadable = 0;
    for line in all.chain(readings.filter(|line| !line.is_empty() && !line.starts_with('#'))) {
        let question = line.split(" | ").next().unwrap().trim_end_matches([' ', '|']);
        let filters = Filters { query: Some(question.to_owned()), ..Filters::default() };
        let search = Search { filters, ..Search::default() };
        let reading = inventory.reading(&search, CurrentYear::TEST);
        let again =
            Search { filters: reading.to_filters(), sort: reading.sort, ..Search::default() };
        let ids = |search: &Search| {
            let (page, _) = inventory.search(search, POLICY, CurrentYear::TEST).unwrap();
            page.vehicles.iter().map(|raw| raw.as_json().to_owned()).collect::<Vec<_>>()
        };
        assert!(reading.rest.as_ref().is_none_or(|rest| rest.chars().count() <= 200), "{question}");
        asked += 1;
        unreadable += usize::from(reading.rest.as_deref() == Some(question));
        assert_eq!(ids(&search), ids(&again), "{question}: {reading:?}");
    }
    println!("{unreadable} of {asked} questions are resent in their own words");
    assert!(asked > 600 && unreadable * 6 < asked, "{unreadable} of {asked}");
}

#[test]
fn long_questions_and_operators_alone_are_answered() {
    let (inventory, _) = labelled_inventory();
    for words in [
        "honda civic or toyota camry or ",
        "not ",
        "or ",
        "and or not but without ",
        "red, blue, ",
        "like ",
        "similar to a bmw ",
        "zzyzx qwrtp ",
        "a-b-c-d",
        "heated seats and cooled ",
        "under 20k or over ",
        "más barato o ",
        "\u{0}\u{7}\u{1b}[31mhonda ",
    ] {
        let query = words.repeat(10_000 / words.split(' ').count());
        let filters = Filters { query: Some(query), ..Filters::default() };
        let search = Search { filters, ..Search::default() };
        let reply = crate::skills::search(&inventory, &search, POLICY, CurrentYear::TEST).unwrap();
        let message = reply.message.unwrap();
        let reading = inventory.reading(&search, CurrentYear::TEST);
        assert!(!message.chars().any(char::is_control), "{words}: {message}");
        assert!(!reading.rest.unwrap_or_default().chars().any(char::is_control), "{words}");
    }
}
