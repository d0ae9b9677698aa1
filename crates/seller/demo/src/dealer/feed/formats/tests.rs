use std::io::Cursor;

use jiff::Timestamp;
use tradepost_document::catalog::Vocabulary as _;

use super::*;
use crate::dealer;
use tradepost_dealer::import::{self, Mapping, SortedFeed};

fn now() -> Timestamp {
    "2026-11-20T17:00:00Z".parse().unwrap()
}

/// Fields of a listing for which a format has no column.
fn cannot_say(format: DemoFormat, v: &mut Vehicle) {
    let only_available = |v: &mut Vehicle| v.status = Some(ListingStatus::Available);
    match format {
        DemoFormat::HomeNet | DemoFormat::AapJson => {}
        DemoFormat::VAuto => v.electric_range_mi = None,
        DemoFormat::GoogleListings | DemoFormat::GoogleListingsTsv => {
            only_available(v);
            (v.electric_range_mi, v.city_mpg, v.highway_mpg) = (None, None, None);
        }
        DemoFormat::GoogleAds | DemoFormat::GoogleAdsXml => {
            only_available(v);
            (v.electric_range_mi, v.city_mpg, v.highway_mpg) = (None, None, None);
            (v.stock, v.engine, v.transmission, v.driveline) = (None, None, None, None);
            (v.interior_color, v.inventory_date) = (None, None);
        }
        DemoFormat::Meta | DemoFormat::MetaTsv | DemoFormat::MetaXml => {
            (v.electric_range_mi, v.city_mpg, v.highway_mpg) = (None, None, None);
            (v.engine, v.msrp) = (None, None);
            v.features.clear();
        }
        DemoFormat::AutoTrader => {
            only_available(v);
            (v.electric_range_mi, v.city_mpg, v.highway_mpg) = (None, None, None);
            (v.vdp_url, v.inventory_date) = (None, None);
        }
    }
}

fn says_sold(format: DemoFormat) -> bool {
    matches!(format, DemoFormat::HomeNet | DemoFormat::VAuto | DemoFormat::AapJson)
}

fn read(bytes: Vec<u8>, mapping: Option<&Mapping>) -> SortedFeed {
    import::read_as(Cursor::new(bytes), &[dealer::target()], mapping, now()).unwrap()
}

#[test]
fn every_format_brings_back_all_that_it_can_say() {
    let listings = dealer::listings(120, 11, now());
    for format in DemoFormat::ALL {
        let preset = Mapping::from_preset(format.preset());
        let sorted = read(format.write(&listings).unwrap(), Some(&preset));
        let [feed] = sorted.feeds.as_slice() else { panic!("{format}") };
        let expected: Vec<FeedListing> = listings
            .iter()
            .filter(|listing| !listing.sold || says_sold(*format))
            .cloned()
            .map(|mut listing| {
                listing.vehicle.updated_at = Some(now());
                cannot_say(*format, &mut listing.vehicle);
                listing
            })
            .collect();
        for (found, expected) in feed.listings.iter().zip(&expected) {
            assert_eq!(found, *expected, "{format}");
        }
        let report = &feed.report;
        assert_eq!(feed.listings.len(), expected.len(), "{format}: {:?}", report.skips);
        assert_eq!(report.ignored_columns, Vec::<String>::new(), "{format}");
        assert_eq!(report.doubts, Vec::<String>::new(), "{format}");
        assert_eq!(report.skipped, 0, "{format}");
    }
}

#[test]
fn a_format_with_a_heading_is_known_by_it() {
    let listings = dealer::listings(3, 11, now());
    for format in DemoFormat::ALL {
        // Bars without a heading match no preset, and AAP is recognised by its type.
        if matches!(format, DemoFormat::AutoTrader | DemoFormat::AapJson) {
            continue;
        }
        let sorted = read(format.write(&listings).unwrap(), None);
        let preset = sorted.feeds[0].report.preset.unwrap();
        assert_eq!((preset.name, preset.guessed), (format.preset(), true), "{format}");
    }
}

#[test]
fn aap_json_is_known_by_its_type() {
    let listings = dealer::listings(30, 11, now());
    let preset = Mapping::from_preset(Preset::AapJson);
    let bytes = DemoFormat::AapJson.write(&listings).unwrap();
    let by_type = read(bytes.clone(), None);
    assert_eq!(by_type.feeds[0].listings, read(bytes, Some(&preset)).feeds[0].listings);
    assert_eq!(by_type.feeds[0].report.format, "aap-json");
}

#[test]
fn a_saved_mapping_reads_the_same_feed_as_before() {
    let listings = dealer::listings(30, 11, now());
    for format in DemoFormat::ALL {
        let preset = Mapping::from_preset(format.preset());
        let bytes = format.write(&listings).unwrap();
        let first = read(bytes.clone(), Some(&preset));
        let text = first.mapping.to_toml();
        let saved =
            Mapping::parse(&text).unwrap_or_else(|wrong| panic!("{format}: {wrong:?}\n{text}"));
        assert_eq!(saved.to_toml(), text, "{format}");
        assert_eq!(
            read(bytes, Some(&saved)).feeds[0].listings,
            first.feeds[0].listings,
            "{format}"
        );
    }
}
