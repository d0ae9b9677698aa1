//! `tradepost publisher adagents`: what it writes is valid by the published schemas, and what it checks.

use std::error::Error;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::thread;

use expect_test::expect;
use jsonschema::{Retrieve, Uri};
use tradepost_document::json::{self, Value};

use super::{CONFIG, TABLE, run, text};
use crate::beside::{published, without};

fn folder_with_files(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tradepost.toml"), config).unwrap();
    fs::write(folder.path().join("products.csv"), TABLE).unwrap();
    let import = ["publisher", "catalogue", "import", "products.csv", "--into", "tradepost.toml"];
    assert_eq!(run(folder.path(), &import).status.code(), Some(0));
    folder
}

/// Address at which the published schemas are.
const BASE: &str = "https://adcontextprotocol.org";

/// Schemas of a release, by the path below which their ids are.
struct Schemas {
    folder: PathBuf,
    prefix: &'static str,
}

impl Retrieve for Schemas {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<serde_json::Value, Box<dyn Error + Send + Sync>> {
        let place = uri.as_str().strip_prefix(BASE).and_then(|id| id.strip_prefix(self.prefix));
        let path = self.folder.join(place.ok_or("a foreign schema")?);
        // Not every folder of the published tree is there; what is not permits everything.
        if path.exists() { Ok(schema(&path)) } else { Ok(true.into()) }
    }
}

