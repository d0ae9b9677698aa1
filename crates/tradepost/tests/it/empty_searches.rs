//! What is remembered of searches that found nothing: on both databases, and by a server as a process.

use std::process::Command;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use tradepost_aap::Filters;
use tradepost_dealer::empty_search::EmptySearchText;
use tradepost_dealer::week::{CalendarWeek, beginning};
use tradepost_document::json::{Value, json};
use tradepost_runtime::empty_searches::EmptySearchRecorder;
use tradepost_server::clock::Clock;
use tradepost_store::Store;
use tradepost_store::empty_searches::{EmptySearch, EmptySearchCount};
use tradepost_store::week::{EmptySearchWeek, total};

use crate::process::{Process, data};
use crate::support::postgres::Scratch;
use crate::support::{NOW, at, envelope, folder};

fn search(question: &str) -> EmptySearch {
    let filters = Filters { query: Some(question.to_owned()), ..Filters::default() };
    let text = EmptySearchText::from_filters(&filters).unwrap();
    EmptySearch { text, reading: EmptySearchText::from_reading("") }
}

/// The beginning of the day of a moment.
fn day(moment: Timestamp) -> Timestamp {
    beginning(moment.to_zoned(TimeZone::UTC).date(), &TimeZone::UTC)
}

fn found(store: &Store, dealer: &str) -> EmptySearchWeek {
    let week = CalendarWeek::from_date(at(NOW).to_zoned(TimeZone::UTC).date());
    let figures = store.week_figures(dealer, &week.moments(&TimeZone::UTC)).unwrap();
    figures.empty_searches
}

fn remembers(store: Store) {
    let store = Arc::new(store);
    let (clock, hand) = Clock::manual(at(NOW));
    let searches = EmptySearchRecorder::new(Arc::clone(&store), clock);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let write = || runtime.block_on(searches.write()).unwrap();
    let today = day(at(NOW));
    for number in 0..200 {
        searches.note("acme", today, search(&format!("kombobulator {number:03}")));
    }
    write();
    // The first text again, one more than a day may have, and the same on another day and at another dealer.
    for (dealer, day, question) in [
        ("acme", today, "kombobulator 000"),
        ("acme", today, "kombobulator 000"),
        ("acme", today, "kombobulator 200"),
        ("acme", today - SignedDuration::from_hours(24), "kombobulator 000"),
        ("other", today, "kombobulator 200"),
    ] {
        searches.note(dealer, day, search(question));
    }
    write();
    let week = found(&store, "acme");
    // It is a Thursday.
    assert_eq!(week.asked, [0, 0, 1, 203, 0, 0, 0]);
    assert_eq!((week.texts.len(), week.others), (50, 1), "the 201st text is only counted");
    assert_eq!((week.texts[0].text.as_str(), week.texts[0].asked), ("kombobulator 000", 4));
    assert!(week.texts.iter().all(|row| row.text != "kombobulator 200"));
    assert_eq!(found(&store, "other").texts[0].text, "kombobulator 200");
    assert_eq!(total(&found(&store, "nobody").asked), 0);

    hand.advance(SignedDuration::from_hours(24 * 30 - 13));
    write();
    assert_eq!(found(&store, "acme").asked, [0, 0, 0, 203, 0, 0, 0], "a day was forgotten");
    hand.advance(SignedDuration::from_hours(24));
    write();
    assert_eq!(found(&store, "acme"), EmptySearchWeek::default());
}

#[test]
fn two_hundred_texts_of_a_day_are_kept_awhile() {
    let folder = folder();
    remembers(Store::open(folder.path()).unwrap());
}

#[test]
fn two_hundred_texts_of_a_day_are_kept_on_postgresql() {
    let Some(scratch) = Scratch::new() else { return };
    remembers(scratch.store());
}

