//! What a folder keeps, moved to a database: the same answers come of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use jiff::SignedDuration;
use proptest::prelude::*;
use tradepost_document::json::Value;
use tradepost_runtime::adcp::store::SqlPublisherStore;
use tradepost_store::{NotMoved, Store};

use super::{customer, lead_id};
use crate::adcp::store::{everything, step, write};
use crate::process::Process;
use crate::support::postgres::Scratch;
use crate::support::{NOW, at, dealer, start_on};
use crate::tasks::logs;

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_done_is_there_afterwards(
        chapters in prop::collection::vec(
            (prop::collection::vec(step(), 1..6), prop::collection::vec(logs::steps(), 1..5)), 1..6,
        ),
    ) {
        let Some(scratch) = Scratch::new() else { return Ok(()) };
        let folder = tempfile::tempdir().unwrap();
        let source = Arc::new(Store::open(folder.path()).unwrap());
        let publisher_store = SqlPublisherStore::new(Arc::clone(&source), "one");
        for (things, tasks) in &chapters {
            write(&publisher_store, things.clone(), false);
            let _ = logs::perform(&*source, tasks, false);
        }
        let target = Arc::new(scratch.store());
        source.move_to(&target, |_| ()).unwrap();
        let moved = SqlPublisherStore::new(Arc::clone(&target), "one");
        prop_assert_eq!(everything(&moved), everything(&publisher_store));
        prop_assert_eq!(logs::everything(&*target), logs::everything(&*source));
        // And it goes on alike.
        for (things, tasks) in chapters {
            write(&publisher_store, things.clone(), false);
            write(&moved, things, false);
            prop_assert_eq!(
                logs::perform(&*target, &tasks, false), logs::perform(&*source, &tasks, false)
            );
        }
        prop_assert_eq!(everything(&moved), everything(&publisher_store));
    }
}

/// A folder with leads and an inventory.
fn folder() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let config = dealer::config();
    let store = Store::open(folder.path()).unwrap();
    dealer::stock(&store, &config);
    let server = start_on(store, config);
    for number in 0..40 {
        lead_id(&server.call(&customer(&format!("k-{number}"))).json()).unwrap();
    }
    drop(server);
    let store = Store::open(folder.path()).unwrap();
    // So many that they are packed, and moved in several parts.
    let listings = tradepost_demo::dealer::listings(1_200, 7, at(NOW));
    store.replace_inventory("large", &listings, at(NOW), false).unwrap();
    (folder, store)
}

#[test]
fn an_interrupted_move_goes_on_with_everything_once() {
    let Some(scratch) = Scratch::new() else { return };
    let (folder, source) = folder();
    let lifetime = SignedDuration::from_hours(24);
    let listed = |store: &Store| {
        let (mut listed, gone) = store.inventory("large", at(NOW), lifetime).unwrap();
        listed.sort_by(|one, other| one.vehicle_id.cmp(&other.vehicle_id));
        (format!("{listed:?}"), gone.len())
    };
    source.load_inventory("large", at(NOW), lifetime).unwrap();
    let target = scratch.store();
    let mut parts = 0;
    let stopped = catch_unwind(AssertUnwindSafe(|| {
        source.move_to(&target, |moved| {
            parts += 1;
            assert!(moved.table != "listings" || moved.done < 1_000, "here it ends");
        })
    }));
    assert!(stopped.is_err() && parts > 3, "it was interrupted after {parts} parts");
    // Whoever is killed has no transaction open afterwards.
    let source = Store::open(folder.path()).unwrap();
    let half = scratch.say("SELECT count(*)::text FROM listings").remove(0);
    assert!((1..1_200).contains(&half.parse::<usize>().unwrap()), "{half}");
    let moved = source.move_to(&target, |_| ()).unwrap();
    let listings = moved.iter().find(|moved| moved.table == "listings").unwrap();
    assert_eq!(listings.done, listings.of);
    assert_eq!(target.leads(None).unwrap(), source.leads(None).unwrap());
    assert_eq!(listed(&target), listed(&source));
    for lead in source.leads(None).unwrap() {
        let history = |store: &Store| format!("{:?}", store.lead_history(&lead.lead_id).unwrap());
        assert_eq!(history(&target), history(&source));
    }
    assert!(target.check_consents(None, None).unwrap().iter().all(|check| check.faults.is_empty()));
    let snapshot = |store: &Store| store.load_inventory("large", at(NOW), lifetime).unwrap();
    let names = [&target, &source].map(|store| snapshot(store).0.snapshot().name());
    assert_eq!(names[0], names[1]);
    // Another lead comes after those that were moved.
    let server = start_on(target, dealer::config());
    assert!(lead_id(&server.call(&customer("after")).json()).is_some());
}

