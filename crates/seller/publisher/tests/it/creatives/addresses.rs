//! Addresses in creatives that a publisher does not take, whoever reviews creatives.

use tradepost_adcp::AdcpTool;
use tradepost_document::json::{self, Value, json};
use tradepost_publisher::catalogue::Catalogue;
use tradepost_publisher::creative::policy::CreativePolicy;

use super::{but, demanding};
use crate::support::script::Script;

/// A banner with one more asset.
fn banner_with(id: &str, name: &str, asset: Value) -> Value {
    let mut assets = json!({"image": image("https://cdn.acme.example/a.png")});
    assets[name] = asset;
    but(id, json!({"assets": assets}))
}

fn image(url: &str) -> Value {
    json!({"asset_type": "image", "url": url, "width": 300, "height": 250})
}

fn link(url: &str) -> Value {
    json!({"asset_type": "url", "url": url, "url_type": "clickthrough"})
}

/// The result for one creative: its action, and the code and field of each error.
fn sync_result(script: &mut Script, creative: Value) -> Value {
    let answer = script.ask(AdcpTool::SyncCreatives, json!({"creatives": [creative]}));
    let result = &answer["creatives"][0];
    let errors = result["errors"].as_array().cloned().unwrap_or_default();
    let problems: Vec<Value> =
        errors.iter().map(|error| json!([error["code"], error["field"]])).collect();
    json!([result["action"], problems])
}

#[test]
fn unsafe_addresses_fail_before_any_review() {
    let mut script = Script::new();
    for url in [
        "javascript:alert(document.cookie)",
        "javascript://acme.example/%0aalert(1)",
        "data:text/html,hello",
        "file:///etc/passwd",
        "https://user:secret@acme.example/",
        "https://169.254.169.254/latest/meta-data",
        "https://[fe80::1]/",
        "https://192.168.1.1/admin",
        "https://localhost/",
        "https://intranet/",
        "http://acme.example/",
    ] {
        let result = sync_result(&mut script, banner_with("bad", "click", link(url)));
        let expected = json!(["failed", [["VALIDATION_ERROR", "creatives[0].assets.click.url"]]]);
        assert_eq!(result, expected, "{url}");
    }
    let stored = script.ask(AdcpTool::ListCreatives, json!({}));
    assert_eq!(stored["creatives"], json!([]), "nothing of a refused creative is stored");
}

#[test]
fn media_files_must_match_their_asset_type() {
    let mut script = Script::new();
    for (url, is_taken) in [
        ("https://cdn.acme.example/a.png", true),
        ("https://cdn.acme.example/render.php?id=7", true),
        ("https://cdn.acme.example/a", true),
        ("https://cdn.acme.example/a.exe", false),
        ("https://cdn.acme.example/a.%65xe", false),
        ("https://cdn.acme.example/a.zip", false),
        ("https://cdn.acme.example/a.mp4", false),
        ("https://cdn.acme.example/a.html", false),
    ] {
        let assets = json!({"assets": {"image": image(url)}});
        let result = sync_result(&mut script, but("one", assets));
        let is_failed = result[0] == "failed";
        assert_eq!(is_failed, !is_taken, "{url}: {result}");
        if is_failed {
            let errors = json!([["VALIDATION_ERROR", "creatives[0].assets.image.url"]]);
            assert_eq!(result[1], errors, "{url}");
        }
    }
}

#[test]
fn formats_limit_types_of_files() {
    let mut document: Value =
        json::from_str(include_str!("../../../../demo/src/publisher/catalogue.json")).unwrap();
    let formats = document["formats"].as_array_mut().unwrap();
    let banner = formats.iter_mut().find(|format| format["format_id"]["id"] == "display_300x250");
    let slots = banner.unwrap()["assets"].as_array_mut().unwrap();
    let slot = slots.iter_mut().find(|slot| slot["asset_id"] == "image");
    slot.unwrap()["requirements"] = json!({"formats": ["jpg", "png"]});
    let mut script = Script::from_catalogue(Catalogue::parse(&document.to_string()).unwrap());
    for (url, declared, failing) in [
        ("https://cdn.acme.example/a.jpeg", "JPG", json!([])),
        ("https://cdn.acme.example/a.gif", "png", json!(["url"])),
        ("https://cdn.acme.example/a.gif", "gif", json!(["url", "format"])),
    ] {
        let mut asset = image(url);
        asset["format"] = json!(declared);
        let result = sync_result(&mut script, but("one", json!({"assets": {"image": asset}})));
        let fields: Vec<String> = result[1]
            .as_array()
            .unwrap()
            .iter()
            .map(|error| error[1].as_str().unwrap().replace("creatives[0].assets.image.", ""))
            .collect();
        assert_eq!(json!(fields), failing, "{url}");
    }
}

#[test]
fn http_is_accepted_where_the_catalogue_says_so() {
    let click = || banner_with("plain", "click", link("http://acme.example/"));
    let refused = sync_result(&mut Script::new(), click());
    assert_eq!(refused[0], "failed");
    let declaring = demanding(CreativePolicy { allow_http: true, ..CreativePolicy::default() });
    let accepted = sync_result(&mut Script::from_catalogue(declaring), click());
    assert_eq!(accepted, json!(["created", []]));
}
