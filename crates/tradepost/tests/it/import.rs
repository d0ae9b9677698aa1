//! Feeds from the file to the store: round trips, an untidy export, removals.

use std::collections::{BTreeMap, HashSet};
use std::io::{Cursor, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use jiff::{SignedDuration, Timestamp};
use tradepost_aap::vehicle::AnyCondition;
use tradepost_dealer::import::{self, DealerFeed, FeedListing, RowWarning, SkipReason};
use tradepost_demo::dealer::feed::{self, RowDefects};
use tradepost_demo::dealer::{self as demo, DEALER_ID};
use tradepost_document::catalog::Vocabulary as _;
use tradepost_document::json::{Value, json};
use tradepost_store::{Replacement, Store, StoreTransaction};

mod cases;
mod shapes;

fn now() -> Timestamp {
    "2026-11-20T17:00:00Z".parse().unwrap()
}

fn read(bytes: &[u8]) -> DealerFeed {
    let sorted = import::read(Cursor::new(bytes), &[demo::target()], now()).unwrap();
    let feed = sorted.feeds.into_iter().next().unwrap();
    let report = &feed.report;
    assert_eq!(report.rows, report.accepted + report.sold + report.skipped);
    feed
}

/// The listings as an import at `now` confirms them.
fn confirmed(listings: &[FeedListing]) -> Vec<FeedListing> {
    let mut listings = listings.to_vec();
    for listing in &mut listings {
        listing.vehicle.updated_at = Some(now());
    }
    listings
}

#[test]
fn clean_feeds_of_both_formats_bring_back_what_was_written() {
    let listings = demo::listings(500, 11, now());
    let expected = confirmed(&listings);
    for delimiter in [b',', b'|', b'\t', b';'] {
        let feed = read(&feed::homenet(&listings, delimiter).unwrap());
        assert_eq!(feed.listings, expected);
        assert_eq!(feed.report.skipped, 0);
        assert!(feed.report.ignored_columns.is_empty());
    }
    assert_eq!(read(&feed::aap_json(&listings).unwrap()).listings, expected);
}

#[test]
fn a_soiled_export_is_read_with_an_honest_report() {
    let listings = demo::listings(6_000, 23, now());
    let untidy = feed::untidy(&listings, 42).unwrap();
    assert!(untidy.rows >= 5_000);
    let feed = read(&untidy.bytes);
    let report = &feed.report;
    assert_eq!(report.rows, untidy.rows);
    assert_eq!(report.encoding, "windows-1252");
    for dirt in RowDefects::ALL {
        assert!(untidy.dirt[dirt] > 50, "{dirt:?}");
    }

    // Rows that may not be offered: as many as there are, each under its own reason.
    let skipped: BTreeMap<SkipReason, usize> =
        report.reasons.iter().map(|entry| (entry.kind, entry.count)).collect();
    let expected = BTreeMap::from([
        (SkipReason::NoIdentifier, untidy.dirt[&RowDefects::Nameless]),
        (SkipReason::InProduction, untidy.dirt[&RowDefects::InProduction]),
        (SkipReason::UnknownStatus, untidy.dirt[&RowDefects::OddStatus]),
        (SkipReason::AnotherDealer, untidy.dirt[&RowDefects::ForeignRooftop]),
        (SkipReason::TooManyCells, untidy.dirt[&RowDefects::Shifted]),
        (SkipReason::DuplicateVin, untidy.dirt[&RowDefects::Repeated]),
        (SkipReason::DuplicateStock, untidy.dirt[&RowDefects::RepeatedStock]),
    ]);
    assert_eq!(skipped, expected);
    assert_eq!(report.skipped, expected.values().sum::<usize>());
    assert_eq!(report.skips.len(), report.skipped.min(1_000));
    assert!(report.skips.is_sorted_by_key(|skip| skip.line));
    assert!(report.skips.iter().all(|skip| skip.line > 1 && !skip.message.is_empty()));

    // Oddities of rows that are offered. Cars on their way may have no price from the start.
    let unpriced =
        listings.iter().filter(|listing| !listing.sold && listing.vehicle.price.is_none()).count();
    for (kind, count) in [
        (RowWarning::BadCheckDigit, untidy.dirt[&RowDefects::CheckDigit]),
        (RowWarning::LowerCaseVin, untidy.dirt[&RowDefects::LowerCaseVin]),
        (RowWarning::MalformedVin, untidy.dirt[&RowDefects::ShortVin]),
        (RowWarning::WmiMismatch, untidy.dirt[&RowDefects::ForeignVin]),
        (RowWarning::NotPriced, untidy.dirt[&RowDefects::PriceWord] + unpriced),
        (RowWarning::UnreadablePrice, untidy.dirt[&RowDefects::PriceGarbled]),
        (RowWarning::Kilometres, untidy.dirt[&RowDefects::Kilometres]),
        (RowWarning::ModelAndTrim, untidy.dirt[&RowDefects::ModelAndTrim]),
        (RowWarning::BadPhoto, untidy.dirt[&RowDefects::RelativePhoto]),
        (RowWarning::UnreadableDate, untidy.dirt[&RowDefects::BadDate]),
        (RowWarning::UnreadableYear, untidy.dirt[&RowDefects::BadYear]),
    ] {
        assert_eq!(report.warned_of(kind), count, "{kind}");
    }
    assert_eq!(report.warnings.len(), 11, "{:?}", report.warnings);

    // What is only spelled differently is understood, and says what it said before.
    let originals: BTreeMap<&str, &FeedListing> = listings
        .iter()
        .filter_map(|listing| Some((listing.vehicle.stock.as_deref()?, listing)))
        .collect();
    let mut same = 0;
    for listing in &feed.listings {
        let original = &originals[listing.vehicle.stock.as_deref().unwrap()].vehicle;
        let vehicle = &listing.vehicle;
        assert_eq!(vehicle.driveline, original.driveline);
        assert_eq!(vehicle.model, original.model);
        assert_eq!(vehicle.trim, original.trim);
        assert_eq!(vehicle.fuel, original.fuel);
        assert_eq!(vehicle.photos, original.photos);
        assert!(vehicle.mileage.unwrap().abs_diff(original.mileage.unwrap()) <= 1);
        let promoted = vehicle.condition == Some(AnyCondition::Cpo);
        assert!(vehicle.condition == original.condition || promoted);
        same += usize::from(
            vehicle == original || {
                let mut fresh = original.clone();
                fresh.updated_at = vehicle.updated_at;
                *vehicle == fresh
            },
        );
    }
    assert!(same > feed.listings.len() / 2, "{same}");
}

/// Offered and sold ids of a feed.
fn ids(listings: &[FeedListing], sold: bool) -> HashSet<String> {
    listings
        .iter()
        .filter(|listing| listing.sold == sold)
        .filter_map(|listing| listing.vehicle.vehicle_id.clone())
        .collect()
}

#[test]
fn a_second_feed_removes_only_what_it_omits() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path()).unwrap();
    let untidy = feed::untidy(&demo::listings(6_000, 23, now()), 42).unwrap();
    let first = read(&untidy.bytes).listings.to_vec();
    let offered = ids(&first, false);

    let planned = store.replace_inventory(DEALER_ID, &first, now(), true).unwrap();
    assert_eq!(planned.added, offered.len());
    let lifetime = SignedDuration::from_hours(24 * 90);
    let (listings, _) = store.inventory(DEALER_ID, now(), lifetime).unwrap();
    assert!(listings.is_empty(), "a dry run stores nothing");
    let done = store.replace_inventory(DEALER_ID, &first, now(), false).unwrap();
    assert_eq!(done, planned);

    // The next day every tenth listing is gone, every eleventh is cheaper, every twelfth is sold.
    let tomorrow = now() + SignedDuration::from_hours(24);
    let mut second: Vec<FeedListing> = Vec::new();
    let mut expected = Replacement { before: offered.len(), ..Replacement::default() };
    let mut leaving = HashSet::new();
    for (index, listing) in first.iter().filter(|listing| !listing.sold).enumerate() {
        let mut listing = listing.clone();
        listing.vehicle.updated_at = Some(tomorrow);
        let id = listing.vehicle.vehicle_id.clone().unwrap();
        if index % 10 == 0 {
            expected.removed += 1;
            leaving.insert(id);
            continue;
        }
        if index % 12 == 0 {
            listing.sold = true;
            expected.removed += 1;
            leaving.insert(id);
        } else if index % 11 == 0 {
            listing.vehicle.notes = Some("Price reduced".into());
            expected.changed += 1;
        } else {
            expected.unchanged += 1;
        }
        second.push(listing);
    }
    let done = store.replace_inventory(DEALER_ID, &second, tomorrow, false).unwrap();
    assert_eq!(done, expected);

    let (listings, tombstones) = store.inventory(DEALER_ID, tomorrow, lifetime).unwrap();
    let listed: HashSet<String> =
        listings.iter().filter_map(|vehicle| vehicle.vehicle_id.clone()).collect();
    assert_eq!(listed, ids(&second, false));
    assert!(listings.iter().all(|vehicle| vehicle.updated_at == Some(tomorrow)));
    let gone: HashSet<String> = tombstones.into_iter().map(|t| t.vehicle_id).collect();
    assert!(leaving.is_subset(&gone));
    assert!(listed.is_disjoint(&gone));

    // C-23: a listing that is gone is forgotten when its time is over.
    let later = tomorrow + SignedDuration::from_hours(24 * 91);
    let (_, tombstones) = store.inventory(DEALER_ID, later, lifetime).unwrap();
    assert!(tombstones.is_empty());
}