#[test]
fn a_flood_of_texts_is_bounded_before_it_is_written() {
    let folder = folder();
    let store = Arc::new(Store::open(folder.path()).unwrap());
    let searches = EmptySearchRecorder::new(Arc::clone(&store), Clock::manual(at(NOW)).0);
    for number in 0..2_000 {
        searches.note("acme", day(at(NOW)), search(&format!("word {number}")));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(searches.write()).unwrap();
    let week = found(&store, "acme");
    assert_eq!((total(&week.asked), week.others), (2_000, 1_800));
}

/// Stores questions, and returns every text in the table.
fn stored(questions: &[String]) -> Vec<String> {
    let folder = folder();
    let store = Store::open(folder.path()).unwrap();
    let counts = questions.iter().map(|question| {
        let filters = Filters { query: Some(question.clone()), ..Filters::default() };
        let text = EmptySearchText::from_filters(&filters);
        let reading = EmptySearchText::from_reading(question);
        EmptySearchCount {
            dealer_id: "acme".to_owned(),
            day: day(at(NOW)),
            search: text.map(|text| EmptySearch { text, reading }),
            asked: 1,
        }
    });
    let counts: Vec<_> = counts.collect();
    store.write_blocking(move |tx| tx.count_empty_searches(&counts)).unwrap();
    let file = rusqlite::Connection::open(folder.path().join("tradepost.sqlite")).unwrap();
    let mut statement = file.prepare("SELECT text || ' ' || reading FROM empty_searches").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_telephone_number_and_no_address_is_ever_stored(
        questions in proptest::collection::vec("([a-z0-9@＠ .+()-]|\\PC){1,200}", 1..40),
    ) {
        for text in stored(&questions) {
            prop_assert!(!text.contains(['@', '＠']), "{text}");
            let runs = text.split(|c: char| !c.is_numeric());
            prop_assert!(runs.map(|run| run.chars().count()).all(|digits| digits < 7), "{text}");
        }
    }
}

fn tradepost(folder: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
    let config = folder.join("tradepost.toml");
    command.args(arguments).arg("--data").arg(data(folder)).arg("--config").arg(config);
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_search_in_vain_is_remembered_without_personal_parts() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::bare(folder.path());
    let question = "Kombobulator SUV, mail planted@mail.example or call 303-555-0142";
    let ask = json!({"type": "inventory.search.request", "filters": {"query": question}});
    let answer = process.post("/a2a", &[], &envelope(&ask).to_string());
    let part = &answer["result"]["message"]["parts"][0]["data"];
    assert_eq!(part["data"]["total"], 0, "{answer}");
    // A question that is answered from the cache counts as well.
    for _ in 0..2 {
        process.post("/a2a", &[], &envelope(&ask).to_string());
    }
    // Nor does it matter whether AAP or UCP is spoken: the text is that of the question alone.
    let platform = [("UCP-Agent", "profile=\"https://platform.example/ucp\"")];
    for _ in 0..2 {
        let ask = json!({"query": question});
        let answer = process.post("/ucp/catalog/search", &platform, &ask.to_string());
        assert_eq!(answer["pagination"]["total_count"], 0, "{answer}");
    }
    // A search that names nothing does not count, and no other skill does.
    for skill in ["inventory.search.request", "inventory.facets.request"] {
        process.post("/a2a", &[], &envelope(&json!({"type": skill})).to_string());
    }
    // What waits is written before it ends.
    process.signal("TERM");
    assert!(process.end().success());
    let (code, shown) = tradepost(folder.path(), &["--json", "week", "--dealer", "bare"]);
    assert_eq!(code, Some(0), "{shown}");
    let shown: Value = tradepost_document::json::from_str(&shown).unwrap();
    let searches = &shown[0]["empty_searches"];
    assert_eq!((&searches["total"], &searches["others"]), (&json!(5), &json!(0)), "{shown}");
    let [text] = searches["texts"].as_array().unwrap().as_slice() else { panic!("{shown}") };
    assert_eq!(text["text"], "kombobulator suv, mail … or call …");
    let (code, shown) = tradepost(folder.path(), &["week"]);
    assert!(code == Some(0) && shown.contains("kombobulator suv"), "{shown}");
    for file in std::fs::read_dir(data(folder.path())).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for planted in [&b"planted"[..], b"555-0142"] {
            assert!(!bytes.windows(planted.len()).any(|part| part == planted));
        }
    }
}
