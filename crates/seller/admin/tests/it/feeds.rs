//! Feeds that a person looks at and runs, and what the audit log has of a run.

use tradepost_admin::feeds::{
    FeedName, FeedRefusal, ImportInventory, ListFeeds, RunFeed, ShowFeed, import_inventory,
    list_feeds, run_feed, show_feed,
};
use tradepost_admin::{Actor, AdminError};
use tradepost_dealer::import::{FeedListing, PackedListings};
use tradepost_dealer::staff::StaffRole;
use tradepost_document::catalog::Vocabulary;
use tradepost_store::{FeedOutcome, FeedRun};

use crate::{SHOP, TestEnv, member, now};

fn nightly() -> FeedName {
    FeedName { dealer_id: SHOP.to_owned(), feed: "nightly".to_owned() }
}

fn run(run_id: &str, outcome: FeedOutcome) -> FeedRun {
    FeedRun {
        run_id: run_id.to_owned(),
        dealer_id: SHOP.to_owned(),
        feed: "nightly".to_owned(),
        began_at: now(),
        ended_at: now(),
        source: "feed.csv".to_owned(),
        outcome,
        message: None,
        report: "null".to_owned(),
    }
}

#[test]
fn a_run_that_a_person_starts_is_recorded_with_it() {
    let env = TestEnv::new();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    for (run_id, outcome) in [("run_1", FeedOutcome::Taken), ("run_2", FeedOutcome::Held)] {
        let input = RunFeed { name: nightly() };
        let stored = run_feed(&context, &egon, input, |record| {
            let ended = run(run_id, outcome);
            let kept = ended.clone();
            env.store.write_blocking(move |tx| {
                tx.end_feed_run(&kept)?;
                record.write(tx, &kept)
            })?;
            Ok(Some(ended))
        });
        assert_eq!(stored.unwrap().run_id, run_id);
    }
    let busy = run_feed(&context, &egon, RunFeed { name: nightly() }, |_| Ok(None));
    assert!(matches!(busy, Err(AdminError::Refused(FeedRefusal::Busy))), "{busy:?}");
    assert_eq!(
        env.record(SHOP),
        ["cli:egon feed_run nightly run_1 taken", "cli:egon feed_run nightly run_2 held"]
    );
    let known = list_feeds(&context, &egon, ListFeeds { feeds: vec![nightly()] }).unwrap();
    assert_eq!(known.len(), 1);
}

fn car(vehicle_id: &str) -> FeedListing {
    let mut listing = FeedListing { vehicle: Default::default(), sold: false };
    listing.vehicle.vehicle_id = Some(vehicle_id.to_owned());
    listing.vehicle.updated_at = Some(now());
    listing.vehicle.status = Vocabulary::from_name("available");
    listing
}

#[test]
fn an_imported_file_is_recorded_with_its_name_and_counts() {
    let env = TestEnv::new();
    let context = env.context();
    let egon = Actor::operator("cli:egon");
    let import = |file: &str, listings: &[FeedListing]| {
        let input = ImportInventory {
            dealer_id: SHOP.to_owned(),
            file: file.to_owned(),
            listings: PackedListings::from(listings),
        };
        import_inventory(&context, &egon, input).unwrap()
    };
    assert_eq!(import("cars.csv", &[car("one"), car("two")]).added, 2);
    assert_eq!(import("rest\u{1b}[2J.csv", &[car("one")]).removed, 1);
    assert_eq!(
        env.record(SHOP),
        [
            "cli:egon inventory_imported cars.csv 2 added, 0 changed, 0 removed, 0 unchanged",
            "cli:egon inventory_imported rest[2J.csv 0 added, 0 changed, 1 removed, 1 unchanged",
        ]
    );
}

#[test]
fn a_named_run_is_shown_or_unknown() {
    let env = TestEnv::new();
    let context = env.context();
    let store = &env.store;
    store.write_blocking(|tx| tx.end_feed_run(&run("run_1", FeedOutcome::Taken))).unwrap();
    let erin = Actor::from_member(&member("erin", StaffRole::Engineer, Some(SHOP)));
    let show = |run_id: Option<&str>| {
        let run_id = run_id.map(str::to_owned);
        show_feed(&context, &erin, ShowFeed { name: nightly(), run_id })
    };
    for wanted in [None, Some("run_1")] {
        let found = show(wanted).unwrap();
        assert_eq!(found.runs.len(), 1);
        assert_eq!(found.shown.unwrap().run_id, "run_1");
    }
    let unknown = show(Some("run_2"));
    let is_unknown = matches!(unknown, Err(AdminError::Refused(FeedRefusal::UnknownRun(_))));
    assert!(is_unknown, "{unknown:?}");
    let other = Actor::from_member(&member("olga", StaffRole::Engineer, Some("other")));
    let refused = list_feeds(&context, &other, ListFeeds { feeds: vec![nightly()] });
    let is_strange = matches!(refused, Err(AdminError::Refused(FeedRefusal::UnknownDealer(_))));
    assert!(is_strange, "{refused:?}");
}
