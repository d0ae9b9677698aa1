//! What a dealer's inventory costs in memory: searches, facets and look-ups in process, beside SQLite and
//! tantivy on the same listings, and beside reading the columns once at the bandwidth of memory. Everybody's
//! answers are compared before anything is timed. Prints Markdown.
//!
//! `engine SIZE…` measures inventories of so many vehicles.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tradepost_aap::inventory::{Sort, SortField, SortOrder};
use tradepost_aap::{Facets, Filters, Search};

mod bound;
mod ours;
mod segment;
mod sqlite;
mod vehicles;

/// That of the program that is shipped.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// How many vehicles a page has.
const PAGE: u32 = 20;

/// How long one question is asked at least.
const SHORTEST_RUN: Duration = Duration::from_millis(300);

/// How often it is asked at least and at most.
const ROUNDS: std::ops::RangeInclusive<usize> = 5..=2_000;

/// A page of listings as they are sent, and how many match.
#[derive(Debug, PartialEq, Eq)]
struct Page {
    total: usize,
    listings: Vec<String>,
}

/// Whoever finds vehicles.
trait Engine {
    fn name(&self) -> &'static str;
    fn page(&self, search: &Search) -> Fallible<Page>;
    fn facets(&self, filters: &Filters) -> Fallible<Arc<Facets>>;
    fn vehicle(&self, vin: &str) -> Fallible<String>;
}

/// What is asked.
enum Question {
    Page(Search),
    Facets(Filters),
    Vehicle(String),
}

/// Questions of a kind.
struct Kind {
    name: &'static str,
    questions: Vec<Question>,
}

/// The questions of all kinds about an inventory.
fn kinds(inventory: &vehicles::BenchInventory) -> Vec<Kind> {
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let by_price = Some(Sort { field: SortField::ListPrice, order: SortOrder::Asc });
    let page = |filters: Filters, sort| {
        Question::Page(Search { filters, sort, limit: Some(PAGE), ..Search::default() })
    };
    let mut scopes: Vec<Filters> = Vec::new();
    for make in [&["Toyota", "Honda"][..], &["Ford"], &["Chevrolet", "Jeep", "Subaru"]] {
        for (price_max, year_min) in [(35_000, 2019), (28_000, 2021), (45_000, 2020)] {
            let price_max = Some(price_max);
            let year_min = Some(year_min);
            scopes.push(Filters { make: texts(make), price_max, year_min, ..Filters::default() });
        }
    }
    let asked = ["toyota camry remote start", "honda civic navigation", "ford tow package"];
    let words = asked.map(|words| Filters { query: Some(words.to_owned()), ..Filters::default() });
    let sorted = scopes.iter().map(|filters| page(filters.clone(), by_price));
    let vins = inventory.vehicles.iter().step_by(inventory.vehicles.len().div_ceil(64));
    let vins = vins.filter_map(|vehicle| vehicle.vin.clone());
    let kind = |name, questions| Kind { name, questions };
    vec![
        kind("page, filtered and sorted", sorted.collect()),
        kind("page, unfiltered", vec![page(Filters::default(), None)]),
        kind("page, words", words.into_iter().map(|filters| page(filters, None)).collect()),
        kind("facets of all", vec![Question::Facets(Filters::default())]),
        kind("facets, scoped", scopes.into_iter().map(Question::Facets).collect()),
        kind("vehicle by VIN", vins.map(Question::Vehicle).collect()),
    ]
}

fn ask(engine: &dyn Engine, question: &Question) -> Fallible<()> {
    match question {
        Question::Page(search) => drop(std::hint::black_box(engine.page(search)?)),
        Question::Facets(filters) => drop(std::hint::black_box(engine.facets(filters)?)),
        Question::Vehicle(vin) => drop(std::hint::black_box(engine.vehicle(vin)?)),
    }
    Ok(())
}