#[test]
fn the_demo_configuration_charges_the_demo_inventorys_fees() {
    let config = tradepost_runtime::config::read::demo();
    let [dealer] = config.dealers.as_slice() else { panic!("the demo has one dealer") };
    assert_eq!(import::FeedTarget::from_dealer(&dealer.terms), demo::target());
}

/// Runs `tradepost import --json` with a feed on standard input.
fn import_command(directory: &Path, feed: &[u8], arguments: &[&str]) -> (Option<i32>, Value) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tradepost"))
        .args(["--json", "import", "-", "--data"])
        .arg(directory)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read the feed.
    let _ = child.stdin.take().unwrap().write_all(feed);
    let output = child.wait_with_output().unwrap();
    let document = tradepost_document::json::from_slice(&output.stdout);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), document.expect(&talk))
}

#[test]
fn the_command_replaces_inventory_and_refuses_truncated_feeds() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let listings = demo::listings(240, 11, now());
    let whole = feed::homenet(&listings, b',').unwrap();
    let tenth = feed::homenet(&listings[..26], b',').unwrap();
    let demo = ["--demo", "--dealer", DEALER_ID];

    let (exit, document) =
        import_command(data, &whole, &[demo.as_slice(), &["--dry-run"]].concat());
    assert_eq!((exit, &document["inventory"]["added"]), (Some(0), &json!(240)));
    assert_eq!(std::fs::read_dir(data).unwrap().count(), 0, "a dry run leaves nothing behind");
    let (exit, document) = import_command(data, &whole, &demo);
    assert_eq!((exit, &document["inventory"]["before"]), (Some(0), &json!(0)));
    assert_eq!(document["report"]["accepted"], 240);
    assert_eq!(document["report"]["sold"], 20);

    let (exit, document) = import_command(data, &tenth, &demo);
    assert_eq!(exit, Some(2));
    assert_eq!(document["error"]["inventory"]["removed"], 216);
    assert!(document["error"]["hint"].as_str().unwrap().contains("--max-drop"));
    let (exit, document) = import_command(data, b"Stock,Status\nA1,Sold\n", &demo);
    assert_eq!((exit, &document["error"]["report"]["accepted"]), (Some(2), &json!(0)));
    let (exit, document) = import_command(data, &whole, &demo);
    assert_eq!((exit, &document["inventory"]["unchanged"]), (Some(0), &json!(240)));
    let (exit, document) =
        import_command(data, &tenth, &[demo.as_slice(), &["--max-drop", "95"]].concat());
    assert_eq!((exit, &document["inventory"]["removed"]), (Some(0), &json!(216)));
}

