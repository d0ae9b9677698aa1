//! `tradepost dealer`, on the folder and by the API, and the commands that work with hosted dealers.

use tradepost_document::json::{Value, from_str, json};

use super::{HostingFixture, dealer, stdout, tradepost};
use crate::process::data;

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn dealers_are_managed_on_the_folder_and_from_far_away() {
    let fixture = HostingFixture::start();
    let folder = fixture.folder.path();
    let folder_of_data = data(folder);
    let here = ["--config", "tradepost.toml", "--data", folder_of_data.to_str().unwrap()];
    let admin = format!("http://{}", fixture.operators);
    let there = ["--admin", admin.as_str(), "--key", fixture.key.as_str()];
    let section = "[[dealers]]\nid = \"toml\"\nname = \"Toml\"\nhosts = [\"toml.example\"]\n\
                   [[dealers.rooftops]]\nname = \"A\"\n";
    std::fs::write(folder.join("one.toml"), section).unwrap();
    std::fs::write(folder.join("more.json"), dealer("more").to_string()).unwrap();
    for (file, where_, id) in [("one.toml", &here, "toml"), ("more.json", &there, "more")] {
        let say =
            |arguments: &[&str]| tradepost(folder, &[&["dealer"], arguments, &where_[..]].concat());
        let json = |arguments: &[&str]| -> Value {
            let output =
                tradepost(folder, &[&["--json", "dealer"], arguments, &where_[..]].concat());
            from_str(&stdout(&output)).unwrap()
        };
        assert_eq!(json(&["add", file])["dealers"], json!([id]));
        let host = format!("{id}.example");
        fixture.process.until("it is served", || fixture.name_on(&host).is_some());
        let twice = say(&["add", file]);
        assert_eq!(twice.status.code(), Some(6), "{}", stderr(&twice));
        assert!(stderr(&twice).contains("hint: choose another id"), "{}", stderr(&twice));
        stdout(&say(&["set", id, "name=Quite other", "rate_limit.requests=7"]));
        let shown = json(&["show", id]);
        assert_eq!(shown["settings"]["name"], "Quite other");
        assert_eq!(shown["settings"]["rate_limit"]["requests"].as_i64(), Some(7));
        fixture
            .process
            .until("it is renamed", || fixture.name_on(&host).as_deref() == Some("Quite other"));
        let wrong = say(&["set", id, "nmae=x", "rooftops=[]"]);
        assert_eq!(wrong.status.code(), Some(2));
        assert!(stderr(&wrong).contains("/nmae: ") && stderr(&wrong).contains("/rooftops: "));
        let stale = say(&["set", id, "name=x", "--revision", "1"]);
        assert_eq!(stale.status.code(), Some(6), "{}", stderr(&stale));
        stdout(&say(&["suspend", id]));
        fixture.process.until("it rests", || fixture.name_on(&host).is_none());
        let listed = json(&["list"]);
        let listed: Vec<_> = listed.as_array().unwrap().iter().collect();
        let of = |id: &str| {
            listed.iter().find(|dealer| dealer["id"] == *id).map(|dealer| dealer["state"].clone())
        };
        assert_eq!((of("fixed"), of(id)), (Some(json!("serving")), Some(json!("suspended"))));
        stdout(&say(&["resume", id]));
        fixture.process.until("it is back", || fixture.name_on(&host).is_some());
        assert!(stderr(&say(&["remove", id])).contains("leads and consents stay"));
        fixture.process.until("it is gone", || fixture.name_on(&host).is_none());
        assert_eq!(say(&["show", "nobody"]).status.code(), Some(4));
        assert_eq!(say(&["remove", "fixed"]).status.code(), Some(6));
        stdout(&say(&["add", file, "--force"]));
        fixture.process.until("it came back", || fixture.name_on(&host).is_some());
    }
    let unreachable =
        tradepost(folder, &["dealer", "list", "--admin", "http://127.0.0.1:1", "--key", "k"]);
    assert_eq!(unreachable.status.code(), Some(10), "{}", stderr(&unreachable));
    let bad = tradepost(folder, &["dealer", "list", "--admin", &admin, "--key", "tp_none"]);
    assert_eq!(bad.status.code(), Some(9), "{}", stderr(&bad));
    assert!(!stderr(&bad).contains("tp_none"));
}

