use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::import::{FeedError, FeedRooftop, FeedTarget, PricePolicy, SortedFeed, read};

fn try_read(bytes: Vec<u8>) -> Result<SortedFeed, FeedError> {
    let rooftop = FeedRooftop { name: "Acme".into(), feed_names: Vec::new(), fees: 0 };
    let target = FeedTarget {
        dealer_id: "acme".into(),
        name: "Acme".into(),
        rooftops: vec![rooftop],
        price_truth: PricePolicy::Warn,
    };
    read(Cursor::new(bytes), &[target], "2026-11-20T17:00:00Z".parse().unwrap())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer.start_file(*name, SimpleFileOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

const FEED: &[u8] = b"Stock,Make,Model\nA1,Honda,Accord\nA2,Honda,Civic\n";

#[test]
fn a_packed_feed_is_read_like_a_plain_one() {
    let own: &[(&str, &[u8])] =
        &[("__MACOSX/._feed.csv", b"x"), (".DS_Store", b"x"), ("out/feed.csv", FEED)];
    for bytes in [FEED.to_vec(), gzip(FEED), zip(&[("feed.csv", FEED)]), zip(own)] {
        assert_eq!(try_read(bytes).unwrap().feeds[0].listings.len(), 2);
    }
}

#[test]
fn another_way_of_packing_is_refused_with_a_reason() {
    let bomb = vec![b' '; 65 << 20];
    let whole = gzip(FEED);
    let sheet: &[(&str, &[u8])] = &[("[Content_Types].xml", b"<a/>"), ("xl/sheet.xml", b"<a/>")];
    for (bytes, expected) in [
        (zip(&[]), "holds no file"),
        (zip(&[("a.csv", FEED), ("b.csv", FEED)]), "holds 2 files"),
        (zip(sheet), "spreadsheet"),
        (gzip(&gzip(FEED)), "packed more than once"),
        (gzip(&zip(&[("feed.csv", FEED)])), "packed more than once"),
        (whole[..whole.len() / 2].to_vec(), "cannot be read"),
        (gzip(&bomb), "unpacks to more than"),
        (zip(&[("feed.csv", &bomb)]), "unpacks to more than"),
    ] {
        let error = try_read(bytes).unwrap_err();
        assert!(error.message.contains(expected), "{expected}: {error}");
    }
}