#[test]
fn an_import_is_recorded_without_the_folder_of_its_file() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let file = directory.path().join("cars.csv");
    let listings = demo::listings(20, 11, now());
    std::fs::write(&file, feed::homenet(&listings, b',').unwrap()).unwrap();
    let tradepost = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tradepost"));
        let output = command.arg("--json").args(arguments).arg("--data").arg(&data).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let file = file.to_str().unwrap();
    for more in [&["--dry-run"][..], &[]] {
        tradepost(&[&["import", file, "--demo", "--dealer", DEALER_ID], more].concat());
    }
    // What is refused changes nothing, and is no entry.
    import_command(&data, b"Stock,Status\nA1,Sold\n", &["--demo", "--dealer", DEALER_ID]);
    let listed: Value = tradepost_document::json::from_str(&tradepost(&["audit", "list"])).unwrap();
    let [entry] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!(entry["action"], "inventory_imported", "{listed}");
    assert_eq!(entry["subject"], "cars.csv");
    assert_eq!(entry["detail"], "20 added, 0 changed, 0 removed, 0 unchanged");
    assert!(entry["actor"].as_str().unwrap().starts_with("cli:"), "{listed}");
    assert!(!listed.to_string().contains(directory.path().to_str().unwrap()), "{listed}");
}

