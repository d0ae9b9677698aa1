//! Directories of dealers: read again, and no reason to end when they are down.

use std::time::Duration;

use tradepost_bridge::Bridge;
use tradepost_document::json::{Value, json};

use super::{CLOSED_ADDRESS, bridge, call, fake, time};

fn dealer() -> fake::Fake {
    fake::Fake::start(|_| Ok(json!({"total": 0, "vehicles": []})))
}

fn address(directory: &str) -> String {
    format!("http://{directory}/.well-known/api-catalog")
}

/// The dealers that answered a search, and the codes of failures.
async fn search(bridge: &Bridge) -> (Vec<Value>, Vec<Value>) {
    let document = bridge.call("aap_inventory_search", &json!({})).await.unwrap().document;
    let each = |list: &str, member: &str| -> Vec<Value> {
        let items = document[list].as_array();
        items.into_iter().flatten().map(|item| item[member].clone()).collect()
    };
    if document["code"].is_string() {
        return (Vec::new(), vec![document["code"].clone()]);
    }
    (each("dealers", "dealer"), each("errors", "code"))
}

#[test]
fn a_directory_is_read_again_and_its_changes_appear() {
    let first = dealer();
    let second = dealer();
    let directory = fake::Directory::start();
    directory.lists(&[&first.name]);
    let (bridge, _) = bridge(&[]);
    let bridge = bridge.with_directories([address(&directory.name)]);
    time::run_held(async {
        assert_eq!(search(&bridge).await, (vec![json!(first.name)], vec![]));
        directory.lists(&[&second.name]);
        assert_eq!(search(&bridge).await.0, [json!(first.name)], "it is believed for a while");
        tokio::time::advance(Duration::from_secs(301)).await;
        assert_eq!(search(&bridge).await, (vec![json!(second.name)], vec![]));
        // What it named before stays while it is down.
        directory.close();
        tokio::time::advance(Duration::from_secs(301)).await;
        let unreadable = vec![json!("DIRECTORY_UNREADABLE")];
        assert_eq!(search(&bridge).await, (vec![json!(second.name)], unreadable));
        directory.lists(&[&first.name, &second.name]);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(search(&bridge).await, (vec![json!(first.name), json!(second.name)], vec![]));
    });
}

#[test]
fn a_directory_down_at_the_start_hides_no_dealer() {
    let dealer = dealer();
    let (with_dealer, _) = bridge(&[&dealer.name]);
    let with_dealer = with_dealer.with_directories([address(CLOSED_ADDRESS)]);
    let (alone, _) = bridge(&[]);
    let alone = alone.with_directories([address(CLOSED_ADDRESS)]);
    let unreadable = vec![json!("DIRECTORY_UNREADABLE")];
    time::run_held(async {
        let troubles = with_dealer.read_directories().await;
        assert!(troubles[0].text().starts_with("DIRECTORY_UNREADABLE: "), "{}", troubles[0].text());
        let named = format!("(directory {CLOSED_ADDRESS}/.well-known/api-catalog)");
        assert!(troubles[0].text().contains(&named), "{}", troubles[0].text());
        assert_eq!(search(&with_dealer).await, (vec![json!(dealer.name)], unreadable.clone()));
        assert_eq!(alone.tools().len(), 5);
        assert_eq!(search(&alone).await, (vec![], unreadable));
    });
    let names = call(&with_dealer, "aap_dealer_information", &json!({"names_only": true})).document;
    assert_eq!(names["dealers"], json!([{"dealer": dealer.name}]));
    assert_eq!(names["errors"][0]["code"], "DIRECTORY_UNREADABLE");
}

#[test]
fn of_a_large_directory_the_first_200_dealers_count() {
    let directory = fake::Directory::start();
    let names: Vec<_> = (0..201).map(|n| format!("127.0.0.1:{}", 20_000 + n)).collect();
    directory.lists(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let (bridge, _) = bridge(&[]);
    let bridge = bridge.with_directories([address(&directory.name)]);
    let names = call(&bridge, "aap_dealer_information", &json!({"names_only": true})).document;
    assert_eq!(names["dealers"].as_array().unwrap().len(), 200);
    assert_eq!(names["errors"][0]["code"], "DIRECTORY_TOO_LARGE");
}