#[test]
fn who_is_suspended_rests_although_its_files_are_gone() {
    let fixture = HostingFixture::start();
    let folder = fixture.folder.path();
    let folder_of_data = data(folder);
    let here = ["--config", "tradepost.toml", "--data", folder_of_data.to_str().unwrap()];
    let secret = folder.join("bearer");
    std::fs::write(&secret, "s3cret").unwrap();
    let deliveries = json!([{
        "name": "crm", "by": "https", "url": "https://crm.example/adf",
        "bearer_file": secret.to_str().unwrap(),
    }]);
    let mut document = dealer("files");
    document.as_object_mut().unwrap().insert("deliveries".into(), deliveries);
    std::fs::write(folder.join("files.json"), document.to_string()).unwrap();
    let twice = ["dealer", "add", "files.json", "files.json"];
    let twice = tradepost(folder, &[&twice[..], &here[..]].concat());
    assert_eq!(twice.status.code(), Some(6), "{}", stderr(&twice));
    stdout(&tradepost(folder, &[&["dealer", "add", "files.json"], &here[..]].concat()));
    let name = || fixture.name_on("files.example");
    fixture.process.until("it is served", || name().is_some());
    let patched = fixture.ask("PATCH", "/dealers/files", &[], r#"{"name": "Other"}"#);
    assert_eq!(patched.status, 200, "{}", patched.snapshot());
    assert_eq!(name().as_deref(), Some("Other"));
    std::fs::remove_file(&secret).unwrap();
    assert_eq!(fixture.ask("POST", "/dealers/files/suspend", &[], "").status, 200);
    fixture.process.until("it rests", || name().is_none());
    fixture.process.until("it is told", || fixture.process.log().contains("it is tried again"));
    let resumed = fixture.ask("POST", "/dealers/files/resume", &[], "");
    assert_eq!((resumed.status, name()), (202, None), "{}", resumed.snapshot());
    assert_eq!(resumed.json()["served"], false);
    assert_eq!(resumed.json()["state"], "serving");
    std::fs::write(&secret, "s3cret").unwrap();
    fixture.process.until("it is back", || name().is_some());
    assert_eq!(fixture.ask("POST", "/dealers/files/resume", &[], "").status, 200);
}

#[test]
fn a_hosted_dealer_has_inventory_and_keys_like_others() {
    let fixture = HostingFixture::start();
    let folder = fixture.folder.path();
    let mut document = dealer("sells");
    let names = ["Larkspur Motors Ridgemont", "Larkspur Motors Fairview"];
    let rooftops = json!([{"name": "Downtown", "feed_names": names}]);
    for (key, value) in [("auth", json!({"api_keys": true})), ("rooftops", rooftops)] {
        document.as_object_mut().unwrap().insert(key.into(), value);
    }
    assert_eq!(fixture.ask("POST", "/dealers", &[], &document.to_string()).status, 201);
    let feed = stdout(&tradepost(folder, &["feeds", "demo", "--format", "homenet", "--size", "5"]));
    std::fs::write(folder.join("feed.csv"), feed).unwrap();
    let folder_of_data = data(folder);
    let place = ["--config", "tradepost.toml", "--data", folder_of_data.to_str().unwrap()];
    let import = ["import", "feed.csv", "--dealer", "sells"];
    let imported = tradepost(folder, &[&import[..], &place[..]].concat());
    assert!(imported.status.success(), "{}", stderr(&imported));
    let keys = ["keys", "create", "--dealer", "sells", "--name", "buyer"];
    let key = stdout(&tradepost(folder, &[&keys[..], &place[..]].concat()));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {
        "messageId": "1", "role": "ROLE_USER", "parts": [{"data": {"type": "inventory.search.request"}}]}}});
    let bearer = format!("Bearer {}", key.trim());
    let headers = [
        ("Host", "sells.example"),
        ("Content-Type", "application/json"),
        ("Authorization", bearer.as_str()),
    ];
    let ask = || {
        let body = call.to_string();
        crate::support::client::request(
            fixture.process.address,
            "POST",
            "/a2a",
            &headers,
            body.as_bytes(),
        )
    };
    assert_eq!(ask().status, 200, "{}", ask().snapshot());
    assert!(ask().snapshot().contains("5 vehicles match."), "{}", ask().snapshot());
    assert_eq!(fixture.ask("DELETE", "/dealers/sells", &[], "").status, 204);
    assert_eq!(fixture.ask("POST", "/dealers?reuse=true", &[], &document.to_string()).status, 201);
    assert_eq!(ask().status, 401, "the keys of a removed dealer are revoked");
}
