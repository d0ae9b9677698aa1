//! A snapshot of an inventory, whoever has written it: it is refused, or it answers or says that it is
//! broken. What is damaged is sealed again, because nothing would come past the sum.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tradepost_aap::{Filters, Search, VehicleQuery};
use tradepost_dealer::inventory::{CurrentYear, Inventory, Snapshot};
use tradepost_dealer::settings::SearchPolicy;
use tradepost_dealer::skills;
use tradepost_demo::dealer as demo;

static PAYLOAD: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let now = "2026-04-30T12:00:00Z".parse().expect("a moment");
    let vehicles = demo::listings(80, 7, now).into_iter().map(|listing| listing.vehicle).collect();
    let built = Inventory::build(vehicles, Vec::new()).expect("demo vehicles can be written");
    let [_, _, payload] = built.snapshot().parts().map(<[u8]>::to_vec);
    payload
});

fuzz_target!(|input: (Vec<(u32, u8)>, Option<u32>, Option<Vec<u8>>)| {
    let (changes, end, instead) = input;
    let mut payload = instead.unwrap_or_else(|| PAYLOAD.clone());
    let size = payload.len().max(1);
    for (place, byte) in changes {
        if let Some(place) = payload.get_mut(place as usize % size) {
            *place = byte;
        }
    }
    if let Some(end) = end {
        payload.truncate(end as usize % size);
    }
    let Ok(inventory) = Inventory::read(&Snapshot::seal(payload).to_bytes()) else { return };
    let policy = SearchPolicy { default_limit: 20, max_limit: 100 };
    let year = CurrentYear::from_timestamp(jiff::Timestamp::UNIX_EPOCH);
    let texts = |text: &str| vec![text.to_owned()];
    for filters in [
        Filters::default(),
        Filters { make: texts("Honda"), price_max: Some(30_000), ..Filters::default() },
        Filters { query: Some("white suv heated seats r10".into()), ..Filters::default() },
    ] {
        let _ = skills::facets(&inventory, &filters, year);
        let search = Search { filters, ..Search::default() };
        let _ = skills::search(&inventory, &search, policy, year);
    }
    let query = VehicleQuery { stock: Some("R10018".into()), ..VehicleQuery::default() };
    let _ = inventory.find(&query, jiff::Timestamp::MIN);
});