#[test]
fn a_foreign_database_is_refused_and_the_folder_stays() {
    let Some(scratch) = Scratch::new() else { return };
    let (_folder, source) = folder();
    let target = scratch.store();
    dealer::stock(&target, &dealer::config());
    let refused = source.move_to(&target, |_| ()).unwrap_err();
    assert!(matches!(refused, NotMoved::Used(_)), "{refused}");
    assert_eq!(target.leads(None).unwrap(), []);
    assert_eq!(source.leads(None).unwrap().len(), 40);
}

#[test]
fn a_database_is_moved_to_once_then_served_whole() {
    let Some(scratch) = Scratch::new() else { return };
    let (one, first) = folder();
    let (_two, second) = folder();
    let target = scratch.store();
    let begun = catch_unwind(AssertUnwindSafe(|| {
        first.move_to(&target, |moved| assert!(moved.table != "listings", "here it ends"))
    }));
    assert!(begun.is_err());
    // Whoever is killed has no transaction open afterwards.
    drop(first);
    let first = Store::open(one.path()).unwrap();
    let refused = second.move_to(&target, |_| ()).unwrap_err();
    assert!(matches!(refused, NotMoved::Other), "{refused}");
    let unserved = scratch.store().on_change(|_| ()).unwrap_err().chain();
    assert!(unserved.contains("migrate-store"), "{unserved}");
    first.move_to(&target, |_| ()).unwrap();
    first.move_to(&target, |_| panic!("nothing is moved twice")).unwrap();

    // From now on it is used, and what is gone there does not come back.
    target.on_change(|_| ()).unwrap();
    let gone = target.leads(None).unwrap()[0].lead_id.clone();
    target.erase_leads(vec![gone], "test", at(NOW)).unwrap();
    let kept = target.leads(None).unwrap();
    for source in [&first, &second] {
        let refused = source.move_to(&target, |_| ()).unwrap_err();
        assert!(matches!(refused, NotMoved::Used(_) | NotMoved::Other), "{refused}");
    }
    assert_eq!(target.leads(None).unwrap(), kept);
}

#[test]
fn a_database_that_a_server_uses_is_not_moved_to() {
    let Some(scratch) = Scratch::new() else { return };
    let (_folder, source) = folder();
    let target = scratch.store();
    target.on_change(|_| ()).unwrap();
    let refused = source.move_to(&target, |_| ()).unwrap_err();
    assert!(matches!(refused, NotMoved::Served), "{refused}");
    assert_eq!(scratch.say("SELECT count(*)::text FROM moved_from"), ["0"]);
}

#[test]
fn the_command_moves_a_folder_that_no_server_uses() {
    let Some(scratch) = Scratch::new() else { return };
    let folder = tempfile::tempdir().unwrap();
    let address = scratch.address();
    let run = |to: &str| {
        let data = crate::process::data(folder.path());
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tradepost"));
        command.args(["--json", "migrate-store", "--to", to, "--data"]).arg(data).output().unwrap()
    };
    assert_eq!(run(&address).status.code(), Some(2), "there is nothing to move");
    let process = Process::bare(folder.path());
    process.call(&crate::process::fresh_lead(&[("/idempotency_key", "k-1".into())]));
    let refused = run(&address);
    assert_eq!(refused.status.code(), Some(1), "a server uses it");
    process.signal("TERM");
    process.end();
    for _ in 0..2 {
        let moved = run(&address);
        let said = String::from_utf8_lossy(&moved.stderr);
        assert_eq!(moved.status.code(), Some(0), "{said}");
    }
    assert_eq!(scratch.say("SELECT count(*)::text FROM leads"), ["1"]);
    scratch.say("UPDATE leads SET changed_at = changed_at + 1");
    let refused = run(&address);
    let said = String::from_utf8(refused.stdout).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    let said: Value = tradepost_document::json::from_str(&said).unwrap();
    assert_eq!(said["error"]["code"], "database_used", "{said}");
    let echo = run("mysql://u:s3cret@h/d");
    let said = String::from_utf8(echo.stderr).unwrap();
    assert!(echo.status.code() == Some(2) && !said.contains("s3cret"), "{said}");
}