fn schema(path: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Releases, and what stands before the names of their schemas.
const RELEASES: [(&str, &str); 3] =
    [("3.0", "/schemas/3.0.18/"), ("3.1", "/schemas/3.1.19/"), ("3.2", "/schemas/3.2.4/")];

/// Returns the problems that the published schema of a release finds.
fn complaints(release: &str, prefix: &'static str, document: &Value) -> Option<Vec<String>> {
    const NAME: &str = "adagents.json";
    let folder = published(&format!("spec/adcp/{release}"))?;
    let adagents = schema(&folder.join(NAME));
    let validator = jsonschema::options()
        .with_base_uri(format!("{BASE}{prefix}{NAME}"))
        .with_retriever(Schemas { folder, prefix })
        .should_validate_formats(true)
        .build(&adagents)
        .unwrap();
    let document: serde_json::Value = serde_json::from_str(&document.to_string()).unwrap();
    Some(validator.iter_errors(&document).map(|error| error.to_string()).collect())
}

#[test]
fn the_written_file_is_valid_by_every_release() {
    let folder = folder_with_files(CONFIG);
    let write = ["publisher", "adagents", "write", "--contact-email", "ads@gazette.example"];
    let output = run(folder.path(), &write);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut file: Value = json::from_slice(&output.stdout).unwrap();
    for (release, prefix) in RELEASES {
        match complaints(release, prefix, &file) {
            None => without("the schemas of adagents.json"),
            Some(found) => {
                assert_eq!(found, Vec::<String>::new(), "{release}");
                let bad = complaints(release, prefix, &json::json!({"authorized_agents": 1}));
                assert_ne!(bad, Some(Vec::new()), "the schema of {release} finds nothing");
            }
        }
    }
    file["last_updated"] = "NOW".into();
    expect![[r#"
        {
          "contact": {
            "name": "The Gazette",
            "email": "ads@gazette.example",
            "domain": "gazette.example"
          },
          "properties": [
            {
              "property_id": "gazette_example",
              "property_type": "website",
              "name": "The Gazette",
              "identifiers": [
                {
                  "type": "domain",
                  "value": "gazette.example"
                }
              ],
              "tags": [
                "news",
                "sports"
              ],
              "supported_channels": [
                "display"
              ],
              "publisher_domain": "gazette.example"
            }
          ],
          "tags": {
            "news": {
              "name": "news",
              "description": "Pages of The Gazette about news"
            },
            "sports": {
              "name": "sports",
              "description": "Pages of The Gazette about sports"
            }
          },
          "authorized_agents": [
            {
              "url": "https://ads.gazette.example",
              "authorized_for": "Advertising on gazette.example, sold by The Gazette",
              "authorization_type": "property_ids",
              "property_ids": [
                "gazette_example"
              ],
              "delegation_type": "direct"
            }
          ],
          "last_updated": "NOW"
        }
    "#]]
    .assert_eq(&format!("{file:#}\n"));
    let output = run(folder.path(), &["publisher", "adagents", "write", "--out", "adagents.json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let again = run(folder.path(), &["publisher", "adagents", "write", "--out", "adagents.json"]);
    assert_eq!(again.status.code(), Some(2), "a file that is there is not replaced");
    let checked = run(folder.path(), &["publisher", "adagents", "check", "adagents.json"]);
    assert_eq!(
        (checked.status.code(), text(&checked.stdout)),
        (Some(0), "adagents.json lets https://ads.gazette.example sell\n".to_owned())
    );
}

#[test]
fn every_problem_of_a_file_is_listed_with_what_to_do() {
    let folder = folder_with_files(CONFIG);
    let bad = r#"{
      "contact": {"email": "nobody"},
      "properties": [{"property_id": "Site", "property_type": "site", "identifiers": [], "tags": ["A b"]}],
      "authorized_agents": [
        {"url": "ads", "authorization_type": "property_ids", "property_ids": ["shop"]},
        {"url": "https://ads.gazette.example/mcp", "authorized_for": "All", "authorization_type": "property_tags",
         "property_tags": ["A b"]},
        {"url": "https://other.example", "authorized_for": "All", "authorization_type": "everything"},
        3
      ]
    }"#;
    fs::write(folder.path().join("bad.json"), bad).unwrap();
    let output = run(folder.path(), &["publisher", "adagents", "check", "bad.json"]);
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    expect![[r#"
        error: bad.json has 14 problems
          /contact/name: must be a text of 1 to 255 characters; name who keeps the file
          /contact/email: must be an e-mail address; write one, or remove the member
          /properties/0/property_type: must be one of website, mobile_app, ctv_app, desktop_app, dooh, podcast, radio, linear_tv, streaming_audio, ai_assistant; website is the usual one
          /properties/0/name: must be a text; name it as people know it
          /properties/0/identifiers: must be a list of objects with type and value; for a web site: [{"type": "domain", "value": "gazette.example"}]
          /properties/0/property_id: must be small letters, digits and _; such as gazette_site
          /properties/0/tags/0: must be small letters, digits and _; such as sports
          /authorized_agents/0/url: must be a web address; write the whole address of the agent, such as https://ads.gazette.example
          /authorized_agents/0/authorized_for: must be a text of 1 to 500 characters; say in a sentence what the agent sells
          /authorized_agents/0/property_ids/0: "shop" is the id of no property in this file; give a property this id, or correct it
          /authorized_agents/2/authorization_type: must be one of property_ids, property_tags, inline_properties, publisher_properties, signal_ids, signal_tags; property_ids is the usual one
          /authorized_agents/3: must be an object; with url, authorized_for and authorization_type
          /properties: no property with the tag "news" is one that the agent may sell; products select it: give a property this tag, and authorize the agent for it
          /properties: no property with the tag "sports" is one that the agent may sell; products select it: give a property this tag, and authorize the agent for it
        hint: correct the file and publish it again; buyers read it before they buy
    "#]].assert_eq(&text(&output.stderr));
    let output = run(folder.path(), &["publisher", "adagents", "check", "bad.json", "--json"]);
    let said: Value = json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["error"]["code"], "adagents_problems");
}

/// Nobody who reads the file finds the agent in it.
#[test]
fn a_file_that_refers_to_another_is_no_success() {
    let folder = folder_with_files(CONFIG);
    let reference =
        r#"{"authoritative_location": "https://gazette.example/.well-known/adagents.json"}"#;
    fs::write(folder.path().join("reference.json"), reference).unwrap();
    let check = ["publisher", "adagents", "check", "reference.json"];
    let output = run(folder.path(), &check);
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    expect![[r#"
        error: reference.json has 1 problem
          /authoritative_location: refers to another file, which is not read from here; let the domain's file name the one that counts directly, and check that one
        hint: correct the file and publish it again; buyers read it before they buy
    "#]]
    .assert_eq(&text(&output.stderr));
    // Without an agent only the form is checked.
    fs::remove_file(folder.path().join("tradepost.toml")).unwrap();
    assert_eq!(run(folder.path(), &check).status.code(), Some(0));
}

/// Answers each request with the next document, or with 404.
fn serve(answers: Vec<Option<String>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for answer in answers {
            let (mut connection, _) = listener.accept().unwrap();
            let mut request = [0; 2_048];
            let _ = connection.read(&mut request);
            let (status, body) =
                answer.map_or(("404 Not Found", String::new()), |body| ("200 OK", body));
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            let _ = connection.write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn a_served_file_is_fetched_and_checked() {
    let folder = folder_with_files(&format!("{CONFIG}call_loopback = true\n"));
    let written = run(folder.path(), &["publisher", "adagents", "write"]);
    let right = text(&written.stdout);
    let revoked = right.replace(
        "\"last_updated\"",
        "\"revoked_publisher_domains\": [{\"publisher_domain\": \
        \"gazette.example\", \"revoked_at\": \"2026-01-01T00:00:00Z\"}], \"last_updated\"",
    );
    let address = serve(vec![Some(right), Some(revoked), Some("<html>".to_owned()), None]);
    for (code, expected) in [
        (0, "lets https://ads.gazette.example sell"),
        (15, "revokes gazette.example"),
        (15, "is no JSON"),
        (15, "does not exist"),
    ] {
        let output = run(folder.path(), &["publisher", "adagents", "check", &address]);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn addresses_of_this_machine_are_asked_only_when_permitted() {
    let folder = folder_with_files(CONFIG);
    let address = serve(Vec::new());
    let output = run(folder.path(), &["publisher", "adagents", "check", &address]);
    assert_eq!(output.status.code(), Some(15), "{output:?}");
    assert!(text(&output.stderr).contains("is at no public address"), "{output:?}");
}
