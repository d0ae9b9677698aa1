//! A catalogue that changes while the publisher runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tradepost_document::json::{Value, json};

use crate::support::publisher::{Binding, Publisher, start_with};

/// Writes the file as one that is newer than the one before.
fn write(path: &Path, catalogue: &Value, later: u64) {
    fs::write(path, catalogue.to_string()).unwrap();
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + later);
    fs::File::options().write(true).open(path).unwrap().set_modified(moment).unwrap();
}

/// The ids of what is on offer.
fn offered(publisher: &Publisher) -> Vec<String> {
    let all = json!({"buying_mode": "wholesale", "fields": ["product_id"]});
    let answer = publisher.call(Binding::Mcp, "acme", "get_products", &all).json();
    let products = answer["result"]["structuredContent"]["products"].as_array().unwrap().clone();
    products.iter().map(|product| product["product_id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn what_is_sold_follows_the_file_and_mistakes_change_nothing() {
    let whole: Value = tradepost_document::json::from_str(include_str!(
        "../../../../seller/demo/src/publisher/catalogue.json"
    ))
    .unwrap();
    let with = |number: usize| {
        let mut catalogue = whole.clone();
        catalogue["products"].as_array_mut().unwrap().truncate(number);
        catalogue
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalogue.json");
    let publisher = start_with(&|config| config.publishers[0].catalogue = Some(path.clone()));
    let refresh = || publisher.registry.refresh().unwrap();
    write(&path, &with(1), 0);
    assert_eq!(offered(&publisher), [""; 0], "nobody has looked yet");
    refresh();
    let first = offered(&publisher);
    assert_eq!(first.len(), 1);
    let mut broken = with(2);
    broken["products"][0]["pricing_options"] = json!("free");
    write(&path, &broken, 1);
    refresh();
    assert_eq!(offered(&publisher), first);
    fs::remove_file(&path).unwrap();
    refresh();
    assert_eq!(offered(&publisher), first);
    write(&path, &with(2), 2);
    refresh();
    let both = offered(&publisher);
    assert_eq!((both.len(), &both[..1]), (2, &first[..]));
}