#[test]
fn the_command_changes_nothing_while_a_feed_is_being_taken() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let demo = ["--demo", "--dealer", DEALER_ID];
    let whole = feed::homenet(&demo::listings(20, 11, now()), b',').unwrap();
    let store = Store::open(data).unwrap();
    let until = Timestamp::MAX;
    let lease = move |tx: &StoreTransaction<'_>| tx.lease_feeds(DEALER_ID, "a feed", now(), until);
    assert!(store.write_blocking(lease).unwrap());
    let (exit, document) = import_command(data, &whole, &demo);
    assert_eq!(exit, Some(1));
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains("a feed of this dealer is being imported"), "{message}");
    assert!(document["error"]["hint"].as_str().unwrap().contains("try again"));
    assert_eq!(store.inventory_generation(DEALER_ID).unwrap(), 0);
    let dry = [demo.as_slice(), &["--dry-run"]].concat();
    assert_eq!(import_command(data, &whole, &dry).0, Some(0), "looking is permitted");

    store.write_blocking(|tx| tx.release_feeds(DEALER_ID, "a feed")).unwrap();
    assert_eq!(import_command(data, &whole, &demo).0, Some(0));
    assert_eq!(store.inventory_generation(DEALER_ID).unwrap(), 1);
    assert!(store.write_blocking(lease).unwrap(), "it leaves no lease");
}

#[test]
fn the_command_says_what_to_do_when_it_cannot_start() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent.toml");
    let arguments = ["--config", absent.to_str().unwrap()];
    let (exit, document) = import_command(directory.path(), b"", &arguments);
    assert_eq!(exit, Some(2));
    assert!(document["error"]["hint"].as_str().unwrap().contains("tradepost init"));
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let (exit, document) = import_command(&file, b"Stock\nA1\n", &["--demo"]);
    assert_eq!(exit, Some(1));
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.contains(file.to_str().unwrap()), "{message}");
    assert!(document["error"]["hint"].as_str().unwrap().contains("--data"));
}

