//! Tests of damaged, truncated and forged snapshots: they are rejected; a forged one with a valid
//! checksum answers or returns an error, and never panics.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tradepost_aap::{Filters, Search, VehicleQuery};

use super::*;
use tradepost_demo::dealer as demo;

fn inventory() -> Inventory {
    let now = "2026-04-30T12:00:00Z".parse().unwrap();
    let vehicles = demo::listings(80, 7, now).into_iter().map(|listing| listing.vehicle).collect();
    let tombstone = Tombstone {
        vehicle_id: "gone".into(),
        vin: Some("1FTFW1E50NFA00001".into()),
        stock: None,
        make_model: Some(("Ford".into(), "F-150".into())),
        last_status: "sold".into(),
        removed_at: now,
    };
    Inventory::build(vehicles, vec![tombstone]).unwrap()
}

#[test]
fn a_snapshot_cut_off_or_changed_anywhere_is_refused() {
    let bytes = inventory().snapshot().to_bytes();
    assert!(Inventory::read(&bytes).is_ok());
    // Every position near the ends, and some in between, because each costs a checksum of the
    // whole.
    let places =
        (0..200).chain((200..bytes.len()).step_by(97)).chain(bytes.len() - 50..bytes.len());
    for place in places {
        assert!(Inventory::read(&bytes[..place]).is_err(), "cut off at {place}");
        let mut changed = bytes.clone();
        changed[place] ^= 1 << (place % 8);
        assert!(Inventory::read(&changed).is_err(), "changed at {place}");
    }
    let longer = [bytes.as_slice(), b"\0"].concat();
    assert!(Inventory::read(&longer).is_err());
}

#[test]
fn snapshots_of_the_same_content_have_the_same_name() {
    let one = inventory().snapshot();
    let other = inventory().snapshot();
    assert_eq!((one.name(), one.name().len()), (other.name(), 64));
    assert_ne!(one.name(), Inventory::default().snapshot().name());
}

#[test]
fn a_vehicle_takes_little_room() {
    let now = "2026-04-30T12:00:00Z".parse().unwrap();
    let vehicles =
        demo::listings(3_000, 7, now).into_iter().map(|listing| listing.vehicle).collect();
    let built = Inventory::build(vehicles, Vec::new()).unwrap();
    let read = Inventory::read(&built.snapshot().to_bytes()).unwrap();
    let MemoryUse { index, listings } = read.memory();
    assert!(index / 3_000 <= 300, "{} bytes of index", index / 3_000);
    assert!(listings / 3_000 <= 500, "{} bytes of listings", listings / 3_000);
}

/// Runs every kind of query once.
fn ask(inventory: &Inventory) {
    let policy = SearchPolicy { default_limit: 20, max_limit: 100 };
    let texts = |text: &str| vec![text.to_owned()];
    for filters in [
        Filters::default(),
        Filters { make: texts("Honda"), price_max: Some(30_000), ..Filters::default() },
        Filters { body: texts("suv"), year_min: Some(2020), ..Filters::default() },
        Filters { query: Some("white heated seats r10".into()), ..Filters::default() },
    ] {
        let _ = inventory.facets(&filters, CurrentYear::TEST);
        let _ =
            inventory.search(&Search { filters, ..Search::default() }, policy, CurrentYear::TEST);
    }
    for (vin, stock) in [(Some("1FTFW1E50NFA00001"), None), (None, Some("R10018"))] {
        let vin = vin.map(str::to_owned);
        let stock = stock.map(str::to_owned);
        let query = VehicleQuery { vin, stock, vehicle_id: Some("veh".into()) };
        let _ = inventory.find(&query, Timestamp::MIN);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: RngSeed::Fixed(13), ..ProptestConfig::default() })]

    /// A forged snapshot with a valid checksum cannot cause a panic.
    #[test]
    fn what_is_sealed_and_wrong_does_not_panic(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        end in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        static PAYLOAD: std::sync::LazyLock<Vec<u8>> =
            std::sync::LazyLock::new(|| inventory().snapshot().parts()[2].to_vec());
        let mut payload = PAYLOAD.clone();
        for (place, byte) in changes {
            let place = place.index(payload.len());
            payload[place] = byte;
        }
        if let Some(end) = end {
            payload.truncate(end.index(payload.len()));
        }
        if let Ok(inventory) = Inventory::read(&Snapshot::seal(payload).to_bytes()) {
            ask(&inventory);
        }
    }
}