/// What others answer has to be what the first one answers.
fn compare(engines: &[&dyn Engine], question: &Question) -> Fallible<()> {
    let [first, others @ ..] = engines else { return Ok(()) };
    for other in others {
        let differ = match question {
            Question::Page(search) => {
                let one = first.page(search)?;
                let two = other.page(search)?;
                if one.total == 0 {
                    return Err(format!("nothing is found by {search:?}").into());
                }
                (one != two).then(|| format!("{search:?}\n{one:?}\n{two:?}"))
            }
            Question::Facets(filters) => {
                let one = first.facets(filters)?;
                let two = other.facets(filters)?;
                (one != two).then(|| format!("{filters:?}\n{one:?}\n{two:?}"))
            }
            Question::Vehicle(vin) => {
                let one = first.vehicle(vin)?;
                let two = other.vehicle(vin)?;
                (one != two).then(|| format!("{vin}\n{one}\n{two}"))
            }
        };
        if let Some(differ) = differ {
            let one = first.name();
            let two = other.name();
            return Err(format!("{one} and {two} differ: {differ}").into());
        }
    }
    Ok(())
}

/// The median of how long a question of a kind takes.
fn median(engine: &dyn Engine, kind: &Kind) -> Fallible<Duration> {
    let mut times = Vec::new();
    let begun = Instant::now();
    let mut rounds = 0;
    while rounds < *ROUNDS.start() || (begun.elapsed() < SHORTEST_RUN && rounds < *ROUNDS.end()) {
        for question in &kind.questions {
            let asked = Instant::now();
            ask(engine, question)?;
            times.push(asked.elapsed());
        }
        rounds += 1;
    }
    times.sort_unstable();
    Ok(times.get(times.len() / 2).copied().unwrap_or_default())
}

fn main() -> Fallible<()> {
    let sizes = std::env::args().skip(1).map(|size| size.parse());
    let sizes: Vec<usize> = sizes.collect::<Result<_, _>>()?;
    if sizes.is_empty() {
        return Err("usage: engine SIZE...".into());
    }
    let mut out = std::io::stdout().lock();
    let mut rooms = Vec::new();
    writeln!(
        out,
        "| vehicles | asked | tradepost µs | tantivy µs | SQLite µs | tantivy ÷ | SQLite ÷ | columns once µs | ÷ that |"
    )?;
    writeln!(out, "|---:|---|---:|---:|---:|---:|---:|---:|---:|")?;
    for size in sizes {
        let inventory = vehicles::BenchInventory::new(size);
        let (ours, room) = ours::Ours::from_inventory(&inventory)?;
        let tantivy = segment::Tantivy::from_inventory(&inventory)?;
        let sqlite = sqlite::Sqlite::from_inventory(&inventory)?;
        let kinds = kinds(&inventory);
        let bound = bound::Bound::from_inventory(&inventory);
        drop(inventory);
        let engines: [&dyn Engine; 3] = [&ours, &tantivy, &sqlite];
        for question in kinds.iter().flat_map(|kind| &kind.questions) {
            compare(&engines, question)?;
        }
        for kind in &kinds {
            let times = engines.map(|engine| median(engine, kind));
            let [ours, tantivy, sqlite] = times;
            let micros = |time: Duration| time.as_secs_f64() * 1e6;
            let ours = micros(ours?);
            let tantivy = micros(tantivy?);
            let sqlite = micros(sqlite?);
            let [by_tantivy, by_sqlite] = [tantivy, sqlite].map(|other| other / ours);
            let once = match kind.name {
                "facets, scoped" => micros(bound.read_once()),
                _ => f64::NAN,
            };
            let at_once = match once.is_nan() {
                true => "| |".to_owned(),
                false => format!("{once:.1} | {:.2} |", ours / once),
            };
            writeln!(
                out,
                "| {size} | {} | {ours:.2} | {tantivy:.1} | {sqlite:.1} | {by_tantivy:.1} | {by_sqlite:.1} | {at_once}",
                kind.name
            )?;
        }
        rooms.push((size, room));
    }
    writeln!(out)?;
    writeln!(
        out,
        "| vehicles | index B/vehicle | listings B/vehicle | snapshot B/vehicle | built s | loaded ms |"
    )?;
    writeln!(out, "|---:|---:|---:|---:|---:|---:|")?;
    for (size, room) in rooms {
        let each = |bytes: usize| bytes / size.max(1);
        let ours::Room { memory, snapshot, built, loaded } = room;
        writeln!(
            out,
            "| {size} | {} | {} | {} | {:.2} | {:.2} |",
            each(memory.index),
            each(memory.listings),
            each(snapshot),
            built.as_secs_f64(),
            loaded.as_secs_f64() * 1e3
        )?;
    }
    Ok(())
}