#[test]
fn a_command_line_mistake_is_json_when_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let (exit, document) = import_command(directory.path(), b"", &["--demo", "--max-drop", "101"]);
    assert_eq!((exit, &document["error"]["exit_code"]), (Some(2), &json!(2)));
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("invalid value '101'"), "{message}");
}

const TWO_DEALERS: &str = r#"
[[dealers]]
id = "north"
name = "North Cars"
hosts = ["north.example"]

[[dealers.rooftops]]
name = "North Cars Fairview"
feed_names = ["MP10482"]

[[dealers]]
id = "south"
name = "South Cars"
hosts = ["south.example"]

[[dealers.rooftops]]
name = "South Cars"
"#;

#[test]
fn one_file_is_split_among_all_dealers_or_none() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("tradepost.toml");
    std::fs::write(&config, TWO_DEALERS).unwrap();
    let split = ["--config", config.to_str().unwrap(), "--split"];
    let row = |stock: &str, dealer: &str| {
        let photo = "https://cars.example/1.jpg";
        format!("{stock},1HGCV1F33NA000{stock},2022,Honda,Accord,Used,20000,{dealer},{photo}\n")
    };
    let file = |rows: &[(&str, &str)]| {
        let rows: String = rows.iter().map(|(stock, dealer)| row(stock, dealer)).collect();
        format!("Stock,VIN,Year,Make,Model,Type,Price,Dealer ID,Photo\n{rows}")
    };
    let whole = file(&[
        ("001", "MP10482"),
        ("002", "north"),
        ("003", "south"),
        ("004", "south"),
        ("005", "x"),
    ]);
    let (exit, document) = import_command(directory.path(), whole.as_bytes(), &split);
    assert_eq!(exit, Some(0), "{document}");
    let added = |index: usize| document["dealers"][index]["inventory"]["added"].clone();
    assert_eq!((added(0), added(1)), (json!(2), json!(2)));
    assert_eq!(document["unplaced"]["reasons"][0]["kind"], "another_dealer");

    // South would lose half, so north keeps what it has, too.
    let half = file(&[("001", "north"), ("002", "north"), ("006", "north"), ("003", "south")]);
    let (exit, document) = import_command(directory.path(), half.as_bytes(), &split);
    assert_eq!(exit, Some(2));
    let message = document["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("south: 1 of the 2 units on offer would vanish"), "{message}");
    let north = file(&[("001", "north"), ("002", "MP10482")]);
    let (exit, document) = import_command(directory.path(), north.as_bytes(), &split);
    assert_eq!(exit, Some(0));
    assert_eq!(document["dealers"].as_array().unwrap().len(), 1, "south keeps what it has");
    assert_eq!(document["dealers"][0]["inventory"]["unchanged"], 2);

    let (exit, document) =
        import_command(directory.path(), file(&[("001", "x")]).as_bytes(), &split);
    assert_eq!(exit, Some(2));
    assert!(document["error"]["hint"].as_str().unwrap().contains("feed_names"));
}

#[test]
fn a_feed_cut_off_mid_row_needs_force() {
    let directory = tempfile::tempdir().unwrap();
    let listings = demo::listings(240, 11, now());
    let whole = feed::homenet(&listings, b',').unwrap();
    let cut = &whole[..whole.len() - 200];
    let demo = ["--demo", "--dealer", DEALER_ID];
    let (exit, document) = import_command(directory.path(), cut, &demo);
    assert_eq!(exit, Some(2));
    assert_eq!(document["error"]["message"], "the feed looks incomplete; nothing was changed");
    let doubt = document["error"]["report"]["doubts"][0].as_str().unwrap();
    assert!(doubt.starts_with("the file ends in the middle of line"), "{doubt}");
    let (exit, _) =
        import_command(directory.path(), cut, &[demo.as_slice(), &["--force"]].concat());
    assert_eq!(exit, Some(0));
}
