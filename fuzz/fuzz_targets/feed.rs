//! Whatever comes as a feed, in whatever packing, is read to a report that adds up, or refused.

#![no_main]

use std::collections::HashSet;
use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use tradepost_dealer::import;
use tradepost_demo::dealer as demo;

fuzz_target!(|bytes: &[u8]| {
    let now = "2026-11-20T17:00:00Z".parse().expect("it is a moment");
    let Ok(sorted) = import::read(Cursor::new(bytes), &[demo::target()], now) else {
        return;
    };
    for feed in sorted.feeds {
        let report = feed.report;
        assert_eq!(report.rows, report.accepted + report.sold + report.skipped);
        assert_eq!(feed.listings.len(), report.accepted + report.sold);
        assert_eq!(feed.listings.offered(), report.accepted);
        // As they are unpacked: no two have the same id.
        let ids: HashSet<_> =
            feed.listings.iter().map(|listing| listing.vehicle.vehicle_id).collect();
        assert_eq!(ids.len(), feed.listings.len());
    }
});
