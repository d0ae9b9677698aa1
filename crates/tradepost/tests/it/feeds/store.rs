//! What is kept of feeds, on both databases.

use jiff::SignedDuration;
use tradepost_runtime::feeds::run;
use tradepost_server::clock::Clock;
use tradepost_server::fault::InternalError;
use tradepost_store::{FeedOutcome, FeedRun, Store};

use crate::support::at;
use crate::support::postgres::Scratch;

fn plays(store: &Store) {
    let now = at("2026-04-30T12:00:00Z");
    let later = move |minutes| now.checked_add(SignedDuration::from_mins(minutes)).unwrap();
    let lease = |holder: &'static str, minutes: i64| {
        let at = later(minutes);
        let until = later(minutes + 5);
        store.write_blocking(move |tx| tx.lease_feeds("acme", holder, at, until)).unwrap()
    };
    assert!(lease("one", 0));
    assert!(!lease("two", 4), "another is at work");
    assert!(lease("two", 5), "whoever is gone keeps nobody away");
    store.write_blocking(|tx| tx.release_feeds("acme", "one")).unwrap();
    assert!(!lease("one", 6), "nobody ends what is another's");
    store.write_blocking(|tx| tx.release_feeds("acme", "two")).unwrap();
    assert!(lease("one", 6));

    for number in 0..60 {
        let run = FeedRun {
            run_id: format!("run_{number:03}"),
            dealer_id: "acme".to_owned(),
            feed: "nightly".to_owned(),
            began_at: later(number),
            ended_at: later(number),
            source: "a.csv".to_owned(),
            outcome: FeedOutcome::Held,
            message: (number % 2 == 0).then(|| "too few".to_owned()),
            report: "null".to_owned(),
        };
        store.write_blocking(move |tx| tx.end_feed_run(&run)).unwrap();
    }
    let runs = store.feed_runs("acme", "nightly", 100).unwrap();
    let ids: Vec<_> = runs.iter().map(|run| run.run_id.as_str()).collect();
    assert_eq!((ids.len(), ids[0], ids[49]), (50, "run_059", "run_010"));
    assert_eq!((runs[0].message.as_deref(), runs[1].message.as_deref()), (None, Some("too few")));

    store.write_blocking(move |tx| tx.mark_feed("acme", "nightly", Some("m"), now)).unwrap();
    store.write_blocking(move |tx| tx.feed_is_stale("acme", "nightly", Some(now))).unwrap();
    store.write_blocking(move |tx| tx.mark_feed("acme", "nightly", None, later(1))).unwrap();
    let state = store.feed_state("acme", "nightly").unwrap();
    assert_eq!((state.mark.as_deref(), state.looked_at), (Some("m"), Some(later(1))));
    assert_eq!((state.taken_at, state.stale_since), (None, Some(now)));
    assert_eq!(store.stale_feeds().unwrap(), 1);
    store.write_blocking(move |tx| tx.feed_is_fresh("acme", "nightly", later(2))).unwrap();
    let state = store.feed_state("acme", "nightly").unwrap();
    assert_eq!((state.taken_at, state.stale_since), (Some(later(2)), None));
    assert_eq!(store.stale_feeds().unwrap(), 0);
}

#[test]
fn one_works_on_an_inventory_and_runs_are_remembered() {
    let folder = tempfile::tempdir().unwrap();
    plays(&Store::open(folder.path()).unwrap());
    if let Some(scratch) = Scratch::new() {
        plays(&scratch.store());
    }
}

#[test]
fn who_works_on_several_inventories_has_all_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let (clock, _) = Clock::manual(at("2026-04-30T12:00:00Z"));
    let try_it = |dealers: &[&str]| {
        let worked = run::leased(&store, &clock, dealers, || Ok(()));
        worked.unwrap().is_some()
    };
    let worked = run::leased(&store, &clock, &["south"], || {
        assert!(!try_it(&["south"]));
        assert!(!try_it(&["north", "south"]));
        assert!(try_it(&["north"]), "whoever got one of two has given it back");
        Err::<(), _>(InternalError::new("working", "it failed"))
    });
    assert!(worked.is_err());
    assert!(try_it(&["north", "south"]), "what failed keeps nobody away");
}
